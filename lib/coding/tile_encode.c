/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Encoding one tile: the inverse of tile_decode.c, from the last symbol to the first. */
#include "coding/tile.h"

#include "core/assert.h"

#include "coding/tile_encode.h"

/* With r = ceil(2^k / f) and k = 32 + p, the quotient x / f is x * r >> k for all x < f 2^(32-p),
 * which is what shrink() leaves, in P8 before both symbols: r f = 2^k + e with e < f, so the error
 * x e / (f 2^k) is below 1 / f as long as x e < 2^k, and x e < f^2 2^(32-p) < 2^k since f < 2^p.
 * The product stays below 2^64: x 2^k / f <= 2^64 - 2^k / f, x e / f < x, and 2^k / f > 2^32 > x.
 */
static struct wcodec_encode_symbol prepare_symbol(unsigned p, uint32_t freq, uint16_t start)
{
    return (struct wcodec_encode_symbol){(((uint64_t)1 << (32 + p)) + freq - 1) / freq,
                                         (1u << p) - freq, (uint16_t)freq, start};
}

/* For a pair that is not held: the most frequent held pair with the same first half, else with the
 * same second half, else of all. */
static uint8_t substitute_pair(const struct wcodec_table *t, unsigned pair, uint8_t most_frequent)
{
    unsigned best = most_frequent, best_freq = 0;
    for (unsigned i = 0; i < t->count; i++) {
        const unsigned s = t->order[i];
        unsigned weight = s / 16 == pair / 16 ? 1 : 0;
        if (s % 16 == pair % 16)
            weight = 2;
        if (weight != 0 && t->freq[s] + weight * 4096 > best_freq) {
            best = s;
            best_freq = t->freq[s] + weight * 4096;
        }
    }
    return (uint8_t)best;
}

void wcodec_encode_table_init(struct wcodec_encode_table *encode, const struct wcodec_table *table)
{
    WCODEC_ASSERT(table->count >= 1 && table->count <= 256);
    uint16_t starts[256];
    wcodec_table_starts(table, starts);
    memset(encode, 0, sizeof *encode);
    encode->table = *table;
    encode->most_frequent = table->order[0];
    for (unsigned i = 0; i < table->count; i++) {
        const uint8_t s = table->order[i];
        encode->symbols[s] =
            prepare_symbol(wcodec_profile_bits(table->profile), table->freq[s], starts[s]);
        if (table->freq[s] > table->freq[encode->most_frequent])
            encode->most_frequent = s;
    }
    for (unsigned s = 0; s < 256; s++) {
        encode->substitute[s] = encode->most_frequent;
        if (table->freq[s] != 0)
            encode->substitute[s] = (uint8_t)s;
        else if (table->profile == WCODEC_PAIRS)
            encode->substitute[s] = substitute_pair(table, s, encode->most_frequent);
    }
}

struct work {
    const struct wcodec_tiling *tiling;
    uint32_t elements;
    uint32_t groups;
    uint8_t *padded;  /* e', zeros after the last element */
    uint8_t *values;  /* a field's values */
    uint8_t *symbols; /* what is coded for them: one an element, or one a pair */
    uint32_t *rows;   /* a plane of raw bits */
};

size_t wcodec_tile_scratch_size(uint32_t elements)
{
    const size_t padded = ((size_t)elements + WCODEC_GROUP - 1) / WCODEC_GROUP * WCODEC_GROUP;
    return padded * (8 + 1 + 1 + 4) + 64;
}

static void load_elements(const struct work *w, const void *data)
{
    const unsigned size = 1u << w->tiling->element_log2;
    const uint64_t add = w->tiling->add;
    const size_t bytes = (size_t)w->elements * size;
    if (size == 1)
        for (size_t i = 0; i < bytes; i++)
            w->padded[i] = (uint8_t)(((const uint8_t *)data)[i] + add);
    else if (add == 0)
        memcpy(w->padded, data, bytes);
    else
        for (size_t i = 0; i < bytes; i += size)
            wcodec_store_uint(w->padded + i,
                              wcodec_load_uint((const uint8_t *)data + i, size) + add, size);
    memset(w->padded + bytes, 0, (size_t)w->groups * WCODEC_GROUP * size - bytes);
}

/* Through pointers of its own: what is stored might otherwise be `w` itself, and the loops could
 * not be made vectors. */
