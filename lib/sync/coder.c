/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "sync/coder.h"
#include "coding/linear.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/delta.h"
#include "save/coding.h"
#include <string.h>

enum {
    TILES_MOST = 1 << 19,              /* of 4096 changes each at most, which 32 bits count */
    HALF = WCODEC_SAVE_LANE_BYTES / 2, /* of a lane's memory: what comes first, and streams */
    STREAMS_LEAST = 1 << 16,
    WORKERS = 16,   /* tensors at once: for each the host waits twice */
    BATCH = 1 << 30 /* payloads are an eighth of these at most, as long as a device codes */
};

_Static_assert((int)WCODEC_CHANGES_GAPS == (int)WCODEC_DELTA_GAPS &&
                   (int)WCODEC_CHANGES_VALUES == (int)WCODEC_DELTA_VALUES,
               "devices count the classes that there are");

/* A tensor that is compared with the old one, by a lane of the new one's. */
struct comparing {
    const struct wcodec_sync_coder *coder;
    struct wcodec_save_request *r;
    const struct wcodec_backend *b;
    struct wcodec_save_lane *lane;
    const struct wcodec_save_place *old, *new;
    uint64_t old_tensor, new_tensor;
    struct wcodec_delta d; /* what its size says */
    struct wcodec_tensor_changes changes;
    struct wcodec_changes_work work;
    uint8_t *head;               /* the work area up to its slots, and what comes with it: pinned */
    struct wcodec_staging large; /* where that does not fit into the lane's memory */
    struct wcodec_staging streams; /* the device's */
    struct wcodec_save_loan *loan; /* the same on the host */
    uint64_t most;                 /* bytes of streams */
    uint8_t *to;                   /* where streams come to */
    uint32_t *changed, *results;
    struct wcodec_delta_found found;
    wcodec_status status; /* of coding: the device's */
    wcodec_error reason;
};

static wcodec_status copy_in(const struct comparing *k, uint64_t begin, uint64_t end,
                             wcodec_error *err)
{
    return k->b->copy_in(k->lane->queue, k->changes.work, begin, k->head + begin, end - begin, err);
}

static wcodec_status copy_out(const struct comparing *k, uint64_t begin, uint64_t end,
                              wcodec_error *err)
{
    return k->b->copy_out(k->lane->queue, k->head + begin, k->changes.work, begin, end - begin,
                          err);
}

/* What the device works with, and where that comes to. */
static wcodec_status prepare(struct comparing *k, wcodec_error *err)
{
    const struct wcodec_delta *d = &k->d;
    k->changes = (struct wcodec_tensor_changes){
        .elements = k->new->memory,
        .elements_at = k->new->offset,
        .base = k->old->memory,
        .base_at = k->old->offset,
        .count = d->elements,
        .element_log2 = d->element_log2,
        .tile_log2 = d->tile_log2,
        .slot = wcodec_delta_most_changed(d->tile_log2),
    };
    k->work = wcodec_changes_work(&k->changes);
    const uint64_t size = k->work.slots;
    wcodec_status status = wcodec_staging_reserve(&k->r->owner, &k->lane->work,
                                                  WCODEC_MEMORY_DEVICE, k->work.size, err);
    if (status == WCODEC_OK && size > HALF)
        status = wcodec_staging_reserve(&k->r->owner, &k->large, WCODEC_MEMORY_PINNED, size, err);
    k->head = size > HALF ? k->large.data : k->lane->staging.data;
    k->changes.work = k->lane->work.memory;
    return status;
}

/* Compare; what comes of that to the head. */
static wcodec_status find(struct comparing *k, wcodec_error *err)
{
    static const uint8_t zero[8];
    struct wcodec_queue *queue = k->lane->queue;
    wcodec_status status =
        k->b->fill(queue, k->changes.work, 0, zero, 2, WCODEC_CHANGES_TALLY + 1, err);
    if (status == WCODEC_OK)
        status = k->b->deltas->find(queue, &k->changes, err);
    if (status == WCODEC_OK)
        status = copy_out(k, 0, k->work.words, err);
    return status == WCODEC_OK ? k->b->queue_wait(queue, err) : status;
}

/* Classes from number `first` of the tally on. */
static void take_classes(const struct comparing *k, unsigned first, unsigned count, uint64_t *to)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t found;
        memcpy(&found, k->head + (uint64_t)4 * (first + i), sizeof found);
        to[i] = found;
    }
}

static void note_hash(const struct wcodec_sync_hashes *to, uint64_t tensor, uint64_t hash)
{
    to->hashes[tensor] = hash;
    to->wanted[tensor] = 0;
}

/* What the host makes of that, while the device may be coding; both hashes also where much differs.
 * To wake other threads for it would take longer. */
