/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor as the difference from one of another file (doc/format.md 10): what its record says,
 * what its payload begins with, and tiles of which few elements differ. The parts that are coded by
 * other codings are their callers'. */
#ifndef WCODEC_CODING_DELTA_H
#define WCODEC_CODING_DELTA_H

#include "core/bytes.h"
#include <wcodec/context.h>

/* What a tile is coded as. */
enum wcodec_delta_mode {
    WCODEC_DELTA_EQUAL = 0,
    WCODEC_DELTA_SPARSE = 1,     /* the elements that differ: gaps and values */
    WCODEC_DELTA_ALONE = 2,      /* elements, without the base's */
    WCODEC_DELTA_DIFFERENCE = 3, /* zigzag numbers of the differences */
    WCODEC_DELTA_XOR = 4,
    WCODEC_DELTA_MODES = 5,
    WCODEC_DELTA_PARTS = 3 /* modes whose tiles are in a part, from ALONE on */
};

enum {
    WCODEC_DELTA_CODE_BITS = 12, /* of the longest code word */
    WCODEC_DELTA_GAPS = 33,      /* classes */
    WCODEC_DELTA_VALUES = 136,
    WCODEC_DELTA_HEAD_MAX = 16 + 10 + 3 + 7 * 10 + 4 + 1, /* bytes of the record, but for parts */
    WCODEC_DELTA_CODES_MAX = 2 + (WCODEC_DELTA_GAPS + 1) / 2 + WCODEC_DELTA_VALUES / 2
};

/* What the record says, but for the parts. */
struct wcodec_delta {
    uint8_t base[16];   /* canonical hash of the original of the file that has the base */
    uint64_t base_size; /* of that original */
    uint8_t element_log2, tile_log2;
    bool xor_values; /* of sparse tiles; else zigzag numbers of differences */
    uint64_t size, elements, tiles;
    uint64_t counts[WCODEC_DELTA_MODES]; /* elements of the tiles of each mode */
    uint64_t side_size, streams_size;    /* bytes at the payload's beginning */
    uint32_t check;                      /* of the side */
};

/* Parse up to the parts. *newer: another form; the rest is not looked at. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_delta_read(struct wcodec_cursor *c, uint64_t size, struct wcodec_delta *delta,
                                bool *newer, wcodec_error *err);
/* The hash of the base that parameters name. False: they are none. */
bool wcodec_delta_base_of(const uint8_t *parameters, size_t size, uint8_t hash[16]);
/* Set it in parameters that wcodec_delta_write() made. */
void wcodec_delta_set_base(uint8_t *parameters, const uint8_t hash[16]);

/* The other way; returns the bytes, at most WCODEC_DELTA_HEAD_MAX. */
size_t wcodec_delta_write(const struct wcodec_delta *delta, uint8_t *to);

/* Modes that tiles have. */
unsigned wcodec_delta_mode_count(const struct wcodec_delta *delta);

/* Elements of a tile. */
static inline uint64_t wcodec_delta_tile_elements(const struct wcodec_delta *d, uint64_t tile)
{
    const uint64_t begin = tile << d->tile_log2, most = (uint64_t)1 << d->tile_log2;
    return d->elements - begin < most ? d->elements - begin : most;
}

/* Where streams begin in the payload, if there are any; without them, where the side ends. */
static inline uint64_t wcodec_delta_streams_begin(const struct wcodec_delta *d)
{
    return d->streams_size != 0 ? wcodec_align_u64(d->side_size, 16) : d->side_size;
}

/* Where they end; then come the parts. */
static inline uint64_t wcodec_delta_streams_end(const struct wcodec_delta *d)
{
    return wcodec_delta_streams_begin(d) + d->streams_size;
}

/* Where a part ends that comes after `end` bytes of the payload. */
static inline uint64_t wcodec_delta_part_end(uint64_t end, uint64_t payload_size)
{
    return payload_size != 0 ? wcodec_align_u64(end, 16) + payload_size : end;
}

/* A code of few words, as it is read: words begin with their first bit at the bottom. */
struct wcodec_delta_code {
    unsigned count; /* classes */
    uint8_t lengths[WCODEC_DELTA_VALUES];
    uint16_t words[WCODEC_DELTA_VALUES];
    bool single;                                 /* one class alone: its word has no bits */
    uint8_t longest;                             /* bits */
    uint16_t table[1 << WCODEC_DELTA_CODE_BITS]; /* class and length by the next `longest` bits */
};

