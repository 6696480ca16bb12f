/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "sched/pool.h"
#include "core/assert.h"
#include "core/memory.h"
#include <stdatomic.h>
#include <stdbool.h>

/* One call of wcodec_pool_run(), on its caller's stack. */
struct batch {
    void (*task)(void *argument, size_t i);
    void *argument;
    size_t count;
    atomic_size_t next; /* first task that nobody has taken */
    atomic_uint inside; /* threads at it, beside its caller; changed with the pool's lock held */
    struct batch *later;
    const struct batch *parent; /* whose task its caller is at; NULL: none */
};

/* The batch whose task this thread is at: says which batches are part of which. */
static _Thread_local const struct batch *current;

struct worker {
    struct wcodec_pool *pool;
    pthread_t thread;
    unsigned number;
};

struct wcodec_pool {
    struct wcodec_pool_settings settings;
    wcodec_allocator allocator;
    pthread_mutex_t lock;
    pthread_cond_t work; /* a batch has come, or the end */
    pthread_cond_t
        left; /* a thread has left a batch, or a batch has come and somebody waits who might help */
    struct batch *first;             /* batches that may have tasks to take, oldest first */
    unsigned asleep, awake, waiting; /* workers without a batch, asleep and not yet; callers whose
                                        tasks are all taken and not all ended */
    atomic_uint news; /* batches that came, and the end: counted for those who are awake; changed
                         with the lock held */
    bool end;
    unsigned worker_count;
    struct worker workers[];
};

