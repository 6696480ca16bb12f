/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "io/tree.h"
#include "core/assert.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum { LEAF = WCODEC_LEAF_BYTES, DIGEST = 16, BULK = 64 };

/* A buffer that no leaf uses. */
struct spare {
    struct spare *next;
};

struct wcodec_tree_hash wcodec_leaf_plain(const void *data, size_t size)
{
    const XXH128_hash_t h = XXH3_128bits(data, size);
    return (struct wcodec_tree_hash){h.low64, h.high64};
}

wcodec_status wcodec_tree_init(struct wcodec_tree *tree, const wcodec_allocator *allocator,
                               wcodec_leaf_fn leaf, uint64_t window, wcodec_error *err)
{
    *tree = (struct wcodec_tree){.allocator = allocator, .leaf = leaf, .window = window};
    WCODEC_ASSERT(window > 0);
    uint64_t bytes;
    if (wcodec_mul_u64(window, sizeof *tree->leaves, &bytes) && bytes <= SIZE_MAX)
        tree->leaves = wcodec_alloc_zeroed(allocator, (size_t)bytes);
    tree->root = XXH3_createState();
    if (tree->leaves != NULL && tree->root != NULL && XXH3_128bits_reset(tree->root) == XXH_OK &&
        pthread_mutex_init(&tree->lock, NULL) == 0)
        return WCODEC_OK;
    XXH3_freeState(tree->root);
    wcodec_free(allocator, tree->leaves);
    *tree = (struct wcodec_tree){.allocator = NULL};
    return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                       "out of memory for the hashes of %" PRIu64 " leaves", window);
}

void wcodec_tree_free(struct wcodec_tree *tree)
{
    if (tree->leaves == NULL)
        return;
    for (uint64_t i = 0; i < tree->window; i++)
        wcodec_free(tree->allocator, tree->leaves[i].part);
    for (struct spare *s = tree->spare, *next; s != NULL; s = next) {
        next = s->next;
        wcodec_free(tree->allocator, s);
    }
    wcodec_free(tree->allocator, tree->leaves);
    XXH3_freeState(tree->root);
    pthread_mutex_destroy(&tree->lock);
    *tree = (struct wcodec_tree){.allocator = NULL};
}

/* The leaf's buffer, its own from now on. NULL: out of memory. */
static uint8_t *open_part(struct wcodec_tree *tree, struct wcodec_tree_leaf *leaf)
{
    pthread_mutex_lock(&tree->lock);
    if (leaf->part == NULL && tree->spare != NULL) {
        struct spare *s = tree->spare;
        tree->spare = s->next;
        leaf->part = (uint8_t *)s;
    }
    if (leaf->part == NULL)
        leaf->part = wcodec_alloc(tree->allocator, LEAF);
    uint8_t *part = leaf->part;
    pthread_mutex_unlock(&tree->lock);
    return part;
}

static void close_part(struct wcodec_tree *tree, struct wcodec_tree_leaf *leaf)
{
    pthread_mutex_lock(&tree->lock);
    struct spare *s = (struct spare *)(void *)leaf->part;
    s->next = tree->spare;
    tree->spare = s;
    leaf->part = NULL;
    pthread_mutex_unlock(&tree->lock);
}

static struct wcodec_tree_leaf *leaf_of(const struct wcodec_tree *tree, uint64_t number)
{
    return &tree->leaves[number % tree->window];
}

/* Some of a leaf's bytes. Whoever brings the last ones hashes it. */
static bool put_part(struct wcodec_tree *tree, uint64_t number, uint32_t at, const uint8_t *data,
                     uint32_t size)
{
    struct wcodec_tree_leaf *leaf = leaf_of(tree, number);
    uint8_t *part = open_part(tree, leaf);
    if (part == NULL)
        return false;
    memcpy(part + at, data, size);
    const uint32_t before = atomic_fetch_add_explicit(&leaf->filled, size, memory_order_acq_rel);
    WCODEC_ASSERT(before <= (uint32_t)LEAF - size);
    if (before + size == LEAF) {
        if (number == 0 && tree->kept_first != NULL)
            memcpy(tree->kept_first, part, LEAF);
        leaf->hash = tree->leaf(part, LEAF);
        close_part(tree, leaf);
        atomic_store_explicit(&leaf->done, true, memory_order_release);
    }
    return true;
}

void wcodec_tree_put_leaf(struct wcodec_tree *tree, uint64_t number, struct wcodec_tree_hash hash)
{
    struct wcodec_tree_leaf *leaf = leaf_of(tree, number);
    WCODEC_ASSERT(atomic_load(&leaf->filled) == 0);
    leaf->hash = hash;
    atomic_store_explicit(&leaf->done, true, memory_order_release);
}

