/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Merging and splitting, as published. */
#include "core/error.h"
#include "core/memory.h"
#include "vectors/vectors.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 100, SPLIT_ITERATIONS = 5 };

static float *anchor_at(const struct wcodec_vectors_work *work, size_t k)
{
    return work->anchors + k * work->width;
}

static size_t count_of(const struct wcodec_vectors_work *work, size_t k)
{
    return work->begin[k + 1] - work->begin[k];
}

static float length_between(const struct wcodec_vectors_work *work, size_t a, size_t b)
{
    return sqrtf(wcodec_vectors_distance(anchor_at(work, a), anchor_at(work, b), work->width));
}

/* A tenth of the mean distance of some pairs. */
static float merge_threshold(const struct wcodec_vectors_work *work)
{
    const size_t m = work->m, pairs = m < PAIRS ? m : PAIRS;
    double sum = 0;
    for (size_t i = 0; i < pairs; i++)
        sum += (double)length_between(work, i, (i + m / 2) % m);
    return (float)(0.1 * sum / (double)pairs);
}

static void add_anchor(const struct wcodec_vectors_work *work, size_t k, double *sum)
{
    for (size_t j = 0; j < work->d; j++)
        sum[j] += (double)count_of(work, k) * (double)anchor_at(work, k)[j];
}

/* Anchor i takes over what is close to it; those that are merged stay where they are. */
static size_t merge_into(struct wcodec_vectors_work *work, size_t i, float threshold, bool *gone,
                         double *sum)
{
    size_t merged = 0, weight = count_of(work, i);
    memset(sum, 0, work->width * sizeof *sum);
    add_anchor(work, i, sum);
    for (size_t k = i + 1; k < work->m; k++) {
        if (gone[k] || length_between(work, i, k) >= threshold)
            continue;
        gone[k] = true;
        merged++;
        weight += count_of(work, k);
        add_anchor(work, k, sum);
    }
    for (size_t j = 0; merged != 0 && weight != 0 && j < work->d; j++)
        anchor_at(work, i)[j] = wcodec_vectors_round((float)(sum[j] / (double)weight));
    return merged;
}

/* The two means of an anchor's rows: the first in its place, the second as one more anchor. */
static void split_anchor(struct wcodec_vectors_work *work, size_t k, double *sum)
{
    const size_t width = work->width, first = work->begin[k], last = work->begin[k + 1] - 1;
    float *mean[2] = {work->means, work->means + width};
    memcpy(mean[0], work->rows + work->order[first] * width, width * sizeof *mean[0]);
    memcpy(mean[1], work->rows + work->order[last] * width, width * sizeof *mean[1]);
    for (unsigned step = 0; step < SPLIT_ITERATIONS; step++) {
        size_t count[2] = {0};
        memset(sum, 0, 2 * width * sizeof *sum);
        for (size_t i = first; i <= last; i++) {
            const float *row = work->rows + work->order[i] * width;
            const size_t side = wcodec_vectors_distance(row, mean[0], width) >=
                                wcodec_vectors_distance(row, mean[1], width);
            count[side]++;
            for (size_t j = 0; j < width; j++)
                sum[side * width + j] += (double)row[j];
        }
        for (size_t side = 0; side < 2; side++)
            for (size_t j = 0; count[side] != 0 && j < width; j++)
                mean[side][j] = (float)(sum[side * width + j] / (double)count[side]);
    }
    for (size_t j = 0; j < width; j++) {
        anchor_at(work, k)[j] = wcodec_vectors_round(mean[0][j]);
        anchor_at(work, work->m)[j] = wcodec_vectors_round(mean[1][j]);
    }
    work->m++;
}

/* Has it many rows, or distant ones? */
static bool should_split(const struct wcodec_vectors_work *work, size_t k, size_t anchors,
                         float temperature)
{
    double sum = 0;
    for (size_t i = work->begin[k]; i < work->begin[k + 1]; i++)
        sum += (double)work->distance[work->order[i]];
    return count_of(work, k) > 1 && (count_of(work, k) > 2 * (work->n / anchors) ||
                                     sum / (double)count_of(work, k) > 2 * (double)temperature);
}

wcodec_status wcodec_vectors_maintain(struct wcodec_vectors_work *work, float temperature,
                                      uint64_t *merged, uint64_t *split, wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    const size_t before = work->m;
    bool *gone = wcodec_alloc_zeroed(allocator, before);
    double *sum = wcodec_alloc_array(allocator, 2 * work->width, sizeof *sum);
    wcodec_status status = WCODEC_OK;
    if (gone == NULL || sum == NULL) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for merging anchors");
        goto free_memory;
    }
    /* Rows by number again, which trimming has put in another order. */
    wcodec_vectors_group(work);
    const float threshold = merge_threshold(work);
    *merged = *split = 0;
    for (size_t i = 0; i < before; i++)
        if (!gone[i])
            *merged += merge_into(work, i, threshold, gone, sum);
    for (size_t k = 0; k < before; k++)
        gone[k] = should_split(work, k, before, temperature);
    for (size_t k = 0; k < before; k++)
        *split += gone[k];
    status = wcodec_vectors_work_grow(work, before + *split, err);
    for (size_t k = 0; status == WCODEC_OK && k < before; k++)
        if (gone[k])
            split_anchor(work, k, sum);
free_memory:
    wcodec_free(allocator, gone);
    wcodec_free(allocator, sum);
    return status;
}
