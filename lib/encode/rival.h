/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Is a tensor one of the few that zstd makes smaller? */
#ifndef WCODEC_ENCODE_RIVAL_H
#define WCODEC_ENCODE_RIVAL_H

#include "encode/tensor.h"

/* zstd's level for each of ours, 1 to 9. */
int wcodec_zstd_level(int level);

/* What a cheap look at a tensor showed, before it is known what tiles make of it. */
struct wcodec_zstd_look {
    bool repeats;   /* stretches of it come again further apart than a sample shows */
    uint64_t piece; /* bytes of each piece of a sample; 0: there was no need of one */
    uint32_t coded; /* what zstd makes of the sample */
};

/* Look at a tensor that will have tiles of 2^tile_log2 elements. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_zstd_look(const wcodec_allocator *allocator, int level, const uint8_t *data,
                               uint64_t size, unsigned element_log2, unsigned tile_log2,
                               struct wcodec_zstd_look *look, wcodec_error *err);

/* What zstd makes of the sample, as a share of it; without what its tables take. */
double wcodec_zstd_share(const struct wcodec_zstd_look *look);

/* Does zstd shrink the sample more than its tiles shrank, or does the tensor repeat? Then all of it
 * is worth trying. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_zstd_may_win(const wcodec_allocator *allocator,
                                  const struct wcodec_zstd_look *look,
                                  const struct wcodec_coded *coded, bool *may, wcodec_error *err);

#endif
