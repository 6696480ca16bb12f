/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The packed form of a small tensor's payload (doc/format.md 2.7): what it has beside symbols and
 * raw bits takes fewer bits, and what is always zero none. */
#ifndef WCODEC_CODING_PACKED_H
#define WCODEC_CODING_PACKED_H

#include "coding/tiling.h"

/* The coding as on disk of what is in tiles whose payload is packed. It differs in how the payload
 * is stored only: an entry that was read has coding WCODEC_CODING_TILES. */
enum { WCODEC_CODING_PACKED = 8 };

/* Alignment of a payload of that size and coding, as on disk: packed ones have none. */
static inline uint64_t wcodec_payload_alignment(uint64_t payload_size, uint8_t coding)
{
    if (coding == WCODEC_CODING_PACKED)
        return 1;
    return payload_size >= 65536 ? 256 : 16;
}

/* Most bytes of a tensor that is packed, and of its payload when it is not. */
enum { WCODEC_PACKED_MOST = 65536 };

/* Can a payload of that size be packed? Not where runs choose tables. */
bool wcodec_packed_applies(const struct wcodec_tiling *tiling, uint64_t payload_size);

/* About how many bytes packing saves: exact for last rows, the average for all else. */
uint64_t wcodec_packed_saving(const struct wcodec_tiling *tiling);

/* Pack a valid payload to `packed`, of which there are `capacity` bytes. Returns the size, or 0 if
 * it would not fit, or has tiles that are stored as they are. */
size_t wcodec_packed_write(const struct wcodec_tiling *tiling, const uint8_t *payload,
                           size_t payload_size, uint8_t *packed, size_t capacity);

/* The payload, which must have payload_size bytes, from its packed form. wcodec_packed_applies()
 * holds. What tables and streams say is still to be checked, by wcodec_tiles_read().
 * WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_packed_read(const struct wcodec_tiling *tiling, const uint8_t *packed,
                                 size_t packed_size, uint8_t *payload, size_t payload_size,
                                 wcodec_error *err);

#endif
