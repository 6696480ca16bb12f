/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Headers of NumPy's arrays. */

#include "support_zip.h"
#include "format/npy.h"

static wcodec_status read_bytes(const struct support_bytes *b, size_t size, struct wcodec_npy *npy,
                                wcodec_error *err)
{
    struct wcodec_source source;
    uint8_t *copy = support_source(b, size, &source);
    const wcodec_status status = wcodec_npy_header(&source, 0, size, npy, err);
    free(copy);
    return status;
}

static wcodec_status read_header(const char *header, size_t data_size, struct wcodec_npy *npy,
                                 wcodec_error *err)
{
    struct support_bytes b = {0};
    support_put_array(&b, header, data_size);
    const wcodec_status status = read_bytes(&b, b.size, npy, err);
    support_bytes_free(&b);
    return status;
}

static void refuses(const char *header, const char *expected)
{
    struct wcodec_npy npy;
    wcodec_error err = {0};
    assert_int_equal(read_header(header, 64, &npy, &err), WCODEC_ERROR_CORRUPT);
    if (strstr(err.text, expected) == NULL)
        fail_msg("'%s' is not said of %s, but '%s'", expected, header, err.text);
}

#define HEADER(type, order, shape) \
    "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }"

static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wcodec_dtype dtype;
    } types[] = {
        {"|b1", WCODEC_DTYPE_BOOL}, {"|i1", WCODEC_DTYPE_I8},  {"<i2", WCODEC_DTYPE_I16},
        {"<i4", WCODEC_DTYPE_I32},  {"<i8", WCODEC_DTYPE_I64}, {"|u1", WCODEC_DTYPE_U8},
        {"<u2", WCODEC_DTYPE_U16},  {"<u4", WCODEC_DTYPE_U32}, {"<u8", WCODEC_DTYPE_U64},
        {"<f2", WCODEC_DTYPE_F16},  {"<f4", WCODEC_DTYPE_F32}, {"<f8", WCODEC_DTYPE_F64},
        {"<c8", WCODEC_DTYPE_C64},  {"|V1", WCODEC_DTYPE_U8},  {"<V2", WCODEC_DTYPE_U16},
        {">i1", WCODEC_DTYPE_I8},   {"=f4", WCODEC_DTYPE_F32},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[100];
        struct wcodec_npy npy;
        snprintf(header, sizeof header, HEADER("%s", "False", "(2, 3)"), types[i].name);
        assert_int_equal(read_header(header, 48, &npy, NULL), WCODEC_OK);
        assert_int_equal(npy.dtype, types[i].dtype);
        assert_int_equal(npy.rank, 2);
        assert_int_equal(npy.size, 6 * wcodec_dtype_bits(types[i].dtype) / 8);
    }
    refuses(HEADER(">f4", "False", "(2,)"), "big-endian");
    refuses(HEADER("|O", "False", "(2,)"), "which no tensor has");
    refuses(HEADER("<U10", "False", "(2,)"), "which no tensor has");
    refuses(HEADER("<c16", "False", "(2,)"), "which no tensor has");
    refuses(HEADER("xf4", "False", "(2,)"), "no order of bytes");
    refuses(HEADER("", "False", "(2,)"), "which no tensor has");
    refuses("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "structures");
    refuses("{'descr': '<f4\\'', 'fortran_order': False, 'shape': (2,)}", "cannot be read");
}

