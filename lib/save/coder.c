/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that are hashed, measured, coded and verified in the memory of the device that has them:
 * counts come to the host, which decides by them, and payloads, to pinned memory from which they
 * are written. What the device cannot code, or has no memory for, is left to the CPU. */
#include "core/dtype.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "encode/masked.h"
#include "encode/measured.h"
#include "save/coding.h"
#include <string.h>

enum {
    LEAF = WCODEC_LEAF_BYTES,
    DIGEST = 16,
    /* Leaves that are hashed at once, and fewer where their bytes must be moved first. */
    LEAVES = 32768,
    LEAVES_MOVED = 128,
    WORKERS = 4,      /* tensors at once: while one is planned others are coded or copied */
    BATCH = 128 << 20 /* what their payloads may have at most is pinned */
};

bool wcodec_save_is_left(wcodec_status status)
{
    return status == WCODEC_ERROR_UNSUPPORTED || status == WCODEC_ERROR_MEMORY ||
           status == WCODEC_ERROR_LIMIT;
}

wcodec_status wcodec_save_leave(struct wcodec_save_request *r, const char *tensor,
                                wcodec_status status, const wcodec_error *reason, wcodec_error *err)
{
    if (status == WCODEC_ERROR_CANCELLED)
        return wcodec_fail(err, status, "%s", reason->text);
    if (!wcodec_save_is_left(status))
        return wcodec_backends_failed(r->context, r->device, status, reason, err);
    if (wcodec_log_wants(r->context, WCODEC_LOG_INFO))
        wcodec_log(r->context, WCODEC_LOG_INFO, "tensor \"%.200s\" is coded by the CPU, not %s: %s",
                   tensor, r->device->name, reason->text);
    return WCODEC_OK;
}

static wcodec_status begin(struct wcodec_save_request *r, uint64_t offset,
                           struct wcodec_save_placed *p, wcodec_error *err)
{
    const size_t tensor = wcodec_save_find(r, offset);
    *p = (struct wcodec_save_placed){.request = r,
                                     .b = r->device->backend,
                                     .place = &r->places[tensor],
                                     .size = r->declared.tensors[tensor].size};
    return wcodec_save_lane_take(r, &p->lane, err);
}

wcodec_status wcodec_save_reserve(const struct wcodec_save_placed *p, uint64_t size,
                                  wcodec_error *err)
{
    return wcodec_staging_reserve(&p->request->owner, &p->lane->work, WCODEC_MEMORY_DEVICE, size,
                                  err);
}

bool wcodec_save_is_aligned(const struct wcodec_save_placed *p, uint64_t offset, unsigned alignment)
{
    const bool address = (p->request->device->listing.capabilities & WCODEC_DEVICE_ADDRESSES) != 0;
    return (offset + (address ? p->b->memory_native(p->place->memory) : 0)) % alignment == 0;
}

/* Hash `count` leaves from offset `at` of the tensor on, to the beginning of the lane's memory,
 * which has room for them at `spare`. */
static wcodec_status hash_leaves(const struct wcodec_save_placed *p, uint64_t at, uint64_t count,
                                 uint64_t spare, wcodec_error *err)
{
    struct wcodec_memory *work = p->lane->work.memory;
    if (wcodec_save_is_aligned(p, p->place->offset + at, 16))
        return wcodec_save_hash(p->request, p->lane, p->place->memory, p->place->offset + at, count,
                                WCODEC_SAVE_LEAF_LOG2, 0, err);
    const wcodec_status status = p->b->copy(p->lane->queue, work, spare, p->place->memory,
                                            p->place->offset + at, count * LEAF, err);
    return status == WCODEC_OK ? wcodec_save_hash(p->request, p->lane, work, spare, count,
                                                  WCODEC_SAVE_LEAF_LOG2, 0, err)
                               : status;
}

static void take_digests(const uint8_t *from, uint64_t count, struct wcodec_tree_hash *to)
{
    for (uint64_t i = 0; i < count; i++) { /* in the device's order */
        memcpy(&to[i].low, from + i * DIGEST, 8);
        memcpy(&to[i].high, from + i * DIGEST + 8, 8);
    }
}

