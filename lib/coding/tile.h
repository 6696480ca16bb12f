/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The scalar reference: decoding and encoding one tile (doc/format.md 2.3 to 2.6), in code that
 * follows the text. It is the specification for all other decoders. */
#ifndef WCODEC_CODING_TILE_H
#define WCODEC_CODING_TILE_H

#include "coding/tiling.h"

const char *wcodec_tile_fault_string(enum wcodec_tile_fault fault);

/* Decode tile number `tile` to out: its elements, at their full size, no alignment needed. The view
 * must hold what the tile needs. verify: compare the check. Never reads or writes outside, whatever
 * words, states and outliers are. */
enum wcodec_tile_fault wcodec_tile_decode(const struct wcodec_tiles *tiles,
                                          const struct wcodec_view *view, uint64_t tile, void *out,
                                          bool verify);

/* The check of a tile's bytes (2.6): elements * 2^element_log2 bytes at data. */
uint32_t wcodec_tile_check(const void *data, uint32_t elements, unsigned element_log2);

/* Linear part of the check, for tests and for other backends: A(l) of all lanes. */
void wcodec_tile_check_sums(const void *data, uint32_t elements, unsigned element_log2,
                            uint64_t sums[WCODEC_LANES]);
/* The same of data whose first group is number `first`. */
void wcodec_tile_check_sums_from(const void *data, uint32_t elements, unsigned element_log2,
                                 uint32_t first, uint64_t sums[WCODEC_LANES]);
uint32_t wcodec_tile_check_finish(const uint64_t sums[WCODEC_LANES]);

/* How a symbol is pushed onto a state: x = (x / freq << p) + x % freq + start. The quotient is x *
 * reciprocal >> (32 + p), exact for every x that can come up (tile_encode.c). */
struct wcodec_encode_symbol {
    uint64_t reciprocal; /* ceil(2^(32+p) / freq) */
    uint32_t rest;       /* 2^p - freq */
    uint16_t freq;       /* 0: the table does not hold it */
    uint16_t start;
};

/* A table made ready for encoding. */
struct wcodec_encode_table {
    struct wcodec_table table;
    struct wcodec_encode_symbol symbols[256];
    /* For each symbol (P8, P12: a field's value; pairs: a pair of windowed values) the held symbol
     * that stands in for it: itself if held; in a pair, one that keeps one half right if there is
     * one. */
    uint8_t substitute[256];
    uint8_t most_frequent; /* symbol */
};

/* Prepare: table must be valid. */
void wcodec_encode_table_init(struct wcodec_encode_table *encode, const struct wcodec_table *table);

/* What the encoder decided for one coded field of a tile. */
struct wcodec_stream_plan {
    uint8_t mode;              /* WCODEC_STREAM_RANS or _CONSTANT */
    uint8_t table;             /* RANS without runs */
    uint8_t symbol;            /* CONSTANT */
    const uint8_t *run_tables; /* RANS with runs: table of each run, one byte each; else NULL */
};

/* Buffers for the coded form of one tile; the caller provides them at these sizes. */
struct wcodec_tile_output {
    uint8_t *states[WCODEC_MAX_CODED];      /* 128 bytes each */
    uint8_t *words[WCODEC_MAX_CODED];       /* wcodec_tile_words_max() bytes; on return the words
                                               begin at `words + word_offset` */
    uint32_t word_offset[WCODEC_MAX_CODED]; /* bytes */
    uint32_t word_count[WCODEC_MAX_CODED];
    uint8_t *raw;                          /* wcodec_tile_raw_size() bytes */
    uint16_t *positions[WCODEC_MAX_CODED]; /* as many as the tile's elements */
    uint8_t *values[WCODEC_MAX_CODED];
    uint32_t outlier_count[WCODEC_MAX_CODED];
    uint32_t check;
};

/* Most bytes of words of a tile: one word a symbol. */
static inline uint32_t wcodec_tile_words_max(uint32_t elements)
{
    return (elements + WCODEC_GROUP - 1) / WCODEC_GROUP * WCODEC_GROUP * 2;
}

/* Code one tile of `elements` elements at data. tables[c] are the encode tables of coded field c
 * (its pool). Never fails. scratch: wcodec_tile_scratch_size(elements) bytes. */
void wcodec_tile_encode(const struct wcodec_tiling *tiling,
                        const struct wcodec_encode_table *const tables[WCODEC_MAX_CODED],
                        const struct wcodec_stream_plan plans[WCODEC_MAX_CODED], const void *data,
                        uint32_t elements, struct wcodec_tile_output *output, void *scratch);
size_t wcodec_tile_scratch_size(uint32_t elements);

#endif
