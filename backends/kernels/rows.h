/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rows of a matrix at a fixed rate that stays in the device's memory: neighbouring ones tile by
 * tile, any others one by one. All was checked before it became resident, so that, other than in
 * batches (fixed.h), nothing is checked but what memory is read by. */
#ifndef WCODEC_KERNELS_ROWS_H
#define WCODEC_KERNELS_ROWS_H

#include "backends/kernels/fixed_row.h"
#include "backends/kernels/product.h"

#ifdef WCODEC_MATRIX_PRODUCTS
/* A tile's record, and the shifts of its rows. */
WCODEC_DEVICE_FUNCTION void wcodec_rows_load(const uint32_t bits, struct wcodec_record_work *w,
                                             const WCODEC_GLOBAL uint8_t *from, uint32_t band,
                                             struct wcodec_record_lane *own)
{
    const uint32_t lane = wcodec_lane(&w->warp);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        WCODEC_LOAD_16(own->lower + 4 * i, from + 512 * i + 16 * lane);
    WCODEC_LOAD_16(own->index, from + 2048 + 16 * lane);
    if (bits == 3) {
        WCODEC_LOAD_16(own->index + 4, from + 2560 + 16 * lane);
    } else {
        const wcodec_u2 more = wcodec_load_once_u2(from + 2560 + 8 * lane);
        own->index[4] = more.x;
        own->index[5] = more.y;
    }
    if (lane < w->job->list) {
        uint32_t list[4];
        WCODEC_LOAD_16(list, from + wcodec_record_list_at(bits) + 16 * lane);
        WCODEC_KEEP_16(w->stage->list + 4 * lane, list);
    }
    if (lane < WCODEC_FIXED_ROWS)
        w->stage->shift[lane] = ((const WCODEC_GLOBAL uint8_t *)w->job->shifts)[16 * band + lane];
}

/* As wcodec_record_decode(), but nothing is checked besides what memory is read by. */
WCODEC_DEVICE_FUNCTION void wcodec_rows_tile(const uint32_t bits, struct wcodec_record_work *w,
                                             const WCODEC_GLOBAL uint8_t *from, uint32_t tile)
{
    const uint32_t band = tile / w->job->across;
    struct wcodec_record_lane own;
    wcodec_rows_load(bits, w, from, band, &own);
    WCODEC_LOCAL_ORDER();
    wcodec_record_find(w);
    wcodec_record_expand(bits, w, &own, wcodec_lane(&w->warp));
    WCODEC_LOCAL_ORDER();
    if (w->list.sound) {
        wcodec_record_patches(bits, w);
        WCODEC_LOCAL_ORDER();
    }
    wcodec_record_store(w, w->job->first_band + band, tile - band * w->job->across);
    WCODEC_LOCAL_ORDER(); /* the stage has been read */
}

/* A warp's first record comes into the last cache while the launch before ends, which may still
 * read what is stored to here. */
WCODEC_DEVICE_FUNCTION void wcodec_rows_decode(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_rows_launch *l)
{
    struct wcodec_record_work work;
    const uint32_t number = wcodec_warp_number(warp), warps = wcodec_warps(warp),
                   first = wcodec_group(warp) * warps + number, step = wcodec_groups(warp) * warps,
                   size = wcodec_record_size(bits, l->job.list);
    const WCODEC_GLOBAL uint8_t *records = (const WCODEC_GLOBAL uint8_t *)l->job.records;
    WCODEC_WARP_COPY(&work, warp);
    work.stage = WCODEC_SHARED(warp, struct wcodec_record_stage,
                               wcodec_shared_base(warp) + number * WCODEC_RECORD_STAGE);
    work.job = &l->job;
    if (first < l->tiles)
        wcodec_prefetch_all(warp, records + (uint64_t)first * size, size);
    wcodec_wait_for_launch(warp);
    for (uint32_t tile = first; tile < l->tiles; tile += step)
        wcodec_rows_tile(bits, &work, records + (uint64_t)tile * size, tile);
}

/* Units of a list that each of four lanes asks for at once. */
#define WCODEC_GATHER_ASKED(bits) ((bits) == 2 ? 2u : 1u)

/* Four lanes, which have a row's tile. */
struct wcodec_gather_lane {
    uint32_t row;         /* of 16 */
    uint32_t lane;        /* of four */
    uint32_t list, patch; /* shared addresses, of the four */
};

/* Those of the short outliers in word `at` of the list, the lower bits of four of them, that are
 * the row's. */
