/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The third stage, over what a level gives before it includes this:
 *
 *   VEC_BYTES, and store_stream(p, v), load(p) if it has VEC_STREAM
 *   struct keys, make_keys(element_log2, number)  keys of a register's words, the first being word
 *                                                 `number` of its lane (they repeat every
 *                                                 2^element_log2 words)
 *   struct column, empty_column()                 sums of products, one register of a group over
 *                                                 several groups
 *   add_words(column, p, keys)                    adds the products of the register at p
 *   put_column(element_log2, r, column, sums)     adds them to the lanes' sums: word w of register
 *                                                 r is lane (r * words + w) / 2^element_log2's */
#ifndef WCODEC_CPU_FINISH_H
#define WCODEC_CPU_FINISH_H

#include "backends/cpu/decode.h"
#include "coding/check_mix.h"

/* Products summed by registers of a group: their words are the same lanes' in all groups.
 * element_log2, and mostly groups, are constants where this is inlined. */
INLINE void add_sums(unsigned element_log2, const uint8_t *elements, unsigned groups,
                     uint32_t first, uint64_t sums[WCODEC_LANES])
{
    enum { WORDS = VEC_BYTES / 4 };
    const unsigned own = 1u << element_log2, registers = WCODEC_LANES * own / WORDS,
                   sets = own > WORDS ? own / WORDS : 1;
    struct keys keys[8 / WORDS + 1][WCODEC_CPU_CHUNK_GROUPS];
    for (unsigned g = 0; g < groups; g++)
        for (unsigned s = 0; s < sets; s++)
            keys[s][g] = make_keys(element_log2, (first + g) * own + s * WORDS);
    for (unsigned r = 0; r < registers; r++, elements += VEC_BYTES) {
        struct column column = empty_column();
        for (unsigned g = 0; g < groups; g++)
            add_words(&column, elements + (size_t)g * registers * VEC_BYTES, &keys[r % sets][g]);
        put_column(element_log2, r, column, sums);
    }
}

#include "backends/cpu/choose_sums.h"

static void finish_plain(unsigned element_log2, const uint8_t *elements, unsigned groups,
                         uint32_t first, uint8_t *out, uint64_t sums[WCODEC_LANES])
{
    if (out)
        memcpy(out, elements, (size_t)groups * WCODEC_GROUP << element_log2);
    if (sums)
        choose_sums(element_log2, elements, groups, first, sums);
}

static uint32_t finish_check(const uint64_t sums[WCODEC_LANES])
{
    return wcodec_check_mix(sums);
}

#ifdef VEC_STREAM
static void finish_stream(unsigned element_log2, const uint8_t *elements, unsigned groups,
                          uint32_t first, uint8_t *out, uint64_t sums[WCODEC_LANES])
{
    const size_t bytes = (size_t)groups * WCODEC_GROUP << element_log2;
    for (size_t at = 0; out && at < bytes; at += VEC_BYTES)
        store_stream(out + at, load(elements + at));
    if (sums)
        choose_sums(element_log2, elements, groups, first, sums);
}
#endif

#endif
