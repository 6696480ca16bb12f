/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of an ensemble's members (rollout.h), for lanes whose registers hold all of U: what is
 * waited for in a step is as little as its sums allow, and it is few instructions. Of the mode
 * production, with a lane for each stochastic value.
 *
 * A warp has hidden values of its part, 128 / lanes of them: `lanes` is how many lanes share the
 * columns, 8, 16 or 32, and 32 / lanes groups of lanes have four hidden values each, of rows that
 * are as many as there are groups apart. A lane holds of its group's eight rows of U_z and U_r and
 * four of U_h quads of columns, `lanes` quads apart, so that lanes read neighbouring numbers of a
 * vector, each once for all its rows. Its sums are added up between lanes by halves: each step
 * keeps half the rows and gives the other half away, so that in the end lane l of a group has the
 * gate l / 4 % 2, and the candidate, of hidden value l % 4 (and with more than eight lanes the same
 * as others have).
 *
 * Every warp makes the loss for itself, beside its first products. A work-group's warps so wait for
 * each other twice a step, for r h and for h'. What the host is told of a step is made of the
 * hidden values, which are kept for some steps, by all warps of part 0 after these. */
#ifndef WCODEC_KERNELS_ROLLOUT_WARPS_H
#define WCODEC_KERNELS_ROLLOUT_WARPS_H

#include "backends/kernels/functions.h"
#include "backends/kernels/rollout_parts.h"

#ifdef WCODEC_SIMT
/* Rows of a lane, of U_z and U_r and of U_h; most columns. */
enum { WCODEC_WARPS_GATES = 8, WCODEC_WARPS_RESET = 4, WCODEC_WARPS_COLUMNS = 16 };

struct wcodec_rollout_lane {
    struct wcodec_rollout of; /* h is where the first hidden values are */
    uint32_t lanes, groups, lane, warp, warps;
    uint32_t slice, group; /* the lane's place */
    uint32_t row, at;      /* the hidden value it ends up with: of the part, of all */
    uint32_t copy, copies; /* lanes that end up with the same */
    bool is_reset;         /* its gate is r */
    bool is_there;         /* there is such a hidden value */
    bool is_alone;         /* its member has no other part */
    bool is_uneven;        /* its part has warps without a hidden value */
    /* What inputs add to its gate and its candidate, and the first one by. */
    float stay[2], first[2];
    /* Its stochastic value, if there is one: the hidden value that is its logit, and the head. */
    bool has_value;
    uint32_t chosen;
    float rest;
    float head[4]; /* of a quad of hidden values */
    WCODEC_GROUP_LOCAL float *features;
    float gates[WCODEC_WARPS_GATES][WCODEC_WARPS_COLUMNS];
    float reset[WCODEC_WARPS_RESET][WCODEC_WARPS_COLUMNS];
};

/* What sums of a loss are: the first three it is made of. */
enum {
    WCODEC_WARPS_EXPONENTIALS,
    WCODEC_WARPS_OF_STOCHASTIC,
    WCODEC_WARPS_OF_HIDDEN,
    WCODEC_WARPS_OF_LOSS,
    WCODEC_WARPS_SQUARES = WCODEC_WARPS_OF_LOSS,
    WCODEC_WARPS_LOGITS,
    WCODEC_WARPS_SUMS
};

/* e^x; 1 / (1 + e^-x); and the hyperbolic tangent: to some 2^-22 of 1 (of e^x: of it, for small x).
 * NaN stays. */
WCODEC_DEVICE_FUNCTION float wcodec_warps_exp(float x)
{
    return wcodec_quick_exp2(1.44269504f * x);
}

WCODEC_DEVICE_FUNCTION float wcodec_warps_sigmoid(float x)
{
    return wcodec_quick_reciprocal(1 + wcodec_quick_exp2(-1.44269504f * x));
}

WCODEC_DEVICE_FUNCTION float wcodec_warps_tanh(float x)
{
    return 1 - 2 * wcodec_quick_reciprocal(1 + wcodec_quick_exp2(2.88539008f * x));
}

