/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors with the bytes of others: decoded once, and copied where they are when the rest of the
 * load is done. */
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"
#include <string.h>

enum { TASK_BYTES = 1 << 20 };

static void copy_task(void *argument, size_t i)
{
    const struct wcodec_load_range *r = argument;
    const uint64_t at = (uint64_t)i * TASK_BYTES, left = r->end - r->begin - at;
    memcpy(r->host + at, r->original->host + at, (size_t)(left < TASK_BYTES ? left : TASK_BYTES));
}

static wcodec_status copy_on_device(const struct wcodec_load_request *q, wcodec_error *err)
{
    const struct wcodec_backend *b = q->device->backend;
    struct wcodec_queue *queue;
    wcodec_status status = b->queue_create(q->device->device, &queue, err);
    if (status != WCODEC_OK)
        return status;
    for (size_t i = q->count; i < q->count + q->copies && status == WCODEC_OK; i++) {
        const struct wcodec_load_range *r = &q->ranges[i];
        if (r->host == NULL)
            status = b->copy(queue, r->memory, r->offset, r->original->memory, r->original->offset,
                             r->end - r->begin, err);
    }
    const wcodec_status waited = b->queue_wait(queue, status == WCODEC_OK ? err : NULL);
    b->queue_destroy(queue);
    return status == WCODEC_OK ? waited : status;
}

wcodec_status wcodec_load_copies(struct wcodec_load_work *work, wcodec_error *err)
{
    const struct wcodec_load_request *q = work->request;
    bool any = false;
    for (size_t i = q->count; i < q->count + q->copies; i++) {
        struct wcodec_load_range *r = &q->ranges[i];
        if (r->host != NULL)
            wcodec_run(q->context, copy_task, r,
                       (size_t)wcodec_div_up_u64(r->end - r->begin, TASK_BYTES));
        else
            any = true;
        atomic_fetch_add(&work->done, r->end - r->begin);
    }
    return any ? copy_on_device(q, err) : WCODEC_OK;
}
