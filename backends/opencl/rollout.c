/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of recurrent models (backends/kernels/rollout.h), and units by themselves
 * (backends/kernels/recurrence.h). On NVIDIA's devices work-items hold weights, and members have
 * several work-groups, which meet in memory; elsewhere one. A program is made when it is needed
 * first. */
#include "backends/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 512 };
_Static_assert((unsigned)WCODEC_RECURRENCE_FORMS == (unsigned)WCODEC_OPENCL_ROLLOUTS,
               "each form has a program");

/* What programs of ensembles are made with. */
static const char *const options[WCODEC_RECURRENCE_FORMS] = {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) \
    [WCODEC_ROLLOUT_##name] = \
        " -DWCODEC_ROLLOUT -DWCODEC_ROLLOUT_GATES=" #gates " -DWCODEC_ROLLOUT_RESET=" #reset,
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
#define WCODEC_ROLLOUT_WARPS(name, columns, lanes, warps) \
    [WCODEC_ROLLOUT_##name] = \
        " -DWCODEC_ROLLOUT -DWCODEC_ROLLOUT_COLUMNS=" #columns " -DWCODEC_ROLLOUT_LANES=" #lanes,
#include "backends/kernels/rollouts_warps.def"
#undef WCODEC_ROLLOUT_WARPS
};

static unsigned items_of(const struct wcodec_device *d)
{
    return wcodec_opencl_items(d, ITEMS);
}

/* Read once: a program that was made without it has no exchange. */
void wcodec_opencl_rollouts_open(struct wcodec_device *d)
{
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_OPENCL_ROLLOUT_PARTS");
    const unsigned long parts = wanted != NULL ? strtoul(wanted, NULL, 10) : 0;
    if (parts <= 64 && wcodec_opencl_has(d, "cl_khr_int64_base_atomics"))
        d->rollout_parts = (unsigned)parts;
}

/* Work-groups of a member that run at once. A unit of NVIDIA's devices has room for one of any
 * kernel; what others call a unit may not have it, so that there a member has one. */
static unsigned parts_of(const struct wcodec_device *d, uint32_t members)
{
    if (d->rollout_parts > 0)
        return d->rollout_parts;
    return d->variant == WCODEC_VARIANT_NVIDIA && d->units > members ? d->units / members : 1;
}

/* Bytes of NVIDIA's first cache for weights that are read in each step. It has what local memory
 * leaves of a unit's: on an H200 (256 KiB in all, 64 of them local) 160 KiB are best, and 192 are
 * too many; of other architectures as much less than all. */
static uint64_t cache_of(const struct wcodec_device *d)
{
    static const struct {
        unsigned capability;
        uint64_t all;
    } units[] = {{80, 192}, {86, 128}, {87, 192}, {88, 128}, {90, 256}, {120, 128}};
    uint64_t all = 96;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (d->capability >= units[i].capability)
            all = units[i].all;
    return d->variant == WCODEC_VARIANT_NVIDIA ? (all - 96) << 10 : 0;
}

static bool plan(struct wcodec_device *d, const struct wcodec_rollout_sizes *sizes,
                 struct wcodec_rollout_plan *plan)
{
    const bool ensemble = sizes->unit == WCODEC_UNIT_NONE;
    const struct wcodec_gpu_rollout_limits limits = {
        .items = items_of(d),
        .parts = ensemble ? parts_of(d, sizes->members) : 1,
        .shared = d->local_memory,
        .registers = ensemble && d->variant == WCODEC_VARIANT_NVIDIA && items_of(d) == ITEMS,
        .exchanges = true,
        .cache = cache_of(d)};
    return wcodec_gpu_plan_rollout(sizes, &limits, plan);
}

static wcodec_status build(struct wcodec_device *d, bool unit, unsigned form, wcodec_error *err)
{
    struct wcodec_opencl_program *p = &d->rollouts[unit][form].program;
    const enum wcodec_opencl_variant variant =
        form > 0 ? WCODEC_VARIANT_NVIDIA : WCODEC_VARIANT_LOOPS;
    char more[160];
    p->buffers = WCODEC_OPENCL_BUFFERS_2;
    p->items = items_of(d);
    const int n = snprintf(more, sizeof more, "%s", unit ? " -DWCODEC_RECURRENCE" : options[form]);
    if (form > 0)
        snprintf(more + n, sizeof more - (size_t)n, " -cl-nv-maxrregcount=%d",
                 form < WCODEC_ROLLOUT_FORMS ? 128 : 255);
    else if (!unit && (d->variant == WCODEC_VARIANT_NVIDIA || d->rollout_parts > 0))
        snprintf(more + n, sizeof more - (size_t)n, " -DWCODEC_EXCHANGES");
    return wcodec_opencl_program_build(d, variant, more, p, err);
}

/* The kernel of ensembles, or of units by themselves. The device's lock is held. */
static wcodec_status find(struct wcodec_device *d, bool unit, unsigned form, wcodec_error *err)
{
    struct wcodec_opencl_product *p = &d->rollouts[unit][form];
    wcodec_error own = {0};
    if (p->kernel != NULL)
        return WCODEC_OK;
    if (d->rollouts_failed[unit])
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "the device's compiler does not take the kernel of %s",
                             unit ? "recurrent units" : "rollouts");
    const wcodec_status status = build(d, unit, form, &own);
    d->rollouts_failed[unit] = status == WCODEC_ERROR_BACKEND;
    if (status != WCODEC_OK)
        return d->host->fail(err, d->rollouts_failed[unit] ? WCODEC_ERROR_UNSUPPORTED : status,
                             "%s", own.text);
    return wcodec_opencl_product_open(d, unit ? "wcodec_recurrence" : "wcodec_rollout", p, err);
}

