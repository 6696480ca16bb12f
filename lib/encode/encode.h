/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding one tensor: what the encoder decides (split, profile, tables, runs, tile size) and the
 * payload that comes of it. */
#ifndef WCODEC_ENCODE_ENCODE_H
#define WCODEC_ENCODE_ENCODE_H

#include "coding/blocks.h"
#include "coding/fixed.h"
#include "coding/fragments.h"
#include "coding/lossy.h"
#include "coding/records.h"
#include "core/cancel.h"
#include "core/context.h"
#include <wcodec/reader.h>
#include <wcodec/writer.h>

struct wcodec_split;
struct wcodec_coded_records;

/* From this level on size counts alone: what saves a byte is done, whatever it takes. */
enum { WCODEC_LEVEL_SIZE = 7 };

/* How tables of vectors are coded that are asked for by name or shape. */
struct wcodec_table_settings {
    bool on;
    bool alone;       /* all else is coded without loss */
    uint64_t anchors; /* 0: by the number of rows */
    double bits;      /* an element, at most; 0: by the recall */
    double recall;    /* at least */
};

/* Settings that reach the coder, from wcodec_encode_options. */
struct wcodec_encode_settings {
    bool quick;     /* no trial of zstd's best level: all else may wait for this, as for a header */
    int level;      /* 1 to 9 */
    bool latency;   /* tiles of 4096 */
    bool fixed;     /* matrices of bf16 at a fixed rate */
    bool fragments; /* matrices in fragments */
    bool records;   /* some tensors have a geometry */
    uint64_t inline_most; /* so many bytes and fewer that are no tensor stand in the index */
    uint8_t tile_log2;    /* 0: by policy */
    uint8_t profile;      /* 0: by counted cost; else WCODEC_PAIRS, _P12, _P8 as a preference */
    bool verify;          /* decode every tile and compare */
    bool verify_parts; /* wcodec_coded_verify() comes later: now what that does not see, in masks */
    bool delta;        /* tensors may be coded against a base */
    bool weights;      /* false: chunks only (blobs, excluded tensors) */
    bool part;         /* of another coding, which holds constants, tiles and chunks alone */
    bool unmasked;     /* no mask is tried */
    uint8_t predict;   /* wcodec_predict */
    uint64_t columns;  /* of the tensor as a matrix, for prediction; 0: none */
    uint8_t lossy;     /* wcodec_lossy_target */
    bool lossy_rows;   /* a scale for each row */
    double lossy_value;
    struct wcodec_table_settings tables;
    bool anchored;  /* it is such a table */
    bool residuals; /* of prediction, which GPUs make elements of in the same pass: of bytes, fast
                       field lists and profiles are preferred */
    bool bands; /* coefficients of a transform: runs of 128 of one spread, many of them of one value
                 */
    bool plain; /* coefficients in their order: GPUs make elements in one pass of P12, or of four
                   bits in pairs */
    const struct wcodec_split *split;              /* NULL, or how elements are cut into fields */
    const struct wcodec_record_geometry *geometry; /* NULL, or how its bytes may be cut into fields
                                                    */
    uint64_t scratch; /* bytes that threads may take beside the payload, 0: by themselves; one
                         thread takes what it must */
    struct wcodec_cancel *cancel; /* NULL, or asked in the course of a large tensor whether to stop:
                                     WCODEC_ERROR_CANCELLED */
};

struct wcodec_coded_part {
    uint8_t *data;
    uint64_t size;
};

/* Parts of a payload after the first one that are somebody else's memory, who gets it back by
 * end(). */
struct wcodec_coded_loan {
    void (*end)(void *lender); /* NULL: there are none */
    void *lender;
};

/* A coded tensor: what the index record needs, and the payload as parts that follow each other
 * (padding between areas is inside the parts). */
