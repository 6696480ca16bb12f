/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Batches: descriptors go to the device once, decoding is a few launches, faults come back through
 * host memory that kernels write to only when there are any.
 * */
#include "backends/cuda/cuda.h"
#include "backends/cuda/geometry.h"

enum { WARPS_MIN = 8 }; /* fewer load tables too slowly */

struct wcodec_batch {
    struct wcodec_device *device;
    struct wcodec_job *jobs;
    size_t count;
    uint64_t tiles;
    struct wcodec_cuda_slab *slab;
    uint32_t *faults; /* in the slab: one a tile, in the order of the jobs */
    struct wcodec_cuda_scratch scratch;
    struct wcodec_cuda_launch launches[WCODEC_KERNELS_ALL];
    unsigned launch_count;
};

static uint64_t memory_address(const struct wcodec_memory *memory)
{
    return memory->address;
}

/* Warps of a block: with `tiles` of them to a block, no more rounds than the most warps would need,
 * all of them full. */
static unsigned even_warps(uint64_t tiles, unsigned most)
{
    const uint64_t rounds = (tiles + most - 1) / most, warps = (tiles + rounds - 1) / rounds;
    return warps < WARPS_MIN ? WARPS_MIN : (unsigned)warps;
}

/* Shared memory of a fast kernel: as laid out in launch.cuh, wherever it begins. Below the tables,
 * which are aligned to their size, are warps' rooms, of which the last one may not fit. */
unsigned wcodec_cuda_shared_size(unsigned kernel, unsigned warps)
{
    if (kernel >= WCODEC_FUSED_8_4_PAIRS) {
        static const unsigned shapes[] = {WCODEC_SHAPE_8_4_FUSED,   WCODEC_SHAPE_8_1_FUSED,
                                          WCODEC_SHAPE_8_2_FUSED,   WCODEC_SHAPE_8_3_FUSED,
                                          WCODEC_SHAPE_8_0_FUSED,   WCODEC_SHAPE_8_0_P8_FUSED,
                                          WCODEC_SHAPE_8_0_P8_FUSED};
        const unsigned fused = WCODEC_CUDA_ROOM(shapes[kernel - WCODEC_FUSED_8_4_PAIRS]),
                       table = kernel == WCODEC_FUSED_8_0_P8 ? 32768 : 16384,
                       all = (warps + 1) * fused;
        return WCODEC_CUDA_HEAD + table + (all > table ? all : table) +
               (kernel == WCODEC_FUSED_8_0_P8_RUNS ? warps * 1024 : 0);
    }
    if (kernel > WCODEC_KERNEL_GENERIC) {
        const bool wide =
                       kernel == WCODEC_FUSED_LOSSY_WIDE || kernel == WCODEC_FUSED_LOSSY_RAW_WIDE,
                   blocks = wide || kernel == WCODEC_FUSED_LOSSY_BLOCKS;
        const bool pairs =
            kernel == WCODEC_FUSED_LOSSY_PAIRS || kernel == WCODEC_FUSED_LOSSY_RAW_PAIRS;
        const unsigned raw = kernel < WCODEC_FUSED_LOSSY_RAW_WIDE ? 0 : pairs ? 1 : 2;
        const unsigned table = wide || pairs ? 32768 : 16384,
                       all = (warps + 1) * WCODEC_CUDA_LOSSY_ROOM << wide;
        return WCODEC_CUDA_HEAD + table + (all > table ? all : table) +
               warps * WCODEC_CUDA_LOSSY_EXTRA(wide, blocks, raw && !blocks ? 8 : 16, raw);
    }
    const unsigned coding = kernel / 2 % WCODEC_CODINGS, shape = wcodec_kernel_shape(kernel),
                   room = WCODEC_CUDA_ROOM(shape);
    const bool small =
        coding == WCODEC_CODING_P8_RUNS || coding == WCODEC_CODING_P12 ||
        (coding == WCODEC_CODING_PAIRS && !WCODEC_CUDA_WIDE(shape)); /* entries of four bytes */
    const unsigned tables = small ? 16384 : 32768, rooms = (warps + 1) * room;
    return WCODEC_CUDA_HEAD + tables + (rooms > tables ? rooms : tables) +
           (coding == WCODEC_CODING_P8_RUNS ? warps * 1024 : 0);
}

static uint64_t parts_size(const struct wcodec_device *d, const struct wcodec_gpu_plan *plan)
{
    const uint64_t blocks = (uint64_t)d->multiprocessors * WCODEC_CUDA_BLOCKS;
    return WCODEC_KERNELS * (blocks + 1) * (sizeof(struct wcodec_part) + 4 + 16) +
           plan->segment_count * sizeof(struct wcodec_part) + WCODEC_SHAPES * WCODEC_FEW_TABLE +
           256;
}

