/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: assembling elements, copying them out, and the check's sums. */
#include "backends/cpu/decode.h"
#include "coding/check_key.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256(p);
}

INLINE void store(void *p, __m256i v)
{
    _mm256_storeu_si256(p, v);
}

INLINE __m256i load_twice(const uint8_t *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
}

typedef __m256i vec;
typedef __m128i shift_count;

INLINE vec set_words(uint32_t word)
{
    return _mm256_set1_epi32((int)word);
}

INLINE vec either(vec a, vec b)
{
    return _mm256_or_si256(a, b);
}

INLINE vec both(vec a, vec b)
{
    return _mm256_and_si256(a, b);
}

INLINE vec spread(unsigned element_log2, const uint8_t *symbols)
{
    switch (element_log2) {
    case 0:
        return load(symbols);
    case 1:
        return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)symbols));
    default:
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)symbols));
    }
}

INLINE shift_count make_count(unsigned element_log2, unsigned by)
{
    (void)element_log2;
    return _mm_cvtsi32_si128((int)by);
}

INLINE vec shift_left(unsigned element_log2, vec v, shift_count by)
{
    return element_log2 == 1 ? _mm256_sll_epi16(v, by) : _mm256_sll_epi32(v, by);
}

INLINE vec shift_right(vec v, shift_count by)
{
    return _mm256_srl_epi32(v, by);
}

INLINE vec rotate_nibble(vec v)
{
    return either(_mm256_srli_epi32(v, 4), _mm256_slli_epi32(v, 28));
}

INLINE vec subtract(unsigned element_log2, vec v, vec add)
{
    return element_log2 == 0   ? _mm256_sub_epi8(v, add)
           : element_log2 == 1 ? _mm256_sub_epi16(v, add)
                               : _mm256_sub_epi32(v, add);
}

INLINE void store_wide(uint8_t *out, vec low, vec high, uint64_t add)
{
    const vec a = _mm256_unpacklo_epi32(low, high), b = _mm256_unpackhi_epi32(low, high),
              less = _mm256_set1_epi64x((long long)add);
    store(out, _mm256_sub_epi64(_mm256_permute2x128_si256(a, b, 0x20), less));
    store(out + 32, _mm256_sub_epi64(_mm256_permute2x128_si256(a, b, 0x31), less));
}

INLINE __m256i rotate_right(__m256i v, __m256i by)
{
    const __m256i rest =
        _mm256_and_si256(_mm256_sub_epi32(_mm256_setzero_si256(), by), _mm256_set1_epi32(31));
    return _mm256_or_si256(_mm256_srlv_epi32(v, by), _mm256_sllv_epi32(v, rest));
}

/* 8-bit planes of 16-bit elements: four lanes' words, each doubled, its copy rotated by 8. */
INLINE __m256i double_words(const uint8_t *row)
{
    return _mm256_shuffle_epi8(
        load_twice(row), _mm256_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 4, 5, 6, 7, 5, 6, 7, 4, 8, 9, 10,
                                          11, 9, 10, 11, 8, 12, 13, 14, 15, 13, 14, 15, 12));
}

/* 8-bit planes of 32-bit elements: two lanes' words fourfold, rotated by 0, 8, 16, 24. */
INLINE __m256i fourfold_words(const uint8_t *row)
{
    int64_t words;
    memcpy(&words, row, 8);
    return _mm256_shuffle_epi8(_mm256_set1_epi64x(words),
                               _mm256_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2, 4,
                                                5, 6, 7, 5, 6, 7, 4, 6, 7, 4, 5, 7, 4, 5, 6));
}

/* 16-bit planes of 32-bit elements: two lanes' words of one row for elements 0 and 1, of the next
 * for 2 and 3, each second one rotated by 16. */
INLINE __m256i two_rows(const uint8_t *row)
{
    const __m128i words =
        _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)row),
                           _mm_loadl_epi64((const __m128i *)(const void *)(row + 128)));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(words),
                               _mm256_setr_epi8(0, 1, 2, 3, 2, 3, 0, 1, 8, 9, 10, 11, 10, 11, 8, 9,
                                                4, 5, 6, 7, 6, 7, 4, 5, 12, 13, 14, 15, 14, 15, 12,
                                                13));
}

