/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/batch_work.h"

#include "core/assert.h"
#include "core/error.h"
#include "core/memory.h"
#include "write/tables.h"

#include <inttypes.h>
#include <string.h>

/* How often bytes are gone through until they are coded and verified, about; and from level 7 on.
 */
enum { PASSES = 2, PASSES_SMALL = 3 };

/* Bytes of a tensor's name that errors have, at most. */
enum { NAMED = 200 };

static bool init_items(const struct wcodec_write_batch *batch, struct wcodec_write_items *set)
{
    set->items = wcodec_alloc_array(&batch->context->allocator, WCODEC_WRITE_BATCH_ITEMS,
                                    sizeof *set->items);
    return set->items != NULL;
}

wcodec_status wcodec_write_batch_init(struct wcodec_write_batch *batch, wcodec_error *err)
{
    return init_items(batch, &batch->now) && init_items(batch, &batch->pending) &&
                   (!batch->overlaps || init_items(batch, &batch->ahead))
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a batch of tensors");
}

void wcodec_write_free_coded(const wcodec_allocator *allocator,
                             struct wcodec_write_batch_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].is_coded)
            wcodec_coded_free(&items[i].coded);
        wcodec_free(allocator, items[i].approximation);
        wcodec_looked_free(allocator, &items[i].looked);
    }
}

static void free_items(const wcodec_allocator *allocator, struct wcodec_write_items *set)
{
    wcodec_write_free_coded(allocator, set->items, set->count);
    wcodec_planned_free(set->planned);
    wcodec_free(allocator, set->items);
    wcodec_free(allocator, set->data);
    *set = (struct wcodec_write_items){.items = NULL};
}

void wcodec_write_batch_free(struct wcodec_write_batch *batch)
{
    if (!batch->context)
        return;
    free_items(&batch->context->allocator, &batch->now);
    free_items(&batch->context->allocator, &batch->ahead);
    free_items(&batch->context->allocator, &batch->pending);
}

wcodec_status wcodec_write_batch_reserve(const struct wcodec_write_batch *batch,
                                         struct wcodec_write_items *items, uint64_t size, bool keep,
                                         wcodec_error *err)
{
    const wcodec_allocator *allocator = &batch->context->allocator;
    /* A large tensor's memory is not kept for the small ones after it. */
    bool large =
        !keep && items->data_capacity > WCODEC_WRITE_BATCH_BYTES && items->data_capacity / 2 > size;
    if (items->data && size <= items->data_capacity && !large) /* nothing has a pointer too */
        return WCODEC_OK;
    if (!keep) {
        wcodec_free(allocator, items->data);
        items->data = NULL;
    }
    uint8_t *data = wcodec_realloc_array(allocator, items->data, size, 1);
    if (!data) {
        items->data_capacity = items->data ? items->data_capacity : 0;
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes", size);
    }
    wcodec_prefer_large_pages(allocator, data, (size_t)size);
    items->data = data;
    items->data_capacity = size;
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
    if (batch->now.by_coder)
        return batch->coder->batch;
    return batch->memory / share < WCODEC_WRITE_BATCH_BYTES ? batch->memory / share
                                                            : WCODEC_WRITE_BATCH_BYTES;
}

bool wcodec_write_batch_is_full(const struct wcodec_write_batch *batch, uint64_t size,
                                bool by_coder)
{
    const uint64_t limit = most_bytes(batch);
    return batch->now.count != 0 &&
           (batch->now.count == WCODEC_WRITE_BATCH_ITEMS || batch->now.by_coder != by_coder ||
            size > limit || batch->now.size > limit - size);
}

void wcodec_write_batch_add(struct wcodec_write_batch *batch, const struct wcodec_entry *what,
                            bool weights, bool by_coder)
{
    WCODEC_ASSERT(batch->now.count == 0 || batch->now.by_coder == by_coder);
    batch->now.by_coder = by_coder;
    /* With loss asked for, patterns say what it is for; the others are weights all the same. */
    const bool lossy = batch->settings.lossy != WCODEC_LOSSY_NONE && what->is_tensor,
               anchored = weights && wcodec_tables_has(batch->options, what);
    const bool is_lossy = weights && lossy && (anchored || !batch->settings.tables.alone);
    batch->now.items[batch->now.count++] =
        (struct wcodec_write_batch_item){.what = *what,
                                         .weights = weights || lossy,
                                         .lossy = is_lossy,
                                         .anchored = anchored,
                                         .at = batch->now.size,
                                         .alias = UINT64_MAX};
    batch->now.size += what->size;
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
    wcodec_write_settle_items(w, &w->batch->pending, WCODEC_WRITE_PLACE_PENDING);
    (void)end_stage(w, begin, WCODEC_PHASE_VERIFY);
}