WCODEC_DEVICE_FUNCTION void wcodec_gather_shorts(const uint32_t bits, struct wcodec_warp *warp,
                                                 const struct wcodec_gather_lane *g,
                                                 uint32_t shorts, uint32_t at, uint32_t four)
{
    /* Bits 2, 6 and 7 say the row but for its bit 2. */
    const uint32_t wanted = (g->row >> 3) << 2 | (g->row & 3) << 6,
                   differs = (four & 0xc4c4c4c4u) ^ wanted * 0x01010101u, zero = 1u << bits;
    uint32_t same = (differs - 0x01010101u) & ~differs & 0x80808080u;
    for (; same; same &= same - 1) {
        const uint32_t byte = wcodec_first_bit(same) / 8, low = four >> 8 * byte & 0xff,
                       i = 4 * at + byte - 2;
        if (i >= shorts)
            continue; /* also what the list begins with, whose numbers are below 0 */
        const uint32_t high = wcodec_shared_u8(warp, g->list + 2 + shorts + i / 2) >> i % 2 * 4,
                       position = low | (high & 7) << 8;
        if ((high & 1) == (g->row >> 2 & 1))
            wcodec_put_u8(warp, g->patch + (position >> 4 & 3) * 32 + wcodec_row_place(position),
                          high & 8 ? 128 - zero : zero);
    }
}

/* The row's outliers from the list, which is in shared memory, to where its lanes look. Each of the
 * four takes some of them. */
WCODEC_DEVICE_FUNCTION void wcodec_gather_outliers(const uint32_t bits, struct wcodec_warp *warp,
                                                   const struct wcodec_gather_lane *g,
                                                   uint32_t size)
{
    const uint32_t head = wcodec_shared_u32(warp, g->list), shorts = head & 0xff,
                   longs = head >> 8 & 0x7f, end = g->list + size - (head & 0x8000 ? 8 : 0);
    WCODEC_UNROLL_NONE
    for (uint32_t at = g->lane; 4 * at < 2 + shorts; at += 4)
        wcodec_gather_shorts(bits, warp, g, shorts, at, wcodec_shared_u32(warp, g->list + 4 * at));
    WCODEC_UNROLL_NONE
    for (uint32_t i = g->lane; i < longs; i += 4) {
        const uint32_t word = wcodec_shared_u16(warp, end - 2 * (i + 1)), position = word & 0x7ff;
        if (wcodec_record_row(position) == g->row)
            wcodec_put_u8(warp, g->patch + (position >> 4 & 3) * 32 + wcodec_row_place(position),
                          word >> 11 << 2);
    }
}

/* What they change in the lane's upper bytes; then that is zeros again. */
WCODEC_DEVICE_FUNCTION void wcodec_gather_patch(struct wcodec_warp *warp,
                                                const struct wcodec_gather_lane *g, uint32_t *upper)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t at = g->patch + 32 * g->lane + 16 * i;
        const wcodec_u4 change = wcodec_shared_u4(warp, at);
        upper[4 * i] ^= change.x;
        upper[4 * i + 1] ^= change.y;
        upper[4 * i + 2] ^= change.z;
        upper[4 * i + 3] ^= change.w;
        wcodec_put_u4(warp, at, wcodec_make_u4(0, 0, 0, 0));
    }
}

/* The record of row `row`'s tile. */
WCODEC_DEVICE_FUNCTION const WCODEC_GLOBAL uint8_t *
wcodec_gather_record(const uint32_t bits, const struct wcodec_rows_launch *l, uint64_t row,
                     uint32_t tile)
{
    return (const WCODEC_GLOBAL uint8_t *)l->job.records +
           (row / 16 * l->job.across + tile) * (uint64_t)wcodec_record_size(bits, l->job.list);
}

/* The lane's part of the list to shared memory: what was asked for before, and what few lists have
 * after that. */
WCODEC_DEVICE_FUNCTION void wcodec_gather_list(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_gather_lane *g,
                                               const WCODEC_GLOBAL uint8_t *list, uint32_t size,
                                               const wcodec_u4 *asked)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < WCODEC_GATHER_ASKED(bits); i++)
        if (i == 0 || 64 * i < size)
            wcodec_put_u4(warp, g->list + 64 * i + 16 * g->lane, asked[i]);
    WCODEC_UNROLL_NONE
    for (uint32_t at = 64 * WCODEC_GATHER_ASKED(bits) + 16 * g->lane; at < size; at += 64)
        wcodec_put_u4(warp, g->list + at, wcodec_load_u4(list + at));
}

