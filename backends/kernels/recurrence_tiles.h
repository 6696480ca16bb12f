/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A recurrent unit by tensor cores (recurrence_tensor.h): what a lane works with, where things are,
 * inputs and hidden values as operands. */
#ifndef WCODEC_KERNELS_RECURRENCE_TILES_H
#define WCODEC_KERNELS_RECURRENCE_TILES_H

#include "backends/kernels/recurrence.h"

#ifdef WCODEC_MATRIX_PRODUCTS
/* Quads, of four chunks, that are held: one of W, and those of U. */
#define WCODEC_TENSOR_HELD 5

/* Tiles that a warp takes together, so that one's sums are made while the other's are waited for.
 */
#define WCODEC_TENSOR_PAIR 2

/* Sums: of z and r, and of the candidate by inputs, and with the reset gate after the product by
 * hidden values. Phases: which gates are made, a bit each. */
enum { WCODEC_TENSOR_Z, WCODEC_TENSOR_R, WCODEC_TENSOR_BY_INPUTS, WCODEC_TENSOR_BY_HIDDEN };
enum { WCODEC_TENSOR_GATES = 3, WCODEC_TENSOR_CANDIDATE = 4, WCODEC_TENSOR_ALL = 7 };

struct wcodec_tensor {
    uint32_t part, warp, warps;
    uint32_t g, q;     /* the lane's row of eight, and place of four */
    uint64_t sequence; /* the cluster's first */
    uint32_t rows;     /* sequences that it has */
    uint32_t unit;     /* the lane's first hidden value, of two */
    uint64_t weights;  /* the warp's, as the lane takes them */
    /* Shared addresses, but for barriers as the lane takes them: two vectors, inputs, hidden values
     * of the lane's own as floats, or what of these the vector has not, and z. */
    uint32_t barriers, hidden, hidden_size, input, input_size, old, gate;
    /* Of rollouts (recurrence_model.h): shared addresses, and the numbers of the lane's hidden
     * values. */
    uint32_t sums, loss;
    uint64_t model;
    float bias[4][2];
};

WCODEC_DEVICE_FUNCTION void wcodec_tensor_open(const bool after, struct wcodec_warp *warp,
                                               struct wcodec_tensor *s,
                                               const struct wcodec_recurrence_launch *l)
{
    const uint32_t group = wcodec_group(warp), lane = wcodec_lane(warp), all = l->all_tiles,
                   quads = l->input_quads + l->hidden_quads;
    s->part = group % l->of.parts;
    s->warp = wcodec_warp_number(warp);
    s->warps = wcodec_warps(warp);
    s->g = lane / 4;
    s->q = lane % 4;
    s->sequence = (uint64_t)(group / l->of.parts) * 16 * all;
    s->rows =
        l->sequences - s->sequence < 16 * all ? (uint32_t)(l->sequences - s->sequence) : 16 * all;
    s->barriers = wcodec_shared_base(warp);
    s->hidden = s->barriers + WCODEC_TENSOR_BARRIERS + 16 * lane;
    s->hidden_size = 2048 * l->hidden_quads * all;
    s->input = s->hidden + 2 * s->hidden_size;
    s->input_size = 2048 * l->input_quads * all;
    s->old = s->input + (after ? 2 : 1) * s->input_size - (after ? 0 : 8 * lane);
    s->gate = s->old + (after ? 0 : 8 * lane + 256 * s->warps * all);
    s->sums = s->gate - 16 * lane + 512 * s->warps * all;
    s->loss = s->sums + 256 * l->of.parts * all;
    const uint64_t part = l->of.weights + 4 * s->part * l->of.part_floats,
                   bias = part + (uint64_t)WCODEC_TENSOR_QUAD * quads * s->warps;
    const uint32_t row = 8 * s->warp + 2 * s->q;
    s->unit = s->part * l->of.rows + row;
    s->weights = part + (uint64_t)WCODEC_TENSOR_QUAD * quads * s->warp + 16 * lane;
    s->model = bias + 16 * l->of.rows + 32 * row;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        s->bias[i][0] = wcodec_rollout_float(bias, i * l->of.rows + row);
        s->bias[i][1] = wcodec_rollout_float(bias, i * l->of.rows + row + 1);
    }
}

