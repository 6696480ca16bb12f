/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles of residuals of bytes that become elements while they are decoded: a unit (blocks.h) at a time is in the stage, and its outliers are put in there. */
#ifndef WCODEC_COMMON_FUSED_H
#define WCODEC_COMMON_FUSED_H

#include "backends/common/blocks.h"
#include "backends/common/rans.h"

#define WCODEC_NO_POSITION 0xffffffffu

enum { WCODEC_UNIT_ELEMENTS = 4 * WCODEC_UNIT_WORDS, WCODEC_UNIT_GROUPS = WCODEC_UNIT_ELEMENTS / 128 };

/* Of a tile, up to the unit that it is at. */
struct wcodec_fused_outliers {
    uint32_t done; /* put in; WCODEC_NO_POSITION: one is out of range or order */
    uint32_t next; /* position */
};

/* w: opened, in OpenCL bound to positions and values too. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fused_position(const struct wcodec_blocks_work *w, const WCODEC_GLOBAL struct wcodec_tile_job *tile, uint32_t number)
{
    (void)w;
    return number < tile->outliers ? WCODEC_AT(w, positions, uint16_t, tile->positions)[number] : WCODEC_NO_POSITION;
}

/* Those of elements [first, end), whose residuals are in the stage, each where the lane put it that decoded it: that lane changes it, and its part of the
 * check (sums) by as much. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_patch(struct wcodec_blocks_work *w, const WCODEC_GLOBAL struct wcodec_tile_job *tile, const WCODEC_GLOBAL struct wcodec_table_set *set, uint32_t first,
                                               uint32_t end, struct wcodec_fused_outliers *o, uint64_t *sums)
{
    const uint32_t shift = set->shift, width = set->width, add = set->add & 0xffu, mask = ((1u << width) - 1) << shift;
    uint32_t least = first;
    while (o->next < end) {
        const uint32_t position = o->next, value = WCODEC_AT(w, values, uint8_t, tile->values)[o->done];
        if (position < least || value >> width) {
            o->done = o->next = WCODEC_NO_POSITION;
            return;
        }
        WCODEC_EACH_LANE
        {
            if (position % 128 / 4 == lane) {
                WCODEC_LOCAL uint32_t *word = &w->stage->word[wcodec_stage_place((position - first) / 4)];
                const uint32_t at = position % 4 * 8, old = *word >> at & 0xffu, now = ((((old + add) & ~mask) | value << shift) - add) & 0xffu;
                *word ^= (old ^ now) << at;
                sums[WCODEC_SELF] += (((uint64_t)now - (uint64_t)old) << at) * wcodec_check_factor(position / 128);
            }
        }
        least = position + 1;
        o->next = wcodec_fused_position(w, tile, ++o->done);
    }
}

/* Before a tile's first unit: where it goes is kept with the stage. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_place(struct wcodec_blocks_work *w, const WCODEC_GLOBAL struct wcodec_blocks_job *job)
{
    WCODEC_EACH_LANE
    {
        if (lane == 0) {
            struct wcodec_unit_place place;
            wcodec_unit_find(w, job, 0, job->blocks, &place);
            w->stage->place = place;
        }
    }
}

/* The unit that the stage has: its first block is block `number` of the tile. When this returns the stage may be written again. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_unit(struct wcodec_blocks_work *w, const WCODEC_GLOBAL struct wcodec_blocks_job *job, uint32_t number)
{
    WCODEC_LOCAL_ORDER(); /* what lane 0 wrote of the place is read */
    struct wcodec_unit_place place = w->stage->place;
    if (!place.regular)
        wcodec_unit_find(w, job, number, job->blocks - number < WCODEC_UNIT_BLOCKS ? job->blocks - number : WCODEC_UNIT_BLOCKS, &place);
    wcodec_unit_reconstruct(w, job, number, &place, false);
    WCODEC_LOCAL_ORDER(); /* all have read it */
    WCODEC_EACH_LANE
    {
        if (lane == 0 && place.regular) {
            const bool wraps = place.column + WCODEC_UNIT_BLOCKS >= place.across;
            w->stage->place.column = place.column + WCODEC_UNIT_BLOCKS - (wraps ? place.across : 0);
            w->stage->place.out = place.out + 16 * WCODEC_UNIT_BLOCKS + (wraps ? 15 * place.stride : 0);
        }
    }
}

#endif
