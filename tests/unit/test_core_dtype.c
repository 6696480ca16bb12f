/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/dtype.h"

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bits, log2;
    } expected[WCODEC_DTYPE_COUNT] = {
        {"OTHER", 0, 0},       {"BOOL", 8, 0},    {"U8", 8, 0},      {"I8", 8, 0},
        {"F8_E5M2", 8, 0},     {"F8_E4M3", 8, 0}, {"F8_E8M0", 8, 0}, {"F8_E4M3FNUZ", 8, 0},
        {"F8_E5M2FNUZ", 8, 0}, {"U16", 16, 1},    {"I16", 16, 1},    {"F16", 16, 1},
        {"BF16", 16, 1},       {"U32", 32, 2},    {"I32", 32, 2},    {"F32", 32, 2},
        {"U64", 64, 3},        {"I64", 64, 3},    {"F64", 64, 3},    {"C64", 64, 2},
        {"F4", 4, 0},          {"F6_E2M3", 6, 0}, {"F6_E3M2", 6, 0},
    };
    for (unsigned i = 0; i < WCODEC_DTYPE_COUNT; i++) {
        assert_string_equal(wcodec_dtype_name((wcodec_dtype)i), expected[i].name);
        assert_int_equal(wcodec_dtype_bits((wcodec_dtype)i), expected[i].bits);
        assert_int_equal(wcodec_dtype_element_log2((wcodec_dtype)i), expected[i].log2);
        assert_int_equal(wcodec_dtype_from_name(expected[i].name), i);
    }
    assert_null(wcodec_dtype_name((wcodec_dtype)WCODEC_DTYPE_COUNT));
    assert_null(wcodec_dtype_name((wcodec_dtype)-1));
    assert_int_equal(wcodec_dtype_bits((wcodec_dtype)999), 0);
    assert_int_equal(wcodec_dtype_from_name("bf16"), WCODEC_DTYPE_OTHER);
    assert_int_equal(wcodec_dtype_from_name(""), WCODEC_DTYPE_OTHER);
    assert_int_equal(wcodec_dtype_from_name(NULL), WCODEC_DTYPE_OTHER);
}

static void check_size(wcodec_dtype dtype, const uint64_t *shape, unsigned rank, bool right,
                       uint64_t expected)
{
    uint64_t size = 77;
    assert_int_equal(wcodec_dtype_size(dtype, shape, rank, &size), right);
    assert_int_equal(size, right ? expected : 77);
}

static void test_sizes(void **state)
{
    (void)state;
    const uint64_t one = 1, three = 3, big = (uint64_t)1 << 48, top = UINT64_MAX;
    check_size(WCODEC_DTYPE_BF16, NULL, 0, true, 2);
    check_size(WCODEC_DTYPE_F4, NULL, 0, false, 0);
    check_size(WCODEC_DTYPE_F4, &one, 1, false, 0);
    check_size(WCODEC_DTYPE_F4, (uint64_t[]){2, 3}, 2, true, 3);
    check_size(WCODEC_DTYPE_F6_E2M3, (uint64_t[]){4}, 1, true, 3);
    check_size(WCODEC_DTYPE_F6_E2M3, &three, 1, false, 0);
    check_size(WCODEC_DTYPE_U8, (uint64_t[]){big - 1}, 1, true, big - 1);
    check_size(WCODEC_DTYPE_U8, &big, 1, false, 0);
    check_size(WCODEC_DTYPE_U8, &top, 1, false, 0);
    check_size(WCODEC_DTYPE_U8, (uint64_t[]){1 << 24, 1 << 24}, 2, true, big);
    check_size(WCODEC_DTYPE_U8, (uint64_t[]){1 << 24, (1 << 24) + 1}, 2, false, 0);
    check_size(WCODEC_DTYPE_U16, (uint64_t[]){1 << 24, 1 << 24}, 2, false, 0);
    /* Products that wrap to something small. */
    check_size(WCODEC_DTYPE_F32, (uint64_t[]){((uint64_t)1 << 42) + 1, 1 << 22}, 2, false, 0);
    check_size(WCODEC_DTYPE_U8, (uint64_t[]){(uint64_t)1 << 32, (uint64_t)1 << 32}, 2, false, 0);
    check_size(WCODEC_DTYPE_F64, (uint64_t[]){(uint64_t)1 << 40, (uint64_t)1 << 18}, 2, false, 0);
    /* Empty tensors. */
    check_size(WCODEC_DTYPE_F32, (uint64_t[]){0}, 1, true, 0);
    check_size(WCODEC_DTYPE_F4, (uint64_t[]){3, 0}, 2, true, 0);
    check_size(WCODEC_DTYPE_F32, (uint64_t[]){(uint64_t)1 << 40, (uint64_t)1 << 40, 0}, 3, true, 0);
    check_size(WCODEC_DTYPE_F32, (uint64_t[]){0, top}, 2, false, 0);
    check_size(WCODEC_DTYPE_OTHER, &one, 1, false, 0);
    check_size((wcodec_dtype)23, &one, 1, false, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
