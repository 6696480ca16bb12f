/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Entries in chunks. */

#include "read/decode.h"
#include "core/error.h"
#include "core/memory.h"
#include <stdatomic.h>

wcodec_status wcodec_decoder_open_chunks(struct wcodec_decoder *d, wcodec_error *err)
{
    const wcodec_allocator *allocator = &d->input.context->allocator;
    const struct wcodec_entry *e = d->input.entry;
    if (d->payload != NULL)
        return wcodec_chunks_read(e->size, e->u.chunk, d->payload, e->payload_size, allocator,
                                  &d->chunks, err);
    uint64_t size = wcodec_chunks_directory_size(e->size, e->u.chunk);
    uint8_t *directory;
    /* Twice the directory's size is what it takes when it is parsed; the bytes that were read are
     * counted with it for simplicity. */
    d->held += 2 * size;
    wcodec_status status = wcodec_decoder_take(d, size, &directory, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_source_read(d->input.source, e->payload_offset, directory, (size_t)size, err);
    if (status == WCODEC_OK && d->input.hash != NULL)
        status = wcodec_tree_put(d->input.hash, 0, directory, size, err);
    if (status == WCODEC_OK)
        status = wcodec_chunks_read(e->size, e->u.chunk, directory, e->payload_size, allocator,
                                    &d->chunks, err);
    wcodec_free(allocator, directory);
    d->held -= size;
    return status;
}

/* Some chunks whose coded bytes are in memory, decoded in parallel. */
struct batch {
    const struct wcodec_decoder *decoder;
    const uint8_t *coded; /* of the first chunk */
    uint64_t first;       /* chunk */
    uint64_t begin, end;  /* bytes of the entry that are wanted */
    uint8_t *dst;
    _Atomic uint64_t failed; /* least chunk that failed; UINT64_MAX: none */
};

static uint64_t chunk_begin(const struct wcodec_chunks *c, uint64_t i)
{
    return i * c->chunk;
}

static uint64_t chunk_end(const struct wcodec_chunks *c, uint64_t i)
{
    return c->size - chunk_begin(c, i) < c->chunk ? c->size : chunk_begin(c, i) + c->chunk;
}

static const uint8_t *chunk_coded(const struct batch *b, uint64_t i)
{
    const struct wcodec_chunks *c = b->decoder->chunks;
    return b->coded + (c->offsets[i] - c->offsets[b->first]);
}

/* Where chunk i is decoded to: its place, or, where only a part of it is wanted, one of the bounce
 * buffers: the second for a chunk that is the range's last but not its first. */
static uint8_t *chunk_destination(const struct batch *b, uint64_t i)
{
    const struct wcodec_chunks *c = b->decoder->chunks;
    if (chunk_begin(c, i) >= b->begin && chunk_end(c, i) <= b->end)
        return b->dst + (chunk_begin(c, i) - b->begin);
    return b->decoder->bounce[chunk_begin(c, i) >= b->begin];
}

static void decode_task(void *argument, size_t number)
{
    struct batch *b = argument;
    uint64_t i = b->first + number;
    if (wcodec_chunk_decode(b->decoder->chunks, i, chunk_coded(b, i), chunk_destination(b, i),
                            b->decoder->input.verify, &b->decoder->input.context->zstd,
                            NULL) == WCODEC_OK)
        return;
    uint64_t least = atomic_load(&b->failed);
    while (i < least && !atomic_compare_exchange_weak(&b->failed, &least, i))
        continue;
}

static wcodec_status reserve_bounce(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                    wcodec_error *err)
{
    const struct wcodec_chunks *c = d->chunks;
    uint64_t first = begin / c->chunk, last = (end - 1) / c->chunk;
    bool cut_first = begin > chunk_begin(c, first),
         cut_last = end < chunk_end(c, last) && (last > first || !cut_first);
    wcodec_status status = WCODEC_OK;
    if (cut_first && d->bounce[0] == NULL)
        status = wcodec_decoder_take(d, c->chunk, &d->bounce[0], err);
    if (status == WCODEC_OK && cut_last && d->bounce[1] == NULL)
        status = wcodec_decoder_take(d, c->chunk, &d->bounce[1], err);
    return status;
}

/* Copy what is wanted of a chunk that was decoded elsewhere. */
static void copy_part(const struct batch *b, uint64_t i)
{
    const struct wcodec_chunks *c = b->decoder->chunks;
    const uint8_t *chunk = chunk_destination(b, i);
    if (chunk != b->decoder->bounce[0] && chunk != b->decoder->bounce[1])
        return;
    uint64_t from = chunk_begin(c, i) > b->begin ? chunk_begin(c, i) : b->begin,
             to = chunk_end(c, i) < b->end ? chunk_end(c, i) : b->end;
    memcpy(b->dst + (from - b->begin), chunk + (from - chunk_begin(c, i)), (size_t)(to - from));
}

static wcodec_status decode_batch(struct wcodec_decoder *d, struct batch *b, uint64_t end,
                                  wcodec_error *err)
{
    atomic_init(&b->failed, UINT64_MAX);
    wcodec_run(d->input.context, decode_task, b, (size_t)(end - b->first));
    uint64_t failed = atomic_load(&b->failed);
    if (failed != UINT64_MAX) {
        /* Once more, for the text. */
        wcodec_status status = wcodec_chunk_decode(d->chunks, failed, chunk_coded(b, failed),
                                                   chunk_destination(b, failed), d->input.verify,
                                                   &d->input.context->zstd, err);
        return status != WCODEC_OK
                   ? status
                   : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a chunk");
    }
    copy_part(b, b->first);
    if (end - b->first > 1)
        copy_part(b, end - 1);
    return WCODEC_OK;
}

static uint64_t coded_end(const struct wcodec_chunks *c, uint64_t end)
{
    return c->offsets[end - 1] + c->coded[end - 1];
}

/* End of the longest batch that the budget allows: one chunk at least. */
static uint64_t batch_end(const struct wcodec_decoder *d, uint64_t first, uint64_t end)
{
    const struct wcodec_chunks *c = d->chunks;
    uint64_t next = first + 1,
             budget = d->payload != NULL ? WCODEC_DECODE_BATCH : wcodec_decoder_budget(d);
    while (next < end && coded_end(c, next + 1) - c->offsets[first] <= budget)
        next++;
    return next;
}

static wcodec_status read_coded(struct wcodec_decoder *d, uint64_t first, uint64_t end,
                                const uint8_t **coded, wcodec_error *err)
{
    const struct wcodec_chunks *c = d->chunks;
    uint64_t offset = c->offsets[first], size = coded_end(c, end) - offset;
    if (d->payload != NULL) {
        *coded = d->payload + offset;
        return WCODEC_OK;
    }
    wcodec_status status = wcodec_decoder_reserve(d, size, err);
    if (status == WCODEC_OK)
        status = wcodec_source_read(d->input.source, d->input.entry->payload_offset + offset,
                                    d->buffer, (size_t)size, err);
    if (status == WCODEC_OK && d->input.hash != NULL)
        status = wcodec_tree_put(d->input.hash, offset, d->buffer, size, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_source_prefetch(d->input.source, d->input.entry->payload_offset + offset + size,
                           WCODEC_DECODE_BATCH);
    *coded = d->buffer;
    return WCODEC_OK;
}

wcodec_status wcodec_decoder_range_chunks(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                          uint8_t *dst, struct wcodec_reporter *reporter,
                                          wcodec_error *err)
{
    const struct wcodec_chunks *c = d->chunks;
    wcodec_status status = reserve_bounce(d, begin, end, err);
    uint64_t last = (end - 1) / c->chunk, done = begin;
    for (uint64_t i = begin / c->chunk; i <= last && status == WCODEC_OK;) {
        struct batch b = {.decoder = d, .first = i, .begin = begin, .end = end, .dst = dst};
        uint64_t next = batch_end(d, i, last + 1);
        status = read_coded(d, i, next, &b.coded, err);
        if (status == WCODEC_OK)
            status = decode_batch(d, &b, next, err);
        if (status != WCODEC_OK)
            break;
        uint64_t reached = next <= last ? chunk_begin(c, next) : end;
        status = wcodec_reporter_add(reporter, reached - done, err);
        done = reached;
        i = next;
    }
    return status;
}
