/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The way into a matrix at a fixed rate: first what a plan needs, then tiles. */

#include "coding/fixed.h"

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

/* FOREIGN has no relative element. */
enum kind { INDEXED, SHORT, LONG, FOREIGN };

/* What the upper seven bits of its exponent are to be xored with. */
static inline unsigned flip_of(uint16_t r, unsigned bits)
{
    const unsigned upper = r >> 8 & 127;
    return ((upper >> bits) ^ (wcodec_fixed_base(bits) >> bits)) << bits;
}

/* Relative exponents [first, end) are of normal numbers as far as exponents are. */
static void set_kind(uint8_t kinds[EXPONENTS], int shift, int first, int end, enum kind kind)
{
    const int from = first + shift < 1 ? 1 : first + shift,
              to = end + shift > 255 ? 255 : end + shift;
    if (from < to)
        memset(kinds + from, (int)kind, (size_t)(to - from));
}

static void init_row(struct wcodec_fixed_band *band, unsigned row, int shift)
{
    const int window = 2 << band->bits, top = 128;
    uint8_t *kinds = band->kinds[row], *relative = band->relative[row];
    memset(kinds, FOREIGN, EXPONENTS);
    for (unsigned e = 0; e < EXPONENTS; e++)
        relative[e] = (uint8_t)((int)e - shift);
    band->subnormal[row] = shift == 0 ? LONG : FOREIGN;
    if (shift == WCODEC_FIXED_ZERO_ROW) { /* zeros, by the index 0 */
        kinds[0] = INDEXED;
        band->least[row] = 0x8000;
        relative[0] = (uint8_t)(top - window);
        return;
    }
    kinds[0] = kinds[255] = LONG;
    band->least[row] = (uint16_t)((top - window + shift) << 7);
    relative[0] = 0;
    relative[255] = 255;
    set_kind(kinds, shift, 1, 255, LONG);
    set_kind(kinds, shift, top - 2 * window, top + window, SHORT);
    set_kind(kinds, shift, top - window, top, INDEXED);
}

void wcodec_fixed_band_init(struct wcodec_fixed_band *band, unsigned bits, const uint8_t *shifts)
{
    band->bits = bits;
    for (unsigned row = 0; row < WCODEC_FIXED_ROWS; row++)
        init_row(band, row, (int8_t)shifts[row]);
}

static inline unsigned kind_in(const struct wcodec_fixed_band *band, unsigned row, unsigned element)
{
    const unsigned exponent = element >> 7 & 255;
    return WCODEC_UNLIKELY(exponent == 0 && (element & 0x7F) != 0) ? band->subnormal[row]
                                                                   : band->kinds[row][exponent];
}

/* Do four neighbours have indices? Then *above is, in 16 bits for each, bit 15, their index (from
 * bit 8 on), and the lower byte of the relative element. */
static inline bool have_indices(const struct wcodec_fixed_band *band, unsigned row, uint64_t four,
                                uint64_t *above)
{
    const uint64_t each = 0x0001000100010001, top = 0x8000 * each;
    *above = (four | top) - band->least[row] * each;
    return (*above & (top | (0x7F00 & ~((0x100u << band->bits) - 1)) * each)) == top;
}

/* Counts of a row in fields of 16 bits. */
static uint64_t count_row(const struct wcodec_fixed_band *band, unsigned row,
                          const uint8_t *elements, unsigned columns)
{
    static const uint64_t fields[4] = {0, 1, 1 << 16, (uint64_t)1 << 32};
    uint64_t counts = 0;
    uint64_t above;
    for (unsigned i = 0; i < columns; i += 4) {
        const unsigned end = columns - i < 4 ? columns : i + 4;
        if (end == i + 4 &&
            have_indices(band, row, wcodec_load_u64(elements + 2 * (size_t)i), &above))
            continue;
        for (unsigned k = i; k < end; k++)
            counts += fields[kind_in(band, row, wcodec_load_u16(elements + 2 * (size_t)k))];
    }
    return counts;
}

