/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files in memory (tmpfs), written by many threads at once. Writers that call pwrite() wait for
 * each other, since the file has one lock; page faults in a mapping of it do not take that, but
 * others, for which many threads wait longer than they work. So where pages are small one thread
 * calls pwrite() at a time, a few others copy into a mapping of the file, and the rest wait for
 * their turn; where they are large, all copy, since there is a page fault in 2 MiB. A page that
 * cannot be had, as in a full file system, is a signal: it is caught, and pwrite() says why. Pages
 * that another process takes away, by cutting the file short, are an error of the write. */
#ifndef WCODEC_UTILS_MAPPED_H
#define WCODEC_UTILS_MAPPED_H

#include "utils/large_pages.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapped {
    int fd;
    unsigned char *at; /* the mapping; NULL: there is none */
    size_t size;
    void *room; /* in which the mapping is */
    struct large_pages large;
    pthread_mutex_t mutex;
    pthread_cond_t turn_ended;
    bool is_written;           /* by pwrite() at the moment */
    unsigned copiers, waiting; /* threads, at the moment */
    bool many;                 /* there were more than two at a time */
    bool is_extended;          /* the file has been given its whole size */
    atomic_bool failed;
    atomic_bool cut; /* it has lost bytes that it had */
};

/* Is it of a file system in memory? */
bool mapped_is_in_memory(int fd);

/* Get ready to write a file in memory that will have about `most` bytes, or fewer. Where that
 * fails, and for other files, all is written by pwrite(); so is what lies after `most`, and all
 * after that if nothing was copied before. */
void mapped_open(struct mapped *mapped, int fd, uint64_t most);

enum mapped_turn {
    MAPPED_WRITES,       /* to call pwrite() */
    MAPPED_COPIES,       /* to copy, by mapped_write() */
    MAPPED_COPIES_FREELY /* the same, to pages that are there: it takes nobody's turn */
};

/* Wait for a turn to write bytes from `at` on, which mapped_end() ends. By any number of threads.
 */
enum mapped_turn mapped_begin(struct mapped *mapped, uint64_t at, size_t size);
void mapped_end(struct mapped *mapped, enum mapped_turn turn, uint64_t at, size_t size);

enum mapped_result {
    MAPPED_DONE,
    MAPPED_NOT, /* pwrite() is to do it (and says that the system is full) */
    MAPPED_CUT  /* the file has lost bytes that it had */
};

/* Copy in such a turn. */
enum mapped_result mapped_write(struct mapped *mapped, uint64_t at, const void *data, size_t size);

/* After all writes: *extended, if not 0, is what the file has been extended to: that may be more
 * than was written.
 * False: the file has lost bytes that it had. */
bool mapped_close(struct mapped *mapped, uint64_t *extended);

#endif
