/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The way into a matrix at a fixed rate (doc/format.md 6; lib/coding/fixed_encode.c is the
 * reference): shifts of rows for both sizes of an index; what the tiles' lists have to hold under
 * them, by which the host plans; then the tiles.
 *
 * Of a tile, lane l has the 16 elements of positions 16 l and up of each quarter: 8 neighbours in
 * row l / 4, and 8 in the row 8 further on. A bit of a mask is one of the 16, in their order. */
#ifndef WCODEC_KERNELS_ENCODE_FIXED_H
#define WCODEC_KERNELS_ENCODE_FIXED_H

#include "backends/kernels/encode_launch.h"
#include "backends/kernels/fixed_elements.h"

#ifdef WCODEC_MATRIX_PRODUCTS
enum wcodec_encode_kind {
    WCODEC_ENCODE_INDEXED,
    WCODEC_ENCODE_SHORT,
    WCODEC_ENCODE_LONG,
    WCODEC_ENCODE_FOREIGN /* no relative element */
};

/* Eight neighbours of a row, 0 past its end. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_eight(const struct wcodec_encode_launch *l, uint64_t row,
                                                uint32_t column, uint32_t *words)
{
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->elements + 2 * (row * l->columns + column));
    if (l->columns % 8 == 0) {
        wcodec_product_u4(words, wcodec_load_u4(from));
        return;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t element =
            column + i < l->columns ? ((const WCODEC_GLOBAL uint16_t *)from)[i] : 0;
        words[i / 2] = i % 2 ? words[i / 2] | element << 16 : element;
    }
}

/* The sum over the lanes before this one. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_encode_before(struct wcodec_warp *warp, uint32_t v)
{
    const uint32_t lane = wcodec_lane(warp);
    uint32_t sum = v;
    WCODEC_UNROLL_ALL
    for (uint32_t d = 1; d < 32; d *= 2) {
        const uint32_t other = wcodec_shuffle(warp, sum, (lane - d) & 31);
        sum += lane >= d ? other : 0;
    }
    return sum - v;
}

/* Count the exponents of a row at `counts`; how many elements are zeros. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_encode_count_row(struct wcodec_warp *warp,
                                                        const struct wcodec_encode_launch *l,
                                                        uint64_t row, uint32_t counts)
{
    uint32_t zeros = 0;
    for (uint32_t column = 8 * wcodec_lane(warp); column < l->columns; column += 256) {
        const uint32_t left = l->columns - column;
        uint32_t words[4];
        wcodec_encode_eight(l, row, column, words);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t element = words[i / 2] >> i % 2 * 16 & 0x7fff;
            if (i < left) {
                wcodec_shared_add(warp, counts + 4 * (element >> 7), 1);
                zeros += element == 0;
            }
        }
    }
    return wcodec_add_lanes(warp, zeros);
}

/* A row's shift, where the words at `sums` are how many of its exponents are e or less: the window
 * that has most elements, of several the last. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_encode_choose(const uint32_t bits, struct wcodec_warp *warp,
                                                     uint32_t sums, bool only_zeros)
{
    const uint32_t lane = wcodec_lane(warp), window = 2u << bits;
    uint32_t best = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t t = 8 * lane + i;
        if (t < window || t == 255)
            continue;
        const uint32_t inside = wcodec_shared_u32(warp, sums + 4 * t) -
                                wcodec_shared_u32(warp, sums + 4 * (t - window));
        if (inside)
            best = best > (inside << 8 | t) ? best : inside << 8 | t;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t d = 1; d < 32; d *= 2) {
        const uint32_t other = wcodec_shuffle(warp, best, lane ^ d);
        best = best > other ? best : other;
    }
    return best ? (best & 255) - 127 : only_zeros ? (uint32_t)WCODEC_FIXED_ZERO_ROW : 0;
}

WCODEC_DEVICE_FUNCTION void wcodec_encode_row_shifts(struct wcodec_warp *warp,
                                                     const struct wcodec_encode_launch *l,
                                                     uint64_t row, uint32_t counts)
{
    const uint32_t lane = wcodec_lane(warp), own = counts + 32 * lane;
    WCODEC_GLOBAL uint8_t *shifts = (WCODEC_GLOBAL uint8_t *)l->shifts;
    uint32_t words[8], sum;
    wcodec_put_u4(warp, own, wcodec_make_u4(0, 0, 0, 0));
    wcodec_put_u4(warp, own + 16, wcodec_make_u4(0, 0, 0, 0));
    wcodec_sync_warp(warp);
    const uint32_t zeros = wcodec_encode_count_row(warp, l, row, counts);
    wcodec_sync_warp(warp);
    wcodec_product_u4(words, wcodec_shared_u4(warp, own));
    wcodec_product_u4(words + 4, wcodec_shared_u4(warp, own + 16));
    const uint32_t none = wcodec_shuffle(warp, words[0], 0),
                   all = wcodec_shuffle(warp, words[7], 31);
    sum = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++)
        words[i] = sum += words[i];
    sum = wcodec_encode_before(warp, sum);
    wcodec_put_u4(warp, own,
                  wcodec_make_u4(sum + words[0], sum + words[1], sum + words[2], sum + words[3]));
    wcodec_put_u4(warp, own + 16,
                  wcodec_make_u4(sum + words[4], sum + words[5], sum + words[6], sum + words[7]));
    wcodec_sync_warp(warp);
    for (uint32_t bits = WCODEC_FIXED_BITS_MIN; bits <= WCODEC_FIXED_BITS_MAX; bits++) {
        const uint32_t shift = wcodec_encode_choose(bits, warp, counts, all == 0 && none == zeros);
        if (wcodec_is_first(warp))
            shifts[(bits - WCODEC_FIXED_BITS_MIN) * 16ull * l->bands + row] = (uint8_t)shift;
    }
    wcodec_sync_warp(warp);
}

/* A warp takes a row. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_shifts(struct wcodec_warp *warp,
                                                 const struct wcodec_encode_launch *l)
{
    const uint32_t number = wcodec_warp_number(warp), warps = wcodec_warps(warp),
                   counts = wcodec_shared_base(warp) + number * WCODEC_ENCODE_EXPONENTS;
    for (uint64_t row = (uint64_t)wcodec_group(warp) * warps + number; row < 16ull * l->bands;
         row += (uint64_t)wcodec_groups(warp) * warps) {
        if (row < l->rows)
            wcodec_encode_row_shifts(warp, l, row, counts);
        else if (wcodec_lane(warp) < 2)
            ((WCODEC_GLOBAL uint8_t *)l->shifts)[wcodec_lane(warp) * 16ull * l->bands + row] = 0;
    }
}

/* What a lane knows of its rows, by their number in the lane. */
struct wcodec_encode_rows {
    uint32_t shift[2]; /* with its sign */
    uint32_t least[2]; /* the least element that has an index, in both halves */
};

