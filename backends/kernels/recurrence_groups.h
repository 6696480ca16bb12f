/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of a member from many starts (recurrence_model.h) by products of four warps, whose other
 * operand is in shared memory, once for all of their 64 rows: rows are weights, which stay in
 * registers, and columns sequences, 48 of which are a set. A part of a cluster has 64 hidden
 * values. Eight of its warps make z, r and r h, each of eight hidden values, whose z and r are sums
 * of the same lane; four make the candidates and what comes of them, each of sixteen, and a loss's
 * sums. Sets go round between them: while one is with the first four warps, others are with the
 * next ones, and products of one are made beside gates of another.
 *
 * A vector of a set is in blocks of 8 hidden values by 8 sequences, [8][8] of BF16; a part's are
 * beside each other, so that one copy takes them to another part. What a lane that makes z has
 * beside is, where candidates are made, with a lane of the same number.
 *
 * Nothing is written before it has been read: whoever writes has waited for what depends on its
 * having been read, in all parts, at one of the four barriers of a set. */
#ifndef WCODEC_KERNELS_RECURRENCE_GROUPS_H
#define WCODEC_KERNELS_RECURRENCE_GROUPS_H

#include "backends/kernels/recurrence_sets.h"

#ifdef WCODEC_GROUP_PRODUCTS
/* Sums of a set: by inputs, and when vector `from` is there by it. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_multiply(const uint32_t quads, struct wcodec_warp *warp,
                                                   uint32_t from, uint32_t held[][4][4],
                                                   float sums[4 * WCODEC_GROUPS_BLOCKS])
{
    const uint64_t operand = wcodec_group_across(from, 128 * WCODEC_GROUPS_BLOCKS, 128);
    WCODEC_UNROLL_ALL
    for (uint32_t chunk = 0; chunk < 4 * quads; chunk++)
        wcodec_group_multiply_48(warp, sums, held[chunk / 4][chunk % 4],
                                 wcodec_group_after(operand, 256 * WCODEC_GROUPS_BLOCKS * chunk));
}

/* Four warps have done some of the part's hidden values in a vector, `bytes` at `at`, and one
 * thread of them tells it to all parts: `barrier` of the own is passed when those of the others
 * have come.
 */
WCODEC_DEVICE_FUNCTION void wcodec_groups_send(const uint32_t parts, struct wcodec_warp *warp,
                                               const struct wcodec_groups *s, uint32_t at,
                                               uint32_t bytes, uint32_t barrier)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 1; i < parts; i++)
        wcodec_cluster_send(warp, at, (s->of.part + i) % parts, bytes, barrier);
    wcodec_cluster_arrive(warp, barrier, (parts - 1) * bytes);
}

/* Input 0 of step t of a set's sequences, one for each of the first threads of four warps; one part
 * says which losses they are. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_inputs(const uint32_t parts, struct wcodec_warp *warp,
                                                 const struct wcodec_groups *s,
                                                 const struct wcodec_recurrence_launch *l,
                                                 uint32_t set, uint64_t t)
{
    const struct wcodec_groups_set at = wcodec_groups_at(parts, s, set);
    const uint32_t four = s->of.warp / 4, thread = wcodec_thread(warp) % 128,
                   row = WCODEC_GROUPS_SET * set + thread;
    float v = 0;
    if (thread >= WCODEC_GROUPS_SET)
        return;
    if (t > 0) {
        float sum[4] = {0, 0, 0, 0};
        wcodec_cluster_wait(warp, at.barriers + 8 * WCODEC_GROUPS_LOSS,
                            16 * WCODEC_GROUPS_SET * parts, (uint32_t)(t - 1));
        WCODEC_UNROLL_ALL
        for (uint32_t part = 0; part < parts; part++)
            wcodec_model_add(warp, at.sums + 16 * (WCODEC_GROUPS_SET * part + thread), sum);
        v = wcodec_model_loss(l, sum);
        if (four == 0 && row / 16 % parts == s->of.part && row < s->of.rows)
            wcodec_model_tell(&s->of, l, row, t - 1, sum, v);
    } else if (row < s->of.rows) {
        v = wcodec_rollout_float(l->values, (s->of.sequence + row) * l->values_sequence);
    }
    if (t < l->steps)
        wcodec_put_u32(warp, at.loss + 4 * (WCODEC_GROUPS_SET * four + thread),
                       WCODEC_FLOAT_BITS(v));
}

/* Input 0 of the lane's pairs of sequences, of so many blocks. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_get_inputs(struct wcodec_warp *warp,
                                                     const struct wcodec_groups *s,
                                                     const struct wcodec_groups_set *at,
                                                     uint32_t four, const uint32_t first,
                                                     const uint32_t count, float x[][2])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < count; i++) {
        const wcodec_u2 v = wcodec_shared_u2(
            warp, at->loss + 4 * (WCODEC_GROUPS_SET * four + 8 * (first + i) + 2 * s->of.q));
        x[i][0] = wcodec_bits_float(v.x);
        x[i][1] = wcodec_bits_float(v.y);
    }
}

/* Both parts of hidden value `unit`, which is of the part's block of eight number `eight`. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_get_old(struct wcodec_warp *warp,
                                                  const struct wcodec_groups *s,
                                                  const struct wcodec_groups_set *at, uint32_t unit,
                                                  uint32_t eight, const uint32_t first,
                                                  const uint32_t count, uint32_t old[][2])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < count; i++) {
        old[i][0] =
            wcodec_shared_u32(warp, at->hidden + wcodec_groups_place(unit, first + i, s->of.q));
        old[i][1] = wcodec_shared_u32(warp, at->rest + 4 * wcodec_groups_own(s, eight, first + i));
    }
}

/* What a lane knows of its rows: biases, and what input 0 counts. */
struct wcodec_groups_row {
    float bias, by_input;
};

