/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tensors of PyTorch's zip archives. */

#include "support_memory.h"
#include "support_zip.h"
#include "format/layout.h"
#include "core/memory.h"

/* A pickle, put together. */
static void put_text(struct support_bytes *b, const char *text)
{
    support_put(b, "X", 1);
    support_put_u32(b, strlen(text));
    support_put(b, text, strlen(text));
}

static void put_number(struct support_bytes *b, int64_t n)
{
    support_put(b, "\x8a\x08", 2);
    support_put_u64(b, (uint64_t)n);
}

struct tensor {
    const char *storage; /* class or, with a dtype, none */
    const char *key;
    const char *dtype; /* NULL, or of _rebuild_tensor_v3 */
    int64_t offset;
    unsigned rank;
    int64_t shape[3], strides[3];
};

static void put_tuple(struct support_bytes *b, const int64_t *numbers, unsigned count)
{
    support_put(b, "(", 1);
    for (unsigned i = 0; i < count; i++)
        put_number(b, numbers[i]);
    support_put(b, "t", 1);
}

static void put_tensor(struct support_bytes *b, const struct tensor *t)
{
    char text[100];
    snprintf(text, sizeof text, "ctorch._utils\n_rebuild_tensor_v%c\n((",
             t->dtype != NULL ? '3' : '2');
    support_put(b, text, strlen(text));
    put_text(b, "storage");
    snprintf(text, sizeof text, "ctorch%s\n%s\n", t->dtype != NULL ? ".storage" : "",
             t->dtype != NULL ? "UntypedStorage" : t->storage);
    support_put(b, text, strlen(text));
    put_text(b, t->key);
    put_text(b, "cpu");
    put_number(b, 0);
    support_put(b, "tQ", 2);
    put_number(b, t->offset);
    put_tuple(b, t->shape, t->rank);
    put_tuple(b, t->strides, t->rank);
    support_put(b, "\x89}", 2);
    if (t->dtype != NULL) {
        snprintf(text, sizeof text, "ctorch\n%s\n", t->dtype);
        support_put(b, text, strlen(text));
    }
    support_put(b, "tR", 2);
}

enum { STORAGE = 48 }; /* bytes of each */

/* A checkpoint whose pickle is a dict of these tensors, called "t0", "t1", ... */
static struct support_zip checkpoint(const struct tensor *tensors, unsigned count)
{
    struct support_zip z = {.padding = 20};
    struct support_bytes p = {0};
    uint8_t data[STORAGE];
    char name[20];
    support_put(&p, "\x80\2}(", 4);
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "t%u", i);
        put_text(&p, name);
        put_tensor(&p, &tensors[i]);
    }
    support_put(&p, "u.", 2);
    support_zip_add(&z, "x/data.pkl", p.data, p.size);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "x/data/%u", i);
        for (unsigned k = 0; k < STORAGE; k++)
            data[k] = (uint8_t)(i * STORAGE + k);
        support_zip_add(&z, name, data, STORAGE);
    }
    support_bytes_free(&p);
    return z;
}

static struct wcodec_file_layout *read_end(struct support_zip *z, wcodec_error *err)
{
    struct wcodec_file_layout *layout = NULL;
    struct wcodec_source source;
    support_zip_end(z);
    wcodec_source_memory(z->file.data, z->file.size, &source);
    const wcodec_status status =
        wcodec_layout_read(&source, &wcodec_default_allocator, NULL, &layout, err);
    assert_true(status == WCODEC_OK || status == WCODEC_ERROR_CORRUPT);
    return layout;
}

static void refuses(struct support_zip z, const char *expected)
{
    wcodec_error err = {0};
    assert_null(read_end(&z, &err));
    if (strstr(err.text, expected) == NULL)
        fail_msg("'%s' is not said, but '%s'", expected, err.text);
    support_zip_free(&z);
}

static const struct wcodec_layout_tensor *find(const struct wcodec_file_layout *l, const char *name)
{
    for (uint64_t i = 0; i < l->count; i++)
        if (strcmp(l->tensors[i].name, name) == 0)
            return &l->tensors[i];
    fail_msg("no tensor \"%s\"", name);
    return NULL;
}

static bool has_note(const struct wcodec_file_layout *l, const char *key, const char *value)
{
    for (uint64_t i = 0; i < l->metadata_count; i++)
        if (strcmp(l->metadata[2 * i], key) == 0)
            return strcmp(l->metadata[2 * i + 1], value) == 0;
    return false;
}

