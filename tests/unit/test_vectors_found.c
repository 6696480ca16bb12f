/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search by devices finds what the CPU does, to the last bit: of segments and stores that were
 * changed, by all metrics, with probes, filters and candidates; a device that cannot, has no
 * memory, or is lost. */
#include "support_load.h"
#include "support_memory.h"
#include "support_plugins.h"
#include "backends/emulate/fibers.h"
#include "bench/gpu/ballast.h"
#include "registry/registry.h"
#include "vectors/held.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <wcodec/search.h>

/* What rows are like. */
enum data {
    BLOBS,
    TWINS, /* few different ones: most distances are ties */
    TINY,  /* what binary32 has few bits for */
    ZEROS
};

struct set {
    enum data data;
    size_t n, d, anchors, queries;
    unsigned parts; /* 0: a segment by itself; else those of a store, one half removed */
    uint64_t k;
};

/* Ids of stores follow each other from 0 on, and none is removed. */
static bool ids_follow;

static const struct set sets[] = {
    {BLOBS, 700, 20, 7, 11, 0, 10},  {BLOBS, 300, 70, 40, 3, 3, 5}, {TWINS, 400, 5, 6, 9, 0, 20},
    {TWINS, 150, 33, 20, 8, 2, 150}, {TINY, 200, 8, 5, 4, 0, 7},    {ZEROS, 40, 3, 2, 2, 0, 4},
    {BLOBS, 3000, 2, 3, 1, 2, 1},    {BLOBS, 90, 600, 3, 2, 0, 9},  {BLOBS, 1, 1, 1, 1, 0, 1},
    {TWINS, 5000, 2, 4, 2, 0, 1024}, {ZEROS, 9000, 1, 2, 1, 0, 10},
};

/* For devices that are no processors. */
static const struct set large[] = {
    {BLOBS, 30000, 128, 200, 300, 0, 10},  {BLOBS, 20000, 96, 64, 100, 4, 100},
    {TWINS, 50000, 16, 30, 64, 0, 1000},   {BLOBS, 4000, 1100, 20, 33, 0, 10},
    {BLOBS, 100000, 32, 300, 2000, 0, 10}, {TINY, 3000, 128, 20, 17, 3, 10},
};

static char folder[] = "/tmp/wcodec-unit-XXXXXX", place[64];

/* Plugins are found from where the test was started: it stays there. */
static int enter(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(place, sizeof place, "%s/store", folder);
    return support_find_plugins(state);
}

static int leave(void **state)
{
    (void)state;
    return rmdir(folder);
}

static double uniform(uint64_t *seed)
{
    return (double)(support_random(seed) >> 11) * 0x1p-53;
}

static float *make(const struct set *s, size_t n, uint64_t seed, wcodec_vector_rows *rows)
{
    float *data = malloc(n * s->d * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) {
        const unsigned centre = (unsigned)(uniform(&seed) * 12);
        for (size_t j = 0; j < s->d; j++) {
            const double u = uniform(&seed) - 0.5, near = sin((double)(centre * 37 + j));
            data[i * s->d + j] = s->data == BLOBS   ? (float)(near + u)
                                 : s->data == TWINS ? (float)((centre * (j + 3)) % 5) - 1
                                 : s->data == TINY  ? (float)(u * 1e-6)
                                                    : 0;
        }
    }
    *rows = (wcodec_vector_rows){
        .dtype = WCODEC_DTYPE_F32, .count = n, .dimensions = s->d, .data = data};
    return data;
}

static void remove_all(void)
{
    DIR *dir = opendir(place);
    char path[400];
    if (dir == NULL)
        return;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", place, d->d_name);
        unlink(path);
    }
    closedir(dir);
    assert_int_equal(rmdir(place), 0);
}

static int append(void *file, const void *data, size_t size)
{
    return fwrite(data, 1, size, file) == size ? 0 : -1;
}

/* A file, or a store from which rows of the first part were removed, among them all of an anchor
 * where there are many. */
