/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Deltas through the public interface: coded against bases of every form and decoded by them; bases
 * that are damaged or too deep (others: test_read_bases_wrong.c); and what one changed tensor
 * changes of a file. */
#include "encode/delta_work.h"
#include "support_bases.h"

#include "read/reader.h"
#include <limits.h>
#include <sys/stat.h>

static void expect_all(const wcodec_reader *reader, const struct support_model *model,
                       uint64_t *seed)
{
    support_expect_restored(reader, model->file, model->file_size);
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader);
         i += 1 + support_random(seed) % 16) {
        wcodec_tensor_info info;
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        const uint8_t *data = model->file + info.file_offset;
        if (wcodec_dtype_bits(info.dtype) % 8 != 0)
            continue;
        support_expect_rows(reader, i, 1, seed, info.shape[0], data, info.size);
        support_expect_load(reader, i, seed, info.shape[0], data, info.size);
    }
}

/* By the original, by a .wcodec file of it, and by a folder that has it: the same bytes. */
static void test_forms(void **state)
{
    static const char *const paths[] = {"base.safetensors", "base.wcodec", "folder"};
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    struct support_model base, next;
    struct support_sink plain, coded, alone;
    (void)state;
    make_models(&base, &next, &seed);
    support_put_file("base.safetensors", base.file, base.file_size);
    compress(context, base.file, base.file_size, NULL, &plain);
    support_put_file("base.wcodec", plain.data, plain.size);
    assert_int_equal(mkdir("folder", 0777), 0);
    support_put_file("folder/a.wcodec", plain.data, plain.size);
    support_put_file("folder/note", "text", 4);
    compress(context, next.file, next.file_size, NULL, &alone);
    for (unsigned i = 0; i < 3; i++) {
        wcodec_bases *bases = bases_of(context, 0, paths[i]);
        uint64_t deltas = 0, in_part[3] = {0};
        assert_int_equal(wcodec_bases_count(bases), 1);
        if (i == 0)
            compress(context, next.file, next.file_size, bases, &coded);
        wcodec_reader *reader = support_open_sink(context, &coded);
        assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
        for (uint64_t t = 0; t < wcodec_reader_tensor_count(reader); t++) {
            wcodec_delta_info info;
            assert_int_equal(wcodec_reader_delta(reader, t, &info, NULL), WCODEC_OK);
            deltas += info.delta != 0;
            assert_int_equal(info.depth, info.delta != 0);
            in_part[0] += info.alone != 0;
            in_part[1] += info.difference != 0;
            in_part[2] += info.exclusive_or != 0;
        }
        assert_true(deltas > DTYPES * 5);
        assert_true(in_part[0] != 0 && in_part[1] != 0 && in_part[2] != 0);
        expect_all(reader, &next, &seed);
        wcodec_reader_close(reader);
        wcodec_bases_destroy(bases);
    }
    assert_true(coded.size < alone.size * 3 / 4);
    support_sink_free(&alone);
    support_sink_free(&coded);
    support_sink_free(&plain);
    support_model_free(&base);
    support_model_free(&next);
    wcodec_context_destroy(context);
    unlink("folder/a.wcodec");
    unlink("folder/note");
    rmdir("folder");
    unlink("base.safetensors");
    unlink("base.wcodec");
}

static void test_chain(void **state)
{
    uint64_t seed = support_seed() + 1;
    wcodec_context *context = support_context(2, NULL);
    struct chain c;
    wcodec_error err = {0};
    wcodec_delta_info info;
    (void)state;
    make_chain(context, &c, &seed);
    wcodec_reader *reader = support_open_sink(context, &c.coded[3]);
    /* Down to the one that is alone; the originals are not needed. */
    wcodec_bases *bases = bases_of(context, 0, "2.wcodec");
    assert_int_equal(wcodec_bases_add_path(bases, "1.wcodec", NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, &err), WCODEC_ERROR_NOT_FOUND);
    assert_int_equal(wcodec_bases_add_path(bases, "0.wcodec", NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_delta(reader, 0, &info, NULL), WCODEC_OK);
    assert_int_equal(info.depth, 3);
    expect_all(reader, &c.models[3], &seed);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);

    reader = support_open_sink(context, &c.coded[3]);
    bases = bases_of(context, 2, "2.wcodec");
    assert_int_equal(wcodec_bases_add_path(bases, "1.wcodec", NULL), WCODEC_OK);
    assert_int_equal(wcodec_bases_add_path(bases, "0.wcodec", NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, &err), WCODEC_ERROR_LIMIT);
    assert_non_null(strstr(err.text, "more than 2 deltas"));
    wcodec_bases_destroy(bases);

    /* What is not given is found: nearest first, so two files are enough. */
    bases = bases_of(context, 0, NULL);
    unlink("2.safetensors");
    assert_int_equal(wcodec_bases_find(bases, reader, ".", &err), WCODEC_OK);
    assert_true(wcodec_bases_count(bases) >= 2);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, &err), WCODEC_OK);
    expect_all(reader, &c.models[3], &seed);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* Flips anywhere: an error, or the same bytes. In the base too. */
