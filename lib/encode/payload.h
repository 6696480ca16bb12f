/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding all tiles of a tensor by a plan, and putting their parts together as doc/format.md 2.1 has
 * it. */
#ifndef WCODEC_ENCODE_PAYLOAD_H
#define WCODEC_ENCODE_PAYLOAD_H

#include "encode/plan.h"

/* Code the tensor: sets coding, payload, its parts and ranges of `coded`, and takes the plan's
 * tiling over, with its prefix_size set. On failure `coded` is as it was. WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_CANCELLED. */
wcodec_status wcodec_payload_code(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  struct wcodec_plan *plan, const uint8_t *data,
                                  struct wcodec_coded *coded, wcodec_error *err);

/* Plan and code a surveyed tensor whose elements are not all equal in tiles. WCODEC_ERROR_MEMORY,
 * _CANCELLED. */
wcodec_status wcodec_code_tiles(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const uint8_t *data, uint64_t size,
                                const struct wcodec_survey *survey, struct wcodec_coded *coded,
                                wcodec_error *err);

#endif
