/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels' common code, in C with 32 lanes emulated, against the reference: the same bytes and
 * the same faults, on good and on damaged payloads. */
#include "support.h"
#include "support_blocks.h"
#include "support_tiles.h"

#include "backends/emulate/emulate.h"
#include "backends/gpu/plan.h"

#include <stdlib.h>
#include <string.h>

struct wcodec_memory {
    uint8_t *data;
};

static uint64_t address(const struct wcodec_memory *memory)
{
    return (uint64_t)(uintptr_t)memory->data;
}

static const struct wcodec_host host = {.fail = wcodec_fail,
                                        .allocator = &wcodec_default_allocator};

/* All tiles by a plan that knows the generic kernel only. faults: by tile. */
static void decode(const struct wcodec_tiles *tiles, uint8_t *payload, uint64_t first,
                   uint64_t count, uint8_t *out, uint32_t *faults)
{
    struct wcodec_memory memory = {payload}, to = {out};
    struct wcodec_job job = {
        .tiles = tiles, .first = first, .count = count, .memory = &to, .verify = true};
    struct wcodec_gpu_plan plan;
    wcodec_error err;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] = (struct wcodec_area_place){&memory, 0, 0, tiles->payload_size};
    assert_int_equal(wcodec_gpu_plan_measure(&host, &job, 1, 0, &plan, &err), WCODEC_OK);
    /* Addresses of descriptors are those of a copy, as on a device: of exactly the size that was
     * announced. */
    uint8_t *block = malloc(plan.size);
    assert_int_equal(
        wcodec_gpu_plan_build(&plan, &job, 1, (uint64_t)(uintptr_t)block, address, &err),
        WCODEC_OK);
    memcpy(block, plan.block, plan.size);
    assert_int_equal(plan.runs[WCODEC_KERNEL_GENERIC].count, count);
    const struct wcodec_tile_job *jobs = (const void *)block;
    for (uint64_t i = 0; i < count; i++)
        faults[jobs[i].slot & 0x7fffffff] = wcodec_emulate_tile(&jobs[i], block);
    wcodec_gpu_plan_free(&plan);
    free(block);
}

static void compare(const struct support_tensor *x, bool good)
{
    struct wcodec_tiles *tiles;
    struct wcodec_view view;
    wcodec_error err;
    const struct wcodec_tiling *t = &x->tiling;
    uint8_t *payload = malloc(x->payload_size);
    memcpy(payload, x->payload, x->payload_size);
    assert_int_equal(
        wcodec_tiles_read(t, payload, x->payload_size, &wcodec_default_allocator, &tiles, &err),
        WCODEC_OK);
    wcodec_view_whole(payload, &view);
    uint8_t *out = malloc(t->size), *expected = malloc(t->size);
    uint32_t *faults = malloc(4 * t->tiles);
    memset(out, 0xa5, t->size);
    decode(tiles, payload, 0, t->tiles, out, faults);
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        const uint64_t at = tile << t->tile_log2 << t->element_log2,
                       size = (uint64_t)wcodec_tile_elements(t, tile) << t->element_log2;
        assert_int_equal(faults[tile], wcodec_tile_decode(tiles, &view, tile, expected + at, true));
        if (!faults[tile])
            assert_memory_equal(out + at, expected + at, size);
        if (good) {
            assert_int_equal(faults[tile], WCODEC_TILE_OK);
            assert_memory_equal(out + at, x->data + at, size);
        }
    }
    if (t->tiles > 1) { /* a part of a tensor */
        memset(out, 0xa5, t->size);
        decode(tiles, payload, 1, t->tiles - 1, out, faults);
        if (good)
            assert_memory_equal(out, x->data + (1ull << t->tile_log2 << t->element_log2),
                                t->size - (1ull << t->tile_log2 << t->element_log2));
    }
    free(faults);
    free(out);
    free(expected);
    free(payload);
    wcodec_tiles_free(tiles);
}

/* The kernels are for little-endian machines. */
static void skip_big_endian(void)
{
    const uint16_t one = 1;
    if (!*(const uint8_t *)&one)
        skip();
}

