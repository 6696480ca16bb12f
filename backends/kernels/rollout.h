/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of an ensemble's members over all their steps in one launch (lib/recurrent/rollout.c is
 * the reference, wcodec_rssm_run_member()), each by its parts (rollout_parts.h): these meet twice a
 * step, for r h, and for h'. The loss, which is input 0 of the next step, each makes for itself. */
#ifndef WCODEC_KERNELS_ROLLOUT_H
#define WCODEC_KERNELS_ROLLOUT_H

#include "backends/kernels/functions.h"
#include "backends/kernels/rollout_parts.h"

/* Rows of `found`. */
enum {
    WCODEC_ROLLOUT_MOST, /* then first: the class drawn */
    WCODEC_ROLLOUT_EXPONENTIALS,
    WCODEC_ROLLOUT_OF_STOCHASTIC,
    WCODEC_ROLLOUT_OF_HIDDEN,
    WCODEC_ROLLOUT_SQUARES,
    WCODEC_ROLLOUT_ENTROPY
};

/* Where things are. shared: of the work-group, as WCODEC_ROLLOUT_SHARED() has it, and its address.
 */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_open(struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l,
                                                uint32_t group, WCODEC_GROUP_LOCAL float *shared,
                                                uint32_t address)
{
    const uint32_t stochastic = (l->stochastic + 3) & ~3u;
    wcodec_rollout_open_part(r, l, group);
    r->member = group / l->parts;
    r->stay = l->stay + 12 * (uint64_t)group * l->rows;
    r->barriers = address;
    r->h = shared + 4;
    r->rh = r->h + l->vector;
    r->p = r->rh + l->vector;
    r->chosen = (WCODEC_GROUP_LOCAL uint32_t *)(r->p + stochastic);
    r->head = r->p + 2 * stochastic;
    r->z = r->head + l->vector + stochastic;
    r->sums[WCODEC_ROLLOUT_OF_RESET] = r->z + ((l->rows + 3) & ~3u);
    r->sums[WCODEC_ROLLOUT_OF_GATES] = r->sums[WCODEC_ROLLOUT_OF_RESET] + l->partials;
    r->sums[WCODEC_ROLLOUT_OF_INPUTS] = r->sums[WCODEC_ROLLOUT_OF_GATES];
    r->found = r->sums[WCODEC_ROLLOUT_OF_GATES] + l->partials;
    r->shift = WCODEC_ROLLOUT_BOUND;
}

/* Hidden values, features but for input 0, and the head, in shared memory, with zeros after them;
 * which hidden values are logits. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_vectors(struct wcodec_rollout *r,
                                                   const struct wcodec_rollout_launch *l)
{
    for (uint32_t i = r->item; i < l->vector; i += r->items) {
        r->h[i] = i < l->hidden_count
                      ? wcodec_rollout_float(l->hidden, r->member * l->hidden_stride + i)
                      : 0;
        r->rh[i] = i > 0 && i < l->inputs ? wcodec_rollout_float(l->features, i) : 0;
        r->head[i] = i < l->hidden_count ? wcodec_rollout_float(l->head, i) : 0;
    }
    for (uint32_t i = r->item; i < l->stochastic; i += r->items) {
        r->head[l->vector + i] = wcodec_rollout_float(l->head, l->hidden_count + i);
        r->chosen[i] = (uint32_t)((uint64_t)i * l->hidden_count / l->stochastic);
    }
}

/* Work-items that make a loss are the last ones, which have fewer rows: their number among
 * WCODEC_ROLLOUT_LOSS_ITEMS, or a larger one. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_rollout_loss_item(const struct wcodec_rollout *r)
{
    return r->items - 1 - r->item;
}

/* The largest logit, where they are not bounded: of those of a work-item, then of all. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_find_most(const struct wcodec_rollout *r,
                                                     const struct wcodec_rollout_launch *l)
{
    const uint32_t item = wcodec_rollout_loss_item(r);
    float most = wcodec_bits_float(0xff800000);
    if (item >= WCODEC_ROLLOUT_LOSS_ITEMS)
        return;
    for (uint32_t i = item; i < l->stochastic; i += WCODEC_ROLLOUT_LOSS_ITEMS) {
        const float v = r->h[r->chosen[i]];
        most = v > most ? v : most;
    }
    r->found[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_MOST + item] = most;
}

WCODEC_DEVICE_FUNCTION float wcodec_rollout_most(const struct wcodec_rollout *r)
{
    float most = wcodec_bits_float(0xff800000);
    for (uint32_t i = 0; i < WCODEC_ROLLOUT_LOSS_ITEMS; i++) {
        const float v = r->found[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_MOST + i];
        most = v > most ? v : most;
    }
    return most;
}

/* Lanes that make a loss, which are the last warp, add up what all have; others do it later. */
WCODEC_DEVICE_FUNCTION float wcodec_rollout_add(struct wcodec_warp *warp, float v)
{
    (void)warp;
#ifdef WCODEC_SIMT
    WCODEC_UNROLL_ALL
    for (uint32_t mask = 16; mask > 0; mask >>= 1)
        v +=
            wcodec_bits_float(wcodec_shuffle(warp, WCODEC_FLOAT_BITS(v), wcodec_lane(warp) ^ mask));
#endif
    return v;
}

