/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Vector operations in registers of 32 bytes: AVX2. vec.h and vec_one_part.h say what they are. */
#ifndef WCODEC_CPU_X86_VEC256_H
#define WCODEC_CPU_X86_VEC256_H

#include <immintrin.h>

#define VEC_BYTES 32
#define VEC_STREAM
#define VEC(op) _mm256_##op
#define VEC_BITS(op) _mm256_##op##_si256
#define VEC_CAST_PS(v) _mm256_castsi256_ps(v)
#define VEC_CAST_SI(v) _mm256_castps_si256(v)

typedef __m256i vec;
typedef __m128i part;

#include "backends/cpu/x86/vec.h"
#include "backends/cpu/x86/vec_masks.h"

INLINE vec set64(uint64_t n)
{
    return _mm256_set1_epi64x((long long)n);
}

INLINE vec repeat(const void *p)
{
    return _mm256_broadcastsi128_si256(load_part(p));
}

/* As many elements as a register has words, as words. */
INLINE vec load_u16(const void *p)
{
    return _mm256_cvtepu16_epi32(load_part(p));
}

INLINE vec load_s8(const void *p)
{
    return _mm256_cvtepi8_epi32(load_8(p));
}

INLINE vec join_parts(part low, part high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

INLINE part part_of(vec v, unsigned i)
{
    return i == 0 ? _mm256_castsi256_si128(v) : _mm256_extracti128_si256(v, 1);
}

INLINE vec load_parts(const uint8_t *const *from, size_t at)
{
    return join_parts(load_part(from[0] + at), load_part(from[1] + at));
}

INLINE void store_parts(uint8_t *const *to, size_t at, vec v)
{
    store_part(to[0] + at, part_of(v, 0));
    store_part(to[1] + at, part_of(v, 1));
}

#define MOVE_UP(v, bytes) _mm256_slli_si256(v, bytes)
#define SPREAD32(v, i) _mm256_shuffle_epi32(v, 0x55 * (i))

INLINE vec zip_parts_low(vec a, vec b)
{
    return _mm256_permute2x128_si256(a, b, 0x20);
}

INLINE vec zip_parts_high(vec a, vec b)
{
    return _mm256_permute2x128_si256(a, b, 0x31);
}

INLINE vec in_order(vec packed)
{
    return _mm256_permute4x64_epi64(packed, 0xd8);
}

INLINE vec in_order_twice(vec packed)
{
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

INLINE vec load_words(const uint8_t *p)
{
    return _mm256_permutevar8x32_epi32(load(p), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

INLINE void load_pairs(const uint8_t *p, vec *even, vec *odd)
{
    const vec a = load(p), b = load(p + VEC_BYTES),
              order = _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7);
    *even = _mm256_permutevar8x32_epi32(even_words(a, b), order);
    *odd = _mm256_permutevar8x32_epi32(odd_words(a, b), order);
}

INLINE unsigned mask16(vec v)
{
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(part_of(v, 0), part_of(v, 1)));
}

INLINE vec gather(const uint32_t *entries, vec index)
{
    return join_parts(gather_part(entries, part_of(index, 0)),
                      gather_part(entries, part_of(index, 1)));
}

#endif
