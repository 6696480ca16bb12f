/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The GPUs' kernels as C, by the plan that CUDA's host makes, against all that every backend must
 * do alike. */
#include "support.h"

#include "support_blocks.h"
#include "support_conform.h"
#include "support_hostile.h"
#include "support_matrix.h"
#include "support_tiles.h"

#include "backends/emulate/device.h"
#include "backends/emulate/fibers.h"
#include "backends/gpu/plan.h"
#include "registry/host.h"

struct open {
    struct wcodec_backend backend;
    wcodec_context *context;
    struct wcodec_host host;
    struct wcodec_backend_state *state;
};

/* The kernels are for little-endian machines. */
static bool can_run(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 1 && wcodec_fibers_supported();
}

static int setup(void **state)
{
    static struct open o;
    wcodec_error err;
    if (!can_run()) {
        print_message("there are no fibers here\n");
        return 0;
    }
    o.backend = wcodec_emulated_backend();
    if (wcodec_context_create(NULL, &o.context, &err) != WCODEC_OK)
        return 1;
    wcodec_host_init(&o.host, o.context);
    *state = &o;
    return o.backend.open(&o.host, &o.state, &err) != WCODEC_OK;
}

static int teardown(void **state)
{
    struct open *o = *state;
    if (o != NULL) {
        o->backend.close(o->state);
        wcodec_context_destroy(o->context);
    }
    return 0;
}

static void test_conform(void **state)
{
    struct open *o = *state;
    if (o == NULL)
        skip();
    support_conform(&o->backend, o->state, 0);
}

/* A matrix at a fixed rate alone. */
static void decode_matrix(struct open *o, struct wcodec_device *device, uint64_t *seed)
{
    struct support_matrix m;
    struct wcodec_memory *payload, *output;
    struct wcodec_queue *queue;
    struct wcodec_batch *batch;
    struct wcodec_job job = {.verify = true};
    struct wcodec_job_result result;
    support_matrix_make(seed, 0, 0, &m);
    support_matrix_part(seed, &m, true, &job);
    assert_int_equal(o->backend.queue_create(device, &queue, NULL), WCODEC_OK);
    assert_int_equal(o->backend.memory_allocate(device, WCODEC_MEMORY_DEVICE, m.fixed.payload_size,
                                                &payload, NULL),
                     WCODEC_OK);
    assert_int_equal(
        o->backend.memory_allocate(device, WCODEC_MEMORY_DEVICE, m.fixed.size, &output, NULL),
        WCODEC_OK);
    memcpy(o->backend.memory_pointer(payload), m.payload, (size_t)m.fixed.payload_size);
    job.memory = output;
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        job.places[a].memory = job.places[a].size != 0 ? payload : NULL;
        job.places[a].offset = job.places[a].begin;
    }
    assert_int_equal(o->backend.batch_create(queue, &job, 1, &batch, NULL), WCODEC_OK);
    assert_int_equal(o->backend.batch_decode(queue, batch, NULL), WCODEC_OK);
    assert_int_equal(o->backend.batch_results(queue, batch, &result, NULL), WCODEC_OK);
    assert_int_equal(result.fault, WCODEC_TILE_OK);
    assert_memory_equal(o->backend.memory_pointer(output), m.data, (size_t)m.fixed.size);
    o->backend.batch_destroy(batch);
    o->backend.memory_free(output);
    o->backend.memory_free(payload);
    o->backend.queue_destroy(queue);
    support_matrix_free(&m);
}

/* A tensor alone; b: in blocks or lossy, or NULL. */
static void decode_alone(struct open *o, struct wcodec_device *device,
                         const struct support_tensor *x, const struct support_blocks *b)
{
    const uint64_t size = b != NULL ? b->size : x->tiling.size;
    struct wcodec_tiles *tiles;
    struct wcodec_memory *payload, *output;
    struct wcodec_queue *queue;
    struct wcodec_batch *batch;
    struct wcodec_job_result result;
    wcodec_error err;
    assert_int_equal(wcodec_tiles_read(&x->tiling, x->payload, x->payload_size,
                                       &wcodec_default_allocator, &tiles, &err),
                     WCODEC_OK);
    assert_int_equal(o->backend.queue_create(device, &queue, &err), WCODEC_OK);
    assert_int_equal(
        o->backend.memory_allocate(device, WCODEC_MEMORY_DEVICE, x->payload_size, &payload, &err),
        WCODEC_OK);
    assert_int_equal(o->backend.memory_allocate(device, WCODEC_MEMORY_DEVICE, size, &output, &err),
                     WCODEC_OK);
    memcpy(o->backend.memory_pointer(payload), x->payload, x->payload_size);
    struct wcodec_job job = {
        .tiles = tiles, .count = x->tiling.tiles, .memory = output, .verify = true};
    if (b != NULL) {
        job.blocks = b->is_lossy || b->in_fragments ? NULL : &b->blocks;
        job.fragments = b->in_fragments ? &b->fragments : NULL;
        job.lossy = b->is_lossy ? &b->lossy : NULL;
        job.modes = b->modes;
        job.end = size;
    }
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] =
            (struct wcodec_area_place){payload, tiles->area_begin[a], tiles->area_begin[a],
                                       tiles->area_end[a] - tiles->area_begin[a]};
    assert_int_equal(o->backend.batch_create(queue, &job, 1, &batch, &err), WCODEC_OK);
    assert_int_equal(o->backend.batch_decode(queue, batch, &err), WCODEC_OK);
    assert_int_equal(o->backend.batch_results(queue, batch, &result, &err), WCODEC_OK);
    assert_int_equal(result.fault, WCODEC_TILE_OK);
    assert_memory_equal(o->backend.memory_pointer(output), b != NULL ? b->data : x->data, size);
    o->backend.batch_destroy(batch);
    o->backend.memory_free(output);
    o->backend.memory_free(payload);
    o->backend.queue_destroy(queue);
    wcodec_tiles_free(tiles);
}

