/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices are measured and coded in the device's memory (backends/kernels/encode_fixed.h). */
#include "backends/cuda/cuda.h"

#include <stdio.h>

cu_result wcodec_cuda_find_encoders(struct wcodec_device *d)
{
    cu_result result = 0;
    for (unsigned k = 0; k < WCODEC_ENCODERS && result == 0; k++) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_%s", wcodec_encoder_rows[k].name);
        result = d->cu->module_function(&d->encoders[k], d->module, name);
    }
    return result;
}

static cu_result launch(const struct wcodec_queue *q, struct wcodec_gpu_encode *l)
{
    const struct wcodec_device *d = q->device;
    void *arguments[] = {&l->arguments};
    return d->cu->launch(d->encoders[l->kernel], l->groups, 1, 1, l->threads, 1, 1, l->shared,
                         q->stream, arguments, NULL);
}

static struct wcodec_gpu_matrix matrix_of(const struct wcodec_device *d,
                                          const struct wcodec_matrix *m)
{
    return (struct wcodec_gpu_matrix){
        .fixed = m->fixed,
        .elements = m->elements->address + m->elements_at,
        .work = m->work->address + m->work_at,
        .payload = m->payload != NULL ? m->payload->address + m->payload_at : 0,
        .units = d->limits.units};
}

static wcodec_status enter(const struct wcodec_device *d, wcodec_error *err)
{
    return d->tensor_cores
               ? wcodec_cuda_enter(d, err)
               : d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                               "this build has no kernels that code matrices for device %d",
                               d->number);
}

wcodec_status wcodec_cuda_measure(struct wcodec_queue *q, const struct wcodec_matrix *matrix,
                                  wcodec_error *err)
{
    const struct wcodec_gpu_matrix m = matrix_of(q->device, matrix);
    struct wcodec_gpu_encode l;
    const wcodec_status status = enter(q->device, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_gpu_plan_encode(&m, WCODEC_ENCODER_SHIFTS, &l);
    cu_result result = launch(q, &l);
    wcodec_gpu_plan_encode(&m, WCODEC_ENCODER_COUNTS, &l);
    if (result == 0)
        result = launch(q, &l);
    return wcodec_cuda_leave(q->device, result, "cuLaunchKernel", err);
}

/* What was coded, decoded piece by piece and compared. */
static cu_result compare(const struct wcodec_queue *q, const struct wcodec_matrix *matrix,
                         const struct wcodec_gpu_matrix *m)
{
    const struct wcodec_device *d = q->device;
    const struct wcodec_fixed *f = m->fixed;
    const uint64_t scratch = matrix->scratch->address + matrix->scratch_at,
                   differs = m->work + wcodec_matrix_work(f).differs;
    cu_result result = 0;
    for (uint64_t first = 0, count; first < f->rows && result == 0; first += count) {
        struct wcodec_gpu_rows rows;
        struct wcodec_gpu_encode l;
        void *arguments[] = {&rows.arguments};
        count = wcodec_gpu_plan_piece(f, m->payload, first, scratch, matrix->scratch_size, m->units,
                                      (unsigned)d->limits.shared, &rows);
        wcodec_gpu_plan_compare(m->elements + 2 * first * f->columns, scratch,
                                2 * count * f->columns, differs, m->units, &l);
        result = d->cu->launch(d->products[WCODEC_PRODUCTS + rows.kernel], rows.groups, 1, 1,
                               rows.threads, 1, 1, rows.shared, q->stream, arguments, NULL);
        if (result == 0)
            result = launch(q, &l);
    }
    return result;
}

wcodec_status wcodec_cuda_code(struct wcodec_queue *q, const struct wcodec_matrix *matrix,
                               wcodec_error *err)
{
    const struct wcodec_gpu_matrix m = matrix_of(q->device, matrix);
    struct wcodec_gpu_encode l;
    const wcodec_status status = enter(q->device, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_gpu_plan_encode(&m, WCODEC_ENCODER_CODE, &l);
    cu_result result = launch(q, &l);
    if (result == 0)
        result = compare(q, matrix, &m);
    return wcodec_cuda_leave(q->device, result, "cuLaunchKernel", err);
}
