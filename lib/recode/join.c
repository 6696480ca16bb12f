/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Parts of a file (write/part.h) put together: entries come from them in place of being coded, so
 * that all else is as if the file had been compressed at once. */

#include "recode/recode.h"
#include "read/decode.h"
#include "write/encode_options.h"
#include "write/part.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>

struct joint {
    wcodec_context *context;
    const wcodec_reader *const *parts;
    size_t count;
    const wcodec_encode_options *options;
    void *opaque;                    /* of the caller's functions */
    struct wcodec_settings settings; /* of the result */
    uint64_t size;                   /* of the original */
    /* Of the part whose entries come. */
    size_t number;                    /* `count`: none is left */
    const struct wcodec_shard *shard; /* NULL: none is open */
    struct wcodec_source source;
    uint8_t *bytes; /* its record's */
    struct wcodec_part_record record;
    uint64_t next, end; /* entries that are still to come */
    uint64_t item;      /* of the record: the next */
    uint64_t *become;   /* entry of the result that has an entry's bytes */
};

/* Put the part in front of an error. */
static wcodec_status in_part(const struct joint *j, wcodec_status status, wcodec_error *err)
{
    const char *path = j->number < j->count ? j->parts[j->number]->shards[0].path : NULL;
    wcodec_error_prefix(err, "part %zu of %zu%s%.200s", j->number + 1, j->count,
                        path != NULL ? ", " : "", path != NULL ? path : "");
    return status;
}

static wcodec_status refuse(const struct joint *j, const char *why, wcodec_error *err)
{
    return in_part(j, wcodec_fail(err, WCODEC_ERROR_USAGE, "%s", why), err);
}

/* What the last entry holds. */
static wcodec_status read_record(struct joint *j, const struct wcodec_entry *e, wcodec_error *err)
{
    const wcodec_allocator *allocator = &j->context->allocator;
    struct wcodec_reporter silent = {0};
    struct wcodec_decoder decoder;
    const struct wcodec_decoder_input input = {
        .context = j->context, .source = &j->source, .entry = e, .verify = true, .whole = true};
    if (e->is_tensor || e->newer || e->coding == WCODEC_CODING_ALIAS)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "it is no part of a file");
    if (e->size > j->context->limits.max_memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "its record takes %" PRIu64 " bytes of memory, the limit is %" PRIu64,
                           e->size, j->context->limits.max_memory);
    j->bytes = wcodec_alloc_array(allocator, e->size, 1);
    if (j->bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a part's record");
    wcodec_status status = wcodec_decoder_open(&input, &decoder, err);
    if (status == WCODEC_OK) {
        status = wcodec_decoder_range(&decoder, 0, e->size, j->bytes, &silent, err);
        wcodec_decoder_close(&decoder);
    }
    if (status == WCODEC_OK && !wcodec_part_read(j->bytes, e->size, &j->record))
        status =
            wcodec_fail(err, WCODEC_ERROR_USAGE, "it is no part of a file, or of another version");
    return status;
}

static bool same_settings(const struct wcodec_settings *a, const struct wcodec_settings *b)
{
    return a->level == b->level && a->tune == b->tune && a->profile == b->profile &&
           a->tile_log2 == b->tile_log2 && a->predict == b->predict && a->patterns == b->patterns &&
           a->lossy == b->lossy;
}

/* Its own entries lie between zeros, where there are any, and the record. */
static wcodec_status check_part(struct joint *j, uint64_t begin, wcodec_error *err)
{
    const struct wcodec_index *index = j->shard->index;
    const struct wcodec_span *span = &j->record.span;
    const uint64_t pad = span->begin % WCODEC_LEAF_BYTES;
    j->next = pad != 0;
    j->end = index->entry_count - 1;
    if (!same_settings(&index->head.settings, &j->settings))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "it was made by other options");
    if (span->file_size != j->size)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "it is of a file of %" PRIu64 " bytes, not of %" PRIu64, span->file_size,
                           j->size);
    if (span->begin != begin)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "it begins at byte %" PRIu64 " of the original, expected %" PRIu64,
                           span->begin, begin);
    if (j->next > j->end || (pad != 0 && index->entries[0].size != pad) ||
        index->entries[j->end].file_offset != pad + (span->end - span->begin))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "its record is not of its entries");
    return WCODEC_OK;
}

static void close_part(struct joint *j)
{
    if (j->shard != NULL)
        wcodec_shard_release(j->shard, &j->source);
    wcodec_free(&j->context->allocator, j->become);
    wcodec_free(&j->context->allocator, j->bytes);
    j->become = NULL;
    j->bytes = NULL;
    j->shard = NULL;
}

