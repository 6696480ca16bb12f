/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that stay in a device's memory as they are coded in the file. The device decodes each
 * once when it becomes resident, and so finds what is damaged. */
#include "core/error.h"
#include "read/decode.h"
#include "resident/resident.h"
#include <inttypes.h>

#define READ_PIECE ((uint64_t)16 << 20)

/* A tensor on its way. */
struct keeping {
    struct wcodec_resident_keeper *keeper;
    struct wcodec_resident_item *item;
    struct wcodec_decoder decoder;
    uint64_t begin, size; /* of its payload: what follows modes and scales */
};

static const struct wcodec_backend *backend_of(const struct wcodec_resident_keeper *k)
{
    return k->resident->device->backend;
}

bool wcodec_resident_can_keep(const wcodec_resident *resident, const struct wcodec_entry *entry)
{
    const struct wcodec_opened *o = resident->device;
    struct wcodec_layout layout;
    if (entry->newer || entry->size == 0 || !wcodec_entry_has_tiles(entry))
        return false;
    wcodec_layout_derive(entry, &layout);
    const uint32_t needs = wcodec_layout_needs(&layout);
    return (o->listing.capabilities & needs) == needs &&
           o->backend->device_supports(o->device, &layout.tiling);
}

static wcodec_status reserve_scratch(struct wcodec_resident_keeper *k, uint64_t size,
                                     wcodec_error *e)
{
    if (size <= k->scratch_size)
        return WCODEC_OK;
    if (k->scratch != NULL)
        backend_of(k)->memory_free(k->scratch);
    k->scratch = NULL;
    k->scratch_size = 0;
    const wcodec_status status =
        wcodec_opened_allocate(k->resident->device, WCODEC_MEMORY_DEVICE, size, &k->scratch, e);
    if (status == WCODEC_OK)
        k->scratch_size = size;
    return status;
}

/* What its tiles have, to the device's memory: that of large payloads piece by piece. */
static wcodec_status upload(struct keeping *w, wcodec_error *e, wcodec_error *err)
{
    struct wcodec_decoder *d = &w->decoder;
    const struct wcodec_backend *b = backend_of(w->keeper);
    struct wcodec_queue *queue = w->keeper->queue;
    const uint64_t piece = d->payload != NULL || w->size < READ_PIECE ? w->size : READ_PIECE;
    wcodec_status status = WCODEC_OK;
    if (d->payload == NULL)
        status = wcodec_decoder_reserve(d, piece, err);
    for (uint64_t at = 0; at < w->size && status == WCODEC_OK; at += piece) {
        const uint64_t size = w->size - at < piece ? w->size - at : piece;
        const uint8_t *from = d->payload != NULL ? d->payload + w->begin + at : d->buffer;
        if (d->payload == NULL)
            status = wcodec_decoder_read(d, d->input.entry->payload_offset + w->begin + at,
                                         d->buffer, size, err);
        if (status == WCODEC_OK)
            status = b->copy_in(queue, w->item->memory, at, from, size, e);
        const wcodec_status waited = b->queue_wait(queue, status == WCODEC_OK ? e : NULL);
        status = status == WCODEC_OK ? waited : status;
    }
    return status;
}

static wcodec_status keep(struct keeping *w, struct wcodec_job_result *result, wcodec_error *e)
{
    const struct wcodec_decoder *d = &w->decoder;
    const uint64_t size = d->input.entry->size;
    struct wcodec_job job =
        wcodec_layout_job(&d->layout, d->tiles, d->side, 0, d->layout.tiling.tiles, 0, size);
    job.verify = true;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] =
            (struct wcodec_area_place){.memory = w->item->memory,
                                       .offset = d->tiles->area_begin[a],
                                       .begin = d->tiles->area_begin[a],
                                       .size = d->tiles->area_end[a] - d->tiles->area_begin[a]};
    struct wcodec_kept *kept;
    wcodec_status status = reserve_scratch(w->keeper, size, e);
    if (status == WCODEC_OK)
        status = backend_of(w->keeper)->products->keep(w->keeper->queue, &job, w->keeper->scratch,
                                                       result, &kept, e);
    if (status == WCODEC_OK && result->fault == WCODEC_TILE_OK)
        w->item->kept = kept;
    return status;
}

