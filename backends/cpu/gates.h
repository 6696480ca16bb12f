/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What gated recurrent units are computed by: products of matrices with few rows of numbers, and
 * sigmoids and hyperbolic tangents, in binary32. Plain C says what the results are, to the last bit
 * (gates.c); tests/unit/checkdsp_gates.c proves each level against it. */
#ifndef WCODEC_CPU_GATES_H
#define WCODEC_CPU_GATES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Rows of a matrix whose numbers lie beside each other. */
enum { WCODEC_GATES_BLOCK = 32 };

/* Exponential: x = n ln 2 + r, e^r by a polynomial, both after the Cephes library (Moshier, expf);
 * the hyperbolic tangent of small numbers by its polynomial (tanhf). ln 2 is in two parts, so that
 * n times the first is exact. */
#define WCODEC_GATES_EXP_LEAST -87.0f
#define WCODEC_GATES_LOG2_E 1.44269504f
#define WCODEC_GATES_LN2_HIGH 0.693359375f
#define WCODEC_GATES_LN2_LOW -2.12194440e-4f
#define WCODEC_GATES_TANH_SMALL 0.625f

static const float wcodec_gates_exp_terms[] = {1.9875691500e-4f, 1.3981999507e-3f,
                                               8.3334519073e-3f, 4.1665795894e-2f,
                                               1.6666665459e-1f, 5.0000001201e-1f};
static const float wcodec_gates_tanh_terms[] = {-5.70498872745e-3f, 2.06390887954e-2f,
                                                -5.37397155531e-2f, 1.33314422036e-1f,
                                                -3.33332819422e-1f};

/* a b + c. A statement for each rounding: within one, compilers may fuse. */
static inline float wcodec_gates_term(float a, float b, float c)
{
    const float product = a * b;
    return product + c;
}

/* e^x for x <= 0, of numbers below -87 e^-87. NaN stays. */
static inline float wcodec_gates_exp(float x)
{
    const float bounded = x < WCODEC_GATES_EXP_LEAST ? WCODEC_GATES_EXP_LEAST : x,
                nearest = wcodec_gates_term(bounded, WCODEC_GATES_LOG2_E, -0.5f);
    const int32_t n = bounded == bounded ? (int32_t)nearest : 0;
    const float whole = (float)n;
    float r = wcodec_gates_term(-whole, WCODEC_GATES_LN2_HIGH, bounded);
    r = wcodec_gates_term(-whole, WCODEC_GATES_LN2_LOW, r);
    float sum = wcodec_gates_exp_terms[0];
    for (unsigned i = 1; i < sizeof wcodec_gates_exp_terms / sizeof(float); i++)
        sum = wcodec_gates_term(sum, r, wcodec_gates_exp_terms[i]);
    const float square = r * r;
    sum = wcodec_gates_term(sum, square, r);
    sum += 1;
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

/* 1 / (1 + e^-x) */
static inline float wcodec_gates_sigmoid(float x)
{
    const float e = wcodec_gates_exp(x < 0 ? x : -x), sum = 1 + e;
    return (x < 0 ? e : 1.0f) / sum;
}

static inline float wcodec_gates_tanh(float x)
{
    const float magnitude = x < 0 ? -x : x;
    if (magnitude < WCODEC_GATES_TANH_SMALL) {
        const float square = x * x;
        float sum = wcodec_gates_tanh_terms[0];
        for (unsigned i = 1; i < sizeof wcodec_gates_tanh_terms / sizeof(float); i++)
            sum = wcodec_gates_term(sum, square, wcodec_gates_tanh_terms[i]);
        sum *= square;
        return wcodec_gates_term(sum, x, x);
    }
    const float e = wcodec_gates_exp(-2 * magnitude), above = 1 - e, below = 1 + e,
                t = above / below;
    return x < 0 ? -t : t;
}

struct wcodec_cpu_gates_dsp {
    unsigned level; /* number of the level */
    /* sums[row][i] += weights[i][k] x[row][k], k from 0 on, for all i below width, a multiple of
     * WCODEC_GATES_BLOCK; rows of sums and x begin every sums_step and x_step numbers. Weights are
     * [width / block, count, block]. */
    void (*products)(float *sums, size_t sums_step, size_t width, const float *weights,
                     const float *x, size_t x_step, size_t count, size_t rows);
    /* Of each number, in its place; count is a multiple of WCODEC_GATES_BLOCK. */
    void (*sigmoids)(float *values, size_t count);
    void (*tangents)(float *values, size_t count);
};

/* The best functions among the levels in mask, already masked by what the machine has. */
void wcodec_cpu_gates_dsp_init(struct wcodec_cpu_gates_dsp *dsp, uint32_t levels);

void wcodec_cpu_gates_dsp_init_scalar(struct wcodec_cpu_gates_dsp *dsp);
void wcodec_cpu_gates_dsp_init_avx2(struct wcodec_cpu_gates_dsp *dsp);
void wcodec_cpu_gates_dsp_init_avx512(struct wcodec_cpu_gates_dsp *dsp);

#endif
