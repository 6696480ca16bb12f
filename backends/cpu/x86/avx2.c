/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: the symbols. avx2_elements.c has the other stages. */
#include "backends/cpu/expand.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

_Alignas(64) static const uint8_t expand[256][16] = {EXPAND_256(EXPAND_ROW)};
_Alignas(64) static const uint8_t expand_split[256][16] = {EXPAND_256(EXPAND_SPLIT_ROW)};

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256(p);
}

INLINE __m128i load_half(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE void store(void *p, __m256i v)
{
    _mm256_storeu_si256(p, v);
}

#define PASS_BYTES 32
#define PASS(to, from) _mm256_stream_si256((__m256i *)(void *)(to), load(from))
#include "backends/cpu/traffic.h"

INLINE __m256i load_twice(const uint8_t bytes[16])
{
    return _mm256_broadcastsi128_si256(load_half(bytes));
}

/* P8 with tables in registers: the slot's upper half selects a rank, its lower half is compared
 * with where further ranks begin. */
struct ranked {
    __m256i first, bounds[WCODEC_CPU_BOUNDS], freq, start, symbol;
};

/* Low and high halves of the states, even and odd lanes apart: bytes of both interleave to 32 lanes
 * in order. */
struct p8_lanes {
    __m256i low[2], high[2];
    const uint8_t *words;
};

INLINE void load_ranked(const struct wcodec_cpu_table *t, unsigned bounds, struct ranked *r)
{
    r->first = load_twice(t->rank_first);
    for (unsigned i = 0; i < bounds; i++)
        r->bounds[i] = load_twice(t->rank_bounds[i]);
    r->freq = load_twice(t->rank_freq);
    r->start = load_twice(t->rank_start);
    r->symbol = load_twice(t->rank_symbol);
}

/* The low bytes of 16 + 16 lanes: rank, and frequency and bias spread to 16 bits again. */
INLINE __m256i p8_symbol(const struct ranked *t, unsigned bounds, const __m256i v[2],
                         __m256i freq[2], __m256i bias[2])
{
    const __m256i low_byte = _mm256_set1_epi16(0xff), low_nibble = _mm256_set1_epi8(0x0f);
    const __m256i slot =
        _mm256_or_si256(_mm256_and_si256(v[0], low_byte), _mm256_slli_epi16(v[1], 8));
    const __m256i block = _mm256_and_si256(_mm256_srli_epi16(slot, 4), low_nibble),
                  within = _mm256_and_si256(slot, low_nibble);
    __m256i rank = _mm256_shuffle_epi8(t->first, block);
    for (unsigned i = 0; i < bounds; i++)
        rank = _mm256_sub_epi8(rank,
                               _mm256_cmpgt_epi8(within, _mm256_shuffle_epi8(t->bounds[i], block)));
    const __m256i f = _mm256_shuffle_epi8(t->freq, rank),
                  b = _mm256_sub_epi8(slot, _mm256_shuffle_epi8(t->start, rank));
    freq[0] = _mm256_and_si256(f, low_byte);
    freq[1] = _mm256_srli_epi16(f, 8);
    bias[0] = _mm256_and_si256(b, low_byte);
    bias[1] = _mm256_srli_epi16(b, 8);
    return rank;
}

/* Two symbols: with x = 2^16 high + low, P = f1 (low / 2^8) + bias1 has the second slot in its low
 * byte, and x'' = f1 f2 high + f2 (P / 2^8) + bias2, all in 16-bit products. Then a
 * renormalisation. */
INLINE void p8_step(const struct ranked *t, unsigned bounds, struct p8_lanes *s, __m256i *first,
                    __m256i *second)
{
    __m256i f1[2], f2[2], b1[2], b2[2], p[2], zero[2];
    *first = p8_symbol(t, bounds, s->low, f1, b1);
    for (unsigned i = 0; i < 2; i++)
        p[i] = _mm256_add_epi16(_mm256_mullo_epi16(f1[i], _mm256_srli_epi16(s->low[i], 8)), b1[i]);
    *second = p8_symbol(t, bounds, p, f2, b2);
    for (unsigned i = 0; i < 2; i++) {
        const __m256i b = _mm256_add_epi16(_mm256_mullo_epi16(f2[i], _mm256_srli_epi16(p[i], 8)),
                                           b2[i]),
                      f = _mm256_mullo_epi16(f1[i], f2[i]);
        const __m256i low = _mm256_add_epi16(_mm256_mullo_epi16(f, s->high[i]), b),
                      carried = _mm256_mulhi_epu16(f, s->high[i]);
        const __m256i no_carry = _mm256_cmpeq_epi16(_mm256_max_epu16(low, b), low);
        const __m256i high =
            _mm256_sub_epi16(_mm256_add_epi16(carried, no_carry), _mm256_set1_epi16(-1));
        zero[i] = _mm256_cmpeq_epi16(high, _mm256_setzero_si256());
        s->high[i] = _mm256_or_si256(high, _mm256_and_si256(low, zero[i]));
        s->low[i] = _mm256_andnot_si256(zero[i], low);
    }
    const uint32_t refill = (uint32_t)_mm256_movemask_epi8(
        _mm256_blendv_epi8(zero[0], zero[1], _mm256_set1_epi16(-256)));
    const uint8_t *w0 = s->words, *w1 = w0 + 2 * _mm_popcnt_u32(refill & 0xff),
                  *w2 = w0 + 2 * _mm_popcnt_u32(refill & 0xffff),
                  *w3 = w0 + 2 * _mm_popcnt_u32(refill & 0xffffff);
    const __m256i w02 =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(w0)), load_half(w2), 1);
    const __m256i w13 =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(w1)), load_half(w3), 1);
    const __m256i e02 =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(expand_split[refill & 255])),
                                load_half(expand_split[refill >> 16 & 255]), 1);
    const __m256i e13 =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(expand_split[refill >> 8 & 255])),
                                load_half(expand_split[refill >> 24]), 1);
    const __m256i a = _mm256_shuffle_epi8(w02, e02), b = _mm256_shuffle_epi8(w13, e13);
    s->low[0] = _mm256_or_si256(s->low[0], _mm256_unpacklo_epi64(a, b));
    s->low[1] = _mm256_or_si256(s->low[1], _mm256_unpackhi_epi64(a, b));
    s->words = w0 + 2 * _mm_popcnt_u32(refill);
}

