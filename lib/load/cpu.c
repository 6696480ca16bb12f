/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the CPU decodes: tiles in place of a device that cannot or did not, and all that is not in
 * tiles. */
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>
#include <string.h>

/* Decoded bytes that are in memory at once on their way to the device. */
#define BOUNCE_BYTES ((uint64_t)8 << 20)

/* Bytes [begin, begin + size) of a part's entry go to their destination. */
static wcodec_status deliver(struct wcodec_load_slot *slot, const struct wcodec_load_part *part,
                             uint64_t begin, const uint8_t *bytes, uint64_t size, wcodec_error *err)
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

/* Bands [first, stop) to the bounce buffer and from there to their destination. */
static wcodec_status decode_bands(struct wcodec_load_slot *slot,
                                  const struct wcodec_load_part *part,
                                  const struct wcodec_view *view, uint64_t first, uint64_t stop,
                                  uint8_t *bounce, wcodec_error *err)
{
    const struct wcodec_staging_owner *owner = &slot->work->owner;
    const struct wcodec_layout *s = &part->tensor->layout;
    const uint64_t begin = first * s->bands.size, end = stop * s->bands.size,
                   from = begin > part->begin ? begin : part->begin,
                   to = end < part->stop ? end : part->stop, held = atomic_load(&owner->held);
    uint64_t tile, tile_end;
    wcodec_bands_tiles(&s->bands, &s->tiling, first, stop, &tile, &tile_end);
    struct wcodec_job job =
        wcodec_layout_job(s, part->tensor->tiles, part->tensor->side, tile, tile_end, from, to);
    job.verify = slot->work->request->verify;
    if (s->is_fixed) {
        uint64_t next = tile == 0 ? 0 : UINT64_MAX;
        wcodec_fixed_place_records(&job);
        wcodec_status placed = wcodec_fixed_place_spilled(
            &job, wcodec_view_at(view, WCODEC_AREA_RAW, job.places[WCODEC_AREA_RAW].begin), &next,
            err);
        if (placed != WCODEC_OK)
            return placed;
    }
    if (owner->limit != UINT64_MAX)
        job.host_memory = owner->limit > held ? owner->limit - held : 1;
    wcodec_status status = wcodec_decode_on_cpu(owner->context, &job, view, bounce, err);
    if (status != WCODEC_OK)
        return status;
    return deliver(slot, part, from, bounce + (wcodec_layout_in_units(s) ? 0 : from - begin),
                   to - from, err);
}

wcodec_status wcodec_load_part_on_cpu(struct wcodec_load_slot *slot,
                                      const struct wcodec_load_part *part, wcodec_error *err)
{
    const wcodec_allocator *allocator = &slot->work->request->context->allocator;
    const struct wcodec_bands *b = &part->tensor->layout.bands;
    struct wcodec_view view;
    uint64_t first, stop;
    wcodec_bands_find(b, part->begin, part->stop, &first, &stop);
    uint64_t step = BOUNCE_BYTES / b->size > 0 ? BOUNCE_BYTES / b->size : 1;
    if (step > stop - first)
        step = stop - first;
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        view.data[a] = slot->stage.data + part->areas[a].offset;
        view.begin[a] = part->areas[a].begin;
    }
    uint8_t *bounce = wcodec_alloc_array(allocator, step, b->size);
    if (bounce == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes",
                           step * b->size);
    wcodec_status status = WCODEC_OK;
    for (; first < stop && status == WCODEC_OK; first += step)
        status = decode_bands(slot, part, &view, first, first + step < stop ? first + step : stop,
                              bounce, err);
    wcodec_free(allocator, bounce);
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
    const uint64_t capacity = part->from_end;
    uint8_t *stage = slot->stage.data + (slot->top - capacity);
    const uint64_t unit = wcodec_decoder_unit(decoder);
    struct wcodec_reporter silent = {0};
    wcodec_status status = WCODEC_OK;
    if (part->kind == WCODEC_LOAD_DIRECT)
        return wcodec_decoder_range(decoder, part->begin, part->stop,
                                    r->host + (part->begin - r->begin), &silent, err);
    for (uint64_t at = part->begin;
         at < part->stop && status == WCODEC_OK && !atomic_load(&slot->work->stop);) {
        uint64_t size = part->stop - at;
        if (size > capacity) /* whole chunks and rows of blocks, so that none is decoded twice */
            size =
                (at + capacity) / unit * unit > at ? (at + capacity) / unit * unit - at : capacity;
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
                                               .bases = r->shard->bases,
                                               .verify = q->verify,
                                               .announced =
                                                   part->stop - part->begin == r->entry->size,
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
