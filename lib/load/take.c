/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Cutting a request into pieces: small tensors go together, whole, and are parsed when they have
 * been read; a large one is parsed first and taken tile by tile.
 */
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>

void wcodec_load_tensor_release(struct wcodec_load_tensor *t)
{
    if (t == NULL || atomic_fetch_sub(&t->references, 1) != 1)
        return;
    wcodec_tiles_free(t->tiles);
    wcodec_free(t->allocator, t->front);
    wcodec_shard_release(t->range->shard, &t->source);
    if (!t->in_piece)
        wcodec_free(t->allocator, t);
}

/* Begins with one reference. */
static wcodec_status begin_tensor(const struct wcodec_load_request *q,
                                  const struct wcodec_load_range *range,
                                  const struct wcodec_layout *layout, bool in_piece,
                                  struct wcodec_load_tensor *t, wcodec_error *err)
{
    static const uint8_t nothing[1];
    wcodec_status status = wcodec_shard_acquire(range->shard, &t->source, err);
    if (status != WCODEC_OK)
        return status;
    atomic_init(&t->references, 1);
    t->in_piece = in_piece;
    t->allocator = &q->context->allocator;
    t->range = range;
    t->layout = *layout;
    t->tiles = NULL;
    t->whole = UINT64_MAX;
    t->side = nothing;
    t->front = NULL;
    t->on_cpu = atomic_load(&q->device->lost) ||
                !(t->layout.is_fixed ||
                  q->device->backend->device_supports(q->device->device, &t->layout.tiling));
    if (t->on_cpu)
        wcodec_log(q->context, WCODEC_LOG_INFO,
                   "%s cannot decode tensor '%s'; the CPU does instead", q->device->name,
                   range->named->name);
    return WCODEC_OK;
}

