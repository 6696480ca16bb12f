/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Units of blocks: what their modes ask for is done in the stage (stage.h), and then, or on the
 * way, they go to their places. */
#ifndef WCODEC_KERNELS_BLOCKS_H
#define WCODEC_KERNELS_BLOCKS_H

#include "backends/kernels/stage.h"

/* Where a block begins: elements from the tensor's first. */
struct wcodec_block_position {
    uint64_t at;
    uint32_t width;
    bool exists;
};

WCODEC_DEVICE_FUNCTION void wcodec_block_find(const struct wcodec_blocks_work *w, uint32_t number,
                                              struct wcodec_block_position *place)
{
    const WCODEC_GLOBAL struct wcodec_blocks_job *job = w->stage->job;
    const WCODEC_GLOBAL struct wcodec_view_job *v = w->stage->view;
    const uint32_t along = job->column + number, column = along % v->across * 16;
    place->exists = number < job->blocks;
    place->at = (job->row + along / v->across) * 16 * v->columns + column;
    place->width = v->columns - column < 16 ? v->columns - column : 16;
}

/* Blocks [number, number + count) of a tile. */
WCODEC_DEVICE_FUNCTION void wcodec_unit_find(struct wcodec_blocks_work *w, uint32_t number,
                                             uint32_t count, struct wcodec_unit_position *place)
{
    const WCODEC_GLOBAL struct wcodec_blocks_job *job = w->stage->job;
    const WCODEC_GLOBAL struct wcodec_view_job *v = w->stage->view;
    const uint32_t across = v->across, along = job->column + number, rows = along / across,
                   column = along - rows * across;
    const uint64_t band = 16 * (uint64_t)v->columns, row = job->row + rows,
                   at = row * band + column * 16;
    place->across = across;
    place->column = column;
    place->stride = v->columns << w->wide;
    place->left = job->blocks - number;
    const uint64_t out = v->out + ((at - v->begin) << w->wide);
    WCODEC_BIND(w, out, v->out);
    place->out = WCODEC_AT_OUT(w, uint8_t, out);
    place->regular = across >= 32u >> w->words_log2 && v->columns % 16 == 0 &&
                     (out | place->stride) % 16 == 0 && at >= v->begin &&
                     (row + 1 + (column + count - 1) / across) * band <= v->end;
    place->mode = v->index_bits == 0 ? v->mode[0] : WCODEC_MODE_MIXED;
}

/* Of a block of a regular unit. */
WCODEC_DEVICE_FUNCTION WCODEC_GLOBAL uint8_t *
wcodec_unit_block(const struct wcodec_blocks_work *w, const struct wcodec_unit_position *place,
                  uint32_t block)
{
    return place->out + (block << (4 + w->wide)) +
           (place->column + block >= place->across ? 15 * (uint64_t)place->stride : 0);
}

/* Rows of a block of a regular unit, straight to where they belong; with `sums` of their elements.
 * A lane has rows of one block, so that blocks side by side are stored together. */
WCODEC_DEVICE_FUNCTION void wcodec_store_rows(const struct wcodec_blocks_work *w,
                                              const struct wcodec_unit_position *place,
                                              uint32_t block, uint32_t first, bool sums)
{
    const uint32_t log2 = w->words_log2;
    const WCODEC_LOCAL uint32_t *word = w->stage->word + wcodec_stage_index(block << (log2 + 4));
    WCODEC_GLOBAL uint8_t *to =
        wcodec_unit_block(w, place, block) + first * (uint64_t)place->stride;
    WCODEC_UNROLL_ALL
    for (uint32_t two = 0; two < 2; two++) {
        uint32_t v[8], before = 0; /* two rows or a wide one, taken before any is stored, so that
                                      they are waited for together */
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t row = first + 8 * two + (w->wide ? 0 : 4 * i);
            WCODEC_TAKE_16(v + 4 * i,
                           word + (row << log2) + wcodec_row_gap(w, row) + (w->wide ? 4 * i : 0));
        }
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t *own = v + 4 * i;
            if (sums)
                before = wcodec_sum_words(w->wide, v + 4 * i, w->wide ? before : 0);
            WCODEC_PUT_16(to, own[0], own[1], own[2], own[3]);
            to += w->wide && i == 0 ? 16
                  : w->wide         ? 8 * (uint64_t)place->stride - 16
                                    : 4 * (uint64_t)place->stride;
        }
    }
}