static void build(const struct set *s, const wcodec_vector_rows *rows)
{
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors_options options;
    wcodec_vectors_compress_options coding;
    wcodec_vectors *vectors;
    wcodec_error err = {0};
    wcodec_vectors_options_init(&options);
    options.anchors = s->anchors;
    options.max_iterations = 5;
    wcodec_vectors_compress_options_init(&coding);
    coding.bits = 4;
    assert_int_equal(wcodec_vectors_train(context, rows, &options, &vectors, &err), WCODEC_OK);
    remove_all();
    if (s->parts == 0) {
        FILE *file = fopen(place, "wb");
        assert_non_null(file);
        assert_int_equal(
            wcodec_vectors_compress(context, vectors, rows, &coding, append, file, NULL, &err),
            WCODEC_OK);
        assert_int_equal(fclose(file), 0);
    }
    for (size_t i = 0; i < s->parts; i++) {
        const size_t first = s->n * i / s->parts;
        wcodec_vector_rows part = *rows;
        uint64_t id = ids_follow ? first : 1000 * s->n * i + 3;
        part.data = (const float *)rows->data + first * s->d;
        part.count = s->n * (i + 1) / s->parts - first;
        assert_int_equal(
            wcodec_vectors_store_add(context, place, vectors, &part, &coding, &id, NULL, &err),
            WCODEC_OK);
    }
    const size_t removed = s->parts != 0 && !ids_follow ? s->n / s->parts / 2 : 0;
    uint64_t *ids = malloc((removed + 1) * sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < removed; i++)
        ids[i] = 3 + i;
    if (removed != 0)
        assert_int_equal(wcodec_vectors_store_remove(context, place, ids, removed, &err),
                         WCODEC_OK);
    free(ids);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
}

static void clean(const struct set *s)
{
    if (s->parts == 0)
        assert_int_equal(unlink(place), 0);
    else
        remove_all();
}

static wcodec_context *open_at(const char *backend, uint64_t most, wcodec_log_level level,
                               struct support_allocator *allocator, struct support_log *logged,
                               wcodec_error *err)
{
    wcodec_options options;
    wcodec_context *context;
    support_allocator_init(allocator, SUPPORT_NEVER);
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = 2;
    if (most != 0)
        options.limits.max_memory = most;
    options.allocator = allocator->allocator;
    options.log = support_keep_line;
    options.log_opaque = logged;
    options.log_level = level;
    *logged = (struct support_log){.size = 0};
    return wcodec_context_create(&options, &context, err) == WCODEC_OK ? context : NULL;
}

static wcodec_context *open_logged(const char *backend, uint64_t most,
                                   struct support_allocator *allocator, struct support_log *logged,
                                   wcodec_error *err)
{
    return open_at(backend, most, WCODEC_LOG_INFO, allocator, logged, err);
}

