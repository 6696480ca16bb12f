/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements of lossy tensors from coefficients that the kernels of tiles have left in scratch memory: shared out as in blocks.cl. */
#ifdef WCODEC_LOSSY
#include "backends/common/lossy.h"

/* With the coefficients' size known when this is compiled. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_of_tile(struct wcodec_lossy_work *w, const __global struct wcodec_blocks_job *job, uint32_t first, const uint32_t wide)
{
    w->wide = wide;
    const uint32_t units = wcodec_lossy_units(w, job);
    for (uint32_t unit = first; unit < units; unit += WCODEC_BLOCKS_STEP)
        wcodec_lossy_unit(w, job, unit);
}

/* Arguments as in blocks.cl. */
WCODEC_OPENCL_KERNEL void wcodec_kernel(const __global uint8_t *block, __global uint32_t *faults, ulong jobs, ulong tensors, ulong none, uint slots, uint first, uint end, uint queue, uint serial WCODEC_PLACE_PARAMETERS)
{
    struct wcodec_lossy_work work;
    WCODEC_OPENCL_PLACES
    WCODEC_OPENCL_LANES(work)
    (void)faults, (void)tensors, (void)none, (void)slots, (void)queue, (void)serial;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint32_t tile = first + (uint32_t)WCODEC_BLOCKS_TILE;
    if (tile >= end)
        return;
    const __global struct wcodec_blocks_job *job = (const __global struct wcodec_blocks_job *)(block + jobs) + tile;
    const __global struct wcodec_view_job *view = (const __global struct wcodec_view_job *)(block + job->view);
    work.binding.block = block;
    work.binding.raw = WCODEC_PLACE(job->residuals);
    work.binding.out = WCODEC_PLACE(view->out);
    wcodec_lossy_open(&work, job);
#ifdef WCODEC_OPENCL_LOOPS
    wcodec_lossy_of_tile(&work, job, WCODEC_BLOCKS_FIRST, work.wide);
#else
    if (view->wide)
        wcodec_lossy_of_tile(&work, job, WCODEC_BLOCKS_FIRST, 1);
    else
        wcodec_lossy_of_tile(&work, job, WCODEC_BLOCKS_FIRST, 0);
#endif
}
#endif
