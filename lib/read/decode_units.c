/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors whose tiles hold what elements are reconstructed from: each thread decodes a few tiles
 * and reconstructs from there, while that is in its cache. */

#include "registry/decode.h"
#include "backends/cpu/cpu_level.h"
#include "read/decode.h"
#include "core/memory.h"
#include <stdatomic.h>

/* Bytes of residuals that a thread should have at once: several tiles side by side, in the
 * second-level cache. */
enum { RESIDUALS = 3 << 16 };

wcodec_status wcodec_decoder_open_modes(struct wcodec_decoder *d, wcodec_error *err)
{
    static const uint8_t nothing[1];
    d->modes = d->payload;
    if (d->tiles_begin == 0) {
        d->modes = nothing;
    } else if (d->payload == NULL) {
        wcodec_status status = wcodec_decoder_take(d, d->tiles_begin, &d->loaded_modes, err);
        if (status == WCODEC_OK)
            status = wcodec_decoder_read(d, d->input.entry->payload_offset, d->loaded_modes,
                                         d->tiles_begin, err);
        if (status != WCODEC_OK)
            return status;
        d->modes = d->loaded_modes;
    }
    return WCODEC_OK;
}

/* What threads work on: tiles up to tile_end, whose coded bytes are in memory, and of their units
 * those from `first` to `stop`. */
struct batch {
    const struct wcodec_decoder *decoder;
    const struct wcodec_units *units;
    const struct wcodec_view *view;
    uint64_t tile_end;
    uint64_t first, stop;
    uint64_t begin_byte, end_byte;
    uint8_t *dst;
    _Atomic uint64_t next;   /* tile that nobody has taken */
    _Atomic uint64_t failed; /* wcodec_cpu_note_faults() */
};

/* Tiles [tile, end), and from what they hold the elements. */
static void decode_tiles(struct batch *b, uint64_t tile, uint64_t end, uint8_t *residuals)
{
    const struct wcodec_decoder *d = b->decoder;
    const unsigned units_log2 = (unsigned)d->tiling.tile_log2 - b->units->log2,
                   unit_log2 = b->units->log2 + d->tiling.element_log2;
    enum wcodec_tile_fault faults[WCODEC_DECODER_TILES];
    wcodec_cpu_decode_tiles(d->cpu, b->view, tile, (unsigned)(end - tile), residuals,
                            d->input.verify, false, faults);
    const bool good = !wcodec_cpu_note_faults(&b->failed, tile, (unsigned)(end - tile), faults);
    const uint64_t held = tile << units_log2, first = held > b->first ? held : b->first,
                   stop = end << units_log2 < b->stop ? end << units_log2 : b->stop;
    if (good && first < stop)
        b->units->reconstruct(d, first, stop, residuals + ((first - held) << unit_log2),
                              b->begin_byte, b->end_byte, b->dst);
}

static void worker_task(void *argument, size_t worker)
{
    struct batch *b = argument;
    const struct wcodec_decoder *d = b->decoder;
    uint8_t *residuals = d->residuals + worker * d->residuals_each;
    for (uint64_t tile; (tile = atomic_fetch_add(&b->next, d->tiles_each)) < b->tile_end;)
        decode_tiles(b, tile,
                     b->tile_end - tile < d->tiles_each ? b->tile_end : tile + d->tiles_each,
                     residuals);
}

/* Functions and tables, once, and memory for as many threads as have something to do, or as the
 * limit of memory allows: one at least, with a tile at least. */
