/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/convert_list.h"
#include "utils/external.h"
#include "utils/json.h"
#include "utils/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_OTHER, WCODEC_DTYPE_F16, WCODEC_DTYPE_BF16,
                                      WCODEC_DTYPE_F32};

static const char *after(const char *text, const char *prefix)
{
    const size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* What the metadata says of a tensor; *value is NULL: nothing. False: out of memory. */
static bool said_of(struct app *app, const struct convert_list *list, const char *prefix,
                    const struct convert_item *item, const char **value)
{
    const size_t n = strlen(prefix);
    char *key = app_alloc(app, item->file->input.name, n + strlen(item->name) + 1);
    if (!key)
        return false;
    strcat(strcpy(key, prefix), item->name);
    *value = json_string_value(json_object_get(list->metadata, key));
    free(key);
    return true;
}

static bool no_memory(struct app *app, const struct tensor_file *file)
{
    return app_fail(app, EXIT_FAILED, "%s: out of memory", file->input.name);
}

static bool fail_tensor(struct app *app, const struct convert_item *item, const char *what)
{
    return app_fail(app, EXIT_FAILED, "%s: tensor '%s': %s", item->file->input.name, item->name,
                    what);
}

/* A product that stays below 2^62. */
static bool multiply(uint64_t *product, uint64_t by)
{
    if (by != 0 && *product > (UINT64_C(1) << 62) / by)
        return false;
    *product *= by;
    return true;
}

/* Numbers with commas between; the end of them, NULL: not `count` of them. */
static const char *read_numbers(const char *text, uint64_t *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char *end;
        if (*text < '0' || *text > '9')
            return NULL;
        numbers[i] = strtoull(text, &end, 10);
        if (i + 1 < count && *end++ != ',')
            return NULL;
        text = end;
    }
    return text;
}

/* "shape 3,4 strides 1,3" */
static bool read_order(struct convert_item *item, const char *text)
{
    text = after(text, "shape ");
    text = text ? read_numbers(text, item->shape, item->rank) : NULL;
    text = text ? after(text, " strides ") : NULL;
    text = text ? read_numbers(text, item->strides, item->rank) : NULL;
    return text && !*text;
}

/* The dimension whose steps are of so many elements; dimensions of one element take none. */
static unsigned find_stride(const struct convert_item *item, uint64_t stride)
{
    unsigned i = 0;
    while (i < item->rank && (item->shape[i] == 1 || item->strides[i] != stride))
        i++;
    return i;
}

/* Is each element there, and once? From the innermost dimension to the outermost one, each steps
 * over all those within. */
static bool check_order(const struct convert_item *item, uint64_t elements)
{
    uint64_t product = 1, stride = 1;
    for (unsigned i = 0; i < item->rank; i++)
        if (!multiply(&product, item->shape[i]))
            return false;
    if (product != elements)
        return false;
    while (stride < elements) {
        const unsigned i = find_stride(item, stride);
        if (i == item->rank)
            return false;
        stride *= item->shape[i];
    }
    return true;
}

/* Dimensions in the order of the original: PyTorch's by what is said of them, NumPy's in reverse.
 */
static bool set_order(struct app *app, const struct convert_list *list, struct convert_item *item)
{
    const char *order, *reversed;
    const unsigned bits = wcodec_dtype_bits(item->dtype);
    if (!said_of(app, list, "pytorch.permuted.", item, &order) ||
        !said_of(app, list, "npy.transposed.", item, &reversed))
        return false;
    if ((!order && !reversed) || item->rank < 2 || item->size == 0)
        return true;
    item->strides = app_alloc(app, item->file->input.name, item->rank * sizeof *item->strides);
    if (!item->strides)
        return false;
    uint64_t stride = 1;
    for (unsigned i = 0, k = item->rank - 1; reversed && i <= k; i++, k--) {
        const uint64_t swapped = item->shape[i];
        item->shape[i] = item->shape[k];
        item->shape[k] = swapped;
        if (k == 0)
            break;
    }
    for (unsigned i = 0; reversed && i < item->rank; i++) {
        item->strides[i] = stride;
        stride *= item->shape[i];
    }
    if ((order && !read_order(item, order)) || bits % 8 != 0 ||
        !check_order(item, item->size / (bits / 8)))
        return fail_tensor(app, item, "the order of its dimensions cannot be read");
    return true;
}

