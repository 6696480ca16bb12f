/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Asking the caller's progress callback, in the middle of long work, whether to stop. The callback
 * belongs to the thread that made the call: other threads only see what it said. */
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
};

/* For the calling thread's reports. */
void wcodec_cancel_init(struct wcodec_cancel *cancel, struct wcodec_reporter *reporter);

/* Should work stop? From any thread, often: the callback is seldom called. NULL: no. Once true it
 * stays so. */
bool wcodec_cancel_poll(struct wcodec_cancel *cancel);

#endif
