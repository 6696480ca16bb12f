/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "sync/coder.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/delta.h"
#include <stdatomic.h>
#include <string.h>

enum {
    RANGE = 4096, /* tiles that are compared at once */
    DIGEST = 16,
    ALIGNMENT = 256,
    WORKERS = 4,
    LAST = WCODEC_SAVE_LANE_BYTES / 2, /* where a tile's bytes are staged, behind all else */
    LEAF_LOG2_MIN = 13
};

/* A tensor that is compared with the old one, by a lane of the new one's. */
struct comparing {
    const struct wcodec_sync_coder *coder;
    struct wcodec_save_request *r;
    const struct wcodec_backend *b;
    struct wcodec_save_lane *lane;
    const struct wcodec_save_place *old, *new;
    struct wcodec_delta d; /* what its size says */
    struct wcodec_delta_changes *changes;
    uint32_t *results;
    struct wcodec_staging *ranges; /* of tiles: what differs, in pinned memory until it is coded */
    uint64_t range_count;
    struct wcodec_delta_found found;
    atomic_bool wrong;
};

/* Of tiles [first, first + count): what the device works with. */
struct part {
    uint64_t first, count;
    struct wcodec_tensor_changes changes;
    uint64_t digests; /* after its work area */
    uint64_t whole;   /* tiles that are */
};

/* Compare, and hash tiles that are whole; counts, hashes and the bytes of one that is not to the
 * lane's staging memory. */
static wcodec_status find(struct comparing *k, struct part *p, wcodec_error *err)
{
    const uint64_t at = p->first << k->d.tile_log2 << k->d.element_log2,
                   left = k->d.elements - (p->first << k->d.tile_log2),
                   room = p->count << k->d.tile_log2;
    uint8_t *const staged = k->lane->staging.data;
    p->changes = (struct wcodec_tensor_changes){
        .elements = k->new->memory,
        .elements_at = k->new->offset + at,
        .base = k->old->memory,
        .base_at = k->old->offset + at,
        .count = left < room ? left : room,
        .element_log2 = k->d.element_log2,
        .tile_log2 = k->d.tile_log2,
        .slot = wcodec_delta_most_changed(k->d.tile_log2),
    };
    const struct wcodec_changes_work w = wcodec_changes_work(&p->changes);
    const uint64_t rest = p->changes.count - (p->changes.count >> k->d.tile_log2 << k->d.tile_log2);
    p->whole = p->changes.count >> k->d.tile_log2;
    p->digests = wcodec_align_u64(w.size, ALIGNMENT);
    wcodec_status status = wcodec_staging_reserve(
        &k->r->owner, &k->lane->work, WCODEC_MEMORY_DEVICE, p->digests + DIGEST * p->count, err);
    p->changes.work = k->lane->work.memory;
    if (status == WCODEC_OK)
        status = k->b->deltas->find(k->lane->queue, &p->changes, err);
    if (status == WCODEC_OK && p->whole != 0)
        status = wcodec_save_hash(k->r, k->lane, k->new->memory, k->new->offset + at, p->whole,
                                  k->d.tile_log2 + k->d.element_log2, p->digests, err);
    if (status == WCODEC_OK)
        status = k->b->copy_out(k->lane->queue, staged, p->changes.work, w.counts,
                                sizeof(struct wcodec_changed_tile) * p->count, err);
    if (status == WCODEC_OK)
        status = k->b->copy_out(k->lane->queue, staged + DIGEST * p->count, p->changes.work,
                                p->digests, DIGEST * p->whole, err);
    if (status == WCODEC_OK && rest != 0)
        status =
            k->b->copy_out(k->lane->queue, staged + LAST, k->new->memory,
                           k->new->offset + at + (p->whole << k->d.tile_log2 << k->d.element_log2),
                           rest << k->d.element_log2, err);
    return status == WCODEC_OK ? k->b->queue_wait(k->lane->queue, err) : status;
}

/* What the host makes of that: results, and where each tile's changes begin among all, in the place
 * of the counts. */
