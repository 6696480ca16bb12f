/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Sets of rollouts (recurrence_groups.h): where things are in shared memory, weights, what sets
 * begin with, and what is left of them. */
#ifndef WCODEC_KERNELS_RECURRENCE_SETS_H
#define WCODEC_KERNELS_RECURRENCE_SETS_H

#include "backends/kernels/recurrence_model.h"
#include "backends/kernels/warpgroup.h"

#ifdef WCODEC_GROUP_PRODUCTS
/* Blocks of 8 sequences that a set has, those whose candidates are made together, and barriers:
 * hidden values have come, losses, and r h of four warps of each part, and of the other four. */
#define WCODEC_GROUPS_BLOCKS (WCODEC_GROUPS_SET / 8)
#define WCODEC_GROUPS_AT_ONCE 3
enum {
    WCODEC_GROUPS_HIDDEN,
    WCODEC_GROUPS_LOSS,
    WCODEC_GROUPS_RESET,
    WCODEC_GROUPS_BARRIERS = WCODEC_GROUPS_RESET + 2
};

/* Where things of a set are in shared memory. */
struct wcodec_groups_set {
    uint32_t barriers, hidden, reset, input;
    uint32_t rest; /* of hidden values, what the vector has not: [8 warps][blocks][32 lanes] */
    uint32_t gate; /* z, likewise, of two sequences each */
    uint32_t sums; /* of a loss, [parts][sequences][4] */
    uint32_t loss; /* [2][sequences], one for each four of the warps that make gates */
    /* Of the four warps that make candidates, [4][sequences][4]: where r h of another part is,
     * which is used by then, and comes again after the losses of the step. */
    uint32_t shares;
};

struct wcodec_groups {
    struct wcodec_tensor of;
    uint32_t lane, sets;
    uint32_t classes, count; /* of the part: their list in shared memory, and how many */
};

WCODEC_DEVICE_FUNCTION struct wcodec_groups_set
wcodec_groups_at(const uint32_t parts, const struct wcodec_groups *s, uint32_t set)
{
    struct wcodec_groups_set at;
    const uint32_t vector = parts * WCODEC_GROUPS_PART;
    at.barriers = s->of.barriers + 8 * WCODEC_GROUPS_BARRIERS * set;
    at.hidden = s->of.hidden + set * WCODEC_GROUPS_SET_BYTES(parts);
    at.reset = at.hidden + vector;
    at.input = at.reset + vector;
    at.rest = at.input + WCODEC_GROUPS_PART;
    at.gate = at.rest + WCODEC_GROUPS_PART;
    at.sums = at.gate + 2 * WCODEC_GROUPS_PART;
    at.loss = at.sums + 16 * WCODEC_GROUPS_SET * parts;
    at.shares = at.reset + (s->of.part + 1) % parts * WCODEC_GROUPS_PART;
    return at;
}

WCODEC_DEVICE_FUNCTION void wcodec_groups_open(const uint32_t parts, struct wcodec_warp *warp,
                                               struct wcodec_groups *s,
                                               const struct wcodec_recurrence_launch *l)
{
    const uint32_t group = wcodec_group(warp), all = l->all_tiles;
    s->of.part = group % parts;
    /* All lanes of a warp say the same, and a compiler sees it. */
    s->of.warp = wcodec_shuffle(warp, wcodec_warp_number(warp), 0);
    s->lane = wcodec_lane(warp);
    s->of.g = s->lane / 4;
    s->of.q = s->lane % 4;
    s->of.sequence = (uint64_t)(group / parts) * 16 * all;
    s->of.rows = l->sequences - s->of.sequence < 16 * all
                     ? (uint32_t)(l->sequences - s->of.sequence)
                     : 16 * all;
    s->of.barriers = wcodec_shared_base(warp);
    s->of.hidden = s->of.barriers + WCODEC_GROUPS_HEAD;
    s->classes = s->of.barriers + WCODEC_GROUPS_CLASSES;
    s->of.weights = l->of.weights + 4 * s->of.part * l->of.part_floats;
    s->of.model = s->of.weights + (uint64_t)WCODEC_TENSOR_QUAD * (1 + parts) * 8;
    s->sets = (16 * all + WCODEC_GROUPS_SET - 1) / WCODEC_GROUPS_SET;
}

