/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A recurrent unit over many sequences by tensor cores: products of BF16, whose sums, and whatever
 * else there is, are floats. A cluster of work-groups takes tiles of 16 sequences, rows of the
 * first operand, in one or two sets. Each of its parts has some hidden values, of which a warp has
 * eight: z, r and the candidate of a sequence's hidden value are sums of the same lane. Weights,
 * the second operand, stay in registers, or what there is no room for is read from memory for each
 * tile.
 *
 * Inputs and hidden values are in shared memory as lanes take them, a chunk of 16 for a tile of 16
 * sequences in 512 bytes, and new hidden values are made by the lane that has their place. A part
 * sends its own to the others when all tiles of a set are done: these have them when the other set
 * is done too. With the reset gate before the product the other vector in turns is r h, and inputs
 * come while the other set is made. */
#ifndef WCODEC_KERNELS_RECURRENCE_TENSOR_H
#define WCODEC_KERNELS_RECURRENCE_TENSOR_H

#include "backends/kernels/recurrence_model.h"

#ifdef WCODEC_MATRIX_PRODUCTS
/* The weights of a quad: those of W, then those of U. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_hold(const struct wcodec_tensor *s, uint32_t quad,
                                               uint32_t b[3][4][2])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t v[4];
        WCODEC_READ_16(v, (const WCODEC_GLOBAL uint8_t *)(s->weights +
                                                          (uint64_t)WCODEC_TENSOR_QUAD * quad +
                                                          512 * i));
        b[i / 2][i % 2 * 2][0] = v[0];
        b[i / 2][i % 2 * 2][1] = v[1];
        b[i / 2][i % 2 * 2 + 1][0] = v[2];
        b[i / 2][i % 2 * 2 + 1][1] = v[3];
    }
}

/* All that is held is used before the first step: a device that waits for it where it is used first
 * would wait for inputs too, in each step. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_use(const bool after, const bool whole,
                                              struct wcodec_warp *warp,
                                              const struct wcodec_tensor *s,
                                              const struct wcodec_recurrence_launch *l,
                                              uint32_t held[WCODEC_TENSOR_HELD][3][4][2])
{
    uint32_t all = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++)
        all |= WCODEC_FLOAT_BITS(s->bias[i / 2][i % 2]);
    WCODEC_UNROLL_ALL
    for (uint32_t quad = 0; quad < WCODEC_TENSOR_HELD; quad++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 24; i++)
            if (whole || quad <= l->hidden_quads)
                all |= held[quad][i / 8][i / 2 % 4][i % 2];
    }
    wcodec_put_u32(warp, wcodec_tensor_old(after, s, 0), all);
}

/* What a quad adds to the sums of `count` tiles, one or a pair, which are `apart` from each other.
 */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_multiply(const uint32_t gates, const uint32_t candidate,
                                                   struct wcodec_warp *warp, uint32_t at,
                                                   uint32_t apart, const uint32_t count,
                                                   uint32_t b[3][4][2],
                                                   float sums[WCODEC_TENSOR_PAIR][4][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t c = 0; c < 4; c++) {
        uint32_t a[WCODEC_TENSOR_PAIR][4];
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < count; k++) {
            const wcodec_u4 v = wcodec_shared_u4(warp, at + k * apart + 512 * c);
            a[k][0] = v.x;
            a[k][1] = v.y;
            a[k][2] = v.z;
            a[k][3] = v.w;
        }
        WCODEC_UNROLL_ALL
        for (uint32_t gate = 0; gate < 3; gate++) {
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < count; k++)
                if (gates >> gate & 1)
                    wcodec_mma_bf16(warp, sums[k][gate == 2 ? candidate : gate], a[k],
                                    b[gate][c][0], b[gate][c][1]);
        }
    }
}

