/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The wire format of protobuf, read field by field: a message is a sequence of fields, each a
 * number, a wire type and a value. What a field means only its message's definition says. */
#ifndef WCODEC_FORMAT_PROTOBUF_H
#define WCODEC_FORMAT_PROTOBUF_H

#include "io/source.h"
#include <stdbool.h>

/* Wire types. Groups (3 and 4) are refused: nothing writes them any more. */
enum {
    WCODEC_PROTOBUF_VARINT = 0,
    WCODEC_PROTOBUF_FIXED64 = 1,
    WCODEC_PROTOBUF_BYTES = 2, /* also texts, messages and packed numbers */
    WCODEC_PROTOBUF_FIXED32 = 5
};

/* A source that is read through a window; whoever reads sets `at`. */
struct wcodec_protobuf {
    const struct wcodec_source *source;
    uint8_t *window;
    size_t room;          /* bytes of the window, 16 or more */
    uint64_t at;          /* in the source */
    uint64_t begin, size; /* of what is in the window */
    wcodec_error *err;
};

struct wcodec_protobuf_field {
    uint32_t number; /* 0: not even that was read */
    uint8_t type;    /* a wire type */
    uint64_t value;  /* of a varint; else 0 */
    uint64_t offset; /* of the value's bytes in the source, after a length */
    uint64_t size;   /* of these bytes */
};

/* Read the next field of a message that ends at `end`, which must be past `at` and within the
 * source, and move `at` past it. The bytes of a value other than a varint are not read. On
 * WCODEC_ERROR_CORRUPT `field` is set as far as it was read. Also WCODEC_ERROR_IO. */
wcodec_status wcodec_protobuf_next(struct wcodec_protobuf *p, uint64_t end,
                                   struct wcodec_protobuf_field *field);

/* One varint before `end`, as packed fields have them. */
wcodec_status wcodec_protobuf_varint(struct wcodec_protobuf *p, uint64_t end, uint64_t *value);

/* Copy a field's text, of at most `room` - 1 bytes; an empty one if it is longer, or no UTF-8
 * without NUL. `room` is at most that of the window. `at` stays. */
wcodec_status wcodec_protobuf_text(struct wcodec_protobuf *p,
                                   const struct wcodec_protobuf_field *field, char *text,
                                   size_t room);

#endif
