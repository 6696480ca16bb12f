/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_model.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "format/base_fetch.h"
#include "format/safetensors.h"
#include "core/error.h"
#include "core/memory.h"
#include "write/writer.h"

/* Declared in this order; sizes in bytes. */
static const struct tensor {
    const char *name;
    wcodec_dtype dtype;
    uint64_t shape[3];
    unsigned rank;
    size_t size;
} tensors[] = {
    {"w", WCODEC_DTYPE_BF16, {50, 60}, 2, 6000},
    {"a \"quoted\" name \\ \n \x01 \xC3\xA4 \xF0\x9F\x98\x80", WCODEC_DTYPE_F32, {7}, 1, 28},
    {"scalar", WCODEC_DTYPE_F64, {0}, 0, 8},
    {"", WCODEC_DTYPE_I8, {3, 0, 5}, 3, 0},
    {"bytes", WCODEC_DTYPE_U8, {9}, 1, 9},
    {"packed", WCODEC_DTYPE_F4, {6}, 1, 3},
    {"large", WCODEC_DTYPE_F16, {40000}, 1, 80000},
};
enum { TENSORS = sizeof tensors / sizeof *tensors };

static void *data_of(unsigned i)
{
    uint64_t seed = i;
    uint8_t *data = malloc(tensors[i].size + 1);
    assert_non_null(data);
    for (size_t b = 0; b < tensors[i].size; b++)
        data[b] = (uint8_t)(support_random(&seed) & 0x3f);
    return data;
}

static wcodec_status declare_all(wcodec_writer *writer, wcodec_error *err)
{
    wcodec_status status = wcodec_writer_metadata(writer, "format", "pt", err);
    if (status == WCODEC_OK)
        status = wcodec_writer_metadata(writer, "k\"\n", "\xC3\xA4", err);
    for (unsigned i = 0; i < TENSORS && status == WCODEC_OK; i++)
        status = wcodec_writer_declare(writer, tensors[i].name, tensors[i].dtype, tensors[i].shape,
                                       tensors[i].rank, err);
    return status;
}

static wcodec_status write_all(wcodec_context *context, const wcodec_encode_options *options,
                               struct support_sink *sink, wcodec_encode_report *report,
                               wcodec_error *err)
{
    wcodec_writer *writer = NULL;
    wcodec_status status =
        wcodec_writer_create(context, support_sink_write, sink, options, &writer, err);
    if (status == WCODEC_OK)
        status = declare_all(writer, err);
    if (status == WCODEC_OK)
        assert_int_equal(sink->calls, 0); /* nothing before all is declared */
    for (unsigned i = 0; i < TENSORS && status == WCODEC_OK; i++) {
        void *data = data_of(i);
        status = wcodec_writer_data(writer, data, tensors[i].size, err);
        free(data);
    }
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, report, err);
    wcodec_writer_destroy(writer);
    return status;
}

/* The file it restores to is what the safetensors reader takes, with all that was declared. */
static void expect_model(const struct support_sink *file)
{
    struct wcodec_source source;
    struct wcodec_safetensors *s;
    wcodec_error err = {0};
    wcodec_source_memory(file->data, file->size, &source);
    if (wcodec_safetensors_read(&source, &wcodec_default_allocator, &s, &err) != WCODEC_OK)
        fail_msg("no safetensors file: %s", err.text);
    assert_int_equal(s->header_size % 8, 0);
    assert_int_equal(s->count, TENSORS);
    assert_int_equal(s->metadata_count, 2);
    assert_string_equal(s->metadata[2], "k\"\n");
    assert_string_equal(s->metadata[3], "\xC3\xA4");
    for (unsigned i = 0; i < TENSORS; i++) {
        const struct wcodec_safetensor *t = &s->tensors[i];
        void *data = data_of(i);
        assert_string_equal(t->name, tensors[i].name);
        assert_int_equal(t->dtype, tensors[i].dtype);
        assert_int_equal(t->rank, tensors[i].rank);
        for (unsigned d = 0; d < t->rank; d++)
            assert_int_equal(t->shape[d], tensors[i].shape[d]);
        assert_int_equal(t->size, tensors[i].size);
        if (t->size)
            assert_memory_equal(file->data + s->header_size + t->offset, data, t->size);
        free(data);
    }
    wcodec_safetensors_free(s);
}

