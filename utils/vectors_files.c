/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/signals.h"
#include "utils/vectors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_SUFFIX ".idx"

static const char *const suffixes[VECTORS_FILES] = {[WCODEC_VECTORS_PART_HEAD] = HEAD_SUFFIX,
                                                    [WCODEC_VECTORS_PART_ANCHORS] = ".anchors.bin",
                                                    [WCODEC_VECTORS_PART_INDEX] = ".assign.bin"};

static char *path_of(struct app *app, const char *name, int part)
{
    size_t length = strlen(name);
    if (path_has_suffix(name, HEAD_SUFFIX))
        length -= sizeof HEAD_SUFFIX - 1;
    char *path = app_alloc(app, name, length + strlen(suffixes[part]) + 1);
    if (path) {
        memcpy(path, name, length);
        strcpy(path + length, suffixes[part]);
    }
    return path;
}

bool vectors_files_open(struct app *app, const char *name, const struct stat *input,
                        struct vectors_files *files)
{
    bool good = true;
    for (int i = 0; i < VECTORS_FILES; i++) {
        files->path[i] = NULL;
        files->output[i] = (struct output){.fd = -1, .dir_fd = -1};
    }
    for (int i = 0; i < VECTORS_FILES && good; i++) {
        files->path[i] = path_of(app, name, i);
        good = files->path[i] && output_open(app, files->path[i], input, &files->output[i]);
    }
    if (!good)
        vectors_files_close(files);
    return good;
}

uint64_t vectors_files_size(const wcodec_vectors_info *info)
{
    enum { HEAD_SIZE = 19 };
    return HEAD_SIZE + 2 * info->anchors * info->dimensions + 4 * info->rows;
}

void vectors_files_close(struct vectors_files *files)
{
    for (int i = 0; i < VECTORS_FILES; i++) {
        output_close(&files->output[i]);
        free(files->path[i]);
        files->path[i] = NULL;
    }
}

/* The name of the .idx comes last, and one that is to be replaced goes first: never does it stand
 * beside files that are not its own. */
static bool commit(struct app *app, const struct output_attributes *attributes,
                   struct vectors_files *files)
{
    struct output *head = &files->output[WCODEC_VECTORS_PART_HEAD];
    if (signals_pending())
        return false;
    if (app->options.force && head->dir_fd >= 0 && unlinkat(head->dir_fd, head->base, 0) != 0 &&
        errno != ENOENT)
        return app_fail_errno(app, head->name, "cannot be replaced", errno);
    for (int i = VECTORS_FILES - 1; i >= 0; i--) {
        if (output_commit(app, &files->output[i], attributes))
            continue;
        for (int k = i + 1; k < VECTORS_FILES; k++)
            if (files->output[k].dir_fd >= 0)
                unlinkat(files->output[k].dir_fd, files->output[k].base, 0);
        return false;
    }
    return true;
}

bool vectors_files_write(struct app *app, const wcodec_vectors *vectors,
                         const struct output_attributes *attributes, struct vectors_files *files)
{
    wcodec_error err = {0};
    for (int i = 0; i < VECTORS_FILES; i++) {
        struct output *output = &files->output[i];
        if (wcodec_vectors_export(vectors, (wcodec_vectors_part)i, output_write, output, &err) !=
            WCODEC_OK)
            return output_fail(app, output, output->name, &err);
    }
    return commit(app, attributes, files);
}

/* A whole file in memory; the caller frees it. NULL: reported. */
static void *read_file(struct app *app, const char *path, struct output_attributes *attributes,
                       size_t *size)
{
    struct input input;
    if (!input_open(app, path, &input))
        return NULL;
    *size = (size_t)input.stat.st_size;
    output_attributes_narrow(attributes, &input.stat);
    char *data = app_alloc(app, path, *size);
    if (data && !input_read(app, &input, 0, data, *size)) {
        free(data);
        data = NULL;
    }
    input_close(&input);
    return data;
}

wcodec_vectors *vectors_files_read(struct app *app, const char *name,
                                   struct output_attributes *attributes)
{
    void *data[VECTORS_FILES] = {NULL};
    const void *parts[VECTORS_FILES];
    size_t size[VECTORS_FILES];
    wcodec_vectors *vectors = NULL;
    wcodec_error err = {0};
    bool good = app_context(app);
    for (int i = 0; i < VECTORS_FILES && good; i++) {
        char *path = path_of(app, name, i);
        parts[i] = data[i] = path ? read_file(app, path, attributes, &size[i]) : NULL;
        good = data[i] != NULL;
        free(path);
    }
    if (good && wcodec_vectors_import(app->context, parts, size, &vectors, &err) != WCODEC_OK)
        app_fail_status(app, name, &err);
    for (int i = 0; i < VECTORS_FILES; i++)
        free(data[i]);
    return vectors;
}
