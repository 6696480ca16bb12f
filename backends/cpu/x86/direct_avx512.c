/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* AVX-512, all three stages in one loop: while the states of some streams wait for each other,
 * elements of the group before are put together. What is ready must come early enough: schedulers
 * hold a few steps of one stream (Zen 5: some 200 operations, of which 110 can be chosen from), so
 * that all streams go through a third of a step before any goes on. */
#include "backends/cpu/x86/lanes512.h"

#include "backends/cpu/cpu_level.h"

#include "backends/cpu/x86/sink512.h"

/* A group is two steps of each stream; those of P8 have three stages. */
enum { STEPS = 2, STAGES = 3, SLOTS_OF_GROUP = STEPS * STAGES, P8_TILES = 4, PAIRS_TILES = 4 };

/* A step between its stages. */
struct p8_step {
    vec first, f1, p, b, low, carried;
};

INLINE void p8_first(const struct p8_table *t, enum lookup_kind kind, const struct p8_lanes *s,
                     struct p8_step *w)
{
    vec b1;
    p8_symbol(t, kind, s->low, &w->first, &w->f1, &b1);
    w->p = add16(mul16(w->f1, SHR16(s->low, 8)), b1);
}

INLINE vec p8_second(const struct p8_table *t, enum lookup_kind kind, const struct p8_lanes *s,
                     struct p8_step *w)
{
    vec second, f2, b2;
    p8_symbol(t, kind, w->p, &second, &f2, &b2);
    const vec f = mul16(w->f1, f2);
    w->b = add16(mul16(f2, SHR16(w->p, 8)), b2);
    w->low = add16(mul16(f, s->high), w->b);
    w->carried = mul16_high(f, s->high);
    return join_steps(w->first, second);
}

INLINE vec window_symbols(const struct wcodec_cpu_table *t, vec at)
{
    return _mm512_permutexvar_epi8(at, load(t->window_symbol));
}

/* The states that are below 2^16 are found before the carry is added. */
INLINE void p8_renormalise(struct p8_lanes *s, const struct p8_step *w)
{
    const __mmask32 none = _mm512_testn_epi16_mask(w->carried, w->carried),
                    carry = _mm512_cmplt_epu16_mask(w->low, w->b),
                    refill = _kandn_mask32(carry, none);
    const vec high = _mm512_mask_sub_epi16(w->carried, carry, w->carried, set16(0xffff));
    s->high = _mm512_mask_mov_epi16(high, refill, w->low);
    s->low = _mm512_mask_expand_epi16(w->low, refill, load(s->words));
    s->words += 2 * (size_t)count_bits(refill);
}

/* Elements of group g of one stream, and its memory traffic. */
INLINE void put_group(enum sink sink, enum layout layout, const struct making *making,
                      const struct wcodec_cpu_stream *s, const uint8_t *words, unsigned g,
                      const vec symbols[2], struct sums *sums)
{
    direct_traffic(sink, s, words, g);
    put_elements(sink, layout, making, s, g, symbols, sums);
}

/* count, kind, sink and shared are constants where this is inlined; shared: all streams have one
 * table, which stays in registers. */
INLINE void p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
               enum lookup_kind kind, enum sink sink, bool shared)
{
    struct p8_lanes lanes[WCODEC_CPU_TILES];
    struct p8_table table;
    struct sums sums[WCODEC_CPU_TILES];
    struct making making;
    struct p8_step w[WCODEC_CPU_TILES];
    vec now[WCODEC_CPU_TILES][STEPS], before[WCODEC_CPU_TILES][STEPS];
    for (unsigned i = 0; i < count; i++) {
        load_states(&streams[i], &lanes[i]);
        begin_sums(&sums[i]);
        before[i][0] = before[i][1] = zero();
    }
    if (shared)
        load_p8(streams[0].table, kind, &table);
    for (unsigned g = 0; g < groups; g++) {
        if (g > 0)
            begin_group(sink, streams, g - 1, &making);
#pragma GCC unroll 6
        for (unsigned slot = 0; slot < SLOTS_OF_GROUP; slot++) {
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++) {
                if (!shared && slot % STAGES < 2)
                    load_p8(streams[i].table, kind, &table);
                if (slot % STAGES == 0)
                    p8_first(&table, kind, &lanes[i], &w[i]);
                else if (slot % STAGES == 1)
                    now[i][slot / STAGES] = p8_second(&table, kind, &lanes[i], &w[i]);
                else
                    p8_renormalise(&lanes[i], &w[i]);
            }
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++)
                if (i * SLOTS_OF_GROUP / count == slot && g > 0)
                    put_group(sink, BY_HALVES, &making, &streams[i], lanes[i].words, g - 1,
                              before[i], &sums[i]);
        }
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++)
            for (unsigned step = 0; step < STEPS; step++)
                before[i][step] = window_symbols(streams[i].table, now[i][step]);
    }
    begin_group(sink, streams, groups - 1, &making);
    for (unsigned i = 0; i < count; i++) {
        put_group(sink, BY_HALVES, &making, &streams[i], lanes[i].words, groups - 1, before[i],
                  &sums[i]);
        store_states(&streams[i], &lanes[i]);
        end_sums(sink, &streams[i], &sums[i]);
    }
}

