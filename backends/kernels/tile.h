/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Decoding any tile: every field list, profile and mode, as lib/coding/tile_decode.c does it, by 32
 * lanes. It relies on what the host has validated (structures of jobs.h); words, states, raw bits
 * and outliers may be anything: indices of words are compared with their count, table indices
 * masked, loops bounded by the number of elements, and output is addressed by lane and group, but
 * for an outlier's position, which is compared first. */
#ifndef WCODEC_KERNELS_TILE_H
#define WCODEC_KERNELS_TILE_H

#include "backends/kernels/bytes.h"

/* What a lane has for itself. */
struct wcodec_tile_lane {
    uint32_t state[8]; /* of each coded field */
    uint64_t element[4];
    uint64_t sum; /* of the check */
};

/* One group of one coded field. */
WCODEC_DEVICE_FUNCTION void wcodec_decode_group(struct wcodec_tile_work *w,
                                                struct wcodec_tile_lane *lanes, uint32_t c,
                                                uint32_t group)
{
    const WCODEC_GLOBAL struct wcodec_stream_job *s = &w->streams[c];
    const WCODEC_GLOBAL struct wcodec_field_job *f = &w->tensor->field[c];
    const uint32_t shift = f->shift;
    if ((s->mode_symbol & 0xff) == 1) {
        const uint64_t bits = (uint64_t)(s->mode_symbol >> 8 & 0xff) << shift;
        WCODEC_EACH_LANE
        {
            for (uint32_t i = 0; i < 4; i++)
                lanes[WCODEC_SELF].element[i] |= bits;
        }
        return;
    }
    const uint32_t p = f->profile == 3 ? 8 : 12, slots = (1u << p) - 1,
                   steps = f->profile == 2 ? 4 : 2, symbols = f->profile == 3 ? 2 : 1;
    uint32_t first = s->entries;
    if (f->run_log2) {
        const uint32_t bit = (group * 128 >> f->run_log2) * f->run_bits;
        first += ((uint32_t)WCODEC_AT(w, block, uint8_t, s->runs)[bit / 8] >> bit % 8 &
                  ((1u << f->run_bits) - 1))
                 << p;
    }
    const WCODEC_GLOBAL uint32_t *entries =
        WCODEC_AT(w, block, uint32_t, w->tensor->entries) + first;
    const uint32_t base = WCODEC_AT(w, block, uint8_t, w->tensor->bases)[first / 256];
    const WCODEC_GLOBAL uint16_t *words = WCODEC_AT(w, words, uint16_t, s->words);
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t low;
        WCODEC_EACH_LANE
        {
            struct wcodec_tile_lane *l = &lanes[WCODEC_SELF];
            uint32_t x = l->state[c];
            for (uint32_t i = 0; i < symbols; i++) {
                const uint32_t e = entries[x & slots], v = WCODEC_ENTRY_SYMBOL(e);
                x = wcodec_entry_step(x, e, p);
                if (f->profile == 1) {
                    l->element[2 * step] |= (uint64_t)(base + v % 16) << shift;
                    l->element[2 * step + 1] |= (uint64_t)(base + v / 16) << shift;
                } else {
                    l->element[step * symbols + i] |= (uint64_t)v << shift;
                }
            }
            l->state[c] = x;
        }
        WCODEC_BALLOT(low, lanes[WCODEC_SELF].state[c] < WCODEC_STATE_LOW);
        WCODEC_EACH_LANE
        {
            struct wcodec_tile_lane *l = &lanes[WCODEC_SELF];
            if (low >> lane & 1) {
                const uint32_t at = w->used[c] + WCODEC_POPCOUNT(low & ((1u << lane) - 1));
                l->state[c] = l->state[c] << 16 | (at < s->word_count ? words[at] : 0u);
            }
        }
        w->used[c] += WCODEC_POPCOUNT(low);
    }
}

