/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Numbers as the bit patterns of tensors. */
#ifndef WCODEC_BENCH_FLOATS_H
#define WCODEC_BENCH_FLOATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(double v)
{
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline uint32_t bf16_bits(double v)
{
    const uint32_t bits = f32_bits(v);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static inline float bf16_value(uint32_t bits)
{
    float v;
    bits <<= 16;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A float of `exponent` and `mantissa` bits below a sign, rounded to nearest; finite values in
 * range only. */
static inline uint32_t small_float(double v, int exponent, int mantissa)
{
    const int bias = (1 << (exponent - 1)) - 1;
    const uint32_t sign = v < 0 ? 1u << (exponent + mantissa) : 0;
    int e;
    v = fabs(v);
    frexp(v, &e); /* v is in [2^(e-1), 2^e) */
    e = e - 1 < 1 - bias ? 1 - bias : e - 1;
    const uint32_t steps = (uint32_t)nearbyint(ldexp(v, mantissa - e));
    return sign | (uint32_t)((e + bias - 1) * (1 << mantissa) + (int)steps);
}

#endif
