/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors whose tiles hold what elements are reconstructed from: it is decoded as tiles, batch by batch, and goes from there to where it belongs. */

#include "backend/decode.h"
#include "container/decode.h"
#include "core/error.h"
#include "core/memory.h"

enum { RESIDUALS = 1 << 22 }; /* bytes of a batch: small enough to stay in caches, enough for many threads */

wcodec_status wcodec_decoder_open_modes(struct wcodec_decoder *d, wcodec_error *err)
{
    static const uint8_t nothing[1];
    d->modes = d->payload;
    if (d->tiles_begin == 0) {
        d->modes = nothing;
    } else if (d->payload == NULL) {
        wcodec_status status = wcodec_decoder_take(d, d->tiles_begin, &d->loaded_modes, err);
        if (status == WCODEC_OK)
            status = wcodec_decoder_read(d, d->input.entry->payload_offset, d->loaded_modes, d->tiles_begin, err);
        if (status != WCODEC_OK)
            return status;
        d->modes = d->loaded_modes;
    }
    return WCODEC_OK;
}

/* Units [first, end), whose residuals are in memory, and the bytes of the tensor that are wanted. */
struct batch {
    const struct wcodec_decoder *decoder;
    const struct wcodec_units *units;
    const uint8_t *residuals; /* of unit `first` */
    uint64_t first, end;
    uint64_t begin_byte, end_byte;
    uint8_t *dst;
};

static void reconstruct_task(void *argument, size_t i)
{
    const struct batch *b = argument;
    const uint64_t first = b->first + (uint64_t)i * b->units->task, end = b->end - first < b->units->task ? b->end : first + b->units->task;
    const uint8_t *residuals = b->residuals + ((first - b->first) << (b->units->log2 + b->decoder->tiling.element_log2));
    b->units->reconstruct(b->decoder, first, end, residuals, b->begin_byte, b->end_byte, b->dst);
}

/* Room for the residuals of up to `tiles` tiles; returns in *count of how many. */
static wcodec_status reserve_residuals(struct wcodec_decoder *d, uint64_t tiles, uint64_t *count, wcodec_error *err)
{
    const uint64_t tile = (uint64_t)1 << (d->tiling.tile_log2 + d->tiling.element_log2), most = RESIDUALS / tile > 0 ? RESIDUALS / tile : 1;
    uint64_t wanted = (tiles < most ? tiles : most) * tile, budget = (wcodec_decoder_budget(d) + d->residuals_size) / 2;
    if (wanted > budget)
        wanted = budget < tile ? tile : budget / tile * tile;
    if (wanted > d->residuals_size) {
        wcodec_free(&d->input.context->allocator, d->residuals);
        d->residuals = NULL;
        d->held -= d->residuals_size;
        d->residuals_size = 0;
        wcodec_status status = wcodec_decoder_take(d, wanted, &d->residuals, err);
        if (status != WCODEC_OK)
            return status;
        d->residuals_size = wanted;
    }
    *count = d->residuals_size / tile;
    return WCODEC_OK;
}

/* The first byte of the tensor that may be missing when all units before `unit` are done. */
static uint64_t bytes_before(const struct wcodec_units *u, uint64_t size, uint64_t unit)
{
    const uint64_t at = unit / u->band * u->band_size;
    return at < size ? at : size;
}

wcodec_status wcodec_decoder_range_units(struct wcodec_decoder *d, const struct wcodec_units *units, uint64_t begin, uint64_t end, uint8_t *dst,
                                         struct wcodec_reporter *reporter, wcodec_error *err)
{
    const uint64_t first = begin / units->band_size * units->band, stop = ((end - 1) / units->band_size + 1) * units->band;
    const unsigned tile_units_log2 = (unsigned)d->tiling.tile_log2 - units->log2;
    const uint64_t tile_end = wcodec_div_up_u64(stop, (uint64_t)1 << tile_units_log2);
    uint64_t tile = first >> tile_units_log2, done = begin, most;
    wcodec_status status = reserve_residuals(d, tile_end - tile, &most, err);
    while (tile < tile_end && status == WCODEC_OK) {
        struct wcodec_view view;
        uint64_t next;
        status = wcodec_decoder_load_tiles(d, tile, tile_end - tile < most ? tile_end : tile + most, &next, &view, err);
        if (status == WCODEC_OK)
            status = wcodec_decode_tiles_on_cpu(d->input.context, d->tiles, &view, tile, next - tile, d->residuals, d->input.verify, err);
        if (status != WCODEC_OK)
            break;
        const uint64_t held = tile << tile_units_log2, reached = next < tile_end ? next << tile_units_log2 : stop;
        struct batch b = {.decoder = d, .units = units, .first = held > first ? held : first, .end = reached, .begin_byte = begin, .end_byte = end, .dst = dst};
        b.residuals = d->residuals + ((b.first - held) << (units->log2 + d->tiling.element_log2));
        wcodec_run(d->input.context, reconstruct_task, &b, (size_t)wcodec_div_up_u64(b.end - b.first, units->task));
        uint64_t byte = reached == stop ? end : bytes_before(units, d->input.entry->size, reached);
        byte = byte < done ? done : byte;
        status = wcodec_reporter_add(reporter, byte - done, err);
        done = byte;
        tile = next;
    }
    return status;
}