/* Raw bits of a group. */
WCODEC_DEVICE_FUNCTION void wcodec_decode_raw(const struct wcodec_tile_work *w,
                                              struct wcodec_tile_lane *lanes, uint32_t group)
{
    const WCODEC_GLOBAL struct wcodec_tensor_job *t = w->tensor;
    const uint32_t a_word = 32 / w->slot_bits;
    for (uint32_t k = 0; k < t->pieces; k++) {
        const struct wcodec_piece_job piece = t->piece[k];
        const uint32_t bits = t->plane[piece.plane].bits, ratio = w->slot_bits / bits,
                       rows = (w->groups * bits + 7) / 8,
                       mask = piece.bits == 32 ? ~0u : (1u << piece.bits) - 1;
        WCODEC_EACH_LANE
        {
            struct wcodec_tile_lane *l = &lanes[WCODEC_SELF];
            for (uint32_t i = 0; i < 4; i++) {
                const uint32_t number = group * (4 / a_word) + i / a_word, row = number / ratio,
                               turn = number % ratio * bits;
                const uint64_t at = w->plane[piece.plane] + (uint64_t)row * 128;
                uint32_t word;
                if (w->payload && piece.plane == 0 && row == rows - 1)
                    word = wcodec_last_word(w, lane, l->state[0] & 0xffff, at, number, group);
                else
                    word = WCODEC_AT(w, raw, uint32_t, at)[lane];
                word = (word >> turn | word << (32 - turn) % 32) >> i % a_word * w->slot_bits % 32;
                l->element[i] |= (uint64_t)(word >> piece.slot & mask) << piece.element;
            }
        }
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_store_element(const struct wcodec_tile_work *w, uint64_t address,
                                                 uint64_t value)
{
    if (w->size == 1)
        *WCODEC_AT_OUT(w, uint8_t, address) = (uint8_t)value;
    else if (w->size == 2)
        *WCODEC_AT_OUT(w, uint16_t, address) = (uint16_t)value;
    else if (w->size == 4)
        *WCODEC_AT_OUT(w, uint32_t, address) = (uint32_t)value;
    else
        *WCODEC_AT_OUT(w, uint64_t, address) = value;
}

/* From `buffer`: out, or raw. */
#define WCODEC_LOAD_ELEMENT(w, buffer, address) \
    ((w)->size == 1   ? *WCODEC_AT(w, buffer, uint8_t, address) \
     : (w)->size == 2 ? *WCODEC_AT(w, buffer, uint16_t, address) \
     : (w)->size == 4 ? *WCODEC_AT(w, buffer, uint32_t, address) \
                      : *WCODEC_AT(w, buffer, uint64_t, address))

/* Subtract the offset, store, count for the check: the four elements of a lane. Those behind the
 * last are zero and not stored. */
WCODEC_DEVICE_FUNCTION void wcodec_put_group(const struct wcodec_tile_work *w,
                                             struct wcodec_tile_lane *l, uint32_t lane,
                                             uint32_t group, uint64_t add)
{
    const uint64_t all = w->size == 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * w->size) - 1;
    uint32_t word = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t number = group * 128 + 4 * lane + i;
        const bool inside = number < w->job->elements;
        const uint64_t v = inside ? (l->element[i] - add) & all : 0;
        if (inside)
            wcodec_store_element(w, w->base + w->job->out + (uint64_t)number * w->size, v);
        const uint32_t offset = i * w->size, j = group * w->size + offset / 4;
        word |= (uint32_t)v << offset % 4 * 8;
        if ((offset + w->size) % 4 == 0) {
            l->sum += (uint64_t)word * wcodec_check_factor(j);
            word = 0;
        }
        if (w->size == 8)
            l->sum += (v >> 32) * wcodec_check_factor(j + 1);
    }
}

/* Outliers of one coded field of a tile. */
struct wcodec_outlier_list {
    uint64_t positions;
    uint64_t values;
    uint64_t add;
    uint32_t count;
    uint32_t shift; /* of the field */
    uint32_t width;
};

/* The lane that has the element changes it, and the check's sum by as much. Returns false if a
 * position or value is out of range or order. Of w, warp, job and size are used. */
WCODEC_DEVICE_FUNCTION bool wcodec_patch(struct wcodec_tile_work *w, struct wcodec_tile_lane *lanes,
                                         const struct wcodec_outlier_list *list)
{
    const uint32_t shift = list->shift, width = list->width;
    const uint64_t mask = ((((uint64_t)1 << width) - 1) << shift), add = list->add,
                   all = w->size == 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * w->size) - 1;
    uint32_t least = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t position = WCODEC_AT(w, positions, uint16_t, list->positions)[i],
                       value = WCODEC_AT(w, values, uint8_t, list->values)[i];
        if (position < least || position >= w->job->elements || value >> width)
            return false;
        least = position + 1;
        WCODEC_EACH_LANE
        {
            if (position % 128 / 4 == lane) {
                const uint64_t at = w->base + w->job->out + (uint64_t)position * w->size,
                               old = WCODEC_LOAD_ELEMENT(w, out, at);
                const uint64_t now =
                    ((((old + add) & ~mask) | (uint64_t)value << shift) - add) & all;
                const uint32_t offset = position % 4 * w->size,
                               j = position / 128 * w->size + offset / 4;
                wcodec_store_element(w, at, now);
                if (w->size == 8)
                    lanes[WCODEC_SELF].sum +=
                        ((now >> 32) - (old >> 32)) * wcodec_check_factor(j + 1) +
                        ((now & 0xffffffffu) - (old & 0xffffffffu)) * wcodec_check_factor(j);
                else
                    lanes[WCODEC_SELF].sum +=
                        ((now - old) << offset % 4 * 8) * wcodec_check_factor(j);
            }
        }
    }
    return true;
}

WCODEC_DEVICE_FUNCTION void wcodec_decode_stored(const struct wcodec_tile_work *w,
                                                 struct wcodec_tile_lane *lanes)
{
    for (uint32_t group = 0; group < w->groups; group++)
        WCODEC_EACH_LANE
        {
            struct wcodec_tile_lane *l = &lanes[WCODEC_SELF];
            for (uint32_t i = 0; i < 4; i++) {
                const uint32_t number = group * 128 + 4 * lane + i;
                l->element[i] =
                    number < w->job->elements
                        ? WCODEC_LOAD_ELEMENT(w, raw, w->job->raw + (uint64_t)number * w->size)
                        : 0;
            }
            wcodec_put_group(w, l, lane, group, 0);
        }
}

