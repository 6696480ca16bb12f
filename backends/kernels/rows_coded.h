/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rows by their numbers from tiles that stay coded in the device's memory. A warp takes a tile of a
 * row, decodes it from its beginning to where the row ends, and stores what is the row's: so no
 * tile goes to memory, and it is known before how long a launch takes, whatever rows there are. A
 * tile of which several rows are wanted is decoded once for each. All tiles were checked before
 * they became resident. */
#ifndef WCODEC_KERNELS_ROWS_CODED_H
#define WCODEC_KERNELS_ROWS_CODED_H

#include "backends/kernels/rows_coded_launch.h"
#include "backends/kernels/work_group.h"

/* Where a tile's elements go: bytes [begin, end) of it, `out` being where its first byte were. */
struct wcodec_coded_row_part {
    uint64_t out;
    uint32_t begin;
    uint32_t end;
};

/* A lane's elements of group g. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_put(const struct wcodec_kind k, struct wcodec_warp *warp,
                                             const struct wcodec_coded_row_part *part, uint32_t g,
                                             const uint32_t *o)
{
    const uint32_t at = (g * 128 + wcodec_lane(warp) * 4) * k.bytes;
    if (at >= part->begin && at < part->end)
        wcodec_store_elements(k, (WCODEC_GLOBAL uint8_t *)(part->out + at), o);
}

/* A block, of which g is the first group. last: of a whole tile. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_row_block(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp, struct wcodec_fast *f,
                                                   const struct wcodec_coded_row_part *part,
                                                   uint32_t g, const bool last)
{
    uint32_t r[WCODEC_ROWS_MOST], tables[4];
    wcodec_stream_begin_block(k, warp, &f->in);
    wcodec_fast_raw(k, warp, f, g, last, r);
    wcodec_stream_next_raw(k, warp, &f->in, g + k.groups, f->groups);
    if (k.runs)
        wcodec_fast_runs(k, warp, f, g, tables);
    const bool patch = wcodec_outliers_before(warp, &f->patches, (g + k.groups) * 128);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.groups; i++) {
        uint32_t v[4], o[4];
        const uint32_t table =
            k.runs ? f->table + wcodec_bytes(tables[i / 2], 0, i % 2 ? 0x4432 : 0x4410) : f->table;
        wcodec_symbols(k, warp, &f->x, &f->in.at, f->lanes_below, table, f->launch->ones, v);
        if (last && k.payload)
            wcodec_take_payload(k, i, f->x, r);
        wcodec_assemble(k, &f->of, i, 0, v, r, o);
        if (patch)
            wcodec_fast_replace(k, warp, f, (g + i + 1) * 128, o);
        wcodec_coded_put(k, warp, part, g + i, o);
    }
}

/* A group by itself: of a tile that ends within a block, or on devices that take no blocks. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_row_group(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp, struct wcodec_fast *f,
                                                   const struct wcodec_coded_row_part *part,
                                                   uint32_t g)
{
    uint32_t v[4], o[4], r[WCODEC_ROWS_MOST], table = f->table;
    wcodec_stream_begin_group(k, warp, &f->in);
    if (k.runs)
        table += wcodec_shared_u16(warp, f->run_tables + 2 * g);
    wcodec_symbols(k, warp, &f->x, &f->in.at, f->lanes_below, table, f->launch->ones, v);
    wcodec_fast_raw_group(k, warp, f, g, r);
    wcodec_assemble(k, &f->of, 0, g % 8, v, r, o);
    if (wcodec_outliers_before(warp, &f->patches, (g + 1) * 128))
        wcodec_fast_replace(k, warp, f, (g + 1) * 128, o);
    wcodec_coded_put(k, warp, part, g, o);
}

/* Tile job `number`, to the end of the part. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_row_tile(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp, struct wcodec_fast *f,
                                                  const struct wcodec_coded_row_part *part,
                                                  uint32_t number)
{
    const uint32_t group = 128 * k.bytes, stop = (part->end + group - 1) / group;
    uint32_t g = 0;
    wcodec_fast_begin(k, warp, f, number);
    wcodec_fast_prepare(k, warp, f, ~0u);
    WCODEC_UNROLL_NONE
    for (; WCODEC_BLOCKWISE && g < f->middle && g < stop; g += k.groups)
        wcodec_coded_row_block(k, warp, f, part, g, false);
    if (WCODEC_BLOCKWISE && f->whole && g < stop) {
        wcodec_coded_row_block(k, warp, f, part, g, true);
        g += k.groups;
    }
    WCODEC_UNROLL_NONE
    for (; g < stop; g++)
        wcodec_coded_row_group(k, warp, f, part, g);
    wcodec_stream_wait(warp); /* what is still on its way must not arrive in the next tile */
}

