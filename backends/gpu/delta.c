/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/delta.h"

#include <string.h>

enum { WARPS = 4, GROUPS_MOST = 1 << 16 };

struct wcodec_gpu_grid wcodec_gpu_leaves(const struct wcodec_tensor_leaves *t, uint64_t elements,
                                         uint64_t out, struct wcodec_leaves_launch *l)
{
    const uint64_t groups = (t->count + WARPS - 1) / WARPS;
    *l = (struct wcodec_leaves_launch){
        .elements = elements + t->elements_at, .out = out + t->out_at, .count = t->count};
    memcpy(l->secret, t->secret, sizeof l->secret);
    return (struct wcodec_gpu_grid){groups < GROUPS_MOST ? (uint32_t)groups : GROUPS_MOST,
                                    32 * WARPS};
}

struct wcodec_gpu_grid wcodec_gpu_patch(const struct wcodec_tensor_patch *t, uint64_t elements,
                                        uint64_t work, struct wcodec_patch_launch *l)
{
    *l = (struct wcodec_patch_launch){.elements = elements + t->elements_at,
                                      .tiles = work + t->tiles,
                                      .faults = work + t->faults,
                                      .codes = work + t->codes,
                                      .streams = work + t->streams,
                                      .words = t->streams_size / 4 + 1,
                                      .count = t->count,
                                      .element_log2 = t->element_log2,
                                      .xor_values = t->xor_values,
                                      .gap_bits = t->gap_bits,
                                      .value_bits = t->value_bits};
    /* A warp alone: few tiles are to be on many multiprocessors. */
    return (struct wcodec_gpu_grid){(t->count + 31) / 32, 32};
}
