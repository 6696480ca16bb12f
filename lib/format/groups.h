/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Headers of groups of entries (doc/format.md 1.6): what is in front of payloads, so that an index
 * can be rebuilt. */
#ifndef WCODEC_FORMAT_GROUPS_H
#define WCODEC_FORMAT_GROUPS_H

#include "format/index.h"

enum { WCODEC_GROUP_MIN = 12 }; /* bytes in front of the body */
#define WCODEC_GROUP_MAX ((uint64_t)1 << 30)
#define WCODEC_GROUP_PACKED 0x80000000u /* beside the size: the body is a zstd frame */

/* Most bytes that a body of `coded_size` bytes may decode to. */
static inline uint64_t wcodec_group_decoded_max(uint64_t coded_size)
{
    return coded_size * 256;
}

/* The header of entries [first, first + count): *header, *size bytes, is the caller's to free with
 * the allocator. WCODEC_ERROR_MEMORY, _LIMIT. */
wcodec_status wcodec_group_write(const struct wcodec_index *index, uint64_t first, uint64_t count,
                                 const wcodec_allocator *allocator, uint8_t **header, size_t *size,
                                 wcodec_error *err);

/* Read the header at `offset`, of at most `most` bytes, and verify its checksum: *header is the
 * caller's to free. WCODEC_ERROR_CORRUPT if there is none, _LIMIT, _IO, _MEMORY. */
wcodec_status wcodec_group_load(const struct wcodec_source *source,
                                const wcodec_allocator *allocator, uint64_t offset, uint64_t most,
                                uint8_t **header, size_t *size, wcodec_error *err);

/* The body of a header that was loaded, at most `most` bytes: *body is the caller's to free. zstd:
 * as below. */
wcodec_status wcodec_group_decode(const uint8_t *header, size_t size, uint64_t most,
                                  const wcodec_allocator *allocator, struct wcodec_zstd *zstd,
                                  uint8_t **body, size_t *body_size, wcodec_error *err);

/* Compare the header of a group with what the index says. zstd: kept contexts, may be NULL. As
 * wcodec_group_load(). */
wcodec_status wcodec_group_check(const struct wcodec_source *source,
                                 const wcodec_allocator *allocator, uint64_t most,
                                 const struct wcodec_group *group, struct wcodec_zstd *zstd,
                                 wcodec_error *err);

/* An index made of the headers alone, as far as there are any: for files that are cut short, or
 * whose index is damaged. The head must be right. An entry whose payload is not all there is `cut`.
 * WCODEC_ERROR_CORRUPT if not one header is found. */
wcodec_status wcodec_index_rebuild(const struct wcodec_source *source,
                                   const wcodec_allocator *allocator, const wcodec_limits *limits,
                                   struct wcodec_index **index, wcodec_error *err);

#endif
