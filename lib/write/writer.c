/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors from memory to a container that restores to a safetensors file. */

#include "write/writer.h"
#include "write/batch.h"
#include "write/declared.h"
#include "write/encode_options.h"
#include "write/tables.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/progress.h"

#include <inttypes.h>
#include <stdio.h>

enum writer_stage { DECLARING, WRITING, FINISHED, FAILED };

struct wcodec_writer {
    wcodec_context *context;
    wcodec_encode_options options;
    struct wcodec_output output;
    struct wcodec_write_batch batch;
    struct wcodec_cancel cancel; /* of the call at work: the next may come from another thread */
    struct wcodec_arena arena;   /* names, shapes, metadata, patterns */
    struct wcodec_reporter reporter;
    enum writer_stage stage;
    struct wcodec_declared declared;
    uint64_t next;       /* tensor whose data comes next */
    const uint8_t *hash; /* NULL, or the caller's of the original */
};

wcodec_status wcodec_writer_create(wcodec_context *context, wcodec_write_fn write, void *opaque,
                                   const wcodec_encode_options *options, wcodec_writer **writer,
                                   wcodec_error *err)
{
    wcodec_encode_options own;
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_read(options, &own, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_whole(&own, err);
    if (status == WCODEC_OK && own.index_first)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "a writer's index comes last; wcodec_copy() puts it in front");
    if (status != WCODEC_OK)
        return status;
    const wcodec_allocator *allocator = &context->allocator;
    struct wcodec_writer *w = wcodec_alloc_zeroed(allocator, sizeof *w);
    if (!w)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    w->context = context;
    w->options = own;
    wcodec_arena_init(&w->arena, allocator);
    wcodec_declared_init(&w->declared, &w->arena);
    w->batch = (struct wcodec_write_batch){.context = context,
                                           .options = &w->options,
                                           .output = &w->output,
                                           .memory = wcodec_write_batch_memory(context, 0)};
    wcodec_encode_options_settings(&own, &w->batch.settings);
    w->batch.bases = own.bases;
    status = wcodec_output_init(context, write, own.write_at, opaque, &w->output, err);
    w->output.bases = own.bases;
    if (status == WCODEC_OK)
        status = wcodec_write_batch_init(&w->batch, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_note(&own, &w->output, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_keep(&w->options, &w->arena, err);
    if (status != WCODEC_OK) {
        wcodec_writer_destroy(w);
        return status;
    }
    *writer = w;
    return WCODEC_OK;
}

void wcodec_writer_destroy(wcodec_writer *writer)
{
    if (!writer)
        return;
    const wcodec_allocator *allocator = &writer->context->allocator;
    wcodec_declared_free(&writer->declared);
    wcodec_write_batch_free(&writer->batch);
    wcodec_output_free(&writer->output);
    wcodec_arena_free(&writer->arena);
    wcodec_free(allocator, writer);
}

static wcodec_status check_declaring(const wcodec_writer *w, wcodec_error *err)
{
    if (w->stage != DECLARING)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "nothing can be declared after the first data");
    return wcodec_context_usable(w->context, err);
}

wcodec_status wcodec_writer_metadata(wcodec_writer *writer, const char *key, const char *value,
                                     wcodec_error *err)
{
    const wcodec_status status = check_declaring(writer, err);
    return status == WCODEC_OK ? wcodec_declared_metadata(&writer->declared, key, value, err)
                               : status;
}

wcodec_status wcodec_writer_declare(wcodec_writer *writer, const char *name, wcodec_dtype dtype,
                                    const uint64_t *shape, unsigned rank, wcodec_error *err)
{
    const wcodec_status status = check_declaring(writer, err);
    return status == WCODEC_OK
               ? wcodec_declared_tensor(&writer->declared, name, dtype, shape, rank, err)
               : status;
}

/* Before anything is coded: the progress callback belongs to the thread that calls now. */
static void begin_call(wcodec_writer *w)
{
    wcodec_cancel_init(&w->cancel, &w->reporter);
    w->batch.settings.cancel = w->options.progress.fn ? &w->cancel : NULL;
}

static wcodec_status run_batch(wcodec_writer *w, const void *bytes, wcodec_error *err)
{
    w->batch.now.bytes = bytes;
    return wcodec_write_batch_run(&w->batch, err);
}

/* Data that is used where it is. It is the caller's again afterwards; but what is coded is written
 * when the next tensor comes, unless there is none. */
static wcodec_status code_at_once(wcodec_writer *w, const struct wcodec_entry *what, bool weights,
                                  const void *data, bool last, wcodec_error *err)
{
    wcodec_status status = run_batch(w, w->batch.now.data, err);
    if (status != WCODEC_OK)
        return status;
    /* Two payloads, if this one does not shrink, and as much again for coding. */
    w->batch.memory = wcodec_write_batch_memory(w->context, what->size) +
                      wcodec_write_batch_beside(&w->batch.settings, what->size);
    wcodec_write_batch_add(&w->batch, what, weights, false);
    status = run_batch(w, data, err);
    w->batch.memory = wcodec_write_batch_memory(w->context, 0);
    if (status != WCODEC_OK)
        return status;
    return last ? wcodec_write_batch_flush(&w->batch, err)
                : wcodec_write_batch_settle(&w->batch, err);
}

/* Small data is copied, and coded with others. */
static wcodec_status code_later(wcodec_writer *w, const struct wcodec_entry *what, bool weights,
                                const void *data, wcodec_error *err)
{
    struct wcodec_write_batch *b = &w->batch;
    wcodec_status status = wcodec_write_batch_is_full(b, what->size, false)
                               ? run_batch(w, b->now.data, err)
                               : WCODEC_OK;
    uint64_t size = b->now.size + what->size,
             capacity = size < 2 * b->now.data_capacity ? 2 * b->now.data_capacity : size;
    if (status == WCODEC_OK)
        status = wcodec_write_batch_reserve(
            b, &b->now, size <= b->now.data_capacity ? size : capacity, true, err);
    if (status != WCODEC_OK)
        return status;
    if (what->size != 0)
        memcpy(b->now.data + b->now.size, data, (size_t)what->size);
    wcodec_write_batch_add(b, what, weights, false);
    return WCODEC_OK;
}

static wcodec_status code_entry(wcodec_writer *w, const struct wcodec_entry *what, bool weights,
                                const void *data, wcodec_error *err)
{
    begin_call(w);
    if (what->size < WCODEC_WRITE_BATCH_LARGE)
        return code_later(w, what, weights, data, err);
    return code_at_once(w, what, weights, data, w->next + 1 == w->declared.names.count, err);
}

/* What the coder has, and what nobody has to wait for. */
static wcodec_status code_placed(wcodec_writer *w, const struct wcodec_entry *what,
                                 wcodec_error *err)
{
    begin_call(w);
    const wcodec_status status = wcodec_write_batch_is_full(&w->batch, what->size, true)
                                     ? run_batch(w, w->batch.now.data, err)
                                     : WCODEC_OK;
    if (status == WCODEC_OK)
        wcodec_write_batch_add(&w->batch, what, true, true);
    return status;
}

static struct wcodec_entry declared_tensor(const void *declared, uint64_t i)
{
    return ((const struct wcodec_declared *)declared)->tensors[i];
}

/* All is declared: the header is the first entry. */
static wcodec_status start(wcodec_writer *w, wcodec_error *err)
{
    uint8_t *header;
    uint64_t size;
    wcodec_status status = wcodec_tables_check(&w->options, declared_tensor, &w->declared,
                                               w->declared.names.count, err);
    if (status == WCODEC_OK)
        status = wcodec_declared_header(&w->declared, &header, &size, err);
    if (status != WCODEC_OK) {
        w->stage = FAILED;
        return status;
    }
    status = wcodec_output_reserve(&w->output, w->declared.names.count + 1, err);
    if (status == WCODEC_OK) {
        struct wcodec_entry what = {.size = size};
        w->output.index.head.size = size + w->declared.size;
        wcodec_reporter_init(&w->reporter, &w->options.progress, size + w->declared.size);
        status = code_entry(w, &what, false, header, err);
    }
    wcodec_free(&w->context->allocator, header);
    w->stage = status == WCODEC_OK ? WRITING : FAILED;
    return status;
}

static wcodec_status check_writing(const wcodec_writer *w, wcodec_error *err)
{
    if (w->stage == FAILED)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the writer failed before");
    if (w->stage == FINISHED)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the writer has finished");
    return wcodec_context_usable(w->context, err);
}

/* The next tensor, of so many bytes. */
static wcodec_status begin_tensor(wcodec_writer *w, size_t size, const struct wcodec_entry **what,
                                  wcodec_error *err)
{
    const wcodec_status status = check_writing(w, err);
    if (status != WCODEC_OK)
        return status;
    if (w->next == w->declared.names.count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "there is data for more tensors than the %" PRIu64 " that were declared",
                           w->declared.names.count);
    *what = &w->declared.tensors[w->next];
    if (size != (*what)->size)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\": %zu bytes of data, expected %" PRIu64, (*what)->name,
                           size, (*what)->size);
    return w->stage == DECLARING ? start(w, err) : WCODEC_OK;
}

