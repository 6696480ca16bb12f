/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A whole tensor quantised by a model at a step, and what decoding will make of it. */
#ifndef WCODEC_ENCODE_LOSSY_QUANTISE_H
#define WCODEC_ENCODE_LOSSY_QUANTISE_H

#include "encode/lossy_model.h"

struct wcodec_lossy_result {
    const wcodec_allocator *allocator;
    struct wcodec_lossy lossy; /* columns, scales, modes, figures, check */
    uint8_t *coefficients;     /* the sequence, of 16 bits until wcodec_lossy_result_narrow() */
    uint8_t *numbers;          /* of each block's mode: enum wcodec_transform; NULL where plain */
    uint8_t *side;             /* packed modes, scales and the zeros behind them */
    uint8_t *approximation;    /* the tensor as it will be decoded */
    int largest;               /* coefficient, at least 0 */
    int least;                 /* at most 0 */
};

/* Room for a source's coefficients and approximation, whatever the model. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_lossy_result_init(const struct wcodec_lossy_source *source,
                                       struct wcodec_lossy_result *result, wcodec_error *err);
void wcodec_lossy_result_free(struct wcodec_lossy_result *result);

/* Can these steps be written down? The step is that of a row of weight 1. */
bool wcodec_lossy_step_valid(const struct wcodec_lossy_source *source, double step);

/* Quantise: all of `result` is set anew but for the approximation and its errors. Where no block
 * takes a transform, the model becomes plain. WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_lossy_quantise(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    const struct wcodec_lossy_source *source,
                                    struct wcodec_lossy_model *model, double step,
                                    struct wcodec_lossy_result *result, wcodec_error *err);

/* Reconstruct with the library's decoder, and set what errors there are. WCODEC_ERROR_MEMORY,
 * _CANCELLED. */
wcodec_status wcodec_lossy_measure(wcodec_context *context,
                                   const struct wcodec_encode_settings *settings,
                                   const struct wcodec_lossy_source *source,
                                   struct wcodec_lossy_result *result, wcodec_error *err);

/* Coefficients as bytes, in place, if all fit: returns the log2 of their bytes. */
unsigned wcodec_lossy_result_narrow(struct wcodec_lossy_result *result);

#endif
