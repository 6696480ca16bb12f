/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/external.h"
#include "utils/input.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL_SUFFIX ".onnx"

/* A file, and the model that names it. */
struct external_pair {
    char *file, *model;
};

struct external {
    char *folder; /* as it stands in paths: with its slash, or "" */
    struct external_pair *pairs;
    size_t count, room;
};

const char *external_file(const char *key)
{
    static const char prefix[] = "onnx.external.";
    return strncmp(key, prefix, sizeof prefix - 1) == 0 ? key + sizeof prefix - 1 : NULL;
}

static bool add_pair(struct external *e, const char *file, const char *model)
{
    if (e->count == e->room) {
        const size_t room = e->room * 2 + 16;
        struct external_pair *pairs = realloc(e->pairs, room * sizeof *pairs);
        if (!pairs)
            return false;
        e->pairs = pairs;
        e->room = room;
    }
    struct external_pair *pair = &e->pairs[e->count++];
    *pair = (struct external_pair){strdup(file), strdup(model)};
    return pair->file && pair->model;
}

static bool add_files(struct external *e, const char *model, const wcodec_original *original)
{
    wcodec_original_info info;
    bool good = true;
    wcodec_original_describe(original, &info);
    for (uint64_t i = 0; i < info.metadata && good; i++) {
        const char *key, *value;
        const char *file = wcodec_original_metadata(original, i, &key, &value, NULL) == WCODEC_OK
                               ? external_file(key)
                               : NULL;
        if (file)
            good = add_pair(e, file, model);
    }
    return good;
}

/* What is wrong with a model is said where it is compressed, not here. */
static bool read_model(struct app *app, struct external *e, const char *model)
{
    wcodec_original *original;
    bool good = true;
    const int fd = open(model, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return true;
    if (wcodec_original_open_fd(app->context, fd, NULL, NULL, &original, NULL) == WCODEC_OK) {
        good = add_files(e, model, original);
        wcodec_original_close(original);
    }
    close(fd);
    return good;
}

/* Two models may name one file: the first one by name counts, in whatever order they are read. */
static int compare_pairs(const void *a, const void *b)
{
    const struct external_pair *x = a, *y = b;
    const int files = strcmp(x->file, y->file);
    return files ? files : strcmp(x->model, y->model);
}

static void clear(struct external *e)
{
    for (size_t i = 0; i < e->count; i++) {
        free(e->pairs[i].file);
        free(e->pairs[i].model);
    }
    free(e->pairs);
    free(e->folder);
    *e = (struct external){0};
}

static bool read_folder(struct app *app, struct external *e)
{
    struct dirent *entry;
    bool good = true;
    DIR *dir = opendir(*e->folder ? e->folder : ".");
    if (!dir)
        return true;
    while (good && (entry = readdir(dir))) {
        if (!path_has_suffix(entry->d_name, MODEL_SUFFIX))
            continue;
        char *model = app_alloc(app, entry->d_name, strlen(e->folder) + strlen(entry->d_name) + 1);
        good = model && read_model(app, e, strcat(strcpy(model, e->folder), entry->d_name));
        free(model);
    }
    closedir(dir);
    if (good && e->count > 1)
        qsort(e->pairs, e->count, sizeof *e->pairs, compare_pairs);
    return good;
}

/* The first of a file's models. */
static const char *find_model(const struct external *e, const char *file)
{
    size_t begin = 0, end = e->count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (strcmp(e->pairs[middle].file, file) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < e->count && strcmp(e->pairs[begin].file, file) == 0 ? e->pairs[begin].model
                                                                       : NULL;
}

const char *external_model(struct app *app, const char *path)
{
    const char *base = path_base(path);
    const size_t length = (size_t)(base - path);
    if (path_has_suffix(base, MODEL_SUFFIX) || !app_context(app))
        return NULL;
    if (!app->external)
        app->external = calloc(1, sizeof *app->external);
    struct external *e = app->external;
    if (!e)
        return NULL;
    if (!e->folder || strncmp(e->folder, path, length) != 0 || e->folder[length]) {
        clear(e);
        e->folder = strndup(path, length);
        if (!e->folder || !read_folder(app, e)) {
            clear(e);
            return NULL;
        }
    }
    return find_model(e, base);
}

void external_free(struct app *app)
{
    if (app->external)
        clear(app->external);
    free(app->external);
    app->external = NULL;
}
