/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* With more than four threads the next tensors are read and planned while others are coded: the
 * same bytes come of it, and every failure is one. */
#include "support_area.h"
#include "support_model.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MANY = 6,
    LARGE = (6 << 20) + 4096, /* two of them are no batch */
    FIRST = 10,
    SMALL_PART = 1 << 16 /* those that are put together have less */
};

static void add(struct support_model *m, const char *name, const char *dtype, unsigned bits,
                uint64_t bytes, enum support_pattern pattern, uint64_t *seed)
{
    support_model_add(m, name, dtype, bits, bytes * 8 / bits, pattern, seed);
}

/* Of each kind: one that is planned, equal to one before, of one value, with a mask, with none to
 * plan, several at once, one that does not shrink. */
static void make_model(struct support_model *m)
{
    uint64_t seed = support_seed(), before;
    support_model_init(m);
    add(m, "first", "BF16", 16, LARGE, SUPPORT_WEIGHTS, &seed);
    before = seed;
    add(m, "second", "BF16", 16, LARGE, SUPPORT_WEIGHTS, &seed);
    seed = before;
    add(m, "equal", "BF16", 16, LARGE, SUPPORT_WEIGHTS, &seed);
    add(m, "constant", "F32", 32, 2 * LARGE, SUPPORT_ZEROS, &seed);
    add(m, "small", "F32", 32, 1000, SUPPORT_WEIGHTS, &seed);
    add(m, "alternating", "F32", 32, LARGE, SUPPORT_ALTERNATING, &seed);
    add(m, "random", "I64", 64, 1 << 20, SUPPORT_RANDOM, &seed);
    add(m, "last", "BF16", 16, LARGE, SUPPORT_RANDOM, &seed);
    support_model_finish(m, "", 0);
}

static FILE *make_file(const struct support_model *m)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(m->file, 1, m->file_size, f), m->file_size);
    assert_int_equal(fflush(f), 0);
    return f;
}

static wcodec_status compress(wcodec_context *context, FILE *f,
                              const wcodec_encode_options *options, struct support_sink *sink,
                              wcodec_error *err)
{
    support_sink_init(sink);
    return wcodec_compress_fd(context, fileno(f), support_sink_write, sink, options, NULL, err);
}

static void expect_same(struct support_sink *got, struct support_sink *expected)
{
    assert_int_equal(got->size, expected->size);
    assert_memory_equal(got->data, expected->data, got->size);
    support_sink_free(got);
}

/* From memory and from a file, in order and not. */
static void check_bytes(const struct support_model *m, unsigned threads,
                        struct support_sink *expected)
{
    wcodec_context *context = support_context(threads, NULL);
    wcodec_encode_options options;
    struct support_sink sink;
    struct support_area area = {.size = expected->size, .left = 1000000};
    FILE *f = make_file(m);
    assert_int_equal(compress(context, f, NULL, &sink, NULL), WCODEC_OK);
    expect_same(&sink, expected);
    support_sink_init(&sink);
    assert_int_equal(wcodec_compress_memory(context, m->file, m->file_size, support_sink_write,
                                            &sink, NULL, NULL, NULL),
                     WCODEC_OK);
    expect_same(&sink, expected);
    wcodec_encode_options_init(&options);
    options.write_at = support_area_put;
    area.data = calloc(1, (size_t)area.size);
    assert_non_null(area.data);
    assert_int_equal(wcodec_compress_fd(context, fileno(f), NULL, &area, &options, NULL, NULL),
                     WCODEC_OK);
    assert_int_equal(area.written, expected->size);
    assert_memory_equal(area.data, expected->data, expected->size);
    /* A write that fails, early and late. */
    for (long n = 1000000 - area.left - 1; n > 0; n = n / 4 - 1) {
        wcodec_error err = {0};
        area.left = n;
        assert_int_equal(wcodec_compress_fd(context, fileno(f), NULL, &area, &options, NULL, &err),
                         WCODEC_ERROR_IO);
        assert_non_null(strstr(err.text, strerror(EDQUOT)));
    }
    free(area.data);
    fclose(f);
    wcodec_context_destroy(context);
}

static void test_bytes(void **state)
{
    (void)state;
    struct support_model m;
    struct support_sink expected;
    make_model(&m);
    wcodec_context *context = support_context(2, NULL);
    FILE *f = make_file(&m);
    assert_int_equal(compress(context, f, NULL, &expected, NULL), WCODEC_OK);
    fclose(f);
    support_expect_restores(context, &expected, m.file, m.file_size);
    wcodec_context_destroy(context);
    check_bytes(&m, MANY, &expected);
    support_sink_free(&expected);
    support_model_free(&m);
}

