/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that stay coded in the device's memory: their descriptors are there once and for all, and
 * decoding is a few launches on the caller's stream. */
#include "backends/gpu/kept.h"
#include "backends/cuda/cuda.h"

#include <stdio.h>

struct wcodec_kept {
    struct wcodec_device *device;
    struct wcodec_gpu_kept gpu;
    cu_pointer memory;
};

static uint64_t memory_address(const struct wcodec_memory *memory)
{
    return memory->address;
}

struct launching {
    const struct wcodec_device *device;
    cu_stream stream;
};

static int launch(void *opaque, struct wcodec_gpu_launch *l)
{
    const struct launching *on = opaque;
    void *arguments[] = {&l->arguments};
    return (int)on->device->cu->launch(on->device->functions[l->kernel], l->groups, 1, 1,
                                       l->threads, 1, 1, l->shared, on->stream, arguments, NULL);
}

static int set(void *opaque, uint64_t address, uint64_t value)
{
    const struct launching *on = opaque;
    const cu_result result = on->device->cu->set_32(address, (unsigned)value, 1, on->stream);
    return (int)(result != 0
                     ? result
                     : on->device->cu->set_32(address + 4, (unsigned)(value >> 32), 1, on->stream));
}

static cu_result decode(const struct wcodec_kept *kept, uint64_t begin, uint64_t end, uint64_t out,
                        cu_stream stream)
{
    struct launching on = {kept->device, stream};
    const struct wcodec_gpu_kept_queue queue = {launch, set, &on};
    return (cu_result)wcodec_gpu_kept_decode(&kept->gpu, begin, end, out, &queue);
}

/* Copy what was built, decode all, and bring the faults. */
static cu_result try_all(const struct wcodec_kept *kept, const uint8_t *block, uint64_t scratch,
                         uint32_t *faults, cu_stream stream)
{
    const struct wcodec_cuda_driver *cu = kept->device->cu;
    const struct wcodec_gpu_kept *k = &kept->gpu;
    const cu_pointer at = kept->memory + k->faults;
    cu_result result = cu->copy_in(kept->memory, block, (size_t)k->copied, stream);
    if (result == 0)
        result = cu->set_8(at, 0, (size_t)(4 * k->tiles), stream);
    if (result == 0)
        result = decode(kept, 0, k->bytes, scratch, stream);
    if (result == 0)
        result = cu->copy_out(faults, at, (size_t)(4 * k->tiles), stream);
    const cu_result waited = wcodec_cuda_wait(kept->device, stream);
    return result != 0 ? result : waited;
}

static wcodec_status build(struct wcodec_kept *kept, const struct wcodec_job *job,
                           const struct wcodec_memory *scratch, cu_stream stream,
                           struct wcodec_job_result *result, wcodec_error *err)
{
    struct wcodec_device *d = kept->device;
    const wcodec_allocator *a = d->host->allocator;
    struct wcodec_gpu_kept *k = &kept->gpu;
    cu_result failed = d->cu->allocate(&kept->memory, (size_t)k->size);
    if (failed != 0)
        return wcodec_cuda_fail(d, failed, "cuMemAlloc", err);
    uint8_t *block = a->allocate(a->opaque, (size_t)(k->copied + 4 * k->tiles));
    if (block == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a tensor's tiles");
    uint32_t *faults = (uint32_t *)(void *)(block + k->copied);
    memset(block, 0, (size_t)k->copied);
    wcodec_status status =
        wcodec_gpu_keep_build(k, kept->memory, kept->memory, block, memory_address, err);
    if (status == WCODEC_OK) {
        failed = try_all(kept, block, scratch->address, faults, stream);
        status = failed != 0 ? wcodec_cuda_fail(d, failed, "cuLaunchKernel", err) : WCODEC_OK;
    }
    if (status == WCODEC_OK)
        *result = wcodec_gpu_plan_result(job, faults);
    a->release(a->opaque, block);
    return status;
}

static void drop(struct wcodec_kept *kept)
{
    const struct wcodec_device *d = kept->device;
    if (kept->memory != 0)
        d->cu->release(kept->memory);
    wcodec_gpu_keep_free(&kept->gpu);
    d->host->allocator->release(d->host->allocator->opaque, kept);
}

wcodec_status wcodec_cuda_keep(struct wcodec_queue *q, const struct wcodec_job *job,
                               struct wcodec_memory *scratch, struct wcodec_job_result *result,
                               struct wcodec_kept **kept, wcodec_error *err)
{
    struct wcodec_device *d = q->device;
    wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_kept *k = d->host->allocator->allocate(d->host->allocator->opaque, sizeof *k);
    if (k == NULL) {
        wcodec_cuda_leave(d, 0, "", NULL);
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a tensor");
    }
    *k = (struct wcodec_kept){.device = d};
    status = wcodec_gpu_keep_measure(d->host, &d->limits, d->there | WCODEC_GPU_PLAN_ANY_TILE, job,
                                     memory_address, &k->gpu, err);
    if (status == WCODEC_OK)
        status = build(k, job, scratch, q->stream, result, err);
    if (status == WCODEC_OK && result->fault == WCODEC_TILE_OK)
        *kept = k;
    else
        drop(k);
    wcodec_cuda_leave(d, 0, "", NULL);
    return status;
}

uint64_t wcodec_cuda_kept_size(const struct wcodec_kept *kept)
{
    return kept->gpu.size;
}

wcodec_status wcodec_cuda_kept_decode(struct wcodec_kept *kept, uint64_t queue, uint64_t begin,
                                      uint64_t end, uint64_t out, wcodec_error *err)
{
    const struct wcodec_device *d = kept->device;
    if (out % 16 != 0)
        return d->host->fail(err, WCODEC_ERROR_USAGE, "the destination is no multiple of 16");
    if (!wcodec_gpu_kept_divides(&kept->gpu, begin, end))
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "these rows are coded together with others");
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result = decode(kept, begin, end, out, (cu_stream)(uintptr_t)queue);
    wcodec_cuda_leave(d, 0, "", NULL);
    return result != 0 ? wcodec_cuda_launch_failed(d, result, err) : WCODEC_OK;
}

