/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors from their coefficients (doc/format.md 5), as lib/coding/lossy.c and transform.c
 * make them. A lane has one block of 8 x 8 of half a superblock: its coefficients come as a word of
 * four for each group of 128, the transforms are done in its registers, and a row of them is 512
 * neighbouring bytes of bf16 for all lanes. All indices of the arrays are constants when loops are
 * unrolled.
 *
 * Modes and scales are validated by the host. Coefficients may be anything. */
#ifndef WCODEC_KERNELS_LOSSY_H
#define WCODEC_KERNELS_LOSSY_H

#include "backends/kernels/floats.h"
#include "backends/kernels/jobs.h"

enum { WCODEC_LOSSY_DCT = 1, WCODEC_LOSSY_ADST = 2 };
enum {
    WCODEC_PLAIN_UNIT = 4096
}; /* coefficients of a unit of a plain tensor; else it is half a superblock */

/* Kernels that decode tiles too (tile_lossy.h) copy their descriptors to local memory: an OpenCL
 * program has those, or the ones of units in scratch memory (units.h). */
#ifndef __OPENCL_VERSION__
#define WCODEC_VIEW
#define WCODEC_LOSSY_TILES
#define WCODEC_LOSSY_UNITS
#elif defined(WCODEC_LOSSY_TILES)
#define WCODEC_VIEW __local
#else
#define WCODEC_VIEW __global
#define WCODEC_LOSSY_UNITS
#endif