/* Hidden values after `step` steps. */
WCODEC_DEVICE_FUNCTION WCODEC_GROUP_LOCAL float *
wcodec_warps_hidden(const struct wcodec_rollout_lane *s, const struct wcodec_rollout_launch *l,
                    uint32_t step)
{
    return s->of.h + step % l->history * l->vector;
}

/* lanes: that share the columns. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_open(const uint32_t lanes, const bool alone,
                                              struct wcodec_rollout_lane *s,
                                              const struct wcodec_rollout_launch *l, uint32_t group,
                                              WCODEC_GROUP_LOCAL float *shared, uint32_t address)
{
    struct wcodec_rollout *r = &s->of;
    wcodec_rollout_open_part(r, l, group);
    r->member = group / l->parts;
    r->barriers = address;
    r->shift = WCODEC_ROLLOUT_BOUND;
    s->lanes = lanes;
    s->is_alone = alone;
    s->groups = 32 / lanes;
    s->lane = r->item % 32;
    s->warp = r->item / 32;
    s->warps = r->items / 32;
    s->slice = s->lane % lanes;
    s->group = s->lane / lanes;
    s->is_reset = s->slice % 8 >= 4;
    s->row = s->warp * 4 * s->groups + s->slice % 4 * s->groups + s->group;
    s->at = r->part * l->rows + s->row;
    s->is_there = s->row < l->rows && s->at < l->hidden_count;
    s->is_uneven = !alone && r->part * l->rows + (s->warps - 1) * 4 * s->groups >= l->hidden_count;
    s->copy = s->slice / 8;
    s->copies = lanes / 8;
    s->has_value = s->lane < l->stochastic;
    s->chosen = s->has_value ? s->lane * l->hidden_count / l->stochastic : 0;
    r->rh = shared + 4;
    r->head = r->rh + l->vector;
    s->features = r->head + l->vector;
    r->h = s->features + ((l->inputs + 3) & ~3u);
}

/* Weights of the lane's rows of a gate in a quad of columns; what is not there is 0. before: rows
 * of the matrix before the gate's. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_quad(const struct wcodec_rollout_lane *s,
                                              const struct wcodec_rollout_launch *l,
                                              const uint32_t matrix, uint32_t before, uint32_t quad,
                                              const uint32_t column,
                                              float to[][WCODEC_WARPS_COLUMNS])
{
    const uint32_t all = (3 - matrix) * l->rows;
    const WCODEC_GLOBAL float *from = (const WCODEC_GLOBAL float *)s->of.matrices[matrix];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row = (s->warp * 4 + i) * s->groups + s->group;
        float *v = to[i] + column;
        v[0] = v[1] = v[2] = v[3] = 0;
        if (row < l->rows && 4 * quad < l->cut[matrix].columns)
            WCODEC_LOAD_FLOATS(v, from + (uint64_t)4 * (quad * all + before + row));
    }
}

/* What the work-group has of vectors. Features and hidden values may be far: they come first, and
 * each once. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_vectors(struct wcodec_rollout_lane *s,
                                                 const struct wcodec_rollout_launch *l)
{
    struct wcodec_rollout *r = &s->of;
    WCODEC_UNROLL_NONE
    for (uint32_t i = r->item; i < l->vector; i += r->items) {
        const bool there = i < l->hidden_count;
        r->h[i] = there ? wcodec_rollout_float(l->hidden, r->member * l->hidden_stride + i) : 0;
        for (uint32_t k = 1; k < l->history && !there; k++)
            r->h[k * l->vector + i] = 0;
        r->rh[i] = 0;
        r->head[i] = there ? wcodec_rollout_float(l->head, i) : 0;
    }
    /* Input 0 has weights of its own. */
    WCODEC_UNROLL_NONE
    for (uint32_t i = r->item; i < ((l->inputs + 3) & ~3u); i += r->items)
        s->features[i] = i > 0 && i < l->inputs ? wcodec_rollout_float(l->features, i) : 0;
    s->rest = s->has_value ? wcodec_rollout_float(l->head, l->hidden_count + s->lane) : 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        s->head[i] =
            4 * s->lane + i < l->hidden_count ? wcodec_rollout_float(l->head, 4 * s->lane + i) : 0;
}

