/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reconstruction of blocks, over the vector operations that a level includes before this. Nothing
 * passes from one part of a register to another: each belongs to a block of its own. element_log2
 * and the like are constants where these are inlined.
 *
 * Sums (left, top, planar, differential) work on rows as they are. Average and Paeth go element by
 * element, and need the same element of many blocks in one register: rows are transposed on the way
 * in and on the way out. The transform has bands of 16 coefficients, one of each sub-block, which
 * are such registers as they come. */
#ifndef WCODEC_CPU_RESTORE_H
#define WCODEC_CPU_RESTORE_H

#include "backends/cpu/blocks.h"

#include <string.h>

enum {
    SIDE = WCODEC_BLOCK_SIDE,
    RESTORE_PARTS = VEC_BYTES / 16,
    /* Registers of a row that are done before the next row, which is often on a page of its own. */
    TOGETHER = 4
};

INLINE vec plus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? add16(a, b) : add8(a, b);
}

INLINE vec minus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? sub16(a, b) : sub8(a, b);
}

/* Floor of half a signed element. */
INLINE vec half(unsigned element_log2, vec v)
{
    return element_log2 ? half16(v) : half8(v);
}

/* Signed, limited to what elements can hold. */
INLINE vec plus_limited(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? add16_limited(a, b) : add8_limited(a, b);
}

INLINE vec size_of(unsigned element_log2, vec v)
{
    return element_log2 ? abs16(v) : abs8(v);
}

/* The lesser, unsigned. */
INLINE vec less(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? min16(a, b) : min8(a, b);
}

/* x where a <= b, unsigned, else y. */
INLINE vec pick(unsigned element_log2, vec a, vec b, vec x, vec y)
{
    return element_log2 ? blend_not_above16(a, b, x, y) : blend_not_above8(a, b, x, y);
}

INLINE vec repeat_last(unsigned element_log2, vec v)
{
    return element_log2 ? repeat_last16(v) : repeat_last8(v);
}

/* Units of 2^size_log2 bytes of a and b by turns. */
INLINE vec zip_low(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return zip_low8(a, b);
    case 1:
        return zip_low16(a, b);
    case 2:
        return zip_low32(a, b);
    default:
        return zip_low64(a, b);
    }
}

INLINE vec zip_high(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return zip_high8(a, b);
    case 1:
        return zip_high16(a, b);
    case 2:
        return zip_high32(a, b);
    default:
        return zip_high64(a, b);
    }
}

/* Each part as 4 x 4 bytes, transposed. */
INLINE vec transpose_bytes(vec v)
{
    static const uint8_t order[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    return shuffle(v, repeat(order));
}

/* A row of elements of 16 bits has two registers. */
struct row {
    vec part[2];
};

INLINE struct row load_row(unsigned element_log2, const uint8_t *const *from, unsigned y)
{
    struct row r;
    r.part[0] = load_parts(from, (size_t)y * SIDE << element_log2);
    r.part[1] = element_log2 ? load_parts(from, (size_t)y * SIDE * 2 + 16) : zero();
    return r;
}

INLINE void store_row(unsigned element_log2, uint8_t *const *to, size_t at, struct row r)
{
    store_parts(to, at, r.part[0]);
    if (element_log2)
        store_parts(to, at + 16, r.part[1]);
}

INLINE struct row add_rows(unsigned element_log2, struct row a, struct row b)
{
    a.part[0] = plus(element_log2, a.part[0], b.part[0]);
    if (element_log2)
        a.part[1] = plus(element_log2, a.part[1], b.part[1]);
    return a;
}

INLINE vec sums_of_part(unsigned element_log2, vec v)
{
    if (element_log2 == 0)
        v = plus(0, v, MOVE_UP(v, 1));
    v = plus(element_log2, v, MOVE_UP(v, 2));
    v = plus(element_log2, v, MOVE_UP(v, 4));
    return plus(element_log2, v, MOVE_UP(v, 8));
}

INLINE struct row sums_of_row(unsigned element_log2, struct row r)
{
    r.part[0] = sums_of_part(element_log2, r.part[0]);
    if (element_log2)
        r.part[1] = plus(element_log2, sums_of_part(element_log2, r.part[1]),
                         repeat_last(element_log2, r.part[0]));
    return r;
}

INLINE void restore_sums(unsigned element_log2, bool differential, bool rows, bool columns,
                         const uint8_t *const *residuals, uint8_t *const *out, size_t stride,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i += TOGETHER * RESTORE_PARTS) {
        struct row carry[TOGETHER], above[TOGETHER];
        for (unsigned g = 0; g < TOGETHER; g++)
            above[g] = carry[g] = (struct row){{zero(), zero()}};
        for (unsigned y = 0; y < SIDE; y++)
            for (unsigned g = 0, k = i; g < TOGETHER; g++, k += RESTORE_PARTS) {
                struct row r = load_row(element_log2, residuals + k, y);
                if (differential) {
                    r = add_rows(element_log2, sums_of_row(element_log2, r), carry[g]);
                    carry[g].part[0] = carry[g].part[1] =
                        repeat_last(element_log2, r.part[element_log2]);
                }
                if (rows)
                    r = sums_of_row(element_log2, r);
                if (columns)
                    above[g] = r = add_rows(element_log2, r, above[g]);
                store_row(element_log2, out + k, y * stride, r);
            }
    }
}

