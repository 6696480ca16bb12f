/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Memory of batches, kept from one to the next. */
#include "backends/cuda/cuda.h"

enum { SLAB_LEAST = 64 << 10 };
#define POOL_MOST ((uint64_t)64 << 20) /* bytes kept */

static void slab_free(const struct wcodec_device *d, struct wcodec_cuda_slab *slab)
{
    if (slab->memory != 0)
        d->cu->release(slab->memory);
    if (slab->host != NULL)
        d->cu->host_release(slab->host);
    d->host->allocator->release(d->host->allocator->opaque, slab);
}

/* The smallest that is large enough, but none that is mostly waste. */
static struct wcodec_cuda_slab *pool_find(struct wcodec_cuda_pool *pool, uint64_t size)
{
    struct wcodec_cuda_slab **best = NULL;
    for (struct wcodec_cuda_slab **p = &pool->free; *p != NULL; p = &(*p)->next)
        if ((*p)->size >= size && (*p)->size / 8 <= size &&
            (best == NULL || (*p)->size < (*best)->size))
            best = p;
    if (best == NULL)
        return NULL;
    struct wcodec_cuda_slab *slab = *best;
    *best = slab->next;
    pool->size -= slab->size;
    return slab;
}

static wcodec_status slab_allocate(struct wcodec_device *d, uint64_t size,
                                   struct wcodec_cuda_slab **slab, wcodec_error *err)
{
    struct wcodec_cuda_slab *s =
        d->host->allocator->allocate(d->host->allocator->opaque, sizeof *s);
    if (s == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a batch");
    *s = (struct wcodec_cuda_slab){.size = SLAB_LEAST};
    while (s->size < size)
        s->size += s->size / 2;
    cu_result result = d->cu->allocate(&s->memory, s->size);
    const char *call = "cuMemAlloc";
    if (result == 0) {
        call = "cuMemHostAlloc";
        result = d->cu->host_allocate((void **)&s->host, s->size, CU_HOST_PORTABLE_MAPPED);
        if (result == 0)
            result = d->cu->host_pointer(&s->host_address, s->host, 0);
    }
    if (result != 0) {
        const wcodec_status status = wcodec_cuda_fail(d, result, call, err);
        slab_free(d, s);
        return status;
    }
    *slab = s;
    return WCODEC_OK;
}

wcodec_status wcodec_cuda_slab_take(struct wcodec_device *d, uint64_t size,
                                    struct wcodec_cuda_slab **slab, wcodec_error *err)
{
    pthread_mutex_lock(&d->pool.lock);
    struct wcodec_cuda_slab *found = pool_find(&d->pool, size < SLAB_LEAST ? SLAB_LEAST : size);
    pthread_mutex_unlock(&d->pool.lock);
    if (found == NULL)
        return slab_allocate(d, size, slab, err);
    *slab = found;
    return WCODEC_OK;
}

void wcodec_cuda_slab_give(struct wcodec_device *d, struct wcodec_cuda_slab *slab)
{
    pthread_mutex_lock(&d->pool.lock);
    const bool keep = d->pool.size + slab->size <= POOL_MOST;
    if (keep) {
        slab->next = d->pool.free;
        d->pool.free = slab;
        d->pool.size += slab->size;
    }
    pthread_mutex_unlock(&d->pool.lock);
    if (!keep)
        slab_free(d, slab);
}

void wcodec_cuda_slabs_free(struct wcodec_device *d)
{
    for (struct wcodec_cuda_slab *s = d->pool.free, *next; s != NULL; s = next) {
        next = s->next;
        slab_free(d, s);
    }
    d->pool.free = NULL;
}