static wcodec_status add_up(struct comparing *k, struct part *p, wcodec_error *err)
{
    uint8_t *const staged = k->lane->staging.data;
    for (uint64_t i = 0; i < p->count; i++) {
        struct wcodec_changed_tile tile;
        const uint64_t number = p->first + i, count = wcodec_delta_tile_elements(&k->d, number);
        uint64_t half;
        memcpy(&tile, staged + i * sizeof tile, sizeof tile);
        if (!wcodec_delta_is_sparse(count, tile.count) || tile.count > p->changes.slot)
            return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "much of it has changed");
        memcpy(&half, staged + DIGEST * (p->count + i), sizeof half); /* in the device's order */
        k->results[number] = i < p->whole
                                 ? (uint32_t)half
                                 : wcodec_delta_check(staged + LAST, count << k->d.element_log2);
        k->changes[number].count = tile.count;
        k->found.zigzag_bits += tile.zigzag_bits;
        k->found.xor_bits += tile.xor_bits;
        const uint32_t before = (uint32_t)p->changes.all;
        memcpy(staged + i * sizeof before, &before, sizeof before);
        p->changes.all += tile.count;
    }
    return WCODEC_OK;
}

/* All that differs, to pinned memory. */
static wcodec_status bring(struct comparing *k, struct part *p, struct wcodec_staging *range,
                           wcodec_error *err)
{
    const struct wcodec_changes_work w = wcodec_changes_work(&p->changes);
    wcodec_status status = k->b->copy_in(k->lane->queue, p->changes.work, w.firsts,
                                         k->lane->staging.data, 4 * p->count, err);
    if (status == WCODEC_OK)
        status = k->b->deltas->join(k->lane->queue, &p->changes, err);
    if (status == WCODEC_OK)
        status = wcodec_staging_reserve(&k->r->owner, range, WCODEC_MEMORY_PINNED,
                                        w.end - w.positions, err);
    if (status == WCODEC_OK)
        status = k->b->copy_out(k->lane->queue, range->data, p->changes.work, w.positions,
                                w.end - w.positions, err);
    const wcodec_status waited = k->b->queue_wait(k->lane->queue, status == WCODEC_OK ? err : NULL);
    status = status == WCODEC_OK ? waited : status;
    if (status != WCODEC_OK)
        return status;
    const uint8_t *const from = range->data;
    uint64_t before = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        struct wcodec_delta_changes *c = &k->changes[p->first + i];
        c->positions = (const uint16_t *)(const void *)from + before;
        c->elements = from + (w.values - w.positions) + (before << k->d.element_log2);
        c->base = from + (w.bases - w.positions) + (before << k->d.element_log2);
        before += c->count;
    }
    return WCODEC_OK;
}

/* Positions are a tile's, and ascend, and elements differ: else what would be made of them is no
 * stream. */
static void check_task(void *argument, size_t i)
{
    struct comparing *k = argument;
    const struct wcodec_delta_changes *c = &k->changes[i];
    bool right = c->count == 0 || c->positions[c->count - 1] < wcodec_delta_tile_elements(&k->d, i);
    for (uint64_t n = 0; n < c->count; n++)
        right &= (n == 0 || c->positions[n - 1] < c->positions[n]) &&
                 wcodec_delta_load(c->elements, n, k->d.element_log2) !=
                     wcodec_delta_load(c->base, n, k->d.element_log2);
    if (!right)
        atomic_store(&k->wrong, true);
}

static wcodec_status compare(struct comparing *k, struct wcodec_cancel *cancel, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; i < k->range_count && status == WCODEC_OK; i++) {
        struct part p = {.first = i * RANGE};
        p.count = k->d.tiles - p.first < RANGE ? k->d.tiles - p.first : RANGE;
        status = wcodec_cancel_check(cancel, err);
        if (status == WCODEC_OK)
            status = find(k, &p, err);
        if (status == WCODEC_OK)
            status = add_up(k, &p, err);
        if (status == WCODEC_OK && p.changes.all != 0)
            status = bring(k, &p, &k->ranges[i], err);
    }
    if (status == WCODEC_OK)
        wcodec_run(k->r->context, check_task, k, (size_t)k->d.tiles);
    return status == WCODEC_OK && atomic_load(&k->wrong)
               ? wcodec_fail(err, WCODEC_ERROR_DEVICE,
                             "it computes wrongly: what it found to differ is out of order")
               : status;
}

