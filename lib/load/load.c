/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Workers that lead slots through a request, and the calls that start them. */
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "load/load.h"
#include "sched/background.h"
#include <inttypes.h>
#include <time.h>

enum {
    LOOK_NANOSECONDS = 50000000
}; /* how often the calling thread looks at progress while others work */

struct loading {
    struct wcodec_load_work work;
    struct wcodec_load_cursor cursor;
    struct wcodec_load_slot *slots;
    unsigned slot_count, stride; /* worker w leads slots w, w + stride, ... */
    struct wcodec_reporter reporter;
    uint64_t reported;
    pthread_mutex_t lock; /* guards all below, and the cursor */
    pthread_cond_t changed;
    unsigned running; /* workers beside the calling thread */
    uint64_t failed;  /* piece whose error is kept: the first in the order of the files */
    wcodec_status status;
    wcodec_error error;
};

struct worker {
    struct loading *loading;
    unsigned number;
    pthread_t thread;
};

static void fail(struct loading *l, uint64_t piece, wcodec_status status, const wcodec_error *error)
{
    pthread_mutex_lock(&l->lock);
    if (l->status == WCODEC_OK || piece < l->failed) {
        l->failed = piece;
        l->status = status;
        l->error = *error;
    }
    atomic_store(&l->work.stop, true);
    pthread_mutex_unlock(&l->lock);
}

/* Tell the caller how far it is. Only in the thread that leads the load. */
static void report(struct loading *l)
{
    wcodec_error error = {0};
    uint64_t done = atomic_load(&l->work.done);
    wcodec_status status = wcodec_reporter_add(&l->reporter, done - l->reported, &error);
    l->reported = done;
    if (status != WCODEC_OK)
        fail(l, 0, status, &error);
}

static bool take(struct loading *l, struct wcodec_load_slot *slot)
{
    wcodec_error error = {0};
    bool more = false;
    pthread_mutex_lock(&l->lock);
    wcodec_status status = atomic_load(&l->work.stop)
                               ? WCODEC_OK
                               : wcodec_load_take(&l->cursor, &slot->piece, &more, &error);
    pthread_mutex_unlock(&l->lock);
    if (status == WCODEC_OK)
        return more;
    fail(l, slot->piece.number, status, &error);
    wcodec_load_piece_end(&slot->piece);
    return false;
}

static void finish(struct loading *l, struct wcodec_load_slot *slot)
{
    wcodec_error error = {0};
    uint64_t number = slot->piece.number;
    if (slot->piece.count == 0 ||
        atomic_load(&l->work.stop)) /* what is left is waited for when the slot is freed */
        return;
    wcodec_status status = wcodec_load_slot_finish(slot, &error);
    if (status != WCODEC_OK)
        fail(l, number, status, &error);
}

