/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/input.h"
#include "core/system.h"
#include "utils/bases.h"
#include "utils/signals.h"
#include "utils/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replace a descriptor that cannot seek by a copy of what it gives. */
static bool spool_input(struct app *app, struct input *input)
{
    struct stat stat;
    int spool = spool_copy(app, input->fd, input->name);
    if (spool < 0)
        return false;
    if (fstat(spool, &stat) != 0) {
        close(spool);
        return app_fail_errno(app, input->name, "cannot keep it in a temporary file", errno);
    }
    close(input->fd);
    input->fd = spool;
    input->stat = stat;
    input->spooled = true;
    return true;
}

/* Files of the kernel, as those in /proc, say that they are empty and are not, and some would let
 * us wait for more. */
static bool check_empty(struct app *app, const struct input *input)
{
    struct pollfd ready = {.fd = input->fd, .events = POLLIN};
    char byte;
    ssize_t n = poll(&ready, 1, 0) == 0 ? 1 : pread(input->fd, &byte, 1, 0);
    if (n < 0)
        return app_fail_errno(app, input->name, "cannot read", errno);
    return n == 0 ||
           app_fail(app, EXIT_FAILED,
                    "%s: has size 0 and yet contents: no ordinary file; a pipe can bring it",
                    input->name);
}

static bool make_seekable(struct app *app, struct input *input)
{
    if (fstat(input->fd, &input->stat) != 0)
        return app_fail_errno(app, input->name, "cannot be examined", errno);
    if (S_ISDIR(input->stat.st_mode))
        return app_fail(app, EXIT_FAILED, "%s: is a directory", input->name);
    if (S_ISREG(input->stat.st_mode) && input->stat.st_size == 0 && !check_empty(app, input))
        return false;
    /* A regular standard input that has been read in part is taken from where it stands. */
    if (S_ISREG(input->stat.st_mode) && (input->path || lseek(input->fd, 0, SEEK_CUR) == 0))
        return true;
    if (isatty(input->fd))
        return app_fail(app, EXIT_USAGE, "%s: is a terminal; give a file or a pipe", input->name);
    if (input->path && (S_ISCHR(input->stat.st_mode) || S_ISBLK(input->stat.st_mode)))
        return app_fail(app, EXIT_FAILED, "%s: is a device", input->name);
    return spool_input(app, input);
}

bool input_open(struct app *app, const char *path, struct input *input)
{
    bool standard = strcmp(path, "-") == 0;
    *input =
        (struct input){.name = standard ? "standard input" : path, .path = standard ? NULL : path};
    input->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                         : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (input->fd < 0)
        return app_fail_errno(app, input->name, "cannot open", errno);
    if (make_seekable(app, input))
        return true;
    input_close(input);
    return false;
}

bool input_is_container(const struct input *input)
{
    static const char magic[8] = "\x89WCD\r\n\x1a\n";
    char first[sizeof magic];
    return pread(input->fd, first, sizeof first, 0) == (ssize_t)sizeof first &&
           memcmp(first, magic, sizeof magic) == 0;
}

void input_close(struct input *input)
{
    if (input->fd >= 0)
        close(input->fd);
    input->fd = -1;
}

bool input_check_removable(struct app *app, const struct input *input)
{
    struct stat link;
    if (!input->path || input->spooled)
        return app_fail(app, EXIT_USAGE, "%s: --rm removes files only", input->name);
    if (lstat(input->path, &link) != 0)
        return app_fail_errno(app, input->name, "cannot be examined", errno);
    if (S_ISLNK(link.st_mode))
        return app_fail(app, EXIT_FAILED, "%s: is a symbolic link; --rm refuses those",
                        input->name);
    if (input->stat.st_nlink > 1)
        return app_fail(app, EXIT_FAILED, "%s: has %lu names (hard links); --rm refuses those",
                        input->name, (unsigned long)input->stat.st_nlink);
    return true;
}

