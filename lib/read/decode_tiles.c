/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What is in tiles: tensors in tiles, in blocks, in fragments, and lossy ones. The parsed prefix is
 * not kept between calls: it is less than 0.2 % of a tensor, so that reading it again costs little,
 * and readers stay free of state that threads would share. */

#include "core/error.h"
#include "core/memory.h"
#include "read/decode.h"
#include <inttypes.h>

/* Coded bytes that a device is given at once: of what comes back, twice as many. */
#define DEVICE_BATCH ((uint64_t)16 << 20)

uint64_t wcodec_tiles_memory(const struct wcodec_tiling *t)
{
    uint64_t tile = sizeof(uint32_t) + sizeof(uint64_t) +
                    t->coded_count * sizeof(struct wcodec_stream),
             table = sizeof(struct wcodec_table) + 4096 * sizeof(uint32_t);
    return t->tiles * tile + t->table_count * table + t->prefix_size;
}

wcodec_status wcodec_tiles_check_stored(const struct wcodec_tiles *s,
                                        const struct wcodec_view *view, uint64_t first,
                                        uint64_t end, wcodec_error *err)
{
    const struct wcodec_tiling *t = s->tiling;
    for (uint64_t tile = first; tile < end; tile++) {
        if (s->streams[tile * t->coded_count].mode != WCODEC_STREAM_STORED)
            continue;
        const uint8_t *raw = wcodec_view_at(view, WCODEC_AREA_RAW, s->raw[tile]);
        uint32_t elements = wcodec_tile_elements(t, tile);
        uint64_t size = (uint64_t)elements << t->element_log2,
                 stop = wcodec_tile_raw_size(t, elements, WCODEC_STREAM_STORED);
        for (; size < stop; size++)
            if (raw[size] != 0)
                return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                   "tile %" PRIu64 ": padding of a stored tile is not zero", tile);
    }
    return WCODEC_OK;
}

/* Bytes between areas are zero, and so is what follows the bytes of a stored tile. */
wcodec_status wcodec_tiles_check_padding(const struct wcodec_tiles *s, const uint8_t *payload,
                                         wcodec_error *err)
{
    struct wcodec_view view;
    uint64_t at = s->tiling->prefix_size;
    for (unsigned a = 0; a < WCODEC_AREAS; at = s->area_end[a++])
        for (; at < s->area_begin[a]; at++)
            if (payload[at] != 0)
                return wcodec_fail(
                    err, WCODEC_ERROR_CORRUPT,
                    "byte %" PRIu64 " of the payload is between two areas and not zero", at);
    wcodec_view_whole(payload, &view);
    return wcodec_tiles_check_stored(s, &view, 0, s->tiling->tiles, err);
}

/* Modes and scales, checked. */
static wcodec_status open_side(struct wcodec_decoder *d, wcodec_error *err)
{
    static const uint8_t nothing[1];
    const uint64_t size = d->layout.tiles_begin;
    wcodec_status status = WCODEC_OK;
    d->side = size == 0 ? nothing : d->payload;
    if (d->side == NULL) {
        status = wcodec_decoder_take(d, size, &d->loaded_side, err);
        if (status == WCODEC_OK)
            status =
                wcodec_decoder_read(d, d->input.entry->payload_offset, d->loaded_side, size, err);
        d->side = d->loaded_side;
    }
    return status == WCODEC_OK ? wcodec_layout_check_side(&d->layout, d->side, err) : status;
}

static wcodec_status read_prefix(struct wcodec_decoder *d, uint64_t payload_size, wcodec_error *err)
{
    const wcodec_allocator *allocator = &d->input.context->allocator;
    const struct wcodec_tiling *t = &d->layout.tiling;
    uint8_t *prefix;
    wcodec_status status = wcodec_decoder_take(d, t->prefix_size, &prefix, err);
    if (status != WCODEC_OK)
        return status;
    status =
        wcodec_source_read(d->input.source, d->input.entry->payload_offset + d->layout.tiles_begin,
                           prefix, (size_t)t->prefix_size, err);
    if (status == WCODEC_OK)
        status = wcodec_tiles_read(t, prefix, payload_size, allocator, &d->tiles, err);
    wcodec_free(allocator, prefix);
    d->held -= t->prefix_size;
    return status;
}

