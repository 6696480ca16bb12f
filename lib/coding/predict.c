/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Sums of 16-bit values are right in their lower 8 bits too, so that one code serves both sizes of elements; only where differences are compared does the size
 * count. */
#include "coding/predict.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = WCODEC_BLOCK_SIDE };

const char *wcodec_predictor_name(unsigned mode)
{
    static const char *const names[WCODEC_PREDICTORS] = {"none", "left", "top", "average", "planar", "paeth"};
    return names[mode % WCODEC_MODE_DIFFERENTIAL];
}

/* s(v) of the format: `shift` is 16 less the element's bits. */
static int signed_of(int v, unsigned shift)
{
    return (int16_t)(uint16_t)((unsigned)v << shift) >> shift;
}

static int average(int left, int top, unsigned shift)
{
    return top + (signed_of(left - top, shift) >> 1);
}

static int paeth(int left, int top, int corner, unsigned shift)
{
    const int a = signed_of(top - corner, shift), b = signed_of(left - corner, shift), far = abs(a + b);
    return abs(a) <= abs(b) && abs(a) <= far ? left : abs(b) <= far ? top : corner;
}

static int predicted(unsigned predictor, int left, int top, int corner, unsigned shift)
{
    switch (predictor) {
    case WCODEC_PREDICTOR_LEFT:
        return left;
    case WCODEC_PREDICTOR_TOP:
        return top;
    case WCODEC_PREDICTOR_AVERAGE:
        return average(left, top, shift);
    case WCODEC_PREDICTOR_PLANAR:
        return left + top - corner;
    case WCODEC_PREDICTOR_PAETH:
        return paeth(left, top, corner, shift);
    default:
        return 0;
    }
}

/* One predictor on a block that has a row and a column of zeros before it; constant arguments make a loop of its own for each that compilers turn into
 * vectors. */
static inline void predict_block(unsigned predictor, unsigned shift, uint16_t framed[SIDE + 1][SIDE + 1], uint16_t *residuals)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            residuals[SIDE * y + x] = (uint16_t)(framed[y + 1][x + 1] - predicted(predictor, framed[y + 1][x], framed[y][x + 1], framed[y][x], shift));
}

void wcodec_block_residuals(unsigned mode, unsigned element_log2, const uint16_t elements[WCODEC_BLOCK], uint16_t residuals[WCODEC_BLOCK])
{
    const unsigned shift = element_log2 ? 0 : 8;
    uint16_t framed[SIDE + 1][SIDE + 1];
    memset(framed[0], 0, sizeof framed[0]);
    for (unsigned y = 0; y < SIDE; y++) {
        framed[y + 1][0] = 0;
        memcpy(&framed[y + 1][1], elements + (size_t)SIDE * y, SIDE * sizeof *elements);
    }
    switch (mode % WCODEC_MODE_DIFFERENTIAL) {
    case WCODEC_PREDICTOR_LEFT:
        predict_block(WCODEC_PREDICTOR_LEFT, shift, framed, residuals);
        break;
    case WCODEC_PREDICTOR_TOP:
        predict_block(WCODEC_PREDICTOR_TOP, shift, framed, residuals);
        break;
    case WCODEC_PREDICTOR_AVERAGE:
        predict_block(WCODEC_PREDICTOR_AVERAGE, shift, framed, residuals);
        break;
    case WCODEC_PREDICTOR_PLANAR:
        predict_block(WCODEC_PREDICTOR_PLANAR, shift, framed, residuals);
        break;
    case WCODEC_PREDICTOR_PAETH:
        predict_block(WCODEC_PREDICTOR_PAETH, shift, framed, residuals);
        break;
    default:
        memcpy(residuals, elements, WCODEC_BLOCK * sizeof *elements);
    }
    if (mode & WCODEC_MODE_DIFFERENTIAL)
        for (unsigned i = WCODEC_BLOCK - 1; i > 0; i--)
            residuals[i] = (uint16_t)(residuals[i] - residuals[i - 1]);
}

/* Left alone: each row is a running sum. */
static void sum_rows(uint16_t *v)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 1; x < SIDE; x++)
            v[SIDE * y + x] = (uint16_t)(v[SIDE * y + x] + v[SIDE * y + x - 1]);
}

/* Top alone: each column is. */
static void sum_columns(uint16_t *v)
{
    for (unsigned i = SIDE; i < WCODEC_BLOCK; i++)
        v[i] = (uint16_t)(v[i] + v[i - SIDE]);
}

static inline void reconstruct_in_order(unsigned predictor, unsigned shift, uint16_t *v)
{
    for (unsigned i = 0; i < WCODEC_BLOCK; i++) {
        const int left = i % SIDE ? v[i - 1] : 0, top = i >= SIDE ? v[i - SIDE] : 0, corner = i % SIDE && i >= SIDE ? v[i - SIDE - 1] : 0;
        v[i] = (uint16_t)(v[i] + predicted(predictor, left, top, corner, shift));
    }
}

void wcodec_block_elements(unsigned mode, unsigned element_log2, uint16_t values[WCODEC_BLOCK])
{
    const unsigned shift = element_log2 ? 0 : 8;
    if (mode & WCODEC_MODE_DIFFERENTIAL)
        for (unsigned i = 1; i < WCODEC_BLOCK; i++)
            values[i] = (uint16_t)(values[i] + values[i - 1]);
    switch (mode % WCODEC_MODE_DIFFERENTIAL) {
    case WCODEC_PREDICTOR_LEFT:
        sum_rows(values);
        break;
    case WCODEC_PREDICTOR_TOP:
        sum_columns(values);
        break;
    case WCODEC_PREDICTOR_AVERAGE:
        reconstruct_in_order(WCODEC_PREDICTOR_AVERAGE, shift, values);
        break;
    case WCODEC_PREDICTOR_PLANAR:
        /* e - L - T + K is the difference in both directions, so that summing in both takes it back. */
        sum_rows(values);
        sum_columns(values);
        break;
    case WCODEC_PREDICTOR_PAETH:
        reconstruct_in_order(WCODEC_PREDICTOR_PAETH, shift, values);
        break;
    default:
        break;
    }
}