/* 16 x 16 elements of 8 bits, or 8 x 8 of 16, in each part; it is its own way back. Elements'
 * addresses (row, column) are turned bit by bit. */
INLINE void transpose(unsigned element_log2, vec *v)
{
    const unsigned size = 16u >> element_log2;
    vec other[16];
    for (unsigned step = 0; step < 4 - element_log2; step++) {
        for (unsigned i = 0; i < size / 2; i++) {
            other[2 * i] = zip_low(element_log2, v[i], v[i + size / 2]);
            other[2 * i + 1] = zip_high(element_log2, v[i], v[i + size / 2]);
        }
        for (unsigned i = 0; i < size; i++)
            v[i] = other[i];
    }
}

/* a <= b and a <= abs(sum) is a <= the lesser one. A sum that is limited is larger than both all
 * the same. */
INLINE vec paeth(unsigned element_log2, vec left, vec top, vec corner, vec up, vec up_size)
{
    const vec across = minus(element_log2, left, corner),
              across_size = size_of(element_log2, across),
              far = size_of(element_log2, plus_limited(element_log2, up, across));
    return pick(element_log2, up_size, less(element_log2, across_size, far), left,
                pick(element_log2, across_size, far, top, corner));
}

struct wave {
    vec left, corner, carry;
    vec above[SIDE];
};

/* Elements x to x + `count` of a row of many blocks. */
INLINE void walk(unsigned element_log2, bool differential, bool is_paeth, unsigned x,
                 unsigned count, vec *v, struct wave *w)
{
    for (unsigned i = 0; i < count; i++) {
        const vec top = w->above[x + i];
        vec r = v[i];
        if (differential)
            w->carry = r = plus(element_log2, r, w->carry);
        if (is_paeth) {
            const vec up = minus(element_log2, top, w->corner);
            r = plus(element_log2, r,
                     paeth(element_log2, w->left, top, w->corner, up, size_of(element_log2, up)));
        } else {
            r = plus(element_log2, plus(element_log2, r, top),
                     half(element_log2, minus(element_log2, w->left, top)));
        }
        w->corner = top;
        w->left = w->above[x + i] = v[i] = r;
    }
}

