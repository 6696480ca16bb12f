/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Inverse transforms of blocks of 8 x 8 coefficients (doc/format.md 5.2): the scalar reference.
 * Integers of 32 bits that wrap: any input gives the same bits on every machine. */
#ifndef WCODEC_CODING_TRANSFORM_H
#define WCODEC_CODING_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

enum {
    WCODEC_TRANSFORM_SIDE = 8,
    WCODEC_TRANSFORM_BLOCK = WCODEC_TRANSFORM_SIDE * WCODEC_TRANSFORM_SIDE,
    WCODEC_TRANSFORMS = 3,
    WCODEC_TRANSFORM_SHIFT = 4, /* coefficients enter a transform times 2^4 ... */
    WCODEC_TRANSFORM_UNIT = 64 /* ... and leave it so that 64 is one quantiser step: two passes have
                                  gain 4 over the orthonormal transform */
};

enum wcodec_transform {
    WCODEC_TRANSFORM_NONE = 0, /* the coefficients are the quantised elements */
    WCODEC_TRANSFORM_DCT = 1,  /* DCT-II, columns and rows */
    WCODEC_TRANSFORM_ADST = 2  /* DST-IV, columns and rows: for what starts near zero */
};

/* "none", "dct", "adst"; "unknown" for others. */
const char *wcodec_transform_name(unsigned transform);

/* Orders of a block's coefficients. Four that follow each other share a table with those of 31
 * other blocks: their spreads should be alike. */
enum wcodec_order {
    WCODEC_ORDER_DIAGONALS = 0, /* the usual zig-zag: a field alike in all directions */
    WCODEC_ORDER_PRODUCTS = 1,  /* one whose correlation is a product of two */
    WCODEC_ORDER_ROWS = 2,      /* one alike from row to row only: vertical frequencies together */
    WCODEC_ORDER_COLUMNS = 3,   /* the other way */
    WCODEC_ORDERS = 4
};

const char *wcodec_order_name(unsigned order); /* "unknown" for others */

/* Place (8 * row + column) of each number of an order; row is the vertical frequency. */
extern const uint8_t wcodec_orders[WCODEC_ORDERS][WCODEC_TRANSFORM_BLOCK];

/* From coefficients (row by row; 16-bit values) to values in units of 1/64 of the quantiser's step.
 */
void wcodec_transform_inverse(unsigned transform,
                              const int32_t coefficients[WCODEC_TRANSFORM_BLOCK],
                              int32_t values[WCODEC_TRANSFORM_BLOCK]);

#endif
