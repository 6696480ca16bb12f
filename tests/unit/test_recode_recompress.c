/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A container compressed anew is as one of its original. */

#include "support_container.h"
#include "support_memory.h"
#include <stdlib.h>
#include <string.h>
#include <wcodec/writer.h>

static void compresses_as_from_the_original(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    for (unsigned round = 0; round < 12; round++) {
        wcodec_context *context = support_context(round % 3 + 1, NULL);
        struct support_recipe r;
        struct support_bytes file, original, direct = {0}, anew = {0};
        wcodec_encode_options options;
        wcodec_encode_report a, b;
        support_recipe_init(&r, seed + round);
        support_recipe_build(&r, &file);
        support_recipe_original(&r, &original);
        wcodec_encode_options_init(&options);
        options.level = (int)(round % 9) + 1;
        assert_int_equal(wcodec_compress_memory(context, original.data, original.size,
                                                support_append, &direct, &options, &a, NULL),
                         WCODEC_OK);
        wcodec_reader *reader = support_open_bytes(context, &file);
        assert_int_equal(wcodec_recompress(reader, 0, support_append, &anew, &options, &b, NULL),
                         WCODEC_OK);
        assert_int_equal(anew.size, direct.size);
        assert_memory_equal(anew.data, direct.data, anew.size);
        assert_int_equal(memcmp(&a, &b, sizeof a), 0);
        support_expect_original(context, &anew, &original);
        wcodec_reader_close(reader);
        free(anew.data);
        free(direct.data);
        free(original.data);
        free(file.data);
        support_recipe_free(&r);
        wcodec_context_destroy(context);
    }
}

static void refuses(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_recipe r;
    struct support_bytes file, got = {0};
    wcodec_error err;
    support_recipe_init(&r, 4);
    r.hash[0] ^= 1;
    support_recipe_build(&r, &file);
    wcodec_reader *reader = support_open_bytes(context, &file);
    assert_int_equal(wcodec_recompress(reader, 1, support_append, &got, NULL, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(got.size, 0);
    assert_int_equal(wcodec_recompress(reader, 0, support_append, &got, NULL, NULL, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "the hash of the original differs"));
    wcodec_reader_close(reader);
    /* A tile or chunk that is damaged; a coding of a newer version. */
    file.data[support_recipe_find(&file, &r.entries[2]) + r.entries[2].payload.size - 1] ^= 1;
    file.data[support_recipe_find(&file, &r.entries[4]) + 17] ^= 1;
    reader = support_open_bytes(context, &file);
    assert_int_equal(wcodec_recompress(reader, 0, support_append, &got, NULL, NULL, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "tensor '"));
    wcodec_reader_close(reader);
    free(file.data);
    r.entries[4].coding = 99;
    support_recipe_build(&r, &file);
    reader = support_open_bytes(context, &file);
    assert_int_equal(wcodec_recompress(reader, 0, support_append, &got, NULL, NULL, &err),
                     WCODEC_ERROR_NEWER);
    assert_non_null(strstr(err.text, "tensor 'd': made by a newer version"));
    wcodec_reader_close(reader);
    free(got.data);
    free(file.data);
    support_recipe_free(&r);
    wcodec_context_destroy(context);
}

/* What the last pairs of the metadata say of a tensor's loss, if it is right in form. */
static void reads_records_of_loss(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int lossy;
    } values[] = {
        {"3ff0000000000000 3fe0000000000000 4000000000000000", 1},
        {"0000000000000000 0000000000000000 0000000000000000", 1},
        {"3ff0000000000000 3fe0000000000000 400000000000000", 0},
        {"3ff0000000000000 3fe0000000000000 40000000000000000", 0},
        {"3ff0000000000000 3fe0000000000000,4000000000000000", 0},
        {"3FF0000000000000 3fe0000000000000 4000000000000000", 0},
        {"bff0000000000000 3fe0000000000000 4000000000000000", 0},
        {"7ff0000000000000 3fe0000000000000 4000000000000000", 0},
        {"7ff8000000000000 3fe0000000000000 4000000000000000", 0},
        {"", 0},
    };
    wcodec_context *context = support_context(1, NULL);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct support_recipe r;
        struct support_bytes file;
        wcodec_file_info file_info;
        wcodec_tensor_info info;
        uint64_t number;
        support_recipe_init(&r, 4);
        r.metadata_count = 4;
        r.metadata[4] = "wcodec.lossy.none";
        r.metadata[5] = values[0].value;
        r.metadata[6] = "wcodec.lossy.d";
        r.metadata[7] = values[i].value;
        support_recipe_build(&r, &file);
        wcodec_reader *reader = support_open_bytes(context, &file);
        assert_int_equal(wcodec_reader_metadata_count(reader, 0), 2);
        assert_int_equal(wcodec_reader_find(reader, "d", &number, NULL), WCODEC_OK);
        assert_int_equal(wcodec_reader_tensor(reader, number, &info, NULL), WCODEC_OK);
        assert_int_equal(info.lossy, values[i].lossy);
        assert_int_equal(wcodec_reader_file(reader, 0, &file_info, NULL), WCODEC_OK);
        assert_int_equal(file_info.lossy, values[i].lossy);
        if (i == 0)
            assert_true(info.largest_error == 1 && info.mean_squared_error == 0.5 &&
                        info.mean_square == 2);
        assert_int_equal(info.scales, 0);
        wcodec_reader_close(reader);
        free(file.data);
        support_recipe_free(&r);
    }
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compresses_as_from_the_original),
        cmocka_unit_test(refuses),
        cmocka_unit_test(reads_records_of_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
