/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From a plan to launches: how many work-groups of how many threads, their shared memory, and what
 * each kernel is given. */
#ifndef WCODEC_GPU_LAUNCHES_H
#define WCODEC_GPU_LAUNCHES_H

#include "backends/gpu/plan.h"
#include "backends/kernels/launch.h"

/* A kernel on a device. */
struct wcodec_gpu_kernel {
    bool there;
    unsigned warps;  /* most of a work-group */
    unsigned groups; /* work-groups that a unit holds of it at a time */
};

/* What is known of a device. */
struct wcodec_gpu_limits {
    unsigned units;        /* that hold work-groups: multiprocessors */
    uint32_t copies;       /* of tables of P8 (wcodec_kind_of()) */
    uint32_t shared;       /* bytes that a work-group may have */
    uint32_t unit_shared;  /* bytes of a unit, for all its work-groups; 0: not known */
    uint32_t group_shared; /* bytes that a work-group takes of these besides its own */
    unsigned groups;       /* work-groups of a unit at a time, at most */
    uint32_t launch_tiles; /* most of a launch */
    uint32_t lanes;        /* threads of a warp: 32, or 1 that loops */
    bool queue;            /* can warps take tiles from a queue? */
    bool refit;            /* may a launch have other work-groups than its kernel was fitted to? */
    bool fixed_threads;    /* work-groups have as many warps as fit, not fewer */
    struct wcodec_gpu_kernel kernels[WCODEC_KERNELS];
};

struct wcodec_gpu_launch {
    unsigned kernel;
    uint32_t groups;  /* work-groups */
    uint32_t threads; /* of each */
    uint32_t shared;  /* bytes for each */
    struct wcodec_launch arguments;
};

/* What the tiles of a launch take of a work-group's shared memory. */
struct wcodec_gpu_needs {
    uint32_t table_bytes; /* of tables at a time */
    uint32_t tile_groups; /* lossy: groups of 128 elements of the largest tile, a multiple of 16 */
    uint32_t raw_bits;    /* lossy: most of a coefficient */
};

/* The most that tiles of a kernel can take. */
struct wcodec_gpu_needs wcodec_gpu_most_needs(unsigned kernel, uint32_t copies);

/* Bytes of shared memory of a work-group, of kernels that give a tile to each warp. */
uint32_t wcodec_gpu_shared_size(unsigned kernel, uint32_t copies, unsigned warps,
                                const struct wcodec_gpu_needs *needs);

/* Work-groups of a unit, and their warps: as many warps as the kernel's row says, or as many of
 * them as there is shared memory for. */
void wcodec_gpu_fit(const struct wcodec_gpu_limits *limits, unsigned kernel,
                    const struct wcodec_gpu_needs *needs, struct wcodec_gpu_kernel *fit);

/* Of a plan that is measured: the most launches, and bytes that they need of the device's memory
 * after its block. segments: the most that there can be: tables of all jobs. */
unsigned wcodec_gpu_launches_max(const struct wcodec_gpu_limits *limits,
                                 const struct wcodec_gpu_plan *plan);
uint64_t wcodec_gpu_launches_size(const struct wcodec_gpu_limits *limits,
                                  const struct wcodec_gpu_plan *plan, uint64_t segments);

/* The launches of a plan that is built, whose block is at `block`; what they need besides is
 * written to `at`, which the device has at `address`. faults: address of a word for each tile.
 * Returns how many launches there are; *end is where what was written ends. */
unsigned wcodec_gpu_plan_launches(const struct wcodec_gpu_limits *limits,
                                  const struct wcodec_gpu_plan *plan, uint64_t block, uint8_t *at,
                                  uint64_t address, uint64_t faults,
                                  struct wcodec_gpu_launch *launches, const uint8_t **end);

/* One launch of some of a plan's tile jobs, of kernels that give a tile to each warp and need
 * nothing besides the block, which is at `block`: those of a segment, or part of one, or of the
 * generic kernel. */
void wcodec_gpu_plan_some(const struct wcodec_gpu_limits *limits, unsigned kernel,
                          const struct wcodec_segment *jobs, uint64_t block, uint64_t faults,
                          struct wcodec_gpu_launch *launch);

#endif
