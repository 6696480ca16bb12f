/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/keep.h"
#include "core/assert.h"

struct wcodec_memory *wcodec_keep_take(struct wcodec_keep *k, enum wcodec_memory_kind kind,
                                       uint64_t *size)
{
    struct wcodec_memory *memory = NULL;
    unsigned best = WCODEC_KEEP_MAX;
    pthread_mutex_lock(&k->lock);
    for (unsigned i = 0; i < k->count; i++)
        if (k->items[i].kind == kind && k->items[i].size >= *size &&
            k->items[i].size / 2 <= *size &&
            (best == WCODEC_KEEP_MAX || k->items[i].size < k->items[best].size))
            best = i;
    if (best != WCODEC_KEEP_MAX) {
        memory = k->items[best].memory;
        *size = k->items[best].size;
        k->items[best] = k->items[--k->count];
    }
    pthread_mutex_unlock(&k->lock);
    return memory;
}

bool wcodec_keep_give(struct wcodec_keep *k, struct wcodec_memory *memory,
                      enum wcodec_memory_kind kind, uint64_t size)
{
    WCODEC_ASSERT(memory != NULL && size != 0);
    uint64_t kept = 0;
    pthread_mutex_lock(&k->lock);
    for (unsigned i = 0; i < k->count; i++)
        if (k->items[i].kind == kind)
            kept += k->items[i].size;
    WCODEC_ASSERT(kept <= WCODEC_KEEP_BYTES && k->count <= WCODEC_KEEP_MAX);
    bool taken = k->count < WCODEC_KEEP_MAX && size <= WCODEC_KEEP_BYTES - kept;
    if (taken) {
        k->items[k->count].memory = memory;
        k->items[k->count].kind = kind;
        k->items[k->count++].size = size;
    }
    pthread_mutex_unlock(&k->lock);
    return taken;
}

struct wcodec_queue *wcodec_keep_take_queue(struct wcodec_keep *k)
{
    pthread_mutex_lock(&k->lock);
    struct wcodec_queue *queue = k->queue_count > 0 ? k->queues[--k->queue_count] : NULL;
    pthread_mutex_unlock(&k->lock);
    return queue;
}

bool wcodec_keep_give_queue(struct wcodec_keep *k, struct wcodec_queue *queue)
{
    WCODEC_ASSERT(queue != NULL);
    pthread_mutex_lock(&k->lock);
    const bool taken = k->queue_count < WCODEC_KEEP_QUEUES;
    if (taken)
        k->queues[k->queue_count++] = queue;
    pthread_mutex_unlock(&k->lock);
    return taken;
}

void wcodec_keep_free(struct wcodec_keep *k, const struct wcodec_backend *backend,
                      enum wcodec_memory_kind kind)
{
    pthread_mutex_lock(&k->lock);
    for (unsigned i = k->count; i-- > 0;)
        if (k->items[i].kind == kind) {
            backend->memory_free(k->items[i].memory);
            k->items[i] = k->items[--k->count];
        }
    pthread_mutex_unlock(&k->lock);
}

bool wcodec_keep_empty(struct wcodec_keep *k, const struct wcodec_backend *backend)
{
    pthread_mutex_lock(&k->lock);
    const bool any = k->count > 0 || k->queue_count > 0;
    while (k->queue_count > 0)
        backend->queue_destroy(k->queues[--k->queue_count]);
    while (k->count > 0)
        backend->memory_free(k->items[--k->count].memory);
    pthread_mutex_unlock(&k->lock);
    return any;
}
