/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/delta.h"

#include <string.h>

enum { GROUPS_MOST = 1 << 16 };

const char *const wcodec_delta_kernel_names[WCODEC_DELTA_KERNELS] = {
    "leaves",  "patch",        "changes", "tally",         "stream_sizes",
    "streams", "stream_proof", "linear",  "stream_places", "stream_checks"};

struct wcodec_gpu_grid wcodec_gpu_leaves(const struct wcodec_tensor_leaves *t, unsigned warps,
                                         uint64_t elements, uint64_t out,
                                         struct wcodec_leaves_launch *l)
{
    const uint64_t groups = (t->count + warps - 1) / warps;
    *l = (struct wcodec_leaves_launch){.elements = elements + t->elements_at,
                                       .out = out + t->out_at,
                                       .count = t->count,
                                       .leaf_log2 = t->leaf_log2};
    memcpy(l->secret, t->secret, sizeof l->secret);
    return (struct wcodec_gpu_grid){groups < GROUPS_MOST ? (uint32_t)groups : GROUPS_MOST,
                                    32 * warps, 0};
}

struct wcodec_gpu_grid wcodec_gpu_linear(const struct wcodec_tensor_linear *t, unsigned warps,
                                         uint64_t elements, uint64_t out,
                                         struct wcodec_linear_launch *l)
{
    const uint64_t piece = (uint64_t)1 << WCODEC_LINEAR_PIECE_LOG2;
    *l = (struct wcodec_linear_launch){.elements = elements + t->elements_at,
                                       .out = out + t->out_at,
                                       .before = t->before,
                                       .size = t->size,
                                       .pieces = (uint32_t)((t->size + piece - 1) / piece)};
    const uint32_t groups = (l->pieces + warps - 1) / warps;
    return (struct wcodec_gpu_grid){groups < GROUPS_MOST ? groups : GROUPS_MOST, 32 * warps, 0};
}

struct wcodec_gpu_grid wcodec_gpu_patch(const struct wcodec_tensor_patch *t, unsigned warps,
                                        uint64_t elements, uint64_t work,
                                        struct wcodec_patch_launch *l)
{
    *l = (struct wcodec_patch_launch){.elements = elements + t->elements_at,
                                      .tiles = work + t->tiles,
                                      .results = work + t->results,
                                      .codes = work + t->codes,
                                      .streams = work + t->streams,
                                      .words = t->streams_size / 4 + 1,
                                      .count = t->count,
                                      .element_log2 = t->element_log2,
                                      .xor_values = t->xor_values,
                                      .gap_bits = t->gap_bits,
                                      .value_bits = t->value_bits};
    return (struct wcodec_gpu_grid){(t->count + warps - 1) / warps, 32 * warps,
                                    WCODEC_PATCH_SHARED};
}

static uint32_t shared_of(enum wcodec_delta_kernel kernel, unsigned warps)
{
    return kernel == WCODEC_DELTA_TALLY     ? 4 * WCODEC_CHANGES_TALLY
           : kernel == WCODEC_DELTA_STREAMS ? 4 * WCODEC_CHANGES_STAGE * warps
           : kernel == WCODEC_DELTA_PLACES  ? 8 * warps
                                            : 0;
}

struct wcodec_gpu_grid wcodec_gpu_changes(enum wcodec_delta_kernel kernel,
                                          const struct wcodec_tensor_changes *c, unsigned warps,
                                          uint64_t elements, uint64_t base, uint64_t work,
                                          uint64_t streams, struct wcodec_changes_launch *l)
{
    const struct wcodec_changes_work w = wcodec_changes_work(c);
    *l = (struct wcodec_changes_launch){.elements = elements + c->elements_at,
                                        .base = base + c->base_at,
                                        .tally = work,
                                        .counts = work + w.counts,
                                        .words = work + w.words,
                                        .codes = work + w.codes,
                                        .secret = work + w.secret,
                                        .firsts = work + w.firsts,
                                        .total = work + w.total,
                                        .coded = work + w.coded,
                                        .slots = work + w.slots,
                                        .streams = streams,
                                        .stream_words = (c->streams_room + 3) / 4,
                                        .count = c->count,
                                        .tiles = w.tiles,
                                        .tile_log2 = c->tile_log2,
                                        .element_log2 = c->element_log2,
                                        .slot = c->slot,
                                        .slot_size = w.slot_size,
                                        .xor_values = c->xor_values,
                                        .gap_bits = c->gap_bits,
                                        .value_bits = c->value_bits};
    return (struct wcodec_gpu_grid){kernel == WCODEC_DELTA_PLACES ? 1
                                                                  : (w.tiles + warps - 1) / warps,
                                    32 * warps, shared_of(kernel, warps)};
}
