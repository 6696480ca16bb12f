/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors are hashed, and changed by deltas, where they are (backends/kernels/delta.h), by programs
 * of coder.cl. */
#include "backends/opencl/opencl.h"

static wcodec_status enqueue(struct wcodec_queue *q, struct wcodec_opencl_coder_launch *l,
                             struct wcodec_gpu_grid grid, wcodec_error *err)
{
    l->groups = grid.groups;
    l->threads = grid.threads;
    l->shared = grid.shared;
    return wcodec_opencl_coder_enqueue(q, l, err);
}

static wcodec_status run(struct wcodec_queue *q, struct wcodec_opencl_coder_launch *l,
                         struct wcodec_gpu_grid grid, wcodec_error *err)
{
    const wcodec_status status = enqueue(q, l, grid, err);
    return status == WCODEC_OK ? wcodec_opencl_coders_flush(q, err) : status;
}

static wcodec_status hash(struct wcodec_queue *q, const struct wcodec_tensor_leaves *leaves,
                          wcodec_error *err)
{
    struct wcodec_leaves_launch a;
    struct wcodec_opencl_coder_launch l = {
        .kernel = WCODEC_OPENCL_DELTAS + WCODEC_DELTA_LEAVES,
        .arguments = &a,
        .arguments_size = sizeof a,
        .buffers = {leaves->elements->buffer, leaves->out->buffer},
        .buffer_count = 2};
    return run(q, &l,
               wcodec_gpu_leaves(leaves, wcodec_opencl_coder_warps(q->device, l.kernel), 0, 0, &a),
               err);
}

static wcodec_status linear(struct wcodec_queue *q, const struct wcodec_tensor_linear *t,
                            wcodec_error *err)
{
    struct wcodec_linear_launch a;
    struct wcodec_opencl_coder_launch l = {.kernel = WCODEC_OPENCL_DELTAS + WCODEC_DELTA_LINEAR,
                                           .arguments = &a,
                                           .arguments_size = sizeof a,
                                           .buffers = {t->elements->buffer, t->out->buffer},
                                           .buffer_count = 2};
    return run(q, &l,
               wcodec_gpu_linear(t, wcodec_opencl_coder_warps(q->device, l.kernel), 0, 0, &a), err);
}

static wcodec_status patch(struct wcodec_queue *q, const struct wcodec_tensor_patch *p,
                           wcodec_error *err)
{
    struct wcodec_patch_launch a;
    struct wcodec_opencl_coder_launch l = {.kernel = WCODEC_OPENCL_DELTAS + WCODEC_DELTA_PATCH,
                                           .arguments = &a,
                                           .arguments_size = sizeof a,
                                           .buffers = {p->elements->buffer, p->work->buffer},
                                           .buffer_count = 2};
    return run(q, &l, wcodec_gpu_patch(p, wcodec_opencl_coder_warps(q->device, l.kernel), 0, 0, &a),
               err);
}

/* Without streams yet, another buffer stands for them. shared: bytes of local memory at least. */
static wcodec_status enqueue_changes(struct wcodec_queue *q, enum wcodec_delta_kernel kernel,
                                     const struct wcodec_tensor_changes *c, uint32_t shared,
                                     wcodec_error *err)
{
    struct wcodec_changes_launch a;
    struct wcodec_opencl_coder_launch l = {
        .kernel = WCODEC_OPENCL_DELTAS + kernel,
        .arguments = &a,
        .arguments_size = sizeof a,
        .buffers = {c->elements->buffer, c->base->buffer, c->work->buffer,
                    c->streams != NULL ? c->streams->buffer : c->work->buffer},
        .buffer_count = 4};
    struct wcodec_gpu_grid grid = wcodec_gpu_changes(
        kernel, c, wcodec_opencl_coder_warps(q->device, l.kernel), 0, 0, 0, 0, &a);
    grid.shared = grid.shared > shared ? grid.shared : shared;
    return enqueue(q, &l, grid, err);
}

/* One launch finds changes and counts their classes: each takes NVIDIA's driver 5 microseconds. */
static wcodec_status find(struct wcodec_queue *q, const struct wcodec_tensor_changes *c,
                          wcodec_error *err)
{
    const wcodec_status status =
        enqueue_changes(q, WCODEC_DELTA_CHANGES, c, 4 * WCODEC_CHANGES_TALLY, err);
    return status == WCODEC_OK ? wcodec_opencl_coders_flush(q, err) : status;
}

/* Likewise streams, and what they decode to: a warp has the same tile in both. */
static wcodec_status code(struct wcodec_queue *q, const struct wcodec_tensor_changes *c, bool prove,
                          wcodec_error *err)
{
    const enum wcodec_delta_kernel steps[] = {WCODEC_DELTA_SIZES, WCODEC_DELTA_PLACES,
                                              prove ? WCODEC_DELTA_PROOF : WCODEC_DELTA_STREAMS,
                                              WCODEC_DELTA_CHECKS};
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < sizeof steps / sizeof *steps && status == WCODEC_OK; i++) {
        const unsigned warps =
            wcodec_opencl_coder_warps(q->device, WCODEC_OPENCL_DELTAS + steps[i]);
        const bool stages = steps[i] == WCODEC_DELTA_PROOF;
        status =
            enqueue_changes(q, steps[i], c, stages ? 4 * WCODEC_CHANGES_STAGE * warps : 0, err);
    }
    return status == WCODEC_OK ? wcodec_opencl_coders_flush(q, err) : status;
}

const struct wcodec_backend_deltas wcodec_opencl_deltas = {
    wcodec_opencl_has_coders, hash, linear, patch, find, code};
