/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* GGUF, versions 2 and 3: keys and values, descriptions of tensors, and their data. */

#include "format/layout.h"
#include "format/names.h"
#include "core/bytes.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CORRUPT(err, ...) wcodec_fail(err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

enum {
    BUFFER = 1 << 16,
    RANK_MAX = 8,        /* the reference has 4 */
    DEPTH_MAX = 4,       /* arrays within arrays */
    VALUE_MAX = 1024,    /* longer texts are not listed */
    ALIGNMENT = 32,      /* unless general.alignment says another */
    KEY_MIN = 8 + 4 + 1, /* bytes of a key with its value */
    TENSOR_MIN = 8 + 4 + 4 + 8
};

/* Types of values. */
enum { TYPE_U32 = 4, TYPE_F32 = 6, TYPE_BOOL = 7, TYPE_TEXT = 8, TYPE_ARRAY = 9, TYPE_F64 = 12 };

static const uint8_t value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* Types of tensors. Those in blocks are bytes: a row of so many elements is so many bytes. */
static const struct {
    const char *name;
    uint32_t type;
    uint16_t elements, bytes;
    uint8_t dtype;
} types[] = {
    {"F32", 0, 1, 4, WCODEC_DTYPE_F32},        {"F16", 1, 1, 2, WCODEC_DTYPE_F16},
    {"Q4_0", 2, 32, 18, WCODEC_DTYPE_U8},      {"Q4_1", 3, 32, 20, WCODEC_DTYPE_U8},
    {"Q5_0", 6, 32, 22, WCODEC_DTYPE_U8},      {"Q5_1", 7, 32, 24, WCODEC_DTYPE_U8},
    {"Q8_0", 8, 32, 34, WCODEC_DTYPE_U8},      {"Q2_K", 10, 256, 84, WCODEC_DTYPE_U8},
    {"Q3_K", 11, 256, 110, WCODEC_DTYPE_U8},   {"Q4_K", 12, 256, 144, WCODEC_DTYPE_U8},
    {"Q5_K", 13, 256, 176, WCODEC_DTYPE_U8},   {"Q6_K", 14, 256, 210, WCODEC_DTYPE_U8},
    {"Q8_K", 15, 256, 292, WCODEC_DTYPE_U8},   {"IQ2_XXS", 16, 256, 66, WCODEC_DTYPE_U8},
    {"IQ2_XS", 17, 256, 74, WCODEC_DTYPE_U8},  {"IQ3_XXS", 18, 256, 98, WCODEC_DTYPE_U8},
    {"IQ1_S", 19, 256, 50, WCODEC_DTYPE_U8},   {"IQ4_NL", 20, 32, 18, WCODEC_DTYPE_U8},
    {"IQ3_S", 21, 256, 110, WCODEC_DTYPE_U8},  {"IQ2_S", 22, 256, 82, WCODEC_DTYPE_U8},
    {"IQ4_XS", 23, 256, 136, WCODEC_DTYPE_U8}, {"I8", 24, 1, 1, WCODEC_DTYPE_I8},
    {"I16", 25, 1, 2, WCODEC_DTYPE_I16},       {"I32", 26, 1, 4, WCODEC_DTYPE_I32},
    {"I64", 27, 1, 8, WCODEC_DTYPE_I64},       {"F64", 28, 1, 8, WCODEC_DTYPE_F64},
    {"IQ1_M", 29, 256, 56, WCODEC_DTYPE_U8},   {"BF16", 30, 1, 2, WCODEC_DTYPE_BF16},
    {"TQ1_0", 34, 256, 54, WCODEC_DTYPE_U8},   {"TQ2_0", 35, 256, 66, WCODEC_DTYPE_U8},
    {"MXFP4", 39, 32, 17, WCODEC_DTYPE_U8},    {"NVFP4", 40, 64, 36, WCODEC_DTYPE_U8},
    {"Q1_0", 41, 128, 18, WCODEC_DTYPE_U8},
};

/* The file from its beginning on, through a buffer: how long the header is, only its end says. */
struct stream {
    const struct wcodec_source *source;
    struct wcodec_cancel *cancel;
    wcodec_error *err;
    uint8_t *buffer;
    uint64_t at;          /* in the source */
    uint64_t begin, size; /* of what is in the buffer */
};

static wcodec_status take(struct stream *s, uint64_t size, const uint8_t **bytes)
{
    if (size > s->source->size - s->at)
        return CORRUPT(s->err, "its header is cut short at byte %" PRIu64, s->at);
    if (size > BUFFER)
        return CORRUPT(s->err, "a name of %" PRIu64 " bytes at byte %" PRIu64, size, s->at);
    if (s->at < s->begin || size > s->begin + s->size || s->at > s->begin + s->size - size) {
        const uint64_t left = s->source->size - s->at;
        s->begin = s->at;
        s->size = left < BUFFER ? left : BUFFER;
        wcodec_status status = wcodec_cancel_check(s->cancel, s->err);
        if (status == WCODEC_OK)
            status = wcodec_source_read(s->source, s->at, s->buffer, (size_t)s->size, s->err);
        if (status != WCODEC_OK)
            return status;
    }
    *bytes = s->buffer + (s->at - s->begin);
    s->at += size;
    return WCODEC_OK;
}

