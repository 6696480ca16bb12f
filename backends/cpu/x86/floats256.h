/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* AVX2: binary32 in lanes, for what is written once for all widths (gates_lanes.h,
 * nearest_lanes.h). */
#ifndef WCODEC_CPU_X86_FLOATS256_H
#define WCODEC_CPU_X86_FLOATS256_H

#include <immintrin.h>

#include "backends/cpu/inline.h"

typedef __m256 lanes_t;
enum { WIDTH = 8 };

INLINE lanes_t lanes_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

INLINE void lanes_store(float *p, lanes_t a)
{
    _mm256_storeu_ps(p, a);
}

INLINE lanes_t lanes_set(float value)
{
    return _mm256_set1_ps(value);
}

INLINE lanes_t lanes_add(lanes_t a, lanes_t b)
{
    return _mm256_add_ps(a, b);
}

INLINE lanes_t lanes_subtract(lanes_t a, lanes_t b)
{
    return _mm256_sub_ps(a, b);
}

INLINE lanes_t lanes_multiply(lanes_t a, lanes_t b)
{
    return _mm256_mul_ps(a, b);
}

#endif
