/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: reconstruction of lossy tensors. */
#include "backends/cpu/lossy.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define INVERSE_LANES 8
#define INVERSE_NARROW

typedef __m256i vec;

INLINE vec load_row(const void *at)
{
    return _mm256_loadu_si256(at);
}

INLINE void store_row(void *at, vec v)
{
    _mm256_storeu_si256(at, v);
}

/* Blocks 0, 2, 4, 6 to the first part, the others to the second. */
INLINE vec load_words(const uint8_t *at)
{
    return _mm256_permutevar8x32_epi32(load_row(at), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

INLINE void load_pairs(const uint8_t *at, vec *low, vec *high)
{
    const __m256 a = _mm256_castsi256_ps(load_row(at)), b = _mm256_castsi256_ps(load_row(at + 32));
    const vec order =
        _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7); /* of blocks 0, 1, 4, 5 and 2, 3, 6, 7 */
    *low = _mm256_permutevar8x32_epi32(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), order);
    *high = _mm256_permutevar8x32_epi32(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)), order);
}

INLINE void store_wide(uint8_t *at, vec low, vec high)
{
    store_row(at, _mm256_permute2x128_si256(low, high, 0x20));
    store_row(at + 32, _mm256_permute2x128_si256(low, high, 0x31));
}

#define STREAM_ROW(at, v) _mm256_stream_si256((__m256i *)(void *)(at), v)

INLINE void stream_wide(uint8_t *at, vec low, vec high)
{
    STREAM_ROW(at, _mm256_permute2x128_si256(low, high, 0x20));
    STREAM_ROW(at + 32, _mm256_permute2x128_si256(low, high, 0x31));
}

INLINE vec set_word(uint32_t word)
{
    return _mm256_set1_epi32((int)word);
}

INLINE vec plus(vec a, vec b)
{
    return _mm256_add_epi32(a, b);
}

INLINE vec minus(vec a, vec b)
{
    return _mm256_sub_epi32(a, b);
}

INLINE vec times(vec a, vec b)
{
    return _mm256_mullo_epi32(a, b);
}

#define SHIFT_LEFT(v, n) _mm256_slli_epi32(v, n)
#define SHIFT_RIGHT(v, n) _mm256_srai_epi32(v, n)
#define SHIFT_DOWN(v, n) _mm256_srli_epi32(v, n)

INLINE vec both(vec a, vec b)
{
    return _mm256_and_si256(a, b);
}

INLINE vec either(vec a, vec b)
{
    return _mm256_or_si256(a, b);
}

INLINE vec pick(vec mask, vec a, vec b)
{
    return _mm256_blendv_epi8(b, a, mask);
}

INLINE vec below(vec a, vec b)
{
    return _mm256_cmpgt_epi32(b, a);
}

INLINE bool any_above(vec v, int limit)
{
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(v, _mm256_set1_epi32(limit))) != 0;
}

INLINE vec to_number(vec v)
{
    return _mm256_castps_si256(_mm256_cvtepi32_ps(v));
}

INLINE vec scaled(vec a, vec b)
{
    return _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
}

INLINE vec sum_of(vec a, vec b)
{
    return _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
}

INLINE vec low_words(vec a, vec b)
{
    return _mm256_unpacklo_epi32(a, b);
}

INLINE vec high_words(vec a, vec b)
{
    return _mm256_unpackhi_epi32(a, b);
}

INLINE vec low_doubles(vec a, vec b)
{
    return _mm256_unpacklo_epi64(a, b);
}

INLINE vec high_doubles(vec a, vec b)
{
    return _mm256_unpackhi_epi64(a, b);
}

INLINE vec pair_of(vec a, vec b)
{
    return _mm256_blend_epi16(a, _mm256_slli_epi32(b, 16), 0xaa);
}

INLINE vec dot(vec v, vec constants)
{
    return _mm256_madd_epi16(v, constants);
}

INLINE vec bytes_size(vec v)
{
    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(v), _mm256_set1_epi8(1)),
                             _mm256_set1_epi16(1));
}

/* The absolute value of -32768 is 32768 in 16 bits without a sign, and -32768 with one: it is taken
 * apart. */
INLINE vec halves_size(vec v)
{
    const vec size = _mm256_abs_epi16(v);
    return plus(_mm256_and_si256(size, set_word(0xffff)), _mm256_srli_epi32(size, 16));
}

#include "backends/cpu/inverse.h"

void wcodec_cpu_lossy_dsp_init_avx2(struct wcodec_cpu_lossy_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_lossy_dsp){.level = 2, INVERSE_FUNCTIONS};
}
