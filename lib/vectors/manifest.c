/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/manifest.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    HASH_SIZE = 8, /* of a bitmap's bytes, after them */
    LINE = 192,    /* bytes of a line are fewer */
    TEXT_MAX = 1 << 28,
    DIMENSIONS_MAX = 1 << 16, /* of a segment */
    CHECK_SIZE = 23           /* "check ", 16 digits, a new line */
};

static const char head[] = "wcodec-vectors 1\n";

char *wcodec_store_path(const wcodec_allocator *allocator, const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = wcodec_alloc(allocator, size);
    if (path != NULL)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

void wcodec_store_segment_name(uint64_t file, char name[WCODEC_STORE_NAME_SIZE])
{
    snprintf(name, WCODEC_STORE_NAME_SIZE, "%016" PRIx64 ".wcodec", file);
}

void wcodec_store_removed_name(uint64_t file, char name[WCODEC_STORE_NAME_SIZE])
{
    snprintf(name, WCODEC_STORE_NAME_SIZE, "%016" PRIx64 ".removed", file);
}

/* A whole file, and a zero after it. found: what is known of it; NULL: that is not wanted. */
static wcodec_status read_file(wcodec_context *context, const char *path, uint64_t most,
                               uint8_t **data, size_t *size, struct stat *found, wcodec_error *err)
{
    struct stat st;
    size_t done = 0;
    int error = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return wcodec_fail(err, errno == ENOENT ? WCODEC_ERROR_NOT_FOUND : WCODEC_ERROR_IO,
                           "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > most) {
        close(fd);
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%s: no regular file of at most %" PRIu64 " bytes", path, most);
    }
    uint8_t *bytes = wcodec_alloc(&context->allocator, (size_t)st.st_size + 1);
    while (bytes != NULL && done < (size_t)st.st_size) {
        const ssize_t some = read(fd, bytes + done, wcodec_call_bytes((size_t)st.st_size - done));
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0) {
            error = some < 0 ? errno : 0;
            break;
        }
        done += (size_t)some;
    }
    close(fd);
    if (error != 0) {
        wcodec_free(&context->allocator, bytes);
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: %s", path, strerror(error));
    }
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", path);
    bytes[done] = 0;
    if (found != NULL)
        *found = st;
    *data = bytes;
    *size = done;
    return WCODEC_OK;
}

struct wcodec_safefile_attributes wcodec_store_attributes(const struct wcodec_manifest *manifest)
{
    return (struct wcodec_safefile_attributes){.mode = 0666 & ~manifest->closed,
                                               .apply_umask = true,
                                               .set_owner = manifest->has_owner,
                                               .uid = manifest->uid,
                                               .gid = manifest->gid,
                                               .replace = true};
}

static wcodec_status write_file(wcodec_context *context, const char *path,
                                const struct wcodec_manifest *manifest, const void *data,
                                size_t size, const void *more, size_t more_size, wcodec_error *err)
{
    const struct wcodec_safefile_attributes attributes = wcodec_store_attributes(manifest);
    struct wcodec_safefile file;
    wcodec_status status = wcodec_safefile_open(&context->allocator, path, &file, err);
    if (status == WCODEC_OK) {
        int error = wcodec_safefile_write(&file, data, size);
        if (error == 0)
            error = wcodec_safefile_write(&file, more, more_size);
        status = error == 0 ? wcodec_safefile_commit(&file, &attributes, err)
                            : wcodec_fail(err, WCODEC_ERROR_IO, "%s: cannot write: %s", path,
                                          strerror(error));
    }
    wcodec_safefile_close(&file);
    return status;
}

/* Take what begins with `word`, and then a number, of decimal digits without a zero in front. */
static bool take_number(const char **text, const char *word, uint64_t *number)
{
    const size_t length = strlen(word);
    const char *at = *text + length;
    *number = 0;
    if (strncmp(*text, word, length) != 0 || *at < '0' || *at > '9' ||
        (at[0] == '0' && at[1] >= '0' && at[1] <= '9'))
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (*number > (UINT64_MAX - digit) / 10)
            return false;
        *number = 10 * *number + digit;
    }
    *text = at;
    return true;
}

static bool take_end(const char **text)
{
    if (**text != '\n')
        return false;
    ++*text;
    return true;
}

static bool take_entry(const char **text, struct wcodec_manifest_entry *entry)
{
    return take_number(text, "segment ", &entry->file) &&
           take_number(text, " first ", &entry->first_id) &&
           take_number(text, " last ", &entry->last_id) &&
           take_number(text, " rows ", &entry->rows) &&
           take_number(text, " removed ", &entry->removed) &&
           take_number(text, " by ", &entry->removed_file) && take_end(text);
}

