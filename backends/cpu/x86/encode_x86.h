/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What encode_vectors.h wants of registers of 16 and 32 bytes on x86. */
#ifndef WCODEC_CPU_X86_ENCODE_X86_H
#define WCODEC_CPU_X86_ENCODE_X86_H

struct lookup {
    vec low, high;
};

INLINE struct lookup load_lookup(const uint8_t *p)
{
    return (struct lookup){repeat(p), repeat(p + 16)};
}

/* The fifth bit chooses, in each byte's top. */
INLINE vec look_up(const struct lookup *l, vec v)
{
    const vec index = bit_and(v, set8(15));
    return blend(shl16(v, 3), shuffle(l->high, index), shuffle(l->low, index));
}

INLINE vec even_halves(vec a, vec b)
{
    return in_order(pack32(bit_and(a, set32(0xffff)), bit_and(b, set32(0xffff))));
}

INLINE vec odd_halves(vec a, vec b)
{
    return in_order(pack32(SHR32(a, 16), SHR32(b, 16)));
}

INLINE vec pair_nibbles(vec a, vec b)
{
    return pack16(dot8(a, set16(0x1001)), dot8(b, set16(0x1001)));
}

#endif
