/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/onnx_tensor.h"
#include "format/names.h"
#include "core/bytes.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORRUPT(err, ...) wcodec_fail(err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

/* Fields of a TensorProto. */
enum {
    DIMS = 1,
    DATA_TYPE = 2,
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    NAME = 8,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    DATA_LOCATION = 14,
};

/* Types by their numbers. Those of less than a byte are bytes with several elements. */
static const struct type {
    const char *name;
    uint8_t dtype;
    uint8_t bits;  /* 0: no numbers */
    uint8_t field; /* which holds them as bytes, beside raw_data */
} types[] = {
    [1] = {"FLOAT", WCODEC_DTYPE_F32, 32, FLOAT_DATA},
    [2] = {"UINT8", WCODEC_DTYPE_U8, 8, 0},
    [3] = {"INT8", WCODEC_DTYPE_I8, 8, 0},
    [4] = {"UINT16", WCODEC_DTYPE_U16, 16, 0},
    [5] = {"INT16", WCODEC_DTYPE_I16, 16, 0},
    [6] = {"INT32", WCODEC_DTYPE_I32, 32, 0},
    [7] = {"INT64", WCODEC_DTYPE_I64, 64, 0},
    [8] = {"STRING", 0, 0, 0},
    [9] = {"BOOL", WCODEC_DTYPE_BOOL, 8, 0},
    [10] = {"FLOAT16", WCODEC_DTYPE_F16, 16, 0},
    [11] = {"DOUBLE", WCODEC_DTYPE_F64, 64, DOUBLE_DATA},
    [12] = {"UINT32", WCODEC_DTYPE_U32, 32, 0},
    [13] = {"UINT64", WCODEC_DTYPE_U64, 64, 0},
    [14] = {"COMPLEX64", WCODEC_DTYPE_C64, 64, FLOAT_DATA},
    [15] = {"COMPLEX128", WCODEC_DTYPE_OTHER, 128, DOUBLE_DATA},
    [16] = {"BFLOAT16", WCODEC_DTYPE_BF16, 16, 0},
    [17] = {"FLOAT8E4M3FN", WCODEC_DTYPE_F8_E4M3, 8, 0},
    [18] = {"FLOAT8E4M3FNUZ", WCODEC_DTYPE_F8_E4M3FNUZ, 8, 0},
    [19] = {"FLOAT8E5M2", WCODEC_DTYPE_F8_E5M2, 8, 0},
    [20] = {"FLOAT8E5M2FNUZ", WCODEC_DTYPE_F8_E5M2FNUZ, 8, 0},
    [21] = {"UINT4", WCODEC_DTYPE_U8, 4, 0},
    [22] = {"INT4", WCODEC_DTYPE_U8, 4, 0},
    [23] = {"FLOAT4E2M1", WCODEC_DTYPE_U8, 4, 0},
    [24] = {"FLOAT8E8M0", WCODEC_DTYPE_F8_E8M0, 8, 0},
    [25] = {"UINT2", WCODEC_DTYPE_U8, 2, 0},
    [26] = {"INT2", WCODEC_DTYPE_U8, 2, 0},
    [27] = {"FLOAT6E2M3", WCODEC_DTYPE_U8, 6, 0},
    [28] = {"FLOAT6E3M2", WCODEC_DTYPE_U8, 6, 0},
};

struct wcodec_onnx_found {
    const struct type *type;
    const char *name;
    const char *location; /* NULL: in the model */
    const uint64_t *shape;
    uint64_t begin, size;
    uint64_t number; /* in the order of the model */
    uint64_t twin;   /* the first of the same name, if that is another */
    unsigned rank;
};

void wcodec_onnx_tensor_begin(struct wcodec_onnx_tensor *t)
{
    t->name[0] = t->location[0] = 0;
    t->rank = 0;
    t->type = t->begin = t->size = t->offset = t->length = 0;
    t->holder = 0;
    t->is_scattered = t->is_external = t->has_length = t->has_excess_rank = false;
}

/* Too many are an error when the tensor's name, which comes after them, is known. */
static void add_dimension(struct wcodec_onnx_tensor *t, uint64_t dimension)
{
    if (t->rank < WCODEC_LAYOUT_RANK_MAX)
        t->shape[t->rank++] = dimension;
    else
        t->has_excess_rank = true;
}

