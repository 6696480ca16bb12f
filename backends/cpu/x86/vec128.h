/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Vector operations in registers of 16 bytes: SSE4.1. vec.h says what they are. */
#ifndef WCODEC_CPU_X86_VEC128_H
#define WCODEC_CPU_X86_VEC128_H

#include <immintrin.h>

#define VEC_BYTES 16
#define VEC(op) _mm_##op
#define VEC_BITS(op) _mm_##op##_si128
#define VEC_CAST_PS(v) _mm_castsi128_ps(v)
#define VEC_CAST_SI(v) _mm_castps_si128(v)

typedef __m128i vec;

#include "backends/cpu/x86/vec.h"
#include "backends/cpu/x86/vec_masks.h"

INLINE vec set64(uint64_t n)
{
    return _mm_set1_epi64x((long long)n);
}

#define MOVE_UP(v, bytes) _mm_slli_si128(v, bytes)
#define SPREAD32(v, i) _mm_shuffle_epi32(v, 0x55 * (i))

#include "backends/cpu/vec_one_part.h"

/* A bit for each half that is all ones, not zeros. */
INLINE unsigned mask16(vec v)
{
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(v, zero()));
}

INLINE vec gather(const uint32_t *entries, vec index)
{
    return gather_part(entries, index);
}

#endif
