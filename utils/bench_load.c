/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/bench.h"
#include "utils/input.h"
#include "utils/output.h"
#include "utils/spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many bytes are whole elements of every width, packed ones too. */
enum { WHOLE_ELEMENTS = 24 };

static bool is_container(int fd)
{
    static const uint8_t magic[8] = {0x89, 'W', 'C', 'D', 0x0d, 0x0a, 0x1a, 0x0a};
    uint8_t start[8];
    return pread(fd, start, sizeof start, 0) == (ssize_t)sizeof start &&
           memcmp(start, magic, sizeof magic) == 0;
}

/* The library splits any file into tensors when it compresses it, so that a reader is all that is
 * needed here. */
static bool open_any(struct app *app, const char *path, struct input *input, wcodec_reader **reader)
{
    wcodec_error err = {0};
    wcodec_encode_options encode;
    if (!app_context(app) || !input_open(app, path, input))
        return false;
    if (!is_container(input->fd)) {
        struct output output = {.name = "temporary file", .dir_fd = -1, .fd = spool_create(app)};
        wcodec_encode_options_init(&encode);
        encode.level = 1;
        encode.no_verify = 1;
        encode.progress = progress_callback(&app->progress);
        if (output.fd < 0)
            goto fail;
        if (wcodec_compress_fd(app->context, input->fd, output_write, &output, &encode, NULL,
                               &err) != WCODEC_OK) {
            output_fail(app, &output, input->name, &err);
            close(output.fd);
            goto fail;
        }
        close(input->fd);
        input->fd = output.fd;
    }
    if (wcodec_reader_open_fd(app->context, input->fd, reader, &err) == WCODEC_OK)
        return true;
    app_fail_status(app, input->name, &err);
fail:
    input_close(input);
    return false;
}

static struct bench_class *find_class(struct bench_data *data, const char *dtype_name)
{
    for (size_t i = 0; i < data->count; i++) {
        if (strcmp(data->classes[i].dtype_name, dtype_name) == 0)
            return &data->classes[i];
    }
    struct bench_class *more = realloc(data->classes, (data->count + 1) * sizeof *more);
    if (!more)
        return NULL;
    data->classes = more;
    more += data->count;
    *more = (struct bench_class){.dtype_name = strdup(dtype_name)};
    if (!more->dtype_name)
        return NULL;
    data->count++;
    return more;
}

/* A tensor, or with --sample a part of it, without data yet. */
static bool add_tensor(struct app *app, struct bench_class *class, const wcodec_tensor_info *info)
{
    unsigned bits = wcodec_dtype_bits(info->dtype);
    uint64_t size = info->size, most = app->options.sample && app->options.sample > class->size
                                           ? app->options.sample - class->size
                                           : 0;
    if (app->options.sample && size > most)
        size = most / WHOLE_ELEMENTS * WHOLE_ELEMENTS;
    if (size == 0)
        return true;
    struct bench_tensor *more = realloc(class->tensors, (class->count + 1) * sizeof *more);
    if (!more)
        return false;
    class->tensors = more;
    more += class->count;
    bool whole = size == info->size && info->dtype != WCODEC_DTYPE_OTHER;
    *more = (struct bench_tensor){.name = strdup(info->name),
                                  .offset = class->size,
                                  .size = size,
                                  .rank = whole ? info->rank : 1};
    more->shape = malloc((more->rank ? more->rank : 1) * sizeof *more->shape);
    class->count++;
    if (!more->name || !more->shape)
        return false;
    if (whole && info->rank)
        memcpy(more->shape, info->shape, info->rank * sizeof *more->shape);
    else if (!whole)
        more->shape[0] = bits ? size * 8 / bits : size;
    class->dtype = info->dtype;
    class->elements += bits ? size * 8 / bits : size;
    class->size += size;
    return true;
}

/* Decode into place; a tensor that is cut needs memory of its own for a moment. */
static bool fill_tensor(struct app *app, const char *name, const wcodec_reader *reader,
                        uint64_t number, const struct bench_class *class,
                        const struct bench_tensor *tensor)
{
    wcodec_tensor_info info;
    wcodec_error err = {0};
    wcodec_decode_options decode = app_decode_options(app);
    wcodec_status status = wcodec_reader_tensor(reader, number, &info, &err);
    uint8_t *to = class->data + tensor->offset;
    if (status == WCODEC_OK && info.size == tensor->size) {
        status = wcodec_reader_decode(reader, number, to, (size_t)tensor->size, &decode, &err);
    } else if (status == WCODEC_OK) {
        uint8_t *whole = app_alloc(app, name, info.size);
        if (!whole)
            return false;
        status = wcodec_reader_decode(reader, number, whole, (size_t)info.size, &decode, &err);
        /* The middle: what comes first may be special, as the unused words at the beginning of an
         * embedding. */
        if (status == WCODEC_OK)
            memcpy(to, whole + (info.size - tensor->size) / 2 / WHOLE_ELEMENTS * WHOLE_ELEMENTS,
                   (size_t)tensor->size);
        free(whole);
    }
    return status == WCODEC_OK || app_fail_status(app, name, &err);
}

