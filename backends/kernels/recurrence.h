/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A gated recurrent unit over all steps of sequences in one launch (lib/recurrent/gru_run.c is the
 * reference, wcodec_gru_run()), by its parts (rollout_parts.h): weights stay where they are while
 * one sequence follows another.
 *
 * What the inputs of a step add is made while the parts wait for the hidden values of the step
 * before. With the reset gate before the product parts meet twice a step; after it once, so that
 * hidden values have two places, and two barriers, in turns. */
#ifndef WCODEC_KERNELS_RECURRENCE_H
#define WCODEC_KERNELS_RECURRENCE_H

#include "backends/kernels/functions.h"
#include "backends/kernels/recurrence_launch.h"
#include "backends/kernels/rollout_parts.h"

struct wcodec_recurrence {
    struct wcodec_rollout of;        /* z has r after it */
    WCODEC_GROUP_LOCAL float *input; /* of the step that comes */
    /* Of odd turns after those of even ones. */
    WCODEC_GROUP_LOCAL float *sums_of_inputs, *sums_of_reset;
    uint32_t turn; /* steps so far, of all sequences */
    /* Biases of rows that have this item's number: of z and r, of the candidate, and c_h. */
    float own_gate, own_candidate, own_after;
    float next; /* this item's number of the input after the one that comes */
};

WCODEC_DEVICE_FUNCTION void wcodec_recurrence_open(struct wcodec_recurrence *s,
                                                   const struct wcodec_recurrence_launch *l,
                                                   uint32_t group, WCODEC_GROUP_LOCAL float *shared,
                                                   uint32_t address)
{
    struct wcodec_rollout *r = &s->of;
    wcodec_rollout_open_part(r, &l->of, group % l->of.parts);
    r->member = group / l->of.parts;
    r->barriers = address;
    r->h = shared + 4;
    r->rh = r->h + l->of.vector;
    r->z = r->rh + l->of.vector;
    r->sums[WCODEC_ROLLOUT_OF_GATES] = r->z + ((2 * l->of.rows + 3) & ~3u);
    s->sums_of_reset = r->sums[WCODEC_ROLLOUT_OF_GATES] + l->of.partials;
    s->input = s->sums_of_reset + 2 * l->of.partials;
    s->sums_of_inputs = s->input + l->inputs_vector;
    s->turn = 0;
    const uint32_t row = r->item < l->of.rows ? r->item : 0;
    s->own_gate = wcodec_rollout_float(r->bias, r->item < 2 * l->of.rows ? r->item : 0);
    s->own_candidate = wcodec_rollout_float(r->bias, 2 * l->of.rows + row);
    s->own_after = wcodec_rollout_float(r->first, row);
}

/* The place of step t in time. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_recurrence_place(const struct wcodec_recurrence_launch *l,
                                                        uint64_t t)
{
    return l->reverse ? l->steps - 1 - t : t;
}

/* Number i of step t's input; after the last step, and the last number, 0. */
WCODEC_DEVICE_FUNCTION float wcodec_recurrence_value(const struct wcodec_recurrence_launch *l,
                                                     uint64_t sequence, uint64_t t, uint32_t i)
{
    if (t >= l->steps || i >= l->of.inputs)
        return 0;
    return wcodec_rollout_float(l->values, wcodec_recurrence_place(l, t) * l->values_step +
                                               sequence * l->values_sequence + i);
}

/* Hidden values in turns: where those of the step's beginning are. */
WCODEC_DEVICE_FUNCTION WCODEC_GROUP_LOCAL float *
wcodec_recurrence_hidden(const struct wcodec_recurrence *s,
                         const struct wcodec_recurrence_launch *l, uint32_t turn)
{
    return l->after && turn % 2 != 0 ? s->of.rh : s->of.h;
}

/* The barrier at which they come. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_recurrence_barrier(const struct wcodec_recurrence_launch *l,
                                                          uint32_t turn)
{
    return l->after ? 8 * (turn % 2) : 8;
}

/* What W adds, to be used in this turn, and where its other sums go. held: of its columns, as
 * wcodec_rollout_slices() has it. */
WCODEC_DEVICE_FUNCTION void wcodec_recurrence_inputs(const uint32_t count,
                                                     struct wcodec_recurrence *s,
                                                     const struct wcodec_recurrence_launch *l,
                                                     const float *held)
{
    const bool odd = s->turn % 2 != 0;
    s->of.sums[WCODEC_ROLLOUT_OF_INPUTS] = s->sums_of_inputs + (odd ? l->inputs_partials : 0);
    s->of.sums[WCODEC_ROLLOUT_OF_RESET] = s->sums_of_reset + (odd ? l->of.partials : 0);
    wcodec_rollout_slices(count, &s->of, &l->of, WCODEC_ROLLOUT_OF_INPUTS, held, s->input);
}

