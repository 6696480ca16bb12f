/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/batch_work.h"

#include "core/assert.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "encode/recall.h"
#include "write/tables.h"

#include <inttypes.h>
#include <string.h>

/* How often bytes are gone through until they are coded and verified, about; and from level 7 on.
 */
enum { PASSES = 2, PASSES_SMALL = 3 };

/* Bytes of a tensor's name that errors have, at most. */
enum { NAMED = 200 };

wcodec_status wcodec_write_batch_init(struct wcodec_write_batch *batch, wcodec_error *err)
{
    batch->items = wcodec_alloc_array(&batch->context->allocator, WCODEC_WRITE_BATCH_ITEMS,
                                      sizeof *batch->items);
    batch->pending = wcodec_alloc_array(&batch->context->allocator, WCODEC_WRITE_BATCH_ITEMS,
                                        sizeof *batch->pending);
    return batch->items && batch->pending
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a batch of tensors");
}

static void free_coded(const wcodec_allocator *allocator, struct wcodec_write_batch_item *items,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].is_coded)
            wcodec_coded_free(&items[i].coded);
        wcodec_free(allocator, items[i].approximation);
        wcodec_looked_free(allocator, &items[i].looked);
    }
}

void wcodec_write_batch_free(struct wcodec_write_batch *batch)
{
    if (!batch->context)
        return;
    free_coded(&batch->context->allocator, batch->items, batch->count);
    free_coded(&batch->context->allocator, batch->pending, batch->pending_count);
    batch->count = batch->pending_count = 0;
    wcodec_free(&batch->context->allocator, batch->items);
    wcodec_free(&batch->context->allocator, batch->pending);
    wcodec_free(&batch->context->allocator, batch->data);
    batch->items = batch->pending = NULL;
    batch->data = NULL;
}

wcodec_status wcodec_write_batch_reserve(struct wcodec_write_batch *batch, uint64_t size, bool keep,
                                         wcodec_error *err)
{
    const wcodec_allocator *allocator = &batch->context->allocator;
    /* A large tensor's memory is not kept for the small ones after it. */
    bool large =
        !keep && batch->data_capacity > WCODEC_WRITE_BATCH_BYTES && batch->data_capacity / 2 > size;
    if (batch->data && size <= batch->data_capacity && !large) /* nothing has a pointer too */
        return WCODEC_OK;
    if (!keep) {
        wcodec_free(allocator, batch->data);
        batch->data = NULL;
    }
    uint8_t *data = wcodec_realloc_array(allocator, batch->data, size, 1);
    if (!data) {
        batch->data_capacity = batch->data ? batch->data_capacity : 0;
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes", size);
    }
    wcodec_prefer_large_pages(allocator, data, (size_t)size);
    batch->data = data;
    batch->data_capacity = size;
    return WCODEC_OK;
}

bool wcodec_write_batch_by_coder(const struct wcodec_write_batch *batch,
                                 const struct wcodec_entry *what, bool weights, uint64_t offset)
{
    return batch->coder != NULL && (batch->bases != NULL) == batch->coder->by_base && weights &&
           what->is_tensor && what->u.geometry == NULL && what->size >= WCODEC_WRITE_BATCH_LARGE &&
           batch->coder->takes(batch->coder->opaque, &batch->settings, what, offset);
}

/* Bytes, their payload, and the payload of those before; with loss, coefficients and
 * approximations. */
static uint64_t most_bytes(const struct wcodec_write_batch *batch)
{
    const uint64_t share = batch->settings.lossy != WCODEC_LOSSY_NONE ? 8 : 4;
    if (batch->by_coder)
        return batch->coder->batch;
    return batch->memory / share < WCODEC_WRITE_BATCH_BYTES ? batch->memory / share
                                                            : WCODEC_WRITE_BATCH_BYTES;
}

bool wcodec_write_batch_is_full(const struct wcodec_write_batch *batch, uint64_t size,
                                bool by_coder)
{
    const uint64_t limit = most_bytes(batch);
    return batch->count != 0 &&
           (batch->count == WCODEC_WRITE_BATCH_ITEMS || batch->by_coder != by_coder ||
            size > limit || batch->size > limit - size);
}

void wcodec_write_batch_add(struct wcodec_write_batch *batch, const struct wcodec_entry *what,
                            bool weights, bool by_coder)
{
    WCODEC_ASSERT(batch->count == 0 || batch->by_coder == by_coder);
    batch->by_coder = by_coder;
    /* With loss asked for, patterns say what it is for; the others are weights all the same. */
    const bool lossy = batch->settings.lossy != WCODEC_LOSSY_NONE && what->is_tensor,
               anchored = weights && wcodec_tables_has(batch->options, what);
    const bool is_lossy = weights && lossy && (anchored || !batch->settings.tables.alone);
    batch->items[batch->count++] = (struct wcodec_write_batch_item){.what = *what,
                                                                    .weights = weights || lossy,
                                                                    .lossy = is_lossy,
                                                                    .anchored = anchored,
                                                                    .at = batch->size,
                                                                    .alias = UINT64_MAX};
    batch->size += what->size;
}

