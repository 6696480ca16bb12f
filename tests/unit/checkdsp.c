/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Every CPU variant against the scalar reference: the same bytes and the same faults, on random
 * tensors of all kinds and on hostile payloads, at every level that this machine has; and the
 * encoders, whose tiles must be the reference's byte for byte. Buffers begin or end at guard pages,
 * outputs are poisoned and checked for what was not to be written. checkdsp LEVEL runs one level
 * only. */
#include "support.h"
#include "support_guarded.h"
#include "support_tiles.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/decode.h"
#include "backends/cpu/encode.h"
#include "core/error.h"

static uint32_t levels;

/* checkdsp_stages.c, checkdsp_each.c, checkdsp_blocks.c, checkdsp_lossy.c, checkdsp_fixed.c,
 * checkdsp_fragments.c, checkdsp_product.c, checkdsp_nearest.c, checkdsp_gates.c,
 * checkdsp_count.c */
void checkdsp_stages(const struct wcodec_cpu_dsp *dsp, uint64_t seed);
void checkdsp_each(const struct wcodec_cpu_dsp *dsp, uint64_t seed);
void checkdsp_blocks(uint32_t levels, uint64_t seed);
void checkdsp_lossy(uint32_t levels, uint64_t seed);
void checkdsp_fixed(uint32_t levels, uint64_t seed);
void checkdsp_fragments(uint64_t seed);
void checkdsp_product(uint32_t levels, uint64_t seed);
void checkdsp_nearest(uint32_t levels, uint64_t seed);
void checkdsp_gates(uint32_t levels, uint64_t seed);
void checkdsp_count(uint32_t levels, uint64_t seed);

/* Of each area just what the tiles from `first` on need, each before a guard page. */
static void view_areas(const struct wcodec_tiles *tiles, const uint8_t *payload, uint64_t first,
                       struct wcodec_view *view, struct guarded areas[WCODEC_AREAS])
{
    uint64_t stop[WCODEC_AREAS];
    wcodec_tiles_extent(tiles, first, tiles->tiling->tiles, view->begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        const size_t size = (size_t)(stop[a] - view->begin[a]);
        areas[a] = guarded_new(size);
        memcpy(areas[a].data, payload + view->begin[a], size);
        view->data[a] = areas[a].data;
    }
}

/* Tensors that are made without symbols, with more tiles than go side by side. */
static unsigned straight[4][WCODEC_CPU_SHAPES];
static unsigned windows[3]; /* P8 tables by the blocks of their string; 0: none */

/* The string of a P8 table has every slot's symbol where it says so. */
static void check_windows(const struct wcodec_cpu_decoder *decoder)
{
    for (unsigned i = 0; i < decoder->tiles->tiling->table_count; i++) {
        const struct wcodec_cpu_table *t = &decoder->tables[i];
        if (decoder->tiles->tables[i].profile != WCODEC_P8)
            continue;
        windows[t->window_log2]++;
        for (unsigned slot = 0; t->window_log2 > 0 && slot < 256; slot++) {
            const unsigned at = (slot + t->window_of[slot >> t->window_log2]) & 0xff;
            const uint32_t e = t->entries[slot];
            assert_true(at < 64 && t->window_symbol[at] == (e >> 12 & 0xff) &&
                        t->window_freq[at] == (e >> 20 & 0xff) &&
                        slot - t->window_start[at] == (e & 0xfff));
        }
    }
}

