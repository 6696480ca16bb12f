/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Makes tiles at a fixed rate: for tests, and for fuzz targets. */
#ifndef WCODEC_TESTS_UNIT_FIXED_SUPPORT_H
#define WCODEC_TESTS_UNIT_FIXED_SUPPORT_H

#include "coding/fixed.h"

/* Code a tile by way of tables and counts, as the encoder does; arguments and result are those of
 * wcodec_fixed_tile_encode(). shifts: of its rows. */
uint32_t support_fixed_code_tile(const struct wcodec_fixed *fixed, const uint8_t *elements,
                                 size_t stride, unsigned rows, unsigned columns,
                                 const uint8_t *shifts, uint64_t first, uint8_t *record,
                                 uint8_t *spilled);

#endif
