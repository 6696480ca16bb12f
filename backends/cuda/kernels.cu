/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/common/tile.h"
#include "backends/cuda/fast.cuh"

#define FAST(name, threads, blocks, shape, profile, runs, wide, add, check, prefetch)                             \
    extern "C" __global__ void __launch_bounds__(threads, blocks) wcodec_fast_##name(const __grid_constant__ fast_launch launch) \
    {                                                                                                              \
        fast_kernel<shape, profile, runs, wide, add, check, prefetch>(launch);                                     \
    }

/* Whether tables hold output bits ready, in entries of eight bytes: fewer instructions, but more of the shared memory's time. What is faster was measured for each shape (bench/gpu/README.md). */
#define FAST_CODINGS(name, shape, threads, wide)                                                                  \
    FAST(name##_pairs, threads, 2, shape, PAIRS, false, wide, false, true, 1)                                      \
    FAST(name##_p8, threads, 2, shape, P8, false, false, false, true, 1)                                         \
    FAST(name##_p8_runs, threads, 2, shape, P8, true, false, false, true, 1)

FAST_CODINGS(16_8, WCODEC_SHAPE_16_8, 768, false)
FAST_CODINGS(8_4, WCODEC_SHAPE_8_4, 768, true)
FAST_CODINGS(8_31, WCODEC_SHAPE_8_31, 768, false)
FAST_CODINGS(32_24, WCODEC_SHAPE_32_24, 512, true)
FAST_CODINGS(16_11, WCODEC_SHAPE_16_11, 768, true)
FAST(8_4_pairs_add, 768, 2, WCODEC_SHAPE_8_4, PAIRS, false, true, true, true, 1)
FAST(8_4_p8_add, 768, 2, WCODEC_SHAPE_8_4, P8, false, false, true, true, 1)
FAST(8_4_p8_runs_add, 768, 2, WCODEC_SHAPE_8_4, P8, true, false, true, true, 1)
FAST(8_0_p12, 768, 2, WCODEC_SHAPE_8_0, P12, false, false, false, true, 1)
FAST(8_0_p12_add, 768, 2, WCODEC_SHAPE_8_0, P12, false, false, true, true, 1)
FAST(8_0_p8, 768, 2, WCODEC_SHAPE_8_0, P8, false, false, false, true, 1)
FAST(8_0_p8_add, 768, 2, WCODEC_SHAPE_8_0, P8, false, false, true, true, 1)
FAST(8_0_p8_runs, 768, 2, WCODEC_SHAPE_8_0, P8, true, false, false, true, 1)
FAST(8_0_p8_runs_add, 768, 2, WCODEC_SHAPE_8_0, P8, true, false, true, true, 1)

/* Whatever the fast ones do not: a warp a tile. */
extern "C" __global__ void __launch_bounds__(128) wcodec_generic(const __grid_constant__ fast_launch launch)
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