/* All tiles by the reference and by the level's functions. */
static void compare(const struct wcodec_cpu_dsp *dsp, const struct support_tensor *x,
                    uint64_t *seed, bool hostile, unsigned faults[6])
{
    struct wcodec_tiles *tiles;
    struct wcodec_cpu_decoder *decoder;
    struct wcodec_view view;
    wcodec_error err;
    struct guarded payload = guarded_new(x->payload_size), out = guarded_new(x->tiling.size);
    memcpy(payload.data, x->payload, x->payload_size);
    if (hostile)
        for (unsigned i = 0;
             i < 1 + support_random(seed) % 4 && x->payload_size > x->tiling.prefix_size; i++) {
            const uint64_t at = x->tiling.prefix_size +
                                support_random(seed) % (x->payload_size - x->tiling.prefix_size);
            const uint64_t end = support_random(seed) % 2 ? at + 1 : x->payload_size;
            const bool zero = support_random(seed) % 8 == 0;
            for (uint64_t k = at; k < end; k++)
                payload.data[k] =
                    (uint8_t)(zero ? 0
                                   : payload.data[k] ^ (support_random(seed) % 2
                                                            ? support_random(seed)
                                                            : 1u << support_random(seed) % 8));
        }
    assert_int_equal(wcodec_tiles_read(&x->tiling, payload.data, x->payload_size,
                                       &wcodec_default_allocator, &tiles, &err),
                     WCODEC_OK);
    assert_int_equal(
        wcodec_cpu_decoder_create(dsp, tiles, &wcodec_default_allocator, &decoder, &err),
        WCODEC_OK);
    check_windows(decoder);
    const uint64_t count = x->tiling.tiles, first = support_random(seed) % count;
    struct guarded areas[WCODEC_AREAS] = {{0}};
    if (support_random(seed) % 2)
        wcodec_view_whole(payload.data, &view);
    else
        view_areas(tiles, payload.data, first, &view, areas);
    const unsigned profile = x->tiling.fields[x->tiling.coded[0]].profile;
    straight[profile][decoder->shape] += decoder->straight && count - first > dsp->tiles[profile];
    const size_t tile_size = (size_t)1 << x->tiling.tile_log2 << x->tiling.element_log2,
                 skipped = (size_t)first * tile_size;
    const bool stream = support_random(seed) % 2, verify = support_random(seed) % 4 != 0;
    enum wcodec_tile_fault *got = malloc(count * sizeof *got);
    uint8_t *expected = malloc(tile_size);
    memset(out.data, 0x5a, x->tiling.size);
    wcodec_cpu_decode_tiles(decoder, &view, first, (unsigned)(count - first), out.data + skipped,
                            verify, stream, got);
    for (size_t i = 0; i < skipped; i++)
        assert_int_equal(out.data[i], 0x5a);
    for (uint64_t tile = first; tile < count; tile++) {
        const enum wcodec_tile_fault fault =
            wcodec_tile_decode(tiles, &view, tile, expected, verify);
        if (got[tile - first] != fault)
            fail_msg("%s: fault %d instead of %d", wcodec_cpu_level_name(dsp->level),
                     got[tile - first], fault);
        if (fault == WCODEC_TILE_OK || fault == WCODEC_TILE_CHECK)
            assert_memory_equal(out.data + tile * tile_size, expected,
                                (size_t)wcodec_tile_elements(&x->tiling, tile)
                                    << x->tiling.element_log2);
        faults[fault]++;
    }
    free(expected);
    free(got);
    wcodec_cpu_decoder_free(decoder);
    wcodec_tiles_free(tiles);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        if (areas[a].map)
            guarded_free(&areas[a]);
    guarded_free(&payload);
    guarded_free(&out);
}

static struct {
    unsigned level, tiles, outliers, twos;
    uint64_t seed;
} encoding;

static uint64_t raw_room(const struct wcodec_tiling *t, uint32_t elements)
{
    uint64_t capacity = 0;
    for (unsigned mode = WCODEC_STREAM_RANS; mode <= WCODEC_STREAM_CONSTANT; mode++)
        capacity = wcodec_tile_raw_size(t, elements, mode) > capacity
                       ? wcodec_tile_raw_size(t, elements, mode)
                       : capacity;
    return capacity;
}

/* Memory of its own for each part of a tile's output. */
static void make_output(const struct wcodec_tiling *t, uint32_t elements, uint8_t *raw,
                        struct wcodec_tile_output *o)
{
    memset(o, 0, sizeof *o);
    o->raw = raw;
    for (unsigned c = 0; c < t->coded_count; c++) {
        o->states[c] = calloc(WCODEC_LANES, 4);
        o->words[c] = calloc(1, wcodec_tile_words_max(elements));
        o->positions[c] = calloc(elements, 2);
        o->values[c] = calloc(elements, 1);
        assert_true(o->states[c] && o->words[c] && o->positions[c] && o->values[c]);
    }
}

static void free_output(const struct wcodec_tiling *t, struct wcodec_tile_output *o)
{
    for (unsigned c = 0; c < t->coded_count; c++) {
        free(o->states[c]);
        free(o->words[c]);
        free(o->positions[c]);
        free(o->values[c]);
    }
}

