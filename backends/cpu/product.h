/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with a matrix of which one piece is in the cache at a time: 16 rows of 128 columns, as
 * binary32. Plain C says what the results are, to the last bit (product.c); tests/checkdsp proves
 * each level against it. */
#ifndef WCODEC_CPU_PRODUCT_H
#define WCODEC_CPU_PRODUCT_H

#include <stddef.h>
#include <stdint.h>
#include <wcodec/base.h>

enum {
    WCODEC_PIECE_ROWS = 16,
    WCODEC_PIECE_COLUMNS = 128,
    WCODEC_PIECE = WCODEC_PIECE_ROWS * WCODEC_PIECE_COLUMNS,
    WCODEC_SUMS = 16 /* partial sums of an inner product */
};

/* The numbers that pieces are made of. */
enum wcodec_cpu_source {
    WCODEC_CPU_FROM_BF16,
    WCODEC_CPU_FROM_F16,
    WCODEC_CPU_FROM_F32,
    WCODEC_CPU_FROM_I8,
    WCODEC_CPU_FROM_U8,
    WCODEC_CPU_FROM_F8_E4M3,
    WCODEC_CPU_FROM_F8_E5M2,
    WCODEC_CPU_SOURCES
};

/* WCODEC_CPU_SOURCES: none of them. */
enum wcodec_cpu_source wcodec_cpu_source_of(wcodec_dtype dtype);

struct wcodec_cpu_product_dsp {
    unsigned level; /* number of the level */
    /* A row of a piece: WCODEC_PIECE_COLUMNS numbers, exactly. */
    void (*widen[WCODEC_CPU_SOURCES])(const void *from, float *to);
    /* Inner products of 16 rows of elements, row_stride bytes from one to the next, with `count`
     * vectors, of which each has its numbers at x + x_stride * number: of vector v and row r,
     * partial sum j at sums + 256 v + 16 r gets the products of columns j, j + 16 and so on, in
     * order, each fused. `columns` is a multiple of WCODEC_PIECE_COLUMNS. Always there for F32, and
     * so for pieces; NULL where rows are better made pieces first. */
    void (*dot[WCODEC_CPU_SOURCES])(const void *from, size_t row_stride, size_t columns,
                                    const float *x, size_t x_stride, size_t count, float *sums);
    /* Sums of the piece's rows, each times one of the vector's 16 numbers at x + x_stride * number:
     * added to the 128 at y + y_stride * number, in the order of the rows, each fused. */
    void (*combine)(const float *piece, const float *x, size_t x_stride, size_t count, float *y,
                    size_t y_stride);
};

/* The best functions among the levels in mask (bits of enum wcodec_cpu_level, already masked by
 * what the machine has). */
void wcodec_cpu_product_dsp_init(struct wcodec_cpu_product_dsp *dsp, uint32_t levels);

/* The levels; SSE4.1 has no fused operations. */
void wcodec_cpu_product_dsp_init_scalar(struct wcodec_cpu_product_dsp *dsp);
void wcodec_cpu_product_dsp_init_avx2(struct wcodec_cpu_product_dsp *dsp);
void wcodec_cpu_product_dsp_init_avx512(struct wcodec_cpu_product_dsp *dsp);
void wcodec_cpu_product_dsp_init_neon(struct wcodec_cpu_product_dsp *dsp);

/* Partial sums to one: j + 8 to j, then j + 4, j + 2 and j + 1. */
float wcodec_cpu_sum(const float sums[WCODEC_SUMS]);

/* Bits of a number rounded to BF16 or F16, to nearest, ties to even, or as it is. Each has one NaN,
 * since which one a sum is depends on the compiler. */
uint16_t wcodec_cpu_narrow_bf16(float value);
uint16_t wcodec_cpu_narrow_f16(float value);
uint32_t wcodec_cpu_narrow_f32(float value);

#endif
