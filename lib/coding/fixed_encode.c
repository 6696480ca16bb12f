/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The way into a matrix at a fixed rate: first what a plan needs, then tiles. */

#include "coding/fixed.h"

#include "core/assert.h"

#include <string.h>

enum { TILE = WCODEC_FIXED_TILE, EXPONENTS = 256 };

/* What a tile that spills costs beside its spilled elements: a device waits for them. */
enum { SPILL_COST = 1024 };

int wcodec_fixed_choose_shift(unsigned bits, const uint32_t exponents[EXPONENTS], uint32_t zeros,
                              uint32_t *within)
{
    const unsigned window = 2u << bits;
    uint32_t inside = 0, best = 0;
    unsigned top = WCODEC_FIXED_SHIFT_MAX;
    for (unsigned e = 1; e < window; e++)
        inside += exponents[e];
    for (unsigned t = window; t < 255; t++) {
        inside += exponents[t] - (t > window ? exponents[t - window] : 0);
        if (inside != 0 && inside >= best) {
            best = inside;
            top = t;
        }
    }
    *within = best;
    if (best == 0 && exponents[255] == 0 && exponents[0] == zeros) {
        *within = zeros;
        return WCODEC_FIXED_ZERO_ROW;
    }
    return (int)top - WCODEC_FIXED_SHIFT_MAX;
}

/* The relative element; false: there is none. */
static inline bool relative(uint16_t element, int shift, unsigned bits, uint16_t *r)
{
    const int exponent = element >> 7 & 255;
    const bool zero = (element & 0x7FFF) == 0;
    if (shift == WCODEC_FIXED_ZERO_ROW) {
        *r = (uint16_t)(element | wcodec_fixed_base(bits) << 8);
        return zero;
    }
    *r = element;
    if (zero || exponent == 255)
        return true;
    if (exponent == 0)
        return shift == 0;
    *r = (uint16_t)(element - 128 * shift);
    return exponent - shift >= 1 && exponent - shift <= 254;
}

/* What the upper seven bits of its exponent are to be xored with. */
static inline unsigned flip_of(uint16_t r, unsigned bits)
{
    const unsigned upper = r >> 8 & 127;
    return ((upper >> bits) ^ (wcodec_fixed_base(bits) >> bits)) << bits;
}

/* FOREIGN has no relative element. */
enum kind { INDEXED, SHORT, LONG, FOREIGN };

static inline enum kind kind_of(uint16_t element, int shift, unsigned bits, uint16_t *r)
{
    if (!relative(element, shift, bits, r))
        return FOREIGN;
    const unsigned flip = flip_of(*r, bits);
    if (flip == 0)
        return INDEXED;
    return flip == wcodec_fixed_kind(bits, 0) || flip == wcodec_fixed_kind(bits, 1) ? SHORT : LONG;
}

/* The kinds of a row's elements by their exponents; of exponent 0 by what the others are. */
static void list_kinds(int shift, unsigned bits, uint8_t kinds[EXPONENTS])
{
    uint16_t r;
    for (unsigned e = 0; e < EXPONENTS; e++)
        kinds[e] = (uint8_t)kind_of((uint16_t)(e << 7), shift, bits, &r);
}

struct wcodec_fixed_counts wcodec_fixed_count(unsigned bits, const uint8_t *elements, size_t stride,
                                              unsigned rows, unsigned columns,
                                              const uint8_t *shifts)
{
    uint32_t counts[4] = {0};
    for (unsigned row = 0; row < rows; row++) {
        const int shift = (int8_t)shifts[row];
        uint8_t kinds[EXPONENTS];
        list_kinds(shift, bits, kinds);
        for (unsigned column = 0; column < columns; column++) {
            const uint16_t element = wcodec_load_u16(elements + row * stride + 2 * (size_t)column);
            const bool subnormal = (element & 0x7F80) == 0 && (element & 0x7F) != 0;
            counts[subnormal && shift != 0 ? FOREIGN : kinds[element >> 7 & 255]]++;
        }
    }
    return (struct wcodec_fixed_counts){(uint16_t)counts[SHORT], (uint16_t)counts[LONG],
                                        (uint16_t)counts[FOREIGN]};
}

/* How many of a tile's outliers its list has. */
struct kept {
    uint32_t shorts, longs;
    bool spills;
};

static uint32_t list_bytes(uint32_t shorts, uint32_t longs)
{
    return 2 + shorts + (shorts + 1) / 2 + 2 * longs;
}

static struct kept keep(struct wcodec_fixed_counts counts, unsigned list)
{
    const uint32_t size = WCODEC_FIXED_LIST_UNIT * list, left = size - 8;
    struct kept k = {counts.short_count, counts.long_count, false};
    if (counts.foreign == 0 && list_bytes(k.shorts, k.longs) <= size)
        return k;
    k.spills = true;
    const uint32_t shorts = (left - 2) * 2 / 3;
    k.shorts = k.shorts < shorts ? k.shorts : shorts;
    const uint32_t longs = (left - list_bytes(k.shorts, 0)) / 2;
    k.longs = k.longs < longs ? k.longs : longs;
    return k;
}

uint32_t wcodec_fixed_spilled(struct wcodec_fixed_counts counts, unsigned list)
{
    const struct kept k = keep(counts, list);
    return counts.foreign + (counts.short_count - k.shorts) + (counts.long_count - k.longs);
}

