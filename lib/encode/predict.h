/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Prediction in blocks: whether it may pay for a tensor, which modes its blocks get, and the
 * residuals that come of it. */
#ifndef WCODEC_ENCODE_PREDICT_H
#define WCODEC_ENCODE_PREDICT_H

#include "coding/blocks.h"
#include "encode/tensor.h"

/* What a residual costs, in units of 2^-16 bit: a table for its lower and one for its upper byte.
 */
struct wcodec_residual_costs {
    uint32_t bits[2][256];
};

/* Modes that blocks may have, and by what costs each takes one of them. */
struct wcodec_mode_choice {
    unsigned count;
    uint8_t modes[WCODEC_MODES]; /* ascending */
    struct wcodec_residual_costs costs;
    double share; /* of the bits without prediction, on the sample; 0: not counted */
};

/* Look at some blocks of the tensor at data, whose view is derived. *pays: it is worth coding the
 * tensor both ways, and `choice` is set. `forced`: predictor that all blocks shall have,
 * WCODEC_PREDICTORS: none; then it pays always. Costs next to nothing where neighbours are
 * independent. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_modes_choose(const wcodec_allocator *allocator, int level,
                                  const struct wcodec_blocks *blocks, const uint8_t *data,
                                  unsigned forced, struct wcodec_mode_choice *choice, bool *pays,
                                  wcodec_error *err);

/* The cheapest mode of the choice for a block (number in choice->modes), and its residuals. */
unsigned wcodec_block_choose(const struct wcodec_mode_choice *choice, unsigned element_log2,
                             const uint16_t elements[WCODEC_BLOCK],
                             uint16_t residuals[WCODEC_BLOCK]);

/* What a look at a tensor showed. */
struct wcodec_prediction {
    bool pays; /* it may; else the rest is not set */
    struct wcodec_blocks blocks;
    struct wcodec_mode_choice choice;
};

/* May it pay to predict the tensor as settings->predict and ->columns say? WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_predict_look(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  unsigned element_log2, const uint8_t *data, uint64_t size,
                                  struct wcodec_prediction *prediction, wcodec_error *err);

/* A tensor's residuals, ready to be coded as a tensor in tiles. */
struct wcodec_predicted {
    const wcodec_allocator *allocator;
    struct wcodec_blocks blocks;
    uint8_t *modes;     /* packed, with the zeros behind them: wcodec_blocks_tiles_begin() */
    uint8_t *residuals; /* wcodec_blocks_residual_size() */
};

/* Predict a tensor for which that may pay. WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_predict_tensor(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    const struct wcodec_prediction *prediction, const uint8_t *data,
                                    struct wcodec_predicted *predicted, wcodec_error *err);
void wcodec_predicted_free(struct wcodec_predicted *predicted);

#endif
