/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Stores of vectors: adding, removing, ids, what is refused, failing memory, files that are damaged
 * or not there, manifests that say what cannot be, and what writers that were killed leave. */
#include "support_files.h"
#include "support_memory.h"

#include "core/memory.h"
#include "vectors/manifest.h"
#include "vectors/segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { D = 6, M = 4, ROWS = 50 };

/* Row i is nearest to itself by far. */
static float *make_rows(size_t n, unsigned begin, wcodec_vector_rows *rows)
{
    float *data = malloc(n * D * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < n * D; i++)
        data[i] = (float)((begin + i / D) * 2654435761u % 1000 * (i % D + 1) % 997) * 0.01f;
    *rows =
        (wcodec_vector_rows){.dtype = WCODEC_DTYPE_F32, .count = n, .dimensions = D, .data = data};
    return data;
}

static wcodec_vectors *train(wcodec_context *context, const wcodec_vector_rows *rows)
{
    wcodec_vectors_options options;
    wcodec_vectors *vectors;
    wcodec_vectors_options_init(&options);
    options.anchors = M;
    assert_int_equal(wcodec_vectors_train(context, rows, &options, &vectors, NULL), WCODEC_OK);
    return vectors;
}

static wcodec_status add(wcodec_context *context, const wcodec_vectors *vectors,
                         const wcodec_vector_rows *rows, uint64_t *first, wcodec_error *err)
{
    wcodec_vectors_compress_options options;
    wcodec_vectors_compress_options_init(&options);
    options.bits = 6;
    return wcodec_vectors_store_add(context, "store", vectors, rows, &options, first, NULL, err);
}

/* Remove the store with all that is in it. */
static void clear(void)
{
    DIR *dir = opendir("store");
    char path[300];
    if (dir == NULL)
        return;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "store/%s", d->d_name);
        unlink(path);
    }
    closedir(dir);
    assert_int_equal(rmdir("store"), 0);
}

/* A few rows say little about recall: those that are added are as exact as those that are there, by
 * anchors that are some row's. */
static void adding_few(void **state)
{
    wcodec_vector_rows many, few;
    wcodec_vectors_report a, b;
    (void)state;
    float *data = make_rows(ROWS, 0, &many), *data_few = make_rows(1, 3, &few);
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors *vectors = train(context, &many);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            wcodec_vectors_store_add(context, "store", vectors, &many, NULL, NULL, &a, NULL),
            WCODEC_OK);
        assert_true(i == 0 ? a.recall >= 0.95 : a.recall == -1);
        assert_int_equal(wcodec_vectors_store_add(context, "store", i == 0 ? NULL : vectors, &few,
                                                  NULL, NULL, &b, NULL),
                         WCODEC_OK);
        assert_true(a.scale == b.scale && b.recall == -1);
        assert_int_equal(a.anchors, M);
        assert_int_equal(b.anchors, 1);
    }
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
    free(data_few);
}

/* So few elements have not as many values as the bits that are asked for: none is clipped for that.
 */
static void adding_few_by_bits(void **state)
{
    wcodec_vectors_compress_options options;
    wcodec_vectors_report report;
    wcodec_vector_rows many, few;
    (void)state;
    float *data = make_rows(ROWS, 0, &many);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &many);
    wcodec_vectors_compress_options_init(&options);
    for (unsigned n = 1; n < 20; n++) {
        float *data_few = make_rows(n, 100 * n, &few);
        options.bits = 1 + n % 7;
        assert_int_equal(wcodec_vectors_store_add(context, "store", vectors, &few, &options, NULL,
                                                  &report, NULL),
                         WCODEC_OK);
        assert_int_equal(report.clipped, 0);
        free(data_few);
    }
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* The fewest bits of the largest numbers: a scale of four times that is more than a segment has. */
static void adding_large(void **state)
{
    enum { LARGE = 400 };
    wcodec_vectors_compress_options options;
    wcodec_vector_rows rows;
    wcodec_vectors_store *store;
    (void)state;
    float *data = make_rows(LARGE, 0, &rows);
    uint64_t seed = support_seed();
    for (size_t i = 0; i < LARGE * D; i++)
        data[i] = support_random(&seed) % 2 != 0 ? 65504 : -65504;
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    wcodec_vectors_compress_options_init(&options);
    options.bits = 1;
    assert_int_equal(
        wcodec_vectors_store_add(context, "store", vectors, &rows, &options, NULL, NULL, NULL),
        WCODEC_OK);
    assert_int_equal(wcodec_vectors_open(context, "store", &store, NULL), WCODEC_OK);
    wcodec_vectors_close(store);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* A scale that is raised until residuals hold all elements clips none. */
static void adding_far(void **state)
{
    wcodec_vector_rows rows, far;
    wcodec_vectors_report report;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows), *data_far = make_rows(ROWS, 70, &far);
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    assert_int_equal(add(context, vectors, &rows, NULL, NULL), WCODEC_OK);
    for (size_t i = 0; i < ROWS * D; i++)
        data_far[i] = data_far[i] * 1000 - 5000;
    assert_int_equal(
        wcodec_vectors_store_add(context, "store", NULL, &far, NULL, NULL, &report, NULL),
        WCODEC_OK);
    assert_int_equal(report.clipped, 0);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
    free(data_far);
}

