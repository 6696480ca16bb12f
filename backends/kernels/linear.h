/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Linear hashes of tensors: the reference is lib/coding/linear.c. A section of 2 KiB is four rows
 * of 16 bytes of each lane; multiplications are of 32 bits by 32, added to 64. */
#ifndef WCODEC_KERNELS_LINEAR_H
#define WCODEC_KERNELS_LINEAR_H

#include "backends/kernels/leaves.h"

#ifdef WCODEC_SIMT
enum { WCODEC_LINEAR_ROWS = 4, WCODEC_LINEAR_SECTION_LOG2 = 11 };

WCODEC_DEVICE_FUNCTION uint32_t wcodec_linear_mix(uint32_t v)
{
    v = (v ^ v >> 16) * 0x85ebca6bu;
    v = (v ^ v >> 13) * 0xc2b2ae35u;
    return v ^ v >> 16;
}

/* Of a word of a section. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_linear_key(uint32_t word)
{
    return wcodec_linear_mix(word + 1);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_linear_factor(uint64_t section)
{
    uint32_t n = (uint32_t)section;
    if (section >> 32 != 0)
        n ^= wcodec_linear_mix((uint32_t)(section >> 32));
    return (uint64_t)wcodec_linear_mix(n ^ 0x9e3779b9u) << 32 |
           (wcodec_linear_mix(n ^ 0x7f4a7c15u) | 1);
}

/* Those of a lane's words, row by row. */
WCODEC_DEVICE_FUNCTION void wcodec_linear_keys(uint32_t lane, uint32_t keys[4 * WCODEC_LINEAR_ROWS])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4 * WCODEC_LINEAR_ROWS; i++)
        keys[i] = wcodec_linear_key(128 * (i / 4) + 4 * lane + i % 4);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_linear_row(const uint32_t *keys, wcodec_u4 v)
{
    return (uint64_t)v.x * keys[0] + (uint64_t)v.y * keys[1] + (uint64_t)v.z * keys[2] +
           (uint64_t)v.w * keys[3];
}

/* What a tensor's sum changes by where the element after `at` bytes is `now`, and was `was`. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_linear_change(const uint32_t log2, uint64_t at, uint64_t now,
                                                     uint64_t was)
{
    const uint32_t word = (uint32_t)(at >> 2) & 511;
    uint64_t sum;
    if (log2 == 3)
        sum = ((now & 0xffffffffu) - (was & 0xffffffffu)) * wcodec_linear_key(word) +
              ((now >> 32) - (was >> 32)) * wcodec_linear_key(word + 1);
    else
        sum = ((now - was) << (8 * ((uint32_t)at & 3))) * wcodec_linear_key(word);
    return sum * wcodec_linear_factor(at >> WCODEC_LINEAR_SECTION_LOG2);
}

/* What all lanes have. Collective. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_linear_lanes(struct wcodec_warp *warp, uint64_t v)
{
    const uint32_t lane = wcodec_lane(warp);
    for (uint32_t step = 16; step != 0; step /= 2)
        v += wcodec_shuffle_long(warp, v, lane ^ step);
    return v;
}

/* Sections that are read together. */
#define WCODEC_LINEAR_AHEAD 2

/* Bytes of a tensor from `at` on, where a section begins. Collective. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_linear_piece(struct wcodec_warp *warp, const uint32_t *keys,
                                                    uint64_t elements, uint64_t at, uint32_t size)
{
    const uint32_t lane = wcodec_lane(warp), rest = size % 16;
    const WCODEC_GLOBAL uint8_t *from = (const WCODEC_GLOBAL uint8_t *)(elements + at);
    uint64_t sum = 0;
    for (uint32_t done = 0; done < size; done += 2048 * WCODEC_LINEAR_AHEAD) {
        wcodec_u4 v[WCODEC_LINEAR_AHEAD * WCODEC_LINEAR_ROWS]; /* on their way together */
        /* Between loads with a test each, lanes would wait. */
        if (done + 2048 * WCODEC_LINEAR_AHEAD <= size) {
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < WCODEC_LINEAR_AHEAD * WCODEC_LINEAR_ROWS; k++)
                v[k] = wcodec_load_once_u4(from + done + 512 * k + 16 * lane);
        } else {
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < WCODEC_LINEAR_AHEAD * WCODEC_LINEAR_ROWS; k++) {
                const uint32_t own = done + 512 * k + 16 * lane;
                v[k] = wcodec_make_u4(0, 0, 0, 0);
                if (own + 16 <= size)
                    v[k] = wcodec_load_once_u4(from + own);
            }
        }
        WCODEC_UNROLL_ALL
        for (uint32_t s = 0; s < WCODEC_LINEAR_AHEAD; s++) {
            uint64_t section = 0;
            WCODEC_UNROLL_ALL
            for (uint32_t row = 0; row < WCODEC_LINEAR_ROWS; row++)
                section += wcodec_linear_row(keys + 4 * row, v[WCODEC_LINEAR_ROWS * s + row]);
            sum += section * wcodec_linear_factor(((at + done) >> WCODEC_LINEAR_SECTION_LOG2) + s);
        }
    }
    if (lane < rest)
        sum += wcodec_linear_change(0, at + size - rest + lane, from[size - rest + lane], 0);
    return wcodec_linear_lanes(warp, sum);
}

/* A piece by a warp. */
WCODEC_DEVICE_FUNCTION void wcodec_linear_kernel(struct wcodec_warp *warp,
                                                 const struct wcodec_linear_launch *l)
{
    const uint32_t step = wcodec_groups(warp) * wcodec_warps(warp);
    uint32_t keys[4 * WCODEC_LINEAR_ROWS];
    wcodec_linear_keys(wcodec_lane(warp), keys);
    for (uint32_t i = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
         i < l->pieces; i += step) {
        const uint64_t done = (uint64_t)i << WCODEC_LINEAR_PIECE_LOG2, left = l->size - done,
                       most = 1u << WCODEC_LINEAR_PIECE_LOG2;
        const uint64_t sum = wcodec_linear_piece(warp, keys, l->elements, l->before + done,
                                                 (uint32_t)(left < most ? left : most));
        if (wcodec_is_first(warp))
            ((WCODEC_GLOBAL uint64_t *)l->out)[i] = sum;
    }
}
#endif

#endif
