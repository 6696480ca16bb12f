/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The index (doc/format.md 1.3), parsed and validated, and head and tail. */
#ifndef WCODEC_FORMAT_INDEX_H
#define WCODEC_FORMAT_INDEX_H

#include "coding/anchored.h"
#include "coding/blocks.h"
#include "coding/delta.h"
#include "coding/fixed.h"
#include "coding/fragments.h"
#include "coding/lossy.h"
#include "coding/masked.h"
#include "coding/packed.h"
#include "coding/records.h"
#include "core/arena.h"
#include "format/names.h"
#include "core/context.h"
#include "core/dtype.h"
#include <wcodec/reader.h>

enum { WCODEC_HEAD_SIZE = 64, WCODEC_TAIL_SIZE = 64, WCODEC_FORMAT_VERSION = 1 };

/* Most bytes of an entry that stands in the index. */
enum { WCODEC_INLINE_MAX = 4096 };

/* The largest number of a coding that this version knows. */
enum { WCODEC_CODING_LAST = WCODEC_CODING_ANCHORED };

/* A delta: what its record says, and its parts, each an entry whose payload_offset counts from the
 * delta's payload. NULL where there is none. */
struct wcodec_entry_delta {
    struct wcodec_delta head;
    struct wcodec_entry *parts[WCODEC_DELTA_PARTS];
};

/* The same for a masked tensor. */
struct wcodec_entry_masked {
    struct wcodec_masked head;
    struct wcodec_entry *parts[WCODEC_MASKED_PARTS];
};

/* The same for a table of vectors by anchors. */
struct wcodec_entry_anchored {
    struct wcodec_anchored head;
    struct wcodec_entry *parts[WCODEC_ANCHORED_PARTS];
};

struct wcodec_entry {
    bool is_tensor;
    bool newer;     /* reading: coding, its form or dtype of a newer version; it can be listed, not
                       decoded, and of `u` nothing is set */
    bool unhashed;  /* of a rebuilt index: its payload's hash is not known */
    bool cut;       /* of a rebuilt index: its payload is not all there; `newer` is set too */
    uint8_t coding; /* as on disk: 0 constant, 1 tiles, 2 chunks, 3 alias, 4 blocks, 5 lossy,
                       6 fixed, 7 fragments, 9 records, 10 delta, 11 masked, 12 inline, 13
                       anchored; 8, packed, is 1 with unpacked_size; larger: unknown */
    uint8_t dtype;
    const char *name; /* NULL for blobs; NUL-terminated, in the index's memory */
    const char *dtype_name;
    unsigned rank;
    const uint64_t *shape;
    uint64_t size;
    uint64_t order0_bits;
    uint64_t payload_size;  /* as it is stored */
    uint32_t unpacked_size; /* tiles: bytes of a packed payload when it is unpacked; 0: it is not
                               packed */
    uint64_t payload_hash;
    uint64_t payload_offset; /* in the file, derived */
    uint64_t gap_offset;     /* derived: up to its payload, bytes are zero from the end of the
                                payload before on, or from here if that is later */
    uint64_t file_offset;    /* in the original, derived */
    union {
        struct {
            uint8_t element_log2;
            uint8_t element[8];
        } constant;
        struct wcodec_tiling
            *tiling; /* writing; NULL when the entry was read: wcodec_entry_tiling() */
        uint64_t chunk;
        uint64_t alias;                                /* number of the entry */
        const struct wcodec_record_geometry *geometry; /* before it is coded: NULL, or how its bytes
                                                          may be cut into fields */
        const struct wcodec_entry_delta *delta;        /* NULL when it is written */
        const struct wcodec_entry_masked *masked;      /* likewise */
        const struct wcodec_entry_anchored *anchored;  /* likewise */
    } u;
    /* Tiles, blocks, lossy, fixed, fragments, records, delta, masked and anchored, and the bytes of
     * what is inline; of all but tiles also when written. A struct wcodec_tiling takes 20 times the
     * bytes that it is read from, so a million of them are kept as they are in the file, validated.
     */
    const uint8_t *parameters;
    size_t parameters_size;
    const char *split; /* as in wcodec_tensor_info */
    const char *loss;  /* NULL, or what the metadata says of its errors (format/loss.h) */
};

/* How a file was made (doc/format.md 1.1). */
struct wcodec_settings {
    uint8_t level; /* 0: nothing is noted */
    uint8_t tune, profile, tile_log2, predict;
    bool patterns; /* names chose which tensors are weights */
    bool lossy;
};

/* What the head says. */
struct wcodec_head {
    unsigned version;
    uint64_t size; /* of the original; UINT64_MAX: not noted */
    bool index_first;
    struct wcodec_settings settings;
};

