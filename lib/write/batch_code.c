/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding of a batch's items. */
#include "write/batch_work.h"

#include "core/error.h"
#include "core/memory.h"
#include "format/base_fetch.h"
#include "write/tables.h"

#include <inttypes.h>

static bool is_large(const struct wcodec_write_batch_item *item)
{
    return item->weights && item->what.size >= WCODEC_WRITE_BATCH_LARGE;
}

/* Has a base a tensor like this? Small ones are not worth naming a base. */
static bool has_base(const struct wcodec_write_batch *b, const struct wcodec_write_batch_item *item)
{
    return b->bases != NULL && item->weights && item->what.is_tensor &&
           item->what.size > WCODEC_TINY_BYTES &&
           wcodec_base_fetch_of(b->bases)->has(b->bases, &item->what);
}

/* As a difference from its base, or alone if that is smaller. */
static wcodec_status code_by_base(const struct wcodec_write_batch *b,
                                  const struct wcodec_encode_settings *settings,
                                  struct wcodec_write_batch_item *item, const uint8_t *data,
                                  wcodec_error *err)
{
    const wcodec_allocator *allocator = &b->context->allocator;
    struct wcodec_encode_settings own = *settings;
    const struct wcodec_base_fetch *from = wcodec_base_fetch_of(b->bases);
    struct wcodec_delta_base base;
    wcodec_status status = WCODEC_OK;
    uint8_t *bytes = NULL;
    const bool placed = from->place != NULL && from->place(b->bases, &item->what, &base);
    if (!placed)
        bytes = wcodec_alloc_array(allocator, item->what.size, 1);
    if (!placed && bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a base's %" PRIu64 " bytes",
                           item->what.size);
    own.verify = b->settings.verify;
    own.weights = item->weights;
    own.columns = wcodec_entry_columns(&item->what);
    own.geometry = item->what.u.geometry;
    if (!placed)
        status = from->fetch(b->bases, &item->what, bytes, &base, err);
    if (status == WCODEC_OK)
        status = wcodec_delta_code(b->context, &own, (wcodec_dtype)item->what.dtype, data,
                                   item->what.size, &base, &item->coded, err);
    wcodec_free(allocator, bytes);
    return status;
}

static struct wcodec_encode_settings item_settings(const struct wcodec_write_work *w,
                                                   const struct wcodec_write_batch_item *item)
{
    struct wcodec_encode_settings settings = w->settings;
    settings.verify = false;
    settings.verify_parts = w->batch->settings.verify;
    /* A writer's only item that is no tensor is its header. */
    settings.quick = w->batch->source == NULL && !item->what.is_tensor;
    settings.lossy = item->lossy ? settings.lossy : WCODEC_LOSSY_NONE;
    if (item->anchored)
        wcodec_tables_settings(&settings);
    return settings;
}

static wcodec_status code_planned(struct wcodec_write_work *w, struct wcodec_write_batch_item *item,
                                  wcodec_error *err)
{
    struct wcodec_planned *planned = w->batch->now.planned;
    w->batch->now.planned = NULL;
    return wcodec_encode_planned(planned, w->settings.scratch, &item->coded, err);
}