void wcodec_write_note_failure(struct wcodec_write_work *w, uint64_t position, wcodec_status status,
                               const wcodec_error *error)
{
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->failed) || position < w->failed_position) {
        w->failed_position = position;
        w->status = status;
        w->error = *error;
    }
    atomic_store(&w->failed, true);
    pthread_mutex_unlock(&w->lock);
}

/* Does it begin with that name? What reads a source's tensors says it, too. */
static bool is_named(const wcodec_error *error, const char *name)
{
    static const char before[] = "tensor \"";
    const size_t size = strnlen(name, NAMED);
    const char *text = error->text;
    return strncmp(text, before, sizeof before - 1) == 0 &&
           strncmp(text + (sizeof before - 1), name, size) == 0 &&
           text[sizeof before - 1 + size] == '"';
}

void wcodec_write_note_item_failure(struct wcodec_write_work *w, uint64_t position,
                                    const struct wcodec_write_batch_item *item,
                                    wcodec_status status, wcodec_error *error)
{
    if (item->what.name && status != WCODEC_ERROR_CANCELLED && !is_named(error, item->what.name))
        wcodec_error_prefix(error, "tensor \"%.*s\"", NAMED, item->what.name);
    wcodec_write_note_failure(w, position, status, error);
}

static void log_lossy(const struct wcodec_write_batch *b,
                      const struct wcodec_write_batch_item *item)
{
    wcodec_context *context = b->context;
    const char *reason = item->coded.lossless;
    if (item->coded.recall > 0 && wcodec_log_wants(context, WCODEC_LOG_INFO))
        wcodec_log(context, WCODEC_LOG_INFO, "tensor \"%.200s\" reaches a recall@%d of %.4f",
                   item->what.name, (int)WCODEC_RECALL_NEAREST, item->coded.recall);
    if (b->settings.tables.alone && !item->anchored)
        return;
    if (item->weights && !item->lossy && wcodec_lossy_dtype((wcodec_dtype)item->what.dtype))
        reason = "its name is left out";
    if (reason && wcodec_log_wants(context, WCODEC_LOG_INFO))
        wcodec_log(context, WCODEC_LOG_INFO, "tensor \"%.200s\" stays lossless: %s",
                   item->what.name, reason);
}

/* Is there one thread for everything? */
static bool is_alone(const struct wcodec_write_batch *b)
{
    return wcodec_context_threads(b->context) == 1;
}

/* Threads that write what is pending. Each more of them takes longer for its part, which keeps it
 * from coding. */
static size_t count_writers(const struct wcodec_write_work *w)
{
    const size_t threads = wcodec_context_threads(w->batch->context),
                 share = w->scratch != 0 ? 1 + (threads - 1) / 3 : threads,
                 most = w->batch->writers;
    return most != 0 && most < share ? most : share;
}

static void write_pending(void *argument)
{
    struct wcodec_write_work *w = argument;
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    const uint64_t begin = wcodec_phase_begin(&b->phases);
    for (size_t i = 0; i < b->pending_count && status == WCODEC_OK; i++) {
        struct wcodec_write_batch_item *item = &b->pending[i];
        if (b->settings.lossy != WCODEC_LOSSY_NONE && item->is_coded)
            log_lossy(b, item);
        if (item->by_coder && b->coder->settle != NULL)
            status = b->coder->settle(b->coder->opaque, &item->coded, &error);
        if (status != WCODEC_OK)
            break;
        if (item->alias != UINT64_MAX)
            status = wcodec_output_alias(b->output, &item->what, item->alias, &error);
        else
            status = wcodec_output_coded(b->output, &item->what, &item->coded, &error);
    }
    if (status == WCODEC_OK)
        status = wcodec_output_write(b->context, b->output, count_writers(w),
                                     is_alone(b) ? NULL : &b->phases, &error);
    w->written_ns = wcodec_phase_begin(&b->phases);
    w->writing_ns = w->written_ns - begin;
    if (status != WCODEC_OK)
        wcodec_write_note_failure(w, WCODEC_WRITE_PLACE_WRITE, status, &error);
}

/* A stage has ended, which began at that time. Returns the time. */
static uint64_t end_stage(struct wcodec_write_work *w, uint64_t begin, enum wcodec_phase phase)
{
    const uint64_t now = wcodec_phase_begin(&w->batch->phases);
    wcodec_phases_divide(&w->batch->phases, now - begin, phase);
    return now;
}

static void settle_stage(struct wcodec_write_work *w)
{
    const uint64_t begin = wcodec_phase_begin(&w->batch->phases);
    wcodec_write_settle_pending(w);
    (void)end_stage(w, begin, WCODEC_PHASE_VERIFY);
}

/* Beside the writing: first what needs the bytes of what is written, whose place the next ones
 * take. */
