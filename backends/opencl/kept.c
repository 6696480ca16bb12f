/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that stay coded in the device's memory: their descriptors are in a buffer of their own
 * once and for all, and decoding is a few launches on the caller's queue, and so is a product by
 * tensor cores. */
#include "backends/opencl/opencl.h"

#include <stdio.h>

enum { FLAG_BYTES = 64 };

/* Numbers of the buffers of a launch. */
enum { PAYLOAD, BLOCK, OUT, BUFFERS };

struct wcodec_kept {
    struct wcodec_device *device;
    struct wcodec_gpu_kept gpu;
    struct wcodec_memory payload; /* its number is PAYLOAD */
    struct wcodec_memory block;   /* its number is BLOCK: descriptors, faults, scratch memory */
    uint64_t work;                /* bytes of memory of products; 0: there are none */
    cl_mem flag;                  /* what kernels raise for a fault: nobody reads it */
};

struct launching {
    struct wcodec_kept *kept;
    cl_command_queue queue;
    cl_mem out;
    const char *call; /* the driver's function that failed */
};

/* The device's lock is held. */
static cl_int set_arguments(const struct launching *on, cl_kernel kernel, unsigned buffers,
                            const struct wcodec_gpu_launch *l)
{
    const struct wcodec_kept *k = on->kept;
    const struct wcodec_opencl_driver *cl = k->device->cl;
    const cl_mem given[BUFFERS] = {k->payload.buffer, k->block.buffer, on->out};
    cl_int result =
        cl->clSetKernelArg(kernel, WCODEC_OPENCL_ARG_BLOCK, sizeof(cl_mem), &given[BLOCK]);
    if (result == CL_SUCCESS)
        result = cl->clSetKernelArg(kernel, WCODEC_OPENCL_ARG_FLAG, sizeof(cl_mem), &k->flag);
    if (result == CL_SUCCESS)
        result = cl->clSetKernelArg(kernel, WCODEC_OPENCL_ARG_LAUNCH, sizeof l->arguments,
                                    &l->arguments);
    if (result == CL_SUCCESS)
        result = cl->clSetKernelArg(kernel, WCODEC_OPENCL_ARG_SHARED,
                                    l->shared > 16 ? l->shared : 16, NULL);
    for (unsigned i = 0; i < buffers && result == CL_SUCCESS; i++)
        result = cl->clSetKernelArg(kernel, WCODEC_OPENCL_ARG_BUFFERS + i, sizeof(cl_mem),
                                    &given[i < BUFFERS ? i : BLOCK]);
    return result;
}

static int launch(void *opaque, struct wcodec_gpu_launch *l)
{
    struct launching *on = opaque;
    struct wcodec_device *d = on->kept->device;
    const struct wcodec_opencl_program *p =
        wcodec_opencl_program_get(d, l->kernel, WCODEC_OPENCL_FORM_8);
    cl_int result = CL_SUCCESS;
    on->call = "clBuildProgram";
    if (p == NULL)
        return CL_BUILD_PROGRAM_FAILURE;
    pthread_mutex_lock(&d->lock);
    cl_kernel *kernel = &d->kept_kernels[l->kernel];
    on->call = "clCreateKernel";
    if (*kernel == NULL)
        *kernel = d->cl->clCreateKernel(p->program, "wcodec_kernel", &result);
    if (result == CL_SUCCESS) {
        on->call = "clSetKernelArg";
        result = set_arguments(on, *kernel, p->buffers, l);
    }
    if (result == CL_SUCCESS)
        result =
            wcodec_opencl_enqueue(d, on->queue, *kernel, l->groups, l->threads, NULL, &on->call);
    pthread_mutex_unlock(&d->lock);
    return result;
}

