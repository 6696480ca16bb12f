/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "registry/choice.h"
#include <string.h>

static void is_refused(const char *text, const char *reason)
{
    struct wcodec_choice choice;
    wcodec_error err = {0};
    assert_int_equal(wcodec_choice_parse(text, "WCODEC_BACKEND", &choice, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "WCODEC_BACKEND is \""));
    if (strstr(err.text, reason) == NULL)
        fail_msg("%s: %s", text, err.text);
}

static void is_parsed(const char *text, const char *expected)
{
    struct wcodec_choice choice;
    wcodec_error err = {0};
    char got[1024] = "";
    if (wcodec_choice_parse(text, "x", &choice, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (unsigned i = 0; i < choice.count; i++) {
        size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%s%s%s", i ? " " : "",
                 choice.items[i].automatic ? "~" : "", choice.items[i].name);
        at = strlen(got);
        if (!choice.items[i].any_device)
            snprintf(got + at, sizeof got - at, "[%u]", choice.items[i].device);
    }
    assert_string_equal(got, expected);
}

static void test_parse(void **state)
{
    (void)state;
    is_parsed(NULL, "~cuda ~opencl ~cpu");
    is_parsed("auto", "~cuda ~opencl ~cpu");
    is_parsed("cpu", "cpu");
    is_parsed("cuda:1", "cuda[1]");
    is_parsed("opencl:0,cpu", "opencl[0] cpu");
    is_parsed("cuda:12,auto", "cuda[12] ~cuda ~opencl ~cpu");
    is_parsed("my_backend2:9999", "my_backend2[9999]");
    is_parsed("abcdefghijklmnopqrstuvwxyz01234", "abcdefghijklmnopqrstuvwxyz01234");
    is_parsed("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", "a a a a a a a a a a a a a a a a");
}

static void test_refuse(void **state)
{
    (void)state;
    is_refused("", "a name is missing");
    is_refused(",", "a name is missing");
    is_refused("cpu,", "a name is missing");
    is_refused("cpu,,cpu", "a name is missing");
    is_refused("CPU", "a name is missing");
    is_refused("cpu ", "out of place");
    is_refused("../x", "a name is missing");
    is_refused("x/../y", "out of place");
    is_refused("cuda:", "a device number is missing");
    is_refused("cuda:-1", "a device number is missing");
    is_refused("cuda:x", "a device number is missing");
    is_refused("cuda:1x", "out of place");
    is_refused("cuda:1:2", "out of place");
    is_refused("cuda:10000", "too large");
    is_refused("cuda:99999999999999999999", "too large");
    is_refused("auto:0", "auto has no device numbers");
    is_refused("abcdefghijklmnopqrstuvwxyz012345", "too long");
    is_refused("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", "the list is too long");
    is_refused("a,a,a,a,a,a,a,a,a,a,a,a,a,a,auto", "the list is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_refuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
