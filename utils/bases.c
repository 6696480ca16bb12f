/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/bases.h"
#include "utils/partial.h"
#include "utils/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bases_needed(const wcodec_reader *reader)
{
    const uint64_t count = wcodec_reader_tensor_count(reader);
    for (uint64_t i = 0; i < count; i++) {
        wcodec_delta_info info;
        if (wcodec_reader_delta(reader, i, &info, NULL) == WCODEC_OK && info.delta)
            return true;
    }
    return false;
}

/* Is nothing decoded? Then no file is hashed that is found. */
static bool is_listing(const struct app *app)
{
    return app->options.command == COMMAND_LIST || app->options.command == COMMAND_INFO;
}

/* Make the set, unless it is there. */
static wcodec_status open_set(struct app *app, const struct strings *paths, wcodec_bases **bases,
                              wcodec_error *err)
{
    if (*bases)
        return WCODEC_OK;
    wcodec_status status = wcodec_bases_create(app->context, app->options.base_depth, bases, err);
    for (size_t i = 0; i < paths->count && status == WCODEC_OK; i++)
        status = wcodec_bases_add_path(*bases, paths->items[i], err);
    if (status == WCODEC_OK)
        status = (is_listing(app) ? wcodec_bases_find_coded : wcodec_bases_find)(*bases, NULL, NULL,
                                                                                 err);
    if (status != WCODEC_OK) {
        wcodec_bases_destroy(*bases);
        *bases = NULL;
    }
    return status;
}

wcodec_status bases_given(struct app *app, wcodec_bases **bases, wcodec_error *err)
{
    /* What a file is decoded by that is coded against another base is no base of the new one. */
    wcodec_bases **own = app->options.command == COMMAND_REBASE ? &app->bases_onto : &app->bases;
    const wcodec_status status = open_set(app, &app->options.bases, own, err);
    *bases = *own;
    return status;
}

/* The folder of a path; a folder itself. The caller frees it. NULL: no memory. */
static char *folder_of(const char *path)
{
    const size_t size = path_is_directory(path) ? strlen(path) : (size_t)(path_base(path) - path);
    return size ? strndup(path, size) : strdup(".");
}

/* What the command's users can do about it. */
static void explain(const struct app *app, const char *path, wcodec_error *err)
{
    const size_t size = strlen(err->text);
    const bool rebase = app->options.command == COMMAND_REBASE;
    if ((rebase ? app->options.from : app->options.bases).count == 0)
        snprintf(err->text + size, sizeof err->text - size, " (--%s=FILE%s)",
                 rebase ? "from" : "base",
                 path ? "; there is none in the same folder that can be read" : "");
}

/* Have the reader decode by the set: the tensors that are asked for, at least. */
static wcodec_status set_for(struct app *app, wcodec_reader *reader, const wcodec_bases *bases,
                             wcodec_error *err)
{
    const struct options *o = &app->options;
    const uint64_t total = wcodec_reader_tensor_count(reader);
    uint64_t count = 0;
    if (is_listing(app) || o->keep_going)
        return wcodec_reader_set_bases_for(reader, bases, NULL, 0, err);
    if (o->tensors.count + o->only.count == 0)
        return wcodec_reader_set_bases(reader, bases, err);
    uint64_t *chosen = malloc((size_t)total * sizeof *chosen + 1);
    if (!chosen)
        return wcodec_reader_set_bases(reader, bases, err);
    for (uint64_t i = 0; i < total; i++) {
        wcodec_tensor_info info;
        if (wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK &&
            partial_is_chosen(o, info.name))
            chosen[count++] = i;
    }
    const wcodec_status status = wcodec_reader_set_bases_for(reader, bases, chosen, count, err);
    free(chosen);
    return status;
}

wcodec_status bases_set(struct app *app, const char *path, wcodec_reader *reader, wcodec_error *err)
{
    if (!bases_needed(reader))
        return WCODEC_OK;
    const bool rebase = app->options.command == COMMAND_REBASE;
    wcodec_status status =
        open_set(app, rebase ? &app->options.from : &app->options.bases, &app->bases, err);
    if (status == WCODEC_OK && path) {
        char *folder = folder_of(path);
        if (folder)
            status = (is_listing(app) ? wcodec_bases_find_coded
                                      : wcodec_bases_find)(app->bases, reader, folder, err);
        free(folder);
    }
    if (status != WCODEC_OK)
        return status;
    status = set_for(app, reader, app->bases, err);
    if (status == WCODEC_ERROR_NOT_FOUND)
        explain(app, path, err);
    return status;
}

wcodec_status bases_open_reader(struct app *app, wcodec_context *context, const struct input *input,
                                wcodec_reader **reader, wcodec_error *err)
{
    wcodec_status status = wcodec_reader_open_fd(context, input->fd, reader, err);
    if (status != WCODEC_OK)
        return status;
    status = bases_set(app, input->path, *reader, err);
    if (status != WCODEC_OK) {
        wcodec_reader_close(*reader);
        *reader = NULL;
    }
    return status;
}

static bool bases_have(const wcodec_bases *bases, const char *path)
{
    struct stat there, base;
    const uint64_t count = bases && stat(path, &there) == 0 ? wcodec_bases_count(bases) : 0;
    for (uint64_t i = 0; i < count; i++) {
        const char *name;
        if (wcodec_bases_file(bases, i, &name, NULL, NULL) == WCODEC_OK && stat(name, &base) == 0 &&
            same_file(&there, &base))
            return true;
    }
    return false;
}