static void test_damage(void **state)
{
    if (support_threads_only())
        skip();
    uint64_t seed = support_seed() + 4;
    wcodec_context *context = support_context(1, NULL);
    struct chain c;
    unsigned unseen = 0;
    static uint8_t out[2 * ELEMENTS];
    (void)state;
    make_chain(context, &c, &seed);
    wcodec_bases *bases = bases_of(context, 0, "0.safetensors");
    const struct support_sink *coded = &c.coded[1];
    for (unsigned i = 0; i < 1500; i++) {
        const size_t place = (size_t)(support_random(&seed) % coded->size);
        const uint8_t bit = (uint8_t)(1 << i % 8);
        wcodec_reader *reader;
        coded->data[place] ^= bit;
        if (wcodec_reader_open_memory(context, coded->data, coded->size, &reader, NULL) ==
            WCODEC_OK) {
            if (wcodec_reader_set_bases(reader, bases, NULL) == WCODEC_OK &&
                wcodec_reader_decode(reader, 0, out, sizeof out, NULL, NULL) == WCODEC_OK) {
                assert_memory_equal(out, c.models[1].data, sizeof out);
                unseen++;
            }
            wcodec_reader_close(reader);
        }
        coded->data[place] ^= bit;
    }
    assert_true(unseen < 750);
    wcodec_bases_destroy(bases);
    for (size_t i = 300; i < 9000; i++)
        c.coded[0].data[i] ^= 0x5a;
    support_put_file("bad.wcodec", c.coded[0].data, c.coded[0].size);
    bases = bases_of(context, 0, "bad.wcodec");
    wcodec_reader *reader = support_open_sink(context, coded);
    wcodec_error err = {0};
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_decode(reader, 0, out, sizeof out, NULL, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "bad.wcodec"));
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    unlink("bad.wcodec");
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* Code, open, test, with one allocation that fails. Returns how many there were. */
static long run_in_memory(const struct chain *c, long left)
{
    struct support_allocator allocator;
    struct support_sink out;
    wcodec_bases *bases = NULL;
    wcodec_reader *reader = NULL;
    wcodec_encode_options options;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    support_sink_init(&out);
    const long before = allocator.calls;
    allocator.once = true;
    allocator.left = left;
    wcodec_encode_options_init(&options);
    wcodec_status status = wcodec_bases_create(context, 0, &bases, NULL);
    if (status == WCODEC_OK)
        status = wcodec_bases_add_path(bases, left % 2 ? "0.wcodec" : "0.safetensors", NULL);
    options.bases = bases;
    if (status == WCODEC_OK)
        status = wcodec_compress_memory(context, c->models[1].file, c->models[1].file_size,
                                        support_sink_write, &out, &options, NULL, NULL);
    if (status == WCODEC_OK)
        status = wcodec_reader_open_memory(context, out.data, out.size, &reader, NULL);
    if (status == WCODEC_OK)
        status = wcodec_reader_set_bases(reader, bases, NULL);
    if (status == WCODEC_OK)
        status = wcodec_reader_test(reader, 0, 0, NULL, NULL);
    assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
    assert_true(left < SUPPORT_NEVER - 1 || status == WCODEC_OK);
    const long calls = allocator.calls - before;
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    support_sink_free(&out);
    return calls;
}

/* Each allocation fails once: an error, nothing lost, and nothing left. */
static void test_memory(void **state)
{
    if (support_threads_only())
        skip();
    uint64_t seed = support_seed() + 5;
    wcodec_context *context = support_context(1, NULL);
    struct chain c;
    (void)state;
    make_chain(context, &c, &seed);
    const long calls = run_in_memory(&c, SUPPORT_NEVER - 1);
    assert_true(calls > 50);
    for (long left = 0; left < calls; left++)
        (void)run_in_memory(&c, left);
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* Bytes of a file that are not, at the same place after their tensor's beginning, in another. */
static uint64_t count_changed(const wcodec_reader *a, const wcodec_reader *b)
{
    uint64_t changed = 0;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(a); i++) {
        wcodec_tensor_info x, y;
        assert_int_equal(wcodec_reader_tensor(a, i, &x, NULL), WCODEC_OK);
        assert_int_equal(wcodec_reader_tensor(b, i, &y, NULL), WCODEC_OK);
        if (x.payload_hash != y.payload_hash || x.coded_size != y.coded_size)
            changed += x.coded_size;
    }
    return changed;
}

