/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec convert: a safetensors file of any file of tensors. */
#include "utils/bases.h"
#include "utils/convert.h"
#include "utils/convert_list.h"
#include "utils/external.h"
#include "utils/json.h"
#include "utils/output.h"
#include "utils/results.h"
#include "utils/signals.h"
#include "utils/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".wcodec"

enum { PIECE = 1 << 20 };

static bool put(struct app *app, struct output *output, const void *data, size_t size)
{
    return size == 0 || output_write(output, data, size) == 0 ||
           app_fail_errno(app, output->name, "cannot write", output->error);
}

static bool copy_item(struct app *app, const struct convert_item *item, uint8_t *buffer,
                      struct output *output)
{
    bool good = true;
    for (uint64_t at = 0; at < item->from_size && good; at += PIECE) {
        const uint64_t left = item->from_size - at;
        const size_t part = left < PIECE ? (size_t)left : PIECE;
        good = !signals_pending() &&
               tensor_file_read(app, item->file, item->number, at, buffer, part) &&
               put(app, output, buffer, part);
    }
    return good;
}

static void put_numbers(wcodec_dtype dtype, const float *numbers, size_t count, uint8_t *bytes)
{
    if (dtype == WCODEC_DTYPE_F16)
        numbers_put_f16(numbers, count, bytes);
    else if (dtype == WCODEC_DTYPE_BF16)
        numbers_put_bf16(numbers, count, bytes);
    else
        numbers_put_f32(numbers, count, bytes);
}

/* As many blocks at a time as make no more than a piece. */
static bool dequantize_item(struct app *app, const struct convert_item *item, uint8_t *buffer,
                            struct output *output)
{
    const struct block_type *type = item->blocks;
    const size_t bytes = wcodec_dtype_bits(item->dtype) / 8 * type->elements;
    const uint64_t count = item->from_size / type->bytes;
    const size_t most = PIECE / (bytes + type->bytes);
    float numbers[DEQUANTIZE_ELEMENTS_MAX];
    bool good = true;
    for (uint64_t block = 0; block < count && good; block += most) {
        const size_t part = count - block < most ? (size_t)(count - block) : most;
        uint8_t *made = buffer + part * type->bytes;
        good =
            !signals_pending() && tensor_file_read(app, item->file, item->number,
                                                   block * type->bytes, buffer, part * type->bytes);
        for (size_t i = 0; i < part && good; i++) {
            type->decode(buffer + i * type->bytes, numbers);
            put_numbers(item->dtype, numbers, type->elements, made + i * bytes);
        }
        good = good && put(app, output, made, part * bytes);
    }
    return good;
}

/* Elements in the order of the shape, from where their strides say. */
static bool put_permuted(struct app *app, const struct convert_item *item, const uint8_t *bytes,
                         uint8_t *buffer, struct output *output)
{
    const size_t element = wcodec_dtype_bits(item->dtype) / 8;
    uint64_t index[CONVERT_RANK_MAX] = {0}, from = 0, left = item->size / element;
    size_t used = 0;
    bool good = true;
    while (left > 0 && good) {
        memcpy(buffer + used, bytes + from * element, element);
        used += element;
        left--;
        if (used == PIECE || left == 0) {
            good = !signals_pending() && put(app, output, buffer, used);
            used = 0;
        }
        for (unsigned i = item->rank; i-- > 0;) {
            from += item->strides[i];
            if (++index[i] < item->shape[i])
                break;
            from -= item->strides[i] * item->shape[i];
            index[i] = 0;
        }
    }
    return good;
}

static bool permute_item(struct app *app, const struct convert_item *item, uint8_t *buffer,
                         struct output *output)
{
    uint8_t *bytes = app_alloc(app, item->file->input.name, item->from_size);
    const bool good =
        bytes &&
        tensor_file_read(app, item->file, item->number, 0, bytes, (size_t)item->from_size) &&
        put_permuted(app, item, bytes, buffer, output);
    free(bytes);
    return good;
}

