/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Loads of whole models, of lists and of rows, to device and host memory, by every backend that is
 * there: all bytes, and no others. */

#include "support_load.h"

#include "read/reader.h"
#include <pthread.h>
#include <string.h>

enum { GUARD = 64 };

static struct support_loaded model;

static const struct setting {
    unsigned streams;
    uint64_t host_memory;
    unsigned threads;
} settings[] = {{0, 0, 3}, {1, 1, 1}, {3, 1 << 20, 2}, {7, 4 << 20, 1}};

static void check(const wcodec_reader *reader, const wcodec_load_item *items, size_t count,
                  const uint8_t *got, size_t size, const uint64_t *row_bytes)
{
    uint8_t *seen = calloc(1, size);
    for (size_t i = 0; i < count; i++) {
        uint64_t whole;
        const uint8_t *original = support_loaded_bytes(&model, reader, items[i].tensor, &whole);
        const uint64_t begin = items[i].first_row * row_bytes[i],
                       bytes = items[i].rows != 0 ? items[i].rows * row_bytes[i] : whole - begin;
        assert_memory_equal(got + items[i].offset, original + begin, bytes);
        memset(seen + items[i].offset, 1, bytes);
    }
    for (size_t i = 0; i < size; i++)
        if (!seen[i] && got[i] != 0xa5)
            fail_msg("byte %zu was written and belongs to no tensor", i);
    free(seen);
}

static uint64_t bytes_of_row(const wcodec_reader *reader, uint64_t tensor, uint64_t *rows)
{
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, tensor, &info, NULL), WCODEC_OK);
    *rows = info.rank > 0 ? info.shape[0] : 1;
    return *rows > 0 ? info.size / *rows : 0;
}

/* Rows of random tensors at random places that are aligned to nothing. */
static size_t random_items(const wcodec_reader *reader, uint64_t *seed, wcodec_load_item *items,
                           uint64_t *row_bytes, size_t most, uint64_t *size)
{
    uint64_t at = GUARD, count = wcodec_reader_tensor_count(reader);
    for (size_t i = 0; i < most; i++) {
        uint64_t rows, tensor = support_random(seed) % count;
        row_bytes[i] = bytes_of_row(reader, tensor, &rows);
        items[i] = (wcodec_load_item){.tensor = tensor};
        if (rows > 0 && i % 4 != 0) {
            items[i].first_row = support_random(seed) % rows;
            items[i].rows = 1 + support_random(seed) % (rows - items[i].first_row);
        }
        const uint64_t bytes = (items[i].rows != 0 ? items[i].rows : rows) * row_bytes[i];
        items[i].offset = i % 3 == 0 ? (at + 255) / 256 * 256 : at;
        items[i].size = bytes;
        at = items[i].offset + bytes + support_random(seed) % 20;
    }
    *size = at + GUARD;
    return most;
}

