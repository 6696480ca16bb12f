/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Where a tensor differs from another one, a tile by a warp; and of both, their parts of the linear
 * hashes: all by one reading. The reference is lib/encode/delta.c. */
#ifndef WCODEC_KERNELS_DELTA_FIND_H
#define WCODEC_KERNELS_DELTA_FIND_H

#include "backends/kernels/delta.h"

#ifdef WCODEC_SIMT
/* Bits of a number. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_changes_length(uint64_t v)
{
    const bool wide = v >> 32 != 0;
    uint32_t low = wide ? (uint32_t)(v >> 32) : (uint32_t)v;
    low |= low >> 1;
    low |= low >> 2;
    low |= low >> 4;
    low |= low >> 8;
    low |= low >> 16;
    return WCODEC_POPCOUNT(low) + (wide ? 32 : 0);
}

/* What a lane knows of its tile. */
struct wcodec_changes_tile {
    uint64_t slot;  /* the address */
    uint32_t count; /* of all lanes, until now */
};

/* An element that differs, which is number `at` of its tile's. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_note(const uint32_t log2,
                                                const struct wcodec_changes_launch *l,
                                                const struct wcodec_changes_tile *t, uint32_t at,
                                                uint32_t position, uint64_t e, uint64_t b)
{
    const uint64_t values = t->slot + 2 * (uint64_t)l->slot;
    if (at < l->slot) {
        *(WCODEC_GLOBAL uint16_t *)(t->slot + 2 * (uint64_t)at) = (uint16_t)position;
        wcodec_patch_store(values + ((uint64_t)at << log2), log2, e);
        wcodec_patch_store(values + ((uint64_t)(l->slot + at) << log2), log2, b);
    }
}

/* Elements that a lane has before those of the lanes after it; adds up what all have. Collective.
 */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_changes_place(struct wcodec_warp *warp, uint32_t own,
                                                     struct wcodec_changes_tile *t)
{
    const uint32_t below = (1u << wcodec_lane(warp)) - 1;
    uint32_t before = 0, all = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t bit = 0; bit < 5; bit++) {
        const uint32_t mask = wcodec_ballot(warp, (own >> bit & 1) != 0);
        before += WCODEC_POPCOUNT(mask & below) << bit;
        all += WCODEC_POPCOUNT(mask) << bit;
    }
    before += t->count;
    t->count += all;
    return before;
}

/* One of four words, without an address: they stay in registers. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_changes_word(const uint32_t v[4], uint32_t i)
{
    const uint32_t low = i & 1 ? v[1] : v[0], high = i & 1 ? v[3] : v[2];
    return i & 2 ? high : low;
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_changes_element(const uint32_t log2, const uint32_t v[4],
                                                       const uint32_t i)
{
    if (log2 == 3)
        return i == 0 ? (uint64_t)v[1] << 32 | v[0] : (uint64_t)v[3] << 32 | v[2];
    const uint32_t bit = i << (3 + log2);
    return wcodec_changes_word(v, bit >> 5) >> (bit & 31) &
           (log2 == 2 ? ~0u : (1u << (8 << log2)) - 1);
}

/* Which of a lane's elements differ: bit i says so of number i. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_changes_mask(const uint32_t log2, const uint32_t a[4],
                                                    const uint32_t b[4])
{
    uint32_t mask = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 16u >> log2; i++)
        mask |=
            wcodec_changes_element(log2, a, i) != wcodec_changes_element(log2, b, i) ? 1u << i : 0;
    return mask;
}

/* Sixteen bytes of each lane, from `at` of the tile on. Collective. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_row(const uint32_t log2, struct wcodec_warp *warp,
                                               const struct wcodec_changes_launch *l,
                                               struct wcodec_changes_tile *t, uint32_t at,
                                               wcodec_u4 x, wcodec_u4 y)
{
    const uint32_t a[4] = {x.x, x.y, x.z, x.w}, b[4] = {y.x, y.y, y.z, y.w};
    const bool differs = ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) != 0;
    if (!wcodec_any(warp, differs))
        return;
    uint32_t mask = wcodec_changes_mask(log2, a, b),
             place = wcodec_changes_place(warp, WCODEC_POPCOUNT(mask), t);
    /* As often as the lane has that has most of them. */
    for (; mask != 0; mask &= mask - 1) {
        const uint32_t i = wcodec_first_bit(mask);
        wcodec_changes_note(log2, l, t, place++, (at >> log2) + i,
                            wcodec_changes_element(log2, a, i), wcodec_changes_element(log2, b, i));
    }
}

/* Rows of 512 bytes that are read together: a section of linear hashes. */
#define WCODEC_CHANGES_AHEAD WCODEC_LINEAR_ROWS