/* One to a field, or packed. */
static wcodec_status read_dimensions(struct wcodec_onnx_tensor *t, struct wcodec_protobuf *p,
                                     const struct wcodec_protobuf_field *f)
{
    wcodec_status status = WCODEC_OK;
    const uint64_t end = f->offset + f->size;
    if (f->type == WCODEC_PROTOBUF_VARINT) {
        add_dimension(t, f->value);
        return WCODEC_OK;
    }
    if (f->type != WCODEC_PROTOBUF_BYTES)
        return CORRUPT(p->err, "dimensions at byte %" PRIu64 " are no numbers", f->offset);
    p->at = f->offset;
    while (p->at < end && status == WCODEC_OK) {
        uint64_t dimension = 0;
        status = wcodec_protobuf_varint(p, end, &dimension);
        if (status == WCODEC_OK)
            add_dimension(t, dimension);
    }
    return status;
}

static void hold(struct wcodec_onnx_tensor *t, const struct wcodec_protobuf_field *f)
{
    if (f->type != WCODEC_PROTOBUF_BYTES || t->holder != 0)
        t->is_scattered = true;
    t->holder = f->number;
    t->begin = f->offset;
    t->size = f->size;
}

wcodec_status wcodec_onnx_tensor_field(struct wcodec_onnx_tensor *t, struct wcodec_protobuf *p,
                                       const struct wcodec_protobuf_field *f)
{
    switch (f->number) {
    case DIMS:
        return read_dimensions(t, p, f);
    case DATA_TYPE:
        t->type = f->value;
        break;
    case NAME:
        return wcodec_protobuf_text(p, f, t->name, sizeof t->name);
    case FLOAT_DATA:
    case DOUBLE_DATA:
    case RAW_DATA:
        hold(t, f);
        break;
    case INT32_DATA:
    case STRING_DATA:
    case INT64_DATA:
    case UINT64_DATA:
        t->is_scattered |= f->size != 0;
        break;
    case DATA_LOCATION:
        t->is_external = f->value == 1;
        break;
    default:
        break;
    }
    return WCODEC_OK;
}

static bool read_decimal(const char *text, uint64_t *number)
{
    uint64_t n = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++)
        if (!wcodec_mul_u64(n, 10, &n) || !wcodec_add_u64(n, (uint64_t)(*c - '0'), &n))
            return false;
    *number = n;
    return c != text && *c == 0;
}

wcodec_status wcodec_onnx_tensor_external(struct wcodec_onnx_tensor *t, const char *key,
                                          const char *value, wcodec_error *err)
{
    const bool is_length = strcmp(key, "length") == 0;
    if (strcmp(key, "location") == 0) {
        while (strncmp(value, "./", 2) == 0)
            value += 2;
        const bool is_name =
            strchr(value, '/') == NULL && strcmp(value, ".") != 0 && strcmp(value, "..") != 0;
        snprintf(t->location, sizeof t->location, "%s", is_name ? value : "");
    } else if (is_length || strcmp(key, "offset") == 0) {
        if (!read_decimal(value, is_length ? &t->length : &t->offset))
            return CORRUPT(err, "tensor \"%.200s\": its %s is \"%.40s\"", t->name, key, value);
        t->has_length |= is_length;
    }
    return WCODEC_OK;
}

static wcodec_status skip_tensor(struct wcodec_onnx_tensors *tensors,
                                 const struct wcodec_onnx_tensor *t, const char *why)
{
    if (tensors->left++ == 0)
        wcodec_fail(&tensors->why, WCODEC_ERROR_CORRUPT, "\"%.60s\" %s", t->name, why);
    return WCODEC_OK;
}

/* Room for one more. */
static bool grow(struct wcodec_onnx_tensors *tensors)
{
    if (tensors->count < tensors->capacity)
        return true;
    const uint64_t wanted = tensors->capacity != 0 ? tensors->capacity * 2 : 16;
    void *larger =
        wcodec_realloc_array(tensors->allocator, tensors->list, wanted, sizeof *tensors->list);
    if (larger == NULL)
        return false;
    tensors->list = larger;
    tensors->capacity = wanted;
    return true;
}

/* As text in the arena; files of many tensors are named by each of them. */
static const char *keep_location(struct wcodec_onnx_tensors *tensors, const char *location)
{
    const struct wcodec_onnx_found *last =
        tensors->count != 0 ? &tensors->list[tensors->count - 1] : NULL;
    if (last != NULL && last->location != NULL && strcmp(last->location, location) == 0)
        return last->location;
    return wcodec_arena_text(&tensors->arena, location, strlen(location));
}

