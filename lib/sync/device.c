/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights that are hashed and changed in the memory of the device that has them: only the message's
 * streams go there, and what hashes are made of comes back. */
#define XXH_INLINE_ALL /* for the secret, and the end of a leaf's hash */
#include <xxhash.h>

#include "core/error.h"
#include "core/memory.h"
#include "sync/apply.h"
#include <inttypes.h>
#include <string.h>

enum {
    LEAF = WCODEC_LEAF_BYTES,
    ACCUMULATORS = 64, /* bytes of a leaf */
    DIGEST = 16,
    ALIGNMENT = 256
};

/* Streams that are sent as a whole. */
#define STREAMS_MOST ((uint64_t)1 << 31)

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

static wcodec_status failed(struct wcodec_save_request *r, wcodec_status status,
                            const wcodec_error *reason, wcodec_error *err)
{
    return status == WCODEC_OK ? status
                               : wcodec_backends_failed(r->context, r->device, status, reason, err);
}

static wcodec_status make_queue(struct wcodec_save_request *r, struct wcodec_queue **queue,
                                wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    wcodec_status status = b->queue_create(r->device->device, queue, err);
    if (status == WCODEC_OK && r->after != NULL)
        status = b->queue_after(*queue, r->after, err);
    return status;
}

/* A queue and memory, which nothing works on any more afterwards. */
static void end(struct wcodec_save_request *r, struct wcodec_queue *queue,
                struct wcodec_memory *memory)
{
    const struct wcodec_backend *b = r->device->backend;
    if (queue != NULL) {
        (void)b->queue_wait(queue, NULL);
        b->queue_destroy(queue);
    }
    if (memory != NULL)
        b->memory_free(memory);
}

static struct wcodec_tree_hash finish_leaf(const uint8_t *accumulators)
{
    uint64_t a[8];
    for (unsigned i = 0; i < 8; i++)
        a[i] = wcodec_load_u64(accumulators + 8 * i);
    const uint8_t *last = XXH3_kSecret + XXH_SECRET_DEFAULT_SIZE - ACCUMULATORS - 11;
    return (struct wcodec_tree_hash){.low =
                                         XXH3_mergeAccs(a, XXH3_kSecret + 11, LEAF * XXH_PRIME64_1),
                                     .high = XXH3_mergeAccs(a, last, ~(LEAF * XXH_PRIME64_2))};
}

/* Accumulators of `leaves` to `bytes`, and what is after these to `rest`. */
static wcodec_status bring_leaves(struct wcodec_save_request *r, uint64_t tensor, uint64_t leaves,
                                  uint8_t *bytes, uint8_t *rest, wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    const struct wcodec_save_place *place = &r->places[tensor];
    uint64_t secret[24];
    struct wcodec_memory *memory = NULL;
    struct wcodec_queue *queue = NULL;
    for (unsigned i = 0; i < 24; i++)
        secret[i] = wcodec_load_u64(XXH3_kSecret + 8 * (size_t)i);
    struct wcodec_tensor_leaves l = {
        .elements = place->memory, .elements_at = place->offset, .count = leaves, .secret = secret};
    wcodec_status status = b->memory_allocate(r->device->device, WCODEC_MEMORY_DEVICE,
                                              leaves * ACCUMULATORS, &memory, err);
    l.out = memory;
    if (status == WCODEC_OK)
        status = make_queue(r, &queue, err);
    if (status == WCODEC_OK)
        status = functions(r)->hash(queue, &l, err);
    if (status == WCODEC_OK)
        status = b->copy_out(queue, bytes, memory, 0, leaves * ACCUMULATORS, err);
    if (status == WCODEC_OK)
        status = b->copy_out(queue, rest, place->memory, place->offset + leaves * LEAF,
                             r->declared.tensors[tensor].size - leaves * LEAF, err);
    if (status == WCODEC_OK)
        status = b->queue_wait(queue, err);
    end(r, queue, memory);
    return status;
}

