/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: the nearest anchor. */
#include "backends/cpu/x86/floats256.h"

#include <stdint.h>

INLINE void lanes_keep(lanes_t distance, unsigned first, float *best, void *index)
{
    const __m256i numbers =
        _mm256_add_epi32(_mm256_set1_epi32((int)first), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    const __m256i less =
        _mm256_castps_si256(_mm256_cmp_ps(distance, _mm256_loadu_ps(best), _CMP_LT_OQ));
    _mm256_maskstore_ps(best, less, distance);
    _mm256_maskstore_epi32(index, less, numbers);
}

INLINE int32_t codes_product(const int16_t *vector, const int8_t *codes, size_t dimensions)
{
    __m256i even = _mm256_setzero_si256(), odd = even;
    for (size_t j = 0; j < dimensions; j += 32) {
        const __m256i a = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)(codes + j))),
                      b = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)(codes + j + 16)));
        even = _mm256_add_epi32(
            even, _mm256_madd_epi16(a, _mm256_loadu_si256((const void *)(vector + j))));
        odd = _mm256_add_epi32(
            odd, _mm256_madd_epi16(b, _mm256_loadu_si256((const void *)(vector + j + 16))));
    }
    const __m256i both = _mm256_add_epi32(even, odd);
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
    return _mm_cvtsi128_si32(sum);
}

#include "backends/cpu/nearest_lanes.h"

void wcodec_cpu_nearest_dsp_init_avx2(struct wcodec_cpu_nearest_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_nearest_dsp){
        .level = 2, .nearest = nearest, .distances = distances, .products = products};
}
