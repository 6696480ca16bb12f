/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/rerank.h"

#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>

enum { CANDIDATES_MAX = 1 << 14, FACTOR_MAX = 1000 };

/* Of a query: the first candidate that has no exact distance. */
struct wcodec_rerank_problem {
    enum { NONE, NO_ROW, NO_NUMBERS } what;
    uint64_t id;
};

/* Queries that are at work. */
struct ranking {
    struct wcodec_rerank *rerank;
    const float *queries;
    const struct wcodec_hit *candidates;
};

static float key_of(const struct wcodec_rerank *r, const float *query, const float *row)
{
    if (r->options->metric == WCODEC_VECTORS_L2)
        return wcodec_vectors_distance(query, row, r->width);
    const double product = wcodec_vectors_product(query, row, r->width);
    if (r->options->metric == WCODEC_VECTORS_INNER_PRODUCT)
        return (float)-product;
    const double squares =
        wcodec_vectors_product(query, query, r->width) * wcodec_vectors_product(row, row, r->width);
    return squares > 0 ? (float)(-product / sqrt(squares)) : 0;
}

/* A row as binary32. False: it has what no vector of a store may have. */
static bool load_row(const struct wcodec_rerank *r, const uint8_t *from, uint64_t row, float *to)
{
    bool finite = true;
    for (size_t j = 0; j < r->width; j++) {
        to[j] = j < r->d ? wcodec_vectors_element(r->original.dtype, from, row * r->d + j) : 0;
        finite = finite && fabsf(to[j]) <= 65504;
    }
    return finite;
}

static wcodec_status rank(const struct ranking *g, size_t q, wcodec_error *err)
{
    const struct wcodec_rerank *r = g->rerank;
    const wcodec_vectors_search_options *o = r->options;
    const struct wcodec_hit *hits = g->candidates + q * r->candidates;
    const size_t size = r->d * wcodec_dtype_bits(r->original.dtype) / 8;
    float *row = r->rows + q * r->width;
    wcodec_hits_clear(r->hits + q * r->k, r->k);
    for (size_t i = 0; i < r->candidates && hits[i].id != UINT64_MAX; i++) {
        const uint64_t id = hits[i].id, number = id - o->original_first_id;
        wcodec_status status = WCODEC_OK;
        bool finite = false;
        if (id < o->original_first_id || number >= r->original.count) {
            r->problems[q] = (struct wcodec_rerank_problem){NO_ROW, id};
            return WCODEC_OK;
        }
        if (r->original.data == NULL)
            status = wcodec_reader_decode_rows(o->original_reader, o->original_tensor, number, 1,
                                               r->bytes, size, NULL, err);
        if (status != WCODEC_OK)
            return status;
        if (r->original.data == NULL)
            finite = load_row(r, r->bytes, 0, row);
        else
            finite = load_row(r, r->original.data, number, row);
        if (!finite) {
            r->problems[q] = (struct wcodec_rerank_problem){NO_NUMBERS, id};
            return WCODEC_OK;
        }
        wcodec_hits_keep(r->hits + q * r->k, r->k,
                         (struct wcodec_hit){key_of(r, g->queries + q * r->width, row), id});
    }
    return WCODEC_OK;
}

/* By rows in memory nothing can fail but what is noted. */
static void rank_query(void *opaque, size_t q)
{
    (void)rank(opaque, q, NULL);
}

static wcodec_status report(const struct wcodec_rerank *r, const struct wcodec_rerank_problem *p,
                            wcodec_error *err)
{
    if (p->what == NO_ROW)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "the original has no row of vector %" PRIu64 ": its %" PRIu64
                           " rows are those of id %" PRIu64 " and the following",
                           p->id, r->original.count, r->options->original_first_id);
    return wcodec_fail(err, WCODEC_ERROR_USAGE,
                       "the original: the row of vector %" PRIu64
                       " has elements that are NaN, infinite or beyond 65504",
                       p->id);
}

