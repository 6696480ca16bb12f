/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files that are compressed with loss: what the reader says of them and gives back, whatever the
 * threads; what patterns and equal tensors do; without memory, and cancelled. */
#include "support_model.h"

#include "coding/lossy.h"
#include <math.h>
#include <string.h>

enum { TENSORS = 9 };

static const struct {
    const char *name;
    wcodec_dtype dtype;
    uint64_t rows, columns;
    int like; /* number of the tensor with the same bytes, or -1 */
} tensors[TENSORS] = {
    {"smooth", WCODEC_DTYPE_F32, 300, 260, -1},    {"noise", WCODEC_DTYPE_BF16, 200, 300, -1},
    {"twin", WCODEC_DTYPE_BF16, 200, 300, 1},      {"reshaped", WCODEC_DTYPE_BF16, 300, 200, 1},
    {"kept.twin", WCODEC_DTYPE_BF16, 200, 300, 1}, {"typed", WCODEC_DTYPE_F16, 200, 300, 1},
    {"integers", WCODEC_DTYPE_I16, 200, 300, 1},   {"small", WCODEC_DTYPE_F32, 3, 5, -1},
    {"large", WCODEC_DTYPE_BF16, 900, 1000, -1},
};

static size_t size_of(unsigned i)
{
    return (size_t)(tensors[i].rows * tensors[i].columns) *
           (tensors[i].dtype == WCODEC_DTYPE_F32 ? 4 : 2);
}

static double noise(uint64_t *seed)
{
    double sum = 0;
    for (unsigned i = 0; i < 6; i++)
        sum += (double)(support_random(seed) >> 40) * 0x1p-24 - 0.5;
    return sum;
}

static void make_tensors(uint64_t *seed, uint8_t *data[TENSORS])
{
    for (unsigned i = 0; i < TENSORS; i++) {
        double x = 0;
        data[i] = malloc(size_of(i));
        assert_non_null(data[i]);
        for (size_t k = 0; k < size_of(i) && tensors[i].like < 0;
             k += tensors[i].dtype == WCODEC_DTYPE_F32 ? 4 : 2) {
            x = i ? noise(seed) : 0.98 * x + 0.1 * noise(seed);
            const float f = (float)x;
            uint32_t bits;
            memcpy(&bits, &f, sizeof bits);
            if (tensors[i].dtype == WCODEC_DTYPE_F32)
                wcodec_store_u32(data[i] + k, bits);
            else
                wcodec_store_u16(data[i] + k, wcodec_bf16_from_f32(f));
        }
        if (tensors[i].like >= 0)
            memcpy(data[i], data[tensors[i].like], size_of(i));
    }
}

static void free_tensors(uint8_t *data[TENSORS])
{
    for (unsigned i = 0; i < TENSORS; i++)
        free(data[i]);
}

static wcodec_status write_file(wcodec_context *context, uint8_t *const data[TENSORS],
                                const wcodec_encode_options *options, struct support_sink *sink,
                                wcodec_encode_report *report, wcodec_error *err)
{
    wcodec_writer *writer;
    support_sink_init(sink);
    wcodec_status status =
        wcodec_writer_create(context, support_sink_write, sink, options, &writer, err);
    if (status != WCODEC_OK)
        return status;
    for (unsigned i = 0; i < TENSORS && status == WCODEC_OK; i++) {
        const uint64_t shape[] = {tensors[i].rows, tensors[i].columns};
        status = wcodec_writer_declare(writer, tensors[i].name, tensors[i].dtype, shape, 2, err);
    }
    for (unsigned i = 0; i < TENSORS && status == WCODEC_OK; i++)
        status = wcodec_writer_data(writer, data[i], size_of(i), err);
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, report, err);
    wcodec_writer_destroy(writer);
    return status;
}

