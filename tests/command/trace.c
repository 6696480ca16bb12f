/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* For LD_PRELOAD: what the command does to files, a line for each call that succeeded, to the file
 * TRACE: write INODE OFFSET BYTES-IN-HEX, size INODE BYTES, sync INODE, and link, rename, unlink,
 * mkdir with the inode (of what was renamed or linked) and the paths below the folder TRACE_BELOW.
 * The sync of a folder has its path, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(function, type) ((type)dlsym(RTLD_NEXT, function))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct place {
    char path[PATH_MAX]; /* "..": elsewhere */
};

static unsigned long long inode_at(int dir, const char *path)
{
    struct stat st;
    const int found = path == NULL ? fstat(dir, &st) : fstatat(dir, path, &st, 0);
    return found == 0 ? (unsigned long long)st.st_ino : 0;
}

/* The path of an open file below TRACE_BELOW, ".": that folder. */
static struct place place_of(int fd)
{
    struct place place = {".."};
    char link[64], path[PATH_MAX] = "";
    const char *below = getenv("TRACE_BELOW");
    const size_t length = below == NULL ? 0 : strlen(below);
    if (fd == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (length == 0 || size < (ssize_t)length || strncmp(path, below, length) != 0)
        return place;
    if (path[length] == 0)
        strcpy(place.path, ".");
    else if (path[length] == '/')
        strcpy(place.path, path + length + 1);
    return place;
}

/* Of what lies in `dir`, or the folder that the path names. */
static struct place place_at(int dir, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    struct place place = {".."}, folder;
    char above[PATH_MAX];
    if (slash == NULL) {
        folder = place_of(dir);
    } else {
        snprintf(above, sizeof above, "%.*s", (int)(slash - path + 1), path);
        const int fd = openat(dir, above, O_PATH | O_DIRECTORY | O_CLOEXEC);
        folder = place_of(fd);
        if (fd >= 0)
            close(fd);
    }
    if (strcmp(folder.path, ".") == 0)
        snprintf(place.path, sizeof place.path, "%s", name);
    else if (strcmp(folder.path, "..") != 0 && strlen(folder.path) + strlen(name) + 2 < PATH_MAX)
        strcat(strcat(strcpy(place.path, folder.path), "/"), name);
    return place;
}

/* Ranks of a job write to the same trace. */
static void put(const char *what, unsigned long long inode, const char *from, const char *to,
                const void *data, size_t size, long long offset)
{
    const int saved = errno;
    const char *path = getenv("TRACE");
    if (path == NULL || strstr(program_invocation_short_name, "wcodec") == NULL)
        return;
    pthread_mutex_lock(&lock);
    FILE *file = fopen(path, "a");
    if (file != NULL && flock(fileno(file), LOCK_EX) == 0) {
        fprintf(file, "%s %llu %lld \"%s\" \"%s\" ", what, inode, offset, from, to);
        for (size_t i = 0; i < size; i++)
            fprintf(file, "%02x", ((const unsigned char *)data)[i]);
        /* Through the C library's own calls, which are not those below. */
        fputc('\n', file);
    }
    if (file != NULL)
        fclose(file);
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

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    struct stat st;
    const int result = NEXT("fallocate", int (*)(int, int, off_t, off_t))(fd, mode, offset, size);
    if (result == 0 && fstat(fd, &st) == 0)
        put("size", inode_at(fd, NULL), "", "", NULL, 0, (long long)st.st_size);
    return result;
}

/* Of what was copied a line, as if it had been written. */
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size,
                        unsigned flags)
{
    const off_t at = to_at != NULL ? *to_at : lseek(to, 0, SEEK_CUR);
    const ssize_t done =
        NEXT("copy_file_range", ssize_t(*)(int, off64_t *, int, off64_t *, size_t, unsigned))(
            from, from_at, to, to_at, size, flags);
    char *data = done > 0 ? malloc((size_t)done) : NULL;
    if (data != NULL && pread(to, data, (size_t)done, at) == done)
        put("write", inode_at(to, NULL), "", "", data, (size_t)done, (long long)at);
    free(data);
    return done;
}

int fsync(int fd)
{
    const int result = NEXT("fsync", int (*)(int))(fd);
    if (result == 0)
        put("sync", inode_at(fd, NULL), place_of(fd).path, "", NULL, 0, 0);
    return result;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    const unsigned long long inode = inode_at(from_dir, from);
    const int result = NEXT("linkat", int (*)(int, const char *, int, const char *, int))(
        from_dir, from, to_dir, to, flags);
    if (result == 0)
        put("link", inode, place_at(from_dir, from).path, place_at(to_dir, to).path, NULL, 0, 0);
    return result;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    const unsigned long long inode = inode_at(from_dir, from);
    const int result =
        NEXT("renameat", int (*)(int, const char *, int, const char *))(from_dir, from, to_dir, to);
    if (result == 0)
        put("rename", inode, place_at(from_dir, from).path, place_at(to_dir, to).path, NULL, 0, 0);
    return result;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    const unsigned long long inode = inode_at(from_dir, from);
    const int result = NEXT("renameat2", int (*)(int, const char *, int, const char *, unsigned))(
        from_dir, from, to_dir, to, flags);
    if (result == 0)
        put("rename", inode, place_at(from_dir, from).path, place_at(to_dir, to).path, NULL, 0, 0);
    return result;
}

int unlinkat(int dir, const char *path, int flags)
{
    const struct place place = place_at(dir, path);
    const int result = NEXT("unlinkat", int (*)(int, const char *, int))(dir, path, flags);
    if (result == 0)
        put("unlink", 0, place.path, "", NULL, 0, 0);
    return result;
}

int unlink(const char *path)
{
    const struct place place = place_at(AT_FDCWD, path);
    const int result = NEXT("unlink", int (*)(const char *))(path);
    if (result == 0)
        put("unlink", 0, place.path, "", NULL, 0, 0);
    return result;
}

int rmdir(const char *path)
{
    const struct place place = place_at(AT_FDCWD, path);
    const int result = NEXT("rmdir", int (*)(const char *))(path);
    if (result == 0)
        put("unlink", 0, place.path, "", NULL, 0, 0);
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    const int result = NEXT("mkdir", int (*)(const char *, mode_t))(path, mode);
    if (result == 0)
        put("mkdir", 0, "", place_at(AT_FDCWD, path).path, NULL, 0, 0);
    return result;
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    const int result = NEXT("mkdirat", int (*)(int, const char *, mode_t))(dir, path, mode);
    if (result == 0)
        put("mkdir", 0, "", place_at(dir, path).path, NULL, 0, 0);
    return result;
}
