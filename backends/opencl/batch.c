/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Batches. A kernel sees the buffers that it is given and no addresses: jobs go together into a set
 * as long as a kernel can have all their buffers, and descriptors name a buffer by its number in
 * the set. */
#include "backends/opencl/opencl.h"

#include <string.h>

/* Arguments of the kernels, in their order. */
enum { ARG_BLOCK, ARG_TOLD, ARG_LAUNCH, ARG_PLACES };

enum { SERIAL_MAX = (1 << 29) - 1 };

#define SHARES UINT32_MAX /* in place of a queue: backends/opencl/fast.cl */

struct launch {
    cl_kernel kernel; /* arguments belong to the kernel: an own one for each launch, so that batches
                         of several threads do not meet */
    size_t items;     /* of a work-group */
    size_t groups;
    struct wcodec_opencl_arguments arguments;
    cl_mem told; /* as it is set; NULL: it is not */
};

/* Consecutive jobs that share launches. */
struct set {
    size_t first, count;          /* jobs */
    struct wcodec_memory *places; /* the batch's own copies, numbered; jobs point to them */
    unsigned place_count;
    struct wcodec_gpu_plan plan;
    uint64_t block; /* offset of its descriptors */
    uint64_t parts; /* offset behind them of parts, and of their numbers */
    uint64_t parts_size;
    uint64_t parts_max, numbers_max;
    uint32_t slots;  /* number of its first tile's fault in the batch */
    uint64_t tables; /* offset behind them of what kernels for few tiles make tables from */
    uint64_t tables_size;
    uint8_t *host_parts;
    uint8_t *host_tables;
    unsigned tables_used;
    struct launch *launches;
    unsigned launch_count, launch_max;
};

struct wcodec_batch {
    struct wcodec_device *device;
    size_t count;
    struct wcodec_job *jobs;
    struct wcodec_memory *places;
    size_t set_count;
    struct set *sets;
    uint64_t tiles;
    struct wcodec_memory
        scratch;     /* for residuals; buffer NULL: none is needed, or it is not made yet */
    uint32_t faults; /* words of the block in front of them */
    uint32_t queue_count,
        queue_max; /* launches with a queue, which has two words behind the faults */
    struct wcodec_opencl_room room;
    cl_event ended; /* the last launch of the last decoding */
};

/* What stands for an address: the buffer's number, above the offset. */
static uint64_t place_address(const struct wcodec_memory *memory)
{
    return (uint64_t)memory->number << 48;
}

/* The set's copy of a memory; NULL if it has none. */
static struct wcodec_memory *find_place(const struct set *s, const struct wcodec_memory *memory)
{
    for (unsigned i = s->place_count; i > 0; i--)
        if (s->places[i - 1].buffer == memory->buffer)
            return &s->places[i - 1];
    return NULL;
}

static struct wcodec_memory *add_place(struct set *s, const struct wcodec_memory *memory)
{
    struct wcodec_memory *p = find_place(s, memory);
    if (p == NULL) {
        p = &s->places[s->place_count];
        *p = *memory;
        p->number = s->place_count++;
    }
    return p;
}

/* Add the job, if its buffers have room. */
static bool add_job(struct set *s, struct wcodec_job *job, const struct wcodec_memory *scratch,
                    unsigned places_max)
{
    const unsigned before = s->place_count;
    struct wcodec_memory *areas[WCODEC_AREAS], *last = NULL;
    struct wcodec_memory *out = add_place(s, job->memory);
    if (job->blocks != NULL || job->lossy != NULL)
        add_place(s, scratch);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        const struct wcodec_memory *m = job->places[a].memory;
        if (m != NULL)
            last = last != NULL && last->buffer == m->buffer ? last : add_place(s, m);
        areas[a] = m != NULL ? last : NULL;
    }
    if (s->place_count > places_max && s->count > 0) {
        s->place_count = before;
        return false;
    }
    job->memory = out;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job->places[a].memory = areas[a];
    s->count++;
    return true;
}

static void make_sets(struct wcodec_batch *b)
{
    struct set *s = NULL;
    for (size_t i = 0; i < b->count; i++) {
        if (s != NULL && add_job(s, &b->jobs[i], &b->scratch, b->device->places))
            continue;
        struct wcodec_memory *places = s != NULL ? s->places + s->place_count : b->places;
        s = &b->sets[b->set_count++];
        *s = (struct set){.first = i, .places = places};
        add_job(s, &b->jobs[i], &b->scratch, b->device->places);
    }
}

