/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights that are hashed and changed in the memory of the device that has them: only the message's
 * streams go there, and sums of hashes come back. Each piece of work has a lane of lib/save. */
#include "core/error.h"
#include "core/memory.h"
#include "sync/apply.h"
#include <inttypes.h>
#include <string.h>

enum {
    LEAF = WCODEC_LEAF_BYTES,
    ALIGNMENT = 256,
    ROOM = WCODEC_SAVE_LANE_BYTES,
    ROOM_LEAST = 192 << 10,           /* of a range, beside its share of all streams */
    PIECES = ROOM / 8,                /* of a linear hash that a lane brings at once */
    CODES = 2 * 2 * WCODEC_PATCH_CODE /* bytes */
};

static const struct wcodec_backend_deltas *functions(const struct wcodec_save_request *r)
{
    return r->device->backend->deltas;
}

bool wcodec_sync_on_device(const struct wcodec_save_request *r, uint64_t tensor)
{
    const struct wcodec_save_place *place = &r->places[tensor];
    return r->declared.tensors[tensor].size >= LEAF && place->host == NULL &&
           place->offset % 16 == 0 && r->device != NULL && functions(r) != NULL &&
           functions(r)->supports(r->device->device);
}

static wcodec_status report(struct wcodec_save_request *r, wcodec_status status,
                            const wcodec_error *reason, wcodec_error *err)
{
    return status == WCODEC_OK ? status
                               : wcodec_backends_failed(r->context, r->device, status, reason, err);
}

