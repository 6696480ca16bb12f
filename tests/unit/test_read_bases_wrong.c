/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Bases that are wrong, missing, changed, too many, each other's, or not what they say. */
#include "support_bases.h"

#include "read/bases.h"
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void hash_text(const struct support_model *model, wcodec_context *context, char text[33])
{
    uint8_t hash[16];
    assert_int_equal(wcodec_hash_memory(context, model->file, model->file_size, hash, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

static void test_wrong(void **state)
{
    uint64_t seed = support_seed() + 2;
    wcodec_context *context = support_context(1, NULL);
    static uint8_t out[2 * ELEMENTS];
    char wanted[33], given[33];
    struct chain c;
    wcodec_error err = {0};
    (void)state;
    make_chain(context, &c, &seed);
    hash_text(&c.models[0], context, wanted);
    hash_text(&c.models[2], context, given);
    wcodec_reader *reader = support_open_sink(context, &c.coded[1]);
    assert_int_equal(wcodec_reader_decode(reader, 0, out, sizeof out, NULL, &err),
                     WCODEC_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, wanted));
    assert_non_null(strstr(err.text, "'w'"));
    wcodec_bases *bases = bases_of(context, 0, "2.safetensors");
    err = (wcodec_error){0};
    assert_int_equal(wcodec_reader_set_bases(reader, bases, &err), WCODEC_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, wanted));
    assert_non_null(strstr(err.text, given));
    assert_non_null(strstr(err.text, "2.safetensors"));
    wcodec_bases_destroy(bases);
    bases = bases_of(context, 0, NULL);
    assert_int_equal(wcodec_bases_add_path(bases, "none", NULL), WCODEC_ERROR_NOT_FOUND);
    support_put_file("text", "no tensors here", 15);
    assert_int_equal(wcodec_bases_add_path(bases, "text", NULL), WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_bases_count(bases), 0);
    /* A base that is changed while it is open. */
    assert_int_equal(wcodec_bases_add_path(bases, "0.safetensors", NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_decode(reader, 0, out, sizeof out, NULL, NULL), WCODEC_OK);
    assert_int_equal(truncate("0.safetensors", 1000), 0);
    assert_int_equal(wcodec_reader_decode(reader, 0, out, sizeof out, NULL, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "0.safetensors"));
    assert_int_equal(wcodec_reader_set_bases(reader, NULL, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_decode(reader, 0, out, sizeof out, NULL, NULL),
                     WCODEC_ERROR_NOT_FOUND);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    wcodec_bases_destroy(NULL);
    assert_int_equal(wcodec_bases_create(context, 65, &bases, NULL), WCODEC_ERROR_USAGE);
    unlink("text");
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* A .wcodec file that says another hash than its original's: what is read through it is compared
 * with what was coded, tile by tile. */
static void test_lies(void **state)
{
    uint64_t seed = support_seed() + 8;
    wcodec_context *context = support_context(2, NULL);
    static uint8_t out[2 * ELEMENTS];
    struct support_sink lie;
    struct chain c;
    wcodec_error err = {0};
    uint8_t hash[16];
    (void)state;
    make_chain(context, &c, &seed);
    const struct support_model *m = &c.models[0];
    assert_int_equal(wcodec_hash_memory(context, m->file, m->file_size, hash, NULL), WCODEC_OK);
    m->file[m->file_size - sizeof out + 2 * 20000] ^= 1; /* of the second tile of 'v', coded last */
    m->file[m->file_size - 2 * sizeof out + 2 * 20000] ^= 1;
    compress(context, m->file, m->file_size, NULL, &lie);
    support_put_file("lie.wcodec", lie.data, lie.size);
    wcodec_bases *bases = bases_of(context, 0, "lie.wcodec");
    memcpy(bases->files[0]->hash, hash, sizeof hash); /* as if its index said so */
    wcodec_reader *reader = support_open_sink(context, &c.coded[1]);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(wcodec_reader_decode(reader, i, out, sizeof out, NULL, &err),
                         WCODEC_ERROR_CORRUPT);
        assert_non_null(strstr(err.text, "lie.wcodec"));
        assert_non_null(strstr(err.text, i == 0 ? "'w'" : "'v'"));
        assert_non_null(strstr(err.text, "tile 1 "));
        assert_int_equal(wcodec_reader_decode_rows(reader, i, 19990, 20, out, 40, NULL, &err),
                         WCODEC_ERROR_CORRUPT);
        assert_int_equal(wcodec_reader_decode_rows(reader, i, 0, 16384, out, 32768, NULL, &err),
                         WCODEC_OK);
        assert_memory_equal(out, c.models[1].data + i * sizeof out, 32768);
    }
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    support_sink_free(&lie);
    unlink("lie.wcodec");
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* Where a base is missing, tensors that need none are decoded, and others by what is there. */
static void test_some(void **state)
{
    if (support_threads_only())
        skip();
    uint64_t seed = support_seed() + 9;
    wcodec_context *context = support_context(1, NULL);
    static uint8_t data[ELEMENTS * 2], out[ELEMENTS * 2];
    const uint64_t own = 1, delta = 0, none = 2;
    struct support_model base, next;
    struct support_sink coded;
    wcodec_error err = {0};
    (void)state;
    fill(data, 16, &seed);
    support_model_init(&base);
    support_model_init(&next);
    support_model_add_data(&base, "a", "BF16", ELEMENTS, data, sizeof data);
    support_model_add_data(&next, "a", "BF16", ELEMENTS, data, sizeof data);
    data[5] ^= 1;
    support_model_add_data(&next, "b", "BF16", ELEMENTS, data, sizeof data);
    support_model_finish(&base, "", 0);
    support_model_finish(&next, "", 0);
    support_put_file("base", base.file, base.file_size);
    wcodec_bases *bases = bases_of(context, 0, "base"), *empty = bases_of(context, 0, NULL);
    compress(context, next.file, next.file_size, bases, &coded);
    wcodec_reader *reader = support_open_sink(context, &coded);
    assert_int_equal(wcodec_reader_set_bases(reader, empty, NULL), WCODEC_ERROR_NOT_FOUND);
    assert_int_equal(wcodec_reader_set_bases_for(reader, empty, &delta, 1, &err),
                     WCODEC_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "'a'"));
    assert_int_equal(wcodec_reader_set_bases_for(reader, empty, &none, 1, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_set_bases_for(reader, empty, NULL, 1, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_set_bases_for(reader, empty, &own, 1, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_decode(reader, 1, out, sizeof out, NULL, NULL), WCODEC_OK);
    assert_memory_equal(out, data, sizeof out);
    assert_int_equal(wcodec_reader_decode(reader, 0, out, sizeof out, NULL, &err),
                     WCODEC_ERROR_NOT_FOUND);
    assert_int_equal(wcodec_reader_set_bases_for(reader, bases, NULL, 0, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_decode(reader, 0, out, sizeof out, NULL, NULL), WCODEC_OK);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    wcodec_bases_destroy(empty);
    support_sink_free(&coded);
    support_model_free(&base);
    support_model_free(&next);
    unlink("base");
    wcodec_context_destroy(context);
}

/* More bases than a process may have descriptors, of both kinds. */
static void test_many(void **state)
{
    if (support_threads_only())
        skip();
    enum { MANY = 150, SIZE = 600 };
    wcodec_context *context = support_context(1, NULL);
    uint64_t seed = support_seed() + 11;
    struct support_model next;
    struct support_sink coded;
    struct rlimit before, few;
    char name[32];
    static uint8_t data[SIZE];
    (void)state;
    assert_int_equal(mkdir("many", 0777), 0);
    support_model_init(&next);
    for (unsigned i = 0; i < MANY; i++) {
        struct support_model one;
        snprintf(name, sizeof name, "t%u", i);
        for (unsigned k = 0; k < SIZE; k++)
            data[k] = (uint8_t)support_random(&seed);
        support_model_init(&one);
        support_model_add_data(&one, name, "U8", SIZE, data, SIZE);
        support_model_add_data(&next, name, "U8", SIZE, data, SIZE);
        support_model_finish(&one, "", 0);
        compress(context, one.file, one.file_size, NULL, &coded);
        snprintf(name, sizeof name, "many/%03u.%s", i, i % 2 ? "wcodec" : "safetensors");
        if (i % 2)
            support_put_file(name, coded.data, coded.size);
        else
            support_put_file(name, one.file, one.file_size);
        support_sink_free(&coded);
        support_model_free(&one);
    }
    support_model_finish(&next, "", 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    wcodec_bases *bases = bases_of(context, 0, "many");
    assert_int_equal(wcodec_bases_count(bases), MANY);
    compress(context, next.file, next.file_size, bases, &coded);
    wcodec_reader *reader = support_open_sink(context, &coded);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    for (uint64_t i = 0; i < MANY; i++) {
        wcodec_delta_info info;
        assert_int_equal(wcodec_reader_delta(reader, i, &info, NULL), WCODEC_OK);
        assert_true(info.delta);
    }
    support_expect_restored(reader, next.file, next.file_size);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many/%03u.%s", i, i % 2 ? "wcodec" : "safetensors");
        unlink(name);
    }
    rmdir("many");
    support_sink_free(&coded);
    support_model_free(&next);
    wcodec_context_destroy(context);
}

/* Each coded against the other: both are right, but not without one of the originals. */
static void test_circle(void **state)
{
    uint64_t seed = support_seed() + 3;
    wcodec_context *context = support_context(1, NULL);
    struct support_sink back;
    struct chain c;
    wcodec_error err = {0};
    (void)state;
    make_chain(context, &c, &seed);
    wcodec_bases *bases = bases_of(context, 0, "1.safetensors");
    compress(context, c.models[0].file, c.models[0].file_size, bases, &back);
    wcodec_bases_destroy(bases);
    support_put_file("back", back.data, back.size);
    bases = bases_of(context, 0, "1.wcodec");
    assert_int_equal(wcodec_bases_add_path(bases, "back", NULL), WCODEC_OK);
    wcodec_reader *reader = support_open_sink(context, &back);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, &err), WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "circle"));
    wcodec_bases_destroy(bases);
    bases = bases_of(context, 0, "1.safetensors");
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    support_expect_restored(reader, c.models[0].file, c.models[0].file_size);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    support_sink_free(&back);
    unlink("back");
    free_chain(&c);
    wcodec_context_destroy(context);
}

/* A byte of each tensor of a container or of a safetensors file is changed. */
static void spoil(const wcodec_reader *reader, uint8_t *coded, uint8_t *original)
{
    const struct wcodec_index *index = reader->shards[0].index;
    for (uint64_t i = 0; i < index->entry_count; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        if (coded != NULL && e->payload_size != 0)
            coded[e->payload_offset + e->payload_size / 2] ^= 0x24;
        if (original != NULL && e->is_tensor)
            original[e->file_offset + e->size / 2] ^= 0x40;
    }
}

/* Decode all: deltas have this status and text, all of them or some, and what has not is right.
 * Returns how many failed. */
static unsigned expect_failures(wcodec_reader *reader, const struct support_model *model,
                                wcodec_status expected, const char *text, bool all)
{
    static uint8_t out[ELEMENTS * 8];
    unsigned failed = 0;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        wcodec_delta_info delta;
        wcodec_error err = {0};
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        assert_int_equal(wcodec_reader_delta(reader, i, &delta, NULL), WCODEC_OK);
        const wcodec_status status =
            wcodec_reader_decode(reader, i, out, (size_t)info.size, NULL, &err);
        if (status == WCODEC_OK) {
            assert_true(!all || !delta.delta);
            assert_memory_equal(out, model->file + info.file_offset, (size_t)info.size);
            continue;
        }
        assert_true(delta.delta);
        assert_int_equal(status, expected);
        assert_non_null(strstr(err.text, info.name));
        assert_non_null(strstr(err.text, text));
        failed++;
    }
    return failed;
}

static void put_container(wcodec_context *context, const struct support_model *model,
                          const char *path, const char *base, struct support_sink *coded)
{
    wcodec_bases *bases = base != NULL ? bases_of(context, 0, base) : NULL;
    compress(context, model->file, model->file_size, bases, coded);
    support_put_file(path, coded->data, coded->size);
    wcodec_bases_destroy(bases);
}

/* Of every dtype, and every mode of tiles: bases that are missing, wrong, damaged, not what they
 * say, or deltas of what is decoded. */
static void test_dtypes(void **state)
{
    if (support_threads_only())
        skip();
    uint64_t seed = support_seed() + 12;
    wcodec_context *context = support_context(2, NULL);
    struct support_model base, next;
    struct support_sink coded, plain, other;
    wcodec_error err = {0};
    uint8_t hash[16];
    (void)state;
    make_models(&base, &next, &seed);
    support_put_file("base", base.file, base.file_size);
    support_put_file("next", next.file, next.file_size);
    put_container(context, &next, "next.wcodec", "base", &coded);
    put_container(context, &base, "base.wcodec", NULL, &plain);
    wcodec_reader *reader = support_open_sink(context, &coded), *whole;

    const unsigned deltas =
        expect_failures(reader, &next, WCODEC_ERROR_NOT_FOUND, "give that file", true);
    assert_true(deltas > DTYPES * 5);
    wcodec_bases *bases = bases_of(context, 0, "next");
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_ERROR_NOT_FOUND);
    assert_int_equal(wcodec_reader_set_bases_for(reader, bases, NULL, 0, NULL), WCODEC_OK);
    assert_int_equal(
        expect_failures(reader, &next, WCODEC_ERROR_NOT_FOUND, "the base next has hash", true),
        deltas);
    wcodec_bases_destroy(bases);

    /* Nearly each damaged byte is found; the few others are padding, which nothing is made of. */
    bases = bases_of(context, 0, "base.wcodec");
    memcpy(hash, bases->files[0]->hash, sizeof hash);
    wcodec_bases_destroy(bases);
    whole = support_open_sink(context, &plain);
    spoil(whole, plain.data, NULL);
    support_put_file("base.wcodec", plain.data, plain.size);
    bases = bases_of(context, 0, "base.wcodec");
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    assert_true(expect_failures(reader, &next, WCODEC_ERROR_CORRUPT, "base.wcodec", false) >
                deltas * 9 / 10);
    assert_int_equal(wcodec_reader_set_bases(reader, NULL, NULL), WCODEC_OK);
    wcodec_bases_destroy(bases);

    spoil(whole, NULL, base.file);
    put_container(context, &base, "lie.wcodec", NULL, &other);
    bases = bases_of(context, 0, "lie.wcodec");
    memcpy(bases->files[0]->hash, hash, sizeof hash);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, NULL), WCODEC_OK);
    const unsigned lies =
        expect_failures(reader, &next, WCODEC_ERROR_CORRUPT, "not the file that its hash", false);
    assert_true(lies > deltas * 3 / 4); /* not where the tile of the middle is coded alone */
    assert_int_equal(wcodec_reader_set_bases(reader, NULL, NULL), WCODEC_OK);
    wcodec_bases_destroy(bases);
    support_sink_free(&other);
    spoil(whole, NULL, base.file);
    wcodec_reader_close(whole);

    put_container(context, &base, "back.wcodec", "next", &other);
    bases = bases_of(context, 0, "back.wcodec");
    assert_int_equal(wcodec_bases_add_path(bases, "next.wcodec", NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_set_bases(reader, bases, &err), WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "circle"));
    /* Without that look: an end, and an error, all the same. */
    assert_int_equal(wcodec_reader_set_bases_for(reader, bases, NULL, 0, NULL), WCODEC_OK);
    assert_true(expect_failures(reader, &next, WCODEC_ERROR_LIMIT, "more than 8 deltas", false) >
                DTYPES);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    support_sink_free(&other);
    support_sink_free(&coded);
    support_sink_free(&plain);
    support_model_free(&base);
    support_model_free(&next);
    unlink("base");
    unlink("next");
    unlink("next.wcodec");
    unlink("base.wcodec");
    unlink("lie.wcodec");
    unlink("back.wcodec");
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong), cmocka_unit_test(test_circle), cmocka_unit_test(test_lies),
        cmocka_unit_test(test_some),  cmocka_unit_test(test_many),   cmocka_unit_test(test_dtypes),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
