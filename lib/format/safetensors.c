/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/safetensors.h"
#include "format/json_text.h"
#include "format/names.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANK_MAX = 255 };

struct parser {
    struct wcodec_safetensors *s;
    struct wcodec_arena *arena;
    uint64_t capacity;          /* of s->tensors */
    uint64_t metadata_capacity; /* pairs */
    bool metadata_seen;
};

/* The members of one entry that matter, as they stand. */
struct entry_text {
    struct wcodec_arena *arena;
    const char *name;
    struct wcodec_json_span dtype, shape, offsets;
};

/* The usual spelling of a key is known without decoding it. */
static bool is_key(struct wcodec_json_span key, const char *name)
{
    size_t size = strlen(name);
    return key.size == size + 2 && memcmp(key.at + 1, name, size) == 0;
}

static struct wcodec_json_span *entry_member(struct entry_text *e, struct wcodec_json_span key)
{
    return is_key(key, "dtype")          ? &e->dtype
           : is_key(key, "shape")        ? &e->shape
           : is_key(key, "data_offsets") ? &e->offsets
                                         : NULL;
}

static wcodec_status take_entry_member(void *opaque, struct wcodec_json_span key,
                                       struct wcodec_json_span value, wcodec_error *err)
{
    struct entry_text *e = opaque;
    struct wcodec_json_span *member = entry_member(e, key);
    if (!member) {
        /* Escaped, perhaps. */
        const char *name;
        wcodec_status status = wcodec_json_string(e->arena, key, "a key", &name, err);
        if (status != WCODEC_OK)
            return status;
        char quoted[16];
        int size = snprintf(quoted, sizeof quoted, "\"%s\"", name);
        if (size > 0 && size < (int)sizeof quoted)
            member =
                entry_member(e, (struct wcodec_json_span){(const uint8_t *)quoted, (size_t)size});
    }
    if (!member)
        return wcodec_json_check(value, err); /* the reference ignores what it does not know */
    if (member->at)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%.*s is there twice", (int)key.size,
                           (const char *)key.at);
    *member = value;
    return WCODEC_OK;
}

/* The reference multiplies in this order, and refuses a product that overflows before a later 0. */
bool wcodec_safetensors_bytes(wcodec_dtype dtype, const uint64_t *shape, unsigned rank,
                              uint64_t *bytes)
{
    uint64_t n = 1, bits;
    for (unsigned i = 0; i < rank; i++)
        if (!wcodec_mul_u64(n, shape[i], &n))
            return false;
    return wcodec_mul_u64(n, wcodec_dtype_bits(dtype), &bits) && bits % 8 == 0 &&
           wcodec_dtype_size(dtype, shape, rank, bytes);
}

/* What the entry says, without its place. */
static wcodec_status read_entry(struct entry_text *e, struct wcodec_safetensor *t,
                                wcodec_error *err)
{
    if (!e->dtype.at || !e->shape.at || !e->offsets.at)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "\"%s\" is missing",
                           !e->dtype.at   ? "dtype"
                           : !e->shape.at ? "shape"
                                          : "data_offsets");
    const char *dtype;
    const uint64_t *shape, *offsets;
    size_t rank, two;
    wcodec_status status = wcodec_json_string(e->arena, e->dtype, "dtype", &dtype, err);
    if (status == WCODEC_OK)
        status = wcodec_json_integers(e->arena, e->shape, "shape", &shape, &rank, err);
    if (status == WCODEC_OK)
        status = wcodec_json_integers(e->arena, e->offsets, "data_offsets", &offsets, &two, err);
    if (status != WCODEC_OK)
        return status;
    if (two != 2)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "data_offsets has %zu numbers, expected 2",
                           two);
    if (offsets[0] > offsets[1])
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "data_offsets end at %" PRIu64 ", before they begin at %" PRIu64,
                           offsets[1], offsets[0]);
    if (rank > RANK_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "shape has %zu dimensions, expected at most %d", rank, RANK_MAX);
    for (size_t i = 0; i < rank; i++)
        if (shape[i] >= (uint64_t)1 << 48)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "dimension %zu of shape is %" PRIu64 ", expected less than 2^48", i,
                               shape[i]);

    t->name = e->name;
    t->dtype = (uint8_t)wcodec_dtype_from_name(dtype);
    t->dtype_name =
        t->dtype == WCODEC_DTYPE_OTHER ? dtype : wcodec_dtype_name((wcodec_dtype)t->dtype);
    t->rank = (uint8_t)rank;
    t->shape = shape;
    t->offset = offsets[0];
    t->size = offsets[1] - offsets[0];
    uint64_t bytes;
    if (t->dtype == WCODEC_DTYPE_OTHER)
        return WCODEC_OK;
    if (!wcodec_safetensors_bytes((wcodec_dtype)t->dtype, shape, (unsigned)rank, &bytes))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "shape is no whole number of bytes, or too large");
    if (bytes != t->size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "data_offsets hold %" PRIu64 " bytes, but %s and shape make %" PRIu64,
                           t->size, t->dtype_name, bytes);
    return WCODEC_OK;
}

