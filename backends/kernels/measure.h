/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Histograms of a tensor's fields, and which bits vary (lib/coding/measure.h). A warp takes
 * neighbouring blocks, and counts them in shared memory; another launch adds up what warps found.
 * lib/encode/statistics.c is the reference. */
#ifndef WCODEC_KERNELS_MEASURE_H
#define WCODEC_KERNELS_MEASURE_H

#include "backends/kernels/encode_rows.h"
#include "backends/kernels/measure_launch.h"

#ifdef WCODEC_SIMT
#define WCODEC_MEASURE_PART(l, part) \
    ((WCODEC_GLOBAL struct wcodec_measure_part *)((l)->parts_at + \
                                                  (uint64_t)(part) * \
                                                      sizeof(struct wcodec_measure_part)))

/* wcodec_log2() of lib/encode/tables.h, of 1 to 2^24. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_measure_log2(const struct wcodec_measure_launch *l,
                                                    uint32_t x)
{
    const WCODEC_GLOBAL uint32_t *table = (const WCODEC_GLOBAL uint32_t *)l->log2_table;
    uint32_t ones = x;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 1; i < 32; i *= 2)
        ones |= ones >> i;
    const uint32_t top = WCODEC_POPCOUNT(ones) - 1,
                   fraction = (uint32_t)((uint64_t)x << (32 - top)), i = fraction >> 24,
                   low = table[i], step = table[i + 1] - low;
    return (top << 24) + low + (uint32_t)((uint64_t)step * (fraction & 0xffffff) >> 24);
}

/* The counts of a field to the part, and zeros in their place. by_block: they are those of one
 * block of so many elements. */
WCODEC_DEVICE_FUNCTION void wcodec_measure_flush(struct wcodec_warp *warp,
                                                 const struct wcodec_measure_launch *l,
                                                 uint32_t part, uint32_t field, uint32_t stage,
                                                 bool by_block, uint32_t elements)
{
    const uint32_t lane = wcodec_lane(warp),
                   total = by_block ? wcodec_measure_log2(l, elements) : 0;
    WCODEC_GLOBAL struct wcodec_measure_part *to = WCODEC_MEASURE_PART(l, part);
    uint32_t bits = 0, held = 0;
    wcodec_sync_warp(warp);
    for (uint32_t v = lane; v < 256; v += 32) {
        const uint32_t at = stage + 1024 * field + 4 * v, count = wcodec_shared_u32(warp, at);
        if (count == 0)
            continue;
        wcodec_put_u32(warp, at, 0);
        to->counts[field][v] += count;
        held++;
        if (by_block)
            bits += (uint32_t)((uint64_t)count * (total - wcodec_measure_log2(l, count)) >> 8);
    }
    wcodec_sync_warp(warp);
    if (!by_block)
        return;
    bits = wcodec_add_lanes(warp, bits);
    held = wcodec_add_lanes(warp, held);
    if (lane == 0)
        to->bits[field] += (uint64_t)bits + (held - 1) * 47274;
}

/* A lane's element i of a group. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_measure_element(const struct wcodec_coder_kind k,
                                                       const uint32_t *words, const uint32_t i)
{
    return k.element_log2 == 0   ? words[0] >> 8 * i & 0xff
           : k.element_log2 == 1 ? words[i / 2] >> i % 2 * 16 & 0xffff
                                 : words[i];
}

/* Which fields are counted in a block: a bit each. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_measure_wanted(const struct wcodec_measure_launch *l,
                                                      uint64_t block)
{
    uint32_t wanted = 0;
    for (uint32_t f = 0; f < l->fields; f++)
        wanted |= block % l->stride[f] == 0 ? 1u << f : 0;
    return wanted;
}

/* Bits that are set in some elements, and in all: of words, whose elements are put together by
 * wcodec_measure_fold(). */
struct wcodec_measure_bits {
    uint32_t any, all;
};