/* A tensor in blocks as numbers, where that is asked for. */
static bool set_blocks(struct app *app, const struct convert_list *list, struct convert_item *item)
{
    const enum dequantize wanted = app->options.dequantize;
    const char *type;
    if (!said_of(app, list, "gguf.type.", item, &type))
        return false;
    if (!type || wanted == DEQUANTIZE_NONE)
        return true;
    const struct block_type *blocks = block_type_find(type);
    if (!blocks)
        return app_fail(app, EXIT_FAILED,
                        "%s: tensor '%s' is of type %s, which --dequantize does not know",
                        item->file->input.name, item->name, type);
    const unsigned last = item->rank - 1;
    if (item->rank == 0 || item->dtype != WCODEC_DTYPE_U8 || item->shape[last] % blocks->bytes != 0)
        return fail_tensor(app, item, "its rows are no whole number of blocks");
    item->blocks = blocks;
    item->dtype = dtypes[wanted];
    item->shape[last] = item->shape[last] / blocks->bytes * blocks->elements;
    item->size =
        item->size / blocks->bytes * blocks->elements * (wcodec_dtype_bits(item->dtype) / 8);
    return true;
}

static bool grow(struct convert_list *list)
{
    if (list->count < list->capacity)
        return true;
    const size_t capacity = list->capacity ? 2 * list->capacity : 64;
    struct convert_item *items = realloc(list->items, capacity * sizeof *items);
    if (!items)
        return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

static bool add_item(struct app *app, struct convert_list *list, struct tensor_file *file,
                     uint64_t number, const char *name)
{
    wcodec_tensor_info info;
    tensor_file_describe(file, number, &info);
    if (json_object_get(list->numbers, name))
        return app_fail(app, EXIT_FAILED, "%s: tensor '%s' is there twice", file->input.name, name);
    if (strcmp(name, "__metadata__") == 0)
        return app_fail(app, EXIT_FAILED,
                        "%s: tensor '%s' is called what safetensors files call their metadata",
                        file->input.name, name);
    if (info.dtype == WCODEC_DTYPE_OTHER)
        return app_fail(app, EXIT_FAILED,
                        "%s: tensor '%s' is of type %s, which safetensors files have not",
                        file->input.name, name, info.dtype_name);
    if (!grow(list))
        return no_memory(app, file);
    struct convert_item *item = &list->items[list->count];
    *item = (struct convert_item){.file = file,
                                  .number = number,
                                  .from_size = info.size,
                                  .name = strdup(name),
                                  .dtype = info.dtype,
                                  .rank = info.rank,
                                  .shape = malloc((info.rank + 1) * sizeof *item->shape),
                                  .size = info.size,
                                  .order = list->count};
    list->count++;
    if (!item->name || !item->shape ||
        json_object_set_new(list->numbers, name, json_integer((json_int_t)item->order)) != 0)
        return no_memory(app, file);
    for (unsigned i = 0; i < info.rank; i++)
        item->shape[i] = info.shape[i];
    return set_order(app, list, item) && set_blocks(app, list, item);
}

/* Tensors that share all their bytes with another have these of their own. */
static bool add_shared(struct app *app, struct convert_list *list)
{
    const char *key;
    json_t *value;
    json_object_foreach(list->metadata, key, value)
    {
        const char *name = after(key, "pytorch.shared.");
        name = name ? name : after(key, "onnx.shared.");
        if (!name)
            continue;
        const json_t *number = json_object_get(list->numbers, json_string_value(value));
        if (!number) {
            app_warn(app, "%s: tensor '%s' is left out: that with its bytes, '%s', is not there",
                     list->files[0].input.name, name, json_string_value(value));
            continue;
        }
        const struct convert_item other = list->items[json_integer_value(number)];
        if (!add_item(app, list, other.file, other.number, name))
            return false;
    }
    return true;
}

static bool add_pair(void *opaque, const char *key, const char *value)
{
    struct convert_list *list = opaque;
    return json_object_get(list->metadata, key) ||
           json_object_set_new(list->metadata, key, json_string(value)) == 0;
}

static unsigned alignment_of(const struct convert_item *item)
{
    const unsigned bits = wcodec_dtype_bits(item->dtype);
    return item->dtype == WCODEC_DTYPE_C64 || bits >= 64 ? 8 : (bits >= 8 ? bits / 8 : 1);
}

static int compare_items(const void *a, const void *b)
{
    const struct convert_item *x = a, *y = b;
    const unsigned i = alignment_of(x), k = alignment_of(y);
    if (i != k)
        return i > k ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

bool convert_list_make(struct app *app, struct tensor_file *files, size_t count,
                       struct convert_list *list)
{
    *list = (struct convert_list){.files = files,
                                  .file_count = count,
                                  .dequantized = app->options.dequantize != DEQUANTIZE_NONE,
                                  .metadata = json_object(),
                                  .numbers = json_object()};
    bool good = list->metadata && list->numbers;
    for (size_t i = 0; i < count && good; i++)
        good = tensor_file_pairs(&files[i], add_pair, list);
    if (!good)
        return no_memory(app, files);
    for (size_t i = 0; i < count && good; i++) {
        wcodec_tensor_info info;
        for (uint64_t t = 0; t < files[i].tensors && good; t++) {
            tensor_file_describe(&files[i], t, &info);
            good = add_item(app, list, &files[i], t, info.name);
        }
    }
    good = good && add_shared(app, list);
    if (good && list->count == 0)
        good = app_fail(app, EXIT_FAILED, "%s: holds no tensors", files[0].input.name);
    if (good)
        qsort(list->items, list->count, sizeof *list->items, compare_items);
    return good;
}

void convert_list_free(struct convert_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].shape);
        free(list->items[i].strides);
    }
    free(list->items);
    json_decref(list->metadata);
    json_decref(list->numbers);
    *list = (struct convert_list){0};
}

