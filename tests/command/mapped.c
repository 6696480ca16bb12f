/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files in memory by utils/mapped.c: by many threads, where less or more is written than there was
 * room for, and where extending them fails. With the name of a file on a file system in memory and
 * the MiB that it has room for: where that is full. Files of 64 MiB and more get large pages, where
 * the system has them. */
#include "utils/lost_pages.h"
#include "utils/mapped.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)

enum { PIECE = 300 * 1000, THREADS = 8, MIB = 1 << 20 };

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "mapped.c:%d: not so: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

struct job {
    struct mapped *mapped;
    const unsigned char *from;
    size_t size;
    unsigned first;           /* of every THREADS pieces */
    unsigned copied, refused; /* pieces; by pwrite(), too */
};

static void *write_pieces(void *argument)
{
    struct job *job = argument;
    for (size_t at = (size_t)job->first * PIECE; at < job->size; at += (size_t)THREADS * PIECE) {
        const size_t left = job->size - at, size = left < PIECE ? left : PIECE;
        const enum mapped_turn turn = mapped_begin(job->mapped, at, size);
        if (turn != MAPPED_WRITES &&
            mapped_write(job->mapped, at, job->from + at, size) == MAPPED_DONE)
            job->copied++;
        else if (pwrite(job->mapped->fd, job->from + at, size, (off_t)at) != (ssize_t)size)
            job->refused++;
        mapped_end(job->mapped, turn, at, size);
    }
    return NULL;
}

/* How many pieces were refused, by both; *copied: how many were copied. */
static unsigned write_all(struct mapped *mapped, const unsigned char *from, size_t size,
                          unsigned *copied)
{
    struct job jobs[THREADS];
    pthread_t threads[THREADS];
    unsigned refused = 0;
    *copied = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.mapped = mapped, .from = from, .size = size, .first = i};
        REQUIRE(pthread_create(&threads[i], NULL, write_pieces, &jobs[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        refused += jobs[i].refused;
        *copied += jobs[i].copied;
    }
    return refused;
}

static unsigned char *make_data(size_t size)
{
    unsigned char *data = malloc(size);
    REQUIRE(data != NULL);
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 13);
    return data;
}

static void expect_contents(int fd, const unsigned char *data, size_t size)
{
    unsigned char *back = malloc(size);
    REQUIRE(back != NULL && pread(fd, back, size, 0) == (ssize_t)size);
    REQUIRE(memcmp(back, data, size) == 0);
    free(back);
}

static struct stat status_of(int fd)
{
    struct stat status;
    REQUIRE(fstat(fd, &status) == 0);
    return status;
}

static int make_file(void)
{
    const int fd = memfd_create("mapped", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && mapped_is_in_memory(fd));
    return fd;
}

/* While somebody else has the turn to call pwrite(), and another waits for it; not on large pages.
 */
static enum mapped_result copy(struct mapped *mapped, uint64_t at, const void *data, size_t size)
{
    REQUIRE(mapped_begin(mapped, 0, 0) == MAPPED_WRITES);
    mapped->waiting++;
    REQUIRE(mapped_begin(mapped, at, size) == MAPPED_COPIES);
    mapped->waiting--;
    const enum mapped_result result = mapped_write(mapped, at, data, size);
    mapped_end(mapped, MAPPED_COPIES, at, size);
    mapped_end(mapped, MAPPED_WRITES, 0, 0);
    return result;
}

static void writes_all(size_t size)
{
    struct mapped mapped;
    uint64_t extended;
    unsigned copied;
    unsigned char *data = make_data(size);
    const int fd = make_file();
    mapped_open(&mapped, fd, size);
    REQUIRE(mapped.at != NULL);
    REQUIRE(mapped_begin(&mapped, 0, size) == MAPPED_WRITES && status_of(fd).st_size == 0);
    mapped_end(&mapped, MAPPED_WRITES, 0, size);
    REQUIRE(copy(&mapped, 0, data, 1) == MAPPED_DONE && status_of(fd).st_size == (off_t)size + 1);
    REQUIRE(copy(&mapped, size, data, 1) == MAPPED_NOT);
    REQUIRE(copy(&mapped, UINT64_MAX, data, 1) == MAPPED_NOT);
    /* All others copy while somebody has the other turn. */
    REQUIRE(mapped_begin(&mapped, 0, size) == MAPPED_WRITES);
    REQUIRE(write_all(&mapped, data, size, &copied) == 0);
    mapped_end(&mapped, MAPPED_WRITES, 0, size);
    REQUIRE(copied == (size + PIECE - 1) / PIECE);
    expect_contents(fd, data, size);
    REQUIRE(write_all(&mapped, data, size, &copied) == 0);
    REQUIRE(mapped_close(&mapped, &extended));
    REQUIRE(extended == size + 1 && status_of(fd).st_size == (off_t)extended);
    expect_contents(fd, data, size);
    close(fd);
    free(data);
}

