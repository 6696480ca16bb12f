/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/held.h"

#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 16 << 20, /* bytes that go there at once */
    LANES = WCODEC_SEARCH_LANES,
    CODES = WCODEC_SEARCH_CODES
};

void wcodec_held_begin(struct wcodec_held_writer *w, struct wcodec_held_vectors *r,
                       struct wcodec_memory *memory, uint64_t at)
{
    *w = (struct wcodec_held_writer){.held = r, .memory = memory, .at = at};
}

static void flush(struct wcodec_held_writer *w, wcodec_error *err)
{
    struct wcodec_held_vectors *r = w->held;
    const struct wcodec_backend *b = r->owner.device->backend;
    if (w->status == WCODEC_OK && w->filled != 0)
        w->status = b->copy_in(r->queue, w->memory, w->at, r->host.data, w->filled, err);
    if (w->status == WCODEC_OK && w->filled != 0)
        w->status = b->queue_wait(r->queue, err);
    w->at += w->filled;
    w->filled = 0;
}

uint8_t *wcodec_held_room(struct wcodec_held_writer *w, size_t size, wcodec_error *err)
{
    if (w->filled + size > w->held->host.size)
        flush(w, err);
    uint8_t *room = w->held->host.data + w->filled;
    w->filled += size;
    return room;
}

void wcodec_held_put_u32(struct wcodec_held_writer *w, uint32_t value, wcodec_error *err)
{
    memcpy(wcodec_held_room(w, sizeof value, err), &value, sizeof value);
}

static void put_f32(struct wcodec_held_writer *w, float value, wcodec_error *err)
{
    wcodec_held_put_u32(w, wcodec_f32_bits(value), err);
}

wcodec_status wcodec_held_end(struct wcodec_held_writer *w, wcodec_error *err)
{
    flush(w, err);
    return w->status;
}

/* Rows of the store, one after the other, that were not removed. */
struct walk {
    const struct wcodec_vectors_store *store;
    size_t segment, at; /* of what is there: the next row */
};

static const struct wcodec_vectors_segment *next_row(struct walk *w, size_t *at)
{
    for (; w->segment < w->store->count; w->segment++, w->at = 0) {
        const struct wcodec_vectors_segment *s = &w->store->segments[w->segment];
        while (s->from + w->at < s->to) {
            *at = s->from + w->at++;
            if (!wcodec_segment_is_removed(s, s->row[*at]))
                return s;
        }
    }
    return NULL;
}

/* Rows of an anchor that are there and were not removed. */
static uint64_t count_rows(const struct wcodec_vectors_segment *s, size_t k)
{
    const size_t begin = s->begin[k] > s->from ? s->begin[k] : s->from,
                 end = s->begin[k + 1] < s->to ? s->begin[k + 1] : s->to;
    uint64_t count = 0;
    for (size_t i = begin; i < end; i++)
        count += !wcodec_segment_is_removed(s, s->row[i]);
    return count;
}

static int compare_down(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* Shape, ranks and sizes of lists. */
static wcodec_status measure(struct wcodec_held_vectors *r,
                             const struct wcodec_vectors_store *store, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->owner.context->allocator;
    uint64_t anchors = 0, pieces = 0, ranks = 0, at = 0;
    for (size_t i = 0; i < store->count; i++) {
        anchors += store->segments[i].m;
        ranks += store->segments[i].n;
    }
    if (ranks >= UINT32_MAX || anchors >= UINT32_MAX)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "they are too many");
    r->first_rank = wcodec_alloc_array(allocator, store->count, sizeof *r->first_rank);
    r->most_rows = wcodec_alloc_array(allocator, anchors, sizeof *r->most_rows);
    if (r->first_rank == NULL || r->most_rows == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu segments",
                           store->count);
    ranks = 0;
    for (size_t i = 0; i < store->count; i++) {
        const struct wcodec_vectors_segment *s = &store->segments[i];
        uint64_t *most = r->most_rows + at;
        r->first_rank[i] = ranks;
        ranks += s->n;
        for (size_t k = 0; k < s->m; k++) {
            most[k] = count_rows(s, k);
            pieces += (most[k] + WCODEC_SEARCH_PIECE - 1) / WCODEC_SEARCH_PIECE;
        }
        qsort(most, s->m, sizeof *most, compare_down);
        for (size_t k = 1; k < s->m; k++)
            most[k] += most[k - 1];
        at += s->m;
    }
    r->shape = (struct wcodec_search_shape){.rows = store->rows,
                                            .ranks = ranks,
                                            .dimensions = (uint32_t)store->d,
                                            .pitch = wcodec_vectors_pitch(store->d),
                                            .anchors = (uint32_t)anchors,
                                            .segments = (uint32_t)store->count,
                                            .pieces = (uint32_t)pieces};
    r->places = wcodec_search_places(&r->shape);
    return WCODEC_OK;
}

