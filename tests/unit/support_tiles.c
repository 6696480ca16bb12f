/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_tiles.h"

#include "support.h"

#include "core/error.h"

#include <string.h>

support_coded_fn support_coded;

static unsigned below(uint64_t *seed, uint64_t n)
{
    return (unsigned)(support_random(seed) % n);
}

static void random_fields(uint64_t *seed, struct wcodec_tiling *t)
{
    static const struct {
        uint8_t log2, count, kind_width[5][2];
    } common[] = {
        {1, 3, {{1, 7}, {2, 8}, {1, 1}}},          /* bf16 */
        {1, 3, {{1, 10}, {2, 5}, {1, 1}}},         /* f16 */
        {2, 3, {{1, 23}, {2, 8}, {1, 1}}},         /* f32 */
        {2, 4, {{0, 16}, {1, 7}, {2, 8}, {1, 1}}}, /* bf16 as f32 */
        {0, 3, {{1, 3}, {2, 4}, {1, 1}}},          /* e4m3 */
        {0, 2, {{1, 4}, {2, 4}}},                  /* int8 4+4 */
        {0, 2, {{1, 3}, {2, 5}}},                  /* int8 5+3 */
        {0, 1, {{2, 8}}},                          /* bytes */
        {3, 3, {{1, 48}, {2, 8}, {2, 8}}},         /* f64 */
        {2, 4, {{2, 8}, {2, 8}, {2, 8}, {2, 8}}},  /* i32 */
        {2, 4, {{0, 8}, {1, 8}, {2, 8}, {1, 8}}},  /* raw bits that are not neighbours */
    };
    if (below(seed, 4)) {
        const unsigned c = below(seed, sizeof common / sizeof *common);
        t->element_log2 = common[c].log2;
        t->field_count = common[c].count;
        for (unsigned i = 0; i < t->field_count; i++) {
            t->fields[i].kind = common[c].kind_width[i][0];
            t->fields[i].width = common[c].kind_width[i][1];
        }
    } else {
        t->element_log2 = (uint8_t)below(seed, 4);
        unsigned left = 8u << t->element_log2, coded = 0, before = 3;
        while (left) {
            struct wcodec_field *f = &t->fields[t->field_count];
            do
                f->kind = (uint8_t)below(seed, 3);
            while ((f->kind == before && before != 2) || (f->kind == 2 && coded == 8));
            f->width = (uint8_t)(1 + below(seed, f->kind == 2 ? (left < 8 ? left : 8) : left));
            if (left == f->width && coded == 0) {
                f->kind = 2;
                f->width = (uint8_t)(f->width < 8 ? f->width : 8);
            }
            coded += f->kind == 2;
            before = f->kind;
            left -= f->width;
            t->field_count++;
        }
    }
    for (unsigned i = 0; i < t->field_count; i++) {
        struct wcodec_field *f = &t->fields[i];
        if (f->kind == WCODEC_FIELD_CONSTANT)
            f->value = support_random(seed) & (f->width < 64 ? (1ull << f->width) - 1 : ~0ull);
        if (f->kind != WCODEC_FIELD_CODED)
            continue;
        f->profile = (uint8_t)(1 + below(seed, 3));
        f->tables = (uint8_t)(1 + below(seed, f->profile == WCODEC_P8 ? 16 : 4));
        f->run_log2 = (uint8_t)(f->profile == WCODEC_P8 && f->tables > 1 && below(seed, 2)
                                    ? 7 + below(seed, 6)
                                    : 0);
    }
    t->tile_log2 = (uint8_t)(12 + below(seed, 2));
    t->add = below(seed, 2)
                 ? support_random(seed) &
                       (t->element_log2 < 3 ? (1ull << (8u << t->element_log2)) - 1 : ~0ull)
                 : 0;
}

