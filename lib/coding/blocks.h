/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in blocks (doc/format.md 4): the view as a matrix, the modes of its blocks, and the way
 * between a tensor's elements and the residual sequence, which is coded as a tensor in tiles. */
#ifndef WCODEC_CODING_BLOCKS_H
#define WCODEC_CODING_BLOCKS_H

#include "coding/predict.h"
#include "coding/tiling.h"

enum {
    WCODEC_BLOCKS_FORM = 1,          /* the only one so far */
    WCODEC_BLOCKS_ROW_MAX = 1 << 20, /* bytes */
    WCODEC_BLOCKS_ELEMENT_LOG2_MAX = 1
};

/* The view of a tensor, and its modes. */
struct wcodec_blocks {
    uint64_t columns; /* C */
    uint8_t mode_count;
    uint8_t modes[WCODEC_MODES];   /* ascending */
    uint64_t counts[WCODEC_MODES]; /* blocks of each */
    uint32_t check;                /* of the packed modes */
    /* Derived by wcodec_blocks_derive(). */
    uint8_t element_log2;
    uint64_t size;   /* bytes of the tensor */
    uint64_t rows;   /* R */
    uint64_t across; /* blocks of 16 rows */
    uint64_t count;  /* B */
};

/* What follows from columns and mode_count for a tensor of `size` > 0 bytes in elements of
 * 2^element_log2. WCODEC_ERROR_CORRUPT if there is no such view. */
wcodec_status wcodec_blocks_derive(struct wcodec_blocks *blocks, uint64_t size,
                                   unsigned element_log2, wcodec_error *err);

/* Bytes of the elements of a row of blocks that is not the last. */
static inline uint64_t wcodec_blocks_band_size(const struct wcodec_blocks *b)
{
    return b->columns * WCODEC_BLOCK_SIDE << b->element_log2;
}

/* Bytes of the residual sequence. */
static inline uint64_t wcodec_blocks_residual_size(const struct wcodec_blocks *b)
{
    return b->count * WCODEC_BLOCK << b->element_log2;
}

/* Bits of a block's number of its mode. */
static inline unsigned wcodec_blocks_index_bits(const struct wcodec_blocks *b)
{
    return b->mode_count == 1 ? 0 : b->mode_count == 2 ? 1 : b->mode_count <= 4 ? 2 : 4;
}

/* Bytes of the packed modes. */
static inline uint64_t wcodec_blocks_modes_size(const struct wcodec_blocks *b)
{
    return (b->count * wcodec_blocks_index_bits(b) + 7) / 8;
}

/* Where the residuals' own payload begins in the tensor's. */
static inline uint64_t wcodec_blocks_tiles_begin(const struct wcodec_blocks *b)
{
    return (wcodec_blocks_modes_size(b) + 15) / 16 * 16;
}

/* Number of a block's mode in the list; `packed` are the packed modes, checked. */
static inline unsigned wcodec_blocks_mode_number(const struct wcodec_blocks *b,
                                                 const uint8_t *packed, uint64_t block)
{
    const unsigned bits = wcodec_blocks_index_bits(b);
    return bits == 0
               ? 0
               : (unsigned)packed[block * bits / 8] >> (block * bits % 8) & ((1u << bits) - 1);
}

static inline unsigned wcodec_blocks_mode(const struct wcodec_blocks *b, const uint8_t *packed,
                                          uint64_t block)
{
    return b->modes[wcodec_blocks_mode_number(b, packed, block)];
}

/* Parse the parameters of an index record (all that is left in cursor), for a tensor of `size`
 * bytes. *newer is set, and nothing else, where the form is none that this version knows.
 * WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_blocks_read(struct wcodec_cursor *cursor, uint64_t size,
                                 struct wcodec_blocks *blocks, struct wcodec_tiling *tiling,
                                 bool *newer, wcodec_error *err);

#define WCODEC_BLOCKS_MAX_BYTES (20 + 11 * WCODEC_MODES + WCODEC_TILING_MAX_BYTES)
/* Write the parameters; returns the number of bytes, at most WCODEC_BLOCKS_MAX_BYTES. */
size_t wcodec_blocks_write(const struct wcodec_blocks *blocks, const struct wcodec_tiling *tiling,
                           uint8_t *bytes);

/* Check the packed modes, and that zeros follow up to where the tiles begin: tiles_begin bytes are
 * there. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_blocks_check_modes(const struct wcodec_blocks *blocks, const uint8_t *packed,
                                        wcodec_error *err);
uint32_t wcodec_blocks_modes_check(const struct wcodec_blocks *blocks, const uint8_t *packed);

/* A block's elements from the tensor at data; padding repeats the last column and row, which
 * predictors like. */
void wcodec_block_load(const struct wcodec_blocks *blocks, const uint8_t *data, uint64_t block,
                       uint16_t elements[WCODEC_BLOCK]);

/* A block's place among residuals that begin with block `first`. */
void wcodec_residuals_store(const struct wcodec_blocks *blocks,
                            const uint16_t residuals[WCODEC_BLOCK], uint8_t *to);

/* The 256 elements of a block, row by row, from its residuals: bytes as they are stored. Different
 * arrays. */
void wcodec_block_restore(unsigned mode, unsigned element_log2, const uint8_t *residuals,
                          uint8_t *elements);

/* Put those of a block's elements that are bytes [begin, end) of the tensor where they belong in
 * dst, which starts with byte `begin`. */
void wcodec_block_put(const struct wcodec_blocks *blocks, uint64_t block, const uint8_t *elements,
                      uint64_t begin, uint64_t end, uint8_t *dst);

/* Reconstruct a block from its residuals and put those of its elements that are bytes [begin, end)
 * of the tensor where they belong in dst, which starts with byte `begin`. */
void wcodec_block_reconstruct(const struct wcodec_blocks *blocks, uint64_t block, unsigned mode,
                              const uint8_t *residuals, uint64_t begin, uint64_t end, uint8_t *dst);

/* Do the residuals give the block of the tensor at data? */
bool wcodec_block_is_right(const struct wcodec_blocks *blocks, uint64_t block, unsigned mode,
                           const uint8_t *residuals, const uint8_t *data);

#endif
