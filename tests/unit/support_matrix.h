/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Makes random matrices at a fixed rate, and says by the reference what jobs make of them. */
#ifndef WCODEC_TESTS_UNIT_MATRIX_SUPPORT_H
#define WCODEC_TESTS_UNIT_MATRIX_SUPPORT_H

#include "backends/backend.h"

struct support_matrix {
    struct wcodec_fixed fixed;
    uint8_t *data;    /* elements */
    uint8_t *payload; /* fixed.payload_size bytes */
    uint64_t *before; /* spilled elements before each band, and all */
};

/* Any shifts, lists and outliers. rows and columns 0: random, some tiles. Free with
 * support_matrix_free(). */
void support_matrix_make(uint64_t *seed, uint64_t rows, uint64_t columns, struct support_matrix *m);

/* The same of relative elements alone, as products take them, of which few are so large that sums
 * of some thousand could pass F16. */
void support_matrix_make_relative(uint64_t *seed, uint64_t rows, uint64_t columns,
                                  struct support_matrix *m);
void support_matrix_free(struct support_matrix *m);

/* Has it elements that are no relative ones (doc/format.md 6.2)? */
bool support_matrix_has_foreign(const struct support_matrix *m);

/* Some bands and some elements of these, or with `whole` all: sets what a job says of its tensor,
 * its tiles and bytes, and begin and size of its areas. */
void support_matrix_part(uint64_t *seed, const struct support_matrix *m, bool whole,
                         struct wcodec_job *job);

/* What the reference makes of a job of the payload as it is now. The bytes that the job writes go
 * to out; zeros if there is a fault. */
struct wcodec_job_result support_matrix_decode(const struct support_matrix *m,
                                               const struct wcodec_job *job, uint8_t *out);

#endif
