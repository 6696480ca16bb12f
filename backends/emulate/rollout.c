/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/rollout.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/rollout.h"
#include "backends/kernels/rollout.h"

enum { SEED = 1, ITEMS = 128, SHARED = 64 << 10 };

static bool plan(struct wcodec_device *device, const struct wcodec_rollout_sizes *sizes,
                 struct wcodec_rollout_plan *plan)
{
    static const struct wcodec_gpu_rollout_limits limits = {
        .items = ITEMS, .parts = 1, .shared = SHARED, .registers = true};
    (void)device;
    return wcodec_fibers_supported() && wcodec_gpu_plan_rollout(sizes, &limits, plan);
}

/* A launch, and what its kernel holds. */
struct run {
    const struct wcodec_rollout_launch *launch;
    unsigned form;
};

static void run_lane(struct wcodec_warp *warp, const void *argument)
{
    const struct run *run = argument;
    struct wcodec_rollout r = {.item = wcodec_thread(warp), .items = wcodec_threads(warp)};
    wcodec_rollout_open(&r, run->launch, wcodec_group(warp),
                        WCODEC_SHARED(warp, float, wcodec_shared_base(warp)),
                        wcodec_shared_base(warp));
    switch (run->form) {
#define WCODEC_ROLLOUT_KERNEL(name, gates, reset) \
    case WCODEC_ROLLOUT_##name: \
        wcodec_rollout_kernel(gates, reset, warp, &r, run->launch); \
        break;
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
    }
}

static wcodec_status run(struct wcodec_queue *queue, const struct wcodec_ensemble_rollout *rollout,
                         wcodec_error *err)
{
    struct wcodec_gpu_rollout l;
    struct wcodec_fibers *fibers = wcodec_fibers_create();
    if (fibers == NULL)
        return queue->device->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    wcodec_gpu_launch_rollout(rollout, (uint64_t)(uintptr_t)rollout->weights->data,
                              (uint64_t)(uintptr_t)rollout->work->data, &l);
    const struct run argument = {&l.arguments, rollout->plan->form};
    const struct wcodec_lanes_launch lanes = {run_lane,  &argument, l.groups,
                                              l.threads, l.shared,  SEED};
    wcodec_lanes_run(fibers, &lanes);
    wcodec_fibers_destroy(fibers);
    return WCODEC_OK;
}

const struct wcodec_backend_rollouts wcodec_emulated_rollouts = {plan, run};
