/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What is decoded next. */

#include "read/restore.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>

void wcodec_restore_note(struct wcodec_restore *r, uint64_t at, wcodec_status status,
                         const wcodec_error *error)
{
    if (r->status == WCODEC_OK || at < r->failed_at) {
        r->status = status;
        r->failed_at = at;
        r->error = *error;
    }
    pthread_cond_broadcast(&r->advanced);
}

/* Small, and what its record says of its payload is not out of proportion. */
static bool is_small(const struct wcodec_entry *e)
{
    return e->size <= WCODEC_JOB_BYTES && e->payload_size <= WCODEC_JOB_CODED;
}

static bool is_in_tiles(const struct wcodec_restore *r, const struct wcodec_entry *e)
{
    const struct wcodec_entry *own = wcodec_shard_resolve(r->shard, e);
    return !own->newer && own->coding == WCODEC_CODING_TILES;
}

/* Small entries from the next one on, as many as a job takes. */
static bool plan_group(struct wcodec_restore *r, struct wcodec_restore_job *job)
{
    const struct wcodec_index *index = r->shard->index;
    uint64_t size = 0, begin = UINT64_MAX, position = r->position, n = r->entry, from = r->position;
    for (; n < r->end; n++) {
        const struct wcodec_entry *e = &index->entries[n];
        if (!is_small(e) || e->size > WCODEC_JOB_BYTES - size)
            break;
        if (e->payload_size > 0) {
            if (begin == UINT64_MAX) {
                begin = e->payload_offset;
                from = wcodec_gap_begin(e, r->position);
            }
            if (e->payload_offset + e->payload_size - begin > WCODEC_JOB_CODED && n > r->entry)
                break;
        }
        if (e->is_tensor && e->size > r->context->limits.max_tensor_bytes)
            break;
        position = wcodec_position_after(e, position);
        size += e->size;
    }
    if (n == r->entry)
        return false;
    *job = (struct wcodec_restore_job){
        .first = r->entry, .end = n, .position = from, .offset = r->offset, .size = size};
    r->entry = n;
    r->offset += size;
    r->position = position;
    return true;
}

static wcodec_status hold(struct wcodec_restore *r, uint64_t bytes, uint64_t *held,
                          wcodec_error *err)
{
    const uint64_t most = r->context->limits.max_memory;
    if (bytes > most || r->base + r->held > most - bytes)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "decoding takes at least %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           r->base + r->held + bytes, most);
    r->held += bytes;
    *held += bytes;
    return WCODEC_OK;
}

void wcodec_open_tensor_free(struct wcodec_restore *r, struct wcodec_open_tensor *t)
{
    wcodec_cpu_decoder_free(t->decoder);
    wcodec_tiles_free(t->tiles);
    wcodec_tree_free(&t->hash);
    r->held -= t->held;
    wcodec_free(&r->context->allocator, t);
}

/* Bytes between two areas of a payload: zero, and part of its hash. */
static wcodec_status check_area_gaps(struct wcodec_restore *r, struct wcodec_open_tensor *t,
                                     wcodec_error *err)
{
    const uint64_t begin = t->entry->payload_offset;
    uint64_t at = t->tiling.prefix_size;
    wcodec_status status = WCODEC_OK;
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; at = t->tiles->area_end[a++]) {
        const uint64_t size = t->tiles->area_begin[a] - at;
        uint8_t bytes[16] = {0};
        if (size == 0)
            continue;
        status = wcodec_source_read(r->source, begin + at, bytes, (size_t)size, err);
        for (uint64_t i = 0; i < size && status == WCODEC_OK; i++)
            if (bytes[i] != 0)
                status = wcodec_fail(
                    err, WCODEC_ERROR_CORRUPT,
                    "byte %" PRIu64 " of the payload is between two areas and not zero", at + i);
        if (status == WCODEC_OK && t->hash.leaves != NULL)
            status = wcodec_tree_put(&t->hash, at, bytes, size, err);
    }
    return status;
}

