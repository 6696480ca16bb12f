/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The nearest anchors by tensor cores. Nearest is the anchor a for which x a - a^2 / 2 is largest:
 * sums begin with the second part, and products of F16 are added to them. What that may be wrong by
 * has a bound, and anchors that are within it of the largest are compared as vectors.h does it: of
 * a row whose anchor is certain nothing more is looked at. The bound goes by lengths, and so x and
 * a are less a row that is amidst all (`centre`), which changes no distance.
 *
 * A warp has 32 rows, and a lane of each group of four sees every fourth pair of columns: of what
 * it sees of a row it keeps the largest sum, where that was, and the second largest. So up to four
 * candidates are known by number. Where one more may be nearest all anchors are compared. */
#ifndef WCODEC_KERNELS_VECTORS_TENSOR_H
#define WCODEC_KERNELS_VECTORS_TENSOR_H

#include "backends/kernels/vectors.h"

#ifdef WCODEC_MATRIX_PRODUCTS
/* Numbers of an anchor that a stage has; columns are WCODEC_VECTORS_COLUMNS of backend.h. */
#define WCODEC_VECTORS_DEPTH 128
#define WCODEC_VECTORS_WIDTH 64

#define WCODEC_VECTORS_NONE 0xffffffffu

/* Rows that are compared with all anchors at once. */
#define WCODEC_VECTORS_TOGETHER 8

/* The length of what has this square, or somewhat more; squares are sums with errors. */
WCODEC_DEVICE_FUNCTION float wcodec_vectors_length(float square)
{
    return wcodec_square_root(square) * 1.001f;
}

/* A number less the centre's, as F16; larger ones are cut off, which lengths of the rest count. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_vectors_half(float x)
{
    const float most = 65504;
    return wcodec_to_f16(WCODEC_FLOAT_BITS(x > most ? most : x < -most ? -most : x));
}

/* Rows as F16, and what they are long: a row to a work-item. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_halves_kernel(const struct wcodec_vectors_item *w,
                                                         const struct wcodec_vectors_launch *l)
{
    const uint32_t row = w->group * w->items + w->item;
    WCODEC_GLOBAL uint32_t *to =
        (WCODEC_GLOBAL uint32_t *)(l->halves + (uint64_t)2 * row * l->pitch);
    float all = 0, rest = 0;
    if (row >= l->count)
        return;
    for (uint32_t at = 0; at < l->pitch; at += 8) {
        float x[8], centre[8];
        wcodec_vectors_load(l->format, l, row, at, x);
        WCODEC_LOAD_FLOATS(centre, wcodec_vectors_floats(l->centre) + at);
        WCODEC_LOAD_FLOATS(centre + 4, wcodec_vectors_floats(l->centre) + at + 4);
        for (uint32_t i = 0; i < 8; i += 2) {
            x[i] -= centre[i];
            x[i + 1] -= centre[i + 1];
            const uint32_t low = wcodec_vectors_half(x[i]), high = wcodec_vectors_half(x[i + 1]);
            const float a = wcodec_half_float(low), b = wcodec_half_float(high);
            all += a * a + b * b;
            rest += (x[i] - a) * (x[i] - a) + (x[i + 1] - b) * (x[i + 1] - b);
            if (l->halves != l->rows)
                to[(at + i) / 2] = high << 16 | low;
        }
    }
    wcodec_vectors_floats(l->norms)[row] = wcodec_vectors_length(all);
    wcodec_vectors_floats(l->norms)[(uint64_t)l->count + row] = wcodec_vectors_length(rest);
}

/* What F16 may lack of numbers that are small: half a unit of each, and more. */
WCODEC_DEVICE_FUNCTION float wcodec_vectors_least(const struct wcodec_vectors_launch *l)
{
    return wcodec_square_root((float)l->pitch) * (1 / 16777216.0f);
}

