/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "read/bases.h"
#include "core/error.h"
#include "core/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void hex(const uint8_t hash[16], char text[33])
{
    for (unsigned i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

bool wcodec_bases_find_hash(const struct wcodec_bases *bases, const uint8_t hash[16], uint64_t *i,
                            uint64_t *place)
{
    uint64_t begin = 0, end = bases->count;
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        const int order = memcmp(bases->files[bases->order[middle]]->hash, hash, 16);
        if (order == 0) {
            *i = bases->order[middle];
            return true;
        }
        if (order < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    if (place != NULL)
        *place = begin;
    return false;
}

const struct wcodec_base_file *wcodec_bases_by_hash(const struct wcodec_bases *bases,
                                                    const uint8_t hash[16])
{
    uint64_t i;
    return wcodec_bases_find_hash(bases, hash, &i, NULL) ? bases->files[i] : NULL;
}

bool wcodec_base_find_tensor(const struct wcodec_base_file *file, const char *name,
                             struct wcodec_base_tensor *tensor)
{
    uint64_t i;
    *tensor = (struct wcodec_base_tensor){.file = file};
    if (file->layout != NULL) {
        if (!wcodec_names_find(&file->names, name, &i))
            return false;
        const struct wcodec_layout_tensor *t = &file->layout->tensors[i];
        tensor->offset = t->offset;
        tensor->size = t->size;
        tensor->dtype = t->dtype;
        tensor->rank = t->rank;
        tensor->shape = t->shape;
        return true;
    }
    const struct wcodec_index *index = file->shard.index;
    if (!wcodec_names_find(&index->names, name, &i))
        return false;
    const struct wcodec_entry *e = &index->entries[index->tensors[i]];
    tensor->entry = wcodec_entry_own(index, e);
    tensor->size = e->size;
    tensor->dtype = e->dtype;
    tensor->rank = e->rank;
    tensor->shape = e->shape;
    return true;
}

/* The hash of what was asked for, and of what was given in its place. */
static wcodec_status not_found(const struct wcodec_bases *bases, const struct wcodec_delta *d,
                               wcodec_error *err)
{
    char wanted[33], given[33];
    const struct wcodec_base_file *only = NULL;
    unsigned count = 0;
    hex(d->base, wanted);
    for (uint64_t i = 0; bases != NULL && i < bases->count; i++)
        if (!bases->files[i]->found) {
            only = bases->files[i];
            count++;
        }
    if (count == 0)
        return wcodec_fail(err, WCODEC_ERROR_NOT_FOUND,
                           "a delta of a file of %" PRIu64
                           " bytes with hash %s: give that file, or a .wcodec file of it, as base",
                           d->base_size, wanted);
    hex(only->hash, given);
    return count == 1 ? wcodec_fail(err, WCODEC_ERROR_NOT_FOUND,
                                    "a delta of a file of %" PRIu64
                                    " bytes with hash %s; the base %s has hash %s",
                                    d->base_size, wanted, only->path, given)
                      : wcodec_fail(err, WCODEC_ERROR_NOT_FOUND,
                                    "a delta of a file of %" PRIu64
                                    " bytes with hash %s; none of the %u bases has it, %s has %s",
                                    d->base_size, wanted, count, only->path, given);
}

wcodec_status wcodec_bases_resolve(const struct wcodec_bases *bases, const struct wcodec_entry *e,
                                   struct wcodec_base_tensor *tensor, wcodec_error *err)
{
    const struct wcodec_delta *d = &e->u.delta->head;
    const struct wcodec_base_file *file =
        bases != NULL ? wcodec_bases_by_hash(bases, d->base) : NULL;
    if (file == NULL)
        return not_found(bases, d, err);
    if (file->size != d->base_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a delta of a file of %" PRIu64
                           " bytes, but %s with its hash has %" PRIu64,
                           d->base_size, file->path, file->size);
    if (!wcodec_base_find_tensor(file, e->name, tensor))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a delta, but its base %s has no such tensor",
                           file->path);
    if (tensor->size != e->size || tensor->dtype != e->dtype)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a delta, but in its base %s the tensor has another dtype or size",
                           file->path);
    return WCODEC_OK;
}

wcodec_status wcodec_bases_follow(const struct wcodec_bases *bases, const struct wcodec_entry *e,
                                  unsigned *depth, wcodec_error *err)
{
    const struct wcodec_base_file *seen[WCODEC_BASES_DEPTH_MAX];
    struct wcodec_base_tensor tensor;
    unsigned count = 0;
    while (e != NULL && !e->newer && e->coding == WCODEC_CODING_DELTA) {
        wcodec_status status = wcodec_bases_resolve(bases, e, &tensor, err);
        if (status != WCODEC_OK && count > 0)
            wcodec_error_prefix(err, "base %s", seen[count - 1]->path);
        if (status != WCODEC_OK)
            return status;
        for (unsigned i = 0; i < count; i++)
            if (seen[i] == tensor.file)
                return wcodec_fail(
                    err, WCODEC_ERROR_CORRUPT,
                    "a delta whose bases go round in a circle: %s is among them twice",
                    tensor.file->path);
        if (count == bases->depth)
            return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                               "a chain of more than %u deltas, which is the limit of depth",
                               bases->depth);
        seen[count++] = tensor.file;
        e = tensor.entry;
    }
    if (e != NULL && e->newer && count > 0)
        return wcodec_entry_refuse(e, err);
    *depth = count;
    return WCODEC_OK;
}

