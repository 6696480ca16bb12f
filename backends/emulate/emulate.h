/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels' common code in its C form: what tests and fuzzers run in place of a GPU. */
#ifndef WCODEC_EMULATE_EMULATE_H
#define WCODEC_EMULATE_EMULATE_H

#include "backends/kernels/few_step.h"
#include "backends/kernels/jobs.h"

/* Decode one tile; returns the fault. block: all descriptors. */
uint32_t wcodec_emulate_tile(const struct wcodec_tile_job *job, const uint8_t *block);

/* Decode the symbols of a tile of one coded field, of pairs or P8 without runs, as the kernels for
 * few tiles do. steps: room for word_count + WCODEC_FEW_SPARE of them. decoded: two entries a group
 * and lane, as they come: [(2 * group + half) * 32 + lane]. Returns the fault, if it is one of
 * states or words. */
uint32_t wcodec_emulate_few(const struct wcodec_tile_job *job, const struct wcodec_table_set *set,
                            bool p8, struct wcodec_few_step *steps, uint32_t *decoded);

/* Reconstruct the blocks of one tile from its residuals, or coefficients. */
void wcodec_emulate_blocks(const struct wcodec_blocks_job *job);
void wcodec_emulate_lossy(const struct wcodec_blocks_job *job);

/* A tile of bytes as fused kernels take it, of which `residuals` are there but for outliers;
 * returns the fault as far as it is of outliers and the check. */
uint32_t wcodec_emulate_fused(const struct wcodec_tile_job *job, const struct wcodec_table_set *set,
                              const uint8_t *residuals);

#endif
