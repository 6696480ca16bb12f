/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The end of the tile check (doc/format.md 2.6), for files that are compiled for more instructions
 * than others. */
#ifndef WCODEC_CODING_CHECK_MIX_H
#define WCODEC_CODING_CHECK_MIX_H

#include "coding/check_key.h"
#include "coding/tile.h"

/* The check from the sums of all lanes. */
static inline uint32_t wcodec_check_mix(const uint64_t sums[WCODEC_LANES])
{
    uint32_t check = 0;
    for (uint32_t lane = 0; lane < WCODEC_LANES; lane++) {
        uint32_t h = (uint32_t)sums[lane] * WCODEC_CHECK_LOW +
                     (uint32_t)(sums[lane] >> 32) * WCODEC_CHECK_HIGH + lane * WCODEC_CHECK_LANE;
        h ^= h >> 16;
        h *= WCODEC_CHECK_MIX1;
        h ^= h >> 15;
        h *= WCODEC_CHECK_MIX2;
        h ^= h >> 16;
        check += h;
    }
    return check;
}

#endif
