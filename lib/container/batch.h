/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Neighbours of the original that are read, coded in parallel and written together: small tensors keep all threads busy, and memory stays bounded. */
#ifndef WCODEC_CONTAINER_BATCH_H
#define WCODEC_CONTAINER_BATCH_H

#include "container/dedup.h"
#include "container/output.h"

/* A batch ends before it would pass either; a larger item is a batch of its own. */
#define WCODEC_BATCH_BYTES ((uint64_t)32 << 20)
enum { WCODEC_BATCH_ITEMS = 4096 };

/* One entry to be. */
struct wcodec_batch_item {
    struct wcodec_entry what;
    bool weights;          /* code as a weight tensor; else in chunks */
    uint64_t at;           /* in the batch's bytes */
    uint64_t alias;        /* number of the entry that it equals, UINT64_MAX: none */
    struct wcodec_dedup_hash hash;
    struct wcodec_coded coded; /* set if alias is not */
    bool is_coded;
};

struct wcodec_batch {
    wcodec_context *context;
    const struct wcodec_source *source;
    struct wcodec_encode_settings settings;
    struct wcodec_output *output;
    struct wcodec_dedup *dedup; /* NULL: no aliases */
    uint64_t begin;             /* in the source: where the first item starts */
    uint64_t size;              /* bytes of all items */
    size_t count;
    struct wcodec_batch_item *items; /* WCODEC_BATCH_ITEMS of them */
    const uint8_t *bytes; /* of all items: in the source, or read to data */
    uint8_t *data;
    uint64_t data_room;
};

/* Code data of `size` bytes as an entry. Tiny ones are dealt with here: 1, 2, 4 and 8 bytes are a constant, so that they need no payload; others up to WCODEC_TINY_BYTES are a constant or stored,
 * since no coding gains there what its frame takes, and there can be a million of them. */
enum { WCODEC_TINY_BYTES = 256 };
wcodec_status wcodec_code_bytes(wcodec_context *context, const struct wcodec_encode_settings *settings, bool weights, wcodec_dtype dtype, const void *data, uint64_t size,
                                struct wcodec_coded *coded, wcodec_error *err);

/* Would an item of `size` bytes make a batch that is not empty too large? */
bool wcodec_batch_is_full(const struct wcodec_batch *batch, uint64_t size, uint64_t limit);

/* Read, code and write the items, then empty the batch. */
wcodec_status wcodec_batch_run(struct wcodec_batch *batch, wcodec_error *err);

#endif
