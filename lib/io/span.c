/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "io/span.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include <string.h>

enum { LEAF = WCODEC_LEAF_BYTES, DIGEST = 16, NUMBERS = 6, HEAD = NUMBERS * 8 };

wcodec_status wcodec_span_begin(struct wcodec_span_maker *maker, struct wcodec_tree *tree,
                                const wcodec_allocator *allocator, wcodec_error *err)
{
    const uint64_t leaves = (maker->end - maker->begin) / LEAF + 2;
    maker->pad = maker->begin % LEAF;
    maker->leaves = wcodec_alloc_array(allocator, leaves, sizeof *maker->leaves);
    maker->front = wcodec_alloc_zeroed(allocator, LEAF);
    if (maker->leaves == NULL || maker->front == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a part's hashes");
    tree->kept = maker->leaves;
    tree->kept_first = maker->front;
    return WCODEC_OK;
}

void wcodec_span_free(struct wcodec_span_maker *maker, const wcodec_allocator *allocator)
{
    wcodec_free(allocator, maker->leaves);
    wcodec_free(allocator, maker->front);
    maker->leaves = NULL;
    maker->front = NULL;
}

static uint8_t *put_u64(uint8_t *to, uint64_t value)
{
    wcodec_store_u64(to, value);
    return to + 8;
}

static uint8_t *put_bytes(uint8_t *to, const uint8_t *bytes, uint64_t size)
{
    if (size != 0)
        memcpy(to, bytes, (size_t)size);
    return to + size;
}

static uint64_t size_of(const struct wcodec_span *s)
{
    return HEAD + s->front_size + s->back_size + s->leaf_count * DIGEST;
}

static void write_span(const struct wcodec_span *s, const struct wcodec_tree_hash *leaves,
                       uint8_t *to)
{
    const uint64_t numbers[NUMBERS] = {s->begin,      s->end,       s->file_size,
                                       s->front_size, s->back_size, s->leaf_count};
    for (unsigned i = 0; i < NUMBERS; i++)
        to = put_u64(to, numbers[i]);
    to = put_bytes(to, s->front, s->front_size);
    to = put_bytes(to, s->back, s->back_size);
    for (uint64_t i = 0; i < s->leaf_count; i++) {
        to = put_u64(to, leaves[i].low);
        to = put_u64(to, leaves[i].high);
    }
}

wcodec_status wcodec_span_end(const struct wcodec_span_maker *maker, struct wcodec_tree *tree,
                              uint64_t file_size, const wcodec_allocator *allocator,
                              uint8_t **bytes, uint64_t *size, wcodec_error *err)
{
    const bool shared = maker->pad != 0; /* the first leaf */
    const uint64_t hashed = maker->pad + (maker->end - maker->begin), whole = hashed / LEAF;
    struct wcodec_span s = {.begin = maker->begin, .end = maker->end, .file_size = file_size};
    wcodec_tree_advance(tree);
    if (whole == 0) { /* all of it is in one leaf */
        s.back_size = maker->end - maker->begin;
        s.back = s.back_size != 0 ? wcodec_tree_rest(tree) + maker->pad : NULL;
    } else {
        s.front_size = shared ? LEAF - maker->pad : 0;
        s.front = maker->front + maker->pad;
        s.back_size = hashed % LEAF;
        s.back = s.back_size != 0 ? wcodec_tree_rest(tree) : NULL;
        s.leaf_count = whole - shared;
    }
    tree->kept = NULL;
    tree->kept_first = NULL;
    *size = size_of(&s);
    *bytes = wcodec_alloc_array(allocator, *size, 1);
    if (*bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a part's hashes");
    write_span(&s, maker->leaves + shared, *bytes);
    return WCODEC_OK;
}

/* Do the pieces lie where leaves of the file say? */
static bool is_consistent(const struct wcodec_span *s)
{
    if (s->begin > s->end || s->end > s->file_size || s->front_size >= LEAF ||
        s->back_size >= LEAF || s->leaf_count > s->file_size / LEAF ||
        s->end - s->begin != s->front_size + s->leaf_count * LEAF + s->back_size)
        return false;
    const uint64_t at = s->begin + s->front_size;
    return at % LEAF == 0 ||
           (s->front_size == 0 && s->leaf_count == 0 && at % LEAF + s->back_size < LEAF);
}

bool wcodec_span_read(const uint8_t *bytes, uint64_t size, struct wcodec_span *span)
{
    struct wcodec_span s;
    uint64_t *const numbers[NUMBERS] = {&s.begin,      &s.end,       &s.file_size,
                                        &s.front_size, &s.back_size, &s.leaf_count};
    if (size < HEAD)
        return false;
    for (unsigned i = 0; i < NUMBERS; i++)
        *numbers[i] = wcodec_load_u64(bytes + 8 * (size_t)i);
    if (!is_consistent(&s) || s.leaf_count > size / DIGEST || size_of(&s) != size)
        return false;
    s.front = bytes + HEAD;
    s.back = s.front + s.front_size;
    s.leaves = s.back + s.back_size;
    *span = s;
    return true;
}

wcodec_status wcodec_span_put(const struct wcodec_span *span, struct wcodec_tree *tree,
                              wcodec_error *err)
{
    uint64_t leaf = (span->begin + span->front_size) / LEAF;
    wcodec_tree_advance(tree);
    wcodec_status status = wcodec_tree_put(tree, span->begin, span->front, span->front_size, err);
    wcodec_tree_advance(tree);
    for (uint64_t i = 0; i < span->leaf_count && status == WCODEC_OK; i++) {
        const uint8_t *at = span->leaves + i * DIGEST;
        wcodec_tree_put_leaf(
            tree, leaf++, (struct wcodec_tree_hash){wcodec_load_u64(at), wcodec_load_u64(at + 8)});
        wcodec_tree_advance(tree);
    }
    if (status == WCODEC_OK)
        status =
            wcodec_tree_put(tree, span->end - span->back_size, span->back, span->back_size, err);
    wcodec_tree_advance(tree);
    return status;
}
