/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/tables.h"

#include "core/assert.h"
#include "core/error.h"
#include "core/memory.h"
#include "coding/histogram.h"
#include <stdlib.h>

enum { SUM_PART = 4096, COUNTED_UNIT = 1024 /* symbols: of larger units, their counts are kept */ };

/* A unit and what it is first sorted by. */
struct unit {
    uint64_t key;
    size_t number;
};

struct clusterer {
    const struct wcodec_table_kind *kind;
    const struct wcodec_symbols *symbols;
    size_t unit, units;
    unsigned tables;
    struct unit *sorted;
    uint8_t *choice; /* table of each unit */
    struct wcodec_costs *costs;
    uint32_t (
        *counts)[2][256]; /* by table; two, so that equal neighbours do not wait for each other */
    uint32_t (*unit_counts)[256]; /* of large units, else NULL */
};

static size_t unit_length(const struct clusterer *k, size_t i)
{
    size_t left = k->symbols->count - i * k->unit;
    return left < k->unit ? left : k->unit;
}

static void sum_long(const struct wcodec_costs *costs, const uint8_t *symbols, size_t count,
                     uint64_t total[WCODEC_POOL_MAX])
{
    memset(total, 0, WCODEC_POOL_MAX * sizeof *total);
    for (size_t i = 0; i < count; i += SUM_PART) {
        uint32_t sums[16];
        wcodec_costs_sum(costs, symbols + i, count - i < SUM_PART ? count - i : SUM_PART, sums);
        for (unsigned t = 0; t < costs->tables; t++)
            total[t] += sums[t];
    }
}

/* What a unit takes with each table. */
static void sum_unit(const struct clusterer *k, size_t i, uint64_t total[WCODEC_POOL_MAX])
{
    if (k->unit_counts == NULL) {
        sum_long(k->costs, k->symbols->at + i * k->unit, unit_length(k, i), total);
        return;
    }
    memset(total, 0, WCODEC_POOL_MAX * sizeof *total);
    for (unsigned s = 0; s < 256; s++)
        for (unsigned t = 0; t < k->costs->tables && k->unit_counts[i][s] != 0; t++)
            total[t] += (uint64_t)k->unit_counts[i][s] * k->costs->bits[s][t];
}

static void count_units(struct clusterer *k)
{
    for (size_t i = 0; i < k->units; i++) {
        uint64_t counts[256] = {0};
        wcodec_count_symbols(k->symbols->at + i * k->unit, unit_length(k, i), counts);
        for (unsigned s = 0; s < 256; s++)
            k->unit_counts[i][s] = (uint32_t)counts[s];
    }
}

static unsigned least(const uint64_t *total, unsigned tables)
{
    unsigned best = 0;
    for (unsigned t = 1; t < tables; t++)
        if (total[t] < total[best])
            best = t;
    return best;
}

/* Tables for the units as they are shared out; those without units go. */
static void fit_tables(struct clusterer *k, struct wcodec_table *tables)
{
    memset(k->counts, 0, k->tables * sizeof *k->counts);
    for (size_t i = 0; i < k->units; i++) {
        const uint8_t *at = k->symbols->at + i * k->unit;
        uint32_t(*counts)[256] = k->counts[k->choice[i]];
        size_t j = 0;
        const size_t n = k->unit_counts != NULL ? 0 : unit_length(k, i);
        for (unsigned s = 0; s < 256 && k->unit_counts != NULL; s++)
            counts[0][s] += k->unit_counts[i][s];
        for (; j + 8 <= n; j += 8) {
            const uint64_t v = wcodec_load_u64(at + j);
            for (unsigned b = 0; b < 64; b += 16) {
                counts[0][v >> b & 0xff]++;
                counts[1][v >> (b + 8) & 0xff]++;
            }
        }
        for (; j < n; j++)
            counts[0][at[j]]++;
    }
    unsigned held = 0;
    for (unsigned t = 0; t < k->tables; t++) {
        uint64_t counts[256], total = 0;
        for (unsigned s = 0; s < 256; s++)
            total += counts[s] = (uint64_t)k->counts[t][0][s] + k->counts[t][1][s];
        if (total)
            wcodec_table_fit(k->kind, counts, false, &tables[held++]);
    }
    k->tables = held;
}

static void load_costs(struct clusterer *k, const struct wcodec_table *tables)
{
    const struct wcodec_table *pointers[WCODEC_POOL_MAX];
    for (unsigned t = 0; t < k->tables; t++)
        pointers[t] = &tables[t];
    wcodec_costs_init(k->costs, pointers, k->tables);
}

/* Returns how many units changed. */
static size_t assign_units(struct clusterer *k)
{
    size_t changed = 0;
    for (size_t i = 0; i < k->units; i++) {
        uint64_t total[WCODEC_POOL_MAX];
        sum_unit(k, i, total);
        uint8_t t = (uint8_t)least(total, k->tables);
        changed += t != k->choice[i];
        k->choice[i] = t;
    }
    return changed;
}

