/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Counting symbols nearly all of which are in a window of 12 values, as exponents are: each value
 * is compared with all of them, which takes a quarter of a cycle a symbol where counters in memory
 * take two. Over the vector operations that a level includes before this, and
 *
 *   equal_bits(a, b)      a bit for each byte of a that b has in its place
 *   above_bits(a, b)      a bit for each byte of a that is above b's, unsigned */
#ifndef WCODEC_CPU_X86_COUNT_H
#define WCODEC_CPU_X86_COUNT_H

#include "backends/cpu/encode.h"

#include "coding/histogram.h"

enum { COUNT_WINDOW = 12, COUNT_AT_ONCE = 4, COUNT_LOOK = 256, COUNT_OUTSIDE = 16 };

/* The window of symbols that begin like these COUNT_LOOK ones; false: they need a wider one.
 * Exponents have few values above the most frequent one and more below it. */
static bool find_window(const uint8_t *symbols, uint8_t *base)
{
    unsigned top = 0, outside = 0;
    for (unsigned i = 0; i < COUNT_LOOK; i++)
        top = symbols[i] > top ? symbols[i] : top;
    top += top < 255;
    *base = (uint8_t)(top < COUNT_WINDOW ? 0 : top - (COUNT_WINDOW - 1));
    for (unsigned i = 0; i < COUNT_LOOK; i++)
        outside += symbols[i] < *base;
    return outside <= COUNT_OUTSIDE;
}

/* Whole vectors of symbols. */
static void count_window(const uint8_t *symbols, size_t count, uint8_t base, uint64_t counts[256])
{
    for (unsigned v = base; v < base + (unsigned)COUNT_WINDOW; v += COUNT_AT_ONCE) {
        uint64_t found[COUNT_AT_ONCE] = {0};
        for (size_t i = 0; i < count; i += VEC_BYTES) {
            const vec s = load(symbols + i);
#pragma GCC unroll 4
            for (unsigned k = 0; k < COUNT_AT_ONCE; k++)
                found[k] += (uint64_t)__builtin_popcountll(equal_bits(s, set8((uint8_t)(v + k))));
        }
        for (unsigned k = 0; k < COUNT_AT_ONCE; k++)
            counts[v + k] += found[k];
    }
    for (size_t i = 0; i < count; i += VEC_BYTES)
        for (uint64_t outside =
                 above_bits(sub8(load(symbols + i), set8(base)), set8(COUNT_WINDOW - 1));
             outside != 0; outside &= outside - 1)
            counts[symbols[i + (size_t)__builtin_ctzll(outside)]]++;
}

static void count_symbols(const uint8_t *symbols, size_t count, uint64_t counts[256])
{
    uint8_t base;
    size_t done = 0;
    while (count - done >= COUNT_LOOK && find_window(symbols + done, &base)) {
        const size_t left = count - done,
                     most = left < WCODEC_COUNT_BLOCK ? left : WCODEC_COUNT_BLOCK,
                     whole = most / VEC_BYTES * VEC_BYTES;
        count_window(symbols + done, whole, base, counts);
        done += whole;
    }
    wcodec_count_symbols(symbols + done, count - done, counts);
}

#endif
