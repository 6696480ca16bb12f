/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Is a tensor one of the few that zstd makes smaller? */
#ifndef WCODEC_ENCODE_RIVAL_H
#define WCODEC_ENCODE_RIVAL_H

#include "encode/tensor.h"

/* zstd's level for each of ours, 1 to 9. */
int wcodec_zstd_level(int level);

/* A cheap look at a tensor coded in tiles: does zstd shrink a sample more than its tiles shrank, or do stretches of the tensor repeat further apart than a sample shows? Then all of it is worth trying.
 * WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_zstd_may_win(const wcodec_allocator *allocator, int level, const uint8_t *data, const struct wcodec_coded *coded, bool *may, wcodec_error *err);

#endif
