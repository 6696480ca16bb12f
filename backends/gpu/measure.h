/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of the kernels that count what is in a tensor (backends/kernels/measure.h). */
#ifndef WCODEC_GPU_MEASURE_H
#define WCODEC_GPU_MEASURE_H

#include "backends/backend.h"
#include "backends/kernels/measure_launch.h"

enum wcodec_measure_number {
#define WCODEC_MEASURE(name, element_log2) WCODEC_MEASURE_##name,
#define WCODEC_MEASURE_SUMS(name) WCODEC_MEASURE_##name,
#include "backends/kernels/measures.def"
#undef WCODEC_MEASURE
#undef WCODEC_MEASURE_SUMS
    WCODEC_MEASURES
};

/* "measure_16" */
extern const char *const wcodec_measure_names[WCODEC_MEASURES];

enum { WCODEC_GPU_MEASURE_WARPS = 8 };

struct wcodec_gpu_measuring {
    unsigned kernel;
    uint32_t groups, threads, shared;
    struct wcodec_measure_launch arguments;
};

/* The launches of measure() (backends/backend.h), in order, by work-groups of so many warps;
 * address: of memory. Returns what `launch` returned last, which is 0, or the host's own number of
 * what failed. */
int wcodec_gpu_measure_tensor(const struct wcodec_tensor_measure *measure, uint32_t warps,
                              uint64_t (*address)(const struct wcodec_memory *memory),
                              int (*launch)(void *opaque, struct wcodec_gpu_measuring *launch),
                              void *opaque);

#endif
