/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of backends/kernels/products.def in OpenCL C: what is launched, and nothing else. A
 * program has one kernel. WCODEC_PRODUCT is its kind (enum wcodec_opencl_product_kind):
 * WCODEC_PRODUCT_BITS, _EIGHTS and _WAY (WCODEC_PRODUCT_DIRECT, ...) are the columns of its row.
 *
 * A launch's addresses are offsets in the buffers that it is given. Buffers have addresses here, as
 * numbers too: on all devices that there are. */
#include "backends/kernels/fixed_row.h"
#if WCODEC_PRODUCT <= 3
#include "backends/kernels/product_transposed.h"
#include "backends/kernels/rows.h"
#elif WCODEC_PRODUCT <= 5
#include "backends/kernels/product_plain.h"
#else
#include "backends/kernels/product_dense.h"
#endif

#if WCODEC_PRODUCT == 6
/* bias, scales: any buffers if there are none. */
WCODEC_OPENCL_KERNEL void wcodec_product(__global uint8_t *elements, __global uint8_t *x,
                                         __global uint8_t *y, __global uint8_t *bias,
                                         __global uint8_t *scales,
                                         const struct wcodec_dense_launch launch,
                                         __local uint4 *shared)
{
    __local float *all = (__local float *)shared;
    const uint32_t item = (uint32_t)get_local_id(0), items = (uint32_t)get_local_size(0),
                   group = (uint32_t)get_group_id(0);
    float sums[WCODEC_DENSE_VECTORS * WCODEC_DENSE_ROWS];
    struct wcodec_dense_launch l = launch;
    struct wcodec_dense_part p;
    l.elements += (ulong)elements;
    l.x += (ulong)x;
    l.y += (ulong)y;
    l.bias += (ulong)bias;
    l.scales += (ulong)scales;
#if WCODEC_PRODUCT_WAY == WCODEC_PRODUCT_TRANSPOSED
    wcodec_dense_part_of(&l, group, WCODEC_DENSE_COLUMNS, &p);
    wcodec_dense_column_sums(&l, &p, item, items, sums);
    for (uint32_t i = 0; i < WCODEC_DENSE_VECTORS; i++)
        all[wcodec_dense_at(i, item, items)] = sums[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_dense_finish_columns(&l, &p, item, items, all);
#else
    wcodec_dense_part_of(&l, group, WCODEC_DENSE_ROWS, &p);
    wcodec_dense_sums(&l, &p, item, items, sums);
    for (uint32_t i = 0; i < WCODEC_DENSE_VECTORS * WCODEC_DENSE_ROWS; i++)
        all[wcodec_dense_at(i, item, items)] = sums[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_dense_finish(&l, &p, item, items, all);
#endif
}
#elif WCODEC_PRODUCT == 1 || WCODEC_PRODUCT == 4
/* bias: any buffer if there is none. shared: as much as the launch says. */
WCODEC_OPENCL_KERNEL void wcodec_product(__global uint8_t *matrix, __global uint8_t *x,
                                         __global uint8_t *y, __global uint8_t *bias,
                                         const struct wcodec_product_launch launch,
                                         __local uint4 *shared)
{
    struct wcodec_product_launch l = launch;
    l.shifts += (ulong)matrix;
    l.records += (ulong)matrix;
    l.spilled += (ulong)matrix;
    l.x += (ulong)x;
    l.y += (ulong)y;
    l.bias = launch.bias ? (ulong)bias : 0;
#if WCODEC_PRODUCT == 1
    struct wcodec_warp warp;
    warp.shared = (__local uint8_t *)shared;
#if WCODEC_PRODUCT_WAY == WCODEC_PRODUCT_TRANSPOSED
    wcodec_transposed_kernel(WCODEC_PRODUCT_BITS, &warp, &l);
#else
    wcodec_product_kernel(WCODEC_PRODUCT_BITS, WCODEC_PRODUCT_EIGHTS,
                          WCODEC_PRODUCT_WAY == WCODEC_PRODUCT_STAGED, &warp, &l);
#endif
#elif WCODEC_PRODUCT_WAY == WCODEC_PRODUCT_TRANSPOSED
    __local uint16_t *elements = (__local uint16_t *)shared;
    __local float *all = (__local float *)shared;
    const uint32_t item = (uint32_t)get_local_id(0), column = (uint32_t)get_group_id(0);
    float sums[WCODEC_PLAIN_COLUMNS * WCODEC_PRODUCT_PLAIN_VECTORS];
    for (uint32_t i = 0; i < WCODEC_PLAIN_COLUMNS * WCODEC_PRODUCT_PLAIN_VECTORS; i++)
        sums[i] = 0;
    /* All parts have as many rounds. */
    for (uint32_t begin = 0; begin < l.bands; begin += l.parts) {
        const uint32_t band = begin + item / 64;
        wcodec_plain_decode(WCODEC_PRODUCT_BITS, &l, band, column, item, elements);
        barrier(CLK_LOCAL_MEM_FENCE);
        wcodec_plain_combine(&l, band, item, elements, sums);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    wcodec_plain_put_columns(item, sums, all);
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_plain_finish_columns(&l, column, item, (uint32_t)get_local_size(0), all);
#else
    __local float *all = (__local float *)shared;
    const uint32_t item = (uint32_t)get_local_id(0), band = (uint32_t)get_group_id(0);
    float sums[WCODEC_PRODUCT_PLAIN_VECTORS];
    wcodec_plain_sums(WCODEC_PRODUCT_BITS, &l, band, item, sums);
    wcodec_plain_put(item, sums, all);
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_plain_finish(&l, band, item, (uint32_t)get_local_size(0), all);
#endif
}
#else
/* indices, outside: any buffer if there are none. */
WCODEC_OPENCL_KERNEL void wcodec_product(__global uint8_t *matrix, __global uint8_t *indices,
                                         __global uint8_t *out, __global uint8_t *outside,
                                         const struct wcodec_rows_launch launch,
                                         __local uint4 *shared)
{
    struct wcodec_rows_launch l = launch;
#if WCODEC_PRODUCT == 2
    struct wcodec_warp warp;
    warp.shared = (__local uint8_t *)shared;
    warp.block = matrix;
    warp.raw = matrix;
    warp.values = matrix;
    warp.out = out;
    wcodec_rows_kernel(WCODEC_PRODUCT_BITS, true, &warp, &l);
#else
    l.job.shifts += (ulong)matrix;
    l.job.records += (ulong)matrix;
    l.job.spilled += (ulong)matrix;
    l.job.out += (ulong)out;
    l.indices = launch.indices ? (ulong)indices : 0;
    l.outside = launch.outside ? (ulong)outside : 0;
#if WCODEC_PRODUCT == 3
    struct wcodec_warp warp;
    warp.shared = (__local uint8_t *)shared;
    wcodec_rows_kernel(WCODEC_PRODUCT_BITS, false, &warp, &l);
#else
    wcodec_plain_rows(WCODEC_PRODUCT_BITS, &l, get_global_id(0), get_global_size(0));
#endif
#endif
}
#endif