static wcodec_vectors_store *open_store(wcodec_context *context)
{
    wcodec_vectors_store *store;
    wcodec_error err = {0};
    if (wcodec_vectors_open(context, place, &store, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return store;
}

/* What is found by both. */
static void expect_same(const wcodec_vectors_store *got, const wcodec_vectors_store *want,
                        const wcodec_vector_rows *queries, const wcodec_vectors_search_options *o)
{
    const size_t count = (size_t)(queries->count * o->k);
    uint64_t *ids = malloc(2 * count * sizeof *ids);
    float *scores = malloc(2 * count * sizeof *scores);
    wcodec_error err = {0};
    assert_true(ids != NULL && scores != NULL);
    assert_int_equal(wcodec_vectors_search(want, queries, o, ids, scores, &err), WCODEC_OK);
    if (wcodec_vectors_search(got, queries, o, ids + count, scores + count, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++)
        if (ids[i] != ids[count + i] ||
            memcmp(&scores[i], &scores[count + i], sizeof scores[i]) != 0)
            fail_msg("metric %d, probes %u, filter %d, k %u: %u of query %u is %llu at %.9g, not "
                     "%llu at %.9g",
                     (int)o->metric, (unsigned)o->probes, o->allowed != NULL, (unsigned)o->k,
                     (unsigned)(i % o->k), (unsigned)(i / o->k), (unsigned long long)ids[count + i],
                     (double)scores[count + i], (unsigned long long)ids[i], (double)scores[i]);
    free(ids);
    free(scores);
}

static void try_set(wcodec_context *device, const struct set *s)
{
    wcodec_vector_rows rows, queries;
    wcodec_vectors_search_options o;
    float *data = make(s, s->n, 1, &rows), *query = make(s, s->queries, 2, &queries);
    wcodec_context *cpu = support_context(2, NULL);
    build(s, &rows);
    wcodec_vectors_store *want = open_store(cpu), *got = open_store(device);
    wcodec_vectors_store_info info;
    wcodec_vectors_store_describe(got, &info);
    assert_true(info.device_memory > info.rows * s->d || !wcodec_fibers_supported());
    wcodec_vectors_store_describe(want, &info);
    assert_int_equal(info.device_memory, 0);
    const size_t filter = (size_t)info.next_id / 8 * 7 / 8;
    uint8_t *allowed = malloc(filter + 1);
    assert_non_null(allowed);
    for (size_t i = 0; i <= filter; i++)
        allowed[i] = (uint8_t)(i * 37 + 1);
    /* Those of one row, too. */
    memcpy(query, data + (s->n - 1) * s->d, s->d * sizeof *query);
    wcodec_vectors_search_options_init(&o);
    for (int metric = WCODEC_VECTORS_L2; metric <= WCODEC_VECTORS_COSINE; metric++)
        for (unsigned way = 0; way < 5; way++) {
            o.metric = (wcodec_vectors_metric)metric;
            o.k = s->k < info.rows ? s->k : info.rows;
            o.probes = way % 2 == 0 ? 0 : way == 1 ? 2 : s->anchors;
            o.allowed = way == 2 || way == 3 ? allowed : NULL;
            o.allowed_count = 8 * filter;
            o.original = NULL;
            if (way == 4 && s->parts == 0 && o.k * 4 <= 1024)
                o.original = &rows;
            if (way == 3 && s->anchors > 4)
                o.probes = 4;
            expect_same(got, want, &queries, &o);
        }
    free(allowed);
    wcodec_vectors_close(got);
    wcodec_vectors_close(want);
    wcodec_context_destroy(cpu);
    clean(s);
    free(data);
    free(query);
}

static void test_devices(void **state)
{
    static const char *const names[] = {"fake", "opencl", "cuda"};
    (void)state;
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        struct support_allocator allocator;
        struct support_log logged;
        setenv("WCODEC_FAKE", "", 1);
        if (d > 0 && !support_load_plugin(names[d]))
            continue;
        wcodec_context *context = open_logged(names[d], 0, &allocator, &logged, NULL);
        if (context == NULL) {
            print_message("%s: not tried\n", names[d]);
            assert_true(d > 0);
            continue;
        }
        for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
            try_set(context, &sets[i]);
        for (size_t i = 0; i < sizeof large / sizeof large[0] && d == 2; i++)
            try_set(context, &large[i]);
        print_message("%s: searched\n%s", names[d], logged.text);
        if (d > 0 || wcodec_fibers_supported())
            assert_null(strstr(logged.text, "the CPU"));
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    support_load_plugin(NULL);
}

static const struct set small = {BLOBS, 120, 8, 5, 3, 0, 4};
enum { FOUND = 12 };

/* The small set, searched with these options by a context of a fake device. */
struct trial {
    float *data, *query;
    wcodec_vector_rows rows, queries;
    wcodec_context *cpu;
    wcodec_vectors_store *want;
    wcodec_vectors_search_options options;
    uint64_t ids[FOUND]; /* of the small set, as the CPU finds them */
    float scores[FOUND];
};

static void begin_trial(struct trial *t, const struct set *s)
{
    t->data = make(s, s->n, 1, &t->rows);
    t->query = make(s, s->queries, 2, &t->queries);
    t->cpu = support_context(1, NULL);
    build(s, &t->rows);
    t->want = open_store(t->cpu);
    wcodec_vectors_search_options_init(&t->options);
    t->options.k = s->k;
    t->options.probes = 2;
}

static void end_trial(struct trial *t, const struct set *s)
{
    setenv("WCODEC_FAKE", "", 1);
    wcodec_vectors_close(t->want);
    wcodec_context_destroy(t->cpu);
    clean(s);
    free(t->data);
    free(t->query);
}

/* A search by a context of a fake device, and by the CPU; what the log says is left in `logged`. */
static void try_fake(const struct trial *t, const char *mode, uint64_t most,
                     struct support_log *logged)
{
    struct support_allocator allocator;
    wcodec_error err = {0};
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context = open_logged("fake", most, &allocator, logged, &err);
    assert_non_null(context);
    wcodec_vectors_store *store = open_store(context);
    wcodec_vectors_store_info info;
    expect_same(store, t->want, &t->queries, &t->options);
    wcodec_vectors_store_describe(store, &info);
    if (strcmp(mode, "late-nocoders") == 0) { /* it is not tried again, and has nothing more */
        assert_int_equal(info.device_memory, 0);
        logged->size = 0;
        expect_same(store, t->want, &t->queries, &t->options);
        assert_int_equal(logged->size, 0);
    }
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
}

/* No kernels, ones that do not compile, no memory of the device's for one thing or another, a limit
 * that has no room for what goes there: the log says that the CPU searches. */
static void test_left_to_cpu(void **state)
{
    static const char *const modes[] = {"novectors", "late-nocoders", ""};
    struct trial t;
    struct support_log logged;
    unsigned left = 0;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    begin_trial(&t, &small);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        try_fake(&t, modes[i], *modes[i] ? 0 : 40000, &logged);
        /* A limit is told with what could be done in parts, for more queries. */
        if (strstr(logged.text, *modes[i] ? "the CPU does" : "the CPU searches for few") == NULL)
            fail_msg("%s: '%s'", modes[i], logged.text);
    }
    for (unsigned i = 1; i <= 40; i++) {
        char mode[32];
        snprintf(mode, sizeof mode, "memory-%u", i);
        try_fake(&t, mode, 0, &logged);
        left += strstr(logged.text, "the CPU") != NULL;
    }
    print_message("%u times out of memory\n", left);
    assert_true(left > 0); /* most are tried again without what is kept */
    end_trial(&t, &small);
}

/* What a search in parts is asked for. */
static void expect_ways(const struct trial *t, const wcodec_vectors_store *store,
                        const uint8_t *allowed)
{
    for (unsigned way = 0; way < (ids_follow ? 3 : 2); way++) {
        wcodec_vectors_search_options o = t->options;
        o.allowed = way == 1 ? allowed : NULL;
        o.allowed_count = way == 1 ? 500 : 0;
        o.original = way == 2 ? &t->rows : NULL;
        o.metric = way == 1 ? WCODEC_VECTORS_COSINE : t->options.metric;
        expect_same(store, t->want, &t->queries, &o);
    }
}

/* In that mode of the device: were vectors there, all or in parts? */
enum held { NONE, SOME, ALL };
static enum held try_mode(const struct trial *t, const char *backend, const char *mode,
                          const uint8_t *allowed)
{
    struct support_allocator allocator;
    static struct support_log logged;
    wcodec_error err = {0};
    wcodec_vectors_store_info info;
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context = open_at(backend, 0, WCODEC_LOG_DEBUG, &allocator, &logged, &err);
    assert_non_null(context);
    wcodec_vectors_store *store = open_store(context);
    expect_ways(t, store, allowed);
    wcodec_vectors_store_describe(store, &info);
    const bool in_parts = strstr(logged.text, "part by part") != NULL,
               searched = strstr(logged.text, "fake:0 searches for") != NULL,
               left = strstr(logged.text, "the CPU does") != NULL;
    /* What did not go is not tried again. */
    const char *told = strstr(logged.text, "does not search");
    assert_true(told == NULL || strstr(told + 1, "does not search") == NULL);
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    if (!searched || left)
        return NONE;
    assert_true(in_parts == (info.device_memory == 0));
    return in_parts ? SOME : ALL;
}

static enum held try_number(const struct trial *t, const char *backend, const char *mode,
                            unsigned number, const uint8_t *allowed)
{
    char text[32];
    snprintf(text, sizeof text, "%s-%u", mode, number);
    return try_mode(t, backend, text, allowed);
}

/* More vectors than the device has memory for. */
static void test_parts(void **state)
{
    static const struct set s = {BLOBS, 600, 8, 5, 70, 4, 4};
    uint8_t allowed[63];
    unsigned times[3] = {0}, room = 0;
    enum held least = NONE; /* with more memory no less is there */
    struct trial t;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    for (size_t i = 0; i < sizeof allowed; i++)
        allowed[i] = (uint8_t)(i * 91 + 5);
    ids_follow = true;
    begin_trial(&t, &s);
    t.options.probes = 0;
    for (unsigned bytes = 8000; times[ALL] == 0; bytes += 5000) {
        const enum held held = try_number(&t, "fake", "room", bytes, allowed);
        room = held == SOME && room == 0 ? bytes : room;
        assert_true(held >= least);
        least = held;
        times[held]++;
    }
    print_message("by memory: none %u, in parts %u\n", times[NONE], times[SOME]);
    assert_true(times[NONE] > 0 && times[SOME] > 0);
    /* An allocation that fails once, of whichever part. */
    for (unsigned i = 1; i < 30; i += 4)
        try_number(&t, "fake", "memory", i, allowed);
    /* Few queries are the CPU's. */
    t.queries.count = 20;
    assert_int_equal(try_number(&t, "fake", "room", room, allowed), NONE);
    end_trial(&t, &s);
    ids_follow = false;
}

/* With rows that were removed, gaps between ids, ties, probes, and more to find than a part has. */
static void test_ways_in_parts(void **state)
{
    static const struct set some[] = {{TWINS, 400, 5, 6, 200, 4, 120},
                                      {BLOBS, 300, 8, 5, 170, 3, 5}};
    uint8_t allowed[63];
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    for (size_t i = 0; i < sizeof allowed; i++)
        allowed[i] = (uint8_t)(i * 91 + 5);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        struct trial t;
        enum held held = NONE;
        begin_trial(&t, &some[i]);
        t.options.metric = WCODEC_VECTORS_INNER_PRODUCT;
        for (unsigned bytes = 10000; held == NONE; bytes += 5000)
            held = try_number(&t, "fake", "room", bytes, allowed);
        assert_int_equal(held, SOME);
        end_trial(&t, &some[i]);
    }
}

/* A segment that is larger than the device's memory, by itself and as the larger one of a store:
 * queries choose among all of its anchors, of which some are on both sides of a cut. */
static void test_cut_segments(void **state)
{
    static const struct set some[] = {{BLOBS, 900, 40, 9, 80, 0, 12},
                                      {TWINS, 700, 24, 5, 90, 1, 7}};
    uint8_t allowed[63];
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    for (size_t i = 0; i < sizeof allowed; i++)
        allowed[i] = (uint8_t)(i * 91 + 5);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        for (unsigned way = 0; way < 2; way++) {
            struct trial t;
            unsigned times[3] = {0};
            const unsigned probes = way == 0 ? 0 : (unsigned)some[i].anchors - 1;
            ids_follow = true;
            begin_trial(&t, &some[i]);
            t.options.probes = probes;
            for (unsigned bytes = 20000; times[ALL] == 0; bytes += 15000)
                times[try_number(&t, "fake", "room", bytes, allowed)]++;
            print_message("set %u, probes %u: none %u, in parts %u\n", (unsigned)i, probes,
                          times[NONE], times[SOME]);
            assert_true(times[SOME] > 0);
            end_trial(&t, &some[i]);
        }
    ids_follow = false;
}

/* A store that a device has no memory for, the same as by the CPU. */
static void try_full(const char *name, wcodec_context *context, const struct set *s,
                     struct support_log *logged)
{
    struct trial t;
    begin_trial(&t, s);
    const size_t filter = s->n / 16;
    uint8_t *allowed = malloc(filter);
    assert_non_null(allowed);
    for (size_t i = 0; i < filter; i++)
        allowed[i] = (uint8_t)(i * 37 + 1);
    logged->size = 0;
    logged->text[0] = 0;
    wcodec_vectors_store *store = open_store(context);
    for (int metric = WCODEC_VECTORS_L2; metric <= WCODEC_VECTORS_COSINE; metric++) {
        t.options.metric = (wcodec_vectors_metric)metric;
        t.options.probes = metric == WCODEC_VECTORS_COSINE ? s->anchors - 2 : 0;
        t.options.allowed = metric == WCODEC_VECTORS_INNER_PRODUCT ? allowed : NULL;
        t.options.allowed_count = 8 * filter;
        expect_same(store, t.want, &t.queries, &t.options);
    }
    wcodec_vectors_close(store);
    print_message("%s: %s", name, logged->text);
    if (strstr(logged->text, "part by part") == NULL)
        fail_msg("all of it had room");
    assert_non_null(strstr(logged->text, " searches for "));
    assert_null(strstr(logged->text, "does not search"));
    free(allowed);
    end_trial(&t, s);
}

/* Of a GPU most memory is taken, so that a segment has no room in one piece. */
static void test_full_devices(void **state)
{
    static const char *const names[] = {"cuda", "opencl"};
    static const struct set s = {BLOBS, 900000, 100, 24, 100, 0, 10};
    (void)state;
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        struct support_allocator allocator;
        struct support_log logged;
        struct ballast ballast;
        if (!support_load_plugin(names[d]))
            continue;
        wcodec_context *context = open_at(names[d], 0, WCODEC_LOG_DEBUG, &allocator, &logged, NULL);
        if (context == NULL || !ballast_take(&ballast, (uint64_t)(d == 0 ? 64 : 96) << 20)) {
            print_message("%s: not tried\n", names[d]);
            wcodec_context_destroy(context);
            continue;
        }
        try_full(names[d], context, &s, &logged);
        ballast_drop(&ballast);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    support_load_plugin(NULL);
}

/* A search of all queries in a store that is there part by part: does the log say so? */
static bool is_told(const struct trial *t, wcodec_vectors_store *store, struct support_log *logged,
                    const char *text)
{
    *logged = (struct support_log){.size = 0};
    expect_same(store, t->want, &t->queries, &t->options);
    return strstr(logged->text, text) != NULL;
}

/* What the CPU does of it: more than a device looks for, what the host has no room for, and few
 * queries, without waiting for others that are at work there. */
static void test_left_in_parts(void **state)
{
    static const struct set s = {BLOBS, 1200, 2, 5, 100, 4, 1100};
    struct trial t;
    struct support_allocator allocator;
    struct support_log logged;
    wcodec_vectors_store_info info;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    ids_follow = true;
    begin_trial(&t, &s);
    t.options.probes = 0;
    setenv("WCODEC_FAKE", "room-40000", 1);
    wcodec_context *context = open_logged("fake", 0, &allocator, &logged, NULL);
    wcodec_vectors_store *store = open_store(context);
    assert_non_null(strstr(logged.text, "part by part"));
    assert_true(is_told(&t, store, &logged, "of at most 1024 anchors"));
    t.queries.count = 1;
    pthread_mutex_lock(&store->held->lock);
    assert_false(is_told(&t, store, &logged, "fake"));
    pthread_mutex_unlock(&store->held->lock);
    wcodec_vectors_store_describe(store, &info);
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    /* Room for the CPU's queries, and not for what all of them find. */
    t.queries.count = 100;
    t.options.k = 100;
    context = open_logged("fake", info.memory + 100000, &allocator, &logged, NULL);
    store = open_store(context);
    assert_true(is_told(&t, store, &logged, "no memory for what 100 queries find"));
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    end_trial(&t, &s);
    ids_follow = false;
}

/* What one search finds is beyond the limit of memory, beside 16 MiB for what goes there: the CPU
 * does it, and the device those before and after. */
static void test_one_beyond_limit(void **state)
{
    static const struct set s = {BLOBS, 1200, 2, 5, 100, 4, 4};
    struct trial t;
    struct support_allocator allocator;
    struct support_log logged;
    wcodec_vectors_store_info info;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    ids_follow = true;
    begin_trial(&t, &s);
    t.options.probes = 0;
    setenv("WCODEC_FAKE", "room-40000", 1);
    wcodec_vectors_store_describe(t.want, &info);
    wcodec_context *context = open_at("fake", info.memory + (16 << 20) + 50000, WCODEC_LOG_DEBUG,
                                      &allocator, &logged, NULL);
    wcodec_vectors_store *store = open_store(context);
    assert_non_null(strstr(logged.text, "part by part"));
    for (unsigned i = 0; i < 3; i++) {
        t.options.k = i == 1 ? 100 : 4;
        if (is_told(&t, store, &logged, "fake:0 does not search") != (i == 1) ||
            (strstr(logged.text, "fake:0 searches for 100 queries") != NULL) != (i != 1))
            fail_msg("search %u: '%s'", i, logged.text);
    }
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    end_trial(&t, &s);
    ids_follow = false;
}

static void test_too_many(void **state)
{
    static const struct set s = {BLOBS, 1200, 2, 1100, 2, 0, 1100};
    struct trial t;
    struct support_allocator allocator;
    struct support_log logged;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    begin_trial(&t, &s);
    wcodec_context *context = open_logged("fake", 0, &allocator, &logged, NULL);
    wcodec_vectors_store *store = open_store(context);
    for (unsigned i = 0; i < 3; i++) {
        t.options.k = i == 0 ? 1100 : 5;
        t.options.probes = i == 2 ? 1060 : 0;
        logged = (struct support_log){.size = 0};
        expect_same(store, t.want, &t.queries, &t.options);
        assert_true((strstr(logged.text, "of at most 1024 anchors") != NULL) == (i != 1));
    }
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    end_trial(&t, &s);
}

/* A device that is lost at call number `at`; false: it was not called so often. */
static bool lost_at(unsigned at, const char *backend, const struct trial *t)
{
    char mode[32];
    struct support_allocator allocator;
    struct support_log logged;
    wcodec_vectors_store *store = NULL;
    uint64_t ids[FOUND];
    float scores[FOUND];
    wcodec_error err = {0};
    snprintf(mode, sizeof mode, "lost-%u", at);
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context = open_logged(backend, 0, &allocator, &logged, &err);
    assert_non_null(context);
    wcodec_status status = wcodec_vectors_open(context, place, &store, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_search(store, &t->queries, &t->options, ids, scores, &err);
    const bool lost = strstr(logged.text, "is used no more") != NULL;
    if (strchr(backend, ',') != NULL || !lost) {
        assert_int_equal(status, WCODEC_OK);
        assert_memory_equal(ids, t->ids, sizeof t->ids);
        assert_memory_equal(scores, t->scores, sizeof t->scores);
    } else {
        assert_int_equal(status, WCODEC_ERROR_DEVICE);
        assert_non_null(strstr(err.text, "fell off its bus"));
    }
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    return lost;
}

static void test_lost(void **state)
{
    static const char *const backends[] = {"fake", "fake,cpu"};
    struct trial t;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    begin_trial(&t, &small);
    assert_int_equal(wcodec_vectors_search(t.want, &t.queries, &t.options, t.ids, t.scores, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < 2; i++) {
        unsigned calls = 1;
        while (lost_at(calls, backends[i], &t))
            calls++;
        print_message("%s: lost at calls up to %u\n", backends[i], calls);
        assert_true(calls > 25);
    }
    end_trial(&t, &small);
}

/* Another call finds that the device is lost: searches do not go on with it. */
static void test_lost_elsewhere(void **state)
{
    struct trial t;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    begin_trial(&t, &small);
    for (unsigned i = 0; i < 2; i++) {
        struct support_allocator allocator;
        struct support_log logged;
        wcodec_vectors_store_info info;
        wcodec_error err = {0};
        wcodec_context *context =
            open_logged(i == 0 ? "fake" : "fake,cpu", 0, &allocator, &logged, NULL);
        wcodec_vectors_store *store = open_store(context);
        struct wcodec_opened *device;
        assert_int_equal(wcodec_backends_device(context, &device, NULL), WCODEC_OK);
        atomic_store(&device->lost, true);
        if (i == 0) {
            assert_int_equal(
                wcodec_vectors_search(store, &t.queries, &t.options, t.ids, t.scores, &err),
                WCODEC_ERROR_DEVICE);
            assert_non_null(strstr(err.text, "fake"));
        } else {
            expect_same(store, t.want, &t.queries, &t.options);
            wcodec_vectors_store_describe(store, &info);
            assert_int_equal(info.device_memory, 0);
        }
        wcodec_vectors_close(store);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    end_trial(&t, &small);
}

/* Queries of 16 bits, in a store some of whose segments have been put together, so that ids are not
 * one after the other. */
static void test_compacted(void **state)
{
    static const struct set s = {BLOBS, 400, 9, 6, 4, 4, 7};
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_F16, WCODEC_DTYPE_BF16};
    struct trial t;
    struct support_log logged;
    wcodec_vectors_compact_report report;
    uint64_t seed = support_seed();
    uint16_t query[4 * 9];
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    begin_trial(&t, &s);
    wcodec_vectors_close(t.want);
    assert_int_equal(wcodec_vectors_store_compact(t.cpu, place, NULL, &report, NULL), WCODEC_OK);
    t.want = open_store(t.cpu);
    t.queries.data = query;
    for (unsigned i = 0; i < 2; i++) {
        t.queries.dtype = dtypes[i];
        for (size_t j = 0; j < sizeof query / sizeof *query; j++) /* below 2, of either sign */
            query[j] = (uint16_t)(support_random(&seed) & 0xbfff);
        try_fake(&t, "", 0, &logged);
        assert_null(strstr(logged.text, "the CPU"));
    }
    end_trial(&t, &s);
}

/* A thread's searches. */
struct searcher {
    const struct trial *trial;
    const wcodec_vectors_store *store;
    unsigned wrong;
};

static void *search_often(void *opaque)
{
    struct searcher *s = opaque;
    uint64_t ids[FOUND];
    float scores[FOUND];
    for (unsigned i = 0; i < 5; i++)
        s->wrong += wcodec_vectors_search(s->store, &s->trial->queries, &s->trial->options, ids,
                                          scores, NULL) != WCODEC_OK ||
                    memcmp(ids, s->trial->ids, sizeof ids) != 0;
    return NULL;
}

static void test_threads(void **state)
{
    struct trial t;
    struct support_allocator allocator;
    struct support_log logged;
    struct searcher of[3];
    pthread_t threads[3];
    (void)state;
    begin_trial(&t, &small);
    assert_int_equal(wcodec_vectors_search(t.want, &t.queries, &t.options, t.ids, t.scores, NULL),
                     WCODEC_OK);
    wcodec_context *context = open_logged("fake", 0, &allocator, &logged, NULL);
    wcodec_vectors_store *store = open_store(context);
    for (unsigned i = 0; i < 3; i++) {
        of[i] = (struct searcher){&t, store, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, search_often, &of[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(of[i].wrong, 0);
    }
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    end_trial(&t, &small);
}

/* What is wrong with queries is said as the CPU says it. */
static void test_refused(void **state)
{
    struct trial t;
    struct support_allocator allocator;
    struct support_log logged;
    wcodec_error err = {0};
    (void)state;
    begin_trial(&t, &small);
    wcodec_context *context = open_logged("fake", 0, &allocator, &logged, NULL);
    wcodec_vectors_store *store = open_store(context);
    t.query[2 * small.d + 1] = NAN;
    assert_int_equal(wcodec_vectors_search(store, &t.queries, &t.options, t.ids, t.scores, &err),
                     WCODEC_ERROR_USAGE);
    assert_string_equal(err.text, "queries: row 2: element 1 is NaN");
    t.queries.dtype = WCODEC_DTYPE_I8;
    assert_int_equal(wcodec_vectors_search(store, &t.queries, &t.options, t.ids, t.scores, &err),
                     WCODEC_ERROR_UNSUPPORTED);
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    end_trial(&t, &small);
}

/* Each allocation fails once. */
static void test_memory(void **state)
{
    struct trial t;
    long fails = 0;
    (void)state;
    begin_trial(&t, &small);
    t.options.original = &t.rows;
    for (bool through = false; !through; fails++) {
        struct support_allocator allocator;
        wcodec_options options;
        wcodec_context *context = NULL;
        wcodec_vectors_store *store = NULL;
        uint64_t ids[FOUND];
        float scores[FOUND];
        wcodec_error err = {0};
        support_allocator_init(&allocator, fails);
        wcodec_options_init(&options);
        options.backend = "fake";
        options.threads = 1;
        options.allocator = allocator.allocator;
        wcodec_status status = wcodec_context_create(&options, &context, &err);
        if (status == WCODEC_OK)
            status = wcodec_vectors_open(context, place, &store, &err);
        if (status == WCODEC_OK)
            status = wcodec_vectors_search(store, &t.queries, &t.options, ids, scores, &err);
        through = status == WCODEC_OK && allocator.calls <= fails;
        assert_true(fails < 1000);
        if (status != WCODEC_OK && status != WCODEC_ERROR_MEMORY && status != WCODEC_ERROR_BACKEND)
            fail_msg("allocation %ld: %s", fails, err.text);
        wcodec_vectors_close(store);
        if (context != NULL)
            wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    print_message("%ld allocations\n", fails - 1);
    assert_true(fails > 8);
    end_trial(&t, &small);
}

/* full: only what a device has no memory for. */
int main(int argc, char **argv)
{
    const struct CMUnitTest full[] = {cmocka_unit_test(test_full_devices)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_devices),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_left_to_cpu),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_cut_segments),
        cmocka_unit_test(test_ways_in_parts),
        cmocka_unit_test(test_left_in_parts),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_lost_elsewhere),
        cmocka_unit_test(test_compacted),
        cmocka_unit_test(test_one_beyond_limit),
    };
    if (argc > 1 && strcmp(argv[1], "full") == 0)
        return cmocka_run_group_tests(full, enter, leave);
    return cmocka_run_group_tests(tests, enter, leave);
}