/* Products of rows' columns with a quad of a vector, to their sums. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_products(const uint32_t rows, const uint32_t column,
                                                  float held[][WCODEC_WARPS_COLUMNS],
                                                  const float *v, float *sums)
{
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 4; k++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < rows; i++)
            sums[i] += held[i][column + k] * v[k];
    }
}

WCODEC_DEVICE_FUNCTION float wcodec_warps_swap(struct wcodec_warp *warp, float v, uint32_t mask)
{
    return wcodec_bits_float(wcodec_swap(warp, WCODEC_FLOAT_BITS(v), mask));
}

/* Add up over the lanes of a group `rows` rows, of which each lane gets its own, sums[0], and over
 * the warp `count` sums, by turns, so that they are waited for together. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_add(struct wcodec_warp *warp, const uint32_t rows,
                                             const uint32_t count,
                                             const struct wcodec_rollout_lane *s, float *sums,
                                             float *of_loss)
{
    WCODEC_UNROLL_ALL
    for (uint32_t turn = 0; turn < 5; turn++) {
        const uint32_t distance = rows >> (turn + 1);
        const bool high = (s->slice & distance) != 0;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < count; i++)
            of_loss[i] += wcodec_warps_swap(warp, of_loss[i], 16u >> turn);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < distance; i++) {
            const float given = high ? sums[i] : sums[distance + i];
            sums[i] =
                (high ? sums[distance + i] : sums[i]) + wcodec_warps_swap(warp, given, distance);
        }
        if (rows > 0 && distance == 0 && 1u << turn < s->lanes)
            sums[0] += wcodec_warps_swap(warp, sums[0], 1u << turn);
    }
}

/* All that is before the first step. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_begin(const uint32_t columns, struct wcodec_warp *warp,
                                               struct wcodec_rollout_lane *s,
                                               const struct wcodec_rollout_launch *l)
{
    struct wcodec_rollout *r = &s->of;
    const uint32_t row = s->row < l->rows ? s->row : 0,
                   own[2] = {(s->is_reset ? l->rows : 0) + row, 2 * l->rows + row};
    float gates[WCODEC_WARPS_GATES], reset[WCODEC_WARPS_RESET];
    wcodec_warps_vectors(s, l);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        s->stay[i] = wcodec_rollout_float(r->bias, own[i]);
        s->first[i] = wcodec_rollout_float(r->first, own[i]);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < WCODEC_WARPS_GATES; i++)
        gates[i] = reset[i % WCODEC_WARPS_RESET] = 0;
    WCODEC_SYNC_ITEMS(warp);
    /* W, two quads at a time, where U comes then. */
    WCODEC_UNROLL_NONE
    for (uint32_t begin = s->slice; 4 * begin < l->cut[0].columns; begin += 2 * s->lanes) {
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 2; k++) {
            const uint32_t quad = begin + k * s->lanes;
            wcodec_warps_quad(s, l, 0, 0, quad, 4 * k, s->gates);
            wcodec_warps_quad(s, l, 0, l->rows, quad, 4 * k, s->gates + 4);
            wcodec_warps_quad(s, l, 0, 2 * l->rows, quad, 4 * k, s->reset);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 2; k++) {
            const uint32_t at = 4 * (begin + k * s->lanes);
            float v[4] = {0, 0, 0, 0};
            if (at < l->cut[0].columns)
                WCODEC_TAKE_FLOATS(v, s->features + at);
            wcodec_warps_products(WCODEC_WARPS_GATES, 4 * k, s->gates, v, gates);
            wcodec_warps_products(WCODEC_WARPS_RESET, 4 * k, s->reset, v, reset);
        }
    }
    wcodec_warps_add(warp, WCODEC_WARPS_GATES, 0, s, gates, gates);
    wcodec_warps_add(warp, WCODEC_WARPS_RESET, 0, s, reset, reset);
    s->stay[0] += gates[0];
    s->stay[1] += reset[0];
    WCODEC_UNROLL_ALL
    for (uint32_t c = 0; c < columns; c += 4) {
        const uint32_t quad = c / 4 * s->lanes + s->slice;
        wcodec_warps_quad(s, l, WCODEC_ROLLOUT_OF_GATES, 0, quad, c, s->gates);
        wcodec_warps_quad(s, l, WCODEC_ROLLOUT_OF_GATES, l->rows, quad, c, s->gates + 4);
        wcodec_warps_quad(s, l, WCODEC_ROLLOUT_OF_RESET, 0, quad, c, s->reset);
    }
}