/* Of what is not written there are no pages. */
static void writes_a_part(void)
{
    enum { PART = 3 * MIB, MOST = 30 * MIB, PAGES = 64 << 10 };
    struct mapped mapped;
    uint64_t extended;
    unsigned copied;
    unsigned char *data = make_data(PART);
    const int fd = make_file();
    mapped_open(&mapped, fd, MOST);
    REQUIRE(copy(&mapped, 0, data, PIECE) == MAPPED_DONE);
    REQUIRE(write_all(&mapped, data, PART, &copied) == 0);
    REQUIRE(mapped_close(&mapped, &extended));
    REQUIRE(extended == MOST + 1 && 512 * status_of(fd).st_blocks <= PART + PAGES);
    expect_contents(fd, data, PART);
    close(fd);
    free(data);
}

/* A page that cannot be had is one that pwrite() refuses. */
static void stops_where_there_is_no_room(int fd)
{
    enum { ALL = 30 * MIB };
    struct mapped mapped;
    uint64_t extended;
    unsigned copied;
    unsigned char *data = make_data(ALL);
    mapped_open(&mapped, fd, ALL);
    REQUIRE(mapped.at != NULL && copy(&mapped, 0, data, PIECE) == MAPPED_DONE);
    REQUIRE(write_all(&mapped, data, ALL, &copied) > 0);
    REQUIRE(mapped_write(&mapped, ALL - PIECE, data, PIECE) == MAPPED_NOT);
    REQUIRE(mapped_close(&mapped, &extended));
    REQUIRE(extended == ALL + 1);
    expect_contents(fd, data, PIECE);
    close(fd);
    free(data);
}

/* All is written by pwrite() then. */
static void stops_at_a_limit(size_t all)
{
    const struct rlimit limit = {20 * MIB, 20 * MIB};
    struct mapped mapped;
    uint64_t extended;
    unsigned copied;
    unsigned char *data = make_data(all);
    signal(SIGXFSZ, SIG_IGN);
    const int fd = make_file();
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    mapped_open(&mapped, fd, all);
    REQUIRE(mapped.at != NULL);
    if (mapped.large.at == NULL)
        REQUIRE(copy(&mapped, 0, data, 1) == MAPPED_NOT);
    REQUIRE(write_all(&mapped, data, all, &copied) > 0 && copied == 0);
    REQUIRE(mapped_close(&mapped, &extended) && extended == 0);
    expect_contents(fd, data, 19 * MIB);
    close(fd);
    free(data);
}

/* Until another thread waits, or copies. */
static void expect_other(struct mapped *mapped)
{
    for (bool is_there = false; !is_there;) {
        REQUIRE(pthread_mutex_lock(&mapped->mutex) == 0);
        is_there = mapped->waiting != 0 || mapped->is_extended;
        REQUIRE(pthread_mutex_unlock(&mapped->mutex) == 0);
    }
}

/* What is written after the most that was thought of stays: by one thread, while another comes that
 * may copy. */
static void writes_more_than_most(bool copies_before)
{
    enum { MOST = PIECE, ALL = 2 * PIECE };
    struct mapped mapped;
    uint64_t extended;
    pthread_t thread;
    unsigned char *data = make_data(ALL);
    const int fd = make_file();
    struct job job = {.mapped = &mapped, .from = data, .size = MOST};
    mapped_open(&mapped, fd, MOST);
    REQUIRE(mapped.at != NULL);
    if (copies_before)
        REQUIRE(copy(&mapped, 0, data, 1) == MAPPED_DONE);
    mapped.many = true;
    REQUIRE(mapped_begin(&mapped, MOST, ALL - MOST) == MAPPED_WRITES);
    REQUIRE(pwrite(fd, data + MOST, ALL - MOST, MOST) == ALL - MOST);
    REQUIRE(pthread_create(&thread, NULL, write_pieces, &job) == 0);
    expect_other(&mapped);
    mapped_end(&mapped, MAPPED_WRITES, MOST, ALL - MOST);
    REQUIRE(pthread_join(thread, NULL) == 0 && job.refused == 0);
    REQUIRE(mapped_close(&mapped, &extended));
    REQUIRE(status_of(fd).st_size == ALL);
    expect_contents(fd, data, ALL);
    REQUIRE(extended == (copies_before ? MOST + 1 : 0));
    close(fd);
    free(data);
}

