/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/product.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/widen.h"
#include "coding/lossy.h"

#include <math.h>

enum { ROWS = WCODEC_PIECE_ROWS, COLUMNS = WCODEC_PIECE_COLUMNS, SUMS = WCODEC_SUMS };

static void dot(const void *from, size_t row_stride, size_t columns, const float *x,
                size_t x_stride, size_t count, float *sums)
{
    for (size_t v = 0; v < count; v++)
        for (unsigned row = 0; row < ROWS; row++) {
            const uint8_t *elements = (const uint8_t *)from + row * row_stride;
            float *sum = sums + (v * ROWS + row) * SUMS, w;
            for (size_t column = 0; column < columns; column++) {
                memcpy(&w, elements + column * sizeof w, sizeof w);
                sum[column % SUMS] = fmaf(x[v * x_stride + column], w, sum[column % SUMS]);
            }
        }
}

static void combine(const float *piece, const float *x, size_t x_stride, size_t count, float *y,
                    size_t y_stride)
{
    for (size_t v = 0; v < count; v++)
        for (unsigned row = 0; row < ROWS; row++)
            for (unsigned column = 0; column < COLUMNS; column++)
                y[v * y_stride + column] = fmaf(
                    x[v * x_stride + row], piece[row * COLUMNS + column], y[v * y_stride + column]);
}

void wcodec_cpu_product_dsp_init_scalar(struct wcodec_cpu_product_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_product_dsp){
        .level = 0, WIDEN_FUNCTIONS, .dot = {[WCODEC_CPU_FROM_F32] = dot}, .combine = combine};
}

void wcodec_cpu_product_dsp_init(struct wcodec_cpu_product_dsp *dsp, uint32_t levels)
{
    wcodec_cpu_product_dsp_init_scalar(dsp);
#ifdef HAVE_AVX2
    if ((levels & WCODEC_CPU_AVX2) != 0)
        wcodec_cpu_product_dsp_init_avx2(dsp);
#endif
#ifdef HAVE_AVX512
    if ((levels & WCODEC_CPU_AVX512) != 0)
        wcodec_cpu_product_dsp_init_avx512(dsp);
#endif
#ifdef HAVE_NEON
    if ((levels & WCODEC_CPU_NEON) != 0)
        wcodec_cpu_product_dsp_init_neon(dsp);
#endif
    (void)levels;
}

enum wcodec_cpu_source wcodec_cpu_source_of(wcodec_dtype dtype)
{
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
        return WCODEC_CPU_FROM_BF16;
    case WCODEC_DTYPE_F16:
        return WCODEC_CPU_FROM_F16;
    case WCODEC_DTYPE_F32:
        return WCODEC_CPU_FROM_F32;
    case WCODEC_DTYPE_I8:
        return WCODEC_CPU_FROM_I8;
    case WCODEC_DTYPE_U8:
        return WCODEC_CPU_FROM_U8;
    case WCODEC_DTYPE_F8_E4M3:
        return WCODEC_CPU_FROM_F8_E4M3;
    case WCODEC_DTYPE_F8_E5M2:
        return WCODEC_CPU_FROM_F8_E5M2;
    default:
        return WCODEC_CPU_SOURCES;
    }
}

float wcodec_cpu_sum(const float sums[WCODEC_SUMS])
{
    float s[SUMS];
    memcpy(s, sums, sizeof s);
    for (unsigned half = SUMS / 2; half > 0; half /= 2)
        for (unsigned j = 0; j < half; j++)
            s[j] += s[j + half];
    return s[0];
}

uint32_t wcodec_cpu_narrow_f32(float value)
{
    return value != value ? 0x7FC00000 : wcodec_f32_bits(value);
}

uint16_t wcodec_cpu_narrow_bf16(float value)
{
    return value != value ? 0x7FC0 : wcodec_bf16_from_f32(value);
}

uint16_t wcodec_cpu_narrow_f16(float value)
{
    return value != value ? 0x7E00 : wcodec_f16_from_f32(value);
}
