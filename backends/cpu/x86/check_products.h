/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tile check's products of words and keys (doc/format.md 2.6), by registers of any width. */
#ifndef WCODEC_CPU_X86_CHECK_PRODUCTS_H
#define WCODEC_CPU_X86_CHECK_PRODUCTS_H

#include "backends/cpu/decode.h"

INLINE void add_products(uint64_t *to, vec v)
{
    store(to, add64(load(to), v));
}

/* Register i of a group: words of 16-bit elements, of which a lane's two have a key each and stand
 * in one quadword, or words of bytes with one key, whose sums of even ones stand before those of
 * odd ones. */
INLINE void add_to_check(bool halves, vec even, vec odd, unsigned i, vec v, uint64_t *sums)
{
    enum { LANES = VEC_BYTES / 8 };
    const vec upper = SHR64(v, 32);
    if (halves) {
        add_products(sums + LANES * i, add64(mul_even32(v, even), mul_even32(upper, odd)));
    } else {
        add_products(sums + 2 * LANES * i, mul_even32(v, even));
        add_products(sums + 2 * LANES * i + LANES, mul_even32(upper, even));
    }
}

/* Sums of bytes, as they stand, to the lanes'. */
INLINE void add_lanes(const uint64_t from[WCODEC_LANES], uint64_t sums[WCODEC_LANES])
{
    enum { LANES = VEC_BYTES / 4 };
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        sums[lane] += from[lane / LANES * LANES + lane % 2 * (LANES / 2) + lane % LANES / 2];
}

#endif
