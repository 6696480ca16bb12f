/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU's own decoder: several tiles side by side, in three stages over chunks that stay in the
 * first-level cache. lib/coding/tile_decode.c says what the result is.
 *
 *   symbols   rANS states and words -> one byte an element, in the elements' order (outliers are
 *             patched here)
 *   assemble  symbols and raw words -> elements
 *   finish    elements -> destination, and the linear sums of the tile check
 *
 * Each stage is a function of a table that is chosen once by the CPU's level, and each is proven
 * against the reference by tests/checkdsp. */
#ifndef WCODEC_CPU_DECODE_H
#define WCODEC_CPU_DECODE_H

#include "coding/tile.h"
#include <stdatomic.h>

enum {
    /* A chunk has as many groups as the thinnest plane has in one word. */
    WCODEC_CPU_CHUNK_GROUPS = 8,
    WCODEC_CPU_CHUNK = WCODEC_CPU_CHUNK_GROUPS * WCODEC_GROUP,
    /* Most tiles side by side; not above WCODEC_MAX_CODED. */
    WCODEC_CPU_TILES = 6,
    /* Most tiles of wcodec_cpu_decode_each(). */
    WCODEC_CPU_EACH = 64,
    /* Bytes that a symbol function may read after the words that it can take. */
    WCODEC_CPU_WORDS_OVERREAD = 64,
    /* Distance in bytes at which words are prefetched. */
    WCODEC_CPU_PREFETCH = 512,
    /* An output of so many bytes or more is stored past the caches. */
    WCODEC_CPU_STREAM = 1 << 25,
    /* Most runs of raw bits that are not in position. */
    WCODEC_CPU_MOVED = 4,
    /* Of a block of 16 slots: as many comparisons at most for a rank. */
    WCODEC_CPU_BOUNDS = 3
};

/* How symbol functions of P8 look up a table. */
enum wcodec_cpu_lookup {
    WCODEC_CPU_BY_SLOT = 1, /* also where ranks do not serve; scalar functions of pairs, too */
    WCODEC_CPU_BY_RANK = 2,
    WCODEC_CPU_BY_WINDOW = 4 /* and by bytes, where there are no windows */
};

/* A table as symbol functions want it; which parts are filled depends on the profile and on how
 * they look it up. */
struct wcodec_cpu_table {
    /* P8: frequency << 16 | bias << 8 | symbol, fields that x86 extracts in one instruction each.
     */
    uint32_t slots[256];
    const uint32_t *entries; /* 4096 or 256, wcodec_table_entries() */
    uint8_t base;            /* pairs */
    uint16_t pairs[256];     /* pairs: both values of a symbol, the first in the lower byte */
    /* P8: */
    bool constant; /* one symbol, which all slots have: no function is to see such a table */
    bool low6;     /* no two held symbols agree in their low 6 bits */
    /* At most 16 symbols of which few begin inside a block of 16 slots: a symbol's rank (its index
     * in the table's order) from the rank of the block's first slot, plus one for each of the
     * block's bounds that is less than slot % 16. */
    uint8_t ranks_bounds; /* most bounds of a block; above WCODEC_CPU_BOUNDS: ranks do not serve */
    _Alignas(16) uint8_t rank_first[16];                     /* by block */
    _Alignas(16) uint8_t rank_bounds[WCODEC_CPU_BOUNDS][16]; /* likewise; 15: none */
    _Alignas(16) uint8_t rank_freq[16];                      /* by rank */
    _Alignas(16) uint8_t rank_start[16];                     /* likewise: first slot */
    _Alignas(16) uint8_t rank_symbol[16];
    /* A string of symbols in which every block of 4 or 2 slots is found: each symbol in the table's
     * order, as often as its frequency says but at most 4 or 2 times. What a slot has is at slot +
     * window_of[block] of the string. */
    uint8_t window_log2; /* of the block's slots; 0: the string is longer than 64 */
    /* By block: its offset in the string, less the block's first slot, mod 256. */
    _Alignas(64) uint8_t window_of[128];
    _Alignas(64) uint8_t window_freq[64];
    _Alignas(64) uint8_t window_start[64]; /* first slot of the symbol */
    _Alignas(64) uint8_t window_symbol[64];
    _Alignas(64) uint8_t symbol[256];    /* by slot */
    _Alignas(64) uint8_t freq[256];      /* by slot */
    _Alignas(64) uint8_t bias[256];      /* by slot */
    _Alignas(64) uint8_t freq_low6[64];  /* by the symbol's low 6 bits */
    _Alignas(64) uint8_t start_low6[64]; /* likewise: first slot */
};

