/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#define WCODEC_LANES_CLUSTERS
#include "backends/emulate/rollout.h"

#include "backends/emulate/clusters.h"
#include "backends/gpu/rollout.h"
#include "backends/kernels/recurrence_groups.h"
#include "backends/kernels/rollout.h"
#include "backends/kernels/rollout_warps.h"

_Thread_local struct wcodec_fibers_cluster wcodec_fibers_cluster;

struct run {
    const struct wcodec_rollout_launch *launch;
    unsigned form;
};

static void run_lane(struct wcodec_warp *warp, const void *argument)
{
    const struct run *run = argument;
    struct wcodec_rollout r = {.item = wcodec_thread(warp), .items = wcodec_threads(warp)};
    struct wcodec_rollout_lane s = {.of = r};
    float *shared = WCODEC_SHARED(warp, float, wcodec_shared_base(warp));
    wcodec_cluster_enter(warp);
    switch (run->form) {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) \
    case WCODEC_ROLLOUT_##name: \
        wcodec_rollout_open(&r, run->launch, wcodec_group(warp), shared, \
                            wcodec_shared_base(warp)); \
        wcodec_rollout_kernel(gates, reset, warp, &r, run->launch); \
        break;
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
#define WCODEC_ROLLOUT_WARPS(name, columns, lanes, warps) \
    case WCODEC_ROLLOUT_##name: \
        wcodec_warps_open(lanes, run->launch->parts == 1, &s, run->launch, wcodec_group(warp), \
                          shared, wcodec_shared_base(warp)); \
        wcodec_warps_kernel(columns, warp, &s, run->launch); \
        break;
#include "backends/kernels/rollouts_warps.def"
#undef WCODEC_ROLLOUT_WARPS
    }
}

wcodec_status wcodec_emulated_rollout_clusters(const struct wcodec_host *host,
                                               const struct wcodec_rollout_plan *plan,
                                               const struct wcodec_rollout_launch *launch,
                                               uint64_t seed, wcodec_error *err)
{
    const struct run run = {launch, plan->form};
    const struct wcodec_lanes_launch lanes = {run_lane,
                                              &run,
                                              plan->sizes.members * plan->parts,
                                              plan->items,
                                              wcodec_gpu_rollout_shared(plan),
                                              seed};
    wcodec_fibers_cluster =
        (struct wcodec_fibers_cluster){.size = plan->parts, .lanes = plan->parts * plan->items};
    return wcodec_lanes_launch_together(host, &lanes, plan->parts, err);
}

static void run_groups_lane(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_recurrence_launch *l = argument;
    wcodec_cluster_enter(warp);
    wcodec_groups_kernel(2, warp, l);
}

wcodec_status wcodec_emulated_rollout_groups(const struct wcodec_host *host,
                                             const struct wcodec_rollout_plan *plan,
                                             const struct wcodec_recurrence_launch *launch,
                                             uint32_t shared, uint64_t seed, wcodec_error *err)
{
    const struct wcodec_lanes_launch lanes = {
        run_groups_lane, launch, launch->members * plan->parts, WCODEC_GROUPS_ITEMS, shared, seed};
    wcodec_fibers_cluster = (struct wcodec_fibers_cluster){
        .size = plan->parts, .lanes = plan->parts * WCODEC_GROUPS_ITEMS};
    return wcodec_lanes_launch_together(host, &lanes, plan->parts, err);
}
