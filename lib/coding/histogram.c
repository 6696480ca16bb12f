/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/histogram.h"

#include "core/bytes.h"

/* Four 16-bit elements at once, as many times as there are; returns how many elements that was. */
static size_t extract_fours(const uint8_t *data, size_t elements, unsigned shift, unsigned mask,
                            uint8_t *symbols)
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
void wcodec_extract_field(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add,
                          unsigned shift, unsigned width, uint8_t *symbols)
{
    unsigned mask = (1u << width) - 1;
    switch (element_log2) {
    case 0:
        for (size_t i = 0; i < elements; i++)
            symbols[i] = (uint8_t)((unsigned)(uint8_t)(data[i] + add) >> shift & mask);
        break;
    case 1:
        for (size_t i = add == 0 ? extract_fours(data, elements, shift, mask, symbols) : 0;
             i < elements; i++)
            symbols[i] =
                (uint8_t)((unsigned)(uint16_t)(wcodec_load_u16(data + 2 * i) + add) >> shift &
                          mask);
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

/* Several counters at once: runs of one symbol would otherwise wait for their own last increment.
 */
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

static void add_counts(const uint32_t h[4][256], uint64_t counts[256])
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
        add_counts((const uint32_t(*)[256])h, counts);
        symbols += n;
        count -= n;
    }
}

void wcodec_counter_begin(struct wcodec_counter *c, const uint64_t counts[256])
{
    uint64_t inside = 0, most, total = 0;
    memset(c, 0, sizeof *c);
    for (unsigned v = 0; v < 256; v++)
        total += counts[v];
    for (unsigned v = 0; v < WCODEC_COUNTER_WINDOW; v++)
        inside += counts[v];
    most = inside;
    for (unsigned base = 1; base <= 256 - WCODEC_COUNTER_WINDOW; base++) {
        inside += counts[base + WCODEC_COUNTER_WINDOW - 1] - counts[base - 1];
        if (inside > most) {
            most = inside;
            c->base = (uint8_t)base;
        }
    }
    c->wide = most < total - total / 16;
}

void wcodec_counter_add(struct wcodec_counter *c, const uint8_t *symbols, size_t count)
{
    const uint64_t each = 0x0101010101010101u, top = 0x80 * each, base = c->base * each;
    size_t i = 0;
    for (; i + 8 <= count && !c->wide; i += 8) {
        const uint64_t s = wcodec_load_u64(symbols + i),
                       v = ((s | top) - (base & ~top)) ^
                           ((s ^ ~base) & top); /* each byte minus the base */
        if (v & 0xe0 * each) {
            count_block(symbols + i, 8, c->single);
            continue;
        }
        const uint64_t pairs = (v & 0x001f001f001f001fu) | (v >> 3 & 0x03e003e003e003e0u);
        c->pairs[0][pairs & 0xffff]++;
        c->pairs[1][pairs >> 16 & 0xffff]++;
        c->pairs[0][pairs >> 32 & 0xffff]++;
        c->pairs[1][pairs >> 48]++;
    }
    count_block(symbols + i, count - i, c->single);
}

void wcodec_counter_end(const struct wcodec_counter *c, uint64_t counts[256])
{
    add_counts(c->single, counts);
    for (unsigned v = 0; v < WCODEC_COUNTER_WINDOW; v++)
        for (unsigned w = 0; w < WCODEC_COUNTER_WINDOW; w++) {
            const uint64_t n = (uint64_t)c->pairs[0][v * WCODEC_COUNTER_WINDOW + w] +
                               c->pairs[1][v * WCODEC_COUNTER_WINDOW + w];
            counts[c->base + v] += n;
            counts[c->base + w] += n;
        }
}

void wcodec_fold_bits(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t *any,
                      uint64_t *all)
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
