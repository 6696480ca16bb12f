/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of vectors (backends/kernels/vectors.h). The program, which has all kernels, is made when
 * it is needed first. */
#include "backends/opencl/opencl.h"

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

/* Two work-groups of a unit, for which registers are to be enough. The device's lock is held. */
static wcodec_status find(struct wcodec_device *d, wcodec_error *err)
{
    const struct wcodec_opencl_kernel_names names = {.set = "vectors",
                                                     .define = "WCODEC_VECTORS",
                                                     .kernels = wcodec_vectors_kernel_names,
                                                     .count = has_tensor_cores(d) ? ALL : PLAIN,
                                                     .items = items_of(d),
                                                     .registers = 128};
    return wcodec_opencl_set_find(d, &names, &d->vectors, err);
}

static struct wcodec_gpu_vectors_form form_of(const struct wcodec_device *d)
{
    return (struct wcodec_gpu_vectors_form){
        .items = items_of(d), .units = d->units, .tensor = has_tensor_cores(d)};
}

static bool multiplies(struct wcodec_device *d, const struct wcodec_vectors_shape *s)
{
    const struct wcodec_gpu_vectors_form form = form_of(d);
    return wcodec_gpu_vectors_multiplies(s, &form);
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_vectors_step *step,
                         wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    const struct wcodec_gpu_vectors_form form = form_of(d);
    struct wcodec_gpu_vectors_launch l[WCODEC_GPU_VECTORS_LAUNCHES];
    const unsigned count = wcodec_gpu_vectors_launches(step, &form, 0, 0, 0, l);
    pthread_mutex_lock(&d->lock);
    wcodec_status status = find(d, err);
    for (unsigned i = 0; i < count && status == WCODEC_OK; i++) {
        const struct wcodec_opencl_set_launch launch = {
            .kernel = d->vectors.kernels[l[i].kernel],
            .buffers = {step->rows->buffer, step->work->buffer, step->anchors->buffer},
            .arguments = &l[i].arguments,
            .arguments_size = sizeof l[i].arguments,
            .shared = l[i].shared,
            .groups = l[i].groups,
            .threads = l[i].threads};
        status = wcodec_opencl_set_enqueue(q, &launch, err);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

const struct wcodec_backend_vectors wcodec_opencl_vectors_backend = {supports, multiplies, run};
