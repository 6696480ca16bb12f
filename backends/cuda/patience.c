/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Waiting for a device whose kernels may never end: the driver has no limit, so that it is asked
 * again and again where WCODEC_CUDA_PATIENCE sets one. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <time.h>

wcodec_status wcodec_cuda_patience_create(struct wcodec_device *d, wcodec_error *err)
{
    const wcodec_allocator *a = d->host->allocator;
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_CUDA_PATIENCE");
    d->patience = a->allocate(a->opaque, sizeof *d->patience);
    if (d->patience == NULL)
        return d->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for a CUDA device");
    d->patience->seconds = wanted != NULL ? strtoull(wanted, NULL, 10) : 0;
    atomic_init(&d->patience->is_over, false);
    return WCODEC_OK;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Is it ready? 0, or as an error what is wrong. */
typedef cu_result (*ask_fn)(const struct wcodec_device *device, const void *what);

static cu_result ask_stream(const struct wcodec_device *d, const void *what)
{
    return d->cu->stream_query(*(cu_stream const *)what);
}

static cu_result ask_event(const struct wcodec_device *d, const void *what)
{
    return d->cu->event_query(*(cu_event const *)what);
}

/* Asked after 20 microseconds first, and more and more seldom: after 1 ms in the end. */
static cu_result wait_for(const struct wcodec_device *d, ask_fn ask, const void *what)
{
    enum { FIRST = 20000, LAST = 1000000 };
    const uint64_t begun = now(), longest = UINT64_MAX / 1000000000u,
                   seconds = d->patience->seconds < longest ? d->patience->seconds : longest,
                   most = seconds * 1000000000u;
    struct timespec pause = {.tv_nsec = FIRST};
    cu_result result;
    while ((result = ask(d, what)) == CU_NOT_READY) {
        if (now() - begun > most) {
            atomic_store(&d->patience->is_over, true);
            return CU_TIMED_OUT;
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < LAST ? 2 * pause.tv_nsec : LAST;
    }
    return result;
}

cu_result wcodec_cuda_wait(const struct wcodec_device *d, cu_stream stream)
{
    return d->patience->seconds == 0 ? d->cu->stream_wait(stream)
                                     : wait_for(d, ask_stream, &stream);
}

cu_result wcodec_cuda_wait_event(const struct wcodec_device *d, cu_event event)
{
    return d->patience->seconds == 0 ? d->cu->event_wait(event) : wait_for(d, ask_event, &event);
}
