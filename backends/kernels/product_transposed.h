/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products y = x W with a matrix at a fixed rate (doc/format.md 6), by tensor cores.
 *
 * W is the second operand of mma.m16n8k16, x the first one: sums run over rows of W, of which a
 * lane's word has two. A record has its elements in the order of the other product (product.h): a
 * lane has eight columns of rows r and r + 8. So a word of two columns of a row becomes one of two
 * rows of a column, and lanes exchange words until each has the column that it multiplies by; in
 * which order rows are added is all the same. Rows have different shifts: elements are made whole.
 *
 * A work-group computes 128 columns of y, a tile's width, or several of a cluster do. Their warps
 * take the tiles of that width in turns, and their sums are added in shared memory, in order. */
#ifndef WCODEC_KERNELS_PRODUCT_TRANSPOSED_H
#define WCODEC_KERNELS_PRODUCT_TRANSPOSED_H

#include "backends/kernels/fixed_row.h"
#include "backends/kernels/product.h"

#ifdef WCODEC_MATRIX_PRODUCTS
/* Element `row` of vector `vector`; 0 of what is none. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_transposed_x(const struct wcodec_product_launch *l,
                                                    uint32_t vector, uint32_t row)
{
    if (vector >= l->vectors || row >= l->rows)
        return 0;
    return wcodec_load_once_u16(
        (const WCODEC_GLOBAL uint8_t *)(l->x + vector * l->x_stride + 2 * (uint64_t)row));
}

/* Rows `row`, which is even, and the next one. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_transposed_two(const struct wcodec_product_launch *l,
                                                      uint32_t vector, uint32_t row)
{
    if (l->by_16 && row + 1 < l->rows)
        return vector < l->vectors
                   ? wcodec_load_u32((const WCODEC_GLOBAL uint8_t *)(l->x + vector * l->x_stride +
                                                                     2 * (uint64_t)row))
                   : 0;
    return wcodec_transposed_x(l, vector, row) | wcodec_transposed_x(l, vector, row + 1) << 16;
}

/* x of a band's rows as the lane multiplies by it: rows 2i and 2i + 8 in a word, and 2i + 1 and
 * 2i + 9 in one. */
WCODEC_DEVICE_FUNCTION void wcodec_transposed_load_x(struct wcodec_warp *warp,
                                                     const struct wcodec_product_launch *l,
                                                     uint32_t band, uint32_t *a)
{
    const uint32_t lane = wcodec_lane(warp), row = 16 * band + lane % 4 * 2;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t vector = lane / 4 + i * 8, first = wcodec_transposed_two(l, vector, row),
                       second = wcodec_transposed_two(l, vector, row + 8);
        a[i] = wcodec_bytes(first, second, 0x5410);
        a[i + 2] = wcodec_bytes(first, second, 0x7632);
    }
}

/* The shift of a row; what is no row has zeros, whatever the record says. */
WCODEC_DEVICE_FUNCTION int32_t wcodec_transposed_shift(const struct wcodec_product_launch *l,
                                                       uint32_t row)
{
    return row < l->rows ? (int32_t)WCODEC_SIGNED_BYTE(
                               (uint32_t)((const WCODEC_GLOBAL uint8_t *)l->shifts)[row], 0)
                         : WCODEC_FIXED_ZERO_ROW;
}

/* A quarter's eight columns of the lane, rows r and r + 8 of each. */
WCODEC_DEVICE_FUNCTION void wcodec_transposed_pairs(const uint32_t *lower, const uint32_t *upper,
                                                    const int32_t *shifts, bool plain,
                                                    uint32_t *pairs)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t word = i / 2 * 2, elements = i % 2 ? 0x7362 : 0x5140;
        uint32_t first = wcodec_bytes(lower[word], upper[word], elements),
                 second = wcodec_bytes(lower[word + 1], upper[word + 1], elements);
        if (plain) {
            first = wcodec_row_pair(first, shifts[0], true);
            second = wcodec_row_pair(second, shifts[1], true);
        } else {
            first = wcodec_row_pair(first, shifts[0], false);
            second = wcodec_row_pair(second, shifts[1], false);
        }
        pairs[2 * i] = wcodec_bytes(first, second, 0x5410);
        pairs[2 * i + 1] = wcodec_bytes(first, second, 0x7632);
    }
}

