/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/context.h"
#include "core/assert.h"
#include "registry/registry.h"
#include "core/bytes.h"
#include "core/conf.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/options.h"
#include "sched/pool.h"
#include "sched/quota.h"
#include "sched/topology.h"
#include <stdatomic.h>
#include <unistd.h>

void wcodec_options_init_size(wcodec_options *options, size_t size)
{
    const wcodec_options defaults = {0};
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static wcodec_status check_reserved(const wcodec_options *o, wcodec_error *err)
{
    wcodec_status status = wcodec_reserved_check(
        o->allocator.reserved, sizeof o->allocator.reserved, "options' allocator", err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(o->executor.reserved, sizeof o->executor.reserved,
                                       "options' executor", err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(o->limits.reserved, sizeof o->limits.reserved,
                                       "options' limits", err);
    return status;
}

static wcodec_status check_options(const wcodec_options *o, wcodec_error *err)
{
    const wcodec_allocator *a = &o->allocator;
    unsigned functions =
        (a->allocate ? 1u : 0u) + (a->reallocate ? 1u : 0u) + (a->release ? 1u : 0u);
    if (functions != 0 && functions != 3)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "options.allocator has %u of its 3 functions: expected all or none",
                           functions);
    if (o->threads > WCODEC_THREADS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "options.threads is %u: expected at most %d",
                           o->threads, WCODEC_THREADS_MAX);
    if (o->executor.run != NULL &&
        (o->executor.concurrency < 1 || o->executor.concurrency > WCODEC_THREADS_MAX))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "options.executor.concurrency is %u: expected 1 to %d",
                           o->executor.concurrency, WCODEC_THREADS_MAX);
    if ((unsigned)o->log_level > WCODEC_LOG_DEBUG)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "options.log_level is %u: expected 0 to %d",
                           (unsigned)o->log_level, WCODEC_LOG_DEBUG);
    return check_reserved(o, err);
}

static void set_limits(wcodec_limits *limits)
{
    if (limits->max_memory == 0)
        limits->max_memory = UINT64_MAX;
    if (limits->max_tensor_bytes == 0)
        limits->max_tensor_bytes = (uint64_t)1 << 48;
    if (limits->max_index_bytes == 0)
        limits->max_index_bytes = (uint64_t)4 << 30;
    if (limits->max_tensors == 0)
        limits->max_tensors = (uint64_t)1 << 24;
}

/* What needs no memory of its own. */
static void apply_settings(wcodec_context *context, const wcodec_options *o,
                           const struct wcodec_conf *conf)
{
    context->executor = o->executor;
    context->threads_set = o->threads ? o->threads : conf->threads;
    context->bind_threads = o->bind_threads != 0;
    context->limits = o->limits;
    set_limits(&context->limits);
    context->log = o->log != NULL ? o->log : conf->log ? wcodec_log_stderr : NULL;
    context->log_opaque = o->log_opaque;
    context->log_level = o->log_level ? o->log_level
                         : conf->log  ? conf->log_level
                                      : WCODEC_LOG_WARNING;
    context->cpu_mask = conf->cpu_mask;
    context->pid = getpid();
}

static bool copy_text(const wcodec_allocator *allocator, const char *text, char **copy)
{
    *copy = text != NULL ? wcodec_strdup(allocator, text) : NULL;
    return text == NULL || *copy != NULL;
}

