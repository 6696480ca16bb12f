/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The index and the headers of groups as bytes (doc/format.md 1.3 and 1.6). */

#include "format/groups.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/encode.h"
#include <xxhash.h>
#include <zstd.h>

enum {
    ZSTD_LEVEL = 3,
    ZSTD_LEVEL_SIZE = 19, /* of files at WCODEC_LEVEL_SIZE and above, for up to SIZE_MOST bytes */
    SIZE_MOST = 1 << 17
};

struct buffer {
    const wcodec_allocator *allocator;
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed; /* memory was short: nothing more is added */
};

/* Memory for `size` more bytes at the end, or NULL. */
static uint8_t *buffer_room(struct buffer *b, size_t size)
{
    if (!b->failed && size > b->capacity - b->size) {
        uint64_t capacity = (uint64_t)b->capacity + b->capacity / 2 + size + 256;
        uint8_t *data = wcodec_realloc_array(b->allocator, b->data, capacity, 1);
        if (data == NULL) {
            b->failed = true;
        } else {
            b->data = data;
            b->capacity = (size_t)capacity;
        }
    }
    return b->failed ? NULL : b->data + b->size;
}

static void put_bytes(struct buffer *b, const void *bytes, size_t size)
{
    uint8_t *at = buffer_room(b, size);
    if (at == NULL || size == 0)
        return;
    memcpy(at, bytes, size);
    b->size += size;
}

static void put_u8(struct buffer *b, uint8_t v)
{
    put_bytes(b, &v, 1);
}

static void put_u64(struct buffer *b, uint64_t v)
{
    uint8_t bytes[8];
    wcodec_store_u64(bytes, v);
    put_bytes(b, bytes, sizeof(bytes));
}

static void put_varint(struct buffer *b, uint64_t v)
{
    uint8_t bytes[10];
    put_bytes(b, bytes, wcodec_put_varint(bytes, v));
}

static void put_string(struct buffer *b, const char *text)
{
    size_t size = strlen(text);
    put_varint(b, size);
    put_bytes(b, text, size);
}

static void put_parameters(struct buffer *b, const struct wcodec_entry *e)
{
    uint8_t tiling[WCODEC_TILING_MAX_BYTES];
    switch (e->coding) {
    case WCODEC_CODING_CONSTANT:
        put_u8(b, e->u.constant.element_log2);
        put_bytes(b, e->u.constant.element, (size_t)1 << e->u.constant.element_log2);
        break;
    case WCODEC_CODING_TILES:
        if (wcodec_entry_is_packed(e))
            put_varint(b, e->unpacked_size);
        if (e->u.tiling != NULL)
            put_bytes(b, tiling, wcodec_tiling_write(e->u.tiling, tiling));
        else
            put_bytes(b, e->parameters, e->parameters_size);
        break;
    case WCODEC_CODING_BLOCKS:
    case WCODEC_CODING_LOSSY:
    case WCODEC_CODING_FIXED:
    case WCODEC_CODING_FRAGMENTS:
    case WCODEC_CODING_RECORDS:
    case WCODEC_CODING_DELTA:
    case WCODEC_CODING_MASKED:
    case WCODEC_CODING_INLINE:
    case WCODEC_CODING_ANCHORED:
        put_bytes(b, e->parameters, e->parameters_size);
        break;
    case WCODEC_CODING_CHUNKS:
        put_varint(b, e->u.chunk);
        break;
    default:
        put_varint(b, e->u.alias);
        break;
    }
}

/* Type, label and size. */
static void put_description(struct buffer *b, const struct wcodec_entry *e)
{
    put_u8(b, e->is_tensor);
    if (e->is_tensor) {
        put_string(b, e->name);
        put_u8(b, e->dtype);
        if (e->dtype == WCODEC_DTYPE_OTHER)
            put_string(b, e->dtype_name);
        put_varint(b, e->rank);
        for (unsigned i = 0; i < e->rank; i++)
            put_varint(b, e->shape[i]);
    }
    if (!wcodec_entry_implies_size(e))
        put_varint(b, e->size);
}

static void put_record(struct buffer *b, const struct wcodec_entry *e)
{
    put_description(b, e);
    put_varint(b, e->order0_bits);
    put_u8(b, wcodec_entry_coding(e));
    put_varint(b, e->payload_size);
    put_u64(b, e->payload_hash);
    put_parameters(b, e);
}

