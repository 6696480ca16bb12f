/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "fuzz/encode_again.h"
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/encode.h"
#include "coding/tile.h"
#include "fuzz/fuzz.h"

enum { RUNS_MAX = 512 };

struct subject {
    const struct wcodec_tiling *tiling;
    struct wcodec_encode_table *tables;
    const struct wcodec_encode_table *pools[WCODEC_MAX_CODED];
    struct wcodec_stream_plan plans[WCODEC_MAX_CODED];
    uint8_t runs[WCODEC_MAX_CODED][RUNS_MAX];
    uint32_t elements;
    size_t raw_size;
};

static void *take(size_t size)
{
    void *memory = calloc(1, size + 1);
    FUZZ_REQUIRE(memory != NULL);
    return memory;
}

static void make_output(const struct subject *s, struct wcodec_tile_output *o)
{
    memset(o, 0, sizeof *o);
    o->raw = fuzz_guarded(s->raw_size);
    for (unsigned c = 0; c < s->tiling->coded_count; c++) {
        o->states[c] = take(4 * WCODEC_LANES);
        o->words[c] = take(wcodec_tile_words_max(s->elements));
        o->positions[c] = take(2 * (size_t)s->elements);
        o->values[c] = take(s->elements);
    }
}

static void free_output(const struct subject *s, struct wcodec_tile_output *o)
{
    fuzz_guarded_free(o->raw, s->raw_size);
    for (unsigned c = 0; c < s->tiling->coded_count; c++) {
        free(o->states[c]);
        free(o->words[c]);
        free(o->positions[c]);
        free(o->values[c]);
    }
}

static void require_same(const struct subject *s, const struct wcodec_tile_output *a,
                         const struct wcodec_tile_output *b)
{
    FUZZ_REQUIRE(a->check == b->check);
    FUZZ_REQUIRE(memcmp(a->raw, b->raw,
                        (size_t)wcodec_tile_raw_size(s->tiling, s->elements, s->plans[0].mode)) ==
                 0);
    for (unsigned c = 0; c < s->tiling->coded_count; c++) {
        FUZZ_REQUIRE(a->word_count[c] == b->word_count[c] &&
                     a->outlier_count[c] == b->outlier_count[c]);
        FUZZ_REQUIRE(memcmp(a->words[c] + a->word_offset[c], b->words[c] + b->word_offset[c],
                            2 * (size_t)a->word_count[c]) == 0);
        FUZZ_REQUIRE(memcmp(a->positions[c], b->positions[c], 2 * (size_t)a->outlier_count[c]) ==
                         0 &&
                     memcmp(a->values[c], b->values[c], a->outlier_count[c]) == 0);
        FUZZ_REQUIRE(s->plans[c].mode != WCODEC_STREAM_RANS ||
                     memcmp(a->states[c], b->states[c], 4 * WCODEC_LANES) == 0);
    }
}

static void by_level(const struct subject *s, unsigned level, const uint8_t *elements,
                     const struct wcodec_tile_output *expected)
{
    struct wcodec_cpu_encoder *encoder;
    struct wcodec_tile_output o;
    void *scratch = take(wcodec_cpu_encode_scratch_size(s->elements));
    FUZZ_REQUIRE(wcodec_cpu_encoder_create(wcodec_cpu_levels() & ((2u << level) - 1), s->tiling,
                                           s->pools, &wcodec_default_allocator, &encoder,
                                           NULL) == WCODEC_OK);
    make_output(s, &o);
    wcodec_cpu_encode_tile(encoder, s->plans, elements, s->elements, &o, scratch);
    require_same(s, &o, expected);
    free_output(s, &o);
    wcodec_cpu_encoder_free(encoder);
    free(scratch);
}

static void plan(struct subject *s, const struct wcodec_tiles *tiles, uint64_t tile)
{
    const struct wcodec_tiling *t = tiles->tiling;
    s->tables = take(t->table_count * sizeof *s->tables);
    for (unsigned i = 0; i < t->table_count; i++)
        wcodec_encode_table_init(&s->tables[i], &tiles->tables[i]);
    for (unsigned c = 0; c < t->coded_count; c++) {
        const struct wcodec_field *f = &t->fields[t->coded[c]];
        const struct wcodec_stream *stream = &tiles->streams[tile * t->coded_count + c];
        const bool stored = stream->mode > WCODEC_STREAM_CONSTANT;
        s->pools[c] = s->tables + tiles->table_base[c];
        s->plans[c] =
            (struct wcodec_stream_plan){.mode = stored ? WCODEC_STREAM_RANS : stream->mode,
                                        .table = stored ? 0 : stream->table,
                                        .symbol = stored ? 0 : stream->symbol};
        if (f->run_log2 == 0 || s->plans[c].mode != WCODEC_STREAM_RANS)
            continue;
        for (uint32_t i = 0; i < s->elements; i += 1u << f->run_log2)
            s->runs[c][i >> f->run_log2] =
                (uint8_t)wcodec_run_table(tiles, c, tile, i / WCODEC_GROUP);
        s->plans[c].run_tables = s->runs[c];
    }
}

void fuzz_encode_again(const struct wcodec_tiles *tiles, uint64_t tile, const uint8_t *elements)
{
    struct subject s = {.tiling = tiles->tiling};
    struct wcodec_tile_output expected;
    s.elements = wcodec_tile_elements(s.tiling, tile);
    plan(&s, tiles, tile);
    for (unsigned mode = WCODEC_STREAM_RANS; mode <= WCODEC_STREAM_CONSTANT; mode++) {
        const size_t size = (size_t)wcodec_tile_raw_size(s.tiling, s.elements, mode);
        s.raw_size = size > s.raw_size ? size : s.raw_size;
    }
    void *scratch = take(wcodec_tile_scratch_size(s.elements));
    make_output(&s, &expected);
    wcodec_tile_encode(s.tiling, s.pools, s.plans, elements, s.elements, &expected, scratch);
    for (unsigned level = 0; level < WCODEC_CPU_LEVELS; level++)
        if (wcodec_cpu_levels() >> level & 1)
            by_level(&s, level, elements, &expected);
    free_output(&s, &expected);
    free(scratch);
    free(s.tables);
}
