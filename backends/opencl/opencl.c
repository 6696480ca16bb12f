/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The OpenCL plugin: memory, queues, events, copies. Drivers start work when they see fit, so every
 * function that gives work flushes; but for decodings and short copies, behind which comes a
 * launch, an event, or somebody who waits. */
#include "backends/opencl/opencl.h"

#include <string.h>

enum {
    PINNED_ALIGNMENT = 4096,
    LONG_COPY = 1 << 20 /* bytes that are under way while the host goes on */
};

wcodec_status wcodec_opencl_fail(const struct wcodec_device *device, cl_int result,
                                 const char *call, wcodec_error *err)
{
    const char *name = wcodec_opencl_result_name(result);
    const bool memory = result == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                        result == CL_OUT_OF_HOST_MEMORY || result == CL_INVALID_BUFFER_SIZE;
    const wcodec_status status = memory ? WCODEC_ERROR_MEMORY : WCODEC_ERROR_DEVICE;
    return name != NULL ? device->host->fail(err, status, "%s: %s", call, name)
                        : device->host->fail(err, status, "%s: error %d", call, (int)result);
}

wcodec_status wcodec_opencl_no_buffer(const struct wcodec_device *device, cl_int result,
                                      wcodec_error *err)
{
    return wcodec_opencl_fail(
        device, result == CL_OUT_OF_RESOURCES ? CL_MEM_OBJECT_ALLOCATION_FAILURE : result,
        "clCreateBuffer", err);
}

void *wcodec_opencl_allocate(const struct wcodec_host *host, size_t size)
{
    void *p = host->allocator->allocate(host->allocator->opaque, size);
    if (p != NULL)
        memset(p, 0, size);
    return p;
}

void wcodec_opencl_release(const struct wcodec_host *host, void *memory)
{
    if (memory != NULL)
        host->allocator->release(host->allocator->opaque, memory);
}

static bool device_supports(struct wcodec_device *device, const struct wcodec_tiling *tiling)
{
    (void)device, (void)tiling;
    return true;
}

/* Mapped for as long as it lives: nothing is asked of the buffer itself. */
static cl_int map_pinned(struct wcodec_memory *m, size_t size)
{
    const struct wcodec_device *d = m->device;
    cl_int result;
    m->map = d->cl->clEnqueueMapBuffer(d->queue, m->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                       size, 0, NULL, NULL, &result);
    m->pointer = (uint8_t *)m->map +
                 (PINNED_ALIGNMENT - (uintptr_t)m->map % PINNED_ALIGNMENT) % PINNED_ALIGNMENT;
    return result;
}

static wcodec_status memory_allocate(struct wcodec_device *d, enum wcodec_memory_kind kind,
                                     uint64_t size, struct wcodec_memory **memory,
                                     wcodec_error *err)
{
    struct wcodec_memory *m = wcodec_opencl_allocate(d->host, sizeof *m);
    const bool pinned = kind == WCODEC_MEMORY_PINNED;
    cl_int result = CL_INVALID_BUFFER_SIZE;
    wcodec_status status;
    if (m == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for an OpenCL buffer");
    m->device = d;
    if (size <= d->memory &&
        size <=
            SIZE_MAX -
                PINNED_ALIGNMENT) { /* some drivers promise any size, and fail when it is used */
        const size_t whole = (size_t)size + (pinned ? PINNED_ALIGNMENT : 0);
        m->buffer = d->cl->clCreateBuffer(d->context,
                                          CL_MEM_READ_WRITE | (pinned ? CL_MEM_ALLOC_HOST_PTR : 0),
                                          whole, NULL, &result);
    }
    if (result != CL_SUCCESS) {
        status = wcodec_opencl_no_buffer(d, result, err);
        goto free_memory;
    }
    if (pinned && (result = map_pinned(m, (size_t)size + PINNED_ALIGNMENT)) != CL_SUCCESS) {
        status = wcodec_opencl_fail(
            d, result == CL_MAP_FAILURE ? CL_MEM_OBJECT_ALLOCATION_FAILURE : result,
            "clEnqueueMapBuffer", err);
        goto free_buffer;
    }
    *memory = m;
    return WCODEC_OK;
free_buffer:
    d->cl->clReleaseMemObject(m->buffer);
free_memory:
    wcodec_opencl_release(d->host, m);
    return status;
}

bool wcodec_opencl_owns_buffer(const struct wcodec_device *d, uint64_t native, size_t *size)
{
    cl_mem buffer = (cl_mem)(uintptr_t)native;
    cl_context context = NULL;
    return d->cl->clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof(cl_context), &context, NULL) ==
               CL_SUCCESS &&
           d->cl->clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof *size, size, NULL) == CL_SUCCESS &&
           context == d->context;
}

