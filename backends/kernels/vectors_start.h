/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of vectors to begin with (lib/vectors/start.c is the reference): rows become anchors, one
 * after the other. */
#ifndef WCODEC_KERNELS_VECTORS_START_H
#define WCODEC_KERNELS_VECTORS_START_H

#include "backends/kernels/vectors.h"

/* The row that becomes an anchor: the farthest of all blocks', as the launch before has left them.
 */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_vectors_choose(struct wcodec_warp *warp,
                                                      const struct wcodec_vectors_item *w,
                                                      const struct wcodec_vectors_launch *l,
                                                      uint32_t blocks)
{
    const uint32_t turn = (l->number + 1) % 2 * blocks;
    const WCODEC_GLOBAL float *far = wcodec_vectors_floats(l->farthest) + turn;
    const WCODEC_GLOBAL uint32_t *rows =
        wcodec_vectors_words(l->farthest) + (uint64_t)2 * blocks + turn;
    float most = -1;
    uint32_t row = 0;
    for (uint32_t i = w->item; i < blocks; i += w->items)
        if (far[i] >= most) {
            most = far[i];
            row = rows[i];
        }
    return wcodec_vectors_farthest(warp, w, true, most, row, &most);
}

/* A work-group has a block of rows. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_take_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_vectors_item *w,
                                                       const struct wcodec_vectors_launch *l)
{
    const uint32_t blocks = (l->count + WCODEC_VECTORS_BLOCK_ROWS - 1) / WCODEC_VECTORS_BLOCK_ROWS,
                   first = w->group * WCODEC_VECTORS_BLOCK_ROWS,
                   count = wcodec_vectors_rows_of(l, w->group),
                   taken = l->flags & WCODEC_VECTORS_FARTHEST
                               ? wcodec_vectors_choose(warp, w, l, blocks)
                               : l->row[0],
                   turn = l->number % 2 * blocks;
    WCODEC_GLOBAL float *distance = wcodec_vectors_floats(l->distance) + first;
    float most = -1;
    uint32_t farthest = 0;
    for (uint32_t i = w->item; i < count; i += w->items) {
        float d = wcodec_vectors_to_row(l, taken, first + i);
        if (l->number > 0 && distance[i] < d)
            d = distance[i];
        distance[i] = d;
        if (d >= most) {
            most = d;
            farthest = first + i;
        }
    }
    for (uint32_t j = w->item; w->group == 0 && j < l->pitch; j += w->items)
        wcodec_vectors_floats(l->anchors)[(uint64_t)l->number * l->pitch + j] =
            wcodec_vectors_element(l, (uint64_t)taken * l->pitch + j);
    farthest = wcodec_vectors_farthest(warp, w, true, most, farthest, &most);
    if (w->item == 0) {
        wcodec_vectors_floats(l->farthest)[turn + w->group] = most;
        wcodec_vectors_words(l->farthest)[(uint64_t)2 * blocks + turn + w->group] = farthest;
    }
    if (!(l->flags & WCODEC_VECTORS_SUMS))
        return;
    WCODEC_GROUP_LOCAL double *of = (WCODEC_GROUP_LOCAL double *)w->shared;
    WCODEC_SYNC_ITEMS(warp);
    for (uint32_t i = w->item; i < count; i += w->items)
        of[i] = (double)distance[i];
    WCODEC_SYNC_ITEMS(warp);
    if (w->item == 0)
        wcodec_vectors_doubles(l->sums)[w->group] = wcodec_vectors_in_order(of, count);
}

/* Likewise: what distances would add up to with each of three rows. */
WCODEC_DEVICE_FUNCTION void wcodec_vectors_try_kernel(struct wcodec_warp *warp,
                                                      const struct wcodec_vectors_item *w,
                                                      const struct wcodec_vectors_launch *l)
{
    const uint32_t blocks = (l->count + WCODEC_VECTORS_BLOCK_ROWS - 1) / WCODEC_VECTORS_BLOCK_ROWS,
                   first = w->group * WCODEC_VECTORS_BLOCK_ROWS,
                   count = wcodec_vectors_rows_of(l, w->group);
    WCODEC_GROUP_LOCAL double *of = (WCODEC_GROUP_LOCAL double *)w->shared;
    (void)warp;
    for (uint32_t i = w->item; i < count; i += w->items) {
        const float least = wcodec_vectors_floats(l->distance)[first + i];
        for (uint32_t c = 0; c < 3; c++) {
            const float d = wcodec_vectors_to_row(l, l->row[c], first + i);
            of[c * WCODEC_VECTORS_BLOCK_ROWS + i] = (double)(d < least ? d : least);
        }
    }
    WCODEC_SYNC_ITEMS(warp);
    if (w->item < 3)
        wcodec_vectors_doubles(l->sums)[(uint64_t)w->item * blocks + w->group] =
            wcodec_vectors_in_order(of + w->item * WCODEC_VECTORS_BLOCK_ROWS, count);
}

#endif
