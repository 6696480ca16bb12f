/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/convert_list.h"
#include "utils/lost_pages.h"
#include "utils/partial.h"
#include "utils/signals.h"
#include "utils/text.h"
#include "utils/vectors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 16 << 20 };

static const struct convert_item *find_item(struct app *app, const struct convert_list *list,
                                            const char *tensor)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, tensor) == 0)
            return &list->items[i];
    app_fail(app, EXIT_FAILED, "%s: no tensor is called '%s'", list->files[0].input.name, tensor);
    return NULL;
}

/* The only one; `option` chooses of several. */
static const struct convert_item *only_item(struct app *app, const struct convert_list *list,
                                            const char *option)
{
    if (list->count == 1)
        return &list->items[0];
    app_fail(app, EXIT_USAGE, "%s: holds %zu tensors: choose one by %s", list->files[0].input.name,
             list->count, option);
    return NULL;
}

static const struct convert_item *choose_item(struct app *app, const struct convert_list *list)
{
    const struct strings *wanted = &app->options.tensors;
    if (wanted->count == 0)
        return only_item(app, list, "--tensor=NAME");
    if (wanted->count == 1)
        return find_item(app, list, wanted->items[0]);
    app_fail(app, EXIT_USAGE, "vectors are of one --tensor");
    return NULL;
}

static bool set_name(struct app *app, const struct convert_item *item, struct vectors_rows *rows)
{
    const char *file = rows->file.input.name;
    const size_t room = strlen(file) + strlen(item->name) + sizeof ": tensor ''";
    rows->name = app_alloc(app, file, room);
    if (rows->name)
        snprintf(rows->name, room, "%s: tensor '%s'", file, item->name);
    return rows->name != NULL;
}

static bool check_item(struct app *app, const struct convert_item *item, const char *name)
{
    if (item->dtype != WCODEC_DTYPE_F16 && item->dtype != WCODEC_DTYPE_BF16 &&
        item->dtype != WCODEC_DTYPE_F32)
        return app_fail(app, EXIT_USAGE, "%s is of %s, but vectors are of F16, BF16 or F32", name,
                        wcodec_dtype_name(item->dtype));
    if (item->rank == 2)
        return true;
    char *shape = text_shape(item->shape, item->rank);
    app_fail(app, EXIT_USAGE, "%s has the shape %s, but vectors are a tensor [n, d]", name,
             shape ? shape : "of another rank");
    free(shape);
    return false;
}

static bool read_original(struct app *app, struct tensor_file *file,
                          const struct convert_item *item, uint8_t *data)
{
    bool good = true;
    for (uint64_t at = 0; at < item->from_size && good; at += PIECE) {
        const uint64_t left = item->from_size - at;
        good = !signals_pending() && tensor_file_read(app, file, item->number, at, data + at,
                                                      left < PIECE ? (size_t)left : PIECE);
    }
    return good && tensor_file_check(app, file);
}

/* Rows one after the other, of what has its elements in the order of columns. */
static bool order_rows(struct app *app, const struct convert_item *item, struct vectors_rows *rows)
{
    const size_t size = wcodec_dtype_bits(item->dtype) / 8;
    const uint8_t *from = rows->data;
    uint8_t *ordered = item->strides ? app_alloc(app, rows->name, item->size) : NULL;
    if (!ordered)
        return !item->strides;
    for (uint64_t i = 0; i < item->shape[0]; i++)
        for (uint64_t j = 0; j < item->shape[1]; j++)
            memcpy(ordered + (i * item->shape[1] + j) * size,
                   from + (i * item->strides[0] + j * item->strides[1]) * size, size);
    free(rows->data);
    rows->data = ordered;
    return true;
}

/* Are they more than half of the machine's memory, or would as many as binary32, and once more for
 * anchors to begin with, be beyond the limit? */
static bool is_large(const struct app *app, uint64_t size)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t limit = app->options.memory_limit;
    return (limit != 0 && size > limit / 8) ||
           (pages > 0 && page > 0 && size / 2 > (uint64_t)pages * (uint64_t)page / 4);
}

/* Rows that are left where they are in the file, whose pages come as they are wanted. False: they
 * are to be read. */
static bool map_item(const struct app *app, const struct convert_item *item,
                     struct vectors_rows *rows)
{
    const long page = sysconf(_SC_PAGESIZE);
    wcodec_tensor_info info;
    if (rows->file.reader || item->strides || item->from_size != item->size || page <= 0 ||
        !is_large(app, item->size))
        return false;
    tensor_file_describe(&rows->file, item->number, &info);
    const uint64_t before = info.file_offset % (uint64_t)page;
    if (item->size > SIZE_MAX - before)
        return false;
    const size_t size = (size_t)(before + item->size);
    uint8_t *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, rows->file.input.fd,
                       (off_t)(info.file_offset - before));
    if (at == MAP_FAILED)
        return false;
    if (!lost_pages_watch(at, size)) {
        munmap(at, size);
        return false;
    }
    rows->mapped = at;
    rows->mapped_size = size;
    rows->data = at + before;
    return true;
}

