/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What registers of 16 and 32 bytes have alike and those of 64 have not: masks are registers, of
 * elements that are all ones or zeros, and shifts take a count for all elements at no cost. */
#ifndef WCODEC_CPU_X86_VEC_MASKS_H
#define WCODEC_CPU_X86_VEC_MASKS_H

VEC_BINARY(equal8, VEC(cmpeq_epi8))
VEC_BINARY(equal16, VEC(cmpeq_epi16))
VEC_BINARY(above8, VEC(cmpgt_epi8)) /* a > b, signed */
VEC_BINARY(above32, VEC(cmpgt_epi32))

/* a >= b, unsigned. */
INLINE vec not_below16(vec a, vec b)
{
    return equal16(VEC(max_epu16)(a, b), a);
}

INLINE vec not_below32(vec a, vec b)
{
    return VEC(cmpeq_epi32)(VEC(max_epu32)(a, b), a);
}

/* a where the mask is all ones, b where it is zero. */
INLINE vec blend(vec mask, vec a, vec b)
{
    return VEC(blendv_epi8)(b, a, mask);
}

/* x where a <= b, unsigned, else y. */
INLINE vec blend_not_above8(vec a, vec b, vec x, vec y)
{
    return blend(equal8(a, min8(a, b)), x, y);
}

INLINE vec blend_not_above16(vec a, vec b, vec x, vec y)
{
    return blend(equal16(a, min16(a, b)), x, y);
}

INLINE bool any(vec v)
{
    return !VEC_BITS(testz)(v, v);
}

INLINE bool any_above32(vec v, int limit)
{
    return VEC(movemask_epi8)(above32(v, set32((uint32_t)limit))) != 0;
}

INLINE vec even_words(vec a, vec b)
{
    return VEC_CAST_SI(VEC(shuffle_ps)(VEC_CAST_PS(a), VEC_CAST_PS(b), 0x88));
}

INLINE vec odd_words(vec a, vec b)
{
    return VEC_CAST_SI(VEC(shuffle_ps)(VEC_CAST_PS(a), VEC_CAST_PS(b), 0xdd));
}

/* The lower 16 bits of a, and b's above them. */
INLINE vec join_halves(vec a, vec b)
{
    return VEC(blend_epi16)(a, SHL32(b, 16), 0xaa);
}

INLINE vec shl16(vec v, unsigned n)
{
    return VEC(slli_epi16)(v, (int)n);
}

INLINE vec shr16(vec v, unsigned n)
{
    return VEC(srli_epi16)(v, (int)n);
}

INLINE vec shl32(vec v, unsigned n)
{
    return VEC(slli_epi32)(v, (int)n);
}

INLINE vec shr32(vec v, unsigned n)
{
    return VEC(srli_epi32)(v, (int)n);
}

INLINE vec rotate_right_4(vec v)
{
    return bit_or(shr32(v, 4), shl32(v, 28));
}

/* Shifts of elements of 2^log2 bytes by a count made ready; of bytes they may push bits into the
 * next one. */
typedef __m128i shift_count;

INLINE shift_count make_count(unsigned log2, unsigned by)
{
    (void)log2;
    return _mm_cvtsi32_si128((int)by);
}

INLINE vec shift_left(unsigned log2, vec v, shift_count by)
{
    return log2 == 1 ? VEC(sll_epi16)(v, by) : VEC(sll_epi32)(v, by);
}

INLINE vec shift_right(vec v, shift_count by)
{
    return VEC(srl_epi32)(v, by);
}

#endif
