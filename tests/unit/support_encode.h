/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Takes what the encoder made of a tensor back apart, by way of its stored form: parameters and
 * payload as bytes. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_ENCODE_H
#define WCODEC_TESTS_UNIT_SUPPORT_ENCODE_H

#include "encode/encode.h"

/* Decode to out (size bytes), verifying checks; the status of what refused it, or
 * WCODEC_ERROR_CORRUPT. */
wcodec_status support_coded_decode(const struct wcodec_coded *coded, uint64_t size, uint8_t *out,
                                   wcodec_error *err);

/* The payload's parts in one piece; free() it. */
uint8_t *support_coded_payload(const struct wcodec_coded *coded);

#endif
