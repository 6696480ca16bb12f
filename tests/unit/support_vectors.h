/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Vectors to compress and to search in. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_VECTORS_H
#define WCODEC_TESTS_UNIT_SUPPORT_VECTORS_H

#include "support.h"

#include <wcodec/search.h>

/* Vectors around few centres; the data, to be freed, are the rows'. */
float *support_vectors_make(size_t n, size_t d, uint64_t seed, wcodec_vector_rows *rows);

/* What was written. */
struct support_file {
    uint8_t *bytes; /* to be freed */
    size_t size, room;
};

int support_file_append(void *file, const void *data, size_t size);

/* In place of what the file has. report and err may be NULL. */
wcodec_status support_vectors_segment(wcodec_context *context, const wcodec_vector_rows *rows,
                                      uint64_t anchors, double bits, struct support_file *file,
                                      wcodec_vectors_report *report, wcodec_error *err);

/* The test fails where that does. */
wcodec_vectors_store *support_vectors_open(wcodec_context *context,
                                           const struct support_file *file);

/* What a scan says of a query and a row: a squared distance, a product, a cosine. */
double support_vectors_score(const float *query, const float *row, size_t d,
                             wcodec_vectors_metric metric);

/* With each allocation of a call failing once, on the store of a file: it succeeds, or is out of
 * memory, so many times, and nothing is left. */
unsigned support_vectors_refusals(const struct support_file *file,
                                  wcodec_status (*call)(const wcodec_vectors_store *store,
                                                        void *opaque),
                                  void *opaque);

#endif
