/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The NEON level of AArch64: the symbols. elements_neon.c has the other stages. */
#include "backends/cpu/arm/vec_neon.h"

#include "backends/cpu/expand.h"
#include "backends/cpu/traffic.h"

_Alignas(64) static const uint8_t expand[256][16] = {EXPAND_256(EXPAND_ROW)};

#define COUNT_ROW(m) (uint8_t) __builtin_popcount(m)
static const uint8_t taken[256] = {EXPAND_256(COUNT_ROW)};

/* The slot's upper half selects a rank, its lower half is compared with where further ranks
 * begin. */
struct ranked {
    uint8x16_t first, bounds[WCODEC_CPU_BOUNDS], freq, start, symbol;
};

/* Low and high halves of the states, eight lanes each. */
struct p8_lanes {
    uint16x8_t low[4], high[4];
    const uint8_t *words;
};

INLINE void load_ranked(const struct wcodec_cpu_table *t, struct ranked *r)
{
    r->first = vld1q_u8(t->rank_first);
    for (unsigned i = 0; i < WCODEC_CPU_BOUNDS; i++)
        r->bounds[i] = vld1q_u8(t->rank_bounds[i]);
    r->freq = vld1q_u8(t->rank_freq);
    r->start = vld1q_u8(t->rank_start);
    r->symbol = vld1q_u8(t->rank_symbol);
}

/* Rank, frequency and bias for 16 slots. */
INLINE uint8x16_t p8_symbol(const struct ranked *t, unsigned bounds, uint8x16_t slot,
                            uint8x16_t *freq, uint8x16_t *bias)
{
    const uint8x16_t block = vshrq_n_u8(slot, 4), within = vandq_u8(slot, vdupq_n_u8(15));
    uint8x16_t rank = vqtbl1q_u8(t->first, block);
    for (unsigned i = 0; i < bounds; i++)
        rank = vsubq_u8(rank, vcgtq_u8(within, vqtbl1q_u8(t->bounds[i], block)));
    *freq = vqtbl1q_u8(t->freq, rank);
    *bias = vsubq_u8(slot, vqtbl1q_u8(t->start, rank));
    return rank;
}

/* f times the upper bytes of v, and bias: 16 lanes. */
INLINE void multiply_upper(uint8x16_t f, uint8x16_t upper, uint8x16_t bias, uint16x8_t out[2])
{
    out[0] = vmlal_u8(vmovl_u8(vget_low_u8(bias)), vget_low_u8(f), vget_low_u8(upper));
    out[1] = vmlal_high_u8(vmovl_high_u8(bias), f, upper);
}

INLINE uint8x16_t lower_bytes(const uint16x8_t v[2])
{
    return vuzp1q_u8(vreinterpretq_u8_u16(v[0]), vreinterpretq_u8_u16(v[1]));
}

INLINE uint8x16_t upper_bytes(const uint16x8_t v[2])
{
    return vuzp2q_u8(vreinterpretq_u8_u16(v[0]), vreinterpretq_u8_u16(v[1]));
}

/* Lanes whose upper half is zero take the next words: the lower half moves up. */
INLINE void renormalise_halves(uint16x8_t *low, uint16x8_t *high, const uint8_t **words)
{
    const uint16x8_t zero = vceqzq_u16(*high);
    const unsigned refill = mask16(FROM_u16(zero));
    const uint8x16_t next = vqtbl1q_u8(vld1q_u8(*words), vld1q_u8(expand[refill]));
    *high = vorrq_u16(*high, vandq_u16(*low, zero));
    *low = vorrq_u16(vbicq_u16(*low, zero), vreinterpretq_u16_u8(next));
    *words += 2 * taken[refill];
}

/* Two symbols of 16 lanes: with x = 2^16 high + low, P = f1 (low / 2^8) + bias1 has the second slot
 * in its low byte, and x'' = f1 f2 high + f2 (P / 2^8) + bias2. */
