/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "core/error.h"

static void test_status_strings(void **state)
{
    (void)state;
    for (int i = 0; i <= WCODEC_ERROR_BUSY; i++) {
        const char *text = wcodec_status_string((wcodec_status)i);
        assert_non_null(text);
        assert_string_not_equal(text, "unknown status");
        for (int k = 0; k < i; k++)
            assert_string_not_equal(text, wcodec_status_string((wcodec_status)k));
    }
    assert_string_equal(wcodec_status_string((wcodec_status)14), "unknown status");
    assert_string_equal(wcodec_status_string((wcodec_status)-1), "unknown status");
}

static void test_fail(void **state)
{
    (void)state;
    wcodec_error err;
    assert_int_equal(wcodec_fail(&err, WCODEC_ERROR_CORRUPT, "tile %d of %s", 3, "x"),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(err.status, WCODEC_ERROR_CORRUPT);
    assert_string_equal(err.text, "tile 3 of x");
    assert_int_equal(wcodec_fail(NULL, WCODEC_ERROR_IO, "nobody asks"), WCODEC_ERROR_IO);
    wcodec_fail(&err, WCODEC_ERROR_IO, "again: %s", err.text);
    assert_string_equal(err.text, "again: tile 3 of x");
    wcodec_fail(&err, WCODEC_ERROR_IO, "%s", "");
    assert_string_equal(err.text, "input or output failed");
}

static void test_escapes(void **state)
{
    (void)state;
    wcodec_error err;
    wcodec_fail(&err, WCODEC_ERROR_IO, "%s", "a\nb\x1b[31m\x7f");
    assert_string_equal(err.text, "a\\x0Ab\\x1B[31m\\x7F");
    wcodec_fail(&err, WCODEC_ERROR_IO, "%s",
                "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"); /* well-formed UTF-8 stays */
    assert_string_equal(err.text, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    wcodec_fail(&err, WCODEC_ERROR_IO, "%s",
                "\xc2\x9b|\xff|\xc3"); /* C1 control, no UTF-8, cut off */
    assert_string_equal(err.text, "\\xC2\\x9B|\\xFF|\\xC3");
}

static void test_cut(void **state)
{
    (void)state;
    wcodec_error err;
    char text[4000];
    /* Two-byte characters and escapes at every phase: never cut inside one. */
    for (size_t lead = 0; lead < 4; lead++) {
        memset(text, 'x', lead);
        for (size_t i = lead; i + 2 < sizeof text; i += 2)
            memcpy(text + i, "\xc3\xa9", 3);
        memset(&err, 0x55, sizeof err);
        wcodec_fail(&err, WCODEC_ERROR_IO, "%s", text);
        size_t length = strlen(err.text);
        assert_true(length < sizeof err.text && length > sizeof err.text - 8);
        memset(text + lead, '\n', sizeof text - lead - 1);
        text[sizeof text - 1] = '\0';
        wcodec_fail(&err, WCODEC_ERROR_IO, "%s", text);
        length = strlen(err.text);
        assert_true(length < sizeof err.text && length > sizeof err.text - 8);
        assert_int_equal((length - lead) % 4, 0);
    }
}

static void test_prefix(void **state)
{
    (void)state;
    wcodec_error err;
    wcodec_fail(&err, WCODEC_ERROR_CORRUPT, "bad magic");
    wcodec_error_prefix(&err, "%s", "file\tname");
    assert_string_equal(err.text, "file\\x09name: bad magic");
    assert_int_equal(err.status, WCODEC_ERROR_CORRUPT);
    wcodec_error_prefix(NULL, "x");
    /* However long the name, the reason stays readable. */
    char name[3000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    wcodec_fail(&err, WCODEC_ERROR_CORRUPT, "bad magic");
    wcodec_error_prefix(&err, "%s", name);
    assert_non_null(strstr(err.text, ": bad magic"));
    for (int i = 0; i < 100; i++)
        wcodec_error_prefix(&err, "%s", name);
    assert_true(strlen(err.text) < sizeof err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_strings), cmocka_unit_test(test_fail),
        cmocka_unit_test(test_escapes),        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
