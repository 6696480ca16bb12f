/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Compacting stores of vectors: searches find the same before and afterwards, ids stay, files that
 * no manifest names go, which segments become one, readers that meet a writer, failures. */
#include "support_files.h"
#include "support_memory.h"

#include "core/memory.h"
#include "vectors/manifest.h"
#include "vectors/segment.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { D = 6, M = 4, ROWS = 50, K = 20 };

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

static wcodec_status train(wcodec_context *context, const wcodec_vector_rows *rows,
                           wcodec_vectors **vectors)
{
    wcodec_vectors_options options;
    wcodec_vectors_options_init(&options);
    options.anchors = M;
    return wcodec_vectors_train(context, rows, &options, vectors, NULL);
}

static wcodec_status add(wcodec_context *context, const wcodec_vectors *vectors,
                         const wcodec_vector_rows *rows, uint64_t first)
{
    return wcodec_vectors_store_add(context, "store", vectors, rows, NULL, &first, NULL, NULL);
}

static void expect_names(unsigned count)
{
    DIR *dir = opendir("store");
    unsigned names = 0;
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        names++;
    closedir(dir);
    assert_int_equal(names - 2, count);
}

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

/* Three segments by the anchors of the first, with gaps between ids, and far rows, whose residuals
 * have another scale; some removed. */
static void make_store(wcodec_context *context, const wcodec_vector_rows *rows)
{
    static const uint64_t ids[] = {0, 7, 49, 1000, 1001, 2020};
    wcodec_vector_rows few = *rows, far;
    wcodec_vectors *vectors;
    float *data = make_rows(30, 70, &far);
    for (size_t i = 0; i < 30 * D; i++)
        data[i] = data[i] * 100 - 500;
    few.count = 20;
    assert_int_equal(train(context, rows, &vectors), WCODEC_OK);
    assert_int_equal(add(context, vectors, rows, 0), WCODEC_OK);
    assert_int_equal(add(context, NULL, &few, 1000), WCODEC_OK);
    assert_int_equal(add(context, NULL, &far, 2000), WCODEC_OK);
    assert_int_equal(wcodec_vectors_store_remove(context, "store", ids, 6, NULL), WCODEC_OK);
    wcodec_vectors_destroy(vectors);
    free(data);
}

struct found {
    uint64_t ids[3][ROWS][K];
    float scores[3][ROWS][K];
};

static void search(const wcodec_vectors_store *store, const wcodec_vector_rows *queries,
                   struct found *found)
{
    wcodec_vectors_search_options o;
    wcodec_vectors_search_options_init(&o);
    o.k = K;
    for (int metric = 0; metric < 3; metric++) {
        o.metric = (wcodec_vectors_metric)metric;
        assert_int_equal(wcodec_vectors_search(store, queries, &o, found->ids[metric][0],
                                               found->scores[metric][0], NULL),
                         WCODEC_OK);
    }
}

