/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/recall.h"

#include "backends/cpu/cpu_level.h"
#include "coding/floats.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum {
    CHUNKS = 32, /* tasks of a scan */
    ROWS = 8,    /* that a task has at once */
    LANES = WCODEC_NEAREST_LANES
};

struct scan {
    struct wcodec_recall *recall;
    wcodec_recall_rows_fn rows;
    const void *opaque;
};

void wcodec_recall_insert(uint64_t *near, size_t k, uint64_t key)
{
    size_t at = k;
    if (key >= near[k - 1])
        return;
    while (at > 1 && near[at - 2] > key)
        at--;
    memmove(near + at, near + at - 1, (k - at) * sizeof *near);
    near[at - 1] = key;
}

static size_t self_of(const struct wcodec_recall *r, size_t q)
{
    return (size_t)((uint64_t)q * r->n / r->queries);
}

static size_t panels_of(const struct wcodec_recall *r)
{
    return (r->queries + LANES - 1) / LANES;
}

static size_t chunks_of(const struct wcodec_recall *r)
{
    return r->n < CHUNKS * ROWS ? (r->n + ROWS - 1) / ROWS : CHUNKS;
}

/* Numbers that a chunk's scratch has. */
static size_t scratch_of(const struct wcodec_recall *r)
{
    return ROWS * (r->width + panels_of(r) * LANES);
}

static void scan_chunk(void *opaque, size_t chunk)
{
    const struct scan *scan = opaque;
    const struct wcodec_recall *r = scan->recall;
    const size_t chunks = chunks_of(r), begin = (size_t)((uint64_t)chunk * r->n / chunks),
                 end = (size_t)((uint64_t)(chunk + 1) * r->n / chunks), panels = panels_of(r);
    float *rows = r->scratch + chunk * scratch_of(r), *sums = rows + ROWS * r->width;
    uint64_t *near = r->near + chunk * r->queries * r->k;
    memset(near, 0xFF, r->queries * r->k * sizeof *near);
    for (size_t i = begin, some; i < end; i += some) {
        some = end - i < ROWS ? end - i : ROWS;
        if (wcodec_cancel_poll(r->cancel))
            return;
        scan->rows(scan->opaque, i, some, rows);
        r->dsp.distances(rows, some, r->width, r->panels, panels, sums);
        for (size_t row = 0; row < some; row++)
            for (size_t q = 0; q < r->queries; q++)
                if (self_of(r, q) != i + row)
                    wcodec_recall_insert(near + q * r->k, r->k,
                                         (uint64_t)wcodec_f32_bits(sums[row * panels * LANES + q])
                                                 << 32 |
                                             (i + row));
    }
}

/* The k nearest of each query to `to`. */
static wcodec_status run_scan(struct wcodec_recall *r, wcodec_recall_rows_fn rows,
                              const void *opaque, uint64_t *to, wcodec_error *err)
{
    struct scan scan = {r, rows, opaque};
    const size_t keys = r->queries * r->k;
    wcodec_run(r->context, scan_chunk, &scan, chunks_of(r));
    memcpy(to, r->near, keys * sizeof *to);
    for (size_t i = keys; i < chunks_of(r) * keys; i++)
        wcodec_recall_insert(to + i % keys / r->k * r->k, r->k, r->near[i]);
    return wcodec_cancel_check(r->cancel, err);
}

static void load_queries(struct wcodec_recall *r)
{
    for (size_t q = 0; q < panels_of(r) * LANES; q++) {
        float *lane = r->panels + q / LANES * LANES * r->width + q % LANES;
        if (q < r->queries)
            r->rows(r->opaque, self_of(r, q), 1, r->query + q * r->width);
        for (size_t j = 0; j < r->width; j++)
            lane[j * LANES] = q < r->queries ? r->query[q * r->width + j] : 0;
    }
}

wcodec_status wcodec_recall_begin(struct wcodec_recall *r, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    r->queries = r->n < WCODEC_RECALL_QUERIES ? r->n : WCODEC_RECALL_QUERIES;
    r->k = r->n > WCODEC_RECALL_NEAREST ? WCODEC_RECALL_NEAREST : r->n - 1;
    wcodec_cpu_nearest_dsp_init(&r->dsp, wcodec_cpu_levels() & r->context->cpu_mask);
    const size_t keys = r->queries * r->k;
    r->query = wcodec_alloc_array(allocator, r->queries, r->width * sizeof *r->query);
    r->panels = wcodec_alloc_array(allocator, panels_of(r) * LANES, r->width * sizeof *r->panels);
    r->scratch = wcodec_alloc_array(allocator, chunks_of(r), scratch_of(r) * sizeof *r->scratch);
    r->near = wcodec_alloc_array(allocator, chunks_of(r) * keys, sizeof *r->near);
    r->exact = wcodec_alloc_array(allocator, keys, sizeof *r->exact);
    r->coded = wcodec_alloc_array(allocator, keys, sizeof *r->coded);
    if (r->query == NULL || r->panels == NULL || r->scratch == NULL || r->near == NULL ||
        r->exact == NULL || r->coded == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu queries", r->queries);
    load_queries(r);
    return run_scan(r, r->rows, r->opaque, r->exact, err);
}

void wcodec_recall_end(struct wcodec_recall *r)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    wcodec_free(allocator, r->query);
    wcodec_free(allocator, r->panels);
    wcodec_free(allocator, r->scratch);
    wcodec_free(allocator, r->near);
    wcodec_free(allocator, r->exact);
    wcodec_free(allocator, r->coded);
}

wcodec_status wcodec_recall_measure(struct wcodec_recall *r, wcodec_recall_rows_fn rows,
                                    const void *opaque, double *part, wcodec_error *err)
{
    size_t found = 0;
    const wcodec_status status = run_scan(r, rows, opaque, r->coded, err);
    if (status != WCODEC_OK)
        return status;
    for (size_t q = 0; q < r->queries; q++) {
        const uint64_t last = r->exact[q * r->k + r->k - 1] >> 32;
        for (size_t i = 0; i < r->k; i++) {
            r->rows(r->opaque, (uint32_t)r->coded[q * r->k + i], 1, r->scratch);
            found += wcodec_f32_bits(wcodec_nearest_distance(r->query + q * r->width, r->scratch, 1,
                                                             r->width)) <= last;
        }
    }
    *part = (double)found / ((double)r->queries * (double)r->k);
    return WCODEC_OK;
}
