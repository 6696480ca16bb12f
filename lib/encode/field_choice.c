/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/choice.h"

#include "core/error.h"
#include "core/memory.h"
#include "encode/tables.h"
#include "coding/histogram.h"

enum {
    BANDS = WCODEC_POOL_MAX,
    /* So few elements never pay for a second table. */
    FEW_ELEMENTS = 8192
};

uint64_t wcodec_pairs_window(const uint64_t counts[256], unsigned width, uint8_t *base,
                             uint8_t nibble[256])
{
    uint64_t total = 0, inside = 0, best = 0;
    unsigned last = width > 4 ? (1u << width) - 16 : 0, mode = 0;
    for (unsigned v = 0; v < 256; v++)
        total += counts[v];
    for (unsigned v = 0; v < 16; v++)
        inside += counts[v];
    best = inside;
    *base = 0;
    for (unsigned b = 1; b <= last; b++) {
        inside = inside - counts[b - 1] + counts[b + 15];
        if (inside > best) {
            best = inside;
            *base = (uint8_t)b;
        }
    }
    for (unsigned i = 1; i < 16; i++)
        if (counts[*base + i] > counts[*base + mode])
            mode = i;
    for (unsigned v = 0; v < 256; v++)
        nibble[v] = (uint8_t)(v - *base < 16 ? v - *base : mode);
    return total - best;
}

/* Eight values less the base of a window, which is at most 240. Where all are in the window, their
 * upper halves are zero; where one is not, the lowest such has another upper half. */
static uint64_t in_window(uint64_t values, unsigned base)
{
    return values - base * UINT64_C(0x0101010101010101);
}

/* Eight values of a window, as the pairs of four bytes. */
static uint32_t pair_eight(uint64_t x)
{
    x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
    x = (x | x >> 8) & 0x0000ffff0000ffffu;
    return (uint32_t)(x | x >> 16);
}

uint32_t wcodec_pairs_symbols(uint8_t *values, uint32_t count, unsigned base)
{
    const uint8_t low = (uint8_t)base, high = (uint8_t)(base + 15);
    uint32_t i = 0;
    for (uint32_t k = 0; k < count; k++) {
        const uint8_t v = values[k] < low ? low : values[k];
        values[k] = (uint8_t)((v > high ? high : v) - low);
    }
    for (; i + 8 <= count; i += 8)
        wcodec_store_u32(values + i / 2, pair_eight(wcodec_load_u64(values + i)));
    for (; i < count; i += 2)
        values[i / 2] = (uint8_t)(values[i] | values[i + (i + 1 < count)] << 4);
    return (count + 1) / 2;
}

unsigned wcodec_field_tables_most(const struct wcodec_encode_settings *settings, uint64_t elements)
{
    return settings->level < 3 || elements < FEW_ELEMENTS ? 1 : WCODEC_POOL_MAX;
}

struct wcodec_field_choice *wcodec_field_choices_alloc(const wcodec_allocator *allocator,
                                                       unsigned count, unsigned tables)
{
    const size_t each = sizeof(struct wcodec_field_choice) + tables * sizeof(struct wcodec_table);
    struct wcodec_field_choice *choices = wcodec_alloc_array(allocator, count, each);
    if (choices == NULL)
        return NULL;
    struct wcodec_table *at = (struct wcodec_table *)(void *)(choices + count);
    for (unsigned i = 0; i < count; i++)
        choices[i].tables = at + (size_t)i * tables;
    return choices;
}

/* Bits of a sample, as those of the whole tensor. */
static uint64_t scale(const struct wcodec_field_facts *facts, uint64_t bits)
{
    return (uint64_t)((double)bits * ((double)facts->elements / (double)facts->values.count));
}

static uint64_t table_bits(const struct wcodec_table *tables, unsigned count)
{
    uint8_t bytes[WCODEC_TABLE_MAX_BYTES];
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += wcodec_table_write(&tables[i], bytes);
    return sum * 8 * WCODEC_BIT;
}

