/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The general kernels as C with loops over their lanes, as OpenCL has them on processors, against
 * the reference: the same bytes and the same faults, on good and on damaged payloads. Kernels whose
 * lanes run side by side: test_backend_emulated. */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_blocks), cmocka_unit_test(test_lossy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
