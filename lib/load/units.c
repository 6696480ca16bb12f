/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in blocks and lossy ones: where the device can reconstruct them to their place, they are
 * taken by whole bands of rows, of which it is given the tiles. */
#include "registry/decode.h"
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>

#define SMALL_PAYLOAD ((uint64_t)64 << 10) /* read whole even if few rows are wanted */
#define BOUNCE_BYTES \
    ((uint64_t)8 << 20) /* decoded bytes that are in memory at once on their way to the device */

enum {
    PLAIN_BAND = 4096
}; /* elements that are taken together where a lossy tensor has no blocks */

/* What follows from an entry before anything of it is read. */
static void derive(const struct wcodec_entry *e, struct wcodec_load_tensor *t)
{
    *t = (struct wcodec_load_tensor){.in_units = true, .whole = UINT64_MAX};
    if (e->coding == WCODEC_CODING_BLOCKS) {
        wcodec_entry_blocks(e, &t->blocks, &t->tiling);
        t->tiles_begin = wcodec_blocks_tiles_begin(&t->blocks);
        t->unit_log2 = WCODEC_BLOCK_LOG2;
        t->band = t->blocks.across;
        t->band_size = wcodec_blocks_band_size(&t->blocks);
        return;
    }
    wcodec_entry_lossy(e, &t->lossy, &t->tiling);
    t->is_lossy = true;
    t->tiles_begin = wcodec_lossy_tiles_begin(&t->lossy);
    t->unit_log2 = t->lossy.plain ? 0 : WCODEC_SUPERBLOCK_LOG2;
    t->band = t->lossy.plain ? PLAIN_BAND : t->lossy.across;
    t->band_size = t->lossy.plain ? (uint64_t)PLAIN_BAND << t->lossy.element_log2
                                  : wcodec_lossy_band_size(&t->lossy);
}

static unsigned element_log2(const struct wcodec_load_tensor *t)
{
    return t->is_lossy ? t->lossy.element_log2 : t->blocks.element_log2;
}

/* Tiles that have the units of bands [first, stop). */
static void tiles_of_bands(const struct wcodec_load_tensor *t, uint64_t first, uint64_t stop,
                           uint64_t *tile, uint64_t *end)
{
    const unsigned log2 = t->tiling.tile_log2 - t->unit_log2;
    *tile = first * t->band >> log2;
    *end = wcodec_div_up_u64(stop * t->band, (uint64_t)1 << log2);
    *end = *end < t->tiling.tiles ? *end : t->tiling.tiles;
}

bool wcodec_load_units_wanted(const struct wcodec_load_request *q,
                              const struct wcodec_load_range *r)
{
    const uint32_t capabilities = q->device->listing.capabilities,
                   needed = r->entry->coding == WCODEC_CODING_BLOCKS ? WCODEC_DEVICE_BLOCKS
                                                                     : WCODEC_DEVICE_LOSSY;
    struct wcodec_load_tensor t;
    if (r->entry->coding != WCODEC_CODING_BLOCKS && r->entry->coding != WCODEC_CODING_LOSSY)
        return false;
    /* To memory that the host sees it decodes itself. */
    if (!(capabilities & needed) || capabilities & WCODEC_DEVICE_HOST_MEMORY || r->memory == NULL ||
        r->host != NULL || atomic_load(&q->device->lost))
        return false;
    derive(r->entry, &t);
    return ((r->offset | r->begin | r->end) & (((uint64_t)1 << element_log2(&t)) - 1)) == 0 &&
           q->device->backend->device_supports(q->device->device, &t.tiling);
}

/* Of bands [first, stop): those of their bytes that are wanted. */
static void add_bands(struct wcodec_load_piece *piece, struct wcodec_load_tensor *t, uint64_t first,
                      uint64_t stop)
{
    const struct wcodec_load_range *r = t->range;
    struct wcodec_load_part *p = &piece->parts[piece->count++];
    *p = (struct wcodec_load_part){.kind = WCODEC_LOAD_TILES,
                                   .range = r,
                                   .tensor = t,
                                   .scratch = UINT64_MAX,
                                   .on_cpu = t->on_cpu};
    tiles_of_bands(t, first, stop, &p->first, &p->end);
    p->begin = first * t->band_size > r->begin ? first * t->band_size : r->begin;
    p->stop = r->end / t->band_size < stop ? r->end : stop * t->band_size;
    atomic_fetch_add(&t->references, 1);
    piece->jobs++;
    if (t->whole == UINT64_MAX)
        piece->low =
            wcodec_lay_out_areas(t->tiles, p->first, p->end - p->first, piece->low, p->areas);
}

wcodec_status wcodec_load_units_check(struct wcodec_load_tensor *t, wcodec_error *err)
{
    return t->is_lossy ? wcodec_lossy_check_side(&t->lossy, t->modes, err)
                       : wcodec_blocks_check_modes(&t->blocks, t->modes, err);
}

/* Modes, scales and the prefix behind them. */
static wcodec_status read_front(struct wcodec_load_tensor *t, wcodec_error *err)
{
    const struct wcodec_entry *e = t->range->entry;
    const uint64_t size = t->tiles_begin + t->tiling.prefix_size;
    t->front = wcodec_alloc_array(t->allocator, size, 1);
    if (t->front == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size);
    wcodec_status status =
        wcodec_source_read(&t->source, e->payload_offset, t->front, (size_t)size, err);
    t->modes = t->front;
    if (status == WCODEC_OK)
        status = wcodec_load_units_check(t, err);
    if (status == WCODEC_OK)
        status = wcodec_tiles_read(&t->tiling, t->front + t->tiles_begin,
                                   e->payload_size - t->tiles_begin, t->allocator, &t->tiles, err);
    return status;
}