void wcodec_cuda_kept_free(struct wcodec_kept *kept)
{
    const struct wcodec_device *d = kept->device;
    const bool entered = wcodec_cuda_enter(d, NULL) == WCODEC_OK;
    drop(kept);
    if (entered)
        wcodec_cuda_leave(d, 0, "", NULL);
}

/* With as much shared memory as those have that only decode. */
cu_result wcodec_cuda_find_coded_products(struct wcodec_device *d)
{
    cu_result result = 0;
    for (unsigned k = 0; k < WCODEC_CODED_PRODUCTS && result == 0; k++) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_%s", wcodec_coded_product_rows[k].name);
        result = d->cu->module_function(&d->coded_products[k], d->module, name);
        if (result == 0 && k != WCODEC_CODED_SUM)
            result = d->cu->function_set(d->coded_products[k], CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                         (int)d->limits.shared);
    }
    for (unsigned k = 0; k < WCODEC_CODED_ROWS_KERNELS && result == 0; k++) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_%s", wcodec_coded_rows_rows[k].name);
        result = d->cu->module_function(&d->coded_rows[k], d->module, name);
        if (result == 0)
            result = d->cu->function_set(d->coded_rows[k], CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                         (int)d->limits.shared);
    }
    return result;
}

static int launch_rows(void *opaque, struct wcodec_gpu_coded_rows *l)
{
    const struct launching *on = opaque;
    return (int)wcodec_cuda_launch(on->device, on->device->coded_rows[l->kernel], l->groups,
                                   l->threads, l->shared, (uint64_t)(uintptr_t)on->stream, true,
                                   &l->arguments);
}

wcodec_status wcodec_cuda_kept_gather(struct wcodec_device *d, uint64_t queue,
                                      const struct wcodec_rows *rows, wcodec_error *err)
{
    struct launching on = {d, (cu_stream)(uintptr_t)queue};
    const struct wcodec_gpu_kept *k = &rows->kept->gpu;
    if (rows->out % 16 != 0)
        return d->host->fail(err, WCODEC_ERROR_USAGE, "the destination is no multiple of 16");
    if (!wcodec_gpu_kept_gathers(k, rows->row_size))
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "rows are not gathered from its tiles");
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result = (cu_result)wcodec_gpu_kept_gather(k, rows, launch_rows, &on);
    wcodec_cuda_leave(d, 0, "", NULL);
    return result != 0 ? wcodec_cuda_launch_failed(d, result, err) : WCODEC_OK;
}

uint64_t wcodec_cuda_kept_unit(const struct wcodec_kept *kept)
{
    return kept->gpu.unit;
}

uint64_t wcodec_cuda_kept_work(const struct wcodec_kept *kept)
{
    return kept->device->tensor_cores ? wcodec_gpu_kept_work(&kept->gpu) : 0;
}

static int launch_product(void *opaque, struct wcodec_gpu_coded_product *l)
{
    const struct launching *on = opaque;
    return (int)wcodec_cuda_launch(on->device, on->device->coded_products[l->kernel], l->groups,
                                   l->threads, l->shared, (uint64_t)(uintptr_t)on->stream, true,
                                   &l->arguments);
}

wcodec_status wcodec_cuda_kept_multiply(struct wcodec_device *d, uint64_t queue,
                                        const struct wcodec_product *product, wcodec_error *err)
{
    struct launching on = {d, (cu_stream)(uintptr_t)queue};
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result = (cu_result)wcodec_gpu_kept_multiply(
        &product->kept->gpu, product, product->work->address, launch_product, &on);
    wcodec_cuda_leave(d, 0, "", NULL);
    return result != 0 ? wcodec_cuda_launch_failed(d, result, err) : WCODEC_OK;
}
