/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Hashes of plain files and memory, with any number of threads, are what the format says. */

#include "support_memory.h"
#include "support_tree.h"
#include <unistd.h>

enum { MOST = (80 << 20) + 12345 };

static int file_of(const uint8_t *data, size_t size)
{
    char path[] = "wcodec-hash-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, data, size), (ssize_t)size);
    return fd;
}

static void is_that_of_the_format(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    uint8_t *data = malloc(MOST);
    assert_non_null(data);
    for (size_t i = 0; i < MOST; i++)
        data[i] = i % 4096 == 0 ? (uint8_t)support_random(&seed) : (uint8_t)(i * i >> 7);
    static const size_t sizes[] = {0, 1, 65536, 65537, 1 << 20, MOST};
    for (unsigned threads = 1; threads <= 4; threads += 3)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            wcodec_context *context =
                i % 2 ? support_context(threads, NULL) : support_context_limited(threads, 600000);
            const int fd = file_of(data, sizes[i]);
            uint8_t hash[16];
            XXH128_canonical_t expected;
            XXH128_canonicalFromHash(&expected, support_tree_hash(data, sizes[i]));
            assert_int_equal(wcodec_hash_fd(context, fd, NULL, hash, NULL), WCODEC_OK);
            assert_memory_equal(hash, expected.digest, 16);
            memset(hash, 0, sizeof hash);
            assert_int_equal(wcodec_hash_memory(context, data, sizes[i], hash, NULL), WCODEC_OK);
            assert_memory_equal(hash, expected.digest, 16);
            close(fd);
            wcodec_context_destroy(context);
        }
    free(data);
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)opaque, (void)done, (void)total;
    return 1;
}

static void refuses(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    const wcodec_progress progress = {.fn = stop};
    wcodec_error err;
    uint8_t hash[16];
    int ends[2];
    const int fd = file_of((const uint8_t *)"text", 4);
    assert_int_equal(wcodec_hash_fd(NULL, fd, NULL, hash, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_hash_fd(context, fd, NULL, NULL, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_hash_memory(context, NULL, 1, hash, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_hash_fd(context, fd, &progress, hash, &err), WCODEC_ERROR_CANCELLED);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(wcodec_hash_fd(context, ends[0], NULL, hash, &err), WCODEC_ERROR_IO);
    close(ends[0]);
    close(ends[1]);
    close(fd);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_that_of_the_format),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
