/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Making a set of bases, and what encoders take from it. */

#include "read/bases.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void wcodec_base_close(wcodec_context *context, struct wcodec_base_file *f)
{
    if (f == NULL)
        return;
    if (f->layout != NULL) {
        wcodec_names_free(&f->names);
        wcodec_layout_free(f->layout);
        if (f->source.fd >= 0)
            close(f->source.fd);
    } else if (f->shard.index != NULL) {
        wcodec_shard_close(context, &f->shard);
    }
    wcodec_free(&context->allocator, f->path);
    wcodec_free(&context->allocator, f);
}

/* The first tensor that an encoder may take: of a file that was given. */
static bool find_like(const struct wcodec_bases *b, const struct wcodec_entry *what,
                      struct wcodec_base_tensor *tensor)
{
    for (uint64_t i = 0; i < b->count; i++)
        if (!b->files[i]->found && wcodec_base_find_tensor(b->files[i], what->name, tensor) &&
            tensor->size == what->size && tensor->dtype == what->dtype &&
            tensor->rank == what->rank && (tensor->entry == NULL || !tensor->entry->newer) &&
            (what->rank == 0 ||
             memcmp(tensor->shape, what->shape, what->rank * sizeof *what->shape) == 0))
            return true;
    return false;
}

static bool has(const wcodec_bases *bases, const struct wcodec_entry *what)
{
    struct wcodec_base_tensor tensor;
    return find_like(bases, what, &tensor);
}

static wcodec_status fetch(const wcodec_bases *bases, const struct wcodec_entry *what, uint8_t *dst,
                           struct wcodec_delta_base *base, wcodec_error *err)
{
    struct wcodec_base_tensor tensor = {.file = NULL};
    struct wcodec_base_reader reader;
    unsigned depth = 0;
    (void)find_like(bases, what, &tensor);
    wcodec_status status = wcodec_bases_follow(bases, tensor.entry, &depth, err);
    if (status == WCODEC_OK && depth >= bases->depth)
        status =
            wcodec_fail(err, WCODEC_ERROR_LIMIT,
                        "its base is %u deltas deep, which is the limit: rebase it first", depth);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "the base %s", tensor.file->path);
        return status;
    }
    const struct wcodec_decoder_input like = {
        .context = bases->context, .bases = bases, .verify = true, .on_cpu = true, .whole = true};
    status = wcodec_base_reader_open(&like, &tensor, &reader, err);
    if (status == WCODEC_OK) {
        status = wcodec_base_reader_range(&reader, 0, what->size, dst, err);
        if (status == WCODEC_OK)
            status = wcodec_base_reader_unchanged(&reader, err);
        wcodec_base_reader_close(&reader);
    }
    if (status != WCODEC_OK)
        return status;
    memcpy(base->hash, tensor.file->hash, sizeof base->hash);
    base->size = tensor.file->size;
    base->bytes = dst;
    return status;
}

/* Files whose bases are looked at in turn, each once: a folder may have a long chain of them. */
struct reached {
    const wcodec_bases *bases;
    uint64_t *queue; /* numbers of files */
    uint64_t count;
    uint8_t *seen; /* a byte for each file */
};

/* Is the file of hash `from` that of `hash`? Else it is looked at later. */
static bool meet(struct reached *r, const uint8_t *from, const uint8_t *hash)
{
    const struct wcodec_bases *b = r->bases;
    uint64_t i;
    if (memcmp(from, hash, 16) == 0)
        return true;
    if (!wcodec_bases_find_hash(b, from, &i, NULL) || r->seen[i] || b->files[i]->layout != NULL)
        return false;
    r->seen[i] = 1;
    r->queue[r->count++] = i;
    return false;
}

