/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Frequency tables: what symbols cost in bits, the table that fits counts, several that units
 * share, and the order of their slots. */
#ifndef WCODEC_ENCODE_TABLES_H
#define WCODEC_ENCODE_TABLES_H

#include "coding/device_table.h"
#include "coding/histogram.h"
#include "coding/table.h"
#include "core/context.h"

/* Code lengths in fixed point, so that decisions are the same on every machine. */

/* A bit in units of 2^-24, and in those of 2^-16 that costs are counted in. */
#define WCODEC_LOG2_ONE (1u << 24)
#define WCODEC_BIT ((uint64_t)1 << 16)

static inline uint64_t wcodec_clamp_u64(uint64_t value, uint64_t least, uint64_t most)
{
    if (value < least)
        return least;
    return value > most ? most : value;
}

/* How much is tried at a level: up to 4, at 5 and 6, and from 7 on, where time is no matter. */
static inline unsigned wcodec_by_level(int level, unsigned quick, unsigned slow, unsigned slowest)
{
    if (level < 5)
        return quick;
    return level < 7 ? slow : slowest;
}

/* What one outlier takes: u16 position and u8 value. */
enum { WCODEC_OUTLIER_BITS = 24 };

/* log2(1 + i/256) in units of 2^-24 bit. */
extern const uint32_t wcodec_log2_table[257];

static inline unsigned wcodec_top_bit(uint64_t x)
{
#if defined(__GNUC__)
    return 63 - (unsigned)__builtin_clzll(x);
#else
    unsigned top = 0;
    for (unsigned step = 32; step; step >>= 1)
        if (x >> (top + step))
            top += step;
    return top;
#endif
}

/* log2(x) in units of 2^-24 bit, x >= 1; the error is below 3e-6. */
static inline uint32_t wcodec_log2(uint64_t x)
{
    const unsigned top = wcodec_top_bit(x);
    /* The 32 bits below the top one: 8 select the entry, 24 interpolate. */
    const uint32_t fraction = (uint32_t)(top >= 32 ? x >> (top - 32) : x << (32 - top)),
                   i = fraction >> 24, rest = fraction & 0xffffff;
    const uint64_t step = wcodec_log2_table[i + 1] - wcodec_log2_table[i];
    return (top << 24) + wcodec_log2_table[i] + (uint32_t)(step * rest >> 24);
}

/* Order-0 entropy of the counted symbols (a multiple of 4), in bits times WCODEC_BIT. */
uint64_t wcodec_entropy(const uint64_t *counts, unsigned symbols);

/* How much a sample of values of which so many differ makes their entropy look less, on average
 * (times WCODEC_BIT): half a nat each but one (Miller and Madow). */
static inline uint64_t wcodec_unseen_bits(uint64_t held)
{
    return held > 0 ? (held - 1) * 47274 : 0;
}

/* From counts to a table of frequencies. */

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

/* The table as devices encode with it, with its costs. */
void wcodec_table_for_device(const struct wcodec_encode_table *table,
                             struct wcodec_device_table *device);

/* Bits (times WCODEC_BIT) of all counted symbols. */
uint64_t wcodec_counts_cost(const uint64_t counts[256], const uint32_t costs[256]);

/* Choosing among the tables of a pool. */

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

/* Sharing a few tables among many units (runs or tiles) of a tensor. */

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
 * all their units. `tables` holds options->tables. WCODEC_ERROR_MEMORY. */
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
uint64_t wcodec_cluster_potential(const struct wcodec_symbols *symbols, size_t unit, size_t most,
                                  wcodec_count_fn count);

/* The order in which a P8 table deals its slots. */

/* Choose the order of a valid P8 table so that as few symbols as possible begin inside any aligned
 * block of 16 slots: a vector decoder that looks up slot / 16 needs one comparison for each. Any
 * order decodes; this one is found by a few dozen greedy attempts with fixed pseudo-random choices.
 * Of orders with up to `enough` beginnings the first will do. Returns the largest number of
 * beginnings inside a block. */
unsigned wcodec_table_order_slots(struct wcodec_table *table, unsigned enough);

/* That number for the order that the table has. */
unsigned wcodec_table_boundaries(const struct wcodec_table *table);

#endif
