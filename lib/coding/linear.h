/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The linear hash of a tensor in a message (doc/format.md 10): a sum over its words, each times a
 * number that its place says. So parts are summed up in any order, and where some elements change,
 * what the sum changes by follows from these alone. */
#ifndef WCODEC_CODING_LINEAR_H
#define WCODEC_CODING_LINEAR_H

#include <stdint.h>

/* Bytes whose words have a factor in common. */
enum { WCODEC_LINEAR_SECTION = 2048 };

/* What `size` bytes add that are after `at` others. */
uint64_t wcodec_linear_sum(const uint8_t *bytes, uint64_t size, uint64_t at);
/* The hash of as many bytes in all. */
uint64_t wcodec_linear_hash(uint64_t sum, uint64_t size);

#endif