wcodec_status wcodec_sync_hash_on_device(struct wcodec_save_request *r, uint64_t tensor,
                                         uint64_t *hash, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    const uint64_t size = r->declared.tensors[tensor].size, leaves = size / LEAF,
                   left = size - leaves * LEAF;
    uint8_t *bytes = wcodec_alloc(allocator, (size_t)(leaves * ACCUMULATORS + DIGEST + 8));
    uint8_t *rest = wcodec_alloc(allocator, LEAF);
    wcodec_error reason = {0};
    wcodec_status status =
        bytes != NULL && rest != NULL
            ? failed(r, bring_leaves(r, tensor, leaves, bytes, rest, &reason), &reason, err)
            : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash");
    if (status == WCODEC_OK) {
        uint8_t *to = bytes; /* digests are shorter: they take their place */
        for (uint64_t i = 0; i < leaves + (left != 0); i++, to += DIGEST) {
            const struct wcodec_tree_hash h = i < leaves ? finish_leaf(bytes + i * ACCUMULATORS)
                                                         : wcodec_leaf_plain(rest, (size_t)left);
            wcodec_store_u64(to, h.low);
            wcodec_store_u64(to + 8, h.high);
        }
        wcodec_store_u64(to, size);
        *hash = wcodec_leaf_plain(bytes, (size_t)(to - bytes) + 8).low;
    }
    wcodec_free(allocator, bytes);
    wcodec_free(allocator, rest);
    return status;
}

/* A delta's sparse tiles as the device is given them. */
struct patching {
    struct wcodec_save_request *request;
    const struct wcodec_delta *head;
    struct wcodec_delta_side *side;
    const uint8_t *streams;
    struct wcodec_tensor_patch patch;
    uint64_t size;       /* of its work area, to where the streams end */
    uint8_t *head_bytes; /* of the work area but the streams; then faults */
};

static bool has_sparse_alone(const struct wcodec_delta *d)
{
    return d->counts[WCODEC_DELTA_SPARSE] != 0 &&
           d->counts[WCODEC_DELTA_EQUAL] + d->counts[WCODEC_DELTA_SPARSE] == d->elements &&
           d->streams_size <= STREAMS_MOST && d->tiles <= UINT32_MAX / 2;
}

bool wcodec_sync_patches(const struct wcodec_sync_apply *a, const struct wcodec_sync_tensor *t)
{
    return wcodec_sync_on_device(a->weights, t->weight) &&
           t->entry->coding == WCODEC_CODING_DELTA &&
           (t->equal || has_sparse_alone(&t->entry->u.delta->head));
}

static wcodec_status bad_tile(uint64_t tile, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                       "tile %" PRIu64 " of a delta is damaged: its stream or its check", tile);
}

static void put_code(const struct wcodec_delta_code *code, uint8_t *to)
{
    const unsigned used = code->single ? 1 : 1u << code->longest;
    for (unsigned i = 0; i < used; i++)
        wcodec_store_u16(to + 2 * (size_t)i, code->table[i]);
}

