/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels that give a tile to each warp: which tiles a work-group takes, with which tables. */
#ifndef WCODEC_KERNELS_WORK_GROUP_H
#define WCODEC_KERNELS_WORK_GROUP_H

#include "backends/kernels/tile_blocks.h"
#include "backends/kernels/tile_fast.h"
#include "backends/kernels/tile_lossy.h"

/* A tile of any family; what a kernel does not use is gone when it is compiled. */
struct wcodec_any_tile {
    struct wcodec_residual_tile residuals; /* of fast ones `fast` alone */
    struct wcodec_lossy_tile lossy;
};

WCODEC_DEVICE_FUNCTION void wcodec_tile_begin(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              struct wcodec_any_tile *tile, uint32_t number)
{
    if (k.family == WCODEC_FAMILY_LOSSY)
        wcodec_lossy_tile_begin(k, warp, &tile->lossy, number);
    else
        wcodec_fast_begin(k, warp, &tile->residuals.fast, number);
}

WCODEC_DEVICE_FUNCTION void wcodec_tile_decode(const struct wcodec_kind k, struct wcodec_warp *warp,
                                               struct wcodec_any_tile *tile, uint32_t next)
{
    if (k.family == WCODEC_FAMILY_LOSSY)
        wcodec_lossy_tile_decode(k, warp, &tile->lossy, next);
    else if (k.family == WCODEC_FAMILY_BLOCKS)
        wcodec_residuals_decode(k, warp, &tile->residuals, next);
    else
        wcodec_fast_decode(k, warp, &tile->residuals.fast, next);
}

/* Part `i`: of a launch with the same tables for all, the work-group's share, or with a queue where
 * its warps begin. */
WCODEC_DEVICE_FUNCTION struct wcodec_part
wcodec_part_of(struct wcodec_warp *warp, const struct wcodec_launch *launch, uint32_t i)
{
    const uint32_t group = wcodec_group(warp), groups = wcodec_groups(warp),
                   warps = wcodec_warps(warp);
    struct wcodec_part part;
    if (!launch->tables)
        return WCODEC_BLOCK(warp, struct wcodec_part, launch->parts)[i];
    part.tables = launch->tables;
    if (launch->queue) {
        part.first = launch->first + group * warps;
        part.count = launch->count - group * warps;
    } else {
        const uint32_t begin = (uint32_t)((uint64_t)launch->count * group / groups),
                       end = (uint32_t)((uint64_t)launch->count * (group + 1) / groups);
        part.first = launch->first + begin;
        part.count = end - begin;
    }
    return part;
}

/* The tile after `number`: with a queue the next of all, which the first lane takes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_next_tile(struct wcodec_warp *warp,
                                                 const struct wcodec_launch *launch,
                                                 uint32_t number)
{
    const uint32_t warps = wcodec_warps(warp);
    uint32_t next = number + warps;
    if (launch->queue) {
        if (wcodec_lane(warp) == 0)
            next = wcodec_atomic_add(WCODEC_BLOCK_OUT(warp, uint32_t, launch->queue), 1) +
                   launch->first + wcodec_groups(warp) * warps;
        next = wcodec_shuffle(warp, next, 0);
    }
    return next;
}

/* The last work-group to end makes the queue ready for the next launch. */
WCODEC_DEVICE_FUNCTION void wcodec_end_queue(struct wcodec_warp *warp,
                                             const struct wcodec_launch *launch)
{
    WCODEC_GLOBAL uint32_t *queue = WCODEC_BLOCK_OUT(warp, uint32_t, launch->queue);
    wcodec_sync_group(warp);
    if (wcodec_thread(warp) == 0 && wcodec_atomic_add(queue + 1, 1) == wcodec_groups(warp) - 1) {
        wcodec_atomic_store(queue + 1, 0);
        wcodec_atomic_store(queue, 0);
    }
}

/* Make the part the work-group's, with its tables if they are others than before, and begin each
 * warp's first tile meanwhile. */
WCODEC_DEVICE_FUNCTION void wcodec_enter_part(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              const struct wcodec_part *part, bool load,
                                              struct wcodec_any_tile *tile)
{
    const WCODEC_GLOBAL struct wcodec_table_set *set =
        WCODEC_BLOCK(warp, struct wcodec_table_set, part->tables);
    const uint32_t to = wcodec_tables_at(warp), number = wcodec_warp_number(warp);
    /* Entries on their way take registers, which tiles need while they begin: but for tables of
     * which there are copies, and kernels that have more registers, they are asked for after it. */
    const bool late = k.copies == 1 && !(k.family == WCODEC_FAMILY_LOSSY && k.lossy.blocks);
    struct wcodec_tables_load entries;
    wcodec_sync_group(warp); /* all have read the part before, and its tables */
    if (wcodec_thread(warp) == 0)
        wcodec_put_u4(warp, wcodec_shared_base(warp),
                      wcodec_make_u4((uint32_t)part->tables, (uint32_t)(part->tables >> 32),
                                     part->first, part->count));
    if (load && !late)
        wcodec_tables_ask(k, warp, set, &entries);
    if (number < part->count)
        wcodec_tile_begin(k, warp, tile, part->first + number);
    if (load) {
        if (late)
            wcodec_tables_ask(k, warp, set, &entries);
        wcodec_tables_make(k, warp, set, to, &entries);
        if (k.lossy.wide && set->streams > 1)
            wcodec_lossy_second_tables(k, warp, set, to);
    }
    wcodec_sync_group(warp);
}

WCODEC_DEVICE_FUNCTION void wcodec_tiles_kernel(const struct wcodec_kind k,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_launch *launch)
{
    struct wcodec_any_tile tile;
    const uint32_t group = wcodec_group(warp);
    uint32_t i = group, end = group + 1;
    if (launch->first_part) {
        const WCODEC_GLOBAL uint32_t *first =
            WCODEC_BLOCK(warp, uint32_t, launch->first_part) + group;
        i = first[0];
        end = first[1];
    }
    uint64_t loaded = 0;
    tile.residuals.fast.launch = tile.lossy.launch = launch;
    for (; i < end; i++) {
        const struct wcodec_part part = wcodec_part_of(warp, launch, i);
        uint32_t number = part.first + wcodec_warp_number(warp);
        wcodec_enter_part(k, warp, &part, part.tables != loaded, &tile);
        loaded = part.tables;
        while (number < wcodec_part_end(warp)) {
            const uint32_t next = wcodec_next_tile(warp, launch, number);
            wcodec_tile_decode(k, warp, &tile, next);
            number = next;
            if (number < wcodec_part_end(warp))
                wcodec_tile_begin(k, warp, &tile, number);
        }
    }
    if (launch->queue)
        wcodec_end_queue(warp, launch);
}

#endif