/* Work-groups that a launch is cut for. */
static uint32_t groups_of(const struct wcodec_device *d, const struct wcodec_opencl_program *p)
{
    return d->units * p->groups;
}

static enum wcodec_opencl_form form_of(const struct set *s)
{
    const unsigned n = s->place_count;
    return n <= WCODEC_OPENCL_PLACES_TWO     ? WCODEC_OPENCL_TWO
           : n <= WCODEC_OPENCL_PLACES_FEW   ? WCODEC_OPENCL_FEW
           : n <= WCODEC_OPENCL_PLACES_LEAST ? WCODEC_OPENCL_SOME
                                             : WCODEC_OPENCL_MANY;
}

/* Kernels that the set's tensors want and the device has. */
static uint64_t choose_kernels(struct wcodec_batch *b, const struct set *s)
{
    uint64_t fast = 0;
    for (size_t i = s->first; i < s->first + s->count; i++) {
        const unsigned kernel = wcodec_gpu_plan_kernel(b->jobs[i].tiles->tiling),
                       fused = wcodec_gpu_plan_fused(&b->jobs[i]);
        if (kernel != WCODEC_KERNEL_GENERIC &&
            wcodec_opencl_program_get(b->device, kernel, form_of(s)) != NULL)
            fast |= (uint64_t)1 << kernel;
        if (fused != WCODEC_KERNEL_GENERIC &&
            wcodec_opencl_program_get(b->device, fused, form_of(s)) != NULL)
            fast |= (uint64_t)1 << fused;
    }
    return fast;
}

/* Room for all launches that there can be. */
static void count_launches(struct wcodec_batch *b, struct set *s)
{
    const uint64_t pieces = s->plan.tiles / b->device->launch_tiles + 1;
    uint64_t segments = 0;
    s->launch_max = (unsigned)(s->plan.scratch_size > 0 ? 3 * pieces : pieces);
    for (size_t i = s->first; i < s->first + s->count; i++)
        segments += b->jobs[i].tiles->tiling->table_count;
    for (unsigned kernel = 0; kernel < WCODEC_KERNELS; kernel++) {
        if (!(s->plan.kernels >> kernel & 1))
            continue;
        const struct wcodec_opencl_program *p =
            wcodec_opencl_program_get(b->device, kernel, form_of(s));
        const uint64_t groups =
            groups_of(b->device, p) < s->plan.tiles ? groups_of(b->device, p) : s->plan.tiles;
        s->launch_max += (unsigned)pieces;
        s->parts_max += pieces * groups;
        s->numbers_max += pieces * (groups + 1);
        if (kernel < WCODEC_KERNEL_GENERIC && form_of(s) == WCODEC_OPENCL_TWO &&
            kernel / 2 % WCODEC_CODINGS == WCODEC_CODING_PAIRS)
            s->tables_size += WCODEC_FEW_TABLE;
    }
    s->parts_max += segments * pieces;
    b->queue_max += s->launch_max;
}

/* Scratch memory of `size` bytes takes the place that sets have kept for it; of no bytes, any
 * buffer does. */
static wcodec_status make_scratch(struct wcodec_batch *b, uint64_t size, wcodec_error *err)
{
    const struct wcodec_device *d = b->device;
    cl_int result = CL_SUCCESS;
    cl_mem buffer = NULL;
    if (size > SIZE_MAX)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for residuals");
    if (size > 0)
        buffer = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, (size_t)size, NULL, &result);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(
            d, result == CL_OUT_OF_RESOURCES ? CL_MEM_OBJECT_ALLOCATION_FAILURE : result,
            "clCreateBuffer", err);
    for (struct set *s = b->sets; s < b->sets + b->set_count; s++) {
        struct wcodec_memory *place = find_place(s, &b->scratch);
        if (place != NULL)
            place->buffer = buffer != NULL ? buffer : s->places[0].buffer;
    }
    b->scratch.buffer = buffer;
    return WCODEC_OK;
}

/* Sizes of all sets, and of their descriptors and faults together; each has its part of the scratch
 * memory. */
