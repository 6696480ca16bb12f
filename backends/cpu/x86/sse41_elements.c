/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level: assembling elements, copying them out, and the check's sums. */
#include "backends/cpu/decode.h"
#include "coding/check_key.h"
#include "core/bytes.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m128i vec;
typedef __m128i shift_count;

INLINE vec load(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE vec load_8(const void *p)
{
    return _mm_loadl_epi64(p);
}

INLINE vec load_4(const uint8_t *p)
{
    return _mm_cvtsi32_si128((int)wcodec_load_u32(p));
}

INLINE void store(void *p, vec v)
{
    _mm_storeu_si128(p, v);
}

INLINE vec set_words(uint32_t word)
{
    return _mm_set1_epi32((int)word);
}

INLINE vec either(vec a, vec b)
{
    return _mm_or_si128(a, b);
}

INLINE vec both(vec a, vec b)
{
    return _mm_and_si128(a, b);
}

INLINE vec spread(unsigned element_log2, const uint8_t *symbols)
{
    return element_log2 == 0   ? load(symbols)
           : element_log2 == 1 ? _mm_cvtepu8_epi16(load_8(symbols))
                               : _mm_cvtepu8_epi32(load_4(symbols));
}

INLINE shift_count make_count(unsigned element_log2, unsigned by)
{
    (void)element_log2;
    return _mm_cvtsi32_si128((int)by);
}

INLINE vec shift_left(unsigned element_log2, vec v, shift_count by)
{
    return element_log2 == 1 ? _mm_sll_epi16(v, by) : _mm_sll_epi32(v, by);
}

INLINE vec shift_right(vec v, shift_count by)
{
    return _mm_srl_epi32(v, by);
}

INLINE vec rotate_nibble(vec v)
{
    return either(_mm_srli_epi32(v, 4), _mm_slli_epi32(v, 28));
}

INLINE vec subtract(unsigned element_log2, vec v, vec add)
{
    return element_log2 == 0   ? _mm_sub_epi8(v, add)
           : element_log2 == 1 ? _mm_sub_epi16(v, add)
                               : _mm_sub_epi32(v, add);
}

INLINE void store_wide(uint8_t *out, vec low, vec high, uint64_t add)
{
    const vec less = _mm_set1_epi64x((long long)add);
    store(out, _mm_sub_epi64(_mm_unpacklo_epi32(low, high), less));
    store(out + 16, _mm_sub_epi64(_mm_unpackhi_epi32(low, high), less));
}

INLINE vec rotate_right(vec v, unsigned by)
{
    return either(_mm_srl_epi32(v, make_count(2, by)), _mm_sll_epi32(v, make_count(2, 32 - by)));
}

INLINE vec plane_words(const uint8_t *rows, unsigned bits, unsigned element_log2, unsigned group,
                       unsigned lane)
{
    const unsigned own = 1u << element_log2, ratio = 8 * own / bits, number = own * group,
                   turn = number % ratio * bits;
    const uint8_t *row = rows + 128 * (size_t)(number / ratio) + 4 * lane;
    if (own == 1)
        return rotate_right(load(row), turn);
    if (own == 2 && bits == 8)
        return _mm_shuffle_epi8(load_8(row),
                                _mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 4, 5, 6, 7, 5, 6, 7, 4));
    if (own == 2)
        return _mm_unpacklo_epi32(rotate_right(load_8(row), turn),
                                  rotate_right(load_8(row), turn + bits));
    if (bits == 16) /* elements 0 and 1 from one row, 2 and 3 from the next */
        return _mm_shuffle_epi8(_mm_unpacklo_epi32(load_4(row), load_4(row + 128)),
                                _mm_setr_epi8(0, 1, 2, 3, 2, 3, 0, 1, 4, 5, 6, 7, 6, 7, 4, 5));
    if (bits == 8)
        return _mm_shuffle_epi8(load_4(row),
                                _mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2));
    const vec a =
        _mm_unpacklo_epi32(rotate_right(load_4(row), turn), rotate_right(load_4(row), turn + bits));
    const vec b = _mm_unpacklo_epi32(rotate_right(load_4(row), turn + 2 * bits),
                                     rotate_right(load_4(row), turn + 3 * bits));
    return _mm_unpacklo_epi64(a, b);
}

#define ASSEMBLE_BYTES 16
#include "backends/cpu/assemble.h"

/* Where a register has one lane, rotations differ by lanes: compilers do better with loops over all
 * lanes. */
static void assemble_mostly(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                            const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    if (a->element_log2 == 3 && a->plane_count > 0)
        wcodec_cpu_assemble_scalar(a, symbols, rows, elements);
    else
        assemble_any(a, symbols, rows, elements);
}

/* Keys and sums of a register's even words and of its odd ones. */
struct keys {
    __m128i even, odd;
};

struct column {
    __m128i even, odd;
};

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    const uint32_t k0 = WCODEC_CHECK_KEY(number),
                   k1 = k0 + (element_log2 > 0 ? WCODEC_CHECK_STEP : 0),
                   two = element_log2 > 1 ? 2 * WCODEC_CHECK_STEP : 0;
    return (struct keys){_mm_setr_epi32((int)k0, 0, (int)(k0 + two), 0),
                         _mm_setr_epi32((int)k1, 0, (int)(k1 + two), 0)};
}

INLINE struct column empty_column(void)
{
    return (struct column){_mm_setzero_si128(), _mm_setzero_si128()};
}

INLINE void add_words(struct column *c, const uint8_t *at, const struct keys *keys)
{
    const __m128i v = load(at);
    c->even = _mm_add_epi64(c->even, _mm_mul_epu32(v, keys->even));
    c->odd = _mm_add_epi64(c->odd, _mm_mul_epu32(_mm_srli_epi64(v, 32), keys->odd));
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c,
                       uint64_t sums[WCODEC_LANES])
{
    uint64_t *to = sums + ((4 * r) >> element_log2), parts[2];
    if (element_log2 == 0) {
        store(to, _mm_add_epi64(load(to), _mm_unpacklo_epi64(c.even, c.odd)));
        store(to + 2, _mm_add_epi64(load(to + 2), _mm_unpackhi_epi64(c.even, c.odd)));
    } else if (element_log2 == 1) {
        store(to, _mm_add_epi64(load(to), _mm_add_epi64(c.even, c.odd)));
    } else {
        store(parts, _mm_add_epi64(c.even, c.odd));
        to[0] += parts[0] + parts[1];
    }
}

#define FINISH_BYTES 16
#include "backends/cpu/finish.h"

void wcodec_cpu_dsp_init_sse41_elements(struct wcodec_cpu_dsp *dsp)
{
    dsp->assemble[WCODEC_CPU_ANY] = assemble_mostly;
    dsp->assemble[WCODEC_CPU_NIBBLE] = assemble_nibble;
    dsp->assemble[WCODEC_CPU_BF16] = assemble_bf16;
    dsp->assemble[WCODEC_CPU_BYTE] = assemble_byte;
    dsp->assemble[WCODEC_CPU_F32] = assemble_f32;
    dsp->assemble[WCODEC_CPU_F16] = assemble_f16;
    dsp->finish = finish_plain;
    dsp->check = finish_check;
}
