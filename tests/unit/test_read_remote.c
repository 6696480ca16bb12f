/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files read by a function of the caller's: what is asked for, in how many requests, that all bytes
 * come, and what becomes of answers that are wrong, fail, or do not come. */
#include "support_load.h"

#include "read/reader.h"
#include "read/remote.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { KEPT = 4096 };

/* A file far away. */
struct far {
    const uint8_t *data;
    uint64_t size;
    pthread_mutex_t lock; /* of the list */
    struct {
        uint64_t offset;
        size_t size;
    } asked[KEPT];
    atomic_uint requests;
    atomic_uint under_way, most_under_way;
    atomic_long left;  /* requests that are answered before they begin to fail */
    bool fail_once;    /* only the first after these fails */
    size_t most_bytes; /* that are given at once; 0: all */
    uint64_t ends;     /* the file is shorter; UINT64_MAX: it is not */
    bool too_many;     /* more than was asked for is said to be there */
    int status;        /* of a failure, beside -1 */
    const char *text;
    unsigned delay_ns;
    atomic_uint closed;
};

static void far_init(struct far *f, const void *data, uint64_t size)
{
    memset(f, 0, sizeof *f);
    f->data = data;
    f->size = size;
    f->ends = UINT64_MAX;
    atomic_init(&f->left, SUPPORT_NEVER);
    f->text = "connection reset";
    assert_int_equal(pthread_mutex_init(&f->lock, NULL), 0);
}

static void far_free(struct far *f)
{
    pthread_mutex_destroy(&f->lock);
}

static int64_t far_read(void *opaque, uint64_t offset, size_t size, void *dst, wcodec_error *error)
{
    struct far *f = opaque;
    const unsigned n = atomic_fetch_add(&f->requests, 1),
                   now = atomic_fetch_add(&f->under_way, 1) + 1;
    unsigned most = atomic_load(&f->most_under_way);
    while (now > most && !atomic_compare_exchange_weak(&f->most_under_way, &most, now))
        continue;
    if (n < KEPT) {
        pthread_mutex_lock(&f->lock);
        f->asked[n].offset = offset;
        f->asked[n].size = size;
        pthread_mutex_unlock(&f->lock);
    }
    if (f->delay_ns != 0)
        nanosleep(&(struct timespec){0, f->delay_ns}, NULL);
    int64_t result = -1;
    const long left = atomic_fetch_sub(&f->left, 1);
    if (size == 0 || offset + size > f->size) {
        snprintf(error->text, sizeof error->text, "asked for what is not there");
    } else if (left <= 0 && (!f->fail_once || left == 0)) {
        error->status = (wcodec_status)f->status;
        if (f->text != NULL)
            snprintf(error->text, sizeof error->text, "%s", f->text);
    } else {
        const size_t most_bytes = f->most_bytes != 0 && f->most_bytes < size ? f->most_bytes : size;
        const uint64_t end = f->ends < f->size ? f->ends : f->size,
                       there = offset < end ? end - offset : 0,
                       give = there < most_bytes ? there : most_bytes;
        memcpy(dst, f->data + offset, give);
        result = (int64_t)(f->too_many ? size + 1 : give);
    }
    atomic_fetch_sub(&f->under_way, 1);
    return result;
}

static void far_close(void *opaque)
{
    struct far *f = opaque;
    atomic_fetch_add(&f->closed, 1);
}

static wcodec_io io_of(struct far *f, const char *name)
{
    return (wcodec_io){.read_at = far_read,
                       .close = far_close,
                       .opaque = f,
                       .size = f->size,
                       .name = name,
                       .request_bytes = 1 << 20};
}

