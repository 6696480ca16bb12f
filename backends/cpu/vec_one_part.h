/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Where a register has 16 bytes it is one part: what wider ones have to order is in order. */
#ifndef WCODEC_CPU_VEC_ONE_PART_H
#define WCODEC_CPU_VEC_ONE_PART_H

typedef vec part;

/* The same 16 bytes in every part. */
INLINE vec repeat(const void *p)
{
    return load(p);
}

INLINE part part_of(vec v, unsigned i)
{
    (void)i;
    return v;
}

/* Part i of a register is at from[i] + at. */
INLINE vec load_parts(const uint8_t *const *from, size_t at)
{
    return load(from[0] + at);
}

INLINE void store_parts(uint8_t *const *to, size_t at, vec v)
{
    store(to[0] + at, v);
}

/* The parts of a and b by turns: from their first on, and from the middle on. */
INLINE vec zip_parts_low(vec a, vec b)
{
    (void)b;
    return a;
}

INLINE vec zip_parts_high(vec a, vec b)
{
    (void)a;
    return b;
}

/* The words at p dealt to the parts in turn; and the even and the odd ones of them. */
INLINE vec load_words(const uint8_t *p)
{
    return load(p);
}

INLINE void load_pairs(const uint8_t *p, vec *even, vec *odd)
{
    const vec a = load(p), b = load(p + VEC_BYTES);
    *even = even_words(a, b);
    *odd = odd_words(a, b);
}

/* The order of what one instruction packed from two registers, or two instructions from four. */
INLINE vec in_order(vec packed)
{
    return packed;
}

INLINE vec in_order_twice(vec packed)
{
    return packed;
}

#endif
