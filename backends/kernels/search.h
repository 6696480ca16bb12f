/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search in coded vectors: lib/vectors/search.c is the reference, to the last bit. Products with
 * residuals are whole numbers; what is made of them is rounded as there, one operation after the
 * other, where binary64 is not exact anyway. What atomics give out in any order says where things
 * are, and not what is found: keys, which are all different, are put in order at the end. */
#ifndef WCODEC_KERNELS_SEARCH_H
#define WCODEC_KERNELS_SEARCH_H

#include "backends/kernels/search_select.h"

/* What four numbers of an anchor add to distances, or products, of queries in local memory. */
WCODEC_DEVICE_FUNCTION void wcodec_search_add(const bool distance,
                                              const WCODEC_GROUP_LOCAL float *near, uint32_t step,
                                              const float *y, float *sum, double *product)
{
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < WCODEC_SEARCH_TOGETHER; q++) {
        float x[4];
        WCODEC_TAKE_FLOATS(x, near + q * step);
        if (distance) {
            float four = wcodec_vectors_square(x[0], y[0]);
            WCODEC_UNROLL_ALL
            for (uint32_t j = 1; j < 4; j++)
                four += wcodec_vectors_square(x[j], y[j]);
            sum[q] += four;
        } else {
            WCODEC_UNROLL_ALL
            for (uint32_t j = 0; j < 4; j++)
                product[q] += (double)x[j] * (double)y[j];
        }
    }
}

/* Distances, or products, of an anchor and some queries. */
WCODEC_DEVICE_FUNCTION void wcodec_search_anchor(const bool distance, struct wcodec_warp *warp,
                                                 const struct wcodec_vectors_item *w,
                                                 const struct wcodec_search_launch *l,
                                                 uint32_t anchor, uint32_t first, float *sum)
{
    WCODEC_GROUP_LOCAL float *near = (WCODEC_GROUP_LOCAL float *)w->shared;
    const WCODEC_GLOBAL float *panel =
        wcodec_vectors_floats(l->panels) + (uint64_t)(anchor / 32) * 32 * l->pitch + anchor % 32;
    double product[WCODEC_SEARCH_TOGETHER];
    (void)warp;
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < WCODEC_SEARCH_TOGETHER; q++) {
        sum[q] = 0;
        product[q] = 0;
    }
    for (uint32_t at = 0; at < l->pitch; at += WCODEC_SEARCH_FEW) {
        const uint32_t size = wcodec_search_lesser(l->pitch - at, WCODEC_SEARCH_FEW);
        WCODEC_SYNC_ITEMS(warp);
        for (uint32_t i = w->item; i < WCODEC_SEARCH_TOGETHER * size; i += w->items) {
            const uint32_t q = wcodec_search_lesser(first + i / size, l->count - 1);
            near[i] = wcodec_vectors_floats(l->queries)[(uint64_t)q * l->pitch + at + i % size];
        }
        WCODEC_SYNC_ITEMS(warp);
        for (uint32_t begin = 0; anchor < l->anchor_count && begin < size; begin += 16) {
            WCODEC_UNROLL_ALL
            for (uint32_t j = begin; j < begin + 16; j += 4) {
                float y[4];
                WCODEC_UNROLL_ALL
                for (uint32_t i = 0; i < 4; i++)
                    y[i] = panel[32 * (at + j + i)];
                wcodec_search_add(distance, near + j, size, y, sum, product);
            }
        }
    }
    if (!distance) {
        WCODEC_UNROLL_ALL
        for (uint32_t q = 0; q < WCODEC_SEARCH_TOGETHER; q++)
            sum[q] = (float)product[q];
    }
}

/* Distances, or products, of all queries and anchors, and the order of anchors: a work-item has an
 * anchor. */
