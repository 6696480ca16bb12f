/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of backends/kernels/products_coded.def and rows_coded.def in OpenCL C. The row of
 * kernels.def is that of the kernel which decodes the same tiles; WCODEC_CODED_EIGHTS: of vectors,
 * that are taken at once; 0: what tiles have come to is added; with WCODEC_CODED_ROWS rows are
 * gathered.
 *
 * Tiles are in two buffers, by number: the payload, and the block with all that describes it.
 * Other addresses of a launch are offsets in the buffers that it is given. bias,
 * outside: any buffer if there is none. */
#ifdef WCODEC_CODED_ROWS
#include "backends/kernels/rows_coded.h"

WCODEC_OPENCL_KERNEL void wcodec_product(__global uint8_t *payload, __global uint8_t *block,
                                         __global uint8_t *indices, __global uint8_t *out,
                                         __global uint8_t *outside, __global uint8_t *any,
                                         const struct wcodec_coded_rows_launch launch,
                                         __local uint4 *shared)
{
    __global uint8_t *__local buffers[2];
    struct wcodec_coded_rows_launch l = launch;
    struct wcodec_warp warp;
    warp.buffers = buffers;
    warp.descriptors = block;
    warp.block = block;
    warp.fault_flag = (__global uint32_t *)block; /* nothing is reported */
    WCODEC_WARP_OPEN
    l.indices += (ulong)indices;
    l.out += (ulong)out;
    l.outside = launch.outside ? (ulong)outside : 0;
    if (get_local_id(0) == 0) {
        buffers[0] = payload;
        buffers[1] = block;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_coded_rows_kernel(wcodec_row_kind(WCODEC_ROW_FAMILY, WCODEC_ROW_SHAPE, WCODEC_ROW_CODING,
                                             0, 0, 0, WCODEC_OPENCL_COPIES),
                             &warp, &l);
}
#else
#include "backends/kernels/product_coded.h"

WCODEC_OPENCL_KERNEL void wcodec_product(__global uint8_t *payload, __global uint8_t *block,
                                         __global uint8_t *x, __global uint8_t *y,
                                         __global uint8_t *bias, __global uint8_t *sums,
                                         const struct wcodec_coded_launch launch,
                                         __local uint4 *shared)
{
    __global uint8_t *__local buffers[2];
    struct wcodec_coded_launch l = launch;
    struct wcodec_warp warp;
    warp.buffers = buffers;
    warp.descriptors = block;
    warp.block = block;
    warp.fault_flag = (__global uint32_t *)block; /* nothing is reported */
    WCODEC_WARP_OPEN
    l.x += (ulong)x;
    l.y += (ulong)y;
    l.bias = launch.bias ? (ulong)bias : 0;
    l.sums += (ulong)sums;
#if WCODEC_CODED_EIGHTS
    if (get_local_id(0) == 0) {
        buffers[0] = payload;
        buffers[1] = block;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_coded_kernel(wcodec_row_kind(WCODEC_ROW_FAMILY, WCODEC_ROW_SHAPE, WCODEC_ROW_CODING, 0,
                                        0, 0, WCODEC_OPENCL_COPIES),
                        WCODEC_CODED_EIGHTS, &warp, &l);
#else
    wcodec_coded_sum_kernel(&warp, &l);
#endif
}
#endif