static void leaves_other_files_alone(void)
{
    struct mapped mapped;
    uint64_t extended;
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0);
    mapped_open(&mapped, fd, 1000);
    REQUIRE(mapped.at == NULL && mapped_begin(&mapped, 0, 1) == MAPPED_WRITES &&
            mapped_begin(&mapped, 0, 2000) == MAPPED_WRITES);
    mapped_end(&mapped, MAPPED_WRITES, 0, 1);
    mapped_end(&mapped, MAPPED_WRITES, 0, 2000);
    REQUIRE(mapped_close(&mapped, &extended));
    REQUIRE(extended == 0);
    close(fd);
}

/* Pages that were there, and are taken away. */
static void survives_a_cut(void)
{
    enum { ALL = 4 * MIB };
    struct mapped mapped;
    uint64_t extended;
    sigset_t all;
    unsigned char *data = make_data(ALL);
    const int fd = make_file();
    /* As in the library's threads. */
    sigfillset(&all);
    REQUIRE(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    mapped_open(&mapped, fd, ALL);
    REQUIRE(copy(&mapped, ALL - PIECE, data, PIECE) == MAPPED_DONE);
    REQUIRE(ftruncate(fd, MIB) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(copy(&mapped, 2 * MIB, data, PIECE) == MAPPED_CUT);
    REQUIRE(copy(&mapped, 0, data, MIB) == MAPPED_DONE);
    REQUIRE(!mapped_close(&mapped, &extended));
    expect_contents(fd, data, MIB);
    /* And given back by what is written after that. */
    mapped_open(&mapped, fd, ALL);
    REQUIRE(copy(&mapped, 0, data, PIECE) == MAPPED_DONE);
    REQUIRE(ftruncate(fd, 1) == 0);
    REQUIRE(pwrite(fd, data, PIECE, ALL - PIECE) == PIECE);
    REQUIRE(!mapped_close(&mapped, &extended));
    close(fd);
    free(data);
}

/* A signal that another process sends is no fault: it ends this one, by both handlers. */
static void ends_by_a_signal(bool watches)
{
    int status;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        struct mapped mapped;
        sigset_t fault;
        sigemptyset(&fault);
        sigaddset(&fault, SIGBUS);
        REQUIRE(setrlimit(RLIMIT_CORE, &no_core) == 0);
        REQUIRE(pthread_sigmask(SIG_UNBLOCK, &fault, NULL) == 0);
        mapped_open(&mapped, make_file(), MIB);
        if (watches)
            REQUIRE(lost_pages_watch(mapped.at, MIB));
        kill(getpid(), SIGBUS);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

enum { LARGE = 65 * MIB + 13 };

/* Does the system have large pages for files, and memory for some? */
static bool has_large_pages(void)
{
    struct mapped mapped;
    uint64_t extended;
    const int fd = make_file();
    mapped_open(&mapped, fd, LARGE);
    const enum mapped_turn turn = mapped_begin(&mapped, 0, 1);
    mapped_end(&mapped, turn, 0, 1);
    REQUIRE(mapped_close(&mapped, &extended));
    close(fd);
    return turn == MAPPED_COPIES_FREELY;
}

/* Bytes of the mapping that count as the process's memory. */
static size_t held_of(const struct mapped *mapped)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    size_t held = 0;
    for (size_t at = 0; fd >= 0 && at < mapped->size; at += page) {
        uint64_t entry = 0;
        const off_t place = (off_t)(((uintptr_t)mapped->at + at) / page * sizeof entry);
        if (pread(fd, &entry, sizeof entry, place) == sizeof entry && entry >> 63 != 0)
            held += page;
    }
    close(fd);
    return held;
}

/* Whether they can be had or not, the file has all bytes, and no more pages than it needs when it
 * has been cut to its size. What is written does not count as memory. */
static void writes_to_large_pages(size_t size, bool ends)
{
    struct mapped mapped;
    uint64_t extended;
    unsigned copied;
    unsigned char *data = make_data(size);
    const int fd = make_file();
    mapped_open(&mapped, fd, LARGE);
    REQUIRE(mapped.large.at != NULL);
    mapped.large.ended = ends;
    REQUIRE(write_all(&mapped, data, size, &copied) == 0);
    if (ends)
        REQUIRE(mapped.large.made == 0);
    if (size == LARGE)
        REQUIRE(held_of(&mapped) <= 2 * MIB);
    REQUIRE(mapped_close(&mapped, &extended) && extended == LARGE + 1);
    REQUIRE(ftruncate(fd, (off_t)size) == 0 && 512 * status_of(fd).st_blocks <= (off_t)size + MIB);
    expect_contents(fd, data, size);
    close(fd);
    free(data);
}

/* One thread, that is, has no use for pages ahead of it; and what it has written is no memory of
 * the process. */
static void makes_what_one_thread_needs(void)
{
    struct mapped mapped;
    uint64_t extended;
    unsigned char *data = make_data(LARGE);
    const int fd = make_file();
    mapped_open(&mapped, fd, LARGE);
    for (size_t at = 0; at < LARGE; at += MIB) {
        const size_t size = LARGE - at < MIB ? LARGE - at : MIB;
        const enum mapped_turn turn = mapped_begin(&mapped, at, size);
        if (turn != MAPPED_WRITES)
            REQUIRE(mapped_write(&mapped, at, data + at, size) == MAPPED_DONE);
        else
            REQUIRE(pwrite(fd, data + at, size, (off_t)at) == (ssize_t)size);
        if (turn == MAPPED_WRITES || at % (8 * MIB) == 0)
            REQUIRE(held_of(&mapped) <= 4 * MIB);
        mapped_end(&mapped, turn, at, size);
        REQUIRE(mapped.large.made < at + 8 * MIB);
    }
    REQUIRE(mapped_close(&mapped, &extended));
    expect_contents(fd, data, LARGE);
    close(fd);
    free(data);
}

/* Large pages that are taken away. */
static void survives_a_cut_of_large_pages(void)
{
    struct mapped mapped;
    uint64_t extended;
    unsigned char *data = make_data(LARGE);
    const int fd = make_file();
    mapped_open(&mapped, fd, LARGE);
    const enum mapped_turn turn = mapped_begin(&mapped, 0, 2 * MIB);
    REQUIRE(turn == MAPPED_COPIES_FREELY);
    REQUIRE(mapped_write(&mapped, 0, data, 2 * MIB) == MAPPED_DONE);
    REQUIRE(ftruncate(fd, MIB) == 0);
    REQUIRE(mapped_write(&mapped, 2 * MIB, data, PIECE) == MAPPED_CUT);
    mapped_end(&mapped, turn, 0, 2 * MIB);
    /* There are none to be had any more. */
    REQUIRE(mapped_begin(&mapped, 32 * MIB, PIECE) == MAPPED_WRITES && mapped.large.ended);
    mapped_end(&mapped, MAPPED_WRITES, 32 * MIB, PIECE);
    REQUIRE(!mapped_close(&mapped, &extended));
    expect_contents(fd, data, MIB);
    close(fd);
    free(data);
}

/* A file system that gets full while large pages are made, or nearly. */
static void fills(int fd, size_t room)
{
    const size_t all = room + 24 * MIB;
    struct mapped mapped;
    uint64_t extended;
    unsigned copied;
    unsigned char *data = make_data(all);
    mapped_open(&mapped, fd, all);
    REQUIRE(write_all(&mapped, data, all, &copied) > 0);
    REQUIRE(mapped_close(&mapped, &extended) && extended == all + 1);
    expect_contents(fd, data, PIECE);
    close(fd);
    free(data);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        const int fd = open(argv[1], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        const size_t room = strtoul(argv[2], NULL, 10) * MIB;
        REQUIRE(fd >= 0);
        if (room < 32 * MIB)
            stops_where_there_is_no_room(fd);
        else
            fills(fd, room);
        return 0;
    }
    survives_a_cut(); /* before the thread lets signals through */
    ends_by_a_signal(false);
    ends_by_a_signal(true);
    writes_all(1);
    writes_all(31 * MIB + 13);
    writes_a_part();
    writes_more_than_most(false);
    writes_more_than_most(true);
    leaves_other_files_alone();
    writes_to_large_pages(LARGE, false);
    writes_to_large_pages(9 * MIB + 5, false);
    writes_to_large_pages(LARGE, true);
    makes_what_one_thread_needs();
    if (has_large_pages())
        survives_a_cut_of_large_pages();
    stops_at_a_limit(30 * MIB);
    stops_at_a_limit(LARGE);
    return 0;
}

#else

int main(void)
{
    return 77;
}

#endif
