/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "container/decode.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>
#include <xxhash.h>

/* Payloads up to this size are read at once also for a few rows: one read is cheaper than six. */
#define SMALL_PAYLOAD ((uint64_t)64 << 10)

enum { FILL_PIECE = 1 << 20, FILL_PATTERN = 512 };

wcodec_status wcodec_decoder_take(struct wcodec_decoder *d, uint64_t size, uint8_t **memory, wcodec_error *err)
{
    uint64_t most = d->input.context->limits.max_memory;
    if (size > most || d->held > most - size)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT, "decoding needs more memory than the limit of %" PRIu64 " bytes", most);
    uint8_t *got = wcodec_alloc_array(&d->input.context->allocator, size, 1);
    if (got == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size);
    d->held += size;
    *memory = got;
    return WCODEC_OK;
}

uint64_t wcodec_decoder_budget(const struct wcodec_decoder *d)
{
    uint64_t most = d->input.context->limits.max_memory, held = d->held - d->buffer_size, left = held < most ? most - held : 0;
    return left < WCODEC_DECODE_BATCH ? left : WCODEC_DECODE_BATCH;
}

wcodec_status wcodec_decoder_reserve(struct wcodec_decoder *d, uint64_t size, wcodec_error *err)
{
    if (size <= d->buffer_size)
        return WCODEC_OK;
    wcodec_free(&d->input.context->allocator, d->buffer);
    d->buffer = NULL;
    d->held -= d->buffer_size;
    d->buffer_size = 0;
    wcodec_status status = wcodec_decoder_take(d, size, &d->buffer, err);
    if (status == WCODEC_OK)
        d->buffer_size = size;
    return status;
}

/* Bring the whole payload into memory where that is wanted. */
static wcodec_status load_payload(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    bool must = d->input.hash != NULL && e->coding == WCODEC_CODING_TILES;
    if (!must && e->payload_size > SMALL_PAYLOAD && !(d->input.whole && e->payload_size <= wcodec_decoder_budget(d) / 2))
        return WCODEC_OK;
    wcodec_status status = wcodec_decoder_take(d, e->payload_size, &d->payload, err);
    if (status == WCODEC_OK)
        status = wcodec_source_read(d->input.source, e->payload_offset, d->payload, (size_t)e->payload_size, err);
    if (status == WCODEC_OK && d->input.hash != NULL)
        XXH3_64bits_update(d->input.hash, d->payload, (size_t)e->payload_size);
    return status;
}

wcodec_status wcodec_decoder_open(const struct wcodec_decoder_input *input, struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = input->entry;
    *d = (struct wcodec_decoder){.input = *input, .held = input->held};
    if (e->newer && e->coding > WCODEC_CODING_ALIAS)
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "made by a newer version: coding %u", e->coding);
    if (e->newer)
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "made by a newer version: dtype %u", e->dtype);
    if (e->coding == WCODEC_CODING_CONSTANT)
        return WCODEC_OK;
    wcodec_status status = load_payload(d, err);
    if (status == WCODEC_OK)
        status = e->coding == WCODEC_CODING_TILES ? wcodec_decoder_open_tiles(d, err) : wcodec_decoder_open_chunks(d, err);
    if (status != WCODEC_OK)
        wcodec_decoder_close(d);
    return status;
}

void wcodec_decoder_close(struct wcodec_decoder *d)
{
    const wcodec_allocator *allocator = &d->input.context->allocator;
    wcodec_free(allocator, d->bounce[1]);
    wcodec_free(allocator, d->bounce[0]);
    wcodec_free(allocator, d->buffer);
    wcodec_chunks_free(d->chunks);
    wcodec_tiles_free(d->tiles);
    wcodec_free(allocator, d->payload);
    *d = (struct wcodec_decoder){.input = d->input};
}

struct fill {
    uint8_t pattern[FILL_PATTERN];
    uint8_t *dst;
    uint64_t size;
};

static void fill_piece(void *argument, size_t i)
{
    const struct fill *f = argument;
    uint64_t at = (uint64_t)i * FILL_PIECE, end = f->size - at < FILL_PIECE ? f->size : at + FILL_PIECE;
    for (; at < end; at += FILL_PATTERN)
        memcpy(f->dst + at, f->pattern, (size_t)(end - at < FILL_PATTERN ? end - at : FILL_PATTERN));
}

/* Pieces and the pattern are multiples of the element, so each begins with the same byte of it. */
static wcodec_status range_constant(struct wcodec_decoder *d, uint64_t begin, uint64_t end, uint8_t *dst, struct wcodec_reporter *reporter, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    struct fill f = {.dst = dst, .size = end - begin};
    uint64_t mask = ((uint64_t)1 << e->u.constant.element_log2) - 1;
    for (unsigned i = 0; i < FILL_PATTERN; i++)
        f.pattern[i] = e->u.constant.element[(begin + i) & mask];
    wcodec_run(d->input.context, fill_piece, &f, (size_t)wcodec_div_up_u64(f.size, FILL_PIECE));
    return wcodec_reporter_add(reporter, f.size, err);
}

wcodec_status wcodec_decoder_range(struct wcodec_decoder *d, uint64_t begin, uint64_t end, uint8_t *dst, struct wcodec_reporter *reporter, wcodec_error *err)
{
    if (begin == end)
        return WCODEC_OK;
    switch (d->input.entry->coding) {
    case WCODEC_CODING_CONSTANT:
        return range_constant(d, begin, end, dst, reporter, err);
    case WCODEC_CODING_TILES:
        return wcodec_decoder_range_tiles(d, begin, end, dst, reporter, err);
    default:
        return wcodec_decoder_range_chunks(d, begin, end, dst, reporter, err);
    }
}
