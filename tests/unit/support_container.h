/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Containers made byte by byte from a description, right or wrong in any field: not by the code
 * that they test. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_CONTAINER_H
#define WCODEC_TESTS_UNIT_SUPPORT_CONTAINER_H

#include "support.h"
#include "support_tiles.h"
#include <stdbool.h>
#include <wcodec/reader.h>

struct support_bytes {
    uint8_t *data;
    size_t size;
};

void support_put(struct support_bytes *b, const void *bytes, size_t size);
void support_put_uint(struct support_bytes *b, uint64_t v, unsigned size);
void support_put_varint(struct support_bytes *b, uint64_t v);
void support_put_string(struct support_bytes *b, const char *text, size_t size);

enum { SUPPORT_ENTRIES = 16, SUPPORT_SHAPE = 300 };

struct support_entry {
    uint8_t type;
    const char *name;
    size_t name_size;
    uint8_t dtype;
    const char *dtype_name;
    uint64_t rank;
    uint64_t shape[SUPPORT_SHAPE];
    uint64_t size;
    uint64_t order0;
    uint8_t coding;
    uint64_t payload_size;
    uint64_t payload_hash;
    struct support_bytes parameters;
    struct support_bytes payload; /* what is written; payload_size is what is said */
    const uint8_t *data;          /* `size` decoded bytes, for comparing; may be NULL */
    int length_error;             /* added to the record's length */
};

struct support_recipe {
    uint8_t head[64];
    uint8_t kind;
    const char *name;
    size_t name_size;
    uint64_t size;
    uint64_t hash[2]; /* low, high */
    uint64_t mode;
    uint64_t mtime;
    uint64_t metadata_count;
    const char *metadata[8];
    uint64_t entry_count; /* what is said */
    unsigned entries_used;
    unsigned group_entries; /* of a group, which has a header; 0: no groups */
    struct support_entry entries[SUPPORT_ENTRIES];
    /* Added to what is right. */
    int64_t index_offset_error, index_size_error, decoded_size_error, file_size_error;
    uint64_t index_hash_error, head_hash_error, tail_hash_error;
    size_t index_extra;   /* bytes after the last record */
    size_t index_cut;     /* bytes missing at the index's end */
    size_t coded_extra;   /* bytes after the zstd frame */
    size_t gap;           /* bytes before the index */
    size_t trailing;      /* bytes after the tail */
    bool long_varint;     /* the original's size in a varint that is not minimal */
    bool skippable_frame; /* in place of a zstd frame */
    bool two_frames;
    /* Owned. */
    struct support_tensor tensor;
    uint8_t *constant_data;
    uint8_t *chunk_data;
};

/* A small valid safetensors container: blob in a stored chunk, constant "a", tiles "b", alias "c"
 * of "b", zstd chunks "d" of an unknown dtype, an empty tensor "e". */
void support_recipe_init(struct support_recipe *recipe, uint64_t seed);
/* One more entry. */
struct support_entry *support_recipe_add(struct support_recipe *recipe, const char *name);
/* Payload of an entry that is coded in chunks from its data; chunks that zstd does not shrink are
 * stored. */
void support_entry_chunks(struct support_entry *entry, const uint8_t *data, uint64_t size,
                          uint64_t chunk);
void support_entry_tiles(struct support_entry *entry, const struct support_tensor *tensor);
/* The header of the group that begins with entry `first`; its body is not packed. The caller frees
 * header->data. */
void support_recipe_header(const struct support_recipe *recipe, unsigned first,
                           struct support_bytes *header);
/* Size and hash of the original from the entries' data. */
void support_recipe_finish(struct support_recipe *recipe);
void support_recipe_free(struct support_recipe *recipe);

/* What support_recipe_init() makes, and of as many bytes as a test wants: a constant, chunks of
 * each of these sizes, tiles. */
struct support_large {
    struct support_recipe recipe;
    struct support_tensor tensor;
    uint8_t *constant, *chunked;
};
void support_large_make(struct support_large *large, uint64_t constant, uint64_t chunked,
                        const uint64_t *chunks, unsigned count, uint64_t elements);
void support_large_free(struct support_large *large);

/* The file. The caller frees bytes.data. */
void support_recipe_build(const struct support_recipe *recipe, struct support_bytes *bytes);
/* Where an entry's payload is in the file. */
size_t support_recipe_find(const struct support_bytes *file, const struct support_entry *entry);
/* A tensor of `rows` rows and its alias, which have these bytes, in a file that is right: decoded
 * by rows, loaded and restored, from memory, from a file, and within `least` bytes of memory. */
void support_recipe_expect(wcodec_context *context, const struct support_recipe *recipe,
                           const struct support_bytes *file, uint64_t tensor, uint64_t *seed,
                           uint64_t rows, const uint8_t *data, size_t size, uint64_t least);
/* The original; the caller frees. */
void support_recipe_original(const struct support_recipe *recipe, struct support_bytes *bytes);

/* A wcodec_write_fn: opaque is a support_bytes, which grows. */
int support_append(void *bytes, const void *data, size_t size);
/* A reader of a file that opens. */
wcodec_reader *support_open_bytes(wcodec_context *context, const struct support_bytes *file);
/* It is right, and restores to these bytes. */
void support_expect_original(wcodec_context *context, const struct support_bytes *file,
                             const struct support_bytes *original);

#endif