/* What several tables fitted to a sample make it look less: each by half a nat for a symbol that it
 * holds, on average. */
static uint64_t fitted_bits(const struct wcodec_table *tables, unsigned count)
{
    uint64_t held = 0;
    for (unsigned i = 0; i < count; i++)
        held += tables[i].count;
    return held * 94548; /* log2(e) */
}

/* One profile's way from a single table to several. */
struct search {
    const wcodec_allocator *allocator;
    const struct wcodec_encode_settings *settings;
    const struct wcodec_field_facts *facts;
    struct wcodec_table_kind kind;
    struct wcodec_symbols symbols;
    const uint64_t *counts; /* of the symbols */
    uint64_t pair_counts[256];
    uint64_t fixed;  /* cost of values that no table of the profile can hold, whole tensor */
    uint64_t single; /* cost with one table, sample */
    uint64_t beat;   /* bits that another profile takes, with what this one may take more; or 0 */
    struct wcodec_field_choice *choice;
};

static void begin_search(struct search *s, const wcodec_allocator *allocator,
                         const struct wcodec_encode_settings *settings,
                         const struct wcodec_field_facts *facts, unsigned profile,
                         struct wcodec_field_choice *choice)
{
    s->allocator = allocator;
    s->settings = settings;
    s->facts = facts;
    s->kind = (struct wcodec_table_kind){(uint8_t)profile, facts->width, 0, false};
    s->symbols = facts->values;
    s->counts = facts->counts;
    s->fixed = s->single = s->beat = 0;
    s->choice = choice;
}

static uint64_t tensor_bits(const struct search *s, uint64_t bits)
{
    return s->facts->other_bits + bits;
}

/* Several tables must save this much of the tensor's size: less where time is no matter. */
static uint64_t needed(const struct search *s, unsigned part)
{
    return wcodec_share(tensor_bits(s, s->choice->bits),
                        part / wcodec_by_level(s->settings->level, 1, 2, 8));
}

static void take(struct search *s, const struct wcodec_table *tables, unsigned count,
                 unsigned run_log2, uint64_t bits)
{
    s->choice->profile = s->kind.profile;
    s->choice->run_log2 = (uint8_t)run_log2;
    s->choice->count = count;
    memcpy(s->choice->tables, tables, count * sizeof *tables);
    s->choice->bits = bits;
}

/* Of the tables only those that there are. */
static void copy_choice(struct wcodec_field_choice *to, const struct wcodec_field_choice *from)
{
    to->profile = from->profile;
    to->run_log2 = from->run_log2;
    to->count = from->count;
    to->bits = from->bits;
    memcpy(to->tables, from->tables, from->count * sizeof *from->tables);
}

static unsigned rounds(const struct search *s)
{
    return wcodec_by_level(s->settings->level, 4, 8, 16);
}

/* Could tables by `unit` symbols save enough? Where time matters less, more units are looked at,
 * and half as much must be hoped for. */
static bool may_pay(const struct search *s, size_t unit, size_t units, unsigned part)
{
    const bool slow = s->settings->level >= 5;
    const uint64_t potential =
        wcodec_cluster_potential(&s->symbols, unit, slow ? 8 * units : units, s->facts->count);
    if (!slow && s->beat != 0 && scale(s->facts, potential) + s->fixed > s->beat)
        return false;
    return potential < s->single &&
           scale(s->facts, s->single - potential) >= needed(s, part) / (slow ? 2 : 1);
}

