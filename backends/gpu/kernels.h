/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels (backends/kernels/kernels.def) as hosts see them. */
#ifndef WCODEC_GPU_KERNELS_H
#define WCODEC_GPU_KERNELS_H

#include "backends/kernels/geometry.h"

enum wcodec_kernel {
#define WCODEC_KERNEL(name, family, shape, coding, add, bytes, raw, threads, groups) \
    WCODEC_KERNEL_##name,
#include "backends/kernels/kernels.def"
#undef WCODEC_KERNEL
    WCODEC_KERNELS
};

#define WCODEC_KERNEL_GENERIC WCODEC_KERNEL_generic

struct wcodec_kernel_row {
    const char *name; /* "fast_16_8_pairs" */
    uint8_t family, shape, coding;
    bool add;
    uint8_t bytes; /* lossy: of a coefficient; at a fixed rate: bits of an index */
    bool raw;
    uint16_t threads; /* on NVIDIA's GPUs: most of a work-group */
    uint8_t groups;   /* likewise: most of a multiprocessor */
};

extern const struct wcodec_kernel_row wcodec_kernel_rows[WCODEC_KERNELS];

/* The kernel of a row; WCODEC_KERNEL_GENERIC if there is none. */
unsigned wcodec_kernel_find(enum wcodec_family family, unsigned shape, unsigned coding, bool add,
                            unsigned bytes, bool raw);

/* copies: as wcodec_kind_of() takes it. */
struct wcodec_kind wcodec_kernel_kind(unsigned kernel, uint32_t copies);

/* Does it give a tile to each warp, in the place of the generic one or of tiles that only it takes?
 */
static inline bool wcodec_kernel_takes_tiles(unsigned kernel)
{
    const unsigned family = wcodec_kernel_rows[kernel].family;
    return family == WCODEC_FAMILY_FAST || family == WCODEC_FAMILY_BLOCKS ||
           family == WCODEC_FAMILY_LOSSY || family == WCODEC_FAMILY_FIXED ||
           family == WCODEC_FAMILY_FRAGMENTS;
}

/* Does it make elements of residuals or coefficients, or take those in fragments to their rows, at
 * once? */
static inline bool wcodec_kernel_is_fused(unsigned kernel)
{
    const unsigned family = wcodec_kernel_rows[kernel].family;
    return family == WCODEC_FAMILY_BLOCKS || family == WCODEC_FAMILY_LOSSY ||
           family == WCODEC_FAMILY_FRAGMENTS;
}

#endif
