/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor in tiles that stays coded in a device's memory: planned once, as a batch of one job, to
 * be decoded to any place. Host code, for every GPU backend whose memory has addresses. */
#ifndef WCODEC_GPU_KEPT_H
#define WCODEC_GPU_KEPT_H

#include "backends/gpu/launches.h"

/* Tiles that go through scratch memory are cut into parts, which share it. */
struct wcodec_gpu_kept_part {
    struct wcodec_job job;
    struct wcodec_gpu_plan plan;
    uint64_t at; /* of its block in the memory */
    struct wcodec_gpu_launch *launches;
    unsigned launch_count;
};

struct wcodec_gpu_kept {
    const struct wcodec_host *host;
    struct wcodec_gpu_limits limits;
    uint64_t copied;  /* bytes of the device's memory that are copied there ... */
    uint64_t size;    /* ... of all that it takes besides the payload: then come faults, scratch */
    uint64_t faults;  /* where a word for each tile is, 0 as long as nothing fails */
    uint64_t scratch; /* where scratch memory is */
    uint64_t address;
    uint64_t bytes; /* of the tensor */
    uint64_t tiles;
    unsigned part_count;
    struct wcodec_gpu_kept_part *parts;
    /* What a range is a multiple of: bytes, and tiles that have them; 0: all of it only. */
    uint64_t unit, unit_tiles;
    uint32_t *order; /* then, of each tile job, its tile's number */
};

/* What giving launches to a device takes; each returns 0, or what ends it. */
struct wcodec_gpu_kept_queue {
    int (*launch)(void *opaque, struct wcodec_gpu_launch *launch);
    int (*set)(void *opaque, uint64_t address, uint64_t value); /* eight bytes there */
    void *opaque;
};

/* First the sizes. job: all of a tensor, without memory. kernels: as in wcodec_gpu_plan_measure().
 * WCODEC_ERROR_MEMORY, _UNSUPPORTED. To be freed in any case. */
wcodec_status wcodec_gpu_keep_measure(const struct wcodec_host *host,
                                      const struct wcodec_gpu_limits *limits, uint64_t kernels,
                                      const struct wcodec_job *job, wcodec_address_function *place,
                                      struct wcodec_gpu_kept *kept, wcodec_error *err);
/* Then what is to be copied to `address`, a multiple of 256, is written to `block`. scratch: the
 * same place, as elements are addressed. */
wcodec_status wcodec_gpu_keep_build(struct wcodec_gpu_kept *kept, uint64_t address,
                                    uint64_t scratch, uint8_t *block,
                                    wcodec_address_function *place, wcodec_error *err);
void wcodec_gpu_keep_free(struct wcodec_gpu_kept *kept);

/* Can bytes [begin, end) be decoded alone? */
bool wcodec_gpu_kept_divides(const struct wcodec_gpu_kept *kept, uint64_t begin, uint64_t end);
/* Decode them to `out`, a multiple of 16. */
int wcodec_gpu_kept_decode(const struct wcodec_gpu_kept *kept, uint64_t begin, uint64_t end,
                           uint64_t out, const struct wcodec_gpu_kept_queue *queue);

#endif
