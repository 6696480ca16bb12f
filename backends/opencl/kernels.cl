/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A program has one kernel: the general one, or with WCODEC_SHAPE and WCODEC_CODING a fast one
 * (elements.cl, fast.cl; with WCODEC_FEW few.cl), or with WCODEC_BLOCKS or WCODEC_LOSSY that of
 * blocks or of lossy tensors (blocks.cl, lossy.cl). A tile is decoded by 32 work-items, or by one
 * where WCODEC_OPENCL_LOOPS is set. WCODEC_OPENCL_ITEMS is the size of a work-group.
 *
 * A kernel sees no buffers but its arguments. So that one launch serves many tensors it takes a
 * number of them, whose pointers are put into local memory: descriptors name them by number. */
#include "backends/kernels/tile.h"
#include "backends/opencl/launch.h"

#ifdef WCODEC_OPENCL_LOOPS
#define WCODEC_TILES_A_GROUP WCODEC_OPENCL_ITEMS
#else
#define WCODEC_TILES_A_GROUP (WCODEC_OPENCL_ITEMS / 32)
#endif

/* With a size that it knows, NVIDIA's compiler does not keep to the registers that it is told. */
#if defined(WCODEC_OPENCL_NVIDIA) && (defined(WCODEC_SHAPE) || defined(WCODEC_BLOCKS))
#define WCODEC_OPENCL_KERNEL __kernel
#elif defined(WCODEC_OPENCL_WIDTH)
#define WCODEC_OPENCL_KERNEL \
    __kernel __attribute__((reqd_work_group_size(WCODEC_OPENCL_ITEMS, 1, 1))) \
    __attribute__((intel_reqd_sub_group_size(WCODEC_OPENCL_WIDTH)))
#else
#define WCODEC_OPENCL_KERNEL \
    __kernel __attribute__((reqd_work_group_size(WCODEC_OPENCL_ITEMS, 1, 1)))
#endif

/* Numbers in base eight: with a leading zero they are constants of the language too. */
#define WCODEC_EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define WCODEC_SIXTY_FOUR(X, n) \
    WCODEC_EIGHT(X, n##0) \
    WCODEC_EIGHT(X, n##1) \
    WCODEC_EIGHT(X, n##2) \
    WCODEC_EIGHT(X, n##3) WCODEC_EIGHT(X, n##4) WCODEC_EIGHT(X, n##5) WCODEC_EIGHT(X, n##6) \
        WCODEC_EIGHT(X, n##7)
#define WCODEC_PLACE_PARAMETER(n) , __global uint8_t *place_##n
#define WCODEC_PLACE_STORE(n) places[n] = place_##n;
#define WCODEC_MORE_STORE(n) places[8 + n] = place_##n;

#if WCODEC_PLACES == 2
#define WCODEC_FIRST(X) X(00) X(01)
#else
#define WCODEC_FIRST(X) WCODEC_EIGHT(X, 0)
#endif

/* One work-item of each 32 stores 64 of them. */
#define WCODEC_MORE_STORES(n) \
    if (get_local_id(0) == n * 32 % WCODEC_OPENCL_ITEMS) { \
        WCODEC_SIXTY_FOUR(WCODEC_MORE_STORE, 0##n) \
    }

#if WCODEC_PLACES == 520
#define WCODEC_PLACE_PARAMETERS \
    WCODEC_EIGHT(WCODEC_PLACE_PARAMETER, 0) \
    WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 00) \
    WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 01) \
    WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 02) \
    WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 03) WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 04) \
        WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 05) \
            WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 06) \
                WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 07)
#define WCODEC_PLACES_MORE \
    WCODEC_MORE_STORES(0) \
    WCODEC_MORE_STORES(1) \
    WCODEC_MORE_STORES(2) \
    WCODEC_MORE_STORES(3) WCODEC_MORE_STORES(4) WCODEC_MORE_STORES(5) WCODEC_MORE_STORES(6) \
        WCODEC_MORE_STORES(7)
#elif WCODEC_PLACES == 72
#define WCODEC_PLACE_PARAMETERS \
    WCODEC_EIGHT(WCODEC_PLACE_PARAMETER, 0) WCODEC_SIXTY_FOUR(WCODEC_PLACE_PARAMETER, 00)
#define WCODEC_PLACES_MORE WCODEC_MORE_STORES(0)
#else
#define WCODEC_PLACE_PARAMETERS WCODEC_FIRST(WCODEC_PLACE_PARAMETER)
#define WCODEC_PLACES_MORE
#endif

/* In a kernel: its places. Where one tile is all that a work-group has, two are told apart without
 * a barrier. */
