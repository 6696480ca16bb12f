/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/kernels/tile.h"
#include "backends/cuda/blocks.cuh"
#include "backends/cuda/fast.cuh"
#include "backends/cuda/few.cuh"
#include "backends/cuda/fused.cuh"
#include "backends/cuda/lossy.cuh"

/* Threads: as many as the registers allow that keep all of a block's state; more spill, and the
 * memory that spills go through is slow when output streams through it (bench/gpu/README.md). */
#define FAST(name, threads, shape, profile, runs, wide, add) \
    extern "C" __global__ void __launch_bounds__(threads, WCODEC_CUDA_BLOCKS) \
        wcodec_fast_##name(const __grid_constant__ fast_launch launch) \
    { \
        fast_kernel<shape, profile, runs, wide, add>(launch); \
    }

#define FAST_CODINGS(name, shape, threads) \
    FAST(name##_pairs, threads, shape, PAIRS, false, WCODEC_CUDA_WIDE(shape), false) \
    FAST(name##_p8, threads, shape, P8, false, false, false) \
    FAST(name##_p8_runs, threads, shape, P8, true, false, false)

FAST_CODINGS(16_8, WCODEC_SHAPE_16_8, 512)
FAST_CODINGS(8_4, WCODEC_SHAPE_8_4, 576)
FAST_CODINGS(8_31, WCODEC_SHAPE_8_31, 576)
FAST_CODINGS(32_24, WCODEC_SHAPE_32_24, 448)
FAST_CODINGS(32_8, WCODEC_SHAPE_32_8, 512)
FAST_CODINGS(16_11, WCODEC_SHAPE_16_11, 512)
FAST(8_4_pairs_add, 576, WCODEC_SHAPE_8_4, PAIRS, false, WCODEC_CUDA_WIDE(WCODEC_SHAPE_8_4), true)
FAST(8_4_p8_add, 576, WCODEC_SHAPE_8_4, P8, false, false, true)
FAST(8_4_p8_runs_add, 576, WCODEC_SHAPE_8_4, P8, true, false, true)
FAST(8_0_p12, 576, WCODEC_SHAPE_8_0, P12, false, false, false)
FAST(8_0_p12_add, 576, WCODEC_SHAPE_8_0, P12, false, false, true)
FAST(8_0_p8, 576, WCODEC_SHAPE_8_0, P8, false, false, false)
FAST(8_0_p8_add, 576, WCODEC_SHAPE_8_0, P8, false, false, true)
FAST(8_0_p8_runs, 576, WCODEC_SHAPE_8_0, P8, true, false, false)
FAST(8_0_p8_runs_add, 576, WCODEC_SHAPE_8_0, P8, true, false, true)

#define FEW(name, shape, profile) \
    extern "C" __global__ void __launch_bounds__(512, 1) \
        wcodec_few_##name(const __grid_constant__ fast_launch launch) \
    { \
        few_kernel<shape, profile>(launch); \
    }

#define FEW_CODINGS(name, shape) \
    FEW(name##_pairs, shape, PAIRS) \
    FEW(name##_p8, shape, P8)

FEW_CODINGS(16_8, WCODEC_SHAPE_16_8)
FEW_CODINGS(8_4, WCODEC_SHAPE_8_4)
FEW_CODINGS(8_31, WCODEC_SHAPE_8_31)
FEW_CODINGS(32_24, WCODEC_SHAPE_32_24)
FEW_CODINGS(16_11, WCODEC_SHAPE_16_11)

#define LOSSY(name, blocks, ...) \
    extern "C" __global__ void __launch_bounds__(512, blocks) \
        wcodec_lossy_##name(const __grid_constant__ fast_launch launch) \
    { \
        lossy_tiles_kernel<__VA_ARGS__>(launch); \
    }

/* Blocks are transformed in registers: a lane has 64 coefficients. */
LOSSY(p8_runs, 1, P8, true, 1)
LOSSY(wide, 1, P8, true, 2)
LOSSY(raw_wide, 1, P8, true, 2, true)
LOSSY(p12, WCODEC_CUDA_BLOCKS, P12, false, 1)
LOSSY(pairs, WCODEC_CUDA_BLOCKS, PAIRS, false, 1)
LOSSY(raw_p12, WCODEC_CUDA_BLOCKS, P12, false, 2, true)
LOSSY(raw_pairs, WCODEC_CUDA_BLOCKS, PAIRS, false, 1, true)

/* Whatever the fast ones do not: a warp a tile. */
extern "C" __global__ void __launch_bounds__(128, 8)
    wcodec_generic(const __grid_constant__ fast_launch launch)
{
    const uint32_t number = blockIdx.x * 4 + threadIdx.x / 32;
    if (number >= launch.count)
        return;
    const wcodec_tile_job *job = launch.jobs + number;
    wcodec_tile_work work;
    const uint32_t fault = wcodec_decode_tile(&work, job, launch.block);
    if (fault && (threadIdx.x & 31) == 0)
        launch.faults[job->slot & 0x7fffffffu] = fault;
}

extern "C" __global__ void __launch_bounds__(32 * WCODEC_CUDA_BLOCKS_WARPS, 8)
    wcodec_blocks(const __grid_constant__ fast_launch launch)
{
    blocks_kernel(launch);
}

extern "C" __global__ void __launch_bounds__(32 * WCODEC_CUDA_BLOCKS_WARPS, 4)
    wcodec_lossy(const __grid_constant__ fast_launch launch)
{
    lossy_kernel(launch);
}

#define FUSED(name, threads, shape, profile, runs) \
    extern "C" __global__ void __launch_bounds__(threads, WCODEC_CUDA_BLOCKS) \
        wcodec_fused_##name(const __grid_constant__ fast_launch launch) \
    { \
        fused_kernel<shape, profile, runs>(launch); \
    }

FUSED(8_4_pairs, 512, WCODEC_SHAPE_8_4_FUSED, PAIRS, false)
FUSED(8_1_pairs, 512, WCODEC_SHAPE_8_1_FUSED, PAIRS, false)
FUSED(8_2_pairs, 512, WCODEC_SHAPE_8_2_FUSED, PAIRS, false)
FUSED(8_3_pairs, 512, WCODEC_SHAPE_8_3_FUSED, PAIRS, false)
FUSED(8_0_p12, 512, WCODEC_SHAPE_8_0_FUSED, P12, false)
FUSED(8_0_p8, 512, WCODEC_SHAPE_8_0_P8_FUSED, P8, false)
FUSED(8_0_p8_runs, 448, WCODEC_SHAPE_8_0_P8_FUSED, P8, true)
