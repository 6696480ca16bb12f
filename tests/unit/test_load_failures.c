/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Loads that fail at every step: a status that names file and tensor, nothing left behind, and a
 * good load right after. */

#include "support_load.h"
#include "support_plugins.h"
#include "read/reader.h"

#include <string.h>
#include <unistd.h>

static struct support_loaded model;

struct attempt {
    wcodec_status status;
    wcodec_error err;
    uint8_t *out;
    uint64_t size;
};

/* The whole model to host or device memory of the context. */
static void attempt(wcodec_context *context, const char *path, const char *memory,
                    const wcodec_progress *progress, struct attempt *a)
{
    wcodec_reader *reader;
    wcodec_load_options options;
    wcodec_buffer *buffer = NULL;
    *a = (struct attempt){0};
    a->status = wcodec_reader_open_path(context, path, &reader, &a->err);
    if (a->status != WCODEC_OK)
        return;
    const size_t count = wcodec_reader_tensor_count(reader);
    wcodec_load_item *items = calloc(count, sizeof *items);
    assert_int_equal(wcodec_load_layout(reader, 0, items, &a->size, NULL), WCODEC_OK);
    a->out = calloc(1, a->size);
    wcodec_load_options_init(&options);
    options.memory = memory;
    options.host_memory = 2 << 20;
    if (progress != NULL)
        options.progress = *progress;
    if (memory != NULL)
        a->status = wcodec_buffer_create(context, a->size, &buffer, &a->err);
    for (size_t i = 0; i < count && a->status == WCODEC_OK; i++)
        items[i].destination =
            memory != NULL ? wcodec_buffer_native(buffer) : (uint64_t)(uintptr_t)a->out;
    if (a->status == WCODEC_OK)
        a->status = wcodec_load(reader, items, count, &options, NULL, &a->err);
    if (a->status == WCODEC_OK && memory != NULL)
        a->status = wcodec_buffer_read(buffer, 0, a->out, a->size, &a->err);
    for (size_t i = 0; i < count && a->status == WCODEC_OK; i++) {
        uint64_t size;
        const uint8_t *original = support_loaded_bytes(&model, reader, i, &size);
        assert_memory_equal(a->out + items[i].offset, original, size);
    }
    wcodec_buffer_destroy(buffer);
    free(items);
    wcodec_reader_close(reader);
}

static wcodec_status try_load(wcodec_context *context, const char *path, const char *memory,
                              const wcodec_progress *progress, wcodec_error *err)
{
    struct attempt a;
    attempt(context, path, memory, progress, &a);
    free(a.out);
    *err = a.err;
    return a.status;
}

