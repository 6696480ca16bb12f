/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Small tensors whose payloads are packed, which start at any byte, between others: in groups,
 * copied and written with the index in front, cut short, damaged, and resident. */
#include "support_model.h"

#include "read/reader.h"
#include <stdio.h>
#include <string.h>
#include <wcodec/resident.h>
#include <wcodec/writer.h>

enum { SMALL = 300, LARGE_EVERY = 100, TENSORS = SMALL + SMALL / LARGE_EVERY };

/* More than a group holds, and some that are none of its. */
static void make_model(struct support_model *model, uint64_t seed)
{
    static const struct {
        const char *dtype;
        unsigned bits;
    } dtypes[] = {{"F16", 16}, {"F32", 32}, {"BF16", 16}, {"I8", 8}};
    char name[32];
    support_model_init(model);
    for (unsigned i = 0; i < SMALL; i++) {
        const unsigned d = i % 4;
        snprintf(name, sizeof name, "small.%u", i);
        support_model_add(model, name, dtypes[d].dtype, dtypes[d].bits,
                          1 + support_random(&seed) % 700, SUPPORT_WEIGHTS, &seed);
        if (i % LARGE_EVERY != 0)
            continue;
        snprintf(name, sizeof name, "large.%u", i);
        support_model_add(model, name, "BF16", 16, 30000, SUPPORT_WEIGHTS, &seed);
    }
    support_model_finish(model, "", 0);
}