/* Does it say what is so no more in a safetensors file? */
static bool is_settled(const struct convert_list *list, const char *key)
{
    return strcmp(key, "wcodec.container") == 0 ||
           (list->dequantized && after(key, "gguf.type.")) || after(key, "pytorch.permuted.") ||
           after(key, "npy.transposed.") || after(key, "pytorch.shared.") ||
           after(key, "onnx.shared.") || external_file(key);
}

static json_t *describe(const struct convert_item *item, uint64_t begin)
{
    json_t *shape = json_array();
    bool good = shape != NULL;
    for (unsigned i = 0; i < item->rank && good; i++)
        good = json_array_append_new(shape, json_size(item->shape[i])) == 0;
    if (!good) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[o, o]}", "dtype", wcodec_dtype_name(item->dtype), "shape",
                     shape, "data_offsets", json_size(begin), json_size(begin + item->size));
}

/* "format" is what packages look for. */
static json_t *make_metadata(const struct convert_list *list)
{
    const char *key;
    json_t *metadata = json_object(), *value;
    bool good = metadata && json_object_set_new(metadata, "format", json_string("pt")) == 0;
    json_object_foreach(list->metadata, key, value)
    {
        if (good && !is_settled(list, key))
            good = json_object_set(metadata, key, value) == 0;
    }
    if (good)
        return metadata;
    json_decref(metadata);
    return NULL;
}

char *convert_list_header(const struct convert_list *list, size_t *size)
{
    json_t *header = json_object();
    uint64_t at = 0;
    bool good = header && json_object_set_new(header, "__metadata__", make_metadata(list)) == 0;
    for (size_t i = 0; i < list->count && good; i++) {
        const struct convert_item *item = &list->items[i];
        good = json_object_set_new(header, item->name, describe(item, at)) == 0;
        at += item->size;
    }
    if (!good) {
        json_decref(header);
        header = NULL;
    }
    return safetensors_begin(header, size);
}
