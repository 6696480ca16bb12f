/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles that have been coded (encode_tiles.h) to their places: a launch adds up what ranges of
 * tiles take, by their descriptors, and another one finds from this where each tile begins, and
 * copies. What had no place before, because a tile before it is stored or constant, or no room, is
 * made anew from the elements: raw bits, and outliers of constant tiles. */
#ifndef WCODEC_KERNELS_ENCODE_JOIN_H
#define WCODEC_KERNELS_ENCODE_JOIN_H

#include "backends/kernels/encode_tiles.h"

#ifdef WCODEC_SIMT
/* A tile's descriptor. */
struct wcodec_coder_tile {
    uint32_t mode, symbol, words, outliers, raw; /* raw: bytes */
};

/* Where a tile begins in each area, in units of it. */
struct wcodec_coder_places {
    uint64_t words, streams, raw, outliers; /* raw: 64 bytes */
};

WCODEC_DEVICE_FUNCTION struct wcodec_coder_tile
wcodec_coder_read(const struct wcodec_coder_kind k, const struct wcodec_coder_launch *l,
                  uint32_t tile)
{
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->directory + (uint64_t)4 * l->tiles + (uint64_t)8 * tile);
    const uint32_t a = wcodec_load_u32(from), b = wcodec_load_u32(from + 4),
                   count = wcodec_coder_count(l, tile);
    struct wcodec_coder_tile t;
    t.mode = a >> 24;
    t.words = a & 0xfffff;
    t.symbol = b >> 24;
    t.outliers = b & 0x1ffff;
    t.raw = t.mode == WCODEC_STREAM_STORED
                ? wcodec_coder_stored_size(k, count)
                : wcodec_coder_raw_size(k, (count + 127) / 128,
                                        t.mode == WCODEC_STREAM_RANS &&
                                            wcodec_coder_payload_plane(k) != 0);
    return t;
}

/* The sum over the lanes of numbers below 2^48. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_coder_add_wide(struct wcodec_warp *warp, uint64_t v)
{
    return ((uint64_t)wcodec_add_lanes(warp, (uint32_t)(v >> 24)) << 24) +
           wcodec_add_lanes(warp, (uint32_t)v & 0xffffff);
}

/* What tiles from `first` on before `end` take. */
WCODEC_DEVICE_FUNCTION struct wcodec_coder_places
wcodec_coder_add_tiles(const struct wcodec_coder_kind k, struct wcodec_warp *warp,
                       const struct wcodec_coder_launch *l, uint32_t first, uint32_t end)
{
    uint32_t words = 0, streams = 0, raw = 0, outliers = 0;
    struct wcodec_coder_places p;
    for (uint32_t tile = first + wcodec_lane(warp); tile < end; tile += 32) {
        const struct wcodec_coder_tile t = wcodec_coder_read(k, l, tile);
        words += t.words;
        streams += t.mode == WCODEC_STREAM_RANS;
        raw += t.raw / 64;
        outliers += t.outliers;
    }
    p.words = wcodec_add_lanes(warp, words);
    p.streams = wcodec_add_lanes(warp, streams);
    p.raw = wcodec_add_lanes(warp, raw);
    p.outliers = wcodec_add_lanes(warp, outliers);
    return p;
}

/* A warp takes a range. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_sums_kernel(const struct wcodec_coder_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_coder_launch *l)
{
    const uint32_t size = 1u << l->range_log2, ranges = (l->tiles + size - 1) >> l->range_log2,
                   step = wcodec_groups(warp) * wcodec_warps(warp);
    for (uint32_t i = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
         i < ranges; i += step) {
        const uint32_t first = i << l->range_log2,
                       end = l->tiles - first < size ? l->tiles : first + size;
        const struct wcodec_coder_places p = wcodec_coder_add_tiles(k, warp, l, first, end);
        if (wcodec_is_first(warp))
            wcodec_store_u4((WCODEC_GLOBAL uint8_t *)(l->sums + (uint64_t)16 * i),
                            (uint32_t)p.words, (uint32_t)p.streams, (uint32_t)p.raw,
                            (uint32_t)p.outliers);
    }
}

WCODEC_DEVICE_FUNCTION struct wcodec_coder_places
wcodec_coder_find(const struct wcodec_coder_kind k, struct wcodec_warp *warp,
                  const struct wcodec_coder_launch *l, uint32_t tile)
{
    const uint32_t range = tile >> l->range_log2;
    struct wcodec_coder_places p = wcodec_coder_add_tiles(k, warp, l, range << l->range_log2, tile),
                               before = {0, 0, 0, 0};
    for (uint32_t i = wcodec_lane(warp); i < range; i += 32) {
        const wcodec_u4 v =
            wcodec_load_u4((const WCODEC_GLOBAL uint8_t *)(l->sums + (uint64_t)16 * i));
        before.words += v.x;
        before.streams += v.y;
        before.raw += v.z;
        before.outliers += v.w;
    }
    p.words += wcodec_coder_add_wide(warp, before.words);
    p.streams += wcodec_coder_add_wide(warp, before.streams);
    p.raw += wcodec_coder_add_wide(warp, before.raw);
    p.outliers += wcodec_coder_add_wide(warp, before.outliers);
    return p;
}

/* What a lane reads before it writes the first of it: blocks of words, outliers. NVIDIA's OpenCL
 * spills 180 bytes of registers where it is four, and 140 where it is two. */
