/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's stages for registers of 16 bytes, over what a level gives before it includes this.
 * x86/encode_avx512.c has the formulas, x86/encode_avx2.c says
 * why quotients in single precision are never too large, and at most one too small.
 *
 *   vec, load(p), store(p, v), set_bytes(n), set_halves(n), set_words(n)     halves have 16 bits,
 *                                                                            words 32
 *   both(a, b), either(a, b), without(a, b): a & ~b, choose(mask, a, b): a where the mask is all
 *   ones, b where it is zero, any(v)
 *   add_*(a, b), subtract_*(a, b), equal_bytes(a, b), multiply_halves(a, b),
 *   multiply_upper_halves(a, b), not_below_*(a, b): unsigned
 *   left_halves(v, n), right_halves(v, n), left_words(v, n), right_words(v, n), rotate_words(v, n):
 *   to the left
 *   narrow(a, b)                       halves of at most 255 to bytes
 *   even_halves(a, b), odd_halves(a, b), even_words(a, b), odd_words(a, b)   of a, then of b
 *   zip_low(a, b), zip_high(a, b)      halves of a and b in turn
 *   pick(table, index)                 of 16 bytes; index 0 to 15
 *   struct lookup, load_lookup(p), look_up(lookup, v)    a table of 32 bytes, by the low 5 bits
 *   pair_nibbles(a, b)                 bytes below 16, two by two: the first is the low half
 *   mask_of(v), count_bits(mask)       a bit for each half that is all ones, not zero
 *   floats, invert(f): (1 - 2^-21) / f, estimate(high, low, inverse): the quotient of words of
 *   which the halves are given, as words */
#ifndef WCODEC_CPU_ENCODE_VECTORS_H
#define WCODEC_CPU_ENCODE_VECTORS_H

#include "backends/cpu/encode.h"

#include "coding/histogram.h"

static void extract(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add,
                    unsigned shift, unsigned width, uint8_t *values)
{
    const unsigned mask = (1u << width) - 1;
    size_t i = 0;
    if (element_log2 == 0)
        for (; i + 16 <= elements; i += 16)
            store(values + i,
                  both(right_halves(add_bytes(load(data + i), set_bytes((uint8_t)add)), shift),
                       set_bytes((uint8_t)mask)));
    else if (element_log2 == 1)
        for (; i + 16 <= elements; i += 16) {
            const vec sum = set_halves((uint16_t)add),
                      a = right_halves(add_halves(load(data + 2 * i), sum), shift),
                      b = right_halves(add_halves(load(data + 2 * i + 16), sum), shift);
            store(values + i,
                  narrow(both(a, set_halves((uint16_t)mask)), both(b, set_halves((uint16_t)mask))));
        }
    else if (element_log2 == 2)
        for (; i + 16 <= elements; i += 16) {
            vec v[4];
            for (unsigned k = 0; k < 4; k++)
                v[k] = both(
                    right_words(add_words(load(data + 4 * i + 16 * k), set_words((uint32_t)add)),
                                shift),
                    set_words(mask));
            store(values + i, narrow(even_halves(v[0], v[1]), even_halves(v[2], v[3])));
        }
    wcodec_extract_field(data + (i << element_log2), elements - i, element_log2, add, shift, width,
                         values + i);
}

static bool choose_values(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                          unsigned groups, uint8_t *symbols)
{
    if (!table->low5)
        return wcodec_cpu_choose_values_scalar(table, values, groups, symbols);
    const struct lookup held = load_lookup(table->bytes5.held);
    const vec other = set_bytes(table->table->most_frequent);
    vec differ = set_bytes(0);
    for (size_t i = 0; i < (size_t)groups * WCODEC_GROUP; i += 16) {
        const vec v = load(values + i), present = equal_bytes(v, look_up(&held, v));
        store(symbols + i, choose(present, v, other));
        differ = either(differ, without(set_bytes(255), present));
    }
    return any(differ);
}

/* Groups with pairs outside of the window or not held are left to the scalar function. */
static bool choose_pairs(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                         unsigned groups, uint8_t *symbols)
{
    static const uint8_t bit_of[16] = {1, 2, 4, 8, 16, 32, 64, 128};
    const struct lookup held = load_lookup(table->held_pairs);
    const vec base = set_bytes(table->table->table.base), bits = load(bit_of);
    bool differ = false;
    for (unsigned g = 0; g < groups; g++, values += WCODEC_GROUP, symbols += WCODEC_GROUP / 2) {
        vec pairs[4], wrong = set_bytes(0);
        for (unsigned k = 0; k < 4; k++) {
            const vec a = subtract_bytes(load(values + 32 * k), base),
                      b = subtract_bytes(load(values + 32 * k + 16), base), v = pair_nibbles(a, b);
            const vec outside =
                both(either(a, b), set_bytes(0xf0)); /* what is looked up then does not matter */
            const vec byte = both(right_halves(v, 3), set_bytes(31)),
                      bit = pick(bits, both(v, set_bytes(7)));
            wrong = either(
                wrong, either(outside, equal_bytes(both(look_up(&held, byte), bit), set_bytes(0))));
            pairs[k] = v;
        }
        if (any(wrong))
            differ |= wcodec_cpu_choose_pairs_scalar(table, values, 1, symbols);
        else
            for (unsigned k = 0; k < 4; k++)
                store(symbols + 16 * k, pairs[k]);
    }
    return differ;
}

