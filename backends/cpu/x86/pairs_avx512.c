/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* AVX-512: pairs from words to elements, streams a quarter of a step apart. While a gather of one
 * stream is under way, the stream before it takes its words and puts its elements together: the
 * scheduler finds work of both kinds at any time. Elements go to their destination at once, past
 * the caches too, all of a tile's. */
#include "backends/cpu/x86/lanes512.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/x86/sink512.h"
#include "backends/cpu/x86/straight.h"

/* A group is two steps of each stream. */
enum { STEPS = 2, TILES = 4 };

struct pairs_stream {
    struct straight_stream own;
    uint64_t *sums;
    uint16_t symbols[32]; /* bf16: of an entry's four bits and one more, where elements have them */
};

/* What changes from group to group, and what of `struct making` does not. */
struct pairs_making {
    vec mask, bits, even, odd, turn, add;
};

/* States are below 2^16 where their upper half is 0. It takes the word, and halves change places:
 * no shift, and words need not be widened. */
INLINE void refill(struct p12_lanes *s)
{
    for (unsigned half = 0; half < 2; half++) {
        const vec x = s->x[half];
        const __mmask32 upper = _mm512_cmplt_epu16_mask(x, set32(1 << 16));
        const __mmask16 low = _mm512_cmplt_epu32_mask(x, set32(1 << 16));
        const vec filled = _mm512_mask_expand_epi16(x, upper, load(s->words));
        s->words += 2 * (size_t)count_bits(upper);
        s->x[half] = _mm512_mask_rol_epi32(filled, low, filled, 16);
    }
}

INLINE void begin(enum sink sink, const struct wcodec_cpu_stream *s, struct pairs_stream *p)
{
    begin_straight(s, sink == TO_BF16 ? 256 : 128, &p->own);
    for (unsigned n = 0; n < 32; n++)
        p->symbols[n] = (uint16_t)((s->table->base + n % 16u) << s->assembly->shift[0]);
}

INLINE void begin_making(const struct wcodec_cpu_stream *s, struct pairs_making *m)
{
    m->mask = set32(s->assembly->plane_mask[0]);
    /* Each half of an entry's byte at 12 where the element has it. */
    m->bits = sub8(set64(0x302c302c100c100c), set8(s->assembly->shift[0]));
    m->add = set32(s->assembly->add);
}

/* Of group g. */
INLINE void next_making(enum sink sink, const struct wcodec_cpu_stream *s, unsigned g,
                        struct pairs_making *m)
{
    const uint32_t key = WCODEC_CHECK_KEY((s->group + g) << (sink == TO_BF16));
    m->turn = set32(4 * (g % 2));
    m->even = set64(key);
    m->odd = set64(key + WCODEC_CHECK_STEP);
}

/* bf16: 16 lanes' two words each, from the entries of two steps. The upper 16 bits of an entry
 * begin with the second half, the lower ones end with the first: five bits select from a table that
 * does not mind the fifth. */
INLINE void make_bf16(const struct pairs_making *m, const struct pairs_stream *p, unsigned half,
                      vec e[STEPS][2], vec raw, vec v[2])
{
    const vec down = set32(12), symbols = load(p->symbols);
    vec word[STEPS];
#pragma GCC unroll 2
    for (unsigned step = 0; step < STEPS; step++)
        word[step] = _mm512_ternarylogic_epi32(
            _mm512_permutexvar_epi16(_mm512_srlv_epi16(e[step][half], down), symbols),
            step ? _mm512_ror_epi32(raw, 8) : raw, m->mask, 0xd8);
    v[0] = _mm512_permutex2var_epi32(
        word[0], _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0), word[1]);
    v[1] = _mm512_permutex2var_epi32(
        word[0], _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8),
        word[1]);
}

/* Bytes: 16 lanes' words. */
INLINE vec make_nibble(const struct pairs_making *m, unsigned half, vec e[STEPS][2], vec raw)
{
    const vec symbols = _mm512_mask_multishift_epi64_epi8(
        _mm512_multishift_epi64_epi8(m->bits, e[0][half]), 0xcccccccccccccccc, m->bits, e[1][half]);
    return sub8(_mm512_ternarylogic_epi32(symbols, _mm512_rorv_epi32(raw, m->turn), m->mask, 0xd8),
                m->add);
}