static int set(void *opaque, uint64_t address, uint64_t value)
{
    struct launching *on = opaque;
    const struct wcodec_kept *k = on->kept;
    on->call = "clEnqueueFillBuffer";
    return k->device->cl->clEnqueueFillBuffer(on->queue, k->block.buffer, &value, sizeof value,
                                              (size_t)address, sizeof value, 0, NULL, NULL);
}

static cl_int decode(struct launching *on, uint64_t begin, uint64_t end)
{
    const struct wcodec_memory out = {.number = OUT};
    const struct wcodec_gpu_kept_queue queue = {launch, set, on};
    return wcodec_gpu_kept_decode(&on->kept->gpu, begin, end, wcodec_opencl_address(&out), &queue);
}

/* Copy what was built, decode all, and bring the faults. */
static wcodec_status try_all(struct launching *on, const uint8_t *block, uint32_t *faults,
                             wcodec_error *err)
{
    static const uint32_t zero = 0;
    const struct wcodec_kept *kept = on->kept;
    const struct wcodec_opencl_driver *cl = kept->device->cl;
    const struct wcodec_gpu_kept *k = &kept->gpu;
    const cl_mem buffer = kept->block.buffer;
    const size_t size = 4 * (size_t)k->tiles;
    on->call = "clEnqueueWriteBuffer";
    cl_int result = cl->clEnqueueWriteBuffer(on->queue, buffer, CL_FALSE, 0, (size_t)k->copied,
                                             block, 0, NULL, NULL);
    if (result == CL_SUCCESS) {
        on->call = "clEnqueueFillBuffer";
        result = cl->clEnqueueFillBuffer(on->queue, buffer, &zero, sizeof zero, (size_t)k->faults,
                                         size, 0, NULL, NULL);
    }
    if (result == CL_SUCCESS)
        result = decode(on, 0, k->bytes);
    if (result == CL_SUCCESS) {
        on->call = "clEnqueueReadBuffer";
        result = cl->clEnqueueReadBuffer(on->queue, buffer, CL_FALSE, (size_t)k->faults, size,
                                         faults, 0, NULL, NULL);
    }
    const char *call = result == CL_SUCCESS ? "clFinish" : on->call;
    const cl_int waited = cl->clFinish(on->queue); /* in any case: the memory is freed now */
    result = result == CL_SUCCESS ? waited : result;
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(kept->device, result, call, err);
}

static wcodec_status make_buffers(struct wcodec_kept *k, wcodec_error *err)
{
    const struct wcodec_device *d = k->device;
    cl_int result = CL_SUCCESS;
    k->block.number = BLOCK;
    k->block.buffer =
        d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, (size_t)k->gpu.size, NULL, &result);
    if (result == CL_SUCCESS)
        k->flag = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, FLAG_BYTES, NULL, &result);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_no_buffer(d, result, err);
}

