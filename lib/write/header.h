/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The header of a safetensors file as bytes. */
#ifndef WCODEC_WRITE_HEADER_H
#define WCODEC_WRITE_HEADER_H

#include "format/index.h"

/* With its length word, padded with blanks to a multiple of 8: of tensors whose data follows in
 * their order, and `pairs` pairs of metadata (key, value, ...). *header is the caller's to free.
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_LIMIT if no reader would take it. */
wcodec_status wcodec_write_header(const wcodec_allocator *allocator,
                                  const struct wcodec_entry *tensors, uint64_t count,
                                  const char **metadata, uint64_t pairs, uint8_t **header,
                                  uint64_t *size, wcodec_error *err);

#endif
