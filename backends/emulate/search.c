/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/search.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/search.h"
#include "backends/kernels/search.h"

enum { SEED = 1, ITEMS = 32 };

static bool supports(struct wcodec_device *device, const struct wcodec_search_shape *shape)
{
    (void)device;
    return wcodec_gpu_search_fits(shape) && wcodec_fibers_supported() &&
           __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

static void run_lane(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_search_launch *launch = argument;
    const struct wcodec_vectors_item item = {
        .item = wcodec_thread(warp),
        .items = wcodec_threads(warp),
        .group = wcodec_group(warp),
        .groups = wcodec_groups(warp),
        .shared = WCODEC_SHARED(warp, uint64_t, wcodec_shared_base(warp))};
    switch (launch->kernel) {
#define WCODEC_SEARCH_KERNEL(name, most, at_once) \
    case WCODEC_SEARCH_KERNEL_##name: \
        wcodec_search_##name##_kernel(warp, &item, &launch->arguments); \
        break;
#include "backends/kernels/search.def"
#undef WCODEC_SEARCH_KERNEL
    case WCODEC_SEARCH_KERNELS:
        break;
    }
}

static uint64_t address_of(const struct wcodec_memory *memory)
{
    return (uint64_t)(uintptr_t)memory->data;
}

static wcodec_status run(struct wcodec_queue *queue, const struct wcodec_search_step *step,
                         wcodec_error *err)
{
    struct wcodec_gpu_search_launch l[WCODEC_SEARCH_KERNELS];
    const unsigned count = wcodec_gpu_search_launches(
        step, ITEMS, address_of(step->codes), address_of(step->vectors), address_of(step->work), l);
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < count && status == WCODEC_OK; i++) {
        const struct wcodec_lanes_launch lanes = {run_lane,     &l[i],       l[i].groups,
                                                  l[i].threads, l[i].shared, SEED};
        status = wcodec_lanes_launch(queue->device->host, &lanes, err);
    }
    return status;
}

const struct wcodec_backend_searches wcodec_emulated_searches = {supports, run};