/* Beside the writing: first what needs the bytes of what is written, whose place the next ones
 * take. */
static void prepare_next(void *argument)
{
    struct wcodec_write_work *w = argument;
    settle_stage(w);
    uint64_t begin = wcodec_phase_begin(&w->batch->phases);
    if (w->batch->now.by_coder)
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
    wcodec_write_help(w);
}

static void settle_beside(void *argument)
{
    struct wcodec_write_work *w = argument;
    settle_stage(w);
    w->prepared_ns = wcodec_phase_begin(&w->batch->phases);
    wcodec_write_help(w);
}

/* Writing beside other work takes time as far as it ends later; one thread does it before that. */
static void end_beside(struct wcodec_write_work *w)
{
    struct wcodec_phases *p = &w->batch->phases;
    wcodec_error error = {0};
    const wcodec_status status = wcodec_output_end(w->batch->output, &error);
    if (status != WCODEC_OK)
        wcodec_write_note_failure(w, WCODEC_WRITE_PLACE_WRITE, status, &error);
    if (wcodec_write_is_alone(w->batch))
        p->shares[WCODEC_PHASE_WRITE] += w->writing_ns;
    else if (p->on && w->written_ns > w->prepared_ns) {
        const uint64_t longer = w->written_ns - w->prepared_ns;
        p->shares[WCODEC_PHASE_WRITE] += longer < w->writing_ns ? longer : w->writing_ns;
    }
}

