/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A load under way: workers lead slots through the requests of its devices. */
#ifndef WCODEC_LOAD_RUN_H
#define WCODEC_LOAD_RUN_H

#include "load/load.h"
#include "load/gate.h"
#include <pthread.h>

struct wcodec_load_run {
    struct wcodec_load_request *requests; /* of each device one, and its work */
    struct wcodec_load_work *works;
    size_t count;
    struct wcodec_load_gate *gate;     /* of a load to one device; NULL: all has its place */
    struct wcodec_load_work *at_fault; /* whose device failed before it had a piece */
    struct wcodec_load_slot *slots;
    unsigned slot_count, stride; /* worker w leads slots w, w + stride, ... */
    struct wcodec_reporter reporter;
    uint64_t reported;
    pthread_mutex_t lock; /* guards all below, and the cursors */
    pthread_cond_t changed;
    unsigned running; /* workers beside the calling thread */
    uint64_t failed;  /* piece whose error is kept: the first in the order of the files */
    wcodec_status status;
    wcodec_error error;
};

/* Its lock; the rest is zero, or the caller's. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_load_run_init(struct wcodec_load_run *l, wcodec_error *err);
void wcodec_load_run_end(struct wcodec_load_run *l);

/* All of it, from the calling thread. reports: of each device one, or NULL. */
wcodec_status wcodec_load_run(struct wcodec_load_run *l, wcodec_load_report *reports,
                              wcodec_error *err);

/* From any thread, while it runs: it ends soon, and what is done of so many bytes. */
void wcodec_load_stop(struct wcodec_load_run *l);
uint64_t wcodec_load_done(const struct wcodec_load_run *l);
uint64_t wcodec_load_total(const struct wcodec_load_run *l);

#endif
