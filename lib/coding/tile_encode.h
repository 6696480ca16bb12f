/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Parts of the tile encoder. */
#ifndef WCODEC_CODING_TILE_ENCODE_H
#define WCODEC_CODING_TILE_ENCODE_H

#include "coding/tile.h"

/* Pack the raw bits of `groups` whole groups of e' (padded with zeros) into raw
 * (wcodec_tile_raw_size() bytes) and, if has_payload, each lane's payload. rows: scratch for one
 * plane, groups * 4 * plane bits bytes at most (groups * 512 always suffices). */
void wcodec_pack_raw(const struct wcodec_tiling *tiling, const uint8_t *elements, uint32_t groups,
                     bool has_payload, uint16_t payload[WCODEC_LANES], uint8_t *raw,
                     uint32_t *rows);

#endif
