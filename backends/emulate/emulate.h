/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels' common code in its C form: what tests and fuzzers run in place of a GPU. */
#ifndef WCODEC_EMULATE_EMULATE_H
#define WCODEC_EMULATE_EMULATE_H

#include "backends/kernels/jobs.h"

/* Decode one tile; returns the fault. block: all descriptors. */
uint32_t wcodec_emulate_tile(const struct wcodec_tile_job *job, const uint8_t *block);

/* Reconstruct the blocks of one tile from its residuals, or coefficients. */
void wcodec_emulate_blocks(const struct wcodec_blocks_job *job);
void wcodec_emulate_lossy(const struct wcodec_blocks_job *job);

#endif
