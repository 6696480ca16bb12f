/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CUDA plugin: devices, memory, queues, events. Every function makes the device's primary
 * context current for its own duration. */
#include "backends/cuda/cuda.h"

#include <stdio.h>

wcodec_status wcodec_cuda_fail(const struct wcodec_device *device, cu_result result,
                               const char *call, wcodec_error *err)
{
    const char *name = NULL, *text = NULL;
    if (result == CU_TIMED_OUT && atomic_load(&device->patience->is_over))
        return device->host->fail(err, WCODEC_ERROR_DEVICE,
                                  "%s: the device did not answer in %llu seconds", call,
                                  (unsigned long long)device->patience->seconds);
    device->cu->error_name(result, &name);
    device->cu->error_string(result, &text);
    return device->host->fail(
        err, result == CU_OUT_OF_MEMORY ? WCODEC_ERROR_MEMORY : WCODEC_ERROR_DEVICE, "%s: %s (%s)",
        call, name ? name : "unknown error", text ? text : "no text");
}

static void *allocate(const struct wcodec_host *host, size_t size)
{
    void *p = host->allocator->allocate(host->allocator->opaque, size);
    if (p != NULL)
        memset(p, 0, size);
    return p;
}

static void release(const struct wcodec_host *host, void *p)
{
    host->allocator->release(host->allocator->opaque, p);
}

wcodec_status wcodec_cuda_enter(const struct wcodec_device *device, wcodec_error *err)
{
    if (atomic_load(&device->patience->is_over))
        return device->host->fail(err, WCODEC_ERROR_DEVICE,
                                  "the device did not answer in %llu seconds before",
                                  (unsigned long long)device->patience->seconds);
    const cu_result result = device->cu->context_push(device->context);
    return result ? wcodec_cuda_fail(device, result, "cuCtxPushCurrent", err) : WCODEC_OK;
}

wcodec_status wcodec_cuda_leave(const struct wcodec_device *device, cu_result result,
                                const char *call, wcodec_error *err)
{
    cu_context context;
    device->cu->context_pop(&context);
    return result ? wcodec_cuda_fail(device, result, call, err) : WCODEC_OK;
}

