/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Makes random tensors in tiles (every field list, profile, pool, run length, mode) and their
 * payloads: valid, but odder than any encoder's. */
#ifndef WCODEC_TESTS_UNIT_TILES_SUPPORT_H
#define WCODEC_TESTS_UNIT_TILES_SUPPORT_H

#include "coding/tile.h"

struct support_tensor {
    struct wcodec_tiling tiling;
    uint8_t *data; /* tiling.size bytes */
    uint8_t *payload;
    size_t payload_size;
};

/* A tensor of random fields and values. elements 0: random, a little over one tile at most. */
void support_tensor_make(uint64_t *seed, uint64_t elements, struct support_tensor *tensor);
/* As above with the fields, element size, tile size and add of `tiling` already set (not yet
 * derived; profiles, tables and runs set). */
void support_tensor_code(uint64_t *seed, uint64_t elements, struct support_tensor *tensor);
/* One of the field lists that decoders have code of their own for (shape below SUPPORT_SHAPES), in
 * small tiles. Random ones seldom have enough whole tiles of them. */
enum { SUPPORT_SHAPES = 12 };
void support_tensor_common(uint64_t *seed, unsigned shape, unsigned profile, uint64_t elements,
                           struct support_tensor *tensor);
void support_tensor_free(struct support_tensor *tensor);

/* If set, called with each tile that any of these codes: with what it was coded from, and what the
 * reference made of it. */
typedef void (*support_coded_fn)(const struct wcodec_tiling *tiling,
                                 const struct wcodec_encode_table *const pools[WCODEC_MAX_CODED],
                                 const struct wcodec_stream_plan plans[WCODEC_MAX_CODED],
                                 const void *data, uint32_t elements,
                                 const struct wcodec_tile_output *output);
extern support_coded_fn support_coded;

#endif
