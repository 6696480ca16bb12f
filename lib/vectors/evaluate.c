/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/floats.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/recall.h"
#include "vectors/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { K_MAX = 1000 };

struct recall {
    struct wcodec_vectors_work *work;
    uint64_t queries;
    size_t k;
    size_t *found;  /* of each query: neighbours that are in both lists */
    uint64_t *near; /* 2 k of each query: keys of distance and row, each k ascending */
};

static void search(void *opaque, size_t q)
{
    const struct recall *recall = opaque;
    const struct wcodec_vectors_work *work = recall->work;
    const size_t k = recall->k, self = (size_t)(q * (uint64_t)work->n / recall->queries);
    const float *query = work->rows + self * work->width;
    uint64_t *exact = recall->near + 2 * q * k, *coded = exact + k;
    if (wcodec_cancel_poll(&recall->work->cancel))
        return;
    memset(exact, 0xFF, 2 * k * sizeof *exact);
    for (size_t i = 0; i < work->n; i++) {
        const float *anchor = work->anchors + work->index[i] * work->width;
        if (i == self)
            continue;
        const float d = wcodec_vectors_distance(query, work->rows + i * work->width, work->width),
                    r = wcodec_vectors_distance(query, anchor, work->width);
        wcodec_recall_insert(exact, k, (uint64_t)wcodec_f32_bits(d) << 32 | i);
        wcodec_recall_insert(coded, k, (uint64_t)wcodec_f32_bits(r) << 32 | i);
    }
    wcodec_cancel_count(&recall->work->cancel, wcodec_vectors_passes(work, 1));
    recall->found[q] = 0;
    for (size_t a = 0; a < k; a++)
        for (size_t b = 0; b < k; b++)
            recall->found[q] += (uint32_t)exact[a] == (uint32_t)coded[b];
}

static wcodec_status measure_recall(struct wcodec_vectors_work *work, uint64_t queries, uint64_t k,
                                    double *part, wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    struct recall recall = {.work = work, .queries = queries, .k = (size_t)k};
    uint64_t sum = 0;
    wcodec_status status = WCODEC_OK;
    recall.found = wcodec_alloc_array(allocator, queries, sizeof *recall.found);
    recall.near = wcodec_alloc_array(allocator, queries, 2 * (size_t)k * sizeof *recall.near);
    if (recall.found == NULL || recall.near == NULL)
        status =
            wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " queries", queries);
    if (status == WCODEC_OK) {
        wcodec_run(work->context, search, &recall, (size_t)queries);
        status = wcodec_cancel_check(&work->cancel, err);
    }
    for (uint64_t q = 0; status == WCODEC_OK && q < queries; q++)
        sum += recall.found[q];
    if (status == WCODEC_OK)
        *part = (double)sum / ((double)queries * (double)k);
    wcodec_free(allocator, recall.found);
    wcodec_free(allocator, recall.near);
    return status;
}

static void measure_cells(struct wcodec_vectors_work *work, wcodec_vectors_quality *quality)
{
    wcodec_vectors_group(work);
    quality->smallest = work->n;
    for (size_t i = 0; i < work->m; i++) {
        const uint64_t count = work->begin[i + 1] - work->begin[i];
        const double part = (double)count / (double)work->n;
        if (count < quality->smallest)
            quality->smallest = count;
        if (count > quality->largest)
            quality->largest = count;
        quality->empty += count == 0;
        if (count != 0)
            quality->index_bits -= part * log2(part);
    }
}

wcodec_status wcodec_vectors_take_anchors(struct wcodec_vectors_work *work, const wcodec_vectors *v,
                                          wcodec_error *err)
{
    work->m = (size_t)v->anchors;
    const wcodec_status status = wcodec_vectors_work_grow(work, work->m, err);
    if (status != WCODEC_OK)
        return status;
    memset(work->anchors, 0, work->m * work->width * sizeof *work->anchors);
    for (size_t k = 0; k < work->m; k++)
        for (size_t j = 0; j < work->d; j++)
            work->anchors[k * work->width + j] =
                wcodec_f32_of_bits(wcodec_f32_bits_of_f16(v->anchor[k * work->d + j]));
    return WCODEC_OK;
}

static wcodec_status check_request(const wcodec_vectors *v, const wcodec_vector_rows *rows,
                                   uint64_t queries, uint64_t k, wcodec_error *err)
{
    if (rows->count != v->rows || rows->dimensions != v->dimensions)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "the anchors are of [%" PRIu64 ", %" PRIu64
                           "] vectors, and not of [%" PRIu64 ", %" PRIu64 "]",
                           v->rows, v->dimensions, rows->count, rows->dimensions);
    if (queries > rows->count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%" PRIu64 " queries of %" PRIu64 " rows",
                           queries, rows->count);
    if (queries != 0 && (k == 0 || k > K_MAX || k >= rows->count))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%" PRIu64 " neighbours of %" PRIu64
                           " vectors: there must be 1 to %d, and fewer than vectors",
                           k, rows->count, K_MAX);
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_evaluate(wcodec_context *context, const wcodec_vectors *vectors,
                                      const wcodec_vector_rows *rows, uint64_t queries, uint64_t k,
                                      const wcodec_progress *progress,
                                      wcodec_vectors_quality *quality, wcodec_error *err)
{
    struct wcodec_vectors_work work;
    wcodec_vectors_quality q = {.queries = queries};
    wcodec_status status = check_request(vectors, rows, queries, k, err);
    /* An imported set may have more anchors than rows. */
    if (status == WCODEC_OK)
        status = wcodec_vectors_work_init(&work, context, rows, 1, false, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_reporter_init(&work.reporter, progress, wcodec_vectors_passes(&work, queries + 1));
    wcodec_cancel_init(&work.cancel, &work.reporter);
    wcodec_cancel_span(&work.cancel, 0, work.reporter.total, 1);
    status = wcodec_vectors_take_anchors(&work, vectors, err);
    if (status == WCODEC_OK) {
        memcpy(work.index, vectors->index, work.n * sizeof *work.index);
        q.energy = wcodec_vectors_energy(&work);
        measure_cells(&work, &q);
        if (queries != 0)
            status = measure_recall(&work, queries, k, &q.recall, err);
    }
    if (status == WCODEC_OK)
        status = wcodec_vectors_report_end(&work, err);
    if (status == WCODEC_OK)
        *quality = q;
    wcodec_vectors_work_free(&work);
    return status;
}
