/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Makes random tensors in blocks, in fragments and lossy ones: any view, any modes and scales, any
 * residuals and coefficients. */
#ifndef WCODEC_TESTS_UNIT_BLOCKS_SUPPORT_H
#define WCODEC_TESTS_UNIT_BLOCKS_SUPPORT_H

#include "backends/backend.h"
#include "support_tiles.h"

struct support_blocks {
    bool is_lossy, in_fragments;
    struct wcodec_blocks blocks;
    struct wcodec_lossy lossy;
    struct wcodec_fragments fragments;
    uint8_t *modes; /* packed, and scales */
    uint64_t size;  /* bytes of the tensor */
    uint8_t *data;  /* what the reference makes of the residuals or coefficients, which are what its
                       tensor in tiles is of */
};

/* Makes x and b. Free with both. */
void support_blocks_make(uint64_t *seed, struct support_tensor *x, struct support_blocks *b);
void support_lossy_make(uint64_t *seed, struct support_tensor *x, struct support_blocks *b);
void support_fragments_make(uint64_t *seed, struct support_tensor *x, struct support_blocks *b);
void support_blocks_free(struct support_blocks *b);

/* A random part of the tensor: sets the job's first, count, begin, end, and what it says of blocks.
 */
void support_blocks_part(uint64_t *seed, const struct support_tensor *x,
                         const struct support_blocks *b, struct wcodec_job *job);

#endif
