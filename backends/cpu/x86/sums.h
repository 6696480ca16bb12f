/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The check's sums on x86, for finish.h, over the vector operations of any width. */
#ifndef WCODEC_CPU_X86_SUMS_H
#define WCODEC_CPU_X86_SUMS_H

/* Keys and sums of a register's even words and of its odd ones. */
struct keys {
    vec even, odd;
};

struct column {
    vec even, odd;
};

INLINE struct column empty_column(void)
{
    return (struct column){zero(), zero()};
}

INLINE void add_words(struct column *c, const uint8_t *p, const struct keys *keys)
{
    const vec v = load(p);
    c->even = add64(c->even, mul_even32(v, keys->even));
    c->odd = add64(c->odd, mul_even32(SHR64(v, 32), keys->odd));
}

/* Adds to sums in memory. */
INLINE void add_to(uint64_t *sums, vec v)
{
    store(sums, add64(load(sums), v));
}

#endif