/* Elements of group g of a stream, and its memory traffic. */
INLINE void put_group(enum sink sink, const struct pairs_making *m,
                      const struct wcodec_cpu_stream *s, struct pairs_stream *p,
                      const uint8_t *words, vec e[STEPS][2], unsigned g)
{
    const unsigned row_bytes = sink == TO_BF16 ? 128 : 64, out_bytes = 2 * row_bytes,
                   registers = out_bytes / VEC_BYTES;
    const uint8_t *row = g < p->own.rows_end
                             ? p->own.raw + (sink == TO_BF16 ? g : g / 2) * (size_t)128
                             : p->own.raw_last;
    const uintptr_t ahead = (uintptr_t)p->own.raw + g * row_bytes + s->raw_ahead;
    uint8_t *to = p->own.elements + (size_t)g * out_bytes;
    vec v[4];
    __builtin_prefetch((const void *)((uintptr_t)words + s->words_ahead), 0, 2);
#pragma GCC unroll 2
    for (unsigned i = 0; i < row_bytes; i += 64)
        __builtin_prefetch((const void *)(ahead + i), 0, 2);
#pragma GCC unroll 2
    for (unsigned half = 0; half < 2; half++) {
        if (sink == TO_BF16)
            make_bf16(m, p, half, e, load(row + 64 * half), v + 2 * half);
        else
            v[half] = make_nibble(m, half, e, load(row + 64 * half));
#pragma GCC unroll 2
        for (unsigned i = half * registers / 2; i < (half + 1) * registers / 2; i++)
            add_to_check(sink == TO_BF16, m->even, m->odd, i, v[i], p->sums);
    }
    /* After the sums, all at once: stores leave in order, and those past the caches wait. */
    if (g < p->own.past_end) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < registers; i++)
            store_stream(to + 64 * i, v[i]);
        return;
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < registers; i++) {
        __builtin_prefetch((const void *)((uintptr_t)to + 8 * out_bytes + 64 * i), 1, 3);
        store(to + 64 * i, v[i]);
    }
    if (s->past)
        find_patched(s, out_bytes, s->group + g + 1, &p->own);
}

/* count and sink are constants where this is inlined. */
INLINE void pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                  enum sink sink)
{
    struct pairs_stream p[TILES];
    struct p12_lanes lanes[TILES];
    vec e[TILES][STEPS][2];
    struct sums sums[TILES];
    struct pairs_making making;
    begin_making(streams, &making);
    next_making(sink, streams, 0, &making);
    for (unsigned i = 0; i < count; i++) {
        begin(sink, &streams[i], &p[i]);
        lanes[i] =
            (struct p12_lanes){{load(streams[i].x), load(streams[i].x + 16)}, streams[i].words};
        for (unsigned k = 0; k < 2 * STEPS; k++)
            e[i][k / 2][k % 2] = zero();
        begin_sums(&sums[i]);
        p[i].sums = sink == TO_BF16 ? streams[i].sums : sums[i].products[0];
    }
    for (unsigned g = 0; g < groups; g++) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < STEPS * count; k++) {
            const unsigned before = (k + STEPS * count - 1) % (STEPS * count), i = before % count;
            if (count > 1)
                p12_advance(p[k % count].own.entries, &lanes[k % count], e[k % count][k / count]);
            if (k > 0 || g > 0) {
                refill(&lanes[i]);
                if (before / count == STEPS - 1)
                    put_group(sink, &making, &streams[i], &p[i], lanes[i].words, e[i],
                              k > 0 ? g : g - 1);
            }
            if (k == 0 && g > 0)
                next_making(sink, streams, g, &making);
            if (count == 1)
                p12_advance(p[0].own.entries, &lanes[0], e[0][k]);
        }
    }
    const unsigned last = count - 1;
    refill(&lanes[last]);
    put_group(sink, &making, &streams[last], &p[last], lanes[last].words, e[last], groups - 1);
    for (unsigned i = 0; i < count; i++) {
        store(streams[i].x, lanes[i].x[0]);
        store(streams[i].x + 16, lanes[i].x[1]);
        streams[i].words = lanes[i].words;
        if (sink == TO_NIBBLE)
            end_sums(sink, &streams[i], &sums[i]);
    }
}

INLINE void staggered(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                      enum sink sink)
{
    if (count == TILES)
        pairs(streams, TILES, groups, sink);
    else
        for (unsigned i = 0; i < count; i++)
            pairs(streams + i, 1, groups, sink);
}

static void pairs_bf16(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    staggered(streams, count, groups, TO_BF16);
}

static void pairs_nibble(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    staggered(streams, count, groups, TO_NIBBLE);
}

void wcodec_cpu_dsp_init_avx512_staggered(struct wcodec_cpu_dsp *dsp, uint32_t tuning)
{
    if ((tuning & WCODEC_CPU_STAGGERED_PAIRS) == 0)
        return;
    dsp->tiles[WCODEC_PAIRS] = TILES;
    dsp->direct[WCODEC_PAIRS][WCODEC_CPU_BF16] = pairs_bf16;
    dsp->direct[WCODEC_PAIRS][WCODEC_CPU_NIBBLE] = pairs_nibble;
    dsp->whole[WCODEC_PAIRS] = true;
}