/* By its bytes at data. */
static void code_here(struct wcodec_write_work *w, size_t i, const uint8_t *data)
{
    struct wcodec_write_batch *b = w->batch;
    struct wcodec_write_batch_item *item = &b->now.items[i];
    const struct wcodec_encode_settings settings = item_settings(w, item);
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    if (item->alias != UINT64_MAX && !wcodec_write_may_be_lossy(item))
        return;
    if (wcodec_cancel_poll(settings.cancel))
        status = wcodec_fail(&error, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    const uint64_t time = wcodec_phase_begin(&b->phases);
    if (status == WCODEC_OK && has_base(b, item))
        status = code_by_base(b, &settings, item, data, &error);
    else if (status == WCODEC_OK && b->now.planned != NULL)
        status = code_planned(w, item, &error);
    else if (status == WCODEC_OK)
        status = wcodec_code_bytes(b->context, &settings, item->weights, &item->what, data,
                                   &item->coded, &error);
    (void)wcodec_phase_end(&b->phases, WCODEC_PHASE_CODE, time);
    item->is_coded = status == WCODEC_OK;
    if (status == WCODEC_OK) {
        item->approximation = item->coded.approximation;
        item->coded.approximation = NULL;
    }
    /* Of an alias only what it decodes to is wanted: the same as what its entry does. */
    if (item->is_coded && item->alias != UINT64_MAX) {
        wcodec_coded_free(&item->coded);
        item->is_coded = false;
    }
    if (status != WCODEC_OK)
        wcodec_write_note_item_failure(w, WCODEC_WRITE_PLACE_BATCH + i, item, status, &error);
}

static void code_item(struct wcodec_write_work *w, size_t i)
{
    struct wcodec_write_batch_item *item = &w->batch->now.items[i];
    code_here(w, i, w->batch->now.bytes + item->at);
    if (!is_large(item))
        wcodec_write_settle(w, WCODEC_WRITE_PLACE_BATCH + i, item, w->batch->now.bytes + item->at);
}

/* Of a batch that the coder has: what it leaves is coded here later. */
static void code_by_coder(struct wcodec_write_work *w, size_t i)
{
    struct wcodec_write_batch *b = w->batch;
    struct wcodec_write_batch_item *item = &b->now.items[i];
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    bool done = false;
    if (item->alias != UINT64_MAX)
        return;
    const uint64_t time = wcodec_phase_begin(&b->phases);
    if (wcodec_cancel_poll(w->settings.cancel))
        status = wcodec_fail(&error, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    if (status == WCODEC_OK)
        status = b->coder->code(b->coder->opaque, &b->settings, &item->what,
                                b->now.begin + item->at, &item->coded, &done, &error);
    item->is_coded = done;
    if (done)
        status = wcodec_coded_hash(b->context, b->output->original.leaf, &item->coded,
                                   &item->payload_hash, &error);
    item->is_settled = done;
    (void)wcodec_phase_end(&b->phases, WCODEC_PHASE_CODE, time);
    if (status != WCODEC_OK)
        wcodec_write_note_item_failure(w, WCODEC_WRITE_PLACE_BATCH + i, item, status, &error);
}

/* The original's hash goes by what is decoded. */
static void hash_approximations(struct wcodec_write_work *w)
{
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < b->now.count && status == WCODEC_OK; i++) {
        struct wcodec_write_batch_item *item = &b->now.items[i];
        status =
            wcodec_output_hash(b->context, b->output,
                               item->approximation ? item->approximation : b->now.bytes + item->at,
                               item->what.size, &error);
        wcodec_free(&b->context->allocator, item->approximation);
        item->approximation = NULL;
    }
    if (status != WCODEC_OK)
        wcodec_write_note_failure(w, WCODEC_WRITE_PLACE_BATCH, status, &error);
}

/* Tasks take items until none is left. */
static void code_task(void *argument, size_t i)
{
    struct wcodec_write_work *w = argument;
    (void)i;
    for (size_t item;
         !atomic_load(&w->failed) && (item = atomic_fetch_add(&w->next, 1)) < w->batch->now.count;)
        if (w->batch->now.by_coder)
            code_by_coder(w, item);
        else
            code_item(w, item);
}

/* A tensor of the source that the coder left: read here, for this alone. */
struct bringing {
    struct wcodec_write_work *work;
    uint64_t offset, size;
    uint8_t *bytes;
    size_t item;
};

static void bring_task(void *argument, size_t i)
{
    const struct bringing *g = argument;
    const uint64_t at = (uint64_t)i * WCODEC_WRITE_READ_PIECE, left = g->size - at;
    wcodec_error error = {0};
    if (atomic_load(&g->work->failed))
        return;
    const wcodec_status status = g->work->batch->coder->read(
        g->work->batch->coder->opaque, g->offset + at, g->bytes + at,
        (size_t)(left < WCODEC_WRITE_READ_PIECE ? left : WCODEC_WRITE_READ_PIECE), &error);
    if (status != WCODEC_OK)
        wcodec_write_note_failure(g->work, WCODEC_WRITE_PLACE_BATCH + g->item, status, &error);
}

static void code_left(struct wcodec_write_work *w, size_t i)
{
    struct wcodec_write_batch *b = w->batch;
    struct wcodec_write_batch_item *item = &b->now.items[i];
    struct bringing g = {
        .work = w, .offset = b->now.begin + item->at, .size = item->what.size, .item = i};
    wcodec_error error = {0};
    if (item->is_coded || item->alias != UINT64_MAX || atomic_load(&w->failed))
        return;
    g.bytes = wcodec_alloc_array(&b->context->allocator, g.size, 1);
    if (g.bytes == NULL) {
        const wcodec_status status =
            wcodec_fail(&error, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes", g.size);
        wcodec_write_note_item_failure(w, WCODEC_WRITE_PLACE_BATCH + i, item, status, &error);
        return;
    }
    wcodec_run(b->context, bring_task, &g,
               (size_t)wcodec_div_up_u64(g.size, WCODEC_WRITE_READ_PIECE));
    w->settings.scratch = wcodec_write_least_scratch(&b->settings, g.size);
    if (!atomic_load(&w->failed))
        code_here(w, i, g.bytes);
    if (!atomic_load(&w->failed))
        wcodec_write_settle(w, WCODEC_WRITE_PLACE_BATCH + i, item, g.bytes);
    wcodec_free(&b->context->allocator, g.bytes);
}

void wcodec_write_code(struct wcodec_write_work *w)
{
    if (!atomic_load(&w->failed))
        wcodec_run(w->batch->context, code_task, w, w->coders);
    for (size_t i = 0; i < w->batch->now.count && w->batch->now.by_coder; i++)
        code_left(w, i);
    if (!atomic_load(&w->failed) && w->batch->settings.lossy != WCODEC_LOSSY_NONE)
        hash_approximations(w);
    w->is_coded = true;
}

void wcodec_write_plan(struct wcodec_write_work *w)
{
    const struct wcodec_write_batch *b = w->batch;
    struct wcodec_write_items *next = &w->batch->ahead;
    const struct wcodec_write_batch_item *item = &next->items[0];
    wcodec_error error = {0};
    if (atomic_load(&w->failed) || next->count != 1 || !is_large(item) || item->alias != UINT64_MAX)
        return;
    struct wcodec_encode_settings settings = item_settings(w, item);
    settings.scratch = wcodec_write_least_scratch(&b->settings, item->what.size);
    const uint64_t time = wcodec_phase_begin(&w->batch->phases);
    const wcodec_status status = wcodec_plan_bytes(
        b->context, &settings, item->weights, &item->what, next->bytes, &next->planned, &error);
    (void)wcodec_phase_end(&w->batch->phases, WCODEC_PHASE_CODE, time);
    if (status != WCODEC_OK)
        wcodec_write_note_item_failure(w, WCODEC_WRITE_PLACE_NEXT, item, status, &error);
}