static wcodec_status measure(struct wcodec_batch *b, uint64_t *size, wcodec_error *err)
{
    uint64_t scratch = 0;
    *size = 0;
    for (struct set *s = b->sets; s < b->sets + b->set_count; s++) {
        const wcodec_status status = wcodec_gpu_plan_measure(
            b->device->host, b->jobs + s->first, s->count, choose_kernels(b, s), &s->plan, err);
        if (status)
            return status;
        count_launches(b, s);
        if (s->plan.scratch_size > 0)
            s->plan.scratch = place_address(find_place(s, &b->scratch)) + scratch;
        scratch += s->plan.scratch_size;
        s->block = *size;
        s->parts = wcodec_align_u64(s->block + s->plan.size + 16,
                                    16); /* run indices are read by two bytes */
        s->parts_size = s->parts_max * sizeof(struct wcodec_part) + 4 * s->numbers_max;
        s->slots = (uint32_t)b->tiles;
        s->tables = wcodec_align_u64(s->parts + s->parts_size, 256);
        *size = wcodec_align_u64(s->tables + s->tables_size, 256);
        b->tiles += s->plan.tiles;
        if (b->tiles >> 31)
            return b->device->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                                         "too many tiles in one batch");
    }
    const uint64_t words = b->tiles + 2 * (uint64_t)b->queue_max;
    if (*size / 4 + words >= SHARES)
        return b->device->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "too many tiles in one batch");
    b->faults = (uint32_t)(*size / 4);
    *size += 4 * words;
    return make_scratch(b, scratch, err);
}

static cl_int create_kernel(struct wcodec_batch *b, struct set *s, struct launch *l,
                            const struct wcodec_opencl_program *p,
                            const struct wcodec_opencl_arguments *a)
{
    const struct wcodec_opencl_driver *cl = b->device->cl;
    cl_int result;
    l->kernel = cl->clCreateKernel(p->program, "wcodec_kernel", &result);
    if (result != CL_SUCCESS)
        return result;
    l->items = p->items;
    l->arguments = *a; /* set with each decoding's number */
    result = cl->clSetKernelArg(l->kernel, ARG_BLOCK, sizeof(cl_mem), &b->room.block);
    for (unsigned i = 0; i < p->places; i++) /* the rest is never used, but must be something */
        result |= cl->clSetKernelArg(l->kernel, ARG_PLACES + i, sizeof(cl_mem),
                                     &s->places[i < s->place_count ? i : 0].buffer);
    return result == CL_SUCCESS ? CL_SUCCESS : CL_INVALID_KERNEL_ARGS;
}

/* Work-items at a time, with `tiles` to a group: no more rounds than all of them would need, and
 * all of them full. */
static uint32_t even(uint32_t tiles, uint32_t most)
{
    const uint32_t rounds = (tiles + most - 1) / most;
    return (tiles + rounds - 1) / rounds;
}

/* Let a kernel for few tiles take a run of tiles with one table, where there are so few that each
 * has a work-group at once, and none with more words than there is room for. */
static const struct wcodec_opencl_program *plan_few(struct set *s, const struct wcodec_batch *b,
                                                    unsigned kernel,
                                                    const struct wcodec_segment *segment,
                                                    struct wcodec_opencl_arguments *a)
{
    struct wcodec_device *d = b->device;
    const struct wcodec_kernel_run *run = &s->plan.runs[kernel];
    const struct wcodec_tile_job *jobs = (const void *)(s->plan.block + s->plan.jobs);
    const unsigned shape = kernel / 2 / WCODEC_CODINGS, coding = kernel / 2 % WCODEC_CODINGS;
    const bool pairs = coding == WCODEC_CODING_PAIRS;
    if (kernel >= WCODEC_KERNEL_GENERIC || (!pairs && coding != WCODEC_CODING_P8) ||
        form_of(s) != WCODEC_OPENCL_TWO ||
        segment->first + segment->count < run->first + run->count || run->count > d->launch_tiles ||
        run->count > WCODEC_OPENCL_FEW_GROUPS * d->units)
        return NULL;
    for (uint32_t i = 0; i < run->count; i++)
        if (WCODEC_OPENCL_FEW_NEEDED(
                pairs ? 4096u : 256u, (uint64_t)jobs[run->first + i].word_count,
                jobs[run->first + i].elements * wcodec_few_bytes[shape]) > WCODEC_OPENCL_FEW_ROOM)
            return NULL;
    const struct wcodec_opencl_program *p =
        wcodec_opencl_program_get(d, kernel, WCODEC_OPENCL_FEW_TILES);
    const uint32_t at = s->tables_used * WCODEC_FEW_TABLE;
    if (p == NULL)
        return NULL;
    if (pairs &&
        !wcodec_few_write_table((const void *)(s->plan.block + (segment->tables - s->block)),
                                s->host_tables + at))
        return NULL;
    s->tables_used += pairs ? 1 : 0;
    *a = (struct wcodec_opencl_arguments){.jobs = s->block + s->plan.jobs,
                                          .faults = b->faults + s->slots,
                                          .parts = s->tables + at,
                                          .numbers = segment->tables,
                                          .first = run->first,
                                          .active = d->units};
    return p;
}

