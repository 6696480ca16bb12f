/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A container compressed anew: its original is decoded as it is read, and stands nowhere as a
 * whole. */

#include "recode/recode.h"
#include "read/decode.h"
#include "write/encode_options.h"
#include "write/tables.h"
#include "format/loss.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <wcodec/writer.h>

/* The entry that was read last, decoded: others are read after it, or a piece of it by another
 * thread. */
struct original {
    wcodec_context *context;
    const struct wcodec_shard *shard;
    struct wcodec_source source; /* of the container */
    pthread_mutex_t lock;
    uint64_t number; /* UINT64_MAX: none */
    uint8_t *bytes;
    uint64_t capacity;
};

/* The last entry that begins at or before `offset`, which is within the original: one that has
 * bytes, since those that have none begin where the next one does. */
static uint64_t find_entry(const struct wcodec_index *index, uint64_t offset)
{
    uint64_t low = 0, high = index->entry_count;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (index->entries[middle].file_offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static wcodec_status reserve(struct original *o, uint64_t size, wcodec_error *err)
{
    const wcodec_allocator *allocator = &o->context->allocator;
    if (size <= o->capacity)
        return WCODEC_OK;
    wcodec_free(allocator, o->bytes);
    o->capacity = 0;
    o->bytes = wcodec_alloc_array(allocator, size, 1);
    if (o->bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes", size);
    o->capacity = size;
    return WCODEC_OK;
}

static wcodec_status decode_entry(struct original *o, uint64_t number, wcodec_error *err)
{
    const struct wcodec_entry *e = &o->shard->index->entries[number];
    struct wcodec_reporter silent = {0};
    struct wcodec_decoder decoder;
    const struct wcodec_decoder_input input = {.context = o->context,
                                               .source = &o->source,
                                               .entry = wcodec_shard_resolve(o->shard, e),
                                               .bases = o->shard->bases,
                                               .verify = true,
                                               .whole = true};
    o->number = UINT64_MAX;
    wcodec_status status = WCODEC_OK;
    if (e->is_tensor && e->size > o->context->limits.max_tensor_bytes)
        status = wcodec_fail(err, WCODEC_ERROR_LIMIT,
                             "%" PRIu64 " bytes are more than the limit of %" PRIu64, e->size,
                             o->context->limits.max_tensor_bytes);
    if (status == WCODEC_OK)
        status = reserve(o, e->size, err);
    if (status == WCODEC_OK)
        status = wcodec_decoder_open(&input, &decoder, err);
    if (status == WCODEC_OK) {
        status = wcodec_decoder_range(&decoder, 0, e->size, o->bytes, &silent, err);
        wcodec_decoder_close(&decoder);
    }
    if (status == WCODEC_OK)
        o->number = number;
    else
        wcodec_shard_prefix(o->shard, e, err);
    return status;
}

static wcodec_status read_original(void *opaque, uint64_t offset, void *dst, size_t size,
                                   wcodec_error *err)
{
    struct original *o = opaque;
    const struct wcodec_index *index = o->shard->index;
    uint8_t *to = dst;
    wcodec_status status = WCODEC_OK;
    pthread_mutex_lock(&o->lock);
    while (size > 0 && status == WCODEC_OK) {
        const uint64_t number = find_entry(index, offset);
        const struct wcodec_entry *e = &index->entries[number];
        const uint64_t at = offset - e->file_offset, left = e->size - at;
        const size_t part = left < size ? (size_t)left : size;
        if (number != o->number)
            status = decode_entry(o, number, err);
        if (status == WCODEC_OK)
            memcpy(to, o->bytes + at, part);
        to += part;
        offset += part;
        size -= part;
    }
    pthread_mutex_unlock(&o->lock);
    return status;
}

static wcodec_status check(const wcodec_reader *reader, uint64_t file, wcodec_error *err)
{
    if (file >= reader->shard_count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "there is no file number %" PRIu64 ", there are %" PRIu64, file,
                           reader->shard_count);
    const struct wcodec_index *index = reader->shards[file].index;
    if (index->rebuilt)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "a file without its index cannot be compressed anew");
    for (uint64_t i = 0; i < index->entry_count; i++)
        if (index->entries[i].newer) {
            const wcodec_status status = wcodec_entry_refuse(&index->entries[i], err);
            wcodec_shard_prefix(&reader->shards[file], &index->entries[i], err);
            return status;
        }
    return WCODEC_OK;
}

/* Approximated tensors stay so, and what they have lost is to be known of the new file too. Loss
 * upon loss would have an error that nobody can state. */
static wcodec_status list_lossy(const wcodec_reader *reader, uint64_t file,
                                const wcodec_encode_options *options, struct wcodec_arena *arena,
                                struct wcodec_entry *lossy, uint64_t *count, wcodec_error *err)
{
    const struct wcodec_shard *shard = &reader->shards[file];
    const struct wcodec_index *index = shard->index;
    for (uint64_t i = 0; i < index->tensor_count; i++) {
        const struct wcodec_entry *e = &index->entries[index->tensors[i]];
        struct wcodec_loss loss;
        if (!wcodec_loss_of(index, e, &loss))
            continue;
        if ((options->lossy != WCODEC_LOSSY_NONE &&
             wcodec_encode_options_weights(options, e->name)) ||
            wcodec_tables_has(options, e)) {
            wcodec_fail(err, WCODEC_ERROR_USAGE,
                        "it is approximated already, with errors up to %.4g: loss upon loss could "
                        "not be stated; code the original with loss, or exclude this tensor",
                        loss.largest_error);
            wcodec_shard_prefix(shard, e, err);
            return WCODEC_ERROR_USAGE;
        }
        lossy[*count] = *e;
        lossy[*count].loss = wcodec_loss_text(arena, &loss);
        if (lossy[(*count)++].loss == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the record of loss");
    }
    return WCODEC_OK;
}

static wcodec_status compress_original(struct original *o, const struct wcodec_entry *lossy,
                                       uint64_t lossy_count,
                                       const struct wcodec_write_supply *supply,
                                       wcodec_write_fn write, void *opaque,
                                       const wcodec_encode_options *options,
                                       wcodec_encode_report *report, wcodec_error *err)
{
    const struct wcodec_index *index = o->shard->index;
    struct wcodec_source source;
    const struct wcodec_compress_input input = {.source = &source,
                                                .fd = -1,
                                                .lossy = lossy,
                                                .lossy_count = lossy_count,
                                                .index = index,
                                                .supply = supply};
    wcodec_status status = wcodec_shard_acquire(o->shard, &o->source, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_source_function(read_original, o, index->size, &source);
    status = wcodec_compress_source(o->context, &input, write, opaque, options, report, err);
    wcodec_shard_release(o->shard, &o->source);
    /* What was decoded, as far as it stayed exact, is what the file was made of. */
    if (status == WCODEC_OK && report->lossy == 0 && options->part_end == 0 &&
        memcmp(report->xxh128, index->hash, sizeof report->xxh128) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the hash of the original differs");
    if (status == WCODEC_OK)
        report->lossy += lossy_count;
    return status;
}

wcodec_status wcodec_recompress_supplied(const wcodec_reader *reader, uint64_t file,
                                         const struct wcodec_write_supply *supply,
                                         wcodec_write_fn write, void *opaque,
                                         const wcodec_encode_options *options,
                                         wcodec_encode_report *report, wcodec_error *err)
{
    wcodec_encode_options given;
    wcodec_status status = wcodec_context_usable(reader->context, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_read(options, &given, err);
    if (status == WCODEC_OK)
        status = check(reader, file, err);
    if (status != WCODEC_OK)
        return status;
    struct original o = {
        .context = reader->context, .shard = &reader->shards[file], .number = UINT64_MAX};
    const wcodec_allocator *allocator = &reader->context->allocator;
    struct wcodec_arena arena;
    struct wcodec_entry *lossy = NULL;
    uint64_t lossy_count = 0;
    wcodec_encode_report own;
    if (pthread_mutex_init(&o.lock, NULL) != 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    wcodec_arena_init(&arena, allocator);
    if (o.shard->index->lossy_count > 0) {
        lossy = wcodec_alloc_array(allocator, o.shard->index->lossy_count, sizeof *lossy);
        status = lossy != NULL
                     ? list_lossy(reader, file, &given, &arena, lossy, &lossy_count, err)
                     : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a file's tensors");
    }
    if (status == WCODEC_OK)
        status =
            compress_original(&o, lossy, lossy_count, supply, write, opaque, &given, &own, err);
    wcodec_free(allocator, lossy);
    wcodec_arena_free(&arena);
    wcodec_free(allocator, o.bytes);
    pthread_mutex_destroy(&o.lock);
    if (status == WCODEC_OK && report != NULL)
        *report = own;
    return status;
}

wcodec_status wcodec_recompress(const wcodec_reader *reader, uint64_t file, wcodec_write_fn write,
                                void *opaque, const wcodec_encode_options *options,
                                wcodec_encode_report *report, wcodec_error *err)
{
    if (reader == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_recompress: an argument is NULL");
    return wcodec_recompress_supplied(reader, file, NULL, write, opaque, options, report, err);
}
