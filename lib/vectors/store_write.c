/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Changing a store: files are written first, and count when the manifest that names them is there.
 * What a writer that was killed has left is overwritten by the next, since its number is free, or,
 * where it had its temporary name yet, removed. */
#include "coding/lossy.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/safefile.h"
#include "vectors/manifest.h"
#include "vectors/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct change {
    wcodec_context *context;
    const char *folder;
    int lock;
    struct wcodec_manifest manifest;
};

static wcodec_status take_lock(struct change *change, wcodec_error *err)
{
    char *path =
        wcodec_store_path(&change->context->allocator, change->folder, WCODEC_STORE_LOCK_NAME);
    if (path == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", change->folder);
    change->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    const int error = change->lock < 0                              ? errno
                      : flock(change->lock, LOCK_EX | LOCK_NB) != 0 ? errno
                                                                    : 0;
    wcodec_free(&change->context->allocator, path);
    if (error == EWOULDBLOCK)
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: another is changing the store",
                           change->folder);
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

/* With the lock held, temporary files are of writers that were killed. They only take room: what
 * cannot be removed is left. */
static void remove_temporaries(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *d; (d = readdir(dir)) != NULL;)
        if (is_temporary(d->d_name))
            unlinkat(dirfd(dir), d->d_name, 0);
    closedir(dir);
}

/* d: of a store that is to be made if there is none; 0: there must be one. */
static wcodec_status begin(struct change *change, wcodec_context *context, const char *folder,
                           uint64_t d, wcodec_error *err)
{
    *change = (struct change){.context = context, .folder = folder, .lock = -1};
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK && d != 0 && mkdir(folder, 0777) != 0 && errno != EEXIST)
        status = wcodec_fail(err, WCODEC_ERROR_IO, "%s: cannot make the folder: %s", folder,
                             strerror(errno));
    if (status == WCODEC_OK)
        status = take_lock(change, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_manifest_read(context, folder, &change->manifest, err);
    /* A change takes a number for each segment at most, or one. */
    if (status == WCODEC_OK && change->manifest.next_file >= UINT64_MAX - change->manifest.count)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT, "%s: no numbers of files are left", folder);
    if (status == WCODEC_OK)
        remove_temporaries(folder);
    if (status != WCODEC_ERROR_NOT_FOUND)
        return status;
    if (d == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%s: no store of vectors: it has no " WCODEC_MANIFEST_NAME, folder);
    change->manifest.d = d;
    return WCODEC_OK;
}

static void end(struct change *change)
{
    wcodec_manifest_free(&change->context->allocator, &change->manifest);
    if (change->lock >= 0)
        close(change->lock);
}

static wcodec_status choose_ids(const struct change *change, const wcodec_vector_rows *rows,
                                const uint64_t *asked, uint64_t *first, wcodec_error *err)
{
    const uint64_t next = change->manifest.next_id;
    *first = asked == NULL || *asked == UINT64_MAX ? next : *asked;
    if (*first < next)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%s: id %" PRIu64 " was used: the first that never was is %" PRIu64,
                           change->folder, *first, next);
    /* UINT64_MAX is no vector's. */
    if (rows->count >= UINT64_MAX - *first)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%s: there are no %" PRIu64 " ids from %" PRIu64 " on", change->folder,
                           rows->count, *first);
    return WCODEC_OK;
}

/* What new segments take over from the first. */
struct first {
    wcodec_vectors vectors; /* its anchors */
    float scale;            /* of its first anchor */
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

static wcodec_status read_first(const struct change *change, const char *path, struct first *first,
                                wcodec_error *err)
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
        first->scale = scales[0];
    else
        wcodec_error_prefix(err, "%s", path);
    wcodec_free(allocator, anchors);
    wcodec_free(allocator, scales);
    wcodec_reader_close(reader);
    return status;
}

static wcodec_status find_first(const struct change *change, struct first *first, wcodec_error *err)
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