/* A tensor of a common kind, of whole tiles or one, if its kernel is one of `wanted`. Some in any
 * case: latency kernels are chosen by the number of tiles. */
static void decode_common(struct open *o, struct wcodec_device *device, uint64_t *seed,
                          uint64_t wanted, unsigned i)
{
    struct support_tensor x;
    support_tensor_common(seed, (unsigned)support_random(seed) % SUPPORT_SHAPES,
                          1 + (unsigned)support_random(seed) % 3,
                          1024 * (1 + support_random(seed) % 4), &x);
    if ((wanted >> wcodec_gpu_plan_kernel(&x.tiling) & 1) || i % 16 == 0)
        decode_alone(o, device, &x, NULL);
    support_tensor_free(&x);
}

/* A tensor in blocks, or lossy, if its kernel is one of `wanted`. */
static void decode_blocks(struct open *o, struct wcodec_device *device, uint64_t *seed,
                          uint64_t wanted, bool lossy)
{
    struct support_tensor x;
    struct support_blocks b;
    (lossy ? support_lossy_make : support_blocks_make)(seed, &x, &b);
    const struct wcodec_tiles tiles = {.tiling = &x.tiling};
    const struct wcodec_job job = {
        .tiles = &tiles, .blocks = lossy ? NULL : &b.blocks, .lossy = lossy ? &b.lossy : NULL};
    if (wanted >> wcodec_gpu_plan_fused(&job) & 1)
        decode_alone(o, device, &x, &b);
    support_blocks_free(&b);
    support_tensor_free(&x);
}

/* A matrix in fragments, if its kernel is one of `wanted`. */
static void decode_fragments(struct open *o, struct wcodec_device *device, uint64_t *seed,
                             uint64_t wanted)
{
    struct support_tensor x;
    struct support_blocks b;
    support_fragments_make(seed, &x, &b);
    const struct wcodec_tiles tiles = {.tiling = &x.tiling};
    const struct wcodec_job job = {.tiles = &tiles, .fragments = &b.fragments};
    if (wanted >> wcodec_gpu_plan_fused(&job) & 1)
        decode_alone(o, device, &x, &b);
    support_blocks_free(&b);
    support_tensor_free(&x);
}

/* Every kernel decodes some tensor. */
static void test_kernels(void **state)
{
    struct open *o = *state;
    uint64_t seed = support_seed(), missing = ((uint64_t)1 << WCODEC_KERNELS) - 1;
    struct wcodec_device *device;
    wcodec_error err;
    if (o == NULL)
        skip();
    assert_int_equal(o->backend.device_open(o->state, 0, &device, &err), WCODEC_OK);
    for (unsigned i = 0; i < 40; i++)
        decode_matrix(o, device, &seed);
    for (unsigned i = 0; i < 40; i++)
        decode_fragments(o, device, &seed, UINT64_MAX);
    for (unsigned i = 0; i < 20000 && missing != 0; i++) {
        decode_common(o, device, &seed, missing, i);
        decode_blocks(o, device, &seed, missing, i % 2 != 0);
        decode_fragments(o, device, &seed, missing);
        missing &= ~wcodec_emulated_kernels();
    }
    o->backend.device_close(device);
    for (unsigned k = 0; k < WCODEC_KERNELS; k++)
        if (missing >> k & 1)
            print_message("%s was not launched\n", wcodec_kernel_rows[k].name);
    assert_int_equal(missing, 0);
}

static void test_hostile(void **state)
{
    struct open *o = *state;
    struct wcodec_device *device;
    wcodec_error err;
    if (o == NULL)
        skip();
    assert_int_equal(o->backend.device_open(o->state, 0, &device, &err), WCODEC_OK);
    support_hostile(&o->backend, device, false);
    support_flips(&o->backend, device, 997);
    o->backend.device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conform),
                                       cmocka_unit_test(test_hostile),
                                       cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
