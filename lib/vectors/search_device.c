/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/search_device.h"

#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "vectors/search_chunks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    PAYS_LOG2 = 36, /* queries times rows times dimensions */
    PARTS_PAY = 64, /* times that each row is looked at, where it is brought there for it */
    PART_LEAST = 64 /* rows: smaller parts are not tried */
};

uint64_t wcodec_search_device_memory(const struct wcodec_vectors_store *store)
{
    return store->held != NULL ? atomic_load(&store->held->memory) : 0;
}

/* May the CPU do what the device did not? Then the log says so. */
static bool may_leave(const struct wcodec_held_vectors *r, wcodec_status status,
                      const wcodec_error *reason)
{
    const bool cannot = status == WCODEC_ERROR_MEMORY || status == WCODEC_ERROR_UNSUPPORTED ||
                        status == WCODEC_ERROR_LIMIT;
    if (!cannot && !(status == WCODEC_ERROR_DEVICE && r->owner.device->cpu_allowed))
        return false;
    wcodec_log(r->owner.context, WCODEC_LOG_WARNING, "%s does not search, the CPU does: %s",
               r->owner.device->name, reason->text);
    return true;
}

/* The device's part of it failed. What would fail again is not tried again. */
static wcodec_status failed(struct wcodec_held_vectors *r, wcodec_status status,
                            const wcodec_error *reason, wcodec_error *err)
{
    wcodec_error told = {0};
    if (status == WCODEC_OK)
        return status;
    status = wcodec_backends_failed(r->owner.context, r->owner.device, status, reason, &told);
    if (!may_leave(r, status, reason)) {
        if (err != NULL)
            *err = told;
        return status;
    }
    if (status == WCODEC_ERROR_DEVICE || status == WCODEC_ERROR_UNSUPPORTED) {
        wcodec_held_free(r);
        r->parts = 0;
    }
    return WCODEC_OK;
}

/* Would less of the vectors do? */
static bool is_too_large(wcodec_status status)
{
    return status == WCODEC_ERROR_MEMORY || status == WCODEC_ERROR_LIMIT;
}

/* Something else lost the device. */
static wcodec_status look(struct wcodec_held_vectors *r, wcodec_error *err)
{
    const struct wcodec_opened *o = r->owner.device;
    if ((!r->there && r->parts == 0) || !atomic_load(&o->lost))
        return WCODEC_OK;
    if (!o->cpu_allowed)
        return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s: %s", o->name, o->loss);
    wcodec_held_free(r);
    r->parts = 0;
    return WCODEC_OK;
}

/* Bytes of the host's. */
static uint64_t memory_of(const struct wcodec_vectors_store *store)
{
    uint64_t memory = 0;
    for (size_t i = 0; i < store->count; i++)
        memory += wcodec_segment_memory(&store->segments[i]);
    return memory;
}

/* Rows of all segments, removed ones too. */
static uint64_t places_of(const struct wcodec_vectors_store *store)
{
    uint64_t places = 0;
    for (size_t i = 0; i < store->count; i++)
        places += store->segments[i].n;
    return places;
}

static bool can_cut(const struct wcodec_vectors_store *store)
{
    return places_of(store) > PART_LEAST;
}

/* From now on part by part. */
static void cut_up(struct wcodec_held_vectors *r, const wcodec_error *reason)
{
    wcodec_log(r->owner.context, WCODEC_LOG_INFO,
               "%s: %s; what many queries look at is brought there part by part, the CPU searches "
               "for few",
               r->owner.device->name, reason->text);
    wcodec_held_free(r);
    r->parts = 2;
}

/* Bring the vectors there, once. r->there stays false where the CPU is to search. The lock is held.
 */