static void put_index(struct buffer *b, struct buffer *record, const struct wcodec_index *index)
{
    put_u8(b, index->safetensors);
    put_string(b, index->name != NULL ? index->name : "");
    put_varint(b, index->size);
    /* Canonical order has the most significant byte first. */
    for (unsigned i = 0; i < 16; i++)
        put_u8(b, index->hash[15 - i]);
    put_varint(b, index->mode);
    put_varint(b, index->mtime < 0 ? 0 : (uint64_t)index->mtime + 1);
    put_varint(b, index->metadata_count);
    for (uint64_t i = 0; i < 2 * index->metadata_count; i++)
        put_string(b, index->metadata[i]);
    put_varint(b, index->group_count);
    for (uint64_t i = 0; i < index->group_count; i++) {
        put_varint(b, index->groups[i].count);
        put_varint(b, index->groups[i].header_size);
    }
    put_varint(b, index->entry_count);
    for (uint64_t i = 0; i < index->entry_count; i++) {
        record->size = 0;
        put_record(record, &index->entries[i]);
        put_varint(b, record->size);
        put_bytes(b, record->data, record->size);
    }
}

/* A zstd frame's header that declares the content's size (RFC 8878, 3.1.1.1): single segment, 8
 * bytes of it, no checksum. */
static void put_frame_header(struct buffer *b, uint64_t size)
{
    static const uint8_t header[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0};
    put_bytes(b, header, sizeof(header));
    put_u64(b, size);
}

/* Blocks of that frame which are not compressed and not the last. */
static void put_raw_blocks(struct buffer *b, const uint8_t *data, size_t size)
{
    for (size_t at = 0, block; at < size; at += block) {
        uint8_t header[3];
        block = size - at < ZSTD_BLOCKSIZE_MAX ? size - at : ZSTD_BLOCKSIZE_MAX;
        wcodec_store_uint(header, block << 3, sizeof(header));
        put_bytes(b, header, sizeof(header));
        put_bytes(b, data + at, block);
    }
}

/* Where the blocks of a frame begin that ZSTD_compress() has made: of more than 64 KiB, so that its
 * header declares the size by 4 or 8 bytes, and names no dictionary. */
static size_t blocks_begin(const uint8_t *frame)
{
    const unsigned descriptor = frame[4], single = descriptor >> 5 & 1;
    return (single ? 5U : 6U) + ((descriptor >> 6) == 3 ? 8U : 4U);
}

static int zstd_level(const struct wcodec_index *index, size_t size)
{
    return index->head.settings.level >= WCODEC_LEVEL_SIZE && size <= SIZE_MOST ? ZSTD_LEVEL_SIZE
                                                                                : ZSTD_LEVEL;
}

static wcodec_status compress(struct buffer *b, const uint8_t *data, size_t size, int level,
                              size_t *coded, wcodec_error *err)
{
    uint8_t *at = buffer_room(b, ZSTD_compressBound(size));
    if (at == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for an index of %zu bytes",
                           size);
    *coded = ZSTD_compress(at, ZSTD_compressBound(size), data, size, level);
    if (ZSTD_isError(*coded))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "compressing the index: %s",
                           ZSTD_getErrorName(*coded));
    return WCODEC_OK;
}

/* Bytes that a coded index must have at least, so that readers do not take it for a bomb: of so
 * many decoded bytes, and of so many entries. */
static size_t coded_least(size_t size, uint64_t entries)
{
    const size_t free_bytes = (size_t)wcodec_index_decoded_max(0);
    const uint64_t free_entries = wcodec_index_entries_max(0);
    const size_t by_size = size > free_bytes ? (size - free_bytes) / 256 + 1 : 0,
                 by_entries = entries > free_entries ? (size_t)(entries - free_entries) : 0;
    return by_size > by_entries ? by_size : by_entries;
}

/* An index that shrinks so much that readers would take it for a bomb is not compressed at its
 * beginning: raw blocks stand before those of a frame of all the rest, which know of nothing before
 * them. */
