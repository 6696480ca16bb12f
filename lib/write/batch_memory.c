/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How a batch shares the memory that it may take. */
#include "write/batch_work.h"

#include "coding/chunks.h"
#include "coding/packed.h"
#include "core/assert.h"
#include "encode/assemble.h"

/* What loss takes beside: coefficients and what they decode to, as long as the item is at work;
 * fragments: the elements in their order; records: a field; deltas: the base, differences and
 * their payloads; */
uint64_t wcodec_write_batch_beside(const struct wcodec_encode_settings *settings, uint64_t size)
{
    if (settings->lossy != WCODEC_LOSSY_NONE)
        return size * 9 / 4;
    if (settings->delta)
        return 3 * size;
    return settings->fragments || settings->records ? size : 0;
}

/* and a sample of blocks, costs and figures while the step is searched; of tables anchors in three
 * forms, and what a recall is measured with. */
static uint64_t lossy_planning(const struct wcodec_encode_settings *settings, uint64_t size)
{
    const uint64_t sample = 6 * size < 5 << 19 ? 6 * size : 5 << 19,
                   table = 14 * size < 54 << 20 ? 14 * size : 54 << 20;
    if (settings->lossy == WCODEC_LOSSY_NONE)
        return 0;
    return sample + (384 << 10) + (settings->tables.on ? table : 0);
}

/* What planning takes for one item: samples, counts, and zstd's look. From level 5 on zstd may be
 * tried on all of it, with tables that count. */
static uint64_t planning_memory(const struct wcodec_write_batch *b, uint64_t size)
{
    uint64_t most = b->settings.level >= 7 ? 8 << 20 : 1 << 20,
             chunk = size < WCODEC_CHUNK_MAX ? size : WCODEC_CHUNK_MAX;
    /* Limited memory: residuals, or the values of a masked tensor, and a second payload. */
    uint64_t predicted = b->context->limits.max_memory != UINT64_MAX ? 2 * size : 0;
    /* A payload that is packed, and again when it is verified: allocators keep what is freed. */
    uint64_t packed = 4 * (size < WCODEC_PACKED_MOST ? size : WCODEC_PACKED_MOST);
    return predicted + packed + lossy_planning(&b->settings, size) + (320 << 10) +
           2 * (size < most ? size : most) +
           (b->settings.level >= 5
                ? wcodec_chunk_encode_memory(wcodec_zstd_level(b->settings.level), chunk)
                : 0);
}

uint64_t wcodec_write_least_scratch(const struct wcodec_encode_settings *settings, uint64_t size)
{
    uint64_t tiles = 8 * size < 6 << 20 ? 8 * size : 6 << 20,
             chunk = size < WCODEC_CHUNK_MAX ? size : WCODEC_CHUNK_MAX;
    return (512 << 10) + tiles +
           wcodec_chunk_encode_memory(wcodec_zstd_level(settings->level), chunk);
}

static uint64_t payload_most(uint64_t size)
{
    return size + size / 32;
}

uint64_t wcodec_write_batch_least(const struct wcodec_encode_settings *settings, uint64_t size)
{
    return size + payload_most(size) + wcodec_write_batch_beside(settings, size) +
           lossy_planning(settings, size) + wcodec_write_least_scratch(settings, size);
}

uint64_t wcodec_write_batch_memory(const wcodec_context *context, uint64_t largest)
{
    const uint64_t threads = wcodec_context_threads(context);
    const bool many =
        threads > WCODEC_WRITE_FEW_THREADS && context->limits.max_memory == UINT64_MAX;
    return WCODEC_WRITE_BATCH_MEMORY + 2 * largest +
           (many ? threads * WCODEC_WRITE_THREAD_MEMORY : 0);
}

uint64_t wcodec_write_largest_item(const struct wcodec_write_items *items)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < items->count; i++)
        largest = items->items[i].what.size > largest ? items->items[i].what.size : largest;
    return largest;
}

size_t wcodec_write_count_coders(const struct wcodec_write_batch *b)
{
    const size_t threads = wcodec_context_threads(b->context),
                 most = threads < b->coder->workers ? threads : b->coder->workers;
    return most < b->now.count ? most : b->now.count;
}

void wcodec_write_share_memory(struct wcodec_write_work *w, uint64_t scratch)
{
    const struct wcodec_write_batch *b = w->batch;
    const uint64_t threads = wcodec_context_threads(b->context), half = scratch / 2,
                   each = planning_memory(b, wcodec_write_largest_item(&b->now));
    WCODEC_ASSERT(scratch != 0); /* which would be no bound */
    /* What few items leave of it is for their coding. */
    const uint64_t planning = half / each < b->now.count ? half : each * b->now.count;
    uint64_t most = planning / each;
    most = most < 1 ? 1 : most < threads ? most : threads;
    w->coders = b->now.count < most ? b->now.count : (size_t)most;
    if (b->now.by_coder)
        w->coders = wcodec_write_count_coders(b);
    w->settings = b->settings;
    w->settings.scratch = (scratch - planning) / (w->coders ? w->coders : 1);
}

uint64_t wcodec_write_pending_size(const struct wcodec_write_batch *b)
{
    uint64_t size = 0;
    for (size_t i = 0; i < b->pending.count; i++)
        if (b->pending.items[i].is_coded && b->pending.items[i].coded.loan.end == NULL)
            size += b->pending.items[i].coded.payload_size;
    return size;
}

uint64_t wcodec_write_left_over(const struct wcodec_write_batch *b, uint64_t others)
{
    uint64_t bytes = b->source && b->source->fd < 0 ? 0 : b->now.size,
             taken = bytes + payload_most(b->now.size) +
                     wcodec_write_batch_beside(&b->settings, b->now.size) + others;
    return b->memory >= taken + wcodec_write_least_scratch(&b->settings,
                                                           wcodec_write_largest_item(&b->now))
               ? b->memory - taken
               : 0;
}

/* What items' bytes take, or will take. */
static uint64_t bytes_taken(const struct wcodec_write_batch *b,
                            const struct wcodec_write_items *items)
{
    if (b->source->fd < 0)
        return 0;
    return items->size > items->data_capacity ? items->size : items->data_capacity;
}

uint64_t wcodec_write_left_ahead(const struct wcodec_write_batch *b, bool next, uint64_t others)
{
    const uint64_t largest = wcodec_write_largest_item(&b->ahead);
    uint64_t taken = bytes_taken(b, &b->ahead) + payload_most(b->ahead.size) +
                     wcodec_write_batch_beside(&b->settings, b->ahead.size) + others;
    if (next)
        taken += bytes_taken(b, &b->now) + planning_memory(b, wcodec_write_largest_item(&b->now));
    return b->memory >= taken + wcodec_write_least_scratch(&b->settings, largest)
               ? b->memory - taken
               : 0;
}
