/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Decoding one entry of a container, any part of it, batch by batch. */
#ifndef WCODEC_READ_DECODE_H
#define WCODEC_READ_DECODE_H

#include "coding/chunks.h"
#include "core/progress.h"
#include "io/source.h"
#include "io/tree.h"
#include "read/cut.h"

/* Coded bytes that are in memory at once, beside one tile, band or chunk at least. */
#define WCODEC_DECODE_BATCH ((uint64_t)32 << 20)

/* What to decode, and how. */
struct wcodec_decoder_input {
    wcodec_context *context;
    const struct wcodec_source *source;
    const struct wcodec_entry *entry; /* no alias */
    const struct wcodec_bases *bases; /* of deltas; NULL: there are none */
    unsigned depth;                   /* deltas that stand on this one */
    uint64_t held;                    /* bytes of memory that the caller holds, for the limit */
    bool verify;                      /* tile and chunk checks */
    bool on_cpu;                      /* whatever the context's device is */
    bool announced;                   /* the source knows what is read */
    bool whole; /* the whole entry will be asked for, from front to back: a payload that is not
                   large is read at once */
    /* NULL, or what all bytes of the payload are put into: those of chunks as they are decoded,
     * from front to back, others when the decoder is opened (the payload is then in memory as a
     * whole, unless it is a large one of records). */
    struct wcodec_tree *hash;
};

struct wcodec_decoder {
    struct wcodec_decoder_input input;
    uint64_t held; /* bytes of memory, about */
    const uint8_t
        *payload; /* all of it: the source's own memory, or `loaded`; NULL: it is read as needed */
    uint8_t *loaded;
    struct wcodec_layout layout; /* of what is in tiles */
    struct wcodec_tiles *tiles;
    const uint8_t *side; /* modes of blocks and scales, shifts and checks: in the payload, or
                            `loaded_side` */
    uint8_t *loaded_side;
    struct wcodec_session session;
    struct wcodec_chunks *chunks;
    struct wcodec_fixed fixed;
    struct {
        uint8_t *bytes; /* spilled elements of a batch */
        uint64_t size;
        uint64_t band, next; /* the number of the first one of that band, or of a later one */
    } spilled;
    struct wcodec_record_arrays *records; /* the fields of what is in records */
    struct wcodec_delta_decoder *delta;
    struct wcodec_masked_decoder *masked;
    struct wcodec_anchored_decoder *anchored;
    uint8_t *buffer; /* coded bytes of a batch */
    uint64_t buffer_size;
    uint8_t *bounce[2]; /* tiles and chunks of which the caller wants only a part */
};

/* Read and validate what the payload starts with. WCODEC_ERROR_NEWER for a coding or dtype that
 * this version does not know; _MEMORY, _IO, _CORRUPT, _LIMIT. */
wcodec_status wcodec_decoder_open(const struct wcodec_decoder_input *input,
                                  struct wcodec_decoder *decoder, wcodec_error *err);

/* Parts of a tensor whose coding holds others. Open the decoder of one, an entry that lives as long
 * in `source`; and decode bytes [begin, end) of it. Memory is counted with that of `d`. */
wcodec_status wcodec_decoder_open_part(struct wcodec_decoder *d, const struct wcodec_source *source,
                                       const struct wcodec_entry *entry,
                                       struct wcodec_decoder *part, wcodec_error *err);
wcodec_status wcodec_decoder_range_part(struct wcodec_decoder *d, struct wcodec_decoder *part,
                                        uint64_t begin, uint64_t end, uint8_t *dst,
                                        wcodec_error *err);
/* Have *memory of `size` bytes at least, where *held are there: their contents are lost if they are
 * too few. WCODEC_ERROR_MEMORY, _LIMIT. */
wcodec_status wcodec_decoder_enlarge(struct wcodec_decoder *d, uint64_t size, uint8_t **memory,
                                     uint64_t *held, wcodec_error *err);

/* Decode bytes [begin, end) of the entry to dst. */
wcodec_status wcodec_decoder_range(struct wcodec_decoder *decoder, uint64_t begin, uint64_t end,
                                   uint8_t *dst, struct wcodec_reporter *reporter,
                                   wcodec_error *err);

void wcodec_decoder_close(struct wcodec_decoder *decoder);

/* Bytes that an entry is best decoded in, if not whole: tiles, chunks and bands of blocks, so that
 * none is decoded twice. 1: it does not matter. */
uint64_t wcodec_decoder_unit(const struct wcodec_decoder *decoder);

/* The rest is for decode*.c. */

/* `size` bytes, counted against the limit of memory. */
wcodec_status wcodec_decoder_take(struct wcodec_decoder *decoder, uint64_t size, uint8_t **memory,
                                  wcodec_error *err);
/* Memory that is left of the limit, with the buffer of batches. */
uint64_t wcodec_decoder_left(const struct wcodec_decoder *decoder);
/* Coded bytes that a batch may have. */
uint64_t wcodec_decoder_budget(const struct wcodec_decoder *decoder);
/* A buffer of at least `size` bytes for a batch. */
wcodec_status wcodec_decoder_reserve(struct wcodec_decoder *decoder, uint64_t size,
                                     wcodec_error *err);