static void test_tensors(void **state)
{
    (void)state;
    const struct tensor tensors[] = {
        {"FloatStorage", "0", NULL, 0, 2, {3, 4}, {4, 1}},
        {"BFloat16Storage", "1", NULL, 4, 3, {2, 1, 5}, {5, 99, 1}},
        {NULL, "2", "float8_e4m3fn", 0, 1, {STORAGE}, {1}},
        {"HalfStorage", "1", NULL, 20, 0, {0}, {0}},
        {"LongStorage", "1", NULL, 2, 2, {0, 7}, {7, 1}},
    };
    struct support_zip z = checkpoint(tensors, 5);
    struct wcodec_file_layout *l = read_end(&z, NULL);
    assert_non_null(l);
    assert_string_equal(l->kind, "pytorch");
    assert_int_equal(l->count, 5);
    assert_int_equal(l->remark.text[0], 0);
    assert_string_equal(find(l, "t0")->dtype_name, "F32");
    assert_int_equal(find(l, "t0")->size, 48);
    assert_int_equal(z.file.data[find(l, "t0")->offset], 0);
    assert_string_equal(find(l, "t1")->dtype_name, "BF16");
    assert_int_equal(find(l, "t1")->rank, 3);
    assert_int_equal(z.file.data[find(l, "t1")->offset], STORAGE + 8);
    assert_string_equal(find(l, "t2")->dtype_name, "F8_E4M3");
    assert_int_equal(find(l, "t3")->size, 2);
    assert_int_equal(z.file.data[find(l, "t3")->offset], STORAGE + 40);
    assert_int_equal(find(l, "t4")->size, 0);
    wcodec_layout_free(l);
    support_zip_free(&z);
}

static void test_strides(void **state)
{
    (void)state;
    const struct tensor tensors[] = {
        {"FloatStorage", "0", NULL, 0, 2, {4, 3}, {1, 4}},
        {"FloatStorage", "1", NULL, 0, 3, {2, 3, 2}, {6, 1, 3}},
        {"ShortStorage", "2", NULL, 0, 1, {12}, {2}}, /* every second: the storage is listed */
    };
    struct support_zip z = checkpoint(tensors, 3);
    struct wcodec_file_layout *l = read_end(&z, NULL);
    assert_non_null(l);
    assert_int_equal(l->count, 3);
    assert_int_equal(find(l, "t0")->shape[0], 3);
    assert_int_equal(find(l, "t0")->shape[1], 4);
    assert_true(has_note(l, "pytorch.permuted.t0", "shape 4,3 strides 1,4"));
    assert_true(has_note(l, "pytorch.permuted.t1", "shape 2,3,2 strides 6,1,3"));
    assert_int_equal(find(l, "data/2")->shape[0], 24);
    assert_string_equal(find(l, "data/2")->dtype_name, "I16");
    assert_non_null(strstr(l->remark.text, "1 tensors are not listed"));
    wcodec_layout_free(l);
    support_zip_free(&z);
}

static void test_shared(void **state)
{
    (void)state;
    const struct tensor tensors[] = {
        {"FloatStorage", "0", NULL, 0, 2, {3, 4}, {4, 1}},
        {"FloatStorage", "0", NULL, 0, 2, {3, 4}, {4, 1}},
        {"FloatStorage", "0", NULL, 4, 1, {4}, {1}},
        {"FloatStorage", "0", NULL, 0, 1, {4}, {1}},
        {"FloatStorage", "1", NULL, 0, 1, {4}, {1}},
        {"FloatStorage", "1", NULL, 6, 1, {4}, {1}},
    };
    struct support_zip z = checkpoint(tensors, 6);
    struct wcodec_file_layout *l = read_end(&z, NULL);
    assert_non_null(l);
    assert_int_equal(l->count, 3);
    assert_true(has_note(l, "pytorch.shared.t1", "t0"));
    assert_int_equal(find(l, "t5")->offset, find(l, "t4")->offset + 24);
    assert_non_null(strstr(l->remark.text, "2 tensors are not listed"));
    wcodec_layout_free(l);
    support_zip_free(&z);
}

