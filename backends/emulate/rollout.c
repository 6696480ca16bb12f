/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/rollout.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/rollout.h"
#include "backends/kernels/recurrence_tensor.h"
#include "backends/kernels/rollout.h"
#include "backends/kernels/rollout_warps.h"

/* Members of up to so many parts, which run at once. Three sequences at a time, which are
 * work-groups; by tensor cores one, with as many tiles as it has room for. */
enum {
    SEED = 1,
    ITEMS = 128,
    PARTS = 8,
    TENSOR_ITEMS = 1024,
    SHARED = 64 << 10,
    GROUPS_ITEMS = 256, /* of clusters that take many starts */
    GROUPS_SHARED = 227 << 10,
    CACHE = 16 << 10,
    TOGETHER = 3
};

/* Reads in vain until a part gives up; where the other part never comes. */
enum { PATIENCE = 1 << 24, PATIENCE_APART = 3000 };

bool wcodec_emulated_rollouts_apart, wcodec_emulated_rollouts_clusters;

static bool plan(struct wcodec_device *device, const struct wcodec_rollout_sizes *sizes,
                 struct wcodec_rollout_plan *plan)
{
    const bool clusters = wcodec_emulated_rollouts_clusters && sizes->unit == WCODEC_UNIT_NONE,
               groups = clusters && sizes->rounded && sizes->hidden > 64 && sizes->hidden <= 128;
    const struct wcodec_gpu_rollout_limits limits = {.items = ITEMS,
                                                     .parts = PARTS,
                                                     .shared = groups ? GROUPS_SHARED : SHARED,
                                                     .registers = true,
                                                     .exchanges = !clusters,
                                                     .takes_pinned = true,
                                                     .tensor_items =
                                                         groups ? GROUPS_ITEMS : TENSOR_ITEMS,
                                                     .cache = CACHE};
    (void)device;
    return wcodec_fibers_supported() && wcodec_gpu_plan_rollout(sizes, &limits, plan);
}

/* A launch, and what its kernel holds. */
struct run {
    const struct wcodec_rollout_launch *launch;
    const struct wcodec_recurrence_launch *sequences;
    unsigned form;
    bool model; /* by tensor cores: it is a rollout */
};

static void run_lane(struct wcodec_warp *warp, const void *argument)
{
    const struct run *run = argument;
    struct wcodec_rollout r = {
        .item = wcodec_thread(warp), .items = wcodec_threads(warp), .meets = true};
    wcodec_rollout_open(&r, run->launch, wcodec_group(warp),
                        WCODEC_SHARED(warp, float, wcodec_shared_base(warp)),
                        wcodec_shared_base(warp));
    switch (run->form) {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) \
    case WCODEC_ROLLOUT_##name: \
        wcodec_rollout_kernel(gates, reset, warp, &r, run->launch); \
        break;
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
    }
}

static void run_warps_lane(struct wcodec_warp *warp, const void *argument)
{
    const struct run *run = argument;
    struct wcodec_rollout_lane s = {
        .of = {.item = wcodec_thread(warp), .items = wcodec_threads(warp), .meets = true}};
    float *shared = WCODEC_SHARED(warp, float, wcodec_shared_base(warp));
    switch (run->form) {
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

static void run_sequences_lane(struct wcodec_warp *warp, const void *argument)
{
    const struct run *run = argument;
    if (run->sequences->tiles > 0) {
        const bool after = run->form == WCODEC_RECURRENCE_AFTER ||
                           run->form == WCODEC_RECURRENCE_AFTER_256,
                   whole = run->form >= WCODEC_RECURRENCE_BEFORE_256;
        wcodec_tensor_kernel(after, run->model, whole, warp, run->sequences);
        return;
    }
    struct wcodec_recurrence s = {
        .of = {.item = wcodec_thread(warp), .items = wcodec_threads(warp)}};
    wcodec_recurrence_open(&s, run->sequences, wcodec_group(warp),
                           WCODEC_SHARED(warp, float, wcodec_shared_base(warp)),
                           wcodec_shared_base(warp));
    switch (run->form) {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) \
    case WCODEC_ROLLOUT_##name: \
        wcodec_recurrence_kernel(inputs, gates, reset, warp, &s, run->sequences); \
        break;
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
    }
}

static wcodec_status launch(const struct wcodec_host *host, const struct wcodec_rollout_plan *p,
                            uint32_t groups, bool together,
                            void (*lane)(struct wcodec_warp *warp, const void *argument),
                            const struct run *argument, wcodec_error *err)
{
    const struct wcodec_lanes_launch lanes = {
        lane, argument, groups, p->items, wcodec_gpu_rollout_shared(p), SEED};
    return together ? wcodec_lanes_launch_together(host, &lanes, p->parts, err)
                    : wcodec_lanes_launch(host, &lanes, err);
}

static wcodec_status run(struct wcodec_queue *queue, const struct wcodec_ensemble_rollout *rollout,
                         wcodec_error *err)
{
    const struct wcodec_rollout_plan *p = rollout->plan;
    struct wcodec_rollout_launch l;
    wcodec_gpu_launch_rollout(rollout, (uint64_t)(uintptr_t)rollout->weights->data,
                              (uint64_t)(uintptr_t)rollout->work->data, &l);
    if (wcodec_emulated_rollouts_clusters)
        return wcodec_emulated_rollout_clusters(queue->device->host, p, &l, SEED, err);
    l.patience = wcodec_emulated_rollouts_apart ? PATIENCE_APART : PATIENCE;
    return launch(queue->device->host, p, p->sizes.members * p->parts,
                  p->exchanges && !wcodec_emulated_rollouts_apart,
                  p->history > 0 ? run_warps_lane : run_lane,
                  &(struct run){.launch = &l, .form = p->form}, err);
}

static wcodec_status run_many(struct wcodec_queue *queue, const struct wcodec_many_rollouts *m,
                              wcodec_error *err)
{
    const struct wcodec_rollout_plan *p = m->plan;
    wcodec_status status = WCODEC_OK;
    for (uint32_t member = 0; member < p->sizes.members && status == WCODEC_OK; member++) {
        struct wcodec_recurrence_launch l;
        wcodec_gpu_launch_many(m, member, 1, (uint64_t)(uintptr_t)m->weights->data,
                               (uint64_t)(uintptr_t)m->work->data, &l);
        const uint32_t groups =
            wcodec_emulated_rollouts_clusters ? wcodec_gpu_groups_shared(p, &l) : 0;
        if (groups > 0) {
            status = wcodec_emulated_rollout_groups(queue->device->host, p, &l, groups, SEED, err);
            continue;
        }
        const struct run r = {
            .sequences = &l, .form = wcodec_gpu_sequences_form(p, &l), .model = true};
        status = launch(queue->device->host, p, l.members * p->parts, false, run_sequences_lane, &r,
                        err);
    }
    return status;
}

static wcodec_status run_sequences(struct wcodec_device *device, uint64_t queue,
                                   const struct wcodec_sequences *sequences, wcodec_error *err)
{
    const struct wcodec_rollout_plan *p = sequences->plan;
    struct wcodec_recurrence_launch l;
    (void)queue;
    wcodec_gpu_launch_sequences(sequences, p->tiles > 0 ? 1 : TOGETHER,
                                (uint64_t)(uintptr_t)sequences->weights->data, &l);
    return launch(device->host, p, l.members * p->parts, false, run_sequences_lane,
                  &(struct run){.sequences = &l, .form = wcodec_gpu_sequences_form(p, &l)}, err);
}

const struct wcodec_backend_rollouts wcodec_emulated_rollouts = {plan, run, run_many,
                                                                 run_sequences};
