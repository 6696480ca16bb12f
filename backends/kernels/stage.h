/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Blocks of 16 x 16 elements from their residuals (doc/format.md 4), as lib/coding/predict.c makes
 * them, by 32 lanes. They work on a *unit* at a time: 2048 bytes of residuals, which are eight
 * blocks of bytes or four of 16-bit elements that follow each other, in memory that the lanes share
 * (the *stage*). There a row of a block is four or eight words. What is along rows is done by a
 * lane a row, what is along columns by a lane a column of words; predictors that look both ways go
 * through the rows one behind the other, each lane a row behind its left neighbour.
 *
 * Modes are validated by the host. Residuals may be anything: nothing is addressed by them. */
#ifndef WCODEC_KERNELS_STAGE_H
#define WCODEC_KERNELS_STAGE_H

#include "backends/kernels/jobs.h"

/* Words of a unit, with four more behind each 64, so that lanes of different blocks find their
 * words in different banks. */
enum { WCODEC_UNIT_WORDS = 512, WCODEC_STAGE_WORDS = 544, WCODEC_UNIT_BLOCKS = 8 };

enum {
    WCODEC_MODE_LEFT = 1,
    WCODEC_MODE_TOP = 2,
    WCODEC_MODE_AVERAGE = 3,
    WCODEC_MODE_PLANAR = 4,
    WCODEC_MODE_PAETH = 5,
    WCODEC_MODE_WHT = 6,
    WCODEC_MODE_MIXED = 256
};

/* Where a unit begins. */
struct WCODEC_ALIGNED_16 wcodec_unit_position {
    WCODEC_GLOBAL uint8_t *out;
    uint32_t stride; /* bytes from row to row */
    uint32_t left;   /* blocks of the tile from this unit on */
    uint32_t column; /* of the first block, in blocks */
    uint32_t across;
    uint32_t regular; /* are all blocks wanted as a whole, with rows that begin at multiples of 16
                         bytes, and a unit's in two rows of blocks at most? */
    uint32_t mode;    /* of all blocks, or WCODEC_MODE_MIXED */
};

struct WCODEC_ALIGNED_16 wcodec_stage {
    uint32_t word[WCODEC_STAGE_WORDS];
    uint32_t mode[WCODEC_UNIT_BLOCKS];
    /* The tile: read where it is needed, since few units need it. */
    const WCODEC_GLOBAL struct wcodec_blocks_job *job;
    const WCODEC_GLOBAL struct wcodec_view_job *view;
    struct wcodec_unit_position place; /* while units of a tile follow each other */
};

/* What all lanes share. */
struct wcodec_blocks_work {
    WCODEC_WARP_MEMBER
    WCODEC_LOCAL struct wcodec_stage *stage;
    uint32_t wide;       /* 16-bit elements? */
    uint32_t words_log2; /* words of a row of a block: 2 or 3 */
};

/* What a lane has for itself between one step of the lanes and the next. */
struct wcodec_blocks_lane {
    uint32_t sums[4];   /* what comes before a row in its block */
    uint32_t top;       /* the word above */
    uint32_t corner;    /* the element left of that */
    uint32_t square[8]; /* words of 16 elements */
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_stage_index(uint32_t word)
{
    return word + (word >> 6) * 4;
}

/* What comes between a row of a block and its first one besides the words of other rows. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_row_gap(const struct wcodec_blocks_work *w, uint32_t row)
{
    return w->wide ? row / 8 * 4 : 0;
}

/* Does a mode of a block want sums along rows, sums along columns, or all in order? */
WCODEC_DEVICE_FUNCTION bool wcodec_mode_sums_rows(uint32_t mode)
{
    return (mode & 7) == WCODEC_MODE_LEFT || (mode & 7) == WCODEC_MODE_PLANAR;
}

WCODEC_DEVICE_FUNCTION bool wcodec_mode_sums_columns(uint32_t mode)
{
    return (mode & 7) == WCODEC_MODE_TOP || (mode & 7) == WCODEC_MODE_PLANAR;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_last_of_word(uint32_t wide, uint32_t v)
{
    return v >> (wide ? 16 : 24);
}

/* Sums of elements, each by itself. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_words(uint32_t wide, uint32_t a, uint32_t b)
{
    const uint32_t tops = wide ? 0x80008000u : 0x80808080u;
    return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

/* Running sums of four words' elements. before: what this gave for the words before, or 0. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_sum_words(uint32_t wide, uint32_t *v, uint32_t before)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        if (wide) {
            const uint32_t first = v[i] + before;
            before = (v[i] >> 16) + first;
            v[i] = wcodec_bytes(first, before, 0x5410);
        } else {
            /* Even and odd bytes apart, in halves of a word that no sum of a row leaves: in `sums`
             * those up to the odd bytes. */
            const uint32_t even = v[i] & 0x00ff00ffu, odd = wcodec_bytes(v[i], 0, 0x4341),
                           sums = (even + odd) * 0x00010001u + before;
            v[i] = wcodec_bytes(sums - odd, sums, 0x6240);
            before = wcodec_bytes(sums, 0, 0x3232);
        }
    }
    return before;
}