/* Room for one more of `count`, by doubling. */
static bool grow(const wcodec_allocator *allocator, void **list, uint64_t count, uint64_t *capacity,
                 size_t size)
{
    if (count < *capacity)
        return true;
    uint64_t wanted = *capacity ? *capacity * 2 : 16;
    void *larger = wcodec_realloc_array(allocator, *list, wanted, size);
    if (!larger)
        return false;
    *list = larger;
    *capacity = wanted;
    return true;
}

static wcodec_status take_metadata(void *opaque, struct wcodec_json_span key,
                                   struct wcodec_json_span value, wcodec_error *err)
{
    struct parser *p = opaque;
    void *list = p->s->metadata;
    bool grown = grow(p->s->allocator, &list, p->s->metadata_count, &p->metadata_capacity,
                      2 * sizeof *p->s->metadata);
    p->s->metadata = list;
    if (!grown)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for metadata");
    const char **pair = p->s->metadata + 2 * p->s->metadata_count;
    wcodec_status status =
        wcodec_json_string(p->arena, key, "a key of __metadata__", &pair[0], err);
    if (status == WCODEC_OK)
        status = wcodec_json_string(p->arena, value, "a value of __metadata__", &pair[1], err);
    if (status == WCODEC_OK)
        p->s->metadata_count++;
    return status;
}

static wcodec_status take_top_member(void *opaque, struct wcodec_json_span key,
                                     struct wcodec_json_span value, wcodec_error *err)
{
    struct parser *p = opaque;
    struct entry_text entry = {.arena = p->arena};
    wcodec_status status = wcodec_json_string(p->arena, key, "a tensor's name", &entry.name, err);
    if (status != WCODEC_OK)
        return status;
    if (strcmp(entry.name, "__metadata__") == 0) {
        if (p->metadata_seen)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "__metadata__ is there twice");
        p->metadata_seen = true;
        if (value.size == 4 && memcmp(value.at, "null", 4) == 0)
            return WCODEC_OK;
        status = wcodec_json_members(value, 1, take_metadata, p, err);
        if (status != WCODEC_OK)
            wcodec_error_prefix(err, "__metadata__");
        return status;
    }
    void *list = p->s->tensors;
    bool grown = grow(p->s->allocator, &list, p->s->count, &p->capacity, sizeof *p->s->tensors);
    p->s->tensors = list;
    if (!grown)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " tensors",
                           p->s->count);
    status = wcodec_json_members(value, 1, take_entry_member, &entry, err);
    if (status == WCODEC_OK)
        status = read_entry(&entry, &p->s->tensors[p->s->count], err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "tensor \"%.200s\"", entry.name);
        return status;
    }
    p->s->count++;
    return WCODEC_OK;
}

static wcodec_status check_distinct(const struct wcodec_safetensors *s, uint64_t count,
                                    const char *(*name_of)(const struct wcodec_safetensors *,
                                                           uint64_t),
                                    wcodec_error *err)
{
    struct wcodec_names names;
    if (count < 2)
        return WCODEC_OK;
    if (!wcodec_names_init(&names, s->allocator, count))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " names", count);
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        uint64_t number = i;
        if (!wcodec_names_add(&names, name_of(s, i), &number))
            status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the name \"%.200s\" is there twice",
                                 name_of(s, i));
    }
    wcodec_names_free(&names);
    return status;
}

static const char *tensor_name(const struct wcodec_safetensors *s, uint64_t i)
{
    return s->tensors[i].name;
}

static const char *metadata_key(const struct wcodec_safetensors *s, uint64_t i)
{
    return s->metadata[2 * i];
}

/* Where a tensor's data is; empty ones come before the one that starts at the same place, and among
 * each other in the order of the text. */
struct extent {
    uint64_t offset, end, number;
};

