/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors and blobs as zstd chunks (doc/format.md 3). */
#ifndef WCODEC_ENCODE_CHUNKED_H
#define WCODEC_ENCODE_CHUNKED_H

#include "encode/tensor.h"

/* Code `size` bytes (not 0) into chunks. With `limit`, give up as soon as the payload would not be
 * smaller than that: *done is false then. Sets coding, chunk, payload and its parts. With coded
 * NULL nothing is kept: this only says whether the payload would be smaller. WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_CANCELLED. */
wcodec_status wcodec_chunked_code(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  const uint8_t *data, uint64_t size, uint64_t limit,
                                  struct wcodec_coded *coded, bool *done, wcodec_error *err);

#endif
