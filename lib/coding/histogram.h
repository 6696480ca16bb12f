/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Counting the values of fields. */
#ifndef WCODEC_CODING_HISTOGRAM_H
#define WCODEC_CODING_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where within its stride sample number i is taken, so that what repeats at an even distance is not
 * all that is seen: below `stride`, which is at least 1. */
static inline uint64_t wcodec_scatter(uint64_t i, uint64_t stride)
{
    return (uint32_t)i * 0x9E3779B1u % stride;
}

/* Elements that are worth handling at once: their symbols stay in the first-level cache. */
enum { WCODEC_COUNT_BLOCK = 4096 };

/* The field's value of each of `elements` elements of 2^element_log2 bytes at data (no alignment
 * needed), after `add` has been added. width: 1 to 8. */
void wcodec_extract_field(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add,
                          unsigned shift, unsigned width, uint8_t *symbols);

/* Add each symbol's number to counts. */
void wcodec_count_symbols(const uint8_t *symbols, size_t count, uint64_t counts[256]);
typedef void (*wcodec_count_fn)(const uint8_t *symbols, size_t count, uint64_t counts[256]);

/* Counting in steps. Values of a window of 32 are counted two at once, by pairs. */
enum { WCODEC_COUNTER_WINDOW = 32 };

struct wcodec_counter {
    uint8_t base; /* of the window */
    bool wide;    /* too many values lie outside of it: all are counted one by one */
    uint32_t single[4][256];
    uint32_t pairs[2][WCODEC_COUNTER_WINDOW * WCODEC_COUNTER_WINDOW];
};

/* counts: what is known of the symbols to come, for the choice of a window. At most 2^30 symbols
 * may be added before the end, which adds their numbers to counts. */
void wcodec_counter_begin(struct wcodec_counter *counter, const uint64_t counts[256]);
void wcodec_counter_add(struct wcodec_counter *counter, const uint8_t *symbols, size_t count);
void wcodec_counter_end(const struct wcodec_counter *counter, uint64_t counts[256]);

/* Bits that are set in any, and in all, of the elements; both are updated. */
void wcodec_fold_bits(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t *any,
                      uint64_t *all);

#endif
