/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Adding to a store, and removing from it. */
#include "coding/lossy.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/safefile.h"
#include "vectors/store_change.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static wcodec_status choose_ids(const struct wcodec_store_change *change,
                                const wcodec_vector_rows *rows, const uint64_t *asked,
                                uint64_t *first, wcodec_error *err)
{
    const uint64_t next = change->manifest.next_id;
    *first = asked == NULL || *asked == UINT64_MAX ? next : *asked;
    if (*first < next)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%s: id %" PRIu64 " was used: the first that never was is %" PRIu64,
                           change->folder, *first, next);
    if (*first > WCODEC_STORE_IDS || rows->count > WCODEC_STORE_IDS - *first)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%s: %" PRIu64 " ids from %" PRIu64 " on are not all below 2^63",
                           change->folder, rows->count, *first);
    return WCODEC_OK;
}

/* What new segments take over from the first. */
struct first {
    wcodec_vectors vectors; /* its anchors */
    float scale;            /* the least */
};

/* anchors: as a segment has them, widened. */
static wcodec_status narrow(const wcodec_allocator *allocator,
                            const struct wcodec_segment_file *file, const float *anchors,
                            struct first *first, wcodec_error *err)
{
    const uint64_t count = file->m * file->d;
    uint16_t *halves = wcodec_alloc_array(allocator, count, sizeof *halves);
    if (halves == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for anchors");
    for (uint64_t i = 0; i < count; i++)
        halves[i] = wcodec_f16_from_f32(anchors[i]);
    first->vectors = (wcodec_vectors){
        .allocator = *allocator, .anchors = file->m, .dimensions = file->d, .anchor = halves};
    return WCODEC_OK;
}

static float least_of(const float *scales, uint64_t count)
{
    float least = scales[0];
    for (uint64_t i = 1; i < count; i++)
        least = fminf(least, scales[i]);
    return least;
}

static wcodec_status read_first(const struct wcodec_store_change *change, const char *path,
                                struct first *first, wcodec_error *err)
{
    const wcodec_allocator *allocator = &change->context->allocator;
    struct wcodec_segment_file file;
    wcodec_reader *reader;
    float *anchors = NULL, *scales = NULL;
    wcodec_status status = wcodec_reader_open_path(change->context, path, &reader, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_segment_find(reader, &file, err);
    if (status == WCODEC_OK && file.d != change->manifest.d)
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "vectors of %" PRIu64 " dimensions, but the manifest says %" PRIu64,
                             file.d, change->manifest.d);
    if (status == WCODEC_OK && file.m > change->context->limits.max_memory / (8 * file.d))
        status = wcodec_fail(err, WCODEC_ERROR_LIMIT, "anchors larger than the limit of memory");
    if (status == WCODEC_OK) {
        anchors = wcodec_alloc_array(allocator, file.m * file.d, sizeof *anchors);
        scales = wcodec_alloc_array(allocator, file.m, sizeof *scales);
        status = anchors == NULL || scales == NULL
                     ? wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for anchors")
                     : wcodec_segment_read_anchors(&file, allocator, (size_t)file.d, anchors,
                                                   scales, err);
    }
    if (status == WCODEC_OK)
        status = narrow(allocator, &file, anchors, first, err);
    if (status == WCODEC_OK)
        first->scale = least_of(scales, file.m);
    else
        wcodec_error_prefix(err, "%s", path);
    wcodec_free(allocator, anchors);
    wcodec_free(allocator, scales);
    wcodec_reader_close(reader);
    return status;
}

static wcodec_status find_first(const struct wcodec_store_change *change, struct first *first,
                                wcodec_error *err)
{
    const wcodec_allocator *allocator = &change->context->allocator;
    char name[WCODEC_STORE_NAME_SIZE];
    wcodec_store_segment_name(change->manifest.entries[0].file, name);
    char *path = wcodec_store_path(allocator, change->folder, name);
    if (path == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", change->folder);
    const wcodec_status status = read_first(change, path, first, err);
    wcodec_free(allocator, path);
    return wcodec_manifest_missing(status, change->folder, change->manifest.entries[0].file, err);
}

static wcodec_status write_segment(const struct wcodec_store_change *change,
                                   const wcodec_vectors *vectors, const wcodec_vector_rows *rows,
                                   float scale, const wcodec_vectors_compress_options *options,
                                   wcodec_vectors_report *report, wcodec_error *err)
{
    const struct wcodec_safefile_attributes attributes = wcodec_store_attributes(&change->manifest);
    const wcodec_allocator *allocator = &change->context->allocator;
    struct wcodec_safefile file;
    char name[WCODEC_STORE_NAME_SIZE];
    wcodec_store_segment_name(change->manifest.next_file, name);
    char *path = wcodec_store_path(allocator, change->folder, name);
    if (path == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", change->folder);
    wcodec_status status = wcodec_safefile_open(allocator, path, &file, err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_compress_by(change->context, vectors, rows, scale, options,
                                            wcodec_safefile_write, &file, report, err);
    if (status == WCODEC_OK)
        status = wcodec_safefile_commit(&file, &attributes, err);
    wcodec_safefile_close(&file);
    wcodec_free(allocator, path);
    return status;
}

static wcodec_status add(struct wcodec_store_change *change, const wcodec_vectors *vectors,
                         const wcodec_vector_rows *rows, float scale,
                         const wcodec_vectors_compress_options *options, uint64_t first,
                         wcodec_vectors_report *report, wcodec_error *err)
{
    struct wcodec_manifest *m = &change->manifest;
    wcodec_status status = wcodec_manifest_grow(&change->context->allocator, m, err);
    if (status == WCODEC_OK)
        status = write_segment(change, vectors, rows, scale, options, report, err);
    if (status != WCODEC_OK)
        return status;
    m->entries[m->count++] = (struct wcodec_manifest_entry){.file = m->next_file,
                                                            .first_id = first,
                                                            .last_id = first + rows->count - 1,
                                                            .rows = rows->count};
    m->next_file++;
    m->next_id = first + rows->count;
    return wcodec_store_commit(change, err);
}

wcodec_status wcodec_vectors_store_add(wcodec_context *context, const char *path,
                                       const wcodec_vectors *vectors,
                                       const wcodec_vector_rows *rows,
                                       const wcodec_vectors_compress_options *options,
                                       uint64_t *first_id, wcodec_vectors_report *report,
                                       wcodec_error *err)
{
    struct wcodec_store_change change;
    const bool is_asked = options != NULL && (options->bits != 0 || options->recall != 0);
    struct first own = {.scale = 0};
    uint64_t first = 0;
    if (context == NULL)
        return wcodec_context_usable(context, err);
    if (vectors != NULL && rows->dimensions != vectors->dimensions)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "anchors of %" PRIu64 " dimensions for vectors of %" PRIu64,
                           vectors->dimensions, rows->dimensions);
    /* A folder is made for who brings anchors. */
    wcodec_status status =
        wcodec_store_begin(&change, context, path, vectors != NULL ? rows->dimensions : 0, err);
    if (status == WCODEC_OK && rows->dimensions != change.manifest.d)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "%s: vectors of %" PRIu64 " dimensions, but those there have %" PRIu64,
                             path, rows->dimensions, change.manifest.d);
    if (status == WCODEC_OK)
        status = choose_ids(&change, rows, first_id, &first, err);
    if (status == WCODEC_OK && change.manifest.count != 0 && (vectors == NULL || !is_asked))
        status = find_first(&change, &own, err);
    else if (status == WCODEC_OK && vectors == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "%s: a store without vectors needs anchors for its first ones", path);
    if (status == WCODEC_OK)
        status = add(&change, vectors != NULL ? vectors : &own.vectors, rows,
                     is_asked ? 0 : own.scale, options, first, report, err);
    if (status == WCODEC_OK && first_id != NULL)
        *first_id = first;
    wcodec_free(&context->allocator, own.vectors.anchor);
    wcodec_store_end(&change);
    return status;
}

/* The segment that may have an id; count: none. */
static size_t find_entry(const struct wcodec_manifest *m, uint64_t id)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->entries[middle].last_id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->count && m->entries[low].first_id <= id ? low : m->count;
}

/* What is known of a segment from which rows are removed. */
struct removal {
    uint8_t *bits; /* NULL: nothing yet */
    uint64_t *ids; /* of rows; NULL: they follow each other */
};

static wcodec_status find_ids(const struct wcodec_store_change *change,
                              const struct wcodec_manifest_entry *entry, uint64_t **ids,
                              wcodec_error *err)
{
    const wcodec_allocator *allocator = &change->context->allocator;
    struct wcodec_segment_file file;
    wcodec_reader *reader;
    if (entry->last_id - entry->first_id == entry->rows - 1)
        return WCODEC_OK;
    wcodec_status status = wcodec_segment_of_entry(change, entry, &reader, &file, err);
    if (status != WCODEC_OK)
        return status;
    *ids = wcodec_alloc_array(allocator, entry->rows, sizeof **ids);
    status = *ids != NULL ? wcodec_segment_entry_ids(&file, allocator, entry, *ids, err)
                          : wcodec_fail(err, WCODEC_ERROR_MEMORY,
                                        "out of memory for %" PRIu64 " ids", entry->rows);
    wcodec_reader_close(reader);
    return wcodec_segment_name(change, entry, status, err);
}

static wcodec_status begin_removal(const struct wcodec_store_change *change, size_t i,
                                   struct removal *removal, wcodec_error *err)
{
    const struct wcodec_manifest_entry *entry = &change->manifest.entries[i];
    const uint64_t size = wcodec_div_up_u64(entry->rows, 8),
                   limit = change->context->limits.max_memory;
    if (entry->rows > limit / (2 * sizeof *removal->ids)) /* ids, the gaps before them */
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%s: segment %" PRIu64 " has %" PRIu64
                           " vectors: their ids are more than the limit of memory",
                           change->folder, entry->file, entry->rows);
    const wcodec_status status = find_ids(change, entry, &removal->ids, err);
    if (status != WCODEC_OK)
        return status;
    if (entry->removed != 0)
        return wcodec_removed_read(change->context, change->folder, entry, &removal->bits, err);
    removal->bits = wcodec_alloc_array(&change->context->allocator, size, 1);
    if (removal->bits == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " vectors",
                           entry->rows);
    memset(removal->bits, 0, (size_t)size);
    return WCODEC_OK;
}

