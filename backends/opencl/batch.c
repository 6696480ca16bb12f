/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Batches. A kernel sees the buffers that it is given and no addresses, so jobs are sorted by the buffers that they need; each such set has descriptors with offsets in place of addresses, and a launch of its own. */
#include "backends/opencl/opencl.h"

#include <string.h>

/* Arguments of the kernels, in their order. */
enum { ARG_BLOCK, ARG_AREAS, ARG_OUT = ARG_AREAS + WCODEC_AREAS, ARG_FAULTS, ARG_JOBS, ARG_TABLES, ARG_SLOTS, ARG_FIRST, ARG_END };

struct launch {
    cl_kernel kernel; /* arguments belong to the kernel: an own one for each launch, so that batches of several threads do not meet */
    uint32_t first;   /* generic: tile job; fast: part */
    uint32_t count;
    uint32_t group;   /* of these to a work-group */
    bool fast;
};

struct set {
    struct wcodec_memory *areas[WCODEC_AREAS]; /* NULL: no job needs it */
    struct wcodec_memory *out;
    size_t first, count; /* jobs */
    struct wcodec_plan plan;
    uint64_t block; /* offset of its descriptors */
    uint32_t slots; /* number of its first tile's fault */
    struct wcodec_part *parts; /* tiles that a work-group decodes with the same tables */
    uint32_t part_count;
    uint32_t launch_count;
    struct launch *launches;
};

struct wcodec_batch {
    struct wcodec_device *device;
    size_t count;
    struct wcodec_job *jobs; /* by set */
    size_t *number;          /* of each of them for the caller */
    size_t set_count;
    struct set *sets;
    uint64_t tiles;
    cl_mem block;
    cl_mem faults;
    uint32_t *host_faults; /* one a tile, by set */
};

/* Within the buffer that is bound. */
static uint64_t no_address(const struct wcodec_memory *memory)
{
    (void)memory;
    return 0;
}

/* A set that has the buffers of the job, or can take those that it has not yet. */
static struct set *find_set(struct wcodec_batch *b, const struct wcodec_job *job)
{
    struct set *s = b->sets;
    for (; s < b->sets + b->set_count; s++) {
        bool same = s->out->buffer == job->memory->buffer;
        for (unsigned a = 0; a < WCODEC_AREAS && same; a++)
            same = s->areas[a] == NULL || job->places[a].memory == NULL || s->areas[a]->buffer == job->places[a].memory->buffer;
        if (same)
            break;
    }
    if (s == b->sets + b->set_count) {
        b->set_count++;
        s->out = job->memory;
    }
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        if (s->areas[a] == NULL)
            s->areas[a] = job->places[a].memory;
    return s;
}

/* Copy the jobs, by set and within a set in their order. */
static void sort_jobs(struct wcodec_batch *b, const struct wcodec_job *jobs)
{
    size_t *set_of = b->number + b->count, at = 0;
    for (size_t i = 0; i < b->count; i++) {
        struct set *s = find_set(b, &jobs[i]);
        set_of[i] = (size_t)(s - b->sets);
        s->count++;
    }
    for (size_t k = 0; k < b->set_count; k++) {
        b->sets[k].first = at;
        at += b->sets[k].count;
        b->sets[k].count = 0;
    }
    for (size_t i = 0; i < b->count; i++) {
        struct set *s = &b->sets[set_of[i]];
        at = s->first + s->count++;
        b->jobs[at] = jobs[i];
        b->number[at] = i;
    }
}

/* Tiles of a part: many, since each part loads its tables, but enough parts to keep the device busy. */
static uint32_t part_tiles(const struct wcodec_device *d, uint64_t tiles)
{
    const uint64_t even = tiles / ((uint64_t)d->units * 16) / d->tiles;
    return d->tiles * (uint32_t)(even < 1 ? 1 : even > 8 ? 8 : even);
}

/* Room for the parts of a set. */
static uint64_t parts_max(const struct wcodec_batch *b, const struct set *s)
{
    uint64_t tables = 0;
    for (size_t i = s->first; i < s->first + s->count; i++)
        tables += b->jobs[i].tiles->tiling->table_count;
    return s->plan.tiles / part_tiles(b->device, s->plan.tiles) + tables;
}

