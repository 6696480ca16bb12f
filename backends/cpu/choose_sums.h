/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The check's sums by the size of elements, over the
 *
 *   add_sums(element_log2, elements, groups, first, sums)
 *
 * that a level gives before it includes this: element_log2, and mostly groups, are constants
 * there. */
#ifndef WCODEC_CPU_CHOOSE_SUMS_H
#define WCODEC_CPU_CHOOSE_SUMS_H

#include "backends/cpu/decode.h"
#include "backends/cpu/inline.h"

/* A whole chunk is the usual case: the loop over its groups is unrolled. */
INLINE void add_all_sums(unsigned element_log2, const uint8_t *elements, unsigned groups,
                         uint32_t first, uint64_t sums[WCODEC_LANES])
{
    if (groups == WCODEC_CPU_CHUNK_GROUPS)
        add_sums(element_log2, elements, WCODEC_CPU_CHUNK_GROUPS, first, sums);
    else
        add_sums(element_log2, elements, groups, first, sums);
}

static void choose_sums(unsigned element_log2, const uint8_t *elements, unsigned groups,
                        uint32_t first, uint64_t sums[WCODEC_LANES])
{
    if (element_log2 == 0)
        add_all_sums(0, elements, groups, first, sums);
    else if (element_log2 == 1)
        add_all_sums(1, elements, groups, first, sums);
    else if (element_log2 == 2)
        add_all_sums(2, elements, groups, first, sums);
    else
        add_all_sums(3, elements, groups, first, sums);
}

#endif
