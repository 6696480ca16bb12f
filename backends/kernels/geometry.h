/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kinds of tiles that have kernels of their own (kernels.def), and how these use shared memory:
 * one source for kernels and hosts, in every dialect. Made of constants, all of it folds. */
#ifndef WCODEC_KERNELS_GEOMETRY_H
#define WCODEC_KERNELS_GEOMETRY_H

#include "backends/kernels/latency_step.h"
#include "backends/kernels/jobs.h"

enum wcodec_tile_coding {
    WCODEC_CODING_PAIRS,
    WCODEC_CODING_P12,
    WCODEC_CODING_P8,
    WCODEC_CODING_P8_RUNS
};

/* Of shared memory, before everything else: the wcodec_part that the work-group is at. */
#define WCODEC_SHARED_HEAD 128u

#define WCODEC_ROWS_MOST 12

/* Groups after which outliers are patched: their elements must still be in the cache, but each time
 * is waited for. */
#define WCODEC_PATCH_GROUPS 32u

enum wcodec_family {
    WCODEC_FAMILY_GENERIC,  /* any tile (tile.h) */
    WCODEC_FAMILY_FAST,     /* tiles of one coded field (tile_fast.h) */
    WCODEC_FAMILY_LATENCY,  /* the same, small batches, several warps a tile (tile_latency.h) */
    WCODEC_FAMILY_BLOCKS,   /* residuals that become elements of blocks at once (tile_blocks.h) */
    WCODEC_FAMILY_LOSSY,    /* coefficients that do (tile_lossy.h) */
    WCODEC_FAMILY_UNITS,    /* elements from what the generic kernel left in scratch memory */
    WCODEC_FAMILY_FIXED,    /* tiles at a fixed rate (fixed.h) */
    WCODEC_FAMILY_FRAGMENTS /* as FAST, of matrices in fragments: whole tiles of whole bands */
};

/* What is known of tiles of coefficients of lossy tensors. */
struct wcodec_lossy_kind {
    uint32_t bytes;  /* of a coefficient */
    uint32_t groups; /* of a unit, which is decoded at a time */
    bool blocks;     /* of a transform, with runs; else of a plain tensor */
    bool raw;        /* there may be raw bits below what is coded */
    bool wide;       /* blocks of 16-bit coefficients: two streams, of lower and upper symbols */
};

/* Everything that is known of tiles of one kind. */
struct wcodec_kind {
    uint32_t family;
    uint32_t shape;  /* enum wcodec_shape */
    uint32_t bytes;  /* of an element */
    uint32_t groups; /* of a block: tiles are decoded so many groups of 128 elements at a time */
    uint32_t rows;   /* rows of 128 bytes of raw bits that a block has, of all planes */
    uint32_t first;  /* ... of the first plane */
    uint32_t group_bytes; /* of the first plane that a group has */
    uint32_t mask;        /* raw bits of a slot word's first plane, in place */
    uint32_t field;       /* lowest bit of the coded field */
    uint32_t width;       /* its bits */
    uint32_t slot;        /* bytes of words that are asked for at a time */
    uint32_t block_words; /* ... that a block can take: one slot or more */
    uint32_t upper_slot;  /* slot and block_words of a second stream: upper bytes, a group a time */
    uint32_t copies;      /* of a table of P8: neighbouring lanes have copies of their own */
    bool pairs, p12, p8, runs;
    bool add;    /* an offset is subtracted of elements (bytes alone) */
    bool staged; /* bytes go to shared memory instead of their destination */
    bool wide;   /* entries of pairs are of 8 bytes, with output bits ready: fewer instructions, but
                    more of shared memory's time. What is faster was measured for each shape */
    bool shifted; /* symbols in tables of P8 stand where the field is */
    bool payload; /* start states carry raw bits */
    bool low;     /* bytes of which fewer than four bits are raw: planes of two bits, and of one */
    struct wcodec_lossy_kind lossy;
    uint32_t index_bits; /* at a fixed rate */
};

/* copies: of tables of P8 without runs, 1 or a power of two up to 32. With 32 a work-group has much
 * shared memory: then entries of pairs may be wide, and slots are as long as blocks. */
