/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Memory of the first CUDA device that is taken so that others find little of it: what does not fit
 * is tried on devices of any size. By the driver itself, whose memory OpenCL shares. */
#ifndef WCODEC_BENCH_GPU_BALLAST_H
#define WCODEC_BENCH_GPU_BALLAST_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BALLAST_BLOCKS = 256 };

struct ballast {
    void *driver, *context;
    uint64_t blocks[BALLAST_BLOCKS];
    size_t count;
    int (*free_memory)(uint64_t);
};

/* A function of the driver; ISO C has no conversion from a pointer to data. */
static inline bool ballast_find(struct ballast *b, const char *name, void *function)
{
    void *found = dlsym(b->driver, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* All but about so many bytes; false: there is no such device. */
static inline bool ballast_take(struct ballast *b, uint64_t leave)
{
    int (*init)(unsigned), (*retain)(void **, int), (*set)(void *), (*info)(size_t *, size_t *),
        (*allocate)(uint64_t *, size_t);
    size_t left = 0, all = 0;
    *b = (struct ballast){.driver = dlopen("libcuda.so.1", RTLD_NOW)};
    if (b->driver == NULL || !ballast_find(b, "cuInit", &init) ||
        !ballast_find(b, "cuDevicePrimaryCtxRetain", &retain) ||
        !ballast_find(b, "cuCtxSetCurrent", &set) || !ballast_find(b, "cuMemGetInfo_v2", &info) ||
        !ballast_find(b, "cuMemAlloc_v2", &allocate) ||
        !ballast_find(b, "cuMemFree_v2", &b->free_memory) || init(0) != 0 ||
        retain(&b->context, 0) != 0 || set(b->context) != 0)
        return false;
    for (uint64_t size = (uint64_t)1 << 36; size >= (uint64_t)1 << 21; size /= 2)
        while (b->count < BALLAST_BLOCKS && info(&left, &all) == 0 && left >= leave + size &&
               allocate(&b->blocks[b->count], size) == 0)
            b->count++;
    return true;
}

static inline void ballast_drop(struct ballast *b)
{
    while (b->count > 0)
        b->free_memory(b->blocks[--b->count]);
}

#endif