#ifdef __OPENCL_VERSION__
#define WCODEC_CODER_AHEAD 2
#else
#define WCODEC_CODER_AHEAD 4
#endif

/* Copy so many halves from even addresses to even addresses: whole blocks of 16 bytes where they
 * go to, and what is before and after them. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_copy(uint32_t lane, uint64_t to, uint64_t from,
                                              uint32_t halves)
{
    const uint32_t skew = (uint32_t)(0 - to) & 15, most = 2 * halves,
                   head = skew < most ? skew : most, blocks = (most - head) / 16,
                   tail = head + 16 * blocks;
    if (2 * lane < head)
        *(WCODEC_GLOBAL uint16_t *)(to + 2 * lane) =
            *(const WCODEC_GLOBAL uint16_t *)(from + 2 * lane);
    if (tail + 2 * lane < most)
        *(WCODEC_GLOBAL uint16_t *)(to + tail + 2 * lane) =
            *(const WCODEC_GLOBAL uint16_t *)(from + tail + 2 * lane);
    const uint32_t odd = (uint32_t)(from + head) & 2;
    const WCODEC_GLOBAL uint32_t *words = (const WCODEC_GLOBAL uint32_t *)(from + head - odd);
    for (uint32_t first = lane; first < blocks; first += 32 * WCODEC_CODER_AHEAD) {
        uint32_t v[WCODEC_CODER_AHEAD][5]; /* on their way together */
        WCODEC_UNROLL_ALL
        for (uint32_t a = 0; a < WCODEC_CODER_AHEAD; a++) {
            WCODEC_UNROLL_ALL
            for (uint32_t j = 0; j < 5; j++)
                if (first + 32 * a < blocks && (j < 4 || odd))
                    v[a][j] = words[4 * (first + 32 * a) + j];
        }
        WCODEC_UNROLL_ALL
        for (uint32_t a = 0; a < WCODEC_CODER_AHEAD; a++) {
            if (first + 32 * a >= blocks)
                continue;
            WCODEC_UNROLL_ALL
            for (uint32_t j = 0; j < 4; j++)
                v[a][j] = odd ? v[a][j] >> 16 | v[a][j + 1] << 16 : v[a][j];
            wcodec_store_u4((WCODEC_GLOBAL uint8_t *)(to + head + (uint64_t)16 * (first + 32 * a)),
                            v[a][0], v[a][1], v[a][2], v[a][3]);
        }
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_put_outlier(const struct wcodec_coder_launch *l,
                                                     uint64_t number, uint32_t position,
                                                     uint32_t value)
{
    *(WCODEC_GLOBAL uint16_t *)(l->positions + 2 * number) = (uint16_t)position;
    *(WCODEC_GLOBAL uint8_t *)(l->values + number) = (uint8_t)value;
}

/* Those of a constant tile: what differs. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_other_elements(const struct wcodec_coder_kind k,
                                                        struct wcodec_warp *warp,
                                                        const struct wcodec_coder_launch *l,
                                                        const struct wcodec_coder_tile *t,
                                                        uint32_t tile, uint64_t number)
{
    const uint32_t count = wcodec_coder_count(l, tile), below = (1u << wcodec_lane(warp)) - 1;
    for (uint32_t group = 0; 128 * group < count; group++) {
        uint32_t words[4], found = 0, before = 0, total = 0;
        const uint32_t there = wcodec_coder_load_part(k, wcodec_coder_elements(k, l, tile), count,
                                                      group, wcodec_lane(warp), words);
        wcodec_coder_add(k, l, there, words);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const bool other = i < there && wcodec_coder_value(k, l, words, i) != t->symbol;
            const uint32_t mask = wcodec_ballot(warp, other);
            before += WCODEC_POPCOUNT(mask & below);
            total += WCODEC_POPCOUNT(mask);
            found |= other ? 1u << i : 0;
        }
        uint64_t own = number + before;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            if (found >> i & 1)
                wcodec_coder_put_outlier(l, own++, 128 * group + 4 * wcodec_lane(warp) + i,
                                         wcodec_coder_value(k, l, words, i));
        number += total;
    }
}

/* The value that an element is coded by. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_one_value(const struct wcodec_coder_kind k,
                                                       const struct wcodec_coder_launch *l,
                                                       uint32_t tile, uint32_t position)
{
    const WCODEC_GLOBAL uint8_t *from =
        wcodec_coder_elements(k, l, tile) + ((uint64_t)position << k.element_log2);
    uint32_t element;
    if (k.element_log2 == 0)
        element = *from;
    else if (k.element_log2 == 1)
        element = *(const WCODEC_GLOBAL uint16_t *)from;
    else
        element = *(const WCODEC_GLOBAL uint32_t *)from;
    return (element + l->add) >> l->shift & l->mask;
}

/* Marks of a group, by its elements' numbers modulo 4. */
WCODEC_DEVICE_FUNCTION wcodec_u4 wcodec_coder_marks(const struct wcodec_coder_launch *l,
                                                    uint32_t tile, uint32_t group, uint32_t groups)
{
    const uint64_t marks = l->tile_marks + (uint64_t)tile * l->marks_part;
    if (group >= groups)
        return wcodec_make_u4(0, 0, 0, 0);
    return wcodec_load_u4((const WCODEC_GLOBAL uint8_t *)(marks + (uint64_t)16 * group));
}

