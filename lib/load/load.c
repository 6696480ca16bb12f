/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The calls that load: at once, and in the background. */
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"
#include "load/gate.h"
#include "load/run.h"
#include "sched/background.h"

static void free_requests(struct wcodec_load_run *l, const wcodec_allocator *allocator)
{
    wcodec_load_gate_destroy(l->gate);
    for (size_t i = 0; i < l->count; i++)
        wcodec_load_request_free(&l->requests[i]);
    wcodec_free(allocator, l->works);
    wcodec_free(allocator, l->requests);
}

/* What a load begins with: items, or targets that have theirs. */
struct asked {
    const wcodec_reader *reader;
    const wcodec_load_item *items;
    const wcodec_load_target *targets; /* NULL: the reader's own device, and items */
    size_t count;                      /* of either */
    const wcodec_load_options *options;
    bool gated;
};

static wcodec_status create(struct wcodec_load_run *l, const struct asked *a, wcodec_error *err)
{
    const wcodec_allocator *allocator = &a->reader->context->allocator;
    const size_t count = a->targets != NULL ? a->count : 1;
    *l = (struct wcodec_load_run){.requests =
                                      wcodec_alloc_array(allocator, count, sizeof *l->requests),
                                  .works = wcodec_alloc_array(allocator, count, sizeof *l->works)};
    wcodec_status status = WCODEC_OK;
    if (l->requests == NULL || l->works == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a load");
    else if (a->targets != NULL)
        status =
            wcodec_load_requests_create(a->reader, a->targets, count, a->options, l->requests, err);
    else
        status = wcodec_load_request_create(a->reader, a->reader->context, a->items, a->count,
                                            a->options, a->gated, &l->requests[0], err);
    if (status == WCODEC_OK) {
        l->count = count;
        for (size_t i = 0; i < count; i++)
            l->works[i] = (struct wcodec_load_work){.request = &l->requests[i]};
        if (a->gated)
            status = wcodec_load_gate_create(&l->requests[0], &l->gate, err);
    }
    if (status == WCODEC_OK)
        status = wcodec_load_run_init(l, err);
    if (status != WCODEC_OK)
        free_requests(l, allocator);
    return status;
}

static wcodec_status load(const struct asked *a, wcodec_load_report *reports, wcodec_error *err)
{
    struct wcodec_load_run l;
    wcodec_status status = create(&l, a, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_load_run(&l, reports, err);
    wcodec_load_run_end(&l);
    free_requests(&l, &a->reader->context->allocator);
    return status;
}

wcodec_status wcodec_load(const wcodec_reader *reader, const wcodec_load_item *items, size_t count,
                          const wcodec_load_options *options, wcodec_load_report *report_to,
                          wcodec_error *err)
{
    if (reader == NULL || (items == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_load: an argument is NULL");
    return load(&(struct asked){reader, items, NULL, count, options, false}, report_to, err);
}

wcodec_status wcodec_load_many(const wcodec_reader *reader, const wcodec_load_target *targets,
                               size_t count, const wcodec_load_options *options,
                               wcodec_load_report *reports, wcodec_error *err)
{
    if (reader == NULL || targets == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_load_many: an argument is NULL");
    return load(&(struct asked){reader, NULL, targets, count, options, false}, reports, err);
}

struct wcodec_loading {
    const wcodec_allocator *allocator;
    struct wcodec_load_run loading;
    struct wcodec_background background;
    wcodec_load_report *reports; /* of a load that has ended well */
    wcodec_load_report sum;
};

static wcodec_status run_loading(void *opaque, wcodec_error *err)
{
    wcodec_loading *l = opaque;
    const wcodec_load_options *options = &l->loading.requests[0].options;
    wcodec_error error = {0};
    const wcodec_status status = wcodec_load_run(&l->loading, l->reports, &error);
    for (size_t i = 0; i < l->loading.count && status == WCODEC_OK; i++) {
        l->sum.bytes += l->reports[i].bytes;
        l->sum.coded_bytes += l->reports[i].coded_bytes;
        l->sum.cpu_bytes += l->reports[i].cpu_bytes;
        l->sum.batches += l->reports[i].batches;
        l->sum.received_bytes += l->reports[i].received_bytes;
    }
    if (options->done != NULL)
        options->done(options->done_opaque, status, &error, &l->sum);
    return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", error.text);
}

static wcodec_status start(const struct asked *a, wcodec_loading **loading, wcodec_error *err)
{
    const wcodec_allocator *allocator = &a->reader->context->allocator;
    const size_t count = a->targets != NULL && a->count != 0 ? a->count : 1;
    wcodec_loading *l = wcodec_alloc_zeroed(allocator, sizeof *l);
    wcodec_load_report *reports = wcodec_alloc_array(allocator, count, sizeof *reports);
    wcodec_status status = WCODEC_OK;
    if (l == NULL || reports == NULL) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a load");
        goto free_memory;
    }
    l->allocator = allocator;
    l->reports = reports;
    status = create(&l->loading, a, err);
    if (status != WCODEC_OK)
        goto free_memory;
    status = wcodec_background_start(&l->background, run_loading, l, err);
    if (status != WCODEC_OK)
        goto free_loading;
    *loading = l;
    return WCODEC_OK;
free_loading:
    wcodec_load_run_end(&l->loading);
    free_requests(&l->loading, allocator);
free_memory:
    wcodec_free(allocator, reports);
    wcodec_free(allocator, l);
    return status;
}

wcodec_status wcodec_load_start(const wcodec_reader *reader, const wcodec_load_item *items,
                                size_t count, const wcodec_load_options *options,
                                wcodec_loading **loading, wcodec_error *err)
{
    if (reader == NULL || loading == NULL || (items == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_load_start: an argument is NULL");
    return start(&(struct asked){reader, items, NULL, count, options, false}, loading, err);
}

wcodec_status wcodec_load_start_gated(const wcodec_reader *reader, const wcodec_load_item *items,
                                      size_t count, const wcodec_load_options *options,
                                      struct wcodec_load_gate **gate, wcodec_loading **loading,
                                      wcodec_error *err)
{
    const wcodec_status status =
        start(&(struct asked){reader, items, NULL, count, options, true}, loading, err);
    if (status == WCODEC_OK)
        *gate = (*loading)->loading.gate;
    return status;
}

wcodec_status wcodec_load_many_start(const wcodec_reader *reader, const wcodec_load_target *targets,
                                     size_t count, const wcodec_load_options *options,
                                     wcodec_loading **loading, wcodec_error *err)
{
    if (reader == NULL || loading == NULL || targets == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_load_many_start: an argument is NULL");
    return start(&(struct asked){reader, NULL, targets, count, options, false}, loading, err);
}

int wcodec_loading_ended(wcodec_loading *l)
{
    return wcodec_background_ended(&l->background);
}

void wcodec_loading_progress(wcodec_loading *l, uint64_t *done, uint64_t *total)
{
    const uint64_t bytes = wcodec_load_done(&l->loading);
    *total = wcodec_load_total(&l->loading);
    *done = bytes < *total ? bytes : *total; /* more, where a device was given up on the way */
}

void wcodec_loading_cancel(wcodec_loading *l)
{
    wcodec_load_stop(&l->loading);
}

wcodec_status wcodec_loading_wait(wcodec_loading *l, wcodec_load_report *report_to,
                                  wcodec_error *err)
{
    const wcodec_status status = wcodec_background_wait(&l->background, err);
    if (status == WCODEC_OK && report_to != NULL)
        *report_to = l->sum;
    return status;
}

void wcodec_loading_destroy(wcodec_loading *l)
{
    if (l == NULL)
        return;
    const wcodec_allocator *allocator = l->allocator;
    wcodec_background_join(&l->background);
    wcodec_load_run_end(&l->loading);
    free_requests(&l->loading, allocator);
    wcodec_free(allocator, l->reports);
    wcodec_free(allocator, l);
}
