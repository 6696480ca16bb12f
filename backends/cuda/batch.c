/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Batches: descriptors go to the device once, decoding is a few launches, faults come back through
 * host memory that kernels write to only when there are any.
 * */
#include "backends/cuda/cuda.h"

struct wcodec_batch {
    struct wcodec_device *device;
    struct wcodec_job *jobs;
    size_t count;
    uint64_t tiles;
    struct wcodec_cuda_slab *slab;
    uint32_t *faults; /* in the slab: one a tile, in the order of the jobs */
    struct wcodec_cuda_scratch scratch;
    struct wcodec_gpu_launch *launches;
    unsigned launch_count;
};

static uint64_t memory_address(const struct wcodec_memory *memory)
{
    return memory->address;
}

/* Everything is written where it is copied from: the plan's block, what the launches need besides,
 * and behind that the faults, which are not copied. */
static wcodec_status build(struct wcodec_queue *q, struct wcodec_batch *batch,
                           struct wcodec_gpu_plan *plan, wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    const wcodec_allocator *a = d->host->allocator;
    uint64_t segments = 0;
    for (size_t i = 0; i < batch->count; i++) /* at most as many as there are tables */
        segments += wcodec_gpu_plan_tables(&batch->jobs[i]);
    const uint64_t parts = wcodec_align_u64(plan->size, 16),
                   faults = wcodec_align_u64(
                       parts + wcodec_gpu_launches_size(&d->limits, plan, segments), 16);
    const unsigned launches = wcodec_gpu_launches_max(&d->limits, plan);
    batch->launches = a->allocate(a->opaque, launches * sizeof *batch->launches);
    if (batch->launches == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for %u launches", launches);
    wcodec_status status = wcodec_cuda_slab_take(d, faults + 4 * batch->tiles, &batch->slab, err);
    if (status == WCODEC_OK)
        status = wcodec_cuda_scratch_take(d, plan->scratch_size, &batch->scratch, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_cuda_slab *slab = batch->slab;
    const uint8_t *end;
    plan->scratch = batch->scratch.memory;
    plan->block = slab->host;
    batch->faults = (void *)(slab->host + faults);
    status =
        wcodec_gpu_plan_build(plan, batch->jobs, batch->count, slab->memory, memory_address, err);
    if (status != WCODEC_OK)
        return status;
    batch->launch_count = wcodec_gpu_plan_launches(
        &d->limits, plan, slab->memory, slab->host + parts, slab->memory + parts,
        slab->host_address + faults, batch->launches, &end);
    const cu_result result =
        d->cu->copy_in(slab->memory, slab->host, (size_t)(end - slab->host), q->stream);
    return result ? wcodec_cuda_fail(d, result, "cuMemcpyHtoDAsync", err) : WCODEC_OK;
}

static void batch_free(struct wcodec_batch *batch)
{
    const wcodec_allocator *a = batch->device->host->allocator;
    if (batch->slab != NULL)
        wcodec_cuda_slab_give(batch->device, batch->slab);
    wcodec_cuda_scratch_give(batch->device, &batch->scratch);
    if (batch->launches != NULL)
        a->release(a->opaque, batch->launches);
    a->release(a->opaque, batch->jobs);
    a->release(a->opaque, batch);
}

wcodec_status wcodec_cuda_batch_create(struct wcodec_queue *q, const struct wcodec_job *jobs,
                                       size_t count, struct wcodec_batch **batch, wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    const wcodec_allocator *a = d->host->allocator;
    struct wcodec_gpu_plan plan;
    wcodec_status status = wcodec_gpu_plan_measure(d->host, jobs, count,
                                                   d->there | WCODEC_GPU_PLAN_ANY_TILE, &plan, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_batch *b = a->allocate(a->opaque, sizeof *b);
    struct wcodec_job *copy = a->allocate(a->opaque, count * sizeof *copy);
    if (b == NULL || copy == NULL) {
        a->release(a->opaque, b);
        a->release(a->opaque, copy);
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a batch of %zu jobs", count);
    }
    memcpy(copy, jobs, count * sizeof *copy);
    *b = (struct wcodec_batch){.device = d, .jobs = copy, .count = count, .tiles = plan.tiles};
    status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK) {
        a->release(a->opaque, copy);
        a->release(a->opaque, b);
        return status;
    }
    status = build(q, b, &plan, err);
    wcodec_gpu_plan_free(&plan);
    if (status != WCODEC_OK)
        batch_free(b);
    else
        *batch = b;
    wcodec_cuda_leave(d, 0, "", NULL);
    return status;
}

wcodec_status wcodec_cuda_batch_decode(struct wcodec_queue *q, struct wcodec_batch *batch,
                                       wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const wcodec_status status = wcodec_cuda_enter(d, err);
    cu_result result = 0;
    if (status != WCODEC_OK)
        return status;
    memset(batch->faults, 0, 4 * batch->tiles);
    for (unsigned i = 0; i < batch->launch_count && result == 0; i++) {
        struct wcodec_gpu_launch *l = &batch->launches[i];
        void *arguments[] = {&l->arguments};
        result = d->cu->launch(d->functions[l->kernel], l->groups, 1, 1, l->threads, 1, 1,
                               l->shared, q->stream, arguments, NULL);
    }
    return wcodec_cuda_leave(d, result, "cuLaunchKernel", err);
}

wcodec_status wcodec_cuda_batch_results(struct wcodec_queue *q, struct wcodec_batch *batch,
                                        struct wcodec_job_result *results, wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    cu_result result = wcodec_cuda_wait(d, q->stream);
    const volatile uint32_t *fault = batch->faults;
    bool cleared = false;
    for (size_t i = 0; i < batch->count && result == 0; i++) {
        const struct wcodec_job *job = &batch->jobs[i];
        results[i] = wcodec_gpu_plan_result(job, fault);
        fault += job->count;
        if (results[i].fault == WCODEC_TILE_OK)
            continue;
        result = d->cu->set_8(job->memory->address + job->destination, 0,
                              (size_t)wcodec_job_bytes(job), q->stream);
        cleared = true;
    }
    if (cleared && result == 0)
        result = wcodec_cuda_wait(d, q->stream);
    return wcodec_cuda_leave(d, result, "cuStreamSynchronize", err);
}

void wcodec_cuda_batch_destroy(struct wcodec_batch *batch)
{
    const struct wcodec_device *d = batch->device;
    const bool entered = wcodec_cuda_enter(d, NULL) == WCODEC_OK;
    batch_free(batch);
    if (entered)
        wcodec_cuda_leave(d, 0, "", NULL);
}
