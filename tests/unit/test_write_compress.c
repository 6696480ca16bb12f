/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_area.h"
#include "support_model.h"
#include "support_tree.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write/batch.h"
#include "core/dtype.h"

static const char *const meta = "\"__metadata__\":{\"format\":\"pt\"}";

static void compress_memory(wcodec_context *context, const void *data, size_t size,
                            const wcodec_encode_options *options, struct support_sink *sink,
                            wcodec_encode_report *report)
{
    wcodec_error err = {0};
    support_sink_init(sink);
    if (wcodec_compress_memory(context, data, size, support_sink_write, sink, options, report,
                               &err) != WCODEC_OK)
        fail_msg("compress: %s", err.text);
}

/* The promise of writer.h's users: 0.1 % and 4 KiB. */
static void expect_small(size_t original, size_t coded)
{
    assert_true(coded <= original + original / 1000 + 4096);
}

static void expect_hash(const void *data, size_t size, const uint8_t hash[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, support_tree_hash(data, size));
    assert_memory_equal(canonical.digest, hash, 16);
}

/* Tensors of every dtype, and one that is not known, of odd sizes and kinds of data; some of them
 * twice. */
static void make_model(struct support_model *m, uint64_t *seed, unsigned rounds)
{
    static const uint64_t sizes[] = {0, 2, 4, 8, 6, 10, 100, 1000, 4094, 4096, 4098, 20000};
    support_model_init(m);
    for (unsigned r = 0; r < rounds; r++)
        for (int d = 0; d <= WCODEC_DTYPE_F6_E3M2; d++) {
            char name[40];
            unsigned bits = wcodec_dtype_bits((wcodec_dtype)d);
            uint64_t n = sizes[support_random(seed) % (sizeof sizes / sizeof *sizes)];
            n += bits >= 8 ? support_random(seed) % 2
                 : n % 4   ? 2
                           : 0; /* packed types: whole bytes */
            snprintf(name, sizeof name, "layer.%u.%s", r,
                     d ? wcodec_dtype_name((wcodec_dtype)d) : "new");
            support_model_add(m, name, d ? wcodec_dtype_name((wcodec_dtype)d) : "F3_NEW", bits, n,
                              (enum support_pattern)(support_random(seed) % SUPPORT_PATTERNS),
                              seed);
        }
}

/* What most tests begin with: a random model as a file, and a context. */
static wcodec_context *begin(struct support_model *m, unsigned threads, unsigned rounds)
{
    uint64_t seed = support_seed();
    make_model(m, &seed, rounds);
    support_model_finish(m, meta, 0);
    return support_context(threads, NULL);
}

static void end(struct support_model *m, wcodec_context *context)
{
    support_model_free(m);
    wcodec_context_destroy(context);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 5};
    uint64_t seed = support_seed();
    const unsigned step = support_threads_only() ? 5 : 1;
    for (unsigned blanks = 0; blanks < 8; blanks += step) { /* the data starts at any place */
        struct support_model m;
        struct support_sink first = {0};
        make_model(&m, &seed, 3);
        support_model_finish(&m, blanks % 2 ? meta : "", blanks);
        for (unsigned t = 0; t < 3; t++) {
            struct support_sink sink;
            wcodec_encode_report report;
            wcodec_context *context = support_context(threads[t], NULL);
            compress_memory(context, m.file, m.file_size, NULL, &sink, &report);
            support_expect_restores(context, &sink, m.file, m.file_size);
            expect_small(m.file_size, sink.size);
            expect_hash(m.file, m.file_size, report.xxh128);
            assert_int_equal(report.size, m.file_size);
            assert_int_equal(report.coded_size, sink.size);
            assert_int_equal(report.tensors, m.tensors);
            assert_int_equal(report.safetensors, 1);
            assert_int_equal(report.note[0], 0);
            if (t == 0) {
                first = sink;
            } else {
                assert_int_equal(sink.size, first.size);
                assert_memory_equal(sink.data, first.data, sink.size);
                support_sink_free(&sink);
            }
            wcodec_context_destroy(context);
        }
        support_sink_free(&first);
        support_model_free(&m);
    }
}

