/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level: reconstruction of lossy tensors. */
#include "backends/cpu/lossy.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define INVERSE_LANES 4
#define INVERSE_NARROW

typedef __m128i vec;

INLINE vec load_row(const void *at)
{
    return _mm_loadu_si128(at);
}

INLINE void store_row(void *at, vec v)
{
    _mm_storeu_si128(at, v);
}

INLINE vec load_words(const uint8_t *at)
{
    return load_row(at);
}

INLINE void load_pairs(const uint8_t *at, vec *low, vec *high)
{
    const __m128 a = _mm_castsi128_ps(load_row(at)), b = _mm_castsi128_ps(load_row(at + 16));
    *low = _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88));
    *high = _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd));
}

INLINE void store_wide(uint8_t *at, vec low, vec high)
{
    store_row(at, low);
    store_row(at + 16, high);
}

INLINE vec set_word(uint32_t word)
{
    return _mm_set1_epi32((int)word);
}

INLINE vec plus(vec a, vec b)
{
    return _mm_add_epi32(a, b);
}

INLINE vec minus(vec a, vec b)
{
    return _mm_sub_epi32(a, b);
}

INLINE vec times(vec a, vec b)
{
    return _mm_mullo_epi32(a, b);
}

#define SHIFT_LEFT(v, n) _mm_slli_epi32(v, n)
#define SHIFT_RIGHT(v, n) _mm_srai_epi32(v, n)
#define SHIFT_DOWN(v, n) _mm_srli_epi32(v, n)

INLINE vec both(vec a, vec b)
{
    return _mm_and_si128(a, b);
}

INLINE vec either(vec a, vec b)
{
    return _mm_or_si128(a, b);
}

INLINE vec pick(vec mask, vec a, vec b)
{
    return _mm_blendv_epi8(b, a, mask);
}

INLINE vec below(vec a, vec b)
{
    return _mm_cmpgt_epi32(b, a);
}

INLINE bool any_above(vec v, int limit)
{
    return _mm_movemask_epi8(_mm_cmpgt_epi32(v, _mm_set1_epi32(limit))) != 0;
}

INLINE vec to_number(vec v)
{
    return _mm_castps_si128(_mm_cvtepi32_ps(v));
}

INLINE vec scaled(vec a, vec b)
{
    return _mm_castps_si128(_mm_mul_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b)));
}

INLINE vec sum_of(vec a, vec b)
{
    return _mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b)));
}

INLINE vec low_words(vec a, vec b)
{
    return _mm_unpacklo_epi32(a, b);
}

INLINE vec high_words(vec a, vec b)
{
    return _mm_unpackhi_epi32(a, b);
}

INLINE vec low_doubles(vec a, vec b)
{
    return _mm_unpacklo_epi64(a, b);
}

INLINE vec high_doubles(vec a, vec b)
{
    return _mm_unpackhi_epi64(a, b);
}

INLINE vec pair_of(vec a, vec b)
{
    return _mm_blend_epi16(a, _mm_slli_epi32(b, 16), 0xaa);
}

INLINE vec dot(vec v, vec constants)
{
    return _mm_madd_epi16(v, constants);
}

INLINE vec bytes_size(vec v)
{
    return _mm_madd_epi16(_mm_maddubs_epi16(_mm_abs_epi8(v), _mm_set1_epi8(1)), _mm_set1_epi16(1));
}

/* The absolute value of -32768 is 32768 in 16 bits without a sign, and -32768 with one: it is taken
 * apart. */
INLINE vec halves_size(vec v)
{
    const vec size = _mm_abs_epi16(v);
    return plus(_mm_and_si128(size, set_word(0xffff)), _mm_srli_epi32(size, 16));
}

#include "backends/cpu/inverse.h"

void wcodec_cpu_lossy_dsp_init_sse41(struct wcodec_cpu_lossy_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_lossy_dsp){.level = 1, INVERSE_FUNCTIONS};
}