/* Open part number j->number, which begins there. */
static wcodec_status open_part(struct joint *j, uint64_t begin, wcodec_error *err)
{
    const struct wcodec_shard *shard = &j->parts[j->number]->shards[0];
    const struct wcodec_index *index = shard->index;
    if (index->rebuilt || index->entry_count == 0 || index->safetensors)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "it is no part of a file");
    wcodec_status status = wcodec_shard_acquire(shard, &j->source, err);
    if (status != WCODEC_OK)
        return status;
    j->shard = shard;
    j->item = 0;
    status = read_record(j, &index->entries[index->entry_count - 1], err);
    if (status == WCODEC_OK)
        status = check_part(j, begin, err);
    if (status != WCODEC_OK)
        return status;
    j->become = wcodec_alloc_array(&j->context->allocator, index->entry_count, sizeof *j->become);
    if (j->become == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a part's entries");
    memset(j->become, 0xFF, (size_t)index->entry_count * sizeof *j->become);
    return WCODEC_OK;
}

/* Its bytes are the next ones of the original's hash. */
static wcodec_status hash_part(const struct joint *j, struct wcodec_output *output,
                               wcodec_error *err)
{
    output->hashed = j->record.span.end;
    return wcodec_span_put(&j->record.span, &output->original, err);
}

/* Have a part open that has an entry left, if there is one. */
static wcodec_status next_part(struct joint *j, struct wcodec_output *output, uint64_t begin,
                               wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    while (status == WCODEC_OK && j->number < j->count && (j->shard == NULL || j->next == j->end)) {
        if (j->shard != NULL) {
            begin = j->record.span.end;
            close_part(j);
            if (++j->number == j->count)
                return WCODEC_OK;
        }
        status = open_part(j, begin, err);
        if (status == WCODEC_OK)
            status = hash_part(j, output, err);
    }
    return status == WCODEC_OK ? status : in_part(j, status, err);
}

static wcodec_status begin_joint(void *opaque, struct wcodec_output *output, uint64_t size,
                                 wcodec_error *err)
{
    struct joint *j = opaque;
    j->settings = output->index.head.settings;
    j->size = size;
    return next_part(j, output, 0, err);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Is an entry of a part the one that is due? */
static bool is_of(const struct wcodec_entry *e, const struct wcodec_entry *what)
{
    return e->is_tensor == what->is_tensor && e->size == what->size && e->dtype == what->dtype &&
           e->rank == what->rank && same_text(e->name, what->name) &&
           (what->rank == 0 ||
            memcmp(e->shape, what->shape, what->rank * sizeof *what->shape) == 0);
}

/* By the caller, as it is. */
static wcodec_status leave_payload(const struct joint *j, struct wcodec_output *output,
                                   const struct wcodec_entry *made, wcodec_error *err)
{
    uint64_t to;
    const wcodec_status status = wcodec_output_leave(output, made, &to, err);
    if (status != WCODEC_OK)
        return status;
    const int error =
        j->options->copy_at(j->opaque, j->number, made->payload_offset, to, made->payload_size);
    return error == 0 ? WCODEC_OK
                      : wcodec_fail(err, WCODEC_ERROR_IO, "copying to byte %" PRIu64 ": %s", to,
                                    strerror(error));
}

static wcodec_status put_payload(const struct joint *j, struct wcodec_output *output,
                                 const struct wcodec_entry *made, wcodec_error *err)
{
    uint8_t *payload = NULL;
    wcodec_status status = WCODEC_OK;
    if (j->options->copy_at != NULL && wcodec_output_is_large(output, made->payload_size))
        return leave_payload(j, output, made, err);
    if (made->payload_size != 0)
        status = wcodec_payload_read(j->context, &j->source, made, &payload, err);
    if (status == WCODEC_OK)
        status = wcodec_output_copy(output, made, payload, err);
    if (status == WCODEC_OK) /* it lives no longer */
        status = wcodec_output_write(j->context, output, 1, NULL, err);
    wcodec_free(&j->context->allocator, payload);
    return status;
}

/* Has an entry of the part an equal one before it that is of another part? */
static wcodec_status find_alias(struct joint *j, struct wcodec_dedup *dedup,
                                const struct wcodec_entry *what, uint64_t offset, uint64_t number,
                                uint64_t *alias, wcodec_error *err)
{
    *alias = UINT64_MAX;
    if (j->item == j->record.item_count)
        return WCODEC_OK;
    const uint8_t *at = j->record.items + j->item * WCODEC_PART_ITEM_SIZE;
    if (wcodec_load_u64(at + 16) != j->next)
        return WCODEC_OK;
    j->item++;
    const struct wcodec_dedup_hash hash = {wcodec_load_u64(at), wcodec_load_u64(at + 8)};
    const wcodec_status status =
        wcodec_dedup_find_read(dedup, hash, offset, what->size, alias, err);
    if (status != WCODEC_OK || *alias != UINT64_MAX)
        return status;
    const struct wcodec_dedup_item item = {hash, what->size, offset, number};
    return wcodec_dedup_add(dedup, &item, err);
}

/* The next entry of the part, as `what`. */
static wcodec_status put_entry(struct joint *j, struct wcodec_output *output,
                               struct wcodec_dedup *dedup, const struct wcodec_entry *what,
                               uint64_t offset, wcodec_error *err)
{
    const struct wcodec_entry *e = &j->shard->index->entries[j->next];
    const uint64_t number = output->index.entry_count;
    uint64_t alias = UINT64_MAX;
    if (e->newer)
        return wcodec_entry_refuse(e, err);
    if (!is_of(e, what))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "it is not of this file");
    struct wcodec_entry label = *what;
    label.payload_size = label.payload_hash = 0;
    wcodec_status status = WCODEC_OK;
    if (e->coding != WCODEC_CODING_ALIAS)
        status = find_alias(j, dedup, what, offset, number, &alias, err);
    else if ((alias = j->become[e->u.alias]) == UINT64_MAX)
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "it is equal to what is no part of it");
    j->become[j->next] = alias != UINT64_MAX ? alias : number;
    if (status != WCODEC_OK)
        return status;
    if (alias != UINT64_MAX)
        return wcodec_output_alias(output, &label, alias, err);
    struct wcodec_entry made = *e;
    made.name = what->name;
    made.dtype_name = what->dtype_name;
    made.shape = what->shape;
    return put_payload(j, output, &made, err);
}

