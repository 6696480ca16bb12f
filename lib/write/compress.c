/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file to a container: one of a kind that is known as tensors, any other as opaque bytes. */

#include "write/compress.h"
#include "write/batch.h"
#include "write/encode_options.h"
#include "write/part.h"
#include "write/tables.h"
#include "format/geometry.h"
#include "format/layout.h"
#include "format/loss.h"
#include "format/safetensors.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/progress.h"
#include "io/safefile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of an opaque entry: a chunk of the largest size. */
enum { BLOB_SIZE = 1 << 24 };

/* Where tensors have fewer bytes each on average, what lies between them counts: it stands in the
 * index, and is lost where a file is cut short. */
enum { INLINE_TENSOR = 1 << 15, INLINE_BLOB = 1 << 10, INLINE_TENSORS = 8 };

struct compressor {
    wcodec_context *context;
    wcodec_encode_options options;
    const struct wcodec_compress_input *input;
    struct wcodec_source source;
    struct wcodec_file_layout *layout; /* NULL: opaque */
    const char **metadata;
    struct wcodec_output output;
    struct wcodec_dedup dedup;
    struct wcodec_write_batch batch;
    struct wcodec_file_part part;
    uint64_t position; /* in the source: where the next entry begins */
    struct wcodec_reporter reporter;
    struct wcodec_cancel cancel;
    char note[sizeof((wcodec_encode_report *)0)->note];
};

/* As much of a text as there is room for, without half a character. */
static void set_note(struct compressor *c, const char *text)
{
    size_t size = strlen(text);
    if (size >= sizeof c->note) {
        size = sizeof c->note - 1;
        while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80)
            size--;
    }
    memcpy(c->note, text, size);
}

/* Where its tensors lie, a file of external data does not say itself, but a container of it. */
static wcodec_status find_tensors(struct compressor *c, wcodec_error *why)
{
    const wcodec_status status =
        wcodec_layout_find(c->context, &c->source, c->options.onnx_model, c->options.onnx_location,
                           c->batch.settings.cancel, &c->layout, why);
    char kind[16];
    if (status != WCODEC_ERROR_CORRUPT || c->input->index == NULL)
        return status;
    wcodec_layout_kind(c->input->index, kind);
    return strcmp(kind, "onnxdata") == 0
               ? wcodec_layout_of_index(c->input->index, &c->context->allocator, &c->layout, why)
               : status;
}

/* Look at the file: tensors, or a note why not. */
static wcodec_status examine(struct compressor *c, wcodec_error *err)
{
    if (c->options.raw)
        return WCODEC_OK;
    wcodec_error why = {0};
    uint64_t cut = 0;
    wcodec_status status = find_tensors(c, &why);
    if (status == WCODEC_OK)
        status = wcodec_geometry_propose(c->layout, &cut, &why);
    c->batch.settings.records = cut != 0;
    if (status == WCODEC_OK && c->layout->safetensors == NULL &&
        c->layout->count >= INLINE_TENSORS && c->source.size / c->layout->count < INLINE_TENSOR)
        c->batch.settings.inline_most = INLINE_BLOB;
    if (status == WCODEC_OK && c->layout->remark.text[0] != 0) {
        set_note(c, c->layout->remark.text);
        wcodec_log(c->context, WCODEC_LOG_DEBUG, "%s", c->layout->remark.text);
    }
    if (status == WCODEC_ERROR_CORRUPT && !c->options.strict) {
        set_note(c, why.text);
        return WCODEC_OK;
    }
    if (status == WCODEC_ERROR_CORRUPT)
        return wcodec_fail(err, status, "no file of tensors: %s", why.text);
    return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", why.text);
}

/* Entries, batch items and hashes take less than this for each tensor, with the bytes before it. */
enum { MEMORY_OF_TENSOR = 768 };

/* Are the next tensors read while others are coded? That takes the largest once more: where memory
 * is limited there is no telling whether it is worth that. */
