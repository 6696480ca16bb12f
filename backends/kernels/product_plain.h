/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products and rows (product.h, rows.h) for OpenCL devices without tensor cores of their own here,
 * processors too: every work-item by itself, which takes four of them a row of a tile
 * (fixed_row.h).
 *
 * A work-group computes a band of 16 rows of W. Its work-items are parts x rows x 4: the parts take
 * the band's tiles in turns. Sums are binary32, and those of a row are added in order.
 *
 * y = x W: a work-group computes 128 columns, a tile's width. Each part decodes one of the tiles of
 * that width to local memory, where each of its work-items has two columns to take. */
#ifndef WCODEC_KERNELS_PRODUCT_PLAIN_H
#define WCODEC_KERNELS_PRODUCT_PLAIN_H

#include "backends/kernels/fixed_row.h"

/* Spilled elements of the tile that the lane has. list: as wcodec_row_patch() takes it. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_spilled(const uint32_t bits,
                                                 const struct wcodec_product_launch *l,
                                                 const WCODEC_GLOBAL uint8_t *list, uint32_t band,
                                                 uint32_t row, uint32_t lane,
                                                 struct wcodec_row_part *part)
{
    if (!(list[1] & 0x80))
        return;
    const WCODEC_GLOBAL uint32_t *last = (const WCODEC_GLOBAL uint32_t *)(list + 16 * l->list - 8);
    for (uint32_t i = 0; i < last[1]; i++) {
        const uint32_t outlier = wcodec_product_spilled(bits, l, band, last[0] + i);
        if (wcodec_row_has(outlier & 0x7ff, row, lane))
            wcodec_row_flip(part->upper, wcodec_row_place(outlier & 0x7ff), outlier >> 11);
    }
}

/* What eight of a lane's elements of a tile, from column `column` on, add to the sums of the
 * vectors. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_eight(const struct wcodec_product_launch *l,
                                               const uint32_t *lower, const uint32_t *upper,
                                               uint32_t column, float *sums)
{
    const uint32_t left = column < l->columns ? l->columns - column : 0;
    float weights[8];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++)
        weights[i] = wcodec_bits_float((upper[i / 4] >> i % 4 * 8 & 0xff) << 24 |
                                       (lower[i / 4] >> i % 4 * 8 & 0xff) << 16);
    for (uint32_t v = 0; v < l->vectors; v++) {
        const WCODEC_GLOBAL uint16_t *x =
            (const WCODEC_GLOBAL uint16_t *)(l->x + v * l->x_stride) + column;
        float sum = sums[v];
        if (left >= 8) {
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < 8; i++)
                sum += weights[i] * wcodec_bits_float((uint32_t)x[i] << 16);
        } else {
            for (uint32_t i = 0; i < left; i++)
                sum += weights[i] * wcodec_bits_float((uint32_t)x[i] << 16);
        }
        sums[v] = sum;
    }
}

/* Work-item `item` of group `band`: its sums of the vectors. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_sums(const uint32_t bits,
                                              const struct wcodec_product_launch *l, uint32_t band,
                                              uint32_t item, float *sums)
{
    const uint32_t lane = item % 4, row = item / 4 % 16, list_at = wcodec_record_list_at(bits),
                   size = wcodec_record_size(bits, l->list);
    for (uint32_t v = 0; v < WCODEC_PRODUCT_PLAIN_VECTORS; v++)
        sums[v] = 0;
    for (uint32_t tile = item / 64; tile < l->across; tile += l->parts) {
        const WCODEC_GLOBAL uint8_t *from =
            (const WCODEC_GLOBAL uint8_t *)(l->records +
                                            ((uint64_t)band * l->across + tile) * size);
        struct wcodec_row_part part;
        wcodec_row_load(bits, from, row, lane, &part);
        wcodec_row_patch(bits, from + list_at, 16 * l->list, row, lane, &part);
        wcodec_plain_spilled(bits, l, from + list_at, band, row, lane, &part);
        for (uint32_t q = 0; q < 4; q++)
            wcodec_plain_eight(l, part.lower + 2 * q, part.upper + 2 * q,
                               128 * tile + 32 * q + 8 * lane, sums);
    }
}

/* The work-item's sums to where wcodec_plain_finish() finds them. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_put(uint32_t item, const float *sums,
                                             WCODEC_GROUP_LOCAL float *all)
{
    const uint32_t share = item / 64 * 4 + item % 4, row = item / 4 % 16;
    for (uint32_t v = 0; v < WCODEC_PRODUCT_PLAIN_VECTORS; v++)
        all[(share * WCODEC_PRODUCT_PLAIN_VECTORS + v) * 16 + row] = sums[v];
}

/* The group's part of y, when all work-items have put their sums; items: of them. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_finish(const struct wcodec_product_launch *l,
                                                uint32_t band, uint32_t item, uint32_t items,
                                                const WCODEC_GROUP_LOCAL float *all)
{
    for (uint32_t i = item; i < 16 * l->vectors; i += items) {
        const uint32_t vector = i / 16, row = 16 * band + i % 16;
        float sum = 0;
        if (row >= l->rows)
            continue;
        for (uint32_t share = 0; share < 4 * l->parts; share++)
            sum += all[share * WCODEC_PRODUCT_PLAIN_VECTORS * 16 + i];
        sum *= wcodec_product_scale(((const WCODEC_GLOBAL uint8_t *)l->shifts)[row]);
        if (l->bias)
            sum += wcodec_product_number(l->bias, l->bias_format, row);
        wcodec_product_store(l->y + vector * l->y_stride, l->y_format, row, sum);
    }
}

/* Columns of a tile that a work-item takes: its number among 64, and 64 after that. */
enum { WCODEC_PLAIN_COLUMNS = 2 };

