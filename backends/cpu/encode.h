/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU's own encoder of a tile, in stages over the whole tile, which stays in the second-level
 * cache. lib/coding/tile_encode.c says what the result is, byte for byte.
 *
 *   extract   elements -> a byte for each value of the coded field
 *   choose    values -> symbols that the table holds; where they differ there are outliers
 *   rans      symbols -> words and states, from the last group to the first
 *   pack      elements -> raw words
 *
 * Each stage is a function of a table that is chosen once by the CPU's level, and each is proven
 * against the reference by tests/checkdsp. */
#ifndef WCODEC_CPU_ENCODE_H
#define WCODEC_CPU_ENCODE_H

#include "backends/cpu/decode.h"
#include "coding/histogram.h"
#include "coding/tile_encode.h"

/* What a P8 table says of a symbol, by its low bits, where no two held symbols agree in them.
 * `held` differs from every value that ends in these bits where the table holds none. */
struct wcodec_cpu_encode_bytes {
    _Alignas(64) uint8_t held[64];
    _Alignas(64) uint8_t freq[64];
    _Alignas(64) uint8_t start[64];
    _Alignas(64) uint8_t reciprocal_low[64]; /* of min(2^16 / frequency, 65535) */
    _Alignas(64) uint8_t reciprocal_high[64];
};

/* A table as these functions want it. */
struct wcodec_cpu_encode_table {
    const struct wcodec_encode_table *table;
    uint32_t entries[256];           /* by symbol: frequency, start << 16 */
    _Alignas(64) uint16_t freq[256]; /* likewise, apart */
    _Alignas(64) uint16_t start[256];
    uint8_t held_pairs[32]; /* pairs: a bit for each that the table holds */
    /* P8: bytes6, by the low 6 bits, or bytes5, by the low 5 bits, can be used; no frequency is
     * above WCODEC_CPU_ENCODE_FREQ then. */
    bool low6, low5;
    struct wcodec_cpu_encode_bytes bytes6, bytes5;
    /* By a mask of eight words: the shuffle that moves those of its bits to the end, in order. */
    const uint8_t (*compress)[16];
};

/* Up to this frequency, remainders of quotients that are one too small fit into 16 bits
 * (x86/encode_avx512.c). */
enum { WCODEC_CPU_ENCODE_FREQ = 250 };

/* The state of one rANS stream, which is coded from the end of the tile to its begin. */
struct wcodec_cpu_encode_stream {
    _Alignas(64) uint32_t x[WCODEC_LANES];
    /* The last one written. Below what the rest of the tile can take, 64 bytes more may be
     * overwritten. */
    uint8_t *words;
};

/* The field's value of each of `elements` elements of 2^element_log2 bytes at data (no alignment
 * needed), after `add` has been added. width: 1 to 8. */
typedef void (*wcodec_cpu_extract_fn)(const uint8_t *data, size_t elements, unsigned element_log2,
                                      uint64_t add, unsigned shift, unsigned width,
                                      uint8_t *values);

/* Symbols of `groups` whole groups: one a value, or for pairs one for two. Returns whether any
 * value is not what its symbol gives. */
typedef bool (*wcodec_cpu_choose_fn)(const struct wcodec_cpu_encode_table *table,
                                     const uint8_t *values, unsigned groups, uint8_t *symbols);

/* Code `groups` groups of symbols, the last group first. */
typedef void (*wcodec_cpu_rans_fn)(const struct wcodec_cpu_encode_table *table,
                                   const uint8_t *symbols, unsigned groups,
                                   struct wcodec_cpu_encode_stream *stream);

/* The same for the streams of two tiles: neither waits for the other's dependent states. */
typedef void (*wcodec_cpu_rans_two_fn)(const struct wcodec_cpu_encode_table *const tables[2],
                                       const uint8_t *const symbols[2], unsigned groups,
                                       struct wcodec_cpu_encode_stream *const streams[2]);

/* Pack a plane of an assembly (of at most 32 bits an element) from `groups` whole groups of
 * elements, the first being number `first` of the tile; A is added to them. rows: the plane's, as
 * they are stored, of any alignment. Where the first group shares a row with groups before, it is
 * added to what is there. */
typedef void (*wcodec_cpu_pack_fn)(const struct wcodec_cpu_assembly *assembly, unsigned plane,
                                   const uint8_t *elements, unsigned first, unsigned groups,
                                   uint8_t *rows);