static void assert_same_output(const struct wcodec_tiling *t,
                               const struct wcodec_stream_plan plans[WCODEC_MAX_CODED],
                               uint32_t elements, const struct wcodec_tile_output *o,
                               const struct wcodec_tile_output *expected)
{
    assert_int_equal(o->check, expected->check);
    assert_memory_equal(o->raw, expected->raw,
                        (size_t)wcodec_tile_raw_size(t, elements, plans[0].mode));
    for (unsigned c = 0; c < t->coded_count; c++) {
        assert_int_equal(o->word_count[c], expected->word_count[c]);
        assert_int_equal(o->outlier_count[c], expected->outlier_count[c]);
        assert_memory_equal(o->words[c] + o->word_offset[c],
                            expected->words[c] + expected->word_offset[c],
                            2 * (size_t)o->word_count[c]);
        assert_memory_equal(o->positions[c], expected->positions[c],
                            2 * (size_t)o->outlier_count[c]);
        assert_memory_equal(o->values[c], expected->values[c], o->outlier_count[c]);
        if (plans[c].mode == WCODEC_STREAM_RANS)
            assert_memory_equal(o->states[c], expected->states[c], WCODEC_LANES * 4);
    }
}

/* Two tiles at once, of which the second's raw part begins where the first's ends: the same with
 * its elements turned by some, or fewer of them, by other tables of the pools. */
static void compare_two(const struct wcodec_cpu_encoder *encoder,
                        const struct wcodec_encode_table *const pools[WCODEC_MAX_CODED],
                        const struct wcodec_stream_plan plans[WCODEC_MAX_CODED], const void *data,
                        uint32_t elements)
{
    const struct wcodec_tiling *t = encoder->tiling;
    const size_t size = (size_t)elements << t->element_log2,
                 turn = (size_t)(support_random(&encoding.seed) % elements) << t->element_log2,
                 raw_size = (size_t)raw_room(t, elements),
                 scratch_size = wcodec_cpu_encode_scratch_size(elements);
    struct wcodec_stream_plan plan[2][WCODEC_MAX_CODED];
    struct wcodec_tile_output got[2], expected;
    struct wcodec_cpu_encode_job jobs[2];
    uint8_t *both = malloc(2 * size), *raw = malloc(2 * raw_size), *expected_raw = malloc(raw_size),
            *scratch = malloc(wcodec_tile_scratch_size(elements));
    const uint32_t fewer = support_random(&encoding.seed) % 4
                               ? elements
                               : 1 + (uint32_t)(support_random(&encoding.seed) % elements);
    assert_true(both && raw && expected_raw && scratch);
    memcpy(both, data, size);
    memcpy(both + size, both + turn, size - turn);
    memcpy(both + 2 * size - turn, both, turn);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(plan[i], plans, sizeof plan[i]);
        for (unsigned c = 0; c < t->coded_count; c++)
            if (plan[i][c].mode == WCODEC_STREAM_RANS && plan[i][c].run_tables == NULL)
                plan[i][c].table =
                    (uint8_t)(support_random(&encoding.seed) % t->fields[t->coded[c]].tables);
        jobs[i] = (struct wcodec_cpu_encode_job){plan[i], both + i * size, i ? fewer : elements,
                                                 &got[i], malloc(scratch_size)};
        make_output(t, elements, raw + (i ? wcodec_tile_raw_size(t, elements, plan[0][0].mode) : 0),
                    &got[i]);
    }
    wcodec_cpu_encode_two(encoder, jobs);
    for (unsigned i = 0; i < 2; i++) {
        make_output(t, elements, expected_raw, &expected);
        wcodec_tile_encode(t, pools, plan[i], jobs[i].data, jobs[i].elements, &expected, scratch);
        assert_same_output(t, plan[i], jobs[i].elements, &got[i], &expected);
        free_output(t, &expected);
        free_output(t, &got[i]);
        free(jobs[i].scratch);
    }
    encoding.twos += elements == fewer && encoder->dsp.rans_two[WCODEC_P8] != NULL;
    free(scratch);
    free(expected_raw);
    free(raw);
    free(both);
}

