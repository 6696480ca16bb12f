/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Whole tiles: by 32 work-items each, or by one where WCODEC_OPENCL_LOOPS is set. WCODEC_OPENCL_ITEMS is the size of a work-group. */
#include "backends/common/tile.h"

#ifdef WCODEC_OPENCL_LOOPS
#define WCODEC_TILES_A_GROUP WCODEC_OPENCL_ITEMS
#else
#define WCODEC_TILES_A_GROUP (WCODEC_OPENCL_ITEMS / 32)
#endif

#ifdef WCODEC_OPENCL_INTEL
#define WCODEC_OPENCL_KERNEL __kernel __attribute__((reqd_work_group_size(WCODEC_OPENCL_ITEMS, 1, 1))) __attribute__((intel_reqd_sub_group_size(32)))
#else
#define WCODEC_OPENCL_KERNEL __kernel __attribute__((reqd_work_group_size(WCODEC_OPENCL_ITEMS, 1, 1)))
#endif

/* In a kernel: bind `work` to the arguments; `number` is the tile of the work-group that this work-item has a part in. */
#if defined(WCODEC_OPENCL_LOOPS)
#define WCODEC_OPENCL_LANES(work) const uint32_t number = (uint32_t)get_local_id(0);
#elif defined(WCODEC_OPENCL_SUBGROUP)
#define WCODEC_OPENCL_LANES(work)                \
    const uint32_t number = get_sub_group_id();  \
    (work).binding.lane = get_sub_group_local_id();
#elif defined(WCODEC_OPENCL_LOCAL)
#define WCODEC_OPENCL_LANES(work)                        \
    __local uint32_t cells[3];                           \
    const uint32_t number = 0;                           \
    (work).binding.lane = (uint32_t)get_local_id(0);     \
    (work).binding.cells = cells;                        \
    (work).binding.turn = 0;                             \
    if ((work).binding.lane == 0)                        \
        cells[0] = 0;                                    \
    barrier(CLK_LOCAL_MEM_FENCE);
#else
#define WCODEC_OPENCL_LANES(work)                               \
    const uint32_t number = (uint32_t)get_local_id(0) / 32;     \
    (work).binding.lane = (uint32_t)get_local_id(0) & 31;
#endif
#define WCODEC_OPENCL_BIND(work)            \
    (work).binding.block = block;           \
    (work).binding.states = states;         \
    (work).binding.words = words;           \
    (work).binding.raw = raw;               \
    (work).binding.positions = positions;   \
    (work).binding.values = values;         \
    (work).binding.out = out;               \
    WCODEC_OPENCL_LANES(work)

/* Tiles [first, end) of the jobs at `jobs` of the block; their faults stand from `slots` on. */
WCODEC_OPENCL_KERNEL void wcodec_generic(
    const __global uint8_t *block, const __global uint8_t *states, const __global uint8_t *words, const __global uint8_t *raw, const __global uint8_t *positions, const __global uint8_t *values,
    __global uint8_t *out, __global uint32_t *faults, ulong jobs, ulong tensors, uint slots, uint first,
    uint end)
{
    struct wcodec_tile_work work;
    WCODEC_OPENCL_BIND(work)
    const uint32_t tile = first + (uint32_t)get_group_id(0) * WCODEC_TILES_A_GROUP + number;
    if (tile >= end)
        return;
    const __global struct wcodec_tile_job *job = (const __global struct wcodec_tile_job *)(block + jobs) + tile;
    const uint32_t fault = wcodec_decode_tile(&work, job, tensors);
#ifdef WCODEC_OPENCL_LOOPS
    faults[slots + (job->slot & 0x7fffffffu)] = fault;
#else
    if (work.binding.lane == 0)
        faults[slots + (job->slot & 0x7fffffffu)] = fault;
#endif
}
