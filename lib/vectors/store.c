/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Opening a store, or a segment, to search in it. */
#include "backends/cpu/cpu_level.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "vectors/manifest.h"
#include "vectors/search_device.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

void wcodec_vectors_close(wcodec_vectors_store *store)
{
    if (store == NULL)
        return;
    const wcodec_allocator *allocator = &store->context->allocator;
    wcodec_search_device_destroy(store);
    for (size_t i = 0; i < store->count; i++)
        wcodec_segment_free(allocator, &store->segments[i]);
    wcodec_free(allocator, store->segments);
    wcodec_free(allocator, store);
}

void wcodec_vectors_store_describe(const wcodec_vectors_store *store,
                                   wcodec_vectors_store_info *info)
{
    *info = (wcodec_vectors_store_info){.rows = store->rows,
                                        .removed = store->removed,
                                        .dimensions = store->d,
                                        .segments = store->count,
                                        .next_id = store->next_id,
                                        .device_memory = wcodec_search_device_memory(store)};
    for (size_t i = 0; i < store->count; i++) {
        info->anchors += store->segments[i].m;
        info->coded_size += store->segments[i].coded_size;
        info->memory += wcodec_segment_memory(&store->segments[i]);
    }
}

/* A store with room for so many segments. NULL: reported. */
static struct wcodec_vectors_store *create(wcodec_context *context, size_t count, wcodec_error *err)
{
    struct wcodec_vectors_store *store = wcodec_alloc_zeroed(&context->allocator, sizeof *store);
    struct wcodec_vectors_segment *segments =
        wcodec_alloc_array(&context->allocator, count, sizeof *segments);
    if (store == NULL || segments == NULL) {
        wcodec_free(&context->allocator, store);
        wcodec_free(&context->allocator, segments);
        wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu segments", count);
        return NULL;
    }
    store->context = context;
    store->segments = segments;
    wcodec_cpu_nearest_dsp_init(&store->dsp, wcodec_cpu_levels() & context->cpu_mask);
    return store;
}

wcodec_status wcodec_vectors_open_reader(wcodec_context *context, const wcodec_reader *reader,
                                         wcodec_vectors_store **store, wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_vectors_store *made = create(context, 1, err);
    if (made == NULL)
        return WCODEC_ERROR_MEMORY;
    status = wcodec_segment_load(context, reader, NULL, 0, 0, &made->segments[0], err);
    if (status != WCODEC_OK) {
        wcodec_vectors_close(made);
        return status;
    }
    made->count = 1;
    made->d = made->segments[0].d;
    made->rows = made->segments[0].n;
    made->next_id = wcodec_segment_id(&made->segments[0], made->rows - 1) + 1;
    status = wcodec_search_device_create(made, err);
    if (status != WCODEC_OK) {
        wcodec_vectors_close(made);
        return status;
    }
    *store = made;
    return WCODEC_OK;
}

static wcodec_status open_segment(wcodec_context *context, const char *path,
                                  wcodec_vectors_store **store, wcodec_error *err)
{
    wcodec_reader *reader;
    wcodec_status status = wcodec_reader_open_path(context, path, &reader, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_vectors_open_reader(context, reader, store, err);
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "%s", path);
    wcodec_reader_close(reader);
    return status;
}

wcodec_status wcodec_segment_check(const struct wcodec_segment_file *file,
                                   const struct wcodec_manifest_entry *entry, uint64_t d,
                                   wcodec_error *err)
{
    if (file->n != entry->rows || file->d != d)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " vectors of %" PRIu64
                           " dimensions, but the manifest says %" PRIu64 " of %" PRIu64,
                           file->n, file->d, entry->rows, d);
    if (file->gap_size == 0 && entry->last_id - entry->first_id != entry->rows - 1)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "vectors whose ids follow each other, but the manifest says %" PRIu64
                           " from %" PRIu64 " to %" PRIu64,
                           entry->rows, entry->first_id, entry->last_id);
    return WCODEC_OK;
}

wcodec_status wcodec_segment_entry_ids(const struct wcodec_segment_file *file,
                                       const wcodec_allocator *allocator,
                                       const struct wcodec_manifest_entry *entry, uint64_t *ids,
                                       wcodec_error *err)
{
    const wcodec_status status =
        wcodec_segment_read_ids(file, allocator, entry->first_id, ids, err);
    if (status == WCODEC_OK && ids[file->n - 1] != entry->last_id)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the last id is %" PRIu64 ", but the manifest says %" PRIu64,
                           ids[file->n - 1], entry->last_id);
    return status;
}

