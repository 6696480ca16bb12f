/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* AVX2: pairs from words to elements, for processors whose gathers are fast: while those of one
 * stream are under way, the stream before it takes its words and puts its elements together.
 * Elements go to their destination at once, past the caches too, all of a tile's. */
#include "backends/cpu/x86/vec256.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/expand.h"
#include "backends/cpu/x86/check_products.h"
#include "backends/cpu/x86/straight.h"
#include "coding/check_key.h"

/* A group is two steps of each stream, a step has a vector for each eight lanes. */
enum { STEPS = 2, VECTORS = 4, TILES = 2 };

enum sink { TO_BF16, TO_NIBBLE };

_Alignas(64) static const uint8_t expand[256][32] = {EXPAND_256(EXPAND_WIDE_ROW)};

struct pairs_stream {
    struct straight_stream own;
    const uint8_t *words;
    uint64_t *sums;
    vec base, x[VECTORS];
};

/* What all streams have in common: masks of raw bits and of symbols, shifts of an entry's two
 * halves to their place, A, and the keys of a group's words. */
struct making {
    vec raw, symbols, down, up, add, even, odd, turn, back;
};

INLINE void advance(struct pairs_stream *p, vec e[VECTORS])
{
    const vec bits = set32(0xfff);
#pragma GCC unroll 4
    for (unsigned k = 0; k < VECTORS; k++) {
        const vec x = p->x[k];
        e[k] = _mm256_i32gather_epi32((const int *)p->own.entries, bit_and(x, bits), 4);
        p->x[k] = add32(mul32(SHR32(e[k], 20), SHR32(x, 12)), bit_and(e[k], bits));
    }
}

INLINE void refill(struct pairs_stream *p)
{
#pragma GCC unroll 4
    for (unsigned k = 0; k < VECTORS; k++) {
        const vec x = p->x[k], low = _mm256_cmpeq_epi32(SHR32(x, 16), zero());
        const uint32_t lanes = (uint32_t)_mm256_movemask_ps(VEC_CAST_PS(low));
        const vec taken = shuffle(repeat(p->words), load(expand[lanes]));
        p->words += 2 * (size_t)count_bits(lanes);
        p->x[k] = bit_or(_mm256_sllv_epi32(x, bit_and(low, set32(16))), taken);
    }
}

INLINE void begin_making(const struct wcodec_cpu_stream *s, struct making *m)
{
    const unsigned shift = s->assembly->shift[0];
    m->raw = set32(s->assembly->plane_mask[0]);
    m->symbols = set32(0x000f000fu << shift);
    /* An entry's upper half begins at 16, its lower one at 12. */
    m->down = set32(12 - shift);
    m->up = set32(shift);
    m->add = set32(s->assembly->add);
}

/* Of group g. */
INLINE void next_making(enum sink sink, const struct wcodec_cpu_stream *s, unsigned g,
                        struct making *m)
{
    const uint32_t key = WCODEC_CHECK_KEY((s->group + g) << (sink == TO_BF16));
    m->even = set64(key);
    m->odd = set64(key + WCODEC_CHECK_STEP);
    m->turn = set32(4 * (g % 2));
    m->back = set32(g % 2 ? 28 : 32);
}

/* bf16: eight lanes' words each, of the two steps. */
INLINE void make_bf16(const struct making *m, vec base, vec first, vec second, vec raw, vec v[2])
{
    const vec e[STEPS] = {first, second},
              turned = _mm256_setr_epi8(1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2,
                                        3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12);
    vec word[STEPS];
#pragma GCC unroll 2
    for (unsigned step = 0; step < STEPS; step++) {
        const vec symbols = _mm256_blend_epi16(_mm256_srlv_epi32(e[step], m->down),
                                               _mm256_sllv_epi32(e[step], m->up), 0xaa);
        word[step] = bit_or(add16(bit_and(symbols, m->symbols), base),
                            bit_and(step ? shuffle(raw, turned) : raw, m->raw));
    }
    const vec low = zip_low32(word[0], word[1]), high = zip_high32(word[0], word[1]);
    v[0] = zip_parts_low(low, high);
    v[1] = zip_parts_high(low, high);
}

/* Bytes: eight lanes' words. */
INLINE vec make_nibble(const struct making *m, vec first, vec second, vec raw)
{
    const vec pairs = bit_and(_mm256_blend_epi16(SHR32(first, 12), SHL32(second, 4), 0xaa),
                              set32(0x00ff00ff)),
              symbols = bit_and(bit_or(pairs, SHL32(pairs, 4)), set32(0x0f0f0f0f)),
              turned = bit_or(_mm256_srlv_epi32(raw, m->turn), _mm256_sllv_epi32(raw, m->back));
    return sub8(bit_or(_mm256_sllv_epi32(symbols, m->up), bit_and(turned, m->raw)), m->add);
}

