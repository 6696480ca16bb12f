/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What quantisation goes by: the modes that blocks may have, and what coefficients cost. Settled on
 * a sample of the tensor, which also says about what a step gives in bits and error. */
#ifndef WCODEC_ENCODE_LOSSY_MODEL_H
#define WCODEC_ENCODE_LOSSY_MODEL_H

#include "encode/lossy_rate.h"
#include "encode/lossy_source.h"

/* 1 << enum wcodec_transform of each mode that blocks may have. PLAIN alone: no blocks. */
enum {
    WCODEC_SET_PLAIN = 1 << WCODEC_TRANSFORM_NONE,
    WCODEC_SET_DCT = 1 << WCODEC_TRANSFORM_DCT,
    WCODEC_SET_ADST = 1 << WCODEC_TRANSFORM_ADST
};

struct wcodec_lossy_model {
    unsigned set;
    unsigned order; /* enum wcodec_order; 0 where plain */
    float lambda;   /* squared steps that a bit is worth */
    float bound;    /* 0, or the largest error that an element may have: then a block's mode is the
                       cheapest that keeps to it */
    wcodec_dtype dtype;
    struct wcodec_lossy_costs costs;
};

/* Squared error falls by 2 ln 2 times itself with a bit, and is near 1/12 of a squared step. */
#define WCODEC_LOSSY_LAMBDA 0.1155f

/* A block as it is to be quantised: its coefficients in each mode of a set, row by row, in units of
 * the elements; of mode none the elements. */
struct wcodec_lossy_block {
    float coefficients[WCODEC_TRANSFORMS][WCODEC_TRANSFORM_BLOCK];
};

struct wcodec_lossy_quantised {
    int16_t coefficients[WCODEC_TRANSFORM_BLOCK]; /* row by row */
    unsigned mode;
    float bits;       /* by the model's costs; not counted where its set has one mode alone */
    float distortion; /* in squared steps */
};

/* Transform `values` (row by row, `stride` apart; times 1 / weight of its row, where there are
 * weights) by the modes of the set, which has PLAIN at least. */
void wcodec_lossy_block_make(unsigned set, const float *values, unsigned stride,
                             const float *row_factors, struct wcodec_lossy_block *block);

/* The best mode's coefficients for a scale (the step is 64 times it). */
void wcodec_lossy_block_quantise(const struct wcodec_lossy_model *model,
                                 const struct wcodec_lossy_block *block, float scale,
                                 struct wcodec_lossy_quantised *best);

/* Of a sample, an element each. */
struct wcodec_lossy_estimate {
    double bits;
    double distortion; /* in squared steps; with a bound: 0, or infinite where a block kept to it in
                          no mode */
};

struct wcodec_lossy_sample {
    const wcodec_allocator *allocator;
    size_t count;
    size_t part;        /* so many first blocks are evenly spread too */
    bool transforms;    /* can there be blocks? */
    size_t transformed; /* so many first blocks have their coefficients in all modes */
    struct wcodec_lossy_block *blocks;
};

/* Blocks evenly spread over the tensor, not yet transformed. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_lossy_sample_take(const struct wcodec_lossy_source *source,
                                       struct wcodec_lossy_sample *sample, wcodec_error *err);
void wcodec_lossy_sample_free(struct wcodec_lossy_sample *sample);

/* The first blocks of a sample as a sample of its own, which is valid as long as the other is; both
 * are transformed. */
struct wcodec_lossy_sample wcodec_lossy_sample_part(struct wcodec_lossy_sample *sample);
void wcodec_lossy_sample_transform(struct wcodec_lossy_sample *sample);

/* Settle the costs of model->set at a scale, anew or from those of a scale that is near. */
void wcodec_lossy_settle(const struct wcodec_lossy_sample *sample, bool anew, float scale,
                         struct wcodec_lossy_model *model, struct wcodec_lossy_estimate *estimate);

/* A first look, in the order that serves all alike: could blocks be worth their while at a scale?
 * At high levels they always could. */
bool wcodec_lossy_blocks_may_pay(const struct wcodec_lossy_sample *sample, int level, float scale,
                                 const struct wcodec_lossy_model *model);

/* The set, and the order, whose bits and error together are least at a scale: model->set,
 * model->order. */
void wcodec_lossy_choose_order(const struct wcodec_lossy_sample *sample, float scale,
                               struct wcodec_lossy_model *model); /* for its set */
void wcodec_lossy_choose_set(const struct wcodec_lossy_sample *sample, int level, float scale,
                             struct wcodec_lossy_model *model);

#endif
