/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices in fragments through the public interface: written, described, decoded whole and by rows
 * from memory and from a file, restored, and within little memory. */
#include "support_model.h"

#include "core/bytes.h"
#include <string.h>

struct model {
    wcodec_dtype dtype;
    uint64_t rows, columns;
    unsigned tile_log2; /* 0: the encoder's choice, ... */
    uint64_t tile;      /* ... which is this */
    wcodec_coding coding;
};

#define IN_ORDER WCODEC_CODING_FRAGMENTS
static const struct model models[] = {
    {WCODEC_DTYPE_BF16, 64, 512, 0, 4096, IN_ORDER},
    {WCODEC_DTYPE_BF16, 33, 896, 0, 4096, IN_ORDER},
    {WCODEC_DTYPE_F16, 100, 384, 13, 8192, IN_ORDER},
    {WCODEC_DTYPE_I8, 1000, 256, 0, 4096, IN_ORDER},
    {WCODEC_DTYPE_F8_E4M3, 17, 128, 0, 4096, IN_ORDER},
    {WCODEC_DTYPE_F8_E5M2, 48, 1 << 17, 16, 65536, IN_ORDER},
    {WCODEC_DTYPE_I8, 2048, 8704, 0, 8192, IN_ORDER}, /* more than 2^24 elements */
    {WCODEC_DTYPE_I8, 4096, 4096, 0, 4096, IN_ORDER}, /* no more */
    {WCODEC_DTYPE_I8, 2304, 8320, 0, 4096, IN_ORDER}, /* more, but no multiple of 512 */
    {WCODEC_DTYPE_BF16, 15, 512, 0, 0, WCODEC_CODING_TILES},
    {WCODEC_DTYPE_BF16, 64, 200, 0, 0, WCODEC_CODING_TILES},
    {WCODEC_DTYPE_I16, 64, 512, 0, 0, WCODEC_CODING_TILES},
    {WCODEC_DTYPE_U8, 64, 512, 0, 0, WCODEC_CODING_TILES},
};

/* Most elements are near zero, or have exponents near a largest one. */
static uint8_t *make_data(uint64_t *seed, const struct model *m, size_t *size)
{
    const unsigned w = wcodec_dtype_bits(m->dtype) / 16;
    *size = (size_t)(m->rows * m->columns) << w;
    uint8_t *data = malloc(*size);
    for (size_t i = 0; i < *size >> w; i++) {
        const uint64_t any = support_random(seed);
        const unsigned near = (unsigned)((any & 7) + (any >> 3 & 7) + (any >> 6 & 7));
        if (w)
            wcodec_store_u16(data + 2 * i,
                             (uint16_t)((any >> 16 & 0x807f) | (110 + near / 3) << 7));
        else
            data[i] = (uint8_t)(near + 50);
    }
    return data;
}

static void write_model(wcodec_context *context, const struct model *m, const uint8_t *data,
                        size_t size, struct support_sink *out)
{
    const uint64_t shape[] = {m->rows, m->columns};
    wcodec_encode_options options;
    wcodec_writer *writer;
    wcodec_error err = {0};
    wcodec_encode_options_init(&options);
    options.tune = WCODEC_TUNE_COMPUTE;
    options.tile_log2 = m->tile_log2;
    options.predict = WCODEC_PREDICT_NONE;
    assert_int_equal(
        wcodec_writer_create(context, support_sink_write, out, &options, &writer, &err), WCODEC_OK);
    assert_int_equal(wcodec_writer_declare(writer, "t", m->dtype, shape, 2, &err), WCODEC_OK);
    if (wcodec_writer_data(writer, data, size, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(wcodec_writer_finish(writer, NULL, &err), WCODEC_OK);
    wcodec_writer_destroy(writer);
}

static void check_description(const wcodec_reader *reader, const struct model *m)
{
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    assert_int_equal(info.coding, m->coding);
    assert_int_equal(info.columns, m->coding == IN_ORDER ? m->columns : 0);
    assert_true(info.order0_bits != 0);
    if (m->coding != IN_ORDER)
        return;
    assert_int_equal(info.tile_elements, m->tile);
    assert_int_equal(info.element_bits, wcodec_dtype_bits(m->dtype));
}

static void test_models(void **state)
{
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
        const struct model *m = &models[i];
        struct support_sink coded;
        wcodec_reader *reader;
        size_t size;
        support_sink_init(&coded);
        uint8_t *data = make_data(&seed, m, &size);
        write_model(context, m, data, size, &coded);
        assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, NULL),
                         WCODEC_OK);
        check_description(reader, m);
        wcodec_reader_close(reader);
        support_expect_tensor(context, &seed, &coded, m->rows, data, size);
        support_sink_free(&coded);
        free(data);
    }
    wcodec_context_destroy(context);
}

/* What is not shrunk by that is coded as without, and one element repeated too. */
static void test_others(void **state)
{
    const struct model m = {WCODEC_DTYPE_I8, 64, 512, 0, 0, WCODEC_CODING_CHUNKS};
    uint64_t seed = support_seed() + 1;
    wcodec_context *context = support_context(1, NULL);
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct support_sink coded;
        wcodec_tensor_info info;
        wcodec_reader *reader;
        uint8_t data[64 * 512];
        for (size_t k = 0; k < sizeof data; k++)
            data[k] = i ? 7 : (uint8_t)support_random(&seed);
        support_sink_init(&coded);
        write_model(context, &m, data, sizeof data, &coded);
        assert_int_equal(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
        assert_int_equal(info.coding, i ? WCODEC_CODING_CONSTANT : WCODEC_CODING_CHUNKS);
        wcodec_reader_close(reader);
        support_sink_free(&coded);
    }
    wcodec_context_destroy(context);
}

/* Whatever the number of threads, the file is the same. */
static void test_threads(void **state)
{
    uint64_t seed = support_seed() + 2;
    struct support_sink coded[3];
    size_t size;
    uint8_t *data = make_data(&seed, &models[3], &size);
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        wcodec_context *context = support_context(1 + 2 * i, NULL);
        support_sink_init(&coded[i]);
        write_model(context, &models[3], data, size, &coded[i]);
        wcodec_context_destroy(context);
        assert_int_equal(coded[i].size, coded[0].size);
        assert_memory_equal(coded[i].data, coded[0].data, coded[0].size);
    }
    for (unsigned i = 0; i < 3; i++)
        support_sink_free(&coded[i]);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
