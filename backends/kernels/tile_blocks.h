/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles of residuals of bytes, which become elements of blocks before they leave the processor:
 * sixteen groups are decoded to a warp's stage, outliers are put in, and the eight blocks that they
 * are go to their destination (fused.h). */
#ifndef WCODEC_KERNELS_TILE_BLOCKS_H
#define WCODEC_KERNELS_TILE_BLOCKS_H

#include "backends/kernels/fused.h"
#include "backends/kernels/tile_fast.h"

struct wcodec_residual_tile {
    struct wcodec_fast fast;
    struct wcodec_fused_outliers outliers;
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_stage_at(const struct wcodec_kind k,
                                                const struct wcodec_fast *f)
{
    return f->in.ring + wcodec_stream_size(k, 0);
}

/* What the code of blocks works with: bytes, in the warp's stage. */
WCODEC_DEVICE_FUNCTION void wcodec_residuals_bind(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_fast *f,
                                                  struct wcodec_blocks_work *w)
{
    w->warp = *warp;
    w->stage = WCODEC_SHARED(warp, struct wcodec_stage, wcodec_stage_at(k, f));
    w->wide = 0;
    w->words_log2 = 2;
}

WCODEC_DEVICE_FUNCTION void wcodec_residuals_open(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  struct wcodec_residual_tile *t)
{
    struct wcodec_blocks_work work;
    const WCODEC_GLOBAL struct wcodec_tile_job *job =
        wcodec_job_at(warp, t->fast.launch, t->fast.number);
    wcodec_residuals_bind(k, warp, &t->fast, &work);
    wcodec_blocks_open(&work, WCODEC_BLOCK(warp, struct wcodec_blocks_job, job->out), work.stage);
    work.wide = 0;
    work.words_log2 = 2;
    wcodec_fused_begin(&work, work.stage, job, wcodec_part_set(warp), &t->outliers);
    wcodec_warp_return(warp, &work.warp);
}

/* The stage has groups [first, end). */
WCODEC_DEVICE_FUNCTION void wcodec_residuals_reconstruct(const struct wcodec_kind k,
                                                         struct wcodec_warp *warp,
                                                         struct wcodec_residual_tile *t,
                                                         uint32_t first, uint32_t end)
{
    struct wcodec_blocks_work work;
    wcodec_residuals_bind(k, warp, &t->fast, &work);
    if (t->outliers.next < end * 128)
        wcodec_fused_patch(&work, work.stage, wcodec_job_at(warp, t->fast.launch, t->fast.number),
                           wcodec_part_set(warp), first * 128, end * 128, &t->outliers);
    wcodec_fused_check(&work, first, end, &t->fast.sum);
    wcodec_fused_unit(&work, first / 2);
    wcodec_warp_return(warp, &work.warp);
}

/* Groups [first, end), of which the tile's last are decoded in another way. */
WCODEC_DEVICE_FUNCTION void wcodec_residuals_unit(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp, struct wcodec_fast *f,
                                                  uint32_t first, uint32_t end, uint32_t next)
{
    const uint32_t stop = end < f->middle ? end : f->middle;
    uint32_t g = first;
    f->staged = wcodec_stage_at(k, f) + 4 * wcodec_lane(warp);
    WCODEC_UNROLL_NONE
    for (; g < stop; g += k.groups)
        wcodec_fast_block(k, warp, f, g, false, false);
    if (g == end)
        return;
    if (next < wcodec_part_end(warp))
        wcodec_prefetch_tile(warp, wcodec_job_at(warp, f->launch, next), k.rows > 0);
    if (f->whole)
        wcodec_fast_block(k, warp, f, g, true, false);
    else
        wcodec_fast_remaining(k, warp, f, g);
}

WCODEC_DEVICE_FUNCTION void wcodec_residuals_decode(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    struct wcodec_residual_tile *t, uint32_t next)
{
    struct wcodec_fast *f = &t->fast;
    wcodec_residuals_open(k, warp, t);
    wcodec_fast_prepare(k, warp, f, next);
    WCODEC_UNROLL_NONE
    for (uint32_t first = 0; first < f->groups; first += WCODEC_UNIT_GROUPS) {
        const uint32_t left = f->groups - first,
                       end = first + (left < WCODEC_UNIT_GROUPS ? left : WCODEC_UNIT_GROUPS);
        wcodec_residuals_unit(k, warp, f, first, end, next);
        wcodec_residuals_reconstruct(k, warp, t, first, end);
    }
    wcodec_stream_wait(warp); /* what is still on its way must not arrive in the next tile */
    const WCODEC_GLOBAL struct wcodec_tile_job *job = wcodec_job_at(warp, f->launch, f->number);
    const uint32_t taken = wcodec_stream_taken(k, 0, &f->in, WCODEC_WORD_ADDRESS(job));
    uint32_t fault = wcodec_fast_stream_fault(k, warp, f, job->word_count, taken);
    if (!fault && t->outliers.done != job->outliers)
        fault = WCODEC_TILE_OUTLIER;
    wcodec_fast_finish(warp, f->launch, f->sum, job->slot, job->check, fault);
}

#endif
