/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One row of a tile at a fixed rate by four lanes, each by itself. */
#ifndef WCODEC_KERNELS_FIXED_ROW_H
#define WCODEC_KERNELS_FIXED_ROW_H

#include "backends/kernels/fixed_elements.h"

/* What a lane has of a row: 32 elements of a tile, as a lane of a record has of each of its two. */
struct wcodec_row_part {
    uint32_t lower[8]; /* of four quarters two words, of eight elements */
    uint32_t upper[8];
};

/* Is position that of an element of the row, and of this lane? Then its number among the lane's
 * 32, four in a word. */
WCODEC_DEVICE_FUNCTION bool wcodec_row_has(uint32_t position, uint32_t row, uint32_t lane)
{
    return (position >> 6 & 7) == (row & 7) && (position >> 2 & 1) == row >> 3 &&
           (position >> 4 & 3) == lane;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_row_place(uint32_t position)
{
    return (position >> 9) * 8 + (position >> 3 & 1) * 4 + (position & 3);
}

WCODEC_DEVICE_FUNCTION void wcodec_row_flip(uint32_t *words, uint32_t place, uint32_t flip)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++)
        words[i] ^= place / 4 == i ? flip << place % 4 * 8 : 0;
}

/* What stands in a record for a lane of a group, by indices. */
WCODEC_DEVICE_FUNCTION void wcodec_row_load(const uint32_t bits, const WCODEC_GLOBAL uint8_t *from,
                                            uint32_t row, uint32_t lane,
                                            struct wcodec_row_part *part)
{
    const uint32_t at = (row & 7) * 4 + lane, second = row >> 3;
    uint32_t index[8];
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < 4; q++) {
        const wcodec_u4 v = wcodec_load_once_u4(from + 512 * q + 16 * at);
        part->lower[2 * q] = second ? v.y : v.x;
        part->lower[2 * q + 1] = second ? v.w : v.z;
    }
    wcodec_product_u4(index, wcodec_load_once_u4(from + 2048 + 16 * at));
    if (bits == 3) {
        wcodec_product_u4(index + 4, wcodec_load_once_u4(from + 2560 + 16 * at));
    } else {
        const wcodec_u2 more = wcodec_load_once_u2(from + 2560 + 8 * at);
        index[4] = more.x;
        index[5] = more.y;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t all = wcodec_record_nibbles(bits, index + i / 4 * (bits + 1), i % 4),
                       nibbles = all & 0x77777777u;
        part->upper[i] = wcodec_record_upper(bits, nibbles >> 16 * second, all << 4 * second);
    }
}

/* Those of four short outliers, whose lower bits are in `four`, that are the lane's; i: the first
 * one's number, below 0 for what is no outlier. */
WCODEC_DEVICE_FUNCTION void wcodec_row_shorts(const uint32_t bits,
                                              const WCODEC_GLOBAL uint8_t *list, uint32_t shorts,
                                              uint32_t four, int32_t i, uint32_t row, uint32_t lane,
                                              struct wcodec_row_part *part)
{
    /* Bits 2, 6 and 7 say the row but for its bit 2, bits 4 and 5 the lane. */
    const uint32_t wanted = (row >> 3) << 2 | lane << 4 | (row & 3) << 6,
                   differs = (four & 0xf4f4f4f4u) ^ wanted * 0x01010101u, zero = 1u << bits;
    uint32_t same = (differs - 0x01010101u) & ~differs & 0x80808080u;
    for (; same; same &= same - 1) {
        const uint32_t byte = wcodec_first_bit(same) / 8, low = four >> 8 * byte & 0xff;
        const int32_t number = i + (int32_t)byte;
        if (number < 0 || (uint32_t)number >= shorts)
            continue;
        const uint32_t high = (uint32_t)list[2 + shorts + (uint32_t)number / 2] >> number % 2 * 4,
                       position = low | (high & 7) << 8;
        if (wcodec_row_has(position, row, lane))
            wcodec_row_flip(part->upper, wcodec_row_place(position), high & 8 ? 128 - zero : zero);
    }
}

/* Its outliers. */
WCODEC_DEVICE_FUNCTION void wcodec_row_patch(const uint32_t bits, const WCODEC_GLOBAL uint8_t *list,
                                             uint32_t size, uint32_t row, uint32_t lane,
                                             struct wcodec_row_part *part)
{
    const wcodec_u4 first = wcodec_load_u4(list);
    const uint32_t shorts = first.x & 0xff, longs = first.x >> 8 & 0x7f,
                   end = size - (first.x & 0x8000 ? 8 : 0);
    wcodec_u4 v = first;
    for (uint32_t at = 0; at < 2 + shorts;) {
        const int32_t i = (int32_t)at - 2;
        wcodec_row_shorts(bits, list, shorts, v.x, i, row, lane, part);
        wcodec_row_shorts(bits, list, shorts, v.y, i + 4, row, lane, part);
        wcodec_row_shorts(bits, list, shorts, v.z, i + 8, row, lane, part);
        wcodec_row_shorts(bits, list, shorts, v.w, i + 12, row, lane, part);
        at += 16;
        if (at < 2 + shorts)
            v = wcodec_load_u4(list + at);
    }
    for (uint32_t i = 0; i < longs; i++) {
        const uint32_t word = ((const WCODEC_GLOBAL uint16_t *)(list + end))[-(int32_t)(i + 1)];
        if (wcodec_row_has(word & 0x7ff, row, lane))
            wcodec_row_flip(part->upper, wcodec_row_place(word & 0x7ff), word >> 11 << 2);
    }
}

