/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What pipelines and measurements need beside decoding: streams whose events have times, and the
 * driver's own handles. */
#include "backends/cuda/cuda.h"

wcodec_status wcodec_cuda_queue_create_timed(struct wcodec_device *device,
                                             struct wcodec_queue **queue, wcodec_error *err)
{
    struct wcodec_queue *q;
    const wcodec_status status = wcodec_backend_cuda.queue_create(device, &q, err);
    if (status != WCODEC_OK)
        return status;
    q->timed = true;
    *queue = q;
    return WCODEC_OK;
}

wcodec_status wcodec_cuda_event_elapsed(struct wcodec_event *from, struct wcodec_event *to,
                                        uint64_t *nanoseconds, wcodec_error *err)
{
    const struct wcodec_device *d = from->device;
    float milliseconds;
    wcodec_status status = wcodec_cuda_enter(d, err);
    if (status == WCODEC_OK)
        status = wcodec_cuda_leave(d, d->cu->event_elapsed(&milliseconds, from->event, to->event),
                                   "cuEventElapsedTime", err);
    if (status == WCODEC_OK)
        *nanoseconds = (uint64_t)((double)milliseconds * 1e6);
    return status;
}

void wcodec_cuda_device_native(struct wcodec_device *device, uint64_t *context, uint64_t *number)
{
    *context = (uint64_t)(uintptr_t)device->context;
    *number = (uint64_t)device->number;
}