/* The same by columns of words, with sums along them. */
WCODEC_DEVICE_FUNCTION void wcodec_store_columns(const struct wcodec_blocks_work *w,
                                                 const struct wcodec_unit_position *place,
                                                 uint32_t lane)
{
    const uint32_t log2 = w->words_log2, column = lane & ((1u << log2) - 1), block = lane >> log2;
    const WCODEC_LOCAL uint32_t *word =
        w->stage->word + wcodec_stage_index(block << (log2 + 4)) + column;
    WCODEC_GLOBAL uint8_t *to = wcodec_unit_block(w, place, block) + 4 * column;
    const uint32_t low = w->wide ? 0x0000ffffu : 0x00ff00ffu;
    uint32_t all = 0, even = 0; /* elements' sums with what they carry over, and those of even ones,
                                   which leave their halves of a word only as wide ones */
    WCODEC_UNROLL_NONE
    for (uint32_t row = 0; row < 16; row += 4) {
        uint32_t v[4]; /* before any is stored, so that they are waited for together */
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            v[i] = word[(i << log2)];
        word += (4 << log2) + (w->wide && row == 4 ? 4 : 0);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            all += v[i];
            even += v[i] & low;
            WCODEC_PUT_4(to, w->wide ? wcodec_bytes(even, all - even, 0x7610)
                                     : wcodec_bytes(even, all - even, 0x7250));
            to += place->stride;
        }
    }
}

/* Words of a column, one a row, to where they belong; sums along the column are made on the way. */
WCODEC_DEVICE_FUNCTION void wcodec_store_column(const struct wcodec_blocks_work *w, uint32_t lane,
                                                const struct wcodec_block_position *place)
{
    const WCODEC_GLOBAL struct wcodec_view_job *v = w->stage->view;
    const uint32_t log2 = w->words_log2, column = lane & ((1u << log2) - 1), block = lane >> log2,
                   mode = w->stage->mode[block], bytes_log2 = w->wide;
    const WCODEC_LOCAL uint32_t *word =
        w->stage->word + wcodec_stage_index(block << (log2 + 4)) + column;
    const uint64_t out = v->out + ((place->at - v->begin) << bytes_log2) + 4 * column,
                   stride = (uint64_t)v->columns << bytes_log2;
    const uint32_t keep = wcodec_mode_sums_columns(mode) ? ~0u : 0;
    uint32_t sum = 0;
    if (place->width == 16 && place->at >= v->begin &&
        place->at + 15 * (uint64_t)v->columns + 16 <= v->end && (out | stride) % 4 == 0) {
        WCODEC_GLOBAL uint8_t *to = WCODEC_AT_OUT(w, uint8_t, out);
        WCODEC_UNROLL_SOME
        for (uint32_t row = 0; row < 16; row++) {
            sum =
                wcodec_add_words(w->wide, word[(row << log2) + wcodec_row_gap(w, row)], sum & keep);
            *(WCODEC_GLOBAL uint32_t *)to = sum;
            to += stride;
        }
        return;
    }
    const uint32_t count = w->wide ? 2 : 4, first = column * count;
    for (uint32_t row = 0; row < 16; row++) {
        sum = wcodec_add_words(w->wide, word[(row << log2) + wcodec_row_gap(w, row)], sum & keep);
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t at = place->at + row * (uint64_t)v->columns + first + i;
            if (first + i >= place->width || at < v->begin || at >= v->end)
                continue;
            if (w->wide)
                *WCODEC_AT_OUT(w, uint16_t, out + row * stride + 2 * i) = (uint16_t)(sum >> 16 * i);
            else
                *WCODEC_AT_OUT(w, uint8_t, out + row * stride + i) = (uint8_t)(sum >> 8 * i);
        }
    }
}

/* Mode of a block of the job's tiles; 0 behind the last. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_block_mode(const struct wcodec_blocks_work *w,
                                                  uint32_t number)
{
    const WCODEC_GLOBAL struct wcodec_blocks_job *job = w->stage->job;
    const uint32_t bits = w->stage->view->index_bits;
    if (number >= job->blocks)
        return 0;
    if (bits == 0)
        return w->stage->view->mode[0];
    const uint64_t bit = (job->first + number) * bits;
    return w->stage->view
        ->mode[WCODEC_AT(w, block, uint8_t, w->stage->view->modes)[bit / 8] >> bit % 8 &
               ((1u << bits) - 1)];
}

/* The unit's residuals are in the stage, those of its first block are of block `number` of the
 * tile. All lanes have stored theirs, in any order; when this returns the stage may be written
 * again behind WCODEC_LOCAL_ORDER(). transforms: can there be any? */
