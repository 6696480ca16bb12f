/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level (with SSSE3 and POPCNT): the symbols. sse41_elements.c has the other stages. */
#include "backends/cpu/expand.h"
#include "backends/cpu/traffic.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

_Alignas(64) static const uint8_t expand[256][16] = {EXPAND_256(EXPAND_ROW)};

INLINE __m128i load(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE void store(void *p, __m128i v)
{
    _mm_storeu_si128(p, v);
}

/* The slot's upper half selects a rank, its lower half is compared with where further ranks begin.
 */
struct ranked {
    __m128i first, bounds[WCODEC_CPU_BOUNDS], freq, start, symbol;
};

/* Low and high halves of the states, eight lanes each. */
struct p8_lanes {
    __m128i low[4], high[4];
    const uint8_t *words;
};

INLINE void load_ranked(const struct wcodec_cpu_table *t, unsigned bounds, struct ranked *r)
{
    r->first = load(t->rank_first);
    for (unsigned i = 0; i < bounds; i++)
        r->bounds[i] = load(t->rank_bounds[i]);
    r->freq = load(t->rank_freq);
    r->start = load(t->rank_start);
    r->symbol = load(t->rank_symbol);
}

/* For the low bytes of 8 + 8 lanes: rank, and frequency and bias in 16 bits. */
INLINE __m128i p8_symbol(const struct ranked *t, unsigned bounds, const __m128i v[2],
                         __m128i freq[2], __m128i bias[2])
{
    const __m128i low_byte = _mm_set1_epi16(0xff), low_nibble = _mm_set1_epi8(0x0f),
                  zero = _mm_setzero_si128();
    const __m128i slot =
        _mm_packus_epi16(_mm_and_si128(v[0], low_byte), _mm_and_si128(v[1], low_byte));
    const __m128i block = _mm_and_si128(_mm_srli_epi16(slot, 4), low_nibble),
                  within = _mm_and_si128(slot, low_nibble);
    __m128i rank = _mm_shuffle_epi8(t->first, block);
    for (unsigned i = 0; i < bounds; i++)
        rank = _mm_sub_epi8(rank, _mm_cmpgt_epi8(within, _mm_shuffle_epi8(t->bounds[i], block)));
    const __m128i f = _mm_shuffle_epi8(t->freq, rank),
                  b = _mm_sub_epi8(slot, _mm_shuffle_epi8(t->start, rank));
    freq[0] = _mm_unpacklo_epi8(f, zero);
    freq[1] = _mm_unpackhi_epi8(f, zero);
    bias[0] = _mm_unpacklo_epi8(b, zero);
    bias[1] = _mm_unpackhi_epi8(b, zero);
    return rank;
}

/* The lanes of refill take the next words. */
INLINE void take_words(__m128i *low, unsigned refill, const uint8_t **words)
{
    *low = _mm_or_si128(*low, _mm_shuffle_epi8(load(*words), load(expand[refill])));
    *words += 2 * _mm_popcnt_u32(refill);
}

/* Two symbols of 16 lanes: with x = 2^16 high + low, P = f1 (low / 2^8) + bias1 has the second slot
 * in its low byte, and x'' = f1 f2 high + f2 (P / 2^8) + bias2, all in 16-bit products. Then a
 * renormalisation. */
INLINE void p8_step(const struct ranked *t, unsigned bounds, __m128i low[2], __m128i high[2],
                    const uint8_t **words, __m128i *first, __m128i *second)
{
    __m128i f1[2], f2[2], b1[2], b2[2], p[2], zero[2];
    *first = p8_symbol(t, bounds, low, f1, b1);
    for (unsigned i = 0; i < 2; i++)
        p[i] = _mm_add_epi16(_mm_mullo_epi16(f1[i], _mm_srli_epi16(low[i], 8)), b1[i]);
    *second = p8_symbol(t, bounds, p, f2, b2);
    for (unsigned i = 0; i < 2; i++) {
        const __m128i b = _mm_add_epi16(_mm_mullo_epi16(f2[i], _mm_srli_epi16(p[i], 8)), b2[i]),
                      f = _mm_mullo_epi16(f1[i], f2[i]);
        const __m128i sum = _mm_add_epi16(_mm_mullo_epi16(f, high[i]), b),
                      no_carry = _mm_cmpeq_epi16(_mm_max_epu16(sum, b), sum);
        const __m128i carried =
            _mm_sub_epi16(_mm_add_epi16(_mm_mulhi_epu16(f, high[i]), no_carry), _mm_set1_epi16(-1));
        zero[i] = _mm_cmpeq_epi16(carried, _mm_setzero_si128());
        high[i] = _mm_or_si128(carried, _mm_and_si128(sum, zero[i]));
        low[i] = _mm_andnot_si128(zero[i], sum);
    }
    const unsigned refill = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(zero[0], zero[1]));
    take_words(&low[0], refill & 0xff, words);
    take_words(&low[1], refill >> 8, words);
}

