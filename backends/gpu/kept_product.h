/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of products with tensors that stay coded (backends/kernels/product_coded.h). */
#ifndef WCODEC_GPU_KEPT_PRODUCT_H
#define WCODEC_GPU_KEPT_PRODUCT_H

#include "backends/gpu/kept.h"
#include "backends/kernels/product_coded_launch.h"

enum wcodec_coded_product_number {
#define WCODEC_CODED_PRODUCT(name, coding, eights) WCODEC_CODED_##name,
#include "backends/kernels/products_coded.def"
#undef WCODEC_CODED_PRODUCT
    WCODEC_CODED_SUM,
    WCODEC_CODED_PRODUCTS
};

struct wcodec_coded_product_row {
    const char *name; /* "coded_pairs_8" */
    uint8_t coding, eights;
};

/* The last adds. */
extern const struct wcodec_coded_product_row wcodec_coded_product_rows[WCODEC_CODED_PRODUCTS];

/* The kernel of kernels.def that decodes the same tiles with as much shared memory. */
unsigned wcodec_gpu_coded_decoder(unsigned kernel);

/* May products with the tensor take it? */
bool wcodec_gpu_kept_takes(const struct wcodec_gpu_kept *kept, unsigned kernel);

/* Bytes of memory that a product works with; 0: there is none with such a tensor. */
uint64_t wcodec_gpu_kept_work(const struct wcodec_gpu_kept *kept);

struct wcodec_gpu_coded_product {
    unsigned kernel;
    uint32_t groups, threads, shared;
    struct wcodec_coded_launch arguments;
};

/* Give the launches of a product, one after the other; work: address of that memory. Returns 0, or
 * what ended it. */
int wcodec_gpu_kept_multiply(const struct wcodec_gpu_kept *kept,
                             const struct wcodec_product *product, uint64_t work,
                             int (*launch)(void *opaque, struct wcodec_gpu_coded_product *l),
                             void *opaque);

#endif