static void extract_field(const struct work *w, const struct wcodec_field *f)
{
    const unsigned shift = f->shift, count = w->groups * WCODEC_GROUP;
    const uint8_t mask = (uint8_t)((1u << f->width) - 1), *restrict p = w->padded;
    uint8_t *restrict values = w->values;
    switch (w->tiling->element_log2) {
    case 0:
        for (uint32_t i = 0; i < count; i++)
            values[i] = p[i] >> shift & mask;
        break;
    case 1:
        for (uint32_t i = 0; i < count; i++)
            values[i] = (uint8_t)(wcodec_load_u16(p + 2 * (size_t)i) >> shift & mask);
        break;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            values[i] = (uint8_t)(wcodec_load_u32(p + 4 * (size_t)i) >> shift & mask);
        break;
    default:
        for (uint32_t i = 0; i < count; i++)
            values[i] = (uint8_t)(wcodec_load_u64(p + 8 * (size_t)i) >> shift & mask);
        break;
    }
}

/* The table of each group, whether by runs or one for all. */
static const struct wcodec_encode_table *group_table(const struct wcodec_encode_table *tables,
                                                     const struct wcodec_stream_plan *plan,
                                                     const struct wcodec_field *f, uint32_t group)
{
    return &tables[plan->run_tables ? plan->run_tables[group * WCODEC_GROUP >> f->run_log2]
                                    : plan->table];
}

static void add_outlier(struct wcodec_tile_output *o, unsigned c, uint32_t position, uint8_t value)
{
    o->positions[c][o->outlier_count[c]] = (uint16_t)position;
    o->values[c][o->outlier_count[c]++] = value;
}

/* Symbols of one group, one an element; values that the table does not hold become outliers.
 * Padding takes any held symbol. */
static void choose_symbols(const struct work *w, const struct wcodec_encode_table *table,
                           unsigned c, uint32_t first, struct wcodec_tile_output *o)
{
    const uint8_t *values = w->values + first, *substitute = table->substitute;
    uint8_t *symbols = w->symbols + first;
    uint64_t differ = 0;
    for (uint32_t i = 0; i < WCODEC_GROUP; i += 8) {
        const uint64_t v = wcodec_load_u64(values + i);
        uint64_t s = 0;
        for (unsigned k = 0; k < 64; k += 8)
            s |= (uint64_t)substitute[v >> k & 0xff] << k;
        wcodec_store_u64(symbols + i, s);
        differ |= s ^ v;
    }
    for (uint32_t i = 0; differ && i < WCODEC_GROUP; i++)
        if (symbols[i] != values[i] && first + i < w->elements)
            add_outlier(o, c, first + i, values[i]);
}

static void choose_pairs(const struct work *w, const struct wcodec_encode_table *table, unsigned c,
                         uint32_t first, struct wcodec_tile_output *o)
{
    const unsigned base = table->table.base, common = table->most_frequent;
    for (uint32_t i = first; i < first + WCODEC_GROUP; i += 2) {
        const unsigned v0 = w->values[i], v1 = w->values[i + 1];
        unsigned a = v0 - base, b = v1 - base; /* wraps to above 15 below the window */
        a = a < 16 && i < w->elements ? a : common % 16;
        b = b < 16 && i + 1 < w->elements ? b : common / 16;
        const uint8_t symbol = table->substitute[a + 16 * b];
        w->symbols[i / 2] = symbol;
        if (v0 != base + symbol % 16 && i < w->elements)
            add_outlier(o, c, i, (uint8_t)v0);
        if (v1 != base + symbol / 16 && i + 1 < w->elements)
            add_outlier(o, c, i + 1, (uint8_t)v1);
    }
}

/* x / f * 2^p + x mod f + start, with one multiplication less. */
static inline uint32_t push(uint32_t x, const struct wcodec_encode_symbol *s, unsigned p)
{
    const uint32_t quotient = (uint32_t)(x * s->reciprocal >> (32 + p));
    return x + quotient * s->rest + s->start;
}

/* Emit a word if x has reached limit. Branchless: whether a lane emits cannot be predicted. */
static inline uint32_t shrink(uint32_t x, uint32_t limit, uint8_t **word)
{
    const unsigned emit = x >= limit;
    wcodec_store_u16(*word - 2, (uint16_t)x);
    *word -= 2 * emit;
    return x >> (16 * emit);
}

static uint8_t *encode_group_p8(const struct wcodec_encode_table *table, const uint8_t *symbols,
                                uint32_t x[WCODEC_LANES], uint8_t *word)
{
    for (unsigned position = 4; position > 0; position -= 2)
        for (unsigned lane = WCODEC_LANES; lane-- > 0;) {
            const struct wcodec_encode_symbol *s =
                                                  &table->symbols[symbols[4 * lane + position - 2]],
                                              *next =
                                                  &table->symbols[symbols[4 * lane + position - 1]];
            x[lane] = shrink(x[lane], (uint32_t)s->freq * next->freq << 16, &word);
            x[lane] = push(push(x[lane], next, 8), s, 8);
        }
    return word;
}

