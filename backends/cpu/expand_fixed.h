/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles at a fixed rate by vectors, over a width's operations (x86/vec.h): a part of 16 bytes is a
 * lane. A lane's index words, as nibbles in order, stand as the lower bytes of its elements do, so
 * that two zips make elements, and one more the rows r and r + 8. */
#ifndef WCODEC_CPU_EXPAND_FIXED_H
#define WCODEC_CPU_EXPAND_FIXED_H

#include "backends/cpu/fixed.h"

enum { LANES_AT_ONCE = VEC_BYTES / 16, HALF_WORDS = 512 };

/* Upper bytes by nibbles: of two bits and the sign, whatever bit 3 is; of three bits. */
static const uint8_t upper_2[16] = {0x3c, 0x3d, 0x3e, 0x3f, 0xbc, 0xbd, 0xbe, 0xbf,
                                    0x3c, 0x3d, 0x3e, 0x3f, 0xbc, 0xbd, 0xbe, 0xbf};
static const uint8_t upper_3[16] = {0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
                                    0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f};

/* The fourth word of selectors, of bit 3 of the three others' nibbles. */
INLINE vec fourth_word(vec words)
{
    static const uint32_t bits[3][4] = {
        {0x11111111, 0, 0, 0}, {0, 0x22222222, 0, 0}, {0, 0, 0x44444444, 0}};
    static const uint32_t three[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0};
    static const uint8_t up[3][16] = {
        {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0, 1, 2, 3},
        {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 4, 5, 6, 7},
        {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 8, 9, 10, 11}};
    const vec spread = bit_or(bit_or(bit_and(SHR32(words, 3), repeat(bits[0])),
                                     bit_and(SHR32(words, 2), repeat(bits[1]))),
                              bit_and(SHR32(words, 1), repeat(bits[2])));
    const vec fourth =
        bit_or(bit_or(shuffle(spread, repeat(up[0])), shuffle(spread, repeat(up[1]))),
               shuffle(spread, repeat(up[2])));
    return bit_or(bit_and(words, repeat(three)), fourth);
}

/* Upper bytes of the lanes' two times 16 elements in a half. */
INLINE void look_up(unsigned bits, vec words, vec upper[2])
{
    const vec nibble = set8(15), table = repeat(bits == 2 ? upper_2 : upper_3),
              all = bits == 2 ? fourth_word(words) : words, low = bit_and(all, nibble),
              high = bit_and(SHR32(all, 4), nibble);
    upper[0] = shuffle(table, zip_low8(low, high));
    upper[1] = shuffle(table, zip_high8(low, high));
    if (bits == 3) {
        const vec top = set8(128), even = bit_and(all, top), odd = bit_and(SHL32(all, 4), top);
        upper[0] = bit_or(upper[0], zip_low32(even, odd));
        upper[1] = bit_or(upper[1], zip_high32(even, odd));
    }
}

/* Words 3 to 5 of each lane, as its others are: in 16 bytes. */
static void gather_words(const uint8_t *record, uint8_t *words)
{
    const uint8_t *first = record + WCODEC_FIXED_INDEX_AT, *other = first + HALF_WORDS;
    for (unsigned lane = 0; lane < 32; lane++) {
        memcpy(words + 16 * lane, first + 16 * lane + 12, 4);
        memcpy(words + 16 * lane + 4, other + 8 * lane, 8);
        memset(words + 16 * lane + 12, 0, 4);
    }
}

INLINE void expand_half(unsigned bits, unsigned half, const uint8_t *record, const uint8_t *words,
                        const uint16_t *add, const uint16_t *mask, uint8_t *out, size_t stride)
{
    for (unsigned lane = 0; lane < 32; lane += LANES_AT_ONCE) {
        const unsigned row = lane / 4;
        uint8_t *to = out + row * stride + 16 * (size_t)(lane % 4);
        vec upper[2];
        look_up(bits, load(words + 16 * lane), upper);
        for (unsigned i = 0; i < 2; i++) {
            const unsigned quarter = 2 * half + i;
            const vec lower = load(record + 512 * quarter + 16 * lane),
                      left = zip_low8(lower, upper[i]), right = zip_high8(lower, upper[i]),
                      first = add16(zip_low64(left, right), set16(add[row])),
                      second = add16(zip_high64(left, right), set16(add[row + 8]));
            store(to + 64 * quarter, bit_and(first, set16(mask[row])));
            store(to + 8 * stride + 64 * quarter, bit_and(second, set16(mask[row + 8])));
        }
    }
}

static void expand_2(const uint8_t *record, const uint16_t *add, const uint16_t *mask, uint8_t *out,
                     size_t stride)
{
    uint8_t words[HALF_WORDS];
    gather_words(record, words);
    expand_half(2, 0, record, record + WCODEC_FIXED_INDEX_AT, add, mask, out, stride);
    expand_half(2, 1, record, words, add, mask, out, stride);
}

static void expand_3(const uint8_t *record, const uint16_t *add, const uint16_t *mask, uint8_t *out,
                     size_t stride)
{
    const uint8_t *words = record + WCODEC_FIXED_INDEX_AT;
    expand_half(3, 0, record, words, add, mask, out, stride);
    expand_half(3, 1, record, words + HALF_WORDS, add, mask, out, stride);
}

#define EXPAND_FUNCTIONS .expand = {expand_2, expand_3}

#endif
