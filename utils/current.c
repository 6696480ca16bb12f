/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/current.h"
#include "utils/bases.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Were those options asked for by which a file was made? Patterns themselves are not noted. */
static bool is_as_asked(const struct options *o, const wcodec_file_info *info)
{
    const bool patterns = o->include.count + o->exclude.count > 0;
    return info->level == o->level && info->tune == (unsigned)o->tune &&
           info->profile == (unsigned)o->profile && info->tile_log2 == o->tile_log2 &&
           info->predict == (unsigned)o->predict && !info->patterns && !patterns &&
           (!o->placed || o->index == info->index_first) && o->raw == !info->safetensors &&
           o->keep_name == (info->name[0] != 0);
}

/* By which the input was made that is rebased? */
static bool is_as_made(const wcodec_file_info *source, const wcodec_file_info *info)
{
    return info->level == source->level && info->tune == source->tune &&
           info->profile == source->profile && info->tile_log2 == source->tile_log2 &&
           info->predict == source->predict && info->index_first == source->index_first &&
           strcmp(info->name, source->name) == 0;
}

/* What is rebased was decoded by other bases than its output is. */
static wcodec_status set_bases(struct app *app, const char *path, wcodec_reader *reader,
                               wcodec_error *err)
{
    wcodec_bases *onto;
    if (app->options.command != COMMAND_REBASE || !bases_needed(reader))
        return bases_set(app, path, reader, err);
    const wcodec_status status = bases_given(app, &onto, err);
    return status == WCODEC_OK ? wcodec_reader_set_bases(reader, onto, err) : status;
}

bool current_is_delta_wanted(const struct options *o)
{
    return o->bases.count != 0;
}

/* Options that were given are a wish, which the file may not meet. */
void current_print(struct app *app, const char *target, const struct current *current)
{
    if ((!app->options.coding && !app->options.placed && !current_is_delta_wanted(&app->options)) ||
        current->as_asked)
        app_note(app, "%s: up to date", target);
    else if (!current->settings[0])
        app_note(app, "%s: up to date, perhaps made with other options: -f makes it anew", target);
    else
        app_note(app, "%s: up to date, but made with other options (%s): -f makes it anew", target,
                 current->settings);
}

/* The hash of the original, which a container knows. */
static bool hash_original(struct app *app, const struct source *source, uint8_t hash[16])
{
    if (!source->reader)
        return file_hash(app, source->input->fd, source->input->name, hash);
    memcpy(hash, source->info.xxh128, 16);
    return true;
}

bool current_is(struct app *app, const char *path, const struct source *source,
                struct current *found, wcodec_error *damage)
{
    const struct input *input = source->input;
    const uint64_t size = source->reader ? source->info.size : (uint64_t)input->stat.st_size;
    wcodec_reader *reader;
    wcodec_file_info info;
    uint8_t hash[16];
    struct stat stat;
    bool current = false;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && !same_file(&stat, &input->stat) &&
        wcodec_reader_open_fd(app->context, fd, &reader, NULL) == WCODEC_OK) {
        wcodec_decode_options decode = app_decode_options(app);
        const bool rebase = app->options.command == COMMAND_REBASE;
        current = wcodec_reader_file(reader, 0, &info, NULL) == WCODEC_OK && info.size == size &&
                  (!rebase || is_as_made(&source->info, &info)) &&
                  hash_original(app, source, hash) && memcmp(hash, info.xxh128, 16) == 0;
        if (current) {
            found->as_asked = (rebase || is_as_asked(&app->options, &info)) &&
                              bases_needed(reader) == current_is_delta_wanted(&app->options);
            describe_settings(&info, found->settings);
        }
        if (current && found->as_asked && current_is_delta_wanted(&app->options) &&
            !bases_match(app, reader)) {
            found->as_asked = false;
            snprintf(found->settings, sizeof found->settings, "another base");
        }
        /* A delta is no substitute where none was asked for. */
        if (current && bases_needed(reader) && !current_is_delta_wanted(&app->options))
            current = false;
        /* Who begins again to mend what a disk has lost must not be told that all is well. */
        if (current && !app->options.no_verify)
            current = set_bases(app, path, reader, damage) == WCODEC_OK &&
                      wcodec_reader_test(reader, 0, 0, &decode, damage) == WCODEC_OK;
        wcodec_reader_close(reader);
    }
    close(fd);
    return current;
}