/* The part of an anchor that F16 lacks besides, by the squares of both; or somewhat more. */
WCODEC_DEVICE_FUNCTION float wcodec_vectors_part(const struct wcodec_vectors_launch *l, float all,
                                                 float rest)
{
    const float more = wcodec_vectors_length(rest) - wcodec_vectors_least(l);
    return more > 0 ? 1.01f * more / wcodec_vectors_length(all) : 0;
}

/* Anchors as operands: four work-items have one, and a work-group tells what the longest are. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_columns_kernel(struct wcodec_warp *warp,
                                                          const struct wcodec_vectors_item *w,
                                                          const struct wcodec_vectors_launch *l)
{
    const uint32_t column = w->group * (w->items / 4) + w->item / 4, q = w->item % 4,
                   chunks = l->pitch / 32;
    const bool there = column < l->anchor_count;
    const WCODEC_GLOBAL float *from =
        wcodec_vectors_floats(l->anchors) + (uint64_t)column * l->pitch + 8 * q;
    const WCODEC_GLOBAL float *centre = wcodec_vectors_floats(l->centre) + 8 * q;
    WCODEC_GROUP_LOCAL float *sums = (WCODEC_GROUP_LOCAL float *)w->shared;
    float own[3] = {0, 0, 0}; /* squares: of the anchor, as F16, of the rest */
    (void)warp;
    for (uint32_t c = 0; c < chunks; c++) {
        WCODEC_GLOBAL uint32_t *to =
            wcodec_vectors_words(l->columns) +
            4 * (((uint64_t)(column / 8) * chunks + c) * 32 + column % 8 * 4 + q);
        for (uint32_t i = 0; i < 8; i += 2) {
            const uint32_t at = 32 * c + i;
            const float x = there ? from[at] - centre[at] : 0,
                        y = there ? from[at + 1] - centre[at + 1] : 0;
            const uint32_t low = wcodec_vectors_half(x), high = wcodec_vectors_half(y);
            const float a = wcodec_half_float(low), b = wcodec_half_float(high);
            to[i / 2] = high << 16 | low;
            own[0] += x * x + y * y;
            own[1] += a * a + b * b;
            own[2] += (x - a) * (x - a) + (y - b) * (y - b);
        }
    }
    for (uint32_t i = 0; i < 3; i++)
        sums[i * w->items + w->item] = own[i];
    WCODEC_SYNC_ITEMS(warp);
    if (q == 0)
        for (uint32_t i = 0; i < 3; i++)
            own[i] = (sums[i * w->items + w->item] + sums[i * w->items + w->item + 1]) +
                     (sums[i * w->items + w->item + 2] + sums[i * w->items + w->item + 3]);
    if (q == 0)
        wcodec_vectors_floats(l->middle)[column] =
            there ? -0.5f * own[0] : -3e38f; /* less than any sum; no bits make it NaN */
    WCODEC_SYNC_ITEMS(warp);
    sums[w->item] = q == 0 ? own[1] : 0;
    sums[w->items + w->item] = q == 0 ? own[2] : 0;
    sums[2 * w->items + w->item] = q == 0 ? wcodec_vectors_part(l, own[0], own[2]) : 0;
    WCODEC_SYNC_ITEMS(warp);
    if (w->item >= 3)
        return;
    float most = 0;
    for (uint32_t i = 0; i < w->items; i += 4) {
        const float v = sums[w->item * w->items + i];
        most = v > most ? v : most;
    }
    wcodec_vectors_floats(l->bounds)[3 * w->group + w->item] =
        w->item < 2 ? wcodec_vectors_length(most) : most;
}

/* What a lane has seen of a row. The last four bits of sums say which of the 16 columns of a stage
 * that the lane has. */
struct wcodec_vectors_best {
    float most, second;
    uint32_t which; /* first column of the stage of `most` */
};

/* What a warp works with. */
struct wcodec_vectors_tile {
    uint32_t first;  /* row */
    uint32_t stage;  /* shared address of the first of two stages */
    uint32_t size;   /* bytes of each */
    uint32_t pieces; /* of an anchor, in stages of their own */
    uint32_t g, q;   /* the lane's row and place of eight, of four */
};

