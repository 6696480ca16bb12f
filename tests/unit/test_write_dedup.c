/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_model.h"

#include <string.h>

#include "write/dedup.h"
#include "core/memory.h"

enum { ITEM = 40, ITEMS = 300 };

static void make(uint8_t *data, uint64_t seed)
{
    for (unsigned i = 0; i < ITEM * ITEMS; i++)
        data[i] = (uint8_t)support_random(&seed);
}

static void test_finds_equals(void **state)
{
    (void)state;
    static uint8_t data[ITEM * ITEMS];
    struct wcodec_source source;
    struct wcodec_dedup dedup;
    make(data, support_seed());
    wcodec_source_memory(data, sizeof data, &source);
    wcodec_dedup_init(&dedup, &wcodec_default_allocator, &source);
    uint64_t entry = 7;
    assert_int_equal(
        wcodec_dedup_find(&dedup, wcodec_dedup_hash(NULL, data, ITEM), data, ITEM, &entry, NULL),
        WCODEC_OK);
    assert_true(entry == UINT64_MAX);
    for (unsigned i = 0; i < ITEMS; i++) {
        struct wcodec_dedup_item item = {wcodec_dedup_hash(NULL, data + i * ITEM, ITEM), ITEM,
                                         i * ITEM, 1000 + i};
        assert_int_equal(wcodec_dedup_add(&dedup, &item, NULL), WCODEC_OK);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        uint8_t copy[ITEM];
        memcpy(copy, data + i * ITEM, ITEM);
        assert_int_equal(wcodec_dedup_find(&dedup, wcodec_dedup_hash(NULL, copy, ITEM), copy, ITEM,
                                           &entry, NULL),
                         WCODEC_OK);
        assert_int_equal(entry, 1000 + i);
        copy[i % ITEM] ^= 1;
        assert_int_equal(wcodec_dedup_find(&dedup, wcodec_dedup_hash(NULL, copy, ITEM), copy, ITEM,
                                           &entry, NULL),
                         WCODEC_OK);
        assert_true(entry == UINT64_MAX);
        assert_int_equal(wcodec_dedup_find(&dedup,
                                           wcodec_dedup_hash(NULL, data + i * ITEM, ITEM - 1),
                                           data + i * ITEM, ITEM - 1, &entry, NULL),
                         WCODEC_OK);
        assert_true(entry == UINT64_MAX);
    }
    wcodec_dedup_free(&dedup);
}

static void test_large_hash(void **state)
{
    (void)state;
    const size_t size = 5 * WCODEC_DEDUP_PIECE + 7;
    uint64_t seed = support_seed();
    uint8_t *data = malloc(size);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = i % 4096 ? (uint8_t)(data[i - 1] + 1) : (uint8_t)support_random(&seed);
    wcodec_context *one = support_context(1, NULL), *three = support_context(3, NULL);
    struct wcodec_dedup_hash a = wcodec_dedup_hash(one, data, size),
                             b = wcodec_dedup_hash(three, data, size);
    assert_true(a.low == b.low && a.high == b.high);
    for (size_t at = 3; at < size;
         at += WCODEC_DEDUP_PIECE) { /* every piece counts, the last too */
        data[at] ^= 1;
        b = wcodec_dedup_hash(three, data, size);
        assert_true(a.low != b.low && a.high != b.high);
        data[at] ^= 1;
    }
    wcodec_context_destroy(one);
    wcodec_context_destroy(three);
    free(data);
}

/* Items that claim one hash but differ: the bytes decide. */
static void test_hash_is_not_trusted(void **state)
{
    (void)state;
    static uint8_t data[ITEM * ITEMS];
    struct wcodec_source source;
    struct wcodec_dedup dedup;
    struct wcodec_dedup_hash one = {1, 2};
    uint64_t entry;
    make(data, support_seed());
    wcodec_source_memory(data, sizeof data, &source);
    wcodec_dedup_init(&dedup, &wcodec_default_allocator, &source);
    for (unsigned i = 0; i < ITEMS; i++) {
        struct wcodec_dedup_item item = {one, ITEM, i * ITEM, i};
        assert_int_equal(wcodec_dedup_add(&dedup, &item, NULL), WCODEC_OK);
    }
    assert_int_equal(wcodec_dedup_find(&dedup, one, data, ITEM, &entry, NULL), WCODEC_OK);
    assert_int_equal(entry, 0);
    uint8_t other[ITEM] = {0};
    assert_int_equal(wcodec_dedup_find(&dedup, one, other, ITEM, &entry, NULL), WCODEC_OK);
    assert_true(entry == UINT64_MAX);
    /* Nobody makes us read all of them. */
    assert_int_equal(wcodec_dedup_find(&dedup, one, data + (ITEMS - 1) * ITEM, ITEM, &entry, NULL),
                     WCODEC_OK);
    assert_true(entry == UINT64_MAX);
    wcodec_dedup_free(&dedup);
}

static void test_source_fails(void **state)
{
    (void)state;
    uint8_t data[ITEM] = {1};
    struct wcodec_source source;
    struct wcodec_dedup dedup;
    uint64_t entry = 5;
    wcodec_source_memory(data, sizeof data, &source);
    wcodec_dedup_init(&dedup, &wcodec_default_allocator, &source);
    struct wcodec_dedup_item item = {wcodec_dedup_hash(NULL, data, ITEM), ITEM, 1,
                                     0}; /* ends beyond it */
    assert_int_equal(wcodec_dedup_add(&dedup, &item, NULL), WCODEC_OK);
    assert_int_equal(wcodec_dedup_find(&dedup, item.hash, data, ITEM, &entry, NULL),
                     WCODEC_ERROR_IO);
    assert_int_equal(entry, 5);
    wcodec_dedup_free(&dedup);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static uint8_t data[ITEM * ITEMS];
    struct wcodec_source source;
    make(data, 1);
    wcodec_source_memory(data, sizeof data, &source);
    for (long n = 0;; n++) {
        struct support_allocator allocator;
        struct wcodec_dedup dedup;
        support_allocator_init(&allocator, n);
        wcodec_dedup_init(&dedup, &allocator.allocator, &source);
        wcodec_status status = WCODEC_OK;
        for (unsigned i = 0; i < ITEMS && status == WCODEC_OK; i++) {
            struct wcodec_dedup_item item = {wcodec_dedup_hash(NULL, data + i * ITEM, ITEM), ITEM,
                                             i * ITEM, i};
            status = wcodec_dedup_add(&dedup, &item, NULL);
        }
        uint64_t entry;
        if (status == WCODEC_OK)
            status = wcodec_dedup_find(&dedup, wcodec_dedup_hash(NULL, data, ITEM), data, ITEM,
                                       &entry, NULL);
        wcodec_dedup_free(&dedup);
        assert_int_equal(allocator.balance, 0);
        if (status == WCODEC_OK) {
            assert_true(n > 4);
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_equals),        cmocka_unit_test(test_large_hash),
        cmocka_unit_test(test_hash_is_not_trusted), cmocka_unit_test(test_source_fails),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
