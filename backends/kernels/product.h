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

#include "backends/kernels/fixed.h"
#include "backends/kernels/product_launch.h"

#ifdef WCODEC_MATRIX_PRODUCTS
#define WCODEC_PRODUCT_EIGHTS_MAX 4

/* A lane's part of a record. */
struct wcodec_product_record {
    uint32_t lower[16];
    uint32_t index[8];
    uint32_t list[4];
};

/* What a warp is at. */
struct wcodec_product_warp {
    const struct wcodec_product_launch *launch;
    uint32_t band, part;
    uint32_t patch, list;                 /* shared addresses */
    const WCODEC_GLOBAL uint8_t *records; /* the band's */
};

WCODEC_DEVICE_FUNCTION void wcodec_product_u4(uint32_t *to, wcodec_u4 v)
{
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_product_record_size(const uint32_t bits, uint32_t units)
{
    return 2048 + 256 * (bits + 1) + 16 * units;
}

WCODEC_DEVICE_FUNCTION void wcodec_product_load(const uint32_t bits, struct wcodec_warp *warp,
                                                const struct wcodec_product_warp *w,
                                                uint32_t across,
                                                struct wcodec_product_record *record)
{
    const uint32_t lane = wcodec_lane(warp), units = w->launch->list;
    const WCODEC_GLOBAL uint8_t *from =
        w->records + (uint64_t)across * wcodec_product_record_size(bits, units);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_product_u4(record->lower + 4 * i, wcodec_load_once_u4(from + 512 * i + 16 * lane));
    wcodec_product_u4(record->index, wcodec_load_once_u4(from + 2048 + 16 * lane));
    if (bits == 3) {
        wcodec_product_u4(record->index + 4, wcodec_load_once_u4(from + 2560 + 16 * lane));
    } else {
        const wcodec_u2 more = wcodec_load_once_u2(from + 2560 + 8 * lane);
        record->index[4] = more.x;
        record->index[5] = more.y;
    }
    if (lane < units)
        wcodec_product_u4(record->list,
                          wcodec_load_once_u4(from + 2048 + 256 * (bits + 1) + 16 * lane));
}

/* Upper bytes of a lane's elements, four of a quad in each word, as their indices say. */
WCODEC_DEVICE_FUNCTION void wcodec_product_upper(const uint32_t bits, const uint32_t *index,
                                                 uint32_t *upper)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t all = wcodec_record_nibbles(bits, index + i / 4 * (bits + 1), i % 4),
                       nibbles = all & 0x77777777u;
        upper[2 * i] = wcodec_record_upper(bits, nibbles, all);
        upper[2 * i + 1] = wcodec_record_upper(bits, nibbles >> 16, all << 4);
    }
}

/* Outlier i of the list, of short ones and long ones after them: position, and what its upper byte
 * is xored with above bit 11. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_product_outlier(const uint32_t bits,
                                                       struct wcodec_warp *warp, uint32_t list,
                                                       uint32_t size, uint32_t head, uint32_t i)
{
    const uint32_t shorts = head & 0xff, zero = 1u << bits;
    if (i < shorts) {
        const uint32_t low = wcodec_shared_u8(warp, list + 2 + i),
                       high = wcodec_shared_u8(warp, list + 2 + shorts + i / 2) >> i % 2 * 4;
        return low | (high & 7) << 8 | (high & 8 ? 128 - zero : zero) << 11;
    }
    const uint32_t at = list + size - (head & 0x8000 ? 8 : 0) - 2 * (i - shorts + 1),
                   word = wcodec_shared_u16(warp, at);
    return (word & 0x7ff) | word >> 11 << 13;
}

/* The same of spilled element i of the tensor, which is no foreign one. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_product_spilled(const uint32_t bits,
                                                       const struct wcodec_product_launch *l,
                                                       uint32_t band, uint32_t i)
{
    const uint32_t word = wcodec_load_u32((const WCODEC_GLOBAL uint8_t *)l->spilled + 4ull * i),
                   position = word & 0x7ff, element = word >> 16, exponent = element >> 7 & 0xff,
                   row = (position >> 6 & 7) | (position << 1 & 8),
                   shift = WCODEC_SIGNED_BYTE(
                       (uint32_t)((const WCODEC_GLOBAL uint8_t *)l->shifts)[16 * band + row], 0),
                   r = exponent == 0 || exponent == 255 ? element : element - 128 * shift,
                   index = (1u << bits) - 1;
    return position | (((r >> 8 & 0x7f & ~index) ^ (64 - index - 1)) << 11);
}

/* Outliers and spilled elements of the tile, whose list is at w->list, into `upper`, by way of an
 * array of zeros that is one again afterwards. */