/* The input of the step that comes; a number of each item was on its way. */
WCODEC_DEVICE_FUNCTION void wcodec_recurrence_take(struct wcodec_recurrence *s,
                                                   const struct wcodec_recurrence_launch *l,
                                                   uint64_t sequence, uint64_t t)
{
    if (s->of.item < l->inputs_vector)
        s->input[s->of.item] = s->next;
    for (uint32_t i = s->of.item + s->of.items; i < l->inputs_vector; i += s->of.items)
        s->input[i] = wcodec_recurrence_value(l, sequence, t, i);
    s->next = wcodec_recurrence_value(l, sequence, t + 1, s->of.item);
}

/* Where a sequence begins; without steps its end. */
WCODEC_DEVICE_FUNCTION void wcodec_recurrence_begin(const uint32_t held_inputs,
                                                    struct wcodec_warp *warp,
                                                    struct wcodec_recurrence *s,
                                                    const struct wcodec_recurrence_launch *l,
                                                    uint64_t sequence, const float *held)
{
    const struct wcodec_rollout *r = &s->of;
    const uint64_t first = sequence * l->of.hidden_count;
    WCODEC_GROUP_LOCAL float *h = wcodec_recurrence_hidden(s, l, s->turn),
                             *other = h == r->h ? r->rh : r->h;
    /* Items may still be at the sequence before. */
    WCODEC_SYNC_ITEMS(warp);
    for (uint32_t i = r->item; i < l->of.vector; i += r->items) {
        const float v =
            l->begin != 0 && i < l->of.hidden_count ? wcodec_rollout_float(l->begin, first + i) : 0;
        h[i] = v;
        other[i] = 0;
        if (l->steps == 0 && l->last != 0 && r->part == 0 && i < l->of.hidden_count)
            wcodec_rollout_put(l->last, first + i, v);
    }
    s->next = wcodec_recurrence_value(l, sequence, 0, r->item);
    wcodec_recurrence_take(s, l, sequence, 0);
    WCODEC_SYNC_ITEMS(warp);
    wcodec_recurrence_inputs(held_inputs, s, l, held);
}

/* z, and r or r h. */
WCODEC_DEVICE_FUNCTION void wcodec_recurrence_gates(struct wcodec_warp *warp,
                                                    const struct wcodec_recurrence *s,
                                                    const struct wcodec_recurrence_launch *l)
{
    const struct wcodec_rollout *r = &s->of;
    const uint32_t rows = l->of.rows;
    WCODEC_UNROLL_NONE
    for (uint32_t row = r->item; row < 2 * rows; row += r->items) {
        const float gate =
            wcodec_sigmoid((row == r->item ? s->own_gate : wcodec_rollout_float(r->bias, row)) +
                           wcodec_rollout_row(r, &l->of, WCODEC_ROLLOUT_OF_INPUTS, row) +
                           wcodec_rollout_row(r, &l->of, WCODEC_ROLLOUT_OF_GATES, row));
        const uint32_t at = r->part * rows + row - rows;
        if (row < rows || l->after)
            r->z[row] = gate;
        else if (at < l->of.hidden_count)
            wcodec_rollout_publish(warp, r, &l->of, 0, s->turn, r->rh, at, gate * r->h[at], 0, 1);
    }
}

/* h' of a row, whose hidden value is h. */
WCODEC_DEVICE_FUNCTION float wcodec_recurrence_row(const struct wcodec_recurrence *s,
                                                   const struct wcodec_recurrence_launch *l,
                                                   uint32_t row, float h)
{
    const struct wcodec_rollout *r = &s->of;
    const uint32_t rows = l->of.rows;
    const bool own = row == r->item;
    const float inputs = (own ? s->own_candidate : wcodec_rollout_float(r->bias, 2 * rows + row)) +
                         wcodec_rollout_row(r, &l->of, WCODEC_ROLLOUT_OF_INPUTS, 2 * rows + row),
                hidden = wcodec_rollout_row(r, &l->of, WCODEC_ROLLOUT_OF_RESET, row), z = r->z[row],
                after = own ? s->own_after : wcodec_rollout_float(r->first, row);
    if (l->after)
        return (1 - z) * wcodec_tanh(inputs + r->z[rows + row] * (after + hidden)) + z * h;
    return (1 - z) * h + z * wcodec_tanh(inputs + hidden);
}

