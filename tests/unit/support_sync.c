/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_sync.h"
#include "core/memory.h"
#include "format/index.h"
#include "io/source.h"

enum { GAP = 48 };

static uint64_t bytes_of(const struct support_shape *shape)
{
    return (shape->elements * wcodec_dtype_bits(shape->dtype) + 7) / 8;
}

void support_snapshot_make(struct support_snapshot *s, const struct support_shape *shapes,
                           unsigned count, uint64_t seed)
{
    *s = (struct support_snapshot){.count = count, .size = GAP};
    s->items = calloc(count + 1, sizeof *s->items);
    s->shapes = calloc(count + 1, sizeof *s->shapes);
    s->names = calloc(count + 1, sizeof *s->names);
    for (unsigned i = 0; i < count; i++) {
        s->shapes[i] = shapes[i].elements;
        snprintf(s->names[i], sizeof s->names[i], "layers.%u.weight", i);
        s->items[i] = (wcodec_save_item){.name = s->names[i],
                                         .dtype = shapes[i].dtype,
                                         .rank = 1,
                                         .shape = &s->shapes[i],
                                         .offset = s->size,
                                         .size = bytes_of(&shapes[i])};
        s->size += s->items[i].size + GAP + i; /* at any address */
    }
    s->data = malloc(s->size);
    assert_non_null(s->data);
    for (uint64_t i = 0; i < s->size; i++)
        s->data[i] = (uint8_t)(i % 2 == 0 ? support_random(&seed) : 0x30 | (i >> 12 & 7));
    for (unsigned i = 0; i < count; i++)
        s->items[i].source = (uint64_t)(uintptr_t)s->data;
}

void support_snapshot_copy(const struct support_snapshot *from, struct support_snapshot *to)
{
    *to = *from;
    to->data = malloc(from->size);
    to->items = malloc((from->count + 1) * sizeof *to->items);
    assert_true(to->data != NULL && to->items != NULL);
    memcpy(to->data, from->data, from->size);
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->shapes = NULL; /* those of the first */
    to->names = NULL;
    for (unsigned i = 0; i < to->count; i++)
        to->items[i].source = (uint64_t)(uintptr_t)to->data;
}

void support_snapshot_free(struct support_snapshot *s)
{
    free(s->data);
    free(s->items);
    free(s->shapes);
    free(s->names);
}

uint8_t *support_snapshot_tensor(const struct support_snapshot *s, unsigned i)
{
    return s->data + s->items[i].offset;
}

void support_snapshot_change(struct support_snapshot *s, uint64_t every, uint64_t seed)
{
    for (unsigned i = 0; i < s->count && every != 0; i++) {
        const unsigned bits = wcodec_dtype_bits(s->items[i].dtype), width = bits < 8 ? 1 : bits / 8;
        uint8_t *bytes = support_snapshot_tensor(s, i);
        for (uint64_t k = 0; k < s->items[i].size / width; k++) {
            const uint64_t r = support_random(&seed);
            if (r % every == 0)
                bytes[k * width] = (uint8_t)(bytes[k * width] + ((r >> 40 & 1) != 0 ? 1 : -1));
        }
    }
}

void support_snapshot_expect(const struct support_snapshot *got,
                             const struct support_snapshot *wanted)
{
    assert_int_equal(got->size, wanted->size);
    if (memcmp(got->data, wanted->data, got->size) == 0)
        return;
    uint64_t at = 0;
    while (got->data[at] == wanted->data[at])
        at++;
    fail_msg("byte %llu differs", (unsigned long long)at);
}

void *support_message(wcodec_context *context, const struct support_snapshot *before,
                      const struct support_snapshot *after, size_t *size)
{
    void *message = NULL;
    wcodec_error err = {0};
    if (wcodec_delta_encode(context, before->items, before->count, after->items, after->count, NULL,
                            &message, size, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return message;
}

uint8_t *support_message_forge(const uint8_t *message, size_t message_size, const char *key,
                               const char *text, size_t *size)
{
    struct wcodec_source source;
    struct wcodec_index *index;
    const wcodec_limits limits = {.max_memory = UINT64_MAX,
                                  .max_tensor_bytes = UINT64_MAX,
                                  .max_index_bytes = UINT64_MAX,
                                  .max_tensors = UINT64_MAX};
    uint8_t *coded, tail[WCODEC_TAIL_SIZE];
    size_t coded_size;
    uint64_t decoded_size;
    wcodec_error err = {0};
    wcodec_source_memory(message, message_size, &source);
    if (wcodec_index_read(&source, &wcodec_default_allocator, &limits, &index, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (uint64_t i = 0; i < index->metadata_count; i++)
        if (strcmp(index->metadata[2 * i], key) == 0)
            index->metadata[2 * i + 1] = text;
    assert_int_equal(wcodec_index_write(index, &wcodec_default_allocator, &coded, &coded_size,
                                        &decoded_size, &err),
                     WCODEC_OK);
    const size_t body = (size_t)index->body_stop;
    *size = body + coded_size + sizeof tail;
    uint8_t *forged = malloc(*size);
    memcpy(forged, message, body);
    memcpy(forged + body, coded, coded_size);
    wcodec_tail_write(forged, body, coded, coded_size, decoded_size, *size, tail);
    memcpy(forged + body + coded_size, tail, sizeof tail);
    wcodec_free(&wcodec_default_allocator, coded);
    wcodec_index_free(index);
    return forged;
}
