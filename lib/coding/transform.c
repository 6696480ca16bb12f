/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The factorisations are the usual ones of 8-point transforms, with the constants round(4096 cos(k
 * pi / 64)). A rotation that multiplies both of its inputs by the same constant adds first, which
 * wrapping arithmetic does not change. */
#include "coding/transform.h"

#include "core/assert.h"

enum { SIDE = WCODEC_TRANSFORM_SIDE };

const char *wcodec_order_name(unsigned order)
{
    static const char *const names[WCODEC_ORDERS] = {"diagonals", "products", "rows", "columns"};
    return order < WCODEC_ORDERS ? names[order] : "unknown";
}

const char *wcodec_transform_name(unsigned transform)
{
    static const char *const names[WCODEC_TRANSFORMS] = {"none", "dct", "adst"};
    return transform < WCODEC_TRANSFORMS ? names[transform] : "unknown";
}

const uint8_t wcodec_orders[WCODEC_ORDERS][WCODEC_TRANSFORM_BLOCK] = {
    {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
     41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
     30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63},
    {0,  1,  8,  2,  16, 3,  24, 4,  32, 9,  5,  40, 6,  48, 7,  56, 10, 17, 11, 25, 18, 12,
     33, 13, 41, 14, 49, 15, 57, 19, 26, 20, 34, 27, 21, 42, 22, 50, 23, 58, 28, 35, 29, 43,
     36, 30, 51, 31, 59, 37, 44, 38, 52, 45, 39, 60, 46, 53, 47, 61, 54, 55, 62, 63},
    {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
     22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
     44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63},
    {0,  8,  16, 24, 32, 40, 48, 56, 1,  9,  17, 25, 33, 41, 49, 57, 2,  10, 18, 26, 34, 42,
     50, 58, 3,  11, 19, 27, 35, 43, 51, 59, 4,  12, 20, 28, 36, 44, 52, 60, 5,  13, 21, 29,
     37, 45, 53, 61, 6,  14, 22, 30, 38, 46, 54, 62, 7,  15, 23, 31, 39, 47, 55, 63},
};

/* round(v / 4096), halves up, of a product or a sum of two. */
static inline uint32_t rounded(uint32_t v)
{
    return (uint32_t)((int32_t)(v + 2048) >> 12);
}

static inline uint32_t rotated(uint32_t a, uint32_t by_a, uint32_t b, uint32_t by_b)
{
    return rounded(a * by_a + b * by_b);
}

static inline uint32_t halved(uint32_t v) /* times 1/sqrt(2) */
{
    return rounded(v * 2896);
}

/* Eight values `step` apart, in place. */
static void inverse_dct(uint32_t *v, unsigned step)
{
    const uint32_t x0 = v[0], x1 = v[step], x2 = v[2 * step], x3 = v[3 * step], x4 = v[4 * step],
                   x5 = v[5 * step], x6 = v[6 * step], x7 = v[7 * step];
    const uint32_t e0 = halved(x0 + x4), e1 = halved(x0 - x4),
                   e2 = rotated(x2, 1567, x6, 0u - 3784), e3 = rotated(x2, 3784, x6, 1567);
    const uint32_t a0 = e0 + e3, a1 = e1 + e2, a2 = e1 - e2, a3 = e0 - e3;
    const uint32_t o0 = rotated(x1, 799, x7, 0u - 4017), o1 = rotated(x5, 3406, x3, 0u - 2276),
                   o2 = rotated(x5, 2276, x3, 3406), o3 = rotated(x1, 4017, x7, 799);
    const uint32_t b0 = o0 + o1, b1 = o0 - o1, b2 = o3 - o2, b3 = o3 + o2, c1 = halved(b2 - b1),
                   c2 = halved(b2 + b1);
    v[0] = a0 + b3;
    v[step] = a1 + c2;
    v[2 * step] = a2 + c1;
    v[3 * step] = a3 + b0;
    v[4 * step] = a3 - b0;
    v[5 * step] = a2 - c1;
    v[6 * step] = a1 - c2;
    v[7 * step] = a0 - b3;
}

static void inverse_adst(uint32_t *v, unsigned step)
{
    const uint32_t x0 = v[0], x1 = v[step], x2 = v[2 * step], x3 = v[3 * step], x4 = v[4 * step],
                   x5 = v[5 * step], x6 = v[6 * step], x7 = v[7 * step];
    const uint32_t r0 = rotated(x7, 4076, x0, 401), r1 = rotated(x7, 401, x0, 0u - 4076),
                   r2 = rotated(x5, 3612, x2, 1931), r3 = rotated(x5, 1931, x2, 0u - 3612);
    const uint32_t r4 = rotated(x3, 2598, x4, 3166), r5 = rotated(x3, 3166, x4, 0u - 2598),
                   r6 = rotated(x1, 1189, x6, 3920), r7 = rotated(x1, 3920, x6, 0u - 1189);
    const uint32_t s0 = r0 + r4, s1 = r1 + r5, s2 = r2 + r6, s3 = r3 + r7, s4 = r0 - r4,
                   s5 = r1 - r5, s6 = r2 - r6, s7 = r3 - r7;
    const uint32_t t4 = rotated(s4, 3784, s5, 1567), t5 = rotated(s4, 1567, s5, 0u - 3784),
                   t6 = rotated(s7, 3784, s6, 0u - 1567), t7 = rotated(s7, 1567, s6, 3784);
    const uint32_t u2 = s0 - s2, u3 = s1 - s3, u6 = t4 - t6, u7 = t5 - t7;
    v[0] = s0 + s2;
    v[step] = 0u - (t4 + t6);
    v[2 * step] = halved(u6 + u7);
    v[3 * step] = 0u - halved(u2 + u3);
    v[4 * step] = halved(u2 - u3);
    v[5 * step] = 0u - halved(u6 - u7);
    v[6 * step] = t5 + t7;
    v[7 * step] = 0u - (s1 + s3);
}

void wcodec_transform_inverse(unsigned transform,
                              const int32_t coefficients[WCODEC_TRANSFORM_BLOCK],
                              int32_t values[WCODEC_TRANSFORM_BLOCK])
{
    WCODEC_ASSERT(transform < WCODEC_TRANSFORMS);
    uint32_t v[WCODEC_TRANSFORM_BLOCK];
    void (*const inverse)(uint32_t *, unsigned) =
        transform == WCODEC_TRANSFORM_DCT ? inverse_dct : inverse_adst;
    const uint32_t unit =
        transform == WCODEC_TRANSFORM_NONE ? WCODEC_TRANSFORM_UNIT : 1u << WCODEC_TRANSFORM_SHIFT;
    for (unsigned i = 0; i < WCODEC_TRANSFORM_BLOCK; i++)
        v[i] = (uint32_t)coefficients[i] * unit;
    for (unsigned x = 0; x < SIDE && transform != WCODEC_TRANSFORM_NONE; x++)
        inverse(v + x, SIDE);
    for (unsigned y = 0; y < SIDE && transform != WCODEC_TRANSFORM_NONE; y++)
        inverse(v + (size_t)SIDE * y, 1);
    for (unsigned i = 0; i < WCODEC_TRANSFORM_BLOCK; i++)
        values[i] = (int32_t)v[i];
}
