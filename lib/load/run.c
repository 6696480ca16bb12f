/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Workers that lead slots through requests, and what is done where a device fails. */
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "load/run.h"
#include "sched/background.h"
#include <inttypes.h>
#include <time.h>

enum {
    LOOK_NANOSECONDS = 50000000
}; /* how often the calling thread looks at progress while others work */

struct worker {
    struct wcodec_load_run *loading;
    unsigned number;
    pthread_t thread;
};

void wcodec_load_stop(struct wcodec_load_run *l)
{
    for (size_t i = 0; i < l->count; i++)
        atomic_store(&l->works[i].stop, true);
    if (l->gate != NULL)
        wcodec_load_gate_close(l->gate);
}

static bool is_stopped(const struct wcodec_load_run *l)
{
    return atomic_load(&l->works[0].stop);
}

uint64_t wcodec_load_done(const struct wcodec_load_run *l)
{
    uint64_t done = 0;
    for (size_t i = 0; i < l->count; i++)
        done += atomic_load(&l->works[i].done);
    return done;
}

uint64_t wcodec_load_total(const struct wcodec_load_run *l)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->count; i++)
        bytes += l->requests[i].bytes;
    return bytes;
}

static void fail(struct wcodec_load_run *l, uint64_t piece, wcodec_status status,
                 const wcodec_error *error)
{
    pthread_mutex_lock(&l->lock);
    if (l->status == WCODEC_OK || piece < l->failed) {
        l->failed = piece;
        l->status = status;
        l->error = *error;
    }
    wcodec_load_stop(l);
    pthread_mutex_unlock(&l->lock);
}

/* Tell the caller how far it is. Only in the thread that leads the load. */
static void report(struct wcodec_load_run *l)
{
    wcodec_error error = {0};
    const uint64_t done = wcodec_load_done(l);
    wcodec_status status = wcodec_reporter_add(&l->reporter, done - l->reported, &error);
    l->reported = done;
    if (status != WCODEC_OK)
        fail(l, 0, status, &error);
}

static bool take(struct wcodec_load_run *l, struct wcodec_load_slot *slot)
{
    wcodec_error error = {0};
    bool more = false;
    pthread_mutex_lock(&l->lock);
    if (l->gate != NULL)
        slot->work->cursor.limit = wcodec_load_gate_admitted(l->gate);
    wcodec_status status = is_stopped(l)
                               ? WCODEC_OK
                               : wcodec_load_take(&slot->work->cursor, &slot->piece, &more, &error);
    pthread_mutex_unlock(&l->lock);
    if (status == WCODEC_OK)
        return more;
    fail(l, slot->piece.number, status, &error);
    wcodec_load_piece_end(&slot->piece);
    return false;
}

static void finish(struct wcodec_load_run *l, struct wcodec_load_slot *slot)
{
    wcodec_error error = {0};
    uint64_t number = slot->piece.number;
    const size_t parts = slot->piece.count;
    if (slot->piece.count == 0 ||
        is_stopped(l)) /* what is left is waited for when the slot is freed */
        return;
    wcodec_status status = wcodec_load_slot_finish(slot, &error);
    if (status != WCODEC_OK)
        fail(l, number, status, &error);
    else if (l->gate != NULL)
        wcodec_load_gate_arrived(l->gate, slot->piece.parts, parts);
}

/* When none of its slots has anything to do, a worker waits for places. */
static bool await(struct wcodec_load_run *l)
{
    if (l->gate == NULL)
        return false;
    pthread_mutex_lock(&l->lock);
    const size_t next = l->works[0].cursor.range;
    pthread_mutex_unlock(&l->lock);
    return wcodec_load_gate_await(l->gate, next);
}

/* One after the other: while the device is at one of its slots, the worker reads for the next. It
 * ends when there is nothing more for any of them, which may be of several devices. */
static void lead(struct wcodec_load_run *l, unsigned worker)
{
    const unsigned own = (l->slot_count - worker + l->stride - 1) / l->stride;
    unsigned i = worker, idle = 0;
    while (idle < own) {
        struct wcodec_load_slot *slot = &l->slots[i];
        wcodec_error error = {0};
        finish(l, slot);
        if (worker == 0)
            report(l);
        const bool more = take(l, slot);
        idle = more ? 0 : idle + 1;
        if (idle == own && await(l))
            idle = 0;
        wcodec_status status = more ? wcodec_load_slot_begin(slot, &error) : WCODEC_OK;
        if (status != WCODEC_OK) {
            fail(l, slot->piece.number, status, &error);
            break;
        }
        i = i + l->stride < l->slot_count ? i + l->stride : worker;
    }
    for (i = worker; i < l->slot_count; i += l->stride)
        finish(l, &l->slots[i]);
}