/* The safetensors file of the tensors: what a file without loss restores to. */
static void make_original(wcodec_context *context, uint8_t *const data[TENSORS],
                          struct support_sink *original)
{
    struct support_sink exact;
    wcodec_reader *reader;
    assert_int_equal(write_file(context, data, NULL, &exact, NULL, NULL), WCODEC_OK);
    support_sink_init(original);
    assert_int_equal(wcodec_reader_open_memory(context, exact.data, exact.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_restore(reader, 0, support_sink_write, original, NULL, NULL),
                     WCODEC_OK);
    wcodec_reader_close(reader);
    support_sink_free(&exact);
}

static wcodec_encode_options options_of(wcodec_lossy_target target, double value)
{
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.lossy = target;
    options.lossy_value = value;
    return options;
}

static double number(wcodec_dtype dtype, const uint8_t *data, size_t i)
{
    const uint32_t bits = dtype == WCODEC_DTYPE_F32 ? wcodec_load_u32(data + 4 * i)
                                                    : (uint32_t)wcodec_load_u16(data + 2 * i) << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* What the reader says is what it gives. */
static void check_tensor(const wcodec_reader *reader, unsigned i, const uint8_t *original,
                         bool lossy)
{
    wcodec_tensor_info info;
    uint64_t n;
    uint8_t *got = malloc(size_of(i));
    assert_int_equal(wcodec_reader_find(reader, tensors[i].name, &n, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, n, &info, NULL), WCODEC_OK);
    assert_int_equal(info.lossy != 0, lossy);
    assert_int_equal(wcodec_reader_decode(reader, n, got, size_of(i), NULL, NULL), WCODEC_OK);
    if (!lossy)
        assert_memory_equal(got, original, size_of(i));
    else if (tensors[i].dtype != WCODEC_DTYPE_F16) {
        double largest = 0, squares = 0;
        const size_t count = (size_t)(tensors[i].rows * tensors[i].columns);
        for (size_t k = 0; k < count; k++) {
            const double e =
                number(tensors[i].dtype, got, k) - number(tensors[i].dtype, original, k);
            largest = fmax(largest, fabs(e));
            squares += e * e;
        }
        assert_true(largest > 0 && largest == info.largest_error);
        assert_true(fabs(squares / (double)count - info.mean_squared_error) <=
                    1e-9 * info.mean_squared_error);
        assert_true(10 * log10(info.mean_square / info.mean_squared_error) >= 30);
    }
    free(got);
}

/* Through a file, so that equal tensors are found. */
static void test_file(void **state)
{
    static const char *const kept[] = {"kept.*", NULL};
    static const bool lossy[TENSORS] = {true, true, true, true, false, true, false, false, true};
    uint64_t seed = support_seed();
    uint8_t *data[TENSORS];
    struct support_sink original, first = {0};
    (void)state;
    make_tensors(&seed, data);
    wcodec_context *context = support_context(2, NULL);
    make_original(context, data, &original);
    wcodec_context_destroy(context);
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        wcodec_encode_options options = options_of(WCODEC_LOSSY_SNR, 30);
        struct support_sink sink;
        wcodec_encode_report report;
        wcodec_reader *reader;
        wcodec_file_info file;
        context = support_context(threads, NULL);
        options.exclude = kept;
        support_sink_init(&sink);
        assert_int_equal(wcodec_compress_memory(context, original.data, original.size,
                                                support_sink_write, &sink, &options, &report, NULL),
                         WCODEC_OK);
        assert_int_equal(report.lossy, 6);
        assert_int_equal(report.aliases,
                         2); /* twin of noise; integers of kept.twin, which is exact too */
        assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_reader_file(reader, 0, &file, NULL), WCODEC_OK);
        assert_int_equal(file.lossy, 6);
        assert_memory_equal(file.xxh128, report.xxh128, 16);
        assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL), WCODEC_OK);
        for (unsigned i = 0; i < TENSORS; i++)
            check_tensor(reader, i, data[i], lossy[i]);
        /* What is restored has the hash that the file says, checked in restoring. */
        struct support_sink restored;
        support_sink_init(&restored);
        assert_int_equal(
            wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, NULL), WCODEC_OK);
        assert_int_equal(restored.size, original.size);
        assert_true(memcmp(restored.data, original.data, original.size) != 0);
        support_sink_free(&restored);
        wcodec_reader_close(reader);
        if (threads == 1) {
            first = sink;
        } else {
            assert_int_equal(sink.size, first.size);
            assert_memory_equal(sink.data, first.data, first.size);
            support_sink_free(&sink);
        }
        wcodec_context_destroy(context);
    }
    support_sink_free(&first);
    support_sink_free(&original);
    free_tensors(data);
}