INLINE __m256i plane_words(const uint8_t *rows, unsigned bits, unsigned element_log2,
                           unsigned group, unsigned lane)
{
    const unsigned own = 1u << element_log2, ratio = 8 * own / bits, number = own * group;
    const uint8_t *row = rows + 128 * (size_t)(number / ratio) + 4 * lane;
    const __m256i turn = _mm256_set1_epi32((int)(number % ratio * bits)),
                  step = _mm256_set1_epi32((int)bits);
    if (own == 1)
        return rotate_right(load(row), turn);
    if (own == 2) {
        if (bits == 8)
            return double_words(row);
        const __m256i twice =
            _mm256_permutevar8x32_epi32(load_twice(row), _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
        return rotate_right(
            twice,
            _mm256_add_epi32(
                turn, _mm256_and_si256(_mm256_setr_epi32(0, -1, 0, -1, 0, -1, 0, -1), step)));
    }
    if (bits == 16)
        return two_rows(row);
    if (bits == 8)
        return fourfold_words(row);
    const __m256i fourfold = _mm256_permutevar8x32_epi32(
        _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(const void *)row)),
        _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
    return rotate_right(
        fourfold, _mm256_add_epi32(
                      turn, _mm256_mullo_epi32(step, _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3))));
}

#define ASSEMBLE_BYTES 32
#include "backends/cpu/assemble.h"

/* Keys and sums of a register's even words and of its odd ones. */
struct keys {
    __m256i even, odd;
};

struct column {
    __m256i even, odd;
};

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    const __m256i words = _mm256_and_si256(_mm256_setr_epi64x(0, 2, 4, 6),
                                           _mm256_set1_epi64x((1 << element_log2) - 1)),
                  step = _mm256_set1_epi64x(WCODEC_CHECK_STEP);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(words, step),
                                          _mm256_set1_epi64x(WCODEC_CHECK_KEY(number)));
    return (struct keys){even, element_log2 == 0 ? even : _mm256_add_epi64(even, step)};
}

INLINE struct column empty_column(void)
{
    return (struct column){_mm256_setzero_si256(), _mm256_setzero_si256()};
}

INLINE void add_words(struct column *c, const uint8_t *at, const struct keys *keys)
{
    const __m256i v = load(at);
    c->even = _mm256_add_epi64(c->even, _mm256_mul_epu32(v, keys->even));
    c->odd = _mm256_add_epi64(c->odd, _mm256_mul_epu32(_mm256_srli_epi64(v, 32), keys->odd));
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c,
                       uint64_t sums[WCODEC_LANES])
{
    uint64_t *to = sums + ((8 * r) >> element_log2), parts[4];
    if (element_log2 == 0) {
        const __m256i low = _mm256_unpacklo_epi64(c.even, c.odd),
                      high = _mm256_unpackhi_epi64(c.even, c.odd);
        store(to, _mm256_add_epi64(load(to), _mm256_permute2x128_si256(low, high, 0x20)));
        store(to + 4, _mm256_add_epi64(load(to + 4), _mm256_permute2x128_si256(low, high, 0x31)));
        return;
    }
    const __m256i both = _mm256_add_epi64(c.even, c.odd);
    if (element_log2 == 1) {
        store(to, _mm256_add_epi64(load(to), both));
        return;
    }
    store(parts, both);
    if (element_log2 == 2) {
        to[0] += parts[0] + parts[1];
        to[1] += parts[2] + parts[3];
    } else {
        to[0] += parts[0] + parts[1] + parts[2] + parts[3];
    }
}

#define FINISH_BYTES 32
#define FINISH_STREAM(to, from) _mm256_stream_si256((__m256i *)(void *)(to), load(from))
#include "backends/cpu/finish.h"

static void stream_end(void)
{
    _mm_sfence();
}

void wcodec_cpu_dsp_init_avx2_elements(struct wcodec_cpu_dsp *dsp)
{
    dsp->level = 2;
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
