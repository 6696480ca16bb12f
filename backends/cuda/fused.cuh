/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles of residuals of bytes, which become elements of blocks before they leave the
 * multiprocessor: sixteen groups are decoded to a warp's stage, outliers are put in, and the eight
 * blocks that they are go to their places. */
#ifndef WCODEC_CUDA_FUSED_CUH
#define WCODEC_CUDA_FUSED_CUH

#include "backends/kernels/fused.h"
#include "backends/cuda/fast.cuh"

static_assert(WCODEC_SHAPE_8_4_FUSED >= WCODEC_SHAPES &&
                  WCODEC_CUDA_STAGE(WCODEC_SHAPE_8_4_FUSED) == sizeof(wcodec_stage),
              "geometry.h");

template <int SHAPE, int PROFILE, bool RUNS>
struct fused_tile : fast_tile<SHAPE, PROFILE, RUNS, false, true, true> {
    typedef fast_tile<SHAPE, PROFILE, RUNS, false, true, true> fast;
    using fast::in, fast::groups, fast::middle, fast::whole, fast::staged, fast::sum, fast::launch,
        fast::unroll;

    wcodec_fused_outliers outliers;

    __device__ __forceinline__ fused_tile(const fast_launch &l) : fast(l)
    {
    }

    __device__ __forceinline__ uint32_t stage_address() const
    {
        return in.ring + WCODEC_CUDA_STREAMS(SHAPE);
    }

    __device__ __forceinline__ wcodec_stage *stage() const
    {
        return (wcodec_stage *)((char *)shared +
                                (stage_address() - (uint32_t)__cvta_generic_to_shared(shared)));
    }

    /* The stage has groups [first, end). */
    __device__ __forceinline__ void reconstruct(uint32_t first, uint32_t end)
    {
        wcodec_blocks_work work;
        work.stage = stage();
        work.wide = 0;
        work.words_log2 = 2;
        if (outliers.next < end * 128)
            wcodec_fused_patch(&work, stage(), fast::tile(), current_set(), first * 128, end * 128,
                               &outliers);
        wcodec_fused_check(&work, first, end, &sum);
        wcodec_fused_unit(&work, first / 2);
    }

    __device__ __forceinline__ void begin(uint32_t tile_number, uint32_t room)
    {
        fast::begin(tile_number, room);
        whole = groups % unroll == 0;
        middle = whole ? groups - unroll : groups / unroll * unroll;
    }

    __device__ __forceinline__ void decode(uint32_t next, uint32_t tables, uint32_t runs)
    {
        const wcodec_tile_job *job = fast::tile();
        wcodec_blocks_work work;
        wcodec_blocks_open(&work, (const wcodec_blocks_job *)job->out, stage());
        work.wide = 0;
        work.words_log2 = 2;
        wcodec_fused_begin(&work, stage(), job, current_set(), &outliers);
        fast::prepare(next, tables, runs);
#pragma unroll 1
        for (uint32_t first = 0; first < groups; first += WCODEC_UNIT_GROUPS) {
            const uint32_t end = min(first + WCODEC_UNIT_GROUPS, groups), stop = min(end, middle);
            uint32_t g = first;
            staged = stage_address() + 4 * (thread() & 31);
#pragma unroll 1
            for (; g < stop; g += unroll)
                fast::template block<false>(g);
            if (g < end) {
                if (next < launch_end())
                    prefetch_tile<(fast::rows > 0)>(launch.jobs + next);
                if (whole)
                    fast::template block<true>(g);
                else
                    fast::remaining(g);
            }
            reconstruct(first, end);
        }
        copy_async_wait<0>(); /* what is still on its way must not arrive in the next tile */
        __syncwarp();
        job = fast::tile();
        const tile_end last = {job->word_count, job->outliers, job->slot, job->check};
        const uint32_t fault = fast::stream_fault(last, in.taken(word_address(job)));
        fast::tell(last, fault ? fault : outliers.done == last.outliers ? 0 : 4);
    }
};

template <int SHAPE, int PROFILE, bool RUNS>
WCODEC_INLINE void fused_kernel(const fast_launch &launch)
{
    typedef places<PROFILE == P8 && !RUNS ? 32768 : 16384, WCODEC_CUDA_ROOM(SHAPE)> place;
    take_parts<fused_tile<SHAPE, PROFILE, RUNS>, place>(
        launch, [](const wcodec_table_set *set, uint32_t *to, auto meanwhile) {
            load_tables<SHAPE, PROFILE, RUNS, false>(set, to, meanwhile);
        });
}

#endif