/* h' to all parts, and to where the caller wants it. */
WCODEC_DEVICE_FUNCTION void wcodec_recurrence_step(struct wcodec_warp *warp,
                                                   const struct wcodec_recurrence *s,
                                                   const struct wcodec_recurrence_launch *l,
                                                   uint64_t sequence, uint64_t t)
{
    const struct wcodec_rollout *r = &s->of;
    const uint64_t out = wcodec_recurrence_place(l, t) * l->out_step + sequence * l->out_sequence;
    const WCODEC_GROUP_LOCAL float *h = wcodec_recurrence_hidden(s, l, s->turn);
    WCODEC_UNROLL_NONE
    for (uint32_t row = r->item; row < l->of.rows; row += r->items) {
        const uint32_t at = r->part * l->of.rows + row;
        if (at >= l->of.hidden_count)
            break;
        const float v = wcodec_recurrence_row(s, l, row, h[at]);
        wcodec_rollout_publish(warp, r, &l->of, wcodec_recurrence_barrier(l, s->turn), s->turn,
                               wcodec_recurrence_hidden(s, l, s->turn + 1), at, v, 0, 1);
        if (l->out != 0)
            wcodec_rollout_put(l->out, out + at, v);
        if (l->last != 0 && t + 1 == l->steps)
            wcodec_rollout_put(l->last, sequence * l->of.hidden_count + at, v);
    }
}

/* Let the next launch begin; or wait for those before this one. */
WCODEC_DEVICE_FUNCTION void wcodec_recurrence_early(struct wcodec_warp *warp, const bool allow)
{
    (void)warp, (void)allow;
#ifdef WCODEC_SIMT
    if (allow)
        wcodec_allow_next_launch(warp);
    else
        wcodec_wait_for_launch(warp);
#endif
}

/* All of it; held_gates and held_reset as wcodec_rollout_kernel() has them, held_inputs likewise.
 * Weights are there before the launch: the device may begin with them while one before it ends. */
WCODEC_DEVICE_FUNCTION void
wcodec_recurrence_kernel(const uint32_t held_inputs, const uint32_t held_gates,
                         const uint32_t held_reset, struct wcodec_warp *warp,
                         struct wcodec_recurrence *s, const struct wcodec_recurrence_launch *l)
{
    float gates[WCODEC_ROLLOUT_HELD], reset[WCODEC_ROLLOUT_HELD / 2],
        inputs[WCODEC_ROLLOUT_HELD / 4];
    const struct wcodec_rollout *r = &s->of;
    wcodec_recurrence_early(warp, true);
    wcodec_rollout_hold(held_inputs, r, &l->of, WCODEC_ROLLOUT_OF_INPUTS, inputs);
    wcodec_rollout_hold(held_gates, r, &l->of, WCODEC_ROLLOUT_OF_GATES, gates);
    wcodec_rollout_hold(held_reset, r, &l->of, WCODEC_ROLLOUT_OF_RESET, reset);
    const uint32_t held[3] = {held_inputs, held_gates, held_reset};
    wcodec_rollout_keep(&s->of, &l->of, held, s->sums_of_inputs + 2 * l->inputs_partials);
    wcodec_recurrence_early(warp, false);
    bool first = true;
    WCODEC_UNROLL_NONE
    for (uint64_t sequence = r->member; sequence < l->sequences; sequence += l->members) {
        wcodec_recurrence_begin(held_inputs, warp, s, l, sequence, inputs);
        /* Others write to this part from here on. */
        wcodec_rollout_gather(warp, r, &l->of, first);
        first = false;
        WCODEC_UNROLL_NONE
        for (uint64_t t = 0; t < l->steps; t++) {
            const WCODEC_GROUP_LOCAL float *h = wcodec_recurrence_hidden(s, l, s->turn);
            wcodec_rollout_slices(held_gates, r, &l->of, WCODEC_ROLLOUT_OF_GATES, gates, h);
            if (l->after)
                wcodec_rollout_slices(held_reset, r, &l->of, WCODEC_ROLLOUT_OF_RESET, reset, h);
            WCODEC_SYNC_ITEMS(warp);
            wcodec_recurrence_gates(warp, s, l);
            wcodec_recurrence_take(s, l, sequence, t + 1);
            if (!l->after) {
                wcodec_rollout_meet(warp, r, &l->of, 0, s->turn, r->rh);
                wcodec_rollout_slices(held_reset, r, &l->of, WCODEC_ROLLOUT_OF_RESET, reset, r->rh);
            }
            WCODEC_SYNC_ITEMS(warp);
            wcodec_recurrence_step(warp, s, l, sequence, t);
            const uint32_t turn = s->turn++;
            if (t + 1 < l->steps)
                wcodec_recurrence_inputs(held_inputs, s, l, inputs);
            wcodec_rollout_meet(warp, r, &l->of, wcodec_recurrence_barrier(l, turn),
                                l->after ? turn / 2 : turn,
                                wcodec_recurrence_hidden(s, l, turn + 1));
        }
    }
}

#endif
