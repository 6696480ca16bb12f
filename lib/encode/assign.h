/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Choosing among the tables of a pool. */
#ifndef WCODEC_ENCODE_ASSIGN_H
#define WCODEC_ENCODE_ASSIGN_H

#include "coding/table.h"

/* Code lengths of all tables side by side, so that one pass over the symbols adds them all up. */
enum { WCODEC_COST_LANES = 4, WCODEC_COST_SHIFT = 4 };

struct wcodec_costs {
    unsigned tables;
    unsigned lanes;         /* tables, rounded up to a multiple of WCODEC_COST_LANES */
    uint32_t bits[256][16]; /* by symbol and table, in units of WCODEC_BIT >> WCODEC_COST_SHIFT; the
                               first `lanes` are set */
};

/* From the `count` tables of a pool, 1 to 16 of one profile. */
void wcodec_costs_init(struct wcodec_costs *costs, const struct wcodec_table *const *tables,
                       unsigned count);

/* Cost of the symbols with each table; at most 4096 of them, so that the sums cannot overflow. */
void wcodec_costs_sum(const struct wcodec_costs *costs, const uint8_t *symbols, size_t count,
                      uint32_t sums[16]);

#endif
