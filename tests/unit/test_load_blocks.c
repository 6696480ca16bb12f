/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Loads of tensors in blocks and of lossy ones to memory of a device that reconstructs them itself:
 * whole, by rows and to odd places, in one piece and in many, damaged, and by a device that does it
 * wrongly. */
#include "support_load.h"

#include <string.h>

enum { TENSORS = 6 };

static const struct tensor {
    wcodec_dtype dtype;
    uint64_t rows, columns;
} tensors[TENSORS] = {
    {WCODEC_DTYPE_I8, 700, 257},  {WCODEC_DTYPE_BF16, 333, 100},  {WCODEC_DTYPE_F16, 90, 700},
    {WCODEC_DTYPE_F32, 129, 512}, {WCODEC_DTYPE_BF16, 2000, 640}, {WCODEC_DTYPE_I8, 16, 100000},
};

/* Smooth in both directions, of moderate size. */
static uint8_t *make_data(uint64_t *seed, const struct tensor *t, size_t *size)
{
    const unsigned bytes = wcodec_dtype_bits(t->dtype) / 8;
    *size = (size_t)(t->rows * t->columns) * bytes;
    uint8_t *data = malloc(*size);
    for (uint64_t i = 0; i < t->rows * t->columns; i++) {
        const unsigned v =
            (unsigned)(i / t->columns + 2 * (i % t->columns) + support_random(seed) % 7) % 250;
        const float f = 0.01f * (float)v;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if (t->dtype == WCODEC_DTYPE_I8)
            data[i] = (uint8_t)v;
        else if (t->dtype == WCODEC_DTYPE_F32)
            memcpy(data + 4 * i, &bits, 4);
        else if (t->dtype == WCODEC_DTYPE_BF16)
            memcpy(data + 2 * i, (uint8_t *)&bits + 2, 2);
        else
            data[2 * i] = (uint8_t)v, data[2 * i + 1] = 0x30;
    }
    return data;
}

