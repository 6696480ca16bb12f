/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's stages for registers of 16 and 32 bytes, over the vector operations that a level
 * includes before this; x86/encode_avx512.c has the formulas. The level gives
 *
 *   struct lookup, load_lookup(p), look_up(lookup, v)  a table of 32 bytes, by the low 5 bits
 *   even_halves(a, b), odd_halves(a, b)                lower and upper halves of words, of a and
 *                                                      then of b
 *   pair_nibbles(a, b)                                 bytes below 16, two by two: the first is the
 *                                                      low half
 *   load_entries(entries, symbols, stride, e)          of eight symbols, EIGHT registers
 *   mask_words(v), low_halves(v)                       of EIGHT registers of words: a bit for each
 *                                                      that is all ones, not zero; a part of their
 *                                                      lower halves
 *
 * Quotients in single precision are rounded to the nearest here, so that the inverse is made 2^-21
 * too small: with three roundings of 2^-24 the estimate is too small by 5 to 11 parts in 2^24,
 * which is less than 0.7 of a quotient below 2^20, and less than 0.05 of one below 2^16. */
#ifndef WCODEC_CPU_ENCODE_VECTORS_H
#define WCODEC_CPU_ENCODE_VECTORS_H

#include "backends/cpu/extract.h"

INLINE vec rotate_words(vec v, unsigned n)
{
    return bit_or(shl32(v, n), shr32(v, 32 - n));
}

static bool choose_values(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                          unsigned groups, uint8_t *symbols)
{
    if (!table->low5)
        return wcodec_cpu_choose_values_scalar(table, values, groups, symbols);
    const struct lookup held = load_lookup(table->bytes5.held);
    const vec other = set8(table->table->most_frequent);
    vec same = set8(255);
    for (size_t i = 0; i < (size_t)groups * WCODEC_GROUP; i += VEC_BYTES) {
        const vec v = load(values + i), present = equal8(v, look_up(&held, v));
        store(symbols + i, blend(present, v, other));
        same = bit_and(same, present);
    }
    return any(bit_clear(set8(255), same));
}

/* Groups with pairs outside of the window or not held are left to the scalar function. */
static bool choose_pairs(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                         unsigned groups, uint8_t *symbols)
{
    enum { REGISTERS = WCODEC_GROUP / 2 / VEC_BYTES };
    static const uint8_t bit_of[16] = {1, 2, 4, 8, 16, 32, 64, 128};
    const struct lookup held = load_lookup(table->held_pairs);
    const vec base = set8(table->table->table.base), bits = repeat(bit_of);
    bool differ = false;
    for (unsigned g = 0; g < groups; g++, values += WCODEC_GROUP, symbols += WCODEC_GROUP / 2) {
        vec pairs[REGISTERS], wrong = zero();
        for (unsigned k = 0; k < REGISTERS; k++) {
            const vec a = sub8(load(values + 2 * VEC_BYTES * k), base),
                      b = sub8(load(values + 2 * VEC_BYTES * k + VEC_BYTES), base),
                      v = in_order(pair_nibbles(a, b));
            /* What is looked up of those outside does not matter. */
            const vec outside = bit_and(bit_or(a, b), set8(0xf0)),
                      bit = shuffle(bits, bit_and(v, set8(7))),
                      absent = equal8(bit_and(look_up(&held, shr16(v, 3)), bit), zero());
            wrong = bit_or(wrong, bit_or(outside, absent));
            pairs[k] = v;
        }
        if (any(wrong))
            differ |= wcodec_cpu_choose_pairs_scalar(table, values, 1, symbols);
        else
            for (unsigned k = 0; k < REGISTERS; k++)
                store(symbols + VEC_BYTES * k, pairs[k]);
    }
    return differ;
}

/* The words of eight lanes whose bit in the mask is set, below what is written. What lies below
 * these is overwritten with anything. */
INLINE uint8_t *put_eight(const struct wcodec_cpu_encode_table *table, part words, unsigned mask,
                          uint8_t *at)
{
    store_part(at - 16, shuffle_part(words, table->compress[mask]));
    return at - 2 * (size_t)count_bits(mask);
}

/* Those of a register. */
INLINE uint8_t *put_words(const struct wcodec_cpu_encode_table *table, vec words, unsigned mask,
                          uint8_t *at)
{
    for (unsigned i = VEC_BYTES / 16; i-- > 0;)
        at = put_eight(table, part_of(words, i), mask >> 8 * i & 255, at);
    return at;
}