static wcodec_status build(struct launching *on, const struct wcodec_job *job,
                           struct wcodec_job_result *result, wcodec_error *err)
{
    struct wcodec_kept *kept = on->kept;
    struct wcodec_gpu_kept *k = &kept->gpu;
    const struct wcodec_host *host = kept->device->host;
    wcodec_status status = make_buffers(kept, err);
    if (status != WCODEC_OK)
        return status;
    uint8_t *block = wcodec_opencl_allocate(host, (size_t)(k->copied + 4 * k->tiles));
    if (block == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a tensor's tiles");
    uint32_t *faults = (uint32_t *)(void *)(block + k->copied);
    status = wcodec_gpu_keep_build(k, 0, wcodec_opencl_address(&kept->block), block,
                                   wcodec_opencl_address, err);
    if (status == WCODEC_OK)
        status = try_all(on, block, faults, err);
    if (status == WCODEC_OK)
        *result = wcodec_gpu_plan_result(job, faults);
    wcodec_opencl_release(host, block);
    return status;
}

/* The device's lock is held. */
static wcodec_status make_kernel(struct wcodec_device *d, unsigned decoder, const char *define,
                                 struct wcodec_opencl_product *p, wcodec_error *err)
{
    if (p->kernel != NULL)
        return WCODEC_OK;
    const wcodec_status status = wcodec_opencl_coded_build(d, decoder, define, &p->program, err);
    return status == WCODEC_OK ? wcodec_opencl_product_open(d, "wcodec_product", p, err) : status;
}

/* Is product kernel k there? The device's lock is held. */
static bool find_product(struct wcodec_device *d, unsigned k)
{
    const unsigned decoder = wcodec_gpu_coded_decoder(k == WCODEC_CODED_SUM ? 0 : k);
    wcodec_error err = {0};
    char define[40];
    if (d->coded_failed)
        return false;
    snprintf(define, sizeof define, "WCODEC_CODED_EIGHTS=%u", wcodec_coded_product_rows[k].eights);
    const wcodec_status status = make_kernel(d, decoder, define, &d->coded[k], &err);
    if (status == WCODEC_OK)
        return true;
    d->host->log(d->host->opaque, WCODEC_LOG_INFO,
                 "OpenCL products straight from the code are not used: %s", err.text);
    d->coded_failed = status == WCODEC_ERROR_BACKEND;
    return false;
}

/* What products work with, if all kernels that they may take are there. */
static uint64_t find_work(const struct wcodec_kept *k)
{
    struct wcodec_device *d = k->device;
    const uint64_t work = wcodec_opencl_by_tensor_cores(d) ? wcodec_gpu_kept_work(&k->gpu) : 0;
    bool there = work != 0;
    pthread_mutex_lock(&d->lock);
    for (unsigned i = 0; i < WCODEC_CODED_PRODUCTS && there; i++)
        if (wcodec_gpu_kept_takes(&k->gpu, i))
            there = find_product(d, i);
    pthread_mutex_unlock(&d->lock);
    return there ? work : 0;
}

/* The kernels that it takes are made here, and with them its sizes. */
static wcodec_status measure(struct wcodec_kept *k, const struct wcodec_job *job, wcodec_error *err)
{
    struct wcodec_device *d = k->device;
    struct wcodec_gpu_limits limits = {0};
    struct wcodec_gpu_plan plan;
    const uint64_t kernels = wcodec_opencl_find_kernels(d, job, 1, WCODEC_OPENCL_FORM_8, &limits);
    wcodec_status status = wcodec_gpu_plan_measure(d->host, job, 1, kernels, &plan, err);
    if (status == WCODEC_OK)
        status = wcodec_opencl_find_units(d, &plan, WCODEC_OPENCL_FORM_8, &limits, err);
    return status == WCODEC_OK ? wcodec_gpu_keep_measure(d->host, &limits, kernels, job,
                                                         wcodec_opencl_address, &k->gpu, err)
                               : status;
}

wcodec_status wcodec_opencl_keep(struct wcodec_queue *q, const struct wcodec_job *given,
                                 struct wcodec_memory *scratch, struct wcodec_job_result *result,
                                 struct wcodec_kept **kept, wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    struct wcodec_job job = *given;
    struct wcodec_kept *k = wcodec_opencl_allocate(d->host, sizeof *k);
    struct launching on = {.kept = k, .queue = wcodec_opencl_use(q), .out = scratch->buffer};
    if (k == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a tensor");
    *k = (struct wcodec_kept){.device = d, .gpu = {.host = d->host}};
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        if (job.places[a].memory == NULL)
            continue;
        k->payload = *job.places[a].memory;
        k->payload.number = PAYLOAD;
        job.places[a].memory = &k->payload;
    }
    wcodec_status status = measure(k, &job, err);
    if (status == WCODEC_OK)
        status = build(&on, &job, result, err);
    if (status == WCODEC_OK && result->fault == WCODEC_TILE_OK) {
        k->work = find_work(k);
        *kept = k;
    } else {
        wcodec_opencl_kept_free(k);
    }
    return status;
}

uint64_t wcodec_opencl_kept_size(const struct wcodec_kept *kept)
{
    return kept->gpu.size + FLAG_BYTES;
}

uint64_t wcodec_opencl_kept_unit(const struct wcodec_kept *kept)
{
    return kept->gpu.unit;
}

uint64_t wcodec_opencl_kept_work(const struct wcodec_kept *kept)
{
    return kept->work;
}

/* Buffers as product_coded.cl has them. */
struct computing {
    struct wcodec_device *device;
    cl_command_queue queue;
    cl_mem buffers[6];
    const char *call;
};

/* The device's lock is held. */
static cl_int compute(struct computing *c, cl_kernel kernel, const void *arguments, size_t size,
                      uint32_t shared, uint32_t groups, uint32_t threads)
{
    const struct wcodec_opencl_driver *cl = c->device->cl;
    cl_int result = CL_SUCCESS;
    cl_uint i = 0;
    c->call = "clSetKernelArg";
    for (; i < 6 && result == CL_SUCCESS; i++)
        result = cl->clSetKernelArg(kernel, i, sizeof(cl_mem), &c->buffers[i]);
    if (result == CL_SUCCESS)
        result = cl->clSetKernelArg(kernel, i, size, arguments);
    if (result == CL_SUCCESS)
        result = cl->clSetKernelArg(kernel, i + 1, shared > 16 ? shared : 16, NULL);
    return result == CL_SUCCESS
               ? wcodec_opencl_enqueue(c->device, c->queue, kernel, groups, threads, NULL, &c->call)
               : result;
}

static int launch_product(void *opaque, struct wcodec_gpu_coded_product *l)
{
    struct computing *c = opaque;
    return compute(c, c->device->coded[l->kernel].kernel, &l->arguments, sizeof l->arguments,
                   l->shared, l->groups, l->threads);
}

wcodec_status wcodec_opencl_kept_multiply(struct wcodec_device *d, uint64_t queue,
                                          const struct wcodec_product *given, wcodec_error *err)
{
    enum { BAND_ROWS = 16 };
    const struct wcodec_kept *k = given->kept;
    const struct wcodec_gpu_kept *g = &k->gpu;
    struct wcodec_product p = *given;
    struct computing m = {
        .device = d,
        .queue = (cl_command_queue)(uintptr_t)queue,
        .buffers = {k->payload.buffer, k->block.buffer, (cl_mem)(uintptr_t)given->x,
                    (cl_mem)(uintptr_t)given->y,
                    given->bias != 0 ? (cl_mem)(uintptr_t)given->bias : given->work->buffer,
                    given->work->buffer}};
    const wcodec_status status = wcodec_opencl_check_product(
        d, queue, given, g->tiles / g->unit_tiles * BAND_ROWS, g->unit / (2 * BAND_ROWS), err);
    if (status != WCODEC_OK)
        return status;
    p.x = p.y = 0;
    p.bias = given->bias != 0;
    pthread_mutex_lock(&d->lock);
    const cl_int result = wcodec_gpu_kept_multiply(g, &p, 0, launch_product, &m);
    pthread_mutex_unlock(&d->lock);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_launch_failed(d, result, m.call, err);
}

wcodec_status wcodec_opencl_kept_decode(struct wcodec_kept *kept, uint64_t queue, uint64_t begin,
                                        uint64_t end, uint64_t out, wcodec_error *err)
{
    const struct wcodec_device *d = kept->device;
    struct launching on = {
        .kept = kept, .queue = (cl_command_queue)(uintptr_t)queue, .out = (cl_mem)(uintptr_t)out};
    wcodec_status status = wcodec_opencl_check_queue(d, queue, err);
    if (status == WCODEC_OK)
        status = wcodec_opencl_check_buffer(d, "the destination", out, end - begin, err);
    if (status != WCODEC_OK)
        return status;
    if (!wcodec_gpu_kept_divides(&kept->gpu, begin, end))
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "these rows are coded together with others");
    const cl_int result = decode(&on, begin, end);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_launch_failed(d, result, on.call, err);
}

