/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "read/bases_folder.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/phases.h"
#include "read/bases.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ns that a folder is held for what it was: a file that is written where it is does not change its
 * folder's time. */
static const uint64_t known_for = 1000000000, known_for_most = 60000000000;
/* ns that the folder's last change must be old for the next one to have another time. */
static const long settled_after = 100000000;

static char *join_path(const wcodec_allocator *allocator, const char *folder, const char *name)
{
    const size_t n = strlen(folder), m = strlen(name);
    char *path = wcodec_alloc(allocator, n + m + 2);
    if (path == NULL)
        return NULL;
    const bool slash = n == 0 || folder[n - 1] != '/';
    memcpy(path, folder, n);
    if (slash)
        path[n] = '/';
    memcpy(path + n + slash, name, m + 1);
    return path;
}

/* The path is the list's from now on, or freed. */
static bool add_listed(const wcodec_allocator *allocator, struct wcodec_listing *list, char *path,
                       uint64_t size)
{
    if (list->count == list->room) {
        const uint64_t room = list->room + list->room / 2 + 16;
        struct wcodec_listed *files =
            wcodec_realloc_array(allocator, list->files, room, sizeof *files);
        if (files == NULL) {
            wcodec_free(allocator, path);
            return false;
        }
        list->files = files;
        list->room = room;
    }
    list->files[list->count++] = (struct wcodec_listed){.path = path, .size = size};
    return true;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct wcodec_listed *)a)->path, ((const struct wcodec_listed *)b)->path);
}

wcodec_status wcodec_listing_read(const wcodec_allocator *allocator, const char *folder,
                                  struct wcodec_listing *list, wcodec_error *err)
{
    bool enough = true;
    DIR *dir = opendir(folder);
    *list = (struct wcodec_listing){NULL, 0, 0};
    if (dir == NULL)
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: %s", folder, strerror(errno));
    for (struct dirent *e; enough && (e = readdir(dir)) != NULL;) {
        struct stat st;
        char *path = join_path(allocator, folder, e->d_name);
        if (path == NULL)
            enough = false;
        else if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
            wcodec_free(allocator, path);
        else
            enough = add_listed(allocator, list, path, (uint64_t)st.st_size);
    }
    closedir(dir);
    if (!enough)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a folder");
    if (list->count != 0)
        qsort(list->files, (size_t)list->count, sizeof *list->files, compare_paths);
    return WCODEC_OK;
}

void wcodec_listing_free(const wcodec_allocator *allocator, struct wcodec_listing *list)
{
    for (uint64_t i = 0; i < list->count; i++)
        wcodec_free(allocator, list->files[i].path);
    wcodec_free(allocator, list->files);
    *list = (struct wcodec_listing){NULL, 0, 0};
}

void wcodec_base_folder_free(const wcodec_allocator *allocator, struct wcodec_base_folder *folder)
{
    wcodec_listing_free(allocator, &folder->list);
    wcodec_free(allocator, folder->path);
    *folder = (struct wcodec_base_folder){.path = NULL};
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* What serves the same stays in the order of names. */
static int compare_files(const void *a, const void *b)
{
    const struct wcodec_listed *x = a, *y = b;
    int order = (int)y->coded - (int)x->coded;
    if (order == 0 && x->coded)
        order = memcmp(x->hash, y->hash, sizeof x->hash);
    if (order == 0)
        order = compare_numbers(x->size, y->size);
    if (order == 0)
        order = (int)x->has_deltas - (int)y->has_deltas;
    return order != 0 ? order : strcmp(x->path, y->path);
}

/* Of the index alone. One that cannot be read is none that is looked for. */
static wcodec_status look_at_coded(struct wcodec_bases *b, struct wcodec_listed *listed,
                                   wcodec_error *err)
{
    static const struct wcodec_index of_none = {.entry_count = 0};
    struct wcodec_base_file *f = wcodec_alloc_zeroed(&b->context->allocator, sizeof *f);
    wcodec_status status = f != NULL
                               ? wcodec_base_open(b, listed->path, &of_none, f, err)
                               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a base");
    if (status == WCODEC_OK && f->layout == NULL) {
        listed->coded = listed->hashed = true;
        listed->has_deltas = f->has_deltas;
        listed->size = f->size;
        memcpy(listed->hash, f->hash, sizeof listed->hash);
    }
    wcodec_base_close(b->context, f);
    return status == WCODEC_ERROR_MEMORY ? status : WCODEC_OK;
}

static bool is_known(const struct wcodec_base_folder *folder, const char *path,
                     const struct stat *now)
{
    const uint64_t age = wcodec_clock_ns() - folder->read_at, wanted = 10 * folder->read_for,
                   most = wanted < known_for ? known_for : wanted;
    return folder->path != NULL && strcmp(folder->path, path) == 0 &&
           wcodec_base_is_same(&folder->identity, now) && folder->read_at != 0 &&
           age <= (most < known_for_most ? most : known_for_most);
}

/* Would another change of what has this time show in it? */
static bool is_settled(const struct stat *st)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || now.tv_sec < st->st_mtim.tv_sec)
        return false;
    return now.tv_sec - st->st_mtim.tv_sec > 1 ||
           (now.tv_sec - st->st_mtim.tv_sec) * 1000000000L + now.tv_nsec - st->st_mtim.tv_nsec >
               settled_after;
}

