/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors from memory to a container that restores to a safetensors file. */

#include "write/batch.h"
#include "write/encode_options.h"
#include "write/header.h"
#include "format/loss.h"
#include "format/names.h"
#include "format/safetensors.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/progress.h"

#include <inttypes.h>
#include <stdio.h>

enum writer_stage { DECLARING, WRITING, FINISHED, FAILED };

/* Names that must differ, each noted once; grows. */
struct name_set {
    struct wcodec_names names;
    const char **list; /* to fill a larger set from */
    uint64_t count, capacity;
};

struct wcodec_writer {
    wcodec_context *context;
    wcodec_encode_options options;
    struct wcodec_output output;
    struct wcodec_write_batch batch;
    struct wcodec_cancel cancel; /* of the call at work: the next may come from another thread */
    struct wcodec_arena arena;   /* names, shapes, metadata, patterns */
    struct wcodec_reporter reporter;
    enum writer_stage stage;
    struct wcodec_entry *tensors; /* declared */
    struct name_set names;
    const char **metadata; /* key, value, ... */
    uint64_t metadata_capacity;
    struct name_set keys;
    uint64_t size; /* bytes of all tensors */
    uint64_t next; /* tensor whose data comes next */
};

static bool has_name(const struct name_set *set, const char *name)
{
    uint64_t number;
    return set->count != 0 && wcodec_names_find(&set->names, name, &number);
}

/* Add a name that is not there, and that stays in memory. False if memory is short. */
static bool add_name(struct name_set *set, const wcodec_allocator *allocator, const char *name)
{
    uint64_t number;
    if (set->count == set->capacity) {
        uint64_t capacity = set->capacity ? set->capacity * 2 : 16;
        const char **list = wcodec_realloc_array(allocator, set->list, capacity, sizeof *list);
        if (!list)
            return false;
        set->list = list;
        struct wcodec_names larger;
        if (!wcodec_names_init(&larger, allocator, capacity))
            return false;
        for (uint64_t i = 0; i < set->count; i++) {
            number = i;
            wcodec_names_add(&larger, list[i], &number);
        }
        wcodec_names_free(&set->names);
        set->names = larger;
        set->capacity = capacity;
    }
    number = set->count;
    wcodec_names_add(&set->names, name, &number);
    set->list[set->count++] = name;
    return true;
}

static wcodec_status copy_patterns(struct wcodec_writer *w, const char *const **list,
                                   wcodec_error *err)
{
    size_t count = 0;
    if (!*list)
        return WCODEC_OK;
    while ((*list)[count])
        count++;
    const char **copy = wcodec_arena_alloc(&w->arena, (count + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = wcodec_arena_text(&w->arena, (*list)[i], strlen((*list)[i]));
        if (!copy[i])
            copy = NULL;
    }
    if (!copy)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for patterns");
    copy[count] = NULL;
    *list = copy;
    return WCODEC_OK;
}

wcodec_status wcodec_writer_create(wcodec_context *context, wcodec_write_fn write, void *opaque,
                                   const wcodec_encode_options *options, wcodec_writer **writer,
                                   wcodec_error *err)
{
    wcodec_encode_options own;
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_read(options, &own, err);
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
    w->batch = (struct wcodec_write_batch){
        .context = context, .output = &w->output, .memory = WCODEC_WRITE_BATCH_MEMORY};
    wcodec_encode_options_settings(&own, &w->batch.settings);
    status = wcodec_output_init(context, write, own.write_at, opaque, &w->output, err);
    if (status == WCODEC_OK)
        status = wcodec_write_batch_init(&w->batch, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_note(&own, &w->output, err);
    if (status == WCODEC_OK)
        status = copy_patterns(w, &w->options.include, err);
    if (status == WCODEC_OK)
        status = copy_patterns(w, &w->options.exclude, err);
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
    struct name_set *sets[] = {&writer->names, &writer->keys};
    for (size_t i = 0; i < 2; i++) {
        wcodec_names_free(&sets[i]->names);
        wcodec_free(allocator, sets[i]->list);
    }
    wcodec_write_batch_free(&writer->batch);
    wcodec_output_free(&writer->output);
    wcodec_arena_free(&writer->arena);
    wcodec_free(allocator, writer->tensors);
    wcodec_free(allocator, writer->metadata);
    wcodec_free(allocator, writer);
}

static wcodec_status check_declaring(const wcodec_writer *w, wcodec_error *err)
{
    if (w->stage != DECLARING)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "nothing can be declared after the first data");
    return wcodec_context_usable(w->context, err);
}

static bool is_text(const char *text)
{
    return text && wcodec_utf8_valid((const uint8_t *)text, strlen(text));
}

wcodec_status wcodec_writer_metadata(wcodec_writer *writer, const char *key, const char *value,
                                     wcodec_error *err)
{
    wcodec_writer *w = writer;
    const wcodec_allocator *allocator = &w->context->allocator;
    wcodec_status status = check_declaring(w, err);
    if (status != WCODEC_OK)
        return status;
    if (!is_text(key) || !is_text(value))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "metadata is no UTF-8");
    if (wcodec_loss_is_key(key))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "metadata keys that begin with " WCODEC_LOSS_KEY
                           " are not the caller's");
    uint64_t count = w->keys.count;
    if (has_name(&w->keys, key))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the metadata key \"%.200s\" is there already",
                           key);
    if (count == w->metadata_capacity) {
        uint64_t capacity = count ? count * 2 : 16;
        const char **list =
            wcodec_realloc_array(allocator, w->metadata, capacity, 2 * sizeof *list);
        if (!list)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        w->metadata = list;
        w->metadata_capacity = capacity;
    }
    w->metadata[2 * count] = wcodec_arena_text(&w->arena, key, strlen(key));
    w->metadata[2 * count + 1] = wcodec_arena_text(&w->arena, value, strlen(value));
    if (!w->metadata[2 * count] || !w->metadata[2 * count + 1] ||
        !add_name(&w->keys, allocator, w->metadata[2 * count]))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    return WCODEC_OK;
}