/* One load to a buffer of the device, or to host memory, that was poisoned. */
static void load_and_check(wcodec_context *context, const wcodec_reader *reader, const char *memory,
                           wcodec_load_item *items, size_t count, const uint64_t *row_bytes,
                           uint64_t size, const struct setting *s)
{
    wcodec_load_options options;
    wcodec_load_report report;
    wcodec_buffer *buffer = NULL;
    wcodec_error err = {0};
    uint8_t *host = malloc(size);
    uint64_t sum = 0;
    memset(host, 0xa5, size);
    wcodec_load_options_init(&options);
    options.streams = s->streams;
    options.host_memory = s->host_memory;
    options.memory = memory;
    if (memory != NULL) {
        /* Poisoned by a load too: bytes that host memory has. */
        if (wcodec_buffer_create(context, size, &buffer, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < count; i++) {
        items[i].destination =
            buffer != NULL ? wcodec_buffer_native(buffer) : (uint64_t)(uintptr_t)host;
        uint64_t rows;
        bytes_of_row(reader, items[i].tensor, &rows);
        sum += (items[i].rows != 0 ? items[i].rows : rows - items[i].first_row) * row_bytes[i];
    }
    if (wcodec_load(reader, items, count, &options, &report, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(report.bytes, sum);
    if (buffer != NULL) {
        uint8_t *got = malloc(size);
        assert_int_equal(wcodec_buffer_read(buffer, 0, got, size, &err), WCODEC_OK);
        for (size_t i = 0; i < count; i++) {
            uint64_t whole;
            support_loaded_bytes(&model, reader, items[i].tensor, &whole);
            const uint64_t bytes = items[i].rows != 0 ? items[i].rows * row_bytes[i]
                                                      : whole - items[i].first_row * row_bytes[i];
            memcpy(host + items[i].offset, got + items[i].offset, bytes);
        }
        free(got);
    }
    check(reader, items, count, host, size, row_bytes);
    wcodec_buffer_destroy(buffer);
    free(host);
}

static void whole_model(wcodec_context *context, const wcodec_reader *reader, const char *memory,
                        const struct setting *s)
{
    const size_t count = wcodec_reader_tensor_count(reader);
    wcodec_load_item *items = calloc(count, sizeof *items);
    uint64_t *row_bytes = calloc(count, sizeof *row_bytes), size, rows;
    wcodec_error err;
    assert_int_equal(wcodec_load_layout(reader, 0, NULL, &size, &err), WCODEC_OK);
    assert_int_equal(wcodec_load_layout(reader, 0, items, &size, &err), WCODEC_OK);
    for (size_t i = 0; i < count; i++)
        row_bytes[i] = bytes_of_row(reader, i, &rows);
    load_and_check(context, reader, memory, items, count, row_bytes, size, s);
    free(row_bytes);
    free(items);
}

static void rows_of_it(wcodec_context *context, const wcodec_reader *reader, const char *memory,
                       const struct setting *s, uint64_t *seed)
{
    wcodec_load_item items[50];
    uint64_t row_bytes[50], size;
    const size_t count = random_items(reader, seed, items, row_bytes, 50, &size);
    load_and_check(context, reader, memory, items, count, row_bytes, size, s);
}

static void all_loads(const char *backend, const char *mode)
{
    uint64_t seed = support_seed();
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        setenv("WCODEC_FAKE", mode, 1);
        struct support_lines lines = {0};
        wcodec_context *context = support_load_context(backend, settings[i].threads, NULL, &lines);
        wcodec_reader *reader = support_load_open(context, &model);
        for (unsigned host = 0; host < 2; host++) {
            if (!host && strcmp(mode, "noadopt") == 0)
                continue;
            whole_model(context, reader, host ? NULL : backend, &settings[i]);
            rows_of_it(context, reader, host ? NULL : backend, &settings[i], &seed);
        }
        assert_int_equal(lines.warnings, 0);
        if (mode[0] != '\0' && strcmp(mode, "noadopt") != 0 && strcmp(mode, "late-undone") != 0)
            assert_true(lines.infos > 0);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
}

static void test_cpu(void **state)
{
    (void)state;
    all_loads("cpu", "");
}

static void test_fake(void **state)
{
    (void)state;
    all_loads("fake", "");
    all_loads("fake", "noadopt");
    all_loads("fake", "nopinned");
    all_loads("fake", "unsupported");
    all_loads("fake", "late-undone");
}

/* A plugin of the build tree on whatever driver is there; none is none. */
static void plugin(const char *name)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    if (!support_load_plugin(name))
        skip();
    wcodec_options_init(&options);
    options.backend = name;
    const bool usable = wcodec_context_create(&options, &context, &err) == WCODEC_OK;
    if (usable) {
        wcodec_context_destroy(context);
        all_loads(name, "");
    } else {
        print_message("skipped: %s\n", err.text);
    }
    support_load_plugin(NULL);
    if (!usable)
        skip();
}

static void test_opencl(void **state)
{
    (void)state;
    plugin("opencl");
}

static void test_cuda(void **state)
{
    (void)state;
    plugin("cuda");
}

/* Small tensors whose payloads are packed, beside large ones. */
static void test_packed(void **state)
{
    const struct support_loaded other = model;
    uint64_t packed = 0;
    (void)state;
    support_loaded_make_level(&model, support_seed() + 5, 9);
    wcodec_context *context = support_load_context("cpu", 1, NULL, NULL);
    wcodec_reader *reader = support_load_open(context, &model);
    const struct wcodec_index *index = reader->shards[0].index;
    for (uint64_t i = 0; i < index->entry_count; i++)
        packed += wcodec_entry_is_packed(&index->entries[i]);
    assert_in_range(packed, 20, index->entry_count - 10);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    all_loads("cpu", "");
    all_loads("fake", "");
    all_loads("fake", "unsupported");
    support_loaded_free(&model);
    model = other;
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
    wcodec_reader *reader = support_load_open(context, &model);
    wcodec_buffer *buffer;
    wcodec_load_options options;
    wcodec_device_handles handles;
    wcodec_error err;
    uint8_t byte;
    assert_int_equal(wcodec_context_device(context, &handles, &err), WCODEC_OK);
    assert_string_equal(handles.backend, "fake");
    assert_int_equal(handles.native_context, 0xfa);
    assert_int_equal(wcodec_buffer_create(context, 0, &buffer, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_buffer_create(context, 5000000, &buffer, &err), WCODEC_OK);
    assert_int_equal(wcodec_buffer_read(buffer, 5000000, &byte, 1, &err), WCODEC_ERROR_USAGE);
    wcodec_load_options_init(&options);
    options.memory = "fake";
    const wcodec_load_item good = {.destination = wcodec_buffer_native(buffer), .size = 5000000};
    wcodec_load_item item = good;
    assert_int_equal(wcodec_load(NULL, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_load(reader, NULL, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    item.tensor = 1000;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    item = good, item.size = 2999999;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "tensor 'large'"));
    assert_non_null(strstr(err.text, model.path));
    item = good, item.first_row = 1500000, item.rows = 1;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    item = good, item.first_row = UINT64_MAX;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    item = good, item.destination = 0;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    item = good, item.offset = UINT64_MAX;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    item = good;
    options.memory = "cuda";
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_BACKEND);
    options.memory = "fake";
    options.streams = 1000;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    options.streams = 0;
    options.use_queue = 1;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    options.queue = 7;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_OK);
    assert_int_equal(wcodec_load(reader, NULL, 0, &options, NULL, &err), WCODEC_OK);
    options.struct_size = 3;
    assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    wcodec_buffer_destroy(buffer);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
}

/* A tensor and its alias: read once, decoded once. */
static void test_alias(void **state)
{
    (void)state;
    static const char *const backends[] = {"cpu", "fake"};
    enum { SIZE = 3000000 };
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned b = 0; b < 2; b++) {
        wcodec_context *context = support_load_context(backends[b], 2, NULL, NULL);
        wcodec_reader *reader = support_load_open(context, &model);
        wcodec_load_report once, both;
        wcodec_error err;
        uint8_t *out = malloc(2 * SIZE + 1);
        wcodec_load_item items[2] = {{.destination = (uint64_t)(uintptr_t)out, .size = SIZE},
                                     {.tensor = wcodec_reader_tensor_count(reader) - 1,
                                      .destination = (uint64_t)(uintptr_t)out,
                                      .offset = SIZE + 1,
                                      .size = SIZE}};
        assert_int_equal(wcodec_load(reader, items, 1, NULL, &once, &err), WCODEC_OK);
        memset(out, 0xa5, 2 * SIZE + 1);
        assert_int_equal(wcodec_load(reader, items, 2, NULL, &both, &err), WCODEC_OK);
        assert_int_equal(both.bytes, 2 * SIZE);
        assert_int_equal(both.coded_bytes, once.coded_bytes);
        assert_int_equal(both.batches, once.batches);
        for (unsigned i = 0; i < 2; i++) {
            uint64_t size;
            const uint8_t *original = support_loaded_bytes(&model, reader, items[i].tensor, &size);
            assert_int_equal(size, SIZE);
            assert_memory_equal(out + items[i].offset, original, SIZE);
        }
        /* Other rows of it are not the same. */
        items[1].rows = 1000;
        assert_int_equal(wcodec_load(reader, items, 2, NULL, &both, &err), WCODEC_OK);
        assert_int_equal(both.bytes, SIZE + 2000);
        assert_true(both.coded_bytes > once.coded_bytes);
        free(out);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
}

struct ending {
    _Atomic unsigned calls;
    wcodec_status status;
    uint64_t bytes;
};

static void note_end(void *opaque, wcodec_status status, const wcodec_error *err,
                     const wcodec_load_report *report)
{
    struct ending *e = opaque;
    (void)err;
    e->status = status;
    e->bytes = report->bytes;
    e->calls++;
}

static void test_beside_the_caller(void **state)
{
    (void)state;
    enum { LOADS = 5, SIZE = 3000000 };
    setenv("WCODEC_FAKE", "", 1);
    wcodec_context *context = support_load_context("fake", 3, NULL, NULL);
    wcodec_reader *reader = support_load_open(context, &model);
    struct ending endings[LOADS] = {{0}};
    wcodec_loading *loads[LOADS];
    uint8_t *out[LOADS];
    wcodec_error err;
    for (unsigned i = 0; i < LOADS; i++) {
        wcodec_load_options options;
        wcodec_load_options_init(&options);
        options.host_memory = 1 << 20;
        options.done = note_end;
        options.done_opaque = &endings[i];
        out[i] = malloc(SIZE);
        const wcodec_load_item item = {.destination = (uint64_t)(uintptr_t)out[i], .size = SIZE};
        assert_int_equal(wcodec_load_start(reader, &item, 1, &options, &loads[i], &err), WCODEC_OK);
    }
    wcodec_loading_cancel(loads[LOADS - 1]);
    for (unsigned i = 0; i < LOADS; i++) {
        uint64_t size;
        const uint8_t *original = support_loaded_bytes(&model, reader, 0, &size);
        wcodec_load_report report;
        wcodec_status status = wcodec_loading_wait(loads[i], &report, &err);
        assert_int_equal(status, wcodec_loading_wait(loads[i], NULL, NULL));
        assert_true(wcodec_loading_ended(loads[i]));
        uint64_t done = UINT64_MAX, total = 0;
        wcodec_loading_progress(loads[i], &done, &total);
        assert_int_equal(total, SIZE);
        assert_true(done <= SIZE && (done == SIZE || status != WCODEC_OK));
        assert_int_equal(endings[i].calls, 1);
        assert_int_equal(endings[i].status, status);
        if (i == LOADS - 1 && status != WCODEC_OK) {
            assert_int_equal(status, WCODEC_ERROR_CANCELLED);
        } else {
            assert_int_equal(status, WCODEC_OK);
            assert_int_equal(report.bytes, SIZE);
            assert_int_equal(endings[i].bytes, SIZE);
            assert_memory_equal(out[i], original, SIZE);
        }
        wcodec_loading_destroy(loads[i]);
        free(out[i]);
    }
    wcodec_loading_destroy(NULL);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
}

/* Several threads with loads of their own, and one context. */
static void *load_in_thread(void *argument)
{
    uint64_t seed = support_seed() + (uint64_t)(uintptr_t)argument % 1000;
    wcodec_reader *reader = argument;
    for (unsigned i = 0; i < 3; i++) {
        wcodec_load_item items[20];
        uint64_t row_bytes[20], size;
        const size_t count = random_items(reader, &seed, items, row_bytes, 20, &size);
        uint8_t *host = malloc(size);
        wcodec_load_options options;
        wcodec_error err;
        memset(host, 0xa5, size);
        wcodec_load_options_init(&options);
        options.host_memory = 2 << 20;
        for (size_t k = 0; k < count; k++)
            items[k].destination = (uint64_t)(uintptr_t)host;
        if (wcodec_load(reader, items, count, &options, NULL, &err) != WCODEC_OK)
            return reader;
        check(reader, items, count, host, size, row_bytes);
        free(host);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    static const char *const backends[] = {"cpu", "fake"};
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned b = 0; b < 2; b++) {
        pthread_t threads[4];
        wcodec_context *context = support_load_context(backends[b], 2, NULL, NULL);
        wcodec_reader *reader = support_load_open(context, &model);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, load_in_thread, reader), 0);
        for (unsigned i = 0; i < 4; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            assert_null(failed);
        }
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
}

static void test_measure(void **state)
{
    (void)state;
    static const char *const backends[] = {"cpu", "fake"};
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned b = 0; b < 2; b++) {
        wcodec_context *context = support_load_context(backends[b], 2, NULL, NULL);
        wcodec_reader *reader = support_load_open(context, &model);
        const uint64_t tensors[] = {0, 1, wcodec_reader_tensor_count(reader) - 1};
        wcodec_device_rates rates;
        wcodec_error err;
        if (wcodec_reader_measure(reader, tensors, 3, 3, &rates, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_true(rates.bytes >= 6000000 && rates.coded_bytes > 0 &&
                    rates.coded_bytes < rates.bytes);
        assert_true(rates.decode_nanoseconds > 0 && rates.copy_bandwidth > 0 &&
                    rates.upload_bandwidth > 0);
        const uint64_t wrong = 1000;
        assert_int_equal(wcodec_reader_measure(reader, &wrong, 1, 3, &rates, &err),
                         WCODEC_ERROR_USAGE);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
}

static int set_up(void **state)
{
    (void)state;
    support_load_plugin(NULL);
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl",
           1); /* PoCL asks hwloc, whose OpenCL component asks PoCL */
    support_loaded_make(&model, support_seed());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    support_loaded_free(&model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),     cmocka_unit_test(test_fake),
        cmocka_unit_test(test_packed),  cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_alias),   cmocka_unit_test(test_beside_the_caller),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_measure),
        cmocka_unit_test(test_opencl),  cmocka_unit_test(test_cuda),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
