/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reconstruction of lossy tensors, over the vector operations that a level includes before this. A
 * register has LANES lanes of 32 bits, each for a block of its own, and parts of four lanes; lane p
 * * 4 + j is block PARTS * j + p of as many neighbours, so that transposing in parts puts blocks in
 * their order. Lanes hold integers, or binary32 as its bits.
 *
 * Where all that is multiplied in some blocks fits 16 bits, and products of these are faster
 * (VEC_DOT16), they are taken: nothing wraps or overflows then, and the result is the same. With S
 * the sum of the absolute values of a block's coefficients, no input of a multiplication is larger
 * than 16 S sqrt(2) and the roundings before it (a few units): the first pass turns pairs and adds,
 * a column's outputs are at most its own sum, and so for rows. */
#ifndef WCODEC_CPU_INVERSE_H
#define WCODEC_CPU_INVERSE_H

#include "backends/cpu/lossy.h"

enum {
    SIDE = WCODEC_TRANSFORM_SIDE,
    BLOCK = WCODEC_TRANSFORM_BLOCK,
    NARROW_SUM = 1400, /* 16 * 1400 * sqrt(2) = 31679 */
    LANES = VEC_BYTES / 4,
    PARTS = LANES / 4
};

INLINE vec rounded(vec v)
{
    return SAR32(add32(v, set32(2048)), 12);
}

/* Two sums of products of the same two: a * aa + b * ab and a * ba + b * bb, rounded. */
struct two {
    vec first, second;
};

INLINE struct two rotate(bool narrow, vec a, vec b, int aa, int ab, int ba, int bb)
{
#ifdef VEC_DOT16
    if (narrow) {
        const vec p = join_halves(a, b);
        return (struct two){rounded(dot16(p, set32((uint32_t)(aa & 0xffff) | (uint32_t)ab << 16))),
                            rounded(dot16(p, set32((uint32_t)(ba & 0xffff) | (uint32_t)bb << 16)))};
    }
#endif
    (void)narrow;
    return (struct two){
        rounded(add32(mul32(a, set32((uint32_t)aa)), mul32(b, set32((uint32_t)ab)))),
        rounded(add32(mul32(a, set32((uint32_t)ba)), mul32(b, set32((uint32_t)bb))))};
}

/* Sums of the absolute values of a lane's four bytes, or two halves. */
#ifdef VEC_DOT16
INLINE vec bytes_size(vec v)
{
    return dot16(dot8(abs8(v), set8(1)), set16(1));
}

/* The absolute value of -32768 is 32768 in 16 bits without a sign, and -32768 with one: it is taken
 * apart. */
INLINE vec halves_size(vec v)
{
    const vec size = abs16(v);
    return add32(bit_and(size, set32(0xffff)), SHR32(size, 16));
}
#endif

INLINE vec halved(bool narrow, vec v)
{
#ifdef VEC_DOT16
    if (narrow)
        return rounded(dot16(v, set32(2896)));
#endif
    (void)narrow;
    return rounded(mul32(v, set32(2896)));
}

INLINE vec negative(vec v)
{
    return sub32(set32(0), v);
}

INLINE void one_dct(bool narrow, vec *v, unsigned step)
{
    const vec x0 = v[0], x4 = v[4 * step];
    const vec e0 = halved(narrow, add32(x0, x4)), e1 = halved(narrow, sub32(x0, x4));
    const struct two e23 = rotate(narrow, v[2 * step], v[6 * step], 1567, -3784, 3784, 1567);
    const vec a0 = add32(e0, e23.second), a1 = add32(e1, e23.first), a2 = sub32(e1, e23.first),
              a3 = sub32(e0, e23.second);
    const struct two o03 = rotate(narrow, v[step], v[7 * step], 799, -4017, 4017, 799),
                     o12 = rotate(narrow, v[5 * step], v[3 * step], 3406, -2276, 2276, 3406);
    const vec b0 = add32(o03.first, o12.first), b1 = sub32(o03.first, o12.first),
              b2 = sub32(o03.second, o12.second), b3 = add32(o03.second, o12.second);
    const vec c1 = halved(narrow, sub32(b2, b1)), c2 = halved(narrow, add32(b2, b1));
    v[0] = add32(a0, b3);
    v[step] = add32(a1, c2);
    v[2 * step] = add32(a2, c1);
    v[3 * step] = add32(a3, b0);
    v[4 * step] = sub32(a3, b0);
    v[5 * step] = sub32(a2, c1);
    v[6 * step] = sub32(a1, c2);
    v[7 * step] = sub32(a0, b3);
}