/* The job of tile `tile` among those of the launch, which are in the order of tiles; its count
 * where that is none of them. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coded_row_job(struct wcodec_warp *warp,
                                                     const struct wcodec_coded_rows_launch *l,
                                                     uint32_t tile)
{
    const struct wcodec_launch *launch = &l->tiles;
    uint32_t at = 0, end = launch->count;
    if (l->sole)
        return tile;
    WCODEC_UNROLL_NONE
    while (at < end) {
        const uint32_t middle = at + (end - at) / 2,
                       found = wcodec_job_at(warp, launch, launch->first + middle)->slot;
        if ((found & 0x7fffffffu) == tile)
            return middle;
        if ((found & 0x7fffffffu) < tile)
            at = middle + 1;
        else
            end = middle;
    }
    return launch->count;
}

/* A row that is none. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_row_zeros(struct wcodec_warp *warp,
                                                   const struct wcodec_coded_rows_launch *l,
                                                   uint64_t which)
{
    WCODEC_GLOBAL uint8_t *out = (WCODEC_GLOBAL uint8_t *)(l->out + which * l->row_size);
    for (uint64_t at = 8 * wcodec_lane(warp); at < l->row_size; at += 256)
        wcodec_store_u2(out + at, 0, 0);
    if (wcodec_lane(warp) == 0 && l->outside != 0) {
        WCODEC_GLOBAL uint32_t *words = (WCODEC_GLOBAL uint32_t *)l->outside;
        wcodec_atomic_store(words + 1, l->number);
        wcodec_atomic_add(words, 1);
    }
}

/* Piece `piece` of what index `which` names. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_row_piece(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp, struct wcodec_fast *f,
                                                   const struct wcodec_coded_rows_launch *l,
                                                   uint64_t which, uint32_t piece)
{
    const uint64_t row = ((const WCODEC_GLOBAL uint64_t *)l->indices)[which],
                   begin = row * l->row_size, end = begin + l->row_size,
                   tile = (begin >> l->tile_log2) + piece, first = tile << l->tile_log2,
                   size = (uint64_t)1 << l->tile_log2;
    struct wcodec_coded_row_part part;
    if (row >= l->rows) {
        if (l->zeros && piece == 0)
            wcodec_coded_row_zeros(warp, l, which);
        return;
    }
    if (first >= end)
        return;
    const uint32_t job = wcodec_coded_row_job(warp, l, (uint32_t)tile);
    if (job >= l->tiles.count)
        return;
    part.out = l->out + which * l->row_size + first - begin;
    part.begin = begin > first ? (uint32_t)(begin - first) : 0;
    part.end = (uint32_t)(end - first < size ? end - first : size);
    wcodec_coded_row_tile(k, warp, f, &part, l->tiles.first + job);
}

WCODEC_DEVICE_FUNCTION void wcodec_coded_rows_kernel(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_coded_rows_launch *l)
{
    const uint32_t warps = wcodec_warps(warp);
    const uint64_t step = (uint64_t)wcodec_groups(warp) * warps, all = l->count * l->pieces;
    struct wcodec_any_tile tile;
    struct wcodec_part part; /* its tables, and no tile */
    part.tables = l->tiles.tables;
    part.first = part.count = 0;
    tile.residuals.fast.launch = &l->tiles;
    wcodec_enter_part(k, warp, &part, true, &tile);
    wcodec_wait_for_launch(warp); /* indices may be its, and `out` may have been read */
    for (uint64_t i = (uint64_t)wcodec_group(warp) * warps + wcodec_warp_number(warp); i < all;
         i += step) {
        const uint64_t which = i / l->pieces;
        wcodec_coded_row_piece(k, warp, &tile.residuals.fast, l, which,
                               (uint32_t)(i - which * l->pieces));
    }
}

#endif
