/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/fragments.h"

#include "core/assert.h"
#include "core/error.h"

#include <inttypes.h>

wcodec_status wcodec_fragments_derive(struct wcodec_fragments *f, uint64_t size,
                                      unsigned element_log2, wcodec_error *err)
{
    if (element_log2 > WCODEC_FRAGMENTS_ELEMENT_LOG2_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "elements of 2^%u bytes in fragments, at most 2^%d are allowed",
                           element_log2, WCODEC_FRAGMENTS_ELEMENT_LOG2_MAX);
    if (f->columns < 1 || f->columns > (uint64_t)WCODEC_FRAGMENTS_ROW_MAX >> element_log2)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "rows of %" PRIu64 " elements, allowed are 1 element to 2^20 bytes",
                           f->columns);
    if (size % (f->columns << element_log2) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " bytes are no whole number of rows of %" PRIu64 " elements",
                           size, f->columns);
    f->element_log2 = (uint8_t)element_log2;
    f->size = size;
    f->rows = size / (f->columns << element_log2);
    return WCODEC_OK;
}

wcodec_status wcodec_fragments_read(struct wcodec_cursor *cursor, uint64_t size,
                                    struct wcodec_fragments *fragments,
                                    struct wcodec_tiling *tiling, bool *newer, wcodec_error *err)
{
    struct wcodec_fragments f = {0};
    struct wcodec_cursor c = *cursor;
    uint8_t form;
    *newer = false;
    if (!wcodec_take_u8(&c, &form))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor in fragments are cut off");
    if (form != WCODEC_FRAGMENTS_FORM) {
        *newer = true;
        return WCODEC_OK;
    }
    if (!wcodec_take_varint(&c, &f.columns) || c.at == c.end)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor in fragments are cut off");
    wcodec_status status = wcodec_fragments_derive(&f, size, *c.at, err);
    if (status == WCODEC_OK)
        status = wcodec_tiling_read(&c, size, tiling, err);
    if (status != WCODEC_OK)
        return status;
    *cursor = c;
    *fragments = f;
    return WCODEC_OK;
}

size_t wcodec_fragments_write(const struct wcodec_fragments *f, const struct wcodec_tiling *tiling,
                              uint8_t *bytes)
{
    uint8_t *p = bytes;
    *p++ = WCODEC_FRAGMENTS_FORM;
    p += wcodec_put_varint(p, f->columns);
    return (size_t)(p - bytes) + wcodec_tiling_write(tiling, p);
}

struct wcodec_section wcodec_fragments_section(const struct wcodec_fragments *f, uint64_t i)
{
    const uint64_t band_size = wcodec_fragments_band(f), band = i / band_size,
                   row = band * WCODEC_SECTION_ROWS, left = f->rows - row;
    const unsigned height = left < WCODEC_SECTION_ROWS ? (unsigned)left : WCODEC_SECTION_ROWS;
    const uint64_t size = (uint64_t)height * WCODEC_SECTION_COLUMNS,
                   x = (i - band * band_size) / size, column = x * WCODEC_SECTION_COLUMNS,
                   across = f->columns - column;
    WCODEC_ASSERT(i < f->rows * f->columns);
    return (struct wcodec_section){
        .first = band * band_size + x * size,
        .row = row,
        .column = column,
        .height = height,
        .width = across < WCODEC_SECTION_COLUMNS ? (unsigned)across : WCODEC_SECTION_COLUMNS};
}

/* Number in the tensor of element k of a section. */
static uint64_t element_of(const struct wcodec_fragments *f, const struct wcodec_section *s,
                           uint32_t k)
{
    const bool whole = wcodec_section_is_whole(s);
    const uint64_t row = whole ? wcodec_section_row(k) : k / s->width,
                   column = whole ? wcodec_section_column(k) : k % s->width;
    return (s->row + row) * f->columns + s->column + column;
}

/* Elements of a section from element i of the sequence on, and not from `stop` on. */
static uint64_t run_of(const struct wcodec_section *s, uint64_t i, uint64_t stop)
{
    const uint64_t end = s->first + (uint64_t)s->height * s->width;
    return (end < stop ? end : stop) - i;
}

void wcodec_fragments_gather(const struct wcodec_fragments *f, const uint8_t *data, uint64_t first,
                             uint64_t count, uint8_t *sequence)
{
    const size_t bytes = (size_t)1 << f->element_log2;
    for (uint64_t i = first, n; i < first + count; i += n) {
        const struct wcodec_section s = wcodec_fragments_section(f, i);
        n = run_of(&s, i, first + count);
        for (uint64_t k = i - s.first; k < i - s.first + n; k++, sequence += bytes)
            memcpy(sequence, data + (element_of(f, &s, (uint32_t)k) << f->element_log2), bytes);
    }
}

void wcodec_fragments_put(const struct wcodec_fragments *f, uint64_t first, uint64_t count,
                          const uint8_t *sequence, uint64_t begin, uint64_t end, uint8_t *dst)
{
    const size_t bytes = (size_t)1 << f->element_log2;
    for (uint64_t i = first, n; i < first + count; i += n) {
        const struct wcodec_section s = wcodec_fragments_section(f, i);
        n = run_of(&s, i, first + count);
        for (uint64_t k = i - s.first; k < i - s.first + n; k++, sequence += bytes)
            wcodec_put_part(sequence, element_of(f, &s, (uint32_t)k) << f->element_log2, bytes,
                            begin, end, dst);
    }
}