WCODEC_DEVICE_FUNCTION void wcodec_unit_reconstruct(struct wcodec_blocks_work *w, uint32_t number,
                                                    const struct wcodec_unit_position *place,
                                                    const bool transforms)
{
    struct wcodec_blocks_lane lanes[WCODEC_LANES_OF];
    uint32_t rows, columns, differential, average, paeth, transformed = 0;
    const uint32_t blocks = 32u >> w->words_log2, all = (1u << blocks) - 1, mode = place->mode;
    WCODEC_EACH_LANE
    {
        if (lane < blocks)
            w->stage->mode[lane] =
                mode == WCODEC_MODE_MIXED ? wcodec_block_mode(w, number + lane) : mode;
    }
    WCODEC_LOCAL_ORDER();
    if (mode != WCODEC_MODE_MIXED) {
        rows = wcodec_mode_sums_rows(mode) ? all : 0;
        columns = wcodec_mode_sums_columns(mode) ? all : 0;
        differential = mode & 8;
        average = (mode & 7) == WCODEC_MODE_AVERAGE;
        paeth = (mode & 7) == WCODEC_MODE_PAETH;
        transformed = (mode & 7) == WCODEC_MODE_WHT;
    } else {
        WCODEC_BALLOT(rows, lane < blocks && wcodec_mode_sums_rows(w->stage->mode[lane % blocks]));
        WCODEC_BALLOT(columns,
                      lane < blocks && wcodec_mode_sums_columns(w->stage->mode[lane % blocks]));
        WCODEC_BALLOT(differential, lane < blocks && (w->stage->mode[lane % blocks] & 8));
        WCODEC_BALLOT(average,
                      lane < blocks && (w->stage->mode[lane % blocks] & 7) == WCODEC_MODE_AVERAGE);
        WCODEC_BALLOT(paeth,
                      lane < blocks && (w->stage->mode[lane % blocks] & 7) == WCODEC_MODE_PAETH);
        WCODEC_BALLOT(transformed,
                      lane < blocks && (w->stage->mode[lane % blocks] & 7) == WCODEC_MODE_WHT);
    }
    /* Sums along rows that are all there is to do are made on the way. */
    const bool late = place->regular && !(columns | differential | average | paeth | transformed);
    if (!late && (rows | differential))
        wcodec_unit_rows(w, lanes, !differential && rows == all, differential != 0);
    if (average)
        wcodec_unit_in_order(w, lanes, false);
    if (paeth)
        wcodec_unit_in_order(w, lanes, true);
    if (transforms && transformed)
        wcodec_unit_transform(w, lanes);
    WCODEC_EACH_LANE
    {
        const uint32_t block = lane & (blocks - 1), left = place->left;
        if (!place->regular || (columns && columns != all)) {
            struct wcodec_block_position own;
            WCODEC_BIND(w, out, w->stage->view->out);
            wcodec_block_find(w, number + (lane >> w->words_log2), &own);
            if (own.exists)
                wcodec_store_column(w, lane, &own);
        } else if (columns) {
            if (lane >> w->words_log2 < left)
                wcodec_store_columns(w, place, lane);
        } else if (block < left) {
            wcodec_store_rows(w, place, block, lane / blocks,
                              late && wcodec_mode_sums_rows(w->stage->mode[block]));
        }
    }
}

/* Unit `unit` of a tile whose residuals are in memory. */
WCODEC_DEVICE_FUNCTION void wcodec_blocks_unit(struct wcodec_blocks_work *w,
                                               const WCODEC_GLOBAL struct wcodec_blocks_job *job,
                                               uint32_t unit)
{
    const uint32_t words_left = (job->blocks << (6 + w->wide)) - unit * WCODEC_UNIT_WORDS,
                   words = words_left < WCODEC_UNIT_WORDS ? words_left : WCODEC_UNIT_WORDS;
    const WCODEC_GLOBAL uint32_t *from =
        WCODEC_AT(w, raw, uint32_t, job->residuals) + unit * WCODEC_UNIT_WORDS;
    WCODEC_LOCAL_ORDER(); /* the unit before was stored */
    WCODEC_EACH_LANE
    {
        if (words == WCODEC_UNIT_WORDS) {
            uint32_t v[16];
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < 4; i++)
                WCODEC_LOAD_16(v + 4 * i, from + (32 * i + lane) * 4);
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < 4; i++)
                WCODEC_KEEP_16(w->stage->word + wcodec_stage_index((32 * i + lane) * 4), v + 4 * i);
        } else {
            for (uint32_t i = lane; i < words; i += 32)
                w->stage->word[wcodec_stage_index(i)] = from[i];
        }
    }
    const uint32_t log2 = 5 - w->words_log2, number = unit << log2, left = job->blocks - number;
    struct wcodec_unit_position place;
    wcodec_unit_find(w, number, left < 1u << log2 ? left : 1u << log2, &place);
    wcodec_unit_reconstruct(w, number, &place, true);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_blocks_units(
    const struct wcodec_blocks_work *w, const WCODEC_GLOBAL struct wcodec_blocks_job *job)
{
    return ((job->blocks << (6 + w->wide)) + WCODEC_UNIT_WORDS - 1) / WCODEC_UNIT_WORDS;
}

/* w: room, in OpenCL bound to buffers: block, and raw for the residuals. */
WCODEC_DEVICE_FUNCTION void wcodec_blocks_open(struct wcodec_blocks_work *w,
                                               const WCODEC_GLOBAL struct wcodec_blocks_job *job,
                                               WCODEC_LOCAL struct wcodec_stage *stage)
{
    const WCODEC_GLOBAL struct wcodec_view_job *view =
        WCODEC_AT(w, block, struct wcodec_view_job, job->view);
    w->stage = stage;
    w->wide = view->wide;
    w->words_log2 = 2 + w->wide;
    WCODEC_EACH_LANE
    {
        if (lane == 0) {
            stage->job = job;
            stage->view = view;
        }
    }
    WCODEC_LOCAL_ORDER();
}

#endif
