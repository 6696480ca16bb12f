/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernel of rollout.h that holds nothing, in OpenCL C: what is launched, and nothing else. A
 * launch's addresses are offsets in the buffers that it is given, as in product.cl. */
#include "backends/kernels/rollout.h"

WCODEC_OPENCL_KERNEL void wcodec_rollout(__global uint8_t *weights, __global uint8_t *work,
                                         const struct wcodec_rollout_launch launch,
                                         __local uint4 *shared)
{
    struct wcodec_rollout_launch l = launch;
    struct wcodec_rollout r;
    struct wcodec_warp warp;
    r.item = (uint32_t)get_local_id(0);
    r.items = (uint32_t)get_local_size(0);
    l.weights += (ulong)weights;
    l.head += (ulong)weights;
    l.features += (ulong)work;
    l.hidden += (ulong)work;
    l.stay += (ulong)work;
    l.loss += (ulong)work;
    l.squares += (ulong)work;
    l.entropy += (ulong)work;
    l.last += (ulong)work;
    wcodec_rollout_open(&r, &l, (uint32_t)get_group_id(0), (__local float *)shared, 0);
    wcodec_rollout_kernel(0, 0, &warp, &r, &l);
}
