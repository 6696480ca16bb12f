/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Kernels that one program has, of which each is given three buffers, arguments and local memory:
 * made when the first of them is needed. */
#include "backends/opencl/opencl.h"

#include <stdio.h>

static wcodec_status make(struct wcodec_device *d, const struct wcodec_opencl_kernel_names *names,
                          struct wcodec_opencl_kernel_set *s, wcodec_error *err)
{
    const bool nvidia = d->variant == WCODEC_VARIANT_NVIDIA;
    char options[96];
    if (nvidia)
        snprintf(options, sizeof options, " -D%s -cl-nv-maxrregcount=%u", names->define,
                 names->registers);
    else
        snprintf(options, sizeof options, " -D%s", names->define);
    s->program.buffers = WCODEC_OPENCL_BUFFERS_2;
    s->program.items = names->items;
    const wcodec_status status = wcodec_opencl_program_build(
        d, nvidia ? d->variant : WCODEC_VARIANT_LOOPS, options, &s->program, err);
    if (status != WCODEC_OK)
        return status;
    for (unsigned k = 0; k < names->count; k++) {
        char name[64];
        cl_int result;
        snprintf(name, sizeof name, "wcodec_%s_%s", names->set, names->kernels[k]);
        s->kernels[k] = d->cl->clCreateKernel(s->program.program, name, &result);
        if (result != CL_SUCCESS) {
            s->kernels[k] = NULL;
            wcodec_opencl_set_close(d, s);
            return d->host->fail(err, WCODEC_ERROR_BACKEND, "%s: clCreateKernel: %d", name, result);
        }
    }
    return WCODEC_OK;
}

wcodec_status wcodec_opencl_set_find(struct wcodec_device *d,
                                     const struct wcodec_opencl_kernel_names *names,
                                     struct wcodec_opencl_kernel_set *s, wcodec_error *err)
{
    wcodec_error own = {0};
    if (s->failed)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "the device's compiler does not take the kernels of %s", names->set);
    if (s->program.program != NULL)
        return WCODEC_OK;
    const wcodec_status status = make(d, names, s, &own);
    s->failed = status == WCODEC_ERROR_BACKEND;
    return status == WCODEC_OK
               ? status
               : d->host->fail(err, s->failed ? WCODEC_ERROR_UNSUPPORTED : status, "%s", own.text);
}

void wcodec_opencl_set_close(struct wcodec_device *d, struct wcodec_opencl_kernel_set *s)
{
    for (unsigned k = 0; k < WCODEC_OPENCL_SET_KERNELS; k++)
        if (s->kernels[k] != NULL)
            d->cl->clReleaseKernel(s->kernels[k]);
    if (s->program.program != NULL)
        d->cl->clReleaseProgram(s->program.program);
    *s = (struct wcodec_opencl_kernel_set){.failed = s->failed};
}

wcodec_status wcodec_opencl_set_enqueue(struct wcodec_queue *q,
                                        const struct wcodec_opencl_set_launch *l, wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    const char *call = "clSetKernelArg";
    cl_int result = CL_SUCCESS;
    for (cl_uint i = 0; i < 3 && result == CL_SUCCESS; i++)
        result = d->cl->clSetKernelArg(l->kernel, i, sizeof l->buffers[i], &l->buffers[i]);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(l->kernel, 3, l->arguments_size, l->arguments);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(l->kernel, 4, l->shared, NULL);
    if (result == CL_SUCCESS)
        result = wcodec_opencl_enqueue(d, wcodec_opencl_use(q), l->kernel, l->groups, l->threads,
                                       NULL, &call);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(d, result, call, err);
}
