/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Where bytes are read from: a descriptor (pread), memory, or a function. Reads are exact, never
 * short; several threads may read at once. */
#ifndef WCODEC_IO_SOURCE_H
#define WCODEC_IO_SOURCE_H

#include <wcodec/base.h>

typedef wcodec_status (*wcodec_source_fn)(void *opaque, uint64_t offset, void *dst, size_t size,
                                          wcodec_error *err);

struct wcodec_source_range {
    uint64_t offset, size;
};

struct wcodec_source {
    int fd;              /* -1: memory; with `read`, not negative, and no descriptor */
    const uint8_t *data; /* memory */
    uint64_t size;
    wcodec_source_fn read; /* NULL, or what bytes within `size` come from, on any thread */
    void *opaque;
    /* NULL, or: these ranges, which are in the source and sorted, are read soon; and:
     * `owner` reads no more of what it announced. Both never fail. */
    void (*announce)(void *opaque, const void *owner, const struct wcodec_source_range *ranges,
                     size_t count);
    void (*withdraw)(void *opaque, const void *owner);
};

/* A regular file (or block device) of known size; fails for pipes, directories and the like. The
 * descriptor stays the caller's. */
wcodec_status wcodec_source_fd(int fd, struct wcodec_source *source, wcodec_error *err);
void wcodec_source_memory(const void *data, uint64_t size, struct wcodec_source *source);

void wcodec_source_function(wcodec_source_fn read, void *opaque, uint64_t size,
                            struct wcodec_source *source);

/* Read exactly `size` bytes at `offset`. WCODEC_ERROR_IO on failure, also if the file has become
 * shorter. Handles EINTR and short reads. */
wcodec_status wcodec_source_read(const struct wcodec_source *source, uint64_t offset, void *dst,
                                 size_t size, wcodec_error *err);

/* Say what is read soon, for sources that are worth it: those whose bytes come from afar. The owner
 * is any address of who announces. */
static inline void wcodec_source_announce(const struct wcodec_source *source, const void *owner,
                                          const struct wcodec_source_range *ranges, size_t count)
{
    if (source->announce != NULL && count != 0)
        source->announce(source->opaque, owner, ranges, count);
}

static inline void wcodec_source_withdraw(const struct wcodec_source *source, const void *owner)
{
    if (source->withdraw != NULL)
        source->withdraw(source->opaque, owner);
}

/* Tell the system that these bytes are read soon, so that it reads ahead while others are decoded.
 * A hint: never fails. */
void wcodec_source_prefetch(const struct wcodec_source *source, uint64_t offset, uint64_t size);

#endif
