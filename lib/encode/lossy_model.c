/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/lossy_model.h"

#include "core/error.h"
#include "coding/histogram.h"
#include "encode/lossy_transform.h"

#include <math.h>

enum {
    SAMPLE_UNITS = 16,  /* times as many elements as a superblock has */
    SAMPLE_BLOCKS = 32, /* superblocks, which differ more */
    ROUNDS = 2,
    ENERGY_MAX = 60000000, /* a transform's squared coefficients: beyond, products of its inverse
                              come near 2^31 */
    WORTH_BLOCKS = 32,     /* blocks must save one part in so many of the bits: plain tensors decode
                              faster, on every device; */
    WORTH_BLOCKS_SLOW = 200, /* and at high levels */
    LEVEL_SLOW = 7
};

#define NEVER 1e30f

/* In place of infinity, which sums. */
static const float none_allowed = NEVER;

void wcodec_lossy_block_make(unsigned set, const float *values, unsigned stride,
                             const float *row_factors, struct wcodec_lossy_block *block)
{
    enum { SIDE = WCODEC_TRANSFORM_SIDE };
    float in[WCODEC_TRANSFORM_BLOCK], out[WCODEC_TRANSFORM_BLOCK];
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            in[SIDE * y + x] = row_factors ? values[(size_t)stride * y + x] * row_factors[y]
                                           : values[(size_t)stride * y + x];
    for (unsigned m = 0; m < WCODEC_TRANSFORMS; m++) {
        if (!(set >> m & 1))
            continue;
        wcodec_transform_forward(m, in, out);
        for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
            block->coefficients[m][k] = out[k];
    }
}

/* The class of each place: numbers of the order that share a table, whatever the mode, as it serves
 * all blocks of a group. Plain tensors have one. */
static void classes_of(const struct wcodec_lossy_model *model,
                       uint8_t classes[WCODEC_TRANSFORM_BLOCK])
{
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        classes[wcodec_orders[model->order][k]] =
            (uint8_t)(model->set == WCODEC_SET_PLAIN ? 0 : k / 4);
}

static unsigned members(unsigned set)
{
    return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1);
}

/* Each step by itself for the whole block: compilers make vectors of all but the look at the costs.
 */
static void quantise_mode(const struct wcodec_lossy_model *model,
                          const uint8_t classes[WCODEC_TRANSFORM_BLOCK],
                          const float coefficients[WCODEC_TRANSFORM_BLOCK], float inverse,
                          bool count, struct wcodec_lossy_quantised *q)
{
    enum { N = WCODEC_TRANSFORM_BLOCK, SUMS = 8, SMALL = 500 };
    float sizes[N], squares[SUMS] = {0}, bits = 0, distortion = 0, energy = 0;
    int32_t magnitudes[N], most = 0;
    for (unsigned k = 0; k < N; k++) {
        const float size = fabsf(coefficients[k] * inverse);
        sizes[k] = size;
        magnitudes[k] = (int32_t)((size < WCODEC_LOSSY_MAX ? size : WCODEC_LOSSY_MAX) + 0.5f);
    }
    for (unsigned k = 0; k < N; k++) {
        const unsigned class = classes[k], nearest = (unsigned)magnitudes[k];
        const unsigned direct = nearest < WCODEC_LOSSY_DIRECT,
                       below = sizes[k] < model->costs.least[class][direct ? nearest : 0];
        magnitudes[k] =
            (int32_t)(nearest - (direct & below)); /* no branch: neither can be foretold */
    }
    for (unsigned k = 0; k < N && count; k++)
        bits += wcodec_lossy_bits(&model->costs, classes[k], (unsigned)magnitudes[k]);
    for (unsigned k = 0; k < N; k += SUMS)
        for (unsigned i = 0; i < SUMS; i++) {
            const float rest = sizes[k + i] - (float)magnitudes[k + i];
            squares[i] += rest * rest;
        }
    for (unsigned k = 0; k < N; k++) {
        q->coefficients[k] = (int16_t)(coefficients[k] < 0 ? -magnitudes[k] : magnitudes[k]);
        most = magnitudes[k] > most ? magnitudes[k] : most;
    }
    for (unsigned i = 0; i < SUMS; i++)
        distortion += squares[i];
    for (unsigned k = 0; k < N && most > SMALL; k++)
        energy += (float)magnitudes[k] * (float)magnitudes[k];
    q->bits = bits;
    q->distortion =
        q->mode != WCODEC_TRANSFORM_NONE && energy > ENERGY_MAX ? none_allowed : distortion;
}

