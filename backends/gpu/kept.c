/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/kept.h"

#include <stddef.h>

#define SCRATCH_MOST ((uint64_t)16 << 20) /* of a part, if that is a tile at least */

enum { PLACE = 256 };

static bool is_plain(const struct wcodec_job *job)
{
    return job->blocks == NULL && job->lossy == NULL && job->fragments == NULL;
}

static void *take(const struct wcodec_host *host, uint64_t count, size_t size)
{
    if (count > SIZE_MAX / size)
        return NULL;
    void *taken = host->allocator->allocate(host->allocator->opaque, (size_t)count * size);
    if (taken != NULL)
        memset(taken, 0, (size_t)count * size);
    return taken;
}

/* Bytes that a part's launches need besides its block, which are far fewer than the most: as a
 * trial shows. */
static wcodec_status measure_launches(const struct wcodec_gpu_kept *k,
                                      const struct wcodec_gpu_kept_part *p,
                                      wcodec_address_function *place, uint64_t *size,
                                      wcodec_error *err)
{
    const wcodec_allocator *a = k->host->allocator;
    const uint64_t after = wcodec_align_u64(p->plan.size, 16),
                   most = wcodec_gpu_launches_size(&k->limits, &p->plan,
                                                   wcodec_gpu_plan_tables(&p->job));
    struct wcodec_gpu_plan plan = p->plan;
    uint8_t *block = take(k->host, after + most, 1);
    struct wcodec_gpu_launch *launches =
        take(k->host, wcodec_gpu_launches_max(&k->limits, &plan), sizeof *launches);
    const uint8_t *end;
    wcodec_status status = WCODEC_OK;
    if (block == NULL || launches == NULL)
        status = k->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the launches of a tensor");
    plan.block = block;
    if (status == WCODEC_OK)
        status = wcodec_gpu_plan_build(&plan, &p->job, 1, 0, place, err);
    if (status == WCODEC_OK) {
        wcodec_gpu_plan_launches(&k->limits, &plan, 0, block + after, after, 0, launches, &end);
        *size = (uint64_t)(end - (block + after));
        wcodec_gpu_plan_free(&plan);
    }
    a->release(a->opaque, launches);
    a->release(a->opaque, block);
    return status;
}

/* Cut by tiles, so many to a part. */
static wcodec_status measure_parts(struct wcodec_gpu_kept *k, uint64_t kernels,
                                   const struct wcodec_job *job, uint64_t tiles,
                                   wcodec_address_function *place, wcodec_error *err)
{
    uint64_t at = 0, launches = 0;
    k->size = 0;
    for (unsigned i = 0; i < k->part_count; i++) {
        struct wcodec_gpu_kept_part *p = &k->parts[i];
        p->job = *job;
        p->job.first = i * tiles;
        p->job.count = job->count - p->job.first < tiles ? job->count - p->job.first : tiles;
        wcodec_status status = wcodec_gpu_plan_measure(k->host, &p->job, 1, kernels, &p->plan, err);
        if (status == WCODEC_OK)
            status = measure_launches(k, p, place, &launches, err);
        if (status != WCODEC_OK)
            return status;
        p->at = at;
        at += wcodec_align_u64(p->plan.size, 16);
        at = wcodec_align_u64(at + launches, PLACE);
        if (p->plan.scratch_size > k->size)
            k->size = p->plan.scratch_size;
    }
    k->copied = k->faults = at;
    k->scratch = wcodec_align_u64(k->faults + 4 * k->tiles, PLACE);
    k->size += k->scratch;
    return WCODEC_OK;
}

