/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with a matrix at a fixed rate (doc/format.md 6): y = x W^T + bias, by tensor cores. A
 * record has its elements in the order in which they are operands of mma.m16n8k16, so they go from
 * registers there, as relative elements; a row's shift multiplies its sum.
 *
 * A work-group computes some bands of rows of W, that is of columns of y. Its warps are bands x
 * parts: the warps of a band take its tiles in turns, and their sums are added in shared memory, in
 * order. A warp asks for its next record before it multiplies with the one that it has. */
#ifndef WCODEC_KERNELS_PRODUCT_H
#define WCODEC_KERNELS_PRODUCT_H

#include "backends/kernels/fixed_elements.h"

#ifdef WCODEC_MATRIX_PRODUCTS
#define WCODEC_PRODUCT_EIGHTS_MAX 8
#define WCODEC_PRODUCT_EIGHTS_DIRECT 4 /* most of those that take x straight from memory */

/* What a warp is at. */
struct wcodec_product_warp {
    const struct wcodec_product_launch *launch;
    uint32_t band, part;
    uint32_t tiles;                         /* of `records`: there are no more to ask for */
    uint32_t patch, record, barrier, stage; /* shared addresses */
    const WCODEC_GLOBAL uint8_t *records;   /* the band's; of y = x W all */
    /* For the loads of x to stages: the lane has 16 bytes of a tile, number `piece`, of vectors
     * from `vector` on. */
    uint32_t vector, piece;
};

/* Ask for the record of tile `tile`. */
WCODEC_DEVICE_FUNCTION void wcodec_product_fetch(const uint32_t bits, struct wcodec_warp *warp,
                                                 const struct wcodec_product_warp *w, uint32_t tile)
{
    const uint32_t size = wcodec_record_size(bits, w->launch->list);
    wcodec_fetch(warp, w->record, w->records + (uint64_t)tile * size, size, w->barrier);
}

/* Outlier i of the list, of short ones and long ones after them: position, and what its upper byte
 * is xored with above bit 11. Both are a byte and, of another one, five or four bits above. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_product_outlier(const uint32_t bits,
                                                       struct wcodec_warp *warp, uint32_t list,
                                                       uint32_t size, uint32_t head, uint32_t i)
{
    const uint32_t shorts = head & 0xff, zero = 1u << bits;
    const bool is_short = i < shorts;
    const uint32_t at = is_short ? list + 2 + i
                                 : list + size - (head & 0x8000 ? 8 : 0) - 2 * (i - shorts + 1),
                   low = wcodec_shared_u8(warp, at),
                   above = wcodec_shared_u8(warp, is_short ? list + 2 + shorts + i / 2 : at + 1),
                   high = is_short ? above >> i % 2 * 4 : above,
                   flip = is_short ? (high & 8 ? 128 - zero : zero) : high >> 3 << 2;
    return low | (high & 7) << 8 | flip << 11;
}

/* More outliers than lanes, and spilled elements, into the array: those from number 32 on. */
WCODEC_DEVICE_FUNCTION void wcodec_product_many(const uint32_t bits, struct wcodec_warp *warp,
                                                const struct wcodec_product_warp *w, uint32_t list,
                                                uint32_t head, uint32_t listed)
{
    const uint32_t lane = wcodec_lane(warp), size = 16 * w->launch->list;
    WCODEC_UNROLL_NONE
    for (uint32_t i = 32 + lane; i < listed; i += 32) {
        const uint32_t outlier = wcodec_product_outlier(bits, warp, list, size, head, i);
        wcodec_put_u8(warp, w->patch + (outlier & 0x7ff), outlier >> 11);
    }
    if (!(head & 0x8000))
        return;
    const uint32_t first = wcodec_shared_u32(warp, list + size - 8),
                   count = wcodec_shared_u32(warp, list + size - 4);
    WCODEC_UNROLL_NONE
    for (uint32_t i = lane; i < count; i += 32) {
        const uint32_t outlier = wcodec_product_spilled(bits, w->launch, w->band, first + i);
        wcodec_put_u8(warp, w->patch + (outlier & 0x7ff), outlier >> 11);
    }
}