/* What pieces of [at, at + size) of a tensor add to its sum. */
static wcodec_status sum_part(struct wcodec_save_request *r, uint64_t tensor, uint64_t at,
                              uint64_t size, uint64_t *sum, wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    const struct wcodec_save_place *place = &r->places[tensor];
    const uint64_t pieces = wcodec_div_up_u64(size, LEAF);
    struct wcodec_save_lane *lane = NULL;
    wcodec_status status = wcodec_save_lane_take(r, &lane, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_staging_reserve(&r->owner, &lane->work, WCODEC_MEMORY_DEVICE,
                                    pieces * sizeof *sum, err);
    const struct wcodec_tensor_linear linear = {.elements = place->memory,
                                                .elements_at = place->offset,
                                                .out = lane->work.memory,
                                                .before = at,
                                                .size = size};
    if (status == WCODEC_OK)
        status = functions(r)->linear(lane->queue, &linear, err);
    if (status == WCODEC_OK)
        status = b->copy_out(lane->queue, lane->staging.data, lane->work.memory, 0,
                             pieces * sizeof *sum, err);
    if (status == WCODEC_OK)
        status = b->queue_wait(lane->queue, err);
    for (uint64_t i = 0, own; i < pieces && status == WCODEC_OK; i++) { /* in the device's order */
        memcpy(&own, lane->staging.data + i * sizeof own, sizeof own);
        *sum += own;
    }
    return wcodec_save_lane_end(r, lane, status, err);
}

wcodec_status wcodec_sync_sum_on_device(struct wcodec_save_request *r, uint64_t tensor,
                                        uint64_t *sum, wcodec_error *err)
{
    const uint64_t size = r->declared.tensors[tensor].size, most = (uint64_t)PIECES * LEAF;
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    *sum = 0;
    for (uint64_t at = 0; at < size && status == WCODEC_OK; at += most)
        status = sum_part(r, tensor, at, size - at < most ? size - at : most, sum, &reason);
    return report(r, status, &reason, err);
}

/* Sparse tiles of a delta whose streams are sent together, with all that they need. */
struct range {
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
    struct range *ranges;
    size_t range_count;
    uint64_t room;        /* of a range, so that all lanes have one */
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

/* Where the next range ends; its size stays 0 if not even a tile fits. */
static struct range next_range(const struct patching *p, uint64_t begin)
{
    struct range r = {.begin = begin, .end = begin};
    for (; r.end < p->head->tiles; r.end++) {
        const struct wcodec_delta_tile t = wcodec_delta_tile_at(p->side, r.end);
        if (t.mode != WCODEC_DELTA_SPARSE)
            continue;
        const uint64_t size = layout_of(r.count + 1, r.size + t.size).size;
        if (size > (r.count == 0 ? ROOM : p->room))
            break;
        r.stream = r.count == 0 ? t.place : r.stream;
        r.size += t.size;
        r.count++;
    }
    return r;
}

/* All ranges, of which there may be none. *fits: each tile is in one. */
static wcodec_status make_ranges(struct patching *p, bool *fits, wcodec_error *err)
{
    const wcodec_allocator *allocator = &p->apply->context->allocator;
    size_t room = 0;
    *fits = true;
    for (uint64_t at = 0; at < p->head->tiles;) {
        const struct range r = next_range(p, at);
        *fits = r.end > at;
        if (!*fits)
            return WCODEC_OK;
        at = r.end;
        if (r.count == 0)
            continue;
        if (p->range_count == room) {
            room = 2 * room + 8;
            struct range *more =
                wcodec_realloc_array(allocator, p->ranges, room, sizeof *p->ranges);
            if (more == NULL)
                return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta's tiles");
            p->ranges = more;
        }
        p->ranges[p->range_count++] = r;
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
static wcodec_status fill(const struct patching *p, const struct range *r,
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
static wcodec_status send_range(struct patching *p, const struct range *r,
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
        status = functions(weights)->patch(lane->queue, &patch, err);
    }
    if (status == WCODEC_OK)
        status = b->copy_out(lane->queue, lane->staging.data + l->results, lane->work.memory,
                             l->results, r->count * sizeof(struct wcodec_patched_tile), err);
    return status == WCODEC_OK ? b->queue_wait(lane->queue, err) : status;
}

static wcodec_status take_results(struct patching *p, const struct range *r, const uint8_t *results,
                                  wcodec_error *err)
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

static wcodec_status patch_range(struct patching *p, const struct range *r, wcodec_error *err)
{
    struct wcodec_save_request *weights = p->apply->weights;
    const struct range_layout l = layout_of(r->count, r->size);
    struct wcodec_save_lane *lane = NULL;
    wcodec_error reason = {0};
    bool device = true; /* it is what fails */
    wcodec_status status = wcodec_save_lane_take(weights, &lane, &reason);
    if (status != WCODEC_OK)
        return report(weights, status, &reason, err);
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
        return report(weights, status, &reason, err);
    *err = reason;
    return status;
}

static void patch_task(void *argument, size_t i)
{
    struct patching *p = argument;
    wcodec_error error = {0};
    if (atomic_load(&p->failure.failed))
        return;
    const wcodec_status status = patch_range(p, &p->ranges[i], &error);
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
                                          const struct wcodec_sync_tensor *t, bool *taken,
                                          uint64_t *sum, wcodec_error *err)
{
    const wcodec_allocator *allocator = &a->context->allocator;
    const uint8_t *payload = a->message.source.data + t->entry->payload_offset;
    struct patching p = {
        .apply = a, .tensor = t, .head = &t->entry->u.delta->head, .side = t->side};
    wcodec_status status = WCODEC_OK;
    p.streams = payload + wcodec_delta_streams_begin(p.head);
    p.room = p.head->streams_size / a->weights->lane_count + ROOM_LEAST;
    p.room = p.room < ROOM ? p.room : ROOM;
    status = make_ranges(&p, taken, err);
    if (status == WCODEC_OK && *taken)
        status = wcodec_sync_failure_init(&p.failure, err);
    if (status == WCODEC_OK && *taken) {
        wcodec_run(a->context, patch_task, &p, p.range_count);
        if (atomic_load(&p.changes)) /* until its hash is the new one's */
            a->states[t->weight] = WCODEC_DELTA_STATE_BROKEN;
        status = wcodec_sync_failure_end(&p.failure, err);
    }
    *sum += atomic_load(&p.sum);
    wcodec_free(allocator, p.ranges);
    return status;
}
