/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/header.h"
#include "core/error.h"
#include "core/memory.h"
#include "format/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

/* Text that grows; the first failure sticks. */
struct text {
    const wcodec_allocator *allocator;
    char *data;
    uint64_t size, capacity;
    bool failed;
};

static void put(struct text *t, const char *data, size_t size)
{
    if (t->failed)
        return;
    if (size > t->capacity - t->size) {
        uint64_t capacity = (t->capacity + size) * 3 / 2 + 64;
        char *larger = wcodec_realloc_array(t->allocator, t->data, capacity, 1);
        if (!larger) {
            t->failed = true;
            return;
        }
        t->data = larger;
        t->capacity = capacity;
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
}

static void put_text(struct text *t, const char *text)
{
    put(t, text, strlen(text));
}

static void put_number(struct text *t, uint64_t v)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, v);
    put(t, digits, (size_t)size);
}

static int put_dump(const char *data, size_t size, void *opaque)
{
    put(opaque, data, size);
    return 0;
}

/* A JSON string, quoted and escaped. */
static void put_string(struct text *t, const char *text)
{
    json_t *json = json_string(text);
    if (!json || json_dump_callback(json, put_dump, t, JSON_ENCODE_ANY) != 0)
        t->failed = true;
    json_decref(json);
}

static void put_tensor(struct text *t, const struct wcodec_entry *e, uint64_t at)
{
    put_string(t, e->name);
    put_text(t, ":{\"dtype\":\"");
    put_text(t, e->dtype_name);
    put_text(t, "\",\"shape\":[");
    for (unsigned i = 0; i < e->rank; i++) {
        put_text(t, i ? "," : "");
        put_number(t, e->shape[i]);
    }
    put_text(t, "],\"data_offsets\":[");
    put_number(t, at);
    put_text(t, ",");
    put_number(t, at + e->size);
    put_text(t, "]}");
}

/* The header with its length word; padded with blanks so that the data starts at a multiple of 8.
 */
static void put_header(struct text *t, const struct wcodec_entry *tensors, uint64_t count,
                       const char **metadata, uint64_t pairs)
{
    uint64_t at = 0;
    put(t, "\0\0\0\0\0\0\0\0", 8);
    put_text(t, "{");
    for (uint64_t i = 0; i < pairs; i++) {
        put_text(t, i ? "," : "\"__metadata__\":{");
        put_string(t, metadata[2 * i]);
        put_text(t, ":");
        put_string(t, metadata[2 * i + 1]);
    }
    put_text(t, pairs ? "}" : "");
    for (uint64_t i = 0; i < count; i++) {
        put_text(t, i || pairs ? "," : "");
        put_tensor(t, &tensors[i], at);
        at += tensors[i].size;
    }
    put_text(t, "}");
    while (t->size % 8 != 0 && !t->failed)
        put_text(t, " ");
    if (!t->failed)
        wcodec_store_u64((uint8_t *)t->data, t->size - 8);
}

wcodec_status wcodec_write_header(const wcodec_allocator *allocator,
                                  const struct wcodec_entry *tensors, uint64_t count,
                                  const char **metadata, uint64_t pairs, uint8_t **header,
                                  uint64_t *size, wcodec_error *err)
{
    struct text text = {.allocator = allocator};
    wcodec_status status = WCODEC_OK;
    put_header(&text, tensors, count, metadata, pairs);
    if (text.failed)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the header");
    else if (text.size - 8 > WCODEC_SAFETENSORS_HEADER_MAX)
        status = wcodec_fail(err, WCODEC_ERROR_LIMIT,
                             "the header of a safetensors file would have %" PRIu64
                             " bytes, at most %" PRIu64 " are allowed",
                             text.size - 8, WCODEC_SAFETENSORS_HEADER_MAX);
    if (status != WCODEC_OK) {
        wcodec_free(allocator, text.data);
        return status;
    }
    *header = (uint8_t *)text.data;
    *size = text.size;
    return WCODEC_OK;
}
