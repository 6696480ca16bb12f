/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rows of a matrix at a fixed rate that stays in the device's memory: neighbouring ones tile by
 * tile, as batches decode them (fixed.h); any others one by one. All was checked before it became
 * resident. */
#ifndef WCODEC_KERNELS_ROWS_H
#define WCODEC_KERNELS_ROWS_H

#include "backends/kernels/fixed_row.h"
#include "backends/kernels/product.h"

#ifdef WCODEC_MATRIX_PRODUCTS
WCODEC_DEVICE_FUNCTION void wcodec_rows_decode(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_rows_launch *l)
{
    struct wcodec_record_work work;
    const uint32_t number = wcodec_warp_number(warp), warps = wcodec_warps(warp);
    WCODEC_WARP_COPY(&work, warp);
    work.stage = WCODEC_SHARED(warp, struct wcodec_record_stage,
                               wcodec_shared_base(warp) + number * WCODEC_RECORD_STAGE);
    work.job = &l->job;
    for (uint32_t tile = wcodec_group(warp) * warps + number; tile < l->tiles;
         tile += wcodec_groups(warp) * warps)
        wcodec_record_decode(bits, &work, tile, false);
}

/* Groups of four lanes take a row's tile each. */
WCODEC_DEVICE_FUNCTION void wcodec_rows_gather(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_rows_launch *l)
{
    const uint64_t all = l->count * l->job.across,
                   step = (uint64_t)wcodec_groups(warp) * wcodec_threads(warp) / 4;
    for (uint64_t i =
             ((uint64_t)wcodec_group(warp) * wcodec_threads(warp) + wcodec_thread(warp)) / 4;
         i < all; i += step) {
        const uint64_t number = i / l->job.across, out = l->job.out + 2 * number * l->job.columns,
                       row = ((const WCODEC_GLOBAL uint64_t *)l->indices)[number];
        const uint32_t tile = (uint32_t)(i - number * l->job.across), lane = wcodec_lane(warp) & 3;
        if (row < l->job.rows)
            wcodec_row_gather(bits, l, row, out, tile, lane);
        else
            wcodec_row_zeros(l, out, tile, lane);
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