static wcodec_status end_tensor(wcodec_writer *w, wcodec_status status, wcodec_error *err)
{
    if (status == WCODEC_OK)
        status = wcodec_reporter_add(&w->reporter, w->output.index.size - w->reporter.done, err);
    if (status != WCODEC_OK)
        w->stage = FAILED;
    else
        w->next++;
    return status;
}

wcodec_status wcodec_writer_data(wcodec_writer *writer, const void *data, size_t size,
                                 wcodec_error *err)
{
    const struct wcodec_entry *what = NULL;
    const wcodec_status status = begin_tensor(writer, size, &what, err);
    if (status != WCODEC_OK)
        return status;
    const bool weights = wcodec_encode_options_weights(&writer->options, what->name);
    return end_tensor(writer, code_entry(writer, what, weights, data, err), err);
}

void wcodec_writer_set_coder(wcodec_writer *writer, const struct wcodec_write_coder *coder)
{
    writer->batch.coder = coder;
}

void wcodec_writer_set_hash(wcodec_writer *writer, const uint8_t *hash)
{
    writer->hash = hash;
    writer->output.hash_known = true;
}

wcodec_status wcodec_writer_code(wcodec_writer *writer, wcodec_error *err)
{
    const wcodec_status status = check_writing(writer, err);
    if (status != WCODEC_OK)
        return status;
    begin_call(writer);
    return run_batch(writer, writer->batch.now.data, err);
}