/* Outliers of all coded fields. */
WCODEC_DEVICE_FUNCTION bool wcodec_patch_all(struct wcodec_tile_work *w,
                                             struct wcodec_tile_lane *lanes)
{
    WCODEC_ORDER();
    for (uint32_t c = 0; c < w->tensor->coded; c++) {
        const WCODEC_GLOBAL struct wcodec_stream_job *s = &w->streams[c];
        const struct wcodec_outlier_list list = {s->positions,
                                                 s->values,
                                                 w->tensor->add,
                                                 s->outliers,
                                                 w->tensor->field[c].shift,
                                                 w->tensor->field[c].width};
        if (!wcodec_patch(w, lanes, &list))
            return false;
    }
    return true;
}

/* Returns the fault as enum wcodec_tile_fault counts them: the least that applies. w: room, in
 * OpenCL bound to buffers. tensors: all wcodec_tensor_job of the batch, counted in units of 16
 * bytes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_decode_tile(struct wcodec_tile_work *w,
                                                   const WCODEC_GLOBAL struct wcodec_tile_job *job,
                                                   uint64_t tensors)
{
    struct wcodec_tile_lane lanes[WCODEC_LANES_OF];
    uint32_t seen, words_bad = 0, final_bad = 0, state_bad = 0;
    w->job = job;
    w->tensor = WCODEC_AT(w, block, struct wcodec_tensor_job, tensors + (uint64_t)job->table * 16);
    w->streams = WCODEC_AT(w, block, struct wcodec_stream_job, job->runs);
    w->groups = (job->elements + 127) / 128;
    w->size = 1u << w->tensor->element_log2;
    w->slot_bits = w->size < 4 ? 8 * w->size : 32;
    const uint32_t mode = w->streams[0].mode_symbol & 0xff, coded = w->tensor->coded;
    w->payload = mode == 0 && w->tensor->planes > 0 && w->tensor->plane[0].bits >= 4;
    uint64_t at = job->raw;
    for (uint32_t p = 0; p < w->tensor->planes; p++) {
        const uint32_t bits = w->tensor->plane[p].bits;
        w->plane[p] = at;
        at += (uint64_t)((w->groups * bits + 7) / 8) * 128 -
              (p == 0 && w->payload ? (bits == 4 && w->groups % 2 ? 128 : 64) : 0);
    }
    WCODEC_EACH_LANE
    {
        lanes[WCODEC_SELF].sum = 0;
    }
    if (mode == 2) {
        wcodec_decode_stored(w, lanes);
    } else if (w->tensor->bytes) {
        struct wcodec_byte_lane bytes[WCODEC_LANES_OF];
        const uint32_t fault = wcodec_decode_bytes(w, bytes);
        if (fault)
            return fault;
        WCODEC_EACH_LANE
        {
            lanes[WCODEC_SELF].sum = bytes[WCODEC_SELF].sum;
        }
        if (!wcodec_patch_all(w, lanes))
            return 4;
    } else {
        for (uint32_t c = 0; c < coded; c++) {
            w->used[c] = 0;
            WCODEC_EACH_LANE
            {
                lanes[WCODEC_SELF].state[c] =
                    (w->streams[c].mode_symbol & 0xff) == 0
                        ? WCODEC_AT(w, states, uint32_t, w->streams[c].states)[lane]
                        : WCODEC_STATE_LOW;
            }
            WCODEC_BALLOT(seen, lanes[WCODEC_SELF].state[c] < WCODEC_STATE_LOW);
            state_bad |= seen;
        }
        for (uint32_t group = 0; group < w->groups; group++) {
            WCODEC_EACH_LANE
            {
                for (uint32_t i = 0; i < 4; i++)
                    lanes[WCODEC_SELF].element[i] = w->tensor->constants;
            }
            for (uint32_t c = 0; c < coded; c++)
                wcodec_decode_group(w, lanes, c, group);
            wcodec_decode_raw(w, lanes, group);
            WCODEC_EACH_LANE
            {
                wcodec_put_group(w, &lanes[WCODEC_SELF], lane, group, w->tensor->add);
            }
        }
        for (uint32_t c = 0; c < coded; c++) {
            if ((w->streams[c].mode_symbol & 0xff) != 0)
                continue;
            words_bad |= w->used[c] != w->streams[c].word_count;
            WCODEC_BALLOT(seen,
                          lanes[WCODEC_SELF].state[c] >> 16 != 1 ||
                              ((c != 0 || !w->payload) && (lanes[WCODEC_SELF].state[c] & 0xffff)));
            final_bad |= seen;
        }
        if (state_bad || words_bad || final_bad)
            return state_bad ? 1 : words_bad ? 2 : 3;
        if (!wcodec_patch_all(w, lanes))
            return 4;
    }
    if (!(job->slot >> 31))
        return 0;
    uint32_t check = 0;
    WCODEC_ADD_LANES(check, wcodec_check_share(lanes[WCODEC_SELF].sum, lane));
    return check == job->check ? 0 : 5;
}

#endif