static void test_what_the_reader_lists(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model m;
    struct support_sink sink;
    support_model_init(&m);
    support_model_add(&m, "a", "BF16", 16, 5000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&m, "b", "NEW", 0, 77, SUPPORT_RANDOM, &seed);
    support_model_finish(&m, meta, 3);
    wcodec_context *context = support_context(2, NULL);
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.name = "model.safetensors";
    options.mode = 0640;
    options.mtime = 1700000000;
    compress_memory(context, m.file, m.file_size, &options, &sink, NULL);
    wcodec_reader *reader;
    wcodec_file_info file;
    wcodec_tensor_info info;
    const char *key, *value;
    uint8_t bytes[10000];
    assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_file(reader, 0, &file, NULL), WCODEC_OK);
    assert_string_equal(file.name, "model.safetensors");
    assert_int_equal(file.safetensors, 1);
    assert_int_equal(file.mode, 0640);
    assert_true(file.mtime == 1700000000);
    assert_int_equal(file.entries, 3);
    expect_hash(m.file, m.file_size, file.xxh128);
    assert_int_equal(wcodec_reader_metadata_count(reader, 0), 1);
    assert_int_equal(wcodec_reader_metadata(reader, 0, 0, &key, &value, NULL), WCODEC_OK);
    assert_string_equal(key, "format");
    assert_string_equal(value, "pt");
    assert_int_equal(wcodec_reader_tensor_count(reader), 2);
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    assert_string_equal(info.name, "a");
    assert_int_equal(info.dtype, WCODEC_DTYPE_BF16);
    assert_int_equal(info.rank, 1);
    assert_int_equal(info.shape[0], 5000);
    assert_int_equal(info.size, 10000);
    assert_int_equal(info.coding, WCODEC_CODING_TILES);
    assert_int_equal(info.file_offset, m.file_size - m.data_size);
    assert_int_equal(wcodec_reader_decode(reader, 0, bytes, sizeof bytes, NULL, NULL), WCODEC_OK);
    assert_memory_equal(bytes, m.data, 10000);
    assert_int_equal(wcodec_reader_tensor(reader, 1, &info, NULL), WCODEC_OK);
    assert_int_equal(info.dtype, WCODEC_DTYPE_OTHER);
    assert_string_equal(info.dtype_name, "NEW");
    assert_int_equal(info.size, 77);
    wcodec_reader_close(reader);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
    support_model_free(&m);
}

static void test_misaligned_memory(void **state)
{
    (void)state;
    struct support_model m;
    wcodec_context *context = begin(&m, 1, 1);
    uint8_t *buffer = malloc(m.file_size + 8);
    assert_non_null(buffer);
    for (unsigned shift = 0; shift < 8; shift++) {
        struct support_sink sink;
        memcpy(buffer + shift, m.file, m.file_size);
        compress_memory(context, buffer + shift, m.file_size, NULL, &sink, NULL);
        support_expect_restores(context, &sink, m.file, m.file_size);
        support_sink_free(&sink);
    }
    free(buffer);
    end(&m, context);
}

static void test_opaque(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 8, 9, 100, 70000, 1 << 24, (1 << 24) + 1, 40000000};
    wcodec_context *context = support_context(2, NULL);
    uint64_t seed = support_seed();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned random = 0; random < (sizes[i] > 1 << 24 ? 1 : 2); random++) {
            uint8_t *data = calloc(1, sizes[i] + 8);
            struct support_sink sink;
            wcodec_encode_report report;
            wcodec_reader *reader;
            wcodec_tensor_info info;
            assert_non_null(data);
            for (size_t b = 0; random && b < sizes[i]; b += 8)
                wcodec_store_u64(data + b, support_random(&seed));
            compress_memory(context, data, sizes[i], NULL, &sink, &report);
            expect_small(sizes[i], sink.size);
            assert_int_equal(report.safetensors, 0);
            assert_int_equal(report.tensors, 0);
            assert_true(report.note[0] != 0);
            support_expect_restores(context, &sink, data, sizes[i]);
            assert_int_equal(
                wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL), WCODEC_OK);
            for (uint64_t e = 0; e < wcodec_reader_entry_count(reader); e++) {
                assert_int_equal(wcodec_reader_entry(reader, e, &info, NULL), WCODEC_OK);
                assert_true(info.size <= 1 << 24);
            }
            wcodec_reader_close(reader);
            support_sink_free(&sink);
            free(data);
        }
    wcodec_context_destroy(context);
}