static wcodec_reader *open_far(wcodec_context *context, struct far *f)
{
    const wcodec_io io = io_of(f, "far://model");
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};
    if (wcodec_reader_open_io(context, &io, 1, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return reader;
}

/* Bytes that were asked for since request number `from`. */
static uint64_t asked_bytes(const struct far *f, unsigned from)
{
    uint64_t sum = 0;
    for (unsigned i = from; i < atomic_load(&f->requests) && i < KEPT; i++)
        sum += f->asked[i].size;
    return sum;
}

static uint8_t *random_bytes(uint64_t *seed, size_t size)
{
    uint8_t *data = malloc(size);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(support_random(seed) >> 24);
    return data;
}

static struct support_loaded model;

static int make_model(void **state)
{
    (void)state;
    support_loaded_make(&model, 20261124);
    return 0;
}

static int free_model(void **state)
{
    (void)state;
    support_loaded_free(&model);
    return 0;
}

/* Head, tail and the rest of the index, whatever its size. */
static void test_open(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct far f;
    wcodec_file_info info;
    far_init(&f, model.sink.data, model.sink.size);
    wcodec_reader *reader = open_far(context, &f);
    assert_in_range(atomic_load(&f.requests), 1, 3);
    assert_int_equal(wcodec_reader_file(reader, 0, &info, NULL), WCODEC_OK);
    assert_string_equal(info.path, "far://model");
    assert_int_equal(atomic_load(&f.closed), 0);
    wcodec_reader_close(reader);
    assert_int_equal(atomic_load(&f.closed), 1);
    far_free(&f);
    wcodec_context_destroy(context);
}

/* Thousands of tensors, whose index is larger than what is asked for at first. */
static void test_large_index(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_model m;
    struct support_sink coded;
    struct far f;
    uint64_t seed = 5;
    uint8_t *data = random_bytes(&seed, 16);
    char name[200];
    support_model_init(&m);
    for (unsigned i = 0; i < 6000; i++) {
        int at = snprintf(name, sizeof name, "%05u.", i);
        for (; at < 180; at++)
            name[at] = (char)('a' + support_random(&seed) % 26);
        name[at] = 0;
        support_model_add_data(&m, name, "U8", 16, data, 16);
    }
    support_model_finish(&m, "", 0);
    support_sink_init(&coded);
    assert_int_equal(wcodec_compress_memory(context, m.file, m.file_size, support_sink_write,
                                            &coded, NULL, NULL, NULL),
                     WCODEC_OK);
    assert_true(coded.size > 600000);
    far_init(&f, coded.data, coded.size);
    wcodec_reader *reader = open_far(context, &f);
    assert_int_equal(wcodec_reader_tensor_count(reader), 6000);
    assert_in_range(atomic_load(&f.requests), 2, 3);
    wcodec_reader_close(reader);
    far_free(&f);
    support_sink_free(&coded);
    support_model_free(&m);
    free(data);
    wcodec_context_destroy(context);
}

static void expect_all(wcodec_context *context, const wcodec_reader *reader)
{
    wcodec_load_options options;
    wcodec_load_item *items;
    wcodec_error err = {0};
    uint64_t size, count = wcodec_reader_tensor_count(reader);
    items = calloc(count, sizeof *items);
    assert_int_equal(wcodec_load_layout(reader, 64, items, &size, NULL), WCODEC_OK);
    uint8_t *host = malloc(size);
    for (uint64_t i = 0; i < count; i++)
        items[i].destination = (uint64_t)(uintptr_t)host;
    wcodec_load_options_init(&options);
    if (wcodec_load(reader, items, count, &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t whole;
        const uint8_t *original = support_loaded_bytes(&model, reader, i, &whole);
        assert_memory_equal(host + items[i].offset, original, whole);
    }
    free(host);
    free(items);
    (void)context;
}

/* A load and a restoration ask for everything once, in large requests, several at a time. */
static void test_whole(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_sink restored;
    struct far f;
    wcodec_error err = {0};
    support_sink_init(&restored);
    far_init(&f, model.sink.data, model.sink.size);
    f.delay_ns = 2000000;
    wcodec_reader *reader = open_far(context, &f);
    const unsigned opened = atomic_load(&f.requests);
    expect_all(context, reader);
    const uint64_t all = model.sink.size / (1 << 20) + 1;
    assert_in_range(atomic_load(&f.requests) - opened, 1, 2 * all + 8);
    assert_true(asked_bytes(&f, 0) < model.sink.size + model.sink.size / 8 + (1 << 20));
    assert_true(atomic_load(&f.most_under_way) > 1);
    const unsigned loaded = atomic_load(&f.requests);
    if (wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(restored.size, model.model.file_size);
    assert_memory_equal(restored.data, model.model.file, restored.size);
    assert_in_range(atomic_load(&f.requests) - loaded, 0, 2 * all + 8);
    assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_test(reader, 0, 1, NULL, NULL), WCODEC_OK);
    wcodec_reader_close(reader);
    support_sink_free(&restored);
    far_free(&f);
    wcodec_context_destroy(context);
}

/* Rows ask for what holds them. */
static void test_rows(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct far f;
    uint64_t seed = 9;
    far_init(&f, model.sink.data, model.sink.size);
    wcodec_reader *reader = open_far(context, &f);
    uint64_t largest = 0, most = 0;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        uint64_t whole;
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        const uint64_t rows = info.rank > 0 ? info.shape[0] : 1;
        const uint8_t *original = support_loaded_bytes(&model, reader, i, &whole);
        if (rows > 0 && info.size > 0)
            support_expect_rows(reader, i, 1, &seed, rows, original, whole);
        if (info.coded_size > most && info.coding == WCODEC_CODING_TILES) {
            most = info.coded_size;
            largest = i;
        }
    }
    wcodec_reader_close(reader);
    far_free(&f);

    far_init(&f, model.sink.data, model.sink.size);
    reader = open_far(context, &f);
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, largest, &info, NULL), WCODEC_OK);
    const unsigned opened = atomic_load(&f.requests);
    const uint64_t row = info.size / info.shape[0];
    uint8_t *out = malloc(row);
    assert_true(info.coded_size > 1 << 20);
    assert_int_equal(
        wcodec_reader_decode_rows(reader, largest, info.shape[0] / 2, 1, out, row, NULL, NULL),
        WCODEC_OK);
    assert_true(asked_bytes(&f, opened) < info.coded_size / 4);
    assert_in_range(atomic_load(&f.requests) - opened, 1, 1 + WCODEC_AREAS);
    free(out);
    wcodec_reader_close(reader);
    far_free(&f);
    wcodec_context_destroy(context);
}