/* May relative elements of these upper bytes have an exponent of 0 or 255? */
WCODEC_DEVICE_FUNCTION bool wcodec_row_odd(const uint32_t *upper)
{
    uint32_t odd = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t above = ((upper[i] & 0x7f7f7f7fu) + 0x01010101u) & 0x7e7e7e7eu;
        odd |= above - 0x02020202u;
    }
    return (odd & 0x80808080u) != 0;
}

/* Elements of two relative ones. Exponents of 0 and 255 stay, and a row of zeros has signs alone;
 * where there is neither, `plain`, exponents become others of eight bits: both are added to at
 * once. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_row_pair(uint32_t pair, int32_t shift, const bool plain)
{
    uint32_t out = 0;
    if (plain)
        return pair + (uint32_t)shift * 0x00800080u;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t r = pair >> 16 * i & 0xffff, exponent = r >> 7 & 0xff,
                       v = shift == WCODEC_FIXED_ZERO_ROW     ? r & 0x8000
                           : exponent == 0 || exponent == 255 ? r
                                                              : r + 128 * (uint32_t)shift;
        out |= (v & 0xffff) << 16 * i;
    }
    return out;
}

/* Spilled elements of the row, after it was stored. */
WCODEC_DEVICE_FUNCTION void wcodec_row_spilled(const struct wcodec_rows_launch *l,
                                               const WCODEC_GLOBAL uint8_t *list, uint32_t size,
                                               uint32_t row, uint32_t lane, uint64_t out,
                                               uint32_t column)
{
    if (!(list[1] & 0x80))
        return;
    const WCODEC_GLOBAL uint32_t *last = (const WCODEC_GLOBAL uint32_t *)(list + size - 8);
    const WCODEC_GLOBAL uint32_t *words = (const WCODEC_GLOBAL uint32_t *)l->job.spilled + last[0];
    for (uint32_t i = 0; i < last[1]; i++) {
        const uint32_t position = words[i] & 0x7ff, at = wcodec_record_column(position);
        if (wcodec_row_has(position, row, lane) && column + at < l->job.columns)
            ((WCODEC_GLOBAL uint16_t *)out)[column + at] = (uint16_t)(words[i] >> 16);
    }
}

/* A lane's elements of a tile: eight of quarter q. */
WCODEC_DEVICE_FUNCTION void wcodec_row_pairs(const struct wcodec_row_part *part, const uint32_t q,
                                             int32_t shift, const bool plain, uint32_t *pairs)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        pairs[i] =
            wcodec_row_pair(wcodec_bytes(part->lower[2 * q + i / 2], part->upper[2 * q + i / 2],
                                         i % 2 ? 0x7362 : 0x5140),
                            shift, plain);
}

/* To a row at `out`. */
WCODEC_DEVICE_FUNCTION void wcodec_row_store(const struct wcodec_rows_launch *l,
                                             const struct wcodec_row_part *part, uint32_t shift,
                                             uint64_t out, uint32_t column)
{
    const int32_t s = (int32_t)WCODEC_SIGNED_BYTE(shift, 0);
    /* Exponents of what stands for spilled elements are 126 at least. */
    const bool plain = s >= -126 && !wcodec_row_odd(part->upper);
    uint32_t pairs[4];
    if (plain && l->job.regular && column + 104 <= l->job.columns) {
        WCODEC_UNROLL_ALL
        for (uint32_t q = 0; q < 4; q++) {
            wcodec_row_pairs(part, q, s, true, pairs);
            wcodec_store_u4((WCODEC_GLOBAL uint8_t *)out + 2 * (uint64_t)(column + 32 * q),
                            pairs[0], pairs[1], pairs[2], pairs[3]);
        }
        return;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < 4; q++) {
        const uint32_t at = column + 32 * q;
        wcodec_row_pairs(part, q, s, false, pairs);
        if (l->job.regular && at + 8 <= l->job.columns)
            wcodec_store_u4((WCODEC_GLOBAL uint8_t *)out + 2 * (uint64_t)at, pairs[0], pairs[1],
                            pairs[2], pairs[3]);
        else
            for (uint32_t i = 0; i < 8 && at + i < l->job.columns; i++)
                ((WCODEC_GLOBAL uint16_t *)out)[at + i] = (uint16_t)(pairs[i / 2] >> i % 2 * 16);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_row_gather(const uint32_t bits,
                                              const struct wcodec_rows_launch *l, uint64_t row,
                                              uint64_t out, uint32_t tile, uint32_t lane)
{
    const struct wcodec_fixed_job *job = &l->job;
    const uint32_t list_at = wcodec_record_list_at(bits), size = 16 * job->list, in_band = row & 15;
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)job->records +
        (row / 16 * job->across + tile) * (uint64_t)(list_at + size);
    struct wcodec_row_part part;
    wcodec_row_load(bits, from, in_band, lane, &part);
    wcodec_row_patch(bits, from + list_at, size, in_band, lane, &part);
    wcodec_row_store(l, &part, ((const WCODEC_GLOBAL uint8_t *)job->shifts)[row], out,
                     128 * tile + 8 * lane);
    wcodec_row_spilled(l, from + list_at, size, in_band, lane, out, 128 * tile);
}

/* A row that is none: zeros, and the device's words say so. tile, lane: one of them says it. */
WCODEC_DEVICE_FUNCTION void wcodec_row_zeros(const struct wcodec_rows_launch *l, uint64_t out,
                                             uint32_t tile, uint32_t lane)
{
    for (uint32_t i = 128 * tile + lane; i < 128 * tile + 128 && i < l->job.columns; i += 4)
        ((WCODEC_GLOBAL uint16_t *)out)[i] = 0;
    if (tile == 0 && lane == 0 && l->outside != 0) {
        WCODEC_GLOBAL uint32_t *words = (WCODEC_GLOBAL uint32_t *)l->outside;
        wcodec_atomic_store(words + 1, l->number);
        wcodec_atomic_add(words, 1);
    }
}

#endif
