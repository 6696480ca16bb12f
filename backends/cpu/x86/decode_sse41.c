/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level (with SSSE3 and POPCNT): the symbols. elements_sse41.c has the other stages. */
#include "backends/cpu/x86/vec128.h"

#include "backends/cpu/expand.h"
#include "backends/cpu/traffic.h"

_Alignas(64) static const uint8_t expand[256][16] = {EXPAND_256(EXPAND_ROW)};

/* Lanes 0 to 7 and 8 to 15. */
INLINE vec join_bytes(const vec v[2])
{
    return pack16(bit_and(v[0], set16(0xff)), bit_and(v[1], set16(0xff)));
}

INLINE void split_bytes(vec v, vec to[2])
{
    to[0] = zip_low8(v, zero());
    to[1] = zip_high8(v, zero());
}

#include "backends/cpu/x86/ranked.h"

/* The lanes of refill take the next words. */
INLINE void take_words(vec *low, unsigned refill, const uint8_t **words)
{
    *low = bit_or(*low, shuffle_part(load(*words), expand[refill]));
    *words += 2 * count_bits(refill);
}

/* Two symbols of 16 lanes. */
INLINE void p8_step(const struct ranked *t, unsigned bounds, vec low[2], vec high[2],
                    const uint8_t **words, vec *first, vec *second)
{
    vec lanes[2];
    p8_advance(t, bounds, low, high, lanes, first, second);
    const unsigned refill = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(lanes[0], lanes[1]));
    take_words(&low[0], refill & 0xff, words);
    take_words(&low[1], refill >> 8, words);
}

/* One stream; bounds is a constant where this is inlined. */
INLINE void p8(struct wcodec_cpu_stream *stream, unsigned groups, unsigned bounds)
{
    struct ranked table;
    vec low[4], high[4];
    const uint8_t *words = stream->words;
    uint16_t half[2][WCODEC_LANES];
    load_ranked(stream->table, bounds, &table);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        half[0][lane] = (uint16_t)stream->x[lane];
        half[1][lane] = (uint16_t)(stream->x[lane] >> 16);
    }
    for (unsigned i = 0; i < 4; i++) {
        low[i] = load(half[0] + 8 * i);
        high[i] = load(half[1] + 8 * i);
    }
    for (unsigned g = 0; g < groups; g++, stream->symbols += WCODEC_GROUP) {
        vec rank[2][4];
        wcodec_cpu_traffic(stream, words, g);
        for (unsigned position = 0; position < 4; position += 2)
            for (unsigned h = 0; h < 2; h++)
                p8_step(&table, bounds, low + 2 * h, high + 2 * h, &words, &rank[h][position],
                        &rank[h][position + 1]);
        for (unsigned h = 0; h < 2; h++)
            put_symbols(&table, stream->symbols + 64 * h, rank[h]);
    }
    for (unsigned i = 0; i < 4; i++) {
        store(stream->x + 8 * i, zip_low16(low[i], high[i]));
        store(stream->x + 8 * i + 4, zip_high16(low[i], high[i]));
    }
    stream->words = words;
}

INLINE void p8_ranked(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                      unsigned bounds)
{
    for (unsigned i = 0; i < count; i++)
        p8(streams + i, groups, bounds);
}

INLINE void renormalise(vec x[2], const uint8_t **words)
{
    const vec none = zero(), low[2] = {_mm_cmpeq_epi32(SHR32(x[0], 16), none),
                                       _mm_cmpeq_epi32(SHR32(x[1], 16), none)};
    const unsigned refill =
        (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low[0], low[1]), none));
    const vec taken = shuffle_part(load(*words), expand[refill]);
    x[0] = bit_or(blend(low[0], SHL32(x[0], 16), x[0]), zip_low16(taken, none));
    x[1] = bit_or(blend(low[1], SHL32(x[1], 16), x[1]), zip_high16(taken, none));
    *words += 2 * count_bits(refill);
}

enum { PAIRS_TILES = 1 };

#include "backends/cpu/gathered.h"

void wcodec_cpu_dsp_init_sse41(struct wcodec_cpu_dsp *dsp)
{
    dsp->level = 1;
    use_gathered(dsp);
    wcodec_cpu_dsp_init_sse41_elements(dsp);
}
