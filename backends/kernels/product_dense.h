/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with a matrix of plain elements of any type: y = x W^T + bias and y = x W, by scales of
 * rows. They are for what no other kernel and no library takes: every work-item by itself, whatever
 * it is, so that all devices have them.
 *
 * y = x W^T: the work-items of a group share the columns of some rows. y = x W: each has one column
 * of those that are side by side, and some of the rows. Sums go to shared memory, and are added
 * there in order. */
#ifndef WCODEC_KERNELS_PRODUCT_DENSE_H
#define WCODEC_KERNELS_PRODUCT_DENSE_H

#include "backends/kernels/fixed_elements.h"
#include "backends/kernels/product_dense_launch.h"

/* F8_E4M3: but for its NaNs an F16 of a smaller exponent. */
WCODEC_DEVICE_FUNCTION float wcodec_dense_e4m3(uint32_t bits)
{
    const uint32_t magnitude = bits & 0x7f, sign = (bits & 0x80) << 24;
    if (magnitude == 0x7f)
        return wcodec_bits_float(sign | 0x7fc00000u);
    return 256 * wcodec_bits_float(sign | wcodec_from_f16(magnitude << 7));
}

/* Element i of an array. */
WCODEC_DEVICE_FUNCTION float wcodec_dense_element(uint64_t address, uint32_t format, uint64_t i)
{
    if (format <= WCODEC_TO_F32)
        return wcodec_product_number(address, format, i);
    const uint32_t bits = ((const WCODEC_GLOBAL uint8_t *)address)[i];
    return format == WCODEC_FROM_I8     ? (float)(int32_t)WCODEC_SIGNED_BYTE(bits, 0)
           : format == WCODEC_FROM_U8   ? (float)bits
           : format == WCODEC_FROM_E4M3 ? wcodec_dense_e4m3(bits)
                                        : wcodec_bits_float(wcodec_from_f16(bits << 8));
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_dense_vectors(const struct wcodec_dense_launch *l,
                                                     uint32_t first)
{
    const uint32_t left = l->vectors - first;
    return left < WCODEC_DENSE_VECTORS ? left : WCODEC_DENSE_VECTORS;
}

/* What a work-group has: its vectors are the faster number, so that neighbours find elements in a
 * cache. */
struct wcodec_dense_part {
    uint32_t first; /* row or column */
    uint32_t vector;
    uint32_t vectors;
};

/* Through a pointer: oclgrind does not know what clang makes of a struct that an inlined function
 * returns. */
WCODEC_DEVICE_FUNCTION void wcodec_dense_part_of(const struct wcodec_dense_launch *l,
                                                 uint32_t group, uint32_t width,
                                                 struct wcodec_dense_part *p)
{
    const uint32_t eights = (l->vectors + WCODEC_DENSE_VECTORS - 1) / WCODEC_DENSE_VECTORS;
    p->first = group / eights * width;
    p->vector = group % eights * WCODEC_DENSE_VECTORS;
    p->vectors = wcodec_dense_vectors(l, p->vector);
}

/* y = x W^T: what work-item `item` of `items` adds, number 4v + r of row r and vector v; rows after
 * the last are like that. */
WCODEC_DEVICE_FUNCTION void wcodec_dense_sums(const struct wcodec_dense_launch *l,
                                              const struct wcodec_dense_part *p, uint32_t item,
                                              uint32_t items, float *sums)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < WCODEC_DENSE_VECTORS * WCODEC_DENSE_ROWS; i++)
        sums[i] = 0;
    WCODEC_UNROLL_NONE
    for (uint32_t column = item; column < l->columns; column += items) {
        float weights[WCODEC_DENSE_ROWS];
        WCODEC_UNROLL_ALL
        for (uint32_t r = 0; r < WCODEC_DENSE_ROWS; r++) {
            const uint32_t row = p->first + r < l->rows ? p->first + r : l->rows - 1;
            weights[r] =
                wcodec_dense_element(l->elements, l->format, (uint64_t)row * l->columns + column);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t v = 0; v < WCODEC_DENSE_VECTORS; v++) {
            const float x = v < p->vectors
                                ? wcodec_product_number(l->x + (p->vector + v) * l->x_stride,
                                                        l->x_format, column)
                                : 0;
            WCODEC_UNROLL_ALL
            for (uint32_t r = 0; r < WCODEC_DENSE_ROWS; r++)
                sums[WCODEC_DENSE_ROWS * v + r] += weights[r] * x;
        }
    }
}