static wcodec_status check_declaration(const wcodec_writer *w, const char *name, wcodec_dtype dtype,
                                       const uint64_t *shape, unsigned rank, uint64_t *size,
                                       wcodec_error *err)
{
    if (!is_text(name))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the tensor's name is no UTF-8");
    if (strcmp(name, "__metadata__") == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "no tensor can be named \"__metadata__\"");
    if (wcodec_dtype_bits(dtype) == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "tensor \"%.200s\": dtype %d is none", name,
                           (int)dtype);
    if (rank > 255 || (rank != 0 && !shape))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\": %u dimensions, expected at most 255", name, rank);
    if (!wcodec_safetensors_bytes(dtype, shape, rank, size))
        return wcodec_fail(
            err, WCODEC_ERROR_USAGE,
            "tensor \"%.200s\": the shape makes no whole number of bytes, or too many", name);
    if (w->size + *size > (uint64_t)1 << 48)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\": all tensors together have more than 2^48 bytes",
                           name);
    return WCODEC_OK;
}

wcodec_status wcodec_writer_declare(wcodec_writer *writer, const char *name, wcodec_dtype dtype,
                                    const uint64_t *shape, unsigned rank, wcodec_error *err)
{
    wcodec_writer *w = writer;
    const wcodec_allocator *allocator = &w->context->allocator;
    uint64_t size = 0, count = w->names.count;
    wcodec_status status = check_declaring(w, err);
    if (status == WCODEC_OK)
        status = check_declaration(w, name, dtype, shape, rank, &size, err);
    if (status != WCODEC_OK)
        return status;
    if (has_name(&w->names, name))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the name \"%.200s\" was declared before",
                           name);
    if (count == w->names.capacity) { /* the set grows with it, below */
        struct wcodec_entry *list =
            wcodec_realloc_array(allocator, w->tensors, count ? count * 2 : 16, sizeof *list);
        if (!list)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        w->tensors = list;
    }
    char *name_copy = wcodec_arena_text(&w->arena, name, strlen(name));
    uint64_t *shape_copy = wcodec_arena_alloc(&w->arena, rank * sizeof *shape_copy);
    if (!name_copy || !shape_copy || !add_name(&w->names, allocator, name_copy))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    if (rank != 0)
        memcpy(shape_copy, shape, rank * sizeof *shape_copy);
    w->tensors[count] = (struct wcodec_entry){.is_tensor = true,
                                              .dtype = (uint8_t)dtype,
                                              .name = name_copy,
                                              .dtype_name = wcodec_dtype_name(dtype),
                                              .rank = rank,
                                              .shape = shape_copy,
                                              .size = size};
    w->size += size;
    return WCODEC_OK;
}

/* Before anything is coded: the progress callback belongs to the thread that calls now. */
static void begin_call(wcodec_writer *w)
{
    wcodec_cancel_init(&w->cancel, &w->reporter);
    w->batch.settings.cancel = w->options.progress.fn ? &w->cancel : NULL;
}

static wcodec_status run_batch(wcodec_writer *w, const void *bytes, wcodec_error *err)
{
    w->batch.bytes = bytes;
    return wcodec_write_batch_run(&w->batch, err);
}

/* Data that is used where it is. It is the caller's again afterwards; but what is coded is written
 * when the next tensor comes, unless there is none. */