static wcodec_status cuda_open(const struct wcodec_host *host, struct wcodec_backend_state **state,
                               wcodec_error *err)
{
    char text[128];
    struct wcodec_backend_state *s = allocate(host, sizeof *s);
    if (s == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for the CUDA backend");
    s->host = host;
    wcodec_status status = WCODEC_OK;
    int count = 0;
    const char *reason = wcodec_cuda_driver_open(&s->driver, text, sizeof text);
    if (reason != NULL) {
        status = host->fail(err, WCODEC_ERROR_BACKEND, "%s", reason);
        goto free_state;
    }
    cu_result result = s->driver.init(0);
    if (result == 0)
        result = s->driver.version(&s->version);
    if (result == 0)
        result = s->driver.device_count(&count);
    if (result != 0) {
        const char *name = NULL;
        s->driver.error_name(result, &name);
        status = host->fail(err, WCODEC_ERROR_BACKEND, "the NVIDIA driver does not start: %s",
                            name ? name : "unknown error");
        goto free_state;
    }
    if (count <= 0) {
        status = host->fail(err, WCODEC_ERROR_BACKEND, "the NVIDIA driver has no device");
        goto free_state;
    }
    s->devices = (unsigned)count;
    *state = s;
    return WCODEC_OK;
free_state:
    release(host, s);
    return status;
}

static void cuda_close(struct wcodec_backend_state *state)
{
    release(state->host, state);
}

static unsigned cuda_device_count(struct wcodec_backend_state *state)
{
    return state->devices;
}

static int attribute(const struct wcodec_backend_state *s, cu_device device, int which)
{
    int value = 0;
    return s->driver.device_attribute(&value, which, device) == 0 ? value : -1;
}

/* 86 is 8.6. */
static int capability(const struct wcodec_backend_state *s, cu_device device)
{
    return 10 * attribute(s, device, CU_ATTRIBUTE_MAJOR) + attribute(s, device, CU_ATTRIBUTE_MINOR);
}

static void cuda_device_list(struct wcodec_backend_state *s, unsigned i,
                             struct wcodec_device_listing *listing)
{
    cu_device device;
    size_t memory = 0;
    *listing = (struct wcodec_device_listing){
        .kind = WCODEC_DEVICE_GPU,
        .capabilities = WCODEC_DEVICE_ADOPT_MEMORY | WCODEC_DEVICE_ADOPT_QUEUE |
                        WCODEC_DEVICE_ADDRESSES | WCODEC_DEVICE_BLOCKS | WCODEC_DEVICE_LOSSY |
                        WCODEC_DEVICE_FIXED | WCODEC_DEVICE_FRAGMENTS};
    if (s->driver.device_get(&device, (int)i) != 0) {
        snprintf(listing->reason, sizeof listing->reason, "the driver does not give device %u", i);
        return;
    }
    s->driver.device_name(listing->name, sizeof listing->name, device);
    s->driver.device_memory(&memory, device);
    listing->memory = memory;
    const int of = capability(s, device);
    snprintf(listing->driver, sizeof listing->driver, "CUDA %d.%d, compute capability %d.%d",
             s->version / 1000, s->version % 1000 / 10, of / 10, of % 10);
    if (of >= 80)
        listing->capabilities |= WCODEC_DEVICE_PRODUCTS;
    if (of < 75)
        snprintf(listing->reason, sizeof listing->reason, "compute capability %d.%d, 7.5 is needed",
                 of / 10, of % 10);
}

enum { WARPS_LEAST = 8 }; /* with fewer the generic kernel is as fast */

static unsigned positive(const struct wcodec_device *d, int which)
{
    const int value = attribute(d->state, d->number, which);
    return value > 0 ? (unsigned)value : 1;
}

static cu_result set_shared(const struct wcodec_device *d, unsigned k, unsigned size,
                            unsigned percent)
{
    const cu_result result =
        d->cu->function_set(d->functions[k], CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)size);
    return result != 0 ? result
                       : d->cu->function_set(d->functions[k], CU_FUNCTION_SHARED_CARVEOUT,
                                             (int)(percent < 100 ? percent : 100));
}

/* How many warps and work-groups of a kernel that gives a tile to each warp a multiprocessor can
 * hold. No more shared memory than they take: the rest is cache. */
static cu_result fit_kernel(struct wcodec_device *d, unsigned k)
{
    const struct wcodec_gpu_needs needs = wcodec_gpu_most_needs(k, d->limits.copies);
    struct wcodec_gpu_limits limits = d->limits;
    struct wcodec_gpu_kernel *kernel = &d->limits.kernels[k];
    limits.groups = wcodec_kernel_rows[k].groups;
    wcodec_gpu_fit(&limits, k, &needs, kernel);
    kernel->there = kernel->warps >= WARPS_LEAST;
    if (!kernel->there)
        return 0;
    const unsigned size = wcodec_gpu_shared_size(k, d->limits.copies, kernel->warps, &needs),
                   all = d->limits.unit_shared;
    return set_shared(d, k, size, (100 * kernel->groups * (size + 1024) + all - 1) / all);
}

static cu_result find_kernel(struct wcodec_device *d, unsigned k)
{
    const struct wcodec_kernel_row *row = &wcodec_kernel_rows[k];
    char name[64];
    snprintf(name, sizeof name, "wcodec_%s", row->name);
    const cu_result result = d->cu->module_function(&d->functions[k], d->module, name);
    if (result != 0)
        return result;
    if (wcodec_kernel_takes_tiles(k))
        return fit_kernel(d, k);
    d->limits.kernels[k] = (struct wcodec_gpu_kernel){true, row->threads / 32u, row->groups};
    return row->family == WCODEC_FAMILY_LATENCY ? set_shared(d, k, d->limits.shared, 100) : 0;
}

cu_result wcodec_cuda_find(const struct wcodec_device *d, const char *prefix,
                           const char *const *names, unsigned count, cu_function *functions)
{
    cu_result result = 0;
    for (unsigned k = 0; k < count && result == 0; k++) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_%s%s", prefix, names[k]);
        result = d->cu->module_function(&functions[k], d->module, name);
    }
    return result;
}