/* Does every element come out within the bound, as the dtype will have it? */
static bool is_within(const struct wcodec_lossy_model *model,
                      const float elements[WCODEC_TRANSFORM_BLOCK], float scale,
                      const struct wcodec_lossy_quantised *q)
{
    int32_t in[WCODEC_TRANSFORM_BLOCK], out[WCODEC_TRANSFORM_BLOCK];
    uint8_t bytes[4 * WCODEC_TRANSFORM_BLOCK];
    float values[WCODEC_TRANSFORM_BLOCK];
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        in[k] = q->coefficients[k];
    wcodec_transform_inverse(q->mode, in, out);
    wcodec_lossy_store(model->dtype, out, WCODEC_TRANSFORM_BLOCK, scale, bytes);
    wcodec_lossy_load(model->dtype, bytes, WCODEC_TRANSFORM_BLOCK, values);
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++) {
        const double error = (double)values[k] - (double)elements[k];
        if (!(error <= (double)model->bound && -error <= (double)model->bound))
            return false;
    }
    return true;
}

void wcodec_lossy_block_quantise(const struct wcodec_lossy_model *model,
                                 const struct wcodec_lossy_block *block, float scale, bool count,
                                 struct wcodec_lossy_quantised *best)
{
    const float inverse = scale > 0 ? 1 / ((float)WCODEC_TRANSFORM_UNIT * scale) : 0;
    float least = 2 * none_allowed;
    uint8_t classes[WCODEC_TRANSFORM_BLOCK];
    classes_of(model, classes);
    for (unsigned m = 0; m < WCODEC_TRANSFORMS; m++) {
        struct wcodec_lossy_quantised q;
        if (!(model->set >> m & 1))
            continue;
        q.mode = m;
        quantise_mode(model, classes, block->coefficients[m], inverse,
                      count || members(model->set) > 1, &q);
        if (model->bound > 0)
            q.distortion = is_within(model, block->coefficients[WCODEC_TRANSFORM_NONE], scale, &q)
                               ? 0
                               : none_allowed;
        const float cost = q.distortion + model->lambda * q.bits;
        if (cost < least) {
            least = cost;
            *best = q;
        }
    }
    /* Too large for any transform of the set. */
    if (least >= none_allowed && !(model->set & WCODEC_SET_PLAIN) && !(model->bound > 0)) {
        best->mode = WCODEC_TRANSFORM_NONE;
        quantise_mode(model, classes, block->coefficients[WCODEC_TRANSFORM_NONE], inverse, count,
                      best);
    }
}

static void take_linear(const struct wcodec_lossy_source *s, uint64_t unit,
                        struct wcodec_lossy_block *blocks, size_t *count)
{
    float values[WCODEC_SUPERBLOCK];
    const uint64_t first = unit << WCODEC_SUPERBLOCK_LOG2, left = s->elements - first;
    const size_t n = left < WCODEC_SUPERBLOCK ? (size_t)left : WCODEC_SUPERBLOCK;
    wcodec_lossy_load(s->dtype, s->data + (first << s->element_log2), n, values);
    for (size_t i = 0; i < n && s->weights; i++) {
        const float weight = s->weights[(first + i) / s->columns];
        values[i] = weight > 0 ? values[i] / weight : 0;
    }
    for (size_t i = n; i < WCODEC_SUPERBLOCK; i++)
        values[i] = values[i % n];
    for (size_t i = 0; i < n; i += WCODEC_TRANSFORM_BLOCK)
        memcpy(blocks[(*count)++].coefficients[WCODEC_TRANSFORM_NONE], values + i,
               WCODEC_TRANSFORM_BLOCK * sizeof *values);
}

