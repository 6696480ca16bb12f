/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/product.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/product.h"
#include "backends/kernels/rows.h"

/* As little shared memory as the least of the devices has. */
enum { UNITS = 3, SHARED = 99 << 10, SEED = 1 };

static void run_product(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_product *l = argument;
    wcodec_product_kernel(wcodec_product_rows[l->kernel].bits,
                          wcodec_product_rows[l->kernel].eights,
                          wcodec_product_rows[l->kernel].staged, warp, &l->arguments);
}

static void run_rows(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_rows *l = argument;
    wcodec_rows_kernel(wcodec_rows_rows[l->kernel].bits, wcodec_rows_rows[l->kernel].neighbours,
                       warp, &l->arguments);
}

static uint64_t address_of(const struct wcodec_memory *memory)
{
    return (uint64_t)(uintptr_t)memory->data;
}

static wcodec_status run(const struct wcodec_device *device,
                         const struct wcodec_lanes_launch *launch, wcodec_error *err)
{
    struct wcodec_fibers *fibers = wcodec_fibers_create();
    if (fibers == NULL)
        return device->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    wcodec_lanes_run(fibers, launch);
    wcodec_fibers_destroy(fibers);
    return WCODEC_OK;
}

static wcodec_status multiply(struct wcodec_device *device, uint64_t queue,
                              const struct wcodec_product *product, wcodec_error *err)
{
    static const struct wcodec_gpu_product_limits limits = {UNITS, WCODEC_PRODUCT_WARPS, SHARED};
    wcodec_status status = WCODEC_OK;
    (void)queue;
    for (uint64_t first = 0; first < product->vectors && status == WCODEC_OK;) {
        struct wcodec_gpu_product l;
        first += wcodec_gpu_plan_product(product, address_of(product->memory) + product->offset,
                                         &limits, first, &l);
        const struct wcodec_lanes_launch lanes = {run_product, &l,       l.groups,
                                                  l.threads,   l.shared, SEED + first};
        status = run(device, &lanes, err);
    }
    return status;
}

static wcodec_status decode_rows(struct wcodec_device *device, uint64_t queue,
                                 const struct wcodec_rows *rows, wcodec_error *err)
{
    struct wcodec_gpu_rows l;
    (void)queue;
    wcodec_gpu_plan_rows(rows, address_of(rows->memory) + rows->offset, UNITS, SHARED, &l);
    const struct wcodec_lanes_launch lanes = {run_rows, &l, l.groups, l.threads, l.shared, SEED};
    return run(device, &lanes, err);
}

const struct wcodec_backend_products wcodec_emulated_products = {multiply, decode_rows};
