/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reconstruction of lossy tensors, over what a level gives before it includes this. A register has
 * INVERSE_LANES lanes of 32 bits, each for a block of its own,
 * and parts of four lanes; lane p * 4 + j is block INVERSE_LANES / 4 * j + p of as many neighbours,
 * so that transposing in parts puts blocks in their order.
 *
 *   vec                                  integers of 32 bits; numbers: the same as binary32
 *   load_words(at)                       the words at `at`, one a block in their order, to their
 *                                        lanes
 *   load_pairs(at, low, high)            the two words of each block likewise
 *   load_row(at), store_row(at, v)       as they are in memory, any alignment
 *   set_word(word), plus, minus, times   wrapping
 *   SHIFT_LEFT(v, n), SHIFT_RIGHT(v, n), SHIFT_DOWN(v, n)   by a constant; right: arithmetic, down:
 *                                                           zeros follow
 *   both(a, b), either(a, b), pick(mask, a, b)              mask: all bits of a lane or none; a
 *                                                           where set
 *   below(a, b)                          mask of signed a < b
 *   any_above(v, limit)                  is a lane's signed number above it?
 *   to_number(v), scaled(a, b), sum_of(a, b)   of binary32, rounded to nearest
 *   low_words(a, b), high_words(a, b), low_doubles(a, b), high_doubles(a, b)   parts of units of 4
 *                                                                              or 8 bytes by turns
 *                                                                              from the lower, or
 *                                                                              upper, halves of a's
 *                                        part and b's
 *   store_wide(at, low, high)            part p of low, then of high, at 32 p
 *   STREAM_ROW(at, v), stream_wide(at, low, high)   if there are such: the same past the caches,
 *                                                   aligned
 *   INVERSE_NARROW                       if it pays: products of 16-bit numbers are faster, as
 *   pair_of(a, b)                        the lower 16 bits of a, and b's above them
 *   dot(v, constants)                    sum of the products of a lane's two 16-bit numbers with
 *                                        two constants
 *   bytes_size(v), halves_size(v)        sums of the absolute values of a lane's four bytes, or two
 *                                        halves
 *
 * Where all that is multiplied in some blocks fits 16 bits, INVERSE_NARROW takes products of these:
 * nothing wraps or overflows then, and the result is the
 * same. With S the sum of the absolute values of a block's coefficients, no input of a
 * multiplication is larger than 16 S sqrt(2) and the roundings before it
 * (a few units): the first pass turns pairs and adds, a column's outputs are at most its own sum,
 * and so for rows. */
#ifndef WCODEC_CPU_INVERSE_H
#define WCODEC_CPU_INVERSE_H

#include "backends/cpu/lossy.h"

enum {
    SIDE = WCODEC_TRANSFORM_SIDE,
    BLOCK = WCODEC_TRANSFORM_BLOCK,
    NARROW_SUM = 1400, /* 16 * 1400 * sqrt(2) = 31679 */
    PARTS = INVERSE_LANES / 4
};

INLINE vec rounded(vec v)
{
    return SHIFT_RIGHT(plus(v, set_word(2048)), 12);
}

/* Two sums of products of the same two: a * aa + b * ab and a * ba + b * bb, rounded. */
struct two {
    vec first, second;
};

INLINE struct two rotate(bool narrow, vec a, vec b, int aa, int ab, int ba, int bb)
{
#ifdef INVERSE_NARROW
    if (narrow) {
        const vec p = pair_of(a, b);
        return (struct two){
            rounded(dot(p, set_word((uint32_t)(aa & 0xffff) | (uint32_t)ab << 16))),
            rounded(dot(p, set_word((uint32_t)(ba & 0xffff) | (uint32_t)bb << 16)))};
    }
#endif
    (void)narrow;
    return (struct two){
        rounded(plus(times(a, set_word((uint32_t)aa)), times(b, set_word((uint32_t)ab)))),
        rounded(plus(times(a, set_word((uint32_t)ba)), times(b, set_word((uint32_t)bb))))};
}

INLINE vec halved(bool narrow, vec v)
{
#ifdef INVERSE_NARROW
    if (narrow)
        return rounded(dot(v, set_word(2896)));
#endif
    (void)narrow;
    return rounded(times(v, set_word(2896)));
}

INLINE vec negative(vec v)
{
    return minus(set_word(0), v);
}

