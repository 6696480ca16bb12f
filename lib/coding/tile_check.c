/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tile check (doc/format.md 2.6). */
#include "coding/tile.h"

#define KEY_FIRST 0x4CF5AD43u
#define KEY_STEP 81006u

void wcodec_tile_check_sums(const void *data, uint32_t elements, unsigned element_log2, uint64_t sums[WCODEC_LANES])
{
    const uint8_t *bytes = data;
    const size_t size = (size_t)elements << element_log2;
    const unsigned own = 1u << element_log2; /* words of a lane in a group: four elements */
    memset(sums, 0, WCODEC_LANES * sizeof *sums);
    for (size_t word = 0; 4 * word < size; word++) {
        const size_t left = size - 4 * word;
        const uint32_t value = left >= 4 ? wcodec_load_u32(bytes + 4 * word) : (uint32_t)wcodec_load_uint(bytes + 4 * word, (unsigned)left);
        const size_t group = word / (own * WCODEC_LANES), lane = word / own % WCODEC_LANES, i = word % own;
        sums[lane] += (uint64_t)value * (KEY_FIRST + KEY_STEP * (uint32_t)(own * group + i));
    }
}

uint32_t wcodec_tile_check_finish(const uint64_t sums[WCODEC_LANES])
{
    uint32_t check = 0;
    for (uint32_t lane = 0; lane < WCODEC_LANES; lane++) {
        uint32_t h = (uint32_t)sums[lane] * 0x9E3779B1u + (uint32_t)(sums[lane] >> 32) * 0x85EBCA77u + lane * 0xC2B2AE3Du;
        h ^= h >> 16;
        h *= 0x7FEB352Du;
        h ^= h >> 15;
        h *= 0x846CA68Bu;
        h ^= h >> 16;
        check += h;
    }
    return check;
}

uint32_t wcodec_tile_check(const void *data, uint32_t elements, unsigned element_log2)
{
    uint64_t sums[WCODEC_LANES];
    wcodec_tile_check_sums(data, elements, element_log2, sums);
    return wcodec_tile_check_finish(sums);
}