/* Sizes of all sets, and of their descriptors together. */
static wcodec_status measure(struct wcodec_batch *b, uint64_t *size, wcodec_error *err)
{
    *size = 0;
    for (struct set *s = b->sets; s < b->sets + b->set_count; s++) {
        const wcodec_status status = wcodec_plan_measure(b->device->host, b->jobs + s->first, s->count, &s->plan, err);
        if (status)
            return status;
        s->block = *size;
        s->slots = (uint32_t)b->tiles;
        *size = wcodec_align_u64(*size + wcodec_align_u64(s->plan.size, 16) + parts_max(b, s) * sizeof(struct wcodec_part), 256);
        b->tiles += s->plan.tiles;
        if (b->tiles >> 31)
            return b->device->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "too many tiles in one batch");
    }
    return WCODEC_OK;
}

static cl_int create_kernel(struct wcodec_batch *b, struct set *s, struct launch *l, unsigned number)
{
    const struct wcodec_opencl_driver *cl = b->device->cl;
    const cl_ulong jobs = s->block + s->plan.jobs, tables = s->block + (number == WCODEC_KERNEL_GENERIC ? 0 : wcodec_align_u64(s->plan.size, 16));
    cl_int result;
    l->kernel = cl->clCreateKernel(b->device->program, wcodec_opencl_kernel_name(number), &result);
    if (result != CL_SUCCESS)
        return result;
    result = cl->clSetKernelArg(l->kernel, ARG_BLOCK, sizeof(cl_mem), &b->block);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        result |= cl->clSetKernelArg(l->kernel, ARG_AREAS + a, sizeof(cl_mem), s->areas[a] != NULL ? &s->areas[a]->buffer : &b->block);
    result |= cl->clSetKernelArg(l->kernel, ARG_OUT, sizeof(cl_mem), &s->out->buffer);
    result |= cl->clSetKernelArg(l->kernel, ARG_FAULTS, sizeof(cl_mem), &b->faults);
    result |= cl->clSetKernelArg(l->kernel, ARG_JOBS, sizeof jobs, &jobs);
    result |= cl->clSetKernelArg(l->kernel, ARG_TABLES, sizeof tables, &tables);
    result |= cl->clSetKernelArg(l->kernel, ARG_SLOTS, sizeof s->slots, &s->slots);
    return result == CL_SUCCESS ? CL_SUCCESS : CL_INVALID_KERNEL_ARGS;
}

/* Cut the segments of one kernel into parts. */
static void cut_parts(struct set *s, const struct wcodec_segment **segment, const struct wcodec_kernel_run *run, uint32_t tiles)
{
    const struct wcodec_segment *end = s->plan.segments + s->plan.segment_count;
    for (; *segment < end && (*segment)->first < run->first + run->count; ++*segment)
        for (uint32_t done = 0; done < (*segment)->count; done += tiles) {
            const uint32_t left = (*segment)->count - done;
            s->parts[s->part_count++] = (struct wcodec_part){(*segment)->tables, (*segment)->first + done, left < tiles ? left : tiles};
        }
}

static cl_int plan_launches(struct wcodec_batch *b, struct set *s)
{
    const struct wcodec_segment *segment = s->plan.segments;
    const uint32_t tiles = part_tiles(b->device, s->plan.tiles);
    cl_int result = CL_SUCCESS;
    for (unsigned k = 0; k < WCODEC_KERNELS && result == CL_SUCCESS; k++) {
        const struct wcodec_kernel_run *run = &s->plan.runs[k];
        struct launch *l = &s->launches[s->launch_count];
        if (run->count == 0)
            continue;
        if (k == WCODEC_KERNEL_GENERIC) {
            *l = (struct launch){NULL, run->first, run->count, b->device->tiles, false};
        } else {
            const uint32_t first = s->part_count;
            cut_parts(s, &segment, run, tiles);
            *l = (struct launch){NULL, first, s->part_count - first, 1, true};
        }
        s->launch_count++;
        result = create_kernel(b, s, l, k);
    }
    return result;
}

