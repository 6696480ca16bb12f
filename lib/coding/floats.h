/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Numbers of binary32 by their bits, and those of F16 as such. */
#ifndef WCODEC_CODING_FLOATS_H
#define WCODEC_CODING_FLOATS_H

#include <stdint.h>
#include <string.h>

static inline float wcodec_f32_of_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline uint32_t wcodec_f32_bits(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Bits of the F16 number with bits h, NaNs with theirs. Without a branch, and without a subnormal
 * number of binary32, of which processors take long and which some programs have taken for zero:
 * what is subnormal in F16 gets an exponent whose own value is taken off again. */
static inline uint32_t wcodec_f32_bits_of_f16(uint32_t h)
{
    const uint32_t sign = (h & 0x8000) << 16, magnitude = (h & 0x7fff) << 13;
    const uint32_t infinite = 0u - (magnitude >= 0x0f800000), normal = 0u - (magnitude >= 0x800000);
    const uint32_t small = wcodec_f32_bits(wcodec_f32_of_bits(magnitude + 0x38800000) -
                                           wcodec_f32_of_bits(0x38800000));
    return sign | (infinite & 0x7f800000) | (normal & (magnitude + 0x38000000)) | (~normal & small);
}

/* F8_E4M3: 4 bits of exponent, no infinities. Subnormal numbers are made as those of F16 are. */
static inline uint32_t wcodec_f32_bits_of_e4m3(uint32_t byte)
{
    const uint32_t bits = (byte & 0x7F) << 20, normal = bits + (120u << 23),
                   subnormal = wcodec_f32_bits(wcodec_f32_of_bits(bits | 121u << 23) - 0x1p-6f),
                   magnitude = (byte & 0x78) == 0 ? subnormal : normal;
    return (byte & 0x80) << 24 | magnitude | ((byte & 0x7F) == 0x7F ? 0x7F800000 : 0);
}

#endif