/* A row, of which `word` is the first. */
WCODEC_DEVICE_FUNCTION void wcodec_sum_row(const struct wcodec_blocks_work *w,
                                           WCODEC_LOCAL uint32_t *word)
{
    uint32_t v[4], before = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 1u << w->words_log2; i += 4) {
        WCODEC_TAKE_16(v, word + i);
        before = wcodec_sum_words(w->wide, v, before);
        WCODEC_KEEP_16(word + i, v);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_add_to_row(const struct wcodec_blocks_work *w, uint32_t row,
                                              uint32_t value)
{
    WCODEC_LOCAL uint32_t *word = w->stage->word + wcodec_stage_index(row << w->words_log2);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 1u << w->words_log2; i++)
        word[i] = wcodec_add_words(w->wide, word[i], value * (w->wide ? 0x00010001u : 0x01010101u));
}

/* Sums along rows of blocks, or where there is a differential pass first of whole blocks in the
 * order of their elements. A lane has a row of each 32. all: of all blocks, and no more. */
WCODEC_DEVICE_FUNCTION void wcodec_unit_rows(struct wcodec_blocks_work *w,
                                             struct wcodec_blocks_lane *lanes, bool all,
                                             bool differential)
{
    const uint32_t rounds = w->wide ? 2 : 4, last = (1u << w->words_log2) - 1,
                   step = wcodec_stage_index(32u << w->words_log2);
    WCODEC_EACH_LANE
    {
        WCODEC_LOCAL uint32_t *word = w->stage->word + wcodec_stage_index(lane << w->words_log2);
        if (all && !w->wide) {
            WCODEC_UNROLL_ALL
            for (uint32_t two = 0; two < 2; two++, word += 2 * step) {
                uint32_t v[8]; /* two rows, which are waited for together */
                WCODEC_TAKE_16(v, word);
                WCODEC_TAKE_16(v + 4, word + step);
                wcodec_sum_words(false, v, 0);
                wcodec_sum_words(false, v + 4, 0);
                WCODEC_KEEP_16(word, v);
                WCODEC_KEEP_16(word + step, v + 4);
            }
        } else {
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < rounds; i++) {
                const uint32_t mode = all ? 8 : w->stage->mode[(32 * i + lane) / 16];
                if (mode & 8 || wcodec_mode_sums_rows(mode))
                    wcodec_sum_row(w, word + i * step);
            }
        }
    }
    WCODEC_LOCAL_ORDER();
    if (!differential)
        return;
    WCODEC_EACH_LANE
    {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < rounds; i++) {
            uint32_t sum = 0;
            const uint32_t row = 32 * i + lane;
            for (uint32_t above = row & ~15u; above < row; above++) /* seven, on average */
                sum += wcodec_last_of_word(
                    w->wide, w->stage->word[wcodec_stage_index((above << w->words_log2) + last)]);
            lanes[WCODEC_SELF].sums[i] = sum & (w->wide ? 0xffffu : 0xffu);
        }
    }
    WCODEC_LOCAL_ORDER();
    WCODEC_EACH_LANE
    {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < rounds; i++) {
            const uint32_t row = 32 * i + lane, mode = w->stage->mode[row / 16];
            if (!(mode & 8))
                continue;
            wcodec_add_to_row(w, row, lanes[WCODEC_SELF].sums[i]);
            if (wcodec_mode_sums_rows(mode))
                wcodec_sum_row(w, w->stage->word + wcodec_stage_index(row << w->words_log2));
        }
    }
    WCODEC_LOCAL_ORDER();
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_magnitude(int32_t v)
{
    return v < 0 ? 0u - (uint32_t)v : (uint32_t)v;
}