static wcodec_status load_segment(const struct wcodec_vectors_store *store, const char *path,
                                  const struct wcodec_manifest_entry *entry, uint64_t held,
                                  struct wcodec_vectors_segment *segment, wcodec_error *err)
{
    wcodec_reader *reader;
    wcodec_status status = wcodec_reader_open_path(store->context, path, &reader, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_segment_load(store->context, reader, entry, store->d, held, segment, err);
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "%s", path);
    wcodec_reader_close(reader);
    return status;
}

/* The next segment of the store, beside `held` bytes of those before it. What the manifest names
 * and is not there is damage. */
static wcodec_status add_segment(struct wcodec_vectors_store *store, const char *folder,
                                 const struct wcodec_manifest_entry *entry, uint64_t held,
                                 wcodec_error *err)
{
    const wcodec_allocator *allocator = &store->context->allocator;
    struct wcodec_vectors_segment *segment = &store->segments[store->count];
    char name[WCODEC_STORE_NAME_SIZE];
    uint8_t *removed = NULL;
    wcodec_store_segment_name(entry->file, name);
    char *path = wcodec_store_path(allocator, folder, name);
    if (path == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", folder);
    wcodec_status status = entry->removed == 0
                               ? WCODEC_OK
                               : wcodec_removed_read(store->context, folder, entry, &removed, err);
    if (status == WCODEC_OK)
        status = load_segment(store, path, entry, held, segment, err);
    wcodec_free(allocator, path);
    if (status != WCODEC_OK) {
        wcodec_free(allocator, removed);
        return wcodec_manifest_missing(status, folder, entry->file, err);
    }
    segment->removed = removed;
    segment->removed_count = entry->removed;
    store->count++;
    store->rows += entry->rows - entry->removed;
    store->removed += entry->removed;
    return WCODEC_OK;
}

static wcodec_status load_store(wcodec_context *context, const char *folder,
                                const struct wcodec_manifest *manifest,
                                wcodec_vectors_store **store, wcodec_error *err)
{
    struct wcodec_vectors_store *made = create(context, manifest->count, err);
    uint64_t memory = 0;
    wcodec_status status = made == NULL ? WCODEC_ERROR_MEMORY : WCODEC_OK;
    if (made != NULL) {
        made->d = manifest->d;
        made->next_id = manifest->next_id;
    }
    for (size_t i = 0; status == WCODEC_OK && i < manifest->count; i++) {
        status = add_segment(made, folder, &manifest->entries[i], memory, err);
        if (status == WCODEC_OK)
            memory += wcodec_segment_memory(&made->segments[i]);
    }
    if (status == WCODEC_OK)
        status = wcodec_search_device_create(made, err);
    if (status == WCODEC_OK)
        *store = made;
    else
        wcodec_vectors_close(made);
    return status;
}

/* Files that a manifest names are removed when another takes its place: then that is read. */
static wcodec_status open_store(wcodec_context *context, const char *folder,
                                wcodec_vectors_store **store, wcodec_error *err)
{
    enum { TRIES = 100 };
    struct wcodec_manifest manifest = {0}, next;
    wcodec_status status = wcodec_manifest_read(context, folder, &manifest, err);
    for (unsigned i = 1; status == WCODEC_OK; i++) {
        status = load_store(context, folder, &manifest, store, err);
        if (status != WCODEC_ERROR_CORRUPT || i == TRIES ||
            wcodec_manifest_read(context, folder, &next, NULL) != WCODEC_OK)
            break;
        /* Whoever takes no number of a file drops segments. */
        const bool is_changed =
            next.next_file != manifest.next_file || next.count != manifest.count;
        wcodec_manifest_free(&context->allocator, is_changed ? &manifest : &next);
        if (!is_changed)
            break;
        manifest = next;
        status = WCODEC_OK;
    }
    wcodec_manifest_free(&context->allocator, &manifest);
    return status;
}

wcodec_status wcodec_vectors_open(wcodec_context *context, const char *path,
                                  wcodec_vectors_store **store, wcodec_error *err)
{
    struct stat st;
    const wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    if (stat(path, &st) != 0)
        return wcodec_fail(err, errno == ENOENT ? WCODEC_ERROR_NOT_FOUND : WCODEC_ERROR_IO,
                           "%s: %s", path, strerror(errno));
    return S_ISDIR(st.st_mode) ? open_store(context, path, store, err)
                               : open_segment(context, path, store, err);
}
