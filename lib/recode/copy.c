/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors from one container to another as they are coded. */

#include "recode/recode.h"
#include "read/decode.h"
#include "write/batch.h"
#include "write/encode_options.h"
#include "write/header.h"
#include "write/output.h"
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/leaf.h"
#include "format/loss.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/progress.h"

#include <inttypes.h>
#include <wcodec/writer.h>

struct copy {
    const wcodec_reader *reader;
    const uint64_t *tensors; /* NULL: all of a file */
    uint64_t count;
    const wcodec_encode_options *options;
    wcodec_leaf_fn leaf;
    struct wcodec_entry *labels; /* of the tensors */
    uint8_t *header;             /* of the new file, if it is one of some tensors */
    uint64_t header_size;
    uint64_t size;      /* bytes of what the new file restores to */
    const char **pairs; /* metadata of the new file, if it is one of some tensors */
    uint64_t pair_count;
    struct wcodec_arena arena; /* what pairs point to */
    uint64_t lossy;            /* tensors */
    uint64_t *taken; /* of each of the reader's entries: the number of the new one plus 1, or 0 */
    struct wcodec_reporter reporter;
};

/* Put what an entry decodes to into the hash of the new file. */
static wcodec_status hash_decoded(const struct copy *c, struct wcodec_output *output,
                                  const struct wcodec_source *source,
                                  const struct wcodec_entry *own, const struct wcodec_bases *bases,
                                  wcodec_error *err)
{
    wcodec_context *context = c->reader->context;
    struct wcodec_reporter silent = {0};
    struct wcodec_decoder decoder;
    const struct wcodec_decoder_input input = {.context = context,
                                               .source = source,
                                               .entry = own,
                                               .bases = bases,
                                               .verify = true,
                                               .whole = true};
    if (own->size == 0)
        return WCODEC_OK;
    if (own->size > context->limits.max_tensor_bytes)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " bytes are more than the limit of %" PRIu64, own->size,
                           context->limits.max_tensor_bytes);
    uint8_t *bytes = wcodec_alloc_array(&context->allocator, own->size, 1);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes",
                           own->size);
    wcodec_status status = wcodec_decoder_open(&input, &decoder, err);
    if (status == WCODEC_OK) {
        status = wcodec_decoder_range(&decoder, 0, own->size, bytes, &silent, err);
        wcodec_decoder_close(&decoder);
    }
    if (status == WCODEC_OK)
        status = wcodec_output_hash(context, output, bytes, own->size, err);
    wcodec_free(&context->allocator, bytes);
    return status;
}

/* Does the coding of `own` stand on the dtype, which `e` has another of? */
static bool is_of_other_dtype(const struct wcodec_entry *e, const struct wcodec_entry *own)
{
    return (wcodec_coding_is_lossy(own->coding) || own->coding == WCODEC_CODING_FIXED) &&
           (!e->is_tensor || e->dtype != own->dtype);
}

static wcodec_status put_copy(struct copy *c, struct wcodec_output *output,
                              const struct wcodec_source *source, const struct wcodec_entry *e,
                              const struct wcodec_entry *own, wcodec_error *err)
{
    struct wcodec_entry made = *own;
    uint8_t *payload = NULL;
    if (own->coding == WCODEC_CODING_DELTA && e != own)
        return wcodec_fail(
            err, WCODEC_ERROR_UNSUPPORTED,
            "it is equal to tensor '%s', which is a delta of the tensor of that name: "
            "take that too",
            own->name);
    if (is_of_other_dtype(e, own))
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "it is equal to a tensor of another dtype, whose coding is for that "
                           "dtype alone: take that too");
    made.is_tensor = e->is_tensor;
    made.name = e->name;
    made.dtype = e->dtype;
    made.dtype_name = e->dtype_name;
    made.rank = e->rank;
    made.shape = e->shape;
    wcodec_status status = own->payload_size != 0
                               ? wcodec_payload_read(c->reader->context, source, own, &payload, err)
                               : WCODEC_OK;
    if (status == WCODEC_OK)
        status = wcodec_output_copy(output, &made, payload, err);
    wcodec_free(&c->reader->context->allocator, payload);
    return status;
}

