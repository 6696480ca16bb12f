/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Model folders: as packages look for them, files of PyTorch called pytorch_model*.bin become
 * model*.safetensors, and their index is one of these. */
#include "utils/convert.h"
#include "utils/external.h"
#include "utils/input.h"
#include "utils/output.h"
#include "utils/results.h"
#include "utils/walk.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDEX_SUFFIX ".bin.index.json"

/* What becomes of a file. */
enum fate { COPIED, CONVERTED, LEFT_OUT };

/* A damaged .wcodec file is converted, which says what is wrong with it. */
static enum fate fate_of_container(struct app *app, int fd)
{
    wcodec_reader *reader;
    wcodec_file_info info;
    enum fate fate = CONVERTED;
    if (wcodec_reader_open_fd(app->context, fd, &reader, NULL) != WCODEC_OK)
        return fate;
    if (wcodec_reader_file(reader, 0, &info, NULL) == WCODEC_OK &&
        strcmp(info.kind, "onnxdata") == 0)
        fate = LEFT_OUT;
    wcodec_reader_close(reader);
    return fate;
}

/* External data of a model goes into the model's file; safetensors files are that already, which
 * their names alone do not say. */
static enum fate fate_of(struct app *app, const char *path, bool warns)
{
    struct input input = {.path = path};
    wcodec_original *original;
    wcodec_original_info info;
    wcodec_error err = {0};
    enum fate fate = COPIED;
    if (!path_has_suffix(path_base(path), ".safetensors") && external_model(app, path))
        return LEFT_OUT;
    input.fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (input.fd < 0 || !app_context(app))
        return fate;
    if (input_is_container(&input)) {
        fate = fate_of_container(app, input.fd);
    } else if (wcodec_original_open_fd(app->context, input.fd, NULL, NULL, &original, &err) ==
               WCODEC_OK) {
        wcodec_original_describe(original, &info);
        fate = strcmp(info.kind, "safetensors") != 0 ? CONVERTED : COPIED;
        wcodec_original_close(original);
    } else if (external_model(app, path)) {
        fate = LEFT_OUT;
    } else if (warns && err.status != WCODEC_ERROR_NOT_FOUND) {
        app_warn(app, "%s: %s: copied as it is", path, err.text);
    }
    close(input.fd);
    return fate;
}

/* "pytorch_model" at the beginning of the last part of a path becomes "model". */
static void cut_prefix(char *path)
{
    static const char prefix[] = "pytorch_";
    char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    if (strncmp(base, "pytorch_model", sizeof "pytorch_model" - 1) == 0)
        memmove(base, base + sizeof prefix - 1, strlen(base) - (sizeof prefix - 1) + 1);
}

static char *renamed(struct app *app, const char *path)
{
    char *target = convert_target(app, path);
    if (target)
        cut_prefix(target);
    return target;
}

/* What a file is called now that an index calls `name`: those that are copied as they are keep
 * their names. */
static char *name_now(struct app *app, const char *source, const char *name)
{
    struct stat now;
    const int folder = (int)(path_base(source) - source);
    char *path = app_alloc(app, source, (size_t)folder + strlen(name) + 1);
    if (!path)
        return NULL;
    sprintf(path, "%.*s%s", folder, source, name);
    const bool stays = !strchr(name, '/') && stat(path, &now) == 0 && S_ISREG(now.st_mode) &&
                       fate_of(app, path, false) == COPIED;
    free(path);
    return stays ? strdup(name) : renamed(app, name);
}

/* The names of files in an index, as they are called now; `names`: those that are known. */
static bool rename_files(struct app *app, const char *source, json_t *index, json_t *names)
{
    const char *tensor;
    json_t *map = json_object_get(index, "weight_map"), *file;
    if (!json_is_object(map))
        return app_fail(app, EXIT_CORRUPT, "%s: has no \"weight_map\" of names", source);
    json_object_foreach(map, tensor, file)
    {
        const char *old = json_string_value(file);
        if (!old)
            return app_fail(app, EXIT_CORRUPT,
                            "%s: tensor '%.200s' is mapped to what is no file name", source,
                            tensor);
        if (!json_object_get(names, old)) {
            char *name = name_now(app, source, old);
            const bool good = name && json_object_set_new(names, old, json_string(name)) == 0;
            free(name);
            if (!good)
                return app_fail(app, EXIT_FAILED, "%s: out of memory", source);
        }
        if (json_string_set(file, json_string_value(json_object_get(names, old))) != 0)
            return app_fail(app, EXIT_FAILED, "%s: out of memory", source);
    }
    return true;
}

static bool write_text(struct app *app, const struct input *input, const char *target,
                       const char *text)
{
    struct output output;
    const struct output_attributes attributes = output_attributes_of(&input->stat);
    if (!output_open(app, target, &input->stat, &output))
        return false;
    const bool good = output_write(&output, text, strlen(text)) == 0
                          ? output_commit(app, &output, &attributes)
                          : app_fail_errno(app, target, "cannot write", output.error);
    output_close(&output);
    return good;
}

/* "NAME.bin.index.json" becomes "NAME.safetensors.index.json". */
static bool write_index(struct app *app, const struct input *input, const char *target,
                        const json_t *index)
{
    static const char suffix[] = ".safetensors.index.json";
    char *text = json_dumps(index, JSON_INDENT(2));
    char *name = app_alloc(app, input->path, strlen(target) + sizeof suffix);
    bool good = name && (text || app_fail(app, EXIT_FAILED, "%s: out of memory", input->path));
    if (good) {
        strcpy(name, target);
        strcpy(name + strlen(name) - strlen(INDEX_SUFFIX), suffix);
        cut_prefix(name);
        good = write_text(app, input, name, text);
        if (good)
            results_add(app, input->path, name, "converted", NULL);
    }
    free(name);
    free(text);
    return good;
}

static bool convert_index(struct app *app, const char *source, const char *target)
{
    json_error_t where;
    struct input input;
    if (!input_open(app, source, &input)) {
        results_add_failure(app, source);
        return false;
    }
    json_t *index = json_loadfd(input.fd, JSON_REJECT_DUPLICATES, &where);
    json_t *names = json_object();
    const bool good = index ? names && rename_files(app, source, index, names) &&
                                  write_index(app, &input, target, index)
                            : app_fail(app, EXIT_CORRUPT, "%s: line %d, byte %d: %s", source,
                                       where.line, where.position, where.text);
    json_decref(names);
    json_decref(index);
    input_close(&input);
    if (!good)
        results_add_failure(app, source);
    return good;
}

static void mirror_file(struct app *app, void *opaque, const char *source, const char *target)
{
    const enum fate fate = fate_of(app, source, true);
    (void)opaque;
    if (fate == CONVERTED) {
        char *name = renamed(app, target);
        if (name)
            convert_file(app, source, name);
        free(name);
    } else if (fate == COPIED && path_has_suffix(path_base(source), INDEX_SUFFIX)) {
        convert_index(app, source, target);
    } else if (fate == COPIED) {
        copy_file(app, source, target);
    }
}

void convert_folder(struct app *app, const char *in, const char *out)
{
    walk_mirror(app, in, out, mirror_file, NULL);
}
