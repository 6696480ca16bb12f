/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* AVX-512: binary32 in lanes, for what is written once for all widths (gates_lanes.h,
 * nearest_lanes.h). */
#ifndef WCODEC_CPU_X86_FLOATS512_H
#define WCODEC_CPU_X86_FLOATS512_H

#include <immintrin.h>

#include "backends/cpu/inline.h"

typedef __m512 lanes_t;
enum { WIDTH = 16 };

INLINE lanes_t lanes_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

INLINE void lanes_store(float *p, lanes_t a)
{
    _mm512_storeu_ps(p, a);
}

INLINE lanes_t lanes_set(float value)
{
    return _mm512_set1_ps(value);
}

INLINE lanes_t lanes_add(lanes_t a, lanes_t b)
{
    return _mm512_add_ps(a, b);
}

INLINE lanes_t lanes_subtract(lanes_t a, lanes_t b)
{
    return _mm512_sub_ps(a, b);
}

INLINE lanes_t lanes_multiply(lanes_t a, lanes_t b)
{
    return _mm512_mul_ps(a, b);
}

#endif
