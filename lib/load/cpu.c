/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the CPU decodes: tiles in place of a device that cannot or did not, and all that is not in
 * tiles. */
#include "registry/decode.h"
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>
#include <string.h>

/* Decoded bytes that are in memory at once on their way to the device. */
#define BOUNCE_BYTES ((uint64_t)8 << 20)

wcodec_status wcodec_load_deliver(struct wcodec_load_slot *slot,
                                  const struct wcodec_load_part *part, uint64_t begin,
                                  const uint8_t *bytes, uint64_t size, wcodec_error *err)
{
    const struct wcodec_load_range *r = part->range;
    const struct wcodec_backend *b = slot->work->request->device->backend;
    if (r->host != NULL) {
        memcpy(r->host + (begin - r->begin), bytes, (size_t)size);
        return WCODEC_OK;
    }
    wcodec_status status =
        b->copy_in(slot->queue, r->memory, r->offset + (begin - r->begin), bytes, size, err);
    wcodec_status waited = b->queue_wait(slot->queue, status == WCODEC_OK ? err : NULL);
    return status == WCODEC_OK ? waited : status;
}

static wcodec_status decode_tiles(struct wcodec_load_slot *slot,
                                  const struct wcodec_load_part *part,
                                  const struct wcodec_view *view, uint64_t first, uint64_t count,
                                  uint8_t *bounce, wcodec_error *err)
{
    const struct wcodec_load_request *q = slot->work->request;
    const struct wcodec_tiling *t = &part->tensor->tiling;
    const unsigned shift = t->tile_log2 + t->element_log2;
    uint64_t begin = first << shift,
             stop = first + count == t->tiles ? t->size : (first + count) << shift,
             from = begin > part->begin ? begin : part->begin,
             to = stop < part->stop ? stop : part->stop;
    wcodec_status status = wcodec_decode_tiles_on_cpu(q->context, part->tensor->tiles, view, first,
                                                      count, bounce, q->verify, err);
    return status == WCODEC_OK
               ? wcodec_load_deliver(slot, part, from, bounce + (from - begin), to - from, err)
               : status;
}

wcodec_status wcodec_load_part_on_cpu(struct wcodec_load_slot *slot,
                                      const struct wcodec_load_part *part, wcodec_error *err)
{
    const struct wcodec_load_request *q = slot->work->request;
    const struct wcodec_tiling *t = &part->tensor->tiling;
    const unsigned shift = t->tile_log2 + t->element_log2;
    uint64_t step = BOUNCE_BYTES >> shift;
    struct wcodec_view view;
    if (part->tensor->in_units)
        return wcodec_load_units_on_cpu(slot, part, err);
    if (step == 0)
        step = 1;
    if (step > part->end - part->first)
        step = part->end - part->first;
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        view.data[a] = slot->stage.data + part->areas[a].offset;
        view.begin[a] = part->areas[a].begin;
    }
    uint8_t *bounce = wcodec_alloc_array(&q->context->allocator, step << shift, 1);
    if (bounce == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes",
                           step << shift);
    wcodec_status status = WCODEC_OK;
    for (uint64_t tile = part->first; tile < part->end && status == WCODEC_OK; tile += step)
        status = decode_tiles(slot, part, &view, tile,
                              part->end - tile < step ? part->end - tile : step, bounce, err);
    wcodec_free(&q->context->allocator, bounce);
    atomic_fetch_add(&slot->work->by_cpu, part->stop - part->begin);
    return status;
}

/* In pieces that the staging memory has room for; where it takes more than one, each waits for the
 * copy before. */
static wcodec_status decode_bytes(struct wcodec_load_slot *slot,
                                  const struct wcodec_load_part *part,
                                  struct wcodec_decoder *decoder, wcodec_error *err)
{
    const struct wcodec_load_range *r = part->range;
    const struct wcodec_backend *b = slot->work->request->device->backend;
    const uint64_t room = part->place;
    uint8_t *stage = slot->stage.data + (slot->top - room);
    const uint64_t unit = wcodec_decoder_unit(decoder);
    struct wcodec_reporter silent = {0};
    wcodec_status status = WCODEC_OK;
    if (part->kind == WCODEC_LOAD_DIRECT)
        return wcodec_decoder_range(decoder, part->begin, part->stop,
                                    r->host + (part->begin - r->begin), &silent, err);
    for (uint64_t at = part->begin;
         at < part->stop && status == WCODEC_OK && !atomic_load(&slot->work->stop);) {
        uint64_t size = part->stop - at;
        if (size > room) /* whole chunks and rows of blocks, so that none is decoded twice */
            size = (at + room) / unit * unit > at ? (at + room) / unit * unit - at : room;
        status = wcodec_decoder_range(decoder, at, at + size, stage, &silent, err);
        if (status == WCODEC_OK)
            status =
                b->copy_in(slot->queue, r->memory, r->offset + (at - r->begin), stage, size, err);
        at += size;
        slot->busy = true;
        if (status == WCODEC_OK && at < part->stop)
            status = b->queue_wait(slot->queue, err);
    }
    return status;
}

wcodec_status wcodec_load_part_bytes(struct wcodec_load_slot *slot,
                                     const struct wcodec_load_part *part, wcodec_error *err)
{
    const struct wcodec_load_request *q = slot->work->request;
    const struct wcodec_load_range *r = part->range;
    struct wcodec_source source;
    struct wcodec_decoder decoder;
    wcodec_status status = wcodec_shard_acquire(r->shard, &source, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_decoder_input input = {.context = q->context,
                                               .source = &source,
                                               .entry = r->entry,
                                               .verify = q->verify,
                                               .whole = part->stop - part->begin == r->entry->size};
    status = wcodec_decoder_open(&input, &decoder, err);
    if (status == WCODEC_OK) {
        status = decode_bytes(slot, part, &decoder, err);
        wcodec_decoder_close(&decoder);
    }
    wcodec_shard_release(r->shard, &source);
    atomic_fetch_add(&slot->work->by_cpu, part->stop - part->begin);
    atomic_fetch_add(&slot->work->coded, r->entry->payload_size);
    return status;
}