static void expect_info(wcodec_context *context, uint64_t rows, uint64_t removed, uint64_t segments,
                        uint64_t next)
{
    wcodec_vectors_store *store;
    wcodec_vectors_store_info info;
    wcodec_error err;
    if (wcodec_vectors_open(context, "store", &store, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_vectors_store_describe(store, &info);
    wcodec_vectors_close(store);
    assert_int_equal(info.rows, rows);
    assert_int_equal(info.removed, removed);
    assert_int_equal(info.segments, segments);
    assert_true(info.anchors >= segments && info.anchors <= segments * M);
    assert_int_equal(info.next_id, next);
    assert_int_equal(info.dimensions, D);
    assert_true(info.coded_size > 0 && info.memory > rows * D);
}

/* The nearest of each row, and whether it is there. */
static void expect_nearest(const wcodec_vectors_store *store, const wcodec_vector_rows *rows,
                           uint64_t first, uint64_t missing)
{
    static uint64_t ids[ROWS];
    static float scores[ROWS];
    wcodec_vectors_search_options o;
    wcodec_vectors_search_options_init(&o);
    o.k = 1;
    assert_int_equal(wcodec_vectors_search(store, rows, &o, ids, scores, NULL), WCODEC_OK);
    for (uint64_t i = 0; i < rows->count; i++)
        assert_true((ids[i] == first + i) == (first + i != missing));
}

static void adding(void **state)
{
    wcodec_vector_rows a, b;
    wcodec_vectors_store *old, *store;
    wcodec_error err;
    uint64_t first = UINT64_MAX;
    (void)state;
    float *data_a = make_rows(ROWS, 0, &a), *data_b = make_rows(30, 70, &b);
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors *vectors = train(context, &a);
    assert_int_equal(add(context, vectors, &a, &first, NULL), WCODEC_OK);
    assert_int_equal(first, 0);
    assert_int_equal(wcodec_vectors_open(context, "store", &old, NULL), WCODEC_OK);
    expect_nearest(old, &a, 0, UINT64_MAX);
    /* By the anchors that are there, with ids of the caller's. */
    first = 1000;
    assert_int_equal(add(context, NULL, &b, &first, NULL), WCODEC_OK);
    expect_info(context, 80, 0, 2, 1030);
    /* Ids that were used, one that is among them, too. */
    for (unsigned i = 0; i < 3; i++) {
        static const uint64_t used[] = {0, 500, 1029};
        first = used[i];
        assert_int_equal(add(context, NULL, &b, &first, &err), WCODEC_ERROR_USAGE);
        assert_non_null(strstr(err.text, "was used: the first that never was is 1030"));
        assert_int_equal(first, used[i]);
    }
    first = UINT64_MAX - 30;
    assert_int_equal(add(context, NULL, &b, &first, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(add(context, vectors, &b, NULL, NULL), WCODEC_OK);
    expect_info(context, 110, 0, 3, 1060);
    assert_int_equal(wcodec_vectors_open(context, "store", &store, NULL), WCODEC_OK);
    expect_nearest(store, &a, 0, UINT64_MAX);
    /* Equal ones by their ids: those of the second segment, not of the third. */
    expect_nearest(store, &b, 1000, UINT64_MAX);
    wcodec_vectors_close(store);
    /* Who had opened it before sees what was there. */
    expect_nearest(old, &a, 0, UINT64_MAX);
    wcodec_vectors_close(old);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data_a);
    free(data_b);
}

static mode_t mode_of(const char *name)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof path, "store/%s", name);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

/* Who may not read a store may not read what is added to it, removed, or merged. */
static void private(void **state)
{
    static const uint64_t some = 3;
    wcodec_vector_rows rows;
    (void)state;
    const mode_t mask = umask(022);
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    assert_int_equal(add(context, vectors, &rows, NULL, NULL), WCODEC_OK);
    assert_int_equal(mode_of("0000000000000000.wcodec"), 0644);
    assert_int_equal(mode_of(WCODEC_MANIFEST_NAME), 0644);
    assert_int_equal(chmod("store/" WCODEC_MANIFEST_NAME, 0640), 0);
    assert_int_equal(add(context, NULL, &rows, NULL, NULL), WCODEC_OK);
    assert_int_equal(mode_of("0000000000000001.wcodec"), 0640);
    assert_int_equal(chmod("store/" WCODEC_MANIFEST_NAME, 0600), 0);
    assert_int_equal(wcodec_vectors_store_remove(context, "store", &some, 1, NULL), WCODEC_OK);
    assert_int_equal(mode_of("0000000000000002.removed"), 0600);
    assert_int_equal(wcodec_vectors_store_compact(context, "store", NULL, NULL, NULL), WCODEC_OK);
    assert_int_equal(mode_of("0000000000000003.wcodec"), 0600);
    assert_int_equal(mode_of(WCODEC_MANIFEST_NAME), 0600);
    umask(mask);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* Memory that its segments take together is limited before it is taken. */
static void limited(void **state)
{
    enum { SEGMENTS = 8 };
    wcodec_vectors_store_info info;
    wcodec_vectors_store *store;
    wcodec_vector_rows rows;
    wcodec_error err = {0};
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    for (unsigned i = 0; i < SEGMENTS; i++)
        assert_int_equal(add(context, vectors, &rows, NULL, NULL), WCODEC_OK);
    assert_int_equal(wcodec_vectors_open(context, "store", &store, NULL), WCODEC_OK);
    wcodec_vectors_store_describe(store, &info);
    wcodec_vectors_close(store);
    context->limits.max_memory = info.memory;
    assert_int_equal(wcodec_vectors_open(context, "store", &store, NULL), WCODEC_OK);
    wcodec_vectors_close(store);
    context->limits.max_memory = info.memory - 1;
    assert_int_equal(wcodec_vectors_open(context, "store", &store, &err), WCODEC_ERROR_LIMIT);
    /* Of the last one, no array was made: it says so by its name. */
    assert_non_null(strstr(err.text, "0000000000000007.wcodec: 50 vectors of 6 dimensions take"));
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

static void removing(void **state)
{
    wcodec_vector_rows a, b;
    wcodec_vectors_store *store, *old;
    wcodec_error err;
    (void)state;
    float *data_a = make_rows(ROWS, 0, &a), *data_b = make_rows(30, 70, &b);
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors *vectors = train(context, &a);
    uint64_t first = 3;
    assert_int_equal(add(context, vectors, &a, &first, NULL), WCODEC_OK);
    first = 100;
    assert_int_equal(add(context, vectors, &b, &first, NULL), WCODEC_OK);
    assert_int_equal(wcodec_vectors_open(context, "store", &old, NULL), WCODEC_OK);
    static const uint64_t some[] = {7, 129};
    assert_int_equal(wcodec_vectors_store_remove(context, "store", some, 2, NULL), WCODEC_OK);
    expect_info(context, 78, 2, 2, 130);
    assert_int_equal(wcodec_vectors_open(context, "store", &store, NULL), WCODEC_OK);
    expect_nearest(store, &a, 3, 7);
    expect_nearest(store, &b, 100, 129);
    wcodec_vectors_close(store);
    expect_nearest(old, &a, 3, UINT64_MAX);
    wcodec_vectors_close(old);
    /* What is not there: before, between and after segments, removed, and twice in one call. */
    for (unsigned i = 0; i < 7; i++) {
        static const uint64_t wrong[] = {2, 53, 99, 130, UINT64_MAX, 7, 20};
        const uint64_t ids[] = {20, wrong[i]};
        assert_int_equal(wcodec_vectors_store_remove(context, "store", ids, 2, &err),
                         WCODEC_ERROR_NOT_FOUND);
        assert_non_null(strstr(err.text, "there is no vector of id"));
    }
    expect_info(context, 78, 2, 2, 130);
    static const uint64_t more[] = {8, 3, 52};
    assert_int_equal(wcodec_vectors_store_remove(context, "store", more, 3, NULL), WCODEC_OK);
    expect_info(context, 75, 5, 2, 130);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data_a);
    free(data_b);
}

static void expect_add(wcodec_context *context, const wcodec_vectors *vectors,
                       const wcodec_vector_rows *rows, wcodec_status status, const char *text)
{
    wcodec_error err = {0};
    assert_int_equal(add(context, vectors, rows, NULL, &err), status);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void expect_open(wcodec_context *context, const char *path, wcodec_status status,
                        const char *text)
{
    wcodec_vectors_store *store = NULL;
    wcodec_error err = {0};
    const wcodec_status got = wcodec_vectors_open(context, path, &store, &err);
    if (got != status || strstr(err.text, text) == NULL)
        fail_msg("%d, '%s' does not say '%s'", (int)got, err.text, text);
    assert_null(store);
}

static void refused(void **state)
{
    wcodec_vector_rows rows, narrow;
    wcodec_error err;
    const uint64_t id = 0;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    expect_open(context, "store", WCODEC_ERROR_NOT_FOUND, "store: ");
    expect_add(context, NULL, &rows, WCODEC_ERROR_IO, "store: No such file");
    assert_int_equal(mkdir("store", 0700), 0);
    expect_open(context, "store", WCODEC_ERROR_USAGE, "store: no store of vectors");
    expect_add(context, NULL, &rows, WCODEC_ERROR_USAGE, "no store of vectors");
    assert_int_equal(wcodec_vectors_store_remove(context, "store", &id, 1, &err),
                     WCODEC_ERROR_USAGE);
    /* A folder that is none of ours stays as it is. */
    assert_int_equal(access("store/lock", F_OK), -1);
    assert_int_equal(add(context, vectors, &rows, NULL, NULL), WCODEC_OK);
    narrow = rows;
    narrow.dimensions = D - 1;
    expect_add(context, NULL, &narrow, WCODEC_ERROR_USAGE,
               "store: vectors of 5 dimensions, but those there have 6");
    expect_add(context, vectors, &narrow, WCODEC_ERROR_USAGE, "anchors of 6 dimensions");
    data[D * 17] = (float)(1e300 * 1e300);
    expect_add(context, vectors, &rows, WCODEC_ERROR_USAGE, "row 17: element 0 is infinite");
    data[D * 17] = 1;
    /* One writer. */
    const int lock = open("store/lock", O_RDWR);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    expect_add(context, vectors, &rows, WCODEC_ERROR_BUSY, "another is changing the store");
    assert_int_equal(wcodec_vectors_store_remove(context, "store", &id, 1, NULL),
                     WCODEC_ERROR_BUSY);
    close(lock);
    expect_info(context, ROWS, 0, 1, ROWS);
    support_put_file("file", "nothing", 7);
    expect_open(context, "file", WCODEC_ERROR_CORRUPT, "");
    expect_add(context, vectors, &rows, WCODEC_OK, "");
    assert_int_equal(
        wcodec_vectors_store_add(context, "file", vectors, &rows, NULL, NULL, NULL, NULL),
        WCODEC_ERROR_IO);
    unlink("file");
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* A first add that fails leaves nothing, but what others have put there. */
static void failed_first(void **state)
{
    wcodec_vector_rows rows;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    data[D * 17] = (float)(1e300 * 1e300);
    expect_add(context, vectors, &rows, WCODEC_ERROR_USAGE, "row 17: element 0 is infinite");
    assert_int_equal(access("store", F_OK), -1);
    assert_int_equal(mkdir("store", 0700), 0);
    expect_add(context, vectors, &rows, WCODEC_ERROR_USAGE, "row 17: element 0 is infinite");
    assert_int_equal(rmdir("store"), 0);
    data[D * 17] = 1;
    assert_int_equal(mkdir("store", 0700), 0);
    assert_int_equal(symlink("nothing", "store/lock"), 0);
    expect_add(context, vectors, &rows, WCODEC_ERROR_IO, "store: cannot lock");
    assert_int_equal(unlink("store/lock"), 0);
    assert_int_equal(rmdir("store"), 0);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    free(data);
}

static void last_ids(void **state)
{
    wcodec_vector_rows rows;
    wcodec_error err;
    const uint64_t end = UINT64_C(1) << 63;
    uint64_t first = end - ROWS + 1;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    assert_int_equal(add(context, vectors, &rows, &first, &err), WCODEC_ERROR_USAGE);
    assert_string_equal(err.text,
                        "store: 50 ids from 9223372036854775759 on are not all below 2^63");
    first = UINT64_MAX - 1;
    assert_int_equal(add(context, vectors, &rows, &first, NULL), WCODEC_ERROR_USAGE);
    first = end - ROWS;
    assert_int_equal(add(context, vectors, &rows, &first, NULL), WCODEC_OK);
    expect_info(context, ROWS, 0, 1, end);
    assert_int_equal(add(context, vectors, &rows, NULL, &err), WCODEC_ERROR_USAGE);
    first = end - 1;
    assert_int_equal(wcodec_vectors_store_remove(context, "store", &first, 1, NULL), WCODEC_OK);
    expect_info(context, ROWS - 1, 1, 1, end);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* Without its manifest a store is not taken for a new one, which would lose what is there. */
static void lost_manifest(void **state)
{
    wcodec_vector_rows rows;
    wcodec_error err;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(add(context, vectors, &rows, NULL, NULL), WCODEC_OK);
    assert_int_equal(rename("store/" WCODEC_MANIFEST_NAME, "store/kept"), 0);
    assert_int_equal(add(context, vectors, &rows, NULL, &err), WCODEC_ERROR_CORRUPT);
    assert_string_equal(err.text, "store: has 0000000000000001.wcodec, but no vectors.manifest: it "
                                  "was lost, and nothing is added");
    assert_int_equal(rename("store/kept", "store/" WCODEC_MANIFEST_NAME), 0);
    expect_info(context, 2 * ROWS, 0, 2, 2 * ROWS);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* What a writer that was killed before it wrote the manifest has left is no hindrance. */
static void left_behind(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_store *store;
    char name[WCODEC_STORE_NAME_SIZE], path[100];
    /* The last ones are others'. */
    static const char *const temporaries[] = {"store/.0000000000000000.wcodec.aBcDeF",
                                              "store/.0000000000000000.wcodec.-_0189",
                                              "store/.00000000000000ff.removed.aBcDeF",
                                              "store/.vectors.manifest.aBcDeF",
                                              "store/.aBcDeF",
                                              "store/.000000000000000.wcodec.aBcDeF",
                                              "store/.0000000000000000.other.aBcDeF",
                                              "store/0000000000000009.wcodec.aBcDeF"};
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    assert_int_equal(mkdir("store", 0700), 0);
    for (size_t i = 0; i < sizeof temporaries / sizeof *temporaries; i++)
        support_put_file(temporaries[i], "half", 4);
    for (unsigned i = 0; i < 3; i++) {
        wcodec_store_segment_name(i, name);
        snprintf(path, sizeof path, "store/%s", name);
        support_put_file(path, "half of a segment", 17);
        assert_int_equal(add(context, vectors, &rows, NULL, NULL), WCODEC_OK);
        expect_info(context, ROWS * (i + 1), 0, i + 1, ROWS * (i + 1));
    }
    for (size_t i = 0; i < sizeof temporaries / sizeof *temporaries; i++)
        assert_int_equal(access(temporaries[i], F_OK), i < 4 ? -1 : 0);
    wcodec_store_removed_name(3, name);
    snprintf(path, sizeof path, "store/%s", name);
    support_put_file(path, "half", 4);
    const uint64_t id = 60;
    assert_int_equal(wcodec_vectors_store_remove(context, "store", &id, 1, NULL), WCODEC_OK);
    expect_info(context, 3 * ROWS - 1, 1, 3, 3 * ROWS);
    assert_int_equal(wcodec_vectors_open(context, "store", &store, NULL), WCODEC_OK);
    expect_nearest(store, &rows, 0, UINT64_MAX);
    wcodec_vectors_close(store);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* Every byte of manifest and bitmap changed, files cut short or exchanged or not there. */
static void damage(void **state)
{
    wcodec_vector_rows rows, few;
    char bytes[1000], removed[100];
    (void)state;
    float *data = make_rows(ROWS, 0, &rows), *data_few = make_rows(5, 9, &few);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    const uint64_t id = 5;
    assert_int_equal(add(context, vectors, &rows, NULL, NULL), WCODEC_OK);
    assert_int_equal(add(context, vectors, &few, NULL, NULL), WCODEC_OK);
    assert_int_equal(wcodec_vectors_store_remove(context, "store", &id, 1, NULL), WCODEC_OK);
    FILE *f = fopen("store/" WCODEC_MANIFEST_NAME, "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(size > 100 && size < sizeof bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 2;
        support_put_file("store/" WCODEC_MANIFEST_NAME, bytes, size);
        expect_open(context, "store", WCODEC_ERROR_CORRUPT, WCODEC_MANIFEST_NAME ": ");
        bytes[i] ^= 2;
        support_put_file("store/" WCODEC_MANIFEST_NAME, bytes, i);
        expect_open(context, "store", WCODEC_ERROR_CORRUPT, WCODEC_MANIFEST_NAME ": ");
    }
    support_put_file("store/" WCODEC_MANIFEST_NAME, bytes, size);
    static const char bitmap[] = "store/0000000000000002.removed";
    f = fopen(bitmap, "rb");
    const size_t removed_size = fread(removed, 1, sizeof removed, f);
    fclose(f);
    assert_int_equal(removed_size, (ROWS + 7) / 8 + 8);
    for (size_t i = 0; i < removed_size; i++) {
        removed[i] ^= 2;
        support_put_file(bitmap, removed, removed_size);
        expect_open(context, "store", WCODEC_ERROR_CORRUPT, bitmap);
        removed[i] ^= 2;
    }
    support_put_file(bitmap, removed, removed_size - 1);
    expect_open(context, "store", WCODEC_ERROR_CORRUPT, bitmap);
    unlink(bitmap);
    expect_open(context, "store", WCODEC_ERROR_CORRUPT, "is not there");
    /* Nobody writes to it: opening must not wait. */
    assert_int_equal(mkfifo(bitmap, 0600), 0);
    expect_open(context, "store", WCODEC_ERROR_CORRUPT, "no regular file");
    unlink(bitmap);
    support_put_file(bitmap, removed, removed_size);
    expect_info(context, ROWS + 4, 1, 2, ROWS + 5);
    assert_int_equal(rename("store/0000000000000001.wcodec", "other"), 0);
    expect_open(context, "store", WCODEC_ERROR_CORRUPT, "is not there");
    assert_int_equal(link("store/0000000000000000.wcodec", "store/0000000000000001.wcodec"), 0);
    expect_open(context, "store", WCODEC_ERROR_CORRUPT,
                "50 vectors of 6 dimensions, but the manifest says 5 of 6");
    unlink("other");
    /* The first segment, whose anchors adding takes. */
    expect_add(context, NULL, &few, WCODEC_OK, "");
    unlink("store/0000000000000000.wcodec");
    expect_add(context, NULL, &few, WCODEC_ERROR_CORRUPT, "store: a file that the manifest names");
    support_put_file("store/0000000000000000.wcodec", "nothing", 7);
    expect_add(context, NULL, &few, WCODEC_ERROR_CORRUPT, "store/0000000000000000.wcodec: ");
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
    free(data_few);
}

/* Text with a right check. */
static wcodec_status parse(const char *text, wcodec_error *err)
{
    struct wcodec_manifest manifest;
    char whole[2000];
    int size = snprintf(whole, sizeof whole, "%s", text);
    size += snprintf(whole + size, sizeof whole - (size_t)size, "check %016" PRIx64 "\n",
                     (uint64_t)XXH3_64bits(whole, (size_t)size));
    const wcodec_status status =
        wcodec_manifest_parse(&wcodec_default_allocator, whole, (size_t)size, &manifest, err);
    if (status == WCODEC_OK)
        wcodec_manifest_free(&wcodec_default_allocator, &manifest);
    return status;
}

#define HEAD "wcodec-vectors 1\ndimensions 6\nnext 100\nfiles 9\n"
#define FIRST "segment 2 first 10 last 29 rows 20 removed 0 by 0\n"

static void manifests(void **state)
{
    static const char *const wrong[] = {
        "",
        "wcodec-vectors 1\n",
        "wcodec-vectors 1\ndimensions 6\nnext 100\n",
        "wcodec-vectors 1\ndimensions 0\nnext 100\nfiles 9\n",
        "wcodec-vectors 1\ndimensions 06\nnext 100\nfiles 9\n",
        "wcodec-vectors 1\ndimensions -6\nnext 100\nfiles 9\n",
        "wcodec-vectors 1\ndimensions 18446744073709551616\nnext 100\nfiles 9\n",
        "wcodec-vectors 1\ndimensions 6\nnext 9223372036854775809\nfiles 9\n",
        HEAD "segment 2 first 10 last 10 rows 0 removed 0 by 0\n",
        HEAD "segment 2 first 81 last 100 rows 20 removed 0 by 0\n",
        HEAD "segment 2 first 101 last 101 rows 1 removed 0 by 0\n",
        HEAD
        "segment 2 first 10 last 18446744073709551615 rows 18446744073709551610 removed 0 by 0\n",
        HEAD
        "segment 2 first 18446744073709551610 last 18446744073709551615 rows 20 removed 0 by 0\n",
        HEAD "segment 2 first 10 last 29 rows 20 removed 21 by 3\n",
        HEAD "segment 9 first 10 last 29 rows 20 removed 0 by 0\n",
        HEAD "segment 2 first 10 last 29 rows 20 removed 1 by 9\n",
        HEAD "segment 2 first 10 last 29 rows 20 removed 1 by 3",
        HEAD "segment 2 first 10 last 29 rows 20 removed 1 by 3 \n",
        HEAD "segment ../../2 first 10 last 29 rows 20 removed 1 by 3\n",
        HEAD FIRST "segment 3 first 29 last 48 rows 20 removed 0 by 0\n",
        HEAD "segment 2 first 10 last 28 rows 20 removed 0 by 0\n",
        HEAD "segment 2 first 10 last 9 rows 1 removed 0 by 0\n",
        HEAD "segment 2 first 10 rows 20 removed 0 by 0\n",
        HEAD FIRST "more\n",
        "wcodec-vectors 1\ndimensions 65537\nnext 100\nfiles 9\n",
        ("wcodec-vectors 1\ndimensions 6\nnext 4294967295\nfiles 9\n"
         "segment 2 first 0 last 4294967294 rows 4294967295 removed 0 by 0\n"),
    };
    wcodec_error err;
    (void)state;
    assert_int_equal(parse(HEAD, NULL), WCODEC_OK);
    assert_int_equal(parse(HEAD FIRST "segment 3 first 30 last 99 rows 70 removed 70 by 8\n", NULL),
                     WCODEC_OK);
    /* Of a merged segment: ids that are left out, a number of a later file. */
    assert_int_equal(parse(HEAD "segment 3 first 10 last 99 rows 20 removed 0 by 0\n", NULL),
                     WCODEC_OK);
    assert_int_equal(parse(HEAD "segment 3 first 10 last 19 rows 2 removed 0 by 0\n"
                                "segment 2 first 20 last 29 rows 10 removed 0 by 0\n",
                           NULL),
                     WCODEC_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (parse(wrong[i], &err) != WCODEC_ERROR_CORRUPT || err.text[0] == 0)
            fail_msg("manifest %zu: %s", i, err.text);
    assert_int_equal(parse("wcodec-vectors 2\nand more\n", &err), WCODEC_ERROR_NEWER);
}

/* Numbers of files do not begin again at 0. */
static void last_file(void **state)
{
    wcodec_vector_rows rows;
    wcodec_error err;
    const uint64_t id = 1;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors *vectors = train(context, &rows);
    assert_int_equal(add(context, vectors, &rows, NULL, NULL), WCODEC_OK);
    for (uint64_t left = 0; left < 4; left++) {
        struct wcodec_manifest_entry entry = {.last_id = ROWS - 1, .rows = ROWS};
        const struct wcodec_manifest manifest = {
            .d = D, .next_id = ROWS, .next_file = UINT64_MAX - left, .count = 1, .entries = &entry};
        assert_int_equal(wcodec_manifest_write(context, "store", &manifest, NULL), WCODEC_OK);
        const wcodec_status status = add(context, vectors, &rows, NULL, &err);
        assert_int_equal(status, left < 2 ? WCODEC_ERROR_LIMIT : WCODEC_OK);
        if (left < 2)
            assert_int_equal(wcodec_vectors_store_remove(context, "store", &id, 1, NULL),
                             WCODEC_ERROR_LIMIT);
        expect_info(context, left < 2 ? ROWS : 2 * ROWS, 0, left < 2 ? 1 : 2,
                    left < 2 ? ROWS : 2 * ROWS);
    }
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

static wcodec_status use_all(wcodec_context *context, const wcodec_vector_rows *rows)
{
    static const uint64_t ids[] = {3, ROWS + 1};
    wcodec_vectors *vectors = NULL;
    wcodec_vectors_store *store = NULL;
    wcodec_vectors_options options;
    wcodec_error err = {0};
    uint64_t found[10];
    float scores[10];
    wcodec_vector_rows query = *rows;
    query.count = 1;
    wcodec_vectors_options_init(&options);
    options.anchors = M;
    wcodec_status status = wcodec_vectors_train(context, rows, &options, &vectors, &err);
    if (status == WCODEC_OK)
        status = add(context, vectors, rows, NULL, &err);
    if (status == WCODEC_OK)
        status = add(context, NULL, rows, NULL, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_store_remove(context, "store", ids, 2, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_store_remove(context, "store", &ids[0], 0, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_open(context, "store", &store, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_search(store, &query, NULL, found, scores, &err);
    assert_true(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    wcodec_vectors_close(store);
    wcodec_vectors_destroy(vectors);
    return status;
}

/* Each allocation fails once: what is there then is whole. */
static void out_of_memory(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_store *store;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *plain = support_context(1, NULL);
    const long step = support_full() ? 1 : support_quick() ? 5 : 2;
    long failures = 0, calls = 0;
    /* Some that fail are done without. Each writes files to the disk, which takes long. */
    for (long n = 0; n <= calls + step; n += step) {
        struct support_allocator allocator;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_context *context = support_context(1, &allocator.allocator);
        const long before = allocator.calls;
        allocator.once = true;
        allocator.left = n;
        const wcodec_status status = use_all(context, &rows);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        failures += status != WCODEC_OK;
        calls = allocator.calls - before;
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
        if (access("store/" WCODEC_MANIFEST_NAME, F_OK) == 0) {
            assert_int_equal(wcodec_vectors_open(plain, "store", &store, NULL), WCODEC_OK);
            wcodec_vectors_close(store);
        } else
            assert_int_equal(access("store", F_OK), -1);
        clear();
    }
    assert_true(failures > 50);
    wcodec_context_destroy(plain);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(adding),
                                       cmocka_unit_test(adding_few),
                                       cmocka_unit_test(removing),
                                       cmocka_unit_test(refused),
                                       cmocka_unit_test(left_behind),
                                       cmocka_unit_test(damage),
                                       cmocka_unit_test(manifests),
                                       cmocka_unit_test(out_of_memory),
                                       cmocka_unit_test(adding_far),
                                       cmocka_unit_test(last_file),
                                       cmocka_unit_test(failed_first),
                                       cmocka_unit_test(last_ids),
                                       cmocka_unit_test(lost_manifest),
                                       cmocka_unit_test(private),
                                       cmocka_unit_test(limited),
                                       cmocka_unit_test(adding_large),
                                       cmocka_unit_test(adding_few_by_bits)};
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