INLINE void restore_wave(unsigned element_log2, bool differential, bool is_paeth,
                         const uint8_t *const *residuals, uint8_t *const *out, size_t stride,
                         unsigned count)
{
    const unsigned size = 16u >> element_log2;
    for (unsigned i = 0; i < count; i += size * RESTORE_PARTS) {
        struct wave w;
        w.carry = zero();
        for (unsigned x = 0; x < SIDE; x++)
            w.above[x] = zero();
        for (unsigned y = 0; y < SIDE; y++) {
            w.left = w.corner = zero();
            for (unsigned x = 0; x < SIDE; x += size) {
                vec v[16];
                for (unsigned k = 0; k < size; k++)
                    v[k] = load_parts(residuals + i + k * RESTORE_PARTS, (size_t)(SIDE * y + x)
                                                                             << element_log2);
                transpose(element_log2, v);
                walk(element_log2, differential, is_paeth, x, size, v, &w);
                transpose(element_log2, v);
                for (unsigned k = 0; k < size && i + k * RESTORE_PARTS < count; k++)
                    store_parts(out + i + k * RESTORE_PARTS,
                                y * stride + ((size_t)x << element_log2), v[k]);
            }
        }
    }
}

/* The transform's inverse of four. */
INLINE void four(unsigned element_log2, vec *c0, vec *c1, vec *c2, vec *c3)
{
    const vec m = minus(element_log2, *c0, half(element_log2, *c1)), n = plus(element_log2, m, *c1);
    const vec a = minus(element_log2, *c2, half(element_log2, *c3)), b = plus(element_log2, a, *c3);
    *c0 = minus(element_log2, m, half(element_log2, a));
    *c1 = plus(element_log2, *c0, a);
    *c2 = minus(element_log2, n, half(element_log2, b));
    *c3 = plus(element_log2, *c2, b);
}

/* 4 x 4 elements of 16 bits in two registers, rows 0 and 1, and 2 and 3. */
INLINE struct row transpose_square(struct row r)
{
    const vec even = zip_low(1, r.part[0], r.part[1]), odd = zip_high(1, r.part[0], r.part[1]);
    return (struct row){{zip_low(1, even, odd), zip_high(1, even, odd)}};
}

INLINE struct row columns_of_means(unsigned element_log2, struct row r)
{
    vec c0, c1, c2, c3;
    if (element_log2 == 0) {
        c0 = SPREAD32(r.part[0], 0);
        c1 = SPREAD32(r.part[0], 1);
        c2 = SPREAD32(r.part[0], 2);
        c3 = SPREAD32(r.part[0], 3);
        four(0, &c0, &c1, &c2, &c3);
        r.part[0] = zip_low(3, zip_low(2, c0, c1), zip_low(2, c2, c3));
    } else {
        c0 = zip_low(3, r.part[0], r.part[0]);
        c1 = zip_high(3, r.part[0], r.part[0]);
        c2 = zip_low(3, r.part[1], r.part[1]);
        c3 = zip_high(3, r.part[1], r.part[1]);
        four(1, &c0, &c1, &c2, &c3);
        r.part[0] = zip_low(3, c0, c1);
        r.part[1] = zip_low(3, c2, c3);
    }
    return r;
}

INLINE struct row transpose_means(unsigned element_log2, struct row r)
{
    if (element_log2)
        return transpose_square(r);
    r.part[0] = transpose_bytes(r.part[0]);
    return r;
}

INLINE struct row restore_means(unsigned element_log2, struct row r)
{
    r = transpose_means(element_log2, columns_of_means(element_log2, r));
    return transpose_means(element_log2, columns_of_means(element_log2, r));
}

/* One element of each of 16 sub-blocks (8 of them in a register) become rows of the block. */
INLINE void store_sub_blocks(unsigned element_log2, uint8_t *const *to, unsigned y,
                             unsigned half_number, const vec *x, size_t stride)
{
    const vec low01 = zip_low(element_log2, x[0], x[1]), low23 = zip_low(element_log2, x[2], x[3]);
    const vec high01 = zip_high(element_log2, x[0], x[1]),
              high23 = zip_high(element_log2, x[2], x[3]);
    const vec r0 = zip_low(element_log2 + 1, low01, low23),
              r1 = zip_high(element_log2 + 1, low01, low23);
    const vec r2 = zip_low(element_log2 + 1, high01, high23),
              r3 = zip_high(element_log2 + 1, high01, high23);
    if (element_log2 == 0) {
        store_parts(to, y * stride, r0);
        store_parts(to, (4 + y) * stride, r1);
        store_parts(to, (8 + y) * stride, r2);
        store_parts(to, (12 + y) * stride, r3);
    } else {
        const size_t at = (8 * half_number + y) * stride;
        store_parts(to, at, r0);
        store_parts(to, at + 16, r1);
        store_parts(to, at + 4 * stride, r2);
        store_parts(to, at + 4 * stride + 16, r3);
    }
}

