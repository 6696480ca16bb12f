/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors: units are superblocks, or single elements where the tensor is plain, and their
 * coefficients are in the tiles. */

#include "backends/cpu/cpu_level.h"
#include "read/decode.h"

wcodec_status wcodec_decoder_open_lossy(struct wcodec_decoder *d, wcodec_error *err)
{
    wcodec_entry_lossy(d->input.entry, &d->lossy, &d->tiling);
    wcodec_cpu_lossy_dsp_init(&d->lossy_dsp, wcodec_cpu_levels() & d->input.context->cpu_mask);
    d->tiles_begin = wcodec_lossy_tiles_begin(&d->lossy);
    wcodec_status status = wcodec_decoder_open_modes(d, err);
    if (status == WCODEC_OK)
        status = wcodec_lossy_check_side(&d->lossy, d->modes, err);
    return status == WCODEC_OK ? wcodec_decoder_open_tiles(d, err) : status;
}

static void reconstruct(const struct wcodec_decoder *d, uint64_t first, uint64_t end,
                        const uint8_t *coefficients, uint64_t begin_byte, uint64_t end_byte,
                        uint8_t *dst)
{
    wcodec_cpu_restore_lossy(&d->lossy_dsp, &d->lossy, d->modes, first, end, coefficients,
                             begin_byte, end_byte, dst, end_byte - begin_byte >= WCODEC_CPU_STREAM);
}

wcodec_status wcodec_decoder_range_lossy(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                         uint8_t *dst, struct wcodec_reporter *reporter,
                                         wcodec_error *err)
{
    const struct wcodec_lossy *l = &d->lossy;
    const struct wcodec_units superblocks = {.log2 = WCODEC_SUPERBLOCK_LOG2,
                                             .band = l->across,
                                             .band_size = wcodec_lossy_band_size(l),
                                             .reconstruct = reconstruct};
    const struct wcodec_units elements = {.log2 = 0,
                                          .band = 1,
                                          .band_size = (uint64_t)1 << l->element_log2,
                                          .reconstruct = reconstruct};
    return wcodec_decoder_range_units(d, l->plain ? &elements : &superblocks, begin, end, dst,
                                      reporter, err);
}
