/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/tables.h"

#include "core/assert.h"

/* The symbols that are counted, ascending: most tables hold a few of 256. */
struct counted {
    unsigned count;
    uint64_t total;
    uint8_t symbols[256];
    uint64_t counts[256];
};

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
static unsigned fit_table(const struct wcodec_table_kind *kind, const struct counted *counted,
                          uint64_t least, struct wcodec_table *table)
{
    struct fit f;
    unsigned most = 0;
    f.count = 0;
    for (unsigned i = 0; i < counted->count; i++) {
        most = counted->counts[i] > counted->counts[most] ? i : most;
        if (counted->counts[i] < least)
            continue;
        f.symbols[f.count] = counted->symbols[i];
        f.counts[f.count++] = counted->counts[i];
    }
    if (f.count == 0) {
        f.symbols[0] = counted->count != 0 ? counted->symbols[most] : 0;
        f.counts[0] = counted->count != 0 ? counted->counts[most] : 0;
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
    for (unsigned i = 0; i < f.count; i++) {
        table->freq[f.symbols[i]] = f.freq[i];
        table->order[i] = f.symbols[i];
    }
    if (f.count == 2 && f.symbols[1] < f.symbols[0]) {
        table->order[0] = f.symbols[1];
        table->order[1] = f.symbols[0];
    }
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

/* Symbols that occur at least `least` times, and the bits of all counted symbols if these are held:
 * no table takes less. Of the entropy, `products` are counts by their logarithms. */
static unsigned held_above(const struct counted *counted, const uint64_t products[256],
                           uint64_t least, uint64_t *bits)
{
    uint64_t total = 0, product = 0;
    unsigned held = 0;
    for (unsigned i = 0; i < counted->count; i++) {
        const uint64_t keep = counted->counts[i] >= least;
        held += (unsigned)keep;
        total += counted->counts[i] * keep;
        product += products[i] * keep;
    }
    *bits = (counted->total - total) * WCODEC_OUTLIER_BITS * WCODEC_BIT;
    if (total > 0)
        *bits += (total * wcodec_log2(total) - product) >> 8;
    return held;
}

/* Counts below 2^34 keep all products in range. */
static void take_counts(const uint64_t counts[256], struct counted *counted)
{
    uint64_t total = 0;
    unsigned shift = 0;
    for (unsigned s = 0; s < 256; s++)
        total += counts[s];
    while (total >> shift >> 34)
        shift++;
    counted->total = total >> shift;
    counted->count = 0;
    for (unsigned s = 0; s < 256; s++) {
        if (s % 4 == 0 && (counts[s] | counts[s + 1] | counts[s + 2] | counts[s + 3]) == 0) {
            s += 3;
            continue;
        }
        /* Written for all, kept if it is one: this has no jumps that go either way. */
        counted->symbols[counted->count] = (uint8_t)s;
        counted->counts[counted->count] =
            (counts[s] >> shift) + (shift && counts[s] && !(counts[s] >> shift));
        counted->count += counts[s] != 0;
    }
}

/* What the counted symbols and the table itself take. */
static uint64_t cost_of(const struct counted *counted, const struct wcodec_table *table)
{
    uint32_t costs[256];
    uint64_t bits = table->count * symbol_bits(table->profile) * WCODEC_BIT;
    wcodec_table_costs(table, costs);
    for (unsigned i = 0; i < counted->count; i++)
        bits += counted->counts[i] * costs[counted->symbols[i]];
    return bits;
}

void wcodec_table_fit(const struct wcodec_table_kind *kind, const uint64_t counts[256], bool search,
                      struct wcodec_table *table)
{
    WCODEC_ASSERT(kind->profile >= WCODEC_PAIRS && kind->profile <= WCODEC_P8);
    static const uint8_t factors[] = {1, 2, 3, 6, 8, 12, 16, 32}; /* quarters of the estimate */
    struct counted counted;
    take_counts(counts, &counted);
    const uint64_t least = least_count(kind->profile, counted.total);
    unsigned first = fit_table(kind, &counted, least, table), tried = first;
    if (!search)
        return;
    uint64_t best = cost_of(&counted, table), products[256], bits;
    for (unsigned i = 0; i < counted.count; i++)
        products[i] = counted.counts[i] * wcodec_log2(counted.counts[i]);
    for (unsigned i = 0; i < sizeof factors; i++) {
        const unsigned held = held_above(&counted, products, least * factors[i] / 4, &bits);
        if (held == tried || held == first)
            continue;
        tried = held;
        if (bits + held * symbol_bits(kind->profile) * WCODEC_BIT >= best)
            continue;
        struct wcodec_table other;
        fit_table(kind, &counted, least * factors[i] / 4, &other);
        const uint64_t cost = cost_of(&counted, &other);
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
    const uint32_t whole = wcodec_profile_bits(table->profile) << 24;
    uint32_t held[256], least = UINT32_MAX;
    for (unsigned i = 0; i < table->count; i++) {
        held[i] = (whole - wcodec_log2(table->freq[table->order[i]])) >> 8;
        least = held[i] < least ? held[i] : least;
    }
    for (unsigned s = 0; s < 256; s++)
        costs[s] = least + (uint32_t)(WCODEC_OUTLIER_BITS * WCODEC_BIT);
    for (unsigned i = 0; i < table->count; i++)
        costs[table->order[i]] = held[i];
    if (table->profile == WCODEC_PAIRS)
        pair_costs(table, costs);
}

void wcodec_table_for_device(const struct wcodec_encode_table *table,
                             struct wcodec_device_table *device)
{
    const bool pairs = table->table.profile == WCODEC_PAIRS;
    uint32_t costs[256];
    if (!pairs)
        wcodec_table_costs(&table->table, costs);
    for (unsigned v = 0; v < 256 && !pairs; v++)
        costs[v] >>= WCODEC_COST_SHIFT;
    wcodec_device_table_init(device, table, pairs ? NULL : costs);
}

uint64_t wcodec_counts_cost(const uint64_t counts[256], const uint32_t costs[256])
{
    uint64_t sum = 0;
    for (unsigned s = 0; s < 256; s += 4)
        if ((counts[s] | counts[s + 1] | counts[s + 2] | counts[s + 3]) != 0)
            for (unsigned i = s; i < s + 4; i++)
                sum += counts[i] * costs[i];
    return sum;
}