/* A group's marked elements, of which there are so many, from outlier number `to` on. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_marked_group(const struct wcodec_coder_kind k,
                                                      const struct wcodec_coder_launch *l,
                                                      uint32_t tile, uint32_t group,
                                                      const wcodec_u4 m, uint32_t left, uint64_t to)
{
    uint32_t lanes = m.x | m.y | m.z | m.w, from = 0, found = 0;
    while (left > 0) {
        uint32_t positions[WCODEC_CODER_AHEAD], values[WCODEC_CODER_AHEAD];
        WCODEC_UNROLL_ALL
        for (uint32_t a = 0; a < WCODEC_CODER_AHEAD; a++) {
            if (a >= left)
                continue;
            if (found == 0) {
                from = wcodec_first_bit(lanes);
                lanes &= lanes - 1;
                found = (m.x >> from & 1) | (m.y >> from & 1) << 1 | (m.z >> from & 1) << 2 |
                        (m.w >> from & 1) << 3;
            }
            positions[a] = 128 * group + 4 * from + wcodec_first_bit(found);
            values[a] = wcodec_coder_one_value(k, l, tile, positions[a]);
            found &= found - 1;
        }
        WCODEC_UNROLL_ALL
        for (uint32_t a = 0; a < WCODEC_CODER_AHEAD; a++)
            if (a < left)
                wcodec_coder_put_outlier(l, to++, positions[a], values[a]);
        left -= left < WCODEC_CODER_AHEAD ? left : WCODEC_CODER_AHEAD;
    }
}

/* Those that were marked: a lane takes a group. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_marked_elements(const struct wcodec_coder_kind k,
                                                         struct wcodec_warp *warp,
                                                         const struct wcodec_coder_launch *l,
                                                         uint32_t tile, uint64_t number)
{
    const uint32_t lane = wcodec_lane(warp), groups = (wcodec_coder_count(l, tile) + 127) / 128;
    wcodec_u4 next = wcodec_coder_marks(l, tile, lane, groups);
    for (uint32_t first = 0; first < groups; first += 32) {
        const uint32_t group = first + lane;
        const wcodec_u4 m = next;
        const uint32_t own = WCODEC_POPCOUNT(m.x) + WCODEC_POPCOUNT(m.y) + WCODEC_POPCOUNT(m.z) +
                             WCODEC_POPCOUNT(m.w);
        uint32_t until = own;
        next = wcodec_coder_marks(l, tile, group + 32, groups);
        WCODEC_UNROLL_ALL
        for (uint32_t d = 1; d < 32; d *= 2) {
            const uint32_t other = wcodec_shuffle(warp, until, (lane - d) & 31);
            until += lane >= d ? other : 0;
        }
        wcodec_coder_marked_group(k, l, tile, group, m, own, number + until - own);
        number += wcodec_shuffle(warp, until, 31);
    }
}

/* The bytes of a tile as they are, and zeros. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_store_tile(const struct wcodec_coder_kind k,
                                                    const struct wcodec_coder_launch *l,
                                                    uint32_t tile, uint32_t lane, uint64_t to)
{
    const uint32_t count = wcodec_coder_count(l, tile), size = wcodec_coder_stored_size(k, count);
    for (uint32_t i = lane; i < (size >> (2 + k.element_log2)); i += 32) {
        uint32_t words[4];
        (void)wcodec_coder_load_part(k, wcodec_coder_elements(k, l, tile), count, i / 32, i & 31,
                                     words);
        WCODEC_UNROLL_ALL
        for (uint32_t j = 0; j < 4; j++)
            if (j < wcodec_coder_words(k))
                wcodec_store_u32(
                    (WCODEC_GLOBAL uint8_t *)(to + ((uint64_t)4 * i << k.element_log2) + 4 * j),
                    words[j]);
    }
}

/* A tile's raw bits anew. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_all_rows(const struct wcodec_coder_kind k,
                                                  const struct wcodec_coder_launch *l,
                                                  uint32_t tile, uint32_t lane, uint64_t to,
                                                  bool payload)
{
    const uint32_t count = wcodec_coder_count(l, tile), groups = (count + 127) / 128;
    struct wcodec_coder_rows rows;
    wcodec_coder_begin_rows(&rows, to, groups, lane, payload);
    for (uint32_t group = groups; group-- > 0;) {
        uint32_t words[4];
        const uint32_t there =
            wcodec_coder_load_part(k, wcodec_coder_elements(k, l, tile), count, group, lane, words);
        wcodec_coder_add(k, l, there, words);
        wcodec_coder_put_rows(k, l, &rows, group, 0, lane, words, true);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_join_raw(const struct wcodec_coder_kind k,
                                                  const struct wcodec_coder_launch *l,
                                                  const struct wcodec_coder_tile *t, uint32_t tile,
                                                  uint32_t lane, uint64_t at)
{
    const bool payload = wcodec_coder_payload_plane(k) != 0;
    const uint64_t usual =
        (uint64_t)tile * wcodec_coder_raw_size(k, 1u << (l->tile_log2 - 7), payload);
    if (at + t->raw > l->raw_size)
        return;
    if (t->mode == WCODEC_STREAM_STORED)
        wcodec_coder_store_tile(k, l, tile, lane, l->raw + at);
    else if (t->mode == WCODEC_STREAM_CONSTANT || at != usual)
        wcodec_coder_all_rows(k, l, tile, lane, l->raw + at,
                              payload && t->mode == WCODEC_STREAM_RANS);
}

/* A tile to its places; those of the next one are what it leaves in `p`. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_join_tile(const struct wcodec_coder_kind k,
                                                   struct wcodec_warp *warp,
                                                   const struct wcodec_coder_launch *l,
                                                   uint32_t tile, struct wcodec_coder_places *p)
{
    const uint32_t lane = wcodec_lane(warp);
    const struct wcodec_coder_tile t = wcodec_coder_read(k, l, tile);
    const uint64_t words =
                       l->tile_words + (uint64_t)(tile + 1) * l->words_part - (uint64_t)2 * t.words,
                   states = l->tile_states + (uint64_t)128 * tile + 4 * lane;
    if (t.mode == WCODEC_STREAM_RANS) {
        if (2 * (p->words + t.words) <= l->words_size)
            wcodec_coder_copy(lane, l->words + 2 * p->words, words, t.words);
        wcodec_store_u32((WCODEC_GLOBAL uint8_t *)(l->states + 128 * p->streams + 4 * lane),
                         wcodec_load_u32((const WCODEC_GLOBAL uint8_t *)states));
    }
    if (t.outliers > 0 && p->outliers + t.outliers <= l->outliers) {
        if (t.mode == WCODEC_STREAM_RANS)
            wcodec_coder_marked_elements(k, warp, l, tile, p->outliers);
        else
            wcodec_coder_other_elements(k, warp, l, &t, tile, p->outliers);
    }
    wcodec_coder_join_raw(k, l, &t, tile, lane, 64 * p->raw);
    p->words += t.words;
    p->streams += t.mode == WCODEC_STREAM_RANS;
    p->raw += t.raw / 64;
    p->outliers += t.outliers;
}

/* A warp takes some tiles that follow each other. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_join_kernel(const struct wcodec_coder_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_coder_launch *l)
{
    const uint32_t warps = wcodec_groups(warp) * wcodec_warps(warp),
                   number = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp),
                   count = (l->tiles + warps - 1) / warps;
    WCODEC_GLOBAL uint64_t *totals = (WCODEC_GLOBAL uint64_t *)l->totals;
    if (number >= (l->tiles + count - 1) / count)
        return;
    const uint32_t first = number * count,
                   end = l->tiles - first < count ? l->tiles : first + count;
    struct wcodec_coder_places p = wcodec_coder_find(k, warp, l, first);
    for (uint32_t tile = first; tile < end; tile++)
        wcodec_coder_join_tile(k, warp, l, tile, &p);
    if (end == l->tiles && wcodec_lane(warp) == 0) {
        totals[0] = p.words;
        totals[1] = p.streams;
        totals[2] = 64 * p.raw;
        totals[3] = p.outliers;
    }
}
#endif

#endif