/* The launches of one kernel: each of a bounded number of tiles. */
static cl_int plan_kernel(struct wcodec_batch *b, struct set *s, unsigned kernel,
                          const struct wcodec_segment *segments, uint32_t *part_count,
                          uint32_t *number_count)
{
    const struct wcodec_device *d = b->device;
    const struct wcodec_kernel_run *run = &s->plan.runs[kernel];
    struct wcodec_opencl_arguments few;
    const struct wcodec_opencl_program *p = plan_few(s, b, kernel, segments, &few);
    if (p != NULL) {
        s->launches[s->launch_count].groups = run->count;
        return create_kernel(b, s, &s->launches[s->launch_count++], p, &few);
    }
    p = wcodec_opencl_program_get(b->device, kernel, form_of(s));
    struct wcodec_part *parts = (void *)s->host_parts;
    uint32_t *numbers = (void *)(s->host_parts + s->parts_max * sizeof *parts);
    cl_int result = p != NULL ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
    for (uint32_t done = 0; done < run->count && result == CL_SUCCESS;) {
        const uint32_t left = run->count - done,
                       count = left < d->launch_tiles ? left : d->launch_tiles,
                       first = run->first + done;
        struct launch *l = &s->launches[s->launch_count++];
        struct wcodec_opencl_arguments a = {.jobs = s->block + s->plan.jobs,
                                            .faults = b->faults + s->slots};
        if (kernel == WCODEC_KERNEL_GENERIC) {
            a.parts = s->block;
            a.first = first;
            a.active = first + count;
            l->groups = (count + p->tiles - 1) / p->tiles;
        } else {
            while (segments->first + segments->count <= first)
                segments++;
            a.parts = s->parts + *part_count * sizeof *parts;
            const bool one = segments->first + segments->count >= first + count; /* table for all */
            if (one) {
                a.parts = count;
                a.numbers = segments->tables;
                a.first = first;
            }
            if (one && d->variant == WCODEC_VARIANT_NVIDIA && count > groups_of(d, p) * p->tiles) {
                a.queue = b->faults + (uint32_t)b->tiles + 2 * b->queue_count++;
                l->groups = groups_of(d, p);
            } else {
                uint32_t tiles, *own = numbers + *number_count;
                const uint32_t groups = wcodec_gpu_plan_cut(segments, first, count, groups_of(d, p),
                                                            parts + *part_count, own, &tiles);
                a.active = even(tiles, p->tiles);
                l->groups = groups;
                if (one)
                    a.queue = SHARES;
                else
                    *part_count += own[groups];
                if (!one && own[groups] > groups) {
                    a.numbers =
                        s->parts + s->parts_max * sizeof *parts + 4 * (uint64_t)*number_count;
                    *number_count += groups + 1;
                }
            }
        }
        result = create_kernel(b, s, l, p, &a);
        done += count;
    }
    return result;
}

/* The launches of kernel `kernel`, which makes elements of residuals or coefficients: of `all`
 * tiles at `jobs` of the block. */
static wcodec_status plan_blocks(struct wcodec_batch *b, struct set *s, unsigned kernel,
                                 uint64_t jobs, uint32_t all, wcodec_error *err)
{
    const struct wcodec_device *d = b->device;
    const struct wcodec_opencl_program *p =
        wcodec_opencl_program_get(b->device, kernel, form_of(s));
    if (p == NULL)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "the kernel of blocks does not compile");
    cl_int result = CL_SUCCESS;
    for (uint32_t first = 0, count; first < all && result == CL_SUCCESS; first += count) {
        struct launch *l = &s->launches[s->launch_count++];
        count = all - first < d->launch_tiles ? all - first : d->launch_tiles;
        l->groups = d->variant == WCODEC_VARIANT_LOOPS ? (count + p->items - 1) / p->items : count;
        result = create_kernel(b, s, l, p,
                               &(struct wcodec_opencl_arguments){
                                   .jobs = jobs, .first = first, .active = first + count});
    }
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(d, result, "clCreateKernel", err);
}

