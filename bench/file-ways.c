/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Ways to read and write a file by several threads: file-ways FILE [BYTES [THREADS...]]. FILE is
 * made, and removed. What whole commands can reach is no more than these. The best of three
 * rounds, or of as many as begin within two seconds: 2 GiB by 1, 4 and 16 threads take less than a
 * minute. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
    PART = 1 << 19,
    STEP = 8 << 20,
    LARGE_STEP = 128 << 20,
    LARGE_PAGE = 2 << 20,
    LARGE_PART = 4 << 20, /* of which pages are made at once */
    THREADS = 256,
    ROUNDS = 3,
    ENOUGH_SECONDS = 2
};

enum way {
    WRITE,
    ALLOCATED_WRITE,
    MAPPED_WRITE,
    POPULATED_WRITE,
    AHEAD_WRITE, /* what one more thread allocates at the same time */
    AHEAD_POPULATED_WRITE,
    STEPS_WRITE, /* a step is allocated, then written, and so on */
    STEPS_POPULATED_WRITE,
    STEPS_KERNEL_WRITE, /* by process_vm_writev(): an error where memcpy() has a signal */
    LARGE_WRITE,        /* large pages are made (MADV_COLLAPSE), then filled */
    READ,
    MAPPED_READ,
    WAYS
};

static const char *const names[WAYS] = {"pwrite",
                                        "fallocate, pwrite",
                                        "fallocate, mmap, memcpy",
                                        "ftruncate, mmap, populate, memcpy",
                                        "fallocate ahead, mmap, memcpy",
                                        "fallocate ahead, mmap, populate, memcpy",
                                        "fallocate by steps, mmap, memcpy",
                                        "fallocate by steps, mmap, populate, memcpy",
                                        "fallocate by steps, mmap, process_vm_writev",
                                        "ftruncate, mmap, large pages, memcpy",
                                        "pread",
                                        "mmap, memcpy"};

struct job {
    enum way way;
    int fd;
    uint8_t *map;
    void *room;         /* in which the mapping is */
    uint64_t size, end; /* of the file, and of what is written now */
    _Atomic uint64_t next, allocated;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *allocate(void *argument)
{
    struct job *j = argument;
    for (uint64_t at = 0, step; at < j->size; at += step) {
        step = j->size - at < STEP ? j->size - at : STEP;
        if (fallocate(j->fd, 0, (off_t)at, (off_t)step) != 0)
            fail("fallocate");
        atomic_store(&j->allocated, at + step);
    }
    return NULL;
}

static void wait_for(struct job *j, uint64_t end)
{
    const struct timespec pause = {.tv_nsec = 20000};
    while (atomic_load(&j->allocated) < end)
        nanosleep(&pause, NULL);
}

static int is_ahead(enum way way)
{
    return way == AHEAD_WRITE || way == AHEAD_POPULATED_WRITE;
}

static int populates(enum way way)
{
    return way == POPULATED_WRITE || way == AHEAD_POPULATED_WRITE || way == STEPS_POPULATED_WRITE;
}

static int by_steps(enum way way)
{
    return way >= STEPS_WRITE && way < LARGE_WRITE;
}

static ssize_t write_by_kernel(uint8_t *to, uint8_t *from, size_t size)
{
    const struct iovec local = {from, size}, remote = {to, size};
    return process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
}

/* Each has a small page at least before it becomes large. */
static void make_large(uint8_t *at)
{
    for (size_t i = 0; i < LARGE_PART; i += LARGE_PAGE)
        if (madvise(at + i, 4096, MADV_POPULATE_WRITE) != 0)
            fail("madvise");
    if (madvise(at, LARGE_PART, MADV_COLLAPSE) != 0)
        perror("large pages");
}

static void *work(void *argument)
{
    struct job *j = argument;
    const size_t step = j->way == LARGE_WRITE ? LARGE_PART : PART;
    uint8_t *buffer = malloc(PART);
    if (buffer == NULL)
        fail("malloc");
    memset(buffer, 1, PART);
    for (uint64_t at; (at = atomic_fetch_add(&j->next, step)) + step <= j->end;) {
        ssize_t done = PART;
        if (j->way == LARGE_WRITE) {
            make_large(j->map + at);
            for (size_t i = 0; i < LARGE_PART; i += PART)
                memcpy(j->map + at + i, buffer, PART);
            continue;
        }
        if (is_ahead(j->way))
            wait_for(j, at + PART);
        if (j->way == WRITE || j->way == ALLOCATED_WRITE)
            done = pwrite(j->fd, buffer, PART, (off_t)at);
        else if (j->way == STEPS_KERNEL_WRITE)
            done = write_by_kernel(j->map + at, buffer, PART);
        else if (j->way == READ)
            done = pread(j->fd, buffer, PART, (off_t)at);
        else if (populates(j->way) && madvise(j->map + at, PART, MADV_POPULATE_WRITE) != 0)
            fail("madvise");
        else if (j->way < READ)
            memcpy(j->map + at, buffer, PART);
        else
            memcpy(buffer, j->map + at, PART);
        if (done != PART)
            fail("reading or writing");
    }
    free(buffer);
    return NULL;
}

static void run_threads(struct job *j, unsigned threads)
{
    pthread_t ids[THREADS];
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, j) != 0)
            fail("pthread_create");
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
}