/* What a quarter adds. Of columns 2m and 2m + 1 of the lanes, lane 4n + i gets from lanes 8i + n %
 * 4 and 8i + 4 + n % 4 the first one where n is below four, else the second one. */
WCODEC_DEVICE_FUNCTION void wcodec_transposed_multiply(struct wcodec_warp *warp, const uint32_t *a,
                                                       const uint32_t *pairs, float sums[][4])
{
    const uint32_t lane = wcodec_lane(warp), from = lane % 4 * 8 + lane / 16 * 4 + lane / 4 % 4;
    const bool low = lane < 16, even = lane / 4 % 2 == 0;
    uint32_t words[8];
    WCODEC_UNROLL_ALL
    for (uint32_t m = 0; m < 4; m++) {
        const uint32_t own = wcodec_shuffle(warp, even ? pairs[2 * m] : pairs[2 * m + 1], from),
                       other =
                           wcodec_shuffle(warp, even ? pairs[2 * m + 1] : pairs[2 * m], from ^ 4);
        words[2 * m] = low ? own : other;
        words[2 * m + 1] = low ? other : own;
    }
    wcodec_sync_warp(warp); /* lanes that shuffled may have parted */
    WCODEC_UNROLL_ALL
    for (uint32_t m = 0; m < 4; m++)
        wcodec_mma_bf16(warp, sums[m], a, words[2 * m], words[2 * m + 1]);
}

/* Tiles of the group's width, whose first one the warp has as part `part`. */
WCODEC_DEVICE_FUNCTION void wcodec_transposed_sums(const uint32_t bits, struct wcodec_warp *warp,
                                                   struct wcodec_product_warp *w, float sums[][4])
{
    const struct wcodec_product_launch *l = w->launch;
    const uint32_t column = wcodec_group(warp) / l->groups, parts = l->parts * l->groups,
                   step = parts * l->across;
    uint32_t tile = w->part * l->across + column, phase = 0;
    if (w->part < l->bands)
        wcodec_product_fetch(bits, warp, w, tile);
    wcodec_wait_for_launch(warp);
    WCODEC_UNROLL_NONE
    for (w->band = w->part; w->band < l->bands; w->band += parts) {
        const uint32_t row = 16 * w->band + wcodec_lane(warp) / 4;
        const int32_t shifts[2] = {wcodec_transposed_shift(l, row),
                                   wcodec_transposed_shift(l, row + 8)};
        uint32_t a[4], lower[16], upper[16];
        wcodec_transposed_load_x(warp, l, w->band, a);
        tile += step;
        wcodec_product_take(bits, warp, w, tile, phase, lower, upper);
        phase ^= 1;
        /* Of all lanes, which stay together so for what they do next. */
        const bool plain =
            wcodec_all(warp, shifts[0] >= -126 && shifts[1] >= -126 && !wcodec_row_odd(upper) &&
                                 !wcodec_row_odd(upper + 8));
        WCODEC_UNROLL_ALL
        for (uint32_t q = 0; q < 4; q++) {
            uint32_t pairs[8];
            wcodec_transposed_pairs(lower + 4 * q, upper + 4 * q, shifts, plain, pairs);
            wcodec_transposed_multiply(warp, a, pairs, sums + 4 * q);
        }
        wcodec_sync_warp(warp); /* the array is zero again */
    }
}

/* A warp's sums to shared memory. */
WCODEC_DEVICE_FUNCTION void wcodec_transposed_put(struct wcodec_warp *warp, uint32_t part,
                                                  float sums[][4])
{
    const uint32_t lane = wcodec_lane(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t m = 0; m < 16; m++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t n = lane % 4 * 2 + i % 2, vector = lane / 4 + i / 2 * 8,
                           column = m / 4 * 32 + n % 4 * 8 + m % 4 * 2 + n / 4;
            wcodec_put_u32(
                warp,
                wcodec_shared_base(warp) +
                    4 * ((part * WCODEC_TRANSPOSED_VECTORS + vector) * WCODEC_TRANSPOSED_STRIDE +
                         column),
                WCODEC_FLOAT_BITS(sums[m][i]));
        }
    }
}

