/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_memory.h"

#include "core/memory.h"
#include <string.h>

static void test_allocators(void **state)
{
    (void)state;
    struct support_allocator counts;
    const wcodec_allocator *own = &counts.allocator;
    support_allocator_init(&counts, SUPPORT_NEVER);
    const wcodec_allocator *both[] = {&wcodec_default_allocator, own};
    for (int i = 0; i < 2; i++) {
        const wcodec_allocator *a = both[i];
        void *p = wcodec_alloc(a, 0);
        assert_non_null(p);
        wcodec_free(a, p);
        unsigned char *z = wcodec_alloc_zeroed(a, 1000);
        for (int k = 0; k < 1000; k++)
            assert_int_equal(z[k], 0);
        z = wcodec_realloc_array(a, z, 500, 4);
        assert_non_null(z);
        assert_int_equal(z[999], 0);
        wcodec_free(a, z);
        uint32_t *fresh = wcodec_realloc_array(a, NULL, 10, sizeof *fresh);
        assert_non_null(fresh);
        wcodec_free(a, fresh);
        char *text = wcodec_strdup(a, "name");
        assert_string_equal(text, "name");
        wcodec_free(a, text);
        wcodec_free(a, NULL);
    }
    assert_int_equal(counts.balance, 0);
    assert_true(counts.calls >= 5);
}

/* Whatever the system makes of it: bytes stay, of all sizes and from any allocator. */
static void test_large_pages(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1000, ((size_t)2 << 20) - 1, ((size_t)6 << 20) + 3};
    struct support_allocator counts;
    support_allocator_init(&counts, SUPPORT_NEVER);
    const wcodec_allocator *both[] = {&wcodec_default_allocator, &counts.allocator};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            unsigned char *p = wcodec_alloc(both[i], sizes[k]);
            assert_non_null(p);
            for (size_t at = 0; at < sizes[k]; at += 509)
                p[at] = (unsigned char)(at >> 9);
            wcodec_prefer_large_pages(both[i], p, sizes[k]);
            for (size_t at = 0; at < sizes[k]; at += 509)
                assert_int_equal(p[at], (unsigned char)(at >> 9));
            wcodec_free(both[i], p);
        }
    assert_int_equal(counts.balance, 0);
}

static void test_overflow(void **state)
{
    (void)state;
    struct support_allocator counts;
    const wcodec_allocator *own = &counts.allocator;
    support_allocator_init(&counts, SUPPORT_NEVER);
    assert_null(wcodec_alloc_array(own, UINT64_MAX, 16));
    assert_null(wcodec_alloc_array(own, (UINT64_MAX >> 4) + 2, 16)); /* wraps to 16 */
    assert_null(wcodec_alloc_array(own, (uint64_t)SIZE_MAX / 2 + 1, 1));
    assert_null(wcodec_alloc(own, SIZE_MAX));
    assert_null(wcodec_alloc_zeroed(own, SIZE_MAX));
    char *p = wcodec_alloc(own, 8);
    assert_null(wcodec_realloc_array(own, p, UINT64_MAX / 2, 8));
    wcodec_free(own, p);
    assert_int_equal(counts.calls, 1);
}

static void test_failure(void **state)
{
    (void)state;
    struct support_allocator counts;
    const wcodec_allocator *own = &counts.allocator;
    support_allocator_init(&counts, 0);
    assert_null(wcodec_strdup(own, "x"));
    assert_null(wcodec_alloc_zeroed(own, 10));
    support_allocator_init(&counts, 1);
    char *p = wcodec_alloc(own, 8);
    memcpy(p, "1234567", 8);
    assert_null(wcodec_realloc_array(own, p, 100, 100));
    assert_string_equal(p, "1234567");
    wcodec_free(own, p);
    assert_int_equal(counts.balance, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocators), cmocka_unit_test(test_large_pages),
        cmocka_unit_test(test_overflow), cmocka_unit_test(test_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
