/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Makes random tensors in blocks: any view, any modes, any residuals. */
#ifndef WCODEC_TESTS_UNIT_BLOCKS_SUPPORT_H
#define WCODEC_TESTS_UNIT_BLOCKS_SUPPORT_H

#include "coding/blocks.h"
#include "support_tiles.h"

struct support_blocks {
    struct wcodec_blocks blocks;
    uint8_t *modes; /* packed */
    uint8_t *data;  /* blocks.size bytes: what the reference makes of the residuals, which are what its tensor in tiles is of */
};

/* Makes x and b. Free with both. */
void support_blocks_make(uint64_t *seed, struct support_tensor *x, struct support_blocks *b);
void support_blocks_free(struct support_blocks *b);

/* A random part of the tensor: bytes [*begin, *end), and the tiles that have its blocks. */
void support_blocks_part(uint64_t *seed, const struct support_tensor *x, const struct support_blocks *b, uint64_t *begin, uint64_t *end, uint64_t *first, uint64_t *count);

#endif
