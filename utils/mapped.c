/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/mapped.h"
#include "utils/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/vfs.h>

enum {
    STEP = 8 << 20,          /* allocated at a time: the lock is held for it */
    AHEAD_EXACT = 256 << 20, /* all of it will be needed */
    AHEAD_MOST = 128 << 20,  /* what is not needed is freed in the end; */
    AHEAD_LEAST = 16 << 20,
    AHEAD_PART = 4 /* of what has been written */
};

bool mapped_is_in_memory(int fd)
{
    enum { TMPFS = 0x01021994 };
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS;
}

/* How far to allocate: never past what the file can have. */
static uint64_t target(const struct mapped *m)
{
    uint64_t ahead = AHEAD_EXACT;
    if (!m->exact) {
        ahead = m->wanted / AHEAD_PART;
        ahead = ahead < AHEAD_LEAST ? AHEAD_LEAST : ahead < AHEAD_MOST ? ahead : AHEAD_MOST;
    }
    return ahead < m->size - m->wanted ? m->wanted + ahead : m->size;
}

/* The next step, or 0: whole ones, but where somebody waits or the file ends. */
static uint64_t next_step(const struct mapped *m)
{
    const uint64_t left = target(m) - m->allocated;
    if (!m->started)
        return 0;
    if (left >= STEP)
        return STEP;
    return m->allocated < m->wanted || target(m) == m->size ? left : 0;
}

/* To allocate more would put zeros in the place of what is lost. */
static bool is_cut(struct mapped *m)
{
    struct stat now;
    if (fstat(m->fd, &now) == 0 && (uint64_t)now.st_size < m->allocated)
        atomic_store(&m->cut, true);
    return atomic_load(&m->cut);
}

static void *allocate(void *argument)
{
    struct mapped *m = argument;
    pthread_mutex_lock(&m->mutex);
    while (!m->ended && !m->failed) {
        const uint64_t from = m->allocated, step = next_step(m);
        if (step == 0) {
            pthread_cond_wait(&m->wanted_more, &m->mutex);
            continue;
        }
        pthread_mutex_unlock(&m->mutex);
        int error = is_cut(m) ? EIO : EINTR;
        while (error == EINTR)
            error = fallocate(m->fd, 0, (off_t)from, (off_t)step) == 0 ? 0 : errno;
        pthread_mutex_lock(&m->mutex);
        m->failed = error != 0;
        if (error == 0)
            m->allocated += step;
        pthread_cond_broadcast(&m->allocated_more);
    }
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}

/* Signals are for the threads that look for them. */
static bool create_thread(struct mapped *m)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool created = pthread_create(&m->thread, NULL, allocate, m) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return created;
}

static void release(struct mapped *m)
{
    munmap(m->at, m->size);
    pthread_mutex_destroy(&m->mutex);
    pthread_cond_destroy(&m->wanted_more);
    pthread_cond_destroy(&m->allocated_more);
    m->at = NULL;
}

/* Where a thread goes on that writes to a page which is no longer there; NULL: it writes to none.
 */
static _Thread_local sigjmp_buf *volatile rescue;

static void note_fault(int number)
{
    if (rescue != NULL)
        siglongjmp(*rescue, 1);
    /* Of something else: the instruction is repeated, and ends the process. */
    signal(number, SIG_DFL);
}

/* Threads of the library let no signal through. */
static void unblock_faults(void)
{
    static _Thread_local bool is_done;
    sigset_t faults;
    if (is_done)
        return;
    sigemptyset(&faults);
    sigaddset(&faults, SIGBUS);
    is_done = pthread_sigmask(SIG_UNBLOCK, &faults, NULL) == 0;
}

/* SIGBUS comes to the thread that has caused it. */
static bool copy_guarded(unsigned char *at, const void *data, size_t size)
{
    sigjmp_buf here;
    unblock_faults();
    if (sigsetjmp(here, 1) != 0) {
        rescue = NULL;
        return false;
    }
    rescue = &here;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(at, data, size);
    atomic_signal_fence(memory_order_seq_cst);
    rescue = NULL;
    return true;
}

/* The thread is made here: those that write may be bound to a processor each. */
void mapped_open(struct mapped *m, int fd, uint64_t most, bool exact)
{
    *m = (struct mapped){.fd = fd, .exact = exact};
    if (most == 0 || most > SIZE_MAX || !mapped_is_in_memory(fd))
        return;
    void *at = mmap(NULL, (size_t)most, PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return;
    struct sigaction action = {.sa_handler = note_fault};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
    m->at = at;
    m->size = (size_t)most;
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->wanted_more, NULL);
    pthread_cond_init(&m->allocated_more, NULL);
    if (!create_thread(m))
        release(m);
}

/* Wait until there are `end` bytes: false if there will not be. */
static bool wait_for(struct mapped *m, uint64_t end, bool start)
{
    pthread_mutex_lock(&m->mutex);
    m->started = m->started || start;
    if (m->started && end > m->wanted) {
        m->wanted = end;
        pthread_cond_signal(&m->wanted_more);
    }
    while (m->started && !m->failed && m->allocated < end && !signals_pending()) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++; /* for a signal that nothing else tells of */
        pthread_cond_timedwait(&m->allocated_more, &m->mutex, &until);
    }
    const bool there = m->allocated >= end;
    pthread_mutex_unlock(&m->mutex);
    return there;
}

enum mapped_result mapped_write(struct mapped *m, uint64_t at, const void *data, size_t size,
                                bool start)
{
    if (m->at == NULL || size > m->size || at > m->size - size)
        return MAPPED_NOT;
    if (!wait_for(m, at + size, start))
        return atomic_load(&m->cut) ? MAPPED_CUT : MAPPED_NOT;
    if (copy_guarded(m->at + at, data, size))
        return MAPPED_DONE;
    atomic_store(&m->cut, true);
    return MAPPED_CUT;
}

bool mapped_close(struct mapped *m, uint64_t *allocated)
{
    *allocated = 0;
    if (m->at == NULL)
        return true;
    pthread_mutex_lock(&m->mutex);
    m->ended = true;
    pthread_cond_signal(&m->wanted_more);
    pthread_mutex_unlock(&m->mutex);
    pthread_join(m->thread, NULL);
    *allocated = m->allocated;
    const bool is_whole = !is_cut(m);
    release(m);
    return is_whole;
}

#else

bool mapped_is_in_memory(int fd)
{
    (void)fd;
    return false;
}

void mapped_open(struct mapped *m, int fd, uint64_t most, bool exact)
{
    (void)most, (void)exact;
    *m = (struct mapped){.fd = fd};
}

enum mapped_result mapped_write(struct mapped *m, uint64_t at, const void *data, size_t size,
                                bool start)
{
    (void)m, (void)at, (void)data, (void)size, (void)start;
    return MAPPED_NOT;
}

bool mapped_close(struct mapped *m, uint64_t *allocated)
{
    (void)m;
    *allocated = 0;
    return true;
}

#endif