/* Where a block's pair of sequences of a hidden value is in a vector: four bytes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_groups_place(uint32_t unit, uint32_t block, uint32_t q)
{
    return (unit / 8 * WCODEC_GROUPS_BLOCKS + block) * 128 + unit % 8 * 16 + 4 * q;
}

/* What lanes have beside, of a block of eight hidden values. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_groups_own(const struct wcodec_groups *s, uint32_t eight,
                                                  uint32_t block)
{
    return (eight * WCODEC_GROUPS_BLOCKS + block) * 32 + s->lane;
}

/* Four numbers of a chunk of 16 columns from the weights of two sets of eight rows. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_hold(const struct wcodec_groups *s, const uint32_t quads,
                                               uint32_t warps[2], uint32_t gates[2],
                                               uint32_t held[][4][4])
{
    WCODEC_UNROLL_ALL
    for (uint32_t quad = 0; quad < quads; quad++) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t half = i / 2, pair = i % 2;
            uint32_t v[4];
            WCODEC_READ_16(v, (const WCODEC_GLOBAL uint8_t *)(s->of.weights +
                                                              (uint64_t)WCODEC_TENSOR_QUAD *
                                                                  (warps[half] * quads + quad) +
                                                              512 * (2 * gates[half] + pair) +
                                                              16 * s->lane));
            held[quad][2 * pair][half] = v[0];
            held[quad][2 * pair][2 + half] = v[1];
            held[quad][2 * pair + 1][half] = v[2];
            held[quad][2 * pair + 1][2 + half] = v[3];
        }
    }
}

/* Hidden values of a pair of sequences as floats, from what the vector and what the lane has. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_old(uint32_t pair, uint32_t rest, float *v)
{
    v[0] = wcodec_bits_float((pair << 16) + (uint32_t)((int32_t)(rest << 16) >> 16));
    v[1] = wcodec_bits_float((pair & 0xffff0000u) + (uint32_t)((int32_t)rest >> 16));
}

/* Pairs of sequences of a set that a thread takes at a time before the first step: of 64 rows, so
 * that loads are waited for together. */
#define WCODEC_GROUPS_PAIRS (64 * WCODEC_GROUPS_SET / 2 / WCODEC_GROUPS_ITEMS)

/* A hidden value to begin with, or the feature of whose tanh it is, as wcodec_tensor_first() has
 * it: what is not there is not loaded, without a branch that others would wait for. */
WCODEC_DEVICE_FUNCTION float wcodec_groups_first(const struct wcodec_recurrence_launch *l,
                                                 uint64_t sequence, uint32_t unit)
{
    const bool given = l->begin != 0, is = sequence < l->sequences && unit < l->of.hidden_count &&
                                           (given || unit < l->of.inputs);
    const uint64_t from = given ? l->begin : l->values,
                   stride = given ? l->of.hidden_count : l->values_sequence;
    return is ? wcodec_rollout_float(from, sequence * stride + unit) : 0;
}