/* One tile by the level's encoder, and by the reference. */
static void compare_encoder(const struct wcodec_tiling *t,
                            const struct wcodec_encode_table *const pools[WCODEC_MAX_CODED],
                            const struct wcodec_stream_plan plans[WCODEC_MAX_CODED],
                            const void *data, uint32_t elements,
                            const struct wcodec_tile_output *expected)
{
    struct wcodec_cpu_encoder *encoder;
    struct wcodec_tile_output o = {0};
    struct guarded buffers[3 + 4 * WCODEC_MAX_CODED];
    unsigned used = 0;
    wcodec_error err;
    const size_t size = (size_t)elements << t->element_log2,
                 scratch_size = wcodec_cpu_encode_scratch_size(elements),
                 raw_size = (size_t)raw_room(t, elements);
    const bool begin = support_random(&encoding.seed) % 2;
    assert_int_equal(wcodec_cpu_encoder_create(levels & ((2u << encoding.level) - 1), t, pools,
                                               &wcodec_default_allocator, &encoder, &err),
                     WCODEC_OK);
    const uint8_t *input = memcpy((buffers[used++] = guarded_side(size, begin)).data, data, size);
    void *scratch =
        memset((buffers[used++] = guarded_side(scratch_size, begin)).data, 0xa5, scratch_size);
    o.raw = memset((buffers[used++] = guarded_side(raw_size, begin)).data, 0x5a, raw_size);
    for (unsigned c = 0; c < t->coded_count; c++) {
        o.states[c] = (buffers[used++] = guarded_side(WCODEC_LANES * 4, begin)).data;
        o.words[c] = (buffers[used++] = guarded_side(wcodec_tile_words_max(elements), begin)).data;
        o.positions[c] =
            (uint16_t *)(void *)(buffers[used++] = guarded_side(2 * (size_t)elements, begin)).data;
        o.values[c] = (buffers[used++] = guarded_side(elements, begin)).data;
    }
    wcodec_cpu_encode_tile(encoder, plans, input, elements, &o, scratch);
    assert_memory_equal(input, data, size);
    assert_int_equal(o.check, expected->check);
    assert_memory_equal(o.raw, expected->raw,
                        (size_t)wcodec_tile_raw_size(t, elements, plans[0].mode));
    for (unsigned c = 0; c < t->coded_count; c++) {
        assert_int_equal(o.word_count[c], expected->word_count[c]);
        assert_int_equal(o.word_offset[c], expected->word_offset[c]);
        assert_int_equal(o.outlier_count[c], expected->outlier_count[c]);
        assert_memory_equal(o.words[c] + o.word_offset[c], expected->words[c] + o.word_offset[c],
                            2 * (size_t)o.word_count[c]);
        assert_memory_equal(o.positions[c], expected->positions[c], 2 * (size_t)o.outlier_count[c]);
        assert_memory_equal(o.values[c], expected->values[c], o.outlier_count[c]);
        if (plans[c].mode == WCODEC_STREAM_RANS)
            assert_memory_equal(o.states[c], expected->states[c], WCODEC_LANES * 4);
        encoding.outliers += o.outlier_count[c];
    }
    encoding.tiles++;
    compare_two(encoder, pools, plans, data, elements);
    wcodec_cpu_encoder_free(encoder);
    while (used)
        guarded_free(&buffers[--used]);
}

static void run_encoder(unsigned level)
{
    uint64_t seed = support_seed() + 100 + level;
    encoding.level = level;
    encoding.seed = seed;
    encoding.tiles = encoding.outliers = encoding.twos = 0;
    support_coded = compare_encoder;
    for (unsigned i = 0; i < 200 + SUPPORT_SHAPES * 3 * 12; i++) {
        struct support_tensor x;
        if (i < 200)
            support_tensor_make(&seed, 0, &x);
        else
            support_tensor_common(&seed, i % SUPPORT_SHAPES, 1 + i / SUPPORT_SHAPES % 3,
                                  1 + support_random(&seed) % (i % 5 ? 3 * 4096 : 600), &x);
        support_tensor_free(&x);
    }
    support_coded = NULL;
    print_message("  encoder: %u tiles, %u outliers, %u times two at once\n", encoding.tiles,
                  encoding.outliers, encoding.twos);
    assert_true(encoding.outliers > 0);
}

/* Every frequency beside every remainder of the total, on symbols as often as that and on others:
 * the quotients that are one too small, and the limits of a renormalisation. */
