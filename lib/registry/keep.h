/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Staging memory of a device, and queues, that are kept from one use to the next: pinning memory
 * takes longer than copying it, and making a queue longer than giving it little. */
#ifndef WCODEC_REGISTRY_KEEP_H
#define WCODEC_REGISTRY_KEEP_H

#include "backends/backend.h"
#include <pthread.h>

enum { WCODEC_KEEP_MAX = 256, WCODEC_KEEP_QUEUES = 64 };

/* Most bytes of each kind that are kept. */
#define WCODEC_KEEP_BYTES ((uint64_t)512 << 20)

struct wcodec_keep {
    pthread_mutex_t lock;
    unsigned count;
    struct {
        struct wcodec_memory *memory;
        enum wcodec_memory_kind kind;
        uint64_t size;
    } items[WCODEC_KEEP_MAX];
    unsigned queue_count;
    struct wcodec_queue *queues[WCODEC_KEEP_QUEUES];
};

/* Memory of at least *size bytes and not of much more; *size becomes its size. NULL: there is none.
 */
struct wcodec_memory *wcodec_keep_take(struct wcodec_keep *keep, enum wcodec_memory_kind kind,
                                       uint64_t *size);

/* Take over memory that no queue works on. False: it stays the caller's. */
bool wcodec_keep_give(struct wcodec_keep *keep, struct wcodec_memory *memory,
                      enum wcodec_memory_kind kind, uint64_t size);

/* A queue that has nothing to do; NULL: there is none. */
struct wcodec_queue *wcodec_keep_take_queue(struct wcodec_keep *keep);

/* Take over a queue that was waited for, and is not the caller's. False: it stays the caller's. */
bool wcodec_keep_give_queue(struct wcodec_keep *keep, struct wcodec_queue *queue);

/* Free what there is of a kind. */
void wcodec_keep_free(struct wcodec_keep *keep, const struct wcodec_backend *backend,
                      enum wcodec_memory_kind kind);

/* Free all, for others who need it, or at the end. False: there was none. */
bool wcodec_keep_empty(struct wcodec_keep *keep, const struct wcodec_backend *backend);

#endif
