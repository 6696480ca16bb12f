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
    PAYS_LOG2 = 36         /* queries times rows times dimensions */
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
    if (status == WCODEC_ERROR_DEVICE || status == WCODEC_ERROR_UNSUPPORTED)
        wcodec_held_free(r);
    return WCODEC_OK;
}

/* Something else lost the device. */
static wcodec_status look(struct wcodec_held_vectors *r, wcodec_error *err)
{
    const struct wcodec_opened *o = r->owner.device;
    if (!r->there || !atomic_load(&o->lost))
        return WCODEC_OK;
    if (!o->cpu_allowed)
        return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s: %s", o->name, o->loss);
    wcodec_held_free(r);
    return WCODEC_OK;
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
    status = wcodec_held_upload(r, store, &reason);
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
    for (size_t i = 0; i < store->count; i++)
        for (uint64_t row = 0; row < store->segments[i].n; row++) {
            const uint64_t id = wcodec_segment_id(&store->segments[i], row);
            const bool allowed = id < o->allowed_count && (o->allowed[id / 8] >> id % 8 & 1) != 0;
            word |= (uint32_t)allowed << bits;
            if (++bits == 32) {
                wcodec_held_put_u32(&writer, word, err);
                word = bits = 0;
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

/* All queries, chunk by chunk. */
static wcodec_status run_chunks(struct wcodec_held_vectors *r,
                                const struct wcodec_device_search *search,
                                struct wcodec_search_step *step, struct chunk *chunk, bool *done,
                                wcodec_error *err)
{
    const size_t n = (size_t)search->queries->count;
    struct sending sending;
    wcodec_error reason = {0};
    wcodec_status status = reserve(r, n, step, &reason);
    wcodec_log(r->owner.context, WCODEC_LOG_DEBUG,
               "%s searches for %zu queries, %" PRIu32 " together, each in %" PRIu32 " parts",
               r->owner.device->name, n, step->queries, step->splits);
    step->codes = r->codes;
    step->vectors = r->vectors;
    step->work = r->work;
    if (status == WCODEC_OK && step->filtered)
        status = put_allowed(r, search, step, &reason);
    for (size_t at = 0; status == WCODEC_OK && at < n; at += chunk->count) {
        chunk->first = at;
        chunk->count = n - at < step->queries ? n - at : step->queries;
        step->queries = (uint32_t)chunk->count;
        if (!send_queries(r, chunk, step, &sending))
            return WCODEC_OK;
        status = find(r, chunk, step, &sending, &reason);
        if (status != WCODEC_OK)
            break;
        chunk->found = (const uint64_t *)r->host.data;
        if (search->rerank == NULL)
            wcodec_run(r->owner.context, put_block, chunk, (chunk->count + BLOCK - 1) / BLOCK);
        else if ((status = put_ranked(chunk, err)) != WCODEC_OK)
            return status;
    }
    *done = status == WCODEC_OK;
    return failed(r, status, &reason, err);
}

/* With what candidates need. */
static wcodec_status run_there(struct wcodec_held_vectors *r,
                               const struct wcodec_device_search *search,
                               struct wcodec_search_step *step, bool *done, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->owner.context->allocator;
    const size_t some = search->queries->count < BLOCK ? (size_t)search->queries->count : BLOCK;
    struct chunk chunk = {.search = search, .held = r};
    if (search->rerank == NULL)
        return run_chunks(r, search, step, &chunk, done, err);
    chunk.hits = wcodec_alloc_array(allocator, some, search->options->k * sizeof *chunk.hits);
    wcodec_status status = chunk.hits != NULL
                               ? WCODEC_OK
                               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for hits");
    if (status == WCODEC_OK)
        status = wcodec_rerank_begin(search->rerank, some, err);
    if (status == WCODEC_OK)
        status = run_chunks(r, search, step, &chunk, done, err);
    wcodec_rerank_end(search->rerank);
    wcodec_free(allocator, chunk.hits);
    return status;
}

static bool pays(const struct wcodec_device_search *search)
{
    const struct wcodec_vectors_store *store = search->store;
    const uint64_t probes = search->options->probes;
    double part = 0;
    for (size_t i = 0; i < store->count; i++) {
        const struct wcodec_vectors_segment *s = &store->segments[i];
        part += probes == 0 || probes >= s->m ? (double)s->n
                                              : (double)s->n * (double)probes / (double)s->m;
    }
    return part * (double)store->d * (double)search->queries->count >= ldexp(1, PAYS_LOG2);
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
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}