bool input_remove(struct app *app, const struct input *input)
{
    struct stat now;
    if (lstat(input->path, &now) != 0)
        return app_fail_errno(app, input->name, "cannot be examined", errno);
    if (now.st_dev != input->stat.st_dev || now.st_ino != input->stat.st_ino ||
        now.st_size != input->stat.st_size || now.st_mtim.tv_sec != input->stat.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != input->stat.st_mtim.tv_nsec || now.st_nlink != 1)
        return app_fail(app, EXIT_FAILED, "%s: has changed meanwhile, so it is not removed",
                        input->name);
    if (unlink(input->path) != 0)
        return app_fail_errno(app, input->name, "cannot remove", errno);
    return true;
}

bool input_open_reader(struct app *app, const char *path, struct input *input,
                       wcodec_reader **reader)
{
    wcodec_error err = {0};
    wcodec_status status;
    *input = (struct input){.name = path, .path = path, .fd = -1};
    if (!app_context(app))
        return false;
    if (path_is_directory(path) || path_has_suffix(path, ".index.json")) {
        status = wcodec_reader_open_path(app->context, path, reader, &err);
    } else {
        if (!input_open(app, path, input))
            return false;
        status = (app->options.keep_going ? wcodec_reader_salvage_fd : wcodec_reader_open_fd)(
            app->context, input->fd, reader, &err);
    }
    if (status == WCODEC_OK) {
        const enum command command = app->options.command;
        status = bases_set(app, input->path, *reader, &err);
        /* What is listed, or saved as far as it goes, needs no base. */
        if (status == WCODEC_OK || command == COMMAND_LIST || command == COMMAND_INFO ||
            app->options.keep_going)
            return true;
        wcodec_reader_close(*reader);
    }
    app_fail_status(app, input->name, &err);
    input_close(input);
    return false;
}

void input_each_reader(struct app *app, reader_fn visit, void *opaque)
{
    const struct strings *files = &app->options.files;
    for (size_t i = 0; i < files->count && !signals_pending(); i++) {
        struct input input;
        wcodec_reader *reader;
        if (!input_open_reader(app, files->items[i], &input, &reader)) {
            if (app->options.json && !signals_pending())
                visit(app, opaque, files->items[i], NULL);
            continue;
        }
        visit(app, opaque, input.name, reader);
        wcodec_reader_close(reader);
        input_close(&input);
    }
}

bool input_read(struct app *app, const struct input *input, uint64_t at, void *bytes, size_t size)
{
    char *to = bytes;
    while (size > 0) {
        const ssize_t n = pread(input->fd, to, wcodec_call_bytes(size), (off_t)at);
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0)
            return app_fail_errno(app, input->name, "cannot read", errno);
        if (n == 0)
            return app_fail(app, EXIT_FAILED, "%s: the file was changed while it was read",
                            input->name);
        to += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool path_is_directory(const char *path)
{
    struct stat stat_;
    return stat(path, &stat_) == 0 && S_ISDIR(stat_.st_mode);
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The length of a path without slashes at its end; "/" keeps its own. */
static size_t without_slashes(const char *path, size_t length)
{
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

char *path_parent(const char *path)
{
    size_t n = without_slashes(path, strlen(path));
    while (n > 0 && path[n - 1] != '/')
        n--;
    n = without_slashes(path, n);
    return n > 0 ? strndup(path, n) : strdup(".");
}

bool path_has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcmp(path + n - m, suffix) == 0;
}

char *path_join(struct app *app, const char *dir, const char *name)
{
    size_t n = strlen(dir);
    char *path = app_alloc(app, name, n + strlen(name) + 2);
    if (path)
        sprintf(path, "%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
    return path;
}

bool file_hash(struct app *app, int fd, const char *name, uint8_t hash[16])
{
    wcodec_error err = {0};
    if (!app_context(app))
        return false;
    const wcodec_progress progress = progress_callback(&app->progress);
    return wcodec_hash_fd(app->context, fd, &progress, hash, &err) == WCODEC_OK ||
           app_fail_status(app, name, &err);
}
