/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/lossy_internal.h"

#include "core/assert.h"
#include "core/error.h"
#include "coding/histogram.h"

#include <math.h>
#include <stdlib.h>

enum {
    SAMPLE_UNITS = 16,  /* times as many elements as a superblock has */
    SAMPLE_BLOCKS = 32, /* superblocks, which differ more */
    PARTS = 4,          /* of a sample: the first is enough for a first look */
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

static void transform_block(const struct wcodec_cpu_lossy_dsp *dsp, unsigned set,
                            struct wcodec_lossy_block *block)
{
    for (unsigned m = WCODEC_TRANSFORM_NONE + 1; m < WCODEC_TRANSFORMS; m++)
        if (set >> m & 1)
            dsp->forward[m](block->coefficients[WCODEC_TRANSFORM_NONE], block->coefficients[m]);
}

void wcodec_lossy_block_make(const struct wcodec_cpu_lossy_dsp *dsp, unsigned set,
                             const float *values, unsigned stride, const float *row_factors,
                             struct wcodec_lossy_block *block)
{
    enum { SIDE = WCODEC_TRANSFORM_SIDE };
    float *elements = block->coefficients[WCODEC_TRANSFORM_NONE];
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            elements[SIDE * y + x] = row_factors ? values[(size_t)stride * y + x] * row_factors[y]
                                                 : values[(size_t)stride * y + x];
    transform_block(dsp, set, block);
}

/* Classes are numbers of the order that share a table, whatever the mode, as it serves all blocks
 * of a group. Plain tensors have one. */
struct wcodec_cpu_rounding wcodec_lossy_rounding(const struct wcodec_lossy_model *model)
{
    struct wcodec_cpu_rounding r = {.margin = model->costs.margin[0], .bits = model->costs.bits[0]};
    for (uint32_t k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        r.rows[wcodec_orders[model->order][k]] =
            model->set == WCODEC_SET_PLAIN ? 0 : k / 4 * WCODEC_CPU_ENTRIES;
    return r;
}

static unsigned class_count(const struct wcodec_lossy_model *model)
{
    return model->set == WCODEC_SET_PLAIN ? 1 : WCODEC_LOSSY_CLASSES;
}

static unsigned members(unsigned set)
{
    return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1);
}

static void quantise_mode(const struct wcodec_lossy_model *model,
                          const struct wcodec_cpu_rounding *rounding, bool count,
                          const struct wcodec_lossy_block *block, float inverse,
                          struct wcodec_lossy_quantised *q)
{
    model->dsp->quantise(rounding, count, block->coefficients[q->mode], inverse, &q->block);
    if (q->mode != WCODEC_TRANSFORM_NONE && q->block.energy > ENERGY_MAX)
        q->block.distortion = none_allowed;
}

/* What decoding makes of a block, as the dtype will have it. */
static void reconstruct(const struct wcodec_lossy_model *model,
                        const struct wcodec_lossy_quantised *q, float scale,
                        float values[WCODEC_TRANSFORM_BLOCK])
{
    int32_t in[WCODEC_TRANSFORM_BLOCK], out[WCODEC_TRANSFORM_BLOCK];
    uint8_t bytes[4 * WCODEC_TRANSFORM_BLOCK];
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        in[k] = q->block.coefficients[k];
    wcodec_transform_inverse(q->mode, in, out);
    wcodec_lossy_store(model->dtype, out, WCODEC_TRANSFORM_BLOCK, scale, bytes);
    wcodec_lossy_load(model->dtype, bytes, WCODEC_TRANSFORM_BLOCK, values);
}

/* Does every element come out within the bound? */
static bool is_within(const struct wcodec_lossy_model *model,
                      const float elements[WCODEC_TRANSFORM_BLOCK], float scale,
                      const struct wcodec_lossy_quantised *q)
{
    float values[WCODEC_TRANSFORM_BLOCK];
    reconstruct(model, q, scale, values);
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++) {
        const double error = (double)values[k] - (double)elements[k];
        if (!(error <= (double)model->bound && -error <= (double)model->bound))
            return false;
    }
    return true;
}

