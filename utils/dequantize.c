/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/dequantize.h"

#include <string.h>

/* Products are rounded before they are added, as where there is no instruction for both: a compiler
 * may join them within one expression only. */

static float from_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static float load_f16(const uint8_t *p)
{
    const uint32_t half = (uint32_t)p[0] | (uint32_t)p[1] << 8;
    const uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 0) {
        const float number = (float)fraction * 0x1p-24f;
        return sign ? -number : number;
    }
    return from_bits(sign | (exponent == 31 ? 0x7F800000 : (exponent + 112) << 23) |
                     fraction << 13);
}

static void decode_q4_0(const uint8_t *b, float *to)
{
    const float d = load_f16(b);
    for (unsigned i = 0; i < 16; i++) {
        to[i] = d * (float)((b[2 + i] & 15) - 8);
        to[16 + i] = d * (float)((b[2 + i] >> 4) - 8);
    }
}

static void decode_q4_1(const uint8_t *b, float *to)
{
    const float d = load_f16(b), m = load_f16(b + 2);
    for (unsigned i = 0; i < 16; i++) {
        to[i] = d * (float)(b[4 + i] & 15);
        to[16 + i] = d * (float)(b[4 + i] >> 4);
    }
    for (unsigned i = 0; i < 32; i++)
        to[i] += m;
}

/* Four bits of each element, the fifth is in a word of its own. */
static void unpack_5_bits(const uint8_t *high, const uint8_t *low, int *to)
{
    for (unsigned i = 0; i < 32; i++) {
        const int four = i < 16 ? low[i] & 15 : low[i - 16] >> 4;
        to[i] = four | (high[i / 8] >> i % 8 & 1) << 4;
    }
}

static void decode_q5_0(const uint8_t *b, float *to)
{
    int q[32];
    const float d = load_f16(b);
    unpack_5_bits(b + 2, b + 6, q);
    for (unsigned i = 0; i < 32; i++)
        to[i] = d * (float)(q[i] - 16);
}

static void decode_q5_1(const uint8_t *b, float *to)
{
    int q[32];
    const float d = load_f16(b), m = load_f16(b + 2);
    unpack_5_bits(b + 4, b + 8, q);
    for (unsigned i = 0; i < 32; i++)
        to[i] = d * (float)q[i];
    for (unsigned i = 0; i < 32; i++)
        to[i] += m;
}

static void decode_q8_0(const uint8_t *b, float *to)
{
    const float d = load_f16(b);
    for (unsigned i = 0; i < 32; i++)
        to[i] = d * (float)(int8_t)b[2 + i];
}