void wcodec_opencl_rollouts_close(struct wcodec_device *d)
{
    for (unsigned i = 0; i < 2 * WCODEC_RECURRENCE_FORMS; i++)
        wcodec_opencl_product_close(d, &d->rollouts[i % 2][i / 2]);
    if (d->rollout_meets != NULL)
        d->cl->clReleaseCommandQueue(d->rollout_meets);
    d->rollout_meets = NULL;
}

/* Before a launch whose work-groups wait for each other: those of another one in another queue
 * would have units that they need. The device's lock is held. */
static cl_int wait_for_others(struct wcodec_device *d, cl_command_queue queue)
{
    if (d->rollout_meets == queue)
        return CL_SUCCESS;
    cl_int result = d->rollout_meets != NULL ? d->cl->clFinish(d->rollout_meets) : CL_SUCCESS;
    if (result == CL_SUCCESS)
        result = d->cl->clRetainCommandQueue(queue);
    if (result != CL_SUCCESS)
        return result;
    if (d->rollout_meets != NULL)
        d->cl->clReleaseCommandQueue(d->rollout_meets);
    d->rollout_meets = queue;
    return CL_SUCCESS;
}

/* Buffers, then what the launch is given, then its local memory. */
struct launch {
    cl_mem buffers[5];
    unsigned buffer_count;
    const void *arguments;
    size_t arguments_size;
    uint32_t members; /* of the plan's work-groups each */
};