/* At a multiple of a large page's size. */
static void map(struct job *j, int writes)
{
    j->room = mmap(NULL, (size_t)j->size + LARGE_PAGE, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (j->room == MAP_FAILED)
        fail("mmap");
    j->map = (uint8_t *)j->room + (-(uintptr_t)j->room & (LARGE_PAGE - 1));
    if (mmap(j->map, (size_t)j->size, PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED | MAP_FIXED,
             j->fd, 0) == MAP_FAILED)
        fail("mmap");
}

static double run(const char *path, enum way way, uint64_t size, unsigned threads)
{
    struct job j = {.way = way, .size = size, .end = size};
    pthread_t ahead;
    const int writes = way < READ;
    if (writes)
        unlink(path);
    j.fd = open(path, O_RDWR | (writes ? O_CREAT : 0), 0600);
    if (j.fd < 0)
        fail(path);
    const double begin = now();
    if ((way == ALLOCATED_WRITE || way == MAPPED_WRITE) && fallocate(j.fd, 0, 0, (off_t)size) != 0)
        fail("fallocate");
    if ((way == POPULATED_WRITE || way == LARGE_WRITE) && ftruncate(j.fd, (off_t)size) != 0)
        fail("ftruncate");
    if (is_ahead(way) && pthread_create(&ahead, NULL, allocate, &j) != 0)
        fail("pthread_create");
    if (way == MAPPED_WRITE || way == POPULATED_WRITE || way == LARGE_WRITE || way == MAPPED_READ ||
        is_ahead(way) || by_steps(way))
        map(&j, writes);
    for (uint64_t at = 0; at < size; at = j.end) {
        if (by_steps(way)) {
            j.end = size - at < LARGE_STEP ? size : at + LARGE_STEP;
            atomic_store(&j.next, at);
            if (fallocate(j.fd, 0, (off_t)at, (off_t)(j.end - at)) != 0)
                fail("fallocate");
        }
        run_threads(&j, threads);
    }
    if (is_ahead(way))
        pthread_join(ahead, NULL);
    if (j.map != NULL)
        munmap(j.room, (size_t)size + LARGE_PAGE);
    close(j.fd);
    return now() - begin;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: file-ways FILE [BYTES [THREADS...]]\n");
        return 2;
    }
    const uint64_t asked = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)1 << 30,
                   size = asked < PART ? PART : asked / PART * PART;
    const char *const one = "1";
    const char *const *list = argc > 3 ? (const char *const *)argv + 3 : &one;
    const int count = argc > 3 ? argc - 3 : 1;
    printf("| way | threads | GB/s |\n| --- | --- | --- |\n");
    for (int i = 0; i < count; i++)
        for (enum way way = 0; way < WAYS; way++) {
            const unsigned long threads = strtoul(list[i], NULL, 0);
            if (threads == 0 || threads > THREADS) {
                fprintf(stderr, "file-ways: 1 to %d threads, not %s\n", THREADS, list[i]);
                return 2;
            }
            double best = 1e300, spent = 0;
            for (unsigned round = 0; round < ROUNDS && spent < ENOUGH_SECONDS; round++) {
                const double seconds = run(argv[1], way, size, (unsigned)threads);
                best = seconds < best ? seconds : best;
                spent += seconds;
            }
            printf("| %s | %lu | %.2f |\n", names[way], threads, (double)size / best / 1e9);
            fflush(stdout);
        }
    unlink(argv[1]);
    return 0;
}