INLINE void one_dct(bool narrow, vec *v, unsigned step)
{
    const vec x0 = v[0], x4 = v[4 * step];
    const vec e0 = halved(narrow, plus(x0, x4)), e1 = halved(narrow, minus(x0, x4));
    const struct two e23 = rotate(narrow, v[2 * step], v[6 * step], 1567, -3784, 3784, 1567);
    const vec a0 = plus(e0, e23.second), a1 = plus(e1, e23.first), a2 = minus(e1, e23.first),
              a3 = minus(e0, e23.second);
    const struct two o03 = rotate(narrow, v[step], v[7 * step], 799, -4017, 4017, 799),
                     o12 = rotate(narrow, v[5 * step], v[3 * step], 3406, -2276, 2276, 3406);
    const vec b0 = plus(o03.first, o12.first), b1 = minus(o03.first, o12.first),
              b2 = minus(o03.second, o12.second), b3 = plus(o03.second, o12.second);
    const vec c1 = halved(narrow, minus(b2, b1)), c2 = halved(narrow, plus(b2, b1));
    v[0] = plus(a0, b3);
    v[step] = plus(a1, c2);
    v[2 * step] = plus(a2, c1);
    v[3 * step] = plus(a3, b0);
    v[4 * step] = minus(a3, b0);
    v[5 * step] = minus(a2, c1);
    v[6 * step] = minus(a1, c2);
    v[7 * step] = minus(a0, b3);
}

INLINE void one_adst(bool narrow, vec *v, unsigned step)
{
    const struct two r01 = rotate(narrow, v[7 * step], v[0], 4076, 401, 401, -4076),
                     r23 = rotate(narrow, v[5 * step], v[2 * step], 3612, 1931, 1931, -3612);
    const struct two r45 = rotate(narrow, v[3 * step], v[4 * step], 2598, 3166, 3166, -2598),
                     r67 = rotate(narrow, v[step], v[6 * step], 1189, 3920, 3920, -1189);
    const vec s0 = plus(r01.first, r45.first), s1 = plus(r01.second, r45.second),
              s2 = plus(r23.first, r67.first), s3 = plus(r23.second, r67.second);
    const vec s4 = minus(r01.first, r45.first), s5 = minus(r01.second, r45.second),
              s6 = minus(r23.first, r67.first), s7 = minus(r23.second, r67.second);
    const struct two t45 = rotate(narrow, s4, s5, 3784, 1567, 1567, -3784),
                     t67 = rotate(narrow, s7, s6, 3784, -1567, 1567, 3784);
    const vec u2 = minus(s0, s2), u3 = minus(s1, s3), u6 = minus(t45.first, t67.first),
              u7 = minus(t45.second, t67.second);
    v[0] = plus(s0, s2);
    v[step] = negative(plus(t45.first, t67.first));
    v[2 * step] = halved(narrow, plus(u6, u7));
    v[3 * step] = negative(halved(narrow, plus(u2, u3)));
    v[4 * step] = halved(narrow, minus(u2, u3));
    v[5 * step] = negative(halved(narrow, minus(u6, u7)));
    v[6 * step] = plus(t45.second, t67.second);
    v[7 * step] = negative(plus(s1, s3));
}

INLINE void both_passes(bool narrow, bool adst, vec v[BLOCK])
{
    for (unsigned x = 0; x < SIDE; x++)
        if (adst)
            one_adst(narrow, v + x, SIDE);
        else
            one_dct(narrow, v + x, SIDE);
    for (unsigned y = 0; y < SIDE; y++)
        if (adst)
            one_adst(narrow, v + (size_t)SIDE * y, 1);
        else
            one_dct(narrow, v + (size_t)SIDE * y, 1);
}

/* By mode, wide and narrow. */
static void transform_blocks(unsigned mode, bool narrow, vec v[BLOCK])
{
    if (mode == WCODEC_TRANSFORM_DCT && narrow)
        both_passes(true, false, v);
    else if (mode == WCODEC_TRANSFORM_DCT)
        both_passes(false, false, v);
    else if (narrow)
        both_passes(true, true, v);
    else
        both_passes(false, true, v);
}