static wcodec_status skip(struct stream *s, uint64_t size)
{
    if (size > s->source->size - s->at)
        return CORRUPT(s->err, "its header is cut short at byte %" PRIu64, s->at);
    s->at += size;
    return WCODEC_OK;
}

static wcodec_status take_number(struct stream *s, unsigned size, uint64_t *number)
{
    const uint8_t *bytes;
    const wcodec_status status = take(s, size, &bytes);
    if (status == WCODEC_OK)
        *number = wcodec_load_uint(bytes, size);
    return status;
}

/* A text in memory of `room` bytes: an empty one if it is longer, or no UTF-8 without NUL. */
static wcodec_status take_text(struct stream *s, char *text, size_t room)
{
    const uint8_t *bytes = NULL;
    uint64_t size = 0;
    text[0] = 0;
    wcodec_status status = take_number(s, 8, &size);
    if (status == WCODEC_OK && size >= room)
        return skip(s, size);
    if (status == WCODEC_OK)
        status = take(s, size, &bytes);
    if (status != WCODEC_OK || !wcodec_utf8_valid(bytes, (size_t)size))
        return status;
    memcpy(text, bytes, (size_t)size);
    text[size] = 0;
    return status;
}

static wcodec_status skip_array(struct stream *s, unsigned depth)
{
    uint64_t type = 0, count = 0, size = 0;
    wcodec_status status = take_number(s, 4, &type);
    if (status == WCODEC_OK)
        status = take_number(s, 8, &count);
    if (status != WCODEC_OK)
        return status;
    if (type >= sizeof value_bytes || depth == DEPTH_MAX)
        return CORRUPT(s->err, "an array of type %" PRIu64 " at byte %" PRIu64, type, s->at);
    if (value_bytes[type] != 0)
        return wcodec_mul_u64(count, value_bytes[type], &size)
                   ? skip(s, size)
                   : CORRUPT(s->err, "an array of %" PRIu64 " elements", count);
    /* Each element has bytes of its own, so the end of the file bounds this. */
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        if (type == TYPE_ARRAY) {
            status = skip_array(s, depth + 1);
            continue;
        }
        status = take_number(s, 8, &size);
        if (status == WCODEC_OK)
            status = skip(s, size);
    }
    return status;
}

/* Integers, booleans and short texts are listed; other values only matter as bytes. */
static wcodec_status take_value(struct stream *s, char *text, size_t room, uint64_t *number)
{
    uint64_t type = 0;
    wcodec_status status = take_number(s, 4, &type);
    text[0] = 0;
    *number = 0;
    if (status != WCODEC_OK)
        return status;
    if (type >= sizeof value_bytes)
        return CORRUPT(s->err, "a value of type %" PRIu64 " at byte %" PRIu64, type, s->at);
    if (type == TYPE_ARRAY)
        return skip_array(s, 0);
    if (type == TYPE_TEXT)
        return take_text(s, text, room);
    const unsigned bytes = value_bytes[type];
    status = take_number(s, bytes, number);
    if (status != WCODEC_OK || type == TYPE_F32 || type == TYPE_F64)
        return status;
    const bool is_signed = type == 1 || type == 3 || type == 5 || type == 11;
    const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    if (type == TYPE_BOOL)
        snprintf(text, room, "%s", *number != 0 ? "true" : "false");
    else if (is_signed && (*number & sign) != 0)
        snprintf(text, room, "-%" PRIu64, (sign - (*number & (sign - 1))));
    else
        snprintf(text, room, "%" PRIu64, *number);
    return status;
}

static wcodec_status read_values(struct stream *s, struct wcodec_file_layout *layout,
                                 uint64_t count, uint64_t *alignment)
{
    char key[256], value[VALUE_MAX];
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        uint64_t number = 0;
        status = take_text(s, key, sizeof key);
        if (status == WCODEC_OK)
            status = take_value(s, value, sizeof value, &number);
        if (status == WCODEC_OK && strcmp(key, "general.alignment") == 0)
            *alignment = number;
        if (status == WCODEC_OK && key[0] != 0 && value[0] != 0)
            status = wcodec_layout_note(layout, key, value, s->err);
    }
    return status;
}

