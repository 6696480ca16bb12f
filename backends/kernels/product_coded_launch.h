/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of products_coded.def are given, for hosts and kernels. */
#ifndef WCODEC_KERNELS_PRODUCT_CODED_LAUNCH_H
#define WCODEC_KERNELS_PRODUCT_CODED_LAUNCH_H

#include "backends/kernels/floats.h"
#include "backends/kernels/launch.h"

struct wcodec_coded_launch {
    struct wcodec_launch tiles; /* as they are decoded; nothing is stored at their `out` */
    uint64_t x;                 /* BF16, at a multiple of 16 */
    uint64_t x_stride;          /* bytes from a vector to the next, a multiple of 16 */
    uint64_t sums;              /* of each tile, for each eight vectors: 16 bytes for each lane */
    uint64_t y;
    uint64_t y_stride;
    uint64_t bias;    /* 0: none */
    uint32_t vectors; /* 1 to what the kernel takes */
    uint32_t across;  /* tiles of a band */
    uint32_t bands;
    uint32_t eights;   /* of vectors, that the kernel takes */
    uint32_t y_format; /* WCODEC_TO_F32, ... */
    uint32_t bias_format;
    uint32_t pad[2];
};
WCODEC_STRUCT_SIZE(wcodec_coded_launch, 192);

/* Bytes of sums of a tile. */
#define WCODEC_CODED_SUMS(eights) (512u * (eights))

#endif