static void test_raw_and_strict(void **state)
{
    (void)state;
    struct support_model m;
    wcodec_context *context = begin(&m, 1, 1);
    struct support_sink sink;
    wcodec_encode_report report;
    wcodec_encode_options options;
    wcodec_error err = {0};
    wcodec_encode_options_init(&options);
    options.strict = 1;
    compress_memory(context, m.file, m.file_size, &options, &sink, &report);
    assert_int_equal(report.safetensors, 1);
    support_sink_free(&sink);
    assert_int_equal(wcodec_compress_memory(context, m.file, m.file_size - 1, support_sink_write,
                                            &sink, &options, &report, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "no file of tensors"));
    assert_int_equal(sink.calls, 0);
    options.raw = 1;
    options.strict = 0;
    compress_memory(context, m.file, m.file_size, &options, &sink, &report);
    assert_int_equal(report.safetensors, 0);
    assert_int_equal(report.note[0], 0);
    support_expect_restores(context, &sink, m.file, m.file_size);
    support_sink_free(&sink);
    end(&m, context);
}

/* A note longer than its room is cut between characters. */
static void test_long_note(void **state)
{
    (void)state;
    struct support_model m;
    struct support_sink sink;
    wcodec_encode_report report;
    char name[300];
    for (unsigned i = 0; i < 198; i += 2)
        memcpy(name + i, "\xC3\xA4", 2);
    for (unsigned shift = 0; shift < 2; shift++) {
        name[198] = shift ? 'x' : 0;
        name[199] = 0;
        uint8_t byte = 0;
        wcodec_context *context = support_context(1, NULL);
        support_model_init(&m);
        support_model_add_data(&m, name, "F32", 17, &byte, 1);
        support_model_finish(&m, "", 0);
        compress_memory(context, m.file, m.file_size, NULL, &sink, &report);
        assert_int_equal(report.safetensors, 0);
        assert_true(strlen(report.note) < sizeof report.note);
        assert_true((unsigned char)report.note[strlen(report.note) - 1] < 0x80 ||
                    (unsigned char)report.note[strlen(report.note) - 1] == 0xA4);
        support_sink_free(&sink);
        support_model_free(&m);
        wcodec_context_destroy(context);
    }
}

/* Many tensors so small that what the container says of each counts. */
static void test_tiny_tensors(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    uint64_t seed = support_seed();
    static const unsigned sizes[] = {1, 3, 5, 9, 17, 33, 65};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct support_model m;
        struct support_sink sink;
        support_model_init(&m);
        for (unsigned i = 0; i < 4500; i++) { /* more than one batch */
            char name[16];
            snprintf(name, sizeof name, "%x", i);
            support_model_add(&m, name, "U8", 8, sizes[s], SUPPORT_RANDOM, &seed);
        }
        support_model_finish(&m, "", 0);
        compress_memory(context, m.file, m.file_size, NULL, &sink, NULL);
        expect_small(m.file_size, sink.size);
        support_expect_restores(context, &sink, m.file, m.file_size);
        support_sink_free(&sink);
        support_model_free(&m);
    }
    wcodec_context_destroy(context);
}

static void test_aliases(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model m;
    struct support_sink sink;
    wcodec_encode_report report;
    wcodec_reader *reader;
    wcodec_tensor_info info;
    uint8_t data[3000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)support_random(&seed);
    wcodec_context *context = support_context(2, NULL);
    support_model_init(&m);
    support_model_add_data(&m, "first", "F32", 750, data, sizeof data);
    support_model_add_data(&m, "other type", "U8", 3000, data, sizeof data);
    data[2999] ^= 1;
    support_model_add_data(&m, "not equal", "F32", 750, data, sizeof data);
    for (unsigned i = 0; i < 5000; i++) { /* so that the last ones are in another batch */
        char name[16];
        uint8_t bytes[2] = {(uint8_t)i, (uint8_t)(i >> 8)};
        snprintf(name, sizeof name, "%u", i);
        support_model_add_data(&m, name, "BF16", 1, bytes, 2);
    }
    support_model_add_data(&m, "as the third", "F32", 750, data, sizeof data);
    support_model_add_data(&m, "again", "F32", 750, data, sizeof data);
    support_model_add_data(&m, "shorter", "U8", 2999, data, 2999);
    support_model_finish(&m, "", 0);
    compress_memory(context, m.file, m.file_size, NULL, &sink, &report);
    assert_int_equal(report.aliases, 3);
    support_expect_restores(context, &sink, m.file, m.file_size);
    assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                     WCODEC_OK);
    static const uint64_t equals[][2] = {
        {1, 1}, {5003, 3}, {5004, 3}}; /* tensor, entry (the header is entry 0) */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(wcodec_reader_tensor(reader, equals[i][0], &info, NULL), WCODEC_OK);
        assert_int_equal(info.coding, WCODEC_CODING_ALIAS);
        assert_int_equal(info.alias_of, equals[i][1]);
    }
    wcodec_reader_close(reader);
    support_sink_free(&sink);
    support_model_free(&m);
    wcodec_context_destroy(context);
}