static void take_superblock(const struct wcodec_lossy_source *s, unsigned set, uint64_t unit,
                            struct wcodec_lossy_block *blocks, size_t *count)
{
    float values[WCODEC_SUPERBLOCK], factors[WCODEC_SUPERBLOCK_ROWS];
    const unsigned height = wcodec_lossy_height(s, unit), width = wcodec_lossy_width(s, unit);
    wcodec_lossy_load_superblock(s, unit, values);
    wcodec_lossy_row_factors(s, unit, factors);
    for (unsigned y = 0; y < height; y += WCODEC_TRANSFORM_SIDE)
        for (unsigned x = 0; x < width; x += WCODEC_TRANSFORM_SIDE)
            wcodec_lossy_block_make(set, values + (size_t)WCODEC_SUPERBLOCK_COLUMNS * y + x,
                                    WCODEC_SUPERBLOCK_COLUMNS, s->weights ? factors + y : NULL,
                                    &blocks[(*count)++]);
}

wcodec_status wcodec_lossy_sample_take(const struct wcodec_lossy_source *s,
                                       struct wcodec_lossy_sample *sample, wcodec_error *err)
{
    const uint64_t units = s->blocks ? wcodec_lossy_superblocks(s)
                                     : wcodec_div_up_u64(s->elements, WCODEC_SUPERBLOCK),
                   most = s->blocks ? SAMPLE_BLOCKS : SAMPLE_UNITS,
                   taken = units < most ? units : most, stride = units / taken;
    *sample = (struct wcodec_lossy_sample){.allocator = s->allocator, .set = WCODEC_SET_PLAIN};
    if (s->blocks)
        sample->set |= WCODEC_SET_DCT | WCODEC_SET_ADST;
    sample->blocks =
        wcodec_alloc_array(s->allocator, taken * WCODEC_SUPERBLOCK_BLOCKS, sizeof *sample->blocks);
    if (!sample->blocks)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a sample of blocks");
    for (uint64_t i = 0; i < taken; i++) {
        /* Evenly, but not always at the same place of a row of superblocks. */
        const uint64_t unit = units * i / taken + wcodec_scatter(i, stride);
        if (s->blocks)
            take_superblock(s, sample->set, unit < units ? unit : units - 1, sample->blocks,
                            &sample->count);
        else
            take_linear(s, unit < units ? unit : units - 1, sample->blocks, &sample->count);
    }
    return WCODEC_OK;
}

void wcodec_lossy_sample_free(struct wcodec_lossy_sample *sample)
{
    wcodec_free(sample->allocator, sample->blocks);
    sample->blocks = NULL;
}

/* Counted by magnitude, which is quick, until there are costs to make of them. */
struct tally {
    uint32_t small[WCODEC_LOSSY_CLASSES][WCODEC_LOSSY_DIRECT];
    struct wcodec_lossy_counts all;
};

static void count_block(const uint8_t classes[WCODEC_TRANSFORM_BLOCK],
                        const struct wcodec_lossy_quantised *q, struct tally *tally)
{
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++) {
        const int v = q->coefficients[k];
        const unsigned class = classes[k], magnitude = (unsigned)(v < 0 ? -v : v);
        if (magnitude < WCODEC_LOSSY_DIRECT)
            tally->small[class][magnitude]++;
        else
            tally->all.counts[class][wcodec_lossy_bucket(magnitude)]++;
    }
}

static void make_costs(struct tally *tally, float lambda, struct wcodec_lossy_costs *costs)
{
    for (unsigned c = 0; c < WCODEC_LOSSY_CLASSES; c++)
        for (unsigned m = 0; m < WCODEC_LOSSY_DIRECT; m++)
            tally->all.counts[c][wcodec_lossy_bucket(m)] += tally->small[c][m];
    wcodec_lossy_costs_make(&tally->all, lambda, costs);
}

/* Costs to begin with: those of plain rounding in one mode. */
static void start(const struct wcodec_lossy_sample *sample, unsigned mode, float scale,
                  float lambda, struct wcodec_lossy_model *model)
{
    const float inverse = 1 / ((float)WCODEC_TRANSFORM_UNIT * scale);
    uint8_t classes[WCODEC_TRANSFORM_BLOCK];
    struct tally tally;
    classes_of(model, classes);
    memset(&tally, 0, sizeof tally);
    for (size_t i = 0; i < sample->count; i++)
        for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++) {
            const float size = fabsf(sample->blocks[i].coefficients[mode][k] * inverse) + 0.5f;
            const unsigned class = classes[k],
                           magnitude = size < WCODEC_LOSSY_MAX ? (unsigned)size : WCODEC_LOSSY_MAX;
            if (magnitude < WCODEC_LOSSY_DIRECT)
                tally.small[class][magnitude]++;
            else
                tally.all.counts[class][wcodec_lossy_bucket(magnitude)]++;
        }
    make_costs(&tally, lambda, &model->costs);
}

