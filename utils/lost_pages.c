/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/lost_pages.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* FreeBSD has none: it reserves nothing. */
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

enum { WATCHED = 4 };

static struct {
    _Atomic(uintptr_t) begin; /* 0: none; set last, for the handler */
    _Atomic(uintptr_t) end;
    atomic_bool lost;
} watched[WATCHED];

static _Atomic(uintptr_t) page_size;

bool lost_pages_replace(void *address)
{
    const uintptr_t at = (uintptr_t)address, page = atomic_load(&page_size);
    const int error = errno;
    for (size_t i = 0; i < WATCHED; i++) {
        const uintptr_t begin = atomic_load(&watched[i].begin), end = atomic_load(&watched[i].end);
        if (begin == 0 || at < begin || at >= end)
            continue;
        unsigned char *first = (unsigned char *)address - at % page;
        atomic_store(&watched[i].lost, true);
        const bool good =
            mmap(first, (size_t)(end - (uintptr_t)first), PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
        errno = error;
        return good;
    }
    return false;
}

/* SI_USER is more than 0 on FreeBSD and macOS. */
bool lost_pages_is_sent(const siginfo_t *info)
{
    return info->si_code <= 0 || info->si_code == SI_USER;
}

/* What caught the signal before, as a sanitizer or mapped.c: asked about other addresses. */
static struct sigaction others;

static void note_fault(int number, siginfo_t *info, void *context)
{
    const bool is_sent = lost_pages_is_sent(info);
    if (!is_sent && lost_pages_replace(info->si_addr))
        return;
    if ((others.sa_flags & SA_SIGINFO) != 0) {
        others.sa_sigaction(number, info, context);
        return;
    }
    /* The instruction is repeated, and ends the process. */
    signal(number, SIG_DFL);
    if (is_sent)
        raise(number);
}

static bool catch_faults(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = note_fault}, before;
    sigset_t faults;
    sigemptyset(&action.sa_mask);
    sigemptyset(&faults);
    sigaddset(&faults, SIGBUS);
    if (pthread_sigmask(SIG_UNBLOCK, &faults, NULL) != 0 || sigaction(SIGBUS, NULL, &before) != 0)
        return false;
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction == note_fault)
        return true;
    others = before;
    return sigaction(SIGBUS, &action, NULL) == 0;
}

bool lost_pages_watch(void *at, size_t size)
{
    const long page = sysconf(_SC_PAGESIZE);
    size_t i = 0;
    while (i < WATCHED && atomic_load(&watched[i].begin) != 0)
        i++;
    if (i == WATCHED || page <= 0 || !catch_faults())
        return false;
    atomic_store(&page_size, (uintptr_t)page);
    atomic_store(&watched[i].lost, false);
    atomic_store(&watched[i].end, (uintptr_t)at + size);
    atomic_store(&watched[i].begin, (uintptr_t)at);
    return true;
}

bool lost_pages_any(const void *at)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (atomic_load(&watched[i].begin) == (uintptr_t)at)
            return atomic_load(&watched[i].lost);
    return false;
}

void lost_pages_end(const void *at)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (atomic_load(&watched[i].begin) == (uintptr_t)at)
            atomic_store(&watched[i].begin, 0);
}
