/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* P8 with tables in registers of 16 or 32 bytes: the slot's upper half selects a rank, its lower
 * half is compared with where further ranks begin. The level gives
 *
 *   join_bytes(v)       the low bytes of two registers of 16-bit lanes
 *   split_bytes(v, to)  the same bytes in 16 bits again */
#ifndef WCODEC_CPU_X86_RANKED_H
#define WCODEC_CPU_X86_RANKED_H

#include "backends/cpu/decode.h"

struct ranked {
    vec first, bounds[WCODEC_CPU_BOUNDS], freq, start, symbol;
};

INLINE void load_ranked(const struct wcodec_cpu_table *t, unsigned bounds, struct ranked *r)
{
    r->first = repeat(t->rank_first);
    for (unsigned i = 0; i < bounds; i++)
        r->bounds[i] = repeat(t->rank_bounds[i]);
    r->freq = repeat(t->rank_freq);
    r->start = repeat(t->rank_start);
    r->symbol = repeat(t->rank_symbol);
}

/* For the low bytes of two registers of lanes: ranks, and frequency and bias in 16 bits. */
INLINE vec p8_symbol(const struct ranked *t, unsigned bounds, const vec v[2], vec freq[2],
                     vec bias[2])
{
    const vec slot = join_bytes(v), block = bit_and(SHR16(slot, 4), set8(15)),
              within = bit_and(slot, set8(15));
    vec rank = shuffle(t->first, block);
    for (unsigned i = 0; i < bounds; i++)
        rank = sub8(rank, above8(within, shuffle(t->bounds[i], block)));
    split_bytes(shuffle(t->freq, rank), freq);
    split_bytes(sub8(slot, shuffle(t->start, rank)), bias);
    return rank;
}

/* Two symbols: with x = 2^16 high + low, P = f1 (low / 2^8) + bias1 has the second slot in its low
 * byte, and x'' = f1 f2 high + f2 (P / 2^8) + bias2, all in 16-bit products. Then the lower half of
 * states below 2^16 moves up; these are the lanes in `refill`, which take words. */
INLINE void p8_advance(const struct ranked *t, unsigned bounds, vec low[2], vec high[2],
                       vec refill[2], vec *first, vec *second)
{
    vec f1[2], f2[2], b1[2], b2[2], p[2];
    *first = p8_symbol(t, bounds, low, f1, b1);
    for (unsigned i = 0; i < 2; i++)
        p[i] = add16(mul16(f1[i], SHR16(low[i], 8)), b1[i]);
    *second = p8_symbol(t, bounds, p, f2, b2);
    for (unsigned i = 0; i < 2; i++) {
        const vec b = add16(mul16(f2[i], SHR16(p[i], 8)), b2[i]), f = mul16(f1[i], f2[i]),
                  sum = add16(mul16(f, high[i]), b), no_carry = not_below16(sum, b),
                  carried = sub16(add16(mul16_high(f, high[i]), no_carry), set16(0xffff));
        refill[i] = equal16(carried, zero());
        high[i] = bit_or(carried, bit_and(sum, refill[i]));
        low[i] = bit_clear(sum, refill[i]);
    }
}

/* Ranks of the four elements of each lane -> their symbols, 16 of four lanes in each part. */
INLINE void order_symbols(const struct ranked *t, const vec rank[4], vec v[4])
{
    const vec s0 = shuffle(t->symbol, rank[0]), s1 = shuffle(t->symbol, rank[1]),
              s2 = shuffle(t->symbol, rank[2]), s3 = shuffle(t->symbol, rank[3]);
    const vec a = zip_low8(s0, s1), b = zip_high8(s0, s1), c = zip_low8(s2, s3),
              d = zip_high8(s2, s3);
    v[0] = zip_low16(a, c);
    v[1] = zip_high16(a, c);
    v[2] = zip_low16(b, d);
    v[3] = zip_high16(b, d);
}

/* The same in the order of elements. */
INLINE void put_symbols(const struct ranked *t, uint8_t *symbols, const vec rank[4])
{
    vec v[4];
    order_symbols(t, rank, v);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k < VEC_BYTES / 16; k++)
            store_part(symbols + 64 * k + 16 * i, part_of(v[i], k));
}

#endif
