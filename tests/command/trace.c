/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* For LD_PRELOAD: what the command does to files, a line for each call that succeeded, to the file
 * TRACE: write INODE OFFSET BYTES-IN-HEX, size INODE BYTES, sync INODE, and link, rename or unlink
 * with the inode (of what was renamed or linked) and the names after the last slash. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(function, type) ((type)dlsym(RTLD_NEXT, function))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned long long inode_at(int dir, const char *path)
{
    struct stat st;
    const int found = path == NULL ? fstat(dir, &st) : fstatat(dir, path, &st, 0);
    return found == 0 ? (unsigned long long)st.st_ino : 0;
}

static const char *last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void put(const char *what, unsigned long long inode, const char *from, const char *to,
                const void *data, size_t size, long long offset)
{
    const int saved = errno;
    const char *path = getenv("TRACE");
    if (path == NULL || strstr(program_invocation_short_name, "wcodec") == NULL)
        return;
    pthread_mutex_lock(&lock);
    FILE *file = fopen(path, "a");
    if (file != NULL) {
        fprintf(file, "%s %llu %lld \"%s\" \"%s\" ", what, inode, offset, from, to);
        for (size_t i = 0; i < size; i++)
            fprintf(file, "%02x", ((const unsigned char *)data)[i]);
        /* Through the C library's own calls, which are not those below. */
        fputc('\n', file);
        fclose(file);
    }
    pthread_mutex_unlock(&lock);
    errno = saved;
}

ssize_t write(int fd, const void *data, size_t size)
{
    const long long offset = fd > 2 ? (long long)lseek(fd, 0, SEEK_CUR) : -1;
    const ssize_t done = NEXT("write", ssize_t(*)(int, const void *, size_t))(fd, data, size);
    if (done > 0 && offset >= 0)
        put("write", inode_at(fd, NULL), "", "", data, (size_t)done, offset);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    const ssize_t done =
        NEXT("pwrite", ssize_t(*)(int, const void *, size_t, off_t))(fd, data, size, offset);
    if (done > 0)
        put("write", inode_at(fd, NULL), "", "", data, (size_t)done, (long long)offset);
    return done;
}

int ftruncate(int fd, off_t size)
{
    const int result = NEXT("ftruncate", int (*)(int, off_t))(fd, size);
    if (result == 0)
        put("size", inode_at(fd, NULL), "", "", NULL, 0, (long long)size);
    return result;
}

int fsync(int fd)
{
    const int result = NEXT("fsync", int (*)(int))(fd);
    if (result == 0)
        put("sync", inode_at(fd, NULL), "", "", NULL, 0, 0);
    return result;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    const unsigned long long inode = inode_at(from_dir, from);
    const int result = NEXT("linkat", int (*)(int, const char *, int, const char *, int))(
        from_dir, from, to_dir, to, flags);
    if (result == 0)
        put("link", inode, last(from), last(to), NULL, 0, 0);
    return result;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    const unsigned long long inode = inode_at(from_dir, from);
    const int result =
        NEXT("renameat", int (*)(int, const char *, int, const char *))(from_dir, from, to_dir, to);
    if (result == 0)
        put("rename", inode, last(from), last(to), NULL, 0, 0);
    return result;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    const unsigned long long inode = inode_at(from_dir, from);
    const int result = NEXT("renameat2", int (*)(int, const char *, int, const char *, unsigned))(
        from_dir, from, to_dir, to, flags);
    if (result == 0)
        put("rename", inode, last(from), last(to), NULL, 0, 0);
    return result;
}

int unlinkat(int dir, const char *path, int flags)
{
    const int result = NEXT("unlinkat", int (*)(int, const char *, int))(dir, path, flags);
    if (result == 0)
        put("unlink", 0, last(path), "", NULL, 0, 0);
    return result;
}

int unlink(const char *path)
{
    const int result = NEXT("unlink", int (*)(const char *))(path);
    if (result == 0)
        put("unlink", 0, last(path), "", NULL, 0, 0);
    return result;
}
