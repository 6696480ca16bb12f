/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the encoder decided for a tensor: everything that the tiles are coded with.
 *
 * The policy of profiles is one for CPUs and GPUs, since the encoder does not know who will decode.
 * Fields with 8 and more raw bits beside them (bf16, f16, f32) take P8, others (int8, e4m3) pairs,
 * unless another profile is smaller by 0.3 % of the tensor. CPUs decode P8 faster
 * (bench/README.md), GPUs pairs: bf16 by 5 %, f32 and f16 by 2 to 3 %, int8 by 20 %
 * (bench/gpu/README.md); so each has what the slower of the two would lose most by. Who writes for
 * one kind alone asks for
 * --profile=pairs or p8; --tune=latency, which is for GPUs, prefers pairs, and makes tiles small,
 * of which a GPU needs more than small tensors have. */
#ifndef WCODEC_ENCODE_PLAN_H
#define WCODEC_ENCODE_PLAN_H

#include "backends/cpu/encode.h"
#include "coding/tile.h"
#include "encode/assign.h"
#include "encode/split.h"
#include "encode/tensor.h"

struct wcodec_plan {
    const wcodec_allocator *allocator;
    struct wcodec_tiling *tiling; /* but for prefix_size, which the payload decides */
    struct wcodec_encode_table *tables[WCODEC_MAX_CODED]; /* each coded field's pool */
    struct wcodec_costs
        *costs[WCODEC_MAX_CODED];       /* to choose among them; NULL where there is only one */
    struct wcodec_cpu_encoder *encoder; /* of tiling and tables */
    bool constant_above;                /* as of wcodec_split */
    uint64_t order0_bits;
    uint64_t word_bits; /* estimate of all words together */
};

/* Plan for a surveyed tensor whose elements are not all equal. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_plan_tensor(wcodec_context *context,
                                 const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                 const uint8_t *data, uint64_t size,
                                 const struct wcodec_survey *survey, struct wcodec_plan **plan,
                                 wcodec_error *err);
void wcodec_plan_free(struct wcodec_plan *plan);

/* Bytes that the payload will have, about: mostly within some tenths of a percent. */
uint64_t wcodec_plan_size(const struct wcodec_plan *plan);

/* log2 of the tile's elements for a tensor of so many elements (doc/format.md 2 leaves it to the
 * encoder). */
unsigned wcodec_tile_policy(const struct wcodec_encode_settings *settings, uint64_t elements);

#endif
