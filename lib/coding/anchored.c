/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/anchored.h"
#include "coding/lossy.h"
#include "core/error.h"

#include <float.h>
#include <inttypes.h>

enum { FORM = 1, NUMBER_LOG2_MOST = 1, INDEX_LOG2_MOST = 2, FIGURES = 3, PIECE = 256 };

static wcodec_status bad(wcodec_error *err, const char *what)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a tensor by anchors: %s", what);
}

static bool read_figures(const uint8_t *bytes, struct wcodec_anchored *a)
{
    double figures[FIGURES];
    for (unsigned i = 0; i < FIGURES; i++) {
        const uint64_t bits = wcodec_load_u64(bytes + (size_t)8 * i);
        memcpy(&figures[i], &bits, sizeof bits);
        if (bits >> 63 != 0 || !(figures[i] <= DBL_MAX))
            return false;
    }
    a->largest_error = figures[0];
    a->mean_squared_error = figures[1];
    a->mean_square = figures[2];
    return true;
}

static wcodec_status derive(struct wcodec_anchored *a, uint64_t size, wcodec_dtype dtype,
                            wcodec_error *err)
{
    if (!wcodec_lossy_dtype(dtype))
        return bad(err, "its type is neither BF16 nor F16 nor F32");
    a->dtype = dtype;
    a->element_log2 = dtype == WCODEC_DTYPE_F32 ? 2 : 1;
    if (a->columns == 0 || a->columns > (uint64_t)WCODEC_LOSSY_ROW_MAX >> a->element_log2 ||
        size % wcodec_anchored_row_size(a) != 0)
        return bad(err, "rows that do not fit its size");
    a->rows = size / wcodec_anchored_row_size(a);
    if (a->number_log2 > NUMBER_LOG2_MOST || a->index_log2 > INDEX_LOG2_MOST)
        return bad(err, "widths of its parts");
    if (a->anchors == 0 || a->anchors > a->rows)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a tensor by anchors: %" PRIu64 " of them for %" PRIu64 " rows",
                           a->anchors, a->rows);
    const uint64_t bytes = wcodec_anchored_part_size(a, WCODEC_ANCHORED_ANCHORS);
    if (bytes > WCODEC_ANCHORED_BYTES_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a tensor by anchors: %" PRIu64 " bytes of them, allowed are %d", bytes,
                           WCODEC_ANCHORED_BYTES_MAX);
    return WCODEC_OK;
}

wcodec_status wcodec_anchored_read(struct wcodec_cursor *c, uint64_t size, wcodec_dtype dtype,
                                   struct wcodec_anchored *anchored, bool *newer, wcodec_error *err)
{
    struct wcodec_anchored a = {.scale = 0};
    const uint8_t *scale, *figures;
    uint8_t form;
    if (!wcodec_take_u8(c, &form))
        return bad(err, "its record is cut short");
    *newer = form != FORM;
    if (*newer)
        return WCODEC_OK;
    if (!wcodec_take_varint(c, &a.columns) || !wcodec_take_u8(c, &a.number_log2) ||
        !wcodec_take_u8(c, &a.index_log2) || !wcodec_take_varint(c, &a.anchors) ||
        !wcodec_take_bytes(c, 4, &scale) || !wcodec_take_bytes(c, (size_t)8 * FIGURES, &figures))
        return bad(err, "its record is cut short");
    a.scale = wcodec_f32_of_bits(wcodec_load_u32(scale));
    if (!wcodec_scale_valid(a.scale) || !read_figures(figures, &a))
        return bad(err, "a scale or an error that is none");
    const wcodec_status status = derive(&a, size, dtype, err);
    if (status == WCODEC_OK)
        *anchored = a;
    return status;
}

size_t wcodec_anchored_write(const struct wcodec_anchored *a, uint8_t *to)
{
    const double figures[FIGURES] = {a->largest_error, a->mean_squared_error, a->mean_square};
    uint8_t *at = to;
    *at++ = FORM;
    at += wcodec_put_varint(at, a->columns);
    *at++ = a->number_log2;
    *at++ = a->index_log2;
    at += wcodec_put_varint(at, a->anchors);
    wcodec_store_u32(at, wcodec_f32_bits(a->scale));
    at += 4;
    for (unsigned i = 0; i < FIGURES; i++, at += 8) {
        uint64_t bits;
        memcpy(&bits, &figures[i], sizeof bits);
        wcodec_store_u64(at, bits);
    }
    return (size_t)(at - to);
}

static uint64_t index_of(const struct wcodec_anchored *a, const uint8_t *indices, uint64_t row)
{
    return wcodec_load_element(indices + (row << a->index_log2), a->index_log2);
}

bool wcodec_anchored_restore(const struct wcodec_anchored *a, const uint8_t *anchors,
                             const uint8_t *indices, const uint8_t *residuals, uint64_t rows,
                             uint8_t *out)
{
    const uint64_t numbers = a->columns << a->number_log2;
    int32_t values[PIECE];
    for (uint64_t row = 0; row < rows; row++) {
        const uint64_t anchor = index_of(a, indices, row);
        if (anchor >= a->anchors)
            return false;
        const uint8_t *from = anchors + anchor * numbers, *residual = residuals + row * numbers;
        for (uint64_t at = 0, count; at < a->columns; at += count) {
            const uint64_t skip = at << a->number_log2;
            count = a->columns - at < PIECE ? a->columns - at : PIECE;
            for (size_t i = 0; i < count; i++)
                values[i] = WCODEC_TRANSFORM_UNIT *
                            (wcodec_coefficient(from + skip, a->number_log2, i) +
                             wcodec_coefficient(residual + skip, a->number_log2, i));
            wcodec_lossy_store(a->dtype, values, (unsigned)count, a->scale,
                               out + row * wcodec_anchored_row_size(a) + (at << a->element_log2));
        }
    }
    return true;
}
