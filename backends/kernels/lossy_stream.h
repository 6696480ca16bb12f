/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a tile of a lossy tensor is read from, into shared memory: its one or two streams of coded
 * bytes, a unit of groups at a time, and raw bits below them. */
#ifndef WCODEC_KERNELS_LOSSY_STREAM_H
#define WCODEC_KERNELS_LOSSY_STREAM_H

#include "backends/kernels/lossy.h"
#include "backends/kernels/tile_fast.h"

/* A stream of coefficients, or of their lower or upper bytes. */
struct wcodec_lossy_stream {
    struct wcodec_ring_stream in;
    uint32_t x; /* the state */
    uint32_t lanes_below;
    uint32_t ones;
    uint32_t table;      /* shared address of the first one */
    uint32_t run_tables; /* of a byte for each group: four times its table, and 1 if that has one
                            symbol only */
    uint32_t staged;     /* of the unit's bytes */
    uint32_t window;     /* pairs with entries of four bytes: the first value, four times */
    uint32_t patched;    /* outliers that are in place */
    uint32_t position;   /* the lane's of the 32 after them, loaded before they are needed */
    uint32_t value;
};

WCODEC_DEVICE_FUNCTION void
wcodec_lossy_stream_begin(const struct wcodec_kind k, const uint32_t stream,
                          struct wcodec_warp *warp, const struct wcodec_launch *launch,
                          struct wcodec_lossy_stream *s, uint32_t ring, uint64_t words,
                          uint32_t count, uint64_t states)
{
    s->ones = launch->ones;
    wcodec_stream_open(k, stream, warp, &s->in, ring, words, count, 0, 0);
    s->x = WCODEC_BUFFER(warp, uint32_t, states)[wcodec_lane(warp)];
}

/* Nothing is decoded, but what is saved is the same for all lanes. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_stream_none(struct wcodec_warp *warp,
                                                     struct wcodec_lossy_stream *s)
{
    s->in.part = s->in.load = 16 * wcodec_lane(warp);
    s->in.ring = s->in.at = s->in.next = s->in.limit = 0;
    s->in.from = 0;
    s->ones = ~0u;
    s->x = WCODEC_STATE_LOW;
}

/* What a lane's number says: found again for each unit, rather than held in registers. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_stream_lane(struct wcodec_warp *warp,
                                                     const struct wcodec_launch *launch,
                                                     struct wcodec_lossy_stream *s)
{
    s->in.part = 16 * wcodec_lane(warp);
    s->lanes_below = wcodec_lanes_below(warp, launch);
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_stream_prepare(struct wcodec_lossy_stream *s,
                                                        uint32_t table, uint32_t run_tables,
                                                        uint32_t staged)
{
    s->table = table;
    s->run_tables = run_tables;
    s->staged = staged;
    s->patched = 0;
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_load_runs(struct wcodec_warp *warp,
                                                   const struct wcodec_lossy_stream *s,
                                                   const WCODEC_GLOBAL uint8_t *runs,
                                                   const WCODEC_GLOBAL struct wcodec_table_set *set,
                                                   uint32_t groups)
{
    const uint32_t bits = set->run_bits, log2 = set->run_log2 - 7;
    for (uint32_t g = wcodec_lane(warp); g < groups; g += 32) {
        const uint32_t bit = (g >> log2) * bits,
                       number = runs[bit / 8] >> bit % 8 & ((1u << bits) - 1),
                       first = wcodec_shared_u32(warp, s->table + number * 1024);
        wcodec_put_u8(warp, s->run_tables + g, number * 4 | (first >> 24 == 0));
    }
}

/* A group: the lane's four bytes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_word(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  struct wcodec_lossy_stream *s, uint32_t table)
{
    const struct wcodec_offsets none = {0, 0};
    uint32_t v[4];
    wcodec_symbols(k, warp, &s->x, &s->in.at, s->lanes_below, table, s->ones, v);
    const uint32_t e = wcodec_assemble_bytes(k, &none, 0, v, v);
    return k.pairs && !k.wide ? (e & 0x0f0f0f0fu << k.field) + s->window : e;
}

/* What a table of one symbol only says, four times. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_constant(struct wcodec_warp *warp, uint32_t table)
{
    return (wcodec_shared_u32(warp, table) & 0xffu) * 0x01010101u;
}

/* Four groups, the lane's words 128 bytes apart. Of tables of one symbol nothing is read. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_decode_runs(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     struct wcodec_lossy_stream *s, uint32_t tables,
                                                     uint32_t to)
{
    const uint32_t step = k.block_words / 128;
    if (!wcodec_any(warp, tables & 0x01010101u)) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t table = s->table + wcodec_bytes(tables, 0, 0x4404 | i << 4);
            if (i % step == 0)
                wcodec_stream_begin_words(k, 0, warp, &s->in);
            wcodec_put_u32(warp, to + 128 * i, wcodec_lossy_word(k, warp, s, table));
        }
        return;
    }
    WCODEC_UNROLL_NONE
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t run = tables >> 8 * i & 0xffu, table = s->table + ((run & 0xfcu) << 8);
        if (wcodec_any(warp, run & 1)) {
            wcodec_put_u32(warp, to + 128 * i, wcodec_lossy_constant(warp, table));
        } else {
            wcodec_stream_begin_words(k, 0, warp, &s->in);
            wcodec_put_u32(warp, to + 128 * i, wcodec_lossy_word(k, warp, s, table));
        }
    }
}

/* Groups [g, g + n); with runs g and n are multiples of four. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_decode_groups(const struct wcodec_kind k,
                                                       struct wcodec_warp *warp,
                                                       struct wcodec_lossy_stream *s, uint32_t g,
                                                       uint32_t n)
{
    /* Without runs their words are no more than block_words; with runs words are asked for more
     * often where these are fewer. */
    const uint32_t step = k.p12 ? 2 : 4;
    uint32_t to = s->staged + 4 * wcodec_lane(warp);
    const uint32_t end = to + 128 * n, whole = to + n / step * step * 128;
    WCODEC_UNROLL_NONE
    for (; to != whole; g += step, to += 128 * step) {
        if (k.runs) {
            wcodec_lossy_decode_runs(k, warp, s, wcodec_shared_u32(warp, s->run_tables + g), to);
            continue;
        }
        wcodec_stream_begin_words(k, 0, warp, &s->in);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < step; i++)
            wcodec_put_u32(warp, to + 128 * i, wcodec_lossy_word(k, warp, s, s->table));
    }
    if (k.runs)
        return;
    WCODEC_UNROLL_NONE
    for (; to != end; to += 128) {
        wcodec_stream_begin_words(k, 0, warp, &s->in);
        wcodec_put_u32(warp, to, wcodec_lossy_word(k, warp, s, s->table));
    }
}