/* Coefficients times 16 at their places, and whether they are small enough for `narrow`. */
INLINE bool place_coefficients(unsigned order, unsigned log2, const uint8_t *from, vec v[BLOCK])
{
    vec size = set_word(0);
    for (unsigned g = 0; g < BLOCK / 4; g++, from += (size_t)WCODEC_GROUP << log2) {
        const uint8_t *place = wcodec_orders[order] + 4 * g;
        vec low, high;
        if (log2) {
            load_pairs(from, &low, &high);
            v[place[0]] = SHIFT_LEFT(SHIFT_RIGHT(SHIFT_LEFT(low, 16), 16), 4);
            v[place[1]] = SHIFT_LEFT(SHIFT_RIGHT(low, 16), 4);
            v[place[2]] = SHIFT_LEFT(SHIFT_RIGHT(SHIFT_LEFT(high, 16), 16), 4);
            v[place[3]] = SHIFT_LEFT(SHIFT_RIGHT(high, 16), 4);
        } else {
            low = load_words(from);
            v[place[0]] = SHIFT_LEFT(SHIFT_RIGHT(SHIFT_LEFT(low, 24), 24), 4);
            v[place[1]] = SHIFT_LEFT(SHIFT_RIGHT(SHIFT_LEFT(low, 16), 24), 4);
            v[place[2]] = SHIFT_LEFT(SHIFT_RIGHT(SHIFT_LEFT(low, 8), 24), 4);
            v[place[3]] = SHIFT_LEFT(SHIFT_RIGHT(low, 24), 4);
        }
#ifdef INVERSE_NARROW
        size = plus(size, log2 ? plus(halves_size(low), halves_size(high)) : bytes_size(low));
#endif
    }
#ifdef INVERSE_NARROW
    return !any_above(size, NARROW_SUM);
#else
    (void)size;
    return false;
#endif
}

/* Lanes whose block has that mode. */
INLINE vec lanes_of(unsigned mode, const uint8_t *modes)
{
    uint32_t lanes[INVERSE_LANES];
    for (unsigned i = 0; i < INVERSE_LANES; i++)
        lanes[i] = modes[PARTS * (i % 4) + i / 4] == mode ? UINT32_MAX : 0;
    return load_row(lanes);
}

/* All blocks of one mode is the usual case; else each mode that is there is computed for all of
 * them. */
INLINE void reconstruct_values(unsigned order, unsigned log2, const uint8_t *coefficients,
                               const uint8_t *modes, vec v[BLOCK])
{
    const bool narrow = place_coefficients(order, log2, coefficients, v);
    vec other[BLOCK], mask[WCODEC_TRANSFORMS];
    unsigned there = 0;
    for (unsigned i = 0; i < INVERSE_LANES; i++)
        there |= 1u << modes[i];
    if (there == 1u << WCODEC_TRANSFORM_DCT || there == 1u << WCODEC_TRANSFORM_ADST) {
        transform_blocks(modes[0], narrow, v);
        return;
    }
    if (there >> WCODEC_TRANSFORM_DCT)
        memcpy(other, v, sizeof other);
    for (unsigned i = 0; i < BLOCK; i++)
        v[i] = SHIFT_LEFT(v[i], 2);
    for (unsigned m = WCODEC_TRANSFORM_DCT; m < WCODEC_TRANSFORMS; m++) {
        vec copy[BLOCK];
        if (!(there >> m & 1))
            continue;
        memcpy(copy, other, sizeof copy);
        transform_blocks(m, narrow, copy);
        mask[m] = lanes_of(m, modes);
        for (unsigned i = 0; i < BLOCK; i++)
            v[i] = pick(mask[m], copy[i], v[i]);
    }
}

/* The halves of bf16 above the rounded bits. */
INLINE vec rounded_bf16(vec bits)
{
    return plus(plus(bits, set_word(0x7fff)), both(SHIFT_DOWN(bits, 16), set_word(1)));
}

/* As wcodec_f16_from_f32(): normal numbers in integers; subnormal ones by a sum whose last place is
 * theirs, 2^-24. */
INLINE vec half_bits(vec bits)
{
    const vec sign = both(SHIFT_DOWN(bits, 16), set_word(0x8000)),
              magnitude = both(bits, set_word(0x7fffffff));
    const vec rebased = minus(magnitude, set_word(112u << 23));
    const vec normal = SHIFT_DOWN(
        plus(plus(rebased, set_word(0xfff)), both(SHIFT_DOWN(rebased, 13), set_word(1))), 13);
    const vec subnormal = minus(sum_of(magnitude, set_word(0x3f000000)), set_word(0x3f000000));
    const vec finite = pick(below(magnitude, set_word(0x38800000)), subnormal, normal);
    return either(sign, pick(below(magnitude, set_word(0x47800000)), finite, set_word(0x7c00)));
}