struct wcodec_fixed_counts wcodec_fixed_count(const struct wcodec_fixed_band *band,
                                              const uint8_t *elements, size_t stride, unsigned rows,
                                              unsigned columns)
{
    uint64_t counts = 0;
    for (unsigned row = 0; row < rows; row++)
        counts += count_row(band, row, elements + row * stride, columns);
    return (struct wcodec_fixed_counts){(uint16_t)counts, (uint16_t)(counts >> 16),
                                        (uint16_t)(counts >> 32), 0};
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

/* What lists of each size would leave over. */
struct left_over {
    uint64_t elements[WCODEC_FIXED_LIST_MAX + 1], tiles[WCODEC_FIXED_LIST_MAX + 1];
};

static void leave(struct left_over *l, struct wcodec_fixed_counts counts, uint64_t tiles)
{
    for (unsigned list = 1; list <= WCODEC_FIXED_LIST_MAX; list++) {
        const uint32_t n = wcodec_fixed_spilled(counts, list);
        if (n == 0)
            break; /* nor in a larger one */
        l->elements[list] += n * tiles;
        l->tiles[list] += tiles;
    }
}

unsigned wcodec_fixed_choose_list(const struct wcodec_fixed_counts *counts, uint64_t tiles,
                                  uint64_t *spilled, uint64_t *cost)
{
    uint64_t shorts[TILE + 1] = {0}; /* most tiles have short outliers only */
    struct left_over left = {{0}, {0}};
    unsigned best = 0;
    for (uint64_t i = 0; i < tiles; i++)
        if (counts[i].long_count == 0 && counts[i].foreign == 0 && counts[i].short_count <= TILE)
            shorts[counts[i].short_count]++;
        else
            leave(&left, counts[i], 1);
    for (unsigned n = 0; n <= TILE; n++)
        if (shorts[n] != 0)
            leave(&left, (struct wcodec_fixed_counts){.short_count = (uint16_t)n}, shorts[n]);
    for (unsigned list = 1; list <= WCODEC_FIXED_LIST_MAX; list++) {
        const uint64_t bytes = tiles * list * WCODEC_FIXED_LIST_UNIT + 4 * left.elements[list] +
                               SPILL_COST * left.tiles[list];
        if (best != 0 && bytes >= *cost)
            continue;
        best = list;
        *spilled = left.elements[list];
        *cost = bytes;
    }
    return best;
}

static void or_bit(uint8_t *words, unsigned bit, unsigned value)
{
    words[bit / 8] |= (uint8_t)(value << bit % 8);
}

/* Indices and signs of a quad, each in four bits, go to the words of its lane's half. */
static inline void put_selectors(unsigned bits, uint32_t *words, unsigned u, uint32_t indices,
                                 uint32_t signs)
{
    const unsigned high = u % 2 * 16;
    if (bits == 3) {
        words[u / 2] |= indices << high;
        for (unsigned i = 0; i < 4; i++)
            words[u / 2] |= (signs >> 4 * i & 1) << (8 * i + (u % 2 ? 3 : 7));
    } else if (u < 6) {
        words[u / 2] |= (indices | signs << 2) << high;
    } else {
        for (unsigned k = 0; k < 3; k++)
            words[k] |= ((indices | signs << 2) >> k & 0x1111) << (3 + high);
    }
}

static void store_words(unsigned bits, uint32_t words[32][8], uint8_t *record)
{
    for (unsigned lane = 0; lane < 32; lane++) {
        uint8_t *first = record + WCODEC_FIXED_INDEX_AT + 16 * (size_t)lane,
                *other = record + WCODEC_FIXED_INDEX_AT + 512 + 8 * (size_t)(bits - 1) * lane;
        for (unsigned k = 0; k < 4; k++)
            wcodec_store_u32(first + 4 * (size_t)k, words[lane][k]);
        for (unsigned k = 4; k < 2 * (bits + 1); k++)
            wcodec_store_u32(other + 4 * (size_t)(k - 4), words[lane][k]);
    }
}

/* A list that is being filled. */
struct filling {
    struct kept kept;
    unsigned shorts, longs;
    uint8_t *list;
    uint8_t *long_end;
    uint8_t *spilled;
    uint32_t spilled_count, spilled_most;
};

/* There is space for what was counted, and for no more if the elements have changed since. */
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
    } else if (f->spilled_count < f->spilled_most) {
        wcodec_store_u32(f->spilled + 4 * (size_t)f->spilled_count++,
                         position | (uint32_t)element << 16);
    }
}

/* What a tile is coded from and to. */
struct tile {
    const struct wcodec_fixed_band *band;
    const uint8_t *elements;
    size_t stride;
    unsigned rows, columns;
    uint8_t *record;
    struct filling list;
};

