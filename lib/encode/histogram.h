/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Counting the values of fields. */
#ifndef WCODEC_ENCODE_HISTOGRAM_H
#define WCODEC_ENCODE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Elements that are worth handling at once: their symbols stay in the first-level cache. */
enum { WCODEC_COUNT_BLOCK = 4096 };

/* The field's value of each of `elements` elements of 2^element_log2 bytes at data (no alignment needed), after `add` has been added. width: 1 to 8. */
void wcodec_extract_field(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add, unsigned shift, unsigned width, uint8_t *symbols);

/* Add each symbol's number to counts. */
void wcodec_count_symbols(const uint8_t *symbols, size_t count, uint64_t counts[256]);

/* The same for a field's values. */
void wcodec_count_field(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add, unsigned shift, unsigned width, uint64_t counts[256]);

/* Pairs of neighbouring values; nibble[v] is the place in the window that v is coded at. The last of an odd number is paired with itself. */
void wcodec_count_pairs(const uint8_t *symbols, size_t count, const uint8_t nibble[256], uint64_t counts[256]);

/* Bits that are set in any, and in all, of the elements; both are updated. */
void wcodec_fold_bits(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t *any, uint64_t *all);

#endif