static void *run_worker(void *argument)
{
    struct worker *w = argument;
    lead(w->loading, w->number);
    pthread_mutex_lock(&w->loading->lock);
    w->loading->running--;
    pthread_cond_signal(&w->loading->changed);
    pthread_mutex_unlock(&w->loading->lock);
    return NULL;
}

static void wait_for_workers(struct wcodec_load_run *l)
{
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NANOSECONDS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&l->lock);
        if (l->running != 0)
            pthread_cond_timedwait(&l->changed, &l->lock, &until);
        bool ended = l->running == 0;
        pthread_mutex_unlock(&l->lock);
        if (ended)
            return;
        report(l);
    }
}

/* The calling thread is worker 0. With threads that are not the library's it is the only one. */
static void run_workers(struct wcodec_load_run *l)
{
    wcodec_context *context = l->requests[0].context;
    struct worker *workers =
        wcodec_alloc_array(&context->allocator, l->slot_count, sizeof *workers);
    bool alone =
        workers == NULL || context->executor.run != NULL || wcodec_context_threads(context) == 1;
    unsigned started = 1;
    l->stride = alone ? 1 : l->slot_count;
    while (started < l->stride) {
        workers[started] = (struct worker){.loading = l, .number = started};
        pthread_mutex_lock(&l->lock);
        l->running++;
        pthread_mutex_unlock(&l->lock);
        if (wcodec_thread_start(&workers[started].thread, run_worker, &workers[started]) != 0) {
            pthread_mutex_lock(&l->lock);
            l->running--;
            pthread_mutex_unlock(&l->lock);
            break;
        }
        started++;
    }
    lead(l, 0);
    wait_for_workers(l);
    for (unsigned i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    wcodec_free(&context->allocator, workers);
    if (started < l->stride) { /* a device may have nobody who leads its slots */
        l->stride = 1;
        lead(l, 0);
    }
}

/* Streams that a device has no room for are done without, but for the first. */
static wcodec_status create_slots_of(struct wcodec_load_run *l, struct wcodec_load_work *work,
                                     wcodec_error *err)
{
    const struct wcodec_load_request *q = work->request;
    work->owner = (struct wcodec_staging_owner){.context = q->context,
                                                .device = q->device,
                                                .purpose = "loading",
                                                .limit = q->context->limits.max_memory};
    for (unsigned i = 0; i < q->streams; i++, l->slot_count++) {
        wcodec_status status = wcodec_load_slot_create(work, &l->slots[l->slot_count], err);
        if (status != WCODEC_OK && (i == 0 || status != WCODEC_ERROR_MEMORY)) {
            l->at_fault = work;
            return status;
        }
        if (status != WCODEC_OK)
            break;
    }
    return WCODEC_OK;
}

static wcodec_status create_slots(struct wcodec_load_run *l, wcodec_error *err)
{
    const struct wcodec_load_request *q = &l->requests[0];
    l->slots = wcodec_alloc_array(&q->context->allocator, l->count * q->streams, sizeof *l->slots);
    if (l->slots == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %u streams", q->streams);
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < l->count && status == WCODEC_OK; i++)
        status = create_slots_of(l, &l->works[i], err);
    return status;
}

/* When all is there: nothing is passed on any more. */
static wcodec_status make_copies(struct wcodec_load_run *l, wcodec_error *err)
{
    for (size_t i = 0; i < l->count; i++) {
        const wcodec_status status = wcodec_load_copies(&l->works[i], err);
        if (status != WCODEC_OK) {
            l->at_fault = &l->works[i];
            return status;
        }
    }
    return WCODEC_OK;
}

static wcodec_status run_slots(struct wcodec_load_run *l, wcodec_error *err)
{
    wcodec_status status = create_slots(l, err);
    if (status == WCODEC_OK)
        run_workers(l);
    if (status == WCODEC_OK && l->status == WCODEC_OK && !is_stopped(l))
        status = make_copies(l, err);
    for (unsigned i = 0; i < l->slot_count; i++)
        wcodec_load_slot_free(&l->slots[i]);
    for (size_t i = 0; i < l->count; i++)
        wcodec_load_cursor_end(&l->works[i].cursor);
    wcodec_free(&l->requests[0].context->allocator, l->slots);
    if (status != WCODEC_OK)
        return status;
    if (l->status == WCODEC_OK && is_stopped(l)) /* by wcodec_loading_cancel() */
        return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    return l->status != WCODEC_OK ? wcodec_fail(err, l->status, "%s", l->error.text) : WCODEC_OK;
}

/* What others pass on to a device is given to their own queues, which its queue does not hold up:
 * then the host waits. */
static wcodec_status mark(struct wcodec_load_work *work, bool wait, wcodec_error *err)
{
    const struct wcodec_load_request *q = work->request;
    work->cursor = (struct wcodec_load_cursor){.request = q, .limit = q->count};
    if (!q->options.use_queue)
        return WCODEC_OK;
    wcodec_status status = wcodec_opened_mark(q->device, q->options.queue, &work->after, err);
    if (status == WCODEC_OK && wait)
        status = q->device->backend->event_wait(work->after, err);
    return status;
}

static wcodec_status run_marked(struct wcodec_load_run *l, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < l->count && status == WCODEC_OK; i++) {
        status = mark(&l->works[i], l->requests[i].received != 0, err);
        if (status != WCODEC_OK)
            l->at_fault = &l->works[i];
    }
    if (status == WCODEC_OK)
        status = run_slots(l, err);
    for (size_t i = 0; i < l->count; i++) {
        if (l->works[i].after != NULL)
            l->requests[i].device->backend->event_destroy(l->works[i].after);
        l->works[i].after = NULL;
    }
    return status;
}

