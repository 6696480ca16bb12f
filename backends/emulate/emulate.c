/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/emulate/emulate.h"

#include "backends/kernels/blocks.h"
#include "backends/kernels/lossy.h"
#include "backends/kernels/tile.h"

uint32_t wcodec_emulate_tile(const struct wcodec_tile_job *job, const uint8_t *block)
{
    struct wcodec_tile_work work;
    work.base = 0;
    return wcodec_decode_tile(&work, job, (uint64_t)(uintptr_t)block);
}

void wcodec_emulate_blocks(const struct wcodec_blocks_job *job)
{
    struct wcodec_blocks_work work;
    struct wcodec_stage stage;
    wcodec_blocks_open(&work, job, &stage);
    for (uint32_t unit = 0; unit < wcodec_blocks_units(&work, job); unit++)
        wcodec_blocks_unit(&work, job, unit);
}

void wcodec_emulate_lossy(const struct wcodec_blocks_job *job)
{
    struct wcodec_lossy_work work;
    wcodec_lossy_open(&work, job);
    for (uint32_t unit = 0; unit < wcodec_lossy_units(&work, job); unit++)
        wcodec_lossy_unit(&work, job, unit);
}
