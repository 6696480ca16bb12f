/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Looking for bases in a folder. */
#include "support_bases.h"

#include "read/bases.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* What looks for bases reads no file that cannot be one, none twice, and only indices where nothing
 * is decoded. */
static void test_find(void **state)
{
    uint64_t seed = support_seed() + 10;
    wcodec_context *context = support_context(1, NULL);
    struct support_model like;
    struct chain c;
    (void)state;
    make_chain(context, &c, &seed);
    wcodec_reader *reader = support_open_sink(context, &c.coded[1]);
    wcodec_bases *bases = bases_of(context, 0, NULL);
    for (unsigned i = 0; i < LINKS; i++) {
        const char name[] = {(char)('0' + i), '.', 'w', 'c', 'o', 'd', 'e', 'c', 0};
        unlink(name);
    }
    /* Of the size that is looked for, but with other tensors. */
    support_model_init(&like);
    support_model_add_data(&like, "x", "BF16", ELEMENTS, c.models[0].data, (size_t)2 * ELEMENTS);
    support_model_add_data(&like, "y", "BF16", ELEMENTS, c.models[0].data, (size_t)2 * ELEMENTS);
    support_model_finish(&like, "", 0);
    assert_int_equal(like.file_size, c.models[0].file_size);
    support_put_file("like.safetensors", like.file, like.file_size);
    assert_int_equal(rename("0.safetensors", "z"), 0);
    assert_int_equal(wcodec_bases_find_coded(bases, reader, ".", NULL), WCODEC_OK);
    assert_int_equal(wcodec_bases_count(bases), 0);
    assert_int_equal(bases->hash_count, 0);
    assert_int_equal(wcodec_bases_find(bases, reader, ".", NULL), WCODEC_OK);
    assert_int_equal(wcodec_bases_count(bases), 1);
    assert_int_equal(bases->hash_count, LINKS);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    support_expect_restored(reader, c.models[1].file, c.models[1].file_size);
    assert_int_equal(wcodec_reader_set_bases(reader, NULL, NULL), WCODEC_OK);
    wcodec_bases_destroy(bases);

    support_put_file("0.wcodec", c.coded[0].data, c.coded[0].size);
    bases = bases_of(context, 0, NULL);
    assert_int_equal(wcodec_bases_find_coded(bases, reader, ".", NULL), WCODEC_OK);
    assert_int_equal(wcodec_bases_count(bases), 1);
    assert_int_equal(bases->hash_count, 0);
    wcodec_bases_destroy(bases);
    wcodec_reader_close(reader);
    support_model_free(&like);
    unlink("like.safetensors");
    unlink("z");
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* A folder with a chain that is longer than may be is not read to its end: each file is looked for
 * by the one after it, which a round through the folder meets later. */
static void test_long_chain(void **state)
{
    enum { FILES = 40, SIZE = 4200, DEPTH = 5 };
    static uint8_t data[2 * SIZE];
    uint64_t seed = support_seed() + 13;
    wcodec_context *context = support_context(1, NULL);
    struct support_sink coded;
    wcodec_error err = {0};
    char name[24];
    (void)state;
    for (unsigned k = 0; k < SIZE; k++)
        wcodec_store_u16(data + (size_t)2 * k, 90 + (support_random(&seed) & 31));
    assert_int_equal(mkdir("chain", 0777), 0);
    for (unsigned i = 0; i < FILES; i++) {
        struct support_model model;
        support_model_init(&model);
        support_model_add_data(&model, "w", "BF16", SIZE, data, sizeof data);
        support_model_finish(&model, "", 0);
        wcodec_bases *bases = i > 0 ? bases_of(context, 0, "before") : NULL;
        compress(context, model.file, model.file_size, bases, &coded);
        wcodec_bases_destroy(bases);
        snprintf(name, sizeof name, "chain/%02u.wcodec", i);
        support_put_file(name, coded.data, coded.size);
        support_put_file("before", model.file, model.file_size);
        support_model_free(&model);
        if (i + 1 < FILES)
            support_sink_free(&coded);
        data[2 * i] ^= 1;
    }
    wcodec_reader *reader = support_open_sink(context, &coded);
    wcodec_bases *bases = bases_of(context, DEPTH, NULL);
    assert_int_equal(wcodec_bases_find(bases, reader, "chain", NULL), WCODEC_OK);
    assert_int_equal(wcodec_bases_count(bases), DEPTH + 1);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, &err), WCODEC_ERROR_LIMIT);
    assert_non_null(strstr(err.text, "more than 5 deltas"));
    wcodec_bases_destroy(bases);
    bases = bases_of(context, FILES - 1, NULL);
    assert_int_equal(wcodec_bases_find(bases, reader, "chain", NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    wcodec_bases_destroy(bases);
    wcodec_reader_close(reader);
    support_sink_free(&coded);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "chain/%02u.wcodec", i);
        unlink(name);
    }
    rmdir("chain");
    unlink("before");
    wcodec_context_destroy(context);
}

/* As if nothing had changed in it for an hour. */
static void settle(const char *folder)
{
    struct timespec times[2];
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &times[0]), 0);
    times[0].tv_sec -= 3600;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, folder, times, 0), 0);
}

static void put_coded(const char *name, const struct support_sink *coded)
{
    support_put_file(name, coded->data, coded->size);
}

