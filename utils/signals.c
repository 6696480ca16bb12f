/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* What a handler may touch must be of static storage. */
static volatile sig_atomic_t pending;
static pthread_t main_thread;
static bool pipe_default;

static void note_signal(int number)
{
    int saved = errno;
    if (number != SIGALRM) {
        /* Only now: before, a SIGALRM is not for us to catch. */
        struct sigaction action = {.sa_handler = note_signal};
        sigemptyset(&action.sa_mask);
        sigaction(SIGALRM, &action, NULL);
        pending = number;
    }
    /* A system call that begins after the flag was looked at, and before it was set, would wait for
     * good: it is interrupted too, every second until the end. */
    alarm(1);
    /* What waits does so in the main thread: it must see the signal. */
    if (!pthread_equal(pthread_self(), main_thread))
        pthread_kill(main_thread, number);
    errno = saved;
}

void signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler =
                                   note_signal}; /* no SA_RESTART: system calls return EINTR */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;

    main_thread = pthread_self();
    sigemptyset(&action.sa_mask);
    sigemptyset(&ignore.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    if (sigaction(SIGPIPE, &ignore, &before) == 0)
        pipe_default = before.sa_handler == SIG_DFL;
    sigaction(SIGXFSZ, &ignore, NULL);
}

bool signals_pending(void)
{
    return pending != 0;
}

bool signals_note_pipe(int error)
{
    if (error != EPIPE || !pipe_default)
        return false;
    if (!pending)
        pending = SIGPIPE;
    return true;
}

void signals_raise(void)
{
    int number = pending;
    if (!number)
        return;
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;
    sigemptyset(&action.sa_mask);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigaction(number, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}
