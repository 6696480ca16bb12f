/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How a tensor in tiles is laid out: parameters from its index record, and the prefix of its
 * payload (doc/format.md 2 and 2.1). Everything here is validated on reading: decoders trust these
 * structures, and check only what depends on words and states. */
#ifndef WCODEC_CODING_TILING_H
#define WCODEC_CODING_TILING_H

#include "coding/table.h"
#include "core/memory.h"

enum {
    WCODEC_LANES = 32,
    WCODEC_GROUP = 128, /* elements of a group: four a lane */
    WCODEC_GROUP_LOG2 = 7,
    WCODEC_MAX_FIELDS = 64,
    WCODEC_MAX_CODED = 8,
    WCODEC_MAX_PLANES = 6,
    WCODEC_TILE_LOG2_MIN = 12,
    WCODEC_TILE_LOG2_MAX = 16
};

struct wcodec_field {
    uint8_t kind; /* enum wcodec_field_kind */
    uint8_t width;
    uint8_t shift;    /* derived: its lowest bit in the element */
    uint8_t profile;  /* coded: enum wcodec_field_profile */
    uint8_t tables;   /* coded: size of the pool */
    uint8_t run_log2; /* coded: 0 or 7 to 12 */
    uint64_t value;   /* constant */
};

/* A plane of raw bits (doc/format.md 2.4). */
struct wcodec_plane {
    uint8_t bits;     /* P */
    uint8_t first;    /* number of its first raw bit */
    uint8_t position; /* q: where that bit is in the element */
};

struct wcodec_tiling {
    /* Parameters. */
    uint8_t element_log2; /* w: an element has 2^w bytes */
    uint8_t tile_log2;    /* t */
    uint8_t field_count;
    uint64_t add; /* A */
    struct wcodec_field fields[WCODEC_MAX_FIELDS];
    uint64_t prefix_size;
    /* Derived by wcodec_tiling_derive(). */
    uint64_t size;     /* bytes of the tensor */
    uint64_t elements; /* N */
    uint64_t tiles;
    uint8_t coded_count;
    uint8_t coded[WCODEC_MAX_CODED]; /* numbers of the coded fields, low bits first */
    uint8_t raw_bits;                /* R */
    uint8_t plane_count;
    struct wcodec_plane planes[WCODEC_MAX_PLANES];
    uint8_t raw_position[64]; /* bit of the element for each raw bit */
    uint64_t constant_bits;   /* constant fields in place */
    unsigned table_count;     /* tables of all pools */
};

/* Validate the parameters and compute what derives from them, for a tensor of `size` bytes.
 * WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_tiling_derive(struct wcodec_tiling *tiling, uint64_t size, wcodec_error *err);

/* Parse the parameters of an index record (all that is left in cursor belongs to them), then
 * derive. */
wcodec_status wcodec_tiling_read(struct wcodec_cursor *cursor, uint64_t size,
                                 struct wcodec_tiling *tiling, wcodec_error *err);

#define WCODEC_TILING_MAX_BYTES 700
/* Write the parameters; returns the number of bytes, at most WCODEC_TILING_MAX_BYTES. */
size_t wcodec_tiling_write(const struct wcodec_tiling *tiling, uint8_t *bytes);

/* Elements of a tile: 2^t, or fewer in the last. */
static inline uint32_t wcodec_tile_elements(const struct wcodec_tiling *t, uint64_t tile)
{
    uint64_t first = tile << t->tile_log2, left = t->elements - first,
             full = (uint64_t)1 << t->tile_log2;
    return (uint32_t)(left < full ? left : full);
}

/* Bytes of a tile's raw part: planes with or without a payload in the start states, or stored. A
 * multiple of 64. */
uint64_t wcodec_tile_raw_size(const struct wcodec_tiling *tiling, uint32_t elements, unsigned mode);

/* Does a tile whose lowest coded field has this mode carry raw bits in its start states? */
static inline bool wcodec_tile_has_payload(const struct wcodec_tiling *t, unsigned mode)
{
    return mode == WCODEC_STREAM_RANS && t->plane_count > 0 && t->planes[0].bits >= 4;
}

/* One coded field of one tile. */
struct wcodec_stream {
    uint32_t words;    /* number of u16 words */
    uint32_t outliers; /* number of outliers */
    uint8_t mode;      /* enum wcodec_stream_mode */
    uint8_t table;     /* within the field's pool */
    uint8_t symbol;
    uint64_t state;   /* payload offset of its 32 states (mode rANS) */
    uint64_t word;    /* payload offset of its first word */
    uint64_t outlier; /* number of its first outlier in the tensor */
};