/* One after the other: while the device is at one of its slots, the worker reads for the next. */
static void lead(struct loading *l, unsigned worker)
{
    unsigned i = worker;
    for (;;) {
        struct wcodec_load_slot *slot = &l->slots[i];
        wcodec_error error = {0};
        finish(l, slot);
        if (worker == 0)
            report(l);
        if (!take(l, slot))
            break;
        wcodec_status status = wcodec_load_slot_begin(slot, &error);
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

static void wait_for_workers(struct loading *l)
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
static void run_workers(struct loading *l)
{
    struct worker workers[WCODEC_LOAD_STREAMS_MAX];
    wcodec_context *context = l->work.request->context;
    bool alone = context->executor.run != NULL || wcodec_context_threads(context) == 1;
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
}

/* Streams that a device has no room for are done without, but for the first. */
static wcodec_status create_slots(struct loading *l, wcodec_error *err)
{
    const struct wcodec_load_request *q = l->work.request;
    l->work.owner = (struct wcodec_staging_owner){.context = q->context,
                                                  .device = q->device,
                                                  .purpose = "loading",
                                                  .limit = q->context->limits.max_memory};
    l->slots = wcodec_alloc_array(&q->context->allocator, q->streams, sizeof *l->slots);
    if (l->slots == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %u streams", q->streams);
    for (; l->slot_count < q->streams; l->slot_count++) {
        wcodec_status status = wcodec_load_slot_create(&l->work, &l->slots[l->slot_count], err);
        if (status != WCODEC_OK && (l->slot_count == 0 || status != WCODEC_ERROR_MEMORY))
            return status;
        if (status != WCODEC_OK)
            break;
    }
    return WCODEC_OK;
}

static wcodec_status run_slots(struct loading *l, wcodec_error *err)
{
    wcodec_status status = create_slots(l, err);
    if (status == WCODEC_OK)
        run_workers(l);
    if (status == WCODEC_OK && l->status == WCODEC_OK && !atomic_load(&l->work.stop))
        status = wcodec_load_copies(&l->work, err);
    for (unsigned i = 0; i < l->slot_count; i++)
        wcodec_load_slot_free(&l->slots[i]);
    wcodec_load_cursor_end(&l->cursor);
    wcodec_free(&l->work.request->context->allocator, l->slots);
    if (status != WCODEC_OK)
        return status;
    if (l->status == WCODEC_OK && atomic_load(&l->work.stop)) /* by wcodec_loading_cancel() */
        return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    return l->status != WCODEC_OK ? wcodec_fail(err, l->status, "%s", l->error.text) : WCODEC_OK;
}

static wcodec_status run_marked(struct loading *l, wcodec_error *err)
{
    const struct wcodec_load_request *q = l->work.request;
    l->cursor = (struct wcodec_load_cursor){.request = q};
    wcodec_status status = WCODEC_OK;
    if (q->options.use_queue)
        status = wcodec_opened_mark(q->device, q->options.queue, &l->work.after, err);
    if (status == WCODEC_OK)
        status = run_slots(l, err);
    if (l->work.after != NULL)
        q->device->backend->event_destroy(l->work.after);
    return status;
}

/* A device that fails before it has a piece is lost too; what it was to decode to host memory is
 * then the CPU's, if it may. */
static wcodec_status run_anyhow(struct loading *l, wcodec_error *err)
{
    struct wcodec_load_request *q = l->work.request;
    wcodec_error error = {0};
    wcodec_status status = run_marked(l, &error);
    if (status == WCODEC_ERROR_DEVICE && !atomic_load(&q->device->lost)) {
        struct wcodec_opened *device = q->device;
        wcodec_backends_lose(q->context, device, error.text);
        if (device->cpu_allowed && q->adopted_count == 0 && !q->options.use_queue) {
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

static wcodec_status run(struct loading *l, const wcodec_progress *progress,
                         wcodec_load_report *report_to, wcodec_error *err)
{
    const uint64_t bytes = l->work.request->bytes;
    wcodec_reporter_init(&l->reporter, progress, bytes);
    wcodec_load_announce(l->work.request);
    wcodec_status status = run_anyhow(l, err);
    wcodec_load_withdraw(l->work.request);
    if (status == WCODEC_OK) {
        l->reporter.done = bytes;
        status = wcodec_reporter_end(&l->reporter, err);
    }
    if (status != WCODEC_OK)
        return status;
    wcodec_log(l->work.request->context, WCODEC_LOG_DEBUG,
               "%s loaded %" PRIu64 " bytes from %" PRIuFAST64 " coded ones in %" PRIuFAST64
               " batches, the CPU %" PRIuFAST64 " bytes of them",
               l->work.request->device->name, bytes, atomic_load(&l->work.coded),
               atomic_load(&l->work.batches), atomic_load(&l->work.by_cpu));
    if (report_to != NULL)
        *report_to = (wcodec_load_report){.bytes = bytes,
                                          .coded_bytes = atomic_load(&l->work.coded),
                                          .cpu_bytes = atomic_load(&l->work.by_cpu),
                                          .batches = atomic_load(&l->work.batches)};
    return WCODEC_OK;
}

static wcodec_status init(struct loading *l, struct wcodec_load_request *request, wcodec_error *err)
{
    *l = (struct loading){.work.request = request};
    if (pthread_mutex_init(&l->lock, NULL) != 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    if (pthread_cond_init(&l->changed, NULL) != 0) {
        pthread_mutex_destroy(&l->lock);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a condition");
    }
    return WCODEC_OK;
}

static void end(struct loading *l)
{
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
}

wcodec_status wcodec_load(const wcodec_reader *reader, const wcodec_load_item *items, size_t count,
                          const wcodec_load_options *options, wcodec_load_report *report_to,
                          wcodec_error *err)
{
    struct wcodec_load_request request;
    struct loading l;
    if (reader == NULL || (items == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_load: an argument is NULL");
    wcodec_status status = wcodec_load_request_create(reader, items, count, options, &request, err);
    if (status != WCODEC_OK)
        return status;
    status = init(&l, &request, err);
    if (status == WCODEC_OK) {
        status = run(&l, &request.options.progress, report_to, err);
        end(&l);
    }
    wcodec_load_request_free(&request);
    return status;
}

struct wcodec_loading {
    struct wcodec_load_request request;
    struct loading loading;
    struct wcodec_background background;
    wcodec_load_report report; /* of a load that has ended well */
};

static wcodec_status run_loading(void *opaque, wcodec_error *err)
{
    wcodec_loading *l = opaque;
    const wcodec_load_options *options = &l->request.options;
    wcodec_error error = {0};
    const wcodec_status status = run(&l->loading, &options->progress, &l->report, &error);
    if (options->done != NULL)
        options->done(options->done_opaque, status, &error, &l->report);
    return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", error.text);
}

static void free_loading(wcodec_loading *l)
{
    wcodec_context *context = l->request.context;
    wcodec_load_request_free(&l->request);
    wcodec_free(&context->allocator, l);
}

wcodec_status wcodec_load_start(const wcodec_reader *reader, const wcodec_load_item *items,
                                size_t count, const wcodec_load_options *options,
                                wcodec_loading **loading, wcodec_error *err)
{
    if (reader == NULL || loading == NULL || (items == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_load_start: an argument is NULL");
    wcodec_loading *l = wcodec_alloc_zeroed(&reader->context->allocator, sizeof *l);
    if (l == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a load");
    wcodec_status status =
        wcodec_load_request_create(reader, items, count, options, &l->request, err);
    if (status != WCODEC_OK) {
        wcodec_free(&reader->context->allocator, l);
        return status;
    }
    status = init(&l->loading, &l->request, err);
    if (status == WCODEC_OK) {
        status = wcodec_background_start(&l->background, run_loading, l, err);
        if (status != WCODEC_OK)
            end(&l->loading);
    }
    if (status != WCODEC_OK)
        free_loading(l);
    else
        *loading = l;
    return status;
}

int wcodec_loading_ended(wcodec_loading *l)
{
    return wcodec_background_ended(&l->background);
}

void wcodec_loading_progress(wcodec_loading *l, uint64_t *done, uint64_t *total)
{
    const uint64_t bytes = atomic_load(&l->loading.work.done);
    *total = l->request.bytes;
    *done = bytes < *total ? bytes : *total; /* more, where a device was given up on the way */
}

void wcodec_loading_cancel(wcodec_loading *l)
{
    atomic_store(&l->loading.work.stop, true);
}

wcodec_status wcodec_loading_wait(wcodec_loading *l, wcodec_load_report *report_to,
                                  wcodec_error *err)
{
    const wcodec_status status = wcodec_background_wait(&l->background, err);
    if (status == WCODEC_OK && report_to != NULL)
        *report_to = l->report;
    return status;
}

void wcodec_loading_destroy(wcodec_loading *l)
{
    if (l == NULL)
        return;
    wcodec_background_join(&l->background);
    end(&l->loading);
    free_loading(l);
}
