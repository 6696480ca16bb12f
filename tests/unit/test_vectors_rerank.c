/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search with exact distances of what is found: from memory and from a reader, by each metric and
 * type; originals that do not fit, lack rows or hold no numbers; failing memory. */
#include "support_memory.h"
#include "support_vectors.h"

#include "coding/lossy.h"
#include "core/bytes.h"

#include <math.h>
#include <wcodec/writer.h>

enum { N = 500, D = 21, M = 8, QUERIES = 70, K = 6 };

struct searched {
    wcodec_context *context;
    wcodec_vector_rows rows, queries;
    float *data, *query;
    struct support_file file;
    wcodec_vectors_store *store;
    uint64_t ids[QUERIES * K];
    float scores[QUERIES * K];
};

static void begin(struct searched *s, wcodec_context *context)
{
    *s = (struct searched){.context = context};
    s->data = support_vectors_make(N, D, 1, &s->rows);
    s->query = support_vectors_make(QUERIES, D, 2, &s->queries);
    assert_int_equal(support_vectors_segment(context, &s->rows, M, 1, &s->file, NULL, NULL),
                     WCODEC_OK);
    s->store = support_vectors_open(context, &s->file);
}

static void end(struct searched *s)
{
    wcodec_vectors_close(s->store);
    wcodec_context_destroy(s->context);
    free(s->file.bytes);
    free(s->query);
    free(s->data);
}

static wcodec_vectors_search_options options_of(wcodec_vectors_metric metric, uint64_t factor)
{
    wcodec_vectors_search_options o;
    wcodec_vectors_search_options_init(&o);
    assert_int_equal(o.rerank_factor, 4);
    o.k = K;
    o.metric = metric;
    o.rerank_factor = factor;
    return o;
}