/* 12-bit profiles: `steps` symbols a lane in a group. */
static uint8_t *encode_group_p12(const struct wcodec_encode_table *table, const uint8_t *symbols,
                                 unsigned steps, uint32_t x[WCODEC_LANES], uint8_t *word)
{
    for (unsigned step = steps; step-- > 0;)
        for (unsigned lane = WCODEC_LANES; lane-- > 0;) {
            const struct wcodec_encode_symbol *s = &table->symbols[symbols[steps * lane + step]];
            x[lane] = shrink(x[lane], (uint32_t)s->freq << 20, &word);
            x[lane] = push(x[lane], s, 12);
        }
    return word;
}

static void encode_rans(const struct work *w, const struct wcodec_encode_table *tables,
                        const struct wcodec_stream_plan *plan, unsigned c,
                        const uint16_t payload[WCODEC_LANES], struct wcodec_tile_output *o)
{
    const struct wcodec_field *f = &w->tiling->fields[w->tiling->coded[c]];
    const uint32_t capacity = wcodec_tile_words_max(w->elements);
    uint8_t *const end = o->words[c] + capacity, *word = end;
    uint32_t x[WCODEC_LANES];
    for (uint32_t g = 0; g < w->groups; g++)
        if (f->profile == WCODEC_PAIRS)
            choose_pairs(w, group_table(tables, plan, f, g), c, g * WCODEC_GROUP, o);
        else
            choose_symbols(w, group_table(tables, plan, f, g), c, g * WCODEC_GROUP, o);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        x[lane] = (1u << 16) + payload[lane];
    for (uint32_t g = w->groups; g-- > 0;) {
        const struct wcodec_encode_table *table = group_table(tables, plan, f, g);
        const uint8_t *symbols =
            w->symbols + (size_t)g * WCODEC_GROUP / wcodec_profile_span(f->profile);
        if (wcodec_table_is_constant(&table->table))
            continue;
        word = f->profile == WCODEC_P8
                   ? encode_group_p8(table, symbols, x, word)
                   : encode_group_p12(table, symbols, 4 / wcodec_profile_span(f->profile), x, word);
    }
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        wcodec_store_u32(o->states[c] + 4 * lane, x[lane]);
    o->word_offset[c] = (uint32_t)(word - o->words[c]);
    o->word_count[c] = (uint32_t)(end - word) / 2;
}

void wcodec_tile_encode(const struct wcodec_tiling *tiling,
                        const struct wcodec_encode_table *const tables[WCODEC_MAX_CODED],
                        const struct wcodec_stream_plan plans[WCODEC_MAX_CODED], const void *data,
                        uint32_t elements, struct wcodec_tile_output *output, void *scratch)
{
    WCODEC_ASSERT(elements >= 1 && elements <= 1u << tiling->tile_log2);
    WCODEC_ASSERT(tiling->coded_count >= 1);
    WCODEC_ASSERT(plans[0].mode != WCODEC_STREAM_STORED);
    static const uint16_t no_payload[WCODEC_LANES] = {0};
    struct work w = {.tiling = tiling,
                     .elements = elements,
                     .groups = (elements + WCODEC_GROUP - 1) / WCODEC_GROUP};
    const size_t padded = (size_t)w.groups * WCODEC_GROUP;
    uint16_t payload[WCODEC_LANES];
    w.rows = (uint32_t *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    w.padded = (uint8_t *)(w.rows + padded);
    w.values = w.padded + 8 * padded;
    w.symbols = w.values + padded;
    load_elements(&w, data);
    wcodec_pack_raw(tiling, w.padded, w.groups, wcodec_tile_has_payload(tiling, plans[0].mode),
                    payload, output->raw, w.rows);
    for (unsigned c = 0; c < tiling->coded_count; c++) {
        const struct wcodec_field *f = &tiling->fields[tiling->coded[c]];
        output->outlier_count[c] = 0;
        output->word_count[c] = 0;
        output->word_offset[c] = 0;
        extract_field(&w, f);
        if (plans[c].mode == WCODEC_STREAM_RANS) {
            encode_rans(&w, tables[c], &plans[c], c, c == 0 ? payload : no_payload, output);
            continue;
        }
        for (uint32_t i = 0; i < elements; i++)
            if (w.values[i] != plans[c].symbol)
                add_outlier(output, c, i, w.values[i]);
    }
    output->check = wcodec_tile_check(data, elements, tiling->element_log2);
}
