/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* On a GPU a kernel's kind is constant, so that what is set by one step is seen to be set for the
 * next. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define WCODEC_FIBERS
#include "backends/emulate/kernels.h"

#include "backends/kernels/fixed.h"
#include "backends/kernels/generic.h"
#include "backends/kernels/product_coded.h"
#include "backends/kernels/rows_coded.h"
#include "backends/kernels/tile_latency.h"
#include "backends/kernels/units.h"
#include "backends/kernels/work_group.h"

static void run_kernel(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_emulated_launch *launch = argument;
    const struct wcodec_kind kind = wcodec_kernel_kind(launch->kernel, launch->copies);
    if (kind.family == WCODEC_FAMILY_GENERIC)
        wcodec_generic_kernel(warp, launch->arguments);
    else if (kind.family == WCODEC_FAMILY_FIXED)
        wcodec_fixed_kernel(kind.index_bits, warp, launch->arguments);
    else if (kind.family == WCODEC_FAMILY_LATENCY)
        wcodec_latency_kernel(kind, warp, launch->arguments);
    else if (launch->kernel == WCODEC_KERNEL_blocks_units)
        wcodec_blocks_units_kernel(warp, launch->arguments);
    else if (launch->kernel == WCODEC_KERNEL_lossy_units)
        wcodec_lossy_units_kernel(warp, launch->arguments);
    else if (launch->kernel == WCODEC_KERNEL_fragments_units)
        wcodec_fragments_units_kernel(warp, launch->arguments);
    else
        wcodec_tiles_kernel(kind, warp, launch->arguments);
}

/* A launch of any kind. */
#define RUN(fibers, kernel, launch) \
    wcodec_lanes_run((fibers), &(struct wcodec_lanes_launch){(kernel), (launch), (launch)->groups, \
                                                             (launch)->threads, (launch)->shared, \
                                                             (launch)->seed})

void wcodec_emulate_launch(struct wcodec_fibers *fibers,
                           const struct wcodec_emulated_launch *launch)
{
    RUN(fibers, run_kernel, launch);
}

static void run_coded(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_emulated_coded *launch = argument;
    if (launch->eights == 0)
        wcodec_coded_sum_kernel(warp, launch->arguments);
    else
        wcodec_coded_kernel(wcodec_kind_of(WCODEC_FAMILY_FRAGMENTS, WCODEC_SHAPE_16_8,
                                           launch->coding, false, launch->copies),
                            launch->eights, warp, launch->arguments);
}

void wcodec_emulate_coded(struct wcodec_fibers *fibers, const struct wcodec_emulated_coded *launch)
{
    RUN(fibers, run_coded, launch);
}

static void run_coded_rows(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_emulated_coded_rows *launch = argument;
    wcodec_coded_rows_kernel(wcodec_kind_of(WCODEC_FAMILY_FAST, WCODEC_SHAPE_16_8, launch->coding,
                                            false, launch->copies),
                             warp, launch->arguments);
}

void wcodec_emulate_coded_rows(struct wcodec_fibers *fibers,
                               const struct wcodec_emulated_coded_rows *launch)
{
    RUN(fibers, run_coded_rows, launch);
}