/* Answers that are cut short are asked for further. */
static void test_short(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct far f;
    far_init(&f, model.sink.data, model.sink.size);
    f.most_bytes = 70001;
    wcodec_reader *reader = open_far(context, &f);
    expect_all(context, reader);
    wcodec_reader_close(reader);
    far_free(&f);
    wcodec_context_destroy(context);
}

/* In as little memory as may be, by as few requests at once, beside many threads. */
static void test_little_memory(void **state)
{
    (void)state;
    wcodec_context *context = support_context(5, NULL);
    struct far f;
    wcodec_reader *reader = NULL;
    far_init(&f, model.sink.data, model.sink.size);
    for (unsigned requests = 1; requests <= 3; requests++) {
        wcodec_io io = io_of(&f, NULL);
        io.requests = requests;
        io.request_bytes = 64 << 10;
        io.cache_bytes = 128 << 10;
        assert_int_equal(wcodec_reader_open_io(context, &io, 1, &reader, NULL), WCODEC_OK);
        expect_all(context, reader);
        assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL), WCODEC_OK);
        wcodec_reader_close(reader);
    }
    assert_int_equal(atomic_load(&f.closed), 3);
    far_free(&f);
    wcodec_context_destroy(context);
}

static wcodec_status load_all(const wcodec_reader *reader, wcodec_error *err)
{
    wcodec_load_options options;
    uint64_t size, count = wcodec_reader_tensor_count(reader);
    wcodec_load_item *items = calloc(count, sizeof *items);
    assert_int_equal(wcodec_load_layout(reader, 64, items, &size, NULL), WCODEC_OK);
    uint8_t *host = malloc(size);
    for (uint64_t i = 0; i < count; i++)
        items[i].destination = (uint64_t)(uintptr_t)host;
    wcodec_load_options_init(&options);
    const wcodec_status status = wcodec_load(reader, items, count, &options, NULL, err);
    free(host);
    free(items);
    return status;
}

/* Every request fails once, in opening, loading and restoring: the reason comes, with the file's
 * name, and the next call works. */
