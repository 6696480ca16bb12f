/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of backends/kernels/kernels.def with a fiber for each lane. */
#ifndef WCODEC_EMULATE_KERNELS_H
#define WCODEC_EMULATE_KERNELS_H

#include "backends/emulate/fibers.h"
#include "backends/gpu/kernels.h"
#include "backends/kernels/product_coded_launch.h"
#include "backends/kernels/rows_coded_launch.h"

/* As struct wcodec_gpu_launch, whose header this one does without: the core's names in it are also
 * the kernels'. */
struct wcodec_emulated_launch {
    unsigned kernel;
    uint32_t copies; /* of tables, as wcodec_kind_of() takes it */
    uint32_t groups;
    uint32_t threads; /* of a work-group */
    uint32_t shared;  /* bytes of each */
    uint64_t seed;    /* of the order of lanes and work-groups */
    const struct wcodec_launch *arguments;
};

/* Of products_coded.def; eights 0: the one that adds. */
struct wcodec_emulated_coded {
    uint32_t coding, eights;
    uint32_t copies, groups, threads, shared; /* as above */
    uint64_t seed;
    const struct wcodec_coded_launch *arguments;
};

/* Of rows_coded.def. */
struct wcodec_emulated_coded_rows {
    uint32_t coding;
    uint32_t copies, groups, threads, shared; /* as above */
    uint64_t seed;
    const struct wcodec_coded_rows_launch *arguments;
};

void wcodec_emulate_coded_rows(struct wcodec_fibers *fibers,
                               const struct wcodec_emulated_coded_rows *launch);

void wcodec_emulate_coded(struct wcodec_fibers *fibers, const struct wcodec_emulated_coded *launch);

void wcodec_emulate_launch(struct wcodec_fibers *fibers,
                           const struct wcodec_emulated_launch *launch);

#endif
