/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search in coded vectors. With anchor a, scale s and residuals r, a row is x = a + s r, so that
 * |q - x|^2 = |q - a|^2 - 2 s (q - a) r + |s r|^2 and q x = q a + s q r: of a row that is looked
 * at, its product with residuals is needed, in whole numbers, and what was made when it was read.
 */
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "sched/pool.h"
#include "vectors/segment.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    K_MAX = 4096,
    TOGETHER = 64, /* queries that are at work */
    ROWS = 64,     /* whose products a task has at once */
    VECTOR_MAX = 32767,
    LANES = WCODEC_NEAREST_LANES
};

static const wcodec_vectors_search_options defaults = {.struct_size = sizeof defaults, .k = 10};

void wcodec_vectors_search_options_init_size(wcodec_vectors_search_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

/* An anchor whose rows are looked at. */
struct probe {
    const struct wcodec_vectors_segment *segment;
    size_t anchor;
    float base; /* squared distance, or product, of query and anchor */
};

/* The order of what is found: the least first. */
struct hit {
    float key; /* squared distance, or product or cosine less than 0 for more than 0 */
    uint64_t id;
};

struct search {
    const struct wcodec_vectors_store *store;
    struct wcodec_vectors_work *queries;
    wcodec_vectors_search_options options;
    size_t first, count;  /* queries at work */
    size_t stride;        /* of vectors */
    size_t parts;         /* tasks of a query */
    size_t probe_room;    /* anchors of all segments */
    size_t lane_room;     /* lanes of the segment that has most */
    struct probe *probes; /* of each query */
    size_t *probe_count;
    float *distances; /* of each query, lane_room */
    uint64_t *order;  /* of each query, lane_room */
    int16_t *vectors; /* of each part */
    struct hit *hits; /* of each part, k */
};

/* Numbers that are in the order of the keys. */
static uint32_t order_of(float key)
{
    const uint32_t bits = wcodec_f32_bits(key);
    return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double product_of(const float *a, const float *b, size_t width)
{
    double sum = 0;
    for (size_t j = 0; j < width; j++)
        sum += (double)a[j] * (double)b[j];
    return sum;
}

/* Also where its square is no binary32. */
static float length_of(const float *a, size_t width)
{
    return (float)sqrt(product_of(a, a, width));
}

/* Squared distances of a query to the anchors of a segment, or products. */
static void measure_anchors(const struct search *search, const struct wcodec_vectors_segment *s,
                            const float *query, float *distances)
{
    if (search->options.metric == WCODEC_VECTORS_L2)
        search->store->dsp.distances(query, 1, s->width, s->panels, (s->m + LANES - 1) / LANES,
                                     distances);
    else
        for (size_t k = 0; k < s->m; k++)
            distances[k] = (float)product_of(query, s->anchors + k * s->width, s->width);
}

/* What anchors are ordered by. */
static float anchor_key(const struct search *search, const struct wcodec_vectors_segment *s,
                        size_t k, float distance)
{
    if (search->options.metric == WCODEC_VECTORS_L2)
        return distance;
    if (search->options.metric == WCODEC_VECTORS_INNER_PRODUCT)
        return -distance;
    const float length = length_of(s->anchors + k * s->width, s->width);
    return length > 0 ? -distance / length : 0;
}

/* The anchors of a segment that are nearest to a query. */
static size_t choose_anchors(const struct search *search, const struct wcodec_vectors_segment *s,
                             const float *distances, uint64_t *order)
{
    const uint64_t probes = search->options.probes;
    if (probes == 0 || probes >= s->m) {
        for (size_t k = 0; k < s->m; k++)
            order[k] = k;
        return s->m;
    }
    for (size_t k = 0; k < s->m; k++)
        order[k] = (uint64_t)order_of(anchor_key(search, s, k, distances[k])) << 32 | k;
    qsort(order, s->m, sizeof *order, compare_keys);
    return (size_t)probes;
}

static void probe_query(void *opaque, size_t q)
{
    const struct search *search = opaque;
    const float *query = search->queries->rows + (search->first + q) * search->queries->width;
    float *distances = search->distances + q * search->lane_room;
    uint64_t *order = search->order + q * search->lane_room;
    struct probe *probes = search->probes + q * search->probe_room;
    size_t count = 0;
    for (size_t i = 0; i < search->store->count; i++) {
        const struct wcodec_vectors_segment *s = &search->store->segments[i];
        measure_anchors(search, s, query, distances);
        const size_t chosen = choose_anchors(search, s, distances, order);
        for (size_t j = 0; j < chosen; j++) {
            const uint32_t k = (uint32_t)order[j];
            if (s->begin[k] != s->begin[k + 1])
                probes[count++] = (struct probe){.segment = s, .anchor = k, .base = distances[k]};
        }
    }
    search->probe_count[q] = count;
}

/* Numbers as whole ones of 16 bits; the unit of these. after: NULL, or what is taken off. */
static float round_vector(const float *from, const float *off, size_t d, size_t stride, int16_t *to)
{
    float most = 0;
    for (size_t j = 0; j < d; j++)
        most = fmaxf(most, fabsf(off != NULL ? from[j] - off[j] : from[j]));
    const float unit = most / VECTOR_MAX;
    for (size_t j = 0; j < stride; j++) {
        const float number = j >= d ? 0 : off != NULL ? from[j] - off[j] : from[j];
        const float whole = unit > 0 ? rintf(number / unit) : 0;
        to[j] = (int16_t)fminf(fmaxf(whole, -VECTOR_MAX), VECTOR_MAX);
    }
    return unit;
}

static bool is_allowed(const struct search *search, const struct wcodec_vectors_segment *s,
                       uint32_t row)
{
    const uint64_t id = wcodec_segment_id(s, row);
    const uint8_t *allowed = search->options.allowed;
    if (wcodec_segment_is_removed(s, row))
        return false;
    return allowed == NULL ||
           (id < search->options.allowed_count && (allowed[id / 8] >> id % 8 & 1) != 0);
}

static bool comes_before(const struct hit *a, const struct hit *b)
{
    return a->key < b->key || (a->key == b->key && a->id < b->id);
}

/* Keep the k first, in order. */
static void keep_hit(struct hit *hits, size_t k, struct hit hit)
{
    size_t at = k;
    if (!comes_before(&hit, &hits[k - 1]))
        return;
    while (at > 1 && comes_before(&hit, &hits[at - 2]))
        at--;
    memmove(hits + at, hits + at - 1, (k - at) * sizeof *hits);
    hits[at - 1] = hit;
}

/* Key of a row, by its product with the query's vector in whole numbers times `factor`. */
static float key_of(const struct search *search, const struct probe *probe, size_t i, float factor,
                    int64_t sum, float query_length)
{
    const struct wcodec_vectors_segment *s = probe->segment;
    const float product = factor * (float)sum;
    if (search->options.metric == WCODEC_VECTORS_L2) {
        const float twice = 2 * product;
        const float less = probe->base - twice;
        const float distance = less + s->squares[i];
        return fmaxf(distance, 0);
    }
    const float whole = probe->base + product;
    if (search->options.metric == WCODEC_VECTORS_INNER_PRODUCT)
        return -whole;
    const float lengths = query_length * s->lengths[i];
    return lengths > 0 ? -whole / lengths : 0;
}

static void look_at(const struct search *search, const struct probe *probe, const int16_t *vector,
                    float unit, float query_length, struct hit *hits)
{
    const struct wcodec_vectors_segment *s = probe->segment;
    const float factor = unit * s->scales[probe->anchor];
    const size_t end = s->begin[probe->anchor + 1], k = (size_t)search->options.k;
    int64_t sums[ROWS];
    for (size_t at = s->begin[probe->anchor], some; at < end; at += some) {
        some = end - at < ROWS ? end - at : ROWS;
        search->store->dsp.products(vector, s->codes + at * s->stride, some, s->stride, sums);
        for (size_t i = 0; i < some; i++) {
            const float key = key_of(search, probe, at + i, factor, sums[i], query_length);
            if (key <= hits[k - 1].key && is_allowed(search, s, s->row[at + i]))
                keep_hit(hits, k,
                         (struct hit){.key = key, .id = wcodec_segment_id(s, s->row[at + i])});
        }
    }
}

static void search_part(void *opaque, size_t task)
{
    const struct search *search = opaque;
    const size_t q = task / search->parts, part = task % search->parts,
                 k = (size_t)search->options.k, d = (size_t)search->store->d;
    const float *query = search->queries->rows + (search->first + q) * search->queries->width;
    const bool l2 = search->options.metric == WCODEC_VECTORS_L2;
    const float length = length_of(query, search->queries->width);
    int16_t *vector = search->vectors + task * search->stride;
    struct hit *hits = search->hits + task * k;
    float unit = l2 ? 0 : round_vector(query, NULL, d, search->stride, vector);
    for (size_t i = 0; i < k; i++)
        hits[i] = (struct hit){.key = INFINITY, .id = UINT64_MAX};
    for (size_t i = part; i < search->probe_count[q]; i += search->parts) {
        const struct probe *probe = &search->probes[q * search->probe_room + i];
        if (l2)
            unit =
                round_vector(query, probe->segment->anchors + probe->anchor * probe->segment->width,
                             d, search->stride, vector);
        look_at(search, probe, vector, unit, length, hits);
    }
}

/* The hits of a query's parts, together. */
static void gather(const struct search *search, size_t q, uint64_t *ids, float *scores)
{
    const size_t k = (size_t)search->options.k;
    struct hit *hits = search->hits + q * search->parts * k;
    for (size_t i = k; i < search->parts * k; i++)
        keep_hit(hits, k, hits[i]);
    for (size_t i = 0; i < k; i++) {
        ids[i] = hits[i].id;
        scores[i] = search->options.metric == WCODEC_VECTORS_L2 ? hits[i].key : 0 - hits[i].key;
    }
}

static wcodec_status allocate(struct search *search, wcodec_error *err)
{
    const struct wcodec_vectors_store *store = search->store;
    const wcodec_allocator *allocator = &store->context->allocator;
    const size_t n = search->queries->n < TOGETHER ? search->queries->n : TOGETHER,
                 threads = wcodec_context_threads(store->context);
    for (size_t i = 0; i < store->count; i++) {
        const size_t lanes = (store->segments[i].m + LANES - 1) / LANES * LANES;
        search->probe_room += store->segments[i].m;
        search->lane_room = lanes > search->lane_room ? lanes : search->lane_room;
        search->stride = store->segments[i].stride;
    }
    search->parts = n < 2 * threads && threads > 1 ? 2 * threads : 1;
    search->probes = wcodec_alloc_array(allocator, n, search->probe_room * sizeof(struct probe));
    search->probe_count = wcodec_alloc_array(allocator, n, sizeof *search->probe_count);
    search->distances =
        wcodec_alloc_array(allocator, n, search->lane_room * sizeof *search->distances);
    search->order = wcodec_alloc_array(allocator, n, search->lane_room * sizeof *search->order);
    search->vectors =
        wcodec_alloc_array(allocator, n * search->parts, search->stride * sizeof(int16_t));
    search->hits = wcodec_alloc_array(allocator, n * search->parts,
                                      (size_t)search->options.k * sizeof(struct hit));
    if (search->probes == NULL || search->probe_count == NULL || search->distances == NULL ||
        search->order == NULL || search->vectors == NULL || search->hits == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu queries", n);
    return WCODEC_OK;
}

static wcodec_status run(struct search *search, uint64_t *ids, float *scores, wcodec_error *err)
{
    wcodec_context *context = search->store->context;
    const wcodec_allocator *allocator = &context->allocator;
    const size_t n = search->queries->n, k = (size_t)search->options.k;
    const wcodec_status status = allocate(search, err);
    for (size_t first = 0; status == WCODEC_OK && first < n; first += TOGETHER) {
        search->first = first;
        search->count = n - first < TOGETHER ? n - first : TOGETHER;
        wcodec_run(context, probe_query, search, search->count);
        wcodec_run(context, search_part, search, search->count * search->parts);
        for (size_t q = 0; q < search->count; q++)
            gather(search, q, ids + (first + q) * k, scores + (first + q) * k);
    }
    wcodec_free(allocator, search->probes);
    wcodec_free(allocator, search->probe_count);
    wcodec_free(allocator, search->distances);
    wcodec_free(allocator, search->order);
    wcodec_free(allocator, search->vectors);
    wcodec_free(allocator, search->hits);
    return status;
}

static wcodec_status take_options(const struct wcodec_vectors_store *store,
                                  const wcodec_vectors_search_options *from,
                                  wcodec_vectors_search_options *o, wcodec_error *err)
{
    *o = defaults;
    const wcodec_status status =
        wcodec_options_take(from, o, sizeof *o, "wcodec_vectors_search_options_init", err);
    if (status != WCODEC_OK)
        return status;
    if (o->metric != WCODEC_VECTORS_L2 && o->metric != WCODEC_VECTORS_INNER_PRODUCT &&
        o->metric != WCODEC_VECTORS_COSINE)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no metric %d", (int)o->metric);
    if (o->k == 0 || o->k > K_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "1 to %d vectors can be found for a query, and not %" PRIu64, K_MAX,
                           o->k);
    if (o->k > store->rows)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%" PRIu64 " nearest of %" PRIu64 " vectors",
                           o->k, store->rows);
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_search(const wcodec_vectors_store *store,
                                    const wcodec_vector_rows *queries,
                                    const wcodec_vectors_search_options *options, uint64_t *ids,
                                    float *scores, wcodec_error *err)
{
    struct wcodec_vectors_work work;
    struct search search = {.store = store, .queries = &work};
    wcodec_status status = take_options(store, options, &search.options, err);
    if (status == WCODEC_OK && queries->dimensions != store->d)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "queries of %" PRIu64 " dimensions, but the vectors have %" PRIu64,
                             queries->dimensions, store->d);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_vectors_work_init(&work, store->context, queries, 1, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "queries");
        return status;
    }
    status = run(&search, ids, scores, err);
    wcodec_vectors_work_free(&work);
    return status;
}