/* The largest logit, where they are not bounded. */
WCODEC_DEVICE_FUNCTION float wcodec_warps_most(struct wcodec_warp *warp,
                                               const struct wcodec_rollout_lane *s,
                                               const WCODEC_GROUP_LOCAL float *h)
{
    float most = s->has_value ? h[s->chosen] : wcodec_bits_float(0xff800000);
    WCODEC_UNROLL_NONE
    for (uint32_t mask = 16; mask > 0; mask /= 2) {
        const float v = wcodec_warps_swap(warp, most, mask);
        most = v > most ? v : most;
    }
    return most;
}

/* The lane's share of the sums of a loss of hidden values h. Returns e to its logit. */
WCODEC_DEVICE_FUNCTION float wcodec_warps_share(const uint32_t columns, const uint32_t count,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_rollout_lane *s,
                                                const struct wcodec_rollout_launch *l,
                                                const WCODEC_GROUP_LOCAL float *h, float *sums)
{
    const bool told = count > WCODEC_WARPS_OF_LOSS;
    const float shift = l->bounded ? WCODEC_ROLLOUT_BOUND : wcodec_warps_most(warp, s, h),
                logit = h[s->chosen] - shift, e = s->has_value ? wcodec_warps_exp(logit) : 0;
    float hidden = 0, squares = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t begin = 0; begin < columns * s->lanes; begin += 128) {
        float v[4] = {0, 0, 0, 0}, weights[4];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            weights[i] = s->head[i];
        if (begin + 4 * s->lane < columns * s->lanes)
            WCODEC_TAKE_FLOATS(v, h + begin + 4 * s->lane);
        if (begin > 0)
            WCODEC_TAKE_FLOATS(weights, s->of.head + begin + 4 * s->lane);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            hidden += weights[i] * v[i];
            squares += v[i] * v[i];
        }
    }
    sums[WCODEC_WARPS_EXPONENTIALS] = e;
    sums[WCODEC_WARPS_OF_STOCHASTIC] = s->rest * e;
    sums[WCODEC_WARPS_OF_HIDDEN] = hidden;
    if (told) {
        sums[WCODEC_WARPS_SQUARES] = squares;
        sums[WCODEC_WARPS_LOGITS] = s->has_value ? e * logit : 0;
    }
    return e;
}

WCODEC_DEVICE_FUNCTION float wcodec_warps_loss(const float *sums)
{
    /* NaN stays, as comparisons with it are false. */
    float logit =
        sums[WCODEC_WARPS_OF_HIDDEN] +
        sums[WCODEC_WARPS_OF_STOCHASTIC] * wcodec_quick_reciprocal(sums[WCODEC_WARPS_EXPONENTIALS]);
    logit = logit < -10 ? -10 : logit > 10 ? 10 : logit;
    const float loss = wcodec_warps_exp(logit);
    return loss < 1e-6f ? 1e-6f : loss;
}

/* The entropy of stochastic values, of which the lane has e; none of what is NaN is above 1e-8. */
WCODEC_DEVICE_FUNCTION float wcodec_warps_entropy(struct wcodec_warp *warp,
                                                  const struct wcodec_rollout_launch *l,
                                                  const float *sums, float e)
{
    const float all = sums[WCODEC_WARPS_EXPONENTIALS], p = e / all;
    float entropy = wcodec_log(all) - sums[WCODEC_WARPS_LOGITS] * wcodec_quick_reciprocal(all);
    if (l->bounded && entropy == entropy)
        return entropy;
    entropy = p > 1e-8f ? -p * wcodec_log(p) : 0;
    WCODEC_UNROLL_NONE
    for (uint32_t mask = 16; mask > 0; mask /= 2)
        entropy += wcodec_warps_swap(warp, entropy, mask);
    return entropy;
}

