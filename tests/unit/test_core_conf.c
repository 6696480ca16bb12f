/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "backends/cpu/cpu_level.h"
#include "core/conf.h"
#include <string.h>

static void clear(void)
{
    static const char *const names[] = {"WCODEC_BACKEND", "WCODEC_BACKEND_PATH", "WCODEC_THREADS",
                                        "WCODEC_CPU_MASK", "WCODEC_LOG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
}

static void refuses(const char *name, const char *value)
{
    struct wcodec_conf conf = {.threads = 77};
    wcodec_error err = {0};
    setenv(name, value, 1);
    assert_int_equal(wcodec_conf_read(&conf, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(conf.threads, 77);
    assert_non_null(strstr(err.text, name));
    assert_non_null(strstr(err.text, value));
    assert_non_null(strstr(err.text, "expected"));
    unsetenv(name);
}

static void test_defaults(void **state)
{
    (void)state;
    struct wcodec_conf conf;
    clear();
    for (int empty = 0; empty < 2; empty++) {
        assert_int_equal(wcodec_conf_read(&conf, NULL), WCODEC_OK);
        assert_null(conf.backend);
        assert_null(conf.backend_path);
        assert_int_equal(conf.threads, 0);
        assert_int_equal(conf.cpu_mask, WCODEC_CPU_ALL);
        assert_false(conf.log);
        setenv("WCODEC_THREADS", "", 1);
        setenv("WCODEC_CPU_MASK", "", 1);
        setenv("WCODEC_LOG", "", 1);
        setenv("WCODEC_BACKEND", "", 1);
        setenv("WCODEC_BACKEND_PATH", "", 1);
    }
    clear();
}

static void test_values(void **state)
{
    (void)state;
    struct wcodec_conf conf;
    setenv("WCODEC_BACKEND", "cuda:1,cpu", 1);
    setenv("WCODEC_BACKEND_PATH", "/opt/x", 1);
    setenv("WCODEC_THREADS", "12", 1);
    setenv("WCODEC_CPU_MASK", "avx2,neon", 1);
    setenv("WCODEC_LOG", "debug", 1);
    assert_int_equal(wcodec_conf_read(&conf, NULL), WCODEC_OK);
    assert_string_equal(conf.backend, "cuda:1,cpu");
    assert_string_equal(conf.backend_path, "/opt/x");
    assert_int_equal(conf.threads, 12);
    assert_int_equal(conf.cpu_mask, WCODEC_CPU_SCALAR | WCODEC_CPU_AVX2 | WCODEC_CPU_NEON);
    assert_true(conf.log);
    assert_int_equal(conf.log_level, WCODEC_LOG_DEBUG);
    setenv("WCODEC_LOG", "off", 1);
    setenv("WCODEC_THREADS", "auto", 1);
    setenv("WCODEC_CPU_MASK", "scalar", 1);
    assert_int_equal(wcodec_conf_read(&conf, NULL), WCODEC_OK);
    assert_false(conf.log);
    assert_int_equal(conf.threads, 0);
    assert_int_equal(conf.cpu_mask, WCODEC_CPU_SCALAR);
    setenv("WCODEC_THREADS", "4096", 1);
    setenv("WCODEC_CPU_MASK", "all", 1);
    assert_int_equal(wcodec_conf_read(&conf, NULL), WCODEC_OK);
    assert_int_equal(conf.threads, 4096);
    assert_int_equal(conf.cpu_mask, WCODEC_CPU_ALL);
    clear();
}

static void test_refusals(void **state)
{
    (void)state;
    clear();
    static const char *const threads[] = {
        "0", "-1", "4097", "1x", " 1", "0x2", "99999999999999999999999", "many"};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        refuses("WCODEC_THREADS", threads[i]);
    static const char *const masks[] = {"sse",  "avx2,", ",avx2", "avx2 avx512",
                                        "AVX2", "0xff",  "avx22"};
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        refuses("WCODEC_CPU_MASK", masks[i]);
    static const char *const logs[] = {"1", "yes", "Debug", "debug "};
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++)
        refuses("WCODEC_LOG", logs[i]);
    refuses("WCODEC_BACKEND_PATH", "plugins");
    refuses("WCODEC_BACKEND_PATH", "./plugins");
}

static void test_levels(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WCODEC_CPU_LEVELS; i++)
        assert_non_null(wcodec_cpu_level_name(i));
    assert_null(wcodec_cpu_level_name(WCODEC_CPU_LEVELS));
    assert_int_equal(WCODEC_CPU_ALL, (1u << WCODEC_CPU_LEVELS) - 1);
    assert_int_equal(wcodec_cpu_level_highest(0), 0);
    assert_int_equal(wcodec_cpu_level_highest(WCODEC_CPU_SCALAR | WCODEC_CPU_AVX2), 2);
    const uint32_t levels = wcodec_cpu_levels();
    assert_true(levels & WCODEC_CPU_SCALAR);
    assert_true(!(levels & WCODEC_CPU_NEON) || !(levels & WCODEC_CPU_SSE41));
    /* On x86 a machine that runs a level runs those before it. */
#if defined(HAVE_SSE41) && defined(HAVE_AVX2)
    assert_true(!(levels & WCODEC_CPU_AVX2) || levels & WCODEC_CPU_SSE41);
    assert_true(!(levels & WCODEC_CPU_AVX512) || levels & WCODEC_CPU_AVX2);
#endif
#ifndef HAVE_AVX2
    assert_false(levels & WCODEC_CPU_AVX2);
#elif defined(__x86_64__)
    __builtin_cpu_init();
    assert_int_equal((levels & WCODEC_CPU_AVX2) != 0, __builtin_cpu_supports("avx2") &&
                                                          __builtin_cpu_supports("bmi2") &&
                                                          __builtin_cpu_supports("bmi"));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
