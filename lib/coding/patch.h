/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Sparse tiles of a delta as devices are given them, for the core and for kernels. */
#ifndef WCODEC_CODING_PATCH_H
#define WCODEC_CODING_PATCH_H

enum { WCODEC_PATCH_CODE = 4096 /* entries of a code */ };

/* Checked: elements are the tensor's, and the stream is in the streams. */
struct wcodec_patch_tile {
    uint64_t first;  /* element */
    uint64_t stream; /* byte */
    uint32_t size;   /* bytes */
    uint32_t count;  /* elements */
};

/* What came of such a tile: what the linear hash's sum of the tensor has changed by, and whether
 * its stream was no valid one. */
struct wcodec_patched_tile {
    uint64_t sum;
    uint32_t fault; /* 1, or 0 */
    uint32_t unused;
};

/* How many elements of a tile differ from the base's. */
struct wcodec_changed_tile {
    uint32_t count;
    uint32_t unused;
    uint64_t sum, base_sum; /* its part of the linear hashes' sums of the tensor and of the base */
};

/* A tile's stream: its bytes, and their check. */
struct wcodec_coded_tile {
    uint32_t size;
    uint32_t check;
};

/* Of all tiles: bytes of their streams, and how many of them were coded wrongly. */
struct wcodec_coded_total {
    uint64_t size;
    uint32_t wrong;
    uint32_t unused;
};

/* What a device counts of a tensor's changes: classes of gaps, of values in zigzag order, and of
 * values by XOR. */
enum {
    WCODEC_CHANGES_GAPS = 33,
    WCODEC_CHANGES_VALUES = 136,
    WCODEC_CHANGES_ZIGZAG = WCODEC_CHANGES_GAPS,
    WCODEC_CHANGES_XOR = WCODEC_CHANGES_ZIGZAG + WCODEC_CHANGES_VALUES,
    WCODEC_CHANGES_TALLY = WCODEC_CHANGES_XOR + WCODEC_CHANGES_VALUES,
    WCODEC_CHANGES_FULL = WCODEC_CHANGES_TALLY, /* after these: tiles of more than is kept */
    WCODEC_CHANGES_WORDS = WCODEC_CHANGES_GAPS + WCODEC_CHANGES_VALUES /* of both codes */
};

#endif
