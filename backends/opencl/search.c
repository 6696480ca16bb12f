/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search in coded vectors (backends/kernels/search.h). The program, which has all kernels, is made
 * when it is needed first. */
#include "backends/opencl/opencl.h"

#include <stdio.h>

enum { ITEMS = 256, ITEMS_LEAST = 32 };

static unsigned items_of(const struct wcodec_device *d)
{
    return wcodec_opencl_items(d, ITEMS) / 32 * 32;
}

/* Codes, and what else there is, must be in one buffer each. */
static bool supports(struct wcodec_device *d, const struct wcodec_search_shape *s)
{
    const struct wcodec_search_places p = wcodec_search_places(s);
    cl_ulong buffer = 0;
    return wcodec_gpu_search_fits(s) && items_of(d) >= ITEMS_LEAST &&
           wcodec_opencl_computes_alike(d) &&
           d->local_memory >= WCODEC_GPU_SEARCH_SHARED(items_of(d)) &&
           d->cl->clGetDeviceInfo(d->id->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof buffer,
                                  &buffer, NULL) == CL_SUCCESS &&
           p.codes_size <= buffer && p.size <= buffer;
}

static wcodec_status make(struct wcodec_device *d, wcodec_error *err)
{
    struct wcodec_opencl_search *s = &d->search;
    const bool nvidia = d->variant == WCODEC_VARIANT_NVIDIA;
    s->program.buffers = WCODEC_OPENCL_BUFFERS_2;
    s->program.items = items_of(d);
    const wcodec_status status = wcodec_opencl_program_build(
        d, nvidia ? d->variant : WCODEC_VARIANT_LOOPS,
        nvidia ? " -DWCODEC_SEARCH -cl-nv-maxrregcount=80" : " -DWCODEC_SEARCH", &s->program, err);
    if (status != WCODEC_OK)
        return status;
    for (unsigned k = 0; k < WCODEC_SEARCH_KERNELS; k++) {
        char name[64];
        cl_int result;
        snprintf(name, sizeof name, "wcodec_search_%s", wcodec_search_kernel_names[k]);
        s->kernels[k] = d->cl->clCreateKernel(s->program.program, name, &result);
        if (result != CL_SUCCESS) {
            s->kernels[k] = NULL;
            wcodec_opencl_search_close(d);
            return d->host->fail(err, WCODEC_ERROR_BACKEND, "%s: clCreateKernel: %d", name, result);
        }
    }
    return WCODEC_OK;
}

/* The device's lock is held. */
static wcodec_status find(struct wcodec_device *d, wcodec_error *err)
{
    wcodec_error own = {0};
    if (d->search.failed)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "the device's compiler does not take the kernels of search");
    if (d->search.program.program != NULL)
        return WCODEC_OK;
    const wcodec_status status = make(d, &own);
    d->search.failed = status == WCODEC_ERROR_BACKEND;
    return status == WCODEC_OK
               ? status
               : d->host->fail(err, d->search.failed ? WCODEC_ERROR_UNSUPPORTED : status, "%s",
                               own.text);
}

void wcodec_opencl_search_close(struct wcodec_device *d)
{
    for (unsigned k = 0; k < WCODEC_SEARCH_KERNELS; k++)
        if (d->search.kernels[k] != NULL)
            d->cl->clReleaseKernel(d->search.kernels[k]);
    if (d->search.program.program != NULL)
        d->cl->clReleaseProgram(d->search.program.program);
    d->search = (struct wcodec_opencl_search){.failed = d->search.failed};
}

static cl_int enqueue(const struct wcodec_queue *q, const struct wcodec_search_step *step,
                      const struct wcodec_gpu_search_launch *l, const char **call)
{
    const struct wcodec_device *d = q->device;
    cl_kernel kernel = d->search.kernels[l->kernel];
    const cl_mem buffers[] = {step->codes->buffer, step->vectors->buffer, step->work->buffer};
    cl_int result = CL_SUCCESS;
    *call = "clSetKernelArg";
    for (cl_uint i = 0; i < 3 && result == CL_SUCCESS; i++)
        result = d->cl->clSetKernelArg(kernel, i, sizeof buffers[i], &buffers[i]);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, 3, sizeof l->arguments, &l->arguments);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, 4, l->shared, NULL);
    return result == CL_SUCCESS
               ? wcodec_opencl_enqueue(d, q->queue, kernel, l->groups, l->threads, NULL, call)
               : result;
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_search_step *step,
                         wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    struct wcodec_gpu_search_launch l[WCODEC_SEARCH_KERNELS];
    const unsigned count = wcodec_gpu_search_launches(step, items_of(d), 0, 0, 0, l);
    const char *call;
    pthread_mutex_lock(&d->lock);
    wcodec_status status = find(d, err);
    for (unsigned i = 0; i < count && status == WCODEC_OK; i++) {
        const cl_int result = enqueue(q, step, &l[i], &call);
        if (result != CL_SUCCESS)
            status = wcodec_opencl_fail(d, result, call, err);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

const struct wcodec_backend_searches wcodec_opencl_searches_backend = {supports, run};
