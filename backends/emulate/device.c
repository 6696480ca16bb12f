/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/emulate/device.h"

#include "backends/cpu/batch.h"
#include "backends/cpu/cpu.h"
#include "backends/emulate/delta.h"
#include "backends/emulate/rollout.h"
#include "backends/emulate/encode.h"
#include "backends/emulate/kept.h"
#include "backends/emulate/kernels.h"
#include "backends/emulate/product.h"
#include "backends/emulate/search.h"
#include "backends/emulate/vectors.h"
#include "backends/gpu/launches.h"
#include "core/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct wcodec_batch {
    const struct wcodec_host *host;
    struct wcodec_gpu_limits limits;
    uint64_t seed;
    size_t count;
    uint64_t tiles;
    struct wcodec_job *jobs;
    uint8_t *block;   /* the plan's, and what launches need besides */
    uint8_t *scratch; /* residuals */
    uint32_t *faults; /* one a tile, in the order of the jobs */
    struct wcodec_gpu_launch *launches;
    unsigned launch_count;
};

/* So that tests see that nothing was left out. */
static _Atomic uint64_t launched;

static uint64_t address_of(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

static uint64_t memory_address(const struct wcodec_memory *memory)
{
    return address_of(memory->data);
}

/* Exactly so many bytes, since AddressSanitizer sees where they end. */
static wcodec_status memory_allocate(struct wcodec_device *device, enum wcodec_memory_kind kind,
                                     uint64_t size, struct wcodec_memory **memory,
                                     wcodec_error *err)
{
    const struct wcodec_host *host = device->host;
    struct wcodec_memory *m = malloc(sizeof *m);
    void *block = NULL;
    if (m == NULL ||
        posix_memalign(&block, kind == WCODEC_MEMORY_PINNED ? 4096 : 256, (size_t)size) != 0) {
        free(m);
        return host->fail(err, WCODEC_ERROR_MEMORY, "no memory for %llu bytes",
                          (unsigned long long)size);
    }
    *m = (struct wcodec_memory){.host = host, .data = block, .size = size, .block = block};
    *memory = m;
    return WCODEC_OK;
}

static void memory_free(struct wcodec_memory *memory)
{
    free(memory->block);
    free(memory);
}

static void batch_destroy(struct wcodec_batch *b)
{
    free(b->launches);
    free(b->jobs);
    free(b->block);
    free(b->scratch);
    free(b->faults);
    free(b);
}

/* The block of exactly the size that was announced. */
static bool batch_allocate(struct wcodec_batch *b, const struct wcodec_gpu_plan *plan,
                           uint64_t launches)
{
    void *block = NULL, *scratch = NULL;
    b->launches = malloc(wcodec_gpu_launches_max(&b->limits, plan) * sizeof *b->launches);
    b->faults = malloc((size_t)b->tiles * sizeof *b->faults);
    if (posix_memalign(&block, 256, (size_t)(wcodec_align_u64(plan->size, 16) + launches)) == 0)
        b->block = block;
    if (posix_memalign(&scratch, 256, (size_t)plan->scratch_size + 1) == 0)
        b->scratch = scratch;
    return b->launches != NULL && b->faults != NULL && b->block != NULL && b->scratch != NULL;
}

static wcodec_status batch_build(struct wcodec_batch *b, struct wcodec_gpu_plan *plan,
                                 wcodec_error *err)
{
    uint64_t segments = 0;
    for (size_t i = 0; i < b->count; i++)
        segments += wcodec_gpu_plan_tables(&b->jobs[i]);
    if (!batch_allocate(b, plan, wcodec_gpu_launches_size(&b->limits, plan, segments)))
        return b->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a batch");
    plan->block = b->block;
    plan->scratch = address_of(b->scratch);
    const uint64_t block = address_of(b->block);
    const wcodec_status status =
        wcodec_gpu_plan_build(plan, b->jobs, b->count, block, memory_address, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t after = wcodec_align_u64(plan->size, 16);
    const uint8_t *end;
    b->launch_count =
        wcodec_gpu_plan_launches(&b->limits, plan, block, b->block + after, block + after,
                                 address_of(b->faults), b->launches, &end);
    return WCODEC_OK;
}

static wcodec_status batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs,
                                  size_t count, struct wcodec_batch **batch, wcodec_error *err)
{
    const struct wcodec_host *host = queue->device->host;
    uint64_t seed = count << 40;
    for (size_t i = 0; i < count; i++)
        seed = seed * 31 + (jobs[i].tiles != NULL ? jobs[i].tiles->payload_size : jobs[i].end) +
               jobs[i].destination + jobs[i].count;
    const struct wcodec_gpu_limits limits = wcodec_emulated_limits(&seed);
    struct wcodec_gpu_plan plan;
    wcodec_status status = wcodec_gpu_plan_measure(
        host, jobs, count, wcodec_emulated_kernels_there(&limits), &plan, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_batch *b = calloc(1, sizeof *b);
    struct wcodec_job *copy = malloc(count * sizeof *copy);
    if (b == NULL || copy == NULL) {
        free(b);
        free(copy);
        wcodec_gpu_plan_free(&plan);
        return host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a batch of %zu jobs", count);
    }
    memcpy(copy, jobs, count * sizeof *copy);
    b->host = host;
    b->limits = limits;
    b->seed = seed;
    b->count = count;
    b->tiles = plan.tiles;
    b->jobs = copy;
    status = batch_build(b, &plan, err);
    wcodec_gpu_plan_free(&plan);
    if (status == WCODEC_OK)
        *batch = b;
    else
        batch_destroy(b);
    return status;
}

static wcodec_status batch_decode(struct wcodec_queue *queue, struct wcodec_batch *b,
                                  wcodec_error *err)
{
    struct wcodec_fibers *fibers = wcodec_fibers_create();
    (void)queue;
    if (fibers == NULL)
        return b->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the lanes of a work-group");
    memset(b->faults, 0, (size_t)b->tiles * sizeof *b->faults);
    for (unsigned i = 0; i < b->launch_count; i++) {
        const struct wcodec_gpu_launch *from = &b->launches[i];
        const struct wcodec_emulated_launch launch = {
            .kernel = from->kernel,
            .copies = b->limits.copies,
            .groups = from->groups,
            .threads = from->threads,
            .shared = from->shared,
            .seed = b->seed++,
            .arguments = &from->arguments,
        };
        wcodec_emulate_launch(fibers, &launch);
        atomic_fetch_or(&launched, (uint64_t)1 << from->kernel);
    }
    wcodec_fibers_destroy(fibers);
    return WCODEC_OK;
}

static wcodec_status batch_results(struct wcodec_queue *queue, struct wcodec_batch *b,
                                   struct wcodec_job_result *results, wcodec_error *err)
{
    const uint32_t *fault = b->faults;
    (void)queue, (void)err;
    for (size_t i = 0; i < b->count; i++) {
        const struct wcodec_job *job = &b->jobs[i];
        results[i] = wcodec_gpu_plan_result(job, fault);
        fault += job->count;
        if (results[i].fault != WCODEC_TILE_OK)
            memset(job->memory->data + job->destination, 0, (size_t)wcodec_job_bytes(job));
    }
    return WCODEC_OK;
}

static void device_list(struct wcodec_backend_state *state, unsigned i,
                        struct wcodec_device_listing *listing)
{
    wcodec_backend_cpu.device_list(state, i, listing);
    listing->capabilities |= WCODEC_DEVICE_PRODUCTS;
}

uint64_t wcodec_emulated_kernels(void)
{
    return atomic_load(&launched);
}

struct wcodec_backend wcodec_emulated_backend(void)
{
    struct wcodec_backend b = wcodec_backend_cpu;
    b.name = "emulated";
    b.device_list = device_list;
    b.memory_allocate = memory_allocate;
    b.memory_free = memory_free;
    b.batch_create = batch_create;
    b.batch_decode = batch_decode;
    b.batch_results = batch_results;
    b.batch_destroy = batch_destroy;
    b.products = &wcodec_emulated_products;
    b.encoders = &wcodec_emulated_encoders;
    b.deltas = &wcodec_emulated_deltas;
    b.rollouts = &wcodec_emulated_rollouts;
    b.vectors = &wcodec_emulated_vectors;
    b.searches = &wcodec_emulated_searches;
    return b;
}