static wcodec_status prepare(const struct wcodec_vectors_store *store, wcodec_error *err)
{
    struct wcodec_held_vectors *r = store->held;
    struct wcodec_opened *o;
    wcodec_error reason = {0};
    r->tried = true;
    wcodec_status status = wcodec_backends_device(store->context, &o, err);
    if (status != WCODEC_OK || strcmp(o->backend->name, "cpu") == 0 || store->rows == 0)
        return status;
    r->owner.device = o;
    status = wcodec_held_upload(r, store, memory_of(store), &reason);
    if (is_too_large(status) && can_cut(store)) {
        cut_up(r, &reason);
        return WCODEC_OK;
    }
    if (status != WCODEC_OK) {
        status = failed(r, status, &reason, err);
        wcodec_held_free(r);
        return status;
    }
    r->there = true;
    return WCODEC_OK;
}

wcodec_status wcodec_search_device_create(struct wcodec_vectors_store *store, wcodec_error *err)
{
    wcodec_context *context = store->context;
    struct wcodec_held_vectors *r = wcodec_alloc_zeroed(&context->allocator, sizeof *r);
    if (r == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a device's search");
    if (pthread_mutex_init(&r->lock, NULL) != 0) {
        wcodec_free(&context->allocator, r);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    }
    r->owner.context = context;
    r->owner.purpose = "a device's search";
    r->owner.limit = context->limits.max_memory;
    store->held = r;
    return wcodec_backends_are_automatic(context) ? WCODEC_OK : prepare(store, err);
}

void wcodec_search_device_destroy(struct wcodec_vectors_store *store)
{
    struct wcodec_held_vectors *r = store->held;
    if (r == NULL)
        return;
    wcodec_held_free(r);
    pthread_mutex_destroy(&r->lock);
    wcodec_free(&store->context->allocator, r);
    store->held = NULL;
}

uint64_t wcodec_search_device_host_memory(const struct wcodec_vectors_store *store)
{
    return store->held != NULL ? atomic_load(&store->held->owner.held) : 0;
}

/* With what candidates need. No room for queries at work: *done false, and in parts afterwards. */
static wcodec_status run_there(struct wcodec_held_vectors *r,
                               const struct wcodec_device_search *search, bool *done,
                               wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->owner.context->allocator;
    const size_t some = search->queries->count < WCODEC_SEARCH_BLOCK
                            ? (size_t)search->queries->count
                            : WCODEC_SEARCH_BLOCK;
    struct wcodec_search_chunks chunk = {.search = search, .held = r};
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    if (search->rerank != NULL) {
        chunk.hits = wcodec_alloc_array(allocator, some, search->options->k * sizeof *chunk.hits);
        status = chunk.hits != NULL
                     ? wcodec_rerank_begin(search->rerank, some, err)
                     : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for hits");
    }
    if (status == WCODEC_OK) {
        status = wcodec_search_chunks_run(r, &chunk, done, &reason, err);
        if (is_too_large(status) && can_cut(search->store)) {
            cut_up(r, &reason);
            status = WCODEC_OK;
        } else
            status = chunk.status != WCODEC_OK ? chunk.status : failed(r, status, &reason, err);
    }
    if (search->rerank != NULL)
        wcodec_rerank_end(search->rerank);
    wcodec_free(allocator, chunk.hits);
    return status;
}

/* That part of the rows, of so many: of a segment that does not fit in it some, and all anchors,
 * among which queries choose as they do in the whole. segments: room for all. */
static struct wcodec_vectors_store part_of(const struct wcodec_vectors_store *store, size_t part,
                                           size_t parts, struct wcodec_vectors_segment *segments)
{
    const uint64_t size = (places_of(store) + parts - 1) / parts, from = part * size,
                   to = from + size;
    struct wcodec_vectors_store some = *store;
    uint64_t before = 0;
    some.segments = segments;
    some.count = 0;
    some.rows = 0;
    for (size_t i = 0; i < store->count; before += store->segments[i++].n) {
        struct wcodec_vectors_segment *s = &segments[some.count];
        uint64_t rows = 0;
        *s = store->segments[i];
        s->from = from > before ? (size_t)(from - before < s->n ? from - before : s->n) : 0;
        s->to = to > before ? (size_t)(to - before < s->n ? to - before : s->n) : 0;
        for (size_t at = s->from; at < s->to; at++)
            rows += !wcodec_segment_is_removed(s, s->row[at]);
        some.count += rows != 0;
        some.rows += rows;
    }
    return some;
}

/* The nearest of all parts so far to chunk->merged, beside `memory` bytes of the host's. */
static wcodec_status run_part(struct wcodec_held_vectors *r, struct wcodec_search_chunks *chunk,
                              uint64_t memory, bool *done, wcodec_error *reason)
{
    wcodec_status status = wcodec_held_upload(r, chunk->search->store, memory, reason);
    *done = false;
    if (status == WCODEC_OK)
        status = wcodec_search_chunks_run(r, chunk, done, reason, NULL);
    wcodec_held_free(r);
    return status;
}

/* To the caller. */
static wcodec_status put_merged(const struct wcodec_device_search *s, struct wcodec_hit *merged,
                                wcodec_error *err)
{
    const size_t k = (size_t)s->options->k, n = (size_t)s->queries->count,
                 most = n < WCODEC_SEARCH_BLOCK ? n : WCODEC_SEARCH_BLOCK;
    if (s->rerank == NULL) {
        wcodec_hits_put(merged, n * k, s->options->metric, s->ids, s->scores);
        return WCODEC_OK;
    }
    wcodec_status status = wcodec_rerank_begin(s->rerank, most, err);
    for (size_t at = 0, some; at < n && status == WCODEC_OK; at += some) {
        const size_t to = at * s->rerank->k;
        some = n - at < most ? n - at : most;
        status = wcodec_rerank_run(s->rerank, s->widened + at * s->rerank->width, some,
                                   merged + at * k, s->ids + to, s->scores + to, err);
    }
    wcodec_rerank_end(s->rerank);
    return status;
}

/* Part after part, in as many as fit; where the device has no room for the smallest of them, it is
 * not tried again. What the limit of memory forbids is of these queries: fewer may do. */
static wcodec_status run_cut(struct wcodec_held_vectors *r,
                             const struct wcodec_device_search *search, struct wcodec_hit *merged,
                             struct wcodec_vectors_segment *segments, bool *done, wcodec_error *err)
{
    const struct wcodec_vectors_store *store = search->store;
    const uint64_t count = search->queries->count * search->options->k,
                   memory = memory_of(store) + count * sizeof *merged;
    struct wcodec_device_search in_part = *search;
    struct wcodec_search_chunks chunk = {.search = &in_part, .held = r, .merged = merged};
    size_t parts = r->parts;
    wcodec_error reason = {0};
    wcodec_status status;
    for (;; parts *= 2) {
        status = WCODEC_OK;
        *done = true;
        wcodec_hits_clear(merged, (size_t)count);
        for (size_t i = 0; i < parts && status == WCODEC_OK && *done; i++) {
            const struct wcodec_vectors_store part = part_of(store, i, parts, segments);
            in_part.store = &part;
            if (part.count != 0)
                status = run_part(r, &chunk, memory, done, &reason);
        }
        if (!is_too_large(status) || parts * PART_LEAST >= places_of(store))
            break;
    }
    if (status == WCODEC_ERROR_MEMORY)
        r->parts = 0;
    else if (status != WCODEC_ERROR_LIMIT)
        r->parts = parts;
    if (status == WCODEC_OK)
        return *done ? put_merged(search, merged, err) : WCODEC_OK;
    *done = false;
    return failed(r, status, &reason, err);
}

/* The host has to have room for what is found. */
static wcodec_status run_parts(struct wcodec_held_vectors *r,
                               const struct wcodec_device_search *search, bool *done,
                               wcodec_error *err)
{
    const wcodec_allocator *allocator = &search->store->context->allocator;
    const size_t k = (size_t)search->options->k, n = (size_t)search->queries->count;
    const uint64_t limit = r->owner.limit, held = memory_of(search->store);
    struct wcodec_hit *merged = NULL;
    struct wcodec_vectors_segment *segments;
    if (held <= limit && n <= (limit - held) / (k * sizeof *merged))
        merged = wcodec_alloc_array(allocator, n, k * sizeof *merged);
    segments = wcodec_alloc_array(allocator, search->store->count, sizeof *segments);
    if (merged == NULL || segments == NULL) {
        wcodec_free(allocator, merged);
        wcodec_free(allocator, segments);
        wcodec_log(r->owner.context, WCODEC_LOG_INFO,
                   "no memory for what %zu queries find part by part: the CPU searches", n);
        return WCODEC_OK;
    }
    const wcodec_status status = run_cut(r, search, merged, segments, done, err);
    wcodec_free(allocator, segments);
    wcodec_free(allocator, merged);
    atomic_store(&r->owner.held, held);
    return status;
}

/* Rows that all queries look at. */
static double looked_at(const struct wcodec_device_search *search)
{
    const struct wcodec_vectors_store *store = search->store;
    const uint64_t probes = search->options->probes;
    double part = 0;
    for (size_t i = 0; i < store->count; i++) {
        const struct wcodec_vectors_segment *s = &store->segments[i];
        part += probes == 0 || probes >= s->m ? (double)s->n
                                              : (double)s->n * (double)probes / (double)s->m;
    }
    return part * (double)search->queries->count;
}

static bool pays(const struct wcodec_device_search *search)
{
    return looked_at(search) * (double)search->store->d >= ldexp(1, PAYS_LOG2);
}

/* There is a way for each row. */
static bool parts_pay(const struct wcodec_device_search *search)
{
    return looked_at(search) >= (double)PARTS_PAY * (double)search->store->rows;
}

/* One that the CPU is to do waits for none that goes on part by part. */
static bool passes(const struct wcodec_device_search *search)
{
    const struct wcodec_held_vectors *r = search->store->held;
    return atomic_load(&r->parts) != 0 && !atomic_load(&r->owner.device->lost) &&
           !parts_pay(search);
}

/* As many as devices search for, and among? */
static bool can_search(const struct wcodec_device_search *search)
{
    const struct wcodec_vectors_store *store = search->store;
    const uint64_t probes = search->options->probes;
    bool all = true;
    for (size_t i = 0; i < store->count; i++)
        all = all && (probes == 0 || probes >= store->segments[i].m);
    if (search->options->k <= WCODEC_SEARCH_MOST && (all || probes <= WCODEC_SEARCH_MOST))
        return true;
    wcodec_log(store->context, WCODEC_LOG_INFO,
               "%s searches for at most %d vectors, among those of at most %d anchors or all: the "
               "CPU does",
               store->held->owner.device->name, (int)WCODEC_SEARCH_MOST, (int)WCODEC_SEARCH_MOST);
    return false;
}

wcodec_status wcodec_search_device_run(const struct wcodec_device_search *search, bool *done,
                                       wcodec_error *err)
{
    struct wcodec_held_vectors *r = search->store->held;
    wcodec_status status = WCODEC_OK;
    *done = false;
    if (passes(search))
        return WCODEC_OK;
    pthread_mutex_lock(&r->lock);
    if (!r->tried && pays(search))
        status = prepare(search->store, err);
    if (status == WCODEC_OK)
        status = look(r, err);
    if (status == WCODEC_OK && (r->there || (r->parts != 0 && parts_pay(search))) &&
        can_search(search)) {
        if (r->there)
            status = run_there(r, search, done, err);
        if (status == WCODEC_OK && r->parts != 0 && parts_pay(search))
            status = run_parts(r, search, done, err);
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}