static bool may_overlap(const struct compressor *c)
{
    return wcodec_context_threads(c->context) > WCODEC_WRITE_FEW_THREADS &&
           c->context->limits.max_memory == UINT64_MAX && c->batch.bases == NULL &&
           c->batch.coder == NULL && c->batch.settings.lossy == WCODEC_LOSSY_NONE;
}

/* Keep to the caller's limit by smaller batches; refuse what cannot be done within it, before work
 * is done in vain. */
static wcodec_status plan_memory(struct compressor *c, wcodec_error *err)
{
    uint64_t limit = c->context->limits.max_memory, largest = 0,
             fixed =
                 2 * sizeof(struct wcodec_write_batch_item) * WCODEC_WRITE_BATCH_ITEMS + (1 << 20);
    c->batch.overlaps = may_overlap(c);
    if (c->layout == NULL || c->layout->safetensors == NULL)
        largest = c->source.size < BLOB_SIZE ? c->source.size : BLOB_SIZE;
    if (c->layout != NULL) {
        fixed += wcodec_layout_memory(c->layout) + c->layout->count * MEMORY_OF_TENSOR;
        for (uint64_t i = 0; i < c->layout->count; i++)
            if (c->layout->tensors[i].size > largest)
                largest = c->layout->tensors[i].size;
    }
    uint64_t least = wcodec_write_batch_least(&c->batch.settings, largest);
    if (fixed > limit || least > limit - fixed)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "compressing takes about %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           fixed + least, limit);
    c->batch.memory = wcodec_write_batch_memory(c->context, largest) +
                      (c->batch.overlaps ? largest : 0) +
                      wcodec_write_batch_beside(&c->batch.settings, largest);
    if (c->batch.memory > limit - fixed)
        c->batch.memory = limit - fixed;
    return WCODEC_OK;
}

static wcodec_status report_progress(struct compressor *c, wcodec_error *err)
{
    return wcodec_reporter_add(&c->reporter,
                               c->output.index.size - c->part.span.pad - c->reporter.done, err);
}

static wcodec_status run_batch(struct compressor *c, wcodec_error *err)
{
    wcodec_status status = wcodec_write_batch_run(&c->batch, err);
    return status == WCODEC_OK ? report_progress(c, err) : status;
}

/* An entry that is coded already. */
static wcodec_status put_supplied(struct compressor *c, const struct wcodec_entry *what,
                                  uint64_t at, wcodec_error *err)
{
    const struct wcodec_write_supply *supply = c->input->supply;
    const wcodec_status status = supply->put(supply->opaque, &c->output, &c->dedup, what, at, err);
    return status == WCODEC_OK ? report_progress(c, err) : status;
}

/* Put an item at the end of the batch; where it does not fit, the batch runs first. */
static wcodec_status add_item(struct compressor *c, const struct wcodec_entry *what, bool weights,
                              wcodec_error *err)
{
    const uint64_t at = c->position;
    c->position += what->size;
    if (!wcodec_part_has(&c->part, at, c->source.size))
        return WCODEC_OK;
    if (c->input->supply != NULL)
        return put_supplied(c, what, at, err);
    const bool by_coder = wcodec_write_batch_by_coder(&c->batch, what, weights, at);
    if (wcodec_write_batch_is_full(&c->batch, what->size, by_coder)) {
        wcodec_status status = run_batch(c, err);
        if (status != WCODEC_OK)
            return status;
    }
    if (c->batch.now.count == 0)
        c->batch.now.begin = at;
    wcodec_write_batch_add(&c->batch, what, weights, by_coder);
    return WCODEC_OK;
}

