/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices at a fixed rate (doc/format.md 6): bf16 in tiles of 16 rows and 128 columns that all
 * have the same number of bytes. What a tile holds follows from a *plan* (bits of an index, shifts
 * of the rows, size of the lists), which follows from counts; both by any device. */
#ifndef WCODEC_CODING_FIXED_H
#define WCODEC_CODING_FIXED_H

#include "coding/codes.h"
#include "core/bytes.h"
#include "core/error.h"
#include <wcodec/base.h>

enum {
    WCODEC_FIXED_FORM = 1,                           /* the only one so far */
    WCODEC_FIXED_ROW_MAX = 1 << 20,                  /* bytes of elements */
    WCODEC_FIXED_TILE_BYTES = 2 * WCODEC_FIXED_TILE, /* decoded */
    WCODEC_FIXED_RECORD_MAX = 2048 + 256 * 4 + 256,
    WCODEC_FIXED_SHIFT_MAX = 127,
    WCODEC_FIXED_CHOICES = WCODEC_FIXED_BITS_MAX - WCODEC_FIXED_BITS_MIN + 1,
    WCODEC_FIXED_MAX_BYTES = 1 + 10 + 1 + 1 + 10 + 10 + 4 /* parameters */
};

struct wcodec_fixed {
    uint64_t columns; /* C */
    uint8_t bits;     /* b */
    uint8_t list;     /* units of 16 bytes */
    uint64_t spilled; /* S */
    uint64_t foreign;
    uint32_t check; /* of the shifts */
    /* Derived by wcodec_fixed_derive(). */
    uint64_t size; /* bytes of the tensor */
    uint64_t rows; /* R */
    uint64_t bands;
    uint64_t across; /* tiles of a band */
    uint64_t tiles;
    uint32_t record_size;
    uint64_t checks_begin, tiles_begin, spilled_begin, payload_size; /* in the payload */
};

/* What follows for a tensor of `size` > 0 bytes. WCODEC_ERROR_CORRUPT if there is no such view. */
wcodec_status wcodec_fixed_derive(struct wcodec_fixed *fixed, uint64_t size, wcodec_error *err);

/* Bytes of the elements of a band that is not the last. */
static inline uint64_t wcodec_fixed_band_size(const struct wcodec_fixed *f)
{
    return f->columns * WCODEC_FIXED_ROWS * 2;
}

/* Elements of a tile that are no padding: of band `band` in height, of column `x` of tiles in
 * width.
 */
static inline unsigned wcodec_fixed_height(const struct wcodec_fixed *f, uint64_t band)
{
    const uint64_t left = f->rows - band * WCODEC_FIXED_ROWS;
    return left < WCODEC_FIXED_ROWS ? (unsigned)left : WCODEC_FIXED_ROWS;
}
static inline unsigned wcodec_fixed_width(const struct wcodec_fixed *f, uint64_t x)
{
    const uint64_t left = f->columns - x * WCODEC_FIXED_COLUMNS;
    return left < WCODEC_FIXED_COLUMNS ? (unsigned)left : WCODEC_FIXED_COLUMNS;
}

/* Where the list begins in a record, and its bytes. */
static inline uint32_t wcodec_fixed_list_begin(const struct wcodec_fixed *f)
{
    return 2048 + 256 * (f->bits + 1u);
}
static inline uint32_t wcodec_fixed_list_size(const struct wcodec_fixed *f)
{
    return WCODEC_FIXED_LIST_UNIT * (uint32_t)f->list;
}

/* Position of the element in row r (below 16) and column c (below 128) of its tile, and back. */
static inline unsigned wcodec_fixed_position(unsigned r, unsigned c)
{
    return c % 4 + r / 8 * 4 + c / 4 % 2 * 8 + c / 8 % 4 * 16 + r % 8 * 64 + c / 32 * 512;
}
static inline unsigned wcodec_fixed_row(unsigned position)
{
    return position / 64 % 8 + position / 4 % 2 * 8;
}
static inline unsigned wcodec_fixed_column(unsigned position)
{
    return position % 4 + position / 8 % 2 * 4 + position / 16 % 4 * 8 + position / 512 * 32;
}

/* The upper seven bits of a relative exponent that index 0 stands for. */
static inline unsigned wcodec_fixed_base(unsigned bits)
{
    return 64 - (1u << bits);
}

/* What kind 0 or 1 of short outliers is xored with. */
static inline unsigned wcodec_fixed_kind(unsigned bits, unsigned kind)
{
    return kind == 0 ? 1u << bits : 128 - (1u << bits);
}

/* The element of an outlier whose relative element is r, in a row with that shift; the same of
 * others, whose exponents are neither 0 nor 255. */
static inline uint16_t wcodec_fixed_shifted(uint16_t r, int shift)
{
    const unsigned exponent = r >> 7 & 255;
    if (shift == WCODEC_FIXED_ZERO_ROW)
        return r & 0x8000;
    return exponent == 0 || exponent == 255 ? r : (uint16_t)(r + 128 * shift);
}

/* Parse the parameters of an index record (all that is left in cursor), for a tensor of `size`
 * bytes. *newer is set, and nothing else, where the form is none that this version knows.
 * WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_fixed_read(struct wcodec_cursor *cursor, uint64_t size, wcodec_dtype dtype,
                                struct wcodec_fixed *fixed, bool *newer, wcodec_error *err);

/* Write the parameters; returns the number of bytes, at most WCODEC_FIXED_MAX_BYTES. */
size_t wcodec_fixed_write(const struct wcodec_fixed *fixed, uint8_t *bytes);