static void search(struct searched *s, const wcodec_vectors_search_options *o)
{
    wcodec_error err;
    if (wcodec_vectors_search(s->store, &s->queries, o, s->ids, s->scores, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

/* How many of those found are among the K best of all rows; scores are exact, and in order. */
static unsigned count_right(const struct searched *s, const float *data,
                            wcodec_vectors_metric metric, bool exact)
{
    const double sign = metric == WCODEC_VECTORS_L2 ? 1 : -1;
    unsigned right = 0;
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t i = 0; i < K; i++) {
            const size_t at = q * K + i;
            const double score =
                support_vectors_score(s->query + q * D, data + s->ids[at] * D, D, metric);
            unsigned better = 0;
            for (size_t row = 0; row < N; row++)
                better +=
                    sign * support_vectors_score(s->query + q * D, data + row * D, D, metric) <
                    sign * score;
            right += better < K;
            if (exact)
                assert_true(fabs((double)s->scores[at] - score) <= 1e-5 * (1 + fabs(score)));
            if (exact && i > 0)
                assert_true(sign * (double)s->scores[at] >= sign * (double)s->scores[at - 1]);
        }
    return right;
}

/* A file of the rows, which a reader has open as tensor 1. */
static wcodec_reader *open_original(wcodec_context *context, const wcodec_vector_rows *rows,
                                    struct support_file *file)
{
    const uint64_t shape[] = {rows->count, rows->dimensions}, other[] = {3};
    wcodec_writer *writer;
    wcodec_reader *reader;
    wcodec_error err;
    *file = (struct support_file){.bytes = NULL};
    if (wcodec_writer_create(context, support_file_append, file, NULL, &writer, &err) !=
            WCODEC_OK ||
        wcodec_writer_declare(writer, "line", WCODEC_DTYPE_U8, other, 1, &err) != WCODEC_OK ||
        wcodec_writer_declare(writer, "rows", rows->dtype, shape, 2, &err) != WCODEC_OK ||
        wcodec_writer_data(writer, "abc", 3, &err) != WCODEC_OK ||
        wcodec_writer_data(writer, rows->data,
                           (size_t)(rows->count * rows->dimensions) *
                               wcodec_dtype_bits(rows->dtype) / 8,
                           &err) != WCODEC_OK ||
        wcodec_writer_finish(writer, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_writer_destroy(writer);
    assert_int_equal(wcodec_reader_open_memory(context, file->bytes, file->size, &reader, &err),
                     WCODEC_OK);
    return reader;
}

/* All vectors as candidates: what a scan of the originals finds. A few of them: more than without,
 * and the same from a reader and on any number of threads. */
static void exact_distances(void **state)
{
    static struct searched s, one;
    struct support_file file;
    (void)state;
    begin(&s, support_context(3, NULL));
    begin(&one, support_context(1, NULL));
    wcodec_reader *reader = open_original(s.context, &s.rows, &file);
    for (int i = WCODEC_VECTORS_L2; i <= WCODEC_VECTORS_COSINE; i++) {
        const wcodec_vectors_metric metric = (wcodec_vectors_metric)i;
        wcodec_vectors_search_options o = options_of(metric, 1000);
        o.original = &s.rows;
        search(&s, &o);
        assert_int_equal(count_right(&s, s.data, metric, true), QUERIES * K);
        o = options_of(metric, 4);
        search(&s, &o);
        const unsigned without = count_right(&s, s.data, metric, false);
        o.original = &s.rows;
        search(&s, &o);
        assert_true(count_right(&s, s.data, metric, true) > without + QUERIES * K / 20);
        search(&one, &o);
        assert_memory_equal(one.ids, s.ids, sizeof s.ids);
        assert_memory_equal(one.scores, s.scores, sizeof s.scores);
        o.original = NULL;
        o.original_reader = reader;
        o.original_tensor = 1;
        search(&one, &o);
        assert_memory_equal(one.ids, s.ids, sizeof s.ids);
        assert_memory_equal(one.scores, s.scores, sizeof s.scores);
    }
    wcodec_reader_close(reader);
    free(file.bytes);
    end(&one);
    end(&s);
}

/* Originals of 16 bits, whose rows have other distances than those of 32. */
static void other_types(void **state)
{
    static struct searched s;
    static float rounded[N * D];
    static uint8_t bytes[2 * N * D];
    (void)state;
    begin(&s, support_context(2, NULL));
    for (unsigned i = 0; i < 2; i++) {
        wcodec_vectors_search_options o = options_of(WCODEC_VECTORS_L2, 1000);
        const wcodec_vector_rows rows = {.dtype = i ? WCODEC_DTYPE_F16 : WCODEC_DTYPE_BF16,
                                         .count = N,
                                         .dimensions = D,
                                         .data = bytes};
        for (size_t j = 0; j < N * D; j++) {
            const uint16_t half =
                i ? wcodec_f16_from_f32(s.data[j]) : wcodec_bf16_from_f32(s.data[j]);
            wcodec_store_u16(bytes + 2 * j, half);
            rounded[j] =
                wcodec_f32_of_bits(i ? wcodec_f32_bits_of_f16(half) : (uint32_t)half << 16);
        }
        o.original = &rows;
        search(&s, &o);
        assert_int_equal(count_right(&s, rounded, WCODEC_VECTORS_L2, true), QUERIES * K);
    }
    end(&s);
}

/* Fewer candidates than k: the last are of no vector. */
static void few_candidates(void **state)
{
    static struct searched s;
    static const uint8_t allowed[] = {0x24, 0x01}; /* 2, 5 and 8 */
    (void)state;
    begin(&s, support_context(2, NULL));
    wcodec_vectors_search_options o = options_of(WCODEC_VECTORS_INNER_PRODUCT, 4);
    o.original = &s.rows;
    o.allowed = allowed;
    o.allowed_count = 16;
    search(&s, &o);
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t i = 0; i < K; i++) {
            const uint64_t id = s.ids[q * K + i];
            assert_true(i < 3 ? id == 2 || id == 5 || id == 8 : id == UINT64_MAX);
            assert_true(i < 3 || s.scores[q * K + i] == -INFINITY);
        }
    end(&s);
}

static void expect_refused(struct searched *s, const wcodec_vectors_search_options *o,
                           wcodec_status status, const char *text)
{
    wcodec_error err = {0};
    assert_int_equal(wcodec_vectors_search(s->store, &s->queries, o, s->ids, s->scores, &err),
                     status);
    if (strstr(err.text, text) == NULL)
        fail_msg("%s, expected %s", err.text, text);
}

static void refused(void **state)
{
    static struct searched s;
    struct support_file file;
    (void)state;
    begin(&s, support_context(2, NULL));
    wcodec_reader *reader = open_original(s.context, &s.rows, &file);
    wcodec_vectors_search_options o = options_of(WCODEC_VECTORS_L2, 1000);
    wcodec_vector_rows rows = s.rows;
    o.original = &rows;
    rows.dimensions = D - 1;
    expect_refused(&s, &o, WCODEC_ERROR_USAGE, "the original has rows of 20 dimensions");
    rows = s.rows;
    rows.dtype = WCODEC_DTYPE_F64;
    expect_refused(&s, &o, WCODEC_ERROR_UNSUPPORTED, "the original: vectors are of F16");
    rows = s.rows;
    rows.data = NULL;
    expect_refused(&s, &o, WCODEC_ERROR_USAGE, "has no data");
    rows = s.rows;
    rows.count = N - 1;
    expect_refused(&s, &o, WCODEC_ERROR_USAGE, "has no row of vector 499: its 499 rows are those");
    rows = s.rows;
    o.original_first_id = 1;
    expect_refused(&s, &o, WCODEC_ERROR_USAGE,
                   "has no row of vector 0: its 500 rows are those of "
                   "id 1 and");
    o.original_first_id = 0;
    s.data[7 * D + 3] = NAN;
    expect_refused(&s, &o, WCODEC_ERROR_USAGE, "the row of vector 7 has elements that are NaN");
    s.data[7 * D + 3] = 0;
    for (unsigned i = 0; i < 2; i++) {
        o.rerank_factor = i ? 0 : 1001;
        expect_refused(&s, &o, WCODEC_ERROR_USAGE, "1 to 1000 candidates");
    }
    o.rerank_factor = 2;
    o.original_reader = reader;
    expect_refused(&s, &o, WCODEC_ERROR_USAGE, "and not both");
    o.original = NULL;
    expect_refused(&s, &o, WCODEC_ERROR_USAGE, "tensor \"line\" has 1 dimensions");
    o.original_tensor = 2;
    expect_refused(&s, &o, WCODEC_ERROR_USAGE, "the original");
    wcodec_reader_close(reader);
    /* One that is damaged. */
    memset(file.bytes + 1000, 0xA5, 2000);
    assert_int_equal(wcodec_reader_open_memory(s.context, file.bytes, file.size, &reader, NULL),
                     WCODEC_OK);
    o.original_reader = reader;
    o.original_tensor = 1;
    expect_refused(&s, &o, WCODEC_ERROR_CORRUPT, "rows");
    wcodec_reader_close(reader);
    free(file.bytes);
    end(&s);
}

/* Each allocation fails once. */
static wcodec_status search_again(const wcodec_vectors_store *store, void *opaque)
{
    struct searched *s = opaque;
    wcodec_vectors_search_options o = options_of(WCODEC_VECTORS_L2, 2);
    wcodec_error err;
    o.original = &s->rows;
    return wcodec_vectors_search(store, &s->queries, &o, s->ids, s->scores, &err);
}

static void memory_that_is_out(void **state)
{
    static struct searched s;
    (void)state;
    begin(&s, support_context(1, NULL));
    assert_true(support_vectors_refusals(&s.file, search_again, &s) > 12);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_distances),    cmocka_unit_test(other_types),
        cmocka_unit_test(few_candidates),     cmocka_unit_test(refused),
        cmocka_unit_test(memory_that_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
