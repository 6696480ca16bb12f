/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of vectors by plain work-items: lib/vectors is the reference, to the last bit. Distances
 * are made in the order of backends/cpu/nearest.h; sums of rows are binary64, each in the order of
 * the rows, or in any where they are exact; what is counted is added by atomics, and what they give
 * out is put in order before it is used. */
#ifndef WCODEC_KERNELS_VECTORS_H
#define WCODEC_KERNELS_VECTORS_H

#include "backends/kernels/vectors_launch.h"

#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* What a work-item works with. */
struct wcodec_vectors_item {
    uint32_t item, items;
    uint32_t group, groups;
    WCODEC_GROUP_LOCAL uint64_t *shared; /* the work-group's */
};

WCODEC_DEVICE_FUNCTION WCODEC_GLOBAL uint32_t *wcodec_vectors_words(uint64_t address)
{
    return (WCODEC_GLOBAL uint32_t *)address;
}

WCODEC_DEVICE_FUNCTION WCODEC_GLOBAL float *wcodec_vectors_floats(uint64_t address)
{
    return (WCODEC_GLOBAL float *)address;
}

WCODEC_DEVICE_FUNCTION WCODEC_GLOBAL uint64_t *wcodec_vectors_keys(uint64_t address)
{
    return (WCODEC_GLOBAL uint64_t *)address;
}

WCODEC_DEVICE_FUNCTION WCODEC_GLOBAL double *wcodec_vectors_doubles(uint64_t address)
{
    return (WCODEC_GLOBAL double *)address;
}

/* Element i of all rows, of that format. */
WCODEC_DEVICE_FUNCTION float
wcodec_vectors_number(const uint32_t format, const struct wcodec_vectors_launch *l, uint64_t i)
{
    if (format == WCODEC_TO_F32)
        return ((const WCODEC_GLOBAL float *)l->rows)[i];
    const uint32_t bits = ((const WCODEC_GLOBAL uint16_t *)l->rows)[i];
    return format == WCODEC_TO_F16 ? wcodec_half_float(bits) : wcodec_bits_float(bits << 16);
}

/* Loops over elements are there for each format: a branch at each would have loads wait for each
 * other. */
#define WCODEC_VECTORS_BY_FORMAT(l, call) \
    ((l)->format == WCODEC_TO_F16    ? call(WCODEC_TO_F16) \
     : (l)->format == WCODEC_TO_BF16 ? call(WCODEC_TO_BF16) \
                                     : call(WCODEC_TO_F32))

WCODEC_DEVICE_FUNCTION float wcodec_vectors_element(const struct wcodec_vectors_launch *l,
                                                    uint64_t i)
{
    return wcodec_vectors_number(l->format, l, i);
}

/* Eight elements of a row from `at` on, a multiple of 8. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_load(const uint32_t format,
                                                const struct wcodec_vectors_launch *l, uint32_t row,
                                                uint32_t at, float *x)
{
    const uint64_t first = (uint64_t)row * l->pitch + at;
    uint32_t words[4];
    if (format == WCODEC_TO_F32) {
        const WCODEC_GLOBAL float *from = (const WCODEC_GLOBAL float *)l->rows + first;
        WCODEC_LOAD_FLOATS(x, from);
        WCODEC_LOAD_FLOATS(x + 4, from + 4);
        return;
    }
    WCODEC_READ_16(words, (const WCODEC_GLOBAL uint16_t *)l->rows + first);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        const bool f16 = format == WCODEC_TO_F16;
        x[2 * i] = f16 ? wcodec_half_float(words[i] & 0xffffu) : wcodec_bits_float(words[i] << 16);
        x[2 * i + 1] =
            f16 ? wcodec_half_float(words[i] >> 16) : wcodec_bits_float(words[i] & 0xffff0000u);
    }
}

WCODEC_DEVICE_FUNCTION float wcodec_vectors_square(float a, float b)
{
    const float difference = a - b;
    return wcodec_multiply(difference, difference);
}

/* What eight elements add to a distance. */
WCODEC_DEVICE_FUNCTION float wcodec_vectors_add(float sum, const float *x, const float *y)
{
    WCODEC_UNROLL_ALL
    for (uint32_t at = 0; at < 8; at += 4) {
        float four = wcodec_vectors_square(x[at], y[at]);
        WCODEC_UNROLL_ALL
        for (uint32_t j = at + 1; j < at + 4; j++)
            four += wcodec_vectors_square(x[j], y[j]);
        sum += four;
    }
    return sum;
}