static wcodec_status add_up(struct comparing *k, wcodec_error *err)
{
    const unsigned log2 = k->d.element_log2;
    const uint8_t *at = k->head + k->work.counts;
    uint64_t old = 0, new = 0;
    bool sparse = true, any = false;
    for (uint64_t i = 0; i < k->d.tiles; i++) {
        const uint64_t count = wcodec_delta_tile_elements(&k->d, i);
        struct wcodec_changed_tile tile;
        memcpy(&tile, at + i * sizeof tile, sizeof tile);
        sparse =
            sparse && wcodec_delta_is_sparse(count, tile.count) && tile.count <= k->changes.slot;
        k->results[i] = wcodec_delta_result(tile.sum, count << log2);
        k->changed[i] = tile.count;
        any = any || tile.count != 0;
        old += tile.base_sum;
        new += tile.sum;
    }
    note_hash(&k->coder->before_hashes, k->old_tensor,
              wcodec_linear_hash(old, k->d.elements << log2));
    note_hash(&k->coder->after_hashes, k->new_tensor,
              wcodec_linear_hash(new, k->d.elements << log2));
    if (!sparse)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "much of it has changed");
    return any == wcodec_delta_counts_any(&k->found.counts[0])
               ? WCODEC_OK
               : wcodec_save_computes_wrongly("other elements differ than are counted", err);
}

/* Classes, by which it is coded before the rest is looked at; where there is nothing to code, the
 * rest, too. */
static wcodec_status take_tally(struct comparing *k, wcodec_error *err)
{
    struct wcodec_delta_found *f = &k->found;
    uint64_t full;
    for (unsigned by_xor = 0; by_xor < 2; by_xor++) {
        take_classes(k, 0, WCODEC_CHANGES_GAPS, f->counts[by_xor].gaps);
        take_classes(k, by_xor ? WCODEC_CHANGES_XOR : WCODEC_CHANGES_ZIGZAG, WCODEC_CHANGES_VALUES,
                     f->counts[by_xor].values);
    }
    take_classes(k, WCODEC_CHANGES_FULL, 1, &full);
    return full != 0 || !wcodec_delta_counts_any(&k->found.counts[0]) ? add_up(k, err) : WCODEC_OK;
}

/* Both codes, as they are written and as they are read. */
static void put_code(const struct comparing *k, const struct wcodec_delta_code *code, bool values)
{
    uint8_t *const words = k->head + k->work.words + (values ? 4 * WCODEC_CHANGES_GAPS : 0),
                   *const table = k->head + k->work.codes + (values ? 2 * WCODEC_PATCH_CODE : 0);
    const unsigned classes = values ? WCODEC_CHANGES_VALUES : WCODEC_CHANGES_GAPS;
    for (unsigned i = 0; i < classes; i++) {
        const uint32_t word = code->single || i >= code->count || code->lengths[i] == 0
                                  ? 0
                                  : code->words[i] | (uint32_t)code->lengths[i] << 16;
        memcpy(words + (size_t)4 * i, &word, sizeof word);
    }
    memcpy(table, code->table, (code->single ? 1u : (size_t)1 << code->longest) * 2);
}

/* Where streams are worked on, in memory that other tensors' may take after this one's, and where
 * they come to: the lane's memory, or some of their own. */