wcodec_status wcodec_tree_put(struct wcodec_tree *tree, uint64_t offset, const void *data,
                              uint64_t size, wcodec_error *err)
{
    const uint8_t *from = data;
    while (size > 0) {
        const uint64_t number = offset / LEAF;
        const uint32_t at = (uint32_t)(offset % LEAF),
                       count = size < (uint64_t)LEAF - at ? (uint32_t)size : LEAF - at;
        if (count == LEAF) {
            wcodec_tree_put_leaf(tree, number, tree->leaf(from, LEAF));
        } else if (!put_part(tree, number, at, from, count)) {
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash");
        }
        from += count;
        offset += count;
        size -= count;
    }
    return WCODEC_OK;
}

static void add_to_root(void *root, struct wcodec_tree_hash hash)
{
    uint8_t bytes[DIGEST];
    wcodec_store_u64(bytes, hash.low);
    wcodec_store_u64(bytes + 8, hash.high);
    (void)XXH3_128bits_update(root, bytes, sizeof bytes); /* fails only without a state or data */
}

void wcodec_tree_advance(struct wcodec_tree *tree)
{
    for (;; tree->first++) {
        struct wcodec_tree_leaf *leaf = leaf_of(tree, tree->first);
        if (!atomic_load_explicit(&leaf->done, memory_order_acquire))
            return;
        add_to_root(tree->root, leaf->hash);
        if (tree->kept != NULL)
            tree->kept[tree->first] = leaf->hash;
        atomic_store_explicit(&leaf->filled, 0, memory_order_relaxed);
        atomic_store_explicit(&leaf->done, false, memory_order_relaxed);
    }
}

void wcodec_tree_put_leaves(struct wcodec_tree *tree, uint64_t number,
                            const struct wcodec_tree_hash *hashes, uint64_t count)
{
    uint8_t bytes[BULK * DIGEST];
    wcodec_tree_advance(tree);
    WCODEC_ASSERT(tree->first == number);
    if (tree->kept != NULL && count != 0)
        memcpy(tree->kept + number, hashes, (size_t)count * sizeof *hashes);
    for (uint64_t at = 0, part; at < count; at += part) {
        part = count - at < BULK ? count - at : BULK;
        for (uint64_t i = 0; i < part; i++) {
            wcodec_store_u64(bytes + DIGEST * i, hashes[at + i].low);
            wcodec_store_u64(bytes + DIGEST * i + 8, hashes[at + i].high);
        }
        (void)XXH3_128bits_update(tree->root, bytes, (size_t)(DIGEST * part));
    }
    tree->first += count;
}

const uint8_t *wcodec_tree_rest(const struct wcodec_tree *tree)
{
    return leaf_of(tree, tree->first)->part;
}

static struct wcodec_tree_hash finish(void *root, uint64_t size)
{
    uint8_t bytes[8];
    wcodec_store_u64(bytes, size);
    (void)XXH3_128bits_update(root, bytes, sizeof bytes);
    const XXH128_hash_t h = XXH3_128bits_digest(root);
    return (struct wcodec_tree_hash){h.low64, h.high64};
}

struct wcodec_tree_hash wcodec_tree_end(struct wcodec_tree *tree, uint64_t size)
{
    wcodec_tree_advance(tree);
    const uint32_t left = (uint32_t)(size % LEAF);
    const struct wcodec_tree_leaf *last = leaf_of(tree, tree->first);
    WCODEC_ASSERT(tree->first == size / LEAF && atomic_load(&last->filled) == left);
    if (left != 0)
        add_to_root(tree->root, tree->leaf(last->part, left));
    return finish(tree->root, size);
}

struct wcodec_tree_hash wcodec_tree_of(wcodec_leaf_fn leaf, const void *data, uint64_t size)
{
    const uint8_t *from = data;
    uint8_t bytes[WCODEC_TREE_SMALL * DIGEST + 8];
    size_t count = 0;
    WCODEC_ASSERT(size <= (uint64_t)WCODEC_TREE_SMALL * LEAF);
    for (uint64_t at = 0; at < size; at += LEAF, count += DIGEST) {
        const struct wcodec_tree_hash h =
            leaf(from + at, size - at < LEAF ? (size_t)(size - at) : LEAF);
        wcodec_store_u64(bytes + count, h.low);
        wcodec_store_u64(bytes + count + 8, h.high);
    }
    wcodec_store_u64(bytes + count, size);
    return wcodec_leaf_plain(bytes, count + 8);
}

void wcodec_tree_canonical(struct wcodec_tree_hash hash, uint8_t bytes[16])
{
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(hash.high >> (56 - 8 * i));
        bytes[8 + i] = (uint8_t)(hash.low >> (56 - 8 * i));
    }
}
