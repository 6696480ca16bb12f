/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of recurrence.h are given, for hosts and kernels. */
#ifndef WCODEC_KERNELS_RECURRENCE_LAUNCH_H
#define WCODEC_KERNELS_RECURRENCE_LAUNCH_H

#include "backends/kernels/rollout_launch.h"

/* Addresses are the device's, of 32-bit floats at multiples of 4; 0: none. Strides are numbers of
 * floats. */
struct wcodec_recurrence_launch {
    /* Weights of one member, and how they are cut; of the rest parts, rows, hidden_count and
     * inputs, vector (of hidden values) and partials (of U). c_h is in place of W_z's column 0. */
    struct wcodec_rollout_launch of;
    uint64_t values;
    uint64_t begin; /* hidden values, [sequences][hidden] */
    uint64_t out;
    uint64_t last; /* as begin */
    uint64_t values_step, values_sequence, out_step, out_sequence;
    uint64_t steps, sequences;
    uint32_t members; /* so many sequences at a time, by `parts` work-groups each */
    uint32_t after;   /* the reset gate comes after the product */
    uint32_t reverse;
    uint32_t inputs_vector; /* floats of an input in shared memory */
    uint32_t inputs_partials;
    /* By tensor cores (recurrence_tensor.h): inputs and hidden values in quads of 64; tiles of 16
     * sequences that a member, which is a cluster, has, and of the first of two sets; wide: all
     * addresses are multiples of 16, strides and hidden_count of 4, and those from a sequence to
     * the next less than 2^32. */
    uint32_t input_quads, hidden_quads, all_tiles, tiles, wide;
};
WCODEC_STRUCT_SIZE(wcodec_recurrence_launch, 328);

/* Floats of shared memory: barriers, two vectors, gates, sums of U_z and U_r, of U_h twice, the
 * input, sums of W twice; weights follow. */
#define WCODEC_RECURRENCE_SHARED(vector, rows, partials, inputs_vector, inputs_partials) \
    (4 + 2 * (vector) + ((2 * (rows) + 3u) & ~3u) + 3 * (partials) + (inputs_vector) + \
     2 * (inputs_partials))

/* By tensor cores: bytes of barriers, two for each set, and one for its losses; of a warp's weights
 * of a quad, for the three gates; of shared memory. With the reset gate before the product that is
 * z, and of what hidden values are floats what operands have not; a step's inputs once. */
#define WCODEC_TENSOR_BARRIERS 64u
#define WCODEC_TENSOR_QUAD 3072u
#define WCODEC_TENSOR_SHARED(input_quads, hidden_quads, warps, tiles, after) \
    (WCODEC_TENSOR_BARRIERS + (4096 * (hidden_quads) + ((after) ? 4096u : 2048u) * (input_quads) + \
                               ((after) ? 512u : 768u) * (warps)) * \
                                  (tiles))

/* Of rollouts also losses of a tile, and four sums of all parts (recurrence_model.h). */
#define WCODEC_TENSOR_SHARED_MODEL(input_quads, hidden_quads, warps, tiles, parts) \
    (WCODEC_TENSOR_SHARED(input_quads, hidden_quads, warps, tiles, false) + \
     (256 * (parts) + 64) * (tiles))

/* By four warps' products (recurrence_groups.h): sequences of a set; bytes of barriers of up to 6
 * sets, of a part's share of a vector of a set, of all that a set has, of shared memory. */
#define WCODEC_GROUPS_MOST 4 /* parts */
#define WCODEC_GROUPS_SET 48u
#define WCODEC_GROUPS_CLASSES 256u
#define WCODEC_GROUPS_HEAD 768u
#define WCODEC_GROUPS_ITEMS 384u
#define WCODEC_GROUPS_PART (64u * 2 * WCODEC_GROUPS_SET)
#define WCODEC_GROUPS_SET_BYTES(parts) \
    ((2 * (parts) + 4) * WCODEC_GROUPS_PART + (16 * (parts) + 8) * WCODEC_GROUPS_SET)
#define WCODEC_GROUPS_SHARED(parts, sets) \
    (WCODEC_GROUPS_HEAD + (sets)*WCODEC_GROUPS_SET_BYTES(parts))

#endif
