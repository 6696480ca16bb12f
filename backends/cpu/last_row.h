/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The last row of a tile's first plane, of which half or more is in the final states: joined, and
 * added to elements that were made without it. */
#ifndef WCODEC_CPU_LAST_ROW_H
#define WCODEC_CPU_LAST_ROW_H

#include "coding/check_key.h"
#include "coding/planes.h"
#include "core/bytes.h"

/* Four raw bits of bytes: a lane's values of a group as they stand in the word of an even group. */
static inline uint32_t wcodec_place_nibbles(uint32_t nibbles, unsigned turn)
{
    const uint32_t keep = (0x0fu << turn & 0xff) * 0x01010101u,
                   wrap = (0x0fu << turn >> 8) * 0x01010101u;
    nibbles = (nibbles | nibbles << 8) & 0x00ff00ff;
    nibbles = (nibbles | nibbles << 4) & 0x0f0f0f0f;
    return (nibbles << turn & keep) | (nibbles >> (8 - turn) & wrap);
}

static inline void wcodec_join_last_nibbles(unsigned turn, uint32_t groups,
                                            const uint16_t payload[WCODEC_LANES],
                                            const uint8_t *stored, uint8_t *row)
{
    uint32_t words[WCODEC_LANES];
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        words[lane] = wcodec_place_nibbles(payload[lane], turn);
    if (groups % 2 == 0)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            words[lane] = wcodec_place_nibbles(wcodec_load_u16(stored + 2 * lane), turn) |
                          wcodec_rotl32(words[lane], 4);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        wcodec_store_u32(row + 4 * lane, words[lane]);
}

/* The last row of the first plane, from the half that is stored and the payload. */
static inline void wcodec_join_last_row(const struct wcodec_tiling *tiling, uint32_t groups,
                                        const uint16_t payload[WCODEC_LANES], const uint8_t *stored,
                                        uint8_t *row)
{
    const struct wcodec_plane *plane = &tiling->planes[0];
    const unsigned slot_bits = wcodec_slot_bits(tiling), turn = plane->position % slot_bits;
    const uint32_t slot = slot_bits < 32 ? (1u << slot_bits) - 1 : ~0u;
    uint32_t words[WCODEC_LANES] = {0};
    if (plane->bits == 4 && slot_bits == 8) {
        wcodec_join_last_nibbles(turn, groups, payload, stored, row);
        return;
    }
    if (plane->bits >= 8)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            words[lane] = wcodec_load_u16(stored + 2 * lane) | (uint32_t)payload[lane] << 16;
    /* Four bits: the values of elements 0 to 3 of a lane, of the group before the last (if the
     * number of groups is even) and of the last, each where wcodec_place_value() puts it. */
    for (unsigned i = groups % 2 ? 4 : 0; plane->bits == 4 && i < 8; i++) {
        const struct wcodec_placing at =
            wcodec_place_element(tiling, plane, (groups - (i < 4 ? 2 : 1)) * WCODEC_GROUP + i % 4);
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
            const uint32_t nibbles = i < 4 ? wcodec_load_u16(stored + 2 * lane) : payload[lane],
                           value = nibbles >> (4 * (i % 4)) & 15;
            const uint32_t placed =
                (value << turn | (uint32_t)((uint64_t)value << turn >> slot_bits)) & slot;
            words[lane] |= wcodec_rotl32(placed << at.slot, at.rotate);
        }
    }
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        wcodec_store_u32(row + 4 * lane, words[lane]);
}

/* To two slot words of each lane, of 16-bit elements without A, of an 8-bit plane. */
static inline void wcodec_add_last_halves(uint32_t mask, uint32_t group, const uint8_t *row,
                                          uint8_t *elements, uint64_t sums[WCODEC_LANES])
{
    const uint64_t first = WCODEC_CHECK_KEY(2 * group), second = WCODEC_CHECK_KEY(2 * group + 1);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        const uint32_t word = wcodec_load_u32(row + 4 * lane), low = word & mask,
                       high = wcodec_rotl32(word, 24) & mask;
        uint8_t *to = elements + 8 * lane;
        wcodec_store_u32(to, wcodec_load_u32(to) | low);
        wcodec_store_u32(to + 4, wcodec_load_u32(to + 4) | high);
        sums[lane] += first * low + second * high;
    }
}

/* To one slot word of each lane, of bytes, of a 4-bit plane. Elements are less A already, so that
 * bits are added, byte by byte. */
static inline void wcodec_add_last_bytes(uint32_t mask, uint32_t group, const uint8_t *row,
                                         uint8_t *elements, uint64_t sums[WCODEC_LANES])
{
    const uint64_t key = WCODEC_CHECK_KEY(group);
    const unsigned turn = 4 * (group % 2);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        const uint32_t word = wcodec_load_u32(row + 4 * lane),
                       bits = (word >> turn | word << (32 - turn) % 32) & mask,
                       before = wcodec_load_u32(elements + 4 * lane),
                       after = ((before & 0x7f7f7f7f) + (bits & 0x7f7f7f7f)) ^
                               ((before ^ bits) & 0x80808080);
        wcodec_store_u32(elements + 4 * lane, after);
        sums[lane] += key * after - key * before;
    }
}

#endif