/* y = x W: likewise, number v of vector v. */
WCODEC_DEVICE_FUNCTION void wcodec_dense_column_sums(const struct wcodec_dense_launch *l,
                                                     const struct wcodec_dense_part *p,
                                                     uint32_t item, uint32_t items, float *sums)
{
    const uint32_t column = p->first + item % WCODEC_DENSE_COLUMNS;
    WCODEC_UNROLL_ALL
    for (uint32_t v = 0; v < WCODEC_DENSE_VECTORS; v++)
        sums[v] = 0;
    if (column >= l->columns)
        return;
    WCODEC_UNROLL_NONE
    for (uint32_t row = item / WCODEC_DENSE_COLUMNS; row < l->rows;
         row += items / WCODEC_DENSE_COLUMNS) {
        const float weight = wcodec_dense_element(l->elements, l->format,
                                                  (uint64_t)row * l->columns + column),
                    scale = l->with_scales ? wcodec_product_number(l->scales, l->scales_format, row)
                                           : 1;
        WCODEC_UNROLL_ALL
        for (uint32_t v = 0; v < WCODEC_DENSE_VECTORS; v++) {
            const float x =
                v < p->vectors
                    ? wcodec_product_number(l->x + (p->vector + v) * l->x_stride, l->x_format, row)
                    : 0;
            sums[v] += scale * x * weight;
        }
    }
}

/* Where sum i of a work-item is put. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_dense_at(uint32_t i, uint32_t item, uint32_t items)
{
    return i * (items + 1) + item;
}

/* Element `i` of vector `vector` of y. */
WCODEC_DEVICE_FUNCTION void wcodec_dense_store(const struct wcodec_dense_launch *l, uint32_t vector,
                                               uint32_t i, float sum)
{
    const uint64_t y = l->y + vector * l->y_stride;
    if (l->add)
        sum += wcodec_product_number(y, l->y_format, i);
    wcodec_product_store(y, l->y_format, i, sum);
}

/* The group's part of y, when all work-items have put their sums. */
WCODEC_DEVICE_FUNCTION void wcodec_dense_finish(const struct wcodec_dense_launch *l,
                                                const struct wcodec_dense_part *p, uint32_t item,
                                                uint32_t items, const WCODEC_GROUP_LOCAL float *all)
{
    for (uint32_t i = item; i < WCODEC_DENSE_ROWS * p->vectors; i += items) {
        const uint32_t row = p->first + i % WCODEC_DENSE_ROWS;
        float sum = 0;
        if (row >= l->rows)
            continue;
        WCODEC_UNROLL_NONE
        for (uint32_t k = 0; k < items; k++)
            sum += all[wcodec_dense_at(i, k, items)];
        if (l->with_scales)
            sum *= wcodec_product_number(l->scales, l->scales_format, row);
        if (l->with_bias)
            sum += wcodec_product_number(l->bias, l->bias_format, row);
        wcodec_dense_store(l, p->vector + i / WCODEC_DENSE_ROWS, row, sum);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_dense_finish_columns(const struct wcodec_dense_launch *l,
                                                        const struct wcodec_dense_part *p,
                                                        uint32_t item, uint32_t items,
                                                        const WCODEC_GROUP_LOCAL float *all)
{
    for (uint32_t i = item; i < WCODEC_DENSE_COLUMNS * p->vectors; i += items) {
        const uint32_t v = i / WCODEC_DENSE_COLUMNS, column = p->first + i % WCODEC_DENSE_COLUMNS;
        float sum = 0;
        if (column >= l->columns)
            continue;
        WCODEC_UNROLL_NONE
        for (uint32_t k = i % WCODEC_DENSE_COLUMNS; k < items; k += WCODEC_DENSE_COLUMNS)
            sum += all[wcodec_dense_at(v, k, items)];
        wcodec_dense_store(l, p->vector + v, column, sum);
    }
}

#if defined(WCODEC_SIMT) && !defined(__OPENCL_VERSION__)
/* For lanes. */
WCODEC_DEVICE_FUNCTION void wcodec_dense_kernel(const bool transposed, struct wcodec_warp *warp,
                                                const struct wcodec_dense_launch *l)
{
    const uint32_t item = wcodec_thread(warp), items = wcodec_threads(warp),
                   count =
                       transposed ? WCODEC_DENSE_VECTORS : WCODEC_DENSE_VECTORS * WCODEC_DENSE_ROWS;
    struct wcodec_dense_part p;
    const float *all = WCODEC_SHARED(warp, float, wcodec_shared_base(warp));
    float sums[WCODEC_DENSE_VECTORS * WCODEC_DENSE_ROWS];
    wcodec_dense_part_of(l, wcodec_group(warp),
                         transposed ? WCODEC_DENSE_COLUMNS : WCODEC_DENSE_ROWS, &p);
    if (transposed)
        wcodec_dense_column_sums(l, &p, item, items, sums);
    else
        wcodec_dense_sums(l, &p, item, items, sums);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < count; i++)
        wcodec_put_u32(warp, wcodec_shared_base(warp) + 4 * wcodec_dense_at(i, item, items),
                       WCODEC_FLOAT_BITS(sums[i]));
    wcodec_sync_group(warp);
    if (transposed)
        wcodec_dense_finish_columns(l, &p, item, items, all);
    else
        wcodec_dense_finish(l, &p, item, items, all);
}
#endif

#endif
