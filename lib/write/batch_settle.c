/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What was coded, verified and hashed. */
#include "write/batch_work.h"

#include "core/memory.h"

/* Bytes of a payload that is put together by a copy: larger ones would take more memory, a copy for
 * each thread, than they save in time. */
enum { SMALL_PAYLOAD = 16 << 10 };

/* Of a small tensor, when it has been verified. */
static wcodec_status settle_small(struct wcodec_write_work *w, struct wcodec_coded *coded,
                                  const uint8_t *data, uint64_t *hash, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (w->batch->settings.verify)
        status = wcodec_coded_verify(w->batch->context, &w->settings, coded, data, NULL, err);
    if (status == WCODEC_OK)
        status = wcodec_coded_gather(coded, err);
    return status == WCODEC_OK
               ? wcodec_coded_hash(w->batch->context, w->batch->output->original.leaf, coded, hash,
                                   err)
               : status;
}

void wcodec_write_settle(struct wcodec_write_work *w, uint64_t position,
                         struct wcodec_write_batch_item *item, const uint8_t *data)
{
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    if (!item->is_coded || item->is_settled || atomic_load(&w->failed))
        return;
    const uint64_t begin = wcodec_phase_begin(&w->batch->phases);
    const bool verify = w->batch->settings.verify;
    const wcodec_leaf_fn leaf = w->batch->output->original.leaf;
    if (item->coded.payload_size <= SMALL_PAYLOAD)
        status = settle_small(w, &item->coded, data, &item->payload_hash, &error);
    else if (verify)
        status = wcodec_coded_settle(w->batch->context, &w->settings, leaf, &item->coded, data,
                                     &item->payload_hash, &error);
    else
        status =
            wcodec_coded_hash(w->batch->context, leaf, &item->coded, &item->payload_hash, &error);
    (void)wcodec_phase_end(&w->batch->phases, verify ? WCODEC_PHASE_VERIFY : WCODEC_PHASE_HASH,
                           begin);
    item->is_settled = status == WCODEC_OK;
    wcodec_free(&w->batch->context->allocator, item->coded.coefficients);
    item->coded.coefficients = NULL;
    if (status != WCODEC_OK)
        wcodec_write_note_item_failure(w, position, item, status, &error);
}

uint64_t wcodec_write_unsettled_size(const struct wcodec_write_batch *b)
{
    uint64_t size = 0;
    for (size_t i = 0; i < b->pending.count; i++)
        size += b->pending.items[i].is_coded && !b->pending.items[i].is_settled
                    ? b->pending.items[i].what.size
                    : 0;
    return size;
}

struct settling {
    struct wcodec_write_work *work;
    struct wcodec_write_items *items;
    uint64_t position;
};

static void settle_task(void *argument, size_t i)
{
    const struct settling *s = argument;
    struct wcodec_write_batch_item *item = &s->items->items[i];
    if (item->is_coded && !item->is_settled) /* else its bytes may be no more */
        wcodec_write_settle(s->work, s->position + i, item, s->items->bytes + item->at);
}

void wcodec_write_settle_items(struct wcodec_write_work *w, struct wcodec_write_items *items,
                               uint64_t position)
{
    struct settling s = {w, items, position};
    wcodec_run(w->batch->context, settle_task, &s, items->count);
}
