/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Buffers for batches. Making them costs more than decoding a small tensor, so some are kept. */
#include "backends/opencl/opencl.h"

#include <string.h>

enum { BYTES_KEPT = 64 << 20, SIZE_LEAST = 64 << 10, WORD_BYTES = 64 };

/* Of cl_nv_create_buffer. */
enum { MEM_LOCATION_HOST_NV = 1, MEM_PINNED_NV = 2 };

static void destroy(struct wcodec_device *d, struct wcodec_opencl_buffers *r)
{
    if (r->word != NULL &&
        d->cl->clEnqueueUnmapMemObject(d->queue, r->flags[!r->turn], (void *)(uintptr_t)r->word, 0,
                                       NULL, NULL) == CL_SUCCESS)
        d->cl->clFinish(d->queue);
    for (unsigned i = 0; i < 2; i++)
        if (r->flags[i] != NULL)
            d->cl->clReleaseMemObject(r->flags[i]);
    if (r->block != NULL)
        d->cl->clReleaseMemObject(r->block);
    *r = (struct wcodec_opencl_buffers){.block = NULL};
}

/* A power of two: what one batch had is enough for the next, too. */
static size_t round_up(uint64_t size, size_t least)
{
    size_t n = least;
    while (n < size && n <= SIZE_MAX / 4)
        n *= 2;
    return n < size ? (size_t)size : n;
}

static bool take_kept(struct wcodec_device *d, uint64_t size, struct wcodec_opencl_buffers *buffers)
{
    struct wcodec_opencl_buffers *best = NULL;
    pthread_mutex_lock(&d->lock);
    for (unsigned i = 0; i < d->kept_count; i++) {
        struct wcodec_opencl_buffers *r = &d->kept[i];
        if (r->size >= size && (best == NULL || r->size < best->size))
            best = r;
    }
    if (best != NULL) {
        *buffers = *best;
        *best = d->kept[--d->kept_count];
    }
    pthread_mutex_unlock(&d->lock);
    return best != NULL;
}

/* A word in the host's memory. What NVIDIA's driver makes for CL_MEM_ALLOC_HOST_PTR is in the
 * device's, and mapping copies it: 3 to 4 us. */
static cl_mem create_word(const struct wcodec_device *d, cl_int *result)
{
    cl_mem word = NULL;
    if (d->create_nv != NULL)
        word = d->create_nv(d->context, CL_MEM_READ_WRITE, MEM_LOCATION_HOST_NV | MEM_PINNED_NV,
                            WORD_BYTES, NULL, result);
    return word != NULL
               ? word
               : d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       WORD_BYTES, NULL, result);
}

wcodec_status wcodec_opencl_buffers_take(struct wcodec_device *d, uint64_t size,
                                         struct wcodec_opencl_buffers *buffers, wcodec_error *err)
{
    struct wcodec_opencl_buffers r = {.size = round_up(size, SIZE_LEAST)};
    cl_int result;
    if (take_kept(d, size, buffers))
        return WCODEC_OK;
    r.block = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, r.size, NULL, &result);
    for (unsigned i = 0; i < 2 && result == CL_SUCCESS; i++)
        r.flags[i] = create_word(d, &result);
    if (result != CL_SUCCESS) {
        destroy(d, &r);
        return wcodec_opencl_no_buffer(d, result, err);
    }
    *buffers = r;
    return WCODEC_OK;
}

wcodec_status wcodec_opencl_buffers_map_flag(struct wcodec_queue *q,
                                             struct wcodec_opencl_buffers *r, wcodec_error *err)
{
    const struct wcodec_device *d = q->device;
    cl_int result = CL_SUCCESS;
    if (r->asked)
        return WCODEC_OK;
    if (r->word != NULL)
        result = d->cl->clEnqueueUnmapMemObject(wcodec_opencl_use(q), r->flags[!r->turn],
                                                (void *)(uintptr_t)r->word, 0, NULL, NULL);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clEnqueueUnmapMemObject", err);
    r->word = d->cl->clEnqueueMapBuffer(wcodec_opencl_use(q), r->flags[r->turn], CL_FALSE,
                                        CL_MAP_READ, 0, sizeof *r->word, 0, NULL, NULL, &result);
    if (result != CL_SUCCESS) {
        r->word = NULL;
        return wcodec_opencl_fail(d,
                                  result == CL_OUT_OF_RESOURCES || result == CL_MAP_FAILURE
                                      ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                                      : result,
                                  "clEnqueueMapBuffer", err);
    }
    r->turn = !r->turn;
    r->asked = true;
    return WCODEC_OK;
}

void wcodec_opencl_buffers_give(struct wcodec_device *d, struct wcodec_opencl_buffers *buffers)
{
    bool kept = false;
    if (buffers->block == NULL)
        return;
    pthread_mutex_lock(&d->lock);
    if (buffers->size <= BYTES_KEPT / WCODEC_OPENCL_BUFFERS_KEPT &&
        d->kept_count < WCODEC_OPENCL_BUFFERS_KEPT) {
        d->kept[d->kept_count++] = *buffers;
        kept = true;
    }
    pthread_mutex_unlock(&d->lock);
    if (!kept)
        destroy(d, buffers);
}

void wcodec_opencl_buffers_close(struct wcodec_device *d)
{
    while (d->kept_count > 0)
        destroy(d, &d->kept[--d->kept_count]);
}