/* Sixteen groups of the second stream from g on, of which most have tables of one symbol: what
 * these say is there from the sixteen before, if they have the same tables and nothing was changed.
 */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_decode_sparse(const struct wcodec_kind k,
                                                       struct wcodec_warp *warp,
                                                       struct wcodec_lossy_stream *s, uint32_t g,
                                                       bool changed)
{
    const uint32_t lane = wcodec_lane(warp), runs = s->run_tables + g, to = s->staged + 4 * lane,
                   own = wcodec_shared_u8(warp, runs + lane % 16),
                   before = g ? wcodec_shared_u8(warp, runs - 16 + lane % 16) : ~own;
    uint32_t coded = wcodec_ballot(warp, lane < 16 && !(own & 1));
    if (wcodec_any(warp, changed || own != before)) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 16; i++) {
            const uint32_t run = wcodec_shared_u8(warp, runs + i),
                           table = s->table + ((run & 0xfcu) << 8);
            wcodec_put_u32(warp, to + 128 * i, wcodec_lossy_constant(warp, table));
        }
    }
    for (; coded; coded &= coded - 1) {
        const uint32_t i = wcodec_first_bit(coded),
                       table = s->table + (wcodec_shared_u8(warp, runs + i) << 8);
        wcodec_stream_begin_words(k, 1, warp, &s->in);
        wcodec_put_u32(warp, to + 128 * i, wcodec_lossy_word(k, warp, s, table));
    }
}

/* The stream's next 32 outliers, one a lane. */
WCODEC_DEVICE_FUNCTION void
wcodec_lossy_load_outliers(struct wcodec_warp *warp, struct wcodec_lossy_stream *s,
                           const WCODEC_VIEW struct wcodec_stream_job *job)
{
    const uint32_t i = s->patched + wcodec_lane(warp);
    s->position = ~0u;
    s->value = 0;
    if (i < job->outliers) {
        s->position = WCODEC_BUFFER(warp, uint16_t, job->positions)[i];
        s->value = WCODEC_BUFFER(warp, uint8_t, job->values)[i];
    }
}

