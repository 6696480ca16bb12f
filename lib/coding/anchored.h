/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables of vectors that are approximated (doc/format.md 12): rows of whole numbers of steps, each
 * as the number of an anchor, a row of such numbers that many rows are near, and the difference
 * from it. The three parts are coded as entries are, which is their callers'. */
#ifndef WCODEC_CODING_ANCHORED_H
#define WCODEC_CODING_ANCHORED_H

#include "core/bytes.h"
#include <wcodec/context.h>

enum {
    WCODEC_ANCHORED_ANCHORS = 0,
    WCODEC_ANCHORED_INDICES = 1,
    WCODEC_ANCHORED_RESIDUALS = 2,
    WCODEC_ANCHORED_PARTS = 3,
    WCODEC_ANCHORED_BYTES_MAX = 1 << 22 /* of all anchors: any row needs them in memory */,
    WCODEC_ANCHORED_HEAD_MAX = 4 + 24 + 3 + 10 + 10 /* bytes of the record, but for parts */
};

/* What the record says, but for the parts. */
struct wcodec_anchored {
    float scale;                                           /* 1/64 of a step */
    double largest_error, mean_squared_error, mean_square; /* as in struct wcodec_lossy */
    uint64_t columns, anchors;
    uint8_t number_log2; /* of the bytes of a number of anchors and residuals: 0 or 1 */
    uint8_t index_log2;  /* of an index: 0 to 2 */
    /* Derived. */
    wcodec_dtype dtype; /* BF16, F16 or F32 */
    uint8_t element_log2;
    uint64_t rows;
};

/* Parse up to the parts, for a tensor of `size` > 0 bytes. *newer: another form; the rest is not
 * looked at. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_anchored_read(struct wcodec_cursor *c, uint64_t size, wcodec_dtype dtype,
                                   struct wcodec_anchored *anchored, bool *newer,
                                   wcodec_error *err);
/* The other way; returns the bytes, at most WCODEC_ANCHORED_HEAD_MAX. */
size_t wcodec_anchored_write(const struct wcodec_anchored *anchored, uint8_t *to);

/* Size of a part. */
static inline uint64_t wcodec_anchored_part_size(const struct wcodec_anchored *a, unsigned part)
{
    if (part == WCODEC_ANCHORED_INDICES)
        return a->rows << a->index_log2;
    return (part == WCODEC_ANCHORED_ANCHORS ? a->anchors : a->rows) * a->columns << a->number_log2;
}

/* Bytes of a row of the tensor. */
static inline uint64_t wcodec_anchored_row_size(const struct wcodec_anchored *a)
{
    return a->columns << a->element_log2;
}

/* `rows` rows from all anchors, and from these rows' indices and residuals. False, and some may
 * have been written: an index of no anchor. */
bool wcodec_anchored_restore(const struct wcodec_anchored *anchored, const uint8_t *anchors,
                             const uint8_t *indices, const uint8_t *residuals, uint64_t rows,
                             uint8_t *out);

#endif
