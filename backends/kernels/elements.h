/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements from symbols and raw bits (doc/format.md 2.4), four of a lane at a time: pure functions
 * of registers. */
#ifndef WCODEC_KERNELS_ELEMENTS_H
#define WCODEC_KERNELS_ELEMENTS_H

#include "backends/kernels/geometry.h"

/* Payload and stored half of a plane of four bits: 16 bits, four values of neighbouring elements.
 * Put each where it stands in its byte: its lowest bit just above the coded field. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_spread_nibbles(const uint32_t mask, uint32_t v)
{
    v = (v | v << 8) & 0x00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0fu;
    return mask == 0x0f0f0f0fu ? v : (v >> 1 & 0x07070707u) | (v << 7 & 0x80808080u);
}

/* Bytes less those of `add`, each by itself. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_subtract_bytes(uint32_t v, uint32_t add)
{
    return ((v | 0x80808080u) - (add & 0x7f7f7f7fu)) ^ ((v ^ ~add) & 0x80808080u);
}

/* What elements are made with, besides symbols and raw bits. */
struct wcodec_offsets {
    uint32_t add, window;
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_subtract_offset(const struct wcodec_kind k,
                                                       const struct wcodec_offsets *of, uint32_t v)
{
    if (!k.add)
        return v;
    if (k.pairs && k.low) /* and so no byte carries over */
        return ((v & ((16u << k.field) * 0x01010101u - 0x01010101u)) + of->window) ^ of->add;
    if (k.pairs)
        return ((v & 0x7f7f7f7fu) + of->window) ^ (v & 0x80808080u);
    return wcodec_subtract_bytes(v, of->add);
}

/* add, base and constants as the wcodec_table_set has them. */
WCODEC_DEVICE_FUNCTION void wcodec_offsets_of(const struct wcodec_kind k, uint32_t add,
                                              uint32_t base, uint32_t constants,
                                              struct wcodec_offsets *of)
{
    of->add = k.add ? add : 0;
    of->window = 0;
    if (k.add && k.pairs && k.low) {
        const uint32_t offset = (base << k.field) - (add & 0xffu);
        of->window = (offset & 0x7fu) * 0x01010101u;
        of->add = (offset & 0x80u) * 0x01010101u;
    } else if (k.add && k.pairs) { /* the upper half is in the table */
        of->window = ((0u - add) & 15u) * 0x01010101u;
    } else if (k.pairs && !k.wide && k.bytes > 1) {
        of->window = base * ((1u << k.field) | (k.bytes == 2 ? 0x10000u << k.field : 0));
    }
    if (k.shape == WCODEC_SHAPE_32_8)
        of->window += constants;
}

/* Halves: symbols v, raw words w of a block. */
WCODEC_DEVICE_FUNCTION void wcodec_assemble_halves(const struct wcodec_kind k,
                                                   const struct wcodec_offsets *of,
                                                   const uint32_t i, uint32_t turn,
                                                   const uint32_t *v, const uint32_t *w,
                                                   uint32_t *o)
{
    uint32_t p0, p1;
    if (k.wide) {
        p0 = v[0];
        p1 = v[2];
    } else if (k.pairs) {
        const uint32_t low = 15u << k.field, high = 0xf0000u << k.field;
        p0 = (v[0] >> (12 - k.field) & low) | (v[0] << k.field & high);
        p1 = (v[2] >> (12 - k.field) & low) | (v[2] << k.field & high);
    } else {
        p0 = wcodec_bytes(v[0], v[1], 0x6420) << k.field;
        p1 = wcodec_bytes(v[2], v[3], 0x6420) << k.field;
    }
    o[0] = ((w[i] & k.mask) | p0) + of->window;
    o[1] = ((wcodec_rotate_right(w[i], 8) & k.mask) | p1) + of->window;
    if (k.shape == WCODEC_SHAPE_16_11) {
        /* Planes of two bits and of one: four groups to a word, and eight. */
        const uint32_t two = wcodec_rotate_right(w[4], 4 * i),
                       one = wcodec_rotate_right(w[5], 2 * turn);
        o[0] |= (two & 0x01800180u) | (one & 0x02000200u);
        o[1] |= (wcodec_rotate_right(two, 2) & 0x01800180u) |
                (wcodec_rotate_right(one, 1) & 0x02000200u);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_assemble_words(const struct wcodec_kind k,
                                                  const struct wcodec_offsets *of, const uint32_t i,
                                                  const uint32_t *v, const uint32_t *w, uint32_t *o)
{
    if (k.wide) {
        const uint32_t field = 0x7f800000u;
        o[0] = v[0] & field;
        o[1] = v[0] << 16 & field;
        o[2] = v[2] & field;
        o[3] = v[2] << 16 & field;
    } else if (k.pairs) {
        o[0] = (v[0] << 11 & 0x07800000u) + of->window;
        o[1] = (v[0] << 7 & 0x07800000u) + of->window;
        o[2] = (v[2] << 11 & 0x07800000u) + of->window;
        o[3] = (v[2] << 7 & 0x07800000u) + of->window;
    } else {
        WCODEC_UNROLL_ALL
        for (uint32_t j = 0; j < 4; j++)
            o[j] = wcodec_bytes(v[j], 0, 0x0444) >> 1;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < 4; j++) {
        if (k.shape == WCODEC_SHAPE_32_8) /* seven bits in byte j, the sign above the byte before */
            o[j] = (o[j] | (wcodec_bytes(w[i], 0, (j + 3) % 4 << 12 | j << 8 | 0x44) & k.mask)) +
                   (k.p8 ? of->window : 0);
        else
            o[j] |= (wcodec_rotate_right(w[2 * i + j / 2], 16 * (j % 2)) & 0x80007fffu) |
                    (wcodec_rotate_right(w[8 + i], 8 * j) & 0x007f8000u);
    }
}

/* i: the group's number in its block. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_assemble_bytes(const struct wcodec_kind k,
                                                      const struct wcodec_offsets *of,
                                                      const uint32_t i, const uint32_t *v,
                                                      const uint32_t *w)
{
    uint32_t e;
    if (k.wide)
        e = wcodec_bytes(v[0], v[2], 0x5410);
    else if (k.pairs) {
        /* The bytes in which a pair's values stand: even ones have the low value in their upper
         * half, odd ones the high value in their lower half. Raw bits replace what else is there.
         */
        const uint32_t m = wcodec_bytes(v[0], v[2], 0x6521);
        e = wcodec_select_bits(0x00ff00ffu, m >> (4 - k.field), m << k.field);
    } else if (k.p8)
        e = wcodec_bytes(wcodec_bytes(v[0], v[1], 0x0040), wcodec_bytes(v[2], v[3], 0x0040),
                         0x5410);
    else
        e = wcodec_select_bits(0x00ff00ffu, wcodec_bytes(v[0], v[2], 0x6521) >> 4,
                               wcodec_bytes(v[1], v[3], 0x6521) << 4);
    if (k.low) {
        const uint32_t first = k.shape == WCODEC_SHAPE_8_1 ? i : 2 * i;
        e = wcodec_select_bits(k.mask, wcodec_rotate_right(w[0], first), e);
        if (k.shape == WCODEC_SHAPE_8_3)
            e = wcodec_select_bits(0x04040404u, wcodec_rotate_right(w[1], i), e);
    } else if (k.rows > 0) { /* two groups a word */
        e = wcodec_select_bits(k.mask, i % 2 ? wcodec_rotate_right(w[i / 2], 4) : w[i / 2], e);
    }
    return wcodec_subtract_offset(k, of, e);
}

/* The four elements of a lane in group i of a block, in o[0] to o[k.bytes - 1]. turn: the group's
 * number of eight. */
WCODEC_DEVICE_FUNCTION void wcodec_assemble(const struct wcodec_kind k,
                                            const struct wcodec_offsets *of, const uint32_t i,
                                            uint32_t turn, const uint32_t *v, const uint32_t *w,
                                            uint32_t *o)
{
    if (k.bytes == 2)
        wcodec_assemble_halves(k, of, i, turn, v, w, o);
    else if (k.bytes == 4)
        wcodec_assemble_words(k, of, i, v, w, o);
    else
        o[0] = wcodec_assemble_bytes(k, of, i, v, w);
}

/* In the last block of a whole tile, group i: its raw words with the payload of state x. Of four
 * bits an element, the stored half is the group before the last, the payload the last one. */
WCODEC_DEVICE_FUNCTION void wcodec_take_payload(const struct wcodec_kind k, const uint32_t i,
                                                uint32_t x, uint32_t *r)
{
    const uint32_t last = k.first - 1;
    if (k.first < k.groups) {
        if (i == k.groups - 2)
            r[last] = wcodec_spread_nibbles(k.mask, r[last] & 0xffffu);
        if (i == k.groups - 1)
            r[last] = wcodec_rotate_right(wcodec_spread_nibbles(k.mask, x & 0xffffu), 28);
    } else if (i == k.groups - 1) {
        r[last] |= x << 16;
    }
}

#endif
