/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Loads of tensors in blocks, lossy, in fragments and at a fixed rate to memory of a device that
 * reconstructs them itself, and by way of it to host memory: whole, by rows and to odd places, in
 * one piece and in many, damaged, measured, and by a device that does it wrongly. */
#include "support_load.h"
#include "support_records.h"

#include <string.h>

/* Tensor by tensor, some rows of each, to places that are aligned to elements only; what the CPU
 * makes of them is there, and nothing beside it. */
static void load_rows(const wcodec_reader *reader, const wcodec_reader *reference,
                      wcodec_context *context, uint64_t *seed, uint64_t host_memory, bool to_host,
                      wcodec_coding by_the_cpu)
{
    wcodec_load_item items[SUPPORT_SMOOTH] = {{0}};
    uint64_t at = 64, bytes[SUPPORT_SMOOTH], by_cpu = 0;
    wcodec_tensor_info info;
    wcodec_load_options options;
    wcodec_load_report report;
    wcodec_buffer *buffer = NULL;
    wcodec_error err = {0};
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++) {
        const unsigned element = wcodec_dtype_bits(support_smooth[i].dtype) / 8;
        items[i].tensor = i;
        items[i].first_row =
            support_random(seed) % 2 ? support_random(seed) % support_smooth[i].rows : 0;
        items[i].rows =
            support_random(seed) % 2
                ? 1 + support_random(seed) % (support_smooth[i].rows - items[i].first_row)
                : support_smooth[i].rows - items[i].first_row;
        bytes[i] = items[i].rows * support_smooth[i].columns * element;
        items[i].offset = at = (at + 15) / 16 * 16 +
                               (support_random(seed) % 2 ? support_random(seed) % 8 * element : 0);
        items[i].size = bytes[i];
        at += bytes[i] + 32;
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        by_cpu += info.coding == WCODEC_CODING_CHUNKS ||
                          (info.coding == by_the_cpu && by_the_cpu != WCODEC_CODING_TILES)
                      ? bytes[i]
                      : 0;
    }
    uint8_t *got = malloc(at), *expected = malloc(at);
    if (!to_host)
        assert_int_equal(wcodec_buffer_create(context, at, &buffer, &err), WCODEC_OK);
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++)
        items[i].destination = to_host ? (uint64_t)(uintptr_t)got : wcodec_buffer_native(buffer);
    wcodec_load_options_init(&options);
    options.memory = to_host ? NULL : "fake";
    options.host_memory = host_memory;
    options.streams = 2;
    if (wcodec_load(reader, items, SUPPORT_SMOOTH, &options, &report, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(report.cpu_bytes, by_cpu); /* all others by the device */
    if (!to_host)
        assert_int_equal(wcodec_buffer_read(buffer, 0, got, at, &err), WCODEC_OK);
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++) {
        assert_int_equal(wcodec_reader_decode_rows(reference, i, items[i].first_row, items[i].rows,
                                                   expected, at, NULL, &err),
                         WCODEC_OK);
        assert_memory_equal(got + items[i].offset, expected, bytes[i]);
    }
    free(expected);
    free(got);
    wcodec_buffer_destroy(buffer);
}

/* fake: what the device is like. */
static void check_model(const wcodec_encode_options *options, wcodec_coding coding, unsigned least,
                        const char *fake)
{
    const bool by_cpu = strncmp(fake, "no", 2) == 0;
    uint64_t seed = support_seed() + 1;
    struct support_sink coded;
    wcodec_reader *reader, *reference;
    wcodec_error err = {0};
    unsigned count = 0;
    support_sink_init(&coded);
    support_smooth_write(options, &coded);
    setenv("WCODEC_FAKE", fake, 1);
    struct support_lines lines = {0};
    wcodec_context *context = support_load_context("fake", 2, NULL, &lines),
                   *cpu = support_load_context("cpu", 2, NULL, NULL);
    assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_open_memory(cpu, coded.data, coded.size, &reference, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++) {
        wcodec_tensor_info info;
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        count += info.coding == coding;
    }
    assert_true(count >= least);
    for (unsigned round = 0; round < 20; round++)
        load_rows(reader, reference, context, &seed, round % 2 ? 1 : 0, round / 2 % 2 != 0,
                  by_cpu ? coding : WCODEC_CODING_TILES);
    assert_int_equal(lines.warnings, 0);
    assert_true((lines.infos >= 20) == by_cpu);
    wcodec_reader_close(reference);
    wcodec_reader_close(reader);
    wcodec_context_destroy(cpu);
    wcodec_context_destroy(context);
    support_sink_free(&coded);
}