/* Outliers of `elements` from `first` on, after wcodec_lossy_load_outliers(), into the unit's
 * bytes; returns whether there are any. Whether they are in order is seen later. shift: of a symbol
 * in its byte. */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_patch(struct wcodec_warp *warp,
                                               struct wcodec_lossy_stream *s,
                                               const WCODEC_VIEW struct wcodec_stream_job *job,
                                               uint32_t first, uint32_t elements, uint32_t shift)
{
    uint32_t here = wcodec_ballot(warp, s->position - first < elements);
    if (here == 0)
        return false;
    wcodec_sync_warp(warp);
    for (;;) {
        if (s->position - first < elements)
            wcodec_put_u8(warp, s->staged + (s->position - first), s->value << shift);
        s->patched += WCODEC_POPCOUNT(here);
        if (here != ~0u)
            break;
        wcodec_lossy_load_outliers(warp, s, job);
        here = wcodec_ballot(warp, s->position - first < elements);
    }
    wcodec_sync_warp(warp);
    return true;
}

/* Are positions in order, and of elements that there are, and values of `width` bits? */
WCODEC_DEVICE_FUNCTION bool
wcodec_lossy_outliers_good(struct wcodec_warp *warp,
                           const WCODEC_VIEW struct wcodec_stream_job *job, uint32_t elements,
                           uint32_t width)
{
    const uint32_t count = job->outliers;
    bool good = true;
    if (count == 0)
        return true;
    const WCODEC_GLOBAL uint16_t *positions = WCODEC_BUFFER(warp, uint16_t, job->positions);
    const WCODEC_GLOBAL uint8_t *values = WCODEC_BUFFER(warp, uint8_t, job->values);
    for (uint32_t i = wcodec_lane(warp); i < count; i += 32)
        good = good && positions[i] < elements && values[i] >> width == 0 &&
               (i == 0 || positions[i - 1] < positions[i]);
    return wcodec_all(warp, good);
}

/* What is the same for all lanes is kept in shared memory, WCODEC_LOSSY_SAVED bytes, while
 * registers are needed for something else. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_save(struct wcodec_warp *warp,
                                              const struct wcodec_lossy_stream *s, uint32_t to)
{
    const uint64_t from = (uint64_t)(uintptr_t)s->in.from;
    wcodec_sync_warp(warp); /* what was saved before has been read */
    wcodec_put_u4(
        warp, to,
        wcodec_make_u4(s->in.at, s->in.next, s->in.load - 16 * wcodec_lane(warp), s->patched));
    wcodec_put_u4(warp, to + 16,
                  wcodec_make_u4((uint32_t)from, (uint32_t)(from >> 32), s->in.limit, s->in.ring));
    wcodec_put_u4(warp, to + 32, wcodec_make_u4(s->table, s->run_tables, s->staged, 0));
    wcodec_sync_warp(warp);
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_restore(struct wcodec_warp *warp,
                                                 struct wcodec_lossy_stream *s, uint32_t from)
{
    const wcodec_u4 a = wcodec_shared_u4(warp, from), b = wcodec_shared_u4(warp, from + 16),
                    c = wcodec_shared_u4(warp, from + 32);
    s->in.at = a.x;
    s->in.next = a.y;
    s->in.load = a.z + 16 * wcodec_lane(warp);
    s->patched = a.w;
    s->in.from = (const WCODEC_GLOBAL uint8_t *)(uintptr_t)((uint64_t)b.y << 32 | b.x);
    s->in.limit = b.z;
    s->in.ring = b.w;
    s->table = c.x;
    s->run_tables = c.y;
    s->staged = c.z;
}

WCODEC_DEVICE_FUNCTION bool wcodec_lossy_all_taken(const struct wcodec_kind k,
                                                   const uint32_t stream,
                                                   const struct wcodec_lossy_stream *s,
                                                   const WCODEC_VIEW struct wcodec_stream_job *job)
{
    return wcodec_stream_taken(k, stream, &s->in, WCODEC_WORD_ADDRESS(job)) == 2 * job->word_count;
}

#endif
