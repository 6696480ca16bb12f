/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The element layouts that have kernels of their own: where a tile's raw bits are, and the tables
 * in shared memory. */
#ifndef WCODEC_CUDA_SHAPES_CUH
#define WCODEC_CUDA_SHAPES_CUH

#include "backends/cuda/device.cuh"
#include "backends/cuda/geometry.h"

enum { PAIRS = 1, P12 = 2, P8 = 3 }; /* the format's codes */

/* bytes: of an element. first: rows of a block of the first plane. group: bytes of the first plane
 * that a group has. mask: raw bits of a slot word's first plane, in place. field: where the coded
 * field begins, of `width` bits. payload: the start states carry raw bits. */
template <int SHAPE, int BYTES, int FIRST, int GROUP, uint32_t MASK, int FIELD, int WIDTH>
struct layout {
    static constexpr int unroll = WCODEC_CUDA_GROUPS(SHAPE), rows = WCODEC_CUDA_ROWS(SHAPE),
                         bytes = BYTES, first = FIRST, group = GROUP, field = FIELD, width = WIDTH;
    static constexpr uint32_t mask = MASK;
    static constexpr bool payload = GROUP > 0;
};
template <int SHAPE> struct shape;
template <>
struct shape<WCODEC_SHAPE_16_8>
    : layout<WCODEC_SHAPE_16_8, 2, WCODEC_CUDA_ROWS(WCODEC_SHAPE_16_8), 128, 0x807f807fu, 7, 8> {
};
template <>
struct shape<WCODEC_SHAPE_16_11> : layout<WCODEC_SHAPE_16_11, 2, 4, 128, 0x807f807fu, 10, 5> {
};
template <>
struct shape<WCODEC_SHAPE_8_4>
    : layout<WCODEC_SHAPE_8_4, 1, WCODEC_CUDA_ROWS(WCODEC_SHAPE_8_4), 64, 0x0f0f0f0fu, 4, 4> {
};
template <>
struct shape<WCODEC_SHAPE_8_4_FUSED>
    : layout<WCODEC_SHAPE_8_4_FUSED, 1, WCODEC_CUDA_ROWS(WCODEC_SHAPE_8_4_FUSED), 64, 0x0f0f0f0fu,
             4, 4> {
};
template <>
struct shape<WCODEC_SHAPE_8_0_FUSED> : layout<WCODEC_SHAPE_8_0_FUSED, 1, 0, 0, 0, 0, 8> {
};
template <>
struct shape<WCODEC_SHAPE_8_0_P8_FUSED> : layout<WCODEC_SHAPE_8_0_P8_FUSED, 1, 0, 0, 0, 0, 8> {
};
template <>
struct shape<WCODEC_SHAPE_8_1_FUSED> : layout<WCODEC_SHAPE_8_1_FUSED, 1, 1, 0, 0x01010101u, 1, 7> {
};
template <>
struct shape<WCODEC_SHAPE_8_2_FUSED> : layout<WCODEC_SHAPE_8_2_FUSED, 1, 1, 0, 0x03030303u, 2, 6> {
};
template <>
struct shape<WCODEC_SHAPE_8_3_FUSED> : layout<WCODEC_SHAPE_8_3_FUSED, 1, 1, 0, 0x03030303u, 3, 5> {
};
template <>
struct shape<WCODEC_SHAPE_8_31>
    : layout<WCODEC_SHAPE_8_31, 1, WCODEC_CUDA_ROWS(WCODEC_SHAPE_8_31), 64, 0x87878787u, 3, 4> {
};
template <> struct shape<WCODEC_SHAPE_8_0> : layout<WCODEC_SHAPE_8_0, 1, 0, 0, 0, 0, 8> {
};
template <>
struct shape<WCODEC_SHAPE_32_8>
    : layout<WCODEC_SHAPE_32_8, 4, WCODEC_CUDA_ROWS(WCODEC_SHAPE_32_8), 128, 0x807f0000u, 23, 8> {
};
template <> struct shape<WCODEC_SHAPE_32_24> : layout<WCODEC_SHAPE_32_24, 4, 8, 256, 0, 23, 8> {
};

/* Bytes of which fewer than four bits are raw: planes of two bits, four groups to a row, and of
 * one, eight. */
template <int SHAPE> WCODEC_INLINE constexpr bool is_low()
{
    return SHAPE >= WCODEC_SHAPE_8_1_FUSED && SHAPE <= WCODEC_SHAPE_8_3_FUSED;
}

/* Where the rows of a later plane of a tile begin. The first plane's last row is stored as its
 * lower halves only. */
template <int SHAPE, int PLANE> WCODEC_INLINE uint32_t plane_offset(uint32_t groups)
{
    if constexpr (is_low<SHAPE>())
        return (groups + 3) / 4 * 128;
    const uint32_t second = groups * shape<SHAPE>::group - 64;
    return PLANE == 1
               ? second
               : second + (groups + 3) / 4 *
                              128; /* of 16_11: the second has two bits, four groups to a row */
}

/* Bytes of a tile's raw bits, of an even number of groups. */
template <int SHAPE> WCODEC_INLINE uint32_t raw_size(uint32_t groups)
{
    if constexpr (is_low<SHAPE>())
        return (SHAPE == WCODEC_SHAPE_8_1_FUSED ? 0 : plane_offset<SHAPE, 1>(groups)) +
               (SHAPE == WCODEC_SHAPE_8_2_FUSED ? 0 : (groups + 7) / 8 * 128);
    return SHAPE == WCODEC_SHAPE_32_24   ? plane_offset<SHAPE, 1>(groups) + groups * 128
           : SHAPE == WCODEC_SHAPE_16_11 ? plane_offset<SHAPE, 2>(groups) + (groups + 7) / 8 * 128
                                         : plane_offset<SHAPE, 1>(groups);
}