/* Bytes that a part has of a tile of hidden values. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_part(const struct wcodec_recurrence_launch *l)
{
    return 32 * l->of.rows;
}

/* What other parts have sent of a set has come: the turn-th time, to vector `which`. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_wait(struct wcodec_warp *warp,
                                               const struct wcodec_tensor *s,
                                               const struct wcodec_recurrence_launch *l,
                                               uint32_t set, uint32_t which, uint32_t turn)
{
    (void)warp, (void)s, (void)l, (void)set, (void)which, (void)turn;
#ifdef WCODEC_CLUSTERS
    if (l->of.parts > 1)
        wcodec_cluster_wait(warp, s->barriers + 8 * (2 * set + which % 2),
                            wcodec_tensor_part(l) * (l->of.parts - 1) *
                                (wcodec_tensor_end(l, set) - set * l->tiles),
                            turn);
#endif
}

/* All warps have done a set, whose vector `which` goes to the other parts: a tile to a part by each
 * thread. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_send(struct wcodec_warp *warp,
                                               const struct wcodec_tensor *s,
                                               const struct wcodec_recurrence_launch *l,
                                               uint32_t set, uint32_t which, bool wanted)
{
    (void)s, (void)l, (void)set, (void)which, (void)wanted;
#ifdef WCODEC_CLUSTERS
    if (l->of.parts > 1)
        wcodec_cluster_ready(warp);
#endif
    wcodec_sync_group(warp);
#ifdef WCODEC_CLUSTERS
    const uint32_t others = l->of.parts - 1, thread = wcodec_thread(warp), first = set * l->tiles;
    if (wanted && thread < others * (wcodec_tensor_end(l, set) - first))
        wcodec_cluster_send(warp,
                            wcodec_tensor_vector(s, which) - 16 * wcodec_lane(warp) +
                                wcodec_tensor_chunk(l->hidden_quads, first + thread / others,
                                                    s->part * l->of.rows / 16),
                            (s->part + 1 + thread % others) % l->of.parts, wcodec_tensor_part(l),
                            s->barriers + 8 * (2 * set + which % 2));
#endif
}

/* Sums of `count` tiles, one or a pair, of which vector `which` is a factor. whole: there are as
 * many quads as are held. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_products(
    const bool after, const bool whole, const uint32_t gates, struct wcodec_warp *warp,
    const struct wcodec_tensor *s, const struct wcodec_recurrence_launch *l,
    uint32_t held[WCODEC_TENSOR_HELD][3][4][2], uint32_t tile, const uint32_t count, uint64_t t,
    uint32_t which, float sums[WCODEC_TENSOR_PAIR][4][4])
{
    const uint32_t by_hidden = after ? WCODEC_TENSOR_BY_HIDDEN : WCODEC_TENSOR_BY_INPUTS,
                   input_quads = whole ? 1 : l->input_quads,
                   hidden_quads = whole ? WCODEC_TENSOR_HELD - 1 : l->hidden_quads,
                   x = wcodec_tensor_input(after, s, t) + wcodec_tensor_chunk(input_quads, tile, 0),
                   h = wcodec_tensor_vector(s, which) + wcodec_tensor_chunk(hidden_quads, tile, 0);
    uint32_t b[3][4][2];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 16 * count; i++)
        sums[i / 16][i / 4 % 4][i % 4] = s->bias[i / 4 % 4][i % 2];
    wcodec_tensor_multiply(gates, WCODEC_TENSOR_BY_INPUTS, warp, x, 2048 * input_quads, count,
                           held[0], sums);
    WCODEC_UNROLL_NONE
    for (uint32_t quad = 1; quad < input_quads; quad++) {
        wcodec_tensor_hold(s, quad, b);
        wcodec_tensor_multiply(gates, WCODEC_TENSOR_BY_INPUTS, warp, x + 2048 * quad,
                               2048 * input_quads, count, b, sums);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t quad = 0; quad < WCODEC_TENSOR_HELD - 1; quad++)
        if (quad < hidden_quads)
            wcodec_tensor_multiply(gates, by_hidden, warp, h + 2048 * quad, 2048 * hidden_quads,
                                   count, held[1 + quad], sums);
    WCODEC_UNROLL_NONE
    for (uint32_t quad = WCODEC_TENSOR_HELD - 1; quad < hidden_quads; quad++) {
        wcodec_tensor_hold(s, input_quads + quad, b);
        wcodec_tensor_multiply(gates, by_hidden, warp, h + 2048 * quad, 2048 * hidden_quads, count,
                               b, sums);
    }
}

/* The lane's four numbers of a vector as operands, `pair`. What is no hidden value is 0, whatever
 * its inputs are. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_publish(struct wcodec_warp *warp,
                                                  const struct wcodec_tensor *s,
                                                  const struct wcodec_recurrence_launch *l,
                                                  uint32_t tile, uint32_t which, float *v,
                                                  uint32_t *pair)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        v[i] = s->unit + i % 2 < l->of.hidden_count ? v[i] : 0;
    pair[0] = wcodec_tensor_pair(v[0], v[1]);
    pair[1] = wcodec_tensor_pair(v[2], v[3]);
    wcodec_put_u2(warp, wcodec_tensor_place(s, l, tile, which), wcodec_make_u2(pair[0], pair[1]));
}

/* The lane's hidden values of a tile to where the caller wants them: `to` is that of the cluster's
 * first sequence. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_store(const struct wcodec_tensor *s,
                                                const struct wcodec_recurrence_launch *l,
                                                uint32_t row, uint64_t to, uint64_t stride,
                                                const float *v)
{
    if (s->unit >= l->of.hidden_count)
        return;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        if (row + 8 * i >= s->rows)
            continue;
        if (l->wide) {
            const uint64_t at = (uint64_t)(row + 8 * i) * (uint32_t)stride + s->unit;
            wcodec_store_u2((WCODEC_GLOBAL uint8_t *)(to + 4 * at), WCODEC_FLOAT_BITS(v[2 * i]),
                            WCODEC_FLOAT_BITS(v[2 * i + 1]));
            continue;
        }
        wcodec_rollout_put(to, (row + 8 * i) * stride + s->unit, v[2 * i]);
        if (s->unit + 1 < l->of.hidden_count)
            wcodec_rollout_put(to, (row + 8 * i) * stride + s->unit + 1, v[2 * i + 1]);
    }
}

/* z of `count` tiles is kept, and r h is published. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_gates(struct wcodec_warp *warp,
                                                const struct wcodec_tensor *s,
                                                const struct wcodec_recurrence_launch *l,
                                                uint32_t tile, const uint32_t count,
                                                float sums[WCODEC_TENSOR_PAIR][4][4])
{
    float old[WCODEC_TENSOR_PAIR][4];
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < count; k++) {
        wcodec_tensor_get_old(false, warp, s, l, tile + k, old[k]);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            sums[k][WCODEC_TENSOR_Z][i] = wcodec_tensor_sigmoid(sums[k][WCODEC_TENSOR_Z][i]);
            old[k][i] *= wcodec_tensor_sigmoid(sums[k][WCODEC_TENSOR_R][i]);
        }
    }
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < count; k++) {
        uint32_t pair[2];
        wcodec_tensor_put(warp, s->gate + wcodec_tensor_own(s, tile + k), sums[k][WCODEC_TENSOR_Z]);
        wcodec_tensor_publish(warp, s, l, tile + k, 1, old[k], pair);
    }
}

/* h' of a tile, from its sums, what was, and z. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_finish(const bool after, float sums[4][4],
                                                 const float *kept, float *h)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        float z = kept[i], sum = sums[WCODEC_TENSOR_BY_INPUTS][i];
        if (after) {
            z = wcodec_tensor_sigmoid(sums[WCODEC_TENSOR_Z][i]);
            sum +=
                wcodec_tensor_sigmoid(sums[WCODEC_TENSOR_R][i]) * sums[WCODEC_TENSOR_BY_HIDDEN][i];
        }
        const float candidate = wcodec_tensor_tanh(sum);
        /* Around the candidate, which is at most 1, whatever h is. */
        h[i] = candidate + (after ? z : 1 - z) * (h[i] - candidate);
    }
}