WCODEC_DEVICE_FUNCTION void wcodec_encode_take_rows(const uint32_t bits, uint64_t shifts,
                                                    uint32_t band, uint32_t lane,
                                                    struct wcodec_encode_rows *rows)
{
    const WCODEC_GLOBAL uint8_t *from = (const WCODEC_GLOBAL uint8_t *)shifts;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t shift =
            WCODEC_SIGNED_BYTE((uint32_t)from[16ull * band + lane / 4 + 8 * i], 0);
        rows->shift[i] = shift;
        rows->least[i] = (int32_t)shift == WCODEC_FIXED_ZERO_ROW
                             ? 0x80008000u
                             : ((128 - (2u << bits) + shift) << 7) * 0x10001u;
    }
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_encode_kind(const uint32_t bits, uint32_t element,
                                                   uint32_t shift)
{
    const uint32_t window = 2u << bits, exponent = element >> 7 & 255, r = exponent - shift;
    if ((int32_t)shift == WCODEC_FIXED_ZERO_ROW)
        return element & 0x7fff ? WCODEC_ENCODE_FOREIGN : WCODEC_ENCODE_INDEXED;
    if (exponent == 0)
        return shift && (element & 0x7f) ? WCODEC_ENCODE_FOREIGN : WCODEC_ENCODE_LONG;
    if (exponent == 255)
        return WCODEC_ENCODE_LONG;
    if (r - (128 - window) < window)
        return WCODEC_ENCODE_INDEXED;
    if (r - (128 - 2 * window) < 3 * window)
        return WCODEC_ENCODE_SHORT;
    return r - 1 < 254 ? WCODEC_ENCODE_LONG : WCODEC_ENCODE_FOREIGN;
}