/* Is all there that an entry of the shard needs? */
static wcodec_status check_chain(const struct wcodec_bases *bases, const struct wcodec_shard *shard,
                                 const struct wcodec_entry *entry, wcodec_error *err)
{
    unsigned depth;
    const wcodec_status status =
        wcodec_bases_follow(bases, wcodec_shard_resolve(shard, entry), &depth, err);
    if (status != WCODEC_OK)
        wcodec_shard_prefix(shard, entry, err);
    return status;
}

static void set_bases(struct wcodec_reader *reader, const wcodec_bases *bases)
{
    for (uint64_t s = 0; s < reader->shard_count; s++)
        reader->shards[s].bases = bases;
}

wcodec_status wcodec_reader_set_bases(wcodec_reader *reader, const wcodec_bases *bases,
                                      wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (reader == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_reader_set_bases: an argument is NULL");
    for (uint64_t s = 0; bases != NULL && s < reader->shard_count; s++) {
        const struct wcodec_shard *shard = &reader->shards[s];
        for (uint64_t i = 0; i < shard->index->entry_count && status == WCODEC_OK; i++)
            status = check_chain(bases, shard, &shard->index->entries[i], err);
    }
    if (status == WCODEC_OK)
        set_bases(reader, bases);
    return status;
}

wcodec_status wcodec_reader_set_bases_for(wcodec_reader *reader, const wcodec_bases *bases,
                                          const uint64_t *tensors, uint64_t count,
                                          wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (reader == NULL || (tensors == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_reader_set_bases_for: an argument is NULL");
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        const struct wcodec_shard *shard;
        status = wcodec_check_number(tensors[i], reader->tensor_count, "tensor", err);
        if (status != WCODEC_OK)
            break;
        const struct wcodec_entry *entry =
            wcodec_reader_entry_of_tensor(reader, tensors[i], &shard);
        if (bases != NULL)
            status = check_chain(bases, shard, entry, err);
    }
    if (status == WCODEC_OK)
        set_bases(reader, bases);
    return status;
}

wcodec_status wcodec_reader_delta(const wcodec_reader *reader, uint64_t i, wcodec_delta_info *info,
                                  wcodec_error *err)
{
    const struct wcodec_shard *shard;
    wcodec_status status = wcodec_check_number(i, reader->tensor_count, "tensor", err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_entry *e = wcodec_shard_resolve(
        wcodec_reader_shard_of_tensor(reader, i), wcodec_reader_entry_of_tensor(reader, i, &shard));
    *info = (wcodec_delta_info){0};
    if (e->newer || e->coding != WCODEC_CODING_DELTA)
        return WCODEC_OK;
    const struct wcodec_delta *d = &e->u.delta->head;
    info->delta = 1;
    if (shard->bases == NULL ||
        wcodec_bases_follow(shard->bases, e, &info->depth, NULL) != WCODEC_OK)
        info->depth = 1;
    memcpy(info->xxh128, d->base, sizeof info->xxh128);
    info->base_size = d->base_size;
    info->equal = d->counts[WCODEC_DELTA_EQUAL];
    info->sparse = d->counts[WCODEC_DELTA_SPARSE];
    info->alone = d->counts[WCODEC_DELTA_ALONE];
    info->difference = d->counts[WCODEC_DELTA_DIFFERENCE];
    info->exclusive_or = d->counts[WCODEC_DELTA_XOR];
    return WCODEC_OK;
}

bool wcodec_base_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Is it opened for each tensor? */
static bool is_reopened(const struct wcodec_base_file *file)
{
    return file->source.read == NULL && file->source.fd < 0;
}

static wcodec_status check_same(const struct wcodec_base_file *file, int fd, wcodec_error *err)
{
    struct stat now;
    return fstat(fd, &now) == 0 && wcodec_base_is_same(&now, &file->identity)
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_IO, "the base %s was changed since it was opened",
                             file->path);
}

/* A file that is not compressed, if it is what it was when it was hashed. */
static wcodec_status open_original(const struct wcodec_base_file *file,
                                   struct wcodec_source *source, wcodec_error *err)
{
    if (file->source.read != NULL) /* it is no file, but somebody's tensors */
        return WCODEC_OK;
    if (is_reopened(file))
        source->fd = wcodec_open_for_reading(file->path);
    if (source->fd < 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "the base %s: %s", file->path, strerror(errno));
    const wcodec_status status = check_same(file, source->fd, err);
    if (status != WCODEC_OK && is_reopened(file))
        close(source->fd);
    return status;
}

wcodec_status wcodec_base_reader_open(const struct wcodec_decoder_input *like,
                                      const struct wcodec_base_tensor *tensor,
                                      struct wcodec_base_reader *reader, wcodec_error *err)
{
    const struct wcodec_base_file *file = tensor->file;
    *reader = (struct wcodec_base_reader){.tensor = *tensor, .source = file->source};
    if (tensor->entry == NULL)
        return open_original(file, &reader->source, err);
    wcodec_status status = wcodec_shard_acquire(&file->shard, &reader->source, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_decoder_input input = {.context = like->context,
                                               .source = &reader->source,
                                               .entry = tensor->entry,
                                               .bases = like->bases,
                                               .depth = like->depth + 1,
                                               .held = like->held,
                                               .verify = like->verify,
                                               .on_cpu = like->on_cpu,
                                               .whole = like->whole};
    status = wcodec_decoder_open(&input, &reader->decoder, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "base %s", file->path);
        wcodec_shard_release(&file->shard, &reader->source);
    }
    return status;
}

wcodec_status wcodec_base_reader_range(struct wcodec_base_reader *r, uint64_t begin, uint64_t end,
                                       uint8_t *dst, wcodec_error *err)
{
    struct wcodec_reporter silent = {0};
    if (r->tensor.entry == NULL)
        return wcodec_source_read(&r->source, r->tensor.offset + begin, dst, (size_t)(end - begin),
                                  err);
    const wcodec_status status = wcodec_decoder_range(&r->decoder, begin, end, dst, &silent, err);
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "base %s", r->tensor.file->path);
    return status;
}

wcodec_status wcodec_base_reader_unchanged(const struct wcodec_base_reader *r, wcodec_error *err)
{
    const struct wcodec_base_file *file = r->tensor.file;
    return r->tensor.entry != NULL || file->source.read != NULL
               ? WCODEC_OK
               : check_same(file, r->source.fd, err);
}

void wcodec_base_reader_close(struct wcodec_base_reader *r)
{
    if (r->tensor.entry == NULL) {
        if (is_reopened(r->tensor.file))
            close(r->source.fd);
        return;
    }
    wcodec_decoder_close(&r->decoder);
    wcodec_shard_release(&r->tensor.file->shard, &r->source);
}
