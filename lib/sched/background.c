/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "sched/background.h"
#include "core/error.h"
#include <errno.h>
#include <signal.h>

int wcodec_thread_start_by(wcodec_thread_create *create, pthread_t *thread, void *(*run)(void *),
                           void *argument)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    /* Ones that a thread causes itself are its own: the kernel would end a process that blocks
     * them.
     */
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return EAGAIN;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        pthread_attr_setstacksize(&attributes, WCODEC_STACK_SIZE);
        error = create(thread, &attributes, run, argument);
        pthread_attr_destroy(&attributes);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int wcodec_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    return wcodec_thread_start_by(pthread_create, thread, run, argument);
}

static void *work(void *argument)
{
    struct wcodec_background *b = argument;
    wcodec_error error = {0};
    const wcodec_status status = b->run(b->opaque, &error);
    pthread_mutex_lock(&b->lock);
    b->status = status;
    b->error = error;
    b->ended = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

wcodec_status wcodec_background_start(struct wcodec_background *background,
                                      wcodec_status (*run)(void *opaque, wcodec_error *err),
                                      void *opaque, wcodec_error *err)
{
    struct wcodec_background *b = background;
    *b = (struct wcodec_background){.run = run, .opaque = opaque};
    if (pthread_mutex_init(&b->lock, NULL) != 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    if (pthread_cond_init(&b->changed, NULL) == 0) {
        if (wcodec_thread_start(&b->thread, work, b) == 0)
            return WCODEC_OK;
        pthread_cond_destroy(&b->changed);
    }
    pthread_mutex_destroy(&b->lock);
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "no thread can be started");
}

bool wcodec_background_ended(struct wcodec_background *background)
{
    pthread_mutex_lock(&background->lock);
    const bool ended = background->ended;
    pthread_mutex_unlock(&background->lock);
    return ended;
}

wcodec_status wcodec_background_wait(struct wcodec_background *background, wcodec_error *err)
{
    struct wcodec_background *b = background;
    pthread_mutex_lock(&b->lock);
    while (!b->ended)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
    return b->status == WCODEC_OK ? WCODEC_OK : wcodec_fail(err, b->status, "%s", b->error.text);
}

void wcodec_background_join(struct wcodec_background *background)
{
    pthread_join(background->thread, NULL);
    pthread_cond_destroy(&background->changed);
    pthread_mutex_destroy(&background->lock);
}
