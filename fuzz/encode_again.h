/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles that were decoded, coded again. */
#ifndef WCODEC_FUZZ_ENCODE_AGAIN_H
#define WCODEC_FUZZ_ENCODE_AGAIN_H

#include "coding/tiling.h"

/* Code the elements of a tile by the tables and modes that it has (where it is stored, by the first
 * tables): every CPU level must make what the reference makes, byte for byte. */
void fuzz_encode_again(const struct wcodec_tiles *tiles, uint64_t tile, const uint8_t *elements);

#endif