static void test_good(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    skip_big_endian();
    for (unsigned i = 0; i < 300; i++) {
        struct support_tensor x;
        if (i % 4)
            support_tensor_make(&seed, 0, &x);
        else
            support_tensor_common(&seed, i / 4 % SUPPORT_SHAPES, 1 + i / 4 / SUPPORT_SHAPES % 3,
                                  1 + support_random(&seed) % 10000, &x);
        compare(&x, true);
        support_tensor_free(&x);
    }
}

static void test_damaged(void **state)
{
    uint64_t seed = support_seed() + 1;
    (void)state;
    skip_big_endian();
    for (unsigned i = 0; i < 300; i++) {
        struct support_tensor x;
        if (i % 4)
            support_tensor_make(&seed, 1 + support_random(&seed) % 5000, &x);
        else
            support_tensor_common(&seed, 8, 2 + i / 4 % 2, 1 + support_random(&seed) % 10000, &x);
        const uint64_t prefix = x.tiling.prefix_size, rest = x.payload_size - prefix;
        const unsigned kind = (unsigned)(support_random(&seed) % 4);
        for (unsigned k = 0; k < 1 + kind * 10 && rest; k++)
            x.payload[prefix + support_random(&seed) % rest] ^=
                (uint8_t)(1u << support_random(&seed) % 8);
        for (uint64_t k = 0; k < rest && kind == 3; k++) /* noise, or all bits */
            x.payload[prefix + k] = i % 8 ? (uint8_t)support_random(&seed) : (uint8_t)0xff;
        compare(&x, false);
        support_tensor_free(&x);
    }
}

/* What the elements of a good tile have in the coded field, but for outliers, is what was decoded.
 */
static void compare_symbols(const struct wcodec_tiling *t, const struct wcodec_tile_job *job,
                            const struct wcodec_table_set *set, bool p8, const uint8_t *tile,
                            const uint32_t *decoded)
{
    const uint16_t *positions = (const uint16_t *)(uintptr_t)job->positions;
    for (uint32_t i = 0, outlier = 0; i < job->elements; i++) {
        const uint32_t entry = decoded[(i / 128 * 2 + i % 4 / 2) * 32 + i % 128 / 4];
        const uint32_t pair = WCODEC_ENTRY_SYMBOL(entry),
                       symbol = p8 ? entry >> i % 2 * 16 & 0xff
                                   : set->base + (i % 2 ? pair / 16 : pair % 16);
        const uint64_t element =
            wcodec_load_uint(tile + ((uint64_t)i << t->element_log2), 1u << t->element_log2) +
            t->add;
        if (outlier < job->outliers && positions[outlier] == i)
            outlier++;
        else
            assert_int_equal(element >> set->shift & ((1u << set->width) - 1), symbol);
    }
}

