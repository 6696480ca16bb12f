/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One container that a reader has open. */

#include "read/reader.h"
#include "core/error.h"
#include "core/memory.h"
#include "read/remote.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

int wcodec_open_for_reading(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* A file whose index cannot be read may have headers that it can be rebuilt from. */
static wcodec_status open_index(wcodec_context *context, bool salvage, struct wcodec_shard *shard,
                                wcodec_error *err)
{
    wcodec_error error = {0}, other = {0};
    wcodec_status status = wcodec_index_read(&shard->source, &context->allocator, &context->limits,
                                             &shard->index, &error);
    if (status == WCODEC_ERROR_CORRUPT && salvage) {
        status = wcodec_shard_rebuild(context, shard, &other);
        if (status == WCODEC_OK)
            return status;
        if (status != WCODEC_ERROR_CORRUPT)
            error = other;
    }
    return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", error.text);
}

static wcodec_status open_file(wcodec_context *context, bool salvage, struct wcodec_shard *shard,
                               wcodec_error *err)
{
    if (fstat(shard->fd, &shard->identity) != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot examine the file: %s", strerror(errno));
    wcodec_status status = wcodec_source_fd(shard->fd, &shard->source, err);
    return status == WCODEC_OK ? open_index(context, salvage, shard, err) : status;
}

static wcodec_status open_failed(const char *path, wcodec_error *err)
{
    return wcodec_fail(
        err, errno == ENOENT || errno == ENOTDIR ? WCODEC_ERROR_NOT_FOUND : WCODEC_ERROR_IO,
        "%s: %s", path, strerror(errno));
}

wcodec_status wcodec_shard_open_path(wcodec_context *context, const char *path, bool keep_open,
                                     bool salvage, struct wcodec_shard *shard, wcodec_error *err)
{
    struct wcodec_shard made = {.fd = wcodec_open_for_reading(path)};
    if (made.fd < 0)
        return open_failed(path, err);
    wcodec_status status = open_file(context, salvage, &made, err);
    if (status == WCODEC_OK && (made.path = wcodec_strdup(&context->allocator, path)) == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "%s", path);
        wcodec_shard_close(context, &made);
        return status;
    }
    if (!keep_open) {
        close(made.fd);
        made.fd = made.source.fd = -1;
    }
    *shard = made;
    return WCODEC_OK;
}

wcodec_status wcodec_shard_open_fd(wcodec_context *context, int fd, bool salvage,
                                   struct wcodec_shard *shard, wcodec_error *err)
{
    struct wcodec_shard made = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (made.fd < 0)
        return wcodec_fail(err, errno == EBADF ? WCODEC_ERROR_USAGE : WCODEC_ERROR_IO,
                           "descriptor %d: %s", fd, strerror(errno));
    wcodec_status status = open_file(context, salvage, &made, err);
    if (status == WCODEC_OK)
        *shard = made;
    else
        wcodec_shard_close(context, &made);
    return status;
}

wcodec_status wcodec_shard_open_memory(wcodec_context *context, const void *data, size_t size,
                                       bool salvage, struct wcodec_shard *shard, wcodec_error *err)
{
    struct wcodec_shard made = {.fd = -1};
    wcodec_source_memory(data, size, &made.source);
    wcodec_status status = open_index(context, salvage, &made, err);
    if (status == WCODEC_OK)
        *shard = made;
    return status;
}

wcodec_status wcodec_shard_open_io(wcodec_context *context, const wcodec_io *io,
                                   struct wcodec_shard *shard, wcodec_error *err)
{
    struct wcodec_shard made = {.fd = -1};
    wcodec_status status = wcodec_remote_create(&context->allocator, io, &made.remote, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_remote_source(made.remote, &made.source);
    if (io->name != NULL && (made.path = wcodec_strdup(&context->allocator, io->name)) == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a name");
    if (status == WCODEC_OK)
        status = open_index(context, false, &made, err);
    wcodec_source_withdraw(&made.source, made.remote);
    if (status == WCODEC_OK) {
        *shard = made;
        return status;
    }
    if (io->name != NULL)
        wcodec_error_prefix(err, "%s", io->name);
    wcodec_shard_close(context, &made);
    return status;
}

void wcodec_shard_close(wcodec_context *context, struct wcodec_shard *shard)
{
    wcodec_index_free(shard->index);
    wcodec_remote_destroy(shard->remote);
    wcodec_free(&context->allocator, shard->path);
    if (shard->fd >= 0)
        close(shard->fd);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Is it opened for each call? */
static bool is_reopened(const struct wcodec_shard *shard)
{
    return shard->fd < 0 && shard->path != NULL && shard->remote == NULL;
}

wcodec_status wcodec_shard_acquire(const struct wcodec_shard *shard, struct wcodec_source *source,
                                   wcodec_error *err)
{
    *source = shard->source;
    if (!is_reopened(shard))
        return WCODEC_OK;
    struct stat st;
    int fd = wcodec_open_for_reading(shard->path);
    if (fd < 0)
        return open_failed(shard->path, err);
    if (fstat(fd, &st) != 0 || !same_file(&st, &shard->identity)) {
        close(fd);
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: the file was changed since it was opened",
                           shard->path);
    }
    source->fd = fd;
    return WCODEC_OK;
}

void wcodec_shard_release(const struct wcodec_shard *shard, struct wcodec_source *source)
{
    if (is_reopened(shard) && source->fd >= 0)
        close(source->fd);
    source->fd = -1;
}

void wcodec_shard_prefix(const struct wcodec_shard *shard, const struct wcodec_entry *entry,
                         wcodec_error *err)
{
    if (entry != NULL && entry->is_tensor)
        wcodec_error_prefix(err, "tensor '%s'", entry->name);
    else if (entry != NULL)
        wcodec_error_prefix(err, "bytes %" PRIu64 " to %" PRIu64 " of the original",
                            entry->file_offset, entry->file_offset + entry->size);
    if (shard->path != NULL)
        wcodec_error_prefix(err, "%s", shard->path);
}