WCODEC_DEVICE_FUNCTION void wcodec_search_measure_kernel(struct wcodec_warp *warp,
                                                         const struct wcodec_vectors_item *w,
                                                         const struct wcodec_search_launch *l)
{
    const uint32_t blocks = (l->anchor_count + w->items - 1) / w->items,
                   anchor = w->group % blocks * w->items + w->item,
                   first = w->group / blocks * WCODEC_SEARCH_TOGETHER;
    float sum[WCODEC_SEARCH_TOGETHER];
    for (uint64_t i = (uint64_t)w->group * w->items + w->item;
         !(l->flags & WCODEC_SEARCH_ALL) && i < l->anchor_count + (uint64_t)l->count;
         i += (uint64_t)w->groups * w->items)
        if (i < l->anchor_count)
            wcodec_vectors_words(l->counts)[i] = 0;
        else
            wcodec_vectors_words(l->looked)[i - l->anchor_count] = 0;
    if (l->flags & WCODEC_SEARCH_DISTANCE)
        wcodec_search_anchor(true, warp, w, l, anchor, first, sum);
    else
        wcodec_search_anchor(false, warp, w, l, anchor, first, sum);
    if (anchor >= l->anchor_count)
        return;
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < WCODEC_SEARCH_TOGETHER; q++) {
        const uint64_t at = (uint64_t)(first + q) * l->anchor_count + anchor;
        float key = sum[q];
        if (first + q >= l->count)
            continue;
        wcodec_vectors_floats(l->base)[at] = sum[q];
        if (l->flags & WCODEC_SEARCH_ALL)
            continue;
        if (l->flags & WCODEC_SEARCH_ANGLE) {
            const float length = wcodec_vectors_floats(l->anchor_lengths)[anchor];
            key = length > 0 ? wcodec_divide(-key, length) : 0;
        } else if (!(l->flags & WCODEC_SEARCH_DISTANCE))
            key = -key;
        wcodec_vectors_words(l->order)[at] = wcodec_search_order(key);
    }
}

/* A query looks at an anchor: it gets slots for the rows, and the anchor a query more. */
WCODEC_DEVICE_FUNCTION void wcodec_search_take(const struct wcodec_search_launch *l, uint32_t query,
                                               uint32_t pair, uint32_t anchor)
{
    WCODEC_GLOBAL uint32_t *probe =
        wcodec_vectors_words(l->probes) + 3 * ((uint64_t)query * l->pairs + pair);
    const WCODEC_GLOBAL uint32_t *begin = wcodec_vectors_words(l->begin) + anchor;
    const uint32_t rows = begin[1] - begin[0];
    probe[0] = rows == 0 ? WCODEC_SEARCH_NOWHERE : anchor;
    if (rows == 0)
        return;
    probe[1] = wcodec_atomic_add(wcodec_vectors_words(l->looked) + query, rows);
    probe[2] = wcodec_atomic_add(wcodec_vectors_words(l->counts) + anchor, 1);
}

/* The anchors of a segment that are nearest to a query: a work-group has both. */
WCODEC_DEVICE_FUNCTION void wcodec_search_choose_kernel(struct wcodec_warp *warp,
                                                        const struct wcodec_vectors_item *w,
                                                        const struct wcodec_search_launch *l)
{
    const WCODEC_GLOBAL uint32_t *segments = wcodec_vectors_words(l->segments);
    const uint32_t query = w->group / l->segment_count, segment = w->group % l->segment_count,
                   begin = segments[segment], count = segments[segment + 1] - begin;
    uint32_t pair = 0;
    struct wcodec_search_source s;
    for (uint32_t i = 0; i < segment; i++)
        pair += wcodec_search_lesser(segments[i + 1] - segments[i], l->probe_count);
    if (count <= l->probe_count) {
        for (uint32_t i = w->item; i < count; i += w->items)
            wcodec_search_take(l, query, pair + i, begin + i);
        return;
    }
    s.from = l->order + 4 * ((uint64_t)query * l->anchor_count + begin);
    s.begin = 0;
    s.end = count;
    s.query = query;
    wcodec_search_least(WCODEC_SEARCH_OF_ANCHORS, warp, w, l, &s, l->probe_count);
    for (uint32_t i = w->item; i < l->probe_count; i += w->items)
        wcodec_search_take(l, query, pair + i, begin + (uint32_t)w->shared[i]);
}

