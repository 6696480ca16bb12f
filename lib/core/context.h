/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The context, as the library's files see it. */
#ifndef WCODEC_CORE_CONTEXT_H
#define WCODEC_CORE_CONTEXT_H

#include "core/zstd.h"
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <wcodec/context.h>

struct wcodec_backends;
struct wcodec_pool;
struct wcodec_topology;

struct wcodec_context {
    wcodec_allocator allocator;
    wcodec_limits limits;     /* with defaults filled in */
    wcodec_executor executor; /* the caller's; run NULL: the pool */
    wcodec_log_fn log;
    void *log_opaque;
    wcodec_log_level log_level;
    unsigned threads_set; /* option or WCODEC_THREADS, 0: by the machine; read it by
                             wcodec_context_threads() */
    bool bind_threads;
    pid_t pid;                  /* of the process that made it: after fork() it must not be used */
    char *backend;              /* option or WCODEC_BACKEND, NULL: auto */
    const char *backend_origin; /* which of them, for error texts */
    char *backend_path;         /* WCODEC_BACKEND_PATH or NULL */
    uint32_t cpu_mask;          /* WCODEC_CPU_MASK: levels that may be used */
    struct wcodec_topology *topology; /* loaded on first use */
    struct wcodec_pool *pool;         /* started on first use */
    struct wcodec_backends *backends; /* made with the context; opened on first use, or at once
                                         where asked for by name */
    pthread_mutex_t lock;             /* guards the lazy members, and the counting of cores */
    unsigned threads_found;           /* the machine's answer; 0: not asked yet */
    pthread_mutex_t log_lock;         /* one line at a time */
    struct wcodec_zstd zstd;
    pthread_mutex_t kept_lock; /* guards what follows while it is used */
    void *kept;                /* what format/onnx_kept.c keeps; NULL: nothing */
    void (*free_kept)(void *kept);
};

/* WCODEC_ERROR_USAGE in a process forked from the one that made the context. */
wcodec_status wcodec_context_usable(const wcodec_context *context, wcodec_error *err);

/* Run task(argument, i) for i in [0, count) on the context's threads (or the caller's executor) and
 * wait. Tasks report by what `argument` points to. With one thread, or when threads cannot be
 * started, it runs in the calling thread. Several threads may call it at once. */
void wcodec_run(wcodec_context *context, void (*task)(void *argument, size_t i), void *argument,
                size_t count);

/* Run mine(argument) in the calling thread and other(argument), beside it if another thread is
 * free, and wait for both. */
void wcodec_run_beside(wcodec_context *context, void (*mine)(void *argument),
                       void (*other)(void *argument), void *argument);

#endif
