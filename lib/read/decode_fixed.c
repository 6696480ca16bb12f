/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices at a fixed rate: bands of tiles, whose places are known beforehand. */

#include "core/error.h"
#include "core/memory.h"
#include "read/decode.h"
#include <inttypes.h>

/* Coded bytes that a device is given at once: of what comes back, half as many more. */
#define DEVICE_BATCH ((uint64_t)16 << 20)

/* Shifts and checks, checked. */
wcodec_status wcodec_decoder_open_fixed(struct wcodec_decoder *d, wcodec_error *err)
{
    struct wcodec_fixed *f = &d->fixed;
    wcodec_status status = WCODEC_OK;
    wcodec_entry_fixed(d->input.entry, f);
    d->side = d->payload;
    if (d->payload == NULL) {
        status = wcodec_decoder_take(d, f->tiles_begin, &d->loaded_side, err);
        if (status == WCODEC_OK)
            status = wcodec_decoder_read(d, d->input.entry->payload_offset, d->loaded_side,
                                         f->tiles_begin, err);
        d->side = d->loaded_side;
    }
    return status == WCODEC_OK ? wcodec_fixed_check_front(f, d->side, err) : status;
}

/* Bands that are decoded together, and where their bytes are. */
struct batch {
    struct wcodec_job job;
    struct wcodec_view view;
};

static wcodec_status reserve_spilled(struct wcodec_decoder *d, uint64_t size, wcodec_error *err)
{
    wcodec_free(&d->input.context->allocator, d->spilled.bytes);
    d->spilled.bytes = NULL;
    d->held -= d->spilled.size;
    d->spilled.size = 0;
    wcodec_status status = wcodec_decoder_take(d, size, &d->spilled.bytes, err);
    if (status == WCODEC_OK)
        d->spilled.size = size;
    return status;
}

/* Where records are read to. */
static wcodec_status reserve_records(struct wcodec_decoder *d, bool by_device, uint64_t size,
                                     uint8_t **buffer, wcodec_error *err)
{
    wcodec_status status = WCODEC_ERROR_UNSUPPORTED;
    if (by_device)
        status = wcodec_session_stage(&d->session, wcodec_decoder_left(d), size, buffer, NULL);
    if (status == WCODEC_OK)
        return status;
    status = wcodec_decoder_reserve(d, size, err);
    *buffer = d->buffer;
    return status;
}

/* Bring bytes [begin, begin + size) of the payload into memory, or see where they are. */
static wcodec_status load_area(struct wcodec_decoder *d, struct batch *b, enum wcodec_area area,
                               uint8_t *buffer, wcodec_error *err)
{
    const struct wcodec_area_place *place = &b->job.places[area];
    b->view.begin[area] = place->begin;
    b->view.data[area] = d->payload != NULL ? d->payload + place->begin : buffer;
    if (d->payload != NULL)
        return WCODEC_OK;
    return wcodec_decoder_read(d, d->input.entry->payload_offset + place->begin, buffer,
                               place->size, err);
}

/* The batch's records, then its spilled elements. *next: number of the first of these that is to
 * come, UINT64_MAX if that is not known. */
static wcodec_status load(struct wcodec_decoder *d, bool by_device, struct batch *b, uint64_t *next,
                          wcodec_error *err)
{
    struct wcodec_area_place *places = b->job.places, *values = &places[WCODEC_AREA_VALUES];
    uint8_t *buffer = NULL;
    wcodec_status status = WCODEC_OK;
    wcodec_fixed_place_records(&b->job);
    if (d->payload == NULL)
        status = reserve_records(d, by_device, places[WCODEC_AREA_RAW].size, &buffer, err);
    if (status == WCODEC_OK)
        status = load_area(d, b, WCODEC_AREA_RAW, buffer, err);
    if (status == WCODEC_OK)
        status = wcodec_fixed_place_spilled(&b->job, b->view.data[WCODEC_AREA_RAW], next, err);
    if (status != WCODEC_OK || values->size == 0)
        return status;
    if (d->payload == NULL && values->size > d->spilled.size)
        status = reserve_spilled(d, values->size, err);
    return status == WCODEC_OK ? load_area(d, b, WCODEC_AREA_VALUES, d->spilled.bytes, err)
                               : status;
}

static wcodec_status decode(struct wcodec_decoder *d, bool by_device, const struct batch *b,
                            uint8_t *out, wcodec_error *err)
{
    const uint64_t left = wcodec_decoder_left(d),
                   free = left > d->buffer_size ? left - d->buffer_size : 1;
    if (!by_device && !d->session.on_cpu)
        return wcodec_decode_on_cpu(d->input.context, &b->job, &b->view, out, err);
    return wcodec_session_decode(&d->session, &b->job, &b->view, free, out, err);
}

/* Coded bytes of a batch. */
static uint64_t limit_of(const struct wcodec_decoder *d, bool by_device)
{
    const uint64_t left = wcodec_decoder_left(d);
    if (by_device)
        return left / 4 < DEVICE_BATCH ? left / 4 : DEVICE_BATCH;
    return d->payload != NULL ? WCODEC_DECODE_BATCH : wcodec_decoder_budget(d);
}

wcodec_status wcodec_decoder_range_fixed(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                         uint8_t *dst, struct wcodec_reporter *reporter,
                                         wcodec_error *err)
{
    const struct wcodec_fixed *f = &d->fixed;
    const uint64_t band = wcodec_fixed_band_size(f), stop = (end - 1) / band + 1,
                   coded = f->across * f->record_size;
    uint64_t done = begin, next = begin / band == d->spilled.band ? d->spilled.next : UINT64_MAX;
    bool by_device = false;
    wcodec_status status = wcodec_decoder_choose(d, NULL, WCODEC_DEVICE_FIXED,
                                                 ((begin | end) & 1) == 0, &by_device, err);
    for (uint64_t first = begin / band; first < stop && status == WCODEC_OK;) {
        const uint64_t limit = limit_of(d, by_device), most = limit / coded > 0 ? limit / coded : 1,
                       last = stop - first < most ? stop : first + most,
                       reached = last < stop ? last * band : end;
        struct batch b = {.job = {.fixed = f,
                                  .modes = d->side,
                                  .first = first * f->across,
                                  .count = (last - first) * f->across,
                                  .begin = done,
                                  .end = reached,
                                  .verify = d->input.verify}};
        status = load(d, by_device, &b, &next, err);
        if (status == WCODEC_OK)
            status = decode(d, by_device, &b, dst + (done - begin), err);
        if (status == WCODEC_OK)
            status = wcodec_reporter_add(reporter, reached - done, err);
        if (status != WCODEC_OK)
            break;
        done = reached;
        first = last;
        d->spilled.band = last;
        d->spilled.next = next;
    }
    return status;
}