/* Tile `tile` of row `row`, which is there if `there`; all that is read is asked for before
 * anything of it is looked at. Collective. */
WCODEC_DEVICE_FUNCTION void wcodec_gather_tile(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_rows_launch *l,
                                               struct wcodec_gather_lane *g, bool there,
                                               uint64_t row, uint32_t tile, uint64_t out)
{
    const uint32_t size = 16 * l->job.list;
    const WCODEC_GLOBAL uint8_t *from =
        wcodec_gather_record(bits, l, there ? row : 0, there ? tile : 0);
    const WCODEC_GLOBAL uint8_t *list = from + wcodec_record_list_at(bits);
    struct wcodec_row_part part;
    uint32_t shift = 0;
    g->row = (uint32_t)row & 15;
    if (there) {
        wcodec_u4 asked[2];
        shift = ((const WCODEC_GLOBAL uint8_t *)l->job.shifts)[row];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < WCODEC_GATHER_ASKED(bits); i++) {
            const uint32_t at = 64 * i + 16 * g->lane;
            if (i == 0 || 64 * i < size)
                asked[i] = wcodec_load_once_u4(list + (at < size ? at : 0));
            else
                asked[i] = asked[0];
        }
        wcodec_row_load(bits, from, g->row, g->lane, &part);
        wcodec_gather_list(bits, warp, g, list, size, asked);
    }
    wcodec_sync_warp(warp);
    bool spills = false;
    if (there) {
        spills = (wcodec_shared_u32(warp, g->list) & 0x8000) != 0;
        wcodec_gather_outliers(bits, warp, g, size);
    }
    wcodec_sync_warp(warp);
    if (!there)
        return;
    wcodec_gather_patch(warp, g, part.upper);
    wcodec_row_store(l, &part, shift, out, 128 * tile + 8 * g->lane);
    if (spills)
        wcodec_row_spilled(l, list, size, g->row, g->lane, out, 128 * tile);
}

/* Groups of four lanes take a row's tile each, those of a warp at the same time: of one row eight,
 * and fewer of several rows where it has not so many. */
WCODEC_DEVICE_FUNCTION void wcodec_rows_gather(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_rows_launch *l)
{
    const uint32_t four = wcodec_lane(warp) / 4, warps = wcodec_warps(warp),
                   number = wcodec_group(warp) * warps + wcodec_warp_number(warp),
                   tiles = wcodec_gather_tiles(l->job.across),
                   chunks = (l->job.across + tiles - 1) / tiles, rows = number / chunks,
                   tile = (number - rows * chunks) * tiles + four % tiles;
    const uint64_t step = wcodec_groups(warp) * warps / chunks * (8 / tiles);
    struct wcodec_gather_lane g;
    g.lane = wcodec_lane(warp) & 3;
    g.list = wcodec_shared_base(warp) + wcodec_warp_number(warp) * WCODEC_GATHER_WARP +
             four * WCODEC_GATHER_TILE;
    g.patch = g.list + WCODEC_GATHER_LIST;
    for (uint32_t i = 0; i < 2; i++)
        wcodec_put_u4(warp, g.patch + 32 * g.lane + 16 * i, wcodec_make_u4(0, 0, 0, 0));
    wcodec_wait_for_launch(warp); /* what it read and stored: out and indices */
    if ((uint64_t)rows * (8 / tiles) >= step)
        return; /* more warps than whole rows take */
    for (uint64_t first = (uint64_t)rows * (8 / tiles); first < l->count; first += step) {
        const uint64_t which = first + four / tiles, out = l->job.out + 2 * which * l->job.columns;
        const bool wanted = which < l->count && tile < l->job.across;
        const uint64_t row =
            wanted ? ((const WCODEC_GLOBAL uint64_t *)l->indices)[which] : ~(uint64_t)0;
        wcodec_gather_tile(bits, warp, l, &g, row < l->job.rows, row, tile, out);
        if (wanted && row >= l->job.rows)
            wcodec_row_zeros(l, out, tile, g.lane);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_rows_kernel(const uint32_t bits, const bool neighbours,
                                               struct wcodec_warp *warp,
                                               const struct wcodec_rows_launch *l)
{
    if (neighbours)
        wcodec_rows_decode(bits, warp, l);
    else
        wcodec_rows_gather(bits, warp, l);
}
#endif

#endif
