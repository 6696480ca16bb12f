/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights that are changed in the memory of the device that has them: only the message's streams go
 * there, and what sums of hashes change by comes back. Each range of tiles has a lane of lib/save.
 */
#include "core/error.h"
#include "core/memory.h"
#include "sync/apply.h"
#include <inttypes.h>
#include <string.h>

enum {
    ALIGNMENT = 256,
    ROOM = WCODEC_SAVE_LANE_BYTES,
    ROOM_LEAST = 192 << 10,           /* of a range, beside its share of all streams */
    CODES = 2 * 2 * WCODEC_PATCH_CODE /* bytes */
};

/* Sparse tiles of a delta whose streams are sent together, with all that they need. */
struct wcodec_sync_range {
    uint64_t begin, end; /* tiles of the delta, also others than sparse ones */
    uint64_t stream;     /* where its streams begin among all */
    uint64_t size;       /* of these */
    uint32_t count;      /* of sparse tiles */
};

/* Where what is sent is in a lane's memory, and in the device's. */
struct range_layout {
    uint64_t tiles, results, streams, size;
};

struct patching {
    struct wcodec_sync_apply *apply;
    const struct wcodec_sync_tensor *tensor;
    const struct wcodec_delta *head;
    const struct wcodec_delta_side *side;
    const uint8_t *streams;
    atomic_bool changes;  /* a kernel that changes elements was launched */
    _Atomic uint64_t sum; /* what the tensor's changes by */
    struct wcodec_sync_failure failure;
};

static struct range_layout layout_of(uint64_t count, uint64_t size)
{
    struct range_layout l = {.tiles = CODES};
    l.results = wcodec_align_u64(l.tiles + count * sizeof(struct wcodec_patch_tile), ALIGNMENT);
    l.streams = wcodec_align_u64(l.results + count * sizeof(struct wcodec_patched_tile), ALIGNMENT);
    l.size = wcodec_align_u64(l.streams + size, 4) + 4;
    return l;
}

/* Where the next range ends; its size stays 0 if not even a tile fits. room: of a range, so that
 * all lanes have one. */
static struct wcodec_sync_range next_range(const struct wcodec_delta *d,
                                           const struct wcodec_delta_side *side, uint64_t begin,
                                           uint64_t room)
{
    struct wcodec_sync_range r = {.begin = begin, .end = begin};
    for (; r.end < d->tiles; r.end++) {
        const struct wcodec_delta_tile t = wcodec_delta_tile_at(side, r.end);
        if (t.mode != WCODEC_DELTA_SPARSE)
            continue;
        const uint64_t size = layout_of(r.count + 1, r.size + t.size).size;
        if (size > (r.count == 0 ? ROOM : room))
            break;
        r.stream = r.count == 0 ? t.place : r.stream;
        r.size += t.size;
        r.count++;
    }
    return r;
}

wcodec_status wcodec_sync_divide(const struct wcodec_sync_apply *a, struct wcodec_sync_tensor *s,
                                 wcodec_error *err)
{
    const struct wcodec_delta *d = &s->entry->u.delta->head;
    const uint64_t share = d->streams_size / a->weights->lane_count + ROOM_LEAST;
    size_t room = 0;
    for (uint64_t at = 0; at < d->tiles;) {
        const struct wcodec_sync_range r = next_range(d, s->side, at, share < ROOM ? share : ROOM);
        s->fits = r.end > at;
        if (!s->fits)
            break;
        at = r.end;
        if (r.count == 0)
            continue;
        if (s->range_count == room) {
            room = 2 * room + 8;
            struct wcodec_sync_range *more =
                wcodec_realloc_array(&a->context->allocator, s->ranges, room, sizeof *s->ranges);
            if (more == NULL)
                return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta's tiles");
            s->ranges = more;
        }
        s->ranges[s->range_count++] = r;
    }
    return WCODEC_OK;
}

static wcodec_status bad_tile(uint64_t tile, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                       "tile %" PRIu64 " of a delta is damaged: its stream or its check", tile);
}

static void put_code(const struct wcodec_delta_code *code, uint8_t *to)
{
    const unsigned used = code->single ? 1 : 1u << code->longest;
    memcpy(to, code->table, used * sizeof *code->table);
}

/* What is sent, of streams whose checks are right. */
static wcodec_status fill(const struct patching *p, const struct wcodec_sync_range *r,
                          const struct range_layout *l, uint8_t *to, wcodec_error *err)
{
    uint8_t *tile = to + l->tiles;
    put_code(&p->side->gaps, to);
    put_code(&p->side->values, to + CODES / 2);
    memset(to + l->results, 0, (size_t)(l->streams - l->results));
    for (uint64_t i = r->begin; i < r->end; i++) {
        const struct wcodec_delta_tile t = wcodec_delta_tile_at(p->side, i);
        const struct wcodec_patch_tile own = {.first = i << p->head->tile_log2,
                                              .stream = t.place - r->stream,
                                              .size = t.size,
                                              .count =
                                                  (uint32_t)wcodec_delta_tile_elements(p->head, i)};
        if (t.mode != WCODEC_DELTA_SPARSE)
            continue;
        memcpy(to + l->streams + own.stream, p->streams + t.place, t.size);
        if (wcodec_delta_check(to + l->streams + own.stream, t.size) != t.check)
            return bad_tile(i, err);
        memcpy(tile, &own, sizeof own);
        tile += sizeof own;
    }
    memset(to + l->streams + r->size, 0, (size_t)(l->size - l->streams - r->size));
    return WCODEC_OK;
}

