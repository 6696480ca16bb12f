/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of recurrent models (backends/kernels/rollout.h), by plain work-items: a work-group has
 * a member. The program is made when it is needed first. */
#include "backends/opencl/opencl.h"

enum { ITEMS = 512, ITEMS_OF_PROCESSORS = 64 };

static unsigned items_of(const struct wcodec_device *d)
{
    const unsigned wanted = d->id->type == CL_DEVICE_TYPE_CPU ? ITEMS_OF_PROCESSORS : ITEMS;
    size_t most = 0;
    if (d->cl->clGetDeviceInfo(d->id->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most,
                               NULL) != CL_SUCCESS)
        return ITEMS_OF_PROCESSORS;
    return most < wanted ? (unsigned)most : wanted;
}

static bool plan(struct wcodec_device *d, const struct wcodec_rollout_sizes *sizes,
                 struct wcodec_rollout_plan *plan)
{
    const struct wcodec_gpu_rollout_limits limits = {
        .items = items_of(d), .parts = 1, .shared = d->local_memory};
    return wcodec_gpu_plan_rollout(sizes, &limits, plan);
}

/* The device's lock is held. */
static wcodec_status find(struct wcodec_device *d, wcodec_error *err)
{
    struct wcodec_opencl_product *p = &d->rollout;
    wcodec_error own = {0};
    cl_int result;
    if (p->kernel != NULL)
        return WCODEC_OK;
    if (d->rollout_failed)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "the device's compiler does not take the kernel of rollouts");
    p->program.buffers = WCODEC_OPENCL_BUFFERS_2;
    p->program.items = items_of(d);
    const wcodec_status status = wcodec_opencl_program_build(
        d, WCODEC_VARIANT_LOOPS, " -DWCODEC_ROLLOUT", &p->program, &own);
    d->rollout_failed = status == WCODEC_ERROR_BACKEND;
    if (status != WCODEC_OK)
        return d->host->fail(err, d->rollout_failed ? WCODEC_ERROR_UNSUPPORTED : status, "%s",
                             own.text);
    p->kernel = d->cl->clCreateKernel(p->program.program, "wcodec_rollout", &result);
    if (result == CL_SUCCESS)
        return WCODEC_OK;
    wcodec_opencl_rollouts_close(d);
    return wcodec_opencl_fail(d, result, "clCreateKernel", err);
}

void wcodec_opencl_rollouts_close(struct wcodec_device *d)
{
    if (d->rollout.kernel != NULL)
        d->cl->clReleaseKernel(d->rollout.kernel);
    if (d->rollout.program.program != NULL)
        d->cl->clReleaseProgram(d->rollout.program.program);
    d->rollout = (struct wcodec_opencl_product){.kernel = NULL};
}

static cl_int enqueue(const struct wcodec_queue *q, const struct wcodec_ensemble_rollout *rollout,
                      const char **call)
{
    const struct wcodec_device *d = q->device;
    cl_kernel kernel = d->rollout.kernel;
    struct wcodec_gpu_rollout l;
    wcodec_gpu_launch_rollout(rollout, 0, 0, &l);
    *call = "clSetKernelArg";
    cl_int result = d->cl->clSetKernelArg(kernel, 0, sizeof(cl_mem), &rollout->weights->buffer);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, 1, sizeof(cl_mem), &rollout->work->buffer);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, 2, sizeof l.arguments, &l.arguments);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, 3, l.shared, NULL);
    return result == CL_SUCCESS
               ? wcodec_opencl_enqueue(d, q->queue, kernel, l.groups, l.threads, NULL, call)
               : result;
}

static wcodec_status run(struct wcodec_queue *q, const struct wcodec_ensemble_rollout *rollout,
                         wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    const char *call;
    pthread_mutex_lock(&d->lock);
    wcodec_status status = find(d, err);
    if (status == WCODEC_OK) {
        const cl_int result = enqueue(q, rollout, &call);
        if (result != CL_SUCCESS)
            status = wcodec_opencl_fail(d, result, call, err);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

const struct wcodec_backend_rollouts wcodec_opencl_rollouts = {plan, run};
