/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/delta.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/delta.h"
#include "backends/kernels/delta_checks.h"

enum { SEED = 1 };

static bool supports(struct wcodec_device *device)
{
    (void)device; /* streams are read by words, as devices have them */
    return wcodec_fibers_supported() && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

static uint64_t address_of(const struct wcodec_memory *memory)
{
    return (uint64_t)(uintptr_t)memory->data;
}

static void run_leaves(struct wcodec_warp *warp, const void *argument)
{
    wcodec_leaves_kernel(warp, argument);
}

static void run_patch(struct wcodec_warp *warp, const void *argument)
{
    wcodec_patch_kernel(warp, argument);
}

static wcodec_status hash(struct wcodec_queue *queue, const struct wcodec_tensor_leaves *leaves,
                          wcodec_error *err)
{
    struct wcodec_leaves_launch l;
    const struct wcodec_gpu_grid g = wcodec_gpu_leaves(
        leaves, WCODEC_GPU_LEAVES_WARPS, address_of(leaves->elements), address_of(leaves->out), &l);
    const struct wcodec_lanes_launch lanes = {run_leaves, &l, g.groups, g.threads, 0, SEED};
    return wcodec_lanes_launch(queue->device->host, &lanes, err);
}

static void run_linear(struct wcodec_warp *warp, const void *argument)
{
    wcodec_linear_kernel(warp, argument);
}

static wcodec_status linear(struct wcodec_queue *queue, const struct wcodec_tensor_linear *t,
                            wcodec_error *err)
{
    struct wcodec_linear_launch l;
    const struct wcodec_gpu_grid g = wcodec_gpu_linear(
        t, WCODEC_GPU_LEAVES_WARPS, address_of(t->elements), address_of(t->out), &l);
    const struct wcodec_lanes_launch lanes = {run_linear, &l, g.groups, g.threads, 0, SEED};
    return wcodec_lanes_launch(queue->device->host, &lanes, err);
}

static wcodec_status patch(struct wcodec_queue *queue, const struct wcodec_tensor_patch *patch,
                           wcodec_error *err)
{
    struct wcodec_patch_launch l;
    const struct wcodec_gpu_grid g = wcodec_gpu_patch(
        patch, WCODEC_GPU_PATCH_WARPS, address_of(patch->elements), address_of(patch->work), &l);
    const struct wcodec_lanes_launch lanes = {run_patch, &l, g.groups, g.threads, g.shared, SEED};
    return wcodec_lanes_launch(queue->device->host, &lanes, err);
}

static void run_find(struct wcodec_warp *warp, const void *argument)
{
    wcodec_changes_kernel(warp, argument);
}

static void run_tally(struct wcodec_warp *warp, const void *argument)
{
    wcodec_stream_tally_kernel(warp, argument);
}

static void run_sizes(struct wcodec_warp *warp, const void *argument)
{
    wcodec_stream_sizes_kernel(warp, argument);
}

static void run_places(struct wcodec_warp *warp, const void *argument)
{
    wcodec_stream_places_kernel(warp, argument);
}

static void run_checks(struct wcodec_warp *warp, const void *argument)
{
    wcodec_stream_checks_kernel(warp, argument);
}

static void run_streams(struct wcodec_warp *warp, const void *argument)
{
    wcodec_stream_kernel(warp, argument);
}

static void run_proof(struct wcodec_warp *warp, const void *argument)
{
    wcodec_stream_proof_kernel(warp, argument);
}

static wcodec_status run_changes(struct wcodec_queue *queue, enum wcodec_delta_kernel number,
                                 const struct wcodec_tensor_changes *c,
                                 void (*kernel)(struct wcodec_warp *warp, const void *argument),
                                 wcodec_error *err)
{
    struct wcodec_changes_launch l;
    const struct wcodec_gpu_grid g = wcodec_gpu_changes(
        number, c, WCODEC_GPU_CHANGES_WARPS, address_of(c->elements), address_of(c->base),
        address_of(c->work), c->streams != NULL ? address_of(c->streams) : 0, &l);
    const struct wcodec_lanes_launch lanes = {kernel, &l, g.groups, g.threads, g.shared, SEED};
    return wcodec_lanes_launch(queue->device->host, &lanes, err);
}

static wcodec_status find(struct wcodec_queue *queue, const struct wcodec_tensor_changes *c,
                          wcodec_error *err)
{
    const wcodec_status status = run_changes(queue, WCODEC_DELTA_CHANGES, c, run_find, err);
    return status == WCODEC_OK ? run_changes(queue, WCODEC_DELTA_TALLY, c, run_tally, err) : status;
}

static wcodec_status code(struct wcodec_queue *queue, const struct wcodec_tensor_changes *c,
                          bool prove, wcodec_error *err)
{
    static const enum wcodec_delta_kernel steps[] = {WCODEC_DELTA_CODE_STEPS};
    static void (*const kernels[])(struct wcodec_warp * warp, const void *argument) = {
        run_sizes, run_places, run_streams, run_checks, run_proof};
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < sizeof steps / sizeof *steps && status == WCODEC_OK; i++)
        if (prove || steps[i] != WCODEC_DELTA_PROOF)
            status = run_changes(queue, steps[i], c, kernels[i], err);
    return status;
}

const struct wcodec_backend_deltas wcodec_emulated_deltas = {supports, hash, linear,
                                                             patch,    find, code};
