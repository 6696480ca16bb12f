/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/partial.h"
#include "utils/json.h"
#include "utils/safetensors.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of `rows` of a tensor, rounded up: sizes are at most 2^48, so bits fit, and a row of a
 * known dtype is a whole number of them. */
static uint64_t size_of_rows(const wcodec_tensor_info *info, const struct partial_rows *rows)
{
    if (!rows || info->rank == 0 || info->shape[0] == 0)
        return info->size;
    return (info->size * 8 / info->shape[0] * rows->count + 7) / 8;
}

/* What cannot be had names file and tensor, or the file alone if memory is short for that. */
static void *alloc_for(struct app *app, const char *name, const wcodec_tensor_info *info,
                       uint64_t size)
{
    const size_t room = strlen(name) + strlen(info->name) + sizeof ": tensor ''";
    char *both = malloc(room);
    if (both)
        snprintf(both, room, "%s: tensor '%s'", name, info->name);
    void *data = app_alloc(app, both ? both : name, size);
    free(both);
    return data;
}

void *partial_decode(struct app *app, const char *name, const wcodec_reader *reader,
                     uint64_t tensor, const struct partial_rows *rows, uint64_t *size)
{
    wcodec_tensor_info info;
    wcodec_error err = {0};
    wcodec_decode_options decode = app_decode_options(app);
    wcodec_status status = wcodec_reader_tensor(reader, tensor, &info, &err);
    uint64_t bytes = status == WCODEC_OK ? size_of_rows(&info, rows) : 0;
    void *data = NULL;
    if (status == WCODEC_OK) {
        data = alloc_for(app, name, &info, bytes);
        if (!data)
            return NULL;
        status = rows ? wcodec_reader_decode_rows(reader, tensor, rows->first, rows->count, data,
                                                  (size_t)bytes, &decode, &err)
                      : wcodec_reader_decode(reader, tensor, data, (size_t)bytes, &decode, &err);
    }
    if (status == WCODEC_OK) {
        *size = bytes;
        return data;
    }
    free(data);
    app_fail_status(app, name, &err);
    return NULL;
}

static json_t *describe(const wcodec_tensor_info *info, const struct partial_rows *rows,
                        uint64_t begin, uint64_t end)
{
    json_t *shape = json_array();
    bool good = shape != NULL;
    for (unsigned i = 0; good && i < info->rank; i++)
        good = json_array_append_new(shape,
                                     json_size(i == 0 && rows ? rows->count : info->shape[i])) == 0;
    if (!good) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[o, o]}", "dtype", info->dtype_name, "shape", shape,
                     "data_offsets", json_size(begin), json_size(end));
}

static bool add_metadata(const wcodec_reader *reader, uint64_t file, json_t *header)
{
    uint64_t count = wcodec_reader_metadata_count(reader, file);
    if (count == 0)
        return true;
    json_t *metadata = json_object();
    for (uint64_t i = 0; metadata && i < count; i++) {
        const char *key, *value;
        if (wcodec_reader_metadata(reader, file, i, &key, &value, NULL) != WCODEC_OK ||
            json_object_set_new(metadata, key, json_string(value)) != 0) {
            json_decref(metadata);
            return false;
        }
    }
    return metadata && json_object_set_new(header, "__metadata__", metadata) == 0;
}

/* What the file begins with (safetensors_begin()). */
static char *make_header(const wcodec_reader *reader, const uint64_t *tensors, size_t count,
                         const struct partial_rows *rows, size_t *size)
{
    json_t *header = json_object();
    uint64_t at = 0;
    bool good = header != NULL;
    for (size_t i = 0; i < count && good; i++) {
        wcodec_tensor_info info;
        good = wcodec_reader_tensor(reader, tensors[i], &info, NULL) == WCODEC_OK &&
               (i > 0 || add_metadata(reader, info.file, header));
        uint64_t bytes = good ? size_of_rows(&info, rows) : 0;
        good = good &&
               json_object_set_new(header, info.name, describe(&info, rows, at, at + bytes)) == 0;
        at += bytes;
    }
    if (!good) {
        json_decref(header);
        header = NULL;
    }
    return safetensors_begin(header, size);
}

static bool put(struct app *app, struct output *output, const void *data, size_t size)
{
    return output_write(output, data, size) == 0 ||
           app_fail_errno(app, output->name, "cannot write", output->error);
}

bool partial_write(struct app *app, const char *name, const wcodec_reader *reader,
                   const uint64_t *tensors, size_t count, const struct partial_rows *rows,
                   struct output *output)
{
    size_t size;
    char *header = make_header(reader, tensors, count, rows, &size);
    if (!header)
        return app_fail(app, EXIT_FAILED, "%s: cannot make a safetensors header (out of memory?)",
                        name);
    bool good = put(app, output, header, size);
    free(header);
    for (size_t i = 0; i < count && good; i++) {
        uint64_t bytes;
        void *data = partial_decode(app, name, reader, tensors[i], rows, &bytes);
        good = data && put(app, output, data, (size_t)bytes);
        free(data);
    }
    return good;
}

bool partial_is_chosen(const struct options *o, const char *tensor)
{
    if (o->tensors.count + o->only.count == 0)
        return true;
    for (size_t i = 0; i < o->tensors.count; i++) {
        if (strcmp(o->tensors.items[i], tensor) == 0)
            return true;
    }
    for (size_t i = 0; i < o->only.count; i++) {
        if (fnmatch(o->only.items[i], tensor, 0) == 0)
            return true;
    }
    return false;
}

uint64_t *partial_select(struct app *app, const char *name, const wcodec_reader *reader,
                         size_t *count)
{
    const struct options *o = &app->options;
    uint64_t total = wcodec_reader_tensor_count(reader), i;
    for (size_t k = 0; k < o->tensors.count; k++) {
        if (wcodec_reader_find(reader, o->tensors.items[k], &i, NULL) != WCODEC_OK) {
            app_fail(app, EXIT_FAILED, "%s: no tensor is called '%s'", name, o->tensors.items[k]);
            return NULL;
        }
    }
    uint64_t *tensors = app_alloc(app, name, (total + 1) * sizeof *tensors);
    *count = 0;
    for (i = 0; tensors && i < total; i++) {
        wcodec_tensor_info info;
        if (wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK &&
            partial_is_chosen(o, info.name))
            tensors[(*count)++] = i;
    }
    if (tensors && *count == 0) {
        app_fail(app, EXIT_FAILED, "%s: %s", name,
                 total ? "no tensor matches" : "holds no tensors, only opaque bytes");
        free(tensors);
        return NULL;
    }
    return tensors;
}
