/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The counter that the encoder's sizes are judged by, on data whose bounds can be had by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench/order0.h"
#include <math.h>

static void assert_bits(const char *dtype, const void *data, size_t size, double expected)
{
    assert_true(fabs(order0_bits(dtype, data, size) - expected) < 1e-6);
}

static void test_splits(void **state)
{
    (void)state;
    /* 1.0, -1.0, 2.0, 0.5: exponents 127, 127, 128, 126 take 1.5 bits. */
    static const uint8_t bf16[] = {0x80, 0x3f, 0x80, 0xbf, 0x00, 0x40, 0x00, 0x3f};
    assert_bits("BF16", bf16, 8, 4 * (1.5 + 8));
    static const uint8_t f16[] = {0x00, 0x3c, 0x00, 0xbc, 0x00, 0x40, 0x00, 0x38};
    assert_bits("F16", f16, 8, 4 * (1.5 + 11));
    static const uint8_t f32[] = {0, 0, 0x80, 0x3f, 1, 2, 0x83, 0xbf, 0, 0, 0, 0x40, 0, 0, 0, 0x3f};
    assert_bits("F32", f32, 16, 4 * (1.5 + 24));
    assert_bits("C64", f32, 16, 4 * (1.5 + 24));
    static const uint8_t f8[] = {0x38, 0xbf, 0x40, 0x30};
    assert_bits("F8_E4M3", f8, 4, 4 * (1.5 + 4));
    static const uint8_t f8_e5m2[] = {0x3c, 0xbf, 0x40, 0x38};
    assert_bits("F8_E5M2", f8_e5m2, 4, 4 * (1.5 + 3));
}

static void test_bytes(void **state)
{
    (void)state;
    static const uint8_t i8[] = {0, 1, 0, 1, 0, 1, 2, 3};
    assert_bits("I8", i8, 8, -6 * log2(3.0 / 8) - 2 * log2(1.0 / 8));
    static const uint8_t i16[] = {0, 7, 1, 7, 2, 7, 3, 7};
    assert_bits("I16", i16, 8, 8);
    assert_bits("BOOL", i16, 8, 4 * 1 + 4 * 3);
    assert_bits("I64", i8, 8, 0);
    assert_bits("U8", i8, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_splits), cmocka_unit_test(test_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