/* z and r h of a set in step t. */
WCODEC_DEVICE_FUNCTION void
wcodec_groups_gates(const uint32_t parts, struct wcodec_warp *warp, const struct wcodec_groups *s,
                    const struct wcodec_recurrence_launch *l, uint32_t held[][4][4],
                    const struct wcodec_groups_row row[2], uint32_t set, uint64_t t)
{
    const struct wcodec_groups_set at = wcodec_groups_at(parts, s, set);
    const uint32_t unit = 64 * s->of.part + 8 * s->of.warp + s->of.g, four = s->of.warp / 4;
    uint32_t old[WCODEC_GROUPS_BLOCKS][2];
    float sums[4 * WCODEC_GROUPS_BLOCKS], x[WCODEC_GROUPS_BLOCKS][2];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4 * WCODEC_GROUPS_BLOCKS; i++)
        sums[i] = row[i / 2 % 2].bias;
    wcodec_group_begin_sums(sums, 4 * WCODEC_GROUPS_BLOCKS);
    wcodec_groups_multiply(1, warp, at.input, held, sums);
    if (t > 0)
        wcodec_cluster_pass(warp, at.barriers + 8 * WCODEC_GROUPS_HIDDEN, (uint32_t)(t - 1));
    wcodec_group_begin();
    wcodec_groups_multiply(parts, warp, at.hidden, held + 1, sums);
    wcodec_group_end_products();
    wcodec_groups_get_old(warp, s, &at, unit, s->of.warp, 0, WCODEC_GROUPS_BLOCKS, old);
    wcodec_groups_inputs(parts, warp, s, l, set, t);
    wcodec_sync_part(warp, four, 128);
    wcodec_groups_get_inputs(warp, s, &at, four, 0, WCODEC_GROUPS_BLOCKS, x);
    wcodec_group_end_sums(sums, 4 * WCODEC_GROUPS_BLOCKS);
    WCODEC_UNROLL_ALL
    for (uint32_t block = 0; block < WCODEC_GROUPS_BLOCKS; block++) {
        float v[2];
        wcodec_groups_old(old[block][0], old[block][1], v);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++) {
            float *sum = sums + 4 * block + i;
            sum[0] = wcodec_tensor_sigmoid(sum[0] + row[0].by_input * x[block][i]);
            v[i] *= wcodec_tensor_sigmoid(sum[2] + row[1].by_input * x[block][i]);
            v[i] = unit < l->of.hidden_count ? v[i] : 0;
        }
        old[block][0] = wcodec_tensor_pair(v[0], v[1]);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t block = 0; block < WCODEC_GROUPS_BLOCKS; block++) {
        wcodec_put_u2(warp, at.gate + 8 * wcodec_groups_own(s, s->of.warp, block),
                      wcodec_make_u2(WCODEC_FLOAT_BITS(sums[4 * block]),
                                     WCODEC_FLOAT_BITS(sums[4 * block + 1])));
        wcodec_put_u32(warp, at.reset + wcodec_groups_place(unit, block, s->of.q), old[block][0]);
    }
    wcodec_cluster_ready(warp);
    wcodec_sync_part(warp, four, 128);
    if (wcodec_thread(warp) % 128 == 0)
        wcodec_groups_send(parts, warp, s,
                           at.reset + s->of.part * WCODEC_GROUPS_PART +
                               four * (WCODEC_GROUPS_PART / 2),
                           WCODEC_GROUPS_PART / 2, at.barriers + 8 * (WCODEC_GROUPS_RESET + four));
}

