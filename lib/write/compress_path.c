/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From a path to a path, safely. */

#include "write/encode_options.h"
#include "core/error.h"
#include "io/safefile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static wcodec_status open_input(const char *path, const char *out_path, int *fd, struct stat *st,
                                wcodec_error *err)
{
    struct stat out;
    /* A fifo without a writer would block the opening; what is no regular file is refused when it
     * is read. */
    int in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (in < 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
    wcodec_status status = WCODEC_OK;
    if (fstat(in, st) != 0)
        status = wcodec_fail(err, WCODEC_ERROR_IO, "cannot examine %s: %s", path, strerror(errno));
    else if (stat(out_path, &out) == 0 && out.st_dev == st->st_dev && out.st_ino == st->st_ino)
        status =
            wcodec_fail(err, WCODEC_ERROR_USAGE, "%s and %s are the same file", path, out_path);
    if (status != WCODEC_OK) {
        close(in);
        return status;
    }
    *fd = in;
    return WCODEC_OK;
}

wcodec_status wcodec_compress_path(wcodec_context *context, const char *path, const char *out_path,
                                   const wcodec_encode_options *options,
                                   wcodec_encode_report *report, wcodec_error *err)
{
    wcodec_encode_options own;
    wcodec_encode_report result;
    struct wcodec_safefile file;
    struct stat st;
    int fd = -1;
    wcodec_status status = wcodec_encode_options_read(options, &own, err);
    if (status == WCODEC_OK)
        status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = open_input(path, out_path, &fd, &st, err);
    if (status != WCODEC_OK)
        return status;
    const char *slash = strrchr(path, '/');
    if (own.onnx_location == NULL)
        own.onnx_location = slash != NULL ? slash + 1 : path;
    own.write_at = wcodec_safefile_write_at;
    status = wcodec_safefile_open(&context->allocator, out_path, &file, err);
    if (status != WCODEC_OK)
        goto close_input;
    status = wcodec_compress_fd(context, fd, wcodec_safefile_write, &file, &own, &result, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "%s", path);
        goto close_file;
    }
    struct wcodec_safefile_attributes attributes = {.mode = st.st_mode & 0777,
                                                    .apply_umask = true,
                                                    .set_mtime = true,
                                                    .mtime = st.st_mtim,
                                                    .set_owner = true,
                                                    .uid = st.st_uid,
                                                    .gid = st.st_gid,
                                                    .replace = true};
    status = wcodec_safefile_commit(&file, &attributes, err);
    if (status == WCODEC_OK && report)
        *report = result;
close_file:
    wcodec_safefile_close(&file);
close_input:
    close(fd);
    return status;
}
