/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of products (backends/kernels/product.h, product_transposed.h). */
#ifndef WCODEC_GPU_PRODUCT_H
#define WCODEC_GPU_PRODUCT_H

#include "backends/backend.h"
#include "backends/kernels/geometry.h"
#include "backends/kernels/product_launch.h"

enum wcodec_product_number {
#define WCODEC_PRODUCT(name, bits, eights, way) WCODEC_PRODUCT_##name,
#define WCODEC_ROWS(name, bits, neighbours)
#include "backends/kernels/products.def"
#undef WCODEC_ROWS
#undef WCODEC_PRODUCT
    WCODEC_PRODUCTS
};

enum wcodec_rows_number {
#define WCODEC_PRODUCT(name, bits, eights, way)
#define WCODEC_ROWS(name, bits, neighbours) WCODEC_ROWS_##name,
#include "backends/kernels/products.def"
#undef WCODEC_ROWS
#undef WCODEC_PRODUCT
    WCODEC_ROWS_KERNELS
};

struct wcodec_product_row {
    const char *name; /* "product11_8" */
    uint8_t bits, eights;
    uint8_t way; /* WCODEC_PRODUCT_DIRECT, ... */
};

struct wcodec_rows_row {
    const char *name; /* "gather11" */
    uint8_t bits;
    bool neighbours;
};

extern const struct wcodec_product_row wcodec_product_rows[WCODEC_PRODUCTS];
extern const struct wcodec_rows_row wcodec_rows_rows[WCODEC_ROWS_KERNELS];

enum {
    WCODEC_PRODUCT_WARPS = 16,          /* most of a work-group */
    WCODEC_PRODUCT_STAGED_PARTS = 8,    /* most, of those with stages of x */
    WCODEC_PRODUCT_VECTORS = 64,        /* most of a launch, */
    WCODEC_PRODUCT_DIRECT_VECTORS = 32, /* and of one that takes x straight from memory */
    WCODEC_GPU_ROWS_WARPS = 16,
    WCODEC_GPU_ROWS_SHARED = WCODEC_GPU_ROWS_WARPS * WCODEC_RECORD_STAGE,
    WCODEC_GPU_GATHER_WARPS = 4,
    WCODEC_GPU_GATHER_SHARED = WCODEC_GPU_GATHER_WARPS * WCODEC_GATHER_WARP
};

struct wcodec_gpu_product {
    unsigned kernel;
    uint32_t groups, threads, shared;
    struct wcodec_product_launch arguments;
};

struct wcodec_gpu_product_limits {
    unsigned groups;  /* work-groups that run at a time: those of all units (multiprocessors) */
    unsigned warps;   /* most of a work-group: 16, or 8 where two of them share a unit */
    unsigned shared;  /* bytes of shared memory that a work-group may have: 48 KiB at least */
    unsigned vectors; /* most of a launch; more than 32 want four times as much shared memory */
    /* y = x W by clusters: how many of so many work-groups, 1 to WCODEC_TRANSPOSED_CLUSTER, run at
     * a time; NULL: the device has none. */
    const uint32_t *clusters;
};

/* Most vectors of y = x W that take less time straight from the code than after decoding, by a
 * library (struct wcodec_backend_products, transposed_most()). */
uint64_t wcodec_gpu_transposed_most(const struct wcodec_fixed *fixed, bool clusters);

/* What kernels of a launch are told of its product and vectors; `group_bands`, `parts` and `groups`
 * are 1. matrix: as in wcodec_gpu_plan_product(). */
void wcodec_gpu_product_arguments(const struct wcodec_product *product, uint64_t matrix,
                                  uint64_t first, uint64_t vectors,
                                  struct wcodec_product_launch *arguments);

/* The launch for vectors [first, first + some) of a product; returns how many vectors it takes.
 * matrix, of native memory: address of its payload as wcodec_fixed places it. */
uint64_t wcodec_gpu_plan_product(const struct wcodec_product *product, uint64_t matrix,
                                 const struct wcodec_gpu_product_limits *limits, uint64_t first,
                                 struct wcodec_gpu_product *launch);

struct wcodec_gpu_rows {
    unsigned kernel;
    uint32_t groups, threads, shared;
    struct wcodec_rows_launch arguments;
};

/* The same of rows, on a device with so many units, and so many bytes of shared memory for a
 * work-group. */
void wcodec_gpu_plan_rows(const struct wcodec_rows *rows, uint64_t matrix, unsigned units,
                          unsigned shared, struct wcodec_gpu_rows *launch);

/* The same for kernels of plain work-items (product_plain.h), of which `kernel` says the row that
 * has the same bits; parts: of a work-group of 64 work-items each. */
uint64_t wcodec_gpu_plan_product_plain(const struct wcodec_product *product, uint64_t matrix,
                                       unsigned parts, uint64_t first,
                                       struct wcodec_gpu_product *launch);
void wcodec_gpu_plan_rows_plain(const struct wcodec_rows *rows, uint64_t matrix, unsigned units,
                                struct wcodec_gpu_rows *launch);

#endif
