/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search in coded vectors (backends/kernels/search.h). */
#include "backends/cuda/cuda.h"

enum { ITEMS = 256 };

cu_result wcodec_cuda_find_searches(struct wcodec_device *d)
{
    return wcodec_cuda_find(d, "search_", wcodec_search_kernel_names, WCODEC_SEARCH_KERNELS,
                            d->searches);
}

static bool supports(struct wcodec_device *device, const struct wcodec_search_shape *shape)
{
    (void)device;
    return wcodec_gpu_search_fits(shape);
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_search_step *step,
                         wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    struct wcodec_gpu_search_launch l[WCODEC_SEARCH_KERNELS];
    const unsigned count = wcodec_gpu_search_launches(
        step, ITEMS, step->codes->address, step->vectors->address, step->work->address, l);
    const wcodec_status status = wcodec_cuda_enter(d, err);
    cu_result result = 0;
    if (status != WCODEC_OK)
        return status;
    for (unsigned i = 0; i < count && result == 0; i++) {
        void *arguments[] = {&l[i].arguments};
        result = d->cu->launch(d->searches[l[i].kernel], l[i].groups, 1, 1, l[i].threads, 1, 1,
                               l[i].shared, q->stream, arguments, NULL);
    }
    return wcodec_cuda_leave(d, result, "cuLaunchKernel", err);
}

const struct wcodec_backend_searches wcodec_cuda_searches = {supports, run};
