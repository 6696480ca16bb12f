/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: assembling elements, copying them out, and the check's sums. */
#include "backends/cpu/x86/vec256.h"

#include "backends/cpu/decode.h"
#include "coding/check_key.h"

INLINE vec spread(unsigned element_log2, const uint8_t *symbols)
{
    switch (element_log2) {
    case 0:
        return load(symbols);
    case 1:
        return _mm256_cvtepu8_epi16(load_part(symbols));
    default:
        return _mm256_cvtepu8_epi32(load_8(symbols));
    }
}

INLINE vec rotate_right(vec v, vec by)
{
    const vec rest = bit_and(sub32(zero(), by), set32(31));
    return bit_or(_mm256_srlv_epi32(v, by), _mm256_sllv_epi32(v, rest));
}

/* 8-bit planes of 16-bit elements: four lanes' words, each doubled, its copy rotated by 8. */
INLINE vec double_words(const uint8_t *row)
{
    return shuffle(repeat(row),
                   _mm256_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 4, 5, 6, 7, 5, 6, 7, 4, 8, 9, 10, 11, 9,
                                    10, 11, 8, 12, 13, 14, 15, 13, 14, 15, 12));
}

/* 8-bit planes of 32-bit elements: two lanes' words fourfold, rotated by 0, 8, 16, 24. */
INLINE vec fourfold_words(const uint8_t *row)
{
    int64_t words;
    memcpy(&words, row, 8);
    return shuffle(_mm256_set1_epi64x(words),
                   _mm256_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2, 4, 5, 6, 7, 5,
                                    6, 7, 4, 6, 7, 4, 5, 7, 4, 5, 6));
}

/* 16-bit planes of 32-bit elements: two lanes' words of one row for elements 0 and 1, of the next
 * for 2 and 3, each second one rotated by 16. */
INLINE vec two_rows(const uint8_t *row)
{
    const __m128i words = _mm_unpacklo_epi64(load_8(row), load_8(row + 128));
    return shuffle(_mm256_broadcastsi128_si256(words),
                   _mm256_setr_epi8(0, 1, 2, 3, 2, 3, 0, 1, 8, 9, 10, 11, 10, 11, 8, 9, 4, 5, 6, 7,
                                    6, 7, 4, 5, 12, 13, 14, 15, 14, 15, 12, 13));
}

INLINE vec plane_words(const uint8_t *rows, unsigned bits, unsigned element_log2, unsigned group,
                       unsigned lane)
{
    const unsigned own = 1u << element_log2, ratio = 8 * own / bits, number = own * group;
    const uint8_t *row = rows + 128 * (size_t)(number / ratio) + 4 * lane;
    const vec turn = set32(number % ratio * bits), step = set32(bits);
    if (own == 1)
        return rotate_right(load(row), turn);
    if (own == 2) {
        if (bits == 8)
            return double_words(row);
        const vec twice =
            _mm256_permutevar8x32_epi32(repeat(row), _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
        return rotate_right(
            twice, add32(turn, bit_and(_mm256_setr_epi32(0, -1, 0, -1, 0, -1, 0, -1), step)));
    }
    if (bits == 16)
        return two_rows(row);
    if (bits == 8)
        return fourfold_words(row);
    const vec fourfold = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(load_8(row)),
                                                     _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
    return rotate_right(fourfold,
                        add32(turn, mul32(step, _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3))));
}

#include "backends/cpu/x86/sums.h"

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    const vec words = bit_and(_mm256_setr_epi64x(0, 2, 4, 6), set64((1u << element_log2) - 1)),
              step = set64(WCODEC_CHECK_STEP);
    const vec even = add64(mul_even32(words, step), set64(WCODEC_CHECK_KEY(number)));
    return (struct keys){even, element_log2 == 0 ? even : add64(even, step)};
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c,
                       uint64_t sums[WCODEC_LANES])
{
    uint64_t *to = sums + ((8 * r) >> element_log2), parts[4];
    if (element_log2 == 0) {
        const vec low = zip_low64(c.even, c.odd), high = zip_high64(c.even, c.odd);
        add_to(to, zip_parts_low(low, high));
        add_to(to + 4, zip_parts_high(low, high));
        return;
    }
    const vec both = add64(c.even, c.odd);
    if (element_log2 == 1) {
        add_to(to, both);
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

#include "backends/cpu/elements.h"

void wcodec_cpu_dsp_init_avx2_elements(struct wcodec_cpu_dsp *dsp)
{
    use_elements(dsp);
}
