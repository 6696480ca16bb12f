/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Neighbours of the original that are read and coded in parallel: small tensors keep all threads
 * busy, and memory stays bounded. What one run codes is written while the next one codes, so that
 * neither writing nor hashing leaves threads idle. */
#ifndef WCODEC_WRITE_BATCH_H
#define WCODEC_WRITE_BATCH_H

#include "core/phases.h"
#include "write/looked.h"
#include "write/output.h"

/* A batch ends before it would pass either; a larger item is a batch of its own. Weight tensors
 * from WCODEC_WRITE_BATCH_LARGE on are verified while they are written, smaller ones as they are
 * coded.
 */
#define WCODEC_WRITE_BATCH_BYTES ((uint64_t)12 << 20)
#define WCODEC_WRITE_BATCH_LARGE ((uint64_t)1 << 20)
/* Of the library's 64 MiB, what batches are planned with beside twice the largest item. */
#define WCODEC_WRITE_BATCH_MEMORY ((uint64_t)56 << 20)
/* More threads than these have so many bytes each beside that, where memory is not limited: as many
 * as one needs that codes. 16 of them would share what is enough for half as many. */
#define WCODEC_WRITE_FEW_THREADS 4
#define WCODEC_WRITE_THREAD_MEMORY ((uint64_t)1 << 20)
enum { WCODEC_WRITE_BATCH_ITEMS = 2048 };

/* One entry to be. */
struct wcodec_write_batch_item {
    struct wcodec_entry what;
    bool weights;   /* code as a weight tensor; else in chunks */
    bool lossy;     /* may be coded with loss, where that is asked for */
    bool anchored;  /* likewise, and by anchors */
    uint64_t at;    /* in the batch's bytes */
    uint64_t alias; /* number of the entry that it equals, UINT64_MAX: none */
    struct wcodec_dedup_hash hash;
    struct wcodec_looked looked; /* of a batch that the coder has, until `hash` is set */
    struct wcodec_coded coded;   /* set if alias is not */
    uint8_t *approximation; /* NULL, or what a lossy tensor, or an alias of one, decodes to: until
                               it is hashed as part of the original */
    bool is_coded;
    bool is_settled;       /* verified if that is asked for, and its payload hashed */
    uint64_t payload_hash; /* then; `what` is being read when it is found */
};

/* Neighbours that go through the stages together. */
struct wcodec_write_items {
    struct wcodec_write_batch_item *items; /* WCODEC_WRITE_BATCH_ITEMS of them */
    size_t count;
    uint64_t begin;       /* in the source: where the first item starts */
    uint64_t size;        /* bytes of all items */
    bool by_coder;        /* the coder has all of them, and their bytes are not read */
    const uint8_t *bytes; /* in the source, read to data, or the caller's */
    uint8_t *data;
    uint64_t data_capacity;
    struct wcodec_planned *planned; /* NULL, or what the only item is coded by */
};

struct wcodec_write_batch {
    wcodec_context *context;
    const struct wcodec_source *source; /* NULL: the caller sets `bytes` */
    struct wcodec_encode_settings settings;
    const wcodec_encode_options *options;   /* say which tables are coded by anchors */
    const wcodec_bases *bases;              /* NULL: nothing is coded against a base */
    size_t writers;                         /* at most so many threads write; 0: a share of all */
    const struct wcodec_write_coder *coder; /* NULL: all is coded here */
    struct wcodec_output *output;
    struct wcodec_dedup *dedup; /* NULL: no aliases */
    bool overlaps; /* the next items are read and planned while those before them are coded, as far
                      as there is memory: of lossless coding without bases and coder, from a source
                    */
    uint64_t memory; /* for the items' bytes, their payloads and what coding takes: at least
                        wcodec_write_batch_least() of the largest item */
    struct wcodec_write_items now;
    uint64_t first_entry; /* number of the first item's entry */
    /* Those before them, read and planned, and what was coded before these and is still to be
     * written. Only where batches overlap there are any of the former after a run. */
    struct wcodec_write_items ahead, pending;
    struct wcodec_phases phases; /* where the time goes, if that is asked for */
};

/* Code data as an entry: the bytes, dtype and shape that `what` says. Tiny ones are dealt with
 * here: 1, 2, 4 and 8 bytes are a constant, so that they need no payload; others up to
 * WCODEC_TINY_BYTES, or of what is no tensor WCODEC_TINY_BLOB_BYTES, are a constant or stored,
 * since no coding gains there what its frame takes, and there can be a million of them. */
enum { WCODEC_TINY_BYTES = 256, WCODEC_TINY_BLOB_BYTES = 64 };
wcodec_status wcodec_code_bytes(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, bool weights,
                                const struct wcodec_entry *what, const void *data,
                                struct wcodec_coded *coded, wcodec_error *err);

/* wcodec_plan_ahead() of more bytes than are tiny. */
wcodec_status wcodec_plan_bytes(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, bool weights,
                                const struct wcodec_entry *what, const void *data,
                                struct wcodec_planned **planned, wcodec_error *err);

/* Columns of the matrix that a tensor is predicted as: the last dimension; with those before it
 * where it is narrower than a block, as convolution kernels are. 0: it is none. */
uint64_t wcodec_entry_columns(const struct wcodec_entry *what);

/* Memory that an item of `size` bytes takes at least, with its payload. */
uint64_t wcodec_write_batch_least(const struct wcodec_encode_settings *settings, uint64_t size);

/* What batches are planned with whose largest item has `largest` bytes: WCODEC_WRITE_BATCH_MEMORY,
 * twice that, and without a limit of the context's what many threads take. */
uint64_t wcodec_write_batch_memory(const wcodec_context *context, uint64_t largest);

/* What items of `size` bytes take beside that where they are coded with loss. */
uint64_t wcodec_write_batch_beside(const struct wcodec_encode_settings *settings, uint64_t size);

/* Room for items. Members up to `memory` are the caller's to set before. Free with
 * wcodec_write_batch_free() whether this fails or not. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_write_batch_init(struct wcodec_write_batch *batch, wcodec_error *err);
void wcodec_write_batch_free(struct wcodec_write_batch *batch);

/* Room in the items' `data` for `size` bytes; what is there is kept if `keep` says so.
 * WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_write_batch_reserve(const struct wcodec_write_batch *batch,
                                         struct wcodec_write_items *items, uint64_t size, bool keep,
                                         wcodec_error *err);

/* Does the coder have an item that begins at `offset` of the source? */
bool wcodec_write_batch_by_coder(const struct wcodec_write_batch *batch,
                                 const struct wcodec_entry *what, bool weights, uint64_t offset);

/* Would an item of `size` bytes make a batch that is not empty too large, or one of two kinds? */
bool wcodec_write_batch_is_full(const struct wcodec_write_batch *batch, uint64_t size,
                                bool by_coder);

/* Put an item at the end. */
void wcodec_write_batch_add(struct wcodec_write_batch *batch, const struct wcodec_entry *what,
                            bool weights, bool by_coder);

/* Read and code the items and write what was pending; then they are pending, and the batch is
 * empty. Where batches overlap, those before them are coded, and they are read. After a failure it
 * can only be freed. */
wcodec_status wcodec_write_batch_run(struct wcodec_write_batch *batch, wcodec_error *err);

/* Be done with the bytes of what is pending. */
wcodec_status wcodec_write_batch_settle(struct wcodec_write_batch *batch, wcodec_error *err);

/* Write all that was run. The batch must be empty. */
wcodec_status wcodec_write_batch_flush(struct wcodec_write_batch *batch, wcodec_error *err);

#endif
