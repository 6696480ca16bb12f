/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of recurrent models (backends/kernels/rollout.h), and units by themselves
 * (backends/kernels/recurrence.h, recurrence_tensor.h): members have clusters of work-groups where
 * the device has these, and where that is not enough, or there are none, work-groups that run at
 * once and meet in memory. */
#include "backends/cuda/cuda.h"

#include <stdio.h>

enum { ITEMS = 512, TENSOR_ITEMS = 256, PARTS = 8, PARTS_MOST = 16 };

/* Those by products of four warps, which only builds for Hopper have. */
static cu_result find_groups(struct wcodec_device *d)
{
    cu_result result = 0;
    if (!wcodec_cuda_may_use_warpgroups(d))
        return 0;
    for (unsigned parts = 2; parts <= WCODEC_GROUPS_MOST && result == 0; parts *= 2) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_rollouts_groups_%u", parts);
        result = d->cu->module_function(&d->groups[parts], d->module, name);
        if (result == CU_NOT_FOUND) {
            d->groups[parts] = NULL;
            return 0;
        }
        if (result == 0)
            result = d->cu->function_set(d->groups[parts], CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                         (int)d->limits.shared);
    }
    return result;
}

cu_result wcodec_cuda_find_rollouts(struct wcodec_device *d)
{
    cu_result result = 0;
    for (unsigned k = 0; k < WCODEC_ROLLOUT_KINDS * WCODEC_RECURRENCE_FORMS && result == 0; k++) {
        const unsigned kind = k / WCODEC_RECURRENCE_FORMS, form = k % WCODEC_RECURRENCE_FORMS;
        char name[64];
        if (wcodec_rollout_names[kind][form] == NULL)
            continue;
        snprintf(name, sizeof name, "wcodec_%s", wcodec_rollout_names[kind][form]);
        result = d->cu->module_function(&d->rollouts[kind][form], d->module, name);
        if (result == 0)
            result = d->cu->function_set(d->rollouts[kind][form], CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                         (int)d->limits.shared);
    }
    int cooperative = 0;
    if (result == 0)
        result = find_groups(d);
    if (result == 0)
        result = d->cu->device_attribute(&cooperative, CU_ATTRIBUTE_COOPERATIVE_LAUNCH, d->number);
    d->cooperative = cooperative == 1 && d->cu->launch_extended != NULL;
    /* Kernels for older devices know nothing of clusters. */
    int built_for = 0;
    if (result == 0)
        result = d->cu->function_get(&built_for, CU_FUNCTION_PTX_VERSION, d->rollouts[0][0]);
    d->clusters = built_for >= 90 && d->cu->launch_extended != NULL && d->cu->clusters != NULL;
    return result;
}

static cu_function kernel_of(const struct wcodec_device *d, const struct wcodec_rollout_plan *p)
{
    if (p->sizes.unit != WCODEC_UNIT_NONE)
        return d->rollouts[WCODEC_ROLLOUT_OF_UNITS][p->form];
    return d
        ->rollouts[p->exchanges ? WCODEC_ROLLOUT_THAT_MEET : WCODEC_ROLLOUT_OF_ENSEMBLES][p->form];
}

/* Can the device run a cluster of so many work-groups? More than 8 have to be allowed, and there
 * may be too few multiprocessors side by side. */
static bool has_cluster(const struct wcodec_device *d, struct wcodec_rollout_plan *p)
{
    int clusters = 0;
    struct cu_launch_attribute attribute = wcodec_cuda_cluster_of(p->parts);
    const struct cu_launch_config config = {
        {p->parts, 1, 1}, {p->items, 1, 1}, wcodec_gpu_rollout_shared(p), NULL, &attribute, 1};
    if (p->parts > PARTS &&
        d->cu->function_set(kernel_of(d, p), CU_FUNCTION_LARGE_CLUSTERS, 1) != 0)
        return false;
    if (d->cu->clusters(&clusters, kernel_of(d, p), &config) != 0 || clusters <= 0)
        return false;
    p->at_once = (uint32_t)clusters;
    return true;
}

/* Clusters have 16 multiprocessors at most. What does not stay on the chip there is spread over
 * all, where launches can have it that their work-groups run at once. */
static void plan_meeting(const struct wcodec_device *d, const struct wcodec_rollout_sizes *sizes,
                         struct wcodec_rollout_plan *plan)
{
    struct wcodec_rollout_plan other;
    const struct wcodec_gpu_rollout_limits limits = {.items = ITEMS,
                                                     .parts = d->limits.units / sizes->members,
                                                     .shared = d->limits.shared,
                                                     .registers = true,
                                                     .exchanges = true};
    if (d->cooperative && sizes->unit == WCODEC_UNIT_NONE && limits.parts > plan->parts &&
        wcodec_gpu_rollout_reads(plan) && wcodec_gpu_plan_rollout(sizes, &limits, &other) &&
        other.parts > plan->parts)
        *plan = other;
}