static wcodec_status put_frame(struct buffer *b, const uint8_t *data, size_t size, uint64_t entries,
                               int level, wcodec_error *err)
{
    const size_t raw = coded_least(size, entries);
    size_t coded;
    wcodec_status status = compress(b, data, size, level, &coded, err);
    if (status != WCODEC_OK)
        return status;
    if (coded < raw) {
        struct buffer rest = {.allocator = b->allocator};
        status = compress(&rest, data + raw, size - raw, level, &coded, err);
        if (status == WCODEC_OK) {
            const size_t begin = blocks_begin(rest.data);
            put_frame_header(b, size);
            put_raw_blocks(b, data, raw);
            put_bytes(b, rest.data + begin, coded - begin);
        }
        wcodec_free(b->allocator, rest.data);
    } else {
        b->size += coded;
    }
    if (status == WCODEC_OK && b->failed)
        status =
            wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for an index of %zu bytes", size);
    return status;
}

wcodec_status wcodec_index_write(const struct wcodec_index *index,
                                 const wcodec_allocator *allocator, uint8_t **bytes, size_t *size,
                                 uint64_t *decoded_size, wcodec_error *err)
{
    struct buffer decoded = {.allocator = allocator}, record = {.allocator = allocator},
                  coded = {.allocator = allocator};
    put_index(&decoded, &record, index);
    wcodec_status status = WCODEC_OK;
    if (decoded.failed || record.failed)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the index");
    if (status == WCODEC_OK)
        status = put_frame(&coded, decoded.data, decoded.size, index->entry_count,
                           zstd_level(index, decoded.size), err);
    if (status == WCODEC_OK) {
        *bytes = coded.data;
        *size = coded.size;
        *decoded_size = decoded.size;
    } else {
        wcodec_free(allocator, coded.data);
    }
    wcodec_free(allocator, record.data);
    wcodec_free(allocator, decoded.data);
    return status;
}

/* What a header holds: of each entry what cannot be had otherwise when its payload is found. */
static void put_body(struct buffer *b, struct buffer *record, const struct wcodec_index *index,
                     uint64_t first, uint64_t count)
{
    put_varint(b, first);
    put_varint(b, count);
    for (uint64_t i = first; i < first + count; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        record->size = 0;
        put_varint(record, e->payload_size);
        put_description(record, e);
        put_u8(record, wcodec_entry_coding(e));
        if (e->coding != WCODEC_CODING_INLINE)
            put_parameters(record, e);
        put_varint(b, record->size);
        put_bytes(b, record->data, record->size);
    }
}

/* A single entry has nothing that zstd could use. */
static void put_header(struct buffer *b, const struct buffer *body, uint64_t count, int level)
{
    static const uint8_t front[WCODEC_GROUP_MIN];
    put_bytes(b, front, sizeof(front));
    uint8_t *at = count > 1 ? buffer_room(b, ZSTD_compressBound(body->size)) : NULL;
    size_t coded = body->size;
    if (at != NULL)
        coded = ZSTD_compress(at, ZSTD_compressBound(body->size), body->data, body->size, level);
    const bool packed = at != NULL && !ZSTD_isError(coded) && coded < body->size &&
                        body->size <= wcodec_group_decoded_max(coded);
    if (packed)
        b->size += coded;
    else
        put_bytes(b, body->data, body->size);
    if (b->failed)
        return;
    wcodec_store_u32(b->data + 8, (uint32_t)b->size | (packed ? WCODEC_GROUP_PACKED : 0));
    wcodec_store_u64(b->data, XXH3_64bits(b->data + 8, b->size - 8));
}

wcodec_status wcodec_group_write(const struct wcodec_index *index, uint64_t first, uint64_t count,
                                 const wcodec_allocator *allocator, uint8_t **header, size_t *size,
                                 wcodec_error *err)
{
    struct buffer body = {.allocator = allocator}, record = {.allocator = allocator},
                  whole = {.allocator = allocator};
    put_body(&body, &record, index, first, count);
    if (!body.failed && !record.failed)
        put_header(&whole, &body, count, zstd_level(index, body.size));
    const bool failed = body.failed || record.failed || whole.failed;
    wcodec_free(allocator, record.data);
    wcodec_free(allocator, body.data);
    if (failed || whole.size > WCODEC_GROUP_MAX) {
        wcodec_free(allocator, whole.data);
        return failed ? wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a header")
                      : wcodec_fail(err, WCODEC_ERROR_LIMIT, "names of more than 1 GiB together");
    }
    *header = whole.data;
    *size = whole.size;
    return WCODEC_OK;
}