static wcodec_status begin_work(struct wcodec_write_work *w, struct wcodec_write_batch *batch,
                                wcodec_error *err)
{
    *w = (struct wcodec_write_work){.batch = batch,
                                    .settings = batch->settings,
                                    .coming = &batch->now,
                                    .readers = wcodec_context_threads(batch->context)};
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

/* Items are at work from now on. */
static void begin_span(const struct wcodec_write_batch *b, const struct wcodec_write_items *items)
{
    wcodec_cancel_span(b->settings.cancel, items->begin, items->size,
                       b->settings.level >= 7 ? PASSES_SMALL : PASSES);
}

/* What was coded is pending, and there is room for more. */
static void end_coded(struct wcodec_write_batch *b)
{
    struct wcodec_write_batch_item *items = b->pending.items;
    b->pending.items = b->now.items;
    b->pending.count = b->now.count;
    b->pending.bytes = b->now.bytes;
    b->now.items = items;
    b->now.begin += b->now.size;
    b->now.count = 0;
    b->now.size = 0;
}

/* Work on the items ahead, or on those after them. */
static void exchange(struct wcodec_write_batch *b)
{
    const struct wcodec_write_items now = b->now;
    b->now = b->ahead;
    b->ahead = now;
}

static void read_coming(struct wcodec_write_work *w)
{
    wcodec_write_read(w);
    wcodec_write_find_aliases(w);
}

/* While items are coded that were planned, the next ones are read by some threads, and what of them
 * is found out by one. */
static void overlap_task(void *argument, size_t i)
{
    struct wcodec_write_work *w = argument;
    if (i != 0) {
        if (!w->is_read)
            read_coming(w);
        wcodec_write_plan(w);
        return;
    }
    wcodec_write_code(w);
    wcodec_write_settle_items(w, &w->batch->now, WCODEC_WRITE_PLACE_BATCH);
}

/* Where too little is left, one item at a time has what it takes at least. */
static uint64_t enough(const struct wcodec_write_batch *b, const struct wcodec_write_items *items,
                       uint64_t left)
{
    return left != 0 ? left
                     : wcodec_write_least_scratch(&b->settings, wcodec_write_largest_item(items));
}

static void code_ahead(struct wcodec_write_work *w, uint64_t scratch)
{
    exchange(w->batch);
    w->coming = &w->batch->ahead;
    wcodec_write_share_memory(w, scratch);
    wcodec_run(w->batch->context, overlap_task, w, w->plans ? 2 : 1);
}

/* Beside the writing: read the next items while those before them are coded, or where there is no
 * memory for that now, before. */
static void prepare_overlapping(void *argument)
{
    struct wcodec_write_work *w = argument;
    if (!w->is_settled)
        settle_stage(w);
    const uint64_t begin = wcodec_phase_begin(&w->batch->phases);
    if (w->scratch != 0) {
        code_ahead(w, w->scratch);
    } else if (w->plans) {
        read_coming(w);
        w->is_read = true;
    }
    w->prepared_ns = end_stage(w, begin, w->scratch != 0 ? WCODEC_PHASE_CODE : WCODEC_PHASE_READ);
    wcodec_write_help(w);
}

/* Code the items ahead and write what was pending; `next`: the batch's are ahead then. */
static wcodec_status run_ahead(struct wcodec_write_batch *b, bool next, wcodec_error *err)
{
    struct wcodec_write_work w;
    wcodec_status status = begin_work(&w, b, err);
    if (status != WCODEC_OK)
        return status;
    begin_span(b, &b->ahead);
    b->first_entry = b->output->index.entry_count + b->pending.count + b->ahead.count;
    w.plans = next;
    if (next && b->ahead.count != 0)
        w.readers = wcodec_write_half(b);
    w.is_settled = wcodec_write_unsettled_size(b) == 0;
    w.scratch = wcodec_write_left_ahead(b, next, wcodec_write_pending_size(b));
    wcodec_run_beside(b->context, wcodec_write_pending, prepare_overlapping, &w);
    end_beside(&w);
    if (!atomic_load(&w.failed)) {
        wcodec_write_release(b);
        if (!w.is_coded) {
            const uint64_t begin = wcodec_phase_begin(&b->phases);
            code_ahead(&w, enough(b, &b->ahead, wcodec_write_left_ahead(b, next, 0)));
            (void)end_stage(&w, begin, WCODEC_PHASE_CODE);
        }
    }
    status = end_work(&w, err);
    if (status == WCODEC_OK)
        end_coded(b);
    return status;
}

/* Nothing is read while what is ahead is coded. */
static wcodec_status finish_ahead(struct wcodec_write_batch *b, wcodec_error *err)
{
    if (b->ahead.count == 0)
        return WCODEC_OK;
    wcodec_free(&b->context->allocator, b->now.data);
    b->now.data = NULL;
    b->now.data_capacity = 0;
    const wcodec_status status = run_ahead(b, false, err);
    if (status != WCODEC_OK)
        return status;
    exchange(b);
    b->now.data = b->ahead.data; /* in which there is nothing any more */
    b->now.data_capacity = b->ahead.data_capacity;
    b->ahead.data = NULL;
    b->ahead.data_capacity = 0;
    return WCODEC_OK;
}

/* Before a coder has its first batch only a header is written: it would take longer to wake another
 * thread. Later ones wait for storage, and deltas for the hash of their base. */
static bool is_soon_written(const struct wcodec_write_batch *b)
{
    return b->now.by_coder && b->pending.count == 0;
}

static wcodec_status run_alone(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct wcodec_write_work w;
    wcodec_status status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    begin_span(batch, &batch->now);
    batch->first_entry = batch->output->index.entry_count + batch->pending.count;
    w.scratch = batch->now.by_coder
                    ? WCODEC_WRITE_VERIFY_SCRATCH
                    : wcodec_write_left_over(batch, wcodec_write_pending_size(batch));
    if (is_soon_written(batch)) {
        wcodec_write_pending(&w);
        prepare_next(&w);
    } else {
        wcodec_run_beside(batch->context, wcodec_write_pending, prepare_next, &w);
    }
    end_beside(&w);
    if (!atomic_load(&w.failed)) {
        wcodec_write_release(batch);
        if (!w.is_coded) {
            const uint64_t begin = wcodec_phase_begin(&batch->phases);
            wcodec_write_share_memory(&w,
                                      enough(batch, &batch->now, wcodec_write_left_over(batch, 0)));
            wcodec_write_code(&w);
            (void)end_stage(&w, begin, WCODEC_PHASE_CODE);
        }
    }
    status = end_work(&w, err);
    if (status == WCODEC_OK)
        end_coded(batch);
    return status;
}

wcodec_status wcodec_write_batch_run(struct wcodec_write_batch *batch, wcodec_error *err)
{
    if (batch->now.count == 0)
        return WCODEC_OK;
    if (batch->overlaps && wcodec_write_left_ahead(batch, true, 0) != 0)
        return run_ahead(batch, true, err);
    const wcodec_status status = finish_ahead(batch, err);
    return status == WCODEC_OK ? run_alone(batch, err) : status;
}

wcodec_status wcodec_write_batch_settle(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct wcodec_write_work w;
    wcodec_status status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_write_settle_items(&w, &batch->pending, WCODEC_WRITE_PLACE_PENDING);
    return end_work(&w, err);
}

wcodec_status wcodec_write_batch_flush(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct wcodec_write_work w;
    wcodec_status status = finish_ahead(batch, err);
    if (status != WCODEC_OK || batch->pending.count == 0)
        return status;
    status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t size = wcodec_write_unsettled_size(batch);
    wcodec_cancel_span(batch->settings.cancel, batch->now.begin - size / 10, size / 10, 10);
    wcodec_run_beside(batch->context, wcodec_write_pending, settle_beside, &w);
    end_beside(&w);
    status = end_work(&w, err);
    if (status == WCODEC_OK)
        wcodec_write_release(batch);
    return status;
}
