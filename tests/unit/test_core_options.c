/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "core/options.h"
#include <string.h>
#include <wcodec.h>

/* What this version knows, and what a newer one does. */
struct known {
    size_t struct_size;
    unsigned a, b;
    double c;
};

struct newer {
    struct known known;
    uint64_t d;
};

static const struct known defaults = {.a = 1, .b = 2, .c = 3};

static void set(void *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static wcodec_status take(const void *from, struct known *options, wcodec_error *err)
{
    *options = defaults;
    return wcodec_options_take(from, options, sizeof *options, "set", err);
}

static void test_equal(void **state)
{
    (void)state;
    struct known from, options;
    set(&from, sizeof from);
    assert_int_equal(from.struct_size, sizeof from);
    assert_true(from.a == 1 && from.b == 2 && from.c == 3);
    from.b = 7;
    assert_int_equal(take(&from, &options, NULL), WCODEC_OK);
    assert_true(options.a == 1 && options.b == 7 && options.c == 3);
    assert_int_equal(take(NULL, &options, NULL), WCODEC_OK);
    assert_int_equal(options.struct_size, sizeof options);
    assert_true(options.a == 1 && options.b == 2 && options.c == 3);
}

/* Of an older caller nothing after the size is read or written. */
static void test_older(void **state)
{
    (void)state;
    struct known from, options;
    const size_t size = offsetof(struct known, c);
    memset(&from, 0x5a, sizeof from);
    double before = from.c;
    set(&from, size);
    assert_int_equal(from.struct_size, size);
    assert_memory_equal(&from.c, &before, sizeof before);
    from.a = 9;
    assert_int_equal(take(&from, &options, NULL), WCODEC_OK);
    assert_true(options.a == 9 && options.b == 2 && options.c == 3);
    assert_int_equal(options.struct_size, sizeof options);
}

static void test_newer(void **state)
{
    (void)state;
    struct newer from;
    struct known options;
    wcodec_error err;
    char where[64];
    memset(&from, 0x5a, sizeof from);
    set(&from, sizeof from);
    assert_int_equal(from.d, 0);
    from.known.a = 9;
    assert_int_equal(take(&from, &options, NULL), WCODEC_OK);
    assert_int_equal(options.a, 9);
    from.d = 1;
    assert_int_equal(take(&from, &options, &err), WCODEC_ERROR_USAGE);
    snprintf(where, sizeof where, "does not know (byte %zu)", offsetof(struct newer, d));
    assert_non_null(strstr(err.text, where));
    assert_int_equal(options.a, 1);
}

static void test_uninitialized(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, sizeof(size_t), SIZE_MAX / 2, SIZE_MAX};
    struct known from = defaults, options;
    wcodec_error err;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        from.struct_size = sizes[i];
        assert_int_equal(take(&from, &options, &err), WCODEC_ERROR_USAGE);
        assert_non_null(strstr(err.text, "use set()"));
    }
    memset(&from, 0x5a, sizeof from);
    options = from;
    set(&from, sizeof(size_t));
    assert_memory_equal(&from, &options, sizeof from);
    set(NULL, sizeof from);
}

static void test_reserved(void **state)
{
    (void)state;
    uint64_t reserved[3] = {0};
    wcodec_progress progress = {0};
    wcodec_error err;
    assert_int_equal(wcodec_reserved_check(reserved, sizeof reserved, "item", NULL), WCODEC_OK);
    reserved[2] = (uint64_t)1 << 63;
    assert_int_equal(wcodec_reserved_check(reserved, sizeof reserved, "item", &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "the item holds a setting"));
    assert_int_equal(wcodec_progress_check(&progress, NULL), WCODEC_OK);
    progress.reserved[1] = &err;
    assert_int_equal(wcodec_progress_check(&progress, NULL), WCODEC_ERROR_USAGE);
}

static void test_structure_sizes(void **state)
{
    (void)state;
    assert_int_equal(wcodec_structure_size("wcodec_error"), sizeof(wcodec_error));
    assert_int_equal(wcodec_structure_size("wcodec_options"), sizeof(wcodec_options));
    assert_int_equal(wcodec_structure_size("wcodec_device_rates"), sizeof(wcodec_device_rates));
    assert_int_equal(wcodec_structure_size("wcodec_erro"), 0);
    assert_int_equal(wcodec_structure_size("wcodec_context"), 0);
    assert_int_equal(wcodec_structure_size(""), 0);
    assert_int_equal(wcodec_structure_size(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),    cmocka_unit_test(test_older),
        cmocka_unit_test(test_newer),    cmocka_unit_test(test_uninitialized),
        cmocka_unit_test(test_reserved), cmocka_unit_test(test_structure_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