/* The state of one rANS stream. `words` may be read up to the most words that the groups to decode
 * can take, and WCODEC_CPU_WORDS_OVERREAD bytes more. */
struct wcodec_cpu_stream {
    _Alignas(64) uint32_t x[WCODEC_LANES];
    const uint8_t *words; /* advanced */
    const struct wcodec_cpu_table *table;
    uint8_t *symbols; /* advanced: groups * 128 bytes are written, aligned to 64 */
    /* To prefetch: rows of the first plane, which the next stage reads, row_bytes a group (0:
     * none), and where it stores the elements, out_bytes a group (0: not yet, or past the
     * caches). */
    const uint8_t *rows;
    unsigned row_bytes;
    uint8_t *out;
    unsigned out_bytes;
    /* Elements that are stored past the caches to pass_to, ready_bytes a group (0: none). Both are
     * aligned to 64, and advanced by levels that have such stores. */
    const uint8_t *ready;
    uint8_t *pass_to;
    unsigned ready_bytes;
    /* Of functions that make elements: the first plane's row, the groups' elements, the tile's
     * sums of the check, and the number of the first group in the tile, which is even. */
    const struct wcodec_cpu_assembly *assembly;
    const uint8_t *raw;
    uint8_t *elements;
    uint64_t *sums;
    uint32_t group;
    size_t raw_ahead, words_ahead; /* bytes, to prefetch */
    /* Of those that make all of a tile's elements: groups from rows_end on have one row together,
     * raw_last. Elements go past the caches if `past`, but not those of groups from rows_end on,
     * nor of groups that the positions of outliers (u16, in no order if the tile is damaged) are
     * in: they will be changed. */
    uint32_t rows_end;
    const uint8_t *raw_last;
    bool past;
    const uint8_t *positions;
    uint32_t outliers;
};

/* Of the streams' tables the most bounds of a block. */
static inline unsigned wcodec_cpu_most_bounds(const struct wcodec_cpu_stream *streams,
                                              unsigned count)
{
    unsigned most = 0;
    for (unsigned i = 0; i < count; i++)
        most = streams[i].table->ranks_bounds > most ? streams[i].table->ranks_bounds : most;
    return most;
}

/* Decode `groups` groups of `count` streams (1 to WCODEC_CPU_TILES). */
typedef void (*wcodec_cpu_symbols_fn)(struct wcodec_cpu_stream *streams, unsigned count,
                                      unsigned groups);

/* The same, but not the symbols are written, at `symbols`, but the elements that they make with the
 * raw bits. Assemblies have no constant bits, A of single bytes only, and all bits that are not the
 * plane's are the symbol's; P8: no table is constant, and all serve the level's lookup by window or
 * by rank. 32 bytes after the rows may be read. */
typedef wcodec_cpu_symbols_fn wcodec_cpu_direct_fn;

/* How elements are assembled where at most WCODEC_CPU_MOVED runs of their planes' bits are not in
 * position; otherwise a slower path does it. */
struct wcodec_cpu_assembly {
    uint8_t element_log2;
    uint8_t coded_count;
    uint8_t shift[WCODEC_MAX_CODED]; /* of the fields' symbols */
    uint8_t plane_count;
    uint8_t plane_bits[WCODEC_MAX_PLANES];
    uint32_t plane_mask[WCODEC_MAX_PLANES]; /* bits of a slot word */
    uint32_t constant;                      /* constant bits of a slot word */
    uint32_t add;                           /* A in every element of a slot word */
    uint32_t plane_mask_high[WCODEC_MAX_PLANES], constant_high,
        add_high; /* the same for the upper halves of 64-bit elements */
    uint8_t moved_count;
    struct {
        uint8_t plane, rotate; /* to the left */
        uint32_t mask, mask_high;
    } moved[WCODEC_CPU_MOVED]; /* bits of 32-bit slot words that are not in position */
};