bool wcodec_opencl_owns_queue(const struct wcodec_device *d, uint64_t native,
                              cl_command_queue_properties *properties)
{
    cl_command_queue queue = (cl_command_queue)(uintptr_t)native;
    cl_context context = NULL;
    return queue != NULL &&
           d->cl->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context,
                                        NULL) == CL_SUCCESS &&
           d->cl->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof *properties, properties,
                                        NULL) == CL_SUCCESS &&
           context == d->context;
}

/* Only buffers of the device's own context can be used in its queues. */
static wcodec_status memory_adopt(struct wcodec_device *d, uint64_t native, uint64_t size,
                                  struct wcodec_memory **memory, wcodec_error *err)
{
    cl_mem buffer = (cl_mem)(uintptr_t)native;
    size_t whole = 0;
    if (!wcodec_opencl_owns_buffer(d, native, &whole))
        return d->host->fail(err, WCODEC_ERROR_USAGE,
                             "the buffer belongs to another OpenCL context than the device's");
    if (size > whole)
        return d->host->fail(err, WCODEC_ERROR_USAGE, "the buffer is smaller than was said");
    struct wcodec_memory *m = wcodec_opencl_allocate(d->host, sizeof *m);
    if (m == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for an OpenCL buffer");
    *m = (struct wcodec_memory){.device = d, .buffer = buffer, .adopted = true};
    *memory = m;
    return WCODEC_OK;
}

static void *memory_pointer(struct wcodec_memory *memory)
{
    return memory->pointer;
}

static uint64_t memory_native(struct wcodec_memory *memory)
{
    return memory->pointer != NULL ? 0 : (uint64_t)(uintptr_t)memory->buffer;
}

static void memory_free(struct wcodec_memory *m)
{
    const struct wcodec_device *d = m->device;
    if (m->map != NULL &&
        d->cl->clEnqueueUnmapMemObject(d->queue, m->buffer, m->map, 0, NULL, NULL) == CL_SUCCESS)
        d->cl->clFinish(d->queue);
    if (!m->adopted)
        d->cl->clReleaseMemObject(m->buffer);
    wcodec_opencl_release(d->host, m);
}

static wcodec_status queue_create(struct wcodec_device *d, struct wcodec_queue **queue,
                                  wcodec_error *err)
{
    struct wcodec_queue *q = wcodec_opencl_allocate(d->host, sizeof *q);
    cl_int result;
    if (q == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for an OpenCL queue");
    q->device = d;
    q->queue = d->cl->clCreateCommandQueue(d->context, d->id->device, 0, &result);
    if (result != CL_SUCCESS) {
        wcodec_opencl_release(d->host, q);
        return wcodec_opencl_fail(d, result, "clCreateCommandQueue", err);
    }
    *queue = q;
    return WCODEC_OK;
}

static wcodec_status queue_adopt(struct wcodec_device *d, uint64_t native,
                                 struct wcodec_queue **queue, wcodec_error *err)
{
    cl_command_queue own = (cl_command_queue)(uintptr_t)native;
    cl_command_queue_properties properties = 0;
    if (!wcodec_opencl_owns_queue(d, native, &properties))
        return d->host->fail(err, WCODEC_ERROR_USAGE,
                             "the queue belongs to another OpenCL context than the device's");
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        return d->host->fail(err, WCODEC_ERROR_USAGE, "the queue is not in order");
    struct wcodec_queue *q = wcodec_opencl_allocate(d->host, sizeof *q);
    if (q == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for an OpenCL queue");
    *q = (struct wcodec_queue){.device = d, .queue = own, .adopted = true};
    *queue = q;
    return WCODEC_OK;
}

static void queue_destroy(struct wcodec_queue *q)
{
    const struct wcodec_device *d = q->device;
    if (!q->adopted)
        d->cl->clReleaseCommandQueue(q->queue);
    wcodec_opencl_release(d->host, q);
}

/* What was given, of so many bytes, begins now if that is many; else with what comes behind it. The
 * gate, which it was given through, is left. */
static wcodec_status given(const struct wcodec_queue *q, uint64_t size, cl_int result,
                           const char *call, wcodec_error *err)
{
    if (result == CL_SUCCESS && size >= LONG_COPY)
        result = q->device->cl->clFlush(q->queue);
    wcodec_opencl_leave(q->device);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(q->device, result, call, err);
}

static wcodec_status queue_wait(struct wcodec_queue *q, wcodec_error *err)
{
    const char *call;
    if (q->idle)
        return WCODEC_OK;
    const cl_int result = wcodec_opencl_finish(q, &call);
    q->idle = result == CL_SUCCESS && !q->adopted; /* others may give work to a caller's */
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(q->device, result, call, err);
}

static wcodec_status queue_after(struct wcodec_queue *q, struct wcodec_event *event,
                                 wcodec_error *err)
{
    wcodec_opencl_enter(q->device);
    return given(
        q, UINT64_MAX,
        q->device->cl->clEnqueueBarrierWithWaitList(wcodec_opencl_use(q), 1, &event->event, NULL),
        "clEnqueueBarrierWithWaitList", err);
}

static wcodec_status event_record(struct wcodec_queue *q, struct wcodec_event **event,
                                  wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    struct wcodec_event *e = wcodec_opencl_allocate(d->host, sizeof *e);
    if (e == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for an OpenCL event");
    e->device = d;
    wcodec_opencl_enter(q->device);
    wcodec_status status = given(
        q, UINT64_MAX, d->cl->clEnqueueMarkerWithWaitList(wcodec_opencl_use(q), 0, NULL, &e->event),
        "clEnqueueMarkerWithWaitList", err);
    if (status != WCODEC_OK) {
        if (e->event != NULL)
            d->cl->clReleaseEvent(e->event);
        wcodec_opencl_release(d->host, e);
        return status;
    }
    *event = e;
    return WCODEC_OK;
}

static wcodec_status event_wait(struct wcodec_event *e, wcodec_error *err)
{
    const cl_int result = e->device->cl->clWaitForEvents(1, &e->event);
    return result == CL_SUCCESS ? WCODEC_OK
                                : wcodec_opencl_fail(e->device, result, "clWaitForEvents", err);
}

/* A negative execution status is what went wrong. */
static wcodec_status event_query(struct wcodec_event *e, bool *done, wcodec_error *err)
{
    cl_int state = CL_QUEUED,
           result = e->device->cl->clGetEventInfo(e->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                  sizeof state, &state, NULL);
    if (result == CL_SUCCESS && state < 0)
        result = state;
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(e->device, result, "clGetEventInfo", err);
    *done = state == CL_COMPLETE;
    return WCODEC_OK;
}

static void event_destroy(struct wcodec_event *e)
{
    e->device->cl->clReleaseEvent(e->event);
    wcodec_opencl_release(e->device->host, e);
}

static wcodec_status copy_in(struct wcodec_queue *q, struct wcodec_memory *to, uint64_t to_offset,
                             const void *from, uint64_t size, wcodec_error *err)
{
    if (size == 0)
        return WCODEC_OK;
    wcodec_opencl_enter(q->device);
    return given(q, size,
                 q->device->cl->clEnqueueWriteBuffer(wcodec_opencl_use(q), to->buffer, CL_FALSE,
                                                     (size_t)to_offset, (size_t)size, from, 0, NULL,
                                                     NULL),
                 "clEnqueueWriteBuffer", err);
}

static wcodec_status copy_out(struct wcodec_queue *q, void *to, struct wcodec_memory *from,
                              uint64_t from_offset, uint64_t size, wcodec_error *err)
{
    if (size == 0)
        return WCODEC_OK;
    wcodec_opencl_enter(q->device);
    return given(q, size,
                 q->device->cl->clEnqueueReadBuffer(wcodec_opencl_use(q), from->buffer, CL_FALSE,
                                                    (size_t)from_offset, (size_t)size, to, 0, NULL,
                                                    NULL),
                 "clEnqueueReadBuffer", err);
}

static wcodec_status copy(struct wcodec_queue *q, struct wcodec_memory *to, uint64_t to_offset,
                          struct wcodec_memory *from, uint64_t from_offset, uint64_t size,
                          wcodec_error *err)
{
    if (size == 0)
        return WCODEC_OK;
    wcodec_opencl_enter(q->device);
    return given(q, size,
                 q->device->cl->clEnqueueCopyBuffer(wcodec_opencl_use(q), from->buffer, to->buffer,
                                                    (size_t)from_offset, (size_t)to_offset,
                                                    (size_t)size, 0, NULL, NULL),
                 "clEnqueueCopyBuffer", err);
}

static wcodec_status fill(struct wcodec_queue *q, struct wcodec_memory *to, uint64_t to_offset,
                          const uint8_t element[8], unsigned element_log2, uint64_t count,
                          wcodec_error *err)
{
    if (count == 0)
        return WCODEC_OK;
    wcodec_opencl_enter(q->device);
    return given(q, count << element_log2,
                 q->device->cl->clEnqueueFillBuffer(wcodec_opencl_use(q), to->buffer, element,
                                                    (size_t)1 << element_log2, (size_t)to_offset,
                                                    (size_t)(count << element_log2), 0, NULL, NULL),
                 "clEnqueueFillBuffer", err);
}

WCODEC_API const struct wcodec_backend wcodec_backend_opencl = {
    WCODEC_BACKEND_HEAD,
    .name = "opencl",
    .products = &wcodec_opencl_products,
    .encoders = &wcodec_opencl_encoders,
    .deltas = &wcodec_opencl_deltas,
    .rollouts = &wcodec_opencl_rollouts,
    .vectors = &wcodec_opencl_vectors_backend,
    .searches = &wcodec_opencl_searches_backend,
    .open = wcodec_opencl_open,
    .close = wcodec_opencl_close,
    .device_count = wcodec_opencl_device_count,
    .device_list = wcodec_opencl_device_list,
    .device_open = wcodec_opencl_device_open,
    .device_close = wcodec_opencl_device_close,
    .device_native = wcodec_opencl_device_native,
    .device_supports = device_supports,
    .memory_allocate = memory_allocate,
    .memory_adopt = memory_adopt,
    .memory_pointer = memory_pointer,
    .memory_native = memory_native,
    .memory_free = memory_free,
    .queue_create = queue_create,
    .queue_create_timed = wcodec_opencl_queue_create_timed,
    .queue_adopt = queue_adopt,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .queue_after = queue_after,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_elapsed = wcodec_opencl_event_elapsed,
    .event_destroy = event_destroy,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .fill = fill,
    .batch_create = wcodec_opencl_batch_create,
    .batch_decode = wcodec_opencl_batch_decode,
    .batch_results = wcodec_opencl_batch_results,
    .batch_destroy = wcodec_opencl_batch_destroy,
};