WCODEC_DEVICE_FUNCTION struct wcodec_kind wcodec_kind_of(const uint32_t family,
                                                         const uint32_t shape,
                                                         const uint32_t coding, const bool add,
                                                         const uint32_t copies)
{
    struct wcodec_kind k;
    const bool staged = family == WCODEC_FAMILY_BLOCKS || family == WCODEC_FAMILY_LOSSY;
    const bool nibbles = shape == WCODEC_SHAPE_8_4 || shape == WCODEC_SHAPE_8_31,
               halves = shape == WCODEC_SHAPE_16_8 || shape == WCODEC_SHAPE_16_11,
               word = shape == WCODEC_SHAPE_32_24 || shape == WCODEC_SHAPE_32_8;
    k.family = family;
    k.shape = shape;
    k.pairs = coding == WCODEC_CODING_PAIRS;
    k.p12 = coding == WCODEC_CODING_P12;
    k.p8 = coding >= WCODEC_CODING_P8;
    k.runs = coding == WCODEC_CODING_P8_RUNS;
    k.copies = k.p8 && !k.runs ? copies : 1;
    k.add = add;
    k.staged = staged;
    k.low = shape >= WCODEC_SHAPE_8_1 && shape <= WCODEC_SHAPE_8_3;
    const bool much = copies == 32;
    k.wide = much && k.pairs && family != WCODEC_FAMILY_LATENCY &&
             (shape == WCODEC_SHAPE_16_11 || shape == WCODEC_SHAPE_32_24);
    k.bytes = word ? 4 : halves ? 2 : 1;
    /* What a block costs besides its elements is dear for bytes. Staged ones are reconstructed in
     * between; by P8 they take half as many words as by P12. */
    k.groups = shape == WCODEC_SHAPE_8_0 && !k.p8 && staged ? 2 : nibbles && !staged ? 8 : 4;
    k.block_words = k.groups * (k.pairs || k.p8 ? 128 : 256);
    k.slot = much ? k.block_words : staged ? 256 : 512;
    k.upper_slot = much ? 512 : 128;
    k.rows = shape == WCODEC_SHAPE_8_0     ? 0
             : shape == WCODEC_SHAPE_8_3   ? 2
             : k.low                       ? 1
             : nibbles                     ? k.groups / 2
             : shape == WCODEC_SHAPE_32_24 ? 12
             : shape == WCODEC_SHAPE_16_11 ? 6
                                           : 4;
    k.first = shape == WCODEC_SHAPE_32_24 ? 8 : halves || k.low ? (k.low ? 1 : 4) : k.rows;
    k.shifted = k.bytes == 1;
    k.group_bytes = shape == WCODEC_SHAPE_32_24 ? 256 : k.bytes > 1 ? 128 : nibbles ? 64 : 0;
    k.payload = k.group_bytes > 0;
    k.mask = halves                       ? 0x807f807fu
             : shape == WCODEC_SHAPE_32_8 ? 0x807f0000u
             : shape == WCODEC_SHAPE_8_4  ? 0x0f0f0f0fu
             : shape == WCODEC_SHAPE_8_31 ? 0x87878787u
             : shape == WCODEC_SHAPE_8_1  ? 0x01010101u
             : k.low                      ? 0x03030303u
                                          : 0;
    k.field = word                          ? 23
              : shape == WCODEC_SHAPE_16_8  ? 7
              : shape == WCODEC_SHAPE_16_11 ? 10
              : shape == WCODEC_SHAPE_8_4   ? 4
              : shape == WCODEC_SHAPE_8_31  ? 3
              : k.low                       ? shape - WCODEC_SHAPE_8_1 + 1
                                            : 0;
    k.width = shape == WCODEC_SHAPE_16_11 ? 5 : k.bytes > 1 ? 8 : nibbles ? 4 : 8 - k.field;
    k.lossy.bytes = k.lossy.groups = 0;
    k.lossy.blocks = k.lossy.raw = k.lossy.wide = false;
    k.index_bits = 0;
    return k;
}

/* Of coefficients. With runs they are blocks. A unit is half a superblock, or with raw bits of
 * plain tensors so small that there is shared memory for as many warps as registers allow. */
WCODEC_DEVICE_FUNCTION struct wcodec_kind wcodec_lossy_kind_of(const uint32_t coding,
                                                               const uint32_t bytes, const bool raw,
                                                               const uint32_t copies)
{
    struct wcodec_kind k =
        wcodec_kind_of(WCODEC_FAMILY_LOSSY, WCODEC_SHAPE_8_0, coding, false, copies);
    k.wide = k.pairs && copies == 32;
    k.field = k.pairs && raw ? 4 : 0;
    k.shifted = bytes == 1;
    k.lossy.bytes = bytes;
    k.lossy.blocks = k.runs;
    k.lossy.raw = raw;
    k.lossy.wide = k.runs && bytes == 2;
    k.lossy.groups = k.runs || (!raw && copies == 32) ? 16 : 8;
    k.block_words = k.lossy.wide && copies != 32 ? 256 : 512;
    k.slot = copies != 32 && raw && !k.runs ? 256 : k.block_words;
    return k;
}

