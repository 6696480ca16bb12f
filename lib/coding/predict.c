/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Sums of 16-bit values are right in their lower 8 bits too, so that one code serves both sizes of
 * elements; only where differences are compared does the size count. */
#include "coding/predict.h"

#include "core/assert.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = WCODEC_BLOCK_SIDE };

const char *wcodec_predictor_name(unsigned mode)
{
    static const char *const names[WCODEC_PREDICTORS] = {"none",   "left",  "top", "average",
                                                         "planar", "paeth", "wht"};
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
    const int a = signed_of(top - corner, shift), b = signed_of(left - corner, shift),
              far = abs(a + b);
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

/* The two steps of the transform, and their way back: each adds to one value what comes of the
 * other, so that nothing is lost though sums wrap. */
static void mean_and_difference(uint16_t *a, uint16_t *b, unsigned shift)
{
    *b = (uint16_t)(*b - *a);
    *a = (uint16_t)(*a + (signed_of(*b, shift) >> 1));
}

static void two_values(uint16_t *mean, uint16_t *difference, unsigned shift)
{
    *mean = (uint16_t)(*mean - (signed_of(*difference, shift) >> 1));
    *difference = (uint16_t)(*difference + *mean);
}

/* Four values `step` apart; what becomes of them: mean of means, their difference, mean of
 * differences, their difference. */
static void transform_four(uint16_t *x, unsigned step, unsigned shift)
{
    uint16_t m0 = x[0], d0 = x[step], m1 = x[2 * step], d1 = x[3 * step];
    mean_and_difference(&m0, &d0, shift);
    mean_and_difference(&m1, &d1, shift);
    mean_and_difference(&m0, &m1, shift);
    mean_and_difference(&d0, &d1, shift);
    x[0] = m0;
    x[step] = m1;
    x[2 * step] = d0;
    x[3 * step] = d1;
}

static void restore_four(uint16_t *x, unsigned step, unsigned shift)
{
    uint16_t m0 = x[0], m1 = x[step], d0 = x[2 * step], d1 = x[3 * step];
    two_values(&d0, &d1, shift);
    two_values(&m0, &m1, shift);
    two_values(&m1, &d1, shift);
    two_values(&m0, &d0, shift);
    x[0] = m0;
    x[step] = d0;
    x[2 * step] = m1;
    x[3 * step] = d1;
}

/* 4 x 4 values, `step` apart in a row, in rows that are 16 `step` apart. */
static void transform_square(uint16_t *x, unsigned step, unsigned shift)
{
    for (unsigned i = 0; i < 4; i++)
        transform_four(x + (size_t)SIDE * step * i, step, shift);
    for (unsigned i = 0; i < 4; i++)
        transform_four(x + (size_t)step * i, SIDE * step, shift);
}

static void restore_square(uint16_t *x, unsigned step, unsigned shift)
{
    for (unsigned i = 0; i < 4; i++)
        restore_four(x + (size_t)step * i, SIDE * step, shift);
    for (unsigned i = 0; i < 4; i++)
        restore_four(x + (size_t)SIDE * step * i, step, shift);
}

/* Where in a sub-block's row and column the coefficients of each band stand, in the order of bands.
 */
static const uint8_t bands[16] = {0x01, 0x02, 0x10, 0x11, 0x12, 0x20, 0x21, 0x22,
                                  0x00, 0x03, 0x13, 0x23, 0x30, 0x31, 0x32, 0x33};

/* Number in the block of the element that coefficient i stands for. */
static unsigned place_of_coefficient(unsigned i)
{
    return SIDE * (i % 16 / 4 * 4 + (bands[i / 16] >> 4)) + i % 4 * 4 + (bands[i / 16] & 3);
}

static void transform_block(unsigned shift, const uint16_t *elements, uint16_t *coefficients)
{
    uint16_t v[WCODEC_BLOCK];
    memcpy(v, elements, sizeof v);
    for (unsigned i = 0; i < 16; i++)
        transform_square(v + (size_t)4 * (SIDE * (i / 4) + i % 4), 1, shift);
    transform_square(v, 4, shift);
    for (unsigned i = 0; i < WCODEC_BLOCK; i++)
        coefficients[i] = v[place_of_coefficient(i)];
}

static void restore_block(unsigned shift, uint16_t *values)
{
    uint16_t v[WCODEC_BLOCK];
    for (unsigned i = 0; i < WCODEC_BLOCK; i++)
        v[place_of_coefficient(i)] = values[i];
    restore_square(v, 4, shift);
    for (unsigned i = 0; i < 16; i++)
        restore_square(v + (size_t)4 * (SIDE * (i / 4) + i % 4), 1, shift);
    memcpy(values, v, sizeof v);
}

/* One predictor on a block that has a row and a column of zeros before it; constant arguments make
 * a loop of its own for each that compilers turn into vectors. */
static inline void predict_block(unsigned predictor, unsigned shift,
                                 uint16_t framed[SIDE + 1][SIDE + 1], uint16_t *residuals)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            residuals[SIDE * y + x] =
                (uint16_t)(framed[y + 1][x + 1] - predicted(predictor, framed[y + 1][x],
                                                            framed[y][x + 1], framed[y][x], shift));
}

void wcodec_block_residuals(unsigned mode, unsigned element_log2,
                            const uint16_t elements[WCODEC_BLOCK], uint16_t residuals[WCODEC_BLOCK])
{
    WCODEC_ASSERT(wcodec_mode_valid(mode));
    WCODEC_ASSERT(element_log2 <= 1);
    WCODEC_ASSERT(elements != residuals);
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
    case WCODEC_PREDICTOR_WHT:
        transform_block(shift, elements, residuals);
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
        const int left = i % SIDE ? v[i - 1] : 0, top = i >= SIDE ? v[i - SIDE] : 0,
                  corner = i % SIDE && i >= SIDE ? v[i - SIDE - 1] : 0;
        v[i] = (uint16_t)(v[i] + predicted(predictor, left, top, corner, shift));
    }
}

void wcodec_block_elements(unsigned mode, unsigned element_log2, uint16_t values[WCODEC_BLOCK])
{
    WCODEC_ASSERT(wcodec_mode_valid(mode));
    WCODEC_ASSERT(element_log2 <= 1);
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
        /* e - L - T + K is the difference in both directions, so that summing in both takes it
         * back. */
        sum_rows(values);
        sum_columns(values);
        break;
    case WCODEC_PREDICTOR_PAETH:
        reconstruct_in_order(WCODEC_PREDICTOR_PAETH, shift, values);
        break;
    case WCODEC_PREDICTOR_WHT:
        restore_block(shift, values);
        break;
    default:
        break;
    }
}
