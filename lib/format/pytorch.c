/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/pytorch.h"
#include "format/names.h"
#include "format/pickle.h"
#include "core/bytes.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORRUPT(err, ...) wcodec_fail(err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

/* Containers within each other. */
enum { DEPTH_MAX = 64 };

static const struct {
    const char *name; /* of the class of a storage, or of a dtype */
    uint8_t dtype;
} types[] = {
    {"torch FloatStorage", WCODEC_DTYPE_F32},
    {"torch BFloat16Storage", WCODEC_DTYPE_BF16},
    {"torch HalfStorage", WCODEC_DTYPE_F16},
    {"torch DoubleStorage", WCODEC_DTYPE_F64},
    {"torch LongStorage", WCODEC_DTYPE_I64},
    {"torch IntStorage", WCODEC_DTYPE_I32},
    {"torch ShortStorage", WCODEC_DTYPE_I16},
    {"torch CharStorage", WCODEC_DTYPE_I8},
    {"torch ByteStorage", WCODEC_DTYPE_U8},
    {"torch BoolStorage", WCODEC_DTYPE_BOOL},
    {"torch ComplexFloatStorage", WCODEC_DTYPE_C64},
    {"torch QInt8Storage", WCODEC_DTYPE_I8},
    {"torch QUInt8Storage", WCODEC_DTYPE_U8},
    {"torch QInt32Storage", WCODEC_DTYPE_I32},
    {"torch float32", WCODEC_DTYPE_F32},
    {"torch bfloat16", WCODEC_DTYPE_BF16},
    {"torch float16", WCODEC_DTYPE_F16},
    {"torch float64", WCODEC_DTYPE_F64},
    {"torch float8_e4m3fn", WCODEC_DTYPE_F8_E4M3},
    {"torch float8_e5m2", WCODEC_DTYPE_F8_E5M2},
    {"torch float8_e4m3fnuz", WCODEC_DTYPE_F8_E4M3FNUZ},
    {"torch float8_e5m2fnuz", WCODEC_DTYPE_F8_E5M2FNUZ},
    {"torch float8_e8m0fnu", WCODEC_DTYPE_F8_E8M0},
    {"torch float4_e2m1fn_x2", WCODEC_DTYPE_U8},
    {"torch uint16", WCODEC_DTYPE_U16},
    {"torch uint32", WCODEC_DTYPE_U32},
    {"torch uint64", WCODEC_DTYPE_U64},
    {"torch int8", WCODEC_DTYPE_I8},
    {"torch uint8", WCODEC_DTYPE_U8},
    {"torch bool", WCODEC_DTYPE_BOOL},
};

/* What is known of a member: the type of its numbers, WCODEC_DTYPE_OTHER if none. */
struct storage {
    uint8_t dtype;
};

struct walk {
    struct wcodec_file_layout *layout;
    const struct wcodec_zip *zip;
    struct wcodec_names names; /* of members */
    struct storage *storages;  /* for each member */
    const char *folder;        /* of the archive, with the slash */
    size_t folder_size;
    wcodec_error *err;
    uint64_t left; /* tensors that are not listed */
    unsigned depth;
    char name[WCODEC_LAYOUT_NAME_MAX + 1];
};

typedef struct wcodec_pickle_value value_t;

/* A tensor as its pickle has it. */
struct view {
    uint64_t shape[WCODEC_LAYOUT_RANK_MAX], strides[WCODEC_LAYOUT_RANK_MAX];
    uint64_t offset; /* in elements */
    unsigned rank;
    uint8_t dtype;
    uint64_t member;
};

static bool is_text(const value_t *v, const char *text)
{
    return v != NULL && (v->kind == WCODEC_PICKLE_TEXT || v->kind == WCODEC_PICKLE_GLOBAL) &&
           strcmp(v->text, text) == 0;
}

static uint8_t type_of(const value_t *v)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_text(v, types[i].name))
            return types[i].dtype;
    return WCODEC_DTYPE_OTHER;
}

static bool read_numbers(const value_t *v, uint64_t *numbers, unsigned *count)
{
    if (v == NULL || v->kind != WCODEC_PICKLE_TUPLE)
        return false;
    *count = 0;
    for (const struct wcodec_pickle_item *i = v->first; i != NULL; i = i->next) {
        if (i->value->kind != WCODEC_PICKLE_NUMBER || i->value->number < 0 ||
            *count == WCODEC_LAYOUT_RANK_MAX)
            return false;
        numbers[(*count)++] = (uint64_t)i->value->number;
    }
    return true;
}

