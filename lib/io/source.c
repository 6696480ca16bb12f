/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "io/source.h"
#include "core/assert.h"
#include "core/error.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Linux reads at most 2^31 - 4096 bytes at once. */
#define READ_MAX ((size_t)1 << 30)

static wcodec_status block_device_size(int fd, uint64_t *size, wcodec_error *err)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    off_t end = at < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (end < 0 || lseek(fd, at, SEEK_SET) < 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot find the size of a block device: %s",
                           strerror(errno));
    *size = (uint64_t)end;
    return WCODEC_OK;
}

wcodec_status wcodec_source_fd(int fd, struct wcodec_source *source, wcodec_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot examine the file: %s", strerror(errno));
    uint64_t size = (uint64_t)st.st_size;
    if (S_ISBLK(st.st_mode)) {
        wcodec_status status = block_device_size(fd, &size, err);
        if (status != WCODEC_OK)
            return status;
    } else if (!S_ISREG(st.st_mode)) {
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s",
                           S_ISDIR(st.st_mode) ? "is a folder, not a file" : "is no regular file");
    }
    *source = (struct wcodec_source){.fd = fd, .data = NULL, .size = size};
    return WCODEC_OK;
}

void wcodec_source_memory(const void *data, uint64_t size, struct wcodec_source *source)
{
    WCODEC_ASSERT(data != NULL || size == 0);
    *source = (struct wcodec_source){.fd = -1, .data = data, .size = size};
}

void wcodec_source_function(wcodec_source_fn read, void *opaque, uint64_t size,
                            struct wcodec_source *source)
{
    *source = (struct wcodec_source){.fd = INT_MAX, .size = size, .read = read, .opaque = opaque};
}

wcodec_status wcodec_source_read(const struct wcodec_source *source, uint64_t offset, void *dst,
                                 size_t size, wcodec_error *err)
{
    WCODEC_ASSERT(dst != NULL || size == 0);
    if (offset > source->size || size > source->size - offset)
        return wcodec_fail(err, WCODEC_ERROR_IO,
                           "bytes %" PRIu64 " to %" PRIu64 " are past the end of the file (%" PRIu64
                           " bytes)",
                           offset, offset + size, source->size);
    if (source->read != NULL)
        return size > 0 ? source->read(source->opaque, offset, dst, size, err) : WCODEC_OK;
    if (source->fd < 0) {
        if (size > 0)
            memcpy(dst, source->data + offset, size);
        return WCODEC_OK;
    }
    uint8_t *p = dst;
    while (size > 0) {
        ssize_t got = pread(source->fd, p, size < READ_MAX ? size : READ_MAX, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wcodec_fail(err, WCODEC_ERROR_IO, "reading at byte %" PRIu64 ": %s", offset,
                               strerror(errno));
        if (got == 0)
            return wcodec_fail(err, WCODEC_ERROR_IO,
                               "the file ends at byte %" PRIu64
                               ": it has become shorter than the %" PRIu64
                               " bytes it had when it was opened",
                               offset, source->size);
        p += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return WCODEC_OK;
}

void wcodec_source_prefetch(const struct wcodec_source *source, uint64_t offset, uint64_t size)
{
#if defined(POSIX_FADV_WILLNEED)
    if (source->fd >= 0 && source->read == NULL && offset < source->size)
        (void)posix_fadvise(source->fd, (off_t)offset,
                            (off_t)(size < source->size - offset ? size : source->size - offset),
                            POSIX_FADV_WILLNEED);
#else
    (void)source, (void)offset, (void)size;
#endif
}
