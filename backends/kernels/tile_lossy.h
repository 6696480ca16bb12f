/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors without scratch memory, a warp a tile: a unit of a tile's groups is decoded into
 * shared memory, outliers are replaced there, and elements are made of it (lossy.h).
 *
 * A tile of coefficients in blocks has a wcodec_blocks_job at `out`; 16-bit ones have two streams,
 * the upper one's wcodec_stream_job is at `raw`. Raw bits are at `residuals` of the
 * wcodec_blocks_job. */
#ifndef WCODEC_KERNELS_TILE_LOSSY_H
#define WCODEC_KERNELS_TILE_LOSSY_H

#include "backends/kernels/launch.h"
#include "backends/kernels/lossy.h"

#ifdef WCODEC_LOSSY_TILES
#include "backends/kernels/lossy_plain.h"

/* Coefficients in blocks: words of four, or of two; for the check they count. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_take_blocks(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_lossy_tile *tile,
                                                     uint32_t g, uint32_t *words)
{
    const uint32_t lane = wcodec_lane(warp), low = tile->low.staged + 4 * lane,
                   factor = WCODEC_CHECK_FIRST + g * k.lossy.bytes * WCODEC_CHECK_STEP,
                   add = k.lossy.wide ? wcodec_shared_u32(warp, tile->head + WCODEC_LOSSY_WITH) : 0,
                   raw = wcodec_lossy_raw_bits(k, warp, tile);
    uint64_t sum = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.lossy.groups; i++) {
        const uint32_t l = wcodec_shared_u32(warp, low + 128 * i);
        if (k.lossy.wide) {
            const uint32_t h = wcodec_shared_u32(warp, tile->high.staged + 4 * lane + 128 * i);
            words[2 * i] = wcodec_bytes(l, h, 0x5140) << raw;
            words[2 * i + 1] = wcodec_bytes(l, h, 0x7362) << raw;
        } else {
            words[i] = l;
        }
    }
    if (k.lossy.raw)
        wcodec_lossy_put_raw(k, warp, wcodec_lossy_raw_rows(k, tile), raw, words);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.lossy.groups * k.lossy.bytes; i++) {
        if (k.lossy.wide)
            words[i] = wcodec_subtract_halves(words[i], add);
        sum += (uint64_t)words[i] * (factor + i * WCODEC_CHECK_STEP);
    }
    wcodec_lossy_add_sum(warp, tile, sum);
}

/* Upper bytes that are all the same. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_fill_upper(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_lossy_tile *tile)
{
    const uint32_t symbol =
        (wcodec_lossy_upper(warp, tile)->mode_symbol >> 8 & 0xffu) * 0x01010101u;
    for (uint32_t i = 0; i < k.lossy.groups; i++)
        wcodec_put_u32(warp, tile->high.staged + 128 * i + 4 * wcodec_lane(warp), symbol);
}

/* The upper bytes of a unit; whether there are outliers. */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_decode_upper(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp,
                                                      struct wcodec_lossy_tile *tile, uint32_t g)
{
    if (wcodec_lossy_upper_coded(k, warp, tile))
        wcodec_lossy_decode_sparse(k, warp, &tile->high, g,
                                   wcodec_shared_u32(warp, tile->head + WCODEC_LOSSY_CHANGED) != 0);
    return wcodec_lossy_patch(warp, &tile->high, wcodec_lossy_upper(warp, tile), g * 128,
                              k.lossy.groups * 128, 0);
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_blocks_unit(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     struct wcodec_lossy_tile *tile,
                                                     const struct wcodec_lossy_work *w, uint32_t g)
{
    const struct wcodec_lossy_where where =
        wcodec_lossy_position(w, WCODEC_LOSSY_SHARED(warp, tile, wcodec_blocks_job, BLOCKS),
                              g / k.lossy.groups, wcodec_lane(warp));
    uint32_t words[32];
    bool changed = false;
    wcodec_lossy_stream_lane(warp, tile->launch, &tile->low);
    if (k.lossy.wide)
        wcodec_lossy_stream_lane(warp, tile->launch, &tile->high);
    wcodec_lossy_begin_raw(k, warp, tile, g);
    wcodec_lossy_load_outliers(warp, &tile->low, wcodec_lossy_first(warp, tile));
    if (k.lossy.wide)
        wcodec_lossy_load_outliers(warp, &tile->high, wcodec_lossy_upper(warp, tile));
    wcodec_lossy_decode_groups(k, warp, &tile->low, g, k.lossy.groups);
    wcodec_lossy_patch(warp, &tile->low, wcodec_lossy_first(warp, tile), g * 128,
                       k.lossy.groups * 128, 0);
    wcodec_lossy_save(warp, &tile->low, tile->head);
    if (k.lossy.wide) {
        changed = wcodec_lossy_decode_upper(k, warp, tile, g);
        wcodec_lossy_save(warp, &tile->high, tile->head + WCODEC_LOSSY_SAVED);
    }
    wcodec_lossy_end_raw(k, warp, tile, g);
    wcodec_lossy_take_blocks(k, warp, tile, g, words);
    if (k.lossy.wide) {
        if (changed && !wcodec_lossy_upper_coded(k, warp, tile))
            wcodec_lossy_fill_upper(k, warp, tile);
        wcodec_put_u32(warp, tile->head + WCODEC_LOSSY_CHANGED, changed);
    }
    wcodec_lossy_block(w, &where, words);
    wcodec_sync_warp(warp);
    wcodec_lossy_restore(warp, &tile->low, tile->head);
    if (k.lossy.wide)
        wcodec_lossy_restore(warp, &tile->high, tile->head + WCODEC_LOSSY_SAVED);
}

/* Ask for what tile `number` needs first; waits for its descriptors only. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_tile_begin(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    struct wcodec_lossy_tile *tile, uint32_t number)
{
    const WCODEC_GLOBAL struct wcodec_tile_job *job = wcodec_job_at(warp, tile->launch, number);
    const uint32_t ring = wcodec_warp_at(warp, tile->launch);
    tile->number = number;
    tile->head = ring + wcodec_lossy_head_begin(k);
    wcodec_lossy_stream_begin(k, 0, warp, tile->launch, &tile->low, ring, WCODEC_WORD_ADDRESS(job),
                              job->word_count, job->states);
    if (!k.lossy.wide)
        return;
    const WCODEC_GLOBAL struct wcodec_stream_job *upper =
        WCODEC_BLOCK(warp, struct wcodec_stream_job, job->raw);
    if ((upper->mode_symbol & 0xff) == WCODEC_STREAM_RANS)
        wcodec_lossy_stream_begin(k, 1, warp, tile->launch, &tile->high,
                                  ring + wcodec_stream_size(k, 0), WCODEC_WORD_ADDRESS(upper),
                                  upper->word_count, upper->states);
    else
        wcodec_lossy_stream_none(warp, &tile->high);
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_copy(struct wcodec_warp *warp, uint32_t to,
                                              const WCODEC_GLOBAL void *from, uint32_t size)
{
    const uint32_t lane = wcodec_lane(warp);
    if (4 * lane < size)
        wcodec_put_u32(warp, to + 4 * lane, ((const WCODEC_GLOBAL uint32_t *)from)[lane]);
}

/* Descriptors to shared memory, the first stream's as the upper one's is. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_copy_jobs(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp,
                                                   const struct wcodec_lossy_tile *tile)
{
    const WCODEC_GLOBAL struct wcodec_tile_job *job =
        wcodec_job_at(warp, tile->launch, tile->number);
    const WCODEC_GLOBAL struct wcodec_blocks_job *blocks =
        WCODEC_BLOCK(warp, struct wcodec_blocks_job, job->out);
    wcodec_lossy_copy(warp, tile->head + WCODEC_LOSSY_FIRST, &job->states, 16); /* and words */
    wcodec_lossy_copy(warp, tile->head + WCODEC_LOSSY_FIRST + 16, &job->positions,
                      24); /* and values, runs */
    wcodec_put_u2(warp, tile->head + WCODEC_LOSSY_FIRST + 40,
                  wcodec_make_u2(job->word_count, job->outliers));
    wcodec_put_u4(warp, tile->head + WCODEC_LOSSY_TILE,
                  wcodec_make_u4(job->elements, job->check, job->slot, 0));
    wcodec_lossy_copy(warp, tile->head + WCODEC_LOSSY_BLOCKS, blocks,
                      sizeof(struct wcodec_blocks_job));
    wcodec_lossy_copy(warp, tile->head + WCODEC_LOSSY_VIEW,
                      WCODEC_BLOCK(warp, uint8_t, blocks->view), sizeof(struct wcodec_view_job));
    if (wcodec_lossy_has_upper(k, warp))
        wcodec_lossy_copy(warp, tile->head + WCODEC_LOSSY_UPPER,
                          WCODEC_BLOCK(warp, uint8_t, job->raw), sizeof(struct wcodec_stream_job));
}