static wcodec_status look_at(const struct wcodec_save_placed *p, uint64_t offset,
                             const struct wcodec_write_look *look, wcodec_error *err)
{
    uint8_t *const staged = p->lane->staging.data;
    const uint64_t first = look->first_leaf * LEAF - offset;
    const bool moved =
        look->leaf_count != 0 && !wcodec_save_is_aligned(p, p->place->offset + first, 16);
    const uint64_t each = moved ? LEAVES_MOVED : LEAVES,
                   most = look->leaf_count < each ? look->leaf_count : each,
                   spare = wcodec_align_u64(most * DIGEST, WCODEC_SAVE_ALIGNMENT);
    wcodec_status status = WCODEC_OK;
    uint64_t bytes = 0;
    if (most != 0)
        status = wcodec_save_reserve(p, spare + (moved ? most * LEAF : 0), err);
    for (size_t i = 0; i < look->range_count && status == WCODEC_OK; i++) {
        const struct wcodec_source_range *r = &look->ranges[i];
        status = p->b->copy_out(p->lane->queue, staged + bytes, p->place->memory,
                                p->place->offset + (r->offset - offset), r->size, err);
        bytes += r->size;
    }
    for (uint64_t at = 0, count; at < look->leaf_count && status == WCODEC_OK; at += count) {
        count = look->leaf_count - at < each ? look->leaf_count - at : each;
        status = hash_leaves(p, first + at * LEAF, count, spare, err);
        if (status == WCODEC_OK)
            status = p->b->copy_out(p->lane->queue, staged + WCODEC_WRITE_LOOK_MOST,
                                    p->lane->work.memory, 0, count * DIGEST, err);
        if (status == WCODEC_OK)
            status = p->b->queue_wait(p->lane->queue, err);
        if (status == WCODEC_OK)
            take_digests(staged + WCODEC_WRITE_LOOK_MOST, count, look->leaves + at);
    }
    if (status == WCODEC_OK)
        status = p->b->queue_wait(p->lane->queue, err);
    if (status == WCODEC_OK)
        memcpy(look->bytes, staged, (size_t)bytes);
    return status;
}

/* The same by reading, where the device has no memory for hashes, or no kernel after all. */
static wcodec_status read_all(struct wcodec_save_request *r, const struct wcodec_write_look *look,
                              wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    uint8_t *to = look->bytes, *leaf = wcodec_alloc(&r->context->allocator, LEAF);
    if (leaf == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash");
    for (size_t i = 0; i < look->range_count && status == WCODEC_OK; i++) {
        const struct wcodec_source_range *range = &look->ranges[i];
        status = wcodec_save_read(r, range->offset, to, (size_t)range->size, err);
        to += range->size;
    }
    for (uint64_t i = 0; i < look->leaf_count && status == WCODEC_OK; i++) {
        status = wcodec_save_read(r, (look->first_leaf + i) * LEAF, leaf, LEAF, err);
        if (status == WCODEC_OK)
            look->leaves[i] = wcodec_leaf_plain(leaf, LEAF);
    }
    wcodec_free(&r->context->allocator, leaf);
    return status;
}

wcodec_status wcodec_save_look(void *opaque, uint64_t offset, const struct wcodec_write_look *look,
                               wcodec_error *err)
{
    struct wcodec_save_request *r = opaque;
    struct wcodec_save_placed p;
    wcodec_error reason = {0};
    wcodec_status status = begin(r, offset, &p, &reason);
    if (status == WCODEC_OK)
        status = wcodec_save_lane_end(r, p.lane, look_at(&p, offset, look, &reason), &reason);
    if (wcodec_save_is_left(status))
        return read_all(r, look, err);
    return status == WCODEC_OK
               ? status
               : wcodec_backends_failed(r->context, r->device, status, &reason, err);
}

/* Zeros in a few places make the CPU try a mask. */
static wcodec_status look_for_zeros(const struct wcodec_save_coding *k, wcodec_error *err)
{
    const struct wcodec_save_placed *p = &k->placed;
    const uint64_t piece = (uint64_t)WCODEC_MASKED_LOOK << wcodec_dtype_element_log2(k->dtype);
    uint64_t offsets[WCODEC_MASKED_LOOKS];
    const unsigned count = wcodec_masked_places(k->settings, k->dtype, p->size, offsets);
    wcodec_status status = WCODEC_OK;
    if (count == 0)
        return WCODEC_OK;
    for (unsigned i = 0; i < count && status == WCODEC_OK; i++)
        status = p->b->copy_out(p->lane->queue, p->lane->staging.data + i * piece, p->place->memory,
                                p->place->offset + offsets[i], piece, err);
    if (status == WCODEC_OK)
        status = p->b->queue_wait(p->lane->queue, err);
    if (status == WCODEC_OK && wcodec_masked_is_tried(k->dtype, p->lane->staging.data))
        status = wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "it has zeros");
    return status;
}

static bool can_code(const struct wcodec_save_request *r, const struct wcodec_plan *plan)
{
    const struct wcodec_backend *b = r->device->backend;
    return b->encoders->supports(r->device->device, plan->tiling) &&
           b->device_supports(r->device->device, plan->tiling);
}

