/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int find(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found); /* what POSIX means by a cast that C does not have */
    return found != NULL;
}

const char *wcodec_cuda_driver_open(struct wcodec_cuda_driver *d, char *text, size_t text_size)
{
    d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (d->library == NULL)
        return "libcuda.so.1 was not found: no NVIDIA driver is installed";
#define X(name, symbol, parameters) \
    if (!find(d->library, symbol, &d->name)) { \
        snprintf(text, text_size, "libcuda.so.1 has no %s: the driver is too old", symbol); \
        return text; \
    }
    WCODEC_CUDA_FUNCTIONS(X)
#undef X
#define X(name, symbol, parameters) find(d->library, symbol, &d->name);
    WCODEC_CUDA_NEWER_FUNCTIONS(X)
#undef X
    return NULL;
}
