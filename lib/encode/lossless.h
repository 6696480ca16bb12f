/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding a tensor of weights so that every bit comes back: in tiles, predicted or not, or in chunks
 * where these are smaller. */
#ifndef WCODEC_ENCODE_LOSSLESS_H
#define WCODEC_ENCODE_LOSSLESS_H

#include "encode/plan.h"
#include "encode/predict.h"
#include "encode/rival.h"

/* What is decided before anything is coded. */
struct wcodec_lossless {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    const struct wcodec_survey *survey;
    wcodec_dtype dtype;
    const uint8_t *data;
    uint64_t size;
    struct wcodec_plan *plan;
    struct wcodec_zstd_look zstd;
    struct wcodec_prediction prediction;
};

/* Decide for a surveyed tensor whose elements are not all equal. All pointers must stay valid until
 * wcodec_lossless_free(). WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_lossless_decide(wcodec_context *context,
                                     const struct wcodec_encode_settings *settings,
                                     const struct wcodec_survey *survey, wcodec_dtype dtype,
                                     const uint8_t *data, uint64_t size,
                                     struct wcodec_lossless *lossless, wcodec_error *err);
void wcodec_lossless_free(struct wcodec_lossless *lossless);

/* Bytes that the payload will have: between these two, but for tensors of a kind that no look
 * showed. To be asked before the tensor is coded. */
void wcodec_lossless_estimate(const struct wcodec_lossless *lossless, uint64_t *least,
                              uint64_t *most);

/* Code, and verify if the settings say so; once. WCODEC_ERROR_MEMORY, _CANCELLED, _DEVICE. */
wcodec_status wcodec_lossless_code(struct wcodec_lossless *lossless, struct wcodec_coded *coded,
                                   wcodec_error *err);

#endif
