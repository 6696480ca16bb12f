/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "io/safefile.h"
#include "core/assert.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef NAME_MAX
#define NAME_MAX 255
#endif

enum { SUFFIX_SIZE = 7, TEMPORARY_MAX = NAME_MAX, ATTEMPTS = 100 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Open the folder that `path` is in. */
static int open_folder(const wcodec_allocator *allocator, const char *path)
{
    const char *base = base_name(path);
    if (base == path)
        return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *folder = wcodec_strdup(allocator, path);
    if (!folder) {
        errno = ENOMEM;
        return -1;
    }
    folder[base - path] = 0; /* with its slash, so that "/x" gives "/" */
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int reason = errno;
    wcodec_free(allocator, folder);
    errno = reason;
    return fd;
}

static bool random_suffix(char suffix[SUFFIX_SIZE])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char bytes[SUFFIX_SIZE - 1];
    if (!wcodec_random(bytes, sizeof bytes, true))
        return false;
    suffix[0] = '.';
    for (size_t i = 0; i < sizeof bytes; i++)
        suffix[i + 1] = letters[bytes[i] % 64];
    return true;
}

/* Create ".BASE.XXXXXX" in dir_fd; BASE is cut, between characters, where the whole would be too
 * long for a name. */
static int create_temporary(int dir_fd, const char *base, char name[TEMPORARY_MAX + 1])
{
    size_t length = strlen(base), most = TEMPORARY_MAX - 1 - SUFFIX_SIZE;
    if (length > most) {
        length = most;
        while (length > 0 && ((unsigned char)base[length] & 0xC0) == 0x80)
            length--;
    }
    name[0] = '.';
    memcpy(name + 1, base, length);
    name[1 + length + SUFFIX_SIZE] = 0;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (!random_suffix(name + 1 + length))
            return -1;
        int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || (errno != EEXIST && errno != EINTR))
            return fd;
    }
    return -1;
}

wcodec_status wcodec_safefile_open(const wcodec_allocator *allocator, const char *path,
                                   struct wcodec_safefile *file, wcodec_error *err)
{
    *file = (struct wcodec_safefile){.fd = -1, .dir_fd = -1, .allocator = allocator};
    const char *base = base_name(path);
    if (*base == 0 || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "\"%s\" does not name a file", path);
    if (strlen(base) > NAME_MAX)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot create %s: %s", path,
                           strerror(ENAMETOOLONG));

    wcodec_status status;
    char name[TEMPORARY_MAX + 1];
    file->path = wcodec_strdup(allocator, path);
    if (!file->path)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    file->dir_fd = open_folder(allocator, path);
    if (file->dir_fd < 0) {
        status = wcodec_fail(err, errno == ENOMEM ? WCODEC_ERROR_MEMORY : WCODEC_ERROR_IO,
                             "cannot open the folder of %s: %s", path, strerror(errno));
        goto close_file;
    }
    file->fd = create_temporary(file->dir_fd, base, name);
    if (file->fd < 0) {
        status = wcodec_fail(err, WCODEC_ERROR_IO, "cannot create a temporary file beside %s: %s",
                             path, strerror(errno));
        goto close_file;
    }
    file->temporary = wcodec_strdup(allocator, name);
    if (!file->temporary) {
        unlinkat(file->dir_fd, name, 0);
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        goto close_file;
    }
    return WCODEC_OK;

close_file:
    wcodec_safefile_close(file);
    return status;
}

/* Linux writes at most 0x7ffff000 bytes at once; 1 GiB stays below what any system takes. */
static size_t part_of(size_t size)
{
    return size < (size_t)1 << 30 ? size : (size_t)1 << 30;
}

/* All of it at `offset`, or where the file is if that is negative; `*done` is how much was written.
 */