/* Descriptors of a set, given to the queue; they stay in host memory until the batch ends. */
static wcodec_status build_set(struct wcodec_queue *q, struct wcodec_batch *b, struct set *s, wcodec_error *err)
{
    const struct wcodec_device *d = b->device;
    unsigned runs = 0;
    cl_int result;
    wcodec_status status = wcodec_plan_build(&s->plan, b->jobs + s->first, s->count, s->block, d->fast, no_address, err);
    if (status)
        return status;
    for (unsigned k = 0; k < WCODEC_KERNELS; k++)
        runs += s->plan.runs[k].count > 0;
    s->launches = wcodec_opencl_allocate(d->host, runs * sizeof *s->launches);
    s->parts = wcodec_opencl_allocate(d->host, (size_t)parts_max(b, s) * sizeof *s->parts + 1);
    if (s->launches == NULL || s->parts == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the parts of a batch");
    result = plan_launches(b, s);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clCreateKernel", err);
    result = d->cl->clEnqueueWriteBuffer(q->queue, b->block, CL_FALSE, (size_t)s->block, (size_t)s->plan.size, s->plan.block, 0, NULL, NULL);
    if (result == CL_SUCCESS && s->part_count > 0)
        result = d->cl->clEnqueueWriteBuffer(q->queue, b->block, CL_FALSE, (size_t)(s->block + wcodec_align_u64(s->plan.size, 16)), s->part_count * sizeof *s->parts, s->parts, 0, NULL, NULL);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(d, result, "clEnqueueWriteBuffer", err);
}

static wcodec_status build(struct wcodec_queue *q, struct wcodec_batch *b, wcodec_error *err)
{
    const struct wcodec_device *d = b->device;
    uint64_t size;
    cl_int result;
    wcodec_status status = measure(b, &size, err);
    if (status)
        return status;
    b->host_faults = wcodec_opencl_allocate(d->host, (size_t)b->tiles * sizeof *b->host_faults);
    if (b->host_faults == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the results of %llu tiles", (unsigned long long)b->tiles);
    b->block = d->cl->clCreateBuffer(d->context, CL_MEM_READ_ONLY, (size_t)size, NULL, &result);
    if (result == CL_SUCCESS)
        b->faults = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, (size_t)b->tiles * sizeof *b->host_faults, NULL, &result);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result == CL_OUT_OF_RESOURCES ? CL_MEM_OBJECT_ALLOCATION_FAILURE : result, "clCreateBuffer", err);
    for (size_t k = 0; k < b->set_count && status == WCODEC_OK; k++)
        status = build_set(q, b, &b->sets[k], err);
    if (status != WCODEC_OK)
        d->cl->clFinish(q->queue); /* what was written from is freed now */
    else if ((result = d->cl->clFlush(q->queue)) != CL_SUCCESS)
        status = wcodec_opencl_fail(d, result, "clFlush", err);
    return status;
}

void wcodec_opencl_batch_destroy(struct wcodec_batch *b)
{
    const struct wcodec_device *d = b->device;
    for (struct set *s = b->sets; s < b->sets + b->set_count; s++) {
        for (uint32_t i = 0; i < s->launch_count; i++)
            if (s->launches[i].kernel != NULL)
                d->cl->clReleaseKernel(s->launches[i].kernel);
        wcodec_opencl_release(d->host, s->launches);
        wcodec_opencl_release(d->host, s->parts);
        if (s->plan.host != NULL)
            wcodec_plan_free(&s->plan);
    }
    if (b->faults != NULL)
        d->cl->clReleaseMemObject(b->faults);
    if (b->block != NULL)
        d->cl->clReleaseMemObject(b->block);
    wcodec_opencl_release(d->host, b->host_faults);
    wcodec_opencl_release(d->host, b->sets);
    wcodec_opencl_release(d->host, b->number);
    wcodec_opencl_release(d->host, b->jobs);
    wcodec_opencl_release(d->host, b);
}

