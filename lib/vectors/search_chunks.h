/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* All queries of a search, in what a device has of the vectors. */
#ifndef WCODEC_VECTORS_SEARCH_CHUNKS_H
#define WCODEC_VECTORS_SEARCH_CHUNKS_H

#include "vectors/held.h"
#include "vectors/search_device.h"

enum { WCODEC_SEARCH_BLOCK = 64 /* queries whose results a task makes */ };

/* Queries that are at work, and what is found of them. */
struct wcodec_search_chunks {
    const struct wcodec_device_search *search; /* in the vectors that are there */
    const struct wcodec_held_vectors *held;
    size_t first, count;
    const uint64_t *found;
    struct wcodec_hit *hits; /* of WCODEC_SEARCH_BLOCK queries, where there are candidates */
    struct wcodec_hit
        *merged;          /* of all queries and the parts so far; NULL: all vectors are there */
    wcodec_status status; /* of the host */
};

/* All queries, chunk by chunk: results to the caller, or to chunk->merged. *done false: some are
 * refused, or chunk->status and `err` say what is wrong; returned is what the device says. */
wcodec_status wcodec_search_chunks_run(struct wcodec_held_vectors *r,
                                       struct wcodec_search_chunks *chunk, bool *done,
                                       wcodec_error *reason, wcodec_error *err);

#endif