/* The device's lock is held. */
static cl_int enqueue(struct wcodec_device *d, cl_command_queue queue,
                      const struct wcodec_rollout_plan *p, const struct launch *l,
                      const char **call)
{
    cl_kernel kernel = d->rollouts[p->sizes.unit != WCODEC_UNIT_NONE][p->form].kernel;
    *call = "clFinish";
    cl_int result = p->exchanges ? wait_for_others(d, queue) : CL_SUCCESS;
    if (result != CL_SUCCESS)
        return result;
    *call = "clSetKernelArg";
    for (unsigned i = 0; i < l->buffer_count && result == CL_SUCCESS; i++)
        result = d->cl->clSetKernelArg(kernel, i, sizeof(cl_mem), &l->buffers[i]);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, l->buffer_count, l->arguments_size, l->arguments);
    if (result == CL_SUCCESS)
        result =
            d->cl->clSetKernelArg(kernel, l->buffer_count + 1, wcodec_gpu_rollout_shared(p), NULL);
    return result == CL_SUCCESS ? wcodec_opencl_enqueue(d, queue, kernel, l->members * p->parts,
                                                        p->items, NULL, call)
                                : result;
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_ensemble_rollout *rollout,
                         wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    const char *call;
    struct wcodec_rollout_launch arguments;
    wcodec_gpu_launch_rollout(rollout, 0, 0, &arguments);
    const struct launch l = {{rollout->weights->buffer, rollout->work->buffer},
                             2,
                             &arguments,
                             sizeof arguments,
                             rollout->plan->sizes.members};
    pthread_mutex_lock(&d->lock);
    wcodec_status status = find(d, false, rollout->plan->form, err);
    if (status == WCODEC_OK) {
        const cl_int result = enqueue(d, wcodec_opencl_use(q), rollout->plan, &l, &call);
        if (result != CL_SUCCESS)
            status = wcodec_opencl_fail(d, result, call, err);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

static wcodec_status check_sequences(const struct wcodec_device *d, uint64_t queue,
                                     const struct wcodec_sequences *s, wcodec_error *err)
{
    const struct wcodec_rollout_sizes *sizes = &s->plan->sizes;
    const uint64_t last_step = s->steps - 1, last_sequence = s->sequences - 1;
    const struct {
        const char *what;
        uint64_t native, numbers;
    } operands[] = {
        {"values", s->values,
         last_step * s->values_step + last_sequence * s->values_sequence + sizes->inputs},
        {"hidden", s->hidden, s->sequences * sizes->hidden},
        {"the output's values", s->out,
         last_step * s->out_step + last_sequence * s->out_sequence + sizes->hidden},
        {"the output's hidden", s->last, s->sequences * sizes->hidden}};
    wcodec_status status = wcodec_opencl_check_queue(d, queue, err);
    for (unsigned i = 0; i < 4 && status == WCODEC_OK; i++)
        if (operands[i].native != 0)
            status = wcodec_opencl_check_buffer(
                d, operands[i].what, operands[i].native,
                i % 2 == 0 && s->steps == 0 ? 0 : sizeof(float) * operands[i].numbers, err);
    return status;
}

static cl_mem buffer_of(uint64_t native)
{
    return (cl_mem)(uintptr_t)native;
}

/* A buffer that there is none of is NULL, whose address is 0 in a kernel too. */
static wcodec_status run_sequences(struct wcodec_device *d, uint64_t queue,
                                   const struct wcodec_sequences *s, wcodec_error *err)
{
    const char *call;
    struct wcodec_sequences at = *s;
    struct wcodec_recurrence_launch arguments;
    wcodec_status status = check_sequences(d, queue, s, err);
    if (status != WCODEC_OK)
        return status;
    at.values = at.hidden = at.out = at.last = 0;
    wcodec_gpu_launch_sequences(&at, d->units, 0, &arguments);
    const struct launch l = {{s->weights->buffer, buffer_of(s->values), buffer_of(s->hidden),
                              buffer_of(s->out), buffer_of(s->last)},
                             5,
                             &arguments,
                             sizeof arguments,
                             arguments.members};
    pthread_mutex_lock(&d->lock);
    status = find(d, true, s->plan->form, err);
    if (status == WCODEC_OK) {
        const cl_int result = enqueue(d, (cl_command_queue)(uintptr_t)queue, s->plan, &l, &call);
        if (result != CL_SUCCESS)
            status = wcodec_opencl_launch_failed(d, result, call, err);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

const struct wcodec_backend_rollouts wcodec_opencl_rollouts = {plan, run, NULL, run_sequences};