/* Words and table from `count` and `lengths`. False: the lengths make no complete code. */
bool wcodec_delta_code_make(struct wcodec_delta_code *code);

/* What the side says of one tile. */
struct wcodec_delta_tile {
    uint64_t place; /* sparse: of its stream, after the streams' beginning; in a part: the number of
                       its first element there */
    uint32_t size;  /* sparse: bytes of its stream */
    uint32_t check;
    uint32_t result; /* check of its elements */
    uint8_t mode;
};

/* The side, parsed. */
struct wcodec_delta_side {
    const wcodec_allocator *allocator;
    const struct wcodec_delta *delta;
    struct wcodec_delta_tile *tiles; /* NULL: all have one mode, which has no streams */
    struct wcodec_delta_code gaps, values;
};

/* Memory that wcodec_delta_side_read() takes. */
uint64_t wcodec_delta_side_memory(const struct wcodec_delta *delta);
/* Check and parse side_size bytes. WCODEC_ERROR_CORRUPT, _MEMORY. */
wcodec_status wcodec_delta_side_read(const struct wcodec_delta *delta, const uint8_t *bytes,
                                     const wcodec_allocator *allocator,
                                     struct wcodec_delta_side **side, wcodec_error *err);
void wcodec_delta_side_free(struct wcodec_delta_side *side);
/* Parts of the side by themselves; false: there is no such part. Both codes. */
bool wcodec_delta_codes_read(struct wcodec_cursor *c, struct wcodec_delta_code *gaps,
                             struct wcodec_delta_code *values);
/* A tile's mode as the side begins with it, of the lowest bits: one says whether all is equal, two
 * more what else. Returns their number. */
static inline unsigned wcodec_delta_take_mode(uint64_t bits, uint8_t *mode)
{
    const bool differs = bits & 1;
    *mode = (uint8_t)(differs ? WCODEC_DELTA_SPARSE + (bits >> 1 & 3) : WCODEC_DELTA_EQUAL);
    return differs ? 3 : 1;
}

/* What the directory has of a tile, as wcodec_take_varint(): most sizes have one byte or two. */
static inline bool wcodec_delta_take_tile(struct wcodec_cursor *c, uint64_t *size, uint32_t *check)
{
    const uint8_t *at = c->at, *after = at;
    const uint64_t left = (uint64_t)(c->end - at);
    if (left >= 5 && at[0] < 0x80) {
        *size = at[0];
        after = at + 1;
    } else if (left >= 6 && at[1] != 0 && at[1] < 0x80) {
        *size = (at[0] & 0x7fu) | (unsigned)at[1] << 7;
        after = at + 2;
    } else {
        if (!wcodec_take_varint(c, size) || c->end - c->at < 4)
            return false;
        after = c->at;
    }
    *check = wcodec_load_u32(after);
    c->at = after + 4;
    return true;
}
struct wcodec_delta_tile wcodec_delta_tile_at(const struct wcodec_delta_side *side, uint64_t tile);

/* The check of bytes: of a stream, of the side. */
uint32_t wcodec_delta_check(const void *bytes, uint64_t size);
/* That of a tile's elements, which are after `at` other bytes of the tensor: from its part of the
 * tensor's linear hash, and of these. */
uint32_t wcodec_delta_result(uint64_t sum, uint64_t size);
uint32_t wcodec_delta_result_of(const uint8_t *elements, uint64_t size, uint64_t at);

/* Bring `count` elements, which are the base's, to what a sparse tile's stream says. False: it is
 * no valid one. */
bool wcodec_delta_patch(const struct wcodec_delta_side *side, const uint8_t *stream, uint64_t size,
                        uint64_t count, uint8_t *elements);
/* The same by the coded elements of a part, of mode DIFFERENCE or XOR. */
void wcodec_delta_combine(unsigned mode, unsigned element_log2, const uint8_t *coded,
                          uint64_t count, uint8_t *elements);
/* Coded elements from elements and the base's; any mode that has a part. */
void wcodec_delta_separate(unsigned mode, unsigned element_log2, const uint8_t *elements,
                           const uint8_t *base, uint64_t count, uint8_t *coded);

