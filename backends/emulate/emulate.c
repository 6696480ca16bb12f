/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/emulate/emulate.h"

#include "backends/kernels/few_step.h"
#include "backends/kernels/fused.h"
#include "backends/kernels/lossy.h"
#include "backends/kernels/tile.h"

uint32_t wcodec_emulate_tile(const struct wcodec_tile_job *job, const uint8_t *block)
{
    struct wcodec_tile_work work;
    return wcodec_decode_tile(&work, job, (uint64_t)(uintptr_t)block);
}

struct few {
    const uint32_t *entries; /* of the table */
    const uint16_t *words;
    struct wcodec_few_step *steps;
    uint32_t x[32];
    uint32_t count,
        at; /* words, and those that are taken; no more than two behind them all are told apart */
    bool p8;
};

static uint32_t few_entry(const struct few *f, uint32_t bits)
{
    return f->p8 ? wcodec_p8_entry(f->entries[bits & 0xff], 0) : f->entries[bits & 0xfff];
}

static void few_expand(struct few *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const uint32_t e = few_entry(f, f->words[i]);
        f->steps[i] = f->p8 ? wcodec_few_first(f->words[i], e) : wcodec_few_pair(f->words[i], e);
        if (f->p8)
            f->steps[i] = wcodec_few_second(f->steps[i], few_entry(f, f->steps[i].plus));
    }
    for (uint32_t i = 0; i < WCODEC_FEW_SPARE; i++)
        f->steps[f->count + i] = (struct wcodec_few_step){0xa5a5a5a5u, 0x5a5a5a5au, 0xffffffffu};
}

static uint32_t few_look(const struct few *f, uint32_t *x)
{
    const uint32_t e = few_entry(f, *x);
    if (!f->p8) {
        *x = wcodec_entry_step(*x, e, 12);
        return e;
    }
    *x = wcodec_p8_step(*x, e);
    const uint32_t second = few_entry(f, *x);
    *x = wcodec_p8_step(*x, second);
    return wcodec_few_symbols(e, second);
}

static void few_take(struct few *f, uint32_t words)
{
    f->at = f->at + words < f->count + 1 ? f->at + words : f->count + 1;
}

uint32_t wcodec_emulate_few(const struct wcodec_tile_job *job, const struct wcodec_table_set *set,
                            bool p8, struct wcodec_few_step *steps, uint32_t *decoded)
{
    struct few f = {.entries = (const uint32_t *)(const void *)(set + 1),
                    .words = (const uint16_t *)(uintptr_t)job->words,
                    .steps = steps,
                    .count = job->word_count,
                    .p8 = p8};
    const uint32_t rounds = 2 * ((job->elements + 127) / 128);
    bool low_start = false, bad_end = false;
    few_expand(&f);
    for (uint32_t lane = 0; lane < 32; lane++) {
        f.x[lane] = ((const uint32_t *)(uintptr_t)job->states)[lane];
        low_start |= f.x[lane] < WCODEC_STATE_LOW;
        decoded[lane] = few_look(&f, &f.x[lane]);
    }
    for (uint32_t round = 1; round < rounds; round++) {
        uint32_t rank = 0;
        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t *x = &f.x[lane];
            if (*x >= WCODEC_STATE_LOW) {
                decoded[round * 32 + lane] = few_look(&f, x);
                continue;
            }
            const struct wcodec_few_step *step = &f.steps[f.at + rank++];
            *x = step->factor * *x + step->plus;
            decoded[round * 32 + lane] = step->entry;
        }
        few_take(&f, rank);
    }
    uint32_t rank = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t *x = &f.x[lane];
        if (*x < WCODEC_STATE_LOW) {
            *x = *x << 16 | (f.at + rank < f.count ? f.words[f.at + rank] : 0u);
            rank++;
        }
        bad_end |= *x >> 16 != 1;
    }
    f.at += rank;
    return low_start ? 1 : f.at != f.count ? 2 : bad_end ? 3 : 0;
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

uint32_t wcodec_emulate_fused(const struct wcodec_tile_job *job, const struct wcodec_table_set *set,
                              const uint8_t *residuals)
{
    const struct wcodec_blocks_job *blocks = (const struct wcodec_blocks_job *)(uintptr_t)job->out;
    struct wcodec_blocks_work work;
    struct wcodec_stage stage;
    struct wcodec_fused_outliers o;
    uint64_t sums[32] = {0};
    uint32_t check = 0;
    wcodec_blocks_open(&work, blocks, &stage);
    wcodec_fused_begin(&work, &stage, job, set, &o);
    for (uint32_t first = 0, end; first < job->elements; first = end) {
        end = first + WCODEC_UNIT_ELEMENTS < job->elements ? first + WCODEC_UNIT_ELEMENTS
                                                           : job->elements;
        for (uint32_t i = first; i < end; i += 4) {
            uint32_t word;
            memcpy(&word, residuals + i, 4);
            stage.word[wcodec_stage_place((i - first) / 4)] = word;
        }
        wcodec_fused_patch(&work, &stage, job, set, first, end, &o);
        wcodec_fused_check(&work, first / 128, end / 128, sums);
        wcodec_fused_unit(&work, first / 256);
    }
    for (uint32_t lane = 0; lane < 32; lane++)
        check += wcodec_check_share(sums[lane], lane);
    return o.done != job->outliers ? 4 : job->slot >> 31 && check != job->check ? 5 : 0;
}