INLINE vec scaled_bits(vec value, vec scale)
{
    return scaled(to_number(value), scale);
}

/* Two neighbours in one word. */
INLINE vec two_halves(enum wcodec_cpu_number number, vec first, vec second)
{
    if (number == WCODEC_CPU_TO_BF16)
        return either(SHIFT_DOWN(rounded_bf16(first), 16),
                      both(rounded_bf16(second), set_word(0xffff0000)));
    return either(half_bits(first), SHIFT_LEFT(half_bits(second), 16));
}

INLINE void put_row(bool stream, uint8_t *at, vec v)
{
#ifdef STREAM_ROW
    if (stream) {
        STREAM_ROW(at, v);
        return;
    }
#endif
    (void)stream;
    store_row(at, v);
}

INLINE void put_wide(bool stream, uint8_t *at, vec low, vec high)
{
#ifdef STREAM_ROW
    if (stream) {
        stream_wide(at, low, high);
        return;
    }
#endif
    (void)stream;
    store_wide(at, low, high);
}

/* Four words of each block: in[i] has word i of all, out[i] the four words of the blocks i of the
 * parts. */
INLINE void transpose(const vec in[4], vec out[4])
{
    const vec a = low_words(in[0], in[1]), b = high_words(in[0], in[1]),
              c = low_words(in[2], in[3]), d = high_words(in[2], in[3]);
    out[0] = low_doubles(a, c);
    out[1] = high_doubles(a, c);
    out[2] = low_doubles(b, d);
    out[3] = high_doubles(b, d);
}

INLINE void store_values(enum wcodec_cpu_number number, bool stream, const vec *v, float scale,
                         uint8_t *to)
{
    uint32_t word;
    memcpy(&word, &scale, sizeof word);
    const vec factor = set_word(word);
    vec bits[SIDE], words[SIDE], turned[SIDE];
    for (unsigned x = 0; x < SIDE; x++)
        bits[x] = scaled_bits(v[x], factor);
    if (number == WCODEC_CPU_TO_F32) {
        transpose(bits, turned);
        transpose(bits + 4, turned + 4);
        for (unsigned j = 0; j < 4; j++)
            put_wide(stream, to + (size_t)32 * PARTS * j, turned[j], turned[4 + j]);
        return;
    }
    for (unsigned x = 0; x < 4; x++)
        words[x] = two_halves(number, bits[2 * x], bits[2 * x + 1]);
    transpose(words, turned);
    for (unsigned j = 0; j < 4; j++)
        put_row(stream, to + (size_t)16 * PARTS * j, turned[j]);
}

INLINE void inverse(enum wcodec_cpu_number number, bool stream, unsigned order, unsigned log2,
                    const uint8_t *coefficients, unsigned count, const uint8_t *modes,
                    const float *scales, uint8_t *dst, size_t stride)
{
    const size_t width = (size_t)SIDE << (number == WCODEC_CPU_TO_F32 ? 2 : 1);
    for (unsigned block = 0; block < count; block += INVERSE_LANES) {
        vec v[BLOCK];
        if (log2)
            reconstruct_values(order, 1, coefficients + (size_t)8 * block, modes + block, v);
        else
            reconstruct_values(order, 0, coefficients + (size_t)4 * block, modes + block, v);
        for (unsigned y = 0; y < SIDE; y++)
            store_values(number, stream, v + (size_t)SIDE * y, scales[y],
                         dst + y * stride + block * width);
    }
}

/* A coefficient of 8 or 16 bits that is at the top of its word. */
INLINE vec dequantised(vec top, unsigned bits, vec factor)
{
    return scaled_bits(bits == 8 ? SHIFT_LEFT(SHIFT_RIGHT(top, 24), 6)
                                 : SHIFT_LEFT(SHIFT_RIGHT(top, 16), 6),
                       factor);
}

