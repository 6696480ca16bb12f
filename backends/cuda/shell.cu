/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of backends/kernels/kernels.def in CUDA: what is launched, and nothing else. */
#include "backends/kernels/encode_fixed.h"
#include "backends/kernels/encode_join.h"
#include "backends/kernels/fixed.h"
#include "backends/kernels/generic.h"
#include "backends/kernels/delta_checks.h"
#include "backends/kernels/measure.h"
#include "backends/kernels/product_coded.h"
#include "backends/kernels/rows_coded.h"
#include "backends/kernels/product_int8.h"
#include "backends/kernels/product_transposed.h"
#include "backends/kernels/product_wide.h"
#include "backends/kernels/recurrence.h"
#include "backends/kernels/recurrence_groups.h"
#include "backends/kernels/recurrence_tensor.h"
#include "backends/kernels/rollout.h"
#include "backends/kernels/rollout_warps.h"
#include "backends/kernels/rows.h"
#include "backends/kernels/tile_latency.h"
#include "backends/kernels/units.h"
#include "backends/kernels/search.h"
#include "backends/kernels/vectors_start.h"
#include "backends/kernels/vectors_tensor.h"
#include "backends/kernels/work_group.h"

#define WCODEC_P8_COPIES 32 /* one for each bank of shared memory */

#define RUN_FAST(name, k) wcodec_tiles_kernel(k, &warp, &launch)
#define RUN_BLOCKS(name, k) wcodec_tiles_kernel(k, &warp, &launch)
#define RUN_LOSSY(name, k) wcodec_tiles_kernel(k, &warp, &launch)
#define RUN_FRAGMENTS(name, k) wcodec_tiles_kernel(k, &warp, &launch)
#define RUN_LATENCY(name, k) wcodec_latency_kernel(k, &warp, &launch)
#define RUN_GENERIC(name, k) wcodec_generic_kernel(&warp, &launch)
#define RUN_FIXED(name, k) wcodec_fixed_kernel((k).index_bits, &warp, &launch)
#define RUN_UNITS(name, k) wcodec_##name##_kernel(&warp, &launch)

