/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Inverse transforms of blocks of 8 x 8 coefficients (doc/format.md 5.2): the scalar reference.
 * Integers of 32 bits that wrap: any input gives the same bits on every machine. */
#ifndef WCODEC_CODING_TRANSFORM_H
#define WCODEC_CODING_TRANSFORM_H

#include "coding/codes.h"
#include <stddef.h>
#include <stdint.h>

enum {
    WCODEC_TRANSFORM_SIDE = 8,
    WCODEC_TRANSFORM_BLOCK = WCODEC_TRANSFORM_SIDE * WCODEC_TRANSFORM_SIDE,
    WCODEC_TRANSFORM_SHIFT = 4, /* coefficients enter a transform times 2^4 ... */
    WCODEC_TRANSFORM_UNIT = 64 /* ... and leave it so that 64 is one quantiser step: two passes have
                                  gain 4 over the orthonormal transform */
};

/* "none", "dct", "adst"; "unknown" for others. */
const char *wcodec_transform_name(unsigned transform);

const char *wcodec_order_name(unsigned order); /* "unknown" for others */

/* Place (8 * row + column) of each number of an order; row is the vertical frequency. */
extern const uint8_t wcodec_orders[WCODEC_ORDERS][WCODEC_TRANSFORM_BLOCK];

/* From coefficients (row by row; 16-bit values) to values in units of 1/64 of the quantiser's step.
 */
void wcodec_transform_inverse(unsigned transform,
                              const int32_t coefficients[WCODEC_TRANSFORM_BLOCK],
                              int32_t values[WCODEC_TRANSFORM_BLOCK]);

#endif
