/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Batches. A kernel sees the buffers that it is given and no addresses: jobs go together into a set
 * as long as a kernel can have all their buffers, and descriptors name a buffer by its number in
 * the set. */
#include "backends/opencl/opencl.h"

#include <string.h>

enum { SERIAL_MAX = (1 << 29) - 1 };

struct launch {
    cl_kernel kernel; /* arguments belong to the kernel: an own one for each launch, so that batches
                         of several threads do not meet */
    struct wcodec_gpu_launch plan;
    cl_mem flag; /* as it is set; NULL: it is not */
};

/* Consecutive jobs that share launches. */
struct set {
    size_t first, count;            /* jobs */
    struct wcodec_memory *memories; /* the batch's own copies, numbered; jobs point to them */
    unsigned memory_count;
    struct wcodec_gpu_plan plan;
    uint64_t block; /* offset of its descriptors */
    uint64_t parts; /* offset after them of what launches need besides */
    uint64_t parts_size;
    uint32_t slots; /* number of its first tile's fault in the batch */
    uint8_t *host_parts;
    struct wcodec_gpu_limits limits;
    struct launch *launches;
    unsigned launch_count;
};

struct wcodec_batch {
    struct wcodec_device *device;
    size_t count;
    struct wcodec_job *jobs;
    struct wcodec_memory *memories;
    size_t set_count;
    struct set *sets;
    uint64_t tiles;
    struct wcodec_memory
        scratch;     /* for residuals; buffer NULL: none is needed, or it is not made yet */
    uint64_t faults; /* offset in the block */
    struct wcodec_opencl_buffers buffers;
    cl_event ended; /* the last launch of the last decoding */
};

uint64_t wcodec_opencl_address(const struct wcodec_memory *memory)
{
    return (uint64_t)memory->number << 48;
}

/* The set's copy of a memory; NULL if it has none. */
static struct wcodec_memory *find_memory(const struct set *s, const struct wcodec_memory *memory)
{
    for (unsigned i = s->memory_count; i > 0; i--)
        if (s->memories[i - 1].buffer == memory->buffer)
            return &s->memories[i - 1];
    return NULL;
}

static struct wcodec_memory *add_memory(struct set *s, const struct wcodec_memory *memory)
{
    struct wcodec_memory *p = find_memory(s, memory);
    if (p == NULL) {
        p = &s->memories[s->memory_count];
        *p = *memory;
        p->number = s->memory_count++;
    }
    return p;
}

/* Add the job, if a launch can have its buffers. */
static bool add_job(struct set *s, struct wcodec_job *job, const struct wcodec_memory *scratch,
                    unsigned buffers_max)
{
    const unsigned before = s->memory_count;
    struct wcodec_memory *areas[WCODEC_AREAS], *last = NULL;
    struct wcodec_memory *out = add_memory(s, job->memory);
    if (job->blocks != NULL || job->lossy != NULL || job->fragments != NULL)
        add_memory(s, scratch);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        const struct wcodec_memory *m = job->places[a].memory;
        if (m != NULL)
            last = last != NULL && last->buffer == m->buffer ? last : add_memory(s, m);
        areas[a] = m != NULL ? last : NULL;
    }
    if (s->memory_count > buffers_max && s->count > 0) {
        s->memory_count = before;
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
        if (s != NULL && add_job(s, &b->jobs[i], &b->scratch, b->device->buffers))
            continue;
        struct wcodec_memory *memories = s != NULL ? s->memories + s->memory_count : b->memories;
        s = &b->sets[b->set_count++];
        *s = (struct set){.first = i, .memories = memories};
        add_job(s, &b->jobs[i], &b->scratch, b->device->buffers);
    }
}

static enum wcodec_opencl_form form_of(const struct set *s)
{
    const unsigned n = s->memory_count;
    return n <= WCODEC_OPENCL_BUFFERS_2    ? WCODEC_OPENCL_FORM_2
           : n <= WCODEC_OPENCL_BUFFERS_8  ? WCODEC_OPENCL_FORM_8
           : n <= WCODEC_OPENCL_BUFFERS_72 ? WCODEC_OPENCL_FORM_72
                                           : WCODEC_OPENCL_FORM_MOST;
}

