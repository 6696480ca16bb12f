/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How programs measure: one thread by its own time or its process's, so that other processes weigh
 * less, several by the wall's; medians, and memory. */
#ifndef WCODEC_BENCH_TIMING_H
#define WCODEC_BENCH_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Seconds of the calling thread. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of all threads of the process, in the kernel too. */
static inline double process_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of the wall clock. */
static inline double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of an odd count; sorts them. */
static inline double median(double *times, size_t count)
{
    qsort(times, count, sizeof *times, compare_times);
    return times[count / 2];
}

/* In large pages if there are any, as the memory of models mostly is: with small ones address
 * translation would be what is measured. */
static inline void *take_pages(size_t size)
{
    const size_t page = (size_t)2 << 20, whole = (size + page - 1) / page * page;
    void *p = aligned_alloc(page, whole);
    if (p == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    madvise(p, whole, MADV_HUGEPAGE);
    memset(p, 1, whole);
    return p;
}

#endif
