/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Masked tensors through the public interface: when pruned tensors become such, decoded whole and
 * by rows, restored, within little memory, copied, without an index, damaged, and resident. */
#include "support_model.h"

#include "read/reader.h"
#include <math.h>
#include <wcodec/resident.h>
#include <wcodec/writer.h>

/* `n` numbers of which one in `every` is not zero; widths of 2, 4 and 8 bytes. */
static uint8_t *make_pruned(uint64_t *seed, unsigned width, size_t n, unsigned every)
{
    uint8_t *data = calloc(n, width);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) {
        const int number = (int)(support_random(seed) % 65536) - 32768;
        const float weight = ldexpf((float)number, -20 - (int)(support_random(seed) % 4));
        const double wide =
            weight * (1 + ldexp((double)(int64_t)(support_random(seed) >> 12), -53));
        if (support_random(seed) % every != 0)
            continue;
        if (width == 8)
            memcpy(data + 8 * i, &wide, 8);
        else
            memcpy(data + width * i, (const uint8_t *)&weight + (4 - width), width);
    }
    return data;
}

static void make_file(struct support_model *m, const char *dtype, const uint8_t *data,
                      unsigned width, size_t n)
{
    support_model_init(m);
    support_model_add_data(m, "t", dtype, n, data, n * width);
    support_model_finish(m, "", 0);
}

