/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Looking for the bases of deltas in folders, by what files hold. */

#include "core/error.h"
#include "core/memory.h"
#include "read/bases.h"

#include <string.h>

struct search {
    wcodec_bases *bases;
    const struct wcodec_reader *reader; /* NULL: by what the bases need */
    bool coded_only;                    /* .wcodec files */
    char *last;                         /* the folder that was looked through */
    /* Numbers of the bases that are reached, by the files whose deltas need them, each once; the
     * bases of those from `next` on are to be found. */
    uint64_t *reached;
    uint64_t count, next;
    uint8_t *seen; /* a byte for each of the bases; of `room` */
    uint64_t room;
    struct wcodec_base_file *left; /* in whose places others are: their indices are gone through */
};

/* Room for one base more than there are. */
static wcodec_status make_room(struct search *s, wcodec_error *err)
{
    const wcodec_allocator *allocator = &s->bases->context->allocator;
    if (s->bases->count < s->room)
        return WCODEC_OK;
    const uint64_t room = s->bases->count + s->bases->count / 2 + 16;
    uint64_t *reached = wcodec_realloc_array(allocator, s->reached, room, sizeof *reached);
    if (reached != NULL)
        s->reached = reached;
    uint8_t *seen =
        reached != NULL ? wcodec_realloc_array(allocator, s->seen, room, sizeof *seen) : NULL;
    if (seen == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for bases");
    memset(seen + s->room, 0, (size_t)(room - s->room));
    s->seen = seen;
    s->room = room;
    return WCODEC_OK;
}

/* Files that cannot be read are none that is looked for. by: the index that needs it. */
static wcodec_status add(struct search *s, struct wcodec_listed *listed,
                         const struct wcodec_index *by, const struct wcodec_delta *d,
                         wcodec_error *err)
{
    wcodec_bases *b = s->bases;
    struct wcodec_base_file *f = wcodec_alloc_zeroed(&b->context->allocator, sizeof *f);
    wcodec_status status = f != NULL
                               ? wcodec_base_open(b, listed->path, by, f, err)
                               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a base");
    listed->useless = status == WCODEC_ERROR_CORRUPT;
    if (status == WCODEC_OK && !listed->coded) {
        listed->hashed = true;
        memcpy(listed->hash, f->hash, sizeof listed->hash);
    }
    if (status != WCODEC_OK || f->size != d->base_size || memcmp(f->hash, d->base, 16) != 0) {
        wcodec_base_close(b->context, f);
        return status == WCODEC_ERROR_MEMORY ? status : WCODEC_OK;
    }
    status = wcodec_base_keep(b, f, true, &f, err);
    if (f != NULL) {
        f->next = s->left;
        s->left = f;
    }
    return status;
}

/* Among files that are not compressed, which are read for their hashes. end: only those whose names
 * come before it; NULL: all. */
static wcodec_status add_original(struct search *s, const struct wcodec_index *by,
                                  const struct wcodec_delta *d, const char *end, wcodec_error *err)
{
    uint64_t count;
    struct wcodec_listed *files =
        wcodec_base_folder_others(&s->bases->folder, d->base_size, &count);
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        if (wcodec_bases_by_hash(s->bases, d->base) != NULL ||
            (end != NULL && strcmp(files[i].path, end) > 0))
            break;
        if (files[i].useless)
            continue;
        if (!files[i].hashed || memcmp(files[i].hash, d->base, 16) == 0)
            status = add(s, &files[i], by, d, err);
    }
    return status;
}

/* The first by name that is no delta itself. One that is is taken only where there is no other, and
 * exchanged for another .wcodec file of the same original. */
static wcodec_status find_base(struct search *s, const struct wcodec_index *by,
                               const struct wcodec_delta *d, wcodec_error *err)
{
    const struct wcodec_base_file *known = wcodec_bases_by_hash(s->bases, d->base);
    struct wcodec_listed *coded =
        wcodec_base_folder_coded(&s->bases->folder, d->base, d->base_size);
    const bool alone = coded != NULL && !coded->has_deltas;
    wcodec_status status = WCODEC_OK;
    if (known != NULL)
        return known->has_deltas && alone ? add(s, coded, NULL, d, err) : WCODEC_OK;
    if (!s->coded_only)
        status = add_original(s, by, d, alone ? coded->path : NULL, err);
    if (status == WCODEC_OK && coded != NULL && wcodec_bases_by_hash(s->bases, d->base) == NULL)
        status = add(s, coded, NULL, d, err);
    return status;
}

/* The base is one that another file needs. */
static wcodec_status reach(struct search *s, const uint8_t hash[16], wcodec_error *err)
{
    const wcodec_bases *b = s->bases;
    uint64_t i;
    const wcodec_status status = make_room(s, err);
    if (status == WCODEC_OK && wcodec_bases_find_hash(b, hash, &i, NULL) && s->seen[i] == 0 &&
        b->files[i]->layout == NULL) {
        s->seen[i] = 1;
        s->reached[s->count++] = i;
    }
    return status;
}

