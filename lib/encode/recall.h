/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Recall of approximated rows: of the nearest rows of some of them, by exhaustive scans, the part
 * that is found among the approximations. */
#ifndef WCODEC_ENCODE_RECALL_H
#define WCODEC_ENCODE_RECALL_H

#include "backends/cpu/nearest.h"
#include "core/cancel.h"
#include "core/context.h"

enum { WCODEC_RECALL_NEAREST = 10, WCODEC_RECALL_QUERIES = 200 };

/* Rows of `width` numbers each, from one on, to `to`; those past their dimensions are 0. From
 * several threads. */
typedef void (*wcodec_recall_rows_fn)(const void *opaque, size_t first, size_t count, float *to);

/* Queries are rows that are equally far from each other, compared with all others by squared
 * distances, of which equal ones count by the lower number. */
struct wcodec_recall {
    wcodec_context *context;
    struct wcodec_cancel *cancel; /* NULL, or asked whether to stop */
    struct wcodec_cpu_nearest_dsp dsp;
    size_t n;     /* rows, at least 2 */
    size_t width; /* a multiple of WCODEC_NEAREST_GROUP */
    size_t queries, k;
    wcodec_recall_rows_fn rows; /* as they are */
    const void *opaque;
    /* Owned. */
    float *query;    /* queries x width */
    float *panels;   /* the same, as the kernel takes them */
    float *scratch;  /* of each chunk some rows, and then their distances to all queries */
    uint64_t *near;  /* of each chunk, of each query, k keys: the distance, and the row */
    uint64_t *exact; /* of each query */
    uint64_t *coded;
};

/* Find what is nearest among the rows as they are: members up to `opaque`, except dsp, queries and
 * k, are set. Ended by wcodec_recall_end() whether this fails or not. WCODEC_ERROR_MEMORY,
 * _CANCELLED. */
wcodec_status wcodec_recall_begin(struct wcodec_recall *recall, wcodec_error *err);
void wcodec_recall_end(struct wcodec_recall *recall);

/* The recall of rows as `rows` gives them. Of the k that are found for a query those count that are
 * no farther than its k-th: where distances are equal, their order says nothing.
 * WCODEC_ERROR_CANCELLED. */
wcodec_status wcodec_recall_measure(struct wcodec_recall *recall, wcodec_recall_rows_fn rows,
                                    const void *opaque, double *part, wcodec_error *err);

/* Keep the k least keys, ascending. */
void wcodec_recall_insert(uint64_t *near, size_t k, uint64_t key);

#endif
