/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tree hash (doc/format.md 1.5): XXH3-128s of leaves of 64 KiB, and one of these. Bytes come in
 * parts of any size and order, from several threads at once, and each is hashed where it is, while
 * it is in cache; what shares a leaf with other parts is copied together first. */
#ifndef WCODEC_IO_TREE_H
#define WCODEC_IO_TREE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <wcodec/context.h>

enum { WCODEC_LEAF_BYTES = 1 << 16, WCODEC_TREE_SMALL = 16 };

struct wcodec_tree_hash {
    uint64_t low, high;
};

/* XXH3-128 of one leaf. */
typedef struct wcodec_tree_hash (*wcodec_leaf_fn)(const void *data, size_t size);

/* By the library that xxHash is installed as. */
struct wcodec_tree_hash wcodec_leaf_plain(const void *data, size_t size);

struct wcodec_tree_leaf {
    struct wcodec_tree_hash hash;
    uint8_t *part;           /* its bytes as far as they came in parts; NULL: none did */
    _Atomic uint32_t filled; /* bytes that came in parts */
    atomic_bool done;        /* `hash` is set */
};

struct wcodec_tree {
    const wcodec_allocator *allocator;
    wcodec_leaf_fn leaf;
    uint64_t window; /* leaves that have a slot: leaf i has i % window */
    uint64_t first;  /* leaves before this one are in the root */
    struct wcodec_tree_leaf *leaves;
    void *root;           /* XXH3_state_t */
    pthread_mutex_t lock; /* of `spare`, and of `part` while it is NULL */
    void *spare;          /* a list of buffers of a leaf each */
    /* NULL, or where hashes of leaves stay that are in the root, by number; and the bytes of the
     * first leaf where they came in parts. */
    struct wcodec_tree_hash *kept;
    uint8_t *kept_first;
};

/* A tree that has bytes of `window` leaves at a time. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_tree_init(struct wcodec_tree *tree, const wcodec_allocator *allocator,
                               wcodec_leaf_fn leaf, uint64_t window, wcodec_error *err);
/* Also of one that is all zeros. */
void wcodec_tree_free(struct wcodec_tree *tree);

/* Bytes that leaves of the window hold, of data that begins anywhere in its first leaf. */
static inline uint64_t wcodec_tree_span(const struct wcodec_tree *tree)
{
    return (tree->window - 1) * WCODEC_LEAF_BYTES;
}

/* Bytes [offset, offset + size), which come once. Their leaves must be in the window. Several
 * threads may call it at once. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_tree_put(struct wcodec_tree *tree, uint64_t offset, const void *data,
                              uint64_t size, wcodec_error *err);

/* The hash of a leaf all of whose bytes somebody else hashed; else as wcodec_tree_put(). */
void wcodec_tree_put_leaf(struct wcodec_tree *tree, uint64_t number, struct wcodec_tree_hash hash);

/* Hashes of `count` leaves from number `number` on, before which all is complete: straight to the
 * root. No other call at the same time. */
void wcodec_tree_put_leaves(struct wcodec_tree *tree, uint64_t number,
                            const struct wcodec_tree_hash *hashes, uint64_t count);

/* Take leaves that are complete into the root, so that the window moves on. No other call at the
 * same time. */
void wcodec_tree_advance(struct wcodec_tree *tree);

/* After that, the bytes of the first leaf that is not complete, as far as they came: there must be
 * some. */
const uint8_t *wcodec_tree_rest(const struct wcodec_tree *tree);

/* The hash of `size` bytes, all of which came. The tree can only be freed after it. */
struct wcodec_tree_hash wcodec_tree_end(struct wcodec_tree *tree, uint64_t size);

/* Of at most WCODEC_TREE_SMALL leaves. */
struct wcodec_tree_hash wcodec_tree_of(wcodec_leaf_fn leaf, const void *data, uint64_t size);

/* In the order of XXH128_canonicalFromHash(): most significant byte first. */
void wcodec_tree_canonical(struct wcodec_tree_hash hash, uint8_t bytes[16]);

#endif