static void test_failures(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct far f;
    far_init(&f, model.sink.data, model.sink.size);
    f.fail_once = true;
    for (long n = 0, opened = 0;; n++) {
        wcodec_io io = io_of(&f, "far://model");
        wcodec_reader *reader = NULL;
        wcodec_error err = {0};
        atomic_store(&f.closed, 0);
        atomic_store(&f.left, n);
        wcodec_status status = wcodec_reader_open_io(context, &io, 1, &reader, &err);
        if (status != WCODEC_OK) {
            assert_int_equal(opened, 0);
            assert_int_equal(status, WCODEC_ERROR_IO);
            assert_non_null(strstr(err.text, "far://model: "));
            assert_non_null(strstr(err.text, "connection reset"));
            assert_null(reader);
            assert_int_equal(atomic_load(&f.closed), 0);
            continue;
        }
        opened++;
        status = load_all(reader, &err);
        if (status != WCODEC_OK) {
            assert_int_equal(status, WCODEC_ERROR_IO);
            assert_non_null(strstr(err.text, "far://model: "));
            assert_non_null(strstr(err.text, "connection reset"));
        }
        const bool ended = atomic_load(&f.left) >= 0;
        expect_all(context, reader);
        wcodec_reader_close(reader);
        assert_int_equal(atomic_load(&f.closed), 1);
        if (ended)
            break;
        assert_true(n < 1000);
    }
    far_free(&f);
    wcodec_context_destroy(context);
}

static void expect_failure(wcodec_context *context, struct far *f, wcodec_status expected,
                           const char *text)
{
    const wcodec_io io = io_of(f, "far://model");
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};
    assert_int_equal(wcodec_reader_open_io(context, &io, 1, &reader, &err), expected);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, err.text);
    assert_null(reader);
}

static void test_wrong(void **state)
{
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    struct far f;
    far_init(&f, model.sink.data, model.sink.size);
    f.too_many = true;
    expect_failure(context, &f, WCODEC_ERROR_IO, "where");
    f.too_many = false;
    f.ends = model.sink.size - 10;
    expect_failure(context, &f, WCODEC_ERROR_IO, "shorter than the");
    f.ends = UINT64_MAX;
    atomic_store(&f.left, 0);
    f.text = NULL;
    expect_failure(context, &f, WCODEC_ERROR_IO, "no reason was given");
    f.status = WCODEC_ERROR_CANCELLED;
    f.text = "bad\nline";
    expect_failure(context, &f, WCODEC_ERROR_CANCELLED, "bad\\x0Aline");
    atomic_store(&f.left, SUPPORT_NEVER);
    f.size = 20;
    expect_failure(context, &f, WCODEC_ERROR_CORRUPT, "20 bytes");
    f.size = 0;
    expect_failure(context, &f, WCODEC_ERROR_CORRUPT, "0 bytes");
    far_free(&f);

    /* Another file's bytes. */
    uint8_t *other = malloc(1 << 20);
    memset(other, 7, 1 << 20);
    far_init(&f, other, 1 << 20);
    expect_failure(context, &f, WCODEC_ERROR_CORRUPT, "far://model: ");
    far_free(&f);
    free(other);
    wcodec_context_destroy(context);
}