wcodec_status wcodec_gpu_keep_measure(const struct wcodec_host *host,
                                      const struct wcodec_gpu_limits *limits, uint64_t kernels,
                                      const struct wcodec_job *job, wcodec_address_function *place,
                                      struct wcodec_gpu_kept *k, wcodec_error *err)
{
    const struct wcodec_tiling *t = job->tiles->tiling;
    const uint64_t tile = (uint64_t)1 << (t->tile_log2 + t->element_log2);
    struct wcodec_gpu_plan plan;
    *k = (struct wcodec_gpu_kept){.host = host, .limits = *limits, .tiles = job->count};
    k->bytes = wcodec_job_bytes(job);
    wcodec_status status = wcodec_gpu_plan_measure(host, job, 1, kernels, &plan, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t some = SCRATCH_MOST / tile + (SCRATCH_MOST < tile),
                   tiles = plan.scratch_size == 0 ? job->count : some;
    k->part_count = (unsigned)((job->count + tiles - 1) / tiles);
    k->parts = take(host, k->part_count, sizeof *k->parts);
    k->order = take(host, job->count, sizeof *k->order);
    if (k->parts == NULL || k->order == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "no memory for %u parts of a tensor",
                          k->part_count);
    if (plan.scratch_size == 0 && is_plain(job)) {
        k->unit = tile;
        k->unit_tiles = 1;
    } else if (plan.scratch_size == 0 && job->fragments != NULL) {
        k->unit = wcodec_fragments_band_size(job->fragments);
        k->unit_tiles = k->unit / tile;
    }
    return measure_parts(k, kernels, job, tiles, place, err);
}

/* Tiles' numbers in the order of their jobs, which within tables is that of the numbers. */
static void note_order(const struct wcodec_gpu_kept *k, const uint8_t *block)
{
    const struct wcodec_tile_job *jobs = (const void *)block;
    for (uint64_t i = 0; i < k->tiles && k->unit != 0; i++)
        k->order[i] = jobs[i].slot & 0x7fffffffu;
}

wcodec_status wcodec_gpu_keep_build(struct wcodec_gpu_kept *k, uint64_t address, uint64_t scratch,
                                    uint8_t *block, wcodec_address_function *place,
                                    wcodec_error *err)
{
    uint64_t faults = address + k->faults;
    k->address = address;
    for (unsigned i = 0; i < k->part_count; i++) {
        struct wcodec_gpu_kept_part *p = &k->parts[i];
        const uint64_t at = address + p->at, after = wcodec_align_u64(p->plan.size, 16);
        const uint8_t *end;
        p->launches =
            take(k->host, wcodec_gpu_launches_max(&k->limits, &p->plan), sizeof *p->launches);
        if (p->launches == NULL)
            return k->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for launches");
        p->plan.block = block + p->at;
        p->plan.scratch = scratch + k->scratch;
        const wcodec_status status = wcodec_gpu_plan_build(&p->plan, &p->job, 1, at, place, err);
        if (status != WCODEC_OK)
            return status;
        p->launch_count = wcodec_gpu_plan_launches(&k->limits, &p->plan, at, block + p->at + after,
                                                   at + after, faults, p->launches, &end);
        faults += 4 * p->job.count;
    }
    note_order(k, block);
    return WCODEC_OK;
}

void wcodec_gpu_keep_free(struct wcodec_gpu_kept *k)
{
    const wcodec_allocator *a = k->host->allocator;
    for (unsigned i = 0; i < k->part_count && k->parts != NULL; i++) {
        if (k->parts[i].plan.host != NULL)
            wcodec_gpu_plan_free(&k->parts[i].plan);
        a->release(a->opaque, k->parts[i].launches);
    }
    a->release(a->opaque, k->parts);
    a->release(a->opaque, k->order);
    *k = (struct wcodec_gpu_kept){.host = k->host};
}

bool wcodec_gpu_kept_divides(const struct wcodec_gpu_kept *k, uint64_t begin, uint64_t end)
{
    if (begin == 0 && end == k->bytes)
        return true;
    return k->unit != 0 && begin % k->unit == 0 && (end % k->unit == 0 || end == k->bytes);
}

/* Do a kernel's tile jobs say themselves where elements go, less the tensor's place? */
static bool is_direct(const struct wcodec_gpu_kept_part *p, unsigned kernel)
{
    return is_plain(&p->job) || wcodec_kernel_rows[kernel].family == WCODEC_FAMILY_FRAGMENTS;
}

static int decode_part(const struct wcodec_gpu_kept *k, const struct wcodec_gpu_kept_part *p,
                       uint64_t out, const struct wcodec_gpu_kept_queue *queue)
{
    int result = 0;
    if (!is_plain(&p->job) && k->unit == 0)
        result = queue->set(
            queue->opaque,
            k->address + p->at + p->plan.view + offsetof(struct wcodec_view_job, out), out);
    for (unsigned i = 0; i < p->launch_count && result == 0; i++) {
        struct wcodec_gpu_launch launch = p->launches[i];
        if (is_direct(p, launch.kernel))
            launch.arguments.out = out;
        result = queue->launch(queue->opaque, &launch);
    }
    return result;
}

/* The first of jobs [at, end), in the order of their tiles, whose tile is not before this one. */
static uint32_t find_job(const uint32_t *order, uint32_t at, uint32_t end, uint64_t tile)
{
    while (at < end) {
        const uint32_t middle = at + (end - at) / 2;
        if (order[middle] < tile)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* What is wanted of a part: tiles [first, end), to be decoded to `out`. */
struct wanted {
    const struct wcodec_gpu_kept *k;
    uint64_t first, end, out;
    const struct wcodec_gpu_kept_queue *queue;
};

/* Those of jobs [at, at + count), which have the same tables. */
static int launch_some(const struct wanted *w, unsigned kernel, uint64_t tables, uint32_t at,
                       uint32_t count)
{
    const struct wcodec_gpu_kept *k = w->k;
    const uint32_t from = find_job(k->order, at, at + count, w->first),
                   to = find_job(k->order, from, at + count, w->end);
    const struct wcodec_segment segment = {tables, from, to - from};
    struct wcodec_gpu_launch launch;
    if (from == to)
        return 0;
    wcodec_gpu_plan_some(&k->limits, kernel, &segment, k->address, k->address + k->faults, &launch);
    launch.arguments.out = w->out;
    return w->queue->launch(w->queue->opaque, &launch);
}

/* Of the only part: segments are in the order of the kernels, of which the generic one has none. */
static int decode_some(const struct wanted *w)
{
    const struct wcodec_gpu_plan *plan = &w->k->parts[0].plan;
    const struct wcodec_segment *s = plan->segments, *last = s + plan->segment_count;
    const struct wcodec_kernel_run *generic = &plan->runs[WCODEC_KERNEL_GENERIC];
    int result = launch_some(w, WCODEC_KERNEL_GENERIC, 0, generic->first, generic->count);
    for (unsigned kernel = 0; kernel < WCODEC_KERNELS; kernel++) {
        const struct wcodec_kernel_run *run = &plan->runs[kernel];
        if (kernel == WCODEC_KERNEL_GENERIC)
            continue;
        for (; s < last && s->first < run->first + run->count && result == 0; s++)
            result = launch_some(w, kernel, s->tables, s->first, s->count);
    }
    return result;
}

int wcodec_gpu_kept_decode(const struct wcodec_gpu_kept *k, uint64_t begin, uint64_t end,
                           uint64_t out, const struct wcodec_gpu_kept_queue *queue)
{
    int result = 0;
    if (begin == 0 && end == k->bytes) {
        for (unsigned i = 0; i < k->part_count && result == 0; i++)
            result = decode_part(k, &k->parts[i], out, queue);
        return result;
    }
    const struct wanted w = {.k = k,
                             .first = begin / k->unit * k->unit_tiles,
                             .end = end == k->bytes ? k->tiles : end / k->unit * k->unit_tiles,
                             .out = out - begin,
                             .queue = queue};
    return decode_some(&w);
}
