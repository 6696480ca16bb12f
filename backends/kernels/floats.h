/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Floats of 16 bits by their bits. */
#ifndef WCODEC_KERNELS_FLOATS_H
#define WCODEC_KERNELS_FLOATS_H

#include "backends/kernels/dialect.h"

/* What numbers are stored as. */
enum { WCODEC_TO_BF16 = 0, WCODEC_TO_F16 = 1, WCODEC_TO_F32 = 2 };

/* Rounded to nearest, ties to even, of the bits of a number of binary32 that is no NaN. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_to_bf16(uint32_t bits)
{
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_to_f16(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x47800000u) /* 2^16 */
        return sign | 0x7c00u;
    if (magnitude >= 0x38800000u) { /* 2^-14: normal */
        const uint32_t normal = magnitude - (112u << 23);
        return sign | (normal + 0xfffu + (normal >> 13 & 1)) >> 13;
    }
    if (magnitude < 0x33000000u) /* 2^-25 */
        return sign;
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u, shift = 126 - (magnitude >> 23),
                   rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
    const uint32_t down = mantissa >> shift;
    return sign | (down + (rest > middle || (rest == middle && (down & 1))));
}

/* The bits of an F16 number as one of binary32. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_from_f16(uint32_t bits)
{
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31;
    uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 31)
        return sign | 0x7f800000u | mantissa << 13;
    if (exponent != 0)
        return sign | (exponent + 112) << 23 | mantissa << 13;
    if (mantissa == 0)
        return sign;
    uint32_t shift = 0;
    for (; !(mantissa & 0x400u); mantissa <<= 1)
        shift++;
    return sign | (113 - shift) << 23 | (mantissa & 0x3ffu) << 13;
}

#endif
