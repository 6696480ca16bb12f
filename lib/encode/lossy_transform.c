/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/lossy_internal.h"

#include <string.h>

enum { SIDE = WCODEC_TRANSFORM_SIDE };

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

/* [frequency][place]: DCT-II. */
static const float dct[SIDE][SIDE] = {
    {C4, C4, C4, C4, C4, C4, C4, C4},     {C1, C3, C5, C7, -C7, -C5, -C3, -C1},
    {C2, C6, -C6, -C2, -C2, -C6, C6, C2}, {C3, -C7, -C1, -C5, C5, C1, C7, -C3},
    {C4, -C4, -C4, C4, C4, -C4, -C4, C4}, {C5, -C1, C7, C3, -C3, -C7, C1, -C5},
    {C6, -C2, C2, -C6, -C6, C2, -C2, C6}, {C7, -C5, C3, -C1, C1, -C3, C5, -C7},
};

/* DST-IV: sin((2 place + 1)(2 frequency + 1) pi / 32) / 2. */
static const float adst[SIDE][SIDE] = {
    {S1, S3, S5, S7, S9, S11, S13, S15},     {S3, S9, S15, S11, S5, -S1, -S7, -S13},
    {S5, S15, S7, -S3, -S13, -S9, S1, S11},  {S7, S11, -S3, -S15, -S1, S13, S5, -S9},
    {S9, S5, -S13, -S1, S15, -S3, -S11, S7}, {S11, -S1, -S9, S13, -S3, -S7, S15, -S5},
    {S13, -S7, S1, S5, -S11, S15, -S9, S3},  {S15, -S13, S11, -S9, S7, -S5, S3, -S1},
};

/* to = m * from: every column transformed. */
static inline void transform_columns(const float m[SIDE][SIDE], const float *from, float *to)
{
    for (unsigned k = 0; k < SIDE; k++) {
        float sum[SIDE] = {0};
        for (unsigned n = 0; n < SIDE; n++)
            for (unsigned x = 0; x < SIDE; x++)
                sum[x] += m[k][n] * from[SIDE * n + x];
        memcpy(to + (size_t)SIDE * k, sum, sizeof sum);
    }
}

static inline void transpose(const float *from, float *to)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            to[SIDE * x + y] = from[SIDE * y + x];
}

void wcodec_transform_forward(unsigned transform, const float values[WCODEC_TRANSFORM_BLOCK],
                              float coefficients[WCODEC_TRANSFORM_BLOCK])
{
    const float(*const m)[SIDE] = transform == WCODEC_TRANSFORM_DCT ? dct : adst;
    float a[WCODEC_TRANSFORM_BLOCK], b[WCODEC_TRANSFORM_BLOCK];
    if (transform == WCODEC_TRANSFORM_NONE) {
        memcpy(coefficients, values, sizeof a);
        return;
    }
    transform_columns(m, values, a);
    transpose(a, b);
    transform_columns(m, b, a);
    transpose(a, coefficients);
}