static wcodec_status compress_header(struct compressor *c, wcodec_error *err)
{
    const struct wcodec_safetensors *s = c->layout->safetensors;
    struct wcodec_entry what = {.size = s->header_size};
    struct wcodec_coded coded;
    struct wcodec_encode_settings settings = c->batch.settings;
    c->position = s->header_size;
    if (!wcodec_part_has(&c->part, 0, c->source.size))
        return WCODEC_OK;
    if (c->input->supply != NULL)
        return put_supplied(c, &what, 0, err);
    settings.quick = true;
    wcodec_status status =
        wcodec_output_hash(c->context, &c->output, s->header, s->header_size, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_code_bytes(c->context, &settings, false, &what, s->header, &coded, err);
    if (status != WCODEC_OK)
        return status;
    status =
        wcodec_coded_hash(c->context, c->output.original.leaf, &coded, &what.payload_hash, err);
    if (status == WCODEC_OK)
        status = wcodec_output_coded(&c->output, &what, &coded, err);
    if (status == WCODEC_OK)
        status = wcodec_output_write(c->context, &c->output, 1, NULL, err);
    wcodec_coded_free(&coded);
    return status;
}

/* Bytes that are no tensor, in pieces. */
static wcodec_status compress_blobs(struct compressor *c, uint64_t begin, uint64_t end,
                                    wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (uint64_t at = begin; at < end && status == WCODEC_OK; at += BLOB_SIZE) {
        const uint64_t left = end - at;
        struct wcodec_entry what = {.size = left < BLOB_SIZE ? left : BLOB_SIZE};
        status = add_item(c, &what, false, err);
    }
    return status;
}

static struct wcodec_entry entry_of(const void *layout, uint64_t i)
{
    const struct wcodec_layout_tensor *t = &((const struct wcodec_file_layout *)layout)->tensors[i];
    return (struct wcodec_entry){.is_tensor = true,
                                 .dtype = t->dtype,
                                 .name = t->name,
                                 .dtype_name = t->dtype_name,
                                 .rank = t->rank,
                                 .shape = t->shape,
                                 .size = t->size,
                                 .u.geometry = t->geometry};
}

static wcodec_status compress_tensors(struct compressor *c, wcodec_error *err)
{
    const struct wcodec_file_layout *l = c->layout;
    uint64_t at = 0;
    wcodec_status status = wcodec_output_reserve(&c->output, l->count + 1, err);
    if (status == WCODEC_OK && l->safetensors != NULL) {
        status = compress_header(c, err);
        at = l->safetensors->header_size;
    }
    for (uint64_t i = 0; i < l->count && status == WCODEC_OK; i++) {
        const struct wcodec_layout_tensor *t = &l->tensors[i];
        const struct wcodec_entry what = entry_of(l, i);
        status = compress_blobs(c, at, t->offset, err);
        if (status == WCODEC_OK)
            status = add_item(c, &what, wcodec_encode_options_weights(&c->options, t->name), err);
        at = t->offset + t->size;
    }
    return status == WCODEC_OK ? compress_blobs(c, at, c->source.size, err) : status;
}

/* The next begin of an entry in bytes [begin, end) that are no tensor, or their end. */
static uint64_t blob_from(uint64_t begin, uint64_t end, uint64_t offset)
{
    if (offset <= begin)
        return begin;
    const uint64_t count = wcodec_div_up_u64(offset - begin, BLOB_SIZE);
    return count <= (end - begin) / BLOB_SIZE ? begin + count * BLOB_SIZE : end;
}

/* Where the first entry begins that does so at `offset` or later; the end if none does. */
static uint64_t entry_from(const struct compressor *c, uint64_t offset)
{
    const struct wcodec_file_layout *l = c->layout;
    uint64_t at = 0;
    if (offset == 0)
        return 0;
    if (l != NULL && l->safetensors != NULL)
        at = l->safetensors->header_size;
    for (uint64_t i = 0; l != NULL && i < l->count; i++) {
        if (offset <= l->tensors[i].offset)
            return blob_from(at, l->tensors[i].offset, offset);
        at = l->tensors[i].offset + l->tensors[i].size;
    }
    return blob_from(at, c->source.size, offset);
}

/* What comes before the entries: of a part, and of parts that are joined. */
static wcodec_status begin_entries(struct compressor *c, wcodec_error *err)
{
    const struct wcodec_write_supply *supply = c->input->supply;
    if (supply != NULL)
        return supply->begin(supply->opaque, &c->output, c->source.size, err);
    if (!wcodec_part_is_on(&c->part))
        return WCODEC_OK;
    c->part.span.begin = entry_from(c, c->part.begin);
    c->part.span.end = entry_from(c, c->part.end);
    wcodec_reporter_init(&c->reporter, &c->options.progress, c->part.span.end - c->part.span.begin);
    return wcodec_part_begin(&c->part, c->context, &c->batch.settings, &c->output, err);
}

/* And after them. */
static wcodec_status end_entries(struct compressor *c, wcodec_error *err)
{
    const struct wcodec_write_supply *supply = c->input->supply;
    if (supply != NULL)
        return supply->end(supply->opaque, err);
    return wcodec_part_is_on(&c->part) ? wcodec_part_end(&c->part, c->context, &c->batch.settings,
                                                         &c->dedup, c->source.size, &c->output, err)
                                       : WCODEC_OK;
}

/* Kind and metadata of the container. */
static wcodec_status describe(struct compressor *c, wcodec_error *err)
{
    const struct wcodec_file_layout *l = c->layout;
    const struct wcodec_safetensors *s = l->safetensors;
    struct wcodec_index *index = &c->output.index;
    index->safetensors = s != NULL;
    wcodec_status status = wcodec_loss_metadata(
        &c->context->allocator, &c->output.arena, s != NULL ? s->metadata : l->metadata,
        s != NULL ? s->metadata_count : l->metadata_count, c->input->lossy, c->input->lossy_count,
        &c->metadata, &index->metadata_count, err);
    index->metadata = c->metadata;
    return status;
}

/* All of a source, into a prepared compressor. */
static wcodec_status compress(struct compressor *c, wcodec_write_fn write, void *opaque,
                              wcodec_error *err)
{
    wcodec_status status =
        wcodec_output_init(c->context, write, c->options.write_at, opaque, &c->output, err);
    c->output.bases = c->options.bases;
    c->output.index.head.size = wcodec_part_is_on(&c->part) ? UINT64_MAX : c->source.size;
    if (status == WCODEC_OK)
        status = wcodec_encode_options_note(&c->options, &c->output, err);
    if (status == WCODEC_OK)
        status = examine(c, err);
    if (status == WCODEC_OK)
        status = wcodec_tables_check(&c->options, entry_of, c->layout,
                                     c->layout != NULL ? c->layout->count : 0, err);
    if (status == WCODEC_OK)
        status = plan_memory(c, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_write_batch_init(&c->batch, err);
    if (status == WCODEC_OK)
        status = begin_entries(c, err);
    if (status != WCODEC_OK)
        return status;
    status =
        c->layout != NULL ? compress_tensors(c, err) : compress_blobs(c, 0, c->source.size, err);
    if (status == WCODEC_OK)
        status = run_batch(c, err);
    if (status == WCODEC_OK)
        status = wcodec_write_batch_flush(&c->batch, err);
    if (status == WCODEC_OK)
        status = report_progress(c, err);
    if (status == WCODEC_OK)
        status = end_entries(c, err);
    return status == WCODEC_OK && c->layout != NULL && !wcodec_part_is_on(&c->part)
               ? describe(c, err)
               : status;
}

/* Size and time of change of a file: if they differ in the end, what was read may be of two
 * versions. */
struct stamp {
    off_t size;
    struct timespec mtime;
};

static wcodec_status read_stamp(int fd, struct stamp *stamp, wcodec_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot examine the file: %s", strerror(errno));
    *stamp = (struct stamp){st.st_size, st.st_mtim};
    return WCODEC_OK;
}

static wcodec_status check_stamp(int fd, const struct stamp *before, wcodec_error *err)
{
    struct stamp now = *before;
    wcodec_status status = read_stamp(fd, &now, err);
    if (status == WCODEC_OK &&
        (now.size != before->size || now.mtime.tv_sec != before->mtime.tv_sec ||
         now.mtime.tv_nsec != before->mtime.tv_nsec))
        status = wcodec_fail(err, WCODEC_ERROR_IO, "the file was changed while it was read");
    return status;
}

wcodec_status wcodec_compress_source(wcodec_context *context,
                                     const struct wcodec_compress_input *input,
                                     wcodec_write_fn write, void *opaque,
                                     const wcodec_encode_options *options,
                                     wcodec_encode_report *report, wcodec_error *err)
{
    struct compressor c = {.context = context, .input = input, .source = *input->source};
    const int fd = input->fd;
    struct stamp before = {0};
    wcodec_status status = wcodec_encode_options_read(options, &c.options, err);
    if (status == WCODEC_OK && c.options.index_first)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "the index is not known before all else is written: compress, then "
                             "wcodec_copy()");
    if (status == WCODEC_OK)
        status = fd >= 0 ? read_stamp(fd, &before, err) : WCODEC_OK;
    if (status != WCODEC_OK)
        return status;
    wcodec_reporter_init(&c.reporter, &c.options.progress, c.source.size);
    wcodec_dedup_init(&c.dedup, context, &c.source);
    c.part = (struct wcodec_file_part){.begin = c.options.part_begin, .end = c.options.part_end};
    c.batch = (struct wcodec_write_batch){.context = context,
                                          .source = &c.source,
                                          .output = &c.output,
                                          .dedup = &c.dedup,
                                          .options = &c.options};
    wcodec_phases_begin(&c.batch.phases, c.options.times);
    wcodec_encode_options_settings(&c.options, &c.batch.settings);
    c.batch.bases = c.options.bases;
    c.batch.coder = input->coder;
    c.batch.writers = input->writers;
    if (c.options.progress.fn) {
        wcodec_cancel_init(&c.cancel, &c.reporter);
        c.batch.settings.cancel = &c.cancel;
    }
    status = compress(&c, write, opaque, err);
    if (status == WCODEC_OK && fd >= 0)
        status = check_stamp(fd, &before, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_end(&c.reporter, err);
    if (status == WCODEC_OK)
        status = wcodec_output_finish(context, &c.output, err);
    if (status == WCODEC_OK && report) {
        *report = (wcodec_encode_report){0};
        wcodec_output_report(&c.output, report);
        memcpy(report->note, c.note, sizeof report->note);
    }
    if (status == WCODEC_OK)
        wcodec_phases_end(&c.batch.phases, c.options.times);
    wcodec_write_batch_free(&c.batch);
    wcodec_dedup_free(&c.dedup);
    wcodec_output_free(&c.output);
    wcodec_free(&context->allocator, c.metadata);
    wcodec_layout_free(c.layout);
    wcodec_part_free(&c.part, &context->allocator);
    return status;
}

wcodec_status wcodec_compress_fd(wcodec_context *context, int fd, wcodec_write_fn write,
                                 void *opaque, const wcodec_encode_options *options,
                                 wcodec_encode_report *report, wcodec_error *err)
{
    struct wcodec_source source;
    const struct wcodec_compress_input input = {.source = &source, .fd = fd};
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_source_fd(fd, &source, err);
    return status == WCODEC_OK
               ? wcodec_compress_source(context, &input, write, opaque, options, report, err)
               : status;
}

wcodec_status wcodec_compress_memory(wcodec_context *context, const void *data, size_t size,
                                     wcodec_write_fn write, void *opaque,
                                     const wcodec_encode_options *options,
                                     wcodec_encode_report *report, wcodec_error *err)
{
    struct wcodec_source source;
    const struct wcodec_compress_input input = {.source = &source, .fd = -1};
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_source_memory(data, size, &source);
    return wcodec_compress_source(context, &input, write, opaque, options, report, err);
}
