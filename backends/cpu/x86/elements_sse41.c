/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level: assembling elements, copying them out, and the check's sums. */
#include "backends/cpu/x86/vec128.h"

#include "backends/cpu/decode.h"
#include "coding/check_key.h"
#include "core/bytes.h"

INLINE vec load_4(const uint8_t *p)
{
    return _mm_cvtsi32_si128((int)wcodec_load_u32(p));
}

INLINE vec spread(unsigned element_log2, const uint8_t *symbols)
{
    return element_log2 == 0   ? load(symbols)
           : element_log2 == 1 ? _mm_cvtepu8_epi16(load_8(symbols))
                               : _mm_cvtepu8_epi32(load_4(symbols));
}

INLINE vec rotate_right(vec v, unsigned by)
{
    return bit_or(shift_right(v, make_count(2, by)), shift_left(2, v, make_count(2, 32 - by)));
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
        return shuffle(load_8(row), _mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 4, 5, 6, 7, 5, 6, 7, 4));
    if (own == 2)
        return zip_low32(rotate_right(load_8(row), turn), rotate_right(load_8(row), turn + bits));
    if (bits == 16) /* elements 0 and 1 from one row, 2 and 3 from the next */
        return shuffle(zip_low32(load_4(row), load_4(row + 128)),
                       _mm_setr_epi8(0, 1, 2, 3, 2, 3, 0, 1, 4, 5, 6, 7, 6, 7, 4, 5));
    if (bits == 8)
        return shuffle(load_4(row), _mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2));
    const vec a =
        zip_low32(rotate_right(load_4(row), turn), rotate_right(load_4(row), turn + bits));
    const vec b = zip_low32(rotate_right(load_4(row), turn + 2 * bits),
                            rotate_right(load_4(row), turn + 3 * bits));
    return zip_low64(a, b);
}

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

#include "backends/cpu/x86/sums.h"

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    const uint32_t k0 = WCODEC_CHECK_KEY(number),
                   k1 = k0 + (element_log2 > 0 ? WCODEC_CHECK_STEP : 0),
                   two = element_log2 > 1 ? 2 * WCODEC_CHECK_STEP : 0;
    return (struct keys){_mm_setr_epi32((int)k0, 0, (int)(k0 + two), 0),
                         _mm_setr_epi32((int)k1, 0, (int)(k1 + two), 0)};
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c,
                       uint64_t sums[WCODEC_LANES])
{
    uint64_t *to = sums + ((4 * r) >> element_log2), parts[2];
    if (element_log2 == 0) {
        add_to(to, zip_low64(c.even, c.odd));
        add_to(to + 2, zip_high64(c.even, c.odd));
    } else if (element_log2 == 1) {
        add_to(to, add64(c.even, c.odd));
    } else {
        store(parts, add64(c.even, c.odd));
        to[0] += parts[0] + parts[1];
    }
}

#include "backends/cpu/elements.h"

void wcodec_cpu_dsp_init_sse41_elements(struct wcodec_cpu_dsp *dsp)
{
    use_elements(dsp);
    dsp->assemble[WCODEC_CPU_ANY] = assemble_mostly;
}