/* Every table has a string by blocks of 2 slots or of 4. */
INLINE void direct_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                      enum sink sink)
{
    bool four = true, two = true, shared = true;
    for (unsigned i = 0; i < count; i++) {
        four = four && streams[i].table->window_log2 == 2;
        two = two && streams[i].table->window_log2 == 1;
        shared = shared && streams[i].table == streams[0].table;
    }
    if (count == P8_TILES && four && shared)
        p8(streams, P8_TILES, groups, WINDOWS_OF_4, sink, true);
    else if (count == P8_TILES && four)
        p8(streams, P8_TILES, groups, WINDOWS_OF_4, sink, false);
    else if (count == P8_TILES && two)
        p8(streams, P8_TILES, groups, WINDOWS_OF_2, sink, false);
    else
        for (unsigned i = 0; i < count; i++)
            if (streams[i].table->window_log2 == 2)
                p8(streams + i, 1, groups, WINDOWS_OF_4, sink, true);
            else
                p8(streams + i, 1, groups, WINDOWS_OF_2, sink, true);
}

static void p8_bf16(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    direct_p8(streams, count, groups, TO_BF16);
}

static void p8_nibble(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    direct_p8(streams, count, groups, TO_NIBBLE);
}

/* Entries by gathers, which are fast where this serves. */
INLINE void pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                  enum sink sink)
{
    struct p12_lanes lanes[WCODEC_CPU_TILES];
    struct sums sums[WCODEC_CPU_TILES];
    struct making making;
    vec e[WCODEC_CPU_TILES][STEPS][2], symbols[2];
    for (unsigned i = 0; i < count; i++) {
        lanes[i] =
            (struct p12_lanes){{load(streams[i].x), load(streams[i].x + 16)}, streams[i].words};
        begin_sums(&sums[i]);
    }
    for (unsigned g = 0; g < groups; g++) {
#pragma GCC unroll 2
        for (unsigned step = 0; step < STEPS; step++) {
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++)
                p12_advance(streams[i].table->entries, &lanes[i], e[i][step]);
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++)
                p12_renormalise(&lanes[i]);
        }
        begin_group(sink, streams, g, &making);
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++) {
            for (unsigned half = 0; half < 2; half++)
                symbols[half] = join_pairs(e[i][0][half], e[i][1][half], streams[i].table->base);
            put_group(sink, BY_LANES, &making, &streams[i], lanes[i].words, g, symbols, &sums[i]);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        store(streams[i].x, lanes[i].x[0]);
        store(streams[i].x + 16, lanes[i].x[1]);
        streams[i].words = lanes[i].words;
        end_sums(sink, &streams[i], &sums[i]);
    }
}

INLINE void direct_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                         enum sink sink)
{
    if (count == PAIRS_TILES)
        pairs(streams, PAIRS_TILES, groups, sink);
    else
        for (unsigned i = 0; i < count; i++)
            pairs(streams + i, 1, groups, sink);
}

static void pairs_bf16(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    direct_pairs(streams, count, groups, TO_BF16);
}

static void pairs_nibble(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    direct_pairs(streams, count, groups, TO_NIBBLE);
}

void wcodec_cpu_dsp_init_avx512_direct(struct wcodec_cpu_dsp *dsp, uint32_t tuning)
{
    if ((tuning & WCODEC_CPU_STRAIGHT) != 0) {
        dsp->tiles[WCODEC_P8] = P8_TILES;
        dsp->direct[WCODEC_P8][WCODEC_CPU_BF16] = p8_bf16;
        dsp->direct[WCODEC_P8][WCODEC_CPU_NIBBLE] = p8_nibble;
    }
    if ((tuning & WCODEC_CPU_STRAIGHT_PAIRS) != 0) {
        dsp->tiles[WCODEC_PAIRS] = PAIRS_TILES;
        dsp->direct[WCODEC_PAIRS][WCODEC_CPU_BF16] = pairs_bf16;
        dsp->direct[WCODEC_PAIRS][WCODEC_CPU_NIBBLE] = pairs_nibble;
    }
}
