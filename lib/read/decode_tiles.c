/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in tiles. The parsed prefix is not kept between calls: it is less than 0.2 % of a tensor,
 * so that reading it again costs little, and readers stay free of state that threads would share.
 */

#include "registry/decode.h"
#include "read/decode.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>

/* Bytes that the parsed prefix takes, about. */
static uint64_t tiles_memory(const struct wcodec_tiling *t)
{
    uint64_t tile = sizeof(uint32_t) + sizeof(uint64_t) +
                    t->coded_count * sizeof(struct wcodec_stream),
             table = sizeof(struct wcodec_table) + 4096 * sizeof(uint32_t);
    return t->tiles * tile + t->table_count * table + t->prefix_size;
}

/* Bytes between areas are zero, and so is what follows the bytes of a stored tile. */
static wcodec_status check_padding(const struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_tiles *s = d->tiles;
    const struct wcodec_tiling *t = &d->tiling;
    const uint8_t *payload = d->payload + d->tiles_begin;
    uint64_t at = t->prefix_size;
    for (unsigned a = 0; a < WCODEC_AREAS; at = s->area_end[a++])
        for (; at < s->area_begin[a]; at++)
            if (payload[at] != 0)
                return wcodec_fail(
                    err, WCODEC_ERROR_CORRUPT,
                    "byte %" PRIu64 " of the payload is between two areas and not zero", at);
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        if (s->streams[tile * t->coded_count].mode != WCODEC_STREAM_STORED)
            continue;
        uint32_t elements = wcodec_tile_elements(t, tile);
        uint64_t size = (uint64_t)elements << t->element_log2,
                 end = wcodec_tile_raw_size(t, elements, WCODEC_STREAM_STORED);
        for (; size < end; size++)
            if (payload[s->raw[tile] + size] != 0)
                return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                   "tile %" PRIu64 ": padding of a stored tile is not zero", tile);
    }
    return WCODEC_OK;
}

wcodec_status wcodec_decoder_open_tiles(struct wcodec_decoder *d, wcodec_error *err)
{
    const wcodec_allocator *allocator = &d->input.context->allocator;
    const struct wcodec_entry *e = d->input.entry;
    uint64_t payload_size = e->payload_size - d->tiles_begin;
    uint64_t most = d->input.context->limits.max_memory, memory = tiles_memory(&d->tiling);
    if (memory > most || d->held > most - memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "decoding takes at least %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           d->held + memory, most);
    d->held += memory;
    if (d->payload != NULL) {
        wcodec_status status = wcodec_tiles_read(&d->tiling, d->payload + d->tiles_begin,
                                                 payload_size, allocator, &d->tiles, err);
        return status == WCODEC_OK && d->input.hash != NULL ? check_padding(d, err) : status;
    }
    uint8_t *prefix;
    wcodec_status status = wcodec_decoder_take(d, d->tiling.prefix_size, &prefix, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_source_read(d->input.source, e->payload_offset + d->tiles_begin, prefix,
                                (size_t)d->tiling.prefix_size, err);
    if (status == WCODEC_OK)
        status = wcodec_tiles_read(&d->tiling, prefix, payload_size, allocator, &d->tiles, err);
    wcodec_free(allocator, prefix);
    d->held -= d->tiling.prefix_size;
    return status;
}

/* Areas of tiles [first, end) one after the other: how far apart they are in memory, so that
 * 16-byte boundaries of the payload stay ones. */
static uint64_t coded_size(const struct wcodec_decoder *d, uint64_t first, uint64_t end,
                           uint64_t begin[WCODEC_AREAS], uint64_t stop[WCODEC_AREAS],
                           uint64_t place[WCODEC_AREAS])
{
    uint64_t size = 0;
    wcodec_tiles_extent(d->tiles, first, end, begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        place[a] = wcodec_align_u64(size, 16) + begin[a] % 16;
        size = place[a] + (stop[a] - begin[a]);
    }
    return size;
}

/* End of the longest batch from `first` on that the budget allows: one tile at least. */
static uint64_t batch_end(const struct wcodec_decoder *d, uint64_t first, uint64_t end)
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS], place[WCODEC_AREAS],
        budget = wcodec_decoder_budget(d), low = first + 1, high = end;
    if (d->payload != NULL)
        budget = WCODEC_DECODE_BATCH;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        if (coded_size(d, first, middle, begin, stop, place) <= budget)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static wcodec_status read_areas(struct wcodec_decoder *d, uint64_t first, uint64_t end,
                                struct wcodec_view *view, wcodec_error *err)
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS], place[WCODEC_AREAS];
    wcodec_status status =
        wcodec_decoder_reserve(d, coded_size(d, first, end, begin, stop, place), err);
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++) {
        view->data[a] = d->buffer + place[a];
        view->begin[a] = begin[a];
        status = wcodec_decoder_read(d, d->input.entry->payload_offset + d->tiles_begin + begin[a],
                                     d->buffer + place[a], stop[a] - begin[a], err);
    }
    return status;
}