void wcodec_lossy_settle(const struct wcodec_lossy_sample *sample, bool anew, float scale,
                         struct wcodec_lossy_model *model, struct wcodec_lossy_estimate *estimate)
{
    double bits = 0, distortion = 0;
    uint8_t classes[WCODEC_TRANSFORM_BLOCK];
    classes_of(model, classes);
    const float lambda =
        model->bound > 0 ? 0
                         : model->lambda; /* with a bound, what is nearest is what keeps to it */
    if (anew)
        start(sample,
              model->set & WCODEC_SET_DCT    ? WCODEC_TRANSFORM_DCT
              : model->set & WCODEC_SET_ADST ? WCODEC_TRANSFORM_ADST
                                             : WCODEC_TRANSFORM_NONE,
              scale, lambda, model);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct tally tally;
        memset(&tally, 0, sizeof tally);
        bits = distortion = 0;
        for (size_t i = 0; i < sample->count; i++) {
            struct wcodec_lossy_quantised q;
            wcodec_lossy_block_quantise(model, &sample->blocks[i], scale, true, &q);
            count_block(classes, &q, &tally);
            bits += (double)q.bits;
            distortion += (double)q.distortion;
        }
        make_costs(&tally, lambda, &model->costs);
    }
    const double elements = (double)sample->count * WCODEC_TRANSFORM_BLOCK;
    estimate->bits = bits / elements + (double)(members(model->set) - 1) / WCODEC_TRANSFORM_BLOCK;
    estimate->distortion = distortion / elements;
}

static double cost_of(const struct wcodec_lossy_model *model, const struct wcodec_lossy_estimate *e)
{
    return e->bits + (model->bound > 0 ? 0 : e->distortion / (double)model->lambda);
}

void wcodec_lossy_choose_order(const struct wcodec_lossy_sample *sample, float scale,
                               struct wcodec_lossy_model *model)
{
    double least = INFINITY;
    unsigned best = 0;
    for (unsigned order = 0; order < WCODEC_ORDERS && model->set != WCODEC_SET_PLAIN; order++) {
        struct wcodec_lossy_model trial = *model;
        struct wcodec_lossy_estimate e;
        trial.order = order;
        wcodec_lossy_settle(sample, true, scale, &trial, &e);
        if (cost_of(model, &e) < least) {
            least = cost_of(model, &e);
            best = order;
        }
    }
    model->order = best;
}

void wcodec_lossy_choose_set(const struct wcodec_lossy_sample *sample, int level, float scale,
                             struct wcodec_lossy_model *model)
{
    static const uint8_t sets[] = {WCODEC_SET_PLAIN,
                                   WCODEC_SET_DCT,
                                   WCODEC_SET_ADST,
                                   WCODEC_SET_DCT | WCODEC_SET_ADST,
                                   WCODEC_SET_PLAIN | WCODEC_SET_DCT,
                                   WCODEC_SET_PLAIN | WCODEC_SET_DCT | WCODEC_SET_ADST};
    double least = 0;
    unsigned best = WCODEC_SET_PLAIN;
    if (sample->set & WCODEC_SET_DCT) { /* sets are compared in the order that suits most of them */
        model->set = WCODEC_SET_DCT;
        wcodec_lossy_choose_order(sample, scale, model);
    }
    for (unsigned i = 0; i < sizeof sets; i++) {
        struct wcodec_lossy_model trial = *model;
        struct wcodec_lossy_estimate e;
        if ((sample->set & sets[i]) != sets[i])
            continue;
        trial.set = sets[i];
        wcodec_lossy_settle(sample, true, scale, &trial, &e);
        const double cost = cost_of(model, &e);
        if (i == 0)
            least = cost - e.bits / (level >= LEVEL_SLOW ? WORTH_BLOCKS_SLOW : WORTH_BLOCKS);
        else if (cost < least) {
            least = cost;
            best = sets[i];
        }
    }
    model->set = best;
    if (best != WCODEC_SET_DCT)
        wcodec_lossy_choose_order(sample, scale, model);
}
