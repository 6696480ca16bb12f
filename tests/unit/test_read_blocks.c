/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in blocks through the public interface: written, described, decoded whole and by rows
 * from memory and from a file, restored, and within little memory. */
#include "support_model.h"

#include <string.h>

struct model {
    wcodec_dtype dtype;
    uint64_t rows, columns;
    unsigned rank; /* 2, or 4: [rows, columns / 9, 3, 3] */
    wcodec_predict predict;
    unsigned tile_log2;
};

static const struct model models[] = {
    {WCODEC_DTYPE_I8, 600, 257, 2, WCODEC_PREDICT_AUTO, 0},
    {WCODEC_DTYPE_U8, 1100, 16, 2, WCODEC_PREDICT_PLANAR, 13},
    {WCODEC_DTYPE_BF16, 333, 100, 2, WCODEC_PREDICT_AVERAGE, 12},
    {WCODEC_DTYPE_I16, 65, 2000, 2, WCODEC_PREDICT_PAETH, 16},
    {WCODEC_DTYPE_I8, 40, 9 * 77, 4, WCODEC_PREDICT_LEFT, 12},
    {WCODEC_DTYPE_F16, 17, 1 << 19, 2, WCODEC_PREDICT_TOP, 0},
    {WCODEC_DTYPE_I8, 16, 1 << 17, 2, WCODEC_PREDICT_LEFT, 14},
    {WCODEC_DTYPE_U8, 501, 130, 2, WCODEC_PREDICT_WHT, 12},
    {WCODEC_DTYPE_BF16, 90, 333, 2, WCODEC_PREDICT_WHT, 0},
};

static uint8_t *make_data(uint64_t *seed, const struct model *m, size_t *size)
{
    const unsigned w = wcodec_dtype_bits(m->dtype) / 16;
    *size = (size_t)(m->rows * m->columns) << w;
    uint8_t *data = malloc(*size);
    for (uint64_t i = 0; i < m->rows * m->columns; i++) {
        const unsigned v =
            (unsigned)(3 * (i / m->columns) + 5 * (i % m->columns) + support_random(seed) % 7);
        data[i << w] = (uint8_t)v;
        if (w)
            data[(i << w) + 1] = (uint8_t)(v >> 8);
    }
    return data;
}

static void write_model(wcodec_context *context, const struct model *m, const uint8_t *data,
                        size_t size, struct support_sink *out)
{
    const uint64_t flat[] = {m->rows, m->columns}, deep[] = {m->rows, m->columns / 9, 3, 3};
    wcodec_encode_options options;
    wcodec_writer *writer;
    wcodec_error err = {0};
    wcodec_encode_options_init(&options);
    options.predict = m->predict;
    options.tile_log2 = m->tile_log2;
    assert_int_equal(
        wcodec_writer_create(context, support_sink_write, out, &options, &writer, &err), WCODEC_OK);
    assert_int_equal(
        wcodec_writer_declare(writer, "t", m->dtype, m->rank == 2 ? flat : deep, m->rank, &err),
        WCODEC_OK);
    if (wcodec_writer_data(writer, data, size, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(wcodec_writer_finish(writer, NULL, &err), WCODEC_OK);
    wcodec_writer_destroy(writer);
}

static void check_description(const wcodec_reader *reader, const struct model *m)
{
    static const char *const names[] = {
        [WCODEC_PREDICT_LEFT] = "left",       [WCODEC_PREDICT_TOP] = "top",
        [WCODEC_PREDICT_AVERAGE] = "average", [WCODEC_PREDICT_PLANAR] = "planar",
        [WCODEC_PREDICT_PAETH] = "paeth",     [WCODEC_PREDICT_WHT] = "wht"};
    wcodec_tensor_info info;
    uint64_t blocks = 0;
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    assert_int_equal(info.coding, WCODEC_CODING_BLOCKS);
    assert_int_equal(info.columns, m->columns);
    for (unsigned i = 0; i < info.mode_count; i++)
        blocks += info.modes[i].blocks;
    assert_int_equal(blocks, ((m->rows + 15) / 16) * ((m->columns + 15) / 16));
    if (m->predict != WCODEC_PREDICT_AUTO) {
        assert_int_equal(info.mode_count, 1);
        assert_string_equal(info.modes[0].predictor, names[m->predict]);
        assert_int_equal(info.modes[0].differential, 0);
    }
}

static void test_models(void **state)
{
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    const unsigned step = support_threads_only() ? 6 : 1; /* one has many tiles */
    for (unsigned i = 0; i < sizeof models / sizeof *models; i += step) {
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

/* Whatever the number of threads, the file is the same. */
static void test_threads(void **state)
{
    uint64_t seed = support_seed() + 1;
    struct support_sink coded[3];
    size_t size;
    uint8_t *data = make_data(&seed, &models[0], &size);
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        wcodec_context *context = support_context(1 + 2 * i, NULL);
        support_sink_init(&coded[i]);
        write_model(context, &models[0], data, size, &coded[i]);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
