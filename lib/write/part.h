/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A part of a file, compressed alone, which lib/recode/join.c puts together with the others. It is
 * a container of its own, so that it is read and tested as any other. It restores to zeros, from
 * where the original's leaf begins (WCODEC_LEAF_BYTES) in which the part does, the part, and a
 * record of what a join needs beside entries: hashes of the original's leaves, the bytes of those
 * that it shares with its neighbours, and samples' hashes of its tensors. */
#ifndef WCODEC_WRITE_PART_H
#define WCODEC_WRITE_PART_H

#include "io/span.h"
#include "write/dedup.h"
#include "write/output.h"

/* The record. All numbers are little-endian: the magic number, how many items there are, 24 bytes
 * for each (low, high, entry), and a span (io/span.h). */
#define WCODEC_PART_MAGIC "wcodec part 002\n"
enum {
    WCODEC_PART_MAGIC_SIZE = 16,
    WCODEC_PART_HEAD_SIZE = WCODEC_PART_MAGIC_SIZE + 8,
    WCODEC_PART_ITEM_SIZE = 24
};

struct wcodec_part_record {
    struct wcodec_span span; /* of the original */
    uint64_t item_count;     /* tensors that another may equal, in their order */
    const uint8_t *items;
};

/* What a compressor keeps for it. */
struct wcodec_file_part {
    uint64_t begin, end; /* as asked for: entries that begin there; end 0: this is no part */
    struct wcodec_span_maker span; /* bytes of these entries */
};

static inline bool wcodec_part_is_on(const struct wcodec_file_part *part)
{
    return part->end != 0;
}

/* Is an entry of it that begins at `at` of a source of `size` bytes? */
static inline bool wcodec_part_has(const struct wcodec_file_part *part, uint64_t at, uint64_t size)
{
    return !wcodec_part_is_on(part) || (at >= part->begin && (at < part->end || part->end >= size));
}

/* Before the first entry; begin and end of the span are set. WCODEC_ERROR_MEMORY and what writing
 * returns. */
wcodec_status wcodec_part_begin(struct wcodec_file_part *part, wcodec_context *context,
                                const struct wcodec_encode_settings *settings,
                                struct wcodec_output *output, wcodec_error *err);
/* After the last one. The same. */
wcodec_status wcodec_part_end(struct wcodec_file_part *part, wcodec_context *context,
                              const struct wcodec_encode_settings *settings,
                              const struct wcodec_dedup *dedup, uint64_t source_size,
                              struct wcodec_output *output, wcodec_error *err);
void wcodec_part_free(struct wcodec_file_part *part, const wcodec_allocator *allocator);

/* Understand `size` bytes of a record, which must stay. False: they are none, or damaged. */
bool wcodec_part_read(const uint8_t *bytes, uint64_t size, struct wcodec_part_record *record);

#endif
