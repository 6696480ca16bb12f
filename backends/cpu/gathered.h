/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The first stage of any table and profile, over what a level gives before it includes this: states
 * as vectors of GATHER_LANES 32-bit lanes, table entries by
 * single loads. (A gather instruction is no faster on AVX2, and much slower on many machines.)
 *
 *   vec, set_words(u32), load(p), store(p, v), both(a, b), either(a, b), left(v, n), right(v, n),
 *   multiply_add(a, b, c): a * b + c, add_bytes(a, b)
 *   gather(entries, index)
 *   renormalise(x, words)  eight lanes, in 8 / GATHER_LANES vectors */
#ifndef WCODEC_CPU_GATHERED_H
#define WCODEC_CPU_GATHERED_H

#include "backends/cpu/traffic.h"

enum { GATHER_VECTORS = WCODEC_LANES / GATHER_LANES };

/* One symbol of a vector's lanes, its entry in the form of the profile. */
INLINE vec gather_step(const uint32_t *entries, unsigned profile, vec *x)
{
    const vec mask = set_words(profile == WCODEC_P8 ? 0xff : 0xfff),
              e = gather(entries, both(*x, mask));
    if (profile == WCODEC_P8)
        *x = multiply_add(right(e, 16), right(*x, 8), both(right(e, 8), mask));
    else
        *x = multiply_add(right(e, 20), right(*x, 12), both(e, mask));
    return e;
}

/* The symbols of a vector's lanes, four bytes each. */
INLINE vec join_symbols(unsigned profile, const vec e[4], unsigned base)
{
    const vec byte = set_words(0xff);
    if (profile == WCODEC_PAIRS) {
        const vec symbols =
            either(both(right(e[0], 12), byte), both(left(e[2], 4), set_words(0xff0000)));
        return add_bytes(both(either(symbols, left(symbols, 4)), set_words(0x0f0f0f0f)),
                         set_words(base * 0x01010101u));
    }
    const unsigned at = profile == WCODEC_P8 ? 0 : 12;
    const vec a = both(right(e[0], at), byte), b = both(right(e[1], at), byte),
              c = both(right(e[2], at), byte), d = right(e[3], at);
    return either(either(a, left(b, 8)), either(left(c, 16), left(d, 24)));
}

INLINE void decode_gathered(struct wcodec_cpu_stream *stream, unsigned groups, unsigned profile)
{
    const struct wcodec_cpu_table *table = stream->table;
    const uint32_t *entries = profile == WCODEC_P8 ? table->slots : table->entries;
    const uint8_t *words = stream->words;
    vec x[GATHER_VECTORS];
    for (unsigned k = 0; k < GATHER_VECTORS; k++)
        x[k] = load(stream->x + GATHER_LANES * k);
    for (unsigned g = 0; g < groups; g++) {
        vec e[GATHER_VECTORS][4];
        wcodec_cpu_traffic(stream, words, g);
#pragma GCC unroll 4
        for (unsigned place = 0; place < 4; place += profile == WCODEC_P12 ? 1 : 2) {
#pragma GCC unroll 8
            for (unsigned k = 0; k < GATHER_VECTORS; k++) {
                e[k][place] = gather_step(entries, profile, &x[k]);
                if (profile == WCODEC_P8)
                    e[k][place + 1] = gather_step(entries, profile, &x[k]);
            }
#pragma GCC unroll 8
            for (unsigned k = 0; k < GATHER_VECTORS; k += 8 / GATHER_LANES)
                renormalise(x + k, &words);
        }
        for (unsigned k = 0; k < GATHER_VECTORS; k++)
            store(stream->symbols + g * WCODEC_GROUP + 4 * GATHER_LANES * k,
                  join_symbols(profile, e[k], table->base));
    }
    for (unsigned k = 0; k < GATHER_VECTORS; k++)
        store(stream->x + GATHER_LANES * k, x[k]);
    stream->words = words;
    wcodec_cpu_advance(stream, groups);
}

static void symbols_p12(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++)
        decode_gathered(streams + i, groups, WCODEC_P12);
}

static void symbols_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++)
        decode_gathered(streams + i, groups, WCODEC_PAIRS);
}

#endif