/* Does the context's device decode jobs of this tiling (NULL at a fixed rate) that need these
 * capabilities? It makes whole elements only. Then, and where the session says on_cpu, jobs go
 * through the session, others to wcodec_decode_on_cpu(). WCODEC_ERROR_DEVICE, _MEMORY. */
wcodec_status wcodec_decoder_choose(struct wcodec_decoder *decoder,
                                    const struct wcodec_tiling *tiling, uint32_t needed,
                                    bool whole_elements, bool *by_device, wcodec_error *err);

/* Read coded bytes [offset, offset + size) of the file, by several threads if they are many. The
 * payload's hash is not taken of them. */
wcodec_status wcodec_decoder_read(const struct wcodec_decoder *decoder, uint64_t offset,
                                  uint8_t *dst, uint64_t size, wcodec_error *err);

/* What tiles' payload, which is in memory, has between its areas and after stored tiles must be
 * zero. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_tiles_check_padding(const struct wcodec_tiles *tiles, const uint8_t *payload,
                                         wcodec_error *err);
/* What follows stored tiles [first, end) only. */
wcodec_status wcodec_tiles_check_stored(const struct wcodec_tiles *tiles,
                                        const struct wcodec_view *view, uint64_t first,
                                        uint64_t end, wcodec_error *err);

/* Memory that decoding an entry's tiles takes, about. */
uint64_t wcodec_tiles_memory(const struct wcodec_tiling *tiling);

/* Tensors in tiles, in blocks, in fragments, and lossy ones. `layout` is set. */
wcodec_status wcodec_decoder_open_tiles(struct wcodec_decoder *decoder, wcodec_error *err);
wcodec_status wcodec_decoder_range_tiles(struct wcodec_decoder *decoder, uint64_t begin,
                                         uint64_t end, uint8_t *dst,
                                         struct wcodec_reporter *reporter, wcodec_error *err);
wcodec_status wcodec_decoder_open_chunks(struct wcodec_decoder *decoder, wcodec_error *err);
wcodec_status wcodec_decoder_range_chunks(struct wcodec_decoder *decoder, uint64_t begin,
                                          uint64_t end, uint8_t *dst,
                                          struct wcodec_reporter *reporter, wcodec_error *err);
wcodec_status wcodec_decoder_open_fixed(struct wcodec_decoder *decoder, wcodec_error *err);
wcodec_status wcodec_decoder_range_fixed(struct wcodec_decoder *decoder, uint64_t begin,
                                         uint64_t end, uint8_t *dst,
                                         struct wcodec_reporter *reporter, wcodec_error *err);
wcodec_status wcodec_decoder_open_records(struct wcodec_decoder *decoder, wcodec_error *err);
void wcodec_decoder_close_records(struct wcodec_decoder *decoder);
wcodec_status wcodec_decoder_range_records(struct wcodec_decoder *decoder, uint64_t begin,
                                           uint64_t end, uint8_t *dst,
                                           struct wcodec_reporter *reporter, wcodec_error *err);

/* Bytes that an entry in records is best decoded in. */
uint64_t wcodec_records_unit(const struct wcodec_entry *entry);

wcodec_status wcodec_decoder_open_delta(struct wcodec_decoder *decoder, wcodec_error *err);
wcodec_status wcodec_decoder_range_delta(struct wcodec_decoder *decoder, uint64_t begin,
                                         uint64_t end, uint8_t *dst,
                                         struct wcodec_reporter *reporter, wcodec_error *err);
void wcodec_decoder_close_delta(struct wcodec_decoder *decoder);
/* The side of a delta, the caller's from now on; nothing can be decoded then. */
struct wcodec_delta_side *wcodec_decoder_take_side(struct wcodec_decoder *decoder);
/* Bytes of a tile of a delta. */
uint64_t wcodec_delta_unit(const struct wcodec_entry *entry);

wcodec_status wcodec_decoder_open_masked(struct wcodec_decoder *decoder, wcodec_error *err);
wcodec_status wcodec_decoder_range_masked(struct wcodec_decoder *decoder, uint64_t begin,
                                          uint64_t end, uint8_t *dst,
                                          struct wcodec_reporter *reporter, wcodec_error *err);
void wcodec_decoder_close_masked(struct wcodec_decoder *decoder);
/* Bytes of a tile of a masked tensor. */
uint64_t wcodec_masked_unit(const struct wcodec_entry *entry);

wcodec_status wcodec_decoder_open_anchored(struct wcodec_decoder *decoder, wcodec_error *err);
wcodec_status wcodec_decoder_range_anchored(struct wcodec_decoder *decoder, uint64_t begin,
                                            uint64_t end, uint8_t *dst,
                                            struct wcodec_reporter *reporter, wcodec_error *err);
void wcodec_decoder_close_anchored(struct wcodec_decoder *decoder);
/* Bytes of as many rows as have about a tile of residuals. */
uint64_t wcodec_anchored_unit(const struct wcodec_entry *entry);

#endif