/* The 16 elements of a quarter, two in a word; a mask of those that are no padding. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_encode_take(const struct wcodec_encode_launch *l,
                                                   uint32_t band, uint32_t across, uint32_t quarter,
                                                   uint32_t lane, uint32_t *words)
{
    const uint32_t column = 128 * across + 32 * quarter + 8 * (lane & 3),
                   left = column < l->columns ? l->columns - column : 0;
    uint32_t there = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t row = 16ull * band + lane / 4 + 8 * i;
        uint32_t eight[4] = {0, 0, 0, 0};
        if (row < l->rows && left) {
            wcodec_encode_eight(l, row, column, eight);
            there |= (left < 4 ? (1u << left) - 1 : 15u) << 4 * i;
            if (left > 4)
                there |= (left < 8 ? (1u << (left - 4)) - 1 : 15u) << (8 + 4 * i);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 4; k++)
            words[2 * i + k / 2 * 4 + k % 2] = eight[k];
    }
    return there;
}

/* Pairs of elements less the least one that has an index: bit 15 of a half, its index from bit 8
 * on, and the lower byte of the relative element, if there is one and its exponent is neither 0 nor
 * 255. Returns a mask of those without an index, or of too many. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_encode_above(const uint32_t bits,
                                                    const struct wcodec_encode_rows *rows,
                                                    const uint32_t *words, uint32_t *above)
{
    const uint32_t outside = (0x8000u | (0x7f00u & ~((0x100u << bits) - 1))) * 0x10001u;
    uint32_t without = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++) {
        above[i] = (words[i] | 0x80008000u) - rows->least[i / 2 % 2];
        const uint32_t differs = (above[i] & outside) ^ 0x80008000u;
        without |= (differs & 0xffffu ? 1u : 0u) << 2 * i;
        without |= (differs >> 16 ? 1u : 0u) << (2 * i + 1);
    }
    return without;
}

/* Element i of 16. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_encode_element(const uint32_t *words, uint32_t i)
{
    uint32_t word = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 8; k++)
        word = i / 2 == k ? words[k] : word;
    return word >> i % 2 * 16 & 0xffff;
}

/* What a list has to hold of a quarter: short ones in the lower half of *outliers, long ones in the
 * upper one. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_count(const uint32_t bits,
                                                const struct wcodec_encode_rows *rows,
                                                const uint32_t *words, uint32_t there,
                                                uint32_t *outliers, uint32_t *foreign)
{
    uint32_t above[8];
    for (uint32_t mask = wcodec_encode_above(bits, rows, words, above) & there; mask;
         mask &= mask - 1) {
        const uint32_t i = wcodec_first_bit(mask),
                       kind = wcodec_encode_kind(bits, wcodec_encode_element(words, i),
                                                 i & 4 ? rows->shift[1] : rows->shift[0]);
        *outliers += kind == WCODEC_ENCODE_SHORT ? 1u : kind == WCODEC_ENCODE_LONG ? 1u << 16 : 0u;
        *foreign += kind == WCODEC_ENCODE_FOREIGN;
    }
}

/* A warp takes a tile. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_counts(struct wcodec_warp *warp,
                                                 const struct wcodec_encode_launch *l)
{
    const uint32_t lane = wcodec_lane(warp), tiles = l->bands * l->across,
                   step = wcodec_groups(warp) * wcodec_warps(warp);
    for (uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
         tile < tiles; tile += step) {
        const uint32_t band = tile / l->across, across = tile - band * l->across;
        struct wcodec_encode_rows rows[2];
        uint32_t outliers[2] = {0, 0}, foreign[2] = {0, 0};
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++)
            wcodec_encode_take_rows(2 + i, l->shifts + i * 16ull * l->bands, band, lane, &rows[i]);
        WCODEC_UNROLL_NONE
        for (uint32_t quarter = 0; quarter < 4; quarter++) {
            uint32_t words[8];
            const uint32_t there = wcodec_encode_take(l, band, across, quarter, lane, words);
            wcodec_encode_count(2, &rows[0], words, there, &outliers[0], &foreign[0]);
            wcodec_encode_count(3, &rows[1], words, there, &outliers[1], &foreign[1]);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t listed = wcodec_add_lanes(warp, outliers[i]),
                           others = wcodec_add_lanes(warp, foreign[i]);
            if (wcodec_is_first(warp))
                wcodec_store_u2(
                    (WCODEC_GLOBAL uint8_t *)(l->counts + 8 * ((uint64_t)i * tiles + tile)), listed,
                    others);
        }
    }
}

/* A tile that is being coded: what its list has room for, and what was found of it. */
struct wcodec_encode_tile {
    uint32_t list; /* shared address */
    uint32_t shorts, longs;
    bool spills;
    uint32_t short_count, long_count, spilled_count;
    uint32_t long_end; /* shared address */
    uint64_t spilled;  /* of the tile */
};

