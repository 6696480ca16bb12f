/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Vector operations under the names that arm/vec_neon.h has too, for all widths of x86. Include
 * vec128.h, vec256.h or vec512.h, which define before they include this
 *
 *   vec, floats, VEC_BYTES    a register of integers, one of binary32, and their bytes
 *   VEC(op), VEC_BITS(op)     the intrinsic of that width: of elements, of a whole register
 *   VEC_CAST_PS, VEC_CAST_SI  the casts to floats and back
 *
 * A number in a name is the width of the elements in bits. Instructions that pack, zip, shuffle or
 * move bytes do so in each part of 16 bytes by itself. */
#ifndef WCODEC_CPU_X86_VEC_H
#define WCODEC_CPU_X86_VEC_H

#include "backends/cpu/inline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VEC_UNARY(name, intrinsic) \
    INLINE vec name(vec v) \
    { \
        return intrinsic(v); \
    }
#define VEC_BINARY(name, intrinsic) \
    INLINE vec name(vec a, vec b) \
    { \
        return intrinsic(a, b); \
    }
#define VEC_SET(name, intrinsic, from, type) \
    INLINE vec name(from n) \
    { \
        return intrinsic((type)n); \
    }
#define VEC_FLOATS(name, intrinsic) \
    INLINE vec name(vec a, vec b) \
    { \
        return VEC_CAST_SI(intrinsic(VEC_CAST_PS(a), VEC_CAST_PS(b))); \
    }

/* Any alignment. */
INLINE vec load(const void *p)
{
    return VEC_BITS(loadu)(p);
}

INLINE void store(void *p, vec v)
{
    VEC_BITS(storeu)(p, v);
}

/* Past the caches, aligned; stream_end() makes such stores visible as ordinary ones are. */
INLINE void store_stream(void *p, vec v)
{
    VEC_BITS(stream)(p, v);
}

INLINE vec zero(void)
{
    return VEC_BITS(setzero)();
}

VEC_SET(set8, VEC(set1_epi8), uint8_t, char)
VEC_SET(set16, VEC(set1_epi16), uint16_t, short)
VEC_SET(set32, VEC(set1_epi32), uint32_t, int)

VEC_BINARY(bit_and, VEC_BITS(and))
VEC_BINARY(bit_or, VEC_BITS(or))
VEC_BINARY(bit_xor, VEC_BITS(xor))

/* a & ~b */
INLINE vec bit_clear(vec a, vec b)
{
    return VEC_BITS(andnot)(b, a);
}

VEC_BINARY(add8, VEC(add_epi8))
VEC_BINARY(add16, VEC(add_epi16))
VEC_BINARY(add32, VEC(add_epi32))
VEC_BINARY(add64, VEC(add_epi64))
VEC_BINARY(sub8, VEC(sub_epi8))
VEC_BINARY(sub16, VEC(sub_epi16))
VEC_BINARY(sub32, VEC(sub_epi32))
VEC_BINARY(sub64, VEC(sub_epi64))
VEC_BINARY(mul16, VEC(mullo_epi16))
VEC_BINARY(mul32, VEC(mullo_epi32))
VEC_BINARY(min8, VEC(min_epu8))   /* unsigned */
VEC_BINARY(min16, VEC(min_epu16)) /* unsigned */
VEC_BINARY(add8_limited, VEC(adds_epi8))
VEC_BINARY(add16_limited, VEC(adds_epi16))
VEC_UNARY(abs8, VEC(abs_epi8))
VEC_UNARY(abs16, VEC(abs_epi16))
VEC_BINARY(mul16_high, VEC(mulhi_epu16)) /* the upper 16 bits, unsigned */
VEC_BINARY(mul_even32, VEC(mul_epu32))   /* 64-bit products of the even words */
#define VEC_DOT16
VEC_BINARY(dot16, VEC(madd_epi16))   /* sums of two products of signed numbers */
VEC_BINARY(dot8, VEC(maddubs_epi16)) /* likewise, unsigned a and signed b, limited */

/* By a constant; vec_masks.h has shifts by any count. */
#define SHL16(v, n) VEC(slli_epi16)(v, n)
#define SHR16(v, n) VEC(srli_epi16)(v, n)
#define SHL32(v, n) VEC(slli_epi32)(v, n)
#define SHR32(v, n) VEC(srli_epi32)(v, n)
#define SAR32(v, n) VEC(srai_epi32)(v, n)
#define SHR64(v, n) VEC(srli_epi64)(v, n)

