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

static int launch_encoder(void *opaque, struct wcodec_gpu_encode *l)
{
    const struct wcodec_queue *q = opaque;
    const struct wcodec_device *d = q->device;
    void *arguments[] = {&l->arguments};
    return d->cu->launch(d->encoders[l->kernel], l->groups, 1, 1, l->threads, 1, 1, l->shared,
                         q->stream, arguments, NULL);
}

static int launch_rows(void *opaque, struct wcodec_gpu_rows *l)
{
    const struct wcodec_queue *q = opaque;
    const struct wcodec_device *d = q->device;
    void *arguments[] = {&l->arguments};
    return d->cu->launch(d->products[WCODEC_PRODUCTS + l->kernel], l->groups, 1, 1, l->threads, 1,
                         1, l->shared, q->stream, arguments, NULL);
}

static uint64_t address_of(const struct wcodec_memory *memory, uint64_t at)
{
    return memory != NULL ? memory->address + at : 0;
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_matrix *matrix,
                         int (*steps)(const struct wcodec_gpu_matrix *matrix,
                                      const struct wcodec_gpu_launcher *launcher),
                         wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const struct wcodec_gpu_launcher launcher = {launch_encoder, launch_rows, q};
    const struct wcodec_gpu_matrix m = {.fixed = matrix->fixed,
                                        .elements =
                                            address_of(matrix->elements, matrix->elements_at),
                                        .work = address_of(matrix->work, matrix->work_at),
                                        .payload = address_of(matrix->payload, matrix->payload_at),
                                        .scratch = address_of(matrix->scratch, matrix->scratch_at),
                                        .scratch_size = matrix->scratch_size,
                                        .units = d->limits.units,
                                        .shared = (unsigned)d->limits.shared};
    if (!d->tensor_cores)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "this build has no kernels that code matrices for device %d",
                             d->number);
    const wcodec_status status = wcodec_cuda_enter(d, err);
    return status == WCODEC_OK ? wcodec_cuda_leave(d, steps(&m, &launcher), "cuLaunchKernel", err)
                               : status;
}

wcodec_status wcodec_cuda_measure(struct wcodec_queue *q, const struct wcodec_matrix *matrix,
                                  wcodec_error *err)
{
    return run(q, matrix, wcodec_gpu_measure, err);
}

wcodec_status wcodec_cuda_code(struct wcodec_queue *q, const struct wcodec_matrix *matrix,
                               wcodec_error *err)
{
    return run(q, matrix, wcodec_gpu_code, err);
}