/* Four numbers that stand 16 bits apart, of at most four bits, in nibbles. */
static inline uint32_t in_nibbles(uint64_t four)
{
    return (uint32_t)(four | four >> 12 | four >> 24 | four >> 36) & 0xFFFF;
}

/* A quad whose elements all have indices. */
static inline void code_indexed(struct tile *t, unsigned position, unsigned u, uint64_t four,
                                uint64_t above, uint32_t *words)
{
    const uint64_t each = 0x0001000100010001, low = above & 0xFF * each,
                   pairs = (low | low >> 8) & 0x0000FFFF0000FFFF;
    wcodec_store_u32(t->record + position, (uint32_t)(pairs | pairs >> 16));
    put_selectors(t->band->bits, words, u, in_nibbles(above >> 8 & 7 * each),
                  in_nibbles(four >> 15 & each));
}

/* The quad at a position: its lower bytes, its outliers, and its selectors to `words`. */
static inline void code_quad(struct tile *t, unsigned position, uint32_t *words)
{
    const unsigned bits = t->band->bits, row = wcodec_fixed_row(position),
                   column = wcodec_fixed_column(position);
    const uint8_t *from = t->elements + row * t->stride + 2 * (size_t)column;
    const unsigned u = position / 512 % 2 * 4 + position / 4 % 4;
    uint32_t indices = 0, signs = 0;
    uint64_t above;
    if (column + 4 <= t->columns && have_indices(t->band, row, wcodec_load_u64(from), &above)) {
        code_indexed(t, position, u, wcodec_load_u64(from), above, words);
        return;
    }
    for (unsigned i = 0; i < 4 && column + i < t->columns; i++) {
        const uint16_t element = wcodec_load_u16(from + 2 * (size_t)i);
        const unsigned kind = kind_in(t->band, row, element);
        const uint16_t r =
            (uint16_t)((element & 0x807F) | t->band->relative[row][element >> 7 & 255] << 7);
        if (kind != INDEXED)
            put_outlier(&t->list, bits, position + i, (enum kind)kind, flip_of(r, bits), element);
        if (kind == FOREIGN)
            continue;
        t->record[position + i] = (uint8_t)r;
        indices |= (uint32_t)((r >> 8 & 127) % (1u << bits)) << 4 * i;
        signs |= (uint32_t)(r >> 15) << 4 * i;
    }
    put_selectors(bits, words, u, indices, signs);
}

uint32_t wcodec_fixed_tile_encode(const struct wcodec_fixed *fixed,
                                  const struct wcodec_fixed_band *band, const uint8_t *elements,
                                  size_t stride, unsigned rows, unsigned columns,
                                  struct wcodec_fixed_counts counts, uint64_t first,
                                  uint8_t *record, uint8_t *spilled)
{
    const unsigned bits = fixed->bits;
    const uint32_t size = wcodec_fixed_list_size(fixed);
    uint32_t words[32][8] = {{0}};
    struct tile t = {.band = band,
                     .elements = elements,
                     .stride = stride,
                     .rows = rows,
                     .columns = columns,
                     .record = record,
                     .list = {.kept = keep(counts, fixed->list),
                              .spilled = spilled,
                              .spilled_most = wcodec_fixed_spilled(counts, fixed->list)}};
    struct filling *f = &t.list;
    memset(record, 0, fixed->record_size);
    f->list = record + wcodec_fixed_list_begin(fixed);
    f->long_end = f->list + size - (f->kept.spills ? 8 : 0);
    for (unsigned position = 0; position < TILE; position += 4)
        if (wcodec_fixed_row(position) < rows && wcodec_fixed_column(position) < columns)
            code_quad(&t, position, words[position / 16 % 32] + position / 1024 * (bits + 1));
    store_words(bits, words, record);
    f->list[0] = (uint8_t)f->kept.shorts;
    f->list[1] = (uint8_t)(f->kept.longs | (f->kept.spills ? 128 : 0));
    memset(spilled + 4 * (size_t)f->spilled_count, 0,
           4 * (size_t)(f->spilled_most - f->spilled_count));
    if (f->kept.spills) {
        wcodec_store_u32(f->list + size - 8, (uint32_t)first);
        wcodec_store_u32(f->list + size - 4, f->spilled_most);
    }
    return f->spilled_most;
}
