/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* AVX-512: states of 32 lanes, and tables looked up. */
#ifndef WCODEC_CPU_X86_LANES512_H
#define WCODEC_CPU_X86_LANES512_H

#include "backends/cpu/x86/vec512.h"

#include "backends/cpu/decode.h"

#define EVEN_BYTES 0x5555555555555555ull

/* A table of 256 bytes looked up by bytes. */
struct lookup {
    vec t[4];
};

INLINE struct lookup load_lookup(const uint8_t *bytes)
{
    return (struct lookup){{load(bytes), load(bytes + 64), load(bytes + 128), load(bytes + 192)}};
}

INLINE vec look_up(const struct lookup *l, vec index)
{
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index),
                                  _mm512_permutex2var_epi8(l->t[0], index, l->t[1]),
                                  _mm512_permutex2var_epi8(l->t[2], index, l->t[3]));
}

/* The low and the high halves of 32 states, and what their table says. */
struct p8_lanes {
    vec low, high;
    const uint8_t *words;
};

/* How a table is looked up: by windows of blocks of 4 or 2 slots, where their string is short; by
 * symbols of which the low 6 bits differ; or all by slot. */
enum lookup_kind { WINDOWS_OF_4, WINDOWS_OF_2, LOW6, SLOTS };

struct p8_table {
    vec window_of, window_of_upper, window_symbol;
    struct lookup symbol, freq, bias; /* by slot */
    vec freq_64, start_64;            /* by offset in the string, or by a symbol's low 6 bits */
};

INLINE void load_p8(const struct wcodec_cpu_table *t, enum lookup_kind kind, struct p8_table *p)
{
    if (kind <= WINDOWS_OF_2) {
        p->window_of = load(t->window_of);
        p->window_of_upper = load(t->window_of + 64);
        p->window_symbol = load(t->window_symbol);
        p->freq_64 = load(t->window_freq);
        p->start_64 = load(t->window_start);
        return;
    }
    p->symbol = load_lookup(t->symbol);
    if (kind == LOW6) {
        p->freq_64 = load(t->freq_low6);
        p->start_64 = load(t->start_low6);
    } else {
        p->freq = load_lookup(t->freq);
        p->bias = load_lookup(t->bias);
    }
}

/* For the slots in the even bytes of v: symbol or what leads to it (odd bytes are rubbish),
 * frequency and bias in 16 bits each. */
INLINE void p8_symbol(const struct p8_table *t, enum lookup_kind kind, vec v, vec *symbol,
                      vec *freq, vec *bias)
{
    if (kind == WINDOWS_OF_4)
        *symbol = add8(v, _mm512_permutexvar_epi8(SHR16(v, 2), t->window_of));
    else if (kind == WINDOWS_OF_2)
        *symbol = add8(v, _mm512_permutex2var_epi8(t->window_of, SHR16(v, 1), t->window_of_upper));
    else
        *symbol = look_up(&t->symbol, v);
    if (kind != SLOTS) {
        *freq = _mm512_maskz_permutexvar_epi8(EVEN_BYTES, *symbol, t->freq_64);
        *bias = _mm512_maskz_sub_epi8(EVEN_BYTES, v, _mm512_permutexvar_epi8(*symbol, t->start_64));
    } else {
        *freq = _mm512_maskz_mov_epi8(EVEN_BYTES, look_up(&t->freq, v));
        *bias = _mm512_maskz_mov_epi8(EVEN_BYTES, look_up(&t->bias, v));
    }
}

/* What the steps of a lane's two symbols found in even bytes: the second goes to the odd one. */
INLINE vec join_steps(vec first, vec second)
{
    const vec up = _mm512_set4_epi32(0x0e000c00, 0x0a000800, 0x06000400, 0x02000000);
    return _mm512_mask_shuffle_epi8(first, ~EVEN_BYTES, second, up);
}

INLINE void load_states(const struct wcodec_cpu_stream *stream, struct p8_lanes *s)
{
    const vec a = load(stream->x), b = load(stream->x + 16);
    const vec half = set32(0xffff);
    s->low = in_order(pack32(bit_and(a, half), bit_and(b, half)));
    s->high = in_order(pack32(SHR32(a, 16), SHR32(b, 16)));
    s->words = stream->words;
}

INLINE void store_states(struct wcodec_cpu_stream *stream, const struct p8_lanes *s)
{
    const vec order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0),
              low = _mm512_permutexvar_epi64(order, s->low),
              high = _mm512_permutexvar_epi64(order, s->high);
    store(stream->x, zip_low16(low, high));
    store(stream->x + 16, zip_high16(low, high));
    stream->words = s->words;
}

/* 12-bit profiles: states as two vectors of 16 lanes, entries by gathers. */
struct p12_lanes {
    vec x[2];
    const uint8_t *words;
};

INLINE void p12_advance(const uint32_t *entries, struct p12_lanes *s, vec e[2])
{
    for (unsigned half = 0; half < 2; half++) {
        const vec x = s->x[half];
        e[half] = _mm512_i32gather_epi32(bit_and(x, set32(0xfff)), entries, 4);
        s->x[half] = add32(mul32(SHR32(e[half], 20), SHR32(x, 12)), bit_and(e[half], set32(0xfff)));
    }
}

INLINE void p12_renormalise(struct p12_lanes *s)
{
    for (unsigned half = 0; half < 2; half++) {
        const __mmask16 refill = _mm512_cmplt_epu32_mask(s->x[half], set32(1 << 16));
        const vec words = _mm512_maskz_expand_epi32(
            refill,
            _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)s->words)));
        s->x[half] = _mm512_mask_or_epi32(s->x[half], refill, SHL32(s->x[half], 16), words);
        s->words += 2 * (size_t)count_bits(refill);
    }
}

/* Symbols of 16 lanes, four bytes each, from the entries of two pairs. */
INLINE vec join_pairs(vec first, vec second, uint8_t base)
{
    /* Each half of an entry's byte at 12, its upper one in a byte of its own. */
    const vec bits = set64(0x302c302c100c100c);
    const vec v = _mm512_mask_multishift_epi64_epi8(_mm512_multishift_epi64_epi8(bits, first),
                                                    0xcccccccccccccccc, bits, second);
    return add8(bit_and(v, set8(15)), set8(base));
}

#endif
