/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The context's device as callers see it, and memory of it. */
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>

struct wcodec_buffer {
    wcodec_context *context;
    struct wcodec_opened *device;
    struct wcodec_memory *memory;
    uint64_t size;
};

wcodec_status wcodec_context_device(wcodec_context *context, wcodec_device_handles *handles,
                                    wcodec_error *err)
{
    struct wcodec_opened *o;
    if (context == NULL || handles == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_context_device: an argument is NULL");
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_backends_device(context, &o, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_device_handles h = {.backend = o->backend->name, .index = o->index};
    o->backend->device_native(o->device, &h.native_context, &h.native_device);
    *handles = h;
    return WCODEC_OK;
}

wcodec_status wcodec_buffer_create(wcodec_context *context, uint64_t size, wcodec_buffer **buffer,
                                   wcodec_error *err)
{
    wcodec_error e = {0};
    if (context == NULL || buffer == NULL || size == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_buffer_create: %s",
                           context == NULL || buffer == NULL ? "an argument is NULL"
                                                             : "the size is 0");
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_buffer *b = wcodec_alloc_zeroed(&context->allocator, sizeof *b);
    if (b == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a buffer");
    b->context = context;
    b->size = size;
    status = wcodec_backends_device(context, &b->device, err);
    if (status == WCODEC_OK) {
        status = wcodec_opened_allocate(b->device, WCODEC_MEMORY_DEVICE, size, &b->memory, &e);
        if (status != WCODEC_OK)
            wcodec_backends_failed(context, b->device, status, &e, err);
    }
    if (status != WCODEC_OK)
        wcodec_free(&context->allocator, b);
    else
        *buffer = b;
    return status;
}

uint64_t wcodec_buffer_native(const wcodec_buffer *buffer)
{
    return buffer->device->backend->memory_native(buffer->memory);
}

wcodec_status wcodec_buffer_read(const wcodec_buffer *buffer, uint64_t offset, void *dst,
                                 size_t size, wcodec_error *err)
{
    struct wcodec_queue *queue;
    wcodec_error e = {0};
    if (buffer == NULL || (dst == NULL && size != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_buffer_read: an argument is NULL");
    if (offset > buffer->size || size > buffer->size - offset)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "bytes %" PRIu64 " to %" PRIu64 " of a buffer of %" PRIu64, offset,
                           offset + size, buffer->size);
    const struct wcodec_backend *b = buffer->device->backend;
    wcodec_status status = wcodec_context_usable(buffer->context, err);
    if (status != WCODEC_OK)
        return status;
    status = b->queue_create(buffer->device->device, &queue, &e);
    if (status == WCODEC_OK) {
        status = b->copy_out(queue, dst, buffer->memory, offset, size, &e);
        wcodec_status waited = b->queue_wait(queue, status == WCODEC_OK ? &e : NULL);
        status = status == WCODEC_OK ? waited : status;
        b->queue_destroy(queue);
    }
    return status == WCODEC_OK
               ? status
               : wcodec_backends_failed(buffer->context, buffer->device, status, &e, err);
}

void wcodec_buffer_destroy(wcodec_buffer *buffer)
{
    if (buffer == NULL)
        return;
    buffer->device->backend->memory_free(buffer->memory);
    wcodec_free(&buffer->context->allocator, buffer);
}
