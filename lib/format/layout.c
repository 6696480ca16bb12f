/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/layout.h"
#include "format/foreign.h"
#include "format/names.h"
#include "format/onnx_kept.h"
#include "format/safetensors.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Kinds by their first bytes. None of these can begin a safetensors file: read as a header's length
 * they are too large, or no '{' follows. */
static const struct {
    const char *magic;
    wcodec_layout_reader read;
    unsigned size;
} kinds[] = {
    {"\x93NUMPY", wcodec_npy_read, 6},
    {"PK\x03\x04", wcodec_archive_read, 4},
    {"GGUF", wcodec_gguf_read, 4},
};

/* The list with room for one more of `count`, by doubling; NULL: no memory, and it is as it was. */
static void *grow(const wcodec_allocator *allocator, void *list, uint64_t count, uint64_t *capacity,
                  size_t size)
{
    if (count < *capacity)
        return list;
    const uint64_t wanted = *capacity != 0 ? *capacity * 2 : 16;
    void *larger = wcodec_realloc_array(allocator, list, wanted, size);
    if (larger != NULL)
        *capacity = wanted;
    return larger;
}

static wcodec_status take_text(struct wcodec_file_layout *layout, const char *text,
                               const char **copy, wcodec_error *err)
{
    const size_t size = strlen(text);
    if (!wcodec_utf8_valid((const uint8_t *)text, size))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the name \"%.200s\" is no UTF-8", text);
    layout->text += size + 1;
    if (layout->text > WCODEC_LAYOUT_NAMES_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "names have more than %d bytes",
                           (int)WCODEC_LAYOUT_NAMES_MAX);
    *copy = wcodec_arena_text(&layout->arena, text, size);
    return *copy != NULL ? WCODEC_OK : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
}

static wcodec_status check_tensor(const struct wcodec_layout_tensor *t, wcodec_error *err)
{
    uint64_t size;
    if (strlen(t->name) > WCODEC_LAYOUT_NAME_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a name has more than %d bytes",
                           (int)WCODEC_LAYOUT_NAME_MAX);
    if (t->rank > WCODEC_LAYOUT_RANK_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "tensor \"%.200s\" has %u dimensions, expected at most %d", t->name,
                           t->rank, (int)WCODEC_LAYOUT_RANK_MAX);
    for (unsigned i = 0; i < t->rank; i++)
        if (t->shape[i] >= (uint64_t)1 << 48)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "tensor \"%.200s\": dimension %u is %" PRIu64
                               ", expected less than 2^48",
                               t->name, i, t->shape[i]);
    if (t->dtype == WCODEC_DTYPE_OTHER)
        return WCODEC_OK;
    if (!wcodec_safetensors_bytes((wcodec_dtype)t->dtype, t->shape, t->rank, &size) ||
        size != t->size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "tensor \"%.200s\" has %" PRIu64
                           " bytes, which its type and shape do not make",
                           t->name, t->size);
    return WCODEC_OK;
}