static wcodec_status list_tensor(struct wcodec_onnx_tensors *tensors,
                                 const struct wcodec_onnx_tensor *t, struct wcodec_onnx_found found,
                                 wcodec_error *err)
{
    const size_t size = strlen(t->name);
    tensors->text += size + 1;
    if (tensors->count == WCODEC_LAYOUT_TENSORS_MAX || tensors->text > WCODEC_LAYOUT_NAMES_MAX)
        return CORRUPT(err, "it holds more than %d tensors, or more than %d bytes of names",
                       (int)WCODEC_LAYOUT_TENSORS_MAX, (int)WCODEC_LAYOUT_NAMES_MAX);
    uint64_t *shape = wcodec_arena_alloc(&tensors->arena, t->rank * sizeof *shape);
    found.name = wcodec_arena_text(&tensors->arena, t->name, size);
    if (t->is_external)
        found.location = keep_location(tensors, t->location);
    if (!grow(tensors) || shape == NULL || found.name == NULL ||
        (t->is_external && found.location == NULL))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " tensors",
                           tensors->count);
    if (t->rank != 0)
        memcpy(shape, t->shape, t->rank * sizeof *shape);
    found.shape = shape;
    found.rank = t->rank;
    found.number = tensors->count;
    tensors->list[tensors->count++] = found;
    return WCODEC_OK;
}

static wcodec_status end_external(const struct wcodec_onnx_tensor *t,
                                  struct wcodec_onnx_tensors *tensors,
                                  struct wcodec_onnx_found found, wcodec_error *err)
{
    if (t->location[0] == 0)
        return skip_tensor(tensors, t, "is in no file beside the model");
    if (t->has_length && t->length != found.size)
        return skip_tensor(tensors, t, "has another length than its type and shape make");
    found.begin = found.size != 0 ? t->offset : 0;
    return list_tensor(tensors, t, found, err);
}

wcodec_status wcodec_onnx_tensor_end(const struct wcodec_onnx_tensor *t, uint64_t at,
                                     struct wcodec_onnx_tensors *tensors, wcodec_error *err)
{
    struct wcodec_onnx_found found = {.twin = UINT64_MAX};
    uint64_t bits = 1;
    if (t->has_excess_rank)
        return CORRUPT(err, "tensor \"%.200s\" has more than %d dimensions", t->name,
                       (int)WCODEC_LAYOUT_RANK_MAX);
    const bool is_known = t->type < sizeof types / sizeof *types && types[t->type].bits != 0;
    if (!is_known)
        return skip_tensor(tensors, t, "is of a type that is none of numbers, or not known");
    found.type = &types[t->type];
    for (unsigned i = 0; i < t->rank; i++)
        if (!wcodec_mul_u64(bits, t->shape[i], &bits))
            return CORRUPT(err, "tensor \"%.200s\" is too large", t->name);
    if (!wcodec_mul_u64(bits, found.type->bits, &bits))
        return CORRUPT(err, "tensor \"%.200s\" is too large", t->name);
    found.size = wcodec_div_up_u64(bits, 8);
    if (t->is_external)
        return end_external(t, tensors, found, err);
    if (t->is_scattered ||
        (t->holder != 0 && t->holder != RAW_DATA && t->holder != found.type->field))
        return skip_tensor(tensors, t, "is stored as numbers of varying size, or in pieces");
    if (t->holder == 0 && found.size != 0)
        return skip_tensor(tensors, t, "has no data");
    if (t->size != found.size)
        return CORRUPT(
            err, "tensor \"%.200s\" has %" PRIu64 " bytes, but its type and shape make %" PRIu64,
            t->name, t->size, found.size);
    found.begin = t->holder != 0 ? t->begin : at;
    return list_tensor(tensors, t, found, err);
}

void wcodec_onnx_tensors_init(struct wcodec_onnx_tensors *tensors,
                              const wcodec_allocator *allocator)
{
    *tensors = (struct wcodec_onnx_tensors){.allocator = allocator};
    wcodec_arena_init(&tensors->arena, allocator);
}

void wcodec_onnx_tensors_free(struct wcodec_onnx_tensors *tensors)
{
    wcodec_arena_free(&tensors->arena);
    wcodec_free(tensors->allocator, tensors->list);
}

/* Where a name is there already, a number goes after it: the first that makes a new one. Each try
 * that fails has found another tensor's name, so all of them are few. */