/* One tensor; its offset is from the end of the header, which comes later. */
static wcodec_status read_tensor(struct stream *s, struct wcodec_file_layout *layout,
                                 uint64_t *left)
{
    char name[WCODEC_LAYOUT_NAME_MAX], key[WCODEC_LAYOUT_NAME_MAX + 16];
    uint64_t shape[RANK_MAX], rank = 0, type = 0;
    struct wcodec_layout_tensor t = {.name = name, .shape = shape};
    wcodec_status status = take_text(s, name, sizeof name);
    if (status == WCODEC_OK && name[0] == 0)
        return CORRUPT(s->err, "a tensor's name is empty, too long or no UTF-8");
    if (status == WCODEC_OK)
        status = take_number(s, 4, &rank);
    if (status == WCODEC_OK && rank > RANK_MAX)
        return CORRUPT(s->err, "tensor \"%.200s\" has %" PRIu64 " dimensions", name, rank);
    /* The first dimension is the fastest here, the last one in shapes. */
    for (uint64_t i = rank; i-- > 0 && status == WCODEC_OK;)
        status = take_number(s, 8, &shape[i]);
    if (status == WCODEC_OK)
        status = take_number(s, 4, &type);
    if (status == WCODEC_OK)
        status = take_number(s, 8, &t.offset);
    if (status != WCODEC_OK)
        return status;
    size_t i = 0;
    while (i < sizeof types / sizeof *types && types[i].type != type)
        i++;
    if (i == sizeof types / sizeof *types) {
        (*left)++;
        return status;
    }
    t.rank = (uint8_t)rank;
    t.dtype = types[i].dtype;
    if (types[i].elements != 1) {
        if (rank == 0 || shape[rank - 1] % types[i].elements != 0 ||
            shape[rank - 1] >= (uint64_t)1 << 48)
            return CORRUPT(s->err, "tensor \"%.200s\": rows are no whole number of %s's blocks",
                           name, types[i].name);
        shape[rank - 1] = shape[rank - 1] / types[i].elements * types[i].bytes;
    }
    if (!wcodec_dtype_size((wcodec_dtype)t.dtype, shape, t.rank, &t.size))
        return CORRUPT(s->err, "tensor \"%.200s\" is too large", name);
    status = wcodec_layout_add(layout, &t, s->err);
    if (status != WCODEC_OK || types[i].elements == 1)
        return status;
    snprintf(key, sizeof key, "gguf.type.%s", name);
    return wcodec_layout_note(layout, key, types[i].name, s->err);
}

static wcodec_status place_tensors(const struct stream *s, struct wcodec_file_layout *layout,
                                   uint64_t alignment)
{
    const uint64_t data = wcodec_div_up_u64(s->at, alignment) * alignment;
    for (uint64_t i = 0; i < layout->count; i++)
        if (!wcodec_add_u64(layout->tensors[i].offset, data, &layout->tensors[i].offset))
            return CORRUPT(s->err, "tensor \"%.200s\" is past the end", layout->tensors[i].name);
    return WCODEC_OK;
}

static wcodec_status read_header(struct stream *s, struct wcodec_file_layout *layout)
{
    uint64_t magic, version = 0, tensors = 0, values = 0, alignment = ALIGNMENT, left = 0;
    wcodec_status status = take_number(s, 4, &magic);
    if (status == WCODEC_OK)
        status = take_number(s, 4, &version);
    if (status == WCODEC_OK && version != 2 && version != 3)
        return CORRUPT(s->err,
                       version % (1 << 16) == 0 ? "it is big-endian (version %" PRIu64 ")"
                                                : "it is of version %" PRIu64 ", not 2 or 3",
                       version);
    if (status == WCODEC_OK)
        status = take_number(s, 8, &tensors);
    if (status == WCODEC_OK)
        status = take_number(s, 8, &values);
    if (status != WCODEC_OK)
        return status;
    if (values > s->source->size / KEY_MIN || tensors > s->source->size / TENSOR_MIN)
        return CORRUPT(
            s->err, "%" PRIu64 " values and %" PRIu64 " tensors do not fit into %" PRIu64 " bytes",
            values, tensors, s->source->size);
    status = read_values(s, layout, values, &alignment);
    if (status == WCODEC_OK && (alignment == 0 || alignment > 1 << 30))
        return CORRUPT(s->err, "its alignment is %" PRIu64, alignment);
    for (uint64_t i = 0; i < tensors && status == WCODEC_OK; i++)
        status = read_tensor(s, layout, &left);
    if (status == WCODEC_OK)
        status = place_tensors(s, layout, alignment);
    if (status == WCODEC_OK && layout->count == 0)
        status = CORRUPT(s->err, "no tensors of known types are in it");
    if (status == WCODEC_OK && left != 0)
        wcodec_fail(&layout->remark, WCODEC_ERROR_CORRUPT,
                    "%" PRIu64 " of %" PRIu64 " tensors are of types that are not known", left,
                    tensors);
    return status;
}

wcodec_status wcodec_gguf_read(const struct wcodec_source *source,
                               struct wcodec_file_layout *layout, wcodec_error *err)
{
    struct stream s = {.source = source, .cancel = layout->cancel, .err = err};
    layout->kind = "gguf";
    s.buffer = wcodec_alloc(layout->allocator, BUFFER);
    if (s.buffer == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    const wcodec_status status = read_header(&s, layout);
    wcodec_free(layout->allocator, s.buffer);
    return status;
}