static bool read_item(struct app *app, const struct convert_item *item, struct vectors_rows *rows)
{
    struct tensor_file *file = &rows->file;
    uint64_t size;
    if (!set_name(app, item, rows) || !check_item(app, item, rows->name))
        return false;
    if (map_item(app, item, rows))
        app_detail(app, "%s: rows are read as they are wanted", rows->name);
    else if (file->reader)
        rows->data = partial_decode(app, file->input.name, file->reader, item->number, NULL, &size);
    else
        rows->data = app_alloc(app, rows->name, item->from_size);
    if (!rows->data ||
        (!file->reader && !rows->mapped && !read_original(app, file, item, rows->data)) ||
        !order_rows(app, item, rows))
        return false;
    rows->rows = (wcodec_vector_rows){.dtype = item->dtype,
                                      .count = item->shape[0],
                                      .dimensions = item->shape[1],
                                      .data = rows->data};
    return true;
}

static bool open_rows(struct app *app, const char *path, bool original, const char *tensor,
                      struct vectors_rows *rows)
{
    struct convert_list list;
    const struct convert_item *item = NULL;
    *rows = (struct vectors_rows){.file = {.input = {.fd = -1}}};
    if (!tensor_file_open(app, path, NULL, &rows->file))
        return false;
    if (convert_list_make(app, &rows->file, 1, &list))
        item = tensor     ? find_item(app, &list, tensor)
               : original ? only_item(app, &list, "--rerank=FILE:TENSOR")
                          : choose_item(app, &list);
    const bool good = item && read_item(app, item, rows);
    convert_list_free(&list);
    if (!good)
        vectors_rows_close(rows);
    return good;
}

bool vectors_rows_open(struct app *app, const char *path, struct vectors_rows *rows)
{
    return open_rows(app, path, false, NULL, rows);
}

bool vectors_rows_open_original(struct app *app, const char *path, const char *tensor,
                                struct vectors_rows *rows)
{
    return open_rows(app, path, true, tensor, rows);
}

bool vectors_rows_lost(const struct vectors_rows *rows)
{
    return rows->mapped && lost_pages_any(rows->mapped);
}

bool vectors_rows_changed(const struct vectors_rows *rows)
{
    return vectors_rows_lost(rows) || (rows->mapped && tensor_file_changed(&rows->file));
}

bool vectors_rows_check(struct app *app, const struct vectors_rows *rows)
{
    if (vectors_rows_lost(rows))
        return app_fail(app, EXIT_FAILED, "%s: the file was cut short while it was read",
                        rows->file.input.name);
    return !rows->mapped || tensor_file_check(app, &rows->file);
}

/* The magnitude of element i, as the bits of a binary32. */
static uint32_t magnitude_of(wcodec_dtype dtype, const uint8_t *data, uint64_t i)
{
    if (dtype == WCODEC_DTYPE_F32)
        return ((uint32_t)data[4 * i] | (uint32_t)data[4 * i + 1] << 8 |
                (uint32_t)data[4 * i + 2] << 16 | (uint32_t)data[4 * i + 3] << 24) &
               0x7fffffff;
    const uint32_t half = ((uint32_t)data[2 * i] | (uint32_t)data[2 * i + 1] << 8) & 0x7fff;
    if (dtype == WCODEC_DTYPE_BF16)
        return half << 16;
    return half < 0x7c00 ? 0 : (half - 0x7c00) << 13 | 0x7f800000;
}

bool vectors_rows_check_numbers(struct app *app, const struct vectors_rows *rows)
{
    enum { INFINITE = 0x7f800000, MOST = 0x477fe000 /* 65504 */ };
    const uint64_t d = rows->rows.dimensions;
    for (uint64_t i = 0; i < rows->rows.count * d; i++) {
        const uint32_t bits = magnitude_of(rows->rows.dtype, rows->data, i);
        if (bits > MOST)
            return app_fail(app, EXIT_USAGE, "%s: row %" PRIu64 ": element %" PRIu64 " is %s",
                            rows->name, i / d, i % d,
                            bits > INFINITE    ? "NaN"
                            : bits == INFINITE ? "infinite"
                                               : "beyond 65504");
    }
    return vectors_rows_check(app, rows);
}

void vectors_rows_close(struct vectors_rows *rows)
{
    if (rows->mapped) {
        lost_pages_end(rows->mapped);
        munmap(rows->mapped, rows->mapped_size);
    } else
        free(rows->data);
    tensor_file_close(&rows->file);
    free(rows->name);
    *rows = (struct vectors_rows){.file = {.input = {.fd = -1}}};
}