/* Anchor number `anchor` of all segments, or NULL: there is none. */
static const float *anchor_of(const struct wcodec_vectors_store *store, size_t *segment,
                              uint64_t *before, uint64_t anchor)
{
    while (*segment < store->count && anchor - *before >= store->segments[*segment].m)
        *before += store->segments[(*segment)++].m;
    return *segment < store->count ? store->segments[*segment].anchors +
                                         (anchor - *before) * store->segments[*segment].width
                                   : NULL;
}

/* Anchors, numbers of LANES of them beside each other, or row by row. */
static wcodec_status put_anchors(struct wcodec_held_vectors *r,
                                 const struct wcodec_vectors_store *store, size_t lanes,
                                 uint64_t place, wcodec_error *err)
{
    const size_t pitch = r->shape.pitch;
    struct wcodec_held_writer w;
    size_t segment = 0;
    uint64_t before = 0;
    wcodec_held_begin(&w, r, r->vectors, place);
    for (uint64_t first = 0; first < r->shape.anchors; first += lanes) {
        float *to = (float *)wcodec_held_room(&w, lanes * pitch * sizeof *to, err);
        memset(to, 0, lanes * pitch * sizeof *to);
        for (size_t lane = 0; lane < lanes; lane++) {
            const float *from = anchor_of(store, &segment, &before, first + lane);
            for (size_t j = 0; from != NULL && j < store->d; j++)
                to[j * lanes + lane] = from[j];
        }
    }
    return wcodec_held_end(&w, err);
}

/* What each anchor has. */
enum of_anchors { LENGTHS_OF_ANCHORS, SCALES, BEGIN, PIECES };

static wcodec_status put_of_anchors(struct wcodec_held_vectors *r,
                                    const struct wcodec_vectors_store *store, enum of_anchors what,
                                    uint64_t place, wcodec_error *err)
{
    struct wcodec_held_writer w;
    uint32_t anchor = 0, row = 0;
    wcodec_held_begin(&w, r, r->vectors, place);
    for (size_t i = 0; i < store->count; i++) {
        const struct wcodec_vectors_segment *s = &store->segments[i];
        for (size_t k = 0; k < s->m; k++, anchor++) {
            const uint32_t count = what == BEGIN || what == PIECES ? (uint32_t)count_rows(s, k) : 0;
            if (what == LENGTHS_OF_ANCHORS)
                put_f32(&w, s->anchor_lengths[k], err);
            else if (what == SCALES)
                put_f32(&w, s->scales[k], err);
            else if (what == BEGIN)
                wcodec_held_put_u32(&w, row, err);
            for (uint32_t at = 0; what == PIECES && at < count; at += WCODEC_SEARCH_PIECE) {
                wcodec_held_put_u32(&w, anchor, err);
                wcodec_held_put_u32(&w, row + at, err);
            }
            row += count;
        }
    }
    if (what == BEGIN)
        wcodec_held_put_u32(&w, row, err);
    return wcodec_held_end(&w, err);
}

static wcodec_status put_segments(struct wcodec_held_vectors *r,
                                  const struct wcodec_vectors_store *store, wcodec_error *err)
{
    struct wcodec_held_writer w;
    uint32_t anchors = 0;
    wcodec_held_begin(&w, r, r->vectors, r->places.segments);
    for (size_t i = 0; i < store->count; i++) {
        wcodec_held_put_u32(&w, anchors, err);
        anchors += (uint32_t)store->segments[i].m;
    }
    wcodec_held_put_u32(&w, anchors, err);
    return wcodec_held_end(&w, err);
}

/* What each row has. */
enum of_rows { RANKS, SQUARES, LENGTHS };

static wcodec_status put_of_rows(struct wcodec_held_vectors *r,
                                 const struct wcodec_vectors_store *store, enum of_rows what,
                                 uint64_t place, wcodec_error *err)
{
    struct walk walk = {.store = store};
    struct wcodec_held_writer w;
    const struct wcodec_vectors_segment *s;
    size_t at;
    wcodec_held_begin(&w, r, r->vectors, place);
    while ((s = next_row(&walk, &at)) != NULL)
        if (what == RANKS)
            wcodec_held_put_u32(&w, (uint32_t)r->first_rank[walk.segment] + s->row[at], err);
        else
            put_f32(&w, what == SQUARES ? s->squares[at] : s->lengths[at], err);
    return wcodec_held_end(&w, err);
}

