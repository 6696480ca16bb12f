/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/product.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/encode.h"
#include "backends/gpu/product.h"
#include "backends/kernels/encode_fixed.h"
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

static wcodec_status run_encoding(const struct wcodec_device *device,
                                  const struct wcodec_gpu_encode *l, wcodec_error *err)
{
    const struct wcodec_lanes_launch lanes = {run_encoder, l,         l->groups,
                                              l->threads,  l->shared, SEED};
    return run(device, &lanes, err);
}

static struct wcodec_gpu_matrix matrix_of(const struct wcodec_matrix *m)
{
    return (struct wcodec_gpu_matrix){
        .fixed = m->fixed,
        .elements = address_of(m->elements) + m->elements_at,
        .work = address_of(m->work) + m->work_at,
        .payload = m->payload != NULL ? address_of(m->payload) + m->payload_at : 0,
        .units = UNITS};
}

static wcodec_status measure(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                             wcodec_error *err)
{
    const struct wcodec_gpu_matrix m = matrix_of(matrix);
    wcodec_status status = WCODEC_OK;
    for (unsigned step = WCODEC_ENCODER_SHIFTS; step <= WCODEC_ENCODER_COUNTS; step++) {
        struct wcodec_gpu_encode l;
        wcodec_gpu_plan_encode(&m, (enum wcodec_encoder_step)step, &l);
        if (status == WCODEC_OK)
            status = run_encoding(queue->device, &l, err);
    }
    return status;
}

/* What was coded, decoded piece by piece and compared. */
static wcodec_status compare(const struct wcodec_device *device, const struct wcodec_matrix *matrix,
                             const struct wcodec_gpu_matrix *m, wcodec_error *err)
{
    const struct wcodec_fixed *f = m->fixed;
    const uint64_t scratch = address_of(matrix->scratch) + matrix->scratch_at,
                   differs = m->work + wcodec_matrix_work(f).differs;
    wcodec_status status = WCODEC_OK;
    for (uint64_t first = 0, count; first < f->rows && status == WCODEC_OK; first += count) {
        struct wcodec_gpu_rows rows;
        struct wcodec_gpu_encode l;
        count = wcodec_gpu_plan_piece(f, m->payload, first, scratch, matrix->scratch_size, UNITS,
                                      SHARED, &rows);
        wcodec_gpu_plan_compare(m->elements + 2 * first * f->columns, scratch,
                                2 * count * f->columns, differs, UNITS, &l);
        const struct wcodec_lanes_launch lanes = {run_rows,     &rows,       rows.groups,
                                                  rows.threads, rows.shared, SEED};
        status = run(device, &lanes, err);
        if (status == WCODEC_OK)
            status = run_encoding(device, &l, err);
    }
    return status;
}

static wcodec_status code(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                          wcodec_error *err)
{
    const struct wcodec_gpu_matrix m = matrix_of(matrix);
    struct wcodec_gpu_encode l;
    wcodec_gpu_plan_encode(&m, WCODEC_ENCODER_CODE, &l);
    const wcodec_status status = run_encoding(queue->device, &l, err);
    return status == WCODEC_OK ? compare(queue->device, matrix, &m, err) : status;
}

const struct wcodec_backend_products wcodec_emulated_products = {multiply, decode_rows, measure,
                                                                 code};
