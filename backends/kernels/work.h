/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tile at work, for tile.h and what it is made of. */
#ifndef WCODEC_KERNELS_WORK_H
#define WCODEC_KERNELS_WORK_H

#include "backends/kernels/jobs.h"
#include "backends/kernels/rans.h"

/* What all lanes share. */
struct wcodec_tile_work {
    WCODEC_WARP_MEMBER
    const WCODEC_GLOBAL struct wcodec_tile_job *job;
    const WCODEC_GLOBAL struct wcodec_tensor_job *tensor;
    const WCODEC_GLOBAL struct wcodec_stream_job *streams;
    uint64_t base; /* added to where the job says that elements go */
    uint32_t groups;
    uint32_t size;      /* bytes of an element */
    uint32_t slot_bits; /* S */
    uint32_t used[8];   /* words taken, by coded field */
    uint32_t bad;       /* bit 2^fault: seen */
    uint64_t plane[6];  /* addresses of the planes' first rows */
    bool payload;
};

#endif
