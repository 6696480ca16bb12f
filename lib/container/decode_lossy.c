/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors: units are superblocks, or single elements where the tensor is plain, and their coefficients are in the tiles. */

#include "container/decode.h"

enum { TASK_SUPERBLOCKS = 8, TASK_ELEMENTS = TASK_SUPERBLOCKS * WCODEC_SUPERBLOCK };

wcodec_status wcodec_decoder_open_lossy(struct wcodec_decoder *d, wcodec_error *err)
{
    wcodec_entry_lossy(d->input.entry, &d->lossy, &d->tiling);
    d->tiles_begin = wcodec_lossy_tiles_begin(&d->lossy);
    wcodec_status status = wcodec_decoder_open_modes(d, err);
    if (status == WCODEC_OK)
        status = wcodec_lossy_check_side(&d->lossy, d->modes, err);
    return status == WCODEC_OK ? wcodec_decoder_open_tiles(d, err) : status;
}

static void reconstruct_superblocks(const struct wcodec_decoder *d, uint64_t first, uint64_t end, const uint8_t *coefficients, uint64_t begin_byte,
                                    uint64_t end_byte, uint8_t *dst)
{
    for (uint64_t s = first; s < end; s++, coefficients += (size_t)WCODEC_SUPERBLOCK << d->lossy.coefficient_log2)
        wcodec_superblock_reconstruct(&d->lossy, d->modes, s, coefficients, begin_byte, end_byte, dst);
}

/* An element of which only some bytes are wanted, of a range of single bytes. */
static void reconstruct_part(const struct wcodec_lossy *l, const uint8_t *side, uint64_t element, const uint8_t *coefficient, uint64_t begin_byte,
                             uint64_t end_byte, uint8_t *dst)
{
    uint8_t bytes[4];
    const uint64_t at = element << l->element_log2, size = (uint64_t)1 << l->element_log2;
    wcodec_plain_reconstruct(l, side, element, 1, coefficient, bytes);
    for (uint64_t i = 0; i < size; i++)
        if (at + i >= begin_byte && at + i < end_byte)
            dst[at + i - begin_byte] = bytes[i];
}

static void reconstruct_elements(const struct wcodec_decoder *d, uint64_t first, uint64_t end, const uint8_t *coefficients, uint64_t begin_byte,
                                 uint64_t end_byte, uint8_t *dst)
{
    const struct wcodec_lossy *l = &d->lossy;
    const uint64_t size = (uint64_t)1 << l->element_log2;
    if (first << l->element_log2 < begin_byte) {
        reconstruct_part(l, d->modes, first++, coefficients, begin_byte, end_byte, dst);
        coefficients += (size_t)1 << l->coefficient_log2;
    }
    if (first < end && (end << l->element_log2) > end_byte) {
        end--;
        reconstruct_part(l, d->modes, end, coefficients + ((end - first) << l->coefficient_log2), begin_byte, end_byte, dst);
    }
    if (first < end)
        wcodec_plain_reconstruct(l, d->modes, first, end - first, coefficients, dst + (first * size - begin_byte));
}

wcodec_status wcodec_decoder_range_lossy(struct wcodec_decoder *d, uint64_t begin, uint64_t end, uint8_t *dst, struct wcodec_reporter *reporter,
                                         wcodec_error *err)
{
    const struct wcodec_lossy *l = &d->lossy;
    const struct wcodec_units superblocks = {.log2 = WCODEC_SUPERBLOCK_LOG2,
                                             .task = TASK_SUPERBLOCKS,
                                             .band = l->across,
                                             .band_size = wcodec_lossy_band_size(l),
                                             .reconstruct = reconstruct_superblocks};
    const struct wcodec_units elements = {
        .log2 = 0, .task = TASK_ELEMENTS, .band = 1, .band_size = (uint64_t)1 << l->element_log2, .reconstruct = reconstruct_elements};
    return wcodec_decoder_range_units(d, l->plain ? &elements : &superblocks, begin, end, dst, reporter, err);
}
