/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/decode_parts.h"
#include "core/system.h"
#include "utils/directory.h"
#include "utils/parts.h"
#include "utils/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A key has digits of the run, and of the input. */
enum { DIGITS = 8, NOISE = DIGITS / 2 };

static wcodec_status fail(wcodec_status status, const char *text, wcodec_error *err)
{
    err->status = status;
    snprintf(err->text, sizeof err->text, "%s", text);
    return status;
}

/* The latter. */
static wcodec_status describe(struct app *app, const struct input *input, char digits[DIGITS + 1],
                              wcodec_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    uint8_t hash[16];
    FILE *text = open_memstream(&bytes, &size);
    if (text)
        parts_describe(text, &input->stat);
    wcodec_status status = text && fclose(text) == 0
                               ? wcodec_hash_memory(app->context, bytes, size, hash, err)
                               : fail(WCODEC_ERROR_MEMORY, "out of memory", err);
    free(bytes);
    if (status == WCODEC_OK)
        text_hex(hash, DIGITS / 2, digits);
    return status;
}

/* False: reported. */
static bool make_key(struct app *app, const struct input *input)
{
    unsigned char noise[NOISE];
    wcodec_error err = {0};
    if (!wcodec_random(noise, sizeof noise, true))
        return app_fail_errno(app, input->name, "cannot name its parts", errno);
    text_hex(noise, sizeof noise, app->key);
    return describe(app, input, app->key + DIGITS, &err) == WCODEC_OK ||
           app_fail_status(app, input->name, &err);
}

wcodec_status decode_parts_same(struct app *app, const struct input *input, wcodec_error *err)
{
    char digits[DIGITS + 1];
    const wcodec_status status = describe(app, input, digits, err);
    if (status != WCODEC_OK || strcmp(digits, app->key + DIGITS) == 0)
        return status;
    return fail(WCODEC_ERROR_MISMATCH, "has changed", err);
}

size_t decode_parts_count(struct app *app, const struct input *input, const wcodec_file_info *info)
{
    const struct options *o = &app->options;
    const uint64_t bytes = parts_bytes(info->size);
    if (info->size < PARTS_WORTH || info->rebuilt || input->spooled || o->keep_going || o->quick ||
        o->tensors.count || o->only.count || app_all_backends(app))
        return 0;
    return make_key(app, input) ? (size_t)((info->size + bytes - 1) / bytes) : 0;
}

static int keep_hashes(void *opaque, const void *data, size_t size)
{
    struct app *app = opaque;
    void *kept = malloc(size);
    if (!kept)
        return ENOMEM;
    app->hashes = (wcodec_part_hashes){.data = memcpy(kept, data, size), .size = size};
    return 0;
}

wcodec_decode_options decode_parts_options(struct app *app, const wcodec_file_info *info)
{
    wcodec_decode_options decode = app_decode_options(app);
    const uint64_t bytes = parts_bytes(info->size);
    decode.part_begin = app->part * bytes;
    decode.part_end =
        info->size - decode.part_begin > bytes ? decode.part_begin + bytes : UINT64_MAX;
    decode.write_hashes = keep_hashes;
    decode.hashes = app;
    return decode;
}

wcodec_status decode_parts_check(struct app *app, const wcodec_reader *reader, wcodec_error *err)
{
    if (app->options.no_checksum)
        return WCODEC_OK;
    return wcodec_reader_check_parts(reader, 0, app->all_hashes, app->all_hash_count, err);
}

char *decode_parts_name(struct app *app, const char *target)
{
    return parts_name(app, target, app->key, SIZE_MAX);
}

/* Open the file to which parts go. -1: reported. */
static int open_whole(struct app *app, const char *target)
{
    const int dir = directory_open_above(app, target);
    char *name = dir >= 0 ? decode_parts_name(app, target) : NULL;
    const int fd = name ? parts_open(dir, name, O_WRONLY) : -1, error = errno;
    if (fd < 0 && name)
        app_fail_errno(app, target, "cannot open a temporary file beside it", error);
    free(name);
    if (dir >= 0)
        close(dir);
    return fd;
}

/* Make it. An errno value. */
static int make_whole(int dir, const char *name, uint64_t size)
{
    const int fd = parts_open(dir, name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return errno;
    int error = ftruncate(fd, (off_t)size) == 0 ? 0 : errno;
    if (close(fd) != 0 && !error)
        error = errno;
    if (error)
        unlinkat(dir, name, 0);
    return error;
}

bool decode_parts_begin(struct app *app, const char *target, uint64_t size)
{
    const int dir = directory_open_above(app, target);
    char *name = dir >= 0 ? decode_parts_name(app, target) : NULL;
    const int error = name ? make_whole(dir, name, size) : 0;
    if (error)
        app_fail_errno(app, target, "cannot create a temporary file beside it", error);
    const bool good = name && !error;
    free(name);
    if (dir >= 0)
        close(dir);
    return good;
}

/* A part on its way out. */
struct written {
    int fd;
    _Atomic int error;
};

static int write_at(void *opaque, uint64_t offset, const void *data, size_t size)
{
    struct written *w = opaque;
    const int error = parts_write(w->fd, offset, data, size);
    if (error)
        w->error = error;
    return error;
}

bool decode_parts_write(struct app *app, const char *name, const wcodec_reader *reader,
                        const wcodec_file_info *info, const char *target)
{
    wcodec_error err = {0};
    struct written w = {.fd = open_whole(app, target)};
    if (w.fd < 0)
        return false;
    wcodec_decode_options decode = decode_parts_options(app, info);
    decode.write_at = write_at;
    const wcodec_status status = wcodec_reader_restore(reader, 0, NULL, &w, &decode, &err);
    /* There are file systems that say only now that they had no room. */
    if (close(w.fd) != 0 && !w.error)
        w.error = errno;
    if (w.error)
        return app_fail_errno(app, target, "cannot write", w.error);
    return status == WCODEC_OK || app_fail_status(app, name, &err);
}
