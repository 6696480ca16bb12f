/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors of which many elements are zero (doc/format.md 11): a mask that has a bit for each
 * element, and the elements that are not zero. Mask and values are coded as entries are, which is
 * their callers'. */
#ifndef WCODEC_CODING_MASKED_H
#define WCODEC_CODING_MASKED_H

#include "core/bytes.h"
#include <wcodec/context.h>

enum {
    WCODEC_MASKED_MASK = 0,
    WCODEC_MASKED_VALUES = 1,
    WCODEC_MASKED_PARTS = 2,
    WCODEC_MASKED_HEAD_MAX = 3 + 10 + 4, /* bytes of the record, but for parts */
    WCODEC_MASKED_AFTER = 8 /* bytes after values that wcodec_masked_spread() may read */
};

/* What the record says, but for the parts. */
struct wcodec_masked {
    uint8_t element_log2, tile_log2;
    uint64_t size, elements, tiles;
    uint64_t values; /* elements that are not zero */
    uint32_t check;  /* of the counts */
};

/* Parse up to the parts. *newer: another form; the rest is not looked at. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_masked_read(struct wcodec_cursor *c, uint64_t size,
                                 struct wcodec_masked *masked, bool *newer, wcodec_error *err);
/* The other way; returns the bytes, at most WCODEC_MASKED_HEAD_MAX. */
size_t wcodec_masked_write(const struct wcodec_masked *masked, uint8_t *to);

/* Sizes of both parts. */
static inline uint64_t wcodec_masked_part_size(const struct wcodec_masked *m, unsigned part)
{
    return part == WCODEC_MASKED_MASK ? wcodec_div_up_u64(m->elements, 8)
                                      : m->values << m->element_log2;
}

/* Elements of a tile. */
static inline uint64_t wcodec_masked_tile_elements(const struct wcodec_masked *m, uint64_t tile)
{
    const uint64_t begin = tile << m->tile_log2, most = (uint64_t)1 << m->tile_log2;
    return m->elements - begin < most ? m->elements - begin : most;
}

/* Bytes that the payload begins with: a count for each tile. */
static inline uint64_t wcodec_masked_counts_size(const struct wcodec_masked *m)
{
    return 4 * m->tiles;
}

/* The check of the counts. */
uint32_t wcodec_masked_check(const uint8_t *counts, uint64_t size);
/* Check the counts, and add them up: firsts has m->tiles + 1 numbers, of each tile's first value
 * and of their end. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_masked_counts_read(const struct wcodec_masked *m, const uint8_t *counts,
                                        uint64_t *firsts, wcodec_error *err);

/* The ones among the first `elements` bits of a mask. */
uint64_t wcodec_masked_ones(const uint8_t *mask, uint64_t elements);
/* Put a tile's values where its mask has ones, and zeros elsewhere: reads WCODEC_MASKED_AFTER
 * bytes after the values. False, and nothing is written: the mask has not `count` ones, or one
 * after its end. */
bool wcodec_masked_spread(unsigned element_log2, const uint8_t *mask, const uint8_t *values,
                          uint64_t count, uint64_t elements, uint8_t *out);
/* The other way: the mask (whole bytes, zeros after its end) and the values of a tile. Returns how
 * many values there are. */
uint64_t wcodec_masked_gather(unsigned element_log2, const uint8_t *data, uint64_t elements,
                              uint8_t *mask, uint8_t *values);
/* Elements that are not zero. */
uint64_t wcodec_masked_count(unsigned element_log2, const uint8_t *data, uint64_t elements);

#endif