static void random_table(uint64_t *seed, const struct wcodec_field *f, struct wcodec_table *t)
{
    const unsigned total = 1u << wcodec_profile_bits(f->profile);
    unsigned values = 1u << f->width, held = 0, order[256];
    memset(t, 0, sizeof *t);
    t->profile = f->profile;
    t->width = f->width;
    if (f->profile == WCODEC_PAIRS) {
        t->base = (uint8_t)(f->width > 4 ? below(seed, values - 15) : 0);
        values = 256;
    }
    for (unsigned s = 0; s < values; s++)
        if (f->profile != WCODEC_PAIRS || f->width >= 4 ||
            (!((s % 16) >> f->width) && !((s / 16) >> f->width)))
            order[held++] = s;
    for (unsigned i = held; i-- > 1;) {
        const unsigned j = below(seed, i + 1), s = order[i];
        order[i] = order[j];
        order[j] = s;
    }
    if (f->run_log2 && below(seed, 4) == 0) {
        t->freq[order[0]] = 256;
        t->order[t->count++] = (uint8_t)order[0];
        return;
    }
    /* Half of them with as few symbols as exponents of weights have. */
    const unsigned most = held > 16 && below(seed, 2) ? 16 : held;
    unsigned count = 2 + below(seed, most - 1), left = total - count;
    for (unsigned i = 0; i < count; i++)
        t->freq[order[i]] = 1;
    for (unsigned i = 0; i < count && left; i++) {
        unsigned more = below(seed, left + 1);
        more = i + 1 == count ? left : more;
        t->freq[order[i]] = (uint16_t)(t->freq[order[i]] + more);
        left -= more;
    }
    for (unsigned i = 0; i < count;
         i++) /* no frequency may be the total: two symbols see to that */
        assert_true(t->freq[order[i]] < total);
    for (unsigned s = 0; f->profile != WCODEC_P8 && s < values; s++)
        if (t->freq[s])
            t->order[t->count++] = (uint8_t)s;
    for (unsigned i = 0; f->profile == WCODEC_P8 && i < count; i++)
        t->order[t->count++] = (uint8_t)order[i];
}

/* A value that the table gives with its frequencies, but now and then any. */
static uint64_t random_value(uint64_t *seed, const struct wcodec_field *f,
                             const struct wcodec_table *t, unsigned wild)
{
    if (below(seed, 1000) < wild)
        return support_random(seed) & ((1u << f->width) - 1);
    unsigned slot = below(seed, 1u << wcodec_profile_bits(f->profile)), i = 0;
    while (slot >= t->freq[t->order[i]])
        slot -= t->freq[t->order[i++]];
    return f->profile == WCODEC_PAIRS ? t->base + t->order[i] % 16u : t->order[i];
}

static void random_data(uint64_t *seed, struct support_tensor *x, const struct wcodec_table *tables)
{
    const struct wcodec_tiling *t = &x->tiling;
    const unsigned size = 1u << t->element_log2, some = below(seed, 3) * below(seed, 20);
    /* Now and then many neighbours: more outliers in a group than decoders load at a time. */
    const uint64_t many = below(seed, 3) ? t->elements : support_random(seed) % t->elements;
    for (uint64_t i = 0; i < t->elements; i++) {
        uint64_t e = t->constant_bits;
        const struct wcodec_table *table = tables;
        const unsigned wild = i >= many && i < many + 200 ? 1000 : some;
        for (unsigned k = 0; k < t->field_count; k++) {
            const struct wcodec_field *f = &t->fields[k];
            if (f->kind == WCODEC_FIELD_RAW)
                e |= (support_random(seed) & (f->width < 64 ? (1ull << f->width) - 1 : ~0ull))
                     << f->shift;
            if (f->kind == WCODEC_FIELD_CODED) {
                e |= random_value(seed, f, table, wild) << f->shift;
                table += f->tables;
            }
        }
        wcodec_store_uint(x->data + i * size, e - t->add, size);
    }
}