/* Two floats as BF16, rounded to nearest even. NaN stays. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_pair(float low, float high)
{
#ifdef WCODEC_FLOAT_PAIRS
    return wcodec_pair_bf16(low, high);
#else
    const uint32_t a = low == low ? wcodec_to_bf16(WCODEC_FLOAT_BITS(low)) : 0x7fff,
                   b = high == high ? wcodec_to_bf16(WCODEC_FLOAT_BITS(high)) : 0x7fff;
    return b << 16 | a;
#endif
}

/* To 2^-21, which is nothing beside what BF16 does not have. */
WCODEC_DEVICE_FUNCTION float wcodec_tensor_sigmoid(float x)
{
    return wcodec_quick_reciprocal(1 + wcodec_quick_exp2(x * -1.44269504f));
}

WCODEC_DEVICE_FUNCTION float wcodec_tensor_tanh(float x)
{
    return 1 - 2 * wcodec_quick_reciprocal(1 + wcodec_quick_exp2(x * 2.88539008f));
}

/* Tiles of a set: from its first one, l->tiles * set, to before the end. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_end(const struct wcodec_recurrence_launch *l,
                                                  uint32_t set)
{
    return set == 0 ? l->tiles : l->all_tiles;
}

/* Where a chunk of a tile of a vector of so many quads begins. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_chunk(uint32_t quads, uint32_t tile, uint32_t chunk)
{
    return 512 * (4 * quads * tile + chunk);
}

/* The vector of hidden values that is number `which` in turns. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_vector(const struct wcodec_tensor *s, uint32_t which)
{
    return s->hidden + which % 2 * s->hidden_size;
}

/* What the lane has of all tiles: floats of two sequences and two hidden values. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_own(const struct wcodec_tensor *s, uint32_t tile)
{
    return 512 * (tile * s->warps + s->warp);
}

/* The first of the lane's two sequences of a tile, among the cluster's; the other is 8 after it. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_row(const struct wcodec_tensor *s, uint32_t tile)
{
    return 16 * tile + s->g;
}

WCODEC_DEVICE_FUNCTION void wcodec_tensor_put(struct wcodec_warp *warp, uint32_t at, const float *v)
{
    wcodec_put_u4(warp, at,
                  wcodec_make_u4(WCODEC_FLOAT_BITS(v[0]), WCODEC_FLOAT_BITS(v[1]),
                                 WCODEC_FLOAT_BITS(v[2]), WCODEC_FLOAT_BITS(v[3])));
}

WCODEC_DEVICE_FUNCTION void wcodec_tensor_get(struct wcodec_warp *warp, uint32_t at, float *v)
{
    const wcodec_u4 words = wcodec_shared_u4(warp, at);
    v[0] = wcodec_bits_float(words.x);
    v[1] = wcodec_bits_float(words.y);
    v[2] = wcodec_bits_float(words.z);
    v[3] = wcodec_bits_float(words.w);
}

/* Where the lane's four numbers of a vector are, as operands. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_place(const struct wcodec_tensor *s,
                                                    const struct wcodec_recurrence_launch *l,
                                                    uint32_t tile, uint32_t which)
{
    return wcodec_tensor_vector(s, which) +
           wcodec_tensor_chunk(l->hidden_quads, tile, s->unit / 16) + 8 * (s->warp % 2);
}

/* Where what is kept of them beside is. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_old(const bool after, const struct wcodec_tensor *s,
                                                  uint32_t tile)
{
    return s->old + wcodec_tensor_own(s, tile) / (after ? 1 : 2);
}

/* What two floats are more than the operands that they were rounded to, in units of their last
 * place, of which there is room for -2^15 to 2^15 - 1: a float that is more, in the middle between
 * two operands, becomes the one below it. NaN stays. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_rest(uint32_t pair, float *v)
{
    const uint32_t low = pair << 16, high = pair & 0xffff0000u;
    int32_t a = (int32_t)(WCODEC_FLOAT_BITS(v[0]) - low),
            b = (int32_t)(WCODEC_FLOAT_BITS(v[1]) - high);
    a = a < 0x7fff ? a : 0x7fff;
    b = b < 0x7fff ? b : 0x7fff;
    v[0] = wcodec_bits_float(low + (uint32_t)a);
    v[1] = wcodec_bits_float(high + (uint32_t)b);
    return ((uint32_t)a & 0xffff) | (uint32_t)b << 16;
}

/* Keep hidden values of a tile, which were published as operands `pair`, and become what is kept.
 */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_put_old(const bool after, struct wcodec_warp *warp,
                                                  const struct wcodec_tensor *s, uint32_t tile,
                                                  const uint32_t *pair, float *v)
{
    if (after) {
        wcodec_tensor_put(warp, wcodec_tensor_old(after, s, tile), v);
        return;
    }
    const uint32_t rest[2] = {wcodec_tensor_rest(pair[0], v), wcodec_tensor_rest(pair[1], v + 2)};
    wcodec_put_u2(warp, wcodec_tensor_old(after, s, tile), wcodec_make_u2(rest[0], rest[1]));
}

