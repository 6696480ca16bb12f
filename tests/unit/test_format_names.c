/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"
#include "format/names.h"
#include "core/memory.h"
#include <string.h>

static void every_name_once(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    static char text[COUNT][8];
    struct wcodec_names names;
    uint64_t number;
    assert_true(wcodec_names_init(&names, &wcodec_default_allocator, COUNT));
    for (uint64_t i = 0; i < COUNT; i++) {
        number = i;
        snprintf(text[i], sizeof(text[i]), "n%u", (unsigned)i);
        assert_false(wcodec_names_find(&names, text[i], &number));
        assert_true(wcodec_names_add(&names, text[i], &number));
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        char copy[8];
        memcpy(copy, text[i], sizeof(copy));
        number = COUNT;
        assert_false(wcodec_names_add(&names, copy, &number));
        assert_int_equal(number, i);
        number = COUNT;
        assert_true(wcodec_names_find(&names, copy, &number));
        assert_int_equal(number, i);
    }
    assert_false(wcodec_names_find(&names, "", &number));
    wcodec_names_free(&names);
    assert_false(wcodec_names_find(&names, "n1", &number));
}

static void utf8(void **state)
{
    (void)state;
    static const char *const valid[] = {"",
                                        "a",
                                        "\x7f",
                                        "\x01\n",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xef\xbf\xbf",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf"};
    static const char *const invalid[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xc2",
        "\xc2g",        "\xe0\x9f\xbf",     "\xe0\xa0",         "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
        "\xff",         "a\xf0\x90\x80",    "\xe2\x28\xa1"};
    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
        assert_true(wcodec_utf8_valid((const uint8_t *)valid[i], strlen(valid[i])));
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
        assert_false(wcodec_utf8_valid((const uint8_t *)invalid[i], strlen(invalid[i])));
    assert_false(wcodec_utf8_valid((const uint8_t *)"a\0b", 3));
}

/* All sequences of up to three bytes against the definition, by encoding every code point. */
static void utf8_exhaustive(void **state)
{
    (void)state;
    static uint8_t expected[1 << 24];
    for (uint32_t code = 1; code < 0x10000; code++) {
        if (code >= 0x80 && code < 0x800)
            expected[(0xc0 | code >> 6) | (0x80 | (code & 63)) << 8] |= 2;
        else if (code >= 0x800 && (code < 0xd800 || code > 0xdfff))
            expected[(0xe0 | code >> 12) | (0x80 | (code >> 6 & 63)) << 8 |
                     (0x80 | (code & 63)) << 16] |= 4;
    }
    for (uint32_t i = 0; i < 1 << 24; i++) {
        uint8_t bytes[3] = {(uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16)};
        if (bytes[0] < 0x80)
            continue;
        assert_int_equal(wcodec_utf8_valid(bytes, 3),
                         (expected[i] & 4) ||
                             ((expected[i & 0xffff] & 2) && bytes[2] > 0 && bytes[2] < 0x80));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_once),
        cmocka_unit_test(utf8),
        cmocka_unit_test(utf8_exhaustive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