static wcodec_status read_prefix(struct wcodec_restore *r, struct wcodec_open_tensor *t,
                                 wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    const struct wcodec_entry *e = t->entry;
    const uint64_t size = t->tiling.prefix_size;
    uint8_t *loaded = NULL;
    const uint8_t *prefix = NULL;
    wcodec_status status = WCODEC_OK;
    if (r->source->fd < 0) {
        prefix = r->source->data + e->payload_offset;
    } else {
        prefix = loaded = wcodec_alloc_array(allocator, size, 1);
        status =
            loaded == NULL
                ? wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size)
                : wcodec_source_read(r->source, e->payload_offset, loaded, (size_t)size, err);
    }
    if (status == WCODEC_OK && t->hash.leaves != NULL)
        status = wcodec_tree_put(&t->hash, 0, prefix, size, err);
    if (status == WCODEC_OK)
        status = wcodec_tiles_read(&t->tiling, prefix, e->payload_size, allocator, &t->tiles, err);
    wcodec_free(allocator, loaded);
    return status;
}

static wcodec_status open_tensor(struct wcodec_restore *r, struct wcodec_open_tensor *t,
                                 wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    const bool own = t->named == t->entry;
    const uint64_t leaves = t->entry->payload_size / WCODEC_LEAF_BYTES + 1;
    wcodec_status status = WCODEC_OK;
    if (t->named->size > r->context->limits.max_tensor_bytes && t->named->is_tensor)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " bytes are more than the limit of %" PRIu64, t->named->size,
                           r->context->limits.max_tensor_bytes);
    if (own)
        status = wcodec_check_gap(r->source, wcodec_gap_begin(t->entry, r->position),
                                  t->entry->payload_offset, err);
    if (status == WCODEC_OK)
        status = hold(r, wcodec_tiles_memory(&t->tiling) + leaves * sizeof(struct wcodec_tree_leaf),
                      &t->held, err);
    if (status == WCODEC_OK && own && r->checks)
        status = wcodec_tree_init(&t->hash, allocator, r->leaf, leaves, err);
    if (status == WCODEC_OK)
        status = read_prefix(r, t, err);
    if (status == WCODEC_OK && r->checks)
        status = check_area_gaps(r, t, err);
    if (status == WCODEC_OK)
        status = wcodec_cpu_decoder_create(r->dsp, t->tiles, allocator, &t->decoder, err);
    return status;
}

/* Open the next entry, which is in tiles. False: noted. */
static bool begin_tensor(struct wcodec_restore *r)
{
    const struct wcodec_entry *e = &r->shard->index->entries[r->entry];
    struct wcodec_open_tensor *t = wcodec_alloc_zeroed(&r->context->allocator, sizeof *t);
    wcodec_error error = {0};
    wcodec_status status;
    if (t == NULL) {
        status = wcodec_fail(&error, WCODEC_ERROR_MEMORY, "out of memory for a tensor's tiles");
    } else {
        t->named = e;
        t->entry = wcodec_shard_resolve(r->shard, e);
        t->jobs = 1;
        wcodec_entry_tiling(t->entry, &t->tiling);
        status = open_tensor(r, t, &error);
    }
    if (status == WCODEC_OK) {
        r->tensor = t;
        r->entry++;
        r->position = wcodec_position_after(e, r->position);
        return true;
    }
    if (t != NULL)
        wcodec_open_tensor_free(r, t);
    wcodec_shard_prefix(r->shard, e, &error);
    wcodec_restore_note(r, r->offset, status, &error);
    return false;
}

static void end_tensor(struct wcodec_restore *r, struct wcodec_open_tensor *t, uint64_t at)
{
    const struct wcodec_entry *e = t->entry;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    if (--t->jobs != 0)
        return;
    if (t->hash.leaves != NULL && r->status == WCODEC_OK)
        status = wcodec_check_payload_hash(e, wcodec_tree_end(&t->hash, e->payload_size), &error);
    if (status != WCODEC_OK) {
        wcodec_shard_prefix(r->shard, t->named, &error);
        wcodec_restore_note(r, at, status, &error);
    }
    wcodec_open_tensor_free(r, t);
}