wcodec_status wcodec_layout_add(struct wcodec_file_layout *layout,
                                const struct wcodec_layout_tensor *tensor, wcodec_error *err)
{
    struct wcodec_layout_tensor t = *tensor;
    enum { POLLED = 64 };
    wcodec_status status = check_tensor(&t, err);
    if (status == WCODEC_OK && layout->count % POLLED == 0)
        status = wcodec_cancel_check(layout->cancel, err);
    if (status != WCODEC_OK)
        return status;
    if (layout->count == WCODEC_LAYOUT_TENSORS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "it holds more than %d tensors",
                           (int)WCODEC_LAYOUT_TENSORS_MAX);
    void *list = grow(layout->allocator, layout->tensors, layout->count, &layout->capacity,
                      sizeof *layout->tensors);
    if (list == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " tensors",
                           layout->count);
    layout->tensors = list;
    status = take_text(layout, tensor->name, &t.name, err);
    if (status != WCODEC_OK)
        return status;
    uint64_t *shape = wcodec_arena_alloc(&layout->arena, t.rank * sizeof *shape);
    if (shape == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    if (t.rank != 0)
        memcpy(shape, tensor->shape, t.rank * sizeof *shape);
    t.shape = shape;
    if (t.dtype != WCODEC_DTYPE_OTHER)
        t.dtype_name = wcodec_dtype_name((wcodec_dtype)t.dtype);
    layout->tensors[layout->count++] = t;
    return WCODEC_OK;
}

wcodec_status wcodec_layout_note(struct wcodec_file_layout *layout, const char *key,
                                 const char *value, wcodec_error *err)
{
    const char *pair[2];
    void *list = grow(layout->allocator, layout->metadata, layout->metadata_count,
                      &layout->metadata_capacity, 2 * sizeof *layout->metadata);
    if (list == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for metadata");
    layout->metadata = list;
    wcodec_status status = take_text(layout, key, &pair[0], err);
    if (status == WCODEC_OK)
        status = take_text(layout, value, &pair[1], err);
    if (status != WCODEC_OK)
        return status;
    memcpy(layout->metadata + 2 * layout->metadata_count, pair, sizeof pair);
    layout->metadata_count++;
    return WCODEC_OK;
}

/* Text number i of those that must differ. */
typedef const char *(*text_of)(const struct wcodec_file_layout *layout, uint64_t i);

static const char *tensor_name(const struct wcodec_file_layout *layout, uint64_t i)
{
    return layout->tensors[i].name;
}

static const char *metadata_key(const struct wcodec_file_layout *layout, uint64_t i)
{
    return layout->metadata[2 * i];
}

static wcodec_status check_distinct(const struct wcodec_file_layout *layout, uint64_t count,
                                    text_of text, wcodec_error *err)
{
    struct wcodec_names names;
    wcodec_status status = WCODEC_OK;
    if (count < 2)
        return status;
    if (!wcodec_names_init(&names, layout->allocator, count))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " names", count);
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        uint64_t number = i;
        if (!wcodec_names_add(&names, text(layout, i), &number))
            status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the name \"%.200s\" is there twice",
                                 text(layout, i));
    }
    wcodec_names_free(&names);
    return status;
}

/* Empty tensors come before the one that starts at the same place; names make the order one. */
static int compare_places(const void *a, const void *b)
{
    const struct wcodec_layout_tensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return strcmp(x->name, y->name);
}

static wcodec_status check_places(struct wcodec_file_layout *layout, uint64_t file_size,
                                  wcodec_error *err)
{
    uint64_t at = 0;
    if (layout->count != 0)
        qsort(layout->tensors, (size_t)layout->count, sizeof *layout->tensors, compare_places);
    for (uint64_t i = 0; i < layout->count; i++) {
        const struct wcodec_layout_tensor *t = &layout->tensors[i];
        if (t->offset > file_size || t->size > file_size - t->offset)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "tensor \"%.200s\" has %" PRIu64 " bytes at byte %" PRIu64
                               ", which is past the end",
                               t->name, t->size, t->offset);
        if (t->offset < at)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "tensor \"%.200s\" at byte %" PRIu64 " overlaps \"%.200s\"", t->name,
                               t->offset, layout->tensors[i - 1].name);
        at = t->offset + t->size;
    }
    return WCODEC_OK;
}

static wcodec_status finish(struct wcodec_file_layout *layout, uint64_t file_size,
                            wcodec_error *err)
{
    wcodec_status status = wcodec_layout_note(layout, WCODEC_LAYOUT_KIND, layout->kind, err);
    if (status == WCODEC_OK)
        status = check_distinct(layout, layout->count, tensor_name, err);
    if (status == WCODEC_OK)
        status = check_distinct(layout, layout->metadata_count, metadata_key, err);
    return status == WCODEC_OK ? check_places(layout, file_size, err) : status;
}