struct area {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

static void append(struct area *a, const void *data, size_t size)
{
    if (a->size + size + 1 > a->capacity) {
        a->capacity = 2 * a->capacity + size + 1;
        a->data = realloc(a->data, a->capacity);
    }
    assert_non_null(a->data);
    if (size)
        memcpy(a->data + a->size, data, size);
    a->size += size;
}

static void append_aligned(struct area *a, struct area *from)
{
    static const uint8_t zeros[16] = {0};
    append(a, zeros, (16 - a->size % 16) % 16);
    append(a, from->data, from->size);
    free(from->data);
}

void support_tensor_code(uint64_t *seed, uint64_t elements, struct support_tensor *x)
{
    struct wcodec_tiling *t = &x->tiling;
    wcodec_error err;
    if (wcodec_tiling_derive(t, elements << t->element_log2, &err))
        fail_msg("%s", err.text);
    struct wcodec_table *tables = calloc(t->table_count, sizeof *tables);
    struct wcodec_encode_table *encode = calloc(t->table_count, sizeof *encode);
    const struct wcodec_encode_table *pools[WCODEC_MAX_CODED];
    uint8_t bytes[WCODEC_TABLE_MAX_BYTES], run_tables[WCODEC_MAX_CODED][512], run_bytes[256];
    struct area prefix = {0}, runs[WCODEC_MAX_CODED] = {{0}}, all_runs = {0}, checks = {0},
                streams = {0}, states = {0}, words = {0}, raw = {0}, positions = {0}, values = {0};
    unsigned number = 0;
    for (unsigned c = 0; c < t->coded_count; c++) {
        const struct wcodec_field *f = &t->fields[t->coded[c]];
        pools[c] = encode + number;
        for (unsigned i = 0; i < f->tables; i++, number++) {
            random_table(seed, f, &tables[number]);
            wcodec_encode_table_init(&encode[number], &tables[number]);
            append(&prefix, bytes, wcodec_table_write(&tables[number], bytes));
        }
    }
    x->data = malloc(t->size);
    random_data(seed, x, tables);
    const uint32_t capacity = 1u << t->tile_log2;
    struct wcodec_tile_output o;
    o.raw = malloc((size_t)capacity * 8 + 64);
    void *scratch = malloc(wcodec_tile_scratch_size(capacity));
    for (unsigned c = 0; c < t->coded_count; c++) {
        o.states[c] = malloc(128);
        o.words[c] = malloc(wcodec_tile_words_max(capacity));
        o.positions[c] = malloc(2 * (size_t)capacity);
        o.values[c] = malloc(capacity);
    }
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        const uint32_t n = wcodec_tile_elements(t, tile);
        const uint8_t *data = x->data + (tile << t->tile_log2 << t->element_log2);
        const bool stored = below(seed, 8) == 0;
        struct wcodec_stream_plan plans[WCODEC_MAX_CODED];
        for (unsigned c = 0; c < t->coded_count; c++) {
            const struct wcodec_field *f = &t->fields[t->coded[c]];
            plans[c] = (struct wcodec_stream_plan){.mode = (uint8_t)(below(seed, 8) == 0)};
            if (plans[c].mode)
                plans[c].symbol = (uint8_t)below(seed, 1u << f->width);
            else if (!f->run_log2)
                plans[c].table = (uint8_t)below(seed, f->tables);
            if (!f->run_log2)
                continue;
            const unsigned bits = wcodec_run_index_bits(f->tables);
            memset(run_bytes, 0, sizeof run_bytes);
            memset(run_tables[c], 0, sizeof run_tables[c]);
            for (unsigned r = 0; (uint64_t)r << f->run_log2 < n && !stored && !plans[c].mode; r++) {
                run_tables[c][r] = (uint8_t)below(seed, f->tables);
                run_bytes[r * bits / 8] |= (uint8_t)(run_tables[c][r] << (r * bits % 8));
            }
            plans[c].run_tables = plans[c].mode ? NULL : run_tables[c];
            append(&runs[c], run_bytes, wcodec_run_bytes_of_tile(t, f));
        }
        wcodec_tile_encode(t, pools, plans, data, n, &o, scratch);
        if (support_coded)
            support_coded(t, pools, plans, data, n, &o);
        wcodec_store_u32(bytes, o.check);
        append(&checks, bytes, 4);
        for (unsigned c = 0; c < t->coded_count; c++) {
            wcodec_store_u32(bytes, stored ? 2u << 24
                                           : o.word_count[c] | (uint32_t)plans[c].table << 20 |
                                                 (uint32_t)plans[c].mode << 24);
            wcodec_store_u32(bytes + 4,
                             stored ? 0 : o.outlier_count[c] | (uint32_t)plans[c].symbol << 24);
            append(&streams, bytes, 8);
            if (stored)
                continue;
            append(&states, o.states[c], plans[c].mode ? 0 : 128);
            append(&words, o.words[c] + o.word_offset[c], 2 * (size_t)o.word_count[c]);
            for (uint32_t i = 0; i < o.outlier_count[c]; i++) {
                wcodec_store_u16(bytes, o.positions[c][i]);
                append(&positions, bytes, 2);
            }
            append(&values, o.values[c], o.outlier_count[c]);
        }
        if (stored) {
            memset(o.raw, 0, (size_t)capacity * 8);
            memcpy(o.raw, data, (size_t)n << t->element_log2);
        }
        append(&raw, o.raw, (size_t)wcodec_tile_raw_size(t, n, stored ? 2 : plans[0].mode));
    }
    append(&checks, streams.data, streams.size);
    free(streams.data);
    append_aligned(&prefix, &checks);
    for (unsigned c = 0; c < t->coded_count; c++) {
        append(&all_runs, runs[c].data, runs[c].size);
        free(runs[c].data);
    }
    append_aligned(&prefix, &all_runs);
    append_aligned(&prefix, &states);
    append_aligned(&prefix, &words);
    append(&positions, values.data, values.size);
    free(values.data);
    append_aligned(&prefix, &raw);
    append_aligned(&prefix, &positions);
    /* Not a byte more, so that sanitizers see what is read past the end. */
    x->payload = realloc(prefix.data, prefix.size);
    assert_non_null(x->payload);
    x->payload_size = prefix.size;
    /* The prefix ends where the states begin. */
    uint64_t at = 0;
    for (unsigned i = 0; i < number; i++)
        at += wcodec_table_write(&tables[i], bytes);
    at = wcodec_align_u64(wcodec_align_u64(at, 16) + t->tiles * (4 + 8 * (uint64_t)t->coded_count),
                          16);
    for (unsigned c = 0; c < t->coded_count; c++)
        at += t->fields[t->coded[c]].run_log2
                  ? t->tiles * wcodec_run_bytes_of_tile(t, &t->fields[t->coded[c]])
                  : 0;
    t->prefix_size = wcodec_align_u64(at, 16);
    for (unsigned c = 0; c < t->coded_count; c++) {
        free(o.states[c]);
        free(o.words[c]);
        free(o.positions[c]);
        free(o.values[c]);
    }
    free(o.raw);
    free(scratch);
    free(tables);
    free(encode);
}

