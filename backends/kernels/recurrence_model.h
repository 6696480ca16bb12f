/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of a member from many starts by tensor cores (recurrence_tensor.h): a sequence is one,
 * whose inputs are its features in all steps. Input 0, which is the loss, is not among the factors
 * of products: what it adds comes after these, as floats.
 *
 * What makes a loss are four sums over all hidden values: of the head's products, of e to the
 * logits, of these times the head, and times the logits. A warp puts those of its eight hidden
 * values, [16 sequences][4] for a tile, where it had z, which is used by then; a part adds up its
 * warps' and sends that to all parts. In the gates of the next step a thread makes the loss of a
 * sequence, while sums of the first tiles are made. */
#ifndef WCODEC_KERNELS_RECURRENCE_MODEL_H
#define WCODEC_KERNELS_RECURRENCE_MODEL_H

#include "backends/kernels/recurrence_tiles.h"

#ifdef WCODEC_MATRIX_PRODUCTS
/* Sums that are waited for together. */
#define WCODEC_MODEL_AT_ONCE 4

/* Numbers of a hidden value: of its gates; of its candidate, and of the loss. */
enum { WCODEC_MODEL_OF_GATES, WCODEC_MODEL_OF_LOSS = 4 };

/* Four of them, of the lane's two hidden values. */
WCODEC_DEVICE_FUNCTION void wcodec_model_own(const struct wcodec_tensor *s, uint32_t first,
                                             float v[2][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++)
        WCODEC_LOAD_FLOATS(v[i], (const WCODEC_GLOBAL float *)s->model + 8 * i + first);
}

/* Whose sums a lane keeps, of the two sequences in each of a pair of tiles (of one tile twice) that
 * its neighbours have parts of, too: the tile, and the row of 16. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_model_tile(const struct wcodec_tensor *s, uint32_t tile,
                                                  uint32_t count)
{
    return tile + (s->q / 2 < count ? s->q / 2 : 0);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_model_row(const struct wcodec_tensor *s)
{
    return s->g + 8 * (s->q % 2);
}

WCODEC_DEVICE_FUNCTION float wcodec_model_loss(const struct wcodec_recurrence_launch *l,
                                               const float *v)
{
    if (l->of.mode == WCODEC_ROLLOUT_REFERENCE)
        return v[0];
    /* NaN stays, as comparisons with it are false. */
    float logit = v[0] + v[2] * WCODEC_RECIPROCAL(v[1]);
    logit = logit < -10 ? -10 : logit > 10 ? 10 : logit;
    const float loss = wcodec_exp(logit);
    return loss < 1e-6f ? 1e-6f : loss;
}

/* The loss after step t, to the host; none of what is NaN is above 1e-8. */
WCODEC_DEVICE_FUNCTION void wcodec_model_tell(const struct wcodec_tensor *s,
                                              const struct wcodec_recurrence_launch *l,
                                              uint32_t row, uint64_t t, const float *v, float loss)
{
    const uint64_t at = (s->sequence + row) * l->steps + t;
    wcodec_rollout_put(l->of.loss, at, loss);
    if (l->of.mode == WCODEC_ROLLOUT_REFERENCE)
        return;
    const float entropy = wcodec_log(v[1]) - v[3] / v[1];
    wcodec_rollout_put(l->of.entropy, at, entropy == entropy ? entropy : 0);
}

/* Add the four sums at a shared address to others. */
WCODEC_DEVICE_FUNCTION void wcodec_model_add(struct wcodec_warp *warp, uint32_t at, float *sum)
{
    float of[4];
    wcodec_tensor_get(warp, at, of);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        sum[i] += of[i];
}

/* Input 0 of step t of a set's sequences, one for each of the first threads; one part says which
 * losses they are. */
WCODEC_DEVICE_FUNCTION void wcodec_model_inputs(struct wcodec_warp *warp,
                                                const struct wcodec_tensor *s,
                                                const struct wcodec_recurrence_launch *l,
                                                uint32_t set, uint64_t t)
{
    const uint32_t row = 16 * set * l->tiles + wcodec_thread(warp), tile = row / 16;
    float v = 0;
    if (tile >= wcodec_tensor_end(l, set))
        return;
    if (t > 0) {
        float sum[4] = {0, 0, 0, 0};
        WCODEC_UNROLL_NONE
        for (uint32_t begin = 0; begin < l->of.parts; begin += WCODEC_MODEL_AT_ONCE) {
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < WCODEC_MODEL_AT_ONCE; k++)
                if (begin + k < l->of.parts)
                    wcodec_model_add(
                        warp, s->sums + 256 * (tile * l->of.parts + begin + k) + 16 * (row % 16),
                        sum);
        }
        v = wcodec_model_loss(l, sum);
        if (tile % l->of.parts == s->part && row < s->rows)
            wcodec_model_tell(s, l, row, t - 1, sum, v);
    } else if (row < s->rows) {
        v = wcodec_rollout_float(l->values, (s->sequence + row) * l->values_sequence);
    }
    wcodec_put_u32(warp, s->loss + 4 * row, WCODEC_FLOAT_BITS(v));
}

/* That of the lane's first or second sequence of a tile. */
WCODEC_DEVICE_FUNCTION float wcodec_model_input(struct wcodec_warp *warp,
                                                const struct wcodec_tensor *s, uint32_t tile,
                                                uint32_t which)
{
    return wcodec_bits_float(
        wcodec_shared_u32(warp, s->loss + 4 * (wcodec_tensor_row(s, tile) + 8 * which)));
}