INLINE void restore_wht(unsigned element_log2, const uint8_t *const *residuals, uint8_t *const *out,
                        size_t stride, unsigned count)
{
    static const uint8_t order[16] = {
        8, 0, 1, 9,  2,  3,  4,  10,
        5, 6, 7, 11, 12, 13, 14, 15}; /* the band at row v, column u: [4 * v + u] */
    for (unsigned i = 0; i < count; i += RESTORE_PARTS) {
        const struct row means =
            restore_means(element_log2, load_row(element_log2, residuals + i, order[0]));
        for (unsigned k = 0; k <= element_log2; k++) {
            vec c[16];
            c[0] = means.part[k];
            for (unsigned j = 1; j < 16; j++)
                c[j] = load_parts(residuals + i,
                                  ((size_t)SIDE * order[j] << element_log2) + (size_t)16 * k);
            for (unsigned u = 0; u < 4; u++)
                four(element_log2, &c[u], &c[4 + u], &c[8 + u], &c[12 + u]);
            for (unsigned y = 0; y < 4; y++) {
                four(element_log2, &c[4 * y], &c[4 * y + 1], &c[4 * y + 2], &c[4 * y + 3]);
                store_sub_blocks(element_log2, out + i, y, k, &c[4 * y], stride);
            }
        }
    }
}

#define RESTORE_SUMS(rows, columns) \
    do { \
        if (mode & WCODEC_MODE_DIFFERENTIAL) \
            restore_sums(element_log2, true, rows, columns, residuals, out, stride, count); \
        else \
            restore_sums(element_log2, false, rows, columns, residuals, out, stride, count); \
    } while (0)
#define RESTORE_WAVE(is_paeth) \
    do { \
        if (mode & WCODEC_MODE_DIFFERENTIAL) \
            restore_wave(element_log2, true, is_paeth, residuals, out, stride, count); \
        else \
            restore_wave(element_log2, false, is_paeth, residuals, out, stride, count); \
    } while (0)

INLINE void restore(unsigned element_log2, unsigned mode, const uint8_t *const *residuals,
                    uint8_t *const *out, size_t stride, unsigned count)
{
    switch (mode % WCODEC_MODE_DIFFERENTIAL) {
    case WCODEC_PREDICTOR_NONE:
        RESTORE_SUMS(false, false);
        break;
    case WCODEC_PREDICTOR_LEFT:
        RESTORE_SUMS(true, false);
        break;
    case WCODEC_PREDICTOR_TOP:
        RESTORE_SUMS(false, true);
        break;
    case WCODEC_PREDICTOR_PLANAR:
        RESTORE_SUMS(true, true);
        break;
    case WCODEC_PREDICTOR_AVERAGE:
        RESTORE_WAVE(false);
        break;
    case WCODEC_PREDICTOR_PAETH:
        RESTORE_WAVE(true);
        break;
    default:
        restore_wht(element_log2, residuals, out, stride, count);
    }
}

static void restore_8(unsigned mode, const uint8_t *const *residuals, uint8_t *const *out,
                      size_t stride, unsigned count)
{
    restore(0, mode, residuals, out, stride, count);
}

static void restore_16(unsigned mode, const uint8_t *const *residuals, uint8_t *const *out,
                       size_t stride, unsigned count)
{
    restore(1, mode, residuals, out, stride, count);
}

#endif
