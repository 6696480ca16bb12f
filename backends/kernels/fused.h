/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles of residuals of bytes that become elements while they are decoded: a unit (stage.h) at a
 * time is in the stage, and its outliers are put in there. */
#ifndef WCODEC_KERNELS_FUSED_H
#define WCODEC_KERNELS_FUSED_H

#include "backends/kernels/blocks.h"
#include "backends/kernels/rans.h"

#define WCODEC_NO_POSITION 0xffffffffu
#define WCODEC_BAD_OUTLIER 0x1000000u

enum {
    WCODEC_UNIT_ELEMENTS = 4 * WCODEC_UNIT_WORDS,
    WCODEC_UNIT_GROUPS = WCODEC_UNIT_ELEMENTS / 128
};

/* Outliers, position | value << 16 or WCODEC_NO_POSITION, of 32 that follow each other, with
 * WCODEC_BAD_OUTLIER if one is out of range or order: the word of a stage that has number i of them
 * is one of those between its blocks. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_outlier_offset(uint32_t i)
{
    return i / 4 * 68 + 64 + i % 4;
}

/* Of a tile, up to the unit that it is at. */
struct wcodec_fused_outliers {
    uint32_t done; /* put in; WCODEC_NO_POSITION: one is out of range or order */
    uint32_t next; /* position */
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_fused_position(const WCODEC_LOCAL struct wcodec_stage *stage,
                                                      uint32_t number)
{
    const uint32_t outlier = stage->word[wcodec_outlier_offset(number % 32)];
    return outlier == WCODEC_NO_POSITION ? outlier : outlier & 0xffffu;
}

/* 32 outliers, of values of `width` bits, from number o->done on. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_load(struct wcodec_blocks_work *w,
                                              WCODEC_LOCAL struct wcodec_stage *stage,
                                              const WCODEC_GLOBAL struct wcodec_tile_job *tile,
                                              uint32_t width, struct wcodec_fused_outliers *o)
{
    uint32_t bad;
    WCODEC_BIND(w, positions, tile->positions);
    WCODEC_BIND(w, values, tile->values);
    WCODEC_LOCAL_ORDER(); /* those before have been read */
    WCODEC_EACH_LANE
    {
        const uint32_t i = o->done + lane;
        uint32_t outlier = WCODEC_NO_POSITION;
        if (i < tile->outliers) {
            const WCODEC_GLOBAL uint16_t *positions =
                WCODEC_AT(w, positions, uint16_t, tile->positions);
            const uint32_t position = positions[i], before = positions[i ? i - 1 : 0],
                           value = WCODEC_AT(w, values, uint8_t, tile->values)[i];
            outlier = position | value << 16 |
                      (value >> width || (i && position <= before) ? WCODEC_BAD_OUTLIER : 0);
        }
        stage->word[wcodec_outlier_offset(lane)] = outlier;
    }
    WCODEC_LOCAL_ORDER();
    WCODEC_BALLOT(bad, stage->word[wcodec_outlier_offset(lane)] >> 24 == 1);
    if (bad)
        o->done = WCODEC_NO_POSITION;
    o->next = bad ? WCODEC_NO_POSITION : wcodec_fused_position(stage, 0);
}