/* What it adds to a tile's sums of z and r. */
WCODEC_DEVICE_FUNCTION void wcodec_model_add_gates(struct wcodec_warp *warp,
                                                   const struct wcodec_tensor *s, uint32_t tile,
                                                   float own[2][4], float sums[4][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        const float x0 = wcodec_model_input(warp, s, tile, i / 2);
        sums[WCODEC_TENSOR_Z][i] += own[i % 2][WCODEC_TENSOR_Z] * x0;
        sums[WCODEC_TENSOR_R][i] += own[i % 2][WCODEC_TENSOR_R] * x0;
    }
}

/* ... and of the candidates. */
WCODEC_DEVICE_FUNCTION void wcodec_model_add_candidate(struct wcodec_warp *warp,
                                                       const struct wcodec_tensor *s, uint32_t tile,
                                                       float own[2][4], float sums[4][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        sums[WCODEC_TENSOR_BY_INPUTS][i] +=
            own[i % 2][0] * wcodec_model_input(warp, s, tile, i / 2);
}

/* The lane's share of the four sums of a sequence, whose two hidden values are h. */
WCODEC_DEVICE_FUNCTION void wcodec_model_share(float own[2][4], const float *h, float *sums)
{
    sums[0] = sums[1] = sums[2] = sums[3] = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        sums[0] += own[i][1] * h[i];
        if (own[i][3] != 0) {
            const float logit = h[i] - WCODEC_ROLLOUT_BOUND, e = wcodec_exp(logit);
            sums[1] += e;
            sums[2] += own[i][2] * e;
            sums[3] += e * logit;
        }
    }
}

/* Four times four numbers of each of four lanes that are neighbours, added up: each keeps those of
 * its own number. */
WCODEC_DEVICE_FUNCTION void wcodec_model_add_lanes(struct wcodec_warp *warp,
                                                   const struct wcodec_tensor *s, float v[4][4],
                                                   float *sum)
{
    const uint32_t lane = wcodec_lane(warp);
    const bool high = s->q / 2 != 0, odd = s->q % 2 != 0;
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 2; k++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const float given = high ? v[k][i] : v[2 + k][i], kept = high ? v[2 + k][i] : v[k][i];
            v[k][i] =
                kept + wcodec_bits_float(wcodec_shuffle(warp, WCODEC_FLOAT_BITS(given), lane ^ 2));
        }
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        const float given = odd ? v[0][i] : v[1][i], kept = odd ? v[1][i] : v[0][i];
        sum[i] = kept + wcodec_bits_float(wcodec_shuffle(warp, WCODEC_FLOAT_BITS(given), lane ^ 1));
    }
}

/* The warp's sums of a pair of tiles, h, to where its z was. */
WCODEC_DEVICE_FUNCTION void wcodec_model_put(struct wcodec_warp *warp,
                                             const struct wcodec_tensor *s, uint32_t tile,
                                             uint32_t count, float own[2][4],
                                             float h[WCODEC_TENSOR_PAIR][4])
{
    float share[4][4], sum[4];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_model_share(own, h[i / 2 < count ? i / 2 : 0] + i % 2 * 2, share[i]);
    wcodec_model_add_lanes(warp, s, share, sum);
    wcodec_sync_warp(warp);
    if (s->q / 2 < count)
        wcodec_tensor_put(warp,
                          s->gate - 16 * wcodec_lane(warp) +
                              wcodec_tensor_own(s, wcodec_model_tile(s, tile, count)) +
                              16 * wcodec_model_row(s),
                          sum);
}

/* The part's sums of a set, whose warps are done, to all parts: those of a sequence by each thread.
 */
WCODEC_DEVICE_FUNCTION void wcodec_model_send(struct wcodec_warp *warp,
                                              const struct wcodec_tensor *s,
                                              const struct wcodec_recurrence_launch *l,
                                              uint32_t set)
{
    const uint32_t first = set * l->tiles, thread = wcodec_thread(warp), tile = first + thread / 16,
                   row = thread % 16;
    if (tile < wcodec_tensor_end(l, set)) {
        float sum[4] = {0, 0, 0, 0};
        /* A multiple of eight warps. */
        WCODEC_UNROLL_NONE
        for (uint32_t begin = 0; begin < s->warps; begin += WCODEC_MODEL_AT_ONCE) {
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < WCODEC_MODEL_AT_ONCE; k++)
                wcodec_model_add(warp,
                                 s->gate - 16 * wcodec_lane(warp) +
                                     512 * (tile * s->warps + begin + k) + 16 * row,
                                 sum);
        }
        const uint32_t to = s->sums + 256 * (tile * l->of.parts + s->part) + 16 * row;
#ifdef WCODEC_CLUSTERS
        if (l->of.parts > 1)
            WCODEC_UNROLL_NONE
        for (uint32_t part = 0; part < l->of.parts; part++)
            wcodec_cluster_put_4(warp, to, part, sum, s->barriers + 8 * (4 + set));
        else
#endif
            wcodec_tensor_put(warp, to, sum);
    }
    if (l->of.parts == 1)
        wcodec_sync_group(warp);
}

/* Those of all parts are here, for the turn-th time. */
WCODEC_DEVICE_FUNCTION void wcodec_model_wait(struct wcodec_warp *warp,
                                              const struct wcodec_tensor *s,
                                              const struct wcodec_recurrence_launch *l,
                                              uint32_t set, uint64_t turn)
{
    (void)warp, (void)s, (void)l, (void)set, (void)turn;
#ifdef WCODEC_CLUSTERS
    if (l->of.parts > 1)
        wcodec_cluster_wait(warp, s->barriers + 8 * (4 + set),
                            256 * l->of.parts * (wcodec_tensor_end(l, set) - set * l->tiles),
                            (uint32_t)turn);
#endif
}

#endif

#endif
