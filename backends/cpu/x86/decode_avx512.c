/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level (with VBMI and VBMI2): the symbols, 32 lanes in one register. elements_avx512.c
 * has the other stages. */
#include "backends/cpu/x86/lanes512.h"

#include "backends/cpu/traffic.h"

/* Two symbols (or what leads to them), the second in the upper byte of a lane, and a
 * renormalisation. With x = 2^16 high + low, P = f1 (low / 2^8) + bias1 has the second slot in its
 * low byte, and x'' = f1 f2 high + f2 (P / 2^8) + bias2: all in 16-bit products. */
INLINE vec p8_step(const struct p8_table *t, enum lookup_kind kind, struct p8_lanes *s)
{
    vec first, second, f1, b1, f2, b2;
    p8_symbol(t, kind, s->low, &first, &f1, &b1);
    const vec p = add16(mul16(f1, SHR16(s->low, 8)), b1);
    p8_symbol(t, kind, p, &second, &f2, &b2);
    const vec b = add16(mul16(f2, SHR16(p, 8)), b2), f = mul16(f1, f2);
    const vec low = add16(mul16(f, s->high), b), carried = mul16_high(f, s->high);
    const vec high =
        _mm512_mask_sub_epi16(carried, _mm512_cmplt_epu16_mask(low, b), carried, set16(0xffff));
    const __mmask32 refill = _mm512_testn_epi16_mask(high, high);
    s->high = _mm512_mask_mov_epi16(high, refill, low);
    s->low = _mm512_mask_expand_epi16(low, refill, load(s->words));
    s->words += 2 * (size_t)count_bits(refill);
    return join_steps(first, second);
}

/* Symbols 0 and 1 of each lane, and 2 and 3 -> 128 symbols in the order of elements. */
INLINE void put_group(const struct p8_table *t, enum lookup_kind kind, uint8_t *symbols, vec a,
                      vec b)
{
    const vec first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0),
              second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    vec lower = zip_low16(a, b),
        upper = zip_high16(a, b); /* lanes 0 to 3, 8 to 11 and so on, and the others */
    if (kind <= WINDOWS_OF_2) {
        lower = _mm512_permutexvar_epi8(lower, t->window_symbol);
        upper = _mm512_permutexvar_epi8(upper, t->window_symbol);
    }
    store(symbols, _mm512_permutex2var_epi64(lower, first, upper));
    store(symbols + 64, _mm512_permutex2var_epi64(lower, second, upper));
}

/* count, kind and shared are constants where this is inlined; shared: all streams have one table,
 * which stays in registers. */
INLINE void p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
               enum lookup_kind kind, bool shared)
{
    struct p8_lanes lanes[WCODEC_CPU_TILES];
    struct p8_table table;
    for (unsigned i = 0; i < count; i++)
        load_states(&streams[i], &lanes[i]);
    if (shared)
        load_p8(streams[0].table, kind, &table);
    for (unsigned g = 0; g < groups; g++) {
        vec half[WCODEC_CPU_TILES];
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++) {
            if (!shared)
                load_p8(streams[i].table, kind, &table);
            wcodec_cpu_traffic(&streams[i], lanes[i].words, g);
            half[i] = p8_step(&table, kind, &lanes[i]);
        }
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++) {
            if (!shared)
                load_p8(streams[i].table, kind, &table);
            put_group(&table, kind, streams[i].symbols + g * WCODEC_GROUP, half[i],
                      p8_step(&table, kind, &lanes[i]));
        }
    }
    for (unsigned i = 0; i < count; i++) {
        store_states(&streams[i], &lanes[i]);
        wcodec_cpu_advance(&streams[i], groups);
    }
}

INLINE void p8_with(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups,
                    enum lookup_kind kind, bool shared)
{
    if (count == 4 && shared)
        p8(streams, 4, groups, kind, true);
    else if (count == 4)
        p8(streams, 4, groups, kind, false);
    else
        for (unsigned i = 0; i < count; i++)
            p8(streams + i, 1, groups, kind, true);
}

