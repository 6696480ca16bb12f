/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search in coded vectors. With anchor a, scale s and residuals r, a row is x = a + s r, so that
 * |q - x|^2 = |q - a|^2 - 2 s (q - a) r + |s r|^2 and q x = q a + s q r: of a row that is looked
 * at, its product with residuals is needed, in whole numbers, and what was made when it was read.
 */
#include "backends/backend.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "sched/pool.h"
#include "vectors/search_device.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    K_MAX = 4096,
    TOGETHER = 64, /* queries that are at work at most */
    ROWS = 64,     /* whose products a task has at once */
    VECTOR_MAX = 32767,
    LANES = WCODEC_NEAREST_LANES
};

static const wcodec_vectors_search_options defaults = {
    .struct_size = sizeof defaults, .k = 10, .rerank_factor = 4};

void wcodec_vectors_search_options_init_size(wcodec_vectors_search_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

/* An anchor that a query looks at; in the order of anchors, a query that looks at one. */
struct probe {
    uint32_t number; /* among the anchors of all segments; of the query */
    float base;      /* squared distance, or product, of query and anchor */
};

struct search {
    const struct wcodec_vectors_store *store;
    struct wcodec_vectors_work *queries;
    wcodec_vectors_search_options options;
    size_t together;      /* queries that are at work at most */
    size_t first, count;  /* those that are */
    size_t stride;        /* of vectors */
    size_t parts;         /* tasks, each of which has some anchors */
    size_t anchors;       /* of all segments */
    size_t lane_room;     /* lanes of the segment that has most */
    struct probe *probes; /* of each query, `anchors` */
    size_t *probe_count;
    float *distances; /* of each query, lane_room */
    uint64_t *order;  /* of each query, lane_room */
    float *length;    /* of each query */
    size_t *begin;    /* anchors + 1: where the probes of each are in `by_anchor` */
    struct probe *by_anchor;
    size_t *part_begin;           /* parts + 1: anchors */
    int16_t *vectors;             /* of each part, one for each query */
    float *units;                 /* of these */
    struct wcodec_hit *hits;      /* of each part and query, k */
    struct wcodec_rerank *rerank; /* NULL; or k are the candidates of fewer */
};

/* Numbers that are in the order of the keys. */
static uint32_t order_of(float key)
{
    return wcodec_order_of_bits(wcodec_f32_bits(key));
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Also where its square is no binary32. */
static float length_of(const float *a, size_t width)
{
    return (float)sqrt(wcodec_vectors_product(a, a, width));
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
            distances[k] =
                (float)wcodec_vectors_product(query, s->anchors + k * s->width, s->width);
}

/* What anchors are ordered by. */
static float anchor_key(const struct search *search, const struct wcodec_vectors_segment *s,
                        size_t k, float distance)
{
    if (search->options.metric == WCODEC_VECTORS_L2)
        return distance;
    if (search->options.metric == WCODEC_VECTORS_INNER_PRODUCT)
        return -distance;
    const float length = s->anchor_lengths[k];
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
    const size_t width = search->queries->width;
    const float *query = search->queries->rows + (search->first + q) * width;
    float *distances = search->distances + q * search->lane_room;
    uint64_t *order = search->order + q * search->lane_room;
    struct probe *probes = search->probes + q * search->anchors;
    size_t count = 0, before = 0;
    search->length[q] = length_of(query, width);
    for (size_t i = 0; i < search->store->count; i++) {
        const struct wcodec_vectors_segment *s = &search->store->segments[i];
        measure_anchors(search, s, query, distances);
        const size_t chosen = choose_anchors(search, s, distances, order);
        for (size_t j = 0; j < chosen; j++) {
            const uint32_t k = (uint32_t)order[j];
            if (s->begin[k] != s->begin[k + 1])
                probes[count++] =
                    (struct probe){.number = (uint32_t)(before + k), .base = distances[k]};
        }
        before += s->m;
    }
    search->probe_count[q] = count;
}

/* The queries of each anchor, so that its rows are gone through once for all of them. */
static void order_probes(const struct search *search)
{
    size_t at = 0;
    memset(search->begin, 0, (search->anchors + 1) * sizeof *search->begin);
    for (size_t q = 0; q < search->count; q++)
        for (size_t i = 0; i < search->probe_count[q]; i++)
            search->begin[search->probes[q * search->anchors + i].number]++;
    for (size_t k = 0; k <= search->anchors; k++) {
        const size_t count = search->begin[k];
        search->begin[k] = at;
        at += count;
    }
    for (size_t q = 0; q < search->count; q++)
        for (size_t i = 0; i < search->probe_count[q]; i++) {
            const struct probe *probe = &search->probes[q * search->anchors + i];
            search->by_anchor[search->begin[probe->number]++] =
                (struct probe){.number = (uint32_t)q, .base = probe->base};
        }
    memmove(search->begin + 1, search->begin, search->anchors * sizeof *search->begin);
    search->begin[0] = 0;
}

/* Products that an anchor takes: rows times queries. */
static uint64_t work_of(const struct search *search, const struct wcodec_vectors_segment *s,
                        size_t k, size_t number)
{
    return (uint64_t)(s->begin[k + 1] - s->begin[k]) *
           (search->begin[number + 1] - search->begin[number]);
}

/* Anchors to the parts, in their order, so that each has about as much work. */
static void cut_parts(const struct search *search)
{
    const struct wcodec_vectors_store *store = search->store;
    uint64_t all = 0, done = 0;
    size_t part = 0, number = 0;
    for (size_t i = 0; i < store->count; i++)
        for (size_t k = 0; k < store->segments[i].m; k++)
            all += work_of(search, &store->segments[i], k, number++);
    number = 0;
    for (size_t i = 0; i < store->count; i++)
        for (size_t k = 0; k < store->segments[i].m; k++, number++) {
            while (part < search->parts && done >= all / search->parts * part)
                search->part_begin[part++] = number;
            done += work_of(search, &store->segments[i], k, number);
        }
    while (part <= search->parts)
        search->part_begin[part++] = search->anchors;
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

/* Key of a row, by its product with the query's vector in whole numbers times `factor`. */
static float key_of(const struct search *search, const struct wcodec_vectors_segment *s, size_t i,
                    const struct probe *probe, float factor, int64_t sum)
{
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
    const float lengths = search->length[probe->number] * s->lengths[i];
    return lengths > 0 ? -whole / lengths : 0;
}

/* What a part has of its own. */
struct part {
    int16_t *vectors;
    float *units;
    struct wcodec_hit *hits;
};

static struct part part_of(const struct search *search, size_t i)
{
    const size_t first = i * search->together;
    return (struct part){.vectors = search->vectors + first * search->stride,
                         .units = search->units + first,
                         .hits = search->hits + first * (size_t)search->options.k};
}

/* Some rows of an anchor with a query that looks at it. */
static void look_at(const struct search *search, const struct wcodec_vectors_segment *s,
                    const struct probe *probe, float scale, size_t at, size_t some,
                    const struct part *part)
{
    const size_t k = (size_t)search->options.k, q = probe->number;
    const float factor = part->units[q] * scale;
    struct wcodec_hit *hits = part->hits + q * k;
    int64_t sums[ROWS];
    search->store->dsp.products(part->vectors + q * search->stride, s->codes + at * s->stride, some,
                                s->stride, sums);
    for (size_t i = 0; i < some; i++) {
        const float key = key_of(search, s, at + i, probe, factor, sums[i]);
        const uint32_t row = s->row[at + i];
        if (key <= hits[k - 1].key && is_allowed(search, s, row))
            wcodec_hits_keep(hits, k,
                             (struct wcodec_hit){.key = key, .id = wcodec_segment_id(s, row)});
    }
}

static void search_anchor(const struct search *search, const struct wcodec_vectors_segment *s,
                          size_t anchor, size_t number, const struct part *part)
{
    const struct probe *probes = search->by_anchor + search->begin[number];
    const size_t count = search->begin[number + 1] - search->begin[number],
                 end = s->begin[anchor + 1], width = search->queries->width;
    /* For squared distances the vectors are those of the queries without the anchor. */
    for (size_t p = 0; search->options.metric == WCODEC_VECTORS_L2 && p < count; p++) {
        const size_t q = probes[p].number;
        part->units[q] = round_vector(search->queries->rows + (search->first + q) * width,
                                      s->anchors + anchor * s->width, s->d, search->stride,
                                      part->vectors + q * search->stride);
    }
    for (size_t at = s->begin[anchor], some; count != 0 && at < end; at += some) {
        some = end - at < ROWS ? end - at : ROWS;
        for (size_t p = 0; p < count; p++)
            look_at(search, s, &probes[p], s->scales[anchor], at, some, part);
    }
}

static void search_part(void *opaque, size_t task)
{
    const struct search *search = opaque;
    const struct part part = part_of(search, task);
    const size_t k = (size_t)search->options.k, width = search->queries->width,
                 begin = search->part_begin[task], end = search->part_begin[task + 1];
    size_t before = 0;
    wcodec_hits_clear(part.hits, search->count * k);
    for (size_t q = 0; search->options.metric != WCODEC_VECTORS_L2 && q < search->count; q++)
        part.units[q] = round_vector(search->queries->rows + (search->first + q) * width, NULL,
                                     (size_t)search->store->d, search->stride,
                                     part.vectors + q * search->stride);
    for (size_t i = 0; i < search->store->count; i++) {
        const struct wcodec_vectors_segment *s = &search->store->segments[i];
        for (size_t j = begin > before ? begin - before : 0; j < s->m && before + j < end; j++)
            search_anchor(search, s, j, before + j, &part);
        before += s->m;
    }
}

/* The hits of a query's parts, together, in the first one's place. */
static void gather(const struct search *search, size_t q)
{
    const size_t k = (size_t)search->options.k;
    for (size_t i = 1; i < search->parts; i++)
        for (size_t j = 0; j < k; j++)
            wcodec_hits_keep(search->hits + q * k, k, part_of(search, i).hits[q * k + j]);
}

/* Bytes that each query at work takes. */
static uint64_t query_memory(const struct search *search)
{
    const uint64_t probes = (uint64_t)search->anchors * 2 * sizeof(struct probe),
                   lanes = (uint64_t)search->lane_room * (sizeof(float) + sizeof(uint64_t)),
                   part = search->stride * sizeof(int16_t) + sizeof(float) +
                          search->options.k * sizeof(struct wcodec_hit);
    const uint64_t ranked = search->rerank == NULL
                                ? 0
                                : wcodec_rerank_memory(search->queries->width, search->rerank->k);
    return probes + lanes + sizeof(size_t) + sizeof(float) + search->parts * part + ranked;
}

/* As many queries together as memory has room for beside the vectors. */
static wcodec_status find_room(struct search *search, wcodec_error *err)
{
    const struct wcodec_vectors_store *store = search->store;
    const uint64_t limit = store->context->limits.max_memory;
    const size_t threads = wcodec_context_threads(store->context);
    wcodec_vectors_store_info info;
    for (size_t i = 0; i < store->count; i++) {
        const size_t lanes = (store->segments[i].m + LANES - 1) / LANES * LANES;
        search->anchors += store->segments[i].m;
        search->lane_room = lanes > search->lane_room ? lanes : search->lane_room;
        search->stride = store->segments[i].stride;
    }
    search->parts = threads > 1 ? 2 * threads : 1;
    wcodec_vectors_store_describe(store, &info);
    const uint64_t device = wcodec_search_device_host_memory(store),
                   taken = device > info.memory ? device : info.memory;
    const uint64_t own = ((uint64_t)search->anchors + search->parts + 2) * sizeof(size_t),
                   each = query_memory(search);
    if (taken > limit || own > limit - taken || each > limit - taken - own ||
        search->anchors > UINT32_MAX)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "a query takes %" PRIu64 " bytes beside %" PRIu64
                           " of the vectors: more than the limit of memory",
                           own + each, taken);
    const uint64_t room = (limit - taken - own) / each;
    search->together = search->queries->n < TOGETHER ? search->queries->n : TOGETHER;
    search->together = room < search->together ? (size_t)room : search->together;
    return WCODEC_OK;
}

static wcodec_status allocate(struct search *search, wcodec_error *err)
{
    const wcodec_allocator *allocator = &search->store->context->allocator;
    const uint64_t n = search->together, all = n * search->parts,
                   anchors = (uint64_t)search->anchors + 1, parts = (uint64_t)search->parts + 1;
    search->probes = wcodec_alloc_array(allocator, n, search->anchors * sizeof(struct probe));
    search->by_anchor = wcodec_alloc_array(allocator, n, search->anchors * sizeof(struct probe));
    search->probe_count = wcodec_alloc_array(allocator, n, sizeof *search->probe_count);
    search->length = wcodec_alloc_array(allocator, n, sizeof *search->length);
    search->distances =
        wcodec_alloc_array(allocator, n, search->lane_room * sizeof *search->distances);
    search->order = wcodec_alloc_array(allocator, n, search->lane_room * sizeof *search->order);
    search->begin = wcodec_alloc_array(allocator, anchors, sizeof *search->begin);
    search->part_begin = wcodec_alloc_array(allocator, parts, sizeof *search->part_begin);
    search->vectors = wcodec_alloc_array(allocator, all, search->stride * sizeof(int16_t));
    search->units = wcodec_alloc_array(allocator, all, sizeof *search->units);
    search->hits =
        wcodec_alloc_array(allocator, all, (size_t)search->options.k * sizeof(struct wcodec_hit));
    if (search->probes == NULL || search->by_anchor == NULL || search->probe_count == NULL ||
        search->length == NULL || search->distances == NULL || search->order == NULL ||
        search->begin == NULL || search->part_begin == NULL || search->vectors == NULL ||
        search->units == NULL || search->hits == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " queries", n);
    return WCODEC_OK;
}

static void free_all(const struct search *search)
{
    const wcodec_allocator *allocator = &search->store->context->allocator;
    wcodec_free(allocator, search->probes);
    wcodec_free(allocator, search->by_anchor);
    wcodec_free(allocator, search->probe_count);
    wcodec_free(allocator, search->length);
    wcodec_free(allocator, search->distances);
    wcodec_free(allocator, search->order);
    wcodec_free(allocator, search->begin);
    wcodec_free(allocator, search->part_begin);
    wcodec_free(allocator, search->vectors);
    wcodec_free(allocator, search->units);
    wcodec_free(allocator, search->hits);
}

/* What is found of the queries at work. */
static wcodec_status put_found(const struct search *search, uint64_t *ids, float *scores,
                               wcodec_error *err)
{
    const size_t k = (size_t)search->options.k;
    for (size_t q = 0; q < search->count; q++) {
        gather(search, q);
        if (search->rerank == NULL)
            wcodec_hits_put(search->hits + q * k, k, search->options.metric,
                            ids + (search->first + q) * k, scores + (search->first + q) * k);
    }
    if (search->rerank == NULL)
        return WCODEC_OK;
    const size_t at = search->first * search->rerank->k;
    return wcodec_rerank_run(search->rerank,
                             search->queries->rows + search->first * search->queries->width,
                             search->count, search->hits, ids + at, scores + at, err);
}

static wcodec_status run(struct search *search, uint64_t *ids, float *scores, wcodec_error *err)
{
    wcodec_context *context = search->store->context;
    const size_t n = search->queries->n;
    wcodec_status status = find_room(search, err);
    if (status == WCODEC_OK)
        status = allocate(search, err);
    if (status == WCODEC_OK && search->rerank != NULL)
        status = wcodec_rerank_begin(search->rerank, search->together, err);
    for (size_t first = 0; status == WCODEC_OK && first < n; first += search->together) {
        search->first = first;
        search->count = n - first < search->together ? n - first : search->together;
        wcodec_run(context, probe_query, search, search->count);
        order_probes(search);
        cut_parts(search);
        wcodec_run(context, search_part, search, search->parts);
        status = put_found(search, ids, scores, err);
    }
    if (search->rerank != NULL)
        wcodec_rerank_end(search->rerank);
    free_all(search);
    return status;
}

wcodec_status wcodec_vectors_check_search(const wcodec_vectors_store *store,
                                          const wcodec_vector_rows *queries,
                                          const wcodec_vectors_search_options *o, wcodec_error *err)
{
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
    if (queries->dimensions != store->d)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "queries of %" PRIu64 " dimensions, but the vectors have %" PRIu64,
                           queries->dimensions, store->d);
    return WCODEC_OK;
}

/* By a device, if it does; or else, and where originals are to be seen, with `work`. */
static wcodec_status search_there(const struct search *search, const wcodec_vector_rows *queries,
                                  uint64_t *ids, float *scores, bool *done, wcodec_error *err)
{
    const struct wcodec_device_search there = {
        .store = search->store,
        .queries = queries,
        .options = &search->options,
        .rerank = search->rerank,
        .widened = search->rerank != NULL ? search->queries->rows : NULL,
        .ids = ids,
        .scores = scores};
    return wcodec_search_device_run(&there, done, err);
}

/* With queries as binary32. */
static wcodec_status search_widened(struct search *search, const wcodec_vector_rows *queries,
                                    uint64_t *ids, float *scores, wcodec_error *err)
{
    const wcodec_vectors_search_options given = search->options;
    struct wcodec_rerank rerank = {.context = search->store->context,
                                   .options = &given,
                                   .d = search->queries->d,
                                   .width = search->queries->width,
                                   .k = (size_t)given.k};
    bool done = false;
    wcodec_status status = WCODEC_OK;
    if (wcodec_rerank_wanted(&given)) {
        status = wcodec_rerank_check(&rerank, search->store->rows, err);
        search->options.k = rerank.candidates;
        search->rerank = &rerank;
        if (status == WCODEC_OK)
            status = search_there(search, queries, ids, scores, &done, err);
    }
    return status == WCODEC_OK && !done ? run(search, ids, scores, err) : status;
}

wcodec_status wcodec_vectors_search(const wcodec_vectors_store *store,
                                    const wcodec_vector_rows *queries,
                                    const wcodec_vectors_search_options *options, uint64_t *ids,
                                    float *scores, wcodec_error *err)
{
    struct wcodec_vectors_work work;
    struct search search = {.store = store, .queries = &work, .options = defaults};
    bool done = false;
    wcodec_status status = wcodec_options_take(options, &search.options, sizeof search.options,
                                               "wcodec_vectors_search_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_check_search(store, queries, &search.options, err);
    if (status == WCODEC_OK)
        status = wcodec_context_usable(store->context, err);
    if (status == WCODEC_OK && !wcodec_rerank_wanted(&search.options) &&
        wcodec_vectors_check_rows(queries, NULL) == WCODEC_OK)
        status = search_there(&search, queries, ids, scores, &done, err);
    if (status != WCODEC_OK || done)
        return status;
    status = wcodec_vectors_work_init(&work, store->context, queries, 1, false, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "queries");
        return status;
    }
    status = search_widened(&search, queries, ids, scores, err);
    wcodec_vectors_work_free(&work);
    return status;
}