/* As the kernels for few tiles take them: symbols and faults. Returns the tiles. */
static unsigned compare_few(const struct support_tensor *x)
{
    struct wcodec_tiles *tiles;
    struct wcodec_view view;
    struct wcodec_gpu_plan plan;
    wcodec_error err;
    const struct wcodec_tiling *t = &x->tiling;
    const bool p8 = t->fields[t->coded[0]].profile == WCODEC_P8;
    struct wcodec_memory memory = {x->payload}, to = {0};
    struct wcodec_job job = {.tiles = NULL, .count = t->tiles, .memory = &to, .verify = true};
    if (wcodec_tiles_read(t, x->payload, x->payload_size, &wcodec_default_allocator, &tiles,
                          &err) != WCODEC_OK)
        return 0;
    wcodec_view_whole(x->payload, &view);
    uint8_t *out = malloc(t->size);
    to.data = out;
    job.tiles = tiles;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] = (struct wcodec_area_place){&memory, 0, 0, tiles->payload_size};
    assert_int_equal(wcodec_gpu_plan_measure(&host, &job, 1, ~(uint64_t)0, &plan, &err), WCODEC_OK);
    plan.block = malloc(plan.size); /* lent */
    assert_int_equal(
        wcodec_gpu_plan_build(&plan, &job, 1, (uint64_t)(uintptr_t)plan.block, address, &err),
        WCODEC_OK);
    const struct wcodec_tile_job *jobs = (const void *)plan.block;
    unsigned count = 0;
    for (uint32_t s = 0; s < plan.segment_count; s++)
        for (uint32_t i = plan.segments[s].first;
             i < plan.segments[s].first + plan.segments[s].count; i++, count++) {
            const struct wcodec_table_set *set = (const void *)(uintptr_t)plan.segments[s].tables;
            struct wcodec_few_step *steps =
                malloc((jobs[i].word_count + WCODEC_FEW_SPARE) * sizeof *steps);
            uint32_t *decoded = malloc(256 * (size_t)((jobs[i].elements + 127) / 128));
            const uint64_t tile = jobs[i].slot & 0x7fffffff,
                           at = tile << t->tile_log2 << t->element_log2;
            const enum wcodec_tile_fault wanted =
                wcodec_tile_decode(tiles, &view, tile, out + at, true);
            const uint32_t fault = wcodec_emulate_few(&jobs[i], set, p8, steps, decoded);
            assert_int_equal(fault, wanted < WCODEC_TILE_OUTLIER ? wanted : WCODEC_TILE_OK);
            if (wanted == WCODEC_TILE_OK)
                compare_symbols(t, &jobs[i], set, p8, out + at, decoded);
            free(decoded);
            free(steps);
        }
    free(plan.block);
    wcodec_gpu_plan_free(&plan);
    free(out);
    wcodec_tiles_free(tiles);
    return count;
}

static void test_few(void **state)
{
    uint64_t seed = support_seed() + 3;
    unsigned compared = 0;
    (void)state;
    skip_big_endian();
    for (unsigned i = 0; i < 400; i++) {
        static const unsigned shapes[] = {0, 1, 2, 4,
                                          5}; /* with raw bits, and kernels of their own */
        struct support_tensor x;
        support_tensor_common(&seed, shapes[i % 5], i % 2 ? WCODEC_P8 : WCODEC_PAIRS,
                              1 + support_random(&seed) % 9000, &x);
        for (unsigned k = 0; k < 4; k++) {
            const uint64_t prefix = x.tiling.prefix_size, from = k == 3 ? 0 : prefix,
                           size = k == 3 ? prefix : x.payload_size - prefix;
            if (wcodec_gpu_plan_kernel(&x.tiling) != WCODEC_KERNEL_GENERIC &&
                !x.tiling.fields[x.tiling.coded[0]].run_log2)
                compared += compare_few(&x);
            if (size > 0)
                x.payload[from + support_random(&seed) % size] ^=
                    (uint8_t)(k == 2 ? support_random(&seed) : 1u << support_random(&seed) % 8);
        }
        support_tensor_free(&x);
    }
    assert_true(compared > 500);
}

/* A part of a tensor in blocks, or lossy: into a place with the element's alignment and no more,
 * and not beside it. */
