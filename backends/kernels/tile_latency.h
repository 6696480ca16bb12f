/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Latency kernels, for batches so small that each tile has a warp and most of a scheduler for
 * itself: then the time is that of the chain from one step to the next. A tile's words are all
 * there from the beginning, and what a word does to the lane that takes it is known but for the
 * lane's state: the table entry is that of the word's lowest bits, and with P8 the second entry is
 * that of bits which come from the word alone (latency_step.h). So entries are looked up for all
 * words at once, by several warps, and in the chain there is no table for lanes that take a word;
 * others look at it while these wait for their vote. */
#ifndef WCODEC_KERNELS_TILE_LATENCY_H
#define WCODEC_KERNELS_TILE_LATENCY_H

#include "backends/kernels/tile_fast.h"

/* Shared addresses of a tile's parts, by the most that a tile of the launch has. */
struct wcodec_latency {
    struct wcodec_fast fast;
    uint32_t symbols, table, words, steps, entries, raw;
    uint32_t skip;  /* bytes that are copied before the first word */
    uint32_t at;    /* shared address of what the next word does */
    uint32_t limit; /* the same of the second after the last */
    uint32_t taken; /* bytes of words, at the end */
    uint32_t word_count, outliers, slot, check;
};

/* tile: number in the work-group. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_layout(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  struct wcodec_latency *t, uint32_t tile)
{
    const struct wcodec_launch *launch = t->fast.launch;
    const uint32_t many = launch->words + WCODEC_LATENCY_SPARE, begin = wcodec_tables_at(warp);
    t->symbols = begin;
    t->table = k.p8 ? begin : begin + 1024;
    t->words = begin + wcodec_latency_tables_size(k) +
               tile * wcodec_latency_tile_size(k, launch->words, launch->groups);
    t->steps = t->words + 2 * many;
    t->entries = t->steps + 8 * many;
    t->raw = t->entries + 4 * many;
}

/* Ask for all that tile `number` needs: `part` of the `parts` threads that copy. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_begin(const struct wcodec_kind k,
                                                 struct wcodec_warp *warp, struct wcodec_latency *t,
                                                 const struct wcodec_tile_job *job, uint32_t number,
                                                 uint32_t part, uint32_t parts)
{
    struct wcodec_fast *f = &t->fast;
    const uint64_t words = WCODEC_WORD_ADDRESS(job), raw = job->raw;
    f->number = number;
    t->word_count = job->word_count;
    t->outliers = job->outliers;
    t->slot = job->slot;
    t->check = job->check;
    f->groups = f->launch->groups;
    f->out = WCODEC_BUFFER_OUT(warp, uint8_t, f->launch->out + job->out) +
             wcodec_lane(warp) * (4 * k.bytes);
    t->skip = (uint32_t)words & 15;
    f->x = wcodec_load_u32(WCODEC_BUFFER(warp, uint8_t, job->states) + 4 * wcodec_lane(warp));
    const uint32_t size = t->word_count ? t->skip + 2 * t->word_count : 0;
    const WCODEC_GLOBAL uint8_t *from = WCODEC_BUFFER(warp, uint8_t, words - t->skip);
    for (uint32_t i = 16 * part; i < size; i += 16 * parts)
        wcodec_copy_16(warp, t->words + i, from, i, WCODEC_COPY_LIMIT(size));
    if (k.rows > 0) {
        const uint32_t raw_size = wcodec_raw_size(k, f->groups);
        const WCODEC_GLOBAL uint8_t *raw_from = WCODEC_BUFFER(warp, uint8_t, raw);
        for (uint32_t i = 16 * part; i < raw_size; i += 16 * parts)
            wcodec_copy_16(warp, t->raw + i, raw_from, i, WCODEC_COPY_LIMIT(raw_size));
    }
    wcodec_outliers_load(warp, &f->patches, job->positions, job->values, job->outliers, 0);
}

/* Of each word: what the next state is multiplied with and what is added, and what is decoded. The
 * last word's by several threads, all the same. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_expand(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_latency *t, uint32_t part,
                                                  uint32_t parts)
{
    enum { BATCH = 6 };
    const uint32_t slots = k.p8 ? 0xffu : 0xfffu, last = t->word_count - 1;
    for (uint32_t first = part; first < t->word_count; first += BATCH * parts) {
        uint32_t w[BATCH], e[BATCH];
        struct wcodec_latency_step step[BATCH];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < BATCH; i++) {
            const uint32_t n = first + i * parts;
            w[i] = wcodec_shared_u16(warp, t->words + t->skip + 2 * (n < last ? n : last));
        }
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < BATCH; i++)
            e[i] = wcodec_shared_u32(warp, t->table + (w[i] & slots) * 4);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < BATCH; i++)
            step[i] = k.p8 ? wcodec_latency_first(w[i], e[i]) : wcodec_latency_pair(w[i], e[i]);
        if (k.p8) {
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < BATCH; i++)
                e[i] = wcodec_shared_u32(warp, t->table + (step[i].plus & slots) * 4);
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < BATCH; i++)
                step[i] = wcodec_latency_second(step[i], e[i]);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < BATCH; i++) {
            const uint32_t n = first + i * parts, to = n < last ? n : last;
            wcodec_put_u2(warp, t->steps + 8 * to, wcodec_make_u2(step[i].factor, step[i].plus));
            wcodec_put_u32(warp, t->entries + 4 * to, step[i].entry);
        }
    }
}

/* Decode what a lane knows nothing of before: by its state alone. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_latency_look_up(const struct wcodec_kind k,
                                                       struct wcodec_warp *warp, uint32_t table,
                                                       uint32_t *x)
{
    const uint32_t e = wcodec_shared_u32(warp, table + (*x & (k.p8 ? 0xffu : 0xfffu)) * 4);
    if (!k.p8) {
        *x = wcodec_entry_step(*x, e, 12);
        return e;
    }
    *x = wcodec_p8_step(*x, e);
    const uint32_t second = wcodec_shared_u32(warp, table + (*x & 0xffu) * 4);
    *x = wcodec_p8_step(*x, second);
    return wcodec_latency_symbols(e, second);
}

/* Lanes whose state is low take words; all go on with the next pair, whose entry is returned, or
 * with two symbols. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_latency_next(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    struct wcodec_latency *t)
{
    struct wcodec_fast *f = &t->fast;
    uint32_t e;
#ifdef WCODEC_PTX
    (void)warp;
    uint32_t x = f->x, at = t->at;
    if (k.p8)
        WCODEC_LATENCY_STEP(WCODEC_LATENCY_P8, x, at, e, f->lanes_below, t->entries - t->steps / 2,
                            t->table, t->limit, ~f->launch->ones);
    else
        WCODEC_LATENCY_STEP(WCODEC_LATENCY_PAIRS, x, at, e, f->lanes_below,
                            t->entries - t->steps / 2, t->table, t->limit, ~f->launch->ones);
    f->x = x;
    t->at = at;
#else
    const bool low = f->x < WCODEC_STATE_LOW;
    const uint32_t mask = wcodec_ballot(warp, low),
                   word = t->at + 8 * WCODEC_POPCOUNT(mask & f->lanes_below);
    if (low) {
        const wcodec_u2 step = wcodec_shared_u2(warp, word);
        f->x = step.x * f->x + step.y;
        e = wcodec_shared_u32(warp, t->entries + (word - t->steps) / 2);
    } else {
        e = wcodec_latency_look_up(k, warp, t->table, &f->x);
    }
    const uint32_t next = t->at + 8 * WCODEC_POPCOUNT(mask);
    t->at = next < t->limit ? next : t->limit;
#endif
    return e;
}

/* An entry as wcodec_assemble() takes it: of two symbols, the second stands in the upper half. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_entry(const struct wcodec_kind k, uint32_t e,
                                                 uint32_t *v)
{
    v[0] = k.p8 ? e & 0xffu : e;
    v[1] = e >> 16;
}

/* After the last pair there is nothing to decode: the state itself is wanted. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_last_words(struct wcodec_warp *warp,
                                                      struct wcodec_latency *t)
{
    uint32_t word = t->words + t->skip + (t->at - t->steps) / 4;
    wcodec_renormalise(warp, &t->fast.x, &word, t->fast.lanes_below);
    t->taken = word - t->words - t->skip;
}

/* Raw words of the block that begins with group g. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_raw(const struct wcodec_kind k, struct wcodec_warp *warp,
                                               const struct wcodec_latency *t, uint32_t g,
                                               const bool last, uint32_t *r)
{
    const uint32_t lane = wcodec_lane(warp), own = t->raw + 4 * lane,
                   first = own + g * k.group_bytes, groups = t->fast.groups;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.rows; i++) {
        if (i < k.first)
            r[i] = last && i == k.first - 1 ? wcodec_shared_u16(warp, first + i * 128 - 2 * lane)
                                            : wcodec_shared_u32(warp, first + i * 128);
        else if (k.shape == WCODEC_SHAPE_32_24)
            r[i] = wcodec_shared_u32(warp, own + wcodec_plane_offset(k, 1, groups) +
                                               (g + i - k.first) * 128);
        else
            r[i] = wcodec_shared_u32(
                warp, own + (i == k.first ? wcodec_plane_offset(k, 1, groups) + g / 4 * 128
                                          : wcodec_plane_offset(k, 2, groups) + g / 8 * 128));
    }
}

/* A block of groups, of which g is the first; e: its first entry, then that of the next block. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_block(const struct wcodec_kind k,
                                                 struct wcodec_warp *warp, struct wcodec_latency *t,
                                                 uint32_t g, const bool last, uint32_t *e)
{
    struct wcodec_fast *f = &t->fast;
    uint32_t r[WCODEC_ROWS_MOST];
    wcodec_latency_raw(k, warp, t, g, last, r);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.groups; i++) {
        uint32_t v[4], o[4];
        wcodec_latency_entry(k, *e, v);
        wcodec_latency_entry(k, wcodec_latency_next(k, warp, t), v + 2);
        if (last && i == k.groups - 1)
            wcodec_latency_last_words(warp, t);
        else
            *e = wcodec_latency_next(k, warp, t);
        if (last && k.rows > 0)
            wcodec_take_payload(k, i, f->x, r);
        wcodec_assemble(k, &f->of, i, k.shape == WCODEC_SHAPE_16_11 ? g % 8 + i : 0, v, r, o);
        wcodec_fast_put(k, warp, f, i, o);
    }
    f->out += k.groups * 128 * k.bytes;
    f->factor += k.groups * k.bytes * WCODEC_CHECK_STEP;
}

/* Entries of all words are there. base: of the set. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_decode(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  struct wcodec_latency *t, uint32_t base)
{
    struct wcodec_fast *f = &t->fast;
    const uint32_t groups = f->launch->groups;
    f->lanes_below = (1u << wcodec_lane(warp)) - 1;
    wcodec_offsets_of(k, 0, base, 0, &f->of);
    f->low_start = f->x < WCODEC_STATE_LOW;
    f->sum = 0;
    f->factor = WCODEC_CHECK_FIRST;
    t->at = t->steps;
    t->limit = t->steps + 8 * (t->word_count + 1);
    wcodec_fast_check_outliers(k, warp, f);
    uint32_t e = wcodec_latency_look_up(k, warp, t->table, &f->x), g = 0;
    WCODEC_UNROLL_NONE
    for (; g + k.groups < groups; g += k.groups)
        wcodec_latency_block(k, warp, t, g, false, &e);
    wcodec_latency_block(k, warp, t, g, true, &e);
    wcodec_fast_patch(k, warp, f, groups * 128, groups);
    uint32_t fault = wcodec_fast_stream_fault(k, warp, f, t->word_count, t->taken);
    if (!fault && (f->bad_outliers || !wcodec_outliers_all(warp, &f->patches)))
        fault = WCODEC_TILE_OUTLIER;
    wcodec_fast_finish(warp, f->launch, f->sum, t->slot, t->check, fault);
}

/* 16 entries of a table of pairs: of a symbol for each slot, and for each symbol what an entry is
 * less its slot. The table itself would be the same 16 KB read by all work-groups at once. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_make_entries(struct wcodec_warp *warp,
                                                        const struct wcodec_latency *t, uint32_t n,
                                                        wcodec_u4 slots)
{
    const uint32_t four[4] = {slots.x, slots.y, slots.z, slots.w}, slot = 16 * n;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t e[4];
        WCODEC_UNROLL_ALL
        for (uint32_t j = 0; j < 4; j++)
            e[j] = wcodec_shared_u32(warp, t->symbols + 4 * wcodec_bytes(four[i], 0, 0x4440 + j)) +
                   slot + 4 * i + j;
        wcodec_put_u4(warp, t->table + 4 * slot + 16 * i, wcodec_make_u4(e[0], e[1], e[2], e[3]));
    }
}

/* What the table is made of, a 256th of it: of pairs a symbol for each of 16 slots, and one
 * symbol's word; of P8 an entry. */