/* A device that fails before it has a piece is lost too; what it was to decode to host memory is
 * then the CPU's, if it may. */
static wcodec_status run_anyhow(struct wcodec_load_run *l, wcodec_error *err)
{
    wcodec_error error = {0};
    wcodec_status status = run_marked(l, &error);
    if (status == WCODEC_ERROR_DEVICE && l->at_fault != NULL &&
        !atomic_load(&l->at_fault->request->device->lost)) {
        struct wcodec_load_request *q = l->at_fault->request;
        struct wcodec_opened *device = q->device;
        wcodec_backends_lose(q->context, device, error.text);
        if (l->count == 1 && device->cpu_allowed && l->gate == NULL && q->adopted_count == 0 &&
            !q->options.use_queue) {
            l->slot_count = 0;
            status = wcodec_load_request_to_cpu(q, &error);
            if (status == WCODEC_OK)
                status = run_marked(l, &error);
        } else {
            status = wcodec_fail(&error, WCODEC_ERROR_DEVICE, "%s failed: %.900s", device->name,
                                 error.text);
        }
    }
    return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", error.text);
}

static wcodec_load_report report_of(const struct wcodec_load_work *w)
{
    return (wcodec_load_report){.bytes = w->request->bytes,
                                .coded_bytes = atomic_load(&w->coded),
                                .cpu_bytes = atomic_load(&w->by_cpu),
                                .batches = atomic_load(&w->batches),
                                .received_bytes = w->request->received};
}

wcodec_status wcodec_load_run(struct wcodec_load_run *l, wcodec_load_report *reports,
                              wcodec_error *err)
{
    const uint64_t bytes = wcodec_load_total(l);
    wcodec_reporter_init(&l->reporter, &l->requests[0].options.progress, bytes);
    for (size_t i = 0; i < l->count; i++)
        wcodec_load_announce(&l->requests[i]);
    wcodec_status status = run_anyhow(l, err);
    if (l->gate != NULL)
        wcodec_load_gate_close(l->gate);
    for (size_t i = 0; i < l->count; i++)
        wcodec_load_withdraw(&l->requests[i]);
    if (status == WCODEC_OK) {
        l->reporter.done = bytes;
        status = wcodec_reporter_end(&l->reporter, err);
    }
    for (size_t i = 0; i < l->count && status == WCODEC_OK; i++) {
        const struct wcodec_load_request *q = &l->requests[i];
        const wcodec_load_report r = report_of(&l->works[i]);
        wcodec_log(q->context, WCODEC_LOG_DEBUG,
                   "%s loaded %" PRIu64 " bytes from %" PRIu64 " coded ones in %" PRIu64
                   " batches, the CPU %" PRIu64 " bytes of them; others passed on %" PRIu64,
                   q->device->name, r.bytes, r.coded_bytes, r.batches, r.cpu_bytes,
                   r.received_bytes);
        if (reports != NULL)
            reports[i] = r;
    }
    return status;
}

wcodec_status wcodec_load_run_init(struct wcodec_load_run *l, wcodec_error *err)
{
    if (pthread_mutex_init(&l->lock, NULL) != 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    if (pthread_cond_init(&l->changed, NULL) != 0) {
        pthread_mutex_destroy(&l->lock);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a condition");
    }
    return WCODEC_OK;
}

void wcodec_load_run_end(struct wcodec_load_run *l)
{
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
}
