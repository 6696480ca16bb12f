/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/search_device.h"

#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "sched/pool.h"
#include "vectors/held.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    BLOCK = 64,            /* queries whose results a task makes */
    WORK_LOG2 = 30,        /* bytes that queries at work take there, if more than one are */
    WORK_PART = 16,        /* ... and no more than that part of the memory that there is */
    GROUPS = 2048,         /* that select at a time, at least */
    SELECTED_LEAST = 2048, /* rows that one of them selects from */
    PAYS_LOG2 = 36,        /* queries times rows times dimensions */
    PARTS_PAY = 64         /* times that each row is looked at, where it is brought there for it */
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
    if (is_too_large(status) && store->count > 1) {
        wcodec_log(store->context, WCODEC_LOG_INFO,
                   "%s: %s; what many queries look at is brought there part by part, the CPU "
                   "searches for few",
                   o->name, reason.text);
        wcodec_held_free(r);
        r->parts = 2;
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

/* What a query looks at; probes 0: all anchors. False: more than devices do. */
static bool plan(const struct wcodec_device_search *search, struct wcodec_search_step *step)
{
    const struct wcodec_vectors_store *store = search->store;
    const uint64_t probes = search->options->probes;
    const struct wcodec_held_vectors *r = store->held;
    uint64_t pairs = 0, room = 0, before = 0;
    bool all = true;
    for (size_t i = 0; i < store->count; i++) {
        const uint64_t m = store->segments[i].m, taken = probes < m ? probes : m;
        all = all && taken == m;
        pairs += taken;
        if (taken != 0)
            room += r->most_rows[before + taken - 1];
        before += m;
    }
    all = all || probes == 0;
    step->shape = &r->shape;
    step->k = (uint32_t)search->options->k;
    step->probes = all ? 0 : (uint32_t)probes;
    step->pairs = all ? 0 : (uint32_t)pairs;
    step->room = all ? (uint32_t)r->shape.rows : (uint32_t)room;
    step->metric = (uint32_t)search->options->metric;
    step->filtered = search->options->allowed != NULL;
    return search->options->k <= WCODEC_SEARCH_MOST && (all || probes <= WCODEC_SEARCH_MOST);
}

/* Bytes of the device's memory for queries at work: what is the host's counts. */
static uint64_t most_work(const struct wcodec_held_vectors *r)
{
    const struct wcodec_device_listing *listing = &r->owner.device->listing;
    const uint64_t part = listing->memory / WORK_PART, all = (uint64_t)1 << WORK_LOG2,
                   most = part != 0 && part < all ? part : all;
    if ((listing->capabilities & WCODEC_DEVICE_HOST_MEMORY) == 0)
        return most;
    const uint64_t held = atomic_load(&r->owner.held) - r->work_size,
                   left = held < r->owner.limit ? r->owner.limit - held : 0;
    return left < most ? left : most;
}

/* As many queries together as there is room for, but no more than `most`, and into how many parts
 * what they look at is cut. */
static void cut(const struct wcodec_held_vectors *r, uint64_t queries, uint64_t most,
                struct wcodec_search_step *step)
{
    const uint64_t row = 4 * (uint64_t)step->shape->pitch, found = 8 * (uint64_t)step->k,
                   together = r->host.size / (row + 4 + found);
    step->queries = step->splits = 1;
    const uint64_t room = most_work(r) / wcodec_search_work(step).size;
    uint64_t count = queries < most ? queries : most;
    count = count < together ? count : together;
    count = count < room ? count : room;
    count = count > 0 ? count : 1;
    const uint64_t chunks = (queries + count - 1) / count;
    step->queries = (uint32_t)((queries + chunks - 1) / chunks);
    const uint32_t wanted = GROUPS / step->queries, parts = step->room / SELECTED_LEAST;
    step->splits = wanted < parts ? wanted : parts;
    step->splits = step->splits > 0 ? step->splits : 1;
}

/* Work for as many queries as the device has memory for. */
static wcodec_status reserve(struct wcodec_held_vectors *r, uint64_t queries,
                             struct wcodec_search_step *step, wcodec_error *reason)
{
    wcodec_status status;
    uint64_t most = WCODEC_SEARCH_QUERIES;
    do {
        cut(r, queries, most, step);
        status = wcodec_held_reserve(r, wcodec_search_work(step).size, reason);
        most = step->queries / 2;
    } while (status == WCODEC_ERROR_MEMORY && most > 0);
    return status;
}

/* Which of `count` ids, at most 32, are allowed: a bit each. */
static uint32_t allowed_from(const wcodec_vectors_search_options *o, uint64_t id, unsigned count)
{
    const uint64_t left = id < o->allowed_count ? o->allowed_count - id : 0,
                   some = left < count ? left : count;
    uint64_t bits = 0;
    for (uint64_t at = id / 8; some != 0 && at <= (id + some - 1) / 8; at++)
        bits |= (uint64_t)o->allowed[at] << 8 * (at - id / 8);
    return (uint32_t)(bits >> id % 8 & (((uint64_t)1 << some) - 1));
}

/* Which ranks are allowed: a bit each. */
static wcodec_status put_allowed(struct wcodec_held_vectors *r,
                                 const struct wcodec_device_search *search,
                                 const struct wcodec_search_step *step, wcodec_error *err)
{
    const wcodec_vectors_search_options *o = search->options;
    const struct wcodec_vectors_store *store = search->store;
    struct wcodec_held_writer writer;
    uint32_t word = 0, bits = 0;
    wcodec_held_begin(&writer, r, r->work, wcodec_search_work(step).allowed);
    for (size_t i = 0; i < store->count; i++) {
        const struct wcodec_vectors_segment *s = &store->segments[i];
        for (uint64_t row = 0, some; row < s->n; row += some) {
            some = s->is_sparse ? 1 : s->n - row < 32 - bits ? s->n - row : 32 - bits;
            word |= allowed_from(o, wcodec_segment_id(s, row), (unsigned)some) << bits;
            bits += (uint32_t)some;
            if (bits == 32) {
                wcodec_held_put_u32(&writer, word, err);
                word = bits = 0;
            }
        }
    }
    if (bits != 0)
        wcodec_held_put_u32(&writer, word, err);
    return wcodec_held_end(&writer, err);
}

/* Queries that are at work, and what is found of them. */
struct chunk {
    const struct wcodec_device_search *search;
    const struct wcodec_held_vectors *held;
    size_t first, count;
    const uint64_t *found;
    struct wcodec_hit *hits; /* of BLOCK queries */
    struct wcodec_hit
        *merged;          /* of all queries and the parts so far; NULL: all vectors are there */
    wcodec_status status; /* of the host */
};

/* A key, and the id of a rank. */
static struct wcodec_hit hit_of(const struct chunk *c, uint64_t found)
{
    const struct wcodec_vectors_store *store = c->search->store;
    const uint64_t rank = found & UINT32_MAX, *first = c->held->first_rank;
    size_t low = 0, high = store->count;
    if (found == UINT64_MAX)
        return (struct wcodec_hit){.key = INFINITY, .id = UINT64_MAX};
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (first[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return (struct wcodec_hit){
        .key = wcodec_f32_of_bits(wcodec_bits_of_order((uint32_t)(found >> 32))),
        .id = wcodec_segment_id(&store->segments[low], rank - first[low])};
}

/* Of a block of queries, to the caller. */
static void put_block(void *opaque, size_t block)
{
    const struct chunk *c = opaque;
    const size_t k = (size_t)c->search->options->k, begin = block * BLOCK,
                 end = c->count - begin < BLOCK ? c->count : begin + BLOCK;
    for (size_t i = begin * k; i < end * k; i++) {
        const struct wcodec_hit hit = hit_of(c, c->found[i]);
        if (c->merged != NULL)
            wcodec_hits_keep(c->merged + (c->first + i / k) * k, k, hit);
        else
            wcodec_hits_put(&hit, 1, c->search->options->metric, c->search->ids + c->first * k + i,
                            c->search->scores + c->first * k + i);
    }
}

static wcodec_status put_ranked(const struct chunk *c, wcodec_error *err)
{
    const struct wcodec_device_search *s = c->search;
    const size_t k = (size_t)s->options->k, wanted = s->rerank->k, width = s->rerank->width;
    wcodec_status status = WCODEC_OK;
    for (size_t at = 0, some; at < c->count && status == WCODEC_OK; at += some) {
        const size_t query = c->first + at;
        some = c->count - at < BLOCK ? c->count - at : BLOCK;
        for (size_t i = 0; i < some * k; i++)
            c->hits[i] = hit_of(c, c->found[at * k + i]);
        status = wcodec_rerank_run(s->rerank, s->widened + query * width, some, c->hits,
                                   s->ids + query * wanted, s->scores + query * wanted, err);
    }
    return status;
}

/* Queries on their way: rows of `pitch` numbers, and lengths. */
struct sending {
    const struct chunk *chunk;
    size_t pitch;
    bool with_lengths;
    float *rows, *lengths;
    atomic_bool wrong; /* there are numbers that are refused */
};

static void send_block(void *opaque, size_t block)
{
    struct sending *s = opaque;
    const wcodec_vector_rows *from = s->chunk->search->queries;
    const size_t d = (size_t)from->dimensions, begin = block * BLOCK,
                 end = s->chunk->count - begin < BLOCK ? s->chunk->count : begin + BLOCK;
    for (size_t q = begin; q < end; q++) {
        float *row = s->rows + q * s->pitch;
        bool good = true;
        for (size_t j = 0; j < d; j++) {
            row[j] = wcodec_vectors_element(from->dtype, from->data, (s->chunk->first + q) * d + j);
            good = good && fabsf(row[j]) <= 65504;
        }
        memset(row + d, 0, (s->pitch - d) * sizeof *row);
        s->lengths[q] =
            s->with_lengths ? (float)sqrt(wcodec_vectors_product(row, row, s->pitch)) : 0;
        if (!good)
            atomic_store(&s->wrong, true);
    }
}

/* Queries to where the device gets them from. False: there are some that are refused. */
static bool send_queries(const struct wcodec_held_vectors *r, const struct chunk *c,
                         const struct wcodec_search_step *step, struct sending *sending)
{
    *sending = (struct sending){.chunk = c,
                                .pitch = step->shape->pitch,
                                .with_lengths = step->metric == WCODEC_VECTORS_COSINE,
                                .rows = (float *)r->host.data};
    sending->lengths = sending->rows + c->count * sending->pitch;
    wcodec_run(r->owner.context, send_block, sending, (c->count + BLOCK - 1) / BLOCK);
    return !atomic_load(&sending->wrong);
}

/* Queries there, and what is found back in their place. */
static wcodec_status find(struct wcodec_held_vectors *r, const struct chunk *c,
                          const struct wcodec_search_step *step, const struct sending *sent,
                          wcodec_error *err)
{
    const struct wcodec_backend *b = r->owner.device->backend;
    const struct wcodec_search_work w = wcodec_search_work(step);
    wcodec_status status = b->copy_in(r->queue, r->work, w.queries, sent->rows,
                                      c->count * sent->pitch * sizeof(float), err);
    if (status == WCODEC_OK)
        status =
            b->copy_in(r->queue, r->work, w.lengths, sent->lengths, c->count * sizeof(float), err);
    if (status == WCODEC_OK)
        status = b->searches->run(r->queue, step, err);
    if (status == WCODEC_OK)
        status = b->copy_out(r->queue, r->host.data, r->work, w.found,
                             8 * (uint64_t)c->count * step->k, err);
    const wcodec_status waited = b->queue_wait(r->queue, status == WCODEC_OK ? err : NULL);
    return status == WCODEC_OK ? waited : status;
}

/* All queries, chunk by chunk. *done false: some are refused, or chunk->status and `err` say what
 * is wrong; returned is what the device says. */
static wcodec_status run_chunks(struct wcodec_held_vectors *r,
                                const struct wcodec_device_search *search,
                                struct wcodec_search_step *step, struct chunk *chunk, bool *done,
                                wcodec_error *reason, wcodec_error *err)
{
    const size_t n = (size_t)search->queries->count;
    struct sending sending;
    wcodec_status status = reserve(r, n, step, reason);
    *done = false;
    wcodec_log(r->owner.context, WCODEC_LOG_DEBUG,
               "%s searches for %zu queries, %" PRIu32 " together, each in %" PRIu32 " parts",
               r->owner.device->name, n, step->queries, step->splits);
    step->codes = r->codes;
    step->vectors = r->vectors;
    step->work = r->work;
    if (status == WCODEC_OK && step->filtered)
        status = put_allowed(r, search, step, reason);
    for (size_t at = 0; status == WCODEC_OK && at < n; at += chunk->count) {
        chunk->first = at;
        chunk->count = n - at < step->queries ? n - at : step->queries;
        step->queries = (uint32_t)chunk->count;
        if (!send_queries(r, chunk, step, &sending))
            return WCODEC_OK;
        status = find(r, chunk, step, &sending, reason);
        if (status != WCODEC_OK)
            break;
        chunk->found = (const uint64_t *)r->host.data;
        if (search->rerank == NULL || chunk->merged != NULL)
            wcodec_run(r->owner.context, put_block, chunk, (chunk->count + BLOCK - 1) / BLOCK);
        else
            chunk->status = put_ranked(chunk, err);
        if (chunk->status != WCODEC_OK)
            return WCODEC_OK;
    }
    *done = status == WCODEC_OK;
    return status;
}

/* With what candidates need. */
static wcodec_status run_there(struct wcodec_held_vectors *r,
                               const struct wcodec_device_search *search,
                               struct wcodec_search_step *step, bool *done, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->owner.context->allocator;
    const size_t some = search->queries->count < BLOCK ? (size_t)search->queries->count : BLOCK;
    struct chunk chunk = {.search = search, .held = r};
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    if (search->rerank != NULL) {
        chunk.hits = wcodec_alloc_array(allocator, some, search->options->k * sizeof *chunk.hits);
        status = chunk.hits != NULL
                     ? wcodec_rerank_begin(search->rerank, some, err)
                     : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for hits");
    }
    if (status == WCODEC_OK) {
        status = run_chunks(r, search, step, &chunk, done, &reason, err);
        status = chunk.status != WCODEC_OK ? chunk.status : failed(r, status, &reason, err);
    }
    if (search->rerank != NULL)
        wcodec_rerank_end(search->rerank);
    wcodec_free(allocator, chunk.hits);
    return status;
}

/* Segments of about that part of the rows, of r->parts. */
static struct wcodec_vectors_store part_of(const struct wcodec_vectors_store *store, size_t part,
                                           size_t parts)
{
    struct wcodec_vectors_store some = *store;
    uint64_t before = 0;
    some.count = 0;
    some.rows = 0;
    for (size_t i = 0; i < store->count; i++) {
        const uint64_t rows = store->segments[i].n - store->segments[i].removed_count;
        /* Where its middle row is says in which part a segment is. */
        if ((before + rows / 2) / ((store->rows + parts - 1) / parts) == part && rows != 0) {
            if (some.count == 0)
                some.segments = store->segments + i;
            some.count = (size_t)(store->segments + i - some.segments) + 1;
            some.rows += rows;
        }
        before += rows;
    }
    return some;
}

/* The nearest of all parts so far to chunk->merged. */
static wcodec_status run_part(struct wcodec_held_vectors *r,
                              const struct wcodec_device_search *search, struct chunk *chunk,
                              bool *done, wcodec_error *reason)
{
    struct wcodec_search_step step = {.queries = 0};
    wcodec_status status =
        wcodec_held_upload(r, search->store, memory_of(chunk->search->store), reason);
    chunk->search = search;
    *done = false;
    if (status == WCODEC_OK && plan(search, &step))
        status = run_chunks(r, search, &step, chunk, done, reason, NULL);
    wcodec_held_free(r);
    return status;
}

/* To the caller. */
static wcodec_status put_merged(const struct wcodec_device_search *s, struct wcodec_hit *merged,
                                wcodec_error *err)
{
    const size_t k = (size_t)s->options->k, n = (size_t)s->queries->count,
                 most = n < BLOCK ? n : BLOCK;
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

/* Part after part, in as many as fit. */
static wcodec_status run_parts(struct wcodec_held_vectors *r,
                               const struct wcodec_device_search *search, bool *done,
                               wcodec_error *err)
{
    const struct wcodec_vectors_store *store = search->store;
    const size_t k = (size_t)search->options->k, n = (size_t)search->queries->count;
    const wcodec_allocator *allocator = &store->context->allocator;
    const uint64_t limit = store->context->limits.max_memory, held = memory_of(store);
    struct chunk chunk = {.held = r};
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    if (held > limit || n > (limit - held) / (k * sizeof *chunk.merged))
        return WCODEC_OK;
    chunk.merged = wcodec_alloc_array(allocator, n, k * sizeof *chunk.merged);
    if (chunk.merged == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for hits");
    for (;; r->parts *= 2) {
        *done = true;
        wcodec_hits_clear(chunk.merged, n * k);
        for (size_t i = 0; i < r->parts && status == WCODEC_OK && *done; i++) {
            const struct wcodec_vectors_store part = part_of(store, i, r->parts);
            struct wcodec_device_search in_part = *search;
            in_part.store = &part;
            chunk.search = search;
            if (part.count != 0)
                status = run_part(r, &in_part, &chunk, done, &reason);
        }
        if (!is_too_large(status) || r->parts >= 2 * store->count)
            break;
        status = WCODEC_OK;
    }
    if (status != WCODEC_OK) {
        *done = false;
        status = failed(r, status, &reason, err);
    } else if (*done)
        status = put_merged(search, chunk.merged, err);
    wcodec_free(allocator, chunk.merged);
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

wcodec_status wcodec_search_device_run(const struct wcodec_device_search *search, bool *done,
                                       wcodec_error *err)
{
    struct wcodec_held_vectors *r = search->store->held;
    struct wcodec_search_step step = {.queries = 0};
    wcodec_status status = WCODEC_OK;
    *done = false;
    pthread_mutex_lock(&r->lock);
    if (!r->tried && pays(search))
        status = prepare(search->store, err);
    if (status == WCODEC_OK)
        status = look(r, err);
    if (status == WCODEC_OK && r->there) {
        if (plan(search, &step))
            status = run_there(r, search, &step, done, err);
        else
            wcodec_log(r->owner.context, WCODEC_LOG_INFO,
                       "%s searches for at most %d vectors, among those of at most %d anchors or "
                       "all: the CPU does",
                       r->owner.device->name, (int)WCODEC_SEARCH_MOST, (int)WCODEC_SEARCH_MOST);
    } else if (status == WCODEC_OK && r->parts != 0 && parts_pay(search)) {
        status = run_parts(r, search, done, err);
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}
