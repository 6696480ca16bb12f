/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From counts to a table of frequencies. */
#ifndef WCODEC_ENCODE_NORMALIZE_H
#define WCODEC_ENCODE_NORMALIZE_H

#include "coding/table.h"

/* What a table is for. */
struct wcodec_table_kind {
    uint8_t profile;
    uint8_t width; /* bits of the field */
    uint8_t base;  /* pairs: first value of the window */
    bool runs;     /* P8: for runs to choose from; then one symbol alone may be held */
};

/* Make a valid table for counts[symbol] (of pairs in the window, for WCODEC_PAIRS). Frequencies are
 * the best for the symbols that are held; which are not worth a slot, and are left to the outliers,
 * is found by one estimate, or if `search`, by counting the cost of several. The order of a P8
 * table is ascending. */
void wcodec_table_fit(const struct wcodec_table_kind *kind, const uint64_t counts[256], bool search,
                      struct wcodec_table *table);

/* Bits (times WCODEC_BIT) of each symbol coded with the table: those that are not held cost their
 * outliers too. */
void wcodec_table_costs(const struct wcodec_table *table, uint32_t costs[256]);

/* Bits (times WCODEC_BIT) of all counted symbols. */
uint64_t wcodec_counts_cost(const uint64_t counts[256], const uint32_t costs[256]);

#endif
