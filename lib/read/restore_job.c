/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One job: read, hash, decode, hash, write. */

#include "read/restore.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>
#include <string.h>

/* Faults that are kept at a time. */
enum { TILES_AT_ONCE = 32 };

/* At least `size` bytes in a buffer that is kept for the next job. */
static wcodec_status reserve(const struct wcodec_restore *r, uint8_t **buffer, uint64_t *have,
                             uint64_t size, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    if (size <= *have)
        return WCODEC_OK;
    wcodec_free(allocator, *buffer);
    *have = 0;
    *buffer = wcodec_alloc_array(allocator, size, 1);
    if (*buffer == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size);
    *have = size;
    return WCODEC_OK;
}

/* What a tensor's tiles [first, end) are decoded from, through the view. */
static wcodec_status load_areas(struct wcodec_restore *r, struct wcodec_restore_worker *w,
                                struct wcodec_open_tensor *t, uint64_t first, uint64_t end,
                                struct wcodec_view *view, wcodec_error *err)
{
    struct wcodec_area_place places[WCODEC_AREAS];
    const uint64_t begin = t->entry->payload_offset;
    const uint64_t size = wcodec_lay_out_areas(t->tiles, first, end - first, 0, places);
    const bool in_memory = r->source->fd < 0;
    const uint64_t start = in_memory ? 0 : wcodec_clock_ns();
    uint64_t read = 0;
    wcodec_status status =
        in_memory ? WCODEC_OK : reserve(r, &w->coded, &w->coded_size, size + 1, err);
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++) {
        const struct wcodec_area_place *p = &places[a];
        view->begin[a] = p->begin;
        view->data[a] = in_memory ? r->source->data + begin + p->begin : w->coded + p->offset;
        uint64_t time = wcodec_phase_begin(&r->phases);
        if (!in_memory && p->size != 0)
            status = wcodec_source_read(r->source, begin + p->begin, w->coded + p->offset,
                                        (size_t)p->size, err);
        time = wcodec_phase_end(&r->phases, WCODEC_PHASE_READ, time);
        if (status == WCODEC_OK && p->size != 0 && t->hash.leaves != NULL)
            status = wcodec_tree_put(&t->hash, p->begin, view->data[a], p->size, err);
        (void)wcodec_phase_end(&r->phases, WCODEC_PHASE_HASH, time);
        read += p->size;
    }
    if (read >= WCODEC_JOB_BYTES / 8 &&
        (wcodec_clock_ns() - start) / 1000 > read / WCODEC_RESTORE_SLOW)
        atomic_store_explicit(&r->slow, !in_memory, memory_order_relaxed);
    return status;
}

wcodec_status wcodec_restore_tiles(const struct wcodec_restore *r,
                                   const struct wcodec_cpu_decoder *decoder,
                                   const struct wcodec_view *view, uint64_t first, uint64_t end,
                                   uint8_t *out, wcodec_error *err)
{
    const struct wcodec_tiling *tiling = decoder->tiles->tiling;
    const unsigned log2 = tiling->tile_log2 + tiling->element_log2;
    for (unsigned count; first < end; first += count, out += (uint64_t)count << log2) {
        enum wcodec_tile_fault faults[TILES_AT_ONCE];
        count = end - first < TILES_AT_ONCE ? (unsigned)(end - first) : TILES_AT_ONCE;
        wcodec_cpu_decode_tiles(decoder, view, first, count, out, r->checks, false, faults);
        for (unsigned i = 0; i < count; i++)
            if (faults[i] != WCODEC_TILE_OK)
                return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "tile %" PRIu64 " of %" PRIu64 ": %s",
                                   first + i, tiling->tiles, wcodec_tile_fault_string(faults[i]));
    }
    return WCODEC_OK;
}

static wcodec_status run_tiles(struct wcodec_restore *r, struct wcodec_restore_worker *w,
                               const struct wcodec_restore_job *job, uint8_t *out,
                               wcodec_error *err)
{
    struct wcodec_open_tensor *t = job->tensor;
    struct wcodec_view view;
    wcodec_status status = load_areas(r, w, t, job->first, job->end, &view, err);
    const uint64_t begin = wcodec_phase_begin(&r->phases);
    if (status == WCODEC_OK && r->checks)
        status = wcodec_tiles_check_stored(t->tiles, &view, job->first, job->end, err);
    if (status == WCODEC_OK)
        status = wcodec_restore_tiles(r, t->decoder, &view, job->first, job->end, out, err);
    (void)wcodec_phase_end(&r->phases, WCODEC_PHASE_CODE, begin);
    if (status != WCODEC_OK)
        wcodec_shard_prefix(r->shard, t->named, err);
    return status;
}