static cu_result find_kernels(struct wcodec_device *d)
{
    d->limits.units = positive(d, CU_ATTRIBUTE_MULTIPROCESSORS);
    d->limits.shared = positive(d, CU_ATTRIBUTE_BLOCK_SHARED);
    d->limits.unit_shared = positive(d, CU_ATTRIBUTE_MULTIPROCESSOR_SHARED);
    d->limits.group_shared = positive(d, CU_ATTRIBUTE_RESERVED_SHARED);
    d->limits.copies = 32; /* backends/cuda/shell.cu */
    d->limits.launch_tiles = UINT32_MAX;
    d->limits.lanes = 32;
    d->limits.queue = true;
    const int of = capability(d->state, d->number);
    d->tensor_cores = of >= 80;
    const char *early = d->host->setting(d->host->opaque, "WCODEC_CUDA_EARLY_LAUNCHES");
    d->early_launches =
        of >= 90 && d->cu->launch_extended != NULL && (early == NULL || strcmp(early, "0") != 0);
    for (unsigned k = 0; k < WCODEC_KERNELS; k++) {
        const cu_result result = find_kernel(d, k);
        if (result != 0)
            return result;
        if (wcodec_kernel_takes_tiles(k) && d->limits.kernels[k].there)
            d->there |= (uint64_t)1 << k;
    }
    cu_result result = wcodec_cuda_find_tile_encoders(d);
    if (result == 0)
        result = wcodec_cuda_find_deltas(d);
    if (result == 0)
        result = wcodec_cuda_find_rollouts(d);
    if (result == 0)
        result = wcodec_cuda_find_vectors(d);
    if (result == 0)
        result = wcodec_cuda_find_searches(d);
    return result == 0 && d->tensor_cores ? wcodec_cuda_find_products(d) : result;
}

static wcodec_status cuda_device_open(struct wcodec_backend_state *s, unsigned i,
                                      struct wcodec_device **device, wcodec_error *err)
{
    struct wcodec_device *d = allocate(s->host, sizeof *d);
    cu_context context;
    if (d == NULL)
        return s->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for a CUDA device");
    d->state = s;
    d->host = s->host;
    d->cu = &s->driver;
    wcodec_status status = wcodec_cuda_patience_create(d, err);
    if (status != WCODEC_OK) {
        release(s->host, d);
        return status;
    }
    cu_result result = i < s->devices ? s->driver.device_get(&d->number, (int)i) : 101;
    if (result == 0)
        result = d->cu->context_retain(&d->context, d->number);
    if (result != 0) {
        wcodec_cuda_fail(d, result, "cuDevicePrimaryCtxRetain", err);
        goto free_device;
    }
    result = d->cu->context_push(d->context);
    if (result == 0) {
        const void *image = wcodec_cuda_image(wcodec_cuda_fatbin, capability(s, d->number));
        result = image != NULL ? d->cu->module_load(&d->module, image) : CU_NO_BINARY;
        if (result == 0 && (result = find_kernels(d)) != 0)
            d->cu->module_unload(d->module);
        d->cu->context_pop(&context);
    }
    if (result != 0) {
        wcodec_cuda_fail(d, result, "cuModuleLoadData", err);
        goto release_context;
    }
    pthread_mutex_init(&d->pool.lock, NULL);
    pthread_mutex_init(&d->blas.lock, NULL);
    *device = d;
    return WCODEC_OK;
release_context:
    d->cu->context_release(d->number);
free_device:
    release(s->host, d->patience);
    release(s->host, d);
    if (err != NULL && err->status == WCODEC_ERROR_DEVICE)
        err->status = WCODEC_ERROR_BACKEND;
    return WCODEC_ERROR_BACKEND;
}

static void cuda_device_close(struct wcodec_device *d)
{
    if (wcodec_cuda_enter(d, NULL) == WCODEC_OK) {
        wcodec_cuda_slabs_free(d);
        wcodec_cuda_scratch_free(d);
        wcodec_cuda_blas_close(&d->blas);
        d->cu->module_unload(d->module);
        wcodec_cuda_leave(d, 0, "", NULL);
    }
    pthread_mutex_destroy(&d->blas.lock);
    pthread_mutex_destroy(&d->pool.lock);
    if (!atomic_load(&d->patience->is_over))
        d->cu->context_release(d->number);
    release(d->host, d->patience);
    release(d->host, d);
}