/* At level 9 planning takes so much that only some batches overlap: those that do not come between
 * them, while what is ahead still waits, or what was coded is still to be verified. */
static void test_some_overlap(void **state)
{
    (void)state;
    enum { SIZE = 13 << 20, RANDOM = 1 << 12, COUNT = 3 };
    struct support_model m;
    struct support_sink expected;
    wcodec_encode_options options;
    uint64_t seed = support_seed();
    uint8_t *data = malloc(SIZE);
    assert_non_null(data);
    support_model_init(&m);
    for (unsigned i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        memset(data, (int)i + 1, SIZE);
        for (unsigned k = 0; k < RANDOM; k++)
            data[k] = (uint8_t)support_random(&seed);
        support_model_add_data(&m, name, "U8", SIZE, data, SIZE);
    }
    support_model_finish(&m, "", 0);
    free(data);
    FILE *f = make_file(&m);
    wcodec_encode_options_init(&options);
    options.level = 9;
    const unsigned fewest = support_threads_only() ? 8 : 2;
    for (unsigned threads = fewest; threads <= 8; threads += 6) {
        struct support_sink sink;
        wcodec_context *context = support_context(threads, NULL);
        assert_int_equal(
            compress(context, f, &options, threads == fewest ? &expected : &sink, NULL), WCODEC_OK);
        if (threads == fewest)
            support_expect_restores(context, &expected, m.file, m.file_size);
        else
            expect_same(&sink, &expected);
        wcodec_context_destroy(context);
    }
    support_sink_free(&expected);
    fclose(f);
    support_model_free(&m);
}

/* Memory that fails: at some of its allocations, since threads make their order. */
static void test_out_of_memory(void **state)
{
    (void)state;
    struct support_model m;
    struct support_sink sink;
    struct support_allocator allocator;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(MANY, &allocator.allocator);
    make_model(&m);
    FILE *f = make_file(&m);
    const long before = allocator.calls;
    assert_int_equal(compress(context, f, NULL, &sink, NULL), WCODEC_OK);
    support_sink_free(&sink);
    const long all = allocator.calls - before;
    assert_true(all > 500);
    const bool few = support_threads_only();
    for (long n = few ? FIRST - 1 : 0; n < all; n += n < FIRST ? 1 : all / (few ? 2 : 4)) {
        wcodec_error err = {0};
        allocator.left = n;
        const wcodec_status status = compress(context, f, NULL, &sink, &err);
        allocator.left = SUPPORT_NEVER;
        if (status != WCODEC_ERROR_MEMORY && (status != WCODEC_OK || n < FIRST))
            fail_msg("allocation %ld: status %d: %s", n, (int)status, err.text);
        support_sink_free(&sink);
    }
    fclose(f);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    support_model_free(&m);
}

/* Several small ones at a time, which take as much again beside: too little is left for zstd's
 * tables, so that none of the next are read, and one thread has what it takes at least. */
static void test_little_memory(void **state)
{
    (void)state;
    enum { SIZE = 2 << 20, COUNT = 18 };
    struct support_model m;
    struct support_sink sink;
    wcodec_encode_options options;
    wcodec_context *context = support_context(MANY, NULL);
    uint8_t *data = malloc(SIZE);
    assert_non_null(data);
    support_model_init(&m);
    for (unsigned i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        memset(data, (int)i, SIZE);
        support_model_add_data(&m, name, "BF16", SIZE / 2, data, SIZE);
    }
    support_model_finish(&m, "", 0);
    FILE *f = make_file(&m);
    wcodec_encode_options_init(&options);
    options.level = 9;
    options.tune = WCODEC_TUNE_COMPUTE;
    assert_int_equal(compress(context, f, &options, &sink, NULL), WCODEC_OK);
    support_expect_restores(context, &sink, m.file, m.file_size);
    support_sink_free(&sink);
    fclose(f);
    free(data);
    wcodec_context_destroy(context);
    support_model_free(&m);
}

/* Until three threads write at the same time, nobody has written; or it has taken too long. */
struct meeting {
    struct support_area area;
    pthread_mutex_t lock;
    pthread_cond_t met;
    unsigned inside;
    bool has_met, has_waited;
};

