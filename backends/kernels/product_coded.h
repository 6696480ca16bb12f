/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products straight from tiles of rANS, whose elements are in fragments (doc/format.md 7): y = x
 * W^T
 * + bias, by tensor cores. A block of a tile is 16 rows by 32 columns, and comes out of a lane's
 * registers as two operands of mma.m16n8k16. A warp decodes a tile, multiplies as it goes, and
 * stores its sums; a second kernel adds those of a band's tiles, in order. All tiles were checked
 * before they became resident. */
#ifndef WCODEC_KERNELS_PRODUCT_CODED_H
#define WCODEC_KERNELS_PRODUCT_CODED_H

#include "backends/kernels/fixed_elements.h"
#include "backends/kernels/product_coded_launch.h"
#include "backends/kernels/work_group.h"

#ifdef WCODEC_MATRIX_PRODUCTS
#define WCODEC_CODED_EIGHTS_MAX 2

/* What a warp is at besides its tile. */
struct wcodec_coded_warp {
    const struct wcodec_coded_launch *launch;
    const WCODEC_GLOBAL uint8_t
        *x[WCODEC_CODED_EIGHTS_MAX]; /* of the block, as the lane takes it */
    float sums[WCODEC_CODED_EIGHTS_MAX][2][4];
};

/* A block, of which g is the first group. last: of the tile. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_block(const struct wcodec_kind k, const uint32_t eights,
                                               struct wcodec_warp *warp, struct wcodec_fast *f,
                                               struct wcodec_coded_warp *w, uint32_t g,
                                               const bool last)
{
    uint32_t r[WCODEC_ROWS_MOST], a[4];
    wcodec_u4 x[WCODEC_CODED_EIGHTS_MAX];
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++) {
        x[t] = wcodec_load_u4(w->x[t]);
        w->x[t] += 64;
    }
    wcodec_stream_begin_block(k, warp, &f->in);
    wcodec_fast_raw(k, warp, f, g, last, r);
    wcodec_stream_next_raw(k, warp, &f->in, g + k.groups, f->groups);
    const bool patch = wcodec_outliers_before(warp, &f->patches, (g + k.groups) * 128);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t v[4], o[4];
        wcodec_symbols(k, warp, &f->x, &f->in.at, f->lanes_below, f->table, f->launch->ones, v);
        if (last && k.payload)
            wcodec_take_payload(k, i, f->x, r);
        wcodec_assemble(k, &f->of, i, 0, v, r, o);
        if (patch)
            wcodec_fast_replace(k, warp, f, (g + i + 1) * 128, o);
        a[i % 2] = o[0];
        a[i % 2 + 2] = o[1];
        if (i % 2 == 0)
            continue;
        WCODEC_UNROLL_ALL
        for (uint32_t t = 0; t < eights; t++)
            wcodec_mma_bf16(warp, w->sums[t][eights == 1 ? i / 2 : 0], a, i == 1 ? x[t].x : x[t].z,
                            i == 1 ? x[t].y : x[t].w);
    }
}

/* The tile's sums: those of vectors that there are. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_store(const uint32_t eights, struct wcodec_warp *warp,
                                               const struct wcodec_coded_warp *w, uint32_t tile)
{
    const struct wcodec_coded_launch *l = w->launch;
    const uint32_t lane = wcodec_lane(warp);
    WCODEC_GLOBAL uint8_t *to =
        (WCODEC_GLOBAL uint8_t *)(l->sums + (uint64_t)tile * WCODEC_CODED_SUMS(eights) + 16 * lane);
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++) {
        uint32_t bits[4];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const float sum = eights == 1 ? w->sums[t][0][i] + w->sums[t][1][i] : w->sums[t][0][i];
            bits[i] = WCODEC_FLOAT_BITS(sum);
        }
        if (8 * t + lane % 4 * 2 < l->vectors)
            wcodec_store_once_u4(to + 512 * t, bits[0], bits[1], bits[2], bits[3]);
    }
}

/* After wcodec_fast_begin(); next: number of the warp's next tile. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_tile(const struct wcodec_kind k, const uint32_t eights,
                                              struct wcodec_warp *warp, struct wcodec_fast *f,
                                              struct wcodec_coded_warp *w, uint32_t next)
{
    const struct wcodec_coded_launch *l = w->launch;
    const uint32_t tile = wcodec_job_at(warp, f->launch, f->number)->slot & 0x7fffffffu,
                   lane = wcodec_lane(warp);
    uint32_t g = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t t = 0; t < eights; t++) {
        const uint32_t vector = 8 * t + lane / 4;
        w->x[t] =
            (const WCODEC_GLOBAL uint8_t *)(l->x +
                                            (vector < l->vectors ? vector : l->vectors - 1) *
                                                l->x_stride +
                                            tile % l->across * f->groups * 16 + lane % 4 * 16);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 8; i++)
            w->sums[t][i / 4][i % 4] = 0;
    }
    wcodec_fast_prepare(k, warp, f, next);
    WCODEC_UNROLL_NONE
    for (; g + k.groups < f->groups; g += k.groups)
        wcodec_coded_block(k, eights, warp, f, w, g, false);
    if (next < wcodec_part_end(warp))
        wcodec_prefetch_tile(warp, wcodec_job_at(warp, f->launch, next), true);
    wcodec_coded_block(k, eights, warp, f, w, g, true);
    wcodec_coded_store(eights, warp, w, tile);
    wcodec_stream_wait(warp); /* what is still on its way must not arrive in the next tile */
}

