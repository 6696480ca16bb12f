/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The order in which a P8 table deals its slots. */
#ifndef WCODEC_ENCODE_ORDER_H
#define WCODEC_ENCODE_ORDER_H

#include "coding/table.h"

/* Choose the order of a valid P8 table so that as few symbols as possible begin inside any aligned
 * block of 16 slots: a vector decoder that looks up slot / 16 needs one comparison for each. Any
 * order decodes; this one is found by a few dozen greedy attempts with fixed pseudo-random choices.
 * Returns the largest number of beginnings inside a block. */
unsigned wcodec_table_order(struct wcodec_table *table);

/* That number for the order that the table has. */
unsigned wcodec_table_boundaries(const struct wcodec_table *table);

#endif