static bool load_tensors(struct app *app, const char *name, const wcodec_reader *reader,
                         struct bench_data *data)
{
    uint64_t count = wcodec_reader_tensor_count(reader);
    wcodec_tensor_info info;
    wcodec_error err = {0};
    size_t *next = NULL;
    bool good = true;
    for (uint64_t i = 0; i < count; i++) {
        if (wcodec_reader_tensor(reader, i, &info, &err) != WCODEC_OK)
            return app_fail_status(app, name, &err);
        struct bench_class *class = find_class(data, info.dtype_name);
        if (!class || !add_tensor(app, class, &info))
            return app_fail(app, EXIT_FAILED, "%s: out of memory", name);
    }
    for (size_t c = 0; c < data->count; c++) {
        if (!(data->classes[c].data = app_alloc(app, name, data->classes[c].size)))
            return false;
    }
    if (!(next = calloc(data->count + 1, sizeof *next)))
        return app_fail(app, EXIT_FAILED, "%s: out of memory", name);
    for (uint64_t i = 0; i < count && good; i++) {
        if ((good = wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK)) {
            const struct bench_class *class = find_class(data, info.dtype_name);
            size_t *k = &next[class - data->classes];
            if (*k < class->count && strcmp(class->tensors[*k].name, info.name) == 0) {
                good = fill_tensor(app, name, reader, i, class, &class->tensors[*k]);
                (*k)++;
            }
        }
    }
    free(next);
    return good;
}

struct sink {
    uint8_t *data;
    uint64_t at;
    uint64_t size;
};

static int fill_sink(void *opaque, const void *data, size_t size)
{
    struct sink *sink = opaque;
    size_t n = sink->size - sink->at < size ? (size_t)(sink->size - sink->at) : size;
    memcpy(sink->data + sink->at, data, n);
    sink->at += n;
    return 0;
}

static bool load_opaque(struct app *app, const char *name, const wcodec_reader *reader,
                        const wcodec_file_info *file, struct bench_data *data)
{
    wcodec_error err = {0};
    uint64_t size =
        app->options.sample && app->options.sample < file->size ? app->options.sample : file->size;
    if (size == 0)
        return true;
    struct bench_class *class = find_class(data, "opaque");
    if (!class || !(class->tensors = calloc(1, sizeof *class->tensors)))
        return app_fail(app, EXIT_FAILED, "%s: out of memory", name);
    class->count = 1;
    class->opaque = true;
    class->tensors[0].size = class->size = class->elements = size;
    if (!(class->data = app_alloc(app, name, size)))
        return false;
    struct sink sink = {.data = class->data, .size = size};
    wcodec_decode_options decode = app_decode_options(app);
    return wcodec_reader_restore(reader, 0, fill_sink, &sink, &decode, &err) == WCODEC_OK ||
           app_fail_status(app, name, &err);
}

bool bench_load(struct app *app, const char *path, struct bench_data *data)
{
    struct input input;
    wcodec_reader *reader;
    wcodec_file_info file;
    wcodec_error err = {0};
    *data = (struct bench_data){0};
    if (!open_any(app, path, &input, &reader))
        return false;
    bool good = wcodec_reader_file(reader, 0, &file, &err) == WCODEC_OK ||
                app_fail_status(app, input.name, &err);
    good = good && (file.safetensors || file.tensors != 0
                        ? load_tensors(app, input.name, reader, data)
                        : load_opaque(app, input.name, reader, &file, data));
    uint64_t size = 0;
    for (size_t c = 0; good && c < data->count; c++)
        size += data->classes[c].size;
    if (good && size == 0)
        good = app_fail(app, EXIT_FAILED, "%s: holds nothing to measure", input.name);
    wcodec_reader_close(reader);
    input_close(&input);
    if (!good)
        bench_unload(data);
    return good;
}

void bench_unload(struct bench_data *data)
{
    for (size_t c = 0; c < data->count; c++) {
        struct bench_class *class = &data->classes[c];
        for (size_t i = 0; i < class->count; i++) {
            free(class->tensors[i].name);
            free(class->tensors[i].shape);
        }
        free(class->tensors);
        free(class->data);
        free(class->dtype_name);
    }
    free(data->classes);
    *data = (struct bench_data){0};
}
