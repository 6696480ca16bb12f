/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/nearest.h"

#include "backends/cpu/cpu_level.h"

#include <math.h>

enum { LANES = WCODEC_NEAREST_LANES };

/* Of a row to lane k of all lanes. */
static float distance_of(const float *row, const float *panels, size_t k, size_t dimensions)
{
    return wcodec_nearest_distance(row, panels + k / LANES * LANES * dimensions + k % LANES, LANES,
                                   dimensions);
}

static void nearest(const float *rows, size_t count, size_t dimensions, const float *panels,
                    size_t panel_count, float *distance, uint32_t *index)
{
    for (size_t i = 0; i < count; i++) {
        distance[i] = INFINITY;
        index[i] = 0;
        for (size_t k = 0; k < panel_count * LANES; k++) {
            const float d = distance_of(rows + i * dimensions, panels, k, dimensions);
            if (d < distance[i]) {
                distance[i] = d;
                index[i] = (uint32_t)k;
            }
        }
    }
}

static void distances(const float *rows, size_t count, size_t dimensions, const float *panels,
                      size_t panel_count, float *sums)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < panel_count * LANES; k++)
            *sums++ = distance_of(rows + i * dimensions, panels, k, dimensions);
}

static void products(const int16_t *vector, const int8_t *codes, size_t count, size_t dimensions,
                     int64_t *sums)
{
    for (size_t i = 0; i < count; i++, codes += dimensions) {
        sums[i] = 0;
        for (size_t at = 0; at < dimensions; at += WCODEC_CODES_GROUP) {
            int32_t group = 0;
            for (size_t j = at; j < at + WCODEC_CODES_GROUP; j++)
                group += vector[j] * codes[j];
            sums[i] += group;
        }
    }
}

void wcodec_cpu_nearest_dsp_init_scalar(struct wcodec_cpu_nearest_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_nearest_dsp){
        .level = 0, .nearest = nearest, .distances = distances, .products = products};
}

void wcodec_cpu_nearest_dsp_init(struct wcodec_cpu_nearest_dsp *dsp, uint32_t levels)
{
    wcodec_cpu_nearest_dsp_init_scalar(dsp);
#ifdef HAVE_AVX2
    if ((levels & WCODEC_CPU_AVX2) != 0)
        wcodec_cpu_nearest_dsp_init_avx2(dsp);
#endif
#ifdef HAVE_AVX512
    if ((levels & WCODEC_CPU_AVX512) != 0)
        wcodec_cpu_nearest_dsp_init_avx512(dsp);
#endif
    (void)levels;
}