/* e: of the device; err: of everything else. */
static wcodec_status bring(struct keeping *w, struct wcodec_job_result *result, wcodec_error *e,
                           wcodec_error *err)
{
    struct wcodec_resident_keeper *k = w->keeper;
    struct wcodec_opened *o = k->resident->device;
    wcodec_status status = WCODEC_OK;
    if (k->queue == NULL)
        status = o->backend->queue_create(o->device, &k->queue, e);
    if (status == WCODEC_OK)
        status = wcodec_opened_allocate(o, WCODEC_MEMORY_DEVICE, w->size, &w->item->memory, e);
    if (status == WCODEC_OK)
        status = upload(w, e, err);
    return status == WCODEC_OK ? keep(w, result, e) : status;
}

wcodec_status wcodec_resident_keep(struct wcodec_resident_keeper *keeper,
                                   const struct wcodec_source *source,
                                   const struct wcodec_entry *entry, uint64_t held,
                                   struct wcodec_resident_item *item, wcodec_error *err)
{
    const struct wcodec_decoder_input input = {.context = keeper->resident->context,
                                               .source = source,
                                               .entry = entry,
                                               .held = held,
                                               .on_cpu = true,
                                               .whole = true};
    struct keeping w = {.keeper = keeper, .item = item};
    struct wcodec_job_result result = {0, WCODEC_TILE_OK};
    wcodec_error e = {0};
    wcodec_status status = wcodec_decoder_open(&input, &w.decoder, err);
    if (status != WCODEC_OK)
        return status;
    w.begin = w.decoder.layout.tiles_begin;
    w.size = wcodec_entry_unpacked_size(entry) - w.begin;
    status = bring(&w, &result, &e, err);
    if (status == WCODEC_OK && result.fault != WCODEC_TILE_OK)
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "tile %" PRIu64 " of %" PRIu64 ": %s",
                             result.tile, w.decoder.layout.tiling.tiles,
                             wcodec_tile_fault_string(result.fault));
    else if (status != WCODEC_OK && e.status != WCODEC_OK)
        status = wcodec_resident_failed(keeper->resident, status, &e, err);
    const uint64_t columns = w.decoder.layout.in_fragments ? w.decoder.layout.fragments.columns : 0;
    wcodec_decoder_close(&w.decoder);
    if (status != WCODEC_OK)
        return status;
    item->form = WCODEC_RESIDENT_CODED;
    item->columns = columns;
    item->held = w.size + backend_of(keeper)->products->kept_size(item->kept);
    return WCODEC_OK;
}

void wcodec_resident_keeper_end(struct wcodec_resident_keeper *k)
{
    if (k->scratch != NULL)
        backend_of(k)->memory_free(k->scratch);
    if (k->queue != NULL)
        backend_of(k)->queue_destroy(k->queue);
    k->scratch = NULL;
    k->queue = NULL;
}

wcodec_status wcodec_resident_make_work(wcodec_resident *r, wcodec_error *err)
{
    uint64_t most = 0;
    wcodec_error e = {0};
    for (uint64_t i = 0; i < r->count; i++) {
        const struct wcodec_kept *kept = r->items[i].kept;
        const uint64_t size = kept != NULL ? r->device->backend->products->kept_work(kept) : 0;
        most = size > most ? size : most;
    }
    if (most == 0)
        return WCODEC_OK;
    const wcodec_status status =
        wcodec_opened_allocate(r->device, WCODEC_MEMORY_DEVICE, most, &r->work, &e);
    if (status != WCODEC_OK)
        return wcodec_resident_failed(r, status, &e, err);
    r->size += most;
    return WCODEC_OK;
}