static void compare_blocks(uint64_t *seed, const struct support_tensor *x,
                           const struct support_blocks *b)
{
    enum { GUARD = 64 };
    struct wcodec_tiles *tiles;
    struct wcodec_gpu_plan plan;
    wcodec_error err;
    struct wcodec_memory memory = {x->payload}, to;
    struct wcodec_job job = {.memory = &to, .verify = true};
    support_blocks_part(seed, x, b, &job);
    assert_int_equal(wcodec_tiles_read(&x->tiling, x->payload, x->payload_size,
                                       &wcodec_default_allocator, &tiles, &err),
                     WCODEC_OK);
    const uint64_t offset =
                       support_random(seed) % 2
                           ? 0
                           : support_random(seed) % 16
                                 << (b->is_lossy ? b->lossy.element_log2 : b->blocks.element_log2),
                   size = job.end - job.begin;
    uint8_t *out = malloc(size + 2 * GUARD);
    memset(out, 0xee, size + 2 * GUARD);
    to.data = out;
    job.tiles = tiles;
    job.destination = offset;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] = (struct wcodec_area_place){&memory, 0, 0, tiles->payload_size};
    assert_int_equal(wcodec_gpu_plan_measure(&host, &job, 1, 0, &plan, &err), WCODEC_OK);
    uint8_t *block = malloc(plan.size), *scratch = malloc(plan.scratch_size);
    plan.scratch = (uint64_t)(uintptr_t)scratch;
    assert_int_equal(
        wcodec_gpu_plan_build(&plan, &job, 1, (uint64_t)(uintptr_t)block, address, &err),
        WCODEC_OK);
    memcpy(block, plan.block, plan.size);
    for (uint64_t i = 0; i < job.count; i++)
        assert_int_equal(
            wcodec_emulate_tile((const struct wcodec_tile_job *)(const void *)block + i, block), 0);
    assert_int_equal(plan.blocks_count[b->is_lossy], job.count);
    assert_int_equal(plan.blocks_count[!b->is_lossy], 0);
    for (uint64_t i = 0; i < job.count; i++)
        (b->is_lossy ? wcodec_emulate_lossy : wcodec_emulate_blocks)(
            (const struct wcodec_blocks_job *)(const void *)(block + plan.blocks) + i);
    assert_int_equal(wcodec_job_bytes(&job), size);
    for (uint64_t i = 0; i < size + 2 * GUARD; i++)
        if (out[i] != (i < offset || i >= offset + size ? 0xee : b->data[job.begin + i - offset]))
            fail_msg("byte %llu of %llu to %llu", (unsigned long long)i,
                     (unsigned long long)job.begin, (unsigned long long)job.end);
    wcodec_gpu_plan_free(&plan);
    free(scratch);
    free(block);
    free(out);
    wcodec_tiles_free(tiles);
}

/* Tiles as a plan with all kernels has them, by fused ones where it says so: the residuals are what
 * the generic kernel makes of the tile without its outliers. Damage: only to outliers and checks,
 * which is what is not the generic kernel's here. */
