/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements from residuals, coefficients and sequences that other kernels have left in scratch
 * memory: a work-group a tile, a warp a unit. */
#ifndef WCODEC_KERNELS_UNITS_H
#define WCODEC_KERNELS_UNITS_H

#include "backends/kernels/blocks.h"
#include "backends/kernels/fragments.h"
#include "backends/kernels/launch.h"
#include "backends/kernels/lossy.h"

WCODEC_DEVICE_FUNCTION const WCODEC_GLOBAL struct wcodec_blocks_job *
wcodec_units_job(struct wcodec_warp *warp, const struct wcodec_launch *launch)
{
    return WCODEC_BLOCK(warp, struct wcodec_blocks_job, launch->jobs) + launch->first +
           wcodec_group(warp);
}

/* With the size of elements, or coefficients, known when this is compiled. */
WCODEC_DEVICE_FUNCTION void wcodec_blocks_of_tile(struct wcodec_blocks_work *w,
                                                  const WCODEC_GLOBAL struct wcodec_blocks_job *job,
                                                  const uint32_t wide)
{
    w->wide = wide;
    w->words_log2 = 2 + wide;
    WCODEC_UNROLL_NONE
    for (uint32_t unit = wcodec_warp_number(&w->warp); unit < wcodec_blocks_units(w, job);
         unit += wcodec_warps(&w->warp))
        wcodec_blocks_unit(w, job, unit);
}

WCODEC_DEVICE_FUNCTION void wcodec_blocks_units_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_launch *launch)
{
    const WCODEC_GLOBAL struct wcodec_blocks_job *job = wcodec_units_job(warp, launch);
    struct wcodec_blocks_work work;
    const uint32_t stage = wcodec_shared_base(warp) + WCODEC_SHARED_HEAD +
                           wcodec_warp_number(warp) * WCODEC_STAGE_SIZE;
    WCODEC_WARP_COPY(&work, warp);
    WCODEC_BIND(&work, raw, job->residuals);
    wcodec_blocks_open(&work, job, WCODEC_SHARED(warp, struct wcodec_stage, stage));
    if (work.wide)
        wcodec_blocks_of_tile(&work, job, 1);
    else
        wcodec_blocks_of_tile(&work, job, 0);
}

WCODEC_DEVICE_FUNCTION void wcodec_fragments_units_kernel(struct wcodec_warp *warp,
                                                          const struct wcodec_launch *launch)
{
    const WCODEC_GLOBAL struct wcodec_blocks_job *job = wcodec_units_job(warp, launch);
    struct wcodec_fragments_work work;
    WCODEC_WARP_COPY(&work, warp);
    WCODEC_BIND(&work, raw, job->residuals);
    work.view = WCODEC_BLOCK(warp, struct wcodec_view_job, job->view);
    WCODEC_BIND(&work, out, work.view->out);
    wcodec_fragments_tile(&work, job, wcodec_warp_number(&work.warp), wcodec_warps(&work.warp));
}

#ifdef WCODEC_LOSSY_UNITS
WCODEC_DEVICE_FUNCTION void wcodec_lossy_of_tile(struct wcodec_lossy_work *w,
                                                 const WCODEC_GLOBAL struct wcodec_blocks_job *job,
                                                 const uint32_t wide)
{
    w->wide = wide;
    WCODEC_UNROLL_NONE
    for (uint32_t unit = wcodec_warp_number(&w->warp); unit < wcodec_lossy_units(w, job);
         unit += wcodec_warps(&w->warp))
        wcodec_lossy_unit(w, job, unit);
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_units_kernel(struct wcodec_warp *warp,
                                                      const struct wcodec_launch *launch)
{
    const WCODEC_GLOBAL struct wcodec_blocks_job *job = wcodec_units_job(warp, launch);
    struct wcodec_lossy_work work;
    WCODEC_WARP_COPY(&work, warp);
    WCODEC_BIND(&work, raw, job->residuals);
    wcodec_lossy_open(&work, job);
    WCODEC_BIND(&work, out, work.view->out);
    if (work.wide)
        wcodec_lossy_of_tile(&work, job, 1);
    else
        wcodec_lossy_of_tile(&work, job, 0);
}
#endif

#endif