static wcodec_status rename_twins(struct wcodec_onnx_tensors *tensors, struct wcodec_names *names,
                                  uint64_t *tries, wcodec_error *err)
{
    char name[WCODEC_LAYOUT_NAME_MAX + 32];
    for (uint64_t i = 0; i < tensors->count; i++) {
        struct wcodec_onnx_found *found = &tensors->list[i];
        uint64_t number = i;
        if (found->twin == UINT64_MAX)
            continue;
        do {
            tries[found->twin]++;
            snprintf(name, sizeof name, "%s.%" PRIu64, found->name, tries[found->twin] + 1);
        } while (wcodec_names_find(names, name, &number));
        found->name = wcodec_arena_text(&tensors->arena, name, strlen(name));
        if (found->name == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        number = i;
        wcodec_names_add(names, found->name, &number);
    }
    return WCODEC_OK;
}

/* Graphs within graphs have names of their own. */
static wcodec_status make_distinct(struct wcodec_onnx_tensors *tensors, wcodec_error *err)
{
    struct wcodec_names names;
    uint64_t twins = 0;
    if (tensors->count < 2)
        return WCODEC_OK;
    if (!wcodec_names_init(&names, tensors->allocator, tensors->count))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " names",
                           tensors->count);
    for (uint64_t i = 0; i < tensors->count; i++) {
        uint64_t number = i;
        if (!wcodec_names_add(&names, tensors->list[i].name, &number)) {
            tensors->list[i].twin = number;
            twins++;
        }
    }
    wcodec_status status = WCODEC_OK;
    if (twins != 0) {
        uint64_t *tries = wcodec_alloc_zeroed(tensors->allocator, tensors->count * sizeof *tries);
        status = tries != NULL ? rename_twins(tensors, &names, tries, err)
                               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        wcodec_free(tensors->allocator, tries);
    }
    wcodec_names_free(&names);
    return status;
}

/* Those of the model itself come first. */
static int compare_locations(const char *x, const char *y)
{
    return strcmp(x != NULL ? x : "", y != NULL ? y : "");
}

