/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/common/emulate.h"

#include "backends/common/fused.h"
#include "backends/common/lossy.h"
#include "backends/common/tile.h"

uint32_t wcodec_emulate_tile(const struct wcodec_tile_job *job, const uint8_t *block)
{
    struct wcodec_tile_work work;
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

uint32_t wcodec_emulate_fused(const struct wcodec_tile_job *job, const struct wcodec_table_set *set, const uint8_t *residuals)
{
    const struct wcodec_blocks_job *blocks = (const struct wcodec_blocks_job *)(uintptr_t)job->out;
    struct wcodec_blocks_work work;
    struct wcodec_stage stage;
    uint64_t sums[32] = {0};
    uint32_t check = 0;
    wcodec_blocks_open(&work, blocks, &stage);
    struct wcodec_fused_outliers o = {0, wcodec_fused_position(&work, job, 0)};
    wcodec_fused_place(&work, blocks);
    for (uint32_t first = 0, end; first < job->elements; first = end) {
        end = first + WCODEC_UNIT_ELEMENTS < job->elements ? first + WCODEC_UNIT_ELEMENTS : job->elements;
        for (uint32_t i = first; i < end; i += 4) {
            uint32_t word;
            memcpy(&word, residuals + i, 4);
            stage.word[wcodec_stage_place((i - first) / 4)] = word;
            sums[i % 128 / 4] += (uint64_t)word * wcodec_check_factor(i / 128);
        }
        wcodec_fused_patch(&work, job, set, first, end, &o, sums);
        wcodec_fused_unit(&work, blocks, first / 256);
    }
    for (uint32_t lane = 0; lane < 32; lane++)
        check += wcodec_check_share(sums[lane], lane);
    return o.done != job->outliers ? 4 : job->slot >> 31 && check != job->check ? 5 : 0;
}
