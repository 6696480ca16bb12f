/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that somebody else codes where they are, as a device does in its memory: batches of them
 * are not read. */
#ifndef WCODEC_WRITE_CODER_H
#define WCODEC_WRITE_CODER_H

#include "encode/encode.h"
#include "format/index.h"
#include "io/source.h"
#include "io/tree.h"

/* Some bytes of a tensor, and hashes of the leaves of the source that lie in it. */
struct wcodec_write_look {
    const struct wcodec_source_range *ranges; /* in the source */
    size_t range_count;
    uint8_t *bytes;      /* of all ranges, one after the other, at most WCODEC_WRITE_LOOK_MOST */
    uint64_t first_leaf; /* its number in the source */
    uint64_t leaf_count;
    struct wcodec_tree_hash *leaves;
};

enum { WCODEC_WRITE_LOOK_MOST = 3 * WCODEC_LEAF_BYTES };

/* The functions are called from several threads at once. `offset` is where the tensor is in the
 * source. */
struct wcodec_write_coder {
    void *opaque;
    size_t workers; /* so many tensors at once keep it busy */
    uint64_t batch; /* bytes of tensors that are coded before their payloads are written, at most:
                     * what is pinned for these stays bounded; a larger tensor is alone */
    bool by_base;   /* it codes against the batch's bases, and nothing else; false: without any */

    /* Can it look at this tensor, and may it code it? Depends on nothing that changes. */
    bool (*takes)(void *opaque, const struct wcodec_encode_settings *settings,
                  const struct wcodec_entry *what, uint64_t offset);

    /* Bytes of it, where it is to be coded here after all. */
    wcodec_status (*read)(void *opaque, uint64_t offset, void *dst, size_t size, wcodec_error *err);

    /* Not called where neither samples nor the original's hash are the writer's matter. */
    wcodec_status (*look)(void *opaque, uint64_t offset, const struct wcodec_write_look *look,
                          wcodec_error *err);

    /* As wcodec_encode_tensor(), with verifying if settings->verify says so. *done: `coded` is set;
     * else the tensor is to be read and coded here, which gives the same bytes. */
    wcodec_status (*code)(void *opaque, const struct wcodec_encode_settings *settings,
                          const struct wcodec_entry *what, uint64_t offset,
                          struct wcodec_coded *coded, bool *done, wcodec_error *err);

    /* NULL, or what is called for each delta before it is written, whoever coded it, from one
     * thread at a time: sets its base's hash, which was not known when it was coded. */
    wcodec_status (*set_base)(void *opaque, struct wcodec_coded *coded, wcodec_error *err);
};

#endif
