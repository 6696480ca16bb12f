/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of recurrent models (backends/kernels/rollout.h): members have clusters of work-groups
 * where the device has these. */
#include "backends/cuda/cuda.h"

#include <stdio.h>

enum { ITEMS = 512, PARTS = 8, PARTS_MOST = 16 };

cu_result wcodec_cuda_find_rollouts(struct wcodec_device *d)
{
    cu_result result = 0;
    for (unsigned k = 0; k < WCODEC_ROLLOUT_FORMS && result == 0; k++) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_%s", wcodec_rollout_names[k]);
        result = d->cu->module_function(&d->rollouts[k], d->module, name);
        if (result == 0)
            result = d->cu->function_set(d->rollouts[k], CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                         (int)d->limits.shared);
    }
    /* Kernels for older devices know nothing of clusters. */
    int built_for = 0;
    if (result == 0)
        result = d->cu->function_get(&built_for, CU_FUNCTION_PTX_VERSION, d->rollouts[0]);
    d->clusters = built_for >= 90 && d->cu->launch_extended != NULL && d->cu->clusters != NULL;
    return result;
}

static struct cu_launch_attribute cluster_of(uint32_t parts)
{
    struct cu_launch_attribute a = {.id = CU_LAUNCH_CLUSTER};
    a.value.cluster[0] = parts;
    a.value.cluster[1] = a.value.cluster[2] = 1;
    return a;
}

/* Can the device run a cluster of so many work-groups? More than 8 have to be allowed, and there
 * may be too few multiprocessors side by side. */
static bool has_cluster(const struct wcodec_device *d, const struct wcodec_rollout_plan *p)
{
    const struct wcodec_ensemble_rollout rollout = {.plan = p};
    struct wcodec_gpu_rollout l;
    int clusters = 0;
    wcodec_gpu_launch_rollout(&rollout, 0, 0, &l);
    struct cu_launch_attribute attribute = cluster_of(p->parts);
    const struct cu_launch_config config = {
        {p->parts, 1, 1}, {l.threads, 1, 1}, l.shared, NULL, &attribute, 1};
    if (p->parts > PARTS &&
        d->cu->function_set(d->rollouts[p->form], CU_FUNCTION_LARGE_CLUSTERS, 1) != 0)
        return false;
    return d->cu->clusters(&clusters, d->rollouts[p->form], &config) == 0 && clusters > 0;
}

static bool plan(struct wcodec_device *d, const struct wcodec_rollout_sizes *sizes,
                 struct wcodec_rollout_plan *plan)
{
    if (wcodec_cuda_enter(d, NULL) != WCODEC_OK)
        return false;
    bool there = false;
    for (uint32_t parts = d->clusters ? PARTS_MOST : 1; parts > 0 && !there; parts /= 2) {
        const struct wcodec_gpu_rollout_limits limits = {
            .items = ITEMS, .parts = parts, .shared = d->limits.shared, .registers = true};
        there = wcodec_gpu_plan_rollout(sizes, &limits, plan) &&
                (plan->parts == 1 || has_cluster(d, plan));
    }
    wcodec_cuda_leave(d, 0, "", NULL);
    return there;
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_ensemble_rollout *rollout,
                         wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const struct wcodec_rollout_plan *p = rollout->plan;
    struct wcodec_gpu_rollout l;
    wcodec_gpu_launch_rollout(rollout, rollout->weights->address, rollout->work->address, &l);
    void *arguments[] = {&l.arguments};
    struct cu_launch_attribute attribute = cluster_of(p->parts);
    const struct cu_launch_config config = {{l.groups, 1, 1}, {l.threads, 1, 1}, l.shared,
                                            q->stream,        &attribute,        1};
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result =
        p->parts > 1 ? d->cu->launch_extended(&config, d->rollouts[p->form], arguments, NULL)
                     : d->cu->launch(d->rollouts[p->form], l.groups, 1, 1, l.threads, 1, 1,
                                     l.shared, q->stream, arguments, NULL);
    return wcodec_cuda_leave(d, result, p->parts > 1 ? "cuLaunchKernelEx" : "cuLaunchKernel", err);
}

const struct wcodec_backend_rollouts wcodec_cuda_rollouts = {plan, run};
