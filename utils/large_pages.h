/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Large pages for a file in memory (tmpfs), made ahead of what is written to it: clearing and
 * entering 512 small ones takes longer than to fill them, and waits for locks of the file that all
 * its writers share. The kernel gives a file large ones by itself only where it was mounted so; it
 * puts a range together when asked to (MADV_COLLAPSE, Linux 6.1). Where it does not, pages are as
 * they would have been. */
#ifndef WCODEC_UTILS_LARGE_PAGES_H
#define WCODEC_UTILS_LARGE_PAGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A mapping begins at a multiple of that. */
enum { LARGE_PAGE = 2 << 20 };

struct large_step;

struct large_pages {
    int fd;
    unsigned char *at; /* the mapping; NULL: all pages are small */
    uint64_t size;     /* of the large pages that it has room for */
    struct large_step *steps;
    size_t count;
    size_t next;             /* the first step that nobody has begun */
    size_t making;           /* steps that are made now */
    uint64_t made, spent_ns; /* bytes, and how long that took */
    pthread_t opener;
    bool many;  /* other threads write, too */
    bool ended; /* none can be had, or they take too long: what is not begun stays as it is */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

/* For a file that is mapped at `at` and will have about `size` bytes. */
void large_pages_open(struct large_pages *pages, int fd, unsigned char *at, uint64_t size);
void large_pages_close(struct large_pages *pages);

/* Before bytes [begin, end) are written, which the file has: wait until no page there is being
 * made, or make some. True: all of them are large. By any number of threads. */
bool large_pages_get(struct large_pages *pages, uint64_t begin, uint64_t end);

/* After that, on large pages or not. What is written is unmapped, so that it does not count as the
 * process's memory. */
void large_pages_put(struct large_pages *pages, uint64_t begin, uint64_t end);

#endif
