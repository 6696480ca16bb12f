/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/tables.h"

#include "core/assert.h"

/* The symbols that a table is to hold, and what changing a frequency by one gains or loses. */
struct fit {
    unsigned count;
    unsigned total; /* sum of the frequencies */
    uint8_t symbols[256];
    uint64_t counts[256];
    uint16_t freq[256];
    uint64_t gain[256]; /* of one more */
    uint64_t loss[256]; /* of one less; UINT64_MAX: cannot be */
};

static void fit_update(struct fit *f, unsigned i, unsigned freq, unsigned sum)
{
    uint32_t here = wcodec_log2(freq);
    f->freq[i] = (uint16_t)freq;
    f->gain[i] = freq + 1 < sum ? f->counts[i] * (wcodec_log2(freq + 1) - here) : 0;
    f->loss[i] = freq > 1 ? f->counts[i] * (here - wcodec_log2(freq - 1)) : UINT64_MAX;
}

static unsigned best_gain(const struct fit *f, unsigned sum)
{
    unsigned best = 256;
    for (unsigned i = 0; i < f->count; i++)
        if (f->freq[i] + 1u < sum && (best == 256 || f->gain[i] > f->gain[best]))
            best = i;
    return best;
}

static unsigned least_loss(const struct fit *f)
{
    unsigned best = 256;
    for (unsigned i = 0; i < f->count; i++)
        if (f->freq[i] > 1 && (best == 256 || f->loss[i] < f->loss[best]))
            best = i;
    return best;
}

/* Frequencies that add up to sum and minimise the coded bits. The cost is convex in each frequency,
 * so that moving single slots from where they are worth least to where they are worth most ends at
 * the minimum. */
static void fit_frequencies(struct fit *f, unsigned sum)
{
    uint64_t n = 0;
    unsigned left = sum, freq[256];
    f->total = 0;
    for (unsigned i = 0; i < f->count; i++)
        n += f->counts[i];
    /* Symbols that get their single slot whatever the others need leave less for these. */
    uint64_t rare = n / sum, common = n;
    for (unsigned i = 0; i < f->count; i++)
        if (f->counts[i] <= rare) {
            left--;
            common -= f->counts[i];
        }
    for (unsigned i = 0; i < f->count; i++) {
        freq[i] = f->counts[i] > rare ? (unsigned)((f->counts[i] * left + common / 2) / common) : 1;
        freq[i] = freq[i] < 1 ? 1 : freq[i] > sum - 1 ? sum - 1 : freq[i];
        f->total += freq[i];
    }
    for (unsigned i = 0; i < f->count; i++)
        fit_update(f, i, freq[i], sum);
    while (f->total > sum) {
        unsigned i = least_loss(f);
        fit_update(f, i, f->freq[i] - 1u, sum);
        f->total--;
    }
    while (f->total < sum) {
        unsigned i = best_gain(f, sum);
        fit_update(f, i, f->freq[i] + 1u, sum);
        f->total++;
    }
    for (unsigned moves = 0; moves < 4096; moves++) {
        unsigned to = best_gain(f, sum), from = least_loss(f);
        if (to == 256 || from == 256 || to == from || f->gain[to] <= f->loss[from])
            break;
        fit_update(f, to, f->freq[to] + 1u, sum);
        fit_update(f, from, f->freq[from] - 1u, sum);
    }
}

/* Table of the symbols that occur at least `least` times, or of the most frequent one. Returns how
 * many that is. */
static unsigned fit_table(const struct wcodec_table_kind *kind, const uint64_t counts[256],
                          uint64_t least, struct wcodec_table *table)
{
    struct fit f = {.count = 0};
    unsigned most = 0;
    for (unsigned s = 0; s < 256; s++) {
        most = counts[s] > counts[most] ? s : most;
        if (counts[s] == 0 || counts[s] < least)
            continue;
        f.symbols[f.count] = (uint8_t)s;
        f.counts[f.count++] = counts[s];
    }
    if (f.count == 0) {
        f.symbols[0] = (uint8_t)most;
        f.counts[0] = counts[most];
        f.count = 1;
    }
    const unsigned held = f.count;
    const bool constant = held == 1 && kind->profile == WCODEC_P8 && kind->runs;
    if (held == 1 && !constant) {
        f.symbols[1] =
            f.symbols[0] ^ 1; /* stays within the field, and within both halves of a pair */
        f.counts[1] = 0;
        f.count = 2;
    }
    if (constant)
        f.freq[0] = 256;
    else
        fit_frequencies(&f, 1u << wcodec_profile_bits(kind->profile));
    memset(table, 0, sizeof *table);
    table->profile = kind->profile;
    table->width = kind->width;
    table->base = kind->profile == WCODEC_PAIRS ? kind->base : 0;
    table->count = (uint16_t)f.count;
    for (unsigned i = 0; i < f.count; i++)
        table->freq[f.symbols[i]] = f.freq[i];
    for (unsigned s = 0, i = 0; s < 256; s++)
        if (table->freq[s])
            table->order[i++] = (uint8_t)s;
    return held;
}