/* The words of eight lanes whose bit in the mask is set, below what is written. What lies below
 * these is overwritten with anything. */
INLINE uint8_t *put_words(const struct wcodec_cpu_encode_table *table, vec words, unsigned mask,
                          uint8_t *at)
{
    store(at - 16, pick(words, load(table->compress[mask])));
    return at - 2 * (size_t)count_bits(mask);
}

/* P8: low and high halves of 8 states. */
struct p8_lanes {
    vec low, high;
};

struct p8_table {
    struct lookup freq, start, reciprocal_low, reciprocal_high;
};

/* n / f 2^8 + n mod f + start for n < 256 f. */
INLINE vec divide_bytes(vec n, vec f, vec reciprocal, vec start)
{
    const vec quotient = multiply_upper_halves(n, reciprocal),
              rest = subtract_halves(n, multiply_halves(quotient, f));
    const vec v = add_halves(left_halves(quotient, 8), add_halves(rest, start));
    return add_halves(v, both(not_below_halves(rest, f), subtract_halves(set_halves(256), f)));
}

/* Two symbols of each lane, the first in the low byte. */
INLINE uint8_t *p8_step(const struct wcodec_cpu_encode_table *table, const struct p8_table *t,
                        vec symbols, struct p8_lanes *s, uint8_t *words)
{
    const vec byte = set_halves(255), zero = set_bytes(0), freq = look_up(&t->freq, symbols),
              start = look_up(&t->start, symbols);
    const vec low_part = look_up(&t->reciprocal_low, symbols),
              high_part = look_up(&t->reciprocal_high, symbols);
    const vec reciprocal1 = either(both(low_part, byte), left_halves(high_part, 8)),
              reciprocal2 = either(right_halves(low_part, 8), without(high_part, byte));
    const vec f1 = both(freq, byte), f2 = right_halves(freq, 8), f = multiply_halves(f1, f2);

    const vec emit = not_below_halves(s->high, f);
    words = put_words(table, s->low, mask_of(emit), words);
    const vec low = choose(emit, s->high, s->low), high = without(s->high, emit);

    const vec q =
        even_halves(estimate(zip_low(high, zero), zip_low(low, zero), invert(zip_low(f, zero))),
                    estimate(zip_high(high, zero), zip_high(low, zero), invert(zip_high(f, zero))));
    const vec r = subtract_halves(low, multiply_halves(q, f)),
              short_by_one = not_below_halves(r, f);
    s->high = subtract_halves(q, short_by_one);
    const vec p = divide_bytes(subtract_halves(r, both(short_by_one, f)), f2, reciprocal2,
                               right_halves(start, 8));
    s->low = divide_bytes(p, f1, reciprocal1, both(start, byte));
    return words;
}

static void rans_p8(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                    unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    enum { PARTS = WCODEC_LANES / 8 };
    if (!table->low5) {
        wcodec_cpu_rans_p8_scalar(table, symbols, groups, stream);
        return;
    }
    const struct p8_table t = {load_lookup(table->bytes5.freq), load_lookup(table->bytes5.start),
                               load_lookup(table->bytes5.reciprocal_low),
                               load_lookup(table->bytes5.reciprocal_high)};
    struct p8_lanes lanes[PARTS];
    uint8_t *words = stream->words;
    for (unsigned k = 0; k < PARTS; k++) {
        const vec a = load(stream->x + 8 * k), b = load(stream->x + 8 * k + 4);
        lanes[k] = (struct p8_lanes){even_halves(a, b), odd_halves(a, b)};
    }
    for (unsigned g = groups; g-- > 0;) {
        const uint8_t *at = symbols + (size_t)g * WCODEC_GROUP;
        for (unsigned k = PARTS; k-- > 0;)
            words = p8_step(table, &t, odd_halves(load(at + 32 * k), load(at + 32 * k + 16)),
                            &lanes[k], words);
        for (unsigned k = PARTS; k-- > 0;)
            words = p8_step(table, &t, even_halves(load(at + 32 * k), load(at + 32 * k + 16)),
                            &lanes[k], words);
    }
    for (unsigned k = 0; k < PARTS; k++) {
        store(stream->x + 8 * k, zip_low(lanes[k].low, lanes[k].high));
        store(stream->x + 8 * k + 4, zip_high(lanes[k].low, lanes[k].high));
    }
    stream->words = words;
}

/* 12-bit profiles: the state of four lanes behind their entries' symbols. The remainder has at most
 * 13 bits: the low halves of all factors are enough. */
