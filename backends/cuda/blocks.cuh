/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements from residuals and coefficients that the kernels of tiles have left in scratch memory: a
 * work-group a tile, a warp a unit. */
#ifndef WCODEC_CUDA_BLOCKS_CUH
#define WCODEC_CUDA_BLOCKS_CUH

#include "backends/kernels/blocks.h"
#include "backends/kernels/lossy.h"
#include "backends/cuda/fast.cuh"

#define WCODEC_CUDA_BLOCKS_WARPS 4

template <int WIDE>
WCODEC_INLINE void blocks_of_tile(wcodec_blocks_work *w, const wcodec_blocks_job *job)
{
    /* Known when this is compiled. */
    w->wide = WIDE;
    w->words_log2 = 2 + WIDE;
#pragma unroll 1
    for (uint32_t unit = threadIdx.x / 32; unit < wcodec_blocks_units(w, job);
         unit += WCODEC_CUDA_BLOCKS_WARPS)
        wcodec_blocks_unit(w, job, unit);
}

WCODEC_INLINE void blocks_kernel(const fast_launch &launch)
{
    __shared__ wcodec_stage stages[WCODEC_CUDA_BLOCKS_WARPS];
    const wcodec_blocks_job *job = (const wcodec_blocks_job *)launch.jobs + blockIdx.x;
    wcodec_blocks_work work;
    wcodec_blocks_open(&work, job, &stages[threadIdx.x / 32]);
    if (work.wide)
        blocks_of_tile<1>(&work, job);
    else
        blocks_of_tile<0>(&work, job);
}

template <int WIDE>
WCODEC_INLINE void lossy_of_tile(wcodec_lossy_work *w, const wcodec_blocks_job *job)
{
    w->wide = WIDE;
#pragma unroll 1
    for (uint32_t unit = threadIdx.x / 32; unit < wcodec_lossy_units(w, job);
         unit += WCODEC_CUDA_BLOCKS_WARPS)
        wcodec_lossy_unit(w, job, unit);
}

WCODEC_INLINE void lossy_kernel(const fast_launch &launch)
{
    const wcodec_blocks_job *job = (const wcodec_blocks_job *)launch.jobs + blockIdx.x;
    wcodec_lossy_work work;
    wcodec_lossy_open(&work, job);
    if (work.wide)
        lossy_of_tile<1>(&work, job);
    else
        lossy_of_tile<0>(&work, job);
}

#endif