/* What a lane knows of a hidden value of which it makes the candidate. */
struct wcodec_groups_unit {
    struct wcodec_groups_row row;
    float head;
    bool is;
};

/* Eight numbers, of which each of eight lanes that are four apart has a share, added up: lane g of
 * them has the sum of number g. */
WCODEC_DEVICE_FUNCTION float wcodec_groups_add(struct wcodec_warp *warp,
                                               const struct wcodec_groups *s, float v[8])
{
    WCODEC_UNROLL_ALL
    for (uint32_t half = 4; half > 0; half /= 2) {
        const bool high = (s->of.g & half) != 0;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < half; i++) {
            const float given = high ? v[i] : v[half + i], kept = high ? v[half + i] : v[i];
            v[i] = kept + wcodec_bits_float(
                              wcodec_shuffle(warp, WCODEC_FLOAT_BITS(given), s->lane ^ 4 * half));
        }
    }
    return v[0];
}

/* What a lane reads of some blocks of a set before it makes their new hidden values. */
struct wcodec_groups_read {
    float x[WCODEC_GROUPS_AT_ONCE][2];
    uint32_t old[2][WCODEC_GROUPS_AT_ONCE][2];
    wcodec_u2 gates[2][WCODEC_GROUPS_AT_ONCE];
};

WCODEC_DEVICE_FUNCTION void wcodec_groups_get(struct wcodec_warp *warp,
                                              const struct wcodec_groups *s,
                                              const struct wcodec_groups_set *at,
                                              const uint32_t first, struct wcodec_groups_read *r)
{
    wcodec_groups_get_inputs(warp, s, at, 0, first, WCODEC_GROUPS_AT_ONCE, r->x);
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t eight = 2 * (s->of.warp - 8) + k,
                       unit = 64 * s->of.part + 8 * eight + s->of.g;
        wcodec_groups_get_old(warp, s, at, unit, eight, first, WCODEC_GROUPS_AT_ONCE, r->old[k]);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < WCODEC_GROUPS_AT_ONCE; i++)
            r->gates[k][i] =
                wcodec_shared_u2(warp, at->gate + 8 * wcodec_groups_own(s, eight, first + i));
    }
}

/* h' of some blocks of a set's sequences, and the lane's share of their sums by the head. */
WCODEC_DEVICE_FUNCTION void
wcodec_groups_make(struct wcodec_warp *warp, const struct wcodec_groups *s,
                   const struct wcodec_groups_unit u[2], const struct wcodec_groups_set *at,
                   const uint32_t first, struct wcodec_groups_read *r, const float *sums,
                   float share[2 * WCODEC_GROUPS_AT_ONCE])
{
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 2; k++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < WCODEC_GROUPS_AT_ONCE; i++) {
            const float z[2] = {wcodec_bits_float(r->gates[k][i].x),
                                wcodec_bits_float(r->gates[k][i].y)};
            float h[2];
            wcodec_groups_old(r->old[k][i][0], r->old[k][i][1], h);
            WCODEC_UNROLL_ALL
            for (uint32_t j = 0; j < 2; j++) {
                const float candidate =
                    wcodec_tensor_tanh(sums[4 * i + 2 * k + j] + u[k].row.by_input * r->x[i][j]);
                h[j] = candidate + (1 - z[j]) * (h[j] - candidate);
                h[j] = u[k].is ? h[j] : 0;
            }
            r->old[k][i][0] = wcodec_tensor_pair(h[0], h[1]);
            r->old[k][i][1] = wcodec_tensor_rest(r->old[k][i][0], h);
            WCODEC_UNROLL_ALL
            for (uint32_t j = 0; j < 2; j++)
                share[2 * i + j] += u[k].head * h[j];
        }
    }
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t eight = 2 * (s->of.warp - 8) + k,
                       unit = 64 * s->of.part + 8 * eight + s->of.g;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < WCODEC_GROUPS_AT_ONCE; i++) {
            wcodec_put_u32(warp, at->hidden + wcodec_groups_place(unit, first + i, s->of.q),
                           r->old[k][i][0]);
            wcodec_put_u32(warp, at->rest + 4 * wcodec_groups_own(s, eight, first + i),
                           r->old[k][i][1]);
        }
    }
}

