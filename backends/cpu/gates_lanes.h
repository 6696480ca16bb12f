/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Gates by vectors: a lane a row of the matrix, so that each sum is made in the order of plain C.
 * Included after a level's operations: lanes_t of WIDTH numbers, lanes_load(), lanes_store(),
 * lanes_set(), lanes_add(), lanes_subtract(), lanes_multiply(), lanes_divide(), lanes_absolute(),
 * lanes_greatest(a, b) and lanes_choose_less(a, b, yes, no), which take b and no where a or b is
 * NaN, lanes_whole(), which cuts fractions off, and lanes_power(n), 2^n. */
#ifndef WCODEC_CPU_GATES_LANES_H
#define WCODEC_CPU_GATES_LANES_H

#include "backends/cpu/gates.h"
#include "backends/cpu/inline.h"

enum {
    BLOCK = WCODEC_GATES_BLOCK,
    PARTS = BLOCK / WIDTH, /* vectors of a block */
    TOGETHER = 8 / PARTS   /* blocks, or rows, whose sums are in registers at once */
};

/* Of some blocks, which lie so far apart as `stride`, and some rows. */
INLINE void products_of(unsigned blocks, unsigned rows, float *sums, size_t sums_step,
                        const float *weights, size_t stride, const float *x, size_t x_step,
                        size_t count)
{
    lanes_t sum[TOGETHER * PARTS];
    for (unsigned r = 0; r < rows; r++)
        for (unsigned i = 0; i < blocks * PARTS; i++)
            sum[r * blocks * PARTS + i] = lanes_load(sums + r * sums_step + (size_t)i * WIDTH);
    for (size_t k = 0; k < count; k++)
        for (unsigned i = 0; i < blocks * PARTS; i++) {
            const lanes_t weight =
                lanes_load(weights + i / PARTS * stride + k * BLOCK + (size_t)(i % PARTS) * WIDTH);
            for (unsigned r = 0; r < rows; r++) {
                lanes_t *of = &sum[r * blocks * PARTS + i];
                *of = lanes_add(*of, lanes_multiply(weight, lanes_set(x[r * x_step + k])));
            }
        }
    for (unsigned r = 0; r < rows; r++)
        for (unsigned i = 0; i < blocks * PARTS; i++)
            lanes_store(sums + r * sums_step + (size_t)i * WIDTH, sum[r * blocks * PARTS + i]);
}

static void row_products(float *sums, size_t width, const float *weights, const float *x,
                         size_t count)
{
    const size_t stride = count * BLOCK;
    size_t at = 0;
    for (; width - at >= TOGETHER * BLOCK; at += TOGETHER * BLOCK)
        products_of(TOGETHER, 1, sums + at, 0, weights + at * count, stride, x, 0, count);
    for (; at < width; at += BLOCK)
        products_of(1, 1, sums + at, 0, weights + at * count, stride, x, 0, count);
}

static void products(float *sums, size_t sums_step, size_t width, const float *weights,
                     const float *x, size_t x_step, size_t count, size_t rows)
{
    size_t row = 0;
    for (; rows - row >= TOGETHER; row += TOGETHER)
        for (size_t at = 0; at < width; at += BLOCK)
            products_of(1, TOGETHER, sums + row * sums_step + at, sums_step, weights + at * count,
                        0, x + row * x_step, x_step, count);
    for (; row < rows; row++)
        row_products(sums + row * sums_step, width, weights, x + row * x_step, count);
}

INLINE lanes_t lanes_term(lanes_t a, lanes_t b, lanes_t c)
{
    return lanes_add(lanes_multiply(a, b), c);
}

INLINE lanes_t lanes_exp(lanes_t x)
{
    const lanes_t bounded = lanes_greatest(lanes_set(WCODEC_GATES_EXP_LEAST), x),
                  n = lanes_whole(
                      lanes_term(bounded, lanes_set(WCODEC_GATES_LOG2_E), lanes_set(-0.5f))),
                  minus = lanes_subtract(lanes_set(0), n);
    lanes_t r = lanes_term(minus, lanes_set(WCODEC_GATES_LN2_HIGH), bounded);
    r = lanes_term(minus, lanes_set(WCODEC_GATES_LN2_LOW), r);
    lanes_t sum = lanes_set(wcodec_gates_exp_terms[0]);
    for (unsigned i = 1; i < sizeof wcodec_gates_exp_terms / sizeof(float); i++)
        sum = lanes_term(sum, r, lanes_set(wcodec_gates_exp_terms[i]));
    sum = lanes_add(lanes_term(sum, lanes_multiply(r, r), r), lanes_set(1));
    return lanes_multiply(sum, lanes_power(n));
}

static void sigmoids(float *values, size_t count)
{
    const lanes_t zero = lanes_set(0), one = lanes_set(1);
    for (size_t i = 0; i < count; i += WIDTH) {
        const lanes_t x = lanes_load(values + i),
                      e = lanes_exp(lanes_choose_less(x, zero, x, lanes_subtract(zero, x)));
        lanes_store(values + i,
                    lanes_divide(lanes_choose_less(x, zero, e, one), lanes_add(one, e)));
    }
}

static void tangents(float *values, size_t count)
{
    const lanes_t zero = lanes_set(0), one = lanes_set(1);
    for (size_t i = 0; i < count; i += WIDTH) {
        const lanes_t x = lanes_load(values + i), magnitude = lanes_absolute(x),
                      square = lanes_multiply(x, x),
                      e = lanes_exp(lanes_multiply(lanes_set(-2), magnitude)),
                      t = lanes_divide(lanes_subtract(one, e), lanes_add(one, e));
        lanes_t sum = lanes_set(wcodec_gates_tanh_terms[0]);
        for (unsigned k = 1; k < sizeof wcodec_gates_tanh_terms / sizeof(float); k++)
            sum = lanes_term(sum, square, lanes_set(wcodec_gates_tanh_terms[k]));
        const lanes_t small = lanes_term(lanes_multiply(sum, square), x, x),
                      large = lanes_choose_less(x, zero, lanes_subtract(zero, t), t);
        lanes_store(values + i,
                    lanes_choose_less(magnitude, lanes_set(WCODEC_GATES_TANH_SMALL), small, large));
    }
}

#endif
