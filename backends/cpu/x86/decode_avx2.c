/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: the symbols. elements_avx2.c has the other stages. */
#include "backends/cpu/x86/vec256.h"

#include "backends/cpu/cpu_level.h"

#include "backends/cpu/expand.h"
#include "backends/cpu/traffic.h"

_Alignas(64) static const uint8_t expand[256][16] = {EXPAND_256(EXPAND_ROW)};
_Alignas(64) static const uint8_t expand_split[256][16] = {EXPAND_256(EXPAND_SPLIT_ROW)};

/* Even and odd lanes: bytes of both interleave to 32 lanes in order. */
INLINE vec join_bytes(const vec v[2])
{
    return bit_or(bit_and(v[0], set16(0xff)), SHL16(v[1], 8));
}

INLINE void split_bytes(vec v, vec to[2])
{
    to[0] = bit_and(v, set16(0xff));
    to[1] = SHR16(v, 8);
}

#include "backends/cpu/x86/ranked.h"

/* Low and high halves of the states, even and odd lanes apart. */
struct p8_lanes {
    vec low[2], high[2];
    const uint8_t *words;
};

INLINE void p8_step(const struct ranked *t, unsigned bounds, struct p8_lanes *s, vec *first,
                    vec *second)
{
    vec lanes[2];
    p8_advance(t, bounds, s->low, s->high, lanes, first, second);
    const uint32_t refill =
        (uint32_t)_mm256_movemask_epi8(blend(set16(0xff00), lanes[1], lanes[0]));
    const uint8_t *w0 = s->words, *w1 = w0 + 2 * count_bits(refill & 0xff),
                  *w2 = w0 + 2 * count_bits(refill & 0xffff),
                  *w3 = w0 + 2 * count_bits(refill & 0xffffff);
    const vec w02 = join_parts(load_part(w0), load_part(w2));
    const vec w13 = join_parts(load_part(w1), load_part(w3));
    const vec e02 = join_parts(load_part(expand_split[refill & 255]),
                               load_part(expand_split[refill >> 16 & 255]));
    const vec e13 = join_parts(load_part(expand_split[refill >> 8 & 255]),
                               load_part(expand_split[refill >> 24]));
    const vec a = shuffle(w02, e02), b = shuffle(w13, e13);
    s->low[0] = bit_or(s->low[0], zip_low64(a, b));
    s->low[1] = bit_or(s->low[1], zip_high64(a, b));
    s->words = w0 + 2 * count_bits(refill);
}

INLINE void load_states(const struct wcodec_cpu_stream *stream, struct p8_lanes *s)
{
    uint16_t half[2][2][16];
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        half[0][lane % 2][lane / 2] = (uint16_t)stream->x[lane];
        half[1][lane % 2][lane / 2] = (uint16_t)(stream->x[lane] >> 16);
    }
    for (unsigned i = 0; i < 2; i++) {
        s->low[i] = load(half[0][i]);
        s->high[i] = load(half[1][i]);
    }
    s->words = stream->words;
}

INLINE void store_states(struct wcodec_cpu_stream *stream, const struct p8_lanes *s)
{
    uint16_t half[2][2][16];
    for (unsigned i = 0; i < 2; i++) {
        store(half[0][i], s->low[i]);
        store(half[1][i], s->high[i]);
    }
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        stream->x[lane] = half[0][lane % 2][lane / 2] | (uint32_t)half[1][lane % 2][lane / 2] << 16;
    stream->words = s->words;
}

/* count and bounds are constants where this is inlined. */
INLINE void p8_side_by_side(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                            unsigned bounds)
{
    struct ranked table[WCODEC_CPU_TILES];
    struct p8_lanes lanes[WCODEC_CPU_TILES];
    for (unsigned i = 0; i < count; i++) {
        load_ranked(streams[i].table, bounds, &table[i]);
        load_states(&streams[i], &lanes[i]);
    }
    for (unsigned g = 0; g < groups; g++) {
        vec s[WCODEC_CPU_TILES][4];
        for (unsigned i = 0; i < count; i++)
            wcodec_cpu_traffic(&streams[i], lanes[i].words, g);
#pragma GCC unroll 2
        for (unsigned half = 0; half < 2; half++)
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++)
                p8_step(&table[i], bounds, &lanes[i], &s[i][2 * half], &s[i][2 * half + 1]);
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++)
            put_symbols(&table[i], streams[i].symbols + g * WCODEC_GROUP, s[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        store_states(&streams[i], &lanes[i]);
        wcodec_cpu_advance(&streams[i], groups);
    }
}

INLINE void p8_ranked(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                      unsigned bounds)
{
    if (count == 3)
        p8_side_by_side(streams, 3, groups, bounds);
    else if (count == 2)
        p8_side_by_side(streams, 2, groups, bounds);
    else
        for (unsigned i = 0; i < count; i++)
            p8_side_by_side(streams + i, 1, groups, bounds);
}

INLINE void renormalise(vec x[1], const uint8_t **words)
{
    const vec low = _mm256_cmpeq_epi32(SHR32(x[0], 16), zero());
    const uint32_t refill = (uint32_t)_mm256_movemask_ps(VEC_CAST_PS(low));
    const vec taken = _mm256_cvtepu16_epi32(shuffle_part(load_part(*words), expand[refill]));
    *words += 2 * (size_t)count_bits(refill);
    x[0] = bit_or(_mm256_sllv_epi32(x[0], bit_and(low, set32(16))), taken);
}

enum { PAIRS_TILES = 2 };

#include "backends/cpu/gathered.h"
#include "backends/cpu/x86/straight_avx2.h"

void wcodec_cpu_dsp_init_avx2(struct wcodec_cpu_dsp *dsp)
{
    dsp->level = 2;
    dsp->tiles[WCODEC_P8] = 2;
    dsp->tiles[WCODEC_P12] = dsp->tiles[WCODEC_PAIRS] = 1;
    use_gathered(dsp);
    wcodec_cpu_dsp_init_avx2_elements(dsp);
}

void wcodec_cpu_dsp_init_avx2_abreast(struct wcodec_cpu_dsp *dsp, uint32_t tuning)
{
    if ((tuning & WCODEC_CPU_ABREAST) != 0)
        dsp->tiles[WCODEC_P8] = 3;
    if ((tuning & WCODEC_CPU_ABREAST_PAIRS) != 0)
        dsp->tiles[WCODEC_PAIRS] = PAIRS_TILES;
}

void wcodec_cpu_dsp_init_avx2_straight(struct wcodec_cpu_dsp *dsp, uint32_t tuning)
{
    if ((tuning & WCODEC_CPU_STRAIGHT_RANKED) == 0)
        return;
    dsp->direct[WCODEC_P8][WCODEC_CPU_BF16] = p8_bf16;
    dsp->direct[WCODEC_P8][WCODEC_CPU_NIBBLE] = p8_nibble;
    dsp->whole[WCODEC_P8] = true;
}