/* Of a row to an anchor, or to another row. */
WCODEC_DEVICE_FUNCTION float wcodec_vectors_to_anchor_of(const uint32_t format,
                                                         const struct wcodec_vectors_launch *l,
                                                         uint32_t row, uint32_t anchor)
{
    const WCODEC_GLOBAL float *to = wcodec_vectors_floats(l->anchors) + (uint64_t)anchor * l->pitch;
    float sum = 0;
    for (uint32_t begin = 0; begin < l->pitch; begin += 32) {
        WCODEC_UNROLL_ALL
        for (uint32_t eight = 0; eight < 4; eight++) {
            const uint32_t at = begin + 8 * eight;
            float x[8], y[8];
            wcodec_vectors_load(format, l, row, at, x);
            WCODEC_LOAD_FLOATS(y, to + at);
            WCODEC_LOAD_FLOATS(y + 4, to + at + 4);
            sum = wcodec_vectors_add(sum, x, y);
        }
    }
    return sum;
}

WCODEC_DEVICE_FUNCTION float wcodec_vectors_to_anchor(const struct wcodec_vectors_launch *l,
                                                      uint32_t row, uint32_t anchor)
{
#define WCODEC_VECTORS_CALL(format) wcodec_vectors_to_anchor_of(format, l, row, anchor)
    return WCODEC_VECTORS_BY_FORMAT(l, WCODEC_VECTORS_CALL);
#undef WCODEC_VECTORS_CALL
}

WCODEC_DEVICE_FUNCTION float wcodec_vectors_to_row_of(const uint32_t format,
                                                      const struct wcodec_vectors_launch *l,
                                                      uint32_t row, uint32_t other)
{
    float sum = 0;
    for (uint32_t begin = 0; begin < l->pitch; begin += 32) {
        WCODEC_UNROLL_ALL
        for (uint32_t eight = 0; eight < 4; eight++) {
            const uint32_t at = begin + 8 * eight;
            float x[8], y[8];
            wcodec_vectors_load(format, l, row, at, x);
            wcodec_vectors_load(format, l, other, at, y);
            sum = wcodec_vectors_add(sum, x, y);
        }
    }
    return sum;
}

WCODEC_DEVICE_FUNCTION float wcodec_vectors_to_row(const struct wcodec_vectors_launch *l,
                                                   uint32_t row, uint32_t other)
{
#define WCODEC_VECTORS_CALL(format) wcodec_vectors_to_row_of(format, l, row, other)
    return WCODEC_VECTORS_BY_FORMAT(l, WCODEC_VECTORS_CALL);
#undef WCODEC_VECTORS_CALL
}