INLINE vec p12_push(vec x, vec e)
{
    const vec half = set_words(0xffff), f = both(e, half),
              q = estimate(right_words(x, 16), both(x, half), invert(f));
    const vec r = both(subtract_halves(x, multiply_halves(q, f)), half),
              more = both(not_below_words(r, f), subtract_words(set_words(4096), f));
    return add_words(add_words(left_words(q, 12), more), add_words(r, right_words(e, 16)));
}

/* Eight states. */
INLINE uint8_t *p12_step(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                         unsigned stride, vec x[2], uint8_t *words)
{
    const vec half = set_words(0xffff);
    uint32_t entries[8];
    vec e[2], emit[2];
    for (unsigned i = 0; i < 8; i++)
        entries[i] = table->entries[symbols[i * stride]];
    for (unsigned i = 0; i < 2; i++) {
        e[i] = load(entries + 4 * i);
        emit[i] = not_below_words(x[i], left_words(both(e[i], half), 20));
    }
    words =
        put_words(table, even_halves(x[0], x[1]), mask_of(even_halves(emit[0], emit[1])), words);
    for (unsigned i = 0; i < 2; i++)
        x[i] = p12_push(choose(emit[i], right_words(x[i], 16), x[i]), e[i]);
    return words;
}

/* steps: symbols of a lane in a group. */
INLINE void rans_p12(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                     unsigned groups, unsigned steps, struct wcodec_cpu_encode_stream *stream)
{
    vec x[WCODEC_LANES / 4];
    uint8_t *words = stream->words;
    for (unsigned k = 0; k < WCODEC_LANES / 4; k++)
        x[k] = load(stream->x + 4 * k);
    for (unsigned g = groups; g-- > 0;)
        for (unsigned step = steps; step-- > 0;)
            for (unsigned k = WCODEC_LANES / 8; k-- > 0;)
                words = p12_step(table, symbols + (size_t)steps * (g * WCODEC_LANES + 8 * k) + step,
                                 steps, x + 2 * k, words);
    for (unsigned k = 0; k < WCODEC_LANES / 4; k++)
        store(stream->x + 4 * k, x[k]);
    stream->words = words;
}

static void rans_bytes(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                       unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    rans_p12(table, symbols, groups, 4, stream);
}

static void rans_pairs(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                       unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    rans_p12(table, symbols, groups, 2, stream);
}

/* Elements of 8 bits: a slot word a lane and group. */
static void pack_bytes(const struct wcodec_cpu_assembly *a, unsigned plane, const uint8_t *elements,
                       unsigned first, unsigned groups, uint8_t *rows)
{
    const unsigned bits = a->plane_bits[plane], ratio = 8 / bits;
    const vec mask = set_words(a->plane_mask[plane]), add = set_words(a->add);
    for (unsigned g = first; g < first + groups; g++)
        for (unsigned i = 0; i < 4 * WCODEC_LANES; i += 16, elements += 16) {
            uint8_t *row = rows + (size_t)(g / ratio) * 4 * WCODEC_LANES + i;
            const vec v = both(add_bytes(load(elements), add), mask);
            store(row, g % ratio ? either(load(row), rotate_words(v, g % ratio * bits)) : v);
        }
}

/* Eight raw bits of 16: two slot words a lane and group, in a row. */
static void pack_bf16(const struct wcodec_cpu_assembly *a, const uint8_t *elements, unsigned first,
                      unsigned groups, uint8_t *rows)
{
    const vec mask = set_words(a->plane_mask[0]), add = set_words(a->add);
    rows += (size_t)first * 4 * WCODEC_LANES;
    for (size_t i = 0; i < (size_t)groups * 4 * WCODEC_LANES; i += 16, elements += 32) {
        const vec v = both(add_halves(load(elements), add), mask),
                  w = both(add_halves(load(elements + 16), add), mask);
        store(rows + i, either(even_words(v, w), rotate_words(odd_words(v, w), 8)));
    }
}

static void pack(const struct wcodec_cpu_assembly *a, unsigned plane, const uint8_t *elements,
                 unsigned first, unsigned groups, uint8_t *rows)
{
    if (a->element_log2 == 0)
        pack_bytes(a, plane, elements, first, groups, rows);
    else if (a->element_log2 == 1 && plane == 0 && a->plane_bits[0] == 8)
        pack_bf16(a, elements, first, groups, rows);
    else
        wcodec_cpu_pack_scalar(a, plane, elements, first, groups, rows);
}

INLINE void use_vectors(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->extract = extract;
    dsp->choose[WCODEC_P8] = choose_values;
    dsp->choose[WCODEC_PAIRS] = choose_pairs;
    dsp->rans[WCODEC_P8] = rans_p8;
    dsp->rans[WCODEC_P12] = rans_bytes;
    dsp->rans[WCODEC_PAIRS] = rans_pairs;
    dsp->pack = pack;
}

#endif
