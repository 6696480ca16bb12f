/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reading the index (doc/format.md 1.3): what stands around its records. */

#include "format/index_parser.h"
#include "format/groups.h"
#include "format/loss.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/source.h"
#include <inttypes.h>
#include <xxhash.h>
#include <zstd.h>

enum {
    RECORD_MIN = 14,  /* length, type, size (or name, dtype and rank), order0, coding, payload size,
                         8 of payload hash */
    METADATA_MIN = 2, /* two empty strings */
    GROUP_ENTRY_MIN = 2
};

static wcodec_status read_metadata(struct wcodec_parser *p)
{
    struct wcodec_index *index = p->index;
    uint64_t count;
    if (!wcodec_take_varint(&p->cursor, &count))
        return wcodec_parser_cut_short(p, "number of metadata pairs");
    if (count > wcodec_cursor_left(&p->cursor) / METADATA_MIN)
        return FAIL(p,
                    "%" PRIu64
                    " metadata pairs do not fit into the %zu bytes that are left of the index",
                    count, wcodec_cursor_left(&p->cursor));
    if (count > p->limits->max_tensors)
        return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " metadata pairs, the limit is %" PRIu64, count,
                           p->limits->max_tensors);
    if (count == 0)
        return WCODEC_OK;
    void *memory;
    wcodec_status status = wcodec_parser_take(p, count, 2 * sizeof(*index->metadata), &memory);
    if (status != WCODEC_OK)
        return status;
    index->metadata = memory;
    struct wcodec_names keys;
    status = wcodec_parser_names(p, count, "metadata pairs", &keys);
    if (status != WCODEC_OK)
        return status;
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        uint64_t number = i;
        status = wcodec_parser_string(p, &p->cursor, "metadata key", &index->metadata[2 * i]);
        if (status == WCODEC_OK)
            status =
                wcodec_parser_string(p, &p->cursor, "metadata value", &index->metadata[2 * i + 1]);
        if (status == WCODEC_OK && !wcodec_names_add(&keys, index->metadata[2 * i], &number))
            status = FAIL(p, "metadata key '%s' is there twice", index->metadata[2 * i]);
    }
    wcodec_names_free(&keys);
    p->held -= wcodec_names_memory(count);
    index->metadata_count = count;
    return status;
}

/* What stands before the entries. */
static wcodec_status read_preamble(struct wcodec_parser *p)
{
    struct wcodec_index *index = p->index;
    struct wcodec_cursor *c = &p->cursor;
    uint8_t kind;
    if (!wcodec_take_u8(c, &kind))
        return wcodec_parser_cut_short(p, "kind of the original");
    if (kind > 1)
        return wcodec_fail(p->err, WCODEC_ERROR_NEWER,
                           "made by a newer version: original of kind %u", kind);
    index->safetensors = kind == 1;
    const char *name;
    wcodec_status status = wcodec_parser_string(p, c, "name of the original", &name);
    if (status != WCODEC_OK)
        return status;
    index->name = name;
    const uint8_t *hash;
    uint64_t mode, mtime;
    if (!wcodec_take_varint(c, &index->size) || !wcodec_take_bytes(c, 16, &hash) ||
        !wcodec_take_varint(c, &mode) || !wcodec_take_varint(c, &mtime))
        return wcodec_parser_cut_short(p, "size, hash, mode and time of the original");
    if (mode > 07777)
        return FAIL(p, "mode 0%" PRIo64 " is more than permission bits", mode);
    if (mtime > (uint64_t)INT64_MAX + 1)
        return FAIL(p, "modification time %" PRIu64 " is out of range", mtime);
    for (unsigned i = 0; i < 16; i++)
        index->hash[i] = hash[15 - i];
    index->mode = (uint32_t)mode;
    index->mtime = mtime == 0 ? -1 : (int64_t)(mtime - 1);
    return read_metadata(p);
}