/* The row of an id; their number: none. */
static uint64_t row_of(const struct wcodec_manifest_entry *entry, const struct removal *removal,
                       uint64_t id)
{
    uint64_t low = 0, high = entry->rows;
    if (removal->ids == NULL)
        return id - entry->first_id;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (removal->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < entry->rows && removal->ids[low] == id ? low : entry->rows;
}

/* Set the bit of an id. */
static wcodec_status mark(struct wcodec_store_change *change, struct removal *removals, uint64_t id,
                          wcodec_error *err)
{
    struct wcodec_manifest *m = &change->manifest;
    const size_t i = find_entry(m, id);
    if (i < m->count && removals[i].bits == NULL) {
        const wcodec_status status = begin_removal(change, i, &removals[i], err);
        if (status != WCODEC_OK)
            return status;
    }
    const uint64_t row = i < m->count ? row_of(&m->entries[i], &removals[i], id) : 0;
    const uint8_t bit = (uint8_t)(1u << row % 8);
    if (i == m->count || row == m->entries[i].rows || (removals[i].bits[row / 8] & bit) != 0)
        return wcodec_fail(err, WCODEC_ERROR_NOT_FOUND, "%s: there is no vector of id %" PRIu64,
                           change->folder, id);
    removals[i].bits[row / 8] |= bit;
    m->entries[i].removed++;
    return WCODEC_OK;
}

static wcodec_status remove_ids(struct wcodec_store_change *change, struct removal *removals,
                                const uint64_t *ids, uint64_t count, wcodec_error *err)
{
    struct wcodec_manifest *m = &change->manifest;
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; status == WCODEC_OK && i < count; i++)
        status = mark(change, removals, ids[i], err);
    for (size_t i = 0; status == WCODEC_OK && i < m->count; i++) {
        if (removals[i].bits == NULL)
            continue;
        m->entries[i].removed_file = m->next_file++;
        status =
            wcodec_removed_write(change->context, change->folder, m, m->entries[i].removed_file,
                                 removals[i].bits, m->entries[i].rows, err);
    }
    return status == WCODEC_OK ? wcodec_store_commit(change, err) : status;
}

wcodec_status wcodec_vectors_store_remove(wcodec_context *context, const char *path,
                                          const uint64_t *ids, uint64_t count, wcodec_error *err)
{
    struct wcodec_store_change change;
    struct removal *removals = NULL;
    if (context == NULL)
        return wcodec_context_usable(context, err);
    const wcodec_allocator *allocator = &context->allocator;
    wcodec_status status = wcodec_store_begin(&change, context, path, 0, err);
    if (status == WCODEC_OK) {
        removals = wcodec_alloc_array(allocator, change.manifest.count, sizeof *removals);
        if (removals == NULL)
            status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", path);
    }
    for (size_t i = 0; removals != NULL && i < change.manifest.count; i++)
        removals[i] = (struct removal){0};
    if (status == WCODEC_OK)
        status = remove_ids(&change, removals, ids, count, err);
    for (size_t i = 0; removals != NULL && i < change.manifest.count; i++) {
        wcodec_free(allocator, removals[i].bits);
        wcodec_free(allocator, removals[i].ids);
    }
    wcodec_free(allocator, removals);
    wcodec_store_end(&change);
    return status;
}