/* Bits that a symbol adds to the stored table, about. */
static unsigned symbol_bits(unsigned profile)
{
    return profile == WCODEC_P8 ? 16 : 8;
}

/* Counts at least this worth a slot: a slot takes log2(e) / 2^p bits from every other symbol, and
 * spares the symbol an outlier. */
static uint64_t least_count(unsigned profile, uint64_t total)
{
    unsigned p = wcodec_profile_bits(profile);
    uint64_t slot_cost =
        (total * 94548 >> p) + symbol_bits(profile) * WCODEC_BIT; /* 94548 = 65536 log2(e) */
    uint64_t spared = (WCODEC_OUTLIER_BITS + 2 - p) * WCODEC_BIT;
    return slot_cost / spared + 1;
}

static unsigned held_above(const uint64_t counts[256], uint64_t least)
{
    unsigned held = 0;
    for (unsigned s = 0; s < 256; s++)
        held += counts[s] && counts[s] >= least;
    return held;
}

void wcodec_table_fit(const struct wcodec_table_kind *kind, const uint64_t counts[256], bool search,
                      struct wcodec_table *table)
{
    WCODEC_ASSERT(kind->profile >= WCODEC_PAIRS && kind->profile <= WCODEC_P8);
    uint64_t scaled[256], total = 0;
    unsigned shift = 0;
    for (unsigned s = 0; s < 256; s++)
        total += counts[s];
    /* Counts below 2^34 keep all products in range. */
    while (total >> shift >> 34)
        shift++;
    for (unsigned s = 0; s < 256; s++)
        scaled[s] = (counts[s] >> shift) + (shift && counts[s] && !(counts[s] >> shift));
    total >>= shift;

    uint64_t least = least_count(kind->profile, total);
    unsigned first = fit_table(kind, scaled, least, table), tried = first;
    if (!search)
        return;
    uint32_t costs[256];
    wcodec_table_costs(table, costs);
    uint64_t best =
        wcodec_counts_cost(scaled, costs) + table->count * symbol_bits(kind->profile) * WCODEC_BIT;
    static const uint8_t factors[] = {1, 2, 3, 6, 8, 12, 16, 32}; /* quarters of the estimate */
    for (unsigned i = 0; i < sizeof factors; i++) {
        unsigned held = held_above(scaled, least * factors[i] / 4);
        if (held == tried || held == first)
            continue;
        tried = held;
        struct wcodec_table other;
        fit_table(kind, scaled, least * factors[i] / 4, &other);
        wcodec_table_costs(&other, costs);
        uint64_t cost = wcodec_counts_cost(scaled, costs) +
                        other.count * symbol_bits(kind->profile) * WCODEC_BIT;
        if (cost < best) {
            best = cost;
            *table = other;
        }
    }
}

/* A pair that is not held is coded as one that keeps a half right if there is one: one outlier,
 * else two. */
static void pair_costs(const struct wcodec_table *table, uint32_t costs[256])
{
    uint32_t low[16], high[16], least = UINT32_MAX;
    for (unsigned i = 0; i < 16; i++)
        low[i] = high[i] = UINT32_MAX;
    for (unsigned s = 0; s < 256; s++) {
        if (!table->freq[s])
            continue;
        uint32_t c = costs[s];
        low[s & 15] = c < low[s & 15] ? c : low[s & 15];
        high[s >> 4] = c < high[s >> 4] ? c : high[s >> 4];
        least = c < least ? c : least;
    }
    const uint32_t outlier = (uint32_t)(WCODEC_OUTLIER_BITS * WCODEC_BIT);
    for (unsigned s = 0; s < 256; s++) {
        if (table->freq[s])
            continue;
        uint32_t half = low[s & 15] < high[s >> 4] ? low[s & 15] : high[s >> 4];
        costs[s] = half != UINT32_MAX ? half + outlier : least + 2 * outlier;
    }
}

void wcodec_table_costs(const struct wcodec_table *table, uint32_t costs[256])
{
    unsigned p = wcodec_profile_bits(table->profile);
    uint32_t least = UINT32_MAX;
    for (unsigned s = 0; s < 256; s++) {
        if (!table->freq[s])
            continue;
        costs[s] = ((p << 24) - wcodec_log2(table->freq[s])) >> 8;
        least = costs[s] < least ? costs[s] : least;
    }
    if (table->profile == WCODEC_PAIRS) {
        pair_costs(table, costs);
        return;
    }
    for (unsigned s = 0; s < 256; s++)
        if (!table->freq[s])
            costs[s] = least + (uint32_t)(WCODEC_OUTLIER_BITS * WCODEC_BIT);
}

uint64_t wcodec_counts_cost(const uint64_t counts[256], const uint32_t costs[256])
{
    uint64_t sum = 0;
    for (unsigned s = 0; s < 256; s++)
        sum += counts[s] * costs[s];
    return sum;
}