struct wcodec_latency_source {
    wcodec_u4 slots;
    uint32_t symbol;
};

WCODEC_DEVICE_FUNCTION void wcodec_latency_ask_table(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_launch *launch, uint32_t n,
                                                     struct wcodec_latency_source *from)
{
    const WCODEC_GLOBAL uint8_t *parts = WCODEC_BLOCK(warp, uint8_t, launch->parts),
                                *entries = wcodec_set_entries(
                                    WCODEC_BLOCK(warp, struct wcodec_table_set, launch->tables));
    if (n >= 256)
        return;
    if (k.pairs)
        from->slots = wcodec_load_u4(parts + 16 * n);
    from->symbol = wcodec_load_u32((k.pairs ? parts + 4096 : entries) + 4 * n);
}

/* The table, or of pairs first each symbol's word: what a thread has asked for, and where there are
 * less than 256 threads the rest. shift: of the set. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_put_symbols(const struct wcodec_kind k,
                                                       struct wcodec_warp *warp,
                                                       const struct wcodec_latency *t,
                                                       const struct wcodec_latency_source *from,
                                                       uint32_t shift)
{
    struct wcodec_latency_source other = *from;
    uint32_t n = wcodec_thread(warp);
    if (n < 256)
        wcodec_put_u32(warp, t->symbols + 4 * n,
                       k.pairs ? from->symbol : wcodec_ready_entry(k, from->symbol, shift, 0));
    WCODEC_UNROLL_NONE
    for (n += wcodec_threads(warp); n < 256; n += wcodec_threads(warp)) {
        wcodec_latency_ask_table(k, warp, t->fast.launch, n, &other);
        wcodec_put_u32(warp, t->symbols + 4 * n,
                       k.pairs ? other.symbol : wcodec_ready_entry(k, other.symbol, shift, 0));
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_latency_put_pairs(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_latency *t,
                                                     const struct wcodec_latency_source *from)
{
    struct wcodec_latency_source other = *from;
    uint32_t n = wcodec_thread(warp);
    if (n < 256)
        wcodec_latency_make_entries(warp, t, n, from->slots);
    WCODEC_UNROLL_NONE
    for (n += wcodec_threads(warp); n < 256; n += wcodec_threads(warp)) {
        wcodec_latency_ask_table(k, warp, t->fast.launch, n, &other);
        wcodec_latency_make_entries(warp, t, n, other.slots);
    }
}

/* Each tile's `helpers` warps copy and look up together; one of them decodes. Work-groups on one
 * processor decode by different ones of its schedulers: every `units`th is on the same. */