/* Neighbours whose descriptions stand in one header, in front of their payloads. */
struct wcodec_group {
    uint64_t first, count; /* entries */
    uint64_t gap_offset;   /* derived: zeros from here to the header */
    uint64_t offset;       /* of the header in the file, derived */
    uint64_t header_size;
    uint64_t body_size; /* reading: of what the header holds, decoded; and its hash */
    uint64_t body_hash;
};

struct wcodec_index {
    const wcodec_allocator *allocator;
    struct wcodec_head head;
    bool rebuilt; /* from the headers of groups: hashes are not known */
    bool safetensors;
    const char *name;
    uint64_t size;
    uint8_t hash[16]; /* of the tree, in canonical order (wcodec_tree_canonical()); the file holds
                         low, then high half, little-endian */
    uint32_t mode;
    int64_t mtime; /* -1: unknown */
    uint64_t metadata_count;
    const char **metadata; /* key, value, key, value, ... */
    uint64_t loss_count;   /* of the last of these pairs, which are not listed (format/loss.h) */
    uint64_t group_count;  /* 0: there are no headers; else they cover all entries */
    struct wcodec_group *groups;
    uint64_t entry_count;
    struct wcodec_entry *entries;
    uint64_t tensor_count;
    uint64_t lossy_count;      /* tensors that are approximated */
    uint64_t *tensors;         /* tensor number -> entry number */
    struct wcodec_names names; /* tensor name -> tensor number */
    uint64_t body_begin;       /* in the file: where headers and payloads begin */
    uint64_t body_end;         /* in the file: where the last payload or header ends */
    uint64_t body_stop;        /* in the file: zeros up to here, where index or tail begins */
    uint64_t lost_tensors;     /* of a rebuilt index: which no header names, as far as is known */
    uint64_t missing;          /* of a rebuilt index: bytes of the original that are not there */
    uint64_t file_size;
    struct wcodec_arena arena; /* owns names, shapes, parameters */
};

struct wcodec_source;

/* What head and tail say, validated against each other and the file's size. */
struct wcodec_framing {
    struct wcodec_head head;
    uint64_t body_begin, body_stop;
    uint64_t index_offset;
    uint64_t index_size;
    uint64_t index_decoded_size;
    uint64_t index_hash;
};

wcodec_status wcodec_framing_read(const struct wcodec_source *source,
                                  struct wcodec_framing *framing, wcodec_error *err);

/* Most bytes that an index of `coded_size` bytes may decode to. */
static inline uint64_t wcodec_index_decoded_max(uint64_t coded_size)
{
    return coded_size > (UINT64_MAX >> 9) ? UINT64_MAX : coded_size * 256 + ((uint64_t)1 << 20);
}

/* Most entries of an index of `coded_size` bytes: each takes some 200 bytes of memory, of which a
 * file of a few bytes must not ask for gigabytes. */
static inline uint64_t wcodec_index_entries_max(uint64_t coded_size)
{
    return coded_size > (UINT64_MAX >> 1) ? UINT64_MAX : coded_size + ((uint64_t)1 << 18);
}

/* Read and validate head, tail and index. All of BADINPUT class A and B on the index is refused
 * here. */
wcodec_status wcodec_index_read(const struct wcodec_source *source,
                                const wcodec_allocator *allocator, const wcodec_limits *limits,
                                struct wcodec_index **index, wcodec_error *err);
void wcodec_index_free(struct wcodec_index *index);

/* The tiling of an entry that was read, whose coding is tiles: parsed again, which cannot fail. */
void wcodec_entry_tiling(const struct wcodec_entry *entry, struct wcodec_tiling *tiling);
/* The same for blocks: the tiling is that of the residuals. */
void wcodec_entry_blocks(const struct wcodec_entry *entry, struct wcodec_blocks *blocks,
                         struct wcodec_tiling *tiling);

/* The same for lossy tensors: the tiling is that of the coefficients. */
void wcodec_entry_lossy(const struct wcodec_entry *entry, struct wcodec_lossy *lossy,
                        struct wcodec_tiling *tiling);

/* The same for matrices at a fixed rate, which have no tiling. */
void wcodec_entry_fixed(const struct wcodec_entry *entry, struct wcodec_fixed *fixed);

/* The same for matrices in fragments. */
void wcodec_entry_fragments(const struct wcodec_entry *entry, struct wcodec_fragments *fragments,
                            struct wcodec_tiling *tiling);

/* The same for records: of `parameters` the fields' tilings are not copied. */
void wcodec_entry_records(const struct wcodec_entry *entry, struct wcodec_records *records);

/* Field number i of an entry in records, whose payload is at byte `offset` of a source, as an entry
 * of its own. */