static void test_blocks(void **state)
{
    wcodec_encode_options options;
    (void)state;
    wcodec_encode_options_init(&options);
    options.tile_log2 = 12;
    check_model(&options, WCODEC_CODING_BLOCKS, 3, "");
    options.predict = WCODEC_PREDICT_PAETH;
    options.tile_log2 = 0;
    check_model(&options, WCODEC_CODING_BLOCKS, 3, "");
}

static void test_lossy(void **state)
{
    wcodec_encode_options options;
    (void)state;
    wcodec_encode_options_init(&options);
    options.lossy = WCODEC_LOSSY_SNR;
    options.lossy_value = 30;
    options.tile_log2 = 12;
    check_model(&options, WCODEC_CODING_LOSSY, 3, "");
    options.lossy_scale = WCODEC_LOSSY_SCALE_ROW;
    options.tile_log2 = 0;
    check_model(&options, WCODEC_CODING_LOSSY, 3, "");
}

/* By the device; where it has no code for them the CPU decodes, and the log says so. */
static void test_fixed(void **state)
{
    wcodec_encode_options options;
    (void)state;
    wcodec_encode_options_init(&options);
    options.tune = WCODEC_TUNE_COMPUTE_FIXED;
    check_model(&options, WCODEC_CODING_FIXED, 1, "");
    check_model(&options, WCODEC_CODING_FIXED, 1, "nofixed");
}

static void test_fragments(void **state)
{
    wcodec_encode_options options;
    (void)state;
    wcodec_encode_options_init(&options);
    options.tune = WCODEC_TUNE_COMPUTE;
    check_model(&options, WCODEC_CODING_FRAGMENTS, 1, "");
    check_model(&options, WCODEC_CODING_FRAGMENTS, 1, "nofragments");
}

