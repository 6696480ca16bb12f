/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of measures.def are given, for hosts and kernels. Addresses are the
 * device's. */
#ifndef WCODEC_KERNELS_MEASURE_LAUNCH_H
#define WCODEC_KERNELS_MEASURE_LAUNCH_H

#include "backends/kernels/jobs.h"

enum {
    WCODEC_MEASURE_FIELDS = 4, /* WCODEC_MEASURED_FIELDS */
    WCODEC_MEASURE_BLOCK_LOG2 = 12,
    WCODEC_MEASURE_STAGE = WCODEC_MEASURE_FIELDS * 1024 /* shared memory of a warp: counts */
};

struct wcodec_measure_launch {
    uint64_t elements; /* of the tensor, at a multiple of 16 */
    uint64_t count;
    uint64_t blocks;
    uint64_t log2_table; /* u32[257] */
    uint64_t parts_at;   /* struct wcodec_measure_part[parts] */
    uint64_t result;     /* struct wcodec_measured */
    uint32_t parts;
    uint32_t fields;
    uint32_t shift[WCODEC_MEASURE_FIELDS];
    uint32_t mask[WCODEC_MEASURE_FIELDS];
    uint32_t stride[WCODEC_MEASURE_FIELDS];
    uint32_t by_block[WCODEC_MEASURE_FIELDS];
};
WCODEC_STRUCT_SIZE(wcodec_measure_launch, 120);

/* Neighbouring blocks, which a warp counts. */
struct wcodec_measure_part {
    uint32_t counts[WCODEC_MEASURE_FIELDS][256];
    uint64_t bits[WCODEC_MEASURE_FIELDS];
    uint32_t any, all;
    uint32_t unused[2];
};
WCODEC_STRUCT_SIZE(wcodec_measure_part, 4144);

#endif