INLINE vec invert(vec f)
{
    return f32_div(f32_set(1 - 0x1p-21f), f32_from_i32(f));
}

/* The quotient of words of which the halves are given. */
INLINE vec estimate(vec high, vec low, vec inverse)
{
    return i32_from_f32(f32_mul(f32_from_halves(high, low), inverse));
}

/* P8: low and high halves of as many states as a register has halves. */
struct p8_lanes {
    vec low, high;
};

struct p8_table {
    struct lookup freq, start, reciprocal_low, reciprocal_high;
};

/* n / f 2^8 + n mod f + start for n < 256 f. */
INLINE vec divide_bytes(vec n, vec f, vec reciprocal, vec start)
{
    const vec quotient = mul16_high(n, reciprocal), rest = sub16(n, mul16(quotient, f));
    const vec v = add16(shl16(quotient, 8), add16(rest, start));
    return add16(v, bit_and(not_below16(rest, f), sub16(set16(256), f)));
}

/* Two symbols of each lane, the first in the low byte. */
INLINE uint8_t *p8_step(const struct wcodec_cpu_encode_table *table, const struct p8_table *t,
                        vec symbols, struct p8_lanes *s, uint8_t *words)
{
    const vec byte = set16(255), none = zero(), freq = look_up(&t->freq, symbols),
              start = look_up(&t->start, symbols);
    const vec low_part = look_up(&t->reciprocal_low, symbols),
              high_part = look_up(&t->reciprocal_high, symbols);
    const vec reciprocal1 = bit_or(bit_and(low_part, byte), shl16(high_part, 8)),
              reciprocal2 = bit_or(shr16(low_part, 8), bit_clear(high_part, byte));
    const vec f1 = bit_and(freq, byte), f2 = shr16(freq, 8), f = mul16(f1, f2);

    const vec emit = not_below16(s->high, f);
    words = put_words(table, s->low, mask16(emit), words);
    const vec low = blend(emit, s->high, s->low), high = bit_clear(s->high, emit);

    const vec q = pack32(
        estimate(zip_low16(high, none), zip_low16(low, none), invert(zip_low16(f, none))),
        estimate(zip_high16(high, none), zip_high16(low, none), invert(zip_high16(f, none))));
    const vec r = sub16(low, mul16(q, f)), short_by_one = not_below16(r, f);
    s->high = sub16(q, short_by_one);
    const vec p =
        divide_bytes(sub16(r, bit_and(short_by_one, f)), f2, reciprocal2, shr16(start, 8));
    s->low = divide_bytes(p, f1, reciprocal1, bit_and(start, byte));
    return words;
}

static void rans_p8(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                    unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    enum { HALVES = VEC_BYTES / 2, WORDS = VEC_BYTES / 4, REGISTERS = WCODEC_LANES / HALVES };
    if (!table->low5) {
        wcodec_cpu_rans_p8_scalar(table, symbols, groups, stream);
        return;
    }
    const struct p8_table t = {load_lookup(table->bytes5.freq), load_lookup(table->bytes5.start),
                               load_lookup(table->bytes5.reciprocal_low),
                               load_lookup(table->bytes5.reciprocal_high)};
    struct p8_lanes lanes[REGISTERS];
    uint8_t *words = stream->words;
    for (unsigned k = 0; k < REGISTERS; k++) {
        const vec a = load(stream->x + HALVES * k), b = load(stream->x + HALVES * k + WORDS);
        lanes[k] = (struct p8_lanes){even_halves(a, b), odd_halves(a, b)};
    }
    for (unsigned g = groups; g-- > 0;) {
        vec a[REGISTERS], b[REGISTERS];
        for (unsigned k = 0; k < REGISTERS; k++) {
            const uint8_t *at = symbols + (size_t)g * WCODEC_GROUP + 2 * VEC_BYTES * k;
            a[k] = load(at);
            b[k] = load(at + VEC_BYTES);
        }
        for (unsigned k = REGISTERS; k-- > 0;)
            words = p8_step(table, &t, odd_halves(a[k], b[k]), &lanes[k], words);
        for (unsigned k = REGISTERS; k-- > 0;)
            words = p8_step(table, &t, even_halves(a[k], b[k]), &lanes[k], words);
    }
    for (unsigned k = 0; k < REGISTERS; k++) {
        const vec a = zip_low16(lanes[k].low, lanes[k].high),
                  b = zip_high16(lanes[k].low, lanes[k].high);
        store(stream->x + HALVES * k, zip_parts_low(a, b));
        store(stream->x + HALVES * k + WORDS, zip_parts_high(a, b));
    }
    stream->words = words;
}