/* Where the queries of each anchor begin, by one work-group. */
WCODEC_DEVICE_FUNCTION void wcodec_search_group_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_vectors_item *w,
                                                       const struct wcodec_search_launch *l)
{
    WCODEC_GROUP_LOCAL uint32_t *sums = (WCODEC_GROUP_LOCAL uint32_t *)w->shared;
    const uint32_t share = (l->anchor_count + w->items - 1) / w->items,
                   begin = wcodec_search_lesser(w->item * share, l->anchor_count),
                   end = wcodec_search_lesser(begin + share, l->anchor_count);
    uint32_t sum = 0;
    (void)warp;
    for (uint32_t k = begin; k < end; k++)
        sum += wcodec_vectors_words(l->counts)[k];
    sums[w->item] = sum;
    WCODEC_SYNC_ITEMS(warp);
    for (uint32_t by = 1; by < w->items; by *= 2) {
        const uint32_t more = w->item >= by ? sums[w->item - by] : 0;
        WCODEC_SYNC_ITEMS(warp);
        sums[w->item] += more;
        WCODEC_SYNC_ITEMS(warp);
    }
    sum = sums[w->item] - sum;
    for (uint32_t k = begin; k < end; k++) {
        wcodec_vectors_words(l->first)[k] = sum;
        sum += wcodec_vectors_words(l->counts)[k];
    }
    if (w->item == w->items - 1)
        wcodec_vectors_words(l->first)[l->anchor_count] = sum;
}

/* Queries by the anchors that they look at: a work-item has a probe. */
WCODEC_DEVICE_FUNCTION void wcodec_search_place_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_vectors_item *w,
                                                       const struct wcodec_search_launch *l)
{
    const uint64_t i = (uint64_t)w->group * w->items + w->item;
    const WCODEC_GLOBAL uint32_t *probe = wcodec_vectors_words(l->probes) + 3 * i;
    (void)warp;
    if (i >= (uint64_t)l->count * l->pairs || probe[0] == WCODEC_SEARCH_NOWHERE)
        return;
    WCODEC_GLOBAL uint32_t *entry =
        wcodec_vectors_words(l->entries) +
        2 * (uint64_t)(wcodec_vectors_words(l->first)[probe[0]] + probe[2]);
    entry[0] = (uint32_t)(i / l->pairs);
    entry[1] = probe[1];
}

/* Some queries that look at an anchor. */
struct wcodec_search_some {
    WCODEC_GROUP_LOCAL uint32_t *words; /* [TOGETHER][2][PART / 4]: of vectors, upper and lower
                                           bytes */
    WCODEC_GROUP_LOCAL float *reduced;  /* of each work-item */
    WCODEC_GROUP_LOCAL uint32_t *query; /* of each; those beyond the count: the last */
    WCODEC_GROUP_LOCAL uint32_t *slot;
    WCODEC_GROUP_LOCAL float *unit;
    WCODEC_GROUP_LOCAL float *base;
    WCODEC_GROUP_LOCAL float *length;
    uint32_t anchor, begin, count;
    float scale;
};

/* Numbers [at, at + 4) of a query, for squared distances without its anchor. */
WCODEC_DEVICE_FUNCTION void wcodec_search_numbers(const struct wcodec_search_launch *l,
                                                  uint32_t query, uint32_t anchor, uint32_t at,
                                                  float *x)
{
    WCODEC_LOAD_FLOATS(x, wcodec_vectors_floats(l->queries) + (uint64_t)query * l->pitch + at);
    if (l->flags & WCODEC_SEARCH_DISTANCE) {
        float y[4];
        WCODEC_LOAD_FLOATS(y, wcodec_vectors_floats(l->anchors) + (uint64_t)anchor * l->pitch + at);
        WCODEC_UNROLL_ALL
        for (uint32_t j = 0; j < 4; j++)
            x[j] -= y[j];
    }
}

