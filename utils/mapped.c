/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/mapped.h"
#include "utils/lost_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/vfs.h>

/* Threads that copy at once. */
enum { COPIERS = 3 };

bool mapped_is_in_memory(int fd)
{
    enum { TMPFS = 0x01021994 };
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS;
}

static bool is_cut(struct mapped *m)
{
    struct stat now;
    if (m->is_extended && fstat(m->fd, &now) == 0 && (uint64_t)now.st_size <= m->size)
        atomic_store(&m->cut, true);
    return atomic_load(&m->cut);
}

static void release(struct mapped *m)
{
    large_pages_close(&m->large);
    munmap(m->room, m->size + LARGE_PAGE);
    pthread_mutex_destroy(&m->mutex);
    pthread_cond_destroy(&m->turn_ended);
    m->at = NULL;
}

/* Where a thread goes on that writes to a page which is no longer there; NULL: it writes to none.
 */
static _Thread_local sigjmp_buf *volatile rescue;

static void note_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    const bool is_sent = lost_pages_is_sent(info);
    if (!is_sent && rescue != NULL)
        siglongjmp(*rescue, 1);
    if (!is_sent && lost_pages_replace(info->si_addr))
        return;
    /* Of something else: the instruction is repeated, and ends the process. */
    signal(number, SIG_DFL);
    if (is_sent)
        raise(number);
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

/* At a multiple of a large page's size. */
static bool map(struct mapped *m, uint64_t size)
{
    m->room = mmap(NULL, (size_t)size + LARGE_PAGE, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->room == MAP_FAILED)
        return false;
    unsigned char *at = (unsigned char *)m->room + (-(uintptr_t)m->room & (LARGE_PAGE - 1));
    if (mmap(at, (size_t)size, PROT_WRITE, MAP_SHARED | MAP_FIXED, m->fd, 0) == MAP_FAILED) {
        munmap(m->room, (size_t)size + LARGE_PAGE);
        return false;
    }
    m->at = at;
    m->size = (size_t)size;
    return true;
}

void mapped_open(struct mapped *m, int fd, uint64_t most)
{
    *m = (struct mapped){.fd = fd};
    if (most == 0 || most > SIZE_MAX - LARGE_PAGE || most >= INT64_MAX ||
        !mapped_is_in_memory(fd) || !map(m, most))
        return;
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = note_fault};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->turn_ended, NULL);
    large_pages_open(&m->large, fd, m->at, most);
}

/* For those that copy, to a byte more than is written: a file that was cut short, and written at a
 * place after that, is shorter still. Called with the lock held, and not after a write that ends
 * later: that would be cut away. */
static void extend(struct mapped *m)
{
    if (m->is_extended || atomic_load(&m->failed))
        return;
    if (ftruncate(m->fd, (off_t)m->size + 1) == 0)
        m->is_extended = true;
    else
        atomic_store(&m->failed, true);
}

/* Called with the lock held. */
static bool wait_for_turn(struct mapped *m)
{
    /* A page by the mapping costs more: as long as there are two threads, one waits. */
    m->many = m->many || (m->is_written && m->waiting != 0);
    while (m->is_written && (!m->many || m->copiers == COPIERS || atomic_load(&m->failed))) {
        m->waiting++;
        pthread_cond_wait(&m->turn_ended, &m->mutex);
        m->waiting--;
    }
    const bool copies = m->is_written;
    if (copies) {
        m->copiers++;
        extend(m);
    } else {
        m->is_written = true;
    }
    return copies;
}

/* Is that on large pages, of a file that is as long? */
static bool is_large(struct mapped *m, uint64_t at, size_t size)
{
    pthread_mutex_lock(&m->mutex);
    if (at + size > m->size && !m->is_extended)
        atomic_store(&m->failed, true);
    if (m->large.at != NULL)
        extend(m);
    const bool serves = m->is_extended && !atomic_load(&m->failed);
    pthread_mutex_unlock(&m->mutex);
    return serves && large_pages_get(&m->large, at, at + size);
}

enum mapped_turn mapped_begin(struct mapped *m, uint64_t at, size_t size)
{
    if (m->at == NULL)
        return MAPPED_WRITES;
    if (is_large(m, at, size))
        return MAPPED_COPIES_FREELY;
    pthread_mutex_lock(&m->mutex);
    const bool copies = wait_for_turn(m);
    pthread_mutex_unlock(&m->mutex);
    return copies ? MAPPED_COPIES : MAPPED_WRITES;
}

void mapped_end(struct mapped *m, enum mapped_turn turn, uint64_t at, size_t size)
{
    if (m->at == NULL)
        return;
    large_pages_put(&m->large, at, at + size);
    if (turn == MAPPED_COPIES_FREELY)
        return;
    pthread_mutex_lock(&m->mutex);
    if (turn == MAPPED_COPIES)
        m->copiers--;
    else
        m->is_written = false;
    pthread_cond_signal(&m->turn_ended);
    pthread_mutex_unlock(&m->mutex);
}

enum mapped_result mapped_write(struct mapped *m, uint64_t at, const void *data, size_t size)
{
    if (atomic_load(&m->failed) || size > m->size || at > m->size - size)
        return MAPPED_NOT;
    if (copy_guarded(m->at + at, data, size))
        return MAPPED_DONE;
    if (is_cut(m))
        return MAPPED_CUT;
    atomic_store(&m->failed, true);
    return MAPPED_NOT;
}

bool mapped_close(struct mapped *m, uint64_t *extended)
{
    *extended = 0;
    if (m->at == NULL)
        return true;
    const bool is_whole = !is_cut(m);
    *extended = m->is_extended ? (uint64_t)m->size + 1 : 0;
    release(m);
    return is_whole;
}

#else

bool mapped_is_in_memory(int fd)
{
    (void)fd;
    return false;
}

void mapped_open(struct mapped *m, int fd, uint64_t most)
{
    (void)most;
    *m = (struct mapped){.fd = fd};
}

enum mapped_turn mapped_begin(struct mapped *m, uint64_t at, size_t size)
{
    (void)m, (void)at, (void)size;
    return MAPPED_WRITES;
}

void mapped_end(struct mapped *m, enum mapped_turn turn, uint64_t at, size_t size)
{
    (void)m, (void)turn, (void)at, (void)size;
}

enum mapped_result mapped_write(struct mapped *m, uint64_t at, const void *data, size_t size)
{
    (void)m, (void)at, (void)data, (void)size;
    return MAPPED_NOT;
}

bool mapped_close(struct mapped *m, uint64_t *extended)
{
    (void)m;
    *extended = 0;
    return true;
}

#endif
