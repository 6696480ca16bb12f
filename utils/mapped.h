/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files in memory (tmpfs), written by many threads at once. Writers that call pwrite() wait for
 * each other: allocating and writing hold one lock of the file. Here one thread alone allocates,
 * some way ahead, and the others copy into a mapping of what it has allocated: pages that are
 * there, so that a full file system is an error of the allocation, and no signal. Pages that
 * another process takes away, by cutting the file short, are an error of the write. */
#ifndef WCODEC_UTILS_MAPPED_H
#define WCODEC_UTILS_MAPPED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapped {
    int fd;
    unsigned char *at; /* the mapping; NULL: there is none */
    size_t size;
    bool exact; /* all of it will be written */
    pthread_mutex_t mutex;
    pthread_cond_t wanted_more, allocated_more;
    pthread_t thread;
    bool started, failed, ended;
    atomic_bool cut;            /* it has lost bytes that it had */
    uint64_t wanted, allocated; /* bytes from the file's begin */
};

/* Is it of a file system in memory? */
bool mapped_is_in_memory(int fd);

/* Get ready to write a file in memory that will have at most `most` bytes (`exact`: so many). Where
 * that fails, and for other files, mapped_write() writes nothing. */
void mapped_open(struct mapped *mapped, int fd, uint64_t most, bool exact);

enum mapped_result {
    MAPPED_DONE,
    MAPPED_NOT, /* nothing is written, pwrite() is to do it (and says that the system is full) */
    MAPPED_CUT  /* the file has lost bytes that it had */
};

/* Write by the mapping; by any number of threads. Nothing is allocated before one of them has set
 * `start`. */
enum mapped_result mapped_write(struct mapped *mapped, uint64_t at, const void *data, size_t size,
                                bool start);

/* After all writes: *allocated bytes may be more than were written. False: the file has lost bytes
 * that it had. */
bool mapped_close(struct mapped *mapped, uint64_t *allocated);

#endif
