/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The first stage of tiles side by side: their rANS streams, from states and words to symbols, with
 * what differs between streams: tables of runs, ends of words, outliers, the payload in the final
 * states. */
#ifndef WCODEC_CPU_STREAMS_H
#define WCODEC_CPU_STREAMS_H

#include "backends/cpu/decode.h"

enum {
    /* Most groups of a call of a function that makes elements. */
    STRETCH = 28,
    /* Bytes of words that one chunk can take, or a stretch, which has half as many words an element
     * at most; and that may be read beyond. */
    WORDS_CAPACITY = STRETCH * 128 + WCODEC_CPU_WORDS_OVERREAD,
    /* Of one tile, or one of each of WCODEC_CPU_TILES tiles. */
    STREAMS = WCODEC_MAX_CODED
};

/* Tiles of one tensor that a call decodes. */
struct request {
    const struct wcodec_cpu_decoder *decoder;
    const struct wcodec_view *view;
    const uint8_t *words_end; /* of all these tiles: up to here words may be read */
    uint64_t end;             /* of them */
    bool verify, stream;
};

/* One tile. */
struct lane_tile {
    const struct request *request;
    uint64_t number;
    uint32_t elements, groups;
    uint8_t *out;
    bool stream; /* goes past the caches */
    /* Where a chunk waits for that while the next one's symbols are decoded, or NULL; what of it is
     * still to be stored, and how many bytes these are. */
    uint8_t *ready;
    const uint8_t *next;
    size_t waiting;
    const uint8_t *raw[WCODEC_MAX_PLANES]; /* first row of each plane */
    uint16_t payload[WCODEC_LANES];
    _Alignas(64) uint64_t sums[WCODEC_LANES];
    enum wcodec_tile_fault fault;
};

/* One stream of one tile. */
struct track {
    struct lane_tile *tile;
    const struct wcodec_stream *stream;
    const struct wcodec_field *field;
    unsigned coded;
    const struct wcodec_cpu_table *tables; /* the field's */
    const uint8_t *runs;                   /* packed numbers of the runs' tables; NULL: none */
    unsigned run_bits;
    const uint8_t *words; /* the stream's first */
    uint32_t used;        /* words taken, missing ones included */
    const uint8_t *positions, *values;
    uint32_t outlier; /* outliers patched */
    uint32_t least;   /* least position that the next may have */
    uint8_t *symbols;
    uint8_t *end; /* buffer for a copy of the stream's last words */
};

/* Bytes of a group: of the first plane, and of elements. */
static inline unsigned row_bytes(const struct wcodec_tiling *tiling)
{
    return tiling->plane_count > 0 ? tiling->planes[0].bits * 4u * WCODEC_LANES / 8 : 0;
}

static inline unsigned out_bytes(const struct wcodec_tiling *tiling)
{
    return (unsigned)WCODEC_GROUP << tiling->element_log2;
}

static inline const struct wcodec_cpu_decoder *decoder_of(const struct lane_tile *t)
{
    return t->request->decoder;
}

static inline const struct wcodec_tiling *tiling_of(const struct lane_tile *t)
{
    return t->request->decoder->tiles->tiling;
}

/* Stream `coded` of a tile at its first group; a fault of its states is the tile's. */
void wcodec_cpu_stream_begin(struct lane_tile *t, unsigned coded, struct track *k,
                             struct wcodec_cpu_stream *s);

/* The words of the next `groups` groups: in place while there surely is enough to read (what is not
 * the stream's own does no harm: a stream that takes it has failed), else a copy with zeros after
 * it. */
const uint8_t *wcodec_cpu_stream_words(const struct track *k, unsigned groups);

/* Outliers of a chunk: into its symbols or, if it has elements already, into these. */
void wcodec_cpu_stream_patch(struct track *k, uint32_t chunk_first, uint32_t chunk_end,
                             uint8_t *elements);

/* The symbols of one chunk of all streams, outliers included. */
void wcodec_cpu_streams_decode(struct track *tracks, struct wcodec_cpu_stream *streams,
                               unsigned count, uint32_t group, unsigned groups);

/* All words taken, final states possible; the payload is theirs. */
void wcodec_cpu_stream_end(const struct track *k, const struct wcodec_cpu_stream *s);

#endif