/* Check the shifts, and that zeros follow the checks: tiles_begin bytes are there.
 * WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_fixed_check_front(const struct wcodec_fixed *fixed, const uint8_t *front,
                                       wcodec_error *err);
uint32_t wcodec_fixed_shifts_check(const struct wcodec_fixed *fixed, const uint8_t *shifts);

/* A tile's list, which is in its record, found to be sound. */
struct wcodec_fixed_list {
    unsigned short_count, long_count;
    const uint8_t *short_low, *short_high; /* bytes and nibbles */
    const uint8_t *long_end;               /* number i is at long_end - 2 (i + 1) */
    uint64_t spilled_first;
    uint32_t spilled_count;
};

static inline unsigned wcodec_fixed_short(const struct wcodec_fixed_list *list, unsigned i,
                                          unsigned *kind)
{
    const unsigned nibble = list->short_high[i / 2] >> i % 2 * 4 & 15;
    *kind = nibble >> 3;
    return list->short_low[i] | (nibble & 7) << 8;
}
static inline unsigned wcodec_fixed_long(const struct wcodec_fixed_list *list, unsigned i)
{
    return wcodec_load_u16(list->long_end - 2 * (size_t)(i + 1));
}

/* Find a record's list. What it names is in bounds then; the positions are not looked at.
 * WCODEC_TILE_OUTLIER. */
enum wcodec_tile_fault wcodec_fixed_list_find(const struct wcodec_fixed *fixed,
                                              const uint8_t *record,
                                              struct wcodec_fixed_list *list);

/* What is left to ask of a list: its positions, and its spilled elements, which are at `spilled`.
 * WCODEC_TILE_OUTLIER. */
enum wcodec_tile_fault wcodec_fixed_list_check(const struct wcodec_fixed_list *list,
                                               const uint8_t *spilled);

/* Decode a tile to out: 16 rows, `stride` bytes from one to the next. shifts: of its rows. spilled:
 * the tile's spilled elements, NULL where it has none. Never reads or writes elsewhere, whatever
 * the bytes are, after wcodec_fixed_list_find(). The reference: other decoders have this result. */
void wcodec_fixed_tile_decode(const struct wcodec_fixed *fixed, const uint8_t *record,
                              const struct wcodec_fixed_list *list, const uint8_t *shifts,
                              const uint8_t *spilled, uint8_t *out, size_t stride);

/* Its second half: outliers and spilled elements in `out`, where all elements stand as their
 * indices say. */
void wcodec_fixed_tile_patch(const struct wcodec_fixed *fixed, const struct wcodec_fixed_list *list,
                             const uint8_t *shifts, const uint8_t *spilled, uint8_t *out,
                             size_t stride);

/* The check of a tile with its spilled elements. */
uint32_t wcodec_fixed_tile_check(const struct wcodec_fixed *fixed, const uint8_t *record,
                                 const uint8_t *spilled, uint32_t spilled_count);

/* The encoder's side. */

/* A row's shift, from the counts of its elements' exponents; zeros: how many are zeros of either
 * sign. *within: how many have an index. */
int wcodec_fixed_choose_shift(unsigned bits, const uint32_t exponents[256], uint32_t zeros,
                              uint32_t *within);

/* What a tile's list has to hold. Devices write it too. */
struct wcodec_fixed_counts {
    uint16_t short_count, long_count, foreign, none;
};

/* What the elements of a band are by their exponents, under its rows' shifts. */
struct wcodec_fixed_band {
    unsigned bits;
    uint8_t kinds[WCODEC_FIXED_ROWS][256];
    uint8_t relative[WCODEC_FIXED_ROWS][256]; /* the relative element's exponent */
    uint8_t subnormal[WCODEC_FIXED_ROWS]; /* the kind of subnormal numbers; 0 stands for zeros */
    uint16_t least[WCODEC_FIXED_ROWS];    /* the least element that has an index; 2^15: only zeros
                                             have one */
};

/* shifts: of 16 rows. */
void wcodec_fixed_band_init(struct wcodec_fixed_band *band, unsigned bits, const uint8_t *shifts);

/* Count those of a tile of `rows` rows and `columns` columns of elements (1 to 16 and 128), the
 * rows `stride` bytes apart. */
struct wcodec_fixed_counts wcodec_fixed_count(const struct wcodec_fixed_band *band,
                                              const uint8_t *elements, size_t stride, unsigned rows,
                                              unsigned columns);

/* How many elements are spilled from a list of that many units: short outliers come first, in the
 * order of positions, then long ones. */
uint32_t wcodec_fixed_spilled(struct wcodec_fixed_counts counts, unsigned list);

/* The size of the lists that makes `tiles` tiles small, and seldom spill. *spilled: elements that
 * are; *cost: bytes of lists and of spilled elements, and some for each tile that spills. */
unsigned wcodec_fixed_choose_list(const struct wcodec_fixed_counts *counts, uint64_t tiles,
                                  uint64_t *spilled, uint64_t *cost);

/* Code a tile, whose counts are known; first: number of the tile's first spilled element. The
 * elements that are spilled go to `spilled`, 4 bytes each, as many as wcodec_fixed_spilled() says,
 * also when the elements are not those that were counted: returns their number. */
uint32_t wcodec_fixed_tile_encode(const struct wcodec_fixed *fixed,
                                  const struct wcodec_fixed_band *band, const uint8_t *elements,
                                  size_t stride, unsigned rows, unsigned columns,
                                  struct wcodec_fixed_counts counts, uint64_t first,
                                  uint8_t *record, uint8_t *spilled);

#endif