/* What average and Paeth predict; of all numbers the bits of an element count, not those above. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_predict_average(uint32_t wide, uint32_t left, uint32_t top)
{
    return top + (uint32_t)(WCODEC_SIGNED(wide, left - top) >> 1);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_predict_paeth(uint32_t wide, uint32_t left, uint32_t top,
                                                     uint32_t corner)
{
    const int32_t a = WCODEC_SIGNED(wide, top - corner), b = WCODEC_SIGNED(wide, left - corner);
    const uint32_t to_left = wcodec_magnitude(a), to_top = wcodec_magnitude(b),
                   to_corner = wcodec_magnitude(a + b);
    return to_left <= to_top && to_left <= to_corner ? left : to_top <= to_corner ? top : corner;
}

/* The elements of a word from their residuals, with what is left of it, above and at the corner. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ordered_word(uint32_t wide, const bool paeth,
                                                    uint32_t residuals, uint32_t left,
                                                    uint32_t top_word, uint32_t corner)
{
    const uint32_t bits = wide ? 16 : 8;
    uint32_t e[4];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 32 / bits; i++) {
        const uint32_t top = top_word >> i * bits;
        left = (residuals >> i * bits) + (paeth ? wcodec_predict_paeth(wide, left, top, corner)
                                                : wcodec_predict_average(wide, left, top));
        corner = top;
        e[i] = left;
    }
    return wide ? wcodec_bytes(e[0], e[1], 0x5410)
                : wcodec_bytes(wcodec_bytes(e[0], e[1], 0x0040), wcodec_bytes(e[2], e[3], 0x0040),
                               0x5410);
}

/* Blocks of average, or of Paeth. A lane has a column of words; at step t it is at row t less its
 * number in the block, so that what is left of it was done at the step before. */
WCODEC_DEVICE_FUNCTION void wcodec_unit_in_order(struct wcodec_blocks_work *w,
                                                 struct wcodec_blocks_lane *lanes, const bool paeth)
{
    const uint32_t log2 = w->words_log2, columns = 1u << log2;
    WCODEC_EACH_LANE
    {
        lanes[WCODEC_SELF].top = 0;
        lanes[WCODEC_SELF].corner = 0;
    }
    for (uint32_t step = 0; step < 15 + columns; step++) {
        WCODEC_EACH_LANE
        {
            const uint32_t column = lane & (columns - 1), block = lane >> log2, row = step - column;
            if (row < 16 &&
                (w->stage->mode[block] & 7) == (paeth ? WCODEC_MODE_PAETH : WCODEC_MODE_AVERAGE)) {
                struct wcodec_blocks_lane *l = &lanes[WCODEC_SELF];
                WCODEC_LOCAL uint32_t *word =
                    w->stage->word + wcodec_stage_index((block * 16 + row) << log2) + column;
                const uint32_t left = column ? wcodec_last_of_word(w->wide, word[-1]) : 0;
                l->top = wcodec_ordered_word(w->wide, paeth, *word, left, l->top, l->corner);
                l->corner = left;
                *word = l->top;
            }
        }
        WCODEC_LOCAL_ORDER();
    }
}

/* The inverse transform's lifting: elements modulo 2^16, right in their lower byte where that is
 * all; `shift` is 16 less their bits. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_half(uint32_t v, uint32_t shift)
{
    return (uint32_t)((int32_t)(v << (16 + shift)) >> (17 + shift));
}

WCODEC_DEVICE_FUNCTION void wcodec_restore_four(uint32_t *x, const uint32_t step, uint32_t shift)
{
    const uint32_t m = x[0] - wcodec_half(x[step], shift), n = m + x[step],
                   a = x[2 * step] - wcodec_half(x[3 * step], shift), b = a + x[3 * step];
    x[0] = m - wcodec_half(a, shift);
    x[step] = x[0] + a;
    x[2 * step] = n - wcodec_half(b, shift);
    x[3 * step] = x[2 * step] + b;
}

WCODEC_DEVICE_FUNCTION void wcodec_restore_square(uint32_t *x, uint32_t shift)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_restore_four(x + i, 4, shift);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_restore_four(x + 4 * i, 1, shift);
}

/* Element `i` of a block of the unit. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_stage_element(const struct wcodec_blocks_work *w,
                                                     uint32_t block, uint32_t i)
{
    const WCODEC_LOCAL uint32_t *word =
        w->stage->word + wcodec_stage_index(block << (w->words_log2 + 4));
    return w->wide ? ((const WCODEC_LOCAL uint16_t *)word)[i + (i >> 7) * 8]
                   : ((const WCODEC_LOCAL uint8_t *)word)[i];
}

WCODEC_DEVICE_FUNCTION void wcodec_stage_put(const struct wcodec_blocks_work *w, uint32_t block,
                                             uint32_t i, uint32_t value)
{
    WCODEC_LOCAL uint32_t *word = w->stage->word + wcodec_stage_index(block << (w->words_log2 + 4));
    if (w->wide)
        ((WCODEC_LOCAL uint16_t *)word)[i + (i >> 7) * 8] = (uint16_t)value;
    else
        ((WCODEC_LOCAL uint8_t *)word)[i] = (uint8_t)value;
}

/* Means of the sub-blocks, which were transformed themselves: a lane restores a column of a block's
 * square of them, then a row. */
