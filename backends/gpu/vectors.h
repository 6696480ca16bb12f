/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of the kernels of backends/kernels/vectors.h. */
#ifndef WCODEC_GPU_VECTORS_H
#define WCODEC_GPU_VECTORS_H

#include "backends/backend.h"
#include "backends/kernels/vectors_launch.h"

enum wcodec_vectors_kernel {
#define WCODEC_VECTORS_PLAIN(name, arguments) WCODEC_VECTORS_KERNEL_##name,
#define WCODEC_VECTORS_TENSOR(name, held) WCODEC_VECTORS_KERNEL_##name,
#define WCODEC_VECTORS_BESIDE(name, arguments) WCODEC_VECTORS_KERNEL_##name,
#include "backends/kernels/vectors.def"
#undef WCODEC_VECTORS_PLAIN
#undef WCODEC_VECTORS_TENSOR
#undef WCODEC_VECTORS_BESIDE
    WCODEC_VECTORS_KERNELS
};

/* "assign" */
extern const char *const wcodec_vectors_kernel_names[WCODEC_VECTORS_KERNELS];

/* Most bytes of a work-group's local memory, with so many items. */
#define WCODEC_GPU_VECTORS_SHARED(items) \
    (8u * WCODEC_VECTORS_SORTED + 8u * ((items) > 32u ? (items) : 32u))

enum {
    WCODEC_GPU_VECTORS_LAUNCHES = 8,  /* of a step at most */
    WCODEC_GPU_VECTORS_ROWS = 1 << 30 /* most, which may all be one anchor's */
};

struct wcodec_gpu_vectors_launch {
    enum wcodec_vectors_kernel kernel;
    uint32_t groups, threads, shared;
    struct wcodec_vectors_launch arguments;
};

/* How a device runs them. */
struct wcodec_gpu_vectors_form {
    uint32_t items; /* of a work-group, a multiple of 32 */
    uint32_t units; /* that run work-groups at a time */
    bool tensor;    /* by tensor cores */
};

/* Are nearest anchors found by tensor cores? */
bool wcodec_gpu_vectors_multiplies(const struct wcodec_vectors_shape *shape,
                                   const struct wcodec_gpu_vectors_form *form);

/* The launches of a step, in order; rows, work, anchors: addresses of the memory. Returns how many.
 */
unsigned wcodec_gpu_vectors_launches(const struct wcodec_vectors_step *step,
                                     const struct wcodec_gpu_vectors_form *form, uint64_t rows,
                                     uint64_t work, uint64_t anchors,
                                     struct wcodec_gpu_vectors_launch *launches);

#endif