static bool write_items(struct app *app, const struct convert_list *list, struct output *output)
{
    size_t size;
    char *header = convert_list_header(list, &size);
    uint8_t *buffer = app_alloc(app, list->files[0].input.name, PIECE);
    bool good = header && buffer;
    if (!header)
        app_fail(app, EXIT_FAILED, "%s: out of memory for a header", list->files[0].input.name);
    good = good && put(app, output, header, size);
    for (size_t i = 0; i < list->count && good; i++) {
        const struct convert_item *item = &list->items[i];
        good = item->blocks    ? dequantize_item(app, item, buffer, output)
               : item->strides ? permute_item(app, item, buffer, output)
                               : copy_item(app, item, buffer, output);
    }
    for (size_t i = 0; i < list->file_count && good; i++)
        good = tensor_file_check(app, &list->files[i]);
    free(buffer);
    free(header);
    return good;
}

/* Is it one of the files that an index names? */
static bool is_shard(const wcodec_reader *reader, const struct stat *now)
{
    wcodec_file_info info;
    struct stat shard;
    for (uint64_t i = 0; i < wcodec_reader_file_count(reader); i++)
        if (wcodec_reader_file(reader, i, &info, NULL) == WCODEC_OK && info.path &&
            stat(info.path, &shard) == 0 && same_file(&shard, now))
            return true;
    return false;
}

/* The external data of a model, say. */
static bool is_input(const struct convert_list *list, const char *target)
{
    struct stat now;
    if (!target || stat(target, &now) != 0)
        return false;
    for (size_t i = 0; i < list->file_count; i++) {
        const struct tensor_file *file = &list->files[i];
        if (file->input.fd >= 0 ? same_file(&file->input.stat, &now)
                                : file->reader && is_shard(file->reader, &now))
            return true;
    }
    return false;
}

static bool write_file(struct app *app, const struct convert_list *list, const char *target)
{
    const struct input *input = &list->files[0].input;
    const struct stat *stat = input->fd >= 0 ? &input->stat : NULL;
    struct output output;
    struct output_attributes attributes = {0};
    char size[32];
    if (is_input(list, target))
        return app_fail(app, EXIT_FAILED, "%s: input and output are the same file", target);
    if (signals_pending() || !(target ? output_open(app, target, stat, &output)
                                      : output_open_stdout(app, stat, &output)))
        return false;
    for (size_t i = 0; i < list->file_count; i++) {
        const struct tensor_file *file = &list->files[i];
        output_attributes_narrow_by(&attributes, &file->input, file->reader);
        if (file->reader)
            bases_narrow(app, file->reader, -1, &attributes);
    }
    const bool good = bases_spared(app, output.name) && write_items(app, list, &output) &&
                      output_commit(app, &output, &attributes);
    const uint64_t written = atomic_load(&output.written);
    if (good) {
        app_note(app, "%s: %zu tensor%s, %s written to %s", input->name, list->count,
                 list->count == 1 ? "" : "s", text_size(written, size), output.name);
        results_add(app, input->name, output.name, "converted",
                    json_pack("{s:o, s:o}", "tensors", json_size(list->count), "bytes",
                              json_size(written)));
    }
    output_close(&output);
    return good;
}

/* Files that a model says have tensors of it. */
struct found {
    struct app *app;
    const char *model;
    struct tensor_file *files;
    char **paths;
    size_t count;
    bool failed;
};

/* A pipe would be waited for. */
static bool open_external(const struct found *f, const char *path, bool coded,
                          struct tensor_file *file)
{
    struct stat now;
    if (stat(path, &now) == 0 && !S_ISREG(now.st_mode))
        return app_fail(f->app, EXIT_FAILED, "%s: is no file, but external data of %s", path,
                        f->model);
    return tensor_file_open(f->app, path, coded ? NULL : f->model, file);
}

static bool add_external(void *opaque, const char *key, const char *value)
{
    struct found *f = opaque;
    const char *file = external_file(key), *base = path_base(f->model);
    const bool coded = f->files[0].reader != NULL;
    (void)value;
    if (!file)
        return true;
    f->failed = true;
    if (!*f->model)
        return app_fail(f->app, EXIT_FAILED,
                        "standard input: has tensors in '%s', which is beside a file only", file);
    struct tensor_file *files = realloc(f->files, (f->count + 1) * sizeof *files);
    f->files = files ? files : f->files;
    char **paths = realloc(f->paths, (f->count + 1) * sizeof *paths);
    f->paths = paths ? paths : f->paths;
    const size_t room = (size_t)(base - f->model) + strlen(file) + sizeof SUFFIX;
    char *path = files && paths ? malloc(room) : NULL;
    if (!path)
        return app_fail(f->app, EXIT_FAILED, "%s: out of memory", f->model);
    snprintf(path, room, "%.*s%s%s", (int)(base - f->model), f->model, file, coded ? SUFFIX : "");
    struct tensor_file *one = &files[f->count];
    if (!open_external(f, path, coded, one)) {
        free(path);
        return false;
    }
    f->paths[f->count++] = path;
    f->failed = strcmp(one->kind, "onnxdata") != 0;
    return !f->failed ||
           app_fail(f->app, EXIT_FAILED, "%s: is no external data of %s", path, f->model);
}

