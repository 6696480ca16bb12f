/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The numbers of the format (doc/format.md) by name, for C, CUDA and OpenCL C alike: enumerators of
 * int only, and nothing is included. The codings of a tensor (1.3) are public: enum wcodec_coding
 * of wcodec/reader.h. */
#ifndef WCODEC_CODING_CODES_H
#define WCODEC_CODING_CODES_H

/* Section 2: what a field of an element is. */
enum wcodec_field_kind { WCODEC_FIELD_CONSTANT = 0, WCODEC_FIELD_RAW = 1, WCODEC_FIELD_CODED = 2 };

/* How a coded field is coded. */
enum wcodec_field_profile {
    WCODEC_PAIRS = 1, /* two elements a symbol, frequencies of 12 bits */
    WCODEC_P12 = 2,   /* one element a symbol, frequencies of 12 bits */
    WCODEC_P8 = 3     /* one element a symbol, frequencies of 8 bits, two symbols a step */
};

/* Section 2.1: how one field of one tile is stored. */
enum wcodec_stream_mode {
    WCODEC_STREAM_RANS = 0,
    WCODEC_STREAM_CONSTANT = 1, /* every element has the descriptor's symbol */
    WCODEC_STREAM_STORED = 2    /* of all fields at once: the tile's bytes as they are */
};

/* Why a tile could not be decoded: the same codes on every backend, a status word a tile. The first
 * that applies, in this order. */
enum wcodec_tile_fault {
    WCODEC_TILE_OK = 0,
    WCODEC_TILE_STATE = 1,   /* a start state below 2^16 */
    WCODEC_TILE_WORDS = 2,   /* words missing or left over */
    WCODEC_TILE_FINAL = 3,   /* a final state that cannot be */
    WCODEC_TILE_OUTLIER = 4, /* positions not increasing, position or value out of range */
    WCODEC_TILE_CHECK = 5    /* the check of the decoded bytes differs */
};

/* Section 4: a mode of a block is a predictor, and may have the differential pass. */
enum wcodec_predictor {
    WCODEC_PREDICTOR_NONE = 0,
    WCODEC_PREDICTOR_LEFT = 1,
    WCODEC_PREDICTOR_TOP = 2,
    WCODEC_PREDICTOR_AVERAGE = 3,
    WCODEC_PREDICTOR_PLANAR = 4,
    WCODEC_PREDICTOR_PAETH = 5,
    WCODEC_PREDICTOR_WHT = 6, /* no predictor: Walsh-Hadamard coefficients are coded */
    WCODEC_PREDICTORS = 7
};
enum {
    WCODEC_MODE_DIFFERENTIAL = 8, /* added to a predictor, but not to the transform: differences of
                                     the residuals are coded */
    WCODEC_MODES = 2 * WCODEC_PREDICTORS - 1
};

/* Section 5: a mode of a block of 8 x 8. */
enum wcodec_transform {
    WCODEC_TRANSFORM_NONE = 0, /* the coefficients are the quantised elements */
    WCODEC_TRANSFORM_DCT = 1,  /* DCT-II, columns and rows */
    WCODEC_TRANSFORM_ADST = 2, /* DST-IV, columns and rows: for what starts near zero */
    WCODEC_TRANSFORMS = 3
};

/* Orders of a block's coefficients. Four that follow each other share a table with those of 31
 * other blocks: their spreads should be alike. */
enum wcodec_order {
    WCODEC_ORDER_DIAGONALS = 0, /* the usual zig-zag: a field alike in all directions */
    WCODEC_ORDER_PRODUCTS = 1,  /* one whose correlation is a product of two */
    WCODEC_ORDER_ROWS = 2,      /* one alike from row to row only: vertical frequencies together */
    WCODEC_ORDER_COLUMNS = 3,   /* the other way */
    WCODEC_ORDERS = 4
};

/* Scales of a lossy tensor. */
enum wcodec_scales { WCODEC_SCALES_ONE = 0, WCODEC_SCALES_ROWS = 1 };

/* Section 6: tiles at a fixed rate. */
enum {
    WCODEC_FIXED_ROWS = 16,
    WCODEC_FIXED_COLUMNS = 128,
    WCODEC_FIXED_TILE = 2048,  /* elements */
    WCODEC_FIXED_BITS_MIN = 2, /* of an index */
    WCODEC_FIXED_BITS_MAX = 3,
    WCODEC_FIXED_INDEX_AT = 2048, /* bytes of a record before the index words */
    WCODEC_FIXED_LIST_UNIT = 16,  /* bytes */
    WCODEC_FIXED_LIST_MAX = 16,   /* units */
    WCODEC_FIXED_ZERO_ROW = -128  /* the shift of a row of zeros alone */
};

/* Elements that a lossy tensor may have. Not stored: the dtype says it. */
enum wcodec_element_format {
    WCODEC_ELEMENT_BF16 = 0,
    WCODEC_ELEMENT_F16 = 1,
    WCODEC_ELEMENT_F32 = 2
};

#endif
