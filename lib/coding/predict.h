/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Prediction inside a block of 16 x 16 elements, and the transform that may stand in its place
 * (doc/format.md 4): the scalar reference, and what encoder and CPU use. */
#ifndef WCODEC_CODING_PREDICT_H
#define WCODEC_CODING_PREDICT_H

#include "coding/codes.h"
#include <stdint.h>

enum {
    WCODEC_BLOCK_SIDE = 16,
    WCODEC_BLOCK_LOG2 = 8,
    WCODEC_BLOCK = WCODEC_BLOCK_SIDE * WCODEC_BLOCK_SIDE /* elements */
};

/* A predictor, with or without the differential pass, or the transform. */
static inline int wcodec_mode_valid(unsigned mode)
{
    return mode < WCODEC_MODE_DIFFERENTIAL + WCODEC_PREDICTOR_WHT &&
           mode % WCODEC_MODE_DIFFERENTIAL < WCODEC_PREDICTORS;
}

/* "left", "paeth", "wht"; of the predictor alone. */
const char *wcodec_predictor_name(unsigned mode);

/* Residuals of a block, row by row, or coefficients in the order that the format gives them. Values
 * are 16 bits wide whatever the elements are: of elements of 8 bits (element_log2 0) only the lower
 * 8 bits of values count, in and out. residuals and elements are different arrays. */
void wcodec_block_residuals(unsigned mode, unsigned element_log2,
                            const uint16_t elements[WCODEC_BLOCK],
                            uint16_t residuals[WCODEC_BLOCK]);

/* The way back, in place. Any mode that is valid and any residuals give some elements. */
void wcodec_block_elements(unsigned mode, unsigned element_log2, uint16_t values[WCODEC_BLOCK]);

#endif