static int launch_rows(void *opaque, struct wcodec_gpu_coded_rows *l)
{
    struct computing *c = opaque;
    return compute(c, c->device->coded_rows[l->kernel].kernel, &l->arguments, sizeof l->arguments,
                   l->shared, l->groups, l->threads);
}

/* The device's lock is held. */
static wcodec_status find_rows(struct wcodec_device *d, const struct wcodec_gpu_kept *kept,
                               wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned k = 0; k < WCODEC_CODED_ROWS_KERNELS && status == WCODEC_OK; k++) {
        const unsigned decoder = wcodec_gpu_coded_rows_decoder(k);
        if (kept->parts[0].plan.runs[decoder].count > 0)
            status = make_kernel(d, decoder, "WCODEC_CODED_ROWS", &d->coded_rows[k], err);
    }
    if (status != WCODEC_ERROR_BACKEND)
        return status;
    return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                         "the device's compiler does not take the kernels that gather rows");
}

wcodec_status wcodec_opencl_kept_gather(struct wcodec_device *d, uint64_t queue,
                                        const struct wcodec_rows *given, wcodec_error *err)
{
    const struct wcodec_kept *k = given->kept;
    struct wcodec_rows r = *given;
    const cl_mem out = (cl_mem)(uintptr_t)given->out;
    struct computing c = {
        .device = d,
        .queue = (cl_command_queue)(uintptr_t)queue,
        .buffers = {k->payload.buffer, k->block.buffer, (cl_mem)(uintptr_t)given->indices, out,
                    given->outside != 0 ? (cl_mem)(uintptr_t)given->outside : out, out}};
    wcodec_status status = wcodec_opencl_check_queue(d, queue, err);
    if (status == WCODEC_OK)
        status = wcodec_opencl_check_buffer(d, "the destination", given->out,
                                            given->row_size * given->count, err);
    if (status == WCODEC_OK)
        status = wcodec_opencl_check_buffer(d, "the index", given->indices, 8 * given->count, err);
    if (status == WCODEC_OK && !wcodec_gpu_kept_gathers(&k->gpu, given->row_size))
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "rows are not gathered from its tiles");
    if (status != WCODEC_OK)
        return status;
    r.indices = r.out = 0;
    r.outside = given->outside != 0;
    pthread_mutex_lock(&d->lock);
    status = find_rows(d, &k->gpu, err);
    const cl_int result =
        status == WCODEC_OK ? wcodec_gpu_kept_gather(&k->gpu, &r, launch_rows, &c) : CL_SUCCESS;
    pthread_mutex_unlock(&d->lock);
    return result == CL_SUCCESS ? status : wcodec_opencl_launch_failed(d, result, c.call, err);
}

void wcodec_opencl_kept_free(struct wcodec_kept *kept)
{
    const struct wcodec_device *d = kept->device;
    if (kept->block.buffer != NULL)
        d->cl->clReleaseMemObject(kept->block.buffer);
    if (kept->flag != NULL)
        d->cl->clReleaseMemObject(kept->flag);
    wcodec_gpu_keep_free(&kept->gpu);
    wcodec_opencl_release(d->host, kept);
}

void wcodec_opencl_kept_close(struct wcodec_device *d)
{
    for (unsigned k = 0; k < WCODEC_KERNELS; k++)
        if (d->kept_kernels[k] != NULL)
            d->cl->clReleaseKernel(d->kept_kernels[k]);
    for (unsigned k = 0; k < WCODEC_CODED_PRODUCTS; k++)
        wcodec_opencl_product_close(d, &d->coded[k]);
    for (unsigned k = 0; k < WCODEC_CODED_ROWS_KERNELS; k++)
        wcodec_opencl_product_close(d, &d->coded_rows[k]);
}