wcodec_status wcodec_context_create(const wcodec_options *options, wcodec_context **context,
                                    wcodec_error *err)
{
    if (context == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "context is NULL");
    wcodec_options o = {0};
    struct wcodec_conf conf;
    wcodec_status status = wcodec_options_take(options, &o, sizeof o, "wcodec_options_init", err);
    if (status == WCODEC_OK)
        status = check_options(&o, err);
    if (status == WCODEC_OK)
        status = wcodec_conf_read(&conf, err);
    if (status != WCODEC_OK)
        return status;

    wcodec_allocator allocator =
        o.allocator.allocate != NULL ? o.allocator : wcodec_default_allocator;
    wcodec_context *c = wcodec_alloc_zeroed(&allocator, sizeof *c);
    if (c == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a context");
    c->allocator = allocator;
    apply_settings(c, &o, &conf);
    if (pthread_mutex_init(&c->lock, NULL) != 0)
        goto free_context;
    if (pthread_mutex_init(&c->log_lock, NULL) != 0)
        goto destroy_lock;
    if (pthread_mutex_init(&c->kept_lock, NULL) != 0)
        goto destroy_log_lock;
    if (!copy_text(&allocator, o.backend != NULL && o.backend[0] ? o.backend : conf.backend,
                   &c->backend) ||
        !copy_text(&allocator, conf.backend_path, &c->backend_path)) {
        wcodec_context_destroy(c);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a context");
    }
    c->backend_origin = o.backend != NULL && o.backend[0] ? "the backend" : "WCODEC_BACKEND";
    status = wcodec_backends_create(c, err);
    if (status == WCODEC_OK)
        *context = c;
    else
        wcodec_context_destroy(c);
    return status;

destroy_log_lock:
    pthread_mutex_destroy(&c->log_lock);
destroy_lock:
    pthread_mutex_destroy(&c->lock);
free_context:
    wcodec_free(&allocator, c);
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a context");
}

static bool is_forked(const wcodec_context *context)
{
    return getpid() != context->pid;
}

void wcodec_context_destroy(wcodec_context *context)
{
    if (context == NULL)
        return;
    /* In a forked child there are no workers to end, and the locks may be held by threads that do
     * not exist. */
    bool forked = is_forked(context);
    wcodec_backends_destroy(context->backends, forked);
    if (forked) {
        wcodec_pool_abandon(context->pool);
    } else {
        wcodec_pool_destroy(context->pool);
        pthread_mutex_destroy(&context->kept_lock);
        pthread_mutex_destroy(&context->log_lock);
        pthread_mutex_destroy(&context->lock);
    }
    if (context->kept != NULL)
        context->free_kept(context->kept);
    wcodec_topology_free(context->topology);
    wcodec_zstd_free(&context->zstd);
    wcodec_allocator allocator = context->allocator;
    wcodec_free(&allocator, context->backend);
    wcodec_free(&allocator, context->backend_path);
    wcodec_free(&allocator, context);
}

wcodec_status wcodec_context_usable(const wcodec_context *context, wcodec_error *err)
{
    if (context == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the context is NULL");
    if (is_forked(context))
        return wcodec_fail(
            err, WCODEC_ERROR_USAGE,
            "the context was made by process %ld, before fork(): make a new one in this process",
            (long)context->pid);
    return WCODEC_OK;
}

/* Load the topology if that has not been done. Called with the lock held; false: out of memory. */
static bool have_topology(wcodec_context *context)
{
    const struct wcodec_topology_probe here = {0};
    if (context->topology != NULL)
        return true;
    if (wcodec_topology_load(&context->allocator, &here, &context->topology, NULL) != WCODEC_OK)
        return false;
    wcodec_log(context, WCODEC_LOG_DEBUG, "%u usable cores on %u NUMA node%s, by %s",
               wcodec_topology_cores(context->topology), wcodec_topology_nodes(context->topology),
               wcodec_topology_nodes(context->topology) == 1 ? "" : "s",
               wcodec_topology_source(context->topology));
    return true;
}

/* One worker a usable core, but not more than the control groups grant time for. */
static unsigned find_threads(wcodec_context *context)
{
    if (!have_topology(context))
        return 1;
    unsigned threads = wcodec_topology_cores(context->topology), quota = wcodec_quota_cpus("");
    if (quota != 0 && quota < threads)
        threads = quota;
    context->threads_found = threads < WCODEC_THREADS_MAX ? threads : WCODEC_THREADS_MAX;
    return context->threads_found;
}

unsigned wcodec_context_threads(const wcodec_context *context)
{
    if (context == NULL)
        return 1;
    if (context->executor.run != NULL)
        return context->executor.concurrency;
    if (context->threads_set != 0)
        return context->threads_set;
    if (is_forked(context))
        return 1;
    /* Found on first use; contexts are never const objects. */
    wcodec_context *c = (wcodec_context *)(uintptr_t)context;
    pthread_mutex_lock(&c->lock);
    unsigned threads = c->threads_found != 0 ? c->threads_found : find_threads(c);
    pthread_mutex_unlock(&c->lock);
    return threads;
}

/* Bind a worker to its core. The first core is left to the thread that calls, which is not ours to
 * bind. */
static void bind_worker(void *opaque, unsigned worker)
{
    wcodec_context *context = opaque;
    if (worker + 1 < wcodec_topology_cores(context->topology) &&
        !wcodec_topology_bind(context->topology, worker + 1))
        wcodec_log(context, WCODEC_LOG_WARNING, "worker %u could not be bound to its core",
                   worker + 1);
}

/* Pauses for which threads stay awake between batches, some 10 to 50 microseconds: decoding one
 * small tensor after the other, the next batch mostly comes sooner than that. */
enum { LINGER = 1000 };

/* The pool, started on first use; NULL if there is no memory for it. */
static struct wcodec_pool *get_pool(wcodec_context *context, unsigned threads)
{
    pthread_mutex_lock(&context->lock);
    if (context->pool == NULL) {
        struct wcodec_pool_settings settings = {
            .allocator = &context->allocator, .workers = threads - 1, .opaque = context};
        /* Not where threads share cores: there who waits is in the way of who works. */
        if (threads <=
            (context->threads_found != 0 ? context->threads_found : find_threads(context)))
            settings.linger = LINGER;
        if (context->bind_threads && have_topology(context))
            settings.bind = bind_worker;
        context->pool = wcodec_pool_create(&settings);
        if (context->pool != NULL && wcodec_pool_workers(context->pool) < threads - 1)
            wcodec_log(context, WCODEC_LOG_WARNING, "%u of %u worker threads could be started",
                       wcodec_pool_workers(context->pool), threads - 1);
    }
    struct wcodec_pool *pool = context->pool;
    pthread_mutex_unlock(&context->lock);
    return pool;
}

void wcodec_run(wcodec_context *context, void (*task)(void *argument, size_t i), void *argument,
                size_t count)
{
    WCODEC_ASSERT(context != NULL && task != NULL);
    if (count > 1 && !is_forked(context)) {
        if (context->executor.run != NULL) {
            context->executor.run(context->executor.opaque, task, argument, count);
            return;
        }
        unsigned threads = wcodec_context_threads(context);
        struct wcodec_pool *pool = threads > 1 ? get_pool(context, threads) : NULL;
        if (pool != NULL) {
            wcodec_pool_run(pool, task, argument, count);
            return;
        }
    }
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

struct beside {
    pthread_t caller;
    void (*mine)(void *argument);
    void (*other)(void *argument);
    void *argument;
    atomic_flag mine_taken, other_taken;
};

static void beside_task(void *argument, size_t i)
{
    struct beside *b = argument;
    (void)i;
    if (pthread_equal(pthread_self(), b->caller) && !atomic_flag_test_and_set(&b->mine_taken))
        b->mine(b->argument);
    else if (!atomic_flag_test_and_set(&b->other_taken))
        b->other(b->argument);
}

void wcodec_run_beside(wcodec_context *context, void (*mine)(void *argument),
                       void (*other)(void *argument), void *argument)
{
    struct beside b = {pthread_self(), mine, other, argument, ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT};
    wcodec_run(context, beside_task, &b, 2);
    /* An executor may have had no use for the calling thread. */
    if (!atomic_flag_test_and_set(&b.mine_taken))
        mine(argument);
}
