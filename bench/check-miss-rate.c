/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How often the tile check misses damage: check-miss-rate [TRIALS] The 2^-32 of a 32-bit check
 * cannot be counted in trials that a desk machine makes, so besides all 32 bits its low 20 and its
 * high 20 bits are compared: both should miss one in 2^20. */
#include "bench/random.h"
#include "coding/tile.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 4096, BYTES = 2 * ELEMENTS };

static void flip(uint8_t *data)
{
    const uint64_t bit = random_next() % (8 * BYTES);
    data[bit >> 3] ^= (uint8_t)(1 << (bit & 7));
}

static void damage(uint8_t *data, int kind)
{
    const size_t at = random_next() % (BYTES - 64), to = random_next() % (BYTES - 64);
    uint8_t word[64];
    switch (kind) {
    case 0: /* one flip */
        flip(data);
        break;
    case 1: /* two flips */
        flip(data);
        flip(data);
        break;
    case 2: /* four flips */
        for (int i = 0; i < 4; i++)
            flip(data);
        break;
    case 3: /* one byte */
        data[at] = (uint8_t)random_next();
        break;
    case 4: /* 64 bytes of noise */
        for (int i = 0; i < 64; i++)
            data[at + (size_t)i] = (uint8_t)random_next();
        break;
    case 5: /* two words of 4 bytes in each other's place */
        memcpy(word, data + at / 4 * 4, 4);
        memcpy(data + at / 4 * 4, data + to / 4 * 4, 4);
        memcpy(data + to / 4 * 4, word, 4);
        break;
    default: /* a word more and one less by the same, as an exclusive or or a sum would miss it */
        data[at / 4 * 4]++;
        data[to / 4 * 4]--;
    }
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"one flip",        "two flips", "four flips",
                                        "one byte",        "64 bytes",  "two words swapped",
                                        "one up, one down"};
    const uint64_t trials = argc > 1 ? strtoull(argv[1], NULL, 0) : 4000000;
    static uint8_t data[BYTES], bad[BYTES];
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i & 1 ? 0x3c | random_next() % 3 : random_next());
    const uint32_t right = wcodec_tile_check(data, ELEMENTS, 1);
    printf("%" PRIu64 " trials each; one in 2^20 would be %.2f\n", trials,
           (double)trials / (1 << 20));
    for (int kind = 0; kind < 7; kind++) {
        uint64_t missed = 0, low = 0, high = 0, changed = 0;
        for (uint64_t i = 0; i < trials; i++) {
            memcpy(bad, data, BYTES);
            damage(bad, kind);
            if (memcmp(bad, data, BYTES) == 0)
                continue;
            const uint32_t difference = wcodec_tile_check(bad, ELEMENTS, 1) ^ right;
            changed++;
            missed += difference == 0;
            low += (difference & 0xfffff) == 0;
            high += difference >> 12 == 0;
        }
        printf("%-18s changed %9" PRIu64 ", missed by 32 bits %" PRIu64 ", by the low 20 %" PRIu64
               ", by the high 20 %" PRIu64 "\n",
               kinds[kind], changed, missed, low, high);
    }
    return 0;
}