void support_tensor_make(uint64_t *seed, uint64_t elements, struct support_tensor *x)
{
    memset(x, 0, sizeof *x);
    random_fields(seed, &x->tiling);
    const uint64_t tile = 1ull << x->tiling.tile_log2;
    const uint64_t sizes[] = {1,
                              2,
                              127,
                              128,
                              129,
                              255,
                              257,
                              tile - 1,
                              tile,
                              tile + 1,
                              1 + below(seed, 2 * tile),
                              3 * tile - 5};
    support_tensor_code(seed,
                        elements ? elements : sizes[below(seed, sizeof sizes / sizeof *sizes)], x);
}

void support_tensor_free(struct support_tensor *x)
{
    free(x->data);
    free(x->payload);
}

void support_tensor_common(uint64_t *seed, unsigned shape, unsigned profile, uint64_t elements,
                           struct support_tensor *x)
{
    static const uint8_t lists[][7] = {
        /* element_log2, fields, then widths: raw or coded in turn, starting with raw (0: none) */
        {1, 3, 7, 8, 1},    {0, 2, 4, 4},     {0, 3, 3, 4, 1}, {0, 2, 0, 8},
        {2, 3, 23, 8, 1},   {1, 3, 10, 5, 1}, {0, 2, 3, 5},    {0, 3, 2, 5, 1},
        {1, 4, 0, 8, 0, 8}, {2, 3, 7, 8, 1},  {0, 2, 2, 6},    {0, 2, 1, 7},
    };
    memset(x, 0, sizeof *x);
    struct wcodec_tiling *t = &x->tiling;
    t->element_log2 = lists[shape][0];
    t->tile_log2 = 12;
    if (shape == 9) /* bf16 stored as f32, but for the lower bits' value */
        t->fields[t->field_count++] = (struct wcodec_field){
            .kind = WCODEC_FIELD_CONSTANT, .width = 16, .value = support_random(seed) & 0xffff};
    for (unsigned i = 0; i < lists[shape][1]; i++)
        if (lists[shape][2 + i])
            t->fields[t->field_count++] =
                (struct wcodec_field){.kind = i % 2 ? WCODEC_FIELD_CODED : WCODEC_FIELD_RAW,
                                      .width = lists[shape][2 + i]};
    for (unsigned i = 0; i < t->field_count; i++) {
        struct wcodec_field *f = &t->fields[i];
        if (f->kind != WCODEC_FIELD_CODED)
            continue;
        f->profile = (uint8_t)profile;
        f->tables = (uint8_t)(1 + support_random(seed) % (profile == WCODEC_P8 ? 6 : 4));
        f->run_log2 = (uint8_t)(profile == WCODEC_P8 && f->tables > 1 && support_random(seed) % 2
                                    ? 7 + support_random(seed) % 6
                                    : 0);
    }
    t->add =
        support_random(seed) % 2
            ? support_random(seed) & (t->field_count == 2 && t->element_log2 == 1 ? 0xffff : 0xff)
            : 0;
    support_tensor_code(seed, elements, x);
}
