/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/tensor_file.h"
#include "utils/bases.h"
#include "utils/partial.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool describe_reader(struct app *app, struct tensor_file *file)
{
    wcodec_file_info info;
    wcodec_error err = {0};
    if (wcodec_reader_file_count(file->reader) != 0 &&
        wcodec_reader_file(file->reader, 0, &info, &err) != WCODEC_OK)
        return app_fail_status(app, file->input.name, &err);
    file->tensors = wcodec_reader_tensor_count(file->reader);
    if (wcodec_reader_file_count(file->reader) != 0)
        memcpy(file->kind, info.kind, sizeof file->kind);
    return true;
}

static bool open_original(struct app *app, const char *model, struct tensor_file *file)
{
    wcodec_original_info info;
    wcodec_error err = {0};
    const struct input *input = &file->input;
    const wcodec_status status =
        wcodec_original_open_fd(app->context, input->fd, model,
                                model ? path_base(input->path) : NULL, &file->original, &err);
    if (status == WCODEC_ERROR_CORRUPT || status == WCODEC_ERROR_NOT_FOUND)
        return app_fail(app, EXIT_CORRUPT, "%s: no file of tensors: %s", input->name, err.text);
    if (status != WCODEC_OK)
        return app_fail_status(app, input->name, &err);
    wcodec_original_describe(file->original, &info);
    file->tensors = info.tensors;
    memcpy(file->kind, info.kind, sizeof file->kind);
    if (info.note[0] && info.tensors)
        app_warn(app, "%s: %s", input->name, info.note);
    return true;
}

bool tensor_file_open(struct app *app, const char *path, const char *model,
                      struct tensor_file *file)
{
    wcodec_error err = {0};
    bool good = false;
    *file = (struct tensor_file){.input = {.fd = -1}};
    if (!app_context(app))
        return false;
    const bool index = path_has_suffix(path, ".index.json");
    if (!(index ? input_open_reader(app, path, &file->input, &file->reader)
                : input_open(app, path, &file->input)))
        return false;
    if (index)
        good = describe_reader(app, file);
    else if (!input_is_container(&file->input))
        good = open_original(app, model, file);
    else if (bases_open_reader(app, app->context, &file->input, &file->reader, &err) == WCODEC_OK)
        good = describe_reader(app, file);
    else
        app_fail_status(app, file->input.name, &err);
    if (!good)
        tensor_file_close(file);
    return good;
}

void tensor_file_close(struct tensor_file *file)
{
    wcodec_original_close(file->original);
    wcodec_reader_close(file->reader);
    free(file->decoded);
    input_close(&file->input);
    *file = (struct tensor_file){.input = {.fd = -1}};
}

void tensor_file_describe(const struct tensor_file *file, uint64_t i, wcodec_tensor_info *info)
{
    if (file->reader)
        wcodec_reader_tensor(file->reader, i, info, NULL);
    else
        wcodec_original_tensor(file->original, i, info, NULL);
}

static bool reader_pairs(const wcodec_reader *reader, tensor_file_pair_fn visit, void *opaque)
{
    const char *key, *value;
    for (uint64_t file = 0; file < wcodec_reader_file_count(reader); file++) {
        for (uint64_t i = 0; i < wcodec_reader_metadata_count(reader, file); i++) {
            if (wcodec_reader_metadata(reader, file, i, &key, &value, NULL) != WCODEC_OK ||
                !visit(opaque, key, value))
                return false;
        }
    }
    return true;
}

bool tensor_file_pairs(const struct tensor_file *file, tensor_file_pair_fn visit, void *opaque)
{
    wcodec_original_info info;
    const char *key, *value;
    if (file->reader)
        return reader_pairs(file->reader, visit, opaque);
    wcodec_original_describe(file->original, &info);
    for (uint64_t i = 0; i < info.metadata; i++) {
        if (wcodec_original_metadata(file->original, i, &key, &value, NULL) != WCODEC_OK ||
            !visit(opaque, key, value))
            return false;
    }
    return true;
}

bool tensor_file_read(struct app *app, struct tensor_file *file, uint64_t i, uint64_t offset,
                      void *bytes, size_t size)
{
    wcodec_tensor_info info;
    if (size == 0)
        return true;
    if (!file->reader) {
        tensor_file_describe(file, i, &info);
        return input_read(app, &file->input, info.file_offset + offset, bytes, size);
    }
    if (!file->decoded || file->number != i) {
        free(file->decoded);
        file->number = i;
        file->decoded =
            partial_decode(app, file->input.name, file->reader, i, NULL, &file->decoded_size);
        if (!file->decoded)
            return false;
    }
    memcpy(bytes, (const char *)file->decoded + offset, size);
    return true;
}

bool tensor_file_changed(const struct tensor_file *file)
{
    struct stat now;
    if (file->reader || file->input.fd < 0 || fstat(file->input.fd, &now) != 0)
        return false;
    const struct stat *then = &file->input.stat;
    return now.st_size != then->st_size || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != then->st_mtim.tv_nsec;
}

bool tensor_file_check(struct app *app, const struct tensor_file *file)
{
    return !tensor_file_changed(file) ||
           app_fail(app, EXIT_FAILED, "%s: the file was changed while it was read",
                    file->input.name);
}
