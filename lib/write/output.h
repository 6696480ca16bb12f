/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A container as it is written, front to back (doc/format.md 1): head, groups of payloads with
 * their headers, index, tail. */
#ifndef WCODEC_WRITE_OUTPUT_H
#define WCODEC_WRITE_OUTPUT_H

#include "core/arena.h"
#include "core/phases.h"
#include "format/base_fetch.h"
#include "format/index.h"
#include "io/tree.h"
#include "encode/encode.h"
#include <stdatomic.h>
#include <wcodec/writer.h>

/* Bytes that are not written yet, where they need not be in order. */
struct wcodec_output_piece {
    const uint8_t *data;
    uint64_t size, offset;
    atomic_int error; /* of the write function */
};

struct wcodec_output {
    const wcodec_allocator *allocator;
    wcodec_write_fn write;       /* in order */
    wcodec_write_at_fn write_at; /* or NULL; else it is all that is called */
    void *opaque;
    uint64_t position; /* bytes written, and gathered to be */
    uint8_t *gathered; /* small parts, written together */
    size_t gathered_size;
    struct wcodec_output_piece *pieces; /* large parts, until they are written */
    size_t piece_count;
    uint64_t piece_room;
    atomic_size_t piece_end, piece_next, pieces_written; /* of those that may be written */
    atomic_bool failed;                                  /* one of them could not be */
    uint8_t head[WCODEC_HEAD_SIZE];
    struct wcodec_index index; /* entries so far; index.size is what they decode to */
    uint64_t entry_room;
    uint64_t group_room;
    uint64_t group_first; /* entry: the first that is not written */
    uint8_t *group_bytes; /* payloads of entries that are not written */
    size_t group_size, group_bytes_room;
    uint64_t aliases;
    uint64_t lossy;              /* tensors, aliases included */
    struct wcodec_arena arena;   /* parameters of tilings */
    struct wcodec_tree original; /* of the original's bytes */
    uint64_t hashed;             /* how many */
    bool hash_known;             /* index.hash is set by the caller */
    const wcodec_bases *bases;   /* NULL, or what deltas among the entries are of */
};

/* Nothing is written yet. Before the first entry comes, index.head is to be set, so far as it is
 * known. Free with wcodec_output_free() whether this fails or not. */
wcodec_status wcodec_output_init(wcodec_context *context, wcodec_write_fn write,
                                 wcodec_write_at_fn write_at, void *opaque,
                                 struct wcodec_output *output, wcodec_error *err);
void wcodec_output_free(struct wcodec_output *output);

/* Leaves of the original that are hashed at a time. */
enum { WCODEC_OUTPUT_LEAVES = 1025 };

/* The next bytes of the original, for its hash: by several threads. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_output_hash(wcodec_context *context, struct wcodec_output *output,
                                 const void *data, uint64_t size, wcodec_error *err);

/* Make room for `count` more entries. */
wcodec_status wcodec_output_reserve(struct wcodec_output *output, uint64_t count,
                                    wcodec_error *err);

/* The hash of a payload, as its entry has it. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_coded_hash(wcodec_context *context, wcodec_leaf_fn leaf,
                                const struct wcodec_coded *coded, uint64_t *hash,
                                wcodec_error *err);

/* Verify what was coded of `data`, and the hash of its payload: in one pass over it where it is in
 * tiles. As wcodec_coded_verify(), WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_coded_settle(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  wcodec_leaf_fn leaf, const struct wcodec_coded *coded,
                                  const void *data, uint64_t *hash, wcodec_error *err);

/* The next entry. `what` has what does not come from the coding: is_tensor, name, dtype,
 * dtype_name, rank, shape (which must live until the index is written), size and payload_hash
 * (which may be set in the index later). The parts of `coded` must live until
 * wcodec_output_write(). WCODEC_ERROR_IO if the write function fails, WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_output_coded(struct wcodec_output *output, const struct wcodec_entry *what,
                                  const struct wcodec_coded *coded, wcodec_error *err);
/* The same, equal to entry number `alias`, which is none itself. */
wcodec_status wcodec_output_alias(struct wcodec_output *output, const struct wcodec_entry *what,
                                  uint64_t alias, wcodec_error *err);

/* An entry that another container has, coded: `entry` says how, its parameters must live until the
 * index is written. Its payload is `payload`, free again after wcodec_output_write(); without
 * write_at, on return. */
wcodec_status wcodec_output_copy(struct wcodec_output *output, const struct wcodec_entry *entry,
                                 uint8_t *payload, wcodec_error *err);

/* Are payloads of that size large: the last ones of their groups? */
bool wcodec_output_is_large(const struct wcodec_output *output, uint64_t payload_size);

/* The same of a large payload that somebody else writes, to where *position says. */
wcodec_status wcodec_output_leave(struct wcodec_output *output, const struct wcodec_entry *entry,
                                  uint64_t *position, wcodec_error *err);

/* Write, by at most `threads` threads, what is not written yet of the entries so far. phases: NULL,
 * or to what each thread's time is added. WCODEC_ERROR_IO. */
wcodec_status wcodec_output_write(wcodec_context *context, struct wcodec_output *output,
                                  size_t threads, struct wcodec_phases *phases, wcodec_error *err);

/* The same in steps: no entries come until the last one. Then all is written, or has failed, when
 * each call of the second one has returned. */
void wcodec_output_begin(struct wcodec_output *output);
/* By any thread, also at the same time; before the first one there is nothing to write. */
void wcodec_output_write_more(wcodec_context *context, struct wcodec_output *output, size_t threads,
                              struct wcodec_phases *phases);
/* Is all that was to be written? From then on nobody needs its bytes. */
bool wcodec_output_is_written(const struct wcodec_output *output);
/* What has failed so far, if anything has: WCODEC_ERROR_IO. */
wcodec_status wcodec_output_check(const struct wcodec_output *output, wcodec_error *err);
wcodec_status wcodec_output_end(struct wcodec_output *output, wcodec_error *err);

/* Index and tail. Kind, name, mode, mtime and metadata of output->index must be set; hash, size and
 * counts are set here. */
wcodec_status wcodec_output_finish(wcodec_context *context, struct wcodec_output *output,
                                   wcodec_error *err);

/* What the report says of the output. */
void wcodec_output_report(const struct wcodec_output *output, wcodec_encode_report *report);

#endif