static void test_arguments(void **state)
{
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    struct far f;
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};
    far_init(&f, model.sink.data, model.sink.size);
    const wcodec_io good = io_of(&f, "a");
    assert_int_equal(wcodec_reader_open_io(NULL, &good, 1, &reader, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_open_io(context, NULL, 1, &reader, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_open_io(context, &good, 0, &reader, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_open_io(context, &good, 1, NULL, &err), WCODEC_ERROR_USAGE);
    for (unsigned i = 0; i < 7; i++) {
        wcodec_io io = good;
        if (i == 0)
            io.read_at = NULL;
        else if (i == 1)
            io.request_bytes = 1000;
        else if (i == 2)
            io.request_bytes = (uint64_t)2 << 30;
        else if (i == 3)
            io.cache_bytes = io.request_bytes;
        else if (i == 4)
            io.requests = 65;
        else if (i == 5)
            io.reserved[7] = 1;
        else
            io.name = NULL;
        const wcodec_io both[] = {io, io};
        assert_int_equal(wcodec_reader_open_io(context, both, i < 6 ? 1 : 2, &reader, &err),
                         WCODEC_ERROR_USAGE);
    }
    /* The same tensors twice. */
    const wcodec_io both[] = {io_of(&f, "a"), io_of(&f, "b")};
    assert_int_equal(wcodec_reader_open_io(context, both, 2, &reader, &err), WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "is also in"));
    assert_int_equal(atomic_load(&f.closed), 0);
    far_free(&f);
    wcodec_context_destroy(context);
}

/* Files of one model, opened side by side. */
static void test_several(void **state)
{
    (void)state;
    enum { FILES = 5 };
    wcodec_context *context = support_context(3, NULL);
    struct far f[FILES];
    struct support_sink coded[FILES];
    wcodec_io files[FILES];
    uint8_t *data[FILES];
    char names[FILES][8];
    uint64_t seed = 77;
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};
    for (unsigned i = 0; i < FILES; i++) {
        struct support_model m;
        snprintf(names[i], sizeof names[i], "t%u", i);
        data[i] = random_bytes(&seed, 50000);
        support_model_init(&m);
        support_model_add_data(&m, names[i], "U8", 50000, data[i], 50000);
        support_model_finish(&m, "", 0);
        support_sink_init(&coded[i]);
        assert_int_equal(wcodec_compress_memory(context, m.file, m.file_size, support_sink_write,
                                                &coded[i], NULL, NULL, NULL),
                         WCODEC_OK);
        support_model_free(&m);
        far_init(&f[i], coded[i].data, coded[i].size);
        files[i] = io_of(&f[i], names[i]);
    }
    /* One of them fails: none is closed. */
    f[3].ends = 10;
    assert_int_equal(wcodec_reader_open_io(context, files, FILES, &reader, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "t3: "));
    f[3].ends = UINT64_MAX;
    for (unsigned i = 0; i < FILES; i++)
        assert_int_equal(atomic_load(&f[i].closed), 0);
    if (wcodec_reader_open_io(context, files, FILES, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(wcodec_reader_file_count(reader), FILES);
    for (unsigned i = 0; i < FILES; i++) {
        uint64_t number;
        uint8_t out[50000];
        assert_int_equal(wcodec_reader_find(reader, names[i], &number, NULL), WCODEC_OK);
        assert_int_equal(wcodec_reader_decode(reader, number, out, sizeof out, NULL, NULL),
                         WCODEC_OK);
        assert_memory_equal(out, data[i], sizeof out);
    }
    assert_int_equal(load_all(reader, &err), WCODEC_OK);
    wcodec_reader_close(reader);
    for (unsigned i = 0; i < FILES; i++) {
        assert_int_equal(atomic_load(&f[i].closed), 1);
        far_free(&f[i]);
        support_sink_free(&coded[i]);
        free(data[i]);
    }
    wcodec_context_destroy(context);
}

/* Without memory: an error, nothing lost. */
static void test_memory(void **state)
{
    (void)state;
    struct support_allocator allocator;
    struct far f;
    far_init(&f, model.sink.data, model.sink.size);
    for (long n = 0;; n++) {
        wcodec_reader *reader = NULL;
        wcodec_error err = {0};
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_context *context = support_context(1, &allocator.allocator);
        const wcodec_io io = io_of(&f, "far://model");
        allocator.once = true;
        allocator.left = n;
        const wcodec_status status = wcodec_reader_open_io(context, &io, 1, &reader, &err);
        const bool failed = allocator.left < 0;
        allocator.left = SUPPORT_NEVER;
        if (status == WCODEC_OK)
            expect_all(context, reader);
        else
            assert_int_equal(status, WCODEC_ERROR_MEMORY);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
        if (!failed)
            break;
        assert_true(n < 100000);
    }
    far_free(&f);
}

/* Announcements at random, more than memory holds, withdrawn or not, beside reads at random. */
struct reads {
    struct wcodec_source source;
    const uint8_t *data;
    uint64_t size, seed;
};

static void *read_randomly(void *argument)
{
    struct reads *r = argument;
    uint8_t *out = malloc(r->size);
    for (unsigned i = 0; i < 300; i++) {
        struct wcodec_source_range ranges[20];
        uint64_t at = support_random(&r->seed) % r->size;
        const size_t count = support_random(&r->seed) % 20;
        for (size_t k = 0; k < count; k++) {
            ranges[k].offset = at;
            ranges[k].size = support_random(&r->seed) % (i % 7 == 0 ? 300000 : 3000);
            if (ranges[k].size > r->size - at)
                ranges[k].size = r->size - at;
            at += i % 3 == 0 ? ranges[k].size / 2 : support_random(&r->seed) % 5000;
            at = at < r->size ? at : r->size;
        }
        wcodec_source_announce(&r->source, &out, ranges, count);
        for (size_t k = 0; k < count; k += 1 + support_random(&r->seed) % 3) {
            if (wcodec_source_read(&r->source, ranges[k].offset, out, ranges[k].size, NULL) !=
                    WCODEC_OK ||
                memcmp(out, r->data + ranges[k].offset, ranges[k].size) != 0) {
                free(out);
                return r;
            }
        }
        if (i % 2 == 0)
            wcodec_source_withdraw(&r->source, &out);
    }
    free(out);
    return NULL;
}

static void test_random(void **state)
{
    (void)state;
    enum { THREADS = 4, SIZE = 3000000 };
    uint64_t seed = 4;
    uint8_t *data = random_bytes(&seed, SIZE);
    struct far f;
    struct wcodec_remote *remote;
    struct reads reads[THREADS];
    pthread_t threads[THREADS];
    far_init(&f, data, SIZE);
    wcodec_io io = io_of(&f, NULL);
    io.request_bytes = 64 << 10;
    io.cache_bytes = 256 << 10;
    io.requests = 3;
    assert_int_equal(wcodec_remote_create(&wcodec_default_allocator, &io, &remote, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        reads[i] = (struct reads){.data = data, .size = SIZE, .seed = 100 + i};
        wcodec_remote_source(remote, &reads[i].source);
        assert_int_equal(pthread_create(&threads[i], NULL, read_randomly, &reads[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    for (unsigned i = 0; i < atomic_load(&f.requests) && i < KEPT; i++)
        assert_true(f.asked[i].size <= 64 << 10);
    wcodec_remote_destroy(remote);
    assert_int_equal(atomic_load(&f.closed), 0);
    far_free(&f);
    free(data);
}

/* Of a load that was given up nothing more is asked for. */
static void *ask_to_stop(void *argument)
{
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    wcodec_loading_cancel(argument);
    return NULL;
}

static void test_cancelled(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct far f;
    wcodec_load_options options;
    wcodec_loading *loading;
    wcodec_error err = {0};
    uint64_t size;
    pthread_t thread;
    far_init(&f, model.sink.data, model.sink.size);
    f.delay_ns = 20000000;
    wcodec_io io = io_of(&f, "far://model");
    wcodec_reader *reader;
    io.request_bytes = 64 << 10;
    io.requests = 2;
    assert_int_equal(wcodec_reader_open_io(context, &io, 1, &reader, NULL), WCODEC_OK);
    const uint64_t count = wcodec_reader_tensor_count(reader);
    wcodec_load_item *items = calloc(count, sizeof *items);
    assert_int_equal(wcodec_load_layout(reader, 64, items, &size, NULL), WCODEC_OK);
    uint8_t *host = malloc(size);
    for (uint64_t i = 0; i < count; i++)
        items[i].destination = (uint64_t)(uintptr_t)host;
    wcodec_load_options_init(&options);
    assert_int_equal(wcodec_load_start(reader, items, count, &options, &loading, &err), WCODEC_OK);
    assert_int_equal(pthread_create(&thread, NULL, ask_to_stop, loading), 0);
    assert_int_equal(wcodec_loading_wait(loading, NULL, &err), WCODEC_ERROR_CANCELLED);
    pthread_join(thread, NULL);
    wcodec_loading_destroy(loading);
    while (atomic_load(&f.under_way) != 0)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    const unsigned asked = atomic_load(&f.requests);
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    assert_int_equal(atomic_load(&f.requests), asked);
    free(host);
    free(items);
    wcodec_reader_close(reader);
    far_free(&f);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),      cmocka_unit_test(test_large_index),
        cmocka_unit_test(test_whole),     cmocka_unit_test(test_rows),
        cmocka_unit_test(test_short),     cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_failures),  cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_several),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_random),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, make_model, free_model);
}
