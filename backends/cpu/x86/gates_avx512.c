/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: gates of recurrent units. */
#include "backends/cpu/x86/floats512.h"

INLINE lanes_t lanes_divide(lanes_t a, lanes_t b)
{
    return _mm512_div_ps(a, b);
}

INLINE lanes_t lanes_greatest(lanes_t a, lanes_t b)
{
    return _mm512_max_ps(a, b);
}

INLINE lanes_t lanes_absolute(lanes_t a)
{
    return _mm512_abs_ps(a);
}

INLINE lanes_t lanes_choose_less(lanes_t a, lanes_t b, lanes_t yes, lanes_t no)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}

INLINE lanes_t lanes_whole(lanes_t a)
{
    return _mm512_cvtepi32_ps(_mm512_cvttps_epi32(a));
}

INLINE lanes_t lanes_power(lanes_t n)
{
    const __m512i exponent = _mm512_add_epi32(_mm512_cvttps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
}

#include "backends/cpu/gates_lanes.h"

void wcodec_cpu_gates_dsp_init_avx512(struct wcodec_cpu_gates_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_gates_dsp){
        .level = 3, .products = products, .sigmoids = sigmoids, .tangents = tangents};
}
