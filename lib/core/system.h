/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What macOS has by other calls than Linux and FreeBSD, for the library and the command. Not run
 * there: written by Apple's manual pages. Includes nothing of ours. */

#ifndef WCODEC_CORE_SYSTEM_H
#define WCODEC_CORE_SYSTEM_H

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* A variable of the environment; NULL: there is none, or the program has raised privileges. */
static inline const char *wcodec_getenv(const char *name)
{
#ifdef HAVE_SECURE_GETENV
    return secure_getenv(name);
#else
    return issetugid() != 0 ? NULL : getenv(name);
#endif
}

/* At most 256 bytes. False: errno says why there are none; without `wait` also before the system
 * has enough of them. */
static inline bool wcodec_random(void *bytes, size_t size, bool wait)
{
#ifdef HAVE_GETRANDOM
    return getrandom(bytes, size, wait ? 0 : GRND_NONBLOCK) == (ssize_t)size;
#else
    (void)wait;
    return getentropy(bytes, size) == 0;
#endif
}

/* Bring a file or folder to the disk: by fsync(), which on macOS leaves it in the drive's own
 * memory. Not every file system there has the other, and then fsync() is what there is. */
static inline int wcodec_fsync(int fd)
{
#ifdef F_FULLFSYNC
    if (fcntl(fd, F_FULLFSYNC) == 0)
        return 0;
#endif
    return fsync(fd);
}

/* As many of `size` bytes as one call may read or write: macOS refuses more than INT_MAX, where
 * others take a part. */
static inline size_t wcodec_call_bytes(size_t size)
{
#ifdef __APPLE__
    return size < INT_MAX ? size : INT_MAX;
#else
    return size;
#endif
}

#endif
