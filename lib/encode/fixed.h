/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding a matrix at a fixed rate (doc/format.md 6). */
#ifndef WCODEC_ENCODE_FIXED_H
#define WCODEC_ENCODE_FIXED_H

#include "encode/encode.h"

/* Is it a matrix of bf16, with rows and columns enough for a tile? */
bool wcodec_fixed_applies(wcodec_dtype dtype, uint64_t size, uint64_t columns);

/* What suits a matrix of which size and columns are known (`view`, by wcodec_fixed_derive()): the
 * size of an index by what is smaller, lists and spilled elements, from counts of all tiles for
 * each size of an index, the smallest first; all of `plan` but the check. false: another coding is
 * better. */
bool wcodec_fixed_plan(const struct wcodec_fixed *view,
                       const struct wcodec_fixed_counts *const counts[WCODEC_FIXED_CHOICES],
                       struct wcodec_fixed *plan);

/* Code a matrix to which it applies, of settings->columns columns. *done: `coded` is set; else its
 * numbers are not made for this form. WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_fixed_code(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, const void *data,
                                uint64_t size, struct wcodec_coded *coded, bool *done,
                                wcodec_error *err);

/* wcodec_coded_verify() of this coding. */
wcodec_status wcodec_fixed_verify(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  const struct wcodec_coded *coded, const void *data,
                                  wcodec_error *err);

#endif