static void must_load(wcodec_context *context, const char *memory)
{
    wcodec_error err;
    if (try_load(context, model.path, memory, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

/* A device that fails at call n: whatever n is, host destinations get all bytes where the CPU may
 * help, and else there is an error. */
static void device_fails(const char *kind, unsigned step)
{
    unsigned failed = 0;
    for (unsigned n = 1; n < 2000; n += 1 + n / step) {
        char mode[32];
        wcodec_error err = {0};
        struct support_lines lines = {0};
        struct support_allocator counted;
        support_allocator_init(&counted, 1L << 40);
        snprintf(mode, sizeof mode, "%s-%u", kind, n);
        setenv("WCODEC_FAKE", mode, 1);
        wcodec_context *context = support_load_context("fake,cpu", 2, &counted.allocator, &lines);
        const char *const memory = n % 3 != 0 ? NULL : "fake";
        wcodec_status status = try_load(context, model.path, memory, NULL, &err);
        if (memory == NULL && status != WCODEC_OK)
            fail_msg("%s: %s", mode, err.text);
        if (status != WCODEC_OK) {
            assert_int_equal(status, WCODEC_ERROR_DEVICE);
            failed++;
            assert_int_equal(lines.warnings, 1);
        }
        must_load(context, NULL);
        wcodec_context_destroy(context);
        assert_int_equal(counted.balance, 0);
        if (lines.warnings == 0)
            break;
    }
    assert_true(failed > 0);
}

static void test_lost(void **state)
{
    (void)state;
    device_fails("lost", 5);
}

static void test_silent(void **state)
{
    (void)state;
    device_fails("silent", 4);
}

/* Without the CPU in the choice a lost device is an error that says which tensor was being loaded,
 * for this load and all later ones of the context; another context is fine. */
static void test_lost_alone(void **state)
{
    (void)state;
    static const char *const modes[] = {"lost-60",      "silent-60", "late-decode",
                                        "late-results", "late-wait", "late-event"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        wcodec_error err = {0};
        setenv("WCODEC_FAKE", modes[i], 1);
        wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
        assert_int_equal(try_load(context, model.path, NULL, NULL, &err), WCODEC_ERROR_DEVICE);
        print_message("%s: %s\n", modes[i], err.text);
        assert_non_null(strstr(err.text, "fake:0 failed: "));
        assert_non_null(strstr(err.text, "tensor '"));
        assert_non_null(strstr(err.text, model.path));
        assert_int_equal(try_load(context, model.path, NULL, NULL, &err), WCODEC_ERROR_DEVICE);
        assert_non_null(strstr(err.text, "used no more"));
        wcodec_context_destroy(context);
        setenv("WCODEC_FAKE", "", 1);
        context = support_load_context("fake", 2, NULL, NULL);
        must_load(context, "fake");
        wcodec_context_destroy(context);
    }
}

static void test_wrong_faults(void **state)
{
    (void)state;
    wcodec_error err = {0};
    struct support_lines lines = {0};
    setenv("WCODEC_FAKE", "late-fault", 1);
    wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
    assert_int_equal(try_load(context, model.path, "fake", NULL, &err), WCODEC_ERROR_DEVICE);
    assert_non_null(strstr(err.text, "it found a fault in tile 0 that is none"));
    wcodec_context_destroy(context);
    context = support_load_context("fake,cpu", 2, NULL, &lines);
    must_load(context, NULL);
    assert_int_equal(lines.warnings, 1);
    wcodec_context_destroy(context);
}

/* Out of device memory at the n-th allocation: once the CPU takes a piece, or a stream is done
 * without, else that is the error; the load after it is good. */
static void test_device_memory(void **state)
{
    (void)state;
    unsigned failed = 0, good = 0;
    for (unsigned n = 1; n < 120; n += 1 + n / 6) {
        char mode[32];
        wcodec_error err = {0};
        struct support_allocator counted;
        support_allocator_init(&counted, 1L << 40);
        snprintf(mode, sizeof mode, "memory-%u", n);
        setenv("WCODEC_FAKE", mode, 1);
        wcodec_context *context = support_load_context("fake", 2, &counted.allocator, NULL);
        wcodec_status status =
            try_load(context, model.path, n % 2 != 0 ? "fake" : NULL, NULL, &err);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        failed += status != WCODEC_OK;
        good += status == WCODEC_OK;
        for (unsigned k = 0; k < 6 && status == WCODEC_OK; k++) { /* its turn may come later */
            status = try_load(context, model.path, n % 2 != 0 ? "fake" : NULL, NULL, &err);
            assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        }
        must_load(context, n % 2 != 0 ? NULL : "fake");
        wcodec_context_destroy(context);
        assert_int_equal(counted.balance, 0);
    }
    print_message("%u failed, %u did without\n", failed, good);
    assert_true(failed > 0 && good > 0);
}

/* The same for memory of the host. */
static void test_host_memory(void **state)
{
    (void)state;
    static const char *const backends[] = {"cpu", "fake"};
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned b = 0; b < 2; b++) {
        unsigned failed = 0;
        for (long n = 0; n < 4000; n += 1 + n / 3) {
            wcodec_error err = {0};
            struct support_allocator counted;
            support_allocator_init(&counted, 1L << 40);
            wcodec_context *context =
                support_load_context(backends[b], 1, &counted.allocator, NULL);
            must_load(context, NULL);
            counted.left = n;
            wcodec_status status = try_load(context, model.path, backends[b], NULL, &err);
            failed += status != WCODEC_OK;
            if (status != WCODEC_OK)
                assert_int_equal(status, WCODEC_ERROR_MEMORY);
            counted.left = 1L << 40;
            must_load(context, backends[b]);
            wcodec_context_destroy(context);
            assert_int_equal(counted.balance, 0);
        }
        assert_true(failed > 5);
    }
}

/* One bit in the middle of each of some tensors' payloads: the error is of that tensor. */
static void test_damage(void **state)
{
    (void)state;
    static const char *const backends[] = {"cpu", "fake"};
    uint64_t seed = support_seed();
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned b = 0; b < 2; b++) {
        struct support_lines lines = {0};
        wcodec_context *context = support_load_context(backends[b], 2, NULL, &lines);
        wcodec_reader *reader = support_load_open(context, &model);
        const uint64_t count = wcodec_reader_entry_count(reader);
        for (uint64_t i = 0; i < count; i++) {
            wcodec_tensor_info info;
            wcodec_error err = {0};
            char path[64], expected[512];
            assert_int_equal(wcodec_reader_entry(reader, i, &info, NULL), WCODEC_OK);
            if (info.coded_size == 0 || info.name == NULL || i % 3 != b) /* all takes long */
                continue;
            const uint64_t at = reader->shards[0].index->entries[i].payload_offset;
            snprintf(path, sizeof path, "%s.bad", model.path);
            FILE *file = fopen(path, "wb");
            uint8_t *copy = malloc(model.sink.size);
            memcpy(copy, model.sink.data, model.sink.size);
            copy[at + info.coded_size / 2 + support_random(&seed) % (info.coded_size / 4 + 1)] ^=
                (uint8_t)(1u << i % 8);
            assert_int_equal(fwrite(copy, 1, model.sink.size, file), model.sink.size);
            fclose(file);
            free(copy);
            wcodec_status status =
                try_load(context, path, i % 2 != 0 ? NULL : backends[b], NULL, &err);
            assert_int_equal(unlink(path), 0);
            if (status == WCODEC_OK) /* padding of a tile */
                continue;
            assert_int_equal(status, WCODEC_ERROR_CORRUPT);
            snprintf(expected, sizeof expected, "%s: tensor '%s': ", path, info.name);
            if (strncmp(err.text, expected, strlen(expected)) != 0)
                fail_msg("\"%s\" does not begin with \"%s\"", err.text, expected);
        }
        must_load(context, backends[b]);
        assert_int_equal(lines.warnings, 0);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
}

/* A file that becomes shorter while it is open. */
static void test_cut_file(void **state)
{
    (void)state;
    wcodec_error err = {0};
    char path[64];
    setenv("WCODEC_FAKE", "", 1);
    wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
    snprintf(path, sizeof path, "%s.cut", model.path);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(model.sink.data, 1, model.sink.size, file), model.sink.size);
    fclose(file);
    wcodec_reader *reader;
    assert_int_equal(wcodec_reader_open_path(context, path, &reader, &err), WCODEC_OK);
    assert_int_equal(truncate(path, 1000000), 0);
    const size_t count = wcodec_reader_tensor_count(reader);
    wcodec_load_item *items = calloc(count, sizeof *items);
    uint64_t size;
    assert_int_equal(wcodec_load_layout(reader, 0, items, &size, NULL), WCODEC_OK);
    uint8_t *out = malloc(size);
    for (size_t i = 0; i < count; i++)
        items[i].destination = (uint64_t)(uintptr_t)out;
    assert_int_equal(wcodec_load(reader, items, count, NULL, NULL, &err), WCODEC_ERROR_IO);
    print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "tensor '"));
    free(out);
    free(items);
    wcodec_reader_close(reader);
    unlink(path);
    must_load(context, "fake");
    wcodec_context_destroy(context);
}

