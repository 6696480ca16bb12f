/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What was coded goes to the output, beside other work. */
#include "write/batch_work.h"

#include "core/log.h"
#include "encode/recall.h"

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

/* Threads that write what is pending, until nothing is left to code. Each more of them takes longer
 * for its part, which keeps it from coding: four write a file in memory as fast as sixteen. */
static size_t count_writers(const struct wcodec_write_work *w)
{
    const size_t threads = wcodec_context_threads(w->batch->context),
                 share = w->scratch != 0 ? 1 + (threads - 1) / 5 : threads,
                 most = w->batch->writers;
    return most != 0 && most < share ? most : share;
}

void wcodec_write_release(struct wcodec_write_batch *b)
{
    if (b->pending.count == 0)
        return;
    struct wcodec_entry *entries =
        b->output->index.entries + (b->output->index.entry_count - b->pending.count);
    for (size_t i = 0; i < b->pending.count; i++)
        if (b->pending.items[i].is_coded)
            entries[i].payload_hash = b->pending.items[i].payload_hash;
    wcodec_write_free_coded(&b->context->allocator, b->pending.items, b->pending.count);
    b->pending.count = 0;
}

static bool is_delta_without_base(const struct wcodec_write_batch *b,
                                  const struct wcodec_write_batch_item *item)
{
    return b->coder != NULL && b->coder->set_base != NULL && item->is_coded &&
           item->coded.coding == WCODEC_CODING_DELTA;
}

static size_t count_helpers(const struct wcodec_write_batch *b)
{
    return b->writers == 0 ? wcodec_write_half(b) : 0;
}

static void write_more(struct wcodec_write_work *w, size_t threads)
{
    struct wcodec_write_batch *b = w->batch;
    wcodec_output_write_more(b->context, b->output, threads,
                             wcodec_write_is_alone(b) ? NULL : &b->phases);
}

void wcodec_write_pending(void *argument)
{
    struct wcodec_write_work *w = argument;
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    const uint64_t begin = wcodec_phase_begin(&b->phases);
    for (size_t i = 0; i < b->pending.count && status == WCODEC_OK; i++) {
        struct wcodec_write_batch_item *item = &b->pending.items[i];
        if (b->settings.lossy != WCODEC_LOSSY_NONE && item->is_coded)
            log_lossy(b, item);
        if (is_delta_without_base(b, item))
            status = b->coder->set_base(b->coder->opaque, &item->coded, &error);
        if (status != WCODEC_OK)
            break;
        if (item->alias != UINT64_MAX)
            status = wcodec_output_alias(b->output, &item->what, item->alias, &error);
        else
            status = wcodec_output_coded(b->output, &item->what, &item->coded, &error);
    }
    if (status == WCODEC_OK) {
        wcodec_output_begin(b->output);
        /* Help that came before found nothing to write; what comes later finds it. */
        write_more(w, count_writers(w) + (atomic_load(&w->helps) ? count_helpers(b) : 0));
        status = wcodec_output_check(b->output, &error);
    }
    w->written_ns = wcodec_phase_begin(&b->phases);
    w->writing_ns = w->written_ns - begin;
    if (status != WCODEC_OK)
        wcodec_write_note_failure(w, WCODEC_WRITE_PLACE_WRITE, status, &error);
    else if (w->is_settled && wcodec_output_is_written(b->output)) /* while others are at work */
        wcodec_write_release(b);
}

void wcodec_write_help(struct wcodec_write_work *w)
{
    atomic_store(&w->helps, true);
    write_more(w, count_helpers(w->batch));
}