/* The anchors' numbers [at, at + PIECE) to local memory, of AT_ONCE from `first` on; infinite where
 * there is none. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_stage(const struct wcodec_vectors_item *w,
                                                 const struct wcodec_vectors_launch *l,
                                                 uint32_t first, uint32_t at)
{
    WCODEC_GROUP_LOCAL float *to = (WCODEC_GROUP_LOCAL float *)w->shared;
    for (uint32_t i = w->item; i < WCODEC_VECTORS_AT_ONCE * WCODEC_VECTORS_PIECE; i += w->items) {
        const uint32_t k = first + i / WCODEC_VECTORS_PIECE, j = at + i % WCODEC_VECTORS_PIECE;
        to[i] = j >= l->pitch ? 0
                : k < l->anchor_count
                    ? wcodec_vectors_floats(l->anchors)[(uint64_t)k * l->pitch + j]
                    : wcodec_bits_float(0x7f800000u);
    }
}

/* Whole rows: a work-item has a sum for each of the anchors that are in local memory. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_sums(struct wcodec_warp *warp,
                                                const struct wcodec_vectors_item *w,
                                                const struct wcodec_vectors_launch *l, uint32_t row,
                                                bool there, uint32_t first, float *sum)
{
    const WCODEC_GROUP_LOCAL float *anchors = (const WCODEC_GROUP_LOCAL float *)w->shared;
    (void)warp;
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_VECTORS_AT_ONCE; k++)
        sum[k] = 0;
    for (uint32_t piece = 0; piece < l->pitch; piece += WCODEC_VECTORS_PIECE) {
        const uint32_t left = l->pitch - piece,
                       size = left < WCODEC_VECTORS_PIECE ? left : WCODEC_VECTORS_PIECE;
        WCODEC_SYNC_ITEMS(warp);
        wcodec_vectors_stage(w, l, first, piece);
        WCODEC_SYNC_ITEMS(warp);
        WCODEC_UNROLL_NONE
        for (uint32_t at = 0; there && at < size; at += 8) {
            float x[8];
            wcodec_vectors_load(l->format, l, row, piece + at, x);
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < WCODEC_VECTORS_AT_ONCE; k++) {
                float y[8];
                WCODEC_TAKE_FLOATS(y, anchors + k * WCODEC_VECTORS_PIECE + at);
                WCODEC_TAKE_FLOATS(y + 4, anchors + k * WCODEC_VECTORS_PIECE + at + 4);
                sum[k] = wcodec_vectors_add(sum[k], x, y);
            }
        }
    }
}

/* The row's anchor is known. Returns whether it is another one than before. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_vectors_settle(const struct wcodec_vectors_launch *l,
                                                      uint32_t row, uint32_t anchor)
{
    WCODEC_GLOBAL uint32_t *index = wcodec_vectors_words(l->index) + row;
    const uint32_t before = *index;
    *index = anchor;
    wcodec_vectors_words(l->place)[row] =
        wcodec_atomic_add(wcodec_vectors_words(l->counts) + anchor, 1);
    return before != anchor;
}

/* Add what the work-items have counted to a word of the result. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_tell(struct wcodec_warp *warp,
                                                const struct wcodec_vectors_item *w,
                                                const struct wcodec_vectors_launch *l,
                                                const uint32_t word, uint32_t own)
{
    WCODEC_GROUP_LOCAL uint32_t *counted = (WCODEC_GROUP_LOCAL uint32_t *)w->shared;
    uint32_t all = 0;
    (void)warp;
    WCODEC_SYNC_ITEMS(warp);
    counted[w->item] = own;
    WCODEC_SYNC_ITEMS(warp);
    if (w->item != 0)
        return;
    for (uint32_t i = 0; i < w->items; i++)
        all += counted[i];
    if (all != 0)
        wcodec_atomic_add(wcodec_vectors_words(l->result) + word, all);
}

/* The nearest anchor of each row. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_assign_kernel(struct wcodec_warp *warp,
                                                         const struct wcodec_vectors_item *w,
                                                         const struct wcodec_vectors_launch *l)
{
    const uint32_t row = w->group * w->items + w->item;
    uint32_t best = 0, changes = 0;
    float least = wcodec_bits_float(0x7f800000u);
    for (uint32_t first = 0; first < l->anchor_count; first += WCODEC_VECTORS_AT_ONCE) {
        float sum[WCODEC_VECTORS_AT_ONCE];
        wcodec_vectors_sums(warp, w, l, row, row < l->count, first, sum);
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < WCODEC_VECTORS_AT_ONCE; k++) {
            best = sum[k] < least ? first + k : best;
            least = sum[k] < least ? sum[k] : least;
        }
    }
    if (row < l->count) {
        wcodec_vectors_floats(l->distance)[row] = least;
        changes = wcodec_vectors_settle(l, row, best);
    }
    wcodec_vectors_tell(warp, w, l, WCODEC_VECTORS_NEXT_CHANGES, changes);
}

/* Where the rows of each anchor begin, by one work-group; counts are zero again. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_scan_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_vectors_item *w,
                                                       const struct wcodec_vectors_launch *l)
{
    WCODEC_GROUP_LOCAL uint32_t *sums = (WCODEC_GROUP_LOCAL uint32_t *)w->shared,
                                *empty = sums + w->items;
    WCODEC_GLOBAL uint32_t *result = wcodec_vectors_words(l->result);
    const uint32_t share = (l->anchor_count + w->items - 1) / w->items, first = w->item * share,
                   end = first + share < l->anchor_count ? first + share : l->anchor_count;
    uint32_t sum = 0, none = 0;
    (void)warp;
    for (uint32_t k = first; k < end; k++) {
        const uint32_t count = wcodec_vectors_words(l->counts)[k];
        sum += count;
        none += count == 0;
    }
    sums[w->item] = sum;
    empty[w->item] = none;
    WCODEC_SYNC_ITEMS(warp);
    for (uint32_t by = 1; by < w->items; by *= 2) {
        const uint32_t more = w->item >= by ? sums[w->item - by] : 0,
                       none_more = w->item >= by ? empty[w->item - by] : 0;
        WCODEC_SYNC_ITEMS(warp);
        sums[w->item] += more;
        empty[w->item] += none_more;
        WCODEC_SYNC_ITEMS(warp);
    }
    sum = sums[w->item] - sum;
    for (uint32_t k = first; k < end; k++) {
        wcodec_vectors_words(l->begin)[k] = sum;
        sum += wcodec_vectors_words(l->counts)[k];
        wcodec_vectors_words(l->counts)[k] = 0;
    }
    if (w->item != 0)
        return;
    wcodec_vectors_words(l->begin)[l->anchor_count] = l->count;
    result[WCODEC_VECTORS_EMPTY] = empty[w->items - 1];
    result[WCODEC_VECTORS_CHANGES] = result[WCODEC_VECTORS_NEXT_CHANGES];
    result[WCODEC_VECTORS_NEXT_CHANGES] = 0;
    result[WCODEC_VECTORS_COMPARED] = result[WCODEC_VECTORS_HARDEST];
    result[WCODEC_VECTORS_HARD] = result[WCODEC_VECTORS_HARDEST] = 0;
}

/* Rows by their anchors, in no order. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_scatter_kernel(const struct wcodec_vectors_item *w,
                                                          const struct wcodec_vectors_launch *l)
{
    const uint32_t row = w->group * w->items + w->item;
    if (row >= l->count)
        return;
    const uint32_t at = wcodec_vectors_words(l->begin)[wcodec_vectors_words(l->index)[row]] +
                        wcodec_vectors_words(l->place)[row];
    /* Bits of numbers that are not negative are in their order. */
    const uint64_t above =
        l->flags & WCODEC_VECTORS_TRIMMED_MEANS ? wcodec_vectors_words(l->distance)[row] : 0;
    wcodec_vectors_keys(l->keys)[at] = above << 32 | row;
}

