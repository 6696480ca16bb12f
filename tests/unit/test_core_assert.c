/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Assertions as a debug build has them, whatever this build was configured with. */
#ifndef WCODEC_DEBUG
#define WCODEC_DEBUG 1
#endif
#include "core/assert.h"

#include "support.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_true(void **state)
{
    (void)state;
    int evaluated = 0;
    WCODEC_ASSERT(++evaluated == 1);
    assert_int_equal(evaluated, 1);
}

static void test_false(void **state)
{
    (void)state;
    int ends[2], status;
    char text[512], line[32];
    size_t length = 0;
    ssize_t n;
    assert_int_equal(pipe(ends), 0);
    snprintf(line, sizeof line, ":%d:", __LINE__ + 6);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        WCODEC_ASSERT(length > sizeof text);
        _exit(0);
    }
    close(ends[1]);
    while ((n = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)n;
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "test_core_assert.c"));
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, "assertion failed: length > sizeof text\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_true),
        cmocka_unit_test(test_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
