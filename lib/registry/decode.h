/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Decoding tiles to host memory on the device that the context chose. */
#ifndef WCODEC_REGISTRY_DECODE_H
#define WCODEC_REGISTRY_DECODE_H

#include "backends/backend.h"
#include "coding/tile.h"
#include "core/context.h"

/* Decode tiles [first, first + count), count > 0, whole, one after the other, to out (no
 * alignment). The view must hold the extent of these tiles. Parallel on the context's threads or
 * its device. A tensor that the device has no code or no memory for is decoded by the CPU. So is
 * one that the device found faults in or failed at: if the CPU finds none, the device is used no
 * more, with a warning. WCODEC_ERROR_CORRUPT: the text names the first tile that failed, and out is
 * zeros. WCODEC_ERROR_MEMORY; WCODEC_ERROR_DEVICE if the device failed and the CPU was not allowed
 * by the choice of backends; then too out is zeros. From any thread. */
wcodec_status wcodec_decode_tiles(wcodec_context *context, const struct wcodec_tiles *tiles,
                                  const struct wcodec_view *view, uint64_t first, uint64_t count,
                                  void *out, bool verify, wcodec_error *err);

/* The same by the CPU, whatever the context's device is. */
wcodec_status wcodec_decode_tiles_on_cpu(wcodec_context *context, const struct wcodec_tiles *tiles,
                                         const struct wcodec_view *view, uint64_t first,
                                         uint64_t count, void *out, bool verify, wcodec_error *err);

/* Say what is wrong with a tile: WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_tile_fail(const struct wcodec_tiles *tiles, uint64_t tile,
                               enum wcodec_tile_fault fault, wcodec_error *err);

/* Where the areas of tiles [first, first + count) shall be in memory that is copied to a device,
 * one behind the other from `at` on: sets begin, size and offset. Returns where they end. */
uint64_t wcodec_lay_out_areas(const struct wcodec_tiles *tiles, uint64_t first, uint64_t count,
                              uint64_t at, struct wcodec_area_place places[WCODEC_AREAS]);

#endif
