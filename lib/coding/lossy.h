/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors (doc/format.md 5): the view as a matrix, modes of blocks and scales, and the way
 * from the coefficient sequence, which is coded as a tensor in tiles, to the numbers that
 * approximate the tensor's. */
#ifndef WCODEC_CODING_LOSSY_H
#define WCODEC_CODING_LOSSY_H

#include "coding/floats.h"
#include "coding/tiling.h"
#include "coding/transform.h"
#include <wcodec/base.h>

enum {
    WCODEC_LOSSY_FORM = 1,           /* the only one so far */
    WCODEC_LOSSY_ROW_MAX = 1 << 20,  /* bytes of elements */
    WCODEC_COEFFICIENT_LOG2_MAX = 1, /* 8 or 16 bits */
    WCODEC_SUPERBLOCK_ROWS = 16,
    WCODEC_SUPERBLOCK_COLUMNS = 256,
    WCODEC_SUPERBLOCK_LOG2 = 12,
    WCODEC_SUPERBLOCK = 1 << WCODEC_SUPERBLOCK_LOG2, /* coefficients */
    WCODEC_SUPERBLOCK_BLOCKS = 64                    /* of 8 x 8, 32 side by side */
};

/* The view of a tensor, its modes, and what the encoder measured. */
struct wcodec_lossy {
    uint64_t columns;   /* C */
    uint8_t row_scales; /* enum wcodec_scales */
    uint8_t order;      /* enum wcodec_order; DIAGONALS where plain */
    uint8_t mode_count;
    uint8_t modes[WCODEC_TRANSFORMS];   /* enum wcodec_transform, ascending */
    uint64_t counts[WCODEC_TRANSFORMS]; /* blocks of each */
    double largest_error;               /* absolute */
    double mean_squared_error;
    double mean_square; /* of the original */
    uint32_t check;     /* of packed modes and scales */
    /* Derived by wcodec_lossy_derive(). */
    wcodec_dtype dtype;       /* BF16, F16 or F32 */
    uint8_t element_log2;     /* of its bytes */
    uint8_t coefficient_log2; /* likewise: the tiling's element_log2 */
    bool plain;               /* coefficient i is element i: there are no blocks */
    uint64_t size;            /* bytes of the tensor */
    uint64_t elements;        /* N */
    uint64_t rows;            /* R */
    uint64_t across;          /* superblocks of 16 rows */
    uint64_t superblocks;     /* 0 where plain */
    uint64_t blocks;          /* B: 64 a superblock, those in the padding too; plain: N */
};

/* Can tensors of this dtype be lossy? */
static inline bool wcodec_lossy_dtype(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_BF16 || dtype == WCODEC_DTYPE_F16 || dtype == WCODEC_DTYPE_F32;
}

/* What follows from columns and modes for a tensor of `size` > 0 bytes. WCODEC_ERROR_CORRUPT if
 * there is no such view. */
wcodec_status wcodec_lossy_derive(struct wcodec_lossy *lossy, uint64_t size, wcodec_dtype dtype,
                                  unsigned coefficient_log2, wcodec_error *err);

/* Length of the coefficient sequence. */
static inline uint64_t wcodec_lossy_coefficients(const struct wcodec_lossy *l)
{
    return l->plain ? l->elements : l->superblocks << WCODEC_SUPERBLOCK_LOG2;
}

/* Bytes of the elements of a row of superblocks that is not the last. */
static inline uint64_t wcodec_lossy_band_size(const struct wcodec_lossy *l)
{
    return l->columns * WCODEC_SUPERBLOCK_ROWS << l->element_log2;
}

/* Bits of a block's number of its mode. */
static inline unsigned wcodec_lossy_index_bits(const struct wcodec_lossy *l)
{
    return l->mode_count - 1u; /* 0, 1 or 2 */
}

/* The payload begins with the side: the packed modes, then the scales. */
static inline uint64_t wcodec_lossy_modes_size(const struct wcodec_lossy *l)
{
    return l->superblocks * WCODEC_SUPERBLOCK_BLOCKS / 8 * wcodec_lossy_index_bits(l);
}

static inline uint64_t wcodec_lossy_scale_count(const struct wcodec_lossy *l)
{
    return l->row_scales ? l->rows : 1;
}

static inline uint64_t wcodec_lossy_side_size(const struct wcodec_lossy *l)
{
    return wcodec_lossy_modes_size(l) + 4 * wcodec_lossy_scale_count(l);
}

