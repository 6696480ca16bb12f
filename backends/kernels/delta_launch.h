/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of delta.h are given, for hosts and kernels. Addresses are the
 * device's. */
#ifndef WCODEC_KERNELS_DELTA_LAUNCH_H
#define WCODEC_KERNELS_DELTA_LAUNCH_H

#include "backends/kernels/jobs.h"
#include "lib/coding/patch.h"

enum { WCODEC_LEAVES_SECRET = 24 };

struct wcodec_leaves_launch {
    uint64_t elements; /* a multiple of 16 */
    uint64_t out;      /* u64[2] a leaf: the low half of its hash, then the high one */
    uint64_t count;
    uint32_t leaf_log2; /* bytes of a leaf: 13 and more */
    uint32_t unused;
    uint64_t secret[WCODEC_LEAVES_SECRET];
};
WCODEC_STRUCT_SIZE(wcodec_leaves_launch, 224);

/* A tensor's linear hash, piece by piece, or a part's of it. */
enum { WCODEC_LINEAR_PIECE_LOG2 = 16 };

struct wcodec_linear_launch {
    uint64_t elements; /* a multiple of 16: the tensor's first */
    uint64_t out;      /* u64[pieces]: their sums */
    uint64_t before;   /* bytes of the tensor before the first piece, whole pieces */
    uint64_t size;     /* bytes of all pieces */
    uint32_t pieces;
    uint32_t unused;
};
WCODEC_STRUCT_SIZE(wcodec_linear_launch, 40);

WCODEC_STRUCT_SIZE(wcodec_patch_tile, 24);
WCODEC_STRUCT_SIZE(wcodec_patched_tile, 16);

struct wcodec_patch_launch {
    uint64_t elements;
    uint64_t tiles;   /* struct wcodec_patch_tile[count] */
    uint64_t results; /* struct wcodec_patched_tile[count] */
    uint64_t codes;   /* u16[2][4096]: of gaps, of values */
    uint64_t streams; /* u32[words] */
    uint64_t words;   /* not 0 */
    uint32_t count;
    uint32_t element_log2;
    uint32_t xor_values;
    uint32_t gap_bits, value_bits; /* by which codes are looked up */
    uint32_t unused;
};
WCODEC_STRUCT_SIZE(wcodec_patch_launch, 72);

/* A warp takes a tile, and a lane a part of its stream of so many bits at least. No stream of a
 * sparse tile has as many bytes as MOST. Both codes are in shared memory. */
enum {
    WCODEC_PATCH_PART = 384,
    WCODEC_PATCH_MOST = 1 << 24,
    WCODEC_PATCH_SHARED = 2 * 2 * WCODEC_PATCH_CODE
};

/* What a tile's elements are that differ from the base's, in order, in its slot; and the streams of
 * all tiles, one after the other. */
struct wcodec_changes_launch {
    uint64_t elements; /* multiples of 16 */
    uint64_t base;
    uint64_t tally;   /* u32[WCODEC_CHANGES_TALLY + 1] */
    uint64_t counts;  /* struct wcodec_changed_tile[tiles] */
    uint64_t words;   /* u32[WCODEC_CHANGES_WORDS]: a word, and its bits << 16 */
    uint64_t codes;   /* as struct wcodec_patch_launch has them */
    uint64_t secret;  /* XXH3's own */
    uint64_t firsts;  /* u64[tiles]: bytes of the streams before */
    uint64_t total;   /* struct wcodec_coded_total */
    uint64_t coded;   /* struct wcodec_coded_tile[tiles] */
    uint64_t slots;   /* of slot_size bytes each: u16[slot] positions, elements, the base's */
    uint64_t streams; /* u32[stream_words], which begin as zeros */
    uint64_t stream_words;
    uint64_t count; /* elements of the tensor */
    uint32_t tiles;
    uint32_t tile_log2; /* at most 16 */
    uint32_t element_log2;
    uint32_t slot; /* elements that a slot has room for, a multiple of 8 */
    uint32_t slot_size;
    uint32_t xor_values;
    uint32_t gap_bits, value_bits; /* by which codes are looked up */
};
WCODEC_STRUCT_SIZE(wcodec_changes_launch, 144);

/* Shared memory, in words: what a work-group counts in; what a warp puts bits of 32 elements of up
 * to 101 bits into, after at most 31 of those before. */
enum { WCODEC_CHANGES_STAGE = 104 };

WCODEC_STRUCT_SIZE(wcodec_changed_tile, 24);
WCODEC_STRUCT_SIZE(wcodec_coded_tile, 8);
WCODEC_STRUCT_SIZE(wcodec_coded_total, 16);

#endif