wcodec_status wcodec_opencl_batch_create(struct wcodec_queue *q, const struct wcodec_job *jobs, size_t count, struct wcodec_batch **batch, wcodec_error *err)
{
    const struct wcodec_host *host = q->device->host;
    struct wcodec_batch *b = count <= SIZE_MAX / sizeof(struct set) ? wcodec_opencl_allocate(host, sizeof *b) : NULL;
    if (b == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a batch of %zu jobs", count);
    *b = (struct wcodec_batch){.device = q->device, .count = count};
    b->jobs = wcodec_opencl_allocate(host, count * sizeof *b->jobs);
    b->number = wcodec_opencl_allocate(host, 2 * count * sizeof *b->number);
    b->sets = wcodec_opencl_allocate(host, count * sizeof *b->sets);
    wcodec_status status;
    if (b->jobs != NULL && b->number != NULL && b->sets != NULL) {
        sort_jobs(b, jobs);
        status = build(q, b, err);
    } else {
        status = host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a batch of %zu jobs", count);
    }
    if (status)
        wcodec_opencl_batch_destroy(b);
    else
        *batch = b;
    return status;
}

static cl_int launch(const struct wcodec_queue *q, const struct launch *l)
{
    const struct wcodec_device *d = q->device;
    const uint32_t piece = d->piece * (l->fast ? 8 : l->group);
    const size_t items = d->items;
    cl_int result = CL_SUCCESS;
    for (uint32_t done = 0; done < l->count && result == CL_SUCCESS;) {
        const uint32_t left = l->count - done, count = left < piece ? left : piece, first = l->first + done, end = first + count;
        const size_t all = (size_t)((count + l->group - 1) / l->group) * items;
        result = d->cl->clSetKernelArg(l->kernel, ARG_FIRST, sizeof first, &first);
        if (result == CL_SUCCESS)
            result = d->cl->clSetKernelArg(l->kernel, ARG_END, sizeof end, &end);
        if (result == CL_SUCCESS)
            result = d->cl->clEnqueueNDRangeKernel(q->queue, l->kernel, 1, NULL, &all, &items, 0, NULL, NULL);
        done += count;
    }
    return result;
}

wcodec_status wcodec_opencl_batch_decode(struct wcodec_queue *q, struct wcodec_batch *b, wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    cl_int result = CL_SUCCESS;
    for (size_t k = 0; k < b->set_count && result == CL_SUCCESS; k++)
        for (uint32_t i = 0; i < b->sets[k].launch_count && result == CL_SUCCESS; i++)
            result = launch(q, &b->sets[k].launches[i]);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clEnqueueNDRangeKernel", err);
    result = d->cl->clEnqueueReadBuffer(q->queue, b->faults, CL_FALSE, 0, (size_t)b->tiles * sizeof *b->host_faults, b->host_faults, 0, NULL, NULL);
    if (result == CL_SUCCESS)
        result = d->cl->clFlush(q->queue);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(d, result, "clEnqueueReadBuffer", err);
}

wcodec_status wcodec_opencl_batch_results(struct wcodec_queue *q, struct wcodec_batch *b, struct wcodec_job_result *results, wcodec_error *err)
{
    static const uint8_t zero = 0;
    const struct wcodec_device *d = q->device;
    const uint32_t *fault = b->host_faults;
    bool cleared = false;
    cl_int result = d->cl->clFinish(q->queue);
    for (size_t i = 0; i < b->count && result == CL_SUCCESS; i++) {
        const struct wcodec_job *job = &b->jobs[i];
        const struct wcodec_job_result r = wcodec_plan_result(job, fault);
        results[b->number[i]] = r;
        fault += job->count;
        if (r.fault == WCODEC_TILE_OK)
            continue;
        result = d->cl->clEnqueueFillBuffer(q->queue, job->memory->buffer, &zero, 1, (size_t)job->destination, (size_t)wcodec_plan_bytes(job), 0, NULL, NULL);
        cleared = true;
    }
    if (cleared && result == CL_SUCCESS)
        result = d->cl->clFinish(q->queue);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(d, result, "clFinish", err);
}
