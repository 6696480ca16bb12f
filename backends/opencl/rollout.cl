/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of rollout.h and, with WCODEC_RECURRENCE, of recurrence.h (that hold nothing), in
 * OpenCL C: what is launched, and nothing else. A launch's addresses are offsets in the buffers
 * that it is given, as in product.cl; those of a unit's sequences are 0: their buffers begin them.
 * WCODEC_ROLLOUT_GATES and WCODEC_ROLLOUT_RESET are those of the row of rollouts.def; or
 * WCODEC_ROLLOUT_COLUMNS and WCODEC_ROLLOUT_LANES those of rollouts_warps.def. */
#include "backends/kernels/recurrence.h"
#include "backends/kernels/rollout.h"

#ifdef WCODEC_RECURRENCE
WCODEC_OPENCL_KERNEL void wcodec_recurrence(__global uint8_t *weights, __global uint8_t *values,
                                            __global uint8_t *begin, __global uint8_t *out,
                                            __global uint8_t *last,
                                            const struct wcodec_recurrence_launch launch,
                                            __local uint4 *shared)
{
    struct wcodec_recurrence_launch l = launch;
    struct wcodec_recurrence s;
    struct wcodec_warp warp;
    s.of.item = (uint32_t)get_local_id(0);
    s.of.items = (uint32_t)get_local_size(0);
    s.of.meets = false;
    l.of.weights = (ulong)weights;
    l.values = (ulong)values;
    l.begin = (ulong)begin;
    l.out = (ulong)out;
    l.last = (ulong)last;
    wcodec_recurrence_open(&s, &l, (uint32_t)get_group_id(0), (__local float *)shared, 0);
    wcodec_recurrence_kernel(0, 0, 0, &warp, &s, &l);
}
#else
#ifdef WCODEC_ROLLOUT_LANES
#include "backends/kernels/rollout_warps.h"
#endif

WCODEC_OPENCL_KERNEL void wcodec_rollout(__global uint8_t *weights, __global uint8_t *work,
                                         const struct wcodec_rollout_launch launch,
                                         __local uint4 *shared)
{
    struct wcodec_rollout_launch l = launch;
    struct wcodec_warp warp;
    l.weights += (ulong)weights;
    l.head += (ulong)weights;
    l.features += (ulong)work;
    l.hidden += (ulong)work;
    l.stay += (ulong)work;
    l.exchange += l.exchange != 0 ? (ulong)work : 0;
    l.fault += (ulong)work;
    l.loss += (ulong)work;
    l.squares += (ulong)work;
    l.entropy += (ulong)work;
    l.last += (ulong)work;
#ifdef WCODEC_ROLLOUT_LANES
    struct wcodec_rollout_lane s;
    s.of.item = (uint32_t)get_local_id(0);
    s.of.items = (uint32_t)get_local_size(0);
    s.of.meets = true;
    wcodec_warps_open(WCODEC_ROLLOUT_LANES, WCODEC_ROLLOUT_LANES == 8, &s, &l,
                      (uint32_t)get_group_id(0), (__local float *)shared, 0);
    wcodec_warps_kernel(WCODEC_ROLLOUT_COLUMNS, &warp, &s, &l);
#else
    struct wcodec_rollout r;
    r.item = (uint32_t)get_local_id(0);
    r.items = (uint32_t)get_local_size(0);
    r.meets = true;
    wcodec_rollout_open(&r, &l, (uint32_t)get_group_id(0), (__local float *)shared, 0);
    wcodec_rollout_kernel(WCODEC_ROLLOUT_GATES, WCODEC_ROLLOUT_RESET, &warp, &r, &l);
#endif
}
#endif