#if defined(WCODEC_FEW) && WCODEC_PLACES == 2
#define WCODEC_PLACES_APART
typedef __global uint8_t *const *wcodec_places;
#define WCODEC_OPENCL_PLACES __global uint8_t *const places[2] = {place_00, place_01};
#define WCODEC_PLACE(address) ((address) >> WCODEC_PLACE_SHIFT ? places[1] : places[0])
#else
/* No work-item may use them before a barrier. */
typedef __global uint8_t *__local *wcodec_places;
#define WCODEC_OPENCL_PLACES \
    __global uint8_t *__local places[WCODEC_PLACES]; \
    if (get_local_id(0) == 0) { \
        WCODEC_FIRST(WCODEC_PLACE_STORE) \
    } \
    WCODEC_PLACES_MORE
#define WCODEC_PLACE(address) places[(address) >> WCODEC_PLACE_SHIFT]
#endif

/* In a kernel: `number` is the tile of the work-group that this work-item has a part in. */
#if defined(WCODEC_OPENCL_LOOPS)
#define WCODEC_OPENCL_LANES(work) const uint32_t number = (uint32_t)get_local_id(0);
#elif defined(WCODEC_OPENCL_SUBGROUP)
#define WCODEC_OPENCL_LANES(work) \
    const uint32_t number = get_sub_group_id(); \
    (work).warp.lane = get_sub_group_local_id();
#elif defined(WCODEC_OPENCL_LOCAL)
#define WCODEC_OPENCL_LANES(work) \
    __local uint32_t cells[3]; \
    const uint32_t number = 0; \
    (work).warp.lane = (uint32_t)get_local_id(0); \
    (work).warp.cells = cells; \
    (work).warp.turn = 0; \
    if ((work).warp.lane == 0) \
        cells[0] = 0; \
    barrier(CLK_LOCAL_MEM_FENCE);
#else
#define WCODEC_OPENCL_LANES(work) \
    const uint32_t number = (uint32_t)get_local_id(0) / 32; \
    (work).warp.lane = (uint32_t)get_local_id(0) & 31;
#endif

/* Descriptors are in the block, and behind them a fault for each tile; `told` is a word in the
 * host's memory. */
#define WCODEC_OPENCL_PARAMETERS \
    __global uint8_t *block, __global uint32_t *told, \
        const struct wcodec_opencl_arguments launch WCODEC_PLACE_PARAMETERS

/* A fault of the tile of fault `slot` is told by a serial number, which no decoding had before:
 * nothing must be cleared, and one word says whether there is any. */
WCODEC_DEVICE_FUNCTION void wcodec_tell(__global uint8_t *block, __global uint32_t *told,
                                        uint32_t slot, uint32_t fault, uint32_t serial)
{
    ((__global uint32_t *)block)[slot] = serial << 3 | fault;
    atomic_xchg(told, serial);
}

#if !defined(WCODEC_SHAPE) && !defined(WCODEC_BLOCKS) && !defined(WCODEC_LOSSY)
/* Tiles [first, active) of the jobs at `jobs` of the block; tensors are at `parts`. */
WCODEC_OPENCL_KERNEL void wcodec_kernel(WCODEC_OPENCL_PARAMETERS)
{
    struct wcodec_tile_work work;
    WCODEC_OPENCL_PLACES
    WCODEC_OPENCL_LANES(work)
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint32_t tile = launch.first + (uint32_t)get_group_id(0) * WCODEC_TILES_A_GROUP + number;
    if (tile >= launch.active)
        return;
    const __global struct wcodec_tile_job *job =
        (const __global struct wcodec_tile_job *)(block + launch.jobs) + tile;
    /* a tile's streams have the same places */
    const __global struct wcodec_stream_job *stream =
        (const __global struct wcodec_stream_job *)(block + job->runs);
    work.warp.block = block;
    work.warp.states = WCODEC_PLACE(stream->states);
    work.warp.words = WCODEC_PLACE(stream->words);
    work.warp.raw = WCODEC_PLACE(job->raw);
    work.warp.positions = WCODEC_PLACE(stream->positions);
    work.warp.values = WCODEC_PLACE(stream->values);
    work.warp.out = WCODEC_PLACE(job->out);
    const uint32_t fault = wcodec_decode_tile(&work, job, launch.parts);
#ifndef WCODEC_OPENCL_LOOPS
    if (work.warp.lane != 0)
        return;
#endif
    if (fault)
        wcodec_tell(block, told, launch.faults + (job->slot & 0x7fffffffu), fault, launch.serial);
}
#endif