/* bits: of an index. A function of its own: what sets a member of wcodec_row_kind()'s result keeps
 * clang from dissolving it, and then all kernels spill. */
WCODEC_DEVICE_FUNCTION struct wcodec_kind wcodec_fixed_kind_of(const uint32_t shape,
                                                               const uint32_t coding,
                                                               const uint32_t bits,
                                                               const uint32_t copies)
{
    struct wcodec_kind k = wcodec_kind_of(WCODEC_FAMILY_FIXED, shape, coding, false, copies);
    k.index_bits = bits;
    return k;
}

/* Of a row of kernels.def. */
WCODEC_DEVICE_FUNCTION struct wcodec_kind
wcodec_row_kind(const uint32_t family, const uint32_t shape, const uint32_t coding, const bool add,
                const uint32_t bytes, const bool raw, const uint32_t copies)
{
    if (family == WCODEC_FAMILY_LOSSY)
        return wcodec_lossy_kind_of(coding, bytes, raw, copies);
    if (family == WCODEC_FAMILY_FIXED)
        return wcodec_fixed_kind_of(shape, coding, bytes, copies);
    return wcodec_kind_of(family, shape, coding, add, copies);
}

/* Bytes of shared memory that a work-group's tables take; runs: `entries` of a pool, at most 4096,
 * and the tables of a second stream right after them. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tables_size(const struct wcodec_kind k)
{
    if (k.family == WCODEC_FAMILY_FIXED)
        return 0;
    return k.p8 && !k.runs ? 1024 * k.copies : k.wide || k.lossy.wide ? 32768 : 16384;
}

/* A ring of words: besides those of a block, a slot that is not used up and one on its way. After
 * it come as many of its first words again as a block can take, so that a lane's address needs no
 * mask. stream: 0, of lossy coefficients also 1. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ring_slot(const struct wcodec_kind k, const uint32_t stream)
{
    return stream ? k.upper_slot : k.slot;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_ring_again(const struct wcodec_kind k, const uint32_t stream)
{
    return stream ? k.upper_slot : k.block_words;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_ring_size(const struct wcodec_kind k, const uint32_t stream)
{
    return wcodec_ring_again(k, stream) + 2 * wcodec_ring_slot(k, stream);
}

/* A warp's words on their way, and a block's raw bits. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_stream_size(const struct wcodec_kind k,
                                                   const uint32_t stream)
{
    return wcodec_ring_size(k, stream) + wcodec_ring_again(k, stream) + k.rows * 128;
}

/* At a fixed rate a warp has the elements of a tile, its list, and its rows' shifts. */
#define WCODEC_RECORD_STAGE 4368u

/* What else a warp has: a stage of residuals (stage.h), and with runs a table's offset of 16 bits
 * for each group of the largest tile. */
#define WCODEC_STAGE_SIZE 2256u
#define WCODEC_RUNS_SIZE 1024u
WCODEC_DEVICE_FUNCTION uint32_t wcodec_warp_size(const struct wcodec_kind k)
{
    if (k.family == WCODEC_FAMILY_FIXED)
        return WCODEC_RECORD_STAGE;
    return wcodec_stream_size(k, 0) + (k.staged ? WCODEC_STAGE_SIZE : 0) +
           (k.runs ? WCODEC_RUNS_SIZE : 0);
}

/* Of coefficients a warp has for each stream its ring; then descriptors and what else is the same
 * for all lanes, at these offsets; then, of a unit, the streams' bytes; for each stream a byte for
 * each group of the launch's largest tile; and a unit's raw bits. */
