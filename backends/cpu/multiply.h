/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with a piece by vectors, over a width's operations (x86/vec.h, arm/vec_neon.h): some
 * rows and some vectors at a time, so that each number that is loaded takes part in several
 * products. Their partial sums stay in registers. */
#ifndef WCODEC_CPU_MULTIPLY_H
#define WCODEC_CPU_MULTIPLY_H

#include "backends/cpu/inline.h"
#include "backends/cpu/widen.h"

enum {
    ROWS = WCODEC_PIECE_ROWS,
    COLUMNS = WCODEC_PIECE_COLUMNS,
    WIDTH = VEC_BYTES / 4,
    PARTS = WCODEC_SUMS / WIDTH /* registers of an inner product */
};

/* Rows and vectors at a time, of one vector and of several. */
#if VEC_BYTES == 64
enum { ALONE = 8, TOGETHER = 4, VECTORS = 4 };
#else
enum { ALONE = VEC_BYTES == 32 ? 4 : 2, TOGETHER = 2, VECTORS = 2 };
#endif

/* A register of elements as binary32. */
INLINE vec load_as(enum wcodec_cpu_source source, const uint8_t *p)
{
    switch (source) {
    case WCODEC_CPU_FROM_BF16:
        return SHL32(load_u16(p), 16);
    case WCODEC_CPU_FROM_I8:
        return f32_from_i32(load_s8(p));
    default:
        return load(p);
    }
}

INLINE void dot_block(enum wcodec_cpu_source source, unsigned rows, unsigned vectors,
                      const uint8_t *from, size_t row_stride, size_t columns, const float *x,
                      size_t x_stride, float *sums)
{
    const size_t element = source == WCODEC_CPU_FROM_BF16 ? 2
                           : source == WCODEC_CPU_FROM_I8 ? 1
                                                          : 4;
    vec sum[16];
    for (unsigned v = 0; v < vectors; v++)
        for (unsigned r = 0; r < rows; r++)
            for (unsigned p = 0; p < PARTS; p++)
                sum[(v * rows + r) * PARTS + p] =
                    load(sums + (v * ROWS + r) * WCODEC_SUMS + (size_t)p * WIDTH);
    for (size_t column = 0; column < columns; column += WCODEC_SUMS)
        for (unsigned p = 0; p < PARTS; p++) {
            const size_t at = column + (size_t)p * WIDTH;
            vec w[8];
            for (unsigned r = 0; r < rows; r++)
                w[r] = load_as(source, from + r * row_stride + at * element);
            for (unsigned v = 0; v < vectors; v++) {
                const vec numbers = load(x + v * x_stride + at);
                for (unsigned r = 0; r < rows; r++) {
                    vec *s = &sum[(v * rows + r) * PARTS + p];
                    *s = f32_fused(numbers, w[r], *s);
                }
            }
        }
    for (unsigned v = 0; v < vectors; v++)
        for (unsigned r = 0; r < rows; r++)
            for (unsigned p = 0; p < PARTS; p++)
                store(sums + (v * ROWS + r) * WCODEC_SUMS + (size_t)p * WIDTH,
                      sum[(v * rows + r) * PARTS + p]);
}

INLINE void dot(enum wcodec_cpu_source source, const uint8_t *from, size_t row_stride,
                size_t columns, const float *x, size_t x_stride, size_t count, float *sums)
{
    size_t v = 0;
    for (; count - v >= VECTORS; v += VECTORS)
        for (unsigned row = 0; row < ROWS; row += TOGETHER)
            dot_block(source, TOGETHER, VECTORS, from + row * row_stride, row_stride, columns,
                      x + v * x_stride, x_stride, sums + (v * ROWS + row) * WCODEC_SUMS);
    for (; v < count; v++)
        for (unsigned row = 0; row < ROWS; row += ALONE)
            dot_block(source, ALONE, 1, from + row * row_stride, row_stride, columns,
                      x + v * x_stride, x_stride, sums + (v * ROWS + row) * WCODEC_SUMS);
}

#define DOT(name, source) \
    static void dot_##name(const void *from, size_t row_stride, size_t columns, const float *x, \
                           size_t x_stride, size_t count, float *sums) \
    { \
        dot(source, from, row_stride, columns, x, x_stride, count, sums); \
    }

DOT(bf16, WCODEC_CPU_FROM_BF16)
DOT(f32, WCODEC_CPU_FROM_F32)
DOT(i8, WCODEC_CPU_FROM_I8)

/* Eight registers of columns: all rows go by once. */
INLINE void combine_block(const float *piece, const float *x, float *y)
{
    enum { BLOCK = 8 };
    vec sum[BLOCK];
    for (unsigned i = 0; i < BLOCK; i++)
        sum[i] = load(y + (size_t)i * WIDTH);
    for (unsigned row = 0; row < ROWS; row++) {
        const vec number = f32_set(x[row]);
        for (unsigned i = 0; i < BLOCK; i++)
            sum[i] = f32_fused(number, load(piece + row * COLUMNS + (size_t)i * WIDTH), sum[i]);
    }
    for (unsigned i = 0; i < BLOCK; i++)
        store(y + (size_t)i * WIDTH, sum[i]);
}

static void combine(const float *piece, const float *x, size_t x_stride, size_t count, float *y,
                    size_t y_stride)
{
    for (size_t v = 0; v < count; v++)
        for (unsigned column = 0; column < COLUMNS; column += 8 * WIDTH)
            combine_block(piece + column, x + v * x_stride, y + v * y_stride + column);
}

#define PRODUCT_FUNCTIONS \
    WIDEN_FUNCTIONS, .combine = combine, \
                     .dot = {[WCODEC_CPU_FROM_BF16] = dot_bf16, \
                             [WCODEC_CPU_FROM_F32] = dot_f32, \
                             [WCODEC_CPU_FROM_I8] = dot_i8}

#endif
