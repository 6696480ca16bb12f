/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Raw bits below what is coded of coefficients: `bits` of them, in planes of powers of two, the
 * widest first (doc/format.md 2.4). A plane of n bits has n rows of 128 bytes for eight groups;
 * those of a unit of groups are one after the other in shared memory. */
#ifndef WCODEC_KERNELS_LOSSY_RAW_H
#define WCODEC_KERNELS_LOSSY_RAW_H

#include "backends/kernels/elements.h"
#include "backends/kernels/stream.h"

/* The bits of a coefficient below those of a plane. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_raw_below(uint32_t bits, const uint32_t plane)
{
    return bits & ~(2 * plane - 1);
}

/* Half of the last row of the first plane is in the start states, or of four bits all of an odd
 * group. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_plane_size(const uint32_t plane, uint32_t bits,
                                                        uint32_t groups)
{
    const bool payload = plane >= 4 && wcodec_lossy_raw_below(bits, plane) == 0;
    const uint32_t missing = !payload ? 0 : plane == 4 && groups % 2 ? 128 : 64;
    return (groups * plane + 7) / 8 * 128 - missing;
}

/* Those of the unit from group g on, of which the tile has `groups`, on their way. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_load_raw(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp, uint32_t to,
                                                  const WCODEC_GLOBAL uint8_t *from, uint32_t bits,
                                                  uint32_t g, uint32_t groups)
{
    const uint32_t part = 16 * wcodec_lane(warp);
    to += part;
    WCODEC_UNROLL_ALL
    for (uint32_t plane = k.lossy.bytes == 2 ? 8 : 4; plane > 0; plane /= 2) {
        const uint32_t rows = 16 * k.lossy.groups * plane;
        if (!(bits & plane))
            continue;
        const uint32_t size = wcodec_lossy_plane_size(plane, bits, groups),
                       limit = WCODEC_COPY_LIMIT(size);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < rows; i += 512)
            if (size && (rows - i >= 512 || part < rows - i))
                wcodec_copy_16(warp, to + i, from, g * 16 * plane + part + i, limit);
        from += size;
        to += rows;
    }
}

/* Four values of four bits, each where its coefficient has them in the first of a row's words. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_spread(const struct wcodec_kind k, uint32_t v)
{
    return k.lossy.bytes == 1
               ? wcodec_spread_nibbles(0x0f0f0f0fu, v)
               : (v & 0xfu) | (v << 12 & 0xf0000u) | (v >> 4 & 0xf0u) | (v << 8 & 0xf00000u);
}

/* The last row of the first plane as the others are, when the tile's last group is decoded: it is
 * in the unit that begins with group g. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_complete_raw(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp, uint32_t rows,
                                                      uint32_t bits, uint32_t g, uint32_t groups,
                                                      uint32_t state)
{
    const uint32_t lane = wcodec_lane(warp), plane = k.lossy.bytes == 2 && bits >= 8 ? 8 : 4,
                   payload = state & 0xffffu;
    if (bits < 4)
        return;
    const uint32_t last = rows + ((groups * plane + 7) / 8 - 1 - g * plane / 8) * 128,
                   stored = wcodec_shared_u16(warp, last + 2 * lane);
    uint32_t word;
    if (plane == 8)
        word = stored | payload << 16;
    else if (groups % 2)
        word = wcodec_lossy_spread(k, payload);
    else
        word = wcodec_lossy_spread(k, stored) | wcodec_lossy_spread(k, payload)
                                                    << 4 * k.lossy.bytes;
    wcodec_sync_warp(warp);
    wcodec_put_u32(warp, last + 4 * lane, word);
    wcodec_sync_warp(warp);
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_put_plane(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp, uint32_t from,
                                                   const uint32_t plane, uint32_t position,
                                                   uint32_t *v)
{
    const uint32_t element = 8 * k.lossy.bytes,
                   ones = k.lossy.bytes == 2 ? 0x00010001u : 0x01010101u,
                   mask = ones * ((1u << plane) - 1) << position;
    uint32_t word = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.lossy.bytes * k.lossy.groups; i++) {
        if (i * plane % element == 0)
            word = wcodec_shared_u32(warp, from + i * plane / element * 128);
        v[i] |= wcodec_rotate_right(word, i * plane % element) & mask;
    }
}

/* A lane's words of a unit get their raw bits. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_put_raw(const struct wcodec_kind k,
                                                 struct wcodec_warp *warp, uint32_t rows,
                                                 uint32_t bits, uint32_t *v)
{
    uint32_t from = rows + 4 * wcodec_lane(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t plane = k.lossy.bytes == 2 ? 8 : 4; plane >= (k.lossy.bytes == 2 ? 1 : 4);
         plane /= 2) {
        if (!(bits & plane))
            continue;
        wcodec_lossy_put_plane(k, warp, from, plane, wcodec_lossy_raw_below(bits, plane), v);
        from += 16 * k.lossy.groups * plane;
    }
}

#endif
