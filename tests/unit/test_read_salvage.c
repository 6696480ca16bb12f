/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files that are cut short, or have lost index or tail: what is whole is found by the headers of
 * groups, and nothing that is not. */

#include "support_container.h"
#include "support_memory.h"
#include "core/dtype.h"
#include "format/groups.h"
#include "io/source.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcodec/reader.h>
#include <wcodec/writer.h>
#include <xxhash.h>

static wcodec_reader *salvage(wcodec_context *context, const struct support_bytes *file)
{
    wcodec_reader *reader;
    wcodec_error err = {0};
    if (wcodec_reader_salvage_memory(context, file->data, file->size, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return reader;
}

static wcodec_file_info file_info(const wcodec_reader *reader)
{
    wcodec_file_info info;
    assert_int_equal(wcodec_reader_file(reader, 0, &info, NULL), WCODEC_OK);
    return info;
}

/* Every tensor decodes to its bytes or is an error; how many do. */
static unsigned count_whole(const wcodec_reader *reader, const struct support_recipe *r)
{
    unsigned whole = 0;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        const struct support_entry *e = &r->entries[i + 1];
        assert_string_equal(info.name, e->name);
        assert_int_equal(info.size, e->size);
        uint8_t *bytes = malloc(info.size != 0 ? (size_t)info.size : 1);
        const wcodec_status status =
            wcodec_reader_decode(reader, i, bytes, (size_t)info.size, NULL, NULL);
        if (status == WCODEC_OK && info.size != 0)
            assert_memory_equal(bytes, e->data, (size_t)info.size);
        else if (status != WCODEC_OK)
            assert_int_equal(status, WCODEC_ERROR_CORRUPT);
        whole += status == WCODEC_OK;
        free(bytes);
    }
    return whole;
}

/* Cut anywhere: more is never saved from less, and all of it before the index begins. */
static void saves_what_is_whole_of_any_part(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_recipe r;
    struct support_bytes file;
    support_recipe_init(&r, support_seed());
    support_recipe_build(&r, &file);
    const size_t body = (size_t)wcodec_load_u64(file.data + file.size - 64);
    unsigned before = 0;
    for (size_t size = 64; size < file.size; size++) {
        /* Not a byte more, so that sanitizers see what is read past the end. */
        struct support_bytes cut = {malloc(size), size};
        memcpy(cut.data, file.data, size);
        wcodec_reader *reader = NULL;
        wcodec_error err = {0};
        const wcodec_status status =
            wcodec_reader_salvage_memory(context, cut.data, cut.size, &reader, &err);
        assert_int_equal(err.status, status);
        if (status == WCODEC_OK) {
            const wcodec_file_info info = file_info(reader);
            const unsigned whole = count_whole(reader, &r);
            assert_true(info.rebuilt);
            assert_true(whole >= before);
            assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL),
                             size >= body || info.missing == 0 ? WCODEC_OK : WCODEC_ERROR_CORRUPT);
            before = whole;
        } else {
            assert_int_equal(status, WCODEC_ERROR_CORRUPT);
            assert_int_equal(before, 0);
        }
        if (size >= body)
            assert_int_equal(before, 5);
        wcodec_reader_close(reader);
        free(cut.data);
    }
    free(file.data);
    support_recipe_free(&r);
    wcodec_context_destroy(context);
}

/* With the index or tail damaged, the original comes back; an index that is right is used. */
static void restores_without_an_index(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_recipe r;
    struct support_bytes file, original;
    support_recipe_init(&r, support_seed());
    support_recipe_build(&r, &file);
    support_recipe_original(&r, &original);
    const size_t body = (size_t)wcodec_load_u64(file.data + file.size - 64);
    wcodec_reader *reader = salvage(context, &file);
    assert_false(file_info(reader).rebuilt);
    wcodec_reader_close(reader);
    for (size_t at = body; at < file.size; at++) {
        struct support_bytes got = {0};
        file.data[at] ^= 0x10;
        assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                         WCODEC_ERROR_CORRUPT);
        reader = salvage(context, &file);
        const wcodec_file_info info = file_info(reader);
        assert_true(info.rebuilt);
        assert_int_equal(info.missing, 0);
        assert_int_equal(info.size, original.size);
        assert_int_equal(wcodec_reader_restore(reader, 0, support_append, &got, NULL, NULL),
                         WCODEC_OK);
        assert_int_equal(got.size, original.size);
        assert_memory_equal(got.data, original.data, got.size);
        assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL), WCODEC_OK);
        wcodec_reader_close(reader);
        free(got.data);
        file.data[at] ^= 0x10;
    }
    free(original.data);
    free(file.data);
    support_recipe_free(&r);
    wcodec_context_destroy(context);
}