/* The writer's tensors are no aliases, but else the same. */
static void test_writer(void **state)
{
    uint64_t seed = support_seed();
    uint8_t *data[TENSORS];
    (void)state;
    make_tensors(&seed, data);
    for (unsigned row = 0; row < 2; row++) {
        wcodec_encode_options options = options_of(WCODEC_LOSSY_SNR, 30);
        struct support_sink sink;
        wcodec_encode_report report;
        wcodec_reader *reader;
        wcodec_context *context = support_context(3, NULL);
        options.lossy_scale = row ? WCODEC_LOSSY_SCALE_ROW : WCODEC_LOSSY_SCALE_TENSOR;
        assert_int_equal(write_file(context, data, &options, &sink, &report, NULL), WCODEC_OK);
        assert_int_equal(report.lossy, 7);
        assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                         WCODEC_OK);
        for (unsigned i = 0; i < TENSORS; i++) {
            const bool lossy = i != 6 && i != 7;
            wcodec_tensor_info info;
            check_tensor(reader, i, data[i], lossy);
            assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
            assert_int_equal(info.scales, lossy ? row ? tensors[i].rows : 1 : 0);
        }
        assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL), WCODEC_OK);
        wcodec_reader_close(reader);
        support_sink_free(&sink);
        wcodec_context_destroy(context);
    }
    free_tensors(data);
}

static void test_out_of_memory(void **state)
{
    uint64_t seed = support_seed();
    struct support_allocator allocator;
    (void)state;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    for (unsigned target = WCODEC_LOSSY_SNR; target <= WCODEC_LOSSY_BITS; target++) {
        const wcodec_encode_options options =
            options_of((wcodec_lossy_target)target, target == WCODEC_LOSSY_SNR     ? 25
                                                    : target == WCODEC_LOSSY_ERROR ? 0.01
                                                                                   : 4);
        struct support_model m;
        support_model_init(&m);
        support_model_add(&m, "a", "F32", 32, 3000, SUPPORT_WEIGHTS, &seed);
        support_model_add(&m, "b", "BF16", 16, 3000, SUPPORT_WEIGHTS, &seed);
        support_model_finish(&m, "", 0);
        for (long n = 0;; n++) {
            struct support_sink sink;
            wcodec_error err = {0};
            support_sink_init(&sink);
            allocator.left = n;
            const wcodec_status status = wcodec_compress_memory(
                context, m.file, m.file_size, support_sink_write, &sink, &options, NULL, &err);
            allocator.left = SUPPORT_NEVER;
            support_sink_free(&sink);
            if (status == WCODEC_OK) {
                assert_true(n > 50);
                break;
            }
            if (status != WCODEC_ERROR_MEMORY)
                fail_msg("allocation %ld: status %d: %s", n, (int)status, err.text);
        }
        support_model_free(&m);
    }
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
}

/* The same with blocks, but each allocation only once in a while. */
static void test_out_of_memory_blocks(void **state)
{
    uint64_t seed = support_seed();
    uint8_t *data[TENSORS];
    struct support_allocator allocator;
    struct support_sink sink;
    const wcodec_encode_options options = options_of(WCODEC_LOSSY_SNR, 20);
    (void)state;
    make_tensors(&seed, data);
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    allocator.calls = 0;
    assert_int_equal(write_file(context, data, &options, &sink, NULL, NULL), WCODEC_OK);
    support_sink_free(&sink);
    const long calls = allocator.calls;
    for (long n = 1; n < calls; n += calls / 29) {
        wcodec_error err = {0};
        allocator.left = n;
        assert_int_equal(write_file(context, data, &options, &sink, NULL, &err),
                         WCODEC_ERROR_MEMORY);
        allocator.left = SUPPORT_NEVER;
        support_sink_free(&sink);
    }
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    free_tensors(data);
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    unsigned *left = opaque;
    (void)done;
    (void)total;
    return (*left)-- == 0;
}

static void test_cancel(void **state)
{
    uint64_t seed = support_seed();
    struct support_allocator allocator;
    struct support_model m;
    (void)state;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    support_model_init(&m);
    support_model_add(&m, "a", "BF16", 16, 2 << 20, SUPPORT_WEIGHTS, &seed);
    support_model_finish(&m, "", 0);
    wcodec_context *context = support_context(1, &allocator.allocator);
    unsigned cancelled = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned left = i;
        wcodec_encode_options options = options_of(WCODEC_LOSSY_BITS, 3);
        struct support_sink sink;
        options.progress = (wcodec_progress){.fn = stop, .opaque = &left};
        support_sink_init(&sink);
        const wcodec_status status = wcodec_compress_memory(
            context, m.file, m.file_size, support_sink_write, &sink, &options, NULL, NULL);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_CANCELLED);
        cancelled += status == WCODEC_ERROR_CANCELLED;
        support_sink_free(&sink);
    }
    assert_true(cancelled > 0);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    support_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_file), cmocka_unit_test(test_writer),
                                       cmocka_unit_test(test_out_of_memory),
                                       cmocka_unit_test(test_out_of_memory_blocks),
                                       cmocka_unit_test(test_cancel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