/* Bytes of payloads of the second file that stand in the first for the same tensor. */
static uint64_t count_same(wcodec_reader *const *readers, const struct support_sink *coded)
{
    const struct wcodec_index *a = readers[0]->shards[0].index, *b = readers[1]->shards[0].index;
    uint64_t same = 0;
    assert_int_equal(a->entry_count, b->entry_count);
    for (uint64_t i = 0; i < b->entry_count; i++) {
        const struct wcodec_entry *x = &a->entries[i], *y = &b->entries[i];
        if (x->payload_size == y->payload_size &&
            memcmp(coded[0].data + x->payload_offset, coded[1].data + y->payload_offset,
                   (size_t)y->payload_size) == 0)
            same += y->payload_size;
    }
    return same;
}

static void put_index_first(wcodec_context *context, struct support_sink *coded)
{
    wcodec_reader *reader = support_open_sink(context, coded);
    wcodec_encode_options options;
    struct support_sink front;
    wcodec_encode_options_init(&options);
    options.index_first = 1;
    support_sink_init(&front);
    assert_int_equal(wcodec_copy(reader, NULL, 0, support_sink_write, &front, &options, NULL, NULL),
                     WCODEC_OK);
    wcodec_reader_close(reader);
    support_sink_free(coded);
    *coded = front;
}

/* A tensor's coded bytes depend on it, the options and its base alone: where one of twenty is
 * changed, all others stay, wherever the index is, and so do the bytes of the files before the
 * changed one. */
static void test_stable(void **state)
{
    if (support_threads_only())
        skip();
    enum { TIMES = 4, COUNT = TIMES * ELEMENTS }; /* so many that no header is shared */
    static uint8_t data[COUNT * 2];
    uint64_t seed = support_seed() + 6;
    wcodec_context *context = support_context(2, NULL);
    struct support_model base, models[2];
    struct support_sink coded[2];
    char name[16];
    (void)state;
    support_model_init(&base);
    support_model_init(&models[0]);
    support_model_init(&models[1]);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "t%02u", i);
        for (size_t k = 0; k < TIMES; k++)
            fill(data + 2 * k * ELEMENTS, 16, &seed);
        support_model_add_data(&base, name, "BF16", COUNT, data, sizeof data);
        for (unsigned k = 0; k < COUNT; k++)
            change(data + 2 * (size_t)k, 16, 1 + i % 3, k, support_random(&seed));
        support_model_add_data(&models[0], name, "BF16", COUNT, data, sizeof data);
        data[777] ^= i == 12;
        support_model_add_data(&models[1], name, "BF16", COUNT, data, sizeof data);
    }
    support_model_finish(&base, "", 0);
    support_put_file("base", base.file, base.file_size);
    support_model_finish(&models[0], "", 0);
    support_model_finish(&models[1], "", 0);
    wcodec_bases *bases = bases_of(context, 0, "base");
    for (unsigned by = 0; by < 4; by++) {
        wcodec_reader *readers[2];
        wcodec_tensor_info info;
        for (unsigned m = 0; m < 2; m++) {
            compress(context, models[m].file, models[m].file_size, by & 1 ? bases : NULL,
                     &coded[m]);
            if (by & 2)
                put_index_first(context, &coded[m]);
            readers[m] = support_open_sink(context, &coded[m]);
        }
        assert_int_equal(wcodec_reader_tensor(readers[0], 12, &info, NULL), WCODEC_OK);
        const uint64_t changed = count_changed(readers[0], readers[1]);
        const uint64_t found = count_same(readers, coded);
        assert_int_equal(changed, info.coded_size);
        print_message("%s%s: %llu of %zu bytes are another's, %llu are found again\n",
                      by & 1 ? "deltas" : "alone", by & 2 ? ", index in front" : "",
                      (unsigned long long)changed, coded[0].size, (unsigned long long)found);
        /* What is left is one tensor, index, headers, and padding. */
        assert_true(found + changed + 8192 > coded[1].size);
        size_t same = 0;
        while (same < coded[0].size && same < coded[1].size &&
               coded[0].data[same] == coded[1].data[same])
            same++;
        /* Small payloads share a header, which stands before all of them. */
        assert_true(by != 0 || same > coded[0].size / 2);
        for (unsigned m = 0; m < 2; m++) {
            wcodec_reader_close(readers[m]);
            support_sink_free(&coded[m]);
        }
    }
    wcodec_bases_destroy(bases);
    support_model_free(&base);
    support_model_free(&models[0]);
    support_model_free(&models[1]);
    unlink("base");
    wcodec_context_destroy(context);
}

