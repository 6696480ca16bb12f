/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A member of an ensemble, or a recurrent unit by itself, by its parts, which are work-groups: one,
 * or several, those of a cluster, which write to each other's shared memory, or such as meet in
 * global memory (rollout_exchange.h). Each part has some rows of all matrices, and all hidden
 * values; what it makes of its rows goes to all parts.
 *
 * Work-items are not in warps: they have rows and slices of columns (rollout_launch.h), and sums
 * of slices go to shared memory, to be added there in order. Weights stay in registers where a
 * work-item has few (held), in shared memory where there is room (kept), or are read from memory in
 * each step. */
#ifndef WCODEC_KERNELS_ROLLOUT_PARTS_H
#define WCODEC_KERNELS_ROLLOUT_PARTS_H

#include "backends/kernels/rollout_exchange.h"

/* What a work-item works with. */
struct wcodec_rollout {
    uint32_t item, items;
    /* Do its parts, if there are several, meet in memory? Known when the kernel is compiled. */
    bool meets;
    uint32_t part;
    uint64_t member;
    uint64_t matrices[3];             /* addresses of the part's W, U_z and U_r, U_h */
    uint64_t first;                   /* [3][rows]: weights of input 0 */
    uint64_t bias;                    /* [3][rows] */
    uint64_t stay;                    /* [3][rows]: what W and the bias add in all steps */
    WCODEC_GROUP_LOCAL float *h, *rh; /* vectors: hidden values; before the first step features */
    WCODEC_GROUP_LOCAL float *p;      /* e to the stochastic values' logits */
    WCODEC_GROUP_LOCAL uint32_t *chosen; /* hidden values that are these logits */
    WCODEC_GROUP_LOCAL float *head;      /* [vector], with zeros, then of stochastic values */
    WCODEC_GROUP_LOCAL float *z;         /* of the part's rows */
    /* Sums of the matrices' slices. Parts meet without their work-items, so that sums of U_z and
     * U_r may still be read when those of U_h are made: both have a place. */
    WCODEC_GROUP_LOCAL float *sums[3];
    WCODEC_GROUP_LOCAL float *found;   /* [6][WCODEC_ROLLOUT_LOSS_ITEMS] */
    WCODEC_GROUP_LOCAL float *kept[3]; /* the matrices' columns that are kept */
    uint32_t barriers;                 /* shared address: of r h, and of h */
    float shift;                       /* is subtracted from logits before e to them */
    /* Of rows that have this item's number: what inputs add, and their first one by; where its
     * slices' columns begin. */
    float own_stay[2], own_first[2];
    uint32_t own_column[3];
};

/* Numbers that are waited for together. */
#define WCODEC_ROLLOUT_AT_ONCE 4

WCODEC_DEVICE_FUNCTION float wcodec_rollout_float(uint64_t address, uint64_t i)
{
    return ((const WCODEC_GLOBAL float *)address)[i];
}

WCODEC_DEVICE_FUNCTION void wcodec_rollout_put(uint64_t address, uint64_t i, float v)
{
    ((WCODEC_GLOBAL float *)address)[i] = v;
}

