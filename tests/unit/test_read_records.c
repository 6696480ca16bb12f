/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in records through the public interface: written of files that hold quantised blocks,
 * described, decoded whole and by rows from memory and from a file, restored, within little memory,
 * copied, without an index, damaged, and resident. */
#include "support_records.h"

#include "read/reader.h"
#include <string.h>
#include <wcodec/resident.h>
#include <wcodec/writer.h>

static const struct {
    struct support_quantised quantised;
    const char *split;
} models[] = {
    {{"Q8_0", 8, 34, 32, 60, 12}, "2+32"},
    {{"Q8_0", 8, 34, 32, 700, 40}, "2+32"}, /* more than a sample */
    {{"Q4_0", 2, 18, 32, 40, 36}, "2+16"},
    {{"Q4_1", 3, 20, 32, 70, 30}, "2+2+16"},
    {{"Q5_0", 6, 22, 32, 50, 32}, "2+4+16"},
    {{"Q5_1", 7, 24, 32, 50, 32}, "2+2+4+16"},
    {{"Q2_K", 10, 84, 256, 40, 12}, "16+64+2+2"},
    {{"Q3_K", 11, 110, 256, 40, 12}, "32+64+8+4+2"},
    {{"Q4_K", 12, 144, 256, 90, 16}, "2+2+4+4+4+128"},
    {{"Q5_K", 13, 176, 256, 40, 12}, "2+2+4+4+4+32+128"},
    {{"Q6_K", 14, 210, 256, 30, 16}, "128+64+16+2"},
};

