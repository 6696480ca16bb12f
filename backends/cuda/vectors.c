/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of vectors (backends/kernels/vectors.h). */
#include "backends/cuda/cuda.h"

enum { ITEMS = 256 };

cu_result wcodec_cuda_find_vectors(struct wcodec_device *d)
{
    return wcodec_cuda_find(d, "vectors_", wcodec_vectors_kernel_names, WCODEC_VECTORS_KERNELS,
                            d->vectors);
}

static bool supports(struct wcodec_device *device, const struct wcodec_vectors_shape *shape)
{
    (void)device;
    return shape->rows <= WCODEC_GPU_VECTORS_ROWS;
}

static struct wcodec_gpu_vectors_form form_of(const struct wcodec_device *d)
{
    return (struct wcodec_gpu_vectors_form){
        .items = ITEMS, .units = d->limits.units, .tensor = d->tensor_cores};
}

static bool multiplies(struct wcodec_device *device, const struct wcodec_vectors_shape *shape)
{
    const struct wcodec_gpu_vectors_form form = form_of(device);
    return wcodec_gpu_vectors_multiplies(shape, &form);
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_vectors_step *step,
                         wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const struct wcodec_gpu_vectors_form form = form_of(d);
    struct wcodec_gpu_vectors_launch l[WCODEC_GPU_VECTORS_LAUNCHES];
    const unsigned count = wcodec_gpu_vectors_launches(
        step, &form, step->rows->address, step->work->address, step->anchors->address, l);
    const wcodec_status status = wcodec_cuda_enter(d, err);
    cu_result result = 0;
    if (status != WCODEC_OK)
        return status;
    for (unsigned i = 0; i < count && result == 0; i++) {
        void *arguments[] = {&l[i].arguments};
        result = d->cu->launch(d->vectors[l[i].kernel], l[i].groups, 1, 1, l[i].threads, 1, 1,
                               l[i].shared, q->stream, arguments, NULL);
    }
    return wcodec_cuda_leave(d, result, "cuLaunchKernel", err);
}

const struct wcodec_backend_vectors wcodec_cuda_vectors = {supports, multiplies, run};
