/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights that are hashed and changed in the memory of the device that has them: only the message's
 * streams go there, and hashes of leaves come back. Each piece of work has a lane of lib/save. */
#include "core/error.h"
#include "core/memory.h"
#include "sync/apply.h"
#include <inttypes.h>
#include <string.h>

enum {
    LEAF = WCODEC_LEAF_BYTES,
    DIGEST = 16,
    ALIGNMENT = 256,
    ROOM = WCODEC_SAVE_LANE_BYTES,
    ROOM_LEAST = 192 << 10, /* of a range, beside its share of all streams */
    LEAVES = 32768,         /* digests that a lane brings at once, beside what is after them */
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

static void take_digests(const uint8_t *from, uint64_t count, uint8_t *to)
{
    for (uint64_t i = 0, half; i < count * DIGEST; i += sizeof half) { /* in the device's order */
        memcpy(&half, from + i, sizeof half);
        wcodec_store_u64(to + i, half);
    }
}

/* Of the last bytes, which are no whole leaf. */
static void put_digest(const uint8_t *bytes, uint64_t size, uint8_t *to)
{
    const struct wcodec_tree_hash h = wcodec_leaf_plain(bytes, (size_t)size);
    wcodec_store_u64(to, h.low);
    wcodec_store_u64(to + 8, h.high);
}

/* The tensor's hash; there is room for a size after the digests. */
static uint64_t root_of(uint8_t *digests, uint64_t count, uint64_t size)
{
    wcodec_store_u64(digests + count * DIGEST, size);
    return wcodec_leaf_plain(digests, (size_t)count * DIGEST + 8).low;
}

/* Digests of `count` whole leaves from number `first` on, and of the bytes after them, `left`. */
static wcodec_status bring_digests(struct wcodec_save_request *r, uint64_t tensor, uint64_t first,
                                   uint64_t count, uint64_t left, uint8_t *to, wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    const struct wcodec_save_place *place = &r->places[tensor];
    const uint64_t at = place->offset + first * LEAF, size = count * DIGEST;
    struct wcodec_save_lane *lane = NULL;
    wcodec_status status = wcodec_save_lane_take(r, &lane, err);
    if (status != WCODEC_OK)
        return status;
    if (count != 0)
        status = wcodec_staging_reserve(&r->owner, &lane->work, WCODEC_MEMORY_DEVICE, size, err);
    if (status == WCODEC_OK && count != 0)
        status = wcodec_save_hash(r, lane, place->memory, at, count, WCODEC_SAVE_LEAF_LOG2, 0, err);
    if (status == WCODEC_OK && count != 0)
        status = b->copy_out(lane->queue, lane->staging.data, lane->work.memory, 0, size, err);
    if (status == WCODEC_OK && left != 0)
        status = b->copy_out(lane->queue, lane->staging.data + size, place->memory,
                             at + count * LEAF, left, err);
    if (status == WCODEC_OK)
        status = b->queue_wait(lane->queue, err);
    if (status == WCODEC_OK) {
        take_digests(lane->staging.data, count, to);
        if (left != 0)
            put_digest(lane->staging.data + size, left, to + size);
    }
    return wcodec_save_lane_end(r, lane, status, err);
}

wcodec_status wcodec_sync_hash_on_device(struct wcodec_save_request *r, uint64_t tensor,
                                         uint64_t *hash, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    const uint64_t size = r->declared.tensors[tensor].size, leaves = size / LEAF,
                   all = wcodec_div_up_u64(size, LEAF);
    uint8_t *digests = wcodec_alloc_array(allocator, all + 1, DIGEST);
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    if (digests == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash");
    for (uint64_t at = 0; at < leaves && status == WCODEC_OK; at += LEAVES) {
        const uint64_t more = leaves - at, count = more < LEAVES ? more : LEAVES;
        status = bring_digests(r, tensor, at, count, count == more ? size - leaves * LEAF : 0,
                               digests + at * DIGEST, &reason);
    }
    if (status == WCODEC_OK)
        *hash = root_of(digests, all, size);
    wcodec_free(allocator, digests);
    return report(r, status, &reason, err);
}

/* What a tensor's hash and the file's need of it, by one reading. */
struct looking {
    struct wcodec_save_request *request;
    uint64_t tensor;
    uint64_t hash; /* the tensor's */
};

/* Where that is in a lane's staging memory: first what `look` asks for in bytes. */
enum {
    REST = WCODEC_WRITE_LOOK_MOST,
    BOTH = REST + LEAF,
    BOTH_LEAVES = (ROOM - BOTH) / (2 * DIGEST)
};

/* What `look` asks for in bytes, and the tensor's last ones, of no whole leaf. Does not wait. */
static wcodec_status bring_bytes(const struct looking *k, struct wcodec_save_lane *lane,
                                 const struct wcodec_write_look *look, wcodec_error *err)
{
    const struct wcodec_save_request *r = k->request;
    const struct wcodec_backend *b = r->device->backend;
    const struct wcodec_save_place *place = &r->places[k->tensor];
    const uint64_t size = r->declared.tensors[k->tensor].size, whole = size / LEAF * LEAF;
    wcodec_status status = WCODEC_OK;
    uint64_t bytes = 0;
    for (size_t i = 0; i < look->range_count && status == WCODEC_OK; i++) {
        const struct wcodec_source_range *range = &look->ranges[i];
        status = b->copy_out(lane->queue, lane->staging.data + bytes, place->memory,
                             place->offset + (range->offset - place->at), range->size, err);
        bytes += range->size;
    }
    return status == WCODEC_OK && size != whole
               ? b->copy_out(lane->queue, lane->staging.data + REST, place->memory,
                             place->offset + whole, size - whole, err)
               : status;
}

/* Digests of leaves [at, at + count) of the tensor, as far as it has them, and of as many of the
 * file; they come to the staging memory in this order. With the first ones come the bytes. */
static wcodec_status bring_both(const struct looking *k, struct wcodec_save_lane *lane,
                                const struct wcodec_write_look *look, uint64_t at, uint8_t *digests,
                                wcodec_error *err)
{
    struct wcodec_save_request *r = k->request;
    const struct wcodec_save_place *place = &r->places[k->tensor];
    const uint64_t own = r->declared.tensors[k->tensor].size / LEAF,
                   first = look->first_leaf * LEAF - place->at;
    const struct wcodec_save_leaves tensors = {place->offset + at * LEAF,
                                               own - at < BOTH_LEAVES ? own - at : BOTH_LEAVES, 0};
    struct wcodec_save_leaves files = {place->offset + first + at * LEAF, 0,
                                       DIGEST * (uint64_t)BOTH_LEAVES};
    if (look->leaf_count > at)
        files.count = look->leaf_count - at < BOTH_LEAVES ? look->leaf_count - at : BOTH_LEAVES;
    const struct wcodec_backend *b = r->device->backend;
    uint8_t *const staged = lane->staging.data + BOTH;
    wcodec_status status = wcodec_staging_reserve(&r->owner, &lane->work, WCODEC_MEMORY_DEVICE,
                                                  2 * DIGEST * (uint64_t)BOTH_LEAVES, err);
    if (status == WCODEC_OK)
        status = wcodec_save_hash_two(r, lane, place->memory, &tensors, &files,
                                      WCODEC_SAVE_LEAF_LOG2, err);
    if (status == WCODEC_OK && at == 0)
        status = bring_bytes(k, lane, look, err);
    if (status == WCODEC_OK)
        status =
            b->copy_out(lane->queue, staged, lane->work.memory, 0, DIGEST * tensors.count, err);
    if (status == WCODEC_OK)
        status = b->copy_out(lane->queue, staged + files.to, lane->work.memory, files.to,
                             DIGEST * files.count, err);
    if (status == WCODEC_OK)
        status = b->queue_wait(lane->queue, err);
    if (status != WCODEC_OK)
        return status;
    take_digests(staged, tensors.count, digests + at * DIGEST);
    for (uint64_t i = 0; i < files.count; i++) { /* in the device's order */
        memcpy(&look->leaves[at + i].low, staged + files.to + i * DIGEST, 8);
        memcpy(&look->leaves[at + i].high, staged + files.to + i * DIGEST + 8, 8);
    }
    return WCODEC_OK;
}

/* All of it; the tensor's digests, to which that of its last bytes is added. */
static wcodec_status look_in_lane(const struct looking *k, struct wcodec_save_lane *lane,
                                  const struct wcodec_write_look *look, uint8_t *digests,
                                  wcodec_error *err)
{
    const uint64_t size = k->request->declared.tensors[k->tensor].size, leaves = size / LEAF,
                   rest = size - leaves * LEAF;
    wcodec_status status = WCODEC_OK;
    uint64_t bytes = 0;
    for (size_t i = 0; i < look->range_count; i++)
        bytes += look->ranges[i].size;
    for (uint64_t at = 0; at < leaves && status == WCODEC_OK; at += BOTH_LEAVES)
        status = bring_both(k, lane, look, at, digests, err);
    if (status != WCODEC_OK)
        return status;
    memcpy(look->bytes, lane->staging.data, (size_t)bytes);
    if (rest != 0)
        put_digest(lane->staging.data + REST, rest, digests + leaves * DIGEST);
    return WCODEC_OK;
}

/* A function of struct wcodec_write_coder. */
static wcodec_status look_both(void *opaque, uint64_t offset, const struct wcodec_write_look *look,
                               wcodec_error *err)
{
    struct looking *k = opaque;
    struct wcodec_save_request *r = k->request;
    const uint64_t size = r->declared.tensors[k->tensor].size, all = wcodec_div_up_u64(size, LEAF);
    struct wcodec_save_lane *lane = NULL;
    (void)offset;
    uint8_t *digests = wcodec_alloc_array(&r->context->allocator, all + 1, DIGEST);
    if (digests == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash");
    wcodec_status status = wcodec_save_lane_take(r, &lane, err);
    if (status == WCODEC_OK)
        status = wcodec_save_lane_end(r, lane, look_in_lane(k, lane, look, digests, err), err);
    if (status == WCODEC_OK)
        k->hash = root_of(digests, all, size);
    wcodec_free(&r->context->allocator, digests);
    return status;
}

wcodec_status wcodec_sync_look_on_device(struct wcodec_save_request *r, uint64_t tensor,
                                         uint64_t *hash, struct wcodec_looked *looked,
                                         wcodec_error *err)
{
    const struct wcodec_save_place *place = &r->places[tensor];
    struct looking k = {.request = r, .tensor = tensor};
    struct wcodec_write_coder coder = {.opaque = &k, .look = look_both};
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    if (place->at % 8 != 0) { /* the file's leaves are at no address that a kernel reads at */
        status = wcodec_sync_hash_on_device(r, tensor, hash, err);
        if (status != WCODEC_OK)
            return status;
        coder = (struct wcodec_write_coder){.opaque = r, .look = wcodec_save_look};
        return wcodec_looked_take(&r->context->allocator, &coder, place->at,
                                  r->declared.tensors[tensor].size, false, looked, err);
    }
    status = wcodec_looked_take(&r->context->allocator, &coder, place->at,
                                r->declared.tensors[tensor].size, false, looked, &reason);
    *hash = k.hash;
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
    uint64_t tiles, faults, streams, size;
};

struct patching {
    struct wcodec_sync_apply *apply;
    const struct wcodec_sync_tensor *tensor;
    const struct wcodec_delta *head;
    const struct wcodec_delta_side *side;
    const uint8_t *streams;
    struct range *ranges;
    size_t range_count;
    uint64_t room;       /* of a range, so that all lanes have one */
    atomic_bool changes; /* a kernel that changes elements was launched */
    struct wcodec_sync_failure failure;
};

static struct range_layout layout_of(uint64_t count, uint64_t size)
{
    struct range_layout l = {.tiles = CODES};
    l.faults = wcodec_align_u64(l.tiles + count * sizeof(struct wcodec_patch_tile), ALIGNMENT);
    l.streams = wcodec_align_u64(l.faults + 4 * count, ALIGNMENT);
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
    memset(to + l->faults, 0, (size_t)(l->streams - l->faults));
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
        .faults = l->faults,
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
        status = b->copy_out(lane->queue, lane->staging.data + l->faults, lane->work.memory,
                             l->faults, (uint64_t)4 * r->count, err);
    return status == WCODEC_OK ? b->queue_wait(lane->queue, err) : status;
}

static wcodec_status check_faults(const struct patching *p, const struct range *r,
                                  const uint8_t *faults, wcodec_error *err)
{
    for (uint64_t i = r->begin; i < r->end; i++) {
        if (wcodec_delta_tile_at(p->side, i).mode != WCODEC_DELTA_SPARSE)
            continue;
        if ((faults[0] | faults[1] | faults[2] | faults[3]) != 0)
            return bad_tile(i, err);
        faults += 4;
    }
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
        status = check_faults(p, r, lane->staging.data + l.faults, &reason);
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
                                          wcodec_error *err)
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
    wcodec_free(allocator, p.ranges);
    return status;
}