void wcodec_lossy_block_quantise(const struct wcodec_lossy_model *model,
                                 const struct wcodec_cpu_rounding *rounding,
                                 const struct wcodec_lossy_block *block, float scale,
                                 struct wcodec_lossy_quantised *best)
{
    const float inverse = scale > 0 ? 1 / ((float)WCODEC_TRANSFORM_UNIT * scale) : 0;
    const bool choice = members(model->set) > 1;
    float least = 2 * none_allowed;
    for (unsigned m = 0; m < WCODEC_TRANSFORMS; m++) {
        struct wcodec_lossy_quantised q;
        if (!(model->set >> m & 1))
            continue;
        q.mode = m;
        quantise_mode(model, rounding, choice, block, inverse, &q);
        const float bits_cost = model->lambda * q.block.bits;
        if (model->bound > 0 && bits_cost >= least)
            continue;
        if (model->bound > 0)
            q.block.distortion =
                is_within(model, block->coefficients[WCODEC_TRANSFORM_NONE], scale, &q)
                    ? 0
                    : none_allowed;
        const float cost = q.block.distortion + bits_cost;
        if (cost < least) {
            least = cost;
            *best = q;
        }
    }
    /* Too large for any transform of the set. */
    if (least >= none_allowed && !(model->set & WCODEC_SET_PLAIN) && !(model->bound > 0)) {
        best->mode = WCODEC_TRANSFORM_NONE;
        quantise_mode(model, rounding, false, block, inverse, best);
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

static void take_superblock(const struct wcodec_lossy_source *s, uint64_t unit,
                            struct wcodec_lossy_block *blocks, size_t *count)
{
    float values[WCODEC_SUPERBLOCK], factors[WCODEC_SUPERBLOCK_ROWS];
    const unsigned height = wcodec_lossy_height(s, unit), width = wcodec_lossy_width(s, unit);
    wcodec_lossy_load_superblock(s, unit, values);
    wcodec_lossy_row_factors(s, unit, factors);
    for (unsigned y = 0; y < height; y += WCODEC_TRANSFORM_SIDE)
        for (unsigned x = 0; x < width; x += WCODEC_TRANSFORM_SIDE)
            wcodec_lossy_block_make(
                &s->dsp, WCODEC_SET_PLAIN, values + (size_t)WCODEC_SUPERBLOCK_COLUMNS * y + x,
                WCODEC_SUPERBLOCK_COLUMNS, s->weights ? factors + y : NULL, &blocks[(*count)++]);
}

wcodec_status wcodec_lossy_sample_take(const struct wcodec_lossy_source *s,
                                       struct wcodec_lossy_sample *sample, wcodec_error *err)
{
    const uint64_t units = s->blocks ? wcodec_lossy_superblocks(s)
                                     : wcodec_div_up_u64(s->elements, WCODEC_SUPERBLOCK),
                   most = s->blocks ? SAMPLE_BLOCKS : SAMPLE_UNITS,
                   taken = units < most ? units : most, stride = units / taken;
    *sample = (struct wcodec_lossy_sample){
        .allocator = s->allocator, .dsp = &s->dsp, .transforms = s->blocks};
    sample->blocks =
        wcodec_alloc_array(s->allocator, taken * WCODEC_SUPERBLOCK_BLOCKS, sizeof *sample->blocks);
    if (sample->blocks == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a sample of blocks");
    for (uint64_t part = 0; part < PARTS; part++) {
        for (uint64_t i = part; i < taken; i += PARTS) {
            /* Evenly, but not always at the same place of a row of superblocks. */
            const uint64_t at = units * i / taken + wcodec_scatter(i, stride),
                           unit = at < units ? at : units - 1;
            if (s->blocks)
                take_superblock(s, unit, sample->blocks, &sample->count);
            else
                take_linear(s, unit, sample->blocks, &sample->count);
        }
        sample->part = part == 0 ? sample->count : sample->part;
    }
    return WCODEC_OK;
}

void wcodec_lossy_sample_transform(struct wcodec_lossy_sample *sample)
{
    for (; sample->transforms && sample->transformed < sample->count; sample->transformed++)
        transform_block(sample->dsp, WCODEC_SET_DCT | WCODEC_SET_ADST,
                        &sample->blocks[sample->transformed]);
}

struct wcodec_lossy_sample wcodec_lossy_sample_part(struct wcodec_lossy_sample *sample)
{
    struct wcodec_lossy_sample part = *sample;
    part.count = sample->part;
    wcodec_lossy_sample_transform(&part);
    sample->transformed = part.transformed;
    return part;
}

void wcodec_lossy_sample_free(struct wcodec_lossy_sample *sample)
{
    wcodec_free(sample->allocator, sample->blocks);
    sample->blocks = NULL;
}

static void count_block(const struct wcodec_cpu_rounding *rounding,
                        const struct wcodec_cpu_quantised *q, struct wcodec_lossy_counts *counts)
{
    int32_t magnitudes[WCODEC_TRANSFORM_BLOCK];
    uint32_t entries[WCODEC_TRANSFORM_BLOCK], *const all = counts->counts[0];
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        magnitudes[k] = abs(q->coefficients[k]);
    wcodec_cpu_entries(rounding, magnitudes, entries);
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        all[entries[k]]++;
}

static void clear_counts(const struct wcodec_lossy_model *model, struct wcodec_lossy_counts *counts)
{
    memset(counts->counts, 0, class_count(model) * sizeof *counts->counts);
}

/* Bits of what was counted, by the model's costs. */
static double counted_bits(const struct wcodec_lossy_model *model,
                           const struct wcodec_lossy_counts *counts)
{
    double bits = 0;
    for (unsigned c = 0; c < class_count(model); c++)
        for (unsigned i = 0; i < WCODEC_CPU_ENTRIES; i++)
            bits += (double)counts->counts[c][i] * (double)model->costs.bits[c][i];
    return bits;
}

/* The first mode of a set; none if it is empty. */
static unsigned first_mode(unsigned set)
{
    for (unsigned m = 0; m < WCODEC_TRANSFORMS; m++)
        if (set >> m & 1)
            return m;
    return WCODEC_TRANSFORM_NONE;
}

void wcodec_lossy_round_only(struct wcodec_lossy_model *model)
{
    const struct wcodec_lossy_counts none = {0};
    wcodec_lossy_costs_make(&none, class_count(model), 0, &model->costs);
}

/* Costs to begin with: those of plain rounding in one mode. */
static void start(const struct wcodec_lossy_sample *sample, unsigned mode, float scale,
                  float lambda, struct wcodec_lossy_model *model)
{
    const struct wcodec_cpu_rounding rounding = wcodec_lossy_rounding(model);
    const float inverse = 1 / ((float)WCODEC_TRANSFORM_UNIT * scale);
    struct wcodec_lossy_counts counts;
    clear_counts(model, &counts);
    wcodec_lossy_round_only(model);
    for (size_t i = 0; i < sample->count; i++) {
        struct wcodec_cpu_quantised q;
        model->dsp->quantise(&rounding, false, sample->blocks[i].coefficients[mode], inverse, &q);
        count_block(&rounding, &q, &counts);
    }
    wcodec_lossy_costs_make(&counts, class_count(model), lambda, &model->costs);
}

void wcodec_lossy_settle(const struct wcodec_lossy_sample *sample, bool anew, float scale,
                         struct wcodec_lossy_model *model, struct wcodec_lossy_estimate *estimate)
{
    WCODEC_ASSERT(model->set == WCODEC_SET_PLAIN || sample->transformed >= sample->count);
    const struct wcodec_cpu_rounding rounding = wcodec_lossy_rounding(model);
    double bits = 0, distortion = 0;
    const float lambda =
        model->bound > 0 ? 0
                         : model->lambda; /* with a bound, what is nearest is what keeps to it */
    if (anew)
        start(sample, first_mode(model->set & (WCODEC_SET_DCT | WCODEC_SET_ADST)), scale, lambda,
              model);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct wcodec_lossy_counts counts;
        clear_counts(model, &counts);
        distortion = 0;
        for (size_t i = 0; i < sample->count; i++) {
            struct wcodec_lossy_quantised q;
            wcodec_lossy_block_quantise(model, &rounding, &sample->blocks[i], scale, &q);
            count_block(&rounding, &q.block, &counts);
            distortion += (double)q.block.distortion;
        }
        bits = counted_bits(model, &counts);
        wcodec_lossy_costs_make(&counts, class_count(model), lambda, &model->costs);
    }
    const double elements = (double)sample->count * WCODEC_TRANSFORM_BLOCK;
    estimate->bits = bits / elements + (double)(members(model->set) - 1) / WCODEC_TRANSFORM_BLOCK;
    estimate->distortion = distortion / elements;
}

double wcodec_lossy_sample_error(const struct wcodec_lossy_sample *sample, float scale,
                                 const struct wcodec_lossy_model *model)
{
    const struct wcodec_cpu_rounding rounding = wcodec_lossy_rounding(model);
    double sum = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const float *elements = sample->blocks[i].coefficients[WCODEC_TRANSFORM_NONE];
        struct wcodec_lossy_quantised q;
        float values[WCODEC_TRANSFORM_BLOCK];
        wcodec_lossy_block_quantise(model, &rounding, &sample->blocks[i], scale, &q);
        reconstruct(model, &q, scale, values);
        for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++) {
            const double error = (double)values[k] - (double)elements[k];
            sum += error * error;
        }
    }
    return sum / ((double)sample->count * WCODEC_TRANSFORM_BLOCK);
}