static void compress(wcodec_context *context, const struct support_sink *file, int level,
                     struct support_sink *coded)
{
    wcodec_encode_options options;
    wcodec_error err;
    support_sink_init(coded);
    wcodec_encode_options_init(&options);
    options.level = level;
    if (wcodec_compress_memory(context, file->data, file->size, support_sink_write, coded, &options,
                               NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

static wcodec_tensor_info describe(wcodec_context *context, const struct support_sink *coded)
{
    wcodec_reader *reader = support_open_sink(context, coded);
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    if (info.coding == WCODEC_CODING_RECORDS)
        assert_string_equal(info.coding_name, "records");
    wcodec_reader_close(reader);
    return info;
}

static void expect_split(wcodec_context *context, const struct support_sink *coded,
                         const char *split)
{
    wcodec_reader *reader = support_open_sink(context, coded);
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    assert_int_equal(info.coding, WCODEC_CODING_RECORDS);
    assert_string_equal(info.split, split);
    assert_true(info.order0_bits != 0);
    wcodec_reader_close(reader);
}

/* In both kinds of files it gets smaller by it than as bytes of no type. */
static void models_come_back(void **state)
{
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
        const struct support_quantised *q = &models[i].quantised;
        struct support_sink file, coded, bytes;
        size_t size;
        uint8_t *data = support_quantised_data(q, &seed, &size);
        support_quantised_safetensors(q, NULL, data, size, &file);
        compress(context, &file, 3, &coded);
        expect_split(context, &coded, models[i].split);
        support_expect_tensor(context, &seed, &coded, q->rows, data, size);
        support_expect_restores(context, &coded, file.data, file.size);
        support_sink_free(&file);
        support_quantised_safetensors(q, "Q0", data, size, &file);
        compress(context, &file, 3, &bytes);
        assert_int_not_equal(describe(context, &bytes).coding, WCODEC_CODING_RECORDS);
        assert_true(coded.size < bytes.size);
        support_sink_free(&bytes);
        support_sink_free(&coded);
        support_sink_free(&file);
        support_quantised_gguf(q, data, size, &file);
        compress(context, &file, i % 2 ? 1 : 7, &coded);
        expect_split(context, &coded, models[i].split);
        support_expect_restores(context, &coded, file.data, file.size);
        support_sink_free(&coded);
        support_sink_free(&file);
        free(data);
    }
    wcodec_context_destroy(context);
}

/* Of noise, of one repeated byte, and where the metadata is wrong, it is coded as bytes. */
static void others_stay_bytes(void **state)
{
    static const char *const types[] = {"Q8_0", "Q8_0", "Q6_K", "F16", "", "Q8_00"};
    const struct support_quantised q = {"Q8_0", 8, 34, 32, 50, 10};
    uint64_t seed = support_seed() + 1;
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        struct support_sink file, coded;
        size_t size;
        uint8_t *data = support_quantised_data(&q, &seed, &size);
        for (size_t k = 0; k < size && i < 2; k++)
            data[k] = i == 0 ? (uint8_t)support_random(&seed) : 9;
        support_quantised_safetensors(&q, types[i], data, size, &file);
        compress(context, &file, 3 + 3 * (int)(i % 3), &coded);
        assert_int_not_equal(describe(context, &coded).coding, WCODEC_CODING_RECORDS);
        support_expect_restores(context, &coded, file.data, file.size);
        support_sink_free(&coded);
        support_sink_free(&file);
        free(data);
    }
    wcodec_context_destroy(context);
}

/* Whatever the number of threads, the file is the same. */
static void threads_make_the_same(void **state)
{
    const struct support_quantised q = {"Q4_K", 12, 144, 256, 200, 16};
    uint64_t seed = support_seed() + 2;
    struct support_sink file, coded[3];
    size_t size;
    uint8_t *data = support_quantised_data(&q, &seed, &size);
    (void)state;
    support_quantised_safetensors(&q, NULL, data, size, &file);
    for (unsigned i = 0; i < 3; i++) {
        wcodec_context *context = support_context(1 + 2 * i, NULL);
        compress(context, &file, 3, &coded[i]);
        wcodec_context_destroy(context);
        assert_int_equal(coded[i].size, coded[0].size);
        assert_memory_equal(coded[i].data, coded[0].data, coded[0].size);
    }
    for (unsigned i = 0; i < 3; i++)
        support_sink_free(&coded[i]);
    support_sink_free(&file);
    free(data);
}

/* From a file, within less memory than its payload takes: it is hashed and read in pieces. */
static void little_memory_is_enough(void **state)
{
    const struct support_quantised q = {"Q8_0", 8, 34, 32, 3000, 100};
    uint64_t seed = support_seed() + 3;
    struct support_sink file, coded, restored;
    wcodec_context *context = support_context(2, NULL), *small;
    wcodec_reader *reader;
    wcodec_error err = {0};
    size_t size;
    uint8_t *data = support_quantised_data(&q, &seed, &size);
    FILE *stream = tmpfile();
    (void)state;
    assert_non_null(stream);
    support_quantised_gguf(&q, data, size, &file);
    compress(context, &file, 3, &coded);
    assert_int_equal(fwrite(coded.data, 1, coded.size, stream), coded.size);
    assert_int_equal(fflush(stream), 0);
    small = support_context_limited(2, 8 << 20);
    assert_int_equal(wcodec_reader_open_fd(small, fileno(stream), &reader, &err), WCODEC_OK);
    support_sink_init(&restored);
    if (wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(restored.size, file.size);
    assert_memory_equal(restored.data, file.data, file.size);
    wcodec_reader_close(reader);
    wcodec_context_destroy(small);
    fclose(stream);
    support_sink_free(&restored);
    support_sink_free(&coded);
    support_sink_free(&file);
    free(data);
    wcodec_context_destroy(context);
}

static void make_coded(wcodec_context *context, uint64_t seed, struct support_sink *file,
                       struct support_sink *coded)
{
    const struct support_quantised q = {"Q6_K", 14, 210, 256, 40, 16};
    size_t size;
    uint8_t *data = support_quantised_data(&q, &seed, &size);
    support_quantised_gguf(&q, data, size, file);
    compress(context, file, 3, coded);
    free(data);
}

/* With the index in front and back again it is the same file; made anew too. */
static void copies(void **state)
{
    wcodec_context *context = support_context(2, NULL);
    struct support_sink file, coded, front, back, again;
    wcodec_encode_options options;
    wcodec_error err;
    (void)state;
    make_coded(context, support_seed() + 4, &file, &coded);
    wcodec_reader *reader = support_open_sink(context, &coded);
    wcodec_encode_options_init(&options);
    options.index_first = 1;
    support_sink_init(&front);
    support_sink_init(&back);
    support_sink_init(&again);
    assert_int_equal(wcodec_copy(reader, NULL, 0, support_sink_write, &front, &options, NULL, &err),
                     WCODEC_OK);
    support_expect_restores(context, &front, file.data, file.size);
    wcodec_reader *other = support_open_sink(context, &front);
    options.index_first = 0;
    assert_int_equal(wcodec_copy(other, NULL, 0, support_sink_write, &back, &options, NULL, &err),
                     WCODEC_OK);
    assert_int_equal(back.size, coded.size);
    assert_memory_equal(back.data, coded.data, coded.size);
    assert_int_equal(wcodec_recompress(other, 0, support_sink_write, &again, &options, NULL, &err),
                     WCODEC_OK);
    assert_int_equal(describe(context, &again).coding, WCODEC_CODING_RECORDS);
    support_expect_restores(context, &again, file.data, file.size);
    wcodec_reader_close(other);
    wcodec_reader_close(reader);
    support_sink_free(&again);
    support_sink_free(&back);
    support_sink_free(&front);
    support_sink_free(&coded);
    support_sink_free(&file);
    wcodec_context_destroy(context);
}

static void expect_rows(const wcodec_reader *reader, const struct support_sink *file)
{
    wcodec_error err;
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, &err), WCODEC_OK);
    uint8_t *bytes = malloc((size_t)info.size);
    if (wcodec_reader_decode(reader, 0, bytes, (size_t)info.size, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(bytes, file->data + file->size - info.size, (size_t)info.size);
    free(bytes);
}

/* By the headers alone. */
static void is_found_without_an_index(void **state)
{
    wcodec_context *context = support_context(2, NULL);
    struct support_sink file, coded;
    wcodec_reader *reader;
    (void)state;
    make_coded(context, support_seed() + 5, &file, &coded);
    wcodec_reader *whole = support_open_sink(context, &coded);
    const size_t end = (size_t)whole->shards[0].index->body_end;
    wcodec_reader_close(whole);
    assert_int_equal(wcodec_reader_salvage_memory(context, coded.data, end, &reader, NULL),
                     WCODEC_OK);
    expect_rows(reader, &file);
    wcodec_reader_close(reader);
    support_sink_free(&coded);
    support_sink_free(&file);
    wcodec_context_destroy(context);
}

/* A flipped bit is an error that names the tensor, or of no consequence to it. */
static void damage_is_found(void **state)
{
    wcodec_context *context = support_context(2, NULL);
    struct support_sink file, coded;
    uint64_t seed = support_seed() + 6;
    unsigned fields = 0;
    (void)state;
    make_coded(context, seed, &file, &coded);
    for (unsigned round = 0; round < 200; round++) {
        wcodec_reader *reader = support_open_sink(context, &coded);
        const struct wcodec_index *index = reader->shards[0].index;
        const struct wcodec_entry *e = &index->entries[index->tensors[0]];
        uint8_t *at = &coded.data[e->payload_offset + support_random(&seed) % e->payload_size],
                *bytes = malloc((size_t)e->size);
        const uint8_t flip = (uint8_t)(1u << support_random(&seed) % 8);
        wcodec_error err;
        *at ^= flip;
        if (wcodec_reader_decode(reader, 0, bytes, (size_t)e->size, NULL, &err) == WCODEC_OK) {
            assert_memory_equal(bytes, file.data + file.size - e->size, (size_t)e->size);
        } else {
            assert_int_equal(err.status, WCODEC_ERROR_CORRUPT);
            assert_non_null(strstr(err.text, "'t'"));
            fields += strstr(err.text, "field at byte") != NULL;
        }
        assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, &err), WCODEC_ERROR_CORRUPT);
        assert_non_null(strstr(err.text, "'t'"));
        *at ^= flip;
        free(bytes);
        wcodec_reader_close(reader);
    }
    assert_true(fields > 100);
    support_sink_free(&coded);
    support_sink_free(&file);
    wcodec_context_destroy(context);
}