/* Ids that rise and are used, files that were given out. */
static bool fits(const struct wcodec_manifest *m, const struct wcodec_manifest_entry *entry)
{
    const uint64_t least = m->count != 0 ? m->entries[m->count - 1].last_id + 1 : 0;
    return entry->rows != 0 && entry->rows < UINT32_MAX && entry->first_id >= least &&
           entry->last_id >= entry->first_id && entry->last_id < m->next_id &&
           entry->rows - 1 <= entry->last_id - entry->first_id && entry->removed <= entry->rows &&
           entry->file < m->next_file && entry->removed_file < m->next_file;
}

static wcodec_status check_text(const char *text, size_t size, wcodec_error *err)
{
    char check[CHECK_SIZE + 1];
    if (size < sizeof head - 1 + CHECK_SIZE || memcmp(text, "wcodec-vectors ", 15) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "no manifest of a store of vectors");
    snprintf(check, sizeof check, "check %016" PRIx64 "\n",
             (uint64_t)XXH3_64bits(text, size - CHECK_SIZE));
    if (memcmp(text + size - CHECK_SIZE, check, CHECK_SIZE) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the manifest's check differs");
    if (memcmp(text, head, sizeof head - 1) != 0)
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "a manifest of another version than 1");
    return WCODEC_OK;
}

wcodec_status wcodec_manifest_grow(const wcodec_allocator *allocator,
                                   struct wcodec_manifest *manifest, wcodec_error *err)
{
    struct wcodec_manifest_entry *entries = wcodec_realloc_array(
        allocator, manifest->entries, (uint64_t)manifest->count + 1, sizeof *entries);
    if (entries == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu segments",
                           manifest->count + 1);
    manifest->entries = entries;
    return WCODEC_OK;
}

wcodec_status wcodec_manifest_missing(wcodec_status status, const char *folder, uint64_t file,
                                      wcodec_error *err)
{
    if (status != WCODEC_ERROR_NOT_FOUND && status != WCODEC_ERROR_USAGE)
        return status;
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                       "%s: a file that the manifest names is not there, or none of its kind: "
                       "number %" PRIu64,
                       folder, file);
}

void wcodec_manifest_free(const wcodec_allocator *allocator, struct wcodec_manifest *manifest)
{
    wcodec_free(allocator, manifest->entries);
    manifest->entries = NULL;
}

wcodec_status wcodec_manifest_parse(const wcodec_allocator *allocator, const char *text,
                                    size_t size, struct wcodec_manifest *manifest,
                                    wcodec_error *err)
{
    struct wcodec_manifest m = {0};
    const char *at = text + sizeof head - 1, *end = text + size - CHECK_SIZE;
    wcodec_status status = check_text(text, size, err);
    if (status != WCODEC_OK)
        return status;
    bool good = take_number(&at, "dimensions ", &m.d) && take_end(&at) &&
                take_number(&at, "next ", &m.next_id) && take_end(&at) &&
                take_number(&at, "files ", &m.next_file) && take_end(&at) && m.d != 0 &&
                m.d <= DIMENSIONS_MAX && m.next_id <= WCODEC_STORE_IDS;
    while (status == WCODEC_OK && good && at < end) {
        struct wcodec_manifest_entry entry;
        good = take_entry(&at, &entry) && fits(&m, &entry);
        if (good)
            status = wcodec_manifest_grow(allocator, &m, err);
        if (good && status == WCODEC_OK)
            m.entries[m.count++] = entry;
    }
    if (status == WCODEC_OK && (!good || at != end))
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "the manifest is wrong at byte %zu, after %zu segments",
                             (size_t)(at - text), m.count);
    if (status == WCODEC_OK)
        *manifest = m;
    else
        wcodec_manifest_free(allocator, &m);
    return status;
}

wcodec_status wcodec_manifest_read(wcodec_context *context, const char *folder,
                                   struct wcodec_manifest *manifest, wcodec_error *err)
{
    char *path = wcodec_store_path(&context->allocator, folder, WCODEC_MANIFEST_NAME);
    uint8_t *text = NULL;
    size_t size;
    struct stat st;
    if (path == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", folder);
    wcodec_status status = read_file(context, path, TEXT_MAX, &text, &size, &st, err);
    if (status == WCODEC_ERROR_NOT_FOUND)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "%s: no store of vectors: it has no " WCODEC_MANIFEST_NAME, folder);
    if (status == WCODEC_OK) {
        status =
            wcodec_manifest_parse(&context->allocator, (const char *)text, size, manifest, err);
        if (status == WCODEC_OK) {
            manifest->has_owner = true;
            manifest->closed = ~st.st_mode & 077;
            manifest->uid = st.st_uid;
            manifest->gid = st.st_gid;
        } else
            wcodec_error_prefix(err, "%s", path);
    }
    wcodec_free(&context->allocator, text);
    wcodec_free(&context->allocator, path);
    return status;
}

