/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What is known of a tensor that a coder has, and that is not read: samples of it, the bytes at its
 * ends, and hashes of the leaves between these. */
#ifndef WCODEC_WRITE_LOOKED_H
#define WCODEC_WRITE_LOOKED_H

#include "core/context.h"
#include "write/coder.h"
#include "write/dedup.h"

struct wcodec_looked {
    uint8_t *memory; /* NULL: nothing is known yet */
    uint64_t offset, size;
    uint8_t *samples;
    uint8_t *head, *tail; /* bytes of leaves that begin before the tensor, or end after it */
    uint64_t head_size, tail_size;
    uint64_t first_leaf, leaf_count;
    struct wcodec_tree_hash *leaves;
};

/* Look at `size` bytes from `offset` of the source on, more than all samples have; these are not
 * set unless `samples` says so. From several threads at once. WCODEC_ERROR_MEMORY, and what the
 * coder says. */
wcodec_status wcodec_looked_take(const wcodec_allocator *allocator,
                                 const struct wcodec_write_coder *coder, uint64_t offset,
                                 uint64_t size, bool samples, struct wcodec_looked *looked,
                                 wcodec_error *err);

/* Put all of it into the source's tree, in which what is before it is complete. No other call at
 * the same time. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_looked_put(const struct wcodec_looked *looked, struct wcodec_tree *tree,
                                wcodec_error *err);
/* The same in two steps, for a tree that has room for all leaves: first the ends of all tensors, in
 * any order, by several threads, then the leaves, in order. */
wcodec_status wcodec_looked_put_ends(const struct wcodec_looked *looked, struct wcodec_tree *tree,
                                     wcodec_error *err);
void wcodec_looked_put_leaves(const struct wcodec_looked *looked, struct wcodec_tree *tree);

void wcodec_looked_free(const wcodec_allocator *allocator, struct wcodec_looked *looked);

#endif