static void write_model(const wcodec_encode_options *options, struct support_sink *out)
{
    uint64_t seed = support_seed();
    wcodec_context *context = support_load_context("cpu", 2, NULL, NULL);
    wcodec_writer *writer;
    wcodec_error err = {0};
    char name[8];
    assert_int_equal(wcodec_writer_create(context, support_sink_write, out, options, &writer, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < TENSORS; i++) {
        const uint64_t shape[] = {tensors[i].rows, tensors[i].columns};
        snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(wcodec_writer_declare(writer, name, tensors[i].dtype, shape, 2, &err),
                         WCODEC_OK);
    }
    for (unsigned i = 0; i < TENSORS; i++) {
        size_t size;
        uint8_t *data = make_data(&seed, &tensors[i], &size);
        if (wcodec_writer_data(writer, data, size, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        free(data);
    }
    assert_int_equal(wcodec_writer_finish(writer, NULL, &err), WCODEC_OK);
    wcodec_writer_destroy(writer);
    wcodec_context_destroy(context);
}

/* Tensor by tensor, some rows of each, to places that are aligned to elements only; what the CPU
 * makes of them is there, and nothing beside it. */
static void load_rows(const wcodec_reader *reader, wcodec_context *context, uint64_t *seed,
                      uint64_t host_memory)
{
    wcodec_load_item items[TENSORS] = {{0}};
    uint64_t at = 64, bytes[TENSORS], by_cpu = 0;
    wcodec_tensor_info info;
    wcodec_load_options options;
    wcodec_load_report report;
    wcodec_buffer *buffer;
    wcodec_error err = {0};
    for (unsigned i = 0; i < TENSORS; i++) {
        const unsigned element = wcodec_dtype_bits(tensors[i].dtype) / 8;
        items[i].tensor = i;
        items[i].first_row = support_random(seed) % 2 ? support_random(seed) % tensors[i].rows : 0;
        items[i].rows = support_random(seed) % 2
                            ? 1 + support_random(seed) % (tensors[i].rows - items[i].first_row)
                            : tensors[i].rows - items[i].first_row;
        bytes[i] = items[i].rows * tensors[i].columns * element;
        items[i].offset = at = (at + 15) / 16 * 16 +
                               (support_random(seed) % 2 ? support_random(seed) % 8 * element : 0);
        items[i].size = bytes[i];
        at += bytes[i] + 32;
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        by_cpu += info.coding == WCODEC_CODING_CHUNKS ? bytes[i] : 0;
    }
    assert_int_equal(wcodec_buffer_create(context, at, &buffer, &err), WCODEC_OK);
    for (unsigned i = 0; i < TENSORS; i++)
        items[i].destination = wcodec_buffer_native(buffer);
    wcodec_load_options_init(&options);
    options.memory = "fake";
    options.host_memory = host_memory;
    options.streams = 2;
    if (wcodec_load(reader, items, TENSORS, &options, &report, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(report.cpu_bytes, by_cpu); /* all others by the device */
    uint8_t *got = malloc(at), *expected = malloc(at);
    assert_int_equal(wcodec_buffer_read(buffer, 0, got, at, &err), WCODEC_OK);
    for (unsigned i = 0; i < TENSORS; i++) {
        assert_int_equal(wcodec_reader_decode_rows(reader, i, items[i].first_row, items[i].rows,
                                                   expected, at, NULL, &err),
                         WCODEC_OK);
        assert_memory_equal(got + items[i].offset, expected, bytes[i]);
    }
    free(expected);
    free(got);
    wcodec_buffer_destroy(buffer);
}

static void check_model(const wcodec_encode_options *options, wcodec_coding coding)
{
    uint64_t seed = support_seed() + 1;
    struct support_sink coded;
    wcodec_reader *reader;
    wcodec_error err = {0};
    unsigned count = 0;
    support_sink_init(&coded);
    write_model(options, &coded);
    setenv("WCODEC_FAKE", "", 1);
    wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
    assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < TENSORS; i++) {
        wcodec_tensor_info info;
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        count += info.coding == coding;
    }
    assert_true(count >= 3);
    for (unsigned round = 0; round < 20; round++)
        load_rows(reader, context, &seed, round % 2 ? 1 : 0);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    support_sink_free(&coded);
}

static void test_blocks(void **state)
{
    wcodec_encode_options options;
    (void)state;
    wcodec_encode_options_init(&options);
    options.tile_log2 = 12;
    check_model(&options, WCODEC_CODING_BLOCKS);
    options.predict = WCODEC_PREDICT_PAETH;
    options.tile_log2 = 0;
    check_model(&options, WCODEC_CODING_BLOCKS);
}

static void test_lossy(void **state)
{
    wcodec_encode_options options;
    (void)state;
    wcodec_encode_options_init(&options);
    options.lossy = WCODEC_LOSSY_SNR;
    options.lossy_value = 30;
    options.tile_log2 = 12;
    check_model(&options, WCODEC_CODING_LOSSY);
    options.lossy_scale = WCODEC_LOSSY_SCALE_ROW;
    options.tile_log2 = 0;
    check_model(&options, WCODEC_CODING_LOSSY);
}

/* A bit anywhere in the payloads: all is right all the same, or the load says that the file is
 * corrupt. */
static void damage(const wcodec_encode_options *options)
{
    uint64_t seed = support_seed() + 2;
    struct support_sink coded;
    wcodec_error err = {0};
    unsigned refused = 0;
    support_sink_init(&coded);
    write_model(options, &coded);
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned i = 0; i < 30; i++) {
        wcodec_context *context = support_load_context("fake", 1, NULL, NULL);
        const size_t at = 64 + (size_t)support_random(&seed) % (coded.size * 3 / 4);
        wcodec_load_item items[TENSORS];
        wcodec_load_options load;
        wcodec_buffer *buffer;
        wcodec_reader *reader;
        uint64_t size;
        coded.data[at] ^= 1;
        assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                         WCODEC_OK);
        assert_int_equal(wcodec_load_layout(reader, 0, items, &size, &err), WCODEC_OK);
        assert_int_equal(wcodec_buffer_create(context, size, &buffer, &err), WCODEC_OK);
        for (unsigned k = 0; k < TENSORS; k++)
            items[k].destination = wcodec_buffer_native(buffer);
        wcodec_load_options_init(&load);
        load.memory = "fake";
        load.host_memory = i % 2;
        const wcodec_status status = wcodec_load(reader, items, TENSORS, &load, NULL, &err);
        if (status != WCODEC_OK && status != WCODEC_ERROR_CORRUPT)
            fail_msg("byte %zu: status %d: %s", at, status, err.text);
        refused += status == WCODEC_ERROR_CORRUPT;
        coded.data[at] ^= 1;
        wcodec_buffer_destroy(buffer);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
    assert_true(refused > 20);
    support_sink_free(&coded);
}

static void test_damage(void **state)
{
    wcodec_encode_options options;
    (void)state;
    wcodec_encode_options_init(&options);
    damage(&options);
    options.lossy = WCODEC_LOSSY_SNR;
    options.lossy_value = 30;
    damage(&options);
}

/* A device that finds faults where there are none is not believed: the CPU decodes in its place
 * where it can, and says what happened where it cannot. */
static void test_fault(void **state)
{
    (void)state;
    struct support_sink coded;
    wcodec_encode_options options;
    wcodec_load_options load;
    wcodec_buffer *buffer;
    wcodec_reader *reader;
    wcodec_error err = {0};
    wcodec_encode_options_init(&options);
    support_sink_init(&coded);
    write_model(&options, &coded);
    setenv("WCODEC_FAKE", "late-fault", 1);
    wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
    assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                     WCODEC_OK);
    wcodec_load_item item = {.size = tensors[0].rows * tensors[0].columns};
    assert_int_equal(wcodec_buffer_create(context, item.size, &buffer, &err), WCODEC_OK);
    item.destination = wcodec_buffer_native(buffer);
    wcodec_load_options_init(&load);
    load.memory = "fake";
    assert_int_equal(wcodec_load(reader, &item, 1, &load, NULL, &err), WCODEC_ERROR_DEVICE);
    assert_non_null(strstr(err.text, "decodes wrongly"));
    wcodec_buffer_destroy(buffer);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    support_sink_free(&coded);
}

int main(void)
{
    if (!support_load_plugin(NULL))
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks), cmocka_unit_test(test_lossy),
                                       cmocka_unit_test(test_damage), cmocka_unit_test(test_fault)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
