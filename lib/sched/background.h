/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Work that runs beside the caller, who asks for it by a handle: on a thread of its own, which gets
 * no signals, since those are the program's. */
#ifndef WCODEC_SCHED_BACKGROUND_H
#define WCODEC_SCHED_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>
#include <wcodec/base.h>

/* Of each thread that the library starts: neither a small default (musl) nor a large one (ulimit
 * -s, times the threads) decides. */
enum { WCODEC_STACK_SIZE = 2 << 20 };

/* Start a thread with such a stack that gets no signals, which are for the program's own threads.
 * 0, or an error number. */
int wcodec_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
/* The same by pthread_create(), or by what a test has in its place. */
typedef int wcodec_thread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                 void *(*run)(void *), void *argument);
int wcodec_thread_start_by(wcodec_thread_create *create, pthread_t *thread, void *(*run)(void *),
                           void *argument);

struct wcodec_background {
    wcodec_status (*run)(void *opaque, wcodec_error *err);
    void *opaque;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    bool ended;
    wcodec_status status;
    wcodec_error error;
};

/* Start run(opaque). The structure stays where it is until wcodec_background_join().
 * WCODEC_ERROR_MEMORY: nothing runs, and there is nothing to end. */
wcodec_status wcodec_background_start(struct wcodec_background *background,
                                      wcodec_status (*run)(void *opaque, wcodec_error *err),
                                      void *opaque, wcodec_error *err);

/* Has run() returned? From any thread, as often as wanted. */
bool wcodec_background_ended(struct wcodec_background *background);

/* Wait for that and return what it returned, with its error text. From any thread, as often as
 * wanted. */
wcodec_status wcodec_background_wait(struct wcodec_background *background, wcodec_error *err);

/* Wait for the end of the thread and free what the structure has. Once. */
void wcodec_background_join(struct wcodec_background *background);

#endif