/* What the array, to which outliers have been put, changes; then it is zeros again. own: where the
 * lane has put one, or UINT32_MAX; all: there are more. */
WCODEC_DEVICE_FUNCTION void wcodec_product_patch(struct wcodec_warp *warp,
                                                 const struct wcodec_product_warp *w, uint32_t own,
                                                 bool all, uint32_t *upper)
{
    const uint32_t lane = wcodec_lane(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < 4; q++) {
        const wcodec_u4 change = wcodec_shared_u4(warp, w->patch + 512 * q + 16 * lane);
        upper[4 * q] ^= change.x;
        upper[4 * q + 1] ^= change.y;
        upper[4 * q + 2] ^= change.z;
        upper[4 * q + 3] ^= change.w;
    }
    wcodec_sync_warp(warp);
    if (all) {
        WCODEC_UNROLL_ALL
        for (uint32_t q = 0; q < 4; q++)
            wcodec_put_u4(warp, w->patch + 512 * q + 16 * lane, wcodec_make_u4(0, 0, 0, 0));
    } else if (own != ~0u) {
        wcodec_put_u8(warp, w->patch + own, 0);
    }
}

/* Eight elements of vector `vector` from column `column` on, which is a multiple of eight; zeros
 * after the last, and of what is no vector. */
WCODEC_DEVICE_FUNCTION wcodec_u4 wcodec_product_any_x(const struct wcodec_product_launch *l,
                                                      uint32_t vector, uint32_t column)
{
    const uint32_t left = vector < l->vectors && column < l->columns ? l->columns - column : 0;
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->x + vector * l->x_stride + 2 * (uint64_t)column);
    uint32_t words[4] = {0, 0, 0, 0};
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++)
        words[i / 2] |= i < left ? wcodec_load_once_u16(from + 2 * i) << i % 2 * 16 : 0;
    return wcodec_make_u4(words[0], words[1], words[2], words[3]);
}

/* x of tile `across`, to the part's stage in shared memory, as lanes take it: 16 bytes for each of
 * 32 lanes, for each 32 columns and eight vectors. All warps of the part. */
WCODEC_DEVICE_FUNCTION void wcodec_product_stage(const uint32_t eights, struct wcodec_warp *warp,
                                                 const struct wcodec_product_warp *w,
                                                 uint32_t across, uint32_t stage)
{
    const struct wcodec_product_launch *l = w->launch;
    const uint32_t column = 128 * across + 8 * w->piece, step = 2 * l->group_bands,
                   left = column < l->columns ? l->columns - column : 0,
                   bytes = left < 8 ? 2 * left : 16,
                   to = stage + (w->piece / 4 * eights * 32 + w->piece % 4) * 16;
    uint64_t from = l->x + w->vector * l->x_stride + 2 * (uint64_t)column;
    WCODEC_UNROLL_NONE
    for (uint32_t v = w->vector; v < eights * 8; v += step) {
        const uint32_t at = to + v / 8 * 512 + v % 8 * 64;
        const bool there = v < l->vectors && left != 0;
        if (l->by_16)
            wcodec_copy_part(warp, at, (const WCODEC_GLOBAL uint8_t *)(there ? from : l->x),
                             there ? bytes : 0);
        else
            wcodec_put_u4(warp, at, wcodec_product_any_x(l, v, column));
        from += step * l->x_stride;
    }
    wcodec_copy_commit(warp);
}

/* 32 columns (number q of four of the record) as operands of two operations. */
WCODEC_DEVICE_FUNCTION void wcodec_product_operands(const uint32_t *lower, const uint32_t *upper,
                                                    uint32_t a[2][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        a[i / 2][i % 2] = wcodec_bytes(lower[i], upper[i], 0x5140);
        a[i / 2][i % 2 + 2] = wcodec_bytes(lower[i], upper[i], 0x7362);
    }
}

/* What they add to the sums. x: for each eight vectors. Sums of neighbouring operations are
 * different ones, so that none waits for another. */
