/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The lossy mode: the step that reaches what was asked for, and the coding that comes of it. */
#ifndef WCODEC_ENCODE_LOSSY_H
#define WCODEC_ENCODE_LOSSY_H

#include "encode/tensor.h"

/* Can a tensor be coded with loss by these settings? */
bool wcodec_lossy_applies(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                          uint64_t size);

/* Code a tensor as settings->lossy asks. *reason is NULL, and `coded` is set, where that was
 * possible; else a word on why the tensor stays as it is, which lives for ever.
 * WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_lossy_code(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const uint8_t *data, uint64_t size, struct wcodec_coded *coded,
                                const char **reason, wcodec_error *err);

#endif
