/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of vectors.h, vectors_start.h and vectors_tensor.h are given, for
 * hosts and kernels. Addresses are the device's. */
#ifndef WCODEC_KERNELS_VECTORS_LAUNCH_H
#define WCODEC_KERNELS_VECTORS_LAUNCH_H

#include "backends/kernels/floats.h"

struct wcodec_vectors_launch {
    uint64_t rows;     /* [count][pitch] of `format` */
    uint64_t halves;   /* F16 likewise: the rows, or what is nearest to them */
    uint64_t distance; /* f32[count] */
    uint64_t index;    /* u32[count] */
    uint64_t place;    /* u32[count]: of a row among those of its anchor */
    uint64_t keys;     /* u64[count]: rows by their anchors; trimmed, with distances above them */
    uint64_t sums;     /* f64[3][blocks] */
    uint64_t farthest; /* f32[2][blocks], u32[2][blocks]: in turns */
    uint64_t result;   /* struct wcodec_vectors_result of backend.h */
    uint64_t anchors;  /* f32[anchor_count][pitch] */
    uint64_t counts;   /* u32[anchor_count] */
    uint64_t begin;    /* u32[anchor_count + 1] */
    uint64_t norms;    /* f32[2][count]: lengths of `halves`, and of what the rows are besides */
    uint64_t list;     /* u32[count]: rows whose anchor is not decided */
    uint64_t few;      /* u32[count][4]: which it may be */
    uint64_t rest;     /* u32[count]: rows of which even that is not known */
    uint64_t columns;  /* F16 of anchors, as operands: [columns / 8][pitch / 32][32][8] */
    uint64_t middle;   /* f32[columns]: minus half of an anchor's square */
    uint64_t bounds;   /* f32[bound_count][3]: what anchors' F16 and the rest are long at most, and
                        * the largest part of an anchor that the rest is */
    uint64_t centre;   /* f32[pitch]: products are of rows and anchors less this */
    uint64_t totals;   /* f64[anchor_count][pitch]: of rows that are there part by part */
    uint64_t members;  /* u32[anchor_count]: how many these are */
    uint32_t count, anchor_count, pitch, dimensions;
    uint32_t format; /* WCODEC_TO_F16, ... */
    uint32_t flags;
    uint32_t number; /* of the anchor that is taken */
    float part;
    uint32_t row[3];
    uint32_t bound_count;
};
WCODEC_STRUCT_SIZE(wcodec_vectors_launch, 224);

/* Flags. */
enum {
    WCODEC_VECTORS_FARTHEST = 1,
    WCODEC_VECTORS_SUMS = 2,
    WCODEC_VECTORS_TRIMMED_MEANS = 4,
    WCODEC_VECTORS_WHOLE = 8,
    WCODEC_VECTORS_ANY_ORDER = 16,
    WCODEC_VECTORS_ALWAYS = 32, /* distances, not only where an anchor has no rows */
    WCODEC_VECTORS_ADDED = 64   /* rows are a part: anchors stay, and what they add up to is kept */
};

/* Rows of a block, as in backend.h; anchors, and of each so many numbers, that plain work-items
 * have in local memory at once; keys that are sorted there. */
enum {
    WCODEC_VECTORS_BLOCK_ROWS = 256,
    WCODEC_VECTORS_AT_ONCE = 16,
    WCODEC_VECTORS_PIECE = 64,
    WCODEC_VECTORS_SORTED = 2048
};

/* Words of struct wcodec_vectors_result, after the energy. */
enum {
    WCODEC_VECTORS_CHANGES = 2,
    WCODEC_VECTORS_EMPTY,
    WCODEC_VECTORS_NEXT_CHANGES,
    WCODEC_VECTORS_HARD,
    WCODEC_VECTORS_HARDEST,
    WCODEC_VECTORS_COMPARED
};

#endif