static void run_frequencies(unsigned level)
{
    struct wcodec_cpu_encode_dsp dsp, plain;
    const struct wcodec_tiling t = {
        .tile_log2 = 12, .field_count = 1, .fields = {{.kind = WCODEC_FIELD_CODED, .width = 8}}};
    uint64_t seed = support_seed() + 200 + level;
    wcodec_cpu_encode_dsp_init(&dsp, levels & ((2u << level) - 1));
    wcodec_cpu_encode_dsp_init(&plain, WCODEC_CPU_SCALAR);
    assert_int_equal(dsp.level <= level, 1);
    for (unsigned profile = WCODEC_PAIRS; profile <= WCODEC_P8; profile++) {
        const unsigned total = 1u << wcodec_profile_bits(profile);
        for (unsigned f = 1; f < total;
             f += profile == WCODEC_P8 ? 1 : 1 + (unsigned)(support_random(&seed) % 16)) {
            enum { GROUPS = 6 };
            const uint8_t held[2] = {(uint8_t)(support_random(&seed) % 16),
                                     (uint8_t)(16 + support_random(&seed) % 16)};
            struct wcodec_table table = {
                .profile = (uint8_t)profile, .width = 8, .count = 2, .order = {held[0], held[1]}};
            struct wcodec_encode_table prepared;
            struct wcodec_tiling tiling = t;
            struct wcodec_cpu_encoder *encoder;
            uint8_t symbols[GROUPS * WCODEC_GROUP], got[GROUPS * WCODEC_GROUP * 2 + 64],
                expected[sizeof got];
            table.freq[held[0]] = (uint16_t)f;
            table.freq[held[1]] = (uint16_t)(total - f);
            wcodec_encode_table_init(&prepared, &table);
            tiling.fields[0].profile = (uint8_t)profile;
            tiling.fields[0].tables = 1;
            assert_int_equal(wcodec_tiling_derive(&tiling, 4096, NULL), WCODEC_OK);
            const struct wcodec_encode_table *const pools[WCODEC_MAX_CODED] = {&prepared};
            assert_int_equal(wcodec_cpu_encoder_create(levels & ((2u << level) - 1), &tiling, pools,
                                                       &wcodec_default_allocator, &encoder, NULL),
                             WCODEC_OK);
            struct wcodec_cpu_encode_stream a = {.words = got + sizeof got},
                                            b = {.words = expected + sizeof expected};
            const unsigned share = support_random(&seed) % 2
                                       ? f * 256 / total
                                       : (unsigned)(support_random(&seed) % 257);
            for (unsigned i = 0; i < sizeof symbols; i++)
                symbols[i] = held[support_random(&seed) % 256 >= share];
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
                a.x[lane] = b.x[lane] = (1u << 16) + (uint32_t)(support_random(&seed) & 0xffff);
            memset(got, 0, sizeof got);
            memset(expected, 0, sizeof expected);
            dsp.rans[profile](encoder->tables[0], symbols, GROUPS, &a);
            plain.rans[profile](encoder->tables[0], symbols, GROUPS, &b);
            assert_int_equal(a.words - got, b.words - expected);
            assert_memory_equal(a.words, b.words, (size_t)(got + sizeof got - a.words));
            assert_memory_equal(a.x, b.x, sizeof a.x);
            wcodec_cpu_encoder_free(encoder);
        }
    }
}