static inline uint64_t wcodec_delta_mask(unsigned element_log2)
{
    return UINT64_MAX >> (64 - (8u << element_log2));
}

/* Element number i; compilers make one load or store of each case. */
static inline uint64_t wcodec_delta_load(const uint8_t *elements, uint64_t i, unsigned element_log2)
{
    return wcodec_load_element(elements + (i << element_log2), element_log2);
}

static inline void wcodec_delta_store(uint8_t *elements, uint64_t i, unsigned element_log2,
                                      uint64_t value)
{
    uint8_t *at = elements + (i << element_log2);
    switch (element_log2) {
    case 0:
        *at = (uint8_t)value;
        break;
    case 1:
        wcodec_store_u16(at, (uint16_t)value);
        break;
    case 2:
        wcodec_store_u32(at, (uint32_t)value);
        break;
    default:
        wcodec_store_u64(at, value);
        break;
    }
}

/* The first element from number i on that may differ from the base's: eight bytes at a time. */
static inline uint64_t wcodec_delta_skip(const uint8_t *elements, const uint8_t *base, uint64_t i,
                                         uint64_t count, unsigned element_log2)
{
    const uint64_t words = 8u >> element_log2;
    while (count - i >= words && wcodec_load_u64(elements + (i << element_log2)) ==
                                     wcodec_load_u64(base + (i << element_log2)))
        i += words;
    return i;
}

/* A difference modulo 2^W, which is signed, as a number: 0, -1, 1, -2, ... */
static inline uint64_t wcodec_zigzag(uint64_t difference, unsigned element_log2)
{
    const uint64_t mask = wcodec_delta_mask(element_log2);
    const uint64_t sign = difference >> ((8u << element_log2) - 1) & 1;
    return (difference << 1 & mask) ^ (sign ? mask : 0);
}

static inline uint64_t wcodec_unzigzag(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

/* Bits of a number. */
static inline unsigned wcodec_delta_bits(uint64_t number)
{
#if defined(__GNUC__)
    return number != 0 ? 64 - (unsigned)__builtin_clzll(number) : 0;
#else
    unsigned bits = 0;
    while (bits < 64 && number >> bits != 0)
        bits++;
    return bits;
#endif
}

/* Classes of numbers from 1 on, of which `direct` have one each; then every octave has two. */
unsigned wcodec_delta_class(uint64_t number, unsigned direct);
enum { WCODEC_DELTA_GAP_DIRECT = 1, WCODEC_DELTA_VALUE_DIRECT = 16 };

/* Encoding. Classes of the elements of a tile that differ. */
struct wcodec_delta_counts {
    uint64_t gaps[WCODEC_DELTA_GAPS + 3];
    uint64_t values[WCODEC_DELTA_VALUES];
};
/* Were any? */
static inline bool wcodec_delta_counts_any(const struct wcodec_delta_counts *counts)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < WCODEC_DELTA_GAPS; i++)
        any |= counts->gaps[i];
    return any != 0;
}

void wcodec_delta_count(unsigned element_log2, bool xor_values, const uint8_t *elements,
                        const uint8_t *base, uint64_t count, struct wcodec_delta_counts *counts);
/* Lengths of a code from counts, of which `classes` there are. */
void wcodec_delta_code_plan(const uint64_t *counts, unsigned classes,
                            struct wcodec_delta_code *code);
/* Bits of all values that were counted, by themselves; and of gaps and values by both codes. */
uint64_t wcodec_delta_value_bits(const struct wcodec_delta_counts *counts);
uint64_t wcodec_delta_coded_bits(const struct wcodec_delta_counts *counts,
                                 const struct wcodec_delta_code *gaps,
                                 const struct wcodec_delta_code *values);
/* Both codes as the side has them; returns the bytes. */
size_t wcodec_delta_codes_write(const struct wcodec_delta_code *gaps,
                                const struct wcodec_delta_code *values, uint8_t *to);
/* The stream of a sparse tile: at most wcodec_delta_stream_most() bytes. */
uint64_t wcodec_delta_stream_most(unsigned element_log2, uint64_t count);
uint64_t wcodec_delta_stream(const struct wcodec_delta_code *gaps,
                             const struct wcodec_delta_code *values, unsigned element_log2,
                             bool xor_values, const uint8_t *elements, const uint8_t *base,
                             uint64_t count, uint8_t *to);

#endif