uint64_t wcodec_opencl_find_kernels(struct wcodec_device *d, const struct wcodec_job *jobs,
                                    size_t count, enum wcodec_opencl_form form,
                                    struct wcodec_gpu_limits *limits)
{
    uint64_t found = 0;
    wcodec_opencl_find_kernel(d, WCODEC_KERNEL_GENERIC, form, limits);
    for (size_t i = 0; i < count; i++) {
        const struct wcodec_tiles *tiles = jobs[i].tiles; /* NULL: at a fixed rate */
        const unsigned wanted[] = {tiles != NULL ? wcodec_gpu_plan_kernel(tiles->tiling)
                                                 : (unsigned)WCODEC_KERNEL_GENERIC,
                                   wcodec_gpu_plan_fused(&jobs[i])};
        for (unsigned j = 0; j < 2; j++) {
            const unsigned k = wanted[j];
            if (k == WCODEC_KERNEL_GENERIC || found >> k & 1 ||
                !wcodec_opencl_find_kernel(d, k, form, limits))
                continue;
            const struct wcodec_kernel_row *row = &wcodec_kernel_rows[k];
            const unsigned latency = wcodec_kernel_find(WCODEC_FAMILY_LATENCY, row->shape,
                                                        row->coding, row->add, 0, false);
            found |= (uint64_t)1 << k;
            if (row->family == WCODEC_FAMILY_FAST && latency != WCODEC_KERNEL_GENERIC)
                wcodec_opencl_find_kernel(d, latency, form, limits);
        }
    }
    return found | WCODEC_GPU_PLAN_ANY_TILE;
}

wcodec_status wcodec_opencl_find_units(struct wcodec_device *d, const struct wcodec_gpu_plan *plan,
                                       enum wcodec_opencl_form form,
                                       struct wcodec_gpu_limits *limits, wcodec_error *err)
{
    for (unsigned i = 0; i < WCODEC_GPU_VIEWS; i++) {
        const unsigned kernel = wcodec_gpu_plan_units[i];
        if (plan->blocks_capacity[i] > 0 && plan->scratch_size > 0 &&
            !wcodec_opencl_find_kernel(d, kernel, form, limits))
            return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                                 "the kernel of blocks does not compile");
    }
    return WCODEC_OK;
}

static uint64_t count_tables(const struct wcodec_batch *b, const struct set *s)
{
    uint64_t tables = 0;
    for (size_t i = s->first; i < s->first + s->count; i++)
        tables += wcodec_gpu_plan_tables(&b->jobs[i]);
    return tables;
}

/* Scratch memory of `size` bytes goes where sets have left a number for it; of no bytes, any
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
        return wcodec_opencl_no_buffer(d, result, err);
    for (struct set *s = b->sets; s < b->sets + b->set_count; s++) {
        struct wcodec_memory *memory = find_memory(s, &b->scratch);
        if (memory != NULL)
            memory->buffer = buffer != NULL ? buffer : s->memories[0].buffer;
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
        const struct wcodec_job *jobs = b->jobs + s->first;
        const uint64_t kernels =
            wcodec_opencl_find_kernels(b->device, jobs, s->count, form_of(s), &s->limits);
        wcodec_status status =
            wcodec_gpu_plan_measure(b->device->host, jobs, s->count, kernels, &s->plan, err);
        if (status == WCODEC_OK)
            status = wcodec_opencl_find_units(b->device, &s->plan, form_of(s), &s->limits, err);
        if (status != WCODEC_OK)
            return status;
        if (s->plan.scratch_size > 0)
            s->plan.scratch = wcodec_opencl_address(find_memory(s, &b->scratch)) + scratch;
        scratch += s->plan.scratch_size;
        s->block = *size;
        s->parts = wcodec_align_u64(s->block + s->plan.size + 16,
                                    16); /* run indices are read by two bytes */
        s->parts_size = wcodec_gpu_launches_size(&s->limits, &s->plan, count_tables(b, s));
        s->slots = (uint32_t)b->tiles;
        *size = wcodec_align_u64(s->parts + s->parts_size, 256);
        b->tiles += s->plan.tiles;
        if (b->tiles >> 31)
            return b->device->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                                         "too many tiles in one batch");
    }
    b->faults = *size;
    *size += 4 * b->tiles;
    return make_scratch(b, scratch, err);
}

static cl_int create_kernel(struct wcodec_batch *b, struct set *s, struct launch *l,
                            const struct wcodec_gpu_launch *plan)
{
    const struct wcodec_opencl_driver *cl = b->device->cl;
    const struct wcodec_opencl_program *p =
        wcodec_opencl_program_get(b->device, plan->kernel, form_of(s));
    cl_int result;
    if (p == NULL)
        return CL_BUILD_PROGRAM_FAILURE;
    l->kernel = cl->clCreateKernel(p->program, "wcodec_kernel", &result);
    if (result != CL_SUCCESS)
        return result;
    l->plan = *plan; /* arguments are set with each decoding's number */
    result =
        cl->clSetKernelArg(l->kernel, WCODEC_OPENCL_ARG_BLOCK, sizeof(cl_mem), &b->buffers.block);
    result |= cl->clSetKernelArg(l->kernel, WCODEC_OPENCL_ARG_SHARED,
                                 plan->shared > 16 ? plan->shared : 16, NULL);
    for (unsigned i = 0; i < p->buffers; i++) /* the rest is never used, but must be something */
        result |= cl->clSetKernelArg(l->kernel, WCODEC_OPENCL_ARG_BUFFERS + i, sizeof(cl_mem),
                                     &s->memories[i < s->memory_count ? i : 0].buffer);
    return result == CL_SUCCESS ? CL_SUCCESS : CL_INVALID_KERNEL_ARGS;
}