/* Sort `count` different keys: merges that begin with a mirrored step, so that all steps put the
 * lesser key first, and keys beyond the count need not be there. */
#define WCODEC_VECTORS_SORT(name, space) \
    WCODEC_DEVICE_FUNCTION void name(struct wcodec_warp *warp, \
                                     const struct wcodec_vectors_item *w, space uint64_t *keys, \
                                     uint32_t count) \
    { \
        (void)warp; \
        for (uint32_t size = 2; size / 2 < count; size *= 2) \
            for (uint32_t by = size / 2; by > 0; by /= 2) { \
                for (uint32_t i = w->item; i < (count + size) / size * size / 2; i += w->items) { \
                    const uint32_t first = i / by * 2 * by, at = i % by, a = first + at, \
                                   b = by == size / 2 ? first + 2 * by - 1 - at : a + by; \
                    const uint64_t low = a < count ? keys[a] : 0, high = b < count ? keys[b] : 0; \
                    if (b < count && low > high) { \
                        keys[a] = high; \
                        keys[b] = low; \
                    } \
                } \
                WCODEC_SYNC_ITEMS(warp); \
            } \
    }
WCODEC_VECTORS_SORT(wcodec_vectors_sort_local, WCODEC_GROUP_LOCAL)
WCODEC_VECTORS_SORT(wcodec_vectors_sort_global, WCODEC_GLOBAL)