static void compare_fused(uint64_t *seed, const struct support_tensor *x,
                          const struct support_blocks *b, unsigned *seen)
{
    struct wcodec_tiles *tiles;
    struct wcodec_gpu_plan plan, general;
    wcodec_error err;
    const struct wcodec_tiling *t = &x->tiling;
    uint8_t *payload = malloc(x->payload_size + 1), *out = malloc(b->size),
            *expected = malloc(t->size), *residuals = malloc((size_t)1 << WCODEC_TILE_LOG2_MAX);
    memcpy(payload, x->payload, x->payload_size);
    assert_int_equal(
        wcodec_tiles_read(t, payload, x->payload_size, &wcodec_default_allocator, &tiles, &err),
        WCODEC_OK);
    const uint64_t damaged = tiles->area_begin[WCODEC_AREA_POSITIONS],
                   bytes = x->payload_size - damaged;
    const bool good = bytes == 0 || support_random(seed) % 2;
    for (unsigned k = 0; k < 4 && !good; k++)
        payload[damaged + support_random(seed) % bytes] ^=
            (uint8_t)(1u << support_random(seed) % 8);
    struct wcodec_memory memory = {payload}, to = {out};
    struct wcodec_view view;
    struct wcodec_job job = {.tiles = tiles,
                             .count = t->tiles,
                             .memory = &to,
                             .verify = true,
                             .end = b->size,
                             .blocks = &b->blocks,
                             .modes = b->modes};
    wcodec_view_whole(payload, &view);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] = (struct wcodec_area_place){&memory, 0, 0, tiles->payload_size};
    assert_int_equal(wcodec_gpu_plan_measure(&host, &job, 1, ~(uint64_t)0, &plan, &err), WCODEC_OK);
    assert_int_equal(wcodec_gpu_plan_measure(&host, &job, 1, 0, &general, &err), WCODEC_OK);
    uint8_t *block = malloc(plan.size), *other = malloc(general.size),
            *scratch = malloc(general.scratch_size);
    plan.scratch = general.scratch = (uint64_t)(uintptr_t)scratch;
    assert_int_equal(
        wcodec_gpu_plan_build(&plan, &job, 1, (uint64_t)(uintptr_t)block, address, &err),
        WCODEC_OK);
    assert_int_equal(
        wcodec_gpu_plan_build(&general, &job, 1, (uint64_t)(uintptr_t)other, address, &err),
        WCODEC_OK);
    memcpy(block, plan.block, plan.size);
    memcpy(other, general.block, general.size);
    for (uint32_t i = 0; i < plan.segment_count; i++)
        for (uint32_t k = plan.segments[i].first;
             k < plan.segments[i].first + plan.segments[i].count; k++) {
            const struct wcodec_tile_job *tile =
                (const struct wcodec_tile_job *)(const void *)block + k;
            const uint32_t number = tile->slot & 0x7fffffffu;
            struct wcodec_tile_job plain =
                ((const struct wcodec_tile_job *)(const void *)other)[number];
            struct wcodec_stream_job stream =
                *(const struct wcodec_stream_job *)(uintptr_t)plain.runs;
            stream.outliers = 0;
            plain.slot = number;
            plain.runs = (uint64_t)(uintptr_t)&stream;
            plain.out = (uint64_t)(uintptr_t)residuals;
            assert_int_equal(wcodec_emulate_tile(&plain, other), 0);
            const uint32_t fault = wcodec_tile_decode(tiles, &view, number, expected, true);
            assert_int_equal(
                wcodec_emulate_fused(
                    tile, (const struct wcodec_table_set *)(uintptr_t)plan.segments[i].tables,
                    residuals),
                fault);
            assert_true(!good || fault == 0);
            seen[fault != 0]++;
        }
    for (uint32_t i = 0; i < plan.runs[WCODEC_KERNEL_GENERIC].count && good;
         i++) { /* stored and constant ones */
        const uint32_t number = ((const struct wcodec_tile_job *)(const void *)
                                     block)[plan.runs[WCODEC_KERNEL_GENERIC].first + i]
                                    .slot &
                                0x7fffffffu;
        assert_int_equal(wcodec_emulate_tile(
                             (const struct wcodec_tile_job *)(const void *)other + number, other),
                         0);
        wcodec_emulate_blocks(
            (const struct wcodec_blocks_job *)(const void *)(other + general.blocks) + number);
    }
    if (good)
        assert_memory_equal(out, b->data, b->size);
    wcodec_gpu_plan_free(&plan);
    wcodec_gpu_plan_free(&general);
    free(block);
    free(other);
    free(scratch);
    free(payload);
    free(out);
    free(expected);
    free(residuals);
    wcodec_tiles_free(tiles);
}

static void test_fused(void **state)
{
    uint64_t seed = support_seed() + 3;
    unsigned seen[2] = {0};
    (void)state;
    skip_big_endian();
    for (unsigned i = 0; i < 1000; i++) {
        struct support_tensor x;
        struct support_blocks b;
        support_blocks_make(&seed, &x, &b);
        if (wcodec_gpu_plan_fused(&(struct wcodec_job){
                .tiles = &(struct wcodec_tiles){.tiling = &x.tiling}, .blocks = &b.blocks}) !=
            WCODEC_KERNEL_GENERIC)
            compare_fused(&seed, &x, &b, seen);
        support_blocks_free(&b);
        support_tensor_free(&x);
    }
    assert_true(seen[0] > 100 && seen[1] > 10);
}

static void compare_many(void (*make)(uint64_t *, struct support_tensor *, struct support_blocks *))
{
    uint64_t seed = support_seed() + 2;
    skip_big_endian();
    for (unsigned i = 0; i < 200; i++) {
        struct support_tensor x;
        struct support_blocks b;
        make(&seed, &x, &b);
        for (unsigned k = 0; k < 3; k++)
            compare_blocks(&seed, &x, &b);
        support_blocks_free(&b);
        support_tensor_free(&x);
    }
}

static void test_blocks(void **state)
{
    (void)state;
    compare_many(support_blocks_make);
}

static void test_lossy(void **state)
{
    (void)state;
    compare_many(support_lossy_make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good),  cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_few),   cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_lossy), cmocka_unit_test(test_fused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