wcodec_status wcodec_writer_placed(wcodec_writer *writer, bool *taken, wcodec_error *err)
{
    wcodec_writer *w = writer;
    const struct wcodec_entry *what = NULL;
    *taken = false;
    if (w->next < w->declared.names.count)
        what = &w->declared.tensors[w->next];
    wcodec_status status = begin_tensor(w, what != NULL ? (size_t)what->size : 0, &what, err);
    if (status != WCODEC_OK)
        return status;
    *taken = wcodec_write_batch_by_coder(&w->batch, what,
                                         wcodec_encode_options_weights(&w->options, what->name),
                                         w->batch.now.begin + w->batch.now.size);
    return *taken ? end_tensor(w, code_placed(w, what, err), err) : WCODEC_OK;
}

wcodec_status wcodec_writer_note(wcodec_writer *writer, const char *key, const char *value,
                                 wcodec_error *err)
{
    wcodec_status status = check_writing(writer, err);
    if (status == WCODEC_OK && writer->stage == DECLARING)
        status = start(writer, err); /* the header is made, and does not have it */
    return status == WCODEC_OK ? wcodec_declared_metadata(&writer->declared, key, value, err)
                               : status;
}

wcodec_status wcodec_writer_finish(wcodec_writer *writer, wcodec_encode_report *report,
                                   wcodec_error *err)
{
    wcodec_writer *w = writer;
    wcodec_status status = check_writing(w, err);
    if (status != WCODEC_OK)
        return status;
    if (w->next != w->declared.names.count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the data of tensor \"%.200s\" is missing",
                           w->declared.tensors[w->next].name);
    if (w->stage == DECLARING)
        status = start(w, err); /* no tensors at all */
    if (status != WCODEC_OK)
        return status;
    w->output.index.safetensors = true;
    w->output.index.metadata_count = w->declared.keys.count;
    w->output.index.metadata = w->declared.metadata;
    begin_call(w);
    status = run_batch(w, w->batch.now.data, err);
    if (status == WCODEC_OK)
        status = wcodec_write_batch_flush(&w->batch, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_add(&w->reporter, w->output.index.size - w->reporter.done, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_end(&w->reporter, err);
    if (w->hash != NULL)
        memcpy(w->output.index.hash, w->hash, sizeof w->output.index.hash);
    if (status == WCODEC_OK)
        status = wcodec_output_finish(w->context, &w->output, err);
    w->stage = status == WCODEC_OK ? FINISHED : FAILED;
    if (status == WCODEC_OK && report) {
        *report = (wcodec_encode_report){0};
        wcodec_output_report(&w->output, report);
    }
    return status;
}
