/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of the kernels of backends/kernels/search.h. */
#ifndef WCODEC_GPU_SEARCH_H
#define WCODEC_GPU_SEARCH_H

#include "backends/backend.h"
#include "backends/kernels/search_launch.h"

enum wcodec_search_kernel {
#define WCODEC_SEARCH_KERNEL(name, most, at_once) WCODEC_SEARCH_KERNEL_##name,
#include "backends/kernels/search.def"
#undef WCODEC_SEARCH_KERNEL
    WCODEC_SEARCH_KERNELS
};

/* "look" */
extern const char *const wcodec_search_kernel_names[WCODEC_SEARCH_KERNELS];

/* Bytes of a work-group's local memory, with so many items. */
#define WCODEC_GPU_SEARCH_SHARED(items) (8u * WCODEC_SEARCH_SELECTED + 4u * (items) + 256u)

struct wcodec_gpu_search_launch {
    enum wcodec_search_kernel kernel;
    uint32_t groups, threads, shared;
    struct wcodec_search_launch arguments;
};

/* Are there numbers for all work-groups? */
bool wcodec_gpu_search_fits(const struct wcodec_search_shape *shape);

/* The launches of a step, in order, at most WCODEC_SEARCH_KERNELS, with work-groups of so many
 * items, a multiple of 32; codes, vectors, work: addresses of the memory. Returns how many. */
unsigned wcodec_gpu_search_launches(const struct wcodec_search_step *step, uint32_t items,
                                    uint64_t codes, uint64_t vectors, uint64_t work,
                                    struct wcodec_gpu_search_launch *launches);

#endif