/* What a loss is made of, and what is told of it: as to the entropy, sums of what logits are times
 * e to them. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_find_sums(struct wcodec_warp *warp,
                                                     const struct wcodec_rollout *r,
                                                     const struct wcodec_rollout_launch *l)
{
    const uint32_t item = wcodec_rollout_loss_item(r);
    if (item >= WCODEC_ROLLOUT_LOSS_ITEMS)
        return;
    const bool reference = l->mode == WCODEC_ROLLOUT_REFERENCE;
    const WCODEC_GROUP_LOCAL float *rest = r->head + l->vector;
    float exponentials = 0, stochastic = 0, hidden = 0, squares = 0, logits = 0;
    WCODEC_UNROLL_NONE
    for (uint32_t begin = 4 * item; begin < l->hidden_count;
         begin += 4 * WCODEC_ROLLOUT_LOSS_ITEMS) {
        float h[4], weights[4];
        WCODEC_TAKE_FLOATS(h, r->h + begin);
        WCODEC_TAKE_FLOATS(weights, r->head + begin);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            hidden += weights[i] * h[i];
            squares += h[i] * h[i];
        }
    }
    for (uint32_t i = item; reference && i < l->hidden_count; i += WCODEC_ROLLOUT_LOSS_ITEMS)
        stochastic += rest[i] * r->h[i];
    for (uint32_t i = reference ? l->stochastic : item; i < l->stochastic;
         i += WCODEC_ROLLOUT_LOSS_ITEMS) {
        const float logit = r->h[r->chosen[i]] - r->shift, e = wcodec_exp(logit);
        r->p[i] = e;
        exponentials += e;
        stochastic += rest[i] * e;
        logits += e * logit;
    }
    WCODEC_GROUP_LOCAL float *to = r->found + item;
    to[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_EXPONENTIALS] =
        wcodec_rollout_add(warp, exponentials);
    to[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_OF_STOCHASTIC] =
        wcodec_rollout_add(warp, stochastic);
    to[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_OF_HIDDEN] = wcodec_rollout_add(warp, hidden);
    to[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_SQUARES] = wcodec_rollout_add(warp, squares);
    to[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_ENTROPY] = wcodec_rollout_add(warp, logits);
}

/* A row of `found`, added up where it is not yet. */
#ifdef WCODEC_SIMT
WCODEC_DEVICE_FUNCTION float wcodec_rollout_total(const struct wcodec_rollout *r, uint32_t row)
{
    return r->found[WCODEC_ROLLOUT_LOSS_ITEMS * row];
}
#else
WCODEC_DEVICE_FUNCTION float wcodec_rollout_total(const struct wcodec_rollout *r, uint32_t row)
{
    float sum[4] = {0, 0, 0, 0};
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < WCODEC_ROLLOUT_LOSS_ITEMS; i += 4) {
        float v[4];
        WCODEC_TAKE_FLOATS(v, r->found + WCODEC_ROLLOUT_LOSS_ITEMS * row + i);
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 4; k++)
            sum[k] += v[k];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
