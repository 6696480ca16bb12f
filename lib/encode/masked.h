/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors of which many elements are zero: a mask, and the others apart, where that is smaller. */
#ifndef WCODEC_ENCODE_MASKED_H
#define WCODEC_ENCODE_MASKED_H

#include "encode/encode.h"

/* Whether a mask is tried at all is seen by neighbouring elements in a few places, which follow
 * from type and size: their number, and offsets of WCODEC_MASKED_LOOK elements each; 0: none is
 * tried anyway. */
enum { WCODEC_MASKED_LOOKS = 64, WCODEC_MASKED_LOOK = 64 };
unsigned wcodec_masked_places(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                              uint64_t size, uint64_t offsets[WCODEC_MASKED_LOOKS]);

/* Is one tried for `size` bytes of elements? */
bool wcodec_masked_applies(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                           const void *data, uint64_t size);

/* Is one tried, by the elements of all these places, one after the other? */
bool wcodec_masked_is_tried(wcodec_dtype dtype, const uint8_t *elements);

/* Code `size` bytes, as wcodec_encode_tensor() does. *done: `coded` is set; else it is still to be
 * coded without a mask. What is coded with one has been verified where the settings say so. */
wcodec_status wcodec_masked_code(wcodec_context *context,
                                 const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                 const void *data, uint64_t size, struct wcodec_coded *coded,
                                 bool *done, wcodec_error *err);

#endif
