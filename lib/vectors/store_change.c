/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files that no manifest names are those of writers that were killed, or of manifests before:
 * whoever has the lock removes them. */
#include "vectors/store_change.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static wcodec_status busy(const struct wcodec_store_change *change, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_BUSY, "%s: another is changing the store", change->folder);
}

/* A folder that is made is on the disk before what is added to it is. */
static bool sync_above(int dir)
{
    const int above = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Only what may be read can be synced, and not in every file system. */
    const bool good = above >= 0 ? wcodec_fsync(above) == 0 || errno == EINVAL : errno == EACCES;
    const int error = errno;
    if (above >= 0)
        close(above);
    errno = error;
    return good;
}

static wcodec_status open_folder(struct wcodec_store_change *change, bool make, wcodec_error *err)
{
    if (make && mkdir(change->folder, 0777) == 0)
        change->made_folder = true;
    else if (make && errno != EEXIST)
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: cannot make the folder: %s", change->folder,
                           strerror(errno));
    change->dir = open(change->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (change->dir < 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: %s", change->folder, strerror(errno));
    if (change->made_folder && !sync_above(change->dir))
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: cannot sync the folder that it is in: %s",
                           change->folder, strerror(errno));
    return WCODEC_OK;
}

static wcodec_status take_lock(struct wcodec_store_change *change, wcodec_error *err)
{
    enum { HOW = O_RDWR | O_CLOEXEC | O_NOFOLLOW };
    struct stat st;
    change->lock = openat(change->dir, WCODEC_STORE_LOCK_NAME, HOW | O_CREAT | O_EXCL, 0666);
    change->made_lock = change->lock >= 0;
    if (change->lock < 0 && errno == EEXIST)
        change->lock = openat(change->dir, WCODEC_STORE_LOCK_NAME, HOW);
    const int error = change->lock < 0                              ? errno
                      : flock(change->lock, LOCK_EX | LOCK_NB) != 0 ? errno
                      : fstat(change->lock, &st) != 0               ? errno
                                                                    : 0;
    if (error == EWOULDBLOCK)
        change->made_lock = false;
    /* A store that another failed to make is removed with its lock. */
    if (error == EWOULDBLOCK || (error == 0 && st.st_nlink == 0) ||
        (error == ENOENT && change->lock < 0))
        return busy(change, err);
    if (error != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: cannot lock: %s", change->folder,
                           strerror(error));
    return WCODEC_OK;
}

/* A name that wcodec_safefile_open() gives a file of a store: ".NAME.XXXXXX". */
static bool is_temporary(const char *name)
{
    enum { SUFFIX = 7, DIGITS = 16 };
    static const char *const ends[] = {".wcodec", ".removed"};
    const size_t length = strlen(name);
    if (name[0] != '.' || length <= SUFFIX + 1 || name[length - SUFFIX] != '.')
        return false;
    const char *base = name + 1;
    const size_t rest = length - SUFFIX - 1;
    if (rest == strlen(WCODEC_MANIFEST_NAME) && strncmp(base, WCODEC_MANIFEST_NAME, rest) == 0)
        return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strspn(base, "0123456789abcdef") == DIGITS && rest == DIGITS + strlen(ends[i]) &&
            strncmp(base + DIGITS, ends[i], rest - DIGITS) == 0)
            return true;
    return false;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The numbers of files that the manifest names, in their order. */
static size_t list_files(const struct wcodec_manifest *m, uint64_t *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        numbers[count++] = m->entries[i].file;
        if (m->entries[i].removed != 0)
            numbers[count++] = m->entries[i].removed_file;
    }
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    return count;
}

/* The number of a segment or bitmap; false: it is none by its name. */
static bool number_of(const char *name, uint64_t *number)
{
    char segment[WCODEC_STORE_NAME_SIZE], removed[WCODEC_STORE_NAME_SIZE];
    *number = strtoull(name, NULL, 16);
    wcodec_store_segment_name(*number, segment);
    wcodec_store_removed_name(*number, removed);
    return strcmp(name, segment) == 0 || strcmp(name, removed) == 0;
}

/* Is it a segment or bitmap, but none of these? */
static bool is_unnamed(const char *name, const uint64_t *numbers, size_t count)
{
    uint64_t number;
    return number_of(name, &number) &&
           bsearch(&number, numbers, count, sizeof *numbers, compare_numbers) == NULL;
}

