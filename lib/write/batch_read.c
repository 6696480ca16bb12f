/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The bytes of a batch: read and hashed, or looked at where a coder has them; and which of its
 * items equal entries before them. */
#include "write/batch_work.h"

#include "core/assert.h"
#include "core/error.h"

/* The original's hash goes by these bytes; not where that is known, or by what is decoded. */
static bool is_hashed_here(const struct wcodec_write_batch *b)
{
    return b->settings.lossy == WCODEC_LOSSY_NONE && !b->output->hash_known;
}

/* Of a failure in what is read: the next items, where those before them are coded at the same time.
 */
static uint64_t place(const struct wcodec_write_work *w)
{
    return w->plans ? WCODEC_WRITE_PLACE_NEXT : WCODEC_WRITE_PLACE_BATCH;
}

static void read_piece(struct wcodec_write_work *w, uint64_t at)
{
    struct wcodec_write_batch *b = w->batch;
    const struct wcodec_write_items *items = w->coming;
    const uint64_t left = w->read_end - at,
                   size = left < WCODEC_WRITE_READ_PIECE ? left : WCODEC_WRITE_READ_PIECE;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    uint64_t time = wcodec_phase_begin(&b->phases);
    if (b->source && b->source->fd >= 0)
        status = wcodec_source_read(b->source, items->begin + at, items->data + at, (size_t)size,
                                    &error);
    time = wcodec_phase_end(&b->phases, WCODEC_PHASE_READ, time);
    if (status == WCODEC_OK && is_hashed_here(b))
        status = wcodec_tree_put(&b->output->original, b->output->hashed + (at - w->read_begin),
                                 items->bytes + at, size, &error);
    (void)wcodec_phase_end(&b->phases, WCODEC_PHASE_HASH, time);
    if (status != WCODEC_OK)
        wcodec_write_note_failure(w, place(w) + at / WCODEC_WRITE_READ_PIECE, status, &error);
}

/* Tasks take pieces until none is left. */
static void read_task(void *argument, size_t i)
{
    struct wcodec_write_work *w = argument;
    (void)i;
    for (uint64_t at; !atomic_load(&w->failed) &&
                      (at = w->read_begin + (uint64_t)atomic_fetch_add(&w->next_piece, 1) *
                                                WCODEC_WRITE_READ_PIECE) < w->read_end;)
        read_piece(w, at);
}

/* Copying from the system's cache, touching new memory, and hashing what is in cache then take as
 * long as some of the coding: each piece is one thread's. */
void wcodec_write_read(struct wcodec_write_work *w)
{
    struct wcodec_write_batch *b = w->batch;
    struct wcodec_write_items *items = w->coming;
    const uint64_t most = wcodec_tree_span(&b->output->original);
    wcodec_error error = {0};
    if (b->source && b->source->fd < 0) {
        items->bytes = b->source->data + items->begin;
    } else if (b->source) {
        wcodec_status status = wcodec_write_batch_reserve(b, items, items->size, false, &error);
        if (status != WCODEC_OK) {
            wcodec_write_note_failure(w, place(w), status, &error);
            return;
        }
        items->bytes = items->data;
    }
    for (w->read_begin = 0; w->read_begin < items->size && !atomic_load(&w->failed);
         w->read_begin = w->read_end) {
        w->read_end = items->size - w->read_begin < most ? items->size : w->read_begin + most;
        const uint64_t pieces =
            wcodec_div_up_u64(w->read_end - w->read_begin, WCODEC_WRITE_READ_PIECE);
        atomic_store(&w->next_piece, 0);
        wcodec_run(b->context, read_task, w, (size_t)(pieces < w->readers ? pieces : w->readers));
        if (is_hashed_here(b)) {
            wcodec_tree_advance(&b->output->original);
            b->output->hashed += w->read_end - w->read_begin;
        }
    }
}