/* By its counts, as the reference does; and the list's own words. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_begin(struct wcodec_warp *warp,
                                                const struct wcodec_encode_launch *l, uint32_t tile,
                                                uint32_t list, struct wcodec_encode_tile *t)
{
    const wcodec_u2 counts =
        wcodec_load_once_u2((const WCODEC_GLOBAL uint8_t *)(l->counts + 8 * (uint64_t)tile));
    const uint32_t lane = wcodec_lane(warp), size = WCODEC_FIXED_LIST_UNIT * l->list,
                   left = size - 8, shorts = counts.x & 0xffff, longs = counts.x >> 16;
    t->list = list;
    t->shorts = shorts;
    t->longs = longs;
    t->spills = counts.y != 0 || 2 + shorts + (shorts + 1) / 2 + 2 * longs > size;
    if (t->spills) {
        const uint32_t most = (left - 2) * 2 / 3;
        t->shorts = shorts < most ? shorts : most;
        const uint32_t room = (left - (2 + t->shorts + (t->shorts + 1) / 2)) / 2;
        t->longs = longs < room ? longs : room;
    }
    t->short_count = t->long_count = t->spilled_count = 0;
    t->long_end = list + size - (t->spills ? 8 : 0);
    t->spilled = l->spilled;
    if (lane < l->list)
        wcodec_put_u4(warp, list + 16 * lane, wcodec_make_u4(0, 0, 0, 0));
    wcodec_sync_warp(warp);
    if (lane == 0)
        wcodec_shared_add(warp, list, t->shorts | t->longs << 8 | (t->spills ? 0x8000u : 0u));
    if (t->spills) {
        const uint32_t first = ((const WCODEC_GLOBAL uint32_t *)l->firsts)[tile];
        t->spilled += 4ull * first;
        if (lane == 0) {
            wcodec_shared_add(warp, list + size - 8, first);
            wcodec_shared_add(warp, list + size - 4,
                              (counts.y & 0xffff) + (shorts - t->shorts) + (longs - t->longs));
        }
    }
}

/* What of a quarter is coded, quad by quad: lower bytes; indices and signs in nibbles. */
struct wcodec_encode_quads {
    uint32_t lower[4], index[4], sign[4];
};

