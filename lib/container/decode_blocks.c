/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in blocks: their residuals are decoded as tiles, batch by batch, and reconstructed from there to where they belong. */

#include "backend/decode.h"
#include "container/decode.h"
#include "core/error.h"
#include "core/memory.h"

enum {
    RESIDUALS = 1 << 22, /* bytes of a batch: small enough to stay in caches, enough for many threads */
    TASK_BLOCKS = 128
};

wcodec_status wcodec_decoder_open_blocks(struct wcodec_decoder *d, wcodec_error *err)
{
    static const uint8_t nothing[1];
    wcodec_entry_blocks(d->input.entry, &d->blocks, &d->tiling);
    d->tiles_begin = wcodec_blocks_tiles_begin(&d->blocks);
    d->modes = d->payload;
    if (d->tiles_begin == 0) {
        d->modes = nothing;
    } else if (d->payload == NULL) {
        wcodec_status status = wcodec_decoder_take(d, d->tiles_begin, &d->loaded_modes, err);
        if (status == WCODEC_OK)
            status = wcodec_source_read(d->input.source, d->input.entry->payload_offset, d->loaded_modes, (size_t)d->tiles_begin, err);
        if (status != WCODEC_OK)
            return status;
        d->modes = d->loaded_modes;
    }
    wcodec_status status = wcodec_blocks_check_modes(&d->blocks, d->modes, err);
    return status == WCODEC_OK ? wcodec_decoder_open_tiles(d, err) : status;
}

/* Blocks [first, end), whose residuals are in memory, and the bytes of the tensor that are wanted. */
struct batch {
    const struct wcodec_decoder *decoder;
    const uint8_t *residuals; /* of block `first` */
    uint64_t first, end;
    uint64_t begin_byte, end_byte;
    uint8_t *dst;
};

static void reconstruct_task(void *argument, size_t i)
{
    const struct batch *b = argument;
    const struct wcodec_blocks *blocks = &b->decoder->blocks;
    const uint64_t first = b->first + (uint64_t)i * TASK_BLOCKS, end = b->end - first < TASK_BLOCKS ? b->end : first + TASK_BLOCKS;
    const uint8_t *residuals = b->residuals + ((first - b->first) * WCODEC_BLOCK << blocks->element_log2);
    for (uint64_t block = first; block < end; block++, residuals += (size_t)WCODEC_BLOCK << blocks->element_log2)
        wcodec_block_reconstruct(blocks, block, wcodec_blocks_mode(blocks, b->decoder->modes, block), residuals, b->begin_byte, b->end_byte, b->dst);
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

/* The first byte of the tensor that may be missing when all blocks before `block` are done. */
static uint64_t bytes_before(const struct wcodec_blocks *b, uint64_t block)
{
    const uint64_t at = block / b->across * wcodec_blocks_band_size(b);
    return at < b->size ? at : b->size;
}

wcodec_status wcodec_decoder_range_blocks(struct wcodec_decoder *d, uint64_t begin, uint64_t end, uint8_t *dst, struct wcodec_reporter *reporter, wcodec_error *err)
{
    const struct wcodec_blocks *blocks = &d->blocks;
    const uint64_t band = wcodec_blocks_band_size(blocks), first = begin / band * blocks->across, stop = ((end - 1) / band + 1) * blocks->across;
    const unsigned tile_blocks_log2 = (unsigned)d->tiling.tile_log2 - WCODEC_BLOCK_LOG2;
    const uint64_t tile_end = wcodec_div_up_u64(stop, (uint64_t)1 << tile_blocks_log2);
    uint64_t tile = first >> tile_blocks_log2, done = begin, most;
    wcodec_status status = reserve_residuals(d, tile_end - tile, &most, err);
    while (tile < tile_end && status == WCODEC_OK) {
        struct wcodec_view view;
        uint64_t next;
        status = wcodec_decoder_load_tiles(d, tile, tile_end - tile < most ? tile_end : tile + most, &next, &view, err);
        if (status == WCODEC_OK)
            status = wcodec_decode_tiles_on_cpu(d->input.context, d->tiles, &view, tile, next - tile, d->residuals, d->input.verify, err);
        if (status != WCODEC_OK)
            break;
        const uint64_t held = tile << tile_blocks_log2, reached = next < tile_end ? next << tile_blocks_log2 : stop;
        struct batch b = {.decoder = d, .first = held > first ? held : first, .end = reached, .begin_byte = begin, .end_byte = end, .dst = dst};
        b.residuals = d->residuals + ((b.first - held) * WCODEC_BLOCK << blocks->element_log2);
        wcodec_run(d->input.context, reconstruct_task, &b, (size_t)wcodec_div_up_u64(b.end - b.first, TASK_BLOCKS));
        uint64_t byte = reached == stop ? end : bytes_before(blocks, reached);
        byte = byte < done ? done : byte;
        status = wcodec_reporter_add(reporter, byte - done, err);
        done = byte;
        tile = next;
    }
    return status;
}
