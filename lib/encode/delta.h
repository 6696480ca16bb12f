/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding a tensor by its difference from one of another file. */
#ifndef WCODEC_ENCODE_DELTA_H
#define WCODEC_ENCODE_DELTA_H

#include "encode/encode.h"

/* What a tensor is a delta of. */
struct wcodec_delta_base {
    uint8_t hash[16]; /* canonical, of the original of the file that has it */
    uint64_t size;    /* of that original */
    const uint8_t *bytes;
};

/* Code `size` bytes at data, of which the base has as many: as a delta, or alone where that takes
 * no more bytes. Takes at most about four times `size` beside data and base. As
 * wcodec_encode_tensor() otherwise; what is coded as a delta has been verified where the settings
 * ask for that. */
wcodec_status wcodec_delta_code(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const void *data, uint64_t size,
                                const struct wcodec_delta_base *base, struct wcodec_coded *coded,
                                wcodec_error *err);

#endif
