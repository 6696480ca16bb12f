/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: gates of recurrent units. */
#include "backends/cpu/x86/floats256.h"

INLINE lanes_t lanes_divide(lanes_t a, lanes_t b)
{
    return _mm256_div_ps(a, b);
}

INLINE lanes_t lanes_greatest(lanes_t a, lanes_t b)
{
    return _mm256_max_ps(a, b);
}

INLINE lanes_t lanes_absolute(lanes_t a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

INLINE lanes_t lanes_choose_less(lanes_t a, lanes_t b, lanes_t yes, lanes_t no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

INLINE lanes_t lanes_whole(lanes_t a)
{
    return _mm256_cvtepi32_ps(_mm256_cvttps_epi32(a));
}

INLINE lanes_t lanes_power(lanes_t n)
{
    const __m256i exponent = _mm256_add_epi32(_mm256_cvttps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}

#include "backends/cpu/gates_lanes.h"

void wcodec_cpu_gates_dsp_init_avx2(struct wcodec_cpu_gates_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_gates_dsp){
        .level = 2, .products = products, .sigmoids = sigmoids, .tangents = tangents};
}