/* Elements of two bits: four to a byte, which are 32 elements apart. */
static unsigned two_bits(const uint8_t *q, unsigned i)
{
    return q[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

static void decode_q2_k(const uint8_t *b, float *to)
{
    const float d = load_f16(b + 80), least = load_f16(b + 82);
    for (unsigned i = 0; i < 256; i++) {
        const float scale = d * (float)(b[i / 16] & 15), from = least * (float)(b[i / 16] >> 4);
        const float product = scale * (float)two_bits(b + 16, i);
        to[i] = product - from;
    }
}

static void decode_q3_k(const uint8_t *b, float *to)
{
    const uint8_t *high = b, *q = b + 32, *s = b + 96;
    const float d = load_f16(b + 108);
    for (unsigned i = 0; i < 256; i++) {
        const unsigned group = i / 16;
        const int four = group < 8 ? s[group] & 15 : s[group - 8] >> 4;
        const int scale = (four | (s[8 + group % 4] >> (group / 4 * 2) & 3) << 4) - 32;
        const int third = high[i % 32] >> (i / 32) & 1;
        const float step = d * (float)scale;
        to[i] = step * (float)((int)two_bits(q, i) - (third ? 0 : 4));
    }
}

/* Scale and least number of a group of 32, of six bits each in 12 bytes. */
static void unpack_scale(const uint8_t *s, unsigned group, int *scale, int *least)
{
    if (group < 4) {
        *scale = s[group] & 63;
        *least = s[group + 4] & 63;
    } else {
        *scale = (s[group + 4] & 15) | (s[group - 4] >> 6) << 4;
        *least = s[group + 4] >> 4 | (s[group] >> 6) << 4;
    }
}

/* Q4_K, and Q5_K, which has one bit more of each element in `high`. */
static void decode_k(const uint8_t *b, const uint8_t *high, const uint8_t *q, float *to)
{
    const float d = load_f16(b), least = load_f16(b + 2);
    for (unsigned group = 0; group < 8; group++) {
        int scale, from;
        unpack_scale(b + 4, group, &scale, &from);
        const float step = d * (float)scale, offset = least * (float)from;
        for (unsigned i = 0; i < 32; i++) {
            const int byte = q[group / 2 * 32 + i];
            const int fifth = high ? (high[i] >> group & 1) << 4 : 0;
            const float product = step * (float)((group % 2 ? byte >> 4 : byte & 15) | fifth);
            to[group * 32 + i] = product - offset;
        }
    }
}

static void decode_q4_k(const uint8_t *b, float *to)
{
    decode_k(b, NULL, b + 16, to);
}

static void decode_q5_k(const uint8_t *b, float *to)
{
    decode_k(b, b + 16, b + 48, to);
}

static void decode_q6_k(const uint8_t *b, float *to)
{
    const uint8_t *low = b, *high = b + 128, *scales = b + 192;
    const float d = load_f16(b + 208);
    for (unsigned i = 0; i < 256; i++) {
        const uint8_t byte = low[i / 128 * 64 + i % 64];
        const int four = i % 128 < 64 ? byte & 15 : byte >> 4;
        const int two = high[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
        const float step = d * (float)(int8_t)scales[i / 16];
        to[i] = step * (float)((four | two << 4) - 32);
    }
}

static const struct block_type types[] = {
    {"Q4_0", 32, 18, decode_q4_0},   {"Q4_1", 32, 20, decode_q4_1},
    {"Q5_0", 32, 22, decode_q5_0},   {"Q5_1", 32, 24, decode_q5_1},
    {"Q8_0", 32, 34, decode_q8_0},   {"Q2_K", 256, 84, decode_q2_k},
    {"Q3_K", 256, 110, decode_q3_k}, {"Q4_K", 256, 144, decode_q4_k},
    {"Q5_K", 256, 176, decode_q5_k}, {"Q6_K", 256, 210, decode_q6_k},
};

const struct block_type *block_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    }
    return NULL;
}

static void put_16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

/* Shifted down, to the nearest, of two the even one. */
static uint32_t round_shift(uint32_t v, unsigned shift)
{
    const uint32_t half = (uint32_t)1 << (shift - 1), odd = v >> shift & 1;
    return (v + half - 1 + odd) >> shift;
}

static uint32_t to_f16(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
    if (rest > 0x7F800000)
        return sign | 0x7E00;
    if (rest >= 0x47800000) /* 2^16 */
        return sign | 0x7C00;
    if (rest >= 0x38800000) /* 2^-14 */
        return sign | round_shift(rest - ((uint32_t)112 << 23), 13);
    const unsigned shift = 126 - (rest >> 23);
    return shift > 24 ? sign : sign | round_shift((rest & 0x7FFFFF) | 0x800000, shift);
}

void numbers_put_f16(const float *numbers, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++)
        put_16(bytes + 2 * i, to_f16(bits_of(numbers[i])));
}

void numbers_put_bf16(const float *numbers, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = bits_of(numbers[i]);
        const uint32_t is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
        put_16(bytes + 2 * i, is_nan ? bits >> 16 | 0x40 : round_shift(bits, 16));
    }
}

void numbers_put_f32(const float *numbers, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = bits_of(numbers[i]);
        put_16(bytes + 4 * i, bits);
        put_16(bytes + 4 * i + 2, bits >> 16);
    }
}