static wcodec_status write_segment(const struct change *change, const wcodec_vectors *vectors,
                                   const wcodec_vector_rows *rows, float scale,
                                   const wcodec_vectors_compress_options *options,
                                   wcodec_vectors_report *report, wcodec_error *err)
{
    static const struct wcodec_safefile_attributes attributes = {
        .mode = 0666, .apply_umask = true, .replace = true};
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

static wcodec_status add(struct change *change, const wcodec_vectors *vectors,
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
    m->entries[m->count++] = (struct wcodec_manifest_entry){
        .file = m->next_file, .first_id = first, .rows = rows->count};
    m->next_file++;
    m->next_id = first + rows->count;
    return wcodec_manifest_write(change->context, change->folder, m, err);
}

wcodec_status wcodec_vectors_store_add(wcodec_context *context, const char *path,
                                       const wcodec_vectors *vectors,
                                       const wcodec_vector_rows *rows,
                                       const wcodec_vectors_compress_options *options,
                                       uint64_t *first_id, wcodec_vectors_report *report,
                                       wcodec_error *err)
{
    struct change change;
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
        begin(&change, context, path, vectors != NULL ? rows->dimensions : 0, err);
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
    end(&change);
    return status;
}

/* The segment that has an id; count: none. */
static size_t find_entry(const struct wcodec_manifest *m, uint64_t id)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->entries[middle].first_id + m->entries[middle].rows <= id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->count && m->entries[low].first_id <= id ? low : m->count;
}

static wcodec_status read_bits(const struct change *change, size_t i, uint8_t **bits,
                               wcodec_error *err)
{
    const struct wcodec_manifest_entry *entry = &change->manifest.entries[i];
    const uint64_t size = wcodec_div_up_u64(entry->rows, 8);
    if (entry->removed != 0)
        return wcodec_removed_read(change->context, change->folder, entry, bits, err);
    *bits = wcodec_alloc_array(&change->context->allocator, size, 1);
    if (*bits == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " vectors",
                           entry->rows);
    memset(*bits, 0, (size_t)size);
    return WCODEC_OK;
}

/* Set the bit of an id; bits: of each segment, NULL where none was set yet. */
static wcodec_status mark(struct change *change, uint8_t **bits, uint64_t id, wcodec_error *err)
{
    struct wcodec_manifest *m = &change->manifest;
    const size_t i = find_entry(m, id);
    wcodec_status status = WCODEC_OK;
    if (i < m->count && bits[i] == NULL)
        status = read_bits(change, i, &bits[i], err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t row = i < m->count ? id - m->entries[i].first_id : 0;
    const uint8_t bit = (uint8_t)(1u << row % 8);
    if (i == m->count || (bits[i][row / 8] & bit) != 0)
        return wcodec_fail(err, WCODEC_ERROR_NOT_FOUND, "%s: there is no vector of id %" PRIu64,
                           change->folder, id);
    bits[i][row / 8] |= bit;
    m->entries[i].removed++;
    return WCODEC_OK;
}

static wcodec_status remove_ids(struct change *change, uint8_t **bits, const uint64_t *ids,
                                uint64_t count, wcodec_error *err)
{
    struct wcodec_manifest *m = &change->manifest;
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; status == WCODEC_OK && i < count; i++)
        status = mark(change, bits, ids[i], err);
    for (size_t i = 0; status == WCODEC_OK && i < m->count; i++) {
        if (bits[i] == NULL)
            continue;
        m->entries[i].removed_file = m->next_file++;
        status = wcodec_removed_write(change->context, change->folder, m->entries[i].removed_file,
                                      bits[i], m->entries[i].rows, err);
    }
    return status == WCODEC_OK ? wcodec_manifest_write(change->context, change->folder, m, err)
                               : status;
}

wcodec_status wcodec_vectors_store_remove(wcodec_context *context, const char *path,
                                          const uint64_t *ids, uint64_t count, wcodec_error *err)
{
    struct change change;
    uint8_t **bits = NULL;
    if (context == NULL)
        return wcodec_context_usable(context, err);
    wcodec_status status = begin(&change, context, path, 0, err);
    if (status == WCODEC_OK) {
        bits = wcodec_alloc_array(&context->allocator, change.manifest.count, sizeof *bits);
        if (bits == NULL)
            status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", path);
    }
    for (size_t i = 0; bits != NULL && i < change.manifest.count; i++)
        bits[i] = NULL;
    if (status == WCODEC_OK)
        status = remove_ids(&change, bits, ids, count, err);
    for (size_t i = 0; bits != NULL && i < change.manifest.count; i++)
        wcodec_free(&context->allocator, bits[i]);
    wcodec_free(&context->allocator, bits);
    end(&change);
    return status;
}