static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        unsigned rank;
        uint64_t shape[3];
        bool is_transposed;
    } cases[] = {
        {HEADER("<f4", "False", "()"), 0, {0}, false},
        {HEADER("<f4", "False", "(5,)"), 1, {5}, false},
        {HEADER("<f4", "True", "(5,)"), 1, {5}, false},
        {HEADER("<f4", "False", "(2, 3, 2)"), 3, {2, 3, 2}, false},
        {HEADER("<f4", "True", "(1, 3, 2)"), 3, {2, 3, 1}, true},
        {HEADER("<f4", "False", "(0L, 3L)"), 2, {0, 3}, false},
        {"{\"shape\":(4,2),\"fortran_order\":False,\"descr\":\"<f4\"}  \n", 2, {4, 2}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wcodec_npy npy;
        assert_int_equal(read_header(cases[i].header, 48, &npy, NULL), WCODEC_OK);
        assert_int_equal(npy.rank, cases[i].rank);
        assert_memory_equal(npy.shape, cases[i].shape, cases[i].rank * sizeof(uint64_t));
        assert_int_equal(npy.is_transposed, cases[i].is_transposed);
        assert_int_equal(npy.begin, 10 + strlen(cases[i].header));
    }
    refuses(HEADER("<f4", "False", "(17,)"), "cut short: 64 bytes of 68");
    refuses(HEADER("<f4", "False", "(-1,)"), "shape cannot be read");
    refuses(HEADER("<f4", "False", "(1.0,)"), "shape cannot be read");
    refuses(HEADER("<f4", "False", "[1]"), "shape cannot be read");
    refuses(HEADER("<f4", "False", "(1 2)"), "shape cannot be read");
    refuses(HEADER("<f4", "False", "(,)"), "shape cannot be read");
    refuses(HEADER("<f4", "False", "(18446744073709551616,)"), "shape cannot be read");
    refuses(HEADER("<f4", "False", "(9223372036854775808, 2, 0)"), "too large");
    refuses(HEADER("<f4", "False", "(4398046511105, 4194304)"), "too large");
}

static void test_dictionary(void **state)
{
    (void)state;
    refuses("", "no dictionary");
    refuses("[]", "no dictionary");
    refuses("{", "no dictionary");
    refuses("{}", "is missing");
    refuses("{'descr': '<f4', 'shape': (1,)}", "is missing");
    refuses("{'descr' '<f4'}", "no dictionary");
    refuses("{'descr': '<f4' 'shape': (1,)}", "no dictionary");
    refuses("{'descr': '<f4', 'descr': '<f4'}", "twice");
    refuses("{'more': 1}", "has the key \"more\"");
    refuses("{'fortran_order': 1}", "fortran_order");
    refuses(HEADER("<f4", "False", "(1,)") " x", "more follows");
    char deep[500] = "{'shape': ";
    memset(deep + strlen(deep), '(', 400);
    refuses(deep, "shape cannot be read");
    char many[1000] = "{'shape': (";
    for (int i = 0; i <= WCODEC_LAYOUT_RANK_MAX; i++)
        strcat(many, "1,");
    refuses(strcat(many, ")}"), "dimensions");
}

static void test_prefix(void **state)
{
    (void)state;
    struct support_bytes b = {0};
    struct wcodec_npy npy;
    wcodec_error err = {0};
    support_put_array(&b, HEADER("<f4", "False", "(2,)"), 8);
    for (size_t size = 0; size < b.size; size++)
        assert_int_equal(read_bytes(&b, size, &npy, &err), WCODEC_ERROR_CORRUPT);
    assert_int_equal(read_bytes(&b, b.size, &npy, &err), WCODEC_OK);
    support_put(&b, "more", 4); /* numpy.save() to a file that goes on */
    assert_int_equal(read_bytes(&b, b.size, &npy, &err), WCODEC_OK);
    b.data[6] = 4;
    assert_int_equal(read_bytes(&b, b.size, &npy, &err), WCODEC_ERROR_CORRUPT);
    b.data[6] = 1;
    b.data[9] = 0xff;
    assert_int_equal(read_bytes(&b, b.size, &npy, &err), WCODEC_ERROR_CORRUPT);
    support_bytes_free(&b);
    /* Version 2 has a length of four bytes. */
    const char *header = HEADER("<f4", "False", "(2,)");
    support_put(&b, "\x93NUMPY\2\0", 8);
    support_put_u32(&b, strlen(header));
    support_put(&b, header, strlen(header));
    support_put(&b, "........", 8);
    assert_int_equal(read_bytes(&b, b.size, &npy, &err), WCODEC_OK);
    assert_int_equal(npy.begin, 12 + strlen(header));
    b.data[11] = 0xff;
    assert_int_equal(read_bytes(&b, b.size, &npy, &err), WCODEC_ERROR_CORRUPT);
    support_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_dictionary),
        cmocka_unit_test(test_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