/* The number of the member that a persistent identity names: ("storage", class, key, device,
 * elements). */
static bool find_storage(struct walk *w, const value_t *v, uint8_t *dtype, uint64_t *member)
{
    char name[WCODEC_LAYOUT_NAME_MAX];
    const value_t *id = v != NULL && v->kind == WCODEC_PICKLE_PERSISTENT ? wcodec_pickle_item(v, 0)
                                                                         : NULL,
                  *key = wcodec_pickle_item(id, 2);
    if (id == NULL || id->kind != WCODEC_PICKLE_TUPLE ||
        !is_text(wcodec_pickle_item(id, 0), "storage") || key == NULL ||
        key->kind != WCODEC_PICKLE_TEXT)
        return false;
    /* No more of a key is looked at than a name may have: it may be long, and named often. */
    const int size =
        snprintf(name, sizeof name, "%sdata/%.*s", w->folder, (int)sizeof name, key->text);
    *dtype = type_of(wcodec_pickle_item(id, 1));
    return size > 0 && (size_t)size < sizeof name && wcodec_names_find(&w->names, name, member);
}

/* Arguments of torch._utils._rebuild_tensor_v2() and its siblings: storage, offset, shape,
 * strides, ..., of v3 the dtype as the seventh. */
static bool read_view(struct walk *w, const value_t *arguments, bool has_dtype, struct view *v)
{
    unsigned rank = 0;
    const value_t *offset = wcodec_pickle_item(arguments, 1);
    if (arguments == NULL || arguments->kind != WCODEC_PICKLE_TUPLE ||
        !find_storage(w, wcodec_pickle_item(arguments, 0), &v->dtype, &v->member) ||
        offset == NULL || offset->kind != WCODEC_PICKLE_NUMBER || offset->number < 0 ||
        !read_numbers(wcodec_pickle_item(arguments, 2), v->shape, &v->rank) ||
        !read_numbers(wcodec_pickle_item(arguments, 3), v->strides, &rank) || rank != v->rank)
        return false;
    v->offset = (uint64_t)offset->number;
    if (has_dtype)
        v->dtype = type_of(wcodec_pickle_item(arguments, 6));
    return v->dtype != WCODEC_DTYPE_OTHER;
}

/* Put dimensions into the order of the bytes: falling strides. *moved says whether that changed
 * anything. False: the elements are not dense. */
static bool make_dense(struct view *v, bool *moved)
{
    uint64_t expected = 1;
    *moved = false;
    for (unsigned i = 0; i < v->rank; i++)
        if (v->shape[i] == 0)
            return true;
    for (unsigned i = 1; i < v->rank; i++)
        for (unsigned j = i; j > 0 && v->strides[j - 1] < v->strides[j]; j--) {
            const uint64_t stride = v->strides[j], n = v->shape[j];
            /* Where a dimension is 1 its stride says nothing. */
            *moved = *moved || (n != 1 && v->shape[j - 1] != 1);
            v->strides[j] = v->strides[j - 1];
            v->shape[j] = v->shape[j - 1];
            v->strides[j - 1] = stride;
            v->shape[j - 1] = n;
        }
    for (unsigned i = v->rank; i-- > 0;) {
        if (v->shape[i] != 1 && v->strides[i] != expected)
            return false;
        if (!wcodec_mul_u64(expected, v->shape[i], &expected))
            return false;
    }
    return true;
}

/* "shape 2,3 strides 1,2", of the tensor as it was. */
static void describe_strides(const struct view *v, char *text, size_t room)
{
    size_t at = 0;
    for (unsigned part = 0; part < 2; part++)
        for (unsigned i = 0; i < v->rank && at < room; i++) {
            const char *before = i != 0 ? "," : part == 0 ? "shape " : " strides ";
            const int n = snprintf(text + at, room - at, "%s%" PRIu64, before,
                                   part == 0 ? v->shape[i] : v->strides[i]);
            at += n > 0 ? (size_t)n : 0;
        }
}