/* Products of a row with vectors' upper and lower bytes. */
struct wcodec_search_sums {
    int32_t upper[WCODEC_SEARCH_TOGETHER], lower[WCODEC_SEARCH_TOGETHER];
};

/* Which queries they are, and the units of their vectors. */
WCODEC_DEVICE_FUNCTION void wcodec_search_open(struct wcodec_warp *warp,
                                               const struct wcodec_vectors_item *w,
                                               const struct wcodec_search_launch *l,
                                               const struct wcodec_search_some *s, uint32_t first)
{
    const bool all = (l->flags & WCODEC_SEARCH_ALL) != 0;
    const uint32_t share = w->items / WCODEC_SEARCH_TOGETHER, own = w->item / share,
                   entry = first + wcodec_search_lesser(own, s->count - 1);
    const WCODEC_GLOBAL uint32_t *entries = wcodec_vectors_words(l->entries) + 2 * (uint64_t)entry;
    const uint32_t query = all ? entry : entries[0];
    float most = 0;
    (void)warp;
    for (uint32_t at = w->item % share * 4; at < l->pitch; at += 4 * share) {
        float x[4];
        wcodec_search_numbers(l, query, s->anchor, at, x);
        WCODEC_UNROLL_ALL
        for (uint32_t j = 0; j < 4; j++) {
            const float size = x[j] < 0 ? -x[j] : x[j];
            most = size > most ? size : most;
        }
    }
    s->reduced[w->item] = most;
    WCODEC_SYNC_ITEMS(warp);
    if (w->item % share == 0) {
        for (uint32_t i = 1; i < share; i++) {
            const float other = s->reduced[w->item + i];
            most = other > most ? other : most;
        }
        s->query[own] = query;
        s->slot[own] = all ? s->begin : entries[1];
        s->unit[own] = wcodec_divide(most, 32767.0f);
        s->base[own] =
            wcodec_vectors_floats(l->base)[(uint64_t)query * l->anchor_count + s->anchor];
        s->length[own] = wcodec_vectors_floats(l->query_lengths)[query];
    }
}

/* The vectors' numbers [at, at + size), whole ones of 16 bits. */
WCODEC_DEVICE_FUNCTION void wcodec_search_round(struct wcodec_warp *warp,
                                                const struct wcodec_vectors_item *w,
                                                const struct wcodec_search_launch *l,
                                                const struct wcodec_search_some *s, uint32_t at,
                                                uint32_t size)
{
    const uint32_t share = w->items / WCODEC_SEARCH_TOGETHER, own = w->item / share;
    const uint32_t query = s->query[own];
    const float unit = s->unit[own];
    (void)warp;
    for (uint32_t i = w->item % share; i < size / 4; i += share) {
        uint32_t upper = 0, lower = 0;
        float x[4];
        wcodec_search_numbers(l, query, s->anchor, at + 4 * i, x);
        WCODEC_UNROLL_ALL
        for (uint32_t j = 0; j < 4; j++) {
            /* To the nearest whole number, of equally near ones the even one: it is below 2^22. */
            const float whole = (unit > 0 ? wcodec_divide(x[j], unit) : 0) + 12582912.0f;
            int32_t number = (int32_t)(WCODEC_FLOAT_BITS(whole) - 0x4b400000u);
            number = number > 32767 ? 32767 : number < -32767 ? -32767 : number;
            upper |= ((uint32_t)number >> 8 & 0xffu) << 8 * j;
            lower |= ((uint32_t)number & 0xffu) << 8 * j;
        }
        s->words[own * (WCODEC_SEARCH_PART / 2) + i] = upper;
        s->words[own * (WCODEC_SEARCH_PART / 2) + WCODEC_SEARCH_PART / 4 + i] = lower;
    }
}