static wcodec_status put_codes(struct wcodec_held_vectors *r,
                               const struct wcodec_vectors_store *store, wcodec_error *err)
{
    const size_t pitch = r->shape.pitch;
    struct walk walk = {.store = store};
    struct wcodec_held_writer w;
    wcodec_held_begin(&w, r, r->codes, 0);
    for (uint64_t first = 0; first < r->shape.rows; first += LANES) {
        uint8_t *to = wcodec_held_room(&w, LANES * pitch, err);
        for (size_t lane = 0; lane < LANES; lane++) {
            size_t at;
            const struct wcodec_vectors_segment *s = next_row(&walk, &at);
            for (size_t j = 0; j < pitch; j += CODES)
                if (s != NULL)
                    memcpy(to + j * LANES + lane * CODES, s->codes + at * s->stride + j, CODES);
                else
                    memset(to + j * LANES + lane * CODES, 0, CODES);
        }
    }
    return wcodec_held_end(&w, err);
}

static wcodec_status allocate(struct wcodec_held_vectors *r, wcodec_error *err)
{
    const struct wcodec_opened *o = r->owner.device;
    const uint64_t least = 4 * (uint64_t)LANES * r->shape.pitch;
    wcodec_status status = wcodec_staging_allocate(&r->owner, r->places.codes_size, &r->codes, err);
    if (status == WCODEC_OK)
        status = wcodec_staging_allocate(&r->owner, r->places.size, &r->vectors, err);
    if (status == WCODEC_OK)
        status = o->backend->queue_create(o->device, &r->queue, err);
    if (status == WCODEC_OK)
        status = wcodec_staging_reserve(&r->owner, &r->host, WCODEC_MEMORY_PINNED,
                                        least > CHUNK ? least : CHUNK, err);
    return status;
}

wcodec_status wcodec_held_upload(struct wcodec_held_vectors *r,
                                 const struct wcodec_vectors_store *store, uint64_t memory,
                                 wcodec_error *err)
{
    const struct wcodec_opened *o = r->owner.device;
    const struct wcodec_search_places *p = &r->places;
    wcodec_status status = measure(r, store, err);
    if (status == WCODEC_OK &&
        (o->backend->searches == NULL || !o->backend->searches->supports(o->device, &r->shape)))
        status = wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "%s has no kernels for such vectors",
                             o->listing.name);
    atomic_store(&r->owner.held, memory);
    if (status == WCODEC_OK)
        status = allocate(r, err);
    if (status == WCODEC_OK)
        status = put_anchors(r, store, LANES, p->panels, err);
    if (status == WCODEC_OK)
        status = put_anchors(r, store, 1, p->anchors, err);
    if (status == WCODEC_OK)
        status = put_of_anchors(r, store, LENGTHS_OF_ANCHORS, p->anchor_lengths, err);
    if (status == WCODEC_OK)
        status = put_of_anchors(r, store, SCALES, p->scales, err);
    if (status == WCODEC_OK)
        status = put_of_anchors(r, store, BEGIN, p->begin, err);
    if (status == WCODEC_OK)
        status = put_of_anchors(r, store, PIECES, p->pieces, err);
    if (status == WCODEC_OK)
        status = put_segments(r, store, err);
    if (status == WCODEC_OK)
        status = put_of_rows(r, store, RANKS, p->ranks, err);
    if (status == WCODEC_OK)
        status = put_of_rows(r, store, SQUARES, p->squares, err);
    if (status == WCODEC_OK)
        status = put_of_rows(r, store, LENGTHS, p->lengths, err);
    if (status == WCODEC_OK)
        status = put_codes(r, store, err);
    if (status == WCODEC_OK)
        atomic_store(&r->memory, p->size + p->codes_size);
    return status;
}

wcodec_status wcodec_held_reserve(struct wcodec_held_vectors *r, uint64_t size, wcodec_error *err)
{
    if (size <= r->work_size)
        return WCODEC_OK;
    wcodec_staging_free(&r->owner, r->work_size, &r->work);
    r->work_size = 0;
    const wcodec_status status = wcodec_staging_allocate(&r->owner, size, &r->work, err);
    r->work_size = status == WCODEC_OK ? size : 0;
    atomic_store(&r->memory, r->places.size + r->places.codes_size + r->work_size);
    return status;
}

void wcodec_held_free(struct wcodec_held_vectors *r)
{
    const wcodec_allocator *allocator = &r->owner.context->allocator;
    r->there = false;
    atomic_store(&r->memory, 0);
    if (r->owner.device != NULL) {
        const struct wcodec_backend *b = r->owner.device->backend;
        if (r->queue != NULL) {
            b->queue_wait(r->queue, NULL);
            b->queue_destroy(r->queue);
        }
        wcodec_staging_release(&r->owner, &r->host);
        wcodec_staging_free(&r->owner, r->places.codes_size, &r->codes);
        wcodec_staging_free(&r->owner, r->places.size, &r->vectors);
        wcodec_staging_free(&r->owner, r->work_size, &r->work);
    }
    r->queue = NULL;
    r->work_size = 0;
    wcodec_free(allocator, r->first_rank);
    wcodec_free(allocator, r->most_rows);
    r->first_rank = r->most_rows = NULL;
}
