/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles of one coded field of the common element layouts, a warp a tile: the code of one lane. The
 * host has validated the structure; words, states, raw bits and outliers may be anything. */
#ifndef WCODEC_KERNELS_TILE_FAST_H
#define WCODEC_KERNELS_TILE_FAST_H

#include "backends/kernels/elements.h"
#include "backends/kernels/launch.h"
#include "backends/kernels/outliers.h"
#include "backends/kernels/stream.h"
#include "backends/kernels/tables.h"

struct wcodec_fast {
    const struct wcodec_launch *launch;
    struct wcodec_ring_stream in;
    uint32_t number; /* of its job */
    uint32_t x;      /* the state */
    uint32_t lanes_below;
    uint32_t groups;
    uint32_t middle; /* groups in blocks, without the last block of a whole tile */
    bool whole;      /* it is blocks only, and aligned */
    bool low_start;
    bool bad_outliers;
    uint32_t table;      /* shared address of the lane's entries */
    uint32_t run_tables; /* of 16 bits for each group: its table, less `table` */
    struct wcodec_offsets of;
    WCODEC_GLOBAL uint8_t *out; /* where the lane's next elements go */
    uint64_t sum;               /* of the check */
    uint32_t factor;            /* of its next word */
    uint32_t staged;            /* staged: shared address of the lane's word of the next group */
    struct wcodec_outliers patches;
    uint32_t stride; /* in fragments: of the matrix's rows */
};

/* Staged groups: two to 272 bytes (stage.h). i: number in a block. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_stage(struct wcodec_warp *warp, const struct wcodec_fast *f,
                                              uint32_t i, uint32_t o)
{
    wcodec_put_u32(warp, f->staged + i / 2 * 272 + i % 2 * 128, o);
}

WCODEC_DEVICE_FUNCTION void wcodec_fast_drop_outliers(struct wcodec_fast *f)
{
    wcodec_outliers_drop(&f->patches);
    f->bad_outliers = true;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_add(const struct wcodec_kind k,
                                                struct wcodec_warp *warp)
{
    return k.add ? wcodec_part_set(warp)->add : 0;
}

/* Outliers of elements before `end`, which are all stored. g: groups before `out`. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_patch(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              struct wcodec_fast *f, uint32_t end, uint32_t g)
{
    for (;;) {
        if (f->patches.left && !wcodec_any(warp, f->patches.own != WCODEC_NO_OUTLIER) &&
            !(wcodec_outliers_next(warp, &f->patches, wcodec_job_at(warp, f->launch, f->number)) &&
              wcodec_outliers_check(k, warp, &f->patches)))
            wcodec_fast_drop_outliers(f);
        if (!wcodec_outliers_before(warp, &f->patches, end))
            return;
        if (k.family == WCODEC_FAMILY_FRAGMENTS)
            wcodec_outliers_patch(
                k, warp, &f->patches, end,
                WCODEC_BUFFER_OUT(warp, uint8_t,
                                  f->launch->out + wcodec_job_at(warp, f->launch, f->number)->out),
                f->stride, wcodec_fast_add(k, warp), &f->sum);
        else
            wcodec_outliers_patch(k, warp, &f->patches, end,
                                  f->out - (g * 128 + wcodec_lane(warp) * 4) * k.bytes, 0,
                                  wcodec_fast_add(k, warp), &f->sum);
    }
}

/* The outliers of a group whose elements are in o, however many there are, of a tile that was
 * checked before. end: of the group. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_replace(const struct wcodec_kind k,
                                                struct wcodec_warp *warp, struct wcodec_fast *f,
                                                uint32_t end, uint32_t *o)
{
    for (;;) {
        wcodec_outliers_replace(k, warp, &f->patches, end, 0, o);
        if (!f->patches.left || wcodec_any(warp, f->patches.own != WCODEC_NO_OUTLIER))
            return;
        wcodec_outliers_next(warp, &f->patches, wcodec_job_at(warp, f->launch, f->number));
    }
}

/* Group i of a block. A staged one's check is of what is there when outliers are, too. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_put(const struct wcodec_kind k, struct wcodec_warp *warp,
                                            struct wcodec_fast *f, uint32_t i, const uint32_t *o)
{
    if (k.staged) {
        wcodec_fast_stage(warp, f, i, o[0]);
        return;
    }
    wcodec_store_elements(k, f->out + i * 128 * k.bytes, o);
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < k.bytes; j++)
        f->sum += (uint64_t)o[j] * (f->factor + (k.bytes * i + j) * WCODEC_CHECK_STEP);
}

/* In fragments groups i and i + 2 of four are the halves of what a lane has of a row. kept: of the
 * first two groups. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_put_fragment(const struct wcodec_kind k,
                                                     struct wcodec_fast *f, uint32_t i,
                                                     const uint32_t *o, uint32_t *kept)
{
    const uint32_t lower = i % 2; /* the rows eight further down? */
    WCODEC_GLOBAL uint8_t *to = f->out + lower * 8 * f->stride + i / 4 * 32 * k.bytes;
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < k.bytes; j++) {
        f->sum += (uint64_t)o[j] * (f->factor + (k.bytes * i + j) * WCODEC_CHECK_STEP);
        if (i % 4 < 2)
            kept[2 * lower + j] = o[j];
    }
    if (i % 4 < 2)
        return;
    if (k.bytes == 2)
        wcodec_store_once_u4(to, kept[2 * lower], kept[2 * lower + 1], o[0], o[1]);
    else
        wcodec_store_u2(to, kept[2 * lower], o[0]);
}

