/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding a matrix in fragments (doc/format.md 7). */
#ifndef WCODEC_ENCODE_FRAGMENTS_H
#define WCODEC_ENCODE_FRAGMENTS_H

#include "encode/encode.h"

/* Is it a matrix that devices multiply by, in whole sections but for the last rows? */
bool wcodec_fragments_apply(wcodec_dtype dtype, uint64_t size, uint64_t columns);

/* Code a matrix to which they apply, of settings->columns columns, and verify it if the settings
 * say so. *done: `coded` is set; else this saves nothing. Takes `size` bytes beside the payload.
 * WCODEC_ERROR_MEMORY, _CANCELLED, _DEVICE. */
wcodec_status wcodec_fragments_code(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    wcodec_dtype dtype, const void *data, uint64_t size,
                                    struct wcodec_coded *coded, bool *done, wcodec_error *err);

#endif
