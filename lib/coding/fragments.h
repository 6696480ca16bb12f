/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices in tiles whose elements are in the order in which matrix units take them (doc/format.md
 * 7): the view as a matrix, and the way between a tensor's elements and their sequence in the
 * tiles. */
#ifndef WCODEC_CODING_FRAGMENTS_H
#define WCODEC_CODING_FRAGMENTS_H

#include "coding/tiling.h"

enum {
    WCODEC_FRAGMENTS_FORM = 1,          /* the only one so far */
    WCODEC_FRAGMENTS_ROW_MAX = 1 << 20, /* bytes */
    WCODEC_FRAGMENTS_ELEMENT_LOG2_MAX = 1,
    WCODEC_SECTION_ROWS = 16,
    WCODEC_SECTION_COLUMNS = 128,
    WCODEC_SECTION = WCODEC_SECTION_ROWS * WCODEC_SECTION_COLUMNS, /* elements of a whole one */
    WCODEC_SECTION_LOG2 = 11
};

struct wcodec_fragments {
    uint64_t columns; /* C */
    /* Derived by wcodec_fragments_derive(). */
    uint8_t element_log2;
    uint64_t size; /* bytes of the tensor */
    uint64_t rows; /* R */
};

/* What follows from the columns for a tensor of `size` > 0 bytes in elements of 2^element_log2.
 * WCODEC_ERROR_CORRUPT if there is no such view. */
wcodec_status wcodec_fragments_derive(struct wcodec_fragments *fragments, uint64_t size,
                                      unsigned element_log2, wcodec_error *err);

/* Elements of a band that is not the last, and their bytes. */
static inline uint64_t wcodec_fragments_band(const struct wcodec_fragments *f)
{
    return f->columns * WCODEC_SECTION_ROWS;
}
static inline uint64_t wcodec_fragments_band_size(const struct wcodec_fragments *f)
{
    return wcodec_fragments_band(f) << f->element_log2;
}

/* Parse the parameters of an index record (all that is left in cursor), for a tensor of `size`
 * bytes. *newer is set, and nothing else, where the form is none that this version knows.
 * WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_fragments_read(struct wcodec_cursor *cursor, uint64_t size,
                                    struct wcodec_fragments *fragments,
                                    struct wcodec_tiling *tiling, bool *newer, wcodec_error *err);

#define WCODEC_FRAGMENTS_MAX_BYTES (11 + WCODEC_TILING_MAX_BYTES)
/* Write the parameters; returns the number of bytes, at most WCODEC_FRAGMENTS_MAX_BYTES. */
size_t wcodec_fragments_write(const struct wcodec_fragments *fragments,
                              const struct wcodec_tiling *tiling, uint8_t *bytes);

/* Elements of a section that are neighbours in the sequence. */
struct wcodec_section {
    uint64_t first; /* number in the sequence of the section's first element */
    uint64_t row, column;
    unsigned height, width; /* in their own order if it is whole, row by row otherwise */
};

static inline bool wcodec_section_is_whole(const struct wcodec_section *s)
{
    return s->height == WCODEC_SECTION_ROWS && s->width == WCODEC_SECTION_COLUMNS;
}

/* Where element k of a whole section stands in it. */
static inline unsigned wcodec_section_row(unsigned k)
{
    return k / 16 % 8 + k / 128 % 2 * 8;
}
static inline unsigned wcodec_section_column(unsigned k)
{
    return k % 4 + k / 4 % 4 * 8 + k / 256 % 2 * 4 + k / 512 * 32;
}

/* The section that has element i of the sequence. */
struct wcodec_section wcodec_fragments_section(const struct wcodec_fragments *fragments,
                                               uint64_t i);

/* Elements [first, first + count) of the sequence, of the tensor at data. */
void wcodec_fragments_gather(const struct wcodec_fragments *fragments, const uint8_t *data,
                             uint64_t first, uint64_t count, uint8_t *sequence);

/* Put those of elements [first, first + count) of the sequence that are bytes [begin, end) of the
 * tensor where they belong in dst, which starts with byte `begin`. */
void wcodec_fragments_put(const struct wcodec_fragments *fragments, uint64_t first, uint64_t count,
                          const uint8_t *sequence, uint64_t begin, uint64_t end, uint8_t *dst);

#endif
