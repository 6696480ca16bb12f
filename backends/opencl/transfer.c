/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What pipelines and measurements need beside decoding: queues whose events have times, and the
 * driver's own handles. */
#include "backends/opencl/opencl.h"

wcodec_status wcodec_opencl_queue_create_timed(struct wcodec_device *d, struct wcodec_queue **queue,
                                               wcodec_error *err)
{
    struct wcodec_queue *q = wcodec_opencl_allocate(d->host, sizeof *q);
    cl_int result;
    if (q == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for an OpenCL queue");
    q->device = d;
    q->queue =
        d->cl->clCreateCommandQueue(d->context, d->id->device, CL_QUEUE_PROFILING_ENABLE, &result);
    if (result != CL_SUCCESS) {
        wcodec_opencl_release(d->host, q);
        return wcodec_opencl_fail(d, result, "clCreateCommandQueue", err);
    }
    *queue = q;
    return WCODEC_OK;
}

/* Events are markers: they end when what came before them has. */
wcodec_status wcodec_opencl_event_elapsed(struct wcodec_event *from, struct wcodec_event *to,
                                          uint64_t *nanoseconds, wcodec_error *err)
{
    const struct wcodec_device *d = from->device;
    cl_ulong begin = 0, end = 0;
    cl_int result = d->cl->clGetEventProfilingInfo(from->event, CL_PROFILING_COMMAND_END,
                                                   sizeof begin, &begin, NULL);
    if (result == CL_SUCCESS)
        result = d->cl->clGetEventProfilingInfo(to->event, CL_PROFILING_COMMAND_END, sizeof end,
                                                &end, NULL);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clGetEventProfilingInfo", err);
    *nanoseconds = end > begin ? end - begin : 0;
    return WCODEC_OK;
}

void wcodec_opencl_device_native(struct wcodec_device *d, uint64_t *context, uint64_t *number)
{
    *context = (uint64_t)(uintptr_t)d->context;
    *number = (uint64_t)(uintptr_t)d->id->device;
}
