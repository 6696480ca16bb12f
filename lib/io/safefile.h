/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file that appears under its name only when it is whole: a temporary file in the same folder,
 * fsync, rename, fsync of the folder. */
#ifndef WCODEC_IO_SAFEFILE_H
#define WCODEC_IO_SAFEFILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <wcodec/context.h>

struct wcodec_safefile {
    int fd;
    int dir_fd;
    char *path;       /* final path */
    char *temporary;  /* name of the temporary file in dir_fd; NULL when there is none to remove */
    uint64_t written; /* bytes, by wcodec_safefile_write() */
    const wcodec_allocator *allocator;
};

/* Open a temporary ".NAME.XXXXXX" beside `path` (mode 0600). WCODEC_ERROR_USAGE if path names no
 * file ("", "a/", "a/.."), WCODEC_ERROR_IO, WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_safefile_open(const wcodec_allocator *allocator, const char *path,
                                   struct wcodec_safefile *file, wcodec_error *err);
/* A wcodec_write_fn: opaque is the safefile. */
int wcodec_safefile_write(void *file, const void *data, size_t size);
/* A wcodec_write_at_fn, for any thread: where the file is written by this, it is not also written
 * by the other. Several at once wait for the file's lock, and write less than one. */
enum { WCODEC_SAFEFILE_WRITERS = 1 };
int wcodec_safefile_write_at(void *file, uint64_t offset, const void *data, size_t size);
/* Set mode, optionally owner and mtime, sync unless no_sync, rename to `path`, sync the folder. The
 * path must then name nothing, or with `replace` nothing, a regular file or a symbolic link (the
 * link itself is replaced, never what it points to); else WCODEC_ERROR_USAGE. On failure what was
 * at `path` is as it was, except that a failure to sync the folder comes after the renaming
 * (`temporary` is NULL then). The descriptor is closed either way. */
struct wcodec_safefile_attributes {
    mode_t mode;      /* permission bits */
    bool apply_umask; /* take the process's umask from mode, and any set-id or sticky bit */
    bool set_mtime;
    struct timespec mtime;
    bool set_owner; /* tried; where the group cannot be set, it gets no more than others do, and
                       set-id bits are dropped */
    uid_t uid;
    gid_t gid;
    bool no_sync;
    bool replace;
};
wcodec_status wcodec_safefile_commit(struct wcodec_safefile *file,
                                     const struct wcodec_safefile_attributes *attributes,
                                     wcodec_error *err);
/* Remove the temporary file if there is one; frees. Safe after commit and after a failed open. */
void wcodec_safefile_close(struct wcodec_safefile *file);

#endif