/* Elements of group g of a stream, and its memory traffic. */
INLINE void put_group(enum sink sink, const struct making *m, const struct wcodec_cpu_stream *s,
                      struct pairs_stream *p, vec e[STEPS][VECTORS], unsigned g)
{
    const unsigned row_bytes = sink == TO_BF16 ? 128 : 64, out_bytes = 2 * row_bytes,
                   registers = out_bytes / VEC_BYTES;
    const uint8_t *row = g < p->own.rows_end
                             ? p->own.raw + (sink == TO_BF16 ? g : g / 2) * (size_t)128
                             : p->own.raw_last;
    const uintptr_t ahead = (uintptr_t)p->own.raw + g * row_bytes + s->raw_ahead;
    uint8_t *to = p->own.elements + (size_t)g * out_bytes;
    const bool past = g < p->own.past_end;
    __builtin_prefetch((const void *)((uintptr_t)p->words + s->words_ahead), 0, 2);
    for (unsigned i = 0; i < row_bytes; i += 64)
        __builtin_prefetch((const void *)(ahead + i), 0, 2);
    vec v[8];
#pragma GCC unroll 4
    for (unsigned k = 0; k < VECTORS; k++) {
        const vec raw = load(row + 32 * k);
        if (sink == TO_BF16)
            make_bf16(m, p->base, e[0][k], e[1][k], raw, v + 2 * k);
        else
            v[k] = make_nibble(m, e[0][k], e[1][k], raw);
#pragma GCC unroll 2
        for (unsigned i = k * registers / VECTORS; i < (k + 1) * registers / VECTORS; i++)
            add_to_check(sink == TO_BF16, m->even, m->odd, i, v[i], p->sums);
    }
    if (past) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < registers; i++)
            store_stream(to + VEC_BYTES * i, v[i]);
        return;
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < registers; i++) {
        if (i % 2 == 0)
            __builtin_prefetch((const void *)((uintptr_t)to + 8 * out_bytes + VEC_BYTES * i), 1, 3);
        store(to + VEC_BYTES * i, v[i]);
    }
    if (s->past)
        find_patched(s, out_bytes, s->group + g + 1, &p->own);
}

/* count and sink are constants where this is inlined. */
INLINE void pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                  enum sink sink)
{
    struct pairs_stream p[TILES];
    vec e[TILES][STEPS][VECTORS];
    _Alignas(64) uint64_t sums[TILES][WCODEC_LANES] = {{0}};
    struct making making;
    begin_making(streams, &making);
    next_making(sink, streams, 0, &making);
    for (unsigned i = 0; i < count; i++) {
        begin_straight(&streams[i], sink == TO_BF16 ? 256 : 128, &p[i].own);
        p[i].words = streams[i].words;
        p[i].base = set16((uint16_t)(streams[i].table->base << streams[i].assembly->shift[0]));
        p[i].sums = sink == TO_BF16 ? streams[i].sums : sums[i];
        for (unsigned k = 0; k < VECTORS; k++) {
            p[i].x[k] = load(streams[i].x + 8 * k);
            e[i][0][k] = e[i][1][k] = zero();
        }
    }
    for (unsigned g = 0; g < groups; g++) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < STEPS * count; k++) {
            const unsigned before = (k + STEPS * count - 1) % (STEPS * count), i = before % count;
            if (count > 1)
                advance(&p[k % count], e[k % count][k / count]);
            if (k > 0 || g > 0) {
                refill(&p[i]);
                if (before / count == STEPS - 1)
                    put_group(sink, &making, &streams[i], &p[i], e[i], k > 0 ? g : g - 1);
            }
            if (k == 0 && g > 0)
                next_making(sink, streams, g, &making);
            if (count == 1)
                advance(&p[0], e[0][k]);
        }
    }
    const unsigned last = count - 1;
    refill(&p[last]);
    put_group(sink, &making, &streams[last], &p[last], e[last], groups - 1);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < VECTORS; k++)
            store(streams[i].x + 8 * k, p[i].x[k]);
        streams[i].words = p[i].words;
        if (sink == TO_NIBBLE)
            add_lanes(sums[i], streams[i].sums);
    }
}

INLINE void gathered_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
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
    gathered_pairs(streams, count, groups, TO_BF16);
}

static void pairs_nibble(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    gathered_pairs(streams, count, groups, TO_NIBBLE);
}

void wcodec_cpu_dsp_init_avx2_gathered(struct wcodec_cpu_dsp *dsp, uint32_t tuning)
{
    if ((tuning & WCODEC_CPU_GATHERED_PAIRS) == 0)
        return;
    dsp->tiles[WCODEC_PAIRS] = TILES;
    dsp->direct[WCODEC_PAIRS][WCODEC_CPU_BF16] = pairs_bf16;
    dsp->direct[WCODEC_PAIRS][WCODEC_CPU_NIBBLE] = pairs_nibble;
    dsp->whole[WCODEC_PAIRS] = true;
}
