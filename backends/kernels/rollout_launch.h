/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of rollout.h are given, for hosts and kernels. Addresses are the
 * device's, all of 32-bit floats, multiples of 16. */
#ifndef WCODEC_KERNELS_ROLLOUT_LAUNCH_H
#define WCODEC_KERNELS_ROLLOUT_LAUNCH_H

#include "backends/kernels/floats.h"

/* A matrix of N rows is cut into slices of columns, a multiple of 4: a work-item adds the products
 * of a row in a slice. Its weights are [columns / 4][slices][N][4], with zeros after the last
 * column. Those of the first columns may stay in registers, of the next ones in shared memory. */
struct wcodec_rollout_cut {
    uint32_t slices;
    uint32_t columns;
    uint32_t kept;   /* in shared memory, a multiple of 4 */
    uint32_t cached; /* the next ones, in the first cache, likewise; others pass it by */
};

struct wcodec_rollout_launch {
    uint64_t weights;  /* [members][parts][part_floats]: backend.h */
    uint64_t head;     /* [hidden + stochastic] */
    uint64_t features; /* [inputs] */
    uint64_t hidden;   /* [hidden], those of the next member after hidden_stride of them */
    uint64_t stay;     /* [members][parts][3][rows], to work in */
    uint64_t loss;     /* [members][steps] */
    uint64_t squares;  /* [members][steps]: sums of the squares of hidden values */
    uint64_t entropy;  /* [members][steps]; not of the mode reference */
    uint64_t last;     /* [members][hidden + stochastic]: after the last step */
    uint64_t exchange; /* [members][2][hidden] pairs of words, zeros; 0: parts do not meet there */
    uint64_t fault;    /* a word, 0 */
    uint64_t part_floats;
    uint64_t seed;
    struct wcodec_rollout_cut cut[3]; /* of W, of U_z and U_r, of U_h */
    uint32_t parts;                   /* work-groups of a member */
    uint32_t rows;                    /* of a part, of each gate */
    uint32_t hidden_count, hidden_stride, stochastic, inputs, steps;
    uint32_t mode;
    uint32_t vector;   /* floats of a vector in shared memory */
    uint32_t partials; /* floats of sums there, twice */
    uint32_t bounded;  /* are all hidden values within the bound? */
    uint32_t history;  /* hidden values that are kept, of rollout_warps.h */
    uint32_t patience; /* reads of a number that another part has not sent, before it is a fault */
};
WCODEC_STRUCT_SIZE(wcodec_rollout_launch, 208);

/* The matrices: of each 3, 2 and 1 times the part's rows. */
enum { WCODEC_ROLLOUT_OF_INPUTS, WCODEC_ROLLOUT_OF_GATES, WCODEC_ROLLOUT_OF_RESET };

/* Work-items that share the sums of a loss; most columns of U_z and U_r whose weights stay in a
 * work-item's registers, and half of them of U_h. */
enum { WCODEC_ROLLOUT_LOSS_ITEMS = 32, WCODEC_ROLLOUT_HELD = 64 };

/* Hidden values no larger than this stay so: a step takes them nearer to numbers below 1. Then
 * stochastic ones are above e^-8 / 4096: logits need no other shift than this, and all count as to
 * the entropy. */
#define WCODEC_ROLLOUT_BOUND 4.0f

/* What stochastic values and losses are: those of wcodec/recurrent.h, in its order. */
enum { WCODEC_ROLLOUT_PRODUCTION, WCODEC_ROLLOUT_REFERENCE, WCODEC_ROLLOUT_SAMPLED };

/* Floats of shared memory: barriers, two vectors, stochastic values and where they are from, the
 * head, gates, sums; weights follow. */
#define WCODEC_ROLLOUT_SHARED(vector, stochastic, rows, partials) \
    (4 + 3 * (vector) + 3 * (((stochastic) + 3u) & ~3u) + (((rows) + 3u) & ~3u) + 2 * (partials) + \
     6 * WCODEC_ROLLOUT_LOSS_ITEMS)

/* Of rollout_warps.h: barriers, r h, the head, features, and hidden values. */
#define WCODEC_WARPS_SHARED(vector, inputs, history) \
    (4 + (2 + (history)) * (vector) + (((inputs) + 3u) & ~3u))

#endif