static int put(const struct wcodec_safefile *file, off_t offset, const char *data, size_t size,
               size_t *done)
{
    WCODEC_ASSERT(file->fd >= 0 && file->temporary != NULL);
    for (*done = 0; *done < size;) {
        const char *at = data + *done;
        const size_t part = part_of(size - *done);
        ssize_t n = offset < 0 ? write(file->fd, at, part)
                               : pwrite(file->fd, at, part, offset + (off_t)*done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        *done += (size_t)n;
    }
    return 0;
}

int wcodec_safefile_write(void *opaque, const void *data, size_t size)
{
    struct wcodec_safefile *file = opaque;
    size_t done;
    const int reason = put(file, -1, data, size, &done);
    file->written += done;
    return reason;
}

int wcodec_safefile_write_at(void *opaque, uint64_t offset, const void *data, size_t size)
{
    size_t done;
    return put(opaque, (off_t)offset, data, size, &done);
}

/* The umask without changing it, which another thread could see. Where it cannot be read, the
 * strictest. */
static mode_t current_umask(void)
{
    mode_t mask = 077;
    char line[128];
    FILE *status = fopen("/proc/self/status", "re");
    if (status == NULL)
        return mask;
    while (fgets(line, sizeof line, status)) {
        if (strncmp(line, "Umask:", 6) == 0) {
            mask = (mode_t)(strtoul(line + 6, NULL, 8) & 0777);
            break;
        }
    }
    fclose(status);
    return mask;
}

/* The owner comes first: changing it clears set-id bits. */
static bool set_attributes(const struct wcodec_safefile *file,
                           const struct wcodec_safefile_attributes *a)
{
    mode_t mode = a->mode & 07777;
    if (a->apply_umask)
        mode &= 0777 & ~current_umask();
    if (a->set_owner) {
        bool owner = fchown(file->fd, a->uid, (gid_t)-1) == 0,
             group = fchown(file->fd, (uid_t)-1, a->gid) == 0;
        if (!owner || !group)
            mode &= 0777;
        if (!group)
            mode &= ~(mode_t)((~mode & 07) << 3);
    }
    if (fchmod(file->fd, mode) != 0)
        return false;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, a->mtime};
    return !a->set_mtime || futimens(file->fd, times) == 0;
}

static wcodec_status publish_new(struct wcodec_safefile *file, const char *base, wcodec_error *err)
{
    /* A link fails if the name is taken, whatever happens at the same time; rename() would replace
     * it. */
    if (linkat(file->dir_fd, file->temporary, file->dir_fd, base, 0) == 0) {
        unlinkat(file->dir_fd, file->temporary, 0);
        return WCODEC_OK;
    }
    struct stat there;
    if (errno == EEXIST || fstatat(file->dir_fd, base, &there, AT_SYMLINK_NOFOLLOW) == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s exists already", file->path);
    /* A file system without links. */
    if (renameat(file->dir_fd, file->temporary, file->dir_fd, base) != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot create %s: %s", file->path,
                           strerror(errno));
    return WCODEC_OK;
}

static wcodec_status publish_over(struct wcodec_safefile *file, const char *base, wcodec_error *err)
{
    struct stat there;
    if (fstatat(file->dir_fd, base, &there, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(there.st_mode) &&
        !S_ISLNK(there.st_mode))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is there and is no regular file",
                           file->path);
    if (renameat(file->dir_fd, file->temporary, file->dir_fd, base) != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot replace %s: %s", file->path,
                           strerror(errno));
    return WCODEC_OK;
}

wcodec_status wcodec_safefile_commit(struct wcodec_safefile *file,
                                     const struct wcodec_safefile_attributes *attributes,
                                     wcodec_error *err)
{
    if (file->fd < 0 || !file->temporary)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the file is not open");
    bool good =
        set_attributes(file, attributes) && (attributes->no_sync || wcodec_fsync(file->fd) == 0);
    int reason = good ? 0 : errno;
    /* Some network file systems report a full disk only here. */
    if (close(file->fd) != 0 && good && errno != EINTR) {
        good = false;
        reason = errno;
    }
    file->fd = -1;
    if (!good)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot finish %s: %s", file->path,
                           strerror(reason));

    const char *base = base_name(file->path);
    wcodec_status status =
        attributes->replace ? publish_over(file, base, err) : publish_new(file, base, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_free(file->allocator, file->temporary);
    file->temporary = NULL;
    /* Not every file system can sync a folder: then EINVAL. */
    if (!attributes->no_sync && wcodec_fsync(file->dir_fd) != 0 && errno != EINVAL)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot sync the folder of %s: %s", file->path,
                           strerror(errno));
    return WCODEC_OK;
}

void wcodec_safefile_close(struct wcodec_safefile *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->temporary)
        unlinkat(file->dir_fd, file->temporary, 0);
    if (file->dir_fd >= 0)
        close(file->dir_fd);
    if (file->allocator) {
        wcodec_free(file->allocator, file->temporary);
        wcodec_free(file->allocator, file->path);
    }
    *file = (struct wcodec_safefile){.fd = -1, .dir_fd = -1};
}