/* Where the coefficients' own payload begins in the tensor's. */
static inline uint64_t wcodec_lossy_tiles_begin(const struct wcodec_lossy *l)
{
    return wcodec_align_u64(wcodec_lossy_side_size(l), 16);
}

/* Mode (enum wcodec_transform) of block 64 * superblock + 32 * half + column of blocks; `side` is
 * checked. */
static inline unsigned wcodec_lossy_mode(const struct wcodec_lossy *l, const uint8_t *side,
                                         uint64_t block)
{
    const unsigned bits = wcodec_lossy_index_bits(l);
    return l->modes[bits == 0 ? 0
                              : (unsigned)side[block * bits / 8] >> (block * bits % 8) &
                                    ((1u << bits) - 1)];
}

/* Scale of a row of the view. */
static inline float wcodec_lossy_scale(const struct wcodec_lossy *l, const uint8_t *side,
                                       uint64_t row)
{
    return wcodec_f32_of_bits(
        wcodec_load_u32(side + wcodec_lossy_modes_size(l) + (l->row_scales ? 4 * row : 0)));
}

/* 0, or 2^-100 to 2^60: no product with a number of 32 bits is subnormal or overflows, so that
 * devices which flush to zero give the same bits. */
static inline bool wcodec_scale_valid(float scale)
{
    const uint32_t bits = wcodec_f32_bits(scale);
    return bits == 0 || (bits >= 0x0D800000 && bits <= 0x5D800000);
}

/* Place in its superblock of the coefficient with number k of its order, of block 0 to 63. */
static inline unsigned wcodec_coefficient_index(unsigned block, unsigned k)
{
    return WCODEC_GROUP * (block / 32 * 16 + k / 4) + block % 32 * 4 + k % 4;
}

/* Coefficient i of a sequence of 2^log2 bytes each. */
static inline int32_t wcodec_coefficient(const uint8_t *coefficients, unsigned log2, size_t i)
{
    return log2 ? (int16_t)wcodec_load_u16(coefficients + 2 * i) : (int8_t)coefficients[i];
}

/* Parse the parameters of an index record (all that is left in cursor), for a tensor of `size`
 * bytes. *newer is set, and nothing else, where the form is none that this version knows.
 * WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_lossy_read(struct wcodec_cursor *cursor, uint64_t size, wcodec_dtype dtype,
                                struct wcodec_lossy *lossy, struct wcodec_tiling *tiling,
                                bool *newer, wcodec_error *err);

#define WCODEC_LOSSY_MAX_BYTES (51 + 11 * WCODEC_TRANSFORMS + WCODEC_TILING_MAX_BYTES)
/* Write the parameters; returns the number of bytes, at most WCODEC_LOSSY_MAX_BYTES. */
size_t wcodec_lossy_write(const struct wcodec_lossy *lossy, const struct wcodec_tiling *tiling,
                          uint8_t *bytes);

/* Check modes and scales, and that zeros follow up to where the tiles begin: tiles_begin bytes are
 * there. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_lossy_check_side(const struct wcodec_lossy *lossy, const uint8_t *side,
                                      wcodec_error *err);
uint32_t wcodec_lossy_side_check(const struct wcodec_lossy *lossy, const uint8_t *side);

/* A value (64 is one step) as an element: its bits. The product is rounded to nearest, halves to
 * even, as is what follows. */
uint16_t wcodec_bf16_from_f32(float value); /* not NaN */
uint16_t wcodec_f16_from_f32(float value);  /* not NaN; large values become infinite */
uint32_t wcodec_lossy_element(wcodec_dtype dtype, int32_t value, float scale);
void wcodec_lossy_store(wcodec_dtype dtype, const int32_t *values, unsigned count, float scale,
                        uint8_t *to);

/* Reconstruct a superblock from its 4096 coefficients and put those of its elements that are bytes
 * [begin, end) of the tensor where they belong in dst, which starts with byte `begin`. */
void wcodec_superblock_reconstruct(const struct wcodec_lossy *lossy, const uint8_t *side,
                                   uint64_t superblock, const uint8_t *coefficients, uint64_t begin,
                                   uint64_t end, uint8_t *dst);

/* Of a plain tensor: elements [first, first + count) from their coefficients. */
void wcodec_plain_reconstruct(const struct wcodec_lossy *lossy, const uint8_t *side, uint64_t first,
                              uint64_t count, const uint8_t *coefficients, uint8_t *elements);

#endif