static void prepare_next(void *argument)
{
    struct wcodec_write_work *w = argument;
    settle_stage(w);
    uint64_t begin = wcodec_phase_begin(&w->batch->phases);
    if (w->batch->by_coder)
        wcodec_write_look(w);
    else
        wcodec_write_read(w);
    begin = end_stage(w, begin, WCODEC_PHASE_READ);
    wcodec_write_find_aliases(w);
    if (w->scratch != 0) {
        wcodec_write_share_memory(w, w->scratch);
        wcodec_write_code(w);
    }
    w->prepared_ns = end_stage(w, begin, WCODEC_PHASE_CODE);
}

static void settle_beside(void *argument)
{
    struct wcodec_write_work *w = argument;
    settle_stage(w);
    w->prepared_ns = wcodec_phase_begin(&w->batch->phases);
}

/* Writing beside other work takes time as far as it ends later; one thread does it before that. */
static void end_beside(struct wcodec_write_work *w)
{
    struct wcodec_phases *p = &w->batch->phases;
    if (is_alone(w->batch))
        p->shares[WCODEC_PHASE_WRITE] += w->writing_ns;
    else if (p->on && w->written_ns > w->prepared_ns) {
        const uint64_t longer = w->written_ns - w->prepared_ns;
        p->shares[WCODEC_PHASE_WRITE] += longer < w->writing_ns ? longer : w->writing_ns;
    }
}

static wcodec_status begin_work(struct wcodec_write_work *w, struct wcodec_write_batch *batch,
                                wcodec_error *err)
{
    *w = (struct wcodec_write_work){.batch = batch, .settings = batch->settings};
    w->settings.scratch = WCODEC_WRITE_VERIFY_SCRATCH;
    return pthread_mutex_init(&w->lock, NULL) == 0
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
}

static wcodec_status end_work(struct wcodec_write_work *w, wcodec_error *err)
{
    pthread_mutex_destroy(&w->lock);
    return atomic_load(&w->failed) ? wcodec_fail(err, w->status, "%s", w->error.text) : WCODEC_OK;
}

/* What was written has its hashes by now. */
static void release_pending(struct wcodec_write_batch *b)
{
    if (b->pending_count == 0)
        return;
    struct wcodec_entry *entries =
        b->output->index.entries + (b->output->index.entry_count - b->pending_count);
    for (size_t i = 0; i < b->pending_count; i++)
        if (b->pending[i].is_coded)
            entries[i].payload_hash = b->pending[i].payload_hash;
    free_coded(&b->context->allocator, b->pending, b->pending_count);
    b->pending_count = 0;
}

wcodec_status wcodec_write_batch_run(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct wcodec_write_work w;
    if (batch->count == 0)
        return WCODEC_OK;
    wcodec_status status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_cancel_span(batch->settings.cancel, batch->begin, batch->size,
                       batch->settings.level >= 7 ? PASSES_SMALL : PASSES);
    batch->first_entry = batch->output->index.entry_count + batch->pending_count;
    w.scratch = batch->by_coder ? WCODEC_WRITE_VERIFY_SCRATCH
                                : wcodec_write_left_over(batch, wcodec_write_pending_size(batch));
    wcodec_run_beside(batch->context, write_pending, prepare_next, &w);
    end_beside(&w);
    if (!atomic_load(&w.failed)) {
        release_pending(batch);
        if (!w.is_coded) {
            uint64_t scratch = wcodec_write_left_over(batch, 0);
            const uint64_t begin = wcodec_phase_begin(&batch->phases);
            wcodec_write_share_memory(
                &w, scratch ? scratch
                            : wcodec_write_least_scratch(&batch->settings,
                                                         wcodec_write_largest_item(batch)));
            wcodec_write_code(&w);
            (void)end_stage(&w, begin, WCODEC_PHASE_CODE);
        }
    }
    status = end_work(&w, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_write_batch_item *items = batch->pending;
    batch->pending = batch->items;
    batch->pending_count = batch->count;
    batch->pending_bytes = batch->bytes;
    batch->items = items;
    batch->begin += batch->size;
    batch->count = 0;
    batch->size = 0;
    return WCODEC_OK;
}

wcodec_status wcodec_write_batch_settle(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct wcodec_write_work w;
    wcodec_status status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_write_settle_pending(&w);
    return end_work(&w, err);
}

wcodec_status wcodec_write_batch_flush(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct wcodec_write_work w;
    if (batch->pending_count == 0)
        return WCODEC_OK;
    wcodec_status status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t size = wcodec_write_unsettled_size(batch);
    wcodec_cancel_span(batch->settings.cancel, batch->begin - size / 10, size / 10, 10);
    wcodec_run_beside(batch->context, write_pending, settle_beside, &w);
    end_beside(&w);
    status = end_work(&w, err);
    if (status == WCODEC_OK)
        release_pending(batch);
    return status;
}
