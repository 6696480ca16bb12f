/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Outliers of tiles of one coded field, and elements stored one by one: of tiles that end within a
 * group or are not aligned. */
#ifndef WCODEC_KERNELS_OUTLIERS_H
#define WCODEC_KERNELS_OUTLIERS_H

#include "backends/kernels/geometry.h"
#include "backends/kernels/rans.h"

WCODEC_DEVICE_FUNCTION uint32_t wcodec_load_element(const struct wcodec_kind k,
                                                    const WCODEC_GLOBAL uint8_t *at)
{
    return k.bytes == 1   ? *(const volatile WCODEC_GLOBAL uint8_t *)at
           : k.bytes == 2 ? *(const volatile WCODEC_GLOBAL uint16_t *)at
                          : *(const volatile WCODEC_GLOBAL uint32_t *)at;
}

WCODEC_DEVICE_FUNCTION void wcodec_store_one(const struct wcodec_kind k, WCODEC_GLOBAL uint8_t *at,
                                             uint32_t v)
{
    if (k.bytes == 1)
        *(volatile WCODEC_GLOBAL uint8_t *)at = (uint8_t)v;
    else if (k.bytes == 2)
        *(volatile WCODEC_GLOBAL uint16_t *)at = (uint16_t)v;
    else
        *(volatile WCODEC_GLOBAL uint32_t *)at = v;
}

/* The first `count` of a lane's four elements in o[0] to o[k.bytes - 1]. */
WCODEC_DEVICE_FUNCTION void wcodec_store_some(const struct wcodec_kind k, WCODEC_GLOBAL uint8_t *to,
                                              const uint32_t *o, uint32_t count)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        if (i < count)
            wcodec_store_one(k, to + i * k.bytes, o[i * k.bytes / 4] >> i * k.bytes % 4 * 8);
}

/* All four. */
WCODEC_DEVICE_FUNCTION void wcodec_store_elements(const struct wcodec_kind k,
                                                  WCODEC_GLOBAL uint8_t *to, const uint32_t *o)
{
    if (k.bytes == 1)
        wcodec_store_u32(to, o[0]);
    else if (k.bytes == 2)
        wcodec_store_u2(to, o[0], o[1]);
    else
        wcodec_store_once_u4(to, o[0], o[1], o[2], o[3]);
}

#define WCODEC_NO_OUTLIER 0xffffffffu /* or it is in place */

/* A tile's outliers, 32 at a time: one for each lane, position << 8 | value. They are put in place
 * as long as their elements are in the cache: at the end of a large tile these have left it, and a
 * patch moves as much memory as 64 elements. */
struct wcodec_outliers {
    uint32_t own, value; /* apart until wcodec_outliers_join() waits for them */
    uint32_t left;       /* of those that are not loaded */
};

WCODEC_DEVICE_FUNCTION void wcodec_outliers_load(struct wcodec_warp *warp,
                                                 struct wcodec_outliers *p, uint64_t positions,
                                                 uint64_t values, uint32_t count, uint32_t first)
{
    const uint32_t i = first + wcodec_lane(warp);
    p->own = WCODEC_NO_OUTLIER;
    if (i < count) {
        p->own = WCODEC_BUFFER(warp, uint16_t, positions)[i];
        p->value = WCODEC_BUFFER(warp, uint8_t, values)[i];
    }
    p->left = count - (count < first + 32 ? count : first + 32);
}

WCODEC_DEVICE_FUNCTION void wcodec_outliers_join(struct wcodec_outliers *p)
{
    p->own = p->own == WCODEC_NO_OUTLIER ? WCODEC_NO_OUTLIER : p->own << 8 | p->value;
}

/* The next 32, when all are done and some are left. Returns whether the first of them is after the
 * last one. */
WCODEC_DEVICE_FUNCTION bool wcodec_outliers_next(struct wcodec_warp *warp,
                                                 struct wcodec_outliers *p,
                                                 const WCODEC_GLOBAL struct wcodec_tile_job *job)
{
    const uint32_t first = job->outliers - p->left,
                   last = WCODEC_BUFFER(warp, uint16_t, job->positions)[first - 1];
    wcodec_outliers_load(warp, p, job->positions, job->values, job->outliers, first);
    wcodec_outliers_join(p);
    return wcodec_all(warp, wcodec_lane(warp) != 0 || p->own >> 8 > last);
}

/* In order, and values of k.width bits? What is out of range stays: wcodec_outliers_all(). */
WCODEC_DEVICE_FUNCTION bool wcodec_outliers_check(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_outliers *p)
{
    const uint32_t lane = wcodec_lane(warp),
                   before = wcodec_shuffle(warp, p->own, lane ? lane - 1 : 0);
    return wcodec_all(
        warp, p->own == WCODEC_NO_OUTLIER ||
                  ((lane == 0 || p->own >> 8 > before >> 8) && (p->own & 0xffu) >> k.width == 0));
}

