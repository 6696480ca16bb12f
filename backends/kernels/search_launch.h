/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of search.h are given, for hosts and kernels. Addresses are the
 * device's. */
#ifndef WCODEC_KERNELS_SEARCH_LAUNCH_H
#define WCODEC_KERNELS_SEARCH_LAUNCH_H

#include "backends/kernels/floats.h"

struct wcodec_search_launch {
    uint64_t codes; /* what follows: as struct wcodec_search_places of backend.h has it */
    uint64_t panels, anchors, anchor_lengths, scales, begin, segments, pieces;
    uint64_t ranks, squares, lengths;
    uint64_t allowed, queries, query_lengths, base, order;
    uint64_t probes;  /* u32[queries][pairs][3]: anchor, slot, place among the anchor's queries */
    uint64_t looked;  /* u32[queries]: slots that are taken */
    uint64_t counts;  /* u32[anchors]: queries */
    uint64_t first;   /* u32[anchors + 1]: where the queries of each are in `entries` */
    uint64_t entries; /* u32[][2]: query, slot */
    uint64_t keys;    /* u32[queries][room] */
    uint64_t parts;   /* u64[queries][splits][k] */
    uint64_t found;   /* u64[queries][k] */
    uint32_t count;   /* queries */
    uint32_t anchor_count, segment_count, piece_count, rows, pitch;
    uint32_t k, probe_count, pairs, room, splits;
    uint32_t flags;
};
WCODEC_STRUCT_SIZE(wcodec_search_launch, 240);

/* Flags. */
enum {
    WCODEC_SEARCH_ALL = 1,      /* anchors of all queries: there are no probes */
    WCODEC_SEARCH_FILTERED = 2, /* by `allowed` */
    WCODEC_SEARCH_DISTANCE = 4, /* squared distances, not products */
    WCODEC_SEARCH_ANGLE = 8     /* products over lengths */
};

enum {
    WCODEC_SEARCH_ROWS = 256,     /* of a piece, as in backend.h */
    WCODEC_SEARCH_TOGETHER = 8,   /* queries whose rows a work-item reads once */
    WCODEC_SEARCH_PAIR = 2,       /* rows of a work-item, for which it reads queries once */
    WCODEC_SEARCH_PART = 512,     /* numbers of a query that are in local memory at once */
    WCODEC_SEARCH_FEW = 64,       /* ... beside anchors */
    WCODEC_SEARCH_SELECTED = 2048 /* keys likewise */
};

#endif