static wcodec_status prepare(struct wcodec_decoder *d, uint64_t tiles, wcodec_error *err)
{
    const struct wcodec_tiling *t = &d->tiling;
    const uint64_t tile = (uint64_t)1 << (t->tile_log2 + t->element_log2),
                   budget = (wcodec_decoder_budget(d) + d->residuals_size) / 2;
    wcodec_status status = WCODEC_OK;
    if (d->cpu == NULL) {
        wcodec_cpu_dsp_init(&d->dsp, wcodec_cpu_levels() & d->input.context->cpu_mask);
        status = wcodec_cpu_decoder_create(&d->dsp, d->tiles, &d->input.context->allocator, &d->cpu,
                                           err);
    }
    if (status != WCODEC_OK)
        return status;
    uint64_t each = d->dsp.tiles[t->fields[t->coded[0]].profile],
             workers = wcodec_context_threads(d->input.context);
    each *= RESIDUALS / (each * tile) > 0 ? RESIDUALS / (each * tile) : 1;
    each = each > WCODEC_DECODER_TILES ? WCODEC_DECODER_TILES : each;
    if (each > tiles / workers) /* little to do: all threads shall */
        each = tiles / workers > 0 ? tiles / workers : 1;
    if (workers > wcodec_div_up_u64(tiles, each))
        workers = wcodec_div_up_u64(tiles, each);
    if (each * tile > budget)
        each = budget / tile > 0 ? budget / tile : 1;
    if (workers > budget / (each * tile))
        workers = budget / (each * tile) > 0 ? budget / (each * tile) : 1;
    d->workers = (size_t)workers;
    d->tiles_each = each;
    d->residuals_each = each * tile;
    if (workers * each * tile <= d->residuals_size)
        return WCODEC_OK;
    wcodec_free(&d->input.context->allocator, d->residuals);
    d->residuals = NULL;
    d->held -= d->residuals_size;
    d->residuals_size = 0;
    status = wcodec_decoder_take(d, workers * each * tile, &d->residuals, err);
    if (status == WCODEC_OK)
        d->residuals_size = workers * each * tile;
    return status;
}

/* The first byte of the tensor that may be missing when all units before `unit` are done. */
static uint64_t bytes_before(const struct wcodec_units *u, uint64_t size, uint64_t unit)
{
    const uint64_t at = unit / u->band * u->band_size;
    return at < size ? at : size;
}

wcodec_status wcodec_decoder_range_units(struct wcodec_decoder *d, const struct wcodec_units *units,
                                         uint64_t begin, uint64_t end, uint8_t *dst,
                                         struct wcodec_reporter *reporter, wcodec_error *err)
{
    const uint64_t first = begin / units->band_size * units->band,
                   stop = ((end - 1) / units->band_size + 1) * units->band;
    const unsigned tile_units_log2 = (unsigned)d->tiling.tile_log2 - units->log2;
    const uint64_t tile_end = wcodec_div_up_u64(stop, (uint64_t)1 << tile_units_log2);
    uint64_t tile = first >> tile_units_log2, done = begin;
    wcodec_status status = prepare(d, tile_end - tile, err);
    while (tile < tile_end && status == WCODEC_OK) {
        struct wcodec_view view;
        uint64_t next;
        status = wcodec_decoder_load_tiles(d, tile, tile_end, &next, &view, err);
        if (status != WCODEC_OK)
            break;
        struct batch b = {.decoder = d,
                          .units = units,
                          .view = &view,
                          .tile_end = next,
                          .first = first,
                          .stop = stop,
                          .begin_byte = begin,
                          .end_byte = end,
                          .dst = dst};
        atomic_init(&b.next, tile);
        atomic_init(&b.failed, UINT64_MAX);
        wcodec_run(d->input.context, worker_task, &b, d->workers);
        const uint64_t failed = atomic_load(&b.failed),
                       reached = next < tile_end ? next << tile_units_log2 : stop;
        if (failed != UINT64_MAX)
            return wcodec_tile_fail(d->tiles, failed >> 3, (enum wcodec_tile_fault)(failed & 7),
                                    err);
        uint64_t byte = reached == stop ? end : bytes_before(units, d->input.entry->size, reached);
        byte = byte < done ? done : byte;
        status = wcodec_reporter_add(reporter, byte - done, err);
        done = byte;
        tile = next;
    }
    return status;
}