static int stop_at_once(void *opaque, uint64_t done, uint64_t total)
{
    (void)done, (void)total;
    ++*(unsigned *)opaque;
    return 1;
}

static void test_cancel(void **state)
{
    (void)state;
    unsigned calls = 0;
    wcodec_error err = {0};
    struct support_allocator counted;
    support_allocator_init(&counted, 1L << 40);
    setenv("WCODEC_FAKE", "", 1);
    wcodec_context *context = support_load_context("fake", 2, &counted.allocator, NULL);
    const wcodec_progress progress = {.fn = stop_at_once, .opaque = &calls};
    assert_int_equal(try_load(context, model.path, "fake", &progress, &err),
                     WCODEC_ERROR_CANCELLED);
    assert_int_equal(calls, 1);
    must_load(context, "fake");
    wcodec_context_destroy(context);
    assert_int_equal(counted.balance, 0);
}

/* A limit that the staging memory does not fit in. */
static void test_limit(void **state)
{
    (void)state;
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err = {0};
    setenv("WCODEC_FAKE", "", 1);
    wcodec_options_init(&options);
    options.backend = "fake";
    options.limits.max_memory = 100000;
    assert_int_equal(wcodec_context_create(&options, &context, &err), WCODEC_OK);
    assert_int_equal(try_load(context, model.path, "fake", NULL, &err), WCODEC_ERROR_LIMIT);
    wcodec_context_destroy(context);
    options.limits = (wcodec_limits){.max_tensor_bytes = 2999999};
    assert_int_equal(wcodec_context_create(&options, &context, &err), WCODEC_OK);
    assert_int_equal(try_load(context, model.path, "fake", NULL, &err), WCODEC_ERROR_LIMIT);
    assert_non_null(strstr(err.text, "tensor 'large'"));
    wcodec_context_destroy(context);
}

static int set_up(void **state)
{
    support_find_plugins(state);
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
        cmocka_unit_test(test_lost),          cmocka_unit_test(test_silent),
        cmocka_unit_test(test_lost_alone),    cmocka_unit_test(test_wrong_faults),
        cmocka_unit_test(test_device_memory), cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_damage),        cmocka_unit_test(test_cut_file),
        cmocka_unit_test(test_cancel),        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