/* Of a tensor whose elements are all equal `coded` is set, of others also a plan. */
static wcodec_status decide(struct wcodec_save_coding *k, struct wcodec_coded *coded,
                            wcodec_error *err)
{
    const struct wcodec_save_placed *p = &k->placed;
    struct wcodec_measured measured;
    wcodec_status status = look_for_zeros(k, err);
    if (status == WCODEC_OK)
        status = wcodec_save_measure(k, err);
    if (status != WCODEC_OK)
        return status;
    memcpy(&measured, p->lane->staging.data, sizeof measured);
    status = wcodec_measured_plan(p->request->context, k->settings, k->dtype, p->size, &measured,
                                  &k->plan, coded, err);
    if (status == WCODEC_OK && k->plan != NULL && !can_code(p->request, k->plan))
        status = wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "its fields are none that it codes");
    return status;
}

static wcodec_status code_placed(struct wcodec_save_coding *k, struct wcodec_coded *coded,
                                 wcodec_error *err)
{
    struct wcodec_save_placed *p = &k->placed;
    wcodec_status status = decide(k, coded, err);
    if (status != WCODEC_OK || k->plan == NULL)
        return status;
    status = wcodec_save_code(k, err);
    wcodec_cancel_count(k->settings->cancel, p->size);
    if (status == WCODEC_OK)
        status = wcodec_cancel_check(k->settings->cancel, err);
    if (status == WCODEC_OK)
        status = wcodec_save_bring(k, err);
    if (status == WCODEC_OK && k->settings->verify)
        status = wcodec_save_verify(k, err);
    if (status == WCODEC_OK)
        status = p->b->queue_wait(p->lane->queue, err);
    wcodec_cancel_count(k->settings->cancel, p->size);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_coded_loan loan = {wcodec_save_loan_end, k->loan};
    status = wcodec_payload_lend(k->plan, &k->prefix, k->loan->staging.data,
                                 k->tiles->payload_size - k->prefix.size, loan, coded, err);
    if (status == WCODEC_OK) { /* they are the payload's now */
        k->prefix.bytes = NULL;
        k->loan = NULL;
    }
    return status;
}

static wcodec_status code(void *opaque, const struct wcodec_encode_settings *settings,
                          const struct wcodec_entry *what, uint64_t offset,
                          struct wcodec_coded *coded, bool *done, wcodec_error *err)
{
    struct wcodec_save_request *r = opaque;
    struct wcodec_save_coding k = {.settings = settings, .dtype = (wcodec_dtype)what->dtype};
    wcodec_error reason = {0};
    struct wcodec_coded result;
    *done = false;
    wcodec_status status = begin(r, offset, &k.placed, &reason);
    if (status == WCODEC_OK) {
        status = code_placed(&k, &result, &reason);
        const bool made = status == WCODEC_OK;
        status = wcodec_save_lane_end(r, k.placed.lane, status, &reason);
        if (made && status != WCODEC_OK)
            wcodec_coded_free(&result);
    }
    wcodec_save_coding_end(&k);
    if (status == WCODEC_OK) {
        *coded = result;
        *done = true;
        return WCODEC_OK;
    }
    return wcodec_save_leave(r, what->name, status, &reason, err);
}

static bool takes(void *opaque, const struct wcodec_encode_settings *settings,
                  const struct wcodec_entry *what, uint64_t offset)
{
    const struct wcodec_save_request *r = opaque;
    return r->places[wcodec_save_find(r, offset)].host == NULL &&
           wcodec_measured_applies(settings, (wcodec_dtype)what->dtype, what->size);
}

bool wcodec_save_coder(struct wcodec_save_request *r, struct wcodec_write_coder *coder)
{
    if (r->device == NULL)
        return false;
    const struct wcodec_backend *b = r->device->backend;
    if (b->encoders == NULL || b->encoders->measure == NULL || b->deltas == NULL ||
        !b->deltas->supports(r->device->device)) {
        wcodec_log(r->context, WCODEC_LOG_DEBUG, "%s codes no tensors: the CPU does",
                   r->device->name);
        return false;
    }
    if (r->context->limits.max_memory != UINT64_MAX) {
        wcodec_log(r->context, WCODEC_LOG_INFO,
                   "with a limit of memory tensors are coded by the CPU, not %s", r->device->name);
        return false;
    }
    if (r->encode.level != WCODEC_MEASURED_LEVEL) {
        wcodec_log(r->context, WCODEC_LOG_INFO,
                   "%s codes tensors at level %d alone: at level %d the CPU does", r->device->name,
                   WCODEC_MEASURED_LEVEL, r->encode.level);
        return false;
    }
    *coder = (struct wcodec_write_coder){.opaque = r,
                                         .workers = WORKERS,
                                         .batch = BATCH,
                                         .takes = takes,
                                         .look = wcodec_save_look,
                                         .code = code,
                                         .read = wcodec_save_read};
    return true;
}
