/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Probes for a recall: as few as reach it, by each metric and with filters; what is refused;
 * failing memory. */
#include "support_memory.h"
#include "support_vectors.h"

enum { N = 900, D = 16, M = 30, QUERIES = 40, K = 7 };

struct tuned {
    wcodec_context *context;
    wcodec_vector_rows rows, queries;
    float *data, *query;
    struct support_file file;
    wcodec_vectors_store *store;
};

static void begin(struct tuned *t)
{
    *t = (struct tuned){.context = support_context(2, NULL)};
    t->data = support_vectors_make(N, D, 1, &t->rows);
    t->query = support_vectors_make(QUERIES, D, 2, &t->queries);
    assert_int_equal(support_vectors_segment(t->context, &t->rows, M, 4, &t->file, NULL, NULL),
                     WCODEC_OK);
    t->store = support_vectors_open(t->context, &t->file);
}

static void end(struct tuned *t)
{
    wcodec_vectors_close(t->store);
    wcodec_context_destroy(t->context);
    free(t->file.bytes);
    free(t->query);
    free(t->data);
}

/* Of what all anchors find, by ids; those of equal scores may be others. */
static double recall_of(const struct tuned *t, wcodec_vectors_search_options o, uint64_t probes)
{
    static uint64_t ids[QUERIES * K], all[QUERIES * K];
    static float scores[QUERIES * K];
    unsigned found = 0, wanted = 0;
    o.probes = 0;
    assert_int_equal(wcodec_vectors_search(t->store, &t->queries, &o, all, scores, NULL),
                     WCODEC_OK);
    o.probes = probes;
    assert_int_equal(wcodec_vectors_search(t->store, &t->queries, &o, ids, scores, NULL),
                     WCODEC_OK);
    for (size_t i = 0; i < QUERIES * K; i++) {
        wanted += all[i] != UINT64_MAX;
        for (size_t j = i / K * K; j < i / K * K + K; j++)
            found += all[i] != UINT64_MAX && ids[j] == all[i];
    }
    return (double)found / wanted;
}

static void fewest_that_reach(void **state)
{
    static const double recalls[] = {0.3, 0.8, 0.95, 0.999999};
    static uint8_t allowed[(N + 7) / 8];
    struct tuned t;
    (void)state;
    begin(&t);
    for (size_t i = 0; i < sizeof allowed; i++)
        allowed[i] = i % 3 == 0 ? 0xFF : 0;
    for (int i = 0; i <= WCODEC_VECTORS_COSINE + 1; i++) {
        wcodec_vectors_search_options o;
        wcodec_vectors_search_options_init(&o);
        o.k = K;
        o.probes = 3; /* does not count */
        o.metric = (wcodec_vectors_metric)(i % 3);
        o.allowed = i == 3 ? allowed : NULL;
        o.allowed_count = N;
        uint64_t last = 1;
        for (size_t r = 0; r < sizeof recalls / sizeof *recalls; r++) {
            uint64_t probes = UINT64_MAX;
            assert_int_equal(
                wcodec_vectors_tune(t.store, &t.queries, &o, recalls[r], &probes, NULL), WCODEC_OK);
            assert_true(probes < M);
            const uint64_t number = probes != 0 ? probes : M;
            assert_true(recall_of(&t, o, number) >= recalls[r] - 1e-9);
            assert_true(number == 1 || recall_of(&t, o, number - 1) < recalls[r]);
            assert_true(number >= last);
            last = number;
        }
        assert_true(last > 1);
    }
    end(&t);
}

static void refused(void **state)
{
    static const double wrong[] = {0, 1, -1, 2};
    struct tuned t;
    wcodec_vectors_search_options o;
    wcodec_error err = {0};
    uint64_t probes = 77;
    (void)state;
    begin(&t);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(wcodec_vectors_tune(t.store, &t.queries, NULL, wrong[i], &probes, &err),
                         WCODEC_ERROR_USAGE);
        assert_non_null(strstr(err.text, "above 0 and below 1"));
    }
    wcodec_vectors_search_options_init(&o);
    o.k = N + 1;
    assert_int_equal(wcodec_vectors_tune(t.store, &t.queries, &o, 0.9, &probes, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "901 nearest of 900 vectors"));
    t.queries.dimensions--;
    assert_int_equal(wcodec_vectors_tune(t.store, &t.queries, NULL, 0.9, &probes, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "queries of 15 dimensions"));
    t.queries.dimensions++;
    t.queries.count = 0;
    assert_int_equal(wcodec_vectors_tune(t.store, &t.queries, NULL, 0.9, &probes, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "queries: there are 1 to"));
    assert_int_equal(probes, 77);
    end(&t);
}

/* Each allocation fails once. */
static wcodec_status tune_again(const wcodec_vectors_store *store, void *queries)
{
    uint64_t probes;
    wcodec_error err;
    return wcodec_vectors_tune(store, queries, NULL, 0.9, &probes, &err);
}

static void memory_that_is_out(void **state)
{
    struct tuned t;
    (void)state;
    begin(&t);
    t.queries.count = 2;
    assert_true(support_vectors_refusals(&t.file, tune_again, &t.queries) > 20);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewest_that_reach),
        cmocka_unit_test(refused),
        cmocka_unit_test(memory_that_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
