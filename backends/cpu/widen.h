/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rows of a piece as binary32: loops of a known length, of which compilers make vectors at every
 * level. All values are kept, NaNs with their bits. */
#ifndef WCODEC_CPU_WIDEN_H
#define WCODEC_CPU_WIDEN_H

#include "backends/cpu/product.h"

#include <string.h>

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 5 bits of exponent. Subnormal numbers are what they add to the least normal one: no operand is
 * subnormal in binary32, which some programs have taken for zero. */
static inline uint32_t bits_of_half(uint32_t half)
{
    const uint32_t bits = (half & 0x7FFF) << 13, normal = bits + (112u << 23),
                   subnormal = bits_of(float_of(bits | 113u << 23) - 0x1p-14f),
                   magnitude = (half & 0x7C00) == 0 ? subnormal : normal;
    return (half & 0x8000) << 16 | magnitude | ((half & 0x7C00) == 0x7C00 ? 0x7F800000 : 0);
}

/* 4 bits of exponent, no infinities. */
static inline uint32_t bits_of_e4m3(uint32_t byte)
{
    const uint32_t bits = (byte & 0x7F) << 20, normal = bits + (120u << 23),
                   subnormal = bits_of(float_of(bits | 121u << 23) - 0x1p-6f),
                   magnitude = (byte & 0x78) == 0 ? subnormal : normal;
    return (byte & 0x80) << 24 | magnitude | ((byte & 0x7F) == 0x7F ? 0x7F800000 : 0);
}

#define WIDEN(name, type, expression) \
    static void widen_##name(const void *from, float *to) \
    { \
        type elements[WCODEC_PIECE_COLUMNS]; \
        uint32_t bits[WCODEC_PIECE_COLUMNS]; \
        memcpy(elements, from, sizeof elements); \
        for (unsigned i = 0; i < WCODEC_PIECE_COLUMNS; i++) { \
            const type e = elements[i]; \
            bits[i] = (expression); \
        } \
        memcpy(to, bits, sizeof bits); \
    }

WIDEN(bf16, uint16_t, (uint32_t)e << 16)
WIDEN(f16, uint16_t, bits_of_half(e))
WIDEN(f32, uint32_t, e)
WIDEN(i8, int8_t, bits_of((float)e))
WIDEN(u8, uint8_t, bits_of((float)e))
WIDEN(e4m3, uint8_t, bits_of_e4m3(e))
WIDEN(e5m2, uint8_t, bits_of_half((uint32_t)e << 8))

#define WIDEN_FUNCTIONS \
    .widen = {widen_bf16, widen_f16, widen_f32, widen_i8, widen_u8, widen_e4m3, widen_e5m2}

#endif