/* Descriptors of a set, given to the queue; they stay in host memory until the batch ends. */
static wcodec_status build_set(struct wcodec_queue *q, struct wcodec_batch *b, struct set *s,
                               wcodec_error *err)
{
    const struct wcodec_device *d = b->device;
    const struct wcodec_segment *segments;
    uint32_t part_count = 0, number_count = 0;
    cl_int result = CL_SUCCESS;
    wcodec_status status =
        wcodec_gpu_plan_build(&s->plan, b->jobs + s->first, s->count, s->block, place_address, err);
    if (status)
        return status;
    s->launches = wcodec_opencl_allocate(d->host, s->launch_max * sizeof *s->launches);
    s->host_parts = wcodec_opencl_allocate(d->host, (size_t)s->parts_size + 1);
    s->host_tables = wcodec_opencl_allocate(d->host, (size_t)s->tables_size + 1);
    if (s->launches == NULL || s->host_parts == NULL || s->host_tables == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the parts of a batch");
    segments = s->plan.segments;
    for (unsigned k = 0; k < WCODEC_KERNELS && result == CL_SUCCESS; k++) {
        const struct wcodec_kernel_run *run = &s->plan.runs[k];
        if (run->count == 0)
            continue;
        result = plan_kernel(b, s, k, segments, &part_count, &number_count);
        while (k != WCODEC_KERNEL_GENERIC && segments < s->plan.segments + s->plan.segment_count &&
               segments->first < run->first + run->count)
            segments++;
    }
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clCreateKernel", err);
    uint64_t jobs = s->block + s->plan.blocks;
    for (unsigned i = 0; i < 2 && status == WCODEC_OK; i++) {
        if (s->plan.blocks_count[i] > 0)
            status =
                plan_blocks(b, s, WCODEC_KERNEL_BLOCKS + i, jobs, s->plan.blocks_count[i], err);
        jobs += s->plan.blocks_room[i] * sizeof(struct wcodec_blocks_job);
    }
    if (status)
        return status;
    result = d->cl->clEnqueueWriteBuffer(q->queue, b->room.block, CL_FALSE, (size_t)s->block,
                                         (size_t)s->plan.size, s->plan.block, 0, NULL, NULL);
    if (result == CL_SUCCESS && part_count > 0)
        result = d->cl->clEnqueueWriteBuffer(q->queue, b->room.block, CL_FALSE, (size_t)s->parts,
                                             (size_t)s->parts_size, s->host_parts, 0, NULL, NULL);
    if (result == CL_SUCCESS && s->tables_used > 0)
        result = d->cl->clEnqueueWriteBuffer(q->queue, b->room.block, CL_FALSE, (size_t)s->tables,
                                             (size_t)s->tables_used * WCODEC_FEW_TABLE,
                                             s->host_tables, 0, NULL, NULL);
    return result == CL_SUCCESS ? WCODEC_OK
                                : wcodec_opencl_fail(d, result, "clEnqueueWriteBuffer", err);
}

static wcodec_status build(struct wcodec_queue *q, struct wcodec_batch *b, wcodec_error *err)
{
    static const uint32_t zero = 0;
    const struct wcodec_device *d = b->device;
    uint64_t size;
    wcodec_status status = measure(b, &size, err);
    if (status == WCODEC_OK)
        status = wcodec_opencl_room_take(b->device, size, &b->room, err);
    if (status)
        return status;
    cl_int result = d->cl->clEnqueueFillBuffer(
        q->queue, b->room.block, &zero, sizeof zero, 4 * (size_t)b->faults,
        4 * ((size_t)b->tiles + 2 * (size_t)b->queue_max), 0, NULL, NULL);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clEnqueueFillBuffer", err);
    for (size_t k = 0; k < b->set_count && status == WCODEC_OK; k++)
        status = build_set(q, b, &b->sets[k], err);
    if (status != WCODEC_OK)
        d->cl->clFinish(q->queue); /* what was written from is freed now */
    else if ((result = d->cl->clFlush(q->queue)) != CL_SUCCESS)
        status = wcodec_opencl_fail(d, result, "clFlush", err);
    return status;
}

static void forget_event(struct wcodec_batch *b)
{
    if (b->ended != NULL)
        b->device->cl->clReleaseEvent(b->ended);
    b->ended = NULL;
}

void wcodec_opencl_batch_destroy(struct wcodec_batch *b)
{
    const struct wcodec_device *d = b->device;
    forget_event(b);
    for (struct set *s = b->sets; s < b->sets + b->set_count; s++) {
        for (unsigned i = 0; i < s->launch_count; i++)
            if (s->launches[i].kernel != NULL)
                d->cl->clReleaseKernel(s->launches[i].kernel);
        wcodec_opencl_release(d->host, s->launches);
        wcodec_opencl_release(d->host, s->host_parts);
        wcodec_opencl_release(d->host, s->host_tables);
        if (s->plan.host != NULL)
            wcodec_gpu_plan_free(&s->plan);
    }
    wcodec_opencl_room_give(b->device, &b->room);
    if (b->scratch.buffer != NULL)
        d->cl->clReleaseMemObject(b->scratch.buffer);
    wcodec_opencl_release(d->host, b->sets);
    wcodec_opencl_release(d->host, b->places);
    wcodec_opencl_release(d->host, b->jobs);
    wcodec_opencl_release(d->host, b);
}

wcodec_status wcodec_opencl_batch_create(struct wcodec_queue *q, const struct wcodec_job *jobs,
                                         size_t count, struct wcodec_batch **batch,
                                         wcodec_error *err)
{
    enum { PLACES = WCODEC_AREAS + 2 };
    const struct wcodec_host *host = q->device->host;
    const bool fits = count <= SIZE_MAX / (PLACES * sizeof(struct wcodec_memory)) / 2 &&
                      count <= SIZE_MAX / sizeof(struct set);
    struct wcodec_batch *b = fits ? wcodec_opencl_allocate(host, sizeof *b) : NULL;
    wcodec_status status;
    if (b != NULL) {
        *b = (struct wcodec_batch){.device = q->device, .count = count};
        b->jobs = wcodec_opencl_allocate(host, count * sizeof *b->jobs);
        b->places = wcodec_opencl_allocate(host, (count + 1) * PLACES * sizeof *b->places);
        b->sets = wcodec_opencl_allocate(host, count * sizeof *b->sets);
    }
    if (b != NULL && b->jobs != NULL && b->places != NULL && b->sets != NULL) {
        memcpy(b->jobs, jobs, count * sizeof *jobs);
        make_sets(b);
        status = build(q, b, err);
    } else {
        status = host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a batch of %zu jobs", count);
    }
    if (status == WCODEC_OK)
        *batch = b;
    else if (b != NULL)
        wcodec_opencl_batch_destroy(b);
    return status;
}

/* What a driver counts wrongly it counts for the whole process. */
static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;

/* *call: the driver's function that failed, if one did. */
static cl_int enqueue(const struct wcodec_queue *q, const struct launch *l, cl_event *event,
                      const char **call)
{
    const struct wcodec_device *d = q->device;
    const size_t all = l->groups * l->items;
    *call = "clEnqueueNDRangeKernel";
    if (!d->alone)
        return d->cl->clEnqueueNDRangeKernel(q->queue, l->kernel, 1, NULL, &all, &l->items, 0, NULL,
                                             event);
    pthread_mutex_lock(&one_launch);
    cl_int result = d->cl->clEnqueueNDRangeKernel(q->queue, l->kernel, 1, NULL, &all, &l->items, 0,
                                                  NULL, event);
    if (result == CL_SUCCESS) {
        *call = "clFinish";
        result = d->cl->clFinish(q->queue);
    }
    pthread_mutex_unlock(&one_launch);
    return result;
}

static cl_int set_arguments(struct wcodec_batch *b, struct launch *l)
{
    const struct wcodec_opencl_driver *cl = b->device->cl;
    cl_mem told = b->room.told[b->room.turn];
    l->arguments.serial = b->room.serial;
    cl_int result = cl->clSetKernelArg(l->kernel, ARG_LAUNCH, sizeof l->arguments, &l->arguments);
    if (result == CL_SUCCESS && l->told != told)
        result = cl->clSetKernelArg(l->kernel, ARG_TOLD, sizeof told, &told);
    l->told = result == CL_SUCCESS ? told : NULL;
    return result;
}

wcodec_status wcodec_opencl_batch_decode(struct wcodec_queue *q, struct wcodec_batch *b,
                                         wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    cl_int result = CL_SUCCESS;
    const char *call = NULL;
    b->room.serial = b->room.serial % SERIAL_MAX + 1;
    b->room.asked = false;
    forget_event(b);
    for (struct set *s = b->sets; s < b->sets + b->set_count; s++)
        for (unsigned i = 0; i < s->launch_count && result == CL_SUCCESS; i++) {
            struct launch *l = &s->launches[i];
            /* NVIDIA's driver fails clFinish in its place, and takes longer for an event than for a
             * launch. */
            const bool asked = d->variant != WCODEC_VARIANT_NVIDIA &&
                               s + 1 == b->sets + b->set_count && i + 1 == s->launch_count;
            call = "clSetKernelArg";
            result = set_arguments(b, l);
            if (result == CL_SUCCESS)
                result = enqueue(q, l, asked ? &b->ended : NULL, &call);
        }
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(d, result, call, err);
}

/* The decoding has ended: well, or not. */
static wcodec_status check_event(const struct wcodec_batch *b, wcodec_error *err)
{
    const struct wcodec_device *d = b->device;
    cl_int state = CL_COMPLETE, result = CL_SUCCESS;
    if (b->ended != NULL)
        result = d->cl->clGetEventInfo(b->ended, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                       &state, NULL);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clGetEventInfo", err);
    return state < 0 ? wcodec_opencl_fail(d, state, "the decoding", err) : WCODEC_OK;
}

/* Faults of this decoding; what others told before it is none. */
static wcodec_status read_faults(struct wcodec_queue *q, const struct wcodec_batch *b,
                                 uint32_t **faults, wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const size_t size = (size_t)b->tiles * sizeof **faults;
    uint32_t *f = wcodec_opencl_allocate(d->host, size);
    if (f == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the results of %llu tiles",
                             (unsigned long long)b->tiles);
    const cl_int result = d->cl->clEnqueueReadBuffer(q->queue, b->room.block, CL_TRUE,
                                                     4 * (size_t)b->faults, size, f, 0, NULL, NULL);
    if (result != CL_SUCCESS) {
        wcodec_opencl_release(d->host, f);
        return wcodec_opencl_fail(d, result, "clEnqueueReadBuffer", err);
    }
    for (uint64_t i = 0; i < b->tiles; i++)
        f[i] = f[i] >> 3 == b->room.serial ? f[i] & 7 : WCODEC_TILE_OK;
    *faults = f;
    return WCODEC_OK;
}

static cl_int clear_failed(struct wcodec_queue *q, const struct wcodec_batch *b,
                           const uint32_t *fault, struct wcodec_job_result *results)
{
    static const uint8_t zero = 0;
    const struct wcodec_opencl_driver *cl = q->device->cl;
    cl_int result = CL_SUCCESS;
    for (size_t i = 0; i < b->count && result == CL_SUCCESS; i++) {
        const struct wcodec_job *job = &b->jobs[i];
        results[i] = wcodec_gpu_plan_result(job, fault);
        fault += job->count;
        if (results[i].fault != WCODEC_TILE_OK)
            result = cl->clEnqueueFillBuffer(q->queue, job->memory->buffer, &zero, 1,
                                             (size_t)job->destination,
                                             (size_t)wcodec_job_bytes(job), 0, NULL, NULL);
    }
    return result == CL_SUCCESS ? cl->clFinish(q->queue) : result;
}

wcodec_status wcodec_opencl_batch_results(struct wcodec_queue *q, struct wcodec_batch *b,
                                          struct wcodec_job_result *results, wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    uint32_t *faults = NULL;
    cl_int result = d->cl->clFlush(q->queue); /* it begins while the reading is asked for */
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clFlush", err);
    wcodec_status status = wcodec_opencl_room_ask(q, &b->room, err);
    if (status)
        return status;
    if ((result = d->cl->clFinish(q->queue)) != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clFinish", err);
    status = check_event(b, err);
    if (status)
        return status;
    if (*b->room.word != b->room.serial) {
        for (size_t i = 0; i < b->count; i++)
            results[i] = (struct wcodec_job_result){0, WCODEC_TILE_OK};
        return WCODEC_OK;
    }
    status = read_faults(q, b, &faults, err);
    if (status)
        return status;
    result = clear_failed(q, b, faults, results);
    wcodec_opencl_release(d->host, faults);
    return result == CL_SUCCESS ? WCODEC_OK
                                : wcodec_opencl_fail(d, result, "clEnqueueFillBuffer", err);
}