static wcodec_status begin(struct comparing *k, const struct wcodec_encode_settings *settings,
                           const struct wcodec_entry *what, uint64_t offset, wcodec_error *err)
{
    const wcodec_allocator *allocator = &k->r->context->allocator;
    uint64_t tensor = 0;
    bool same;
    (void)wcodec_sync_find(k->coder->before, what, &tensor, &same);
    k->old = &k->coder->before->places[tensor];
    k->new = &k->r->places[wcodec_save_find(k->r, offset)];
    k->d.element_log2 = (uint8_t)wcodec_dtype_element_log2((wcodec_dtype)what->dtype);
    k->d.elements = what->size >> k->d.element_log2;
    k->d.tile_log2 = (uint8_t)wcodec_delta_tile_log2(settings, k->d.elements);
    k->d.tiles = wcodec_div_up_u64(k->d.elements, (uint64_t)1 << k->d.tile_log2);
    k->range_count = wcodec_div_up_u64(k->d.tiles, RANGE);
    k->changes = wcodec_alloc_zeroed(allocator, (size_t)k->d.tiles * sizeof *k->changes);
    k->results = wcodec_alloc_array(allocator, k->d.tiles, sizeof *k->results);
    k->ranges = wcodec_alloc_zeroed(allocator, (size_t)k->range_count * sizeof *k->ranges);
    if (k->changes == NULL || k->results == NULL || k->ranges == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta");
    k->found = (struct wcodec_delta_found){.changes = k->changes, .results = k->results};
    return WCODEC_OK;
}

static void end(struct comparing *k)
{
    const wcodec_allocator *allocator = &k->r->context->allocator;
    for (uint64_t i = 0; k->ranges != NULL && i < k->range_count; i++)
        wcodec_staging_release(&k->r->owner, &k->ranges[i]);
    wcodec_free(allocator, k->ranges);
    wcodec_free(allocator, k->results);
    wcodec_free(allocator, k->changes);
}

static wcodec_status code(void *opaque, const struct wcodec_encode_settings *settings,
                          const struct wcodec_entry *what, uint64_t offset,
                          struct wcodec_coded *coded, bool *done, wcodec_error *err)
{
    const struct wcodec_sync_coder *c = opaque;
    struct comparing k = {.coder = c, .r = c->after, .b = c->after->device->backend};
    wcodec_error reason = {0};
    *done = false;
    wcodec_status status = begin(&k, settings, what, offset, &reason);
    if (status == WCODEC_OK)
        status = wcodec_save_lane_take(k.r, &k.lane, &reason);
    if (status == WCODEC_OK) {
        status = compare(&k, settings->cancel, &reason);
        wcodec_cancel_count(settings->cancel, what->size);
        status = wcodec_save_lane_end(k.r, k.lane, status, &reason);
    }
    if (status == WCODEC_OK) {
        status = wcodec_delta_code_found(k.r->context, settings, (wcodec_dtype)what->dtype,
                                         what->size, &c->base, &k.found, coded, done, err);
        wcodec_cancel_count(settings->cancel, what->size);
        end(&k);
        return status;
    }
    end(&k);
    return wcodec_save_leave(k.r, what->name, status, &reason, err);
}

static bool takes(void *opaque, const struct wcodec_encode_settings *settings,
                  const struct wcodec_entry *what, uint64_t offset)
{
    const struct wcodec_sync_coder *c = opaque;
    const uint64_t tensor = wcodec_save_find(c->after, offset);
    const unsigned log2 = wcodec_dtype_element_log2((wcodec_dtype)what->dtype);
    uint64_t old;
    bool same;
    return c->after->places[tensor].at == offset &&
           wcodec_sync_find(c->before, what, &old, &same) && same &&
           wcodec_sync_on_device(c->before, old) && wcodec_sync_on_device(c->after, tensor) &&
           what->size >> log2 << log2 == what->size &&
           wcodec_delta_tile_log2(settings, what->size >> log2) + log2 >= LEAF_LOG2_MIN;
}

static wcodec_status look(void *opaque, uint64_t offset, const struct wcodec_write_look *look,
                          wcodec_error *err)
{
    return wcodec_save_look(((struct wcodec_sync_coder *)opaque)->after, offset, look, err);
}

static wcodec_status read(void *opaque, uint64_t offset, void *dst, size_t size, wcodec_error *err)
{
    return wcodec_save_read(((struct wcodec_sync_coder *)opaque)->after, offset, dst, size, err);
}

bool wcodec_sync_coder_init(struct wcodec_sync_coder *coder, struct wcodec_save_request *before,
                            struct wcodec_save_request *after)
{
    coder->write = (struct wcodec_write_coder){.opaque = coder,
                                               .workers = WORKERS,
                                               .by_base = true,
                                               .takes = takes,
                                               .read = read,
                                               .look = look,
                                               .code = code};
    coder->before = before;
    coder->after = after;
    return after->device != NULL && before->device == after->device &&
           after->context->limits.max_memory == UINT64_MAX &&
           after->device->backend->deltas != NULL && after->device->backend->deltas->find != NULL;
}