/* With the reset gate before the product hidden values are always vector 0. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_get_old(const bool after, struct wcodec_warp *warp,
                                                  const struct wcodec_tensor *s,
                                                  const struct wcodec_recurrence_launch *l,
                                                  uint32_t tile, float *v)
{
    if (after) {
        wcodec_tensor_get(warp, wcodec_tensor_old(after, s, tile), v);
        return;
    }
    const wcodec_u2 pair = wcodec_shared_u2(warp, wcodec_tensor_place(s, l, tile, 0)),
                    rest = wcodec_shared_u2(warp, wcodec_tensor_old(after, s, tile));
    const uint32_t pairs[2] = {pair.x, pair.y}, rests[2] = {rest.x, rest.y};
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        v[2 * i] =
            wcodec_bits_float((pairs[i] << 16) + (uint32_t)((int32_t)(rests[i] << 16) >> 16));
        v[2 * i + 1] =
            wcodec_bits_float((pairs[i] & 0xffff0000u) + (uint32_t)((int32_t)rests[i] >> 16));
    }
}

/* Where step t's inputs are. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tensor_input(const bool after, const struct wcodec_tensor *s,
                                                    uint64_t t)
{
    return s->input + (after ? (uint32_t)(t % 2) * s->input_size : 0);
}

/* The lane's eight numbers of a chunk of step t's input, four that follow each other of each of two
 * sequences: as operands the middle two change their places, in W's columns too. whole: they may be
 * those of another sequence, column or step where there are none, so that nothing has to be waited
 * for. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_take(const bool whole, const struct wcodec_tensor *s,
                                               const struct wcodec_recurrence_launch *l,
                                               uint32_t tile, uint32_t chunk, uint64_t t, float *v)
{
    const uint32_t wanted = 16 * chunk + 4 * s->q, column = wanted < l->of.inputs ? wanted : 0,
                   first = wcodec_tensor_row(s, tile);
    const WCODEC_GLOBAL float *from =
        (const WCODEC_GLOBAL float *)l->values +
        wcodec_recurrence_place(l, t < l->steps ? t : l->steps - 1) * l->values_step +
        s->sequence * l->values_sequence;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t of = first + 8 * i, row = of < s->rows ? of : s->rows - 1;
        if (whole) {
            WCODEC_LOAD_FLOATS(v + 4 * i,
                               from + (uint64_t)row * (uint32_t)l->values_sequence + column);
            continue;
        }
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 4; k++)
            v[4 * i + k] = wcodec_recurrence_value(l, s->sequence + row, t, wanted + k);
    }
}

/* Where they are kept; 0 in place of what there is none of. */
WCODEC_DEVICE_FUNCTION void
wcodec_tensor_keep(const bool after, const bool whole, struct wcodec_warp *warp,
                   const struct wcodec_tensor *s, const struct wcodec_recurrence_launch *l,
                   uint32_t tile, uint32_t chunk, uint64_t t, const float *v)
{
    const uint32_t at = wcodec_tensor_input(after, s, t) +
                        wcodec_tensor_chunk(whole ? 1 : l->input_quads, tile, chunk);
    const uint32_t row = wcodec_tensor_row(s, tile);
    const bool is_column = 16 * chunk + 4 * s->q < l->of.inputs;
    uint32_t words[4];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        words[i] =
            is_column && row + 8 * (i % 2) < s->rows
                ? wcodec_tensor_pair(v[4 * (i % 2) + i / 2 * 2], v[4 * (i % 2) + i / 2 * 2 + 1])
                : 0;
    wcodec_put_u4(warp, at, wcodec_make_u4(words[0], words[1], words[2], words[3]));
}