/* Ranks of the four places of a group, a byte a lane -> 128 symbols in the order of elements. */
INLINE void put_group(const struct ranked *t, uint8_t *symbols, const __m256i rank[4])
{
    const __m256i s0 = _mm256_shuffle_epi8(t->symbol, rank[0]),
                  s1 = _mm256_shuffle_epi8(t->symbol, rank[1]),
                  s2 = _mm256_shuffle_epi8(t->symbol, rank[2]),
                  s3 = _mm256_shuffle_epi8(t->symbol, rank[3]);
    const __m256i a = _mm256_unpacklo_epi8(s0, s1), b = _mm256_unpackhi_epi8(s0, s1),
                  c = _mm256_unpacklo_epi8(s2, s3), d = _mm256_unpackhi_epi8(s2, s3);
    const __m256i v[4] = {_mm256_unpacklo_epi16(a, c), _mm256_unpackhi_epi16(a, c),
                          _mm256_unpacklo_epi16(b, d), _mm256_unpackhi_epi16(b, d)};
    for (unsigned i = 0; i < 4; i++) {
        _mm_storeu_si128((__m128i *)(void *)(symbols + 16 * i), _mm256_castsi256_si128(v[i]));
        _mm_storeu_si128((__m128i *)(void *)(symbols + 16 * i + 64),
                         _mm256_extracti128_si256(v[i], 1));
    }
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
INLINE void p8_ranked(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                      unsigned bounds)
{
    struct ranked table[WCODEC_CPU_TILES];
    struct p8_lanes lanes[WCODEC_CPU_TILES];
    for (unsigned i = 0; i < count; i++) {
        load_ranked(streams[i].table, bounds, &table[i]);
        load_states(&streams[i], &lanes[i]);
    }
    for (unsigned g = 0; g < groups; g++) {
        __m256i s[WCODEC_CPU_TILES][4];
        for (unsigned i = 0; i < count; i++)
            wcodec_cpu_traffic(&streams[i], lanes[i].words, g);
#pragma GCC unroll 2
        for (unsigned half = 0; half < 2; half++)
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++)
                p8_step(&table[i], bounds, &lanes[i], &s[i][2 * half], &s[i][2 * half + 1]);
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++)
            put_group(&table[i], streams[i].symbols + g * WCODEC_GROUP, s[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        store_states(&streams[i], &lanes[i]);
        wcodec_cpu_advance(&streams[i], groups);
    }
}

typedef __m256i vec;

INLINE vec set_words(uint32_t word)
{
    return _mm256_set1_epi32((int)word);
}

INLINE vec both(vec a, vec b)
{
    return _mm256_and_si256(a, b);
}

INLINE vec either(vec a, vec b)
{
    return _mm256_or_si256(a, b);
}

INLINE vec left(vec v, unsigned n)
{
    return _mm256_slli_epi32(v, (int)n);
}

INLINE vec right(vec v, unsigned n)
{
    return _mm256_srli_epi32(v, (int)n);
}

INLINE vec multiply_add(vec a, vec b, vec c)
{
    return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c);
}