/* Rows from number `chunk` of a tile on, and zeros after its last 16 bytes. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_load(const struct wcodec_changes_launch *l, uint64_t at,
                                                uint32_t chunk, uint32_t lane, uint32_t size,
                                                wcodec_u4 x[WCODEC_CHANGES_AHEAD],
                                                wcodec_u4 y[WCODEC_CHANGES_AHEAD])
{
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_CHANGES_AHEAD; k++) {
        const uint32_t own = 512 * (chunk + k) + 16 * lane;
        x[k] = y[k] = wcodec_make_u4(0, 0, 0, 0);
        if (own + 16 <= size) {
            x[k] = wcodec_load_once_u4((const WCODEC_GLOBAL uint8_t *)(l->elements + at + own));
            y[k] = wcodec_load_once_u4((const WCODEC_GLOBAL uint8_t *)(l->base + at + own));
        }
    }
}

/* Of the linear hashes of a tensor and its base. */
struct wcodec_changes_sums {
    uint64_t sum, base_sum;
};

WCODEC_DEVICE_FUNCTION void wcodec_changes_add(const uint32_t *keys, uint64_t section,
                                               const wcodec_u4 x[WCODEC_CHANGES_AHEAD],
                                               const wcodec_u4 y[WCODEC_CHANGES_AHEAD],
                                               struct wcodec_changes_sums *s)
{
    const uint64_t factor = wcodec_linear_factor(section);
    uint64_t sum = 0, base_sum = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_CHANGES_AHEAD; k++) {
        sum += wcodec_linear_row(keys + 4 * k, x[k]);
        base_sum += wcodec_linear_row(keys + 4 * k, y[k]);
    }
    s->sum += sum * factor;
    s->base_sum += base_sum * factor;
}

/* What is after the last 16 bytes: an element a lane, of which there are `rest`. Collective. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_rest(const uint32_t log2, struct wcodec_warp *warp,
                                                const struct wcodec_changes_launch *l,
                                                struct wcodec_changes_tile *t, uint64_t first,
                                                uint32_t begin, uint32_t rest,
                                                struct wcodec_changes_sums *s)
{
    const uint32_t lane = wcodec_lane(warp), i = begin + lane;
    const uint64_t at = (first + i) << log2,
                   e = lane < rest ? wcodec_patch_load(l->elements + at, log2) : 0,
                   held = lane < rest ? wcodec_patch_load(l->base + at, log2) : 0;
    const uint32_t place = wcodec_changes_place(warp, e != held, t);
    if (e != held)
        wcodec_changes_note(log2, l, t, place, i, e, held);
    if (lane < rest) {
        s->sum += wcodec_linear_change(log2, at, e, 0);
        s->base_sum += wcodec_linear_change(log2, at, held, 0);
    }
}

/* A tile by a warp. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_one(const uint32_t log2, struct wcodec_warp *warp,
                                               const struct wcodec_changes_launch *l, uint32_t tile)
{
    const uint32_t lane = wcodec_lane(warp);
    const uint64_t first = (uint64_t)tile << l->tile_log2, left = l->count - first,
                   most = (uint64_t)1 << l->tile_log2, at = first << log2;
    const uint32_t size = (uint32_t)(left < most ? left : most) << log2,
                   chunks = (size / 16 + 31) / 32;
    struct wcodec_changes_tile t = {.slot = l->slots + (uint64_t)l->slot_size * tile};
    struct wcodec_changes_sums s = {0, 0};
    uint32_t keys[4 * WCODEC_LINEAR_ROWS];
    wcodec_linear_keys(lane, keys);
    for (uint32_t chunk = 0; chunk < chunks; chunk += WCODEC_CHANGES_AHEAD) {
        wcodec_u4 x[WCODEC_CHANGES_AHEAD], y[WCODEC_CHANGES_AHEAD]; /* on their way together */
        wcodec_changes_load(l, at, chunk, lane, size, x, y);
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < WCODEC_CHANGES_AHEAD; k++)
            wcodec_changes_row(log2, warp, l, &t, 512 * (chunk + k) + 16 * lane, x[k], y[k]);
        wcodec_changes_add(keys, (at >> WCODEC_LINEAR_SECTION_LOG2) + chunk / 4, x, y, &s);
    }
    wcodec_changes_rest(log2, warp, l, &t, first, size / 16 * 16 >> log2, size % 16 >> log2, &s);
    const uint64_t sum = wcodec_linear_lanes(warp, s.sum),
                   base_sum = wcodec_linear_lanes(warp, s.base_sum);
    if (lane == 0) {
        WCODEC_GLOBAL struct wcodec_changed_tile *out =
            (WCODEC_GLOBAL struct wcodec_changed_tile *)l->counts + tile;
        out->count = t.count;
        out->unused = 0;
        out->sum = sum;
        out->base_sum = base_sum;
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_changes_kernel(struct wcodec_warp *warp,
                                                  const struct wcodec_changes_launch *l)
{
    const uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
    if (tile >= l->tiles)
        return;
    if (l->element_log2 == 1)
        wcodec_changes_one(1, warp, l, tile);
    else if (l->element_log2 == 2)
        wcodec_changes_one(2, warp, l, tile);
    else if (l->element_log2 == 0)
        wcodec_changes_one(0, warp, l, tile);
    else
        wcodec_changes_one(3, warp, l, tile);
}
#endif

#endif
