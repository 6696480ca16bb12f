/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What programs that measure share: failing, a context of one thread, output in memory. A program
 * defines PROGRAM, its name, before it includes this. */
#ifndef WCODEC_BENCH_PROGRAM_H
#define WCODEC_BENCH_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcodec.h>

static inline _Noreturn void fail(const char *why)
{
    fprintf(stderr, PROGRAM ": %s\n", why);
    exit(2);
}

static inline void check(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK)
        fail(err->text);
}

static inline wcodec_context *open_context(unsigned threads)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.threads = threads;
    options.backend = "cpu";
    check(wcodec_context_create(&options, &context, &err), &err);
    return context;
}

/* Coded bytes; data is from malloc() or NULL. */
struct sink {
    uint8_t *data;
    size_t size, capacity;
};

static inline int append(void *opaque, const void *data, size_t size)
{
    struct sink *s = opaque;
    if (size > s->capacity - s->size) {
        s->capacity = 2 * s->capacity + size;
        s->data = realloc(s->data, s->capacity);
        if (s->data == NULL)
            fail("out of memory");
    }
    if (size > 0)
        memcpy(s->data + s->size, data, size);
    s->size += size;
    return 0;
}

#endif