wcodec_status wcodec_decoder_open_tiles(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_tiling *t = &d->layout.tiling;
    wcodec_layout_derive(d->input.entry, &d->layout);
    wcodec_status status = open_side(d, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t payload_size =
        wcodec_entry_unpacked_size(d->input.entry) - d->layout.tiles_begin;
    const uint64_t most = d->input.context->limits.max_memory, memory = wcodec_tiles_memory(t);
    if (memory > most || d->held > most - memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "decoding takes at least %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           d->held + memory, most);
    d->held += memory;
    if (d->payload == NULL)
        return read_prefix(d, payload_size, err);
    status = wcodec_tiles_read(t, d->payload + d->layout.tiles_begin, payload_size,
                               &d->input.context->allocator, &d->tiles, err);
    return status == WCODEC_OK && d->input.hash != NULL
               ? wcodec_tiles_check_padding(d->tiles, d->payload + d->layout.tiles_begin, err)
               : status;
}

/* A call: bytes [begin, end) of the tensor. */
struct range {
    uint64_t begin;
    uint64_t end;
    uint8_t *dst;
    bool by_device;
};

static bool has_limit(const struct wcodec_decoder *d)
{
    return d->input.context->limits.max_memory != UINT64_MAX;
}

/* What a run may have: memory is left for what it is decoded by. */
static struct wcodec_cut limits_of(const struct wcodec_decoder *d, const struct range *r)
{
    struct wcodec_cut limits = {WCODEC_DECODE_BATCH, UINT64_MAX};
    const uint64_t left = wcodec_decoder_left(d);
    if (r->by_device) {
        limits.coded = left / 4 < DEVICE_BATCH ? left / 4 : DEVICE_BATCH;
        limits.decoded = left / 2 < 2 * DEVICE_BATCH ? left / 2 : 2 * DEVICE_BATCH;
    } else if (d->payload == NULL) {
        limits.coded = wcodec_decoder_budget(d);
        if (wcodec_layout_in_units(&d->layout) && has_limit(d))
            limits.coded /= 2;
    }
    return limits;
}

/* Where coded bytes of a run are read to. */
static wcodec_status reserve(struct wcodec_decoder *d, const struct range *r, uint64_t size,
                             uint8_t **buffer, wcodec_error *err)
{
    wcodec_status status = WCODEC_ERROR_UNSUPPORTED;
    if (r->by_device)
        status = wcodec_session_stage(&d->session, wcodec_decoder_left(d), size, buffer, NULL);
    if (status == WCODEC_OK)
        return status;
    status = wcodec_decoder_reserve(d, size, err);
    *buffer = d->buffer;
    return status;
}

/* All areas of a run at once, whose source may be slow to answer. */
static void announce(const struct wcodec_decoder *d, uint64_t begin,
                     const struct wcodec_area_place places[WCODEC_AREAS])
{
    struct wcodec_source_range ranges[WCODEC_AREAS];
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        ranges[a] = (struct wcodec_source_range){begin + places[a].begin, places[a].size};
    wcodec_source_announce(d->input.source, d, ranges, WCODEC_AREAS);
}

/* Make the coded bytes of tiles [first, end) ready to be seen through the view. */
static wcodec_status load_tiles(struct wcodec_decoder *d, const struct range *r, uint64_t first,
                                uint64_t end, struct wcodec_view *view, wcodec_error *err)
{
    struct wcodec_area_place places[WCODEC_AREAS];
    const uint64_t begin = d->input.entry->payload_offset + d->layout.tiles_begin;
    uint8_t *buffer;
    if (d->payload != NULL) {
        wcodec_view_whole(d->payload + d->layout.tiles_begin, view);
        return WCODEC_OK;
    }
    const uint64_t size = wcodec_lay_out_areas(d->tiles, first, end - first, 0, places);
    wcodec_status status = reserve(d, r, size, &buffer, err);
    if (!d->input.announced)
        announce(d, begin, places);
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++) {
        view->data[a] = buffer + places[a].offset;
        view->begin[a] = places[a].begin;
        status = wcodec_decoder_read(d, begin + places[a].begin, buffer + places[a].offset,
                                     places[a].size, err);
    }
    return status;
}

/* While a run is decoded the system can read the next one. */
static void prefetch(const struct wcodec_decoder *d, uint64_t first, uint64_t end)
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS];
    wcodec_tiles_extent(d->tiles, first, end, begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        if (stop[a] > begin[a])
            wcodec_source_prefetch(
                d->input.source, d->input.entry->payload_offset + d->layout.tiles_begin + begin[a],
                stop[a] - begin[a]);
}

