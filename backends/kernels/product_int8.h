/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products y = x W^T + bias with int8 of up to eight vectors of BF16, by tensor cores that take
 * BF16: every int8 is one exactly. Columns are multiples of 64, and all rows begin at multiples of
 * 16 bytes.
 *
 * A work-group computes 16 rows of W. Its warps take 64 columns of them in turns, of which a lane
 * has 16 of each of two rows, and of a vector the same: as for sums the order of columns is all the
 * same, these are operands as they are. Sums are added in shared memory, in order. */
#ifndef WCODEC_KERNELS_PRODUCT_INT8_H
#define WCODEC_KERNELS_PRODUCT_INT8_H

#include "backends/kernels/product_dense.h"

#ifdef WCODEC_MATRIX_PRODUCTS
/* What a lane has of 64 columns. */
struct wcodec_int8_piece {
    wcodec_u4 rows[2];
    wcodec_u4 x[2];
};

WCODEC_DEVICE_FUNCTION void wcodec_int8_load(const WCODEC_GLOBAL uint8_t *const *rows,
                                             const WCODEC_GLOBAL uint8_t *x, uint32_t step,
                                             struct wcodec_int8_piece *p)
{
    const uint64_t at = 64 * (uint64_t)step;
    p->rows[0] = wcodec_load_once_u4(rows[0] + at);
    p->rows[1] = wcodec_load_once_u4(rows[1] + at);
    p->x[0] = wcodec_load_u4(x + 2 * at);
    p->x[1] = wcodec_load_u4(x + 2 * at + 16);
}

/* Two int8, in the lower bytes of both halves, as BF16: 128 and the lower seven bits, less 128 or
 * 256. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_int8_pair(uint32_t v)
{
    return wcodec_add_bf16((v & 0x007f007fu) | 0x43004300u, (v & 0x00800080u) | 0xc300c300u);
}

WCODEC_DEVICE_FUNCTION void wcodec_int8_multiply(struct wcodec_warp *warp,
                                                 const struct wcodec_int8_piece *p, float sums[][4])
{
    uint32_t first[4], second[4], x[8];
    wcodec_product_u4(first, p->rows[0]);
    wcodec_product_u4(second, p->rows[1]);
    wcodec_product_u4(x, p->x[0]);
    wcodec_product_u4(x + 4, p->x[1]);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t a[4];
        a[0] = wcodec_int8_pair(wcodec_bytes(first[i], 0, 0x4140));
        a[1] = wcodec_int8_pair(wcodec_bytes(second[i], 0, 0x4140));
        a[2] = wcodec_int8_pair(wcodec_bytes(first[i], 0, 0x4342));
        a[3] = wcodec_int8_pair(wcodec_bytes(second[i], 0, 0x4342));
        wcodec_mma_bf16(warp, sums[i % 2], a, x[2 * i], x[2 * i + 1]);
    }
}

/* Where the sum of a warp is put. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_int8_at(uint32_t number, uint32_t vector, uint32_t row)
{
    return 4 * ((number * WCODEC_DENSE_VECTORS + vector) * WCODEC_INT8_ROWS + row);
}

WCODEC_DEVICE_FUNCTION void wcodec_int8_finish(struct wcodec_warp *warp,
                                               const struct wcodec_dense_launch *l)
{
    const uint32_t i = wcodec_thread(warp), vector = i / WCODEC_INT8_ROWS,
                   row = WCODEC_INT8_ROWS * wcodec_group(warp) + i % WCODEC_INT8_ROWS;
    float sum = 0;
    if (vector >= l->vectors || row >= l->rows)
        return;
    WCODEC_UNROLL_NONE
    for (uint32_t k = 0; k < wcodec_warps(warp); k++)
        sum += wcodec_bits_float(wcodec_shared_u32(
            warp, wcodec_shared_base(warp) + wcodec_int8_at(k, vector, i % WCODEC_INT8_ROWS)));
    if (l->with_scales)
        sum *= wcodec_product_number(l->scales, l->scales_format, row);
    if (l->with_bias)
        sum += wcodec_product_number(l->bias, l->bias_format, row);
    wcodec_dense_store(l, vector, row, sum);
}

WCODEC_DEVICE_FUNCTION void wcodec_int8_kernel(struct wcodec_warp *warp,
                                               const struct wcodec_dense_launch *l)
{
    const uint32_t lane = wcodec_lane(warp), number = wcodec_warp_number(warp),
                   row = WCODEC_INT8_ROWS * wcodec_group(warp) + lane / 4, last = l->rows - 1,
                   vector = lane / 4 < l->vectors ? lane / 4 : l->vectors - 1,
                   steps = l->columns / WCODEC_INT8_COLUMNS;
    const WCODEC_GLOBAL uint8_t *const rows[2] =
        {(const WCODEC_GLOBAL uint8_t *)(l->elements +
                                         (uint64_t)(row < last ? row : last) * l->columns +
                                         lane % 4 * 16),
         (const WCODEC_GLOBAL uint8_t *)(l->elements +
                                         (uint64_t)(row + 8 < last ? row + 8 : last) * l->columns +
                                         lane % 4 * 16)},
                                       *const x =
                                           (const WCODEC_GLOBAL uint8_t *)(l->x +
                                                                           vector * l->x_stride +
                                                                           lane % 4 * 32);
    struct wcodec_int8_piece now, next;
    float sums[2][4] = {{0}};
    wcodec_allow_next_launch(warp);
    wcodec_wait_for_launch(warp);
    if (number < steps)
        wcodec_int8_load(rows, x, number, &next);
    WCODEC_UNROLL_NONE
    for (uint32_t step = number; step < steps; step += wcodec_warps(warp)) {
        now = next;
        if (step + wcodec_warps(warp) < steps)
            wcodec_int8_load(rows, x, step + wcodec_warps(warp), &next);
        wcodec_int8_multiply(warp, &now, sums);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_put_u32(warp,
                       wcodec_shared_base(warp) +
                           wcodec_int8_at(number, lane % 4 * 2 + i % 2, lane / 4 + i / 2 * 8),
                       WCODEC_FLOAT_BITS(sums[0][i] + sums[1][i]));
    wcodec_sync_group(warp);
    wcodec_int8_finish(warp, l);
}
#endif

#endif