/* The launches of a set whose plan is built. *size: of what they need of the device besides. */
static wcodec_status plan_launches(struct wcodec_batch *b, struct set *s, size_t *size,
                                   wcodec_error *err)
{
    const struct wcodec_device *d = b->device;
    const unsigned most = wcodec_gpu_launches_max(&s->limits, &s->plan);
    struct wcodec_gpu_launch *plans = wcodec_opencl_allocate(d->host, most * sizeof *plans);
    const uint8_t *end;
    cl_int result = CL_SUCCESS;
    s->launches = wcodec_opencl_allocate(d->host, most * sizeof *s->launches);
    s->host_parts = wcodec_opencl_allocate(d->host, (size_t)s->parts_size + 1);
    if (plans == NULL || s->launches == NULL || s->host_parts == NULL) {
        wcodec_opencl_release(d->host, plans);
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the launches of a batch");
    }
    const unsigned count =
        wcodec_gpu_plan_launches(&s->limits, &s->plan, s->block, s->host_parts, s->parts,
                                 b->faults + 4 * (uint64_t)s->slots, plans, &end);
    *size = (size_t)(end - s->host_parts);
    while (s->launch_count < count && result == CL_SUCCESS) {
        result = create_kernel(b, s, &s->launches[s->launch_count], &plans[s->launch_count]);
        s->launch_count++;
    }
    wcodec_opencl_release(d->host, plans);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(d, result, "clCreateKernel", err);
}

/* Descriptors of a set, given to the queue; they stay in host memory until the batch ends. */
static wcodec_status build_set(struct wcodec_queue *q, struct wcodec_batch *b, struct set *s,
                               wcodec_error *err)
{
    const struct wcodec_device *d = b->device;
    size_t parts = 0;
    wcodec_status status = wcodec_gpu_plan_build(&s->plan, b->jobs + s->first, s->count, s->block,
                                                 wcodec_opencl_address, err);
    if (status == WCODEC_OK)
        status = plan_launches(b, s, &parts, err);
    if (status != WCODEC_OK)
        return status;
    cl_int result = d->cl->clEnqueueWriteBuffer(wcodec_opencl_use(q), b->buffers.block, CL_FALSE,
                                                (size_t)s->block, (size_t)s->plan.size,
                                                s->plan.block, 0, NULL, NULL);
    if (result == CL_SUCCESS && parts > 0)
        result = d->cl->clEnqueueWriteBuffer(wcodec_opencl_use(q), b->buffers.block, CL_FALSE,
                                             (size_t)s->parts, parts, s->host_parts, 0, NULL, NULL);
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
        status = wcodec_opencl_buffers_take(b->device, size, &b->buffers, err);
    if (status != WCODEC_OK)
        return status;
    cl_int result =
        d->cl->clEnqueueFillBuffer(wcodec_opencl_use(q), b->buffers.block, &zero, sizeof zero,
                                   (size_t)b->faults, 4 * (size_t)b->tiles, 0, NULL, NULL);
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
        if (s->plan.host != NULL)
            wcodec_gpu_plan_free(&s->plan);
    }
    wcodec_opencl_buffers_give(b->device, &b->buffers);
    if (b->scratch.buffer != NULL)
        d->cl->clReleaseMemObject(b->scratch.buffer);
    wcodec_opencl_release(d->host, b->sets);
    wcodec_opencl_release(d->host, b->memories);
    wcodec_opencl_release(d->host, b->jobs);
    wcodec_opencl_release(d->host, b);
}

wcodec_status wcodec_opencl_batch_create(struct wcodec_queue *q, const struct wcodec_job *jobs,
                                         size_t count, struct wcodec_batch **batch,
                                         wcodec_error *err)
{
    enum { MEMORIES = WCODEC_AREAS + 2 };
    const struct wcodec_host *host = q->device->host;
    const bool fits = count <= SIZE_MAX / (MEMORIES * sizeof(struct wcodec_memory)) / 2 &&
                      count <= SIZE_MAX / sizeof(struct set);
    struct wcodec_batch *b = fits ? wcodec_opencl_allocate(host, sizeof *b) : NULL;
    wcodec_status status;
    if (b != NULL) {
        *b = (struct wcodec_batch){.device = q->device, .count = count};
        b->jobs = wcodec_opencl_allocate(host, count * sizeof *b->jobs);
        b->memories = wcodec_opencl_allocate(host, (count + 1) * MEMORIES * sizeof *b->memories);
        b->sets = wcodec_opencl_allocate(host, count * sizeof *b->sets);
    }
    if (b != NULL && b->jobs != NULL && b->memories != NULL && b->sets != NULL) {
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

cl_int wcodec_opencl_enqueue(const struct wcodec_device *d, cl_command_queue queue,
                             cl_kernel kernel, size_t groups, size_t items, cl_event *event,
                             const char **call)
{
    const size_t all = groups * items;
    *call = "clEnqueueNDRangeKernel";
    if (!d->alone)
        return d->cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &all, &items, 0, NULL, event);
    pthread_mutex_lock(&one_launch);
    cl_int result =
        d->cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &all, &items, 0, NULL, event);
    if (result == CL_SUCCESS) {
        *call = "clFinish";
        result = d->cl->clFinish(queue);
    }
    pthread_mutex_unlock(&one_launch);
    return result;
}