/* Payload and stored half of a plane of four bits: 16 bits, four values of neighbouring elements.
 * Put each where it stands in its byte: its lowest bit just above the coded field. */
template <uint32_t MASK> WCODEC_INLINE uint32_t spread_nibbles(uint32_t v)
{
    v = (v | v << 8) & 0x00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0fu;
    return MASK == 0x0f0f0f0fu ? v : (v >> 1 & 0x07070707u) | (v << 7 & 0x80808080u);
}

/* What a symbol, or a pair of them, puts into elements: one word of the ready table. For 32-bit
 * elements the second of a pair waits 16 bits lower. */
template <int SHAPE>
WCODEC_INLINE uint32_t ready_pattern(const wcodec_table_set *set, uint32_t symbol)
{
    const uint32_t v0 = (set->base + symbol % 16) << set->shift, v1 = (set->base + symbol / 16)
                                                                      << set->shift;
    return shape<SHAPE>::bytes == 4 ? v0 | v1 >> 16 : v0 | v1 << (8 * shape<SHAPE>::bytes % 32);
}

/* An entry of pairs in four bytes. Bytes to which something is added get the upper half of it here,
 * in both values. */
template <int SHAPE> WCODEC_INLINE uint32_t pair_entry(uint32_t e, uint32_t add)
{
    if constexpr (SHAPE != WCODEC_SHAPE_8_4 && SHAPE != WCODEC_SHAPE_8_4_FUSED)
        return e;
    const uint32_t upper = (0u - add) >> 4 & 15u;
    return (e & 0xfff00fffu) | (((e & 0xf000u) + (upper << 12)) & 0xf000u) |
           (((e & 0xf0000u) + (upper << 16)) & 0xf0000u);
}

/* Entries as they are stored, four a thread at a time, made ready. `meanwhile` runs while they are
 * on their way. SHIFT: symbols of P8 stand in bytes where the field is. */
template <int SHAPE, int PROFILE, bool RUNS, bool WIDE, bool SHIFT = true, class function>
WCODEC_INLINE void load_tables(const wcodec_table_set *set, uint32_t *to, function meanwhile)
{
    const uint4 *entries = (const uint4 *)(set + 1);
    const uint32_t shift = set->shift, add = set->add;
    if constexpr (PROFILE == P8 && !RUNS) {
        /* A copy for each bank, or with wide entries for each pair of banks. */
        const uint32_t step = blockDim.x,
                       byte_shift = SHIFT && shape<SHAPE>::bytes == 1 ? shift : 0;
        uint32_t k = thread(), stored = __ldg((const uint32_t *)(set + 1) + k % 2048 / 8);
        meanwhile();
        for (; k < 2048; k += step) {
            const uint32_t e = wcodec_p8_entry(stored, byte_shift),
                           pattern = WCODEC_ENTRY_SYMBOL(stored) << shift,
                           word = stored >> 20 << 24 | (stored & 0xfffu);
            stored = __ldg((const uint32_t *)(set + 1) + (k + step) % 2048 / 8);
            ((uint4 *)to)[k] =
                WIDE ? make_uint4(pattern, word, pattern, word) : make_uint4(e, e, e, e);
        }
    } else {
        const uint32_t count = RUNS ? set->entries / 4 : 1024;
        constexpr int ahead = 4;
        uint4 e[ahead];
#pragma unroll
        for (int i = 0; i < ahead; i++)
            e[i] = __ldg(entries + min(thread() + i * blockDim.x, count - 1));
        meanwhile();
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const uint32_t k = thread() + i * blockDim.x;
            if (k >= count)
                break;
            if constexpr (PROFILE == P8) {
                const uint32_t byte_shift = SHIFT && shape<SHAPE>::bytes == 1 ? shift : 0;
                ((uint4 *)to)[k] = make_uint4(
                    wcodec_p8_entry(e[i].x, byte_shift), wcodec_p8_entry(e[i].y, byte_shift),
                    wcodec_p8_entry(e[i].z, byte_shift), wcodec_p8_entry(e[i].w, byte_shift));
            } else if constexpr (WIDE) {
                ((uint4 *)to)[2 * k] =
                    make_uint4(ready_pattern<SHAPE>(set, WCODEC_ENTRY_SYMBOL(e[i].x)),
                               wcodec_ready_word(e[i].x),
                               ready_pattern<SHAPE>(set, WCODEC_ENTRY_SYMBOL(e[i].y)),
                               wcodec_ready_word(e[i].y));
                ((uint4 *)to)[2 * k + 1] =
                    make_uint4(ready_pattern<SHAPE>(set, WCODEC_ENTRY_SYMBOL(e[i].z)),
                               wcodec_ready_word(e[i].z),
                               ready_pattern<SHAPE>(set, WCODEC_ENTRY_SYMBOL(e[i].w)),
                               wcodec_ready_word(e[i].w));
            } else {
                ((uint4 *)to)[k] =
                    PROFILE == PAIRS
                        ? make_uint4(pair_entry<SHAPE>(e[i].x, add), pair_entry<SHAPE>(e[i].y, add),
                                     pair_entry<SHAPE>(e[i].z, add), pair_entry<SHAPE>(e[i].w, add))
                        : e[i];
            }
        }
    }
}

#endif
