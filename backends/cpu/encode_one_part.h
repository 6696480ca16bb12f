/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What encode_vectors.h wants of registers of 16 bytes, eight words being two of them. */
#ifndef WCODEC_CPU_ENCODE_ONE_PART_H
#define WCODEC_CPU_ENCODE_ONE_PART_H

enum { EIGHT = 2 };

INLINE void load_entries(const uint32_t *entries, const uint8_t *symbols, unsigned stride,
                         vec e[EIGHT])
{
    uint32_t eight[8];
    for (unsigned i = 0; i < 8; i++)
        eight[i] = entries[symbols[i * stride]];
    e[0] = load(eight);
    e[1] = load(eight + 4);
}

INLINE part low_halves(const vec v[EIGHT])
{
    return even_halves(v[0], v[1]);
}

INLINE unsigned mask_words(const vec v[EIGHT])
{
    return mask16(low_halves(v));
}

#endif