/* What 16 codes of each of two rows, with words from `at` on, add to products with upper and lower
 * bytes. */
WCODEC_DEVICE_FUNCTION void wcodec_search_bytes(const uint32_t together,
                                                const struct wcodec_search_some *s, uint32_t at,
                                                uint32_t code[WCODEC_SEARCH_PAIR][4],
                                                struct wcodec_search_sums *sums)
{
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < together; q++) {
        const WCODEC_GROUP_LOCAL uint32_t *words = s->words + q * (WCODEC_SEARCH_PART / 2) + at;
        uint32_t upper[4], lower[4];
        WCODEC_TAKE_WORDS(upper, words);
        WCODEC_TAKE_WORDS(lower, words + WCODEC_SEARCH_PART / 4);
        WCODEC_UNROLL_ALL
        for (uint32_t r = 0; r < WCODEC_SEARCH_PAIR; r++) {
            WCODEC_UNROLL_ALL
            for (uint32_t j = 0; j < 4; j++) {
                sums[r].upper[q] = wcodec_dot_signed(upper[j], code[r][j], sums[r].upper[q]);
                sums[r].lower[q] = wcodec_dot_unsigned(lower[j], code[r][j], sums[r].lower[q]);
            }
        }
    }
}

/* ... the numbers [at, at + size) of rows `row` and `other`. */
WCODEC_DEVICE_FUNCTION void
wcodec_search_multiply(const uint32_t together, const struct wcodec_search_launch *l,
                       const struct wcodec_search_some *s, const uint32_t row[WCODEC_SEARCH_PAIR],
                       uint32_t at, uint32_t size, struct wcodec_search_sums *sums)
{
    const WCODEC_GLOBAL uint8_t *codes[WCODEC_SEARCH_PAIR];
    WCODEC_UNROLL_ALL
    for (uint32_t r = 0; r < WCODEC_SEARCH_PAIR; r++)
        codes[r] = (const WCODEC_GLOBAL uint8_t *)l->codes +
                   (uint64_t)(row[r] / 32) * 32 * l->pitch + (uint64_t)32 * at + row[r] % 32 * 16;
    for (uint32_t begin = 0; begin < size / 4; begin += 8) {
        uint32_t code[2][WCODEC_SEARCH_PAIR][4];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++) {
            WCODEC_UNROLL_ALL
            for (uint32_t r = 0; r < WCODEC_SEARCH_PAIR; r++)
                WCODEC_READ_16(code[i][r], codes[r] + 128 * (begin + 4 * i));
        }
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++)
            wcodec_search_bytes(together, s, begin + 4 * i, code[i], sums);
    }
}

/* The order of a row, by its product with a query's vector. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_search_row(const struct wcodec_search_launch *l,
                                                  const struct wcodec_search_some *s, uint32_t q,
                                                  float of_row, int32_t upper, int32_t lower)
{
    const float sum = (float)((double)upper * 256.0 + (double)lower),
                product = wcodec_multiply(wcodec_multiply(s->unit[q], s->scale), sum);
    float key;
    if (l->flags & WCODEC_SEARCH_DISTANCE) {
        const float less = s->base[q] - wcodec_multiply(2, product), distance = less + of_row;
        return wcodec_search_order(distance > 0 ? distance : 0);
    }
    key = -(s->base[q] + product);
    if (l->flags & WCODEC_SEARCH_ANGLE) {
        const float lengths = wcodec_multiply(s->length[q], of_row);
        key = lengths > 0 ? wcodec_divide(key, lengths) : 0;
    }
    /* Of zeros there is one; what is no number is not found. */
    return key == key ? wcodec_search_order(key + 0.0f) : WCODEC_SEARCH_NOWHERE;
}

