/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors are hashed, and changed by deltas, where they are (backends/kernels/delta.h). */
#include "backends/cuda/cuda.h"

cu_result wcodec_cuda_find_deltas(struct wcodec_device *d)
{
    return wcodec_cuda_find(d, "", wcodec_delta_kernel_names, WCODEC_DELTA_KERNELS, d->deltas);
}

static bool supports(struct wcodec_device *device)
{
    (void)device;
    return true;
}

static wcodec_status run(struct wcodec_queue *q, enum wcodec_delta_kernel kernel,
                         struct wcodec_gpu_grid grid, void *launch, wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    void *arguments[] = {launch};
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result = d->cu->launch(d->deltas[kernel], grid.groups, 1, 1, grid.threads, 1, 1,
                                           grid.shared, q->stream, arguments, NULL);
    return wcodec_cuda_leave(d, result, "cuLaunchKernel", err);
}

static wcodec_status hash(struct wcodec_queue *q, const struct wcodec_tensor_leaves *leaves,
                          wcodec_error *err)
{
    struct wcodec_leaves_launch l;
    const struct wcodec_gpu_grid grid = wcodec_gpu_leaves(
        leaves, WCODEC_GPU_LEAVES_WARPS, leaves->elements->address, leaves->out->address, &l);
    return run(q, WCODEC_DELTA_LEAVES, grid, &l, err);
}

static wcodec_status linear(struct wcodec_queue *q, const struct wcodec_tensor_linear *t,
                            wcodec_error *err)
{
    struct wcodec_linear_launch l;
    const struct wcodec_gpu_grid grid =
        wcodec_gpu_linear(t, WCODEC_GPU_LEAVES_WARPS, t->elements->address, t->out->address, &l);
    return run(q, WCODEC_DELTA_LINEAR, grid, &l, err);
}

static wcodec_status patch(struct wcodec_queue *q, const struct wcodec_tensor_patch *patch,
                           wcodec_error *err)
{
    struct wcodec_patch_launch l;
    const struct wcodec_gpu_grid grid = wcodec_gpu_patch(
        patch, WCODEC_GPU_PATCH_WARPS, patch->elements->address, patch->work->address, &l);
    return run(q, WCODEC_DELTA_PATCH, grid, &l, err);
}

static wcodec_status run_changes(struct wcodec_queue *q, enum wcodec_delta_kernel kernel,
                                 const struct wcodec_tensor_changes *c, wcodec_error *err)
{
    struct wcodec_changes_launch l;
    const struct wcodec_gpu_grid grid = wcodec_gpu_changes(
        kernel, c,
        kernel == WCODEC_DELTA_PLACES ? WCODEC_GPU_PLACES_WARPS : WCODEC_GPU_CHANGES_WARPS,
        c->elements->address, c->base->address, c->work->address,
        c->streams != NULL ? c->streams->address : 0, &l);
    return run(q, kernel, grid, &l, err);
}

static wcodec_status find(struct wcodec_queue *q, const struct wcodec_tensor_changes *c,
                          wcodec_error *err)
{
    const wcodec_status status = run_changes(q, WCODEC_DELTA_CHANGES, c, err);
    return status == WCODEC_OK ? run_changes(q, WCODEC_DELTA_TALLY, c, err) : status;
}

static wcodec_status code(struct wcodec_queue *q, const struct wcodec_tensor_changes *c, bool prove,
                          wcodec_error *err)
{
    static const enum wcodec_delta_kernel steps[] = {WCODEC_DELTA_CODE_STEPS};
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < sizeof steps / sizeof *steps && status == WCODEC_OK; i++)
        if (prove || steps[i] != WCODEC_DELTA_PROOF)
            status = run_changes(q, steps[i], c, err);
    return status;
}

const struct wcodec_backend_deltas wcodec_cuda_deltas = {supports, hash, linear, patch, find, code};
