/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Sharing a few tables among many units (runs or tiles) of a tensor. */
#ifndef WCODEC_ENCODE_CLUSTER_H
#define WCODEC_ENCODE_CLUSTER_H

#include "core/context.h"
#include "encode/assign.h"
#include "encode/normalize.h"

enum { WCODEC_POOL_MAX = 16, WCODEC_RUN_LOG2_MIN = 7, WCODEC_RUN_LOG2_MAX = 12 };

/* Symbols to learn from: contiguous pieces of the tensor, each `piece` symbols long (the last one
 * may be shorter). */
struct wcodec_symbols {
    const uint8_t *at;
    size_t count;
    size_t piece;
};

struct wcodec_cluster_options {
    size_t unit;     /* symbols that share a table: divides the piece */
    unsigned tables; /* at most this many: 2 to 16 */
    unsigned rounds; /* of assigning and fitting again */
    unsigned period; /* 0, or units repeat by so many, each with a table of its own to begin with:
                        not above `tables` */
    bool by_value;   /* else first sort units by their mean value (exponents: scale), else by their
                        cost with one table (width) */
};

/* Find tables for the units: k-means by coded bits. *count: how many are left, some may have lost
 * all their units. `tables` has room for options->tables. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_cluster(const wcodec_allocator *allocator,
                             const struct wcodec_table_kind *kind,
                             const struct wcodec_symbols *symbols,
                             const struct wcodec_cluster_options *options,
                             struct wcodec_table *tables, unsigned *count, wcodec_error *err);

/* Bits (times WCODEC_BIT) of the symbols when each unit of 2^r symbols takes its best table, for r
 * = WCODEC_RUN_LOG2_MIN to _MAX: bits[r]. The indices of the units are not counted. */
void wcodec_cluster_run_costs(const struct wcodec_costs *costs,
                              const struct wcodec_symbols *symbols,
                              uint64_t bits[WCODEC_RUN_LOG2_MAX + 1]);

/* The same with one table a piece. */
uint64_t wcodec_cluster_piece_cost(const struct wcodec_costs *costs,
                                   const struct wcodec_symbols *symbols);

/* Entropy (times WCODEC_BIT) if each of at most `most` units of `unit` symbols, spread over the
 * symbols, had a code of its own, scaled to all symbols, and corrected for what small samples make
 * it look less: how much at best tables by unit could save. */
uint64_t wcodec_cluster_potential(const struct wcodec_symbols *symbols, size_t unit, size_t most);

#endif