static wcodec_status reserve_streams(struct comparing *k, wcodec_error *err)
{
    const uint64_t size = k->most;
    uint64_t room = STREAMS_LEAST;
    while (room < size + 4)
        room *= 2;
    wcodec_status status =
        wcodec_staging_reserve(&k->r->owner, &k->streams, WCODEC_MEMORY_DEVICE, room, err);
    k->changes.streams = k->streams.memory;
    k->changes.streams_room = wcodec_align_u64(size, 4) + 4;
    k->to = k->lane->staging.data + HALF;
    if (status != WCODEC_OK || size <= HALF)
        return status;
    k->loan = wcodec_alloc_zeroed(&k->r->context->allocator, sizeof *k->loan);
    if (k->loan == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta");
    k->loan->request = k->r;
    status =
        wcodec_staging_reserve(&k->r->owner, &k->loan->staging, WCODEC_MEMORY_PINNED, room, err);
    k->to = k->loan->staging.data;
    return status;
}

/* Streams of the lane's memory as the payload keeps them. */
struct copied {
    const wcodec_allocator *allocator;
};

static void copied_end(void *lender)
{
    struct copied *c = lender;
    wcodec_free(c->allocator, c);
}

static wcodec_status lend(struct comparing *k, struct wcodec_delta_streams *streams,
                          wcodec_error *err)
{
    const wcodec_allocator *allocator = &k->r->context->allocator;
    const uint64_t size = streams->size;
    if (k->loan != NULL) {
        streams->bytes = k->to;
        streams->loan = (struct wcodec_coded_loan){wcodec_save_loan_end, k->loan};
        k->loan = NULL;
        return WCODEC_OK;
    }
    struct copied *c = wcodec_alloc(allocator, sizeof *c + (size_t)size);
    if (c == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta");
    c->allocator = allocator;
    memcpy(c + 1, k->to, (size_t)size);
    streams->bytes = (const uint8_t *)(c + 1);
    streams->loan = (struct wcodec_coded_loan){copied_end, c};
    return WCODEC_OK;
}

/* Give the coding to the lane's queue, with what comes of it: at most k->most bytes of streams. */
static wcodec_status give(struct comparing *k, bool verify, wcodec_error *err)
{
    static const uint8_t zero[8];
    const uint64_t end = k->work.coded + k->d.tiles * sizeof(struct wcodec_coded_tile);
    struct wcodec_queue *queue = k->lane->queue;
    wcodec_status status =
        k->b->fill(queue, k->streams.memory, 0, zero, 2, k->changes.streams_room / 4, err);
    if (status == WCODEC_OK)
        status = copy_in(k, k->work.words, k->work.firsts, err);
    if (status == WCODEC_OK)
        status = k->b->deltas->code(queue, &k->changes, verify, err);
    if (status == WCODEC_OK)
        status = copy_out(k, k->work.total, end, err);
    return status == WCODEC_OK ? k->b->copy_out(queue, k->to, k->streams.memory, 0, k->most, err)
                               : status;
}

/* Sizes and checks as they came. */
static wcodec_status take_sizes(struct comparing *k, struct wcodec_delta_streams *streams,
                                wcodec_error *err)
{
    struct wcodec_coded_total total;
    uint64_t sum = 0;
    bool right = true;
    memcpy(&total, k->head + k->work.total, sizeof total);
    memcpy(streams->tiles, k->head + k->work.coded, (size_t)k->d.tiles * sizeof *streams->tiles);
    for (uint64_t i = 0; i < k->d.tiles; i++) {
        sum += streams->tiles[i].size;
        right = right && (k->changed[i] != 0 || streams->tiles[i].size == 0);
    }
    streams->size = sum;
    if (total.wrong != 0)
        return wcodec_save_computes_wrongly("streams do not decode to what was found to differ",
                                            err);
    return right && sum == total.size && sum <= k->most
               ? WCODEC_OK
               : wcodec_save_computes_wrongly("streams have other sizes than they can have", err);
}

/* Streams, to the host. */
static wcodec_status bring(struct comparing *k, bool verify, struct wcodec_delta_streams *streams,
                           wcodec_error *err)
{
    wcodec_error unused;
    wcodec_status status = reserve_streams(k, err);
    if (status == WCODEC_OK)
        status = give(k, verify, err);
    if (status == WCODEC_OK)
        status = add_up(k, err);
    const wcodec_status waited =
        k->b->queue_wait(k->lane->queue, status == WCODEC_OK ? err : &unused);
    status = status == WCODEC_OK ? waited : status;
    if (status == WCODEC_OK)
        status = take_sizes(k, streams, err);
    return status == WCODEC_OK ? lend(k, streams, err) : status;
}

/* A function of struct wcodec_delta_found. */
static wcodec_status code_streams(void *opaque, const struct wcodec_delta_code *gaps,
                                  const struct wcodec_delta_code *values, bool xor_values,
                                  uint64_t bits, bool verify, struct wcodec_delta_streams *streams,
                                  wcodec_error *err)
{
    struct comparing *k = opaque;
    uint64_t secret[WCODEC_SAVE_SECRET];
    (void)err; /* the device's: who asked looks at `reason` */
    put_code(k, gaps, false);
    put_code(k, values, true);
    wcodec_save_secret(secret);
    memcpy(k->head + k->work.secret, secret, sizeof secret);
    k->changes.xor_values = xor_values;
    k->changes.gap_bits = gaps->single ? 0 : gaps->longest;
    k->changes.value_bits = values->single ? 0 : values->longest;
    k->most = (bits + 7 * k->d.tiles) / 8;
    k->status = bring(k, verify, streams, &k->reason);
    k->status = wcodec_save_lane_end(k->r, k->lane, k->status, &k->reason);
    k->lane = NULL; /* others may have it while the rest is done */
    return k->status;
}

static wcodec_status begin(struct comparing *k, const struct wcodec_encode_settings *settings,
                           const struct wcodec_entry *what, uint64_t offset, wcodec_error *err)
{
    const wcodec_allocator *allocator = &k->r->context->allocator;
    uint64_t tensor = 0;
    bool same;
    (void)wcodec_sync_find(k->coder->before, what, &tensor, &same);
    k->old_tensor = tensor;
    k->new_tensor = wcodec_save_find(k->r, offset);
    k->old = &k->coder->before->places[tensor];
    k->new = &k->r->places[k->new_tensor];
    k->d.element_log2 = (uint8_t)wcodec_dtype_element_log2((wcodec_dtype)what->dtype);
    k->d.elements = what->size >> k->d.element_log2;
    k->d.tile_log2 = (uint8_t)wcodec_delta_tile_log2(settings, k->d.elements);
    k->d.tiles = wcodec_div_up_u64(k->d.elements, (uint64_t)1 << k->d.tile_log2);
    k->changed = wcodec_alloc_array(allocator, k->d.tiles, sizeof *k->changed);
    k->results = wcodec_alloc_array(allocator, k->d.tiles, sizeof *k->results);
    if (k->changed == NULL || k->results == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta");
    k->found.changed = k->changed;
    k->found.results = k->results;
    k->found.opaque = k;
    k->found.code = code_streams;
    return WCODEC_OK;
}

static void end(struct comparing *k)
{
    const wcodec_allocator *allocator = &k->r->context->allocator;
    if (k->loan != NULL)
        wcodec_save_loan_end(k->loan);
    wcodec_staging_release(&k->r->owner, &k->large);
    wcodec_staging_release(&k->r->owner, &k->streams);
    wcodec_free(allocator, k->results);
    wcodec_free(allocator, k->changed);
}

/* With a lane. *left: the status is the device's, and `reason` says why. */
static wcodec_status code_in_lane(struct comparing *k,
                                  const struct wcodec_encode_settings *settings,
                                  const struct wcodec_entry *what, struct wcodec_coded *coded,
                                  bool *done, wcodec_error *err)
{
    k->status = wcodec_cancel_check(settings->cancel, &k->reason);
    if (k->status == WCODEC_OK)
        k->status = prepare(k, &k->reason);
    if (k->status == WCODEC_OK)
        k->status = find(k, &k->reason);
    if (k->status == WCODEC_OK)
        k->status = take_tally(k, &k->reason);
    wcodec_cancel_count(settings->cancel, what->size);
    if (k->status != WCODEC_OK)
        return k->status;
    const wcodec_status status =
        wcodec_delta_code_found(k->r->context, settings, (wcodec_dtype)what->dtype, what->size,
                                &k->coder->base, &k->found, coded, done, err);
    wcodec_cancel_count(settings->cancel, what->size);
    return status;
}

static wcodec_status code(void *opaque, const struct wcodec_encode_settings *settings,
                          const struct wcodec_entry *what, uint64_t offset,
                          struct wcodec_coded *coded, bool *done, wcodec_error *err)
{
    const struct wcodec_sync_coder *c = opaque;
    struct comparing k = {.coder = c, .r = c->after, .b = c->after->device->backend};
    wcodec_status status = WCODEC_OK;
    *done = false;
    k.status = begin(&k, settings, what, offset, &k.reason);
    if (k.status == WCODEC_OK)
        k.status = wcodec_save_lane_take(k.r, &k.lane, &k.reason);
    if (k.status == WCODEC_OK) {
        status = code_in_lane(&k, settings, what, coded, done, err);
        if (k.lane != NULL)
            k.status = wcodec_save_lane_end(k.r, k.lane, k.status, &k.reason);
    }
    end(&k);
    if (k.status == WCODEC_OK)
        return status;
    if (*done)
        wcodec_coded_free(coded);
    *done = false;
    return wcodec_save_leave(k.r, what->name, k.status, &k.reason, err);
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
           what->size >> log2 >> wcodec_delta_tile_log2(settings, what->size >> log2) < TILES_MOST;
}

static wcodec_status set_base(void *opaque, struct wcodec_coded *coded, wcodec_error *err)
{
    const struct wcodec_sync_coder *c = opaque;
    const wcodec_status status =
        c->hashing != NULL ? wcodec_background_wait(c->hashing, err) : WCODEC_OK;
    if (status == WCODEC_OK)
        wcodec_delta_set_base(coded->parameters, c->hash);
    return status;
}

static wcodec_status read_values(void *opaque, uint64_t offset, void *dst, size_t size,
                                 wcodec_error *err)
{
    return wcodec_save_read(((struct wcodec_sync_coder *)opaque)->after, offset, dst, size, err);
}

bool wcodec_sync_coder_init(struct wcodec_sync_coder *coder, struct wcodec_save_request *before,
                            struct wcodec_save_request *after)
{
    coder->write = (struct wcodec_write_coder){.opaque = coder,
                                               .workers = WORKERS,
                                               .batch = BATCH,
                                               .by_base = true,
                                               .takes = takes,
                                               .read = read_values,
                                               .code = code,
                                               .set_base = set_base};
    coder->before = before;
    coder->after = after;
    return after->device != NULL && before->device == after->device &&
           after->context->limits.max_memory == UINT64_MAX &&
           after->device->backend->deltas != NULL && after->device->backend->deltas->find != NULL;
}