enum {
    WCODEC_LOSSY_SAVED = 48, /* bytes of a stream's state, two of which are first */
    WCODEC_LOSSY_WITH = 2 * WCODEC_LOSSY_SAVED, /* what coefficients are made with: the offset, how
                                                   many raw bits, constant bits */
    WCODEC_LOSSY_CHANGED = WCODEC_LOSSY_WITH + 16,  /* whether outliers have changed the last upper
                                                       bytes; plain: how many are done */
    WCODEC_LOSSY_NEXT = WCODEC_LOSSY_CHANGED + 4,   /* plain: position of the next upper outlier */
    WCODEC_LOSSY_LOW_START = WCODEC_LOSSY_NEXT + 4, /* whether a state was too low */
    WCODEC_LOSSY_BLOCKS = WCODEC_LOSSY_WITH + 32,   /* wcodec_blocks_job */
    WCODEC_LOSSY_VIEW = WCODEC_LOSSY_BLOCKS + sizeof(struct wcodec_blocks_job),
    WCODEC_LOSSY_FIRST = WCODEC_LOSSY_VIEW + sizeof(struct wcodec_view_job),
    WCODEC_LOSSY_UPPER = WCODEC_LOSSY_FIRST + sizeof(struct wcodec_stream_job),
    WCODEC_LOSSY_TILE = /* elements, check and slot */
    (WCODEC_LOSSY_UPPER + sizeof(struct wcodec_stream_job) + 15) / 16 * 16,
    WCODEC_LOSSY_SUM = WCODEC_LOSSY_TILE + 16,   /* the lanes' sums of the check */
    WCODEC_LOSSY_PLAIN = WCODEC_LOSSY_SUM + 256, /* plain: wcodec_lossy_plain_begin() */
    WCODEC_LOSSY_HEAD = WCODEC_LOSSY_PLAIN + 16
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_streams(const struct wcodec_kind k)
{
    return k.lossy.wide ? 2 : 1;
}

/* Where what follows the rings, a stream's bytes, what says their tables, and raw bits begin. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_head_begin(const struct wcodec_kind k)
{
    return wcodec_stream_size(k, 0) + (k.lossy.wide ? wcodec_stream_size(k, 1) : 0);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_bytes_begin(const struct wcodec_kind k,
                                                         const uint32_t stream)
{
    return wcodec_lossy_head_begin(k) + WCODEC_LOSSY_HEAD + stream * k.lossy.groups * 128;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_runs_begin(const struct wcodec_kind k)
{
    return wcodec_lossy_bytes_begin(k, wcodec_lossy_streams(k));
}

/* groups: of the launch's largest tile, rounded up to a multiple of 16. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_raw_begin(const struct wcodec_kind k, uint32_t groups)
{
    return wcodec_lossy_runs_begin(k) + (k.runs ? wcodec_lossy_streams(k) * groups : 0);
}

/* raw_bits: most of a coefficient. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_warp_size(const struct wcodec_kind k, uint32_t groups,
                                                       uint32_t raw_bits)
{
    return wcodec_lossy_raw_begin(k, groups) + (k.lossy.raw ? 16 * k.lossy.groups * raw_bits : 0);
}

/* Where the rows of a later plane of a tile begin, in bytes after its raw bits' begin. The first
 * plane's last row is stored as its lower halves only. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_plane_offset(const struct wcodec_kind k,
                                                    const uint32_t plane, uint32_t groups)
{
    if (k.low)
        return (groups + 3) / 4 * 128;
    /* of 16_11 the second plane has two bits, four groups to a row */
    return groups * k.group_bytes - 64 + (plane == 1 ? 0 : (groups + 3) / 4 * 128);
}

/* Bytes of a tile's raw bits, of an even number of groups. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_raw_size(const struct wcodec_kind k, uint32_t groups)
{
    if (k.low)
        return (k.shape == WCODEC_SHAPE_8_1 ? 0 : wcodec_plane_offset(k, 1, groups)) +
               (k.shape == WCODEC_SHAPE_8_2 ? 0 : (groups + 7) / 8 * 128);
    return k.shape == WCODEC_SHAPE_32_24 ? wcodec_plane_offset(k, 1, groups) + groups * 128
           : k.shape == WCODEC_SHAPE_16_11
               ? wcodec_plane_offset(k, 2, groups) + (groups + 7) / 8 * 128
               : wcodec_plane_offset(k, 1, groups);
}

/* Latency kernels (tile_latency.h) have tables, and of each tile all words, what each does to a
 * state, and its raw bits. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_latency_tables_size(const struct wcodec_kind k)
{
    return k.p8 ? 1024 : 1024 + 16384; /* of pairs: symbols, and entries */
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_latency_tile_size(const struct wcodec_kind k, uint32_t words,
                                                         uint32_t groups)
{
    return 14 * (words + WCODEC_LATENCY_SPARE) + groups * (k.rows * 128 / k.groups);
}

/* Most tiles of a work-group of those. */
#define WCODEC_LATENCY_TILES 8u

#endif