/* Operands of 32 numbers of the warp's rows: two steps of 16, with rows as mma.m16n8k16 has them;
 * a step takes eight numbers of a lane that follow each other, which columns have likewise. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_operands(const struct wcodec_vectors_tile *t,
                                                    const struct wcodec_vectors_launch *l,
                                                    uint32_t chunk, uint32_t a[2][2][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t m = 0; m < 2; m++) {
        uint32_t v[2][4];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t wanted = t->first + 16 * m + 8 * i + t->g,
                           row = wanted < l->count ? wanted : l->count - 1;
            WCODEC_READ_16(v[i], (const WCODEC_GLOBAL uint16_t *)l->halves +
                                     (uint64_t)row * l->pitch + 32 * chunk + 8 * t->q);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 2; k++) {
            a[m][k][0] = v[0][2 * k];
            a[m][k][1] = v[1][2 * k];
            a[m][k][2] = v[0][2 * k + 1];
            a[m][k][3] = v[1][2 * k + 1];
        }
    }
}

/* Ask for stage number `i`: piece i % pieces of the columns i / pieces. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_ask(struct wcodec_warp *warp,
                                               const struct wcodec_vectors_item *w,
                                               const struct wcodec_vectors_tile *t,
                                               const struct wcodec_vectors_launch *l, uint32_t i)
{
    const uint32_t chunks = l->pitch / 32, piece = i % t->pieces * (WCODEC_VECTORS_DEPTH / 32),
                   left = chunks - piece,
                   count = left < WCODEC_VECTORS_DEPTH / 32 ? left : WCODEC_VECTORS_DEPTH / 32,
                   to = t->stage + i % 2 * t->size;
    for (uint32_t at = w->item; at < 8 * count * 32; at += w->items) {
        const uint32_t eight = at / (count * 32), rest = at % (count * 32);
        const uint64_t from =
            l->columns +
            16 * (((uint64_t)(i / t->pieces * 8 + eight) * chunks + piece) * 32 + rest);
        wcodec_copy_16(warp, to + 16 * at, (const WCODEC_GLOBAL uint8_t *)from, 0, 16);
    }
    wcodec_copy_commit(warp);
}

/* Sums begin. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_start(const uint32_t eights,
                                                 const struct wcodec_vectors_tile *t,
                                                 const struct wcodec_vectors_launch *l,
                                                 uint32_t column, float sums[2][8][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < eights; j++) {
        const WCODEC_GLOBAL float *from =
            wcodec_vectors_floats(l->middle) + column + 8 * j + 2 * t->q;
        const float x = from[0], y = from[1];
        WCODEC_UNROLL_ALL
        for (uint32_t m = 0; m < 2; m++) {
            sums[m][j][0] = sums[m][j][2] = x;
            sums[m][j][1] = sums[m][j][3] = y;
        }
    }
}

/* Products of 32 numbers, which are chunk `at` of the `count` of a stage, for columns from number
 * 8 * first of it on. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_multiply(const uint32_t eights, struct wcodec_warp *warp,
                                                    uint32_t stage, uint32_t first, uint32_t at,
                                                    uint32_t count, uint32_t a[2][2][4],
                                                    float sums[2][8][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < eights; j++) {
        const wcodec_u4 b = wcodec_shared_u4(
            warp, stage + 16 * (((first + j) * count + at) * 32 + wcodec_lane(warp)));
        WCODEC_UNROLL_ALL
        for (uint32_t m = 0; m < 2; m++) {
            wcodec_mma_f16(warp, sums[m][j], a[m][0], b.x, b.y);
            wcodec_mma_f16(warp, sums[m][j], a[m][1], b.z, b.w);
        }
    }
}

/* The sums are whole, of columns from number 8 * first of the stage on. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_see(const uint32_t eights, const uint32_t first,
                                               float sums[2][8][4],
                                               struct wcodec_vectors_best best[4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < eights; j++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            WCODEC_UNROLL_ALL
            for (uint32_t m = 0; m < 2; m++) {
                struct wcodec_vectors_best *b = &best[2 * m + i / 2];
                const float v = wcodec_bits_float((WCODEC_FLOAT_BITS(sums[m][j][i]) & ~15u) |
                                                  (2 * (first + j) + i % 2));
                b->second = wcodec_larger(b->second, wcodec_lesser(v, b->most));
                b->most = wcodec_larger(b->most, v);
            }
        }
    }
}

/* The column of the largest sum. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_vectors_column_of(const struct wcodec_vectors_best *b,
                                                         uint32_t q)
{
    const uint32_t code = WCODEC_FLOAT_BITS(b->most) & 15u;
    return b->which + 8 * (code / 2) + 2 * q + code % 2;
}

/* All anchors. held: pieces of 32 numbers of rows that stay in registers, which are all; or 0. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_look(const uint32_t held, struct wcodec_warp *warp,
                                                const struct wcodec_vectors_item *w,
                                                const struct wcodec_vectors_tile *t,
                                                const struct wcodec_vectors_launch *l,
                                                struct wcodec_vectors_best best[4])
{
    const uint32_t tiles = (l->anchor_count + WCODEC_VECTORS_WIDTH - 1) / WCODEC_VECTORS_WIDTH,
                   stages = tiles * t->pieces;
    float sums[2][8][4];
    uint32_t a[4][2][2][4];
    WCODEC_UNROLL_ALL
    for (uint32_t c = 0; c < held; c++)
        wcodec_vectors_operands(t, l, c, a[c]);
    wcodec_vectors_ask(warp, w, t, l, 0);
    WCODEC_UNROLL_NONE
    for (uint32_t i = 0; i < stages; i++) {
        const uint32_t stage = t->stage + i % 2 * t->size, piece = i % t->pieces,
                       column = i / t->pieces * WCODEC_VECTORS_WIDTH;
        float before[4];
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 4; k++)
            before[k] = best[k].most;
        wcodec_copy_wait(warp);
        wcodec_sync_group(warp);
        if (i + 1 < stages)
            wcodec_vectors_ask(warp, w, t, l, i + 1);
        if (held > 0) {
            /* Unrolled, products of some columns are made while the sums of those before are seen.
             */
            WCODEC_UNROLL_ALL
            for (uint32_t pass = 0; pass < 4; pass++) {
                float some[2][8][4];
                wcodec_vectors_start(2, t, l, column + 16 * pass, some);
                WCODEC_UNROLL_ALL
                for (uint32_t c = 0; c < held; c++)
                    wcodec_vectors_multiply(2, warp, stage, 2 * pass, c, held, a[c], some);
                wcodec_vectors_see(2, 2 * pass, some, best);
            }
        }
        const uint32_t begin = piece * (WCODEC_VECTORS_DEPTH / 32), left = l->pitch / 32 - begin,
                       count = left < WCODEC_VECTORS_DEPTH / 32 ? left : WCODEC_VECTORS_DEPTH / 32;
        if (held == 0 && piece == 0)
            wcodec_vectors_start(8, t, l, column, sums);
        WCODEC_UNROLL_NONE
        for (uint32_t c = 0; held == 0 && c < count; c++) {
            wcodec_vectors_operands(t, l, begin + c, a[0]);
            wcodec_vectors_multiply(8, warp, stage, 0, c, count, a[0], sums);
        }
        if (held == 0 && piece + 1 == t->pieces)
            wcodec_vectors_see(8, 0, sums, best);
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 4; k++)
            best[k].which = best[k].most > before[k] ? column : best[k].which;
    }
}