WCODEC_DEVICE_FUNCTION void wcodec_unit_means(struct wcodec_blocks_work *w)
{
    const uint32_t shift = w->wide ? 0 : 8, blocks = 32u >> w->words_log2;
    for (uint32_t step = 4; step; step /= 4) {
        WCODEC_EACH_LANE
        {
            const uint32_t block = lane / 4, first = 128 + lane % 4 * (5 - step);
            if (block < blocks && (w->stage->mode[block] & 7) == WCODEC_MODE_WHT) {
                uint32_t x[4];
                WCODEC_UNROLL_ALL
                for (uint32_t i = 0; i < 4; i++)
                    x[i] = wcodec_stage_element(w, block, first + i * step);
                wcodec_restore_four(x, 1, shift);
                WCODEC_UNROLL_ALL
                for (uint32_t i = 0; i < 4; i++)
                    wcodec_stage_put(w, block, first + i * step, x[i]);
            }
        }
        WCODEC_LOCAL_ORDER();
    }
}

/* The square of a sub-block, as the words that its rows are. Row and column of band j are the two
 * digits of its place. */
WCODEC_DEVICE_FUNCTION void wcodec_restore_sub_block(const struct wcodec_blocks_work *w,
                                                     uint32_t block, uint32_t number,
                                                     uint32_t *words)
{
    const uint64_t rows = 0x3333210022211100u, columns = 0x3210333021021021u; /* a nibble a band */
    uint32_t x[16];
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < 16; j++)
        x[(rows >> 4 * j & 15) * 4 + (columns >> 4 * j & 15)] =
            wcodec_stage_element(w, block, 16 * j + number);
    wcodec_restore_square(x, w->wide ? 0 : 8);
    WCODEC_UNROLL_ALL
    for (uint32_t y = 0; y < 4; y++) {
        const uint32_t *row = x + 4 * y;
        if (w->wide) {
            words[2 * y] = wcodec_bytes(row[0], row[1], 0x5410);
            words[2 * y + 1] = wcodec_bytes(row[2], row[3], 0x5410);
        } else {
            words[y] = wcodec_bytes(wcodec_bytes(row[0], row[1], 0x0040),
                                    wcodec_bytes(row[2], row[3], 0x0040), 0x5410);
        }
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_put_square(const struct wcodec_blocks_work *w, uint32_t block,
                                              uint32_t number, const uint32_t *words)
{
    const uint32_t row = number / 4 * 4, column = number % 4;
    WCODEC_UNROLL_ALL
    for (uint32_t y = 0; y < 4; y++) {
        WCODEC_LOCAL uint32_t *word =
            w->stage->word + wcodec_stage_index((block * 16 + row + y) << w->words_log2);
        if (w->wide) {
            word[2 * column] = words[2 * y];
            word[2 * column + 1] = words[2 * y + 1];
        } else {
            word[column] = words[y];
        }
    }
}

/* Two blocks at a time, of which a lane has a sub-block of 4 x 4: all are read before any is
 * written. */
WCODEC_DEVICE_FUNCTION void wcodec_unit_transform(struct wcodec_blocks_work *w,
                                                  struct wcodec_blocks_lane *lanes)
{
    const uint32_t rounds = w->wide ? 2 : 4;
    wcodec_unit_means(w);
    for (uint32_t i = 0; i < rounds; i++) {
        WCODEC_EACH_LANE
        {
            const uint32_t block = 2 * i + lane / 16;
            if ((w->stage->mode[block] & 7) == WCODEC_MODE_WHT)
                wcodec_restore_sub_block(w, block, lane % 16, lanes[WCODEC_SELF].square);
        }
        WCODEC_LOCAL_ORDER();
        WCODEC_EACH_LANE
        {
            const uint32_t block = 2 * i + lane / 16;
            if ((w->stage->mode[block] & 7) == WCODEC_MODE_WHT)
                wcodec_put_square(w, block, lane % 16, lanes[WCODEC_SELF].square);
        }
        WCODEC_LOCAL_ORDER();
    }
}

#endif