static void compress(wcodec_context *context, const struct support_model *m,
                     const wcodec_encode_options *options, struct support_sink *coded)
{
    wcodec_error err;
    support_sink_init(coded);
    if (wcodec_compress_memory(context, m->file, m->file_size, support_sink_write, coded, options,
                               NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

static void compress_at(wcodec_context *context, const struct support_model *m, int level,
                        struct support_sink *coded)
{
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.level = level;
    compress(context, m, &options, coded);
}

static wcodec_reader *open_sink(wcodec_context *context, const struct support_sink *sink)
{
    wcodec_reader *reader;
    wcodec_error err;
    if (wcodec_reader_open_memory(context, sink->data, sink->size, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return reader;
}

static wcodec_coding coding_of(wcodec_context *context, const struct support_sink *coded)
{
    wcodec_reader *reader = open_sink(context, coded);
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    if (info.coding == WCODEC_CODING_MASKED) {
        assert_string_equal(info.coding_name, "masked");
        assert_true(info.order0_bits != 0);
        assert_int_equal(info.tile_elements, 16384);
    }
    wcodec_reader_close(reader);
    return info.coding;
}

/* Any rows are what the whole has there. */
static void expect_rows(wcodec_context *context, const struct support_sink *coded,
                        const uint8_t *data, unsigned width, size_t n, uint64_t *seed)
{
    wcodec_reader *reader = open_sink(context, coded);
    uint8_t *out = malloc(n * width);
    wcodec_error err;
    assert_non_null(out);
    for (unsigned round = 0; round < 12; round++) {
        const size_t first = round == 0 ? 0 : (size_t)(support_random(seed) % n), left = n - first,
                     count = round < 2 ? left : 1 + (size_t)(support_random(seed) % left);
        if (wcodec_reader_decode_rows(reader, 0, first, count, out, count * width, NULL, &err) !=
            WCODEC_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(out, data + first * width, count * width);
    }
    free(out);
    wcodec_reader_close(reader);
}

static void pruned_come_back(void **state)
{
    static const struct {
        const char *dtype;
        unsigned width, every;
        size_t n;
        int level;
        wcodec_coding coding;
    } all[] = {
        {"F32", 4, 2, 40000, 3, WCODEC_CODING_MASKED},
        {"F32", 4, 5, 40001, 1, WCODEC_CODING_MASKED},
        {"F32", 4, 2, 600003, 3, WCODEC_CODING_MASKED}, /* more than a sample */
        {"F32", 4, 1, 40000, 3, WCODEC_CODING_TILES},
        {"F32", 4, 2, 4096, 9, WCODEC_CODING_MASKED},
        {"F32", 4, 2, 4000, 3, WCODEC_CODING_TILES}, /* too small */
        {"F64", 8, 3, 33333, 3, WCODEC_CODING_MASKED},
        {"BF16", 2, 2, 50000, 3, WCODEC_CODING_TILES}, /* for devices */
        {"BF16", 2, 2, 50001, 9, WCODEC_CODING_MASKED},
    };
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct support_model m;
        struct support_sink coded;
        uint8_t *data = make_pruned(&seed, all[i].width, all[i].n, all[i].every);
        make_file(&m, all[i].dtype, data, all[i].width, all[i].n);
        compress_at(context, &m, all[i].level, &coded);
        assert_int_equal(coding_of(context, &coded), all[i].coding);
        support_expect_restores(context, &coded, m.file, m.file_size);
        expect_rows(context, &coded, data, all[i].width, all[i].n, &seed);
        support_sink_free(&coded);
        support_model_free(&m);
        free(data);
    }
    wcodec_context_destroy(context);
}

/* What devices multiply by, or decode at once, has no mask; nor has what is asked to be predicted.
 */
static void tunes_have_no_mask(void **state)
{
    uint64_t seed = support_seed() + 1;
    wcodec_context *context = support_context(2, NULL);
    struct support_model m;
    uint8_t *data = make_pruned(&seed, 4, 40000, 2);
    (void)state;
    make_file(&m, "F32", data, 4, 40000);
    for (unsigned i = 0; i < 3; i++) {
        struct support_sink coded;
        wcodec_encode_options options;
        wcodec_encode_options_init(&options);
        if (i == 0)
            options.tune = WCODEC_TUNE_LATENCY;
        else if (i == 1)
            options.tune = WCODEC_TUNE_COMPUTE;
        else
            options.predict = WCODEC_PREDICT_LEFT;
        compress(context, &m, &options, &coded);
        assert_int_equal(coding_of(context, &coded), WCODEC_CODING_TILES);
        support_sink_free(&coded);
    }
    support_model_free(&m);
    free(data);
    wcodec_context_destroy(context);
}

static void threads_make_the_same(void **state)
{
    uint64_t seed = support_seed() + 2;
    struct support_model m;
    struct support_sink coded[3];
    uint8_t *data = make_pruned(&seed, 4, 700000, 3);
    (void)state;
    make_file(&m, "F32", data, 4, 700000);
    for (unsigned i = 0; i < 3; i++) {
        wcodec_context *context = support_context(1 + 2 * i, NULL);
        compress_at(context, &m, 3, &coded[i]);
        wcodec_context_destroy(context);
        assert_int_equal(coded[i].size, coded[0].size);
        assert_memory_equal(coded[i].data, coded[0].data, coded[0].size);
    }
    for (unsigned i = 0; i < 3; i++)
        support_sink_free(&coded[i]);
    support_model_free(&m);
    free(data);
}

/* From a file, with memory for some tiles at a time. */
static void little_memory_is_enough(void **state)
{
    enum { N = 3000000 };
    uint64_t seed = support_seed() + 3;
    struct support_model m;
    struct support_sink coded;
    wcodec_context *context = support_context(2, NULL), *small;
    wcodec_reader *reader;
    wcodec_error err = {0};
    uint8_t *data = make_pruned(&seed, 4, N, 4), *out = malloc(4 * N);
    FILE *stream = tmpfile();
    (void)state;
    assert_non_null(stream);
    assert_non_null(out);
    make_file(&m, "F32", data, 4, N);
    compress_at(context, &m, 3, &coded);
    assert_int_equal(coding_of(context, &coded), WCODEC_CODING_MASKED);
    assert_int_equal(fwrite(coded.data, 1, coded.size, stream), coded.size);
    assert_int_equal(fflush(stream), 0);
    small = support_context_limited(2, 6 << 20);
    assert_int_equal(wcodec_reader_open_fd(small, fileno(stream), &reader, &err), WCODEC_OK);
    if (wcodec_reader_decode(reader, 0, out, 4 * N, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(out, data, 4 * N);
    wcodec_reader_close(reader);
    wcodec_context_destroy(small);
    fclose(stream);
    support_sink_free(&coded);
    support_model_free(&m);
    free(out);
    free(data);
    wcodec_context_destroy(context);
}

static void make_coded(wcodec_context *context, uint64_t seed, struct support_model *m,
                       struct support_sink *coded)
{
    uint8_t *data = make_pruned(&seed, 4, 50000, 2);
    make_file(m, "F32", data, 4, 50000);
    compress_at(context, m, 3, coded);
    assert_int_equal(coding_of(context, coded), WCODEC_CODING_MASKED);
    free(data);
}

/* Copied it is the same file; made anew too; and found by its header alone. */
static void copies(void **state)
{
    wcodec_context *context = support_context(2, NULL);
    struct support_model m;
    struct support_sink coded, back, again;
    wcodec_encode_options options;
    wcodec_reader *reader, *left;
    wcodec_error err;
    (void)state;
    make_coded(context, support_seed() + 4, &m, &coded);
    reader = open_sink(context, &coded);
    wcodec_encode_options_init(&options);
    support_sink_init(&back);
    support_sink_init(&again);
    assert_int_equal(wcodec_copy(reader, NULL, 0, support_sink_write, &back, &options, NULL, &err),
                     WCODEC_OK);
    assert_int_equal(back.size, coded.size);
    assert_memory_equal(back.data, coded.data, coded.size);
    assert_int_equal(wcodec_recompress(reader, 0, support_sink_write, &again, &options, NULL, &err),
                     WCODEC_OK);
    assert_int_equal(coding_of(context, &again), WCODEC_CODING_MASKED);
    support_expect_restores(context, &again, m.file, m.file_size);
    assert_int_equal(wcodec_reader_salvage_memory(context, coded.data,
                                                  (size_t)reader->shards[0].index->body_end, &left,
                                                  NULL),
                     WCODEC_OK);
    uint8_t *out = malloc(200000);
    assert_non_null(out);
    assert_int_equal(wcodec_reader_decode(left, 0, out, 200000, NULL, &err), WCODEC_OK);
    assert_memory_equal(out, m.file + m.file_size - 200000, 200000);
    free(out);
    wcodec_reader_close(left);
    wcodec_reader_close(reader);
    support_sink_free(&again);
    support_sink_free(&back);
    support_sink_free(&coded);
    support_model_free(&m);
    wcodec_context_destroy(context);
}

/* A flipped bit is an error that names the tensor, or of no consequence to it. */
static void damage_is_found(void **state)
{
    wcodec_context *context = support_context(2, NULL);
    struct support_model m;
    struct support_sink coded;
    uint64_t seed = support_seed() + 5;
    uint8_t *bytes = malloc(200000);
    unsigned found = 0;
    (void)state;
    assert_non_null(bytes);
    make_coded(context, seed, &m, &coded);
    for (unsigned round = 0; round < 100; round++) {
        wcodec_reader *reader = open_sink(context, &coded);
        const struct wcodec_index *index = reader->shards[0].index;
        const struct wcodec_entry *e = &index->entries[index->tensors[0]];
        uint8_t *at = &coded.data[e->payload_offset +
                                  (round < 12 ? round : support_random(&seed)) % e->payload_size];
        const uint8_t flip = (uint8_t)(1u << support_random(&seed) % 8);
        wcodec_error err;
        *at ^= flip;
        if (wcodec_reader_decode(reader, 0, bytes, 200000, NULL, &err) == WCODEC_OK) {
            assert_memory_equal(bytes, m.file + m.file_size - 200000, 200000);
        } else {
            assert_int_equal(err.status, WCODEC_ERROR_CORRUPT);
            assert_non_null(strstr(err.text, "'t'"));
            found++;
        }
        assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, &err), WCODEC_ERROR_CORRUPT);
        *at ^= flip;
        wcodec_reader_close(reader);
    }
    assert_true(found > 80);
    free(bytes);
    support_sink_free(&coded);
    support_model_free(&m);
    wcodec_context_destroy(context);
}

static void stays_resident(void **state)
{
    enum { ROWS = 30000 };
    static const wcodec_resident_form forms[] = {WCODEC_RESIDENT_AUTO, WCODEC_RESIDENT_CODED,
                                                 WCODEC_RESIDENT_PLAIN};
    wcodec_context *context = support_context(2, NULL);
    struct support_model m;
    struct support_sink coded;
    static uint8_t rows[4 * ROWS];
    (void)state;
    make_coded(context, support_seed() + 6, &m, &coded);
    for (unsigned i = 0; i < 3; i++) {
        wcodec_reader *reader = open_sink(context, &coded);
        wcodec_resident_options options;
        wcodec_resident *resident;
        wcodec_error err;
        wcodec_resident_options_init(&options);
        options.form = forms[i];
        if (wcodec_resident_create(reader, NULL, 0, &options, &resident, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        if (wcodec_resident_decode(resident, 0, 1234, ROWS, rows, sizeof rows, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(rows, m.file + m.file_size - 200000 + 4 * 1234, sizeof rows);
        wcodec_resident_destroy(resident);
        wcodec_reader_close(reader);
    }
    support_sink_free(&coded);
    support_model_free(&m);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pruned_come_back),
        cmocka_unit_test(tunes_have_no_mask),
        cmocka_unit_test(threads_make_the_same),
        cmocka_unit_test(little_memory_is_enough),
        cmocka_unit_test(copies),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(stays_resident),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
