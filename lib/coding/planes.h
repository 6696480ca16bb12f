/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Where raw bits stand in words (doc/format.md 2.4). One description serves decoding and encoding.
 */
#ifndef WCODEC_CODING_PLANES_H
#define WCODEC_CODING_PLANES_H

#include "coding/tiling.h"

/* The word, and the bits in it, that hold a plane's value of one element. */
struct wcodec_placing {
    uint32_t row; /* word k of its lane, counted over the tile */
    uint8_t lane;
    uint8_t rotate; /* its slot word is rotated left by this */
    uint8_t slot;   /* lowest bit of its slot in the slot word */
};

static inline unsigned wcodec_slot_bits(const struct wcodec_tiling *t)
{
    return t->element_log2 < 2 ? 8u << t->element_log2 : 32;
}

static inline struct wcodec_placing wcodec_place_element(const struct wcodec_tiling *t,
                                                         const struct wcodec_plane *plane,
                                                         uint32_t element)
{
    const unsigned slot_bits = wcodec_slot_bits(t), per_word = 32 / slot_bits,
                   ratio = slot_bits / plane->bits;
    const uint32_t group = element / WCODEC_GROUP, position = element % 4;
    const uint32_t number =
        group * (4 / per_word) + position / per_word; /* slot word of the lane */
    return (struct wcodec_placing){number / ratio, (uint8_t)(element % WCODEC_GROUP / 4),
                                   (uint8_t)(number % ratio * plane->bits),
                                   (uint8_t)(position % per_word * slot_bits)};
}

/* A plane's value as it stands in the word, and back. */
static inline uint32_t wcodec_place_value(const struct wcodec_plane *plane, unsigned slot_bits,
                                          const struct wcodec_placing *at, uint32_t value)
{
    uint32_t slot = 0;
    for (unsigned i = 0; i < plane->bits; i++)
        slot |= (value >> i & 1) << ((plane->position + i) % slot_bits);
    return wcodec_rotl32(slot << at->slot, at->rotate);
}

static inline uint32_t wcodec_placed_value(const struct wcodec_plane *plane, unsigned slot_bits,
                                           const struct wcodec_placing *at, uint32_t word)
{
    uint32_t slot = wcodec_rotl32(word, 32u - at->rotate) >> at->slot, value = 0;
    for (unsigned i = 0; i < plane->bits; i++)
        value |= (slot >> ((plane->position + i) % slot_bits) & 1) << i;
    return value;
}

static inline uint32_t wcodec_plane_rows(const struct wcodec_plane *plane, uint32_t elements)
{
    return ((elements + WCODEC_GROUP - 1) / WCODEC_GROUP * plane->bits + 7) / 8;
}

/* Bits of the element that hold a plane's value: raw_position[] spread over them. */
static inline uint64_t wcodec_scatter_plane(const struct wcodec_tiling *t,
                                            const struct wcodec_plane *plane, uint32_t value)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < plane->bits; i++)
        bits |= (uint64_t)(value >> i & 1) << t->raw_position[plane->first + i];
    return bits;
}

static inline uint32_t wcodec_gather_plane(const struct wcodec_tiling *t,
                                           const struct wcodec_plane *plane, uint64_t element)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < plane->bits; i++)
        value |= (uint32_t)(element >> t->raw_position[plane->first + i] & 1) << i;
    return value;
}

#endif