WCODEC_DEVICE_FUNCTION bool wcodec_search_allows(const struct wcodec_search_launch *l, uint32_t row)
{
    if (!(l->flags & WCODEC_SEARCH_FILTERED))
        return true;
    const uint32_t rank = wcodec_vectors_words(l->ranks)[row];
    return (wcodec_vectors_words(l->allowed)[rank / 32] >> rank % 32 & 1) != 0;
}

/* Orders of a row for some queries. */
WCODEC_DEVICE_FUNCTION void wcodec_search_tell(const uint32_t together,
                                               const struct wcodec_search_launch *l,
                                               const struct wcodec_search_some *s, uint32_t row,
                                               const struct wcodec_search_sums *sums)
{
    const bool allowed = wcodec_search_allows(l, row);
    const float of_row =
        wcodec_vectors_floats(l->flags & WCODEC_SEARCH_DISTANCE ? l->squares : l->lengths)[row];
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < together; q++)
        if (q < s->count)
            wcodec_vectors_words(
                l->keys)[(uint64_t)s->query[q] * l->room + s->slot[q] + (row - s->begin)] =
                allowed ? wcodec_search_row(l, s, q, of_row, sums->upper[q], sums->lower[q])
                        : WCODEC_SEARCH_NOWHERE;
}

/* Rows [first, end) of an anchor with some queries: a work-item has two of them, as far apart as
 * there are work-items. */
WCODEC_DEVICE_FUNCTION void wcodec_search_rows(const uint32_t together, struct wcodec_warp *warp,
                                               const struct wcodec_vectors_item *w,
                                               const struct wcodec_search_launch *l,
                                               const struct wcodec_search_some *s, uint32_t first,
                                               uint32_t end)
{
    for (uint32_t begin = first; begin < end; begin += WCODEC_SEARCH_PAIR * w->items) {
        struct wcodec_search_sums sums[WCODEC_SEARCH_PAIR];
        uint32_t row[WCODEC_SEARCH_PAIR];
        WCODEC_UNROLL_ALL
        for (uint32_t r = 0; r < WCODEC_SEARCH_PAIR; r++) {
            row[r] = wcodec_search_lesser(begin + r * w->items + w->item, end - 1);
            WCODEC_UNROLL_ALL
            for (uint32_t q = 0; q < together; q++)
                sums[r].upper[q] = sums[r].lower[q] = 0;
        }
        for (uint32_t at = 0; at < l->pitch; at += WCODEC_SEARCH_PART) {
            const uint32_t size = wcodec_search_lesser(l->pitch - at, WCODEC_SEARCH_PART);
            WCODEC_SYNC_ITEMS(warp);
            wcodec_search_round(warp, w, l, s, at, size);
            WCODEC_SYNC_ITEMS(warp);
            wcodec_search_multiply(together, l, s, row, at, size, sums);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t r = 0; r < WCODEC_SEARCH_PAIR; r++)
            if (begin + r * w->items + w->item < end)
                wcodec_search_tell(together, l, s, row[r], &sums[r]);
    }
}

/* Orders of all rows that are looked at: a work-group has a piece of an anchor's, and each so many
 * of the queries. */