/* Tell the processor that this is a loop that waits. */
static void pause_briefly(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

/* Before going to sleep, stay awake for a while until there is news or (where `busy` is given) it
 * is 0: to wake a thread takes longer than many a batch. Called and left with the lock held, which
 * is let go meanwhile. */
static void linger(struct wcodec_pool *pool, atomic_uint *busy)
{
    const unsigned seen = atomic_load_explicit(&pool->news, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->settings.linger; i++) {
        if (atomic_load_explicit(&pool->news, memory_order_relaxed) != seen ||
            (busy != NULL && atomic_load_explicit(busy, memory_order_relaxed) == 0))
            break;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->lock);
}

static void take_tasks(struct batch *batch)
{
    const struct batch *before = current;
    current = batch;
    for (;;) {
        /* Relaxed: the lock orders what tasks read and write against the caller's. */
        size_t i = atomic_fetch_add_explicit(&batch->next, 1, memory_order_relaxed);
        if (i >= batch->count)
            break;
        batch->task(batch->argument, i);
    }
    current = before;
}

/* Put a batch at the end of the list and wake as many as it has tasks for. Called with the lock
 * held. */
static void list(struct wcodec_pool *pool, struct batch *batch)
{
    struct batch **end = &pool->first;
    while (*end != NULL)
        end = &(*end)->later;
    *end = batch;
    atomic_fetch_add_explicit(&pool->news, 1, memory_order_relaxed);
    /* The caller takes one, and who is awake sees it come. */
    const size_t needed = batch->count - 1 > pool->awake ? batch->count - 1 - pool->awake : 0;
    if (needed >= pool->asleep)
        pthread_cond_broadcast(&pool->work);
    else
        for (size_t i = 0; i < needed; i++)
            pthread_cond_signal(&pool->work);
    if (pool->waiting != 0)
        pthread_cond_broadcast(&pool->left);
}

/* Take a batch off the list if it is still there. Called with the lock held. */
static void unlist(struct wcodec_pool *pool, const struct batch *batch)
{
    for (struct batch **b = &pool->first; *b != NULL; b = &(*b)->later) {
        if (*b == batch) {
            *b = batch->later;
            return;
        }
    }
}

/* Enter a listed batch, take of its tasks, leave it. Called and left with the lock held. */
static void join(struct wcodec_pool *pool, struct batch *batch)
{
    atomic_fetch_add_explicit(&batch->inside, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
    take_tasks(batch);
    pthread_mutex_lock(&pool->lock);
    unlist(pool, batch);
    if (atomic_fetch_sub_explicit(&batch->inside, 1, memory_order_relaxed) == 1)
        pthread_cond_broadcast(&pool->left);
}

/* A listed batch that a task of `batch` runs, itself or by way of others; NULL: none. While a batch
 * is listed its parents' callers wait for it, so that all of them exist. */
static struct batch *find_part(const struct wcodec_pool *pool, const struct batch *batch)
{
    for (struct batch *b = pool->first; b != NULL; b = b->later)
        for (const struct batch *p = b->parent; p != NULL; p = p->parent)
            if (p == batch)
                return b;
    return NULL;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct wcodec_pool *pool = worker->pool;
    if (pool->settings.bind != NULL)
        pool->settings.bind(pool->settings.opaque, worker->number);
    pthread_mutex_lock(&pool->lock);
    for (bool lingered = false; !pool->end;) {
        if (pool->first != NULL) {
            join(pool, pool->first);
            lingered = false;
        } else if (!lingered) {
            pool->awake++;
            linger(pool, NULL);
            pool->awake--;
            lingered = true;
        } else {
            pool->asleep++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->asleep--;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void start_workers(struct wcodec_pool *pool)
{
    for (unsigned i = 0; i < pool->settings.workers; i++) {
        struct worker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->number = i;
        if (wcodec_thread_start_by(pool->settings.create, &worker->thread, work, worker) != 0)
            break;
        pool->worker_count = i + 1;
    }
}

struct wcodec_pool *wcodec_pool_create(const struct wcodec_pool_settings *settings)
{
    WCODEC_ASSERT(settings->allocator != NULL);
    uint64_t size =
        sizeof(struct wcodec_pool) + (uint64_t)settings->workers * sizeof(struct worker);
    struct wcodec_pool *pool =
        size <= SIZE_MAX ? wcodec_alloc_zeroed(settings->allocator, (size_t)size) : NULL;
    if (pool == NULL)
        return NULL;
    pool->settings = *settings;
    pool->allocator = *settings->allocator;
    atomic_init(&pool->news, 0);
    if (pool->settings.create == NULL)
        pool->settings.create = pthread_create;
    if (pthread_mutex_init(&pool->lock, NULL) != 0)
        goto free_pool;
    if (pthread_cond_init(&pool->work, NULL) != 0)
        goto destroy_lock;
    if (pthread_cond_init(&pool->left, NULL) != 0)
        goto destroy_work;
    start_workers(pool);
    return pool;

destroy_work:
    pthread_cond_destroy(&pool->work);
destroy_lock:
    pthread_mutex_destroy(&pool->lock);
free_pool:
    wcodec_free(settings->allocator, pool);
    return NULL;
}

unsigned wcodec_pool_workers(const struct wcodec_pool *pool)
{
    return pool->worker_count;
}

void wcodec_pool_run(struct wcodec_pool *pool, void (*task)(void *argument, size_t i),
                     void *argument, size_t count)
{
    WCODEC_ASSERT(task != NULL);
    /* Beyond half of size_t the counter could wrap; and one task, or no worker, needs no list. */
    if (count < 2 || count > SIZE_MAX / 2 || pool->worker_count == 0) {
        for (size_t i = 0; i < count; i++)
            task(argument, i);
        return;
    }
    struct batch batch = {.task = task, .argument = argument, .count = count, .parent = current};
    atomic_init(&batch.next, 0);
    atomic_init(&batch.inside, 0);

    pthread_mutex_lock(&pool->lock);
    list(pool, &batch);
    pthread_mutex_unlock(&pool->lock);

    take_tasks(&batch);

    /* Who waits for a task helps with what that task runs in parallel, and with nothing else: so
     * nobody comes back late, and stacks stay as deep as batches are nested. */
    pthread_mutex_lock(&pool->lock);
    unlist(pool, &batch);
    for (bool lingered = false; atomic_load_explicit(&batch.inside, memory_order_relaxed) != 0;) {
        struct batch *part = find_part(pool, &batch);
        if (part != NULL) {
            join(pool, part);
            lingered = false;
        } else if (!lingered) {
            linger(pool, &batch.inside);
            lingered = true;
        } else {
            pool->waiting++;
            pthread_cond_wait(&pool->left, &pool->lock);
            pool->waiting--;
        }
    }
    pthread_mutex_unlock(&pool->lock);
}

void wcodec_pool_destroy(struct wcodec_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    WCODEC_ASSERT(pool->first == NULL && pool->waiting == 0);
    pool->end = true;
    atomic_fetch_add_explicit(&pool->news, 1, memory_order_relaxed);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    wcodec_pool_abandon(pool);
}

void wcodec_pool_abandon(struct wcodec_pool *pool)
{
    if (pool == NULL)
        return;
    wcodec_allocator allocator = pool->allocator;
    wcodec_free(&allocator, pool);
}