static wcodec_coding coding_of(wcodec_context *context, const struct support_sink *sink,
                               const char *name)
{
    wcodec_reader *reader;
    wcodec_tensor_info info;
    uint64_t i;
    assert_int_equal(wcodec_reader_open_memory(context, sink->data, sink->size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_find(reader, name, &i, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
    wcodec_reader_close(reader);
    return info.coding;
}

static void test_patterns(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model m;
    struct support_sink sink;
    wcodec_encode_options options;
    wcodec_context *context = support_context(1, NULL);
    static const char *const first[] = {"a.*", NULL}, *const second[] = {"*.x", NULL},
                             *const none[] = {NULL};
    support_model_init(&m);
    support_model_add(&m, "a.x", "BF16", 16, 9000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&m, "a.y", "BF16", 16, 9000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&m, "b.x", "BF16", 16, 9000, SUPPORT_WEIGHTS, &seed);
    support_model_finish(&m, "", 0);
    const struct {
        const char *const *include, *const *exclude;
        bool weight[3];
    } cases[] = {
        {NULL, NULL, {true, true, true}},     {first, NULL, {true, true, false}},
        {NULL, second, {false, true, false}}, {first, second, {false, true, false}},
        {none, NULL, {false, false, false}},  {NULL, none, {true, true, true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const names[] = {"a.x", "a.y", "b.x"};
        wcodec_encode_options_init(&options);
        options.include = cases[i].include;
        options.exclude = cases[i].exclude;
        compress_memory(context, m.file, m.file_size, &options, &sink, NULL);
        support_expect_restores(context, &sink, m.file, m.file_size);
        for (unsigned n = 0; n < 3; n++)
            assert_int_equal(coding_of(context, &sink, names[n]),
                             cases[i].weight[n] ? WCODEC_CODING_TILES : WCODEC_CODING_CHUNKS);
        support_sink_free(&sink);
    }
    support_model_free(&m);
    wcodec_context_destroy(context);
}

static void test_levels(void **state)
{
    (void)state;
    struct support_model m;
    wcodec_context *context = begin(&m, 2, 2);
    for (int level = 1; level <= 9; level++)
        for (unsigned tile = 0; tile <= 16; tile += tile ? 4 : 12) {
            struct support_sink sink;
            wcodec_encode_options options;
            wcodec_encode_options_init(&options);
            options.level = level;
            options.tile_log2 = tile;
            options.tune = level % 2 ? WCODEC_TUNE_LATENCY : WCODEC_TUNE_SIZE;
            options.profile = (wcodec_profile)(level % 4);
            options.no_verify = level == 5;
            compress_memory(context, m.file, m.file_size, &options, &sink, NULL);
            expect_small(m.file_size, sink.size);
            support_expect_restores(context, &sink, m.file, m.file_size);
            support_sink_free(&sink);
        }
    end(&m, context);
}

static void test_write_fails(void **state)
{
    (void)state;
    struct support_model m;
    wcodec_context *context = begin(&m, 2, 8); /* small parts are written together */
    for (unsigned n = 0;; n++) {
        struct support_sink sink;
        wcodec_error err = {0};
        wcodec_encode_report report = {.size = 12345};
        support_sink_init(&sink);
        sink.fail_at = n;
        wcodec_status status = wcodec_compress_memory(
            context, m.file, m.file_size, support_sink_write, &sink, NULL, &report, &err);
        unsigned calls = sink.calls;
        support_sink_free(&sink);
        if (status == WCODEC_OK) {
            assert_int_equal(calls, n);
            assert_true(n > 5);
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_IO);
        assert_int_equal(calls, n + 1); /* nothing is written after a failure */
        assert_int_equal(report.size, 12345);
        assert_non_null(strstr(err.text, strerror(ENOSPC)));
    }
    end(&m, context);
}

/* Batches of small tensors, one of a large one, chunks, and what is written together. */
static void make_mixture(struct support_model *m)
{
    uint64_t seed = support_seed();
    make_model(m, &seed, 4);
    support_model_add(m, "large", "BF16", 16, 7 << 20, SUPPORT_WEIGHTS, &seed);
    for (unsigned i = 0; i < 9; i++) {
        char name[16];
        snprintf(name, sizeof name, "middle.%u", i);
        support_model_add(m, name, i == 4 ? "I64" : "F32", i == 4 ? 64 : 32, 500000 + i,
                          i == 4 ? SUPPORT_RANDOM : SUPPORT_WEIGHTS, &seed);
    }
    support_model_finish(m, meta, 0);
}

/* In any order the same bytes are written, each once; a failure ends the call. */
static void check_any_order(const struct support_model *m, unsigned threads,
                            const struct support_sink *in_order)
{
    wcodec_context *context = support_context(threads, NULL);
    wcodec_encode_options options;
    wcodec_error err = {0};
    wcodec_encode_options_init(&options);
    options.write_at = support_area_put;
    struct support_area area = {.size = in_order->size, .left = 1000000};
    area.data = calloc(1, in_order->size);
    assert_non_null(area.data);
    if (wcodec_compress_memory(context, m->file, m->file_size, NULL, &area, &options, NULL, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(area.written, in_order->size);
    assert_memory_equal(area.data, in_order->data, in_order->size);
    const long calls = 1000000 - area.left;
    assert_true(calls > 20);
    const bool few = support_threads_only();
    for (long n = few ? 3 : 0; n < calls; n += n < 3 ? 1 : calls / (few ? 2 : 5)) {
        area.left = n;
        assert_int_equal(wcodec_compress_memory(context, m->file, m->file_size, NULL, &area,
                                                &options, NULL, &err),
                         WCODEC_ERROR_IO);
        assert_non_null(strstr(err.text, strerror(EDQUOT)));
    }
    free(area.data);
    wcodec_context_destroy(context);
}

static void test_any_order(void **state)
{
    (void)state;
    struct support_model m;
    struct support_sink in_order;
    make_mixture(&m);
    wcodec_context *context = support_context(2, NULL);
    compress_memory(context, m.file, m.file_size, NULL, &in_order, NULL);
    if (!support_threads_only())
        check_any_order(&m, 1, &in_order);
    check_any_order(&m, 5, &in_order);
    support_sink_free(&in_order);
    end(&m, context);
}

static void test_out_of_memory(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    uint64_t seed = support_seed();
    struct support_model m;
    make_model(&m, &seed, 1);
    support_model_finish(&m, meta, 0);
    struct support_allocator allocator;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    for (long n = 0;; n++) {
        struct support_sink sink;
        wcodec_error err = {0};
        support_sink_init(&sink);
        allocator.left = n;
        wcodec_status status = wcodec_compress_memory(context, m.file, m.file_size,
                                                      support_sink_write, &sink, NULL, NULL, &err);
        allocator.left = SUPPORT_NEVER;
        if (status == WCODEC_OK) {
            support_expect_restores(context, &sink, m.file, m.file_size);
            support_sink_free(&sink);
            assert_true(n > 20);
            break;
        }
        support_sink_free(&sink);
        if (status != WCODEC_ERROR_MEMORY)
            fail_msg("allocation %ld: status %d: %s", n, (int)status, err.text);
    }
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    support_model_free(&m);
}

struct canceller {
    unsigned calls, stop_at;
    uint64_t last, total;
};

static int cancel(void *opaque, uint64_t done, uint64_t total)
{
    struct canceller *c = opaque;
    assert_true(done >= c->last && done <= total);
    c->last = done;
    c->total = total;
    return c->calls++ == c->stop_at;
}

static void test_progress(void **state)
{
    (void)state;
    struct support_model m;
    wcodec_context *context = begin(&m, 2, 1);
    struct support_sink sink;
    wcodec_encode_options options;
    struct canceller c = {.stop_at = 1000};
    wcodec_encode_options_init(&options);
    options.progress = (wcodec_progress){.fn = cancel, .opaque = &c};
    compress_memory(context, m.file, m.file_size, &options, &sink, NULL);
    support_sink_free(&sink);
    assert_true(c.calls >= 1);
    assert_int_equal(c.last, m.file_size);
    assert_int_equal(c.total, m.file_size);
    c = (struct canceller){.stop_at = 0};
    assert_int_equal(wcodec_compress_memory(context, m.file, m.file_size, support_sink_write, &sink,
                                            &options, NULL, NULL),
                     WCODEC_ERROR_CANCELLED);
    assert_int_equal(c.calls, 1);
    support_sink_free(&sink);
    end(&m, context);
}

/* The callback is asked in the course of one large entry too, be it a weight tensor or opaque. */
static void test_cancel_within(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model m;
    support_model_init(&m);
    support_model_add(&m, "a", "BF16", 16, 3 << 20, SUPPORT_RANDOM, &seed);
    support_model_finish(&m, "", 0);
    for (unsigned threads = 1; threads <= 3; threads++)
        for (int raw = 0; raw < 2; raw++) {
            struct support_sink sink;
            wcodec_encode_options options;
            struct canceller c = {.stop_at = 0};
            wcodec_context *context = support_context(threads, NULL);
            wcodec_encode_options_init(&options);
            options.progress = (wcodec_progress){.fn = cancel, .opaque = &c};
            options.raw = raw;
            options.level = threads == 1 ? 9 : 7;
            support_sink_init(&sink);
            assert_int_equal(wcodec_compress_memory(context, m.file, m.file_size,
                                                    support_sink_write, &sink, &options, NULL,
                                                    NULL),
                             WCODEC_ERROR_CANCELLED);
            assert_int_equal(c.calls, 1);
            assert_true(c.last < m.file_size ||
                        threads >
                            1); /* a calling thread that has nothing to code asks at the end */
            support_sink_free(&sink);
            wcodec_context_destroy(context);
        }
    support_model_free(&m);
}

static void test_bad_options(void **state)
{
    (void)state;
    struct support_sink sink;
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    for (unsigned i = 0; i < 19; i++) {
        struct {
            wcodec_encode_options options;
            unsigned more;
        } o = {.more = 0};
        wcodec_encode_options_init(&o.options);
        switch (i) {
        case 0:
            o.options.level = 0;
            break;
        case 1:
            o.options.level = 10;
            break;
        case 2:
            o.options.tile_log2 = 11;
            break;
        case 3:
            o.options.tile_log2 = 17;
            break;
        case 4:
            o.options.profile = (wcodec_profile)4;
            break;
        case 5:
            o.options.tune = (wcodec_tune)4;
            break;
        case 6:
            o.options.struct_size = 0;
            break;
        case 7:
            o.options.struct_size = sizeof(size_t);
            break;
        case 8:
            o.options.struct_size = sizeof o;
            o.more = 1;
            break;
        case 9:
            o.options.predict = (wcodec_predict)8;
            break;
        case 10:
            o.options.lossy = (wcodec_lossy_target)4;
            break;
        case 11:
            o.options.lossy_scale = (wcodec_lossy_scaling)2;
            break;
        case 12:
            o.options.lossy = WCODEC_LOSSY_SNR, o.options.lossy_value = -1;
            break;
        case 13:
            o.options.lossy = WCODEC_LOSSY_ERROR;
            break; /* 0 */
        case 14:
            o.options.lossy = WCODEC_LOSSY_ERROR, o.options.lossy_value = 1,
            o.options.lossy_scale = WCODEC_LOSSY_SCALE_ROW;
            break;
        case 15:
            o.options.lossy = WCODEC_LOSSY_BITS, o.options.lossy_value = 33;
            break;
        case 16:
            o.options.lossy = WCODEC_LOSSY_BITS, o.options.lossy_value = (double)NAN;
            break;
        /* an older caller, who has no such member */
        case 17:
            o.options.struct_size = offsetof(wcodec_encode_options, predict),
            o.options.predict = (wcodec_predict)8;
            break;
        default:
            o.options.struct_size = sizeof o;
            break; /* a newer caller who asks for nothing new */
        }
        wcodec_status status = wcodec_compress_memory(context, "x", 1, support_sink_write, &sink,
                                                      &o.options, NULL, NULL);
        assert_int_equal(status, i >= 17 ? WCODEC_OK : WCODEC_ERROR_USAGE);
        assert_int_equal(sink.calls != 0, i >= 17);
    }
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

static void test_memory_limit(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    uint64_t seed = support_seed();
    struct support_model m;
    struct support_sink free_sink, sink;
    wcodec_options options;
    support_model_init(&m);
    for (unsigned i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        support_model_add(&m, name, "BF16", 16, 50000, SUPPORT_WEIGHTS, &seed);
    }
    support_model_finish(&m, "", 0);
    wcodec_context *context = support_context(1, NULL);
    compress_memory(context, m.file, m.file_size, NULL, &free_sink, NULL);
    wcodec_context_destroy(context);
    wcodec_options_init(&options);
    options.limits.max_memory = 6 << 20;
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    compress_memory(context, m.file, m.file_size, NULL, &sink, NULL);
    assert_int_equal(sink.size, free_sink.size); /* smaller batches, the same file */
    assert_memory_equal(sink.data, free_sink.data, sink.size);
    wcodec_context_destroy(context);
    support_sink_free(&sink);
    support_sink_free(&free_sink);
    options.limits.max_memory = 100000;
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    assert_int_equal(wcodec_compress_memory(context, m.file, m.file_size, support_sink_write, &sink,
                                            NULL, NULL, NULL),
                     WCODEC_ERROR_LIMIT);
    assert_int_equal(sink.calls, 0);
    wcodec_context_destroy(context);
    support_model_free(&m);
}

/* A sink that changes the file which is being read. */
struct meddler {
    struct support_sink sink;
    int fd;
    off_t size;
    enum meddling { TRUNCATE, APPEND, TOUCH } how;
    bool done;
};

static int meddle(void *opaque, const void *data, size_t size)
{
    struct meddler *m = opaque;
    static const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {1000, 0}};
    if (!m->done) {
        m->done = true;
        if (m->how == TRUNCATE)
            assert_int_equal(ftruncate(m->fd, m->size / 2), 0);
        else if (m->how == APPEND)
            assert_int_equal(ftruncate(m->fd, m->size + 1), 0);
        else
            assert_int_equal(futimens(m->fd, times), 0);
    }
    return support_sink_write(&m->sink, data, size);
}

static void test_file_changes(void **state)
{
    (void)state;
    struct support_model m;
    uint64_t seed = 4;
    wcodec_context *context = support_context(1, NULL);
    /* The first payload is a group of its own, which is written before the last tensor is read. */
    support_model_init(&m);
    support_model_add(&m, "a", "U8", 8, 100000, SUPPORT_RANDOM, &seed);
    support_model_add(&m, "b", "BF16", 16, 9000, SUPPORT_WEIGHTS, &seed);
    support_model_finish(&m, "", 0);
    for (int how = TRUNCATE; how <= TOUCH; how++) {
        struct meddler meddler = {.size = (off_t)m.file_size};
        wcodec_error err = {0};
        FILE *f = tmpfile();
        assert_non_null(f);
        meddler.fd = fileno(f);
        meddler.how = (enum meddling)how;
        assert_int_equal(write(meddler.fd, m.file, m.file_size), m.file_size);
        support_sink_init(&meddler.sink);
        assert_int_equal(wcodec_compress_fd(context, meddler.fd, support_sink_write, &meddler.sink,
                                            NULL, NULL, NULL),
                         WCODEC_OK);
        support_expect_restores(context, &meddler.sink, m.file, m.file_size);
        support_sink_free(&meddler.sink);
        assert_int_equal(
            wcodec_compress_fd(context, meddler.fd, meddle, &meddler, NULL, NULL, &err),
            WCODEC_ERROR_IO);
        assert_true(err.text[0] != 0);
        support_sink_free(&meddler.sink);
        fclose(f);
    }
    end(&m, context);
}

static void test_no_regular_file(void **state)
{
    (void)state;
    struct support_sink sink;
    int ends[2];
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(
        wcodec_compress_fd(context, ends[0], support_sink_write, &sink, NULL, NULL, NULL),
        WCODEC_ERROR_IO);
    assert_int_equal(wcodec_compress_fd(context, -1, support_sink_write, &sink, NULL, NULL, NULL),
                     WCODEC_ERROR_IO);
    assert_int_equal(sink.calls, 0);
    close(ends[0]);
    close(ends[1]);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_what_the_reader_lists),
        cmocka_unit_test(test_misaligned_memory), cmocka_unit_test(test_opaque),
        cmocka_unit_test(test_raw_and_strict),    cmocka_unit_test(test_long_note),
        cmocka_unit_test(test_tiny_tensors),      cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_patterns),          cmocka_unit_test(test_levels),
        cmocka_unit_test(test_write_fails),       cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_out_of_memory),     cmocka_unit_test(test_progress),
        cmocka_unit_test(test_cancel_within),     cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_memory_limit),      cmocka_unit_test(test_file_changes),
        cmocka_unit_test(test_no_regular_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