wcodec_status wcodec_rerank_run(struct wcodec_rerank *r, const float *queries, size_t count,
                                const struct wcodec_hit *candidates, uint64_t *ids, float *scores,
                                wcodec_error *err)
{
    struct ranking g = {r, queries, candidates};
    wcodec_status status = WCODEC_OK;
    memset(r->problems, 0, count * sizeof *r->problems);
    if (r->original.data != NULL)
        wcodec_run(r->context, rank_query, &g, count);
    for (size_t q = 0; r->original.data == NULL && q < count && status == WCODEC_OK; q++)
        status = rank(&g, q, err); /* which has threads of its own for each row */
    for (size_t q = 0; q < count && status == WCODEC_OK; q++) {
        if (r->problems[q].what != NONE)
            status = report(r, &r->problems[q], err);
        else
            wcodec_hits_put(r->hits + q * r->k, r->k, r->options->metric, ids + q * r->k,
                            scores + q * r->k);
    }
    return status;
}

/* What a reader says of its tensor. */
static wcodec_status describe_original(const wcodec_vectors_search_options *o,
                                       wcodec_vector_rows *original, wcodec_error *err)
{
    wcodec_tensor_info info;
    const wcodec_status status =
        wcodec_reader_tensor(o->original_reader, o->original_tensor, &info, err);
    if (status != WCODEC_OK)
        return status;
    if (info.rank != 2)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\" has %u dimensions, but vectors are a "
                           "tensor [n, d]",
                           info.name, info.rank);
    *original = (wcodec_vector_rows){
        .dtype = info.dtype, .count = info.shape[0], .dimensions = info.shape[1]};
    return WCODEC_OK;
}

wcodec_status wcodec_rerank_check(struct wcodec_rerank *r, uint64_t rows, wcodec_error *err)
{
    const wcodec_vectors_search_options *o = r->options;
    wcodec_status status = WCODEC_OK;
    if (o->original != NULL && o->original_reader != NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "the original is either in memory or a reader's, and not both");
    if (o->rerank_factor == 0 || o->rerank_factor > FACTOR_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "1 to %d candidates for each vector that is found, and not %" PRIu64,
                           (int)FACTOR_MAX, o->rerank_factor);
    if (o->original != NULL)
        r->original = *o->original;
    else
        status = describe_original(o, &r->original, err);
    if (status == WCODEC_OK && o->original != NULL && r->original.data == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "it has no data");
    if (status == WCODEC_OK)
        status = wcodec_vectors_check_rows(&r->original, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "the original");
        return status;
    }
    if (r->original.dimensions != r->d)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "the original has rows of %" PRIu64
                           " dimensions, but the vectors have %zu",
                           r->original.dimensions, r->d);
    const uint64_t wanted = o->k * o->rerank_factor,
                   most = rows < CANDIDATES_MAX ? rows : CANDIDATES_MAX;
    r->candidates = (size_t)(wanted < most ? wanted : most);
    return WCODEC_OK;
}

wcodec_status wcodec_rerank_begin(struct wcodec_rerank *r, size_t queries, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    r->rows = wcodec_alloc_array(allocator, queries, r->width * sizeof *r->rows);
    r->hits = wcodec_alloc_array(allocator, queries, r->k * sizeof *r->hits);
    r->problems = wcodec_alloc_array(allocator, queries, sizeof *r->problems);
    r->bytes = wcodec_alloc_array(allocator, r->width, sizeof(float));
    return r->rows != NULL && r->hits != NULL && r->problems != NULL && r->bytes != NULL
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for exact distances");
}

void wcodec_rerank_end(struct wcodec_rerank *r)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    wcodec_free(allocator, r->rows);
    wcodec_free(allocator, r->hits);
    wcodec_free(allocator, r->problems);
    wcodec_free(allocator, r->bytes);
    r->rows = NULL;
    r->hits = NULL;
    r->problems = NULL;
    r->bytes = NULL;
}