static double cost_of(const struct wcodec_lossy_model *model, const struct wcodec_lossy_estimate *e)
{
    return e->bits + (model->bound > 0 ? 0 : e->distortion / (double)model->lambda);
}

void wcodec_lossy_choose_order(const struct wcodec_lossy_sample *sample, float scale,
                               struct wcodec_lossy_model *model)
{
    struct wcodec_lossy_sample part = *sample;
    double least = INFINITY;
    unsigned best = 0;
    part.count = sample->part;
    for (unsigned order = 0; order < WCODEC_ORDERS && model->set != WCODEC_SET_PLAIN; order++) {
        struct wcodec_lossy_model trial = *model;
        struct wcodec_lossy_estimate e;
        trial.order = order;
        wcodec_lossy_settle(&part, true, scale, &trial, &e);
        if (cost_of(model, &e) < least) {
            least = cost_of(model, &e);
            best = order;
        }
    }
    model->order = best;
}

bool wcodec_lossy_blocks_may_pay(const struct wcodec_lossy_sample *sample, int level, float scale,
                                 const struct wcodec_lossy_model *model)
{
    struct wcodec_lossy_model trial = *model;
    struct wcodec_lossy_estimate plain, blocks;
    if (level >= LEVEL_SLOW)
        return sample->transforms;
    trial.set = WCODEC_SET_PLAIN;
    trial.order = WCODEC_ORDER_DIAGONALS;
    wcodec_lossy_settle(sample, true, scale, &trial, &plain);
    trial.set = WCODEC_SET_PLAIN | WCODEC_SET_DCT | WCODEC_SET_ADST;
    wcodec_lossy_settle(sample, true, scale, &trial, &blocks);
    /* A smaller set or another order may save the numbers of modes, and some more. */
    const double gain = cost_of(model, &plain) - cost_of(model, &blocks) +
                        (double)(members(trial.set) - 1) / WCODEC_TRANSFORM_BLOCK;
    return gain > plain.bits / WORTH_BLOCKS * 3 / 4;
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
    if (sample->transforms) { /* sets are compared in the order that suits most of them */
        model->set = WCODEC_SET_DCT;
        wcodec_lossy_choose_order(sample, scale, model);
    }
    for (unsigned i = 0; i < sizeof sets; i++) {
        struct wcodec_lossy_model trial = *model;
        struct wcodec_lossy_estimate e;
        if (sets[i] != WCODEC_SET_PLAIN && !sample->transforms)
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
