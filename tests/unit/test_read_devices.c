/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Single tensors by a device: all kinds that have tiles go through its backend, from memory and
 * from files, in any rows; what it is given comes back as the CPU would have it; and its buffers
 * are taken once, however many steps a tensor takes, as the queues of loads are, however many. */
#include "registry/keep.h"
#include "support_load.h"
#include <stdlib.h>
#include <string.h>

/* The context's log. */
struct lines {
    unsigned device, cpu, infos, warnings;
    unsigned long blocks, queues, batches; /* of the fake device, at its end */
};

static void take_line(void *opaque, wcodec_log_level level, const char *text)
{
    struct lines *l = opaque;
    l->device += strstr(text, "fake:0 decoded ") != NULL;
    l->cpu += strstr(text, "cpu:0 decoded ") != NULL;
    l->infos += level == WCODEC_LOG_INFO;
    l->warnings += level == WCODEC_LOG_WARNING;
    sscanf(text, "fake: %lu blocks, %lu queues, %lu batches", &l->blocks, &l->queues, &l->batches);
}

static wcodec_context *make_context(const char *backend, uint64_t max_memory, struct lines *lines)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = 2;
    options.limits.max_memory = max_memory;
    options.log = take_line;
    options.log_opaque = lines;
    options.log_level = WCODEC_LOG_DEBUG;
    *lines = (struct lines){0};
    if (wcodec_context_create(&options, &context, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return context;
}

static size_t size_of(unsigned i)
{
    const struct support_smooth *t = &support_smooth[i];
    return (size_t)(t->rows * t->columns) * wcodec_dtype_bits(t->dtype) / 8;
}

static unsigned coding_of(const wcodec_reader *reader, unsigned i)
{
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
    return info.coding;
}

/* All tensors, whole and in random rows, by two readers alike. */
static void compare(const wcodec_reader *reader, const wcodec_reader *expected, uint64_t *seed)
{
    wcodec_error err = {0};
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++) {
        const size_t size = size_of(i), row = size / support_smooth[i].rows;
        uint8_t *a = malloc(size + 1), *b = malloc(size);
        assert_int_equal(wcodec_reader_decode(expected, i, b, size, NULL, NULL), WCODEC_OK);
        if (wcodec_reader_decode(reader, i, a + 1, size, NULL, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(a + 1, b, size);
        for (unsigned k = 0; k < 6; k++) {
            const uint64_t first = support_random(seed) % support_smooth[i].rows,
                           count = 1 + support_random(seed) % (support_smooth[i].rows - first);
            memset(a, 0xa5, size);
            if (wcodec_reader_decode_rows(reader, i, first, count, a, size, NULL, &err) !=
                WCODEC_OK)
                fail_msg("%s", err.text);
            assert_memory_equal(a, b + first * row, count * row);
        }
        free(b);
        free(a);
    }
}

static void check_model(const wcodec_encode_options *options, uint64_t max_memory,
                        wcodec_coding coding)
{
    uint64_t seed = support_seed();
    struct support_sink coded;
    struct lines lines, reference;
    wcodec_reader *reader, *expected;
    wcodec_error err = {0};
    FILE *file = tmpfile();
    unsigned count = 0;
    support_sink_init(&coded);
    support_smooth_write(options, &coded);
    assert_int_equal(fwrite(coded.data, 1, coded.size, file), coded.size);
    assert_int_equal(fflush(file), 0);
    setenv("WCODEC_FAKE", "", 1);
    wcodec_context *cpu = make_context("cpu", 0, &reference),
                   *context = make_context("fake", max_memory, &lines);
    assert_int_equal(wcodec_reader_open_memory(cpu, coded.data, coded.size, &expected, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++)
        count += coding_of(expected, i) == coding;
    assert_true(count >= 3);
    assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                     WCODEC_OK);
    compare(reader, expected, &seed);
    wcodec_reader_close(reader);
    assert_int_equal(wcodec_reader_open_fd(context, fileno(file), &reader, &err), WCODEC_OK);
    compare(reader, expected, &seed);
    assert_true(lines.device >= 2 * 7 * count);
    assert_int_equal(lines.cpu, 0);
    assert_int_equal(lines.warnings, 0);
    assert_int_equal(lines.infos, 0);
    wcodec_reader_close(reader);
    wcodec_reader_close(expected);
    wcodec_context_destroy(context);
    wcodec_context_destroy(cpu);
    fclose(file);
    support_sink_free(&coded);
}

static void test_kinds(void **state)
{
    wcodec_encode_options options;
    (void)state;
    wcodec_encode_options_init(&options);
    options.predict = WCODEC_PREDICT_PAETH;
    check_model(&options, 0, WCODEC_CODING_BLOCKS);
    check_model(&options, 8 << 20, WCODEC_CODING_BLOCKS);
    wcodec_encode_options_init(&options);
    options.lossy = WCODEC_LOSSY_SNR;
    options.lossy_value = 30;
    check_model(&options, 0, WCODEC_CODING_LOSSY);
    check_model(&options, 8 << 20, WCODEC_CODING_LOSSY);
}

/* One tensor in as few steps as there is memory for. */
static struct lines decode_one(const struct support_sink *coded, const char *name,
                               wcodec_coding coding, uint64_t max_memory)
{
    struct lines lines;
    wcodec_reader *reader;
    wcodec_tensor_info info;
    wcodec_error err = {0};
    uint64_t i;
    wcodec_context *context = make_context("fake", max_memory, &lines);
    assert_int_equal(wcodec_reader_open_memory(context, coded->data, coded->size, &reader, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_find(reader, name, &i, &err), WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, i, &info, &err), WCODEC_OK);
    assert_int_equal(info.coding, coding);
    uint8_t *out = malloc(info.size);
    if (wcodec_reader_decode(reader, i, out, info.size, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lines.device, 1);
    assert_int_equal(lines.cpu, 0);
    free(out);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return lines;
}

/* What a decode takes of the device does not grow with its steps. */
static void check_steps(const struct support_sink *coded, const char *name, wcodec_coding coding)
{
    const struct lines one = decode_one(coded, name, coding, 0),
                       many = decode_one(coded, name, coding, 2 << 20);
    assert_int_equal(one.batches, 1);
    assert_true(many.batches >= 3);
    assert_true(one.queues == 1 && many.queues == 1);
    assert_true(one.blocks <= 4 && many.blocks <= 4);
}

static void test_steps(void **state)
{
    wcodec_encode_options options;
    struct support_loaded loaded;
    struct support_sink coded;
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    support_loaded_make(&loaded, support_seed());
    check_steps(&loaded.sink, "large", WCODEC_CODING_TILES);
    support_loaded_free(&loaded);
    wcodec_encode_options_init(&options);
    options.predict = WCODEC_PREDICT_PAETH;
    support_sink_init(&coded);
    support_smooth_write(&options, &coded);
    check_steps(&coded, "t4", WCODEC_CODING_BLOCKS);
    support_sink_free(&coded);
    wcodec_encode_options_init(&options);
    options.lossy = WCODEC_LOSSY_SNR;
    options.lossy_value = 30;
    support_sink_init(&coded);
    support_smooth_write(&options, &coded);
    check_steps(&coded, "t4", WCODEC_CODING_LOSSY);
    support_sink_free(&coded);
}

/* Queues that the fake device makes for so many loads of a tensor. */
static unsigned long queues_of(const struct support_loaded *loaded, unsigned loads)
{
    struct lines lines;
    wcodec_reader *reader;
    wcodec_error err = {0};
    wcodec_context *context = make_context("fake", 0, &lines);
    assert_int_equal(
        wcodec_reader_open_memory(context, loaded->sink.data, loaded->sink.size, &reader, &err),
        WCODEC_OK);
    wcodec_load_item item = {.size = 0};
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_find(reader, "large", &item.tensor, &err), WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, item.tensor, &info, &err), WCODEC_OK);
    uint8_t *out = malloc(info.size), *expected = malloc(info.size);
    item.destination = (uintptr_t)out;
    item.size = info.size;
    assert_int_equal(wcodec_reader_decode(reader, item.tensor, expected, info.size, NULL, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < loads; i++) {
        memset(out, 0xa5, info.size);
        if (wcodec_load(reader, &item, 1, NULL, NULL, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(out, expected, info.size);
    }
    free(expected);
    free(out);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return lines.queues;
}

static void test_loads(void **state)
{
    struct support_loaded loaded;
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    support_loaded_make(&loaded, support_seed());
    const unsigned long one = queues_of(&loaded, 1);
    assert_true(one > 0);
    assert_int_equal(queues_of(&loaded, 3), one);
    support_loaded_free(&loaded);
}

static bool refused;

/* Bytes of the file in memory, until they are refused. */
static int64_t read_at(void *opaque, uint64_t offset, size_t size, void *dst, wcodec_error *err)
{
    const struct support_sink *sink = opaque;
    (void)err;
    if (refused)
        return -1;
    memcpy(dst, sink->data + offset, size);
    return (int64_t)size;
}

/* A queue that waits for the caller's, and was given nothing, is nobody else's. */
static void test_waiting(void **state)
{
    struct support_loaded loaded;
    struct lines lines;
    wcodec_reader *reader;
    wcodec_load_options options;
    wcodec_tensor_info info;
    wcodec_error err = {0};
    enum { LOADS = 3 };
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    support_loaded_make(&loaded, support_seed());
    const wcodec_io io = {.read_at = read_at, .opaque = &loaded.sink, .size = loaded.sink.size};
    for (int waits = 0; waits < 2; waits++) {
        wcodec_context *context = make_context("fake", 0, &lines);
        wcodec_load_item item = {.size = 0};
        refused = false;
        assert_int_equal(wcodec_reader_open_io(context, &io, 1, &reader, &err), WCODEC_OK);
        assert_int_equal(wcodec_reader_find(reader, "large", &item.tensor, &err), WCODEC_OK);
        assert_int_equal(wcodec_reader_tensor(reader, item.tensor, &info, &err), WCODEC_OK);
        uint8_t *out = malloc(info.size);
        item.destination = (uintptr_t)out;
        item.size = info.size;
        wcodec_load_options_init(&options);
        options.streams = 1;
        options.use_queue = waits;
        options.queue = 1;
        refused = true;
        for (unsigned i = 0; i < LOADS; i++)
            assert_int_equal(wcodec_load(reader, &item, 1, &options, NULL, &err), WCODEC_ERROR_IO);
        free(out);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
        /* That of the stream, and those of the caller, which the fake device makes, too. */
        assert_int_equal(lines.queues, waits ? 2 * LOADS : 1);
    }
    refused = false;
    support_loaded_free(&loaded);
}

static unsigned freed[3];

static void free_number(struct wcodec_memory *memory)
{
    freed[(unsigned *)(void *)memory - freed]++;
}

/* One kind of memory is freed, and the rest is still found. */
static void test_kept(void **state)
{
    static const enum wcodec_memory_kind kinds[] = {WCODEC_MEMORY_DEVICE, WCODEC_MEMORY_PINNED,
                                                    WCODEC_MEMORY_DEVICE};
    const struct wcodec_backend backend = {.memory_free = free_number};
    struct wcodec_keep keep = {.count = 0};
    uint64_t size = 4096;
    (void)state;
    assert_int_equal(pthread_mutex_init(&keep.lock, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_true(
            wcodec_keep_give(&keep, (struct wcodec_memory *)(void *)&freed[i], kinds[i], size));
    wcodec_keep_free(&keep, &backend, WCODEC_MEMORY_DEVICE);
    assert_true(freed[0] == 1 && freed[1] == 0 && freed[2] == 1);
    assert_null(wcodec_keep_take(&keep, WCODEC_MEMORY_DEVICE, &size));
    assert_ptr_equal(wcodec_keep_take(&keep, WCODEC_MEMORY_PINNED, &size), &freed[1]);
    pthread_mutex_destroy(&keep.lock);
}

/* The CPU does what the device cannot, and the log says so. */
static void test_cpu_instead(void **state)
{
    static const char *const modes[] = {"unsupported", "late-memory"};
    (void)state;
    for (unsigned m = 0; m < 2; m++) {
        uint64_t seed = support_seed();
        wcodec_encode_options options;
        struct support_sink coded;
        struct lines lines, reference;
        wcodec_reader *reader, *expected;
        wcodec_error err = {0};
        wcodec_encode_options_init(&options);
        options.predict = WCODEC_PREDICT_PAETH;
        support_sink_init(&coded);
        support_smooth_write(&options, &coded);
        setenv("WCODEC_FAKE", modes[m], 1);
        wcodec_context *context = make_context("fake", 0, &lines),
                       *cpu = make_context("cpu", 0, &reference);
        assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                         WCODEC_OK);
        assert_int_equal(wcodec_reader_open_memory(cpu, coded.data, coded.size, &expected, &err),
                         WCODEC_OK);
        compare(reader, expected, &seed);
        assert_int_equal(lines.device, 0);
        assert_true(lines.infos > 0 && lines.cpu > 0);
        assert_int_equal(lines.warnings, 0);
        wcodec_reader_close(expected);
        wcodec_reader_close(reader);
        wcodec_context_destroy(cpu);
        wcodec_context_destroy(context);
        support_sink_free(&coded);
    }
    setenv("WCODEC_FAKE", "", 1);
}

/* A device that says of wrong bytes that their checks are right is found by the file's hash, and
 * named. */
static void test_wrong(void **state)
{
    wcodec_encode_options options;
    struct support_sink coded;
    struct lines lines;
    wcodec_reader *reader;
    wcodec_error err = {0};
    (void)state;
    wcodec_encode_options_init(&options);
    support_sink_init(&coded);
    support_smooth_write(&options, &coded);
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        setenv("WCODEC_FAKE", wrong == 0 ? "" : "late-wrong", 1);
        wcodec_context *context = make_context("fake", 0, &lines);
        assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                         WCODEC_OK);
        const wcodec_status status = wcodec_reader_test(reader, 0, 0, NULL, &err);
        assert_int_equal(status, wrong == 0 ? WCODEC_OK : WCODEC_ERROR_CORRUPT);
        assert_true(lines.device > 0);
        if (wrong == 1)
            assert_non_null(strstr(err.text, "of which fake:0 decoded tensors"));
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
    support_sink_free(&coded);
    setenv("WCODEC_FAKE", "", 1);
}

int main(void)
{
    if (!support_load_plugin(NULL))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_loads), cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_kept),  cmocka_unit_test(test_cpu_instead),
        cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