WCODEC_DEVICE_FUNCTION void wcodec_encode_quads(const uint32_t bits, const uint32_t *words,
                                                const uint32_t *above,
                                                struct wcodec_encode_quads *quads)
{
    const uint32_t ones = (1u << bits) - 1;
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t a = above[2 * k], b = above[2 * k + 1], v = words[2 * k],
                       w = words[2 * k + 1];
        quads->lower[k] = wcodec_bytes(a, b, 0x6420);
        quads->index[k] =
            (a >> 8 & ones) | (a >> 24 & ones) << 4 | (b >> 8 & ones) << 8 | (b >> 24 & ones) << 12;
        quads->sign[k] = (v >> 15 & 1) | v >> 31 << 4 | (w >> 15 & 1) << 8 | w >> 31 << 12;
    }
}

/* Element i of 16 has another lower byte, index and sign. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_put(struct wcodec_encode_quads *quads, uint32_t i,
                                              uint32_t lower, uint32_t index, uint32_t sign)
{
    const uint32_t at = i & 3;
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 4; k++) {
        if (i / 4 != k)
            continue;
        quads->lower[k] = (quads->lower[k] & ~(255u << 8 * at)) | lower << 8 * at;
        quads->index[k] = (quads->index[k] & ~(15u << 4 * at)) | index << 4 * at;
        quads->sign[k] = (quads->sign[k] & ~(1u << 4 * at)) | sign << 4 * at;
    }
}

/* The upper seven bits of an outlier's relative exponent. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_encode_upper(uint32_t element, uint32_t shift)
{
    const uint32_t exponent = element >> 7 & 255;
    return exponent == 0 ? 0 : exponent == 255 ? 127 : ((exponent - shift) & 255) >> 1;
}

/* Padding becomes zeros, and so do foreign elements; what elements without an index are, in
 * masks. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_sort(const uint32_t bits,
                                               const struct wcodec_encode_rows *rows,
                                               const uint32_t *words, uint32_t there,
                                               uint32_t without, struct wcodec_encode_quads *quads,
                                               uint32_t *masks)
{
    for (uint32_t mask = without | (there ^ 0xffff); mask; mask &= mask - 1) {
        const uint32_t i = wcodec_first_bit(mask), element = wcodec_encode_element(words, i),
                       shift = i & 4 ? rows->shift[1] : rows->shift[0],
                       exponent = element >> 7 & 255,
                       kind = wcodec_encode_kind(bits, element, shift), bit = 1u << i;
        if (!(there & bit)) {
            wcodec_encode_put(quads, i, 0, 0, 0);
            continue;
        }
        masks[0] |= kind == WCODEC_ENCODE_SHORT ? bit : 0;
        masks[1] |= kind == WCODEC_ENCODE_LONG ? bit : 0;
        masks[2] |= kind == WCODEC_ENCODE_FOREIGN ? bit : 0;
        if (kind == WCODEC_ENCODE_FOREIGN)
            wcodec_encode_put(quads, i, 0, 0, 0);
        else if (kind == WCODEC_ENCODE_INDEXED) /* of a row of zeros */
            wcodec_encode_put(quads, i, 0, 0, element >> 15);
        else if (exponent == 0)
            wcodec_encode_put(quads, i, element & 0x7f, 0, element >> 15);
        else if (exponent == 255)
            wcodec_encode_put(quads, i, element & 0xff, (1u << bits) - 1, element >> 15);
    }
}