struct wcodec_cpu_encode_dsp {
    unsigned level;
    bool compresses; /* rans wants a table's `compress` */
    wcodec_cpu_extract_fn extract;
    wcodec_count_fn count;              /* as wcodec_count_symbols() */
    wcodec_cpu_choose_fn choose[4];     /* by profile */
    wcodec_cpu_rans_fn rans[4];         /* likewise */
    wcodec_cpu_rans_two_fn rans_two[4]; /* likewise; NULL: as fast one after the other */
    wcodec_cpu_pack_fn pack;
    wcodec_cpu_finish_fn sums;                            /* the decoder's; out is NULL */
    uint32_t (*check)(const uint64_t sums[WCODEC_LANES]); /* likewise */
};

/* Fill in the best functions among the levels in mask (bits of enum wcodec_cpu_level, already
 * masked by what the machine has). */
void wcodec_cpu_encode_dsp_init(struct wcodec_cpu_encode_dsp *dsp, uint32_t levels);

/* The levels' parts: each overrides what it does better. */
void wcodec_cpu_encode_dsp_init_scalar(struct wcodec_cpu_encode_dsp *dsp);
void wcodec_cpu_encode_dsp_init_sse41(struct wcodec_cpu_encode_dsp *dsp);
void wcodec_cpu_encode_dsp_init_avx2(struct wcodec_cpu_encode_dsp *dsp);
void wcodec_cpu_encode_dsp_init_avx512(struct wcodec_cpu_encode_dsp *dsp);
void wcodec_cpu_encode_dsp_init_neon(struct wcodec_cpu_encode_dsp *dsp);

/* For levels that serve some tables only. */
bool wcodec_cpu_choose_values_scalar(const struct wcodec_cpu_encode_table *table,
                                     const uint8_t *values, unsigned groups, uint8_t *symbols);
bool wcodec_cpu_choose_pairs_scalar(const struct wcodec_cpu_encode_table *table,
                                    const uint8_t *values, unsigned groups, uint8_t *symbols);
void wcodec_cpu_pack_scalar(const struct wcodec_cpu_assembly *assembly, unsigned plane,
                            const uint8_t *elements, unsigned first, unsigned groups,
                            uint8_t *rows);
void wcodec_cpu_rans_p8_scalar(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                               unsigned groups, struct wcodec_cpu_encode_stream *stream);

/* A tensor made ready for encoding; immutable, shared by threads. */
struct wcodec_cpu_encoder {
    struct wcodec_cpu_encode_dsp dsp;
    const struct wcodec_tiling *tiling;
    const wcodec_allocator *allocator;
    bool direct; /* the assembly serves all planes; else they are packed as the reference does it */
    struct wcodec_cpu_assembly assembly;
    struct wcodec_cpu_encode_table *tables[WCODEC_MAX_CODED]; /* each coded field's pool */
    uint8_t compress[256][16];                                /* set if the functions want it */
};

/* tiling and pools[c] (tables[c] of coded field c) must outlive the encoder.
 * WCODEC_ERROR_MEMORY. */
wcodec_status
wcodec_cpu_encoder_create(uint32_t levels, const struct wcodec_tiling *tiling,
                          const struct wcodec_encode_table *const pools[WCODEC_MAX_CODED],
                          const wcodec_allocator *allocator, struct wcodec_cpu_encoder **encoder,
                          wcodec_error *err);
void wcodec_cpu_encoder_free(struct wcodec_cpu_encoder *encoder);

/* As wcodec_tile_encode(), but output->raw has the capacity for all rows whole, as a tile without a
 * payload in its start states has them. Several threads may use one encoder at once, each with its
 * own scratch of wcodec_cpu_encode_scratch_size() bytes. */
void wcodec_cpu_encode_tile(const struct wcodec_cpu_encoder *encoder,
                            const struct wcodec_stream_plan plans[WCODEC_MAX_CODED],
                            const void *data, uint32_t elements, struct wcodec_tile_output *output,
                            void *scratch);
size_t wcodec_cpu_encode_scratch_size(uint32_t elements);

/* The same for two tiles, the second after the first in memory. Their outputs and scratches are
 * their own, but the second's raw part may begin where the first's ends. */
struct wcodec_cpu_encode_job {
    const struct wcodec_stream_plan *plans;
    const void *data;
    uint32_t elements;
    struct wcodec_tile_output *output;
    void *scratch;
};
void wcodec_cpu_encode_two(const struct wcodec_cpu_encoder *encoder,
                           const struct wcodec_cpu_encode_job jobs[2]);

#endif
