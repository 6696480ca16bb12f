/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles of 16-bit elements of one or two coded fields: residuals of wide integers, lossy tensors'
 * coefficients, and whatever else has no kernel of its own. What tile.h does for them with all held
 * in registers, two elements a word. It relies on the same of the host, and on raw bits standing in
 * slots as in elements. */
#ifndef WCODEC_KERNELS_BYTES_H
#define WCODEC_KERNELS_BYTES_H

#include "backends/kernels/work.h"

/* What all lanes share of one of the fields. */
struct wcodec_byte {
    const WCODEC_GLOBAL uint32_t *entries; /* of the first table */
    const WCODEC_GLOBAL uint16_t *words;
    const WCODEC_GLOBAL uint8_t *runs;
    uint32_t word_count, used, profile, run_log2, run_bits, shift;
    uint32_t always; /* mode 1: the symbol, four times */
    uint32_t base;   /* pairs: of the window, twice, 8 bits apart */
    bool is_coded;   /* mode 0 */
};

/* What a lane has for itself. */
struct wcodec_byte_lane {
    uint32_t state[2];
    uint32_t symbols[2]; /* of a group: four, a byte each */
    uint64_t sum;
};

/* The four symbols of a group of field c, of all lanes: a step, and then a renormalisation.
 * profile: on GPUs known when this is compiled. */
