/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search in coded vectors (backends/kernels/search.h). The program, which has all kernels, is made
 * when it is needed first. */
#include "backends/opencl/opencl.h"

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

/* The device's lock is held. */
static wcodec_status find(struct wcodec_device *d, wcodec_error *err)
{
    const struct wcodec_opencl_kernel_names names = {.set = "search",
                                                     .define = "WCODEC_SEARCH",
                                                     .kernels = wcodec_search_kernel_names,
                                                     .count = WCODEC_SEARCH_KERNELS,
                                                     .items = items_of(d),
                                                     .registers = 80};
    return wcodec_opencl_set_find(d, &names, &d->search, err);
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_search_step *step,
                         wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    struct wcodec_gpu_search_launch l[WCODEC_SEARCH_KERNELS];
    const unsigned count = wcodec_gpu_search_launches(step, items_of(d), 0, 0, 0, l);
    pthread_mutex_lock(&d->lock);
    wcodec_status status = find(d, err);
    for (unsigned i = 0; i < count && status == WCODEC_OK; i++) {
        const struct wcodec_opencl_set_launch launch = {
            .kernel = d->search.kernels[l[i].kernel],
            .buffers = {step->codes->buffer, step->vectors->buffer, step->work->buffer},
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

const struct wcodec_backend_searches wcodec_opencl_searches_backend = {supports, run};