/* Are there any before this position? */
WCODEC_DEVICE_FUNCTION bool
wcodec_outliers_before(struct wcodec_warp *warp, const struct wcodec_outliers *p, uint32_t position)
{
    return wcodec_any(warp, p->own < position << 8);
}

/* None but those that were done? */
WCODEC_DEVICE_FUNCTION bool wcodec_outliers_all(struct wcodec_warp *warp,
                                                const struct wcodec_outliers *p)
{
    return p->left == 0 && wcodec_all(warp, p->own == WCODEC_NO_OUTLIER);
}

WCODEC_DEVICE_FUNCTION void wcodec_outliers_drop(struct wcodec_outliers *p)
{
    p->own = WCODEC_NO_OUTLIER;
    p->left = 0;
}

/* An element with the value of an outlier in its field; add: of one element. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_replaced(const struct wcodec_kind k, uint32_t old,
                                                uint32_t outlier, uint32_t add)
{
    const uint32_t field = ((1u << k.width) - 1) << k.field;
    return (((old + add) & ~field) | (outlier & 0xffu) << k.field) - add;
}

/* Where an element is, from where the tile's first one is. stride: of the rows of a matrix in
 * fragments. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_element_offset(const struct wcodec_kind k, uint32_t position,
                                                      uint32_t stride)
{
    if (k.family != WCODEC_FAMILY_FRAGMENTS)
        return position * k.bytes;
    const uint32_t row = (position >> 4 & 7) + (position >> 7 & 1) * 8,
                   column = (position & 3) + (position >> 2 & 3) * 8 + (position >> 8 & 1) * 4 +
                            (position >> 9) * 32;
    return row * stride + column * k.bytes;
}

/* Those before `end`, of which all elements are stored: each lane changes one, and the lane that
 * decoded it learns by how much its part of the check does. out: the tile. */
WCODEC_DEVICE_FUNCTION void wcodec_outliers_patch(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  struct wcodec_outliers *p, uint32_t end,
                                                  WCODEC_GLOBAL uint8_t *out, uint32_t stride,
                                                  uint32_t add, uint64_t *sum)
{
    const bool mine = p->own < end << 8;
    uint64_t change = 0;
    wcodec_sync_warp(warp); /* elements that other lanes have stored are read */
    if (mine) {
        const uint32_t position = p->own >> 8, offset = position % 4 * k.bytes;
        WCODEC_GLOBAL uint8_t *at = out + wcodec_element_offset(k, position, stride);
        const uint32_t old = wcodec_load_element(k, at);
        uint32_t now = wcodec_replaced(k, old, p->own, add);
        now &= k.bytes == 1 ? 0xffu : k.bytes == 2 ? 0xffffu : ~0u;
        wcodec_store_one(k, at, now);
        change = (((uint64_t)now - (uint64_t)old) << (offset % 4 * 8)) *
                 wcodec_check_factor(position / 128 * k.bytes + offset / 4);
    }
    for (uint32_t left = wcodec_ballot(warp, mine); left; left &= left - 1) {
        const uint32_t i = wcodec_first_bit(left);
        const uint32_t low = wcodec_shuffle(warp, (uint32_t)change, i),
                       high = wcodec_shuffle(warp, (uint32_t)(change >> 32), i);
        if ((wcodec_shuffle(warp, p->own, i) >> 10 & 31u) == wcodec_lane(warp))
            *sum += (uint64_t)high << 32 | low;
    }
    p->own = mine ? WCODEC_NO_OUTLIER : p->own;
}

/* Put the value of an outlier into the field of its element, if it is one of the lane's four in
 * o[0] to o[k.bytes - 1]. */
WCODEC_DEVICE_FUNCTION void wcodec_replace_field(const struct wcodec_kind k,
                                                 struct wcodec_warp *warp, uint32_t outlier,
                                                 uint32_t add, uint32_t *o)
{
    const uint32_t element = k.bytes == 4 ? ~0u : (1u << 8 * k.bytes % 32) - 1;
    const bool own = (outlier >> 10 & 31u) == wcodec_lane(warp);
    const uint32_t bit = (outlier >> 8 & 3u) * 8 * k.bytes;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.bytes; i++) {
        const uint32_t now = wcodec_replaced(k, o[i] >> bit % 32, outlier, add);
        o[i] = own && bit / 32 == i ? (o[i] & ~(element << bit % 32)) | (now & element) << bit % 32
                                    : o[i];
    }
}

/* Outliers of a group whose elements are in o. end: of the group. */
WCODEC_DEVICE_FUNCTION void wcodec_outliers_replace(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    struct wcodec_outliers *p, uint32_t end,
                                                    uint32_t add, uint32_t *o)
{
    for (uint32_t here = wcodec_ballot(warp, p->own < end << 8); here; here &= here - 1)
        wcodec_replace_field(k, warp, wcodec_shuffle(warp, p->own, wcodec_first_bit(here)), add, o);
    p->own = p->own < end << 8 ? WCODEC_NO_OUTLIER : p->own;
}

#endif
