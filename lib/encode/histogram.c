/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/histogram.h"

#include "core/bytes.h"

/* Four 16-bit elements at once, as many times as there are; returns how many elements that was. */
static size_t extract_fours(const uint8_t *data, size_t elements, unsigned shift, unsigned mask, uint8_t *symbols)
{
    const uint64_t lanes = 0x0001000100010001u * mask;
    size_t i = 0;
    for (; i + 4 <= elements; i += 4) {
        uint64_t x = wcodec_load_u64(data + 2 * i) >> shift & lanes;
        x = (x | x >> 8) & 0x0000ffff0000ffffu;
        wcodec_store_u32(symbols + i, (uint32_t)(x | x >> 16));
    }
    return i;
}

/* One loop a width of the element, so that the compiler sees constant strides. */
void wcodec_extract_field(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add, unsigned shift, unsigned width, uint8_t *symbols)
{
    unsigned mask = (1u << width) - 1;
    switch (element_log2) {
    case 0:
        for (size_t i = 0; i < elements; i++)
            symbols[i] = (uint8_t)((unsigned)(uint8_t)(data[i] + add) >> shift & mask);
        break;
    case 1:
        for (size_t i = add == 0 ? extract_fours(data, elements, shift, mask, symbols) : 0; i < elements; i++)
            symbols[i] = (uint8_t)((unsigned)(uint16_t)(wcodec_load_u16(data + 2 * i) + add) >> shift & mask);
        break;
    case 2:
        for (size_t i = 0; i < elements; i++)
            symbols[i] = (uint8_t)((uint32_t)(wcodec_load_u32(data + 4 * i) + add) >> shift & mask);
        break;
    default:
        for (size_t i = 0; i < elements; i++)
            symbols[i] = (uint8_t)((wcodec_load_u64(data + 8 * i) + add) >> shift & mask);
    }
}

/* Several counters at once: runs of one symbol would otherwise wait for their own last increment. */
static void count_block(const uint8_t *symbols, size_t count, uint32_t h[4][256])
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t s = wcodec_load_u64(symbols + i);
        h[0][s & 0xff]++;
        h[1][s >> 8 & 0xff]++;
        h[2][s >> 16 & 0xff]++;
        h[3][s >> 24 & 0xff]++;
        h[0][s >> 32 & 0xff]++;
        h[1][s >> 40 & 0xff]++;
        h[2][s >> 48 & 0xff]++;
        h[3][s >> 56]++;
    }
    for (; i < count; i++)
        h[0][symbols[i]]++;
}

static void add_counts(uint32_t h[4][256], uint64_t counts[256])
{
    for (unsigned s = 0; s < 256; s++)
        counts[s] += (uint64_t)h[0][s] + h[1][s] + h[2][s] + h[3][s];
}

void wcodec_count_symbols(const uint8_t *symbols, size_t count, uint64_t counts[256])
{
    const size_t part = (size_t)1 << 30;
    while (count) {
        uint32_t h[4][256] = {{0}};
        size_t n = count < part ? count : part;
        count_block(symbols, n, h);
        add_counts(h, counts);
        symbols += n;
        count -= n;
    }
}

void wcodec_count_field(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add, unsigned shift, unsigned width, uint64_t counts[256])
{
    uint8_t symbols[WCODEC_COUNT_BLOCK];
    const size_t part = (size_t)1 << 30;
    while (elements) {
        uint32_t h[4][256] = {{0}};
        size_t left = elements < part ? elements : part;
        elements -= left;
        while (left) {
            size_t n = left < WCODEC_COUNT_BLOCK ? left : WCODEC_COUNT_BLOCK;
            wcodec_extract_field(data, n, element_log2, add, shift, width, symbols);
            count_block(symbols, n, h);
            data += n << element_log2;
            left -= n;
        }
        add_counts(h, counts);
    }
}

void wcodec_count_pairs(const uint8_t *symbols, size_t count, const uint8_t nibble[256], uint64_t counts[256])
{
    uint32_t h[2][256] = {{0}};
    size_t i = 0;
    unsigned held = 0;
    for (; i + 4 <= count; i += 4) {
        h[0][nibble[symbols[i]] | (unsigned)nibble[symbols[i + 1]] << 4]++;
        h[1][nibble[symbols[i + 2]] | (unsigned)nibble[symbols[i + 3]] << 4]++;
        if (++held == UINT32_MAX) {
            for (unsigned s = 0; s < 256; s++) {
                counts[s] += (uint64_t)h[0][s] + h[1][s];
                h[0][s] = h[1][s] = 0;
            }
            held = 0;
        }
    }
    for (; i < count; i += 2)
        h[0][nibble[symbols[i]] | (unsigned)nibble[symbols[i + (i + 1 < count)]] << 4]++;
    for (unsigned s = 0; s < 256; s++)
        counts[s] += (uint64_t)h[0][s] + h[1][s];
}

void wcodec_fold_bits(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t *any, uint64_t *all)
{
    size_t bytes = elements << element_log2, i = 0;
    uint64_t a = 0, b = UINT64_MAX;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t x = wcodec_load_u64(data + i);
        a |= x;
        b &= x;
    }
    /* Fold the elements of a word onto each other. */
    unsigned bits = 8u << element_log2;
    for (unsigned k = 32; k >= bits; k /= 2) {
        a |= a >> k;
        b &= b >> k;
    }
    for (; i < bytes; i += (size_t)1 << element_log2) {
        uint64_t x = wcodec_load_uint(data + i, 1u << element_log2);
        a |= x;
        b &= x;
    }
    uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    *any |= a & mask;
    *all &= b & mask;
}
