/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors from one container to another as they are coded, with the index at the end and in front.
 */

#include "support_container.h"
#include "support_memory.h"
#include <stdlib.h>
#include <string.h>
#include <wcodec/writer.h>

/* An encoder with other options, whose files have no groups: copies have them all the same. */
static void copies_all(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    uint64_t seed = support_seed();
    for (unsigned round = 0; round < 20; round++) {
        struct support_recipe r;
        struct support_bytes file, original, end = {0}, front = {0}, again = {0};
        wcodec_encode_options options;
        wcodec_encode_report report;
        wcodec_file_info info;
        support_recipe_init(&r, seed + round);
        r.group_entries = round % 4;
        support_recipe_build(&r, &file);
        support_recipe_original(&r, &original);
        wcodec_reader *reader = support_open_bytes(context, &file);
        assert_int_equal(wcodec_copy(reader, NULL, 0, support_append, &end, NULL, &report, NULL),
                         WCODEC_OK);
        assert_int_equal(report.coded_size, end.size);
        assert_int_equal(report.size, original.size);
        assert_int_equal(report.tensors, 5);
        assert_int_equal(report.aliases, 1);
        support_expect_original(context, &end, &original);
        wcodec_encode_options_init(&options);
        options.index_first = 1;
        assert_int_equal(
            wcodec_copy(reader, NULL, 0, support_append, &front, &options, &report, NULL),
            WCODEC_OK);
        assert_int_equal(report.coded_size, front.size);
        support_expect_original(context, &front, &original);
        wcodec_reader_close(reader);
        reader = support_open_bytes(context, &front);
        assert_int_equal(wcodec_reader_file(reader, 0, &info, NULL), WCODEC_OK);
        assert_true(info.index_first);
        assert_string_equal(info.name, "model.safetensors");
        assert_int_equal(info.mode, 0644);
        assert_int_equal(wcodec_reader_metadata_count(reader, 0), 2);
        assert_int_equal(wcodec_copy(reader, NULL, 0, support_append, &again, NULL, NULL, NULL),
                         WCODEC_OK);
        assert_int_equal(again.size, end.size);
        assert_memory_equal(again.data, end.data, end.size);
        wcodec_reader_close(reader);
        free(again.data);
        free(front.data);
        free(end.data);
        free(original.data);
        free(file.data);
        support_recipe_free(&r);
    }
    wcodec_context_destroy(context);
}

/* Every choice of the tensors a, b, c (an alias of b), d, e. */
static void copies_any_tensors(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_recipe r;
    struct support_bytes file;
    support_recipe_init(&r, support_seed());
    support_recipe_build(&r, &file);
    wcodec_reader *reader = support_open_bytes(context, &file);
    for (unsigned choice = 0; choice < 64; choice++) {
        struct support_bytes got = {0};
        wcodec_encode_options options;
        uint64_t tensors[5];
        size_t count = 0;
        for (unsigned i = 0; i < 5; i++)
            if ((choice >> i & 1) != 0)
                tensors[count++] = i;
        wcodec_encode_options_init(&options);
        options.index_first = (int)(choice >> 5);
        assert_int_equal(
            wcodec_copy(reader, tensors, count, support_append, &got, &options, NULL, NULL),
            WCODEC_OK);
        wcodec_reader *copy = support_open_bytes(context, &got);
        assert_int_equal(wcodec_reader_test(copy, 0, 0, NULL, NULL), WCODEC_OK);
        assert_int_equal(wcodec_reader_tensor_count(copy), count);
        for (size_t i = 0; i < count; i++) {
            const struct support_entry *e = &r.entries[tensors[i] + 1];
            wcodec_tensor_info info;
            assert_int_equal(wcodec_reader_tensor(copy, i, &info, NULL), WCODEC_OK);
            assert_string_equal(info.name, e->name);
            assert_int_equal(info.size, e->size);
            assert_int_equal(info.rank, e->rank);
            uint8_t *bytes = malloc((size_t)info.size + 1);
            assert_int_equal(wcodec_reader_decode(copy, i, bytes, (size_t)info.size, NULL, NULL),
                             WCODEC_OK);
            if (info.size != 0)
                assert_memory_equal(bytes, e->data, (size_t)info.size);
            free(bytes);
        }
        wcodec_reader_close(copy);
        free(got.data);
    }
    wcodec_reader_close(reader);
    free(file.data);
    support_recipe_free(&r);
    wcodec_context_destroy(context);
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)opaque, (void)done, (void)total;
    return 1;
}

