/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels' common code in its C form: what tests and fuzzers run in place of a GPU. */
#ifndef WCODEC_COMMON_EMULATE_H
#define WCODEC_COMMON_EMULATE_H

#include "backends/common/jobs.h"

/* Decode one tile; returns the fault. block: all descriptors. */
uint32_t wcodec_emulate_tile(const struct wcodec_tile_job *job, const uint8_t *block);

/* Reconstruct the blocks of one tile from its residuals, or coefficients. */
void wcodec_emulate_blocks(const struct wcodec_blocks_job *job);
void wcodec_emulate_lossy(const struct wcodec_blocks_job *job);

/* A tile of bytes as fused kernels take it, of which `residuals` are there but for outliers; returns the fault as far as it is of outliers and the check. */
uint32_t wcodec_emulate_fused(const struct wcodec_tile_job *job, const struct wcodec_table_set *set, const uint8_t *residuals);

#endif
