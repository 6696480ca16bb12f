/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rows of a piece as binary32: loops of a known length, of which compilers make vectors at every
 * level. All values are kept, NaNs with their bits. */
#ifndef WCODEC_CPU_WIDEN_H
#define WCODEC_CPU_WIDEN_H

#include "backends/cpu/product.h"
#include "coding/floats.h"

#include <string.h>

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
WIDEN(f16, uint16_t, wcodec_f32_bits_of_f16(e))
WIDEN(f32, uint32_t, e)
WIDEN(i8, int8_t, wcodec_f32_bits((float)e))
WIDEN(u8, uint8_t, wcodec_f32_bits((float)e))
WIDEN(e4m3, uint8_t, wcodec_f32_bits_of_e4m3(e))
WIDEN(e5m2, uint8_t, wcodec_f32_bits_of_f16((uint32_t)e << 8))

#define WIDEN_FUNCTIONS \
    .widen = {widen_bf16, widen_f16, widen_f32, widen_i8, widen_u8, widen_e4m3, widen_e5m2}

#endif