/* Returns whether the assembly serves. */
bool wcodec_cpu_derive_assembly(const struct wcodec_tiling *tiling,
                                struct wcodec_cpu_assembly *assembly);

/* Assemble a whole chunk: coded field c's symbols are at symbols + c * WCODEC_CPU_CHUNK; rows[p] is
 * the first row of plane p for the chunk (u32[32] rows, little-endian), aligned to 2 at least.
 * elements: 2^element_log2 * WCODEC_CPU_CHUNK bytes, of any alignment. */
typedef void (*wcodec_cpu_assemble_fn)(const struct wcodec_cpu_assembly *assembly,
                                       const uint8_t *symbols,
                                       const uint8_t *const rows[WCODEC_MAX_PLANES],
                                       uint8_t *elements);

/* Copy `groups` whole groups of elements to `out` (NULL: no copy) and add them to the check's sums
 * (NULL: no sums); first: number of the first group in the tile. */
typedef void (*wcodec_cpu_finish_fn)(unsigned element_log2, const uint8_t *elements,
                                     unsigned groups, uint32_t first, uint8_t *out,
                                     uint64_t sums[WCODEC_LANES]);

/* Assemblies of one coded field with a function of their own. */
enum wcodec_cpu_shape {
    WCODEC_CPU_ANY,
    WCODEC_CPU_BF16,   /* 16 bits, one plane of 8 */
    WCODEC_CPU_NIBBLE, /* 8 bits, one plane of 4 */
    WCODEC_CPU_BYTE,   /* 8 bits, no plane */
    WCODEC_CPU_F32,    /* 32 bits, planes of 16 and 8 */
    WCODEC_CPU_F16,    /* 16 bits, planes of 8, 2 and 1 */
    WCODEC_CPU_SHAPES
};

/* The shape whose function is the best for an assembly; WCODEC_CPU_ANY's serves all. */
enum wcodec_cpu_shape wcodec_cpu_assembly_shape(const struct wcodec_cpu_assembly *assembly);

struct wcodec_cpu_dsp {
    unsigned level;  /* number of the level: wcodec_cpu_level_name() */
    unsigned lookup; /* bits of enum wcodec_cpu_lookup that the symbol functions want */
    /* By profile: how many streams side by side are best, at most WCODEC_CPU_TILES. */
    unsigned tiles[4];
    wcodec_cpu_symbols_fn symbols[4];                  /* by profile */
    wcodec_cpu_direct_fn direct[4][WCODEC_CPU_SHAPES]; /* by profile, shape; NULL: none */
    bool whole[4];                                     /* these make all of a tile's elements */
    wcodec_cpu_assemble_fn assemble[WCODEC_CPU_SHAPES];
    wcodec_cpu_finish_fn finish;                          /* ordinary stores */
    uint32_t (*check)(const uint64_t sums[WCODEC_LANES]); /* wcodec_tile_check_finish() */
    /* Stores past the caches, for destinations larger than these, aligned to 64, and what makes
     * such stores visible as ordinary ones are. Both NULL where a level has none. */
    wcodec_cpu_finish_fn finish_stream;
    void (*stream_end)(void);
};

/* Fill in the best functions among the levels in mask (bits of enum wcodec_cpu_level, already
 * masked by what the machine has), as the choices among its bits (enum wcodec_cpu_tuning) say. */
void wcodec_cpu_dsp_init(struct wcodec_cpu_dsp *dsp, uint32_t levels);

/* The levels: each overrides what it does better. */
void wcodec_cpu_dsp_init_scalar(struct wcodec_cpu_dsp *dsp);
void wcodec_cpu_dsp_init_sse41(struct wcodec_cpu_dsp *dsp);
void wcodec_cpu_dsp_init_avx2(struct wcodec_cpu_dsp *dsp);
void wcodec_cpu_dsp_init_avx512(struct wcodec_cpu_dsp *dsp);
void wcodec_cpu_dsp_init_neon(struct wcodec_cpu_dsp *dsp);