/* 12-bit profiles: the states of a register after their entries' symbols. The remainder has at most
 * 13 bits: the low halves of all factors are enough. */
INLINE vec p12_push(vec x, vec e)
{
    const vec half = set32(0xffff), f = bit_and(e, half),
              q = estimate(shr32(x, 16), bit_and(x, half), invert(f)),
              r = bit_and(sub16(x, mul16(q, f)), half),
              more = bit_clear(sub32(set32(4096), f), above32(f, r));
    return add32(add32(shl32(q, 12), more), add32(r, shr32(e, 16)));
}

/* Eight states. */
INLINE uint8_t *p12_step(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                         unsigned stride, vec x[EIGHT], uint8_t *words)
{
    vec e[EIGHT], emit[EIGHT];
    load_entries(table->entries, symbols, stride, e);
    for (unsigned i = 0; i < EIGHT; i++)
        emit[i] = not_below32(x[i], shl32(bit_and(e[i], set32(0xffff)), 20));
    words = put_eight(table, low_halves(x), mask_words(emit), words);
    for (unsigned i = 0; i < EIGHT; i++)
        x[i] = p12_push(blend(emit[i], shr32(x[i], 16), x[i]), e[i]);
    return words;
}

/* steps: symbols of a lane in a group. */
INLINE void rans_p12(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                     unsigned groups, unsigned steps, struct wcodec_cpu_encode_stream *stream)
{
    enum { WORDS = VEC_BYTES / 4, REGISTERS = WCODEC_LANES / WORDS };
    vec x[REGISTERS];
    uint8_t *words = stream->words;
    for (unsigned k = 0; k < REGISTERS; k++)
        x[k] = load(stream->x + WORDS * k);
    for (unsigned g = groups; g-- > 0;)
        for (unsigned step = steps; step-- > 0;)
#pragma GCC unroll 4
            for (unsigned k = WCODEC_LANES / 8; k-- > 0;)
                words = p12_step(table, symbols + (size_t)steps * (g * WCODEC_LANES + 8 * k) + step,
                                 steps, x + EIGHT * k, words);
    for (unsigned k = 0; k < REGISTERS; k++)
        store(stream->x + WORDS * k, x[k]);
    stream->words = words;
}

/* Elements of 8 bits: a slot word a lane and group. */
static void pack_bytes(const struct wcodec_cpu_assembly *a, unsigned plane, const uint8_t *elements,
                       unsigned first, unsigned groups, uint8_t *rows)
{
    const unsigned bits = a->plane_bits[plane], ratio = 8 / bits;
    const vec mask = set32(a->plane_mask[plane]), add = set32(a->add);
    for (unsigned g = first; g < first + groups; g++)
        for (unsigned i = 0; i < 4 * WCODEC_LANES; i += VEC_BYTES, elements += VEC_BYTES) {
            uint8_t *row = rows + (size_t)(g / ratio) * 4 * WCODEC_LANES + i;
            const vec v = bit_and(add8(load(elements), add), mask);
            store(row, g % ratio ? bit_or(load(row), rotate_words(v, g % ratio * bits)) : v);
        }
}

/* Eight raw bits of 16: two slot words a lane and group, in a row. */
static void pack_bf16(const struct wcodec_cpu_assembly *a, const uint8_t *elements, unsigned first,
                      unsigned groups, uint8_t *rows)
{
    const vec mask = set32(a->plane_mask[0]), add = set32(a->add);
    rows += (size_t)first * 4 * WCODEC_LANES;
    for (size_t i = 0; i < (size_t)groups * 4 * WCODEC_LANES;
         i += VEC_BYTES, elements += 2 * VEC_BYTES) {
        const vec v = bit_and(add16(load(elements), add), mask),
                  w = bit_and(add16(load(elements + VEC_BYTES), add), mask);
        store(rows + i, in_order(bit_or(even_words(v, w), rotate_words(odd_words(v, w), 8))));
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

#include "backends/cpu/encode_level.h"

#endif