static void look_task(void *argument, size_t i)
{
    struct wcodec_write_work *w = argument;
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    (void)i;
    for (size_t n;
         !atomic_load(&w->failed) && (n = atomic_fetch_add(&w->next, 1)) < b->now.count;) {
        struct wcodec_write_batch_item *item = &b->now.items[n];
        const uint64_t time = wcodec_phase_begin(&b->phases);
        const wcodec_status status =
            wcodec_looked_take(&b->context->allocator, b->coder, b->now.begin + item->at,
                               item->what.size, b->dedup != NULL, &item->looked, &error);
        (void)wcodec_phase_end(&b->phases, WCODEC_PHASE_HASH, time);
        if (status != WCODEC_OK)
            wcodec_write_note_item_failure(w, WCODEC_WRITE_PLACE_BATCH + n, item, status, &error);
    }
}

void wcodec_write_look(struct wcodec_write_work *w)
{
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    b->now.bytes = NULL;
    if (b->dedup == NULL && b->output->hash_known)
        return;
    WCODEC_ASSERT(b->coder->look != NULL);
    wcodec_run(b->context, look_task, w, wcodec_write_count_coders(b));
    atomic_store(&w->next, 0);
    for (size_t i = 0; i < b->now.count && !atomic_load(&w->failed); i++) {
        const wcodec_status status =
            wcodec_looked_put(&b->now.items[i].looked, &b->output->original, &error);
        if (status != WCODEC_OK)
            wcodec_write_note_failure(w, WCODEC_WRITE_PLACE_BATCH + i, status, &error);
        b->output->hashed += b->now.items[i].what.size;
    }
}

/* Tensors that can be constants need no alias. */
static bool is_candidate(const struct wcodec_write_batch *batch,
                         const struct wcodec_write_batch_item *item)
{
    return batch->dedup && item->what.is_tensor && item->what.size > 8;
}

static wcodec_status find_alias(struct wcodec_write_batch *b,
                                const struct wcodec_write_items *items, size_t i, wcodec_error *err)
{
    struct wcodec_write_batch_item *item = &items->items[i];
    if (!is_candidate(b, item))
        return WCODEC_OK;
    item->hash = items->by_coder
                     ? wcodec_dedup_hash_samples(item->looked.samples)
                     : wcodec_dedup_hash(items->bytes + item->at, (size_t)item->what.size);
    wcodec_looked_free(&b->context->allocator, &item->looked);
    /* What comes of equal bytes depends on their type and view too. */
    if (wcodec_write_may_be_lossy(item))
        item->hash.low += ((wcodec_entry_columns(&item->what) * 2 + item->anchored) * 256 +
                           item->what.dtype + 1) *
                          0x9E3779B97F4A7C15u;
    wcodec_status status =
        items->by_coder ? wcodec_dedup_find_read(b->dedup, item->hash, items->begin + item->at,
                                                 item->what.size, &item->alias, err)
                        : wcodec_dedup_find(b->dedup, item->hash, items->bytes + item->at,
                                            (size_t)item->what.size, &item->alias, err);
    if (status != WCODEC_OK || item->alias != UINT64_MAX)
        return status;
    struct wcodec_dedup_item known = {item->hash, item->what.size, items->begin + item->at,
                                      b->first_entry + i};
    return wcodec_dedup_add(b->dedup, &known, err);
}

void wcodec_write_find_aliases(struct wcodec_write_work *w)
{
    struct wcodec_write_batch *b = w->batch;
    const struct wcodec_write_items *items = w->coming;
    wcodec_error error = {0};
    if (!b->dedup || atomic_load(&w->failed))
        return;
    b->dedup->held = items->bytes;
    b->dedup->held_begin = items->begin;
    b->dedup->held_size = items->bytes != NULL ? items->size : 0;
    for (size_t i = 0; i < items->count && !atomic_load(&w->failed); i++) {
        wcodec_status status = find_alias(b, items, i, &error);
        if (status != WCODEC_OK)
            wcodec_write_note_failure(w, place(w) + i, status, &error);
    }
}