WCODEC_DEVICE_FUNCTION void wcodec_measure_fold(const struct wcodec_coder_kind k,
                                                struct wcodec_warp *warp,
                                                struct wcodec_measure_bits *b)
{
    const uint32_t mask = k.element_log2 == 2 ? 0xffffffff : (1u << (8u << k.element_log2)) - 1;
    WCODEC_UNROLL_ALL
    for (uint32_t d = 1; d < 32; d *= 2) {
        b->any |= wcodec_shuffle(warp, b->any, wcodec_lane(warp) ^ d);
        b->all &= wcodec_shuffle(warp, b->all, wcodec_lane(warp) ^ d);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t d = 16; d >= 8; d /= 2)
        if (d >= 8u << k.element_log2) {
            b->any |= b->any >> d;
            b->all &= b->all >> d;
        }
    b->any &= mask;
    b->all &= mask;
}

WCODEC_DEVICE_FUNCTION void
wcodec_measure_group(const struct wcodec_coder_kind k, struct wcodec_warp *warp,
                     const struct wcodec_measure_launch *l, const uint32_t *words, uint32_t there,
                     uint32_t wanted, uint32_t stage, struct wcodec_measure_bits *bits)
{
    const uint32_t others = k.element_log2 == 2 ? 0 : 0xffffffff << (8u << k.element_log2);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        if (i < there) {
            const uint32_t element = wcodec_measure_element(k, words, i);
            bits->any |= element;
            bits->all &= element | others;
            for (uint32_t f = 0; f < l->fields; f++)
                if (wanted >> f & 1)
                    wcodec_shared_add(
                        warp, stage + 1024 * f + 4 * (element >> l->shift[f] & l->mask[f]), 1);
        }
}

/* A whole block that no field is counted of, many bytes at once. */
WCODEC_DEVICE_FUNCTION void wcodec_measure_skim(const struct wcodec_coder_kind k,
                                                struct wcodec_warp *warp,
                                                const WCODEC_GLOBAL uint8_t *from,
                                                struct wcodec_measure_bits *bits)
{
    WCODEC_UNROLL_NONE
    for (uint32_t at = 0; at < 8u << k.element_log2; at += 8) {
        wcodec_u4 v[8];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 8; i++)
            v[i] = wcodec_load_once_u4(from + 512 * (at + i) + 16 * wcodec_lane(warp));
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 8; i++) {
            bits->any |= v[i].x | v[i].y | v[i].z | v[i].w;
            bits->all &= v[i].x & v[i].y & v[i].z & v[i].w;
        }
    }
}

