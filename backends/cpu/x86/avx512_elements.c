/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: assembling elements, copying them out, and the check's sums. */
#include "backends/cpu/decode.h"
#include "coding/check_key.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m512i vec;
typedef __m512i
    shift_count; /* in every element: shifts by one count for all take an operation more */

INLINE vec load(const void *p)
{
    return _mm512_loadu_si512(p);
}

INLINE void store(void *p, vec v)
{
    _mm512_storeu_si512(p, v);
}

INLINE vec set_words(uint32_t word)
{
    return _mm512_set1_epi32((int)word);
}

INLINE vec either(vec a, vec b)
{
    return _mm512_or_si512(a, b);
}

INLINE vec both(vec a, vec b)
{
    return _mm512_and_si512(a, b);
}

INLINE vec spread(unsigned element_log2, const uint8_t *symbols)
{
    switch (element_log2) {
    case 0:
        return load(symbols);
    case 1:
        return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)symbols));
    default:
        return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)symbols));
    }
}

INLINE shift_count make_count(unsigned element_log2, unsigned by)
{
    return element_log2 == 1 ? _mm512_set1_epi16((short)by) : _mm512_set1_epi32((int)by);
}

INLINE vec shift_left(unsigned element_log2, vec v, shift_count by)
{
    return element_log2 == 1 ? _mm512_sllv_epi16(v, by) : _mm512_sllv_epi32(v, by);
}

INLINE vec shift_right(vec v, shift_count by)
{
    return _mm512_srlv_epi32(v, by);
}

INLINE vec rotate_nibble(vec v)
{
    return _mm512_ror_epi32(v, 4);
}

INLINE vec subtract(unsigned element_log2, vec v, vec add)
{
    return element_log2 == 0   ? _mm512_sub_epi8(v, add)
           : element_log2 == 1 ? _mm512_sub_epi16(v, add)
                               : _mm512_sub_epi32(v, add);
}

INLINE void store_wide(uint8_t *out, vec low, vec high, uint64_t add)
{
    const vec first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0),
              second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    const vec less = _mm512_set1_epi64((long long)add);
    store(out, _mm512_sub_epi64(_mm512_permutex2var_epi32(low, first, high), less));
    store(out + 64, _mm512_sub_epi64(_mm512_permutex2var_epi32(low, second, high), less));
}

/* 8-bit planes of 16-bit elements: each word is doubled, its copy rotated by 8, both by one byte
 * permutation. */
INLINE vec double_words(const uint8_t *row)
{
    const vec turned = _mm512_set_epi8(28, 31, 30, 29, 31, 30, 29, 28, 24, 27, 26, 25, 27, 26, 25,
                                       24, 20, 23, 22, 21, 23, 22, 21, 20, 16, 19, 18, 17, 19, 18,
                                       17, 16, 12, 15, 14, 13, 15, 14, 13, 12, 8, 11, 10, 9, 11, 10,
                                       9, 8, 4, 7, 6, 5, 7, 6, 5, 4, 0, 3, 2, 1, 3, 2, 1, 0);
    return _mm512_permutexvar_epi8(
        turned, _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)row)));
}

INLINE vec plane_words(const uint8_t *rows, unsigned bits, unsigned element_log2, unsigned group,
                       unsigned lane)
{
    const unsigned own = 1u << element_log2, ratio = 8 * own / bits, number = own * group;
    const vec fourfold = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0),
              places = _mm512_set_epi32(3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0);
    const vec turn = set_words(number % ratio * bits), odd = both(places, set_words(1));
    const uint8_t *row = rows + 128 * (size_t)(number / ratio) + 4 * lane;
    if (own == 1)
        return _mm512_rorv_epi32(load(row), turn);
    if (own == 2 && bits == 8)
        return double_words(row);
    if (own == 2) {
        const vec twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0),
                  words = _mm512_castsi256_si512(
                      _mm256_loadu_si256((const __m256i *)(const void *)row));
        return _mm512_rorv_epi32(_mm512_permutexvar_epi32(twice, words),
                                 _mm512_add_epi32(turn, _mm512_mullo_epi32(odd, set_words(bits))));
    }
    const __m128i words = _mm_loadu_si128((const __m128i *)(const void *)row);
    if (bits == 16) { /* elements 0 and 1 of a lane from one row, 2 and 3 from the next */
        const vec two_rows = _mm512_castsi256_si512(_mm256_inserti128_si256(
            _mm256_castsi128_si256(words),
            _mm_loadu_si128((const __m128i *)(const void *)(row + 128)), 1));
        return _mm512_rorv_epi32(
            _mm512_permutexvar_epi32(
                _mm512_set_epi32(7, 7, 3, 3, 6, 6, 2, 2, 5, 5, 1, 1, 4, 4, 0, 0), two_rows),
            _mm512_slli_epi32(odd, 4));
    }
    return _mm512_rorv_epi32(_mm512_permutexvar_epi32(fourfold, _mm512_castsi128_si512(words)),
                             _mm512_add_epi32(turn, _mm512_mullo_epi32(places, set_words(bits))));
}

