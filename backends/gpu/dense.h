/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of products with decoded elements (backends/kernels/product_dense.h). */
#ifndef WCODEC_GPU_DENSE_H
#define WCODEC_GPU_DENSE_H

#include "backends/backend.h"
#include "backends/kernels/product_dense_launch.h"

struct wcodec_gpu_dense {
    bool transposed; /* the kernel */
    uint32_t groups, threads, shared;
    struct wcodec_dense_launch arguments;
};

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
