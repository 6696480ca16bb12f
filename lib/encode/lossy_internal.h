/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The parts of the lossy coder: the tensor as it sees it, what coefficients cost, the modes of
 * blocks, and quantising all of it at a step. */
#ifndef WCODEC_ENCODE_LOSSY_INTERNAL_H
#define WCODEC_ENCODE_LOSSY_INTERNAL_H

#include "backends/cpu/lossy.h"
#include "encode/encode.h"

/* A tensor that is to be coded with loss, as the lossy coder sees it: a matrix of numbers, each row
 * with a scale. */

struct wcodec_lossy_source {
    const wcodec_allocator *allocator;
    struct wcodec_cpu_lossy_dsp dsp;
    wcodec_dtype dtype; /* BF16, F16 or F32 */
    unsigned element_log2;
    const uint8_t *data;
    uint64_t size, elements;
    uint64_t columns, rows; /* 1 column where there is no view */
    bool blocks;            /* the view can be cut into superblocks without much padding */
    bool finite;            /* no element is NaN or infinite */
    double largest;         /* absolute value */
    double peak; /* likewise, of an element divided by its row's weight: so many steps are its
                    coefficient */
    double mean_square;
    float *weights; /* NULL: all rows alike; or each row's share of the scale: its root mean square,
                       that of the tensor being 1. Owned */
};

/* Look at the tensor. With `by_row`, and where there are rows, with weights. WCODEC_ERROR_MEMORY,
 * _CANCELLED. */
wcodec_status wcodec_lossy_source_open(wcodec_context *context,
                                       const struct wcodec_encode_settings *settings, bool by_row,
                                       wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                                       struct wcodec_lossy_source *source, wcodec_error *err);
void wcodec_lossy_source_close(struct wcodec_lossy_source *source);

/* `count` numbers of the dtype. */
void wcodec_lossy_load(wcodec_dtype dtype, const uint8_t *from, size_t count, float *to);

/* A superblock's numbers, row by row; its last row and column are repeated into the padding. */
void wcodec_lossy_load_superblock(const struct wcodec_lossy_source *source, uint64_t superblock,
                                  float values[WCODEC_SUPERBLOCK]);

/* What the rows of a superblock are multiplied by: 1 / weight. */
void wcodec_lossy_row_factors(const struct wcodec_lossy_source *source, uint64_t superblock,
                              float factors[WCODEC_SUPERBLOCK_ROWS]);

/* Rows and columns of a superblock that are no padding. */
static inline uint64_t wcodec_lossy_across(const struct wcodec_lossy_source *s)
{
    return wcodec_div_up_u64(s->columns, WCODEC_SUPERBLOCK_COLUMNS);
}

static inline unsigned wcodec_lossy_height(const struct wcodec_lossy_source *s, uint64_t superblock)
{
    const uint64_t left = s->rows - superblock / wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_ROWS;
    return left < WCODEC_SUPERBLOCK_ROWS ? (unsigned)left : WCODEC_SUPERBLOCK_ROWS;
}

static inline unsigned wcodec_lossy_width(const struct wcodec_lossy_source *s, uint64_t superblock)
{
    const uint64_t left =
        s->columns - superblock % wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_COLUMNS;
    return left < WCODEC_SUPERBLOCK_COLUMNS ? (unsigned)left : WCODEC_SUPERBLOCK_COLUMNS;
}

static inline uint64_t wcodec_lossy_superblocks(const struct wcodec_lossy_source *s)
{
    return wcodec_lossy_across(s) * wcodec_div_up_u64(s->rows, WCODEC_SUPERBLOCK_ROWS);
}

/* What quantised coefficients cost in bits, by the class of their band, and rounding that weighs
 * bits against error. Coefficients are in units of the quantiser's step throughout. */

enum {
    WCODEC_LOSSY_CLASSES = 16
}; /* four numbers of the order each, as tables can tell them apart */

/* Of entries as wcodec_cpu_rounding has them. */
struct wcodec_lossy_counts {
    uint32_t counts[WCODEC_LOSSY_CLASSES][WCODEC_CPU_ENTRIES];
};

struct wcodec_lossy_costs {
    float bits[WCODEC_LOSSY_CLASSES][WCODEC_CPU_ENTRIES];
    float margin[WCODEC_LOSSY_CLASSES][WCODEC_CPU_ENTRIES];
};

/* From what was counted, for the first `classes`. lambda: squared steps that a bit is worth; 0:
 * plain rounding. Classes of which nothing was counted cost as all together. */
void wcodec_lossy_costs_make(const struct wcodec_lossy_counts *counts, unsigned classes,
                             float lambda, struct wcodec_lossy_costs *costs);

/* What quantisation goes by: the modes that blocks may have, and what coefficients cost. Settled on
 * a sample of the tensor, which also says about what a step gives in bits and error. */

/* 1 << enum wcodec_transform of each mode that blocks may have. PLAIN alone: no blocks. */
enum {
    WCODEC_SET_PLAIN = 1 << WCODEC_TRANSFORM_NONE,
    WCODEC_SET_DCT = 1 << WCODEC_TRANSFORM_DCT,
    WCODEC_SET_ADST = 1 << WCODEC_TRANSFORM_ADST
};

struct wcodec_lossy_model {
    const struct wcodec_cpu_lossy_dsp *dsp;
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
    struct wcodec_cpu_quantised block; /* row by row; bits are by the model's costs, and not counted
                                          where its set has one mode alone */
    unsigned mode;
};

/* How the model rounds each coefficient of a block; points into it. */
struct wcodec_cpu_rounding wcodec_lossy_rounding(const struct wcodec_lossy_model *model);

/* Transform `values` (row by row, `stride` apart; times 1 / weight of its row, where there are
 * weights) by the modes of the set, which has PLAIN at least. */
void wcodec_lossy_block_make(const struct wcodec_cpu_lossy_dsp *dsp, unsigned set,
                             const float *values, unsigned stride, const float *row_factors,
                             struct wcodec_lossy_block *block);

/* The best mode's coefficients for a scale (the step is 64 times it). */
void wcodec_lossy_block_quantise(const struct wcodec_lossy_model *model,
                                 const struct wcodec_cpu_rounding *rounding,
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
    const struct wcodec_cpu_lossy_dsp *dsp; /* the source's */
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

/* The mean squared error of what decoding will make of the sample at a scale, which settled costs
 * say how to quantise: with rounding to the dtype, which an estimate's distortion lacks. */
double wcodec_lossy_sample_error(const struct wcodec_lossy_sample *sample, float scale,
                                 const struct wcodec_lossy_model *model);

/* Plain rounding to the nearest, as a bound asks for; nothing is known of bits. */
void wcodec_lossy_round_only(struct wcodec_lossy_model *model);

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

/* A whole tensor quantised by a model at a step, and what decoding will make of it. */

struct wcodec_lossy_result {
    const wcodec_allocator *allocator;
    struct wcodec_lossy lossy; /* columns, scales, modes, figures, check */
    uint8_t *coefficients;     /* the sequence, of 16 bits until wcodec_lossy_result_narrow() */
    uint8_t *numbers;          /* of each block's mode: enum wcodec_transform; NULL where plain */
    uint8_t *side;             /* packed modes, scales and the zeros after them */
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

/* Quantise: all of `result` is set anew except the approximation and its errors. Where no block
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