static void compress(wcodec_context *context, const struct support_model *model,
                     struct support_sink *sink)
{
    wcodec_encode_options options;
    wcodec_error err;
    support_sink_init(sink);
    wcodec_encode_options_init(&options);
    options.level = 9;
    if (wcodec_compress_memory(context, model->file, model->file_size, support_sink_write, sink,
                               &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

static unsigned count_packed(const wcodec_reader *reader)
{
    const struct wcodec_index *index = reader->shards[0].index;
    unsigned packed = 0;
    for (uint64_t i = 0; i < index->entry_count; i++)
        packed += wcodec_entry_is_packed(&index->entries[i]);
    return packed;
}

/* As in the original. */
static void expect_tensor(const wcodec_reader *reader, uint64_t i,
                          const struct support_model *model)
{
    const struct wcodec_index *index = reader->shards[0].index;
    const struct wcodec_entry *e = &index->entries[index->tensors[i]];
    uint8_t *bytes = malloc((size_t)e->size);
    wcodec_error err;
    if (wcodec_reader_decode(reader, i, bytes, (size_t)e->size, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(bytes, model->file + e->file_offset, (size_t)e->size);
    free(bytes);
}

static void restores_and_decodes(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads < 4; threads += 2) {
        wcodec_context *context = support_context(threads, NULL);
        struct support_model model;
        struct support_sink file;
        make_model(&model, support_seed() + threads);
        compress(context, &model, &file);
        support_expect_restores(context, &file, model.file, model.file_size);
        wcodec_reader *reader = support_open_sink(context, &file);
        assert_in_range(count_packed(reader), SMALL / 4, SMALL);
        assert_true(reader->shards[0].index->group_count > 1);
        for (uint64_t i = 0; i < TENSORS; i++)
            expect_tensor(reader, i, &model);
        wcodec_reader_close(reader);
        support_sink_free(&file);
        support_model_free(&model);
        wcodec_context_destroy(context);
    }
}

/* `count` tensors (NULL: all), with the index in front if that is wanted. */
static void copy_to(const wcodec_reader *reader, const uint64_t *tensors, size_t count,
                    int index_first, struct support_sink *copy)
{
    wcodec_encode_options options;
    wcodec_error err;
    support_sink_init(copy);
    wcodec_encode_options_init(&options);
    options.index_first = index_first;
    if (wcodec_copy(reader, tensors, count, support_sink_write, copy, &options, NULL, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
}

/* With the index in front and back again it is the same file; some of its tensors stay packed. */
static void copies(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_model model;
    struct support_sink file, front, copy;
    uint64_t tensors[TENSORS / 2];
    make_model(&model, support_seed() + 2);
    compress(context, &model, &file);
    wcodec_reader *reader = support_open_sink(context, &file);
    const unsigned packed = count_packed(reader);
    copy_to(reader, NULL, 0, 1, &front);
    support_expect_restores(context, &front, model.file, model.file_size);
    wcodec_reader *other = support_open_sink(context, &front);
    assert_int_equal(count_packed(other), packed);
    copy_to(other, NULL, 0, 0, &copy);
    assert_int_equal(copy.size, file.size);
    assert_memory_equal(copy.data, file.data, copy.size);
    support_sink_free(&copy);
    wcodec_reader_close(other);
    for (uint64_t i = 0; i < TENSORS / 2; i++)
        tensors[i] = 1 + 2 * i;
    copy_to(reader, tensors, TENSORS / 2, 1, &copy);
    other = support_open_sink(context, &copy);
    assert_int_equal(wcodec_reader_test(other, 0, 0, NULL, NULL), WCODEC_OK);
    assert_in_range(count_packed(other), packed / 4, packed);
    wcodec_reader_close(other);
    wcodec_reader_close(reader);
    support_sink_free(&copy);
    support_sink_free(&front);
    support_sink_free(&file);
    support_model_free(&model);
    wcodec_context_destroy(context);
}

/* By the headers alone, all tensors whose payloads are there are found where they are. */
static void is_found_without_an_index(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_model model;
    struct support_sink file;
    uint64_t seed = support_seed() + 3;
    make_model(&model, seed);
    compress(context, &model, &file);
    wcodec_reader *whole = support_open_sink(context, &file);
    const struct wcodec_index *index = whole->shards[0].index;
    for (unsigned round = 0; round < 60; round++) {
        const size_t size = round == 0 ? (size_t)index->body_end
                                       : (size_t)(support_random(&seed) % index->body_end);
        wcodec_reader *reader;
        if (wcodec_reader_salvage_memory(context, file.data, size, &reader, NULL) != WCODEC_OK) {
            assert_true(size < index->groups[0].offset + index->groups[0].header_size);
            continue;
        }
        const struct wcodec_index *found = reader->shards[0].index;
        assert_true(round != 0 || found->entry_count == index->entry_count);
        for (uint64_t i = 0; i < found->entry_count; i++) {
            const struct wcodec_entry *e = &index->entries[i];
            assert_int_equal(found->entries[i].payload_offset, e->payload_offset);
            assert_int_equal(found->entries[i].cut, e->payload_offset + e->payload_size > size);
        }
        for (uint64_t i = 0; i < found->tensor_count; i++)
            if (!found->entries[found->tensors[i]].cut)
                expect_tensor(reader, i, &model);
        wcodec_reader_close(reader);
    }
    wcodec_reader_close(whole);
    support_sink_free(&file);
    support_model_free(&model);
    wcodec_context_destroy(context);
}

/* A flipped bit is an error of that tensor alone, whichever way it is decoded. */
static void damage_is_found(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_model model;
    struct support_sink file;
    uint64_t seed = support_seed() + 4;
    make_model(&model, seed);
    compress(context, &model, &file);
    for (unsigned round = 0; round < 60; round++) {
        wcodec_reader *reader = support_open_sink(context, &file);
        const struct wcodec_index *index = reader->shards[0].index;
        const uint64_t i = support_random(&seed) % TENSORS;
        const struct wcodec_entry *e = &index->entries[index->tensors[i]];
        if (wcodec_entry_is_packed(e)) {
            uint8_t *at = &file.data[e->payload_offset + support_random(&seed) % e->payload_size];
            const uint8_t flip = (uint8_t)(1u << support_random(&seed) % 8);
            uint8_t *bytes = malloc((size_t)e->size);
            wcodec_error err;
            *at ^= flip;
            /* Bits behind the last element do not matter to it. */
            if (wcodec_reader_decode(reader, i, bytes, (size_t)e->size, NULL, &err) == WCODEC_OK) {
                assert_memory_equal(bytes, model.file + e->file_offset, (size_t)e->size);
            } else {
                assert_int_equal(err.status, WCODEC_ERROR_CORRUPT);
                assert_non_null(strstr(err.text, e->name));
            }
            assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, &err), WCODEC_ERROR_CORRUPT);
            assert_non_null(strstr(err.text, e->name));
            expect_tensor(reader, (i + 1) % TENSORS, &model);
            *at ^= flip;
            free(bytes);
        }
        wcodec_reader_close(reader);
    }
    support_sink_free(&file);
    support_model_free(&model);
    wcodec_context_destroy(context);
}

static void is_resident(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    struct support_model model;
    struct support_sink file;
    wcodec_resident_options options;
    wcodec_resident *resident;
    make_model(&model, support_seed() + 5);
    compress(context, &model, &file);
    wcodec_reader *reader = support_open_sink(context, &file);
    const struct wcodec_index *index = reader->shards[0].index;
    wcodec_resident_options_init(&options);
    options.form = WCODEC_RESIDENT_CODED;
    assert_int_equal(wcodec_resident_create(reader, NULL, 0, &options, &resident, NULL), WCODEC_OK);
    for (uint64_t i = 0; i < TENSORS; i++) {
        const struct wcodec_entry *e = &index->entries[index->tensors[i]];
        wcodec_resident_tensor info;
        uint8_t *bytes = malloc((size_t)e->size);
        assert_int_equal(wcodec_resident_info(resident, i, &info, NULL), WCODEC_OK);
        assert_int_equal(info.held, e->payload_size);
        assert_int_equal(
            wcodec_resident_decode(resident, i, 0, e->shape[0], bytes, (size_t)e->size, NULL),
            WCODEC_OK);
        assert_memory_equal(bytes, model.file + e->file_offset, (size_t)e->size);
        free(bytes);
    }
    wcodec_resident_destroy(resident);
    wcodec_reader_close(reader);
    support_sink_free(&file);
    support_model_free(&model);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restores_and_decodes), cmocka_unit_test(copies),
        cmocka_unit_test(is_found_without_an_index), cmocka_unit_test(damage_is_found),
        cmocka_unit_test(is_resident)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