/* Tables that tiles choose from. */
static wcodec_status try_tiles(struct search *s, unsigned tables, struct wcodec_costs *costs,
                               wcodec_error *err)
{
    const struct wcodec_field_facts *facts = s->facts;
    struct wcodec_table pool[WCODEC_POOL_MAX];
    const struct wcodec_table *pointers[WCODEC_POOL_MAX];
    struct wcodec_cluster_options options = {.unit = s->symbols.piece,
                                             .tables = tables,
                                             .rounds = rounds(s),
                                             .by_value = facts->by_value};
    if (s->symbols.count <= s->symbols.piece)
        return WCODEC_OK;
    if (!may_pay(s, s->symbols.piece, 64, WCODEC_SHARE_TILE_TABLES))
        return WCODEC_OK;
    unsigned count = 0;
    wcodec_status status =
        wcodec_cluster(s->allocator, &s->kind, &s->symbols, &options, pool, &count, err);
    if (status != WCODEC_OK || count < 2)
        return status;
    for (unsigned i = 0; i < count; i++)
        pointers[i] = &pool[i];
    wcodec_costs_init(costs, pointers, count);
    uint64_t bits =
        scale(facts, wcodec_cluster_piece_cost(costs, &s->symbols) + fitted_bits(pool, count)) +
        table_bits(pool, count) + s->fixed;
    if (bits + needed(s, WCODEC_SHARE_TILE_TABLES) < s->choice->bits)
        take(s, pool, count, 0, bits);
    return WCODEC_OK;
}

/* Tables that runs choose from: learnt on the shortest runs, and used on the longest that are
 * nearly as good. */
static wcodec_status try_runs(struct search *s, unsigned tables, struct wcodec_costs *costs,
                              wcodec_error *err)
{
    const struct wcodec_field_facts *facts = s->facts;
    struct wcodec_table pool[WCODEC_POOL_MAX];
    const struct wcodec_table *pointers[WCODEC_POOL_MAX];
    struct wcodec_cluster_options options = {.unit = (size_t)1 << WCODEC_RUN_LOG2_MIN,
                                             .tables = tables,
                                             .rounds = rounds(s),
                                             .by_value = facts->by_value};
    options.period = s->settings->bands && tables == BANDS ? BANDS : 0;
    if (s->symbols.count <= options.unit)
        return WCODEC_OK;
    unsigned count = 0;
    struct wcodec_table_kind kind = s->kind;
    kind.runs = true;
    wcodec_status status =
        wcodec_cluster(s->allocator, &kind, &s->symbols, &options, pool, &count, err);
    if (status != WCODEC_OK || count < 2)
        return status;
    for (unsigned i = 0; i < count; i++)
        pointers[i] = &pool[i];
    wcodec_costs_init(costs, pointers, count);
    uint64_t runs[WCODEC_RUN_LOG2_MAX + 1], least = UINT64_MAX,
                                            stored = table_bits(pool, count) + s->fixed;
    wcodec_cluster_run_costs(costs, &s->symbols, runs);
    for (unsigned r = WCODEC_RUN_LOG2_MIN; r <= WCODEC_RUN_LOG2_MAX; r++) {
        uint64_t indices = (facts->elements >> r) + facts->tiles;
        runs[r] = scale(facts, runs[r] + fitted_bits(pool, count)) + stored +
                  indices * wcodec_run_index_bits(count) * WCODEC_BIT;
        least = runs[r] < least ? runs[r] : least;
    }
    unsigned r = s->settings->bands ? WCODEC_RUN_LOG2_MIN : WCODEC_RUN_LOG2_MAX;
    while (runs[r] > least + needed(s, WCODEC_SHARE_CLOSE_RUNS) && r > WCODEC_RUN_LOG2_MIN)
        r--;
    /* Bands of a transform: runs of constants are skipped, so they may win where they save nothing.
     */
    if (s->settings->bands ? s->choice->run_log2 == 0 || runs[r] < s->choice->bits
                           : runs[r] + needed(s, WCODEC_SHARE_RUNS) < s->choice->bits)
        take(s, pool, count, r, runs[r]);
    return WCODEC_OK;
}