/* The CPU decodes them, and the log says so. */
static void test_records(void **state)
{
    const struct support_quantised q = {"Q8_0", 8, 34, 32, 500, 30};
    uint64_t seed = support_seed() + 5;
    struct support_lines lines = {0};
    struct support_sink file, coded;
    wcodec_load_options options;
    wcodec_load_report report;
    wcodec_buffer *buffer;
    wcodec_reader *reader;
    wcodec_error err = {0};
    size_t size;
    uint8_t *data = support_quantised_data(&q, &seed, &size), *got = malloc(size);
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    wcodec_context *context = support_load_context("fake", 2, NULL, &lines);
    support_quantised_safetensors(&q, NULL, data, size, &file);
    support_sink_init(&coded);
    assert_int_equal(wcodec_compress_memory(context, file.data, file.size, support_sink_write,
                                            &coded, NULL, NULL, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_buffer_create(context, size, &buffer, &err), WCODEC_OK);
    for (unsigned round = 0; round < 20; round++) {
        const uint64_t first = round == 0 ? 0 : support_random(&seed) % q.rows,
                       rows = round == 0 ? q.rows : 1 + support_random(&seed) % (q.rows - first);
        const size_t bytes = (size_t)(rows * q.blocks * q.block);
        wcodec_load_item item = {.tensor = 0,
                                 .first_row = first,
                                 .rows = rows,
                                 .size = bytes,
                                 .destination = round % 2 ? (uint64_t)(uintptr_t)got
                                                          : wcodec_buffer_native(buffer)};
        wcodec_load_options_init(&options);
        options.memory = round % 2 ? NULL : "fake";
        if (wcodec_load(reader, &item, 1, &options, &report, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_int_equal(report.cpu_bytes, bytes);
        if (round % 2 == 0)
            assert_int_equal(wcodec_buffer_read(buffer, 0, got, bytes, &err), WCODEC_OK);
        assert_memory_equal(got, data + first * q.blocks * q.block, bytes);
    }
    assert_int_equal(lines.warnings, 0);
    assert_true(lines.infos >= 20);
    wcodec_buffer_destroy(buffer);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    support_sink_free(&coded);
    support_sink_free(&file);
    free(got);
    free(data);
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
    support_smooth_write(options, &coded);
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned i = 0; i < 30; i++) {
        wcodec_context *context = support_load_context("fake", 1, NULL, NULL);
        const size_t at = 64 + (size_t)support_random(&seed) % (coded.size * 3 / 4);
        wcodec_load_item items[SUPPORT_SMOOTH];
        wcodec_load_options load;
        wcodec_buffer *buffer;
        wcodec_reader *reader;
        uint64_t size;
        coded.data[at] ^= 1;
        assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                         WCODEC_OK);
        assert_int_equal(wcodec_load_layout(reader, 0, items, &size, &err), WCODEC_OK);
        assert_int_equal(wcodec_buffer_create(context, size, &buffer, &err), WCODEC_OK);
        for (unsigned k = 0; k < SUPPORT_SMOOTH; k++)
            items[k].destination = wcodec_buffer_native(buffer);
        wcodec_load_options_init(&load);
        load.memory = "fake";
        load.host_memory = i % 2;
        const wcodec_status status = wcodec_load(reader, items, SUPPORT_SMOOTH, &load, NULL, &err);
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
    wcodec_encode_options_init(&options);
    options.tune = WCODEC_TUNE_COMPUTE_FIXED;
    damage(&options);
    options.tune = WCODEC_TUNE_COMPUTE;
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
    support_smooth_write(&options, &coded);
    setenv("WCODEC_FAKE", "late-fault", 1);
    wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
    assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err),
                     WCODEC_OK);
    wcodec_load_item item = {.size = support_smooth[0].rows * support_smooth[0].columns};
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

static void measure(const struct support_sink *coded, const char *backend, wcodec_coding coding,
                    unsigned least)
{
    wcodec_reader *reader;
    wcodec_device_rates rates;
    wcodec_tensor_info info;
    wcodec_error err = {0};
    uint64_t tensors[SUPPORT_SMOOTH], bytes = 0, chunks = 0, units = 0;
    wcodec_context *context = support_load_context(backend, 2, NULL, NULL);
    assert_int_equal(wcodec_reader_open_memory(context, coded->data, coded->size, &reader, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++) {
        assert_int_equal(wcodec_reader_tensor(reader, tensors[i] = i, &info, NULL), WCODEC_OK);
        chunks += info.coding == WCODEC_CODING_CHUNKS;
        units += info.coding == coding;
        bytes += info.coding == WCODEC_CODING_CHUNKS ? 0 : info.size;
    }
    assert_true(units >= least);
    if (wcodec_reader_measure(reader, tensors, SUPPORT_SMOOTH, 2, &rates, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rates.skipped, chunks);
    assert_int_equal(rates.bytes, bytes);
    assert_true(rates.decode_nanoseconds > 0 && rates.coded_bytes > 0);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
}

/* Their kernels are measured as those of tiles are. */
static void test_measure(void **state)
{
    static const struct {
        wcodec_coding coding;
        wcodec_lossy_target lossy;
        wcodec_tune tune;
        unsigned least;
    } kinds[] = {{WCODEC_CODING_BLOCKS, WCODEC_LOSSY_NONE, WCODEC_TUNE_SIZE, 3},
                 {WCODEC_CODING_LOSSY, WCODEC_LOSSY_SNR, WCODEC_TUNE_SIZE, 3},
                 {WCODEC_CODING_FIXED, WCODEC_LOSSY_NONE, WCODEC_TUNE_COMPUTE_FIXED, 1},
                 {WCODEC_CODING_FRAGMENTS, WCODEC_LOSSY_NONE, WCODEC_TUNE_COMPUTE, 1}};
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned n = 0; n < sizeof kinds / sizeof kinds[0]; n++) {
        struct support_sink coded;
        wcodec_encode_options options;
        wcodec_encode_options_init(&options);
        options.lossy = kinds[n].lossy;
        options.lossy_value = 30;
        options.tune = kinds[n].tune;
        support_sink_init(&coded);
        support_smooth_write(&options, &coded);
        measure(&coded, "cpu", kinds[n].coding, kinds[n].least);
        measure(&coded, "fake", kinds[n].coding, kinds[n].least);
        support_sink_free(&coded);
    }
}

int main(void)
{
    if (!support_load_plugin(NULL))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),  cmocka_unit_test(test_lossy),
        cmocka_unit_test(test_fixed),   cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_records), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_fault),   cmocka_unit_test(test_measure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
