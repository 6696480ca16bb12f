/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The calls that save, and the handle of those that run by themselves. */
#include "core/error.h"
#include "core/memory.h"
#include "core/system.h"
#include "io/safefile.h"
#include "save/save.h"
#include "sched/background.h"
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

struct save {
    struct wcodec_save_request request;
    wcodec_progress progress; /* the caller's */
    atomic_uint_fast64_t done;
    atomic_bool stop;
};

/* In place of the caller's: for those who ask, and who cancel, by the handle. */
static int report_progress(void *opaque, uint64_t done, uint64_t total)
{
    struct save *s = opaque;
    atomic_store(&s->done, done);
    if (atomic_load(&s->stop))
        return 1;
    return s->progress.fn != NULL ? s->progress.fn(s->progress.opaque, done, total) : 0;
}

static int write_descriptor(void *opaque, const void *data, size_t size)
{
    const int fd = *(const int *)opaque;
    const uint8_t *at = data;
    while (size > 0) {
        const ssize_t written = write(fd, at, wcodec_call_bytes(size));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        at += written;
        size -= (size_t)written;
    }
    return 0;
}

static wcodec_status compress(struct save *s, wcodec_write_fn write, void *opaque, size_t writers,
                              wcodec_encode_report *report, wcodec_error *err)
{
    struct wcodec_save_request *r = &s->request;
    struct wcodec_source source;
    struct wcodec_write_coder coder;
    const struct wcodec_compress_input input = {.source = &source,
                                                .writers = writers,
                                                .fd = -1,
                                                .coder =
                                                    wcodec_save_coder(r, &coder) ? &coder : NULL};
    wcodec_source_function(wcodec_save_read, r, r->size, &source);
    return wcodec_compress_source(r->context, &input, write, opaque, &r->encode, report, err);
}

static wcodec_status save_path(struct save *s, wcodec_encode_report *report, wcodec_error *err)
{
    struct wcodec_save_request *r = &s->request;
    const struct wcodec_safefile_attributes attributes = {
        .mode = 0666, .apply_umask = true, .no_sync = r->options.no_sync != 0, .replace = true};
    struct wcodec_safefile file;
    wcodec_status status =
        wcodec_safefile_open(&r->context->allocator, r->options.path, &file, err);
    if (status != WCODEC_OK)
        return status;
    r->encode.write_at = wcodec_safefile_write_at;
    status = compress(s, wcodec_safefile_write, &file, WCODEC_SAFEFILE_WRITERS, report, err);
    if (status == WCODEC_OK)
        status = wcodec_safefile_commit(&file, &attributes, err);
    else
        wcodec_error_prefix(err, "%s", r->options.path);
    wcodec_safefile_close(&file);
    return status;
}

/* All of a request that is made. */
static wcodec_status run(struct save *s, wcodec_encode_report *report, wcodec_error *err)
{
    struct wcodec_save_request *r = &s->request;
    const wcodec_save_options *o = &r->options;
    s->progress = r->encode.progress;
    r->encode.progress = (wcodec_progress){.fn = report_progress, .opaque = s};
    if (o->path != NULL)
        return save_path(s, report, err);
    return o->write != NULL ? compress(s, o->write, o->opaque, 0, report, err)
                            : compress(s, write_descriptor, &r->options.fd, 0, report, err);
}

static wcodec_status check_arguments(const char *function, const wcodec_context *context,
                                     const wcodec_save_item *items, size_t count,
                                     const wcodec_save_options *options, wcodec_error *err)
{
    if (context == NULL || options == NULL || (items == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s: an argument is NULL", function);
    return WCODEC_OK;
}

wcodec_status wcodec_save(wcodec_context *context, const wcodec_save_item *items, size_t count,
                          const wcodec_save_options *options, wcodec_encode_report *report,
                          wcodec_error *err)
{
    wcodec_status status = check_arguments("wcodec_save", context, items, count, options, err);
    if (status != WCODEC_OK)
        return status;
    struct save *s = wcodec_alloc_zeroed(&context->allocator, sizeof *s);
    if (s == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a save");
    status = wcodec_save_request_create(context, items, count, options, false, &s->request, err);
    if (status == WCODEC_OK) {
        status = run(s, report, err);
        wcodec_save_request_free(&s->request);
    }
    wcodec_free(&context->allocator, s);
    return status;
}

struct wcodec_saving {
    struct save save;
    struct wcodec_background background;
    wcodec_encode_report report; /* of a save that has ended well */
};

static wcodec_status run_saving(void *opaque, wcodec_error *err)
{
    wcodec_saving *s = opaque;
    const wcodec_save_options *options = &s->save.request.options;
    wcodec_error error = {0};
    const wcodec_status status = run(&s->save, &s->report, &error);
    if (options->done != NULL)
        options->done(options->done_opaque, status, &error, &s->report);
    return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", error.text);
}

wcodec_status wcodec_save_start(wcodec_context *context, const wcodec_save_item *items,
                                size_t count, const wcodec_save_options *options,
                                wcodec_saving **saving, wcodec_error *err)
{
    wcodec_status status = check_arguments("wcodec_save_start", saving != NULL ? context : NULL,
                                           items, count, options, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_saving *s = wcodec_alloc_zeroed(&context->allocator, sizeof *s);
    if (s == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a save");
    status =
        wcodec_save_request_create(context, items, count, options, true, &s->save.request, err);
    if (status == WCODEC_OK) {
        status = wcodec_background_start(&s->background, run_saving, s, err);
        if (status != WCODEC_OK)
            wcodec_save_request_free(&s->save.request);
    }
    if (status != WCODEC_OK)
        wcodec_free(&context->allocator, s);
    else
        *saving = s;
    return status;
}

int wcodec_saving_ended(wcodec_saving *saving)
{
    return wcodec_background_ended(&saving->background);
}

void wcodec_saving_progress(wcodec_saving *saving, uint64_t *done, uint64_t *total)
{
    *done = atomic_load(&saving->save.done);
    *total = saving->save.request.size;
}

void wcodec_saving_cancel(wcodec_saving *saving)
{
    atomic_store(&saving->save.stop, true);
}

wcodec_status wcodec_saving_wait(wcodec_saving *saving, wcodec_encode_report *report,
                                 wcodec_error *err)
{
    const wcodec_status status = wcodec_background_wait(&saving->background, err);
    if (status == WCODEC_OK && report != NULL)
        *report = saving->report;
    return status;
}

void wcodec_saving_destroy(wcodec_saving *saving)
{
    if (saving == NULL)
        return;
    wcodec_context *context = saving->save.request.context;
    wcodec_background_join(&saving->background);
    wcodec_save_request_free(&saving->save.request);
    wcodec_free(&context->allocator, saving);
}
