/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of encoders.def are given, for hosts and kernels. Addresses are the
 * device's. */
#ifndef WCODEC_KERNELS_ENCODE_LAUNCH_H
#define WCODEC_KERNELS_ENCODE_LAUNCH_H

#include "backends/kernels/jobs.h"

struct wcodec_encode_launch {
    uint64_t elements; /* BF16, at a multiple of 16 */
    /* Measured: i8[16 * bands] for each size of an index, the smallest first. To code by: those of
     * one. */
    uint64_t shifts;
    /* Likewise struct wcodec_fixed_counts[tiles]. */
    uint64_t counts;
    uint64_t firsts;  /* u32[tiles]: the number of a tile's first spilled element */
    uint64_t records; /* of the first tile */
    uint64_t spilled; /* the first element */
    uint64_t rows;
    uint64_t
        other; /* COMPARE: `size` bytes, at a multiple of 16 too; `differs` is set to 1 if ... */
    uint64_t size; /* ... they are not those from `elements` on */
    uint64_t differs;
    uint32_t columns;
    uint32_t across; /* tiles of a band */
    uint32_t bands;
    uint32_t list; /* units of a tile's list */
};
WCODEC_STRUCT_SIZE(wcodec_encode_launch, 96);

/* Shared memory of a warp: how often each exponent occurs; a tile's list. */
enum {
    WCODEC_ENCODE_EXPONENTS = 4 * 256,
    WCODEC_ENCODE_LIST = WCODEC_FIXED_LIST_MAX * WCODEC_FIXED_LIST_UNIT
};

#endif