WCODEC_DEVICE_FUNCTION void wcodec_product_multiply(const uint32_t eights, struct wcodec_warp *warp,
                                                    uint32_t a[2][4], const wcodec_u4 *x,
                                                    float sums[][2][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++)
        wcodec_mma_bf16(warp, sums[t][0], a[0], x[t].x, x[t].y);
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++)
        wcodec_mma_bf16(warp, sums[t][eights == 1], a[1], x[t].z, x[t].w);
}

/* The record that was asked for, as operands; then the next one is asked for. */
WCODEC_DEVICE_FUNCTION void wcodec_product_take(const uint32_t bits, struct wcodec_warp *warp,
                                                const struct wcodec_product_warp *w, uint32_t next,
                                                uint32_t phase, uint32_t *lower, uint32_t *upper)
{
    const uint32_t lane = wcodec_lane(warp), list = w->record + wcodec_record_list_at(bits);
    uint32_t index[8], own = ~0u;
    wcodec_fetch_wait(warp, w->barrier, phase);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_product_u4(lower + 4 * i, wcodec_shared_u4(warp, w->record + 512 * i + 16 * lane));
    wcodec_product_u4(index, wcodec_shared_u4(warp, w->record + 2048 + 16 * lane));
    if (bits == 3) {
        wcodec_product_u4(index + 4, wcodec_shared_u4(warp, w->record + 2560 + 16 * lane));
    } else {
        const wcodec_u2 more = wcodec_shared_u2(warp, w->record + 2560 + 8 * lane);
        index[4] = more.x;
        index[5] = more.y;
    }
    const uint32_t head = wcodec_shared_u32(warp, list),
                   listed = (head & 0xff) + (head >> 8 & 0x7f);
    const bool many = listed > 32 || (head & 0x8000);
    if (lane < listed) {
        own = wcodec_product_outlier(bits, warp, list, 16 * w->launch->list, head, lane);
        wcodec_put_u8(warp, w->patch + (own & 0x7ff), own >> 11);
        own &= 0x7ff;
    }
    if (many)
        wcodec_product_many(bits, warp, w, list, head, listed);
    wcodec_sync_warp(warp);
    if (next < w->tiles)
        wcodec_product_fetch(bits, warp, w, next);
    wcodec_product_upper(bits, index, upper);
    if (head & 0xffff)
        wcodec_product_patch(warp, w, own, many, upper);
}

/* x of 32 columns for each eight vectors, from where the lane's are. */
WCODEC_DEVICE_FUNCTION void wcodec_product_load_x(const uint32_t eights,
                                                  const WCODEC_GLOBAL uint8_t *const *from,
                                                  uint32_t offset, wcodec_u4 *x)
{
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++)
        x[t] = wcodec_load_u4(from[t] + offset);
}

/* x of whole tiles straight from memory, by way of L1, where the warps of a part find what one of
 * them has read: a tile ahead, or where that takes too many registers, 32 columns. */
WCODEC_DEVICE_FUNCTION void wcodec_product_direct(const uint32_t bits, const uint32_t eights,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_product_warp *w,
                                                  float sums[][2][4])
{
    const struct wcodec_product_launch *l = w->launch;
    const uint32_t lane = wcodec_lane(warp), ahead = eights > 2 ? 1 : 4;
    const WCODEC_GLOBAL uint8_t *from[WCODEC_PRODUCT_EIGHTS_DIRECT];
    wcodec_u4 x[4][WCODEC_PRODUCT_EIGHTS_DIRECT];
    uint32_t phase = 0;
    if (w->band >= l->bands)
        return;
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++) {
        const uint32_t vector = 8 * t + lane / 4;
        from[t] = (const WCODEC_GLOBAL uint8_t *)(l->x +
                                                  (vector < l->vectors ? vector : l->vectors - 1) *
                                                      l->x_stride +
                                                  256 * (uint64_t)w->part + lane % 4 * 16);
    }
    wcodec_product_fetch(bits, warp, w, w->part);
    wcodec_wait_for_launch(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < ahead; q++)
        wcodec_product_load_x(eights, from, 64 * q, x[q]);
    WCODEC_UNROLL_NONE
    for (uint32_t across = w->part; across < l->across; across += l->parts) {
        const uint32_t step = across + l->parts < l->across ? 256 * l->parts : 0;
        uint32_t lower[16], upper[16];
        wcodec_product_take(bits, warp, w, across + l->parts, phase, lower, upper);
        phase ^= 1;
        WCODEC_UNROLL_ALL
        for (uint32_t q = 0; q < 4; q++) {
            uint32_t a[2][4];
            wcodec_product_operands(lower + 4 * q, upper + 4 * q, a);
            wcodec_product_multiply(eights, warp, a, x[q % ahead], sums);
            if (ahead == 1 && q < 3)
                wcodec_product_load_x(eights, from, 64 * (q + 1), x[0]);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t t = 0; t < eights; t++)
            from[t] += step;
        WCODEC_UNROLL_ALL
        for (uint32_t q = 0; q < ahead; q++)
            wcodec_product_load_x(eights, from, 64 * q, x[q]);
        wcodec_sync_warp(warp); /* the array is zero again */
    }
}