static void search_store(wcodec_context *context, const wcodec_vector_rows *queries,
                         struct found *found, wcodec_vectors_store_info *info)
{
    wcodec_vectors_store *store;
    wcodec_error err;
    if (wcodec_vectors_open(context, "store", &store, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_vectors_store_describe(store, info);
    search(store, queries, found);
    wcodec_vectors_close(store);
}

static void expect_same(const struct found *a, const struct found *b)
{
    assert_memory_equal(a->ids, b->ids, sizeof a->ids);
    assert_memory_equal(a->scores, b->scores, sizeof a->scores);
}

static void same_before_and_after(void **state)
{
    static struct found before, after;
    static const uint64_t gone[] = {7, 51, 999, 1001, 2020, 2030}, more[] = {1, 1002, 2029};
    wcodec_vector_rows rows;
    wcodec_vectors_store *old;
    wcodec_vectors_store_info a, b;
    wcodec_vectors_compact_report report;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(2, NULL);
    make_store(context, &rows);
    expect_names(8);
    search_store(context, &rows, &before, &a);
    assert_int_equal(wcodec_vectors_open(context, "store", &old, NULL), WCODEC_OK);
    assert_int_equal(wcodec_vectors_store_compact(context, "store", NULL, &report, NULL),
                     WCODEC_OK);
    assert_int_equal(report.segments_before, 3);
    assert_int_equal(report.segments_after, 1);
    assert_int_equal(report.rows, 94);
    assert_int_equal(report.dropped, 6);
    assert_int_equal(report.size_before, a.coded_size);
    expect_names(3);
    search_store(context, &rows, &after, &b);
    expect_same(&before, &after);
    assert_int_equal(report.size_after, b.coded_size);
    assert_int_equal(b.segments, 1);
    assert_int_equal(b.rows, 94);
    assert_int_equal(b.removed, 0);
    assert_int_equal(b.next_id, 2030);
    assert_true(b.anchors <= a.anchors);
    /* Who had it open finds the same, though the files are gone. */
    search(old, &rows, &after);
    expect_same(&before, &after);
    wcodec_vectors_close(old);
    /* Ids are those that they were. */
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        assert_int_equal(wcodec_vectors_store_remove(context, "store", &gone[i], 1, NULL),
                         WCODEC_ERROR_NOT_FOUND);
    assert_int_equal(wcodec_vectors_store_remove(context, "store", more, 3, NULL), WCODEC_OK);
    /* One bitmap, however often some are removed. */
    expect_names(4);
    assert_int_equal(wcodec_vectors_store_remove(context, "store", more, 1, NULL),
                     WCODEC_ERROR_NOT_FOUND);
    assert_int_equal(add(context, NULL, &rows, UINT64_MAX), WCODEC_OK);
    search_store(context, &rows, &before, &b);
    assert_int_equal(b.rows, 94 - 3 + ROWS);
    assert_int_equal(b.next_id, 2030 + ROWS);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(wcodec_vectors_store_compact(context, "store", NULL, &report, NULL),
                         WCODEC_OK);
        assert_int_equal(report.segments_after, 1);
        assert_int_equal(report.dropped, i == 0 ? 3 : 0);
        /* The second time there is nothing to do. */
        assert_int_equal(access("store/000000000000000a.wcodec", F_OK), -1);
    }
    search_store(context, &rows, &after, &b);
    expect_same(&before, &after);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* A segment by itself has ids, too: from 0 on. */
static void one_segment(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_store *store;
    wcodec_vectors_store_info info;
    wcodec_vectors_search_options o;
    uint64_t id;
    float score;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    make_store(context, &rows);
    assert_int_equal(wcodec_vectors_store_compact(context, "store", NULL, NULL, NULL), WCODEC_OK);
    assert_int_equal(wcodec_vectors_open(context, "store/0000000000000006.wcodec", &store, NULL),
                     WCODEC_OK);
    wcodec_vectors_store_describe(store, &info);
    assert_int_equal(info.next_id, 2029);
    wcodec_vectors_search_options_init(&o);
    o.k = 1;
    rows.data = data + 5 * D;
    rows.count = 1;
    assert_int_equal(wcodec_vectors_search(store, &rows, &o, &id, &score, NULL), WCODEC_OK);
    /* The first, 1, is 0 there; 5 and 1005 are equal. */
    assert_int_equal(id, 4);
    wcodec_vectors_close(store);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

static void expect_segments(wcodec_context *context, uint64_t max_rows, uint64_t segments)
{
    wcodec_vectors_compact_options o;
    wcodec_vectors_compact_report report;
    wcodec_error err;
    wcodec_vectors_compact_options_init(&o);
    o.max_rows = max_rows;
    if (wcodec_vectors_store_compact(context, "store", &o, &report, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(report.segments_after, segments);
}

static void which_are_merged(void **state)
{
    static struct found before, after;
    wcodec_vector_rows rows, other, one;
    wcodec_vectors_store_info info;
    wcodec_vectors *vectors, *others;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows), *data_other = make_rows(ROWS, 300, &other);
    wcodec_context *context = support_context(1, NULL);
    assert_int_equal(train(context, &rows, &vectors), WCODEC_OK);
    assert_int_equal(train(context, &other, &others), WCODEC_OK);
    assert_int_equal(add(context, vectors, &rows, UINT64_MAX), WCODEC_OK);
    /* Each has an anchor of the first, and the large one of all of them, but not of each other. */
    one = rows;
    one.count = 1;
    for (unsigned i = 0; i < 8; i++) {
        one.data = data + i * D;
        assert_int_equal(add(context, NULL, &one, UINT64_MAX), WCODEC_OK);
    }
    assert_int_equal(add(context, others, &other, UINT64_MAX), WCODEC_OK);
    one.data = data_other;
    assert_int_equal(add(context, others, &one, UINT64_MAX), WCODEC_OK);
    assert_int_equal(add(context, vectors, &rows, UINT64_MAX), WCODEC_OK);
    search_store(context, &rows, &before, &info);
    assert_int_equal(info.segments, 12);
    expect_segments(context, 1, 12);
    expect_segments(context, 4, 6);  /* 50, 4, 4, 50, 1, 50 */
    expect_segments(context, 50, 5); /* 50, 8, 50, 1, 50 */
    expect_segments(context, 51, 4); /* 50, 8, 51, 50 */
    expect_segments(context, 1 << 20, 3);
    search_store(context, &rows, &after, &info);
    expect_same(&before, &after);
    wcodec_vectors_destroy(vectors);
    wcodec_vectors_destroy(others);
    wcodec_context_destroy(context);
    clear();
    free(data);
    free(data_other);
}

static void note_large(void *opaque, wcodec_log_level level, const char *text)
{
    bool *told = opaque;
    (void)level;
    *told |= strstr(text, "is too large to be copied") != NULL;
}

/* Compact within so many bytes: was a segment too large? */
static bool compact_within(uint64_t max_memory, wcodec_vectors_compact_report *report)
{
    bool told = false;
    wcodec_context *little;
    wcodec_options options;
    wcodec_error err;
    wcodec_options_init(&options);
    options.limits.max_memory = max_memory;
    options.log = note_large;
    options.log_opaque = &told;
    assert_int_equal(wcodec_context_create(&options, &little, NULL), WCODEC_OK);
    if (wcodec_vectors_store_compact(little, "store", NULL, report, &err) != WCODEC_OK)
        fail_msg("within %u bytes: %s", (unsigned)max_memory, err.text);
    wcodec_context_destroy(little);
    return told;
}

/* As many together as the limit of memory has room for; what it has none for stays. */
static void within_memory(void **state)
{
    /* Merged rows take 18 bytes, anchors 32; a row that is read 20, and an anchor 56. */
    static const struct {
        uint64_t memory, segments, dropped;
    } cases[] = {{94 * 18 + 12 * 32 + 50 * 20 + 4 * 56, 1, 6},
                 {94 * 18 + 12 * 32 + 50 * 20 + 4 * 56 - 1, 2, 6},
                 {47 * 18 + 4 * 32 + 50 * 20 + 4 * 56, 2, 6},
                 {47 * 18 + 4 * 32 + 50 * 20 + 4 * 56 - 1, 2, 3},
                 {47 * 18 + 8 * 32 + 30 * 20 + 4 * 56 - 1, 3, 3}};
    static struct found before, after;
    wcodec_vector_rows rows;
    wcodec_vectors_store_info info;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wcodec_vectors_compact_report report;
        make_store(context, &rows);
        search_store(context, &rows, &before, &info);
        assert_int_equal(info.anchors, 12);
        const bool told = compact_within(cases[i].memory, &report);
        assert_int_equal(report.segments_after, cases[i].segments);
        assert_int_equal(report.dropped, cases[i].dropped);
        assert_true(told == (cases[i].dropped != 6));
        search_store(context, &rows, &after, &info);
        expect_same(&before, &after);
        assert_int_equal(info.removed, 6 - cases[i].dropped);
        clear();
    }
    wcodec_context_destroy(context);
    free(data);
}

/* Of what was removed no copy is made. */
static void mostly_removed(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors *vectors;
    wcodec_vectors_compact_report report;
    uint64_t ids[ROWS];
    const uint64_t needed = 15 * 18 + 4 * 32 + ROWS * 20 + 4 * 56;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    for (uint64_t i = 0; i < ROWS; i++)
        ids[i] = i;
    assert_int_equal(train(context, &rows, &vectors), WCODEC_OK);
    assert_int_equal(add(context, vectors, &rows, 0), WCODEC_OK);
    assert_int_equal(wcodec_vectors_store_remove(context, "store", ids, ROWS - 15, NULL),
                     WCODEC_OK);
    assert_true(compact_within(needed - 1, &report));
    assert_int_equal(report.dropped, 0);
    assert_false(compact_within(needed, &report));
    assert_int_equal(report.dropped, ROWS - 15);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* Segments with as many anchors as rows, one of which is the next one's: anchors take more than
 * rows do. */
static void small_adds(void **state)
{
    enum { WIDE = 64, STEP = 33, SEGMENTS = 6, COUNT = SEGMENTS * (STEP - 1) + 1 };
    /* Of each row with an anchor; of a segment that is read. */
    const uint64_t row = WIDE + 12 + 2 * WIDE + 20, read = STEP * (20 + 8 * WIDE + 8);
    float data[COUNT * WIDE];
    uint64_t seed = 5;
    wcodec_vectors_options o;
    wcodec_vectors *vectors;
    wcodec_vectors_compact_report report;
    (void)state;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        data[i] = (float)(support_random(&seed) % 1000) * 0.01f;
    wcodec_vector_rows rows = {
        .dtype = WCODEC_DTYPE_F32, .count = COUNT, .dimensions = WIDE, .data = data};
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors_options_init(&o);
    o.anchors = COUNT;
    assert_int_equal(wcodec_vectors_train(context, &rows, &o, &vectors, NULL), WCODEC_OK);
    rows.count = STEP;
    for (unsigned i = 0; i < SEGMENTS; i++) {
        rows.data = data + i * (STEP - 1) * WIDE;
        assert_int_equal(add(context, vectors, &rows, UINT64_MAX), WCODEC_OK);
    }
    /* Anchors of one alone, and of two. */
    compact_within(STEP * row + read - 1, &report);
    assert_int_equal(report.segments_after, SEGMENTS);
    compact_within(2 * STEP * row + read - 1, &report);
    assert_int_equal(report.segments_after, SEGMENTS);
    compact_within(2 * STEP * row + read, &report);
    assert_int_equal(report.segments_after, SEGMENTS / 2);
    compact_within(2 * COUNT * row, &report);
    assert_int_equal(report.segments_after, 1);
    assert_int_equal(report.rows, SEGMENTS * STEP);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
}

static void all_removed(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors *vectors;
    uint64_t ids[ROWS], first = UINT64_MAX;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    for (uint64_t i = 0; i < ROWS; i++)
        ids[i] = i;
    assert_int_equal(train(context, &rows, &vectors), WCODEC_OK);
    assert_int_equal(add(context, vectors, &rows, 0), WCODEC_OK);
    assert_int_equal(add(context, vectors, &rows, ROWS), WCODEC_OK);
    assert_int_equal(wcodec_vectors_store_remove(context, "store", ids, ROWS, NULL), WCODEC_OK);
    /* One is left as it is, and the other goes. */
    expect_segments(context, 1000, 1);
    expect_names(3);
    assert_int_equal(access("store/0000000000000001.wcodec", F_OK), 0);
    for (uint64_t i = 0; i < ROWS; i++)
        ids[i] += ROWS;
    assert_int_equal(wcodec_vectors_store_remove(context, "store", ids, ROWS, NULL), WCODEC_OK);
    expect_segments(context, 1000, 0);
    expect_segments(context, 1000, 0);
    expect_names(2);
    assert_int_equal(add(context, NULL, &rows, UINT64_MAX), WCODEC_ERROR_USAGE);
    assert_int_equal(
        wcodec_vectors_store_add(context, "store", vectors, &rows, NULL, &first, NULL, NULL),
        WCODEC_OK);
    assert_int_equal(first, 2 * ROWS);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

struct stop {
    unsigned calls, at;
};

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    struct stop *s = opaque;
    assert_true(done <= total && total == 2 * 94 * D);
    return ++s->calls > s->at;
}

static void refused(void **state)
{
    static struct found before, after;
    wcodec_vector_rows rows;
    wcodec_vectors_store_info info;
    wcodec_vectors_compact_options o;
    wcodec_error err;
    struct stop stopping = {.at = 0};
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    make_store(context, &rows);
    search_store(context, &rows, &before, &info);
    wcodec_vectors_compact_options_init(&o);
    o.progress = (wcodec_progress){.fn = stop, .opaque = &stopping};
    assert_int_equal(wcodec_vectors_store_compact(context, "store", &o, NULL, &err),
                     WCODEC_ERROR_CANCELLED);
    search_store(context, &rows, &after, &info);
    expect_same(&before, &after);
    expect_names(8);
    stopping = (struct stop){.at = 1000};
    assert_int_equal(wcodec_vectors_store_compact(context, "store", &o, NULL, &err), WCODEC_OK);
    assert_true(stopping.calls > 0);
    o.max_rows = 0;
    assert_int_equal(wcodec_vectors_store_compact(context, "store", &o, NULL, &err),
                     WCODEC_ERROR_USAGE);
    o.max_rows = UINT32_MAX;
    assert_int_equal(wcodec_vectors_store_compact(context, "store", &o, NULL, &err),
                     WCODEC_ERROR_USAGE);
    o.max_rows = 5;
    o.level = 10;
    assert_int_equal(wcodec_vectors_store_compact(context, "store", &o, NULL, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_vectors_store_compact(context, "nothing", NULL, NULL, &err),
                     WCODEC_ERROR_IO);
    /* A manifest of other ids than the segment has. */
    struct wcodec_manifest manifest;
    assert_int_equal(wcodec_manifest_read(context, "store", &manifest, NULL), WCODEC_OK);
    for (unsigned i = 0; i < 2; i++) {
        wcodec_vectors_store *store;
        manifest.entries[0].last_id -= i == 0 ? 1 : 1934;
        assert_int_equal(wcodec_manifest_write(context, "store", &manifest, NULL), WCODEC_OK);
        assert_int_equal(wcodec_vectors_open(context, "store", &store, &err), WCODEC_ERROR_CORRUPT);
        assert_non_null(strstr(err.text, "the last id is 2029, but the manifest says"));
        manifest.entries[0].removed = 0;
        const uint64_t id = 5;
        const wcodec_status status = wcodec_vectors_store_remove(context, "store", &id, 1, &err);
        assert_int_equal(status, i == 0 ? WCODEC_ERROR_CORRUPT : WCODEC_OK);
    }
    wcodec_manifest_free(&wcodec_default_allocator, &manifest);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

static wcodec_status use_all(wcodec_context *context, const wcodec_vector_rows *rows)
{
    static const uint64_t ids[] = {3, ROWS + 1};
    wcodec_vectors *vectors = NULL;
    wcodec_vectors_store *store = NULL;
    wcodec_status status = train(context, rows, &vectors);
    for (unsigned i = 0; status == WCODEC_OK && i < 2; i++)
        status = add(context, vectors, rows, UINT64_MAX);
    if (status == WCODEC_OK)
        status = wcodec_vectors_store_remove(context, "store", ids, 2, NULL);
    if (status == WCODEC_OK)
        status = wcodec_vectors_store_compact(context, "store", NULL, NULL, NULL);
    if (status == WCODEC_OK)
        status = wcodec_vectors_store_remove(context, "store", (uint64_t[]){4}, 1, NULL);
    if (status == WCODEC_OK)
        status = wcodec_vectors_open(context, "store", &store, NULL);
    wcodec_vectors_close(store);
    wcodec_vectors_destroy(vectors);
    return status;
}

/* Each allocation fails once: what is there then is whole. */
static void out_of_memory(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_store *store;
    wcodec_vectors_store_info info;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *plain = support_context(1, NULL);
    const long step = support_full() ? 1 : support_quick() ? 7 : 3;
    long failures = 0, calls = 0;
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
            wcodec_vectors_store_describe(store, &info);
            assert_true(info.rows + info.removed == ROWS || info.rows >= 2 * ROWS - 3);
            wcodec_vectors_close(store);
        }
        clear();
    }
    assert_true(failures > 50);
    wcodec_context_destroy(plain);
    free(data);
}

static void *write_store(void *opaque)
{
    const wcodec_vector_rows *rows = opaque;
    wcodec_context *context = support_context(1, NULL);
    for (uint64_t i = 0; i < 8; i++) {
        const uint64_t id = i * ROWS + 3;
        assert_int_equal(add(context, NULL, rows, UINT64_MAX), WCODEC_OK);
        assert_int_equal(wcodec_vectors_store_remove(context, "store", &id, 1, NULL), WCODEC_OK);
        assert_int_equal(wcodec_vectors_store_compact(context, "store", NULL, NULL, NULL),
                         WCODEC_OK);
    }
    wcodec_context_destroy(context);
    return NULL;
}

/* Files that go while a store is opened: what it is now is opened. */
static void read_while_written(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors *vectors;
    wcodec_vectors_store_info info = {0};
    pthread_t writer;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    assert_int_equal(train(context, &rows, &vectors), WCODEC_OK);
    assert_int_equal(add(context, vectors, &rows, 0), WCODEC_OK);
    assert_int_equal(pthread_create(&writer, NULL, write_store, &rows), 0);
    while (info.rows != 9 * ROWS - 8) {
        wcodec_vectors_store *store;
        wcodec_error err;
        const uint64_t before = info.next_id;
        if (wcodec_vectors_open(context, "store", &store, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        wcodec_vectors_store_describe(store, &info);
        wcodec_vectors_close(store);
        assert_true(info.next_id >= before);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    clear();
    free(data);
}

/* Memory whose call number `left` is one before which the store changes. */
struct changing {
    long left;
    bool is_changed;
};

static void *change_reallocate(void *opaque, void *memory, size_t size)
{
    struct changing *c = opaque;
    if (c->left-- == 0) {
        wcodec_context *context = support_context(1, NULL);
        c->is_changed = true;
        assert_int_equal(wcodec_vectors_store_compact(context, "store", NULL, NULL, NULL),
                         WCODEC_OK);
        wcodec_context_destroy(context);
    }
    return realloc(memory, size);
}

static void *change_allocate(void *opaque, size_t size)
{
    return change_reallocate(opaque, NULL, size);
}

static void change_release(void *opaque, void *memory)
{
    (void)opaque;
    free(memory);
}

/* A compaction that only drops a segment takes no number of a file: who opens the store at any
 * moment of it gets it all the same. */
static void read_while_dropped(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors *vectors;
    struct changing changing = {.is_changed = true};
    uint64_t ids[ROWS];
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *plain = support_context(1, NULL);
    assert_int_equal(train(plain, &rows, &vectors), WCODEC_OK);
    for (uint64_t i = 0; i < ROWS; i++)
        ids[i] = i;
    for (long n = 0; changing.is_changed; n += 1 + n / 3) {
        const wcodec_allocator allocator = {.allocate = change_allocate,
                                            .reallocate = change_reallocate,
                                            .release = change_release,
                                            .opaque = &changing};
        wcodec_vectors_store_info info;
        wcodec_vectors_store *store;
        wcodec_error err;
        changing = (struct changing){.left = -1};
        assert_int_equal(add(plain, vectors, &rows, 0), WCODEC_OK);
        assert_int_equal(add(plain, vectors, &rows, ROWS), WCODEC_OK);
        assert_int_equal(wcodec_vectors_store_remove(plain, "store", ids, ROWS, NULL), WCODEC_OK);
        wcodec_context *context = support_context(1, &allocator);
        changing.left = n;
        if (wcodec_vectors_open(context, "store", &store, &err) != WCODEC_OK)
            fail_msg("changed before call %ld for memory: %s", n, err.text);
        wcodec_vectors_store_describe(store, &info);
        assert_int_equal(info.rows, ROWS);
        wcodec_vectors_close(store);
        changing.left = -1;
        wcodec_context_destroy(context);
        clear();
        assert_true(n < 1000);
    }
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(plain);
    free(data);
}

/* Which segment is damaged, and that more memory is needed than may be taken. */
static void named_errors(void **state)
{
    wcodec_vector_rows rows;
    wcodec_error err;
    const uint64_t id = 3;
    (void)state;
    float *data = make_rows(ROWS, 0, &rows);
    wcodec_context *context = support_context(1, NULL);
    make_store(context, &rows);
    wcodec_options options;
    wcodec_options_init(&options);
    options.limits.max_memory = 700;
    wcodec_context *little;
    assert_int_equal(wcodec_context_create(&options, &little, NULL), WCODEC_OK);
    assert_int_equal(wcodec_vectors_store_remove(little, "store", &id, 1, &err),
                     WCODEC_ERROR_LIMIT);
    assert_non_null(strstr(err.text, "store: segment 0 has 50 vectors: "));
    wcodec_context_destroy(little);
    static uint8_t bytes[1 << 16];
    FILE *file = fopen("store/0000000000000001.wcodec", "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 100 && size < sizeof bytes);
    for (size_t i = 8; i < 50; i += 7) {
        bytes[i] ^= 0x40;
        support_put_file("store/0000000000000001.wcodec", bytes, size);
        bytes[i] ^= 0x40;
        assert_true(wcodec_vectors_store_compact(context, "store", NULL, NULL, &err) != WCODEC_OK);
        if (strstr(err.text, "store/0000000000000001.wcodec") == NULL)
            fail_msg("byte %zu: %s", i, err.text);
    }
    wcodec_context_destroy(context);
    clear();
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_before_and_after), cmocka_unit_test(one_segment),
        cmocka_unit_test(which_are_merged),      cmocka_unit_test(within_memory),
        cmocka_unit_test(mostly_removed),        cmocka_unit_test(small_adds),
        cmocka_unit_test(all_removed),           cmocka_unit_test(refused),
        cmocka_unit_test(out_of_memory),         cmocka_unit_test(read_while_written),
        cmocka_unit_test(read_while_dropped),    cmocka_unit_test(named_errors)};
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
