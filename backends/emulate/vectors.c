/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/vectors.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/vectors.h"
#include "backends/kernels/vectors_start.h"
#include "backends/kernels/vectors_tensor.h"

enum { SEED = 1, ITEMS = 32, TENSOR_ROWS = 70 };

static bool supports(struct wcodec_device *device, const struct wcodec_vectors_shape *shape)
{
    (void)device, (void)shape;
    return wcodec_fibers_supported() && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* An emulated instruction takes as long as many launches. */
static struct wcodec_gpu_vectors_form form_of(uint64_t rows)
{
    return (struct wcodec_gpu_vectors_form){
        .items = ITEMS, .units = 1, .tensor = rows <= TENSOR_ROWS};
}

static bool multiplies(struct wcodec_device *device, const struct wcodec_vectors_shape *shape)
{
    const struct wcodec_gpu_vectors_form form = form_of(shape->rows);
    (void)device;
    return wcodec_gpu_vectors_multiplies(shape, &form);
}

static void run_lane(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_vectors_launch *launch = argument;
    const struct wcodec_vectors_launch *l = &launch->arguments;
    const struct wcodec_vectors_item item = {
        .item = wcodec_thread(warp),
        .items = wcodec_threads(warp),
        .group = wcodec_group(warp),
        .groups = wcodec_groups(warp),
        .shared = WCODEC_SHARED(warp, uint64_t, wcodec_shared_base(warp))};
    const struct wcodec_vectors_item *w = &item;
    switch (launch->kernel) {
#define WCODEC_VECTORS_PLAIN(name, arguments) \
    case WCODEC_VECTORS_KERNEL_##name: \
        wcodec_vectors_##name##_kernel arguments; \
        break;
#define WCODEC_VECTORS_TENSOR(name, held) \
    case WCODEC_VECTORS_KERNEL_##name: \
        wcodec_vectors_tensor_kernel(held, warp, w, l); \
        break;
#define WCODEC_VECTORS_BESIDE(name, arguments) WCODEC_VECTORS_PLAIN(name, arguments)
#include "backends/kernels/vectors.def"
#undef WCODEC_VECTORS_PLAIN
#undef WCODEC_VECTORS_TENSOR
#undef WCODEC_VECTORS_BESIDE
    case WCODEC_VECTORS_KERNELS:
        break;
    }
}

static uint64_t address_of(const struct wcodec_memory *memory)
{
    return (uint64_t)(uintptr_t)memory->data;
}

static wcodec_status run(struct wcodec_queue *queue, const struct wcodec_vectors_step *step,
                         wcodec_error *err)
{
    const struct wcodec_gpu_vectors_form form =
        form_of(step->used != 0 ? step->used : step->shape->rows);
    struct wcodec_gpu_vectors_launch l[WCODEC_GPU_VECTORS_LAUNCHES];
    const unsigned count = wcodec_gpu_vectors_launches(
        step, &form, address_of(step->rows), address_of(step->work), address_of(step->anchors), l);
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < count && status == WCODEC_OK; i++) {
        const struct wcodec_lanes_launch lanes = {run_lane,     &l[i],       l[i].groups,
                                                  l[i].threads, l[i].shared, SEED};
        status = wcodec_lanes_launch(queue->device->host, &lanes, err);
    }
    return status;
}

const struct wcodec_backend_vectors wcodec_emulated_vectors = {supports, multiplies, run};
