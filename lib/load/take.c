/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Cutting a request into pieces: small tensors go together, whole, and are parsed when they have
 * been read; a large one is parsed first and taken tile by tile.
 */
#include "registry/decode.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>
#include <string.h>

/* A payload of at most so many bytes is read whole even if few rows are wanted. */
#define SMALL_PAYLOAD ((uint64_t)64 << 10)

void wcodec_load_tensor_release(struct wcodec_load_tensor *t)
{
    if (t == NULL || atomic_fetch_sub(&t->references, 1) != 1)
        return;
    wcodec_tiles_free(t->tiles);
    wcodec_free(t->allocator, t->front);
    wcodec_shard_release(t->range->shard, &t->source);
    wcodec_free(t->allocator, t);
}

wcodec_status wcodec_load_tensor_create(const struct wcodec_load_request *r,
                                        const struct wcodec_load_range *range,
                                        const struct wcodec_load_tensor *shape,
                                        struct wcodec_load_tensor **tensor, wcodec_error *err)
{
    struct wcodec_load_tensor *t = wcodec_alloc_zeroed(&r->context->allocator, sizeof *t);
    if (t == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor");
    *t = *shape;
    wcodec_status status = wcodec_shard_acquire(range->shard, &t->source, err);
    if (status != WCODEC_OK) {
        wcodec_free(&r->context->allocator, t);
        return status;
    }
    atomic_init(&t->references, 1);
    t->allocator = &r->context->allocator;
    t->range = range;
    t->whole = UINT64_MAX;
    t->on_cpu = atomic_load(&r->device->lost) ||
                !r->device->backend->device_supports(r->device->device, &t->tiling);
    if (t->on_cpu)
        wcodec_log(r->context, WCODEC_LOG_INFO,
                   "%s cannot decode tensor '%s'; the CPU does instead", r->device->name,
                   range->named->name);
    *tensor = t;
    return WCODEC_OK;
}

static wcodec_status read_prefix(struct wcodec_load_tensor *t, wcodec_error *err)
{
    const struct wcodec_entry *e = t->range->entry;
    uint8_t *prefix = wcodec_alloc_array(t->allocator, t->tiling.prefix_size, 1);
    if (prefix == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes",
                           t->tiling.prefix_size);
    wcodec_status status = wcodec_source_read(&t->source, e->payload_offset, prefix,
                                              (size_t)t->tiling.prefix_size, err);
    if (status == WCODEC_OK)
        status =
            wcodec_tiles_read(&t->tiling, prefix, e->payload_size, t->allocator, &t->tiles, err);
    wcodec_free(t->allocator, prefix);
    return status;
}

/* Does the device decode tiles [first, end) of a range to their place, all of them? Else they go
 * through scratch memory. */
static bool goes_to_place(const struct wcodec_load_range *r, const struct wcodec_tiling *t,
                          uint64_t first, uint64_t end)
{
    unsigned shift = t->tile_log2 + t->element_log2;
    return r->aligned && first << shift >= r->begin &&
           (end == t->tiles ? r->end == t->size : end << shift <= r->end);
}

static uint64_t tiles_size(const struct wcodec_tiling *t, uint64_t first, uint64_t end)
{
    unsigned shift = t->tile_log2 + t->element_log2;
    return (end == t->tiles ? t->size : end << shift) - (first << shift);
}

static void add_tiles(struct wcodec_load_piece *piece, struct wcodec_load_tensor *t, uint64_t first,
                      uint64_t end)
{
    const struct wcodec_load_range *r = t->range;
    unsigned shift = t->tiling.tile_log2 + t->tiling.element_log2;
    uint64_t begin = first << shift, stop = begin + tiles_size(&t->tiling, first, end);
    struct wcodec_load_part *p = &piece->parts[piece->count++];
    *p = (struct wcodec_load_part){.kind = WCODEC_LOAD_TILES,
                                   .range = r,
                                   .tensor = t,
                                   .first = first,
                                   .end = end,
                                   .scratch = UINT64_MAX,
                                   .on_cpu = t->on_cpu};
    p->begin = begin > r->begin ? begin : r->begin;
    p->stop = stop < r->end ? stop : r->end;
    atomic_fetch_add(&t->references, 1);
    piece->jobs++;
    if (!goes_to_place(r, &t->tiling, first, end)) {
        p->scratch = piece->scratch;
        piece->scratch = wcodec_align_u64(piece->scratch + tiles_size(&t->tiling, first, end), 256);
    }
    if (t->whole == UINT64_MAX)
        piece->low = wcodec_lay_out_areas(t->tiles, first, end - first, piece->low, p->areas);
}

/* Tiles of which all is wanted and others are jobs of their own. */
static void add_tile_parts(struct wcodec_load_piece *piece, struct wcodec_load_tensor *t,
                           uint64_t first, uint64_t end)
{
    if (t->range->aligned && end - first > 1 &&
        !goes_to_place(t->range, &t->tiling, first, first + 1))
        add_tiles(piece, t, first, first + 1), first++;
    if (t->range->aligned && end - first > 1 &&
        !goes_to_place(t->range, &t->tiling, end - 1, end)) {
        add_tiles(piece, t, first, end - 1);
        first = end - 1;
    }
    add_tiles(piece, t, first, end);
}

/* Most bytes of scratch memory that tiles [first, end) of a range need. */
static uint64_t scratch_needed(const struct wcodec_load_range *r, const struct wcodec_tiling *t,
                               uint64_t first, uint64_t end)
{
    if (!r->aligned)
        return tiles_size(t, first, end);
    uint64_t tile = (uint64_t)1 << (t->tile_log2 + t->element_log2);
    return goes_to_place(r, t, first, end) ? 0 : 2 * tile;
}

static void find_tiles(const struct wcodec_load_range *r, const struct wcodec_tiling *t,
                       uint64_t *first, uint64_t *end)
{
    unsigned shift = t->tile_log2 + t->element_log2;
    *first = r->begin >> shift;
    *end = ((r->end - 1) >> shift) + 1;
}

/* The end of the longest run of tiles from `first` on that one piece may have. */
static uint64_t run_end(const struct wcodec_load_request *q, const struct wcodec_load_tensor *t,
                        uint64_t first, uint64_t end)
{
    struct wcodec_area_place places[WCODEC_AREAS];
    uint64_t low = first + 1, high = end;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        if (wcodec_lay_out_areas(t->tiles, first, middle - first, 0, places) + 1024 <=
                q->slot_bytes &&
            scratch_needed(t->range, &t->tiling, first, middle) <= q->scratch_bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static wcodec_status take_run(struct wcodec_load_cursor *c, const struct wcodec_load_range *r,
                              const struct wcodec_tiling *tiling, struct wcodec_load_piece *piece,
                              wcodec_error *err)
{
    uint64_t first, end, stop;
    unsigned shift = tiling->tile_log2 + tiling->element_log2;
    if (c->open == NULL) {
        struct wcodec_load_tensor *t;
        wcodec_status status = wcodec_load_tensor_create(
            c->request, r, &(struct wcodec_load_tensor){.tiling = *tiling}, &t, err);
        if (status != WCODEC_OK)
            return status;
        status = read_prefix(t, err);
        if (status != WCODEC_OK) {
            wcodec_load_tensor_release(t);
            return status;
        }
        c->open = t;
    }
    find_tiles(r, tiling, &first, &end);
    if (c->at >> shift > first)
        first = c->at >> shift;
    stop = run_end(c->request, c->open, first, end);
    add_tile_parts(piece, c->open, first, stop);
    c->at = stop << shift;
    if (stop == end) {
        wcodec_load_tensor_release(c->open);
        c->open = NULL;
        c->at = 0;
        c->range++;
    }
    return WCODEC_OK;
}

/* A tensor in tiles. *full: it does not fit in beside what is there. */
static wcodec_status take_tiles(struct wcodec_load_cursor *c, const struct wcodec_load_range *r,
                                struct wcodec_load_piece *piece, bool *full, wcodec_error *err)
{
    const struct wcodec_load_request *q = c->request;
    const struct wcodec_entry *e = r->entry;
    struct wcodec_tiling tiling;
    struct wcodec_load_tensor *t;
    uint64_t first, end;
    wcodec_entry_tiling(e, &tiling);
    find_tiles(r, &tiling, &first, &end);
    uint64_t scratch = scratch_needed(r, &tiling, first, end);
    bool small = e->payload_size <= SMALL_PAYLOAD ||
                 (r->begin == 0 && r->end == e->size && e->payload_size <= q->slot_bytes / 2);
    if (!small || scratch > q->scratch_bytes) {
        *full = piece->count != 0;
        return *full ? WCODEC_OK : take_run(c, r, &tiling, piece, err);
    }
    *full = piece->count != 0 &&
            (piece->low + e->payload_size + 512 > q->slot_bytes - piece->high ||
             piece->scratch + scratch > q->scratch_bytes || piece->count + 3 > WCODEC_LOAD_PARTS);
    if (*full)
        return WCODEC_OK;
    wcodec_status status =
        wcodec_load_tensor_create(q, r, &(struct wcodec_load_tensor){.tiling = tiling}, &t, err);
    if (status != WCODEC_OK)
        return status;
    t->whole = wcodec_align_u64(piece->low, 256);
    piece->low = t->whole + e->payload_size;
    add_tile_parts(piece, t, first, end);
    wcodec_load_tensor_release(t);
    c->range++;
    return WCODEC_OK;
}

/* What is not in tiles. Where the host sees the place it decodes there; else it needs staging
 * memory, as much as there is. */
static void take_bytes(struct wcodec_load_cursor *c, const struct wcodec_load_range *r,
                       struct wcodec_load_piece *piece, bool *full)
{
    const uint64_t size = r->end - r->begin, most = c->request->slot_bytes;
    const bool device_fill = r->entry->coding == WCODEC_CODING_CONSTANT && r->aligned;
    struct wcodec_load_part p = {
        .range = r, .begin = r->begin, .stop = r->end, .scratch = UINT64_MAX};
    uint64_t place = 0;
    p.kind = r->host != NULL ? WCODEC_LOAD_DIRECT
             : device_fill   ? WCODEC_LOAD_FILL
                             : WCODEC_LOAD_BYTES;
    if (p.kind == WCODEC_LOAD_BYTES) {
        place = wcodec_align_u64(piece->high + (size < most ? size : most), 64);
        *full = piece->count != 0 && piece->low + 512 + place > most;
    } else {
        /* Others wait while much is decoded here. */
        *full = p.kind == WCODEC_LOAD_DIRECT && piece->count != 0 && size > most;
    }
    *full = *full || piece->count == WCODEC_LOAD_PARTS;
    if (*full)
        return;
    if (p.kind == WCODEC_LOAD_BYTES) {
        piece->high = place < most ? place : most;
        p.place = piece->high;
    }
    piece->parts[piece->count++] = p;
    c->range++;
}

wcodec_status wcodec_load_take(struct wcodec_load_cursor *c, struct wcodec_load_piece *piece,
                               bool *more, wcodec_error *err)
{
    bool full = false, large = false;
    struct wcodec_load_part *parts = piece->parts;
    *piece = (struct wcodec_load_piece){.number = c->pieces++, .parts = parts};
    while (c->range < c->request->count && !full && !large) {
        const struct wcodec_load_range *r = &c->request->ranges[c->range];
        const size_t before = c->range;
        wcodec_status status = WCODEC_OK;
        if (r->entry->newer)
            status = wcodec_entry_refuse(r->entry, err);
        else if (r->begin == r->end)
            c->range++;
        else if (r->entry->coding == WCODEC_CODING_TILES)
            status = take_tiles(c, r, piece, &full, err);
        else if (c->open != NULL || wcodec_load_units_wanted(c->request, r))
            status = wcodec_load_take_units(c, r, piece, &full, err);
        else
            take_bytes(c, r, piece, &full);
        if (status != WCODEC_OK) {
            wcodec_shard_prefix(r->shard, r->named, err);
            return status;
        }
        large = c->open != NULL || (c->range == before && piece->count != 0);
    }
    *more = piece->count != 0;
    return WCODEC_OK;
}

void wcodec_load_cursor_end(struct wcodec_load_cursor *c)
{
    wcodec_load_tensor_release(c->open);
    c->open = NULL;
}

void wcodec_load_piece_end(struct wcodec_load_piece *piece)
{
    for (size_t i = 0; i < piece->count; i++)
        wcodec_load_tensor_release(piece->parts[i].tensor);
    piece->count = 0;
}
