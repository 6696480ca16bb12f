/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of vectors (backends/kernels/vectors.h). The program, which has all kernels, is made when
 * it is needed first. */
#include "backends/opencl/opencl.h"

#include <stdio.h>

enum {
    ITEMS = 256,
    ITEMS_LEAST = 32,
    PLAIN = WCODEC_VECTORS_KERNEL_tensor,
    ALL = WCODEC_VECTORS_KERNELS
};

static unsigned items_of(const struct wcodec_device *d)
{
    return wcodec_opencl_items(d, ITEMS);
}

/* Those of NVIDIA that take F16 as the kernels have it. */
static bool has_tensor_cores(const struct wcodec_device *d)
{
    return d->variant == WCODEC_VARIANT_NVIDIA && d->capability >= 80;
}

bool wcodec_opencl_computes_alike(const struct wcodec_device *d)
{
    const cl_device_fp_config wanted = CL_FP_DENORM | CL_FP_ROUND_TO_NEAREST;
    cl_device_fp_config has = 0;
    return wcodec_opencl_has(d, "cl_khr_fp64") &&
           d->cl->clGetDeviceInfo(d->id->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof has, &has,
                                  NULL) == CL_SUCCESS &&
           (has & wanted) == wanted;
}

/* Sums of rows are binary64, and rows must be in one buffer. */
static bool supports(struct wcodec_device *d, const struct wcodec_vectors_shape *s)
{
    cl_ulong buffer = 0;
    const uint64_t element = s->dtype == WCODEC_DTYPE_F32 ? 4 : 2;
    return items_of(d) >= ITEMS_LEAST && s->rows <= WCODEC_GPU_VECTORS_ROWS &&
           wcodec_opencl_computes_alike(d) &&
           d->local_memory >= WCODEC_GPU_VECTORS_SHARED(items_of(d)) &&
           d->cl->clGetDeviceInfo(d->id->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof buffer,
                                  &buffer, NULL) == CL_SUCCESS &&
           s->rows * s->pitch * element <= buffer;
}

/* Two work-groups of a unit, for which registers are to be enough. */
static wcodec_status make(struct wcodec_device *d, wcodec_error *err)
{
    struct wcodec_opencl_vectors *v = &d->vectors;
    const bool nvidia = d->variant == WCODEC_VARIANT_NVIDIA;
    v->program.buffers = WCODEC_OPENCL_BUFFERS_2;
    v->program.items = items_of(d);
    const wcodec_status status = wcodec_opencl_program_build(
        d, nvidia ? d->variant : WCODEC_VARIANT_LOOPS,
        nvidia ? " -DWCODEC_VECTORS -cl-nv-maxrregcount=128" : " -DWCODEC_VECTORS", &v->program,
        err);
    if (status != WCODEC_OK)
        return status;
    for (unsigned k = 0; k < (has_tensor_cores(d) ? ALL : PLAIN); k++) {
        char name[64];
        cl_int result;
        snprintf(name, sizeof name, "wcodec_vectors_%s", wcodec_vectors_kernel_names[k]);
        v->kernels[k] = d->cl->clCreateKernel(v->program.program, name, &result);
        if (result != CL_SUCCESS) {
            v->kernels[k] = NULL;
            wcodec_opencl_vectors_close(d);
            return d->host->fail(err, WCODEC_ERROR_BACKEND, "%s: clCreateKernel: %d", name, result);
        }
    }
    return WCODEC_OK;
}

/* The device's lock is held. */
static wcodec_status find(struct wcodec_device *d, wcodec_error *err)
{
    wcodec_error own = {0};
    if (d->vectors.failed)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "the device's compiler does not take the kernels of vectors");
    if (d->vectors.program.program != NULL)
        return WCODEC_OK;
    const wcodec_status status = make(d, &own);
    d->vectors.failed = status == WCODEC_ERROR_BACKEND;
    return status == WCODEC_OK
               ? status
               : d->host->fail(err, d->vectors.failed ? WCODEC_ERROR_UNSUPPORTED : status, "%s",
                               own.text);
}

void wcodec_opencl_vectors_close(struct wcodec_device *d)
{
    for (unsigned k = 0; k < WCODEC_VECTORS_KERNELS; k++)
        if (d->vectors.kernels[k] != NULL)
            d->cl->clReleaseKernel(d->vectors.kernels[k]);
    if (d->vectors.program.program != NULL)
        d->cl->clReleaseProgram(d->vectors.program.program);
    d->vectors = (struct wcodec_opencl_vectors){.failed = d->vectors.failed};
}

static cl_int enqueue(const struct wcodec_queue *q, const struct wcodec_vectors_step *step,
                      const struct wcodec_gpu_vectors_launch *l, const char **call)
{
    const struct wcodec_device *d = q->device;
    cl_kernel kernel = d->vectors.kernels[l->kernel];
    const cl_mem buffers[] = {step->rows->buffer, step->work->buffer, step->anchors->buffer};
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

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_vectors_step *step,
                         wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    const struct wcodec_gpu_vectors_form form = {
        .items = items_of(d), .units = d->units, .tensor = has_tensor_cores(d)};
    struct wcodec_gpu_vectors_launch l[WCODEC_GPU_VECTORS_LAUNCHES];
    const unsigned count = wcodec_gpu_vectors_launches(step, &form, 0, 0, 0, l);
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

const struct wcodec_backend_vectors wcodec_opencl_vectors_backend = {supports, run};