/* Work-item `item`'s part of the tile of band `band` in tiles' column `column`, to its part's place
 * in local memory; what is no row's is zeros. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_decode(const uint32_t bits,
                                                const struct wcodec_product_launch *l,
                                                uint32_t band, uint32_t column, uint32_t item,
                                                WCODEC_GROUP_LOCAL uint16_t *elements)
{
    const uint32_t lane = item % 4, row = item / 4 % 16, list_at = wcodec_record_list_at(bits),
                   size = wcodec_record_size(bits, l->list);
    WCODEC_GROUP_LOCAL uint16_t *to =
        elements + item / 64 * WCODEC_FIXED_TILE + row * WCODEC_FIXED_COLUMNS + 8 * lane;
    struct wcodec_row_part part;
    if (band >= l->bands || 16 * band + row >= l->rows) {
        for (uint32_t i = 0; i < 32; i++)
            to[i / 8 * 32 + i % 8] = 0;
        return;
    }
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->records + ((uint64_t)band * l->across + column) * size);
    const int32_t shift =
        (int32_t)WCODEC_SIGNED_BYTE(((const WCODEC_GLOBAL uint8_t *)l->shifts)[16 * band + row], 0);
    wcodec_row_load(bits, from, row, lane, &part);
    wcodec_row_patch(bits, from + list_at, 16 * l->list, row, lane, &part);
    wcodec_plain_spilled(bits, l, from + list_at, band, row, lane, &part);
    for (uint32_t q = 0; q < 4; q++) {
        uint32_t pairs[4];
        wcodec_row_pairs(&part, q, shift, false, pairs);
        for (uint32_t i = 0; i < 8; i++)
            to[32 * q + i] = (uint16_t)(pairs[i / 2] >> i % 2 * 16);
    }
}

/* What a tile adds to the work-item's sums, by vectors. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_combine(const struct wcodec_product_launch *l,
                                                 uint32_t band, uint32_t item,
                                                 const WCODEC_GROUP_LOCAL uint16_t *elements,
                                                 float *sums)
{
    const WCODEC_GROUP_LOCAL uint16_t *from = elements + item / 64 * WCODEC_FIXED_TILE + item % 64;
    for (uint32_t row = 0; row < 16 && 16 * band + row < l->rows; row++) {
        const float first = wcodec_bits_float((uint32_t)from[128 * row] << 16),
                    second = wcodec_bits_float((uint32_t)from[128 * row + 64] << 16);
        for (uint32_t v = 0; v < l->vectors; v++) {
            const uint32_t bits =
                ((const WCODEC_GLOBAL uint16_t *)(l->x + v * l->x_stride))[16 * band + row];
            const float x = wcodec_bits_float(bits << 16);
            sums[2 * v] += first * x;
            sums[2 * v + 1] += second * x;
        }
    }
}

/* The work-item's sums to where wcodec_plain_finish_columns() finds them. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_put_columns(uint32_t item, const float *sums,
                                                     WCODEC_GROUP_LOCAL float *all)
{
    WCODEC_GROUP_LOCAL float *to =
        all + item / 64 * WCODEC_PRODUCT_PLAIN_VECTORS * WCODEC_FIXED_COLUMNS + item % 64;
    for (uint32_t v = 0; v < WCODEC_PRODUCT_PLAIN_VECTORS; v++) {
        to[128 * v] = sums[2 * v];
        to[128 * v + 64] = sums[2 * v + 1];
    }
}

/* As wcodec_plain_finish(), of the columns. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_finish_columns(const struct wcodec_product_launch *l,
                                                        uint32_t column, uint32_t item,
                                                        uint32_t items,
                                                        const WCODEC_GROUP_LOCAL float *all)
{
    for (uint32_t i = item; i < 128 * l->vectors; i += items) {
        const uint32_t vector = i / 128, to = 128 * column + i % 128;
        float sum = 0;
        if (to >= l->columns)
            continue;
        for (uint32_t part = 0; part < l->parts; part++)
            sum += all[part * WCODEC_PRODUCT_PLAIN_VECTORS * 128 + i];
        wcodec_product_store(l->y + vector * l->y_stride, l->y_format, to, sum);
    }
}

/* Rows, of numbers or from the job's first row on; work-item `item` of all `items`, whose number is
 * a multiple of four. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_rows(const uint32_t bits,
                                              const struct wcodec_rows_launch *l, uint64_t item,
                                              uint64_t items)
{
    const uint64_t all = l->count * l->job.across;
    for (uint64_t i = item / 4; i < all; i += items / 4) {
        const uint64_t number = i / l->job.across, out = l->job.out + 2 * number * l->job.columns,
                       row = l->indices ? ((const WCODEC_GLOBAL uint64_t *)l->indices)[number]
                                        : l->job.first_row + number;
        const uint32_t tile = (uint32_t)(i - number * l->job.across), lane = item % 4;
        if (row < l->job.rows)
            wcodec_row_gather(bits, l, row, out, tile, lane);
        else
            wcodec_row_zeros(l, out, tile, lane);
    }
}

#endif