static wcodec_status put_next(void *opaque, struct wcodec_output *output,
                              struct wcodec_dedup *dedup, const struct wcodec_entry *what,
                              uint64_t offset, wcodec_error *err)
{
    struct joint *j = opaque;
    if (j->number == j->count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "a part is missing, from byte %" PRIu64 " of the original on", offset);
    wcodec_status status = put_entry(j, output, dedup, what, offset, err);
    if (status != WCODEC_OK) {
        if (what->name != NULL)
            wcodec_error_prefix(err, "tensor \"%.200s\"", what->name);
        return in_part(j, status, err);
    }
    j->next++;
    return next_part(j, output, 0, err);
}

static wcodec_status end_joint(void *opaque, wcodec_error *err)
{
    const struct joint *j = opaque;
    return j->number == j->count ? WCODEC_OK
                                 : refuse(j, "it has more than is left of the file", err);
}

static wcodec_status check_arguments(wcodec_context *context, const wcodec_reader *const *parts,
                                     size_t count, int fd, const wcodec_reader *original,
                                     const wcodec_encode_options *options, wcodec_error *err)
{
    bool good = parts != NULL && count > 0 && (fd < 0) == (original != NULL);
    for (size_t i = 0; good && i < count; i++)
        good = parts[i] != NULL && parts[i]->context == context;
    if (!good || (original != NULL && original->context != context))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_join: expected readers of parts and of the original, or its "
                           "descriptor, all of this context");
    for (size_t i = 0; i < count; i++)
        if (parts[i]->shard_count != 1)
            return wcodec_fail(err, WCODEC_ERROR_USAGE, "part %zu is not one file", i + 1);
    if (original != NULL && original->shard_count != 1)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the original is not one file");
    return options->copy_at == NULL || options->write_at != NULL
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_USAGE, "copy_at without write_at");
}

wcodec_status wcodec_join(wcodec_context *context, const wcodec_reader *const *parts, size_t count,
                          int fd, const wcodec_reader *original, wcodec_write_fn write,
                          void *opaque, const wcodec_encode_options *options,
                          wcodec_encode_report *report, wcodec_error *err)
{
    wcodec_encode_options own;
    struct wcodec_source source;
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_read(options, &own, err);
    if (status == WCODEC_OK)
        status = check_arguments(context, parts, count, fd, original, &own, err);
    if (status == WCODEC_OK && fd >= 0)
        status = wcodec_source_fd(fd, &source, err);
    if (status != WCODEC_OK)
        return status;
    own.part_begin = own.part_end = 0;
    struct joint j = {
        .context = context, .parts = parts, .count = count, .options = &own, .opaque = opaque};
    const struct wcodec_write_supply supply = {&j, begin_joint, put_next, end_joint};
    const struct wcodec_compress_input input = {.source = &source, .fd = fd, .supply = &supply};
    status =
        original != NULL
            ? wcodec_recompress_supplied(original, 0, &supply, write, opaque, &own, report, err)
            : wcodec_compress_source(context, &input, write, opaque, &own, report, err);
    close_part(&j);
    return status;
}