WCODEC_DEVICE_FUNCTION void wcodec_product_patch(const uint32_t bits, struct wcodec_warp *warp,
                                                 const struct wcodec_product_warp *w,
                                                 uint32_t *upper)
{
    const uint32_t lane = wcodec_lane(warp), size = 16 * w->launch->list,
                   head = wcodec_shared_u32(warp, w->list),
                   listed = (head & 0xff) + (head >> 8 & 0x7f);
    uint32_t first = 0, count = listed, spilled = 0;
    if ((head & 0xffff) == 0)
        return;
    if (head & 0x8000) {
        spilled = wcodec_shared_u32(warp, w->list + size - 8);
        count += wcodec_shared_u32(warp, w->list + size - 4);
    }
    for (uint32_t i = lane; i < count; i += 32) {
        const uint32_t outlier =
            i < listed ? wcodec_product_outlier(bits, warp, w->list, size, head, i)
                       : wcodec_product_spilled(bits, w->launch, w->band, spilled + (i - listed));
        wcodec_put_u8(warp, w->patch + (outlier & 0x7ff), outlier >> 11);
        if (i == lane)
            first = outlier & 0x7ff;
    }
    wcodec_sync_warp(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < 4; q++) {
        const wcodec_u4 change = wcodec_shared_u4(warp, w->patch + 512 * q + 16 * lane);
        upper[4 * q] ^= change.x;
        upper[4 * q + 1] ^= change.y;
        upper[4 * q + 2] ^= change.z;
        upper[4 * q + 3] ^= change.w;
    }
    wcodec_sync_warp(warp);
    if (count > 32) {
        WCODEC_UNROLL_ALL
        for (uint32_t q = 0; q < 4; q++)
            wcodec_put_u4(warp, w->patch + 512 * q + 16 * lane, wcodec_make_u4(0, 0, 0, 0));
    } else if (lane < count) {
        wcodec_put_u8(warp, w->patch + first, 0);
    }
}

/* Eight elements of vector `vector` from column `column` on, which is a multiple of eight; zeros
 * after the last. */
WCODEC_DEVICE_FUNCTION wcodec_u4 wcodec_product_x(const struct wcodec_product_launch *l,
                                                  uint32_t vector, uint32_t column)
{
    const uint32_t v = vector < l->vectors ? vector : l->vectors - 1,
                   left = column < l->columns ? l->columns - column : 0;
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->x + v * l->x_stride + 2 * (uint64_t)column);
    uint32_t words[4] = {0, 0, 0, 0};
    if (left >= 8 && l->by_16)
        return wcodec_load_u4(from);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++)
        words[i / 2] |= i < left ? wcodec_load_once_u16(from + 2 * i) << i % 2 * 16 : 0;
    return wcodec_make_u4(words[0], words[1], words[2], words[3]);
}

/* What 32 columns (number q of four of the record) add to the sums. x: for each eight vectors. Sums
 * of neighbouring operations are different ones, so that none waits for another. */
WCODEC_DEVICE_FUNCTION void wcodec_product_multiply(const uint32_t eights, struct wcodec_warp *warp,
                                                    const uint32_t *lower, const uint32_t *upper,
                                                    const wcodec_u4 *x, float sums[][2][4])
{
    uint32_t a[2][4];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        a[i / 2][i % 2] = wcodec_bytes(lower[i], upper[i], 0x5140);
        a[i / 2][i % 2 + 2] = wcodec_bytes(lower[i], upper[i], 0x7362);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++)
        wcodec_mma_bf16(warp, sums[t][0], a[0], x[t].x, x[t].y);
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++)
        wcodec_mma_bf16(warp, sums[t][eights == 1], a[1], x[t].z, x[t].w);
}

/* x of 32 columns from `column` on. */
WCODEC_DEVICE_FUNCTION void wcodec_product_load_x(const uint32_t eights, struct wcodec_warp *warp,
                                                  const struct wcodec_product_launch *l,
                                                  uint32_t column, wcodec_u4 *x)
{
    const uint32_t lane = wcodec_lane(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++)
        x[t] = wcodec_product_x(l, 8 * t + lane / 4, column + lane % 4 * 8);
}

