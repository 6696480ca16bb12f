/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/model_index.h"
#include "utils/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".wcodec"

/* Of the largest models some 20 MB; and times its text that a tree of JSON takes, about. */
enum { INDEX_BYTES_MAX = 1 << 28, TREE_FACTOR = 40 };

/* What came of looking for the files of an index. */
struct findings {
    size_t files, coded, missing;
    const char *first;  /* missing */
    json_int_t tensors; /* of that one */
};

bool model_index_is(const char *path)
{
    const char *base = path_base(path);
    return path_has_suffix(base, ".safetensors.index.json") ||
           path_has_suffix(base, ".bin.index.json");
}

/* Zip archives, as torch.save() makes them; files of older versions are none. */
static bool is_archive(const char *path)
{
    char first[4];
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool is = pread(fd, first, sizeof first, 0) == (ssize_t)sizeof first &&
                    memcmp(first, "PK\3\4", sizeof first) == 0;
    close(fd);
    return is;
}

bool model_weights_are(const char *path)
{
    const char *base = path_base(path);
    return path_has_suffix(base, ".safetensors") ||
           (path_has_suffix(base, ".bin") && strstr(base, "model") && is_archive(path));
}

static wcodec_status fail(wcodec_error *err, wcodec_status status, const char *path,
                          const char *format, ...) APP_PRINTF(4, 5);

static wcodec_status fail(wcodec_error *err, wcodec_status status, const char *path,
                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = snprintf(err->text, sizeof err->text, "%.400s: ", path);
    vsnprintf(err->text + n, sizeof err->text - (size_t)n, format, arguments);
    va_end(arguments);
    err->status = status;
    return status;
}

static wcodec_status load(struct app *app, const char *path, json_t **root, wcodec_error *err)
{
    json_error_t where;
    struct stat stat;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) != 0) {
        const int error = errno;
        if (fd >= 0)
            close(fd);
        return fail(err, WCODEC_ERROR_IO, path, "cannot open: %s", strerror(error));
    }
    const uint64_t size = (uint64_t)stat.st_size, limit = app->options.memory_limit;
    if (!S_ISREG(stat.st_mode) || size > INDEX_BYTES_MAX || (limit && size > limit / TREE_FACTOR)) {
        close(fd);
        return fail(err, WCODEC_ERROR_LIMIT, path,
                    "is no file, or too large to be read as an index");
    }
    *root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &where);
    close(fd);
    return *root ? WCODEC_OK
                 : fail(err, WCODEC_ERROR_CORRUPT, path, "line %d, byte %d: %s", where.line,
                        where.position, where.text);
}

/* Tensors of each file that the index names, by name of the file; NULL: *err says why. */
static json_t *count_tensors(const char *path, json_t *root, wcodec_error *err)
{
    json_t *map = json_object_get(root, "weight_map"), *files = json_object(), *value;
    const char *tensor;
    if (!json_is_object(map) || json_object_size(map) == 0) {
        fail(err, WCODEC_ERROR_CORRUPT, path, "has no \"weight_map\" of names");
        goto failed;
    }
    json_object_foreach(map, tensor, value)
    {
        const char *name = json_string_value(value);
        if (!name || !*name || strchr(name, '/')) {
            fail(err, WCODEC_ERROR_CORRUPT, path,
                 "tensor '%.200s' is mapped to what is no plain file name", tensor);
            goto failed;
        }
        const json_int_t before = json_integer_value(json_object_get(files, name));
        if (json_object_set_new(files, name, json_integer(before + 1)) != 0) {
            fail(err, WCODEC_ERROR_MEMORY, path, "out of memory");
            goto failed;
        }
    }
    return files;
failed:
    json_decref(files);
    return NULL;
}

static bool is_file(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

static bool look(struct app *app, const char *path, json_t *files, struct findings *found)
{
    const size_t folder = (size_t)(path_base(path) - path);
    const char *name;
    json_t *tensors;
    json_object_foreach(files, name, tensors)
    {
        const size_t room = folder + strlen(name) + sizeof SUFFIX;
        char *file = app_alloc(app, path, room);
        if (!file)
            return false;
        snprintf(file, room, "%.*s%s" SUFFIX, (int)folder, path, name);
        const bool coded = is_file(file);
        file[room - sizeof SUFFIX] = 0;
        found->files++;
        found->coded += coded;
        if (!coded && !is_file(file) && found->missing++ == 0) {
            found->first = name;
            found->tensors = json_integer_value(tensors);
        }
        free(file);
    }
    return true;
}

static wcodec_status check(struct app *app, const char *path, bool *all_coded, wcodec_error *err)
{
    struct findings found = {0};
    json_t *root = NULL;
    wcodec_status status = load(app, path, &root, err);
    if (status != WCODEC_OK)
        return status;
    json_t *files = count_tensors(path, root, err);
    if (!files)
        status = err->status;
    else if (!look(app, path, files, &found))
        status = fail(err, WCODEC_ERROR_MEMORY, path, "out of memory");
    else if (found.missing)
        status = fail(err, WCODEC_ERROR_NOT_FOUND, path,
                      "%zu of the %zu files of this model %s missing: %.200s, with %" PRIdMAX
                      " tensor%s%s",
                      found.missing, found.files, found.missing == 1 ? "is" : "are", found.first,
                      (intmax_t)found.tensors, found.tensors == 1 ? "" : "s",
                      found.missing == 1 ? "" : ", for one");
    *all_coded = found.coded == found.files;
    json_decref(files);
    json_decref(root);
    return status;
}

wcodec_status model_index_check(struct app *app, const char *path, wcodec_error *err)
{
    bool all_coded;
    return check(app, path, &all_coded, err);
}

wcodec_status model_index_test(struct app *app, const char *path, wcodec_error *err)
{
    bool all_coded;
    wcodec_reader *reader;
    wcodec_status status = check(app, path, &all_coded, err);
    if (status != WCODEC_OK || !all_coded)
        return status;
    status = wcodec_reader_open_path(app->context, path, &reader, err);
    if (status == WCODEC_OK)
        wcodec_reader_close(reader);
    return status;
}
