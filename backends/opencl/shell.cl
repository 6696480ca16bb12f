/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of backends/kernels/kernels.def in OpenCL C: what is launched, and nothing else. A
 * program has one kernel, that of a row: WCODEC_ROW_FAMILY, _SHAPE, _CODING, _ADD, _BYTES and _RAW
 * are its columns, by number; WCODEC_ROW_UNITS is 1 for units of lossy tensors, 2 for those in
 * fragments. WCODEC_OPENCL_ITEMS is the most of a work-group, WCODEC_OPENCL_COPIES as
 * wcodec_kind_of() takes it.
 *
 * A kernel sees no buffers but its arguments. So that one launch serves many tensors it takes
 * WCODEC_BUFFERS of them, whose pointers are put into local memory: descriptors name them by
 * number. With WCODEC_PRODUCT it is one of products.def instead: product.cl; with WCODEC_CODER one
 * of tile_encoders.def: coder.cl; with WCODEC_ROLLOUT or WCODEC_RECURRENCE rollout.cl; with
 * WCODEC_SEARCH search.cl, WCODEC_VECTORS vectors.cl. With WCODEC_CODED_EIGHTS or WCODEC_CODED_ROWS
 * besides a row it multiplies by what that decodes, or gathers rows of it: product_coded.cl. */
#ifdef WCODEC_PRODUCT
#define WCODEC_FIXED_JOB
#endif
#if WCODEC_ROW_FAMILY == 4
#define WCODEC_LOSSY_TILES
#endif
#include "backends/kernels/fixed.h"
#include "backends/kernels/generic.h"
#include "backends/kernels/units.h"
#ifdef WCODEC_SIMT
#include "backends/kernels/tile_latency.h"
#include "backends/kernels/work_group.h"
#endif
#if defined(WCODEC_PRODUCT) || defined(WCODEC_CODED_EIGHTS)
#include "backends/kernels/fixed_elements.h"
#endif

/* With a size that it knows, NVIDIA's compiler does not keep to the registers that it is told. */
#if defined(WCODEC_OPENCL_NVIDIA)
#define WCODEC_OPENCL_KERNEL __kernel
#elif defined(WCODEC_OPENCL_WIDTH)
#define WCODEC_OPENCL_KERNEL \
    __kernel __attribute__((reqd_work_group_size(WCODEC_OPENCL_ITEMS, 1, 1))) \
    __attribute__((intel_reqd_sub_group_size(WCODEC_OPENCL_WIDTH)))
#else
#define WCODEC_OPENCL_KERNEL \
    __kernel __attribute__((reqd_work_group_size(WCODEC_OPENCL_ITEMS, 1, 1)))
#endif

#if WCODEC_ROW_FAMILY == 6
#define WCODEC_LOOPS_STAGE struct wcodec_record_stage
#else
#define WCODEC_LOOPS_STAGE struct wcodec_stage
#endif

/* What makes the lanes a warp: bytes and flags in local memory. */
#if defined(WCODEC_OPENCL_LOOPS)
#define WCODEC_WARP_OPEN \
    WCODEC_LOOPS_STAGE stage; \
    warp.shared = (uint8_t *)&stage;
#elif defined(WCODEC_OPENCL_NVIDIA)
#define WCODEC_WARP_OPEN warp.shared = (__local uint8_t *)shared;
#else
#ifdef WCODEC_OPENCL_SUBGROUP
#define WCODEC_LANE get_sub_group_local_id()
#else
#define WCODEC_LANE get_local_id(0)
#endif
#define WCODEC_WARP_OPEN \
    __local uint32_t cells[3], exchange[2 * WCODEC_OPENCL_ITEMS]; \
    warp.shared = (__local uint8_t *)shared; \
    warp.lane = (uint32_t)WCODEC_LANE; \
    warp.cells = cells; \
    warp.turn = 0; \
    warp.exchange = exchange + 64 * wcodec_warp_number(&warp); \
    warp.other = 0; \
    if (get_local_id(0) == 0) \
        cells[0] = 0;
#endif

#if defined(WCODEC_PRODUCT)
#include "backends/opencl/product.cl"
#elif defined(WCODEC_CODED_EIGHTS) || defined(WCODEC_CODED_ROWS)
#include "backends/opencl/product_coded.cl"
#elif defined(WCODEC_CODER)
#include "backends/opencl/coder.cl"
#elif defined(WCODEC_ROLLOUT) || defined(WCODEC_RECURRENCE)
#include "backends/opencl/rollout.cl"
#elif defined(WCODEC_SEARCH) || defined(WCODEC_VECTORS)
/* What both include stands once in the text (embed.sh). */
#include "backends/kernels/vectors.h"
#ifdef WCODEC_SEARCH
#include "backends/opencl/search.cl"
#else
#include "backends/opencl/vectors.cl"
#endif
#else