/* A small entry of another kind. */
static wcodec_status run_small_other(const struct wcodec_restore *r,
                                     const struct wcodec_source *source,
                                     const struct wcodec_entry *e, uint8_t *out, wcodec_error *err)
{
    struct wcodec_reporter silent = {0};
    struct wcodec_decoder decoder;
    const struct wcodec_decoder_input input = {.context = r->context,
                                               .source = source,
                                               .entry = e,
                                               .bases = r->shard->bases,
                                               .held = r->base,
                                               .verify = r->checks,
                                               .announced = true,
                                               .whole = true};
    wcodec_status status = wcodec_decoder_open(&input, &decoder, err);
    if (status != WCODEC_OK)
        return status;
    if (r->checks && decoder.tiles != NULL)
        status = wcodec_tiles_check_padding(decoder.tiles,
                                            decoder.payload + decoder.layout.tiles_begin, err);
    if (status == WCODEC_OK)
        status = wcodec_decoder_range(&decoder, 0, e->size, out, &silent, err);
    wcodec_decoder_close(&decoder);
    return status;
}

/* Coded bytes of a group: of the container from byte `begin` on. */
struct span {
    const uint8_t *bytes;
    uint64_t begin, end;
};

static wcodec_status run_entry(const struct wcodec_restore *r, struct wcodec_restore_worker *w,
                               const struct wcodec_entry *e, const struct span *s,
                               uint64_t position, uint8_t *out, wcodec_error *err)
{
    const struct wcodec_entry *own = wcodec_shard_resolve(r->shard, e);
    wcodec_status status = WCODEC_OK;
    if (own != e || e->payload_size == 0)
        return run_small_other(r, r->source, own, out, err);
    const uint8_t *payload = s->bytes + (e->payload_offset - s->begin);
    position = wcodec_gap_begin(e, position);
    status =
        wcodec_check_padding(s->bytes + (position - s->begin), position, e->payload_offset, err);
    if (status == WCODEC_OK && r->checks)
        status =
            wcodec_check_payload_hash(e, wcodec_tree_of(r->leaf, payload, e->payload_size), err);
    if (status != WCODEC_OK)
        return status;
    if (!e->newer && e->coding == WCODEC_CODING_TILES)
        return wcodec_restore_small_add(r, w, e, payload, out, err);
    struct wcodec_entry here = *e;
    struct wcodec_source memory;
    wcodec_source_memory(payload, e->payload_size, &memory);
    here.payload_offset = 0;
    return run_small_other(r, &memory, &here, out, err);
}

/* All coded bytes of a group's entries are neighbours: one read. */
static wcodec_status load_span(const struct wcodec_restore *r, struct wcodec_restore_worker *w,
                               const struct wcodec_restore_job *job, struct span *s,
                               wcodec_error *err)
{
    *s = (struct span){.begin = job->position, .end = job->position};
    for (uint64_t n = job->first; n < job->end; n++)
        s->end = wcodec_position_after(&r->shard->index->entries[n], s->end);
    if (s->end == s->begin)
        return WCODEC_OK;
    if (r->source->fd < 0) {
        s->bytes = r->source->data + s->begin;
        return WCODEC_OK;
    }
    wcodec_status status = reserve(r, &w->coded, &w->coded_size, s->end - s->begin, err);
    if (status == WCODEC_OK)
        status =
            wcodec_source_read(r->source, s->begin, w->coded, (size_t)(s->end - s->begin), err);
    s->bytes = w->coded;
    return status;
}

/* What is known of an entry is read once, after much else went through the caches. */
static void fetch_entry(const struct wcodec_entry *e, const struct wcodec_entry *end)
{
#if defined(__GNUC__)
    if (e + 2 < end)
        for (size_t at = 0; at < sizeof *e; at += 64)
            __builtin_prefetch((const char *)(e + 2) + at, 0, 2);
    if (e + 1 < end && e[1].parameters != NULL)
        __builtin_prefetch(e[1].parameters, 0, 2);
#else
    (void)e, (void)end;
#endif
}

