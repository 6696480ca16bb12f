/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* For LD_PRELOAD: at the call number STRIKE_AT of those below, the process gets the signal
 * STRIKE_SIGNAL just before it, or it fails with the errno STRIKE_ERRNO. STRIKE_ON limits it to one
 * function. Counted are the calls that change files, and reads of pipes; pwrite() only if STRIKE_ON
 * is that, since there are many. Only the command is struck, not the shells around it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static atomic_long calls;

static long setting(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

/* Shall this call fail? */
static bool strike(const char *function)
{
    const char *on = getenv("STRIKE_ON");
    if (!strstr(program_invocation_short_name, "wcodec") || (on && strcmp(on, function) != 0) ||
        atomic_fetch_add(&calls, 1) + 1 != setting("STRIKE_AT"))
        return false;
    if (setting("STRIKE_SIGNAL"))
        raise((int)setting("STRIKE_SIGNAL"));
    errno = (int)setting("STRIKE_ERRNO");
    return errno != 0;
}

static bool is_written(int fd)
{
    int saved = errno;
    bool written = fd > 2 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
    errno = saved;
    return written;
}

static bool is_pipe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

#define NEXT(function, type) ((type)dlsym(RTLD_NEXT, function))

ssize_t read(int fd, void *data, size_t size)
{
    return is_pipe(fd) && strike("read")
               ? -1
               : NEXT("read", ssize_t(*)(int, void *, size_t))(fd, data, size);
}

ssize_t write(int fd, const void *data, size_t size)
{
    return fd > 2 && strike("write")
               ? -1
               : NEXT("write", ssize_t(*)(int, const void *, size_t))(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return getenv("STRIKE_ON") && strike("pwrite")
               ? -1
               : NEXT("pwrite", ssize_t(*)(int, const void *, size_t, off_t))(fd, data, size,
                                                                              offset);
}

int fsync(int fd)
{
    return strike("fsync") ? -1 : NEXT("fsync", int (*)(int))(fd);
}

int fchmod(int fd, mode_t mode)
{
    return strike("fchmod") ? -1 : NEXT("fchmod", int (*)(int, mode_t))(fd, mode);
}

int futimens(int fd, const struct timespec times[2])
{
    return strike("futimens") ? -1
                              : NEXT("futimens", int (*)(int, const struct timespec *))(fd, times);
}

int close(int fd)
{
    bool fails = is_written(fd) && strike("close");
    int error = errno, result = NEXT("close", int (*)(int))(fd);
    if (fails)
        errno = error;
    return fails ? -1 : result;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    return strike("linkat") ? -1
                            : NEXT("linkat", int (*)(int, const char *, int, const char *, int))(
                                  from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return strike("renameat") ? -1
                              : NEXT("renameat", int (*)(int, const char *, int, const char *))(
                                    from_dir, from, to_dir, to);
}

int unlinkat(int dir, const char *path, int flags)
{
    return strike("unlinkat") ? -1
                              : NEXT("unlinkat", int (*)(int, const char *, int))(dir, path, flags);
}

int unlink(const char *path)
{
    return strike("unlink") ? -1 : NEXT("unlink", int (*)(const char *))(path);
}
