/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/declared.h"
#include "write/header.h"
#include "format/loss.h"
#include "format/safetensors.h"
#include "core/error.h"
#include "core/memory.h"

void wcodec_declared_init(struct wcodec_declared *declared, struct wcodec_arena *arena)
{
    *declared = (struct wcodec_declared){.allocator = arena->allocator, .arena = arena};
}

void wcodec_declared_free(struct wcodec_declared *declared)
{
    struct wcodec_declared_names *sets[] = {&declared->names, &declared->keys};
    if (declared->allocator == NULL)
        return;
    for (size_t i = 0; i < 2; i++) {
        wcodec_names_free(&sets[i]->names);
        wcodec_free(declared->allocator, sets[i]->list);
    }
    wcodec_free(declared->allocator, declared->tensors);
    wcodec_free(declared->allocator, declared->metadata);
}

static bool has_name(const struct wcodec_declared_names *set, const char *name)
{
    uint64_t number;
    return set->count != 0 && wcodec_names_find(&set->names, name, &number);
}

/* Add a name that is not there, and that stays in memory. False if memory is short. */
static bool add_name(struct wcodec_declared_names *set, const wcodec_allocator *allocator,
                     const char *name)
{
    uint64_t number;
    if (set->count == set->capacity) {
        uint64_t capacity = set->capacity ? set->capacity * 2 : 16;
        const char **list = wcodec_realloc_array(allocator, set->list, capacity, sizeof *list);
        if (!list)
            return false;
        set->list = list;
        struct wcodec_names larger;
        if (!wcodec_names_init(&larger, allocator, capacity))
            return false;
        for (uint64_t i = 0; i < set->count; i++) {
            number = i;
            wcodec_names_add(&larger, list[i], &number);
        }
        wcodec_names_free(&set->names);
        set->names = larger;
        set->capacity = capacity;
    }
    number = set->count;
    wcodec_names_add(&set->names, name, &number);
    set->list[set->count++] = name;
    return true;
}

static bool is_text(const char *text)
{
    return text && wcodec_utf8_valid((const uint8_t *)text, strlen(text));
}

wcodec_status wcodec_declared_metadata(struct wcodec_declared *declared, const char *key,
                                       const char *value, wcodec_error *err)
{
    struct wcodec_declared *d = declared;
    const uint64_t count = d->keys.count;
    if (!is_text(key) || !is_text(value))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "metadata is no UTF-8");
    if (wcodec_loss_is_key(key))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "metadata keys that begin with " WCODEC_LOSS_KEY
                           " are not the caller's");
    if (has_name(&d->keys, key))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the metadata key \"%.200s\" is there already",
                           key);
    if (count == d->metadata_capacity) {
        const uint64_t capacity = count ? count * 2 : 16;
        const char **list =
            wcodec_realloc_array(d->allocator, d->metadata, capacity, 2 * sizeof *list);
        if (!list)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        d->metadata = list;
        d->metadata_capacity = capacity;
    }
    d->metadata[2 * count] = wcodec_arena_text(d->arena, key, strlen(key));
    d->metadata[2 * count + 1] = wcodec_arena_text(d->arena, value, strlen(value));
    if (!d->metadata[2 * count] || !d->metadata[2 * count + 1] ||
        !add_name(&d->keys, d->allocator, d->metadata[2 * count]))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    return WCODEC_OK;
}

static wcodec_status check_declaration(const struct wcodec_declared *d, const char *name,
                                       wcodec_dtype dtype, const uint64_t *shape, unsigned rank,
                                       uint64_t *size, wcodec_error *err)
{
    if (!is_text(name))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the tensor's name is no UTF-8");
    if (strcmp(name, "__metadata__") == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "no tensor can be named \"__metadata__\"");
    if (wcodec_dtype_bits(dtype) == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "tensor \"%.200s\": dtype %d is none", name,
                           (int)dtype);
    if (rank > 255 || (rank != 0 && !shape))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\": %u dimensions, expected at most 255", name, rank);
    if (!wcodec_safetensors_bytes(dtype, shape, rank, size))
        return wcodec_fail(
            err, WCODEC_ERROR_USAGE,
            "tensor \"%.200s\": the shape makes no whole number of bytes, or too many", name);
    if (d->size + *size > (uint64_t)1 << 48)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\": all tensors together have more than 2^48 bytes",
                           name);
    return WCODEC_OK;
}

wcodec_status wcodec_declared_tensor(struct wcodec_declared *declared, const char *name,
                                     wcodec_dtype dtype, const uint64_t *shape, unsigned rank,
                                     wcodec_error *err)
{
    struct wcodec_declared *d = declared;
    uint64_t size = 0;
    const uint64_t count = d->names.count;
    const wcodec_status status = check_declaration(d, name, dtype, shape, rank, &size, err);
    if (status != WCODEC_OK)
        return status;
    if (has_name(&d->names, name))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the name \"%.200s\" was declared before",
                           name);
    if (count == d->names.capacity) { /* the set grows with it, below */
        struct wcodec_entry *list =
            wcodec_realloc_array(d->allocator, d->tensors, count ? count * 2 : 16, sizeof *list);
        if (!list)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        d->tensors = list;
    }
    char *name_copy = wcodec_arena_text(d->arena, name, strlen(name));
    uint64_t *shape_copy = wcodec_arena_alloc(d->arena, rank * sizeof *shape_copy);
    if (!name_copy || !shape_copy || !add_name(&d->names, d->allocator, name_copy))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    if (rank != 0)
        memcpy(shape_copy, shape, rank * sizeof *shape_copy);
    d->tensors[count] = (struct wcodec_entry){.is_tensor = true,
                                              .dtype = (uint8_t)dtype,
                                              .name = name_copy,
                                              .dtype_name = wcodec_dtype_name(dtype),
                                              .rank = rank,
                                              .shape = shape_copy,
                                              .size = size};
    d->size += size;
    return WCODEC_OK;
}

wcodec_status wcodec_declared_header(const struct wcodec_declared *declared, uint8_t **header,
                                     uint64_t *size, wcodec_error *err)
{
    return wcodec_write_header(declared->allocator, declared->tensors, declared->names.count,
                               declared->metadata, declared->keys.count, header, size, err);
}