static size_t print_manifest(const struct wcodec_manifest *m, char *text, size_t room)
{
    size_t at = (size_t)snprintf(text, room,
                                 "%sdimensions %" PRIu64 "\nnext %" PRIu64 "\nfiles %" PRIu64 "\n",
                                 head, m->d, m->next_id, m->next_file);
    for (size_t i = 0; i < m->count; i++) {
        const struct wcodec_manifest_entry *e = &m->entries[i];
        at += (size_t)snprintf(text + at, room - at,
                               "segment %" PRIu64 " first %" PRIu64 " last %" PRIu64
                               " rows %" PRIu64 " removed %" PRIu64 " by %" PRIu64 "\n",
                               e->file, e->first_id, e->last_id, e->rows, e->removed,
                               e->removed_file);
    }
    return at;
}

wcodec_status wcodec_manifest_write(wcodec_context *context, const char *folder,
                                    const struct wcodec_manifest *manifest, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    const uint64_t room = ((uint64_t)manifest->count + 1) * LINE;
    char *path = wcodec_store_path(allocator, folder, WCODEC_MANIFEST_NAME);
    char *text = wcodec_alloc_array(allocator, room, 1), check[CHECK_SIZE + 1];
    wcodec_status status;
    if (path == NULL || text == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", folder);
    else {
        const size_t size = print_manifest(manifest, text, (size_t)room);
        snprintf(check, sizeof check, "check %016" PRIx64 "\n", (uint64_t)XXH3_64bits(text, size));
        status = write_file(context, path, manifest, text, size, check, CHECK_SIZE, err);
    }
    wcodec_free(allocator, path);
    wcodec_free(allocator, text);
    return status;
}

static bool counts(const uint8_t *bits, const struct wcodec_manifest_entry *entry)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < wcodec_align_u64(entry->rows, 8); i++) {
        const bool bit = (bits[i / 8] >> i % 8 & 1) != 0;
        count += bit;
        if (bit && i >= entry->rows)
            return false;
    }
    return count == entry->removed;
}

static char *removed_path(wcodec_context *context, const char *folder, uint64_t file,
                          wcodec_error *err)
{
    char name[WCODEC_STORE_NAME_SIZE];
    wcodec_store_removed_name(file, name);
    char *path = wcodec_store_path(&context->allocator, folder, name);
    if (path == NULL)
        wcodec_fail(err, WCODEC_ERROR_MEMORY, "%s: out of memory", folder);
    return path;
}

wcodec_status wcodec_removed_read(wcodec_context *context, const char *folder,
                                  const struct wcodec_manifest_entry *entry, uint8_t **bits,
                                  wcodec_error *err)
{
    const uint64_t wanted = wcodec_div_up_u64(entry->rows, 8);
    char *path = removed_path(context, folder, entry->removed_file, err);
    uint8_t *data = NULL;
    size_t size;
    if (path == NULL)
        return WCODEC_ERROR_MEMORY;
    wcodec_status status = read_file(context, path, wanted + HASH_SIZE, &data, &size, NULL, err);
    if (status == WCODEC_OK &&
        (size != wanted + HASH_SIZE ||
         wcodec_load_u64(data + wanted) != XXH3_64bits(data, (size_t)wanted) ||
         !counts(data, entry)))
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "%s: is not the bits of %" PRIu64 " of %" PRIu64 " vectors", path,
                             entry->removed, entry->rows);
    if (status == WCODEC_OK)
        *bits = data;
    else
        wcodec_free(&context->allocator, data);
    wcodec_free(&context->allocator, path);
    return status;
}

wcodec_status wcodec_removed_write(wcodec_context *context, const char *folder,
                                   const struct wcodec_manifest *manifest, uint64_t file,
                                   const uint8_t *bits, uint64_t rows, wcodec_error *err)
{
    const size_t size = (size_t)wcodec_div_up_u64(rows, 8);
    uint8_t hash[HASH_SIZE];
    char *path = removed_path(context, folder, file, err);
    if (path == NULL)
        return WCODEC_ERROR_MEMORY;
    wcodec_store_u64(hash, XXH3_64bits(bits, size));
    const wcodec_status status =
        write_file(context, path, manifest, bits, size, hash, sizeof hash, err);
    wcodec_free(&context->allocator, path);
    return status;
}
