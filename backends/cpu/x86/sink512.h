/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* AVX-512: a group's symbols and raw bits become elements, which are stored and added to the
 * check's sums: work that depends on nothing, for the time in which states wait for each other. */
#ifndef WCODEC_CPU_X86_SINK512_H
#define WCODEC_CPU_X86_SINK512_H

#include "backends/cpu/decode.h"
#include "backends/cpu/x86/check_products.h"
#include "coding/check_key.h"

enum sink { TO_BF16, TO_NIBBLE };

/* How two registers hold a group's symbols: 0 and 1 of each lane in the first, 2 and 3 in the
 * second; or all of the lower lanes in the first, in order. */
enum layout { BY_HALVES, BY_LANES };

/* Of one stream: sums of products by the registers of a group, which has one lane's words in each
 * quadword (bf16), or words of even lanes and, after them, of odd ones (bytes). */
struct sums {
    _Alignas(64) uint64_t products[4][8];
};

/* What all streams have in common: the mask of raw bits, where each byte's symbol bits are, A, and
 * the keys of a group's words. */
struct making {
    vec mask, bits, even, odd, turn, add;
    shift_count shift;
};

INLINE void begin_sums(struct sums *sums)
{
    memset(sums->products, 0, sizeof sums->products);
}

/* Of group g. */
INLINE void begin_group(enum sink sink, const struct wcodec_cpu_stream *s, unsigned g,
                        struct making *m)
{
    const uint32_t key = WCODEC_CHECK_KEY((s->group + g) << (sink == TO_BF16));
    m->mask = set32(s->assembly->plane_mask[0]);
    /* Bits that are not an element's own are masked. */
    m->bits = sub8(set64(0x2018181010080800), set8(s->assembly->shift[0]));
    m->shift = make_count(0, s->assembly->shift[0]);
    m->add = set32(s->assembly->add);
    m->turn = set32(4 * (g % 2));
    m->even = set64(key);
    m->odd = set64(key + WCODEC_CHECK_STEP);
}

INLINE void end_sums(enum sink sink, const struct wcodec_cpu_stream *s, const struct sums *sums)
{
    const vec lower = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0),
              upper = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
    for (unsigned i = 0; i < 4; i++) {
        const vec of_lanes =
            sink == TO_BF16
                ? load(sums->products[i])
                : _mm512_permutex2var_epi64(load(sums->products[i / 2 * 2]), i % 2 ? upper : lower,
                                            load(sums->products[i / 2 * 2 + 1]));
        add_products(s->sums + 8 * i, of_lanes);
    }
}

/* wcodec_cpu_traffic() for elements, so much of it without loops: what the streams' next tiles
 * begin with is fetched while these are decoded. */
INLINE void direct_traffic(enum sink sink, const struct wcodec_cpu_stream *s, const uint8_t *words,
                           unsigned g)
{
    const unsigned row_bytes = sink == TO_BF16 ? 128 : 64, out_bytes = 2 * row_bytes;
    const uintptr_t row = (uintptr_t)s->raw + g * row_bytes + s->raw_ahead;
    __builtin_prefetch((const void *)((uintptr_t)words + s->words_ahead), 0, 2);
#pragma GCC unroll 2
    for (unsigned i = 0; i < row_bytes; i += 64)
        __builtin_prefetch((const void *)(row + i), 0, 2);
    if (s->ready_bytes) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < out_bytes; i += VEC_BYTES)
            store_stream(s->pass_to + g * out_bytes + i, load(s->ready + g * out_bytes + i));
    } else {
#pragma GCC unroll 4
        for (unsigned i = 0; i < out_bytes; i += 64)
            __builtin_prefetch((const void *)((uintptr_t)s->elements + (g + 8) * out_bytes + i), 1,
                               3);
    }
}

/* A number for each of eight quadwords. */
#define EACH_QUADWORD(n, step) \
    _mm512_set_epi64((n) + 7 * (step), (n) + 6 * (step), (n) + 5 * (step), (n) + 4 * (step), \
                     (n) + 3 * (step), (n) + 2 * (step), (n) + (step), n)

/* The symbols of lanes 8q to 8q + 7, four in the lower half of a quadword each. */
INLINE vec lanes_of_eight(enum layout layout, const vec symbols[2], unsigned q)
{
    const vec order = layout == BY_HALVES ? EACH_QUADWORD(0x41400100, 0x02020202)
                                          : EACH_QUADWORD(0x03020100, 0x04040404);
    return _mm512_permutex2var_epi8(
        symbols[0], add8(order, set8((uint8_t)(layout == BY_HALVES ? 16 * q : 32 * q))),
        symbols[1]);
}

/* The symbols of lanes 16h to 16h + 15. */
INLINE vec lanes_of_sixteen(enum layout layout, const vec symbols[2], unsigned h)
{
    const vec order = EACH_QUADWORD(0x4342030241400100, 0x0404040404040404);
    return layout == BY_LANES ? symbols[h]
                              : _mm512_permutex2var_epi8(
                                    symbols[0], add8(order, set8((uint8_t)(32 * h))), symbols[1]);
}

/* Elements of two bytes: a byte of raw bits, and eight bits of symbol wherever. 32 bytes after the
 * rows are read. */
INLINE void put_bf16(enum layout layout, const struct making *m, const struct wcodec_cpu_stream *s,
                     unsigned g, const vec symbols[2], struct sums *sums)
{
    /* Eight words, each doubled, its copy rotated by 8. */
    const vec turned = EACH_QUADWORD(0x0003020103020100, 0x0404040404040404);
    const uint8_t *row = s->raw + (size_t)g * WCODEC_GROUP;
    uint8_t *to = s->elements + (size_t)g * 2 * WCODEC_GROUP;
#pragma GCC unroll 4
    for (unsigned q = 0; q < 4; q++) {
        const vec v = _mm512_ternarylogic_epi32(
            m->mask, _mm512_permutexvar_epi8(turned, load(row + 32 * q)),
            _mm512_multishift_epi64_epi8(m->bits, lanes_of_eight(layout, symbols, q)), 0xca);
        store(to + 64 * q, v);
        add_products(sums->products[q],
                     add64(mul_even32(v, m->even), mul_even32(SHR64(v, 32), m->odd)));
    }
}

/* Bytes: four raw bits, two groups' in a row, and four of symbol. */
INLINE void put_nibble(enum layout layout, const struct making *m,
                       const struct wcodec_cpu_stream *s, unsigned g, const vec symbols[2],
                       struct sums *sums)
{
    const uint8_t *row = s->raw + (size_t)(g / 2) * WCODEC_GROUP;
    uint8_t *to = s->elements + (size_t)g * WCODEC_GROUP;
#pragma GCC unroll 2
    for (unsigned h = 0; h < 2; h++) {
        const vec v = sub8(_mm512_ternarylogic_epi32(
                               m->mask, _mm512_rorv_epi32(load(row + 64 * h), m->turn),
                               shift_left(0, lanes_of_sixteen(layout, symbols, h), m->shift), 0xca),
                           m->add);
        store(to + 64 * h, v);
        add_products(sums->products[2 * h], mul_even32(v, m->even));
        add_products(sums->products[2 * h + 1], mul_even32(SHR64(v, 32), m->even));
    }
}

INLINE void put_elements(enum sink sink, enum layout layout, const struct making *m,
                         const struct wcodec_cpu_stream *s, unsigned g, const vec symbols[2],
                         struct sums *sums)
{
    if (sink == TO_BF16)
        put_bf16(layout, m, s, g, symbols, sums);
    else
        put_nibble(layout, m, s, g, symbols, sums);
}

#endif