/* Tiles [first, end), of blocks, fragments and lossy tensors for bytes [from, to). */
static wcodec_status decode(struct wcodec_decoder *d, const struct range *r,
                            const struct wcodec_view *view, uint64_t first, uint64_t end,
                            uint64_t from, uint64_t to, uint8_t *out, wcodec_error *err)
{
    struct wcodec_job job = wcodec_layout_job(&d->layout, d->tiles, d->side, first, end, from, to);
    const uint64_t left = wcodec_decoder_left(d),
                   free = left > d->buffer_size ? left - d->buffer_size : 1;
    job.verify = d->input.verify;
    job.host_memory = has_limit(d) ? free : 0;
    if (!r->by_device && !d->session.on_cpu)
        return wcodec_decode_on_cpu(d->input.context, &job, view, out, err);
    return wcodec_session_decode(&d->session, &job, view, free, out, err);
}

/* A tile of which only a part is wanted. */
static wcodec_status decode_part(struct wcodec_decoder *d, const struct wcodec_view *view,
                                 uint64_t tile, const struct range *r, wcodec_error *err)
{
    const struct wcodec_tiling *t = &d->layout.tiling;
    wcodec_status status = decode(d, r, view, tile, tile + 1, 0, 0, d->bounce[0], err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t tile_begin = tile * d->layout.bands.size;
    const uint64_t tile_end =
        tile_begin + ((uint64_t)wcodec_tile_elements(t, tile) << t->element_log2);
    const uint64_t from = tile_begin > r->begin ? tile_begin : r->begin;
    const uint64_t to = tile_end < r->end ? tile_end : r->end;
    memcpy(r->dst + (from - r->begin), d->bounce[0] + (from - tile_begin), (size_t)(to - from));
    return WCODEC_OK;
}

/* Tiles [first, end) of a tensor in tiles: those that are wanted whole go to their place at once.
 */
static wcodec_status decode_whole(struct wcodec_decoder *d, const struct wcodec_view *view,
                                  uint64_t first, uint64_t end, const struct range *r,
                                  wcodec_error *err)
{
    const struct wcodec_tiling *t = &d->layout.tiling;
    const uint64_t size = d->layout.bands.size;
    while (first < end) {
        uint64_t whole = r->end == t->size ? end : r->end / size;
        if (whole > end)
            whole = end;
        wcodec_status status;
        if (first * size >= r->begin && first < whole) {
            status =
                decode(d, r, view, first, whole, 0, 0, r->dst + (first * size - r->begin), err);
            first = whole;
        } else {
            status = decode_part(d, view, first++, r, err);
        }
        if (status != WCODEC_OK)
            return status;
    }
    return WCODEC_OK;
}

/* For tiles at the ends of which only a part is wanted. */
static wcodec_status reserve_bounce(struct wcodec_decoder *d, const struct range *r,
                                    wcodec_error *err)
{
    const uint64_t size = d->layout.bands.size;
    if (d->bounce[0] != NULL ||
        (r->begin % size == 0 && (r->end % size == 0 || r->end == d->layout.tiling.size)))
        return WCODEC_OK;
    return wcodec_decoder_take(d, size, &d->bounce[0], err);
}

/* How a call's bytes are cut. */
struct cutting {
    struct wcodec_bands bands;
    struct wcodec_cut limits;
    uint64_t first, next, stop; /* of what is left; the run is [first, next) */
};

/* The CPU takes tiles that have only some of a band, so that it needs memory for a tile only. */
static void begin_cutting(const struct wcodec_decoder *d, const struct range *r, struct cutting *c)
{
    const struct wcodec_layout *s = &d->layout;
    *c = (struct cutting){.bands = s->bands};
    wcodec_bands_find(&s->bands, r->begin, r->end, &c->first, &c->stop);
    if (r->by_device || !wcodec_layout_in_units(s))
        return;
    wcodec_bands_tiles(&s->bands, &s->tiling, c->first, c->stop, &c->first, &c->stop);
    c->bands = (struct wcodec_bands){.unit_log2 = s->tiling.tile_log2, .units = 1};
}

/* All bytes before this one are there when the run, up to tile `end`, is decoded. */
static uint64_t reached(const struct wcodec_layout *s, const struct range *r,
                        const struct cutting *c, uint64_t end)
{
    const uint64_t unit = end << (s->tiling.tile_log2 - s->bands.unit_log2);
    const uint64_t band = c->bands.size != 0 ? c->next : unit / s->bands.units;
    const uint64_t byte = band * s->bands.size;
    if (c->next == c->stop || byte > r->end)
        return r->end;
    return byte < r->begin ? r->begin : byte;
}

static void prefetch_next(const struct wcodec_decoder *d, const struct cutting *c)
{
    uint64_t tile, end;
    if (c->next == c->stop || d->payload != NULL)
        return;
    const uint64_t after = wcodec_cut_end(&c->bands, d->tiles, &c->limits, c->next, c->stop);
    wcodec_bands_tiles(&c->bands, &d->layout.tiling, c->next, after, &tile, &end);
    prefetch(d, tile, end);
}

/* *done: bytes before this one are there. */
static wcodec_status decode_run(struct wcodec_decoder *d, const struct range *r,
                                const struct cutting *c, uint64_t *done, wcodec_error *err)
{
    struct wcodec_view view;
    uint64_t tile, end;
    wcodec_bands_tiles(&c->bands, &d->layout.tiling, c->first, c->next, &tile, &end);
    wcodec_status status = load_tiles(d, r, tile, end, &view, err);
    if (status != WCODEC_OK)
        return status;
    prefetch_next(d, c);
    const uint64_t from = c->bands.size != 0 ? *done : r->begin;
    *done = reached(&d->layout, r, c, end);
    if (!wcodec_layout_in_units(&d->layout))
        return decode_whole(d, &view, tile, end, r, err);
    return decode(d, r, &view, tile, end, from, c->bands.size != 0 ? *done : r->end,
                  r->dst + (from - r->begin), err);
}

wcodec_status wcodec_decoder_range_tiles(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                         uint8_t *dst, struct wcodec_reporter *reporter,
                                         wcodec_error *err)
{
    const bool in_units = wcodec_layout_in_units(&d->layout);
    const uint64_t inside = ((uint64_t)1 << d->layout.element_log2) - 1;
    struct range r = {begin, end, dst, false};
    struct cutting c;
    /* Tiles are decoded whole, units not. */
    wcodec_status status =
        wcodec_decoder_choose(d, &d->layout.tiling, wcodec_layout_needs(&d->layout),
                              !in_units || ((begin | end) & inside) == 0, &r.by_device, err);
    if (status != WCODEC_OK)
        return status;
    if (!in_units)
        status = reserve_bounce(d, &r, err);
    begin_cutting(d, &r, &c);
    for (uint64_t done = begin; c.first < c.stop && status == WCODEC_OK; c.first = c.next) {
        const uint64_t before = done;
        c.limits = limits_of(d, &r);
        c.next = wcodec_cut_end(&c.bands, d->tiles, &c.limits, c.first, c.stop);
        status = decode_run(d, &r, &c, &done, err);
        if (status == WCODEC_OK)
            status = wcodec_reporter_add(reporter, done - before, err);
    }
    return status;
}
