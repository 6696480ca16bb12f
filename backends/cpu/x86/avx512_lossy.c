/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: reconstruction of lossy tensors. */
#include "backends/cpu/lossy.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define INVERSE_LANES 16
#define INVERSE_NARROW

typedef __m512i vec;

INLINE vec load_row(const void *at)
{
    return _mm512_loadu_si512(at);
}

INLINE void store_row(void *at, vec v)
{
    _mm512_storeu_si512(at, v);
}

/* Blocks 0, 4, 8, 12 to the first part, and so on. */
INLINE vec load_words(const uint8_t *at)
{
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), load_row(at));
}

INLINE void load_pairs(const uint8_t *at, vec *low, vec *high)
{
    const vec a = load_row(at), b = load_row(at + 64),
              first = _mm512_setr_epi32(0, 8, 16, 24, 2, 10, 18, 26, 4, 12, 20, 28, 6, 14, 22, 30);
    *low = _mm512_permutex2var_epi32(a, first, b);
    *high = _mm512_permutex2var_epi32(a, _mm512_add_epi32(first, _mm512_set1_epi32(1)), b);
}

INLINE void store_wide(uint8_t *at, vec low, vec high)
{
    store_row(at,
              _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), high));
    store_row(at + 64,
              _mm512_permutex2var_epi64(low, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), high));
}

#define STREAM_ROW(at, v) _mm512_stream_si512((__m512i *)(void *)(at), v)

INLINE void stream_wide(uint8_t *at, vec low, vec high)
{
    STREAM_ROW(at,
               _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), high));
    STREAM_ROW(at + 64,
               _mm512_permutex2var_epi64(low, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), high));
}

INLINE vec set_word(uint32_t word)
{
    return _mm512_set1_epi32((int)word);
}

INLINE vec plus(vec a, vec b)
{
    return _mm512_add_epi32(a, b);
}

INLINE vec minus(vec a, vec b)
{
    return _mm512_sub_epi32(a, b);
}

INLINE vec times(vec a, vec b)
{
    return _mm512_mullo_epi32(a, b);
}

#define SHIFT_LEFT(v, n) _mm512_slli_epi32(v, n)
#define SHIFT_RIGHT(v, n) _mm512_srai_epi32(v, n)
#define SHIFT_DOWN(v, n) _mm512_srli_epi32(v, n)

INLINE vec both(vec a, vec b)
{
    return _mm512_and_si512(a, b);
}

INLINE vec either(vec a, vec b)
{
    return _mm512_or_si512(a, b);
}

INLINE vec pick(vec mask, vec a, vec b)
{
    return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
}

INLINE vec below(vec a, vec b)
{
    return _mm512_movm_epi32(_mm512_cmplt_epi32_mask(a, b));
}

INLINE bool any_above(vec v, int limit)
{
    return _mm512_cmpgt_epi32_mask(v, _mm512_set1_epi32(limit)) != 0;
}

INLINE vec to_number(vec v)
{
    return _mm512_castps_si512(_mm512_cvtepi32_ps(v));
}

INLINE vec scaled(vec a, vec b)
{
    return _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

INLINE vec sum_of(vec a, vec b)
{
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

INLINE vec low_words(vec a, vec b)
{
    return _mm512_unpacklo_epi32(a, b);
}

INLINE vec high_words(vec a, vec b)
{
    return _mm512_unpackhi_epi32(a, b);
}

INLINE vec low_doubles(vec a, vec b)
{
    return _mm512_unpacklo_epi64(a, b);
}

INLINE vec high_doubles(vec a, vec b)
{
    return _mm512_unpackhi_epi64(a, b);
}

INLINE vec pair_of(vec a, vec b)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa, a, _mm512_slli_epi32(b, 16));
}

INLINE vec dot(vec v, vec constants)
{
    return _mm512_madd_epi16(v, constants);
}

INLINE vec bytes_size(vec v)
{
    return _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_abs_epi8(v), _mm512_set1_epi8(1)),
                             _mm512_set1_epi16(1));
}

/* The absolute value of -32768 is 32768 in 16 bits without a sign, and -32768 with one: it is taken
 * apart. */
INLINE vec halves_size(vec v)
{
    const vec size = _mm512_abs_epi16(v);
    return plus(_mm512_and_si512(size, set_word(0xffff)), _mm512_srli_epi32(size, 16));
}

#include "backends/cpu/inverse.h"

void wcodec_cpu_lossy_dsp_init_avx512(struct wcodec_cpu_lossy_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_lossy_dsp){.level = 3, INVERSE_FUNCTIONS};
}