/* How far two sums of a row, of which `most` is the larger one, may be from each other and yet the
 * other anchor nearest. Sums: a product's numbers may be off by what they lack of the true ones,
 * and each of the additions, in any order and cut off, by some units in the last place of the
 * largest; half the square likewise; and the last four bits are lost. What they are compared with,
 * distances in binary32, have errors of their own (pitch / 4 additions one after the other, and
 * squares).
 *
 * The longest anchor counts only where it may be nearest, or that of the larger sum: neither is
 * longer than the row and the distance to the latter, which the bound gives in turn. Each time the
 * lengths that it began with were enough, and so are the lesser ones. */
WCODEC_DEVICE_FUNCTION float wcodec_vectors_margin(const struct wcodec_vectors_launch *l,
                                                   uint32_t row, const float *anchors, float most)
{
    const float x = wcodec_vectors_floats(l->norms)[row],
                rest = wcodec_vectors_floats(l->norms)[(uint64_t)l->count + row], all = x + rest,
                unit = 1 / 4194304.0f;
    float a = anchors[0] + anchors[1], lacks = anchors[1], error = 0, distance = 0;
    WCODEC_UNROLL_NONE
    for (uint32_t i = 0; i < 3; i++) {
        error = ((float)l->pitch + 12) * unit * (a * a + x * a) + x * lacks + rest * a;
        const float square = all * all - 2 * most + 2 * error;
        distance = square > 0 ? square : 0;
        const float length = 1.001f * (all + wcodec_vectors_length(distance)),
                    of_it = anchors[2] * length + wcodec_vectors_least(l);
        lacks = of_it < lacks ? of_it : lacks;
        a = length + lacks < a ? length + lacks : a;
    }
    return 1.01f * (2 * error + (0.25f * (float)l->pitch + 8) * 0.5f * unit * distance) + 1e-36f;
}

