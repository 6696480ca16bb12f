/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors are coded in tiles in the device's memory (backends/kernels/encode_tiles.h). */
#include "backends/cuda/cuda.h"

#include <stdio.h>

/* All that a multiprocessor has as shared memory: the table is large. */
static cu_result allow_shared(const struct wcodec_device *d, cu_function function)
{
    const cu_result result =
        d->cu->function_set(function, CU_FUNCTION_MAX_DYNAMIC_SHARED, WCODEC_GPU_TILES_SHARED);
    return result == 0 ? d->cu->function_set(function, CU_FUNCTION_SHARED_CARVEOUT, 100) : result;
}

static bool fits(const struct wcodec_device *d)
{
    return d->limits.shared >= WCODEC_GPU_TILES_SHARED;
}

cu_result wcodec_cuda_find_tile_encoders(struct wcodec_device *d)
{
    cu_result result = 0;
    for (unsigned k = 0; k < WCODEC_TILE_ENCODERS && result == 0; k++) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_%s", wcodec_tile_encoder_rows[k].name);
        result = d->cu->module_function(&d->tile_encoders[k], d->module, name);
        if (result == 0 && fits(d) && k <= WCODEC_TILE_ENCODER_code_any)
            result = allow_shared(d, d->tile_encoders[k]);
    }
    return result == 0 ? wcodec_cuda_find(d, "", wcodec_measure_names, WCODEC_MEASURES, d->measures)
                       : result;
}

static bool supports(struct wcodec_device *d, const struct wcodec_tiling *tiling)
{
    return fits(d) && wcodec_gpu_codes_tiles(tiling);
}

static uint64_t address_of(const struct wcodec_memory *memory)
{
    return memory->address;
}

static int launch(void *opaque, struct wcodec_gpu_tiles *l)
{
    const struct wcodec_queue *q = opaque;
    const struct wcodec_device *d = q->device;
    void *arguments[] = {&l->arguments};
    return d->cu->launch(d->tile_encoders[l->kernel], l->groups, 1, 1, l->threads, 1, 1, l->shared,
                         q->stream, arguments, NULL);
}

static wcodec_status code(struct wcodec_queue *q, const struct wcodec_tensor_coding *coding,
                          wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result =
        wcodec_gpu_code_tiles(coding, &wcodec_gpu_tiles_usual, address_of, launch, q);
    return wcodec_cuda_leave(d, result, "cuLaunchKernel", err);
}

static int launch_measuring(void *opaque, struct wcodec_gpu_measuring *l)
{
    const struct wcodec_queue *q = opaque;
    const struct wcodec_device *d = q->device;
    void *arguments[] = {&l->arguments};
    return d->cu->launch(d->measures[l->kernel], l->groups, 1, 1, l->threads, 1, 1, l->shared,
                         q->stream, arguments, NULL);
}

static wcodec_status measure(struct wcodec_queue *q, const struct wcodec_tensor_measure *m,
                             wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result =
        wcodec_gpu_measure_tensor(m, WCODEC_GPU_MEASURE_WARPS, address_of, launch_measuring, q);
    return wcodec_cuda_leave(d, result, "cuLaunchKernel", err);
}

const struct wcodec_backend_encoders wcodec_cuda_encoders = {supports, code, measure};