static enum lookup_kind kind_of(const struct wcodec_cpu_table *t)
{
    return t->window_log2 == 2   ? WINDOWS_OF_4
           : t->window_log2 == 1 ? WINDOWS_OF_2
           : t->low6             ? LOW6
                                 : SLOTS;
}

static void symbols_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    const enum lookup_kind kind = kind_of(streams[0].table);
    bool same = true, shared = true;
    for (unsigned i = 1; i < count; i++) {
        same = same && kind_of(streams[i].table) == kind;
        shared = shared && streams[i].table == streams[0].table;
    }
    if (!same)
        for (unsigned i = 0; i < count; i++)
            symbols_p8(streams + i, 1, groups);
    else if (kind == WINDOWS_OF_4)
        p8_with(streams, count, groups, WINDOWS_OF_4, shared);
    else if (kind == WINDOWS_OF_2)
        p8_with(streams, count, groups, WINDOWS_OF_2, shared);
    else if (kind == LOW6)
        p8_with(streams, count, groups, LOW6, shared);
    else
        for (unsigned i = 0; i < count; i++)
            p8(streams + i, 1, groups, SLOTS, true);
}

INLINE void p12_step(const uint32_t *entries, struct p12_lanes *s, vec e[2])
{
    p12_advance(entries, s, e);
    p12_renormalise(s);
}

INLINE void p12(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups, bool pairs)
{
    struct p12_lanes lanes[WCODEC_CPU_TILES];
    for (unsigned i = 0; i < count; i++)
        lanes[i] =
            (struct p12_lanes){{load(streams[i].x), load(streams[i].x + 16)}, streams[i].words};
    for (unsigned g = 0; g < groups; g++)
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++) {
            const uint32_t *entries = streams[i].table->entries;
            uint8_t *symbols = streams[i].symbols + g * WCODEC_GROUP;
            vec a[2], b[2], c[2], d[2];
            wcodec_cpu_traffic(&streams[i], lanes[i].words, g);
            p12_step(entries, &lanes[i], a);
            p12_step(entries, &lanes[i], b);
            if (!pairs) {
                p12_step(entries, &lanes[i], c);
                p12_step(entries, &lanes[i], d);
            }
            for (unsigned half = 0; half < 2; half++) {
                vec v;
                if (pairs) {
                    v = join_pairs(a[half], b[half], streams[i].table->base);
                } else {
                    v = bit_and(SHR32(a[half], 12), set32(0xff));
                    v = bit_or(v, bit_and(SHR32(b[half], 4), set32(0xff00)));
                    v = bit_or(v, bit_and(SHL32(c[half], 4), set32(0xff0000)));
                    v = bit_or(v, bit_and(SHL32(d[half], 12), set32(0xff000000)));
                }
                store(symbols + 64 * half, v);
            }
        }
    for (unsigned i = 0; i < count; i++) {
        store(streams[i].x, lanes[i].x[0]);
        store(streams[i].x + 16, lanes[i].x[1]);
        streams[i].words = lanes[i].words;
        wcodec_cpu_advance(&streams[i], groups);
    }
}

static void symbols_p12(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    if (count == 3)
        p12(streams, 3, groups, false);
    else
        for (unsigned i = 0; i < count; i++)
            p12(streams + i, 1, groups, false);
}

static void symbols_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    if (count == 4)
        p12(streams, 4, groups, true);
    else if (count == 3)
        p12(streams, 3, groups, true);
    else
        for (unsigned i = 0; i < count; i++)
            p12(streams + i, 1, groups, true);
}

void wcodec_cpu_dsp_init_avx512(struct wcodec_cpu_dsp *dsp)
{
    dsp->level = 3;
    dsp->lookup = WCODEC_CPU_BY_WINDOW;
    dsp->tiles[WCODEC_P8] = 4;
    dsp->tiles[WCODEC_P12] = dsp->tiles[WCODEC_PAIRS] = 3;
    dsp->symbols[WCODEC_P8] = symbols_p8;
    dsp->symbols[WCODEC_P12] = symbols_p12;
    dsp->symbols[WCODEC_PAIRS] = symbols_pairs;
    wcodec_cpu_dsp_init_avx512_elements(dsp);
}
