/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search in coded vectors on a device, from a call to its results.
 *
 *   gpu-search BACKENDS [THREADS [ROWS [DIMENSIONS [FOLDER [PROBES]]]]]
 *
 * ROWS (10^6) vectors of DIMENSIONS (128) around 64 centres, coded by 1024 anchors at 5 bits a
 * dimension, and 10,000 queries of the same kind. Recall@10 is against the 10 nearest of the
 * uncoded vectors, of 200 queries. Single queries: median of 100 calls; batches: the least of three
 * calls; by probes. BACKEND cpu: by THREADS (2), with 1,000 queries. FOLDER: the vectors and
 * queries are left there as raw binary32, for bench/peers/batch.py; "": nowhere. PROBES: only by so
 * many, and one batch, for profilers. */
#define PROGRAM "gpu-search"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wcodec/search.h>

enum { CENTRES = 64, RANK = 32, ANCHORS = 1024, QUERIES = 10000, K = 10, ASKED = 200, CALLS = 100 };

static void say(void *opaque, wcodec_log_level level, const char *text)
{
    (void)opaque, (void)level;
    fprintf(stderr, "%s\n", text);
}

static wcodec_context *open_device(const char *backend, unsigned threads)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = threads;
    options.log = say;
    options.log_level = WCODEC_LOG_INFO;
    check(wcodec_context_create(&options, &context, &err), &err);
    return context;
}

static float normal(void)
{
    return (float)((uniform() + uniform() + uniform() + uniform() - 2) * sqrt(3));
}

static float *numbers(size_t count)
{
    float *data = malloc(count * sizeof *data);
    if (data == NULL)
        fail("out of memory");
    return data;
}

/* Around centres, in subspaces of their own, with noise, as embeddings are. */
static float *make(size_t n, size_t d, const float *centres, const float *bases)
{
    float *data = numbers(n * d);
    for (size_t i = 0; i < n; i++) {
        const size_t c = (size_t)(uniform() * CENTRES);
        float own[RANK];
        for (size_t r = 0; r < RANK; r++)
            own[r] = 0.5f * normal() / sqrtf(RANK);
        for (size_t j = 0; j < d; j++) {
            float x = centres[c * d + j] + 0.09f * normal();
            for (size_t r = 0; r < RANK; r++)
                x += own[r] * bases[(c * RANK + r) * d + j];
            data[i * d + j] = x;
        }
    }
    return data;
}

static int write_out(void *opaque, const void *data, size_t size)
{
    return fwrite(data, 1, size, opaque) == size ? 0 : -1;
}

static wcodec_vector_rows rows_of(const float *data, size_t n, size_t d)
{
    return (wcodec_vector_rows){
        .dtype = WCODEC_DTYPE_F32, .count = n, .dimensions = d, .data = data};
}

static void code(wcodec_context *context, const wcodec_vector_rows *rows, const char *path)
{
    wcodec_vectors_options o;
    wcodec_vectors_compress_options coding;
    wcodec_vectors_report report;
    wcodec_vectors *vectors;
    wcodec_error err;
    wcodec_vector_rows some = *rows;
    some.count = rows->count < 100000 ? rows->count : 100000;
    wcodec_vectors_options_init(&o);
    o.anchors = ANCHORS < some.count ? ANCHORS : some.count;
    o.max_iterations = 10;
    wcodec_vectors_compress_options_init(&coding);
    coding.bits = 5;
    coding.level = 1;
    check(wcodec_vectors_train(context, &some, &o, &vectors, &err), &err);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fail("a file cannot be written");
    check(wcodec_vectors_compress(context, vectors, rows, &coding, write_out, file, &report, &err),
          &err);
    fclose(file);
    wcodec_vectors_destroy(vectors);
    printf("%.2f bits a dimension, %.1f MB\n", report.bits, (double)report.coded_size * 1e-6);
}

static void find(const wcodec_vectors_store *store, const wcodec_vector_rows *queries,
                 uint64_t probes, const wcodec_vector_rows *original, uint64_t *ids, float *scores)
{
    wcodec_vectors_search_options o;
    wcodec_error err;
    wcodec_vectors_search_options_init(&o);
    o.k = K;
    o.probes = probes;
    o.original = original;
    o.rerank_factor = 10;
    check(wcodec_vectors_search(store, queries, &o, ids, scores, &err), &err);
}

static double recall(const uint64_t *got, const uint64_t *wanted)
{
    unsigned hits = 0;
    for (size_t q = 0; q < ASKED; q++)
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < K; j++)
                hits += got[q * K + i] == wanted[q * K + j];
    return (double)hits / (ASKED * K);
}

static uint64_t found[QUERIES * K];
static float found_scores[QUERIES * K];