WCODEC_DEVICE_FUNCTION void wcodec_search_look_kernel(struct wcodec_warp *warp,
                                                      const struct wcodec_vectors_item *w,
                                                      const struct wcodec_search_launch *l)
{
    const WCODEC_GLOBAL uint32_t *piece =
        wcodec_vectors_words(l->pieces) + 2 * (uint64_t)(w->group % l->piece_count);
    const uint32_t step = w->groups / l->piece_count * WCODEC_SEARCH_TOGETHER;
    struct wcodec_search_some s;
    s.words = (WCODEC_GROUP_LOCAL uint32_t *)w->shared;
    s.reduced =
        (WCODEC_GROUP_LOCAL float *)(s.words + WCODEC_SEARCH_TOGETHER * (WCODEC_SEARCH_PART / 2));
    s.query = (WCODEC_GROUP_LOCAL uint32_t *)(s.reduced + w->items);
    s.slot = s.query + WCODEC_SEARCH_TOGETHER;
    s.unit = (WCODEC_GROUP_LOCAL float *)(s.slot + WCODEC_SEARCH_TOGETHER);
    s.base = s.unit + WCODEC_SEARCH_TOGETHER;
    s.length = s.base + WCODEC_SEARCH_TOGETHER;
    s.anchor = piece[0];
    s.begin = wcodec_vectors_words(l->begin)[s.anchor];
    s.scale = wcodec_vectors_floats(l->scales)[s.anchor];
    const bool all = (l->flags & WCODEC_SEARCH_ALL) != 0;
    const uint32_t end = wcodec_search_lesser(piece[1] + WCODEC_SEARCH_ROWS,
                                              wcodec_vectors_words(l->begin)[s.anchor + 1]),
                   first = all ? 0 : wcodec_vectors_words(l->first)[s.anchor],
                   last = all ? l->count : wcodec_vectors_words(l->first)[s.anchor + 1];
    for (uint32_t i = first + w->group / l->piece_count * WCODEC_SEARCH_TOGETHER; i < last;
         i += step) {
        s.count = wcodec_search_lesser(last - i, WCODEC_SEARCH_TOGETHER);
        WCODEC_SYNC_ITEMS(warp);
        wcodec_search_open(warp, w, l, &s, i);
        if (s.count == 1)
            wcodec_search_rows(1, warp, w, l, &s, piece[1], end);
        else
            wcodec_search_rows(WCODEC_SEARCH_TOGETHER, warp, w, l, &s, piece[1], end);
    }
}

/* The first of what was found, then none. */
WCODEC_DEVICE_FUNCTION void wcodec_search_give(const struct wcodec_vectors_item *w,
                                               const struct wcodec_search_launch *l, uint64_t to,
                                               uint32_t count)
{
    for (uint32_t i = w->item; i < l->k; i += w->items)
        wcodec_vectors_keys(to)[(uint64_t)w->group * l->k + i] =
            i < count ? w->shared[i] : WCODEC_SEARCH_NONE;
}

/* The k nearest among a part of the rows that a query looks at. */
WCODEC_DEVICE_FUNCTION void wcodec_search_select_kernel(struct wcodec_warp *warp,
                                                        const struct wcodec_vectors_item *w,
                                                        const struct wcodec_search_launch *l)
{
    const uint32_t query = w->group / l->splits, part = w->group % l->splits,
                   count = l->flags & WCODEC_SEARCH_ALL ? l->rows
                                                        : wcodec_vectors_words(l->looked)[query];
    struct wcodec_search_source s;
    s.from = l->keys + 4 * (uint64_t)query * l->room;
    s.begin = (uint32_t)((uint64_t)count * part / l->splits);
    s.end = (uint32_t)((uint64_t)count * (part + 1) / l->splits);
    s.query = query;
    wcodec_search_give(w, l, l->splits > 1 ? l->parts : l->found,
                       wcodec_search_least(WCODEC_SEARCH_OF_ROWS, warp, w, l, &s, l->k));
}

/* ... and of all parts. */
WCODEC_DEVICE_FUNCTION void wcodec_search_merge_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_vectors_item *w,
                                                       const struct wcodec_search_launch *l)
{
    struct wcodec_search_source s;
    s.from = l->parts + 8 * (uint64_t)w->group * l->splits * l->k;
    s.begin = 0;
    s.end = l->splits * l->k;
    s.query = w->group;
    wcodec_search_give(w, l, l->found,
                       wcodec_search_least(WCODEC_SEARCH_OF_KEYS, warp, w, l, &s, l->k));
}

#endif