bool bases_spared(struct app *app, const char *output)
{
    return !(bases_have(app->bases, output) || bases_have(app->bases_onto, output)) ||
           app_fail(app, EXIT_FAILED, "%s: is a base, without which nothing could be decoded",
                    output);
}

/* The path of the file with that hash; NULL: there is none. */
static const char *find_path(const wcodec_bases *bases, const uint8_t hash[16])
{
    const uint64_t count = bases ? wcodec_bases_count(bases) : 0;
    for (uint64_t i = 0; i < count; i++) {
        const char *path;
        uint8_t own[16];
        if (wcodec_bases_file(bases, i, &path, own, NULL) == WCODEC_OK &&
            memcmp(own, hash, sizeof own) == 0)
            return path;
    }
    return NULL;
}

struct chain {
    const struct app *app;
    const wcodec_bases *bases;
    base_fn visit;
    void *opaque;
    json_t *seen; /* hashes */
};

static bool follow(const struct chain *c, const wcodec_reader *reader, uint64_t begin, uint64_t end,
                   const char *of);

static bool follow_link(const struct chain *c, const struct base_link *link)
{
    wcodec_reader *reader;
    char hash[33];
    text_hex(link->hash, 16, hash);
    if (json_object_get(c->seen, hash))
        return true;
    if (json_object_set_new(c->seen, hash, json_true()) != 0)
        return false;
    c->visit(c->opaque, link);
    if (!link->path ||
        wcodec_reader_open_path(c->app->context, link->path, &reader, NULL) != WCODEC_OK)
        return true;
    const bool good = follow(c, reader, 0, wcodec_reader_tensor_count(reader), link->path);
    wcodec_reader_close(reader);
    return good;
}

/* Tensors begin to end. No deeper than there are files, since each is met once. */
static bool follow(const struct chain *c, const wcodec_reader *reader, uint64_t begin, uint64_t end,
                   const char *of)
{
    uint8_t last[16] = {0};
    bool good = true;
    for (uint64_t i = begin; i < end && good; i++) {
        wcodec_delta_info info;
        if (wcodec_reader_delta(reader, i, &info, NULL) != WCODEC_OK || !info.delta ||
            memcmp(last, info.xxh128, sizeof last) == 0)
            continue;
        memcpy(last, info.xxh128, sizeof last);
        const struct base_link link = {last, info.base_size, find_path(c->bases, last), of};
        good = follow_link(c, &link);
    }
    return good;
}

bool bases_each(const struct app *app, const wcodec_bases *bases, const wcodec_reader *reader,
                uint64_t begin, uint64_t end, base_fn visit, void *opaque)
{
    const struct chain chain = {app, bases, visit, opaque, json_object()};
    const bool good = chain.seen && follow(&chain, reader, begin, end, NULL);
    json_decref(chain.seen);
    return good;
}

static void narrow_by_path(struct output_attributes *attributes, const char *path)
{
    struct stat base;
    if (path && stat(path, &base) == 0)
        output_attributes_narrow(attributes, &base);
}

static void narrow_by_link(void *opaque, const struct base_link *link)
{
    narrow_by_path(opaque, link->path);
}

static void narrow_by_all(const wcodec_bases *bases, struct output_attributes *attributes)
{
    const uint64_t count = wcodec_bases_count(bases);
    for (uint64_t i = 0; i < count; i++) {
        const char *path;
        if (wcodec_bases_file(bases, i, &path, NULL, NULL) == WCODEC_OK)
            narrow_by_path(attributes, path);
    }
}

/* Where it cannot be known which are needed, all are taken for it. */
static void narrow_by(const struct app *app, const wcodec_bases *bases, const wcodec_reader *reader,
                      struct output_attributes *attributes)
{
    if (bases && (!reader || !bases_each(app, bases, reader, 0, wcodec_reader_tensor_count(reader),
                                         narrow_by_link, attributes)))
        narrow_by_all(bases, attributes);
}

void bases_narrow(const struct app *app, const wcodec_reader *reader, int made,
                  struct output_attributes *attributes)
{
    wcodec_reader *container = NULL;
    if (reader)
        narrow_by(app, app->bases, reader, attributes);
    if (made < 0)
        return;
    if (wcodec_reader_open_fd(app->context, made, &container, NULL) != WCODEC_OK)
        container = NULL;
    narrow_by(app, app->options.command == COMMAND_REBASE ? app->bases_onto : app->bases, container,
              attributes);
    wcodec_reader_close(container);
}

static bool has_hash(const wcodec_bases *bases, const uint8_t hash[16])
{
    uint8_t own[16];
    for (uint64_t i = 0; i < wcodec_bases_count(bases); i++)
        if (wcodec_bases_file(bases, i, NULL, own, NULL) == WCODEC_OK && memcmp(own, hash, 16) == 0)
            return true;
    return false;
}

bool bases_match(struct app *app, const wcodec_reader *reader)
{
    const uint64_t count = wcodec_reader_tensor_count(reader);
    wcodec_bases *bases = NULL;
    if (bases_given(app, &bases, NULL) != WCODEC_OK)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        wcodec_delta_info info;
        if (wcodec_reader_delta(reader, i, &info, NULL) == WCODEC_OK && info.delta &&
            !has_hash(bases, info.xxh128))
            return false;
    }
    return true;
}

void bases_free(struct app *app)
{
    wcodec_bases_destroy(app->bases);
    wcodec_bases_destroy(app->bases_onto);
    app->bases = app->bases_onto = NULL;
}