static int fail_late(void *opaque, const void *data, size_t size)
{
    (void)data, (void)size;
    return --*(int *)opaque < 0 ? 28 : 0; /* ENOSPC */
}

static void refuses(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_recipe r;
    struct support_bytes file, got = {0};
    const uint64_t wrong[][2] = {{1, 1}, {2, 1}, {0, 5}}, right[] = {0, 1};
    wcodec_encode_options options;
    wcodec_error err;
    support_recipe_init(&r, 8);
    r.entries[4].payload_hash ^= 1;
    support_recipe_build(&r, &file);
    wcodec_reader *reader = support_open_bytes(context, &file);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(wcodec_copy(reader, wrong[i], 2, support_append, &got, NULL, NULL, NULL),
                         WCODEC_ERROR_USAGE);
    assert_int_equal(got.size, 0);
    assert_int_equal(wcodec_copy(reader, NULL, 0, support_append, &got, NULL, NULL, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "tensor 'd': the hash of its payload differs"));
    wcodec_encode_options_init(&options);
    options.progress.fn = stop;
    assert_int_equal(wcodec_copy(reader, right, 2, support_append, &got, &options, NULL, NULL),
                     WCODEC_ERROR_CANCELLED);
    for (int first = 0; first < 2; first++)
        for (int calls = 0; calls < 3; calls++) {
            const uint64_t tensor = 1;
            int left = calls;
            wcodec_encode_options_init(&options);
            options.index_first = first;
            const wcodec_status written =
                wcodec_copy(reader, &tensor, 1, fail_late, &left, &options, NULL, NULL);
            assert_int_equal(written, left < 0 ? WCODEC_ERROR_IO : WCODEC_OK);
        }
    options.index_first = 1;
    assert_int_equal(
        wcodec_compress_memory(context, "x", 1, support_append, &got, &options, NULL, NULL),
        WCODEC_ERROR_USAGE);
    wcodec_writer *writer;
    assert_int_equal(wcodec_writer_create(context, support_append, &got, &options, &writer, NULL),
                     WCODEC_ERROR_USAGE);
    wcodec_reader_close(reader);
    free(file.data);
    support_recipe_build(&r, &file);
    /* As much as opening takes is too little for a payload and what it decodes to. */
    wcodec_context *small = NULL;
    wcodec_status status = WCODEC_ERROR_LIMIT;
    for (uint64_t most = 1000; status == WCODEC_ERROR_LIMIT; most += 500) {
        wcodec_context_destroy(small);
        small = support_context_limited(1, most);
        status = wcodec_reader_open_memory(small, file.data, file.size, &reader, NULL);
    }
    assert_int_equal(status, WCODEC_OK);
    assert_int_equal(wcodec_copy(reader, NULL, 0, support_append, &got, NULL, NULL, NULL),
                     WCODEC_ERROR_LIMIT);
    wcodec_reader_close(reader);
    free(got.data);
    free(file.data);
    support_recipe_free(&r);
    wcodec_context_destroy(small);
    wcodec_context_destroy(context);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    const uint64_t tensors[] = {0, 1, 2};
    support_recipe_init(&r, 5);
    support_recipe_build(&r, &file);
    for (int first = 0; first < 2; first++) {
        wcodec_status status = WCODEC_ERROR_MEMORY;
        for (long n = 0; status != WCODEC_OK; n++) {
            struct support_allocator failing;
            struct support_bytes got = {0};
            wcodec_encode_options options;
            support_allocator_init(&failing, SUPPORT_NEVER);
            wcodec_context *context = support_context(1, &failing.allocator);
            wcodec_reader *reader = support_open_bytes(context, &file);
            wcodec_encode_options_init(&options);
            options.index_first = first;
            failing.left = n;
            failing.once = true;
            status = wcodec_copy(reader, tensors, 3, support_append, &got, &options, NULL, NULL);
            assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
            failing.left = SUPPORT_NEVER;
            wcodec_reader_close(reader);
            wcodec_context_destroy(context);
            assert_int_equal(failing.balance, 0);
            free(got.data);
            assert_true(n < 1000);
        }
    }
    free(file.data);
    support_recipe_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_all),
        cmocka_unit_test(copies_any_tensors),
        cmocka_unit_test(refuses),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
