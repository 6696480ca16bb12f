/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* AVX2: P8 by ranks from words to elements, all of a tile's, of 16 bits with a plane of 8 or bytes
 * with one of 4, for decode_avx2.c, which has the steps. */
#ifndef WCODEC_CPU_X86_STRAIGHT_AVX2_H
#define WCODEC_CPU_X86_STRAIGHT_AVX2_H

#include "backends/cpu/x86/check_products.h"
#include "backends/cpu/x86/straight.h"
#include "coding/check_key.h"

/* What all streams have in common: the mask of raw bits, a product that shifts symbols to their
 * place, A, the keys of a group's words, and how its row is turned. */
struct p8_making {
    vec mask, place, add, even, odd, turn, back;
};

/* Of group g. */
INLINE void next_making(bool bytes, const struct wcodec_cpu_stream *s, unsigned g,
                        struct p8_making *m)
{
    const uint32_t key = WCODEC_CHECK_KEY((s->group + g) << !bytes);
    m->even = set64(key);
    m->odd = set64(key + WCODEC_CHECK_STEP);
    m->turn = set32(4 * (g % 2));
    m->back = set32(g % 2 ? 28 : 32);
}

INLINE vec make_bf16(const struct p8_making *m, vec symbols, const uint8_t *row)
{
    /* Four lanes' words, each doubled, its copy rotated by 8. */
    const vec doubled = _mm256_setr_epi8(0, 1, 2, 3, 1, 2, 3, 0, 4, 5, 6, 7, 5, 6, 7, 4, 8, 9, 10,
                                         11, 9, 10, 11, 8, 12, 13, 14, 15, 13, 14, 15, 12);
    return bit_or(mul16(symbols, m->place), bit_and(shuffle(repeat(row), doubled), m->mask));
}

/* Eight lanes' words. */
INLINE vec make_bytes(const struct p8_making *m, vec symbols, const uint8_t *row)
{
    const vec raw = load(row),
              turned = bit_or(_mm256_srlv_epi32(raw, m->turn), _mm256_sllv_epi32(raw, m->back));
    return sub8(bit_or(mul16(symbols, m->place), bit_and(turned, m->mask)), m->add);
}

/* Parts of symbols[i] are of lanes 4 i and 16 + 4 i on. */
INLINE void make_group(bool bytes, const struct p8_making *m, const vec symbols[4],
                       const uint8_t *row, vec v[8], uint64_t *sums)
{
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        if (bytes) {
            const vec first = symbols[2 * (i % 2)], second = symbols[2 * (i % 2) + 1];
            v[i] =
                make_bytes(m, i < 2 ? zip_parts_low(first, second) : zip_parts_high(first, second),
                           row + 32 * i);
            add_to_check(false, m->even, m->odd, i, v[i], sums);
            continue;
        }
        const vec low = zip_low8(symbols[i], zero()), high = zip_high8(symbols[i], zero());
        v[i] = make_bf16(m, zip_parts_low(low, high), row + 16 * i);
        v[4 + i] = make_bf16(m, zip_parts_high(low, high), row + 64 + 16 * i);
        add_to_check(true, m->even, m->odd, 0, v[i], sums + 4 * i);
        add_to_check(true, m->even, m->odd, 0, v[4 + i], sums + 16 + 4 * i);
    }
}