void wcodec_records_entry(const struct wcodec_records *records, unsigned i, uint64_t offset,
                          struct wcodec_entry *entry);

/* The entry that has its bytes. */
static inline const struct wcodec_entry *wcodec_entry_own(const struct wcodec_index *index,
                                                          const struct wcodec_entry *e)
{
    return !e->newer && e->coding == WCODEC_CODING_ALIAS ? &index->entries[e->u.alias] : e;
}

static inline bool wcodec_coding_is_lossy(uint8_t coding)
{
    return coding == WCODEC_CODING_LOSSY || coding == WCODEC_CODING_ANCHORED;
}

/* Are its bytes an approximation? */
static inline bool wcodec_entry_is_lossy(const struct wcodec_index *index,
                                         const struct wcodec_entry *e)
{
    const struct wcodec_entry *own = wcodec_entry_own(index, e);
    return e->loss != NULL || (!own->newer && wcodec_coding_is_lossy(own->coding));
}

/* Does its size follow from its dtype and shape? Then the record has none. */
static inline bool wcodec_entry_implies_size(const struct wcodec_entry *e)
{
    return e->is_tensor && e->dtype != WCODEC_DTYPE_OTHER && e->dtype < WCODEC_DTYPE_COUNT;
}

/* Say why an entry is newer: WCODEC_ERROR_NEWER. */
wcodec_status wcodec_entry_refuse(const struct wcodec_entry *entry, wcodec_error *err);

/* Does the payload, or the end of it, hold tiles? */
static inline bool wcodec_entry_has_tiles(const struct wcodec_entry *entry)
{
    return entry->coding == WCODEC_CODING_TILES || entry->coding == WCODEC_CODING_BLOCKS ||
           entry->coding == WCODEC_CODING_LOSSY || entry->coding == WCODEC_CODING_FRAGMENTS;
}

static inline bool wcodec_entry_is_packed(const struct wcodec_entry *entry)
{
    return entry->unpacked_size != 0;
}

/* The coding as on disk. */
static inline uint8_t wcodec_entry_coding(const struct wcodec_entry *entry)
{
    return wcodec_entry_is_packed(entry) ? WCODEC_CODING_PACKED : entry->coding;
}

/* Bytes of the payload as decoders see it. */
static inline uint64_t wcodec_entry_unpacked_size(const struct wcodec_entry *entry)
{
    return wcodec_entry_is_packed(entry) ? entry->unpacked_size : entry->payload_size;
}

/* Is a coding, as on disk, one that this version knows? */
static inline bool wcodec_coding_is_known(uint8_t coding)
{
    return coding <= WCODEC_CODING_LAST;
}

/* Bring a payload that was read, payload_size bytes, into that form: to
 * wcodec_entry_unpacked_size() bytes at `payload`. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_entry_unpack(const struct wcodec_entry *entry, const uint8_t *stored,
                                  uint8_t *payload, wcodec_error *err);
/* The same of one that is read for it. WCODEC_ERROR_MEMORY, _IO too. */
wcodec_status wcodec_entry_read_packed(const struct wcodec_entry *entry,
                                       const struct wcodec_source *source,
                                       const wcodec_allocator *allocator, uint8_t *payload,
                                       wcodec_error *err);

/* The other way: bytes of the coded index (one zstd frame) from an index whose entries are filled
 * in (payload_offset and file_offset are not needed). *bytes is the caller's to free with the
 * allocator. */
wcodec_status wcodec_index_write(const struct wcodec_index *index,
                                 const wcodec_allocator *allocator, uint8_t **bytes, size_t *size,
                                 uint64_t *decoded_size, wcodec_error *err);

void wcodec_head_write(const struct wcodec_head *values, uint8_t head[WCODEC_HEAD_SIZE]);
void wcodec_tail_write(const uint8_t head[WCODEC_HEAD_SIZE], uint64_t index_offset,
                       const uint8_t *coded_index, uint64_t coded_size, uint64_t decoded_size,
                       uint64_t file_size, uint8_t tail[WCODEC_TAIL_SIZE]);

/* Where groups begin: after the head, or after an index of `coded_size` bytes in front of them. */
static inline uint64_t wcodec_body_begin(bool index_first, uint64_t coded_size)
{
    const uint64_t end = WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE + coded_size;
    return index_first ? wcodec_align_u64(end - WCODEC_HEAD_SIZE, 256) + WCODEC_HEAD_SIZE
                       : WCODEC_HEAD_SIZE;
}

/* Read the head alone, and where groups begin. */
wcodec_status wcodec_head_read(const struct wcodec_source *source, struct wcodec_head *values,
                               uint64_t *body_begin, wcodec_error *err);

#endif