/* Round number `round` of a set's inputs: which chunk of which tile is the warp's; false: none. */
WCODEC_DEVICE_FUNCTION bool wcodec_tensor_round(const bool whole, const struct wcodec_tensor *s,
                                                const struct wcodec_recurrence_launch *l,
                                                uint32_t set, uint32_t round, uint32_t *tile,
                                                uint32_t *chunk)
{
    const uint32_t chunks = whole ? 4 : 4 * l->input_quads, number = round * s->warps + s->warp;
    *tile = set * l->tiles + number / chunks;
    *chunk = number % chunks;
    return *tile < wcodec_tensor_end(l, set);
}

/* Those from `round` on, of step t; model: without input 0. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_inputs(const bool after, const bool model,
                                                 struct wcodec_warp *warp,
                                                 const struct wcodec_tensor *s,
                                                 const struct wcodec_recurrence_launch *l,
                                                 uint32_t set, uint32_t round, uint64_t t)
{
    uint32_t tile, chunk;
    WCODEC_UNROLL_NONE
    for (; l->steps > 0 && wcodec_tensor_round(false, s, l, set, round, &tile, &chunk); round++) {
        float v[8];
        wcodec_tensor_take(false, s, l, tile, chunk, t, v);
        if (model && chunk == 0 && s->q == 0)
            v[0] = v[4] = 0;
        wcodec_tensor_keep(after, false, warp, s, l, tile, chunk, t, v);
    }
}

/* A hidden value to begin with; model: of features, where there is none. */
WCODEC_DEVICE_FUNCTION float wcodec_tensor_first(const bool model,
                                                 const struct wcodec_recurrence_launch *l,
                                                 uint64_t sequence, uint32_t unit)
{
    if (sequence >= l->sequences || unit >= l->of.hidden_count)
        return 0;
    if (l->begin != 0)
        return wcodec_rollout_float(l->begin, sequence * l->of.hidden_count + unit);
    return model && unit < l->of.inputs
               ? wcodec_tanh(wcodec_rollout_float(l->values, sequence * l->values_sequence + unit))
               : 0;
}

/* Hidden values to begin with, of a tile. */
WCODEC_DEVICE_FUNCTION void wcodec_tensor_begin(const bool after, const bool model,
                                                struct wcodec_warp *warp,
                                                const struct wcodec_tensor *s,
                                                const struct wcodec_recurrence_launch *l,
                                                uint32_t tile)
{
    const uint64_t sequence = s->sequence + wcodec_tensor_row(s, tile);
    float v[4];
    WCODEC_UNROLL_NONE
    for (uint32_t chunk = s->warp; chunk < 4 * l->hidden_quads; chunk += s->warps) {
        uint32_t words[4];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const uint64_t of = sequence + 8 * (i % 2);
            const uint32_t unit = 16 * chunk + 2 * s->q + 8 * (i / 2);
            words[i] = wcodec_tensor_pair(wcodec_tensor_first(model, l, of, unit),
                                          wcodec_tensor_first(model, l, of, unit + 1));
        }
        wcodec_put_u4(warp, s->hidden + wcodec_tensor_chunk(l->hidden_quads, tile, chunk),
                      wcodec_make_u4(words[0], words[1], words[2], words[3]));
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        v[i] = wcodec_tensor_first(model, l, sequence + 8 * (i / 2), s->unit + i % 2);
    const uint32_t pairs[2] = {wcodec_tensor_pair(v[0], v[1]), wcodec_tensor_pair(v[2], v[3])};
    wcodec_tensor_put_old(after, warp, s, tile, pairs, v);
}
#endif

#endif