/* What coefficients are made with. Upper symbols of a plain tensor are constant. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_put_constants(const struct wcodec_kind k,
                                                       struct wcodec_warp *warp,
                                                       const struct wcodec_lossy_tile *tile)
{
    const WCODEC_GLOBAL struct wcodec_table_set *set = wcodec_part_set(warp);
    uint32_t next = ~0u, constants = set->constants;
    if (k.lossy.bytes == 1 && !k.lossy.raw)
        return;
    if (!k.lossy.wide && wcodec_lossy_has_upper(k, warp)) {
        const WCODEC_GLOBAL struct wcodec_stream_job *upper = WCODEC_BLOCK(
            warp, struct wcodec_stream_job, wcodec_job_at(warp, tile->launch, tile->number)->raw);
        constants |= (upper->mode_symbol >> 8 & 0xffu) << (8 + set->shift);
        if (upper->outliers)
            next = *WCODEC_BUFFER(warp, uint16_t, upper->positions);
    }
    wcodec_put_u4(warp, tile->head + WCODEC_LOSSY_WITH,
                  wcodec_make_u4(set->add, set->shift, constants * 0x10001u, 0));
    wcodec_put_u2(warp, tile->head + WCODEC_LOSSY_CHANGED,
                  wcodec_make_u2(k.lossy.wide ? 1 : 0, next));
}

/* The tables of a second stream come after those of the first. */
WCODEC_DEVICE_FUNCTION const WCODEC_GLOBAL struct wcodec_table_set *
wcodec_lossy_second_set(const WCODEC_GLOBAL struct wcodec_table_set *set)
{
    return (const WCODEC_GLOBAL struct wcodec_table_set *)(wcodec_set_entries(set) +
                                                           4 * set->entries);
}

