/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Parts of files, each restored or tested apart, and the hash of all of them. */

#include "read/restore.h"
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/leaf.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>
#include <string.h>

/* The first entry that begins at byte `at` or after it; the last byte of a file is before any end
 * that is beyond it, so that entries of no bytes there belong to the part that goes so far. */
static uint64_t entry_from(const struct wcodec_index *index, uint64_t at)
{
    uint64_t low = 0, high = index->entry_count;
    if (at >= index->size && at != 0)
        return index->entry_count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (index->entries[middle].file_offset < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t offset_of(const struct wcodec_index *index, uint64_t entry)
{
    return entry < index->entry_count ? index->entries[entry].file_offset : index->size;
}

/* Where a payload ends before the entry, or the body begins. */
static uint64_t position_of(const struct wcodec_index *index, uint64_t entry)
{
    while (entry > 0 && index->entries[entry - 1].payload_size == 0)
        entry--;
    return entry > 0 ? wcodec_position_after(&index->entries[entry - 1], 0) : index->body_begin;
}

/* Headers of groups before those of the entry are another part's. */
static uint64_t group_of(const struct wcodec_index *index, uint64_t entry)
{
    uint64_t group = 0;
    while (group < index->group_count && index->groups[group].first < entry)
        group++;
    return group;
}

static void find_entries(const struct wcodec_index *index, const wcodec_decode_options *options,
                         uint64_t *first, uint64_t *end)
{
    const bool all = options->part_end == 0;
    *first = all ? 0 : entry_from(index, options->part_begin);
    *end = all ? index->entry_count : entry_from(index, options->part_end);
}

struct wcodec_source_range wcodec_restore_body(const struct wcodec_index *index,
                                               const wcodec_decode_options *options)
{
    uint64_t first, end;
    find_entries(index, options, &first, &end);
    const uint64_t begin = position_of(index, first),
                   stop = end == index->entry_count ? index->body_stop : position_of(index, end);
    return (struct wcodec_source_range){begin, stop - begin};
}

void wcodec_restore_choose(struct wcodec_restore *r, const wcodec_decode_options *options)
{
    const struct wcodec_index *index = r->shard->index;
    r->is_part = options->part_end != 0;
    r->hashed = r->checks && (!r->is_part || options->write_hashes != NULL);
    find_entries(index, options, &r->entry, &r->end);
    r->offset = r->span.begin = offset_of(index, r->entry);
    r->span.end = offset_of(index, r->end);
    r->position = position_of(index, r->entry);
    r->headers.next = group_of(index, r->entry);
}

/* While they are kept, and as they are given out. */
uint64_t wcodec_restore_span_memory(const struct wcodec_restore *r)
{
    const uint64_t leaves = (r->span.end - r->span.begin) / WCODEC_LEAF_BYTES + 2;
    return r->is_part && r->hashed
               ? 2 * leaves * sizeof(struct wcodec_tree_hash) + 3 * (uint64_t)WCODEC_LEAF_BYTES
               : 0;
}

wcodec_status wcodec_restore_span_begin(struct wcodec_restore *r, wcodec_error *err)
{
    struct wcodec_span_maker *span = &r->span;
    wcodec_status status = wcodec_span_begin(span, &r->hash, &r->context->allocator, err);
    if (status == WCODEC_OK)
        status = wcodec_tree_put(&r->hash, 0, span->front, span->pad, err);
    r->hash_begin = span->begin - span->pad;
    return status;
}

wcodec_status wcodec_restore_span_end(struct wcodec_restore *r,
                                      const wcodec_decode_options *options, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    uint8_t *bytes;
    uint64_t size;
    const wcodec_status status =
        wcodec_span_end(&r->span, &r->hash, r->shard->index->size, allocator, &bytes, &size, err);
    if (status != WCODEC_OK)
        return status;
    const int error = options->write_hashes(options->hashes, bytes, (size_t)size);
    wcodec_free(allocator, bytes);
    return error == 0
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_IO, "writing hashes of a part: %s", strerror(error));
}

wcodec_status wcodec_restore_check_hash(const struct wcodec_index *index, struct wcodec_tree *tree,
                                        wcodec_error *err)
{
    uint8_t hash[sizeof index->hash];
    if (index->rebuilt)
        return WCODEC_OK;
    wcodec_tree_canonical(wcodec_tree_end(tree, index->size), hash);
    if (memcmp(hash, index->hash, sizeof hash) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the hash of the restored file differs");
    return WCODEC_OK;
}

/* One after the other, from byte *at of the original on. */
static wcodec_status put_part(const struct wcodec_index *index, const wcodec_part_hashes *hashes,
                              uint64_t *at, struct wcodec_tree *tree, wcodec_error *err)
{
    struct wcodec_span span;
    if (hashes->reserved[0] != 0 || hashes->reserved[1] != 0 || hashes->data == NULL ||
        !wcodec_span_read(hashes->data, hashes->size, &span))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "these are no hashes of a part, or of another version");
    if (span.file_size != index->size)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "it is of a file of %" PRIu64 " bytes, not of %" PRIu64, span.file_size,
                           index->size);
    if (span.begin != *at)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "it begins at byte %" PRIu64 " of the original, expected %" PRIu64,
                           span.begin, *at);
    *at = span.end;
    return wcodec_span_put(&span, tree, err);
}

wcodec_status wcodec_reader_check_parts(const wcodec_reader *reader, uint64_t file,
                                        const wcodec_part_hashes *parts, size_t count,
                                        wcodec_error *err)
{
    if (reader == NULL || parts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_reader_check_parts: an argument is NULL");
    wcodec_context *context = reader->context;
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_check_number(file, reader->shard_count, "file", err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_index *index = reader->shards[file].index;
    struct wcodec_tree tree;
    uint64_t at = 0;
    status = wcodec_tree_init(&tree, &context->allocator,
                              wcodec_cpu_leaf(wcodec_cpu_levels() & context->cpu_mask), 2, err);
    for (size_t i = 0; i < count && status == WCODEC_OK; i++) {
        status = put_part(index, &parts[i], &at, &tree, err);
        if (status != WCODEC_OK)
            wcodec_error_prefix(err, "part %zu of %zu", i + 1, count);
    }
    if (status == WCODEC_OK && at != index->size)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "a part is missing, from byte %" PRIu64 " of the original on", at);
    if (status == WCODEC_OK)
        status = wcodec_restore_check_hash(index, &tree, err);
    wcodec_tree_free(&tree);
    return status;
}