/* Raw words of the block that begins with group g, of which the last row of the first plane is
 * stored by half where `last` is. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_raw(const struct wcodec_kind k, struct wcodec_warp *warp,
                                            const struct wcodec_fast *f, uint32_t g,
                                            const bool last, uint32_t *r)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.rows; i++)
        r[i] = last && k.payload && i == k.first - 1
                   ? wcodec_shared_u16(warp, f->in.row + i * 128 - 2 * wcodec_lane(warp))
                   : wcodec_shared_u32(warp, f->in.row + i * 128);
    if (k.low && k.shape != WCODEC_SHAPE_8_2) /* the plane of one bit */
        r[k.rows - 1] = wcodec_rotate_right(r[k.rows - 1], g & 4);
}

/* Tables of a block's groups, two in a word. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_runs(const struct wcodec_kind k, struct wcodec_warp *warp,
                                             const struct wcodec_fast *f, uint32_t g,
                                             uint32_t tables[4])
{
    if (k.groups == 2)
        tables[0] = wcodec_shared_u32(warp, f->run_tables + 2 * g);
    if (k.groups >= 4) {
        const wcodec_u2 v = wcodec_shared_u2(warp, f->run_tables + 2 * g);
        tables[0] = v.x;
        tables[1] = v.y;
    }
    if (k.groups == 8) {
        const wcodec_u2 v = wcodec_shared_u2(warp, f->run_tables + 2 * g + 8);
        tables[2] = v.x;
        tables[3] = v.y;
    }
}

/* A block of groups, of which g is the first. last: of a whole tile. patch: outliers are put in
 * before elements are stored. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_block(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              struct wcodec_fast *f, uint32_t g, const bool last,
                                              const bool patch)
{
    uint32_t r[WCODEC_ROWS_MOST], tables[4], kept[4];
    if (k.rows > 0) {
        wcodec_stream_begin_block(k, warp, &f->in);
        wcodec_fast_raw(k, warp, f, g, last, r);
        wcodec_stream_next_raw(k, warp, &f->in, g + k.groups, f->groups);
    } else {
        wcodec_stream_begin_words(k, 0, warp, &f->in);
    }
    if (k.runs)
        wcodec_fast_runs(k, warp, f, g, tables);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.groups; i++) {
        uint32_t v[4], o[4];
        const uint32_t table =
            k.runs ? f->table + wcodec_bytes(tables[i / 2], 0, i % 2 ? 0x4432 : 0x4410) : f->table;
        wcodec_symbols(k, warp, &f->x, &f->in.at, f->lanes_below, table, f->launch->ones, v);
        if (last && k.payload)
            wcodec_take_payload(k, i, f->x, r);
        wcodec_assemble(k, &f->of, i, k.shape == WCODEC_SHAPE_16_11 ? g % 8 + i : 0, v, r, o);
        if (patch)
            wcodec_outliers_replace(k, warp, &f->patches, (g + i + 1) * 128,
                                    wcodec_fast_add(k, warp), o);
        if (k.family == WCODEC_FAMILY_FRAGMENTS)
            wcodec_fast_put_fragment(k, f, i, o, kept);
        else
            wcodec_fast_put(k, warp, f, i, o);
    }
    if (k.staged)
        f->staged += k.groups * 136;
    else if (k.family == WCODEC_FAMILY_FRAGMENTS)
        f->out += k.groups * 8 * k.bytes;
    else
        f->out += k.groups * 128 * k.bytes;
    f->factor += k.groups * k.bytes * WCODEC_CHECK_STEP;
}

/* The raw words of one group of a tile that is not whole, as those of the first group of a block;
 * x: after the group. From where they are: nothing ahead. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_raw_group(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_fast *f, uint32_t g,
                                                  uint32_t *r)
{
    const bool last = g + 1 == f->groups;
    const uint32_t lane = wcodec_lane(warp);
    const WCODEC_GLOBAL uint8_t *raw = f->in.raw + 4 * lane;
    if (k.low) {
        if (k.shape != WCODEC_SHAPE_8_1)
            r[0] = wcodec_rotate_right(wcodec_load_once_u32(raw + g / 4 * 128), g % 4 * 2);
        if (k.shape != WCODEC_SHAPE_8_2)
            r[k.rows - 1] = wcodec_rotate_right(
                wcodec_load_once_u32(raw + (k.rows > 1 ? wcodec_plane_offset(k, 1, f->groups) : 0) +
                                     g / 8 * 128),
                g % 8);
    } else if (k.first < k.groups) {
        const WCODEC_GLOBAL uint8_t *row = raw + g / 2 * 128;
        if (last)
            r[0] = wcodec_spread_nibbles(k.mask, f->x & 0xffffu);
        else if (g / 2 == (f->groups - 1) / 2)
            r[0] = wcodec_spread_nibbles(k.mask, wcodec_load_once_u16(row - 2 * lane));
        else
            r[0] = wcodec_rotate_right(wcodec_load_once_u32(row), g % 2 * 4);
    } else {
        const uint32_t rows = k.first / k.groups;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < rows; i++) {
            const WCODEC_GLOBAL uint8_t *row = raw + g * k.group_bytes + i * 128;
            r[i] = last && i == rows - 1 ? wcodec_load_once_u16(row - 2 * lane) | f->x << 16
                                         : wcodec_load_once_u32(row);
        }
        if (k.shape == WCODEC_SHAPE_32_24)
            r[8] = wcodec_load_once_u32(raw + wcodec_plane_offset(k, 1, f->groups) + g * 128);
        if (k.shape == WCODEC_SHAPE_16_11) {
            r[4] = wcodec_rotate_right(
                wcodec_load_once_u32(raw + wcodec_plane_offset(k, 1, f->groups) + g / 4 * 128),
                g % 4 * 4);
            r[5] = wcodec_load_once_u32(raw + wcodec_plane_offset(k, 2, f->groups) + g / 8 * 128);
        }
    }
}

/* Bytes of a word of four elements' that are of the first `left` elements: the others are zero. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_inside(const struct wcodec_kind k, uint32_t word,
                                                   uint32_t i, uint32_t left)
{
    const uint32_t size = left * k.bytes, inside = size <= 4 * i ? 0 : size - 4 * i;
    return inside >= 4 ? word : word & ((1u << 8 * inside) - 1);
}

/* The groups from g on of a tile that ends within a block, or lies where wide stores cannot go: one
 * by one. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_remaining(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp, struct wcodec_fast *f,
                                                  uint32_t g)
{
    WCODEC_UNROLL_NONE
    for (; g < f->groups; g++) {
        uint32_t v[4], o[4], r[WCODEC_ROWS_MOST], table = f->table;
        wcodec_stream_begin_group(k, warp, &f->in);
        if (k.runs)
            table += wcodec_shared_u16(warp, f->run_tables + 2 * g);
        wcodec_symbols(k, warp, &f->x, &f->in.at, f->lanes_below, table, f->launch->ones, v);
        if (k.rows > 0)
            wcodec_fast_raw_group(k, warp, f, g, r);
        wcodec_assemble(k, &f->of, 0, g % 8, v, r, o);
        const uint32_t first = g * 128 + wcodec_lane(warp) * 4,
                       elements = wcodec_job_at(warp, f->launch, f->number)->elements,
                       left = first < elements ? elements - first : 0;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < k.bytes; i++) {
            o[i] = wcodec_fast_inside(k, o[i], i, left < 4 ? left : 4);
            f->sum += k.staged ? 0 : (uint64_t)o[i] * (f->factor + i * WCODEC_CHECK_STEP);
        }
        if (k.staged) {
            wcodec_fast_stage(warp, f, g % 2, o[0]);
            f->staged += g % 2 * 272;
        } else if (k.family == WCODEC_FAMILY_FRAGMENTS) {
            wcodec_store_some(k, f->out + wcodec_element_offset(k, g * 128, f->stride), o, 4);
        } else {
            wcodec_store_some(k, f->out, o, left);
            f->out += 128 * k.bytes;
        }
        f->factor += k.bytes * WCODEC_CHECK_STEP;
    }
}

/* Ask for what tile `number` needs first; waits for its descriptor only. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_begin(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              struct wcodec_fast *f, uint32_t number)
{
    const WCODEC_GLOBAL struct wcodec_tile_job *job = wcodec_job_at(warp, f->launch, number);
    const uint32_t elements = job->elements;
    f->number = number;
    f->groups = (elements + 127) / 128;
    wcodec_stream_open(k, 0, warp, &f->in, wcodec_warp_at(warp, f->launch),
                       WCODEC_WORD_ADDRESS(job), job->word_count, job->raw, f->groups);
    f->x = WCODEC_BUFFER(warp, uint32_t, job->states)[wcodec_lane(warp)];
    if (k.staged) {
        f->whole = f->groups % k.groups == 0;
        f->middle = f->whole ? f->groups - k.groups : f->groups / k.groups * k.groups;
        return;
    }
    wcodec_outliers_load(warp, &f->patches, job->positions, job->values, job->outliers, 0);
    f->stride = k.family == WCODEC_FAMILY_FRAGMENTS ? job->table : 0;
    const uint64_t out = f->launch->out + job->out;
    f->out = WCODEC_BUFFER_OUT(warp, uint8_t, out) +
             wcodec_element_offset(k, wcodec_lane(warp) * 4, f->stride);
    const bool aligned = WCODEC_BLOCKWISE && out % (4 * k.bytes) == 0;
    f->whole = aligned && elements % (128 * k.groups) == 0;
    f->middle = !aligned   ? 0
                : f->whole ? f->groups - k.groups
                           : (f->groups - 1) / k.groups * k.groups;
}

/* Table of each group, as a shared address less the first's. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_load_runs(struct wcodec_warp *warp,
                                                  const struct wcodec_fast *f)
{
    const WCODEC_GLOBAL struct wcodec_table_set *set = wcodec_part_set(warp);
    const WCODEC_GLOBAL uint8_t *runs =
        WCODEC_BLOCK(warp, uint8_t, wcodec_job_at(warp, f->launch, f->number)->runs);
    const uint32_t bits = set->run_bits, log2 = set->run_log2 - 7;
    for (uint32_t g = wcodec_lane(warp); g < f->groups; g += 32) {
        const uint32_t bit = (g >> log2) * bits,
                       index = runs[bit / 8] >> bit % 8 & ((1u << bits) - 1);
        wcodec_put_u16(warp, f->run_tables + 2 * g, index * 1024);
    }
    wcodec_sync_warp(warp);
}

/* The first outliers, as soon as they are there. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_check_outliers(const struct wcodec_kind k,
                                                       struct wcodec_warp *warp,
                                                       struct wcodec_fast *f)
{
    f->bad_outliers = false;
    wcodec_outliers_join(&f->patches);
    if (!wcodec_outliers_check(k, warp, &f->patches))
        wcodec_fast_drop_outliers(f);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lanes_below(struct wcodec_warp *warp,
                                                   const struct wcodec_launch *launch)
{
    return (launch->ones << wcodec_lane(warp)) ^ launch->ones;
}

/* After wcodec_fast_begin(), and when the tables are there. next: number of the warp's next tile.
 */