/* A tile times what a stage has of x, of which no more than 32 vectors are in registers. */
WCODEC_DEVICE_FUNCTION void wcodec_product_multiply_stage(const uint32_t eights,
                                                          struct wcodec_warp *warp, uint32_t stage,
                                                          const uint32_t *lower,
                                                          const uint32_t *upper, float sums[][2][4])
{
    const uint32_t lane = wcodec_lane(warp), some = eights < 4 ? eights : 4;
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < 4; q++) {
        uint32_t a[2][4];
        wcodec_product_operands(lower + 4 * q, upper + 4 * q, a);
        WCODEC_UNROLL_ALL
        for (uint32_t t = 0; t < eights; t += some) {
            wcodec_u4 x[4];
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < some; i++)
                x[i] = wcodec_shared_u4(warp, stage + ((q * eights + t + i) * 32 + lane) * 16);
            wcodec_product_multiply(some, warp, a, x, sums + t);
        }
    }
}

/* Any x, by way of shared memory, where the warps of a part share it: two stages, of which one is
 * filled while the other is read. */
WCODEC_DEVICE_FUNCTION void wcodec_product_staged(const uint32_t bits, const uint32_t eights,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_product_warp *w,
                                                  float sums[][2][4])
{
    const struct wcodec_product_launch *l = w->launch;
    const uint32_t size = eights * 2048;
    const bool idle = w->band >= l->bands;
    uint32_t stage = w->stage, phase = 0;
    if (!idle && w->part < l->across)
        wcodec_product_fetch(bits, warp, w, w->part);
    wcodec_wait_for_launch(warp);
    wcodec_product_stage(eights, warp, w, w->part, stage);
    /* All parts have as many rounds. */
    WCODEC_UNROLL_NONE
    for (uint32_t begin = 0; begin < l->across; begin += l->parts) {
        const uint32_t across = begin + w->part, later = w->stage + (stage == w->stage ? size : 0);
        const bool there = !idle && across < l->across;
        uint32_t lower[16], upper[16];
        if (there)
            wcodec_product_take(bits, warp, w, across + l->parts, phase, lower, upper);
        phase ^= 1;
        wcodec_copy_wait(warp);
        wcodec_sync_part(warp, w->part, 32 * l->group_bands);
        wcodec_sync_warp(warp); /* said again where a part is one warp */
        if (begin + l->parts < l->across)
            wcodec_product_stage(eights, warp, w, across + l->parts, later);
        if (there)
            wcodec_product_multiply_stage(eights, warp, stage, lower, upper, sums);
        stage = later;
        wcodec_sync_warp(warp); /* the array is zero again */
    }
}

/* A warp's sums to shared memory. */
WCODEC_DEVICE_FUNCTION void wcodec_product_put(const uint32_t eights, struct wcodec_warp *warp,
                                               const struct wcodec_product_launch *l, uint32_t band,
                                               uint32_t part, float sums[][2][4])
{
    const uint32_t lane = wcodec_lane(warp), stride = l->group_bands * 16 + WCODEC_PRODUCT_SPARE;
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t vector = part * eights * 8 + 8 * t + lane % 4 * 2 + i % 2,
                           row = band * 16 + lane / 4 + i / 2 * 8;
            const float sum = eights == 1 ? sums[t][0][i] + sums[t][1][i] : sums[t][0][i];
            wcodec_put_u32(warp, wcodec_shared_base(warp) + 4 * (vector * stride + row),
                           WCODEC_FLOAT_BITS(sum));
        }
    }
}

