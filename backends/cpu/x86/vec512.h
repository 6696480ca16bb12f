/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Vector operations in registers of 64 bytes: AVX-512 (F, BW, DQ, VL, VBMI, VBMI2). vec.h,
 * vec_one_part.h and vec_masks.h say what they are. Comparisons give bits, so there are none
 * here. */
#ifndef WCODEC_CPU_X86_VEC512_H
#define WCODEC_CPU_X86_VEC512_H

#include <immintrin.h>

#define VEC_BYTES 64
#define VEC_STREAM
#define VEC(op) _mm512_##op
#define VEC_BITS(op) _mm512_##op##_si512
#define VEC_CAST_PS(v) _mm512_castsi512_ps(v)
#define VEC_CAST_SI(v) _mm512_castps_si512(v)

typedef __m512i vec;
typedef __m128i part;

#include "backends/cpu/x86/vec.h"

INLINE vec set64(uint64_t n)
{
    return _mm512_set1_epi64((long long)n);
}

INLINE vec repeat(const void *p)
{
    return _mm512_broadcast_i32x4(load_part(p));
}

/* As many elements as a register has words, as words. */
INLINE vec load_u16(const void *p)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(p));
}

INLINE vec load_s8(const void *p)
{
    return _mm512_cvtepi8_epi32(load_part(p));
}

INLINE vec load_half(const void *p)
{
    return _mm512_castsi256_si512(_mm256_loadu_si256(p));
}

INLINE vec load_parts(const uint8_t *const *from, size_t at)
{
    const vec first = _mm512_castsi128_si512(load_part(from[0] + at)),
              two = _mm512_inserti32x4(first, load_part(from[1] + at), 1),
              three = _mm512_inserti32x4(two, load_part(from[2] + at), 2);
    return _mm512_inserti32x4(three, load_part(from[3] + at), 3);
}

INLINE void store_parts(uint8_t *const *to, size_t at, vec v)
{
    store_part(to[0] + at, _mm512_castsi512_si128(v));
    store_part(to[1] + at, _mm512_extracti32x4_epi32(v, 1));
    store_part(to[2] + at, _mm512_extracti32x4_epi32(v, 2));
    store_part(to[3] + at, _mm512_extracti32x4_epi32(v, 3));
}

#define MOVE_UP(v, bytes) _mm512_bslli_epi128(v, bytes)
#define SPREAD32(v, i) _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)(0x55 * (i)))

INLINE vec zip_parts_low(vec a, vec b)
{
    return _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b);
}

INLINE vec zip_parts_high(vec a, vec b)
{
    return _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), b);
}

INLINE void load_pairs(const uint8_t *p, vec *even, vec *odd)
{
    const vec a = load(p), b = load(p + VEC_BYTES),
              first = _mm512_setr_epi32(0, 8, 16, 24, 2, 10, 18, 26, 4, 12, 20, 28, 6, 14, 22, 30);
    *even = _mm512_permutex2var_epi32(a, first, b);
    *odd = _mm512_permutex2var_epi32(a, add32(first, set32(1)), b);
}

INLINE vec in_order(vec packed)
{
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed);
}

INLINE vec in_order_twice(vec packed)
{
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), packed);
}

/* Its own inverse. */
INLINE vec load_words(const uint8_t *p)
{
    return in_order_twice(load(p));
}

INLINE vec shr16(vec v, unsigned n)
{
    return _mm512_srl_epi16(v, _mm_cvtsi32_si128((int)n));
}

INLINE vec shr32(vec v, unsigned n)
{
    return _mm512_srl_epi32(v, _mm_cvtsi32_si128((int)n));
}

INLINE vec blend(vec mask, vec a, vec b)
{
    return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
}

INLINE vec above32(vec a, vec b)
{
    return _mm512_movm_epi32(_mm512_cmplt_epi32_mask(b, a));
}

INLINE vec blend_not_above8(vec a, vec b, vec x, vec y)
{
    return _mm512_mask_mov_epi8(y, _mm512_cmple_epu8_mask(a, b), x);
}

INLINE vec blend_not_above16(vec a, vec b, vec x, vec y)
{
    return _mm512_mask_mov_epi16(y, _mm512_cmple_epu16_mask(a, b), x);
}

INLINE bool any_above32(vec v, int limit)
{
    return _mm512_cmpgt_epi32_mask(v, _mm512_set1_epi32(limit)) != 0;
}

INLINE vec join_halves(vec a, vec b)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa, a, SHL32(b, 16));
}

INLINE vec rotate_right_4(vec v)
{
    return _mm512_ror_epi32(v, 4);
}

/* Counts are in every element: shifts by one count for all take an operation more. */
typedef vec shift_count;

INLINE shift_count make_count(unsigned log2, unsigned by)
{
    return log2 == 1 ? set16((uint16_t)by) : set32(by);
}

INLINE vec shift_left(unsigned log2, vec v, shift_count by)
{
    return log2 == 1 ? _mm512_sllv_epi16(v, by) : _mm512_sllv_epi32(v, by);
}

INLINE vec shift_right(vec v, shift_count by)
{
    return _mm512_srlv_epi32(v, by);
}

#endif