/* What all lanes share. */
struct wcodec_lossy_work {
    WCODEC_WARP_MEMBER
    const WCODEC_VIEW struct wcodec_view_job *view;
    uint32_t wide;   /* 16-bit coefficients? */
    uint32_t format; /* of elements */
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_rounded(uint32_t v)
{
    return (uint32_t)((int32_t)(v + 2048) >> 12);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_rotated(uint32_t a, uint32_t by_a, uint32_t b, uint32_t by_b)
{
    return wcodec_rounded(a * by_a + b * by_b);
}

/* Eight values, `step` apart, in place; gain: a factor of what goes in, which costs nothing. */
WCODEC_DEVICE_FUNCTION void wcodec_inverse_dct(uint32_t *v, const uint32_t step,
                                               const uint32_t gain)
{
    const uint32_t x0 = v[0], x1 = v[step], x2 = v[2 * step], x3 = v[3 * step], x4 = v[4 * step],
                   x5 = v[5 * step], x6 = v[6 * step], x7 = v[7 * step];
    const uint32_t e0 = wcodec_rounded((x0 + x4) * (gain * 2896)),
                   e1 = wcodec_rounded((x0 - x4) * (gain * 2896));
    const uint32_t e2 = wcodec_rotated(x2, gain * 1567, x6, 0u - gain * 3784),
                   e3 = wcodec_rotated(x2, gain * 3784, x6, gain * 1567);
    const uint32_t a0 = e0 + e3, a1 = e1 + e2, a2 = e1 - e2, a3 = e0 - e3;
    const uint32_t o0 = wcodec_rotated(x1, gain * 799, x7, 0u - gain * 4017),
                   o1 = wcodec_rotated(x5, gain * 3406, x3, 0u - gain * 2276);
    const uint32_t o2 = wcodec_rotated(x5, gain * 2276, x3, gain * 3406),
                   o3 = wcodec_rotated(x1, gain * 4017, x7, gain * 799);
    const uint32_t b0 = o0 + o1, b1 = o0 - o1, b2 = o3 - o2, b3 = o3 + o2,
                   c1 = wcodec_rounded((b2 - b1) * 2896), c2 = wcodec_rounded((b2 + b1) * 2896);
    v[0] = a0 + b3;
    v[step] = a1 + c2;
    v[2 * step] = a2 + c1;
    v[3 * step] = a3 + b0;
    v[4 * step] = a3 - b0;
    v[5 * step] = a2 - c1;
    v[6 * step] = a1 - c2;
    v[7 * step] = a0 - b3;
}

WCODEC_DEVICE_FUNCTION void wcodec_inverse_adst(uint32_t *v, const uint32_t step,
                                                const uint32_t gain)
{
    const uint32_t x0 = v[0], x1 = v[step], x2 = v[2 * step], x3 = v[3 * step], x4 = v[4 * step],
                   x5 = v[5 * step], x6 = v[6 * step], x7 = v[7 * step];
    const uint32_t r0 = wcodec_rotated(x7, gain * 4076, x0, gain * 401),
                   r1 = wcodec_rotated(x7, gain * 401, x0, 0u - gain * 4076);
    const uint32_t r2 = wcodec_rotated(x5, gain * 3612, x2, gain * 1931),
                   r3 = wcodec_rotated(x5, gain * 1931, x2, 0u - gain * 3612);
    const uint32_t r4 = wcodec_rotated(x3, gain * 2598, x4, gain * 3166),
                   r5 = wcodec_rotated(x3, gain * 3166, x4, 0u - gain * 2598);
    const uint32_t r6 = wcodec_rotated(x1, gain * 1189, x6, gain * 3920),
                   r7 = wcodec_rotated(x1, gain * 3920, x6, 0u - gain * 1189);
    const uint32_t s0 = r0 + r4, s1 = r1 + r5, s2 = r2 + r6, s3 = r3 + r7, s4 = r0 - r4,
                   s5 = r1 - r5, s6 = r2 - r6, s7 = r3 - r7;
    const uint32_t t4 = wcodec_rotated(s4, 3784, s5, 1567),
                   t5 = wcodec_rotated(s4, 1567, s5, 0u - 3784),
                   t6 = wcodec_rotated(s7, 3784, s6, 0u - 1567),
                   t7 = wcodec_rotated(s7, 1567, s6, 3784);
    const uint32_t u2 = s0 - s2, u3 = s1 - s3, u6 = t4 - t6, u7 = t5 - t7;
    v[0] = s0 + s2;
    v[step] = 0u - (t4 + t6);
    v[2 * step] = wcodec_rounded((u6 + u7) * 2896);
    v[3 * step] = 0u - wcodec_rounded((u2 + u3) * 2896);
    v[4 * step] = wcodec_rounded((u2 - u3) * 2896);
    v[5 * step] = 0u - wcodec_rounded((u6 - u7) * 2896);
    v[6 * step] = t5 + t7;
    v[7 * step] = 0u - (s1 + s3);
}

/* Coefficients of a block at their places, to numbers of which 64 are a step. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_transform(uint32_t mode, uint32_t *v)
{
    if (mode == WCODEC_LOSSY_DCT) {
        WCODEC_UNROLL_ALL
        for (uint32_t x = 0; x < 8; x++)
            wcodec_inverse_dct(v + x, 8, 16);
        WCODEC_UNROLL_ALL
        for (uint32_t y = 0; y < 8; y++)
            wcodec_inverse_dct(v + 8 * y, 1, 1);
    } else if (mode == WCODEC_LOSSY_ADST) {
        WCODEC_UNROLL_ALL
        for (uint32_t x = 0; x < 8; x++)
            wcodec_inverse_adst(v + x, 8, 16);
        WCODEC_UNROLL_ALL
        for (uint32_t y = 0; y < 8; y++)
            wcodec_inverse_adst(v + 8 * y, 1, 1);
    } else {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 64; i++)
            v[i] *= 64;
    }
}

/* A number times a scale, by three roundings, as the element's bits. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_product(uint32_t value, float scale)
{
    return WCODEC_FLOAT_BITS((float)(int32_t)value * scale);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_bits(uint32_t format, uint32_t value, float scale)
{
    const uint32_t bits = wcodec_lossy_product(value, scale);
    return format == WCODEC_TO_BF16  ? wcodec_to_bf16(bits)
           : format == WCODEC_TO_F16 ? wcodec_to_f16(bits)
                                     : bits;
}

/* Two neighbours of 16 bits. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_pair(uint32_t format, uint32_t first, uint32_t second,
                                                  float scale)
{
#ifdef WCODEC_FLOAT_PAIRS
    const float a = (float)(int32_t)first * scale, b = (float)(int32_t)second * scale;
    return format == WCODEC_TO_BF16 ? wcodec_pair_bf16(a, b) : wcodec_pair_f16(a, b);
#else
    return wcodec_lossy_bits(format, first, scale) | wcodec_lossy_bits(format, second, scale) << 16;
#endif
}

WCODEC_DEVICE_FUNCTION void wcodec_put_one(const struct wcodec_lossy_work *w, uint64_t address,
                                           uint32_t value, float scale)
{
    const uint32_t bits = wcodec_lossy_bits(w->format, value, scale);
    if (w->format == WCODEC_TO_F32)
        *WCODEC_AT_OUT(w, uint32_t, address) = bits;
    else
        *WCODEC_AT_OUT(w, uint16_t, address) = (uint16_t)bits;
}

/* Eight neighbouring elements, `count` of them there, of which the first is number `at` of the
 * tensor: those that are wanted. */
WCODEC_DEVICE_FUNCTION void wcodec_put_eight(const struct wcodec_lossy_work *w, uint64_t at,
                                             uint32_t count, const uint32_t *v, float scale)
{
    const WCODEC_VIEW struct wcodec_view_job *view = w->view;
    const uint32_t log2 = w->format == WCODEC_TO_F32 ? 2 : 1;
    const uint64_t out = view->out + ((at - view->begin) << log2);
    if (count == 8 && at >= view->begin && at + 8 <= view->end && out % 16 == 0) {
        if (log2 == 1) {
            WCODEC_STORE_16(w, out, wcodec_lossy_pair(w->format, v[0], v[1], scale),
                            wcodec_lossy_pair(w->format, v[2], v[3], scale),
                            wcodec_lossy_pair(w->format, v[4], v[5], scale),
                            wcodec_lossy_pair(w->format, v[6], v[7], scale));
        } else {
            WCODEC_STORE_16(w, out, wcodec_lossy_product(v[0], scale),
                            wcodec_lossy_product(v[1], scale), wcodec_lossy_product(v[2], scale),
                            wcodec_lossy_product(v[3], scale));
            WCODEC_STORE_16(w, out + 16, wcodec_lossy_product(v[4], scale),
                            wcodec_lossy_product(v[5], scale), wcodec_lossy_product(v[6], scale),
                            wcodec_lossy_product(v[7], scale));
        }
        return;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 8; i++)
        if (i < count && at + i >= view->begin && at + i < view->end)
            wcodec_put_one(w, out + (i << log2), v[i], scale);
}

/* Scale of a row. */
WCODEC_DEVICE_FUNCTION float wcodec_row_scale(const struct wcodec_lossy_work *w, uint64_t row)
{
    return WCODEC_AT(w, block, float,
                     w->view->scales)[w->view->row_scales ? row - w->view->first_row : 0];
}

/* Places of the coefficients in each order (lib/coding/transform.c), by words of four. */
#define WCODEC_ORDER_DIAGONALS(X) \
    X(0, 0, 1, 8, 16) \
    X(1, 9, 2, 3, 10) \
    X(2, 17, 24, 32, 25) \
    X(3, 18, 11, 4, 5) \
    X(4, 12, 19, 26, 33) \
    X(5, 40, 48, 41, 34) \
    X(6, 27, 20, 13, 6) \
    X(7, 7, 14, 21, 28) \
    X(8, 35, 42, 49, 56) \
    X(9, 57, 50, 43, 36) \
    X(10, 29, 22, 15, 23) \
    X(11, 30, 37, 44, 51) \
    X(12, 58, 59, 52, 45) \
    X(13, 38, 31, 39, 46) \
    X(14, 53, 60, 61, 54) \
    X(15, 47, 55, 62, 63)
#define WCODEC_ORDER_PRODUCTS(X) \
    X(0, 0, 1, 8, 2) \
    X(1, 16, 3, 24, 4) \
    X(2, 32, 9, 5, 40) \
    X(3, 6, 48, 7, 56) \
    X(4, 10, 17, 11, 25) \
    X(5, 18, 12, 33, 13) \
    X(6, 41, 14, 49, 15) \
    X(7, 57, 19, 26, 20) \
    X(8, 34, 27, 21, 42) \
    X(9, 22, 50, 23, 58) \
    X(10, 28, 35, 29, 43) \
    X(11, 36, 30, 51, 31) \
    X(12, 59, 37, 44, 38) \
    X(13, 52, 45, 39, 60) \
    X(14, 46, 53, 47, 61) \
    X(15, 54, 55, 62, 63)
#define WCODEC_ORDER_ROWS(X) \
    X(0, 0, 1, 2, 3) \
    X(1, 4, 5, 6, 7) \
    X(2, 8, 9, 10, 11) \
    X(3, 12, 13, 14, 15) \
    X(4, 16, 17, 18, 19) \
    X(5, 20, 21, 22, 23) \
    X(6, 24, 25, 26, 27) \
    X(7, 28, 29, 30, 31) \
    X(8, 32, 33, 34, 35) \
    X(9, 36, 37, 38, 39) \
    X(10, 40, 41, 42, 43) \
    X(11, 44, 45, 46, 47) \
    X(12, 48, 49, 50, 51) \
    X(13, 52, 53, 54, 55) \
    X(14, 56, 57, 58, 59) \
    X(15, 60, 61, 62, 63)
#define WCODEC_ORDER_COLUMNS(X) \
    X(0, 0, 8, 16, 24) \
    X(1, 32, 40, 48, 56) \
    X(2, 1, 9, 17, 25) \
    X(3, 33, 41, 49, 57) \
    X(4, 2, 10, 18, 26) \
    X(5, 34, 42, 50, 58) \
    X(6, 3, 11, 19, 27) \
    X(7, 35, 43, 51, 59) \
    X(8, 4, 12, 20, 28) \
    X(9, 36, 44, 52, 60) \
    X(10, 5, 13, 21, 29) \
    X(11, 37, 45, 53, 61) \
    X(12, 6, 14, 22, 30) \
    X(13, 38, 46, 54, 62) \
    X(14, 7, 15, 23, 31) \
    X(15, 39, 47, 55, 63)

/* X for all words, in the order of number `order`. */
#define WCODEC_IN_ORDER(order, X) \
    switch (order) { \
    case 0: \
        WCODEC_ORDER_DIAGONALS(X) \
        break; \
    case 1: \
        WCODEC_ORDER_PRODUCTS(X) \
        break; \
    case 2: \
        WCODEC_ORDER_ROWS(X) \
        break; \
    default: \
        WCODEC_ORDER_COLUMNS(X) \
        break; \
    }

/* The four coefficients of a word, 8 bits wide, to places a to d of v. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_four(uint32_t word, uint32_t *a, uint32_t *b, uint32_t *c,
                                              uint32_t *d)
{
    *a = WCODEC_SIGNED_BYTE(word, 0);
    *b = WCODEC_SIGNED_BYTE(word, 1);
    *c = WCODEC_SIGNED_BYTE(word, 2);
    *d = WCODEC_SIGNED_BYTE(word, 3);
}

/* Two of 16 bits. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_two(uint32_t word, uint32_t *a, uint32_t *b)
{
    *a = WCODEC_SIGNED_HALF(word, 0);
    *b = WCODEC_SIGNED_HALF(word, 1);
}

/* Eight elements of a row as words; scale: of the row. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_words(uint32_t format, const uint32_t *v, float scale,
                                               uint32_t *o)
{
    if (format == WCODEC_TO_F32) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 8; i++)
            o[i] = wcodec_lossy_product(v[i], scale);
    } else {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            o[i] = wcodec_lossy_pair(format, v[2 * i], v[2 * i + 1], scale);
    }
}

/* A lane's block of half a superblock. */
struct wcodec_lossy_where {
    uint64_t row; /* of the tensor, as the column */
    uint32_t column;
    uint32_t width; /* columns that are no padding; 0 if there are no rows either */
    uint32_t modes; /* byte in which the number of its mode is, looked into when that is wanted: it
                       may still be on its way */
    float scale;    /* of the first row */
};

/* The block of half `unit` of a tile's superblocks. */
WCODEC_DEVICE_FUNCTION struct wcodec_lossy_where
wcodec_lossy_position(const struct wcodec_lossy_work *w,
                      const WCODEC_VIEW struct wcodec_blocks_job *job, uint32_t unit, uint32_t lane)
{
    const WCODEC_VIEW struct wcodec_view_job *view = w->view;
    /* A division, but for tensors that are narrow; `column` of the job is below `across`. */
    const uint32_t along = job->column + unit / 2, across = view->across,
                   down = along < across            ? 0
                          : along - across < across ? 1
                                                    : along / across;
    const uint32_t column = (along - down * across) * 256 + 8 * lane, bits = view->index_bits;
    const uint64_t row = (job->row + down) * 16 + unit % 2 * 8,
                   bit = ((job->first + unit / 2) * 64 + unit % 2 * 32 + lane) * bits;
    struct wcodec_lossy_where place = {row, column, 0, 0, 0};
    if (row >= view->rows || column >= view->columns)
        return place;
    place.width = view->columns - column < 8 ? view->columns - column : 8;
    if (bits)
        place.modes = WCODEC_AT(w, block, uint8_t, view->modes)[bit / 8];
    place.scale = wcodec_row_scale(w, row);
    return place;
}

/* The rows of a block: what is inside of the tensor, and wanted. format: known when this is
 * compiled. */
WCODEC_DEVICE_FUNCTION void wcodec_put_block(const struct wcodec_lossy_work *w,
                                             const uint32_t format,
                                             const struct wcodec_lossy_where *place,
                                             const uint32_t *v)
{
    const WCODEC_VIEW struct wcodec_view_job *view = w->view;
    const uint32_t columns = view->columns, log2 = format == WCODEC_TO_F32 ? 2 : 1,
                   stride = columns << log2;
    const uint64_t at = place->row * columns + place->column, most = 1 << 30;
    /* What is wanted, counted from the block's first element; a block's rows take less than 2^23.
     */
    const uint32_t begin =
        view->begin > at ? (uint32_t)(view->begin - at < most ? view->begin - at : most) : 0;
    const uint32_t end =
        view->end > at ? (uint32_t)(view->end - at < most ? view->end - at : most) : 0;
    const uint32_t height = view->rows - place->row < 8 ? (uint32_t)(view->rows - place->row) : 8;
    uint64_t out = view->out + ((at - view->begin) << log2);
    const bool all = place->width == 8 && height == 8 && begin == 0 && 7 * columns + 8 <= end &&
                     (out | stride) % 16 == 0;
    float scale = place->scale;
    if (all) {
        float scales[8];
        WCODEC_UNROLL_ALL
        for (uint32_t y = 0; y < 8; y++)
            scales[y] = scale;
        if (view->row_scales) {
            WCODEC_UNROLL_ALL
            for (uint32_t y = 1; y < 8; y++)
                scales[y] = wcodec_row_scale(w, place->row + y);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t y = 0; y < 8; y++, out += stride) {
            uint32_t o[8];
            wcodec_lossy_words(format, v + 8 * y, scales[y], o);
            WCODEC_STORE_16(w, out, o[0], o[1], o[2], o[3]);
            if (log2 == 2)
                WCODEC_STORE_16(w, out + 16, o[4], o[5], o[6], o[7]);
        }
        return;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t y = 0; y < 8; y++, out += stride) {
        uint32_t o[8];
        if (y >= height)
            return;
        if (y > 0 && view->row_scales)
            scale = wcodec_row_scale(w, place->row + y);
        wcodec_lossy_words(format, v + 8 * y, scale, o);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 8; i++) {
            if (i >= place->width || y * columns + i < begin || y * columns + i >= end)
                continue;
            if (log2 == 2)
                *WCODEC_AT_OUT(w, uint32_t, out + 4 * i) = o[i];
            else
                *WCODEC_AT_OUT(w, uint16_t, out + 2 * i) = (uint16_t)(o[i / 2] >> 16 * (i % 2));
        }
    }
}

/* The elements of a block, of its coefficients: 16 words of four, or of 16 bits 32 words of two. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_block(const struct wcodec_lossy_work *w,
                                               const struct wcodec_lossy_where *place,
                                               const uint32_t *words)
{
    uint32_t v[64];
    if (place->width == 0)
        return;
    if (w->wide) {
#define X(k, a, b, c, d) \
    wcodec_lossy_two(words[2 * k], v + a, v + b); \
    wcodec_lossy_two(words[2 * k + 1], v + c, v + d);
        WCODEC_IN_ORDER(w->view->order, X)
#undef X
    } else {
#define X(k, a, b, c, d) wcodec_lossy_four(words[k], v + a, v + b, v + c, v + d);
        WCODEC_IN_ORDER(w->view->order, X)
#undef X
    }
    const uint32_t bits = w->view->index_bits;
    wcodec_lossy_transform(
        w->view->mode[place->modes >> place->column / 8 * bits % 8 & ((1u << bits) - 1)], v);
    if (w->format == WCODEC_TO_BF16)
        wcodec_put_block(w, WCODEC_TO_BF16, place, v);
    else if (w->format == WCODEC_TO_F16)
        wcodec_put_block(w, WCODEC_TO_F16, place, v);
    else
        wcodec_put_block(w, WCODEC_TO_F32, place, v);
}

/* Half `unit` of the superblocks of a tile. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_half(struct wcodec_lossy_work *w,
                                              const WCODEC_VIEW struct wcodec_blocks_job *job,
                                              uint32_t unit)
{
    WCODEC_EACH_LANE
    {
        const WCODEC_GLOBAL uint8_t *from = WCODEC_AT(w, raw, uint8_t, job->residuals) +
                                            (((uint64_t)unit * 2048 + 4 * lane) << w->wide);
        const struct wcodec_lossy_where place = wcodec_lossy_position(w, job, unit, lane);
        uint32_t words[32];
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 16; k++) {
            if (w->wide) {
                words[2 * k] = ((const WCODEC_GLOBAL uint32_t *)(from + 256 * k))[0];
                words[2 * k + 1] = ((const WCODEC_GLOBAL uint32_t *)(from + 256 * k))[1];
            } else {
                words[k] = *(const WCODEC_GLOBAL uint32_t *)(from + 128 * k);
            }
        }
        wcodec_lossy_block(w, &place, words);
    }
}

/* Coefficient i of a plain tensor's tile. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_plain_value(const struct wcodec_lossy_work *w,
                                                   const WCODEC_VIEW struct wcodec_blocks_job *job,
                                                   uint32_t i)
{
    if (w->wide)
        return (uint32_t)((int32_t)((uint32_t)WCODEC_AT(w, raw, uint16_t, job->residuals)[i]
                                    << 16) >>
                          16) *
               64;
    return (uint32_t)((int32_t)((uint32_t)WCODEC_AT(w, raw, uint8_t, job->residuals)[i] << 24) >>
                      24) *
           64;
}

/* Eight of them: those behind the tile's last may be anything, they are not stored. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_values(const struct wcodec_lossy_work *w,
                                                const WCODEC_VIEW struct wcodec_blocks_job *job,
                                                uint32_t i, uint32_t *v)
{
    const WCODEC_GLOBAL uint32_t *words =
        WCODEC_AT(w, raw, uint32_t, job->residuals) + (i >> (w->wide ? 1 : 2));
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < 8; k++)
        v[k] = w->wide ? (uint32_t)((int32_t)(words[k / 2] << (16 - 16 * (k % 2))) >> 16) * 64
                       : (uint32_t)((int32_t)(words[k / 4] << (24 - 8 * (k % 4))) >> 24) * 64;
}

/* A unit of which all elements are wanted, to a multiple of 16 bytes: four loads of a lane are on
 * their way before anything is stored. format: known when this is compiled. scale: of a step. */
WCODEC_DEVICE_FUNCTION void wcodec_plain_whole(const struct wcodec_lossy_work *w,
                                               const uint32_t format,
                                               const WCODEC_GLOBAL uint32_t *from, uint64_t out,
                                               uint32_t lane, float scale)
{
    const uint32_t log2 = format == WCODEC_TO_F32 ? 2 : 1;
    for (uint32_t i = 8 * lane; i < WCODEC_PLAIN_UNIT; i += 1024) {
        uint32_t words[16];
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 4; k++) {
            if (w->wide) {
                WCODEC_LOAD_16(words + 4 * k, from + i / 2 + 128 * k);
            } else {
                words[4 * k] = from[i / 4 + 64 * k];
                words[4 * k + 1] = from[i / 4 + 64 * k + 1];
            }
        }
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t v[8], o[8];
            WCODEC_UNROLL_ALL
            for (uint32_t n = 0; n < 2; n++) {
                if (w->wide) {
                    wcodec_lossy_two(words[4 * k + 2 * n], v + 4 * n, v + 4 * n + 1);
                    wcodec_lossy_two(words[4 * k + 2 * n + 1], v + 4 * n + 2, v + 4 * n + 3);
                } else {
                    wcodec_lossy_four(words[4 * k + n], v + 4 * n, v + 4 * n + 1, v + 4 * n + 2,
                                      v + 4 * n + 3);
                }
            }
            wcodec_lossy_words(format, v, scale, o);
            WCODEC_STORE_16(w, out + ((uint64_t)(i + 256 * k) << log2), o[0], o[1], o[2], o[3]);
            if (format == WCODEC_TO_F32)
                WCODEC_STORE_16(w, out + ((uint64_t)(i + 256 * k) << log2) + 16, o[4], o[5], o[6],
                                o[7]);
        }
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_plain_elements(struct wcodec_lossy_work *w,
                                                  const WCODEC_VIEW struct wcodec_blocks_job *job,
                                                  uint32_t unit)
{
    const WCODEC_VIEW struct wcodec_view_job *view = w->view;
    const uint32_t end = job->blocks - unit * WCODEC_PLAIN_UNIT < WCODEC_PLAIN_UNIT
                             ? job->blocks
                             : (unit + 1) * WCODEC_PLAIN_UNIT;
    const uint64_t first = job->first + unit * WCODEC_PLAIN_UNIT,
                   out =
                       view->out + ((first - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1));
    const bool whole = end == (unit + 1) * WCODEC_PLAIN_UNIT && first >= view->begin &&
                       first + WCODEC_PLAIN_UNIT <= view->end && !view->row_scales && out % 16 == 0;
    WCODEC_EACH_LANE
    {
        if (whole) {
            const WCODEC_GLOBAL uint32_t *from =
                WCODEC_AT(w, raw, uint32_t, job->residuals) +
                unit * ((uint32_t)WCODEC_PLAIN_UNIT / 4 << w->wide);
            const float scale = wcodec_row_scale(w, 0) * 64;
            if (w->format == WCODEC_TO_BF16)
                wcodec_plain_whole(w, WCODEC_TO_BF16, from, out, lane, scale);
            else if (w->format == WCODEC_TO_F16)
                wcodec_plain_whole(w, WCODEC_TO_F16, from, out, lane, scale);
            else
                wcodec_plain_whole(w, WCODEC_TO_F32, from, out, lane, scale);
            continue;
        }
        for (uint32_t i = unit * WCODEC_PLAIN_UNIT + 8 * lane; i < end; i += 256) {
            const uint64_t at = job->first + i;
            const uint64_t row = view->row_scales ? at / view->columns : 0;
            if (end - i >= 8 && (!view->row_scales || at % view->columns + 8 <= view->columns)) {
                uint32_t v[8];
                wcodec_plain_values(w, job, i, v);
                wcodec_put_eight(w, at, 8, v, wcodec_row_scale(w, row));
                continue;
            }
            for (uint32_t k = i; k < i + 8 && k < end; k++) {
                const uint64_t element = job->first + k;
                if (element >= view->begin && element < view->end)
                    wcodec_put_one(
                        w,
                        view->out +
                            ((element - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1)),
                        wcodec_plain_value(w, job, k),
                        wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
            }
        }
    }
}

/* Units of a tile. Of a plain tensor, `blocks` are its elements, and `first` the number of the
 * first in the tensor. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_units(const struct wcodec_lossy_work *w,
                                                   const WCODEC_VIEW struct wcodec_blocks_job *job)
{
    return w->view->plain ? (job->blocks + WCODEC_PLAIN_UNIT - 1) / WCODEC_PLAIN_UNIT
                          : 2 * job->blocks;
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_unit(struct wcodec_lossy_work *w,
                                              const WCODEC_VIEW struct wcodec_blocks_job *job,
                                              uint32_t unit)
{
    if (w->view->plain)
        wcodec_plain_elements(w, job, unit);
    else
        wcodec_lossy_half(w, job, unit);
}

#ifdef WCODEC_LOSSY_UNITS
/* w: room, in OpenCL bound to buffers: block, out, and raw for the coefficients. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_open(struct wcodec_lossy_work *w,
                                              const WCODEC_VIEW struct wcodec_blocks_job *job)
{
    w->view = WCODEC_AT(w, block, struct wcodec_view_job, job->view);
    w->wide = w->view->wide;
    w->format = w->view->format;
}
#endif

#endif