/* A flipped bit anywhere in a file without its tail: an error, or right bytes. */
static void survives_flips(void **state)
{
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    struct support_recipe r;
    struct support_bytes file;
    support_recipe_init(&r, support_seed());
    support_recipe_build(&r, &file);
    file.size = (size_t)wcodec_load_u64(file.data + file.size - 64);
    for (size_t bit = 0; bit < 8 * file.size; bit += bit % 8 == 7 ? 1 : 3) {
        wcodec_reader *reader = NULL;
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const wcodec_status status =
            wcodec_reader_salvage_memory(context, file.data, file.size, &reader, NULL);
        if (status == WCODEC_OK)
            (void)count_whole(reader, &r);
        wcodec_reader_close(reader);
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(file.data);
    support_recipe_free(&r);
    wcodec_context_destroy(context);
}

/* Headers with right checksums and anything in them: refused, or consistent. */
static void survives_random_headers(void **state)
{
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    uint64_t seed = support_seed();
    unsigned opened = 0;
    for (unsigned round = 0; round < 3000; round++) {
        struct support_recipe r;
        struct support_bytes file, header;
        wcodec_reader *reader = NULL;
        support_recipe_init(&r, round % 16);
        support_recipe_build(&r, &file);
        support_recipe_header(&r, 0, &header);
        assert_memory_equal(file.data + 64, header.data, header.size);
        for (unsigned n = (unsigned)(support_random(&seed) % 3) + 1; n > 0; n--)
            file.data[72 + support_random(&seed) % (header.size - 8)] =
                (uint8_t)support_random(&seed);
        const uint32_t size = wcodec_load_u32(file.data + 72) & 0x7fffffff;
        if (size >= 12 && size < file.size - 64)
            wcodec_store_u64(file.data + 64, XXH3_64bits(file.data + 72, size - 8));
        const wcodec_status status =
            wcodec_reader_salvage_memory(context, file.data, file.size / 2, &reader, NULL);
        if (status == WCODEC_OK) {
            opened++;
            for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
                wcodec_tensor_info info;
                assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
                uint8_t *bytes = info.size <= 1 << 20 ? malloc((size_t)info.size + 1) : NULL;
                if (bytes != NULL)
                    (void)wcodec_reader_decode(reader, i, bytes, (size_t)info.size, NULL, NULL);
                free(bytes);
            }
        }
        wcodec_reader_close(reader);
        free(header.data);
        free(file.data);
        support_recipe_free(&r);
    }
    assert_true(opened > 10);
    wcodec_context_destroy(context);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    struct wcodec_source source;
    const wcodec_limits limits = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, {0}};
    support_recipe_init(&r, 3);
    support_recipe_build(&r, &file);
    wcodec_source_memory(file.data, file.size - 64, &source);
    wcodec_status status = WCODEC_ERROR_MEMORY;
    long n;
    for (n = 0; status != WCODEC_OK; n++) {
        struct support_allocator failing;
        struct wcodec_index *index = NULL;
        support_allocator_init(&failing, n);
        failing.once = true;
        status = wcodec_index_rebuild(&source, &failing.allocator, &limits, &index, NULL);
        assert_int_equal(status, failing.calls <= n ? WCODEC_OK : WCODEC_ERROR_MEMORY);
        wcodec_index_free(index);
        assert_int_equal(failing.balance, 0);
    }
    assert_true(n > 5);
    free(file.data);
    support_recipe_free(&r);
}

/* A payload that holds the bytes of a container, header and all, is not taken for one. */
static void does_not_look_into_payloads(void **state)
{
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    struct support_recipe inner;
    struct support_bytes bytes, file = {0};
    const uint64_t shape[2] = {16, 2};
    wcodec_writer *writer;
    wcodec_reader *reader;
    support_recipe_init(&inner, support_seed());
    support_recipe_build(&inner, &bytes);
    const uint64_t sizes[] = {bytes.size, 32};
    assert_int_equal(wcodec_writer_create(context, support_append, &file, NULL, &writer, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_writer_declare(writer, "stored", WCODEC_DTYPE_U8, &sizes[0], 1, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_writer_declare(writer, "last", WCODEC_DTYPE_U8, shape, 2, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_writer_metadata(writer, "format", "pt", NULL), WCODEC_OK);
    assert_int_equal(wcodec_writer_data(writer, bytes.data, bytes.size, NULL), WCODEC_OK);
    assert_int_equal(wcodec_writer_data(writer, bytes.data, 32, NULL), WCODEC_OK);
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_OK);
    wcodec_writer_destroy(writer);
    for (size_t cut = 200; cut < file.size; cut++) {
        const struct support_bytes part = {file.data, cut};
        if (wcodec_reader_salvage_memory(context, part.data, part.size, &reader, NULL) != WCODEC_OK)
            continue;
        for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
            wcodec_tensor_info info;
            assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
            assert_string_equal(info.name, i == 0 ? "stored" : "last");
            assert_int_equal(info.size, sizes[i]);
        }
        wcodec_reader_close(reader);
    }
    file.size -= 64;
    reader = salvage(context, &file);
    const char *key, *value;
    assert_int_equal(wcodec_reader_tensor_count(reader), 2);
    assert_int_equal(file_info(reader).level, 3);
    assert_int_equal(wcodec_reader_metadata_count(reader, 0), 1);
    assert_int_equal(wcodec_reader_metadata(reader, 0, 0, &key, &value, NULL), WCODEC_OK);
    assert_string_equal(key, "format");
    assert_string_equal(value, "pt");
    wcodec_reader_close(reader);
    free(file.data);
    free(bytes.data);
    support_recipe_free(&inner);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saves_what_is_whole_of_any_part),
        cmocka_unit_test(restores_without_an_index),
        cmocka_unit_test(survives_flips),
        cmocka_unit_test(survives_random_headers),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(does_not_look_into_payloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
