/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Queries go to a device, and what it finds comes back, as many together as it has room for. */
#include "vectors/search_chunks.h"

#include "core/error.h"
#include "core/log.h"
#include "sched/pool.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WORK_LOG2 = 30,       /* bytes that queries at work take there, if more than one are */
    WORK_PART = 16,       /* ... and no more than that part of the memory that there is */
    GROUPS = 2048,        /* that select at a time, at least */
    SELECTED_LEAST = 2048 /* rows that one of them selects from */
};

/* What a query looks at; probes 0: all anchors. */
static void plan(const struct wcodec_device_search *search, struct wcodec_search_step *step)
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

/* A key, and the id of a rank. */
static struct wcodec_hit hit_of(const struct wcodec_search_chunks *c, uint64_t found)
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

/* What a query has found, to what it has of other parts. */
static void merge_query(const struct wcodec_search_chunks *c, size_t query)
{
    const size_t k = (size_t)c->search->options->k;
    struct wcodec_hit hits[WCODEC_SEARCH_MOST];
    for (size_t i = 0; i < k; i++)
        hits[i] = hit_of(c, c->found[query * k + i]);
    wcodec_hits_merge(c->merged + (c->first + query) * k, hits, k);
}

/* Of a block of queries, to the caller. */
static void put_block(void *opaque, size_t block)
{
    const struct wcodec_search_chunks *c = opaque;
    const size_t k = (size_t)c->search->options->k, begin = block * WCODEC_SEARCH_BLOCK,
                 end = c->count - begin < WCODEC_SEARCH_BLOCK ? c->count
                                                              : begin + WCODEC_SEARCH_BLOCK;
    for (size_t query = begin; c->merged != NULL && query < end; query++)
        merge_query(c, query);
    for (size_t i = begin * k; c->merged == NULL && i < end * k; i++) {
        const struct wcodec_hit hit = hit_of(c, c->found[i]);
        wcodec_hits_put(&hit, 1, c->search->options->metric, c->search->ids + c->first * k + i,
                        c->search->scores + c->first * k + i);
    }
}

static wcodec_status put_ranked(const struct wcodec_search_chunks *c, wcodec_error *err)
{
    const struct wcodec_device_search *s = c->search;
    const size_t k = (size_t)s->options->k, wanted = s->rerank->k, width = s->rerank->width;
    wcodec_status status = WCODEC_OK;
    for (size_t at = 0, some; at < c->count && status == WCODEC_OK; at += some) {
        const size_t query = c->first + at;
        some = c->count - at < WCODEC_SEARCH_BLOCK ? c->count - at : WCODEC_SEARCH_BLOCK;
        for (size_t i = 0; i < some * k; i++)
            c->hits[i] = hit_of(c, c->found[at * k + i]);
        status = wcodec_rerank_run(s->rerank, s->widened + query * width, some, c->hits,
                                   s->ids + query * wanted, s->scores + query * wanted, err);
    }
    return status;
}

/* Queries on their way: rows of `pitch` numbers, and lengths. */
struct sending {
    const struct wcodec_search_chunks *chunk;
    size_t pitch;
    bool with_lengths;
    float *rows, *lengths;
    atomic_bool wrong; /* there are numbers that are refused */
};

static void send_block(void *opaque, size_t block)
{
    struct sending *s = opaque;
    const wcodec_vector_rows *from = s->chunk->search->queries;
    const size_t d = (size_t)from->dimensions, begin = block * WCODEC_SEARCH_BLOCK,
                 end = s->chunk->count - begin < WCODEC_SEARCH_BLOCK ? s->chunk->count
                                                                     : begin + WCODEC_SEARCH_BLOCK;
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
static bool send_queries(const struct wcodec_held_vectors *r, const struct wcodec_search_chunks *c,
                         const struct wcodec_search_step *step, struct sending *sending)
{
    *sending = (struct sending){.chunk = c,
                                .pitch = step->shape->pitch,
                                .with_lengths = step->metric == WCODEC_VECTORS_COSINE,
                                .rows = (float *)r->host.data};
    sending->lengths = sending->rows + c->count * sending->pitch;
    wcodec_run(r->owner.context, send_block, sending,
               (c->count + WCODEC_SEARCH_BLOCK - 1) / WCODEC_SEARCH_BLOCK);
    return !atomic_load(&sending->wrong);
}

/* Queries there, and what is found back in their place. */
static wcodec_status find(struct wcodec_held_vectors *r, const struct wcodec_search_chunks *c,
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

wcodec_status wcodec_search_chunks_run(struct wcodec_held_vectors *r,
                                       struct wcodec_search_chunks *chunk, bool *done,
                                       wcodec_error *reason, wcodec_error *err)
{
    const struct wcodec_device_search *search = chunk->search;
    const size_t n = (size_t)search->queries->count;
    struct wcodec_search_step planned, *step = &planned;
    struct sending sending;
    plan(search, step);
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
            wcodec_run(r->owner.context, put_block, chunk,
                       (chunk->count + WCODEC_SEARCH_BLOCK - 1) / WCODEC_SEARCH_BLOCK);
        else
            chunk->status = put_ranked(chunk, err);
        if (chunk->status != WCODEC_OK)
            return WCODEC_OK;
    }
    *done = status == WCODEC_OK;
    return status;
}
