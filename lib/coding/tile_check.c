/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tile check (doc/format.md 2.6). */
#include "coding/check_mix.h"

#include "core/assert.h"

/* One group: `own` words of each lane. */
static inline void add_group(const uint8_t *group, uint32_t number, unsigned own,
                             uint64_t sums[WCODEC_LANES])
{
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        for (unsigned i = 0; i < own; i++)
            sums[lane] += (uint64_t)wcodec_load_u32(group + 4 * (own * lane + i)) *
                          WCODEC_CHECK_KEY(own * number + i);
}

void wcodec_tile_check_sums(const void *data, uint32_t elements, unsigned element_log2,
                            uint64_t sums[WCODEC_LANES])
{
    wcodec_tile_check_sums_from(data, elements, element_log2, 0, sums);
}

void wcodec_tile_check_sums_from(const void *data, uint32_t elements, unsigned element_log2,
                                 uint32_t first, uint64_t sums[WCODEC_LANES])
{
    WCODEC_ASSERT(element_log2 <= 3);
    const uint8_t *bytes = data;
    const size_t size = (size_t)elements << element_log2,
                 group_size = (size_t)WCODEC_GROUP << element_log2;
    memset(sums, 0, WCODEC_LANES * sizeof *sums);
    for (uint32_t g = 0; g * group_size < size; g++) {
        const uint8_t *group = bytes + g * group_size;
        uint8_t padded[WCODEC_GROUP * 8];
        if (size - g * group_size < group_size) {
            memset(padded, 0, group_size);
            memcpy(padded, group, size - g * group_size);
            group = padded;
        }
        /* A lane's words in a group: four elements. A constant number of them lets the compiler
         * unroll. */
        switch (element_log2) {
        case 0:
            add_group(group, first + g, 1, sums);
            break;
        case 1:
            add_group(group, first + g, 2, sums);
            break;
        case 2:
            add_group(group, first + g, 4, sums);
            break;
        default:
            add_group(group, first + g, 8, sums);
        }
    }
}

uint32_t wcodec_tile_check_finish(const uint64_t sums[WCODEC_LANES])
{
    return wcodec_check_mix(sums);
}

uint32_t wcodec_tile_check(const void *data, uint32_t elements, unsigned element_log2)
{
    uint64_t sums[WCODEC_LANES];
    wcodec_tile_check_sums(data, elements, element_log2, sums);
    return wcodec_tile_check_finish(sums);
}