struct wcodec_coded {
    uint8_t coding; /* enum wcodec_coding: CONSTANT, TILES, CHUNKS, BLOCKS, LOSSY, FIXED,
                       FRAGMENTS, RECORDS, DELTA, MASKED, ANCHORED */
    uint8_t constant_element_log2;
    uint8_t constant_element[8];
    uint32_t unpacked_size; /* TILES: not 0 if the payload is packed, into one part */
    uint64_t order0_bits;
    struct wcodec_tiling *tiling;         /* TILES, BLOCKS, LOSSY and FRAGMENTS; owned */
    struct wcodec_blocks *blocks;         /* BLOCKS; owned */
    struct wcodec_lossy *lossy;           /* LOSSY; owned */
    struct wcodec_fixed *fixed;           /* FIXED; owned */
    struct wcodec_fragments *fragments;   /* FRAGMENTS; owned */
    struct wcodec_coded_records *records; /* RECORDS; owned, and has the parts' data */
    uint8_t *coefficients;                /* LOSSY: what the tiles hold; owned */
    uint8_t *approximation;               /* LOSSY, ANCHORED: the bytes that decoding gives;
                                             owned */
    uint8_t *parameters;        /* DELTA, MASKED, INLINE, ANCHORED: as the record has them; owned */
    uint8_t *tiling_parameters; /* TILES, after wcodec_coded_gather(): in the part's memory */
    size_t parameters_size;     /* of either */
    const char *lossless; /* NULL, or why a tensor is lossless though the settings are lossy */
    double recall;        /* ANCHORED by a recall that was asked for: what is reached; else 0 */
    uint64_t chunk;       /* CHUNKS */
    uint64_t payload_size;
    size_t part_count;
    /* NULL: none. At a fixed rate: shifts and checks, tiles, spilled elements. In blocks: the
     * packed modes, then as tiles; in lossy tensors the modes and scales. In tiles: the prefix,
     * then each area's parts, one for each range of tiles */
    struct wcodec_coded_part *parts;
    struct wcodec_coded_loan loan;
    uint64_t range_tiles; /* what has a tiling: tiles of a range */
    size_t range_count;   /* 0: parts are cut otherwise */
    const wcodec_allocator *allocator;
};

/* Code `size` bytes at data. Parallel on the context's threads, result independent of their number.
 * dtype: how to read the bytes (WCODEC_DTYPE_OTHER: bytes). Takes at most about `size` bytes beside
 * the input (three times that where it is predicted), about settings->scratch, and what planning
 * takes. WCODEC_ERROR_MEMORY; WCODEC_ERROR_CORRUPT cannot happen (a failed verification is
 * WCODEC_ERROR_DEVICE: the machine computed wrongly). */
wcodec_status wcodec_encode_tensor(wcodec_context *context,
                                   const struct wcodec_encode_settings *settings,
                                   wcodec_dtype dtype, const void *data, uint64_t size,
                                   struct wcodec_coded *coded, wcodec_error *err);

/* A tensor of which is found out what takes one thread most of the time, so that others may code
 * another tensor meanwhile. */
struct wcodec_planned;

/* Plan a tensor as wcodec_encode_tensor() does first. data must stay where it is. *planned: owned
 * by the caller, or NULL where that does not apply: it is coded as any other then.
 * WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_plan_ahead(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const void *data, uint64_t size, struct wcodec_planned **planned,
                                wcodec_error *err);
/* Code it, with that scratch, and free the plan: what wcodec_encode_tensor() would make of it, with
 * the same errors. */
wcodec_status wcodec_encode_planned(struct wcodec_planned *planned, uint64_t scratch,
                                    struct wcodec_coded *coded, wcodec_error *err);
/* NULL is ignored. */
void wcodec_planned_free(struct wcodec_planned *planned);

/* A tensor all of whose elements, of 2^element_log2 bytes, have this value. */
void wcodec_coded_constant(unsigned element_log2, uint64_t value, const wcodec_allocator *allocator,
                           struct wcodec_coded *coded);

/* The payload in one piece to `to`; returns its size. */
size_t wcodec_coded_join(const struct wcodec_coded *coded, uint8_t *to);

/* Of a payload in tiles that is small, verified and not lent, all that is still needed, in one
 * block of memory in place of seven: the payload as one part, and the parameters in place of the
 * tiling. What many small tensors hold stays in the caches then until it is written. Does nothing
 * for other codings. WCODEC_ERROR_MEMORY: it is as it was. */
wcodec_status wcodec_coded_gather(struct wcodec_coded *coded, wcodec_error *err);
void wcodec_coded_free(struct wcodec_coded *coded);

/* Put `size` bytes before the payload; they belong to `coded` then, and are freed where that fails.
 * WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_coded_prepend(struct wcodec_coded *coded, uint8_t *bytes, uint64_t size,
                                   wcodec_error *err);

/* What is done with the parts of a payload when they have been verified, from several threads,
 * while they are in the caches: `count` parts of those of `coded`, each `step` after the one
 * before. */
struct wcodec_verified {
    void (*parts)(void *opaque, size_t first, size_t step, size_t count);
    void *opaque;
};

/* Decode what was coded in tiles, in blocks, in fragments or at a fixed rate and compare it with
 * the data that it was made of, lossy tensors with their coefficients (any other coding: nothing to
 * do). verified: NULL, or called for each range of tiles. WCODEC_ERROR_DEVICE if they differ,
 * WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_coded_verify(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  const struct wcodec_coded *coded, const void *data,
                                  const struct wcodec_verified *verified, wcodec_error *err);

/* Threads that share `scratch` bytes (0: no bound), each taking `each`: at least one, at most the
 * context's, and no more than there is work for. */
size_t wcodec_encode_workers(wcodec_context *context, uint64_t scratch, uint64_t each,
                             uint64_t work);

#endif