static void is_resident(void **state)
{
    wcodec_context *context = support_context(2, NULL);
    struct support_sink file, coded;
    wcodec_resident_options options;
    wcodec_resident *resident;
    wcodec_error err = {0};
    (void)state;
    make_coded(context, support_seed() + 7, &file, &coded);
    wcodec_reader *reader = support_open_sink(context, &coded);
    wcodec_resident_options_init(&options);
    options.form = WCODEC_RESIDENT_CODED;
    if (wcodec_resident_create(reader, NULL, 0, &options, &resident, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    uint8_t bytes[3 * 16 * 210];
    if (wcodec_resident_decode(resident, 0, 5, 3, bytes, sizeof bytes, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(bytes, file.data + 96 + 5 * 16 * 210, sizeof bytes);
    wcodec_resident_destroy(resident);
    wcodec_reader_close(reader);
    support_sink_free(&coded);
    support_sink_free(&file);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_come_back),
                                       cmocka_unit_test(others_stay_bytes),
                                       cmocka_unit_test(threads_make_the_same),
                                       cmocka_unit_test(little_memory_is_enough),
                                       cmocka_unit_test(copies),
                                       cmocka_unit_test(is_found_without_an_index),
                                       cmocka_unit_test(damage_is_found),
                                       cmocka_unit_test(is_resident)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
