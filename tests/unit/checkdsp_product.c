/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with a piece: each level's functions against plain C, on numbers of any bits, and on
 * such as weights have. Inputs and outputs end or begin at guard pages. */
#include "support_guarded.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/product.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { COLUMNS = WCODEC_PIECE_COLUMNS, ROWS = WCODEC_PIECE_ROWS };

void checkdsp_product(uint32_t levels, uint64_t seed);

/* Floats, or any bits. */
static void fill(uint64_t *seed, float *to, size_t count, bool any)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t random = support_random(seed);
        const uint32_t bits =
            any && random >> 60 == 0 ? (uint32_t)random : 0x3F000000 ^ (random & 0x83FFFFFF);
        memcpy(to + i, &bits, sizeof bits);
    }
}

/* Which NaN a sum is may differ. */
static void check_same(const float *got, const float *wanted, size_t count, const char *what,
                       unsigned level)
{
    for (size_t i = 0; i < count; i++)
        if (wcodec_cpu_narrow_f32(got[i]) != wcodec_cpu_narrow_f32(wanted[i]))
            fail_msg("%s, %s: number %zu is %a, not %a", wcodec_cpu_level_name(level), what, i,
                     (double)got[i], (double)wanted[i]);
}

static size_t bytes_of(unsigned source)
{
    return source == WCODEC_CPU_FROM_F32 ? 4 : source <= WCODEC_CPU_FROM_F16 ? 2 : 1;
}

/* The same by plain C, of rows that are made binary32. */
static void expect_dot(const struct wcodec_cpu_product_dsp *plain, unsigned source,
                       const uint8_t *from, size_t row_stride, size_t columns, const float *x,
                       size_t x_stride, size_t count, float *sums)
{
    float *rows = malloc(ROWS * columns * sizeof *rows);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t at = 0; at < columns; at += COLUMNS)
            plain->widen[source](from + row * row_stride + at * bytes_of(source),
                                 rows + row * columns + at);
    plain->dot[WCODEC_CPU_FROM_F32](rows, columns * sizeof *rows, columns, x, x_stride, count,
                                    sums);
    free(rows);
}

static void check_dot(const struct wcodec_cpu_product_dsp *dsp,
                      const struct wcodec_cpu_product_dsp *plain, unsigned source, uint64_t *seed)
{
    const bool any = support_random(seed) % 2 != 0;
    const size_t count = support_random(seed) % 12,
                 columns = COLUMNS * (1 + support_random(seed) % 3),
                 stride = columns + support_random(seed) % 9,
                 row_stride = columns * bytes_of(source) + support_random(seed) % 9,
                 size = (ROWS - 1) * row_stride + columns * bytes_of(source),
                 x_size = count == 0 ? 0 : (count - 1) * stride + columns,
                 sums = count * ROWS * WCODEC_SUMS;
    struct guarded from = guarded_side(size, support_random(seed) % 2),
                   x = guarded_side(x_size * sizeof(float), support_random(seed) % 2),
                   out = guarded_side(sums * sizeof(float), support_random(seed) % 2);
    float *expected = malloc(sums * sizeof *expected + 1);
    for (size_t i = 0; i < size; i++)
        from.data[i] = (uint8_t)(support_random(seed) % (any ? 256 : 0x70));
    fill(seed, (float *)(void *)x.data, x_size, any);
    fill(seed, (float *)(void *)out.data, sums, false);
    memcpy(expected, out.data, sums * sizeof *expected);
    dsp->dot[source](from.data, row_stride, columns, (float *)(void *)x.data, stride, count,
                     (float *)(void *)out.data);
    expect_dot(plain, source, from.data, row_stride, columns, (float *)(void *)x.data, stride,
               count, expected);
    check_same((float *)(void *)out.data, expected, sums, "dot", dsp->level);
    free(expected);
    guarded_free(&from);
    guarded_free(&x);
    guarded_free(&out);
}

static void check_combine(const struct wcodec_cpu_product_dsp *dsp,
                          const struct wcodec_cpu_product_dsp *plain, uint64_t *seed)
{
    const bool any = support_random(seed) % 2 != 0;
    const size_t count = 1 + support_random(seed) % 6, x_stride = ROWS + support_random(seed) % 9,
                 y_stride = COLUMNS + support_random(seed) % 9,
                 x_size = (count - 1) * x_stride + ROWS, y_size = (count - 1) * y_stride + COLUMNS;
    struct guarded piece = guarded_side(WCODEC_PIECE * sizeof(float), support_random(seed) % 2),
                   x = guarded_side(x_size * sizeof(float), support_random(seed) % 2),
                   out = guarded_side(y_size * sizeof(float), support_random(seed) % 2);
    float *expected = malloc(y_size * sizeof *expected);
    fill(seed, (float *)(void *)piece.data, WCODEC_PIECE, any);
    fill(seed, (float *)(void *)x.data, x_size, any);
    fill(seed, (float *)(void *)out.data, y_size, false);
    memcpy(expected, out.data, y_size * sizeof *expected);
    dsp->combine((float *)(void *)piece.data, (float *)(void *)x.data, x_stride, count,
                 (float *)(void *)out.data, y_stride);
    plain->combine((float *)(void *)piece.data, (float *)(void *)x.data, x_stride, count, expected,
                   y_stride);
    check_same((float *)(void *)out.data, expected, y_size, "combine", dsp->level);
    free(expected);
    guarded_free(&piece);
    guarded_free(&x);
    guarded_free(&out);
}

/* A program may take subnormal numbers for zero: none of binary32 comes up. */
static void ignore_subnormal(bool ignore)
{
#if defined(__SSE2__)
    _mm_setcsr(ignore ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u);
#else
    (void)ignore;
#endif
}

/* Every 16-bit number is in some row. */
static void check_widen(const struct wcodec_cpu_product_dsp *dsp,
                        const struct wcodec_cpu_product_dsp *plain)
{
    for (unsigned source = 0; source < WCODEC_CPU_SOURCES; source++)
        for (unsigned first = 0; first < 65536; first += COLUMNS) {
            const size_t bytes = bytes_of(source);
            struct guarded row = guarded_side(COLUMNS * bytes, first / COLUMNS % 2);
            float got[COLUMNS], expected[COLUMNS];
            for (unsigned i = 0; i < COLUMNS; i++) {
                const uint32_t number = (first + i) * (bytes == 4 ? 0x10001 : 1);
                memcpy(row.data + i * bytes, &number, bytes);
            }
            ignore_subnormal(source != WCODEC_CPU_FROM_F32 && source != WCODEC_CPU_FROM_BF16);
            dsp->widen[source](row.data, got);
            ignore_subnormal(false);
            plain->widen[source](row.data, expected);
            assert_memory_equal(got, expected, sizeof got);
            guarded_free(&row);
        }
}

void checkdsp_product(uint32_t levels, uint64_t seed)
{
    struct wcodec_cpu_product_dsp dsp, plain;
    wcodec_cpu_product_dsp_init(&dsp, levels);
    wcodec_cpu_product_dsp_init_scalar(&plain);
    check_widen(&dsp, &plain);
    for (unsigned i = 0; i < 200; i++) {
        for (unsigned source = 0; source < WCODEC_CPU_SOURCES; source++)
            if (dsp.dot[source] != NULL)
                check_dot(&dsp, &plain, source, &seed);
        check_combine(&dsp, &plain, &seed);
    }
}