/* Bytes of the run indices of one tile of a field with runs, and their bits. */
static inline unsigned wcodec_run_index_bits(unsigned tables)
{
    return tables <= 2 ? 1 : tables <= 4 ? 2 : 4;
}

static inline uint32_t wcodec_runs_of_tile(const struct wcodec_tiling *t,
                                           const struct wcodec_field *f)
{
    return t->tile_log2 > f->run_log2 ? (uint32_t)1 << (t->tile_log2 - f->run_log2) : 1;
}

static inline uint32_t wcodec_run_bytes_of_tile(const struct wcodec_tiling *t,
                                                const struct wcodec_field *f)
{
    return (wcodec_runs_of_tile(t, f) * wcodec_run_index_bits(f->tables) + 7) / 8;
}

enum wcodec_area {
    WCODEC_AREA_STATES,
    WCODEC_AREA_WORDS,
    WCODEC_AREA_RAW,
    WCODEC_AREA_POSITIONS,
    WCODEC_AREA_VALUES,
    WCODEC_AREAS
};

/* The parsed prefix of a payload. Owns its memory: a block that `streams` begins, and the runs. */
struct wcodec_tiles {
    const struct wcodec_tiling *tiling;
    const wcodec_allocator *allocator;
    uint64_t payload_size;
    struct wcodec_table *tables; /* all pools, fields low bits first */
    uint32_t *entries;           /* decode entries: 4096 (P12, pairs) or 256 (P8) a table */
    uint32_t
        entry_offset[WCODEC_MAX_CODED * 16]; /* by number of the table: where its entries begin */
    uint8_t table_base[WCODEC_MAX_CODED];    /* by coded field: number of its first table */
    uint32_t *checks;                        /* by tile */
    struct wcodec_stream *streams;           /* tile-major: [tile * coded_count + coded field] */
    uint64_t *raw;                           /* by tile: payload offset of its raw part */
    uint8_t *runs[WCODEC_MAX_CODED]; /* by coded field: its packed run indices, NULL without runs */
    uint64_t area_begin[WCODEC_AREAS]; /* payload offsets */
    uint64_t area_end[WCODEC_AREAS];
};

/* Parse and validate a payload's prefix (tiling->prefix_size bytes, which must be what it takes)
 * for a payload of payload_size bytes: all areas are found to fill it exactly. `tiling` must
 * outlive the result. WCODEC_ERROR_CORRUPT, WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_tiles_read(const struct wcodec_tiling *tiling, const uint8_t *prefix,
                                uint64_t payload_size, const wcodec_allocator *allocator,
                                struct wcodec_tiles **tiles, wcodec_error *err);
void wcodec_tiles_free(struct wcodec_tiles *tiles);

/* Bytes that a payload has, as far as areas are in memory: area a holds payload bytes from begin[a]
 * at data[a]. With the whole payload in memory, data is it and begin 0 for all. The caller has made
 * sure that everything that the tiles he asks for need is there. */
struct wcodec_view {
    const uint8_t *data[WCODEC_AREAS];
    uint64_t begin[WCODEC_AREAS];
};

void wcodec_view_whole(const uint8_t *payload, struct wcodec_view *view);

/* For tiles [first, end): the payload bytes [begin[a], stop[a]) of each area. */
void wcodec_tiles_extent(const struct wcodec_tiles *tiles, uint64_t first, uint64_t end,
                         uint64_t begin[WCODEC_AREAS], uint64_t stop[WCODEC_AREAS]);

static inline const uint8_t *wcodec_view_at(const struct wcodec_view *view, enum wcodec_area area,
                                            uint64_t offset)
{
    return view->data[area] + (offset - view->begin[area]);
}

/* Table that element group g of a tile uses in a field with runs. */
static inline unsigned wcodec_run_table(const struct wcodec_tiles *s, unsigned coded, uint64_t tile,
                                        uint32_t group)
{
    const struct wcodec_field *f = &s->tiling->fields[s->tiling->coded[coded]];
    unsigned bits = wcodec_run_index_bits(f->tables);
    uint32_t bit = (group * WCODEC_GROUP >> f->run_log2) * bits;
    const uint8_t *p = s->runs[coded] + tile * wcodec_run_bytes_of_tile(s->tiling, f);
    return (unsigned)p[bit / 8] >> (bit % 8) & ((1u << bits) - 1);
}

#endif
