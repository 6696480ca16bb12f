/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The object, and the three files that the published system keeps. */
#include "core/bytes.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "vectors/vectors.h"

#include <inttypes.h>
#include <string.h>

enum {
    HEAD_SIZE = 19, /* magic u32, version u16, m, d and n u32, flags u8 */
    FILE_VERSION = 1,
    FLAGS = 3,
    DIMENSIONS_MAX = 1 << 16
};

static const uint32_t magic = 0x564C4341;

void wcodec_vectors_describe(const wcodec_vectors *vectors, wcodec_vectors_info *info)
{
    *info = (wcodec_vectors_info){.rows = vectors->rows,
                                  .anchors = vectors->anchors,
                                  .dimensions = vectors->dimensions,
                                  .anchor = vectors->anchor,
                                  .index = vectors->index,
                                  .flags = vectors->flags};
}

void wcodec_vectors_destroy(wcodec_vectors *vectors)
{
    if (vectors == NULL)
        return;
    const wcodec_allocator allocator = vectors->allocator;
    wcodec_free(&allocator, vectors->anchor);
    wcodec_free(&allocator, vectors->index);
    wcodec_free(&allocator, vectors);
}

static int write_head(const wcodec_vectors *v, wcodec_write_fn write, void *opaque)
{
    uint8_t head[HEAD_SIZE];
    wcodec_store_u32(head, magic);
    wcodec_store_u16(head + 4, FILE_VERSION);
    wcodec_store_u32(head + 6, (uint32_t)v->anchors);
    wcodec_store_u32(head + 10, (uint32_t)v->dimensions);
    wcodec_store_u32(head + 14, (uint32_t)v->rows);
    head[18] = 0;
    return write(opaque, head, sizeof head);
}

/* Numbers of 2 or 4 bytes, in the order of bytes that files have. */
static int write_numbers(const void *numbers, uint64_t count, unsigned size, wcodec_write_fn write,
                         void *opaque)
{
    enum { PIECE = 4096 };
    uint8_t bytes[PIECE];
    const uint64_t room = PIECE / size;
    int error = 0;
    for (uint64_t at = 0, some; error == 0 && at < count; at += some) {
        some = count - at < room ? count - at : room;
        for (uint64_t i = 0; i < some; i++)
            if (size == 2)
                wcodec_store_u16(bytes + 2 * i, ((const uint16_t *)numbers)[at + i]);
            else
                wcodec_store_u32(bytes + 4 * i, ((const uint32_t *)numbers)[at + i]);
        error = write(opaque, bytes, (size_t)some * size);
    }
    return error;
}

wcodec_status wcodec_vectors_export(const wcodec_vectors *vectors, wcodec_vectors_part part,
                                    wcodec_write_fn write, void *opaque, wcodec_error *err)
{
    int error;
    switch (part) {
    case WCODEC_VECTORS_PART_HEAD:
        error = write_head(vectors, write, opaque);
        break;
    case WCODEC_VECTORS_PART_ANCHORS:
        error = write_numbers(vectors->anchor, vectors->anchors * vectors->dimensions, 2, write,
                              opaque);
        break;
    case WCODEC_VECTORS_PART_INDEX:
        error = write_numbers(vectors->index, vectors->rows, 4, write, opaque);
        break;
    default:
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no part %d of vectors", (int)part);
    }
    if (error != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot write: %s", strerror(error));
    return WCODEC_OK;
}

static wcodec_status read_head(const uint8_t *head, size_t size, wcodec_vectors *v,
                               wcodec_error *err)
{
    if (size != HEAD_SIZE)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the index has %zu bytes, not %d", size,
                           HEAD_SIZE);
    if (wcodec_load_u32(head) != magic)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the index begins with %08" PRIx32 ", not %08" PRIx32,
                           wcodec_load_u32(head), magic);
    if (wcodec_load_u16(head + 4) != FILE_VERSION)
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "the index has version %u, not %d",
                           (unsigned)wcodec_load_u16(head + 4), FILE_VERSION);
    v->anchors = wcodec_load_u32(head + 6);
    v->dimensions = wcodec_load_u32(head + 10);
    v->rows = wcodec_load_u32(head + 14);
    v->flags = head[18];
    if (v->flags > FLAGS)
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "the index has unknown flags: %02" PRIx32,
                           v->flags);
    if (v->rows == 0 || v->rows == UINT32_MAX || v->anchors == 0 || v->dimensions == 0 ||
        v->dimensions > DIMENSIONS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the index says %" PRIu64 " anchors of %" PRIu64
                           " dimensions for %" PRIu64 " rows",
                           v->anchors, v->dimensions, v->rows);
    return WCODEC_OK;
}

static wcodec_status check_size(const char *what, uint64_t count, unsigned bytes, size_t size,
                                wcodec_error *err)
{
    if (size == count * bytes)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s take %zu bytes, not %" PRIu64, what, size,
                       count * bytes);
}

static wcodec_status read_anchors(const uint8_t *data, wcodec_vectors *v, wcodec_error *err)
{
    for (uint64_t i = 0; i < v->anchors * v->dimensions; i++) {
        v->anchor[i] = wcodec_load_u16(data + 2 * i);
        if ((v->anchor[i] & 0x7C00) == 0x7C00)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "anchor %" PRIu64 ": element %" PRIu64 " is NaN or infinite",
                               i / v->dimensions, i % v->dimensions);
    }
    return WCODEC_OK;
}

static wcodec_status read_index(const uint8_t *data, wcodec_vectors *v, wcodec_error *err)
{
    for (uint64_t i = 0; i < v->rows; i++) {
        v->index[i] = wcodec_load_u32(data + 4 * i);
        if (v->index[i] >= v->anchors)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "row %" PRIu64 " has anchor %" PRIu32 ", but there are %" PRIu64, i,
                               v->index[i], v->anchors);
    }
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_import(wcodec_context *context, const void *const data[3],
                                    const size_t size[3], wcodec_vectors **vectors,
                                    wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct wcodec_vectors v = {.allocator = *allocator}, *made;
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = read_head(data[0], size[0], &v, err);
    if (status == WCODEC_OK)
        status = check_size("anchors", v.anchors * v.dimensions, 2, size[1], err);
    if (status == WCODEC_OK)
        status = check_size("indices", v.rows, 4, size[2], err);
    if (status != WCODEC_OK)
        return status;
    if (size[1] > context->limits.max_memory || size[2] > context->limits.max_memory - size[1])
        return wcodec_fail(err, WCODEC_ERROR_LIMIT, "vectors are larger than the limit of memory");
    made = wcodec_alloc(allocator, sizeof *made);
    v.anchor = wcodec_alloc(allocator, size[1]);
    v.index = wcodec_alloc(allocator, size[2]);
    if (made == NULL || v.anchor == NULL || v.index == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for vectors");
    if (status == WCODEC_OK)
        status = read_anchors(data[1], &v, err);
    if (status == WCODEC_OK)
        status = read_index(data[2], &v, err);
    if (status != WCODEC_OK) {
        wcodec_free(allocator, made);
        wcodec_free(allocator, v.anchor);
        wcodec_free(allocator, v.index);
        return status;
    }
    *made = v;
    *vectors = made;
    return WCODEC_OK;
}