static bool is_reached(struct reached *r, const uint8_t *base, const uint8_t *hash)
{
    bool found = meet(r, base, hash);
    for (uint64_t at = 0; at < r->count && !found; at++) {
        const struct wcodec_index *index = r->bases->files[r->queue[at]]->shard.index;
        for (uint64_t k = 0; k < index->entry_count && !found; k++) {
            const struct wcodec_entry *e = &index->entries[k];
            found = !e->newer && e->coding == WCODEC_CODING_DELTA &&
                    meet(r, e->u.delta->head.base, hash);
        }
    }
    return found;
}

static bool needs(const wcodec_bases *bases, const uint8_t base[16], const uint8_t hash[16])
{
    const wcodec_allocator *allocator = &bases->context->allocator;
    struct reached r = {.bases = bases,
                        .queue = wcodec_alloc_array(allocator, bases->count + 1, sizeof *r.queue),
                        .seen = wcodec_alloc_zeroed(allocator, (size_t)bases->count + 1)};
    const bool reached = r.queue != NULL && r.seen != NULL ? is_reached(&r, base, hash)
                                                           : memcmp(base, hash, 16) == 0;
    wcodec_free(allocator, r.queue);
    wcodec_free(allocator, r.seen);
    return reached;
}

wcodec_status wcodec_bases_create(wcodec_context *context, unsigned depth, wcodec_bases **bases,
                                  wcodec_error *err)
{
    if (context == NULL || bases == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_bases_create: an argument is NULL");
    if (depth > WCODEC_BASES_DEPTH_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "a depth of %u deltas, at most %d are possible",
                           depth, WCODEC_BASES_DEPTH_MAX);
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_bases *made = wcodec_alloc_zeroed(&context->allocator, sizeof *made);
    if (made == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for bases");
    made->fetch = (struct wcodec_base_fetch){has, fetch, needs, NULL};
    made->context = context;
    made->depth = depth != 0 ? depth : WCODEC_BASES_DEPTH;
    *bases = made;
    return WCODEC_OK;
}

void wcodec_bases_destroy(wcodec_bases *bases)
{
    if (bases == NULL)
        return;
    for (uint64_t i = 0; i < bases->count; i++)
        wcodec_base_close(bases->context, bases->files[i]);
    wcodec_free(&bases->context->allocator, bases->files);
    wcodec_free(&bases->context->allocator, bases->order);
    wcodec_free(&bases->context->allocator, bases->hashes);
    wcodec_base_folder_free(&bases->context->allocator, &bases->folder);
    wcodec_free(&bases->context->allocator, bases);
}

uint64_t wcodec_bases_count(const wcodec_bases *bases)
{
    return bases->count;
}

wcodec_status wcodec_bases_file(const wcodec_bases *bases, uint64_t i, const char **path,
                                uint8_t xxh128[16], wcodec_error *err)
{
    const wcodec_status status = wcodec_check_number(i, bases->count, "base", err);
    if (status != WCODEC_OK)
        return status;
    if (path != NULL)
        *path = bases->files[i]->path;
    if (xxh128 != NULL)
        memcpy(xxh128, bases->files[i]->hash, 16);
    return WCODEC_OK;
}

static bool is_wcodec(const struct wcodec_source *source)
{
    static const uint8_t magic[8] = {0x89, 'W', 'C', 'D', '\r', '\n', 0x1A, '\n'};
    uint8_t bytes[8];
    return source->size >= sizeof bytes &&
           wcodec_source_read(source, 0, bytes, sizeof bytes, NULL) == WCODEC_OK &&
           memcmp(bytes, magic, sizeof magic) == 0;
}

static wcodec_status name_tensors(wcodec_context *context, struct wcodec_base_file *f,
                                  wcodec_error *err)
{
    if (!wcodec_names_init(&f->names, &context->allocator, f->layout->count))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the names of tensors");
    for (uint64_t i = 0; i < f->layout->count; i++) {
        uint64_t number = i;
        (void)wcodec_names_add(&f->names, f->layout->tensors[i].name, &number);
    }
    return WCODEC_OK;
}

/* Is a file that is not compressed one that an entry of the index may be coded against? Its hash
 * is not known. */
static bool index_may_need(const struct wcodec_index *index, const struct wcodec_base_file *f)
{
    struct wcodec_base_tensor tensor;
    for (uint64_t i = 0; i < index->entry_count; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        if (!e->newer && e->coding == WCODEC_CODING_DELTA &&
            e->u.delta->head.base_size == f->source.size &&
            wcodec_base_find_tensor(f, e->name, &tensor) && tensor.size == e->size &&
            tensor.dtype == e->dtype)
            return true;
    }
    return false;
}

/* Of a file that was read before, as it was then. */
static wcodec_status hash_once(struct wcodec_bases *b, int fd, struct wcodec_base_file *f,
                               wcodec_error *err)
{
    for (uint64_t i = 0; i < b->hash_count; i++)
        if (wcodec_base_is_same(&b->hashes[i].identity, &f->identity)) {
            memcpy(f->hash, b->hashes[i].hash, sizeof f->hash);
            return WCODEC_OK;
        }
    wcodec_status status = wcodec_hash_fd(b->context, fd, NULL, f->hash, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_base_hash *hashes =
        wcodec_realloc_array(&b->context->allocator, b->hashes, b->hash_count + 1, sizeof *hashes);
    if (hashes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for bases");
    b->hashes = hashes;
    hashes[b->hash_count].identity = f->identity;
    memcpy(hashes[b->hash_count++].hash, f->hash, sizeof f->hash);
    return WCODEC_OK;
}

/* Files that are kept open; others are opened for each tensor that is read from them. */
static bool keeps_open(const struct wcodec_bases *b)
{
    return b->count < WCODEC_SHARDS_OPEN;
}

static bool has_deltas(const struct wcodec_index *index)
{
    for (uint64_t i = 0; i < index->entry_count; i++)
        if (index->entries[i].coding == WCODEC_CODING_DELTA)
            return true;
    return false;
}

/* A file of tensors that is not compressed. */
static wcodec_status open_original(struct wcodec_bases *b, int fd, const struct wcodec_index *by,
                                   struct wcodec_base_file *f, wcodec_error *err)
{
    wcodec_context *context = b->context;
    if (fstat(fd, &f->identity) != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot examine the file: %s", strerror(errno));
    wcodec_status status =
        wcodec_layout_read(&f->source, &context->allocator, NULL, &f->layout, err);
    if (status == WCODEC_OK)
        status = name_tensors(context, f, err);
    if (status == WCODEC_OK && by != NULL && !index_may_need(by, f))
        status = wcodec_fail(err, WCODEC_ERROR_NOT_FOUND, "it has no tensors like those");
    if (status == WCODEC_OK)
        status = hash_once(b, fd, f, err);
    f->size = f->source.size;
    return status;
}

wcodec_status wcodec_base_open(struct wcodec_bases *b, const char *path,
                               const struct wcodec_index *by, struct wcodec_base_file *f,
                               wcodec_error *err)
{
    wcodec_context *context = b->context;
    const int fd = wcodec_open_for_reading(path);
    if (fd < 0)
        return wcodec_fail(
            err, errno == ENOENT || errno == ENOTDIR ? WCODEC_ERROR_NOT_FOUND : WCODEC_ERROR_IO,
            "%s: %s", path, strerror(errno));
    f->path = wcodec_strdup(&context->allocator, path);
    wcodec_status status = f->path != NULL ? wcodec_source_fd(fd, &f->source, err)
                                           : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    if (status == WCODEC_OK && is_wcodec(&f->source)) {
        close(fd);
        status = wcodec_shard_open_path(context, path, keeps_open(b), false, &f->shard, err);
        if (status != WCODEC_OK)
            return status;
        memcpy(f->hash, f->shard.index->hash, sizeof f->hash);
        f->has_deltas = has_deltas(f->shard.index);
        f->size = f->shard.index->size;
        return f->shard.index->tensor_count != 0
                   ? WCODEC_OK
                   : wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s: it holds no tensors", path);
    }
    if (status == WCODEC_OK)
        status = open_original(b, fd, by, f, err);
    if (f->layout == NULL || (status == WCODEC_OK && !keeps_open(b))) {
        close(fd);
        f->source.fd = -1;
    }
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "%s", path);
    return status;
}

/* Of two that serve, one that needs no other itself. */
static void exchange(struct wcodec_base_file *same, struct wcodec_base_file *f, bool found)
{
    same->found = same->found && found;
    if (same->has_deltas && !f->has_deltas) {
        const struct wcodec_base_file other = *same;
        f->found = same->found;
        *same = *f;
        *f = other;
    }
}

wcodec_status wcodec_base_keep(struct wcodec_bases *b, struct wcodec_base_file *f, bool found,
                               struct wcodec_base_file **left, wcodec_error *err)
{
    const wcodec_allocator *allocator = &b->context->allocator;
    uint64_t i, place;
    *left = f;
    if (wcodec_bases_find_hash(b, f->hash, &i, &place)) {
        exchange(b->files[i], f, found);
        return WCODEC_OK;
    }
    struct wcodec_base_file **files =
        wcodec_realloc_array(allocator, b->files, b->count + 1, sizeof *files);
    if (files != NULL)
        b->files = files;
    uint64_t *order = files != NULL
                          ? wcodec_realloc_array(allocator, b->order, b->count + 1, sizeof *order)
                          : NULL;
    if (order == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for bases");
    b->order = order;
    memmove(order + place + 1, order + place, (size_t)(b->count - place) * sizeof *order);
    order[place] = b->count;
    f->found = found;
    b->files[b->count++] = f;
    *left = NULL;
    return WCODEC_OK;
}

static wcodec_status add_file(struct wcodec_bases *b, const char *path, wcodec_error *err)
{
    struct wcodec_base_file *f = wcodec_alloc_zeroed(&b->context->allocator, sizeof *f);
    if (f == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a base");
    struct wcodec_base_file *left = f;
    wcodec_status status = wcodec_base_open(b, path, NULL, f, err);
    if (status == WCODEC_OK)
        status = wcodec_base_keep(b, f, false, &left, err);
    wcodec_base_close(b->context, left);
    return status;
}

static wcodec_status add_if_weights(struct wcodec_bases *b, const char *path, uint64_t *count,
                                    wcodec_error *err)
{
    if (!wcodec_ends_with(path, ".wcodec") && !wcodec_ends_with(path, ".safetensors") &&
        !wcodec_ends_with(path, ".bin"))
        return WCODEC_OK;
    wcodec_error why = {0};
    const wcodec_status status = add_file(b, path, &why);
    if (status == WCODEC_OK)
        ++*count;
    else if (status == WCODEC_ERROR_CORRUPT && !wcodec_ends_with(path, ".wcodec"))
        wcodec_log(b->context, WCODEC_LOG_INFO, "%s: no base", why.text);
    else
        return wcodec_fail(err, status, "%s", why.text);
    return WCODEC_OK;
}

static wcodec_status add_folder(struct wcodec_bases *b, const char *path, wcodec_error *err)
{
    struct wcodec_listing list;
    uint64_t count = 0;
    wcodec_status status = wcodec_listing_read(&b->context->allocator, path, &list, err);
    for (uint64_t i = 0; i < list.count && status == WCODEC_OK; i++)
        status = add_if_weights(b, list.files[i].path, &count, err);
    wcodec_listing_free(&b->context->allocator, &list);
    return status == WCODEC_OK && count == 0
               ? wcodec_fail(err, WCODEC_ERROR_NOT_FOUND, "%s: holds no file of weights", path)
               : status;
}

wcodec_status wcodec_bases_add_path(wcodec_bases *bases, const char *path, wcodec_error *err)
{
    struct stat st;
    if (bases == NULL || path == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_bases_add_path: an argument is NULL");
    wcodec_status status = wcodec_context_usable(bases->context, err);
    if (status != WCODEC_OK)
        return status;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? add_folder(bases, path, err)
                                                       : add_file(bases, path, err);
}