static void test_writes(void **state)
{
    (void)state;
    struct support_sink first = {0};
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        struct support_sink sink, restored;
        wcodec_encode_report report;
        wcodec_encode_options options;
        wcodec_reader *reader;
        wcodec_file_info info;
        wcodec_error err = {0};
        wcodec_context *context = support_context(threads, NULL);
        support_sink_init(&sink);
        support_sink_init(&restored);
        wcodec_encode_options_init(&options);
        options.name = "x.safetensors";
        if (write_all(context, &options, &sink, &report, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                         WCODEC_OK);
        assert_int_equal(
            wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, NULL), WCODEC_OK);
        assert_int_equal(wcodec_reader_file(reader, 0, &info, NULL), WCODEC_OK);
        assert_string_equal(info.name, "x.safetensors");
        assert_memory_equal(info.xxh128, report.xxh128, 16);
        wcodec_reader_close(reader);
        expect_model(&restored);
        assert_int_equal(report.tensors, TENSORS);
        assert_int_equal(report.size, restored.size);
        assert_int_equal(report.coded_size, sink.size);
        assert_int_equal(report.safetensors, 1);
        support_sink_free(&restored);
        if (first.size == 0) {
            first = sink;
        } else {
            assert_int_equal(sink.size, first.size);
            assert_memory_equal(sink.data, first.data, sink.size);
            support_sink_free(&sink);
        }
        wcodec_context_destroy(context);
    }
    support_sink_free(&first);
}

/* A file written tensor by tensor is the one that compressing the same safetensors file gives. */
static void test_same_as_compress(void **state)
{
    (void)state;
    struct support_sink sink, restored, again;
    wcodec_reader *reader;
    wcodec_context *context = support_context(2, NULL);
    support_sink_init(&sink);
    support_sink_init(&restored);
    support_sink_init(&again);
    assert_int_equal(write_all(context, NULL, &sink, NULL, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, NULL),
                     WCODEC_OK);
    wcodec_reader_close(reader);
    assert_int_equal(wcodec_compress_memory(context, restored.data, restored.size,
                                            support_sink_write, &again, NULL, NULL, NULL),
                     WCODEC_OK);
    assert_int_equal(again.size, sink.size);
    assert_memory_equal(again.data, sink.data, sink.size);
    support_sink_free(&sink);
    support_sink_free(&restored);
    support_sink_free(&again);
    wcodec_context_destroy(context);
}