/* h' of step t of `count` tiles, which is published as vector `which`; out: where the step's hidden
 * values are wanted; own: of a rollout. */
WCODEC_DEVICE_FUNCTION void
wcodec_tensor_step(const bool after, const bool model, struct wcodec_warp *warp,
                   const struct wcodec_tensor *s, const struct wcodec_recurrence_launch *l,
                   uint32_t tile, const uint32_t count, uint32_t which, uint64_t out,
                   float own[2][4], float sums[WCODEC_TENSOR_PAIR][4][4])
{
    float h[WCODEC_TENSOR_PAIR][4], z[4] = {0, 0, 0, 0};
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < count; k++) {
        wcodec_tensor_get_old(after, warp, s, l, tile + k, h[k]);
        if (!after)
            wcodec_tensor_get(warp, s->gate + wcodec_tensor_own(s, tile + k), z);
        if (model)
            wcodec_model_add_candidate(warp, s, tile + k, own, sums[k]);
        wcodec_tensor_finish(after, sums[k], z, h[k]);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < count; k++) {
        uint32_t pair[2];
        wcodec_tensor_publish(warp, s, l, tile + k, which, h[k], pair);
        wcodec_tensor_put_old(after, warp, s, tile + k, pair, h[k]);
        if (!model && l->out != 0)
            wcodec_tensor_store(s, l, wcodec_tensor_row(s, tile + k), out, l->out_sequence, h[k]);
    }
    if (model)
        wcodec_model_put(warp, s, tile, count, own, h);
}