/* By file, then by place. */
static int compare_found(const void *a, const void *b)
{
    const struct wcodec_onnx_found *x = a, *y = b;
    const int files = compare_locations(x->location, y->location);
    if (files != 0)
        return files;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Elements of less than a byte: type and shape are noted, and the last dimension is of bytes. */
static wcodec_status put_packed(const struct wcodec_onnx_found *found,
                                struct wcodec_layout_tensor *t,
                                uint64_t shape[WCODEC_LAYOUT_RANK_MAX],
                                struct wcodec_file_layout *layout, wcodec_error *err)
{
    char key[WCODEC_LAYOUT_NAME_MAX + 64], value[WCODEC_LAYOUT_RANK_MAX * 21 + 32];
    const unsigned last = found->rank - 1;
    int size = snprintf(value, sizeof value, "%s", found->type->name);
    for (unsigned i = 0; i < found->rank; i++) {
        size += snprintf(value + size, sizeof value - (size_t)size, "%s%" PRIu64,
                         i == 0 ? " " : ",", found->shape[i]);
        shape[i] = found->shape[i];
    }
    if (found->rank != 0 && shape[last] < (uint64_t)1 << 48 &&
        shape[last] * found->type->bits % 8 == 0) {
        shape[last] = shape[last] * found->type->bits / 8;
    } else {
        shape[0] = found->size;
        t->rank = 1;
    }
    t->shape = shape;
    snprintf(key, sizeof key, "onnx.type.%s", found->name);
    return wcodec_layout_note(layout, key, value, err);
}

static wcodec_status put_tensor(const struct wcodec_onnx_found *found,
                                struct wcodec_file_layout *layout, wcodec_error *err)
{
    uint64_t shape[WCODEC_LAYOUT_RANK_MAX];
    wcodec_status status = WCODEC_OK;
    struct wcodec_layout_tensor t = {.name = found->name,
                                     .dtype_name = found->type->name,
                                     .shape = found->shape,
                                     .offset = found->begin,
                                     .size = found->size,
                                     .dtype = found->type->dtype,
                                     .rank = (uint8_t)found->rank};
    if (found->type->bits < 8)
        status = put_packed(found, &t, shape, layout, err);
    return status == WCODEC_OK ? wcodec_layout_add(layout, &t, err) : status;
}

/* Files that hold tensors of the model: how many each. */
static wcodec_status note_files(const struct wcodec_onnx_tensors *tensors,
                                struct wcodec_file_layout *layout, wcodec_error *err)
{
    char key[512], value[24];
    wcodec_status status = WCODEC_OK;
    uint64_t end;
    for (uint64_t i = 0; i < tensors->count && status == WCODEC_OK; i = end) {
        const char *location = tensors->list[i].location;
        end = i + 1;
        if (location == NULL)
            continue;
        while (end < tensors->count && strcmp(tensors->list[end].location, location) == 0)
            end++;
        snprintf(key, sizeof key, "onnx.external.%s", location);
        snprintf(value, sizeof value, "%" PRIu64, end - i);
        status = wcodec_layout_note(layout, key, value, err);
    }
    return status;
}

/* The same tensor by another name is noted; the same bytes as another tensor are not listed. */
static wcodec_status put_shared(const struct wcodec_onnx_found *found,
                                const struct wcodec_onnx_found *kept,
                                struct wcodec_file_layout *layout, wcodec_error *err)
{
    char key[WCODEC_LAYOUT_NAME_MAX + 64];
    if (found->type != kept->type || found->rank != kept->rank ||
        (found->rank != 0 &&
         memcmp(found->shape, kept->shape, found->rank * sizeof *found->shape) != 0)) {
        wcodec_fail(&layout->remark, WCODEC_ERROR_CORRUPT,
                    "\"%.60s\" is not listed: it has the bytes of \"%.60s\", but another type or "
                    "shape",
                    found->name, kept->name);
        return WCODEC_OK;
    }
    snprintf(key, sizeof key, "onnx.shared.%s", found->name);
    return wcodec_layout_note(layout, key, kept->name, err);
}

/* The first tensor of a file, or where that would be. */
static uint64_t find_first(const struct wcodec_onnx_tensors *tensors, const char *location)
{
    uint64_t begin = 0, end = tensors->count;
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (compare_locations(tensors->list[middle].location, location) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static void remark(const struct wcodec_onnx_tensors *tensors, struct wcodec_file_layout *layout)
{
    if (tensors->left != 0)
        wcodec_fail(&layout->remark, WCODEC_ERROR_CORRUPT,
                    "%" PRIu64 " of %" PRIu64 " tensors are not listed: %s", tensors->left,
                    tensors->left + tensors->count, tensors->why.text);
    else if (layout->count == 0)
        wcodec_fail(&layout->remark, WCODEC_ERROR_CORRUPT, "its tensors are in other files");
}

wcodec_status wcodec_onnx_tensors_finish(struct wcodec_onnx_tensors *tensors, wcodec_error *err)
{
    const wcodec_status status = make_distinct(tensors, err);
    if (status == WCODEC_OK && tensors->count != 0)
        qsort(tensors->list, (size_t)tensors->count, sizeof *tensors->list, compare_found);
    return status;
}

static wcodec_status put_file(const struct wcodec_onnx_tensors *tensors, const char *location,
                              struct wcodec_file_layout *layout, wcodec_error *err)
{
    const struct wcodec_onnx_found *last = NULL;
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = find_first(tensors, location); i < tensors->count && status == WCODEC_OK;
         i++) {
        const struct wcodec_onnx_found *found = &tensors->list[i];
        if (compare_locations(found->location, location) != 0)
            break;
        if (last != NULL && found->size != 0 && found->begin == last->begin &&
            found->size == last->size) {
            status = put_shared(found, last, layout, err);
            continue;
        }
        status = put_tensor(found, layout, err);
        last = found;
    }
    return status;
}

wcodec_status wcodec_onnx_tensors_put(const struct wcodec_onnx_tensors *tensors,
                                      const char *location, struct wcodec_file_layout *layout,
                                      wcodec_error *err)
{
    wcodec_status status = put_file(tensors, location, layout, err);
    if (status == WCODEC_OK && location == NULL)
        status = note_files(tensors, layout, err);
    if (status != WCODEC_OK)
        return status;
    if (layout->count == 0 && location != NULL)
        return CORRUPT(err, "none of its tensors is in \"%.100s\"", location);
    if (tensors->count == 0)
        return CORRUPT(err, "no tensors are found in it%s%.100s", tensors->left != 0 ? ": " : "",
                       tensors->why.text);
    if (location == NULL)
        remark(tensors, layout);
    return status;
}
