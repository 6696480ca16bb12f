/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the encoder decided for a tensor: everything that the tiles are coded with. */
#ifndef WCODEC_ENCODE_PLAN_H
#define WCODEC_ENCODE_PLAN_H

#include "backends/cpu/encode.h"
#include "coding/tile.h"
#include "encode/assign.h"
#include "encode/split.h"
#include "encode/tensor.h"

struct wcodec_plan {
    const wcodec_allocator *allocator;
    struct wcodec_tiling *tiling;                         /* but for prefix_size, which the payload decides */
    struct wcodec_encode_table *tables[WCODEC_MAX_CODED]; /* each coded field's pool */
    struct wcodec_costs *costs[WCODEC_MAX_CODED];         /* to choose among them; NULL where there is only one */
    struct wcodec_cpu_encoder *encoder;                   /* of tiling and tables */
    uint64_t order0_bits;
    uint64_t word_bits; /* estimate of all words together */
};

/* Plan for a surveyed tensor whose elements are not all equal. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_plan_tensor(wcodec_context *context, const struct wcodec_encode_settings *settings, wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                                 const struct wcodec_survey *survey, struct wcodec_plan **plan, wcodec_error *err);
void wcodec_plan_free(struct wcodec_plan *plan);

/* log2 of the tile's elements for a tensor of so many elements (doc/format.md 2 leaves it to the encoder). */
unsigned wcodec_tile_policy(const struct wcodec_encode_settings *settings, uint64_t elements);

#endif
