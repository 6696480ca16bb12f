/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Is a tensor one of the few that zstd makes smaller? */
#ifndef WCODEC_ENCODE_RIVAL_H
#define WCODEC_ENCODE_RIVAL_H

#include "core/context.h"

/* zstd's level for each of ours, 1 to 9. */
int wcodec_zstd_level(int level);

/* A cheap look: does a sample shrink about as well with zstd as the tensor did in tiles (`coded` of `size` bytes), or do stretches of it repeat further apart than a sample shows?
 * Then all of it is worth trying. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_zstd_may_win(const wcodec_allocator *allocator, int level, const uint8_t *data, uint64_t size, unsigned element_log2, uint64_t coded, bool *may, wcodec_error *err);

#endif
