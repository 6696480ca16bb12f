/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: the nearest anchor. */
#include "backends/cpu/x86/floats512.h"

#include <stdint.h>

INLINE void lanes_keep(lanes_t distance, unsigned first, float *best, void *index)
{
    const __m512i numbers =
        _mm512_add_epi32(_mm512_set1_epi32((int)first),
                         _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    const __mmask16 less = _mm512_cmp_ps_mask(distance, _mm512_loadu_ps(best), _CMP_LT_OQ);
    _mm512_mask_storeu_ps(best, less, distance);
    _mm512_mask_storeu_epi32(index, less, numbers);
}

INLINE int32_t codes_product(const int16_t *vector, const int8_t *codes, size_t dimensions)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t j = 0; j < dimensions; j += 32)
        sum = _mm512_add_epi32(
            sum,
            _mm512_madd_epi16(_mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)(codes + j))),
                              _mm512_loadu_si512((const void *)(vector + j))));
    return _mm512_reduce_add_epi32(sum);
}

#include "backends/cpu/nearest_lanes.h"

void wcodec_cpu_nearest_dsp_init_avx512(struct wcodec_cpu_nearest_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_nearest_dsp){
        .level = 3, .nearest = nearest, .distances = distances, .products = products};
}
