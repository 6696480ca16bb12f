/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor that is to be coded with loss, as the lossy coder sees it: a matrix of numbers, each row
 * with a scale. */
#ifndef WCODEC_ENCODE_LOSSY_SOURCE_H
#define WCODEC_ENCODE_LOSSY_SOURCE_H

#include "coding/lossy.h"
#include "encode/tensor.h"

struct wcodec_lossy_source {
    const wcodec_allocator *allocator;
    wcodec_dtype dtype; /* BF16, F16 or F32 */
    unsigned element_log2;
    const uint8_t *data;
    uint64_t size, elements;
    uint64_t columns, rows; /* 1 column where there is no view */
    bool blocks;            /* the view can be cut into superblocks without much padding */
    bool finite;            /* no element is NaN or infinite */
    double largest;         /* absolute value */
    double peak; /* likewise, of an element divided by its row's weight: so many steps are its
                    coefficient */
    double mean_square;
    float *weights; /* NULL: all rows alike; or each row's share of the scale: its root mean square,
                       that of the tensor being 1. Owned */
};

/* Look at the tensor. With `by_row`, and where there are rows, with weights. WCODEC_ERROR_MEMORY,
 * _CANCELLED. */
wcodec_status wcodec_lossy_source_open(wcodec_context *context,
                                       const struct wcodec_encode_settings *settings, bool by_row,
                                       wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                                       struct wcodec_lossy_source *source, wcodec_error *err);
void wcodec_lossy_source_close(struct wcodec_lossy_source *source);

/* `count` numbers of the dtype. */
void wcodec_lossy_load(wcodec_dtype dtype, const uint8_t *from, size_t count, float *to);

/* A superblock's numbers, row by row; its last row and column are repeated into the padding. */
void wcodec_lossy_load_superblock(const struct wcodec_lossy_source *source, uint64_t superblock,
                                  float values[WCODEC_SUPERBLOCK]);

/* What the rows of a superblock are multiplied by: 1 / weight. */
void wcodec_lossy_row_factors(const struct wcodec_lossy_source *source, uint64_t superblock,
                              float factors[WCODEC_SUPERBLOCK_ROWS]);

/* Rows and columns of a superblock that are no padding. */
static inline uint64_t wcodec_lossy_across(const struct wcodec_lossy_source *s)
{
    return wcodec_div_up_u64(s->columns, WCODEC_SUPERBLOCK_COLUMNS);
}

static inline unsigned wcodec_lossy_height(const struct wcodec_lossy_source *s, uint64_t superblock)
{
    const uint64_t left = s->rows - superblock / wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_ROWS;
    return left < WCODEC_SUPERBLOCK_ROWS ? (unsigned)left : WCODEC_SUPERBLOCK_ROWS;
}

static inline unsigned wcodec_lossy_width(const struct wcodec_lossy_source *s, uint64_t superblock)
{
    const uint64_t left =
        s->columns - superblock % wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_COLUMNS;
    return left < WCODEC_SUPERBLOCK_COLUMNS ? (unsigned)left : WCODEC_SUPERBLOCK_COLUMNS;
}

static inline uint64_t wcodec_lossy_superblocks(const struct wcodec_lossy_source *s)
{
    return wcodec_lossy_across(s) * wcodec_div_up_u64(s->rows, WCODEC_SUPERBLOCK_ROWS);
}

#endif