#define WCODEC_KERNEL(name, family, shape, coding, add, bytes, raw, threads, groups) \
    extern "C" __global__ void __launch_bounds__(threads, groups) \
        wcodec_##name(const __grid_constant__ wcodec_launch launch) \
    { \
        struct wcodec_warp warp; \
        RUN_##family(name, \
                     wcodec_row_kind(WCODEC_FAMILY_##family, WCODEC_SHAPE_##shape, \
                                     WCODEC_CODING_##coding, add, bytes, raw, WCODEC_P8_COPIES)); \
    }
#include "backends/kernels/kernels.def"

/* Without tensor cores that take BF16 the host launches none of what follows. */
#ifdef WCODEC_MATRIX_PRODUCTS
#define RUN_DIRECT(bits, eights) wcodec_product_kernel(bits, eights, false, &warp, &launch)
#define RUN_STAGED(bits, eights) wcodec_product_kernel(bits, eights, true, &warp, &launch)
#define RUN_TRANSPOSED(bits, eights) wcodec_transposed_kernel(bits, &warp, &launch)
#define RUN_ROWS(bits, neighbours) wcodec_rows_kernel(bits, neighbours, &warp, &launch)
#define RUN_ENCODER(step, bits) WCODEC_ENCODE_##step(bits, &warp, &launch)
#define RUN_CODED(coding, eights) \
    wcodec_coded_kernel(wcodec_kind_of(WCODEC_FAMILY_FRAGMENTS, WCODEC_SHAPE_16_8, \
                                       WCODEC_CODING_##coding, false, WCODEC_P8_COPIES), \
                        eights, &warp, &launch)
#define RUN_CODED_SUM() wcodec_coded_sum_kernel(&warp, &launch)
#define RUN_INT8() wcodec_int8_kernel(&warp, &launch)
#else
#define RUN_CODED(coding, eights) ((void)warp, (void)launch)
#define RUN_CODED_SUM() ((void)warp, (void)launch)
#define RUN_INT8() ((void)warp, (void)launch)
#define RUN_DIRECT(bits, eights) ((void)warp, (void)launch)
#define RUN_STAGED(bits, eights) ((void)warp, (void)launch)
#define RUN_TRANSPOSED(bits, eights) ((void)warp, (void)launch)
#define RUN_ROWS(bits, neighbours) ((void)warp, (void)launch)
#define RUN_ENCODER(step, bits) ((void)warp, (void)launch)
#endif
#define WCODEC_PRODUCT(name, bits, eights, way) \
    extern "C" __global__ void __launch_bounds__(512, 1) \
        wcodec_##name(const __grid_constant__ wcodec_product_launch launch) \
    { \
        struct wcodec_warp warp; \
        RUN_##way(bits, eights); \
    }
#define WCODEC_ROWS(name, bits, neighbours) \
    extern "C" __global__ void __launch_bounds__(512, 2) \
        wcodec_##name(const __grid_constant__ wcodec_rows_launch launch) \
    { \
        struct wcodec_warp warp; \
        RUN_ROWS(bits, neighbours); \
    }
#include "backends/kernels/products.def"

/* Only where they are for: the host asks whether they are there. */
#ifdef WCODEC_WARPGROUPS
#define WCODEC_WIDE_PRODUCT(name, bits, vectors, helpers) \
    extern "C" __global__ void __launch_bounds__(WCODEC_WIDE_THREADS(helpers), 1) \
        wcodec_##name(const __grid_constant__ wcodec_wide_launch launch) \
    { \
        struct wcodec_warp warp; \
        wcodec_wide_kernel(bits, vectors, helpers, &warp, &launch); \
    }
#include "backends/kernels/products_wide.def"

extern "C" __global__ void __launch_bounds__(WCODEC_WIDE_X_THREADS, WCODEC_WIDE_X_GROUPS)
    wcodec_wide_x(const __grid_constant__ wcodec_wide_launch launch)
{
    struct wcodec_warp warp;
    wcodec_wide_x_kernel(&warp, &launch);
}

#define WCODEC_ROLLOUTS_GROUPS(parts) \
    extern "C" __global__ void __launch_bounds__(WCODEC_GROUPS_ITEMS, 1) \
        wcodec_rollouts_groups_##parts(const __grid_constant__ wcodec_recurrence_launch launch) \
    { \
        struct wcodec_warp warp; \
        wcodec_groups_kernel(parts, &warp, &launch); \
    }
WCODEC_ROLLOUTS_GROUPS(2)
WCODEC_ROLLOUTS_GROUPS(4)
#endif

#define WCODEC_ENCODER(name, step, bits) \
    extern "C" __global__ void __launch_bounds__(256, 4) \
        wcodec_##name(const __grid_constant__ wcodec_encode_launch launch) \
    { \
        struct wcodec_warp warp; \
        RUN_ENCODER(step, bits); \
    }
#include "backends/kernels/encoders.def"

#define WCODEC_CODED_PRODUCT(name, coding, eights) \
    extern "C" __global__ void __launch_bounds__(512, 2) \
        wcodec_##name(const __grid_constant__ wcodec_coded_launch launch) \
    { \
        struct wcodec_warp warp; \
        RUN_CODED(coding, eights); \
    }
#include "backends/kernels/products_coded.def"

#define WCODEC_CODED_ROWS(name, coding) \
    extern "C" __global__ void __launch_bounds__(512, 2) \
        wcodec_##name(const __grid_constant__ wcodec_coded_rows_launch launch) \
    { \
        struct wcodec_warp warp; \
        wcodec_coded_rows_kernel(wcodec_kind_of(WCODEC_FAMILY_FAST, WCODEC_SHAPE_16_8, \
                                                WCODEC_CODING_##coding, false, WCODEC_P8_COPIES), \
                                 &warp, &launch); \
    }
#include "backends/kernels/rows_coded.def"

extern "C" __global__ void __launch_bounds__(128)
    wcodec_coded_sum(const __grid_constant__ wcodec_coded_launch launch)
{
    struct wcodec_warp warp;
    RUN_CODED_SUM();
}

extern "C" __global__ void __launch_bounds__(WCODEC_DENSE_ITEMS)
    wcodec_dense(const __grid_constant__ wcodec_dense_launch launch)
{
    struct wcodec_warp warp;
    wcodec_dense_kernel(false, &warp, &launch);
}

extern "C" __global__ void __launch_bounds__(WCODEC_DENSE_ITEMS)
    wcodec_dense_transposed(const __grid_constant__ wcodec_dense_launch launch)
{
    struct wcodec_warp warp;
    wcodec_dense_kernel(true, &warp, &launch);
}

extern "C" __global__ void __launch_bounds__(32 * WCODEC_INT8_WARPS, 4)
    wcodec_dense_int8(const __grid_constant__ wcodec_dense_launch launch)
{
    struct wcodec_warp warp;
    RUN_INT8();
}

#define WCODEC_TILE_ENCODER(name, element_log2, raw, profile) \
    extern "C" __global__ void __launch_bounds__(512, 2) \
        wcodec_##name(const __grid_constant__ wcodec_coder_launch launch) \
    { \
        struct wcodec_warp warp; \
        wcodec_coder_row_kernel(wcodec_coder_kind_of(element_log2, raw, profile), &warp, &launch); \
    }
#define WCODEC_TILE_STEP(name, step, groups) \
    extern "C" __global__ void __launch_bounds__(256, groups) \
        wcodec_##name(const __grid_constant__ wcodec_coder_launch launch) \
    { \
        struct wcodec_warp warp; \
        wcodec_coder_##step##_kernel( \
            wcodec_coder_kind_of(launch.element_log2, launch.raw_bits, launch.profile), &warp, \
            &launch); \
    }
#include "backends/kernels/tile_encoders.def"

#define WCODEC_MEASURE(name, element_log2) \
    extern "C" __global__ void __launch_bounds__(256, 4) \
        wcodec_##name(const __grid_constant__ wcodec_measure_launch launch) \
    { \
        struct wcodec_warp warp; \
        wcodec_measure_kernel(element_log2, &warp, &launch); \
    }
#define WCODEC_MEASURE_SUMS(name) \
    extern "C" __global__ void __launch_bounds__(256) \
        wcodec_##name(const __grid_constant__ wcodec_measure_launch launch) \
    { \
        struct wcodec_warp warp; \
        wcodec_measure_sums_kernel(&warp, &launch); \
    }
#include "backends/kernels/measures.def"

extern "C" __global__ void __launch_bounds__(128)
    wcodec_leaves(const __grid_constant__ wcodec_leaves_launch launch)
{
    struct wcodec_warp warp;
    wcodec_leaves_kernel(&warp, &launch);
}

extern "C" __global__ void __launch_bounds__(128)
    wcodec_linear(const __grid_constant__ wcodec_linear_launch launch)
{
    struct wcodec_warp warp;
    wcodec_linear_kernel(&warp, &launch);
}

extern "C" __global__ void __launch_bounds__(128)
    wcodec_patch(const __grid_constant__ wcodec_patch_launch launch)
{
    struct wcodec_warp warp;
    wcodec_patch_kernel(&warp, &launch);
}

#define WCODEC_CHANGES(name, kernel) \
    extern "C" __global__ void __launch_bounds__(128) \
        wcodec_##name(const __grid_constant__ wcodec_changes_launch launch) \
    { \
        struct wcodec_warp warp; \
        kernel(&warp, &launch); \
    }
WCODEC_CHANGES(changes, wcodec_changes_kernel)
WCODEC_CHANGES(tally, wcodec_stream_tally_kernel)
WCODEC_CHANGES(stream_sizes, wcodec_stream_sizes_kernel)
WCODEC_CHANGES(streams, wcodec_stream_kernel)
WCODEC_CHANGES(stream_checks, wcodec_stream_checks_kernel)
WCODEC_CHANGES(stream_proof, wcodec_stream_proof_kernel)

extern "C" __global__ void __launch_bounds__(1024)
    wcodec_stream_places(const __grid_constant__ wcodec_changes_launch launch)
{
    struct wcodec_warp warp;
    wcodec_stream_places_kernel(&warp, &launch);
}

/* Weights in registers: a work-group has all of a multiprocessor's. */
#define WCODEC_ENSEMBLE_KERNEL(name, gates, reset, met) \
    extern "C" __global__ void __launch_bounds__(512, 1) \
        wcodec_##name(const __grid_constant__ wcodec_rollout_launch launch) \
    { \
        struct wcodec_warp warp; \
        struct wcodec_rollout rollout; \
        rollout.item = wcodec_thread(&warp); \
        rollout.items = wcodec_threads(&warp); \
        rollout.meets = met; \
        wcodec_rollout_open(&rollout, &launch, wcodec_group(&warp), \
                            WCODEC_SHARED(&warp, float, wcodec_shared_base(&warp)), \
                            wcodec_shared_base(&warp)); \
        wcodec_rollout_kernel(gates, reset, &warp, &rollout, &launch); \
    }
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) \
    WCODEC_ENSEMBLE_KERNEL(name, gates, reset, false) \
    WCODEC_ENSEMBLE_KERNEL(name##_met, gates, reset, true) \
    extern "C" __global__ void __launch_bounds__(512, 1) \
        wcodec_##unit(const __grid_constant__ wcodec_recurrence_launch launch) \
    { \
        struct wcodec_warp warp; \
        struct wcodec_recurrence recurrence; \
        recurrence.of.item = wcodec_thread(&warp); \
        recurrence.of.items = wcodec_threads(&warp); \
        recurrence.of.meets = false; \
        wcodec_recurrence_open(&recurrence, &launch, wcodec_group(&warp), \
                               WCODEC_SHARED(&warp, float, wcodec_shared_base(&warp)), \
                               wcodec_shared_base(&warp)); \
        wcodec_recurrence_kernel(inputs, gates, reset, &warp, &recurrence, &launch); \
    }
#include "backends/kernels/rollouts.def"

#define WCODEC_WARPS_KERNEL(name, columns, lanes, warps, met) \
    extern "C" __global__ void __launch_bounds__(32 * (warps), 1) \
        wcodec_##name(const __grid_constant__ wcodec_rollout_launch launch) \
    { \
        struct wcodec_warp warp; \
        struct wcodec_rollout_lane rollout; \
        rollout.of.item = wcodec_thread(&warp); \
        rollout.of.items = wcodec_threads(&warp); \
        rollout.of.meets = met; \
        wcodec_warps_open(lanes, (lanes) == 8, &rollout, &launch, wcodec_group(&warp), \
                          WCODEC_SHARED(&warp, float, wcodec_shared_base(&warp)), \
                          wcodec_shared_base(&warp)); \
        wcodec_warps_kernel(columns, &warp, &rollout, &launch); \
    }
#define WCODEC_ROLLOUT_WARPS(name, columns, lanes, warps) \
    WCODEC_WARPS_KERNEL(name, columns, lanes, warps, false) \
    WCODEC_WARPS_KERNEL(name##_met, columns, lanes, warps, true)
#include "backends/kernels/rollouts_warps.def"

#ifdef WCODEC_MATRIX_PRODUCTS
#define RUN_RECURRENCE(after, model, whole) \
    wcodec_tensor_kernel(after, model, whole, &warp, &launch)
#else
#define RUN_RECURRENCE(after, model, whole) ((void)warp, (void)launch)
#endif
#define WCODEC_RECURRENCE_TENSOR(name, after, model, whole) \
    extern "C" __global__ void __launch_bounds__(256, 1) \
        wcodec_##name(const __grid_constant__ wcodec_recurrence_launch launch) \
    { \
        struct wcodec_warp warp; \
        RUN_RECURRENCE(after, model, whole); \
    }
WCODEC_RECURRENCE_TENSOR(recurrence_before, false, false, false)
WCODEC_RECURRENCE_TENSOR(recurrence_after, true, false, false)
WCODEC_RECURRENCE_TENSOR(recurrence_before_256, false, false, true)
WCODEC_RECURRENCE_TENSOR(recurrence_after_256, true, false, true)
WCODEC_RECURRENCE_TENSOR(rollouts, false, true, false)
WCODEC_RECURRENCE_TENSOR(rollouts_256, false, true, true)

#define WCODEC_VECTORS_LAUNCHED(name, at_once, call) \
    extern "C" __global__ void __launch_bounds__(256, at_once) \
        wcodec_vectors_##name(const __grid_constant__ wcodec_vectors_launch launch) \
    { \
        struct wcodec_warp own, *warp = &own; \
        const struct wcodec_vectors_launch *l = &launch; \
        struct wcodec_vectors_item item; \
        const struct wcodec_vectors_item *w = &item; \
        item.item = wcodec_thread(warp); \
        item.items = wcodec_threads(warp); \
        item.group = wcodec_group(warp); \
        item.groups = wcodec_groups(warp); \
        item.shared = WCODEC_SHARED(warp, uint64_t, wcodec_shared_base(warp)); \
        call; \
    }
#define WCODEC_VECTORS_PLAIN(name, arguments) \
    WCODEC_VECTORS_LAUNCHED(name, 1, wcodec_vectors_##name##_kernel arguments)
#ifdef WCODEC_MATRIX_PRODUCTS
#define WCODEC_VECTORS_TENSOR(name, held) \
    WCODEC_VECTORS_LAUNCHED(name, 2, wcodec_vectors_tensor_kernel(held, warp, w, l))
#define WCODEC_VECTORS_BESIDE(name, arguments) WCODEC_VECTORS_PLAIN(name, arguments)
#else
#define WCODEC_VECTORS_TENSOR(name, held) \
    extern "C" __global__ void wcodec_vectors_##name( \
        const __grid_constant__ wcodec_vectors_launch launch) \
    { \
        (void)launch; \
    }
#define WCODEC_VECTORS_BESIDE(name, arguments) WCODEC_VECTORS_TENSOR(name, 0)
#endif
#include "backends/kernels/vectors.def"

#define WCODEC_SEARCH_KERNEL(name, most, at_once) \
    extern "C" __global__ void __launch_bounds__(most, at_once) \
        wcodec_search_##name(const __grid_constant__ wcodec_search_launch launch) \
    { \
        struct wcodec_warp warp; \
        struct wcodec_vectors_item item; \
        item.item = wcodec_thread(&warp); \
        item.items = wcodec_threads(&warp); \
        item.group = wcodec_group(&warp); \
        item.groups = wcodec_groups(&warp); \
        item.shared = WCODEC_SHARED(&warp, uint64_t, wcodec_shared_base(&warp)); \
        wcodec_search_##name##_kernel(&warp, &item, &launch); \
    }
#include "backends/kernels/search.def"
