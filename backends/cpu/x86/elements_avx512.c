/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: assembling elements, copying them out, and the check's sums. */
#include "backends/cpu/x86/vec512.h"

#include "backends/cpu/decode.h"
#include "coding/check_key.h"

INLINE vec spread(unsigned element_log2, const uint8_t *symbols)
{
    switch (element_log2) {
    case 0:
        return load(symbols);
    case 1:
        return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)symbols));
    default:
        return _mm512_cvtepu8_epi32(load_part(symbols));
    }
}

/* 8-bit planes of 16-bit elements: each word is doubled, its copy rotated by 8, both by one byte
 * permutation. */
INLINE vec double_words(const uint8_t *row)
{
    const vec turned = _mm512_set_epi8(28, 31, 30, 29, 31, 30, 29, 28, 24, 27, 26, 25, 27, 26, 25,
                                       24, 20, 23, 22, 21, 23, 22, 21, 20, 16, 19, 18, 17, 19, 18,
                                       17, 16, 12, 15, 14, 13, 15, 14, 13, 12, 8, 11, 10, 9, 11, 10,
                                       9, 8, 4, 7, 6, 5, 7, 6, 5, 4, 0, 3, 2, 1, 3, 2, 1, 0);
    return _mm512_permutexvar_epi8(turned, load_half(row));
}

INLINE vec plane_words(const uint8_t *rows, unsigned bits, unsigned element_log2, unsigned group,
                       unsigned lane)
{
    const unsigned own = 1u << element_log2, ratio = 8 * own / bits, number = own * group;
    const vec fourfold = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0),
              positions = _mm512_set_epi32(3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0);
    const vec turn = set32(number % ratio * bits), odd = bit_and(positions, set32(1));
    const uint8_t *row = rows + 128 * (size_t)(number / ratio) + 4 * lane;
    if (own == 1)
        return _mm512_rorv_epi32(load(row), turn);
    if (own == 2 && bits == 8)
        return double_words(row);
    if (own == 2) {
        const vec twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0),
                  words = load_half(row);
        return _mm512_rorv_epi32(_mm512_permutexvar_epi32(twice, words),
                                 add32(turn, mul32(odd, set32(bits))));
    }
    const __m128i words = load_part(row);
    if (bits == 16) { /* elements 0 and 1 of a lane from one row, 2 and 3 from the next */
        const vec two_rows = _mm512_castsi256_si512(
            _mm256_inserti128_si256(_mm256_castsi128_si256(words), load_part(row + 128), 1));
        return _mm512_rorv_epi32(
            _mm512_permutexvar_epi32(
                _mm512_set_epi32(7, 7, 3, 3, 6, 6, 2, 2, 5, 5, 1, 1, 4, 4, 0, 0), two_rows),
            SHL32(odd, 4));
    }
    return _mm512_rorv_epi32(_mm512_permutexvar_epi32(fourfold, _mm512_castsi128_si512(words)),
                             add32(turn, mul32(positions, set32(bits))));
}

#include "backends/cpu/x86/sums.h"

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    const vec words = bit_and(_mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0),
                              set64((1u << element_log2) - 1)),
              step = set64(WCODEC_CHECK_STEP);
    const vec even = add64(mul_even32(words, step), set64(WCODEC_CHECK_KEY(number)));
    return (struct keys){even, element_log2 == 0 ? even : add64(even, step)};
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c,
                       uint64_t sums[WCODEC_LANES])
{
    uint64_t *to = sums + ((16 * r) >> element_log2);
    if (element_log2 == 0) {
        const vec low = _mm512_permutex2var_epi64(
                      c.even, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), c.odd),
                  high = _mm512_permutex2var_epi64(
                      c.even, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), c.odd);
        add_to(to, low);
        add_to(to + 8, high);
        return;
    }
    vec v = add64(c.even, c.odd);
    if (element_log2 == 1) {
        add_to(to, v);
        return;
    }
    v = add64(v, _mm512_permutex_epi64(v, 0xb1));
    if (element_log2 == 2) {
        const __m256i lanes = _mm512_castsi512_si256(
            _mm512_permutexvar_epi64(_mm512_set_epi64(6, 4, 2, 0, 6, 4, 2, 0), v));
        _mm256_storeu_si256((__m256i *)(void *)to,
                            _mm256_add_epi64(_mm256_loadu_si256((const void *)to), lanes));
        return;
    }
    v = add64(v, _mm512_permutex_epi64(v, 0x4e));
    to[0] += (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(v));
    to[1] += (uint64_t)_mm_cvtsi128_si64(_mm512_extracti32x4_epi32(v, 2));
}

#include "backends/cpu/elements.h"

void wcodec_cpu_dsp_init_avx512_elements(struct wcodec_cpu_dsp *dsp)
{
    use_elements(dsp);
}
