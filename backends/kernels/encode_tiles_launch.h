/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of tile_encoders.def are given, for hosts and kernels. Addresses are
 * the device's. */
#ifndef WCODEC_KERNELS_ENCODE_TILES_LAUNCH_H
#define WCODEC_KERNELS_ENCODE_TILES_LAUNCH_H

#include "backends/kernels/jobs.h"

/* Copies of the table in shared memory. NVIDIA's: eight lanes read 16 bytes at once. Hosts of
 * devices with less of it compile kernels with fewer. */
#ifndef WCODEC_CODER_COPIES_LOG2
#define WCODEC_CODER_COPIES_LOG2 3
#endif

struct wcodec_coder_launch {
    uint64_t elements; /* of the tensor, at a multiple of 16 */
    uint64_t count;
    /* The work area: struct wcodec_device_table; a tile's states; marks of its outliers, four words
     * for a group, of lanes; its words, at the end of their part; struct wcodec_coder_sums of
     * ranges of 2^range_log2 tiles; of all. */
    uint64_t table;
    uint64_t tile_states;
    uint64_t tile_marks;
    uint64_t tile_words;
    uint64_t sums;
    uint64_t totals;
    /* What is written, and bytes that there is room for. */
    uint64_t directory;
    uint64_t states;
    uint64_t words, words_size;
    uint64_t raw, raw_size;
    uint64_t positions, values, outliers; /* outliers: of both */
    uint32_t tiles;
    uint32_t tile_log2;
    uint32_t range_log2;
    uint32_t marks_part; /* bytes of a tile */
    uint32_t words_part; /* likewise */
    uint32_t element_log2;
    uint32_t raw_bits;
    uint32_t profile;
    uint32_t shift; /* of the coded field */
    uint32_t mask;  /* of its value */
    uint32_t add;   /* to elements, repeated in a word */
    uint32_t carry; /* the top bit of each element of a word */
    uint32_t base;  /* pairs: of the window */
    uint32_t common;
    uint32_t position;       /* of the first raw bit */
    uint32_t plane_masks[5]; /* of planes of 2^i bits, in a slot word */
};
WCODEC_STRUCT_SIZE(wcodec_coder_launch, 216);

struct wcodec_coder_sums {
    uint32_t words, streams, raw, outliers; /* raw: 64 bytes */
};
WCODEC_STRUCT_SIZE(wcodec_coder_sums, 16);

enum {
    WCODEC_CODER_SYMBOLS = 16 * 256, /* bytes of the table before its costs */
    /* Shared memory of a work-group: copies of the table, side by side, at a multiple of their
     * size; of a warp: words. */
    WCODEC_CODER_COPIES = 1 << WCODEC_CODER_COPIES_LOG2,
    WCODEC_CODER_TABLE = WCODEC_CODER_COPIES * WCODEC_CODER_SYMBOLS,
    WCODEC_CODER_CHUNK = 512,
    WCODEC_CODER_STAGE = WCODEC_CODER_CHUNK + 256
};

#endif