/* What the kernel is compiled for, and what a phase of a step does. */
struct wcodec_tensor_phase {
    bool after; /* the reset gate comes after the product */
    bool model; /* it is a rollout */
    bool whole; /* all that is held is all that there is */
    uint32_t gates, set;
    uint64_t t;
    uint32_t from; /* the vector that is a factor; the other one is made */
};

/* Inputs that come in a phase, of a set's step; false: none. With the reset gate after the product
 * they have a place of their own in turns. Else they come when all warps are done with what the
 * other set had before: of set 0 with the candidates of set 1, of set 1 with the next gates of set
 * 0. */
WCODEC_DEVICE_FUNCTION bool wcodec_tensor_next(const struct wcodec_tensor_phase *p,
                                               const struct wcodec_recurrence_launch *l,
                                               uint32_t *set, uint64_t *t)
{
    const bool candidate = p->gates == WCODEC_TENSOR_CANDIDATE;
    *set = p->after ? p->set : 1 - p->set;
    *t = p->after || candidate ? p->t + 1 : p->t;
    if (p->after || p->model)
        return p->after;
    return candidate ? p->set == 1 : p->set == 0 && p->t > 0 && l->all_tiles > l->tiles;
}

/* Wait for what other parts have sent that a phase needs. Step 0 has what there is to begin
 * with; r h is sent in each. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_arrive(const struct wcodec_tensor_phase *p,
                                                 struct wcodec_warp *warp,
                                                 const struct wcodec_tensor *s,
                                                 const struct wcodec_recurrence_launch *l)
{
    if (p->gates == WCODEC_TENSOR_CANDIDATE)
        wcodec_tensor_wait(warp, s, l, p->set, p->from, (uint32_t)p->t);
    else if (p->t > 0)
        wcodec_tensor_wait(warp, s, l, p->set, p->from,
                           (uint32_t)(p->after ? (p->t - 1) / 2 : p->t - 1));
    if (p->model && p->gates == WCODEC_TENSOR_GATES && p->t > 0)
        wcodec_model_wait(warp, s, l, p->set, p->t - 1);
    if (p->model && p->gates == WCODEC_TENSOR_GATES)
        wcodec_model_inputs(warp, s, l, p->set, p->t);
}

/* All warps are done with a phase. Of one set, with the reset gate before the
 * product, inputs come now. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_leave(const struct wcodec_tensor_phase *p,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_tensor *s,
                                                const struct wcodec_recurrence_launch *l)
{
    const bool ends = p->gates != WCODEC_TENSOR_GATES;
    wcodec_tensor_send(warp, s, l, p->set, p->from ^ 1, !ends || p->t + 1 < l->steps);
    if (p->model && ends)
        wcodec_model_send(warp, s, l, p->set);
    if (!p->after && !p->model && ends && l->all_tiles == l->tiles && p->t + 1 < l->steps) {
        wcodec_tensor_inputs(p->after, p->model, warp, s, l, 0, 0, p->t + 1);
        wcodec_sync_group(warp);
    }
}

/* Inputs that come in a phase, a chunk of a tile at a time. */
struct wcodec_tensor_inputs_next {
    bool brings, asked;
    uint32_t set, round, tile, chunk;
    uint64_t t;
    float v[8];
};