/* Cut a kernel's tiles, of `count` segments, for its work-groups; writes to `at` what the device
 * needs, and returns where it ends. */
static uint8_t *plan_fast(const struct wcodec_device *d, const struct wcodec_kernel_run *run,
                          const struct wcodec_segment *segments, uint32_t count,
                          struct wcodec_cuda_launch *l, uint8_t *at, cu_pointer address)
{
    const unsigned most = d->kernels[l->kernel].warps,
                   full = d->multiprocessors * d->kernels[l->kernel].blocks;
    uint32_t tiles;
    if (count == 1) {
        /* One table for all: the kernel cuts. More than all warps can take at once are taken from a
         * queue. */
        l->arguments.tables = segments->tables;
        l->arguments.first = run->first;
        l->blocks = run->count < full ? run->count : full;
        tiles = (run->count + l->blocks - 1) / l->blocks;
        if (tiles > most) {
            tiles = most;
            memset(at, 0, 16);
            l->arguments.queue = address;
            at += 16;
        }
    } else {
        const uint64_t size = wcodec_align_u64(4 * (uint64_t)(full + 1), 16);
        uint32_t *numbers = (void *)at;
        struct wcodec_part *parts = (void *)(at + size);
        l->blocks =
            wcodec_gpu_plan_cut(segments, run->first, run->count, full, parts, numbers, &tiles);
        l->arguments.first_part =
            numbers[l->blocks] > l->blocks ? address : 0; /* else one part a block */
        l->arguments.parts = address + size;
        at = (uint8_t *)(parts + numbers[l->blocks]);
    }
    const unsigned warps = even_warps(tiles, most);
    l->threads = 32 * warps;
    l->shared = wcodec_cuda_shared_size(l->kernel, warps);
    return at;
}

/* Returns where what it has written for the device ends. */
static uint8_t *plan_launches(struct wcodec_batch *batch, const struct wcodec_gpu_plan *plan,
                              uint8_t *host, cu_pointer address, cu_pointer faults)
{
    const struct wcodec_device *d = batch->device;
    const struct wcodec_segment *segments = plan->segments, *end = segments + plan->segment_count;
    uint8_t *at = host;
    for (unsigned k = 0; k < WCODEC_KERNELS; k++) {
        const struct wcodec_kernel_run *run = &plan->runs[k];
        if (run->count == 0)
            continue;
        struct wcodec_cuda_launch *l = &batch->launches[batch->launch_count++];
        l->kernel = k;
        l->function = d->kernels[k].function;
        l->arguments = (struct wcodec_cuda_arguments){.block = batch->slab->memory,
                                                      .jobs = batch->slab->memory + plan->jobs,
                                                      .faults = faults,
                                                      .ones = ~0u,
                                                      .count = run->count};
        if (k == WCODEC_KERNEL_GENERIC) {
            l->blocks = (run->count + 3) / 4;
            l->threads = 128;
            l->arguments.jobs += run->first * sizeof(struct wcodec_tile_job);
            continue;
        }
        uint32_t count = 0;
        while (segments + count < end && segments[count].first < run->first + run->count)
            count++;
        const struct wcodec_tile_job *jobs = (const void *)(plan->block + plan->jobs);
        const struct wcodec_table_set *set =
            (const void *)(plan->block + (segments->tables - batch->slab->memory));
        if (k < WCODEC_KERNEL_GENERIC && count == 1 &&
            wcodec_cuda_plan_few(d, jobs + run->first, run, segments, set, l, at,
                                 address + (uint64_t)(at - host)))
            at += k / 2 % WCODEC_CODINGS == WCODEC_CODING_PAIRS ? WCODEC_FEW_TABLE
                                                                : 0; /* those of P8 read the set */
        else
            at = plan_fast(d, run, segments, count, l, at, address + (uint64_t)(at - host));
        segments += count;
    }
    cu_pointer jobs = batch->slab->memory + plan->blocks;
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t count = plan->blocks_count[i];
        const cu_pointer first = jobs;
        jobs += plan->blocks_room[i] * sizeof(struct wcodec_blocks_job);
        if (count == 0)
            continue;
        struct wcodec_cuda_launch *l = &batch->launches[batch->launch_count++];
        *l = (struct wcodec_cuda_launch){.function = d->kernels[WCODEC_KERNEL_BLOCKS + i].function,
                                         .kernel = WCODEC_KERNEL_BLOCKS + i,
                                         .blocks = count,
                                         .threads = 128};
        l->arguments = (struct wcodec_cuda_arguments){.block = batch->slab->memory, .jobs = first};
    }
    return at;
}

