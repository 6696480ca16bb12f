/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How the programs that measure one thread do it: the thread's own time, so that other processes weigh less, and medians. */
#ifndef WCODEC_BENCH_TIMING_H
#define WCODEC_BENCH_TIMING_H

#include <stdlib.h>
#include <time.h>

/* Seconds of the calling thread. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
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

#endif