/* The chunk that was asked for is kept, and another one is asked for, if there is one. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_bring(const struct wcodec_tensor_phase *p,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_tensor *s,
                                                const struct wcodec_recurrence_launch *l,
                                                struct wcodec_tensor_inputs_next *n, bool more)
{
    if (n->asked)
        wcodec_tensor_keep(p->after, p->whole, warp, s, l, n->tile, n->chunk, n->t, n->v);
    n->asked = more && n->brings &&
               wcodec_tensor_round(p->whole, s, l, n->set, n->round, &n->tile, &n->chunk);
    n->round += n->asked;
    if (n->asked)
        wcodec_tensor_take(p->whole, s, l, n->tile, n->chunk, n->t, n->v);
}

/* All of `count` tiles. first: of the phase. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_tiles(const struct wcodec_tensor_phase *p,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_tensor *s,
                                                const struct wcodec_recurrence_launch *l,
                                                uint32_t held[WCODEC_TENSOR_HELD][3][4][2],
                                                uint32_t tile, const uint32_t count, bool first)
{
    const bool makes_gates = p->gates == WCODEC_TENSOR_GATES;
    const uint64_t out = l->out + 4 * (wcodec_recurrence_place(l, p->t) * l->out_step +
                                       s->sequence * l->out_sequence);
    float sums[WCODEC_TENSOR_PAIR][4][4], own[2][4];
    if (p->model)
        wcodec_model_own(s, makes_gates ? WCODEC_MODEL_OF_GATES : WCODEC_MODEL_OF_LOSS, own);
    wcodec_tensor_products(p->after, p->whole, p->gates, warp, s, l, held, tile, count, p->t,
                           p->from, sums);
    if (!makes_gates) {
        wcodec_tensor_step(p->after, p->model, warp, s, l, tile, count, p->from ^ 1, out, own,
                           sums);
        return;
    }
    if (p->model && first)
        wcodec_sync_group(warp);
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < count; k++)
        if (p->model)
            wcodec_model_add_gates(warp, s, tile + k, own, sums[k]);
    wcodec_tensor_gates(warp, s, l, tile, count, sums);
}

/* A phase: these gates of a set in step t. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_set(const struct wcodec_tensor_phase p,
                                              struct wcodec_warp *warp,
                                              const struct wcodec_tensor *s,
                                              const struct wcodec_recurrence_launch *l,
                                              uint32_t held[WCODEC_TENSOR_HELD][3][4][2])
{
    const uint32_t end = wcodec_tensor_end(l, p.set);
    struct wcodec_tensor_inputs_next n = {.asked = false, .round = 0};
    const uint32_t begin = p.set * l->tiles;
    uint32_t tile = begin;
    n.brings = wcodec_tensor_next(&p, l, &n.set, &n.t);
    wcodec_tensor_arrive(&p, warp, s, l);
    WCODEC_UNROLL_NONE
    for (; tile + WCODEC_TENSOR_PAIR <= end; tile += WCODEC_TENSOR_PAIR) {
        wcodec_tensor_bring(&p, warp, s, l, &n, true);
        wcodec_tensor_tiles(&p, warp, s, l, held, tile, WCODEC_TENSOR_PAIR, tile == begin);
    }
    if (tile < end) {
        wcodec_tensor_bring(&p, warp, s, l, &n, true);
        wcodec_tensor_tiles(&p, warp, s, l, held, tile, 1, tile == begin);
    }
    wcodec_tensor_bring(&p, warp, s, l, &n, false);
    if (n.brings)
        wcodec_tensor_inputs(p.after, p.model, warp, s, l, n.set, n.round, n.t);
    wcodec_tensor_leave(&p, warp, s, l);
}

/* All parts are here. begin: make barriers ready before. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_gather(struct wcodec_warp *warp,
                                                 const struct wcodec_tensor *s,
                                                 const struct wcodec_recurrence_launch *l,
                                                 const bool begin)
{
    (void)s, (void)l, (void)begin;
    wcodec_sync_group(warp);
#ifdef WCODEC_CLUSTERS
    if (l->of.parts > 1) {
        if (begin)
            wcodec_cluster_open(warp, s->barriers, 6);
        wcodec_cluster_sync(warp);
    }
#endif
}

/* All steps of all sets. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_run(const bool after, const bool model, const bool whole,
                                              struct wcodec_warp *warp,
                                              const struct wcodec_tensor *s,
                                              const struct wcodec_recurrence_launch *l,
                                              uint32_t held[WCODEC_TENSOR_HELD][3][4][2])
{
    const uint32_t sets = l->all_tiles > l->tiles ? 2 : 1;
    WCODEC_UNROLL_NONE
    for (uint64_t t = 0; t < l->steps; t++) {
        WCODEC_UNROLL_NONE
        for (uint32_t set = 0; set < sets; set++) {
            const uint32_t gates = after ? WCODEC_TENSOR_ALL : WCODEC_TENSOR_GATES;
            const struct wcodec_tensor_phase p = {
                after, model, whole, gates, set, t, after ? (uint32_t)(t % 2) : 0};
            wcodec_tensor_set(p, warp, s, l, held);
        }
        WCODEC_UNROLL_NONE
        for (uint32_t set = 0; set < sets && !after; set++) {
            const struct wcodec_tensor_phase p = {after, model, whole, WCODEC_TENSOR_CANDIDATE,
                                                  set,   t,     1};
            wcodec_tensor_set(p, warp, s, l, held);
        }
    }
    WCODEC_UNROLL_NONE
    for (uint32_t set = 0; set < sets && model && l->steps > 0; set++) {
        wcodec_model_wait(warp, s, l, set, l->steps - 1);
        wcodec_model_inputs(warp, s, l, set, l->steps);
    }
}

/* All of it. after: the reset gate comes after the product; model: it is a rollout, with that
 * before; whole: all weights are held, of one quad of inputs and four of hidden values, and what is
 * read and written is wide, inputs too. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_kernel(const bool after, const bool model,
                                                 const bool whole, struct wcodec_warp *warp,
                                                 const struct wcodec_recurrence_launch *l)
{
    struct wcodec_tensor s;
    uint32_t held[WCODEC_TENSOR_HELD][3][4][2];
    wcodec_recurrence_early(warp, true);
    wcodec_tensor_open(after, warp, &s, l);
    wcodec_tensor_hold(&s, 0, held[0]);
    WCODEC_UNROLL_ALL
    for (uint32_t quad = 0; quad < WCODEC_TENSOR_HELD - 1; quad++)
        if (whole || quad < l->hidden_quads)
            wcodec_tensor_hold(&s, l->input_quads + quad, held[1 + quad]);
    wcodec_tensor_use(after, whole, warp, &s, l, held);
    wcodec_recurrence_early(warp, false);
    WCODEC_UNROLL_NONE
    for (uint32_t i = 0; i < l->all_tiles; i++)
        wcodec_tensor_begin(after, model, warp, &s, l, i);
    WCODEC_UNROLL_NONE
    for (uint32_t set = 0; set < 1 + (l->all_tiles > l->tiles); set++)
        wcodec_tensor_inputs(after, model, warp, &s, l, set, 0, 0);
    /* Others write to this part from here on, and to where hidden values began. */
    wcodec_tensor_gather(warp, &s, l, true);
    wcodec_tensor_run(after, model, whole, warp, &s, l, held);
    WCODEC_UNROLL_NONE
    for (uint32_t tile = 0; tile < l->all_tiles && l->last != 0; tile++) {
        float v[4];
        wcodec_tensor_get_old(after, warp, &s, l, tile, v);
        wcodec_tensor_store(&s, l, wcodec_tensor_row(&s, tile),
                            l->last + 4 * s.sequence * l->of.hidden_count, l->of.hidden_count, v);
    }
    /* Nobody ends while others may still send to it, or it to them. */
    wcodec_tensor_gather(warp, &s, l, false);
}
#endif

#endif
