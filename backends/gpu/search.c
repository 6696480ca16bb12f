/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/search.h"

#include <wcodec/search.h>

enum {
    SLICES = 16 /* work-groups at most that share the queries of an anchor */
};

_Static_assert((int)WCODEC_SEARCH_PIECE == (int)WCODEC_SEARCH_ROWS, "one is the other");

static const uint32_t most_items[WCODEC_SEARCH_KERNELS] = {
#define WCODEC_SEARCH_KERNEL(name, most, at_once) most,
#include "backends/kernels/search.def"
#undef WCODEC_SEARCH_KERNEL
};

const char *const wcodec_search_kernel_names[WCODEC_SEARCH_KERNELS] = {
#define WCODEC_SEARCH_KERNEL(name, most, at_once) #name,
#include "backends/kernels/search.def"
#undef WCODEC_SEARCH_KERNEL
};

bool wcodec_gpu_search_fits(const struct wcodec_search_shape *shape)
{
    return shape->rows <= 1 << 30 && shape->anchors <= 1 << 26 && shape->segments <= 1 << 16;
}

static void put_vectors(struct wcodec_search_launch *l, const struct wcodec_search_shape *s,
                        uint64_t vectors)
{
    const struct wcodec_search_places p = wcodec_search_places(s);
    l->panels = vectors + p.panels;
    l->anchors = vectors + p.anchors;
    l->anchor_lengths = vectors + p.anchor_lengths;
    l->scales = vectors + p.scales;
    l->begin = vectors + p.begin;
    l->segments = vectors + p.segments;
    l->pieces = vectors + p.pieces;
    l->ranks = vectors + p.ranks;
    l->squares = vectors + p.squares;
    l->lengths = vectors + p.lengths;
    l->anchor_count = s->anchors;
    l->segment_count = s->segments;
    l->piece_count = s->pieces;
    l->rows = (uint32_t)s->rows;
    l->pitch = s->pitch;
}

static void put_work(struct wcodec_search_launch *l, const struct wcodec_search_step *s,
                     uint64_t work)
{
    const struct wcodec_search_work w = wcodec_search_work(s);
    const uint64_t anchors = 4 * (uint64_t)s->queries * s->shape->anchors,
                   pairs = (uint64_t)s->queries * s->pairs;
    uint64_t at = work + w.own;
    l->allowed = work + w.allowed;
    l->queries = work + w.queries;
    l->query_lengths = work + w.lengths;
    l->found = work + w.found;
    l->base = wcodec_search_put(&at, anchors);
    l->order = wcodec_search_put(&at, anchors);
    l->probes = wcodec_search_put(&at, 12 * pairs);
    l->entries = wcodec_search_put(&at, 8 * pairs);
    l->looked = wcodec_search_put(&at, 4 * (uint64_t)s->queries);
    l->counts = wcodec_search_put(&at, 4 * (uint64_t)s->shape->anchors);
    l->first = wcodec_search_put(&at, 4 * ((uint64_t)s->shape->anchors + 1));
    l->parts = wcodec_search_put(&at, 8 * (uint64_t)s->queries * s->splits * s->k);
    l->keys = at;
}

static uint32_t divide_up(uint64_t a, uint32_t b)
{
    return (uint32_t)(a / b + (a % b != 0));
}

struct list {
    struct wcodec_gpu_search_launch *launches;
    unsigned count;
    uint32_t items;
    struct wcodec_search_launch arguments;
};

static void add(struct list *l, enum wcodec_search_kernel kernel, uint32_t groups, uint32_t shared)
{
    const uint32_t most = most_items[kernel];
    l->launches[l->count++] =
        (struct wcodec_gpu_search_launch){.kernel = kernel,
                                          .groups = groups,
                                          .threads = l->items < most ? l->items : most,
                                          .shared = shared,
                                          .arguments = l->arguments};
}

unsigned wcodec_gpu_search_launches(const struct wcodec_search_step *step, uint32_t items,
                                    uint64_t codes, uint64_t vectors, uint64_t work,
                                    struct wcodec_gpu_search_launch *launches)
{
    const struct wcodec_search_shape *s = step->shape;
    const bool all = step->probes == 0;
    const uint32_t eights = divide_up(step->queries, WCODEC_SEARCH_TOGETHER),
                   slices = divide_up(eights, all ? WCODEC_SEARCH_TOGETHER : 32),
                   keys = 8 * WCODEC_SEARCH_SELECTED + 16,
                   vector = 4 * WCODEC_SEARCH_TOGETHER * (WCODEC_SEARCH_PART / 2 + 5) + 4 * items;
    struct list l = {launches,
                     0,
                     items,
                     {.codes = codes,
                      .count = step->queries,
                      .k = step->k,
                      .probe_count = step->probes,
                      .pairs = step->pairs,
                      .room = step->room,
                      .splits = step->splits,
                      .flags = (all ? WCODEC_SEARCH_ALL : 0u) |
                               (step->filtered ? WCODEC_SEARCH_FILTERED : 0u) |
                               (step->metric == WCODEC_VECTORS_L2 ? WCODEC_SEARCH_DISTANCE : 0u) |
                               (step->metric == WCODEC_VECTORS_COSINE ? WCODEC_SEARCH_ANGLE : 0u)}};
    put_vectors(&l.arguments, s, vectors);
    put_work(&l.arguments, step, work);
    add(&l, WCODEC_SEARCH_KERNEL_measure, divide_up(s->anchors, items) * eights,
        4 * WCODEC_SEARCH_TOGETHER * WCODEC_SEARCH_FEW);
    if (!all) {
        add(&l, WCODEC_SEARCH_KERNEL_choose, step->queries * s->segments, keys);
        add(&l, WCODEC_SEARCH_KERNEL_group, 1, 4 * items);
        add(&l, WCODEC_SEARCH_KERNEL_place, divide_up((uint64_t)step->queries * step->pairs, items),
            16);
    }
    add(&l, WCODEC_SEARCH_KERNEL_look, s->pieces * (slices < SLICES ? slices : SLICES), vector);
    add(&l, WCODEC_SEARCH_KERNEL_select, step->queries * step->splits, keys);
    if (step->splits > 1)
        add(&l, WCODEC_SEARCH_KERNEL_merge, step->queries, keys);
    return l.count;
}