static void test_refused(void **state)
{
    (void)state;
    const struct tensor good = {"FloatStorage", "0", NULL, 0, 1, {12}, {1}};
    const struct tensor bad[] = {
        {"FloatStorage", "0", NULL, 0, 1, {13}, {1}},
        {"FloatStorage", "0", NULL, 1, 1, {12}, {1}},
        {"FloatStorage", "0", NULL, INT64_MAX, 1, {1}, {1}},
        {"FloatStorage", "0", NULL, (int64_t)1 << 62, 1, {1}, {1}},
        {"FloatStorage", "0", NULL, 0, 2, {(int64_t)1 << 40, 2}, {2, 1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(checkpoint(&bad[i], 1), "is not within \"x/data/0\"");
    struct support_zip z = checkpoint(&good, 1);
    support_zip_add(&z, "x/byteorder", "big", 3);
    refuses(z, "not little-endian");
    z = checkpoint(&good, 1);
    support_zip_add(&z, "x/byteorder", "middle", 6);
    refuses(z, "not little-endian");
    z = (struct support_zip){.method = 8};
    support_zip_add(&z, "x/data.pkl", "\x80\2}.", 4);
    refuses(z, "compressed");
    z = (struct support_zip){0};
    support_zip_add(&z, "x/data.pkl", "\x80\2}.", 4);
    refuses(z, "no tensors are found");
    z = (struct support_zip){0};
    support_zip_add(&z, "x/data.pkl", "\x80\2}", 3);
    refuses(z, "the end at byte 3 of its pickle");
    z = (struct support_zip){0};
    support_zip_add(&z, "x/data.pkl", "", 0);
    refuses(z, "not of protocol");
    /* In two folders it is not that of PyTorch. */
    z = (struct support_zip){0};
    support_zip_add(&z, "x/y/data.pkl", "\x80\2}.", 4);
    refuses(z, "neither arrays nor");
}

/* What is not a tensor of ours is passed over. */
static void test_passed_over(void **state)
{
    (void)state;
    const struct tensor tensors[] = {
        {"FloatStorage", "0", NULL, 0, 1, {12}, {1}},
        {"FloatStorage", "9", NULL, 0, 1, {12}, {1}},
        {"ComplexDoubleStorage", "1", NULL, 0, 1, {3}, {1}},
        {"FloatStorage", "1", NULL, -1, 1, {3}, {1}},
        {"FloatStorage", "1", NULL, 0, 1, {-3}, {1}},
        {"FloatStorage", "1", NULL, 0, 1, {3}, {-1}},
        {NULL, "1", "float128", 0, 1, {3}, {1}},
    };
    struct support_zip z = checkpoint(tensors, 7);
    struct wcodec_file_layout *l = read_end(&z, NULL);
    assert_non_null(l);
    assert_int_equal(l->count, 1);
    assert_non_null(strstr(l->remark.text, "6 tensors are not listed"));
    wcodec_layout_free(l);
    support_zip_free(&z);
}

/* One tensor alone, parameters, what holds itself, and names that are too long. */
static void test_paths(void **state)
{
    (void)state;
    const struct tensor t = {"FloatStorage", "0", NULL, 0, 1, {12}, {1}};
    struct support_zip z = {0};
    struct support_bytes p = {0};
    char data[STORAGE] = "";
    support_put(&p, "\x80\2]q\0h\0actorch._utils\n_rebuild_parameter\n(", 42);
    put_tensor(&p, &t);
    support_put(&p, "\x88}tRa.", 6);
    support_zip_add(&z, "x/data.pkl", p.data, p.size);
    support_zip_add(&z, "x/data/0", data, sizeof data);
    struct wcodec_file_layout *l = read_end(&z, NULL);
    assert_non_null(l);
    find(l, "1");
    wcodec_layout_free(l);
    support_zip_free(&z);
    support_bytes_free(&p);
    support_put(&p, "\x80\2", 2);
    put_tensor(&p, &t);
    support_put(&p, ".", 1);
    support_zip_add(&z, "x/data.pkl", p.data, p.size);
    support_zip_add(&z, "x/data/0", data, sizeof data);
    l = read_end(&z, NULL);
    assert_non_null(l);
    find(l, "tensor");
    wcodec_layout_free(l);
    support_zip_free(&z);
    support_bytes_free(&p);
    char *name = malloc(WCODEC_LAYOUT_NAME_MAX + 1);
    assert_non_null(name);
    memset(name, 'n', WCODEC_LAYOUT_NAME_MAX);
    name[WCODEC_LAYOUT_NAME_MAX] = 0;
    support_put(&p, "\x80\2}(", 4);
    put_text(&p, name);
    put_tensor(&p, &t);
    support_put(&p, "u.", 2);
    support_zip_add(&z, "x/data.pkl", p.data, p.size);
    refuses(z, "name has more than");
    support_bytes_free(&p);
    free(name);
}

/* Any bit of pickle and directory flipped. */
static void test_flips(void **state)
{
    (void)state;
    const struct tensor tensors[] = {{"FloatStorage", "0", NULL, 0, 2, {3, 4}, {4, 1}},
                                     {NULL, "2", "bfloat16", 2, 2, {4, 2}, {1, 4}}};
    struct support_zip z = checkpoint(tensors, 2);
    support_zip_end(&z);
    for (size_t bit = 0; bit < z.file.size * 8; bit++) {
        struct wcodec_file_layout *l = NULL;
        struct wcodec_source source;
        z.file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        wcodec_source_memory(z.file.data, z.file.size, &source);
        if (wcodec_layout_read(&source, &wcodec_default_allocator, NULL, &l, NULL) == WCODEC_OK)
            assert_true(l->count != 0);
        wcodec_layout_free(l);
        z.file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    support_zip_free(&z);
}

static void test_memory(void **state)
{
    (void)state;
    const struct tensor tensors[] = {{"FloatStorage", "0", NULL, 0, 2, {3, 4}, {4, 1}},
                                     {"FloatStorage", "0", NULL, 0, 2, {3, 4}, {4, 1}},
                                     {"HalfStorage", "1", NULL, 0, 1, {3}, {2}}};
    struct support_zip z = checkpoint(tensors, 3);
    support_zip_end(&z);
    support_layout_memory(&z.file, 10);
    support_zip_free(&z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),     cmocka_unit_test(test_strides),
        cmocka_unit_test(test_shared),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_passed_over), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_flips),       cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
