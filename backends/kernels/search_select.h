/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search in coded vectors: the least keys of many, by a work-group. */
#ifndef WCODEC_KERNELS_SEARCH_SELECT_H
#define WCODEC_KERNELS_SEARCH_SELECT_H

#include "backends/kernels/search_launch.h"
#include "backends/kernels/vectors.h"

/* A key is the order of a binary32 above a number that decides where these are equal. */
#define WCODEC_SEARCH_NONE 0xffffffffffffffffu
#define WCODEC_SEARCH_NOWHERE 0xffffffffu /* its upper half; no anchor */

WCODEC_DEVICE_FUNCTION uint32_t wcodec_search_order(float key)
{
    const uint32_t bits = WCODEC_FLOAT_BITS(key);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_search_lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Whose keys are selected. */
enum {
    WCODEC_SEARCH_OF_ANCHORS, /* orders of anchors */
    WCODEC_SEARCH_OF_ROWS,    /* orders of rows in slots */
    WCODEC_SEARCH_OF_KEYS
};

struct wcodec_search_source {
    uint64_t from; /* u32[], or u64[] */
    uint32_t begin, end;
    uint32_t query; /* OF_ROWS */
};

/* The rank of the row in a slot of a query. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_search_rank(const struct wcodec_search_launch *l,
                                                   uint32_t query, uint32_t slot)
{
    const WCODEC_GLOBAL uint32_t *probe =
        wcodec_vectors_words(l->probes) + (uint64_t)3 * query * l->pairs;
    uint32_t row = slot;
    for (uint32_t i = 0; !(l->flags & WCODEC_SEARCH_ALL) && i < l->pairs; i++, probe += 3) {
        if (probe[0] == WCODEC_SEARCH_NOWHERE || slot < probe[1])
            continue;
        const WCODEC_GLOBAL uint32_t *begin = wcodec_vectors_words(l->begin) + probe[0];
        if (slot - probe[1] < begin[1] - begin[0]) {
            row = begin[0] + (slot - probe[1]);
            break;
        }
    }
    return wcodec_vectors_words(l->ranks)[row];
}

/* Key i, if it is not above the limit; else NONE. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_search_key(const uint32_t kind,
                                                  const struct wcodec_search_launch *l,
                                                  const struct wcodec_search_source *s, uint32_t i,
                                                  uint64_t limit)
{
    uint64_t key;
    if (kind == WCODEC_SEARCH_OF_KEYS)
        key = wcodec_vectors_keys(s->from)[i];
    else {
        const uint32_t order = wcodec_vectors_words(s->from)[i];
        if (order > (uint32_t)(limit >> 32) || order == WCODEC_SEARCH_NOWHERE)
            return WCODEC_SEARCH_NONE;
        key = (uint64_t)order << 32 |
              (kind == WCODEC_SEARCH_OF_ROWS ? wcodec_search_rank(l, s->query, i) : i - s->begin);
    }
    return key <= limit ? key : WCODEC_SEARCH_NONE;
}

/* Key i, or what is no less and sooner known. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_search_above(const uint32_t kind,
                                                    const struct wcodec_search_source *s,
                                                    uint32_t i)
{
    return kind == WCODEC_SEARCH_OF_KEYS
               ? wcodec_vectors_keys(s->from)[i]
               : (uint64_t)wcodec_vectors_words(s->from)[i] << 32 | WCODEC_SEARCH_NOWHERE;
}

/* No more than that, and at least as much as the k-th least: of parts of the keys each one's least,
 * of those up to a limit that is known to be enough; NONE: the first one. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_search_limit(const uint32_t kind, struct wcodec_warp *warp,
                                                    const struct wcodec_vectors_item *w,
                                                    const struct wcodec_search_launch *l,
                                                    const struct wcodec_search_source *s,
                                                    uint32_t k, uint64_t limit)
{
    const uint32_t most = WCODEC_SEARCH_SELECTED / w->items,
                   turns = (2 * k + w->items - 1) / w->items,
                   cells = w->items * wcodec_search_lesser(turns, most);
    for (uint32_t cell = w->item; cell < cells; cell += w->items) {
        uint64_t least = WCODEC_SEARCH_NONE;
        for (uint32_t i = s->begin + cell; i < s->end; i += cells) {
            const uint64_t key = limit == WCODEC_SEARCH_NONE
                                     ? wcodec_search_above(kind, s, i)
                                     : wcodec_search_key(kind, l, s, i, limit);
            least = key < least ? key : least;
        }
        w->shared[cell] = least;
    }
    WCODEC_SYNC_ITEMS(warp);
    wcodec_vectors_sort_local(warp, w, w->shared, cells);
    return w->shared[k - 1];
}

/* The least k keys to local memory, in order. Returns how many there are. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_search_least(const uint32_t kind, struct wcodec_warp *warp,
                                                    const struct wcodec_vectors_item *w,
                                                    const struct wcodec_search_launch *l,
                                                    const struct wcodec_search_source *s,
                                                    uint32_t k)
{
    WCODEC_GROUP_LOCAL uint32_t *counter =
        (WCODEC_GROUP_LOCAL uint32_t *)(w->shared + WCODEC_SEARCH_SELECTED);
    uint64_t limit = wcodec_search_limit(kind, warp, w, l, s, k, WCODEC_SEARCH_NONE);
    for (;;) {
        WCODEC_SYNC_ITEMS(warp);
        if (w->item == 0)
            *counter = 0;
        WCODEC_SYNC_ITEMS(warp);
        for (uint32_t i = s->begin + w->item; i < s->end; i += w->items) {
            const uint64_t key = wcodec_search_key(kind, l, s, i, limit);
            if (key != WCODEC_SEARCH_NONE) {
                const uint32_t at = wcodec_local_add(counter, 1);
                if (at < WCODEC_SEARCH_SELECTED)
                    w->shared[at] = key;
            }
        }
        WCODEC_SYNC_ITEMS(warp);
        const uint32_t count = *counter, kept = wcodec_search_lesser(count, WCODEC_SEARCH_SELECTED);
        wcodec_vectors_sort_local(warp, w, w->shared, kept);
        if (count == kept)
            return wcodec_search_lesser(kept, k);
        /* Half of those that were kept, at least, are above. Where many keys are equal but for what
         * decides then, those kept say little of the others, and so all are looked at again. */
        const uint64_t kth = w->shared[k - 1];
        WCODEC_SYNC_ITEMS(warp);
        limit = wcodec_search_limit(kind, warp, w, l, s, k, kth);
        limit = limit < kth ? limit : kth;
    }
}

#endif