/* The tiles of a launch, as wcodec_tiles_kernel() takes them. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_kernel(const struct wcodec_kind k, const uint32_t eights,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_coded_launch *l)
{
    const struct wcodec_launch *launch = &l->tiles;
    struct wcodec_any_tile tile;
    struct wcodec_coded_warp w;
    const uint32_t group = wcodec_group(warp);
    uint32_t i = group, end = group + 1;
    uint64_t loaded = 0;
    wcodec_allow_next_launch(warp);
    if (launch->first_part) {
        const WCODEC_GLOBAL uint32_t *first =
            WCODEC_BLOCK(warp, uint32_t, launch->first_part) + group;
        i = first[0];
        end = first[1];
    }
    tile.residuals.fast.launch = launch;
    w.launch = l;
    for (; i < end; i++) {
        const struct wcodec_part part = wcodec_part_of(warp, launch, i);
        uint32_t number = part.first + wcodec_warp_number(warp);
        wcodec_enter_part(k, warp, &part, part.tables != loaded, &tile);
        /* Vectors are read from here on, sums written, and tiles taken from the queue. */
        if (loaded == 0)
            wcodec_wait_for_launch(warp);
        loaded = part.tables;
        while (number < wcodec_part_end(warp)) {
            const uint32_t next = wcodec_next_tile(warp, launch, number);
            wcodec_coded_tile(k, eights, warp, &tile.residuals.fast, &w, next);
            number = next;
            if (number < wcodec_part_end(warp))
                wcodec_fast_begin(k, warp, &tile.residuals.fast, number);
        }
    }
    if (launch->queue)
        wcodec_end_queue(warp, launch);
}

WCODEC_DEVICE_FUNCTION void wcodec_coded_finish(const struct wcodec_coded_launch *l, uint64_t row,
                                                uint32_t vector, float sum)
{
    if (vector >= l->vectors)
        return;
    if (l->bias)
        sum += wcodec_product_number(l->bias, l->bias_format, row);
    wcodec_product_store(l->y + vector * l->y_stride, l->y_format, row, sum);
}

/* y from the sums of tiles: a thread has two rows of two vectors. */
WCODEC_DEVICE_FUNCTION void wcodec_coded_sum_kernel(struct wcodec_warp *warp,
                                                    const struct wcodec_coded_launch *l)
{
    const uint32_t n = wcodec_group(warp) * wcodec_threads(warp) + wcodec_thread(warp),
                   lane = n % 32, t = n / 32 % l->eights, band = n / 32 / l->eights,
                   vector = 8 * t + lane % 4 * 2, size = WCODEC_CODED_SUMS(l->eights);
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->sums + (uint64_t)band * l->across * size + 512 * t +
                                        16 * lane);
    float sums[4] = {0, 0, 0, 0};
    wcodec_allow_next_launch(warp);
    wcodec_wait_for_launch(warp);
    if (band >= l->bands || vector >= l->vectors)
        return;
    for (uint32_t piece = 0; piece < l->across; piece++) {
        const wcodec_u4 bits = wcodec_load_u4(from + piece * size);
        sums[0] += wcodec_bits_float(bits.x);
        sums[1] += wcodec_bits_float(bits.y);
        sums[2] += wcodec_bits_float(bits.z);
        sums[3] += wcodec_bits_float(bits.w);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_coded_finish(l, 16 * (uint64_t)band + lane / 4 + i / 2 * 8, vector + i % 2, sums[i]);
}
#endif

#endif