static wcodec_status run_group(struct wcodec_restore *r, struct wcodec_restore_worker *w,
                               const struct wcodec_restore_job *job, uint8_t *out,
                               wcodec_error *err)
{
    const struct wcodec_entry *entries = r->shard->index->entries;
    struct span span;
    uint64_t position = job->position;
    uint64_t begin = wcodec_phase_begin(&r->phases);
    wcodec_status status = load_span(r, w, job, &span, err);
    begin = wcodec_phase_end(&r->phases, WCODEC_PHASE_READ, begin);
    for (uint64_t n = job->first; n < job->end && status == WCODEC_OK; n++) {
        const struct wcodec_entry *e = &entries[n];
        fetch_entry(e, entries + job->end);
        status = run_entry(r, w, e, &span, position, out, err);
        if (status != WCODEC_OK)
            wcodec_shard_prefix(r->shard, e, err);
        else if (wcodec_restore_small_full(w))
            status = wcodec_restore_small_flush(r, w, err);
        position = wcodec_position_after(e, position);
        out += e->size;
    }
    /* Those that still wait come before the entry that failed. */
    wcodec_error error = {0};
    const wcodec_status waiting = wcodec_restore_small_flush(r, w, &error);
    if (waiting != WCODEC_OK)
        status = wcodec_fail(err, waiting, "%s", error.text);
    (void)wcodec_phase_end(&r->phases, WCODEC_PHASE_CODE, begin);
    return status;
}

static wcodec_status run_job(struct wcodec_restore *r, struct wcodec_restore_worker *w,
                             const struct wcodec_restore_job *job, uint8_t *dst, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (dst == NULL) {
        const uint64_t size = job->size > WCODEC_JOB_BYTES ? job->size : WCODEC_JOB_BYTES;
        status = reserve(r, &w->decoded, &w->decoded_size, size, err);
        dst = w->decoded;
    }
    if (status == WCODEC_OK)
        status =
            job->tensor != NULL ? run_tiles(r, w, job, dst, err) : run_group(r, w, job, dst, err);
    uint64_t begin = wcodec_phase_begin(&r->phases);
    if (status == WCODEC_OK && r->hashed)
        status = wcodec_tree_put(&r->hash, job->offset - r->hash_begin, dst, job->size, err);
    begin = wcodec_phase_end(&r->phases, WCODEC_PHASE_HASH, begin);
    if (status == WCODEC_OK && r->write_at != NULL && job->size != 0) {
        const int error = r->write_at(r->opaque, job->offset, dst, (size_t)job->size);
        if (error != 0)
            status = wcodec_fail(err, WCODEC_ERROR_IO, "writing: %s", strerror(error));
        (void)wcodec_phase_end(&r->phases, WCODEC_PHASE_WRITE, begin);
    }
    return status;
}

/* The job's leaves must be in the window. A job before it that others are at moves it on: they do
 * not wait for this one. */
static void wait_for_window(struct wcodec_restore *r, const struct wcodec_restore_job *job)
{
    while (r->hashed && r->status == WCODEC_OK &&
           job->offset - r->hash_begin + job->size >
               r->hash.first * WCODEC_LEAF_BYTES + wcodec_tree_span(&r->hash))
        pthread_cond_wait(&r->advanced, &r->lock);
}

void wcodec_restore_work(struct wcodec_restore *r, struct wcodec_restore_worker *w)
{
    struct wcodec_restore_job job;
    pthread_mutex_lock(&r->lock);
    while (wcodec_restore_next(r, &job)) {
        wcodec_error error = {0};
        wcodec_status status = WCODEC_OK;
        wait_for_window(r, &job);
        const bool go_on = r->status == WCODEC_OK || job.offset < r->failed_at;
        uint8_t *dst = r->dst != NULL ? r->dst + (job.offset - r->dst_begin) : NULL;
        pthread_mutex_unlock(&r->lock);
        if (go_on)
            status = run_job(r, w, &job, dst, &error);
        pthread_mutex_lock(&r->lock);
        if (status != WCODEC_OK)
            wcodec_restore_note(r, job.offset, status, &error);
        wcodec_restore_ended(r, &job);
    }
    pthread_mutex_unlock(&r->lock);
}
