/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The parts of the lossy coder: the tensor as it sees it, what coefficients cost, the modes of
 * blocks, and quantising all of it at a step. */
#ifndef WCODEC_ENCODE_LOSSY_INTERNAL_H
#define WCODEC_ENCODE_LOSSY_INTERNAL_H

#include "coding/transform.h"
#include "encode/encode.h"
#include <math.h>

/* Forward transforms of 8 x 8 blocks, orthonormal, to the inverses of coding/transform.h. Those are
 * exact by definition; these need only be near, so they are floating point, in an order of
 * operations that is the same on every machine. */

/* Values to coefficients, both row by row; row of a coefficient: its vertical frequency. Values in
 * units of the quantiser's step give coefficients in those units. WCODEC_TRANSFORM_NONE copies. */
void wcodec_transform_forward(unsigned transform, const float values[WCODEC_TRANSFORM_BLOCK],
                              float coefficients[WCODEC_TRANSFORM_BLOCK]);

/* A tensor that is to be coded with loss, as the lossy coder sees it: a matrix of numbers, each row
 * with a scale. */

struct wcodec_lossy_source {
    const wcodec_allocator *allocator;
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
    WCODEC_LOSSY_CLASSES = 16, /* four numbers of the order each, as tables can tell them apart */
    WCODEC_LOSSY_BUCKETS = 64, /* magnitudes up to 15, then four ranges an octave up to 2^16 */
    WCODEC_LOSSY_DIRECT = 256, /* magnitudes that have costs of their own */
    WCODEC_LOSSY_MAX = 32767   /* largest coefficient */
};

struct wcodec_lossy_counts {
    uint64_t counts[WCODEC_LOSSY_CLASSES][WCODEC_LOSSY_BUCKETS];
};

struct wcodec_lossy_costs {
    float bits[WCODEC_LOSSY_CLASSES][WCODEC_LOSSY_DIRECT]; /* of a magnitude and its sign */
    float least[WCODEC_LOSSY_CLASSES]
               [WCODEC_LOSSY_DIRECT]; /* what a value must reach for a magnitude, or it gets the one
                                         below */
    float tail[WCODEC_LOSSY_CLASSES][WCODEC_LOSSY_BUCKETS]; /* of the magnitudes of a range, each */
};

static inline unsigned wcodec_lossy_bucket(unsigned magnitude)
{
    unsigned octave = 4;
    if (magnitude < 16)
        return magnitude;
    while (magnitude >> octave > 1)
        octave++;
    return octave * 4 + (magnitude >> (octave - 2) & 3);
}

/* From what was counted, for the first `classes`. lambda: squared steps that a bit is worth; 0:
 * plain rounding. Classes of which nothing was counted cost as all together. */
void wcodec_lossy_costs_make(const struct wcodec_lossy_counts *counts, unsigned classes,
                             float lambda, struct wcodec_lossy_costs *costs);

/* The nearest magnitude to a value of this size. */
static inline int32_t wcodec_lossy_nearest(float size)
{
    return (int32_t)((size < WCODEC_LOSSY_MAX ? size : WCODEC_LOSSY_MAX) + 0.5f);
}

/* The same for 64 values times `inverse`, one step after the other: compilers make vectors of each.
 */
static inline void wcodec_lossy_scale_block(const float *values, float inverse, float *sizes,
                                            int32_t *nearest)
{
    float limited[64];
    for (unsigned i = 0; i < 64; i++)
        sizes[i] = fabsf(values[i] * inverse);
    for (unsigned i = 0; i < 64; i++)
        limited[i] = sizes[i] < WCODEC_LOSSY_MAX ? sizes[i] : WCODEC_LOSSY_MAX;
    for (unsigned i = 0; i < 64; i++)
        nearest[i] = (int32_t)(limited[i] + 0.5f);
}

/* The magnitude that the value gets: the nearest, or the one below. No branch: neither can be
 * foretold. */
static inline int32_t wcodec_lossy_round_nearest(const struct wcodec_lossy_costs *costs,
                                                 unsigned class, float size, int32_t nearest)
{
    const int32_t direct = nearest < WCODEC_LOSSY_DIRECT ? nearest : 0;
    return nearest - (size < costs->least[class][direct]);
}

static inline unsigned wcodec_lossy_round(const struct wcodec_lossy_costs *costs, unsigned class,
                                          float size)
{
    return (unsigned)wcodec_lossy_round_nearest(costs, class, size, wcodec_lossy_nearest(size));
}

static inline float wcodec_lossy_bits(const struct wcodec_lossy_costs *costs, unsigned class,
                                      unsigned magnitude)
{
    return magnitude < WCODEC_LOSSY_DIRECT ? costs->bits[class][magnitude]
                                           : costs->tail[class][wcodec_lossy_bucket(magnitude)];
}

/* What quantisation goes by: the modes that blocks may have, and what coefficients cost. Settled on
 * a sample of the tensor, which also says about what a step gives in bits and error. */

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
