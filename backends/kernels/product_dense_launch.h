/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of product_dense.h are given, for hosts and kernels. Addresses are
 * the device's. */
#ifndef WCODEC_KERNELS_PRODUCT_DENSE_LAUNCH_H
#define WCODEC_KERNELS_PRODUCT_DENSE_LAUNCH_H

#include "backends/kernels/floats.h"

/* Formats of elements besides WCODEC_TO_BF16, WCODEC_TO_F16 and WCODEC_TO_F32. */
enum { WCODEC_FROM_I8 = 3, WCODEC_FROM_U8, WCODEC_FROM_E4M3, WCODEC_FROM_E5M2 };

struct wcodec_dense_launch {
    uint64_t elements; /* row by row */
    uint64_t x;
    uint64_t y;
    uint64_t bias;
    uint64_t scales;
    uint64_t x_stride; /* bytes from a vector to the next */
    uint64_t y_stride;
    uint32_t rows; /* of the matrix */
    uint32_t columns;
    uint32_t vectors;
    uint32_t format; /* of elements */
    uint32_t x_format;
    uint32_t y_format;
    uint32_t bias_format;
    uint32_t scales_format;
    uint32_t with_bias, with_scales;
    uint32_t add; /* y is added to */
    uint32_t pad;
};
WCODEC_STRUCT_SIZE(wcodec_dense_launch, 104);

/* A work-group has so many vectors, and of y = x W^T so many rows of the matrix, of y = x W so many
 * columns. */
enum { WCODEC_DENSE_VECTORS = 8, WCODEC_DENSE_ROWS = 4, WCODEC_DENSE_COLUMNS = 32 };

/* Most work-items of a group, whose number is a multiple of WCODEC_DENSE_COLUMNS. */
enum { WCODEC_DENSE_ITEMS = 128 };

/* Bytes of shared memory for them. */
#define WCODEC_DENSE_SHARED_BYTES(items) \
    (4u * WCODEC_DENSE_VECTORS * WCODEC_DENSE_ROWS * ((items) + 1u))

/* Those of product_int8.h: rows of a work-group, columns of a warp at a time, and warps, for which
 * shared memory has their sums. */
enum {
    WCODEC_INT8_ROWS = 16,
    WCODEC_INT8_COLUMNS = 64,
    WCODEC_INT8_WARPS = 8,
    WCODEC_INT8_SHARED = 4 * WCODEC_INT8_WARPS * WCODEC_DENSE_VECTORS * WCODEC_INT8_ROWS
};

#endif