static int compare_extents(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static wcodec_status sort_by_place(struct wcodec_safetensors *s, wcodec_error *err)
{
    if (s->count < 2)
        return WCODEC_OK;
    struct extent *extents = wcodec_alloc_array(s->allocator, s->count, sizeof *extents);
    struct wcodec_safetensor *sorted = wcodec_alloc_array(s->allocator, s->count, sizeof *sorted);
    if (!extents || !sorted) {
        wcodec_free(s->allocator, extents);
        wcodec_free(s->allocator, sorted);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " tensors",
                           s->count);
    }
    for (uint64_t i = 0; i < s->count; i++)
        extents[i] =
            (struct extent){s->tensors[i].offset, s->tensors[i].offset + s->tensors[i].size, i};
    qsort(extents, (size_t)s->count, sizeof *extents, compare_extents);
    for (uint64_t i = 0; i < s->count; i++)
        sorted[i] = s->tensors[extents[i].number];
    wcodec_free(s->allocator, extents);
    wcodec_free(s->allocator, s->tensors);
    s->tensors = sorted;
    return WCODEC_OK;
}

static wcodec_status check_places(const struct wcodec_safetensors *s, uint64_t data_size,
                                  wcodec_error *err)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        if (s->tensors[i].offset != at)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "tensor \"%.200s\": data_offsets begin at %" PRIu64
                               ", expected %" PRIu64 " (no hole and no overlap)",
                               s->tensors[i].name, s->tensors[i].offset, at);
        at += s->tensors[i].size;
    }
    if (at != data_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the tensors end at byte %" PRIu64 " of %" PRIu64 " bytes of data", at,
                           data_size);
    return WCODEC_OK;
}

static wcodec_status parse_header(struct wcodec_safetensors *s, uint64_t data_size,
                                  wcodec_error *err)
{
    struct parser p = {.s = s, .arena = s->arena};
    struct wcodec_json_span text = {s->header + 8, (size_t)(s->header_size - 8)};
    wcodec_status status = wcodec_json_members(text, 0, take_top_member, &p, err);
    if (status == WCODEC_OK)
        status = check_distinct(s, s->count, tensor_name, err);
    if (status == WCODEC_OK)
        status = check_distinct(s, s->metadata_count, metadata_key, err);
    if (status == WCODEC_OK)
        status = sort_by_place(s, err);
    if (status == WCODEC_OK)
        status = check_places(s, data_size, err);
    return status;
}

/* Length of the header's text, checked against the file's size before anything is allocated. */
static wcodec_status read_length(const struct wcodec_source *source, uint64_t *length,
                                 wcodec_error *err)
{
    uint8_t word[8];
    if (source->size < sizeof word)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " bytes are too few for a header's length", source->size);
    wcodec_status status = wcodec_source_read(source, 0, word, sizeof word, err);
    if (status != WCODEC_OK)
        return status;
    uint64_t n = wcodec_load_u64(word);
    if (n > WCODEC_SAFETENSORS_HEADER_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a header of %" PRIu64 " bytes, expected at most %" PRIu64, n,
                           WCODEC_SAFETENSORS_HEADER_MAX);
    if (n > source->size - sizeof word)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a header of %" PRIu64 " bytes in a file of %" PRIu64, n, source->size);
    *length = n;
    return WCODEC_OK;
}

wcodec_status wcodec_safetensors_read(const struct wcodec_source *source,
                                      const wcodec_allocator *allocator,
                                      struct wcodec_safetensors **safetensors, wcodec_error *err)
{
    uint64_t length = 0;
    wcodec_status status = read_length(source, &length, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_safetensors *s = wcodec_alloc_zeroed(allocator, sizeof *s);
    if (!s)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    s->allocator = allocator;
    s->header_size = length + 8;
    s->arena = wcodec_alloc(allocator, sizeof(struct wcodec_arena));
    if (s->arena)
        wcodec_arena_init(s->arena, allocator);
    s->header = wcodec_alloc(allocator, (size_t)s->header_size);
    if (!s->arena || !s->header)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY,
                             "out of memory for a header of %" PRIu64 " bytes", length);
    if (status == WCODEC_OK)
        status = wcodec_source_read(source, 0, s->header, (size_t)s->header_size, err);
    if (status == WCODEC_OK)
        status = parse_header(s, source->size - s->header_size, err);
    if (status != WCODEC_OK) {
        wcodec_safetensors_free(s);
        return status;
    }
    *safetensors = s;
    return WCODEC_OK;
}

void wcodec_safetensors_free(struct wcodec_safetensors *safetensors)
{
    if (!safetensors)
        return;
    const wcodec_allocator *allocator = safetensors->allocator;
    if (safetensors->arena)
        wcodec_arena_free(safetensors->arena);
    wcodec_free(allocator, safetensors->arena);
    wcodec_free(allocator, safetensors->header);
    wcodec_free(allocator, safetensors->tensors);
    wcodec_free(allocator, safetensors->metadata);
    wcodec_free(allocator, safetensors);
}