/* The warp's sums by the head of four blocks from the first one on, of which `count` are there. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_put_head(struct wcodec_warp *warp,
                                                   const struct wcodec_groups *s,
                                                   const struct wcodec_groups_set *at,
                                                   const uint32_t first, const uint32_t count,
                                                   float share[8])
{
    const float sum = wcodec_groups_add(warp, s, share);
    const uint32_t block = first + s->of.g / 2;
    if (s->of.g < 2 * count)
        wcodec_put_u32(warp,
                       at->shares + 4 * (WCODEC_GROUPS_SET * (s->of.warp - 8) + 8 * block +
                                         2 * s->of.q + s->of.g % 2),
                       WCODEC_FLOAT_BITS(sum));
}

/* The part's sums of a set to all parts: a pair of neighbours has a sequence, and each of them half
 * of the classes. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_tell(const uint32_t parts, struct wcodec_warp *warp,
                                               const struct wcodec_groups *s,
                                               const struct wcodec_groups_set *at)
{
    const uint32_t thread = wcodec_thread(warp) - 256, row = thread / 2, odd = thread % 2;
    float sum[4] = {0, 0, 0, 0};
    if (row >= WCODEC_GROUPS_SET) /* of whole warps */
        return;
    WCODEC_UNROLL_SOME
    for (uint32_t i = odd; i < s->count; i += 2) {
        const wcodec_u2 of = wcodec_shared_u2(warp, s->classes + 8 * i);
        const uint32_t own =
            32 * (of.x / 8 * WCODEC_GROUPS_BLOCKS + row / 8) + 4 * (of.x % 8) + row % 8 / 2;
        float h[2];
        wcodec_groups_old(
            wcodec_shared_u32(warp, at->hidden + wcodec_groups_place(64 * s->of.part + of.x,
                                                                     row / 8, row % 8 / 2)),
            wcodec_shared_u32(warp, at->rest + 4 * own), h);
        const float logit = (row % 2 == 0 ? h[0] : h[1]) - WCODEC_ROLLOUT_BOUND,
                    e = wcodec_exp(logit);
        sum[1] += e;
        sum[2] += wcodec_bits_float(of.y) * e;
        sum[3] += e * logit;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 1; i < 4; i++)
        sum[i] += wcodec_bits_float(wcodec_shuffle(warp, WCODEC_FLOAT_BITS(sum[i]), s->lane ^ 1));
    WCODEC_UNROLL_ALL
    for (uint32_t number = 0; number < 4; number++)
        sum[0] += wcodec_bits_float(
            wcodec_shared_u32(warp, at->shares + 4 * (WCODEC_GROUPS_SET * number + row)));
    /* Each of two neighbours sends to half of the parts; the other's part may write to shares. */
    wcodec_sync_warp(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t part = 0; part < parts; part++)
        if (part % 2 == odd)
            wcodec_cluster_put_4(warp, at->sums + 16 * (WCODEC_GROUPS_SET * s->of.part + row), part,
                                 sum, at->barriers + 8 * WCODEC_GROUPS_LOSS);
}

/* What comes of a set in step t. */
WCODEC_DEVICE_FUNCTION void
wcodec_groups_step(const uint32_t parts, struct wcodec_warp *warp, const struct wcodec_groups *s,
                   const struct wcodec_recurrence_launch *l, uint32_t held[][4][4],
                   const struct wcodec_groups_unit u[2], uint32_t set, uint64_t t)
{
    const struct wcodec_groups_set at = wcodec_groups_at(parts, s, set);
    struct wcodec_groups_read read;
    float sums[4 * WCODEC_GROUPS_BLOCKS];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4 * WCODEC_GROUPS_BLOCKS; i++)
        sums[i] = u[i / 2 % 2].row.bias;
    wcodec_group_begin_sums(sums, 4 * WCODEC_GROUPS_BLOCKS);
    wcodec_groups_multiply(1, warp, at.input, held, sums);
    wcodec_cluster_pass(warp, at.barriers + 8 * WCODEC_GROUPS_RESET, (uint32_t)t);
    wcodec_cluster_pass(warp, at.barriers + 8 * (WCODEC_GROUPS_RESET + 1), (uint32_t)t);
    wcodec_group_begin();
    wcodec_groups_multiply(parts, warp, at.reset, held + 1, sums);
    wcodec_group_end_products();
    wcodec_groups_get(warp, s, &at, 0, &read);
    wcodec_group_end_sums(sums, 4 * WCODEC_GROUPS_BLOCKS);
    /* All four are done with r h, where their sums of losses go. */
    wcodec_sync_part(warp, 2, 128);
    WCODEC_UNROLL_ALL
    for (uint32_t first = 0; first < WCODEC_GROUPS_BLOCKS; first += WCODEC_GROUPS_AT_ONCE) {
        float share[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (first > 0)
            wcodec_groups_get(warp, s, &at, first, &read);
        wcodec_groups_make(warp, s, u, &at, first, &read, sums + 4 * first, share);
        wcodec_groups_put_head(warp, s, &at, first, WCODEC_GROUPS_AT_ONCE, share);
    }
    wcodec_cluster_ready(warp);
    wcodec_sync_part(warp, 2, 128);
    if (t + 1 < l->steps && wcodec_thread(warp) == 256)
        wcodec_groups_send(parts, warp, s, at.hidden + s->of.part * WCODEC_GROUPS_PART,
                           WCODEC_GROUPS_PART, at.barriers + 8 * WCODEC_GROUPS_HIDDEN);
    wcodec_groups_tell(parts, warp, s, &at);
}