#endif

/* Word 0 of Philox4x32-10 (Salmon et al. 2011) for a member's step. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_rollout_random(uint64_t seed, uint32_t member, uint32_t step)
{
    uint32_t a = member, b = step, c = 0, d = 0, low = (uint32_t)seed,
             high = (uint32_t)(seed >> 32);
    for (uint32_t round = 0; round < 10; round++) {
        const uint64_t first = (uint64_t)0xd2511f53u * a, second = (uint64_t)0xcd9e8d57u * c;
        a = (uint32_t)(second >> 32) ^ b ^ low;
        b = (uint32_t)second;
        c = (uint32_t)(first >> 32) ^ d ^ high;
        d = (uint32_t)first;
        low += 0x9e3779b9u;
        high += 0xbb67ae85u;
    }
    return a;
}

/* Draw one of the classes after step t, as wcodec/recurrent.h says: by one work-item. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_draw(const struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l, uint32_t t)
{
    if (r->item != 0)
        return;
    const float all = wcodec_rollout_total(r, WCODEC_ROLLOUT_EXPONENTIALS),
                u = (float)(wcodec_rollout_random(l->seed, (uint32_t)r->member, t) >> 8) *
                    (1 / 16777216.0f);
    uint32_t drawn = l->stochastic - 1;
    float sum = 0;
    for (uint32_t i = 0; i < l->stochastic; i++) {
        sum += r->p[i] / all;
        if (u < sum && drawn == l->stochastic - 1)
            drawn = i;
    }
    r->found[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_MOST] = wcodec_bits_float(drawn);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_rollout_drawn(const struct wcodec_rollout *r)
{
    return WCODEC_FLOAT_BITS(r->found[WCODEC_ROLLOUT_LOSS_ITEMS * WCODEC_ROLLOUT_MOST]);
}

WCODEC_DEVICE_FUNCTION float wcodec_rollout_loss(const struct wcodec_rollout *r,
                                                 const struct wcodec_rollout_launch *l)
{
    const float hidden = wcodec_rollout_total(r, WCODEC_ROLLOUT_OF_HIDDEN),
                stochastic = wcodec_rollout_total(r, WCODEC_ROLLOUT_OF_STOCHASTIC);
    if (l->mode == WCODEC_ROLLOUT_REFERENCE)
        return hidden + stochastic;
    /* NaN stays, as comparisons with it are false. */
    float logit = hidden + (l->mode == WCODEC_ROLLOUT_SAMPLED
                                ? r->head[l->vector + wcodec_rollout_drawn(r)]
                                : stochastic * WCODEC_RECIPROCAL(wcodec_rollout_total(
                                                   r, WCODEC_ROLLOUT_EXPONENTIALS)));
    logit = logit < -10 ? -10 : logit > 10 ? 10 : logit;
    const float loss = wcodec_exp(logit);
    return loss < 1e-6f ? 1e-6f : loss;
}

/* What the host is told of step t, by part 0. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_tell(const struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l, uint32_t t,
                                                float loss)
{
    const uint64_t at = r->member * l->steps + t;
    if (r->part != 0 || wcodec_rollout_loss_item(r) != 0)
        return;
    wcodec_rollout_put(l->loss, at, loss);
    wcodec_rollout_put(l->squares, at, wcodec_rollout_total(r, WCODEC_ROLLOUT_SQUARES));
    if (l->mode == WCODEC_ROLLOUT_REFERENCE)
        return;
    const float all = wcodec_rollout_total(r, WCODEC_ROLLOUT_EXPONENTIALS);
    float entropy = wcodec_log(all) - wcodec_rollout_total(r, WCODEC_ROLLOUT_ENTROPY) / all;
    /* None of what is NaN is above 1e-8. */
    if (!l->bounded || entropy != entropy) {
        entropy = 0;
        for (uint32_t i = 0; i < l->stochastic; i++) {
            const float p = r->p[i] / all;
            if (p > 1e-8f)
                entropy -= p * wcodec_log(p);
        }
    }
    wcodec_rollout_put(l->entropy, at, entropy);
}

