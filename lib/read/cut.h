/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How the bytes of a tensor follow from its tiles, and cutting it into runs of tiles that are read
 * and decoded together. */
#ifndef WCODEC_READ_CUT_H
#define WCODEC_READ_CUT_H

#include "format/index.h"
#include "registry/decode.h"

/* Coded elements form units that are reconstructed alone, and units form bands: neighbouring bytes,
 * which come after those of the band before. */
struct wcodec_bands {
    unsigned unit_log2; /* coded elements of a unit */
    uint64_t units;     /* of a band */
    uint64_t size;      /* bytes of a band that is not the last */
};

/* What follows from an entry in tiles, in blocks, lossy, in fragments or at a fixed rate before
 * anything of it is read. At a fixed rate tiles are what is coded: a unit, and of the tiling their
 * number is set, and the prefix, which is shifts and checks. */
struct wcodec_layout {
    struct wcodec_tiling tiling;
    bool in_blocks, is_lossy, is_fixed, in_fragments;
    struct wcodec_blocks blocks;
    struct wcodec_lossy lossy;
    struct wcodec_fixed fixed;
    struct wcodec_fragments fragments;
    uint8_t element_log2;      /* of the tensor */
    uint64_t tiles_begin;      /* in the payload: after modes and scales */
    struct wcodec_bands bands; /* in tiles: a tile each */
};

/* Has an entry a layout? */
static inline bool wcodec_entry_has_layout(const struct wcodec_entry *entry)
{
    return wcodec_entry_has_tiles(entry) || entry->coding == WCODEC_CODING_FIXED;
}

void wcodec_layout_derive(const struct wcodec_entry *entry, struct wcodec_layout *layout);

/* Are tiles only a step on the way to elements? */
static inline bool wcodec_layout_in_units(const struct wcodec_layout *layout)
{
    return layout->in_blocks || layout->is_lossy || layout->is_fixed || layout->in_fragments;
}

/* What a device must be capable of: bits of enum wcodec_device_capability. */
uint32_t wcodec_layout_needs(const struct wcodec_layout *layout);

/* Check what the payload begins with: modes and scales, or shifts. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_layout_check_side(const struct wcodec_layout *layout, const uint8_t *side,
                                       wcodec_error *err);

/* Check what a payload of that size begins with, tiling.prefix_size bytes after the side
 * included, and parse it; at a fixed rate *tiles is NULL. WCODEC_ERROR_CORRUPT, _MEMORY. */
wcodec_status wcodec_layout_parse(const struct wcodec_layout *layout, const uint8_t *front,
                                  uint64_t payload_size, const wcodec_allocator *allocator,
                                  struct wcodec_tiles **tiles, wcodec_error *err);

/* As wcodec_lay_out_areas(). At a fixed rate there is room for all spilled elements of the matrix:
 * which of them the tiles have is not known. */
uint64_t wcodec_layout_place(const struct wcodec_layout *layout, const struct wcodec_tiles *tiles,
                             uint64_t first, uint64_t count, uint64_t at,
                             struct wcodec_area_place places[WCODEC_AREAS]);

/* Bands that have bytes [begin, end). */
void wcodec_bands_find(const struct wcodec_bands *bands, uint64_t begin, uint64_t end,
                       uint64_t *first, uint64_t *stop);

/* Tiles [*tile, *end) that bands [first, stop) need. */
void wcodec_bands_tiles(const struct wcodec_bands *bands, const struct wcodec_tiling *tiling,
                        uint64_t first, uint64_t stop, uint64_t *tile, uint64_t *end);

/* Bytes [begin, end) from tiles [first, stop); of a tensor in tiles, what those have. */
struct wcodec_job wcodec_layout_job(const struct wcodec_layout *layout,
                                    const struct wcodec_tiles *tiles, const uint8_t *side,
                                    uint64_t first, uint64_t stop, uint64_t begin, uint64_t end);

/* Is a payload best read whole, where `whole` says whether all of it is wanted, and `most` bytes
 * may be in memory? One read is cheaper than six. */
bool wcodec_read_whole(const struct wcodec_entry *entry, bool whole, uint64_t most);

/* What a run may have in bytes. */
struct wcodec_cut {
    uint64_t coded;
    uint64_t decoded;
};

/* End of the longest run of bands from `first` on, at most up to `stop`, that keeps to the limits:
 * one band at least. */
uint64_t wcodec_cut_end(const struct wcodec_bands *bands, const struct wcodec_tiles *tiles,
                        const struct wcodec_cut *limits, uint64_t first, uint64_t stop);

/* The same of a layout's own bands. */
uint64_t wcodec_layout_cut_end(const struct wcodec_layout *layout, const struct wcodec_tiles *tiles,
                               const struct wcodec_cut *limits, uint64_t first, uint64_t stop);

#endif
