/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Forward transforms and quantising for the encoder, of 8 x 8 blocks: loops of which compilers make
 * vectors. Each level includes this, and so has them in its own instructions. All levels give the
 * same bits: no sum is taken in another order. */
#ifndef WCODEC_CPU_QUANTISE_H
#define WCODEC_CPU_QUANTISE_H

#include "backends/cpu/inline.h"
#include "backends/cpu/lossy.h"

#include <math.h>

/* cos(n pi / 16) / 2 and sin(n pi / 32) / 2: the basis of orthonormal transforms of 8. */
#define C1 0.490392640f
#define C2 0.461939766f
#define C3 0.415734806f
#define C4 0.353553391f
#define C5 0.277785117f
#define C6 0.191341716f
#define C7 0.097545161f
#define S1 0.049008570f
#define S3 0.145142339f
#define S5 0.235698368f
#define S7 0.317196642f
#define S9 0.386505227f
#define S11 0.440960632f
#define S13 0.478470168f
#define S15 0.497592363f

/* [frequency][position]: DCT-II. */
static const float forward_dct_basis[WCODEC_TRANSFORM_SIDE][WCODEC_TRANSFORM_SIDE] = {
    {C4, C4, C4, C4, C4, C4, C4, C4},     {C1, C3, C5, C7, -C7, -C5, -C3, -C1},
    {C2, C6, -C6, -C2, -C2, -C6, C6, C2}, {C3, -C7, -C1, -C5, C5, C1, C7, -C3},
    {C4, -C4, -C4, C4, C4, -C4, -C4, C4}, {C5, -C1, C7, C3, -C3, -C7, C1, -C5},
    {C6, -C2, C2, -C6, -C6, C2, -C2, C6}, {C7, -C5, C3, -C1, C1, -C3, C5, -C7},
};

/* DST-IV: sin((2 position + 1)(2 frequency + 1) pi / 32) / 2. */
static const float forward_adst_basis[WCODEC_TRANSFORM_SIDE][WCODEC_TRANSFORM_SIDE] = {
    {S1, S3, S5, S7, S9, S11, S13, S15},     {S3, S9, S15, S11, S5, -S1, -S7, -S13},
    {S5, S15, S7, -S3, -S13, -S9, S1, S11},  {S7, S11, -S3, -S15, -S1, S13, S5, -S9},
    {S9, S5, -S13, -S1, S15, -S3, -S11, S7}, {S11, -S1, -S9, S13, -S3, -S7, S15, -S5},
    {S13, -S7, S1, S5, -S11, S15, -S9, S3},  {S15, -S13, S11, -S9, S7, -S5, S3, -S1},
};

/* to = m * from: every column transformed. */
INLINE void transform_columns(const float m[WCODEC_TRANSFORM_SIDE][WCODEC_TRANSFORM_SIDE],
                              const float *from, float *to)
{
    enum { N = WCODEC_TRANSFORM_SIDE };
    for (unsigned k = 0; k < N; k++) {
        float sum[N] = {0};
        for (unsigned n = 0; n < N; n++)
            for (unsigned x = 0; x < N; x++)
                sum[x] += m[k][n] * from[N * n + x];
        memcpy(to + (size_t)N * k, sum, sizeof sum);
    }
}

INLINE void transpose_block(const float *from, float *to)
{
    enum { N = WCODEC_TRANSFORM_SIDE };
    for (unsigned y = 0; y < N; y++)
        for (unsigned x = 0; x < N; x++)
            to[N * x + y] = from[N * y + x];
}

INLINE void transform_forward(const float m[WCODEC_TRANSFORM_SIDE][WCODEC_TRANSFORM_SIDE],
                              const float *values, float *coefficients)
{
    float a[WCODEC_TRANSFORM_BLOCK], b[WCODEC_TRANSFORM_BLOCK];
    transform_columns(m, values, a);
    transpose_block(a, b);
    transform_columns(m, b, a);
    transpose_block(a, coefficients);
}

static void forward_dct(const float values[WCODEC_TRANSFORM_BLOCK],
                        float coefficients[WCODEC_TRANSFORM_BLOCK])
{
    transform_forward(forward_dct_basis, values, coefficients);
}

static void forward_adst(const float values[WCODEC_TRANSFORM_BLOCK],
                         float coefficients[WCODEC_TRANSFORM_BLOCK])
{
    transform_forward(forward_adst_basis, values, coefficients);
}

/* Each step by itself for all values, in eight sums. */
static void quantise_block(const struct wcodec_cpu_rounding *rounding, bool count,
                           const float values[WCODEC_TRANSFORM_BLOCK], float inverse,
                           struct wcodec_cpu_quantised *q)
{
    enum { N = WCODEC_TRANSFORM_BLOCK, SUMS = 8, SMALL = 500 };
    float sizes[N], limited[N], least[N], costs[N], bits[SUMS] = {0}, squares[SUMS] = {0},
                                                    energy[SUMS] = {0};
    int32_t magnitudes[N], largest = 0;
    uint32_t entries[N];
    for (unsigned k = 0; k < N; k++)
        sizes[k] = fabsf(values[k] * inverse);
    for (unsigned k = 0; k < N; k++)
        limited[k] = sizes[k] < WCODEC_CPU_COEFFICIENT_MAX ? sizes[k] : WCODEC_CPU_COEFFICIENT_MAX;
    for (unsigned k = 0; k < N; k++)
        magnitudes[k] = (int32_t)(limited[k] + 0.5f);
    wcodec_cpu_entries(rounding, magnitudes, entries);
    for (unsigned k = 0; k < N; k++)
        least[k] = (float)magnitudes[k] - 0.5f + rounding->margin[entries[k]];
    for (unsigned k = 0; k < N; k++)
        magnitudes[k] -= sizes[k] < least[k];
    wcodec_cpu_entries(rounding, magnitudes, entries);
    for (unsigned k = 0; k < N && count; k++)
        costs[k] = rounding->bits[entries[k]];
    for (unsigned k = 0; k < N && count; k += SUMS)
        for (unsigned i = 0; i < SUMS; i++)
            bits[i] += costs[k + i];
    for (unsigned k = 0; k < N; k += SUMS)
        for (unsigned i = 0; i < SUMS; i++) {
            const float rest = sizes[k + i] - (float)magnitudes[k + i];
            squares[i] += rest * rest;
        }
    for (unsigned k = 0; k < N; k++) {
        q->coefficients[k] = (int16_t)(values[k] < 0 ? -magnitudes[k] : magnitudes[k]);
        largest = magnitudes[k] > largest ? magnitudes[k] : largest;
    }
    for (unsigned k = 0; k < N && largest > SMALL; k += SUMS)
        for (unsigned i = 0; i < SUMS; i++)
            energy[i] += (float)magnitudes[k + i] * (float)magnitudes[k + i];
    q->bits = q->distortion = q->energy = 0;
    for (unsigned i = 0; i < SUMS; i++) {
        q->bits += bits[i];
        q->distortion += squares[i];
        q->energy += energy[i];
    }
}

#define QUANTISE_FUNCTIONS .forward = {NULL, forward_dct, forward_adst}, .quantise = quantise_block

#endif