static wcodec_status add_view(struct walk *w, struct view v)
{
    const struct wcodec_zip_member *m = &w->zip->members[v.member];
    char key[WCODEC_LAYOUT_NAME_MAX + 32], strides[WCODEC_LAYOUT_RANK_MAX * 42 + 20];
    const unsigned bits = wcodec_dtype_bits((wcodec_dtype)v.dtype);
    uint64_t begin, size;
    bool moved = false;
    w->storages[v.member].dtype = v.dtype;
    describe_strides(&v, strides, sizeof strides);
    if (!m->is_stored || !make_dense(&v, &moved)) {
        w->left++;
        return WCODEC_OK;
    }
    if (!wcodec_dtype_size((wcodec_dtype)v.dtype, v.shape, v.rank, &size) ||
        !wcodec_mul_u64(v.offset, bits / 8, &begin) || begin > m->size || size > m->size - begin)
        return CORRUPT(w->err, "tensor \"%.200s\" is not within \"%.200s\"", w->name, m->name);
    const struct wcodec_layout_tensor t = {.name = w->name[0] != 0 ? w->name : "tensor",
                                           .dtype = v.dtype,
                                           .shape = v.shape,
                                           .rank = (uint8_t)v.rank,
                                           .offset = m->begin + (size != 0 ? begin : 0),
                                           .size = size};
    wcodec_status status = wcodec_layout_add(w->layout, &t, w->err);
    if (status != WCODEC_OK || !moved)
        return status;
    snprintf(key, sizeof key, "pytorch.permuted.%s", w->name);
    return wcodec_layout_note(w->layout, key, strides, w->err);
}

static wcodec_status visit(struct walk *w, value_t *v);

/* Visit a value with this added to the name. */
static wcodec_status visit_named(struct walk *w, const char *part, value_t *v)
{
    const size_t size = strlen(w->name), more = strlen(part);
    if (size + more + 2 > sizeof w->name)
        return CORRUPT(w->err, "a tensor's name has more than %d bytes",
                       (int)WCODEC_LAYOUT_NAME_MAX);
    snprintf(w->name + size, sizeof w->name - size, "%s%s", size != 0 ? "." : "", part);
    const wcodec_status status = visit(w, v);
    w->name[size] = 0;
    return status;
}

static wcodec_status visit_items(struct walk *w, const value_t *v)
{
    wcodec_status status = WCODEC_OK;
    uint64_t number = 0;
    const bool is_dict = v->kind == WCODEC_PICKLE_DICT;
    for (const struct wcodec_pickle_item *i = v->first; i != NULL && status == WCODEC_OK;
         i = i->next) {
        enum { POLLED = 64 };
        char text[24];
        const value_t *key = i->value;
        if (number % POLLED == 0)
            status = wcodec_cancel_check(w->layout->cancel, w->err);
        if (status != WCODEC_OK)
            break;
        snprintf(text, sizeof text, "%" PRIu64, number++);
        if (is_dict) {
            i = i->next; /* its value: they come in pairs */
            if (key->kind == WCODEC_PICKLE_NUMBER)
                snprintf(text, sizeof text, "%" PRId64, key->number);
        }
        status =
            visit_named(w, is_dict && key->kind == WCODEC_PICKLE_TEXT ? key->text : text, i->value);
    }
    return status;
}

/* A tensor, what holds one, or any other object, whose arguments and state are looked into. */
static wcodec_status visit_object(struct walk *w, value_t *v)
{
    const value_t *call = wcodec_pickle_item(v, 0);
    value_t *arguments = wcodec_pickle_item(v, 1);
    struct view view = {.rank = 0};
    const bool v3 = is_text(call, "torch._utils _rebuild_tensor_v3");
    if (v3 || is_text(call, "torch._utils _rebuild_tensor_v2") ||
        is_text(call, "torch._utils _rebuild_tensor") ||
        is_text(call, "torch._utils _rebuild_qtensor")) {
        if (read_view(w, arguments, v3, &view))
            return add_view(w, view);
        w->left++;
        return WCODEC_OK;
    }
    if (is_text(call, "torch._utils _rebuild_parameter") ||
        is_text(call, "torch._utils _rebuild_parameter_with_state"))
        return wcodec_pickle_item(arguments, 0) != NULL ? visit(w, wcodec_pickle_item(arguments, 0))
                                                        : WCODEC_OK;
    wcodec_status status = WCODEC_OK;
    const struct wcodec_pickle_item *i = v->is_seen ? NULL : v->first;
    v->is_seen = true;
    for (; i != NULL && status == WCODEC_OK; i = i->next)
        status = visit(w, i->value);
    return status;
}