/* Ranks of four places, 16 lanes each -> 64 symbols in the order of elements. */
INLINE void put_half_group(const struct ranked *t, uint8_t *symbols, const __m128i rank[4])
{
    const __m128i s0 = _mm_shuffle_epi8(t->symbol, rank[0]),
                  s1 = _mm_shuffle_epi8(t->symbol, rank[1]),
                  s2 = _mm_shuffle_epi8(t->symbol, rank[2]),
                  s3 = _mm_shuffle_epi8(t->symbol, rank[3]);
    const __m128i a = _mm_unpacklo_epi8(s0, s1), b = _mm_unpackhi_epi8(s0, s1),
                  c = _mm_unpacklo_epi8(s2, s3), d = _mm_unpackhi_epi8(s2, s3);
    store(symbols, _mm_unpacklo_epi16(a, c));
    store(symbols + 16, _mm_unpackhi_epi16(a, c));
    store(symbols + 32, _mm_unpacklo_epi16(b, d));
    store(symbols + 48, _mm_unpackhi_epi16(b, d));
}

/* One stream; bounds is a constant where this is inlined. */
INLINE void p8(struct wcodec_cpu_stream *stream, unsigned groups, unsigned bounds)
{
    struct ranked table;
    struct p8_lanes s = {.words = stream->words};
    uint16_t half[2][WCODEC_LANES];
    load_ranked(stream->table, bounds, &table);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        half[0][lane] = (uint16_t)stream->x[lane];
        half[1][lane] = (uint16_t)(stream->x[lane] >> 16);
    }
    for (unsigned i = 0; i < 4; i++) {
        s.low[i] = load(half[0] + 8 * i);
        s.high[i] = load(half[1] + 8 * i);
    }
    for (unsigned g = 0; g < groups; g++, stream->symbols += WCODEC_GROUP) {
        __m128i rank[2][4];
        wcodec_cpu_traffic(stream, s.words, g);
        for (unsigned place = 0; place < 4; place += 2)
            for (unsigned h = 0; h < 2; h++)
                p8_step(&table, bounds, s.low + 2 * h, s.high + 2 * h, &s.words, &rank[h][place],
                        &rank[h][place + 1]);
        for (unsigned h = 0; h < 2; h++)
            put_half_group(&table, stream->symbols + 64 * h, rank[h]);
    }
    for (unsigned i = 0; i < 4; i++) {
        store(stream->x + 8 * i, _mm_unpacklo_epi16(s.low[i], s.high[i]));
        store(stream->x + 8 * i + 4, _mm_unpackhi_epi16(s.low[i], s.high[i]));
    }
    stream->words = s.words;
}

typedef __m128i vec;

INLINE vec set_words(uint32_t word)
{
    return _mm_set1_epi32((int)word);
}

INLINE vec both(vec a, vec b)
{
    return _mm_and_si128(a, b);
}

INLINE vec either(vec a, vec b)
{
    return _mm_or_si128(a, b);
}

INLINE vec left(vec v, unsigned n)
{
    return _mm_slli_epi32(v, (int)n);
}

INLINE vec right(vec v, unsigned n)
{
    return _mm_srli_epi32(v, (int)n);
}

INLINE vec multiply_add(vec a, vec b, vec c)
{
    return _mm_add_epi32(_mm_mullo_epi32(a, b), c);
}

INLINE vec add_bytes(vec a, vec b)
{
    return _mm_add_epi8(a, b);
}

INLINE vec gather(const uint32_t *entries, vec index)
{
    const uint64_t a = (uint64_t)_mm_cvtsi128_si64(index),
                   b = (uint64_t)_mm_extract_epi64(index, 1);
    const vec v =
        _mm_insert_epi32(_mm_cvtsi32_si128((int)entries[(uint32_t)a]), (int)entries[a >> 32], 1);
    return _mm_insert_epi32(_mm_insert_epi32(v, (int)entries[(uint32_t)b], 2),
                            (int)entries[b >> 32], 3);
}

INLINE void renormalise(vec x[2], const uint8_t **words)
{
    const vec zero = _mm_setzero_si128(), low[2] = {_mm_cmpeq_epi32(right(x[0], 16), zero),
                                                    _mm_cmpeq_epi32(right(x[1], 16), zero)};
    const unsigned refill =
        (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low[0], low[1]), zero));
    const vec taken = _mm_shuffle_epi8(load(*words), load(expand[refill]));
    x[0] = either(_mm_blendv_epi8(x[0], left(x[0], 16), low[0]), _mm_unpacklo_epi16(taken, zero));
    x[1] = either(_mm_blendv_epi8(x[1], left(x[1], 16), low[1]), _mm_unpackhi_epi16(taken, zero));
    *words += 2 * _mm_popcnt_u32(refill);
}

#define GATHER_LANES 4
#include "backends/cpu/gathered.h"

static void symbols_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++) {
        const unsigned bounds = streams[i].table->ranks_bounds;
        if (bounds <= 1)
            p8(streams + i, groups, 1);
        else if (bounds == 2)
            p8(streams + i, groups, 2);
        else if (bounds <= WCODEC_CPU_BOUNDS)
            p8(streams + i, groups, 3);
        else
            decode_gathered(streams + i, groups, WCODEC_P8);
    }
}

void wcodec_cpu_dsp_init_sse41(struct wcodec_cpu_dsp *dsp)
{
    dsp->level = 1;
    dsp->symbols[WCODEC_P8] = symbols_p8;
    dsp->symbols[WCODEC_P12] = symbols_p12;
    dsp->symbols[WCODEC_PAIRS] = symbols_pairs;
    wcodec_cpu_dsp_init_sse41_elements(dsp);
}
