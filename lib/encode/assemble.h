/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From what was decided to a payload: tiles, chunks, and which of the ways a tensor takes. */
#ifndef WCODEC_ENCODE_ASSEMBLE_H
#define WCODEC_ENCODE_ASSEMBLE_H

#include "encode/choice.h"

/* What one tile is coded with: modes and tables of its fields, and its place in memory until it
 * joins the payload. */

/* Memory of one thread. */
struct wcodec_tile_scratch {
    void *coder;      /* wcodec_cpu_encode_scratch_size() */
    uint8_t *symbols; /* the elements of a tile */
    uint8_t *run_tables[WCODEC_MAX_CODED];
};

/* A coded tile. */
struct wcodec_tile_slot {
    uint64_t tile;
    uint32_t elements;
    bool stored;
    struct wcodec_stream_plan streams[WCODEC_MAX_CODED];
    struct wcodec_tile_output output;
    uint64_t raw_size;
    uint64_t size; /* with states, words and outliers */
};

/* Decide modes and tables of a tile of the tensor at data. */
void wcodec_tile_choose(const struct wcodec_plan *plan, const uint8_t *data,
                        struct wcodec_tile_slot *slot, struct wcodec_tile_scratch *scratch);

/* Choose, code, and store the tile as it is if that is no larger. */
void wcodec_tile_code(const struct wcodec_plan *plan, const uint8_t *data,
                      struct wcodec_tile_slot *slot, struct wcodec_tile_scratch *scratch);

/* The same for two tiles, the second of which follows the first: what it has in raw bits, too.
 * Room for those of both is where the first's begin. */
void wcodec_tile_code_two(const struct wcodec_plan *plan, const uint8_t *data,
                          struct wcodec_tile_slot slots[2],
                          struct wcodec_tile_scratch scratches[2]);

/* Coding all tiles of a tensor by a plan, and putting their parts together as doc/format.md 2.1 has
 * it. */

/* Code the tensor: sets coding, payload, its parts and ranges of `coded`, and takes the plan's
 * tiling over, with its prefix_size set. On failure `coded` is as it was. WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_CANCELLED. */
wcodec_status wcodec_payload_code(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  struct wcodec_plan *plan, const uint8_t *data,
                                  struct wcodec_coded *coded, wcodec_error *err);

/* What a payload begins with, of the plan's allocator: tables, and zeros where directory and runs
 * will be. */
struct wcodec_payload_prefix {
    uint8_t *bytes;
    uint64_t size;
    uint64_t directory; /* where it begins */
    uint64_t runs[WCODEC_MAX_CODED];
};

/* WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_payload_prefix_init(const struct wcodec_plan *plan,
                                         struct wcodec_payload_prefix *prefix, wcodec_error *err);

/* The payload of a plan of which somebody else coded the tiles: a prefix with its directory, which
 * becomes the payload's, and `size` bytes of areas at data, which are lent. Takes the plan's tiling
 * over, with its prefix_size set. Where it fails all stays the caller's. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_payload_lend(struct wcodec_plan *plan,
                                  const struct wcodec_payload_prefix *prefix, uint8_t *data,
                                  uint64_t size, struct wcodec_coded_loan loan,
                                  struct wcodec_coded *coded, wcodec_error *err);

/* Bytes that wcodec_payload_code() would make of the tensor. WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_payload_measure(wcodec_context *context,
                                     const struct wcodec_encode_settings *settings,
                                     const struct wcodec_plan *plan, const uint8_t *data,
                                     uint64_t *size, wcodec_error *err);

/* Plan a tensor as wcodec_plan_tensor() does; where time is no matter, in several ways, of which
 * the smallest payload decides. A level has all the ways of those below it. WCODEC_ERROR_MEMORY,
 * _CANCELLED. */
wcodec_status wcodec_plan_search(wcodec_context *context,
                                 const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                 const uint8_t *data, uint64_t size,
                                 const struct wcodec_statistics *statistics,
                                 struct wcodec_plan **plan, wcodec_error *err);

/* Plan and code a tensor of which there are statistics whose elements are not all equal in tiles.
 * WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_code_tiles(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const uint8_t *data, uint64_t size,
                                const struct wcodec_statistics *statistics,
                                struct wcodec_coded *coded, wcodec_error *err);

/* Small payloads in tiles, packed (doc/format.md 2.7). */

/* Pack the payload of a tensor in tiles where that saves enough; any other stays as it is.
 * WCODEC_ERROR_MEMORY, _DEVICE if it does not unpack to what it was. */