WCODEC_DEVICE_FUNCTION void wcodec_fast_prepare(const struct wcodec_kind k,
                                                struct wcodec_warp *warp, struct wcodec_fast *f,
                                                uint32_t next)
{
    const WCODEC_GLOBAL struct wcodec_table_set *set = wcodec_part_set(warp);
    f->table = wcodec_tables_at(warp);
    if (k.copies > 1)
        f->table = wcodec_table_copy(f->table, wcodec_lane(warp) % k.copies);
    f->run_tables = f->in.ring + wcodec_stream_size(k, 0) + (k.staged ? WCODEC_STAGE_SIZE : 0);
    f->lanes_below = wcodec_lanes_below(warp, f->launch);
    wcodec_offsets_of(k, k.add ? set->add : 0, k.pairs && !k.wide ? set->base : 0,
                      k.shape == WCODEC_SHAPE_32_8 ? set->constants : 0, &f->of);
    if (k.runs)
        wcodec_fast_load_runs(warp, f);
    wcodec_prefetch_job(warp, f->launch, next);
    f->sum = 0;
    f->factor = WCODEC_CHECK_FIRST;
    f->low_start = f->x < WCODEC_STATE_LOW;
    if (!k.staged)
        wcodec_fast_check_outliers(k, warp, f);
    if (k.rows == 0)
        wcodec_stream_wait(warp);
}