/* Floor of half a signed element. */
INLINE vec half16(vec v)
{
    return VEC(srai_epi16)(v, 1);
}

/* There are no shifts of bytes: half of v + 128, unsigned, less 64. */
INLINE vec half8(vec v)
{
    return sub8(bit_and(SHR16(bit_xor(v, set8(128)), 1), set8(127)), set8(64));
}

VEC_BINARY(zip_low8, VEC(unpacklo_epi8))
VEC_BINARY(zip_low16, VEC(unpacklo_epi16))
VEC_BINARY(zip_low32, VEC(unpacklo_epi32))
VEC_BINARY(zip_low64, VEC(unpacklo_epi64))
VEC_BINARY(zip_high8, VEC(unpackhi_epi8))
VEC_BINARY(zip_high16, VEC(unpackhi_epi16))
VEC_BINARY(zip_high32, VEC(unpackhi_epi32))
VEC_BINARY(zip_high64, VEC(unpackhi_epi64))
VEC_BINARY(pack16, VEC(packus_epi16)) /* elements of at most 255 to bytes */
VEC_BINARY(pack32, VEC(packus_epi32)) /* of at most 65535 to halves */
VEC_BINARY(shuffle, VEC(shuffle_epi8))

/* The last element of a part in all of it. */
INLINE vec repeat_last8(vec v)
{
    return shuffle(v, set8(15));
}

INLINE vec repeat_last16(vec v)
{
    return shuffle(v, set16(0x0f0e));
}

/* Integers to binary32 and back towards zero; sums and products, rounded to nearest. */
INLINE vec f32_from_i32(vec v)
{
    return VEC_CAST_SI(VEC(cvtepi32_ps)(v));
}

INLINE vec i32_from_f32(vec v)
{
    return VEC(cvttps_epi32)(VEC_CAST_PS(v));
}

INLINE vec f32_set(float n)
{
    return VEC_CAST_SI(VEC(set1_ps)(n));
}

VEC_FLOATS(f32_add, VEC(add_ps))
VEC_FLOATS(f32_mul, VEC(mul_ps))
VEC_FLOATS(f32_div, VEC(div_ps))

/* Not SSE4.1: a b + c, rounded once. */
#if VEC_BYTES > 16
INLINE vec f32_fused(vec a, vec b, vec c)
{
    return VEC_CAST_SI(VEC(fmadd_ps)(VEC_CAST_PS(a), VEC_CAST_PS(b), VEC_CAST_PS(c)));
}
#endif

/* The number whose halves are given in words, rounded twice. */
INLINE vec f32_from_halves(vec high, vec low)
{
    return f32_add(f32_mul(f32_from_i32(high), f32_set(65536)), f32_from_i32(low));
}

static inline void stream_end(void)
{
    _mm_sfence();
}

INLINE unsigned count_bits(unsigned mask)
{
    return (unsigned)_mm_popcnt_u32(mask);
}

/* Parts: a register's 16 bytes. */
INLINE __m128i load_part(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE void store_part(void *p, __m128i v)
{
    _mm_storeu_si128(p, v);
}

INLINE __m128i shuffle_part(__m128i v, const uint8_t order[16])
{
    return _mm_shuffle_epi8(v, load_part(order));
}

INLINE __m128i load_8(const void *p)
{
    return _mm_loadl_epi64(p);
}

/* Entries by single loads: a gather instruction is no faster on AVX2, and much slower on many
 * machines. */
INLINE __m128i gather_part(const uint32_t *entries, __m128i index)
{
    const uint64_t a = (uint64_t)_mm_cvtsi128_si64(index),
                   b = (uint64_t)_mm_extract_epi64(index, 1);
    const __m128i v =
        _mm_insert_epi32(_mm_cvtsi32_si128((int)entries[(uint32_t)a]), (int)entries[a >> 32], 1);
    return _mm_insert_epi32(_mm_insert_epi32(v, (int)entries[(uint32_t)b], 2),
                            (int)entries[b >> 32], 3);
}

#endif
