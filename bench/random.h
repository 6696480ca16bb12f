/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Random numbers of the programs that make tensors: the same each time. */
#ifndef WCODEC_BENCH_RANDOM_H
#define WCODEC_BENCH_RANDOM_H

#include <math.h>
#include <stdint.h>

static uint64_t random_state = 1;

static inline uint64_t random_next(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Above 0 and below 1. */
static inline double uniform(void)
{
    return ((double)(random_next() >> 11) + 0.5) * 0x1p-53;
}

/* Of mean 0 and deviation 1. */
static inline double gaussian(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

#endif