/* A row's anchor by what four lanes have seen, or that it is not certain. Returns whether it is
 * another one than before. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_vectors_judge(const struct wcodec_vectors_launch *l,
                                                     uint32_t row, const float *anchors,
                                                     const struct wcodec_vectors_best of[4])
{
    WCODEC_GLOBAL uint32_t *result = wcodec_vectors_words(l->result);
    float most = of[0].most, second = of[0].second;
    uint32_t which = of[0].which, count = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 1; i < 4; i++) {
        which = of[i].most > most ? of[i].which : which;
        most = of[i].most > most ? of[i].most : most;
        second = of[i].second > second ? of[i].second : second;
    }
    const float least = most - wcodec_vectors_margin(l, row, anchors, most);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        count += of[i].most >= least;
    if (second >= least) {
        wcodec_vectors_words(l->rest)[wcodec_atomic_add(result + WCODEC_VECTORS_HARDEST, 1)] = row;
        return 0;
    }
    if (count == 1)
        return wcodec_vectors_settle(l, row, which);
    const uint32_t at = wcodec_atomic_add(result + WCODEC_VECTORS_HARD, 1);
    wcodec_vectors_words(l->list)[at] = row;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_vectors_words(l->few)[(uint64_t)4 * at + i] =
            of[i].most >= least ? of[i].which : WCODEC_VECTORS_NONE;
    return 0;
}

/* The most of what work-groups have told. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_bounds(struct wcodec_warp *warp,
                                                  const struct wcodec_vectors_launch *l,
                                                  float *anchors)
{
    const uint32_t lane = wcodec_lane(warp);
    for (uint32_t i = 0; i < 3; i++) {
        float most = 0;
        for (uint32_t k = lane; k < l->bound_count; k += 32) {
            const float v = wcodec_vectors_floats(l->bounds)[3 * k + i];
            most = v > most ? v : most;
        }
        WCODEC_UNROLL_ALL
        for (uint32_t mask = 16; mask > 0; mask >>= 1) {
            const float v =
                wcodec_bits_float(wcodec_shuffle(warp, WCODEC_FLOAT_BITS(most), lane ^ mask));
            most = v > most ? v : most;
        }
        anchors[i] = most;
    }
}

/* 32 rows to a warp. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_tensor_kernel(const uint32_t held,
                                                         struct wcodec_warp *warp,
                                                         const struct wcodec_vectors_item *w,
                                                         const struct wcodec_vectors_launch *l)
{
    const uint32_t lane = wcodec_lane(warp),
                   depth = l->pitch < WCODEC_VECTORS_DEPTH ? l->pitch : WCODEC_VECTORS_DEPTH;
    struct wcodec_vectors_tile t;
    struct wcodec_vectors_best best[4], mine[4];
    uint32_t column[4];
    float anchors[3];
    t.first = w->group * w->items + w->item / 32 * 32;
    t.stage = wcodec_shared_base(warp);
    t.size = 2 * WCODEC_VECTORS_WIDTH * depth;
    t.pieces = (l->pitch + WCODEC_VECTORS_DEPTH - 1) / WCODEC_VECTORS_DEPTH;
    t.g = lane / 4;
    t.q = lane % 4;
    WCODEC_UNROLL_ALL
    for (uint32_t r = 0; r < 4; r++) {
        best[r].most = best[r].second = wcodec_bits_float(0xff800000u);
        best[r].which = 0;
    }
    wcodec_vectors_look(held, warp, w, &t, l, best);
    WCODEC_UNROLL_ALL
    for (uint32_t r = 0; r < 4; r++)
        column[r] = wcodec_vectors_column_of(&best[r], t.q);
    wcodec_vectors_bounds(warp, l, anchors);
    /* A lane judges one of the four rows that it has with three others. */
    WCODEC_UNROLL_ALL
    for (uint32_t r = 0; r < 4; r++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t from = 4 * t.g + i;
            const float most = wcodec_bits_float(
                            wcodec_shuffle(warp, WCODEC_FLOAT_BITS(best[r].most), from)),
                        second = wcodec_bits_float(
                            wcodec_shuffle(warp, WCODEC_FLOAT_BITS(best[r].second), from));
            const uint32_t which = wcodec_shuffle(warp, column[r], from);
            if (t.q == r) {
                mine[i].most = most;
                mine[i].second = second;
                mine[i].which = which;
            }
        }
    }
    const uint32_t row = t.first + 16 * (t.q / 2) + 8 * (t.q % 2) + t.g;
    const uint32_t changes = row < l->count ? wcodec_vectors_judge(l, row, anchors, mine) : 0;
    wcodec_vectors_tell(warp, w, l, WCODEC_VECTORS_NEXT_CHANGES, changes);
}