static wcodec_status copy_entry(struct copy *c, struct wcodec_output *output,
                                const struct wcodec_shard *shard, const struct wcodec_entry *e,
                                wcodec_error *err)
{
    const struct wcodec_entry *own = wcodec_shard_resolve(shard, e);
    uint64_t *taken = &c->taken[shard->first_entry + (uint64_t)(own - shard->index->entries)];
    struct wcodec_source source;
    if (own->newer)
        return wcodec_entry_refuse(own, err);
    wcodec_status status = wcodec_shard_acquire(shard, &source, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t number = output->index.entry_count;
    if (*taken != 0) {
        struct wcodec_entry alias = *e;
        alias.payload_size = alias.payload_hash = 0;
        status = wcodec_output_alias(output, &alias, *taken - 1, err);
    } else {
        status = put_copy(c, output, &source, e, own, err);
        *taken = number + 1;
    }
    if (status == WCODEC_OK && c->tensors != NULL)
        status = hash_decoded(c, output, &source, own, shard->bases, err);
    wcodec_shard_release(shard, &source);
    return status == WCODEC_OK ? wcodec_reporter_add(&c->reporter, e->size, err) : status;
}

/* The header of the new file is its first entry. */
static wcodec_status put_header(const struct copy *c, struct wcodec_output *output,
                                wcodec_error *err)
{
    wcodec_context *context = c->reader->context;
    struct wcodec_entry what = {.size = c->header_size};
    struct wcodec_encode_settings settings;
    struct wcodec_coded coded;
    wcodec_encode_options_settings(c->options, &settings);
    settings.quick = true;
    wcodec_status status = wcodec_output_hash(context, output, c->header, c->header_size, err);
    if (status == WCODEC_OK)
        status = wcodec_code_bytes(context, &settings, false, &what, c->header, &coded, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_coded_hash(context, c->leaf, &coded, &what.payload_hash, err);
    if (status == WCODEC_OK)
        status = wcodec_output_coded(output, &what, &coded, err);
    wcodec_coded_free(&coded);
    return status;
}

static bool same_settings(const struct wcodec_settings *a, const struct wcodec_settings *b)
{
    return a->level == b->level && a->tune == b->tune && a->profile == b->profile &&
           a->tile_log2 == b->tile_log2 && a->predict == b->predict && a->patterns == b->patterns &&
           a->lossy == b->lossy;
}

/* What stands around the entries: of the file, or what the options say. */
static wcodec_status describe(const struct copy *c, struct wcodec_output *output, wcodec_error *err)
{
    const struct wcodec_index *from = c->reader->shards[0].index;
    struct wcodec_index *to = &output->index;
    wcodec_status status = WCODEC_OK;
    if (c->tensors != NULL) {
        status = wcodec_encode_options_note(c->options, output, err);
        to->safetensors = true;
    } else {
        to->safetensors = from->safetensors;
        to->name = from->name;
        to->mode = from->mode;
        to->mtime = from->mtime;
        memcpy(to->hash, from->hash, sizeof to->hash);
        output->hash_known = true;
    }
    to->head.settings = from->head.settings;
    for (uint64_t i = 1; i < c->reader->shard_count; i++)
        if (!same_settings(&from->head.settings, &c->reader->shards[i].index->head.settings))
            to->head.settings = (struct wcodec_settings){.level = 0};
    to->head.size = c->size;
    to->head.index_first = c->options->index_first;
    to->metadata_count = c->tensors != NULL ? c->pair_count : from->metadata_count;
    to->metadata = c->tensors != NULL ? c->pairs : from->metadata;
    return status;
}

static wcodec_status put_entries(struct copy *c, struct wcodec_output *output, wcodec_error *err)
{
    const struct wcodec_shard *shard = &c->reader->shards[0];
    const uint64_t count = c->tensors != NULL ? c->count : shard->index->entry_count;
    wcodec_status status = wcodec_output_reserve(output, count + 1, err);
    memset(c->taken, 0, (size_t)c->reader->entry_count * sizeof *c->taken);
    if (status == WCODEC_OK && c->tensors != NULL)
        status = put_header(c, output, err);
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        const struct wcodec_entry *e =
            c->tensors != NULL ? wcodec_reader_entry_of_tensor(c->reader, c->tensors[i], &shard)
                               : &shard->index->entries[i];
        status = copy_entry(c, output, shard, e, err);
        if (status != WCODEC_OK && status != WCODEC_ERROR_CANCELLED)
            wcodec_shard_prefix(shard, e, err);
    }
    return status;
}

/* The container through `write`, the index after all else. */
static wcodec_status put_container(struct copy *c, wcodec_write_fn write, void *opaque,
                                   struct wcodec_output *output, wcodec_error *err)
{
    wcodec_context *context = c->reader->context;
    wcodec_status status = wcodec_output_init(context, write, NULL, opaque, output, err);
    if (status == WCODEC_OK)
        status = describe(c, output, err);
    if (status == WCODEC_OK)
        status = put_entries(c, output, err);
    return status == WCODEC_OK ? wcodec_output_finish(context, output, err) : status;
}

static int discard(void *opaque, const void *data, size_t size)
{
    (void)opaque, (void)data, (void)size;
    return 0;
}

/* Of a container that has its index at the end, headers and payloads only. */
struct body {
    wcodec_write_fn write;
    void *opaque;
    uint64_t position, end;
};

static int write_body(void *opaque, const void *data, size_t size)
{
    struct body *b = opaque;
    const uint64_t at = b->position, begin = at < WCODEC_HEAD_SIZE ? WCODEC_HEAD_SIZE : at,
                   end = at + size < b->end ? at + size : b->end;
    b->position += size;
    return begin < end
               ? b->write(b->opaque, (const uint8_t *)data + (begin - at), (size_t)(end - begin))
               : 0;
}

/* What is in front of the body, and the tail. */
struct front {
    uint8_t *index;
    size_t index_size;
    uint64_t body_begin, body_size, file_size;
    uint8_t head[WCODEC_HEAD_SIZE], tail[WCODEC_TAIL_SIZE];
};

/* By what a first pass found. */
static wcodec_status make_front(const struct wcodec_output *output, struct front *f,
                                wcodec_error *err)
{
    uint64_t decoded;
    wcodec_status status = wcodec_index_write(&output->index, output->allocator, &f->index,
                                              &f->index_size, &decoded, err);
    if (status != WCODEC_OK)
        return status;
    f->body_begin = wcodec_body_begin(true, f->index_size);
    f->body_size = output->position - WCODEC_HEAD_SIZE - f->index_size - WCODEC_TAIL_SIZE;
    f->file_size = f->body_begin + f->body_size + WCODEC_TAIL_SIZE;
    wcodec_head_write(&output->index.head, f->head);
    wcodec_tail_write(f->head, WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE, f->index, f->index_size,
                      decoded, f->file_size, f->tail);
    return status;
}

static wcodec_status write_front(const struct front *f, wcodec_write_fn write, void *opaque,
                                 wcodec_error *err)
{
    static const uint8_t zeros[256];
    const uint64_t end = WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE + f->index_size;
    int e = write(opaque, f->head, sizeof f->head);
    if (e == 0)
        e = write(opaque, f->tail, sizeof f->tail);
    if (e == 0)
        e = write(opaque, f->index, f->index_size);
    if (e == 0 && f->body_begin > end)
        e = write(opaque, zeros, (size_t)(f->body_begin - end));
    return e == 0 ? WCODEC_OK : wcodec_fail(err, WCODEC_ERROR_IO, "writing: %s", strerror(e));
}

/* The index is known after a first pass, which writes nothing. */
static wcodec_status put_index_first(struct copy *c, wcodec_write_fn write, void *opaque,
                                     struct wcodec_output *output, wcodec_error *err)
{
    struct front f = {.index = NULL};
    wcodec_status status = put_container(c, discard, NULL, output, err);
    if (status == WCODEC_OK)
        status = make_front(output, &f, err);
    wcodec_output_free(output);
    *output = (struct wcodec_output){.allocator = &c->reader->context->allocator};
    if (status == WCODEC_OK)
        status = write_front(&f, write, opaque, err);
    struct body body = {write, opaque, 0, WCODEC_HEAD_SIZE + f.body_size};
    if (status == WCODEC_OK)
        status = put_container(c, write_body, &body, output, err);
    if (status == WCODEC_OK) {
        const int e = write(opaque, f.tail, sizeof f.tail);
        output->position = f.file_size;
        if (e != 0)
            status = wcodec_fail(err, WCODEC_ERROR_IO, "writing: %s", strerror(e));
    }
    wcodec_free(&c->reader->context->allocator, f.index);
    return status;
}

/* Labels and header of the new file. */
static wcodec_status plan_tensors(struct copy *c, wcodec_error *err)
{
    const wcodec_allocator *allocator = &c->reader->context->allocator;
    const struct wcodec_shard *shard;
    c->labels = wcodec_alloc_array(allocator, c->count, sizeof *c->labels);
    if (c->labels == NULL && c->count > 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a header");
    for (uint64_t i = 0; i < c->count; i++) {
        const uint64_t number = c->tensors[i];
        if (number >= c->reader->tensor_count || (i > 0 && number <= c->tensors[i - 1]))
            return wcodec_fail(err, WCODEC_ERROR_USAGE,
                               "tensor number %" PRIu64 ": expected rising numbers below %" PRIu64,
                               number, c->reader->tensor_count);
        const struct wcodec_entry *e = wcodec_reader_entry_of_tensor(c->reader, number, &shard);
        c->labels[i] = *e;
        c->lossy += wcodec_entry_is_lossy(shard->index, e);
        if (!wcodec_add_u64(c->size, c->labels[i].size, &c->size))
            return wcodec_fail(err, WCODEC_ERROR_LIMIT, "too many bytes");
    }
    const struct wcodec_index *first = c->reader->shards[0].index;
    /* Errors are no part of a safetensors file. */
    wcodec_status status =
        wcodec_loss_metadata(allocator, &c->arena, first->metadata, first->metadata_count, NULL, 0,
                             &c->pairs, &c->pair_count, err);
    if (status == WCODEC_OK)
        status = wcodec_write_header(allocator, c->labels, c->count, c->pairs, c->pair_count,
                                     &c->header, &c->header_size, err);
    c->size += c->header_size;
    wcodec_free(allocator, c->pairs);
    c->pairs = NULL;
    if (status != WCODEC_OK)
        return status;
    return wcodec_loss_metadata(allocator, &c->arena, first->metadata, first->metadata_count,
                                c->labels, c->count, &c->pairs, &c->pair_count, err);
}

static wcodec_status plan(struct copy *c, wcodec_error *err)
{
    const wcodec_reader *r = c->reader;
    if (r->shard_count == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no file to copy");
    if (c->tensors == NULL && r->shard_count != 1)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%" PRIu64 " files cannot be copied as one, only tensors of them",
                           r->shard_count);
    for (uint64_t i = 0; i < r->shard_count; i++)
        if (r->shards[i].index->rebuilt)
            return wcodec_fail(err, WCODEC_ERROR_USAGE,
                               "a file without its index cannot be copied");
    c->leaf = wcodec_cpu_leaf(wcodec_cpu_levels() & r->context->cpu_mask);
    c->taken = wcodec_alloc_array(&r->context->allocator, r->entry_count, sizeof *c->taken);
    if (c->taken == NULL && r->entry_count > 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    if (c->tensors != NULL)
        return plan_tensors(c, err);
    c->size = r->shards[0].index->size;
    c->lossy = r->shards[0].index->lossy_count;
    return WCODEC_OK;
}

wcodec_status wcodec_copy(const wcodec_reader *reader, const uint64_t *tensors, size_t count,
                          wcodec_write_fn write, void *opaque, const wcodec_encode_options *options,
                          wcodec_encode_report *report, wcodec_error *err)
{
    wcodec_encode_options own;
    struct wcodec_output output = {.allocator = NULL};
    if (reader == NULL || write == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_copy: an argument is NULL");
    const wcodec_allocator *allocator = &reader->context->allocator;
    wcodec_status status = wcodec_context_usable(reader->context, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_read(options, &own, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_whole(&own, err);
    if (status == WCODEC_OK && own.write_at != NULL)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_copy() writes in order only");
    if (status != WCODEC_OK)
        return status;
    output.allocator = allocator;
    struct copy c = {.reader = reader, .tensors = tensors, .count = count, .options = &own};
    wcodec_arena_init(&c.arena, allocator);
    status = plan(&c, err);
    wcodec_reporter_init(&c.reporter, &own.progress, own.index_first ? 2 * c.size : c.size);
    if (status == WCODEC_OK)
        status = own.index_first ? put_index_first(&c, write, opaque, &output, err)
                                 : put_container(&c, write, opaque, &output, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_end(&c.reporter, err);
    if (status == WCODEC_OK && report != NULL) {
        *report = (wcodec_encode_report){0};
        wcodec_output_report(&output, report);
        report->lossy = c.lossy;
    }
    wcodec_output_free(&output);
    wcodec_free(allocator, c.pairs);
    wcodec_arena_free(&c.arena);
    wcodec_free(allocator, c.labels);
    wcodec_free(allocator, c.header);
    wcodec_free(allocator, c.taken);
    return status;
}
