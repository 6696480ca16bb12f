/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in blocks: units are blocks, and their residuals are in the tiles. */

#include "backends/cpu/cpu_level.h"
#include "read/decode.h"

wcodec_status wcodec_decoder_open_blocks(struct wcodec_decoder *d, wcodec_error *err)
{
    wcodec_entry_blocks(d->input.entry, &d->blocks, &d->tiling);
    d->tiles_begin = wcodec_blocks_tiles_begin(&d->blocks);
    wcodec_cpu_blocks_dsp_init(&d->blocks_dsp, wcodec_cpu_levels() & d->input.context->cpu_mask);
    wcodec_status status = wcodec_decoder_open_modes(d, err);
    if (status == WCODEC_OK)
        status = wcodec_blocks_check_modes(&d->blocks, d->modes, err);
    return status == WCODEC_OK ? wcodec_decoder_open_tiles(d, err) : status;
}

static void reconstruct(const struct wcodec_decoder *d, uint64_t first, uint64_t end,
                        const uint8_t *residuals, uint64_t begin_byte, uint64_t end_byte,
                        uint8_t *dst)
{
    wcodec_cpu_restore_blocks(&d->blocks_dsp, &d->blocks, d->modes, first, end, residuals,
                              begin_byte, end_byte, dst);
}

wcodec_status wcodec_decoder_range_blocks(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                          uint8_t *dst, struct wcodec_reporter *reporter,
                                          wcodec_error *err)
{
    const struct wcodec_units units = {.log2 = WCODEC_BLOCK_LOG2,
                                       .band = d->blocks.across,
                                       .band_size = wcodec_blocks_band_size(&d->blocks),
                                       .reconstruct = reconstruct};
    return wcodec_decoder_range_units(d, &units, begin, end, dst, reporter, err);
}