/* How many entries each header stands for, and its size. */
static wcodec_status read_groups(struct wcodec_parser *p)
{
    struct wcodec_index *index = p->index;
    uint64_t count, first = 0;
    if (!wcodec_take_varint(&p->cursor, &count))
        return wcodec_parser_cut_short(p, "number of groups");
    if (count > wcodec_cursor_left(&p->cursor) / GROUP_ENTRY_MIN)
        return FAIL(p,
                    "%" PRIu64 " groups do not fit into the %zu bytes that are left of the index",
                    count, wcodec_cursor_left(&p->cursor));
    if (count == 0)
        return WCODEC_OK;
    void *memory;
    wcodec_status status = wcodec_parser_take(p, count, sizeof(*index->groups), &memory);
    if (status != WCODEC_OK)
        return status;
    index->groups = memory;
    for (; index->group_count < count; index->group_count++) {
        struct wcodec_group g = {.first = first};
        if (!wcodec_take_varint(&p->cursor, &g.count) ||
            !wcodec_take_varint(&p->cursor, &g.header_size))
            return wcodec_parser_cut_short(p, "group");
        if (g.count == 0 || !wcodec_add_u64(first, g.count, &first))
            return FAIL(p, "group %" PRIu64 " of %" PRIu64 " entries", index->group_count, g.count);
        if (g.header_size <= WCODEC_GROUP_MIN || g.header_size > WCODEC_GROUP_MAX)
            return FAIL(p, "group %" PRIu64 " has a header of %" PRIu64 " bytes",
                        index->group_count, g.header_size);
        index->groups[index->group_count] = g;
    }
    return WCODEC_OK;
}

/* Where header or payload lies follows from those before; it must end before what follows all of
 * them. */
static wcodec_status place(struct wcodec_parser *p, const char *what, uint64_t alignment,
                           uint64_t size, uint64_t *offset)
{
    const uint64_t begin = wcodec_align_u64(p->payload_end, alignment), stop = p->index->body_stop;
    if (begin > stop || size > stop - begin)
        return FAIL(p,
                    "%s of %" PRIu64 " bytes at byte %" PRIu64
                    " reaches into the index or tail at byte %" PRIu64,
                    what, size, begin, stop);
    *offset = begin;
    p->payload_end = begin + size;
    return WCODEC_OK;
}

static wcodec_status begin_group(struct wcodec_parser *p, uint64_t number)
{
    if (p->group == p->index->group_count)
        return FAIL(p, "it is in no group");
    struct wcodec_group *g = &p->index->groups[p->group];
    g->gap_offset = p->payload_end;
    wcodec_status status = place(p, "header", 16, g->header_size, &g->offset);
    p->header_end = p->payload_end;
    p->group_left = g->count;
    p->body_size = 0;
    if (status == WCODEC_OK)
        status = wcodec_parser_put_varint(p, number);
    return status == WCODEC_OK ? wcodec_parser_put_varint(p, g->count) : status;
}

static void end_group(struct wcodec_parser *p)
{
    struct wcodec_group *g = &p->index->groups[p->group++];
    g->body_size = p->body_size;
    g->body_hash = XXH3_64bits(p->body, p->body_size);
}

wcodec_status wcodec_parser_add(struct wcodec_parser *p, uint64_t number)
{
    struct wcodec_index *index = p->index;
    struct wcodec_entry *e = &index->entries[number];
    e->file_offset = p->file_offset;
    if (!wcodec_add_u64(p->file_offset, e->size, &p->file_offset) || p->file_offset > index->size)
        return FAIL(p, "it reaches past the end of the original (%" PRIu64 " bytes)", index->size);
    if (e->is_tensor) {
        uint64_t other = index->tensor_count;
        if (index->tensor_count == p->limits->max_tensors)
            return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                               "more tensors than the limit of %" PRIu64, p->limits->max_tensors);
        if (!wcodec_names_add(&index->names, e->name, &other))
            return FAIL(p, "there are two tensors of that name");
        index->tensors[index->tensor_count++] = number;
        index->lossy_count += wcodec_entry_is_lossy(index, e);
    }
    return WCODEC_OK;
}

static wcodec_status read_entry(struct wcodec_parser *p, uint64_t number)
{
    struct wcodec_index *index = p->index;
    struct wcodec_entry *e = &index->entries[number];
    memset(e, 0, sizeof(*e));
    uint64_t length;
    const uint8_t *record;
    if (!wcodec_take_varint(&p->cursor, &length) || !wcodec_take_bytes(&p->cursor, length, &record))
        return wcodec_parser_cut_short(p, "record");
    struct wcodec_cursor c = {record, record + length};
    wcodec_status status = WCODEC_OK;
    if (index->group_count > 0 && p->group_left == 0)
        status = begin_group(p, number);
    if (status == WCODEC_OK)
        status = wcodec_parser_record(p, &c, e);
    if (status == WCODEC_OK && e->payload_size > 0)
        status =
            place(p, "payload", wcodec_payload_alignment(e->payload_size, wcodec_entry_coding(e)),
                  e->payload_size, &e->payload_offset);
    if (status != WCODEC_OK)
        return status;
    e->gap_offset = p->header_end;
    if (index->group_count > 0 && --p->group_left == 0)
        end_group(p);
    return wcodec_parser_add(p, number);
}

