/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of delta.h are given, for hosts and kernels. Addresses are the
 * device's. */
#ifndef WCODEC_KERNELS_DELTA_LAUNCH_H
#define WCODEC_KERNELS_DELTA_LAUNCH_H

#include "backends/kernels/jobs.h"
#include "lib/coding/patch.h"

enum { WCODEC_LEAVES_SECRET = 24 };

struct wcodec_leaves_launch {
    uint64_t elements; /* a multiple of 16 */
    uint64_t out;      /* u64[8] a leaf */
    uint64_t count;
    uint64_t secret[WCODEC_LEAVES_SECRET];
};
WCODEC_STRUCT_SIZE(wcodec_leaves_launch, 216);

WCODEC_STRUCT_SIZE(wcodec_patch_tile, 24);

struct wcodec_patch_launch {
    uint64_t elements;
    uint64_t tiles;   /* struct wcodec_patch_tile[count] */
    uint64_t faults;  /* u32[count] */
    uint64_t codes;   /* u16[2][4096]: of gaps, of values */
    uint64_t streams; /* u32[words] */
    uint64_t words;   /* not 0 */
    uint32_t count;
    uint32_t element_log2;
    uint32_t xor_values;
    uint32_t gap_bits, value_bits; /* by which codes are looked up */
    uint32_t unused;
};
WCODEC_STRUCT_SIZE(wcodec_patch_launch, 72);

#endif
