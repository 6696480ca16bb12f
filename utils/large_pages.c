/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/large_pages.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Large pages are made a step at a time, since each call waits for all processors once, and where
 * several threads write, so many steps ahead of them. Smaller files are not worth it. */
enum { STEP = 4 << 20, AHEAD = 6, LEAST = 64 << 20, SMALL_PAGE = 4096 };

/* Where making them takes longer, small ones are better: on a machine whose processors are all
 * taken, or whose host gives it memory page by page. */
enum { MOST_PS_PER_BYTE = 1500, GRACE_MS = 20 };

struct large_step {
    enum { SMALL, MAKING, LARGE } state;
    uint64_t written;
};

void large_pages_open(struct large_pages *p, int fd, unsigned char *at, uint64_t size)
{
    *p = (struct large_pages){.at = NULL};
    /* The sizes that 64-bit processors have where small pages are the usual ones. */
    if (size < LEAST || sizeof(void *) < 8 || sysconf(_SC_PAGESIZE) != SMALL_PAGE)
        return;
    p->size = size / LARGE_PAGE * LARGE_PAGE;
    p->count = (size_t)((p->size + STEP - 1) / STEP);
    p->steps = calloc(p->count, sizeof *p->steps);
    if (p->steps == NULL)
        return;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->fd = fd;
    p->opener = pthread_self();
    p->at = at;
}

void large_pages_close(struct large_pages *p)
{
    if (p->at != NULL) {
        pthread_mutex_destroy(&p->mutex);
        pthread_cond_destroy(&p->changed);
    }
    free(p->steps);
    *p = (struct large_pages){.at = NULL};
}

static uint64_t end_of(const struct large_pages *p, size_t step)
{
    const uint64_t end = (uint64_t)(step + 1) * STEP;
    return end < p->size ? end : p->size;
}

/* Is there room for all that is made at the same time, and may be made ahead? Else a step would
 * fail because of one after it, of which it is not known whether it is needed. */
static bool has_room(const struct large_pages *p, size_t making)
{
    struct statvfs fs;
    return fstatvfs(p->fd, &fs) == 0 &&
           (fs.f_blocks == 0 ||
            (uint64_t)fs.f_bavail * fs.f_frsize >= (uint64_t)(making + AHEAD + 1) * STEP);
}

/* What is to become a large page has one small page at least. Until it is written to, it is no
 * memory of the process: one page fault brings it back. */
static bool make(const struct large_pages *p, size_t step, size_t making)
{
    const uint64_t begin = (uint64_t)step * STEP, end = end_of(p, step);
    if (!has_room(p, making))
        return false;
    for (uint64_t at = begin; at < end; at += LARGE_PAGE)
        if (madvise(p->at + at, SMALL_PAGE, MADV_POPULATE_WRITE) != 0)
            return false;
    const bool made = madvise(p->at + begin, (size_t)(end - begin), MADV_COLLAPSE) == 0;
    (void)madvise(p->at + begin, (size_t)(end - begin), MADV_DONTNEED);
    return made;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Called and left with the lock held, which is let go meanwhile. */
static void make_next(struct large_pages *p)
{
    const size_t step = p->next++;
    p->steps[step].state = MAKING;
    const size_t making = ++p->making;
    pthread_mutex_unlock(&p->mutex);
    const uint64_t begin = now_ns();
    const bool made = make(p, step, making);
    const uint64_t spent = now_ns() - begin;
    pthread_mutex_lock(&p->mutex);
    p->steps[step].state = made ? LARGE : SMALL;
    p->making--;
    p->spent_ns += spent;
    p->made += STEP;
    p->ended = p->ended || !made ||
               p->spent_ns > GRACE_MS * UINT64_C(1000000) + p->made / 1000 * MOST_PS_PER_BYTE;
    pthread_cond_broadcast(&p->changed);
}

enum readiness { READY, NOT_READY, NOT_LARGE };

static enum readiness look(const struct large_pages *p, size_t first, size_t last)
{
    enum readiness ready = READY;
    for (size_t i = first; i <= last && i < p->count; i++) {
        if (p->steps[i].state == MAKING || (i >= p->next && !p->ended))
            return NOT_READY;
        if (p->steps[i].state == SMALL)
            ready = NOT_LARGE;
    }
    return ready;
}

bool large_pages_get(struct large_pages *p, uint64_t begin, uint64_t end)
{
    if (p->at == NULL || begin >= end)
        return false;
    const size_t first = (size_t)(begin / STEP), last = (size_t)((end - 1) / STEP);
    bool has_made = false;
    enum readiness ready;
    pthread_mutex_lock(&p->mutex);
    p->many = p->many || !pthread_equal(p->opener, pthread_self());
    for (;;) {
        ready = look(p, first, last);
        const bool more =
            !p->ended && p->next < p->count && p->next <= last + (p->many ? AHEAD : 0);
        if (more && (ready == NOT_READY || !has_made)) {
            make_next(p);
            has_made = true;
        } else if (ready == NOT_READY) {
            pthread_cond_wait(&p->changed, &p->mutex);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&p->mutex);
    return ready == READY && end <= p->size;
}

void large_pages_put(struct large_pages *p, uint64_t begin, uint64_t end)
{
    if (p->at == NULL)
        return;
    for (uint64_t at = begin; at < end && at < p->size;) {
        const size_t step = (size_t)(at / STEP);
        const uint64_t step_begin = (uint64_t)step * STEP, step_end = end_of(p, step),
                       part = (end < step_end ? end : step_end) - at;
        pthread_mutex_lock(&p->mutex);
        p->steps[step].written += part;
        const bool is_whole =
            p->steps[step].state != MAKING && p->steps[step].written == step_end - step_begin;
        pthread_mutex_unlock(&p->mutex);
        if (is_whole)
            (void)madvise(p->at + step_begin, (size_t)(step_end - step_begin), MADV_DONTNEED);
        at += part;
    }
}

#else

void large_pages_open(struct large_pages *p, int fd, unsigned char *at, uint64_t size)
{
    (void)fd, (void)at, (void)size;
    *p = (struct large_pages){.at = NULL};
}

void large_pages_close(struct large_pages *p)
{
    (void)p;
}

bool large_pages_get(struct large_pages *p, uint64_t begin, uint64_t end)
{
    (void)p, (void)begin, (void)end;
    return false;
}

void large_pages_put(struct large_pages *p, uint64_t begin, uint64_t end)
{
    (void)p, (void)begin, (void)end;
}

#endif