static bool plan(struct wcodec_device *d, const struct wcodec_rollout_sizes *sizes,
                 struct wcodec_rollout_plan *plan)
{
    if (wcodec_cuda_enter(d, NULL) != WCODEC_OK)
        return false;
    bool there = false;
    for (uint32_t parts = d->clusters ? PARTS_MOST : 1; parts > 0 && !there; parts /= 2) {
        const struct wcodec_gpu_rollout_limits limits = {.items = ITEMS,
                                                         .parts = parts,
                                                         .shared = d->limits.shared,
                                                         .registers = true,
                                                         .takes_pinned = true,
                                                         .tensor_items =
                                                             d->tensor_cores ? TENSOR_ITEMS : 0};
        there = wcodec_gpu_plan_rollout(sizes, &limits, plan) &&
                (plan->parts == 1 || has_cluster(d, plan));
    }
    if (there)
        plan_meeting(d, sizes, plan);
    wcodec_cuda_leave(d, 0, "", NULL);
    return there;
}

struct work_groups {
    uint32_t count, items, shared;
};

static struct work_groups groups_of(const struct wcodec_rollout_plan *p, uint32_t members)
{
    return (struct work_groups){members * p->parts, p->items, wcodec_gpu_rollout_shared(p)};
}

/* early: may begin while the launch before it ends. */
static cu_result launch(const struct wcodec_device *d, const struct wcodec_rollout_plan *p,
                        cu_function kernel, struct work_groups of, cu_stream stream, bool early,
                        void *argument)
{
    void *arguments[] = {argument};
    struct cu_launch_attribute attributes[2];
    unsigned count = 0;
    if (p->exchanges) {
        attributes[count] = (struct cu_launch_attribute){.id = CU_LAUNCH_COOPERATIVE};
        attributes[count++].value.allowed = 1;
    } else if (p->parts > 1)
        attributes[count++] = wcodec_cuda_cluster_of(p->parts);
    if (early) {
        attributes[count] =
            (struct cu_launch_attribute){.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION};
        attributes[count++].value.allowed = 1;
    }
    const struct cu_launch_config config = {{of.count, 1, 1}, {of.items, 1, 1}, of.shared,
                                            stream,           attributes,       count};
    return count > 0 ? d->cu->launch_extended(&config, kernel, arguments, NULL)
                     : d->cu->launch(kernel, of.count, 1, 1, of.items, 1, 1, of.shared, stream,
                                     arguments, NULL);
}

/* Pinned memory is the device's at the host's address. */
static uint64_t address_of(const struct wcodec_memory *m)
{
    return m->pointer != NULL ? (uint64_t)(uintptr_t)m->pointer : m->address;
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_ensemble_rollout *rollout,
                         wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const struct wcodec_rollout_plan *p = rollout->plan;
    struct wcodec_rollout_launch l;
    wcodec_gpu_launch_rollout(rollout, rollout->weights->address, address_of(rollout->work), &l);
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result =
        launch(d, p, kernel_of(d, p), groups_of(p, p->sizes.members), q->stream, false, &l);
    if (result == CU_COOPERATIVE_LAUNCH_TOO_LARGE) {
        wcodec_cuda_leave(d, 0, "", NULL);
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "%u work-groups do not run at once",
                             p->sizes.members * p->parts);
    }
    return wcodec_cuda_leave(d, result, p->parts > 1 ? "cuLaunchKernelEx" : "cuLaunchKernel", err);
}

/* As many sequences at a time as there are multiprocessors for. */
static uint32_t together(const struct wcodec_device *d, const struct wcodec_rollout_plan *p)
{
    return p->parts > 1 ? p->at_once : d->limits.units;
}

static wcodec_status run_many(struct wcodec_queue *q, const struct wcodec_many_rollouts *m,
                              wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    const struct wcodec_rollout_plan *p = m->plan;
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    cu_result result = 0;
    for (uint32_t member = 0; member < p->sizes.members && result == 0; member++) {
        struct wcodec_recurrence_launch l;
        wcodec_gpu_launch_many(m, member, together(d, p), m->weights->address, m->work->address,
                               &l);
        struct work_groups of = groups_of(p, l.members);
        cu_function kernel = d->rollouts[0][wcodec_gpu_sequences_form(p, &l)];
        const uint32_t shared = wcodec_gpu_groups_shared(p, &l);
        if (shared > 0 && shared <= d->limits.shared && d->groups[p->parts] != NULL) {
            of = (struct work_groups){of.count, WCODEC_GROUPS_ITEMS, shared};
            kernel = d->groups[p->parts];
        }
        result = launch(d, p, kernel, of, q->stream, false, &l);
    }
    return wcodec_cuda_leave(d, result, p->parts > 1 ? "cuLaunchKernelEx" : "cuLaunchKernel", err);
}

static wcodec_status run_sequences(struct wcodec_device *d, uint64_t queue,
                                   const struct wcodec_sequences *sequences, wcodec_error *err)
{
    const struct wcodec_rollout_plan *p = sequences->plan;
    struct wcodec_recurrence_launch l;
    wcodec_gpu_launch_sequences(sequences, together(d, p), sequences->weights->address, &l);
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result =
        launch(d, p, d->rollouts[1][wcodec_gpu_sequences_form(p, &l)], groups_of(p, l.members),
               (cu_stream)(uintptr_t)queue, d->early_launches, &l);
    wcodec_cuda_leave(d, 0, "", NULL);
    return result != 0 ? wcodec_cuda_launch_failed(d, result, err) : WCODEC_OK;
}

const struct wcodec_backend_rollouts wcodec_cuda_rollouts = {plan, run, run_many, run_sequences};
