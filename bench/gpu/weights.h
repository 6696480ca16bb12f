/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Gaussian bf16 weights, made by many threads: a task has TASK bytes of a tensor. */
#ifndef WCODEC_BENCH_GPU_WEIGHTS_H
#define WCODEC_BENCH_GPU_WEIGHTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TASK = 1 << 20 };

static uint64_t next_random(uint64_t *s)
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

struct tensor {
    uint8_t *data;
    uint64_t number;
};

static void fill_task(void *argument, size_t i)
{
    const struct tensor *t = argument;
    uint64_t s = t->number << 32 | i;
    for (uint8_t *p = t->data + i * TASK, *end = p + TASK; p < end; p += 4) {
        const float u = ((float)(next_random(&s) >> 40) + 1) * 0x1p-24f,
                    a = (float)(next_random(&s) >> 40) * 0x1p-24f * 6.2831853f,
                    r = 0.02f * sqrtf(-2 * logf(u));
        const float pair[2] = {r * cosf(a), r * sinf(a)};
        for (unsigned k = 0; k < 2; k++) {
            uint32_t b;
            memcpy(&b, &pair[k], 4);
            const uint16_t h = (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
            memcpy(p + 2 * k, &h, 2);
        }
    }
}

#endif