/* All that warps of gates do. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_make_gates(const uint32_t parts, struct wcodec_warp *warp,
                                                     const struct wcodec_groups *s,
                                                     const struct wcodec_recurrence_launch *l)
{
    uint32_t held[1 + 4][4][4], warps[2] = {s->of.warp, s->of.warp}, gates[2] = {0, 1};
    const uint32_t unit = 8 * s->of.warp + s->of.g;
    const uint64_t own = s->of.model + 16 * 64 + 32 * unit;
    struct wcodec_groups_row row[2];
    wcodec_groups_hold(s, 1 + parts, warps, gates, held);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t gate = i == 0 ? WCODEC_TENSOR_Z : WCODEC_TENSOR_R;
        row[i].bias = wcodec_rollout_float(s->of.model, gate * 64 + unit);
        row[i].by_input = wcodec_rollout_float(own, WCODEC_MODEL_OF_GATES + gate);
    }
    WCODEC_UNROLL_NONE
    for (uint64_t t = 0; t < l->steps; t++) {
        WCODEC_UNROLL_NONE
        for (uint32_t set = 0; set < s->sets; set++)
            wcodec_groups_gates(parts, warp, s, l, held, row, set, t);
    }
    WCODEC_UNROLL_NONE
    for (uint32_t set = 0; set < s->sets && l->steps > 0; set++)
        wcodec_groups_inputs(parts, warp, s, l, set, l->steps);
}

/* All that the others do. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_make_hidden(const uint32_t parts,
                                                      struct wcodec_warp *warp,
                                                      const struct wcodec_groups *s,
                                                      const struct wcodec_recurrence_launch *l)
{
    const uint32_t first = 2 * (s->of.warp - 8);
    uint32_t held[1 + 4][4][4], warps[2] = {first, first + 1}, gates[2] = {2, 2};
    struct wcodec_groups_unit u[2];
    wcodec_groups_hold(s, 1 + parts, warps, gates, held);
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t unit = 8 * (first + k) + s->of.g;
        const uint64_t own = s->of.model + 16 * 64 + 32 * unit + 4 * WCODEC_MODEL_OF_LOSS;
        u[k].row.bias = wcodec_rollout_float(s->of.model, WCODEC_TENSOR_BY_INPUTS * 64 + unit);
        u[k].row.by_input = wcodec_rollout_float(own, 0);
        u[k].head = wcodec_rollout_float(own, 1);
        u[k].is = 64 * s->of.part + unit < l->of.hidden_count;
    }
    WCODEC_UNROLL_NONE
    for (uint64_t t = 0; t < l->steps; t++) {
        WCODEC_UNROLL_NONE
        for (uint32_t set = 0; set < s->sets; set++)
            wcodec_groups_step(parts, warp, s, l, held, u, set, t);
    }
    WCODEC_UNROLL_NONE
    for (uint32_t set = 0; set < s->sets && l->last != 0; set++)
        wcodec_groups_store(parts, warp, s, l, set);
}

/* All of it, by 384 threads. parts: of the cluster, 64 hidden values each; up to 64 inputs. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_kernel(const uint32_t parts, struct wcodec_warp *warp,
                                                 const struct wcodec_recurrence_launch *l)
{
    struct wcodec_groups s;
    wcodec_groups_open(parts, warp, &s, l);
    WCODEC_UNROLL_NONE
    for (uint32_t set = 0; set < s.sets; set++) {
        wcodec_groups_begin(parts, warp, &s, l, set);
        wcodec_groups_features(parts, warp, &s, l, set);
    }
    wcodec_groups_find_classes(warp, &s);
    /* Others write to this part from here on. */
    wcodec_groups_gather(warp, &s, true);
    if (s.of.warp < 8)
        wcodec_groups_make_gates(parts, warp, &s, l);
    else
        wcodec_groups_make_hidden(parts, warp, &s, l);
    /* Nobody ends while others may still send to it, or it to them. */
    wcodec_groups_gather(warp, &s, false);
}
#endif

#endif
