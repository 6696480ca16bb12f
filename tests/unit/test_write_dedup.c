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
        wcodec_dedup_find(&dedup, wcodec_dedup_hash(data, ITEM), data, ITEM, &entry, NULL),
        WCODEC_OK);
    assert_true(entry == UINT64_MAX);
    for (unsigned i = 0; i < ITEMS; i++) {
        struct wcodec_dedup_item item = {wcodec_dedup_hash(data + i * ITEM, ITEM), ITEM, i * ITEM,
                                         1000 + i};
        assert_int_equal(wcodec_dedup_add(&dedup, &item, NULL), WCODEC_OK);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        uint8_t copy[ITEM];
        memcpy(copy, data + i * ITEM, ITEM);
        assert_int_equal(
            wcodec_dedup_find(&dedup, wcodec_dedup_hash(copy, ITEM), copy, ITEM, &entry, NULL),
            WCODEC_OK);
        assert_int_equal(entry, 1000 + i);
        copy[i % ITEM] ^= 1;
        assert_int_equal(
            wcodec_dedup_find(&dedup, wcodec_dedup_hash(copy, ITEM), copy, ITEM, &entry, NULL),
            WCODEC_OK);
        assert_true(entry == UINT64_MAX);
        assert_int_equal(wcodec_dedup_find(&dedup, wcodec_dedup_hash(data + i * ITEM, ITEM - 1),
                                           data + i * ITEM, ITEM - 1, &entry, NULL),
                         WCODEC_OK);
        assert_true(entry == UINT64_MAX);
    }
    wcodec_dedup_free(&dedup);
}

/* What differs between the samples only has one hash, and is not taken for equal. */
static void test_samples(void **state)
{
    (void)state;
    enum { SIZE = 1000000 };
    static uint8_t data[2 * SIZE];
    uint64_t seed = support_seed(), entry;
    unsigned agree = 0, differ = 0;
    struct wcodec_source source;
    struct wcodec_dedup dedup;
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)support_random(&seed);
    memcpy(data + SIZE, data, SIZE);
    const struct wcodec_dedup_hash a = wcodec_dedup_hash(data, SIZE);
    wcodec_source_memory(data, sizeof data, &source);
    wcodec_dedup_init(&dedup, &wcodec_default_allocator, &source);
    const struct wcodec_dedup_item item = {a, SIZE, 0, 7};
    assert_int_equal(wcodec_dedup_add(&dedup, &item, NULL), WCODEC_OK);
    for (unsigned round = 0; round < 400; round++) {
        /* The first and the last byte too. */
        const size_t at = round == 0 ? SIZE - 1 : round == 1 ? 0 : support_random(&seed) % SIZE;
        data[SIZE + at] ^= 1;
        const struct wcodec_dedup_hash b = wcodec_dedup_hash(data + SIZE, SIZE);
        const bool same = a.low == b.low && a.high == b.high;
        agree += same;
        differ += !same;
        assert_true(round > 1 || !same);
        assert_int_equal(wcodec_dedup_find(&dedup, b, data + SIZE, SIZE, &entry, NULL), WCODEC_OK);
        assert_true(entry == UINT64_MAX);
        data[SIZE + at] ^= 1;
    }
    assert_true(agree > 0 && differ > 0);
    assert_int_equal(wcodec_dedup_find(&dedup, a, data + SIZE, SIZE, &entry, NULL), WCODEC_OK);
    assert_int_equal(entry, 7);
    wcodec_dedup_free(&dedup);
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
    struct wcodec_dedup_item item = {wcodec_dedup_hash(data, ITEM), ITEM, 1,
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
            struct wcodec_dedup_item item = {wcodec_dedup_hash(data + i * ITEM, ITEM), ITEM,
                                             i * ITEM, i};
            status = wcodec_dedup_add(&dedup, &item, NULL);
        }
        uint64_t entry;
        if (status == WCODEC_OK)
            status =
                wcodec_dedup_find(&dedup, wcodec_dedup_hash(data, ITEM), data, ITEM, &entry, NULL);
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
        cmocka_unit_test(test_finds_equals),        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_hash_is_not_trusted), cmocka_unit_test(test_source_fails),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
