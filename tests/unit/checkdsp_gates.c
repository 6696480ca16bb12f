/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Gates of recurrent units: a level's functions against plain C, to the last bit, and plain C's
 * exponential and tangent against the C library's. Inputs and outputs end or begin at guard
 * pages. */
#include "support_guarded.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/gates.h"

#include <math.h>

enum { BLOCK = WCODEC_GATES_BLOCK, BLOCKS_MAX = 11, COUNT_MAX = 70, ROWS_MAX = 11 };

void checkdsp_gates(uint32_t levels, uint64_t seed);

static float number(uint64_t *seed)
{
    return (float)((double)(support_random(seed) % 2000001) / 1e6 - 1);
}

static float *fill(uint64_t *seed, const struct guarded *to, size_t count)
{
    float *values = (float *)(void *)to->data;
    for (size_t i = 0; i < count; i++)
        values[i] = number(seed);
    return values;
}

static void check_products(const struct wcodec_cpu_gates_dsp *dsp,
                           const struct wcodec_cpu_gates_dsp *plain, uint64_t *seed)
{
    const size_t width = BLOCK * (1 + support_random(seed) % BLOCKS_MAX),
                 count = support_random(seed) % COUNT_MAX,
                 rows = 1 + support_random(seed) % ROWS_MAX,
                 x_step = count + support_random(seed) % 3, x_size = (rows - 1) * x_step + count,
                 sums_step = width + support_random(seed) % 3,
                 sums_size = (rows - 1) * sums_step + width;
    struct guarded sums = guarded_side(sums_size * 4, support_random(seed) % 2),
                   weights = guarded_side(width * count * 4, support_random(seed) % 2),
                   x = guarded_side(x_size * 4, support_random(seed) % 2);
    float *sum = fill(seed, &sums, sums_size), *wanted = malloc(sums_size * sizeof *wanted);
    const float *weight = fill(seed, &weights, width * count), *of = fill(seed, &x, x_size);
    assert_non_null(wanted);
    memcpy(wanted, sum, sums_size * 4);
    dsp->products(sum, sums_step, width, weight, of, x_step, count, rows);
    plain->products(wanted, sums_step, width, weight, of, x_step, count, rows);
    assert_memory_equal(sum, wanted, sums_size * 4);
    free(wanted);
    guarded_free(&sums);
    guarded_free(&weights);
    guarded_free(&x);
}

static void check_function(void (*function)(float *values, size_t count),
                           void (*plain)(float *values, size_t count), uint64_t *seed)
{
    static const float odd[] = {0,    -0.0f,     1e-40f,  -1e-40f, 0.625f, -0.625f,
                                -87,  87,        -88.5f,  1e30f,   -1e30f, INFINITY,
                                -200, -INFINITY, 3.4e38f, NAN,     0.5f,   -43.5f};
    const size_t count = BLOCK * (1 + support_random(seed) % BLOCKS_MAX);
    struct guarded values = guarded_side(count * 4, support_random(seed) % 2);
    float *value = fill(seed, &values, count), wanted[BLOCKS_MAX * BLOCK];
    for (size_t i = 0; i < count; i++)
        value[i] = i < sizeof odd / sizeof odd[0] ? odd[i] : value[i] * (i % 2 == 0 ? 1 : 100);
    memcpy(wanted, value, count * 4);
    function(value, count);
    plain(wanted, count);
    for (size_t i = 0; i < count; i++)
        if (memcmp(&value[i], &wanted[i], 4) != 0 && !(isnan(value[i]) && isnan(wanted[i])))
            fail_msg("value %zu is %a, and not %a", i, (double)value[i], (double)wanted[i]);
    guarded_free(&values);
}

/* Within two units in the last place, and what is no number stays so. */
static void check_accuracy(uint64_t *seed)
{
    for (unsigned i = 0; i < 20000; i++) {
        const float x = number(seed) * (i % 2 == 0 ? 1 : 40), below = -fabsf(2 * x);
        const double e = exp((double)below), t = tanh((double)x), s = 1 / (1 + exp(-(double)x));
        if (!(fabs(wcodec_gates_exp(below) - e) <= 2.5e-7 * e) ||
            !(fabs(wcodec_gates_tanh(x) - t) <= 2.5e-7 * fabs(t)) ||
            !(fabs(wcodec_gates_sigmoid(x) - s) <= 2.5e-7 * s))
            fail_msg("of %a: %a, %a, %a", (double)x, (double)wcodec_gates_exp(below),
                     (double)wcodec_gates_tanh(x), (double)wcodec_gates_sigmoid(x));
    }
    assert_true(wcodec_gates_tanh(1e30f) == 1 && wcodec_gates_tanh(-INFINITY) == -1);
    assert_true(wcodec_gates_sigmoid(INFINITY) == 1 && wcodec_gates_sigmoid(-1e30f) < 1e-37f);
    assert_true(isnan(wcodec_gates_tanh(NAN)) && isnan(wcodec_gates_sigmoid(NAN)));
}

void checkdsp_gates(uint32_t levels, uint64_t seed)
{
    struct wcodec_cpu_gates_dsp dsp, plain;
    wcodec_cpu_gates_dsp_init(&dsp, levels);
    wcodec_cpu_gates_dsp_init_scalar(&plain);
    check_accuracy(&seed);
    for (unsigned i = 0; i < 200; i++) {
        check_products(&dsp, &plain, &seed);
        check_function(dsp.sigmoids, plain.sigmoids, &seed);
        check_function(dsp.tangents, plain.tangents, &seed);
    }
}
