/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a device counts of a tensor before it is decided how it is coded: which bits vary, and how
 * often each value of some fields occurs in blocks of WCODEC_COUNT_BLOCK elements whose places the
 * shape alone fixes (lib/encode/statistics.c). */
#ifndef WCODEC_CODING_MEASURE_H
#define WCODEC_CODING_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

enum { WCODEC_MEASURED_FIELDS = 4, WCODEC_MEASURE_LOG2_ENTRIES = 257 };

struct wcodec_measured_field {
    uint8_t shift;
    uint8_t width;   /* 1 to 8 */
    bool by_block;   /* block_bits is wanted */
    uint32_t stride; /* blocks whose number is a multiple of it are counted */
};

struct wcodec_measured {
    uint64_t any; /* bits set in at least one element */
    uint64_t all; /* bits set in every one */
    uint64_t counts[WCODEC_MEASURED_FIELDS][256];
    /* Of fields by block: the sum over counted blocks of wcodec_entropy() and wcodec_unseen_bits()
     * of each; of others 0. */
    uint64_t block_bits[WCODEC_MEASURED_FIELDS];
};

#endif