/* Numbers in base eight: with a leading zero they are constants of the language too. */
#define WCODEC_EIGHT(X, n) \
    X(n##0) \
    X(n##1) \
    X(n##2) \
    X(n##3) \
    X(n##4) \
    X(n##5) \
    X(n##6) \
    X(n##7)
#define WCODEC_SIXTY_FOUR(X, n) \
    WCODEC_EIGHT(X, n##0) \
    WCODEC_EIGHT(X, n##1) \
    WCODEC_EIGHT(X, n##2) \
    WCODEC_EIGHT(X, n##3) \
    WCODEC_EIGHT(X, n##4) \
    WCODEC_EIGHT(X, n##5) \
    WCODEC_EIGHT(X, n##6) \
    WCODEC_EIGHT(X, n##7)
#define WCODEC_BUFFER_PARAMETER(n) , __global uint8_t *buffer_##n
#define WCODEC_BUFFER_STORE(n) buffers[n] = buffer_##n;
#define WCODEC_MORE_STORE(n) buffers[8 + n] = buffer_##n;

#if WCODEC_BUFFERS == 2
#define WCODEC_FIRST(X) \
    X(00) \
    X(01)
#else
#define WCODEC_FIRST(X) WCODEC_EIGHT(X, 0)
#endif

/* A work-item stores 64 of them, each time one of another warp if there are so many. */
#define WCODEC_MORE_STORES(n) \
    if (get_local_id(0) == n * 32 % get_local_size(0)) { \
        WCODEC_SIXTY_FOUR(WCODEC_MORE_STORE, 0##n) \
    }

#if WCODEC_BUFFERS == 520
#define WCODEC_BUFFER_PARAMETERS \
    WCODEC_EIGHT(WCODEC_BUFFER_PARAMETER, 0) \
    WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 00) \
    WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 01) \
    WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 02) \
    WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 03) \
    WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 04) \
    WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 05) \
    WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 06) \
    WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 07)
#define WCODEC_BUFFERS_MORE \
    WCODEC_MORE_STORES(0) \
    WCODEC_MORE_STORES(1) \
    WCODEC_MORE_STORES(2) \
    WCODEC_MORE_STORES(3) \
    WCODEC_MORE_STORES(4) \
    WCODEC_MORE_STORES(5) \
    WCODEC_MORE_STORES(6) \
    WCODEC_MORE_STORES(7)
#elif WCODEC_BUFFERS == 72
#define WCODEC_BUFFER_PARAMETERS \
    WCODEC_EIGHT(WCODEC_BUFFER_PARAMETER, 0) WCODEC_SIXTY_FOUR(WCODEC_BUFFER_PARAMETER, 00)
#define WCODEC_BUFFERS_MORE WCODEC_MORE_STORES(0)
#else
#define WCODEC_BUFFER_PARAMETERS WCODEC_FIRST(WCODEC_BUFFER_PARAMETER)
#define WCODEC_BUFFERS_MORE
#endif

/* flag: a word in the host's memory (wcodec_report_fault()). shared: as much as the launch says. */
WCODEC_OPENCL_KERNEL void wcodec_kernel(__global uint8_t *block, __global uint32_t *flag,
                                        const struct wcodec_launch launch,
                                        __local uint4 *shared WCODEC_BUFFER_PARAMETERS)
{
    __global uint8_t *__local buffers[WCODEC_BUFFERS];
    struct wcodec_warp warp;
    warp.buffers = buffers;
    warp.descriptors = block;
    warp.block = block;
    warp.fault_flag = flag;
    WCODEC_WARP_OPEN
    if (get_local_id(0) == 0) {
        WCODEC_FIRST(WCODEC_BUFFER_STORE)
    }
    WCODEC_BUFFERS_MORE
    barrier(CLK_LOCAL_MEM_FENCE);
#if WCODEC_ROW_FAMILY == 0
    wcodec_generic_kernel(&warp, &launch);
#elif WCODEC_ROW_FAMILY == 5 && WCODEC_ROW_UNITS == 2
    wcodec_fragments_units_kernel(&warp, &launch);
#elif WCODEC_ROW_FAMILY == 5 && WCODEC_ROW_UNITS
    wcodec_lossy_units_kernel(&warp, &launch);
#elif WCODEC_ROW_FAMILY == 5
    wcodec_blocks_units_kernel(&warp, &launch);
#elif WCODEC_ROW_FAMILY == 6
    wcodec_fixed_kernel(WCODEC_ROW_BYTES, &warp, &launch);
#else
    const struct wcodec_kind kind =
        wcodec_row_kind(WCODEC_ROW_FAMILY, WCODEC_ROW_SHAPE, WCODEC_ROW_CODING, WCODEC_ROW_ADD,
                        WCODEC_ROW_BYTES, WCODEC_ROW_RAW, WCODEC_OPENCL_COPIES);
#if WCODEC_ROW_FAMILY == 2
    wcodec_latency_kernel(kind, &warp, &launch);
#else
    wcodec_tiles_kernel(kind, &warp, &launch);
#endif
#endif
}
#endif
