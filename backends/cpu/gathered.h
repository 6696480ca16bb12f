/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The first stage of any table and profile, over the vector operations that a level includes before
 * this: states as vectors of 32-bit lanes, table entries by single loads. The level gives
 *
 *   renormalise(x, words)                     eight lanes, in 8 / GATHER_LANES vectors
 *   p8_ranked(streams, count, groups, bounds)  P8 of tables whose ranks serve; bounds is a
 *                                              constant
 *   PAIRS_TILES                               most streams of pairs side by side */
#ifndef WCODEC_CPU_GATHERED_H
#define WCODEC_CPU_GATHERED_H

#include "backends/cpu/traffic.h"

enum { GATHER_LANES = VEC_BYTES / 4, GATHER_VECTORS = WCODEC_LANES / GATHER_LANES };

/* One symbol of a vector's lanes, its entry in the form of the profile. */
INLINE vec gather_step(const uint32_t *entries, unsigned profile, vec *x)
{
    const vec mask = set32(profile == WCODEC_P8 ? 0xff : 0xfff),
              e = gather(entries, bit_and(*x, mask));
    if (profile == WCODEC_P8)
        *x = add32(mul32(shr32(e, 16), shr32(*x, 8)), bit_and(shr32(e, 8), mask));
    else
        *x = add32(mul32(shr32(e, 20), shr32(*x, 12)), bit_and(e, mask));
    return e;
}

/* The symbols of a vector's lanes, four bytes each. */
INLINE vec join_symbols(unsigned profile, const vec e[4], unsigned base)
{
    const vec byte = set32(0xff);
    if (profile == WCODEC_PAIRS) {
        const vec symbols =
            bit_or(bit_and(shr32(e[0], 12), byte), bit_and(shl32(e[2], 4), set32(0xff0000)));
        return add8(bit_and(bit_or(symbols, shl32(symbols, 4)), set32(0x0f0f0f0f)),
                    set32(base * 0x01010101u));
    }
    const unsigned at = profile == WCODEC_P8 ? 0 : 12;
    const vec a = bit_and(shr32(e[0], at), byte), b = bit_and(shr32(e[1], at), byte),
              c = bit_and(shr32(e[2], at), byte), d = shr32(e[3], at);
    return bit_or(bit_or(a, shl32(b, 8)), bit_or(shl32(c, 16), shl32(d, 24)));
}

/* count and profile are constants where this is inlined. */
INLINE void decode_gathered(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                            unsigned profile)
{
    const uint8_t *words[WCODEC_CPU_TILES];
    vec x[WCODEC_CPU_TILES][GATHER_VECTORS];
    for (unsigned i = 0; i < count; i++) {
        words[i] = streams[i].words;
        for (unsigned k = 0; k < GATHER_VECTORS; k++)
            x[i][k] = load(streams[i].x + GATHER_LANES * k);
    }
    for (unsigned g = 0; g < groups; g++) {
        vec e[WCODEC_CPU_TILES][GATHER_VECTORS][4];
        for (unsigned i = 0; i < count; i++)
            wcodec_cpu_traffic(&streams[i], words[i], g);
#pragma GCC unroll 4
        for (unsigned position = 0; position < 4; position += profile == WCODEC_P12 ? 1 : 2) {
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++) {
                const struct wcodec_cpu_table *t = streams[i].table;
                const uint32_t *entries = profile == WCODEC_P8 ? t->slots : t->entries;
#pragma GCC unroll 8
                for (unsigned k = 0; k < GATHER_VECTORS; k++) {
                    e[i][k][position] = gather_step(entries, profile, &x[i][k]);
                    if (profile == WCODEC_P8)
                        e[i][k][position + 1] = gather_step(entries, profile, &x[i][k]);
                }
            }
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++)
#pragma GCC unroll 8
                for (unsigned k = 0; k < GATHER_VECTORS; k += 8 / GATHER_LANES)
                    renormalise(x[i] + k, &words[i]);
        }
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++)
            for (unsigned k = 0; k < GATHER_VECTORS; k++)
                store(streams[i].symbols + g * WCODEC_GROUP + 4 * GATHER_LANES * k,
                      join_symbols(profile, e[i][k], streams[i].table->base));
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < GATHER_VECTORS; k++)
            store(streams[i].x + GATHER_LANES * k, x[i][k]);
        streams[i].words = words[i];
        wcodec_cpu_advance(&streams[i], groups);
    }
}

static void symbols_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    const unsigned bounds = wcodec_cpu_most_bounds(streams, count);
    if (bounds <= 1)
        p8_ranked(streams, count, groups, 1);
    else if (bounds == 2)
        p8_ranked(streams, count, groups, 2);
    else if (bounds <= WCODEC_CPU_BOUNDS)
        p8_ranked(streams, count, groups, WCODEC_CPU_BOUNDS);
    else
        for (unsigned i = 0; i < count; i++)
            decode_gathered(streams + i, 1, groups, WCODEC_P8);
}

static void symbols_p12(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++)
        decode_gathered(streams + i, 1, groups, WCODEC_P12);
}

static void symbols_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    if (count == PAIRS_TILES)
        decode_gathered(streams, PAIRS_TILES, groups, WCODEC_PAIRS);
    else
        for (unsigned i = 0; i < count; i++)
            decode_gathered(streams + i, 1, groups, WCODEC_PAIRS);
}

INLINE void use_gathered(struct wcodec_cpu_dsp *dsp)
{
    dsp->lookup = WCODEC_CPU_BY_RANK;
    dsp->symbols[WCODEC_P8] = symbols_p8;
    dsp->symbols[WCODEC_P12] = symbols_p12;
    dsp->symbols[WCODEC_PAIRS] = symbols_pairs;
}

#endif
