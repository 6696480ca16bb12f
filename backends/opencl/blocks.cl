/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Blocks from residuals that the kernels of tiles have left in scratch memory: a tile is done by a
 * work-group, of which each 32 work-items take every so many units, or by one work-item. */
#ifdef WCODEC_OPENCL_LOOPS
#define WCODEC_BLOCKS_STAGE \
    struct wcodec_stage own_stage; \
    struct wcodec_stage *stage = &own_stage;
#define WCODEC_BLOCKS_TILE (get_group_id(0) * WCODEC_OPENCL_ITEMS + number)
#define WCODEC_BLOCKS_FIRST 0
#define WCODEC_BLOCKS_STEP 1
#else
#define WCODEC_BLOCKS_STAGE \
    __local struct wcodec_stage stages[WCODEC_TILES_A_GROUP]; \
    __local struct wcodec_stage *stage = &stages[number];
#define WCODEC_BLOCKS_TILE get_group_id(0)
#define WCODEC_BLOCKS_FIRST number
#define WCODEC_BLOCKS_STEP WCODEC_TILES_A_GROUP
#endif

#ifdef WCODEC_BLOCKS
#include "backends/kernels/blocks.h"

/* With the elements' size known when this is compiled. */
WCODEC_DEVICE_FUNCTION void wcodec_blocks_of_tile(struct wcodec_blocks_work *w,
                                                  const __global struct wcodec_blocks_job *job,
                                                  uint32_t first, const uint32_t wide)
{
    w->wide = wide;
    w->words_log2 = 2 + wide;
    const uint32_t units = wcodec_blocks_units(w, job);
    for (uint32_t unit = first; unit < units; unit += WCODEC_BLOCKS_STEP)
        wcodec_blocks_unit(w, job, unit);
}

/* Tiles [first, end) of the jobs at `jobs` of the block; arguments are those of the other kernels.
 */
WCODEC_OPENCL_KERNEL void wcodec_kernel(WCODEC_OPENCL_PARAMETERS)
{
    struct wcodec_blocks_work work;
    WCODEC_OPENCL_PLACES
    WCODEC_OPENCL_LANES(work)
    WCODEC_BLOCKS_STAGE(void) told;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint32_t tile = launch.first + (uint32_t)WCODEC_BLOCKS_TILE;
    if (tile >= launch.active)
        return;
    const __global struct wcodec_blocks_job *job =
        (const __global struct wcodec_blocks_job *)(block + launch.jobs) + tile;
    const __global struct wcodec_view_job *view =
        (const __global struct wcodec_view_job *)(block + job->view);
    work.warp.block = block;
    work.warp.raw = WCODEC_PLACE(job->residuals);
    work.warp.places = places;
    wcodec_blocks_open(&work, job, stage);
    if (view->wide)
        wcodec_blocks_of_tile(&work, job, WCODEC_BLOCKS_FIRST, 1);
    else
        wcodec_blocks_of_tile(&work, job, WCODEC_BLOCKS_FIRST, 0);
}
#endif
