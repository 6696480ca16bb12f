/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* C11 (dialect.h): the lanes are loops, or fibers (dialect_lanes.h). */
#ifndef WCODEC_KERNELS_DIALECT_C_H
#define WCODEC_KERNELS_DIALECT_C_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WCODEC_ALIGNED_16
#define WCODEC_DEVICE_FUNCTION static inline
#define WCODEC_GLOBAL
#define WCODEC_GROUP_LOCAL
#define WCODEC_LOCAL
#define WCODEC_UNROLL_ALL
#define WCODEC_UNROLL_SOME
#define WCODEC_UNROLL_MANY
#define WCODEC_UNROLL_NONE
#define WCODEC_POPCOUNT(x) ((uint32_t)__builtin_popcount(x))
#define WCODEC_SIGNED(wide, v) ((wide) ? (int32_t)(int16_t)(v) : (int32_t)(int8_t)(v))
#define WCODEC_FLOAT_BITS(f) wcodec_float_bits(f)
#define WCODEC_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define WCODEC_EXP2(x) __builtin_exp2f(x)
#define WCODEC_RECIPROCAL(x) (1 / (x))
#define WCODEC_TAKE_FLOATS(v, from) memcpy((v), (from), 16)
#define WCODEC_LOAD_FLOATS(v, from) memcpy((v), (from), 16)
#define WCODEC_PASS_FLOATS(v, from) WCODEC_LOAD_FLOATS(v, from)
#define WCODEC_TAKE_WORDS(v, from) memcpy((v), (from), 16)
#define wcodec_divide(a, b) ((a) / (b))
#define WCODEC_READ_16(v, from) memcpy((v), (from), 16)

#ifndef WCODEC_FIBERS
#define WCODEC_WARP_MEMBER
#include "backends/kernels/dialect_loops.h"

#define WCODEC_LOAD_16(v, from) memcpy((v), (from), 16)
#define WCODEC_TAKE_16(v, from) memcpy((v), (from), 16)
#define WCODEC_KEEP_16(to, v) memcpy((to), (v), 16)
#define WCODEC_PUT_4(to, a) (*(uint32_t *)(to) = (a))
#define WCODEC_PUT_16(to, a, b, c, d) wcodec_put_16((uint32_t *)(to), (uint32_t[4]){a, b, c, d})

static inline void wcodec_put_16(uint32_t *to, const uint32_t words[4])
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = words[i];
}
#endif

#define WCODEC_AT(w, buffer, type, address) ((const type *)(uintptr_t)(address))
#define WCODEC_AT_OUT(w, type, address) ((type *)(uintptr_t)(address))
#define WCODEC_BIND(w, buffer, address) ((void)(w), (void)(address))

static inline uint32_t wcodec_float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float wcodec_multiply(float a, float b)
{
    const float product = a * b;
    return product;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_rotate_right(uint32_t v, uint32_t n)
{
    return v >> n % 32 | v << (32 - n % 32) % 32;
}

#endif