/* What the scalar level has for itself: levels above do not inherit it. */
void wcodec_cpu_dsp_init_scalar_straight(struct wcodec_cpu_dsp *dsp);

/* Choices (enum wcodec_cpu_tuning), after the level's own. */
void wcodec_cpu_dsp_init_avx2_abreast(struct wcodec_cpu_dsp *dsp, uint32_t tuning);
void wcodec_cpu_dsp_init_avx2_straight(struct wcodec_cpu_dsp *dsp, uint32_t tuning);
void wcodec_cpu_dsp_init_avx2_gathered(struct wcodec_cpu_dsp *dsp, uint32_t tuning);
void wcodec_cpu_dsp_init_avx512_direct(struct wcodec_cpu_dsp *dsp, uint32_t tuning);
void wcodec_cpu_dsp_init_avx512_staggered(struct wcodec_cpu_dsp *dsp, uint32_t tuning);

/* Their second and third stage. */
void wcodec_cpu_dsp_init_sse41_elements(struct wcodec_cpu_dsp *dsp);
void wcodec_cpu_dsp_init_avx2_elements(struct wcodec_cpu_dsp *dsp);
void wcodec_cpu_dsp_init_avx512_elements(struct wcodec_cpu_dsp *dsp);
void wcodec_cpu_dsp_init_neon_elements(struct wcodec_cpu_dsp *dsp);

/* For levels that do better with some assemblies only. */
void wcodec_cpu_assemble_scalar(const struct wcodec_cpu_assembly *assembly, const uint8_t *symbols,
                                const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements);

/* A tensor made ready for decoding; immutable, shared by threads. */
struct wcodec_cpu_decoder {
    const struct wcodec_cpu_dsp *dsp;
    const struct wcodec_tiles *tiles;
    bool direct; /* assembly serves; else elements are put together one by one */
    enum wcodec_cpu_shape shape;
    struct wcodec_cpu_assembly assembly;
    wcodec_cpu_direct_fn straight;   /* from words to elements; NULL: by way of symbols */
    bool whole;                      /* that makes all of a tile's elements */
    bool ranks_serve;                /* all tables of P8, if the level looks up by them */
    struct wcodec_cpu_table *tables; /* by number of the table */
    const wcodec_allocator *allocator;
};

/* tiles and dsp must outlive the decoder. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_cpu_decoder_create(const struct wcodec_cpu_dsp *dsp,
                                        const struct wcodec_tiles *tiles,
                                        const wcodec_allocator *allocator,
                                        struct wcodec_cpu_decoder **decoder, wcodec_error *err);
void wcodec_cpu_decoder_free(struct wcodec_cpu_decoder *decoder);

/* Decode tiles [first, first + count) to out, one after the other, no alignment needed; faults[i]
 * is set for each, as wcodec_tile_decode() has them. `stream`: the destination is larger than the
 * caches. Uses about 100 KiB of stack. Several threads may use one decoder at once. */
void wcodec_cpu_decode_tiles(const struct wcodec_cpu_decoder *decoder,
                             const struct wcodec_view *view, uint64_t first, unsigned count,
                             uint8_t *out, bool verify, bool stream,
                             enum wcodec_tile_fault *faults);

/* A tile of any tensor. */
struct wcodec_cpu_tile {
    const struct wcodec_cpu_decoder *decoder;
    const struct wcodec_view *view;
    uint64_t number;
    uint8_t *out;
    bool verify;
    enum wcodec_tile_fault fault; /* set: as wcodec_tile_decode() has it */
};

/* Decode tiles of several tensors, those that are alike side by side, whatever their order: small
 * tensors have one tile each. At most WCODEC_CPU_EACH, all decoders with the same dsp; otherwise as
 * wcodec_cpu_decode_tiles(). */
void wcodec_cpu_decode_each(struct wcodec_cpu_tile *tiles, unsigned count);

/* The least failure that several threads have seen, so that the result does not depend on their
 * order: tile << 3 | fault; UINT64_MAX: none. Puts in those of `count` tiles from `first` on.
 * Returns whether there was one. */
bool wcodec_cpu_note_faults(_Atomic uint64_t *failed, uint64_t first, unsigned count,
                            const enum wcodec_tile_fault *faults);

#endif