static wcodec_status code_at_once(wcodec_writer *w, const struct wcodec_entry *what, bool weights,
                                  const void *data, bool last, wcodec_error *err)
{
    wcodec_status status = run_batch(w, w->batch.data, err);
    if (status != WCODEC_OK)
        return status;
    /* Two payloads, if this one does not shrink, and as much again for coding. */
    w->batch.memory = WCODEC_WRITE_BATCH_MEMORY + 2 * what->size +
                      wcodec_write_batch_beside(&w->batch.settings, what->size);
    wcodec_write_batch_add(&w->batch, what, weights);
    status = run_batch(w, data, err);
    w->batch.memory = WCODEC_WRITE_BATCH_MEMORY;
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
    wcodec_status status =
        wcodec_write_batch_is_full(b, what->size) ? run_batch(w, b->data, err) : WCODEC_OK;
    uint64_t size = b->size + what->size,
             capacity = size < 2 * b->data_capacity ? 2 * b->data_capacity : size;
    if (status == WCODEC_OK)
        status =
            wcodec_write_batch_reserve(b, size <= b->data_capacity ? size : capacity, true, err);
    if (status != WCODEC_OK)
        return status;
    if (what->size != 0)
        memcpy(b->data + b->size, data, (size_t)what->size);
    wcodec_write_batch_add(b, what, weights);
    return WCODEC_OK;
}

static wcodec_status code_entry(wcodec_writer *w, const struct wcodec_entry *what, bool weights,
                                const void *data, wcodec_error *err)
{
    begin_call(w);
    if (what->size < WCODEC_WRITE_BATCH_LARGE)
        return code_later(w, what, weights, data, err);
    return code_at_once(w, what, weights, data, w->next + 1 == w->names.count, err);
}

/* All is declared: the header is the first entry. */
static wcodec_status start(wcodec_writer *w, wcodec_error *err)
{
    uint8_t *header;
    uint64_t size;
    wcodec_status status = wcodec_write_header(&w->context->allocator, w->tensors, w->names.count,
                                               w->metadata, w->keys.count, &header, &size, err);
    if (status != WCODEC_OK) {
        w->stage = FAILED;
        return status;
    }
    status = wcodec_output_reserve(&w->output, w->names.count + 1, err);
    if (status == WCODEC_OK) {
        struct wcodec_entry what = {.size = size};
        w->output.index.head.size = size + w->size;
        wcodec_reporter_init(&w->reporter, &w->options.progress, size + w->size);
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

wcodec_status wcodec_writer_data(wcodec_writer *writer, const void *data, size_t size,
                                 wcodec_error *err)
{
    wcodec_writer *w = writer;
    wcodec_status status = check_writing(w, err);
    if (status != WCODEC_OK)
        return status;
    if (w->next == w->names.count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "there is data for more tensors than the %" PRIu64 " that were declared",
                           w->names.count);
    const struct wcodec_entry *what = &w->tensors[w->next];
    if (size != what->size)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\": %zu bytes of data, expected %" PRIu64, what->name,
                           size, what->size);
    if (w->stage == DECLARING)
        status = start(w, err);
    if (status != WCODEC_OK)
        return status;
    status = code_entry(w, what, wcodec_encode_options_weights(&w->options, what->name), data, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_add(&w->reporter, w->output.index.size - w->reporter.done, err);
    if (status != WCODEC_OK)
        w->stage = FAILED;
    else
        w->next++;
    return status;
}

wcodec_status wcodec_writer_finish(wcodec_writer *writer, wcodec_encode_report *report,
                                   wcodec_error *err)
{
    wcodec_writer *w = writer;
    wcodec_status status = check_writing(w, err);
    if (status != WCODEC_OK)
        return status;
    if (w->next != w->names.count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the data of tensor \"%.200s\" is missing",
                           w->tensors[w->next].name);
    if (w->stage == DECLARING)
        status = start(w, err); /* no tensors at all */
    if (status != WCODEC_OK)
        return status;
    w->output.index.safetensors = true;
    w->output.index.metadata_count = w->keys.count;
    w->output.index.metadata = w->metadata;
    begin_call(w);
    status = run_batch(w, w->batch.data, err);
    if (status == WCODEC_OK)
        status = wcodec_write_batch_flush(&w->batch, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_add(&w->reporter, w->output.index.size - w->reporter.done, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_end(&w->reporter, err);
    if (status == WCODEC_OK)
        status = wcodec_output_finish(w->context, &w->output, err);
    w->stage = status == WCODEC_OK ? FINISHED : FAILED;
    if (status == WCODEC_OK && report) {
        *report = (wcodec_encode_report){0};
        wcodec_output_report(&w->output, report);
    }
    return status;
}
