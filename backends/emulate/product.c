/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/product.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/kernels.h"
#include "backends/emulate/kept.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/dense.h"
#include "backends/gpu/encode.h"
#include "backends/gpu/product.h"
#include "backends/kernels/encode_fixed.h"
#include "backends/kernels/product_int8.h"
#include "backends/kernels/product_transposed.h"
#include "backends/kernels/rows.h"

/* As little shared memory as the least of the devices has. */
enum { UNITS = 3, SHARED = 99 << 10, SEED = 1 };

static void run_product(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_product *l = argument;
    const struct wcodec_product_row *row = &wcodec_product_rows[l->kernel];
    if (row->way == WCODEC_PRODUCT_TRANSPOSED)
        wcodec_transposed_kernel(row->bits, warp, &l->arguments);
    else
        wcodec_product_kernel(row->bits, row->eights, row->way == WCODEC_PRODUCT_STAGED, warp,
                              &l->arguments);
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

struct coded_run {
    const struct wcodec_device *device;
    wcodec_error *err;
    uint32_t copies;
};

static int launch_coded(void *opaque, struct wcodec_gpu_coded_product *l)
{
    const struct coded_run *r = opaque;
    const struct wcodec_coded_product_row *row = &wcodec_coded_product_rows[l->kernel];
    const struct wcodec_emulated_coded launch = {.coding = row->coding,
                                                 .eights = row->eights,
                                                 .copies = r->copies,
                                                 .groups = l->groups,
                                                 .threads = l->threads,
                                                 .shared = l->shared,
                                                 .seed = SEED,
                                                 .arguments = &l->arguments};
    struct wcodec_fibers *fibers = wcodec_fibers_create();
    if (fibers == NULL)
        return (int)r->device->host->fail(r->err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    wcodec_emulate_coded(fibers, &launch);
    wcodec_fibers_destroy(fibers);
    return 0;
}

static uint64_t transposed_most(struct wcodec_device *device, const struct wcodec_fixed *fixed)
{
    (void)device;
    return wcodec_gpu_transposed_most(fixed, false);
}

static wcodec_status multiply(struct wcodec_device *device, uint64_t queue,
                              const struct wcodec_product *product, wcodec_error *err)
{
    static const struct wcodec_gpu_product_limits limits = {UNITS, WCODEC_PRODUCT_WARPS, SHARED,
                                                            WCODEC_PRODUCT_VECTORS, NULL};
    wcodec_status status = WCODEC_OK;
    (void)queue;
    if (product->fixed == NULL) {
        struct coded_run r = {device, err, wcodec_emulated_kept_copies(product->kept)};
        return (wcodec_status)wcodec_emulated_kept_multiply(product, address_of(product->work),
                                                            launch_coded, &r);
    }
    for (uint64_t first = 0; first < product->vectors && status == WCODEC_OK;) {
        struct wcodec_gpu_product l;
        first += wcodec_gpu_plan_product(product, address_of(product->memory) + product->offset,
                                         &limits, first, &l);
        const struct wcodec_lanes_launch lanes = {run_product, &l,       l.groups,
                                                  l.threads,   l.shared, SEED + first};
        status = wcodec_lanes_launch(device->host, &lanes, err);
    }
    return status;
}

static wcodec_status decode_rows(struct wcodec_device *device, uint64_t queue,
                                 const struct wcodec_rows *rows, wcodec_error *err)
{
    struct wcodec_gpu_rows l;
    (void)queue;
    if (rows->kept != NULL)
        return wcodec_emulated_kept_gather(rows, err);
    wcodec_gpu_plan_rows(rows, address_of(rows->memory) + rows->offset, UNITS, SHARED, &l);
    const struct wcodec_lanes_launch lanes = {run_rows, &l, l.groups, l.threads, l.shared, SEED};
    return wcodec_lanes_launch(device->host, &lanes, err);
}

static void run_dense(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_dense *l = argument;
    if (l->kernel == WCODEC_DENSE_INT8)
        wcodec_int8_kernel(warp, &l->arguments);
    else
        wcodec_dense_kernel(l->kernel == WCODEC_DENSE_COLUMN_SUMS, warp, &l->arguments);
}

static wcodec_status multiply_dense(struct wcodec_device *device, uint64_t queue,
                                    const struct wcodec_dense_product *product, wcodec_error *err)
{
    const uint64_t elements =
        product->memory != NULL ? address_of(product->memory) + product->offset : 0;
    wcodec_status status = WCODEC_OK;
    (void)queue;
    for (uint64_t first = 0; first < product->vectors && status == WCODEC_OK;) {
        struct wcodec_gpu_dense l;
        first += wcodec_gpu_dense_by_int8(product, elements)
                     ? wcodec_gpu_plan_int8(product, elements, first, &l)
                     : wcodec_gpu_plan_dense(product, elements, WCODEC_DENSE_COLUMNS, first, &l);
        const struct wcodec_lanes_launch lanes = {run_dense, &l,       l.groups,
                                                  l.threads, l.shared, SEED + first};
        status = wcodec_lanes_launch(device->host, &lanes, err);
    }
    return status;
}

static uint64_t dense_work(struct wcodec_device *device)
{
    (void)device;
    return 0;
}

static void run_encoder(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_encode *l = argument;
    switch (l->kernel) {
#define WCODEC_ENCODER(name, step, bits) \
    case WCODEC_ENCODER_##name: \
        WCODEC_ENCODE_##step(bits, warp, &l->arguments); \
        break;
#include "backends/kernels/encoders.def"
#undef WCODEC_ENCODER
    }
}

struct launching {
    const struct wcodec_device *device;
    wcodec_error *err;
};

static int launch_encoder(void *opaque, struct wcodec_gpu_encode *l)
{
    const struct launching *on = opaque;
    const struct wcodec_lanes_launch lanes = {run_encoder, l,         l->groups,
                                              l->threads,  l->shared, SEED};
    return (int)wcodec_lanes_launch(on->device->host, &lanes, on->err);
}

static int launch_rows(void *opaque, struct wcodec_gpu_rows *l)
{
    const struct launching *on = opaque;
    const struct wcodec_lanes_launch lanes = {run_rows, l, l->groups, l->threads, l->shared, SEED};
    return (int)wcodec_lanes_launch(on->device->host, &lanes, on->err);
}

static uint64_t place_of(const struct wcodec_memory *memory, uint64_t at)
{
    return memory != NULL ? address_of(memory) + at : 0;
}

static wcodec_status run_steps(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                               int (*steps)(const struct wcodec_gpu_matrix *matrix,
                                            const struct wcodec_gpu_launcher *launcher),
                               wcodec_error *err)
{
    struct launching on = {queue->device, err};
    const struct wcodec_gpu_launcher launcher = {launch_encoder, launch_rows, &on};
    const struct wcodec_gpu_matrix m = {.fixed = matrix->fixed,
                                        .elements = place_of(matrix->elements, matrix->elements_at),
                                        .work = place_of(matrix->work, matrix->work_at),
                                        .payload = place_of(matrix->payload, matrix->payload_at),
                                        .scratch = place_of(matrix->scratch, matrix->scratch_at),
                                        .scratch_size = matrix->scratch_size,
                                        .units = UNITS,
                                        .shared = SHARED};
    return (wcodec_status)steps(&m, &launcher);
}

static wcodec_status measure(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                             wcodec_error *err)
{
    return run_steps(queue, matrix, wcodec_gpu_measure, err);
}

static wcodec_status code(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                          wcodec_error *err)
{
    return run_steps(queue, matrix, wcodec_gpu_code, err);
}

const struct wcodec_backend_products wcodec_emulated_products = {
    .multiply = multiply,
    .transposed_most = transposed_most,
    .decode_rows = decode_rows,
    .multiply_dense = multiply_dense,
    .dense_work = dense_work,
    .measure = measure,
    .code = code,
    .keep = wcodec_emulated_keep,
    .kept_size = wcodec_emulated_kept_size,
    .kept_decode = wcodec_emulated_kept_decode,
    .kept_unit = wcodec_emulated_kept_unit,
    .kept_work = wcodec_emulated_kept_work,
    .kept_free = wcodec_emulated_kept_free,
};