INLINE void p8_two_symbols(const struct ranked *t, unsigned bounds, uint16x8_t low[2],
                           uint16x8_t high[2], uint8x16_t *first, uint8x16_t *second)
{
    uint8x16_t f1, f2, b1, b2;
    uint16x8_t p[2], b[2];
    *first = p8_symbol(t, bounds, lower_bytes(low), &f1, &b1);
    multiply_upper(f1, upper_bytes(low), b1, p);
    *second = p8_symbol(t, bounds, lower_bytes(p), &f2, &b2);
    multiply_upper(f2, upper_bytes(p), b2, b);
    const uint16x8_t f[2] = {vmull_u8(vget_low_u8(f1), vget_low_u8(f2)), vmull_high_u8(f1, f2)};
    for (unsigned i = 0; i < 2; i++) {
        const uint32x4_t x0 = vmlal_u16(vmovl_u16(vget_low_u16(b[i])), vget_low_u16(f[i]),
                                        vget_low_u16(high[i])),
                         x1 = vmlal_high_u16(vmovl_high_u16(b[i]), f[i], high[i]);
        low[i] = vuzp1q_u16(vreinterpretq_u16_u32(x0), vreinterpretq_u16_u32(x1));
        high[i] = vuzp2q_u16(vreinterpretq_u16_u32(x0), vreinterpretq_u16_u32(x1));
    }
}

/* One stream; bounds is a constant where this is inlined. */
INLINE void p8(struct wcodec_cpu_stream *stream, unsigned groups, unsigned bounds)
{
    struct ranked table;
    struct p8_lanes s = {.words = stream->words};
    load_ranked(stream->table, &table);
    for (unsigned i = 0; i < 4; i++) {
        const uint16x8_t a = vreinterpretq_u16_u32(vld1q_u32(stream->x + 8 * i)),
                         b = vreinterpretq_u16_u32(vld1q_u32(stream->x + 8 * i + 4));
        s.low[i] = vuzp1q_u16(a, b);
        s.high[i] = vuzp2q_u16(a, b);
    }
    for (unsigned g = 0; g < groups; g++, stream->symbols += WCODEC_GROUP) {
        uint8x16_t rank[2][4];
        wcodec_cpu_traffic(stream, s.words, g);
        for (unsigned position = 0; position < 4; position += 2) {
            for (unsigned half = 0; half < 2; half++)
                p8_two_symbols(&table, bounds, s.low + 2 * half, s.high + 2 * half,
                               &rank[half][position], &rank[half][position + 1]);
            for (unsigned i = 0; i < 4; i++)
                renormalise_halves(&s.low[i], &s.high[i], &s.words);
        }
        for (unsigned half = 0; half < 2; half++) {
            uint8x16x4_t out;
            for (unsigned position = 0; position < 4; position++)
                out.val[position] = vqtbl1q_u8(table.symbol, rank[half][position]);
            vst4q_u8(stream->symbols + 64 * half, out);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        vst1q_u32(stream->x + 8 * i, vreinterpretq_u32_u16(vzip1q_u16(s.low[i], s.high[i])));
        vst1q_u32(stream->x + 8 * i + 4, vreinterpretq_u32_u16(vzip2q_u16(s.low[i], s.high[i])));
    }
    stream->words = s.words;
}

INLINE void p8_ranked(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                      unsigned bounds)
{
    for (unsigned i = 0; i < count; i++)
        p8(streams + i, groups, bounds);
}

INLINE void renormalise(vec x[2], const uint8_t **words)
{
    const uint32x4_t least = vdupq_n_u32(1u << 16),
                     low[2] = {vcltq_u32(AS_u32(x[0]), least), vcltq_u32(AS_u32(x[1]), least)};
    const unsigned refill = mask16(pack32(FROM_u32(low[0]), FROM_u32(low[1])));
    const uint16x8_t next = AS_u16(shuffle_part(load(*words), expand[refill]));
    const uint32x4_t taken_words[2] = {vmovl_u16(vget_low_u16(next)), vmovl_high_u16(next)};
    for (unsigned i = 0; i < 2; i++)
        x[i] = bit_or(blend(FROM_u32(low[i]), SHL32(x[i], 16), x[i]), FROM_u32(taken_words[i]));
    *words += 2 * taken[refill];
}

enum { PAIRS_TILES = 1 };

#include "backends/cpu/gathered.h"

void wcodec_cpu_dsp_init_neon(struct wcodec_cpu_dsp *dsp)
{
    dsp->level = 4;
    use_gathered(dsp);
    wcodec_cpu_dsp_init_neon_elements(dsp);
}