/* The decoder with the choices of `tuning`, whatever the processor's are. */
static void run_decoder(unsigned level, uint32_t tuning)
{
    struct wcodec_cpu_dsp dsp;
    unsigned faults[6] = {0};
    uint64_t seed = support_seed() + level;
    print_message("  decoder, choices %x\n", tuning / WCODEC_CPU_STRAIGHT);
    wcodec_cpu_dsp_init(&dsp, (levels & ((2u << level) - 1)) | tuning);
    checkdsp_stages(&dsp, seed + 300);
    checkdsp_each(&dsp, seed + 900);
    memset(straight, 0, sizeof straight);
    memset(windows, 0, sizeof windows);
    for (unsigned i = 0; i < 150; i++) {
        struct support_tensor x;
        support_tensor_make(&seed, 0, &x);
        compare(&dsp, &x, &seed, false, faults);
        for (unsigned k = 0; k < 4; k++)
            compare(&dsp, &x, &seed, true, faults);
        support_tensor_free(&x);
    }
    for (unsigned i = 0; i < SUPPORT_SHAPES * 3 * 4; i++) {
        struct support_tensor x;
        support_tensor_common(&seed, i % SUPPORT_SHAPES, 1 + i / SUPPORT_SHAPES % 3,
                              1 + support_random(&seed) % (12 * 4096), &x);
        compare(&dsp, &x, &seed, false, faults);
        for (unsigned k = 0; k < 6; k++)
            compare(&dsp, &x, &seed, true, faults);
        support_tensor_free(&x);
    }
    /* All that can go without symbols, in enough tiles for some to be side by side. */
    bool any_straight = false;
    for (unsigned i = 0; i < 4 * WCODEC_CPU_SHAPES; i++)
        any_straight =
            any_straight || dsp.direct[i / WCODEC_CPU_SHAPES][i % WCODEC_CPU_SHAPES] != NULL;
    for (unsigned i = 0; any_straight && i < 120; i++) {
        const bool nibbles = i % 4 == 3;
        struct support_tensor x = {0};
        struct wcodec_field *f = x.tiling.fields;
        x.tiling.element_log2 = !nibbles;
        x.tiling.tile_log2 = 12;
        x.tiling.field_count = nibbles ? 2 : 3;
        x.tiling.add = nibbles ? support_random(&seed) & 0xff : 0;
        f[0] = (struct wcodec_field){.kind = WCODEC_FIELD_RAW, .width = nibbles ? 4 : 7};
        f[1] = (struct wcodec_field){.kind = WCODEC_FIELD_CODED,
                                     .width = nibbles ? 4 : 8,
                                     .profile = i % 8 < 4 ? WCODEC_P8 : WCODEC_PAIRS,
                                     .tables = (uint8_t)(1 + support_random(&seed) % 2)};
        f[2] = (struct wcodec_field){.kind = WCODEC_FIELD_RAW, .width = 1};
        support_tensor_code(&seed, 8 * 4096 + support_random(&seed) % (8 * 4096), &x);
        compare(&dsp, &x, &seed, false, faults);
        for (unsigned k = 0; k < 4; k++)
            compare(&dsp, &x, &seed, true, faults);
        support_tensor_free(&x);
    }
    for (unsigned f = 0; f <= WCODEC_TILE_CHECK; f++) {
        print_message("  %s: %u\n", wcodec_tile_fault_string((enum wcodec_tile_fault)f), faults[f]);
        assert_true(faults[f] > 0);
    }
    print_message("  P8 tables without a string %u, with one by 2 slots %u, by 4 %u\n", windows[0],
                  windows[1], windows[2]);
    for (unsigned i = 0; i < 3 && dsp.lookup & WCODEC_CPU_BY_WINDOW; i++)
        assert_true(windows[i] > 0);
    for (unsigned i = 0; i < 4 * WCODEC_CPU_SHAPES; i++) {
        const unsigned profile = i / WCODEC_CPU_SHAPES, shape = i % WCODEC_CPU_SHAPES;
        if (dsp.direct[profile][shape] == NULL)
            continue;
        print_message("  profile %u, shape %u straight: %u tensors\n", profile, shape,
                      straight[profile][shape]);
        assert_true(straight[profile][shape] > 0);
    }
}

static void run_level(unsigned level)
{
    const uint64_t seed = support_seed() + level;
    print_message("level %s\n", wcodec_cpu_level_name(level));
    run_encoder(level);
    run_frequencies(level);
    checkdsp_count(levels & ((2u << level) - 1), seed + 1100);
    checkdsp_blocks(levels & ((2u << level) - 1), seed + 400);
    checkdsp_lossy(levels & ((2u << level) - 1), seed + 500);
    checkdsp_fixed(levels & ((2u << level) - 1), seed + 600);
    checkdsp_fragments(seed + 800);
    checkdsp_product(levels & ((2u << level) - 1), seed + 700);
    checkdsp_nearest(levels & ((2u << level) - 1), seed + 900);
    checkdsp_gates(levels & ((2u << level) - 1), seed + 1000);
    run_decoder(level, 0);
    /* Each choice alone; the quick form leaves out those of other processors. */
    for (unsigned i = 0; wcodec_cpu_tuning_name(i); i++) {
        const uint32_t choice = (uint32_t)WCODEC_CPU_STRAIGHT << i;
        if (!support_quick() || (wcodec_cpu_tuning() & choice) != 0)
            run_decoder(level, choice);
    }
}

static void test_levels(void **state)
{
    (void)state;
    for (unsigned level = 0; wcodec_cpu_level_name(level); level++) {
        if (levels >> level & 1)
            run_level(level);
        else
            print_message("level %s: not on this machine\n", wcodec_cpu_level_name(level));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
    levels = wcodec_cpu_levels();
    for (unsigned level = 0; argc > 1 && wcodec_cpu_level_name(level); level++)
        if (strcmp(argv[1], wcodec_cpu_level_name(level)))
            levels &= ~(1u << level);
    if (!levels) {
        fprintf(stderr, "checkdsp: no level '%s' here\n", argv[1]);
        return 77;
    }
    return cmocka_run_group_tests_name("checkdsp", tests, NULL, NULL);
}
