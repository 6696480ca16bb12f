/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/directory.h"
#include "core/system.h"
#include "utils/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_link(int fd, const char *name)
{
    struct stat now;
    return fstatat(fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(now.st_mode);
}

static bool fail_link(struct app *app, const char *path)
{
    return app_fail(app, EXIT_FAILED, "%s: is a symbolic link, which is not followed", path);
}

/* The next level, in the place of the one above it. `path` ends after its name. */
static int open_level(struct app *app, int above, const char *path)
{
    const char *name = path_base(path);
    const int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && is_link(above, name))
        fail_link(app, path);
    else if (fd < 0)
        app_fail_errno(app, path, "cannot open the output's directory", errno);
    close(above);
    return fd;
}

int directory_open_above(struct app *app, const char *path)
{
    const size_t end = (size_t)(path_base(path) - path);
    size_t at = app->mirror_length;
    const bool below = at > 0 && end > at;
    char *level = below ? strdup(path) : path_parent(path);
    if (!level) {
        app_fail(app, EXIT_FAILED, "%s: out of memory", path);
        return -1;
    }
    if (below)
        level[at] = 0;
    int fd = open(level, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        app_fail_errno(app, level, "cannot open the output's directory", errno);
    while (fd >= 0 && below) {
        level[at] = path[at];
        at += strspn(path + at, "/");
        if (at >= end)
            break;
        at += strcspn(path + at, "/");
        level[at] = 0;
        fd = open_level(app, fd, level);
    }
    free(level);
    return fd;
}

bool directory_sync(struct app *app, int fd, const char *path)
{
    /* EINVAL: a file system whose directories need none. */
    return app->options.no_sync || wcodec_fsync(fd) == 0 || errno == EINVAL ||
           app_fail_errno(app, path, "its directory cannot be brought to the disk", errno);
}

/* Only what may be read can be synced. */
static bool sync_above(struct app *app, const char *path)
{
    char *above = path_join(app, path, "..");
    if (!above)
        return false;
    const int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = fd >= 0           ? directory_sync(app, fd, path)
                      : errno == EACCES ? true
                                        : app_fail_errno(app, above, "cannot be opened", errno);
    if (fd >= 0)
        close(fd);
    free(above);
    return good;
}

bool directory_make(struct app *app, const char *path)
{
    if (mkdir(path, 0777) == 0)
        return sync_above(app, path);
    return (errno == EEXIST && path_is_directory(path)) ||
           app_fail_errno(app, path, "cannot make the directory", errno);
}

mode_t mode_without_group(mode_t mode)
{
    return mode & (~(mode_t)070 | (mode & 07) << 3);
}

/* Owner and group before the mode, as files get them. What is not as it was made, since the file
 * system has no modes or another directory has come into its place, is left as it is. */
static bool liken(struct app *app, const char *path, int fd, const struct stat *source)
{
    struct stat now;
    if (fstat(fd, &now) != 0)
        return false;
    if (now.st_uid != geteuid() || (now.st_mode & 077) != 0)
        return true;
    if (now.st_uid == 0 && fchown(fd, source->st_uid, (gid_t)-1) != 0)
        app_detail(app, "%s: the owner cannot be kept: %s", path, strerror(errno));
    mode_t mode = (source->st_mode & 0777) | 0700;
    if (now.st_gid != source->st_gid && fchown(fd, (uid_t)-1, source->st_gid) != 0)
        mode = mode_without_group(mode);
    return fchmod(fd, mode | (now.st_mode & S_ISGID)) == 0;
}

bool directory_make_like(struct app *app, const char *path, const char *source)
{
    const char *name = path_base(path);
    struct stat like, now;
    if (stat(source, &like) != 0)
        return app_fail_errno(app, source, "cannot be examined", errno);
    const int above = directory_open_above(app, path);
    if (above < 0)
        return false;
    const bool made = mkdirat(above, name, 0700) == 0;
    bool good = made;
    if (made) {
        const int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        good = (fd >= 0 && liken(app, path, fd, &like)) ||
               app_fail_errno(app, path, "cannot set its mode", errno);
        good = good && directory_sync(app, above, path);
        if (fd >= 0)
            close(fd);
    } else if (errno != EEXIST) {
        app_fail_errno(app, path, "cannot make the directory", errno);
    } else if (app->mirror_length > 0 && is_link(above, name)) {
        fail_link(app, path);
    } else {
        good = (fstatat(above, name, &now, 0) == 0 && S_ISDIR(now.st_mode)) ||
               app_fail_errno(app, path, "cannot make the directory", EEXIST);
    }
    close(above);
    return good;
}
