/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles that are smaller as constants with outliers, and tiles' descriptors (encode_tiles.h). */
#ifndef WCODEC_KERNELS_ENCODE_CONSTANT_H
#define WCODEC_KERNELS_ENCODE_CONSTANT_H

#include "backends/kernels/encode_rows.h"

#ifdef WCODEC_SIMT
/* Elements of which a few look alike: is the tile smaller as a constant with outliers? By what the
 * reference counts (lib/encode/tile_plan.c). */
WCODEC_DEVICE_FUNCTION bool wcodec_coder_is_constant(const struct wcodec_coder_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_coder_launch *l,
                                                     uint32_t tile, uint32_t count,
                                                     uint32_t *symbol, uint32_t *outliers)
{
    const uint32_t lane = wcodec_lane(warp);
    const WCODEC_GLOBAL uint8_t *elements = wcodec_coder_elements(k, l, tile);
    uint32_t words[4], same = 0, cost = 0;
    const uint32_t middle = count / 2, sample = (uint32_t)((uint64_t)lane * count / 32);
    (void)wcodec_coder_load_part(k, elements, count, middle / 128, middle / 4 & 31, words);
    wcodec_coder_add(k, l, 4, words);
    *symbol = wcodec_coder_value_at(k, l, words, middle & 3);
    (void)wcodec_coder_load_part(k, elements, count, sample / 128, sample / 4 & 31, words);
    wcodec_coder_add(k, l, 4, words);
    const uint32_t value = wcodec_coder_value_at(k, l, words, sample & 3);
    if (WCODEC_POPCOUNT(wcodec_ballot(warp, value != *symbol)) > 2)
        return false;
    const WCODEC_GLOBAL uint32_t *costs =
        (const WCODEC_GLOBAL uint32_t *)(l->table + WCODEC_CODER_SYMBOLS);
    for (uint32_t group = 0; 128 * group < count; group++) {
        const uint32_t there = wcodec_coder_load_part(k, elements, count, group, lane, words);
        wcodec_coder_add(k, l, there, words);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            if (i < there) {
                const uint32_t v = wcodec_coder_value(k, l, words, i);
                same += v == *symbol;
                cost += costs[v];
            }
    }
    *outliers = count - wcodec_add_lanes(warp, same);
    const uint64_t bits = (((uint64_t)wcodec_add_lanes(warp, cost >> 16) << 16) +
                           wcodec_add_lanes(warp, cost & 0xffff)) >>
                          12;
    return wcodec_any(warp, (uint64_t)24 * *outliers <
                                (wcodec_coder_payload_plane(k) ? 512 : 1024) + bits);
}

/* A tile's check and descriptor; what it takes decides whether it is stored. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_describe(const struct wcodec_coder_kind k,
                                                  const struct wcodec_coder_launch *l,
                                                  uint32_t tile, uint32_t count, uint32_t check,
                                                  uint32_t mode, uint32_t symbol, uint32_t words,
                                                  uint32_t outliers)
{
    const uint32_t groups = (count + 127) / 128;
    const bool rans = mode == WCODEC_STREAM_RANS;
    const uint64_t size =
        wcodec_coder_raw_size(k, groups, rans && wcodec_coder_payload_plane(k) != 0) +
        (rans ? 128 : 0) + (uint64_t)2 * words + (uint64_t)3 * outliers;
    const bool stored = size >= wcodec_coder_stored_size(k, count);
    WCODEC_GLOBAL uint8_t *to =
        (WCODEC_GLOBAL uint8_t *)(l->directory + (uint64_t)4 * l->tiles + (uint64_t)8 * tile);
    wcodec_store_u32((WCODEC_GLOBAL uint8_t *)(l->directory + (uint64_t)4 * tile), check);
    wcodec_store_u32(to, stored ? (uint32_t)WCODEC_STREAM_STORED << 24 : words | mode << 24);
    wcodec_store_u32(to + 4, stored ? 0 : outliers | symbol << 24);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_coder_check_alone(const struct wcodec_coder_kind k,
                                                         const struct wcodec_coder_launch *l,
                                                         uint32_t tile, uint32_t count,
                                                         uint32_t lane)
{
    uint64_t sum = 0;
    for (uint32_t group = 0; 128 * group < count; group++) {
        uint32_t words[4];
        (void)wcodec_coder_load_part(k, wcodec_coder_elements(k, l, tile), count, group, lane,
                                     words);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            if (i < wcodec_coder_words(k))
                sum += (uint64_t)words[i] * wcodec_check_factor((group << k.element_log2) + i);
    }
    return sum;
}
#endif

#endif
