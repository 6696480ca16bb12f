/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Asking the caller's progress callback, in the middle of long work, whether to stop, and telling
 * it how far the work is. The callback belongs to the thread that made the call: other threads only
 * see what it said, and count what they do. */
#ifndef WCODEC_CORE_CANCEL_H
#define WCODEC_CORE_CANCEL_H

#include "core/progress.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct wcodec_cancel {
    pthread_t caller;
    struct wcodec_reporter *reporter;
    atomic_bool cancelled;
    uint64_t begin;            /* of what is at work, in bytes of the whole */
    uint64_t size;             /* of that */
    uint64_t expected;         /* bytes that it will take, each as often as it is gone through */
    atomic_uint_fast64_t work; /* so many of them are done */
};

/* For the calling thread's reports. */
void wcodec_cancel_init(struct wcodec_cancel *cancel, struct wcodec_reporter *reporter);

/* Should work stop? From any thread, often: the callback is seldom called. NULL: no. Once true it
 * stays so. */
bool wcodec_cancel_poll(struct wcodec_cancel *cancel);

/* The same with a status: WCODEC_ERROR_CANCELLED. */
wcodec_status wcodec_cancel_check(struct wcodec_cancel *cancel, wcodec_error *err);

/* From now on these bytes of the whole are at work, gone through so often: an estimate. By the
 * calling thread, when no other counts. NULL: nothing happens. */
void wcodec_cancel_span(struct wcodec_cancel *cancel, uint64_t begin, uint64_t size,
                        unsigned passes);

/* So many bytes were gone through once more. From any thread. NULL: nothing happens. */
void wcodec_cancel_count(struct wcodec_cancel *cancel, uint64_t bytes);

#endif