/* Where the weights of a part are, by its number among all, and what of them is an item's. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_open_part(struct wcodec_rollout *r,
                                                     const struct wcodec_rollout_launch *l,
                                                     uint32_t number)
{
    uint64_t at = l->weights + 4 * (uint64_t)number * l->part_floats;
    r->part = number % l->parts;
    WCODEC_UNROLL_ALL
    for (uint32_t m = 0; m < 3; m++) {
        r->matrices[m] = at;
        at += (uint64_t)4 * (3 - m) * l->rows * l->cut[m].slices * l->cut[m].columns;
    }
    r->first = at;
    r->bias = r->first + 12 * l->rows;
    WCODEC_UNROLL_ALL
    for (uint32_t m = 0; m < 3; m++)
        r->own_column[m] = r->item / ((3 - m) * l->rows) * l->cut[m].columns;
}

/* The first columns of a work-item's slice: their weights stay in registers. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_hold(const uint32_t count,
                                                const struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l,
                                                const uint32_t matrix, float *held)
{
    const uint32_t all = l->cut[matrix].slices * (3 - matrix) * l->rows;
    WCODEC_UNROLL_ALL
    for (uint32_t c = 0; c < count; c += 4) {
        held[c] = held[c + 1] = held[c + 2] = held[c + 3] = 0;
        if (r->item < all && c < l->cut[matrix].columns)
            WCODEC_LOAD_FLOATS(held + c, (const WCODEC_GLOBAL float *)r->matrices[matrix] +
                                             (uint64_t)4 * (c / 4 * all + r->item));
    }
}

/* Weights of columns in shared memory, from `kept` on; begin: columns of each matrix that are held.
 */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_keep(struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l,
                                                const uint32_t *begin,
                                                WCODEC_GROUP_LOCAL float *kept)
{
    WCODEC_UNROLL_ALL
    for (uint32_t m = 0; m < 3; m++) {
        const uint32_t all = l->cut[m].slices * (3 - m) * l->rows, count = l->cut[m].kept * all;
        r->kept[m] = kept;
        WCODEC_UNROLL_SOME
        for (uint32_t i = 4 * r->item; i < count; i += 4 * r->items) {
            float v[4];
            WCODEC_LOAD_FLOATS(v, (const WCODEC_GLOBAL float *)r->matrices[m] + begin[m] * all + i);
            WCODEC_UNROLL_ALL
            for (uint32_t k = 0; k < 4; k++)
                kept[i + k] = v[k];
        }
        kept += count;
    }
}

/* What a slice of a row adds from column `begin` on, to four sums; the first of these are kept. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_read(const struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l,
                                                const uint32_t matrix, uint32_t begin, uint32_t at,
                                                const WCODEC_GROUP_LOCAL float *from, float *sum)
{
    const uint32_t all = l->cut[matrix].slices * (3 - matrix) * l->rows,
                   columns = l->cut[matrix].columns;
    uint32_t end = begin + l->cut[matrix].kept;
    const WCODEC_GROUP_LOCAL float *kept = r->kept[matrix] + 4 * at;
    WCODEC_UNROLL_SOME
    for (; begin < end; begin += 4, kept += 4 * all) {
        float v[4], w[4];
        WCODEC_TAKE_FLOATS(w, kept);
        WCODEC_TAKE_FLOATS(v, from + begin);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            sum[i] += w[i] * v[i];
    }
    const WCODEC_GLOBAL float *weights =
        (const WCODEC_GLOBAL float *)r->matrices[matrix] + (uint64_t)4 * (begin / 4 * all + at);
    end = begin + l->cut[matrix].cached;
    WCODEC_UNROLL_MANY
    for (; begin < end; begin += 4, weights += (uint64_t)4 * all) {
        float v[4], w[4];
        WCODEC_LOAD_FLOATS(w, weights);
        WCODEC_TAKE_FLOATS(v, from + begin);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            sum[i] += w[i] * v[i];
    }
    WCODEC_UNROLL_MANY
    for (uint32_t c = begin; c < columns; c += 4, weights += (uint64_t)4 * all) {
        float v[4], w[4];
        if (r->meets)
            WCODEC_PASS_FLOATS(w, weights);
        else
            WCODEC_LOAD_FLOATS(w, weights);
        WCODEC_TAKE_FLOATS(v, from + c);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            sum[i] += w[i] * v[i];
    }
}

/* Sums of slices of a matrix times a vector. held: of `count` columns, as above. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_slices(const uint32_t count,
                                                  const struct wcodec_rollout *r,
                                                  const struct wcodec_rollout_launch *l,
                                                  const uint32_t matrix, const float *held,
                                                  const WCODEC_GROUP_LOCAL float *vector)
{
    const uint32_t rows = (3 - matrix) * l->rows, all = l->cut[matrix].slices * rows;
    float sum[4] = {0, 0, 0, 0};
    if (count > 0) {
        const WCODEC_GROUP_LOCAL float *from = vector + r->own_column[matrix];
        if (r->item >= all)
            return;
        WCODEC_UNROLL_ALL
        for (uint32_t c = 0; c < count; c += 4) {
            float v[4];
            WCODEC_TAKE_FLOATS(v, from + c);
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < 4; i++)
                sum[i] += held[c + i] * v[i];
        }
        wcodec_rollout_read(r, l, matrix, count, r->item, from, sum);
        r->sums[matrix][r->item] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        return;
    }
    WCODEC_UNROLL_NONE
    for (uint32_t at = r->item; at < all; at += r->items) {
        sum[0] = sum[1] = sum[2] = sum[3] = 0;
        wcodec_rollout_read(r, l, matrix, 0, at, vector + at / rows * l->cut[matrix].columns, sum);
        r->sums[matrix][at] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

/* Those of a row. */
WCODEC_DEVICE_FUNCTION float wcodec_rollout_row(const struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l,
                                                const uint32_t matrix, uint32_t row)
{
    const uint32_t rows = (3 - matrix) * l->rows;
    const WCODEC_GROUP_LOCAL float *from = r->sums[matrix] + row;
    float sum = 0;
    WCODEC_UNROLL_NONE
    for (uint32_t begin = 0; begin < l->cut[matrix].slices; begin += WCODEC_ROLLOUT_AT_ONCE) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < WCODEC_ROLLOUT_AT_ONCE; i++)
            sum += begin + i < l->cut[matrix].slices ? from[(begin + i) * rows] : 0;
    }
    return sum;
}

