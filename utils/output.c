/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/output.h"
#include "core/system.h"
#include "utils/directory.h"
#include "utils/input.h"
#include "utils/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Was it made by this run, for another input? */
static bool is_made(const struct app *app, const struct stat *file)
{
    for (size_t i = 0; i < app->made_count; i++) {
        if (app->made[i].device == file->st_dev && app->made[i].inode == file->st_ino)
            return true;
    }
    return false;
}

/* Before the file has its name: one that could not be remembered could be replaced. */
static bool remember(struct app *app, const struct output *output)
{
    struct stat file;
    if (fstat(output->fd, &file) != 0)
        return app_fail_errno(app, output->name, "cannot be examined", errno);
    struct made_file *made = realloc(app->made, (app->made_count + 1) * sizeof *made);
    if (!made)
        return app_fail(app, EXIT_FAILED, "%s: out of memory", output->name);
    made[app->made_count++] = (struct made_file){.device = file.st_dev, .inode = file.st_ino};
    app->made = made;
    return true;
}

/* /dev/stdout and its like: a file in the place of that link would break every program. */
static bool is_system_link(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 ||
           (strncmp(path, "/dev/", 5) == 0 &&
            (!strchr(path + 5, '/') || strncmp(path, "/dev/fd/", 8) == 0));
}

/* Is the output's name free, or may what has it be replaced? Sets *in_place for what must be
 * written to instead. */