wcodec_status wcodec_coded_pack(const struct wcodec_encode_settings *settings,
                                struct wcodec_coded *coded, wcodec_error *err);

/* As wcodec_coded_verify(), of what is packed. */
wcodec_status wcodec_coded_verify_packed(wcodec_context *context,
                                         const struct wcodec_encode_settings *settings,
                                         const struct wcodec_coded *coded, const void *data,
                                         wcodec_error *err);

/* Tensors and blobs as zstd chunks (doc/format.md 3). */

/* Code `size` bytes (not 0) into chunks. With `limit`, give up as soon as the payload would not be
 * smaller than that: *done is false then. Sets coding, chunk, payload and its parts. With coded
 * NULL nothing is kept: this only says whether the payload would be smaller. WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_CANCELLED. */
wcodec_status wcodec_chunked_code(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  const uint8_t *data, uint64_t size, uint64_t limit,
                                  struct wcodec_coded *coded, bool *done, wcodec_error *err);

/* Is a tensor one of the few that zstd makes smaller? */

/* zstd's level for each of ours, 1 to 9. */
int wcodec_zstd_level(int level);

/* What a cheap look at a tensor showed, before it is known what tiles make of it. */
struct wcodec_zstd_look {
    bool repeats;   /* stretches of it come again further apart than a sample shows */
    uint64_t piece; /* bytes of each piece of a sample; 0: there was no need of one */
    unsigned pieces;
    uint32_t coded; /* what zstd makes of the sample */
};

/* Look at a tensor that will have tiles of 2^tile_log2 elements. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_zstd_look(wcodec_context *context, int level, const uint8_t *data,
                               uint64_t size, unsigned element_log2, unsigned tile_log2,
                               struct wcodec_zstd_look *look, wcodec_error *err);

/* What zstd makes of the sample, as a share of it; without what its tables take. */
double wcodec_zstd_share(const struct wcodec_zstd_look *look);

/* Does zstd shrink the sample more than its tiles shrank, or does the tensor repeat? Then all of it
 * is worth trying. From level 7 on it need not save 1 %. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_zstd_may_win(const wcodec_allocator *allocator, int level,
                                  const struct wcodec_zstd_look *look,
                                  const struct wcodec_coded *coded, bool *may, wcodec_error *err);

/* Coding a tensor of weights so that every bit comes back: in tiles, predicted or not, or in chunks
 * where these are smaller. */

/* What is decided before anything is coded. */
struct wcodec_lossless {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    const struct wcodec_statistics *statistics;
    wcodec_dtype dtype;
    const uint8_t *data;
    uint64_t size;
    struct wcodec_plan *plan;
    bool looked_at_zstd;
    struct wcodec_zstd_look zstd; /* then */
    struct wcodec_prediction prediction;
};

/* Decide for a tensor of which there are statistics whose elements are not all equal. All pointers
 * must stay valid until wcodec_lossless_free(). WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_lossless_decide(wcodec_context *context,
                                     const struct wcodec_encode_settings *settings,
                                     const struct wcodec_statistics *statistics, wcodec_dtype dtype,
                                     const uint8_t *data, uint64_t size,
                                     struct wcodec_lossless *lossless, wcodec_error *err);
void wcodec_lossless_free(struct wcodec_lossless *lossless);

/* Estimates of the payload, to be asked before the tensor is coded: bytes that it will have at the
 * most; and may it have as few as `size`? WCODEC_ERROR_MEMORY, _CANCELLED. */
uint64_t wcodec_lossless_most(const struct wcodec_lossless *lossless);
wcodec_status wcodec_lossless_may_reach(const struct wcodec_lossless *lossless, uint64_t size,
                                        bool *may, wcodec_error *err);

/* Code, and verify if the settings say so; once. WCODEC_ERROR_MEMORY, _CANCELLED, _DEVICE. */
wcodec_status wcodec_lossless_code(struct wcodec_lossless *lossless, struct wcodec_coded *coded,
                                   wcodec_error *err);

/* The lossy mode: the step that reaches the target, and the coding that comes of it. */

/* Can a tensor be coded with loss by these settings? */
bool wcodec_lossy_applies(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                          uint64_t size);

/* Code a tensor as settings->lossy asks. *reason is NULL, and `coded` is set, where that was
 * possible; else a word on why the tensor stays as it is, which lives for ever.
 * WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_lossy_code(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const uint8_t *data, uint64_t size, struct wcodec_coded *coded,
                                const char **reason, wcodec_error *err);

#endif