/* Number `at` of a vector, in all parts of the member, for the turn-th time. counter: 0 of r h, 8
 * of h. Several items may have the number: this one is the first-th of `step`. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_publish(struct wcodec_warp *warp,
                                                   const struct wcodec_rollout *r,
                                                   const struct wcodec_rollout_launch *l,
                                                   uint32_t counter, uint32_t turn,
                                                   WCODEC_GROUP_LOCAL float *vector, uint32_t at,
                                                   float v, uint32_t first, uint32_t step)
{
    (void)warp, (void)r, (void)counter, (void)turn, (void)step;
#ifdef WCODEC_EXCHANGES
    if (r->meets) {
        if (first != 0)
            return;
        vector[at] = v;
        if (l->parts > 1)
            wcodec_rollout_send(wcodec_rollout_place(l, r->member, counter), at, v, turn);
        return;
    }
#endif
    if (l->parts == 1) {
        if (first == 0)
            vector[at] = v;
    }
#ifdef WCODEC_CLUSTERS
    else
        WCODEC_UNROLL_NONE
    for (uint32_t part = first; part < l->parts; part += step)
        wcodec_cluster_put(warp, vector + at, part, v, r->barriers + counter);
#endif
}

/* All parts have published, for the turn-th time at this barrier. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_meet(struct wcodec_warp *warp,
                                                const struct wcodec_rollout *r,
                                                const struct wcodec_rollout_launch *l,
                                                uint32_t counter, uint32_t turn,
                                                WCODEC_GROUP_LOCAL float *vector)
{
    (void)warp, (void)r, (void)l, (void)counter, (void)turn, (void)vector;
#ifdef WCODEC_EXCHANGES
    if (r->meets && l->parts > 1) {
        /* Who waits keeps others of its work-group from sending, where items take turns. */
        WCODEC_SYNC_ITEMS(warp);
        wcodec_rollout_receive(l, wcodec_rollout_place(l, r->member, counter), r->part * l->rows,
                               turn, vector, r->item, r->items);
    }
#endif
#ifdef WCODEC_CLUSTERS
    if (!r->meets && l->parts > 1)
        wcodec_cluster_wait(warp, r->barriers + counter, 4 * l->hidden_count, turn);
    else
#endif
        WCODEC_SYNC_ITEMS(warp);
}

/* All parts are here. begin: make barriers ready before. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_gather(struct wcodec_warp *warp,
                                                  const struct wcodec_rollout *r,
                                                  const struct wcodec_rollout_launch *l,
                                                  const bool begin)
{
    (void)warp, (void)r, (void)l, (void)begin;
#ifdef WCODEC_CLUSTERS
    if (!r->meets && l->parts > 1) {
        if (begin)
            wcodec_cluster_open(warp, r->barriers, 2);
        wcodec_cluster_sync(warp);
    } else
#endif
        WCODEC_SYNC_ITEMS(warp);
}

#endif