/* What W and the bias add, when the slices' sums are there; no features are left in r h. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_keep_inputs(struct wcodec_rollout *r,
                                                       const struct wcodec_rollout_launch *l)
{
    for (uint32_t row = r->item; row < 3 * l->rows; row += r->items)
        wcodec_rollout_put(r->stay, row,
                           wcodec_rollout_float(r->bias, row) +
                               wcodec_rollout_row(r, l, WCODEC_ROLLOUT_OF_INPUTS, row));
    for (uint32_t i = l->hidden_count + r->item; i < l->vector; i += r->items)
        r->rh[i] = 0;
}

WCODEC_DEVICE_FUNCTION void wcodec_rollout_take_own(struct wcodec_rollout *r,
                                                    const struct wcodec_rollout_launch *l)
{
    const uint32_t first = r->item < 2 * l->rows ? r->item : 0,
                   second = 2 * l->rows + (r->item < l->rows ? r->item : 0);
    r->own_stay[0] = wcodec_rollout_float(r->stay, first);
    r->own_first[0] = wcodec_rollout_float(r->first, first);
    r->own_stay[1] = wcodec_rollout_float(r->stay, second);
    r->own_first[1] = wcodec_rollout_float(r->first, second);
}

/* What a row of z and r, or of the candidates (which 1), has of inputs. */
WCODEC_DEVICE_FUNCTION float wcodec_rollout_inputs(const struct wcodec_rollout *r,
                                                   const struct wcodec_rollout_launch *l,
                                                   const uint32_t which, uint32_t row, float x0)
{
    const uint32_t at = 2 * which * l->rows + row;
    if (row == r->item)
        return r->own_stay[which] + r->own_first[which] * x0;
    return wcodec_rollout_float(r->stay, at) + wcodec_rollout_float(r->first, at) * x0;
}

