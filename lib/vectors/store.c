/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Opening a store, or a segment, to search in it. */
#include "backends/cpu/cpu_level.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "vectors/manifest.h"
#include "vectors/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

void wcodec_vectors_close(wcodec_vectors_store *store)
{
    if (store == NULL)
        return;
    const wcodec_allocator *allocator = &store->context->allocator;
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
                                        .next_id = store->next_id};
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
    status = wcodec_segment_load(context, reader, &made->segments[0], err);
    if (status != WCODEC_OK) {
        wcodec_vectors_close(made);
        return status;
    }
    made->count = 1;
    made->d = made->segments[0].d;
    made->rows = made->next_id = made->segments[0].n;
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

static wcodec_status load_segment(const struct wcodec_vectors_store *store, const char *path,
                                  const struct wcodec_manifest_entry *entry,
                                  struct wcodec_vectors_segment *segment, wcodec_error *err)
{
    wcodec_reader *reader;
    wcodec_status status = wcodec_reader_open_path(store->context, path, &reader, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_segment_load(store->context, reader, segment, err);
    if (status == WCODEC_OK && (segment->n != entry->rows || segment->d != store->d)) {
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "%zu vectors of %zu dimensions, but the manifest says %" PRIu64
                             " of %" PRIu64,
                             segment->n, segment->d, entry->rows, store->d);
        wcodec_segment_free(&store->context->allocator, segment);
    }
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "%s", path);
    wcodec_reader_close(reader);
    return status;
}

/* The next segment of the store. What the manifest names and is not there is damage. */
static wcodec_status add_segment(struct wcodec_vectors_store *store, const char *folder,
                                 const struct wcodec_manifest_entry *entry, wcodec_error *err)
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
        status = load_segment(store, path, entry, segment, err);
    wcodec_free(allocator, path);
    if (status != WCODEC_OK) {
        wcodec_free(allocator, removed);
        return wcodec_manifest_missing(status, folder, entry->file, err);
    }
    segment->first_id = entry->first_id;
    segment->removed = removed;
    segment->removed_count = entry->removed;
    store->count++;
    store->rows += entry->rows - entry->removed;
    store->removed += entry->removed;
    return WCODEC_OK;
}

static wcodec_status open_store(wcodec_context *context, const char *folder,
                                wcodec_vectors_store **store, wcodec_error *err)
{
    struct wcodec_manifest manifest;
    uint64_t memory = 0;
    wcodec_status status = wcodec_manifest_read(context, folder, &manifest, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_vectors_store *made = create(context, manifest.count, err);
    status = made == NULL ? WCODEC_ERROR_MEMORY : WCODEC_OK;
    if (made != NULL) {
        made->d = manifest.d;
        made->next_id = manifest.next_id;
    }
    for (size_t i = 0; status == WCODEC_OK && i < manifest.count; i++) {
        status = add_segment(made, folder, &manifest.entries[i], err);
        if (status != WCODEC_OK)
            break;
        memory += wcodec_segment_memory(&made->segments[i]);
        if (memory > context->limits.max_memory)
            status = wcodec_fail(err, WCODEC_ERROR_LIMIT,
                                 "%s: the vectors take more than the limit of memory", folder);
    }
    wcodec_manifest_free(&context->allocator, &manifest);
    if (status == WCODEC_OK)
        *store = made;
    else
        wcodec_vectors_close(made);
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
