/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What products (product.h, product_plain.h) and rows (fixed_row.h) of matrices at a fixed rate
 * make of records and numbers, a lane by itself. */
#ifndef WCODEC_KERNELS_FIXED_ELEMENTS_H
#define WCODEC_KERNELS_FIXED_ELEMENTS_H

#include "backends/kernels/fixed.h"
#include "backends/kernels/product_launch.h"

WCODEC_DEVICE_FUNCTION void wcodec_product_u4(uint32_t *to, wcodec_u4 v)
{
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

/* Upper bytes of a lane's elements, four of a quad in each word, as their indices say. */
WCODEC_DEVICE_FUNCTION void wcodec_product_upper(const uint32_t bits, const uint32_t *index,
                                                 uint32_t *upper)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t all = wcodec_record_nibbles(bits, index + i / 4 * (bits + 1), i % 4),
                       nibbles = all & 0x77777777u;
        upper[2 * i] = wcodec_record_upper(bits, nibbles, all);
        upper[2 * i + 1] = wcodec_record_upper(bits, nibbles >> 16, all << 4);
    }
}

/* Spilled element i of the tensor, which is no foreign one: position, and what its upper byte is
 * xored with above bit 11. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_product_spilled(const uint32_t bits,
                                                       const struct wcodec_product_launch *l,
                                                       uint32_t band, uint32_t i)
{
    const uint32_t word =
                       wcodec_load_u32((const WCODEC_GLOBAL uint8_t *)l->spilled + 4 * (uint64_t)i),
                   position = word & 0x7ff, element = word >> 16, exponent = element >> 7 & 0xff,
                   row = wcodec_record_row(position),
                   shift = WCODEC_SIGNED_BYTE(
                       (uint32_t)((const WCODEC_GLOBAL uint8_t *)l->shifts)[16 * band + row], 0),
                   r = exponent == 0 || exponent == 255 ? element : element - 128 * shift,
                   index = (1u << bits) - 1;
    return position | (((r >> 8 & 0x7f & ~index) ^ (64 - index - 1)) << 11);
}

WCODEC_DEVICE_FUNCTION float wcodec_product_number(uint64_t address, uint32_t format, uint64_t i)
{
    if (format == WCODEC_TO_F32)
        return wcodec_bits_float(((const WCODEC_GLOBAL uint32_t *)address)[i]);
    const uint32_t bits = ((const WCODEC_GLOBAL uint16_t *)address)[i];
    return wcodec_bits_float(format == WCODEC_TO_BF16 ? bits << 16 : wcodec_from_f16(bits));
}

WCODEC_DEVICE_FUNCTION void wcodec_product_store(uint64_t address, uint32_t format, uint64_t i,
                                                 float v)
{
    const uint32_t bits = WCODEC_FLOAT_BITS(v), magnitude = bits & 0x7fffffffu;
    if (format == WCODEC_TO_F32)
        ((WCODEC_GLOBAL uint32_t *)address)[i] = bits;
    else if (magnitude > 0x7f800000u)
        ((WCODEC_GLOBAL uint16_t *)address)[i] = format == WCODEC_TO_BF16 ? 0x7fc0 : 0x7e00;
    else
        ((WCODEC_GLOBAL uint16_t *)address)[i] =
            (uint16_t)(format == WCODEC_TO_BF16 ? wcodec_to_bf16(bits) : wcodec_to_f16(bits));
}

/* 2^shift, 0 for rows of zeros. */
WCODEC_DEVICE_FUNCTION float wcodec_product_scale(uint32_t shift)
{
    const int32_t s = (int32_t)WCODEC_SIGNED_BYTE(shift, 0);
    return wcodec_bits_float(s == WCODEC_FIXED_ZERO_ROW ? 0 : (uint32_t)(s + 127) << 23);
}

#endif