INLINE vec add_bytes(vec a, vec b)
{
    return _mm256_add_epi8(a, b);
}

INLINE vec gather(const uint32_t *entries, vec index)
{
    const __m128i halves[2] = {_mm256_castsi256_si128(index), _mm256_extracti128_si256(index, 1)};
    __m128i e[2];
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t a = (uint64_t)_mm_cvtsi128_si64(halves[i]),
                       b = (uint64_t)_mm_extract_epi64(halves[i], 1);
        const __m128i v = _mm_insert_epi32(_mm_cvtsi32_si128((int)entries[(uint32_t)a]),
                                           (int)entries[a >> 32], 1);
        e[i] = _mm_insert_epi32(_mm_insert_epi32(v, (int)entries[(uint32_t)b], 2),
                                (int)entries[b >> 32], 3);
    }
    return _mm256_inserti128_si256(_mm256_castsi128_si256(e[0]), e[1], 1);
}

INLINE void renormalise(vec x[1], const uint8_t **words)
{
    const __m256i low = _mm256_cmpeq_epi32(_mm256_srli_epi32(x[0], 16), _mm256_setzero_si256());
    const uint32_t refill = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(low));
    const __m256i taken =
        _mm256_cvtepu16_epi32(_mm_shuffle_epi8(load_half(*words), load_half(expand[refill])));
    *words += 2 * (size_t)_mm_popcnt_u32(refill);
    x[0] = _mm256_or_si256(_mm256_sllv_epi32(x[0], _mm256_and_si256(low, _mm256_set1_epi32(16))),
                           taken);
}

#define GATHER_LANES 8
#include "backends/cpu/gathered.h"

INLINE void p8_with(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                    unsigned bounds)
{
    if (count == 2)
        p8_ranked(streams, 2, groups, bounds);
    else
        for (unsigned i = 0; i < count; i++)
            p8_ranked(streams + i, 1, groups, bounds);
}

static void symbols_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    unsigned bounds = 0;
    for (unsigned i = 0; i < count; i++)
        bounds = streams[i].table->ranks_bounds > bounds ? streams[i].table->ranks_bounds : bounds;
    if (bounds <= 1)
        p8_with(streams, count, groups, 1);
    else if (bounds == 2)
        p8_with(streams, count, groups, 2);
    else if (bounds == 3)
        p8_with(streams, count, groups, 3);
    else
        for (unsigned i = 0; i < count; i++)
            decode_gathered(streams + i, groups, WCODEC_P8);
}

void wcodec_cpu_dsp_init_avx2(struct wcodec_cpu_dsp *dsp)
{
    dsp->tiles[WCODEC_P8] = 2;
    dsp->tiles[WCODEC_P12] = dsp->tiles[WCODEC_PAIRS] = 1;
    dsp->symbols[WCODEC_P8] = symbols_p8;
    dsp->symbols[WCODEC_P12] = symbols_p12;
    dsp->symbols[WCODEC_PAIRS] = symbols_pairs;
    wcodec_cpu_dsp_init_avx2_elements(dsp);
}