/* Where the work-group has a sum of its first part. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_transposed_at(struct wcodec_warp *warp, uint32_t vector,
                                                     uint32_t column)
{
    return wcodec_shared_base(warp) + 4 * (vector * WCODEC_TRANSPOSED_STRIDE + column);
}

/* The sum of all parts of the work-group. */
WCODEC_DEVICE_FUNCTION float
wcodec_transposed_sum(struct wcodec_warp *warp, const struct wcodec_product_launch *l, uint32_t at)
{
    float sum = wcodec_bits_float(wcodec_shared_u32(warp, at));
    WCODEC_UNROLL_NONE
    for (uint32_t part = 1; part < l->parts; part++) {
        at += 4 * WCODEC_TRANSPOSED_VECTORS * WCODEC_TRANSPOSED_STRIDE;
        sum += wcodec_bits_float(wcodec_shared_u32(warp, at));
    }
    return sum;
}

/* The work-group's part of y. */
WCODEC_DEVICE_FUNCTION void wcodec_transposed_finish(struct wcodec_warp *warp,
                                                     const struct wcodec_product_launch *l)
{
    const uint32_t width = WCODEC_FIXED_COLUMNS, first = wcodec_group(warp) / l->groups * width;
    WCODEC_UNROLL_NONE
    for (uint32_t i = wcodec_thread(warp); i < width * l->vectors; i += wcodec_threads(warp)) {
        const uint32_t column = i % width, vector = i / width;
        if (first + column >= l->columns)
            continue;
        wcodec_product_store(
            l->y + vector * l->y_stride, l->y_format, first + column,
            wcodec_transposed_sum(warp, l, wcodec_transposed_at(warp, vector, column)));
    }
}

#ifdef WCODEC_CLUSTERS
/* The cluster's part of y: each work-group adds its parts, then of all columns and vectors those
 * that are its turn. */
WCODEC_DEVICE_FUNCTION void wcodec_transposed_gather(struct wcodec_warp *warp,
                                                     const struct wcodec_product_launch *l)
{
    const uint32_t width = WCODEC_FIXED_COLUMNS, first = wcodec_group(warp) / l->groups * width,
                   rank = wcodec_group(warp) % l->groups;
    WCODEC_UNROLL_NONE
    for (uint32_t i = wcodec_thread(warp); i < width * l->vectors; i += wcodec_threads(warp)) {
        const uint32_t at = wcodec_transposed_at(warp, i / width, i % width);
        wcodec_put_u32(warp, at, WCODEC_FLOAT_BITS(wcodec_transposed_sum(warp, l, at)));
    }
    wcodec_sync_warp(warp);
    wcodec_cluster_sync(warp);
    WCODEC_UNROLL_NONE
    for (uint32_t i = rank * wcodec_threads(warp) + wcodec_thread(warp); i < width * l->vectors;
         i += l->groups * wcodec_threads(warp)) {
        const uint32_t column = i % width, vector = i / width,
                       at = wcodec_transposed_at(warp, vector, column);
        float sum = 0;
        if (first + column >= l->columns)
            continue;
        WCODEC_UNROLL_NONE
        for (uint32_t number = 0; number < l->groups; number++)
            sum += wcodec_bits_float(wcodec_cluster_u32(warp, at, number));
        wcodec_product_store(l->y + vector * l->y_stride, l->y_format, first + column, sum);
    }
    wcodec_sync_warp(warp);
    wcodec_cluster_sync(warp); /* sums have been read */
}
#endif

WCODEC_DEVICE_FUNCTION void wcodec_transposed_kernel(const uint32_t bits, struct wcodec_warp *warp,
                                                     const struct wcodec_product_launch *l)
{
    struct wcodec_product_warp w;
    float sums[16][4] = {{0}};
    wcodec_allow_next_launch(warp);
    wcodec_product_begin(warp, l, &w);
    w.part = wcodec_group(warp) % l->groups * l->parts + wcodec_warp_number(warp);
    w.tiles = l->bands * l->across;
    w.records = (const WCODEC_GLOBAL uint8_t *)l->records;
    wcodec_transposed_sums(bits, warp, &w, sums);
    wcodec_fetch_end(warp, w.barrier);
    wcodec_sync_group(warp);
    wcodec_transposed_put(warp, wcodec_warp_number(warp), sums);
    wcodec_sync_group(warp);
#ifdef WCODEC_CLUSTERS
    if (l->groups > 1)
        wcodec_transposed_gather(warp, l);
    else
#endif
        wcodec_transposed_finish(warp, l);
}
#endif

#endif