unsigned wcodec_fixed_choose_list(const struct wcodec_fixed_counts *counts, uint64_t tiles,
                                  uint64_t *spilled, uint64_t *cost)
{
    unsigned best = 0;
    for (unsigned list = 1; list <= WCODEC_FIXED_LIST_MAX; list++) {
        uint64_t elements = 0, spilling = 0;
        for (uint64_t i = 0; i < tiles; i++) {
            const uint32_t n = wcodec_fixed_spilled(counts[i], list);
            elements += n;
            spilling += n != 0;
        }
        const uint64_t bytes =
            tiles * list * WCODEC_FIXED_LIST_UNIT + 4 * elements + SPILL_COST * spilling;
        if (best != 0 && bytes >= *cost)
            continue;
        best = list;
        *spilled = elements;
        *cost = bytes;
    }
    return best;
}

static void or_bit(uint8_t *words, unsigned bit, unsigned value)
{
    words[bit / 8] |= (uint8_t)(value << bit % 8);
}

/* Index and sign of an element go to its lane's words. */
static void put_selector(unsigned bits, uint8_t *record, unsigned position, unsigned index,
                         unsigned sign)
{
    const unsigned lane = position / 16 % 32, quad = position / 512 * 4 + position / 4 % 4,
                   i = position % 4, u = quad % 8, half = quad / 8 * (bits + 1),
                   nibble = 4 * (u % 2 * 4 + i);
    uint8_t *words[WCODEC_FIXED_BITS_MAX + 1];
    for (unsigned k = 0; k <= bits; k++)
        words[k] = half + k < 4
                       ? record + WCODEC_FIXED_INDEX_AT + 16 * lane + 4 * (size_t)(half + k)
                       : record + WCODEC_FIXED_INDEX_AT + 512 + 8 * (bits - 1) * lane +
                             4 * (size_t)(half + k - 4);
    if (bits == 3) {
        or_bit(words[u / 2], nibble, index);
        or_bit(words[u / 2], 8 * i + (u % 2 ? 3 : 7), sign);
    } else if (u < 6) {
        or_bit(words[u / 2], nibble, index | sign << 2);
    } else {
        for (unsigned k = 0; k < 3; k++)
            or_bit(words[k], nibble + 3, (index | sign << 2) >> k & 1);
    }
}

/* A list that is being filled. */
struct filling {
    struct kept kept;
    unsigned shorts, longs;
    uint8_t *list;
    uint8_t *long_end;
    uint8_t *spilled;
    uint32_t spilled_count;
};

static void put_outlier(struct filling *f, unsigned bits, unsigned position, enum kind kind,
                        unsigned flip, uint16_t element)
{
    if (kind == SHORT && f->shorts < f->kept.shorts) {
        const unsigned i = f->shorts++;
        f->list[2 + i] = (uint8_t)position;
        or_bit(f->list + 2 + f->kept.shorts, 4 * i,
               position >> 8 | (flip != wcodec_fixed_kind(bits, 0) ? 8 : 0));
    } else if (kind == LONG && f->longs < f->kept.longs) {
        wcodec_store_u16(f->long_end - 2 * (size_t)++f->longs,
                         (uint16_t)(position | flip << (11 - 2)));
    } else {
        wcodec_store_u32(f->spilled + 4 * (size_t)f->spilled_count++,
                         position | (uint32_t)element << 16);
    }
}

uint32_t wcodec_fixed_tile_encode(const struct wcodec_fixed *fixed, const uint8_t *elements,
                                  size_t stride, unsigned rows, unsigned columns,
                                  const uint8_t *shifts, uint64_t first, uint8_t *record,
                                  uint8_t *spilled)
{
    const unsigned bits = fixed->bits;
    const uint32_t size = wcodec_fixed_list_size(fixed);
    struct filling f = {.spilled = spilled};
    memset(record, 0, fixed->record_size);
    f.kept = keep(wcodec_fixed_count(bits, elements, stride, rows, columns, shifts), fixed->list);
    f.list = record + wcodec_fixed_list_begin(fixed);
    f.long_end = f.list + size - (f.kept.spills ? 8 : 0);
    for (unsigned position = 0; position < TILE; position++) {
        const unsigned row = wcodec_fixed_row(position), column = wcodec_fixed_column(position);
        uint16_t r;
        if (row >= rows || column >= columns)
            continue;
        const uint16_t element = wcodec_load_u16(elements + row * stride + 2 * (size_t)column);
        const enum kind kind = kind_of(element, (int8_t)shifts[row], bits, &r);
        if (kind != FOREIGN) {
            record[position] = (uint8_t)r;
            put_selector(bits, record, position, (r >> 8 & 127) % (1u << bits), r >> 15);
        }
        if (kind != INDEXED)
            put_outlier(&f, bits, position, kind, flip_of(r, bits), element);
    }
    WCODEC_ASSERT(f.shorts == f.kept.shorts && f.longs == f.kept.longs);
    f.list[0] = (uint8_t)f.kept.shorts;
    f.list[1] = (uint8_t)(f.kept.longs | (f.kept.spills ? 128 : 0));
    if (f.kept.spills) {
        wcodec_store_u32(f.list + size - 8, (uint32_t)first);
        wcodec_store_u32(f.list + size - 4, f.spilled_count);
    }
    return f.spilled_count;
}
