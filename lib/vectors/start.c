/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/vectors.h"

#include <math.h>
#include <string.h>

enum { BLOCK = WCODEC_VECTORS_BLOCK, CANDIDATES = 3 };

/* Rows and one more anchor. Until there are all, work->distance is that of each row to the nearest
 * of those that there are. */
struct start {
    struct wcodec_vectors_work *work;
    const float *anchor;
};

static size_t end_of_block(const struct wcodec_vectors_work *work, size_t block)
{
    return (block + 1) * BLOCK < work->n ? (block + 1) * BLOCK : work->n;
}

/* What the distances would add up to with it. */
static void try_block(void *opaque, size_t block)
{
    const struct start *start = opaque;
    struct wcodec_vectors_work *work = start->work;
    double sum = 0;
    for (size_t i = block * BLOCK; i < end_of_block(work, block); i++) {
        const float d =
            wcodec_vectors_distance(work->rows + i * work->width, start->anchor, work->width);
        sum += (double)(d < work->distance[i] ? d : work->distance[i]);
    }
    work->block_sum[block] = sum;
}

static void take_block(void *opaque, size_t block)
{
    const struct start *start = opaque;
    struct wcodec_vectors_work *work = start->work;
    double sum = 0;
    size_t farthest = block * BLOCK;
    for (size_t i = block * BLOCK; i < end_of_block(work, block); i++) {
        const float d =
            wcodec_vectors_distance(work->rows + i * work->width, start->anchor, work->width);
        if (d < work->distance[i])
            work->distance[i] = d;
        if (work->distance[i] >= work->distance[farthest])
            farthest = i;
        sum += (double)work->distance[i];
    }
    work->block_sum[block] = sum;
    work->block_count[block] = farthest;
}

static double sum_blocks(const struct wcodec_vectors_work *work)
{
    double sum = 0;
    for (size_t i = 0; i < wcodec_vectors_blocks(work); i++)
        sum += work->block_sum[i];
    return sum;
}

static void take(struct wcodec_vectors_work *work, size_t k, size_t row)
{
    struct start start = {.work = work, .anchor = work->anchors + k * work->width};
    memcpy(work->anchors + k * work->width, work->rows + row * work->width,
           work->width * sizeof *work->rows);
    wcodec_run(work->context, take_block, &start, wcodec_vectors_blocks(work));
}

static void begin(struct wcodec_vectors_work *work, size_t row)
{
    for (size_t i = 0; i < work->n; i++)
        work->distance[i] = INFINITY;
    take(work, 0, row);
}

void wcodec_vectors_start_farthest(struct wcodec_vectors_work *work)
{
    begin(work, 0);
    for (size_t k = 1; k < work->m && !wcodec_cancel_poll(&work->cancel); k++) {
        size_t row = work->block_count[0];
        for (size_t i = 1; i < wcodec_vectors_blocks(work); i++)
            if (work->distance[work->block_count[i]] >= work->distance[row])
                row = work->block_count[i];
        take(work, k, row);
    }
}

/* splitmix64, as a number from 0 to below 1. */
static double next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The row at which the sum of distances passes `target`; sums are those of each block. */
static size_t find_row(const struct wcodec_vectors_work *work, const double *sums, double target)
{
    size_t block = 0, last = wcodec_vectors_blocks(work) - 1;
    while (block < last && target >= sums[block])
        target -= sums[block++];
    size_t row = block * BLOCK;
    while (row + 1 < end_of_block(work, block) && target >= (double)work->distance[row])
        target -= (double)work->distance[row++];
    return row;
}

void wcodec_vectors_start_random(struct wcodec_vectors_work *work, uint64_t seed)
{
    begin(work, (size_t)(next(&seed) * (double)work->n));
    for (size_t k = 1; k < work->m && !wcodec_cancel_poll(&work->cancel); k++) {
        const double total = sum_blocks(work);
        size_t candidates[CANDIDATES], best = 0;
        double least = INFINITY;
        for (unsigned i = 0; i < CANDIDATES; i++)
            candidates[i] = find_row(work, work->block_sum, next(&seed) * total);
        for (unsigned i = 0; i < CANDIDATES; i++) {
            struct start start = {.work = work, .anchor = work->rows + candidates[i] * work->width};
            wcodec_run(work->context, try_block, &start, wcodec_vectors_blocks(work));
            const double sum = sum_blocks(work);
            if (sum < least) {
                least = sum;
                best = candidates[i];
            }
        }
        take(work, k, best);
    }
}
