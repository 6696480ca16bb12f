/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "vectors/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BLOCK = WCODEC_VECTORS_BLOCK, LANES = WCODEC_NEAREST_LANES, CANDIDATES = 3 };

/* Rows and anchors that may be the next. Until there are all, work->distance is that of each row to
 * the nearest of those that there are. */
struct start {
    struct wcodec_vectors_work *work;
    const float *candidates; /* CANDIDATES * width; one is taken */
    double *sums;            /* of each block what the distances would add up to with each */
};

/* A block's rows beside each other, as the kernel takes anchors; after the last one, zeros. */
static void turn_block(void *opaque, size_t block)
{
    struct wcodec_vectors_work *work = opaque;
    const size_t end = (wcodec_vectors_block_end(work, block) + LANES - 1) / LANES * LANES;
    for (size_t i = block * BLOCK; i < end; i++)
        wcodec_vectors_put_lane(work->columns, i, i < work->n ? work->rows + i * work->width : NULL,
                                work->width, 0);
}

/* Distances of a block's rows to `count` anchors; those of each begin so far apart as returned. */
static size_t measure(const struct wcodec_vectors_work *work, size_t block, const float *anchors,
                      size_t count, float *distances)
{
    const size_t first = block * BLOCK,
                 panels = (wcodec_vectors_block_end(work, block) - first + LANES - 1) / LANES;
    work->dsp.distances(anchors, count, work->width, work->columns + first * work->width, panels,
                        distances);
    return panels * LANES;
}

static void try_block(void *opaque, size_t block)
{
    const struct start *start = opaque;
    const struct wcodec_vectors_work *work = start->work;
    float distances[CANDIDATES * BLOCK];
    const size_t first = block * BLOCK,
                 step = measure(work, block, start->candidates, CANDIDATES, distances);
    for (size_t c = 0; c < CANDIDATES; c++) {
        double sum = 0;
        for (size_t i = first; i < wcodec_vectors_block_end(work, block); i++) {
            const float d = distances[c * step + i - first];
            sum += (double)(d < work->distance[i] ? d : work->distance[i]);
        }
        start->sums[c * wcodec_vectors_blocks(work) + block] = sum;
    }
}

static void take_block(void *opaque, size_t block)
{
    const struct start *start = opaque;
    struct wcodec_vectors_work *work = start->work;
    float distances[BLOCK];
    double sum = 0;
    const size_t first = block * BLOCK;
    size_t farthest = first;
    measure(work, block, start->candidates, 1, distances);
    for (size_t i = first; i < wcodec_vectors_block_end(work, block); i++) {
        const float d = distances[i - first];
        if (d < work->distance[i])
            work->distance[i] = d;
        if (work->distance[i] >= work->distance[farthest])
            farthest = i;
        sum += (double)work->distance[i];
    }
    work->block_sum[block] = sum;
    work->block_count[block] = farthest;
}

static void take(struct wcodec_vectors_work *work, size_t k, size_t row)
{
    struct start start = {.work = work, .candidates = work->anchors + k * work->width};
    memcpy(work->anchors + k * work->width, work->rows + row * work->width,
           work->width * sizeof *work->rows);
    wcodec_run(work->context, take_block, &start, wcodec_vectors_blocks(work));
}

static wcodec_status begin(struct wcodec_vectors_work *work, size_t row, wcodec_error *err)
{
    const uint64_t count = wcodec_align_u64(work->n, LANES), size = work->width * sizeof(float);
    uint64_t bytes;
    if (!wcodec_mul_u64(2 * size, count, &bytes) || bytes > work->context->limits.max_memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%zu vectors of %zu dimensions take %" PRIu64
                           " bytes for each to begin with: more than the limit of memory",
                           work->n, work->d, 2 * size);
    work->columns = wcodec_alloc_array(&work->context->allocator, count, (size_t)size);
    if (work->columns == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", work->n);
    wcodec_run(work->context, turn_block, work, wcodec_vectors_blocks(work));
    for (size_t i = 0; i < work->n; i++)
        work->distance[i] = INFINITY;
    take(work, 0, row);
    return WCODEC_OK;
}

static void end(struct wcodec_vectors_work *work)
{
    wcodec_free(&work->context->allocator, work->columns);
    work->columns = NULL;
}

wcodec_status wcodec_vectors_start_farthest(struct wcodec_vectors_work *work, wcodec_error *err)
{
    const wcodec_status status = begin(work, 0, err);
    for (size_t k = 1; status == WCODEC_OK && k < work->m && !wcodec_cancel_poll(&work->cancel);
         k++) {
        size_t row = work->block_count[0];
        for (size_t i = 1; i < wcodec_vectors_blocks(work); i++)
            if (work->distance[work->block_count[i]] >= work->distance[row])
                row = work->block_count[i];
        take(work, k, row);
    }
    end(work);
    return status;
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
    while (row + 1 < wcodec_vectors_block_end(work, block) && target >= (double)work->distance[row])
        target -= (double)work->distance[row++];
    return row;
}

/* The best of some rows that are chosen by their distances. */
static size_t choose(struct start *start, float *candidates, uint64_t *seed)
{
    const struct wcodec_vectors_work *work = start->work;
    const size_t blocks = wcodec_vectors_blocks(work);
    const double total = wcodec_vectors_sum(work, work->block_sum);
    size_t rows[CANDIDATES], best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < CANDIDATES; i++) {
        rows[i] = find_row(work, work->block_sum, next(seed) * total);
        memcpy(candidates + i * work->width, work->rows + rows[i] * work->width,
               work->width * sizeof *candidates);
    }
    wcodec_run(work->context, try_block, start, blocks);
    for (size_t i = 0; i < CANDIDATES; i++) {
        const double sum = wcodec_vectors_sum(work, start->sums + i * blocks);
        if (sum < least) {
            least = sum;
            best = rows[i];
        }
    }
    return best;
}

wcodec_status wcodec_vectors_start_random(struct wcodec_vectors_work *work, uint64_t seed,
                                          wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    float *candidates = wcodec_alloc_array(allocator, CANDIDATES * work->width, sizeof *candidates);
    struct start start = {.work = work, .candidates = candidates};
    wcodec_status status = WCODEC_OK;
    start.sums =
        wcodec_alloc_array(allocator, CANDIDATES * wcodec_vectors_blocks(work), sizeof *start.sums);
    if (candidates == NULL || start.sums == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", work->n);
    if (status == WCODEC_OK)
        status = begin(work, (size_t)(next(&seed) * (double)work->n), err);
    for (size_t k = 1; status == WCODEC_OK && k < work->m && !wcodec_cancel_poll(&work->cancel);
         k++)
        take(work, k, choose(&start, candidates, &seed));
    end(work);
    wcodec_free(allocator, candidates);
    wcodec_free(allocator, start.sums);
    return status;
}
