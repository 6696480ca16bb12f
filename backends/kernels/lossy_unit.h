/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What units of a tile of lossy coefficients are made from: streams, descriptors and sums of the
 * check in shared memory, raw bits. */
#ifndef WCODEC_KERNELS_LOSSY_UNIT_H
#define WCODEC_KERNELS_LOSSY_UNIT_H

#include "backends/kernels/lossy_raw.h"
#include "backends/kernels/lossy_stream.h"

struct wcodec_lossy_tile {
    const struct wcodec_launch *launch;
    struct wcodec_lossy_stream low, high;
    uint32_t number; /* of its job */
    uint32_t head;   /* shared address of what WCODEC_LOSSY_HEAD counts */
};

/* The tile's descriptors in shared memory. */
#define WCODEC_LOSSY_SHARED(warp, tile, type, what) \
    ((const WCODEC_VIEW struct type *)WCODEC_SHARED(warp, struct type, \
                                                    (tile)->head + WCODEC_LOSSY_##what))

WCODEC_DEVICE_FUNCTION const WCODEC_VIEW struct wcodec_stream_job *
wcodec_lossy_first(struct wcodec_warp *warp, const struct wcodec_lossy_tile *tile)
{
    return WCODEC_LOSSY_SHARED(warp, tile, wcodec_stream_job, FIRST);
}

WCODEC_DEVICE_FUNCTION const WCODEC_VIEW struct wcodec_stream_job *
wcodec_lossy_upper(struct wcodec_warp *warp, const struct wcodec_lossy_tile *tile)
{
    return WCODEC_LOSSY_SHARED(warp, tile, wcodec_stream_job, UPPER);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_elements(struct wcodec_warp *warp,
                                                      const struct wcodec_lossy_tile *tile)
{
    return wcodec_shared_u32(warp, tile->head + WCODEC_LOSSY_TILE);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_tile_groups(struct wcodec_warp *warp,
                                                         const struct wcodec_lossy_tile *tile)
{
    return (wcodec_lossy_elements(warp, tile) + 127) / 128;
}

WCODEC_DEVICE_FUNCTION bool wcodec_lossy_upper_coded(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_lossy_tile *tile)
{
    return k.lossy.wide &&
           (wcodec_lossy_upper(warp, tile)->mode_symbol & 0xff) == WCODEC_STREAM_RANS;
}

/* May there be a descriptor of upper symbols? */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_has_upper(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp)
{
    return k.lossy.wide || (k.lossy.bytes == 2 && wcodec_part_set(warp)->streams > 1);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_raw_bits(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp,
                                                      const struct wcodec_lossy_tile *tile)
{
    return k.lossy.raw ? wcodec_shared_u32(warp, tile->head + WCODEC_LOSSY_WITH + 4) : 0;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_raw_rows(const struct wcodec_kind k,
                                                      const struct wcodec_lossy_tile *tile)
{
    return tile->head - wcodec_lossy_head_begin(k) +
           wcodec_lossy_raw_begin(k, tile->launch->groups);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_lossy_sum(struct wcodec_warp *warp,
                                                 const struct wcodec_lossy_tile *tile)
{
    const wcodec_u2 sum =
        wcodec_shared_u2(warp, tile->head + WCODEC_LOSSY_SUM + 8 * wcodec_lane(warp));
    return (uint64_t)sum.y << 32 | sum.x;
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_put_sum(struct wcodec_warp *warp,
                                                 const struct wcodec_lossy_tile *tile, uint64_t v)
{
    wcodec_put_u2(warp, tile->head + WCODEC_LOSSY_SUM + 8 * wcodec_lane(warp),
                  wcodec_make_u2((uint32_t)v, (uint32_t)(v >> 32)));
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_add_sum(struct wcodec_warp *warp,
                                                 const struct wcodec_lossy_tile *tile, uint64_t v)
{
    wcodec_lossy_put_sum(warp, tile, wcodec_lossy_sum(warp, tile) + v);
}

/* Raw bits of the unit that begins with group g. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_begin_raw(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp,
                                                   const struct wcodec_lossy_tile *tile, uint32_t g)
{
    if (k.lossy.raw)
        wcodec_lossy_load_raw(
            k, warp, wcodec_lossy_raw_rows(k, tile),
            WCODEC_BUFFER(warp, uint8_t,
                          WCODEC_LOSSY_SHARED(warp, tile, wcodec_blocks_job, BLOCKS)->residuals),
            wcodec_lossy_raw_bits(k, warp, tile), g, wcodec_lossy_tile_groups(warp, tile));
}

/* After the unit's groups were decoded. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_end_raw(const struct wcodec_kind k,
                                                 struct wcodec_warp *warp,
                                                 const struct wcodec_lossy_tile *tile, uint32_t g)
{
    if (!k.lossy.raw)
        return;
    wcodec_copy_commit(warp);
    wcodec_stream_wait(warp);
    const uint32_t groups = wcodec_lossy_tile_groups(warp, tile);
    if (g + k.lossy.groups >= groups)
        wcodec_lossy_complete_raw(k, warp, wcodec_lossy_raw_rows(k, tile),
                                  wcodec_lossy_raw_bits(k, warp, tile), g, groups, tile->low.x);
}

#endif