/* Of a whole block the elements of four groups are asked for at once. */
WCODEC_DEVICE_FUNCTION void wcodec_measure_block(const struct wcodec_coder_kind k,
                                                 struct wcodec_warp *warp,
                                                 const struct wcodec_measure_launch *l,
                                                 uint64_t block, uint32_t count, uint32_t wanted,
                                                 uint32_t stage, struct wcodec_measure_bits *bits)
{
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->elements +
                                        (block << (WCODEC_MEASURE_BLOCK_LOG2 + k.element_log2)));
    const uint32_t whole = count >> WCODEC_MEASURE_BLOCK_LOG2 << WCODEC_MEASURE_BLOCK_LOG2;
    if (whole != 0 && wanted == 0) {
        wcodec_measure_skim(k, warp, from, bits);
        return;
    }
    WCODEC_UNROLL_NONE
    for (uint32_t group = 0; 128 * group < whole; group += 4) {
        uint32_t words[4][4];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            wcodec_coder_load(k, from, group + i, wcodec_lane(warp), words[i]);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            wcodec_measure_group(k, warp, l, words[i], 4, wanted, stage, bits);
    }
    WCODEC_UNROLL_NONE
    for (uint32_t group = whole / 128; 128 * group < count; group++) {
        uint32_t words[4];
        const uint32_t there =
            wcodec_coder_load_part(k, from, count, group, wcodec_lane(warp), words);
        wcodec_measure_group(k, warp, l, words, there, wanted, stage, bits);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_measure_one_part(const struct wcodec_coder_kind k,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_measure_launch *l,
                                                    uint32_t part, uint32_t stage)
{
    const uint32_t lane = wcodec_lane(warp);
    const uint64_t first = l->blocks * part / l->parts, end = l->blocks * (part + 1) / l->parts;
    WCODEC_GLOBAL struct wcodec_measure_part *to = WCODEC_MEASURE_PART(l, part);
    struct wcodec_measure_bits bits = {0, 0xffffffff};
    for (uint32_t f = 0; f < WCODEC_MEASURE_FIELDS; f++) {
        for (uint32_t v = lane; v < 256; v += 32)
            to->counts[f][v] = 0;
        if (lane == 0)
            to->bits[f] = 0;
    }
    for (uint64_t b = first; b < end; b++) {
        const uint64_t left = l->count - (b << WCODEC_MEASURE_BLOCK_LOG2);
        const uint32_t most = 1u << WCODEC_MEASURE_BLOCK_LOG2,
                       count = left < most ? (uint32_t)left : most,
                       wanted = wcodec_measure_wanted(l, b);
        wcodec_measure_block(k, warp, l, b, count, wanted, stage, &bits);
        for (uint32_t f = 0; f < l->fields; f++)
            if ((wanted >> f & 1) && l->by_block[f])
                wcodec_measure_flush(warp, l, part, f, stage, true, count);
    }
    for (uint32_t f = 0; f < l->fields; f++)
        if (!l->by_block[f])
            wcodec_measure_flush(warp, l, part, f, stage, false, 0);
    wcodec_measure_fold(k, warp, &bits);
    if (lane == 0) {
        to->any = bits.any;
        to->all = bits.all;
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_measure_kernel(const uint32_t element_log2,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_measure_launch *l)
{
    const struct wcodec_coder_kind k = wcodec_coder_kind_of(element_log2, 0, 0);
    const uint32_t number = wcodec_warp_number(warp),
                   step = wcodec_groups(warp) * wcodec_warps(warp),
                   stage = wcodec_shared_base(warp) + number * WCODEC_MEASURE_STAGE;
    for (uint32_t at = 4 * wcodec_lane(warp); at < WCODEC_MEASURE_STAGE; at += 128)
        wcodec_put_u32(warp, stage + at, 0);
    wcodec_sync_warp(warp);
    for (uint32_t part = wcodec_group(warp) * wcodec_warps(warp) + number; part < l->parts;
         part += step)
        wcodec_measure_one_part(k, warp, l, part, stage);
}

/* A warp takes four counts, a field's bits, or which bits vary, and a lane one of them of every
 * eighth part. */
WCODEC_DEVICE_FUNCTION void wcodec_measure_sums_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_measure_launch *l)
{
    const uint32_t number = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp),
                   lane = wcodec_lane(warp), item = 4 * number + lane % 4,
                   counts = WCODEC_MEASURE_FIELDS * 256, last = counts + WCODEC_MEASURE_FIELDS;
    WCODEC_GLOBAL uint64_t *result = (WCODEC_GLOBAL uint64_t *)l->result;
    uint64_t sum = 0;
    uint32_t any = 0, all = 0xffffffff;
    /* Words of the part: a count, or the two of bits, or of any and all, which follow. */
    const uint32_t at = item < counts  ? item
                        : item <= last ? 2 * item - counts
                                       : 0,
                   second = at + (item >= counts);
    WCODEC_UNROLL_SOME
    for (uint32_t part = lane / 4; part < l->parts; part += 8) {
        const WCODEC_GLOBAL uint32_t *words =
            (const WCODEC_GLOBAL uint32_t *)WCODEC_MEASURE_PART(l, part);
        const uint32_t a = words[at], b = words[second];
        sum += item < counts ? a : a | (uint64_t)b << 32;
        any |= a;
        all &= b;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t d = 4; d < 32; d *= 2) {
        const uint32_t low = wcodec_shuffle(warp, (uint32_t)sum, lane ^ d),
                       high = wcodec_shuffle(warp, (uint32_t)(sum >> 32), lane ^ d);
        sum += low | (uint64_t)high << 32;
        any |= wcodec_shuffle(warp, any, lane ^ d);
        all &= wcodec_shuffle(warp, all, lane ^ d);
    }
    if (lane >= 4 || item > last)
        return;
    if (item < last) {
        result[2 + item] = sum;
    } else {
        result[0] = any;
        result[1] = all;
    }
}
#endif

#endif