wcodec_status wcodec_base_folder_read(wcodec_bases *bases, const char *path, wcodec_error *err)
{
    const wcodec_allocator *allocator = &bases->context->allocator;
    struct wcodec_base_folder *folder = &bases->folder;
    const uint64_t begin = wcodec_clock_ns();
    struct stat now;
    if (stat(path, &now) != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: %s", path, strerror(errno));
    if (is_known(folder, path, &now))
        return WCODEC_OK;
    wcodec_base_folder_free(allocator, folder);
    const bool settled = is_settled(&now);
    folder->identity = now;
    folder->path = wcodec_strdup(allocator, path);
    wcodec_status status =
        folder->path != NULL ? wcodec_listing_read(allocator, path, &folder->list, err)
                             : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a folder");
    for (uint64_t i = 0; i < folder->list.count && status == WCODEC_OK; i++) {
        struct wcodec_listed *f = &folder->list.files[i];
        if (wcodec_ends_with(f->path, ".wcodec"))
            status = look_at_coded(bases, f, err);
        folder->coded_count += f->coded ? 1 : 0;
    }
    if (status != WCODEC_OK) {
        wcodec_base_folder_free(allocator, folder);
        return status;
    }
    if (folder->list.count != 0)
        qsort(folder->list.files, (size_t)folder->list.count, sizeof *folder->list.files,
              compare_files);
    const uint64_t end = wcodec_clock_ns();
    folder->read_at = settled ? end : 0;
    folder->read_for = end - begin;
    return WCODEC_OK;
}

/* The first file of [begin, end) that is none before the one that is looked for. */
static uint64_t find_first(const struct wcodec_listing *list, uint64_t begin, uint64_t end,
                           const struct wcodec_listed *wanted)
{
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (compare_files(&list->files[middle], wanted) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static char no_path[] = "";

struct wcodec_listed *wcodec_base_folder_coded(const struct wcodec_base_folder *folder,
                                               const uint8_t hash[16], uint64_t size)
{
    struct wcodec_listed wanted = {.path = no_path, .size = size, .coded = true};
    memcpy(wanted.hash, hash, sizeof wanted.hash);
    const uint64_t i = find_first(&folder->list, 0, folder->coded_count, &wanted);
    if (i == folder->coded_count)
        return NULL;
    struct wcodec_listed *f = &folder->list.files[i];
    return f->size == size && memcmp(f->hash, hash, sizeof f->hash) == 0 ? f : NULL;
}

struct wcodec_listed *wcodec_base_folder_others(const struct wcodec_base_folder *folder,
                                                uint64_t size, uint64_t *count)
{
    const struct wcodec_listing *list = &folder->list;
    const struct wcodec_listed wanted = {.path = no_path, .size = size};
    const uint64_t begin = find_first(list, folder->coded_count, list->count, &wanted);
    uint64_t end = begin;
    while (end < list->count && list->files[end].size == size)
        end++;
    *count = end - begin;
    return end > begin ? &list->files[begin] : NULL;
}
