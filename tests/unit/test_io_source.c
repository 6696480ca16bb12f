/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"
#include "io/source.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int temporary_file(const void *data, size_t size)
{
    char path[] = "wcodec-source-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, data, size), (ssize_t)size);
    return fd;
}

static void reads_exactly(void **state)
{
    (void)state;
    const char text[] = "0123456789";
    char got[16];
    int fd = temporary_file(text, 10);
    struct wcodec_source sources[2];
    assert_int_equal(wcodec_source_fd(fd, &sources[0], NULL), WCODEC_OK);
    wcodec_source_memory(text, 10, &sources[1]);
    for (unsigned i = 0; i < 2; i++) {
        wcodec_error err;
        assert_int_equal(sources[i].size, 10);
        assert_int_equal(wcodec_source_read(&sources[i], 3, got, 7, &err), WCODEC_OK);
        assert_memory_equal(got, "3456789", 7);
        assert_int_equal(wcodec_source_read(&sources[i], 10, got, 0, &err), WCODEC_OK);
        assert_int_equal(wcodec_source_read(&sources[i], 3, got, 8, &err), WCODEC_ERROR_IO);
        assert_int_equal(wcodec_source_read(&sources[i], 11, got, 0, &err), WCODEC_ERROR_IO);
        assert_int_equal(wcodec_source_read(&sources[i], UINT64_MAX, got, 2, &err),
                         WCODEC_ERROR_IO);
        assert_int_equal(err.status, WCODEC_ERROR_IO);
        wcodec_source_prefetch(&sources[i], 2, 100);
        wcodec_source_prefetch(&sources[i], UINT64_MAX, UINT64_MAX);
    }
    close(fd);
}

static void sees_a_shrunken_file(void **state)
{
    (void)state;
    char got[10];
    int fd = temporary_file("0123456789", 10);
    struct wcodec_source source;
    wcodec_error err;
    assert_int_equal(wcodec_source_fd(fd, &source, NULL), WCODEC_OK);
    assert_int_equal(ftruncate(fd, 5), 0);
    assert_int_equal(wcodec_source_read(&source, 0, got, 5, &err), WCODEC_OK);
    assert_int_equal(wcodec_source_read(&source, 0, got, 6, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "shorter"));
    close(fd);
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    struct wcodec_source source;
    wcodec_error err;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    int fds[] = {open("/dev/zero", O_RDONLY), open(".", O_RDONLY), ends[0], -1};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(wcodec_source_fd(fds[i], &source, &err), WCODEC_ERROR_IO);
        if (fds[i] >= 0)
            close(fds[i]);
    }
    close(ends[1]);
}

static void reports_a_failed_read(void **state)
{
    (void)state;
    char path[] = "wcodec-source-XXXXXX", byte;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    int write_only = open(path, O_WRONLY);
    struct wcodec_source source;
    wcodec_error err;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(wcodec_source_fd(write_only, &source, &err), WCODEC_OK);
    assert_int_equal(wcodec_source_read(&source, 0, &byte, 1, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "reading at byte 0"));
    close(write_only);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_exactly),
        cmocka_unit_test(sees_a_shrunken_file),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(reports_a_failed_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