wcodec_status wcodec_parser_entries(struct wcodec_parser *p, uint64_t count)
{
    struct wcodec_index *index = p->index;
    void *memory;
    wcodec_status status = wcodec_parser_take(p, count, sizeof(*index->entries), &memory);
    if (status != WCODEC_OK)
        return status;
    index->entries = memory;
    status = wcodec_parser_take(p, count, sizeof(*index->tensors), &memory);
    if (status != WCODEC_OK)
        return status;
    index->tensors = memory;
    return wcodec_parser_names(p, count, "entries", &index->names);
}

void wcodec_parser_prefix(struct wcodec_parser *p, const struct wcodec_entry *e, uint64_t number)
{
    if (e->name != NULL)
        wcodec_error_prefix(p->err, "tensor '%s'", e->name);
    wcodec_error_prefix(p->err, "index entry %" PRIu64, number);
}

/* What must be so after the last entry. */
static wcodec_status check_end(struct wcodec_parser *p)
{
    struct wcodec_index *index = p->index;
    if (p->cursor.at != p->cursor.end)
        return FAIL(p, "%zu bytes are left over at the end of the index",
                    wcodec_cursor_left(&p->cursor));
    if (p->file_offset != index->size)
        return FAIL(p, "the entries make %" PRIu64 " bytes, the original has %" PRIu64,
                    p->file_offset, index->size);
    if (index->head.size != UINT64_MAX && index->head.size != index->size)
        return FAIL(p, "the original has %" PRIu64 " bytes, the head says %" PRIu64, index->size,
                    index->head.size);
    if (p->group_left != 0 || p->group != index->group_count)
        return FAIL(p, "groups of more entries than there are");
    if (wcodec_align_u64(p->payload_end, 16) != index->body_stop)
        return FAIL(p, "the payloads end at byte %" PRIu64 ", the %s begins at byte %" PRIu64,
                    p->payload_end, index->head.index_first ? "tail" : "index", index->body_stop);
    index->body_end = p->payload_end;
    return WCODEC_OK;
}

static wcodec_status read_entries(struct wcodec_parser *p)
{
    struct wcodec_index *index = p->index;
    uint64_t count;
    if (!wcodec_take_varint(&p->cursor, &count))
        return wcodec_parser_cut_short(p, "number of entries");
    if (count > wcodec_cursor_left(&p->cursor) / RECORD_MIN)
        return FAIL(p,
                    "%" PRIu64 " entries do not fit into the %zu bytes that are left of the index",
                    count, wcodec_cursor_left(&p->cursor));
    if (count > p->entries_max)
        return FAIL(p, "%" PRIu64 " entries in a coded index in which at most %" PRIu64 " may be",
                    count, p->entries_max);
    /* A safetensors file has one blob beside its tensors. */
    if (count > p->limits->max_tensors && count - 1 > p->limits->max_tensors)
        return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " entries, the limit is %" PRIu64 " tensors", count,
                           p->limits->max_tensors);
    wcodec_status status = wcodec_parser_entries(p, count);
    if (status != WCODEC_OK)
        return status;
    for (; index->entry_count < count; index->entry_count++) {
        status = read_entry(p, index->entry_count);
        if (status != WCODEC_OK) {
            wcodec_parser_prefix(p, &index->entries[index->entry_count], index->entry_count);
            return status;
        }
    }
    return check_end(p);
}

/* One zstd frame of exactly the declared size. */
static wcodec_status decompress(struct wcodec_parser *p, const uint8_t *coded, size_t coded_size,
                                uint8_t *decoded, size_t decoded_size)
{
    if (coded_size < 4 || wcodec_load_u32(coded) != ZSTD_MAGICNUMBER ||
        ZSTD_findFrameCompressedSize(coded, coded_size) != coded_size)
        return FAIL(p, "the index is not one zstd frame");
    unsigned long long content = ZSTD_getFrameContentSize(coded, coded_size);
    if (content == ZSTD_CONTENTSIZE_ERROR ||
        (content != ZSTD_CONTENTSIZE_UNKNOWN && content != decoded_size))
        return FAIL(p, "the index's frame has not the size that the tail says (%zu bytes)",
                    decoded_size);
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (zstd == NULL)
        return wcodec_fail(p->err, WCODEC_ERROR_MEMORY, "out of memory for zstd");
    size_t got = ZSTD_decompressDCtx(zstd, decoded, decoded_size, coded, coded_size);
    ZSTD_freeDCtx(zstd);
    if (ZSTD_isError(got))
        return FAIL(p, "decompressing the index: %s", ZSTD_getErrorName(got));
    if (got != decoded_size)
        return FAIL(p, "the index decodes to %zu bytes, the tail says %zu", got, decoded_size);
    return WCODEC_OK;
}