/* z, and r h. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_gates(struct wcodec_warp *warp,
                                                 const struct wcodec_rollout *r,
                                                 const struct wcodec_rollout_launch *l, uint32_t t,
                                                 float x0)
{
    WCODEC_UNROLL_NONE
    for (uint32_t row = r->item; row < 2 * l->rows; row += r->items) {
        const float gate = wcodec_sigmoid(wcodec_rollout_inputs(r, l, 0, row, x0) +
                                          wcodec_rollout_row(r, l, WCODEC_ROLLOUT_OF_GATES, row));
        const uint32_t at = r->part * l->rows + row - l->rows;
        if (row < l->rows)
            r->z[row] = gate;
        else if (at < l->hidden_count)
            wcodec_rollout_publish(warp, r, l, 0, t, r->rh, at, gate * r->h[at], 0, 1);
    }
}

/* h'. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_step(struct wcodec_warp *warp,
                                                const struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l, uint32_t t,
                                                float x0)
{
    WCODEC_UNROLL_NONE
    for (uint32_t row = r->item; row < l->rows; row += r->items) {
        const float candidate = wcodec_tanh(wcodec_rollout_inputs(r, l, 1, row, x0) +
                                            wcodec_rollout_row(r, l, WCODEC_ROLLOUT_OF_RESET, row)),
                    z = r->z[row];
        const uint32_t at = r->part * l->rows + row;
        if (at < l->hidden_count)
            wcodec_rollout_publish(warp, r, l, 8, t, r->h, at, (1 - z) * r->h[at] + z * candidate,
                                   0, 1);
    }
}

/* Hidden and stochastic values after the last step. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_end(const struct wcodec_rollout *r,
                                               const struct wcodec_rollout_launch *l)
{
    const uint64_t to = l->last + 4 * r->member * (l->hidden_count + l->stochastic);
    if (r->part != 0)
        return;
    for (uint32_t i = r->item; i < l->hidden_count; i += r->items)
        wcodec_rollout_put(to, i, r->h[i]);
    for (uint32_t i = r->item; i < l->stochastic; i += r->items) {
        float p = r->h[i];
        if (l->mode == WCODEC_ROLLOUT_PRODUCTION)
            p = r->p[i] / wcodec_rollout_total(r, WCODEC_ROLLOUT_EXPONENTIALS);
        else if (l->mode == WCODEC_ROLLOUT_SAMPLED)
            p = i == wcodec_rollout_drawn(r) ? 1 : 0;
        wcodec_rollout_put(to, l->hidden_count + i, p);
    }
}

/* All of it. held_gates, held_reset: columns whose weights of U_z and U_r, of U_h, stay in
 * registers; both 0, or multiples of 4, with no more slices of rows than work-items. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_kernel(const uint32_t held_gates,
                                                  const uint32_t held_reset,
                                                  struct wcodec_warp *warp,
                                                  struct wcodec_rollout *r,
                                                  const struct wcodec_rollout_launch *l)
{
    float gates[WCODEC_ROLLOUT_HELD], reset[WCODEC_ROLLOUT_HELD / 2];
    float x0 = wcodec_rollout_float(l->features, 0);
    (void)warp;
    wcodec_rollout_hold(held_gates, r, l, WCODEC_ROLLOUT_OF_GATES, gates);
    wcodec_rollout_hold(held_reset, r, l, WCODEC_ROLLOUT_OF_RESET, reset);
    const uint32_t held[3] = {0, held_gates, held_reset};
    wcodec_rollout_keep(r, l, held, r->found + 6 * WCODEC_ROLLOUT_LOSS_ITEMS);
    wcodec_rollout_vectors(r, l);
    WCODEC_SYNC_ITEMS(warp);
    wcodec_rollout_slices(0, r, l, WCODEC_ROLLOUT_OF_INPUTS, gates, r->rh);
    WCODEC_SYNC_ITEMS(warp);
    wcodec_rollout_keep_inputs(r, l);
    /* Others write to this part from here on. */
    wcodec_rollout_gather(warp, r, l, true);
    wcodec_rollout_take_own(r, l);
    for (uint32_t t = 0;; t++) {
        if (!l->bounded) {
            wcodec_rollout_find_most(r, l);
            WCODEC_SYNC_ITEMS(warp);
            r->shift = wcodec_rollout_most(r);
        }
        wcodec_rollout_find_sums(warp, r, l);
        if (t < l->steps)
            wcodec_rollout_slices(held_gates, r, l, WCODEC_ROLLOUT_OF_GATES, gates, r->h);
        WCODEC_SYNC_ITEMS(warp);
        if (l->mode == WCODEC_ROLLOUT_SAMPLED) {
            wcodec_rollout_draw(r, l, t);
            WCODEC_SYNC_ITEMS(warp);
        }
        if (t > 0 && (r->item < 2 * l->rows || wcodec_rollout_loss_item(r) == 0)) {
            x0 = wcodec_rollout_loss(r, l);
            wcodec_rollout_tell(r, l, t - 1, x0);
        }
        if (t == l->steps)
            break;
        wcodec_rollout_gates(warp, r, l, t, x0);
        wcodec_rollout_meet(warp, r, l, 0, t, r->rh);
        wcodec_rollout_slices(held_reset, r, l, WCODEC_ROLLOUT_OF_RESET, reset, r->rh);
        WCODEC_SYNC_ITEMS(warp);
        wcodec_rollout_step(warp, r, l, t, x0);
        wcodec_rollout_meet(warp, r, l, 8, t, r->h);
    }
    wcodec_rollout_end(r, l);
    /* Nobody ends while others may still write to it. */
    wcodec_rollout_gather(warp, r, l, false);
}

#endif
