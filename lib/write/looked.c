/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/looked.h"
#include "core/assert.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"

enum {
    LEAF = WCODEC_LEAF_BYTES,
    SAMPLES = WCODEC_DEDUP_SAMPLES,
    SAMPLE_BYTES = WCODEC_DEDUP_SAMPLES * WCODEC_DEDUP_SAMPLE
};

static void lay_out(struct wcodec_looked *l)
{
    const uint64_t end = l->offset + l->size;
    l->first_leaf = wcodec_div_up_u64(l->offset, LEAF);
    l->leaf_count = end / LEAF > l->first_leaf ? end / LEAF - l->first_leaf : 0;
    l->head_size = l->first_leaf * LEAF - l->offset;
    l->head_size = l->head_size < l->size ? l->head_size : l->size;
    l->tail_size = l->size - l->head_size - l->leaf_count * LEAF;
}

wcodec_status wcodec_looked_take(const wcodec_allocator *allocator,
                                 const struct wcodec_write_coder *coder, uint64_t offset,
                                 uint64_t size, bool samples, struct wcodec_looked *looked,
                                 wcodec_error *err)
{
    struct wcodec_looked l = {.offset = offset, .size = size};
    struct wcodec_source_range ranges[SAMPLES + 2];
    unsigned count = 0;
    WCODEC_ASSERT(size > SAMPLE_BYTES);
    lay_out(&l);
    const uint64_t leaves = l.leaf_count * sizeof *l.leaves, sampled = samples ? SAMPLE_BYTES : 0,
                   bytes = sampled + l.head_size + l.tail_size;
    l.memory = wcodec_alloc_array(allocator, leaves + bytes, 1);
    if (l.memory == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for hashes");
    l.leaves = (struct wcodec_tree_hash *)(void *)l.memory;
    l.samples = l.memory + leaves;
    l.head = l.samples + sampled;
    l.tail = l.head + l.head_size;
    for (; samples && count < SAMPLES; count++)
        ranges[count] = (struct wcodec_source_range){
            offset + wcodec_dedup_sample((size_t)size, count), WCODEC_DEDUP_SAMPLE};
    ranges[count++] = (struct wcodec_source_range){offset, l.head_size};
    ranges[count++] = (struct wcodec_source_range){offset + size - l.tail_size, l.tail_size};
    const struct wcodec_write_look look = {.ranges = ranges,
                                           .range_count = count,
                                           .bytes = l.samples,
                                           .first_leaf = l.first_leaf,
                                           .leaf_count = l.leaf_count,
                                           .leaves = l.leaves};
    const wcodec_status status = coder->look(coder->opaque, offset, &look, err);
    if (status != WCODEC_OK)
        wcodec_looked_free(allocator, &l);
    else
        *looked = l;
    return status;
}

wcodec_status wcodec_looked_put(const struct wcodec_looked *l, struct wcodec_tree *tree,
                                wcodec_error *err)
{
    wcodec_status status = wcodec_tree_put(tree, l->offset, l->head, l->head_size, err);
    wcodec_tree_advance(tree);
    if (status == WCODEC_OK && l->leaf_count != 0)
        wcodec_tree_put_leaves(tree, l->first_leaf, l->leaves, l->leaf_count);
    if (status == WCODEC_OK)
        status =
            wcodec_tree_put(tree, l->offset + l->size - l->tail_size, l->tail, l->tail_size, err);
    return status;
}

wcodec_status wcodec_looked_put_ends(const struct wcodec_looked *l, struct wcodec_tree *tree,
                                     wcodec_error *err)
{
    const wcodec_status status = wcodec_tree_put(tree, l->offset, l->head, l->head_size, err);
    return status == WCODEC_OK ? wcodec_tree_put(tree, l->offset + l->size - l->tail_size, l->tail,
                                                 l->tail_size, err)
                               : status;
}

void wcodec_looked_put_leaves(const struct wcodec_looked *l, struct wcodec_tree *tree)
{
    wcodec_tree_advance(tree);
    if (l->leaf_count != 0)
        wcodec_tree_put_leaves(tree, l->first_leaf, l->leaves, l->leaf_count);
}

void wcodec_looked_free(const wcodec_allocator *allocator, struct wcodec_looked *looked)
{
    wcodec_free(allocator, looked->memory);
    *looked = (struct wcodec_looked){.memory = NULL};
}