/* Coded bytes of the index, verified. */
static wcodec_status load_coded(struct wcodec_parser *p, const struct wcodec_source *source,
                                const struct wcodec_framing *framing, uint8_t **coded)
{
    void *bytes;
    wcodec_status status = wcodec_parser_take(p, framing->index_size, 1, &bytes);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_source_read(source, framing->index_offset, bytes, (size_t)framing->index_size,
                                p->err);
    if (status == WCODEC_OK &&
        XXH3_64bits(bytes, (size_t)framing->index_size) != framing->index_hash)
        status = FAIL(p, "the index's checksum differs");
    if (status == WCODEC_OK)
        *coded = bytes;
    else
        wcodec_free(p->allocator, bytes);
    return status;
}

static wcodec_status load_decoded(struct wcodec_parser *p, const struct wcodec_source *source,
                                  const struct wcodec_framing *framing, uint8_t **decoded)
{
    if (framing->index_decoded_size > p->limits->max_index_bytes)
        return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                           "index of %" PRIu64 " bytes, the limit is %" PRIu64,
                           framing->index_decoded_size, p->limits->max_index_bytes);
    uint8_t *coded;
    wcodec_status status = load_coded(p, source, framing, &coded);
    if (status != WCODEC_OK)
        return status;
    void *bytes;
    status = wcodec_parser_take(p, framing->index_decoded_size, 1, &bytes);
    if (status == WCODEC_OK) {
        status = decompress(p, coded, (size_t)framing->index_size, bytes,
                            (size_t)framing->index_decoded_size);
        if (status == WCODEC_OK)
            *decoded = bytes;
        else
            wcodec_free(p->allocator, bytes);
    }
    wcodec_free(p->allocator, coded);
    p->held -= framing->index_size;
    return status;
}

static wcodec_status read_decoded(struct wcodec_parser *p)
{
    wcodec_status status = read_preamble(p);
    if (status == WCODEC_OK)
        status = read_groups(p);
    return status == WCODEC_OK ? read_entries(p) : status;
}

wcodec_status wcodec_parser_begin(struct wcodec_parser *p, const struct wcodec_head *head,
                                  uint64_t body_begin, uint64_t file_size)
{
    struct wcodec_index *made = wcodec_alloc_zeroed(p->allocator, sizeof(*made));
    if (made == NULL)
        return wcodec_fail(p->err, WCODEC_ERROR_MEMORY, "out of memory for the index");
    made->allocator = p->allocator;
    wcodec_arena_init(&made->arena, p->allocator);
    made->head = *head;
    made->body_begin = body_begin;
    made->file_size = file_size;
    p->index = made;
    return WCODEC_OK;
}

wcodec_status wcodec_index_read(const struct wcodec_source *source,
                                const wcodec_allocator *allocator, const wcodec_limits *limits,
                                struct wcodec_index **index, wcodec_error *err)
{
    struct wcodec_framing framing;
    wcodec_status status = wcodec_framing_read(source, &framing, err);
    struct wcodec_parser p = {
        .allocator = allocator, .limits = limits, .err = err, .payload_end = framing.body_begin};
    uint8_t *decoded = NULL;
    if (status == WCODEC_OK)
        status = wcodec_parser_begin(&p, &framing.head, framing.body_begin, source->size);
    if (status != WCODEC_OK)
        return status;
    p.index->body_stop = framing.body_stop;
    p.entries_max = wcodec_index_entries_max(framing.index_size);
    status = load_decoded(&p, source, &framing, &decoded);
    if (status == WCODEC_OK) {
        p.cursor = (struct wcodec_cursor){decoded, decoded + framing.index_decoded_size};
        status = read_decoded(&p);
        wcodec_free(allocator, decoded);
    }
    wcodec_free(allocator, p.body);
    if (status == WCODEC_OK)
        wcodec_loss_attach(p.index);
    if (status == WCODEC_OK)
        *index = p.index;
    else
        wcodec_index_free(p.index);
    return status;
}

void wcodec_index_free(struct wcodec_index *index)
{
    if (index == NULL)
        return;
    wcodec_arena_free(&index->arena);
    wcodec_names_free(&index->names);
    wcodec_free(index->allocator, index->metadata);
    wcodec_free(index->allocator, index->groups);
    wcodec_free(index->allocator, index->tensors);
    wcodec_free(index->allocator, index->entries);
    wcodec_free(index->allocator, index);
}
