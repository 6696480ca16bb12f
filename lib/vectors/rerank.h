/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Candidates of a search in the order of their distances as they were before they were coded. */
#ifndef WCODEC_VECTORS_RERANK_H
#define WCODEC_VECTORS_RERANK_H

#include "vectors/hits.h"
#include "vectors/segment.h"

struct wcodec_rerank {
    wcodec_context *context;
    const wcodec_vectors_search_options *options;
    size_t d, width; /* of queries, which have zeros after d elements */
    size_t k;        /* to be found */
    size_t candidates;
    wcodec_vector_rows original; /* data NULL: a reader's */
    /* Owned, for as many queries as are at work. */
    float *rows;             /* `width` of each */
    struct wcodec_hit *hits; /* k of each */
    struct wcodec_rerank_problem *problems;
    uint8_t *bytes; /* a reader's row */
};

/* Do the options ask for it? */
static inline bool wcodec_rerank_wanted(const wcodec_vectors_search_options *o)
{
    return o->original != NULL || o->original_reader != NULL;
}

/* Check the options, and find how many candidates there are for the k of `rows` that are to be
 * found; members up to `k` are set. WCODEC_ERROR_USAGE, _UNSUPPORTED. */
wcodec_status wcodec_rerank_check(struct wcodec_rerank *rerank, uint64_t rows, wcodec_error *err);

/* Bytes that each query at work takes beside the candidates. */
static inline uint64_t wcodec_rerank_memory(size_t width, uint64_t k)
{
    return width * sizeof(float) + k * sizeof(struct wcodec_hit) + 2 * sizeof(uint64_t);
}

/* Allocate for `queries` at once. Ended by wcodec_rerank_end() whether this fails or not.
 * WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_rerank_begin(struct wcodec_rerank *rerank, size_t queries, wcodec_error *err);
void wcodec_rerank_end(struct wcodec_rerank *rerank);

/* The k nearest of `count` queries, one after the other, each among its candidates. Some may be of
 * no id. WCODEC_ERROR_USAGE: a candidate has no row, or one with elements that are no numbers; what
 * wcodec_reader_decode_rows() returns. */
wcodec_status wcodec_rerank_run(struct wcodec_rerank *rerank, const float *queries, size_t count,
                                const struct wcodec_hit *candidates, uint64_t *ids, float *scores,
                                wcodec_error *err);

#endif