/* One that outlives a piece. */
static wcodec_status create_tensor(const struct wcodec_load_request *q,
                                   const struct wcodec_load_range *range,
                                   const struct wcodec_layout *layout,
                                   struct wcodec_load_tensor **tensor, wcodec_error *err)
{
    struct wcodec_load_tensor *t = wcodec_alloc(&q->context->allocator, sizeof *t);
    if (t == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor");
    wcodec_status status = begin_tensor(q, range, layout, false, t, err);
    if (status == WCODEC_OK)
        *tensor = t;
    else
        wcodec_free(&q->context->allocator, t);
    return status;
}

/* Modes, scales and the prefix after them, or shifts and checks. */
static wcodec_status read_front(struct wcodec_load_tensor *t, wcodec_error *err)
{
    const struct wcodec_entry *e = t->range->entry;
    const struct wcodec_layout *s = &t->layout;
    const uint64_t size = s->tiles_begin + s->tiling.prefix_size;
    t->front = wcodec_alloc_array(t->allocator, size, 1);
    if (t->front == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size);
    wcodec_status status =
        wcodec_source_read(&t->source, e->payload_offset, t->front, (size_t)size, err);
    t->side = t->front;
    return status == WCODEC_OK
               ? wcodec_layout_parse(s, t->front, e->payload_size, t->allocator, &t->tiles, err)
               : status;
}

static uint64_t at_least(uint64_t x, uint64_t least)
{
    return x > least ? x : least;
}

static uint64_t at_most(uint64_t x, uint64_t most)
{
    return x < most ? x : most;
}

/* Of a tensor in tiles: bytes of tiles [first, end). */
static uint64_t tiles_size(const struct wcodec_layout *s, uint64_t first, uint64_t end)
{
    return at_most(end * s->bands.size, s->tiling.size) - first * s->bands.size;
}

/* Does the device decode bands [first, stop) of a range to their destination, all of them? Else
 * they go through scratch memory. Tiles that are none of units are decoded whole. */
static bool goes_to_place(const struct wcodec_load_range *r, const struct wcodec_layout *s,
                          uint64_t first, uint64_t stop)
{
    if (!r->aligned || wcodec_layout_in_units(s))
        return r->aligned;
    return first * s->bands.size >= r->begin &&
           at_most(stop * s->bands.size, s->tiling.size) <= r->end;
}

/* One job of bands [first, stop). */
static void add_part(struct wcodec_load_piece *piece, struct wcodec_load_tensor *t, uint64_t first,
                     uint64_t stop)
{
    const struct wcodec_load_range *r = t->range;
    const struct wcodec_layout *s = &t->layout;
    const bool in_units = wcodec_layout_in_units(s);
    struct wcodec_load_part *p = &piece->parts[piece->count++];
    *p = (struct wcodec_load_part){.kind = WCODEC_LOAD_TILES,
                                   .range = r,
                                   .tensor = t,
                                   .begin = at_least(first * s->bands.size, r->begin),
                                   .stop = at_most(stop * s->bands.size, r->end),
                                   .scratch = UINT64_MAX,
                                   .on_cpu = t->on_cpu};
    wcodec_bands_tiles(&s->bands, &s->tiling, first, stop, &p->first, &p->end);
    atomic_fetch_add(&t->references, 1);
    piece->jobs++;
    if (!goes_to_place(r, s, first, stop)) {
        const uint64_t size = in_units ? p->stop - p->begin : tiles_size(s, first, stop);
        p->scratch = piece->scratch;
        p->begin_there = p->scratch + (in_units ? 0 : p->begin - first * s->bands.size);
        piece->scratch = wcodec_align_u64(piece->scratch + size, 256);
    }
    if (t->whole == UINT64_MAX)
        piece->low =
            wcodec_layout_place(s, t->tiles, p->first, p->end - p->first, piece->low, p->areas);
}

/* Tiles of which all is wanted and others are jobs of their own. */
static void add_parts(struct wcodec_load_piece *piece, struct wcodec_load_tensor *t, uint64_t first,
                      uint64_t stop)
{
    const bool split = t->range->aligned;
    if (split && stop - first > 1 && !goes_to_place(t->range, &t->layout, first, first + 1)) {
        add_part(piece, t, first, first + 1);
        first++;
    }
    if (split && stop - first > 1 && !goes_to_place(t->range, &t->layout, stop - 1, stop)) {
        add_part(piece, t, first, stop - 1);
        first = stop - 1;
    }
    add_part(piece, t, first, stop);
}

/* Most bytes of scratch memory that bands [first, stop) of a range need: no more than the tensor
 * has, whose tiles may be larger. */
static uint64_t scratch_needed(const struct wcodec_load_range *r, const struct wcodec_layout *s,
                               uint64_t first, uint64_t stop)
{
    if (goes_to_place(r, s, first, stop))
        return 0;
    const uint64_t needed = (r->aligned ? 2 : stop - first) * s->bands.size;
    return wcodec_layout_in_units(s) ? needed : at_most(needed, s->tiling.size + 512);
}

/* Some bands of a large tensor, or those of which few are wanted: as many as a piece may have. */
static wcodec_status take_run(struct wcodec_load_cursor *c, const struct wcodec_load_range *r,
                              const struct wcodec_layout *layout, struct wcodec_load_piece *piece,
                              wcodec_error *err)
{
    const struct wcodec_load_request *q = c->request;
    const struct wcodec_cut limits = {q->slot_bytes - 1024,
                                      r->aligned ? UINT64_MAX : q->scratch_bytes};
    uint64_t first, last;
    if (c->open == NULL) {
        wcodec_status status = create_tensor(q, r, layout, &c->open, err);
        if (status == WCODEC_OK)
            status = read_front(c->open, err);
        if (status != WCODEC_OK) {
            wcodec_load_cursor_end(c);
            return status;
        }
    }
    wcodec_bands_find(&layout->bands, at_least(c->at, r->begin), r->end, &first, &last);
    const uint64_t stop = wcodec_layout_cut_end(layout, c->open->tiles, &limits, first, last);
    add_parts(piece, c->open, first, stop);
    c->at = stop * layout->bands.size;
    if (stop == last) {
        wcodec_load_cursor_end(c);
        c->at = 0;
        c->range++;
    }
    return WCODEC_OK;
}

/* Tensors in blocks, lossy, in fragments and at a fixed rate: does the device reconstruct them? It
 * makes whole elements. To memory that the host sees, the CPU does that at once. With many spilled
 * elements, each piece would have to bring all of them. */
static bool device_reconstructs(const struct wcodec_load_request *q,
                                const struct wcodec_load_range *r, const struct wcodec_layout *s)
{
    const uint32_t capabilities = q->device->listing.capabilities, needed = wcodec_layout_needs(s);
    return (capabilities & needed) == needed && !(capabilities & WCODEC_DEVICE_HOST_MEMORY) &&
           ((r->begin | r->end) & (((uint64_t)1 << s->element_log2) - 1)) == 0 &&
           !atomic_load(&q->device->lost) &&
           (s->is_fixed ? 4 * s->fixed.spilled <= q->slot_bytes / 8
                        : q->device->backend->device_supports(q->device->device, &s->tiling));
}

/* What has tiles. *full: it does not fit in beside what is there. */
static wcodec_status take_tiles(struct wcodec_load_cursor *c, const struct wcodec_load_range *r,
                                const struct wcodec_layout *layout, struct wcodec_load_piece *piece,
                                bool *full, wcodec_error *err)
{
    const struct wcodec_load_request *q = c->request;
    const struct wcodec_entry *e = r->entry;
    const uint64_t size = wcodec_entry_unpacked_size(e);
    const bool all = r->begin == 0 && r->end == e->size;
    struct wcodec_load_tensor *t;
    uint64_t first, stop;
    wcodec_bands_find(&layout->bands, r->begin, r->end, &first, &stop);
    const uint64_t scratch = scratch_needed(r, layout, first, stop);
    if (!wcodec_read_whole(e, all, q->slot_bytes / 2) || scratch > q->scratch_bytes) {
        *full = piece->count != 0;
        return *full ? WCODEC_OK : take_run(c, r, layout, piece, err);
    }
    *full = piece->count != 0 &&
            (piece->low + size + 512 > q->slot_bytes - piece->high ||
             piece->scratch + scratch > q->scratch_bytes || piece->count + 3 > q->parts);
    if (*full)
        return WCODEC_OK;
    t = &piece->tensors[piece->count];
    wcodec_status status = begin_tensor(q, r, layout, true, t, err);
    if (status != WCODEC_OK)
        return status;
    t->whole = wcodec_align_u64(piece->low, 256);
    piece->low = t->whole + size;
    add_parts(piece, t, first, stop);
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
    uint64_t from_end = 0;
    p.kind = r->host != NULL ? WCODEC_LOAD_DIRECT
             : device_fill   ? WCODEC_LOAD_FILL
                             : WCODEC_LOAD_BYTES;
    if (p.kind == WCODEC_LOAD_BYTES) {
        from_end = wcodec_align_u64(piece->high + (size < most ? size : most), 64);
        *full = piece->count != 0 && piece->low + 512 + from_end > most;
    } else {
        /* Others wait while much is decoded here. */
        *full = p.kind == WCODEC_LOAD_DIRECT && piece->count != 0 && size > most;
    }
    *full = *full || piece->count == c->request->parts;
    if (*full)
        return;
    if (p.kind == WCODEC_LOAD_BYTES) {
        piece->high = from_end < most ? from_end : most;
        p.from_end = piece->high;
    }
    piece->parts[piece->count++] = p;
    c->range++;
}

static void log_coding(const struct wcodec_load_request *q, const struct wcodec_load_range *r)
{
    if (!(q->device->listing.capabilities & WCODEC_DEVICE_HOST_MEMORY))
        wcodec_log(q->context, WCODEC_LOG_INFO,
                   "%s cannot decode tensor '%s', which is %s; the CPU does instead",
                   q->device->name, r->named->name,
                   r->entry->coding == WCODEC_CODING_FIXED      ? "at a fixed rate"
                   : r->entry->coding == WCODEC_CODING_RECORDS  ? "in records"
                   : r->entry->coding == WCODEC_CODING_DELTA    ? "a delta"
                   : r->entry->coding == WCODEC_CODING_MASKED   ? "masked"
                   : r->entry->coding == WCODEC_CODING_ANCHORED ? "by anchors"
                                                                : "in fragments");
}

static wcodec_status take_range(struct wcodec_load_cursor *c, const struct wcodec_load_range *r,
                                struct wcodec_load_piece *piece, bool *full, wcodec_error *err)
{
    struct wcodec_layout layout;
    if (wcodec_entry_has_layout(r->entry)) {
        wcodec_layout_derive(r->entry, &layout);
        if (c->open != NULL || !wcodec_layout_in_units(&layout) ||
            device_reconstructs(c->request, r, &layout))
            return take_tiles(c, r, &layout, piece, full, err);
    }
    take_bytes(c, r, piece, full);
    if (!*full &&
        (r->entry->coding == WCODEC_CODING_FIXED || r->entry->coding == WCODEC_CODING_FRAGMENTS ||
         r->entry->coding == WCODEC_CODING_RECORDS || r->entry->coding == WCODEC_CODING_DELTA ||
         r->entry->coding == WCODEC_CODING_MASKED || r->entry->coding == WCODEC_CODING_ANCHORED))
        log_coding(c->request, r);
    return WCODEC_OK;
}

wcodec_status wcodec_load_take(struct wcodec_load_cursor *c, struct wcodec_load_piece *piece,
                               bool *more, wcodec_error *err)
{
    bool full = false, large = false;
    *piece = (struct wcodec_load_piece){
        .number = c->pieces++, .parts = piece->parts, .tensors = piece->tensors};
    while (c->range < c->limit && !full && !large) {
        const struct wcodec_load_range *r = &c->request->ranges[c->range];
        const size_t before = c->range;
        wcodec_status status = WCODEC_OK;
        if (r->entry->newer)
            status = wcodec_entry_refuse(r->entry, err);
        else if (r->begin == r->end)
            c->range++;
        else
            status = take_range(c, r, piece, &full, err);
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