WCODEC_DEVICE_FUNCTION void wcodec_latency_kernel(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_launch *launch)
{
    const uint32_t number = wcodec_warp_number(warp), tiles = launch->tiles,
                   helper = number * launch->inverse >> 16, own = number - helper * tiles,
                   parts = launch->helpers * 32;
    const uint32_t index = wcodec_group(warp) * tiles + own, thread = wcodec_thread(warp),
                   part = helper * 32 + (thread & 31);
    const bool is_there = index < launch->count;
    const WCODEC_GLOBAL struct wcodec_table_set *set =
        WCODEC_BLOCK(warp, struct wcodec_table_set, launch->tables);
    struct wcodec_tile_job job;
    wcodec_load_job(wcodec_job_at(warp, launch, launch->first + (is_there ? index : 0)), &job);
    /* its entries, shift, width, base */
    const wcodec_u4 head = wcodec_load_u4((const WCODEC_GLOBAL uint8_t *)set);
    struct wcodec_latency_source from;
    struct wcodec_latency tile;
    tile.fast.launch = launch;
    wcodec_latency_layout(k, warp, &tile, own);
    wcodec_latency_ask_table(k, warp, launch, thread, &from);
    if (is_there)
        wcodec_latency_begin(k, warp, &tile, &job, launch->first + index, part, parts);
    wcodec_copy_commit(warp);
    wcodec_latency_put_symbols(k, warp, &tile, &from, head.y);
    if (k.pairs) {
        wcodec_sync_group(warp);
        wcodec_latency_put_pairs(k, warp, &tile, &from);
    }
    wcodec_copy_wait(warp);
    wcodec_sync_group(warp);
    if (is_there)
        wcodec_latency_expand(k, warp, &tile, part, parts);
    wcodec_sync_group(warp);
    if (wcodec_any(warp,
                   is_there && helper == wcodec_group(warp) / launch->units % launch->helpers))
        wcodec_latency_decode(k, warp, &tile, head.w);
}

#endif
