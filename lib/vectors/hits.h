/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a search has found, in order. */
#ifndef WCODEC_VECTORS_HITS_H
#define WCODEC_VECTORS_HITS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wcodec/search.h>

/* The order of what is found: the least first. */
struct wcodec_hit {
    float key; /* squared distance, or product or cosine less than 0 for more than 0 */
    uint64_t id;
};

static inline bool wcodec_hit_before(const struct wcodec_hit *a, const struct wcodec_hit *b)
{
    return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static inline void wcodec_hits_clear(struct wcodec_hit *hits, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hits[i] = (struct wcodec_hit){.key = INFINITY, .id = UINT64_MAX};
}

/* Keep the k first, in order. */
static inline void wcodec_hits_keep(struct wcodec_hit *hits, size_t k, struct wcodec_hit hit)
{
    size_t at = k;
    if (!wcodec_hit_before(&hit, &hits[k - 1]))
        return;
    while (at > 1 && wcodec_hit_before(&hit, &hits[at - 2]))
        at--;
    memmove(hits + at, hits + at - 1, (k - at) * sizeof *hits);
    hits[at - 1] = hit;
}

/* Keep the k first of these and `next`, k more; both are in order. */
static inline void wcodec_hits_merge(struct wcodec_hit *hits, const struct wcodec_hit *next,
                                     size_t k)
{
    size_t old = 0, taken = 0;
    while (old + taken < k) {
        if (wcodec_hit_before(&next[taken], &hits[old]))
            taken++;
        else
            old++;
    }
    /* From the end, where nothing is that is still needed. */
    for (size_t at = k; taken > 0; at--) {
        if (old > 0 && wcodec_hit_before(&next[taken - 1], &hits[old - 1]))
            hits[at - 1] = hits[--old];
        else
            hits[at - 1] = next[--taken];
    }
}

/* What callers get of the k hits of a query. */
static inline void wcodec_hits_put(const struct wcodec_hit *hits, size_t k,
                                   wcodec_vectors_metric metric, uint64_t *ids, float *scores)
{
    for (size_t i = 0; i < k; i++) {
        ids[i] = hits[i].id;
        scores[i] = metric == WCODEC_VECTORS_L2 ? hits[i].key : 0 - hits[i].key;
    }
}

#endif
