/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a fast kernel of bytes does with a unit of residuals if WCODEC_FUSED is set: elements of
 * blocks. */
#ifdef WCODEC_FUSED
#include "backends/kernels/fused.h"

struct wcodec_fused {
    __local struct wcodec_stage *stage;
    __local uint32_t *staged; /* the lane's word of a group */
    struct wcodec_fused_outliers outliers;
};

/* The lane's number is asked for anew, so that no register holds through a tile what follows from
 * it. */
WCODEC_DEVICE_FUNCTION void wcodec_fused_bind(struct wcodec_blocks_work *work,
                                              const struct wcodec_tile_work *w,
                                              const __global uint8_t *block,
                                              __global uint8_t *__local *places)
{
    work->warp = w->warp;
    work->warp.lane = WCODEC_THREAD_LANE(w);
    work->warp.block = block;
    work->warp.places = places;
}

WCODEC_DEVICE_FUNCTION void
wcodec_fused_open(struct wcodec_fused *f, __local struct wcodec_stage *stage,
                  const struct wcodec_tile_work *w, const __global struct wcodec_tile_job *job,
                  const __global struct wcodec_table_set *set, const __global uint8_t *block,
                  __global uint8_t *__local *places)
{
    struct wcodec_blocks_work work;
    wcodec_fused_bind(&work, w, block, places);
    f->stage = stage;
    wcodec_blocks_open(&work, (const __global struct wcodec_blocks_job *)(block + job->out), stage);
    work.wide = 0;
    work.words_log2 = 2;
    wcodec_fused_begin(&work, stage, job, set, &f->outliers);
}

/* Groups [first, end) are in the stage. */
WCODEC_DEVICE_FUNCTION void
wcodec_fused_groups(struct wcodec_fused *f, const struct wcodec_tile_work *w,
                    const __global struct wcodec_tile_job *job,
                    const __global struct wcodec_table_set *set, const __global uint8_t *block,
                    __global uint8_t *__local *places, uint32_t first, uint32_t end, uint64_t *sum)
{
    struct wcodec_blocks_work work;
    wcodec_fused_bind(&work, w, block, places);
    work.stage = f->stage;
    work.wide = 0;
    work.words_log2 = 2;
    if (f->outliers.next < end * 128)
        wcodec_fused_patch(&work, f->stage, job, set, first * 128, end * 128, &f->outliers);
    wcodec_fused_check(&work, first, end, sum);
    wcodec_fused_unit(&work, first / 2);
}
#endif
