/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Compressed vectors: decoding, search against a scan of what is decoded, filters and probes, what
 * is refused, failing memory, and segments that are damaged or say what cannot be. */
#include "support_memory.h"
#include "support_vectors.h"

#include "coding/floats.h"
#include "vectors/segment.h"

#include <limits.h>
#include <math.h>

enum { N = 700, D = 37, M = 12, QUERIES = 9, K = 8 };

/* What a segment decodes to; the caller frees it. */
static float *decode_all(wcodec_context *context, const struct support_file *file, size_t n,
                         size_t d)
{
    wcodec_reader *reader;
    wcodec_error err;
    float *decoded = malloc(n * d * sizeof *decoded);
    assert_non_null(decoded);
    assert_int_equal(wcodec_reader_open_memory(context, file->bytes, file->size, &reader, &err),
                     WCODEC_OK);
    if (wcodec_vectors_decode(reader, 0, n, decoded, n * d * sizeof *decoded, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_reader_close(reader);
    return decoded;
}

/* Errors are at most half a step, a range of rows is what it is of the whole, and the same bytes
 * come of every number of threads. */
static void decoding(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_report report;
    struct support_file file = {0}, other = {0};
    wcodec_reader *reader;
    float part[5 * D];
    double sum = 0;
    (void)state;
    float *data = support_vectors_make(N, D, 1, &rows);
    wcodec_context *context = support_context(2, NULL);
    assert_int_equal(support_vectors_segment(context, &rows, M, 4, &file, &report, NULL),
                     WCODEC_OK);
    assert_int_equal(report.rows, N);
    assert_int_equal(report.anchors, M);
    assert_int_equal(report.dimensions, D);
    assert_int_equal(report.coded_size, file.size);
    assert_int_equal(report.clipped, 0);
    assert_true(report.recall == -1 && fabs(report.bits - 4) < 0.1);
    float *decoded = decode_all(context, &file, N, D);
    for (size_t i = 0; i < N * D; i++) {
        const double error = (double)data[i] - (double)decoded[i];
        assert_true(fabs(error) < report.scale * 0.5001);
        sum += error * error;
    }
    assert_true(fabs(sum / N - report.energy) < 1e-3 * report.energy);
    assert_int_equal(wcodec_reader_open_memory(context, file.bytes, file.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_vectors_decode(reader, 613, 5, part, sizeof part, NULL), WCODEC_OK);
    assert_memory_equal(part, decoded + 613 * D, sizeof part);
    assert_int_equal(wcodec_vectors_decode(reader, N, 0, part, 0, NULL), WCODEC_OK);
    assert_int_equal(wcodec_vectors_decode(reader, N - 4, 5, part, sizeof part, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_vectors_decode(reader, 2, UINT64_MAX, part, sizeof part, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_vectors_decode(reader, 2, 5, part, sizeof part - 1, NULL),
                     WCODEC_ERROR_USAGE);
    wcodec_reader_close(reader);
    wcodec_context *more = support_context(5, NULL);
    assert_int_equal(support_vectors_segment(more, &rows, M, 4, &other, NULL, NULL), WCODEC_OK);
    assert_int_equal(other.size, file.size);
    assert_memory_equal(other.bytes, file.bytes, file.size);
    wcodec_context_destroy(more);
    wcodec_context_destroy(context);
    free(decoded);
    free(file.bytes);
    free(other.bytes);
    free(data);
}

/* More bits are more exact, and a recall that is asked for is had, of the rows themselves. */
static void rates(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_report report = {0};
    wcodec_vectors_options train;
    wcodec_vectors *vectors;
    wcodec_vectors_compress_options options;
    wcodec_error err;
    struct support_file file = {0};
    double energy = INFINITY;
    (void)state;
    float *data = support_vectors_make(N, D, 2, &rows);
    wcodec_context *context = support_context(2, NULL);
    for (double bits = 0.5; bits <= 7; bits += 0.5) {
        assert_int_equal(support_vectors_segment(context, &rows, M, bits, &file, &report, NULL),
                         WCODEC_OK);
        assert_true(report.bits > bits - 0.05 && report.bits < bits + 0.3);
        assert_true(report.energy < energy);
        energy = report.energy;
    }
    wcodec_vectors_options_init(&train);
    train.anchors = M;
    assert_int_equal(wcodec_vectors_train(context, &rows, &train, &vectors, NULL), WCODEC_OK);
    wcodec_vectors_compress_options_init(&options);
    double last = 0;
    for (unsigned i = 0; i < 3; i++) {
        static const double wanted[] = {0.6, 0.95, 0.99};
        options.recall = wanted[i];
        file.size = 0;
        assert_int_equal(wcodec_vectors_compress(context, vectors, &rows, &options,
                                                 support_file_append, &file, &report, NULL),
                         WCODEC_OK);
        assert_true(report.recall >= wanted[i] && report.recall <= 1 && report.bits > last);
        last = report.bits;
    }
    options.recall = 0.999999;
    assert_int_equal(wcodec_vectors_compress(context, vectors, &rows, &options, support_file_append,
                                             &file, &report, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "is not reached by 7 bits a dimension, but 0.99"));
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    free(file.bytes);
    free(data);
}

/* How many of the rows that may be found are better than a score, by more than rounding. */
static size_t count_better(const float *query, const float *decoded,
                           const wcodec_vectors_search_options *o, double score)
{
    size_t better = 0;
    for (size_t i = 0; i < N; i++) {
        const double s = support_vectors_score(query, decoded + i * D, D, o->metric),
                     margin = 1e-4 * (fabs(score) + 1);
        const bool allowed =
            o->allowed == NULL || (i < o->allowed_count && (o->allowed[i / 8] >> i % 8 & 1) != 0);
        better +=
            allowed && (o->metric == WCODEC_VECTORS_L2 ? s < score - margin : s > score + margin);
    }
    return better;
}

static void expect_found(const float *queries, const float *decoded,
                         const wcodec_vectors_search_options *o, const uint64_t *ids,
                         const float *scores)
{
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t i = 0; i < o->k; i++) {
            const float *query = queries + q * D;
            const size_t at = q * (size_t)o->k + i;
            assert_true(ids[at] < N);
            const double score = support_vectors_score(query, decoded + ids[at] * D, D, o->metric);
            assert_true(fabs(score - (double)scores[at]) < 1e-4 * (fabs(score) + 1));
            assert_true(count_better(query, decoded, o, score) <= i);
            if (i == 0)
                continue;
            const float before = scores[at - 1];
            assert_true(o->metric == WCODEC_VECTORS_L2 ? before <= scores[at]
                                                       : before >= scores[at]);
            assert_true(before != scores[at] || ids[at - 1] < ids[at]);
        }
}

static void searching(void **state)
{
    wcodec_vector_rows rows, queries;
    wcodec_vectors_search_options o;
    struct support_file file = {0};
    uint64_t ids[QUERIES * K], again[QUERIES * K];
    float scores[QUERIES * K], again_scores[QUERIES * K];
    uint8_t allowed[(N - 100 + 7) / 8];
    (void)state;
    float *data = support_vectors_make(N, D, 3, &rows),
          *query = support_vectors_make(QUERIES, D, 4, &queries);
    wcodec_context *context = support_context(3, NULL), *one = support_context(1, NULL);
    assert_int_equal(support_vectors_segment(context, &rows, M, 3.5, &file, NULL, NULL), WCODEC_OK);
    float *decoded = decode_all(context, &file, N, D);
    wcodec_vectors_store *store = support_vectors_open(context, &file),
                         *same = support_vectors_open(one, &file);
    for (size_t i = 0; i < sizeof allowed; i++)
        allowed[i] = (uint8_t)(i * 37);
    wcodec_vectors_search_options_init(&o);
    o.k = K;
    for (int metric = WCODEC_VECTORS_L2; metric <= WCODEC_VECTORS_COSINE; metric++)
        for (unsigned way = 0; way < 3; way++) {
            o.metric = (wcodec_vectors_metric)metric;
            o.probes = way == 1 ? M : 0;
            o.allowed = way == 2 ? allowed : NULL;
            o.allowed_count = N - 100;
            assert_int_equal(wcodec_vectors_search(store, &queries, &o, ids, scores, NULL),
                             WCODEC_OK);
            expect_found(query, decoded, &o, ids, scores);
            assert_int_equal(wcodec_vectors_search(same, &queries, &o, again, again_scores, NULL),
                             WCODEC_OK);
            assert_memory_equal(ids, again, sizeof ids);
            assert_memory_equal(scores, again_scores, sizeof scores);
        }
    wcodec_vectors_close(store);
    wcodec_vectors_close(same);
    wcodec_context_destroy(context);
    wcodec_context_destroy(one);
    free(decoded);
    free(file.bytes);
    free(data);
    free(query);
}

/* However many queries memory has room for together, and by themselves: the same is found. */
static void together(void **state)
{
    enum { MANY = 70 };
    wcodec_vector_rows rows, queries;
    wcodec_vectors_search_options o;
    wcodec_vectors_store_info info;
    wcodec_error err;
    struct support_file file = {0};
    static uint64_t ids[MANY * K], again[MANY * K];
    static float scores[MANY * K], again_scores[MANY * K];
    unsigned refusals = 0, found = 0;
    (void)state;
    float *data = support_vectors_make(N, D, 3, &rows),
          *query = support_vectors_make(MANY, D, 4, &queries);
    wcodec_context *context = support_context(3, NULL);
    assert_int_equal(support_vectors_segment(context, &rows, M, 3.5, &file, NULL, NULL), WCODEC_OK);
    wcodec_vectors_store *store = support_vectors_open(context, &file);
    wcodec_vectors_store_describe(store, &info);
    wcodec_vectors_search_options_init(&o);
    o.k = K;
    o.probes = 2;
    assert_int_equal(wcodec_vectors_search(store, &queries, &o, ids, scores, NULL), WCODEC_OK);
    wcodec_vector_rows one = queries;
    one.count = 1;
    for (size_t i = 0; i < MANY; i++) {
        one.data = query + i * D;
        assert_int_equal(
            wcodec_vectors_search(store, &one, &o, again + i * K, again_scores + i * K, NULL),
            WCODEC_OK);
    }
    assert_memory_equal(ids, again, sizeof ids);
    assert_memory_equal(scores, again_scores, sizeof scores);
    for (uint64_t most = info.memory + 200; found < 4; most += 500) {
        wcodec_context *limited = support_context_limited(2, most);
        wcodec_vectors_store *tight = support_vectors_open(limited, &file);
        const wcodec_status status =
            wcodec_vectors_search(tight, &queries, &o, again, again_scores, &err);
        if (status == WCODEC_OK) {
            found++;
            assert_memory_equal(ids, again, sizeof ids);
            assert_memory_equal(scores, again_scores, sizeof scores);
        } else {
            refusals++;
            assert_int_equal(status, WCODEC_ERROR_LIMIT);
            assert_int_equal(found, 0);
        }
        wcodec_vectors_close(tight);
        wcodec_context_destroy(limited);
    }
    assert_true(refusals > 0);
    assert_non_null(strstr(err.text, "more than the limit of memory"));
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    free(file.bytes);
    free(data);
    free(query);
}

/* One anchor's rows, and fewer than were asked for. */
static void probes(void **state)
{
    wcodec_vector_rows rows, queries;
    wcodec_vectors_search_options o;
    struct support_file file = {0};
    enum { ALL = 600 };
    static uint64_t ids[QUERIES * ALL];
    static float scores[QUERIES * ALL];
    (void)state;
    float *data = support_vectors_make(N, D, 5, &rows),
          *query = support_vectors_make(QUERIES, D, 6, &queries);
    wcodec_context *context = support_context(2, NULL);
    assert_int_equal(support_vectors_segment(context, &rows, M, 3, &file, NULL, NULL), WCODEC_OK);
    wcodec_vectors_store *store = support_vectors_open(context, &file);
    wcodec_vectors_search_options_init(&o);
    o.k = ALL;
    size_t before = 0;
    for (unsigned n = 1; n <= 3; n++) {
        size_t found = 0;
        o.probes = n;
        assert_int_equal(wcodec_vectors_search(store, &queries, &o, ids, scores, NULL), WCODEC_OK);
        for (size_t i = 0; i < QUERIES * ALL; i++) {
            found += ids[i] != UINT64_MAX;
            assert_true((ids[i] == UINT64_MAX) == (isinf(scores[i]) != 0));
        }
        assert_true(found > before && found < QUERIES * ALL);
        before = found;
    }
    /* None at all. */
    o.k = 2;
    o.allowed = (const uint8_t *)"";
    o.metric = WCODEC_VECTORS_COSINE;
    assert_int_equal(wcodec_vectors_search(store, &queries, &o, ids, scores, NULL), WCODEC_OK);
    for (size_t i = 0; i < QUERIES * 2; i++)
        assert_true(ids[i] == UINT64_MAX && scores[i] == -INFINITY);
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    free(file.bytes);
    free(data);
    free(query);
}

/* Rows of one value, a single row, more anchors than rows, zeros: nothing divides by zero. */
static void corners(void **state)
{
    static const float equal[6] = {2, 2, 2, 2, 2, 2}, zeros[6] = {0};
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    for (unsigned i = 0; i < 4; i++) {
        const wcodec_vector_rows rows = {.dtype = WCODEC_DTYPE_F32,
                                         .count = i == 1 ? 1 : 3,
                                         .dimensions = i == 1 ? 6 : 2,
                                         .data = i == 2 ? zeros : equal},
                                 query = {.dtype = WCODEC_DTYPE_F32,
                                          .count = 1,
                                          .dimensions = rows.dimensions,
                                          .data = zeros};
        struct support_file file = {0};
        wcodec_vectors_report report;
        wcodec_vectors_search_options o;
        uint64_t ids[3];
        float scores[3];
        assert_int_equal(support_vectors_segment(context, &rows, i == 3 ? 3 : 1, i == 0 ? 4 : 0,
                                                 &file, &report, NULL),
                         WCODEC_OK);
        assert_true(report.energy == 0 && report.bits == 0);
        wcodec_vectors_store *store = support_vectors_open(context, &file);
        wcodec_vectors_search_options_init(&o);
        o.k = rows.count;
        o.metric = i == 2 ? WCODEC_VECTORS_COSINE : WCODEC_VECTORS_L2;
        assert_int_equal(wcodec_vectors_search(store, &query, &o, ids, scores, NULL), WCODEC_OK);
        for (size_t k = 0; k < o.k; k++) {
            assert_int_equal(ids[k], k);
            assert_true(scores[k] == (i == 2 ? 0 : i == 1 ? 24 : 8));
        }
        wcodec_vectors_close(store);
        free(file.bytes);
    }
    wcodec_context_destroy(context);
}

/* Differences from anchors that no scale divides: the smallest numbers that there are. */
static void subnormal(void **state)
{
    static float data[400];
    const wcodec_vector_rows rows = {
        .dtype = WCODEC_DTYPE_F32, .count = 100, .dimensions = 4, .data = data};
    struct support_file file = {0};
    wcodec_vectors_report report;
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    data[14] = wcodec_f32_of_bits(1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(support_vectors_segment(context, &rows, 2, i * 4.0, &file, &report, NULL),
                         WCODEC_OK);
        assert_true(report.scale > 0 && report.bits == 0 && report.clipped == 0);
    }
    wcodec_context_destroy(context);
    free(file.bytes);
}

/* Rows that are equally far from each other: any of them are the nearest. */
static void equally_far(void **state)
{
    enum { SIDE = 64 };
    static float data[SIDE * SIDE];
    const wcodec_vector_rows rows = {
        .dtype = WCODEC_DTYPE_F32, .count = SIDE, .dimensions = SIDE, .data = data};
    struct support_file file = {0};
    wcodec_vectors_report report;
    wcodec_error err;
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    for (size_t i = 0; i < SIDE; i++)
        data[i * SIDE + i] = 1;
    if (support_vectors_segment(context, &rows, 4, 0, &file, &report, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_true(report.recall == 1);
    wcodec_context_destroy(context);
    free(file.bytes);
}

static void expect_search(const wcodec_vectors_store *store, const wcodec_vector_rows *queries,
                          const wcodec_vectors_search_options *o, wcodec_status wanted,
                          const char *text)
{
    wcodec_error err = {0};
    uint64_t id = 7;
    float score = 7;
    assert_int_equal(wcodec_vectors_search(store, queries, o, &id, &score, &err), wanted);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, text);
    assert_true(id == 7 && score == 7);
}

static void refused(void **state)
{
    wcodec_vector_rows rows, queries;
    wcodec_vectors_search_options o;
    wcodec_vectors_compress_options c;
    wcodec_vectors_options train;
    wcodec_vectors *vectors;
    wcodec_error err;
    struct support_file file = {0};
    (void)state;
    float *data = support_vectors_make(N, D, 7, &rows),
          *query = support_vectors_make(4, D, 8, &queries);
    wcodec_context *context = support_context(2, NULL);
    assert_int_equal(support_vectors_segment(context, &rows, M, 3, &file, NULL, NULL), WCODEC_OK);
    wcodec_vectors_store *store = support_vectors_open(context, &file);
    wcodec_vectors_search_options_init(&o);
    o.k = N + 1;
    expect_search(store, &queries, &o, WCODEC_ERROR_USAGE, "701 nearest of 700 vectors");
    o.k = 0;
    expect_search(store, &queries, &o, WCODEC_ERROR_USAGE, "and not 0");
    o.k = 4097;
    expect_search(store, &queries, &o, WCODEC_ERROR_USAGE, "1 to 4096");
    o.k = 1;
    o.metric = (wcodec_vectors_metric)3;
    expect_search(store, &queries, &o, WCODEC_ERROR_USAGE, "no metric 3");
    o.metric = WCODEC_VECTORS_L2;
    queries.dimensions = D - 1;
    expect_search(store, &queries, &o, WCODEC_ERROR_USAGE, "queries of 36 dimensions");
    queries.dimensions = D;
    query[2 * D + 5] = NAN;
    expect_search(store, &queries, &o, WCODEC_ERROR_USAGE, "queries: row 2: element 5 is NaN");
    queries.dtype = WCODEC_DTYPE_I32;
    expect_search(store, &queries, &o, WCODEC_ERROR_UNSUPPORTED, "I32");
    wcodec_vectors_close(store);

    wcodec_vectors_options_init(&train);
    train.anchors = 3;
    assert_int_equal(wcodec_vectors_train(context, &rows, &train, &vectors, NULL), WCODEC_OK);
    for (unsigned i = 0; i < 7; i++) {
        static const struct {
            double bits, recall;
            const char *text;
        } cases[] = {{0.4, 0, "0.5 to 7 bits"},
                     {7.1, 0, "0.5 to 7 bits"},
                     {NAN, 0, "0.5 to 7 bits"},
                     {0, 1, "above 0 and below 1"},
                     {0, -0.1, "above 0"},
                     {3, 0.9, "and not both"},
                     {3, 0, "row 699: element 36 is NaN"}};
        if (i == 6)
            data[N * D - 1] = NAN;
        wcodec_vectors_compress_options_init(&c);
        c.bits = cases[i].bits;
        c.recall = cases[i].recall;
        assert_int_equal(wcodec_vectors_compress(context, vectors, &rows, &c, support_file_append,
                                                 &file, NULL, &err),
                         WCODEC_ERROR_USAGE);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("'%s' does not say '%s'", err.text, cases[i].text);
    }
    rows.dimensions = D - 1;
    assert_int_equal(wcodec_vectors_compress(context, vectors, &rows, NULL, support_file_append,
                                             &file, NULL, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "anchors of 37 dimensions for vectors of 36"));
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    free(file.bytes);
    free(data);
    free(query);
}

static wcodec_status use_all(wcodec_context *context, const wcodec_vector_rows *rows, double bits)
{
    struct support_file file = {0};
    wcodec_reader *reader = NULL;
    wcodec_vectors_store *store = NULL;
    wcodec_error err = {0};
    uint64_t ids[10];
    float scores[10], decoded[2 * 8];
    wcodec_vector_rows query = *rows;
    query.count = 1;
    wcodec_status status = support_vectors_segment(context, rows, 5, bits, &file, NULL, &err);
    if (status == WCODEC_OK)
        status = wcodec_reader_open_memory(context, file.bytes, file.size, &reader, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_decode(reader, 3, 2, decoded, sizeof decoded, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_open_reader(context, reader, &store, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_search(store, &query, NULL, ids, scores, &err);
    assert_true(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    wcodec_vectors_close(store);
    wcodec_reader_close(reader);
    free(file.bytes);
    return status;
}

/* Each allocation fails once, and then all from it on; and every limit of memory. */
static void out_of_memory(void **state)
{
    wcodec_vector_rows rows;
    (void)state;
    float *data = support_vectors_make(60, 8, 9, &rows);
    for (unsigned way = 0; way < 4; way++) {
        long failures = 0, calls = 0;
        /* Some that fail are done without. */
        for (long n = 0; n <= calls; n++) {
            struct support_allocator allocator;
            support_allocator_init(&allocator, SUPPORT_NEVER);
            wcodec_context *context = support_context(1, &allocator.allocator);
            const long before = allocator.calls;
            allocator.once = way % 2 == 0;
            allocator.left = n;
            const wcodec_status status = use_all(context, &rows, way / 2 == 0 ? 3 : 0);
            assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
            failures += status != WCODEC_OK;
            calls = allocator.calls - before;
            wcodec_context_destroy(context);
            assert_int_equal(allocator.balance, 0);
        }
        assert_true(failures > 40);
    }
    wcodec_status status = WCODEC_ERROR_LIMIT;
    unsigned refusals = 0;
    for (uint64_t most = 1000; status != WCODEC_OK; most += 1000) {
        wcodec_context *context = support_context_limited(1, most);
        status = use_all(context, &rows, 3);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_LIMIT);
        refusals += status != WCODEC_OK;
        wcodec_context_destroy(context);
    }
    assert_true(refusals > 2);
    free(data);
}

/* Calls until one of them is refused. */
static int refuse_write(void *opaque, const void *bytes, size_t size)
{
    long *left = opaque;
    (void)bytes, (void)size;
    return --*left < 0 ? -1 : 0;
}

static int refuse(void *opaque, uint64_t done, uint64_t total)
{
    long *left = opaque;
    assert_true(done <= total);
    return --*left < 0;
}

/* At each call of the progress function, and of the one that writes. */
static void cancelled(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors *vectors;
    wcodec_vectors_options train;
    wcodec_vectors_compress_options options;
    wcodec_error err;
    (void)state;
    float *data = support_vectors_make(3000, 8, 9, &rows);
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors_options_init(&train);
    train.anchors = 5;
    assert_int_equal(wcodec_vectors_train(context, &rows, &train, &vectors, NULL), WCODEC_OK);
    for (unsigned way = 0; way < 2; way++) {
        wcodec_status status = WCODEC_ERROR_IO;
        long calls = 0;
        for (; status != WCODEC_OK; calls++) {
            long progress_left = way == 0 ? calls : LONG_MAX,
                 write_left = way == 0 ? LONG_MAX : calls;
            wcodec_vectors_compress_options_init(&options);
            options.bits = 3;
            options.progress = (wcodec_progress){.fn = refuse, .opaque = &progress_left};
            status = wcodec_vectors_compress(context, vectors, &rows, &options, refuse_write,
                                             &write_left, NULL, &err);
            if (status != WCODEC_OK) {
                assert_int_equal(status, way == 0 ? WCODEC_ERROR_CANCELLED : WCODEC_ERROR_IO);
                assert_true(err.text[0] != 0);
            }
        }
        assert_true(calls > 1);
    }
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    free(data);
}

/* Every byte of a segment changed: an error, or what the bytes say, and never a crash. */
static void damage(void **state)
{
    wcodec_vector_rows rows;
    struct support_file file = {0};
    unsigned errors = 0;
    (void)state;
    float *data = support_vectors_make(40, 5, 10, &rows), query[5] = {0};
    const wcodec_vector_rows one = {
        .dtype = WCODEC_DTYPE_F32, .count = 1, .dimensions = 5, .data = query};
    wcodec_context *context = support_context(1, NULL);
    assert_int_equal(support_vectors_segment(context, &rows, 3, 3, &file, NULL, NULL), WCODEC_OK);
    for (size_t i = 0; i < file.size; i++) {
        wcodec_reader *reader = NULL;
        wcodec_vectors_store *store = NULL;
        uint64_t ids[10];
        float scores[10];
        file.bytes[i] ^= 0x55;
        wcodec_status status =
            wcodec_reader_open_memory(context, file.bytes, file.size, &reader, NULL);
        if (status == WCODEC_OK)
            status = wcodec_vectors_open_reader(context, reader, &store, NULL);
        errors += status != WCODEC_OK;
        if (status == WCODEC_OK)
            assert_int_equal(wcodec_vectors_search(store, &one, NULL, ids, scores, NULL),
                             WCODEC_OK);
        wcodec_vectors_close(store);
        wcodec_reader_close(reader);
        file.bytes[i] ^= 0x55;
    }
    assert_true(errors > file.size / 2);
    wcodec_context_destroy(context);
    free(file.bytes);
    free(data);
}

/* Tensors of a segment, as someone who means harm would write them. */
struct forged {
    const char *version;
    wcodec_dtype anchor_dtype, index_dtype, residual_dtype;
    uint64_t m, anchor_d, scales, n, residual_n, d;
    float scale;
    uint8_t index;
    uint16_t anchor;
    unsigned without; /* number of a tensor from 1 on; 0: none */
    wcodec_status status;
    const char *text;
};

static void put(wcodec_writer *writer, const struct forged *f, bool declares, unsigned number,
                const char *name, wcodec_dtype dtype, uint64_t rows, uint64_t columns,
                unsigned rank, uint32_t value)
{
    static uint8_t data[4096];
    const uint64_t shape[2] = {rows, columns};
    const size_t width = wcodec_dtype_bits(dtype) / 8,
                 count = (size_t)(rank == 2 ? rows * columns : rows);
    if (f->without == number)
        return;
    if (declares) {
        assert_int_equal(wcodec_writer_declare(writer, name, dtype, shape, rank, NULL), WCODEC_OK);
        return;
    }
    assert_true(count * width <= sizeof data);
    for (size_t i = 0; i < count * width; i++)
        data[i] = (uint8_t)(value >> i % width * 8);
    assert_int_equal(wcodec_writer_data(writer, data, count * width, NULL), WCODEC_OK);
}

static void forge(wcodec_context *context, const struct forged *f, struct support_file *file)
{
    wcodec_writer *writer;
    file->size = 0;
    assert_int_equal(wcodec_writer_create(context, support_file_append, file, NULL, &writer, NULL),
                     WCODEC_OK);
    if (f->version != NULL)
        assert_int_equal(wcodec_writer_metadata(writer, WCODEC_SEGMENT_KEY, f->version, NULL),
                         WCODEC_OK);
    for (unsigned pass = 0; pass < 2; pass++) {
        put(writer, f, pass == 0, 1, WCODEC_SEGMENT_ANCHORS, f->anchor_dtype, f->m, f->anchor_d, 2,
            f->anchor);
        put(writer, f, pass == 0, 2, WCODEC_SEGMENT_SCALES, WCODEC_DTYPE_F32, f->scales, 0, 1,
            wcodec_f32_bits(f->scale));
        put(writer, f, pass == 0, 3, WCODEC_SEGMENT_INDICES, f->index_dtype, f->n, 0, 1, f->index);
        put(writer, f, pass == 0, 4, WCODEC_SEGMENT_RESIDUALS, f->residual_dtype, f->residual_n,
            f->d, 2, 0x80);
    }
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_OK);
    wcodec_writer_destroy(writer);
}

static void expect_forged(wcodec_context *context, const struct forged *f)
{
    struct support_file file = {0};
    wcodec_reader *reader;
    wcodec_vectors_store *store = NULL;
    wcodec_error err = {0};
    float decoded[64];
    forge(context, f, &file);
    assert_int_equal(wcodec_reader_open_memory(context, file.bytes, file.size, &reader, NULL),
                     WCODEC_OK);
    const wcodec_status status = wcodec_vectors_open_reader(context, reader, &store, &err);
    if (status != f->status || strstr(err.text, f->text) == NULL)
        fail_msg("%d, '%s' does not say '%s'", (int)status, err.text, f->text);
    wcodec_vectors_close(store);
    if (f->n != 0)
        assert_int_equal(wcodec_vectors_decode(reader, 0, 1, decoded, sizeof decoded, NULL),
                         f->status);
    wcodec_reader_close(reader);
    free(file.bytes);
}

static void hostile(void **state)
{
    const struct forged good = {.version = "1",
                                .anchor_dtype = WCODEC_DTYPE_F16,
                                .index_dtype = WCODEC_DTYPE_U8,
                                .residual_dtype = WCODEC_DTYPE_I8,
                                .m = 3,
                                .anchor_d = 5,
                                .scales = 1,
                                .n = 4,
                                .residual_n = 4,
                                .d = 5,
                                .scale = 0.5f,
                                .index = 2,
                                .text = ""};
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    expect_forged(context, &good);
    struct forged f = good;
    f.scales = 3;
    expect_forged(context, &f);
#define EXPECT(member, value, code, says) \
    do { \
        f = good; \
        f.member = value; \
        f.status = code; \
        f.text = says; \
        expect_forged(context, &f); \
    } while (0)
    EXPECT(version, NULL, WCODEC_ERROR_USAGE, "no segment of vectors");
    EXPECT(version, "2", WCODEC_ERROR_NEWER, "version '2', not 1");
    EXPECT(without, 1, WCODEC_ERROR_CORRUPT, "without vectors.anchors");
    EXPECT(without, 2, WCODEC_ERROR_CORRUPT, "without vectors.scales");
    EXPECT(without, 3, WCODEC_ERROR_CORRUPT, "without vectors.indices");
    EXPECT(without, 4, WCODEC_ERROR_CORRUPT, "without vectors.residuals");
    EXPECT(anchor_dtype, WCODEC_DTYPE_BF16, WCODEC_ERROR_CORRUPT, "vectors.anchors is of BF16");
    EXPECT(index_dtype, WCODEC_DTYPE_I8, WCODEC_ERROR_CORRUPT, "vectors.indices is of I8");
    EXPECT(residual_dtype, WCODEC_DTYPE_U8, WCODEC_ERROR_CORRUPT, "vectors.residuals is of U8");
    EXPECT(anchor_d, 4, WCODEC_ERROR_CORRUPT, "anchors of 4 dimensions, residuals of 5");
    EXPECT(n, 3, WCODEC_ERROR_CORRUPT, "3 indices for residuals of 4");
    EXPECT(n, 0, WCODEC_ERROR_CORRUPT, "0 indices");
    EXPECT(m, 2, WCODEC_ERROR_CORRUPT, "row 0 has anchor 2, but there are 2");
    EXPECT(m, 0, WCODEC_ERROR_CORRUPT, "by 0 anchors");
    EXPECT(scales, 2, WCODEC_ERROR_CORRUPT, "2 scales for 3 anchors");
    EXPECT(scale, NAN, WCODEC_ERROR_CORRUPT, "scale 0 is nan");
    EXPECT(scale, 0, WCODEC_ERROR_CORRUPT, "scale 0 is 0");
    EXPECT(scale, -1, WCODEC_ERROR_CORRUPT, "scale 0 is -1");
    EXPECT(scale, INFINITY, WCODEC_ERROR_CORRUPT, "scale 0 is inf");
    EXPECT(anchor, 0x7C00, WCODEC_ERROR_CORRUPT, "anchor 0: element 0 is NaN or infinite");
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding),   cmocka_unit_test(rates),         cmocka_unit_test(searching),
        cmocka_unit_test(together),   cmocka_unit_test(probes),        cmocka_unit_test(corners),
        cmocka_unit_test(refused),    cmocka_unit_test(out_of_memory), cmocka_unit_test(damage),
        cmocka_unit_test(hostile),    cmocka_unit_test(cancelled),     cmocka_unit_test(subnormal),
        cmocka_unit_test(equally_far)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
