/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors are hashed, and changed by deltas, where they are (backends/kernels/delta.h), by programs
 * of coder.cl. */
#include "backends/opencl/opencl.h"

static wcodec_status run(struct wcodec_queue *q, struct wcodec_opencl_coder_launch *l,
                         struct wcodec_gpu_grid grid, wcodec_error *err)
{
    l->groups = grid.groups;
    l->threads = grid.threads;
    l->shared = grid.shared;
    const wcodec_status status = wcodec_opencl_coder_enqueue(q, l, err);
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

/* Without streams yet, another buffer stands for them. */
static wcodec_status run_changes(struct wcodec_queue *q, enum wcodec_delta_kernel kernel,
                                 const struct wcodec_tensor_changes *c, wcodec_error *err)
{
    struct wcodec_changes_launch a;
    struct wcodec_opencl_coder_launch l = {
        .kernel = WCODEC_OPENCL_DELTAS + kernel,
        .arguments = &a,
        .arguments_size = sizeof a,
        .buffers = {c->elements->buffer, c->base->buffer, c->work->buffer,
                    c->streams != NULL ? c->streams->buffer : c->work->buffer},
        .buffer_count = 4};
    const struct wcodec_gpu_grid grid = wcodec_gpu_changes(
        kernel, c, wcodec_opencl_coder_warps(q->device, l.kernel), 0, 0, 0, 0, &a);
    return run(q, &l, grid, err);
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

const struct wcodec_backend_deltas wcodec_opencl_deltas = {
    wcodec_opencl_has_coders, hash, linear, patch, find, code};