/* Elements of group g of a stream from its ranks, and its memory traffic. */
INLINE void put_group(bool bytes, const struct p8_making *m, const struct ranked *t,
                      const struct wcodec_cpu_stream *s, struct straight_stream *p,
                      const uint8_t *words, const vec rank[4], unsigned g, uint64_t *sums)
{
    const unsigned row_bytes = bytes ? 64 : 128, out_bytes = 2 * row_bytes,
                   registers = out_bytes / VEC_BYTES;
    const uint8_t *row = g < p->rows_end ? p->raw + (bytes ? g / 2 : g) * (size_t)128 : p->raw_last;
    const uintptr_t ahead = (uintptr_t)p->raw + (size_t)g * row_bytes + s->raw_ahead;
    uint8_t *to = p->elements + (size_t)g * out_bytes;
    vec symbols[4], v[8];
    __builtin_prefetch((const void *)((uintptr_t)words + s->words_ahead), 0, 2);
    __builtin_prefetch((const void *)ahead, 0, 2);
    if (!bytes)
        __builtin_prefetch((const void *)(ahead + 64), 0, 2);
    order_symbols(t, rank, symbols);
    make_group(bytes, m, symbols, row, v, sums);
    if (g < p->past_end) {
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
        find_patched(s, out_bytes, s->group + g + 1, p);
}

/* While a step of one stream is under way, elements of the stream before it are put together.
 * bytes, count and bounds are constants where this is inlined. */
INLINE void p8_straight(bool bytes, struct wcodec_cpu_stream *streams, unsigned count,
                        unsigned groups, unsigned bounds)
{
    struct ranked table[WCODEC_CPU_TILES];
    struct p8_lanes lanes[WCODEC_CPU_TILES];
    struct straight_stream own[WCODEC_CPU_TILES];
    vec rank[WCODEC_CPU_TILES][4];
    _Alignas(64) uint64_t sums[WCODEC_CPU_TILES][WCODEC_LANES] = {{0}};
    uint64_t *to[WCODEC_CPU_TILES];
    struct p8_making making = {.mask = set32(streams->assembly->plane_mask[0]),
                               .place = set16((uint16_t)(1u << streams->assembly->shift[0])),
                               .add = set32(streams->assembly->add)};
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < 4; k++)
            rank[i][k] = zero();
        load_ranked(streams[i].table, bounds, &table[i]);
        load_states(&streams[i], &lanes[i]);
        begin_straight(&streams[i], bytes ? 128 : 256, &own[i]);
        to[i] = bytes ? sums[i] : streams[i].sums;
    }
    const unsigned last = count - 1;
    next_making(bytes, streams, 0, &making);
    for (unsigned g = 0; g < groups; g++) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < 2 * count; k++) {
            const unsigned before = (k + 2 * count - 1) % (2 * count), i = before % count;
            vec *next = &rank[k % count][k / count * 2];
            if (count > 1)
                p8_step(&table[k % count], bounds, &lanes[k % count], next, next + 1);
            if (before / count == 1 && (k > 0 || g > 0))
                put_group(bytes, &making, &table[i], &streams[i], &own[i], lanes[i].words, rank[i],
                          k > 0 ? g : g - 1, to[i]);
            if (k == 0 && g > 0)
                next_making(bytes, streams, g, &making);
            if (count == 1)
                p8_step(&table[0], bounds, &lanes[0], next, next + 1);
        }
    }
    put_group(bytes, &making, &table[last], &streams[last], &own[last], lanes[last].words,
              rank[last], groups - 1, to[last]);
    for (unsigned i = 0; i < count; i++) {
        store_states(&streams[i], &lanes[i]);
        if (bytes)
            add_lanes(sums[i], streams[i].sums);
    }
}

INLINE void p8_straight_by(bool bytes, struct wcodec_cpu_stream *streams, unsigned count,
                           unsigned groups, unsigned bounds)
{
    if (count == 3)
        p8_straight(bytes, streams, 3, groups, bounds);
    else if (count == 2)
        p8_straight(bytes, streams, 2, groups, bounds);
    else
        for (unsigned i = 0; i < count; i++)
            p8_straight(bytes, streams + i, 1, groups, bounds);
}

INLINE void p8_elements(bool bytes, struct wcodec_cpu_stream *streams, unsigned count,
                        unsigned groups)
{
    const unsigned bounds = wcodec_cpu_most_bounds(streams, count);
    if (bounds <= 1)
        p8_straight_by(bytes, streams, count, groups, 1);
    else if (bounds == 2)
        p8_straight_by(bytes, streams, count, groups, 2);
    else
        p8_straight_by(bytes, streams, count, groups, WCODEC_CPU_BOUNDS);
}

static void p8_bf16(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    p8_elements(false, streams, count, groups);
}

static void p8_nibble(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    p8_elements(true, streams, count, groups);
}

#endif