static wcodec_status read_safetensors(const struct wcodec_source *source,
                                      struct wcodec_file_layout *layout, wcodec_error *err)
{
    wcodec_status status =
        wcodec_safetensors_read(source, layout->allocator, &layout->safetensors, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_safetensors *s = layout->safetensors;
    layout->kind = "safetensors";
    layout->tensors = wcodec_alloc_array(layout->allocator, s->count, sizeof *layout->tensors);
    if (layout->tensors == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " tensors",
                           s->count);
    for (uint64_t i = 0; i < s->count; i++) {
        const struct wcodec_safetensor *t = &s->tensors[i];
        layout->tensors[i] = (struct wcodec_layout_tensor){.name = t->name,
                                                           .dtype_name = t->dtype_name,
                                                           .shape = t->shape,
                                                           .offset = s->header_size + t->offset,
                                                           .size = t->size,
                                                           .dtype = t->dtype,
                                                           .rank = t->rank};
    }
    layout->count = s->count;
    return WCODEC_OK;
}

/* NULL: of none of the kinds above. */
static wcodec_layout_reader reader_of(const struct wcodec_source *source)
{
    uint8_t first[8] = {0};
    const size_t size = source->size < sizeof first ? (size_t)source->size : sizeof first;
    if (size == 0 || wcodec_source_read(source, 0, first, size, NULL) != WCODEC_OK)
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (memcmp(first, kinds[i].magic, kinds[i].size) == 0)
            return kinds[i].read;
    if (!wcodec_foreign_safetensors(source) && wcodec_onnx_begins(source))
        return wcodec_onnx_read;
    return NULL;
}

/* What is nearly right is said as what is wrong with it. */
static void explain(const struct wcodec_source *source, bool has_reader, wcodec_error *why)
{
    const char *kind = wcodec_foreign_safetensors(source) ? NULL : wcodec_foreign_kind(source);
    if (kind != NULL && has_reader)
        wcodec_error_prefix(why, "is %s, but", kind);
    else if (kind != NULL)
        wcodec_fail(why, WCODEC_ERROR_CORRUPT, "is %s", kind);
}

/* A layout of nothing; NULL: no memory. */
static struct wcodec_file_layout *create(const wcodec_allocator *allocator)
{
    struct wcodec_file_layout *l = wcodec_alloc_zeroed(allocator, sizeof *l);
    if (l == NULL)
        return NULL;
    l->allocator = allocator;
    wcodec_arena_init(&l->arena, allocator);
    return l;
}

wcodec_status wcodec_layout_read(const struct wcodec_source *source,
                                 const wcodec_allocator *allocator, struct wcodec_cancel *cancel,
                                 struct wcodec_file_layout **layout, wcodec_error *err)
{
    struct wcodec_file_layout *l = create(allocator);
    if (l == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    l->cancel = cancel;
    const wcodec_layout_reader read = reader_of(source);
    wcodec_status status = read != NULL ? read(source, l, err) : read_safetensors(source, l, err);
    if (status == WCODEC_OK && read != NULL)
        status = finish(l, source->size, err);
    if (status == WCODEC_ERROR_CORRUPT)
        explain(source, read != NULL, err);
    l->cancel = NULL;
    if (status == WCODEC_OK)
        *layout = l;
    else
        wcodec_layout_free(l);
    return status;
}

/* Take it over where it is whole. */
static wcodec_status settle(struct wcodec_file_layout *l, wcodec_status status, uint64_t file_size,
                            struct wcodec_file_layout **layout, wcodec_error *err)
{
    if (status == WCODEC_OK)
        status = finish(l, file_size, err);
    if (status == WCODEC_OK)
        *layout = l;
    else
        wcodec_layout_free(l);
    return status;
}

wcodec_status wcodec_layout_read_external(const struct wcodec_source *source,
                                          const struct wcodec_onnx_model *model,
                                          const char *location, const wcodec_allocator *allocator,
                                          struct wcodec_file_layout **layout, wcodec_error *err)
{
    struct wcodec_file_layout *l = create(allocator);
    if (l == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    const wcodec_status status = wcodec_onnx_model_external(model, location, l, err);
    return settle(l, status, source->size, layout, err);
}

wcodec_status wcodec_layout_find(wcodec_context *context, const struct wcodec_source *source,
                                 const char *onnx_model, const char *location,
                                 struct wcodec_cancel *cancel, struct wcodec_file_layout **layout,
                                 wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    const struct wcodec_onnx_model *model;
    wcodec_status status = wcodec_layout_read(source, allocator, cancel, layout, err);
    if (status != WCODEC_ERROR_CORRUPT || onnx_model == NULL)
        return status;
    if (location == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "by what name the model calls it is not said");
    status = wcodec_onnx_kept_take(context, onnx_model, &model, err);
    if (status == WCODEC_OK) {
        status = wcodec_layout_read_external(source, model, location, allocator, layout, err);
        wcodec_onnx_kept_give_back(context);
    }
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "by %s", onnx_model);
    return status;
}

static wcodec_status copy_index(const struct wcodec_index *index, struct wcodec_file_layout *l,
                                wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; i < index->tensor_count && status == WCODEC_OK; i++) {
        const struct wcodec_entry *e = &index->entries[index->tensors[i]];
        const struct wcodec_layout_tensor t = {.name = e->name,
                                               .dtype_name = e->dtype_name,
                                               .shape = e->shape,
                                               .offset = e->file_offset,
                                               .size = e->size,
                                               .dtype = e->dtype,
                                               .rank = (uint8_t)e->rank};
        status = wcodec_layout_add(l, &t, err);
    }
    for (uint64_t i = 0; i < index->metadata_count && status == WCODEC_OK; i++)
        if (strcmp(index->metadata[2 * i], WCODEC_LAYOUT_KIND) != 0)
            status = wcodec_layout_note(l, index->metadata[2 * i], index->metadata[2 * i + 1], err);
    return status;
}

wcodec_status wcodec_layout_of_index(const struct wcodec_index *index,
                                     const wcodec_allocator *allocator,
                                     struct wcodec_file_layout **layout, wcodec_error *err)
{
    char kind[16];
    struct wcodec_file_layout *l = create(allocator);
    if (l == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    wcodec_layout_kind(index, kind);
    l->kind = wcodec_arena_text(&l->arena, kind, strlen(kind));
    const wcodec_status status = l->kind != NULL
                                     ? copy_index(index, l, err)
                                     : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    return settle(l, status, index->size, layout, err);
}

void wcodec_layout_kind(const struct wcodec_index *index, char kind[16])
{
    const char *found = index->safetensors ? "safetensors" : "opaque";
    for (uint64_t i = 0; !index->safetensors && i < index->metadata_count; i++)
        if (strcmp(index->metadata[2 * i], WCODEC_LAYOUT_KIND) == 0)
            found = index->metadata[2 * i + 1];
    size_t size = strlen(found);
    bool is_word = size > 0 && size < 16;
    for (size_t i = 0; i < size && is_word; i++)
        is_word = (found[i] >= 'a' && found[i] <= 'z') || (found[i] >= '0' && found[i] <= '9');
    if (!is_word) {
        found = "opaque";
        size = strlen(found);
    }
    memset(kind, 0, 16);
    memcpy(kind, found, size);
}

uint64_t wcodec_layout_memory(const struct wcodec_file_layout *layout)
{
    /* What is parsed of a header takes up to some five times its size. */
    enum { OF_HEADER = 5 };
    return layout->safetensors != NULL ? layout->safetensors->header_size * OF_HEADER
                                       : 2 * layout->text;
}

void wcodec_layout_free(struct wcodec_file_layout *layout)
{
    if (layout == NULL)
        return;
    const wcodec_allocator *allocator = layout->allocator;
    wcodec_safetensors_free(layout->safetensors);
    wcodec_arena_free(&layout->arena);
    wcodec_free(allocator, layout->tensors);
    wcodec_free(allocator, layout->metadata);
    wcodec_free(allocator, layout);
}