/* The end of the most bands from `first` on that one piece may have: one at least. */
static uint64_t run_end(const struct wcodec_load_request *q, const struct wcodec_load_tensor *t,
                        uint64_t first, uint64_t stop)
{
    struct wcodec_area_place places[WCODEC_AREAS];
    uint64_t low = first + 1, high = stop, tile, end;
    while (low < high) {
        const uint64_t middle = high - (high - low) / 2;
        tiles_of_bands(t, first, middle, &tile, &end);
        if (wcodec_lay_out_areas(t->tiles, tile, end - tile, 0, places) + 1024 <= q->slot_bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static wcodec_status take_run(struct wcodec_load_cursor *c, const struct wcodec_load_range *r,
                              const struct wcodec_load_tensor *shape,
                              struct wcodec_load_piece *piece, wcodec_error *err)
{
    if (c->open == NULL) {
        wcodec_status status = wcodec_load_tensor_create(c->request, r, shape, &c->open, err);
        if (status == WCODEC_OK)
            status = read_front(c->open, err);
        if (status != WCODEC_OK) {
            wcodec_load_cursor_end(c);
            return status;
        }
    }
    const uint64_t first = (c->at > r->begin ? c->at : r->begin) / shape->band_size,
                   last = (r->end - 1) / shape->band_size + 1,
                   stop = run_end(c->request, c->open, first, last);
    add_bands(piece, c->open, first, stop);
    c->at = stop * shape->band_size;
    if (stop == last) {
        wcodec_load_cursor_end(c);
        c->at = 0;
        c->range++;
    }
    return WCODEC_OK;
}

wcodec_status wcodec_load_take_units(struct wcodec_load_cursor *c,
                                     const struct wcodec_load_range *r,
                                     struct wcodec_load_piece *piece, bool *full, wcodec_error *err)
{
    const struct wcodec_load_request *q = c->request;
    const struct wcodec_entry *e = r->entry;
    struct wcodec_load_tensor shape, *t;
    derive(e, &shape);
    if (e->payload_size > SMALL_PAYLOAD &&
        !(r->begin == 0 && r->end == e->size && e->payload_size <= q->slot_bytes / 2)) {
        *full = piece->count != 0;
        return *full ? WCODEC_OK : take_run(c, r, &shape, piece, err);
    }
    *full =
        piece->count != 0 && (piece->low + e->payload_size + 512 > q->slot_bytes - piece->high ||
                              piece->count + 1 > WCODEC_LOAD_PARTS);
    if (*full)
        return WCODEC_OK;
    wcodec_status status = wcodec_load_tensor_create(q, r, &shape, &t, err);
    if (status != WCODEC_OK)
        return status;
    t->whole = wcodec_align_u64(piece->low, 256);
    piece->low = t->whole + e->payload_size;
    add_bands(piece, t, r->begin / t->band_size, (r->end - 1) / t->band_size + 1);
    wcodec_load_tensor_release(t);
    c->range++;
    return WCODEC_OK;
}

void wcodec_load_units_job(const struct wcodec_load_part *part, struct wcodec_job *job)
{
    const struct wcodec_load_tensor *t = part->tensor;
    job->blocks = t->is_lossy ? NULL : &t->blocks;
    job->lossy = t->is_lossy ? &t->lossy : NULL;
    job->modes = t->modes;
    job->begin = part->begin;
    job->end = part->stop;
}

/* In place of a device that did not: read again, and decoded some bands at a time. */
wcodec_status wcodec_load_units_on_cpu(struct wcodec_load_slot *slot,
                                       const struct wcodec_load_part *part, wcodec_error *err)
{
    const struct wcodec_load_request *q = slot->work->request;
    const struct wcodec_load_tensor *t = part->tensor;
    const struct wcodec_decoder_input input = {.context = q->context,
                                               .source = &t->source,
                                               .entry = part->range->entry,
                                               .verify = q->verify};
    const uint64_t all = part->stop - part->begin,
                   many = BOUNCE_BYTES / t->band_size * t->band_size,
                   most = many != 0 ? many : t->band_size;
    struct wcodec_reporter silent = {0};
    struct wcodec_decoder decoder;
    wcodec_status status = wcodec_decoder_open(&input, &decoder, err);
    if (status != WCODEC_OK)
        return status;
    uint8_t *bounce = wcodec_alloc_array(&q->context->allocator, all < most ? all : most, 1);
    if (bounce == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", most);
    for (uint64_t at = part->begin, to; at < part->stop && status == WCODEC_OK; at = to) {
        to = (at + most) / t->band_size * t->band_size;
        to = to > at && to < part->stop ? to : at + most < part->stop ? at + most : part->stop;
        status = wcodec_decoder_range(&decoder, at, to, bounce, &silent, err);
        if (status == WCODEC_OK)
            status = wcodec_load_deliver(slot, part, at, bounce, to - at, err);
    }
    wcodec_free(&q->context->allocator, bounce);
    wcodec_decoder_close(&decoder);
    atomic_fetch_add(&slot->work->by_cpu, all);
    return status;
}
