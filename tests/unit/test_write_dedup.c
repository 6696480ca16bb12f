/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_model.h"

#include "core/error.h"
#include "write/dedup.h"
#include <stdatomic.h>
#include <string.h>

enum { ITEM = 40, ITEMS = 300, THREADS = 4 };

static void make(uint8_t *data, uint64_t seed)
{
    for (unsigned i = 0; i < ITEM * ITEMS; i++)
        data[i] = (uint8_t)support_random(&seed);
}

static void test_finds_equals(void **state)
{
    wcodec_context *context = *state;
    static uint8_t data[ITEM * ITEMS];
    struct wcodec_source source;
    struct wcodec_dedup dedup;
    make(data, support_seed());
    wcodec_source_memory(data, sizeof data, &source);
    wcodec_dedup_init(&dedup, context, &source);
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
    wcodec_context *context = *state;
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
    wcodec_dedup_init(&dedup, context, &source);
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
    wcodec_context *context = *state;
    static uint8_t data[ITEM * ITEMS];
    struct wcodec_source source;
    struct wcodec_dedup dedup;
    struct wcodec_dedup_hash one = {1, 2};
    uint64_t entry;
    make(data, support_seed());
    wcodec_source_memory(data, sizeof data, &source);
    wcodec_dedup_init(&dedup, context, &source);
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
    wcodec_context *context = *state;
    uint8_t data[ITEM] = {1};
    struct wcodec_source source;
    struct wcodec_dedup dedup;
    uint64_t entry = 5;
    wcodec_source_memory(data, sizeof data, &source);
    wcodec_dedup_init(&dedup, context, &source);
    struct wcodec_dedup_item item = {wcodec_dedup_hash(data, ITEM), ITEM, 1,
                                     0}; /* ends beyond it */
    assert_int_equal(wcodec_dedup_add(&dedup, &item, NULL), WCODEC_OK);
    assert_int_equal(wcodec_dedup_find(&dedup, item.hash, data, ITEM, &entry, NULL),
                     WCODEC_ERROR_IO);
    assert_int_equal(entry, 5);
    wcodec_dedup_free(&dedup);
}

/* A source of which bytes from `bad` on cannot be read, and that counts what is. */
struct partial {
    const uint8_t *data;
    uint64_t bad;
    _Atomic uint64_t read;
};

static wcodec_status read_partial(void *opaque, uint64_t offset, void *dst, size_t size,
                                  wcodec_error *err)
{
    struct partial *p = opaque;
    if (offset + size > p->bad)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot be read");
    memcpy(dst, p->data + offset, size);
    atomic_fetch_add(&p->read, size);
    return WCODEC_OK;
}

/* Large ones are compared in pieces by all threads: every byte counts, and every failure; what is
 * in memory is not read. */
static void test_pieces(void **state)
{
    wcodec_context *context = *state;
    enum { SIZE = 3000001 };
    uint8_t *data = malloc(2 * SIZE);
    uint64_t seed = support_seed(), entry = 5;
    struct partial partial = {.data = data, .bad = UINT64_MAX};
    struct wcodec_source source;
    struct wcodec_dedup dedup;
    assert_non_null(data);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)support_random(&seed);
    memcpy(data + SIZE, data, SIZE);
    wcodec_source_function(read_partial, &partial, 2 * SIZE, &source);
    wcodec_dedup_init(&dedup, context, &source);
    const struct wcodec_dedup_hash one = {1, 2};
    const struct wcodec_dedup_item item = {one, SIZE, 0, 7};
    assert_int_equal(wcodec_dedup_add(&dedup, &item, NULL), WCODEC_OK);
    for (unsigned round = 0; round < 60; round++) {
        const size_t at = round == 0 ? 0 : round == 1 ? SIZE - 1 : support_random(&seed) % SIZE;
        const bool read = round % 3 == 0, held = round % 3 == 1;
        dedup.held = held ? data : NULL;
        dedup.held_size = 2 * SIZE;
        for (unsigned differ = 0; differ < 2; differ++) {
            data[SIZE + at] ^= (uint8_t)differ;
            partial.read = 0;
            assert_int_equal(read ? wcodec_dedup_find_read(&dedup, one, SIZE, SIZE, &entry, NULL)
                                  : wcodec_dedup_find(&dedup, one, data + SIZE, SIZE, &entry, NULL),
                             WCODEC_OK);
            assert_true(entry == (differ ? UINT64_MAX : 7));
            if (!differ)
                assert_int_equal(partial.read, read ? 2 * SIZE : held ? 0 : SIZE);
            data[SIZE + at] ^= (uint8_t)differ;
        }
    }
    dedup.held = NULL;
    entry = 5;
    for (partial.bad = 0; partial.bad < SIZE; partial.bad += SIZE / 4) {
        wcodec_error err = {0};
        assert_int_equal(wcodec_dedup_find(&dedup, one, data + SIZE, SIZE, &entry, &err),
                         WCODEC_ERROR_IO);
        assert_non_null(strstr(err.text, "cannot be read"));
        assert_int_equal(entry, 5);
    }
    wcodec_dedup_free(&dedup);
    free(data);
}

static void test_out_of_memory(void **state)
{
    static uint8_t data[ITEM * ITEMS];
    struct partial partial = {.data = data, .bad = UINT64_MAX};
    struct wcodec_source source;
    (void)state;
    make(data, 1);
    wcodec_source_function(read_partial, &partial, sizeof data, &source);
    for (long n = 0;; n++) {
        struct support_allocator allocator;
        struct wcodec_dedup dedup;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_context *context = support_context(1, &allocator.allocator);
        const long before = allocator.balance;
        allocator.left = n;
        wcodec_dedup_init(&dedup, context, &source);
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
        assert_int_equal(allocator.balance, before);
        allocator.left = SUPPORT_NEVER;
        wcodec_context_destroy(context);
        if (status == WCODEC_OK) {
            assert_true(n > 5);
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
    }
}

static int begin(void **state)
{
    *state = support_context(THREADS, NULL);
    return 0;
}

static int end(void **state)
{
    wcodec_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_equals),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_hash_is_not_trusted),
        cmocka_unit_test(test_source_fails),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