static bool cuda_device_supports(struct wcodec_device *device, const struct wcodec_tiling *tiling)
{
    (void)device, (void)tiling;
    return true;
}

static wcodec_status cuda_memory_allocate(struct wcodec_device *d, enum wcodec_memory_kind kind,
                                          uint64_t size, struct wcodec_memory **memory,
                                          wcodec_error *err)
{
    struct wcodec_memory *m = allocate(d->host, sizeof *m);
    wcodec_status status;
    if (m == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for a CUDA memory");
    m->device = d;
    status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        goto free_memory;
    if (size > SIZE_MAX - WCODEC_CUDA_SLACK)
        status = wcodec_cuda_leave(d, CU_OUT_OF_MEMORY, "cuMemAlloc", err);
    else if (kind == WCODEC_MEMORY_PINNED)
        status = wcodec_cuda_leave(d, wcodec_cuda_pinned_allocate(d, (size_t)size, m),
                                   "cuMemHostAlloc", err);
    else
        status = wcodec_cuda_leave(
            d, d->cu->allocate(&m->address, (size_t)size + WCODEC_CUDA_SLACK), "cuMemAlloc", err);
    if (status != WCODEC_OK)
        goto free_memory;
    *memory = m;
    return WCODEC_OK;
free_memory:
    release(d->host, m);
    return status;
}

static wcodec_status cuda_memory_adopt(struct wcodec_device *d, uint64_t native, uint64_t size,
                                       struct wcodec_memory **memory, wcodec_error *err)
{
    struct wcodec_memory *m;
    int number = -1;
    (void)size;
    wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_cuda_leave(d, d->cu->pointer_attribute(&number, CU_POINTER_DEVICE, native),
                               "cuPointerGetAttribute", err);
    if (status != WCODEC_OK)
        return d->host->fail(err, WCODEC_ERROR_USAGE,
                             "the driver does not know this address for memory of a device");
    if (number != d->number)
        return d->host->fail(err, WCODEC_ERROR_USAGE, "memory of device %d was given to device %d",
                             number, d->number);
    m = allocate(d->host, sizeof *m);
    if (m == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for a CUDA memory");
    *m = (struct wcodec_memory){.device = d, .address = native, .adopted = true};
    *memory = m;
    return WCODEC_OK;
}

static void *cuda_memory_pointer(struct wcodec_memory *memory)
{
    return memory->pointer;
}

static uint64_t cuda_memory_native(struct wcodec_memory *memory)
{
    return memory->address;
}

static void cuda_memory_free(struct wcodec_memory *m)
{
    const struct wcodec_device *d = m->device;
    if (!m->adopted && wcodec_cuda_enter(d, NULL) == WCODEC_OK) {
        if (m->pointer != NULL)
            wcodec_cuda_pinned_free(d, m);
        else
            d->cu->release(m->address);
        wcodec_cuda_leave(d, 0, "", NULL);
    }
    release(d->host, m);
}

static wcodec_status cuda_queue_create(struct wcodec_device *d, struct wcodec_queue **queue,
                                       wcodec_error *err)
{
    struct wcodec_queue *q = allocate(d->host, sizeof *q);
    if (q == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for a CUDA stream");
    q->device = d;
    wcodec_status status = wcodec_cuda_enter(d, err);
    if (status == WCODEC_OK)
        status = wcodec_cuda_leave(d, d->cu->stream_create(&q->stream, CU_STREAM_NON_BLOCKING),
                                   "cuStreamCreate", err);
    if (status != WCODEC_OK) {
        release(d->host, q);
        return status;
    }
    *queue = q;
    return WCODEC_OK;
}

static wcodec_status cuda_queue_adopt(struct wcodec_device *d, uint64_t native,
                                      struct wcodec_queue **queue, wcodec_error *err)
{
    cu_context context = d->context;
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    /* A driver that does not say (of a green context's stream) is not asked twice. */
    const cu_result result = d->cu->stream_context((cu_stream)(uintptr_t)native, &context);
    wcodec_cuda_leave(d, 0, "", NULL);
    if (result == CU_INVALID_HANDLE || (result == 0 && context != d->context))
        return d->host->fail(err, WCODEC_ERROR_USAGE,
                             "the stream is not of the primary context of device %d", d->number);
    struct wcodec_queue *q = allocate(d->host, sizeof *q);
    if (q == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for a CUDA stream");
    *q = (struct wcodec_queue){d, (cu_stream)(uintptr_t)native, true, false};
    *queue = q;
    return WCODEC_OK;
}

static void cuda_queue_destroy(struct wcodec_queue *q)
{
    const struct wcodec_device *d = q->device;
    if (!q->adopted && wcodec_cuda_enter(d, NULL) == WCODEC_OK) {
        d->cu->stream_destroy(q->stream);
        wcodec_cuda_leave(d, 0, "", NULL);
    }
    release(d->host, q);
}

/* A call in the context of a device. */
#define CALL(device, name, call) \
    do { \
        const wcodec_status status_ = wcodec_cuda_enter(device, err); \
        if (status_) \
            return status_; \
        return wcodec_cuda_leave(device, (device)->cu->call, name, err); \
    } while (0)

static wcodec_status cuda_queue_wait(struct wcodec_queue *q, wcodec_error *err)
{
    const wcodec_status status = wcodec_cuda_enter(q->device, err);
    return status != WCODEC_OK
               ? status
               : wcodec_cuda_leave(q->device, wcodec_cuda_wait(q->device, q->stream),
                                   "cuStreamSynchronize", err);
}

static wcodec_status cuda_queue_after(struct wcodec_queue *q, struct wcodec_event *event,
                                      wcodec_error *err)
{
    CALL(q->device, "cuStreamWaitEvent", stream_after(q->stream, event->event, 0));
}

static wcodec_status cuda_event_record(struct wcodec_queue *q, struct wcodec_event **event,
                                       wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    struct wcodec_event *e = allocate(d->host, sizeof *e);
    if (e == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for a CUDA event");
    e->device = d;
    wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        goto free_event;
    /* Who waits for it sleeps: his core has other work. */
    cu_result result = d->cu->event_create(&e->event, CU_EVENT_BLOCKING_SYNC |
                                                          (q->timed ? 0 : CU_EVENT_DISABLE_TIMING));
    if (result != 0) {
        status = wcodec_cuda_leave(d, result, "cuEventCreate", err);
        goto free_event;
    }
    result = d->cu->event_record(e->event, q->stream);
    if (result != 0)
        d->cu->event_destroy(e->event);
    status = wcodec_cuda_leave(d, result, "cuEventRecord", err);
    if (status != WCODEC_OK)
        goto free_event;
    *event = e;
    return WCODEC_OK;
free_event:
    release(d->host, e);
    return status;
}

static wcodec_status cuda_event_wait(struct wcodec_event *e, wcodec_error *err)
{
    const wcodec_status status = wcodec_cuda_enter(e->device, err);
    return status != WCODEC_OK
               ? status
               : wcodec_cuda_leave(e->device, wcodec_cuda_wait_event(e->device, e->event),
                                   "cuEventSynchronize", err);
}

static wcodec_status cuda_event_query(struct wcodec_event *e, bool *done, wcodec_error *err)
{
    wcodec_status status = wcodec_cuda_enter(e->device, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result = e->device->cu->event_query(e->event);
    status = wcodec_cuda_leave(e->device, result == CU_NOT_READY ? 0 : result, "cuEventQuery", err);
    if (status == WCODEC_OK)
        *done = result == 0;
    return status;
}

static void cuda_event_destroy(struct wcodec_event *e)
{
    const struct wcodec_device *d = e->device;
    if (wcodec_cuda_enter(d, NULL) == WCODEC_OK) {
        d->cu->event_destroy(e->event);
        wcodec_cuda_leave(d, 0, "", NULL);
    }
    release(d->host, e);
}

static wcodec_status cuda_copy_in(struct wcodec_queue *q, struct wcodec_memory *to,
                                  uint64_t to_offset, const void *from, uint64_t size,
                                  wcodec_error *err)
{
    if (size == 0)
        return WCODEC_OK;
    CALL(q->device, "cuMemcpyHtoDAsync",
         copy_in(to->address + to_offset, from, (size_t)size, q->stream));
}

static wcodec_status cuda_copy_out(struct wcodec_queue *q, void *to, struct wcodec_memory *from,
                                   uint64_t from_offset, uint64_t size, wcodec_error *err)
{
    if (size == 0)
        return WCODEC_OK;
    CALL(q->device, "cuMemcpyDtoHAsync",
         copy_out(to, from->address + from_offset, (size_t)size, q->stream));
}

static wcodec_status cuda_copy(struct wcodec_queue *q, struct wcodec_memory *to, uint64_t to_offset,
                               struct wcodec_memory *from, uint64_t from_offset, uint64_t size,
                               wcodec_error *err)
{
    if (size == 0)
        return WCODEC_OK;
    CALL(q->device, "cuMemcpyDtoDAsync",
         copy(to->address + to_offset, from->address + from_offset, (size_t)size, q->stream));
}

static uint32_t load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static wcodec_status cuda_fill(struct wcodec_queue *q, struct wcodec_memory *to, uint64_t to_offset,
                               const uint8_t element[8], unsigned element_log2, uint64_t count,
                               wcodec_error *err)
{
    const cu_pointer at = to->address + to_offset;
    if (count == 0)
        return WCODEC_OK;
    switch (element_log2) {
    case 0:
        CALL(q->device, "cuMemsetD8Async", set_8(at, element[0], (size_t)count, q->stream));
    case 1:
        CALL(q->device, "cuMemsetD16Async",
             set_16(at, (unsigned short)(element[0] | element[1] << 8), (size_t)count, q->stream));
    case 2:
        CALL(q->device, "cuMemsetD32Async",
             set_32(at, load_u32(element), (size_t)count, q->stream));
    default:
        break;
    }
    /* Eight bytes: the halves as two columns of rows of eight bytes. */
    const wcodec_status status = wcodec_cuda_enter(q->device, err);
    if (status != WCODEC_OK)
        return status;
    cu_result result =
        q->device->cu->set_rows_32(at, 8, load_u32(element), 1, (size_t)count, q->stream);
    if (result == 0)
        result = q->device->cu->set_rows_32(at + 4, 8, load_u32(element + 4), 1, (size_t)count,
                                            q->stream);
    return wcodec_cuda_leave(q->device, result, "cuMemsetD2D32Async", err);
}

WCODEC_API const struct wcodec_backend wcodec_backend_cuda = {
    WCODEC_BACKEND_HEAD,
    .name = "cuda",
    .products = &wcodec_cuda_products,
    .encoders = &wcodec_cuda_encoders,
    .deltas = &wcodec_cuda_deltas,
    .rollouts = &wcodec_cuda_rollouts,
    .vectors = &wcodec_cuda_vectors,
    .searches = &wcodec_cuda_searches,
    .peers = &wcodec_cuda_peers,
    .open = cuda_open,
    .close = cuda_close,
    .device_count = cuda_device_count,
    .device_list = cuda_device_list,
    .device_open = cuda_device_open,
    .device_close = cuda_device_close,
    .device_native = wcodec_cuda_device_native,
    .device_supports = cuda_device_supports,
    .memory_allocate = cuda_memory_allocate,
    .memory_adopt = cuda_memory_adopt,
    .memory_pointer = cuda_memory_pointer,
    .memory_native = cuda_memory_native,
    .memory_free = cuda_memory_free,
    .queue_create = cuda_queue_create,
    .queue_create_timed = wcodec_cuda_queue_create_timed,
    .queue_adopt = cuda_queue_adopt,
    .queue_destroy = cuda_queue_destroy,
    .queue_wait = cuda_queue_wait,
    .queue_after = cuda_queue_after,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_query = cuda_event_query,
    .event_elapsed = wcodec_cuda_event_elapsed,
    .event_destroy = cuda_event_destroy,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .batch_create = wcodec_cuda_batch_create,
    .batch_decode = wcodec_cuda_batch_decode,
    .batch_results = wcodec_cuda_batch_results,
    .batch_destroy = wcodec_cuda_batch_destroy,
};