static void test_no_tensors(void **state)
{
    (void)state;
    struct support_sink sink;
    wcodec_writer *writer;
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    assert_int_equal(wcodec_writer_create(context, support_sink_write, &sink, NULL, &writer, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_writer_data(writer, "", 0, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_OK);
    wcodec_writer_destroy(writer);
    support_expect_restores(context, &sink, "\x08\0\0\0\0\0\0\0{}      ", 16);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
    wcodec_writer_destroy(NULL);
}

static void test_many_declarations(void **state)
{
    (void)state;
    struct support_sink sink, restored;
    wcodec_writer *writer;
    wcodec_reader *reader;
    uint64_t one = 1;
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    support_sink_init(&restored);
    assert_int_equal(wcodec_writer_create(context, support_sink_write, &sink, NULL, &writer, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        assert_int_equal(wcodec_writer_declare(writer, name, WCODEC_DTYPE_U8, &one, 1, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_writer_declare(writer, name, WCODEC_DTYPE_U8, &one, 1, NULL),
                         WCODEC_ERROR_USAGE);
        assert_int_equal(wcodec_writer_metadata(writer, name, name, NULL), WCODEC_OK);
        assert_int_equal(wcodec_writer_metadata(writer, name, "", NULL), WCODEC_ERROR_USAGE);
    }
    for (unsigned i = 0; i < 1000; i++) {
        uint8_t byte = (uint8_t)i;
        assert_int_equal(wcodec_writer_data(writer, &byte, 1, NULL), WCODEC_OK);
    }
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_OK);
    wcodec_writer_destroy(writer);
    assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor_count(reader), 1000);
    assert_int_equal(wcodec_reader_metadata_count(reader, 0), 1000);
    assert_int_equal(wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(restored.data[restored.size - 1000 + i], i & 0xff);
    wcodec_reader_close(reader);
    support_sink_free(&sink);
    support_sink_free(&restored);
    wcodec_context_destroy(context);
}

static void test_usage(void **state)
{
    (void)state;
    struct support_sink sink;
    wcodec_writer *writer;
    wcodec_error err = {0};
    uint64_t shape[300];
    uint8_t byte[16] = {0};
    wcodec_encode_options options;
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    wcodec_encode_options_init(&options);
    options.level = 11;
    assert_int_equal(
        wcodec_writer_create(context, support_sink_write, &sink, &options, &writer, NULL),
        WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_create(context, support_sink_write, &sink, NULL, &writer, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < 300; i++)
        shape[i] = 1;
    assert_int_equal(wcodec_writer_declare(writer, "__metadata__", WCODEC_DTYPE_U8, shape, 1, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_declare(writer, "\xFF", WCODEC_DTYPE_U8, shape, 1, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_declare(writer, NULL, WCODEC_DTYPE_U8, shape, 1, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_declare(writer, "a", WCODEC_DTYPE_OTHER, shape, 1, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_declare(writer, "a", (wcodec_dtype)23, shape, 1, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_declare(writer, "a", WCODEC_DTYPE_U8, shape, 256, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_declare(writer, "a", WCODEC_DTYPE_U8, NULL, 1, NULL),
                     WCODEC_ERROR_USAGE);
    shape[0] = 3;
    assert_int_equal(wcodec_writer_declare(writer, "a", WCODEC_DTYPE_F4, shape, 1, NULL),
                     WCODEC_ERROR_USAGE);
    shape[0] = (uint64_t)1 << 47;
    assert_int_equal(wcodec_writer_declare(writer, "a", WCODEC_DTYPE_F32, shape, 1, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_metadata(writer, "\xFF", "", NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_metadata(writer, "", NULL, NULL), WCODEC_ERROR_USAGE);
    /* None of these left anything behind. */
    shape[0] = 1;
    assert_int_equal(wcodec_writer_declare(writer, "a", WCODEC_DTYPE_U8, shape, 255, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_writer_declare(writer, "b", WCODEC_DTYPE_I32, shape, 1, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_writer_finish(writer, NULL, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "\"a\""));
    assert_int_equal(wcodec_writer_data(writer, byte, 2, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(sink.calls, 0);
    assert_int_equal(wcodec_writer_data(writer, byte, 1, NULL), WCODEC_OK);
    assert_int_equal(wcodec_writer_declare(writer, "c", WCODEC_DTYPE_U8, shape, 1, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_metadata(writer, "k", "v", NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_data(writer, byte, 4, NULL), WCODEC_OK);
    assert_int_equal(wcodec_writer_data(writer, byte, 4, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_OK);
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_data(writer, byte, 4, NULL), WCODEC_ERROR_USAGE);
    wcodec_writer_destroy(writer);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

static void test_write_fails(void **state)
{
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    for (unsigned n = 0;; n++) {
        struct support_sink sink;
        wcodec_error err = {0};
        support_sink_init(&sink);
        sink.fail_at = n;
        wcodec_status status = write_all(context, NULL, &sink, NULL, &err);
        unsigned calls = sink.calls;
        support_sink_free(&sink);
        if (status == WCODEC_OK) {
            assert_true(n > 1 && calls == n); /* payloads, and the index */
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_IO);
        assert_int_equal(calls, n + 1);
        assert_non_null(strstr(err.text, strerror(ENOSPC)));
    }
    wcodec_context_destroy(context);
}

static void test_failed_is_failed(void **state)
{
    (void)state;
    struct support_sink sink;
    wcodec_writer *writer;
    uint64_t one = 1;
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    sink.fail_at = 0;
    assert_int_equal(wcodec_writer_create(context, support_sink_write, &sink, NULL, &writer, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_writer_declare(writer, "a", WCODEC_DTYPE_U8, &one, 1, NULL), WCODEC_OK);
    /* Small tensors are written with others: the failure comes when they are. */
    assert_int_equal(wcodec_writer_data(writer, "x", 1, NULL), WCODEC_OK);
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_ERROR_IO);
    sink.fail_at = UINT_MAX;
    assert_int_equal(wcodec_writer_data(writer, "x", 1, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_ERROR_USAGE);
    wcodec_writer_destroy(writer);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)opaque;
    assert_true(done <= total);
    return 1;
}

static void test_cancel(void **state)
{
    (void)state;
    struct support_sink sink;
    wcodec_encode_options options;
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    wcodec_encode_options_init(&options);
    options.progress.fn = stop;
    assert_int_equal(write_all(context, &options, &sink, NULL, NULL), WCODEC_ERROR_CANCELLED);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

static void test_patterns_are_copied(void **state)
{
    (void)state;
    struct support_sink sink;
    wcodec_writer *writer;
    wcodec_reader *reader;
    wcodec_tensor_info info;
    wcodec_encode_options options;
    char pattern[] = "w";
    const char *list[] = {pattern, NULL};
    void *data = data_of(0);
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    wcodec_encode_options_init(&options);
    options.exclude = list;
    assert_int_equal(
        wcodec_writer_create(context, support_sink_write, &sink, &options, &writer, NULL),
        WCODEC_OK);
    pattern[0] = 'x';
    list[0] = NULL;
    assert_int_equal(wcodec_writer_declare(writer, tensors[0].name, tensors[0].dtype,
                                           tensors[0].shape, tensors[0].rank, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_writer_data(writer, data, tensors[0].size, NULL), WCODEC_OK);
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_OK);
    wcodec_writer_destroy(writer);
    assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    assert_int_equal(info.coding, WCODEC_CODING_CHUNKS);
    wcodec_reader_close(reader);
    free(data);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct support_allocator allocator;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    for (long n = 0;; n++) {
        struct support_sink sink;
        wcodec_error err = {0};
        support_sink_init(&sink);
        allocator.left = n;
        wcodec_status status = write_all(context, NULL, &sink, NULL, &err);
        allocator.left = SUPPORT_NEVER;
        support_sink_free(&sink);
        if (status == WCODEC_OK) {
            assert_true(n > 20);
            break;
        }
        if (status != WCODEC_ERROR_MEMORY)
            fail_msg("allocation %ld: status %d: %s", n, (int)status, err.text);
    }
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
}

/* Bases that have all tensors, with other bytes at their ends, and a hash that is not known yet. */
static bool has(const wcodec_bases *bases, const struct wcodec_entry *what)
{
    (void)bases, (void)what;
    return true;
}

static wcodec_status fetch(const wcodec_bases *bases, const struct wcodec_entry *what, uint8_t *dst,
                           struct wcodec_delta_base *base, wcodec_error *err)
{
    (void)bases, (void)err;
    for (unsigned i = 0; i < TENSORS; i++) {
        if (strcmp(tensors[i].name, what->name) != 0)
            continue;
        uint8_t *data = data_of(i);
        memcpy(dst, data, tensors[i].size);
        dst[tensors[i].size - 1]++;
        free(data);
    }
    *base = (struct wcodec_delta_base){.size = 1000, .bytes = dst};
    return WCODEC_OK;
}

static bool needs(const wcodec_bases *bases, const uint8_t base[16], const uint8_t hash[16])
{
    (void)bases, (void)base, (void)hash;
    return false;
}

struct naming {
    unsigned calls, fails_at;
};

static wcodec_status set_base(void *opaque, struct wcodec_coded *coded, wcodec_error *err)
{
    static const uint8_t hash[16] = {7};
    struct naming *n = opaque;
    assert_int_equal(coded->coding, WCODEC_CODING_DELTA);
    wcodec_delta_set_base(coded->parameters, hash);
    return ++n->calls == n->fails_at ? wcodec_fail(err, WCODEC_ERROR_DEVICE, "not hashed")
                                     : WCODEC_OK;
}

/* A coder that takes no tensor, but has the hash of the base of those that the writer codes. */
static wcodec_status write_deltas(wcodec_context *context, struct naming *n,
                                  struct support_sink *sink, wcodec_error *err)
{
    const struct wcodec_base_fetch bases = {.has = has, .fetch = fetch, .needs = needs};
    const struct wcodec_write_coder coder = {.opaque = n, .set_base = set_base};
    wcodec_encode_options options;
    wcodec_writer *writer = NULL;
    wcodec_encode_options_init(&options);
    options.bases = (const wcodec_bases *)(const void *)&bases;
    wcodec_status status =
        wcodec_writer_create(context, support_sink_write, sink, &options, &writer, err);
    if (status == WCODEC_OK) {
        wcodec_writer_set_coder(writer, &coder);
        status = declare_all(writer, err);
    }
    for (unsigned i = 0; i < TENSORS && status == WCODEC_OK; i++) {
        uint8_t *data = data_of(i);
        status = wcodec_writer_data(writer, data, tensors[i].size, err);
        free(data);
    }
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, NULL, err);
    wcodec_writer_destroy(writer);
    return status;
}

/* Deltas that the writer codes get their base's hash when they are written, as the coder's do. */
static void test_bases_named_late(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    for (unsigned fails_at = 0; fails_at < 3; fails_at++) {
        struct naming n = {.fails_at = fails_at};
        struct support_sink sink;
        wcodec_error err = {0};
        support_sink_init(&sink);
        const wcodec_status status = write_deltas(context, &n, &sink, &err);
        assert_int_equal(status, fails_at == 0 ? WCODEC_OK : WCODEC_ERROR_DEVICE);
        assert_int_equal(n.calls, fails_at == 0 ? 2 : fails_at); /* of "w" and "large" */
        if (fails_at != 0)
            assert_string_equal(err.text, "not hashed");
        support_sink_free(&sink);
    }
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_same_as_compress),
        cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_many_declarations),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_write_fails),
        cmocka_unit_test(test_failed_is_failed),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_patterns_are_copied),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_bases_named_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
