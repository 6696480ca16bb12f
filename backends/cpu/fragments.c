/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Whole sections go to their rows by words of four elements; of others, and of those of which only
 * a part is wanted, element by element. */
#include "backends/cpu/fragments.h"

#ifdef __SSE2__ /* as all x86-64 processors have it */
#include <emmintrin.h>
#endif

enum { ROWS = WCODEC_SECTION_ROWS, COLUMNS = WCODEC_SECTION_COLUMNS, ROWS_OF_GROUP = ROWS / 2 };

/* A row of 32 columns is four words of four elements of each of two groups, in turn. */
#ifdef __SSE2__
static inline void put_row_16(const uint8_t *even, const uint8_t *odd, uint8_t *row)
{
    for (unsigned i = 0; i < 2; i++) {
        const __m128i a = _mm_loadu_si128((const void *)(even + (size_t)16 * i)),
                      b = _mm_loadu_si128((const void *)(odd + (size_t)16 * i));
        _mm_storeu_si128((void *)(row + (size_t)32 * i), _mm_unpacklo_epi64(a, b));
        _mm_storeu_si128((void *)(row + (size_t)32 * i + 16), _mm_unpackhi_epi64(a, b));
    }
}

static inline void put_row_8(const uint8_t *even, const uint8_t *odd, uint8_t *row)
{
    const __m128i a = _mm_loadu_si128((const void *)even), b = _mm_loadu_si128((const void *)odd);
    _mm_storeu_si128((void *)(row), _mm_unpacklo_epi32(a, b));
    _mm_storeu_si128((void *)(row + 16), _mm_unpackhi_epi32(a, b));
}
#else
static inline void put_row_16(const uint8_t *even, const uint8_t *odd, uint8_t *row)
{
    for (unsigned i = 0; i < 4; i++) {
        memcpy(row + (size_t)16 * i, even + (size_t)8 * i, 8);
        memcpy(row + (size_t)16 * i + 8, odd + (size_t)8 * i, 8);
    }
}

static inline void put_row_8(const uint8_t *even, const uint8_t *odd, uint8_t *row)
{
    for (unsigned i = 0; i < 4; i++) {
        memcpy(row + (size_t)8 * i, even + (size_t)4 * i, 4);
        memcpy(row + (size_t)8 * i + 4, odd + (size_t)4 * i, 4);
    }
}
#endif

static inline void take_row_16(const uint8_t *row, uint8_t *even, uint8_t *odd)
{
    for (unsigned i = 0; i < 4; i++) {
        memcpy(even + (size_t)8 * i, row + (size_t)16 * i, 8);
        memcpy(odd + (size_t)8 * i, row + (size_t)16 * i + 8, 8);
    }
}

static inline void take_row_8(const uint8_t *row, uint8_t *even, uint8_t *odd)
{
    for (unsigned i = 0; i < 4; i++) {
        memcpy(even + (size_t)4 * i, row + (size_t)8 * i, 4);
        memcpy(odd + (size_t)4 * i, row + (size_t)8 * i + 4, 4);
    }
}

/* Places of 32 columns in a section: of row r the elements begin in the sequence at group
 * 4 column / 32 + r / 8, and the other four of eight two groups after it. */
static inline size_t group_row(unsigned element_log2, unsigned quarter, unsigned r)
{
    const size_t k =
        (size_t)(4 * quarter + r / ROWS_OF_GROUP) * WCODEC_GROUP + r % ROWS_OF_GROUP * 16;
    return k << element_log2;
}

static inline void put_section(unsigned element_log2, const uint8_t *sequence, uint8_t *out,
                               size_t stride)
{
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned quarter = 0; quarter < 4; quarter++) {
            const uint8_t *even = sequence + group_row(element_log2, quarter, r),
                          *odd = even + ((size_t)2 * WCODEC_GROUP << element_log2);
            uint8_t *row = out + r * stride + ((size_t)32 * quarter << element_log2);
            if (element_log2)
                put_row_16(even, odd, row);
            else
                put_row_8(even, odd, row);
        }
}

static void take_section(const struct wcodec_fragments *f, const uint8_t *in, size_t stride,
                         uint8_t *sequence)
{
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned quarter = 0; quarter < 4; quarter++) {
            uint8_t *even = sequence + group_row(f->element_log2, quarter, r);
            if (f->element_log2)
                take_row_16(in + r * stride + 64 * quarter, even, even + (size_t)4 * WCODEC_GROUP);
            else
                take_row_8(in + r * stride + 32 * quarter, even, even + (size_t)2 * WCODEC_GROUP);
        }
}

/* Elements of the section that are asked for from element i of the sequence on. */
static uint64_t run_of(const struct wcodec_section *s, uint64_t i, uint64_t stop)
{
    const uint64_t end = s->first + (uint64_t)s->height * s->width;
    return (end < stop ? end : stop) - i;
}

void wcodec_cpu_fragments_put(const struct wcodec_fragments *f, uint64_t first, uint64_t count,
                              const uint8_t *sequence, uint64_t begin, uint64_t end, uint8_t *dst)
{
    const uint64_t stride = f->columns << f->element_log2, stop = first + count;
    for (uint64_t i = first, n; i < stop; i += n, sequence += n << f->element_log2) {
        const struct wcodec_section s = wcodec_fragments_section(f, i);
        const uint64_t at = s.row * stride + (s.column << f->element_log2),
                       last = at + (ROWS - 1) * stride + ((uint64_t)COLUMNS << f->element_log2);
        n = run_of(&s, i, stop);
        if (n < WCODEC_SECTION || !wcodec_section_is_whole(&s) || at < begin || last > end)
            wcodec_fragments_put(f, i, n, sequence, begin, end, dst);
        else if (f->element_log2)
            put_section(1, sequence, dst + (at - begin), (size_t)stride);
        else
            put_section(0, sequence, dst + (at - begin), (size_t)stride);
    }
}

void wcodec_cpu_fragments_gather(const struct wcodec_fragments *f, const uint8_t *data,
                                 uint64_t first, uint64_t count, uint8_t *sequence)
{
    const uint64_t stride = f->columns << f->element_log2, stop = first + count;
    for (uint64_t i = first, n; i < stop; i += n, sequence += n << f->element_log2) {
        const struct wcodec_section s = wcodec_fragments_section(f, i);
        n = run_of(&s, i, stop);
        if (n < WCODEC_SECTION || !wcodec_section_is_whole(&s))
            wcodec_fragments_gather(f, data, i, n, sequence);
        else
            take_section(f, data + s.row * stride + (s.column << f->element_log2), (size_t)stride,
                         sequence);
    }
}