static wcodec_status search_profile(struct search *s, wcodec_error *err)
{
    int level = s->settings->level;
    uint32_t costs[256];
    struct wcodec_table table;
    wcodec_table_fit(&s->kind, s->counts, false, &table);
    wcodec_table_costs(&table, costs);
    s->single = wcodec_counts_cost(s->counts, costs);
    take(s, &table, 1, 0, scale(s->facts, s->single) + table_bits(&table, 1) + s->fixed);
    if (wcodec_field_tables_most(s->settings, s->facts->elements) == 1)
        return WCODEC_OK;
    struct wcodec_costs *lanes = wcodec_alloc(s->allocator, sizeof *lanes);
    if (lanes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for costs");
    bool p8 = s->kind.profile == WCODEC_P8;
    uint64_t one = s->choice->bits;
    wcodec_status status = try_tiles(s, 4, lanes, err);
    if (status == WCODEC_OK && p8 && level >= 7)
        status = try_tiles(s, WCODEC_POOL_MAX, lanes, err);
    if (status == WCODEC_OK && p8 && s->settings->bands) {
        for (unsigned tables = 2; tables <= WCODEC_POOL_MAX && status == WCODEC_OK;
             tables *= tables == 2 ? 2 : 4)
            status = try_runs(s, tables, lanes, err);
    } else if (status == WCODEC_OK && p8 && may_pay(s, 256, 32, WCODEC_SHARE_RUNS)) {
        status = try_runs(s, 4, lanes, err);
        /* Where a few tables help much, many may help more: bytes of several layers, say. */
        if (status == WCODEC_OK &&
            (level >= 7 || s->choice->bits + 2 * needed(s, WCODEC_SHARE_RUNS) < one))
            status = try_runs(s, WCODEC_POOL_MAX, lanes, err);
    }
    wcodec_free(s->allocator, lanes);
    return status;
}

/* The sample's pairs in the best window; false if too many values lie outside. */
static bool make_pairs(struct search *s, bool wanted)
{
    const struct wcodec_symbols *values = &s->facts->values;
    uint8_t nibble[256];
    uint64_t outside =
        wcodec_pairs_window(s->facts->counts, s->facts->width, &s->kind.base, nibble);
    if (outside > values->count / (wanted ? 8 : 64))
        return false;
    for (size_t i = 0; i < values->count;) {
        const size_t left = values->count - i, end = i + (left < 8 ? left : 8);
        const uint64_t x =
            left < 8 ? UINT64_MAX : in_window(wcodec_load_u64(values->at + i), s->kind.base);
        if ((x & UINT64_C(0xf0f0f0f0f0f0f0f0)) == 0) {
            wcodec_store_u32(s->facts->pairs + i / 2, pair_eight(x));
            i = end;
        }
        for (; i < end; i += 2)
            s->facts->pairs[i / 2] =
                (uint8_t)(nibble[values->at[i]] | nibble[values->at[i + (i + 1 < end)]] << 4);
    }
    s->symbols =
        (struct wcodec_symbols){s->facts->pairs, (values->count + 1) / 2, values->piece / 2};
    s->fixed = scale(s->facts, outside * WCODEC_OUTLIER_BITS * WCODEC_BIT);
    memset(s->pair_counts, 0, sizeof s->pair_counts);
    wcodec_count_symbols(s->symbols.at, s->symbols.count, s->pair_counts);
    s->counts = s->pair_counts;
    return true;
}

/* Bits of a P12 table of all values that occur, at least: of each frequency half a byte for every
 * three bits, and a byte for every 16 values that do not occur. */
static uint64_t least_of_p12_table(const struct wcodec_field_facts *facts)
{
    const unsigned values = 1u << facts->width;
    uint64_t nibbles = 0;
    for (unsigned v = 0; v < values; v++) {
        /* Whatever is rounded, a frequency is not less than three quarters of its share. */
        uint64_t freq = facts->counts[v] * 3072 / facts->values.count;
        if (facts->counts[v] != 0) {
            for (nibbles++; freq >= 8; freq >>= 3)
                nibbles++;
            continue;
        }
        for (unsigned zeros = 0; zeros < 15 && v + 1 < values && facts->counts[v + 1] == 0; zeros++)
            v++;
        nibbles += 2;
    }
    return 4 * nibbles * WCODEC_BIT;
}

/* P12 codes single values with one table a tile at most: it cannot win where the profile that
 * decodes fastest comes near their entropy, or with one table for all near that and its table. */
static bool is_good(const struct wcodec_field_facts *facts,
                    const struct wcodec_field_choice *preferred, unsigned most)
{
    return preferred->bits <=
           scale(facts, facts->entropy) + (most == 1 ? least_of_p12_table(facts) : 0) +
               wcodec_share(facts->other_bits + preferred->bits, WCODEC_SHARE_PREFERENCE);
}

wcodec_status wcodec_field_choose(const wcodec_allocator *allocator,
                                  const struct wcodec_encode_settings *settings,
                                  const struct wcodec_field_facts *facts,
                                  struct wcodec_field_choice *choice, wcodec_error *err)
{
    const unsigned most = wcodec_field_tables_most(settings, facts->elements);
    struct wcodec_table tables[4]; /* enough for small tensors */
    struct wcodec_field_choice small[4], *found = small;
    for (unsigned profile = 0; profile < 4; profile++)
        small[profile].tables = &tables[profile];
    if (most > 1)
        found = wcodec_field_choices_alloc(allocator, 4, most);
    if (found == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the choice of a profile");
    wcodec_status status = WCODEC_OK;
    bool have[4] = {false};
    unsigned best = 0;
    const struct wcodec_profile_policy policy =
        wcodec_profile_policy(settings, facts->width, facts->raw_bits);
    /* Of small tensors pairs take as long to count and to fit as all else together: where P8 is
     * preferred, they save a byte of ten thousand. */
    const bool no_pairs = most == 1 && settings->level < 5 && policy.preferred == WCODEC_P8;
    static const uint8_t order[] = {WCODEC_PAIRS, WCODEC_P8, WCODEC_P12};
    for (unsigned i = 0; i < 3 && status == WCODEC_OK; i++) {
        unsigned profile = order[i];
        struct search s;
        begin_search(&s, allocator, settings, facts, profile, &found[profile]);
        /* Where pairs are the preference and impossible, P12 is the next. */
        bool instead =
            settings->profile == WCODEC_PAIRS && profile == WCODEC_P12 && !have[WCODEC_PAIRS];
        if (settings->profile && profile != settings->profile && !instead)
            continue;
        if (profile == WCODEC_PAIRS && (policy.whole || no_pairs) && !settings->profile)
            continue;
        if (profile == WCODEC_PAIRS && !make_pairs(&s, settings->profile == WCODEC_PAIRS))
            continue;
        if (settings->plain && profile == WCODEC_P12 && policy.preferred != WCODEC_P12 &&
            have[policy.preferred])
            continue;
        if (profile == WCODEC_P12 && have[policy.preferred] && settings->level < 5 &&
            is_good(facts, &found[policy.preferred], most))
            continue;
        if (best != 0)
            s.beat =
                found[best].bits + wcodec_share(facts->other_bits + found[best].bits,
                                                profile == policy.preferred ? policy.share : 0);
        status = search_profile(&s, err);
        have[profile] = true;
        best = best == 0 || found[profile].bits < found[best].bits ? profile : best;
    }
    if (status == WCODEC_OK) {
        if (have[policy.preferred] &&
            found[policy.preferred].bits <=
                found[best].bits + wcodec_share(facts->other_bits + found[best].bits, policy.share))
            best = policy.preferred;
        copy_choice(choice, &found[best]);
    }
    if (found != small)
        wcodec_free(allocator, found);
    return status;
}