/* Rows of the list: the nearest of few. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_decide_kernel(struct wcodec_warp *warp,
                                                         const struct wcodec_vectors_item *w,
                                                         const struct wcodec_vectors_launch *l)
{
    const uint32_t count = wcodec_vectors_words(l->result)[WCODEC_VECTORS_HARD];
    uint32_t changes = 0;
    for (uint64_t i = (uint64_t)w->group * w->items + w->item; i < count;
         i += (uint64_t)w->groups * w->items) {
        const uint32_t row = wcodec_vectors_words(l->list)[i];
        uint32_t best = WCODEC_VECTORS_NONE;
        float least = wcodec_bits_float(0x7f800000u);
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t anchor = wcodec_vectors_words(l->few)[4 * i + k];
            if (anchor == WCODEC_VECTORS_NONE)
                continue;
            const float d = wcodec_vectors_to_anchor(l, row, anchor);
            if (d < least || (d == least && anchor < best)) {
                least = d;
                best = anchor;
            }
        }
        changes += wcodec_vectors_settle(l, row, best);
    }
    wcodec_vectors_tell(warp, w, l, WCODEC_VECTORS_NEXT_CHANGES, changes);
}

/* Distances of rows in local memory to an anchor. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_from_local(const WCODEC_GROUP_LOCAL float *rows,
                                                      const struct wcodec_vectors_launch *l,
                                                      uint32_t anchor, float *sum)
{
    const WCODEC_GLOBAL float *to = wcodec_vectors_floats(l->anchors) + (uint64_t)anchor * l->pitch;
    WCODEC_UNROLL_ALL
    for (uint32_t r = 0; r < WCODEC_VECTORS_TOGETHER; r++)
        sum[r] = 0;
    WCODEC_UNROLL_NONE
    for (uint32_t at = 0; at < l->pitch; at += 8) {
        float y[8];
        WCODEC_LOAD_FLOATS(y, to + at);
        WCODEC_LOAD_FLOATS(y + 4, to + at + 4);
        WCODEC_UNROLL_ALL
        for (uint32_t r = 0; r < WCODEC_VECTORS_TOGETHER; r++) {
            float x[8];
            WCODEC_TAKE_FLOATS(x, rows + r * l->pitch + at);
            WCODEC_TAKE_FLOATS(x + 4, rows + r * l->pitch + at + 4);
            sum[r] = wcodec_vectors_add(sum[r], x, y);
        }
    }
}

/* The rest: the nearest of all, some rows to a work-group, in local memory after what the
 * work-items compare. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_rescan_kernel(struct wcodec_warp *warp,
                                                         const struct wcodec_vectors_item *w,
                                                         const struct wcodec_vectors_launch *l)
{
    const uint32_t count = wcodec_vectors_words(l->result)[WCODEC_VECTORS_HARDEST];
    const WCODEC_GLOBAL uint32_t *rest = wcodec_vectors_words(l->rest);
    WCODEC_GROUP_LOCAL float *near = (WCODEC_GROUP_LOCAL float *)(w->shared + w->items);
    uint32_t changes = 0;
    for (uint32_t i = w->group * WCODEC_VECTORS_TOGETHER; i < count;
         i += w->groups * WCODEC_VECTORS_TOGETHER) {
        const uint32_t left = count - i,
                       rows = left < WCODEC_VECTORS_TOGETHER ? left : WCODEC_VECTORS_TOGETHER;
        uint32_t best[WCODEC_VECTORS_TOGETHER];
        float least[WCODEC_VECTORS_TOGETHER];
        for (uint32_t j = w->item; j < WCODEC_VECTORS_TOGETHER * l->pitch; j += w->items) {
            const uint32_t r = j / l->pitch;
            near[j] = wcodec_vectors_element(l, (uint64_t)rest[i + (r < rows ? r : 0)] * l->pitch +
                                                    j % l->pitch);
        }
        WCODEC_SYNC_ITEMS(warp);
        WCODEC_UNROLL_ALL
        for (uint32_t r = 0; r < WCODEC_VECTORS_TOGETHER; r++) {
            best[r] = WCODEC_VECTORS_NONE;
            least[r] = wcodec_bits_float(0x7f800000u);
        }
        for (uint32_t k = w->item; k < l->anchor_count; k += w->items) {
            float sum[WCODEC_VECTORS_TOGETHER];
            wcodec_vectors_from_local(near, l, k, sum);
            WCODEC_UNROLL_ALL
            for (uint32_t r = 0; r < WCODEC_VECTORS_TOGETHER; r++) {
                best[r] = sum[r] < least[r] ? k : best[r];
                least[r] = sum[r] < least[r] ? sum[r] : least[r];
            }
        }
        WCODEC_UNROLL_ALL
        for (uint32_t r = 0; r < WCODEC_VECTORS_TOGETHER; r++) {
            float most;
            const uint32_t anchor =
                wcodec_vectors_farthest(warp, w, false, -least[r], best[r], &most);
            if (w->item == 0 && r < rows)
                changes += wcodec_vectors_settle(l, rest[i + r], anchor);
        }
        WCODEC_SYNC_ITEMS(warp);
    }
    wcodec_vectors_tell(warp, w, l, WCODEC_VECTORS_NEXT_CHANGES, changes);
}

/* Distances of rows to their anchors, all, or where seeds are looked for. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_distances_kernel(const struct wcodec_vectors_item *w,
                                                            const struct wcodec_vectors_launch *l)
{
    const uint32_t row = w->group * w->items + w->item;
    if (row >= l->count || (!(l->flags & WCODEC_VECTORS_ALWAYS) &&
                            wcodec_vectors_words(l->result)[WCODEC_VECTORS_EMPTY] == 0))
        return;
    wcodec_vectors_floats(l->distance)[row] =
        wcodec_vectors_to_anchor(l, row, wcodec_vectors_words(l->index)[row]);
}
#endif

#endif