static int compare_units(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Sort units and share them out in equal parts. */
static void start_units(struct clusterer *k, bool by_value, struct wcodec_table *tables)
{
    unsigned want = k->tables;
    k->tables = 1;
    memset(k->choice, 0, k->units);
    fit_tables(k, tables);
    load_costs(k, tables);
    for (size_t i = 0; i < k->units; i++) {
        const uint8_t *at = k->symbols->at + i * k->unit;
        uint64_t total[WCODEC_POOL_MAX], sum = 0;
        size_t n = unit_length(k, i);
        if (by_value && k->kind->profile == WCODEC_PAIRS)
            for (size_t j = 0; j < n; j++)
                sum += (at[j] & 15u) + (at[j] >> 4);
        else if (by_value)
            for (size_t j = 0; j < n; j++)
                sum += at[j];
        else {
            sum_unit(k, i, total);
            sum = total[0];
        }
        k->sorted[i] = (struct unit){sum * 64 / n, i};
    }
    qsort(k->sorted, k->units, sizeof *k->sorted, compare_units);
    for (size_t i = 0; i < k->units; i++)
        k->choice[k->sorted[i].number] = (uint8_t)(i * want / k->units);
    k->tables = want;
}

wcodec_status wcodec_cluster(const wcodec_allocator *allocator,
                             const struct wcodec_table_kind *kind,
                             const struct wcodec_symbols *symbols,
                             const struct wcodec_cluster_options *options,
                             struct wcodec_table *tables, unsigned *count, wcodec_error *err)
{
    WCODEC_ASSERT(options->tables >= 2 && options->tables <= WCODEC_POOL_MAX);
    WCODEC_ASSERT(symbols->piece % options->unit == 0);
    WCODEC_ASSERT(options->period <= options->tables);
    struct clusterer k = {
        .kind = kind, .symbols = symbols, .unit = options->unit, .tables = options->tables};
    wcodec_status status = WCODEC_OK;
    k.units = symbols->count / k.unit + (symbols->count % k.unit != 0);
    k.sorted = wcodec_alloc_array(allocator, k.units, sizeof *k.sorted);
    k.choice = wcodec_alloc_zeroed(allocator, k.units);
    k.costs = wcodec_alloc(allocator, sizeof *k.costs);
    k.counts = wcodec_alloc_array(allocator, WCODEC_POOL_MAX, sizeof *k.counts);
    const bool counted = k.unit >= COUNTED_UNIT;
    if (counted)
        k.unit_counts = wcodec_alloc_array(allocator, k.units, sizeof *k.unit_counts);
    if ((counted && k.unit_counts == NULL) || k.sorted == NULL || k.choice == NULL ||
        k.costs == NULL || k.counts == NULL) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory to cluster %zu histograms",
                             k.units);
        goto release;
    }
    if (counted)
        count_units(&k);
    if (options->period == 0)
        start_units(&k, options->by_value, tables);
    for (size_t i = 0; i < k.units && options->period > 0; i++)
        k.choice[i] = (uint8_t)(i % options->period);
    fit_tables(&k, tables);
    size_t few = 32;
    if (options->rounds > 4)
        few = options->rounds > 8 ? 4096 : 256;
    for (unsigned round = 0; round < options->rounds; round++) {
        load_costs(&k, tables);
        /* The last few that move gain nothing worth a round. */
        if (assign_units(&k) <= k.units / few)
            break;
        fit_tables(&k, tables);
    }
    *count = k.tables;
release:
    wcodec_free(allocator, k.sorted);
    wcodec_free(allocator, k.choice);
    wcodec_free(allocator, k.costs);
    wcodec_free(allocator, k.counts);
    wcodec_free(allocator, k.unit_counts);
    return status;
}

void wcodec_cluster_run_costs(const struct wcodec_costs *costs,
                              const struct wcodec_symbols *symbols,
                              uint64_t bits[WCODEC_RUN_LOG2_MAX + 1])
{
    const size_t shortest = (size_t)1 << WCODEC_RUN_LOG2_MIN;
    uint64_t open[WCODEC_RUN_LOG2_MAX + 1][WCODEC_POOL_MAX] = {
        {0}}; /* sums of the run that is being read, by length */
    memset(bits, 0, (WCODEC_RUN_LOG2_MAX + 1) * sizeof *bits);
    for (size_t i = 0; i < symbols->count; i += shortest) {
        uint32_t sums[16];
        size_t left = symbols->count - i, end = i + (left < shortest ? left : shortest);
        wcodec_costs_sum(costs, symbols->at + i, end - i, sums);
        for (unsigned r = WCODEC_RUN_LOG2_MIN; r <= WCODEC_RUN_LOG2_MAX; r++) {
            for (unsigned t = 0; t < costs->tables; t++)
                open[r][t] += sums[t];
            if (end >> r == i >> r && end != symbols->count)
                continue;
            bits[r] += open[r][least(open[r], costs->tables)] << WCODEC_COST_SHIFT;
            memset(open[r], 0, sizeof open[r]);
        }
    }
}

uint64_t wcodec_cluster_piece_cost(const struct wcodec_costs *costs,
                                   const struct wcodec_symbols *symbols)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < symbols->count; i += symbols->piece) {
        uint64_t total[WCODEC_POOL_MAX];
        size_t left = symbols->count - i;
        sum_long(costs, symbols->at + i, left < symbols->piece ? left : symbols->piece, total);
        bits += total[least(total, costs->tables)] << WCODEC_COST_SHIFT;
    }
    return bits;
}

uint64_t wcodec_cluster_potential(const struct wcodec_symbols *symbols, size_t unit, size_t most,
                                  wcodec_count_fn count)
{
    size_t units = symbols->count / unit, looked = units < most ? units : most, seen = 0;
    uint64_t bits = 0;
    for (size_t i = 0; i < looked; i++) {
        uint64_t counts[256] = {0}, held = 0;
        /* Evenly, but not always at the same place of what repeats: the bands of a transform's
         * coefficients. */
        const size_t stride = units / looked,
                     at = units * i / looked + (size_t)wcodec_scatter(i, stride);
        count(symbols->at + (at < units ? at : units - 1) * unit, unit, counts);
        for (unsigned s = 0; s < 256; s++)
            held += counts[s] != 0;
        bits += wcodec_entropy(counts, 256) + wcodec_unseen_bits(held);
        seen += unit;
    }
    return seen ? (uint64_t)((double)bits * ((double)symbols->count / (double)seen)) : 0;
}