/* A model of ONNX goes with its external data. */
static bool open_files(struct app *app, const char *path, struct found *f)
{
    const bool standard = strcmp(path, "-") == 0;
    *f = (struct found){.app = app, .model = standard ? "" : path};
    f->files = malloc(sizeof *f->files);
    f->paths = calloc(1, sizeof *f->paths);
    if (!f->files || !f->paths)
        return app_fail(app, EXIT_FAILED, "%s: out of memory", path);
    if (!tensor_file_open(app, path, standard ? NULL : external_model(app, path), &f->files[0]))
        return false;
    f->count = 1;
    if (strcmp(f->files[0].kind, "onnx") != 0)
        return true;
    /* The list of files moves as it grows: pairs are read from a copy of the first. */
    const struct tensor_file model = f->files[0];
    tensor_file_pairs(&model, add_external, f);
    return !f->failed;
}

static void close_files(struct found *f)
{
    for (size_t i = 0; i < f->count; i++) {
        tensor_file_close(&f->files[i]);
        free(f->paths[i]);
    }
    free(f->files);
    free(f->paths);
}

bool convert_file(struct app *app, const char *path, const char *target)
{
    struct found found;
    struct convert_list list = {0};
    bool good = open_files(app, path, &found);
    good = good && convert_list_make(app, found.files, found.count, &list) &&
           write_file(app, &list, target);
    convert_list_free(&list);
    close_files(&found);
    if (!good)
        results_add_failure(app, path);
    return good;
}

static void cut_suffix(char *path, const char *suffix)
{
    if (path_has_suffix(path_base(path), suffix))
        path[strlen(path) - strlen(suffix)] = 0;
}

char *convert_target(struct app *app, const char *path)
{
    static const char *const suffixes[] = {".npy",  ".npz",  ".pt",   ".pth",        ".bin",
                                           ".ckpt", ".gguf", ".onnx", ".safetensors"};
    static const char suffix[] = ".safetensors";
    char *target = app_alloc(app, path, strlen(path) + sizeof suffix);
    if (!target)
        return NULL;
    strcpy(target, path);
    for (size_t n = strlen(target); n > 1 && target[n - 1] == '/';)
        target[--n] = 0;
    cut_suffix(target, SUFFIX);
    const size_t length = strlen(target);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && strlen(target) == length; i++)
        cut_suffix(target, suffixes[i]);
    return strcat(target, suffix);
}

static void convert_operand(struct app *app, const char *path)
{
    const struct options *o = &app->options;
    const bool to_stdout = o->to_stdout || (strcmp(path, "-") == 0 && !o->output);
    const bool folder = strcmp(path, "-") != 0 && path_is_directory(path);
    char *target = o->output || to_stdout ? NULL : convert_target(app, path);
    if (folder && o->output) {
        convert_folder(app, path, o->output);
    } else if (folder) {
        app_fail(app, EXIT_USAGE, "%s: is a directory, which needs -o for another", path);
        results_add_failure(app, path);
    } else if (target || o->output || to_stdout) {
        convert_file(app, path, to_stdout ? NULL : (o->output ? o->output : target));
    } else {
        results_add_failure(app, path);
    }
    free(target);
}

void command_convert(struct app *app)
{
    const struct options *o = &app->options;
    const struct strings *files = &o->files;
    if (files->count == 0)
        app_fail(app, EXIT_USAGE, "convert what? Give files of tensors, or - for standard input");
    else if (o->to_stdout && files->count > 1)
        app_fail(app, EXIT_USAGE, "-c takes one input");
    else if (results_begin(app)) {
        for (size_t i = 0; i < files->count && !signals_pending(); i++)
            convert_operand(app, files->items[i]);
        results_end(app);
    }
}
