/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Chunks (doc/format.md 3): zstd frames or stored bytes, for what is no weight. */
#ifndef WCODEC_CODING_CHUNKS_H
#define WCODEC_CODING_CHUNKS_H

#include "core/bytes.h"
#include "core/cancel.h"
#include "core/context.h"

enum { WCODEC_CHUNK_MAX = 1 << 24 };

/* Bytes of the payload's directory, aligned to 16. */
uint64_t wcodec_chunks_directory_size(uint64_t size, uint64_t chunk);

/* Parse the size of a chunk, the parameter of an index record, for `size` bytes with such a
 * payload. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_chunks_read_size(struct wcodec_cursor *cursor, uint64_t size,
                                      uint64_t payload_size, uint64_t *chunk, wcodec_error *err);

struct wcodec_chunks {
    uint64_t size;  /* decoded */
    uint64_t chunk; /* bytes of a chunk */
    uint64_t count;
    uint32_t *coded; /* coded size by chunk */
    uint32_t *checks;
    uint64_t *offsets; /* payload offset by chunk */
    const wcodec_allocator *allocator;
};

/* Parse and validate a directory (wcodec_chunks_directory_size() bytes) against the payload's size.
 */
wcodec_status wcodec_chunks_read(uint64_t size, uint64_t chunk, const uint8_t *directory,
                                 uint64_t payload_size, const wcodec_allocator *allocator,
                                 struct wcodec_chunks **chunks, wcodec_error *err);
void wcodec_chunks_free(struct wcodec_chunks *chunks);

/* Decode chunk i from its coded bytes to out (its decoded size). WCODEC_ERROR_CORRUPT,
 * WCODEC_ERROR_MEMORY. zstd: kept contexts, may be NULL. Thread-safe. */
wcodec_status wcodec_chunk_decode(const struct wcodec_chunks *chunks, uint64_t i,
                                  const uint8_t *coded, void *out, bool verify,
                                  struct wcodec_zstd *zstd, wcodec_error *err);

/* The check of a chunk's decoded bytes. */
uint32_t wcodec_chunk_check(const void *data, size_t size);

/* About how many bytes zstd takes by itself while it codes a chunk: at most. */
uint64_t wcodec_chunk_encode_memory(int zstd_level, uint64_t size);

/* Encode one chunk at a zstd level: out holds `size` bytes; *coded_size == size means
 * stored. *check is set. WCODEC_ERROR_CANCELLED soon after cancel (may be NULL) says so, at levels
 * that take their time. zstd: kept contexts, may be NULL. */
wcodec_status wcodec_chunk_encode(struct wcodec_zstd *zstd, const void *data, size_t size,
                                  int zstd_level, struct wcodec_cancel *cancel, uint8_t *out,
                                  uint32_t *coded_size, uint32_t *check, wcodec_error *err);

#endif
