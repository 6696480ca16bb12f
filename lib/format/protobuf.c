/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/protobuf.h"
#include "format/names.h"
#include "core/assert.h"
#include "core/error.h"

#include <inttypes.h>
#include <string.h>

#define CORRUPT(err, ...) wcodec_fail(err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

enum { VARINT_MAX = 10, NUMBER_MAX = (1 << 29) - 1 };

/* `size` bytes from `at` on, which are there, and not more than the window has room for. */
static wcodec_status look(struct wcodec_protobuf *p, uint64_t size, const uint8_t **bytes)
{
    if (p->at < p->begin || size > p->size || p->at - p->begin > p->size - size) {
        const uint64_t left = p->source->size - p->at;
        const size_t part = left < p->room ? (size_t)left : p->room;
        p->size = 0;
        const wcodec_status status = wcodec_source_read(p->source, p->at, p->window, part, p->err);
        if (status != WCODEC_OK)
            return status;
        p->begin = p->at;
        p->size = part;
    }
    *bytes = p->window + (p->at - p->begin);
    return WCODEC_OK;
}

wcodec_status wcodec_protobuf_varint(struct wcodec_protobuf *p, uint64_t end, uint64_t *value)
{
    const uint8_t *bytes = NULL;
    const uint64_t left = end - p->at;
    const unsigned most = left < VARINT_MAX ? (unsigned)left : VARINT_MAX;
    uint64_t v = 0;
    WCODEC_ASSERT(end >= p->at && end <= p->source->size);
    const wcodec_status status = most != 0 ? look(p, most, &bytes) : WCODEC_OK;
    if (status != WCODEC_OK)
        return status;
    for (unsigned i = 0; i < most; i++) {
        v |= (uint64_t)(bytes[i] & 0x7F) << (7 * i);
        if (bytes[i] >= 0x80)
            continue;
        if (i == VARINT_MAX - 1 && bytes[i] > 1)
            break;
        p->at += i + 1;
        *value = v;
        return WCODEC_OK;
    }
    return CORRUPT(p->err, "a number at byte %" PRIu64 " has no end", p->at);
}

wcodec_status wcodec_protobuf_next(struct wcodec_protobuf *p, uint64_t end,
                                   struct wcodec_protobuf_field *field)
{
    const uint64_t begin = p->at;
    uint64_t tag = 0;
    *field = (struct wcodec_protobuf_field){0};
    wcodec_status status = wcodec_protobuf_varint(p, end, &tag);
    if (status != WCODEC_OK)
        return status;
    if (tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
        return CORRUPT(p->err, "a field number %" PRIu64 " at byte %" PRIu64, tag >> 3, begin);
    field->number = (uint32_t)(tag >> 3);
    field->type = tag & 7;
    switch (field->type) {
    case WCODEC_PROTOBUF_VARINT:
        field->offset = p->at;
        status = wcodec_protobuf_varint(p, end, &field->value);
        field->size = p->at - field->offset;
        return status;
    case WCODEC_PROTOBUF_FIXED64:
        field->size = 8;
        break;
    case WCODEC_PROTOBUF_FIXED32:
        field->size = 4;
        break;
    case WCODEC_PROTOBUF_BYTES:
        status = wcodec_protobuf_varint(p, end, &field->size);
        break;
    default:
        return CORRUPT(p->err, "a field of wire type %u at byte %" PRIu64, field->type, begin);
    }
    field->offset = p->at;
    if (status == WCODEC_OK && field->size > end - p->at)
        return CORRUPT(p->err,
                       "field %" PRIu32 " at byte %" PRIu64 " has %" PRIu64
                       " bytes, of which %" PRIu64 " are there",
                       field->number, begin, field->size, end - p->at);
    if (status == WCODEC_OK)
        p->at += field->size;
    return status;
}

wcodec_status wcodec_protobuf_text(struct wcodec_protobuf *p,
                                   const struct wcodec_protobuf_field *field, char *text,
                                   size_t room)
{
    const uint64_t at = p->at;
    const uint8_t *bytes = NULL;
    WCODEC_ASSERT(room <= p->room);
    text[0] = 0;
    if (field->type != WCODEC_PROTOBUF_BYTES)
        return CORRUPT(p->err, "field %" PRIu32 " at byte %" PRIu64 " is no text", field->number,
                       field->offset);
    if (field->size == 0 || field->size >= room)
        return WCODEC_OK;
    p->at = field->offset;
    const wcodec_status status = look(p, field->size, &bytes);
    p->at = at;
    if (status != WCODEC_OK || !wcodec_utf8_valid(bytes, (size_t)field->size))
        return status;
    memcpy(text, bytes, (size_t)field->size);
    text[field->size] = 0;
    return WCODEC_OK;
}
