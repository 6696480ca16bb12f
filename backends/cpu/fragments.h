/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU's own way from the sequence of a matrix in fragments (doc/format.md 7) to its elements
 * and back. lib/coding/fragments.c says what the result is, and tests/checkdsp proves this against
 * it. */
#ifndef WCODEC_CPU_FRAGMENTS_H
#define WCODEC_CPU_FRAGMENTS_H

#include "coding/fragments.h"

/* wcodec_fragments_put(). */
void wcodec_cpu_fragments_put(const struct wcodec_fragments *fragments, uint64_t first,
                              uint64_t count, const uint8_t *sequence, uint64_t begin, uint64_t end,
                              uint8_t *dst);

/* wcodec_fragments_gather(). */
void wcodec_cpu_fragments_gather(const struct wcodec_fragments *fragments, const uint8_t *data,
                                 uint64_t first, uint64_t count, uint8_t *sequence);

#endif