/* Hidden values to begin with, of all parts. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_begin(const uint32_t parts, struct wcodec_warp *warp,
                                                const struct wcodec_groups *s,
                                                const struct wcodec_recurrence_launch *l,
                                                uint32_t set)
{
    const struct wcodec_groups_set at = wcodec_groups_at(parts, s, set);
    WCODEC_UNROLL_NONE
    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t unit = wcodec_thread(warp) % 64, first = wcodec_thread(warp) / 64;
        float v[WCODEC_GROUPS_PAIRS][2];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2 * WCODEC_GROUPS_PAIRS; i++)
            v[i / 2][i % 2] =
                wcodec_groups_first(l,
                                    s->of.sequence + WCODEC_GROUPS_SET * set +
                                        2 * (first + i / 2 * (WCODEC_GROUPS_ITEMS / 64)) + i % 2,
                                    64 * part + unit);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2 * WCODEC_GROUPS_PAIRS; i++)
            if (l->begin == 0 && 64 * part < l->of.inputs)
                v[i / 2][i % 2] = wcodec_tanh(v[i / 2][i % 2]);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < WCODEC_GROUPS_PAIRS; i++) {
            const uint32_t two = first + i * (WCODEC_GROUPS_ITEMS / 64),
                           pair = wcodec_tensor_pair(v[i][0], v[i][1]);
            wcodec_put_u32(
                warp, at.hidden + wcodec_groups_place(64 * part + unit, two / 4, two % 4), pair);
            if (part == s->of.part)
                wcodec_put_u32(warp,
                               at.rest + 4 * ((unit / 8 * WCODEC_GROUPS_BLOCKS + two / 4) * 32 +
                                              4 * (unit % 8) + two % 4),
                               wcodec_tensor_rest(pair, v[i]));
        }
    }
}

/* Inputs of all steps but input 0. Columns of W change their places (wcodec_tensor_take()). */
WCODEC_DEVICE_FUNCTION void wcodec_groups_features(const uint32_t parts, struct wcodec_warp *warp,
                                                   const struct wcodec_groups *s,
                                                   const struct wcodec_recurrence_launch *l,
                                                   uint32_t set)
{
    const struct wcodec_groups_set at = wcodec_groups_at(parts, s, set);
    const uint32_t input = wcodec_thread(warp) % 64, first = wcodec_thread(warp) / 64,
                   column =
                       input / 16 * 16 + input % 16 / 4 * 2 + input % 2 + (input % 4 >= 2 ? 8 : 0);
    float v[WCODEC_GROUPS_PAIRS][2];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2 * WCODEC_GROUPS_PAIRS; i++) {
        const uint32_t row =
            WCODEC_GROUPS_SET * set + 2 * (first + i / 2 * (WCODEC_GROUPS_ITEMS / 64)) + i % 2;
        v[i / 2][i % 2] = input > 0 && row < s->of.rows
                              ? wcodec_recurrence_value(l, s->of.sequence + row, 0, input)
                              : 0;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < WCODEC_GROUPS_PAIRS; i++) {
        const uint32_t two = first + i * (WCODEC_GROUPS_ITEMS / 64);
        wcodec_put_u32(warp, at.input + wcodec_groups_place(column, two / 4, two % 4),
                       wcodec_tensor_pair(v[i][0], v[i][1]));
    }
}

/* The list of the part's hidden values that are logits: their numbers, and what p of them counts.
 */
WCODEC_DEVICE_FUNCTION void wcodec_groups_find_classes(struct wcodec_warp *warp,
                                                       struct wcodec_groups *s)
{
    s->count = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t unit = 32 * i + s->lane;
        const uint64_t own = s->of.model + 16 * 64 + 32 * unit + 4 * WCODEC_MODEL_OF_LOSS;
        const bool is = wcodec_rollout_float(own, 3) != 0;
        const uint32_t all = wcodec_ballot(warp, is);
        const float by = wcodec_rollout_float(own, 2);
        if (is && s->of.warp == 0)
            wcodec_put_u2(
                warp, s->classes + 8 * (s->count + WCODEC_POPCOUNT(all & ((1u << s->lane) - 1))),
                wcodec_make_u2(unit, WCODEC_FLOAT_BITS(by)));
        s->count += WCODEC_POPCOUNT(all);
    }
}

/* All parts are here. begin: make barriers ready before. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_gather(struct wcodec_warp *warp,
                                                 const struct wcodec_groups *s, const bool begin)
{
    if (begin) {
        wcodec_cluster_ready(warp);
        wcodec_cluster_open(warp, s->of.barriers, WCODEC_GROUPS_BARRIERS * s->sets);
    }
    wcodec_cluster_sync(warp);
}

/* The last hidden values of a set to where the caller wants them, by who made them. */
WCODEC_DEVICE_FUNCTION void wcodec_groups_store(const uint32_t parts, struct wcodec_warp *warp,
                                                const struct wcodec_groups *s,
                                                const struct wcodec_recurrence_launch *l,
                                                uint32_t set)
{
    const struct wcodec_groups_set at = wcodec_groups_at(parts, s, set);
    WCODEC_UNROLL_NONE
    for (uint32_t i = 0; i < 2 * WCODEC_GROUPS_BLOCKS; i++) {
        const uint32_t eight = 2 * (s->of.warp - 8) + i % 2, block = i / 2,
                       unit = 64 * s->of.part + 8 * eight + s->of.g,
                       row = WCODEC_GROUPS_SET * set + 8 * block + 2 * s->of.q;
        float v[2];
        wcodec_groups_old(
            wcodec_shared_u32(warp, at.hidden + wcodec_groups_place(unit, block, s->of.q)),
            wcodec_shared_u32(warp, at.rest + 4 * wcodec_groups_own(s, eight, block)), v);
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 2; k++)
            if (row + k < s->of.rows && unit < l->of.hidden_count)
                wcodec_rollout_put(l->last, (s->of.sequence + row + k) * l->of.hidden_count + unit,
                                   v[k]);
    }
}
#endif

#endif
