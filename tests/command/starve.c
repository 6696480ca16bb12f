/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* For LD_PRELOAD: from allocation number STARVE_AT of the command on there is no memory (with
 * STARVE_ONCE, for that one alone). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifndef __GLIBC__
#error "the C library's own functions go by other names"
#endif

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static atomic_long calls;

static bool starved(void)
{
    const char *at = getenv("STARVE_AT");
    if (!at || !strstr(program_invocation_short_name, "wcodec"))
        return false;
    long call = atomic_fetch_add(&calls, 1) + 1, first = atol(at);
    if (getenv("STARVE_ONCE") ? call != first : call < first)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return starved() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return starved() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return starved() ? NULL : __libc_realloc(memory, size);
}