/* The tiles of a warp's part of its band. */
WCODEC_DEVICE_FUNCTION void wcodec_product_band(const uint32_t bits, const uint32_t eights,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_product_warp *w,
                                                float sums[][2][4])
{
    const struct wcodec_product_launch *l = w->launch;
    const uint32_t lane = wcodec_lane(warp);
    /* x is asked for a tile ahead, or where that takes too many registers, 32 columns. */
    const uint32_t ahead = eights > 2 ? 1 : 4;
    struct wcodec_product_record record;
    wcodec_u4 x[4][WCODEC_PRODUCT_EIGHTS_MAX];
    uint32_t across = w->part;
    if (across < l->across)
        wcodec_product_load(bits, warp, w, across, &record);
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < 4; q++)
        wcodec_put_u4(warp, w->patch + 512 * q + 16 * lane, wcodec_make_u4(0, 0, 0, 0));
    wcodec_wait_for_launch(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < ahead; q++)
        wcodec_product_load_x(eights, warp, l, 128 * across + 32 * q, x[q]);
    for (; across < l->across; across += l->parts) {
        uint32_t lower[16], upper[16];
        const uint32_t next = across + l->parts;
        if (lane < l->list)
            wcodec_put_u4(
                warp, w->list + 16 * lane,
                wcodec_make_u4(record.list[0], record.list[1], record.list[2], record.list[3]));
        wcodec_sync_warp(warp);
        wcodec_product_upper(bits, record.index, upper);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 16; i++)
            lower[i] = record.lower[i];
        if (next < l->across)
            wcodec_product_load(bits, warp, w, next, &record);
        wcodec_product_patch(bits, warp, w, upper);
        WCODEC_UNROLL_ALL
        for (uint32_t q = 0; q < 4; q++) {
            const uint32_t later = q + ahead;
            wcodec_product_multiply(eights, warp, lower + 4 * q, upper + 4 * q, x[q % ahead], sums);
            wcodec_product_load_x(eights, warp, l,
                                  128 * (later < 4 ? across : next) + 32 * (later % 4),
                                  x[q % ahead]);
        }
        wcodec_sync_warp(warp); /* the list has been read, and the array is zero again */
    }
}

WCODEC_DEVICE_FUNCTION float wcodec_product_number(uint64_t address, uint32_t format, uint64_t i)
{
    if (format == WCODEC_TO_F32)
        return wcodec_bits_float(((const WCODEC_GLOBAL uint32_t *)address)[i]);
    const uint32_t bits = ((const WCODEC_GLOBAL uint16_t *)address)[i];
    return wcodec_bits_float(format == WCODEC_TO_BF16 ? bits << 16 : wcodec_from_f16(bits));
}

WCODEC_DEVICE_FUNCTION void wcodec_product_store(uint64_t address, uint32_t format, uint64_t i,
                                                 float v)
{
    const uint32_t bits = WCODEC_FLOAT_BITS(v), magnitude = bits & 0x7fffffffu;
    if (format == WCODEC_TO_F32)
        ((WCODEC_GLOBAL uint32_t *)address)[i] = bits;
    else if (magnitude > 0x7f800000u)
        ((WCODEC_GLOBAL uint16_t *)address)[i] = format == WCODEC_TO_BF16 ? 0x7fc0 : 0x7e00;
    else
        ((WCODEC_GLOBAL uint16_t *)address)[i] =
            (uint16_t)(format == WCODEC_TO_BF16 ? wcodec_to_bf16(bits) : wcodec_to_f16(bits));
}

/* 2^shift, 0 for rows of zeros. */
WCODEC_DEVICE_FUNCTION float wcodec_product_scale(uint32_t shift)
{
    const int32_t s = (int32_t)WCODEC_SIGNED_BYTE(shift, 0);
    return wcodec_bits_float(s == WCODEC_FIXED_ZERO_ROW ? 0 : (uint32_t)(s + 127) << 23);
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
    for (uint32_t i = wcodec_thread(warp); i < height * l->vectors; i += wcodec_threads(warp)) {
        const uint32_t row = i % height, vector = i / height;
        uint32_t at = wcodec_shared_base(warp) + 4 * (vector * stride + row);
        float sum = wcodec_bits_float(wcodec_shared_u32(warp, at));
        if (first + row >= l->rows)
            continue;
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

/* eights: of vectors, that the kernel takes. */
WCODEC_DEVICE_FUNCTION void wcodec_product_kernel(const uint32_t bits, const uint32_t eights,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_product_launch *l)
{
    const uint32_t number = wcodec_warp_number(warp), band = number / l->parts,
                   part = number % l->parts;
    struct wcodec_product_warp w;
    float sums[WCODEC_PRODUCT_EIGHTS_MAX][2][4] = {{{0}}};
    wcodec_allow_next_launch(warp);
    w.launch = l;
    w.band = wcodec_group(warp) * l->group_bands + band;
    w.part = part;
    w.patch = wcodec_shared_base(warp) + number * WCODEC_PRODUCT_WARP;
    w.list = w.patch + WCODEC_PRODUCT_LIST;
    w.records =
        (const WCODEC_GLOBAL uint8_t *)(l->records + (uint64_t)w.band * l->across *
                                                         wcodec_product_record_size(bits, l->list));
    if (w.band < l->bands)
        wcodec_product_band(bits, eights, warp, &w, sums);
    else
        wcodec_wait_for_launch(warp);
    wcodec_sync_group(warp);
    wcodec_product_put(eights, warp, l, band, part, sums);
    wcodec_sync_group(warp);
    wcodec_product_finish(eights, warp, l);
}
#endif

#endif
