/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/gates.h"

#include "backends/cpu/cpu_level.h"

enum { BLOCK = WCODEC_GATES_BLOCK };

static void products(float *sums, size_t sums_step, size_t width, const float *weights,
                     const float *x, size_t x_step, size_t count, size_t rows)
{
    for (size_t at = 0; at < width; at += BLOCK, weights += count * BLOCK)
        for (size_t row = 0; row < rows; row++) {
            float block[BLOCK];
            memcpy(block, sums + row * sums_step + at, sizeof block);
            for (size_t k = 0; k < count; k++)
                for (unsigned i = 0; i < BLOCK; i++)
                    block[i] =
                        wcodec_gates_term(weights[k * BLOCK + i], x[row * x_step + k], block[i]);
            memcpy(sums + row * sums_step + at, block, sizeof block);
        }
}

static void sigmoids(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = wcodec_gates_sigmoid(values[i]);
}

static void tangents(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = wcodec_gates_tanh(values[i]);
}

void wcodec_cpu_gates_dsp_init_scalar(struct wcodec_cpu_gates_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_gates_dsp){
        .level = 0, .products = products, .sigmoids = sigmoids, .tangents = tangents};
}

void wcodec_cpu_gates_dsp_init(struct wcodec_cpu_gates_dsp *dsp, uint32_t levels)
{
    wcodec_cpu_gates_dsp_init_scalar(dsp);
#ifdef HAVE_AVX2
    if ((levels & WCODEC_CPU_AVX2) != 0)
        wcodec_cpu_gates_dsp_init_avx2(dsp);
#endif
#ifdef HAVE_AVX512
    if ((levels & WCODEC_CPU_AVX512) != 0)
        wcodec_cpu_gates_dsp_init_avx512(dsp);
#endif
    (void)levels;
}