/* While this batch is decoded the system can read the next one. */
static void prefetch(const struct wcodec_decoder *d, uint64_t first, uint64_t end)
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS];
    wcodec_tiles_extent(d->tiles, first, end, begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        if (stop[a] > begin[a])
            wcodec_source_prefetch(d->input.source,
                                   d->input.entry->payload_offset + d->tiles_begin + begin[a],
                                   stop[a] - begin[a]);
}

wcodec_status wcodec_decoder_load_tiles(struct wcodec_decoder *d, uint64_t first, uint64_t end,
                                        uint64_t *next, struct wcodec_view *view, wcodec_error *err)
{
    *next = batch_end(d, first, end);
    if (d->payload != NULL) {
        wcodec_view_whole(d->payload + d->tiles_begin, view);
        return WCODEC_OK;
    }
    wcodec_status status = read_areas(d, first, *next, view, err);
    if (status == WCODEC_OK && *next < end)
        prefetch(d, *next, batch_end(d, *next, end));
    return status;
}

struct range {
    uint64_t begin;
    uint64_t end;
    uint8_t *dst;
};

/* A tile of which only a part is wanted. */
static wcodec_status decode_part(struct wcodec_decoder *d, const struct wcodec_view *view,
                                 uint64_t tile, const struct range *r, wcodec_error *err)
{
    unsigned shift = d->tiling.tile_log2 + d->tiling.element_log2;
    wcodec_status status = wcodec_decode_tiles(d->input.context, d->tiles, view, tile, 1,
                                               d->bounce[0], d->input.verify, err);
    if (status != WCODEC_OK)
        return status;
    uint64_t tile_begin = tile << shift,
             tile_end = tile_begin + ((uint64_t)wcodec_tile_elements(&d->tiling, tile)
                                      << d->tiling.element_log2);
    uint64_t from = tile_begin > r->begin ? tile_begin : r->begin,
             to = tile_end < r->end ? tile_end : r->end;
    memcpy(r->dst + (from - r->begin), d->bounce[0] + (from - tile_begin), (size_t)(to - from));
    return WCODEC_OK;
}

/* Tiles [first, end): those that are wanted whole go to their place at once. */
static wcodec_status decode_batch(struct wcodec_decoder *d, const struct wcodec_view *view,
                                  uint64_t first, uint64_t end, const struct range *r,
                                  wcodec_error *err)
{
    unsigned shift = d->tiling.tile_log2 + d->tiling.element_log2;
    while (first < end) {
        uint64_t whole = r->end == d->tiling.size ? end : r->end >> shift;
        if (whole > end)
            whole = end;
        wcodec_status status;
        if (first << shift >= r->begin && first < whole) {
            status =
                wcodec_decode_tiles(d->input.context, d->tiles, view, first, whole - first,
                                    r->dst + ((first << shift) - r->begin), d->input.verify, err);
            first = whole;
        } else {
            status = decode_part(d, view, first++, r, err);
        }
        if (status != WCODEC_OK)
            return status;
    }
    return WCODEC_OK;
}

wcodec_status wcodec_decoder_range_tiles(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                         uint8_t *dst, struct wcodec_reporter *reporter,
                                         wcodec_error *err)
{
    unsigned shift = d->tiling.tile_log2 + d->tiling.element_log2;
    struct range r = {begin, end, dst};
    uint64_t tile = begin >> shift, tile_end = ((end - 1) >> shift) + 1, done = begin,
             inside = ((uint64_t)1 << shift) - 1;
    if (((begin & inside) != 0 || ((end & inside) != 0 && end != d->tiling.size)) &&
        d->bounce[0] == NULL) {
        wcodec_status status = wcodec_decoder_take(d, inside + 1, &d->bounce[0], err);
        if (status != WCODEC_OK)
            return status;
    }
    while (tile < tile_end) {
        uint64_t next;
        struct wcodec_view view;
        wcodec_status status = wcodec_decoder_load_tiles(d, tile, tile_end, &next, &view, err);
        if (status == WCODEC_OK)
            status = decode_batch(d, &view, tile, next, &r, err);
        if (status != WCODEC_OK)
            return status;
        uint64_t reached = next < tile_end ? next << shift : end;
        status = wcodec_reporter_add(reporter, reached - done, err);
        if (status != WCODEC_OK)
            return status;
        done = reached;
        tile = next;
    }
    return WCODEC_OK;
}