/* `sum`, and what column j of the rows `keys`[begin, end) adds to it, each step-th of them. */
#define WCODEC_VECTORS_COLUMN_SUM(name, space) \
    WCODEC_DEVICE_FUNCTION double name##_of( \
        const uint32_t format, const struct wcodec_vectors_launch *l, const space uint64_t *keys, \
        uint32_t begin, uint32_t end, uint32_t step, uint32_t j, double sum) \
    { \
        uint32_t i = begin; \
        for (; i < end && end - i > 7 * step; i += 8 * step) { \
            float x[8]; \
            WCODEC_UNROLL_ALL \
            for (uint32_t k = 0; k < 8; k++) \
                x[k] = wcodec_vectors_number( \
                    format, l, (uint64_t)(uint32_t)keys[i + k * step] * l->pitch + j); \
            WCODEC_UNROLL_ALL \
            for (uint32_t k = 0; k < 8; k++) \
                sum += (double)x[k]; \
        } \
        for (; i < end; i += step) \
            sum += (double)wcodec_vectors_number(format, l, \
                                                 (uint64_t)(uint32_t)keys[i] * l->pitch + j); \
        return sum; \
    } \
    WCODEC_DEVICE_FUNCTION double name(const struct wcodec_vectors_launch *l, \
                                       const space uint64_t *keys, uint32_t begin, uint32_t end, \
                                       uint32_t step, uint32_t j, double sum) \
    { \
        return WCODEC_VECTORS_BY_FORMAT(l, name##_CALL); \
    }
#define wcodec_vectors_sum_local_CALL(format) \
    wcodec_vectors_sum_local_of(format, l, keys, begin, end, step, j, sum)
#define wcodec_vectors_sum_global_CALL(format) \
    wcodec_vectors_sum_global_of(format, l, keys, begin, end, step, j, sum)
WCODEC_VECTORS_COLUMN_SUM(wcodec_vectors_sum_local, WCODEC_GROUP_LOCAL)
WCODEC_VECTORS_COLUMN_SUM(wcodec_vectors_sum_global, WCODEC_GLOBAL)

/* Number j of an anchor goes to its mean, or towards it. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_step(const struct wcodec_vectors_launch *l,
                                                uint32_t anchor, uint32_t j, float mean)
{
    WCODEC_GLOBAL float *at = wcodec_vectors_floats(l->anchors) + (uint64_t)anchor * l->pitch + j;
    float to = mean;
    if (!(l->flags & WCODEC_VECTORS_WHOLE)) {
        const float whole = wcodec_multiply(l->part, mean - *at);
        const float step = whole > 0.1f ? 0.1f : whole < -0.1f ? -0.1f : whole;
        to = wcodec_half_float(wcodec_to_f16(WCODEC_FLOAT_BITS(*at + step)));
    }
    *at = to;
}

/* What the rows of the parts before add up to, number j, by the first work-item of some that add;
 * and what there is with those of this part. */
WCODEC_DEVICE_FUNCTION double wcodec_vectors_before(const struct wcodec_vectors_launch *l,
                                                    uint32_t anchor, uint32_t j)
{
    return l->flags & WCODEC_VECTORS_ADDED
               ? wcodec_vectors_doubles(l->totals)[(uint64_t)anchor * l->pitch + j]
               : 0;
}

WCODEC_DEVICE_FUNCTION void wcodec_vectors_leave(const struct wcodec_vectors_launch *l,
                                                 uint32_t anchor, uint32_t j, double sum,
                                                 uint32_t count)
{
    if (l->flags & WCODEC_VECTORS_ADDED)
        wcodec_vectors_doubles(l->totals)[(uint64_t)anchor * l->pitch + j] = sum;
    else if (j < l->dimensions)
        wcodec_vectors_step(l, anchor, j, (float)(sum / (double)count));
}

/* A work-group has an anchor: its rows are put in order, and it is moved, or they are added to
 * those of other parts. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_move_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_vectors_item *w,
                                                       const struct wcodec_vectors_launch *l)
{
    const bool trimmed = (l->flags & WCODEC_VECTORS_TRIMMED_MEANS) != 0,
               any = (l->flags & WCODEC_VECTORS_ANY_ORDER) != 0;
    const uint32_t begin = wcodec_vectors_words(l->begin)[w->group],
                   all = wcodec_vectors_words(l->begin)[w->group + 1] - begin,
                   trim = trimmed ? all / 10 : 0, count = all - 2 * trim;
    const bool fits = all <= WCODEC_VECTORS_SORTED;
    WCODEC_GLOBAL uint64_t *keys = wcodec_vectors_keys(l->keys) + begin;
    WCODEC_GROUP_LOCAL uint64_t *near = w->shared;
    WCODEC_GROUP_LOCAL double *sums = (WCODEC_GROUP_LOCAL double *)(near + WCODEC_VECTORS_SORTED);
    (void)warp;
    if (all == 0)
        return;
    for (uint32_t i = w->item; fits && i < all; i += w->items)
        near[i] = keys[i];
    WCODEC_SYNC_ITEMS(warp);
    if (fits && (trimmed || !any))
        wcodec_vectors_sort_local(warp, w, near, all);
    else if (trimmed || !any)
        wcodec_vectors_sort_global(warp, w, keys, all);
    const uint32_t slices = any && l->pitch < w->items ? w->items / l->pitch : 1,
                   slice = slices > 1 ? w->item / l->pitch : 0;
    for (uint32_t first = 0; first < l->pitch; first += w->items) {
        const uint32_t j = slices > 1 ? w->item % l->pitch : first + w->item;
        double sum = 0;
        if (j < l->pitch && slice == 0)
            sum = wcodec_vectors_before(l, w->group, j);
        if (j < l->pitch && slice < slices)
            sum =
                fits ? wcodec_vectors_sum_local(l, near, trim + slice, trim + count, slices, j, sum)
                     : wcodec_vectors_sum_global(l, keys, trim + slice, trim + count, slices, j,
                                                 sum);
        if (slices > 1) {
            sums[w->item] = sum;
            WCODEC_SYNC_ITEMS(warp);
            for (uint32_t s = 1; slice == 0 && s < slices; s++)
                sum += sums[s * l->pitch + j];
        }
        if (j < l->pitch && slice == 0)
            wcodec_vectors_leave(l, w->group, j, sum, count);
    }
    if (l->flags & WCODEC_VECTORS_ADDED && w->item == 0)
        wcodec_vectors_words(l->members)[w->group] += all;
}

/* A work-group has an anchor, whose rows of all parts are known. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_finish_kernel(const struct wcodec_vectors_item *w,
                                                         const struct wcodec_vectors_launch *l)
{
    const uint32_t count = wcodec_vectors_words(l->members)[w->group];
    WCODEC_GLOBAL double *totals =
        wcodec_vectors_doubles(l->totals) + (uint64_t)w->group * l->pitch;
    for (uint32_t j = w->item; j < l->pitch; j += w->items) {
        if (count != 0 && j < l->dimensions)
            wcodec_vectors_step(l, w->group, j, (float)(totals[j] / (double)count));
        totals[j] = 0;
    }
}

/* Of the work-items' rows the farthest: of equal ones the first, or the last. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_vectors_farthest(struct wcodec_warp *warp,
                                                        const struct wcodec_vectors_item *w,
                                                        const bool last, float distance,
                                                        uint32_t row, float *most)
{
    WCODEC_GROUP_LOCAL float *far = (WCODEC_GROUP_LOCAL float *)w->shared;
    WCODEC_GROUP_LOCAL uint32_t *rows = (WCODEC_GROUP_LOCAL uint32_t *)(far + w->items);
    (void)warp;
    WCODEC_SYNC_ITEMS(warp);
    far[w->item] = distance;
    rows[w->item] = row;
    WCODEC_SYNC_ITEMS(warp);
    for (uint32_t count = w->items; count > 1; count = (count + 1) / 2) {
        const uint32_t kept = (count + 1) / 2, other = w->item + kept;
        if (other < count) {
            const bool beyond = last ? rows[other] > rows[w->item] : rows[other] < rows[w->item];
            if (far[other] > far[w->item] || (far[other] == far[w->item] && beyond)) {
                far[w->item] = far[other];
                rows[w->item] = rows[other];
            }
        }
        WCODEC_SYNC_ITEMS(warp);
    }
    *most = far[0];
    return rows[0];
}

/* Each anchor without rows goes to the row that is farthest from its own, which counts as near
 * then: by one work-group. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_seed_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_vectors_item *w,
                                                       const struct wcodec_vectors_launch *l)
{
    const WCODEC_GLOBAL uint32_t *begin = wcodec_vectors_words(l->begin);
    WCODEC_GLOBAL float *distance = wcodec_vectors_floats(l->distance);
    if (wcodec_vectors_words(l->result)[WCODEC_VECTORS_EMPTY] == 0)
        return;
    for (uint32_t k = 0; k < l->anchor_count; k++) {
        float most = -1;
        uint32_t row = 0;
        if (begin[k] != begin[k + 1])
            continue;
        for (uint32_t i = w->item; i < l->count; i += w->items)
            if (distance[i] > most) {
                most = distance[i];
                row = i;
            }
        row = wcodec_vectors_farthest(warp, w, false, most, row, &most);
        for (uint32_t j = w->item; j < l->pitch; j += w->items)
            wcodec_vectors_floats(l->anchors)[(uint64_t)k * l->pitch + j] =
                wcodec_vectors_element(l, (uint64_t)row * l->pitch + j);
        if (w->item == 0)
            distance[row] = 0;
        WCODEC_SYNC_ITEMS(warp);
    }
}

/* What a block's rows add up to, in their order. */
WCODEC_DEVICE_FUNCTION double wcodec_vectors_in_order(const WCODEC_GROUP_LOCAL double *of,
                                                      uint32_t count)
{
    double sum = 0;
    WCODEC_UNROLL_MANY
    for (uint32_t i = 0; i < count; i++)
        sum += of[i];
    return sum;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_vectors_rows_of(const struct wcodec_vectors_launch *l,
                                                       uint32_t block)
{
    const uint32_t left = l->count - block * WCODEC_VECTORS_BLOCK_ROWS;
    return left < WCODEC_VECTORS_BLOCK_ROWS ? left : WCODEC_VECTORS_BLOCK_ROWS;
}

/* Distances of rows to their anchors as these are now, of a block to a work-group, and their sum.
 */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_energy_kernel(struct wcodec_warp *warp,
                                                         const struct wcodec_vectors_item *w,
                                                         const struct wcodec_vectors_launch *l)
{
    WCODEC_GROUP_LOCAL double *of = (WCODEC_GROUP_LOCAL double *)w->shared;
    const uint32_t first = w->group * WCODEC_VECTORS_BLOCK_ROWS,
                   count = wcodec_vectors_rows_of(l, w->group);
    (void)warp;
    for (uint32_t i = w->item; i < count; i += w->items)
        of[i] = (double)wcodec_vectors_to_anchor(l, first + i,
                                                 wcodec_vectors_words(l->index)[first + i]);
    WCODEC_SYNC_ITEMS(warp);
    if (w->item == 0)
        wcodec_vectors_doubles(l->sums)[w->group] = wcodec_vectors_in_order(of, count);
}

/* All blocks', by one work-group. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_total_kernel(struct wcodec_warp *warp,
                                                        const struct wcodec_vectors_item *w,
                                                        const struct wcodec_vectors_launch *l)
{
    WCODEC_GROUP_LOCAL double *of = (WCODEC_GROUP_LOCAL double *)w->shared;
    const uint32_t blocks = (l->count + WCODEC_VECTORS_BLOCK_ROWS - 1) / WCODEC_VECTORS_BLOCK_ROWS;
    double sum = 0;
    (void)warp;
    for (uint32_t first = 0; first < blocks; first += WCODEC_VECTORS_SORTED) {
        const uint32_t left = blocks - first,
                       count = left < WCODEC_VECTORS_SORTED ? left : WCODEC_VECTORS_SORTED;
        for (uint32_t i = w->item; i < count; i += w->items)
            of[i] = wcodec_vectors_doubles(l->sums)[first + i];
        WCODEC_SYNC_ITEMS(warp);
        if (w->item == 0) {
            WCODEC_UNROLL_MANY
            for (uint32_t i = 0; i < count; i++)
                sum += of[i];
        }
        WCODEC_SYNC_ITEMS(warp);
    }
    if (w->item == 0)
        wcodec_vectors_doubles(l->result)[0] = sum;
}

#endif
