/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Worker threads that run batches of equal tasks. A caller takes part in his own batch and waits
 * only for threads that are inside it, so several threads may run batches at once, and a task may
 * run a batch of its own: nobody ever waits for a thread that waits for him. Who waits helps with
 * the batches that the tasks run for which he waits. */
#ifndef WCODEC_SCHED_POOL_H
#define WCODEC_SCHED_POOL_H

#include "sched/background.h"
#include <wcodec/context.h>

struct wcodec_pool;

struct wcodec_pool_settings {
    const wcodec_allocator *allocator;
    unsigned workers; /* threads to start, beside the callers */
    unsigned linger;  /* pauses of the processor (some 10 to 50 ns each) for which a thread without
                         work stays awake before it sleeps; 0: none */
    /* Called first in each worker, with its number; NULL: nothing to do. */
    void (*bind)(void *opaque, unsigned worker);
    void *opaque;
    /* pthread_create(), or what a test has in its place. NULL: pthread_create(). */
    wcodec_thread_create *create;
};

/* Start the workers, with all signals blocked. Where not all can be started there are fewer, none
 * in the end. NULL: out of memory. */
struct wcodec_pool *wcodec_pool_create(const struct wcodec_pool_settings *settings);

/* Workers that could be started. */
unsigned wcodec_pool_workers(const struct wcodec_pool *pool);

/* Run task(argument, i) for i in [0, count) and return when all have ended. What they wrote is seen
 * by the caller. */
void wcodec_pool_run(struct wcodec_pool *pool, void (*task)(void *argument, size_t i),
                     void *argument, size_t count);

/* End the workers and free. No batch may be running. NULL is ignored. */
void wcodec_pool_destroy(struct wcodec_pool *pool);

/* Free in a process forked after the pool was made: there the workers do not exist. NULL is
 * ignored. */
void wcodec_pool_abandon(struct wcodec_pool *pool);

#endif
