/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec vectors evaluate, of a store or segment: what a search finds of the vectors that are
 * nearest by their originals. */
#include "utils/progress.h"
#include "utils/signals.h"
#include "utils/text.h"
#include "utils/vectors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUERIES = 100, NEAREST = 10, NEAREST_MAX = 1000, CANDIDATES = 16384 };

struct measured {
    wcodec_vectors_store_info info;
    uint64_t queries, nearest;
    double recall;
};

static bool take_options(struct app *app, const char *path, const struct vectors_rows *rows,
                         struct measured *m, wcodec_vectors_search_options *options)
{
    const struct options *o = &app->options;
    const uint64_t n = rows->rows.count;
    m->nearest = o->nearest ? o->nearest : NEAREST;
    /* As many as there can be, unless so many were asked for. */
    const uint64_t few = m->info.rows <= m->nearest && !o->nearest ? 0 : n < QUERIES ? n : QUERIES;
    m->queries = o->queries == UINT64_MAX ? few : o->queries;
    if (n == 0 || rows->rows.dimensions != m->info.dimensions)
        return app_fail(app, EXIT_USAGE,
                        "%s: %" PRIu64 " rows of %" PRIu64
                        " dimensions are not the originals of %" PRIu64 " vectors of %" PRIu64,
                        rows->name, n, rows->rows.dimensions, m->info.rows, m->info.dimensions);
    if (m->nearest > NEAREST_MAX || (m->queries != 0 && m->nearest >= m->info.rows))
        return app_fail(app, EXIT_USAGE,
                        "%s: %" PRIu64 " neighbours of %" PRIu64
                        " vectors: there must be fewer than those, and at most %d",
                        path, m->nearest, m->info.rows, NEAREST_MAX);
    if (m->queries > n)
        return app_fail(app, EXIT_USAGE, "%s: %" PRIu64 " queries of %" PRIu64 " vectors",
                        rows->name, m->queries, n);
    wcodec_vectors_search_options_init(options);
    options->k = m->nearest + 1; /* a query finds itself */
    options->metric = o->metric;
    options->probes = o->probes;
    options->original_first_id = o->first_id == UINT64_MAX ? 0 : o->first_id;
    return true;
}

/* How many of the first `nearest` that are not the query itself are in both lists. */
static uint64_t count_same(const uint64_t *a, const uint64_t *b, uint64_t nearest, uint64_t self)
{
    uint64_t same = 0, in_a = 0;
    for (uint64_t i = 0; i <= nearest && in_a < nearest && a[i] != UINT64_MAX; i++) {
        uint64_t in_b = 0;
        if (a[i] == self)
            continue;
        in_a++;
        for (uint64_t j = 0; j <= nearest && in_b < nearest; j++) {
            in_b += b[j] != self;
            same += a[i] == b[j];
        }
    }
    return same;
}

/* One query after the other: by what is compressed, and by the originals of all, or of as many as
 * can be ranked by them. */
static wcodec_status measure(struct app *app, const wcodec_vectors_store *store,
                             const struct vectors_rows *rows,
                             wcodec_vectors_search_options *options, uint64_t *ids, float *scores,
                             struct measured *m, wcodec_error *err)
{
    const uint64_t n = rows->rows.count, first = options->original_first_id,
                   row = rows->rows.dimensions * wcodec_dtype_bits(rows->rows.dtype) / 8;
    const wcodec_progress progress = progress_callback(&app->progress);
    wcodec_vectors_search_options exact = *options;
    uint64_t found = 0;
    exact.probes = 0;
    exact.original = &rows->rows;
    exact.rerank_factor = (CANDIDATES - 1) / exact.k + 1;
    exact.rerank_factor = exact.rerank_factor < 1000 ? exact.rerank_factor : 1000;
    for (uint64_t q = 0; q < m->queries; q++) {
        const uint64_t i = q * n / m->queries;
        wcodec_vector_rows query = rows->rows;
        query.count = 1;
        query.data = (const uint8_t *)rows->data + i * row;
        wcodec_status status = wcodec_vectors_search(store, &query, options, ids, scores, err);
        if (status == WCODEC_OK)
            status = wcodec_vectors_search(store, &query, &exact, ids + options->k, scores, err);
        if (status != WCODEC_OK)
            return status;
        found += count_same(ids + options->k, ids, m->nearest, first + i);
        if (progress.fn(progress.opaque, q + 1, m->queries) || signals_pending())
            return WCODEC_ERROR_CANCELLED;
    }
    m->recall = m->queries ? (double)found / (double)(m->queries * m->nearest) : 0;
    return WCODEC_OK;
}

static void print(struct app *app, const char *path, const struct measured *m)
{
    const uint64_t all = m->info.rows + m->info.removed;
    const double ratio =
        all ? (double)m->info.coded_size / (4.0 * (double)all * (double)m->info.dimensions) : 0;
    if (app->options.json) {
        vectors_print_json(
            app,
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "wcodec/1", "path",
                      json_text(path), "recall", m->queries ? json_real(m->recall) : json_null(),
                      "nearest", json_size(m->nearest), "queries", json_size(m->queries), "probes",
                      json_size(app->options.probes), "rows", json_size(m->info.rows), "bytes",
                      json_size(m->info.coded_size), "ratio", json_decimal(ratio, 6)));
        return;
    }
    if (m->queries)
        printf("recall@%" PRIu64 ": %.4f, of %" PRIu64 " queries\n", m->nearest, m->recall,
               m->queries);
    printf("bytes: %" PRIu64 ", %.2f %% of F32\n", m->info.coded_size, 100 * ratio);
    app_stdout_good(app);
}

static void evaluate(struct app *app, const char *path, const wcodec_vectors_store *store,
                     const struct vectors_rows *rows)
{
    struct measured m = {.recall = 0};
    wcodec_vectors_search_options options;
    wcodec_error err = {0};
    wcodec_vectors_store_describe(store, &m.info);
    if (!take_options(app, path, rows, &m, &options))
        return;
    uint64_t *ids = app_alloc(app, path, 2 * options.k * sizeof *ids);
    float *scores = app_alloc(app, path, options.k * sizeof *scores);
    if (ids && scores && vectors_rows_check_numbers(app, rows)) {
        progress_start(&app->progress, rows->name,
                       !app->options.quiet && !app->options.no_progress);
        const wcodec_status status = measure(app, store, rows, &options, ids, scores, &m, &err);
        progress_end(&app->progress);
        if (!signals_pending() && vectors_rows_check(app, rows)) {
            if (status == WCODEC_OK)
                print(app, path, &m);
            else
                app_fail_status(app, rows->name, &err);
        }
    }
    free(ids);
    free(scores);
}

void vectors_store_evaluate(struct app *app)
{
    const struct options *o = &app->options;
    struct vectors_rows rows;
    wcodec_vectors_store *store = vectors_store_open(app, o->files.items[0]);
    if (store && vectors_rows_open(app, o->files.items[1], &rows)) {
        evaluate(app, o->files.items[0], store, &rows);
        vectors_rows_close(&rows);
    }
    wcodec_vectors_close(store);
}
