/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's SSE4.1 level: what encode_vectors.h asks for. */
#include "backends/cpu/encode.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m128i vec;
typedef __m128 floats;

INLINE vec load(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE void store(void *p, vec v)
{
    _mm_storeu_si128(p, v);
}

INLINE vec set_bytes(uint8_t n)
{
    return _mm_set1_epi8((char)n);
}

INLINE vec set_halves(uint16_t n)
{
    return _mm_set1_epi16((short)n);
}

INLINE vec set_words(uint32_t n)
{
    return _mm_set1_epi32((int)n);
}

INLINE vec both(vec a, vec b)
{
    return _mm_and_si128(a, b);
}

INLINE vec either(vec a, vec b)
{
    return _mm_or_si128(a, b);
}

INLINE vec without(vec a, vec b)
{
    return _mm_andnot_si128(b, a);
}

INLINE vec choose(vec mask, vec a, vec b)
{
    return _mm_blendv_epi8(b, a, mask);
}

INLINE bool any(vec v)
{
    return !_mm_testz_si128(v, v);
}

INLINE vec add_bytes(vec a, vec b)
{
    return _mm_add_epi8(a, b);
}

INLINE vec add_halves(vec a, vec b)
{
    return _mm_add_epi16(a, b);
}

INLINE vec add_words(vec a, vec b)
{
    return _mm_add_epi32(a, b);
}

INLINE vec subtract_bytes(vec a, vec b)
{
    return _mm_sub_epi8(a, b);
}

INLINE vec subtract_halves(vec a, vec b)
{
    return _mm_sub_epi16(a, b);
}

INLINE vec subtract_words(vec a, vec b)
{
    return _mm_sub_epi32(a, b);
}

INLINE vec equal_bytes(vec a, vec b)
{
    return _mm_cmpeq_epi8(a, b);
}

INLINE vec multiply_halves(vec a, vec b)
{
    return _mm_mullo_epi16(a, b);
}

INLINE vec multiply_upper_halves(vec a, vec b)
{
    return _mm_mulhi_epu16(a, b);
}

INLINE vec not_below_halves(vec a, vec b)
{
    return _mm_cmpeq_epi16(_mm_max_epu16(a, b), a);
}

INLINE vec not_below_words(vec a, vec b)
{
    return _mm_cmpeq_epi32(_mm_max_epu32(a, b), a);
}

INLINE vec left_halves(vec v, unsigned n)
{
    return _mm_slli_epi16(v, (int)n);
}

INLINE vec right_halves(vec v, unsigned n)
{
    return _mm_srli_epi16(v, (int)n);
}

INLINE vec left_words(vec v, unsigned n)
{
    return _mm_slli_epi32(v, (int)n);
}

INLINE vec right_words(vec v, unsigned n)
{
    return _mm_srli_epi32(v, (int)n);
}

INLINE vec rotate_words(vec v, unsigned n)
{
    return either(left_words(v, n), right_words(v, 32 - n));
}

INLINE vec narrow(vec a, vec b)
{
    return _mm_packus_epi16(a, b);
}

INLINE vec even_halves(vec a, vec b)
{
    const vec low = set_words(0xffff);
    return _mm_packus_epi32(both(a, low), both(b, low));
}

INLINE vec odd_halves(vec a, vec b)
{
    return _mm_packus_epi32(right_words(a, 16), right_words(b, 16));
}

INLINE vec even_words(vec a, vec b)
{
    return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), 0x88));
}

INLINE vec odd_words(vec a, vec b)
{
    return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), 0xdd));
}

INLINE vec zip_low(vec a, vec b)
{
    return _mm_unpacklo_epi16(a, b);
}

INLINE vec zip_high(vec a, vec b)
{
    return _mm_unpackhi_epi16(a, b);
}

INLINE vec pick(vec table, vec index)
{
    return _mm_shuffle_epi8(table, index);
}

struct lookup {
    vec low, high;
};

INLINE struct lookup load_lookup(const uint8_t *p)
{
    return (struct lookup){load(p), load(p + 16)};
}

/* The fifth bit chooses, in each byte's top. */
INLINE vec look_up(const struct lookup *l, vec v)
{
    const vec index = both(v, set_bytes(15));
    return choose(left_halves(v, 3), pick(l->high, index), pick(l->low, index));
}

INLINE vec pair_nibbles(vec a, vec b)
{
    const vec weights = set_halves(0x1001);
    return _mm_packus_epi16(_mm_maddubs_epi16(a, weights), _mm_maddubs_epi16(b, weights));
}

INLINE unsigned mask_of(vec v)
{
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(v, _mm_setzero_si128()));
}

INLINE unsigned count_bits(unsigned mask)
{
    return (unsigned)_mm_popcnt_u32(mask);
}

INLINE floats invert(vec f)
{
    return _mm_div_ps(_mm_set1_ps(1 - 0x1p-21f), _mm_cvtepi32_ps(f));
}

INLINE vec estimate(vec high, vec low, floats inverse)
{
    return _mm_cvttps_epi32(_mm_mul_ps(
        _mm_add_ps(_mm_mul_ps(_mm_cvtepi32_ps(high), _mm_set1_ps(65536)), _mm_cvtepi32_ps(low)),
        inverse));
}

#include "backends/cpu/encode_vectors.h"

void wcodec_cpu_encode_dsp_init_sse41(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 1;
    use_vectors(dsp);
}