/* A register of words of four coefficients each. */
INLINE void dequantise_bytes(enum wcodec_cpu_number number, const uint8_t *from, vec factor,
                             uint8_t *to)
{
    const vec words = number == WCODEC_CPU_TO_F32 ? load_words(from) : load_row(from);
    const vec bits[4] = {dequantised(SHIFT_LEFT(words, 24), 8, factor),
                         dequantised(SHIFT_LEFT(words, 16), 8, factor),
                         dequantised(SHIFT_LEFT(words, 8), 8, factor),
                         dequantised(words, 8, factor)};
    if (number == WCODEC_CPU_TO_F32) {
        vec turned[4];
        transpose(bits, turned);
        for (unsigned j = 0; j < 4; j++)
            store_row(to + (size_t)16 * PARTS * j, turned[j]);
    } else {
        const vec first = two_halves(number, bits[0], bits[1]),
                  second = two_halves(number, bits[2], bits[3]);
        store_wide(to, low_words(first, second), high_words(first, second));
    }
}

/* A register of words of two. */
INLINE void dequantise_halves(enum wcodec_cpu_number number, const uint8_t *from, vec factor,
                              uint8_t *to)
{
    const vec words = load_row(from), first = dequantised(SHIFT_LEFT(words, 16), 16, factor),
              second = dequantised(words, 16, factor);
    if (number == WCODEC_CPU_TO_F32)
        store_wide(to, low_words(first, second), high_words(first, second));
    else
        store_row(to, two_halves(number, first, second));
}

INLINE void dequantise(enum wcodec_cpu_number number, unsigned log2, const uint8_t *coefficients,
                       size_t count, float scale, uint8_t *dst)
{
    static const wcodec_dtype dtypes[WCODEC_CPU_NUMBERS] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,
                                                            WCODEC_DTYPE_F32};
    const unsigned element_log2 = number == WCODEC_CPU_TO_F32 ? 2 : 1,
                   step = log2 ? 2 * INVERSE_LANES : 4 * INVERSE_LANES;
    uint32_t word;
    size_t i = 0;
    memcpy(&word, &scale, sizeof word);
    for (; count - i >= step; i += step)
        if (log2)
            dequantise_halves(number, coefficients + 2 * i, set_word(word),
                              dst + (i << element_log2));
        else
            dequantise_bytes(number, coefficients + i, set_word(word), dst + (i << element_log2));
    for (; i < count; i++) {
        const int32_t value =
            (log2 ? (int16_t)wcodec_load_u16(coefficients + 2 * i) : (int8_t)coefficients[i]) *
            WCODEC_TRANSFORM_UNIT;
        wcodec_lossy_store(dtypes[number], &value, 1, scale, dst + (i << element_log2));
    }
}

#define INVERSE(name, number, stream) \
    static void name(unsigned order, unsigned log2, const uint8_t *coefficients, unsigned count, \
                     const uint8_t *modes, const float *scales, uint8_t *dst, size_t stride) \
    { \
        inverse(number, stream, order, log2, coefficients, count, modes, scales, dst, stride); \
    }

#define DEQUANTISE(name, number) \
    static void name(unsigned log2, const uint8_t *coefficients, size_t count, float scale, \
                     uint8_t *dst) \
    { \
        if (log2) \
            dequantise(number, 1, coefficients, count, scale, dst); \
        else \
            dequantise(number, 0, coefficients, count, scale, dst); \
    }

INVERSE(inverse_bf16, WCODEC_CPU_TO_BF16, false)
INVERSE(inverse_f16, WCODEC_CPU_TO_F16, false)
INVERSE(inverse_f32, WCODEC_CPU_TO_F32, false)
DEQUANTISE(dequantise_bf16, WCODEC_CPU_TO_BF16)
DEQUANTISE(dequantise_f16, WCODEC_CPU_TO_F16)
DEQUANTISE(dequantise_f32, WCODEC_CPU_TO_F32)

#ifdef STREAM_ROW
INVERSE(stream_bf16, WCODEC_CPU_TO_BF16, true)
INVERSE(stream_f16, WCODEC_CPU_TO_F16, true)
INVERSE(stream_f32, WCODEC_CPU_TO_F32, true)

static void stream_end(void)
{
    _mm_sfence();
}

#define STREAM_FUNCTIONS \
    , .inverse_stream = {stream_bf16, stream_f16, stream_f32}, .stream_end = stream_end
#else
#define STREAM_FUNCTIONS
#endif

#define INVERSE_FUNCTIONS \
    .inverse = {inverse_bf16, inverse_f16, inverse_f32}, \
    .dequantise = {dequantise_bf16, dequantise_f16, dequantise_f32} STREAM_FUNCTIONS

#endif