/* A folder is read once for all that is looked for in it, until it changes, or a second later. */
static void test_once(void **state)
{
    uint64_t seed = support_seed() + 14;
    wcodec_context *context = support_context(1, NULL);
    struct chain c;
    (void)state;
    make_chain(context, &c, &seed);
    assert_int_equal(mkdir("once", 0777), 0);
    put_coded("once/2.wcodec", &c.coded[2]);
    put_coded("once/3.wcodec", &c.coded[3]);
    support_put_file("once/cut.wcodec", c.coded[0].data, c.coded[0].size / 2);
    wcodec_reader *reader = support_open_sink(context, &c.coded[3]);
    wcodec_bases *bases = bases_of(context, 0, NULL);
    const struct wcodec_base_folder *folder = &bases->folder;
    /* Changed just now: the next change might not show, so it is read each time. */
    assert_int_equal(wcodec_bases_find(bases, reader, "once", NULL), WCODEC_OK);
    assert_int_equal(wcodec_bases_count(bases), 1);
    assert_int_equal(folder->coded_count, 2);
    assert_int_equal(folder->read_at, 0);
    settle("once");
    assert_int_equal(wcodec_bases_find(bases, reader, "once", NULL), WCODEC_OK);
    const uint64_t read_at = folder->read_at;
    assert_true(read_at != 0);
    /* Written where it is: not seen at once, */
    put_coded("once/cut.wcodec", &c.coded[0]);
    settle("once");
    assert_int_equal(stat("once", &bases->folder.identity), 0);
    assert_int_equal(wcodec_bases_find(bases, reader, "once", NULL), WCODEC_OK);
    assert_true(folder->read_at == read_at);
    assert_int_equal(folder->coded_count, 2);
    /* but later, */
    bases->folder.read_at -= 1000000000;
    assert_int_equal(wcodec_bases_find(bases, reader, "once", NULL), WCODEC_OK);
    assert_int_equal(folder->coded_count, 3);
    assert_int_equal(wcodec_bases_count(bases), 1);
    /* and what comes in at once. */
    put_coded("once/1.wcodec", &c.coded[1]);
    assert_int_equal(wcodec_bases_find(bases, reader, "once", NULL), WCODEC_OK);
    assert_int_equal(folder->coded_count, 4);
    assert_int_equal(wcodec_bases_count(bases), 3);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    support_expect_restored(reader, c.models[3].file, c.models[3].file_size);
    /* Nothing is missing now, so that nothing is looked at, */
    assert_int_equal(wcodec_bases_find(bases, reader, "none", NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_set_bases(reader, NULL, NULL), WCODEC_OK);
    wcodec_bases_destroy(bases);
    bases = bases_of(context, 0, NULL);
    assert_int_equal(wcodec_bases_find(bases, reader, "none", NULL), WCODEC_ERROR_IO);
    wcodec_bases_destroy(bases);
    wcodec_reader_close(reader);
    for (unsigned i = 0; i < 4; i++) {
        const char *names[] = {"once/1.wcodec", "once/2.wcodec", "once/3.wcodec",
                               "once/cut.wcodec"};
        unlink(names[i]);
    }
    rmdir("once");
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* Of two that serve the one that is no delta is taken, also in the place of one that was given,
 * even while that one's own deltas are gone through: the first of them stands on itself. */
static void test_exchanged(void **state)
{
    uint64_t seed = support_seed() + 15;
    wcodec_context *context = support_context(1, NULL);
    static uint8_t data[2][2 * ELEMENTS];
    struct support_model models[3];
    struct support_sink coded[3], alone;
    (void)state;
    assert_int_equal(mkdir("two", 0777), 0);
    fill(data[0], 16, &seed);
    fill(data[1], 16, &seed);
    for (unsigned i = 0; i < 3; i++) {
        support_model_init(&models[i]);
        support_model_add_data(&models[i], "v", "BF16", ELEMENTS, data[0], sizeof data[0]);
        support_model_add_data(&models[i], "w", "BF16", ELEMENTS, data[1], sizeof data[1]);
        support_model_finish(&models[i], "", 0);
        wcodec_bases *bases = i > 0 ? bases_of(context, 0, "before") : NULL;
        compress(context, models[i].file, models[i].file_size, bases, &coded[i]);
        wcodec_bases_destroy(bases);
        support_put_file("before", models[i].file, models[i].file_size);
        data[0][4 * i] ^= 1;
        data[1][4 * i] ^= 1;
    }
    compress(context, models[1].file, models[1].file_size, NULL, &alone);
    put_coded("two/a.wcodec", &coded[1]);
    put_coded("two/b.wcodec", &alone);
    wcodec_reader *reader = support_open_sink(context, &coded[2]);
    for (unsigned given = 0; given < 3; given++) {
        wcodec_bases *bases = bases_of(context, 0, given != 0 ? "two/a.wcodec" : NULL);
        if (given == 2) {
            const struct wcodec_index *index = bases->files[0]->shard.index;
            uint64_t i = 0;
            while (index->entries[i].coding != WCODEC_CODING_DELTA)
                i++;
            assert_true(i + 1 < index->entry_count);
            assert_int_equal(index->entries[i + 1].coding, WCODEC_CODING_DELTA);
            memcpy((uint8_t *)(uintptr_t)index->entries[i].u.delta->head.base, index->hash, 16);
        }
        assert_int_equal(wcodec_bases_find(bases, given == 2 ? NULL : reader, "two", NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_bases_count(bases), 1);
        assert_string_equal(bases->files[0]->path, "two/b.wcodec");
        assert_int_equal(bases->files[0]->found, given == 0);
        assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
        support_expect_restored(reader, models[2].file, models[2].file_size);
        assert_int_equal(wcodec_reader_set_bases(reader, NULL, NULL), WCODEC_OK);
        wcodec_bases_destroy(bases);
    }
    wcodec_reader_close(reader);
    support_sink_free(&alone);
    for (unsigned i = 0; i < 3; i++) {
        support_sink_free(&coded[i]);
        support_model_free(&models[i]);
    }
    unlink("before");
    unlink("two/a.wcodec");
    unlink("two/b.wcodec");
    rmdir("two");
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_exchanged),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
