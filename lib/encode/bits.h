/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Code lengths in fixed point, so that decisions are the same on every machine. */
#ifndef WCODEC_ENCODE_BITS_H
#define WCODEC_ENCODE_BITS_H

#include <stdint.h>

/* A bit in units of 2^-24, and in those of 2^-16 that costs are counted in. */
#define WCODEC_LOG2_ONE (1u << 24)
#define WCODEC_BIT ((uint64_t)1 << 16)

/* What one outlier takes: u16 position and u8 value. */
enum { WCODEC_OUTLIER_BITS = 24 };

/* log2(x) in units of 2^-24 bit, x >= 1; the error is below 3e-6. */
uint32_t wcodec_log2(uint64_t x);

/* Order-0 entropy of the counted symbols, in bits times WCODEC_BIT. */
uint64_t wcodec_entropy(const uint64_t *counts, unsigned symbols);

#endif