/* The work-group's part of y. */
WCODEC_DEVICE_FUNCTION void wcodec_product_finish(const uint32_t eights, struct wcodec_warp *warp,
                                                  const struct wcodec_product_launch *l)
{
    const uint32_t height = l->group_bands * 16, stride = height + WCODEC_PRODUCT_SPARE,
                   first = wcodec_group(warp) * height;
    WCODEC_UNROLL_NONE
    for (uint32_t i = wcodec_thread(warp); i < height * l->vectors; i += wcodec_threads(warp)) {
        const uint32_t row = i % height, vector = i / height;
        uint32_t at = wcodec_shared_base(warp) + 4 * (vector * stride + row);
        float sum = wcodec_bits_float(wcodec_shared_u32(warp, at));
        if (first + row >= l->rows)
            continue;
        WCODEC_UNROLL_NONE
        for (uint32_t part = 1; part < l->parts; part++) {
            at += 4 * eights * 8 * stride;
            sum += wcodec_bits_float(wcodec_shared_u32(warp, at));
        }
        sum *= wcodec_product_scale(((const WCODEC_GLOBAL uint8_t *)l->shifts)[first + row]);
        if (l->bias)
            sum += wcodec_product_number(l->bias, l->bias_format, first + row);
        wcodec_product_store(l->y + vector * l->y_stride, l->y_format, first + row, sum);
    }
}

/* A warp that has nothing yet. */
WCODEC_DEVICE_FUNCTION void wcodec_product_begin(struct wcodec_warp *warp,
                                                 const struct wcodec_product_launch *l,
                                                 struct wcodec_product_warp *w)
{
    w->launch = l;
    w->patch = wcodec_shared_base(warp) + wcodec_warp_number(warp) * WCODEC_PRODUCT_WARP;
    w->record = w->patch + WCODEC_PRODUCT_RECORD;
    w->barrier = w->patch + WCODEC_PRODUCT_BARRIER;
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < 4; q++)
        wcodec_put_u4(warp, w->patch + 512 * q + 16 * wcodec_lane(warp),
                      wcodec_make_u4(0, 0, 0, 0));
    wcodec_fetch_begin(warp, w->barrier);
}

/* eights: of vectors, that the kernel takes; staged: any x. */
WCODEC_DEVICE_FUNCTION void wcodec_product_kernel(const uint32_t bits, const uint32_t eights,
                                                  const bool staged, struct wcodec_warp *warp,
                                                  const struct wcodec_product_launch *l)
{
    const uint32_t number = wcodec_warp_number(warp), lane = wcodec_lane(warp),
                   band = number / l->parts, part = number % l->parts;
    struct wcodec_product_warp w;
    float sums[WCODEC_PRODUCT_EIGHTS_MAX][2][4] = {{{0}}};
    wcodec_allow_next_launch(warp);
    wcodec_product_begin(warp, l, &w);
    w.band = wcodec_group(warp) * l->group_bands + band;
    w.part = part;
    w.vector = 2 * band + lane / 16;
    w.piece = lane % 16;
    w.tiles = l->across;
    w.stage = wcodec_shared_base(warp) + wcodec_warps(warp) * WCODEC_PRODUCT_WARP +
              part * 2 * 2048 * eights;
    w.records = (const WCODEC_GLOBAL uint8_t *)(l->records + (uint64_t)w.band * l->across *
                                                                 wcodec_record_size(bits, l->list));
    if (staged)
        wcodec_product_staged(bits, eights, warp, &w, sums);
    else
        wcodec_product_direct(bits, eights, warp, &w, sums);
    wcodec_fetch_end(warp, w.barrier);
    wcodec_wait_for_launch(warp);
    wcodec_sync_group(warp);
    wcodec_product_put(eights, warp, l, band, part, sums);
    wcodec_sync_group(warp);
    wcodec_product_finish(eights, warp, l);
}
#endif

#endif
