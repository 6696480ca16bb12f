/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of products with decoded elements (backends/kernels/product_dense.h). */
#ifndef WCODEC_GPU_DENSE_H
#define WCODEC_GPU_DENSE_H

#include "backends/backend.h"
#include "backends/kernels/product_dense_launch.h"

enum wcodec_gpu_dense_kernel {
    WCODEC_DENSE_ROW_SUMS,    /* y = x W^T */
    WCODEC_DENSE_COLUMN_SUMS, /* y = x W */
    WCODEC_DENSE_INT8,        /* product_int8.h: for devices that have its instructions */
    WCODEC_DENSE_KERNELS
};

struct wcodec_gpu_dense {
    enum wcodec_gpu_dense_kernel kernel;
    uint32_t groups, threads, shared;
    struct wcodec_dense_launch arguments;
};

/* Is there a kernel by tensor cores? Then the plan of that. */
bool wcodec_gpu_dense_by_int8(const struct wcodec_dense_product *product, uint64_t elements);
uint64_t wcodec_gpu_plan_int8(const struct wcodec_dense_product *product, uint64_t elements,
                              uint64_t first, struct wcodec_gpu_dense *launch);

/* The launch for vectors [first, first + some), by work-groups of so many work-items, a multiple of
 * WCODEC_DENSE_COLUMNS; returns how many vectors it takes. elements: native address of these. */
uint64_t wcodec_gpu_plan_dense(const struct wcodec_dense_product *product, uint64_t elements,
                               uint32_t items, uint64_t first, struct wcodec_gpu_dense *launch);

/* Bytes of an element of x, y, bias or scales. */
static inline uint64_t wcodec_gpu_operand_bytes(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_F32 ? 4 : 2;
}

#endif
