/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file's bytes to a device without decoding: read, staged in pinned memory and copied over
 * several streams, just as loads do it; or one of the two alone. */
#ifndef WCODEC_BENCH_GPU_RAW_H
#define WCODEC_BENCH_GPU_RAW_H

#include "bench/timing.h"
#include "core/bytes.h"
#include "core/context.h"
#include "registry/registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wcodec.h>

enum { STREAMS = 16, READ_SIZE = 1 << 20 };

static inline void check(wcodec_status status, const wcodec_error *err)
{
    if (status == WCODEC_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

struct raw {
    wcodec_context *context;
    struct wcodec_opened *device;
    struct wcodec_memory *to; /* NULL: nothing is copied, reading alone */
    int fd;                   /* -1: nothing is read, copies alone */
    uint64_t from;            /* of the file's bytes, the first */
    uint64_t size, piece;
    bool alone;       /* each stream's thread reads by itself, else all threads of the context */
    double processor; /* seconds of all copies */
    unsigned streams;
    _Atomic uint64_t next;
    _Atomic unsigned stream;
    struct wcodec_memory *pinned[STREAMS];
    pthread_t threads[STREAMS];
};

struct read {
    const struct raw *raw;
    uint64_t at, size;
    uint8_t *to;
};

static void read_task(void *argument, size_t i)
{
    const struct read *r = argument;
    const uint64_t at = i * (uint64_t)READ_SIZE, left = r->size - at;
    uint64_t size = left < READ_SIZE ? left : READ_SIZE;
    for (uint64_t done = 0; done < size;) {
        ssize_t n = pread(r->raw->fd, r->to + at + done, size - done,
                          (off_t)(r->raw->from + r->at + at + done));
        if (n <= 0)
            exit(1);
        done += (uint64_t)n;
    }
}

static void *copy_stream(void *argument)
{
    struct raw *r = argument;
    const struct wcodec_backend *b = r->device->backend;
    struct wcodec_memory *pinned = r->pinned[atomic_fetch_add(&r->stream, 1)];
    struct wcodec_queue *queue;
    wcodec_error err;
    check(b->queue_create(r->device->device, &queue, &err), &err);
    for (;;) {
        const uint64_t at = atomic_fetch_add(&r->next, r->piece);
        struct wcodec_event *event;
        if (at >= r->size)
            break;
        struct read read = {r, at, r->size - at < r->piece ? r->size - at : r->piece,
                            b->memory_pointer(pinned)};
        const size_t tasks = r->fd >= 0 ? (size_t)wcodec_div_up_u64(read.size, READ_SIZE) : 0;
        for (size_t i = 0; i < tasks && r->alone; i++)
            read_task(&read, i);
        if (!r->alone)
            wcodec_run(r->context, read_task, &read, tasks);
        if (r->to == NULL)
            continue;
        check(b->copy_in(queue, r->to, at, read.to, read.size, &err), &err);
        check(b->event_record(queue, &event, &err), &err);
        check(b->event_wait(event, &err), &err);
        b->event_destroy(event);
    }
    check(b->queue_wait(queue, &err), &err);
    b->queue_destroy(queue);
    return NULL;
}

static inline void raw_allocate(struct raw *r, unsigned streams, uint64_t piece)
{
    wcodec_error err;
    r->streams = streams;
    r->piece = piece;
    for (unsigned i = 0; i < streams; i++)
        check(r->device->backend->memory_allocate(r->device->device, WCODEC_MEMORY_PINNED, piece,
                                                  &r->pinned[i], &err),
              &err);
}

static inline void raw_start(struct raw *r)
{
    atomic_store(&r->next, 0);
    atomic_store(&r->stream, 0);
    for (unsigned i = 0; i < r->streams; i++)
        if (pthread_create(&r->threads[i], NULL, copy_stream, r) != 0)
            exit(1);
}

static inline void raw_join(struct raw *r)
{
    for (unsigned i = 0; i < r->streams; i++)
        pthread_join(r->threads[i], NULL);
}

static inline void raw_free(struct raw *r)
{
    for (unsigned i = 0; i < r->streams; i++)
        r->device->backend->memory_free(r->pinned[i]);
}

#endif