/* Value to a byte or half word of shared memory that is zero. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_or(struct wcodec_warp *warp, uint32_t address,
                                             uint32_t value)
{
    wcodec_shared_add(warp, address & ~3u, value << (address & 3) * 8);
}

/* The quarter's outliers, in the order of their positions over all lanes; masks[2] takes those that
 * the list has no room for. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_list(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_encode_rows *rows,
                                               const uint32_t *words, uint32_t quarter,
                                               uint32_t *masks, struct wcodec_encode_tile *t)
{
    const uint32_t own = WCODEC_POPCOUNT(masks[0]) | WCODEC_POPCOUNT(masks[1]) << 16,
                   before = wcodec_encode_before(warp, own), base = 64 - (1u << bits),
                   first = 512 * quarter + 16 * wcodec_lane(warp),
                   all = wcodec_shuffle(warp, before + own, 31);
    uint32_t number = t->short_count + (before & 0xffff);
    for (uint32_t mask = masks[0]; mask; mask &= mask - 1, number++) {
        const uint32_t i = wcodec_first_bit(mask), position = first + i,
                       upper = wcodec_encode_upper(wcodec_encode_element(words, i),
                                                   i & 4 ? rows->shift[1] : rows->shift[0]);
        if (number < t->shorts) {
            wcodec_encode_or(warp, t->list + 2 + number, position & 0xff);
            wcodec_encode_or(warp, t->list + 2 + t->shorts + number / 2,
                             (position >> 8 | (upper >= base ? 8u : 0u)) << number % 2 * 4);
        } else {
            masks[2] |= 1u << i;
        }
    }
    number = t->long_count + (before >> 16);
    for (uint32_t mask = masks[1]; mask; mask &= mask - 1, number++) {
        const uint32_t i = wcodec_first_bit(mask),
                       upper = wcodec_encode_upper(wcodec_encode_element(words, i),
                                                   i & 4 ? rows->shift[1] : rows->shift[0]),
                       flip = ((upper ^ base) >> bits) << bits;
        if (number < t->longs)
            wcodec_encode_or(warp, t->long_end - 2 * (number + 1), (first + i) | flip << 9);
        else
            masks[2] |= 1u << i;
    }
    t->short_count += all & 0xffff;
    t->long_count += all >> 16;
}

WCODEC_DEVICE_FUNCTION void wcodec_encode_spill(struct wcodec_warp *warp, const uint32_t *words,
                                                uint32_t quarter, uint32_t spilled,
                                                struct wcodec_encode_tile *t)
{
    const uint32_t own = WCODEC_POPCOUNT(spilled), before = wcodec_encode_before(warp, own),
                   first = 512 * quarter + 16 * wcodec_lane(warp);
    uint32_t number = t->spilled_count + before;
    for (uint32_t mask = spilled; mask; mask &= mask - 1, number++) {
        const uint32_t i = wcodec_first_bit(mask);
        wcodec_store_u32((WCODEC_GLOBAL uint8_t *)(t->spilled + 4ull * number),
                         (first + i) | wcodec_encode_element(words, i) << 16);
    }
    t->spilled_count += wcodec_shuffle(warp, before + own, 31);
}

/* Selectors of quad u of a half to its index words. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_selectors(const uint32_t bits, const uint32_t u,
                                                    uint32_t index, uint32_t sign, uint32_t *words)
{
    const uint32_t high = u % 2 * 16;
    if (bits == 3) {
        /* A sign's nibble i goes to nibble 2 i, or 2 i + 1. */
        const uint32_t spread =
            (sign & 1) | (sign & 0x10) << 4 | (sign & 0x100) << 8 | (sign & 0x1000) << 12;
        words[u / 2] |= index << high | spread << (u % 2 ? 3 : 7);
    } else {
        const uint32_t both = index | sign << 2;
        if (u < 6) {
            words[u / 2] |= both << high;
        } else {
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < 3; k++)
                words[k] |= (both >> k & 0x1111) << (3 + high);
        }
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_encode_tile(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_encode_launch *l, uint32_t tile,
                                               uint32_t list)
{
    const uint32_t lane = wcodec_lane(warp), band = tile / l->across,
                   across = tile - band * l->across;
    WCODEC_GLOBAL uint8_t *record =
        (WCODEC_GLOBAL uint8_t *)(l->records + (uint64_t)tile * wcodec_record_size(bits, l->list));
    struct wcodec_encode_rows rows;
    struct wcodec_encode_tile t;
    uint32_t index[8] = {0};
    wcodec_encode_take_rows(bits, l->shifts, band, lane, &rows);
    wcodec_encode_begin(warp, l, tile, list, &t);
    WCODEC_UNROLL_ALL
    for (uint32_t quarter = 0; quarter < 4; quarter++) {
        struct wcodec_encode_quads quads;
        uint32_t words[8], above[8], masks[3] = {0, 0, 0};
        const uint32_t there = wcodec_encode_take(l, band, across, quarter, lane, words),
                       without = wcodec_encode_above(bits, &rows, words, above);
        wcodec_encode_quads(bits, words, above, &quads);
        wcodec_encode_sort(bits, &rows, words, there, without, &quads, masks);
        if (wcodec_any(warp, (masks[0] | masks[1]) != 0))
            wcodec_encode_list(bits, warp, &rows, words, quarter, masks, &t);
        if (t.spills)
            wcodec_encode_spill(warp, words, quarter, masks[2], &t);
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 4; k++)
            wcodec_encode_selectors(bits, quarter % 2 * 4 + k, quads.index[k], quads.sign[k],
                                    index + quarter / 2 * (bits + 1));
        wcodec_store_u4(record + 512 * quarter + 16 * lane, quads.lower[0], quads.lower[1],
                        quads.lower[2], quads.lower[3]);
    }
    wcodec_store_u4(record + 2048 + 16 * lane, index[0], index[1], index[2], index[3]);
    if (bits == 3)
        wcodec_store_u4(record + 2560 + 16 * lane, index[4], index[5], index[6], index[7]);
    else
        wcodec_store_u2(record + 2560 + 8 * lane, index[4], index[5]);
    wcodec_sync_warp(warp);
    if (lane < l->list) {
        const wcodec_u4 v = wcodec_shared_u4(warp, list + 16 * lane);
        wcodec_store_u4(record + wcodec_record_list_at(bits) + 16 * lane, v.x, v.y, v.z, v.w);
    }
    wcodec_sync_warp(warp);
}

