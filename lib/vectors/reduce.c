/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/floats.h"
#include "core/memory.h"
#include "vectors/vectors.h"

#include <string.h>

enum { RUN = 32 << 20 /* bytes of rows that are widened together, at most */ };

void wcodec_vectors_group(struct wcodec_vectors_work *work)
{
    size_t *begin = work->begin;
    memset(begin, 0, (work->m + 1) * sizeof *begin);
    for (size_t i = 0; i < work->n; i++)
        begin[work->index[i] + 1]++;
    for (size_t k = 0; k < work->m; k++)
        begin[k + 1] += begin[k];
    /* begin[k] moves to the end of its rows, which is where the next begins. */
    for (size_t i = 0; i < work->n; i++)
        work->order[begin[work->index[i]]++] = i;
    memmove(begin + 1, begin, work->m * sizeof *begin);
    begin[0] = 0;
}

static void sift(uint64_t *heap, size_t at, size_t count)
{
    const uint64_t value = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= value)
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

/* A heap: no memory, and no time but n log n. */
static void sort(uint64_t *keys, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(keys, i, count);
    for (size_t end = count; end-- > 1;) {
        const uint64_t last = keys[end];
        keys[end] = keys[0];
        keys[0] = last;
        sift(keys, 0, end);
    }
}

/* By distance, then by number: bits of numbers that are not negative are in their order. */
static void sort_by_distance(const struct wcodec_vectors_work *work, uint64_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] |= (uint64_t)wcodec_f32_bits(work->distance[order[i]]) << 32;
    sort(order, count);
    for (size_t i = 0; i < count; i++)
        order[i] &= UINT32_MAX;
}

static void mean_of(const struct wcodec_vectors_work *work, const uint64_t *order, size_t count,
                    float *mean)
{
    enum { COLUMNS = 64 };
    for (size_t first = 0; first < work->width; first += COLUMNS) {
        const size_t left = work->width - first, columns = left < COLUMNS ? left : COLUMNS;
        double sum[COLUMNS] = {0};
        for (size_t i = 0; i < count; i++) {
            const float *row = work->rows + order[i] * work->width + first;
            for (size_t j = 0; j < columns; j++)
                sum[j] += (double)row[j];
        }
        for (size_t j = 0; j < columns; j++)
            mean[first + j] = (float)(sum[j] / (double)count);
    }
}

static void reduce_anchor(void *opaque, size_t k, bool trimmed)
{
    struct wcodec_vectors_work *work = opaque;
    uint64_t *order = work->order + work->begin[k];
    const size_t count = work->begin[k + 1] - work->begin[k], trim = trimmed ? count / 10 : 0;
    if (count == 0)
        return;
    if (trimmed)
        sort_by_distance(work, order, count);
    mean_of(work, order + trim, count - 2 * trim, work->means + k * work->width);
}

static void reduce_trimmed(void *work, size_t k)
{
    reduce_anchor(work, k, true);
}

static void reduce_plain(void *work, size_t k)
{
    reduce_anchor(work, k, false);
}

/* Some of the rows that are widened as they are wanted, in their order. */
struct run_of_rows {
    struct wcodec_vectors_work *work;
    size_t first, count;
    float *rows; /* count * width */
};

static void widen_run(void *opaque, size_t block)
{
    const struct run_of_rows *run = opaque;
    const size_t at = block * WCODEC_VECTORS_BLOCK, left = run->count - at;
    wcodec_vectors_widened(run->work, run->first + at,
                           left < WCODEC_VECTORS_BLOCK ? left : WCODEC_VECTORS_BLOCK,
                           run->rows + at * run->work->width);
}

/* Rows of the run by their anchors, in work->order: numbers in the run. */
static void group_run(const struct run_of_rows *run)
{
    struct wcodec_vectors_work *work = run->work;
    size_t *begin = work->begin;
    memset(begin, 0, (work->m + 1) * sizeof *begin);
    for (size_t i = 0; i < run->count; i++)
        begin[work->index[run->first + i] + 1]++;
    for (size_t k = 0; k < work->m; k++)
        begin[k + 1] += begin[k];
    for (size_t i = 0; i < run->count; i++)
        work->order[begin[work->index[run->first + i]]++] = i;
    memmove(begin + 1, begin, work->m * sizeof *begin);
    begin[0] = 0;
}

