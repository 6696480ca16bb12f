/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of the kernels of backends/kernels/delta.h. */
#ifndef WCODEC_GPU_DELTA_H
#define WCODEC_GPU_DELTA_H

#include "backends/backend.h"
#include "backends/kernels/delta_launch.h"

/* Warps of a work-group where nothing else asks for fewer. */
enum {
    WCODEC_GPU_LEAVES_WARPS = 4,
    WCODEC_GPU_PATCH_WARPS = 4,
    WCODEC_GPU_CHANGES_WARPS = 4,
    WCODEC_GPU_PLACES_WARPS = 32 /* of the only one */
};

enum wcodec_delta_kernel {
    WCODEC_DELTA_LEAVES,
    WCODEC_DELTA_PATCH,
    WCODEC_DELTA_CHANGES,
    WCODEC_DELTA_TALLY,
    WCODEC_DELTA_SIZES,
    WCODEC_DELTA_STREAMS,
    WCODEC_DELTA_PROOF,
    WCODEC_DELTA_LINEAR,
    WCODEC_DELTA_PLACES,
    WCODEC_DELTA_CHECKS,
    WCODEC_DELTA_KERNELS
};
/* What codes what was found, in order; the last one proves. */
#define WCODEC_DELTA_CODE_STEPS \
    WCODEC_DELTA_SIZES, WCODEC_DELTA_PLACES, WCODEC_DELTA_STREAMS, WCODEC_DELTA_CHECKS, \
        WCODEC_DELTA_PROOF
extern const char *const wcodec_delta_kernel_names[WCODEC_DELTA_KERNELS];

struct wcodec_gpu_grid {
    uint32_t groups, threads;
    uint32_t shared; /* bytes of a work-group */
};

/* What a launch is given, in work-groups of that many warps; addresses are those of the memory. */
struct wcodec_gpu_grid wcodec_gpu_leaves(const struct wcodec_tensor_leaves *leaves, unsigned warps,
                                         uint64_t elements, uint64_t out,
                                         struct wcodec_leaves_launch *launch);
struct wcodec_gpu_grid wcodec_gpu_linear(const struct wcodec_tensor_linear *tensor, unsigned warps,
                                         uint64_t elements, uint64_t out,
                                         struct wcodec_linear_launch *launch);
struct wcodec_gpu_grid wcodec_gpu_patch(const struct wcodec_tensor_patch *patch, unsigned warps,
                                        uint64_t elements, uint64_t work,
                                        struct wcodec_patch_launch *launch);
/* For all kernels of changes; `streams` only of those that code. PLACES is one work-group of at
 * most WCODEC_GPU_PLACES_WARPS. */
struct wcodec_gpu_grid wcodec_gpu_changes(enum wcodec_delta_kernel kernel,
                                          const struct wcodec_tensor_changes *changes,
                                          unsigned warps, uint64_t elements, uint64_t base,
                                          uint64_t work, uint64_t streams,
                                          struct wcodec_changes_launch *launch);

#endif
