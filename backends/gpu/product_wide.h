/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of products of many vectors (backends/kernels/product_wide.h): which kernel takes them,
 * and how work-groups and clusters divide vectors, rows and columns. */
#ifndef WCODEC_GPU_PRODUCT_WIDE_H
#define WCODEC_GPU_PRODUCT_WIDE_H

#include "backends/gpu/product.h"

/* Kernels of products_wide.def, and the one that makes their x ready. */
enum wcodec_wide_number {
#define WCODEC_WIDE_PRODUCT(name, bits, vectors, helpers) WCODEC_WIDE_##name,
#include "backends/kernels/products_wide.def"
#undef WCODEC_WIDE_PRODUCT
    WCODEC_WIDE_PRODUCTS,
    WCODEC_WIDE_X = WCODEC_WIDE_PRODUCTS,
    WCODEC_WIDE_KERNELS
};

struct wcodec_wide_row {
    const char *name;                /* "wide11_64" */
    uint32_t bits, vectors, helpers; /* as in products_wide.def */
};

extern const struct wcodec_wide_row wcodec_wide_rows[WCODEC_WIDE_PRODUCTS];

enum { WCODEC_GPU_WIDE_SHARED = 192 << 10 }; /* least bytes of a work-group's shared memory */

struct wcodec_gpu_wide_limits {
    /* Clusters of so many work-groups that the device runs at a time; 0: none. One work-group by
     * itself it runs. */
    uint32_t clusters[WCODEC_WIDE_CLUSTER + 1];
    uint32_t shared; /* bytes that a work-group may have: WCODEC_GPU_WIDE_SHARED at least */
};

struct wcodec_gpu_wide {
    unsigned kernel;
    uint32_t groups, cluster, threads, shared;
    uint32_t x_groups; /* of WCODEC_WIDE_X_THREADS, of the launch before, that makes x ready */
    struct wcodec_wide_launch arguments;
};

/* Bytes to work in for so many vectors (struct wcodec_backend_products, wide_room()). */
uint64_t wcodec_gpu_wide_room(const struct wcodec_fixed *fixed, uint64_t vectors);

/* Are these kernels for it, with the room that it has? */
bool wcodec_gpu_takes_wide(const struct wcodec_product *product);

/* The launch for vectors [first, first + some) of a product that they are for; returns how many
 * vectors it takes. matrix: as in wcodec_gpu_plan_product(). */
uint64_t wcodec_gpu_plan_wide(const struct wcodec_product *product, uint64_t matrix,
                              const struct wcodec_gpu_wide_limits *limits, uint64_t first,
                              struct wcodec_gpu_wide *launch);

#endif