static void add_run(void *opaque, size_t k)
{
    const struct run_of_rows *run = opaque;
    const struct wcodec_vectors_work *work = run->work;
    double *sum = work->sums + k * work->width;
    for (size_t i = work->begin[k]; i < work->begin[k + 1]; i++) {
        const float *row = run->rows + work->order[i] * work->width;
        for (size_t j = 0; j < work->width; j++)
            sum[j] += (double)row[j];
    }
}

/* Rows of a run, by what is left of the limit of memory: of that, what anchors began with was taken
 * before. */
static size_t rows_together(const struct wcodec_vectors_work *work)
{
    const uint64_t limit = work->context->limits.max_memory,
                   left = limit > work->held ? limit - work->held : 0,
                   rows = (left < RUN ? left : RUN) / (work->width * sizeof(float));
    return rows > 0 ? (size_t)rows : 1;
}

/* Plain means of rows that are not there: they are gone through once, run by run, in which the rows
 * of each anchor are added to what those before have left. */
static void means_by_runs(struct wcodec_vectors_work *work)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    const size_t most = rows_together(work), some = most < work->n ? most : work->n;
    struct run_of_rows run = {
        .work = work, .rows = wcodec_alloc_array(allocator, some, work->width * sizeof *run.rows)};
    if (run.rows == NULL) {
        atomic_store(&work->full, true);
        return;
    }
    memset(work->sums, 0, work->m * work->width * sizeof *work->sums);
    for (run.first = 0; run.first < work->n && !wcodec_cancel_poll(&work->cancel);
         run.first += run.count) {
        run.count = work->n - run.first < some ? work->n - run.first : some;
        wcodec_run(work->context, widen_run, &run,
                   (run.count + WCODEC_VECTORS_BLOCK - 1) / WCODEC_VECTORS_BLOCK);
        group_run(&run);
        wcodec_run(work->context, add_run, &run, work->m);
    }
    wcodec_free(allocator, run.rows);
    wcodec_vectors_group(work);
    for (size_t k = 0; k < work->m; k++)
        for (size_t j = 0; work->begin[k] != work->begin[k + 1] && j < work->width; j++)
            work->means[k * work->width + j] =
                (float)(work->sums[k * work->width + j] /
                        (double)(work->begin[k + 1] - work->begin[k]));
}

void wcodec_vectors_means(struct wcodec_vectors_work *work, bool trimmed)
{
    if (work->rows == NULL) {
        means_by_runs(work);
        return;
    }
    wcodec_vectors_group(work);
    wcodec_run(work->context, trimmed ? reduce_trimmed : reduce_plain, work, work->m);
}

void wcodec_vectors_seed_empty(struct wcodec_vectors_work *work, float *to)
{
    for (size_t k = 0; k < work->m; k++) {
        size_t farthest = 0;
        if (work->begin[k] != work->begin[k + 1])
            continue;
        for (size_t i = 1; i < work->n; i++)
            if (work->distance[i] > work->distance[farthest])
                farthest = i;
        float *anchor = to + k * work->width;
        const float *row = wcodec_vectors_widened(work, farthest, 1, anchor);
        if (row != anchor)
            memcpy(anchor, row, work->width * sizeof *anchor);
        work->distance[farthest] = 0;
    }
}

void wcodec_vectors_update(struct wcodec_vectors_work *work, float part)
{
    const float most = 0.1f;
    for (size_t k = 0; k < work->m; k++) {
        float *anchor = work->anchors + k * work->width;
        const float *mean = work->means + k * work->width;
        for (size_t j = 0; work->begin[k] != work->begin[k + 1] && j < work->d; j++) {
            const float way = mean[j] - anchor[j];
            const float whole = part * way;
            const float step = whole > most ? most : whole < -most ? -most : whole;
            const float moved = anchor[j] + step;
            anchor[j] = wcodec_vectors_round(moved);
        }
    }
}