/* By the lane's queue, up to what says which streams were bad. */
static wcodec_status send_range(struct patching *p, const struct wcodec_sync_range *r,
                                const struct range_layout *l, struct wcodec_save_lane *lane,
                                wcodec_error *err)
{
    struct wcodec_save_request *weights = p->apply->weights;
    const struct wcodec_save_place *place = &weights->places[p->tensor->weight];
    const struct wcodec_backend *b = weights->device->backend;
    const struct wcodec_tensor_patch patch = {
        .elements = place->memory,
        .elements_at = place->offset,
        .work = lane->work.memory,
        .tiles = l->tiles,
        .results = l->results,
        .streams = l->streams,
        .streams_size = r->size,
        .count = r->count,
        .element_log2 = p->head->element_log2,
        .gap_bits = p->side->gaps.single ? 0 : (uint8_t)p->side->gaps.longest,
        .value_bits = p->side->values.single ? 0 : (uint8_t)p->side->values.longest,
        .xor_values = p->head->xor_values};
    wcodec_status status =
        b->copy_in(lane->queue, lane->work.memory, 0, lane->staging.data, l->size, err);
    if (status == WCODEC_OK) {
        atomic_store(&p->changes, true);
        status = wcodec_sync_functions(weights)->patch(lane->queue, &patch, err);
    }
    if (status == WCODEC_OK)
        status = b->copy_out(lane->queue, lane->staging.data + l->results, lane->work.memory,
                             l->results, r->count * sizeof(struct wcodec_patched_tile), err);
    return status == WCODEC_OK ? b->queue_wait(lane->queue, err) : status;
}

static wcodec_status take_results(struct patching *p, const struct wcodec_sync_range *r,
                                  const uint8_t *results, wcodec_error *err)
{
    uint64_t sum = 0;
    for (uint64_t i = r->begin; i < r->end; i++) {
        struct wcodec_patched_tile own;
        if (wcodec_delta_tile_at(p->side, i).mode != WCODEC_DELTA_SPARSE)
            continue;
        memcpy(&own, results, sizeof own);
        if (own.fault != 0)
            return bad_tile(i, err);
        sum += own.sum;
        results += sizeof own;
    }
    atomic_fetch_add(&p->sum, sum);
    return WCODEC_OK;
}

static wcodec_status patch_range(struct patching *p, const struct wcodec_sync_range *r,
                                 wcodec_error *err)
{
    struct wcodec_save_request *weights = p->apply->weights;
    const struct range_layout l = layout_of(r->count, r->size);
    struct wcodec_save_lane *lane = NULL;
    wcodec_error reason = {0};
    bool device = true; /* it is what fails */
    wcodec_status status = wcodec_save_lane_take(weights, &lane, &reason);
    if (status != WCODEC_OK)
        return wcodec_sync_report(weights, status, &reason, err);
    status =
        wcodec_staging_reserve(&weights->owner, &lane->work, WCODEC_MEMORY_DEVICE, l.size, &reason);
    if (status == WCODEC_OK) {
        status = fill(p, r, &l, lane->staging.data, &reason);
        device = status == WCODEC_OK;
    }
    if (status == WCODEC_OK)
        status = send_range(p, r, &l, lane, &reason);
    if (status == WCODEC_OK) {
        status = take_results(p, r, lane->staging.data + l.results, &reason);
        device = status == WCODEC_OK;
    }
    status = wcodec_save_lane_end(weights, lane, status, &reason);
    if (device)
        return wcodec_sync_report(weights, status, &reason, err);
    *err = reason;
    return status;
}

static void patch_task(void *argument, size_t i)
{
    struct patching *p = argument;
    wcodec_error error = {0};
    if (atomic_load(&p->failure.failed))
        return;
    const wcodec_status status = patch_range(p, &p->tensor->ranges[i], &error);
    if (status != WCODEC_OK)
        wcodec_sync_failure_note(&p->failure, i, status, &error);
}

bool wcodec_sync_patches(const struct wcodec_sync_apply *a, const struct wcodec_sync_tensor *t)
{
    if (!wcodec_sync_on_device(a->weights, t->weight) || t->entry->coding != WCODEC_CODING_DELTA)
        return false;
    const struct wcodec_delta *d = &t->entry->u.delta->head;
    return d->counts[WCODEC_DELTA_EQUAL] + d->counts[WCODEC_DELTA_SPARSE] == d->elements;
}

wcodec_status wcodec_sync_patch_on_device(struct wcodec_sync_apply *a,
                                          const struct wcodec_sync_tensor *t, uint64_t *sum,
                                          wcodec_error *err)
{
    const uint8_t *payload = a->message.source.data + t->entry->payload_offset;
    struct patching p = {
        .apply = a, .tensor = t, .head = &t->entry->u.delta->head, .side = t->side};
    p.streams = payload + wcodec_delta_streams_begin(p.head);
    wcodec_status status = wcodec_sync_failure_init(&p.failure, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_run(a->context, patch_task, &p, t->range_count);
    if (atomic_load(&p.changes)) /* until its hash is the new one's */
        a->states[t->weight] = WCODEC_DELTA_STATE_BROKEN;
    *sum += atomic_load(&p.sum);
    return wcodec_sync_failure_end(&p.failure, err);
}
