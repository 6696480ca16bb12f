/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements that are read to be coded, and the rows of their raw bits (doc/format.md 2.4): what both
 * steps of coding tiles share. A lane has four neighbouring elements of a group, in up to four
 * words. */
#ifndef WCODEC_KERNELS_ENCODE_ROWS_H
#define WCODEC_KERNELS_ENCODE_ROWS_H

#include "backends/kernels/encode_tiles_launch.h"
#include "backends/kernels/rans.h"

/* Constants of a kernel. */
struct wcodec_coder_kind {
    uint32_t element_log2;
    uint32_t raw; /* bits */
    uint32_t profile;
};

WCODEC_DEVICE_FUNCTION struct wcodec_coder_kind
wcodec_coder_kind_of(const uint32_t element_log2, const uint32_t raw, const uint32_t profile)
{
    const struct wcodec_coder_kind k = {element_log2, raw, profile};
    return k;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_words(const struct wcodec_coder_kind k)
{
    return 1u << k.element_log2;
}

/* Of tile number `tile`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_count(const struct wcodec_coder_launch *l,
                                                   uint32_t tile)
{
    const uint64_t left = l->count - ((uint64_t)tile << l->tile_log2);
    return left < 1u << l->tile_log2 ? (uint32_t)left : 1u << l->tile_log2;
}

WCODEC_DEVICE_FUNCTION const WCODEC_GLOBAL uint8_t *
wcodec_coder_elements(const struct wcodec_coder_kind k, const struct wcodec_coder_launch *l,
                      uint32_t tile)
{
    return (const WCODEC_GLOBAL uint8_t *)(l->elements +
                                           ((uint64_t)tile << (l->tile_log2 + k.element_log2)));
}

/* A lane's words of a whole group. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_load(const struct wcodec_coder_kind k,
                                              const WCODEC_GLOBAL uint8_t *tile, uint32_t group,
                                              uint32_t lane, uint32_t *words)
{
    const WCODEC_GLOBAL uint8_t *from =
        tile + (((uint64_t)group * 128 + 4 * lane) << k.element_log2);
    if (k.element_log2 == 0) {
        words[0] = wcodec_load_once_u32(from);
    } else if (k.element_log2 == 1) {
        const wcodec_u2 v = wcodec_load_once_u2(from);
        words[0] = v.x, words[1] = v.y;
    } else {
        const wcodec_u4 v = wcodec_load_once_u4(from);
        words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
    }
}

/* The same of a group of which there may be less: `count` elements of the tile, then zeros. Returns
 * how many of the lane's four there are. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_load_part(const struct wcodec_coder_kind k,
                                                       const WCODEC_GLOBAL uint8_t *tile,
                                                       uint32_t count, uint32_t group,
                                                       uint32_t lane, uint32_t *words)
{
    const uint32_t first = 128 * group + 4 * lane, left = first < count ? count - first : 0;
    if (left >= 4) {
        wcodec_coder_load(k, tile, group, lane, words);
        return 4;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        words[i] = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 3; i++) {
        const WCODEC_GLOBAL uint8_t *from = tile + ((uint64_t)(first + i) << k.element_log2);
        if (i >= left)
            continue;
        if (k.element_log2 == 0)
            words[0] |= (uint32_t)*from << 8 * i;
        else if (k.element_log2 == 1)
            words[i / 2] |= (uint32_t) * (const WCODEC_GLOBAL uint16_t *)from << i % 2 * 16;
        else
            words[i] = *(const WCODEC_GLOBAL uint32_t *)from;
    }
    return left;
}

/* e' from e; of elements that are not there zeros. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_add(const struct wcodec_coder_kind k,
                                             const struct wcodec_coder_launch *l, uint32_t there,
                                             uint32_t *words)
{
    if (l->add == 0)
        return;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        if (i >= wcodec_coder_words(k))
            continue;
        words[i] =
            ((words[i] & ~l->carry) + (l->add & ~l->carry)) ^ ((words[i] ^ l->add) & l->carry);
        const uint32_t each = 4u >> k.element_log2, first = i * each,
                       own = there > first ? there - first : 0;
        if (own < each)
            words[i] &= own == 0 ? 0 : (1u << (own << (3 + k.element_log2))) - 1;
    }
}

/* The value of the coded field of the lane's element i. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_value(const struct wcodec_coder_kind k,
                                                   const struct wcodec_coder_launch *l,
                                                   const uint32_t *words, const uint32_t i)
{
    const uint32_t word = k.element_log2 == 0   ? words[0]
                          : k.element_log2 == 1 ? (i < 2 ? words[0] : words[1])
                          : i == 0              ? words[0]
                          : i == 1              ? words[1]
                          : i == 2              ? words[2]
                                                : words[3];
    return word >> (l->shift + ((i << (3 + k.element_log2)) & 31)) & l->mask;
}

/* Likewise, where the compiler does not know i. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_value_at(const struct wcodec_coder_kind k,
                                                      const struct wcodec_coder_launch *l,
                                                      const uint32_t *words, uint32_t i)
{
    uint32_t value = wcodec_coder_value(k, l, words, 0);
    WCODEC_UNROLL_ALL
    for (uint32_t at = 1; at < 4; at++)
        value = i == at ? wcodec_coder_value(k, l, words, at) : value;
    return value;
}

/* The lane's four values of the first plane of 4 bits, as a payload has them. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_nibbles(const struct wcodec_coder_kind k,
                                                     const struct wcodec_coder_launch *l,
                                                     const uint32_t *words)
{
    const uint32_t width = 8u << k.element_log2;
    uint32_t nibbles = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t at = i * width, word = words[at / 32] >> at % 32,
                       element = width == 32 ? word : word & ((1u << width) - 1),
                       turned = l->position ? element << (width - l->position) : 0;
        nibbles |= ((element >> l->position | turned) & 15) << 4 * i;
    }
    return nibbles;
}

/* A tile's raw bits that are being written, planes one after the other, from the last group to the
 * first. */
struct wcodec_coder_rows {
    uint64_t at; /* of the lane in the first row */
    uint32_t groups;
    bool payload;     /* part of the first plane rides in the states */
    uint32_t open[3]; /* rows of planes of 4, 2 and 1 bits that are not complete */
};

/* The plane in which a payload rides: 16, 8, 4, or 0. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_payload_plane(const struct wcodec_coder_kind k)
{
    return k.raw & 16 ? 16 : k.raw & 8 ? 8 : k.raw & 4 ? 4 : 0;
}

/* Bytes of a plane of so many groups. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_plane_size(const struct wcodec_coder_kind k,
                                                        const uint32_t bits, uint32_t groups,
                                                        bool payload)
{
    const uint32_t size = (groups * bits + 7) / 8 * 128;
    if (!payload || bits != wcodec_coder_payload_plane(k))
        return size;
    return size - (bits >= 8 || groups % 2 == 0 ? 64 : 128);
}

/* Raw bytes of a tile that is not stored. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_raw_size(const struct wcodec_coder_kind k,
                                                      uint32_t groups, bool payload)
{
    uint32_t size = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t log2 = 5; log2-- > 0;) {
        const uint32_t bits = 1u << log2;
        size += k.raw & bits ? wcodec_coder_plane_size(k, bits, groups, payload) : 0;
    }
    return size;
}

/* The slot words of a group in row `row` of it, masked and rotated. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_slots(const struct wcodec_coder_kind k, uint32_t mask,
                                                   const uint32_t bits, const uint32_t row,
                                                   const uint32_t *words)
{
    const uint32_t each = bits == 16 ? 2 : wcodec_coder_words(k);
    uint32_t v = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        if (i < each)
            v |= wcodec_rotate_right(words[(row * each + i) & 3] & mask, (32 - i * bits) & 31);
    return v;
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_half_row(uint64_t row, uint32_t lane, uint32_t v)
{
    *(WCODEC_GLOBAL uint16_t *)(row - 2 * lane) = (uint16_t)v;
}

/* Groups of a tile are taken in batches: group `base` + i, with base a multiple of the batch, which
 * the compiler makes one address for all of them. */

/* A group's part of a plane of 8 or 16 bits. last: of the tile. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_whole_rows(const struct wcodec_coder_kind k,
                                                    const struct wcodec_coder_launch *l,
                                                    const struct wcodec_coder_rows *r,
                                                    const uint32_t bits, uint64_t plane,
                                                    uint32_t base, const uint32_t group,
                                                    uint32_t lane, const uint32_t *words, bool last)
{
    const uint32_t rows = bits / 8;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        if (i >= rows)
            continue;
        const uint32_t v =
            wcodec_coder_slots(k, l->plane_masks[bits == 16 ? 4 : 3], bits, i, words);
        const uint64_t to = plane + (uint64_t)base * (128 * rows) + 128 * (rows * group + i);
        if (last && i + 1 == rows && r->payload && bits == wcodec_coder_payload_plane(k))
            wcodec_coder_half_row(to, lane, v);
        else
            wcodec_store_u32((WCODEC_GLOBAL uint8_t *)to, v);
    }
}

/* Likewise of 4, 2 or 1: several groups share a row. */
WCODEC_DEVICE_FUNCTION void
wcodec_coder_shared_rows(const struct wcodec_coder_kind k, const struct wcodec_coder_launch *l,
                         struct wcodec_coder_rows *r, const uint32_t bits, uint64_t plane,
                         uint32_t base, const uint32_t group, uint32_t lane, const uint32_t *words,
                         bool last)
{
    const uint32_t number = bits == 4   ? 2
                            : bits == 2 ? 1
                                        : 0,
                   groups = 8 / bits, batch = k.element_log2 == 2 ? 2 : 4,
                   part = ((last || batch < groups ? base : 0) + group) & (groups - 1),
                   v = wcodec_coder_slots(k, l->plane_masks[number], bits, 0, words);
    const uint64_t to = plane + (uint64_t)(base / groups) * 128 + 128 * (group / groups);
    if (last && r->payload && bits == 4 && wcodec_coder_payload_plane(k) == 4 &&
        base / 2 == (r->groups - 1) / 2) {
        if (base % 2 == 0 && r->groups % 2 == 0)
            wcodec_coder_half_row(to, lane, wcodec_coder_nibbles(k, l, words));
        return;
    }
    r->open[number] |= wcodec_rotate_right(v, (32 - (part * bits << k.element_log2)) & 31);
    if (part == 0) {
        wcodec_store_u32((WCODEC_GLOBAL uint8_t *)to, r->open[number]);
        r->open[number] = 0;
    }
}

/* A group's rows. last: it is one of those of a tile that hold its last rows, and `group` 0. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_put_rows(const struct wcodec_coder_kind k,
                                                  const struct wcodec_coder_launch *l,
                                                  struct wcodec_coder_rows *r, uint32_t base,
                                                  const uint32_t group, uint32_t lane,
                                                  const uint32_t *words, bool last)
{
    uint64_t plane = r->at;
    WCODEC_UNROLL_ALL
    for (uint32_t log2 = 5; log2-- > 0;) {
        const uint32_t bits = 1u << log2;
        if (!(k.raw & bits))
            continue;
        if (bits >= 8)
            wcodec_coder_whole_rows(k, l, r, bits, plane, base, group, lane, words,
                                    last && base + 1 == r->groups);
        else
            wcodec_coder_shared_rows(k, l, r, bits, plane, base, group, lane, words, last);
        plane += wcodec_coder_plane_size(k, bits, r->groups, r->payload);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_begin_rows(struct wcodec_coder_rows *r, uint64_t raw,
                                                    uint32_t groups, uint32_t lane, bool payload)
{
    r->at = raw + 4 * lane;
    r->groups = groups;
    r->payload = payload;
    r->open[0] = r->open[1] = r->open[2] = 0;
}

/* What rides in a lane's state, by its words of the last group. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_payload(const struct wcodec_coder_kind k,
                                                     const struct wcodec_coder_launch *l,
                                                     const uint32_t *words)
{
    const uint32_t bits = wcodec_coder_payload_plane(k);
    if (bits == 0)
        return 0;
    if (bits == 4)
        return wcodec_coder_nibbles(k, l, words);
    return wcodec_coder_slots(k, l->plane_masks[bits == 16 ? 4 : 3], bits, bits / 8 - 1, words) >>
           16;
}

/* What a stored tile takes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_stored_size(const struct wcodec_coder_kind k,
                                                         uint32_t count)
{
    return ((count << k.element_log2) + 63) & ~63u;
}

#endif