INLINE void one_adst(bool narrow, vec *v, unsigned step)
{
    const struct two r01 = rotate(narrow, v[7 * step], v[0], 4076, 401, 401, -4076),
                     r23 = rotate(narrow, v[5 * step], v[2 * step], 3612, 1931, 1931, -3612);
    const struct two r45 = rotate(narrow, v[3 * step], v[4 * step], 2598, 3166, 3166, -2598),
                     r67 = rotate(narrow, v[step], v[6 * step], 1189, 3920, 3920, -1189);
    const vec s0 = add32(r01.first, r45.first), s1 = add32(r01.second, r45.second),
              s2 = add32(r23.first, r67.first), s3 = add32(r23.second, r67.second);
    const vec s4 = sub32(r01.first, r45.first), s5 = sub32(r01.second, r45.second),
              s6 = sub32(r23.first, r67.first), s7 = sub32(r23.second, r67.second);
    const struct two t45 = rotate(narrow, s4, s5, 3784, 1567, 1567, -3784),
                     t67 = rotate(narrow, s7, s6, 3784, -1567, 1567, 3784);
    const vec u2 = sub32(s0, s2), u3 = sub32(s1, s3), u6 = sub32(t45.first, t67.first),
              u7 = sub32(t45.second, t67.second);
    v[0] = add32(s0, s2);
    v[step] = negative(add32(t45.first, t67.first));
    v[2 * step] = halved(narrow, add32(u6, u7));
    v[3 * step] = negative(halved(narrow, add32(u2, u3)));
    v[4 * step] = halved(narrow, sub32(u2, u3));
    v[5 * step] = negative(halved(narrow, sub32(u6, u7)));
    v[6 * step] = add32(t45.second, t67.second);
    v[7 * step] = negative(add32(s1, s3));
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

/* Coefficients times 16 in the order of the block, and whether they are small enough for `narrow`.
 */
INLINE bool place_coefficients(unsigned order, unsigned log2, const uint8_t *from, vec v[BLOCK])
{
    vec size = set32(0);
    for (unsigned g = 0; g < BLOCK / 4; g++, from += (size_t)WCODEC_GROUP << log2) {
        const uint8_t *positions = wcodec_orders[order] + 4 * g;
        vec low, high;
        if (log2) {
            load_pairs(from, &low, &high);
            v[positions[0]] = SHL32(SAR32(SHL32(low, 16), 16), 4);
            v[positions[1]] = SHL32(SAR32(low, 16), 4);
            v[positions[2]] = SHL32(SAR32(SHL32(high, 16), 16), 4);
            v[positions[3]] = SHL32(SAR32(high, 16), 4);
        } else {
            low = load_words(from);
            v[positions[0]] = SHL32(SAR32(SHL32(low, 24), 24), 4);
            v[positions[1]] = SHL32(SAR32(SHL32(low, 16), 24), 4);
            v[positions[2]] = SHL32(SAR32(SHL32(low, 8), 24), 4);
            v[positions[3]] = SHL32(SAR32(low, 24), 4);
        }
#ifdef VEC_DOT16
        size = add32(size, log2 ? add32(halves_size(low), halves_size(high)) : bytes_size(low));
#endif
    }
#ifdef VEC_DOT16
    return !any_above32(size, NARROW_SUM);
#else
    (void)size;
    return false;
#endif
}

/* Lanes whose block has that mode. */
INLINE vec lanes_of(unsigned mode, const uint8_t *modes)
{
    uint32_t lanes[LANES];
    for (unsigned i = 0; i < LANES; i++)
        lanes[i] = modes[PARTS * (i % 4) + i / 4] == mode ? UINT32_MAX : 0;
    return load(lanes);
}

/* All blocks of one mode is the usual case; else each mode that is there is computed for all of
 * them. */
INLINE void reconstruct_values(unsigned order, unsigned log2, const uint8_t *coefficients,
                               const uint8_t *modes, vec v[BLOCK])
{
    const bool narrow = place_coefficients(order, log2, coefficients, v);
    vec other[BLOCK], mask[WCODEC_TRANSFORMS];
    unsigned there = 0;
    for (unsigned i = 0; i < LANES; i++)
        there |= 1u << modes[i];
    if (there == 1u << WCODEC_TRANSFORM_DCT || there == 1u << WCODEC_TRANSFORM_ADST) {
        transform_blocks(modes[0], narrow, v);
        return;
    }
    if (there >> WCODEC_TRANSFORM_DCT)
        memcpy(other, v, sizeof other);
    for (unsigned i = 0; i < BLOCK; i++)
        v[i] = SHL32(v[i], 2);
    for (unsigned m = WCODEC_TRANSFORM_DCT; m < WCODEC_TRANSFORMS; m++) {
        vec copy[BLOCK];
        if (!(there >> m & 1))
            continue;
        memcpy(copy, other, sizeof copy);
        transform_blocks(m, narrow, copy);
        mask[m] = lanes_of(m, modes);
        for (unsigned i = 0; i < BLOCK; i++)
            v[i] = blend(mask[m], copy[i], v[i]);
    }
}

/* The halves of bf16 above the rounded bits. */
INLINE vec rounded_bf16(vec bits)
{
    return add32(add32(bits, set32(0x7fff)), bit_and(SHR32(bits, 16), set32(1)));
}

/* As wcodec_f16_from_f32(): normal numbers in integers; subnormal ones by a sum whose last place is
 * theirs, 2^-24. */
INLINE vec half_bits(vec bits)
{
    const vec sign = bit_and(SHR32(bits, 16), set32(0x8000)),
              magnitude = bit_and(bits, set32(0x7fffffff));
    const vec rebased = sub32(magnitude, set32(112u << 23));
    const vec normal =
        SHR32(add32(add32(rebased, set32(0xfff)), bit_and(SHR32(rebased, 13), set32(1))), 13);
    const vec subnormal = sub32(f32_add(magnitude, set32(0x3f000000)), set32(0x3f000000));
    const vec finite = blend(above32(set32(0x38800000), magnitude), subnormal, normal);
    return bit_or(sign, blend(above32(set32(0x47800000), magnitude), finite, set32(0x7c00)));
}

INLINE vec scaled_bits(vec value, vec scale)
{
    return f32_mul(f32_from_i32(value), scale);
}

/* Two neighbours in one word. */
INLINE vec two_halves(enum wcodec_cpu_number number, vec first, vec second)
{
    if (number == WCODEC_CPU_TO_BF16)
        return bit_or(SHR32(rounded_bf16(first), 16),
                      bit_and(rounded_bf16(second), set32(0xffff0000)));
    return bit_or(half_bits(first), SHL32(half_bits(second), 16));
}

INLINE void put_row(bool past_caches, uint8_t *at, vec v)
{
#ifdef VEC_STREAM
    if (past_caches) {
        store_stream(at, v);
        return;
    }
#endif
    (void)past_caches;
    store(at, v);
}

/* Part p of low, then of high, at 32 p. */
INLINE void put_wide(bool past_caches, uint8_t *at, vec low, vec high)
{
    put_row(past_caches, at, zip_parts_low(low, high));
    put_row(past_caches, at + VEC_BYTES, zip_parts_high(low, high));
}

/* Four words of each block: in[i] has word i of all, out[i] the four words of the blocks i of the
 * parts. */
INLINE void transpose(const vec in[4], vec out[4])
{
    const vec a = zip_low32(in[0], in[1]), b = zip_high32(in[0], in[1]),
              c = zip_low32(in[2], in[3]), d = zip_high32(in[2], in[3]);
    out[0] = zip_low64(a, c);
    out[1] = zip_high64(a, c);
    out[2] = zip_low64(b, d);
    out[3] = zip_high64(b, d);
}

INLINE void store_values(enum wcodec_cpu_number number, bool stream, const vec *v, float scale,
                         uint8_t *to)
{
    uint32_t word;
    memcpy(&word, &scale, sizeof word);
    const vec factor = set32(word);
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
    for (unsigned block = 0; block < count; block += LANES) {
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
    return scaled_bits(bits == 8 ? SHL32(SAR32(top, 24), 6) : SHL32(SAR32(top, 16), 6), factor);
}

/* A register of words of four coefficients each. */
INLINE void dequantise_bytes(enum wcodec_cpu_number number, const uint8_t *from, vec factor,
                             uint8_t *to)
{
    const vec words = number == WCODEC_CPU_TO_F32 ? load_words(from) : load(from);
    const vec bits[4] = {dequantised(SHL32(words, 24), 8, factor),
                         dequantised(SHL32(words, 16), 8, factor),
                         dequantised(SHL32(words, 8), 8, factor), dequantised(words, 8, factor)};
    if (number == WCODEC_CPU_TO_F32) {
        vec turned[4];
        transpose(bits, turned);
        for (unsigned j = 0; j < 4; j++)
            store(to + (size_t)16 * PARTS * j, turned[j]);
    } else {
        const vec first = two_halves(number, bits[0], bits[1]),
                  second = two_halves(number, bits[2], bits[3]);
        put_wide(false, to, zip_low32(first, second), zip_high32(first, second));
    }
}

/* A register of words of two. */
INLINE void dequantise_halves(enum wcodec_cpu_number number, const uint8_t *from, vec factor,
                              uint8_t *to)
{
    const vec words = load(from), first = dequantised(SHL32(words, 16), 16, factor),
              second = dequantised(words, 16, factor);
    if (number == WCODEC_CPU_TO_F32)
        put_wide(false, to, zip_low32(first, second), zip_high32(first, second));
    else
        store(to, two_halves(number, first, second));
}

INLINE void dequantise(enum wcodec_cpu_number number, unsigned log2, const uint8_t *coefficients,
                       size_t count, float scale, uint8_t *dst)
{
    static const wcodec_dtype dtypes[WCODEC_CPU_NUMBERS] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,
                                                            WCODEC_DTYPE_F32};
    const unsigned element_log2 = number == WCODEC_CPU_TO_F32 ? 2 : 1,
                   step = log2 ? 2 * LANES : 4 * LANES;
    uint32_t word;
    size_t i = 0;
    memcpy(&word, &scale, sizeof word);
    for (; count - i >= step; i += step)
        if (log2)
            dequantise_halves(number, coefficients + 2 * i, set32(word), dst + (i << element_log2));
        else
            dequantise_bytes(number, coefficients + i, set32(word), dst + (i << element_log2));
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

#ifdef VEC_STREAM
INVERSE(stream_bf16, WCODEC_CPU_TO_BF16, true)
INVERSE(stream_f16, WCODEC_CPU_TO_F16, true)
INVERSE(stream_f32, WCODEC_CPU_TO_F32, true)

#define STREAM_FUNCTIONS \
    , .inverse_stream = {stream_bf16, stream_f16, stream_f32}, .stream_end = stream_end
#else
#define STREAM_FUNCTIONS
#endif

#define INVERSE_FUNCTIONS \
    .inverse = {inverse_bf16, inverse_f16, inverse_f32}, \
    .dequantise = {dequantise_bf16, dequantise_f16, dequantise_f32} STREAM_FUNCTIONS

#endif