WCODEC_DEVICE_FUNCTION void wcodec_byte_group(struct wcodec_tile_work *w,
                                              struct wcodec_byte_lane *lanes, struct wcodec_byte *b,
                                              const uint32_t c, const uint32_t profile,
                                              uint32_t group)
{
    const uint32_t bits = profile == 3 ? 8 : 12, slots = (1u << bits) - 1,
                   symbols = profile == 2 ? 1 : 2;
    const WCODEC_GLOBAL uint32_t *table = b->entries;
    (void)w; /* not all dialects vote through it */
    if (profile == 3 && b->run_log2) {
        const uint32_t bit = (group * 128 >> b->run_log2) * b->run_bits;
        table += ((uint32_t)b->runs[bit / 8] >> bit % 8 & ((1u << b->run_bits) - 1)) << bits;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t at = 0; at < 4; at += symbols) {
        uint32_t low;
        WCODEC_EACH_LANE
        {
            struct wcodec_byte_lane *l = &lanes[WCODEC_SELF];
            uint32_t x = l->state[c], e = table[x & slots];
            x = wcodec_entry_step(x, e, bits);
            if (profile == 1) {
                l->symbols[c] =
                    l->symbols[c] >> 16 | (((e >> 12 & 0xfu) | (e >> 8 & 0xf00u)) + b->base) << 16;
            } else {
                l->symbols[c] = l->symbols[c] >> 8 | (e << 12 & 0xff000000u);
            }
            if (profile == 3) {
                e = table[x & slots];
                x = wcodec_entry_step(x, e, bits);
                l->symbols[c] = l->symbols[c] >> 8 | (e << 12 & 0xff000000u);
            }
            l->state[c] = x;
        }
        WCODEC_BALLOT(low, lanes[WCODEC_SELF].state[c] < WCODEC_STATE_LOW);
        WCODEC_EACH_LANE
        {
            const uint32_t number = b->used + WCODEC_POPCOUNT(low & ((1u << lane) - 1)),
                           take = low >> lane & 1;
            uint32_t word = 0;
            if (take && number < b->word_count)
                word = b->words[number];
            lanes[WCODEC_SELF].state[c] =
                take ? lanes[WCODEC_SELF].state[c] << 16 | word : lanes[WCODEC_SELF].state[c];
        }
        b->used += WCODEC_POPCOUNT(low);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_byte_symbols(struct wcodec_tile_work *w,
                                                struct wcodec_byte_lane *lanes,
                                                struct wcodec_byte *b, const uint32_t c,
                                                uint32_t group)
{
    if (!b->is_coded)
        return;
#if defined(WCODEC_OPENCL_LOOPS) || \
    defined(WCODEC_OPENCL_LOCAL) /* processors' compilers take long over large code */
    wcodec_byte_group(w, lanes, b, c, b->profile, group);
#else
    if (b->profile == 2)
        wcodec_byte_group(w, lanes, b, c, 2, group);
    else if (b->profile == 3)
        wcodec_byte_group(w, lanes, b, c, 3, group);
    else
        wcodec_byte_group(w, lanes, b, c, 1, group);
#endif
}

WCODEC_DEVICE_FUNCTION void wcodec_byte_open(const struct wcodec_tile_work *w, uint32_t c,
                                             struct wcodec_byte *b)
{
    const WCODEC_GLOBAL struct wcodec_stream_job *s = &w->streams[c];
    const WCODEC_GLOBAL struct wcodec_field_job *f = &w->tensor->field[c];
    b->is_coded = (s->mode_symbol & 0xff) == 0;
    b->always = (s->mode_symbol >> 8 & 0xff) * 0x01010101u;
    b->entries = WCODEC_AT(w, block, uint32_t, w->tensor->entries) + s->entries;
    b->words = WCODEC_AT(w, words, uint16_t, s->words);
    b->runs = WCODEC_AT(w, block, uint8_t, s->runs);
    b->word_count = s->word_count;
    b->used = 0;
    b->profile = f->profile;
    b->base = f->profile == 1
                  ? WCODEC_AT(w, block, uint8_t, w->tensor->bases)[s->entries / 256] * 0x0101u
                  : 0;
    b->shift = f->shift;
    b->run_log2 = f->run_log2;
    b->run_bits = f->run_bits;
}

/* Halves less those of `add`, each by itself. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_subtract_halves(uint32_t v, uint32_t add)
{
#ifdef WCODEC_PTX_HALVES
    return wcodec_add_halves(v, ((~add & 0x7fff7fffu) + 0x00010001u) ^ (~add & 0x80008000u));
#else
    return ((v | 0x80008000u) - (add & 0x7fff7fffu)) ^ ((v ^ ~add) & 0x80008000u);
#endif
}

/* A nibble of a plane of four bits, where it stands in a slot. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_place_nibble(const struct wcodec_tile_work *w,
                                                    uint32_t value)
{
    const uint32_t q = w->tensor->plane[0].position % w->slot_bits;
    const uint64_t v = (uint64_t)value << q;
    return (uint32_t)(v | v >> w->slot_bits) & (uint32_t)(((uint64_t)1 << w->slot_bits) - 1);
}

/* The word of the first plane's last row, which is stored by half or not at all; `slot`: slot word
 * number in the tile. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_last_word(const struct wcodec_tile_work *w, uint32_t lane,
                                                 uint32_t payload, uint64_t row, uint32_t number,
                                                 uint32_t group)
{
    if (w->tensor->plane[0].bits >= 8)
        return WCODEC_AT(w, raw, uint16_t, row)[lane] | payload << 16;
    /* Four values, of this group: made to stand where its slot word `number` has them. */
    const uint32_t nibbles =
        group + 1 == w->groups ? payload : WCODEC_AT(w, raw, uint16_t, row)[lane];
    const uint32_t a_word = 32 / w->slot_bits, ratio = w->slot_bits / 4,
                   first = number % (4 / a_word) * a_word;
    uint32_t word = 0;
    for (uint32_t i = 0; i < a_word; i++)
        word |= wcodec_place_nibble(w, nibbles >> 4 * (first + i) & 15) << i * w->slot_bits % 32;
    const uint32_t turn = number % ratio * 4;
    return word << turn | word >> (32 - turn) % 32;
}

/* Bits of a field in the four elements of a lane. */
WCODEC_DEVICE_FUNCTION void wcodec_place_bytes(uint32_t symbols, uint32_t shift, uint32_t *v)
{
    v[0] |= ((symbols & 0xffu) | (symbols << 8 & 0xff0000u)) << shift;
    v[1] |= ((symbols >> 16 & 0xffu) | (symbols >> 8 & 0xff0000u)) << shift;
}

/* Raw bits of plane p. Of a lane's two words of a group both are in the same row. */
WCODEC_DEVICE_FUNCTION void wcodec_place_raw(const struct wcodec_tile_work *w, uint32_t p,
                                             uint32_t lane, uint32_t group, uint32_t payload,
                                             uint32_t *v)
{
    const uint32_t bits = w->tensor->plane[p].bits, mask = w->tensor->plane[p].mask,
                   row = group * bits / 8, turn = group * bits % 8 * 2;
    const uint64_t at = w->plane[p] + (uint64_t)row * 128;
    uint32_t first, second;
    if (w->payload && p == 0 && row == (w->groups * bits + 7) / 8 - 1) {
        first = wcodec_last_word(w, lane, payload, at, 2 * group, group);
        second = wcodec_last_word(w, lane, payload, at, 2 * group + 1, group);
    } else {
        first = second = WCODEC_AT(w, raw, uint32_t, at)[lane];
    }
    v[0] |= (first >> turn | first << (32 - turn) % 32) & mask;
    v[1] |= (second >> (turn + bits) | second << (32 - turn - bits)) & mask;
}

/* Four elements of a lane; those behind the last are zero and not stored. */
WCODEC_DEVICE_FUNCTION void wcodec_put_bytes(const struct wcodec_tile_work *w,
                                             struct wcodec_byte_lane *l, uint32_t lane,
                                             uint32_t group, uint32_t add, uint32_t *v)
{
    const uint32_t number = group * 128 + 4 * lane, elements = w->job->elements;
    const uint32_t left = number >= elements ? 0 : elements - number;
    const uint64_t out = w->base + w->job->out + 2 * (uint64_t)number;
    v[0] = wcodec_subtract_halves(v[0], add);
    v[1] = wcodec_subtract_halves(v[1], add);
    if (left >= 4 && out % 4 == 0) {
        WCODEC_AT_OUT(w, uint32_t, out)[0] = v[0];
        WCODEC_AT_OUT(w, uint32_t, out)[1] = v[1];
    } else {
        for (uint32_t i = 0; i < 4; i++) {
            if (i < left)
                *WCODEC_AT_OUT(w, uint16_t, out + 2 * i) = (uint16_t)(v[i / 2] >> 16 * (i % 2));
            else
                v[i / 2] &= i % 2 ? 0xffffu : 0xffff0000u;
        }
    }
    l->sum += (uint64_t)v[0] * wcodec_check_factor(2 * group) +
              (uint64_t)v[1] * wcodec_check_factor(2 * group + 1);
}

/* All groups of a tile; returns the fault as far as it shows in words and states, and sums for the
 * check in lanes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_decode_bytes(struct wcodec_tile_work *w,
                                                    struct wcodec_byte_lane *lanes)
{
    struct wcodec_byte low, high;
    const uint32_t add = ((uint32_t)w->tensor->add & 0xffffu) * 0x00010001u,
                   constants = ((uint32_t)w->tensor->constants & 0xffffu) * 0x00010001u,
                   planes = w->tensor->planes;
    const bool two = w->tensor->coded > 1;
    uint32_t seen, state_bad = 0, final_bad = 0;
    wcodec_byte_open(w, 0, &low);
    wcodec_byte_open(w, two, &high);
    high.is_coded = high.is_coded && two;
    high.always = two ? high.always : 0;
    WCODEC_EACH_LANE
    {
        struct wcodec_byte_lane *l = &lanes[WCODEC_SELF];
        l->sum = 0;
        l->state[0] = low.is_coded ? WCODEC_AT(w, states, uint32_t, w->streams[0].states)[lane]
                                   : WCODEC_STATE_LOW;
        l->state[1] = high.is_coded ? WCODEC_AT(w, states, uint32_t, w->streams[1].states)[lane]
                                    : WCODEC_STATE_LOW;
        l->symbols[0] = low.always;
        l->symbols[1] = high.always;
    }
    WCODEC_BALLOT(seen, lanes[WCODEC_SELF].state[0] < WCODEC_STATE_LOW ||
                            lanes[WCODEC_SELF].state[1] < WCODEC_STATE_LOW);
    state_bad |= seen;
    for (uint32_t group = 0; group < w->groups; group++) {
        wcodec_byte_symbols(w, lanes, &low, 0, group);
        wcodec_byte_symbols(w, lanes, &high, 1, group);
        WCODEC_EACH_LANE
        {
            struct wcodec_byte_lane *l = &lanes[WCODEC_SELF];
            uint32_t v[2] = {constants, constants};
            wcodec_place_bytes(l->symbols[0], low.shift, v);
            if (two)
                wcodec_place_bytes(l->symbols[1], high.shift, v);
            for (uint32_t p = 0; p < planes; p++)
                wcodec_place_raw(w, p, lane, group, l->state[0] & 0xffffu, v);
            wcodec_put_bytes(w, l, lane, group, add, v);
        }
    }
    WCODEC_BALLOT(seen, (w->payload ? lanes[WCODEC_SELF].state[0] >> 16 != 1
                                    : lanes[WCODEC_SELF].state[0] != WCODEC_STATE_LOW) ||
                            lanes[WCODEC_SELF].state[1] != WCODEC_STATE_LOW);
    final_bad |= seen;
    if (state_bad)
        return 1;
    if ((low.is_coded && low.used != low.word_count) ||
        (high.is_coded && high.used != high.word_count))
        return 2;
    return final_bad ? 3 : 0;
}

#endif