/* What states and words say of the tile. taken: bytes of `words` words. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_stream_fault(const struct wcodec_kind k,
                                                         struct wcodec_warp *warp,
                                                         const struct wcodec_fast *f,
                                                         uint32_t words, uint32_t taken)
{
    const bool bad_end = k.payload ? f->x >> 16 != 1 : f->x != WCODEC_STATE_LOW;
    if (wcodec_any(warp, f->low_start))
        return WCODEC_TILE_STATE;
    if (taken != 2 * words)
        return WCODEC_TILE_WORDS;
    return wcodec_any(warp, bad_end) ? WCODEC_TILE_FINAL : WCODEC_TILE_OK;
}

/* The tile's end: fault is what is known of it; slot and check of its job. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_finish(struct wcodec_warp *warp,
                                               const struct wcodec_launch *launch, uint64_t sum,
                                               uint32_t slot, uint32_t check, uint32_t fault)
{
    const uint32_t lane = wcodec_lane(warp);
    if (!fault && slot >> 31 && wcodec_add_lanes(warp, wcodec_check_share(sum, lane)) != check)
        fault = WCODEC_TILE_CHECK;
    if (lane == 0 && fault)
        wcodec_report_fault(warp, launch, slot, fault);
}

WCODEC_DEVICE_FUNCTION void wcodec_fast_decode(const struct wcodec_kind k, struct wcodec_warp *warp,
                                               struct wcodec_fast *f, uint32_t next)
{
    uint32_t g = 0;
    wcodec_fast_prepare(k, warp, f, next);
    do {
        const uint32_t until = g + WCODEC_PATCH_GROUPS,
                       stop = f->middle < until ? f->middle : until;
        WCODEC_UNROLL_NONE
        for (; WCODEC_BLOCKWISE && g < stop; g += k.groups) {
            /* Large tiles: a second copy of the code, for which small ones would wait longer than
             * for the cache. */
            if ((k.bytes > 1 || k.rows == 0) && !k.runs && f->groups > WCODEC_PATCH_GROUPS &&
                wcodec_outliers_before(warp, &f->patches, (g + k.groups) * 128))
                wcodec_fast_block(k, warp, f, g, false, true);
            else
                wcodec_fast_block(k, warp, f, g, false, false);
        }
        uint32_t end = g * 128;
        if (g == f->middle) {
            if (next < wcodec_part_end(warp))
                wcodec_prefetch_tile(warp, wcodec_job_at(warp, f->launch, next), k.rows > 0);
            if (WCODEC_BLOCKWISE && f->whole)
                wcodec_fast_block(k, warp, f, g, true, false);
            else
                wcodec_fast_remaining(k, warp, f, g);
            g = f->groups;
            end = f->whole ? g * 128 : wcodec_job_at(warp, f->launch, f->number)->elements;
        }
        wcodec_fast_patch(k, warp, f, end, g);
    } while (g < f->groups);
    wcodec_stream_wait(warp); /* what is still on its way must not arrive in the next tile */
    const WCODEC_GLOBAL struct wcodec_tile_job *job = wcodec_job_at(warp, f->launch, f->number);
    const uint32_t taken = wcodec_stream_taken(k, 0, &f->in, WCODEC_WORD_ADDRESS(job));
    uint32_t fault = wcodec_fast_stream_fault(k, warp, f, job->word_count, taken);
    if (!fault && (f->bad_outliers || !wcodec_outliers_all(warp, &f->patches)))
        fault = WCODEC_TILE_OUTLIER;
    wcodec_fast_finish(warp, f->launch, f->sum, job->slot, job->check, fault);
}

#endif