static bool check_target(struct app *app, const struct output *output, const struct stat *input,
                         bool *in_place)
{
    const char *path = output->name;
    const int dir = output->dir_fd;
    struct stat now, target;
    bool force = app->options.force;
    *in_place = false;
    if (fstatat(dir, output->base, &now, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || app_fail_errno(app, path, "cannot be examined", errno);
    if (input && (same_file(&now, input) ||
                  (S_ISLNK(now.st_mode) && fstatat(dir, output->base, &target, 0) == 0 &&
                   same_file(&target, input))))
        return app_fail(app, EXIT_FAILED, "%s: input and output are the same file", path);
    switch (now.st_mode & S_IFMT) {
    case S_IFREG:
        if (is_made(app, &now))
            return app_fail(
                app, EXIT_FAILED,
                "%s: was made just now from another input; two inputs cannot have one output",
                path);
        return force || app_fail(app, EXIT_FAILED, "%s: exists already; -f replaces it", path);
    case S_IFLNK:
        if (is_system_link(path))
            return app_fail(
                app, EXIT_FAILED,
                "%s: is a link of the system, which nothing replaces; -c writes to standard output",
                path);
        return force ||
               app_fail(app, EXIT_FAILED, "%s: is a symbolic link; -f replaces the link", path);
    case S_IFDIR:
        return app_fail(app, EXIT_FAILED, "%s: is a directory", path);
    case S_IFSOCK:
        return app_fail(app, EXIT_FAILED, "%s: is a socket", path);
    default:
        *in_place = true;
        if (app->options.remove)
            return app_fail(
                app, EXIT_USAGE,
                "%s: is a device or pipe, which keeps nothing: --rm would remove the only copy",
                path);
        return force ||
               app_fail(app, EXIT_FAILED, "%s: is a device or pipe; -f writes to it", path);
    }
}

static bool open_directory(struct app *app, const char *path, struct output *output)
{
    output->base = strdup(path_base(path));
    if (!output->base)
        return app_fail(app, EXIT_FAILED, "%s: out of memory", path);
    output->dir_fd = directory_open_above(app, path);
    return output->dir_fd >= 0;
}

/* A device or pipe, which has no temporary name and stays where it is. */
static bool open_in_place(struct app *app, struct output *output)
{
    output->fd = openat(output->dir_fd, output->base, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (output->fd < 0)
        return app_fail_errno(app, output->name, "cannot open", errno);
    close(output->dir_fd);
    output->dir_fd = -1;
    return true;
}

/* A hidden name beside the final one that nobody else can have made. */
static bool create_temporary(struct app *app, struct output *output)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuv";
    enum { RANDOM = 10, TRIES = 100 };
    /* Names end at 255 bytes: a long one is cut. */
    char *name = app_alloc(app, output->name, strlen(output->base) + RANDOM + 3);
    if (!name)
        return false;
    for (int try = 0; try < TRIES; try++) {
        unsigned char noise[RANDOM];
        if (!wcodec_random(noise, sizeof noise, true))
            break;
        size_t n = (size_t)sprintf(name, ".%.200s.", output->base);
        for (size_t i = 0; i < RANDOM; i++)
            name[n++] = letters[noise[i] & 31];
        name[n] = 0;
        output->fd =
            openat(output->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (output->fd >= 0) {
            output->temporary = name;
            output->in_any_order = true;
            return true;
        }
        if (errno != EEXIST)
            break;
    }
    app_fail_errno(app, output->name, "cannot create a temporary file beside it", errno);
    free(name);
    return false;
}

bool output_open(struct app *app, const char *path, const struct stat *input, struct output *output)
{
    bool in_place;
    *output = (struct output){.name = path, .fd = -1, .dir_fd = -1};
    if (!*path_base(path))
        return app_fail(app, EXIT_USAGE, "'%s' is no file name", path);
    if (open_directory(app, path, output) && check_target(app, output, input, &in_place)) {
        output->sync = !in_place && !app->options.no_sync;
        if (in_place ? open_in_place(app, output) : create_temporary(app, output))
            return true;
    }
    output_close(output);
    return false;
}

bool output_adopt(struct app *app, const char *path, const struct stat *input,
                  const char *temporary, struct output *output)
{
    bool in_place;
    *output = (struct output){.name = path, .fd = -1, .dir_fd = -1};
    if (open_directory(app, path, output) && check_target(app, output, input, &in_place) &&
        (output->temporary = strdup(temporary))) {
        output->sync = !app->options.no_sync;
        output->fd = openat(output->dir_fd, temporary, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (output->fd >= 0)
            return true;
        app_fail_errno(app, path, "cannot open what was written", errno);
    }
    output_close(output);
    return false;
}

/* A regular file that is not appended to, from where it is; and /dev/null, whatever comes. */
static void find_order(struct output *output)
{
    struct stat now, null;
    const int flags = fcntl(output->fd, F_GETFL);
    if (output->fd < 0 || flags < 0 || fstat(output->fd, &now) != 0)
        return;
    if (S_ISREG(now.st_mode) && (flags & O_APPEND) == 0) {
        output->begin = lseek(output->fd, 0, SEEK_CUR);
        output->in_any_order = output->begin >= 0;
    } else if (S_ISCHR(now.st_mode)) {
        output->in_any_order = stat("/dev/null", &null) == 0 && null.st_rdev == now.st_rdev;
    }
}

/* A pipe takes more at a time, so that its reader and we wait for each other less often. What
 * cannot have it stays as it is. */
static void widen_pipe(int fd)
{
#ifdef F_SETPIPE_SZ
    enum { PIPE_BYTES = 256 << 10 };
    const int now = fcntl(fd, F_GETPIPE_SZ);
    if (now > 0 && now < PIPE_BYTES)
        (void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
#else
    (void)fd;
#endif
}

bool output_open_stdout(struct app *app, const struct stat *input, struct output *output)
{
    struct stat now;
    *output = (struct output){.name = "standard output", .fd = -1, .dir_fd = -1};
    /* By ">>" or "<>", for instance. Pipes and devices may well be both. */
    if (input && fstat(STDOUT_FILENO, &now) == 0 && S_ISREG(now.st_mode) && same_file(&now, input))
        return app_fail(app, EXIT_FAILED, "%s: input and output are the same file", output->name);
    if (isatty(STDOUT_FILENO) && !app->options.force)
        return app_fail(app, EXIT_USAGE,
                        "binary data is not written to a terminal; use -o FILE, or -f to insist");
    output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    const int failure = errno;
    find_order(output);
    widen_pipe(output->fd);
    return output->fd >= 0 || app_fail_errno(app, output->name, "cannot write", failure);
}

/* The disk begins with what is there while more is written: what waited for fsync() would else be
 * written when all other work is done. */
static void count_written(struct output *output, size_t size)
{
    const uint64_t before = atomic_fetch_add(&output->written, size);
#if defined(__linux__) && defined(SYNC_FILE_RANGE_WRITE)
    enum { WRITEBACK_BYTES = 8 << 20 };
    if (output->sync && before / WRITEBACK_BYTES != (before + size) / WRITEBACK_BYTES)
        (void)sync_file_range(output->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
    (void)before;
#endif
}

/* The first one is kept, and the pipe's reader is noted. Returns the error. */
static int note_error(struct output *output, int error)
{
    int none = 0;
    atomic_compare_exchange_strong(&output->error, &none, error);
    signals_note_pipe(error);
    return error;
}

int output_write(void *opaque, const void *data, size_t size)
{
    struct output *output = opaque;
    const char *at = data;
    while (size > 0) {
        ssize_t n = signals_pending() ? -1 : write(output->fd, at, wcodec_call_bytes(size));
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0)
            return note_error(output, signals_pending() ? EINTR : errno);
        count_written(output, (size_t)n);
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_at(struct output *output, const void *data, size_t size, off_t at)
{
    const char *from = data;
    while (size > 0) {
        ssize_t n = signals_pending() ? -1 : pwrite(output->fd, from, wcodec_call_bytes(size), at);
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0)
            return signals_pending() ? EINTR : errno;
        count_written(output, (size_t)n);
        from += n;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static void note_end(struct output *output, uint64_t end)
{
    uint64_t before = atomic_load(&output->end);
    while (before < end && !atomic_compare_exchange_weak(&output->end, &before, end))
        ;
}

int output_write_at(void *opaque, uint64_t offset, const void *data, size_t size)
{
    struct output *output = opaque;
    int error = signals_pending() ? EINTR : 0;
    if (error == 0) {
        const enum mapped_turn turn = mapped_begin(&output->mapped, offset, size);
        const enum mapped_result result =
            turn != MAPPED_WRITES ? mapped_write(&output->mapped, offset, data, size) : MAPPED_NOT;
        if (result == MAPPED_NOT)
            error = write_at(output, data, size, output->begin + (off_t)offset);
        else if (result == MAPPED_CUT)
            error = OUTPUT_CUT;
        mapped_end(&output->mapped, turn, offset, size);
    }
    note_end(output, offset + size);
    return error == 0 ? 0 : note_error(output, error);
}

void output_map(struct output *output, uint64_t most)
{
    if (output->dir_fd >= 0)
        mapped_open(&output->mapped, output->fd, most);
}

/* The file ends where what was written does. An errno, or OUTPUT_CUT. */
static int unmap(struct output *output)
{
    const uint64_t end = atomic_load(&output->end);
    uint64_t extended;
    if (!mapped_close(&output->mapped, &extended))
        return OUTPUT_CUT;
    return extended <= end || ftruncate(output->fd, (off_t)end) == 0 ? 0 : errno;
}

static bool fail_cut(struct app *app, const struct output *output)
{
    return app_fail(app, EXIT_FAILED, "%s: cannot write: another process has cut it short",
                    output->name);
}

/* Where blocks are on a disk: to allocate them together takes milliseconds and makes writing them a
 * third faster. In memory, allocating is the work itself, and in one thread. */
static int allocate(int fd, uint64_t size)
{
#if defined(__linux__)
    if (size == 0 || size > INT64_MAX || mapped_is_in_memory(fd))
        return 0;
    return fallocate(fd, 0, 0, (off_t)size) == 0 ? 0 : errno;
#else
    (void)fd, (void)size;
    return 0;
#endif
}

bool output_prepare(struct app *app, struct output *output, uint64_t size)
{
    struct statvfs fs;
    if (output->dir_fd < 0 || fstatvfs(output->fd, &fs) != 0 || fs.f_bsize == 0)
        return true;
    uint64_t block = fs.f_frsize ? fs.f_frsize : fs.f_bsize;
    const int error =
        fs.f_blocks == 0 || size / block <= fs.f_bavail ? allocate(output->fd, size) : ENOSPC;
    if (error == EFBIG || error == EDQUOT || error == EIO)
        return app_fail_errno(app, output->name, "cannot write", error);
    if (error != ENOSPC) { /* others: a file system that does not allocate */
        output_map(output, size);
        return true;
    }
    return app_fail(app, EXIT_FAILED,
                    "%s: %" PRIu64 " bytes are to be written, but only %" PRIu64 " are free",
                    output->name, size, (uint64_t)fs.f_bavail * block);
}

bool output_pass(struct app *app, const struct output *output, uint64_t size)
{
    struct stat now;
    return output->dir_fd >= 0 || !output->in_any_order || fstat(output->fd, &now) != 0 ||
           !S_ISREG(now.st_mode) || lseek(output->fd, output->begin + (off_t)size, SEEK_SET) >= 0 ||
           app_fail_errno(app, output->name, "cannot write", errno);
}

struct output_attributes output_attributes_of(const struct stat *stat)
{
    return (struct output_attributes){
        .set_mode = true,
        .mode = stat->st_mode & 0777,
        .set_mtime = true,
        .mtime = stat->st_mtim,
        .set_owner = true,
        .uid = stat->st_uid,
        .gid = stat->st_gid,
    };
}

void output_attributes_narrow(struct output_attributes *a, const struct stat *stat)
{
    if (!a->set_mode) {
        a->set_mode = a->apply_umask = true;
        a->mode = 0666;
    }
    a->mode &= (stat->st_mode & 077) | 0700;
    a->mixed |= a->narrowed && a->group != stat->st_gid;
    a->narrowed = true;
    a->group = stat->st_gid;
}

void output_attributes_narrow_by(struct output_attributes *a, const struct input *input,
                                 const wcodec_reader *reader)
{
    const uint64_t count = reader && input->fd < 0 ? wcodec_reader_file_count(reader) : 0;
    if (input->fd >= 0 && !input->spooled)
        output_attributes_narrow(a, &input->stat);
    for (uint64_t i = 0; i < count; i++) {
        wcodec_file_info info;
        struct stat shard;
        if (wcodec_reader_file(reader, i, &info, NULL) == WCODEC_OK && info.path &&
            stat(info.path, &shard) == 0)
            output_attributes_narrow(a, &shard);
    }
}

static mode_t current_umask(void)
{
    mode_t mask = umask(077);
    umask(mask);
    return mask;
}

/* Owner before mode, so that no one gets more than the original gave him. */
static bool set_attributes(struct app *app, struct output *output,
                           const struct output_attributes *a)
{
    mode_t mode = a->set_mode ? a->mode & 0777 : 0666;
    if (!a->set_mode || a->apply_umask)
        mode &= ~current_umask();
    if (a->set_owner) {
        struct stat now;
        if (geteuid() == 0 && fchown(output->fd, a->uid, (gid_t)-1) != 0)
            app_detail(app, "%s: the owner cannot be kept: %s", output->name, strerror(errno));
        if (fstat(output->fd, &now) == 0 && now.st_gid != a->gid &&
            fchown(output->fd, (uid_t)-1, a->gid) != 0)
            mode = mode_without_group(mode);
    }
    if (a->narrowed) {
        struct stat now;
        if (a->mixed || fstat(output->fd, &now) != 0 || now.st_gid != a->group)
            mode = mode_without_group(mode);
    }
    if (fchmod(output->fd, mode) != 0)
        return app_fail_errno(app, output->name, "cannot set its mode", errno);
    if (a->set_mtime) {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, a->mtime};
        if (futimens(output->fd, times) != 0)
            app_warn(app, "%s: cannot set its time: %s", output->name, strerror(errno));
    }
    return true;
}

/* Give the temporary file its name; without --force only if nobody has taken it meanwhile. */
static bool take_name(struct app *app, struct output *output)
{
    int fd = output->dir_fd;
    if (!app->options.force) {
        if (linkat(fd, output->temporary, fd, output->base, 0) == 0)
            return unlinkat(fd, output->temporary, 0) == 0 ||
                   app_fail_errno(app, output->name, "cannot remove its temporary name", errno);
        if (errno == EEXIST)
            return app_fail(app, EXIT_FAILED, "%s: exists already; -f replaces it", output->name);
        /* A file system without hard links: the check and the renaming are two steps there. */
        struct stat now;
        if (fstatat(fd, output->base, &now, AT_SYMLINK_NOFOLLOW) == 0)
            return app_fail(app, EXIT_FAILED, "%s: exists already; -f replaces it", output->name);
    }
    return renameat(fd, output->temporary, fd, output->base) == 0 ||
           app_fail_errno(app, output->name, "cannot rename to it", errno);
}

bool output_cut(struct app *app, struct output *output)
{
    const int error = unmap(output);
    if (error == OUTPUT_CUT)
        return fail_cut(app, output);
    return error == 0 || app_fail_errno(app, output->name, "cannot be cut to its size", error);
}

bool output_commit(struct app *app, struct output *output,
                   const struct output_attributes *attributes)
{
    if (output->dir_fd < 0) {
        int fd = output->fd;
        output->fd = -1;
        return close(fd) == 0 || app_fail_errno(app, output->name, "cannot write", errno);
    }
    if (!output_cut(app, output))
        return false;
    if (signals_pending() || !set_attributes(app, output, attributes))
        return app_fail(app, EXIT_FAILED, "%s: not written", output->name);
    if (!app->options.no_sync && wcodec_fsync(output->fd) != 0)
        return app_fail_errno(app, output->name, "cannot be brought to the disk", errno);
    if (!remember(app, output))
        return false;
    int fd = output->fd;
    output->fd = -1;
    if (close(fd) != 0)
        return app_fail_errno(app, output->name, "cannot write", errno);
    if (!take_name(app, output))
        return false;
    free(output->temporary);
    output->temporary = NULL;
    return directory_sync(app, output->dir_fd, output->name);
}

bool output_fail(struct app *app, const struct output *output, const char *name,
                 const wcodec_error *err)
{
    if (!output->error)
        return app_fail_status(app, name, err);
    if (output->error == OUTPUT_CUT)
        return fail_cut(app, output);
    return app_fail_errno(app, output->name, "cannot write", output->error);
}

void output_close(struct output *output)
{
    (void)unmap(output);
    if (output->fd >= 0)
        close(output->fd);
    if (output->temporary)
        unlinkat(output->dir_fd, output->temporary, 0);
    if (output->dir_fd >= 0)
        close(output->dir_fd);
    free(output->temporary);
    free(output->base);
    *output = (struct output){.fd = -1, .dir_fd = -1};
}