/* From a disk: with the areas of several jobs in turn, the system sees no sequence to read ahead
 * of. From its cache this would only cost. */
static void prefetch(struct wcodec_restore *r, struct wcodec_open_tensor *t, uint64_t count)
{
    const unsigned log2 = t->tiling.tile_log2 + t->tiling.element_log2;
    uint64_t end = t->next + (WCODEC_RESTORE_AHEAD >> log2) + 1;
    if (!atomic_load_explicit(&r->slow, memory_order_relaxed))
        return;
    end = end < t->tiling.tiles ? end : t->tiling.tiles;
    if (t->prefetched < t->next + count)
        t->prefetched = t->next + count;
    while (t->prefetched < end) {
        uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS];
        const uint64_t until = t->prefetched + count < end ? t->prefetched + count : end;
        wcodec_tiles_extent(t->tiles, t->prefetched, until, begin, stop);
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            if (stop[a] > begin[a])
                wcodec_source_prefetch(r->source, t->entry->payload_offset + begin[a],
                                       stop[a] - begin[a]);
        t->prefetched = until;
    }
}

static void plan_tiles(struct wcodec_restore *r, struct wcodec_restore_job *job)
{
    struct wcodec_open_tensor *t = r->tensor;
    const struct wcodec_tiling *tiling = &t->tiling;
    const unsigned log2 = tiling->tile_log2 + tiling->element_log2;
    uint64_t count = WCODEC_JOB_BYTES >> log2;
    count = count < 1 ? 1 : count < tiling->tiles - t->next ? count : tiling->tiles - t->next;
    const uint64_t begin = t->next << log2, end = t->next + count == tiling->tiles
                                                      ? tiling->size
                                                      : (t->next + count) << log2;
    *job = (struct wcodec_restore_job){.tensor = t,
                                       .first = t->next,
                                       .end = t->next + count,
                                       .offset = r->offset,
                                       .size = end - begin};
    prefetch(r, t, count);
    t->next += count;
    t->jobs++;
    r->offset += job->size;
    if (t->next == tiling->tiles) {
        r->tensor = NULL;
        end_tensor(r, t, r->offset);
    }
}

/* Headers of all entries below `end`. False: noted. */
static bool check_headers(struct wcodec_restore *r, uint64_t at, uint64_t end)
{
    wcodec_error error = {0};
    const wcodec_status status = wcodec_check_headers(r->context, &r->headers, end, &error);
    if (status != WCODEC_OK)
        wcodec_restore_note(r, at, status, &error);
    return status == WCODEC_OK;
}

bool wcodec_restore_next(struct wcodec_restore *r, struct wcodec_restore_job *job)
{
    const struct wcodec_index *index = r->shard->index;
    if (r->status != WCODEC_OK || r->dsp == NULL || r->offset >= r->stop ||
        (r->until_ns != 0 && wcodec_clock_ns() >= r->until_ns))
        return false;
    while (r->tensor == NULL) {
        if (r->entry == r->end || r->at_part)
            return false;
        const uint64_t offset = r->offset;
        if (plan_group(r, job))
            return check_headers(r, offset, job->end);
        const struct wcodec_entry *e = &index->entries[r->entry];
        if (!is_in_tiles(r, e)) {
            r->at_part = true;
            return false;
        }
        if (!check_headers(r, offset, r->entry + 1) || !begin_tensor(r))
            return false;
    }
    plan_tiles(r, job);
    return true;
}

void wcodec_restore_ended(struct wcodec_restore *r, struct wcodec_restore_job *job)
{
    if (job->tensor != NULL)
        end_tensor(r, job->tensor, job->offset);
    if (r->hashed)
        wcodec_tree_advance(&r->hash);
    pthread_cond_broadcast(&r->advanced);
}
