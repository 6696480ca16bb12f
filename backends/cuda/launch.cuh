/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a launch of kernels that give a tile to each warp is told, how its work-groups share their
 * memory, and which tiles a warp takes. */
#ifndef WCODEC_CUDA_LAUNCH_CUH
#define WCODEC_CUDA_LAUNCH_CUH

#include "backends/cuda/device.cuh"

struct fast_launch {
    uint64_t block; /* all descriptors */
    const wcodec_tile_job *jobs;
    uint64_t tables; /* of all tiles, or 0: as the parts say */
    const wcodec_part *parts;
    const uint32_t *first_part; /* of each block, and one more; NULL: one a block */
    uint32_t *faults;
    uint32_t *queue; /* NULL, or with tables for all: tiles taken, and blocks that have ended */
    uint32_t ones; /* all bits set. From here the compiler cannot see it, and takes it as an operand
                      instead of making it again and again */
    uint32_t count;   /* generic, and with tables for all: tiles */
    uint32_t first;   /* with tables for all: their first job */
    uint32_t tiles;   /* few: of a work-group */
    uint32_t inverse; /* few: 2^16 over that, rounded up */
    uint32_t helpers; /* few: warps for each tile */
    uint32_t words;   /* few: most of a tile, a multiple of 8 */
    uint32_t groups;  /* few: of each tile */
};

/* Shared memory: the warps' rooms for streams, and the tables, aligned to their size so that an
 * index is or-ed to their address; rooms go below them as far as there is room. Before them is the
 * part that the work-group is at: read again when needed, rather than held in registers through a
 * tile. */
extern __shared__ __align__(1024) uint32_t shared[];

/* EXTRA: bytes of a warp behind everything else. */
template <uint32_t TABLES, uint32_t ROOM, uint32_t EXTRA = 1024> struct places {
    static __device__ __forceinline__ uint32_t base()
    {
        return (uint32_t)__cvta_generic_to_shared(shared);
    }
    static __device__ __forceinline__ uint32_t tables()
    {
        return (base() + WCODEC_CUDA_HEAD + TABLES - 1) & ~(TABLES - 1);
    }
    static __device__ __forceinline__ uint32_t room(uint32_t warp)
    {
        const uint32_t below = (tables() - base() - WCODEC_CUDA_HEAD) / ROOM;
        return warp < below ? base() + WCODEC_CUDA_HEAD + warp * ROOM
                            : tables() + TABLES + (warp - below) * ROOM;
    }
    static __device__ __forceinline__ uint32_t runs(uint32_t warps, uint32_t warp)
    {
        const uint32_t end = room(warps);
        return (end > tables() ? end : tables() + TABLES) + warp * EXTRA;
    }
};

WCODEC_INLINE wcodec_part *current_part()
{
    return (wcodec_part *)shared;
}

WCODEC_INLINE uint32_t launch_end()
{
    volatile wcodec_part *part = current_part();
    return part->first + part->count;
}

WCODEC_INLINE const wcodec_table_set *current_set()
{
    return (const wcodec_table_set *)*(volatile uint64_t *)&current_part()->tables;
}

/* Where a tile's words are copied from: never the place behind a payload that ends with no words.
 */
WCODEC_INLINE uint64_t word_address(const wcodec_tile_job *job)
{
    return job->word_count ? job->words : job->states;
}

/* Call into L2 what a tile begins with. */
template <bool RAW> WCODEC_INLINE void prefetch_tile(const wcodec_tile_job *job)
{
    const uint32_t lane = thread() & 31;
    const uint64_t words = job->words, raw = job->raw;
    if (lane < 8) {
        if (lane * 128 < 2 * job->word_count)
            prefetch_l2((const char *)words + lane * 128);
    } else if (lane < 16) {
        if (RAW && job->elements >= 4096) /* as all whole tiles */
            prefetch_l2((const char *)raw + (lane - 8) * 128);
    } else if (lane == 31) {
        prefetch_l2((const char *)job->states);
    } else if (lane > 28 && job->outliers) {
        prefetch_l2((const char *)(lane == 30 ? job->positions : job->values));
    }
}

/* The part that this block is at: of a launch with the same tables for all, the block's share, or
 * with a queue where its warps begin. */
WCODEC_INLINE wcodec_part first_part(const fast_launch &launch)
{
    const uint32_t warps = blockDim.x / 32;
    if (launch.queue != nullptr)
        return wcodec_part{launch.tables, launch.first + blockIdx.x * warps,
                           launch.count - blockIdx.x * warps};
    const uint32_t begin = (uint32_t)((uint64_t)launch.count * blockIdx.x / gridDim.x),
                   end = (uint32_t)((uint64_t)launch.count * (blockIdx.x + 1) / gridDim.x);
    return wcodec_part{launch.tables, launch.first + begin, end - begin};
}

/* The tiles of a part, the first of which was begun. With a queue every warp takes the next of all
 * tiles; the last block to end makes the queue ready for the next launch. */
template <class fast, class place>
WCODEC_INLINE void take_tiles(const fast_launch &launch, fast &tile, uint32_t number)
{
    while (number < launch_end()) {
        uint32_t next = number + blockDim.x / 32;
        if (launch.queue != nullptr) {
            if ((thread() & 31) == 0)
                next = atomicAdd(launch.queue, 1) + launch.first + gridDim.x * (blockDim.x / 32);
            next = __shfl_sync(~0u, next, 0);
        }
        tile.decode(next, place::tables(), place::runs(blockDim.x / 32, thread() / 32));
        number = next;
        if (number < launch_end())
            tile.begin(number, place::room(thread() / 32));
    }
    if (launch.queue == nullptr)
        return;
    __syncthreads();
    if (thread() == 0 && atomicInc(launch.queue + 1, gridDim.x - 1) == gridDim.x - 1)
        atomicExch(launch.queue, 0);
}

/* All parts of a block. load(set, to, meanwhile): tables to shared memory. */
template <class fast, class place, class loader>
WCODEC_INLINE void take_parts(const fast_launch &launch, loader load)
{
    fast tile(launch);
    const bool one = launch.first_part == nullptr;
    const uint32_t end = one ? blockIdx.x + 1 : launch.first_part[blockIdx.x + 1];
    uint64_t loaded = 0;
    for (uint32_t i = one ? blockIdx.x : launch.first_part[blockIdx.x]; i < end; i++) {
        const wcodec_part part = launch.tables ? first_part(launch) : launch.parts[i];
        const uint32_t number = part.first + thread() / 32;
        __syncthreads();
        if (thread() == 0)
            *current_part() = part;
        const auto begin = [&] {
            if (thread() / 32 < part.count)
                tile.begin(number, place::room(thread() / 32));
        };
        if (part.tables != loaded)
            load((const wcodec_table_set *)part.tables,
                 shared + (place::tables() - place::base()) / 4, begin);
        else
            begin();
        loaded = part.tables;
        __syncthreads();
        take_tiles<fast, place>(launch, tile, number);
    }
}

#endif
