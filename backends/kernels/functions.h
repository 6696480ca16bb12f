/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elementary functions of floats to a few units in the last place, for compilers that come without
 * a library of them. */
#ifndef WCODEC_KERNELS_FUNCTIONS_H
#define WCODEC_KERNELS_FUNCTIONS_H

#include "backends/kernels/dialect.h"

/* e^x by 2^y, y = x log2 e, of which what y has no bits for is added afterwards. NaN stays. */
WCODEC_DEVICE_FUNCTION float wcodec_exp(float x)
{
    const float y = x * 1.44269504f, rest = WCODEC_FMA(x, 1.44269504f, -y) + x * 1.92596299e-8f,
                power = WCODEC_EXP2(y);
    return y > 126 || y < -126 ? power : power + power * rest * 0.693147181f;
}

/* The natural logarithm of a normal number above 0: of its exponent, and the series of the inverse
 * hyperbolic tangent for its fraction, taken between sqrt(1/2) and sqrt(2). */
WCODEC_DEVICE_FUNCTION float wcodec_log(float x)
{
    const uint32_t bits = WCODEC_FLOAT_BITS(x) - 0x3f3504f3u;
    const int32_t n = (int32_t)bits >> 23;
    const float m = wcodec_bits_float((bits & 0x7fffffu) + 0x3f3504f3u), s = (m - 1) / (m + 1),
                z = s * s;
    float sum = 1 / 9.0f;
    sum = sum * z + 1 / 7.0f;
    sum = sum * z + 0.2f;
    sum = sum * z + 1 / 3.0f;
    return (float)n * 0.693359375f + (2 * s + (2 * s * z * sum - (float)n * 2.12194440e-4f));
}

/* By e^2x; near 0 by the series of e^2x - 1, so that nothing cancels. NaN stays. */
WCODEC_DEVICE_FUNCTION float wcodec_tanh(float x)
{
    const float y = 2 * (x < 0 ? -x : x);
    float t;
    if (y < 0.7f) {
        float sum = 1 / 362880.0f;
        sum = sum * y + 1 / 40320.0f;
        sum = sum * y + 1 / 5040.0f;
        sum = sum * y + 1 / 720.0f;
        sum = sum * y + 1 / 120.0f;
        sum = sum * y + 1 / 24.0f;
        sum = sum * y + 1 / 6.0f;
        sum = sum * y + 0.5f;
        sum = sum * y * y + y;
        t = sum * WCODEC_RECIPROCAL(sum + 2);
    } else
        t = y > 20 ? 1 : 1 - 2 * WCODEC_RECIPROCAL(wcodec_exp(y) + 1);
    return x < 0 ? -t : t;
}

WCODEC_DEVICE_FUNCTION float wcodec_sigmoid(float x)
{
    const float e = wcodec_exp(x < 0 ? x : -x);
    return (x < 0 ? e : 1) * WCODEC_RECIPROCAL(1 + e);
}

#endif