/* Before a tile's first unit: its outliers, and where it goes, which is kept with the stage. w:
 * opened. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_begin(struct wcodec_blocks_work *w,
                                               WCODEC_LOCAL struct wcodec_stage *stage,
                                               const WCODEC_GLOBAL struct wcodec_tile_job *tile,
                                               const WCODEC_GLOBAL struct wcodec_table_set *set,
                                               struct wcodec_fused_outliers *o)
{
    o->done = 0;
    o->next = WCODEC_NO_POSITION;
    if (tile->outliers)
        wcodec_fused_load(w, stage, tile, set->width, o);
    WCODEC_EACH_LANE
    {
        if (lane == 0) {
            struct wcodec_unit_position place;
            wcodec_unit_find(w, 0, stage->job->blocks, &place);
            stage->place = place;
        }
    }
}

/* Outliers of elements [first, end), whose residuals are in the stage: a lane puts in one of 32. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_patch(struct wcodec_blocks_work *w,
                                               WCODEC_LOCAL struct wcodec_stage *stage,
                                               const WCODEC_GLOBAL struct wcodec_tile_job *tile,
                                               const WCODEC_GLOBAL struct wcodec_table_set *set,
                                               uint32_t first, uint32_t end,
                                               struct wcodec_fused_outliers *o)
{
    const uint32_t shift = set->shift, width = set->width, add = set->add & 0xffu,
                   mask = ((1u << width) - 1) << shift;
    WCODEC_LOCAL uint8_t *bytes = (WCODEC_LOCAL uint8_t *)stage->word;
    WCODEC_LOCAL_ORDER(); /* all residuals are there */
    while (o->next < end) {
        uint32_t mine;
        WCODEC_BALLOT(mine, wcodec_fused_position(stage, lane) - first < end - first);
        WCODEC_EACH_LANE
        {
            if (mine >> lane & 1) {
                const uint32_t i = wcodec_fused_position(stage, lane) - first,
                               at = i + (i >> 8) * 16, old = bytes[at];
                bytes[at] = (uint8_t)((((old + add) & ~mask) |
                                       stage->word[wcodec_outlier_offset(lane)] >> 16 << shift) -
                                      add);
            }
        }
        o->done += WCODEC_POPCOUNT(mine);
        if (o->done % 32 == 0)
            wcodec_fused_load(w, stage, tile, width, o);
        else
            o->next = wcodec_fused_position(stage, o->done);
    }
    WCODEC_LOCAL_ORDER(); /* others read what was changed */
}

/* What groups [first, end), which are in the stage, add to the check. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_check(struct wcodec_blocks_work *w, uint32_t first,
                                               uint32_t end, uint64_t *sums)
{
    WCODEC_EACH_LANE
    {
        const WCODEC_LOCAL uint32_t *word = w->stage->word + lane;
        uint32_t factor = wcodec_check_factor(first);
        if (end - first == WCODEC_UNIT_GROUPS) {
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < WCODEC_UNIT_GROUPS; k++) {
                sums[WCODEC_SELF] += (uint64_t)word[32 * k + k / 2 * 4] * factor;
                factor += WCODEC_CHECK_STEP;
            }
        } else {
            for (uint32_t k = 0; k < end - first; k++)
                sums[WCODEC_SELF] +=
                    (uint64_t)word[32 * k + k / 2 * 4] * wcodec_check_factor(first + k);
        }
    }
}

/* The unit that the stage has: its first block is block `number` of the tile. When this returns the
 * stage may be written again. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_unit(struct wcodec_blocks_work *w, uint32_t number)
{
    WCODEC_LOCAL_ORDER(); /* what lane 0 wrote of the place is read */
    struct wcodec_unit_position place = w->stage->place;
    if (!place.regular)
        wcodec_unit_find(w, number,
                         place.left < WCODEC_UNIT_BLOCKS ? place.left : WCODEC_UNIT_BLOCKS, &place);
    wcodec_unit_reconstruct(w, number, &place, false);
    WCODEC_LOCAL_ORDER(); /* all have read it */
    WCODEC_EACH_LANE
    {
        if (lane == 0) {
            const bool wraps = place.column + WCODEC_UNIT_BLOCKS >= place.across;
            w->stage->place.left = place.left - WCODEC_UNIT_BLOCKS;
            w->stage->place.column = place.column + WCODEC_UNIT_BLOCKS - (wraps ? place.across : 0);
            w->stage->place.out =
                place.out + 16 * WCODEC_UNIT_BLOCKS + (wraps ? 15 * (uint64_t)place.stride : 0);
        }
    }
}

#endif
