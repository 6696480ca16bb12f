/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Random numbers by a counter: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", 2011. */
#ifndef WCODEC_RECURRENT_PHILOX_H
#define WCODEC_RECURRENT_PHILOX_H

#include <stdint.h>

enum { WCODEC_PHILOX_ROUNDS = 10 };

/* Four words of a counter; the key is the seed's lower and upper half. */
static inline void wcodec_philox4x32(uint64_t seed, const uint32_t counter[4], uint32_t words[4])
{
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    for (unsigned round = 0; round < WCODEC_PHILOX_ROUNDS; round++) {
        const uint64_t first = (uint64_t)0xD2511F53 * a, second = (uint64_t)0xCD9E8D57 * c;
        a = (uint32_t)(second >> 32) ^ b ^ low;
        b = (uint32_t)second;
        c = (uint32_t)(first >> 32) ^ d ^ high;
        d = (uint32_t)first;
        low += 0x9E3779B9;
        high += 0xBB67AE85;
    }
    words[0] = a;
    words[1] = b;
    words[2] = c;
    words[3] = d;
}

#endif