/* Of an equal tensor that is a delta its name is needed: it cannot be copied without that one. */
static void test_copies(void **state)
{
    if (support_threads_only())
        skip();
    uint64_t seed = support_seed() + 7;
    wcodec_context *context = support_context(1, NULL);
    struct support_sink out;
    struct chain c;
    (void)state;
    make_chain(context, &c, &seed);
    wcodec_bases *bases = bases_of(context, 0, "0.safetensors");
    wcodec_reader *reader = support_open_sink(context, &c.coded[1]);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    for (uint64_t i = 0; i < 2; i++) {
        wcodec_delta_info info;
        support_sink_init(&out);
        assert_int_equal(wcodec_reader_delta(reader, i, &info, NULL), WCODEC_OK);
        assert_true(info.delta);
        assert_int_equal(wcodec_copy(reader, &i, 1, support_sink_write, &out, NULL, NULL, NULL),
                         i == 0 ? WCODEC_OK : WCODEC_ERROR_UNSUPPORTED);
        if (i == 0) {
            wcodec_reader *copy = support_open_sink(context, &out);
            assert_int_equal(wcodec_reader_set_bases(copy, bases, NULL), WCODEC_OK);
            assert_int_equal(wcodec_reader_test(copy, 0, 0, NULL, NULL), WCODEC_OK);
            wcodec_reader_close(copy);
        }
        support_sink_free(&out);
    }
    /* Compressed anew it stands alone. */
    support_sink_init(&out);
    assert_int_equal(wcodec_recompress(reader, 0, support_sink_write, &out, NULL, NULL, NULL),
                     WCODEC_OK);
    support_expect_restores(context, &out, c.models[1].file, c.models[1].file_size);
    support_sink_free(&out);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* The side of a delta whose streams somebody else has coded is read again: any byte that is not as
 * it has to be is seen, also where its check is right. */
static void test_side_is_read(void **state)
{
    enum { TILES = 40 };
    struct wcodec_delta_work_tile tiles[TILES];
    struct wcodec_delta_counts counts = {{9, 3, 1, 1}, {5, 2, 1, 0, 7}};
    wcodec_context *context = NULL;
    struct wcodec_delta_found found = {.opaque = NULL};
    uint8_t *side = NULL;
    uint64_t room = 0;
    (void)state;
    assert_int_equal(wcodec_context_create(NULL, &context, NULL), WCODEC_OK);
    struct wcodec_delta_work w = {.context = context, .found = &found, .tiles = tiles};
    w.d = (struct wcodec_delta){.tile_log2 = 12, .elements = TILES << 12, .tiles = TILES};
    for (uint32_t i = 0; i < TILES; i++) {
        const bool equal = i % 3 == 0;
        tiles[i] = (struct wcodec_delta_work_tile){.size = equal ? 0 : 1u << i % 18,
                                                   .check = 1234567 * i,
                                                   .result = 7654321 * i,
                                                   .mode = equal ? WCODEC_DELTA_EQUAL
                                                                 : WCODEC_DELTA_SPARSE};
        w.d.counts[tiles[i].mode] += 1 << 12;
        w.d.streams_size += tiles[i].size;
    }
    wcodec_delta_code_plan(counts.gaps, WCODEC_DELTA_GAPS, &w.gaps);
    wcodec_delta_code_plan(counts.values, WCODEC_DELTA_VALUES, &w.values);
    assert_int_equal(wcodec_delta_make_side(&w, &side, &room, NULL), WCODEC_OK);
    assert_int_equal(room, (w.d.side_size + 15) / 16 * 16);
    assert_int_equal(wcodec_delta_prove(&w, side, NULL), WCODEC_OK);
    for (uint64_t i = 0; i < w.d.side_size; i++) {
        side[i] ^= (uint8_t)(1u << i % 8);
        w.d.check = wcodec_delta_check(side, w.d.side_size);
        assert_int_equal(wcodec_delta_prove(&w, side, NULL), WCODEC_ERROR_DEVICE);
        atomic_store(&w.wrong, false);
        side[i] ^= (uint8_t)(1u << i % 8);
    }
    assert_int_equal(wcodec_delta_prove(&w, side, NULL), WCODEC_ERROR_DEVICE); /* another check */
    free(side);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),  cmocka_unit_test(test_chain),
        cmocka_unit_test(test_damage), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_stable), cmocka_unit_test(test_side_is_read),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