static cl_int set_arguments(struct wcodec_batch *b, struct launch *l)
{
    const struct wcodec_opencl_driver *cl = b->device->cl;
    cl_mem flag = b->buffers.flags[b->buffers.turn];
    l->plan.arguments.serial = b->buffers.serial;
    cl_int result = cl->clSetKernelArg(l->kernel, WCODEC_OPENCL_ARG_LAUNCH,
                                       sizeof l->plan.arguments, &l->plan.arguments);
    if (result == CL_SUCCESS && l->flag != flag)
        result = cl->clSetKernelArg(l->kernel, WCODEC_OPENCL_ARG_FLAG, sizeof flag, &flag);
    l->flag = result == CL_SUCCESS ? flag : NULL;
    return result;
}

wcodec_status wcodec_opencl_batch_decode(struct wcodec_queue *q, struct wcodec_batch *b,
                                         wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    cl_int result = CL_SUCCESS;
    const char *call = NULL;
    b->buffers.serial = b->buffers.serial % SERIAL_MAX + 1;
    b->buffers.asked = false;
    forget_event(b);
    for (struct set *s = b->sets; s < b->sets + b->set_count; s++)
        for (unsigned i = 0; i < s->launch_count && result == CL_SUCCESS; i++) {
            struct launch *l = &s->launches[i];
            /* NVIDIA's driver fails clFinish instead, and takes longer for an event than for a
             * launch. */
            const bool asked = d->variant != WCODEC_VARIANT_NVIDIA &&
                               s + 1 == b->sets + b->set_count && i + 1 == s->launch_count;
            call = "clSetKernelArg";
            result = set_arguments(b, l);
            if (result == CL_SUCCESS)
                result = wcodec_opencl_enqueue(d, wcodec_opencl_use(q), l->kernel, l->plan.groups,
                                               l->plan.threads, asked ? &b->ended : NULL, &call);
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

/* Faults of this decoding; those that earlier ones reported are none. */
static wcodec_status read_faults(struct wcodec_queue *q, const struct wcodec_batch *b,
                                 uint32_t **faults, wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const size_t size = (size_t)b->tiles * sizeof **faults;
    uint32_t *f = wcodec_opencl_allocate(d->host, size);
    if (f == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the results of %llu tiles",
                             (unsigned long long)b->tiles);
    const cl_int result = d->cl->clEnqueueReadBuffer(
        wcodec_opencl_use(q), b->buffers.block, CL_TRUE, (size_t)b->faults, size, f, 0, NULL, NULL);
    if (result != CL_SUCCESS) {
        wcodec_opencl_release(d->host, f);
        return wcodec_opencl_fail(d, result, "clEnqueueReadBuffer", err);
    }
    for (uint64_t i = 0; i < b->tiles; i++)
        f[i] = f[i] >> 3 == b->buffers.serial ? f[i] & 7 : WCODEC_TILE_OK;
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
            result = cl->clEnqueueFillBuffer(wcodec_opencl_use(q), job->memory->buffer, &zero, 1,
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
    wcodec_status status = wcodec_opencl_buffers_map_flag(q, &b->buffers, err);
    if (status != WCODEC_OK)
        return status;
    if ((result = d->cl->clFinish(q->queue)) != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clFinish", err);
    status = check_event(b, err);
    if (status != WCODEC_OK)
        return status;
    if (*b->buffers.word != b->buffers.serial) {
        for (size_t i = 0; i < b->count; i++)
            results[i] = (struct wcodec_job_result){0, WCODEC_TILE_OK};
        return WCODEC_OK;
    }
    status = read_faults(q, b, &faults, err);
    if (status != WCODEC_OK)
        return status;
    result = clear_failed(q, b, faults, results);
    wcodec_opencl_release(d->host, faults);
    return result == CL_SUCCESS ? WCODEC_OK
                                : wcodec_opencl_fail(d, result, "clEnqueueFillBuffer", err);
}