/* Everything is written where it is copied from: the plan's block, what the launches need besides,
 * and behind that the faults, which are not copied. */
static wcodec_status build(struct wcodec_queue *q, struct wcodec_batch *batch,
                           struct wcodec_gpu_plan *plan, wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    uint64_t segments = 0;
    for (size_t i = 0; i < batch->count; i++) /* at most as many as there are tables */
        segments += batch->jobs[i].tiles->tiling->table_count;
    const struct wcodec_gpu_plan bound = {.segment_count = (uint32_t)segments};
    const uint64_t parts = wcodec_align_u64(plan->size, 16),
                   faults = wcodec_align_u64(parts + parts_size(d, &bound), 16);
    wcodec_status status = wcodec_cuda_slab_take(d, faults + 4 * batch->tiles, &batch->slab, err);
    if (status == WCODEC_OK)
        status = wcodec_cuda_scratch_take(d, plan->scratch_size, &batch->scratch, err);
    if (status)
        return status;
    const struct wcodec_cuda_slab *slab = batch->slab;
    plan->scratch = batch->scratch.memory;
    plan->block = slab->host;
    batch->faults = (void *)(slab->host + faults);
    status =
        wcodec_gpu_plan_build(plan, batch->jobs, batch->count, slab->memory, memory_address, err);
    if (status)
        return status;
    const uint8_t *end = plan_launches(batch, plan, slab->host + parts, slab->memory + parts,
                                       slab->host_address + faults);
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
    a->release(a->opaque, batch->jobs);
    a->release(a->opaque, batch);
}

wcodec_status wcodec_cuda_batch_create(struct wcodec_queue *q, const struct wcodec_job *jobs,
                                       size_t count, struct wcodec_batch **batch, wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    const wcodec_allocator *a = d->host->allocator;
    struct wcodec_gpu_plan plan;
    cu_context context;
    wcodec_status status = wcodec_gpu_plan_measure(d->host, jobs, count,
                                                   d->fast | WCODEC_GPU_PLAN_ANY_TILE, &plan, err);
    if (status)
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
    cu_result result = d->cu->context_push(d->context);
    if (result != 0) {
        status = wcodec_cuda_fail(d, result, "cuCtxPushCurrent", err);
        a->release(a->opaque, copy);
        a->release(a->opaque, b);
        return status;
    }
    status = build(q, b, &plan, err);
    wcodec_gpu_plan_free(&plan);
    if (status)
        batch_free(b);
    else
        *batch = b;
    d->cu->context_pop(&context);
    return status;
}

wcodec_status wcodec_cuda_batch_decode(struct wcodec_queue *q, struct wcodec_batch *batch,
                                       wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    cu_context context;
    cu_result result = d->cu->context_push(d->context);
    if (result != 0)
        return wcodec_cuda_fail(d, result, "cuCtxPushCurrent", err);
    memset(batch->faults, 0, 4 * batch->tiles);
    for (unsigned i = 0; i < batch->launch_count && result == 0; i++) {
        struct wcodec_cuda_launch *l = &batch->launches[i];
        void *arguments[] = {&l->arguments};
        result = d->cu->launch(l->function, l->blocks, 1, 1, l->threads, 1, 1, l->shared, q->stream,
                               arguments, NULL);
    }
    d->cu->context_pop(&context);
    return result ? wcodec_cuda_fail(d, result, "cuLaunchKernel", err) : WCODEC_OK;
}

wcodec_status wcodec_cuda_batch_results(struct wcodec_queue *q, struct wcodec_batch *batch,
                                        struct wcodec_job_result *results, wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    cu_context context;
    cu_result result = d->cu->context_push(d->context);
    if (result != 0)
        return wcodec_cuda_fail(d, result, "cuCtxPushCurrent", err);
    result = d->cu->stream_wait(q->stream);
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
        result = d->cu->stream_wait(q->stream);
    d->cu->context_pop(&context);
    return result ? wcodec_cuda_fail(d, result, "cuStreamSynchronize", err) : WCODEC_OK;
}

void wcodec_cuda_batch_destroy(struct wcodec_batch *batch)
{
    const struct wcodec_device *d = batch->device;
    cu_context context;
    const bool entered = d->cu->context_push(d->context) == 0;
    batch_free(batch);
    if (entered)
        d->cu->context_pop(&context);
}