WCODEC_DEVICE_FUNCTION void
wcodec_lossy_second_tables(const struct wcodec_kind k, struct wcodec_warp *warp,
                           const WCODEC_GLOBAL struct wcodec_table_set *set, uint32_t to)
{
    const WCODEC_GLOBAL struct wcodec_table_set *second = wcodec_lossy_second_set(set);
    struct wcodec_tables_load entries;
    wcodec_tables_ask(k, warp, second, &entries);
    wcodec_tables_make(k, warp, second, to + 4 * set->entries, &entries);
}

/* After wcodec_lossy_tile_begin(), and when the tables are there. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_prepare(const struct wcodec_kind k,
                                                 struct wcodec_warp *warp,
                                                 struct wcodec_lossy_tile *tile)
{
    const WCODEC_GLOBAL struct wcodec_table_set *set = wcodec_part_set(warp);
    const uint32_t begin = tile->head - wcodec_lossy_head_begin(k),
                   runs = begin + wcodec_lossy_runs_begin(k);
    wcodec_lossy_copy_jobs(k, warp, tile);
    wcodec_lossy_put_constants(k, warp, tile);
    wcodec_lossy_put_sum(warp, tile, 0);
    wcodec_stream_wait(warp);
    const uint32_t groups = wcodec_lossy_tile_groups(warp, tile), tables = wcodec_tables_at(warp);
    wcodec_lossy_stream_prepare(&tile->low, tables, runs, begin + wcodec_lossy_bytes_begin(k, 0));
    if (k.runs)
        wcodec_lossy_load_runs(warp, &tile->low,
                               WCODEC_BLOCK(warp, uint8_t, wcodec_lossy_first(warp, tile)->runs),
                               set, groups);
    if (k.lossy.wide) {
        wcodec_lossy_stream_prepare(&tile->high, tables + 4 * set->entries,
                                    runs + tile->launch->groups,
                                    begin + wcodec_lossy_bytes_begin(k, 1));
        if (wcodec_lossy_upper_coded(k, warp, tile))
            wcodec_lossy_load_runs(
                warp, &tile->high,
                WCODEC_BLOCK(warp, uint8_t, wcodec_lossy_upper(warp, tile)->runs),
                wcodec_lossy_second_set(set), groups);
        else
            wcodec_lossy_fill_upper(k, warp, tile);
    }
    if (!k.lossy.blocks)
        wcodec_lossy_plain_begin(warp, tile);
    tile->low.window = k.pairs && !k.wide ? set->base * 0x01010101u : 0;
    wcodec_put_u32(warp, tile->head + WCODEC_LOSSY_LOW_START,
                   wcodec_any(warp, tile->low.x < WCODEC_STATE_LOW ||
                                        (wcodec_lossy_upper_coded(k, warp, tile) &&
                                         tile->high.x < WCODEC_STATE_LOW)));
    wcodec_sync_warp(warp);
}

/* Outliers of both streams. */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_good(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              const struct wcodec_lossy_tile *tile)
{
    const uint32_t elements = wcodec_lossy_elements(warp, tile),
                   raw = wcodec_lossy_raw_bits(k, warp, tile);
    return wcodec_lossy_outliers_good(warp, wcodec_lossy_first(warp, tile), elements,
                                      k.lossy.bytes == 1 ? 8 - raw : 8) &&
           (!wcodec_lossy_has_upper(k, warp) ||
            wcodec_lossy_outliers_good(warp, wcodec_lossy_upper(warp, tile), elements, 8 - raw));
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_finish(const struct wcodec_kind k,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_lossy_tile *tile)
{
    const bool coded = wcodec_lossy_upper_coded(k, warp, tile);
    const bool payload = wcodec_lossy_raw_bits(k, warp, tile) >= 4;
    const bool bad_end = (payload ? tile->low.x >> 16 != 1 : tile->low.x != WCODEC_STATE_LOW) ||
                         (coded && tile->high.x != WCODEC_STATE_LOW);
    const wcodec_u4 job = wcodec_shared_u4(warp, tile->head + WCODEC_LOSSY_TILE);
    uint32_t fault = WCODEC_TILE_OK;
    if (wcodec_shared_u32(warp, tile->head + WCODEC_LOSSY_LOW_START))
        fault = WCODEC_TILE_STATE;
    else if (!wcodec_lossy_all_taken(k, 0, &tile->low, wcodec_lossy_first(warp, tile)) ||
             (coded && !wcodec_lossy_all_taken(k, 1, &tile->high, wcodec_lossy_upper(warp, tile))))
        fault = WCODEC_TILE_WORDS;
    else if (wcodec_any(warp, bad_end))
        fault = WCODEC_TILE_FINAL;
    else if (!wcodec_lossy_good(k, warp, tile))
        fault = WCODEC_TILE_OUTLIER;
    wcodec_fast_finish(warp, tile->launch, wcodec_lossy_sum(warp, tile), job.z, job.y, fault);
}

/* next: number of the warp's next tile. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_tile_decode(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     struct wcodec_lossy_tile *tile, uint32_t next)
{
    struct wcodec_lossy_work work;
    wcodec_lossy_prepare(k, warp, tile);
    wcodec_prefetch_job(warp, tile->launch, next);
    WCODEC_WARP_COPY(&work, warp);
    work.view = WCODEC_LOSSY_SHARED(warp, tile, wcodec_view_job, VIEW);
    work.format = work.view->format;
    work.wide = k.lossy.bytes - 1;
    WCODEC_BIND(&work, out, work.view->out);
    WCODEC_UNROLL_NONE
    for (uint32_t g = 0; g < wcodec_lossy_tile_groups(warp, tile); g += k.lossy.groups) {
        if (k.lossy.blocks)
            wcodec_lossy_blocks_unit(k, warp, tile, &work, g);
        else
            wcodec_lossy_plain_unit(k, warp, tile, &work, g);
    }
    if (next < wcodec_part_end(warp))
        wcodec_prefetch_tile(warp, wcodec_job_at(warp, tile->launch, next), false);
    wcodec_stream_wait(warp); /* what is still on its way must not arrive in the next tile */
    wcodec_lossy_finish(k, warp, tile);
}

#else
/* Other programs: compilers take their time even for what is never called. */
struct wcodec_lossy_tile {
    const struct wcodec_launch *launch;
};
#define wcodec_lossy_tile_begin(k, warp, tile, number) ((void)(tile))
#define wcodec_lossy_tile_decode(k, warp, tile, next) ((void)(tile))
#define wcodec_lossy_second_tables(k, warp, set, to) ((void)(to))
#endif

#endif