/* Tensors are visited by each way that leads to them, what holds others once. */
static wcodec_status visit(struct walk *w, value_t *v)
{
    wcodec_status status = WCODEC_OK;
    if (v->kind != WCODEC_PICKLE_TUPLE && v->kind != WCODEC_PICKLE_LIST &&
        v->kind != WCODEC_PICKLE_DICT && v->kind != WCODEC_PICKLE_OBJECT)
        return status;
    const bool is_object = v->kind == WCODEC_PICKLE_OBJECT;
    if (v->is_seen && !is_object)
        return status;
    if (w->depth == DEPTH_MAX)
        return CORRUPT(w->err, "its pickle has values nested more than %d deep", (int)DEPTH_MAX);
    v->is_seen = v->is_seen || !is_object;
    w->depth++;
    status = is_object ? visit_object(w, v) : visit_items(w, v);
    w->depth--;
    return status;
}

/* Where tensors overlap, the first, largest one stays. */
static int compare_extents(const void *a, const void *b)
{
    const struct wcodec_layout_tensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return strcmp(x->name, y->name);
}

static wcodec_status drop_shared(struct walk *w)
{
    struct wcodec_file_layout *l = w->layout;
    char key[WCODEC_LAYOUT_NAME_MAX + 32];
    wcodec_status status = WCODEC_OK;
    uint64_t kept = 0, end = 0;
    if (l->count != 0)
        qsort(l->tensors, (size_t)l->count, sizeof *l->tensors, compare_extents);
    for (uint64_t i = 0; i < l->count && status == WCODEC_OK; i++) {
        const struct wcodec_layout_tensor t = l->tensors[i];
        const struct wcodec_layout_tensor *last = kept != 0 ? &l->tensors[kept - 1] : NULL;
        if (t.size != 0 && t.offset < end) {
            if (last->offset == t.offset && last->dtype == t.dtype && last->rank == t.rank &&
                (t.rank == 0 || memcmp(last->shape, t.shape, t.rank * sizeof *t.shape) == 0)) {
                snprintf(key, sizeof key, "pytorch.shared.%s", t.name);
                status = wcodec_layout_note(l, key, last->name, w->err);
            } else {
                w->left++;
            }
            continue;
        }
        if (t.size != 0)
            end = t.offset + t.size;
        l->tensors[kept++] = t;
    }
    l->count = status == WCODEC_OK ? kept : l->count;
    return status;
}

/* Storages of which nothing is listed, in the order of the file, as the members are. */
static wcodec_status add_storages(struct walk *w)
{
    const uint64_t listed = w->layout->count;
    wcodec_status status = WCODEC_OK;
    uint64_t t = 0;
    for (uint64_t i = 0; i < w->zip->count && status == WCODEC_OK; i++) {
        const struct wcodec_zip_member *m = &w->zip->members[i];
        const uint8_t dtype = w->storages[i].dtype;
        while (t < listed && (w->layout->tensors[t].offset < m->begin ||
                              (w->layout->tensors[t].size == 0 && m->size != 0)))
            t++;
        const bool has_one = t < listed && w->layout->tensors[t].offset < m->begin + m->size;
        if (dtype == WCODEC_DTYPE_OTHER || !m->is_stored || m->size == 0 || has_one)
            continue;
        const unsigned bytes = wcodec_dtype_bits((wcodec_dtype)dtype) / 8;
        if (m->size % bytes != 0)
            continue;
        const uint64_t n = m->size / bytes;
        const struct wcodec_layout_tensor storage = {.name = m->name + w->folder_size,
                                                     .dtype = dtype,
                                                     .shape = &n,
                                                     .rank = 1,
                                                     .offset = m->begin,
                                                     .size = m->size};
        status = wcodec_layout_add(w->layout, &storage, w->err);
    }
    return status;
}

static wcodec_status check_order(const struct wcodec_source *source, struct walk *w)
{
    char name[WCODEC_LAYOUT_NAME_MAX];
    uint8_t text[6];
    uint64_t number = 0;
    snprintf(name, sizeof name, "%sbyteorder", w->folder);
    if (!wcodec_names_find(&w->names, name, &number))
        return WCODEC_OK;
    const struct wcodec_zip_member *m = &w->zip->members[number];
    if (m->size != sizeof text || !m->is_stored)
        return CORRUPT(w->err, "its numbers are not little-endian");
    wcodec_status status = wcodec_source_read(source, m->begin, text, sizeof text, w->err);
    if (status == WCODEC_OK && memcmp(text, "little", sizeof text) != 0)
        status = CORRUPT(w->err, "its numbers are not little-endian");
    return status;
}