#define ASSEMBLE_BYTES 64
#include "backends/cpu/assemble.h"

/* Keys and sums of a register's even words and of its odd ones. */
struct keys {
    __m512i even, odd;
};

struct column {
    __m512i even, odd;
};

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    const __m512i words = _mm512_and_si512(_mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0),
                                           _mm512_set1_epi64((1 << element_log2) - 1)),
                  step = _mm512_set1_epi64(WCODEC_CHECK_STEP);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(words, step),
                                          _mm512_set1_epi64(WCODEC_CHECK_KEY(number)));
    return (struct keys){even, element_log2 == 0 ? even : _mm512_add_epi64(even, step)};
}

INLINE struct column empty_column(void)
{
    return (struct column){_mm512_setzero_si512(), _mm512_setzero_si512()};
}

INLINE void add_words(struct column *c, const uint8_t *at, const struct keys *keys)
{
    const __m512i v = load(at);
    c->even = _mm512_add_epi64(c->even, _mm512_mul_epu32(v, keys->even));
    c->odd = _mm512_add_epi64(c->odd, _mm512_mul_epu32(_mm512_srli_epi64(v, 32), keys->odd));
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c,
                       uint64_t sums[WCODEC_LANES])
{
    uint64_t *to = sums + ((16 * r) >> element_log2);
    if (element_log2 == 0) {
        const __m512i low = _mm512_permutex2var_epi64(
                          c.even, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), c.odd),
                      high = _mm512_permutex2var_epi64(
                          c.even, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), c.odd);
        store(to, _mm512_add_epi64(load(to), low));
        store(to + 8, _mm512_add_epi64(load(to + 8), high));
        return;
    }
    __m512i v = _mm512_add_epi64(c.even, c.odd);
    if (element_log2 == 1) {
        store(to, _mm512_add_epi64(load(to), v));
        return;
    }
    v = _mm512_add_epi64(v, _mm512_permutex_epi64(v, 0xb1));
    if (element_log2 == 2) {
        const __m256i lanes = _mm512_castsi512_si256(
            _mm512_permutexvar_epi64(_mm512_set_epi64(6, 4, 2, 0, 6, 4, 2, 0), v));
        _mm256_storeu_si256(
            (__m256i *)(void *)to,
            _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(const void *)to), lanes));
        return;
    }
    v = _mm512_add_epi64(v, _mm512_permutex_epi64(v, 0x4e));
    to[0] += (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(v));
    to[1] += (uint64_t)_mm_cvtsi128_si64(_mm512_extracti32x4_epi32(v, 2));
}

#define FINISH_BYTES 64
#define FINISH_STREAM(to, from) _mm512_stream_si512((__m512i *)(void *)(to), load(from))
#include "backends/cpu/finish.h"

static void stream_end(void)
{
    _mm_sfence();
}

void wcodec_cpu_dsp_init_avx512_elements(struct wcodec_cpu_dsp *dsp)
{
    dsp->assemble[WCODEC_CPU_ANY] = assemble_any;
    dsp->assemble[WCODEC_CPU_BF16] = assemble_bf16;
    dsp->assemble[WCODEC_CPU_NIBBLE] = assemble_nibble;
    dsp->assemble[WCODEC_CPU_BYTE] = assemble_byte;
    dsp->assemble[WCODEC_CPU_F32] = assemble_f32;
    dsp->assemble[WCODEC_CPU_F16] = assemble_f16;
    dsp->finish = finish_plain;
    dsp->check = finish_check;
    dsp->finish_stream = finish_stream;
    dsp->stream_end = stream_end;
}