static void measure(const wcodec_vectors_store *store, const float *query, size_t count, size_t d,
                    uint64_t probes, const uint64_t *wanted)
{
    double singles[CALLS], least = INFINITY;
    wcodec_vector_rows queries = rows_of(query, 1, d);
    for (size_t i = 0; i < CALLS; i++) {
        queries.data = query + i * d;
        const double begin = wall();
        find(store, &queries, probes, NULL, found, found_scores);
        singles[i] = wall() - begin;
    }
    queries = rows_of(query, probes == 0 && count > 1000 ? 1000 : count, d);
    for (unsigned i = 0; i < 3; i++) {
        const double begin = wall();
        find(store, &queries, probes, NULL, found, found_scores);
        const double seconds = wall() - begin;
        least = seconds < least ? seconds : least;
    }
    printf("| %u | %.4f | %.3f | %u | %.2f |\n", (unsigned)probes, recall(found, wanted),
           median(singles, CALLS) * 1e3, (unsigned)queries.count, least * 1e3);
    fflush(stdout);
}

/* A query of zeros, whose product with any vector is 0, and one that may find any vector of the
 * ids that a bitmap allows: milliseconds of a call, medians. */
static void measure_unusual(const wcodec_vectors_store *store, const float *query, size_t n,
                            size_t d)
{
    static const uint64_t probes[] = {16, 64, 0};
    float *zeros = calloc(d, sizeof *zeros);
    uint8_t *allowed = malloc(n / 8 + 1);
    if (zeros == NULL || allowed == NULL)
        fail("out of memory");
    memset(allowed, 255, n / 8 + 1);
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        double seconds[2][CALLS];
        for (size_t way = 0; way < 2; way++)
            for (size_t call = 0; call < CALLS; call++) {
                const wcodec_vector_rows queries = rows_of(way == 0 ? zeros : query, 1, d);
                wcodec_vectors_search_options o;
                wcodec_error err;
                wcodec_vectors_search_options_init(&o);
                o.k = K;
                o.probes = probes[i];
                o.metric = WCODEC_VECTORS_INNER_PRODUCT;
                o.allowed = way == 0 ? NULL : allowed;
                o.allowed_count = way == 0 ? 0 : n;
                const double begin = wall();
                check(wcodec_vectors_search(store, &queries, &o, found, found_scores, &err), &err);
                seconds[way][call] = wall() - begin;
            }
        printf("%u probes: all products equal %.3f ms, with a bitmap %.3f ms\n",
               (unsigned)probes[i], median(seconds[0], CALLS) * 1e3,
               median(seconds[1], CALLS) * 1e3);
    }
    fflush(stdout);
    free(zeros);
    free(allowed);
}

static void leave(const char *folder, const char *name, const float *data, size_t count)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, sizeof *data, count, file) != count || fclose(file) != 0)
        fail("a file cannot be written");
}

int main(int argc, char **argv)
{
    static const uint64_t probes[] = {1, 4, 8, 12, 16, 32, 64, 0};
    static uint64_t wanted[ASKED * K];
    static float scores[ASKED * K];
    const unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 2;
    const size_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000,
                 d = argc > 4 ? strtoull(argv[4], NULL, 10) : 128;
    char path[] = "/tmp/gpu-search-XXXXXX";
    wcodec_vectors_store *store;
    wcodec_error err;
    bool is_coded = false;
    if (argc < 2 || threads < 1 || threads > 1024 || n < 10000 || d < 1 || d > 4096) {
        fprintf(stderr,
                "usage: gpu-search BACKENDS [THREADS [ROWS [DIMENSIONS [FOLDER [PROBES]]]]]\n");
        return 2;
    }
    float *centres = numbers(CENTRES * d), *bases = numbers(CENTRES * RANK * d);
    for (size_t i = 0; i < CENTRES * d; i++)
        centres[i] = normal();
    for (size_t i = 0; i < CENTRES * RANK * d; i++)
        bases[i] = normal();
    float *data = make(n, d, centres, bases), *query = make(QUERIES, d, centres, bases);
    const wcodec_vector_rows rows = rows_of(data, n, d), some = rows_of(query, ASKED, d);
    if (argc > 5 && *argv[5] != 0) {
        leave(argv[5], "vectors.f32", data, n * d);
        leave(argv[5], "queries.f32", query, QUERIES * d);
    }
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0)
        fail("a file cannot be written");
    for (char *rest, *name = strtok_r(argv[1], ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        wcodec_context *context = open_device(name, (unsigned)threads);
        double begin = wall();
        if (!is_coded) {
            code(context, &rows, path);
            printf("coded in %.1f s\n", wall() - begin);
        }
        begin = wall();
        check(wcodec_vectors_open(context, path, &store, &err), &err);
        printf("opened in %.2f s\n", wall() - begin);
        if (!is_coded)
            find(store, &some, 0, &rows, wanted, scores);
        is_coded = true;
        printf("| probes, %s | recall@10 | a query, ms | queries | together, ms |\n"
               "| --- | --- | --- | --- | --- |\n",
               name);
        if (argc > 6) {
            const wcodec_vector_rows all = rows_of(query, QUERIES, d);
            find(store, &all, strtoull(argv[6], NULL, 10), NULL, found, found_scores);
        }
        for (size_t i = 0; argc <= 6 && i < sizeof probes / sizeof probes[0]; i++)
            measure(store, query, strcmp(name, "cpu") == 0 ? 1000 : QUERIES, d, probes[i], wanted);
        if (argc <= 6)
            measure_unusual(store, query, n, d);
        wcodec_vectors_close(store);
        wcodec_context_destroy(context);
    }
    remove(path);
    free(data);
    free(query);
    free(centres);
    free(bases);
    return 0;
}