static wcodec_status read_pickle(const struct wcodec_source *source,
                                 const struct wcodec_zip_member *m, struct wcodec_arena *arena,
                                 struct wcodec_cancel *cancel, value_t **value, wcodec_error *err)
{
    if (m->size > WCODEC_PICKLE_SIZE_MAX)
        return CORRUPT(err, "its pickle has %" PRIu64 " bytes, expected at most %d", m->size,
                       (int)WCODEC_PICKLE_SIZE_MAX);
    uint8_t *bytes = wcodec_alloc(arena->allocator, (size_t)m->size);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a pickle");
    wcodec_status status = wcodec_source_read(source, m->begin, bytes, (size_t)m->size, err);
    if (status == WCODEC_OK)
        status = wcodec_pickle_read(bytes, (size_t)m->size, arena, cancel, value, err);
    wcodec_free(arena->allocator, bytes);
    return status;
}

static wcodec_status find_tensors(const struct wcodec_source *source, struct walk *w,
                                  const struct wcodec_zip_member *pickle)
{
    struct wcodec_arena arena;
    value_t *value = NULL;
    wcodec_arena_init(&arena, w->layout->allocator);
    wcodec_status status = read_pickle(source, pickle, &arena, w->layout->cancel, &value, w->err);
    if (status == WCODEC_OK)
        status = visit(w, value);
    wcodec_arena_free(&arena);
    if (status == WCODEC_OK)
        status = drop_shared(w);
    if (status == WCODEC_OK)
        status = add_storages(w);
    if (status == WCODEC_OK && w->layout->count == 0)
        status = CORRUPT(w->err, "no tensors are found in it");
    if (status == WCODEC_OK && w->left != 0)
        wcodec_fail(&w->layout->remark, WCODEC_ERROR_CORRUPT,
                    "%" PRIu64 " tensors are not listed: they are parts of others, not dense, "
                    "compressed, or of a type that is not known",
                    w->left);
    return status;
}

static wcodec_status prepare(struct walk *w)
{
    const wcodec_allocator *allocator = w->layout->allocator;
    const struct wcodec_zip *zip = w->zip;
    w->storages = wcodec_alloc_zeroed(allocator, (size_t)zip->count * sizeof *w->storages);
    if (w->storages == NULL || !wcodec_names_init(&w->names, allocator, zip->count))
        return wcodec_fail(w->err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " names",
                           zip->count);
    for (uint64_t i = 0; i < zip->count; i++) {
        uint64_t number = i;
        wcodec_names_add(&w->names, zip->members[i].name, &number);
    }
    return WCODEC_OK;
}

static const char pickle_name[] = "/data.pkl";

const struct wcodec_zip_member *wcodec_pytorch_pickle(const struct wcodec_zip *zip)
{
    for (uint64_t i = 0; i < zip->count; i++) {
        const char *slash = strchr(zip->members[i].name, '/');
        if (slash != NULL && strcmp(slash, pickle_name) == 0)
            return &zip->members[i];
    }
    return NULL;
}

wcodec_status wcodec_pytorch_read(const struct wcodec_source *source,
                                  struct wcodec_file_layout *layout, const struct wcodec_zip *zip,
                                  const struct wcodec_zip_member *pickle, wcodec_error *err)
{
    struct walk *w = wcodec_alloc_zeroed(layout->allocator, sizeof *w);
    char *folder = wcodec_strdup(layout->allocator, pickle->name);
    wcodec_status status = WCODEC_ERROR_MEMORY;
    layout->kind = "pytorch";
    if (!pickle->is_stored) {
        status = CORRUPT(err, "its members are compressed");
    } else if (w == NULL || folder == NULL) {
        wcodec_fail(err, status, "out of memory");
    } else {
        folder[strlen(folder) - strlen(pickle_name) + 1] = 0;
        w->layout = layout;
        w->zip = zip;
        w->folder = folder;
        w->folder_size = strlen(folder);
        w->err = err;
        status = prepare(w);
        if (status == WCODEC_OK)
            status = check_order(source, w);
        if (status == WCODEC_OK)
            status = find_tensors(source, w, pickle);
        wcodec_names_free(&w->names);
        wcodec_free(layout->allocator, w->storages);
    }
    wcodec_free(layout->allocator, folder);
    wcodec_free(layout->allocator, w);
    return status;
}