WCODEC_DEVICE_FUNCTION void wcodec_encode_code(const uint32_t bits, struct wcodec_warp *warp,
                                               const struct wcodec_encode_launch *l)
{
    const uint32_t tiles = l->bands * l->across, number = wcodec_warp_number(warp),
                   step = wcodec_groups(warp) * wcodec_warps(warp);
    for (uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + number; tile < tiles;
         tile += step)
        wcodec_encode_tile(bits, warp, l, tile,
                           wcodec_shared_base(warp) + number * WCODEC_ENCODE_LIST);
}

/* Threads take 16 bytes each, and what is left after those two. */
WCODEC_DEVICE_FUNCTION void wcodec_encode_compare(struct wcodec_warp *warp,
                                                  const struct wcodec_encode_launch *l)
{
    const uint64_t whole = l->size & ~15ull,
                   step = (uint64_t)wcodec_groups(warp) * wcodec_threads(warp),
                   number =
                       (uint64_t)wcodec_group(warp) * wcodec_threads(warp) + wcodec_thread(warp);
    const WCODEC_GLOBAL uint8_t *one = (const WCODEC_GLOBAL uint8_t *)l->elements,
                                *other = (const WCODEC_GLOBAL uint8_t *)l->other;
    uint32_t differs = 0;
    for (uint64_t at = 16 * number; at < whole; at += 16 * step) {
        const wcodec_u4 a = wcodec_load_u4(one + at), b = wcodec_load_u4(other + at);
        differs |= (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w);
    }
    for (uint64_t at = whole + 2 * number; at < l->size; at += 2 * step)
        differs |= *(const WCODEC_GLOBAL uint16_t *)(one + at) ^
                   *(const WCODEC_GLOBAL uint16_t *)(other + at);
    if (differs)
        wcodec_atomic_store((WCODEC_GLOBAL uint32_t *)l->differs, 1);
}

#define WCODEC_ENCODE_SHIFTS(bits, warp, launch) wcodec_encode_shifts(warp, launch)
#define WCODEC_ENCODE_COUNTS(bits, warp, launch) wcodec_encode_counts(warp, launch)
#define WCODEC_ENCODE_CODE(bits, warp, launch) wcodec_encode_code(bits, warp, launch)
#define WCODEC_ENCODE_COMPARE(bits, warp, launch) wcodec_encode_compare(warp, launch)
#endif

#endif