/* What the host is told of steps [begin, end), one after the other by each warp. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_tell(const uint32_t columns, struct wcodec_warp *warp,
                                              const struct wcodec_rollout_lane *s,
                                              const struct wcodec_rollout_launch *l, uint32_t begin,
                                              uint32_t end)
{
    WCODEC_UNROLL_NONE
    for (uint32_t t = begin + s->warp; t < end; t += s->warps) {
        const uint64_t at = s->of.member * l->steps + t;
        float sums[WCODEC_WARPS_SUMS];
        const float e = wcodec_warps_share(columns, WCODEC_WARPS_SUMS, warp, s, l,
                                           wcodec_warps_hidden(s, l, t + 1), sums);
        wcodec_warps_add(warp, 0, WCODEC_WARPS_SUMS, s, sums, sums);
        const float entropy = wcodec_warps_entropy(warp, l, sums, e);
        if (s->lane == 0) {
            wcodec_rollout_put(l->loss, at, wcodec_warps_loss(sums));
            wcodec_rollout_put(l->squares, at, sums[WCODEC_WARPS_SQUARES]);
            wcodec_rollout_put(l->entropy, at, entropy);
        }
    }
}

/* Hidden and stochastic values after the last step, by part 0. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_end(const uint32_t columns, struct wcodec_warp *warp,
                                             const struct wcodec_rollout_lane *s,
                                             const struct wcodec_rollout_launch *l)
{
    const uint64_t to = l->last + 4 * s->of.member * (l->hidden_count + l->stochastic);
    const WCODEC_GROUP_LOCAL float *h = wcodec_warps_hidden(s, l, l->steps);
    float sums[WCODEC_WARPS_SUMS];
    for (uint32_t i = s->of.item; i < l->hidden_count; i += s->of.items)
        wcodec_rollout_put(to, i, h[i]);
    if (s->warp != s->warps - 1)
        return;
    const float e = wcodec_warps_share(columns, WCODEC_WARPS_OF_LOSS, warp, s, l, h, sums);
    wcodec_warps_add(warp, 0, 1, s, sums, sums);
    if (s->has_value)
        wcodec_rollout_put(to, l->hidden_count + s->lane, e / sums[WCODEC_WARPS_EXPONENTIALS]);
}

/* All parts have number `at` of a vector, which this lane made. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_publish(struct wcodec_warp *warp,
                                                 const struct wcodec_rollout_lane *s,
                                                 const struct wcodec_rollout_launch *l,
                                                 uint32_t counter, uint32_t turn,
                                                 WCODEC_GROUP_LOCAL float *vector, float v)
{
    if (s->is_alone)
        vector[s->at] = v;
    else
        wcodec_rollout_publish(warp, &s->of, l, counter, turn, vector, s->at, v, s->copy,
                               s->copies);
}

WCODEC_DEVICE_FUNCTION void wcodec_warps_meet(struct wcodec_warp *warp,
                                              const struct wcodec_rollout_lane *s,
                                              const struct wcodec_rollout_launch *l,
                                              uint32_t counter, uint32_t turn,
                                              WCODEC_GROUP_LOCAL float *vector)
{
    if (s->is_alone)
        WCODEC_SYNC_ITEMS(warp);
    else
        wcodec_rollout_meet(warp, &s->of, l, counter, turn, vector);
}

WCODEC_DEVICE_FUNCTION void wcodec_warps_gather(struct wcodec_warp *warp,
                                                const struct wcodec_rollout_lane *s,
                                                const struct wcodec_rollout_launch *l,
                                                const bool begin)
{
    if (s->is_alone)
        WCODEC_SYNC_ITEMS(warp);
    else
        wcodec_rollout_gather(warp, &s->of, l, begin);
}

/* Step t from hidden values h to `next`. x0: the first input of step 0. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_step(const uint32_t columns, struct wcodec_warp *warp,
                                              struct wcodec_rollout_lane *s,
                                              const struct wcodec_rollout_launch *l, uint32_t t,
                                              float x0, const WCODEC_GROUP_LOCAL float *h,
                                              WCODEC_GROUP_LOCAL float *next)
{
    const struct wcodec_rollout *r = &s->of;
    float sums[WCODEC_WARPS_GATES] = {0, 0, 0, 0, 0, 0, 0, 0},
          reset[WCODEC_WARPS_RESET] = {0, 0, 0, 0}, of_loss[WCODEC_WARPS_SUMS];
    const float own = s->is_there ? h[s->at] : 0;
    wcodec_warps_share(columns, WCODEC_WARPS_OF_LOSS, warp, s, l, h, of_loss);
    WCODEC_UNROLL_ALL
    for (uint32_t c = 0; c < columns; c += 4) {
        float v[4];
        WCODEC_TAKE_FLOATS(v, h + 4 * (c / 4 * s->lanes + s->slice));
        wcodec_warps_products(WCODEC_WARPS_GATES, c, s->gates, v, sums);
    }
    wcodec_warps_add(warp, WCODEC_WARPS_GATES, WCODEC_WARPS_OF_LOSS, s, sums, of_loss);
    const float loss = wcodec_warps_loss(of_loss), first = t > 0 ? loss : x0,
                gate = wcodec_warps_sigmoid(s->stay[0] + sums[0] + s->first[0] * first);
    if (s->is_reset && s->is_there)
        wcodec_warps_publish(warp, s, l, 0, t, r->rh, gate * own);
    /* Not own + gate (candidate - own): what is forgotten may be much larger than what comes. */
    const float kept = (1 - gate) * own;
    wcodec_warps_meet(warp, s, l, 0, t, r->rh);
    WCODEC_UNROLL_ALL
    for (uint32_t c = 0; c < columns; c += 4) {
        float v[4];
        WCODEC_TAKE_FLOATS(v, r->rh + 4 * (c / 4 * s->lanes + s->slice));
        wcodec_warps_products(WCODEC_WARPS_RESET, c, s->reset, v, reset);
    }
    const float inputs = s->stay[1] + s->first[1] * first;
    wcodec_warps_add(warp, WCODEC_WARPS_RESET, 0, s, reset, of_loss);
    const float candidate = wcodec_warps_tanh(inputs + reset[0]);
    if (!s->is_reset && s->is_there)
        wcodec_warps_publish(warp, s, l, 8, t, next, kept + gate * candidate);
    /* Nobody waits for what a warp without hidden values makes: if it came behind by two turns, it
     * would take a barrier of a cluster's later turn for its own, and wait for one too many. */
    if (s->is_uneven)
        WCODEC_SYNC_ITEMS(warp);
    wcodec_warps_meet(warp, s, l, 8, t, next);
}