static wcodec_status find_all(struct search *s, const struct wcodec_index *index, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    const struct wcodec_delta *last = NULL;
    for (uint64_t i = 0; i < index->entry_count && status == WCODEC_OK; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        if (e->newer || e->coding != WCODEC_CODING_DELTA)
            continue;
        const struct wcodec_delta *d = &e->u.delta->head;
        if (last != NULL && last->base_size == d->base_size && memcmp(last->base, d->base, 16) == 0)
            continue;
        last = d;
        status = find_base(s, index, d, err);
        if (status == WCODEC_OK)
            status = reach(s, d->base, err);
    }
    return status;
}

/* What those need that are asked for: round 0. */
static wcodec_status find_first(struct search *s, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    const struct wcodec_reader *reader = s->reader;
    const uint64_t count = s->bases->count;
    for (uint64_t i = 0; reader != NULL && i < reader->shard_count && status == WCODEC_OK; i++)
        status = find_all(s, reader->shards[i].index, err);
    for (uint64_t i = 0; reader == NULL && i < count && status == WCODEC_OK; i++)
        if (s->bases->files[i]->layout == NULL)
            status = find_all(s, s->bases->files[i]->shard.index, err);
    return status;
}

/* Rounds: in each one the bases of what was found in the one before, until that is deeper than may
 * be. */
static wcodec_status find_in(struct search *s, const char *folder, wcodec_error *err)
{
    wcodec_status status = wcodec_base_folder_read(s->bases, folder, err);
    s->count = s->next = 0;
    if (s->room != 0)
        memset(s->seen, 0, (size_t)s->room);
    if (status == WCODEC_OK)
        status = find_first(s, err);
    for (unsigned i = 0; i < s->bases->depth && s->next < s->count; i++)
        for (const uint64_t end = s->count; s->next < end && status == WCODEC_OK; s->next++)
            status = find_all(s, s->bases->files[s->reached[s->next]]->shard.index, err);
    return status;
}

static bool index_misses(const struct wcodec_bases *b, const struct wcodec_index *index)
{
    unsigned depth;
    for (uint64_t i = 0; i < index->entry_count; i++)
        if (wcodec_bases_follow(b, &index->entries[i], &depth, NULL) == WCODEC_ERROR_NOT_FOUND)
            return true;
    return false;
}

/* Is a base missing in the chain of a file's tensors? */
static bool is_any_missing(const struct wcodec_bases *b, const struct wcodec_reader *reader)
{
    for (uint64_t s = 0; reader != NULL && s < reader->shard_count; s++)
        if (index_misses(b, reader->shards[s].index))
            return true;
    for (uint64_t i = 0; reader == NULL && i < b->count; i++)
        if (b->files[i]->layout == NULL && index_misses(b, b->files[i]->shard.index))
            return true;
    return false;
}

/* In the folder of a file; NULL: it has none. Not again where the file before was there, too. */
static wcodec_status find_beside(struct search *s, const char *path, wcodec_error *err)
{
    const wcodec_allocator *allocator = &s->bases->context->allocator;
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (path == NULL)
        return WCODEC_OK;
    const size_t size = slash != NULL ? (size_t)(slash - path) + (slash == path) : 1;
    char *folder = wcodec_alloc_zeroed(allocator, size + 1);
    if (folder == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a path");
    memcpy(folder, slash != NULL ? path : ".", size);
    if (s->last != NULL && strcmp(s->last, folder) == 0) {
        wcodec_free(allocator, folder);
        return WCODEC_OK;
    }
    wcodec_free(allocator, s->last);
    s->last = folder;
    return find_in(s, folder, err);
}

static wcodec_status find(struct search *s, const char *folder, wcodec_error *err)
{
    const struct wcodec_reader *reader = s->reader;
    if (s->bases == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_bases_find: an argument is NULL");
    const wcodec_allocator *allocator = &s->bases->context->allocator;
    wcodec_status status = wcodec_context_usable(s->bases->context, err);
    if (status != WCODEC_OK || !is_any_missing(s->bases, reader))
        return status;
    if (folder != NULL)
        status = find_in(s, folder, err);
    for (uint64_t i = 0; folder == NULL && reader != NULL && i < reader->shard_count; i++)
        if (status == WCODEC_OK && reader->shards[i].remote == NULL)
            status = find_beside(s, reader->shards[i].path, err);
    for (uint64_t i = 0; folder == NULL && reader == NULL && i < s->bases->count; i++)
        if (status == WCODEC_OK)
            status = find_beside(s, s->bases->files[i]->path, err);
    while (s->left != NULL) {
        struct wcodec_base_file *f = s->left;
        s->left = f->next;
        wcodec_base_close(s->bases->context, f);
    }
    wcodec_free(allocator, s->last);
    wcodec_free(allocator, s->reached);
    wcodec_free(allocator, s->seen);
    return status;
}

wcodec_status wcodec_bases_find(wcodec_bases *bases, const wcodec_reader *reader,
                                const char *folder, wcodec_error *err)
{
    struct search search = {.bases = bases, .reader = reader};
    return find(&search, folder, err);
}

wcodec_status wcodec_bases_find_coded(wcodec_bases *bases, const wcodec_reader *reader,
                                      const char *folder, wcodec_error *err)
{
    struct search search = {.bases = bases, .reader = reader, .coded_only = true};
    return find(&search, folder, err);
}