/* They only take room: what cannot be removed is left. */
void wcodec_store_sweep(const struct wcodec_store_change *change)
{
    const struct wcodec_manifest *m = &change->manifest;
    const wcodec_allocator *allocator = &change->context->allocator;
    uint64_t *numbers = wcodec_alloc_array(allocator, 2 * (uint64_t)m->count, sizeof *numbers);
    DIR *dir = opendir(change->folder);
    const size_t count = numbers != NULL ? list_files(m, numbers) : 0;
    /* A manifest that is not on the disk yet must not lose the files of the one that is. */
    if (dir != NULL && numbers != NULL && wcodec_fsync(change->dir) == 0)
        for (const struct dirent *d; (d = readdir(dir)) != NULL;)
            if (is_temporary(d->d_name) ||
                (!change->is_new && is_unnamed(d->d_name, numbers, count)))
                unlinkat(change->dir, d->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    wcodec_free(allocator, numbers);
}

static bool is_missing(const struct wcodec_store_change *change)
{
    return faccessat(change->dir, WCODEC_MANIFEST_NAME, F_OK, 0) != 0 && errno == ENOENT;
}

/* A first writer that was killed leaves number 0. Others are of a store whose manifest was lost,
 * and would be swept. */
static wcodec_status check_new(const struct wcodec_store_change *change, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    uint64_t number;
    DIR *dir = opendir(change->folder);
    if (dir == NULL)
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: %s", change->folder, strerror(errno));
    for (const struct dirent *d; status == WCODEC_OK && (d = readdir(dir)) != NULL;)
        if (number_of(d->d_name, &number) && number != 0)
            status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                 "%s: has %s, but no " WCODEC_MANIFEST_NAME ": it was lost, and "
                                 "nothing is added",
                                 change->folder, d->d_name);
    closedir(dir);
    return status;
}

wcodec_status wcodec_store_begin(struct wcodec_store_change *change, wcodec_context *context,
                                 const char *folder, uint64_t d, wcodec_error *err)
{
    *change =
        (struct wcodec_store_change){.context = context, .folder = folder, .dir = -1, .lock = -1};
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = open_folder(change, d != 0, err);
    if (status == WCODEC_OK)
        status = take_lock(change, err);
    if (status != WCODEC_OK)
        return status;
    change->is_new = is_missing(change);
    if (change->is_new && d != 0) {
        change->manifest.d = d;
        status = check_new(change, err);
    } else
        status = wcodec_manifest_read(context, folder, &change->manifest, err);
    /* A change takes a number for each segment at most, or one. */
    if (status == WCODEC_OK && change->manifest.next_file >= UINT64_MAX - change->manifest.count)
        status = wcodec_fail(err, WCODEC_ERROR_LIMIT, "%s: no numbers of files are left", folder);
    if (status == WCODEC_OK)
        wcodec_store_sweep(change);
    return status;
}

wcodec_status wcodec_store_commit(struct wcodec_store_change *change, wcodec_error *err)
{
    const wcodec_status status =
        wcodec_manifest_write(change->context, change->folder, &change->manifest, err);
    if (status == WCODEC_OK)
        wcodec_store_sweep(change);
    return status;
}

/* With the lock held. The manifest may be there though writing it failed, if only its folder could
 * not be synced. */
static void undo_new(const struct wcodec_store_change *change)
{
    char name[WCODEC_STORE_NAME_SIZE];
    wcodec_store_segment_name(0, name);
    if (change->manifest.next_file != 0)
        unlinkat(change->dir, name, 0);
    if (change->made_lock)
        unlinkat(change->dir, WCODEC_STORE_LOCK_NAME, 0);
}

void wcodec_store_end(struct wcodec_store_change *change)
{
    const bool is_undone = change->dir >= 0 && is_missing(change);
    if (is_undone && change->is_new)
        undo_new(change);
    /* What others have put there stays, and so does the folder then. */
    if (is_undone && change->made_folder)
        rmdir(change->folder);
    wcodec_manifest_free(&change->context->allocator, &change->manifest);
    if (change->lock >= 0)
        close(change->lock);
    if (change->dir >= 0)
        close(change->dir);
}

wcodec_status wcodec_segment_of_entry(const struct wcodec_store_change *change,
                                      const struct wcodec_manifest_entry *entry,
                                      wcodec_reader **reader, struct wcodec_segment_file *file,
                                      wcodec_error *err)
{
    const wcodec_allocator *allocator = &change->context->allocator;
    char name[WCODEC_STORE_NAME_SIZE];
    wcodec_store_segment_name(entry->file, name);
    char *path = wcodec_store_path(allocator, change->folder, name);
    if (path == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", change->folder);
    wcodec_status status = wcodec_reader_open_path(change->context, path, reader, err);
    if (status != WCODEC_OK)
        status = wcodec_manifest_missing(status, change->folder, entry->file, err);
    else {
        status = wcodec_segment_find(*reader, file, err);
        if (status == WCODEC_OK)
            status = wcodec_segment_check(file, entry, change->manifest.d, err);
        if (status != WCODEC_OK)
            wcodec_reader_close(*reader);
        wcodec_segment_name(change, entry, status, err);
    }
    wcodec_free(allocator, path);
    return status;
}

wcodec_status wcodec_segment_name(const struct wcodec_store_change *change,
                                  const struct wcodec_manifest_entry *entry, wcodec_status status,
                                  wcodec_error *err)
{
    char name[WCODEC_STORE_NAME_SIZE];
    wcodec_store_segment_name(entry->file, name);
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "%s/%s", change->folder, name);
    return status;
}