static int write_together(void *opaque, uint64_t offset, const void *data, size_t size)
{
    enum { THREE = 3, SECONDS = 60 };
    struct meeting *m = opaque;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += SECONDS;
    pthread_mutex_lock(&m->lock);
    m->inside++;
    if (m->inside == THREE) {
        m->has_met = true;
        pthread_cond_broadcast(&m->met);
    }
    /* Small parts are written by one thread, before others come. */
    while (size > SMALL_PART && !m->has_met && !m->has_waited)
        m->has_waited = pthread_cond_timedwait(&m->met, &m->lock, &end) != 0;
    m->inside--;
    pthread_mutex_unlock(&m->lock);
    return support_area_put(&m->area, offset, data, size);
}

/* Two of so many threads write while others code; when nothing is left to code, more of them. */
static void test_helped(void **state)
{
    (void)state;
    struct support_model m;
    struct support_sink expected;
    wcodec_encode_options options;
    struct meeting meeting = {.area = {.left = 1000000}};
    wcodec_context *context = support_context(MANY, NULL);
    make_model(&m);
    FILE *f = make_file(&m);
    assert_int_equal(compress(context, f, NULL, &expected, NULL), WCODEC_OK);
    pthread_mutex_init(&meeting.lock, NULL);
    pthread_cond_init(&meeting.met, NULL);
    meeting.area.size = expected.size;
    meeting.area.data = calloc(1, (size_t)expected.size);
    assert_non_null(meeting.area.data);
    wcodec_encode_options_init(&options);
    options.write_at = write_together;
    assert_int_equal(wcodec_compress_fd(context, fileno(f), NULL, &meeting, &options, NULL, NULL),
                     WCODEC_OK);
    assert_true(meeting.has_met && !meeting.has_waited);
    assert_memory_equal(meeting.area.data, expected.data, expected.size);
    pthread_cond_destroy(&meeting.met);
    pthread_mutex_destroy(&meeting.lock);
    free(meeting.area.data);
    support_sink_free(&expected);
    fclose(f);
    wcodec_context_destroy(context);
    support_model_free(&m);
}

struct watcher {
    uint64_t last, stop_at;
};

static int watch(void *opaque, uint64_t done, uint64_t total)
{
    struct watcher *w = opaque;
    assert_true(done >= w->last && done <= total);
    w->last = done;
    return done >= w->stop_at;
}

struct slow {
    struct support_sink sink;
    bool has_slept;
};

/* Once, in the first large payload, it takes longer than from one report to the next. */
static int write_slowly(void *opaque, const void *data, size_t size)
{
    struct slow *s = opaque;
    if (!s->has_slept && s->sink.size > LARGE / 4) {
        s->has_slept = true;
        nanosleep(&(struct timespec){.tv_nsec = 210000000}, NULL);
    }
    return support_sink_write(&s->sink, data, size);
}

/* While items are coded and the next are read. */
static void cancel_amid(wcodec_context *context, FILE *f, uint64_t size,
                        wcodec_encode_options *options, struct watcher *watcher)
{
    struct slow slow = {.has_slept = false};
    wcodec_error err = {0};
    *watcher = (struct watcher){.stop_at = 1};
    support_sink_init(&slow.sink);
    assert_int_equal(
        wcodec_compress_fd(context, fileno(f), write_slowly, &slow, options, NULL, &err),
        WCODEC_ERROR_CANCELLED);
    assert_string_equal(err.text, "cancelled by the caller");
    assert_in_range(watcher->last, 1, size - 1);
    support_sink_free(&slow.sink);
}

/* Progress goes forward to the end, or to where it is told to stop. */
static void test_progress(void **state)
{
    (void)state;
    struct support_model m;
    struct support_sink sink;
    wcodec_encode_options options;
    struct watcher watcher = {.stop_at = UINT64_MAX};
    wcodec_context *context = support_context(MANY, NULL);
    make_model(&m);
    FILE *f = make_file(&m);
    wcodec_encode_options_init(&options);
    options.progress = (wcodec_progress){.fn = watch, .opaque = &watcher};
    assert_int_equal(compress(context, f, &options, &sink, NULL), WCODEC_OK);
    assert_int_equal(watcher.last, m.file_size);
    support_sink_free(&sink);
    watcher = (struct watcher){.stop_at = 0};
    assert_int_equal(compress(context, f, &options, &sink, NULL), WCODEC_ERROR_CANCELLED);
    support_sink_free(&sink);
    cancel_amid(context, f, m.file_size, &options, &watcher);
    fclose(f);
    wcodec_context_destroy(context);
    support_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),         cmocka_unit_test(test_some_overlap),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_helped),        cmocka_unit_test(test_progress)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