/* The work area: tiles, codes, faults, streams. Checks of streams are compared here. */
static wcodec_status plan(struct patching *p, wcodec_error *err)
{
    const struct wcodec_delta *d = p->head;
    const wcodec_allocator *allocator = &p->request->context->allocator;
    struct wcodec_tensor_patch *patch = &p->patch;
    for (uint64_t i = 0; i < d->tiles; i++)
        patch->count += wcodec_delta_tile_at(p->side, i).mode == WCODEC_DELTA_SPARSE;
    patch->codes = wcodec_align_u64(patch->count * sizeof(struct wcodec_patch_tile), ALIGNMENT);
    patch->faults = patch->codes + (uint64_t)4 * WCODEC_PATCH_CODE;
    patch->streams = wcodec_align_u64(patch->faults + (uint64_t)4 * patch->count, ALIGNMENT);
    patch->streams_size = d->streams_size;
    p->size = wcodec_align_u64(patch->streams + d->streams_size, 4) + 4;
    p->head_bytes = wcodec_alloc_zeroed(allocator, (size_t)patch->streams);
    if (p->head_bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta's tiles");
    uint8_t *to = p->head_bytes;
    for (uint64_t i = 0; i < d->tiles; i++) {
        const struct wcodec_delta_tile t = wcodec_delta_tile_at(p->side, i);
        if (t.mode != WCODEC_DELTA_SPARSE)
            continue;
        if (wcodec_delta_check(p->streams + t.place, t.size) != t.check)
            return bad_tile(i, err);
        const struct wcodec_patch_tile tile = {.first = i << d->tile_log2,
                                               .stream = t.place,
                                               .size = t.size,
                                               .count = (uint32_t)wcodec_delta_tile_elements(d, i)};
        memcpy(to, &tile, sizeof tile);
        to += sizeof tile;
    }
    patch->element_log2 = d->element_log2;
    patch->xor_values = d->xor_values;
    patch->gap_bits = p->side->gaps.single ? 0 : p->side->gaps.longest;
    patch->value_bits = p->side->values.single ? 0 : p->side->values.longest;
    put_code(&p->side->gaps, p->head_bytes + patch->codes);
    put_code(&p->side->values, p->head_bytes + patch->codes + 2 * (size_t)WCODEC_PATCH_CODE);
    return WCODEC_OK;
}

static wcodec_status check_faults(const struct patching *p, wcodec_error *err)
{
    uint64_t number = 0;
    for (uint64_t i = 0; i < p->head->tiles; i++)
        if (wcodec_delta_tile_at(p->side, i).mode == WCODEC_DELTA_SPARSE &&
            wcodec_load_u32(p->head_bytes + p->patch.faults + 4 * number++) != 0)
            return bad_tile(i, err);
    return WCODEC_OK;
}

/* What is sent; *state: what has become of the tensor if it fails. */
static wcodec_status patch(struct patching *p, uint8_t *state, wcodec_error *err)
{
    struct wcodec_save_request *r = p->request;
    const struct wcodec_backend *b = r->device->backend;
    struct wcodec_queue *queue = NULL;
    wcodec_status status =
        b->memory_allocate(r->device->device, WCODEC_MEMORY_DEVICE, p->size, &p->patch.work, err);
    if (status == WCODEC_OK)
        status = make_queue(r, &queue, err);
    if (status == WCODEC_OK)
        status = b->copy_in(queue, p->patch.work, 0, p->head_bytes, p->patch.streams, err);
    if (status == WCODEC_OK)
        status = b->copy_in(queue, p->patch.work, p->patch.streams, p->streams,
                            p->patch.streams_size, err);
    if (status == WCODEC_OK) {
        *state = WCODEC_DELTA_STATE_BROKEN;
        status = functions(r)->patch(queue, &p->patch, err);
    }
    if (status == WCODEC_OK)
        status = b->copy_out(queue, p->head_bytes + p->patch.faults, p->patch.work, p->patch.faults,
                             (uint64_t)4 * p->patch.count, err);
    if (status == WCODEC_OK)
        status = b->queue_wait(queue, err);
    end(r, queue, p->patch.work);
    return status;
}

wcodec_status wcodec_sync_patch_on_device(struct wcodec_sync_apply *a,
                                          const struct wcodec_sync_tensor *t, wcodec_error *err)
{
    const wcodec_allocator *allocator = &a->context->allocator;
    const struct wcodec_save_place *place = &a->weights->places[t->weight];
    const uint8_t *payload = a->message.source.data + t->entry->payload_offset;
    struct patching p = {.request = a->weights, .head = &t->entry->u.delta->head};
    wcodec_error reason = {0};
    p.streams = payload + wcodec_delta_streams_begin(p.head);
    p.patch.elements = place->memory;
    p.patch.elements_at = place->offset;
    wcodec_status status = wcodec_delta_side_read(p.head, payload, allocator, &p.side, err);
    if (status == WCODEC_OK)
        status = plan(&p, err);
    if (status == WCODEC_OK)
        status = failed(a->weights, patch(&p, &a->states[t->weight], &reason), &reason, err);
    if (status == WCODEC_OK)
        status = check_faults(&p, err);
    wcodec_free(allocator, p.head_bytes);
    wcodec_delta_side_free(p.side);
    return status;
}