/* All of it, of `columns` columns a lane. */
WCODEC_DEVICE_FUNCTION void wcodec_warps_kernel(const uint32_t columns, struct wcodec_warp *warp,
                                                struct wcodec_rollout_lane *s,
                                                const struct wcodec_rollout_launch *l)
{
    const struct wcodec_rollout *r = &s->of;
    const float x0 = wcodec_rollout_float(l->features, 0);
    uint32_t told = 0, place = 0;
    wcodec_warps_begin(columns, warp, s, l);
    /* Others write to this part from here on. */
    wcodec_warps_gather(warp, s, l, true);
    WCODEC_UNROLL_NONE
    for (uint32_t t = 0; t < l->steps; t++) {
        const WCODEC_GROUP_LOCAL float *h = r->h + place * l->vector;
        place = place + 1 == l->history ? 0 : place + 1;
        wcodec_warps_step(columns, warp, s, l, t, x0, h, r->h + place * l->vector);
        /* What is told is written again after two meetings, for which all warps come from here. */
        if (t + 1 - told == l->history - 1 || t + 1 == l->steps) {
            if (r->part == 0)
                wcodec_warps_tell(columns, warp, s, l, told, t + 1);
            told = t + 1;
        }
    }
    if (r->part == 0)
        wcodec_warps_end(columns, warp, s, l);
    /* Nobody ends while others may still write to it. */
    wcodec_warps_gather(warp, s, l, false);
}

#endif

#endif
