/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files in memory by utils/mapped.c: by many threads, where less is written than there was room
 * for, and where allocating fails. With the name of a file on a file system in memory of 20 MiB:
 * where that is full. */
#include "utils/mapped.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

bool signals_pending(void)
{
    return false;
}

struct job {
    struct mapped *mapped;
    const unsigned char *from;
    size_t size;
    unsigned first;      /* of every THREADS pieces */
    size_t most_written; /* the end of the last piece that was */
    unsigned refused;
};

static void *write_pieces(void *argument)
{
    struct job *job = argument;
    for (size_t at = (size_t)job->first * PIECE; at < job->size; at += (size_t)THREADS * PIECE) {
        const size_t left = job->size - at, size = left < PIECE ? left : PIECE;
        if (mapped_write(job->mapped, at, job->from + at, size, true) != MAPPED_DONE) {
            job->refused++;
            REQUIRE(pwrite(job->mapped->fd, job->from + at, size, (off_t)at) <= (ssize_t)size);
        } else if (at + size > job->most_written) {
            job->most_written = at + size;
        }
    }
    return NULL;
}

/* How many pieces were refused; *end: of those that were not. */
static unsigned write_all(struct mapped *mapped, const unsigned char *from, size_t size,
                          size_t *end)
{
    struct job jobs[THREADS];
    pthread_t threads[THREADS];
    unsigned refused = 0;
    *end = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.mapped = mapped, .from = from, .size = size, .first = i};
        REQUIRE(pthread_create(&threads[i], NULL, write_pieces, &jobs[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        refused += jobs[i].refused;
        *end = jobs[i].most_written > *end ? jobs[i].most_written : *end;
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

static void writes_all(size_t size)
{
    struct mapped mapped;
    uint64_t allocated;
    size_t end;
    unsigned char *data = make_data(size);
    const int fd = make_file();
    mapped_open(&mapped, fd, size, true);
    REQUIRE(mapped.at != NULL);
    REQUIRE(mapped_write(&mapped, 0, data, 1, false) == MAPPED_NOT);
    REQUIRE(status_of(fd).st_blocks == 0);
    REQUIRE(mapped_write(&mapped, size, data, 1, true) == MAPPED_NOT);
    REQUIRE(mapped_write(&mapped, UINT64_MAX, data, 1, true) == MAPPED_NOT);
    REQUIRE(write_all(&mapped, data, size, &end) == 0);
    REQUIRE(mapped_close(&mapped, &allocated));
    REQUIRE(allocated == size && end == size && status_of(fd).st_size == (off_t)size);
    expect_contents(fd, data, size);
    close(fd);
    free(data);
}

/* What is allocated ahead has its bounds. */
static void writes_a_part(void)
{
    enum { PART = 3 * MIB };
    struct mapped mapped;
    uint64_t allocated;
    size_t end;
    unsigned char *data = make_data(PART);
    const int fd = make_file();
    mapped_open(&mapped, fd, 100 * MIB, false);
    REQUIRE(write_all(&mapped, data, PART, &end) == 0);
    REQUIRE(mapped_close(&mapped, &allocated));
    REQUIRE(allocated >= PART && allocated <= PART + 24 * MIB);
    REQUIRE(status_of(fd).st_size == (off_t)allocated);
    expect_contents(fd, data, PART);
    close(fd);
    free(data);
}

/* Steps of 8 MiB until there is no room for one: the rest is for pwrite(). */
static void stops_where_there_is_no_room(int fd)
{
    enum { ALL = 30 * MIB };
    struct mapped mapped;
    uint64_t allocated;
    size_t end;
    unsigned char *data = make_data(ALL);
    mapped_open(&mapped, fd, ALL, true);
    REQUIRE(mapped.at != NULL);
    REQUIRE(write_all(&mapped, data, ALL, &end) > 0);
    REQUIRE(mapped_close(&mapped, &allocated));
    REQUIRE(allocated == 16 * MIB && end <= allocated && end > allocated - 2 * PIECE);
    REQUIRE(status_of(fd).st_size >= (off_t)allocated);
    expect_contents(fd, data, (size_t)allocated);
    close(fd);
    free(data);
}

static void stops_at_a_limit(void)
{
    const struct rlimit limit = {20 * MIB, 20 * MIB};
    signal(SIGXFSZ, SIG_IGN);
    const int fd = make_file();
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    stops_where_there_is_no_room(fd);
}

static void leaves_other_files_alone(void)
{
    struct mapped mapped;
    uint64_t allocated;
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0);
    mapped_open(&mapped, fd, 1000, true);
    REQUIRE(mapped.at == NULL && mapped_write(&mapped, 0, "x", 1, true) == MAPPED_NOT);
    REQUIRE(mapped_close(&mapped, &allocated));
    REQUIRE(allocated == 0);
    close(fd);
}

/* Pages that were allocated, and are taken away. */
static void survives_a_cut(void)
{
    enum { ALL = 4 * MIB, AHEAD = 100 };
    struct mapped mapped;
    uint64_t allocated;
    sigset_t all;
    unsigned char *data = make_data(ALL);
    const int fd = make_file();
    /* As in the library's threads. */
    sigfillset(&all);
    REQUIRE(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    mapped_open(&mapped, fd, ALL, true);
    REQUIRE(mapped_write(&mapped, ALL - PIECE, data, PIECE, true) == MAPPED_DONE);
    REQUIRE(ftruncate(fd, MIB) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(mapped_write(&mapped, 2 * MIB, data, PIECE, true) == MAPPED_CUT);
    REQUIRE(mapped_write(&mapped, 0, data, MIB, true) == MAPPED_DONE);
    REQUIRE(!mapped_close(&mapped, &allocated));
    expect_contents(fd, data, MIB);
    /* Before more is allocated. */
    mapped_open(&mapped, fd, AHEAD * MIB, false);
    REQUIRE(mapped_write(&mapped, 0, data, PIECE, true) == MAPPED_DONE);
    REQUIRE(ftruncate(fd, 1) == 0);
    REQUIRE(mapped_write(&mapped, (AHEAD - 1) * MIB, data, PIECE, true) == MAPPED_CUT);
    REQUIRE(!mapped_close(&mapped, &allocated));
    close(fd);
    free(data);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const int fd = open(argv[1], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        REQUIRE(fd >= 0);
        stops_where_there_is_no_room(fd);
        return 0;
    }
    writes_all(1);
    writes_all(41 * MIB + 13);
    writes_a_part();
    leaves_other_files_alone();
    survives_a_cut();
    stops_at_a_limit();
    return 0;
}

#else

int main(void)
{
    return 77;
}

#endif
