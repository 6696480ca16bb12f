/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Packing raw bits into planes (doc/format.md 2.4), and the part of them that rides in the start
 * states. */
#include "coding/planes.h"
#include "coding/tile_encode.h"

/* Is a plane's value a cyclic run of the element's bits? Then it is found by a rotation, and for
 * elements of at most 32 bits it stands in place. */
static bool is_run(const struct wcodec_tiling *t, const struct wcodec_plane *plane)
{
    for (unsigned i = 0; i < plane->bits; i++)
        if (t->raw_position[plane->first + i] != (plane->position + i) % (8u << t->element_log2))
            return false;
    return true;
}

/* Row `row`: for each lane the slot words that its word holds, masked and rotated. For elements of
 * at most 32 bits. */
static void pack_row(const struct wcodec_tiling *t, const struct wcodec_plane *plane,
                     const uint8_t *elements, uint32_t groups, uint32_t mask, uint32_t row,
                     uint32_t words[WCODEC_LANES])
{
    const unsigned slot_bits = wcodec_slot_bits(t), own = slot_bits / 8,
                   ratio = slot_bits / plane->bits; /* own: slot words of a lane in a group */
    memset(words, 0, WCODEC_LANES * sizeof *words);
    for (unsigned j = 0; j < ratio; j++) {
        const uint32_t number = row * ratio + j;
        if (number / own >= groups)
            break;
        const uint8_t *first =
            elements + 4 * ((size_t)(number / own) * own * WCODEC_LANES + number % own);
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            words[lane] |=
                wcodec_rotl32(wcodec_load_u32(first + 4 * own * lane) & mask, j * plane->bits);
    }
}

static uint32_t in_place_mask(const struct wcodec_tiling *t, const struct wcodec_plane *plane)
{
    const unsigned slot_bits = wcodec_slot_bits(t);
    uint32_t mask = 0;
    for (unsigned i = 0; i < 32; i++)
        if ((i % slot_bits + slot_bits - plane->position) % slot_bits < plane->bits)
            mask |= 1u << i;
    return mask;
}

static void pack_plane_in_place(const struct wcodec_tiling *t, const struct wcodec_plane *plane,
                                const uint8_t *elements, uint32_t groups, uint32_t *rows)
{
    const uint32_t mask = in_place_mask(t, plane),
                   count = wcodec_plane_rows(plane, groups * WCODEC_GROUP);
    const bool whole = plane->bits == 8 && t->element_log2 == 1; /* bf16: worth its own loop */
    for (uint32_t row = 0; row < count; row++) {
        if (!whole) {
            pack_row(t, plane, elements, groups, mask, row, rows + row * WCODEC_LANES);
            continue;
        }
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
            const uint8_t *p = elements + 8 * ((size_t)row * WCODEC_LANES + lane);
            const uint32_t high = wcodec_load_u32(p + 4) & mask;
            rows[row * WCODEC_LANES + lane] = (wcodec_load_u32(p) & mask) | high << 8 | high >> 24;
        }
    }
}

static void pack_plane(const struct wcodec_tiling *t, const struct wcodec_plane *plane,
                       const uint8_t *elements, uint32_t groups, uint32_t *rows)
{
    const unsigned size = 1u << t->element_log2, width = 8 * size, slot_bits = wcodec_slot_bits(t),
                   q = plane->position, turn = q % slot_bits;
    const bool run = is_run(t, plane);
    if (run && size <= 4) {
        pack_plane_in_place(t, plane, elements, groups, rows);
        return;
    }
    memset(rows, 0, (size_t)wcodec_plane_rows(plane, groups * WCODEC_GROUP) * 4 * WCODEC_LANES);
    for (uint32_t i = 0; i < groups * WCODEC_GROUP; i++) {
        const struct wcodec_placing at = wcodec_place_element(t, plane, i);
        const uint64_t e = wcodec_load_uint(elements + (size_t)i * size, size);
        uint32_t *word = &rows[at.row * WCODEC_LANES + at.lane];
        if (run && size == 8) {
            const uint32_t v =
                (uint32_t)((e >> q | (q ? e << (width - q) : 0)) & ((1ull << plane->bits) - 1));
            *word |= wcodec_rotl32(wcodec_rotl32(v, turn), at.rotate);
        } else {
            *word |= wcodec_place_value(plane, slot_bits, &at, wcodec_gather_plane(t, plane, e));
        }
    }
}

static void store_words(uint8_t *bytes, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wcodec_store_u32(bytes + 4 * i, words[i]);
}

/* The four values of a group's elements, as the payload of a plane of 4 bits has them. */
static uint16_t nibbles_of(const struct wcodec_tiling *t, const struct wcodec_plane *plane,
                           const uint8_t *elements, uint32_t group, unsigned lane)
{
    const unsigned size = 1u << t->element_log2;
    uint32_t nibbles = 0;
    for (unsigned position = 0; position < 4; position++)
        nibbles |=
            wcodec_gather_plane(
                t, plane,
                wcodec_load_uint(
                    elements + ((size_t)group * WCODEC_GROUP + 4 * lane + position) * size, size))
            << (4 * position);
    return (uint16_t)nibbles;
}

void wcodec_pack_raw(const struct wcodec_tiling *t, const uint8_t *elements, uint32_t groups,
                     bool has_payload, uint16_t payload[WCODEC_LANES], uint8_t *raw, uint32_t *rows)
{
    memset(payload, 0, WCODEC_LANES * sizeof *payload);
    for (unsigned p = 0; p < t->plane_count; p++) {
        const struct wcodec_plane *plane = &t->planes[p];
        const uint32_t count = wcodec_plane_rows(plane, groups * WCODEC_GROUP);
        pack_plane(t, plane, elements, groups, rows);
        if (p > 0 || !has_payload) {
            store_words(raw, rows, (size_t)count * WCODEC_LANES);
            raw += (size_t)count * 4 * WCODEC_LANES;
            continue;
        }
        const uint32_t *last = rows + (size_t)(count - 1) * WCODEC_LANES;
        store_words(raw, rows, (size_t)(count - 1) * WCODEC_LANES);
        raw += (size_t)(count - 1) * 4 * WCODEC_LANES;
        const bool half_row = plane->bits >= 8 || groups % 2 == 0;
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
            payload[lane] = plane->bits >= 8 ? (uint16_t)(last[lane] >> 16)
                                             : nibbles_of(t, plane, elements, groups - 1, lane);
            if (half_row)
                wcodec_store_u16(raw + 2 * lane, plane->bits >= 8 ? (uint16_t)last[lane]
                                                                  : nibbles_of(t, plane, elements,
                                                                               groups - 2, lane));
        }
        raw += half_row ? 2 * WCODEC_LANES : 0;
    }
}
